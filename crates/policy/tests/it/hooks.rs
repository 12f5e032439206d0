//! Invariants of every scheme: the hooks it implements are the hooks it lists, its rows are plain and small, its
//! parameters can be set to their defaults, and its names are unique.

use spinewise_policy::config::{Allowed, Param, Refused, is_allowed};
use spinewise_policy::{Decides, Hashes, Hooks, Needs, Params, Policy, Sheet, Site, Value, Wire};
use std::path::{Path, PathBuf};

/// The bits of a hook mask and the methods that they represent.
const HOOKS: &[(&str, &str)] = &[
    ("EGRESS", "egress"),
    ("INGRESS", "ingress"),
    ("FEEDBACK", "feedback"),
    ("LOSS", "feedback"),
    ("MESSAGE", "message"),
    ("TIMER", "timer"),
    ("TICK", "tick"),
    ("LINK", "link"),
    ("DRAINED", "drained"),
];

/// Every source file under `folder`.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the schemes' folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// The `impl Policy for` blocks of a source, generic ones too, with the type's name.
fn implementations(text: &str) -> Vec<(String, String)> {
    let mut found = vec![];
    for (at, head) in text.match_indices("Policy for ") {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        if !text[line..].starts_with("impl") {
            continue;
        }
        let rest = &text[at + head.len()..];
        let name = rest.split([' ', '<', '{']).next().unwrap_or_default().to_string();
        let end = rest.find("\n}").expect("the end of the block, at the margin");
        found.push((name, rest[..end].to_string()));
    }
    found
}

/// Hooks implemented but not listed, and listed but not implemented.
fn disagreement(block: &str) -> (Vec<&'static str>, Vec<&'static str>) {
    let mask = block.split("const HOOKS: Hooks =").nth(1).and_then(|rest| rest.split(';').next()).unwrap_or("");
    let listed = |hook: &str| {
        mask.contains("Hooks::ALL")
            || mask
                .split("Hooks::")
                .skip(1)
                .any(|part| part.split(|c: char| !c.is_ascii_uppercase()).next() == Some(hook))
    };
    let written =
        |method: &str| block.contains(&format!("\n    fn {method}(")) || block.contains(&format!("\n    fn {method}<"));
    let dead = HOOKS.iter().filter(|(_, m)| written(m) && !HOOKS.iter().any(|(h, n)| n == m && listed(h)));
    let idle = HOOKS.iter().filter(|(h, m)| listed(h) && !written(m));
    (dead.map(|(_, m)| *m).collect(), idle.map(|(h, _)| *h).collect())
}

#[test]
fn the_comparison_sees_both_kinds_of_lie() {
    let block =
        "\n    const HOOKS: Hooks = Hooks::EGRESS.and(Hooks::LOSS);\n    fn tick(&self) {}\n    fn feedback(&self) {}";
    assert_eq!(disagreement(block), (vec!["tick"], vec!["EGRESS"]));
    assert_eq!(disagreement("\n    fn pick(&self) {}"), (vec![], vec![]));
    let text = "// a Policy for people\nimpl Policy for A {\n    x\n}\nimpl<M> Policy for B<M> {\n}";
    let found = implementations(text);
    assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["A", "B"]);
    assert!(found[0].1.contains('x') && !found[0].1.contains('B'));
}

#[test]
fn every_scheme_lists_the_hooks_it_writes() {
    let mut files = vec![];
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schemes"), &mut files);
    let (mut schemes, mut named) = (0, 0);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file");
        for (name, block) in implementations(&text) {
            let (dead, idle) = disagreement(&block);
            assert!(dead.is_empty(), "{name} in {}: never called, for not in HOOKS: {dead:?}", file.display());
            assert!(idle.is_empty(), "{name} in {}: in HOOKS but not written: {idle:?}", file.display());
            schemes += 1;
        }
        // One implementation may serve several schemes by name, as PDLB's serves AG.
        named += text.matches("const SHEET: Sheet = Sheet {").count();
    }
    let registered = registered().len();
    assert!(schemes > 0 && named >= registered, "{schemes} implementations name {named} of {registered} schemes");
}

/// The registry's facts about one scheme.
struct Seen {
    name: &'static str,
    site: &'static str,
    hooks: Hooks,
    tiers: &'static [&'static str],
    three_tiers: &'static str,
    needs: Option<Needs>,
    in_trees: bool,
    hashes: Hashes,
    decides: Decides,
    series: Vec<&'static str>,
    params: &'static [Param],
    sizes: [(&'static str, usize); 5],
    header: u32,
}

/// Rows are lent by copy and kept in vectors: plain values that own and borrow nothing, hence bounded by their size.
fn row<T: Copy + Default + Send + 'static>(name: &'static str) -> (&'static str, usize) {
    (name, size_of::<T>())
}

fn see<P: Policy>() -> Seen
where
    P::Flow: Copy + Send + 'static,
    P::Peer: Copy + Send + 'static,
    P::Route: Copy + Send + 'static,
    P::Port: Copy + Send + 'static,
    P::Node: Copy + Send + 'static,
{
    let mut config = P::Config::default();
    for (index, param) in P::Config::PARAMS.iter().enumerate() {
        let name = P::SHEET.name;
        assert!(is_allowed(param.default, param.allowed), "{name}.{}: its default is not allowed", param.name);
        assert_eq!(config.value(index), param.default, "{name}.{}", param.name);
        assert_eq!(config.set(param.name, param.default), Ok(()), "{name}.{}", param.name);
        let wrong = if matches!(param.allowed, Allowed::Bool) { Value::Number(1.0) } else { Value::Word("wrong") };
        assert_eq!(config.set(param.name, wrong), Err(Refused::NotAllowed(param.allowed)), "{name}.{}", param.name);
        assert_eq!(config.value(index), param.default, "{name}.{}: refused, yet changed", param.name);
        assert!(!param.doc.trim().is_empty(), "{name}.{}", param.name);
    }
    assert_eq!(config.set("no such key", Value::Number(1.0)), Err(Refused::Unknown));
    Seen {
        name: P::SHEET.name,
        site: <P::Site as Site>::NAME,
        hooks: P::HOOKS,
        tiers: P::SHEET.tiers,
        three_tiers: P::SHEET.three_tiers,
        needs: P::SHEET.compared.map(|compared| compared.needs),
        in_trees: P::IN_TREES,
        hashes: P::HASHES,
        decides: P::SHEET.sees.decides,
        series: P::SHEET.series.iter().map(|series| series.name).collect(),
        params: P::Config::PARAMS,
        sizes: [
            row::<P::Flow>("flow"),
            row::<P::Peer>("peer"),
            row::<P::Route>("route"),
            row::<P::Port>("port"),
            row::<P::Node>("node"),
        ],
        header: P::Header::default().wire(),
    }
}

fn registered() -> Vec<Seen> {
    macro_rules! all {
        ($($variant:ident: $path:path,)*) => {
            vec![$(see::<$path>()),*]
        };
    }
    spinewise_policy::each_scheme!(all)
}

#[test]
fn rows_are_small() {
    for scheme in registered() {
        let test_only = scheme.name.starts_with("loopback");
        for (row, size) in scheme.sizes {
            // A node row may hold a table; the others come in thousands. The test schemes keep a log.
            let most = match row {
                "node" => 4096,
                "peer" => 512,
                _ if test_only => 192,
                // These keep queues of values, penalties of a thousand, or states of hundreds for each flow.
                "flow" if ["bitmap", "mrc", "reps_fifo", "uet_mixed", "uno"].contains(&scheme.name) => 1600,
                // ELAB's has a line of the sender's table and one of the receiver's.
                "route" => 104,
                _ => 64,
            };
            assert!(size <= most, "{}: {row} row of {size} bytes, at most {most}", scheme.name);
        }
    }
}

#[test]
fn names_are_unique_and_hooks_fit_the_site() {
    let schemes = registered();
    for (i, scheme) in schemes.iter().enumerate() {
        assert!(schemes[..i].iter().all(|other| other.name != scheme.name), "{} twice", scheme.name);
        for (j, name) in scheme.series.iter().enumerate() {
            assert!(!scheme.series[..j].contains(name), "{}: series {name} twice", scheme.name);
        }
        for (j, param) in scheme.params.iter().enumerate() {
            assert!(scheme.params[..j].iter().all(|p| p.name != param.name), "{}: {} twice", scheme.name, param.name);
        }
        let switch_only = Hooks::EGRESS.0 | Hooks::DRAINED.0;
        assert!(scheme.site == "switch" || scheme.hooks.0 & switch_only == 0, "{}: a switch's hook", scheme.name);
        assert!(scheme.site == "host" || !scheme.hooks.has(Hooks::LOSS), "{}: a host's hook", scheme.name);
        assert_eq!(scheme.header, 0, "{}: a packet without a header is charged for one", scheme.name);
    }
    let every = schemes.iter().filter(|s| s.name.starts_with("loopback")).fold(0, |mask, s| mask | s.hooks.0);
    assert_eq!(Hooks(every), Hooks::ALL, "the two loopbacks use every hook there is");
}

/// The documentation's statements about hashing match the shell.
#[test]
fn who_says_that_it_hashes_does() {
    for scheme in registered() {
        let (name, hashes, says) = (scheme.name, scheme.hashes, scheme.decides == Decides::Hashes);
        assert!(hashes == Hashes::Nothing || scheme.site == "switch", "{name} sits at the {}", scheme.site);
        assert!(hashes != Hashes::Evenly || says, "{name} does nothing but hash, and says that it chooses");
        assert!(hashes != Hashes::Nothing || !says, "{name} says that it hashes, and does not");
    }
}

/// A scheme's declarations never contradict its site; anything it does not declare follows from the site.
#[test]
fn every_scheme_tells_of_its_own_site() {
    for scheme in registered() {
        let (name, says) = (scheme.name, scheme.three_tiers);
        let (own, other) = match scheme.site {
            "host" => (Sheet::AT_HOST.three_tiers, Sheet::AT_SWITCH.three_tiers),
            _ => (Sheet::AT_SWITCH.three_tiers, Sheet::AT_HOST.three_tiers),
        };
        assert_ne!(own, other);
        assert!(!says.contains(other), "{name} sits at the {}, and says: {says}", scheme.site);
        if scheme.site == "host" {
            assert_eq!(scheme.tiers, ["host"], "{name}");
            assert!(!scheme.in_trees, "{name}: trees are numbered for switches");
            assert!(!says.contains("switch that has a choice") && !says.contains("leaves choose"), "{name}: {says}");
        } else {
            let at_switches = |tier: &&str| ["leaf", "aggregation", "spine"].contains(tier);
            assert!(!scheme.tiers.is_empty() && scheme.tiers.iter().all(at_switches), "{name}: {:?}", scheme.tiers);
            assert!(!says.contains(" tag"), "{name}: hosts tag packets, switches do not: {says}");
            // A scheme that decides at some tiers only must say what the others do.
            let everywhere = scheme.tiers.len() == 3;
            assert!(everywhere || says != own, "{name} decides at {:?} and says: {says}", scheme.tiers);
        }
        if let Some(needs) = scheme.needs {
            let hosts_alone = matches!(needs, Needs::Hosts);
            assert!(!hosts_alone || scheme.site == "host", "{name} sits at the switches and needs hosts alone");
        }
    }
}
