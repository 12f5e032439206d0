//! What a run leaves behind: columns for tables, a report, and a hash of all that happened.

use crate::deadlock;
use crate::engine::Sim;
use crate::flows::Record;
use crate::host::keep_account;
use crate::log::{EDGE_SERIES, FABRIC_SERIES, Point, SERIES};
use crate::packet::Packet;
use crate::spec::{Spec, Warning};
use crate::switch::{SharedBuffer, Switch};
use crate::transport::Transport;
use crate::transport::resequencer::Tally;
use crate::workload::FlowSpec;
use crate::workload::load::Loads;
use serde_json::{Value, json};
use spinewise_policy::{Time, hash};

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// 8-bit.
    U8(Vec<u8>),
    /// 16-bit.
    U16(Vec<u16>),
    /// 32-bit.
    U32(Vec<u32>),
    /// 64-bit.
    U64(Vec<u64>),
    /// Floating point.
    F64(Vec<f64>),
}

/// A column: what it is called, in what unit, and what it means.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Type, as numpy calls it; `bool` is stored as 0 or 1 in a byte.
    pub dtype: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Meaning.
    pub meaning: &'static str,
}

pub(crate) const fn column(
    name: &'static str,
    dtype: &'static str,
    unit: &'static str,
    meaning: &'static str,
) -> Column {
    Column { name, dtype, unit, meaning }
}

/// Columns of `flows`: one row per flow, in the order of starting by the clock.
pub const FLOW_COLUMNS: &[Column] = &[
    column("flow", "u32", "", "number of the flow, in the order of starting by the clock"),
    column("src", "u32", "host", "sending host"),
    column("dst", "u32", "host", "receiving host"),
    column("entry", "u8", "", "which [[traffic]] entry it belongs to, from 0"),
    column("tcp", "bool", "", "true: the transport of [transport]; false: UDP"),
    column("size_bytes", "u64", "bytes", "payload to transfer (UDP: bytes on the wire, 0 if without end)"),
    column(
        "start_ps",
        "u64",
        "ps",
        "when the sender had all of it to send; a flow that waits for others: when it started, or, if it never did, the start of its entry",
    ),
    column("finished", "bool", "", "the last missing byte arrived before the run ended"),
    column(
        "fct_ps",
        "u64",
        "ps",
        "flow completion time: from start to the arrival of the last missing byte; 0 if unfinished",
    ),
    column(
        "sender_fct_ps",
        "u64",
        "ps",
        "from start to the acknowledgement of the last byte at the sender; 0 if unfinished or UDP",
    ),
    column(
        "close_fct_ps",
        "u64",
        "ps",
        "from the start to the arrival of the last packet of its closing (transport.fin); 0 if unfinished or not closed",
    ),
    column(
        "ideal_fct_ps",
        "u64",
        "ps",
        "time if all packets left back to back at the rate of the host's link, on the best path, with no queue met; 0 for UDP without end",
    ),
    column("slowdown", "f64", "", "fct_ps / ideal_fct_ps; 0 if unfinished"),
    column("packets", "u32", "packets", "data packets sent, retransmissions included"),
    column("retransmits", "u32", "packets", "data packets sent again"),
    column("timeouts", "u32", "", "expiries of the retransmission timer, that of the SYN included"),
    column("fast_retransmits", "u32", "", "recoveries begun by acknowledgements or RACK's timer, not by a timeout"),
    column("dupack3_events", "u32", "", "times a third duplicate acknowledgement arrived"),
    column("out_of_order", "u32", "packets", "data packets that arrived after a later byte of the flow (not UDP)"),
    column("marks", "u32", "packets", "data packets that arrived marked CE"),
    column("path_changes", "u32", "", "data packets tagged with another path than the one before (host schemes)"),
    column("nacks", "u32", "packets", "NACKs that reached the sender before it was done (RDMA)"),
    column("cnps", "u32", "packets", "congestion notifications that reached the sender before it was done (RDMA)"),
    column(
        "spurious_retransmits",
        "u32",
        "packets",
        "data packets sent again that had arrived, as far as duplicate SACK told (TCP)",
    ),
    column(
        "cut_off",
        "bool",
        "",
        "unfinished, and no path led from one of its hosts to the other and back when the run ended (faults)",
    ),
];

/// Columns of `series`: one row per point, in the order of time, series and entity.
pub const SERIES_COLUMNS: &[Column] = &[
    column("time_ps", "u64", "ps", "end of the interval, or the instant of the event"),
    column("series", "u16", "", "which series: position in series_names of the report"),
    column("entity", "u32", "", "of what: a node by number, or a link by number behind the nodes; names in the report"),
    column("value", "f64", "", "value, in the unit of the series"),
];

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Values of [`FLOW_COLUMNS`]; empty columns when there are more flows than `metrics.keep_flows_up_to`.
    pub flows: Vec<Values>,
    /// Values of [`SERIES_COLUMNS`].
    pub series: Vec<Values>,
    /// Everything else.
    pub report: Value,
    /// Hash of everything that happened: flows, links, series. The same spec gives the same hash.
    pub hash: u64,
    /// What became of each flow.
    pub records: Vec<Record>,
    /// What each flow was.
    pub specs: Vec<FlowSpec>,
}

impl Outcome {
    /// Closes the account of a run that stopped at `stop`.
    pub fn close(spec: &Spec, mut sim: Sim, stop: Time, loads: Option<Loads>) -> Outcome {
        for flow in 0..sim.flows.specs.len() as u32 {
            keep_account(&mut sim.flows, flow);
        }
        debug_assert!(sim.switches.iter().all(Switch::accounts_agree), "a buffer's account");
        let links = links(&mut sim, stop);
        sim.log.points.sort_by_key(|point| (point.time, point.series, point.entity));
        let traffic_hash = sim.flows.traffic_hash;
        let hash = outcome_hash(&sim, &links, stop);
        let ideal = crate::ideal::of_flows(&sim);
        let keep = sim.flows.specs.len() as u64 <= spec.metrics.keep_flows_up_to;
        let mut report = report(&sim, &links, stop, loads);
        if resequences(&sim) {
            let Tally { held, timeouts, overflows } = sim.log.resequenced;
            report["counters"]["resequencing"] =
                json!({"held_packets": held, "timeouts": timeouts, "overflows": overflows});
        }
        let cut_off = cut_off(&sim, stop);
        if !sim.net.faults.is_empty() {
            report["unfinished"] = unfinished(&sim, &cut_off);
        }
        report["warnings"] = spec.warnings.iter().map(Warning::json).collect();
        report["outcome_hash"] = json!(format!("{hash:016x}"));
        report["traffic_hash"] = json!(format!("{traffic_hash:016x}"));
        report["collectives"] = crate::summary::collectives(spec, &sim.flows);
        report["classes"] = crate::summary::classes(&spec.metrics, &sim.flows, &ideal);
        let flows = if keep { flow_columns(&sim, &ideal, &cut_off) } else { Vec::new() };
        let series = series_columns(&sim.log.points);
        Outcome { flows, series, report, hash, records: sim.flows.records, specs: sim.flows.specs }
    }
}

/// What a link has carried.
struct LinkAccount {
    number: u32,
    counters: crate::port::Counters,
    /// Packets lost on it.
    lost: u64,
}

/// Closes all ports at `stop`; what they have promised beyond it never happened.
fn links(sim: &mut Sim, stop: Time) -> Vec<LinkAccount> {
    let mut links = Vec::with_capacity(sim.net.topology.links.len());
    for (id, host) in sim.hosts.iter_mut().enumerate() {
        let counters = host.counters(stop, &sim.net.rules, &mut sim.wires);
        links.push(LinkAccount { number: sim.net.topology.out_number(id as u32, 0), counters, lost: 0 });
    }
    for switch in &mut sim.switches {
        for port in &mut switch.ports {
            let counters = port.finish(stop, &sim.net.rules, &mut sim.wires);
            links.push(LinkAccount { number: port.link, counters, lost: 0 });
        }
    }
    links.sort_by_key(|link| link.number);
    for link in &mut links {
        let (node, port) = sim.net.topology.links[link.number as usize].to;
        let frail = match node.checked_sub(sim.net.topology.hosts) {
            Some(switch) => &sim.switches[switch as usize].frail,
            None => &sim.hosts[node as usize].frail,
        };
        link.lost = frail.as_deref().map_or(0, |frail| frail.lost(port));
    }
    links
}

fn outcome_hash(sim: &Sim, links: &[LinkAccount], stop: Time) -> u64 {
    let mut h = hash::mix2(hash::name("outcome"), stop.0);
    let mut add = |x: u64| h = hash::mix2(h, x);
    for record in &sim.flows.records {
        let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        add(record.fct);
        add(record.sender_fct);
        add(pair(record.packets, record.retransmits));
        add(pair(record.timeouts, record.fast_retransmits));
        add(pair(record.dupack3_events, record.out_of_order));
        add(pair(record.marks, record.path_changes));
        add(pair(record.arrived, record.spurious_retransmits));
        add(record.received);
        if record.close_fct > 0 {
            add(record.close_fct);
        }
        if let Transport::Rdma(_) = sim.net.transport {
            add(pair(record.nacks, record.cnps));
        }
    }
    if !sim.flows.gates.is_empty() {
        sim.flows.specs.iter().for_each(|flow| add(flow.start.0));
    }
    if resequences(sim) {
        let Tally { held, timeouts, overflows } = sim.log.resequenced;
        [held, timeouts, overflows].into_iter().for_each(&mut add);
    }
    for link in links {
        let c = &link.counters;
        for x in [c.packets, c.bytes, c.drops, c.dropped_bytes, c.marks, c.busy.0, c.longest_queue] {
            add(x);
        }
    }
    if !sim.net.faults.is_empty() {
        links.iter().for_each(|link| add(link.lost));
    }
    for point in &sim.log.points {
        add(point.time.0);
        add(u64::from(point.series) << 32 | u64::from(point.entity));
        add(point.value.to_bits());
    }
    h
}

/// Do receivers hold data back below TCP?
fn resequences(sim: &Sim) -> bool {
    matches!(&sim.net.transport, Transport::Tcp(tcp) if tcp.resequencing.is_some())
}

fn flow_columns(sim: &Sim, ideal: &[u64], cut_off: &[bool]) -> Vec<Values> {
    let specs = &sim.flows.specs;
    let records = &sim.flows.records;
    let spec32 = |f: fn(&FlowSpec) -> u32| Values::U32(specs.iter().map(f).collect());
    let of32 = |f: fn(&Record) -> u32| Values::U32(records.iter().map(f).collect());
    let slowdown = |(record, &ideal): (&Record, &u64)| {
        if record.fct == 0 || ideal == 0 { 0.0 } else { record.fct as f64 / ideal as f64 }
    };
    vec![
        Values::U32((0..specs.len() as u32).collect()),
        spec32(|f| f.src),
        spec32(|f| f.dst),
        Values::U8(specs.iter().map(|f| f.entry).collect()),
        Values::U8((0..specs.len() as u32).map(|n| u8::from(sim.flows.is_tcp(n))).collect()),
        Values::U64(specs.iter().map(|f| f.size).collect()),
        Values::U64(specs.iter().map(|f| f.start.0).collect()),
        Values::U8(records.iter().map(|r| u8::from(r.fct != 0)).collect()),
        Values::U64(records.iter().map(|r| r.fct).collect()),
        Values::U64(records.iter().map(|r| r.sender_fct).collect()),
        Values::U64(records.iter().map(|r| r.close_fct).collect()),
        Values::U64(ideal.to_vec()),
        Values::F64(records.iter().zip(ideal).map(slowdown).collect()),
        of32(|r| r.packets),
        of32(|r| r.retransmits),
        of32(|r| r.timeouts),
        of32(|r| r.fast_retransmits),
        of32(|r| r.dupack3_events),
        of32(|r| r.out_of_order),
        of32(|r| r.marks),
        of32(|r| r.path_changes),
        of32(|r| r.nacks),
        of32(|r| r.cnps),
        of32(|r| r.spurious_retransmits),
        Values::U8(cut_off.iter().copied().map(u8::from).collect()),
    ]
}

fn series_columns(points: &[Point]) -> Vec<Values> {
    vec![
        Values::U64(points.iter().map(|p| p.time.0).collect()),
        Values::U16(points.iter().map(|p| p.series).collect()),
        Values::U32(points.iter().map(|p| p.entity).collect()),
        Values::F64(points.iter().map(|p| p.value).collect()),
    ]
}

/// Names of series by number; gaps are empty.
fn series_names(sim: &Sim) -> Vec<String> {
    let mut names: Vec<String> = SERIES.iter().map(|(name, _)| (*name).into()).collect();
    let mut scheme = |from: u16, bank: Option<&crate::bank::Bank>| {
        let Some(bank) = bank else { return };
        names.resize(usize::from(from), String::new());
        let about = bank.about();
        names.extend(about.series.iter().map(|(name, _)| format!("{}.{name}", about.name)));
    };
    scheme(EDGE_SERIES, sim.edge.as_ref());
    scheme(FABRIC_SERIES, Some(&sim.fabric));
    names
}

fn report(sim: &Sim, links: &[LinkAccount], stop: Time, loads: Option<Loads>) -> Value {
    let topology = &sim.net.topology;
    let log = &sim.log;
    let deadlock = deadlock::is_possible(sim).then(|| deadlock::find(sim, stop)).flatten();
    let entities: Vec<String> = (0..topology.nodes())
        .map(|node| topology.node_name(node))
        .chain((0..topology.links.len() as u32).map(|link| topology.link_name(link)))
        .collect();
    let in_flight = in_network(sim);
    let account = |a: crate::log::Account| json!({ "packets": a.packets, "bytes": a.bytes });
    let most = sim.switches.iter().filter_map(|switch| switch.buffer.as_deref()).map(SharedBuffer::most);
    let finished = sim.flows.records.iter().filter(|r| r.fct != 0).count();
    json!({
        "seed": sim.net.seed,
        "stop_ps": stop.0,
        "events": log.events,
        "packet_hops": sim.wires.hops,
        "flows": sim.flows.specs.len(),
        "finished": finished,
        "totals": totals(sim),
        "counters": {
            "created": account(log.created),
            "delivered": account(log.delivered),
            "dropped": account(log.dropped),
            "lost": account(log.lost),
            "lost_in_switches": log.lost_in_switches,
            "consumed": account(log.consumed),
            "in_network_at_stop": account(in_flight),
            "acks": account(log.acks),
            "handshakes": account(log.handshakes),
            "probes": account(log.probes),
            "messages": account(log.messages),
            "pause_frames": account(log.pauses),
            "lossless_drops": if sim.net.is_lossless() { log.dropped.packets - log.unroutable } else { 0 },
            "most_buffer_bytes": most.clone().map(|most| most.0).collect::<Vec<_>>(),
            "most_headroom_bytes": most.map(|most| most.1).max().unwrap_or(0),
            "scheme_header_bytes": log.header_bytes,
            "unroutable": log.unroutable,
        },
        "loads": loads.map(|l| json!({
            "payload_of_nominal": l.payload_of_nominal,
            "wire_of_nominal": l.wire_of_nominal,
            "wire_of_available": if l.wire_of_available.is_finite() { json!(l.wire_of_available) } else { Value::Null },
            "overloaded": l.overloaded,
        })),
        "deadlock": deadlock.map(|links| links.into_iter().map(|link| topology.link_name(link)).collect::<Vec<_>>()),
        "series_names": series_names(sim),
        "entity_names": if log.points.is_empty() { Vec::new() } else { entities },
        "links": links.iter().map(|link| {
            let c = &link.counters;
            json!({
                "name": topology.link_name(link.number),
                "fabric": topology.links[link.number as usize].from.0 >= topology.hosts
                    && topology.links[link.number as usize].to.0 >= topology.hosts,
                "packets": c.packets,
                "bytes": c.bytes,
                "lost": link.lost,
                "drops": c.drops,
                "dropped_bytes": c.dropped_bytes,
                "marks": c.marks,
                "longest_queue_bytes": c.longest_queue,
                "paused_ps": c.paused.0,
                "pauses": c.paused.1,
                "utilisation": if stop == Time::ZERO { 0.0 } else { c.busy.0 as f64 / stop.0 as f64 },
            })
        }).collect::<Vec<_>>(),
    })
}

/// Which flows have not arrived in full and have hosts that are cut off from each other when the run ends.
fn cut_off(sim: &Sim, stop: Time) -> Vec<bool> {
    let mut found = vec![false; sim.flows.specs.len()];
    let open: Vec<usize> = (0..found.len()).filter(|&flow| sim.flows.records[flow].fct == 0).collect();
    let pairs: Vec<(u32, u32)> = open.iter().map(|&n| (sim.flows.specs[n].src, sim.flows.specs[n].dst)).collect();
    let cut = sim.net.faults.cut_off(&sim.net.topology, stop, &pairs);
    open.into_iter().zip(cut).for_each(|(flow, cut)| found[flow] = cut);
    found
}

/// How many flows have not arrived in full, and why: cut off, or time was short.
fn unfinished(sim: &Sim, cut_off: &[bool]) -> Value {
    let flows = (0u32..).zip(sim.flows.records.iter().zip(cut_off));
    let open = flows.filter(|&(flow, (record, _))| record.fct == 0 && !sim.flows.is_background(flow));
    let (cut, late): (Vec<bool>, Vec<bool>) = open.map(|(_, (_, &cut))| cut).partition(|&cut| cut);
    json!({"cut_off": cut.len(), "out_of_time": late.len()})
}

/// Sums over TCP flows, for runs too large to keep a row of each.
fn totals(sim: &Sim) -> Value {
    let sum = |of: fn(&Record) -> u32| -> u64 {
        let tcp = sim.flows.records.iter().enumerate().filter(|&(flow, _)| sim.flows.is_tcp(flow as u32));
        tcp.map(|(_, record)| u64::from(of(record))).sum()
    };
    json!({
        "sent": sum(|record| record.packets),
        "retransmits": sum(|record| record.retransmits),
        "timeouts": sum(|record| record.timeouts),
        "out_of_order": sum(|record| record.out_of_order),
        "dupack3_events": sum(|record| record.dupack3_events),
        "marks": sum(|record| record.marks),
        "nacks": sum(|record| record.nacks),
        "cnps": sum(|record| record.cnps),
    })
}

/// Packets on links and in ports when the run stopped.
fn in_network(sim: &Sim) -> crate::log::Account {
    let mut account = crate::log::Account::default();
    let mut add = |packet: &Packet| account.add(packet.wire - u16::from(packet.fabric_header));
    sim.wires.in_flight().for_each(&mut add);
    sim.switches
        .iter()
        .flat_map(|switch| &switch.ports)
        .for_each(|port| port.lanes().into_iter().flat_map(|lanes| lanes.packets()).for_each(&mut add));
    account
}
