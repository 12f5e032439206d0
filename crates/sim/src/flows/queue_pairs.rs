//! Queue pairs that messages share: those of the connection between two hosts, as collective libraries open it.
//!
//! Switches of E-ECMP hash the queue pair beside addresses and ports (Gangidi et al., SIGCOMM 2024, second-hand). Without
//! `transport.queue_pairs` each message has a queue pair of its own, which is an entropy that no such library has.

use super::Flows;
use crate::transport::{RdmaConfig, TransportSpec};
use std::collections::BTreeMap;

/// The mark of a flow that has no queue pair (UDP): its own number follows.
const OWN: u32 = 1 << 31;

impl Flows {
    /// By number of flow or path: which queue pair of its connection it goes by, if connections have some that messages
    /// share. Messages of a pair of hosts take them in turn, in the order of their numbers; the parts of a message that is
    /// split have one each.
    pub fn queue_pairs(&self, transport: &TransportSpec) -> Option<Vec<u32>> {
        let TransportSpec::Rdma(RdmaConfig { queue_pairs: Some(many), .. }) = *transport else { return None };
        let mut turns = BTreeMap::new();
        let mut pairs: Vec<u32> = Vec::with_capacity(self.count());
        for (number, flow) in self.specs.numbered() {
            pairs.push(if self.is_tcp(number) {
                let turn = turns.entry((flow.src, flow.dst)).or_insert(0);
                std::mem::replace(turn, (*turn + 1) % many)
            } else {
                OWN | number.number()
            });
        }
        pairs.extend(self.specs.iter().flat_map(|_| 0..self.subflows));
        Some(pairs)
    }

    /// Source port (low half) and destination port of each number: counted per source host from 10,000 and per destination
    /// host from 100, in the order of starting, as the public ns-3 code of ConWeave does. What shares a queue pair shares
    /// them.
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
