//! SELB: a leaf classifies its uplinks by queue length and moves flows from congested paths to paths of the same class,
//! so that packets that overtake on the new path arrive only a little early and reorder queues are soon free again.
//!
//! Hu, Li, Rao, Wang, "Improving availability and scalability for RDMA load balancing with in-network reordering", IEEE
//! conference paper, undated (its latest reference is of 2024); its unnumbered headings serve as places here.
//!
//! | rule | function |
//! |---|---|
//! | §"Path Classification": lengths of the uplinks' queues, measured periodically, make k classes | [`uplinks::survey`] |
//! | Algorithm 1: k-means | [`kmeans::classify`] |
//! | §"Rerouting Strategy": a path whose queue grows faster than θ is congested | [`uplinks::Threshold::congested`] |
//! | §"Rerouting Strategy": the change of queues, monitored "continuously" | [`uplinks::Moment::congested`] |
//! | §"Rerouting Strategy": behind a TAIL to a random path of the same class, not congested | `Selb::reroute` |
//! | §"Rerouting Strategy": none left: the path with the shortest queue | `Selb::reroute` |
//! | §"Packet Reordering": at most one reroute of a flow at a time; CLEAR ends it | `Selb::source`, `message` |
//! | §"Packet Reordering": as ConWeave | [`reorder`](crate::fabric::reorder) |
//!
//! | our word | the paper's |
//! |---|---|
//! | uplink, way | path p_i |
//! | `length` | queue length q_i |
//! | cluster | cluster, class, type of paths |
//! | TAIL | tail packet |
//! | epoch | none: the stretch of a flow between two reroutes, as in ConWeave |
//!
//! **Monitoring.** §"Path Classification" measures lengths *periodically* and makes classes of them. §"Rerouting
//! Strategy" has another word: "For each egress queue, SELB *continuously monitors* the change in queue length".
//! Neither the period nor the two instants of a change are given, and Algorithm 1 has lengths only. `monitor` has three
//! interpretations. Classes are made every τ under each of them. The default is `"packet"`: it is the one that monitors
//! without a period. `"interval"` with τ = 10 µs was the default before, and moves flows too late.
//! - `"interval"`: one timer does both. Growth is the difference of two measurements τ apart, and the judgement holds until
//!   the next one. It is continuous for a small τ, at one tick of each leaf per τ.
//! - `"measured"`: each data packet has its path judged when it comes to its leaf, and other paths when it may move there.
//!   Growth is from the last measurement to that moment. This needs no state but the lengths that classes are made of, and
//!   it sees growth at once; shortly after a measurement one packet is enough to exceed θ.
//! - `"packet"`: the same instants, but growth is from what the last packet that took this uplink found there (itself
//!   not counted) to what is there now. A path is congested if packets come to it closer together than (1 + θ) of the
//!   link's rate can send, by any two of them. A mark fades by itself as the queue drains, so that a path which is left
//!   does not keep it. Two packets of one instant exceed every θ. The state is a length and an instant for each egress
//!   queue.
//!
//! **Where the paper is silent.** Each of these is a parameter or a choice named here:
//! - k, θ, the period τ and the number of reorder queues in its evaluation are not given. k = 3 distinguishes low,
//!   middle and high; τ = 10 µs is a little more than the fabric's round trip; θ is a fifth of the link's rate: an
//!   empty queue that grows just so fast reaches 100 KB, where marking begins, in 40 µs.
//! - "Randomly selected" centroids make classes, and so runs, depend on luck alone: by default they start at quantiles.
//!   With fewer than k different lengths there are as many classes as lengths.
//! - A queue measured for the first time has no growth. A queue that is long and stays so is not congested, unless
//!   `also_len_bytes` says so.
//! - "Randomly selects a non-congested path of the same type": its class is of the last measurement; the current path is
//!   never drawn.
//! - "The path with the shortest queue" is looked up at that moment, for between two measurements every flow would go
//!   to the same one; of several one is drawn; a flow that is on it stays, without a TAIL. A path that is alone in its
//!   class, and congested, leaves none: then the shortest it is, too.
//! - The first path of a flow, and of one that was silent for longer than θ_inactive: the paper does not say. Default
//!   as in ConWeave, a path drawn among those not congested (if all are: the shortest); `first_path = "ecmp"` hashes.
//! - Without a free reorder queue "Conweave applies ECMP to the remaining connections as a backup", and flows "have no
//!   chance to be rerouted": the destination says so by a control packet, and the flow stays where it is for
//!   `keep_path_us`, by default until it has been silent for θ_inactive. Moving it to its hashed path would be another
//!   reroute. ConWeave does the same here.
//!
//! Departures:
//! - §II says that in-order packets have the lowest priority, §III the highest. A released queue goes before what
//!   comes later at its port, as ConWeave's design needs it: lowest.
//! - Measurements of different leaves are not synchronised (random phase), as those of switches are not.
//! - A path is an uplink of the source leaf; beyond it the fabric hashes. In a graph, that goes for a leaf between too.
//! - Uplinks whose link is down do not count as paths. A flow whose uplink left the group opens an epoch elsewhere,
//!   without a TAIL.
//! - Acknowledgements and packets of no flow are hashed.

pub mod kmeans;
pub mod source;
pub mod uplinks;

use crate::config::Allowed;
use crate::fabric::reorder::header::{CLEAR, NO_QUEUE, Stamp};
use crate::fabric::reorder::{self, Body, Header, Mark, NewEpoch, Place, Release, Rules};
use crate::{
    AtSwitch, Aware, Change, Compared, Cx, Hooks, Key, Kind, Layout, Message, Needs, Packet, Peers, Phase, Policy,
    Port, Queue, Sheet, Sight,
};
use crate::{Listed, Series, Shape, Span, Tier, Verdict, Way, sees::series};
use kmeans::{MOST_K, Start};
use source::{Progress, Source, hashed};
use uplinks::{Survey, Threshold, Uplink, survey};

crate::choice! {
    /// The first path of a flow.
    FirstPath {
        /// A path drawn among those not congested.
        Uncongested = "uncongested",
        /// The path that its hash names.
        Ecmp = "ecmp",
    }
}

crate::choice! {
    /// When a path is judged, and since when its queue grows.
    Monitor {
        /// At each measurement, since the one before it.
        Interval = "interval",
        /// At each packet, since the last measurement.
        Measured = "measured",
        /// At each packet, since the last packet that took the path.
        Packet = "packet",
    }
}

crate::params! {
    /// SELB's parameters.
    Config {
        /// Clusters k (own choice: 3); fewer if there are fewer distinct queue lengths.
        k: u32 = 3, Allowed::Integer { min: 1.0, max: MOST_K as f64 };
        /// Growth θ of a queue above which its path is congested, as a share of the link's rate (own choice: 0.2).
        theta: f64 = 0.2, Allowed::Number { min: 0.0, max: 1e3 };
        /// When a path is judged congested: at each measurement, by its queue's growth over the period τ; or at each
        /// packet, by the growth since the last measurement or since the last packet that took the path (the default,
        /// after SELB §III: "continuously monitors").
        monitor: Monitor = Monitor::Packet, Allowed::Words(Monitor::WORDS);
        /// Period τ of measurements and of classes, microseconds (own choice: 10).
        tau_us: f64 = 10.0, Allowed::Number { min: 0.01, max: 1e6 },
            crate::in_proportion!(10.0);
        /// Where k-means starts (own choice: quantiles; as printed: random).
        start: Start = Start::Quantile, Allowed::Words(Start::WORDS);
        /// Queue above which a path is congested whether or not it grows, bytes; 0: none (own addition, off).
        also_len_bytes: u32 = 0, Allowed::Integer { min: 0.0, max: 4e9 };
        /// Where a flow starts (as in ConWeave: on a path that is not congested).
        first_path: FirstPath = FirstPath::Uncongested, Allowed::Words(FirstPath::WORDS);
        /// Idle time after which a flow counts as new, microseconds (SELB's evaluation: 300).
        theta_inactive_us: f64 = 300.0, Allowed::Number { min: 1.0, max: 1e5 },
            crate::in_proportion!(300.0);
        /// Reorder queues per port (SELB's Fig. 2: 8; a commercial switch, §II-B: 32); 0: no limit.
        reorder_queues: u32 = 8, Allowed::Integer { min: 0.0, max: 1024.0 };
        /// A flow that found no free reorder queue keeps its path this long, or until idle, microseconds (SELB §II: for
        /// its lifetime); 0: it is not notified.
        keep_path_us: f64 = 1e9, Allowed::Number { min: 0.0, max: 1e9 };
        /// Extra wait for a TAIL beyond its expected time, microseconds (conweave-ns3: 16).
        extra_flush_us: f64 = 16.0, Allowed::Number { min: 0.0, max: 1e5 },
            crate::in_proportion!(16.0);
        /// Wait for a TAIL whose path nothing is known about, microseconds (conweave-ns3: 200).
        default_wait_us: f64 = 200.0, Allowed::Number { min: 0.0, max: 1e5 },
            crate::in_proportion!(200.0);
        /// Bytes of a control packet on the wire (conweave-ns3: 64).
        control_bytes: u32 = 64, Allowed::Integer { min: 60.0, max: 1500.0 };
        /// Bytes charged to every data packet that crosses the fabric (conweave-p4: 4).
        header_bytes: u32 = 4, Allowed::Integer { min: 0.0, max: 64.0 };
    }
}

/// Row per flow and direction: in the source's half or the destination's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// Nothing has been seen of it.
    #[default]
    Unseen,
    /// The row of a source leaf.
    Source(Source),
    /// The row of a destination leaf.
    Destination(reorder::Row),
}

/// Reroutes within classes of paths, with reordering at the destination leaf.
#[derive(Clone, Copy, Debug)]
pub struct Selb {
    k: usize,
    threshold: Threshold,
    monitor: Monitor,
    tau: Span,
    start: Start,
    first_path: FirstPath,
    inactive: Span,
    queues: u16,
    keep: Span,
    reorder: Rules,
    header_bytes: u8,
}

crate::listed! {
    /// Its series.
    enum Points: Series after reorder::Points {
        Reroutes = series("reroutes", "uplink that a flow moved to behind its TAIL"),
        Backup = series("backup_reroutes", "the same, if its cluster was congested: the shortest queue"),
        Congested = series("congested_paths", "uplinks congested at a measurement, when that has changed"),
        Changed = series("cluster_changes", "uplinks whose cluster a measurement has changed, if any"),
        Kept = series("kept", "uplink that a flow must keep because it found no free reorder queue"),
    }
}

/// A row this old carries no more information than no row (conweave-ns3 forgets after 2 ms).
const REMEMBER: Span = Span::from_ms(2);

impl Policy for Selb {
    const SHEET: Sheet = Sheet {
        name: "selb",
        summary: "a flow leaves an uplink whose queue grows fast for one with a queue of similar length; the last leaf \
                  restores order",
        source: "Hu et al., undated (2024 or later)",
        unit: "part of a flow",
        tiers: &["leaf"],
        told: &["leaf of every host", "rates of its own links"],
        series: Points::ALL,
        three_tiers: "leaves classify and choose uplinks, and aggregation switches hash by flow: a path is an uplink; \
                      the paper has only two tiers",
        compared: Some(Compared {
            aware: Aware::Local,
            senses: &["own queues and their growth"],
            state: "per flow and per uplink, at leaves",
            needs: Needs::Leaves,
            order: "reorder queues at the last leaf",
            pick: "O(n)",
            update: "O(n² + n k) per period",
        }),
        sees: source::SEES,
        ..Sheet::AT_SWITCH
    };
    const HOOKS: Hooks =
        Hooks::INGRESS.and(Hooks::MESSAGE).and(Hooks::TIMER).and(Hooks::TICK).and(Hooks::LINK).and(Hooks::DRAINED);
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { flow: Flow, port: Uplink, node: Survey, header: Header }

    fn new(config: &Config) -> Self {
        Selb {
            k: config.k as usize,
            threshold: Threshold { theta: config.theta, also_length: u64::from(config.also_len_bytes) },
            monitor: config.monitor,
            tau: Span::from_us_f64(config.tau_us),
            start: config.start,
            first_path: config.first_path,
            inactive: Span::from_us_f64(config.theta_inactive_us),
            queues: reorder::queues(config.reorder_queues),
            keep: Span::from_us_f64(config.keep_path_us),
            reorder: Rules {
                extra_flush: Span::from_us_f64(config.extra_flush_us),
                default_wait: Span::from_us_f64(config.default_wait_us),
                control_bytes: config.control_bytes,
                tell_no_queue: config.keep_path_us > 0.0,
                new_epoch: NewEpoch::Joins,
                release: Release::AtTail,
            },
            header_bytes: config.header_bytes as u8,
        }
    }

    fn header_bytes(&self) -> u32 {
        u32::from(self.header_bytes)
    }

    fn layout(&self, shape: &Shape) -> Layout {
        if shape.tier != Tier::Leaf {
            return Layout::default();
        }
        Layout {
            peers: Peers::Leaves,
            flow_idle: Span(self.inactive.0.max(REMEMBER.0)),
            tick: self.tau,
            phase: Phase::Random,
            actions: reorder::ACTIONS,
            bytes: reorder::BYTES,
            queues: self.queues,
            ..Layout::default()
        }
    }

    fn misfit(&self, shape: &Shape) -> Option<(&'static str, Allowed)> {
        let paths = f64::from(shape.ways);
        (self.k as f64 > paths).then_some(("k", Allowed::Integer { min: 1.0, max: paths }))
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Flow, packet: &Packet, sight: &mut Sight<'_>) {
        self.tell(cx, flow, packet, sight);
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, header: &mut Header) -> Way {
        // One path needs neither choice nor header.
        if !cx.view.is_first_leaf(packet) || packet.kind != Kind::Data || cx.view.candidates.len() == 1 {
            let way = hashed(cx, packet);
            if cx.view.tier == Tier::Leaf {
                self.joins(cx, way);
            }
            return Way(way as u16);
        }
        let way = self.source(cx, flow, packet, header);
        self.joins(cx, way);
        Way(way as u16)
    }

    #[inline]
    fn ingress(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, header: &mut Header) -> Verdict {
        // A packet that stayed in its rack was never stamped.
        if packet.kind != Kind::Data || !header.stamped {
            return Verdict::Forward;
        }
        if !matches!(flow, Flow::Destination(_)) {
            *flow = Flow::Destination(reorder::Row::default());
        }
        let Flow::Destination(row) = flow else { return Verdict::Forward };
        let leaf = cx.peers.ids[cx.peers.current];
        let in_use = &mut cx.ports[packet.out_port.index()].in_use;
        let mut place = Place { now: cx.now, view: cx.view, out: &mut cx.out };
        // SELB §"Packet Reordering": "the same method as Conweave"
        self.reorder.arrives(&mut place, in_use, row, leaf, packet, header)
    }

    fn message(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, message: &Message<'_>) {
        let (Some(Flow::Source(source)), Some(body)) = (flow, Body::get(message.body)) else { return };
        if body.epoch != source.epoch || source.progress == Progress::Settled {
            return;
        }
        match message.class {
            // SELB §"Packet Reordering": a flow is rerouted "at most once at the same time", and again from here on.
            CLEAR => source.progress = Progress::Cleared,
            NO_QUEUE if cx.now >= source.kept_until => {
                source.kept_until = cx.now + self.keep;
                cx.out.record(Points::Kept, f64::from(body.way.0));
            }
            _ => {}
        }
    }

    fn timer(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, key: Key) {
        if let (Some(Flow::Destination(row)), Key::Flow(_, reorder::TIMER)) = (flow, key) {
            self.reorder.expires(&mut Place { now: cx.now, view: cx.view, out: &mut cx.out }, row);
        }
    }

    fn tick(&self, cx: &mut Cx<'_, Self>) {
        let first = cx.view.host_ports;
        let (old, moment) = (*cx.node, self.moment(cx));
        let Some(uplinks) = cx.ports.get_mut(usize::from(first)..) else { return };
        let means = (self.k, self.start, &mut *cx.rng);
        let new = survey(uplinks, first, &moment, (self.monitor, &self.threshold), means);
        if new.congested != old.congested {
            cx.out.record(Points::Congested, f64::from(new.congested));
        }
        if new.changed > 0 {
            cx.out.record(Points::Changed, f64::from(new.changed));
        }
        *cx.node = new;
    }

    fn link(&self, cx: &mut Cx<'_, Self>, port: Port, change: Change) {
        cx.ports[port.index()].down = change == Change::Down;
    }

    fn drained(&self, cx: &mut Cx<'_, Self>, _: Option<&mut Flow>, port: Port, _: Queue) {
        let in_use = &mut cx.ports[port.index()].in_use;
        self.reorder.drained(&mut Place { now: cx.now, view: cx.view, out: &mut cx.out }, in_use);
    }
}
