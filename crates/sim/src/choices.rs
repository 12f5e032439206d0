//! First pass: choices of traced flows, written down where the shell asks a scheme.

use crate::bank::{Bank, Call};
use crate::ids::{NodeId, SubflowId, Table};
use crate::packet::{Hashing, Packet};
use spinewise_policy::{Decides, Sees, Sight, Time, Way};
use std::collections::BTreeMap;
use std::ops::Range;

/// A choice.
#[derive(Clone, Debug)]
pub struct Choice {
    /// When.
    pub at: Time,
    /// Where: number of the node.
    pub node: NodeId,
    /// The packet, before the choice.
    pub packet: Packet,
    /// What the scheme tells about its choices.
    pub sees: &'static Sees,
    /// The rule that it acted by, if it tells.
    pub rule: Option<u8>,
    /// What was chosen: one of the candidates, by its place.
    pub chosen: u16,
    /// Where the packet before went that had the same flow and direction and passed here.
    pub previous: Option<Way>,
    ways: Range<usize>,
    values: usize,
}

/// All choices of a run, in the order of time; at one instant by node, there in the order they were made.
#[derive(Debug, Default)]
pub struct Choices {
    /// The choices.
    pub all: Vec<Choice>,
    ways: Vec<Way>,
    values: Vec<f64>,
}

impl Choices {
    /// The candidates.
    pub fn ways(&self, choice: &Choice) -> &[Way] {
        &self.ways[choice.ways.clone()]
    }

    /// What the scheme saw of flow and place, by [`Sees::flow`].
    pub fn of_flow(&self, choice: &Choice) -> &[f64] {
        &self.values[choice.values..][..choice.sees.flow.len()]
    }

    /// What the scheme saw of a candidate, by [`Sees::way`].
    pub fn of_way(&self, choice: &Choice, candidate: usize) -> &[f64] {
        let many = choice.sees.way.len();
        &self.values[choice.values + choice.sees.flow.len() + candidate * many..][..many]
    }
}

/// What writes choices down.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Which are traced.
    traced: Table<SubflowId, bool>,
    choices: Choices,
    /// The last way by node and key of the flow.
    last: BTreeMap<(NodeId, u32), Way>,
}

impl Recorder {
    /// For these of `numbers` flows and subflows.
    pub fn new(numbers: usize, wanted: impl Iterator<Item = SubflowId>) -> Self {
        let mut traced = Table::filled(false, numbers);
        wanted.for_each(|subflow| traced[subflow] = true);
        Recorder { traced, ..Recorder::default() }
    }

    /// [`Bank::pick`] at `node`, which has `candidates` for the packet and at most `rows` rows; written
    /// down if its flow is traced and there is a choice.
    #[cold]
    pub fn pick(
        &mut self,
        bank: &mut Bank,
        call: Call<'_>,
        packet: &mut Packet,
        seen: (&Hashing, u16),
        (node, candidates, rows): (NodeId, usize, usize),
    ) -> (Way, u32) {
        let sees = &bank.sheet().sees;
        let traced = packet.of_flow() && self.traced[packet.subflow()];
        if !traced || candidates < 2 || sees.decides != Decides::Chooses {
            return bank.pick_any(call, packet, seen);
        }
        let before = *packet;
        let mut ways = vec![Way::ANY; rows];
        let mut values = vec![f64::NAN; sees.values(rows)];
        let mut sight = Sight::new(sees, candidates, &mut ways, &mut values);
        let (way, header) = bank.pick_and_tell(call, packet, seen, &mut sight);
        let ((rule, many), offers) = (sight.told(), sight.offers());
        ways.truncate(many);
        values.truncate(sees.values(many));
        // A host may leave it to the fabric: then there is no choice here. Nor is there where it knows one way only.
        let Some(chosen) = ways.iter().position(|&candidate| candidate == way) else { return (way, header) };
        let previous = self.last.insert((node, packet.key().0), way);
        if let Some(left) = previous.filter(|left| offers && !ways.contains(left)) {
            // It has been left for one that was offered. What the scheme knew of it is not told.
            ways.push(left);
            values.resize(values.len() + sees.way.len(), f64::NAN);
        }
        if ways.len() > 1 {
            let from = (self.choices.ways.len(), self.choices.values.len());
            self.choices.ways.extend(ways);
            self.choices.values.extend(values);
            self.choices.all.push(Choice {
                at: call.now,
                node,
                packet: before,
                sees,
                rule,
                chosen: chosen as u16,
                previous,
                ways: from.0..self.choices.ways.len(),
                values: from.1,
            });
        }
        (way, header)
    }

    /// All that was written down. Which room writes first at one instant is an engine's own affair.
    pub fn close(mut self) -> Choices {
        self.choices.all.sort_by_key(|choice| (choice.at, choice.node));
        self.choices
    }
}
