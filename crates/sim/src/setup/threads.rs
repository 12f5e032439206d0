//! A run on several threads: each sets up the whole run and works on its part.

use super::{Failure, Setup, Tuning, follows_a_program, memory};
use crate::engine::Sim;
use crate::engine::parts::{self, Meeting, Parts, Share};
use crate::spec::{Spec, SpecError, Warning};
use crate::warden::{Interrupted, Progress, Warden, Watch};
use spinewise_policy::{Span, Time};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

/// Runs to the end, as [`Sim::finish`], on as many threads as the tuning asks for, if the run can be split. `None` if
/// they are not worthwhile: the run must then be repeated.
///
/// # Errors
/// As [`Sim::finish`].
pub(super) fn finish(
    sim: &mut Sim<'_>,
    spec: &Spec,
    tuning: Tuning,
    watch: Watch<'_>,
) -> Result<Option<Time>, Failure> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if tuning.threads_if_worth { tuning.threads.min(processors) } else { tuning.threads };
    if tuning.threads < 2 {
        return sim.finish(spec, tuning, watch).map(Some);
    }
    let window = if threads < 2 { Err("this machine gives it one processor") } else { window(sim, spec, tuning) };
    match window.and_then(|window| Ok((window, with_room(sim, spec, Tuning { threads, ..tuning })?))) {
        Ok((window, tuning)) => run(sim, spec, tuning, window, watch),
        Err(why) => {
            sim.warnings.push(warning(why));
            sim.finish(spec, tuning, watch).map(Some)
        }
    }
}

/// Explains why a run meant for several threads ran on one.
pub(super) fn warning(why: &str) -> Warning {
    Warning::of("one_thread", "threads", format!("One thread made this run, because {why}."))
}

/// The maximum window length of threads, or why there is one thread.
fn window(sim: &Sim<'_>, spec: &Spec, tuning: Tuning) -> Result<Span, &'static str> {
    if follows_a_program(spec) {
        return Err("it follows a program in the order of its events");
    }
    let Some(window) = sim.window(spec, tuning) else { return Err("the engine of events has no windows") };
    match parts::reason_for_one(sim) {
        None if sim.net.topology.leaves < 2 => Err("it has one rack"),
        None => Ok(window),
        Some(why) => Err(why),
    }
}

/// Limits threads to those there is memory for; or returns why there is one. The memory they all take is no longer
/// available for series.
fn with_room(sim: &mut Sim<'_>, spec: &Spec, tuning: Tuning) -> Result<Tuning, &'static str> {
    let Some(memory) = tuning.memory else { return Ok(tuning) };
    let most = tuning.threads.min(sim.net.topology.leaves as usize);
    let (threads, points) = memory::most_threads(most, spec, &sim.world.flows, sim.net, memory);
    if threads < 2 {
        return Err("each thread would set up the whole run, and memory has room for only one");
    }
    sim.world.log.most_points = Some(usize::try_from(points).unwrap_or(usize::MAX));
    Ok(Tuning { threads, ..tuning })
}

fn run(
    sim: &mut Sim<'_>,
    spec: &Spec,
    tuning: Tuning,
    window: Span,
    watch: Watch<'_>,
) -> Result<Option<Time>, Failure> {
    let parts = &Parts::new(&sim.net.topology, tuning.threads);
    let meeting = Meeting::new(parts.count());
    let meeting = &if tuning.threads_if_worth { meeting.if_worth() } else { meeting };
    let most_points = sim.world.log.most_points;
    let (stop, others) = thread::scope(|scope| {
        // Must come before any thread could wait for this one.
        let leaves = meeting.leaving();
        let begin = |own| {
            let work = move || work(spec, tuning, (window, most_points), (parts, own), meeting);
            thread::Builder::new().spawn_scoped(scope, work).map_err(|error| refused(tuning.threads, &error))
        };
        let others: Vec<_> = (1..parts.count()).map(begin).collect::<Result<_, _>>()?;
        let stop = parts::run(sim, (parts, 0), window, meeting, watch);
        drop(leaves);
        let others: Vec<_> = others.into_iter().map(ScopedJoinHandle::join).collect();
        Ok::<_, Failure>((stop, others))
    })?;
    let others: Vec<_> = others.into_iter().map(|other| other.unwrap_or_else(|panic| resume_unwind(panic))).collect();
    let mut shares = Vec::new();
    for other in others {
        let (stopped, share) = other?;
        assert!(stop.is_err() || stopped == stop, "all threads stop at one instant");
        shares.push(share);
    }
    if meeting.was_given_up() {
        return Ok(None);
    }
    match stop {
        Ok(stop) => {
            sim.take_up(parts, shares);
            sim.end_series(stop);
        }
        Err(Interrupted) => {
            if let Some(full) = shares.into_iter().find(Share::is_full) {
                sim.world.log = full.into_log();
            }
        }
    }
    // The points of all parts together may exceed the memory.
    let stop = if sim.world.log.full { Err(Interrupted) } else { stop };
    stop.map(Some).map_err(|Interrupted| sim.why_interrupted(spec))
}

/// Runs another thread: sets the run up, and works on a part. Returns when that stopped, and its share.
fn work(
    spec: &Spec,
    tuning: Tuning,
    (window, most_points): (Span, Option<usize>),
    (parts, own): (&Parts, usize),
    meeting: &Meeting,
) -> Result<(Result<Time, Interrupted>, Share), Failure> {
    let _leaves = meeting.leaving();
    let mut always = |_: Progress| true;
    // The first thread has found that there is memory for all of them.
    let tuning = Tuning { memory: None, ..tuning };
    let Setup { net, start, .. } = Setup::build(spec, tuning, &Warden::new(&mut always))?;
    let mut sim = Sim::new(&net, start);
    sim.world.log.most_points = most_points;
    let stop = parts::run(&mut sim, (parts, own), window, meeting, &mut always);
    Ok((stop, Share::from(sim)))
}

/// The system cannot create another thread.
fn refused(threads: usize, error: &std::io::Error) -> Failure {
    let allowed = format!("as many as this machine allows a process ({error})");
    SpecError::said("threads", threads.to_string(), allowed).into()
}
