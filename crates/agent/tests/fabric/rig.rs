//! Two hosts under two leaves and a few spines, as network namespaces, and agents in them.

use serde_json::{Value, json};
use spinewise_agent::agent::clock;
use spinewise_agent::config::PORT;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const AGENT: &str = env!("CARGO_BIN_EXE_spinewise-agent");

/// Waits, but not forever.
pub(crate) fn wait_until(what: &str, is: impl Fn() -> bool) {
    let began = clock();
    while !is() {
        assert!(clock() - began < 20_000_000_000, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn run(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().expect("iproute2 is there");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {}: {error} (these tests need root)", words.join(" "));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The fabric, which is removed when this is dropped.
pub(crate) struct Rig {
    name: String,
    spines: usize,
    folder: PathBuf,
}

impl Rig {
    /// Builds it: racks 10.10/16 and 10.11/16, MTU 1600, routes for 1500.
    pub(crate) fn new(name: &str, spines: usize) -> Rig {
        let name = format!("swagent{}{name}", std::process::id());
        let folder = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&folder).expect("a folder for sockets");
        let rig = Rig { name, spines, folder };
        let mut places: Vec<String> = (0..2).flat_map(|n| [rig.host(n), rig.leaf(n)]).collect();
        places.extend((0..spines).map(|n| rig.spine(n)));
        for place in &places {
            rig.ip(&["netns", "add", place]);
            rig.ip(&["-n", place, "link", "set", "lo", "up"]);
            for setting in
                ["net.ipv4.ip_forward=1", "net.ipv4.fib_multipath_hash_policy=1", "net.ipv4.icmp_ratelimit=0"]
            {
                rig.sysctl(place, setting);
            }
        }
        for n in 0..2 {
            rig.link(
                (&rig.host(n), "eth0", &format!("10.1{n}.0.2/24")),
                (&rig.leaf(n), "d0", &format!("10.1{n}.0.1/24")),
            );
            let gateway = format!("10.1{n}.0.1");
            let host = rig.host(n);
            rig.ip(&["-n", &host, "route", "add", "default", "via", &gateway, "mtu", "1500", "advmss", "1460"]);
            for s in 0..spines {
                let (up, down) = (format!("u{s}"), format!("e{n}"));
                let (of_leaf, of_spine) = (format!("10.2{n}.{s}.1/24"), format!("10.2{n}.{s}.2/24"));
                rig.link((&rig.leaf(n), &up, &of_leaf), (&rig.spine(s), &down, &of_spine));
            }
        }
        for n in 0..2 {
            let mut words: Vec<String> = vec!["-n".into(), rig.leaf(n), "route".into(), "add".into()];
            words.push(format!("10.1{}.0.0/16", 1 - n));
            for s in 0..spines {
                words.extend(["nexthop".into(), "via".into(), format!("10.2{n}.{s}.2"), "dev".into(), format!("u{s}")]);
            }
            rig.ip(&words.iter().map(String::as_str).collect::<Vec<_>>());
            for s in 0..spines {
                let (to, by) = (format!("10.1{n}.0.0/16"), format!("10.2{n}.{s}.1"));
                rig.ip(&["-n", &rig.spine(s), "route", "add", &to, "via", &by]);
            }
        }
        rig
    }

    pub(crate) fn host(&self, n: usize) -> String {
        format!("{}h{n}", self.name)
    }

    pub(crate) fn leaf(&self, n: usize) -> String {
        format!("{}l{n}", self.name)
    }

    pub(crate) fn spine(&self, n: usize) -> String {
        format!("{}s{n}", self.name)
    }

    pub(crate) fn ip(&self, words: &[&str]) -> String {
        run("ip", words)
    }

    pub(crate) fn ip_tc(&self, words: &[&str]) -> String {
        run("tc", words)
    }

    pub(crate) fn sysctl(&self, place: &str, setting: &str) {
        run("ip", &["netns", "exec", place, "sysctl", "-qw", setting]);
    }

    fn link(&self, a: (&str, &str, &str), b: (&str, &str, &str)) {
        let mtu = ["mtu", "1600"];
        let words = [&["link", "add", a.1], &mtu[..], &["netns", a.0, "type", "veth", "peer", "name", b.1], &mtu];
        let words = [words.concat(), vec!["netns", b.0]].concat();
        self.ip(&words);
        for (place, device, address) in [a, b] {
            self.ip(&["-n", place, "addr", "add", address, "dev", device]);
            self.ip(&["-n", place, "link", "set", device, "up"]);
        }
    }

    /// Packets that each spine has received from the first leaf.
    pub(crate) fn forwarded(&self) -> Vec<u64> {
        let of = |s: usize| {
            let told = self.ip(&["-n", &self.spine(s), "-j", "-s", "link", "show", "dev", "e0"]);
            let told: Value = serde_json::from_str(&told).expect("JSON");
            told[0]["stats64"]["rx"]["packets"].as_u64().expect("a count")
        };
        (0..self.spines).map(of).collect()
    }

    /// Makes a spine silently drop packets that it should forward, or stops that.
    pub(crate) fn black_hole(&self, spine: usize, on: bool) {
        for n in 0..2 {
            let (to, by) = (format!("10.1{n}.0.0/16"), format!("10.2{n}.{spine}.1"));
            let place = self.spine(spine);
            if on {
                self.ip(&["-n", &place, "route", "replace", "blackhole", &to]);
            } else {
                self.ip(&["-n", &place, "route", "replace", &to, "via", &by]);
            }
        }
    }

    /// Whether any program is attached to the host's device.
    pub(crate) fn is_attached(&self, host: usize) -> bool {
        ["ingress", "egress"]
            .iter()
            .any(|side| !run("tc", &["-n", &self.host(host), "filter", "show", "dev", "eth0", side]).trim().is_empty())
    }

    /// The config of a host's agent.
    pub(crate) fn config(&self, host: usize, scheme: &str, params: &str) -> String {
        let params: Value = serde_json::from_str(params).expect("JSON");
        json!({
            "host": host,
            "device": "eth0",
            "hosts": [{ "address": "10.10.0.2", "rack": 0 }, { "address": "10.11.0.2", "rack": 1 }],
            "scheme": { "name": scheme, "params": params },
            "told": {
                "link_mbps": 1000, "path_mbps": 1000, "base_rtt_us": 200, "base_one_way_us": 100, "mss": 1448, "mtu": 1500,
            },
            "socket": self.folder.join(format!("{host}.sock")),
            "lease_ms": 500,
        })
        .to_string()
    }

    fn command(&self, host: usize, config: &str) -> Command {
        let file = self.folder.join(format!("{host}.json"));
        std::fs::write(&file, config).expect("a config");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.host(host), AGENT, "run", "--config"]).arg(file);
        command
    }

    /// Runs an agent, and waits until it is ready.
    pub(crate) fn run(&self, host: usize, scheme: &str, params: &str) -> Running {
        self.run_by(host, &self.config(host, scheme, params))
    }

    /// Sets the MTU of the link between a leaf and a spine, at both ends.
    pub(crate) fn set_mtu(&self, leaf: usize, spine: usize, mtu: u32) {
        let mtu = mtu.to_string();
        self.ip(&["-n", &self.leaf(leaf), "link", "set", &format!("u{spine}"), "mtu", &mtu]);
        self.ip(&["-n", &self.spine(spine), "link", "set", &format!("e{leaf}"), "mtu", &mtu]);
    }

    /// Makes the first leaf drop what goes to the tunnel's port, or stops that.
    pub(crate) fn filter_tunnel(&self, what: &str) {
        let port = PORT.to_string();
        self.ip(&["-n", &self.leaf(0), "rule", what, "ipproto", "udp", "dport", &port, "blackhole"]);
    }

    /// The path of a file that an agent may write.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The same with a given config.
    pub(crate) fn run_by(&self, host: usize, config: &str) -> Running {
        let mut command = self.command(host, config);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let told = child.stdout.take().expect("piped");
        BufReader::new(told).read_line(&mut line).expect("it tells");
        assert_eq!(line, "ready\n");
        Running { child, socket: self.folder.join(format!("{host}.sock")) }
    }

    /// Waits until all of them send by the tunnel.
    pub(crate) fn wait_tunnelled(&self, agents: &[Running]) {
        wait_until("agents have met", || {
            agents.iter().all(|agent| {
                let status = agent.status();
                let paths = status["peers"][0]["paths"].as_array().map_or(0, Vec::len);
                status["peers"][0]["state"] == "tunnelled" && paths == self.spines
            })
        });
    }

    /// Waits until these agents have met others, however many paths they know.
    pub(crate) fn wait_met(&self, agents: &[Running]) {
        wait_until("agents have met", || agents.iter().all(|agent| agent.status()["peers"][0]["state"] == "tunnelled"));
    }

    /// Runs the marker in a namespace.
    pub(crate) fn mark(&self, place: &str, words: &[&str]) -> String {
        run("ip", &[&["netns", "exec", place, AGENT, "mark"], words].concat())
    }

    /// Opens the file that represents a host's namespace.
    pub(crate) fn namespace(&self, host: usize) -> File {
        File::open(format!("/run/netns/{}", self.host(host))).expect("a namespace")
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let all = (0..2).flat_map(|n| [self.host(n), self.leaf(n)]).chain((0..self.spines).map(|n| self.spine(n)));
        for place in all {
            // Anything that was not built need not be removed.
            let _gone = Command::new("ip").args(["netns", "del", &place]).output();
        }
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

/// A running agent.
pub(crate) struct Running {
    child: Child,
    socket: PathBuf,
}

impl Running {
    /// The events of this kind.
    pub(crate) fn events(&self, what: &str) -> Vec<Value> {
        let status = self.status();
        let events = status["events"].as_array().expect("events").iter();
        events.filter(|event| event["what"] == what).cloned().collect()
    }

    pub(crate) fn status(&self) -> Value {
        let told = spinewise_agent::status::ask(&self.socket, "status").expect("it answers");
        serde_json::from_str(&told).expect("JSON")
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it was alive");
        self.child.wait().expect("it is dead");
    }

    /// Stops it as systemd would.
    pub(crate) fn stop(self) {
        self.stop_by("-TERM");
    }

    /// Stops it by a signal.
    pub(crate) fn stop_by(mut self, signal: &str) {
        run("kill", &[signal, &self.child.id().to_string()]);
        assert!(self.child.wait().expect("it ends").success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may be dead already.
        let _dead = self.child.kill();
        let _dead = self.child.wait();
    }
}

/// Runs an agent that must be refused: its exit code and its message.
pub(crate) fn agent(rig: &Rig, host: usize, config: &str, user: Option<u32>) -> (Option<i32>, String) {
    let mut command = rig.command(host, config);
    if let Some(user) = user {
        // `ip netns exec` needs root; what it starts does not have it.
        let file = rig.folder.join(format!("{host}.json"));
        command = Command::new("ip");
        let user = user.to_string();
        let ids = ["--reuid", &user, "--regid", &user, "--clear-groups"];
        command
            .args(["netns", "exec", &rig.host(host), "setpriv"])
            .args(ids)
            .args([AGENT, "run", "--config"])
            .arg(file);
        std::os::unix::fs::chown(&rig.folder, Some(65_534), None).expect("its folder");
    }
    command.process_group(0);
    let output = command.output().expect("it starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}
