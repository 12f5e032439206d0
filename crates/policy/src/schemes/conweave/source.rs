//! The source leaf's half: epochs, phases, and when a flow changes its path.
//!
//! | rule (conweave-ns3, source ToR) | function |
//! |---|---|
//! | silent for longer than θ_inactive: new epoch, new path if a good one is drawn | [`Source::next`], `open` |
//! | reply in time, or CLEAR: the next packet opens an epoch | [`Source::replied`], [`Source::cleared`] |
//! | no reply before the deadline: TAIL on the old path, later packets on the new one | [`Source::next`], `leave` |
//! | one reroute outstanding: no deadline runs between TAIL and the next epoch | `leave` |
//! | no reorder queue was free: the flow keeps its path | [`Source::unqueued`] |

use crate::fabric::reorder::header::{Header, Mark, Stamp};
use crate::{Rule, Span, Time, Way};

crate::choice! {
    /// The reaction to a passed deadline when no good path is drawn.
    NoGoodPath {
        /// The flow sends its TAIL and goes through phase 1 on the path it has.
        Tail = "tail",
        /// Nothing; the next packet draws again.
        Wait = "wait",
    }
}

/// A flow's row at its source leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// When its last packet passed.
    pub last: Time,
    /// When the answer to its epoch's INIT is due; [`Time::NEVER`] if none is awaited.
    pub deadline: Time,
    /// When the TAIL of this epoch was sent, in phase 1.
    pub tail: Time,
    /// Until this time it is not rerouted, for lack of reorder queues.
    pub kept_until: Time,
    /// Its path.
    pub way: Way,
    /// Its epoch.
    pub epoch: u8,
    /// Phase 1: its TAIL was sent.
    pub rerouted: bool,
    /// The next packet opens an epoch.
    pub stabilised: bool,
}

/// Paths drawn at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The first.
    pub first: Way,
    /// The first that is not busy.
    pub good: Option<Way>,
}

/// The form in which a packet is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its header, except for the bytes charged.
    pub header: Header,
    /// The flow has left its path for this one; the next packets follow.
    pub moved: Option<Way>,
}

/// The parameters of this half.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Time within which an answer must come.
    pub reply: Span,
    /// Silence after which nothing of a flow is in flight.
    pub inactive: Span,
    /// How long a flow that found no reorder queue keeps its path.
    pub keep: Span,
    /// The reaction when no good path is drawn.
    pub no_good_path: NoGoodPath,
}

crate::listed! {
    /// The rule that gave a packet its way.
    pub(crate) enum Why: Rule {
        Silent = Rule::Chooses(
            "idle for longer than θ_inactive, so nothing of it is in flight: a path drawn among those not busy, if any",
        ),
        Kept = Rule::Keeps("an earlier reroute found no free reorder queue: it stays"),
        Opens = Rule::Keeps("the answer or CLEAR arrived in time: it stays and opens an epoch"),
        Late = Rule::Chooses(
            "no answer by the deadline: TAIL goes on its path, later packets on one drawn among those not busy, if any",
        ),
        GoesOn = Rule::Keeps("waiting for an answer or CLEAR, or bound to its path: it stays"),
        BehindTail = Rule::Follows("behind its TAIL: the path that it was rerouted to"),
        Starts = Rule::Chooses("a flow that starts: a path drawn among those not busy, if any"),
        Behind = Rule::Keeps(
            "not a data packet at its source leaf: by its path if it has a whole one, otherwise by a hash of the \
             header",
        ),
    }
}

/// The role of a packet in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The first after a silence.
    Silent,
    /// The flow must keep its path.
    Kept,
    /// It opens an epoch.
    Opens,
    /// An answer is late.
    Late,
    /// Any other.
    GoesOn,
}

impl Source {
    #[inline]
    fn turn(&self, rules: &Rules, now: Time, may_leave: bool) -> Turn {
        match () {
            () if now.since(self.last) > rules.inactive => Turn::Silent,
            // SELB §II-A: such a connection uses ECMP, as a backup: it is neither measured nor moved.
            () if now < self.kept_until => Turn::Kept,
            () if self.stabilised => Turn::Opens,
            () if now > self.deadline && may_leave => Turn::Late,
            () => Turn::GoesOn,
        }
    }

    /// The reason for the way that [`Source::next`] will give the flow's next data packet.
    pub(super) fn rule(&self, rules: &Rules, now: Time, may_leave: bool) -> Why {
        match self.turn(rules, now, may_leave) {
            Turn::Kept | Turn::GoesOn | Turn::Opens if self.rerouted && self.tail == self.last => Why::BehindTail,
            Turn::Silent => Why::Silent,
            Turn::Kept => Why::Kept,
            Turn::Opens => Why::Opens,
            Turn::Late => Why::Late,
            Turn::GoesOn => Why::GoesOn,
        }
    }

    /// The flow's next data packet; `may_leave` says whether it may leave its path if an answer is late.
    pub(super) fn next(&mut self, rules: &Rules, now: Time, may_leave: bool, draw: impl FnOnce() -> Draw) -> Sent {
        let turn = self.turn(rules, now, may_leave);
        self.last = now;
        match turn {
            Turn::Silent => {
                let moved = draw().good.filter(|&way| way != self.way);
                self.way = moved.unwrap_or(self.way);
                self.kept_until = Time::ZERO;
                Sent { header: self.open(rules, now), moved }
            }
            Turn::Opens => Sent { header: self.open(rules, now), moved: None },
            Turn::Late => self.leave(rules, now, draw()),
            Turn::Kept | Turn::GoesOn => Sent { header: self.header(now, Mark::Data), moved: None },
        }
    }

    /// A flow never seen, on the good path drawn or on the first; its next packet opens an epoch.
    pub fn new(draw: Draw) -> Source {
        // A silence of any length lies behind it, but its path is already new.
        Source { way: draw.good.unwrap_or(draw.first), deadline: Time::NEVER, stabilised: true, ..Source::default() }
    }

    /// Opens an epoch in phase 0.
    fn open(&mut self, rules: &Rules, now: Time) -> Header {
        self.epoch = self.epoch.wrapping_add(1);
        (self.rerouted, self.stabilised) = (false, false);
        self.deadline = now + rules.reply;
        self.header(now, Mark::Init)
    }

    /// The deadline has passed.
    fn leave(&mut self, rules: &Rules, now: Time, draw: Draw) -> Sent {
        if draw.good.is_none() && rules.no_good_path == NoGoodPath::Wait {
            return Sent { header: self.header(now, Mark::Data), moved: None };
        }
        self.deadline = Time::NEVER;
        self.tail = now;
        let header = self.header(now, Mark::Tail);
        self.rerouted = true;
        let moved = draw.good.filter(|&way| way != self.way);
        self.way = moved.unwrap_or(self.way);
        Sent { header, moved }
    }

    fn header(&self, now: Time, mark: Mark) -> Header {
        let tail = if self.rerouted || mark == Mark::Tail { Stamp::of(self.tail) } else { Stamp::default() };
        let tx = Stamp::of(now);
        Header { stamped: true, rerouted: self.rerouted, mark, charged: 0, way: self.way, epoch: self.epoch, tx, tail }
    }

    /// RTT_REPLY: the INIT of `epoch` has arrived. Only a reply in time shows that the path is good.
    pub(crate) fn replied(&mut self, now: Time, epoch: u8) {
        // No answer is awaited in phase 1.
        if epoch == self.epoch && self.deadline != Time::NEVER && now < self.deadline {
            self.stabilised = true;
        }
    }

    /// CLEAR: the TAIL of `epoch` has arrived.
    pub(crate) fn cleared(&mut self, epoch: u8) {
        if epoch == self.epoch && self.rerouted {
            self.stabilised = true;
        }
    }

    /// An early packet of `epoch` found no reorder queue. Returns whether that was news.
    pub(crate) fn unqueued(&mut self, rules: &Rules, now: Time, epoch: u8) -> bool {
        let news = epoch == self.epoch && self.rerouted && now >= self.kept_until;
        if news {
            self.kept_until = now + rules.keep;
        }
        news
    }
}
