//! The demand of the offered traffic on the fabric, expressed in three ways.
//!
//! "Load 0.8" means payload over nominal capacity in most papers. Headers and acknowledgements come on top (a third for
//! flows of 342 bytes), and failed or slowed links take capacity away, so a cell of a figure may be overloaded although
//! its label does not show it: its completion times then depend on how long the run lasts.

use super::{FlowSpec, Places};
use crate::ids::SwitchId;
use serde_json::{Value, json};
use spinewise_policy::time::{Span, Time};
use std::ops::Range;

const PS_PER_SECOND: f64 = 1e12;
const BITS_PER_BYTE: f64 = 8.0;
/// The share of the worst leaf's capacity above which queues grow for as long as arrivals last.
const OVERLOAD: f64 = 0.95;
/// The minimum share of all bytes for an entry to count over its own time: an entry with less has no time of its own.
const LEAST_SHARE: f64 = 0.1;

/// The offered traffic between leaves, relative to capacity, at the time of the highest offer; and that of the hosts of
/// a leaf, where their own links cannot carry it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loads {
    /// Payload that leaves its rack over the nominal rate of all uplinks.
    pub payload_of_nominal: f64,
    /// The same with headers and acknowledgements.
    pub wire_of_nominal: f64,
    /// Demand with headers and acknowledgements, over the capacity available to the worst-off leaf or pod and direction
    /// (up or down); infinite if there is none. The links of a leaf's hosts together, traffic within the rack included,
    /// count where their share exceeds 0.95.
    pub wire_of_available: f64,
    /// The place of that worst case; `None` if nothing leaves a rack and no rack's hosts are overloaded.
    pub worst: Option<Cut>,
    /// Whether `wire_of_available` exceeds 0.95.
    pub overloaded: bool,
    /// Entries excluded from all of these because they have no rate: much comes at once, or when the network allows it.
    pub without: Vec<u8>,
}

/// The links of a leaf, of a pod, or of a leaf's hosts, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The owner of the links.
    pub of: Of,
    /// Towards its spines or cores, or from them; of hosts, towards their leaf, or from it.
    pub side: Side,
}

/// A leaf, a pod, or the hosts of a leaf, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A leaf.
    Leaf(SwitchId),
    /// A pod.
    Pod(u32),
    /// All hosts of a leaf.
    Hosts(SwitchId),
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Towards the spines or cores.
    Up,
    /// Down from them.
    Down,
}

impl Cut {
    /// The direction in reports.
    const fn direction(self) -> &'static str {
        match (self.of, self.side) {
            (Of::Hosts(_), Side::Up) => "from hosts",
            (Of::Hosts(_), Side::Down) => "to hosts",
            (_, Side::Up) => "up",
            (_, Side::Down) => "down",
        }
    }
}

impl Loads {
    /// Also excludes these entries.
    pub fn also_without(mut self, entries: Vec<u8>) -> Loads {
        self.without.extend(entries);
        self.without.sort_unstable();
        self
    }

    /// Returns it in the form of reports; `leaf` names a leaf by number.
    pub fn json(&self, leaf: impl Fn(SwitchId) -> String) -> Value {
        let available = self.wire_of_available;
        let worst = self.worst.map(|cut| {
            let at = match cut.of {
                Of::Leaf(number) | Of::Hosts(number) => leaf(number),
                Of::Pod(number) => format!("pod{number}"),
            };
            json!({"at": at, "direction": cut.direction()})
        });
        json!({
            "payload_of_nominal": self.payload_of_nominal,
            "wire_of_nominal": self.wire_of_nominal,
            "wire_of_available": if available.is_finite() { json!(available) } else { Value::Null },
            "worst": worst,
            "overloaded": self.overloaded,
            "without": self.without,
        })
    }
}

/// The capacities that loads are relative to.
#[derive(Clone, Copy, Debug)]
pub struct Capacity<'a> {
    /// Payload of a full segment, in bytes.
    pub mss: u64,
    /// Bytes every data packet has on top of its payload.
    pub header: u64,
    /// Bytes of an acknowledgement on the wire, one for each data packet.
    pub ack: u64,
    /// The leaf of each host.
    pub leaf_of: &'a [u32],
    /// Nominal bits per second of the uplinks of each leaf, before overrides.
    pub nominal: &'a [u64],
    /// Bits per second that each leaf can send up, after overrides.
    pub up: &'a [u64],
    /// Bits per second that the spines can send down to each leaf, after overrides.
    pub down: &'a [u64],
    /// Bits per second of the links of each leaf's hosts together.
    pub hosts: &'a [u64],
    /// In a fat-tree: the number of leaves in a pod, and how much each pod can send up and receive from its cores.
    pub pods: Option<(u32, &'a [u64], &'a [u64])>,
}

/// The demand of a traffic entry.
#[derive(Clone, Debug)]
pub struct Offered {
    entry: u8,
    bytes: Bytes,
    /// The time range in which its flows start; none if so few come at once that they have no rate.
    during: Option<Range<Time>>,
}

/// The time range in which `flows` start that follow no clock: k instants are k gaps.
pub(super) fn starts(flows: &[FlowSpec], places: &Places) -> Option<Range<Time>> {
    let mut starts: Vec<Time> = flows.iter().map(|flow| flow.start).collect();
    starts.sort_unstable();
    starts.dedup();
    let (&first, &last) = (starts.first()?, starts.last()?);
    let gaps = starts.len() as u64 - 1;
    let length = Span(last.since(first).0 + last.since(first).0.checked_div(gaps)?);
    lasts(first..first + length, flows, places)
}

/// This time range, unless some flow alone takes longer on the link of its host: so few flows have no rate.
pub(super) fn lasts(during: Range<Time>, flows: &[FlowSpec], places: &Places) -> Option<Range<Time>> {
    let rate = |flow: &FlowSpec| places.host_rates[flow.src as usize] as f64;
    let takes = |flow: &FlowSpec| flow.size as f64 * BITS_PER_BYTE * PS_PER_SECOND / rate(flow);
    flows.iter().all(|flow| takes(flow) <= length_of(&during)).then_some(during)
}

fn length_of(during: &Range<Time>) -> f64 {
    during.end.since(during.start).0 as f64
}

/// Bytes, or bits per second.
#[derive(Clone, Debug)]
struct Bytes {
    payload: f64,
    wire: f64,
    leaves: Crossed,
    pods: Option<Crossed>,
    /// Of the hosts of each leaf, traffic within the rack included.
    hosts: Crossed,
}

impl Bytes {
    /// Adds `other`, multiplied by `times`.
    fn add(&mut self, other: &Bytes, times: f64) {
        self.payload += other.payload * times;
        self.wire += other.wire * times;
        self.leaves.add_all(&other.leaves, times);
        self.hosts.add_all(&other.hosts, times);
        if let (Some(pods), Some(others)) = (&mut self.pods, &other.pods) {
            pods.add_all(others, times);
        }
    }
}

/// Traffic that leaves racks, pods, or hosts, and traffic that comes in.
#[derive(Clone, Debug)]
struct Crossed {
    up: Vec<f64>,
    down: Vec<f64>,
}

impl Crossed {
    fn new(many: usize) -> Crossed {
        Crossed { up: vec![0.0; many], down: vec![0.0; many] }
    }

    /// Data goes from one to another, and acknowledgements come back.
    fn add(&mut self, (from, to): (u32, u32), data: f64, acks: f64) {
        let (from, to) = (from as usize, to as usize);
        self.up[from] += data;
        self.down[to] += data;
        self.up[to] += acks;
        self.down[from] += acks;
    }

    fn add_all(&mut self, other: &Crossed, times: f64) {
        let own = self.up.iter_mut().chain(&mut self.down);
        own.zip(other.up.iter().chain(&other.down)).for_each(|(own, other)| *own += other * times);
    }

    /// Returns the largest share of the capacities up and down, and where it is; the first of several.
    fn worst(&self, up: &[u64], down: &[u64], of: impl Fn(u32) -> Of) -> Option<(f64, Cut)> {
        let cut = |side| {
            let of = &of;
            move |((number, &rate), &most): ((u32, &f64), &u64)| {
                (share(rate, most as f64), Cut { of: of(number), side })
            }
        };
        let ups = (0..).zip(&self.up).zip(up).map(cut(Side::Up));
        let downs = (0..).zip(&self.down).zip(down).map(cut(Side::Down));
        ups.chain(downs).filter(|(share, _)| *share > 0.0).reduce(greater)
    }
}

/// The greater share; the first if they are equal.
fn greater(one: (f64, Cut), other: (f64, Cut)) -> (f64, Cut) {
    if other.0 > one.0 { other } else { one }
}

fn share(rate: f64, of: f64) -> f64 {
    if rate > 0.0 { rate / of } else { 0.0 }
}

impl Capacity<'_> {
    fn nothing(&self) -> Bytes {
        let pods = self.pods.map(|(_, up, _)| Crossed::new(up.len()));
        let leaves = || Crossed::new(self.nominal.len());
        Bytes { payload: 0.0, wire: 0.0, leaves: leaves(), pods, hosts: leaves() }
    }

    /// Returns the demand of the flows of an entry that start `during` this time range. Retransmissions, handshakes and
    /// probes do not count; traffic within a rack counts for its hosts alone.
    pub fn offered(&self, entry: u8, flows: &[FlowSpec], during: Option<Range<Time>>) -> Offered {
        let mut bytes = self.nothing();
        let during = during.filter(|during| !during.is_empty());
        for flow in flows {
            let [from, to] = [flow.src, flow.dst].map(|host| self.leaf_of[host as usize]);
            let packets = flow.size.div_ceil(self.mss.max(1)) as f64;
            let data = flow.size as f64 + packets * self.header as f64;
            let acks = packets * self.ack as f64;
            if during.is_some() {
                bytes.hosts.add((from, to), data, acks);
            }
            if from == to {
                continue;
            }
            bytes.payload += flow.size as f64;
            bytes.wire += data + acks;
            bytes.leaves.add((from, to), data, acks);
            if let (Some(pods), Some((of, ..))) = (&mut bytes.pods, self.pods)
                && from / of != to / of
            {
                pods.add((from / of, to / of), data, acks);
            }
        }
        Offered { entry, bytes, during }
    }

    /// The loads of some entries at the time of the highest offer; none if no entry has a time range, since a load is a
    /// rate. An entry counts over its own time range, or over the whole if it has little of all bytes. One with much
    /// and no time range is excluded.
    pub fn loads(&self, entries: &[Offered]) -> Option<Loads> {
        let times = || entries.iter().filter_map(|entry| entry.during.as_ref());
        let whole = times().map(|during| during.start).min()?..times().map(|during| during.end).max()?;
        let all: f64 = entries.iter().map(|entry| entry.bytes.wire).sum();
        let is_much = |entry: &Offered| entry.bytes.wire >= LEAST_SHARE * all && entry.bytes.wire > 0.0;
        let (left, steady): (Vec<&Offered>, Vec<&Offered>) =
            entries.iter().partition(|entry| is_much(entry) && entry.during.is_none());
        let own = |entry: &Offered| entry.during.clone().filter(|_| is_much(entry));
        let during: Vec<Range<Time>> = steady.iter().map(|entry| own(entry).unwrap_or(whole.clone())).collect();
        let mut most = Loads { without: left.iter().map(|entry| entry.entry).collect(), ..Loads::default() };
        // The offer rises only where something begins.
        for begin in during.iter().map(|during| during.start) {
            let mut rates = self.nothing();
            for (entry, during) in steady.iter().zip(&during).filter(|(_, during)| during.contains(&begin)) {
                rates.add(&entry.bytes, BITS_PER_BYTE * PS_PER_SECOND / length_of(during));
            }
            let nominal = self.nominal.iter().map(|&rate| rate as f64).sum();
            let of_pods =
                rates.pods.as_ref().zip(self.pods).and_then(|(pods, (_, up, down))| pods.worst(up, down, Of::Pod));
            let of_leaves = rates.leaves.worst(self.up, self.down, |leaf| Of::Leaf(SwitchId::new(leaf)));
            let of_hosts = rates.hosts.worst(self.hosts, self.hosts, |leaf| Of::Hosts(SwitchId::new(leaf)));
            let of_hosts = of_hosts.filter(|&(share, _)| share > OVERLOAD);
            most.payload_of_nominal = most.payload_of_nominal.max(share(rates.payload, nominal));
            most.wire_of_nominal = most.wire_of_nominal.max(share(rates.wire, nominal));
            let before = most.worst.map(|cut| (most.wire_of_available, cut));
            if let Some((share, cut)) =
                before.into_iter().chain(of_leaves).chain(of_pods).chain(of_hosts).reduce(greater)
            {
                (most.wire_of_available, most.worst) = (share, Some(cut));
            }
        }
        most.overloaded = most.wire_of_available > OVERLOAD;
        Some(most)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fabric;
    use super::super::{LoadOf, Pairs, Permutation, Poisson, Workload, builtin};
    use super::*;

    fn flow(src: u32, dst: u32, size: u64, start: u64) -> FlowSpec {
        FlowSpec { src, dst, size, start: Time(start), ..FlowSpec::default() }
    }

    /// Packets of 1,000 bytes with headers of 40, on links as built.
    fn capacity<'a>(places: &'a Places<'a>) -> Capacity<'a> {
        let nominal = places.uplink_rate_of_leaf;
        let leaf_of = places.leaf_of;
        // Hosts' links are never short, unless a test says so.
        let hosts = &[u64::MAX; 64][..nominal.len()];
        Capacity { mss: 1000, header: 40, ack: 60, leaf_of, nominal, up: nominal, down: nominal, hosts, pods: None }
    }

    fn in_us(from: u64, to: u64) -> Option<Range<Time>> {
        Some(Time::ZERO + Span::from_us(from)..Time::ZERO + Span::from_us(to))
    }

    #[test]
    fn the_three_loads_by_hand() {
        // Two leaves of two hosts, 20 Gbps of uplinks each: 1 µs carries 2500 bytes on each cut.
        let fabric = Fabric::new(2, 2, 2);
        let flows = [flow(0, 2, 1001, 0), flow(1, 3, 500, 10), flow(2, 3, 1_000_000, 20)];
        let places = fabric.places();
        let healthy = capacity(&places);
        let loads_of = |capacity: Capacity| capacity.loads(&[capacity.offered(0, &flows, in_us(0, 1))]).unwrap();
        let slow = Capacity { down: &[20_000_000_000, 10_000_000_000], ..healthy };
        let loads = loads_of(slow);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        // 1501 bytes of payload in 3 packets: 1621 bytes of data, 180 of acknowledgements.
        assert!(near(loads.payload_of_nominal, 1501.0 / 5000.0), "{loads:?}");
        assert!(near(loads.wire_of_nominal, 1801.0 / 5000.0), "{loads:?}");
        assert!(near(loads.wire_of_available, 1621.0 / 1250.0), "{loads:?}");
        assert!(loads.overloaded);
        assert_eq!(loads.worst, Some(Cut { of: Of::Leaf(SwitchId::new(1)), side: Side::Down }));
        assert_eq!(
            loads.json(|leaf| format!("leaf{}", leaf.number()))["worst"],
            json!({"at": "leaf1", "direction": "down"})
        );
        let whole = loads_of(healthy);
        assert!(near(whole.wire_of_available, 1621.0 / 2500.0) && !whole.overloaded);
        // Each leaf a pod: slow cores are a cut of their own.
        let (core, full) = ([5_000_000_000, 20_000_000_000], [20_000_000_000; 2]);
        let pods = loads_of(Capacity { pods: Some((1, &core, &full)), ..healthy });
        assert!(near(pods.wire_of_available, 1621.0 / 625.0) && pods.overloaded, "{pods:?}");
        assert_eq!(pods.worst, Some(Cut { of: Of::Pod(0), side: Side::Up }));
        let within = loads_of(Capacity { pods: Some((2, &core[..1], &full[..1])), ..healthy });
        assert_eq!(within, whole, "all of it stays in a pod");
        // Hosts that together have less than their uplinks: 1 µs carries 1250 bytes of those of leaf 0.
        let short = loads_of(Capacity { hosts: &[10_000_000_000, u64::MAX], ..healthy });
        assert!(near(short.wire_of_available, 1621.0 / 1250.0) && short.overloaded, "{short:?}");
        assert_eq!(short.worst, Some(Cut { of: Of::Hosts(SwitchId::new(0)), side: Side::Up }));
        assert_eq!(short.json(|_| "leaf0".into())["worst"], json!({"at": "leaf0", "direction": "from hosts"}));
        let fit = loads_of(Capacity { hosts: &[15_000_000_000, u64::MAX], ..healthy });
        assert_eq!(fit, whole, "links that are enough do not count");
        // A megabyte stays in rack 1: 1000 packets with headers, and 60 bytes for each that comes.
        let within = loads_of(Capacity { hosts: &[u64::MAX, 8_000_000_000_000], ..healthy });
        assert!(near(within.wire_of_available, (1_040_000.0 + 60_000.0 + 1621.0) / 1e6), "{within:?}");
        assert_eq!(within.worst, Some(Cut { of: Of::Hosts(SwitchId::new(1)), side: Side::Down }));
        assert_eq!(whole.worst, Some(Cut { of: Of::Leaf(SwitchId::new(0)), side: Side::Up }), "the first of equals");
        let cut_off = loads_of(Capacity { up: &[20_000_000_000, 0], ..healthy });
        assert!(cut_off.wire_of_available.is_infinite() && cut_off.overloaded);
    }

    #[test]
    fn flows_at_one_instant_or_within_a_rack_have_no_load() {
        let fabric = Fabric::new(2, 2, 1);
        let places = fabric.places();
        let capacity = capacity(&places);
        let at_once = [flow(0, 2, 5, 7), flow(1, 3, 5, 7)];
        let within = [flow(0, 1, 5, 7_000), flow(1, 0, 5, 3_000)];
        let loads_of = |flows: &[FlowSpec]| capacity.loads(&[capacity.offered(0, flows, starts(flows, &places))]);
        assert_eq!(loads_of(&at_once), None);
        assert_eq!(loads_of(&[]), None);
        assert_eq!(starts(&within, &places), Some(Time(3_000)..Time(11_000)), "two instants are two gaps");
        assert_eq!(starts(&[flow(0, 1, 11, 7_000), flow(1, 0, 5, 3_000)], &places), None, "it takes 8,800 ps");
        assert_eq!(loads_of(&within), Some(Loads::default()));
    }

    /// A load is the same however many rounds there are of it: each is as long as a period.
    #[test]
    fn rounds_take_a_period_each() {
        let fabric = Fabric::new(2, 2, 2);
        let places = fabric.places();
        let capacity = capacity(&places);
        for repeat in [2, 3, 50] {
            // 10 of its link's 20 us, from two hosts into 20 Gbps.
            let permutation = Permutation { repeat, period: Span::from_us(20), ..Permutation::new(12_500) };
            let workload = Workload::Permutation(permutation);
            let flows = workload.plan(1, 0, &places).unwrap().flows;
            let loads = capacity.loads(&[capacity.offered(0, &flows, workload.during(&flows, &places))]).unwrap();
            assert!((loads.payload_of_nominal - 0.5).abs() < 1e-12, "{repeat} rounds: {loads:?}");
        }
        let once = Workload::Permutation(Permutation::new(12_500));
        let flows = once.plan(1, 0, &places).unwrap().flows;
        assert_eq!(once.during(&flows, &places), None);
    }

    /// An entry counts over its own time, so another far away hides nothing, and two one after the other do not add up.
    #[test]
    fn the_most_that_is_offered_at_a_time_counts() {
        let fabric = Fabric::new(2, 2, 2);
        let places = fabric.places();
        let capacity = capacity(&places);
        let payload = |entries: &[Offered]| capacity.loads(entries).unwrap().payload_of_nominal;
        // 5,000 bytes a microsecond are all that two leaves send up.
        let full = capacity.offered(0, &[flow(0, 2, 50_000, 0)], in_us(0, 10));
        let later = Offered { during: in_us(100, 110), ..full.clone() };
        let beside = Offered { during: in_us(5, 15), ..full.clone() };
        let alone = payload(std::slice::from_ref(&full));
        assert!((alone - 1.0).abs() < 1e-12);
        assert!((payload(&[full.clone(), later]) - alone).abs() < 1e-12);
        assert!((payload(&[full.clone(), beside]) - 2.0 * alone).abs() < 1e-12);
        // Little, over a long time or at one instant, is spread over the whole time.
        let little = |during| capacity.offered(1, &[flow(0, 2, 1_000, 0)], during);
        assert!((payload(&[full.clone(), little(in_us(0, 1_000))]) - alone - 1_000.0 / 5_000_000.0).abs() < 1e-12);
        assert!((payload(&[full.clone(), little(in_us(4, 5))]) - alone - 0.02).abs() < 1e-12, "no burst of its own");
        assert!((payload(&[full.clone(), little(None)]) - alone - 0.02).abs() < 1e-12);
        // Much at one instant is no rate.
        let much = capacity.offered(1, &[flow(0, 2, 10_000, 0)], None);
        let loads = capacity.loads(&[full, much]).unwrap();
        assert!((loads.payload_of_nominal - alone).abs() < 1e-12 && loads.without == [1], "{loads:?}");
    }

    /// Flows of 342 bytes with the frames of ns3-load-balance: headers make it 1.17 times the payload, with
    /// acknowledgements 1.34 times.
    #[test]
    fn small_flows_weigh_more_on_the_wire() {
        let fabric = Fabric::new(4, 8, 4);
        let places = fabric.places();
        let cdf = builtin::find("enterprise_meet").unwrap().cdf();
        let poisson = Poisson { duration: Span::from_ms(50), ..Poisson::new(cdf, 0.7) };
        let flows = Workload::Poisson(poisson).plan(1, 0, &places).unwrap().flows;
        let frames = Capacity { mss: 1400, header: 54, ack: 0, ..capacity(&places) };
        let loads_of = |capacity: Capacity| capacity.loads(&[capacity.offered(0, &flows, in_us(0, 50_000))]).unwrap();
        let data = loads_of(frames);
        let all = loads_of(Capacity { ack: 54, ..frames });
        // Four sigma of a compound Poisson sum of these sizes.
        let squares: f64 = flows.iter().map(|flow| (flow.size as f64).powi(2)).sum();
        let bytes: f64 = flows.iter().map(|flow| flow.size as f64).sum();
        assert!((data.payload_of_nominal / 0.7 - 1.0).abs() < 4.0 * squares.sqrt() / bytes, "{data:?}");
        let weight = |loads: &Loads| loads.wire_of_nominal / loads.payload_of_nominal;
        assert!((weight(&data) - 1.17).abs() < 0.02, "{}", weight(&data));
        assert!((weight(&all) - 1.34).abs() < 0.04, "{}", weight(&all));
        assert!(all.wire_of_available >= all.wire_of_nominal);
    }

    /// The load of conweave-ns3: its runner passes the load over the oversubscription to a generator that fills each
    /// host's link with it, to all other hosts, the host's own rack included. Here that is the load of the leaf's
    /// uplinks.
    #[test]
    fn the_load_of_the_conweave_code_is_that_of_uplinks_with_any_receiver() {
        // 8 leaves of 16 hosts, 8 uplinks: oversubscribed 2:1, the 128 hosts of the ConWeave paper.
        let fabric = Fabric::new(8, 16, 8);
        let places = fabric.places();
        let cdf = || builtin::find("ali_storage").unwrap().cdf();
        let run = |load, load_of| Poisson {
            load_of,
            pairs: Pairs::Any,
            duration: Span::from_ms(40),
            ..Poisson::new(cdf(), load)
        };
        let flows_of = |poisson: Poisson| Workload::Poisson(poisson).plan(1, 0, &places).unwrap().flows;
        let flows = flows_of(run(0.8, LoadOf::LeafUplinks));
        assert_eq!(flows, flows_of(run(0.4, LoadOf::HostLinks)), "0.8 of the uplinks is 0.4 of the hosts' links");

        let frames = Capacity { header: 48, ..capacity(&places) };
        let loads = frames.loads(&[frames.offered(0, &flows, in_us(0, 40_000))]).unwrap();
        let (bytes, squares) =
            flows.iter().fold((0.0, 0.0), |(b, s), flow| (b + flow.size as f64, s + (flow.size as f64).powi(2)));
        let sigma = squares.sqrt() / bytes;
        // 112 of the 127 receivers are in other racks.
        let expected = 0.8 * 112.0 / 127.0;
        assert!((loads.payload_of_nominal / expected - 1.0).abs() < 4.0 * sigma, "{loads:?}");
        let rate = bytes * 8.0 / 0.04;
        assert!((rate / (0.4 * 128.0 * 10e9) - 1.0).abs() < 4.0 * sigma, "{rate}");
        // Bytes on the wire: the weight of packets of these sizes, counted one by one.
        let far = flows.iter().filter(|flow| flow.src / 16 != flow.dst / 16);
        let wire: u64 = far.map(|flow| flow.size + flow.size.div_ceil(1000) * (48 + 60)).sum();
        let share = wire as f64 * 8.0 / 0.04 / (64.0 * 10e9);
        assert!((loads.wire_of_nominal - share).abs() < 1e-9, "{loads:?} {share}");
        // No leaf has more than is offered, and the worst has more than the mean of all.
        assert!(loads.wire_of_available >= loads.wire_of_nominal && loads.wire_of_available < 1.5, "{loads:?}");
    }
}
