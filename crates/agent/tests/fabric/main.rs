//! The agent between network namespaces over the kernel's own ECMP, and its programs run by the kernel. These tests need
//! root and the feature `datapath`: `make test-agent`.

mod hosts;
mod kernel;
#[path = "../it/oracle.rs"]
mod oracle;
mod rig;
mod tcp;

use rig::{Rig, agent, wait_until};
use serde_json::Value;
use spinewise_agent::config::PORT;
use spinewise_agent::talk::{Speaker, Talk};
use std::time::Duration;

/// Packets sent and received by way, for the only peer.
fn by_way(status: &Value, what: &str) -> Vec<u64> {
    let paths = status["peers"][0]["paths"].as_array().expect("paths").iter();
    paths.map(|path| path[what].as_u64().expect("a count")).collect()
}

fn count(status: &Value, what: &str) -> u64 {
    status["counters"][what].as_u64().expect("a counter")
}

#[test]
fn tcp_takes_every_path_and_the_counts_are_right() {
    let rig = Rig::new("a", 4);
    let agents = [rig.run(0, "presto", "{}"), rig.run(1, "presto", "{}")];
    rig.wait_tunnelled(&agents);
    let before = rig.forwarded();
    let bytes = tcp::transfer(&rig, 20_000_000);
    assert_eq!(bytes, 20_000_000);
    wait_until("all is counted", || {
        let (here, there) = (agents[0].status(), agents[1].status());
        let all = |status: &Value, what: &str| by_way(status, what).iter().sum::<u64>();
        all(&here, "sent_packets") == all(&there, "received_packets")
            && all(&there, "sent_packets") == all(&here, "received_packets")
    });
    let (here, there) = (agents[0].status(), agents[1].status());
    // Nothing is lost in this fabric, so ways agree one by one, and each has about a quarter of the cells.
    assert_eq!(by_way(&here, "sent_packets"), by_way(&there, "received_packets"));
    let sent = by_way(&here, "sent_packets");
    assert!(sent.iter().all(|&packets| packets > 1_000), "{sent:?}");
    assert_eq!(count(&there, "malformed") + count(&there, "foreign") + count(&there, "stranger"), 0);
    // The agent's way is the actual way: the traced spine has forwarded as much.
    let after = rig.forwarded();
    for (way, path) in here["peers"][0]["paths"].as_array().expect("paths").iter().enumerate() {
        let spine = path["hops"][0].as_str().expect("a hop").split('.').nth(2).and_then(|octet| octet.parse().ok());
        let spine: usize = spine.expect("10.2x.SPINE.2");
        let passed = after[spine] - before[spine];
        // A super-packet of up to 45 segments counts as one at an interface.
        assert!(passed > 0 && passed < sent[way] * 2 + 2_000, "way {way}, spine {spine}: {passed} of {}", sent[way]);
    }
}

#[test]
fn a_flow_under_ecmp_stays_on_one_path() {
    let rig = Rig::new("b", 4);
    let agents = [rig.run(0, "ecmp", "{}"), rig.run(1, "ecmp", "{}")];
    rig.wait_tunnelled(&agents);
    assert_eq!(tcp::transfer(&rig, 5_000_000), 5_000_000);
    let sent = by_way(&agents[0].status(), "sent_packets");
    // A pure acknowledgement or the end of the connection may go elsewhere.
    assert_eq!(sent.iter().filter(|&&packets| packets > 10).count(), 1, "{sent:?}");
}

#[test]
fn a_peer_without_an_agent_gets_plain_traffic() {
    let rig = Rig::new("c", 2);
    let alone = rig.run(0, "presto", "{}");
    assert_eq!(tcp::transfer(&rig, 2_000_000), 2_000_000);
    let status = alone.status();
    assert!(count(&status, "sent_plain") > 10 && count(&status, "sent_tunnelled") == 0, "{status}");
    assert_eq!(status["peers"][0]["state"], "plain");
}

#[test]
fn agents_may_be_stopped_killed_and_replaced_under_load() {
    let rig = Rig::new("d", 4);
    let mut agents = vec![rig.run(0, "presto", "{}"), rig.run(1, "presto", "{}")];
    rig.wait_tunnelled(&agents);
    let stream = tcp::Stream::begin(&rig);
    let moves = |words: &str| {
        let before = stream.received();
        wait_until(words, || stream.received() > before + 2_000_000);
    };
    moves("traffic flows");
    // Killed: its programs continue with the last table, and in the end send plain.
    agents.remove(0).kill();
    moves("traffic flows though the agent is dead");
    std::thread::sleep(Duration::from_millis(700));
    moves("traffic flows though the lease is over");
    // A new one takes over.
    agents.insert(0, rig.run(0, "clove", "{}"));
    rig.wait_tunnelled(&agents);
    moves("traffic flows by the new agent");
    // Stopped: nothing is left behind.
    agents.remove(0).stop();
    moves("traffic flows without an agent");
    assert!(!rig.is_attached(0), "filters are gone");
    wait_until("the other one sends plain", || agents[0].status()["peers"][0]["state"] == "plain");
    let (sent, received) = stream.end();
    assert_eq!(sent, received, "no byte is lost");
}

#[test]
fn a_black_hole_is_left_and_found_again() {
    let rig = Rig::new("e", 4);
    let agents = [rig.run(0, "presto", "{}"), rig.run(1, "presto", "{}")];
    rig.wait_tunnelled(&agents);
    let stream = tcp::Stream::begin(&rig);
    wait_until("traffic flows", || stream.received() > 5_000_000);
    rig.black_hole(2, true);
    let events = |what: &str| {
        let status = agents[0].status();
        let events = status["events"].as_array().expect("events").clone();
        events.into_iter().filter(|event| event["what"] == what).count()
    };
    wait_until("its path is dead", || events("path_dead") == 1);
    let before = stream.received();
    wait_until("traffic flows by the others", || stream.received() > before + 5_000_000);
    // Meanwhile paths are searched for again; a dead one is not forgotten.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(by_way(&agents[0].status(), "sent_packets").len(), 4);
    rig.black_hole(2, false);
    wait_until("its path is back", || events("path_back") == 1);
    let (sent, received) = stream.end();
    assert_eq!((sent, events("path_dead")), (received, 1), "no byte is lost, and no other path was blamed");
}

/// Links of a leaf that take 50 Mbps, with a marker on each.
fn bottlenecks(rig: &Rig, spines: usize) {
    for spine in 0..spines {
        let (leaf, link) = (rig.leaf(0), format!("u{spine}"));
        let bucket = ["tbf", "rate", "50mbit", "burst", "3300", "limit", "150000"];
        rig.ip_tc(&[&["-n", &leaf, "qdisc", "add", "dev", &link, "root"], &bucket[..]].concat());
        rig.mark(&leaf, &["--device", &link, "--above", "30000"]);
    }
    for host in 0..2 {
        rig.sysctl(&rig.host(host), "net.ipv4.tcp_ecn=1");
    }
}

#[test]
fn bursts_of_an_agent_that_was_restarted_are_answered() {
    let rig = Rig::new("h", 2);
    bottlenecks(&rig, 2);
    let file = rig.file("record");
    // A burst is over within a round trip, and so must be this one, which waits in a queue.
    let config = |host: usize| {
        let params = r#"{"t_explore_rtts": 1, "c_burst": 3}"#;
        let mut config: Value = serde_json::from_str(&rig.config(host, "elab", params)).expect("JSON");
        config["told"]["base_rtt_us"] = 20_000.into();
        if host == 0 {
            config["record"] = file.to_str().expect("a path").into();
        }
        config.to_string()
    };
    let first = rig.run_by(0, &config(0));
    let agents = [rig.run_by(1, &config(1))];
    rig.wait_met(&agents);
    // The sender writes down each answer, and checks its file once a second; a new agent goes on in it.
    let answered = || {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.lines().filter(|line| line.contains("\"probed\"")).count()
    };
    // Queues are marked, and then empty: the next packets measure.
    let transfers = |most: usize, enough: usize| {
        (0..most).position(|_| {
            tcp::transfer(&rig, 400_000);
            std::thread::sleep(Duration::from_millis(50));
            answered() >= enough
        })
    };
    assert!(transfers(600, 40).is_some(), "{} answers", answered());
    first.stop();
    let before = answered();
    let second = [rig.run_by(0, &config(0))];
    rig.wait_met(&second);
    rig.wait_met(&agents);
    assert!(transfers(60, before + 1).is_some(), "the first bursts of a new agent are not answered");
}

#[test]
fn what_an_agent_said_that_is_gone_comes_too_late() {
    let rig = Rig::new("i", 2);
    let agents = [rig.run(0, "presto", "{}"), rig.run(1, "presto", "{}")];
    rig.wait_tunnelled(&agents);
    let namespace = rig.namespace(0);
    // Another life of the first host's agent says more than once that it is leaving.
    let say = move || {
        tcp::enter(&namespace);
        let socket = std::net::UdpSocket::bind(("10.10.0.2", 0)).expect("a socket");
        let bye = Talk::Bye.write(Speaker { host: 0, instance: 0 });
        for _ in 0..20 {
            socket.send_to(&bye, ("10.11.0.2", PORT + 1)).expect("it is sent");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    std::thread::spawn(say).join().expect("it is said");
    let events = agents[1].status()["events"].clone();
    let gone = events.as_array().expect("events").iter().filter(|event| event["what"] == "peer_gone").count();
    assert_eq!(gone, 0, "{events}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_changed() {
    let rig = Rig::new("f", 2);
    rig.ip(&["-n", &rig.host(0), "route", "change", "default", "via", "10.10.0.1", "mtu", "1590"]);
    let (code, words) = agent(&rig, 0, &rig.config(0, "presto", "{}"), None);
    assert_eq!(code, Some(1), "{words}");
    assert!(
        words.contains("MTU too small: packets to 10.11.0.2 may have 1590 bytes and the tunnel adds 76"),
        "{words}"
    );
    rig.ip(&["-n", &rig.host(0), "route", "change", "default", "via", "10.10.0.1", "mtu", "1500"]);
    let (code, words) = agent(&rig, 0, &rig.config(0, "presto", "{}"), Some(65_534));
    assert_eq!(code, Some(1), "{words}");
    assert!(words.contains("CAP_NET_RAW"), "{words}");
    let config = rig.config(0, "presto", "{}").replace("\"eth0\"", "\"eth9\"");
    let (code, words) = agent(&rig, 0, &config, None);
    assert!(code == Some(1) && words.contains("no such device in this network namespace"), "{words}");
    let config = rig.config(0, "presto", "{}").replace("\"eth0\"", "\"lo\"");
    let (code, words) = agent(&rig, 0, &config, None);
    assert!(code == Some(1) && words.contains("the route from 10.10.0.2 to 10.11.0.2 uses another one"), "{words}");
    let config = rig.config(0, "presto", "{}").replace("10.10.0.2", "10.10.0.3");
    let (code, words) = agent(&rig, 0, &config, None);
    let missing = "hosts[0].address = 10.10.0.3: this machine has no such address";
    assert!(code == Some(1) && words.contains(missing), "{words}");
    let (code, words) = agent(&rig, 0, &rig.config(0, "conga", "{}"), None);
    assert!(code == Some(2) && words.contains("agents run"), "{words}");
    assert!(!rig.is_attached(0));
    let running = rig.run(0, "presto", "{}");
    let (code, words) = agent(&rig, 0, &rig.config(0, "presto", "{}"), None);
    assert!(code == Some(1) && words.contains("another agent is running there"), "{words}");
    running.stop();
}

#[test]
fn the_marker_reads_the_real_queue() {
    let rig = Rig::new("g", 1);
    bottlenecks(&rig, 1);
    let mark = |more: &[&str]| rig.mark(&rig.leaf(0), &[&["--device", "u0"], more].concat());
    assert_eq!(tcp::transfer(&rig, 10_000_000), 10_000_000);
    let told: Value = serde_json::from_str(&mark(&["--read"])).expect("JSON");
    let (seen, marked) = (told["seen"].as_u64().expect("seen"), told["marked"].as_u64().expect("marked"));
    let longest = told["longest_bytes"].as_u64().expect("longest_bytes");
    assert!(seen > 6_000 && marked > 10 && marked < seen, "{told}");
    assert!((30_000..=150_000).contains(&longest), "{told}");
    mark(&["--detach"]);
}
