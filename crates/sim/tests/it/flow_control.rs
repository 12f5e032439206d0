//! Pauses, priorities and marks of a shared buffer, against timelines worked out by hand.

use crate::common::{counter, flow, merged, of_link, run};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;

/// A source of `packets` packets at 100 Gbps.
fn burst(src: u32, dst: u32, packet_bytes: u64, packets: u64, at_ns: u64, priority: u32) -> Value {
    json!({"kind": "udp", "src": src, "dst": dst, "packet_bytes": packet_bytes, "size_bytes": packets * packet_bytes,
           "schedule": [{"at_us": at_ns as f64 / 1e3, "rate_gbps": 100}], "priority": priority})
}

/// Ten packets of 1000 bytes of an ingress are guaranteed, and nothing is shared; with more than four it asks for a
/// pause, with four it ends the pause.
fn tight() -> Value {
    json!({"ingress_alpha": 1e-9, "guaranteed_bytes": 10_000, "pause_offset_bytes": 4_000, "reserved_packets": 0})
}

/// host0 - switch2 - switch3 - host1, 100 Gbps and 1 us each, but 25 Gbps to host1. 37 packets of 1000 bytes: 80 ns
/// each, 320 ns on the last link.
fn chain(switch: &Value) -> Value {
    json!({
        "preset": "selb", "transport": {"mss_bytes": 900}, "switch": merged(&tight(), switch),
        "topology": {"kind": "links", "hosts": 2, "switches": 2,
                     "links": [[0, 2, 100, 1000], [2, 3, 100, 1000], [1, 3, 25, 1000]]},
        "traffic": [burst(0, 1, 1000, 37, 0, 0)],
        "run": {"stop": "time", "until_us": 40},
    })
}

/// Returns the outcome of the run until `ps`.
fn until(spec: &Value, ps: u64) -> Outcome {
    run(&merged(spec, &json!({"run": {"until_us": ps as f64 / 1e6}})))
}

/// The number grows at exactly these instants, by one, from `from` on.
fn grows_at(spec: &Value, instants: &[u64], from: u64, number: impl Fn(&Outcome) -> u64) {
    for (n, &at) in (from..).zip(instants) {
        assert_eq!((number(&until(spec, at)), number(&until(spec, at + 1))), (n, n + 1), "at {at} ps");
    }
    let last = from + instants.len() as u64;
    assert_eq!(number(&run(spec)), last, "and no more");
}

fn frames(outcome: &Outcome) -> u64 {
    counter(outcome, "pause_frames", "packets")
}

fn sent(outcome: &Outcome) -> u64 {
    of_link(outcome, "switch2->switch3", "packets")
}

fn paused(outcome: &Outcome) -> (u64, u64) {
    (of_link(outcome, "switch2->switch3", "paused_ps"), of_link(outcome, "switch2->switch3", "pauses"))
}

/// Packet k reaches switch3 at 2160 + 80 (k - 1) ns and the i-th leaves it from 2160 + 320 (i - 1) ns on. The seventh,
/// at 2640 ns, is the first that makes five: the frame of 43 bytes takes 3.44 ns and 1 us, and switch2 stops at 3643.44
/// ns. It has started packet 33 at 3640 ns. Of these 33 four are left when the 29th leaves, at 11 120 ns: switch2
/// continues 1003.44 ns later.
#[test]
fn a_pause_until_told_to_the_picosecond() {
    let spec = chain(&json!({"pause_us": 0}));
    grows_at(&spec, &[2_640_000, 11_120_000], 0, frames);
    grows_at(&spec, &[3_640_000, 12_123_440, 12_203_440, 12_283_440, 12_363_440], 32, sent);
    let outcome = run(&spec);
    assert_eq!(paused(&outcome), (12_123_440 - 3_643_440, 1));
    // Packet 34 finds the line idle at 13 203.44 ns; the others follow it.
    assert_eq!(crate::common::flow_column(&outcome, "fct_ps"), [13_203_440 + 4 * 320_000 + 1_000_000]);
    let half = until(&spec, 8_000_000);
    assert_eq!(paused(&half), (8_000_000 - 3_643_440, 1), "a pause that goes on counts as far as it has come");
    // 33 have come and 9 have left at 4720 ns.
    let counters = &outcome.report["counters"];
    assert_eq!((&counters["most_headroom_bytes"], &counters["most_buffer_bytes"][1]), (&json!(14_000), &json!(24_000)));
}

/// Each of the packets 7 to 33 asks for 5 us more: the last at 4720 ns. That would expire here at 9720 ns. A frame may
/// have to wait for 1000 + 43 bytes, 83.44 ns, rounded up: so the pause is renewed 83.441 ns earlier.
#[test]
fn a_pause_renewed_in_time_is_as_one_until_told() {
    let spec = chain(&json!({"pause_us": 5}));
    let asked = (7..=33).map(|k| 2_160_000 + 80_000 * (k - 1));
    let instants: Vec<u64> = asked.chain([9_720_000 - 83_441, 11_120_000]).collect();
    grows_at(&spec, &instants, 0, frames);
    grows_at(&spec, &[3_640_000, 12_123_440, 12_203_440, 12_283_440, 12_363_440], 32, sent);
    assert_eq!(paused(&run(&spec)), (12_123_440 - 3_643_440, 1));
}

/// If nothing renews it, it expires at switch2 at 4720 + 1003.44 + 5000 ns. Packets 36 and 37 find four others again
/// and ask for another pause, which ends when the 33rd leaves, at 12 400 ns.
#[test]
fn a_pause_that_packets_renew_runs_out() {
    let spec = chain(&json!({"pause_us": 5, "pause_renewal": "packets"}));
    let asked = (7..=33).map(|k| 2_160_000 + 80_000 * (k - 1));
    let again = [10_723_440 + 160_000 + 1_080_000, 10_723_440 + 240_000 + 1_080_000, 12_400_000];
    grows_at(&spec, &asked.chain(again).collect::<Vec<u64>>(), 0, frames);
    grows_at(&spec, &[3_640_000, 10_723_440, 10_803_440, 10_883_440, 10_963_440], 32, sent);
    let outcome = run(&spec);
    let second = 12_400_000 + 1_003_440 - (10_723_440 + 160_000 + 1_080_000 + 1_003_440);
    assert_eq!(paused(&outcome), (10_723_440 - 3_643_440 + second, 2));
    assert_eq!(
        crate::common::flow_column(&outcome, "fct_ps"),
        [2_160_000 + 37 * 320_000 + 1_000_000],
        "the line never stood still"
    );
}

/// Hosts 0 to 3 around switch 4, 100 Gbps and 1 us each, but 10 Gbps to and from host 2.
fn star(change: &Value) -> Value {
    let spec = json!({
        "preset": "selb",
        "topology": {"kind": "links", "hosts": 4, "switches": 1,
                     "links": [[0, 4, 100, 1000], [1, 4, 100, 1000], [2, 4, 10, 1000], [3, 4, 100, 1000]]},
        "run": {"stop": "time", "until_us": 1_000},
    });
    merged(&spec, change)
}

/// 200 packets wait for host 2, 800 ns each from 1080 ns on. The ACK for its own packet of 500 + 48 bytes to host 3 is
/// at the switch at 20 000 + 438.4 + 1000 + 43.84 + 1000 + 4.8 + 1000 = 23 487.04 ns, while the 29th is sent, until 24
/// 280 ns.
#[test]
fn control_goes_before_all_data() {
    let ack = |priorities: u32| {
        let own = json!({"kind": "flows", "list": [flow(2, 3, 500, 20_000)], "priority": priorities - 1});
        let spec = star(&json!({"switch": {"priorities": priorities}, "traffic": [burst(0, 2, 1000, 200, 0, 0), own]}));
        crate::common::flow_column(&run(&spec), "sender_fct_ps")[1]
    };
    assert_eq!(ack(1), 24_280_000 + 48_000 + 1_000_000 - 20_000_000);
    assert_eq!(ack(7), ack(1));
}

/// Three packets of 500 bytes of priority 0 and six of 1500 of priority 1, 400 and 1200 ns on the slow line: one of
/// each in turn, whatever their size, as long as there are both. The first is alone.
#[test]
fn data_priorities_are_served_in_turn_packet_by_packet() {
    let traffic = json!([burst(0, 2, 500, 3, 0, 0), burst(1, 2, 1500, 6, 1, 1)]);
    let spec = star(&json!({"switch": {"priorities": 2}, "traffic": traffic}));
    let mut at = 1_040_000 + 1_000_000;
    let mut seen = [0u32, 0];
    for priority in [0, 1, 0, 1, 0, 1, 1, 1, 1] {
        at += [400_000, 1_200_000][priority];
        let arrived = |ps: u64| {
            let outcome = until(&spec, ps);
            let at = |priority: u32| outcome.specs.iter().position(|flow| flow.src == priority).unwrap_or(0);
            [outcome.records[at(0)].arrived, outcome.records[at(1)].arrived]
        };
        assert_eq!(arrived(at), seen, "before {at} ps");
        seen[priority] += 1;
        assert_eq!(arrived(at + 1), seen, "at {at} ps");
    }
}

/// Priority 0 is stuck for 2 ms behind a line of 0.1 Gbps; priority 1 uses the same links as if it were alone.
#[test]
fn a_paused_priority_does_not_stop_another() {
    let links = json!([[0, 4, 100, 1000], [1, 4, 100, 1000], [2, 5, 0.1, 1000], [3, 5, 100, 1000], [4, 5, 100, 1000]]);
    let with = |traffic: Value| {
        json!({"preset": "selb", "switch": merged(&tight(), &json!({"priorities": 2})),
               "topology": {"kind": "links", "hosts": 4, "switches": 2, "links": links},
               "traffic": traffic, "run": {"stop": "time", "until_us": 1_000}})
    };
    let other = burst(1, 3, 1000, 500, 200_000, 1);
    let (alone, both) = (run(&with(json!([other]))), run(&with(json!([other, burst(0, 2, 1000, 500, 0, 0)]))));
    let of_other = |outcome: &Outcome| {
        let at = outcome.specs.iter().position(|flow| flow.src == 1);
        outcome.records[at.expect("the flow of priority 1")].fct
    };
    assert_eq!(of_other(&alone), 500 * 80_000 + 160_000 + 3_000_000);
    assert_eq!(of_other(&both), of_other(&alone));
    for link in ["switch4->switch5", "host0->switch4"] {
        assert!(of_link(&both, link, "paused_ps") > 900_000_000, "{link}");
        assert_eq!(of_link(&both, link, "pauses"), 1, "{link}");
    }
    assert_eq!((of_link(&both, "host1->switch4", "pauses"), counter(&both, "dropped", "packets")), (0, 0));
}

/// 120 packets of 1500 bytes at once to host 2: they come 120 ns apart and leave 1200 ns apart. As the k-th starts,
/// 10 (k - 1) have come, or all, and k have left.
fn left_behind() -> impl Iterator<Item = u64> {
    (1..=120u64).map(|k| 1500 * ((10 * (k - 1)).clamp(1, 120) - k))
}

fn marking(ramp: (u64, u64, f64), change: &Value) -> Value {
    let spec = star(&json!({
        "transport": {"kind": "dctcp", "mss_bytes": 1460, "header_bytes": 40, "initial_window_segments": 1000},
        "switch": {"guaranteed_bytes": 0, "ecn_min_bytes": ramp.0, "ecn_max_bytes": ramp.1, "ecn_max_probability": ramp.2},
        "traffic": [{"kind": "flows", "list": [flow(0, 2, 120 * 1460, 0)]}],
    }));
    merged(&spec, change)
}

fn marks(spec: &Value) -> Vec<u64> {
    crate::common::flow_column(&run(spec), "marks")
}

#[test]
fn no_mark_at_the_least_queue_and_always_above_the_greatest() {
    let above = |bytes: u64| left_behind().filter(|&left| left > bytes).count() as u64;
    let most = left_behind().max().unwrap_or(0);
    let none = json!({});
    assert_eq!(marks(&marking((most, most, 1.0), &none)), [0]);
    assert_eq!(marks(&marking((0, 1, 1.0), &none)), [above(0)]);
    for bytes in [15_000, 60_000, most - 1500] {
        assert!(left_behind().any(|left| left == bytes), "some queue is just as long as the bound");
        // Never at the minimum queue, certainly just above it; with this probability at the maximum, certainly above
        // it.
        assert_eq!(marks(&marking((bytes, bytes + 1, 1.0), &none)), [above(bytes)]);
        assert_eq!(marks(&marking((0, bytes, 0.0), &none)), [above(bytes)]);
        assert_eq!(marks(&marking((bytes - 1, bytes, 1.0), &none)), [above(bytes - 1)]);
        // A guarantee does not count.
        let guaranteed = json!({"switch": {"guaranteed_bytes": 3_000}});
        assert_eq!(marks(&marking((bytes, bytes + 1, 1.0), &guaranteed)), [above(bytes + 3_000)]);
    }
}

#[test]
fn a_priority_has_a_ramp_of_its_own() {
    let above = |bytes: u64| left_behind().filter(|&left| left > bytes).count() as u64;
    let step = json!([{"priority": 1, "min_bytes": 15_000, "max_bytes": 15_000}]);
    let of = |priority: u8, ecn: &Value| {
        let list = json!([flow(0, 2, 120 * 1460, 0)]);
        let traffic = json!([{"kind": "flows", "priority": priority, "list": list}]);
        let change = json!({"switch": {"priorities": 2, "ecn": ecn}, "traffic": traffic});
        marks(&marking((60_000, 60_000, 1.0), &change))
    };
    assert_eq!(of(0, &step), [above(60_000)]);
    assert_eq!(of(1, &step), [above(15_000)]);
    assert_eq!(of(1, &json!(null)), [above(60_000)]);
    assert!(above(15_000) > above(60_000));
}

#[test]
fn between_them_the_share_is_that_of_the_ramp() {
    for ramp in [(15_000, 150_000, 0.2), (0, 100_000, 1.0), (30_000, 200_000, 0.05)] {
        let share = |left: u64| match left {
            _ if left <= ramp.0 => 0.0,
            _ if left > ramp.1 => 1.0,
            _ => ramp.2 * (left - ramp.0) as f64 / (ramp.1 - ramp.0) as f64,
        };
        let runs = 300;
        let expected: f64 = left_behind().map(share).sum::<f64>() * f64::from(runs);
        let variance: f64 = left_behind().map(|left| share(left) * (1.0 - share(left))).sum::<f64>() * f64::from(runs);
        let seen: u64 = (0..runs).map(|seed| marks(&marking(ramp, &json!({"seed": seed})))[0]).sum();
        let sigma = (seen as f64 - expected) / variance.sqrt();
        assert!(sigma.abs() < 3.5 && variance > 100.0, "{ramp:?}: {seen} marks, {expected} expected: {sigma} sigma");
    }
}

#[test]
fn the_marks_of_a_port_do_not_depend_on_another() {
    let mut distinct = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let ramp = (15_000, 150_000, 0.3);
        let two = json!([{"kind": "flows", "list": [flow(0, 2, 120 * 1460, 0), flow(1, 3, 200 * 1460, 10)]}]);
        // Host 3 is slow here too, so that its port draws as many numbers.
        let change = |traffic: &Value| {
            json!({"seed": seed, "traffic": traffic, "topology": {"links": [
                [0, 4, 100, 1000], [1, 4, 100, 1000], [2, 4, 10, 1000], [3, 4, 5, 1000]]}})
        };
        let spec = marking(ramp, &json!({}));
        let alone = marks(&merged(&spec, &change(&spec["traffic"])));
        let both = marks(&merged(&spec, &change(&two)));
        assert_eq!(alone[0], both[0], "seed {seed}");
        assert!(both[1] > 0);
        distinct.insert(alone[0]);
    }
    assert!(distinct.len() > 3, "seeds differ: {distinct:?}");
}
