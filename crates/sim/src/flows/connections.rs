//! Connections that messages share: queue pairs of RoCE, and connections of Ultra Ethernet, of which collective
//! libraries open a few from one host to another and keep them.
//!
//! Switches hash a connection's identity in addition to addresses and ports (E-ECMP: Gangidi et al., SIGCOMM 2024,
//! second-hand). Without `transport.queue_pairs` or `transport.connections` each message has its own connection, which
//! gives more entropy than any such library.

use super::Flows;
use crate::ids::{FlowId, Table};
use crate::transport::TransportSpec;
use crate::workload::FlowSpec;
use std::collections::BTreeMap;

/// The mark of a flow that has no connection (UDP): its own number follows.
const OWN: u32 = 1 << 31;

/// The connection that each flow uses, and the flow that used it last.
#[derive(Debug)]
pub(super) struct Connections {
    /// The connection of the fabric that each flow uses.
    of: Table<FlowId, u32>,
    /// Per connection: the message that started last, and how many are still to start.
    last: Vec<(Option<FlowId>, u32)>,
}

impl Connections {
    fn new(flows: &Flows, pairs: &[u32]) -> Connections {
        let mut numbers = BTreeMap::new();
        let mut last: Vec<(Option<FlowId>, u32)> = Vec::new();
        let number = |(flow, &pair): (&FlowSpec, &u32)| {
            let number = *numbers.entry((flow.src, flow.dst, pair)).or_insert(last.len() as u32);
            if number as usize == last.len() {
                last.push((None, 0));
            }
            last[number as usize].1 += 1;
            number
        };
        let of = flows.specs.iter().zip(pairs).map(number).collect();
        Connections { of, last }
    }
}

impl Flows {
    /// The same with these [shared connections](Self::shared_connections), if they keep what they have learnt from message to
    /// message.
    pub fn with_connections(mut self, pairs: Option<&[u32]>) -> Self {
        let kept = pairs.filter(|_| self.facts.keeps_connections);
        self.connections = kept.map(|pairs| Connections::new(&self, pairs));
        self
    }

    /// A message starts. Returns the one that started before it on its connection.
    pub fn next_of_connection(&mut self, flow: FlowId) -> Option<FlowId> {
        let connections = self.connections.as_mut()?;
        let (last, left) = &mut connections.last[connections.of[flow] as usize];
        *left -= 1;
        last.replace(flow)
    }

    /// Whether another message of its connection begins with what this one has learnt.
    pub fn has_heir(&self, flow: FlowId) -> bool {
        self.connections.as_ref().is_some_and(|connections| {
            let (last, left) = connections.last[connections.of[flow] as usize];
            last == Some(flow) && left > 0
        })
    }

    /// Returns, by number of flow or path: its connection between the two hosts, if messages share connections.
    /// Messages of a pair of hosts take the connections in turn, in numerical order; the parts of a split message have
    /// one each.
    pub fn shared_connections(&self, transport: &TransportSpec) -> Option<Vec<u32>> {
        let many = transport.sheet().connections?;
        let mut turns = BTreeMap::new();
        let mut pairs: Vec<u32> = Vec::with_capacity(self.count());
        for (number, flow) in self.specs.numbered() {
            pairs.push(if self.has_transport(number) {
                let turn = turns.entry((flow.src, flow.dst)).or_insert(0);
                std::mem::replace(turn, (*turn + 1) % many)
            } else {
                OWN | number.number()
            });
        }
        pairs.extend(self.specs.iter().flat_map(|_| 0..self.subflows));
        Some(pairs)
    }

    /// Source port (low half) and destination port of each number: counted per source host from 10,000 and per
    /// destination host from 100, in starting order, as in the followed program. Messages that share a connection share
    /// its ports.
    pub fn ports(&self, pairs: Option<&[u32]>) -> Vec<u32> {
        let hosts = self.first.len();
        let (mut from, mut to) = (vec![10_000u32; hosts], vec![100u32; hosts]);
        let mut next = |src: u32, dst: u32| {
            let take = |ports: &mut Vec<u32>, host: u32| {
                let port = ports[host as usize] & 0xffff;
                ports[host as usize] += 1;
                port
            };
            take(&mut from, src) | take(&mut to, dst) << 16
        };
        let mut known = BTreeMap::new();
        let subflows = self.specs.iter().flat_map(|flow| std::iter::repeat_n(flow, self.subflows as usize));
        let all = self.specs.iter().chain(subflows).enumerate();
        all.map(|(number, flow)| match pairs {
            None => next(flow.src, flow.dst),
            Some(pairs) => {
                *known.entry((flow.src, flow.dst, pairs[number])).or_insert_with(|| next(flow.src, flow.dst))
            }
        })
        .collect()
    }
}
