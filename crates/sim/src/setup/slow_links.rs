//! The behaviour of Ultra Ethernet with links that are much slower than others: a warning before a run, because its
//! results do not show it.

use crate::flows::Flows;
use crate::ids::HostId;
use crate::net::Net;
use crate::spec::{Spec, SwitchSpec, Warning};
use crate::topology::LinkSpec;
use crate::transport::congestion::{delivery, nscc};
use crate::transport::{TransportSpec, UetConfig};
use crate::trimming::Cut;
use crate::workload::FlowSpec;
use std::collections::BTreeSet;

/// The warnings about a run's links.
pub(super) fn warnings(spec: &Spec, net: &Net, flows: &Flows) -> Vec<Warning> {
    let TransportSpec::Uet(config) = &spec.transport else { return Vec::new() };
    small_window(config, net, flows).into_iter().chain(full_of_headers(spec, net, flows)).collect()
}

/// Flows of the transport.
fn reliable(flows: &Flows) -> impl Iterator<Item = &FlowSpec> {
    flows.specs.numbered().filter(|&(flow, _)| flows.has_transport(flow)).map(|(_, spec)| spec)
}

/// A sender whose window has no room for a packet.
fn small_window(config: &UetConfig, net: &Net, flows: &Flows) -> Option<Warning> {
    if config.kind == delivery::Kind::None {
        return None;
    }
    let packet = net.frame.mtu();
    let window_of = |rate| nscc::window_of(nscc::bdp(net.base_rtt, rate));
    let rate_of = |host| net.topology.links[net.topology.host_link(host)].rate;
    let slow: BTreeSet<HostId> =
        net.topology.host_ids().filter(|&host| window_of(rate_of(host)) < i64::from(packet)).collect();
    if slow.is_empty() {
        return None;
    }
    reliable(flows).map(FlowSpec::sender).filter(|host| slow.contains(host)).min().map(|host| {
        let rate = rate_of(host);
        let text = format!(
            "{} never sends: its window, one and a half bandwidth-delay products of its link of {}, is {} bytes, \
             and a packet needs {packet}. Senders without a window rely on credit alone: transport.congestion_control \
             = \"none\" and transport.receiver_credit = true.",
            net.topology.node_name(net.topology.host_node(host)),
            gbps(rate),
            window_of(rate)
        );
        Warning::of("window_below_packet", "transport.congestion_control", text)
    })
}

/// A link that the headers of trimmed packets can fill: they go before data.
fn full_of_headers(spec: &Spec, net: &Net, flows: &Flows) -> Option<Warning> {
    let SwitchSpec::Trimming(trimming) = &spec.switch else { return None };
    let Cut::To(header) = trimming.cut else { return None };
    let (topology, packet) = (&net.topology, net.frame.mtu());
    // A packet that goes up has come from below.
    let height = |node| topology.as_switch(node).map_or(0, |switch| 1 + topology.tier(switch) as u32);
    let brings = |link: &LinkSpec| {
        let into = topology.links[topology.in_links(link.from.0)].iter();
        let goes_up = height(link.to.0) > height(link.from.0);
        let into = into.filter(|from| from.up && from.from.0 != link.to.0);
        into.filter(|from| !goes_up || height(from.from.0) < height(link.from.0))
            .map(|from| from.rate)
            .max()
            .unwrap_or(0)
    };
    let is_used = |link: &LinkSpec| match topology.as_switch(link.to.0) {
        None => reliable(flows).any(|flow| flow.receiver() == HostId::new(link.to.0.number())),
        Some(_) => reliable(flows).any(|flow| topology.leaf(flow.sender()) != topology.leaf(flow.receiver())),
    };
    let is_filled = |link: &LinkSpec| {
        let headers = u128::from(brings(link)) * u128::from(header);
        link.up && topology.as_switch(link.from.0).is_some() && headers >= u128::from(link.rate) * u128::from(packet)
    };
    let (number, link) =
        topology.links.numbered().filter(|(_, link)| is_filled(link)).find(|(_, link)| is_used(link))?;
    let text = format!(
        "Headers of trimmed packets can fill {} ({}), and they go ahead of data: a link of {} brings {header} bytes of \
         header for each packet of {packet} bytes. Data on that link may wait for as long as senders keep sending.",
        topology.link_name(number),
        gbps(link.rate),
        gbps(brings(link)),
    );
    Some(Warning::of("headers_fill_link", "topology", text))
}

fn gbps(rate: u64) -> String {
    format!("{} Gbps", rate as f64 / 1e9)
}
