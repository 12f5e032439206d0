//! HPCC: a window, and the matching rate, from the reports of ports.
//!
//! Li et al., "HPCC: High precision congestion control", SIGCOMM 2019. The paper was not available: algorithm 1 is
//! second-hand, from a summary of its authors' public ns-3 code (rdma-hw.cc, int-header.h).
//!
//! | algorithm 1 | here |
//! |---|---|
//! | `MeasureInflight`: U, the inflight bytes of the busiest link, in units of its rate times T | [`Hpcc::measure`] |
//! | `ComputeWind`: multiplicative once U is eta or stages are used up, additive before | [`Hpcc::compute`] |
//! | `NewAck`: every answer counts from the reference window W^c, which moves once per round trip | [`Controller::on_telemetry`] |
//!
//! Departures:
//! * The first answer reports only the path, as in that code, and so does the first after a change of path: in the
//!   paper, a change is a different path ID in the header.
//! * W is at most the bytes that the NIC sends in T, and at least those that the minimum rate sends in T. As the limit
//!   on data in flight, it is at least a packet.
//! * Reports of ports are not rounded to units of the header: see [telemetry](crate::telemetry). The NIC reports
//!   nothing: its queue pairs take turns.
//! * Marks are ignored. Losses do not change the window.
//!
//! Only `+ - * /` of `f64` are used, which round the same on every machine.

use super::{About, Acked, Controller, Hops, Start, Window};
use crate::keys::{Default, Kind, Unit, Zero, keys};
use crate::telemetry::Hop;
use spinewise_policy::time::{BYTE_PS, Span, Time};

/// Its user documentation.
pub(super) const ABOUT: About = About {
    about: "HPCC: windows and rates set from the queues and utilisation that ports report (INT)",
    source: "HPCC (SIGCOMM 2019) by way of its public ns-3 code",
};

keys! {
    /// The parameters of HPCC.
    #[derive(PartialEq)]
    Config {
        /// eta: the target utilisation of the busiest link.
        eta as "hpcc_eta": f64, Kind::Positive { max: 1.0 }, Default::Number(0.95);
        /// maxStage: consecutive round trips of additive increase before the window is set by utilisation again.
        max_stage as "hpcc_max_stage": u32, Kind::Integer { min: 0, max: 1000 }, Default::Number(5.0);
        /// Additive increase of the rate per round trip; W_AI is what it sends in T.
        increase as "hpcc_increase_gbps": u64, Kind::Rate(Zero::Refused), Default::Number(0.05);
        /// T: the round trip of the empty fabric; 0 = that of a full packet and its answer on the longest path.
        base_rtt as "hpcc_base_rtt_us": Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Number(0.0);
        /// Least rate.
        min_rate as "hpcc_min_rate_gbps": u64, Kind::Rate(Zero::Refused), Default::Number(0.1);
    }
}

/// [`BYTE_PS`] in floating point.
const BYTE: f64 = BYTE_PS as f64;

/// The window and the rate of one queue pair.
#[derive(Clone, Debug)]
pub struct Hpcc {
    /// T, picoseconds.
    base: f64,
    /// W, bytes; and the bytes that the NIC sends in T.
    window: f64,
    most: f64,
    /// W^c, the reference window.
    reference: f64,
    /// U.
    inflight: f64,
    /// incStage.
    stage: u32,
    /// lastUpdateSeq.
    until: u64,
    /// L: the last reports of the ports.
    path: Vec<Hop>,
    /// Another limit of the data in flight.
    bound: u64,
}

impl Controller for Hpcc {
    type Config = Config;
    const COLLECTS_TELEMETRY: bool = true;

    fn new(config: &Config, start: &Start) -> Self {
        let base_rtt = if config.base_rtt == Span::ZERO { start.base_rtt } else { config.base_rtt };
        let base = base_rtt.0.max(1) as f64;
        let most = start.rate as f64 * base / BYTE;
        let path = Vec::new();
        Hpcc { base, window: most, most, reference: most, inflight: 1.0, stage: 0, until: 0, path, bound: u64::MAX }
    }

    fn open(&mut self, _: &Config, window: &mut Window, mss: u64) {
        self.bound = window.cwnd;
        self.set(window, mss);
    }

    fn on_telemetry(&mut self, config: &Config, window: &mut Window, ack: &Acked, hops: Hops<'_>) {
        let same = hops.iter().map(|hop| hop.link).eq(self.path.iter().map(|hop| hop.link));
        if !same || self.path.is_empty() {
            self.path = hops.iter().collect();
            self.until = ack.next;
            return;
        }
        if !self.measure(hops) {
            return;
        }
        // HPCC alg. 1, NewAck: the reference moves with the first answer to data sent after the reference last moved.
        let moves = ack.cumulative > self.until;
        self.compute(config, moves);
        if moves {
            self.until = ack.next;
        }
        self.set(window, ack.mss);
    }

    #[inline(always)]
    fn on_send(&mut self, _: &Config, _: Time, _: u32) -> u64 {
        (self.window * BYTE / self.base) as u64
    }
}

impl Hpcc {
    /// Takes in the reports of the path's ports. Returns whether they are new.
    fn measure(&mut self, hops: Hops<'_>) -> bool {
        // HPCC alg. 1, MeasureInflight
        let (mut most, mut over) = (0.0, self.base);
        for (new, old) in hops.iter().zip(&mut self.path) {
            let took = new.at.since(old.at).0 as f64;
            if took <= 0.0 {
                return false;
            }
            let rate = new.rate as f64 / BYTE;
            let sent = new.sent.saturating_sub(old.sent) as f64;
            let used = f64::from(new.queue.min(old.queue)) / (rate * self.base) + sent / (rate * took);
            if used > most {
                (most, over) = (used, took);
            }
            *old = new;
        }
        let share = over.min(self.base) / self.base;
        self.inflight = (1.0 - share) * self.inflight + share * most;
        true
    }

    /// The window by the use of the path, starting from the reference; `moves` says whether the reference moves there.
    fn compute(&mut self, config: &Config, moves: bool) {
        let of = |rate: u64| rate as f64 * self.base / BYTE;
        let least = of(config.min_rate).min(self.most);
        // HPCC alg. 1, ComputeWind
        let multiplies = self.inflight >= config.eta || self.stage >= config.max_stage;
        let kept = if multiplies { self.reference / (self.inflight / config.eta) } else { self.reference };
        self.window = (kept + of(config.increase)).min(self.most).max(least);
        if moves {
            self.stage = if multiplies { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
    }

    fn set(&self, window: &mut Window, mss: u64) {
        window.cwnd = (self.window as u64).max(mss).min(self.bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LinkId;
    use crate::telemetry;

    /// 100 Gbps: 12,500 bytes a microsecond.
    const LINE: u64 = 100_000_000_000;
    /// Bytes in a T of 8 us.
    const BDP: f64 = 100_000.0;

    struct Pair {
        config: Config,
        hpcc: Hpcc,
        window: Window,
        /// Microseconds, and bytes that the link has sent.
        at: u64,
        sent: u64,
    }

    impl Pair {
        fn new(bound: u64) -> Pair {
            let config = Config { base_rtt: Span::from_us(8), ..Config::defaults() };
            let mut hpcc = Hpcc::new(&config, &Start { rate: LINE, ..Start::default() });
            let mut window = Window { cwnd: bound, ssthresh: 0 };
            hpcc.open(&config, &mut window, 1000);
            Pair { config, hpcc, window, at: 0, sent: 0 }
        }

        /// Sends an answer `us` microseconds after the previous one, in which link `link` has been used to `used`, with
        /// `queue` bytes waiting; `next` is the next byte to be sent, and the one acknowledged.
        fn told(&mut self, us: u64, used: f64, queue: u32, (cumulative, next, link): (u64, u64, u32)) {
            self.at += us;
            self.sent += (used * us as f64 * 12_500.0) as u64;
            let mut header = telemetry::header();
            let at = Time::ZERO + Span::from_us(self.at);
            telemetry::stamp(&mut header, &Hop { link: LinkId::new(link), at, sent: self.sent, queue, rate: LINE });
            let (now, rtt) = (at, Span::from_us(8));
            let ack = Acked {
                now,
                bytes: 1000,
                cumulative,
                next,
                marked: false,
                recovering: false,
                mss: 1000,
                rtt,
                srtt: rtt,
            };
            self.hpcc.on_telemetry(&self.config, &mut self.window, &ack, Hops::of(&header));
        }
    }

    #[test]
    fn it_begins_with_what_the_nic_sends_in_a_round_trip() {
        let mut pair = Pair::new(u64::MAX);
        assert_eq!((pair.window.cwnd, pair.hpcc.on_send(&pair.config, Time::ZERO, 1000)), (100_000, LINE));
        assert_eq!(Pair::new(30_000).window.cwnd, 30_000);
    }

    #[test]
    fn a_link_twice_as_busy_as_it_should_be_halves_the_window() {
        let mut pair = Pair::new(u64::MAX);
        pair.told(1, 1.0, 0, (1, 10, 7));
        // U = 1: W = 100,000 * 0.95 + 0.05 Gbps times 8 us, 50 bytes.
        pair.told(8, 1.0, 0, (11, 20, 7));
        assert_eq!(pair.window.cwnd, 95_050);
        // A queue counts if it was there before, too.
        pair.told(8, 1.0, 90_000, (12, 20, 7));
        assert_eq!(pair.window.cwnd, (95_050.0 * 0.95 + 50.0) as u64);
        // U = 1 + 90,000 / 100,000
        pair.told(8, 1.0, 90_000, (21, 30, 7));
        assert_eq!(pair.window.cwnd, (95_050.0_f64 / 2.0 + 50.0) as u64);
        assert_eq!(pair.hpcc.on_send(&pair.config, Time::ZERO, 1000), (47_575.0 * 1e6) as u64);
    }

    #[test]
    fn answers_within_a_round_trip_count_from_the_same_reference() {
        let mut pair = Pair::new(u64::MAX);
        pair.told(1, 1.0, 0, (1, 10, 7));
        for cumulative in 2..=10 {
            pair.told(8, 1.0, 0, (cumulative, 20, 7));
            assert_eq!(pair.window.cwnd, 95_050, "{cumulative}");
        }
        assert_eq!(pair.hpcc.reference, BDP);
        pair.told(8, 1.0, 0, (11, 20, 7));
        assert_eq!((pair.hpcc.reference, pair.hpcc.until), (95_050.0, 20));
    }

    #[test]
    fn an_answer_soon_after_another_weighs_little() {
        let mut pair = Pair::new(u64::MAX);
        pair.told(1, 1.0, 0, (1, 10, 7));
        pair.told(2, 0.5, 0, (2, 10, 7));
        // 2 us of 8: U = 0.75 + 0.25 * 0.5
        assert_eq!(pair.hpcc.inflight, 0.875);
    }

    #[test]
    fn below_eta_it_rises_by_stages_and_then_by_the_use() {
        let mut pair = Pair::new(u64::MAX);
        pair.hpcc.reference = 20_000.0;
        pair.told(1, 0.5, 0, (1, 0, 7));
        let mut windows = Vec::new();
        for n in 1..=7 {
            pair.told(8, 0.5, 0, (n * 2, n * 2 + 1, 7));
            windows.push(pair.window.cwnd);
        }
        // Five stages of 50 bytes; then 20,250 * 0.95 / 0.5 + 50, and stages again.
        assert_eq!(windows, [20_050, 20_100, 20_150, 20_200, 20_250, 38_525, 38_575]);
    }

    #[test]
    fn another_path_tells_nothing_at_first_and_the_past_tells_nothing() {
        let mut pair = Pair::new(u64::MAX);
        pair.told(1, 1.0, 0, (1, 10, 7));
        pair.told(8, 1.0, 0, (11, 20, 8));
        assert_eq!(pair.window.cwnd, 100_000);
        pair.told(0, 1.0, 0, (12, 20, 8));
        assert_eq!(pair.window.cwnd, 100_000);
        pair.told(8, 1.0, 0, (13, 20, 8));
        assert_eq!(pair.window.cwnd, 95_050);
    }

    #[test]
    fn the_window_keeps_to_its_bounds() {
        let mut pair = Pair::new(u64::MAX);
        for n in 0..40 {
            pair.told(8, 4.0, 1_000_000, (n * 10 + 1, n * 10 + 5, 7));
        }
        // 0.1 Gbps in 8 us are 100 bytes: a packet may still be in flight.
        assert_eq!((pair.hpcc.window, pair.window.cwnd), (100.0, 1000));
        for n in 40..200 {
            pair.told(8, 0.0, 0, (n * 10 + 1, n * 10 + 5, 7));
        }
        assert_eq!(pair.hpcc.window, BDP);
    }
}
