//! A run by several threads: each sets up the whole of it, and works at its part.

use super::{Failure, Setup, Tuning};
use crate::engine::Sim;
use crate::engine::parts::{self, Meeting, Parts, Share};
use crate::spec::{EngineKind, Follow, Spec, Warning};
use crate::warden::{Interrupted, Progress, Warden, Watch};
use spinewise_policy::{Span, Time};
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

/// Runs to the end, as [`Sim::finish`], by as many threads as the tuning says, if the run can be parted.
///
/// # Errors
/// As [`Sim::finish`].
pub(super) fn finish(sim: &mut Sim<'_>, spec: &Spec, tuning: Tuning, watch: Watch<'_>) -> Result<Time, Failure> {
    if tuning.threads < 2 {
        return sim.finish(spec, tuning, watch);
    }
    match window(sim, spec, tuning) {
        Ok(window) => run(sim, spec, tuning, window, watch),
        Err(why) => {
            sim.warnings.push(Warning::of("one_thread", "threads", format!("One thread made this run, as {why}.")));
            sim.finish(spec, tuning, watch)
        }
    }
}

/// How long the windows of threads may be, or why one makes the run.
fn window(sim: &Sim<'_>, spec: &Spec, tuning: Tuning) -> Result<Span, &'static str> {
    if spec.run.follow != Follow::Nothing || spec.run.engine == EngineKind::Htsim {
        return Err("it follows a program in the order of its events");
    }
    let Some(window) = sim.window(spec, tuning) else { return Err("the engine of events has no windows") };
    match parts::reason_for_one(sim) {
        None if sim.net.topology.leaves < 2 => Err("it has one rack"),
        None => Ok(window),
        Some(why) => Err(why),
    }
}

fn run(sim: &mut Sim<'_>, spec: &Spec, tuning: Tuning, window: Span, watch: Watch<'_>) -> Result<Time, Failure> {
    let parts = &Parts::new(&sim.net.topology, tuning.threads);
    let meeting = &Meeting::new(parts.count());
    let (stop, others) = thread::scope(|scope| {
        let others: Vec<_> = (1..parts.count())
            .map(|own| scope.spawn(move || work(spec, tuning, window, (parts, own), meeting)))
            .collect();
        let leaves = meeting.leaving();
        let stop = parts::run(sim, (parts, 0), window, meeting, watch);
        drop(leaves);
        let others: Vec<_> = others.into_iter().map(ScopedJoinHandle::join).collect();
        (stop, others)
    });
    let shares = others.into_iter().map(|other| other.unwrap_or_else(|panic| resume_unwind(panic)));
    let shares: Vec<Share> = shares.collect::<Result<_, _>>()?;
    match stop {
        Ok(stop) => {
            sim.take_up(parts, shares);
            Ok(stop)
        }
        Err(Interrupted) => {
            sim.world.log.full |= shares.iter().any(Share::is_full);
            Err(sim.why_interrupted(spec))
        }
    }
}

/// What another thread does: sets the run up, works at a part, and leaves what has become of it. Where it is interrupted
/// all are, and the first tells why.
fn work(
    spec: &Spec,
    tuning: Tuning,
    window: Span,
    (parts, own): (&Parts, usize),
    meeting: &Meeting,
) -> Result<Share, Failure> {
    let _leaves = meeting.leaving();
    let mut always = |_: Progress| true;
    let Setup { net, start, .. } = Setup::build(spec, tuning, &Warden::new(&mut always))?;
    let mut sim = Sim::new(&net, start);
    let _ = parts::run(&mut sim, (parts, own), window, meeting, &mut always);
    Ok(Share::from(sim))
}
