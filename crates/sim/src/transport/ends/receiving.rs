//! The receiving end of a flow, and the data that waits below it.

use super::timer::Timer;
use crate::transport::contract::{Arrival, Receiver};
use crate::transport::resequencer::{Buffer, Rules, Tally};
use spinewise_policy::Time;

/// The receiving end of a flow.
#[derive(Debug)]
pub(super) struct Receiving<R> {
    /// The transport's receiver.
    pub(super) machine: R,
    timer: Timer,
    /// Timers of the other paths.
    further: Vec<Timer>,
    /// What waits below the transport, where receivers hold data back.
    waiting: Option<Box<Waiting>>,
}

/// Data that waits below its transport.
#[derive(Debug)]
struct Waiting {
    packets: Buffer<Arrival>,
    timer: Timer,
}

impl<R: Receiver> Receiving<R> {
    /// A receiving end with this many paths, for a flow of `size` bytes.
    pub(super) fn new(config: &R::Config, size: u64, paths: usize) -> Box<Self> {
        let further = (1..paths).map(|_| Timer::NONE).collect();
        Box::new(Receiving { machine: R::new(config, size), timer: Timer::NONE, further, waiting: None })
    }

    /// The timer of a path.
    #[inline(always)]
    pub(super) fn timer(&mut self, path: usize) -> &mut Timer {
        if path == 0 { &mut self.timer } else { &mut self.further[path - 1] }
    }

    /// A timer to plan for this path, or [`Time::NEVER`].
    #[inline(always)]
    pub(super) fn plan(&mut self, path: usize) -> Time {
        let deadline = self.machine.deadline(path);
        self.timer(path).want(deadline)
    }

    /// A packet arrives that may have to wait. What may go on now is added to `ready`.
    pub(super) fn hold(
        &mut self,
        rules: &Rules,
        now: Time,
        packet: Arrival,
        ready: &mut Vec<Arrival>,
        tally: &mut Tally,
    ) {
        let none = || Box::new(Waiting { packets: Buffer::new(rules), timer: Timer::NONE });
        let packets = &mut self.waiting.get_or_insert_with(none).packets;
        if packet.syn {
            packets.greet(now, packet);
        } else {
            packets.arrive(rules, now, (packet.seq, packet.len), packet, ready, tally);
        }
    }

    /// The planned timer of what waits fires. What may go on now is added to `ready`. Was it still wanted?
    pub(super) fn release(&mut self, rules: &Rules, now: Time, ready: &mut Vec<Arrival>, tally: &mut Tally) -> bool {
        let Some(waiting) = self.waiting.as_deref_mut() else { return false };
        let is_wanted = waiting.timer.fires(now);
        if is_wanted {
            waiting.packets.expire(rules, now, ready, tally);
        }
        is_wanted
    }

    /// The timer to plan for what waits, or [`Time::NEVER`].
    pub(super) fn release_at(&mut self, rules: &Rules) -> Time {
        let waiting = self.waiting.as_deref_mut();
        waiting.map_or(Time::NEVER, |waiting| waiting.timer.want(waiting.packets.deadline(rules)))
    }
}
