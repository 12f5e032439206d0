//! `[transport]`: the parameters of TCP, or of the queue pairs of RNICs.

use serde_json::{Map, Value};

use crate::keys::{AUTO, Auto, Autos, Default, Key, Reader, SpecError, one_of, tenths};
use crate::topology::Fabric;
use crate::topology::TopologySpec;
use crate::transport::config::{OptionBytes, RDMA, Recovery, Resequencing, UET};
use crate::transport::congestion::window::Kind as Control;
use crate::transport::congestion::{delivery, rate};
use crate::transport::options::Options;
use crate::transport::rdma::Recovery as RdmaRecovery;
use crate::transport::{Frame, RdmaConfig, TcpConfig, TransportSpec, UetConfig};

pub(crate) mod rdma;
pub(crate) mod uet;

/// Subflows of MPTCP where none are given (Raiciu et al., SIGCOMM 2011).
const SUBFLOWS: u32 = 8;
/// What a preset says of `[transport]`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TransportPreset {
    /// TCP. Where `kind = "rdma"` is given, [`RdmaConfig::rnic`] stands in.
    Tcp(fn() -> TcpConfig),
    /// The same, with timers, and IRN's window where RDMA is given, that fit the fabric.
    Fitting(fn() -> TcpConfig),
    /// RDMA. Where a kind of TCP is given, that of preset datacenter stands in.
    Rdma(fn(RdmaRecovery) -> RdmaConfig, Window),
    /// Connections of Ultra Ethernet. Where a kind of TCP is given, that of preset datacenter stands in; for RDMA,
    /// [`RdmaConfig::rnic`].
    Uet(fn() -> UetConfig),
}

/// Whose bandwidth-delay product IRN's window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    /// That of the fabric a paper used.
    Printed,
    /// That of the fabric of the spec.
    Fits,
}

impl TransportPreset {
    /// What it speaks of.
    fn family(self) -> Family {
        match self {
            TransportPreset::Tcp(_) | TransportPreset::Fitting(_) => Family::Tcp,
            TransportPreset::Rdma(..) => Family::Rdma,
            TransportPreset::Uet(_) => Family::Uet,
        }
    }

    /// The values of `[transport]`, as a spec has them that gives none.
    pub(super) fn values(self) -> Map<String, Value> {
        match self {
            TransportPreset::Tcp(tcp) => values(&tcp()),
            TransportPreset::Fitting(tcp) => {
                let mut values = values(&tcp());
                for key in ["min_rto_us", "initial_rto_us", "rto_granularity_us"] {
                    values.insert(key.into(), AUTO.into());
                }
                values
            }
            TransportPreset::Rdma(rdma, _) => rdma::values(&rdma(RdmaRecovery::GoBackN)),
            TransportPreset::Uet(uet) => uet::values(&uet()),
        }
    }

    /// The same where a kind of TCP is given.
    pub(super) fn tcp(self) -> Map<String, Value> {
        match self {
            TransportPreset::Tcp(_) | TransportPreset::Fitting(_) => self.values(),
            TransportPreset::Rdma(..) | TransportPreset::Uet(_) => values(&TcpConfig::datacenter()),
        }
    }

    /// The same where RDMA is given.
    pub(super) fn rdma(self) -> Map<String, Value> {
        match self {
            TransportPreset::Tcp(_) | TransportPreset::Fitting(_) | TransportPreset::Uet(_) => {
                rdma::values(&RdmaConfig::rnic(RdmaRecovery::GoBackN))
            }
            TransportPreset::Rdma(..) => self.values(),
        }
    }

    /// The same where Ultra Ethernet is given.
    pub(super) fn uet(self) -> Map<String, Value> {
        uet::values(&self.uet_config())
    }

    /// The configuration of which these are.
    pub(super) fn uet_config(self) -> UetConfig {
        match self {
            TransportPreset::Tcp(_) | TransportPreset::Fitting(_) | TransportPreset::Rdma(..) => UetConfig::uet(),
            TransportPreset::Uet(uet) => uet(),
        }
    }

    /// RDMA, for a recovery.
    fn queue_pairs(self, recovery: RdmaRecovery) -> (RdmaConfig, Window) {
        match self {
            TransportPreset::Tcp(_) => (RdmaConfig::rnic(recovery), Window::Printed),
            TransportPreset::Fitting(_) | TransportPreset::Uet(_) => (RdmaConfig::rnic(recovery), Window::Fits),
            TransportPreset::Rdma(rdma, window) => (rdma(recovery), window),
        }
    }
}

/// The values of `[transport]` that make this configuration: what a preset says. Keys with a default of their own have
/// that.
fn values(config: &TcpConfig) -> Map<String, Value> {
    let own = |name: &str| TcpConfig::KEYS.iter().any(|key| key.name == name && key.default == Default::Preset);
    let said = config.values().into_iter().filter(|(name, _)| own(name));
    said.chain(config.control.values(config.kind)).collect()
}

/// Reads `[transport]`.
pub(crate) fn read(
    given: &Map<String, Value>,
    preset: TransportPreset,
    topology: &TopologySpec,
    autos: &mut Vec<Auto>,
) -> Result<(TransportSpec, Value), SpecError> {
    let family = match given.get("kind") {
        None | Some(Value::Null) => preset.family(),
        // Before other keys: those of a kind that is misspelt are right.
        Some(kind) => {
            FAMILIES.into_iter().find(|family| family.kinds().iter().any(|known| kind == known)).ok_or_else(|| {
                let kinds = || FAMILIES.iter().flat_map(|family| family.kinds()).copied();
                let error = SpecError::new("transport.kind", kind, one_of(kinds()));
                error.did_you_mean(kind.as_str().unwrap_or_default(), kinds())
            })?
        }
    };
    check_family(given, family)?;
    Ok(match family {
        Family::Tcp => wrap(TransportSpec::Tcp, read_tcp(given, preset.tcp(), topology, autos)?),
        Family::Rdma => wrap(TransportSpec::Rdma, rdma::read(given, preset, topology, autos)?),
        Family::Uet => wrap(TransportSpec::Uet, uet::read(given, preset, topology, autos)?),
    })
}

/// Transports that share a table of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Tcp,
    Rdma,
    Uet,
}

/// All of them.
const FAMILIES: [Family; 3] = [Family::Tcp, Family::Rdma, Family::Uet];

impl Family {
    /// The words of `kind`.
    fn kinds(self) -> &'static [&'static str] {
        match self {
            Family::Tcp => Control::NAMES,
            Family::Rdma => &[RDMA],
            Family::Uet => &[UET],
        }
    }

    /// The names of its keys: its own, and those of its congestion controls.
    fn keys(self) -> Vec<&'static str> {
        match self {
            Family::Tcp => controllers(Control::ALL.iter().map(|kind| kind.keys()), TcpConfig::KEYS),
            Family::Rdma => controllers(rate::Kind::ALL.iter().map(|kind| kind.keys()), RdmaConfig::KEYS),
            Family::Uet => controllers(delivery::Kind::ALL.iter().map(|kind| kind.keys()), UetConfig::KEYS),
        }
    }
}

fn wrap<C>(kind: fn(C) -> TransportSpec, (config, told): (C, Value)) -> (TransportSpec, Value) {
    (kind(config), told)
}

/// Refuses a key of another family.
fn check_family(given: &Map<String, Value>, family: Family) -> Result<(), SpecError> {
    let mine = family.keys();
    for (name, value) in given.iter().filter(|(name, _)| !mine.contains(&name.as_str())) {
        let owners = FAMILIES.iter().filter(|other| other.keys().contains(&name.as_str()));
        let kinds: Vec<&str> = owners.flat_map(|owner| owner.kinds()).copied().collect();
        if !kinds.is_empty() {
            let (mine, others) = (one_of(family.kinds().iter().copied()), one_of(kinds));
            let allowed = format!("no such key with transport.kind = {mine}; {name} is a key of kind = {others}");
            return Err(SpecError::new(format!("transport.{name}"), value, allowed));
        }
    }
    Ok(())
}

/// The names of a family's keys: its own, and those of its congestion controls.
fn controllers(own: impl Iterator<Item = &'static [Key]>, family: &'static [Key]) -> Vec<&'static str> {
    own.chain([family]).flatten().map(|key| key.name).collect()
}

/// Refuses a key of another congestion control than `mine`, which key `by` names.
fn check_own(
    given: &Map<String, Value>,
    (by, mine): (&str, &str),
    all: impl Iterator<Item = (&'static str, &'static [Key])> + Clone,
) -> Result<(), SpecError> {
    for (name, value) in given {
        let has = all.clone().filter(|(_, keys)| keys.iter().any(|key| key.name == name));
        let owners: Vec<&str> = has.map(|(owner, _)| owner).collect();
        if !owners.is_empty() && !owners.contains(&mine) {
            let owners = one_of(owners);
            let allowed = format!("no such key with transport.{by} = \"{mine}\"; {name} is a key of {by} = {owners}");
            return Err(SpecError::new(format!("transport.{name}"), value, allowed));
        }
    }
    Ok(())
}

/// Reno is a recovery by its name: neither goes without the other, but with ECN.
fn check_recovery(reader: &Reader<'_>, config: &TcpConfig) -> Result<(), SpecError> {
    let reno = config.recovery == Recovery::Reno;
    match config.kind {
        Control::Reno if !reno => {
            let others = "other recoveries need kind = \"newreno\", \"dctcp\" or \"ecn\"";
            Err(reader.refuse("recovery", format!("\"reno\" with transport.kind = \"reno\"; {others}")))
        }
        Control::NewReno | Control::Mptcp if reno => {
            let kind = config.kind.name();
            let recoveries = "\"newreno\", \"sack\" or \"rack\"";
            let allowed = format!("{recoveries} with transport.kind = \"{kind}\"; Reno is a separate kind");
            Err(reader.refuse("recovery", allowed))
        }
        _ => Ok(()),
    }
}

/// Subflows are MPTCP's, and their data cannot be held back below TCP.
fn check_mptcp(reader: &Reader<'_>, config: &TcpConfig) -> Result<(), SpecError> {
    let mptcp = config.kind == Control::Mptcp;
    if !mptcp && config.subflows > 1 {
        let kind = config.kind.name();
        let allowed = format!("1 with transport.kind = \"{kind}\"; more subflows need kind = \"mptcp\"");
        return Err(reader.refuse("subflows", allowed));
    }
    if mptcp && config.pacing {
        let why = "which of its subflows sends next would depend on when each may";
        return Err(reader.refuse("pacing", format!("false with transport.kind = \"mptcp\": {why}")));
    }
    if mptcp && config.resequencing != Resequencing::Off {
        let why = "data held back below TCP is passed on without its options, and MPTCP's options say where data \
                   belongs";
        return Err(reader.refuse("resequencing", format!("\"off\" with transport.kind = \"mptcp\": {why}")));
    }
    Ok(())
}

/// Swift takes the time that an answer is held for delay in the fabric.
fn check_swift(reader: &Reader<'_>, config: &TcpConfig) -> Result<(), SpecError> {
    if config.kind == Control::Swift && config.delayed_ack > 1 {
        let why = "the time that an acknowledgement is held counts as fabric delay, and windows below one packet stay \
                   there";
        return Err(reader.refuse("delayed_ack_segments", format!("1 with transport.kind = \"swift\": {why}")));
    }
    Ok(())
}

/// Pairs of keys of which one bounds the other.
fn check_bounds(reader: &Reader<'_>, config: &TcpConfig) -> Result<(), SpecError> {
    let bounded = config.max_window != 0 && config.max_window < config.initial_window;
    if config.max_rto < config.min_rto {
        let least = config.min_rto.0 as f64 / 1e6;
        let hint = "unless it is given, min_rto_us follows from the rates and delays of the fabric";
        return Err(reader.refuse("max_rto_us", format!("min_rto_us, {least}, or more")).hint(hint));
    }
    let refused = [
        (config.max_rto < config.initial_rto, "initial_rto_us", "max_rto_us or less"),
        (bounded, "max_window_segments", "initial_window_segments or more, or 0 for no bound"),
        (
            config.resequencing_in_order > config.resequencing_timeout,
            "resequencing_in_order_us",
            "resequencing_timeout_us or less",
        ),
    ];
    match refused.into_iter().find(|&(is_wrong, ..)| is_wrong) {
        Some((_, key, allowed)) => Err(reader.refuse(key, allowed)),
        None => Ok(()),
    }
}

/// Least retransmission timeout of hosts that are set up for a datacenter, where round trips are short: Linux itself has
/// 200 ms, `net.ipv4.tcp_rto_min_us` and routes set less.
const LEAST_RTO_US: f64 = 5_000.0;

/// What `auto` stands for with TCP.
fn tcp_autos(reader: &Reader<'_>, topology: &TopologySpec) -> Result<Autos, SpecError> {
    if !reader.wants_auto() {
        return Ok(Autos::new());
    }
    let bytes = |name| reader.wanted(name).and_then(Value::as_u64).unwrap_or(0) as u32;
    let frame = Frame { mss: bytes("mss_bytes"), header: bytes("header_bytes"), ack_bytes: bytes("ack_bytes") };
    let rtt = Fabric::of(topology)?.base_rtt(frame).as_us_f64();
    let least = tenths(LEAST_RTO_US.max(10.0 * rtt));
    let how = format!("5 ms, or ten base round trips of {rtt:.1} us if that is longer");
    let given = reader.wanted("min_rto_us").filter(|&value| value != AUTO).cloned();
    let least_or_given = given.unwrap_or_else(|| least.clone());
    Ok(vec![
        ("min_rto_us", least, how),
        (
            "initial_rto_us",
            least_or_given.clone(),
            "min_rto_us, as if a handshake had already measured the round trip".into(),
        ),
        ("rto_granularity_us", least_or_given, "min_rto_us: it bounds the variance, as in Linux".into()),
    ])
}

fn read_tcp(
    given: &Map<String, Value>,
    preset: Map<String, Value>,
    topology: &TopologySpec,
    autos: &mut Vec<Auto>,
) -> Result<(TcpConfig, Value), SpecError> {
    let named = given.get("kind").and_then(Value::as_str).or_else(|| preset["kind"].as_str());
    let kind = Control::ALL.iter().copied().find(|kind| Some(kind.name()) == named).unwrap_or(Control::Dctcp);
    check_own(given, ("kind", kind.name()), Control::ALL.iter().map(|kind| (kind.name(), kind.keys())))?;
    let [reader, mut own] = Reader::split("transport", [TcpConfig::KEYS, kind.keys()], given)?;
    let reader = reader.with_defaults(for_kind(given, preset));
    let worked_out = tcp_autos(&reader, topology)?;
    let mut reader = reader.with_autos(worked_out);
    let mut config = TcpConfig::read(&mut reader)?;
    autos.extend(reader.worked_out());
    check_recovery(&reader, &config)?;
    check_mptcp(&reader, &config)?;
    check_swift(&reader, &config)?;
    check_bounds(&reader, &config)?;
    config.control.read(kind, &mut own)?;
    let mut told = reader.told();
    told.extend(own.told());
    Ok((config, told.into()))
}

/// What a preset says, where a kind is given that has defaults of its own.
fn for_kind(given: &Map<String, Value>, mut preset: Map<String, Value>) -> Map<String, Value> {
    let is = |kind: Control| given.get("kind").is_some_and(|given| given == kind.name());
    if is(Control::Reno) {
        preset.insert("recovery".into(), Recovery::Reno.word().into());
    }
    if is(Control::Mptcp) {
        let free = given.get("mptcp_options").is_some_and(|options| options == OptionBytes::Free.word());
        let option = if free { Options::FREE } else { Options::CHARGED };
        let mss = preset["mss_bytes"].as_u64().unwrap_or_default() - u64::from(option.data);
        preset.insert("mss_bytes".into(), mss.into());
        preset.insert("subflows".into(), SUBFLOWS.into());
    }
    preset
}
