//! The choice trace: for chosen flows, each choice of a path, what the scheme saw, and the actual state of the fabric;
//! and which of their packets were lost where.
//!
//! A scheme sees only its own place, and no module reads another's state. So the actual state comes from a second pass:
//! the first pass records when a packet chose among which ways; the second repeats the run and samples every port on
//! those ways at that instant, before any arrival at that instant, including the choosing packet, is processed. Runs
//! are deterministic, so both passes are the same run, and the trace does not depend on the engine.
//!
//! | file | contents |
//! |---|---|
//! | [`crate::choices`] | first pass: choices as they are made, and what is lost |
//! | [`crate::switch::Looks`] | second pass: ports looked at, kept by each switch |
//! | `looks.rs` | which ports are looked at when |
//! | `paths.rs` | the links that each way leads over, and the best continuation by the observations there |
//! | `table.rs` | both together as columns |

mod looks;
mod paths;
mod table;

use crate::choices::Recorder;
use crate::engine::Sim;
use crate::ids::FlowId;
use crate::outcome::{Outcome, Values};
use crate::setup::{Failure, Setup, Tuning, closed};
use crate::spec::{Spec, SpecError};
use crate::warden::{Warden, Watch};

pub use table::{CHOICE_COLUMNS, HOP_COLUMNS, LOSS_COLUMNS};

/// Maximum number of looks at ports in one trace: each takes 48 bytes.
const MOST_LOOKS: usize = 50_000_000;

/// A quantity that a scheme saw, as a column: NaN where it did not.
#[derive(Clone, Debug)]
pub struct Saw {
    /// Scheme and quantity: `conga.local`.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Its subject: "flow", the same for all candidates of a choice, or "way".
    pub of: &'static str,
    /// One value per row.
    pub values: Vec<f64>,
}

/// The choices of a run's traced flows: a row for each candidate of each choice.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Values of [`CHOICE_COLUMNS`].
    pub rows: Vec<Values>,
    /// Offsets of the hops of each row, and the end of the last.
    pub offsets: Vec<u32>,
    /// Values of [`HOP_COLUMNS`].
    pub hops: Vec<Values>,
    /// The quantities that schemes saw.
    pub saw: Vec<Saw>,
    /// By column, the words that its numbers encode.
    pub words: serde_json::Value,
    /// The fate of their packets that never arrived, or not whole: values of [`LOSS_COLUMNS`].
    pub losses: Vec<Values>,
    /// The words that the numbers there encode.
    pub loss_words: serde_json::Value,
}

/// [`crate::setup::simulate`] with a trace of these flows: takes twice as long.
///
/// # Errors
/// [`Failure`]: as there; or a flow that does not exist or stays in its rack, a trace too large, or a user's scheme
/// under which no two runs are alike.
pub fn simulate(spec: &Spec, tuning: Tuning, flows: &[u32], watch: Watch<'_>) -> Result<(Outcome, Trace), Failure> {
    let Setup { net, start, loads } = Setup::build(spec, tuning, &Warden::new(watch))?;
    let mut sim = Sim::new(&net, start);
    check(&sim, flows)?;
    let subflows = flows.iter().flat_map(|&flow| sim.world.flows.subflows_of(FlowId::new(flow)));
    let mut recorder = Recorder::new(sim.world.flows.count(), subflows);
    // The path that the switches' hash derives from its choice is known under a scheme at the hosts.
    recorder.tells_hashes = sim.world.edge.is_none();
    sim.world.log.recorder = Some(Box::new(recorder));
    let stop = sim.finish(spec, tuning, watch)?;
    let recorder = sim.world.log.recorder.take().map(|recorder| *recorder).unwrap_or_default();
    let mut outcome = closed(spec, sim, (stop, loads), watch)?;

    let Setup { net, start, loads } = Setup::build(spec, tuning, &Warden::new(watch))?;
    let mut again = Sim::new(&net, start);
    let choices = recorder.close();
    looks::plan(&mut again, &choices, MOST_LOOKS)?;
    let stop = again.finish(spec, tuning, watch)?;
    let trace = table::table(&again, &choices);
    let second = closed(spec, again, (stop, loads), watch)?;
    if second.hash != outcome.hash {
        return Err(unlike(spec).into());
    }
    outcome.report["traced_flows"] = flows.into();
    Ok((outcome, trace))
}

/// The reason why the observed run differed from the first: nothing keeps user code from drawing random numbers
/// elsewhere.
fn unlike(spec: &Spec) -> SpecError {
    let entry = spec.scheme.chosen().entry();
    assert!(entry.source.is_some(), "a run that is looked at is the same run");
    SpecError::said("scheme", entry.name(), "a scheme under which a run always comes out the same").hint(
        "a second run came out differently: take chance from cx.rng alone, keep what changes in rows alone, and use no \
         clock, set or address",
    )
}

/// Checks that there is anything to trace.
fn check(sim: &Sim<'_>, flows: &[u32]) -> Result<(), SpecError> {
    let error = |value: String, allowed: String, hint: Option<String>| {
        let error = SpecError::said("trace", value, allowed);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    };
    for &flow in flows {
        let Some(found) = sim.world.flows.specs.get(FlowId::new(flow)) else {
            let allowed = match sim.world.flows.specs.len() {
                0 => "none: the run has no flows".into(),
                n => format!("a flow of this run, 0 to {}", n - 1),
            };
            return Err(error(flow.to_string(), allowed, None));
        };
        if sim.net.same_rack(found.sender(), found.receiver()) {
            let leaf = sim.net.topology.leaf_node(sim.net.topology.leaf(found.sender()));
            return Err(error(
                flow.to_string(),
                "a flow between two racks".into(),
                Some(format!(
                    "hosts {} and {} are both at {}: there is one path and no choice",
                    found.src,
                    found.dst,
                    sim.net.topology.node_name(leaf)
                )),
            ));
        }
    }
    Ok(())
}
