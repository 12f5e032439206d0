//! NSCC: the sender's congestion control of Ultra Ethernet, a window moved by both marks and queueing delay.
//!
//! The rules, their order and their constants are those of the reference simulator of Ultra Ethernet
//! (ultraethernet/uet-htsim, `htsim/sim/uec.cpp` at 40ccb05), from a description of that code and from reading a later
//! version of it. The text of the Ultra Ethernet specification 1.0 was not available.
//!
//! | mark | queueing delay | reaction |
//! |---|---|---|
//! | no | target or more | fair increase: [`Nscc::rises`] |
//! | no | less | proportional increase, or a fast one where there is no queue: [`Nscc::rises`], [`Nscc::is_fast`] |
//! | yes | target or more | multiplicative decrease by the average delay, once a round trip: [`Nscc::falls`] |
//! | yes | less | nothing: only another path helps, and that is the load balancer's task |
//!
//! Heavy loss or delay sets the window to the bytes delivered in a round trip (*quick adapt*, [`Nscc::adapts`]).
//! Increases are summed and take effect every 8 packets or network round trip ([`Nscc::settles`]).
//!
//! Windows are whole bytes: each step cuts off the fraction, as that code does.

use super::{About, Acked, Controller, Start, Trimmed, Window};
use crate::keys::{Default, Kind, keys};
use spinewise_policy::time::{Span, Time};

/// Its user documentation.
pub(super) const ABOUT: About = About {
    about: "Ultra Ethernet's sender: a window moved by both marks and queueing delay",
    source: "uet-htsim (uec.cpp), second-hand for the specification",
};

keys! {
    /// The parameters of NSCC.
    #[derive(PartialEq)]
    Config {
        /// Target queueing delay, in round trips of the empty network (uet-htsim: 0.75, and 1 where nothing is trimmed).
        target as "nscc_target_rtts": f64, Kind::Positive { max: 100.0 }, Default::Number(0.75);
        /// gamma: how far the window falls with the delay.
        gamma as "nscc_gamma": f64, Kind::Positive { max: 1.0 }, Default::Number(0.8);
        /// Weight of a new sample in the average delay.
        weight as "nscc_delay_weight": f64, Kind::Positive { max: 1.0 }, Default::Number(0.0125);
        /// Quick adapt sets the window to what was delivered in a period if that is less than the largest window
        /// divided by 2 to this power.
        gate as "nscc_quick_adapt_gate": u32, Kind::Integer { min: 0, max: 30 }, Default::Number(3.0);
        /// Trimmed packets lower the base round trip: theirs is shorter, because their headers overtake queues. The
        /// largest window falls with it (a pitfall of uet-htsim, which has this on).
        trims_tell_rtt as "nscc_base_rtt_from_trims": bool, Kind::Bool, Default::Bool(true);
        /// After a quick adapt, marks are ignored for as many bytes as were in flight. That count goes below zero while
        /// packets that were given up too early arrive: does it wrap to nearly 2³² (a pitfall of uet-htsim), so that
        /// marks and trims no longer move the window? If not, it counts as zero.
        flight_wraps as "nscc_flight_wraps": bool, Kind::Bool, Default::Bool(true);
    }
}

/// The reference network: 100 Gbps and 12 us make 150,000 bytes.
const REFERENCE_BDP: f64 = 150_000.0;
const REFERENCE_RTT: f64 = 12e6;
/// A queueing delay below this counts as none, ps.
const NO_QUEUE: u64 = 1_000_000;

/// The window of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Nscc {
    /// Bits per second.
    rate: u64,
    /// Round trip of the empty network, and the minimum that this connection has seen.
    network_rtt: Span,
    base_rtt: Span,
    /// Target queueing delay, ps.
    target: u64,
    /// Average queueing delay, ps.
    average: u64,
    /// Bytes: of a full packet on the wire, and of its payload; and the largest window.
    mtu: i64,
    mss: f64,
    most: i64,
    /// Ratio of the network to the reference.
    scale: f64,
    /// Increases that have not taken effect, in bytes times bytes of window; and bytes delivered since the last took
    /// effect.
    increase: i64,
    delivered: i64,
    adjusted_at: Time,
    fell_at: Time,
    /// Bytes delivered without a queue, while the window grows fast.
    idle: i64,
    fast: bool,
    /// Quick adapt: bytes delivered in this period, its end, and whether a packet was trimmed since the last.
    achieved: i64,
    period_end: Time,
    trimmed: bool,
    /// Bytes that have come in since the last quick adapt, of those whose marks are out of date.
    ignored: i64,
    to_ignore: i64,
}

impl Controller for Nscc {
    type Config = Config;

    fn new(config: &Config, start: &Start) -> Self {
        let bdp = bdp(start.base_rtt, start.rate);
        let mtu = i64::from(start.frame.mtu());
        Nscc {
            rate: start.rate,
            network_rtt: start.base_rtt,
            base_rtt: start.base_rtt,
            target: (start.base_rtt.0 as f64 * config.target) as u64,
            average: 0,
            mtu,
            mss: f64::from(start.frame.mss),
            most: window_of(bdp),
            scale: bdp as f64 / REFERENCE_BDP,
            increase: 0,
            delivered: 0,
            adjusted_at: Time::ZERO,
            fell_at: Time::ZERO,
            idle: 0,
            fast: false,
            achieved: 0,
            period_end: Time::ZERO,
            trimmed: false,
            ignored: 0,
            to_ignore: 0,
        }
    }

    fn open(&mut self, _: &Config, window: &mut Window, _: u64) {
        window.cwnd = self.most as u64;
    }

    fn marks(_: &Config) -> super::Marks {
        super::Marks::Counted
    }

    fn on_ack(&mut self, config: &Config, window: &mut Window, ack: &Acked) {
        let bytes = ack.bytes as i64;
        self.achieved += bytes;
        self.delivered += bytes;
        self.ignored += bytes;
        let delay = match ack.rtt {
            Span::ZERO => self.average,
            rtt => {
                self.learn(rtt);
                if ack.srtt > Span::ZERO {
                    self.average_in(config, rtt.0 - self.base_rtt.0, ack.marked);
                }
                rtt.0 - self.base_rtt.0
            }
        };
        if self.adapts(config, window, (ack.now, ack.signed_flight()), ack.marked, delay) {
            return;
        }
        match (ack.marked, delay >= self.target) {
            (false, true) => self.rises(5.0 * self.mss * self.scale * bytes as f64),
            (false, false) if self.is_fast(window, bytes, delay) => {}
            (false, false) => self.rises(self.alpha() * bytes as f64 * (self.target - delay) as f64),
            (true, true) => self.falls(config, window, ack.now),
            (true, false) => {}
        }
        self.bound(window);
        self.settles(window, ack.now);
        self.bound(window);
    }

    fn delay(&self) -> Option<Span> {
        Some(Span(self.average))
    }

    fn on_trim(&mut self, config: &Config, window: &mut Window, trim: &Trimmed) {
        if config.trims_tell_rtt {
            self.learn(trim.rtt);
        }
        self.ignored += trim.bytes as i64;
        self.average_in(config, self.network_rtt.0, true);
        self.trimmed = true;
        if !self.adapts(config, window, (trim.now, trim.flight), true, 0) && !trim.excused {
            window.cwnd = window.cwnd.saturating_sub(trim.bytes);
            self.bound(window);
        }
    }
}

impl Nscc {
    /// A round trip of `rtt`: the minimum so far is taken as that of an empty path.
    fn learn(&mut self, rtt: Span) {
        if rtt < self.base_rtt {
            self.base_rtt = rtt;
            self.most = window_of((rtt.0 as f64 / 1e6 * self.rate as f64 / 8e6) as i64);
        }
    }

    fn average_in(&mut self, config: &Config, delay: u64, marked: bool) {
        self.average = averaged(self.average, (delay, marked), (self.base_rtt, self.target), config.weight);
    }

    /// Whether quick adapt acts now (setting the window to the bytes delivered), or this feedback is older than the
    /// last adaptation.
    fn adapts(
        &mut self,
        config: &Config,
        window: &mut Window,
        (now, flight): (Time, i64),
        marked: bool,
        delay: u64,
    ) -> bool {
        let mut done = self.ignored < self.to_ignore && marked;
        if !done && now > self.period_end {
            let much = self.trimmed || delay > 4 * self.target;
            if self.period_end != Time::ZERO && much && self.achieved < self.most >> config.gate {
                window.cwnd = self.achieved.max(self.mtu) as u64;
                let flight = if config.flight_wraps { i64::from(flight as u32) } else { flight.max(0) };
                (self.to_ignore, self.ignored, self.trimmed) = (flight, 0, false);
                done = true;
            }
            self.achieved = 0;
            self.period_end = now + self.base_rtt + Span(self.target);
        }
        if done {
            (self.increase, self.delivered) = (0, 0);
        }
        done
    }

    /// The increase for each byte delivered and each ps that the delay is below the target.
    fn alpha(&self) -> f64 {
        4.0 * self.mss * self.scale * (self.target as f64 / REFERENCE_RTT) / self.target as f64
    }

    fn rises(&mut self, by: f64) {
        self.increase = (self.increase as f64 + by) as i64;
    }

    /// Whether the window grows at once, because there has been no queue for a window's worth of data.
    fn is_fast(&mut self, window: &mut Window, bytes: i64, delay: u64) -> bool {
        self.fast = if delay < NO_QUEUE {
            self.idle += bytes;
            self.fast || self.idle > window.cwnd as i64
        } else {
            self.idle = 0;
            false
        };
        if self.fast {
            window.cwnd = (window.cwnd as f64 + bytes as f64 * (0.25 * self.scale)) as u64;
        }
        self.fast
    }

    fn falls(&mut self, config: &Config, window: &mut Window, now: Time) {
        (self.fast, self.idle) = (false, 0);
        if self.average > self.target && now.since(self.fell_at) > self.base_rtt {
            let excess = (self.average - self.target) as f64;
            let factor = (1.0 - config.gamma * excess / self.average as f64).max(0.5);
            window.cwnd = (window.cwnd as f64 * factor) as u64;
            window.cwnd = window.cwnd.max(self.mtu as u64);
            self.fell_at = now;
        }
    }

    /// Applies the summed increases if it is time.
    fn settles(&mut self, window: &mut Window, now: Time) {
        let passed = now.since(self.adjusted_at);
        if self.delivered <= 8 * self.mtu && passed <= self.network_rtt {
            return;
        }
        window.cwnd += (self.increase / window.cwnd.max(1) as i64) as u64;
        if passed >= self.network_rtt {
            window.cwnd = (window.cwnd as f64 + 0.15 * self.mss * self.scale) as u64;
            self.adjusted_at = now;
        }
        (self.increase, self.delivered) = (0, 0);
    }

    fn bound(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.mtu as u64).min(self.most as u64);
    }
}

/// The average queueing delay (ps) with one more sample of this weight, which may echo a mark: much delay without a
/// mark counts as a quarter of the minimum round trip.
pub(crate) fn averaged(
    average: u64,
    (delay, marked): (u64, bool),
    (base_rtt, target): (Span, u64),
    weight: f64,
) -> u64 {
    let sample = if !marked && delay > target { weight * base_rtt.0 as f64 * 0.25 } else { weight * delay as f64 };
    (sample + (1.0 - weight) * average as f64) as u64
}

/// The bandwidth-delay product, whole bytes.
pub(crate) fn bdp(rtt: Span, rate: u64) -> i64 {
    (rtt.0 as f64 / 1e12 * (rate / 8) as f64) as i64
}

/// The largest window over a path of this bandwidth-delay product.
pub(crate) fn window_of(bdp: i64) -> i64 {
    (1.5 * bdp as f64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Frame;

    /// The window after a quick adapt with `flight` bytes in flight, and one packet trimmed after that.
    fn adapted(config: &Config, flight: i64) -> u64 {
        let frame = Frame { mss: 4_086, header: 64, ack_bytes: 64 };
        let base_rtt = Span(9_348_480);
        let start = Start { rate: 100_000_000_000, base_rtt, frame, ..Start::default() };
        let mut nscc = Nscc::new(config, &start);
        let mut window = Window { cwnd: 0, ssthresh: u64::MAX };
        nscc.open(config, &mut window, 4_086);
        let trim = |us, flight| Trimmed {
            now: Time::ZERO + Span::from_us(us),
            bytes: 4_150,
            flight,
            rtt: base_rtt,
            excused: false,
        };
        // The first begins a period. Hardly anything was delivered in it: the second sets the window to that.
        let ack = Acked {
            now: Time::ZERO + Span::from_us(11),
            bytes: 12_450,
            cumulative: 12_450,
            next: 112_450,
            marked: false,
            recovering: false,
            mss: 4_086,
            rtt: base_rtt,
            srtt: base_rtt,
        };
        nscc.on_trim(config, &mut window, &trim(10, 100_000));
        nscc.on_ack(config, &mut window, &ack);
        nscc.on_trim(config, &mut window, &trim(30, flight));
        assert_eq!(window.cwnd, 12_450);
        nscc.on_trim(config, &mut window, &trim(31, 8_300));
        window.cwnd
    }

    #[test]
    fn less_than_nothing_under_way_wraps() {
        let [wraps, plain] = [true, false].map(|flight_wraps| Config { flight_wraps, ..Config::defaults() });
        // Data in flight is out of date, including one packet of it.
        assert_eq!([&wraps, &plain].map(|config| adapted(config, 50_000)), [12_450; 2]);
        // If nothing is in flight nothing is out of date, so the window falls; a count that wraps never ends.
        assert_eq!([&wraps, &plain].map(|config| adapted(config, 0)), [8_300; 2]);
        assert_eq!([&wraps, &plain].map(|config| adapted(config, -4_150)), [12_450, 8_300]);
    }
}
