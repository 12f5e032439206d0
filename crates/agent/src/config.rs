//! The configuration of an agent: a JSON file, read strictly.

mod place;

use crate::Failure;
use serde::Deserialize;
use spinewise_policy::config::{Allowed, Refused, Value};
use spinewise_sim::bank::{Chosen, Misfit, REGISTRY};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Default UDP port of the tunnel, below those that Linux gives to clients (32768 to 60999,
/// net.ipv4.ip_local_port_range). Neither it nor the next one is in Debian's list of services.
pub const PORT: u16 = 28_771;

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Index of this host in `hosts`.
    pub host: u32,
    /// Its device.
    pub device: String,
    /// All hosts that may have an agent.
    pub hosts: Vec<Host>,
    /// The scheme.
    pub scheme: Scheme,
    /// Seed of its random streams.
    #[serde(default)]
    pub seed: u64,
    /// The operator's description of the fabric.
    pub told: Told,
    /// The socket at which the agent answers.
    pub socket: PathBuf,
    /// UDP port of the tunnel; agents use the next one among themselves.
    #[serde(default = "port")]
    pub port: u16,
    /// Period of the slow half, µs.
    #[serde(default = "step_us")]
    pub step_us: u64,
    /// An agent that is silent for this long leaves traffic plain.
    #[serde(default = "lease_ms")]
    pub lease_ms: u64,
    /// How paths are found.
    #[serde(default)]
    pub discovery: Discovery,
    /// How dead paths are found.
    #[serde(default)]
    pub health: Health,
    /// Series and events go to this file.
    pub record: Option<PathBuf>,
    /// Interval at which the scheme's view of each path is also recorded there; 0: never.
    #[serde(default)]
    pub record_sight_ms: u64,
}

/// A host.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its address.
    pub address: Ipv4Addr,
    /// Its rack.
    pub rack: u32,
}

/// The `[scheme]` of a spec.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// Its name.
    pub name: String,
    /// Its parameters.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
}

/// The operator's description of the fabric.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// Rate of the host's link.
    pub link_mbps: f64,
    /// Rate of an empty path.
    pub path_mbps: f64,
    /// Round trip of a full packet on an empty path.
    pub base_rtt_us: f64,
    /// The way there of that round trip.
    pub base_one_way_us: f64,
    /// Largest payload.
    pub mss: u32,
    /// Largest inner packet.
    pub mtu: u32,
}

/// How paths are found.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Discovery {
    /// Maximum number of source ports traced to one peer.
    pub ports: u32,
    /// Interval between searches for paths.
    pub rediscover_ms: u64,
    /// Maximum number of hops on a path.
    pub most_hops: u8,
    /// Maximum number of paths to one peer.
    pub most_paths: u16,
    /// Probes per second of all hosts of a rack together.
    pub probes_per_s: u32,
}

impl Default for Discovery {
    fn default() -> Self {
        Discovery { ports: 192, rediscover_ms: 10_000, most_hops: 8, most_paths: 16, probes_per_s: 500 }
    }
}

/// How dead paths are found.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Health {
    /// Whether the agent looks for them, or only the scheme does.
    pub enabled: bool,
    /// A path is suspect if nothing that was sent on it is confirmed for this long.
    pub silent_ms: u64,
    /// This many packets.
    pub packets: u32,
    /// Interval between probes of a path.
    pub probe_ms: u64,
}

impl Default for Health {
    fn default() -> Self {
        Health { enabled: true, silent_ms: 20, packets: 5, probe_ms: 50 }
    }
}

fn port() -> u16 {
    PORT
}

fn step_us() -> u64 {
    1_000
}

fn lease_ms() -> u64 {
    3_000
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(path: &Path) -> Result<Config, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::Refused(format!("config {}: {error}", path.display())))?;
        Config::parse(&text).map_err(|words| Failure::Refused(format!("config {}: {words}", path.display())))
    }

    /// Parses a configuration.
    ///
    /// # Errors
    /// A description of the mistake.
    pub fn parse(text: &str) -> Result<Config, String> {
        let config: Config = serde_json::from_str(text).map_err(|error| place::words(text, &error))?;
        config.check()?;
        Ok(config)
    }

    /// Refuses impossible numbers by name.
    fn check(&self) -> Result<(), String> {
        let range = |name: &str, value: f64, min: f64, max: f64| {
            if (min..=max).contains(&value) { Ok(()) } else { Err(format!("{name} = {value}: must be {min} to {max}")) }
        };
        if self.hosts.is_empty() {
            return Err("hosts = []: must be 2 to 1024 hosts".to_owned());
        }
        range("host", f64::from(self.host), 0.0, self.hosts.len() as f64 - 1.0)?;
        range("hosts (their number)", self.hosts.len() as f64, 2.0, crate::layout::PEERS as f64)?;
        range("port", f64::from(self.port), 1024.0, 65_534.0)?;
        range("step_us", self.step_us as f64, 100.0, 1e6)?;
        // A step that is late must not let the lease end.
        range("lease_ms", self.lease_ms as f64, (self.step_us as f64 / 100.0).max(100.0), 1e6)?;
        range("told.link_mbps", self.told.link_mbps, 0.1, 4e6)?;
        range("told.path_mbps", self.told.path_mbps, 0.1, 4e6)?;
        range("told.base_rtt_us", self.told.base_rtt_us, 1.0, 1e7)?;
        range("told.base_one_way_us", self.told.base_one_way_us, 0.5, self.told.base_rtt_us)?;
        range("told.mss", f64::from(self.told.mss), 88.0, 65_000.0)?;
        range("told.mtu", f64::from(self.told.mtu), f64::from(self.told.mss), 65_000.0)?;
        range("discovery.ports", f64::from(self.discovery.ports), 1.0, 4096.0)?;
        range("discovery.rediscover_ms", self.discovery.rediscover_ms as f64, 100.0, 1e9)?;
        range("discovery.most_hops", f64::from(self.discovery.most_hops), 2.0, 32.0)?;
        range("discovery.most_paths", f64::from(self.discovery.most_paths), 1.0, 64.0)?;
        range("discovery.probes_per_s", f64::from(self.discovery.probes_per_s), 1.0, 1e5)?;
        range("record_sight_ms", self.record_sight_ms as f64, 0.0, 1e6)?;
        range("health.silent_ms", self.health.silent_ms as f64, 1.0, 1e5)?;
        range("health.packets", f64::from(self.health.packets), 1.0, 1e6)?;
        range("health.probe_ms", self.health.probe_ms as f64, 1.0, 1e5)?;
        let mut seen = BTreeMap::new();
        for (place, host) in self.hosts.iter().enumerate() {
            range(&format!("hosts[{place}].rack"), f64::from(host.rack), 0.0, 4095.0)?;
            if let Some(before) = seen.insert(host.address, place) {
                return Err(format!("hosts[{place}].address = {}: already used by hosts[{before}]", host.address));
            }
        }
        if self.device.is_empty() || self.device.len() > 15 || self.device.contains('/') {
            return Err(format!("device = {:?}: must be the name of a device, of 1 to 15 characters", self.device));
        }
        Ok(())
    }

    /// This host.
    pub fn me(&self) -> Host {
        self.hosts[self.host as usize]
    }
}

/// A scheme of the simulator's registry with parameters given as in a spec.
///
/// # Errors
/// An unknown name, an unknown parameter or a value that is not allowed, in words.
pub fn choose(scheme: &Scheme) -> Result<Chosen, String> {
    let Some(entry) = REGISTRY.iter().find(|entry| entry.name() == scheme.name) else {
        let names: Vec<_> = REGISTRY.iter().map(|entry| entry.name()).collect();
        return Err(format!("scheme.name = {:?}: must be one of {}", scheme.name, names.join(", ")));
    };
    let mut given = Vec::new();
    for (name, value) in &scheme.params {
        let value = match value {
            serde_json::Value::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::Bool(flag) => Value::Bool(*flag),
            serde_json::Value::String(word) => Value::Word(word),
            other => return Err(format!("scheme.params.{name} = {other}: must be a number, true, false or a word")),
        };
        given.push((name.as_str(), value));
    }
    (entry.choose)(&given).map_err(|misfit| match misfit {
        Misfit::Param(at, refused) => {
            let (name, value) = given[at];
            let names: Vec<_> = entry.params.iter().map(|param| param.name).collect();
            match refused {
                Refused::Unknown => format!("scheme.params.{name}: {} has {}", scheme.name, names.join(", ")),
                Refused::NotAllowed(allowed) => {
                    format!("scheme.params.{name} = {}: must be {}", shown(value), words(allowed))
                }
            }
        }
        Misfit::Failed(words) => words,
    })
}

fn shown(value: Value<'_>) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Word(word) => format!("{word:?}"),
    }
}

fn words(allowed: Allowed) -> String {
    match allowed {
        Allowed::Number { min, max } => format!("a number from {min} to {max}"),
        Allowed::Integer { min, max } => format!("a whole number from {min} to {max}"),
        Allowed::PowerOfTwo { max } => format!("a power of two from 1 to {max}"),
        Allowed::Bool => "true or false".to_owned(),
        Allowed::Words(words) => format!("one of {}", words.join(", ")),
    }
}
