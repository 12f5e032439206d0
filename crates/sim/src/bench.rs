//! The speed of the engine, as ratios: every case is interleaved with a reference loop of fixed work, because machines
//! differ and other processes add noise.
//!
//! The reference is the work that no packet simulator can avoid per packet-hop: one event held in a heap, one line of a
//! packet buffer and one line of port state read and written.

mod decisions;

use crate::packet::Packet;
use crate::ring::Ring;
use crate::setup::{Setup, Tuning, simulate};
use crate::spec::resolve;
use serde_json::{Value, json};
use spinewise_policy::Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZero;
use std::time::Instant;

/// A case: its name and the spec it runs.
struct Case {
    name: &'static str,
    fabric: Fabric,
    work: Work,
}

/// The fabric of a case: all links at 100 Gbps and 1 us.
#[derive(Clone, Copy)]
enum Fabric {
    /// Leaves, spines, hosts of a leaf.
    LeafSpine(u32, u32, u32),
    /// A fat-tree of this many ports a switch.
    FatTree(u32),
}

impl Fabric {
    fn hosts(self) -> u32 {
        match self {
            Fabric::LeafSpine(leaves, _, hosts_per_leaf) => leaves * hosts_per_leaf,
            Fabric::FatTree(k) => k * k * k / 4,
        }
    }

    fn table(self) -> Value {
        match self {
            Fabric::LeafSpine(leaves, spines, hosts_per_leaf) => json!({
                "leaves": leaves, "spines": spines, "hosts_per_leaf": hosts_per_leaf,
                "host_rate_gbps": 100.0, "fabric_rate_gbps": 100.0, "host_delay_ns": 1000, "fabric_delay_ns": 1000,
            }),
            Fabric::FatTree(k) => json!({
                "kind": "fat_tree", "k": k,
                "host_rate_gbps": 100.0, "fabric_rate_gbps": 100.0, "core_rate_gbps": 100.0,
                "host_delay_ns": 1000, "fabric_delay_ns": 1000, "core_delay_ns": 1000,
            }),
        }
    }
}

/// The work of a case, at full length.
#[derive(Clone, Copy)]
enum Work {
    /// DCTCP, every host to one other, packets sprayed, receivers tolerant of reordering: 4 KB packets on a non-blocking
    /// fabric. K is 16 packets, four times C·RTT/7.
    Spray {
        /// Payload of each flow of the permutation, in bytes.
        size: u64,
    },
    /// RDMA with priority flow control under ECMP, in the setting of SELB's evaluation: 1 KB packets, flow sizes of
    /// AliStorage.
    Lossless {
        /// Length of the Poisson arrivals, which load the links of the hosts to a quarter.
        arrivals_us: f64,
    },
    /// Ultra Ethernet, every host to one other, over recycled entropy values: 4 KB packets, an answer to each (source:
    /// uet-htsim, `-load_balancing_algo reps -sack_threshold 4000`).
    Values {
        /// Payload of each flow of the permutation, in bytes.
        size: u64,
    },
}

const CASES: &[Case] = &[
    Case { name: "dctcp_spray_128", fabric: Fabric::LeafSpine(8, 16, 16), work: Work::Spray { size: 260_000_000 } },
    Case { name: "dctcp_spray_1024", fabric: Fabric::LeafSpine(32, 32, 32), work: Work::Spray { size: 26_000_000 } },
    Case {
        name: "rdma_lossless_128",
        fabric: Fabric::LeafSpine(8, 8, 16),
        work: Work::Lossless { arrivals_us: 10_000.0 },
    },
    Case { name: "uet_reps_1024", fabric: Fabric::FatTree(16), work: Work::Values { size: 16_000_000 } },
];

impl Case {
    fn spec(&self, share: f64) -> Value {
        let mut spec = match self.work {
            Work::Spray { size } => json!({
                "preset": "datacenter",
                "switch": {"buffer_bytes": 1_000_000, "ecn_threshold_bytes": 65_536},
                "transport": {"kind": "dctcp", "mss_bytes": 4056, "header_bytes": 40, "ack_bytes": 64,
                    "dupack_threshold": 0, "min_rto_us": 10_000.0},
                "scheme": {"name": "rps"},
                "traffic": [{"kind": "permutation", "size_bytes": (size as f64 * share) as u64, "inter_rack": true}],
            }),
            Work::Lossless { arrivals_us } => json!({
                "preset": "selb",
                "scheme": {"name": "ecmp"},
                "traffic": [{"kind": "poisson", "cdf": "ali_storage", "load": 0.25, "load_of": "host_links",
                    "pairs": "any", "duration_us": arrivals_us * share}],
            }),
            Work::Values { size } => json!({
                "preset": "uet-htsim",
                "transport": {"ack_every_bytes": 4000},
                "scheme": {"name": "reps"},
                "traffic": [{"kind": "permutation", "size_bytes": (size as f64 * share) as u64}],
            }),
        };
        spec["name"] = self.name.into();
        spec["topology"] = self.fabric.table();
        spec
    }
}

/// One measurement of one case.
#[derive(Clone, Copy, Debug)]
struct Measured {
    seconds: f64,
    hops: u64,
    events: u64,
}

/// Runs the cases whose name contains `only` (and, if asked for by name, `packet_size` or `decisions`), `rounds` times
/// each, at `share` of their full length (1 takes at least 3 s a round on a fast core). Returns the list that `spinewise
/// bench --json` prints; the best round counts. Large cases are run by all processors too. `reference` runs nothing but the
/// reference loop, once.
///
/// # Panics
/// If a case retransmits: then it measured something else.
pub fn run(only: &str, rounds: u32, share: f64) -> Value {
    if only == "reference" {
        return json!([{ "name": only, "reference_ns": reference_ns(3.0 * share) }]);
    }
    let chosen: Vec<&Case> = CASES.iter().filter(|case| case.name.contains(only)).collect();
    // Measured before anything else has run, so that no freed memory hides their use.
    let idle: Vec<u64> = chosen.iter().map(|case| idle_host_bytes(case)).collect();
    let by_threads = chosen.iter().zip(idle).flat_map(|(case, idle)| threads_for(case).map(move |n| (case, (n, idle))));
    let mut list: Vec<Value> = by_threads.map(|(case, by)| run_case(case, by, rounds.max(1), share)).collect();
    if only.contains("decisions") {
        list.extend(decisions::run(rounds.max(1), share, || reference_ns(0.01 * share)));
    }
    if only.contains("packet_size") {
        list.push(packet_size::<Half>(rounds.max(1), share));
        list.push(packet_size::<Packet>(rounds.max(1), share));
    }
    Value::Array(list)
}

/// Hosts of a case that is worth more than one thread.
const LARGE: u32 = 1000;

/// Returns the numbers of threads that a case is run with.
fn threads_for(case: &Case) -> impl Iterator<Item = usize> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let all = (case.fabric.hosts() >= LARGE && processors > 1).then_some(processors);
    std::iter::once(1).chain(all)
}

/// A packet of half a cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Half {
    _words: [u64; 4],
}

/// Measures the cost of a packet's size by itself: packets go from one ring to a random other, three from each of 512
/// rings a turn, as they do in a window of the 128-host case; nothing else is done.
#[allow(clippy::disallowed_methods)]
fn packet_size<P: Copy + Default>(rounds: u32, share: f64) -> Value {
    const LINKS: u32 = 512;
    let turns = (40_000.0 * share) as u64;
    let (mut best, mut reference, mut hops) = (f64::INFINITY, f64::INFINITY, 0u64);
    for _ in 0..rounds {
        reference = reference.min(reference_ns(3.0 * share));
        let mut rng = Rng::stream(1, "packet size", 0);
        let mut rings: Vec<Ring<P>> = (0..LINKS).map(|_| Ring::default()).collect();
        for ring in &mut rings {
            (0..12).for_each(|_| *ring.push() = P::default());
        }
        hops = 0;
        let mut packet = P::default();
        let began = Instant::now();
        for _ in 0..turns {
            for link in 0..LINKS as usize {
                for _ in 0..3 {
                    if rings[link].is_empty() {
                        break;
                    }
                    rings[link].pop_into(&mut packet);
                    *rings[rng.below(LINKS) as usize].push() = packet;
                    hops += 1;
                }
            }
        }
        best = best.min(began.elapsed().as_secs_f64());
    }
    json!({
        "name": format!("packet_size_{}", size_of::<P>()),
        "hosts": 128,
        "packet_hops": hops,
        "seconds": best,
        "packet_hops_per_s": hops as f64 / best,
        "events_per_packet_hop": 0.0,
        "reference_ns": reference,
        "ns_per_packet_hop": best * 1e9 / hops as f64,
        "ratio_to_reference": best * 1e9 / hops as f64 / reference,
        "idle_host_bytes": 0,
        "peak_rss_mb": peak_memory_mb(),
    })
}

fn run_case(case: &Case, (threads, idle): (usize, u64), rounds: u32, share: f64) -> Value {
    let hosts = case.fabric.hosts();
    let (mut best, mut reference) = (f64::INFINITY, f64::INFINITY);
    let mut last = Measured { seconds: 0.0, hops: 0, events: 0 };
    reset_peak_memory();
    for _ in 0..rounds {
        reference = reference.min(reference_ns(3.0 * share));
        last = measure(case, threads, share);
        best = best.min(last.seconds);
    }
    json!({
        "name": case.name,
        "hosts": hosts,
        "threads": threads,
        "packet_hops": last.hops,
        "seconds": best,
        "packet_hops_per_s": last.hops as f64 / best,
        "events_per_packet_hop": last.events as f64 / last.hops as f64,
        "reference_ns": reference,
        "ns_per_packet_hop": best * 1e9 / last.hops as f64,
        "ratio_to_reference": best * 1e9 / last.hops as f64 / reference,
        "idle_host_bytes": idle,
        "peak_rss_mb": peak_memory_mb(),
    })
}

#[allow(clippy::disallowed_methods)] // this module measures wall time; it decides no result
fn measure(case: &Case, threads: usize, share: f64) -> Measured {
    let spec = resolve(&case.spec(share)).unwrap_or_else(|error| panic!("the bench's own spec is refused: {error}"));
    let began = Instant::now();
    let tuning = Tuning { threads, ..Tuning::default() };
    let outcome = simulate(&spec, tuning, &mut |_| true).unwrap_or_else(|failure| panic!("{failure:?}"));
    let seconds = began.elapsed().as_secs_f64();
    let retransmits: u32 = outcome.records.iter().map(|record| record.retransmits).sum();
    assert_eq!(retransmits, 0, "a case that retransmits measures something else");
    assert!(outcome.records.iter().all(|record| record.fct > 0), "a flow did not finish");
    Measured {
        seconds,
        hops: outcome.report["packet_hops"].as_u64().unwrap_or(0),
        events: outcome.report["events"].as_u64().unwrap_or(0),
    }
}

/// Nanoseconds per turn of the reference loop: replace-top hold on a heap of 512, a random line of 1 MiB and one of
/// 64 KiB read and written.
#[allow(clippy::disallowed_methods)]
fn reference_ns(seconds: f64) -> f64 {
    const TURNS: u64 = 1 << 20;
    let mut rng = Rng::stream(1, "reference", 0);
    let mut heap: BinaryHeap<Reverse<(u64, u32)>> = (0..512).map(|n| Reverse((rng.bits() >> 40, n))).collect();
    let mut packets = vec![[0u64; 8]; (1 << 20) / 64];
    let mut ports = vec![[0u64; 8]; (1 << 16) / 64];
    let began = Instant::now();
    let mut turns = 0;
    while began.elapsed().as_secs_f64() < seconds {
        turns += TURNS;
        for _ in 0..TURNS {
            let bits = rng.bits();
            if let Some(mut top) = heap.peek_mut() {
                top.0.0 += 1 + (bits >> 44);
            }
            let packet = &mut packets[(bits as usize >> 8) % ((1 << 20) / 64)];
            packet.iter_mut().for_each(|word| *word = word.wrapping_add(bits));
            let port = &mut ports[(bits as usize >> 30) % ((1 << 16) / 64)];
            port.iter_mut().for_each(|word| *word = word.wrapping_add(packet[0]));
        }
    }
    let spent = began.elapsed().as_secs_f64();
    assert!(std::hint::black_box(&ports).iter().any(|line| line[0] != 0));
    spent * 1e9 / turns as f64
}

/// Bytes that a host without traffic takes, with its leaf's ports: the memory of a network in which two hosts talk.
fn idle_host_bytes(case: &Case) -> u64 {
    let mut spec = case.spec(1.0);
    spec["traffic"] = json!([{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 1, "start_ns": 0}]}]);
    let spec = resolve(&spec).unwrap_or_else(|error| panic!("the bench's own spec is refused: {error}"));
    let before = memory_kb("VmRSS:");
    let Setup { net, start, .. } = Setup::new(&spec, Tuning::default())
        .unwrap_or_else(|error| panic!("the bench's own spec does not fit: {error}"));
    let sim = crate::engine::Sim::new(&net, start);
    let after = memory_kb("VmRSS:");
    drop(sim);
    after.saturating_sub(before) * 1024 / u64::from(case.fabric.hosts())
}

fn memory_kb(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kb| kb.parse().ok()).unwrap_or(0)
}

/// Peak resident memory since the last reset, MB.
fn peak_memory_mb() -> f64 {
    memory_kb("VmHWM:") as f64 / 1024.0
}

/// Linux resets the peak when 5 is written here; elsewhere the peak is that of the whole process.
fn reset_peak_memory() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
