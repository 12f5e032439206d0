//! `[run]`: when a run ends, and by which engine.

use serde_json::{Map, Value};
use spinewise_policy::{Span, Time};

use super::fault::FaultSpec;
use super::switch::SwitchSpec;
use crate::keys::{Default, Kind, Reader, SpecError, Unit, Zero, keys, words};
use crate::transport::TransportSpec;

keys! {
    /// `[run]`.
    RunKeys {
        /// What ends a run: all flows being done, or only the time until_us.
        stop: Stop, Kind::Words(Stop::WORDS), Default::Word("flows_done");
        /// The run ends at this simulated time at the latest; flows not done then are counted as unfinished, and flows
        /// that would start then or later are left out.
        until_us: Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Number(10_000_000.0);
        /// The grid of instants at which a run can stop and at which quantities that span nodes are read.
        grid_ns: Span, Kind::Time(Unit::Nanoseconds, Zero::Refused), Default::Number(10_000.0);
        /// Windows of time node by node, one event queue (same results), or whichever suits the fabric. "htsim" is one
        /// event queue that orders simultaneous events as htsim does, for transport.kind = "uet": its runs agree with
        /// that program's where all else does.
        engine: EngineKind, Kind::Words(EngineKind::WORDS), Default::Word("auto");
        /// Length of a time window, at most the shortest link delay; 0 = that delay. It does not change results.
        window_ns: Span, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Number(0.0);
        /// Follow the public ns-3 code of ConWeave event by event, with its order of simultaneous events, its random
        /// numbers and its clock: each flow gets the same result as in that program. Three to five times slower.
        follow: Follow, Kind::Words(Follow::WORDS), Default::Word("nothing");
    }
}

words! {
    /// The condition that ends a run.
    Stop {
        /// All flows are done.
        FlowsDone = "flows_done",
        /// The time alone.
        Time = "time",
    }
}

words! {
    /// The engine that runs.
    EngineKind {
        /// Windows, unless a link has no delay.
        Auto = "auto",
        /// Time windows, node by node.
        Windows = "windows",
        /// One event queue.
        Events = "events",
        /// One event queue in the order of htsim.
        Htsim = "htsim",
    }
}

words! {
    /// The program whose runs are followed event by event.
    Follow {
        /// None.
        Nothing = "nothing",
        /// The public ns-3 code of the ConWeave paper.
        ConweaveNs3 = "conweave-ns3",
    }
}

/// The end of a run, and its engine.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSpec {
    /// The condition that ends it.
    pub stop: Stop,
    /// Hard limit.
    pub until: Time,
    /// Stop and snapshot grid.
    pub grid: Span,
    /// The engine.
    pub engine: EngineKind,
    /// Window of the windowed engine; `None` = the shortest link delay.
    pub window: Option<Span>,
    /// The program that is followed event by event.
    pub follow: Follow,
}

/// Reads `[run]`; `shortest` is the shortest link delay.
pub(crate) fn read(given: &Map<String, Value>, shortest: Span) -> Result<(RunSpec, Value), SpecError> {
    let mut reader = Reader::new("run", RunKeys::KEYS, given)?;
    let keys = RunKeys::read(&mut reader)?;
    if keys.engine == EngineKind::Windows && shortest == Span::ZERO {
        return Err(reader
            .refuse("engine", "\"auto\" or \"events\"")
            .hint("a link without delay leaves no time window; see the delays in [topology]"));
    }
    let window = (keys.window_ns > Span::ZERO).then_some(keys.window_ns);
    if window.is_some_and(|window| window > shortest) {
        return Err(
            reader.refuse("window_ns", format!("at most the shortest link delay, {} ns", shortest.0 as f64 / 1e3))
        );
    }
    let follow = keys.follow;
    if follow != Follow::Nothing && keys.engine != EngineKind::Auto {
        return Err(reader.refuse("engine", "\"auto\" with run.follow, which has its own engine"));
    }
    let run = RunSpec {
        stop: keys.stop,
        until: Time(keys.until_us.0),
        grid: keys.grid_ns,
        engine: keys.engine,
        window,
        follow,
    };
    Ok((run, reader.finish()))
}

/// Checks that htsim's order fits the run: Ultra Ethernet over ports that trim, none of which fails.
pub(super) fn check_engine(
    engine: EngineKind,
    (switch, transport): (&SwitchSpec, &TransportSpec),
    faults: Option<&FaultSpec>,
) -> Result<(), SpecError> {
    let fits =
        matches!(transport, TransportSpec::Uet(_)) && matches!(switch, SwitchSpec::Trimming(_)) && faults.is_none();
    if engine != EngineKind::Htsim || fits {
        return Ok(());
    }
    let allowed = "\"htsim\" with transport.kind = \"uet\", switch.model = \"trimming\" and no [[fault]]; else \"auto\", \
                   \"windows\" or \"events\"";
    Err(SpecError::new("run.engine", &engine.word().into(), allowed))
}
