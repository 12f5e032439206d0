//! Watches a run from outside: reports progress, checks for Ctrl-C, and watches memory.

use crate::own::failure;
use crate::spec_error;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::Value;
use spinewise_sim::setup::Failure;
use spinewise_sim::spec;
use spinewise_sim::warden::Progress;
use std::time::{Duration, Instant};

/// Interval at which the interpreter is attached.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Wall-clock time: it only decides when to look, and how long things took.
#[allow(clippy::disallowed_methods)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Watches a run from outside: reports progress, checks for signals and for memory.
pub(crate) struct Looks {
    progress: Option<Py<PyAny>>,
    looked: Instant,
    /// The exception that stopped the run, if one did.
    raised: Option<PyErr>,
    /// Additional amount of each resource that the process may use, bytes, and its use at the start.
    limits: Vec<(Taken, u64, u64)>,
    /// The resource that was exceeded, and by how much; the run was stopped for it.
    outgrown: Option<(Taken, u64)>,
    /// When the run is stopped.
    pub deadline: Option<Instant>,
    /// Whether that has happened.
    pub timed_out: bool,
    /// Simulated time at the last look, ps.
    pub at: u64,
    in_python: bool,
}

impl Looks {
    /// Takes the function to call, the limits of memory and of address space in the tuning, and whether the scheme is
    /// written in Python: if so the interpreter is kept, and other threads have their turn at each look.
    pub(crate) fn new(progress: Option<Py<PyAny>>, tuning: &Value, in_python: bool) -> Looks {
        let limit = |taken: Taken| Some((taken, taken.now()?, tuning[taken.key()].as_u64()?));
        Looks {
            progress,
            looked: now(),
            raised: None,
            limits: [Taken::Memory, Taken::Addresses].into_iter().filter_map(limit).collect(),
            outgrown: None,
            deadline: None,
            timed_out: false,
            at: 0,
            in_python,
        }
    }

    /// Whether the run may continue.
    pub(crate) fn look(&mut self, at: Progress) -> bool {
        if self.in_python && failure::has_failed() {
            return false;
        }
        self.at = at.now.0;
        let now = now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.timed_out = true;
            return false;
        }
        if now.duration_since(self.looked) < LOOK_EVERY {
            return true;
        }
        self.looked = now;
        self.fits() && Python::attach(|py| self.report(py, at))
    }

    fn report(&mut self, py: Python<'_>, at: Progress) -> bool {
        let told = |progress: &Py<PyAny>| progress.call1(py, (at.now.0, at.packet_hops, at.open, at.flows)).map(|_| ());
        let reported = self.progress.as_ref().map_or(Ok(()), told);
        if self.in_python {
            py.detach(|| ());
        }
        match reported.and_then(|()| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                self.raised = Some(error);
                false
            }
        }
    }

    /// Whether the process is still within its limits.
    fn fits(&mut self) -> bool {
        let grown = |&(taken, before, most): &(Taken, u64, u64)| {
            let grown = taken.now()?.saturating_sub(before);
            (grown > most).then_some((taken, grown))
        };
        self.outgrown = self.limits.iter().find_map(grown);
        self.outgrown.is_none()
    }

    /// Returns the reason why there is no outcome.
    pub(crate) fn error(self, py: Python<'_>, failure: &Failure) -> PyErr {
        match (failure, self.raised, self.outgrown) {
            (Failure::Spec(error), ..) => spec_error(py, error),
            (Failure::Interrupted, Some(raised), _) => raised,
            (Failure::Interrupted, None, Some((taken, grown))) => {
                let us = self.at as f64 / 1e6;
                let error = spec::SpecError::said(
                    "run",
                    format!("{:.1} GB used after {us} us of simulated time", grown as f64 / 1e9),
                    taken.allowed(),
                )
                .hint("a shorter run.until_us, fewer flows, or shorter links need less");
                spec_error(py, &error)
            }
            (Failure::Interrupted, None, None) => PyKeyboardInterrupt::new_err("stopped"),
        }
    }
}

/// A resource of the machine that a process uses.
#[derive(Clone, Copy)]
enum Taken {
    /// Memory.
    Memory,
    /// Address space, where that is limited: much of it may be reserved and never used, as by the allocator for each
    /// thread.
    Addresses,
}

impl Taken {
    /// The key of the tuning that says how much more there is.
    const fn key(self) -> &'static str {
        match self {
            Taken::Memory => "memory",
            Taken::Addresses => "address_space",
        }
    }

    /// Returns the name of the limit.
    const fn allowed(self) -> &'static str {
        match self {
            Taken::Memory => "a run that fits into free memory",
            Taken::Addresses => "a run that fits into the remaining address space (ulimit -v)",
        }
    }

    /// Used by this process, bytes; unknown where there is no /proc.
    fn now(self) -> Option<u64> {
        let line = match self {
            Taken::Memory => "VmRSS:",
            Taken::Addresses => "VmSize:",
        };
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let kilobytes = status.lines().find_map(|told| told.strip_prefix(line))?.split_whitespace().next()?;
        Some(kilobytes.parse::<u64>().ok()? * 1024)
    }
}
