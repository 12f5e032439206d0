//! A rack of four hosts under MEET, whose messages and probes the tests carry.

use super::{Shell, data};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::meet::{Config, Meet};
use spinewise_policy::{Device, Event, Feedback, FlowKey, Message, Packet, Policy, Span, Tier, To, Way};

pub(crate) const WAYS: u16 = 4;
pub(crate) const PERIOD: Span = Span::from_us(500);
/// A full packet takes 6 µs of a round trip of 10 on the shell's empty path: K is 6 + 20.
pub(crate) const K: Span = Span::from_us(26);

/// The first rack: hosts 0 to 3 of 16, four racks, four paths to each.
pub(crate) struct Rack {
    pub hosts: Vec<Shell<Meet>>,
    /// Actions sent: from, action.
    pub sent: Vec<(u32, Action)>,
    pub points: Vec<(u32, u16, f64)>,
}

impl Rack {
    pub(crate) fn new(config: &Config, size: u32) -> Rack {
        let hosts = (0..size).map(|host| {
            let mut shell = Shell::<Meet>::new(config, Tier::Host, host, WAYS);
            if size == 1 {
                shell.room.leaf_of = vec![0, 1, 1, 1, 1, 2, 3];
            }
            // The rows of all racks exist from the beginning.
            (0..4).for_each(|leaf| shell.call(Some(leaf), None, |_, _, _| ()));
            shell
        });
        Rack { hosts: hosts.collect(), sent: vec![], points: vec![] }
    }

    pub(crate) fn wait(&mut self, span: Span) {
        self.hosts.iter_mut().for_each(|host| host.wait(span));
    }

    /// A packet to rack `leaf` on `way` took this long over K.
    pub(crate) fn ack(&mut self, host: u32, leaf: u32, way: u16, over: Span) {
        let event = Event::Ack { bytes: 1460, rtt: Span::from_us(900), one_way: K + over, marked: false };
        self.tell(host, leaf, way, event);
    }

    pub(crate) fn tell(&mut self, host: u32, leaf: u32, way: u16, event: Event) {
        let feedback = Feedback { way: Way(way), flow: Some(FlowKey(0)), event };
        self.hosts[host as usize].feedback(leaf, feedback);
        self.work_off(host);
    }

    pub(crate) fn flow(&mut self, host: u32, leaf: u32) {
        self.tell(host, leaf, Way::ANY.0, Event::FlowStart { size: 1 });
    }

    pub(crate) fn answer(&mut self, host: u32, leaf: u32, way: u16, over: Span) {
        let event = Event::ProbeReply {
            rtt: Span::ZERO,
            one_way: K + over,
            marked: false,
            by: Device::Host(4 * leaf),
            port: spinewise_policy::Port(0),
        };
        self.tell(host, leaf, way, event);
    }

    pub(crate) fn tick(&mut self, host: u32) {
        self.hosts[host as usize].tick();
        self.work_off(host);
    }

    pub(crate) fn tick_all(&mut self) {
        (0..self.hosts.len() as u32).rev().for_each(|host| self.tick(host));
    }

    /// Carries out a host's requests; messages arrive at once.
    pub(crate) fn work_off(&mut self, from: u32) {
        let (did, bodies) = {
            let host = &mut self.hosts[from as usize];
            (std::mem::take(&mut host.did), std::mem::take(&mut host.bodies))
        };
        for action in did {
            match action {
                Action::Send { to, class, at, len, .. } => {
                    let body = &bodies[at as usize..(at + len) as usize];
                    let all = 0..self.hosts.len() as u32;
                    for host in all.filter(|&host| host != from && (to == To::Rack || to == To::Host(host))) {
                        self.deliver(from, host, class, body);
                    }
                }
                Action::Record { series, value } => self.points.push((from, series, value)),
                _ => {}
            }
            self.sent.push((from, action));
        }
    }

    pub(crate) fn deliver(&mut self, from: u32, to: u32, class: u8, body: &[u8]) {
        let message = Message { from: Device::Host(from), class, flow: None, in_port: Default::default(), body };
        self.hosts[to as usize].call(Some(0), None, |policy, cx, row| policy.message(cx, row, &message));
        self.work_off(to);
    }

    /// Counts how many new flows of `host` take each path to rack 1.
    pub(crate) fn picks(&mut self, host: u32, flows: u32) -> [u32; WAYS as usize] {
        let mut seen = [0; WAYS as usize];
        for flow in 1000..1000 + flows {
            let packet = Packet { src: host, ..data(flow) };
            seen[self.hosts[host as usize].pick(1, &packet, &mut ()).index()] += 1;
            self.hosts[host as usize].flows.clear();
        }
        seen
    }

    /// Ways probed since the last call, by (host, target).
    pub(crate) fn probed(&mut self) -> Vec<(u32, u32, u16)> {
        let probes = std::mem::take(&mut self.sent).into_iter().filter_map(|(from, action)| match action {
            Action::Probe { to: To::Host(target), way, wire: 64, ttl: 0, .. } => Some((from, target, way.0)),
            Action::Probe { .. } => panic!("{action:?}"),
            _ => None,
        });
        probes.collect()
    }
}

/// This many microseconds.
pub(crate) fn us(n: u64) -> Span {
    Span::from_us(n)
}
