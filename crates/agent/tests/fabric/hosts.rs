//! Hosts and fabrics as they are: other programs at the device, other tunnels, firewalls, and MTUs that differ.

use crate::rig::{Rig, Running, agent, wait_until};
use crate::tcp;
use serde_json::Value;
use spinewise_agent::config::PORT;
use std::net::UdpSocket;
use std::time::Duration;

fn state(agent: &Running) -> String {
    agent.status()["peers"][0]["state"].as_str().expect("a state").to_owned()
}

fn pair(rig: &Rig, scheme: &str) -> [Running; 2] {
    [rig.run(0, scheme, "{}"), rig.run(1, scheme, "{}")]
}

#[test]
fn packets_of_another_tunnel_are_left_plain_and_arrive() {
    let rig = Rig::new("va", 2);
    for (own, other) in [(0, 1), (1, 0)] {
        let host = rig.host(own);
        let ends = [format!("10.1{own}.0.2"), format!("10.1{other}.0.2")];
        let words =
            ["type", "vxlan", "id", "7", "dstport", "4789", "local", &ends[0], "remote", &ends[1], "dev", "eth0"];
        rig.ip(&[&["-n", &host, "link", "add", "vx", "mtu", "1400"], &words[..]].concat());
        rig.ip(&["-n", &host, "addr", "add", &format!("192.168.9.{own}/24"), "dev", "vx"]);
        rig.ip(&["-n", &host, "link", "set", "vx", "up"]);
    }
    let agents = pair(&rig, "presto");
    rig.wait_tunnelled(&agents);
    assert_eq!(tcp::transfer_to(&rig, "192.168.9.1", 2_000_000), 2_000_000);
    assert!(agents[0].status()["counters"]["no_room"].as_u64().expect("a count") > 10);
}

#[test]
fn filters_of_others_see_what_passes_ours() {
    let rig = Rig::new("vb", 2);
    let agents = pair(&rig, "presto");
    rig.wait_tunnelled(&agents);
    // One that drops everything, behind ours: by the first host's way out, and by the second one's way in.
    let drop_all = |host: usize, side: &str, on: bool| {
        let host = rig.host(host);
        let place = ["dev", "eth0", side, "pref", "100", "protocol", "all"];
        let (verb, what) =
            if on { ("add", &["bpf", "da", "bytecode", "1,6 0 0 2"][..]) } else { ("del", &["bpf"][..]) };
        rig.ip_tc(&[&["-n", &host, "filter", verb], &place[..], what].concat());
    };
    for (host, side) in [(0, "egress"), (1, "ingress")] {
        rig.wait_tunnelled(&agents);
        let stream = tcp::Stream::begin(&rig);
        wait_until("traffic flows", || stream.received() > 1_000_000);
        drop_all(host, side, true);
        std::thread::sleep(Duration::from_millis(50));
        let before = stream.received();
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(stream.received(), before, "{side}");
        drop_all(host, side, false);
        wait_until("traffic flows again", || stream.received() > before + 1_000_000);
        let (sent, received) = stream.end();
        assert_eq!(sent, received);
    }
}

#[test]
fn a_device_with_an_ingress_qdisc_is_refused_and_left_as_it_was() {
    let rig = Rig::new("vc", 1);
    rig.ip_tc(&["-n", &rig.host(0), "qdisc", "add", "dev", "eth0", "ingress"]);
    let (code, words) = agent(&rig, 0, &rig.config(0, "presto", "{}"), None);
    assert!(code == Some(1) && words.contains("eth0 has an ingress qdisc"), "{words}");
    assert!(!rig.is_attached(0));
}

#[test]
fn programs_that_were_removed_are_attached_again() {
    let rig = Rig::new("vd", 2);
    let agents = pair(&rig, "presto");
    rig.wait_tunnelled(&agents);
    let stream = tcp::Stream::begin(&rig);
    rig.ip_tc(&["-n", &rig.host(1), "qdisc", "del", "dev", "eth0", "clsact"]);
    assert!(!rig.is_attached(1));
    wait_until("they are back", || agents[1].events("reattached").len() == 1);
    rig.wait_tunnelled(&agents);
    let before = stream.received();
    wait_until("traffic flows", || stream.received() > before + 2_000_000);
    let (sent, received) = stream.end();
    assert_eq!(sent, received);
    let [here, there] = agents;
    here.stop_by("-HUP");
    there.stop_by("-QUIT");
    assert!(!rig.is_attached(0) && !rig.is_attached(1));
}

#[test]
fn a_firewall_that_lets_only_agents_talk_leaves_traffic_plain() {
    let rig = Rig::new("ve", 2);
    let agents = pair(&rig, "presto");
    rig.wait_tunnelled(&agents);
    let stream = tcp::Stream::begin(&rig);
    wait_until("traffic flows", || stream.received() > 2_000_000);
    rig.filter_tunnel("add");
    wait_until("it is noticed", || agents.iter().all(|agent| !agent.events("tunnel_silent").is_empty()));
    let before = stream.received();
    wait_until("traffic flows all the same", || stream.received() > before + 2_000_000);
    assert!(agents.iter().all(|agent| state(agent) != "tunnelled"));
    rig.filter_tunnel("del");
    rig.wait_tunnelled(&agents);
    let (sent, received) = stream.end();
    assert_eq!(sent, received);
}

#[test]
fn ports_of_elab_are_not_used_before_one_has_answered() {
    let rig = Rig::new("vf", 2);
    rig.filter_tunnel("add");
    let agents = pair(&rig, "elab");
    wait_until("they have met", || agents.iter().all(|agent| state(agent) == "searching"));
    assert_eq!(tcp::transfer(&rig, 2_000_000), 2_000_000);
    assert_eq!(state(&agents[0]), "searching");
    rig.filter_tunnel("del");
    rig.wait_met(&agents);
    assert_eq!(tcp::transfer(&rig, 2_000_000), 2_000_000);
    rig.filter_tunnel("add");
    wait_until("it is noticed", || agents.iter().all(|agent| !agent.events("tunnel_silent").is_empty()));
    assert_eq!(tcp::transfer(&rig, 2_000_000), 2_000_000);
}

#[test]
fn a_path_too_narrow_for_the_tunnel_is_left_out() {
    let rig = Rig::new("vg", 3);
    // 1500 bytes and the tunnel's 76 do not fit.
    rig.set_mtu(0, 1, 1550);
    rig.set_mtu(1, 1, 1550);
    let agents = pair(&rig, "presto");
    rig.wait_met(&agents);
    let paths = agents[0].status()["peers"][0]["paths"].as_array().map_or(0, Vec::len);
    let told = agents[0].events("mtu_too_small");
    assert_eq!((paths, told.len(), &told[0]["bytes"], &told[0]["paths"]), (2, 1, &1576.into(), &1.into()));
    assert_eq!(tcp::transfer(&rig, 5_000_000), 5_000_000);
}

#[test]
fn a_fabric_too_narrow_for_the_tunnel_gets_plain_traffic() {
    for scheme in ["presto", "elab"] {
        let rig = Rig::new(&format!("vh{}", scheme.len()), 1);
        rig.set_mtu(0, 0, 1500);
        rig.set_mtu(1, 0, 1500);
        let agents = pair(&rig, scheme);
        wait_until("it is noticed", || agents.iter().all(|agent| !agent.events("mtu_too_small").is_empty()));
        assert_eq!(state(&agents[0]), "searching");
        assert_eq!(tcp::transfer(&rig, 2_000_000), 2_000_000);
    }
}

#[test]
fn an_agent_holds_its_ports_and_goes_on_in_its_record() {
    let rig = Rig::new("vi", 1);
    let file = rig.file("record");
    let mut config: Value = serde_json::from_str(&rig.config(0, "presto", "{}")).expect("JSON");
    config["record"] = file.to_str().expect("a path").into();
    for lives in 1..=2 {
        let running = rig.run_by(0, &config.to_string());
        let namespace = rig.namespace(0);
        let taken = move || {
            tcp::enter(&namespace);
            [PORT, PORT + 1].map(|port| UdpSocket::bind(("10.10.0.2", port)).is_err())
        };
        assert_eq!(std::thread::spawn(taken).join().expect("it tries"), [true; 2]);
        running.stop();
        let text = std::fs::read_to_string(&file).expect("a record");
        assert_eq!(text.lines().filter(|line| line.contains("\"began\"")).count(), lives);
    }
}
