//! SELB between two leaves, with queues, timers and control packets that take time: order is kept and queues are
//! returned.

use crate::common::fabric::{Fabric, Setting};
use spinewise_policy::schemes::packet_scatter::{Config as NoConfig, Rps};
use spinewise_policy::schemes::selb::kmeans::Start;
use spinewise_policy::schemes::selb::{Config, Monitor, Selb};
use spinewise_policy::{Span, Time};

const STOP: Time = Time(3_000_000_000);

/// Paths of unequal length, so that much is overtaken.
fn setting(seed: u64) -> Setting {
    Setting { seed, delays: [1, 3, 8, 1, 2, 15, 1, 5].map(Span::from_us).to_vec(), ..Setting::default() }
}

fn fabric(config: &Config, setting: Setting) -> Fabric<Selb> {
    Fabric::new(config, Setting { queues: config.reorder_queues as usize, ..setting })
}

#[test]
fn the_fabric_sees_inversions_where_there_are_some() {
    let mut spray = Fabric::<Rps>::new(&NoConfig {}, setting(1));
    assert!(spray.run(8, STOP) > 1_000);
    spray.assert_empty();
}

#[test]
fn no_flow_is_reordered_and_no_queue_leaks_while_there_are_queues() {
    let (mut reroutes, mut held, mut backups) = (0, 0.0, 0);
    for seed in 0..24 {
        let config = Config {
            k: 1 + seed as u32 % 5,
            start: if seed % 2 == 0 { Start::Quantile } else { Start::Random },
            theta: [0.05, 0.2, 0.5][seed as usize % 3],
            monitor: [Monitor::Interval, Monitor::Measured, Monitor::Packet][seed as usize / 3 % 3],
            reorder_queues: 32,
            extra_flush_us: 300.0,
            ..Config::default()
        };
        let mut fabric = fabric(&config, setting(seed));
        let inversions = fabric.run(24, STOP);
        fabric.assert_empty();
        assert_eq!(inversions, 0, "seed {seed}");
        assert_eq!(fabric.series("out_of_order").len(), 0, "seed {seed}");
        assert_eq!(
            fabric.series("reroutes").len(),
            fabric.series("clears").len(),
            "every TAIL is answered, seed {seed}"
        );
        reroutes += fabric.series("reroutes").len();
        backups += fabric.series("backup_reroutes").len();
        held += fabric.series("held_packets").iter().sum::<f64>();
    }
    println!("{reroutes} reroutes, {backups} of them to the shortest queue, {held} packets held");
    assert!(reroutes > 2_000 && backups > 100 && held > 2_000.0, "{reroutes} reroutes, {backups}, {held} packets held");
}

#[test]
fn without_enough_queues_flows_are_reordered_as_told_and_queues_still_come_back() {
    for (keep_path_us, stays) in [(1e9, true), (0.0, false)] {
        let (mut refused, mut passed, mut inversions, mut kept) = (0, 0, 0, 0);
        for seed in 0..8 {
            let config = Config { reorder_queues: 1, keep_path_us, ..Config::default() };
            let mut fabric = fabric(&config, setting(seed));
            inversions += fabric.run(24, STOP);
            fabric.assert_empty();
            refused += fabric.series("no_queue").len();
            passed += fabric.series("out_of_order").len() as u64;
            kept += fabric.series("kept").len();
            let most = fabric.series("reorder_queues").into_iter().fold(0.0, f64::max);
            assert_eq!(most, 1.0);
        }
        assert!(refused > 0 && inversions > 0);
        // Packets that pass early make those they overtook late; nothing else does.
        assert!(passed > 0 && inversions <= 200 * refused as u64, "{inversions} inversions, {refused} refused");
        assert_eq!(kept > 0, stays);
    }
}

#[test]
fn a_tail_given_up_too_early_is_the_only_other_cause_of_reordering() {
    let (mut inversions, mut timeouts) = (0, 0);
    for seed in 0..12 {
        let config = Config { reorder_queues: 32, extra_flush_us: 2.0, ..Config::default() };
        let mut fabric = fabric(&config, setting(seed));
        let late = fabric.run(24, STOP);
        fabric.assert_empty();
        assert!(late == 0 || !fabric.series("timeouts").is_empty(), "seed {seed}");
        assert_eq!(fabric.series("no_queue").len(), 0);
        inversions += late;
        timeouts += fabric.series("timeouts").len();
    }
    assert!(inversions > 0 && timeouts > 0, "{inversions} inversions, {timeouts} timeouts");
}
