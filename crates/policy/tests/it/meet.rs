//! MEET by hand: the conclusions of a rack's hosts from their inputs.

use crate::common::meet::{PERIOD, Rack, WAYS, us};
use crate::common::{Shell, data};
use spinewise_policy::edge::delay::Delay;
use spinewise_policy::edge::pieces::LEAD;
use spinewise_policy::out::Action;
use spinewise_policy::schemes::meet::*;
use spinewise_policy::{Event, Packet, Phase, Policy, Shape, Span, Tier, Time, To, Way};

#[test]
fn the_rack_learns_what_one_host_has_met() {
    let mut rack = Rack::new(&Config { probe: Probe::Off, ..Config::default() }, 4);
    assert!(rack.picks(3, 400).iter().all(|&n| n > 60), "before anything is known all paths are alike");
    // As in Fig. 3: two hosts, three paths, each with its sums and counts.
    for (host, way, over) in [(1, 0, 40), (1, 1, 4), (2, 0, 0), (2, 2, 30), (2, 3, 90)] {
        rack.ack(host, 1, way, us(over));
    }
    rack.wait(PERIOD);
    rack.tick_all();
    for host in 0..4 {
        assert_eq!(rack.picks(host, 50), [0, 50, 0, 0], "host {host}");
    }
    // The window ends: what was heard before no longer counts.
    rack.ack(3, 1, 1, us(50));
    rack.ack(3, 1, 3, us(1));
    rack.wait(PERIOD);
    rack.tick_all();
    let seen = rack.picks(0, 200);
    assert_eq!((seen[1], seen[3]), (0, 0), "unknown paths count as idle: {seen:?}");
    assert!(seen[0] > 60 && seen[2] > 60, "{seen:?}");
}

#[test]
fn packets_vote_not_hosts() {
    let mut rack = Rack::new(&Config { probe: Probe::Off, ..Config::default() }, 4);
    // Way 0: one packet of 10 steps over K at host 1, nine at K at host 2: a mean of 100. Way 1: 5 steps: 125.
    rack.ack(1, 1, 0, Span::from_ns(2_560));
    (0..9).for_each(|_| rack.ack(2, 1, 0, us(0)));
    rack.ack(1, 1, 1, Span::from_ns(1_280));
    (2..WAYS).for_each(|way| rack.ack(3, 1, way, us(80)));
    rack.wait(PERIOD);
    rack.tick_all();
    assert_eq!(rack.picks(3, 20), [20, 0, 0, 0]);
}

#[test]
fn a_flow_moves_only_between_flowlets_and_only_if_its_path_is_not_among_the_best() {
    let mut rack = Rack::new(&Config { probe: Probe::Off, ..Config::default() }, 4);
    let pick = |rack: &mut Rack| rack.hosts[2].pick(1, &Packet { src: 2, ..data(7) }, &mut ()).0;
    let old = pick(&mut rack);
    let other = (old + 1) % WAYS;
    for tie in [true, false] {
        (0..WAYS).for_each(|way| rack.ack(1, 1, way, us(70)));
        if tie {
            rack.ack(1, 1, old, us(70));
        }
        (0..WAYS).filter(|&way| !tie && way != other).for_each(|way| rack.ack(1, 1, way, us(90)));
        rack.tick_all();
        rack.wait(PERIOD);
        assert_eq!(pick(&mut rack), old, "the flowlet goes on");
        rack.wait(PERIOD + Span(1));
        assert_eq!(pick(&mut rack), if tie { old } else { other });
    }
}

/// §3.5: 64 paths of 8 bytes every 100 µs are "around 40 Mbps".
#[test]
fn a_report_of_64_paths_every_100_us_is_40_96_mbps() {
    for (mtu, packets) in [(1500, 1), (256, 3), (100, 13)] {
        let mut host = Shell::<Meet>::new(&Config { t_update_us: 100.0, ..Config::default() }, Tier::Host, 1, 8);
        // Eight remote racks with eight paths each.
        host.room.leaf_of = (0..18).map(|host| host / 2).collect();
        host.room.ways = vec![8; 9];
        (0..9).for_each(|leaf| host.call(Some(leaf), None, |_, _, _| ()));
        host.call(None, None, |policy, cx, _| {
            cx.view.mtu = mtu;
            policy.tick(cx);
        });
        let sent = host.did.iter().filter_map(|action| match *action {
            Action::Send { to: To::Host(0), len, wire, .. } => Some((len, wire)),
            _ => None,
        });
        let sent: Vec<(u32, u32)> = sent.collect();
        let bytes: u32 = sent.iter().map(|(len, _)| len - LEAD as u32).sum();
        assert_eq!(f64::from(bytes) * 8.0 / 100.0, 40.96, "Mbps");
        assert_eq!(sent.len(), packets, "packets of at most {mtu} bytes");
        assert!(sent.iter().all(|&(len, wire)| wire == len + 42 && wire <= mtu), "{sent:?}");
    }
}

#[test]
fn three_probes_the_best_the_last_best_and_one_uncovered() {
    let mut rack = Rack::new(&Config::default(), 4);
    rack.wait(PERIOD);
    rack.tick_all();
    assert!(rack.probed().is_empty(), "nobody has flows");
    rack.flow(2, 1);
    rack.flow(0, 3);
    (0..3).for_each(|way| rack.ack(2, 1, way, us(10 * u64::from(way))));
    rack.wait(PERIOD);
    rack.tick_all();
    let probed = rack.probed();
    assert!(probed.iter().all(|&(from, ..)| from == 0), "the proxy probes: {probed:?}");
    let to = |target| {
        let mut ways: Vec<u16> = probed.iter().filter(|probe| probe.1 == target).map(|probe| probe.2).collect();
        ways.sort_unstable();
        ways.dedup();
        ways
    };
    assert_eq!((to(4).len(), to(12).len(), probed.len()), (3, 3, 6), "three paths to the counterpart in racks 1 and 3");
    // Two rounds: in the first, way 1 was best.
    (0..WAYS).for_each(|way| rack.answer(0, 1, way, us(if way == 1 { 1 } else { 50 })));
    for _ in 0..40 {
        (0..3).for_each(|way| rack.ack(2, 1, way, us(if way == 2 { 0 } else { 30 })));
        rack.wait(PERIOD);
        rack.tick_all();
        let ways: Vec<u16> = rack.probed().iter().filter(|probe| probe.1 == 4).map(|probe| probe.2).collect();
        assert_eq!(ways, [2, 1, 3], "the least congested, the best of last time, the one that no data covered");
        rack.answer(0, 1, 1, us(1));
        rack.answer(0, 1, 2, us(4));
        rack.answer(0, 1, 3, us(9));
    }
}

#[test]
fn a_lost_probe_closes_a_path_until_it_answers() {
    let mut rack = Rack::new(&Config::default(), 4);
    rack.flow(1, 1);
    rack.tick_all();
    rack.tell(0, 1, 2, Event::ProbeLost);
    assert_eq!(rack.points.pop(), Some((0, 3, 2.0)));
    for _ in 0..3 {
        [0, 1, 3].into_iter().for_each(|way| rack.ack(1, 1, way, us(300)));
        rack.wait(PERIOD);
        rack.tick_all();
        assert_eq!(rack.picks(3, 60)[2], 0, "as if it had taken 500 µs");
    }
    rack.answer(0, 1, 2, us(3));
    [0, 1, 3].into_iter().for_each(|way| rack.ack(1, 1, way, us(300)));
    rack.wait(PERIOD);
    rack.tick_all();
    assert_eq!(rack.picks(3, 60), [0, 0, 60, 0]);
}

/// The wait for a probe may be shorter than K: a lost one is still congestion (§4.2).
#[test]
fn a_lost_probe_is_congestion_however_short_the_wait() {
    for config in [
        Config { k_us: 600.0, ..Config::default() },
        Config { probe_timeout_us: 7.0, ..Config::default() },
        Config { t_update_us: 10.0, t_probe_us: 10.0, ..Config::default() },
    ] {
        let mut rack = Rack::new(&config, 4);
        rack.flow(1, 1);
        rack.tick_all();
        rack.tell(0, 1, 2, Event::ProbeLost);
        rack.tick_all();
        let seen = rack.picks(3, 60);
        assert!(seen[2] == 0 && seen.iter().sum::<u32>() == 60, "{config:?}: {seen:?}");
    }
}

/// A patience of three periods reports a loss when later probes have long been answered.
#[test]
fn a_loss_does_not_outdo_a_later_answer() {
    let mut rack = Rack::new(&Config { probe_timeout_us: 1_500.0, ..Config::default() }, 4);
    rack.flow(1, 1);
    rack.wait(PERIOD * 6);
    let lose = |rack: &mut Rack| {
        rack.tell(0, 1, 2, Event::ProbeLost);
        [0, 1, 3].into_iter().for_each(|way| rack.ack(1, 1, way, us(300)));
        rack.tick_all();
        rack.picks(3, 60)[2]
    };
    rack.answer(0, 1, 2, us(3));
    rack.wait(us(1_490));
    assert_eq!(lose(&mut rack), 60, "sent 10 µs before the one that was answered");
    assert_eq!(rack.points.iter().filter(|point| point.1 == 3).count(), 1, "recorded all the same");
    rack.wait(us(20));
    assert_eq!(lose(&mut rack), 0, "sent 10 µs after it");
}

#[test]
fn who_steps_down_keeps_what_it_probed_for_itself() {
    for (probe, kept) in [(Probe::Host, true), (Probe::Proxy, false)] {
        let mut rack = Rack::new(&Config { probe, ..Config::default() }, 4);
        rack.flow(0, 1);
        rack.tick_all();
        rack.tell(0, 1, 2, Event::ProbeLost);
        // Host 3 says that it is the proxy, in the next term; it knows nothing of the paths.
        let unknown = congestion::Score::UNKNOWN.put();
        let body = [&[0u8; 12][..], &1u32.to_le_bytes(), &unknown.repeat(12)].concat();
        rack.deliver(3, 0, 2, &body);
        assert_eq!(rack.picks(0, 60)[2] == 0, kept, "{probe:?}");
    }
}

#[test]
fn hosts_that_probe_act_on_their_own_answers() {
    let mut rack = Rack::new(&Config { probe: Probe::Host, ..Config::default() }, 4);
    rack.flow(2, 1);
    rack.flow(3, 2);
    rack.tick_all();
    let probed = rack.probed();
    assert_eq!(probed.iter().map(|probe| (probe.0, probe.1)).collect::<Vec<_>>(), [[(3, 11); 3], [(2, 6); 3]].concat());
    // The rack's data: way 0 best. Host 2's probe of way 3 was better still.
    (0..WAYS).for_each(|way| rack.ack(1, 1, way, us(20 + u64::from(way))));
    rack.tick_all();
    rack.answer(2, 1, 3, us(2));
    rack.answer(2, 1, 1, us(10));
    assert_eq!((rack.picks(2, 30), rack.picks(1, 30)), ([0, 0, 0, 30], [30, 0, 0, 0]));
}

#[test]
fn without_probes_nothing_is_probed_and_probes_of_their_own_interval_have_a_timer() {
    for (probe, t_probe_us, periods) in [(Probe::Off, 500.0, 0), (Probe::Host, 500.0, 4), (Probe::Host, 125.0, 0)] {
        let mut rack = Rack::new(&Config { probe, t_probe_us, ..Config::default() }, 4);
        rack.flow(2, 1);
        (0..4).for_each(|_| rack.tick_all());
        let armed = rack.sent.iter().filter(|(_, action)| matches!(action, Action::Arm { .. })).count();
        assert_eq!(armed, if t_probe_us == 125.0 { 4 } else { 0 });
        assert_eq!(rack.probed().len(), 3 * periods, "{probe:?} {t_probe_us}");
        rack.hosts[2].timer(spinewise_policy::Key::Node(0));
        let next = rack.hosts[2].did.last().copied();
        rack.work_off(2);
        if t_probe_us == 125.0 {
            assert_eq!(next, Some(Action::Arm { key: spinewise_policy::Key::Node(0), at: Time::ZERO + us(125) }));
            assert_eq!(rack.probed().len(), 3);
        }
    }
}

#[test]
fn the_next_host_takes_over_from_a_silent_proxy_and_the_one_behind_it_if_need_be() {
    let mut rack = Rack::new(&Config { proxy_fails_at_ms: 2.0, takeover_periods: 3, ..Config::default() }, 4);
    let broadcasts = |rack: &mut Rack| {
        let sent = std::mem::take(&mut rack.sent);
        let from = sent.iter().filter(|(_, a)| matches!(a, Action::Send { to: To::Rack, .. })).map(|(from, _)| *from);
        from.collect::<Vec<_>>()
    };
    let period = |rack: &mut Rack| {
        rack.wait(PERIOD);
        rack.ack(3, 1, 0, us(80));
        rack.tick_all();
        broadcasts(rack)
    };
    for _ in 0..3 {
        assert_eq!(period(&mut rack), [0]);
    }
    assert!(rack.points.iter().all(|point| point.1 != 2), "nobody was silent");
    // 1.5 ms was the last broadcast.
    for _ in 0..3 {
        assert_eq!(period(&mut rack), []);
    }
    assert_eq!(rack.picks(2, 80)[0], 0, "a silence of three periods is still believed");
    assert_eq!(period(&mut rack), [1], "then host 1 steps up");
    assert_eq!(rack.points.iter().filter(|p| p.1 == 2).collect::<Vec<_>>(), [&(1, 2, 2_000.0)]);
    rack.points.clear();
    for _ in 0..12 {
        assert_eq!(period(&mut rack), [1], "and stays; the failed one follows it");
        assert!((0..4).all(|host| rack.picks(host, 40)[0] == 0), "the rack knows of host 3's packets again");
    }
    assert!(rack.points.iter().all(|point| point.1 != 2));
}

#[test]
fn two_who_step_up_settle_on_the_first() {
    let mut rack = Rack::new(&Config { proxy_fails_at_ms: 0.1, takeover_periods: 1, ..Config::default() }, 4);
    rack.tick_all();
    // Hosts 2 and 3 tick long before host 1: both step up, then hear each other.
    rack.wait(PERIOD * 4);
    rack.tick(3);
    let stepped = |rack: &Rack| rack.points.iter().filter(|p| p.1 == 2).map(|p| p.0).collect::<Vec<_>>();
    assert_eq!(stepped(&rack), [3], "four periods are enough for the third behind");
    rack.sent.clear();
    for _ in 0..4 {
        rack.wait(PERIOD);
        rack.tick_all();
    }
    assert_eq!(stepped(&rack), [3], "one proxy at a time");
    let body = [[0u8; 4], [0; 4], [0; 4], 1u32.to_le_bytes()].concat();
    rack.deliver(2, 1, 2, &body);
    rack.deliver(2, 3, 2, &body);
    rack.sent.clear();
    rack.tick(3);
    assert!(rack.sent.iter().any(|(_, a)| matches!(a, Action::Send { to: To::Host(2), .. })), "3 reports to 2 now");
    rack.deliver(3, 1, 2, &body);
    rack.sent.clear();
    rack.tick(1);
    assert!(
        rack.sent.iter().any(|(_, a)| matches!(a, Action::Send { to: To::Host(2), .. })),
        "of equal terms the first"
    );
}

#[test]
fn a_view_nobody_refreshes_is_forgotten() {
    let mut rack = Rack::new(&Config { proxy_fails_at_ms: 0.1, probe: Probe::Off, ..Config::default() }, 4);
    (0..WAYS).for_each(|way| rack.ack(2, 1, way, us(10 + u64::from(way))));
    rack.tick_all();
    assert_eq!(rack.picks(3, 40), [40, 0, 0, 0]);
    rack.wait(PERIOD * 3);
    rack.tick(3);
    assert_eq!(rack.picks(3, 40), [40, 0, 0, 0]);
    rack.wait(Span(1));
    rack.tick(3);
    assert!(rack.picks(3, 400).iter().all(|&n| n > 60));
}

#[test]
fn t_delay_is_t_update_and_the_latency_of_the_exchange() {
    let mut rack = Rack::new(&Config { probe: Probe::Off, ..Config::default() }, 4);
    rack.tick_all();
    rack.points.clear();
    // Three reports 100, 200 and 300 µs before the broadcast.
    for host in 1..4 {
        rack.tick(host);
        rack.wait(us(100));
    }
    rack.tick(0);
    assert_eq!(rack.points, [(3, 0, 200.0), (3, 1, 700.0)], "at the last host of the rack");
}

/// Bad input: K below the base. Every packet is then congested, and paths with one sample each keep their order.
#[test]
fn a_k_below_the_base_ranks_as_before() {
    let mut rack = Rack::new(&Config { k_us: 0.001, probe: Probe::Off, ..Config::default() }, 4);
    (0..WAYS).for_each(|way| {
        let event = Event::Ack { bytes: 1, rtt: Span::ZERO, one_way: us(5 + u64::from(3 - way)), marked: false };
        rack.tell(1, 1, way, event);
    });
    rack.tick_all();
    assert_eq!(rack.picks(2, 40), [0, 0, 0, 40], "all below the default K, and not alike");
    let mut rack = Rack::new(&Config { probe: Probe::Off, ..Config::default() }, 4);
    (0..WAYS).for_each(|way| {
        let event = Event::Ack { bytes: 1, rtt: Span::ZERO, one_way: us(5 + u64::from(way)), marked: false };
        rack.tell(1, 1, way, event);
    });
    rack.tick_all();
    assert!(rack.picks(2, 400).iter().all(|&n| n > 60), "below K all paths are alike");
}

#[test]
fn k_and_patience_follow_the_base() {
    let shell = |config: &Config| Shell::<Meet>::new(config, Tier::Host, 0, WAYS);
    let both = |config: Config| {
        let mut host = shell(&config);
        host.call(None, None, |policy, cx, _| (policy.threshold(&cx.view), policy.patience(&cx.view)))
    };
    assert_eq!(both(Config::default()), (us(26), us(500)));
    assert_eq!(both(Config { sample: Delay::Rtt, t_probe_us: 10.0, ..Config::default() }), (us(30), us(20)));
    assert_eq!(both(Config { k_us: 60.0, probe_timeout_us: 7.0, ..Config::default() }), (us(60), us(7)));
}

#[test]
fn the_sample_is_the_way_there_or_the_round_trip() {
    for (sample, best) in [(Delay::OneWay, 0), (Delay::Rtt, 1)] {
        let mut rack = Rack::new(&Config { sample, probe: Probe::Off, ..Config::default() }, 4);
        let sampled = |one_way, rtt| Event::Ack { bytes: 1, rtt: us(rtt), one_way: us(one_way), marked: false };
        rack.tell(1, 1, 0, sampled(50, 400));
        rack.tell(1, 1, 1, sampled(60, 300));
        (2..WAYS).for_each(|way| rack.tell(1, 1, way, sampled(500, 500)));
        rack.tick_all();
        assert_eq!(rack.picks(2, 20)[best], 20, "{sample:?}");
    }
}

/// Bad input: a rack with one host, a single path, no path.
#[test]
fn a_lone_host_is_its_own_rack() {
    let mut rack = Rack::new(&Config::default(), 1);
    rack.flow(0, 1);
    [0, 1, 3].into_iter().for_each(|way| rack.ack(0, 1, way, us(10 + u64::from(way))));
    rack.ack(0, 1, 2, us(0));
    rack.tick(0);
    assert!(rack.sent.iter().all(|(_, action)| matches!(action, Action::Probe { .. })), "{:?}", rack.sent);
    assert_eq!((rack.probed().len(), rack.picks(0, 30)), (3, [0, 0, 30, 0]));
}

#[test]
fn to_one_path_or_none_there_is_nothing_to_choose() {
    let mut rack = Rack::new(&Config::default(), 4);
    rack.hosts.iter_mut().for_each(|host| host.room.ways = vec![WAYS, 1, 0, 2]);
    (1..4).for_each(|leaf| rack.flow(1, leaf));
    rack.ack(1, 1, 0, us(400));
    rack.ack(1, 2, 0, us(400));
    rack.ack(1, 3, 5, us(400));
    rack.tick_all();
    let ways: Vec<_> = rack.probed();
    assert!(ways.len() == 2 && ways.iter().all(|probe| probe.1 == 12), "two paths, two probes: {ways:?}");
    assert_eq!(rack.picks(2, 5), [5, 0, 0, 0]);
    let none = Packet { src: 2, dst: 8, ..data(1) };
    assert_eq!(rack.hosts[2].pick(2, &none, &mut ()), Way::ANY);
    rack.hosts.iter_mut().for_each(|host| host.room.ways = vec![1; 4]);
    rack.sent.clear();
    rack.tick_all();
    assert!(rack.sent.is_empty(), "no path has an alternative: not a packet is sent");
}

#[test]
fn ticks_do_not_synchronise() {
    let shape = Shape { tier: Tier::Host, hosts: 16, leaves: 4, ports: 1, ways: WAYS };
    let layout = Meet::new(&Config { t_update_us: 50.0, ..Config::default() }).layout(&shape);
    assert_eq!((layout.phase, layout.tick, layout.all_peers), (Phase::Random, us(50), true));
}

#[test]
fn bytes_that_are_none_of_ours_change_nothing() {
    let mut rack = Rack::new(&Config { probe: Probe::Off, ..Config::default() }, 4);
    (0..WAYS).for_each(|way| rack.ack(2, 1, way, us(10 + u64::from(way))));
    rack.tick_all();
    for class in 0..4 {
        for len in [0, 3, 15, 17, 23, 29] {
            (0..4).for_each(|host| rack.deliver(3, host, class, &vec![0xff; len]));
        }
        // A report for a table that is longer than any.
        rack.deliver(3, 0, 1, &[0xff; 16 + 8]);
    }
    assert_eq!(rack.picks(1, 20), [20, 0, 0, 0]);
}
