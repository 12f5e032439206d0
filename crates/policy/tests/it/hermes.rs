//! Hermes at one host, hook by hook: classes at every corner, each gate of rerouting separately, failures.

use crate::common::hermes::*;
use spinewise_policy::out::Action;
use spinewise_policy::schemes::hermes::path::{Class, Seen};
use spinewise_policy::schemes::hermes::{Config, Delay, Hermes, Scale, Signals};
use spinewise_policy::*;

type Host = crate::common::Shell<Hermes>;

/// Sends packets of a flow until all of S and one byte more are out, at 1 Gbps, and sets its rate to that.
fn send_much(shell: &mut Host, flow: u32, packets: u32) -> u16 {
    let mut way = 0;
    for _ in 0..packets {
        way = pick(shell, flow);
        shell.wait(Span::from_us(12));
    }
    way
}

/// One line per corner: marks of ten, delay in µs, class.
#[test]
fn each_corner_of_the_table_has_its_class() {
    for (marks, us, expected) in [
        (0, 10, Class::Good),
        (0, 100, Class::Gray),
        (0, 300, Class::Gray),
        (8, 10, Class::Gray),
        (8, 100, Class::Gray),
        (8, 300, Class::Congested),
    ] {
        let mut shell = host(&Config::default());
        acks(&mut shell, 2, us, 10, marks);
        assert_eq!(class(&mut shell, 2), expected, "{marks} marks of 10, {us} us");
        assert_eq!(class(&mut shell, 1), Class::Gray, "never measured");
        assert_eq!(seen(&mut shell, 1).delay, 26_000, "at T_RTT_low");
    }
}

#[test]
fn what_equals_a_threshold_is_in_between() {
    // Base 6 us one way: thresholds at 26 and 146.
    for (marks, us, expected) in
        [(0, 26, Class::Gray), (0, 25, Class::Good), (4, 25, Class::Gray), (3, 25, Class::Good)]
    {
        let mut shell = host(&Config::default());
        acks(&mut shell, 0, us, 10, marks);
        assert_eq!(class(&mut shell, 0), expected, "{marks}, {us}");
    }
    for (marks, us, expected) in [(5, 146, Class::Gray), (5, 147, Class::Congested), (4, 147, Class::Gray)] {
        let mut shell = host(&Config::default());
        acks(&mut shell, 0, us, 10, marks);
        assert_eq!(class(&mut shell, 0), expected, "{marks}, {us}");
    }
}

#[test]
fn thresholds_follow_what_the_host_is_told_and_which_delay_counts() {
    // The 6 us there or the 10 there and back; a tenth of the queues at ten times the path rate; a base of its own.
    let of = |config: &Config, path_rate: u64| {
        let view = HostView {
            host: 0,
            leaf: 0,
            leaf_of: &[0, 1],
            ways: &[0, 4],
            link_rate: 10_000_000_000,
            path_rate,
            path_rates: &[],
            base_rtt: Span::from_us(10),
            base_one_way: Span::from_us(6),
            mss: 1460,
            mtu: 1500,
        };
        let limits = Hermes::new(config).sensing(&view).0;
        [limits.low, limits.high, limits.margin, limits.rate]
    };
    let ten = 10_000_000_000;
    // R: 30 % of 10 Gbps for 150 us are 56,250 bytes, of which a meter reads 15/16.
    assert_eq!(of(&Config::default(), ten), [26_000, 146_000, 100_000, 52_734]);
    assert_eq!(of(&Config::default(), 10 * ten)[..3], [8_000, 20_000, 10_000]);
    let readme = Config { base_us: 40.0, ..Config::default() };
    assert_eq!(of(&readme, ten)[..3], [60_000, 180_000, 100_000]);
    let fixed = Config { scale: Scale::Fixed, delay: Delay::Rtt, ..Config::default() };
    assert_eq!(of(&fixed, 10 * ten)[..3], [30_000, 150_000, 100_000]);
    let mut shell = host(&Config { delay: Delay::Rtt, ..Config::default() });
    acks(&mut shell, 0, 7, 1, 0);
    assert_eq!(seen(&mut shell, 0).delay, 21_000, "three times the way there");
}

#[test]
fn delays_are_averaged_by_halves_and_marks_fade_by_halves() {
    let mut shell = host(&Config::default());
    acks(&mut shell, 0, 100, 1, 0);
    acks(&mut shell, 0, 200, 1, 0);
    assert_eq!(seen(&mut shell, 0).delay, 150_000);
    let mut shell = host(&Config::default());
    acks(&mut shell, 0, 100, 8, 8);
    assert_eq!(seen(&mut shell, 0).ecn, 65_536);
    shell.wait(Span::from_us(500));
    acks(&mut shell, 0, 100, 4, 0);
    assert_eq!(seen(&mut shell, 0).ecn, 32_768, "8 are 4 by now");
    shell.wait(Span::from_us(1_100));
    acks(&mut shell, 0, 100, 1, 0);
    assert_eq!(seen(&mut shell, 0).ecn, 65_536 / 3, "8 and 4 are 2 and 1, and one more");
    shell.wait(Span::from_us(10_001));
    assert_eq!(seen(&mut shell, 0), Seen { class: Class::Gray, delay: 26_000, ecn: 0, rate: 0 }, "too long ago");
}

#[test]
fn delay_alone_decides_without_ecn() {
    let mut shell = host(&Config { signals: Signals::Rtt, ..Config::default() });
    for (way, us) in [(0, 10), (1, 100), (2, 300)] {
        acks(&mut shell, way, us, 1, 0);
    }
    assert_eq!([0, 1, 2].map(|way| class(&mut shell, way)), [Class::Good, Class::Gray, Class::Congested]);
}

#[test]
fn a_new_flow_goes_to_good_then_gray_then_any_that_works() {
    let mut shell = host(&Config::default());
    acks(&mut shell, 2, 10, 1, 0);
    for flow in 0..3 {
        assert_eq!(pick(&mut shell, flow), 2, "the only good one, whatever is sent on it");
    }
    // The one of two good ones on which this host sends less.
    acks(&mut shell, 3, 10, 1, 0);
    assert_eq!(pick(&mut shell, 3), 3);
    for way in [0, 2, 3] {
        acks(&mut shell, way, 300, 20, 20);
    }
    assert_eq!(pick(&mut shell, 4), 1, "the only gray one");
    acks(&mut shell, 1, 300, 20, 20);
    let ways: Vec<u16> = (5..45).map(|flow| pick(&mut shell, flow)).collect();
    assert!((0..WAYS).all(|way| ways.contains(&way)), "all are congested: at random");
    (0..3).for_each(|_| tell(&mut shell, 0, 1, Event::Timeout));
    assert!((50..90).all(|flow| pick(&mut shell, flow) != 1), "but none that has failed");
}

/// A flow on congested way 0 that has sent more than S at 1 Gbps, with good way 3 notably better: it moves. Each gate
/// alone keeps it where it is.
#[test]
fn a_flow_moves_only_through_every_gate() {
    struct Case {
        name: &'static str,
        config: Config,
        packets: u32,
        own: (u64, u32),
        other: (u64, u32),
        moves: bool,
    }
    let base = || Case {
        name: "all gates open",
        config: Config { s_bytes: 60_000, r_share: 0.3, ..Config::default() },
        packets: 60,
        own: (300, 20),
        other: (10, 0),
        moves: true,
    };
    let slower = |r_share| Config { r_share, ..base().config };
    let cases = [
        base(),
        Case { name: "42 packets of 1460 bytes are above S", packets: 42, ..base() },
        Case { name: "sent no more than S", packets: 41, moves: false, ..base() },
        Case { name: "sends faster than R", config: slower(0.08), moves: false, ..base() },
        Case { name: "sends slower than R", config: slower(0.12), ..base() },
        Case { name: "its path is gray", own: (100, 20), moves: false, ..base() },
        Case { name: "no path is better by more than Δ_RTT", other: (201, 0), moves: false, ..base() },
        Case { name: "a gray path is better by more than Δ_RTT", other: (199, 0), ..base() },
        Case { name: "no path is better by more than Δ_ECN", own: (300, 9), other: (10, 8), moves: false, ..base() },
        Case { name: "a path is better by more than Δ_ECN", own: (300, 9), other: (10, 7), ..base() },
    ];
    for case in cases {
        let mut shell = host(&case.config);
        acks(&mut shell, 0, 10, 1, 0);
        send_much(&mut shell, 7, case.packets);
        // All others are as bad as its own, except way 3.
        for way in 0..WAYS {
            let (us, marks) = if way == 3 { case.other } else { case.own };
            shell.call(Some(LEAF), None, |_, cx, _| cx.peers.current().1[usize::from(way)] = Default::default());
            acks(&mut shell, way, us, 20, marks);
        }
        let way = pick(&mut shell, 7);
        assert_eq!(way, if case.moves { 3 } else { 0 }, "{}", case.name);
        let said = shell.did.contains(&Action::Record { series: 0, value: 3.0 });
        assert_eq!(said, case.moves, "{}", case.name);
    }
}

#[test]
fn a_timed_out_flow_is_placed_anew() {
    let mut shell = host(&Config::default());
    acks(&mut shell, 0, 10, 1, 0);
    assert_eq!(pick(&mut shell, 1), 0);
    acks(&mut shell, 0, 100, 20, 0);
    acks(&mut shell, 1, 10, 1, 0);
    assert_eq!(pick(&mut shell, 1), 0, "gray, and stays");
    tell(&mut shell, 1, 0, Event::Timeout);
    assert_eq!(pick(&mut shell, 1), 1);
    acks(&mut shell, 2, 10, 1, 0);
    acks(&mut shell, 1, 100, 20, 0);
    assert_eq!(pick(&mut shell, 1), 1, "once only");
}

#[test]
fn three_timeouts_without_an_acknowledgement_are_a_blackhole() {
    let mut shell = host(&Config::default());
    acks(&mut shell, 1, 10, 1, 0);
    let way = pick(&mut shell, 1);
    assert_eq!(way, 1);
    tell(&mut shell, 1, 1, Event::Timeout);
    tell(&mut shell, 2, 1, Event::Timeout);
    acks(&mut shell, 1, 10, 1, 0);
    tell(&mut shell, 1, 1, Event::Timeout);
    tell(&mut shell, 2, 1, Event::Timeout);
    assert_eq!(class(&mut shell, 1), Class::Good, "an acknowledgement in between");
    assert_eq!(pick(&mut shell, 3), 1);
    tell(&mut shell, 1, 1, Event::Timeout);
    assert!(shell.did.contains(&Action::Record { series: 1, value: 1.0 }), "said once");
    tell(&mut shell, 1, 1, Event::Timeout);
    assert!(shell.did.is_empty());
    assert_eq!(class(&mut shell, 1), Class::Failed);
    assert_ne!(pick(&mut shell, 3), 1, "a flow under way leaves it at once");
    shell.wait(Span::from_ms(101));
    assert_eq!(class(&mut shell, 1), Class::Gray, "tried again");
}

#[test]
fn retransmissions_without_congestion_are_a_failure() {
    // Data packets, retransmissions, delay, and whether the path fails.
    for (packets, lost, us, fails) in
        [(200, 3, 10, true), (200, 2, 10, false), (99, 50, 10, false), (200, 3, 300, false)]
    {
        let mut shell = host(&Config::default());
        acks(&mut shell, 0, 10, 1, 0);
        assert_eq!(send_much(&mut shell, 1, packets), 0);
        (0..lost).for_each(|_| tell(&mut shell, 1, 0, Event::Retransmit));
        let marks = if us > 100 { 20 } else { 0 };
        acks(&mut shell, 0, us, 20, marks);
        assert_ne!(class(&mut shell, 0), Class::Failed, "not before the time is over");
        shell.wait(Span::from_ms(10));
        acks(&mut shell, 0, us, 20, marks);
        let what = format!("{lost} of {packets}, {us} us");
        assert_eq!(class(&mut shell, 0) == Class::Failed, fails, "{what}");
    }
}

#[test]
fn when_all_paths_have_failed_flows_stay() {
    let mut shell = host(&Config::default());
    let own = pick(&mut shell, 1);
    for way in 0..WAYS {
        (0..3).for_each(|_| tell(&mut shell, 900, way, Event::Timeout));
    }
    assert!((0..20).all(|_| pick(&mut shell, 1) == own));
    let ways: Vec<u16> = (10..60).map(|flow| pick(&mut shell, flow)).collect();
    assert!((0..WAYS).all(|way| ways.contains(&way)), "new ones go anywhere");
}
