//! PLB at both ends, hook by hook, as in Linux: rounds counted, the N-th, pauses, idle connections, receivers.

use crate::common::{Shell, ack, data};
use spinewise_policy::edge::label::Receiver;
use spinewise_policy::out::Action;
use spinewise_policy::schemes::plb::{Config, Plb};
use spinewise_policy::*;

const MSS: u64 = 1460;

/// A sender with a packet out: flow 2 is the data of flow number 1.
struct Sender {
    shell: Shell<Plb>,
    sent: u64,
}

impl Sender {
    fn new(config: &Config) -> Sender {
        Sender { shell: Shell::new(config, Tier::Host, 0, 8), sent: 0 }
    }

    /// Sends packets. Returns the label of the first, which all must have.
    fn send(&mut self, count: u64) -> u16 {
        let labels: Vec<u16> = (0..count)
            .map(|n| self.shell.pick(4, &Packet { seq: self.sent + n * MSS, ..data(2) }, &mut ()).0)
            .collect();
        self.sent += count * MSS;
        assert!(labels.iter().all(|label| *label == labels[0]), "{labels:?}");
        labels[0]
    }

    fn tell(&mut self, event: Event) {
        self.shell.feedback(4, Feedback { way: Way::ANY, flow: Some(FlowKey(2)), event });
    }

    fn acks(&mut self, count: u32, marks: u32) {
        for n in 0..count {
            let (rtt, one_way) = (Span::from_us(100), Span::from_us(50));
            self.tell(Event::Ack { bytes: MSS, rtt, one_way, marked: n < marks });
        }
    }

    /// A round of ten packets, of which the next ten are out before it ends. Returns the label of these.
    fn round(&mut self, marks: u32) -> u16 {
        self.acks(9, marks);
        let label = self.send(10);
        self.acks(1, 0);
        label
    }

    fn recorded(&self) -> Vec<u16> {
        self.shell
            .did
            .iter()
            .filter_map(|did| if let Action::Record { series, .. } = did { Some(*series) } else { None })
            .collect()
    }
}

/// Ten packets out, and a label.
fn sender(config: &Config) -> (Sender, u16) {
    let mut sender = Sender::new(config);
    let label = sender.send(10);
    (sender, label)
}

#[test]
fn the_twelfth_congested_round_in_a_row_changes_the_label() {
    let (mut sender, first) = sender(&Config::default());
    // Five of ten, which is half. The rounds of a start: 10 packets each, the next 10 sent before the last is acknowledged.
    for round in 1..=11 {
        assert_eq!(sender.round(5), first, "round {round}");
        assert!(sender.recorded().is_empty());
    }
    sender.acks(9, 5);
    assert_eq!(sender.send(10), first, "not before the round is over");
    sender.acks(1, 0);
    assert_eq!(sender.recorded(), [0], "at its end");
    let second = sender.send(1);
    assert_ne!(second, first);
    // Counted from the beginning.
    sender.sent -= MSS;
    for _ in 0..11 {
        assert_eq!(sender.round(9), second);
    }
}

#[test]
fn a_round_below_the_threshold_starts_the_count_anew() {
    let (mut sender, first) = sender(&Config { rehash_rounds: 3, idle_rehash_rounds: 0, ..Config::default() });
    for (marks, changes) in [(9, false), (9, false), (4, false), (9, false), (9, false), (5, true)] {
        sender.round(marks);
        assert_eq!(!sender.recorded().is_empty(), changes);
    }
    assert_ne!(sender.send(1), first);
}

#[test]
fn an_idle_connection_changes_its_label_after_the_third() {
    for (rounds, idle_rehash_rounds, changes) in [(2, 3, false), (3, 3, true), (4, 3, true), (3, 0, false)] {
        let (mut sender, first) = sender(&Config { idle_rehash_rounds, ..Config::default() });
        (1..rounds).for_each(|_| assert_eq!(sender.round(9), first, "something is in flight"));
        // The last round ends with everything.
        sender.acks(10, 9);
        assert_eq!(sender.send(1) != first, changes, "{rounds} rounds, M = {idle_rehash_rounds}");
    }
}

#[test]
fn a_connection_that_fell_idle_in_a_pause_changes_its_label_as_it_sends_again() {
    let (mut sender, _) = sender(&Config { suspend_rto_us: 1000.0, ..Config::default() });
    sender.tell(Event::Timeout);
    let label = sender.send(10);
    (0..2).for_each(|_| assert_eq!(sender.round(9), label));
    sender.acks(20, 20);
    sender.acks(10, 10);
    sender.shell.wait(Span::from_us(900));
    assert_eq!(sender.send(1), label, "in the pause");
    sender.acks(1, 1);
    sender.shell.wait(Span::from_us(1100));
    assert_ne!(sender.send(1), label, "CA_EVENT_TX_START: checked as it sends");
}

#[test]
fn a_timeout_changes_the_label_and_pauses_for_one_to_two_times_the_parameter() {
    let mut ends = vec![];
    for seed in 0..400 {
        let (mut sender, first) = sender(&Config { rehash_rounds: 1, suspend_rto_us: 100.0, ..Config::default() });
        sender.shell.rng = Rng::stream(seed, "test", 0);
        sender.tell(Event::Timeout);
        assert_eq!(sender.recorded(), [1]);
        let second = sender.send(10);
        assert_ne!(second, first);
        let mut us = 0;
        // Marks the whole time: the label changes when the pause is over.
        while sender.send(1) == second {
            sender.acks(10, 10);
            sender.send(9);
            sender.shell.wait(Span::from_us(1));
            us += 1;
        }
        ends.push(us);
    }
    let (least, most) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
    let mean = ends.iter().sum::<u32>() / 400;
    assert!(*least >= 100 && *most <= 203 && mean.abs_diff(151) < 8, "{least} to {most}, mean {mean}");
}

#[test]
fn each_timeout_changes_the_label_though_the_pause_is_drawn_once() {
    let (mut sender, first) = sender(&Config { rehash_rounds: 1, suspend_rto_us: 100.0, ..Config::default() });
    let mut labels = vec![first];
    for _ in 0..4 {
        sender.tell(Event::Timeout);
        sender.shell.wait(Span::from_us(70));
        sender.sent = 0;
        labels.push(sender.send(1));
    }
    labels.dedup();
    assert_eq!(labels.len(), 5);
    // 280 us after the first timeout, which paused for 200 at most; the later ones paused no longer.
    sender.sent = 10 * MSS;
    sender.acks(10, 10);
    assert_eq!(sender.recorded(), [0]);
}

#[test]
fn labels_stay_if_they_may_not_change() {
    let (mut sender, first) = sender(&Config { rehash_rounds: 1, txrehash: false, ..Config::default() });
    for _ in 0..5 {
        assert_eq!(sender.round(9), first);
    }
    sender.tell(Event::Timeout);
    assert_eq!(sender.send(1), first);
    assert!(sender.recorded().is_empty());
}

#[test]
fn with_a_threshold_of_nothing_every_round_counts() {
    let (mut sender, first) = sender(&Config { rehash_rounds: 2, cong_thresh: 0, ..Config::default() });
    assert_eq!(sender.round(0), first);
    assert_eq!(sender.round(0), first);
    assert_ne!(sender.send(1), first);
}

/// The receiver's end: data comes by `ingress`, acknowledgements leave by `pick`, and both use one row.
#[test]
fn a_receiver_moves_its_acknowledgements_when_data_comes_again_under_another_label() {
    for (receiver, moves) in [(Receiver::NewLabel, true), (Receiver::Off, false)] {
        let mut shell: Shell<Plb> = Shell::new(&Config { receiver, ..Config::default() }, Tier::Host, 4, 8);
        let answer = |shell: &mut Shell<Plb>, seq: u64| shell.pick(0, &Packet { seq, ..ack(3) }, &mut ());
        let receive = |shell: &mut Shell<Plb>, seq: u64, label: u16| {
            shell.ingress(0, &Packet { seq, way: Way(label), ..data(2) }, &mut ());
        };
        receive(&mut shell, 0, 7);
        let label = answer(&mut shell, MSS);
        receive(&mut shell, MSS, 7);
        assert_eq!(answer(&mut shell, 2 * MSS), label);
        receive(&mut shell, 0, 7);
        assert_eq!(answer(&mut shell, 2 * MSS), label, "the same label: overtaken, or sent again early");
        receive(&mut shell, 0, 8);
        let moved = answer(&mut shell, 2 * MSS);
        assert_eq!(moved != label, moves);
        receive(&mut shell, MSS, 8);
        assert_eq!(answer(&mut shell, 2 * MSS), moved, "once for each label");
    }
}
