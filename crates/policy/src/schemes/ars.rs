//! Adaptive routing and switching (ARS) as exposed by SAI, similar to Broadcom's DLB: flowlets or packets to the member
//! whose averaged load has the best quality band.
//!
//! Source: the attributes of SAI (`inc/saiars.h`, `inc/saiarsprofile.h`) and its proposal, which name the settings but
//! not the computation. Our own interpretations are marked below.
//!
//! | rule | function |
//! |---|---|
//! | past load (bytes sent) and future load (bytes queued) of each port, sampled each interval | [`Ars::sample`] |
//! | averages that keep 1 - 2^-exponent of their value; with `current` a lower sample replaces the average | [`averaged`] |
//! | bands of both, at most eight, and a quality from both | [`Ars::quality`] |
//! | a port's scaling factor, for ports of other speeds | past load is of the own rate, future load by `scale_by_rate` |
//! | a flowlet, or each packet, to a member of the best quality, ties at random | [`Ars::best`] |
//! | at most `max_flows` flows; flowlets of further ones are hashed | [`Table::admits`] |
//! | flows of a removed member choose again | `pick` |
//!
//! | our word | SAI's |
//! |---|---|
//! | `mode`, `idle_time_us`, `max_flows` | ARS mode, idle time, max flows (per next hop group) |
//! | `sampling_us`, `exponent`, `current` | sampling interval, port load exponent, port load current |
//! | `past_weight`, `future_weight` | port load past and future weight |
//!
//! Our interpretation, and what SAI leaves open:
//! - The weights are those of the two bands in the quality, which is their weighted mean, rounded down. Load bands are
//!   equal parts of the rate; each queue band begins at twice the previous one. A weight of 0 leaves a measure out.
//! - Max flows applies per switch, not per group. A flow leaves the table when it has sent nothing for one to two idle
//!   times. In hardware the table is hashed, and colliding flows are treated as one. A flowlet keeps its member when its
//!   flow enters the table, and a fixed flow when it leaves it.
//! - Fixed assignment chooses once, by quality, for as long as the flow lasts.
//! - No alternate paths, no link aggregation groups.

use crate::flowlet::{self, Flowlet};
use crate::{
    AtSwitch, Aware, Compared, Cx, Hooks, Kind, Layout, Listed, Needs, Packet, Policy, Port, Quantity, Rule, Sees,
    Shape, Sheet, Sight, Span, SwitchView, Time, Way, sees::quantity,
};

crate::choice! {
    /// The unit of assignment, and its criterion.
    Mode {
        /// Flowlets, by quality.
        FlowletQuality = "flowlet_quality",
        /// Flowlets, at random.
        FlowletRandom = "flowlet_random",
        /// Packets, by quality.
        PerPacketQuality = "per_packet_quality",
        /// Packets, at random.
        PerPacketRandom = "per_packet_random",
        /// Flows, once.
        Fixed = "fixed",
    }
}

crate::params! {
    /// The parameters of ARS.
    Config {
        /// What is assigned, and on what basis (SAI: flowlet_quality).
        mode: Mode = Mode::FlowletQuality, Allowed::Words(Mode::WORDS);
        /// A flow that sends nothing for longer than this opens a flowlet, microseconds (SAI: 256).
        idle_time_us: f64 = 256.0, Allowed::Number { min: 0.001, max: 1e9 };
        /// Flows that a switch tracks at once; further flows are hashed (SAI: 512).
        max_flows: u32 = 512, Allowed::Integer { min: 1.0, max: 1e9 };
        /// How often loads are sampled, microseconds (SAI: 16).
        sampling_us: f64 = 16.0, Allowed::Number { min: 0.1, max: 1e6 };
        /// Averages keep 1 - 2^-exponent of their old value at each sample (SAI: 2).
        exponent: u32 = 2, Allowed::Integer { min: 0.0, max: 15.0 };
        /// A sample below the average replaces it (SAI: false).
        current: bool = false, Allowed::Bool;
        /// Weight of the band of past load in the quality; 0 leaves it out (SAI: 16).
        past_weight: u32 = 16, Allowed::Integer { min: 0.0, max: 255.0 };
        /// Weight of the band of future load (SAI: 16).
        future_weight: u32 = 16, Allowed::Integer { min: 0.0, max: 255.0 };
        /// Number of bands of each measure (SAI: 8).
        bands: u32 = 8, Allowed::Integer { min: 1.0, max: 8.0 };
        /// Where the second band of queues begins, bytes; each further band begins at twice the previous one (own
        /// choice: two packets).
        future_min_bytes: u32 = 3_000, Allowed::Integer { min: 1.0, max: 1e9 };
        /// Are the queues of slow ports counted as longer, in proportion to the fastest port (SAI: the port's scaling
        /// factor)?
        scale_by_rate: bool = true, Allowed::Bool;
    }
}

/// Row per port: averages, and the resulting quality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// The counter of busy time at the last sample.
    busy: Span,
    /// Average use, millionths of the rate.
    past: u64,
    /// Average of bytes queued, in 256ths.
    future: u64,
    /// Less is better.
    quality: u8,
}

/// Row per switch: how many flows its table has. A stretch lasts one idle time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Table {
    stretch: u64,
    /// Flows that sent in this stretch.
    now: u32,
    /// Flows that sent in the previous one and not since.
    before: u32,
}

/// Row per flow and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    flowlet: Flowlet,
    /// The stretch in which it last sent, if it is in the table.
    stretch: Option<u64>,
}

impl Table {
    /// Admits a flow that last sent in `entry` to the table in `stretch`, if there is room. Returns whether it was
    /// admitted.
    fn admits(&mut self, entry: &mut Option<u64>, stretch: u64, most: u32) -> bool {
        match stretch - self.stretch {
            0 => {}
            1 => (self.before, self.now) = (self.now, 0),
            _ => (self.before, self.now) = (0, 0),
        }
        self.stretch = stretch;
        match *entry {
            Some(last) if last == stretch => return true,
            Some(last) if last + 1 == stretch => self.before -= 1,
            _ if self.now + self.before >= most => {
                *entry = None;
                return false;
            }
            _ => {}
        }
        self.now += 1;
        *entry = Some(stretch);
        true
    }
}

/// An average after a sample.
// SAI: a larger exponent gives more weight to the old value.
fn averaged(average: u64, sample: u64, exponent: u32, current: bool) -> u64 {
    if current && sample < average {
        return sample;
    }
    // Rounded towards the sample, so that it is reached.
    let part = |difference: u64| difference.div_ceil(1 << exponent);
    if sample >= average { average + part(sample - average) } else { average - part(average - sample) }
}

/// Flowlets or packets to the port of the best quality.
#[derive(Clone, Copy, Debug)]
pub struct Ars {
    mode: Mode,
    idle: Span,
    max_flows: u32,
    sampling: Span,
    exponent: u32,
    current: bool,
    /// Weights of past and future load.
    weights: [u64; 2],
    bands: u64,
    future_min: u64,
    scale_by_rate: bool,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        GoesOn = Rule::Keeps("its flowlet continues"),
        Best = Rule::Chooses("a new flow or flowlet, or each packet: a member of the best quality, ties broken at \
                              random"),
        Drawn = Rule::Chooses("a new flow or flowlet, or each packet: a member drawn at random"),
        Gone = Rule::Chooses("its member no longer leads to this leaf: another one"),
        Full = Rule::Chooses("the table is full: by a hash of the header"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Quality = quantity("quality", "", "quality of the port, lower is better"),
        Past = quantity("past", "%", "average utilisation of its link, of the rate"),
        Future = quantity("future", "bytes", "average queue there"),
    }
}

impl Policy for Ars {
    const SHEET: Sheet = Sheet {
        name: "ars",
        summary: "flowlets or packets to the uplink whose averaged load and queue are in the best band, at every \
                  switch",
        source: "OCP SAI (saiars.h, saiarsprofile.h)",
        unit: "flowlet",
        told: &["rates of its own links"],
        compared: Some(Compared {
            aware: Aware::Local,
            senses: &["averages of own links' utilisation and queues"],
            state: "per flow and per port, at every switch",
            needs: Needs::Nothing,
            order: "gaps longer than the difference between paths; with packets nothing",
            pick: "O(n)",
            update: "O(ports) per sample",
        }),
        sees: Sees { rules: Why::ALL, flow: flowlet::Told::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    const HOOKS: Hooks = Hooks::TICK;
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { flow: Entry, port: Load, node: Table }

    fn new(config: &Config) -> Self {
        Ars {
            mode: config.mode,
            idle: Span::from_us_f64(config.idle_time_us),
            max_flows: config.max_flows,
            sampling: Span::from_us_f64(config.sampling_us),
            exponent: config.exponent,
            current: config.current,
            weights: [u64::from(config.past_weight), u64::from(config.future_weight)],
            bands: u64::from(config.bands),
            future_min: u64::from(config.future_min_bytes),
            scale_by_rate: config.scale_by_rate,
        }
    }

    fn layout(&self, _: &Shape) -> Layout {
        // A row that is no longer in the table says nothing; a fixed one stays.
        let flow_idle = if self.mode == Mode::Fixed { Span::FOREVER } else { self.idle + self.idle };
        Layout { tick: if self.by_quality() { self.sampling } else { Span::ZERO }, flow_idle, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, entry: &Entry, packet: &Packet, sight: &mut Sight<'_>) {
        entry.flowlet.tell(sight, cx.now, self.idle);
        for (way, &port) in cx.view.candidates.iter().enumerate() {
            let load = &cx.ports[usize::from(port)];
            sight.way(way, OfWay::Quality, f64::from(load.quality));
            sight.way(way, OfWay::Past, load.past as f64 / 1e4);
            sight.way(way, OfWay::Future, load.future as f64 / 256.0);
        }
        let chosen = if self.by_quality() { Why::Best } else { Why::Drawn };
        let goes_on = self.goes_on(entry, cx.now);
        sight.rule(match () {
            () if self.per_packet(packet) => chosen,
            () if goes_on && cx.view.candidates.contains(&entry.flowlet.to) => Why::GoesOn,
            () if !cx.node.clone().admits(&mut entry.stretch.clone(), self.stretch(cx.now), self.max_flows) => {
                Why::Full
            }
            () if goes_on => Why::Gone,
            () => chosen,
        });
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, entry: &mut Entry, packet: &Packet, _: &mut ()) -> Way {
        let candidates = cx.view.candidates;
        if self.per_packet(packet) {
            return Way(self.best(cx) as u16);
        }
        let has_room = cx.node.admits(&mut entry.stretch, self.stretch(cx.now), self.max_flows);
        let kept = if self.goes_on(entry, cx.now) { cx.view.way_of(entry.flowlet.to) } else { None };
        let way = kept.unwrap_or_else(|| {
            if has_room { self.best(cx) } else { packet.spread(cx.view.salt, candidates.len() as u32) as usize }
        });
        entry.flowlet = Flowlet::now(cx.now, candidates[way]);
        Way(way as u16)
    }

    fn tick(&self, cx: &mut Cx<'_, Self>) {
        let inside = cx.view.host_ports..cx.ports.len() as u16;
        let fastest = inside.clone().map(|port| cx.view.rate(Port(port))).max().unwrap_or(1);
        for port in inside {
            self.sample(&mut cx.ports[usize::from(port)], &cx.view, Port(port), fastest);
        }
    }
}

impl Ars {
    const fn by_quality(&self) -> bool {
        !matches!(self.mode, Mode::FlowletRandom | Mode::PerPacketRandom)
    }

    /// Whether each packet is assigned separately. Packets without a flow are.
    #[inline]
    fn per_packet(&self, packet: &Packet) -> bool {
        matches!(self.mode, Mode::PerPacketQuality | Mode::PerPacketRandom)
            || !matches!(packet.kind, Kind::Data | Kind::Ack)
    }

    #[inline]
    fn stretch(&self, now: Time) -> u64 {
        now.0 / self.idle.0
    }

    /// Whether its flowlet continues. A fixed one never ends.
    #[inline]
    fn goes_on(&self, entry: &Entry, now: Time) -> bool {
        entry.flowlet.seen && (self.mode == Mode::Fixed || entry.flowlet.goes_on(now, self.idle))
    }

    /// Samples the loads of a port.
    fn sample(&self, load: &mut Load, view: &SwitchView<'_>, port: Port, fastest: u64) {
        let busy = view.busy_time(port);
        let used = (u128::from(busy.0 - load.busy.0) * 1_000_000 / u128::from(self.sampling.0)) as u64;
        let scale = if self.scale_by_rate { fastest } else { view.rate(port) };
        let queued = u128::from(view.data_bytes(port)) * 256 * u128::from(scale) / u128::from(view.rate(port));
        load.busy = busy;
        load.past = averaged(load.past, used, self.exponent, self.current);
        load.future = averaged(load.future, queued as u64, self.exponent, self.current);
        load.quality = self.quality(load.past, load.future);
    }

    /// The quality of average loads.
    fn quality(&self, past: u64, future: u64) -> u8 {
        let last = self.bands - 1;
        let past = (past * self.bands / 1_000_000).min(last);
        let future = (1..self.bands).take_while(|&band| future >= (self.future_min * 256) << (band - 1)).count() as u64;
        let [a, b] = self.weights;
        (a * past + b * future).checked_div(a + b).unwrap_or(0) as u8
    }

    /// One of the best members, drawn at random; any, if quality does not count.
    #[inline]
    fn best(&self, cx: &mut Cx<'_, Self>) -> usize {
        let candidates = cx.view.candidates;
        if !self.by_quality() {
            return cx.rng.below(candidates.len() as u32) as usize;
        }
        let quality = |way: &usize| cx.ports[usize::from(candidates[*way])].quality;
        let ways = 0..candidates.len();
        let best = ways.clone().map(|way| quality(&way)).min().unwrap_or_default();
        let many = ways.clone().filter(|way| quality(way) == best).count();
        let one = cx.rng.below(many as u32) as usize;
        ways.clone().filter(|way| quality(way) == best).nth(one).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_keep_three_quarters_and_reach_what_stays() {
        assert_eq!(averaged(0, 400, 2, false), 100);
        assert_eq!(averaged(100, 0, 2, false), 75);
        assert_eq!(averaged(100, 0, 2, true), 0, "current");
        assert_eq!(averaged(7, 400, 0, false), 400);
        let mut average = 1_000_000;
        (0..200).for_each(|_| average = averaged(average, 3, 2, false));
        assert_eq!(average, 3);
    }

    #[test]
    fn bands_are_equal_parts_of_the_rate_and_doubling_queues() {
        let of = |config: &Config, past: u64, bytes: u64| Ars::new(config).quality(past, bytes * 256);
        let past = Config { future_weight: 0, ..Config::default() };
        let parts = [0, 124_999, 125_000, 499_999, 500_000, 999_999, 1_000_000];
        assert_eq!(parts.map(|part| of(&past, part, 1 << 30)), [0, 0, 1, 3, 4, 7, 7]);
        let future = Config { past_weight: 0, ..Config::default() };
        let queues = [0, 2_999, 3_000, 5_999, 6_000, 12_000, 96_000, 192_000, 1 << 30];
        assert_eq!(queues.map(|bytes| of(&future, 1_000_000, bytes)), [0, 0, 1, 1, 2, 3, 6, 7, 7]);
        assert_eq!(of(&Config::default(), 1_000_000, 3_000), 4, "the mean of 7 and 1");
        let none = Config { past_weight: 0, future_weight: 0, ..Config::default() };
        assert_eq!(of(&none, 1_000_000, 1 << 30), 0);
        assert_eq!(of(&Config { bands: 2, ..past }, 500_000, 0), 1);
    }

    #[test]
    fn a_full_table_takes_no_flow_until_one_has_been_silent() {
        let mut table = Table::default();
        let mut flows = [None; 4];
        let mut at = |flow: usize, stretch: u64| table.admits(&mut flows[flow], stretch, 2);
        assert!(at(0, 0) && at(1, 0) && !at(2, 0) && at(0, 0));
        // The previous senders are still known in the next stretch.
        assert!(!at(2, 1) && at(1, 1) && !at(2, 1));
        // Flow 0 has been silent for a whole stretch.
        assert!(at(2, 2) && !at(0, 2) && at(1, 2) && !at(3, 2));
        assert!(at(3, 9) && at(0, 9) && !at(1, 9));
    }
}
