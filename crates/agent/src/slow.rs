//! The slow half: a scheme of `spinewise-policy` with its rows, unchanged, as the simulator's bank lends them.
//!
//! The fast half decides in the kernel, so the scheme is called twice. A *rehearsal* asks `pick` for its answers for
//! the next units, and leaves no trace; the answers are published. A *replay* reports to the scheme the events since
//! then: `pick` for packets sent, `ingress` for packets that arrived, `feedback` for measurements. Both use the same
//! rows, so the replay takes the ways that were rehearsed.

mod anew;
mod said;

pub use said::{Rehearsed, Wish};

use crate::layout::{SLOTS, Unit, WAYS};
use crate::plan::Plan;
use crate::view::View;
use spinewise_policy::out::Action;
use spinewise_policy::schemes::{clove, elab};
use spinewise_policy::{
    Device, Event, Feedback, FlowKey, Hooks, Key, Kind, Message, Packet, Peers, Phase, Quantity, Shape, Sight, Span,
    Tier, Time, To, Way, Wire,
};
use spinewise_sim::bank::{Bank, Call, Called, Fired, NO_PEER, Places, Room, Tags};
use std::collections::{BTreeMap, BTreeSet};

/// A scheme at this host.
pub struct Slow {
    bank: Bank,
    plan: Plan,
    /// The scheme's view of the fabric.
    pub view: View,
    wishes: Vec<Wish>,
    timers: BTreeSet<(Time, Key)>,
    next_tick: Time,
    next_flow: u32,
    /// Per host: the flow of the newest unit, and when it was last asked about.
    carriers: BTreeMap<u32, (FlowKey, Time)>,
    /// The gap that opens a flowlet, if there is one.
    gap: Span,
    masked: bool,
    seed: u64,
    most_paths: u16,
    /// The scheme's time zero, ns of the machine's clock: its time, in picoseconds, ends 213 days later, and machines
    /// run for longer.
    pub epoch: u64,
}

/// A bank with the scheme seated at every host, so that each has the random stream it has in the simulator; only this
/// host's seat is ever used.
fn seated(plan: &Plan, view: &View, seed: u64, most_paths: u16) -> Bank {
    let (hosts, leaves) = (view.racks.len(), view.ways.len() as u32);
    let shape = Shape { tier: Tier::Host, hosts: hosts as u32, leaves, ports: 0, ways: most_paths };
    plan.chosen.seat(&Places { shapes: vec![shape], kinds: vec![0; hosts], tags: Tags::Outer }, seed, Called::AsItSays)
}

impl Slow {
    /// The scheme takes its seat at this host.
    pub fn new(plan: Plan, view: View, seed: u64, most_paths: u16) -> Slow {
        let bank = seated(&plan, &view, seed, most_paths);
        let mut slow = Slow {
            bank,
            plan,
            view,
            wishes: Vec::new(),
            timers: BTreeSet::new(),
            next_tick: Time::NEVER,
            next_flow: 0,
            carriers: BTreeMap::new(),
            gap: Span::ZERO,
            masked: false,
            seed,
            most_paths,
            epoch: 0,
        };
        slow.next_tick = slow.first_tick();
        slow
    }

    /// An instant of the machine's clock, ns, in the scheme's time.
    pub fn time(&self, ns: u64) -> Time {
        Time(ns.saturating_sub(self.epoch).saturating_mul(1000))
    }

    /// The plan it runs by.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The quantities it observes of each way.
    pub fn quantities(&self) -> (usize, &'static [Quantity]) {
        let sees = self.bank.sheet().sees;
        (sees.flow.len(), sees.way)
    }

    /// Whether it chooses the ways of acknowledgements.
    pub fn picks_acks(&self) -> bool {
        self.bank.layout(self.view.host).picks_acks
    }

    fn first_tick(&self) -> Time {
        let layout = self.bank.layout(self.view.host);
        if layout.tick == Span::ZERO || !self.bank.hooks().has(Hooks::TICK) {
            return Time::NEVER;
        }
        Time::ZERO
            + match layout.phase {
                Phase::Zero => layout.tick,
                Phase::Random => self.bank.phase(self.view.host, layout.tick),
            }
    }

    fn peer_of(&self, host: Option<u32>) -> u32 {
        match (self.bank.peers(self.view.host), host) {
            (Peers::None, _) | (_, None) => NO_PEER,
            (Peers::Hosts, Some(host)) => host,
            (Peers::Leaves, Some(host)) => self.view.racks[host as usize],
        }
    }

    /// Calls a hook about a host, and handles its requests.
    fn hook<R>(&mut self, now: Time, about: Option<u32>, hook: impl FnOnce(&mut Bank, Call<'_>) -> R) -> R {
        let peer = self.peer_of(about);
        let call = Call { seat: self.view.host, now, room: Room::Host(self.view.lent()), peer };
        let answer = hook(&mut self.bank, call);
        self.carry_out(now);
        answer
    }

    fn carry_out(&mut self, now: Time) {
        if !self.bank.has_asked() {
            return;
        }
        let asked = self.bank.asked();
        for action in &asked.actions[..asked.len] {
            match *action {
                Action::Send { to, class, at, len, .. } => {
                    let body = asked.bytes[at as usize..(at + len) as usize].to_vec();
                    let to = self.view.hosts_of(to);
                    self.wishes.push(Wish::Send { to, class, body });
                }
                Action::Probe { to: To::Host(to), way, ttl, give_up, .. } => {
                    self.wishes.push(Wish::Probe { to, way, ttl, give_up });
                }
                Action::Arm { key, at } => {
                    if let Some(at) = self.bank.arm(self.view.host, key, at.max(now)) {
                        self.timers.insert((at, key));
                    }
                }
                Action::Cancel { key } => self.bank.cancel(self.view.host, key),
                Action::MaskEcn => self.masked = true,
                Action::Record { series, value } => {
                    let series = self.bank.sheet().series[usize::from(series)].name;
                    self.wishes.push(Wish::Record { series, value });
                }
                // Held queues and drops are for switches, and so are probes to one.
                Action::Release { .. } | Action::Discard | Action::Probe { .. } => {}
            }
        }
        self.bank.give_back(asked);
    }

    /// Returns the requests of hooks since the last call.
    pub fn wishes(&mut self) -> Vec<Wish> {
        std::mem::take(&mut self.wishes)
    }

    /// When it wants to be called again.
    pub fn due(&self) -> Time {
        self.timers.first().map_or(Time::NEVER, |&(at, _)| at).min(self.next_tick)
    }

    /// Runs ticks and timers that are due.
    pub fn catch_up(&mut self, now: Time) {
        if now >= self.next_tick {
            self.hook(now, None, Bank::tick);
            let period = self.bank.layout(self.view.host).tick;
            // Missed ticks are not made up for.
            self.next_tick = (self.next_tick + period).max(now + Span(period.0 / 2));
        }
        while let Some(&(at, key)) = self.timers.first().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, key));
            let about = if let Key::Route(peer, _, _) = key { Some(peer) } else { None };
            // A timer is called for its own instant; otherwise it would pass for one that was moved.
            let peer = about.unwrap_or(NO_PEER);
            let call = Call { seat: self.view.host, now: at, room: Room::Host(self.view.lent()), peer };
            if let Fired::Early(at) = self.bank.timer(call, key) {
                self.timers.insert((at, key));
            }
            self.carry_out(now);
        }
    }

    fn packet(&mut self, to: u32) -> Packet {
        self.next_flow = (self.next_flow + 1) & 0x3fff_ffff;
        let flow = FlowKey::data(self.next_flow);
        let (wire, payload) = (self.view.mtu, self.view.mss);
        Packet { flow, src: self.view.host, dst: to, wire, payload, way: Way::ANY, ..Packet::default() }
    }

    /// Returns what `pick` would answer for the next units to this host.
    pub fn rehearse(&mut self, now: Time, to: u32) -> Rehearsed {
        let sees = self.bank.sheet().sees;
        let ways = usize::from(self.view.ways[self.view.racks[to as usize] as usize]);
        let mut packet = self.packet(to);
        let (mut names, mut values) = ([Way(0); WAYS], vec![f64::NAN; sees.values(WAYS)]);
        let call = Call { seat: self.view.host, now, room: Room::Host(self.view.lent()), peer: self.peer_of(Some(to)) };
        let by_port = self.plan.by_port;
        let (slots, many) = self.bank.rehearse(self.view.host, |bank| {
            let mut slots = Vec::with_capacity(SLOTS);
            for _ in 0..SLOTS {
                let mut header = [0; 16];
                packet.flow = FlowKey::data(packet.flow.0 / 2 + 1);
                let (way, _) = bank.pick_for(call, &packet, &mut header, None);
                let burst = if by_port { elab::header::Header::get(&header).info.burst_id } else { 0 };
                slots.push((way, burst));
            }
            // The sight is that of the next packet of a flow: some schemes report no size before the first.
            let mut sight = Sight::new(&sees, ways.min(WAYS), &mut names, &mut values);
            bank.pick_for(call, &packet, &mut [0; 16], Some(&mut sight));
            let many = sight.told().1;
            (slots, many)
        });
        let flow_value = |names: &[&str]| {
            let at = sees.flow.iter().position(|quantity| names.contains(&quantity.name));
            at.map_or(f64::NAN, |at| values[at])
        };
        let bits = |name: &str| {
            let Some(at) = sees.way.iter().position(|quantity| quantity.name == name) else { return 0 };
            let of = |way: &usize| values[sees.flow.len() + way * sees.way.len() + at] == 1.0;
            (0..many).filter(of).fold(0u64, |bits, way| bits | 1 << way)
        };
        let size = flow_value(&["cell_size", "flowlet_gap"]);
        if self.plan.unit == Unit::Flowlet {
            self.gap = Span::from_us_f64(size);
        }
        let (dead, best) = (bits("dead"), bits("best"));
        values.truncate(sees.values(many));
        Rehearsed { slots, size, offered: names[..many].to_vec(), dead, best, sight: values }
    }

    /// This many units, with this many packets in all, each of `wire` bytes, were sent to a host. Returns the headers
    /// that go back with them.
    pub fn sent(&mut self, now: Time, to: u32, (units, packets): (u32, u32), wire: u32) -> Vec<[u8; 16]> {
        /// Maximum number of packets replayed at a time.
        const MOST: u32 = 4096;
        let mut headers = Vec::new();
        let opening = if self.plan.unit == Unit::Packet { packets } else { units }.min(MOST);
        for _ in 0..opening {
            let packet = Packet { wire, ..self.packet(to) };
            self.send(now, packet, &mut headers);
            if let Some((before, _)) = self.carriers.insert(to, (packet.flow, now)) {
                self.bank.forget(self.view.host, before);
            }
        }
        let carries = self.plan.chosen.entry().header && self.plan.unit == Unit::Flowlet;
        if carries && packets > units {
            self.carry(now, to, &mut headers);
        }
        headers
    }

    /// Packets that open no unit still carry headers. They belong to the flow that opened the last one, and come often
    /// enough to keep it alive.
    fn carry(&mut self, now: Time, to: u32, headers: &mut Vec<[u8; 16]>) {
        /// Packets between now and the last one, at most.
        const MOST: u32 = 64;
        let Some(&(flow, mut last)) = self.carriers.get(&to) else { return };
        for _ in 0..MOST {
            last = now.min(last + self.gap);
            let packet = Packet { flow, ..self.packet(to) };
            self.send(last, packet, headers);
            if last == now {
                break;
            }
        }
        self.carriers.insert(to, (flow, now));
    }

    fn send(&mut self, now: Time, packet: Packet, headers: &mut Vec<[u8; 16]>) {
        let mut header = [0; 16];
        let (_, wire) = self.hook(now, Some(packet.dst), |bank, call| bank.pick_for(call, &packet, &mut header, None));
        if wire > 0 && self.tells(&header) {
            headers.push(header);
        }
    }

    /// Whether this header holds anything.
    fn tells(&self, header: &[u8; 16]) -> bool {
        if self.plan.by_port {
            let info = elab::header::Header::get(header).info;
            return info.vp_rcnt > 0 || info.marked || info.rate.is_some();
        }
        clove::Feedback::get(header).0.is_some()
    }

    /// The header of a packet that says nothing.
    fn blank(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        if self.plan.by_port {
            let info = elab::header::Info { vp_id: elab::header::NO_PATH, ..elab::header::Info::default() };
            elab::header::Header { tunnel: 8, info }.put(&mut bytes);
        }
        bytes
    }

    /// A packet has come from a host, by this way of that host's. Returns whether the scheme hides its mark from the
    /// transport.
    pub fn arrived(&mut self, now: Time, from: u32, way: Way, (wire, ce): (u32, bool), burst: u16) -> bool {
        let mut header = self.blank();
        if burst > 0 {
            let info = elab::header::Header::get(&header).info;
            elab::header::Header { tunnel: 8, info: elab::header::Info { burst_id: burst, ..info } }.put(&mut header);
        }
        self.ingress(now, from, way, Kind::Data, (wire, ce), header)
    }

    /// A header of the scheme has come. Returns whether the scheme hides the echo of marks from the transport.
    pub fn heard(&mut self, now: Time, from: u32, way: Way, mut header: [u8; 16]) -> bool {
        if self.plan.by_port {
            // It was made for a packet of that burst, and comes with another one. Bursts are reported by their counts.
            let mut whole = elab::header::Header::get(&header);
            whole.info.burst_id = 0;
            whole.put(&mut header);
        }
        self.ingress(now, from, way, Kind::Ack, (self.view.mtu, false), header)
    }

    /// A header of the scheme has come that found no packet to carry it.
    pub fn heard_alone(&mut self, now: Time, from: u32, header: [u8; 16]) {
        /// ELAB's class of messages that are info headers, one after another.
        const FEEDBACK: u8 = 0;
        if !self.plan.by_port {
            self.ingress(now, from, Way::ANY, Kind::Ack, (self.view.mtu, false), header);
            return;
        }
        // ELAB counts the carrier of a header as a packet of its path, which this is not.
        let mut body = [0; 16];
        let info = elab::header::Header::get(&header).info;
        if let Ok(length) = info.encode(&mut body) {
            self.message(now, from, FEEDBACK, &body[..length]);
        }
    }

    /// Whether it would currently hide the echo of marks from the transport.
    pub fn hides(&mut self, now: Time, from: u32) -> bool {
        let header = self.blank();
        let packet = Packet {
            kind: Kind::Ack,
            flow: FlowKey::ack(0),
            src: from,
            dst: self.view.host,
            wire: 64,
            way: Way(0),
            ..Packet::default()
        };
        let call =
            Call { seat: self.view.host, now, room: Room::Host(self.view.lent()), peer: self.peer_of(Some(from)) };
        self.bank.hooks().has(Hooks::INGRESS)
            && self.bank.rehearse(self.view.host, |bank| {
                let mut header = header;
                bank.ingress(call, &packet, &mut header);
                let asked = bank.asked();
                let hides = asked.actions[..asked.len].contains(&Action::MaskEcn);
                bank.give_back(asked);
                hides
            })
    }

    fn ingress(
        &mut self,
        now: Time,
        from: u32,
        way: Way,
        kind: Kind,
        (wire, ce): (u32, bool),
        mut header: [u8; 16],
    ) -> bool {
        if !self.bank.hooks().has(Hooks::INGRESS) {
            return false;
        }
        let flow = FlowKey(self.next_flow << 1 | u32::from(kind == Kind::Ack));
        let payload = if kind == Kind::Data { self.view.mss.min(wire) } else { 0 };
        let packet = Packet { kind, flow, src: from, dst: self.view.host, wire, payload, ce, way, ..Packet::default() };
        self.masked = false;
        self.hook(now, Some(from), |bank, call| bank.ingress(call, &packet, &mut header));
        self.bank.forget(self.view.host, flow);
        self.masked
    }

    /// Something was learnt of a way to a host.
    pub fn learnt(&mut self, now: Time, of: u32, way: Way, event: Event) {
        let wanted = if event.is_loss() { Hooks::LOSS } else { Hooks::FEEDBACK };
        if self.bank.hooks().has(wanted) && self.view.racks[of as usize] != self.view.racks[self.view.host as usize] {
            let feedback = Feedback { way, flow: None, event };
            self.hook(now, Some(of), |bank, call| bank.feedback(call, &feedback));
        }
    }

    /// A message of another agent's scheme has come.
    pub fn message(&mut self, now: Time, from: u32, class: u8, body: &[u8]) {
        if self.bank.hooks().has(Hooks::MESSAGE) {
            let in_port = spinewise_policy::Port(0);
            let message = Message { from: Device::Host(from), class, flow: None, in_port, body };
            self.hook(now, Some(from), |bank, call| bank.message(call, &message));
        }
    }
}
