//! Both ends of a connection, packet by packet.

use super::config::Requests;
use super::*;
use crate::packet::{RETRANSMIT, URGENT};
use crate::rider::Rider;
use crate::transport::Frame;
use crate::transport::congestion::delivery;
use crate::transport::contract::{
    After, Answer, Answered, Arrival, Asks, Outgoing, Receiver, Sender, Start, TrimmedAt,
};
use spinewise_policy::time::{Span, Time};

const WIRE: u64 = 4_150;
/// Round trip in the fabric of the preset's timeout: eight links of 1 us, there and back.
const RTT: Span = Span(9_348_480);

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A sender with `packets` full packets to send.
fn sender(config: &UetConfig, packets: u64) -> UetSender {
    let frame = Frame { mss: config.mss, header: config.header, ack_bytes: config.ack_bytes };
    let size = packets * u64::from(config.mss);
    UetSender::new(config, &Start { size, rate: 100_000_000_000, base_rtt: RTT, frame, ..Start::default() })
}

/// Sends one packet: its number and flags.
fn send(sender: &mut UetSender, config: &UetConfig, now: Time) -> Option<(Psn, u8)> {
    (sender.may_send_from(config) != Time::NEVER).then_some(())?;
    match Sender::next(sender, config, now)? {
        Outgoing::Data(data) | Outgoing::OnPath(_, data, _) => {
            Some(((data.seq / u64::from(config.mss)) as Psn, data.flags))
        }
        other => panic!("no data: {other:?}"),
    }
}

/// Packet `psn` arrives; the answer with its option, if there is one.
fn arrive(receiver: &mut UetReceiver, config: &UetConfig, psn: u64, data: Arrival) -> Option<(Answer, Rider)> {
    let mss = u64::from(config.mss);
    let data = Arrival { seq: psn * mss, len: config.mss, ..data };
    let got = Receiver::on_data(receiver, config, Time::ZERO, 0, &data, || &[]);
    Some((got.answers[0]?, got.told.map_or(Rider::NONE, |told| told.option)))
}

fn receiver(config: &UetConfig, packets: u64) -> UetReceiver {
    Receiver::new(config, packets * u64::from(config.mss))
}

#[test]
fn a_window_is_one_and_a_half_bandwidth_delay_products() {
    let config = UetConfig::uet_htsim();
    let mut sender = sender(&config, 100);
    let sent: Vec<(Psn, u8)> = std::iter::from_fn(|| send(&mut sender, &config, us(1))).collect();
    // 175,284 bytes are 42 packets. The last of them requests an answer, because another would reach the window.
    assert_eq!(sent.len(), 42);
    assert!(sent.iter().take(41).all(|&(_, flags)| flags & URGENT == 0) && sent[41].1 & URGENT != 0);
    assert_eq!(sender.deadline(), Some(us(1) + config.rto));
}

#[test]
fn a_receiver_answers_every_fourth_packet_and_what_cannot_wait() {
    let config = UetConfig::uet_htsim();
    let mut receiver = receiver(&config, 40);
    let mut answered = |psn, data| arrive(&mut receiver, &config, psn, data).is_some();
    let plain = Arrival::default();
    assert!(answered(0, plain), "the first");
    assert_eq!([1, 2, 3, 4, 5].map(|psn| answered(psn, plain)), [false, false, false, true, false]);
    assert!(answered(6, Arrival { ce: true, ..plain }), "marked");
    assert!(answered(7, Arrival { urgent: true, ..plain }), "asked for");
    assert!(answered(7, plain), "a duplicate");
    // A packet that asks and waits for another is answered at once, and again when nothing waits any more.
    assert!(answered(9, Arrival { urgent: true, ..plain }) && answered(8, plain) && !answered(10, plain));
}

#[test]
fn an_answer_tells_what_has_arrived_beyond_a_gap() {
    let config = UetConfig { ack_every_bytes: 1, kind: delivery::Kind::Constant, ..UetConfig::uet_htsim() };
    let (mut sender, mut receiver) = (sender(&config, 100), receiver(&config, 100));
    while send(&mut sender, &config, us(0)).is_some() {}
    // Packet 0 is late; those up to 3 are here.
    for psn in [1, 2, 3] {
        let (answer, told) = arrive(&mut receiver, &config, psn, Arrival::default()).expect("each is answered");
        assert_eq!(answer.cumulative, 0);
        let Answered::Acked(acked) = Sender::on_answer(&mut sender, &config, us(10), 0, &answer, || &told) else {
            panic!("it says what arrived");
        };
        assert_eq!((acked.newly_acked, acked.done), (0, false));
    }
    // Three more packets may go, and the timer is that of packet 0, the only one sent again when it expires.
    assert_eq!(std::iter::from_fn(|| send(&mut sender, &config, us(10))).count(), 3);
    assert_eq!(sender.deadline(), Some(us(0) + config.rto));
    assert_eq!(Sender::on_timeout(&mut sender, &config, us(0) + config.rto, 0), Some(0));
    // This has shrunk the window: nothing may go, so a request asks for an answer, which makes room.
    let asks = Sender::beside(&mut sender, &config, us(80));
    assert!(matches!(asks, Some(Outgoing::Question { seq: 0, wire: 64, .. })), "{asks:?}");
    assert_eq!(send(&mut sender, &config, us(80)), None);
    let (answer, told) = arrive(&mut receiver, &config, 4, Arrival::default()).expect("each is answered");
    Sender::on_answer(&mut sender, &config, us(81), 0, &answer, || &told);
    let (psn, flags) = send(&mut sender, &config, us(81)).expect("there is room for it");
    assert_eq!((psn, flags & RETRANSMIT != 0, flags & URGENT != 0), (0, true, true));
}

#[test]
fn a_trimmed_packet_goes_first_and_again() {
    let config = UetConfig::uet_htsim();
    let (mut sender, mut receiver) = (sender(&config, 100), receiver(&config, 100));
    while send(&mut sender, &config, us(0)).is_some() {}
    let trimmed = Arrival { trimmed: Some(TrimmedAt::LastHop), ce: true, ..Arrival::default() };
    let (nack, told) = arrive(&mut receiver, &config, 5, trimmed).expect("a NACK");
    assert!(nack.nack_or_syn && nack.cnp && nack.ece && told.is_empty());
    let heard = Sender::on_answer(&mut sender, &config, us(10), 0, &nack, || &told);
    assert!(matches!(heard, Answered::Trimmed(TrimmedAt::LastHop)), "{heard:?}");
    // The window has shrunk by the packet, and so has what is in flight: it takes an answer before the packet goes
    // again.
    assert_eq!(send(&mut sender, &config, us(10)).map(|(psn, _)| psn), None);
    let (answer, told) = arrive(&mut receiver, &config, 0, Arrival::default()).expect("the first");
    Sender::on_answer(&mut sender, &config, us(11), 0, &answer, || &told);
    assert_eq!(send(&mut sender, &config, us(11)).map(|(psn, _)| psn), Some(5));
    let again = Sender::on_answer(&mut sender, &config, us(12), 0, &Answer { cumulative: 0, ..nack }, || &[]);
    assert!(matches!(again, Answered::Ignored), "packet 0 is here: {again:?}");
}

#[test]
fn the_next_message_has_the_window_of_the_one_before() {
    let config = UetConfig::uet_htsim();
    let (mut before, mut receiver) = (sender(&config, 1), receiver(&config, 1));
    let (psn, _) = send(&mut before, &config, us(0)).expect("it may");
    let nack = Answer { nack_or_syn: true, ..Answer::default() };
    Sender::on_answer(&mut before, &config, us(9), 0, &nack, || &[]);
    assert_eq!(send(&mut before, &config, us(9)).map(|(again, _)| again), Some(psn));
    answer(&mut before, &mut receiver, &config, (0, us(14)));
    // The trimmed packet revealed a round trip of 9 us, shorter than any before, and so gave a smaller window.
    assert_eq!((before.base_rtt, before.window.cwnd), (us(9).since(us(0)), 168_750));
    before.rest();
    let mut next = sender(&config, 100);
    next.follow(&before);
    assert_eq!((next.base_rtt, next.window.cwnd), (before.base_rtt, before.window.cwnd));
    let sent = std::iter::from_fn(|| send(&mut next, &config, us(20))).count() as u64;
    assert_eq!(sent, before.window.cwnd / WIRE, "its own packets, from the first");
    assert_eq!(next.deadline(), Some(us(20) + config.rto));
}

#[test]
fn credit_is_granted_up_to_what_is_asked_for_and_then_unasked() {
    let config = UetConfig { kind: delivery::Kind::None, receiver_credit: true, ..UetConfig::uet_htsim() };
    let (mut sender, mut receiver) = (sender(&config, 60), receiver(&config, 60));
    // One and a half bandwidth-delay products go unasked; one packet may overdraw.
    let sent = std::iter::from_fn(|| send(&mut sender, &config, us(0))).count() as u64;
    assert_eq!(sent, 175_284 / WIRE + 1);
    let mut granted = Vec::new();
    let asks = |data: &Arrival, option: &[u8], receiver: &mut UetReceiver| {
        Receiver::on_data(receiver, &config, us(5), 0, data, || option).asks
    };
    let data = Arrival { seq: 0, len: config.mss, ..Arrival::default() };
    // 18 packets are left; the sender asks for them when the first window is spent.
    let target = 100_000_000 + 18 * WIRE.div_ceil(256);
    assert!(asks(&data, &target.to_le_bytes(), &mut receiver));
    assert!(!asks(&Arrival { seq: 4086, ..data }, &target.to_le_bytes(), &mut receiver), "it is being served");
    for _ in 0..5 {
        let grant = Receiver::grant(&mut receiver, &config, Asks::Yes).expect("it has credit");
        granted.push((grant.quanta, grant.after));
    }
    assert_eq!(granted[..4], [(64, After::Asks); 4]);
    assert_eq!(granted[4], (18 * 17 - 4 * 64, After::Idles));
    let unasked = Receiver::grant(&mut receiver, &config, Asks::No).expect("it has credit");
    assert_eq!((unasked.quanta, unasked.after), (64, After::Idles));
    let heard = Sender::on_answer(&mut sender, &config, us(9), 0, &unasked.answer, || &unasked.told.option);
    assert!(matches!(heard, Answered::Opened));
    // The overdraft is paid back first.
    let paid = (18 * 17 + 64) * 256 - (sent * WIRE - 175_284);
    let more = std::iter::from_fn(|| send(&mut sender, &config, us(9))).count() as u64;
    assert_eq!(more, paid.div_ceil(WIRE).min(60 - sent));
}

/// Hands the sender the answer of `receiver` to packet `psn`.
fn answer(sender: &mut UetSender, receiver: &mut UetReceiver, config: &UetConfig, (psn, now): (u64, Time)) {
    let (answer, told) = arrive(receiver, config, psn, Arrival::default()).expect("each is answered");
    Sender::on_answer(sender, config, now, 0, &answer, || &told);
}

fn sleek() -> UetConfig {
    let recovery = config::Recovery::Sleek;
    UetConfig { ack_every_bytes: 1, kind: delivery::Kind::Constant, recovery, ..UetConfig::uet_htsim() }
}

#[test]
fn much_out_of_order_is_a_loss_and_what_is_lost_goes_at_once() {
    let config = sleek();
    let (mut sender, mut receiver) = (sender(&config, 100), receiver(&config, 100));
    while send(&mut sender, &config, us(0)).is_some() {}
    // 1.5 windows of payload are cut to the largest window, 175,284 bytes: 42 packets. Packet 0 is lost.
    for psn in 1..42 {
        answer(&mut sender, &mut receiver, &config, (psn, us(10)));
        let (new, flags) = send(&mut sender, &config, us(10)).expect("the window moves on");
        assert_eq!((u64::from(new), flags & RETRANSMIT), (41 + psn, 0));
    }
    answer(&mut sender, &mut receiver, &config, (42, us(10)));
    let (psn, flags) = send(&mut sender, &config, us(10)).expect("whatever is under way");
    assert_eq!((psn, flags & RETRANSMIT != 0), (0, true));
    // Once: the next answer does not send it again, but sends those that were sent before recovery began and are not
    // here.
    answer(&mut sender, &mut receiver, &config, (43, us(11)));
    assert!(send(&mut sender, &config, us(11)).is_some_and(|(psn, _)| psn != 0));
}

#[test]
fn a_probe_that_finds_no_queue_tells_of_a_loss() {
    let config = sleek();
    let (mut sender, mut receiver) = (sender(&config, 3), receiver(&config, 3));
    while send(&mut sender, &config, us(0)).is_some() {}
    answer(&mut sender, &mut receiver, &config, (0, us(10)));
    // Nothing new is left: the probe goes after a round trip and the target, and the next one five round trips later.
    let at = us(10) + RTT * 2;
    assert_eq!(sender.deadline(), Some(at));
    assert_eq!(Sender::on_timeout(&mut sender, &config, at, 0), None);
    assert_eq!(sender.deadline(), Some((at + RTT * 5).min(us(0) + config.rto)));
    let Some(Outgoing::Question { seq, wire: 64, option, .. }) = Sender::beside(&mut sender, &config, at) else {
        panic!("a probe");
    };
    assert_eq!(send(&mut sender, &config, at), None);
    let bare = Arrival { seq, urgent: true, ..Arrival::default() };
    let got = Receiver::on_data(&mut receiver, &config, at, 0, &bare, || &option);
    let (reply, told) = (got.answers[0].expect("probes are answered"), got.told.expect("with what is here").option);
    // A slow probe reveals a queue, in which the packets may wait; a fast one reveals their loss.
    let slow = at + RTT * 2;
    let mut other = sender.clone();
    Sender::on_answer(&mut other, &config, slow, 0, &reply, || &told);
    assert_eq!(send(&mut other, &config, slow), None);
    let fast = at + RTT;
    Sender::on_answer(&mut sender, &config, fast, 0, &reply, || &told);
    let again: Vec<_> = std::iter::from_fn(|| send(&mut sender, &config, fast)).map(|(psn, _)| psn).collect();
    assert_eq!(again, [1, 2]);
}

/// The answer to a request or a probe.
fn answered(receiver: &mut UetReceiver, config: &UetConfig, asks: &Outgoing) -> (Answer, Rider) {
    let Outgoing::Question { seq, option, .. } = asks else { panic!("no request: {asks:?}") };
    let bare = Arrival { seq: *seq, urgent: true, ..Arrival::default() };
    let got = Receiver::on_data(receiver, config, Time::ZERO, 0, &bare, || option);
    (got.answers[0].expect("it is answered"), got.told.expect("with what is here").option)
}

#[test]
fn a_timeout_while_sleek_recovers_sends_nothing_by_itself() {
    let config = sleek();
    let (mut sender, mut receiver) = (sender(&config, 100), receiver(&config, 100));
    // Packets 0 and 1 are lost; with 42 packets out of order, SLEEK sends them again, and they are lost once more.
    while send(&mut sender, &config, us(0)).is_some() {}
    for psn in 2..44 {
        answer(&mut sender, &mut receiver, &config, (psn, us(10)));
        while send(&mut sender, &config, us(10)).is_some() {}
    }
    let wanted = us(10) + config.rto;
    // All packets behind them arrive, so the timer is now theirs.
    for psn in 44..84 {
        answer(&mut sender, &mut receiver, &config, (psn, us(20)));
        while send(&mut sender, &config, us(20)).is_some() {}
    }
    let before = sender.clone();
    assert_eq!(Sender::on_timeout(&mut sender, &config, wanted, 0), Some(0), "the scheme hears of it");
    // A probe has fallen due meanwhile.
    assert!(matches!(Sender::beside(&mut sender, &config, wanted), Some(Outgoing::Question { .. })));
    assert_eq!(send(&mut sender, &config, wanted).filter(|&(_, flags)| flags & RETRANSMIT != 0), None);
    assert_eq!((sender.window, sender.flight), (before.window, before.flight));
    // There is now no timer except that of probes; the next answer has both sent again.
    assert_eq!(sender.deadline, None);
    answer(&mut sender, &mut receiver, &config, (84, wanted));
    let again: Vec<_> = std::iter::from_fn(|| send(&mut sender, &config, wanted))
        .filter(|&(_, flags)| flags & RETRANSMIT != 0)
        .map(|(psn, _)| psn)
        .collect();
    assert_eq!(again[..2], [0, 1]);
    // The timer is that of the first packet since, until that is here; then that of the oldest.
    assert_eq!((sender.deadline, sender.held), (Some(wanted + config.rto), Some((wanted, 0))));
    answer(&mut sender, &mut receiver, &config, (0, wanted + Span::from_us(10)));
    assert_eq!((sender.deadline, sender.held), (Some(us(20) + config.rto), None));
}

#[test]
fn a_sender_that_waits_asks_as_often_as_its_control_has_it() {
    let windowed = UetConfig { kind: delivery::Kind::Constant, ..UetConfig::uet_htsim() };
    let paced = UetConfig { kind: delivery::Kind::None, receiver_credit: true, ..UetConfig::uet_htsim() };
    for (config, asked) in [(windowed, [true, false]), (paced, [true, true])] {
        let mut sender = sender(&config, 100);
        while send(&mut sender, &config, us(0)).is_some() {}
        let asks = |sender: &mut UetSender, at| {
            Sender::on_timeout(sender, &config, at, 0);
            let asks = sender.asks;
            if asks {
                assert!(matches!(Sender::beside(sender, &config, at), Some(Outgoing::Question { .. })));
            }
            asks
        };
        // The second packet expires, too: the first waits already. Only a receiver that paces gets notice of more.
        let at = us(0) + config.rto;
        assert_eq!([asks(&mut sender, at), asks(&mut sender, at)], asked);
    }
}

#[test]
fn a_request_goes_beside_data_or_in_the_turn_of_its_flow() {
    for requests in [Requests::Control, Requests::Data] {
        let config = UetConfig { requests, kind: delivery::Kind::Constant, ..UetConfig::uet_htsim() };
        let mut sender = sender(&config, 100);
        while send(&mut sender, &config, us(0)).is_some() {}
        let at = us(0) + config.rto;
        Sender::on_timeout(&mut sender, &config, at, 0);
        // The window has no room for the lost packet: only the request goes.
        assert_eq!(sender.may_send_from(&config) != Time::NEVER, requests == Requests::Data);
        let beside = Sender::beside(&mut sender, &config, at);
        assert_eq!(beside.is_some(), requests == Requests::Control);
        let asks = beside.or_else(|| Sender::next(&mut sender, &config, at));
        assert!(matches!(asks, Some(Outgoing::Question { .. })), "{asks:?}");
        assert!(!sender.is_to_ask());
    }
}

#[test]
fn the_answer_to_a_request_tells_of_no_packet_under_way() {
    let config = UetConfig { ack_every_bytes: 1, ..UetConfig::uet_htsim() };
    let (mut sender, mut receiver) = (sender(&config, 100), receiver(&config, 100));
    while send(&mut sender, &config, us(0)).is_some() {}
    let at = us(0) + config.rto;
    Sender::on_timeout(&mut sender, &config, at, 0);
    let asks = Sender::beside(&mut sender, &config, at).expect("a request");
    // Packet 1, of those that were sent first, is next to be acknowledged: it is not the answered one.
    answer(&mut sender, &mut receiver, &config, (0, at));
    let base = sender.base_rtt;
    let (answer, told) = answered(&mut receiver, &config, &asks);
    Sender::on_answer(&mut sender, &config, at + Span::from_us(8), 0, &answer, || &told);
    assert_eq!((sender.base_rtt, sender.expected), (base, 1));
}

/// The probe that SLEEK has planned, and when it goes.
fn probe(sender: &mut UetSender, config: &UetConfig) -> (Time, Outgoing) {
    let at = sender.sleek.as_ref().and_then(|sleek| sleek.deadline()).expect("a probe is planned");
    Sender::on_timeout(sender, config, at, 0);
    (at, Sender::beside(sender, config, at).expect("a probe"))
}

#[test]
fn an_early_probe_is_judged_by_the_average_delay() {
    let config = UetConfig { kind: delivery::Kind::Nscc, ..sleek() };
    let (mut sender, mut receiver) = (sender(&config, 3), receiver(&config, 3));
    while send(&mut sender, &config, us(0)).is_some() {}
    answer(&mut sender, &mut receiver, &config, (0, us(10)));
    let (_, first) = probe(&mut sender, &config);
    let (at, _) = probe(&mut sender, &config);
    // The answer to the first comes late, after the second has gone: it reveals no delay, so the average is still
    // unset.
    let (reply, told) = answered(&mut receiver, &config, &first);
    Sender::on_answer(&mut sender, &config, at, 0, &reply, || &told);
    assert_eq!(send(&mut sender, &config, at).map(|(psn, _)| psn), Some(1));
}

#[test]
fn an_early_probe_is_judged_by_the_average_delay_of_windows_that_keep_none() {
    // Marked answers that are late by four round trips: after 30 of them the average is above one, after none it is
    // zero.
    for (late, again) in [(30, None), (0, Some(40))] {
        let config = UetConfig { rto: Span::from_us(1_000), ..sleek() };
        let (mut sender, mut receiver) = (sender(&config, 42), receiver(&config, 42));
        while send(&mut sender, &config, us(0)).is_some() {}
        let at = us(0) + RTT * 5;
        for psn in 0..40 {
            let marked = Arrival { ce: psn < late, ..Arrival::default() };
            let (answer, told) = arrive(&mut receiver, &config, psn, marked).expect("each is answered");
            let at = if psn < late { at } else { us(0) + RTT };
            Sender::on_answer(&mut sender, &config, at, 0, &answer, || &told);
        }
        let (_, first) = probe(&mut sender, &config);
        let (at, _) = probe(&mut sender, &config);
        let (reply, told) = answered(&mut receiver, &config, &first);
        Sender::on_answer(&mut sender, &config, at, 0, &reply, || &told);
        assert_eq!(send(&mut sender, &config, at).map(|(psn, _)| psn), again, "{late} late");
    }
}
