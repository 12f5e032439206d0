//! `[scheme]`: which load-balancing scheme, with which parameters. What there is comes from the registry.

mod fit;

use serde_json::{Map, Value as Json};
use spinewise_policy::config::{Allowed, Param, Refused};
use spinewise_policy::{
    About, Compared, InPreset, Params, Peers, Policy, Sees, Shape, Site, Tier, Tree, Uneven, Value,
};

use fit::{check_fit, check_tag, check_tree, shape};

use super::error::SpecError;
use super::key::{Default, Kind, one_of, tidy};
use super::presets::Preset;
use super::reader::{Reader, keys, words};
use super::topology::TopologySpec;
use crate::transport::Transport;

/// The scheme that fabrics run unless told otherwise: the first of the registry, which sits at the switches.
const DEFAULT_SCHEME: &str = ENTRIES[0].about.name;

keys! {
    /// `[scheme]`.
    SchemeKeys {
        /// The load-balancing scheme.
        name: String, Kind::Text("the name of a scheme"), Default::Word(DEFAULT_SCHEME);
        /// Parameters of the scheme, `[scheme.params]`; see the scheme.
        params: Map<String, Json>, Kind::Table("a table of the scheme's parameters"), Default::Empty;
        /// How a host scheme's path tag selects the path: read by the fabric as the path itself, hashed with source and
        /// destination (a tunnel's UDP port), or hashed with the flow's own header. Host schemes only.
        path_tag: Option<PathTag>, Kind::Words(PathTag::WORDS), Default::Nothing("\"explicit\" for a host scheme, \"outer\" for one that looks for tunnel ports");
        /// The switch scheme under a host scheme: for untagged packets and hashed tags. Host schemes only.
        fabric: Option<String>, Kind::Text("the name of a switch scheme"), Default::Nothing("the default of name, for a host scheme");
        /// Parameters of the switch scheme under a host scheme.
        fabric_params: Option<Map<String, Json>>, Kind::Table("a table of the fabric scheme's parameters"),
            Default::Nothing("its defaults");
        /// Do the scheme's in-band headers take bytes on the wire?
        header_bytes: HeaderBytes, Kind::Words(HeaderBytes::WORDS), Default::Preset;
        /// Who chooses the paths of acknowledgements inside the fabric: the switches' scheme, which then sees all traffic,
        /// or ECMP.
        acks: AckPaths, Kind::Words(AckPaths::WORDS), Default::Preset;
        /// The hash by which switches choose: all bits mixed, or MurmurHash3 of addresses and ports modulo the number of
        /// choices, seeded by the switch's node number, as the public ns-3 code of ConWeave has it.
        hash: HashKind, Kind::Words(HashKind::WORDS), Default::Preset;
        /// Mixed into every switch's hash: another salt, another placement of flows.
        hash_salt: u64, Kind::Integer { min: 0, max: u32::MAX as u64 }, Default::Number(0.0);
    }
}

words! {
    /// How a path tag selects the path.
    PathTag {
        /// The fabric takes the tag for the path.
        Explicit = "explicit",
        /// The fabric hashes source, destination and tag: a tunnel's UDP port.
        Outer = "outer",
        /// The fabric hashes the flow's own header with the tag.
        Inner = "inner",
    }
}

words! {
    /// Whether a scheme's in-band headers take bytes on the wire.
    HeaderBytes {
        /// They do.
        Charged = "charged",
        /// They do not, as in the ns-3 codes of several schemes.
        Free = "free",
    }
}

words! {
    /// Who chooses the paths of acknowledgements inside the fabric.
    AckPaths {
        /// The scheme at the switches.
        Scheme = "scheme",
        /// ECMP, unseen by the scheme.
        Ecmp = "ecmp",
    }
}

words! {
    /// The hash of switches.
    HashKind {
        /// All bits mixed.
        Mix = "mix",
        /// MurmurHash3 of addresses and ports.
        Murmur3 = "murmur3",
    }
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// A number.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// A word.
    Word(String),
}

impl ParamValue {
    /// As the policy crate reads it.
    pub fn as_value(&self) -> Value<'_> {
        match self {
            ParamValue::Number(number) => Value::Number(*number),
            ParamValue::Bool(given) => Value::Bool(*given),
            ParamValue::Word(word) => Value::Word(word),
        }
    }
}

impl From<Value<'_>> for ParamValue {
    fn from(value: Value<'_>) -> ParamValue {
        match value {
            Value::Number(number) => ParamValue::Number(number),
            Value::Bool(given) => ParamValue::Bool(given),
            Value::Word(word) => ParamValue::Word(word.into()),
        }
    }
}

/// The scheme of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeSpec {
    /// Its name in the registry.
    pub name: String,
    /// All its parameters, defaults included, in the order of the registry.
    pub params: Vec<(String, ParamValue)>,
    /// How its path tags select paths (of no effect for a switch scheme).
    pub path_tag: PathTag,
    /// The switch scheme under a host scheme (of no effect for a switch scheme).
    pub fabric: String,
    /// All parameters of that one.
    pub fabric_params: Vec<(String, ParamValue)>,
    /// Whether in-band headers take bytes on the wire.
    pub header_bytes: HeaderBytes,
    /// Who chooses the paths of acknowledgements.
    pub acks: AckPaths,
    /// The hash of switches.
    pub hash: HashKind,
    /// What is mixed into it.
    pub hash_salt: u64,
}

/// Parameters by name, in the order given.
type Given = [(String, ParamValue)];

/// All parameters of a scheme in the order of the registry, or the place in [`Given`] of the one refused.
type Configured = Result<Vec<ParamValue>, (usize, Refused)>;

/// A scheme of the registry, without its types.
pub(crate) struct Entry {
    /// Facts for people.
    pub about: &'static About,
    /// Facts by which it is compared, if it gives them.
    pub compared: Option<Compared>,
    /// What it tells about its choices.
    pub sees: Sees,
    /// `host` or `switch`.
    pub site: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Its parameters in presets that set them otherwise.
    pub presets: &'static [InPreset],
    /// Does it write the in-band header?
    header: bool,
    /// Does it work in fat-trees alone?
    pub in_trees: bool,
    /// What it does in three tiers.
    pub three_tiers: &'static str,
    /// All parameters when these are set.
    configure: fn(&Given) -> Configured,
    /// Whom rows per path are kept for, with these parameters and in this place, if any are.
    rows: fn(&Given, &Shape) -> Peers,
    /// Is it told the rates of paths?
    path_rates: fn(&Given, &Shape) -> bool,
    /// Are its tags ports of a tunnel, and no paths by themselves?
    draws_tags: fn(&Given, &Shape) -> bool,
    /// A parameter that asks for more than the place has.
    misfit: fn(&Given, &Shape) -> Option<(&'static str, Allowed)>,
    /// A parameter by which links up make no groups of one size.
    uneven: fn(&Given, &Tree) -> Option<Uneven>,
    /// A parameter that contradicts another.
    clash: fn(&Given) -> Option<(&'static str, Allowed, &'static str)>,
    /// A parameter that has it wait for ECN echoes.
    wants_ecn: fn(&Given) -> Option<(&'static str, Allowed)>,
}

impl Entry {
    const fn of<P: Policy>() -> Entry {
        Entry {
            about: &P::ABOUT,
            compared: P::COMPARED,
            sees: P::SEES,
            site: <P::Site as Site>::NAME,
            params: <P::Config as Params>::PARAMS,
            presets: P::PRESETS,
            header: size_of::<P::Header>() > 0,
            in_trees: P::IN_TREES,
            three_tiers: P::IN_THREE_TIERS,
            configure: configure::<P>,
            rows: rows::<P>,
            path_rates: path_rates::<P>,
            draws_tags: draws_tags::<P>,
            misfit: misfit::<P>,
            uneven: uneven::<P>,
            clash: clash::<P>,
            wants_ecn: wants_ecn::<P>,
        }
    }
}

macro_rules! table {
    ($($variant:ident: $scheme:ty),* $(,)?) => { &[$(Entry::of::<$scheme>()),*] };
}

/// All schemes, in the order of the registry.
const ENTRIES: &[Entry] = spinewise_policy::each_scheme!(table);

/// All schemes, in the order of the registry.
pub(crate) fn entries() -> &'static [Entry] {
    ENTRIES
}

/// Name and site of the schemes that say by what they compare.
pub fn comparable_schemes() -> impl Iterator<Item = (&'static str, &'static str)> {
    entries().iter().filter(|entry| entry.compared.is_some()).map(|entry| (entry.about.name, entry.site))
}

fn config_of<P: Policy>(given: &Given) -> Result<P::Config, (usize, Refused)> {
    let mut config = P::Config::default();
    for (place, (name, value)) in given.iter().enumerate() {
        config.set(name, value.as_value()).map_err(|refused| (place, refused))?;
    }
    Ok(config)
}

fn configure<P: Policy>(given: &Given) -> Configured {
    let config = config_of::<P>(given)?;
    Ok((0..P::Config::PARAMS.len()).map(|index| config.value(index).into()).collect())
}

fn rows<P: Policy>(given: &Given, shape: &Shape) -> Peers {
    if size_of::<P::Route>() == 0 {
        return Peers::None;
    }
    config_of::<P>(given).map_or(Peers::None, |config| P::new(&config).layout(shape).peers)
}

fn path_rates<P: Policy>(given: &Given, shape: &Shape) -> bool {
    config_of::<P>(given).is_ok_and(|config| P::new(&config).layout(shape).path_rates)
}

fn draws_tags<P: Policy>(given: &Given, shape: &Shape) -> bool {
    config_of::<P>(given).is_ok_and(|config| P::new(&config).layout(shape).draws_tags)
}

fn misfit<P: Policy>(given: &Given, shape: &Shape) -> Option<(&'static str, Allowed)> {
    config_of::<P>(given).ok().and_then(|config| P::new(&config).misfit(shape))
}

fn uneven<P: Policy>(given: &Given, tree: &Tree) -> Option<Uneven> {
    config_of::<P>(given).ok().and_then(|config| P::new(&config).uneven(tree))
}

fn clash<P: Policy>(given: &Given) -> Option<(&'static str, Allowed, &'static str)> {
    config_of::<P>(given).ok().and_then(|config| P::new(&config).clash())
}

fn wants_ecn<P: Policy>(given: &Given) -> Option<(&'static str, Allowed)> {
    config_of::<P>(given).ok().and_then(|config| P::new(&config).wants_ecn())
}

/// Reads `[scheme]` for this fabric.
pub(crate) fn read(
    given: &Map<String, Json>,
    fabric: &TopologySpec,
    preset: &Preset,
) -> Result<(SchemeSpec, Json), SpecError> {
    let mut reader = Reader::new("scheme", SchemeKeys::KEYS, given)?.with_defaults(preset.scheme());
    let keys = SchemeKeys::read(&mut reader)?;
    let entry = find(&reader, "name", &keys.name, |_| true)?;
    let params = read_params(&mut reader, "params", entry, &keys.params, preset)?;
    check_fit(&reader, entry, &params, &keys.params, fabric)?;
    check_tree(&reader, entry, &params, &keys.params, fabric)?;
    let (path_tag, under, fabric_params) = if entry.site == "host" {
        let drawn = (entry.draws_tags)(&params, &shape(Tier::Host, fabric));
        let path_tag = keys.path_tag.unwrap_or(if drawn { PathTag::Outer } else { PathTag::Explicit });
        reader.set_resolved("path_tag", path_tag.word().into());
        check_tag(&reader, entry, &params, path_tag, fabric)?;
        let under = keys.fabric.as_deref().unwrap_or(DEFAULT_SCHEME);
        reader.set_resolved("fabric", under.into());
        let under = find(&reader, "fabric", under, |entry| entry.site == "switch" && !entry.in_trees)?;
        if entry.header && under.header {
            let allowed =
                format!("a switch scheme without an in-band header: a packet has one, and {} writes it", keys.name);
            return Err(reader.refuse("fabric", allowed));
        }
        let params = read_params(&mut reader, "fabric_params", under, &keys.fabric_params.unwrap_or_default(), preset)?;
        (path_tag, under, params)
    } else {
        for name in ["path_tag", "fabric", "fabric_params"] {
            if reader.given(name).is_some() {
                let allowed = format!("no {name}: {} sits at the switches, and {name} is for host schemes", keys.name);
                return Err(reader.refuse(name, allowed));
            }
        }
        (PathTag::Explicit, entry, params.clone())
    };
    let scheme = SchemeSpec {
        name: keys.name,
        params,
        path_tag,
        fabric: under.about.name.into(),
        fabric_params,
        header_bytes: keys.header_bytes,
        acks: keys.acks,
        hash: keys.hash,
        hash_salt: keys.hash_salt,
    };
    Ok((scheme, reader.finish()))
}

/// Which fabrics a scheme serves with its defaults, for people.
pub(crate) fn fabrics(entry: &Entry) -> String {
    let anywhere = Shape { tier: Tier::Host, hosts: 2, leaves: 2, ports: 1, ways: 1 };
    let tagged = "leaf_spine, fat_tree, links where no packet has more than two choices on its way";
    match (entry.rows)(&[], &anywhere) {
        _ if entry.in_trees => "fat_tree".into(),
        _ if entry.site != "host" || (entry.draws_tags)(&[], &anywhere) => "any".into(),
        Peers::Leaves => tagged.into(),
        Peers::Hosts => format!("{tagged}; other links with path_tag = \"outer\""),
        Peers::None => format!("{tagged}; other links with path_tag = \"outer\" or \"inner\""),
    }
}

fn find(
    reader: &Reader<'_>,
    key: &str,
    name: &str,
    fits: impl Fn(&Entry) -> bool,
) -> Result<&'static Entry, SpecError> {
    if let Some(entry) = entries().iter().find(|entry| entry.about.name == name && fits(entry)) {
        return Ok(entry);
    }
    let names = || entries().iter().filter(|entry| fits(entry)).map(|entry| entry.about.name);
    let error = reader.refuse(key, one_of(names()));
    match entries().iter().find(|entry| entry.about.name == name) {
        Some(entry) if entry.site == "switch" => {
            Err(error.hint(format!("{name} goes round dead links by itself, and tags name paths of links that work")))
        }
        Some(entry) => Err(error.hint(format!("{name} sits at the {}", entry.site))),
        None => Err(error.did_you_mean(name, names())),
    }
}

/// Reads a table of parameters, and writes all of them into the resolved spec.
fn read_params(
    reader: &mut Reader<'_>,
    key: &str,
    entry: &Entry,
    given: &Map<String, Json>,
    preset: &Preset,
) -> Result<Vec<(String, ParamValue)>, SpecError> {
    // What is given goes before what the preset says, and that before the scheme's own defaults.
    let own = entry.presets.iter().find(|own| own.preset == preset.name);
    let mut wanted: Map<String, Json> =
        own.iter().flat_map(|own| own.params).map(|&(name, value)| (name.to_string(), json(value))).collect();
    wanted
        .extend(given.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), value.clone())));
    let given = &wanted;
    let path = |name: &str| format!("{}.{name}", reader.path_of(key));
    let mut set = Vec::with_capacity(given.len());
    for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        let Some(param) = entry.params.iter().find(|param| param.name == name) else {
            return Err(unknown_param(&path(name), name, value, entry));
        };
        let plain = match value {
            Json::Number(number) => ParamValue::Number(number.as_f64().unwrap_or(f64::NAN)),
            Json::Bool(given) => ParamValue::Bool(*given),
            Json::String(word) => ParamValue::Word(word.clone()),
            _ => return Err(SpecError::new(path(name), value, allowed(param.allowed))),
        };
        set.push((name.clone(), plain));
    }
    let values = (entry.configure)(&set).map_err(|(place, refused)| {
        let name = &set[place].0;
        match refused {
            Refused::NotAllowed(range) => param_refused(&path(name), &given[name], range),
            Refused::Unknown => unknown_param(&path(name), name, &given[name], entry),
        }
    })?;
    let all: Vec<(String, ParamValue)> = entry.params.iter().map(|param| param.name.to_string()).zip(values).collect();
    let told = all.iter().map(|(name, value)| (name.clone(), json(value.as_value()))).collect();
    if let Some((name, range, other)) = (entry.clash)(&all) {
        return Err(param_refused(&path(name), &value_of(&all, name), range)
            .hint(format!("{other} is {}", value_of(&all, other))));
    }
    reader.set_resolved(key, Json::Object(told));
    Ok(all)
}

/// The value of a parameter of a scheme, all of whose parameters are given.
fn value_of(all: &Given, name: &str) -> Json {
    all.iter().find(|(own, _)| own == name).map_or(Json::Null, |(_, value)| json(value.as_value()))
}

/// A scheme that acts on ECN echoes needs a transport that has them.
pub(crate) fn check_ecn(scheme: &SchemeSpec, transport: &Transport) -> Result<(), SpecError> {
    let Transport::Tcp(tcp) = transport else { return Ok(()) };
    let entry = entries().iter().find(|entry| entry.about.name == scheme.name);
    match entry.and_then(|entry| (entry.wants_ecn)(&scheme.params)) {
        Some((name, range)) if !tcp.ect(false) => {
            let kind = Json::from(tcp.kind.name());
            let path = format!("scheme.params.{name}");
            let allowed = format!("{} with transport.kind = {kind}", allowed(range));
            let hint = format!("{} would wait for ECN echoes that never come", scheme.name);
            Err(SpecError::new(path, &value_of(&scheme.params, name), allowed).hint(hint))
        }
        _ => Ok(()),
    }
}

fn unknown_param(path: &str, name: &str, value: &Json, entry: &Entry) -> SpecError {
    let names = || entry.params.iter().map(|param| param.name);
    let listed: Vec<&str> = names().collect();
    let allowed = match listed.as_slice() {
        [] => format!("no parameters: {} has none", entry.about.name),
        _ => format!("one of the parameters of {}: {}", entry.about.name, listed.join(", ")),
    };
    SpecError::new(path, value, allowed).did_you_mean(name, names())
}

fn param_refused(path: &str, value: &Json, range: Allowed) -> SpecError {
    let error = SpecError::new(path, value, allowed(range));
    match (range, value.as_str()) {
        (Allowed::Words(words), Some(word)) => error.did_you_mean(word, words.iter().copied()),
        _ => error,
    }
}

/// What a parameter may be, as it follows "expected".
pub(crate) fn allowed(allowed: Allowed) -> String {
    match allowed {
        Allowed::Number { min, max } => format!("a number from {min} to {max}"),
        Allowed::Integer { min, max } => format!("a whole number from {min} to {max}"),
        Allowed::Bool => "true or false".into(),
        Allowed::Words(words) => one_of(words.iter().copied()),
    }
}

/// A parameter value as JSON.
pub(crate) fn json(value: Value<'_>) -> Json {
    match value {
        Value::Number(number) => tidy(number),
        Value::Bool(given) => given.into(),
        Value::Word(word) => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::presets::PRESETS;

    #[test]
    fn what_schemes_say_of_presets_is_allowed_there() {
        for entry in entries() {
            for own in entry.presets {
                let name = entry.about.name;
                assert!(PRESETS.iter().any(|preset| preset.name == own.preset), "{name}: no preset {}", own.preset);
                let given: Vec<_> = own.params.iter().map(|&(key, value)| (key.to_string(), value.into())).collect();
                let all = (entry.configure)(&given);
                assert!(all.is_ok(), "{name} in {}: {all:?}", own.preset);
            }
        }
    }
}
