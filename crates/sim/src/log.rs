//! A run's records as it goes: points of series, and the account of packets.

use crate::bank::REGISTRY;
use crate::choices::Recorder;
use crate::ids::LinkId;
use crate::net::Net;
use crate::series::{Counted, Recorded};
use crate::transport::resequencer::Tally;
use spinewise_policy::{Span, Time};

/// One point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Time of the point.
    pub time: Time,
    /// The series: index into the run's names of series.
    pub series: u16,
    /// Its entity: a node, or a link counted behind the nodes.
    pub entity: u32,
    /// Value.
    pub value: f64,
}

/// Minimum number of points by which room grows.
const FEWEST_POINTS: usize = 1024;

/// A series of the engine itself, by its number. A scheme's own come after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum OfEngine {
    /// Use of a link.
    LinkUtilisation,
    /// Its queue.
    LinkQueueBytes,
    /// Packets that a host has sent.
    SentPackets,
    /// Bytes that have reached it.
    ReceivedBytes,
    /// Third duplicate acknowledgements at it.
    Dupack3Events,
    /// Marks at a link's port.
    LinkMarks,
    /// Drops there.
    LinkDrops,
    /// Pauses there.
    LinkPaused,
}

/// Names and meanings of the engine's own series, in the order of their numbers.
pub const SERIES: &[(OfEngine, &str, &str)] = &[
    (
        OfEngine::LinkUtilisation,
        "link_utilisation",
        "share of the interval in which the link was sending, per link of metrics.series_links",
    ),
    (
        OfEngine::LinkQueueBytes,
        "link_queue_bytes",
        "bytes queued for the link at the end of the interval, per link of metrics.series_links that a switch sends on",
    ),
    (OfEngine::SentPackets, "sent_packets", "data packets sent in the interval, per host"),
    (OfEngine::ReceivedBytes, "received_bytes", "payload bytes received in the interval, each counted once, per host"),
    (OfEngine::Dupack3Events, "dupack3_events", "third duplicate acknowledgements in the interval, per host"),
    (
        OfEngine::LinkMarks,
        "link_marks",
        "packets marked CE at the link's port in the interval, if any; not with series_links = \"fabric\"",
    ),
    (
        OfEngine::LinkDrops,
        "link_drops",
        "packets dropped at the link's port in the interval, if any; not with series_links = \"fabric\"",
    ),
    (
        OfEngine::LinkPaused,
        "link_paused",
        "share of the interval in which flow control paused data at the link's port, summed over priorities, if it \
         did; not with series_links = \"fabric\"",
    ),
];

/// First series of the edge scheme.
pub const EDGE_SERIES: u16 = 16;
/// First series of the fabric scheme.
pub const FABRIC_SERIES: u16 = 128;

/// The series of a scheme must end before those of the other site begin.
const _: () = {
    let mut scheme = 0;
    while scheme < REGISTRY.len() {
        assert!(REGISTRY[scheme].sheet.series.len() <= (FABRIC_SERIES - EDGE_SERIES) as usize);
        scheme += 1;
    }
    assert!(SERIES.len() <= EDGE_SERIES as usize);
};

/// Each of the engine's series is listed at its number.
const _: () = {
    let mut number = 0;
    while number < SERIES.len() {
        assert!(SERIES[number].0 as usize == number);
        number += 1;
    }
};

/// Packets and bytes (without the fabric scheme's header) of one fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Account {
    /// One more packet.
    #[inline]
    pub fn add(&mut self, bytes: u16) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// The account of a run: whatever was created was delivered, dropped, lost, consumed, or is still there.
#[derive(Debug, Default)]
pub struct Log {
    /// Points of series.
    pub points: Vec<Point>,
    /// Maximum number there is memory for, if that is known.
    pub most_points: Option<usize>,
    /// There were more. The run cannot continue: points are missing.
    pub full: bool,
    /// Made by hosts and switches.
    pub created: Account,
    /// Arrived where they were sent.
    pub delivered: Account,
    /// Dropped at a full queue, or without a route.
    pub dropped: Account,
    /// Lost on links, or in a switch that died.
    pub lost: Account,
    /// Packets of these that a switch held when it died.
    pub lost_in_switches: u64,
    /// Packets that were trimmed, once for each time, and the bytes that they lost by it.
    pub trimmed: Account,
    /// Taken by a scheme on the way.
    pub consumed: Account,
    /// Probes and replies among the packets created.
    pub probes: Account,
    /// Messages between schemes among them.
    pub messages: Account,
    /// Frames of priority flow control among them.
    pub pauses: Account,
    /// Acknowledgements among them, including SYN-ACKs.
    pub acks: Account,
    /// SYNs among them, and the acknowledgements of SYN-ACKs and of FINs.
    pub handshakes: Account,
    /// Bytes of schemes' headers, per packet that carried one; acknowledgements and handshakes are counted without theirs.
    pub header_bytes: u64,
    /// Data packets that have reached their hosts.
    pub arrived: u64,
    /// Packets that receivers have held back below TCP.
    pub resequenced: Tally,
    /// Packets without a route.
    pub unroutable: u64,
    /// Packets of data without room, of a priority that flow control does not protect.
    pub lossy_drops: u64,
    /// Events handled.
    pub events: u64,
    /// Writes down choices of traced flows, if there are any.
    pub recorder: Option<Box<Recorder>>,
}

impl Log {
    /// Adds what another thread has written of the same run.
    pub fn add(&mut self, other: Log) {
        // All fields by name: a new one must say here what becomes of it.
        let Log {
            points,
            most_points: _,
            full,
            created,
            delivered,
            dropped,
            lost,
            lost_in_switches,
            trimmed,
            consumed,
            probes,
            messages,
            pauses,
            acks,
            handshakes,
            header_bytes,
            arrived,
            resequenced: Tally { held, timeouts, overflows },
            unroutable,
            lossy_drops,
            events,
            recorder: _,
        } = other;
        let accounts = [
            (&mut self.created, created),
            (&mut self.delivered, delivered),
            (&mut self.dropped, dropped),
            (&mut self.lost, lost),
            (&mut self.trimmed, trimmed),
            (&mut self.consumed, consumed),
            (&mut self.probes, probes),
            (&mut self.messages, messages),
            (&mut self.pauses, pauses),
            (&mut self.acks, acks),
            (&mut self.handshakes, handshakes),
        ];
        for (own, Account { packets, bytes }) in accounts {
            own.packets += packets;
            own.bytes += bytes;
        }
        let numbers = [
            (&mut self.lost_in_switches, lost_in_switches),
            (&mut self.header_bytes, header_bytes),
            (&mut self.arrived, arrived),
            (&mut self.resequenced.held, held),
            (&mut self.resequenced.timeouts, timeouts),
            (&mut self.resequenced.overflows, overflows),
            (&mut self.unroutable, unroutable),
            (&mut self.lossy_drops, lossy_drops),
            (&mut self.events, events),
        ];
        for (own, more) in numbers {
            *own += more;
        }
        let all = self.points.len() + points.len();
        let fits = self.most_points.is_none_or(|most| all <= most);
        self.full |= full || !fits || self.points.try_reserve_exact(points.len()).is_err();
        if !self.full {
            self.points.extend(points);
        }
    }

    /// Notes a point.
    pub fn point(&mut self, time: Time, series: u16, entity: u32, value: f64) {
        if self.points.len() < self.points.capacity() || self.finds_room() {
            self.points.push(Point { time, series, entity, value });
        }
    }

    /// Grows the room for points: doubles it, or takes as much of that as there is.
    #[cold]
    fn finds_room(&mut self) -> bool {
        let has = self.points.len();
        let most = self.most_points.map_or(usize::MAX, |most| most.saturating_sub(has));
        let tries = [1, 2, 4, 8, 16].map(|part| (has / part).max(FEWEST_POINTS).min(most));
        self.full |= !tries.into_iter().any(|more| more > 0 && self.points.try_reserve_exact(more).is_ok());
        !self.full
    }
}

/// Rows that are written at every interval, whatever happens: the use of each link, and its queue if it has one.
pub fn rows_each_time(net: &Net) -> u64 {
    let topology = &net.topology;
    let recorded = topology.links.ids().filter(|&link| net.series_links.has(topology, link));
    let has_queue = |link: LinkId| net.nics_queue || !topology.is_host(topology.links[link].from.0);
    recorded.map(|link| 1 + u64::from(has_queue(link))).sum()
}

/// Writes the points of a link at `now`: the events `counted` since `before`, and its queue, if it has one.
pub fn write_link(
    log: &mut Log,
    (net, now, interval): (&Net, Time, Span),
    link: LinkId,
    before: &mut Counted,
    (counted, queue): (Counted, Option<u64>),
) {
    let entity = net.topology.nodes() + link.number();
    let share = |ps: u64| ps as f64 / interval.0 as f64;
    let mut point = |series: OfEngine, value| log.point(now, series as u16, entity, value);
    point(OfEngine::LinkUtilisation, share((counted.busy - before.busy).0));
    if let Some(bytes) = queue {
        point(OfEngine::LinkQueueBytes, bytes as f64);
    }
    if net.series_links != Recorded::Fabric {
        let further = [
            (OfEngine::LinkMarks, (counted.marks - before.marks) as f64),
            (OfEngine::LinkDrops, (counted.drops - before.drops) as f64),
            (OfEngine::LinkPaused, share(counted.paused - before.paused)),
        ];
        for (series, value) in further.into_iter().filter(|&(_, value)| value > 0.0) {
            point(series, value);
        }
    }
    *before = counted;
}
