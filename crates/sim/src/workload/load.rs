//! How much the offered traffic asks of the fabric, said three ways.
//!
//! "Load 0.8" means payload over nominal capacity in most papers. Headers and acknowledgements come on top (a third for
//! flows of 342 bytes), and failed or slowed links take capacity away, so that a cell of a figure may be overloaded
//! where its label does not say so: its completion times then depend on how long the run lasts.

use spinewise_policy::time::Span;

use super::{FlowSpec, Places};

const PS_PER_SECOND: f64 = 1e12;
const BITS_PER_BYTE: f64 = 8.0;
/// Above this share of the worst leaf's capacity, queues grow for as long as arrivals last.
const OVERLOAD: f64 = 0.95;

/// The offered traffic between leaves, relative to capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loads {
    /// Payload that leaves its rack over the nominal rate of all uplinks.
    pub payload_of_nominal: f64,
    /// The same with headers and acknowledgements.
    pub wire_of_nominal: f64,
    /// With headers and acknowledgements, over what is available to the leaf or pod and direction (up or down) that is
    /// worst off; infinite if nothing is.
    pub wire_of_available: f64,
    /// Whether `wire_of_available` exceeds 0.95.
    pub overloaded: bool,
}

/// What the loads follow from.
#[derive(Clone, Copy, Debug)]
pub struct Offered<'a> {
    /// All flows.
    pub flows: &'a [FlowSpec],
    /// How long they take to arrive; see [`arrival_interval`] for flows that come without a duration.
    pub interval: Span,
    /// Payload of a full segment, in bytes.
    pub mss: u64,
    /// Bytes every data packet has on top of its payload.
    pub header: u64,
    /// Bytes of an acknowledgement on the wire, one for each data packet.
    pub ack: u64,
    /// The topology, with nominal rates.
    pub places: &'a Places<'a>,
    /// Bits per second that each leaf can send up, after overrides.
    pub up: &'a [u64],
    /// Bits per second that the spines can send down to each leaf, after overrides.
    pub down: &'a [u64],
    /// Of a fat-tree: how many leaves a pod has, and what each pod can send up and be sent down by its cores.
    pub pods: Option<(u32, &'a [u64], &'a [u64])>,
}

/// From the first to the last start of flows from hosts of this `rate`, bits per second. Zero if the largest takes longer by
/// itself, as for flows that all start at once: so few have no load.
pub fn arrival_interval(flows: &[FlowSpec], rate: u64) -> Span {
    let starts = || flows.iter().map(|flow| flow.start);
    let interval = match (starts().min(), starts().max()) {
        (Some(first), Some(last)) => last.since(first),
        _ => Span::ZERO,
    };
    let largest = flows.iter().map(|flow| flow.size).max().unwrap_or(0);
    let takes = largest as f64 * BITS_PER_BYTE * PS_PER_SECOND / rate as f64;
    if takes > interval.0 as f64 { Span::ZERO } else { interval }
}

/// Bytes that leave racks, or pods, and that come in.
struct Crossed {
    up: Vec<f64>,
    down: Vec<f64>,
}

impl Crossed {
    fn new(many: u32) -> Crossed {
        Crossed { up: vec![0.0; many as usize], down: vec![0.0; many as usize] }
    }

    /// Data goes from one to another, and acknowledgements come back.
    fn add(&mut self, (from, to): (u32, u32), data: f64, acks: f64) {
        if from == to {
            return;
        }
        let (from, to) = (from as usize, to as usize);
        self.up[from] += data;
        self.down[to] += data;
        self.up[to] += acks;
        self.down[from] += acks;
    }
}

impl Offered<'_> {
    /// The loads; `None` if the arrival interval is zero, since a load is a rate. Retransmissions, handshakes and
    /// probes do not count, nor does traffic within a rack.
    pub fn loads(&self) -> Option<Loads> {
        if self.interval == Span::ZERO {
            return None;
        }
        let mut payload = 0.0;
        let mut leaves = Crossed::new(self.places.leaves);
        let mut pods = self.pods.map(|(of, up, _)| (of, Crossed::new(up.len() as u32)));
        for flow in self.flows {
            let [from, to] = [flow.src, flow.dst].map(|host| self.places.leaf_of[host as usize]);
            if from == to {
                continue;
            }
            let packets = flow.size.div_ceil(self.mss.max(1)) as f64;
            let data = flow.size as f64 + packets * self.header as f64;
            let acks = packets * self.ack as f64;
            payload += flow.size as f64;
            leaves.add((from, to), data, acks);
            if let Some((of, pods)) = &mut pods {
                pods.add((from / *of, to / *of), data, acks);
            }
        }
        let bits_per_second = BITS_PER_BYTE * PS_PER_SECOND / self.interval.0 as f64;
        let nominal = self.places.uplink_rate_of_leaf.iter().map(|&rate| rate as f64).sum();
        let over = |bytes: f64, rate: f64| if bytes > 0.0 { bytes * bits_per_second / rate } else { 0.0 };
        let worst_of = |crossed: &Crossed, up: &[u64], down: &[u64]| {
            let cuts = crossed.up.iter().zip(up).chain(crossed.down.iter().zip(down));
            cuts.map(|(&bytes, &rate)| over(bytes, rate as f64)).fold(0.0, f64::max)
        };
        let of_pods = pods.zip(self.pods).map_or(0.0, |((_, pods), (_, up, down))| worst_of(&pods, up, down));
        let worst = worst_of(&leaves, self.up, self.down).max(of_pods);
        Some(Loads {
            payload_of_nominal: over(payload, nominal),
            wire_of_nominal: over(leaves.up.iter().sum(), nominal),
            wire_of_available: worst,
            overloaded: worst > OVERLOAD,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fabric;
    use super::super::{LoadOf, Pairs, Poisson, Workload, builtin};
    use super::*;
    use spinewise_policy::time::Time;

    fn flow(src: u32, dst: u32, size: u64, start: u64) -> FlowSpec {
        FlowSpec { src, dst, size, start: Time(start), ..FlowSpec::default() }
    }

    #[test]
    fn the_three_loads_by_hand() {
        // Two leaves of two hosts, 20 Gbps of uplinks each: 1 µs carries 2500 bytes on each cut.
        let fabric = Fabric::new(2, 2, 2);
        let flows = [flow(0, 2, 1001, 0), flow(1, 3, 500, 10), flow(2, 3, 1_000_000, 20)];
        let offered = Offered {
            flows: &flows,
            interval: Span::from_us(1),
            mss: 1000,
            header: 40,
            ack: 60,
            places: &fabric.places(),
            up: &[20_000_000_000, 20_000_000_000],
            down: &[20_000_000_000, 10_000_000_000],
            pods: None,
        };
        let loads = offered.loads().unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        // 1501 bytes of payload in 3 packets: 1621 bytes of data, 180 of acknowledgements.
        assert!(near(loads.payload_of_nominal, 1501.0 / 5000.0), "{loads:?}");
        assert!(near(loads.wire_of_nominal, 1801.0 / 5000.0), "{loads:?}");
        assert!(near(loads.wire_of_available, 1621.0 / 1250.0), "{loads:?}");
        assert!(loads.overloaded);
        let healthy = Offered { down: offered.up, ..offered }.loads().unwrap();
        assert!(near(healthy.wire_of_available, 1621.0 / 2500.0) && !healthy.overloaded);
        // Each leaf a pod: slow cores are a cut of their own.
        let (core, whole) = ([5_000_000_000, 20_000_000_000], [20_000_000_000; 2]);
        let pods = Offered { down: offered.up, pods: Some((1, &core, &whole)), ..offered }.loads().unwrap();
        assert!(near(pods.wire_of_available, 1621.0 / 625.0) && pods.overloaded, "{pods:?}");
        let within = Offered { down: offered.up, pods: Some((2, &core[..1], &whole[..1])), ..offered }.loads().unwrap();
        assert_eq!(within, healthy, "all of it stays in a pod");
        let cut_off = Offered { up: &[20_000_000_000, 0], ..offered }.loads().unwrap();
        assert!(cut_off.wire_of_available.is_infinite() && cut_off.overloaded);
    }

    #[test]
    fn flows_at_one_instant_or_within_a_rack_have_no_load() {
        let fabric = Fabric::new(2, 2, 1);
        let places = fabric.places();
        let offered = |flows| Offered {
            flows,
            interval: arrival_interval(flows, u64::MAX),
            mss: 1000,
            header: 40,
            ack: 60,
            places: &places,
            up: &fabric.uplinks,
            down: &[0, 0],
            pods: None,
        };
        let at_once = [flow(0, 2, 5, 7), flow(1, 3, 5, 7)];
        let within = [flow(0, 1, 5, 70), flow(1, 0, 5, 30)];
        assert_eq!(offered(&at_once).loads(), None);
        assert_eq!(offered(&[]).loads(), None);
        assert_eq!(arrival_interval(&within, u64::MAX), Span(40));
        let largest = within.iter().map(|flow| flow.size).max().expect("there are flows");
        assert_eq!(arrival_interval(&within, largest * 8 * 1_000_000_000_000 / 41), Span::ZERO, "it takes 41 ps");
        assert_eq!(offered(&within).loads(), Some(Loads::default()));
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
        let offered = Offered {
            flows: &flows,
            interval: Span::from_ms(50),
            mss: 1400,
            header: 54,
            ack: 0,
            places: &places,
            up: &fabric.uplinks,
            down: &fabric.uplinks,
            pods: None,
        };
        let data = offered.loads().unwrap();
        let all = Offered { ack: 54, ..offered }.loads().unwrap();
        // Four sigma of a compound Poisson sum of these sizes.
        let squares: f64 = flows.iter().map(|flow| (flow.size as f64).powi(2)).sum();
        let bytes: f64 = flows.iter().map(|flow| flow.size as f64).sum();
        assert!((data.payload_of_nominal / 0.7 - 1.0).abs() < 4.0 * squares.sqrt() / bytes, "{data:?}");
        let weight = |loads: Loads| loads.wire_of_nominal / loads.payload_of_nominal;
        assert!((weight(data) - 1.17).abs() < 0.02, "{}", weight(data));
        assert!((weight(all) - 1.34).abs() < 0.04, "{}", weight(all));
        assert!(all.wire_of_available >= all.wire_of_nominal);
    }

    /// The load of conweave-ns3: its runner hands the load over the oversubscription to a generator that fills each host's
    /// link with it, to all other hosts, the own rack included. That is the load of the leaf's uplinks here.
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

        let offered = Offered {
            flows: &flows,
            interval: Span::from_ms(40),
            mss: 1000,
            header: 48,
            ack: 60,
            places: &places,
            up: &fabric.uplinks,
            down: &fabric.uplinks,
            pods: None,
        };
        let loads = offered.loads().unwrap();
        let (bytes, squares) =
            flows.iter().fold((0.0, 0.0), |(b, s), flow| (b + flow.size as f64, s + (flow.size as f64).powi(2)));
        let sigma = squares.sqrt() / bytes;
        // 112 of the 127 receivers are in other racks.
        let expected = 0.8 * 112.0 / 127.0;
        assert!((loads.payload_of_nominal / expected - 1.0).abs() < 4.0 * sigma, "{loads:?}");
        let rate = bytes * 8.0 / 0.04;
        assert!((rate / (0.4 * 128.0 * 10e9) - 1.0).abs() < 4.0 * sigma, "{rate}");
        // On the wire: what packets of these sizes weigh, counted one by one.
        let far = flows.iter().filter(|flow| flow.src / 16 != flow.dst / 16);
        let wire: u64 = far.map(|flow| flow.size + flow.size.div_ceil(1000) * (48 + 60)).sum();
        let share = wire as f64 * 8.0 / 0.04 / (64.0 * 10e9);
        assert!((loads.wire_of_nominal - share).abs() < 1e-9, "{loads:?} {share}");
        // No leaf has more than is offered, and the worst has more than the mean of all.
        assert!(loads.wire_of_available >= loads.wire_of_nominal && loads.wire_of_available < 1.5, "{loads:?}");
    }
}
