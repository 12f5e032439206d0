//! MEET §3.3, "selects the path with the best probing result": `route = "best_probe"`.

use crate::common::data;
use crate::common::meet::{PERIOD, Rack, WAYS, us};
use spinewise_policy::schemes::meet::*;
use spinewise_policy::{Event, Packet, Policy, Shape, Tier};

fn rack(probe: Probe) -> Rack {
    Rack::new(&Config { probe, route: RouteBy::BestProbe, ..Config::default() }, 4)
}

/// A period passes: every host ticks, the proxy last.
fn period(rack: &mut Rack) {
    rack.wait(PERIOD);
    rack.tick_all();
}

/// The rack's data: way 0 is best, then 1, 2 and 3.
fn data_prefer_way_0(rack: &mut Rack) {
    (0..WAYS).for_each(|way| rack.ack(1, 1, way, us(20 * u64::from(way))));
}

#[test]
fn a_host_takes_its_own_best_probe_though_data_know_a_better_path() {
    let mut rack = rack(Probe::Host);
    (2..4).for_each(|host| rack.flow(host, 1));
    data_prefer_way_0(&mut rack);
    period(&mut rack);
    assert_eq!(rack.probed().len(), 6, "three probes of each host that has flows");
    assert_eq!(rack.picks(2, 30), [30, 0, 0, 0], "no probe was answered yet: what data say");
    // Hosts 2 and 3 have different results, host 1 has none.
    rack.answer(2, 1, 3, us(50));
    assert_eq!(rack.picks(2, 30), [0, 0, 0, 30], "the first answer of the round");
    rack.answer(2, 1, 2, us(40));
    rack.answer(2, 1, 1, us(60));
    rack.answer(3, 1, 1, us(5));
    assert_eq!([1, 2, 3].map(|host| rack.picks(host, 30)), [[30, 0, 0, 0], [0, 0, 30, 0], [0, 30, 0, 0]]);
    // Later data changes nothing between rounds.
    data_prefer_way_0(&mut rack);
    rack.tick(0);
    assert_eq!(rack.picks(2, 30), [0, 0, 30, 0]);
}

#[test]
fn data_choose_the_first_probe_and_the_best_probe_is_the_second() {
    for route in [RouteBy::BestProbe, RouteBy::Combined] {
        let mut rack = Rack::new(&Config { probe: Probe::Host, route, ..Config::default() }, 4);
        rack.flow(2, 1);
        for round in 0..20 {
            data_prefer_way_0(&mut rack);
            period(&mut rack);
            let probed: Vec<u16> = rack.probed().iter().map(|probe| probe.2).collect();
            // What data say comes with the broadcast, after the first round.
            assert!(round == 0 || probed[..2] == [0, 3], "{probed:?}: the least by data, the best one last time");
            // By this probe way 3 is at least as good as way 0.
            rack.answer(2, 1, 3, us(0));
        }
    }
}

#[test]
fn combined_the_same_answers_change_nothing_unless_they_are_better() {
    let mut rack = Rack::new(&Config { probe: Probe::Host, ..Config::default() }, 4);
    rack.flow(2, 1);
    data_prefer_way_0(&mut rack);
    period(&mut rack);
    [(3, 50), (2, 40), (1, 60)].into_iter().for_each(|(way, over)| rack.answer(2, 1, way, us(over)));
    assert_eq!(rack.picks(2, 30), [30, 0, 0, 0], "way 0 is at K by data");
}

#[test]
fn a_new_round_replaces_the_last_one_when_it_is_answered() {
    let mut rack = rack(Probe::Host);
    rack.flow(2, 1);
    data_prefer_way_0(&mut rack);
    period(&mut rack);
    rack.answer(2, 1, 2, us(40));
    period(&mut rack);
    assert_eq!(rack.picks(2, 30), [0, 0, 30, 0], "the round before counts until then");
    rack.answer(2, 1, 3, us(300));
    assert_eq!(rack.picks(2, 30), [0, 0, 0, 30], "though worse");
    rack.answer(2, 1, 0, us(299));
    assert_eq!(rack.picks(2, 30), [30, 0, 0, 0]);
}

#[test]
fn paths_with_equal_results_are_drawn_and_a_flow_on_one_of_them_stays() {
    let mut rack = rack(Probe::Host);
    rack.flow(2, 1);
    period(&mut rack);
    [1, 3].into_iter().for_each(|way| rack.answer(2, 1, way, us(0)));
    let seen = rack.picks(2, 400);
    assert!(seen[0] + seen[2] == 0 && seen[1] > 150 && seen[3] > 150, "{seen:?}");
    let pick = |rack: &mut Rack| rack.hosts[2].pick(1, &Packet { src: 2, ..data(7) }, &mut ()).0;
    let old = pick(&mut rack);
    for _ in 0..20 {
        rack.wait(PERIOD * 2);
        assert_eq!(pick(&mut rack), old, "a new flowlet, on one of the best");
    }
    rack.answer(2, 1, old, us(1));
    rack.wait(PERIOD * 2);
    assert_eq!(pick(&mut rack), 4 - old, "its path is among them no more");
}

#[test]
fn a_lost_probe_is_no_result() {
    let mut rack = rack(Probe::Host);
    rack.flow(2, 1);
    data_prefer_way_0(&mut rack);
    period(&mut rack);
    rack.answer(2, 1, 2, us(40));
    rack.answer(2, 1, 1, us(60));
    rack.tell(2, 1, 3, Event::ProbeLost);
    assert_eq!(rack.picks(2, 30), [0, 0, 30, 0]);
    // The shell's clock has moved on: the loss is of a later probe than the answer.
    rack.wait(PERIOD * 2);
    rack.tell(2, 1, 2, Event::ProbeLost);
    assert_eq!(rack.picks(2, 30), [0, 30, 0, 0]);
}

#[test]
fn two_rounds_without_an_answer_leave_what_data_say() {
    let mut rack = rack(Probe::Host);
    rack.flow(2, 1);
    data_prefer_way_0(&mut rack);
    period(&mut rack);
    rack.answer(2, 1, 2, us(40));
    for best in [2, 0] {
        data_prefer_way_0(&mut rack);
        period(&mut rack);
        assert_eq!(rack.picks(2, 30)[best], 30);
    }
}

#[test]
fn by_the_proxys_probes_the_whole_rack_takes_the_best_of_them() {
    let mut rack = rack(Probe::Proxy);
    rack.flow(2, 1);
    data_prefer_way_0(&mut rack);
    period(&mut rack);
    data_prefer_way_0(&mut rack);
    period(&mut rack);
    let probed = rack.probed();
    assert!(!probed.is_empty() && probed.iter().all(|probe| probe.0 == 0), "{probed:?}");
    assert_eq!(rack.picks(3, 30), [30, 0, 0, 0], "no result yet");
    [(1, 70), (2, 10), (3, 30)].into_iter().for_each(|(way, over)| rack.answer(0, 1, way, us(over)));
    assert_eq!(rack.picks(3, 30), [30, 0, 0, 0], "results come with the next broadcast");
    data_prefer_way_0(&mut rack);
    period(&mut rack);
    for host in 0..4 {
        assert_eq!(rack.picks(host, 30), [0, 0, 30, 0], "host {host}");
    }
}

#[test]
fn without_probes_there_is_no_best_one() {
    let shape = Shape { tier: Tier::Host, hosts: 16, leaves: 4, ports: 1, ways: WAYS };
    let misfit = |probe, route| Meet::new(&Config { probe, route, ..Config::default() }).misfit(&shape).map(|m| m.0);
    assert_eq!(misfit(Probe::Off, RouteBy::BestProbe), Some("route"));
    assert_eq!(misfit(Probe::Off, RouteBy::Combined), None);
    assert_eq!(misfit(Probe::Host, RouteBy::BestProbe), None);
    assert_eq!(misfit(Probe::Proxy, RouteBy::BestProbe), None);
}
