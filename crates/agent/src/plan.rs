//! Which half of a scheme runs where: what its units are, and what the fast half does when one is full.

use crate::config::{Scheme, choose};
use crate::layout::{Then, Unit};
use spinewise_policy::Value;
use spinewise_sim::bank::Chosen;

/// A scheme as the agent runs it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scheme, as given.
    pub asked: String,
    /// The scheme whose slow half runs.
    pub chosen: Chosen,
    /// What is placed as a unit.
    pub unit: Unit,
    /// The name of the unit for output: "flow", "packet", "flowcell" or "flowlet".
    pub moves: &'static str,
    /// Where the next unit goes.
    pub then: Then,
    /// Ways are source ports that the scheme finds on its own.
    pub by_port: bool,
    /// Sizes are in bytes of payload.
    pub in_bytes: bool,
}

/// More packets than any flow has: a unit that is a flow.
const WHOLE_FLOW: f64 = 1e9;

/// Schemes that agents run.
const RUN: [&str; 10] =
    ["ecmp", "packet_scatter", "rps", "letflow", "flowcell", "presto", "pdlb", "clove", "meet", "elab"];

/// Plans for a scheme.
///
/// # Errors
/// The scheme or its parameters cannot run at a host, in words.
pub fn plan(scheme: &Scheme) -> Result<Plan, String> {
    let given = choose(scheme)?;
    if !RUN.contains(&given.name()) {
        let name = given.name();
        return Err(format!(
            "scheme.name = {name:?}: agents run {}; other schemes need their own switches or are not yet built for \
             hosts",
            RUN.join(", ")
        ));
    }
    let named = |name: &str, params: &[(&str, Value<'_>)]| {
        let of = Chosen::by_name(name).ok_or_else(|| format!("no scheme {name}"))?;
        of.with(params).map_err(|misfit| format!("{name}: {misfit:?}"))
    };
    let in_bytes = word(&given, "count") == "bytes";
    let plan = |chosen, unit, moves, then, by_port| {
        Ok(Plan { asked: scheme.name.clone(), chosen, unit, moves, then, by_port, in_bytes })
    };
    match scheme.name.as_str() {
        // Where switches hash, a host draws: each flow stays on one path, all paths equally likely.
        "ecmp" => {
            let flows = named("flowcell", &[("packets", Value::Number(WHOLE_FLOW))])?;
            plan(flows, Unit::Cell, "flow", Then::Turn, false)
        }
        "packet_scatter" | "rps" => {
            plan(named("flowcell", &[("packets", Value::Number(1.0))])?, Unit::Cell, "packet", Then::Turn, false)
        }
        // LetFlow's rule at the host is Edge-Flowlet (CLOVE): a path at random for each flowlet.
        "letflow" => {
            let gap = number(&given, "flowlet_gap_us");
            let params = [("mode", Value::Word("edge_flowlet")), ("flowlet_gap_us", Value::Number(gap))];
            plan(named("clove", &params)?, Unit::Flowlet, "flowlet", Then::Turn, false)
        }
        "clove" => plan(given, Unit::Flowlet, "flowlet", Then::Turn, false),
        "meet" => {
            let then = if word(&given, "tie") == "keep" { Then::Keep } else { Then::Turn };
            plan(given, Unit::Flowlet, "flowlet", then, false)
        }
        "flowcell" | "pdlb" => {
            let then = if word(&given, "dispatch") == "round_robin" { Then::After } else { Then::Turn };
            plan(given, Unit::Cell, "flowcell", then, false)
        }
        "presto" => {
            for (name, only) in
                [("order", "ascending"), ("weights", "equal"), ("acks", "fabric"), ("first_cell", "full")]
            {
                if word(&given, name) != only {
                    return Err(format!(
                        "scheme.params.{name} = {:?}: agents support only {only:?}",
                        word(&given, name)
                    ));
                }
            }
            plan(given, Unit::Cell, "flowcell", Then::After, false)
        }
        "elab" => {
            if word(&given, "discovery") != "traceroute" {
                return Err("scheme.params.discovery: agents support only \"traceroute\"".to_owned());
            }
            plan(given, Unit::Packet, "packet", Then::Turn, true)
        }
        // Each of RUN has its line above.
        other => Err(format!("scheme.name = {other:?}: no plan")),
    }
}

/// Returns a numeric parameter of a scheme, NaN if there is none.
fn number(chosen: &Chosen, name: &str) -> f64 {
    match chosen.params().iter().find(|(given, _)| *given == name) {
        Some((_, Value::Number(number))) => *number,
        Some((_, Value::Bool(_) | Value::Word(_))) | None => f64::NAN,
    }
}

/// Returns a word among the parameters of a scheme, empty if there is none.
fn word(chosen: &Chosen, name: &str) -> &'static str {
    match chosen.params().iter().find(|(given, _)| *given == name) {
        Some((_, Value::Word(word))) => word,
        Some((_, Value::Bool(_) | Value::Number(_))) | None => "",
    }
}
