//! Random specs: any network that can be described, made to fit where one part refuses another.

use crate::common::{CONTROLS, switch_schemes};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use spinewise_sim::bank::{Entry, REGISTRY};
use spinewise_sim::setup::{Setup, Tuning};
use spinewise_sim::spec::sizing::least_buffer;
use spinewise_sim::spec::{EngineKind, Stop, resolve};

/// Gbps: whole picoseconds per byte, remainders, slow and fast.
const RATES: [f64; 9] = [0.7, 1.0, 2.5, 3.0, 6.0, 10.0, 25.0, 40.0, 100.0];

fn rate() -> impl Strategy<Value = f64> {
    select(&RATES[..])
}

/// Links without delay are rare: only one of the engines runs them.
fn delay_ns() -> impl Strategy<Value = f64> {
    prop_oneof![
        1 => Just(0.0),
        12 => (1u32..5000).prop_map(f64::from),
        2 => (1u32..5_000_000).prop_map(|ps| f64::from(ps) / 1000.0),
        2 => (5_000u32..100_000).prop_map(f64::from),
    ]
}

/// Counts of a small leaf-spine.
#[derive(Clone, Copy, Debug)]
struct Size {
    leaves: u32,
    spines: u32,
    hosts_per_leaf: u32,
    parallel: u32,
}

impl Size {
    fn hosts(self) -> u32 {
        self.leaves * self.hosts_per_leaf
    }
}

fn size() -> impl Strategy<Value = Size> {
    (2u32..=4, 1u32..=4, 1u32..=4, prop_oneof![3 => Just(1u32), 1 => 2u32..=3])
        .prop_map(|(leaves, spines, hosts_per_leaf, parallel)| Size { leaves, spines, hosts_per_leaf, parallel })
}

/// A change to a link, before the number of links is known: selectors are taken modulo the counts.
#[derive(Clone, Debug)]
struct Change {
    at: [u32; 4],
    selects: (bool, bool, bool),
    of_host: bool,
    direction: &'static str,
    rate: Option<f64>,
    delay: Option<f64>,
    down: bool,
}

fn change() -> impl Strategy<Value = Change> {
    (
        any::<[u16; 4]>(),
        any::<(bool, bool, bool)>(),
        prop::bool::weighted(0.25),
        select(&["both", "up", "down"][..]),
        prop::option::of(rate()),
        prop::option::of(delay_ns()),
        prop::bool::weighted(0.5),
    )
        .prop_map(|(at, selects, of_host, direction, rate, delay, down)| Change {
            at: at.map(u32::from),
            selects,
            of_host,
            direction,
            rate,
            delay,
            down,
        })
}

/// The state of fabric links, by (leaf, spine, parallel link), upwards and downwards.
struct Fabric {
    size: Size,
    up: Vec<bool>,
    down: Vec<bool>,
}

impl Fabric {
    fn new(size: Size) -> Self {
        let links = (size.leaves * size.spines * size.parallel) as usize;
        Fabric { size, up: vec![true; links], down: vec![true; links] }
    }

    fn at(&self, leaf: u32, spine: u32, link: u32) -> usize {
        ((leaf * self.size.spines + spine) * self.size.parallel + link) as usize
    }

    /// Whether every leaf can reach every other by one spine.
    fn connected(&self) -> bool {
        let any = |links: &[bool], leaf, spine| (0..self.size.parallel).any(|p| links[self.at(leaf, spine, p)]);
        (0..self.size.leaves).all(|from| {
            (0..self.size.leaves)
                .all(|to| from == to || (0..self.size.spines).any(|s| any(&self.up, from, s) && any(&self.down, to, s)))
        })
    }

    /// Returns the override for a change; one that would cut leaves off leaves the links up.
    fn apply(&mut self, change: &Change) -> Value {
        let Size { leaves, spines, parallel, .. } = self.size;
        let mut told = json!({"direction": change.direction});
        if let Some(rate) = change.rate {
            told["rate_gbps"] = json!(rate);
        }
        if let Some(delay) = change.delay {
            told["delay_ns"] = json!(delay);
        }
        if change.of_host {
            told["host"] = json!(change.at[3] % self.size.hosts());
            told["up"] = json!(true);
            return told;
        }
        let (leaf, spine, link) = (change.at[0] % leaves, change.at[1] % spines, change.at[2] % parallel);
        let (by_leaf, by_spine, by_link) = change.selects;
        let by_link = by_link || !(by_leaf || by_spine);
        for (name, value, given) in [("leaf", leaf, by_leaf), ("spine", spine, by_spine), ("link", link, by_link)] {
            if given {
                told[name] = json!(value);
            }
        }
        let before = (self.up.clone(), self.down.clone());
        for l in (0..leaves).filter(|&l| !by_leaf || l == leaf) {
            for s in (0..spines).filter(|&s| !by_spine || s == spine) {
                for p in (0..parallel).filter(|&p| !by_link || p == link) {
                    let at = self.at(l, s, p);
                    self.up[at] = if change.direction == "down" { self.up[at] } else { !change.down };
                    self.down[at] = if change.direction == "up" { self.down[at] } else { !change.down };
                }
            }
        }
        let stays = self.connected();
        if !stays {
            (self.up, self.down) = before;
        }
        if stays {
            told["up"] = json!(!change.down);
        } else if change.rate.is_none() && change.delay.is_none() {
            told["rate_gbps"] = json!(10.0);
        }
        told
    }
}

/// A fabric, and its number of hosts.
fn topology() -> impl Strategy<Value = (u32, Value)> {
    prop_oneof![2 => leaf_spine().boxed(), 1 => fat_tree().boxed()]
}

fn leaf_spine() -> impl Strategy<Value = (u32, Value)> {
    let links = (rate(), rate(), delay_ns(), delay_ns(), prop_oneof![3 => Just(0.0), 1 => delay_ns()]);
    (size(), links, prop::collection::vec(change(), 0..4)).prop_map(|(size, links, changes)| {
        let mut fabric = Fabric::new(size);
        let overrides: Vec<Value> = changes.iter().map(|change| fabric.apply(change)).collect();
        let topology = json!({
            "leaves": size.leaves, "spines": size.spines, "hosts_per_leaf": size.hosts_per_leaf,
            "parallel_links": size.parallel, "host_rate_gbps": links.0, "fabric_rate_gbps": links.1,
            "host_delay_ns": links.2, "fabric_delay_ns": links.3, "switch_latency_ns": links.4, "override": overrides,
        });
        (size.hosts(), topology)
    })
}

/// Three tiers of any counts, links of any speed. At most one cable is down, so the remaining paths still go up and
/// then down; if it would cut hosts off, [`made_to_fit`] leaves it up.
fn fat_tree() -> impl Strategy<Value = (u32, Value)> {
    let counts = (1u32..=3, 1u32..=3, 1u32..=4, 1u32..=2, 1u32..=3);
    let rates = (rate(), rate(), rate());
    let delays = (delay_ns(), delay_ns(), delay_ns(), prop_oneof![3 => Just(0.0), 1 => delay_ns()]);
    let changes = (prop::option::of(any::<[u16; 3]>()), prop::option::of((any::<u16>(), rate(), delay_ns())));
    (counts, rates, delays, changes).prop_map(|((pods, leaves, columns, cores, hosts), rates, delays, changes)| {
        let leaves = if pods == 1 { leaves.max(2) } else { leaves };
        let mut overrides = vec![];
        if let Some((which, rate, delay)) = changes.1 {
            let aggregation = u32::from(which) % (pods * columns);
            overrides.push(json!({"aggregation": aggregation, "rate_gbps": rate, "delay_ns": delay}));
        }
        if let Some([below, column, core]) = changes.0 {
            let (leaf, column) = (u32::from(below) % (pods * leaves), u32::from(column) % columns);
            let aggregation = leaf / leaves * columns + column;
            overrides.push(match core % 2 {
                0 => json!({"leaf": leaf, "aggregation": aggregation, "up": false}),
                _ => json!({"core": column * cores + u32::from(core) % cores, "aggregation": aggregation, "up": false}),
            });
        }
        let topology = json!({
            "kind": "fat_tree", "pods": pods, "leaves_per_pod": leaves, "aggregations_per_pod": columns,
            "cores_per_aggregation": cores, "hosts_per_leaf": hosts, "host_rate_gbps": rates.0,
            "fabric_rate_gbps": rates.1, "core_rate_gbps": rates.2, "host_delay_ns": delays.0,
            "fabric_delay_ns": delays.1, "core_delay_ns": delays.2, "switch_latency_ns": delays.3,
            "override": overrides,
        });
        (pods * leaves * hosts, topology)
    })
}

fn switch() -> impl Strategy<Value = Value> {
    prop_oneof![3 => output_queues().boxed(), 1 => shared_buffer().boxed(), 2 => trimming().boxed()]
}

/// Queues that trim, or only drop; some with little room for headers.
fn trimming() -> impl Strategy<Value = Value> {
    let sizes = (9_100u32..200_000, prop_oneof![3 => Just(None), 1 => (64u32..20_000).prop_map(Some)], 20u32..300);
    let marks = (0u32..40_000, 0u32..80_000, 0.0f64..1.0, any::<bool>());
    (sizes, marks, prop::bool::weighted(0.8)).prop_map(|((buffer, control, left), (min, more, most, last), trim)| {
        let mut switch = json!({
            "model": "trimming", "buffer_bytes": buffer, "trim": trim, "trimmed_bytes": left, "ecn_min_bytes": min,
            "ecn_max_bytes": min + more, "ecn_max_probability": most, "mark_last_hop": last,
        });
        if let Some(control) = control {
            switch["control_bytes"] = json!(control);
        }
        switch
    })
}

/// Ultra Ethernet, with every congestion control, with and without credit.
fn uet() -> impl Strategy<Value = Value> {
    let frame = (select(&[400u32, 1000, 4086, 4086, 9000][..]), 1u32..80, 1u32..100);
    let rest = (select(&[1u32, 4_000, 16_384][..]), 30u32..2_000, any::<bool>(), select(&[1.0, 0.2][..]));
    let recovery = (select(&["timeout", "sleek"][..]), prop_oneof![2 => Just(None), 1 => (1u32..4).prop_map(Some)]);
    (frame, rest, recovery, select(&CONTROLS[2][..])).prop_map(|(frame, rest, (recovery, connections), control)| {
        let ((mss, header, ack), (every, rto, credit, least)) = (frame, rest);
        json!({
            "kind": "uet", "congestion_control": control, "mss_bytes": mss, "header_bytes": header, "ack_bytes": ack,
            "ack_every_bytes": every, "rto_us": rto, "receiver_credit": credit || control == "none", "pull_least": least,
            "recovery": if control == "none" { "timeout" } else { recovery }, "connections": connections,
        })
    })
}

/// One buffer for all ports. Its size is in thousandths of the minimum that the fabric allows: see [`made_to_fit`].
fn shared_buffer() -> impl Strategy<Value = Value> {
    let pfc = (prop::bool::weighted(0.75), 1u32..=7, select(&["above_threshold", "pool_full"][..]));
    let rare = |usual: &'static str, other: &'static str| prop_oneof![7 => Just(usual), 1 => Just(other)];
    let ns3 = (rare("without_pfc", "always"), rare("timer", "packets"));
    let alpha = || select(&[1e-6, 0.01, 0.0625, 1.0, 8.0][..]);
    let few = || prop_oneof![2 => Just(0u32), 1 => 0u32..3_000, 1 => 0u32..20_000];
    let shares = (alpha(), alpha(), few(), few(), 0u32..3, 0u32..3000);
    let rest = (prop_oneof![Just(0u32), 5u32..400], 1u32..200, 0u32..20_000, 0u32..60_000, 0.0f64..1.0, 1000u32..2000);
    (pfc, ns3, shares, rest).prop_map(|((pfc, priorities, headroom_use), ns3, shares, rest)| {
        json!({
            "model": "shared_buffer", "pfc": pfc, "priorities": priorities, "headroom_use": headroom_use,
            "egress_threshold": ns3.0, "pause_renewal": ns3.1,
            "egress_alpha": shares.0, "ingress_alpha": shares.1, "guaranteed_bytes": shares.2,
            "pause_offset_bytes": shares.3, "reserved_packets": shares.4, "resume_offset_bytes": shares.5,
            "pause_us": rest.0, "pause_frame_bytes": rest.1, "ecn_min_bytes": rest.2, "ecn_max_bytes": rest.2 + rest.3,
            "ecn_max_probability": rest.4, "buffer_bytes": rest.5,
        })
    })
}

fn output_queues() -> impl Strategy<Value = Value> {
    let buffer = prop_oneof![
        3 => (1u32..20).prop_map(|n| ("buffer_packets", n)),
        1 => (20u32..300).prop_map(|n| ("buffer_packets", n)),
        2 => (9100u32..400_000).prop_map(|n| ("buffer_bytes", n))
    ];
    let threshold = prop_oneof![
        (0u32..20).prop_map(|n| ("ecn_threshold_packets", n)),
        (0u32..60_000).prop_map(|n| ("ecn_threshold_bytes", n))
    ];
    let words = (select(&["enqueue", "dequeue"][..]), select(&["waiting", "in_service"][..]));
    let device = (prop_oneof![Just(0u32), 1u32..15], select(&["pull", "queue"][..]));
    (buffer, threshold, words, select(&["fifo", "commit_at_start"][..]), device).prop_map(
        |(buffer, threshold, words, ports, device)| {
            let mut switch = json!({"ecn_at": words.0, "queue_counts": words.1, "ports": ports});
            if words == ("enqueue", "waiting") {
                switch["device_queue_packets"] = json!(device.0);
            }
            if words.0 == "enqueue" {
                switch["nics"] = json!(device.1);
            }
            switch[buffer.0] = json!(buffer.1);
            switch[threshold.0] = json!(threshold.1);
            switch
        },
    )
}

fn transport() -> impl Strategy<Value = Value> {
    let tcp = (tcp(), resequencing()).prop_map(|(tcp, mut resequencing)| {
        if tcp["kind"] == "mptcp" {
            resequencing["resequencing"] = json!("off");
        }
        crate::common::merged(&tcp, &resequencing)
    });
    prop_oneof![4 => tcp, 2 => rdma(), 3 => uet()]
}

/// Receivers that hold data back below TCP: every second one, some also for in-order data, some with little room.
fn resequencing() -> impl Strategy<Value = Value> {
    let some = |most: u32| prop_oneof![2 => Just(0u32), 1 => 1..most];
    (select(&["off", "on", "periodic"][..]), some(20), 20u32..500, some(60_000)).prop_map(|(whether, in_order, timeout, limit)| {
        json!({
            "resequencing": whether, "resequencing_in_order_us": in_order, "resequencing_timeout_us": timeout,
            "resequencing_limit_bytes": limit, "resequencing_period_us": 1 + timeout / 9, "resequencing_at_once_bytes": limit,
        })
    })
}

fn rdma() -> impl Strategy<Value = Value> {
    let frame = (select(&[400u32, 1000, 1000, 4000, 9000][..]), 0u32..80, 1u32..100);
    let losses = (0u32..10, 100u32..1000, prop_oneof![Just(0u32), 1u32..20], any::<bool>());
    let dcqcn = (1u32..60, prop_oneof![Just(0u32), 1u32..50], 5u32..300, prop_oneof![Just(0u32), 2_000u32..200_000]);
    let words = (select(&["go_back_n", "irn"][..]), select(&["exact", "floor_1ns"][..]), any::<bool>(), 0u32..60);
    let pairs = (prop::option::weighted(0.3, 1u32..5), select(&["round_robin", "split"][..]));
    let words = (words, (select(&CONTROLS[1][..]), pairs));
    (frame, losses, dcqcn, words).prop_map(
        |(
            (mss, header, ack),
            (nack, rto, window, ooo),
            (alpha, cut, rise, bytes),
            ((recovery, rounding, clamp, cnp), (control, (pairs, used))),
        )| {
            let mut transport = json!({
                "kind": "rdma", "congestion_control": control, "mss_bytes": mss, "header_bytes": header, "ack_bytes": ack, "recovery": recovery,
                "nack_interval_us": nack, "rto_us": rto, "rto_low_us": rto / 2, "rto_high_us": rto,
                "window_bytes": window * mss, "ooo_cnp": ooo, "cnp_interval_us": cnp, "pacing_rounding": rounding,
            });
            let dcqcn = json!({
                "dcqcn_alpha_timer_us": alpha, "dcqcn_decrease_interval_us": cut, "dcqcn_increase_timer_us": rise,
                "dcqcn_byte_counter_bytes": bytes, "dcqcn_clamp_target": clamp,
            });
            if let Some(pairs) = pairs {
                transport = crate::common::merged(&transport, &json!({"queue_pairs": pairs, "queue_pair_use": used}));
            }
            if control == "dcqcn" {
                transport = crate::common::merged(&transport, &dcqcn);
            }
            transport
        },
    )
}

/// Each congestion control of TCP, with each recovery it goes with; MPTCP more often.
fn kinds() -> Vec<(String, &'static str)> {
    let recoveries = |kind: &str| match kind {
        "reno" => &["reno"][..],
        "newreno" | "mptcp" => &["newreno", "sack", "rack"],
        _ => &["newreno", "reno", "sack", "rack"],
    };
    let all = CONTROLS[0].iter().map(String::as_str).chain(["mptcp"]);
    all.flat_map(|kind| recoveries(kind).iter().map(move |&recovery| (kind.to_string(), recovery))).collect()
}

fn tcp() -> impl Strategy<Value = Value> {
    let segment = (select(&[400u32, 1460, 1460, 4000, 9000][..]), 0u32..80, 1u32..100);
    let windows = (1u32..20, prop_oneof![Just(0u32), 20u32..64], prop_oneof![Just(0u32), 2u32..32]);
    let acks = (1u32..4, 1u32..500, prop_oneof![1 => Just(0u32), 3 => 1u32..5]);
    let bursts = prop_oneof![2 => Just(0u32), 1 => 1u32..5];
    let opening =
        (prop::bool::weighted(0.3), 1u32..100, 20u32..2000, any::<bool>(), bursts, any::<(bool, bool, bool)>());
    let mptcp = (1u32..=8, select(&["charged", "free"][..]));
    (select(kinds()), segment, windows, acks, 100u32..2000, (opening, mptcp)).prop_map(
        |(
            (kind, recovery),
            (mss, header, ack),
            (initial, most, ssthresh),
            (delayed, timeout, dupacks),
            rto,
            (opening, (subflows, options)),
        )| {
            let subflows = if kind == "mptcp" { subflows } else { 1 };
            json!({
                "kind": kind, "recovery": recovery, "mss_bytes": mss, "header_bytes": header, "ack_bytes": ack,
                "initial_window_segments": initial, "max_window_segments": most, "initial_ssthresh_segments": ssthresh,
                "delayed_ack_segments": if kind == "swift" { 1 } else { delayed }, "delayed_ack_timeout_us": timeout, "dupack_threshold": dupacks,
                "min_rto_us": rto, "initial_rto_us": 2 * rto, "max_rto_us": 8 * rto,
                "handshake": opening.0, "syn_bytes": opening.1, "syn_timeout_us": opening.2,
                "limited_transmit": opening.5.0, "ack_duplicates": opening.5.1, "hold_after_mark": opening.5.2,
                "fin": opening.3, "max_burst_segments": opening.4, "subflows": subflows, "mptcp_options": options,
            })
        },
    )
}

/// A scheme of the registry, and for those at hosts the reading of their tags and the scheme of the fabric. One in ten
/// is drawn among those that use every hook, and three in twenty among those for fat-trees, however many others there
/// are.
fn scheme() -> impl Strategy<Value = Value> {
    let entries: Vec<&Entry> = REGISTRY.iter().collect();
    let loopbacks: Vec<&Entry> = entries.iter().copied().filter(|e| e.name().starts_with("loopback")).collect();
    let in_trees: Vec<&Entry> = entries.iter().copied().filter(|e| e.in_trees).collect();
    let entry = prop_oneof![15 => select(entries), 2 => select(loopbacks), 3 => select(in_trees)];
    (entry, select(&["explicit", "outer", "inner"][..]), select(switch_schemes()), any::<bool>()).prop_map(
        |(entry, tag, fabric, charged)| {
            let mut scheme = json!({"name": entry.name(), "header_bytes": if charged { "charged" } else { "free" }});
            if entry.site == "host" {
                scheme["path_tag"] = json!(tag);
                scheme["fabric"] = json!(fabric);
            }
            scheme
        },
    )
}

/// An entry of the traffic, in a fabric of this many hosts.
fn entry(hosts: u32) -> impl Strategy<Value = Value> {
    let bytes = prop_oneof![1u64..3000, 1000u64..60_000, 50_000u64..200_000];
    let pair = (0..hosts, 1..hosts).prop_map(move |(src, off)| (src, (src + off) % hosts));
    let slow = || select(&RATES[..6]);
    let schedule = prop::collection::vec((1u32..300, prop_oneof![Just(0.0), slow()]), 0..3);
    let udp = (pair.clone(), schedule, (0u32..100, slow()), 200u32..9000, prop::option::of(1u64..300_000), 1u32..500);
    prop_oneof![
        2 => (prop::collection::vec((pair.clone(), bytes.clone(), 0u64..400_000), 1..5)).prop_map(|flows| {
            let list: Vec<Value> = flows.into_iter().map(|((s, d), n, at)| crate::common::flow(s, d, n, at)).collect();
            json!({"kind": "flows", "list": list})
        }),
        2 => udp.prop_map(|((src, dst), steps, (mut at, first), packet, size, end)| {
            let mut schedule = vec![json!({"at_us": at, "rate_gbps": first})];
            for (later, rate) in steps {
                at += later;
                schedule.push(json!({"at_us": at, "rate_gbps": rate}));
            }
            json!({"kind": "udp", "src": src, "dst": dst, "packet_bytes": packet, "schedule": schedule,
                   "size_bytes": size, "end_us": end})
        }),
        1 => (0..hosts, 1..hosts, bytes.clone(), 1u32..3, 0u32..300).prop_map(|(receiver, senders, n, repeat, period)| {
            json!({"kind": "incast", "receiver": receiver, "senders": senders, "size_bytes": n,
                   "repeat": repeat, "period_us": period})
        }),
        1 => (bytes.clone(), any::<bool>(), 0u32..100).prop_map(|(n, inter_rack, start)| {
            json!({"kind": "permutation", "size_bytes": n, "inter_rack": inter_rack, "start_us": start})
        }),
        1 => steps(hosts),
        1 => (1u32..12, bytes, 1.1f64..3.0, select(&["inter_rack", "any", "leaf_pair", "one_to_one"][..])).prop_map(
            |(flows, n, tail, pairs)| {
                json!({"kind": "on_off", "flows": flows, "min_bytes": n.min(20_000), "max_bytes": n.min(20_000) * 4,
                       "tail_index": tail, "pairs": pairs})
            }
        ),
        1 => (1u32..12, 0.1f64..1.2, select(&["inter_rack", "any"][..]), select(&["leaf_uplinks", "host_links"][..]))
            .prop_map(|(flows, load, pairs, of)| {
                json!({"kind": "poisson", "cdf": "ali_storage", "load": load, "pairs": pairs, "load_of": of,
                       "max_flows": flows})
            }),
    ]
}

/// Traffic whose flows wait for each other, among the first few hosts.
fn steps(hosts: u32) -> impl Strategy<Value = Value> {
    let rounds = (1u32..3, 0u32..200, select(&["given", "random"][..]));
    let kind = select(&["all_reduce", "all_to_all", "all_to_all at once", "rpc"][..]);
    (kind, 2..=hosts.min(5), 5u64..40_000, rounds).prop_map(move |(kind, n, bytes, (rounds, gap, order))| match kind {
        "rpc" => json!({"kind": "rpc", "fan_in": n - 1, "size_bytes": bytes, "requests": rounds, "period_us": gap,
                        "request_bytes": bytes % 100}),
        kind => {
            let mut entry = json!({"kind": "all_reduce", "hosts": (0..n).collect::<Vec<_>>(), "size_bytes": bytes,
                                   "rounds": rounds, "gap_us": gap, "order": order});
            if kind != "all_reduce" {
                entry["kind"] = json!("all_to_all");
                entry["concurrent"] = json!(kind != "all_to_all");
            }
            entry
        }
    })
}

fn metrics() -> impl Strategy<Value = Value> {
    let every = |us: u32, sample: u32| json!({"series_interval_us": us, "series_links": "all", "facts": true, "sample_interval_us": sample});
    prop_oneof![
        Just(json!({})),
        Just(json!({"facts": true})),
        (20u32..300).prop_map(|us| json!({"series_interval_us": us})),
        (20u32..300, 1u32..200).prop_map(move |(us, sample)| every(us, sample)),
    ]
}

/// Any small network with traffic; it ends when all flows are done, or at some instant in between.
pub(crate) fn spec(stop: Stop) -> impl Strategy<Value = Value> {
    let word = match stop {
        Stop::FlowsDone => "flows_done",
        Stop::Time => "time",
    };
    let until_us = match stop {
        Stop::FlowsDone => (40_000u32..60_000).boxed(),
        Stop::Time => (1u32..1500).boxed(),
    };
    let other = prop::option::weighted(0.3, prop_oneof![2 => tcp().boxed(), 1 => rdma().boxed()]);
    let rest = (switch(), (transport(), other), scheme(), metrics(), until_us, 1u32..30_000, 0u64..1 << 40);
    (topology().prop_flat_map(|(hosts, topology)| (Just(topology), prop::collection::vec(entry(hosts), 1..4))), rest)
        .prop_map(move |((topology, traffic), (switch, (transport, other), scheme, metrics, until_us, grid_ns, seed))| {
            // RDMA means a shared buffer on present-day hosts, for which keys of output queues are refused.
            let today = seed % 3 == 0 && transport["kind"] != "rdma" && transport["kind"] != "uet";
            let mut switch = switch;
            if switch["model"].is_null() {
                switch["model"] = json!("output_queued");
            }
            let traffic = with_another(traffic, &transport, other);
            json!({
                "preset": if today { "linux" } else { "datacenter" },
                "seed": seed, "topology": topology, "switch": switch, "transport": transport, "scheme": scheme,
                "traffic": traffic, "metrics": metrics, "run": {"stop": word, "until_us": until_us, "grid_ns": grid_ns},
            })
        })
}

/// Some entries have another transport than the run's, if neither refuses company.
fn with_another(mut traffic: Vec<Value>, transport: &Value, other: Option<Value>) -> Vec<Value> {
    let stands_alone = |transport: &Value| {
        let kind = &transport["kind"];
        kind == "uet" || kind == "mptcp" || !transport["queue_pairs"].is_null()
    };
    if let Some(other) = other.filter(|other| !stands_alone(other) && !stands_alone(transport)) {
        for entry in traffic.iter_mut().filter(|entry| entry["kind"] != "udp").step_by(2) {
            entry["transport"] = other.clone();
        }
    }
    traffic
}

/// Threads: mostly one, because in so small a run the others wait for each other most of the time.
fn threads() -> impl Strategy<Value = usize> {
    prop_oneof![9 => Just(1usize), 1 => 2usize..5]
}

/// Everything that must not matter.
pub(crate) fn tuning() -> impl Strategy<Value = Tuning> {
    (any::<bool>(), 1u64..60, any::<bool>(), any::<bool>(), threads()).prop_map(
        |(by_events, window_divisor, commit_at_start, all_hooks, threads)| Tuning {
            engine: Some(if by_events { EngineKind::Events } else { EngineKind::Windows }),
            window_divisor,
            commit_at_start,
            all_hooks,
            memory: None,
            threads,
            threads_if_worth: false,
        },
    )
}

/// A scheme whose rows need one meaning of a tag for all hosts refuses the others; one with a header of its own refuses
/// a fabric that writes one too; and one that draws values refuses a fabric that does not hash them: these run with
/// explicit tags, over ECMP. One that waits for ECN echoes refuses transports without them: it then uses delays. One
/// that does not serve the fabric is replaced, except in a fat-tree, which is adapted to it.
pub(crate) fn made_to_fit(mut spec: Value) -> Value {
    let shared = spec["switch"]["model"] == "shared_buffer";
    let thousandths = spec["switch"]["buffer_bytes"].as_u64().unwrap_or_default();
    if shared {
        spec["switch"]["buffer_bytes"] = json!(1u64 << 40);
        let priorities = spec["switch"]["priorities"].as_u64().unwrap_or(1);
        if spec["switch"]["pfc"] == true && priorities > 1 && thousandths.is_multiple_of(2) {
            spec["switch"]["lossy_priorities"] = json!([priorities - 1]);
        }
        for (n, entry) in (0..).zip(spec["traffic"].as_array_mut().expect("a list")) {
            entry["priority"] = json!((n + thousandths) % priorities);
        }
    }
    if resolve(&spec).is_err_and(|error| error.key.starts_with("topology.override")) {
        spec["topology"]["override"].as_array_mut().expect("overrides").pop();
    }
    if spec["switch"]["trim"] != true || spec["transport"]["kind"] != "uet" {
        spec = crate::common::without_trimming(&spec);
    }
    if spec["topology"]["kind"] == "fat_tree" && resolve(&spec).is_err_and(|error| error.unserved) {
        // Links up that make two groups.
        let even = json!({"aggregations_per_pod": 2, "cores_per_aggregation": 2, "override": []});
        spec["topology"] = crate::common::merged(&spec["topology"], &even);
    }
    if resolve(&spec).is_err_and(|error| error.unserved) {
        spec["scheme"]["name"] = json!("packet_scatter");
    }
    for (key, word) in [("path_tag", "explicit"), ("path_tag", "outer"), ("fabric", "ecmp")] {
        if resolve(&spec).is_err_and(|error| error.key == format!("scheme.{key}")) {
            spec["scheme"][key] = json!(word);
        }
    }
    if resolve(&spec).is_err_and(|error| error.key == "scheme.params.signals") {
        spec["scheme"]["params"] = json!({"signals": "rtt"});
    }
    if shared {
        // A pause too short to be renewed lasts until it is ended.
        if resolve(&spec).is_err_and(|error| error.key == "switch.pause_us") {
            spec["switch"]["pause_us"] = json!(0);
        }
        // Thresholds of up to 80 kB must lie below the buffer.
        let least = least_buffer(&crate::common::resolved(&spec)).max(80_001);
        spec["switch"]["buffer_bytes"] = json!((least * thousandths).div_ceil(1000));
    }
    if spec["transport"]["queue_pair_use"] == "split" {
        // A message of fewer bytes than parts.
        let read = resolve(&spec).map(|read| Setup::new(&read, Tuning::default()).map(|_| ()));
        if read.is_ok_and(|setup| setup.is_err()) {
            spec["transport"]["queue_pair_use"] = json!("round_robin");
        }
    }
    spec
}
