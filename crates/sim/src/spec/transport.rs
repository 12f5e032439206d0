//! `[transport]`: the parameters of TCP, or of the queue pairs of RNICs.

use serde_json::{Map, Value};
use spinewise_policy::Span;

use crate::keys::{
    AUTO, Auto, Autos, Default, Key, Kind, Reader, SpecError, Unit, Zero, keys, one_of, tenths, tidy, words,
};
use crate::topology::Fabric;
use crate::topology::TopologySpec;
use crate::transport::config::{Kind as Control, Recovery as TcpRecovery};
use crate::transport::congestion::rate;
use crate::transport::congestion::window::Settings;
use crate::transport::options::Options;
use crate::transport::rdma::Recovery;
use crate::transport::resequencer::Rules;
use crate::transport::resequencer::periodic::Periods;
use crate::transport::{Frame, RdmaConfig, TcpConfig, TransportSpec};

pub(crate) mod rdma;

const MOST: u64 = u32::MAX as u64;
/// Subflows of MPTCP where none are given (Raiciu et al., SIGCOMM 2011).
const SUBFLOWS: u32 = 8;
/// The kind that is not TCP.
const RDMA: &str = "rdma";
/// All kinds, TCP first.
const KINDS: &[&str] = &{
    let mut kinds = [RDMA; Control::NAMES.len() + 1];
    let mut n = 0;
    while n < Control::NAMES.len() {
        kinds[n] = Control::NAMES[n];
        n += 1;
    }
    kinds
};

/// What a preset says of `[transport]`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TransportPreset {
    /// TCP. Where `kind = "rdma"` is given, SELB's evaluation stands in.
    Tcp(fn() -> TcpConfig),
    /// The same, with timers, and IRN's window where RDMA is given, that fit the fabric.
    Fitting(fn() -> TcpConfig),
    /// RDMA. Where a kind of TCP is given, that of preset datacenter stands in.
    Rdma(fn(Recovery) -> RdmaConfig, Window),
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
    /// The values of `[transport]`, as a spec has them that gives none.
    pub fn values(self) -> Map<String, Value> {
        match self {
            TransportPreset::Tcp(tcp) => values(&tcp()),
            TransportPreset::Fitting(tcp) => {
                let mut values = values(&tcp());
                for key in ["min_rto_us", "initial_rto_us", "rto_granularity_us"] {
                    values.insert(key.into(), AUTO.into());
                }
                values
            }
            TransportPreset::Rdma(rdma, _) => rdma::values(&rdma(Recovery::GoBackN)),
        }
    }

    /// The same where a kind of TCP is given.
    pub fn tcp(self) -> Map<String, Value> {
        match self {
            TransportPreset::Tcp(_) | TransportPreset::Fitting(_) => self.values(),
            TransportPreset::Rdma(..) => values(&TcpConfig::datacenter()),
        }
    }

    /// The same where RDMA is given.
    pub fn rdma(self) -> Map<String, Value> {
        match self {
            TransportPreset::Tcp(_) | TransportPreset::Fitting(_) => rdma::values(&RdmaConfig::selb(Recovery::GoBackN)),
            TransportPreset::Rdma(..) => self.values(),
        }
    }

    /// RDMA, for a recovery.
    fn queue_pairs(self, recovery: Recovery) -> (RdmaConfig, Window) {
        match self {
            TransportPreset::Tcp(_) => (RdmaConfig::selb(recovery), Window::Printed),
            TransportPreset::Fitting(_) => (RdmaConfig::selb(recovery), Window::Fits),
            TransportPreset::Rdma(rdma, window) => (rdma(recovery), window),
        }
    }
}

keys! {
    /// `[transport]` with TCP.
    TransportKeys {
        /// The transport: DCTCP (RFC 8257), TCP NewReno without ECN (RFC 5681, RFC 6582), Reno (RFC 5681), TCP that
        /// halves its window on a mark (RFC 3168), MPTCP: subflows without ECN, their increase coupled (RFC 8684, RFC 6356);
        /// or another congestion control of TCP, which the reference lists.
        kind: Control, Kind::Words(KINDS), Default::Preset;
        /// Loss recovery: by duplicate and partial acknowledgements (RFC 6582); by duplicates alone (RFC 5681), the
        /// default of kind = "reno"; by selective acknowledgements (RFC 2018, RFC 6675); or RACK-TLP (RFC 8985) as Linux
        /// runs it.
        recovery: RecoveryWord, Kind::Words(RecoveryWord::WORDS), Default::Preset;
        /// Payload of a full segment. With kind = "mptcp" the default leaves room for its option on data.
        mss_bytes: u32, Kind::Integer { min: 1, max: 64_000 }, Default::Preset;
        /// Bytes of a data packet on the wire besides its payload, and besides options of MPTCP.
        header_bytes: u32, Kind::Integer { min: 0, max: 512 }, Default::Preset;
        /// Bytes of an acknowledgement on the wire.
        ack_bytes: u32, Kind::Integer { min: 1, max: 65_000 }, Default::Preset;
        /// Congestion window at the start (RFC 6928).
        initial_window_segments: u32, Kind::Integer { min: 1, max: 1_000_000 }, Default::Preset;
        /// Bound on the window, as a receiver's buffer sets it; 0 = none. With MPTCP of each subflow, and of all of a
        /// connection together beyond what data is acknowledged.
        max_window_segments: u32, Kind::Integer { min: 0, max: MOST }, Default::Preset;
        /// Slow-start threshold at the start; 0 = unlimited (RFC 5681 section 3.1).
        initial_ssthresh_segments: u32, Kind::Integer { min: 0, max: MOST }, Default::Preset;
        /// Segments sent upon one event (the start, an acknowledgement, a timeout) at most, whatever the window allows;
        /// 0 = no bound.
        max_burst_segments: u32, Kind::Integer { min: 0, max: MOST }, Default::Preset;
        /// Least retransmission timeout (RFC 6298 rule 2.4).
        min_rto_us: Span, Kind::Auto(&Kind::Time(Unit::Microseconds, Zero::Refused)), Default::Preset;
        /// Retransmission timeout before the first round-trip sample (RFC 6298 rule 2.1).
        initial_rto_us: Span, Kind::Auto(&Kind::Time(Unit::Microseconds, Zero::Refused)), Default::Preset;
        /// Greatest retransmission timeout, backed off or not (RFC 6298 rule 2.5).
        max_rto_us: Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Preset;
        /// Clock granularity G of the retransmission timer (RFC 6298 rules 2.2 and 2.3): with G = min_rto_us a timeout is the
        /// smoothed round trip and that, as in Linux, which bounds the variance.
        rto_granularity_us: Span, Kind::Auto(&Kind::Time(Unit::Microseconds, Zero::Allowed)), Default::Preset;
        /// Tick of the hosts' clock: a retransmission timeout expires late by up to this, drawn anew from the seed for each;
        /// 0 = on time.
        rto_tick_us: Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Preset;
        /// Does a window leave spread over the round trip, not at once: at the rate window / smoothed round trip, doubled in
        /// slow start and times 1.2 afterwards, as Linux paces? Some congestion controls pace in any case. Hosts' NICs then
        /// take from their flows as RNICs do (switch.nics). Not with kind = "mptcp".
        pacing: bool, Kind::Bool, Default::Bool(false);
        /// Acknowledge at least every n-th segment; 1 acknowledges each (RFC 5681 section 4.2).
        delayed_ack_segments: u32, Kind::Integer { min: 1, max: 1_000_000 }, Default::Preset;
        /// Longest time an acknowledgement is held back.
        delayed_ack_timeout_us: Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Preset;
        /// Subflows of each connection, each with ports of its own, so that switches hash them apart. With kind =
        /// "mptcp" the default is 8 (Raiciu et al., SIGCOMM 2011); only there may it be more than 1.
        subflows: u32, Kind::Integer { min: 1, max: 64 }, Default::Preset;
        /// Do options of MPTCP take bytes on the wire? 20 on data, 8 on acknowledgements (DSS), 4, 12 and 20 on the
        /// first handshake (MP_CAPABLE), 12, 16 and 24 on the others (MP_JOIN). Only with kind = "mptcp".
        mptcp_options: OptionBytes, Kind::Words(OptionBytes::WORDS), Default::Word("charged");
        /// Duplicate acknowledgements that start a fast retransmit; 0 = never, the reorder-tolerant receiver's sender.
        dupack_threshold: u32, Kind::Integer { min: 0, max: 1_000_000 }, Default::Preset;
        /// Do the first two duplicate acknowledgements let a new segment go each, beyond the window (RFC 3042)? Recoveries
        /// by selective acknowledgements have their own rule.
        limited_transmit: bool, Kind::Bool, Default::Preset;
        /// Are segments that are here already acknowledged once more (RFC 9293 section 3.10.7.4)? If not, only when the
        /// sender must have timed out: the segment was sent min_rto_us or more after the last that was taken.
        ack_duplicates: bool, Kind::Bool, Default::Preset;
        /// After a cut by marks, does the window stay as it is until the next new segment is acknowledged? Not with
        /// recoveries by selective acknowledgements.
        hold_after_mark: bool, Kind::Bool, Default::Preset;
        /// Are connections opened by a three-way handshake? Data then waits for the SYN-ACK (RFC 9293 section 3.5).
        handshake: bool, Kind::Bool, Default::Preset;
        /// Bytes of a SYN and of a SYN-ACK on the wire. The third packet of a handshake has ack_bytes.
        syn_bytes: u32, Kind::Integer { min: 1, max: 65_000 }, Default::Preset;
        /// Time without an answer after which the first SYN is sent again; doubled each time, up to max_rto_us.
        syn_timeout_us: Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Preset;
        /// Do receivers hold data that overtook other data, below TCP, until the rest has come? "on" is Presto's change to
        /// GRO; "periodic" is the receive buffer of the public ns-3 code of Hermes, which looks at its clocks once a period
        /// and never stops expecting what it has given up.
        resequencing: Resequencing, Kind::Words(Resequencing::WORDS), Default::Word("off");
        /// Data in order waits this long, too, to be passed on in bursts; "periodic" lets less than
        /// resequencing_at_once_bytes of it wait (that code: 5 us). Only with resequencing.
        resequencing_in_order_us: Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Number(0.0);
        /// Longest time that data waits for what it has overtaken (that code: 100 us). Only with resequencing.
        resequencing_timeout_us: Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Number(100.0);
        /// Payload of one flow that is held at most; with more, all of it is passed on; 0 = no limit. Only with
        /// resequencing = "on".
        resequencing_limit_bytes: u64, Kind::Integer { min: 0, max: MOST }, Default::Number(0.0);
        /// How often the clocks are looked at, from the packet on that finds nothing waiting (that code: 10 us). Only with
        /// resequencing = "periodic".
        resequencing_period_us: Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Number(10.0);
        /// Payload in order that is passed on at once (that code: 100, meant as packets). Only with resequencing =
        /// "periodic".
        resequencing_at_once_bytes: u64, Kind::Integer { min: 0, max: MOST }, Default::Number(100.0);
        /// Are connections closed by packets? FINs ride on the last data and on its acknowledgement; the sender's answer to
        /// the latter is a packet of ack_bytes, and its arrival ends close_fct_ps.
        fin: bool, Kind::Bool, Default::Preset;
    }
}

words! {
    /// Whether receivers hold data back.
    Resequencing {
        /// They do not.
        Off = "off",
        /// They do, by exact instants.
        On = "on",
        /// They do as the ns-3 code of Hermes does.
        Periodic = "periodic",
    }
}

words! {
    /// Whether options of MPTCP take bytes.
    OptionBytes {
        /// They do.
        Charged = "charged",
        /// They do not.
        Free = "free",
    }
}

words! {
    /// Loss recovery of TCP, by its word.
    RecoveryWord {
        /// RFC 6582.
        NewReno = "newreno",
        /// RFC 5681.
        Reno = "reno",
        /// RFC 6675.
        Sack = "sack",
        /// RFC 8985.
        Rack = "rack",
    }
}

impl From<RecoveryWord> for TcpRecovery {
    fn from(word: RecoveryWord) -> TcpRecovery {
        match word {
            RecoveryWord::NewReno => TcpRecovery::NewReno,
            RecoveryWord::Reno => TcpRecovery::Reno,
            RecoveryWord::Sack => TcpRecovery::Sack,
            RecoveryWord::Rack => TcpRecovery::Rack,
        }
    }
}

/// The values of `[transport]` that make this configuration: what a preset says.
pub(crate) fn values(config: &TcpConfig) -> Map<String, Value> {
    let us = |span: Span| tidy(span.as_us_f64());
    let recovery = match config.recovery {
        TcpRecovery::NewReno => RecoveryWord::NewReno,
        TcpRecovery::Reno => RecoveryWord::Reno,
        TcpRecovery::Sack => RecoveryWord::Sack,
        TcpRecovery::Rack => RecoveryWord::Rack,
    };
    [
        ("kind", config.kind.name().into()),
        ("recovery", recovery.word().into()),
        ("mss_bytes", config.mss.into()),
        ("header_bytes", config.header.into()),
        ("ack_bytes", config.ack_bytes.into()),
        ("initial_window_segments", config.initial_window.into()),
        ("max_window_segments", config.max_window.into()),
        ("initial_ssthresh_segments", config.initial_ssthresh.into()),
        ("max_burst_segments", config.max_burst.into()),
        ("min_rto_us", us(config.min_rto)),
        ("initial_rto_us", us(config.initial_rto)),
        ("max_rto_us", us(config.max_rto)),
        ("rto_granularity_us", us(config.rto_granularity)),
        ("rto_tick_us", us(config.rto_tick)),
        ("delayed_ack_segments", config.delayed_ack.into()),
        ("delayed_ack_timeout_us", us(config.delayed_ack_timeout)),
        ("dupack_threshold", config.dupack_threshold.into()),
        ("limited_transmit", config.limited_transmit.into()),
        ("ack_duplicates", config.ack_duplicates.into()),
        ("hold_after_mark", config.hold_after_mark.into()),
        ("handshake", config.handshake.into()),
        ("syn_bytes", config.syn_bytes.into()),
        ("syn_timeout_us", us(config.syn_timeout)),
        ("fin", config.fin.into()),
        ("subflows", config.subflows.into()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_string(), value))
    .chain(config.control.values(config.kind))
    .collect()
}

/// Reads `[transport]`.
pub(crate) fn read(
    given: &Map<String, Value>,
    preset: TransportPreset,
    topology: &TopologySpec,
    autos: &mut Vec<Auto>,
) -> Result<(TransportSpec, Value), SpecError> {
    let is_rdma = match given.get("kind") {
        None | Some(Value::Null) => matches!(preset, TransportPreset::Rdma(..)),
        Some(kind) => kind == RDMA,
    };
    check_family(given, is_rdma)?;
    Ok(if is_rdma {
        wrap(TransportSpec::Rdma, rdma::read(given, preset, topology, autos)?)
    } else {
        wrap(TransportSpec::Tcp, read_tcp(given, preset.tcp(), topology, autos)?)
    })
}

fn wrap<C>(kind: fn(C) -> TransportSpec, (config, told): (C, Value)) -> (TransportSpec, Value) {
    (kind(config), told)
}

/// Refuses a key of TCP beside RDMA, and the reverse.
fn check_family(given: &Map<String, Value>, is_rdma: bool) -> Result<(), SpecError> {
    let tcp = || controllers(Control::ALL.iter().map(|kind| kind.keys()), TransportKeys::KEYS);
    let rdma = || controllers(rate::Kind::ALL.iter().map(|kind| kind.keys()), rdma::RdmaKeys::KEYS);
    let (mine, other, kinds, others) = match is_rdma {
        true => (rdma(), tcp(), &[RDMA][..], Control::NAMES),
        false => (tcp(), rdma(), Control::NAMES, &[RDMA][..]),
    };
    let foreign = |name: &str| other.contains(&name) && !mine.contains(&name);
    match given.iter().find(|(name, _)| foreign(name)) {
        None => Ok(()),
        Some((name, value)) => {
            let [mine, others] = [kinds, others].map(|kinds| one_of(kinds.iter().copied()));
            let allowed = format!("no such key with transport.kind = {mine}; {name} is a key of kind = {others}");
            Err(SpecError::new(format!("transport.{name}"), value, allowed))
        }
    }
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
fn check_recovery(reader: &Reader<'_>, keys: &TransportKeys) -> Result<(), SpecError> {
    let reno = keys.recovery == RecoveryWord::Reno;
    match keys.kind {
        Control::Reno if !reno => {
            let others = "other recoveries go with kind = \"newreno\", \"dctcp\" or \"ecn\"";
            Err(reader.refuse("recovery", format!("\"reno\" with transport.kind = \"reno\"; {others}")))
        }
        Control::NewReno | Control::Mptcp if reno => {
            let kind = keys.kind.name();
            let recoveries = "\"newreno\", \"sack\" or \"rack\"";
            let allowed = format!("{recoveries} with transport.kind = \"{kind}\"; Reno is a kind of its own");
            Err(reader.refuse("recovery", allowed))
        }
        _ => Ok(()),
    }
}

/// Subflows are MPTCP's, and their data cannot be held back below TCP.
fn check_mptcp(reader: &Reader<'_>, keys: &TransportKeys) -> Result<(), SpecError> {
    let mptcp = keys.kind == Control::Mptcp;
    if !mptcp && keys.subflows > 1 {
        let kind = keys.kind.name();
        let allowed = format!("1 with transport.kind = \"{kind}\"; further subflows go with kind = \"mptcp\"");
        return Err(reader.refuse("subflows", allowed));
    }
    if mptcp && keys.pacing {
        let why = "which of its subflows sends next would depend on when each may";
        return Err(reader.refuse("pacing", format!("false with transport.kind = \"mptcp\": {why}")));
    }
    if mptcp && keys.resequencing != Resequencing::Off {
        let why = "what is held back below TCP goes on without its options, and MPTCP's say where data belongs";
        return Err(reader.refuse("resequencing", format!("\"off\" with transport.kind = \"mptcp\": {why}")));
    }
    Ok(())
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
    let how = format!("5 ms, or ten base round trips of {rtt:.1} us if that is more");
    let given = reader.wanted("min_rto_us").filter(|&value| value != AUTO).cloned();
    let least_or_given = given.unwrap_or_else(|| least.clone());
    Ok(vec![
        ("min_rto_us", least, how),
        ("initial_rto_us", least_or_given.clone(), "min_rto_us, as if a handshake had shown the round trip".into()),
        ("rto_granularity_us", least_or_given, "min_rto_us: the bound is on the variance, as in Linux".into()),
    ])
}

fn read_tcp(
    given: &Map<String, Value>,
    mut defaults: Map<String, Value>,
    topology: &TopologySpec,
    autos: &mut Vec<Auto>,
) -> Result<(TcpConfig, Value), SpecError> {
    if given.get("kind").is_some_and(|kind| kind == Control::Reno.name()) {
        defaults.insert("recovery".into(), RecoveryWord::Reno.word().into());
    }
    if given.get("kind").is_some_and(|kind| kind == Control::Mptcp.name()) {
        let free = given.get("mptcp_options").is_some_and(|options| options == OptionBytes::Free.word());
        let option = if free { Options::FREE } else { Options::CHARGED };
        let mss = defaults["mss_bytes"].as_u64().unwrap_or_default() - u64::from(option.data);
        defaults.insert("mss_bytes".into(), mss.into());
        defaults.insert("subflows".into(), SUBFLOWS.into());
    }
    let named = given.get("kind").and_then(Value::as_str).or_else(|| defaults["kind"].as_str());
    let kind = Control::ALL.iter().copied().find(|kind| Some(kind.name()) == named).unwrap_or(Control::Dctcp);
    check_own(given, ("kind", kind.name()), Control::ALL.iter().map(|kind| (kind.name(), kind.keys())))?;
    let [reader, own] = Reader::split("transport", [TransportKeys::KEYS, kind.keys()], given)?;
    let reader = reader.with_defaults(defaults);
    let worked_out = tcp_autos(&reader, topology)?;
    let (mut reader, mut own) = (reader.with_autos(worked_out), own);
    let keys = TransportKeys::read(&mut reader)?;
    autos.extend(reader.worked_out());
    check_recovery(&reader, &keys)?;
    check_mptcp(&reader, &keys)?;
    if keys.max_rto_us < keys.min_rto_us {
        return Err(reader.refuse("max_rto_us", "min_rto_us or more"));
    }
    if keys.max_rto_us < keys.initial_rto_us {
        return Err(reader.refuse("initial_rto_us", "max_rto_us or less"));
    }
    if keys.max_window_segments != 0 && keys.max_window_segments < keys.initial_window_segments {
        return Err(reader.refuse("max_window_segments", "initial_window_segments or more, or 0 for no bound"));
    }
    let rules = Rules {
        in_order: keys.resequencing_in_order_us,
        timeout: keys.resequencing_timeout_us,
        limit: keys.resequencing_limit_bytes,
        periods: (keys.resequencing == Resequencing::Periodic)
            .then_some(Periods { every: keys.resequencing_period_us, at_once: keys.resequencing_at_once_bytes }),
    };
    if rules.in_order > rules.timeout {
        return Err(reader.refuse("resequencing_in_order_us", "resequencing_timeout_us or less"));
    }
    let mut control = Settings::default();
    control.read(kind, &mut own)?;
    let config = TcpConfig {
        kind: keys.kind,
        control,
        recovery: keys.recovery.into(),
        mss: keys.mss_bytes,
        header: keys.header_bytes,
        ack_bytes: keys.ack_bytes,
        initial_window: keys.initial_window_segments,
        max_window: keys.max_window_segments,
        initial_ssthresh: keys.initial_ssthresh_segments,
        max_burst: keys.max_burst_segments,
        min_rto: keys.min_rto_us,
        initial_rto: keys.initial_rto_us,
        max_rto: keys.max_rto_us,
        rto_granularity: keys.rto_granularity_us,
        rto_tick: keys.rto_tick_us,
        pacing: keys.pacing,
        dice: 0,
        delayed_ack: keys.delayed_ack_segments,
        delayed_ack_timeout: keys.delayed_ack_timeout_us,
        dupack_threshold: keys.dupack_threshold,
        limited_transmit: keys.limited_transmit,
        ack_duplicates: keys.ack_duplicates,
        hold_after_mark: keys.hold_after_mark,
        handshake: keys.handshake,
        syn_bytes: keys.syn_bytes,
        syn_timeout: keys.syn_timeout_us,
        resequencing: (keys.resequencing != Resequencing::Off).then_some(rules),
        fin: keys.fin,
        subflows: keys.subflows,
        charge_options: keys.mptcp_options == OptionBytes::Charged,
    };
    let mut told = reader.told();
    told.extend(own.told());
    Ok((config, told.into()))
}
