//! SELB's Fig. 4: a flow is rerouted behind its packet 3. Under ConWeave packets 4 to 7 may arrive before it, by a path
//! that is much better; under SELB only packet 4 does, because the new path is one of the old path's class.
//!
//! The figure's only numbers are those of its packets. Here a host sends packets of 1,000 bytes at 10 Gbps, one every
//! 800 ns; a path takes 1 µs and the time of its queue, which does not change. The queues have three classes of
//! lengths.

use crate::common::{Shell, data};
use spinewise_policy::fabric::reorder::header::{Header, Mark};
use spinewise_policy::out::Action;
use spinewise_policy::schemes::conweave::{self, ConWeave};
use spinewise_policy::schemes::selb::{self, Monitor, Selb};
use spinewise_policy::*;

/// Time between two packets of 1,000 bytes at 10 Gbps.
const GAP: Span = Span::from_ns(800);
/// Queues of the uplinks, bytes: the old path's, one of its class, two much shorter ones and two much longer ones.
const QUEUES: [u64; 6] = [5_000, 3_500, 500, 500, 40_000, 41_000];
/// The old path, and the other one of its class.
const OLD: usize = 0;
const ALIKE: usize = 1;

/// A packet in flight: when it arrives, its number, its header.
type Flying = (Time, u64, Header);

/// Packets 1 to 7 of a flow, the last four on a new path, which is returned; `None` if the flow did not start on the
/// old one. `before_third` does what happens before packet 3.
fn seven<P>(source: &mut Shell<P>, before_third: impl Fn(&mut Shell<P>)) -> Option<(Vec<Flying>, usize)>
where
    P: Policy<Site = AtSwitch, Header = Header>,
{
    let mut flying = vec![];
    for number in 1..=7 {
        if number == 3 {
            before_third(source);
        }
        let mut header = Header::default();
        let way = source.pick(1, &Packet { seq: number, ..data(1) }, &mut header).index();
        if number == 1 && way != OLD {
            return None;
        }
        let delay = Span::from_us(1) + Span(source.room.ports.bytes[4 + way] * 800);
        flying.push((source.now + delay, number, header));
        source.wait(GAP);
    }
    let marks: Vec<Mark> = flying.iter().map(|(_, _, header)| header.mark).collect();
    assert_eq!(marks[..4], [Mark::Init, Mark::Data, Mark::Tail, Mark::Data], "packet 3 is the tail");
    let ways: Vec<usize> = flying.iter().map(|(_, _, header)| header.way.index()).collect();
    assert_eq!(ways[..3], [OLD; 3]);
    assert!(ways[3..].iter().all(|way| *way == ways[3]), "{ways:?}");
    let new = ways[3];
    Some((flying, new))
}

/// Lets them arrive at the last leaf: those that were held, and for how long they had a reorder queue.
fn arrive<P>(last: &mut Shell<P>, mut flying: Vec<Flying>) -> (Vec<u64>, Span)
where
    P: Policy<Site = AtSwitch, Header = Header>,
{
    last.room.ports.free = Some(Queue(3));
    flying.sort_by_key(|(at, number, _)| (*at, *number));
    let (mut held, mut since, mut occupied) = (vec![], None, Span::ZERO);
    for (at, number, header) in flying {
        last.now = at;
        let packet = Packet { in_port: Port(4), out_port: Port(0), seq: number, ..data(1) };
        if last.ingress(0, &packet, &mut { header }) == Verdict::Hold(Queue(3)) {
            held.push(number);
            since.get_or_insert(at);
        }
        if last.did.contains(&Action::Release { port: Port(0), queue: Queue(3) }) {
            assert_eq!(number, 3, "the tail releases them");
            occupied = at.since(since.expect("something was held"));
        }
    }
    assert_eq!(held.is_empty(), occupied == Span::ZERO);
    (held, occupied)
}

fn source<P: Policy<Site = AtSwitch>>(config: &P::Config, seed: u64) -> Shell<P> {
    let mut source = Shell::<P>::new(config, Tier::Leaf, 0, QUEUES.len() as u16);
    source.rng = Rng::stream(seed, "test", 0);
    source.now = Time(1_000_000);
    source.room.ports.bytes[4..].copy_from_slice(&QUEUES);
    source
}

/// Early arrivals of a flow under SELB, and the new path.
fn under_selb(monitor: Monitor, seed: u64) -> Option<(Vec<u64>, Span, usize)> {
    let config = selb::Config { monitor, ..selb::Config::default() };
    let mut shell = source::<Selb>(&config, seed);
    shell.room.ports.bytes[4 + OLD] = 4_000;
    shell.tick();
    let clusters: Vec<u8> = shell.ports[4..].iter().map(|port| port.cluster).collect();
    assert_eq!(clusters, [1, 1, 0, 0, 2, 2]);
    // 1,000 bytes more in 800 ns: growth by as much as the link sends.
    let (flying, new) = seven(&mut shell, |shell| {
        shell.room.ports.bytes[4 + OLD] = QUEUES[OLD];
        if monitor == Monitor::Interval {
            shell.tick();
        }
    })?;
    let (held, occupied) = arrive(&mut Shell::<Selb>::new(&config, Tier::Leaf, 1, QUEUES.len() as u16), flying);
    Some((held, occupied, new))
}

/// The same under ConWeave, whose deadline lies between packets 2 and 3.
fn under_conweave(seed: u64) -> Option<(Vec<u64>, Span, usize)> {
    let config = conweave::Config { theta_reply_us: 1.2, ..conweave::Config::default() };
    let (flying, new) = seven(&mut source::<ConWeave>(&config, seed), |_| {})?;
    let (held, occupied) = arrive(&mut Shell::<ConWeave>::new(&config, Tier::Leaf, 1, QUEUES.len() as u16), flying);
    Some((held, occupied, new))
}

#[test]
fn under_selb_packet_4_alone_comes_before_the_tail() {
    for monitor in [Monitor::Interval, Monitor::Measured, Monitor::Packet] {
        let all: Vec<_> = (0..300).filter_map(|seed| under_selb(monitor, seed)).collect();
        assert!(all.len() > 25, "{}", all.len());
        // Packet 4 leaves 800 ns after packet 3 by a queue that is 1,200 ns shorter.
        let expected = (vec![4], Span::from_ns(400), ALIKE);
        assert!(all.iter().all(|seen| *seen == expected), "{monitor:?}: {all:?}");
    }
}

#[test]
fn under_conweave_the_path_is_unpredictable_and_packets_4_to_7_may_come_before_the_tail() {
    let mut times = [0; QUEUES.len()];
    for (held, occupied, new) in (0..600).filter_map(under_conweave) {
        times[new] += 1;
        let expected = match new {
            ALIKE => (vec![4], Span::from_ns(400)),
            // Packet 4 leaves 800 ns after packet 3 by a queue that is 3,600 ns shorter.
            2 | 3 => (vec![4, 5, 6, 7], Span::from_ns(2_800)),
            _ => (vec![], Span::ZERO),
        };
        assert_eq!((held, occupied), expected, "by uplink {new}");
    }
    assert!(times.iter().all(|times| *times > 5), "any path: {times:?}");
}
