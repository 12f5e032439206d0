//! First pass: choices of traced flows, recorded where the shell asks a scheme; and what happened to their packets that
//! never arrived.

use crate::bank::{Bank, Call, Room};
use crate::ids::{LinkId, NodeId, SubflowId, Table};
use crate::packet::{Hashing, Packet};
use spinewise_policy::{Decides, Sees, Sight, Time, Way};
use std::collections::BTreeMap;
use std::ops::Range;

/// A choice.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Time of the choice.
    pub at: Time,
    /// Number of the node where it was made.
    pub node: NodeId,
    /// The packet, before the choice.
    pub packet: Packet,
    /// The scheme's reports about its choices.
    pub sees: &'static Sees,
    /// The rule that it acted by, if it reports one.
    pub rule: Option<u8>,
    /// The choice: one of the candidates, by its place.
    pub chosen: u16,
    /// The way of the previous packet that had the same flow and direction and passed here.
    pub previous: Option<Way>,
    /// Number of its ways that were candidates. There is one more if the way of the previous packet is no longer one of
    /// them.
    pub offered: u16,
    ways: Range<usize>,
    values: usize,
}

/// The fate of a packet that never arrived, or not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// It found no room at a port.
    NoRoom = 0,
    /// It lost its payload at a port, and its header continued.
    Trimmed = 1,
    /// The scheme had it dropped at a port.
    Discarded = 2,
    /// It was lost on a link.
    OnLink = 3,
    /// It came to a switch that knew no route.
    NoWay = 4,
    /// It waited at a port of a switch that died.
    Died = 5,
    /// It had passed as many switches as its hop limit allows: routes led it round in a circle.
    Circled = 6,
}

impl Fate {
    /// Names, by number.
    pub const NAMES: [&'static str; 7] =
        ["no room", "trimmed", "discarded", "lost on the link", "no way on", "died", "hop limit reached"];
}

/// A packet that never arrived, or not whole.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When the loss was found.
    pub at: Time,
    /// Number of the node where it was lost.
    pub node: NodeId,
    /// The link that it should have left by; if lost on a link, without a route or at its hop limit, the one that it
    /// came by.
    pub link: Option<LinkId>,
    /// The packet.
    pub packet: Packet,
    /// Its fate.
    pub fate: Fate,
}

/// All choices of a run, in the order of time; at one instant by node, there in the order they were made.
#[derive(Debug, Default)]
pub struct Choices {
    /// The choices.
    pub all: Vec<Choice>,
    /// The losses, in the same order.
    pub losses: Vec<Loss>,
    ways: Vec<Way>,
    values: Vec<f64>,
}

impl Choices {
    /// The candidates, as path tags at a host and as ports at a switch; and the way of the previous packet.
    pub fn ways(&self, choice: &Choice) -> &[Way] {
        &self.ways[choice.ways.clone()]
    }

    /// The quantities of flow and place that the scheme saw, by [`Sees::flow`].
    pub fn of_flow(&self, choice: &Choice) -> &[f64] {
        &self.values[choice.values..][..choice.sees.flow.len()]
    }

    /// The quantities of a candidate that the scheme saw, by [`Sees::way`].
    pub fn of_way(&self, choice: &Choice, candidate: usize) -> &[f64] {
        let many = choice.sees.way.len();
        &self.values[choice.values + choice.sees.flow.len() + candidate * many..][..many]
    }
}

/// A choice that is to be written down, without its ways.
struct Made {
    at: Time,
    node: NodeId,
    packet: Packet,
    sees: &'static Sees,
    rule: Option<u8>,
    chosen: usize,
}

/// Writes choices down.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Whether places that a hash picks count as choices.
    pub tells_hashes: bool,
    /// Whether each subflow is traced.
    traced: Table<SubflowId, bool>,
    choices: Choices,
    /// The last way by node and key of the flow: a port at a switch, whose candidates may be others by the next packet.
    last: BTreeMap<(NodeId, u32), Way>,
}

impl Recorder {
    /// Creates a recorder for these of `numbers` flows and subflows.
    pub fn new(numbers: usize, wanted: impl Iterator<Item = SubflowId>) -> Self {
        let mut traced = Table::filled(false, numbers);
        wanted.for_each(|subflow| traced[subflow] = true);
        Recorder { traced, ..Recorder::default() }
    }

    /// [`Bank::pick`] at `node`, which has `candidates` for the packet and at most `rows` of them; written
    /// down if its flow is traced and there is a choice, or would be without a fault.
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
        let now = call.now;
        let ports = if let Room::Switch(view) = &call.room { Some(view.candidates) } else { None };
        // A fault may have left a switch one port.
        let few = candidates < 2 && (ports.is_none() || rows < 2);
        if few || !self.wants(sees, packet) {
            return bank.pick_any(call, packet, seen);
        }
        let before = *packet;
        let mut ways = vec![Way::ANY; rows];
        let mut values = vec![f64::NAN; sees.values(rows)];
        let mut sight = Sight::new(sees, candidates, &mut ways, &mut values);
        let (way, header) = bank.pick_and_tell(call, packet, seen, &mut sight);
        let (rule, many) = sight.told();
        ways.truncate(many);
        values.truncate(sees.values(many));
        // A host may leave it to the fabric: then there is no choice here. Nor is there where it knows one way only.
        let Some(chosen) = ways.iter().position(|&candidate| candidate == way) else { return (way, header) };
        if let Some(ports) = ports {
            // The second pass, and the packets to come, know it by its port.
            ways.iter_mut().for_each(|way| *way = Way(ports[way.index()]));
        }
        self.write(&Made { at: now, node, packet: before, sees, rule, chosen }, ports.is_some(), ways, values);
        (way, header)
    }

    /// A packet passes a switch by a port about which no scheme is asked, as a fault has left no other: written down if
    /// its flow is traced.
    #[cold]
    pub fn pass(&mut self, sees: &'static Sees, (at, node): (Time, NodeId), packet: &Packet, port: u16) {
        if self.wants(sees, packet) {
            let made = Made { at, node, packet: *packet, sees, rule: None, chosen: 0 };
            self.write(&made, true, vec![Way(port)], vec![f64::NAN; sees.values(1)]);
        }
    }

    /// Whether the scheme's choice for a packet is to be written down.
    fn wants(&self, sees: &Sees, packet: &Packet) -> bool {
        let chooses = self.tells_hashes || sees.decides == Decides::Chooses;
        chooses && packet.of_flow() && self.traced[packet.subflow()]
    }

    /// Writes a choice down between these ways, if there is one, or would be without a fault.
    fn write(&mut self, made: &Made, at_switch: bool, mut ways: Vec<Way>, mut values: Vec<f64>) {
        let &Made { at, node, packet, sees, rule, chosen } = made;
        let offered = ways.len() as u16;
        let previous = self.last.insert((node, packet.key().0), ways[chosen]);
        if let Some(left) = previous.filter(|left| !ways.contains(left)) {
            // It has been left for one that was offered. The scheme's quantities for it are not reported.
            ways.push(left);
            values.resize(values.len() + sees.way.len(), f64::NAN);
        }
        if ways.len() > 1 || at_switch {
            let from = (self.choices.ways.len(), self.choices.values.len());
            self.choices.ways.extend(ways);
            self.choices.values.extend(values);
            self.choices.all.push(Choice {
                at,
                node,
                packet,
                sees,
                rule,
                chosen: chosen as u16,
                previous,
                offered,
                ways: from.0..self.choices.ways.len(),
                values: from.1,
            });
        }
    }

    /// Notes that a packet is lost, or trimmed, if its flow is traced.
    #[cold]
    pub fn note_loss(&mut self, loss: Loss) {
        if loss.packet.of_flow() && self.traced[loss.packet.subflow()] {
            self.choices.losses.push(loss);
        }
    }

    /// Returns everything written down. The order of writing at one instant depends on the engine.
    pub fn close(mut self) -> Choices {
        self.choices.all.sort_by_key(|choice| (choice.at, choice.node));
        self.choices.losses.sort_by_key(|loss| (loss.at, loss.node));
        self.choices
    }
}
