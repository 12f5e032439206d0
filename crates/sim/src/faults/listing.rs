//! The schedule of faults in readable form: what happens, to which links, and when.

use super::schedule::times;
use super::select::Map;
use crate::spec::{Broken, Effect, Fault, Pairs, Spec, SpecError};
use crate::topology::Topology;
use serde_json::{Value, json};
use spinewise_policy::Time;

/// Every fault of a spec as JSON: its kind and details, the links it affects, the switch if a switch fails, and the
/// time range in which it is in force (ps; null: permanently).
///
/// # Errors
/// When a fault names something that does not exist.
pub fn listing(spec: &Spec, topology: &Topology) -> Result<Value, SpecError> {
    let Some(faults) = &spec.faults else { return Ok(json!([])) };
    let map = Map::new(topology);
    let one = |(n, fault): (usize, &Fault)| {
        let links: Vec<String> = map.links(n, fault)?.into_iter().map(|link| topology.link_name(link)).collect();
        let end = |until: Time| (until != Time::NEVER).then_some(until.0);
        let times = times(n, fault, spec.run.until)?;
        let intervals: Vec<Value> = times.into_iter().map(|(from, until)| json!([from.0, end(until)])).collect();
        let switch = if let Broken::Switch(name) = &fault.broken { Some(name) } else { None };
        let mut told = json!({"links": links, "switch": switch, "intervals": intervals});
        let (kind, particular) = effect(&fault.effect);
        told["kind"] = kind.into();
        if let Some((name, value)) = particular {
            told[name] = value;
        }
        Ok(told)
    };
    faults.faults.iter().enumerate().map(one).collect()
}

/// The word for what happens, and its details.
fn effect(effect: &Effect) -> (&'static str, Option<(&'static str, Value)>) {
    match effect {
        Effect::Down => ("down", None),
        Effect::Flap { .. } => ("flap", None),
        Effect::Loss(probability) => ("loss", Some(("probability", json!(probability)))),
        Effect::BlackHole(Pairs::Share(share)) => ("black_hole", Some(("fraction", json!(share)))),
        Effect::BlackHole(Pairs::Listed(pairs)) => ("black_hole", Some(("pairs", json!(pairs)))),
        Effect::Rate(rate) => ("rate", Some(("rate_bps", json!(rate)))),
        Effect::Delay(added) => ("delay", Some(("added_ps", json!(added.0)))),
    }
}
