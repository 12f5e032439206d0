//! Settings that are allowed but may not be intended: reported before a run and in its report.

use crate::bank::Chosen;
use crate::flows::FLOW_COLUMNS;
use serde_json::{Value, json};
use spinewise_policy::{Span, Tier, Time};

use super::fault::{Effect, Fault, Way};
use super::scheme::{HashKind, shape};
use super::switch::Limit;
use super::traffic::{Traffic, TrafficEntry};
use super::{Spec, SwitchSpec};
use crate::topology::Fabric;
use crate::topology::spec::Wiring;
use crate::transport::TransportSpec;
use crate::transport::congestion::dcqcn::DcqcnConfig;
use crate::transport::congestion::delivery::Kind as Control;
use crate::transport::congestion::rate;
use crate::transport::congestion::window::Kind;
use crate::transport::rdma::Recovery;
use crate::trimming::Cut;
use crate::workload::{Arrivals, FlowList, Workload};

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// A short name of its subject; the same for all warnings of a kind.
    pub code: &'static str,
    /// The key to look at, if there is one.
    pub key: Option<String>,
    /// A plain sentence or two.
    pub text: String,
}

impl Warning {
    /// A warning about `key`.
    pub fn of(code: &'static str, key: impl Into<String>, text: impl Into<String>) -> Warning {
        Warning { code, key: Some(key.into()), text: text.into() }
    }

    /// Returns it in the form of reports.
    pub fn json(&self) -> Value {
        json!({"code": self.code, "key": self.key, "text": self.text})
    }
}

/// Returns the warnings that follow from the spec alone.
pub(crate) fn warnings(spec: &Spec) -> Vec<Warning> {
    let mut found = Vec::new();
    for (n, entry) in spec.traffic.iter().enumerate() {
        about_entry(n, entry, spec, &mut found);
        about_priority(n, entry, spec, &mut found);
    }
    for (n, fault) in spec.faults.iter().flat_map(|faults| &faults.faults).enumerate() {
        about_fault(n, fault, spec, &mut found);
    }
    about_transit(spec, &mut found);
    about_rates(spec, &mut found);
    about_series(spec, &mut found);
    about_marks(spec, &mut found);
    about_drops(spec, &mut found);
    about_values(spec, &mut found);
    for (transport, at) in transports(spec) {
        about_target(spec, transport, &at, &mut found);
        about_delay(spec, transport, &at, &mut found);
        about_timeout(spec, transport, &at, &mut found);
        about_increases(spec, transport, &at, &mut found);
        about_telemetry(spec, transport, &at, &mut found);
        about_answers(spec, transport, &at, &mut found);
    }
    found
}

/// The transports of a spec, each with the place where it is first named.
fn transports(spec: &Spec) -> Vec<(&TransportSpec, String)> {
    let mut found: Vec<(&TransportSpec, String)> = vec![(&spec.transport, "transport".to_owned())];
    for (place, transport) in spec.beside.iter().enumerate() {
        let entry = spec.traffic.iter().position(|entry| usize::from(entry.carrier) == place + 1);
        found.extend(entry.map(|n| (transport, format!("traffic[{n}].transport"))));
    }
    found
}

fn about_entry(n: usize, entry: &TrafficEntry, spec: &Spec, found: &mut Vec<Warning>) {
    match &entry.source {
        Traffic::Udp(udp) if udp.config.size_bytes.is_none() && udp.config.end == Time::NEVER => {
            let text = "This source sends until the run ends, and the run does not wait for it. Set end_us or \
                        size_bytes to end it.";
            found.push(Warning::of("udp_without_end", format!("traffic[{n}].end_us"), text));
        }
        Traffic::Transported(Workload::Incast(incast)) => {
            about_rounds(n, (incast.repeat, "rounds", incast.period), spec, found);
        }
        Traffic::Transported(Workload::Permutation(permutation)) => {
            about_rounds(n, (permutation.repeat, "rounds", permutation.period), spec, found);
        }
        Traffic::Transported(Workload::Rpc(rpc)) if rpc.arrivals == Arrivals::Periodic || rpc.period == Span::ZERO => {
            about_rounds(n, (rpc.requests, "requests", rpc.period), spec, found);
        }
        Traffic::Transported(Workload::List(list)) => about_columns(n, list, found),
        _ => {}
    }
}

/// A priority where all data waits in one queue.
fn about_priority(n: usize, entry: &TrafficEntry, spec: &Spec, found: &mut Vec<Warning>) {
    if entry.priority > 0 && !matches!(spec.switch, SwitchSpec::SharedBuffer(_)) {
        let text = "This priority has no effect: the ports of these switches have one queue for all data. \
                    switch.priorities of switch.model = \"shared_buffer\" adds queues.";
        found.push(Warning::of("one_data_queue", format!("traffic[{n}].priority"), text));
    }
}

/// A table of flows that has more than is read.
fn about_columns(n: usize, list: &FlowList, found: &mut Vec<Warning>) {
    let (unread, is_batch_meant) = list.unread();
    let of_results = |name: &str| FLOW_COLUMNS.iter().any(|column| column.name == name);
    let unread: Vec<&String> = unread.iter().filter(|name| !of_results(name)).collect();
    if unread.is_empty() {
        return;
    }
    let names = unread.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let hint = if is_batch_meant { " Did you mean batch?" } else { "" };
    let text =
        format!("Only the columns src, dst, size_bytes, start_ns and batch are read; these are not: {names}.{hint}");
    found.push(Warning::of("columns_unread", format!("traffic[{n}].file"), text));
}

/// Rounds by the clock.
fn about_rounds(n: usize, (repeat, rounds, period): (u32, &str, Span), spec: &Spec, found: &mut Vec<Warning>) {
    if repeat < 2 {
        return;
    }
    if period == Span::ZERO {
        let text = format!("All {repeat} {rounds} start at once because period_us is 0.");
        found.push(Warning::of("rounds_at_once", format!("traffic[{n}].period_us"), text));
    } else if let Some(rto) = spec.transport.sheet().least_timeout.filter(|&rto| in_step(period, rto)) {
        let text = format!(
            "A retransmission timeout of {} is a multiple of this period: packets lost after one of the {rounds} starts \
             are retransmitted as another does. Compare with a period that does not divide it.",
            said(rto)
        );
        found.push(Warning::of("rounds_in_step_with_timeout", format!("traffic[{n}].period_us"), text));
    }
}

fn about_fault(n: usize, fault: &Fault, spec: &Spec, found: &mut Vec<Warning>) {
    let end = spec.run.until;
    if fault.from >= end {
        let text = format!("This fault begins after the run has ended (run.until_us = {}).", us(end));
        found.push(Warning::of("fault_after_end", format!("fault[{n}].at_us"), text));
        return;
    }
    let Effect::Flap { period, .. } = fault.effect else { return };
    if fault.until == Time::NEVER {
        let text = format!(
            "The flap has no end: it goes on until all flows are done or the run ends at run.until_us = {}.",
            us(end)
        );
        found.push(Warning::of("flap_without_end", format!("fault[{n}].until_us"), text));
    }
    if let Some(rto) = spec.transport.sheet().least_timeout.filter(|&rto| in_step(period, rto)) {
        // RFC 6298 §5.5: each timeout doubles the next, so that all of them are multiples too.
        let text = format!(
            "A retransmission timeout of {} and its doubles are multiples of this period: a packet that meets an \
             outage may meet another each time it is retransmitted. Compare with a period that does not divide it.",
            said(rto)
        );
        found.push(Warning::of("flap_in_step_with_timeout", format!("fault[{n}].period_us"), text));
    }
}

/// The fastest link in any plan, Gbps.
const FASTEST_GBPS: u64 = 3_200;

/// Mbps in place of Gbps.
fn about_rates(spec: &Spec, found: &mut Vec<Warning>) {
    for (key, rate) in rates(spec) {
        let (gbps, most) = (rate as f64 / 1e9, FASTEST_GBPS);
        if gbps > most as f64 {
            let text = format!(
                "{gbps} Gbps is more than any link has ({most}): if you meant {gbps} Mbps, write {} here.",
                gbps / 1e3
            );
            found.push(Warning::of("rate_in_mbps", key, text));
        }
    }
}

/// Rates that a spec gives its links, bits per second, by their keys; of a list of links the greatest.
fn rates(spec: &Spec) -> Vec<(String, u64)> {
    let mut given: Vec<(String, u64)> = Vec::new();
    let mut of = |key: &str, rate: u64| given.push((format!("topology.{key}"), rate));
    let changes: Vec<_> = match &spec.topology.wiring {
        Wiring::LeafSpine(fabric) => {
            of("host_rate_gbps", fabric.host_rate);
            of("fabric_rate_gbps", fabric.fabric_rate);
            fabric.overrides.iter().map(|one| one.change).collect()
        }
        Wiring::FatTree(fabric) => {
            let [host, inner, core] = fabric.rates;
            of("host_rate_gbps", host);
            of("fabric_rate_gbps", inner);
            if core != inner {
                of("core_rate_gbps", core);
            }
            fabric.overrides.iter().map(|one| one.change).collect()
        }
        Wiring::Links(_) => {
            of("links", spec.topology.fastest_rate());
            Vec::new()
        }
    };
    let mut changed: Vec<_> = changes
        .iter()
        .filter_map(|change| Some((format!("topology.override[{}].rate_gbps", change.entry), change.rate?)))
        .collect();
    changed.dedup();
    let faults = spec.faults.iter().flat_map(|faults| &faults.faults).enumerate();
    let broken = faults.filter_map(|(n, fault)| match fault.effect {
        Effect::Rate(rate) => Some((format!("fault[{n}].rate_gbps"), rate)),
        _ => None,
    });
    given.extend(changed.into_iter().chain(broken));
    given
}

/// Racks that only other racks join.
fn about_transit(spec: &Spec, found: &mut Vec<Warning>) {
    let Wiring::Links(graph) = &spec.topology.wiring else { return };
    let Some(transit) = graph.transit() else { return };
    let (a, b) = transit.first;
    let more = match transit.pairs - 1 {
        0 => String::new(),
        1 => " and one more pair of leaves".to_owned(),
        others => format!(" and {others} more pairs of leaves"),
    };
    let text = format!(
        "Packets between switch{a} and switch{b}{more} have to pass through another leaf: no switch without hosts \
         joins them. Where leaves do not forward for each other, as in most leaf-spine designs, they are cut off."
    );
    found.push(Warning::of("leaves_forward", "topology.links", text));
}

fn about_series(spec: &Spec, found: &mut Vec<Warning>) {
    let rate = spec.topology.fastest_rate();
    let frame = spec.transport.frame();
    let Some(interval) = spec.metrics.series_interval else { return };
    let packet = Span::sending(frame.mtu().into(), rate);
    if interval < packet {
        let text = format!(
            "The interval is shorter than a full packet's transmission time on the fastest link ({}): most points are \
             0 or 1.",
            said(packet)
        );
        found.push(Warning::of("series_finer_than_packets", "metrics.series_interval_us", text));
    }
}

/// A queue that is full before it is marked.
fn about_marks(spec: &Spec, found: &mut Vec<Warning>) {
    let SwitchSpec::OutputQueued(queues) = &spec.switch else { return };
    let line = |limit: Limit| match limit {
        Limit::Packets(_) => None,
        Limit::Bytes(bytes) => Some((bytes, Span::ZERO)),
        Limit::Line { bytes, time } => Some((bytes, time)),
    };
    let (key, never) = match (queues.ecn_threshold, queues.buffer) {
        (Some(Limit::Packets(mark)), Limit::Packets(full)) => ("switch.ecn_threshold_packets", mark > full),
        (Some(mark), full) => match (line(mark), line(full)) {
            // At every rate, then.
            (Some(mark), Some(full)) => {
                let key = if mark.1 > full.1 { "switch.ecn_threshold_us" } else { "switch.ecn_threshold_bytes" };
                (key, mark.0 >= full.0 && mark.1 >= full.1 && mark != full)
            }
            _ => return,
        },
        (None, _) => return,
    };
    if never {
        let text = "The marking threshold is above the buffer: packets are dropped before any is marked.";
        found.push(Warning::of("marks_never", key, text.to_owned()));
    }
}

/// Go-back-N is made for fabrics that drop nothing.
fn about_drops(spec: &Spec, found: &mut Vec<Warning>) {
    let is_go_back_n =
        |spec: &TransportSpec| matches!(spec, TransportSpec::Rdma(rdma) if rdma.recovery == Recovery::GoBackN);
    let drops = match &spec.switch {
        SwitchSpec::OutputQueued(_) | SwitchSpec::Trimming(_) => true,
        SwitchSpec::SharedBuffer(shared) => !shared.pfc,
    };
    if drops && spec.transports().any(is_go_back_n) {
        let text = "RDMA with go-back-N over queues that drop: each loss causes everything sent since to be \
                    retransmitted. Lossless RDMA has switch.model = \"shared_buffer\" and switch.pfc = true; \
                    transport.recovery = \"irn\" is designed for fabrics that drop.";
        let key = if matches!(spec.switch, SwitchSpec::OutputQueued(_)) { "switch.model" } else { "switch.pfc" };
        found.push(Warning::of("rdma_drops", key, text));
    }
}

/// Warns that the hash of the followed program takes addresses and ports alone.
fn about_values(spec: &Spec, found: &mut Vec<Warning>) {
    let Some(edge) = &spec.scheme.edge else { return };
    if spec.scheme.hash == HashKind::Murmur3 && edge.layout(&shape(Tier::Host, &spec.topology)).draws_tags {
        let text = format!(
            "Switches hash only addresses and ports, so the values that {} writes into headers choose no path: it \
             behaves like ECMP. scheme.hash = \"mix\" hashes these values.",
            edge.name()
        );
        found.push(Warning::of("values_not_hashed", "scheme.hash", text));
    }
}

/// A round trip that is aimed at and that no packet can make.
fn about_target(spec: &Spec, transport: &TransportSpec, at: &str, found: &mut Vec<Warning>) {
    let TransportSpec::Tcp(tcp) = transport else { return };
    let Ok(fabric) = Fabric::of(&spec.topology) else { return };
    let (swift, rtt) = (&tcp.control.swift, fabric.base_rtt(transport.frame()));
    let target = swift.base + swift.per_hop * u64::from(fabric.switches());
    if tcp.kind == Kind::Swift && target <= rtt {
        let most = target + swift.fs_range;
        let then = if most <= rtt {
            "windows shrink to the minimum, and flows may never end".to_owned()
        } else {
            format!("windows shrink until the target, which rises to {} as they do, is above that", said(most))
        };
        let text = format!(
            "Swift's target round trip is {} plus {} per switch on the path, and a round trip of the empty fabric \
             takes {}: {then}. Set a longer target.",
            said(swift.base),
            said(swift.per_hop),
            said(rtt)
        );
        found.push(Warning::of("target_below_round_trip", format!("{at}.swift_base_target_us"), text));
    }
}

/// HPCC compares what one path's ports report, and takes each change of path for a new beginning.
fn about_telemetry(spec: &Spec, transport: &TransportSpec, at: &str, found: &mut Vec<Warning>) {
    if !transport.sheet().collects_telemetry || shape(Tier::Host, &spec.topology).ways < 2 {
        return;
    }
    let scheme = &spec.scheme;
    let sprays = |chosen: &Chosen| chosen.entry().sheet.unit == "packet";
    if let Some(spraying) = scheme.edge.iter().chain([&scheme.fabric]).find(|chosen| sprays(chosen)) {
        let text = format!(
            "{} gives packets of one flow different paths, and HPCC starts anew when the path changes: it has no \
             feedback as long as consecutive answers come over different paths, and sends at line rate.",
            spraying.name()
        );
        found.push(Warning::of("telemetry_of_many_paths", format!("{at}.congestion_control"), text));
    }
}

/// A scheme that was published for an acknowledgement of every packet hears less where receivers coalesce them.
fn about_answers(spec: &Spec, transport: &TransportSpec, at: &str, found: &mut Vec<Warning>) {
    let TransportSpec::Uet(uet) = transport else { return };
    let Some(edge) = spec.scheme.edge.as_ref().filter(|edge| edge.entry().sheet.acks_of_all) else { return };
    if uet.ack_every_bytes > uet.mss {
        let text = format!(
            "{} was published for transports that acknowledge every packet, and these receivers acknowledge every {} \
             bytes. 1 acknowledges every packet.",
            edge.name(),
            uet.ack_every_bytes
        );
        found.push(Warning::of("few_acknowledgements", format!("{at}.ack_every_bytes"), text));
    }
}

/// The target of NSCC is for queues that trim, unless the spec gives another.
fn about_delay(spec: &Spec, transport: &TransportSpec, at: &str, found: &mut Vec<Warning>) {
    let TransportSpec::Uet(uet) = transport else { return };
    let trims = matches!(&spec.switch, SwitchSpec::Trimming(trimming) if trimming.cut != Cut::Off);
    let target = uet.control.nscc.target;
    if uet.kind == Control::Nscc && !trims && target < 1.0 {
        let text = format!(
            "These switches do not trim, and NSCC aims at {target} round trips of queueing delay, as where they do. \
             uet-htsim aims at 1 there."
        );
        found.push(Warning::of("target_of_trimming_switches", format!("{at}.nscc_target_rtts"), text));
    }
}

/// A fixed timeout that expires before an answer can come.
fn about_timeout(spec: &Spec, transport: &TransportSpec, at: &str, found: &mut Vec<Warning>) {
    let Some((key, timeout)) = transport.sheet().fixed_timeout else { return };
    let Ok(fabric) = Fabric::of(&spec.topology) else { return };
    let faults = spec.faults.iter().flat_map(|faults| &faults.faults).filter(|fault| fault.from < spec.run.until);
    let added = faults.map(|fault| match fault.effect {
        Effect::Delay(added) if fault.way == Way::Both => added.0.saturating_mul(2),
        Effect::Delay(added) => added.0,
        _ => 0,
    });
    let rtt = Span(fabric.longest_rtt(transport.frame()).0.saturating_add(added.max().unwrap_or(0)));
    if timeout <= rtt {
        let text = format!(
            "The timeout of {} expires before an answer can arrive: a round trip takes up to {} even without queueing. \
             Senders retransmit packets in flight again and again.",
            said(timeout),
            said(rtt)
        );
        found.push(Warning::of("timeout_below_round_trip", format!("{at}.{key}"), text));
    }
}

/// Rates of queue pairs that rise as on a slower link.
fn about_increases(spec: &Spec, transport: &TransportSpec, at: &str, found: &mut Vec<Warning>) {
    let TransportSpec::Rdma(rdma) = transport else { return };
    let (own, code) = (&rdma.control.dcqcn, DcqcnConfig::defaults());
    let rises = |config: &DcqcnConfig| (config.additive_increase, config.hyper_increase, config.increase_timer);
    let Ok(fabric) = Fabric::of(&spec.topology) else { return };
    let line = fabric.host_rate();
    if rdma.kind != rate::Kind::Dcqcn || rises(own) != rises(&code) || line <= DcqcnConfig::MADE_FOR {
        return;
    }
    let (gbps, times) = (|rate: u64| rate as f64 / 1e9, line as f64 / DcqcnConfig::MADE_FOR as f64);
    let steps = (line / 2).div_ceil(own.hyper_increase);
    let text = format!(
        "These increases are for links of {} Gbps: at most {} Gbps every {}, so a rate takes {} to grow from half of \
         {} Gbps to all of it. Scaled to the link, as in ConWeave's code, dcqcn_additive_increase_gbps would be {} and \
         dcqcn_hyper_increase_gbps {}.",
        gbps(DcqcnConfig::MADE_FOR),
        gbps(own.hyper_increase),
        said(own.increase_timer),
        said(own.increase_timer * steps),
        gbps(line),
        gbps((own.additive_increase as f64 * times) as u64),
        gbps((own.hyper_increase as f64 * times) as u64)
    );
    found.push(Warning::of("increases_of_slower_links", format!("{at}.dcqcn_hyper_increase_gbps"), text));
}

/// Whether the timeout is a multiple of the period.
fn in_step(period: Span, rto: Span) -> bool {
    rto >= period && rto.0.is_multiple_of(period.0)
}

/// A length of time in the unit that suits it.
fn said(span: Span) -> String {
    match span.as_us_f64() {
        us if us >= 1e3 => format!("{} ms", us / 1e3),
        us if us >= 1.0 => format!("{us} us"),
        us => format!("{} ns", us * 1e3),
    }
}

fn us(at: Time) -> f64 {
    at.since(Time::ZERO).as_us_f64()
}
