//! Schemes outside the registry: the worked examples of CONTRIBUTING.md, seated unchanged.
//!
//! `tests/data/own_schemes.json` has specs and their results. tests/python/test_own_schemes.py runs the same specs with
//! the same schemes written in Python, and compares with the same hashes.

#[allow(unreachable_pub)]
#[path = "../../../policy/tests/it/worked_example/plb.rs"]
mod plb;
#[allow(unreachable_pub)]
#[path = "../../../policy/tests/it/worked_example/power_of_two.rs"]
mod power_of_two;

/// A scheme that asks for what does not exist.
mod asker {
    use spinewise_policy::{AtSwitch, Cx, Hooks, Layout, Packet, Policy, Port, Shape, Sheet, Span, Tier, Way};

    spinewise_policy::params! {
        /// None.
        Config {}
    }

    #[derive(Clone, Copy, Debug)]
    pub(super) struct Asker;

    impl Policy for Asker {
        const SHEET: Sheet = Sheet { name: "asker", unit: "packet", ..Sheet::AT_SWITCH };
        const HOOKS: Hooks = Hooks::TICK;
        type Site = AtSwitch;
        type Config = Config;
        spinewise_policy::rows! {}

        fn new(_: &Config) -> Self {
            Asker
        }

        fn layout(&self, _: &Shape) -> Layout {
            Layout { tick: Span::from_us(10), ..Layout::default() }
        }

        fn pick(&self, _: &mut Cx<'_, Self>, (): &mut (), _: &Packet, (): &mut ()) -> Way {
            Way(0)
        }

        fn tick(&self, cx: &mut Cx<'_, Self>) {
            // There are two leaves: 2 is a spine, 4 does not exist.
            let (view, up) = (cx.view, Port(cx.view.host_ports));
            for leaf in 2..5 {
                assert!(view.towards(leaf).is_empty());
                assert!(!view.told_loss(leaf));
                assert_eq!(view.told_paths(leaf), 0);
                assert_eq!(view.told_capacity(up, leaf), 0);
                for (from, to) in [(0, leaf), (leaf, 0)] {
                    assert_eq!(view.told_path(from, to, 0), None);
                    assert_eq!(view.told_component(from, to, 0), None);
                    assert_eq!(view.told_hop(from, to, Way(0)), None);
                }
            }
            assert_eq!(view.towards(1).is_empty(), view.switch == 1);
            if view.tier == Tier::Leaf {
                assert_eq!(view.told_capacity(Port(0), 1 - view.switch), 0);
                assert_eq!(view.told_capacity(up, 1 - view.switch), 10_000_000_000);
            } else {
                assert_eq!(view.told_paths(0), 0);
            }
        }
    }
}

use crate::common::events;
use serde_json::{Value, json};
use spinewise_sim::bank::Entry;
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::{Tuning, simulate};
use spinewise_sim::spec::resolve_with;

const GUESTS: &[Entry] =
    &[Entry::guest::<power_of_two::PowerOfTwo>(), Entry::guest::<plb::Plb>(), Entry::guest::<asker::Asker>()];
const RECORDED: &str = include_str!("../../../../tests/data/own_schemes.json");

fn run(spec: &Value, tuning: Tuning) -> Outcome {
    let spec = resolve_with(spec, GUESTS).unwrap_or_else(|error| panic!("{error}\n{spec}"));
    simulate(&spec, tuning, &mut |_| true).unwrap_or_else(|failure| panic!("{failure:?}"))
}

#[test]
fn the_worked_examples_run_as_recorded_in_every_engine() {
    let recorded: Value = serde_json::from_str(RECORDED).expect("JSON");
    let short = Tuning { all_hooks: true, window_divisor: 3, ..Tuning::default() };
    for case in recorded.as_array().expect("a list of cases") {
        for tuning in [Tuning::default(), short, events()] {
            let outcome = run(&case["spec"], tuning);
            assert_eq!(outcome.report["outcome_hash"], case["outcome_hash"], "{}", case["spec"]["scheme"]);
        }
    }
}

#[test]
fn a_guest_is_known_where_it_is_given_and_only_there() {
    let spec = json!({"scheme": {"name": "power_of_two", "params": {"flowlet_gap_us": 50}},
                      "traffic": [{"kind": "permutation", "size_bytes": 10_000}]});
    let known = resolve_with(&spec, GUESTS).expect("it is given");
    assert_eq!(known.resolved["scheme"]["params"], json!({"flowlet_gap_us": 50}));
    let error = spinewise_sim::spec::resolve(&spec).expect_err("nobody gives it");
    assert_eq!(error.key, "scheme.name");
    let wrong = json!({"scheme": {"name": "power_of_two", "params": {"flowlet_gap": 50}}, "traffic": spec["traffic"]});
    let error = resolve_with(&wrong, GUESTS).expect_err("no such parameter");
    assert!(error.to_string().contains("did you mean \"flowlet_gap_us\""), "{error}");
}

/// A spec that ran a user's scheme says what is missing where that is not given.
#[test]
fn a_spec_with_source_wants_that_code() {
    let source = json!({"class": "Mine", "file": "mine.py", "sha256": "12ab"});
    let traffic = json!([{"kind": "permutation", "size_bytes": 10_000}]);
    let spec = json!({"scheme": {"name": "mine", "source": source}, "traffic": traffic});
    let error = resolve_with(&spec, GUESTS).expect_err("it is not given").to_string();
    for part in ["the class Mine of mine.py", "--scheme-file mine.py:Mine", "12ab"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let spec = json!({"scheme": {"name": "ecmp", "source": source}, "traffic": traffic});
    let error = resolve_with(&spec, GUESTS).expect_err("that has no source");
    assert_eq!(error.key, "scheme.source");
}

/// The row of another switch was read, or one beyond the last.
#[test]
fn a_scheme_that_asks_about_no_leaf_is_told_of_nothing() {
    let topology = json!({"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "host_rate_gbps": 10, "fabric_rate_gbps": 10});
    let spec = json!({"topology": topology, "scheme": {"name": "asker"}, "run": {"until_us": 100},
                      "traffic": [{"kind": "permutation", "size_bytes": 10_000}]});
    assert_eq!(run(&spec, Tuning::default()).report["flows"], 4);
}
