//! The parameters of TCP, shared by all flows that have it: the keys of a spec, and the presets that the papers need.

use super::congestion::Marks;
use super::congestion::window::{self, Settings};
use super::options::Options;
use super::resequencer::Rules;
use super::resequencer::periodic::Periods;
use super::sheet::{Frame, Sheet};
use crate::keys::{Default, Kind, Unit, Zero, keys, words};
use spinewise_policy::time::Span;

words! {
    /// A TCP sender's detection and repair of losses.
    Recovery {
        /// Duplicate acknowledgements, and partial ones (RFC 6582).
        NewReno = "newreno",
        /// Duplicate acknowledgements alone (RFC 5681). Goes with `kind = "reno"`.
        Reno = "reno",
        /// Selective acknowledgements (RFC 2018, RFC 6675).
        Sack = "sack",
        /// RACK-TLP (RFC 8985), as Linux runs it.
        Rack = "rack",
    }
}

impl Recovery {
    /// Whether acknowledgements report data that has arrived beyond a gap.
    #[inline]
    pub const fn has_sack(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Rack)
    }
}

words! {
    /// Whether receivers hold data back.
    Resequencing {
        /// They do not.
        Off = "off",
        /// They do, by exact instants.
        On = "on",
        /// They do, by clocks that are checked once a period (source: public ns-3 code of Hermes).
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

const MOST: u64 = u32::MAX as u64;
/// Kinds that are not TCP.
pub(crate) const RDMA: &str = "rdma";
/// See [`RDMA`].
pub(crate) const UET: &str = "uet";
/// All words of `[transport] kind`, TCP first.
pub(crate) const KINDS: &[&str] = &{
    let mut kinds = [RDMA; window::Kind::NAMES.len() + 2];
    let mut n = 0;
    while n < window::Kind::NAMES.len() {
        kinds[n] = window::Kind::NAMES[n];
        n += 1;
    }
    kinds[n + 1] = UET;
    kinds
};

keys! {
    /// The parameters of a TCP connection, at both ends, as the keys of `[transport]` with TCP have them. Immutable during
    /// a run.
    #[derive(PartialEq)]
    TcpConfig {
        /// The transport: DCTCP (RFC 8257), TCP NewReno without ECN (RFC 5681, RFC 6582), Reno (RFC 5681), TCP that
        /// halves its window on a mark (RFC 3168), MPTCP: subflows without ECN and with coupled increase (RFC 8684, RFC
        /// 6356); or another TCP congestion control that the reference lists.
        kind: window::Kind, Kind::Words(KINDS), Default::Preset;
        /// Loss recovery: by duplicate and partial acknowledgements (RFC 6582); by duplicates alone (RFC 5681), the
        /// default of kind = "reno"; by selective acknowledgements (RFC 2018, RFC 6675); or RACK-TLP (RFC 8985) as Linux
        /// runs it.
        recovery: Recovery, Kind::Words(Recovery::WORDS), Default::Preset;
        /// Payload of a full segment. With kind = "mptcp" the default leaves room for MPTCP's option on data.
        mss as "mss_bytes": u32, Kind::Integer { min: 1, max: 64_000 }, Default::Preset;
        /// Bytes of a data packet on the wire in addition to its payload and any MPTCP options.
        header as "header_bytes": u32, Kind::Integer { min: 0, max: 512 }, Default::Preset;
        /// Bytes of an acknowledgement on the wire.
        ack_bytes: u32, Kind::Integer { min: 1, max: 65_000 }, Default::Preset;
        /// Congestion window at the start (RFC 6928).
        initial_window as "initial_window_segments": u32, Kind::Integer { min: 1, max: 1_000_000 }, Default::Preset;
        /// Bound on the window, as set by a receiver's buffer; 0 = none. With MPTCP it bounds each subflow, and all
        /// subflows of a connection together beyond the data acknowledged.
        max_window as "max_window_segments": u32, Kind::Integer { min: 0, max: MOST }, Default::Preset;
        /// Slow-start threshold at the start; 0 = unlimited (RFC 5681 section 3.1).
        initial_ssthresh as "initial_ssthresh_segments": u32, Kind::Integer { min: 0, max: MOST }, Default::Preset;
        /// Most segments sent on one event (the start, an acknowledgement, a timeout), whatever the window allows; 0 =
        /// no bound.
        max_burst as "max_burst_segments": u32, Kind::Integer { min: 0, max: MOST }, Default::Preset;
        /// Least retransmission timeout (RFC 6298 rule 2.4).
        min_rto as "min_rto_us": Span, Kind::Auto(&Kind::Time(Unit::Microseconds, Zero::Refused)), Default::Preset;
        /// Retransmission timeout before the first round-trip sample (RFC 6298 rule 2.1).
        initial_rto as "initial_rto_us": Span, Kind::Auto(&Kind::Time(Unit::Microseconds, Zero::Refused)), Default::Preset;
        /// Greatest retransmission timeout, backed off or not (RFC 6298 rule 2.5).
        max_rto as "max_rto_us": Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Preset;
        /// Clock granularity G of the retransmission timer (RFC 6298 rules 2.2 and 2.3): with G = min_rto_us a timeout
        /// is the smoothed round trip plus G, as in Linux, which bounds the variance.
        rto_granularity as "rto_granularity_us": Span, Kind::Auto(&Kind::Time(Unit::Microseconds, Zero::Allowed)), Default::Preset;
        /// Tick of the hosts' clock: each retransmission timeout expires up to this much late, drawn afresh from the
        /// seed; 0 = on time.
        rto_tick as "rto_tick_us": Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Preset;
        /// Is a window sent spread over the round trip instead of at once: at the rate window / smoothed round trip,
        /// doubled in slow start and times 1.2 afterwards, as Linux paces? Some congestion controls always pace. Hosts'
        /// NICs then pull from their flows as RNICs do (switch.nics). Not with kind = "mptcp".
        pacing: bool, Kind::Bool, Default::Bool(false);
        /// Acknowledge at least every n-th segment; 1 acknowledges each segment (RFC 5681 section 4.2).
        delayed_ack as "delayed_ack_segments": u32, Kind::Integer { min: 1, max: 1_000_000 }, Default::Preset;
        /// Longest time an acknowledgement is held back.
        delayed_ack_timeout as "delayed_ack_timeout_us": Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Preset;
        /// Subflows of each connection, each with its own ports, so that switches hash them separately. With kind =
        /// "mptcp" the default is 8 (Raiciu et al., SIGCOMM 2011); with other kinds it must be 1.
        subflows: u32, Kind::Integer { min: 1, max: 64 }, Default::Preset;
        /// Do MPTCP options take up bytes on the wire? 20 on data, 8 on acknowledgements (DSS), 4, 12 and 20 on the
        /// first handshake (MP_CAPABLE), 12, 16 and 24 on the others (MP_JOIN). Only with kind = "mptcp".
        mptcp_options: OptionBytes, Kind::Words(OptionBytes::WORDS), Default::Word("charged");
        /// Duplicate acknowledgements that start a fast retransmit; 0 = never, for senders to reorder-tolerant
        /// receivers.
        dupack_threshold: u32, Kind::Integer { min: 0, max: 1_000_000 }, Default::Preset;
        /// A round-trip time that RACK-TLP knows before it measures any: it uses the smallest it knows, and waits a
        /// quarter of that, more after each round of duplicates, for packets that were overtaken. Hosts whose first
        /// packets pass empty token buckets or cut-through switches know one far below that of a full packet; 0 = only
        /// what flows measure. Only with recovery = "rack".
        rack_least_rtt as "rack_least_rtt_us": Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Number(0.0);
        /// Does each of the first two duplicate acknowledgements release a new segment beyond the window (RFC 3042)?
        /// Recovery by selective acknowledgements has its own rule.
        limited_transmit: bool, Kind::Bool, Default::Preset;
        /// Are segments that have already arrived acknowledged again (RFC 9293 section 3.10.7.4)? If not, they are only
        /// when the sender must have timed out: the segment was sent min_rto_us or more after the last one accepted.
        ack_duplicates: bool, Kind::Bool, Default::Preset;
        /// After a cut by marks, does the window stay unchanged until the next new segment is acknowledged? Not with
        /// recovery by selective acknowledgements.
        hold_after_mark: bool, Kind::Bool, Default::Preset;
        /// Are connections opened by a three-way handshake? Data then waits for the SYN-ACK (RFC 9293 section 3.5).
        handshake: bool, Kind::Bool, Default::Preset;
        /// Bytes of a SYN or SYN-ACK on the wire. The third packet of a handshake has ack_bytes.
        syn_bytes: u32, Kind::Integer { min: 1, max: 65_000 }, Default::Preset;
        /// Time without an answer after which the first SYN is retransmitted; doubled each time, up to max_rto_us.
        syn_timeout as "syn_timeout_us": Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Preset;
        /// Do receivers hold data that overtook other data, below TCP, until the missing data arrives? "on" is Presto's
        /// change to GRO; "periodic" is the receive buffer of the public ns-3 code of Hermes, which checks its clocks
        /// once a period and never stops expecting data that it has given up on.
        resequencing: Resequencing, Kind::Words(Resequencing::WORDS), Default::Word("off");
        /// In-order data also waits this long, so that it is passed on in bursts; with "periodic" only less than
        /// resequencing_at_once_bytes waits (that code: 5 us). Only with resequencing.
        resequencing_in_order as "resequencing_in_order_us": Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Number(0.0);
        /// Longest time that data waits for data it has overtaken (that code: 100 us). Only with resequencing.
        resequencing_timeout as "resequencing_timeout_us": Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Number(100.0);
        /// Most payload of one flow that is held; beyond it, all of it is passed on; 0 = no limit. Only with
        /// resequencing = "on".
        resequencing_limit as "resequencing_limit_bytes": u64, Kind::Integer { min: 0, max: MOST }, Default::Number(0.0);
        /// How often the clocks are checked, starting with a packet that finds nothing waiting (that code: 10 us). Only
        /// with resequencing = "periodic".
        resequencing_period as "resequencing_period_us": Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Number(10.0);
        /// In-order payload that is passed on at once (that code: 100, meant as packets). Only with resequencing =
        /// "periodic".
        resequencing_at_once as "resequencing_at_once_bytes": u64, Kind::Integer { min: 0, max: MOST }, Default::Number(100.0);
        /// Are connections closed by packets? FINs ride on the last data and on its acknowledgement; the sender answers
        /// the latter with a packet of ack_bytes, whose arrival ends close_fct_ps.
        fin: bool, Kind::Bool, Default::Preset;
        also {
            /// The parameters of each congestion control.
            control: Settings = Settings::default();
            /// Draws how late a timeout is ([`Self::rto_tick`]).
            dice: u64 = 0;
        }
    }
}

impl TcpConfig {
    /// DCTCP on present-day hosts: losses are found as in Linux, by RACK-TLP (RFC 8985) on selective acknowledgements;
    /// a SYN waits for 1 s (`TCP_TIMEOUT_INIT`); timers run on jiffies (HZ = 1000). How late a timer is depends on
    /// where in a jiffy it was set, which is not modelled, so that is drawn. The timeouts themselves follow from the
    /// fabric.
    pub fn linux() -> Self {
        Self {
            recovery: Recovery::Rack,
            rto_tick: Span::from_ms(1),
            syn_timeout: Span::from_ms(1000),
            ..Self::datacenter()
        }
    }

    /// DCTCP as in a tuned datacenter: 1500-byte packets, an initial window of ten segments, timeouts from 10 ms, every
    /// packet acknowledged, no bound on the window, no handshake. A SYN would carry its MSS option, and wait as long as
    /// data without a sample.
    pub fn datacenter() -> Self {
        Self {
            kind: window::Kind::Dctcp,
            control: Settings::default(),
            recovery: Recovery::NewReno,
            mss: 1460,
            header: 40,
            ack_bytes: 40,
            initial_window: 10,
            max_window: 0,
            initial_ssthresh: 0,
            max_burst: 0,
            min_rto: Span::from_ms(10),
            initial_rto: Span::from_ms(10),
            max_rto: Span::from_ms(60_000),
            rto_granularity: Span::ZERO,
            rto_tick: Span::ZERO,
            dice: 0,
            pacing: false,
            delayed_ack: 1,
            delayed_ack_timeout: Span::from_ms(1),
            dupack_threshold: 3,
            rack_least_rtt: Span::ZERO,
            limited_transmit: false,
            ack_duplicates: true,
            hold_after_mark: false,
            handshake: false,
            syn_bytes: 44,
            syn_timeout: Span::from_ms(10),
            resequencing: Resequencing::Off,
            resequencing_in_order: Span::ZERO,
            resequencing_timeout: Span::from_us(100),
            resequencing_limit: 0,
            resequencing_period: Span::from_us(10),
            resequencing_at_once: 100,
            fin: false,
            subflows: 1,
            mptcp_options: OptionBytes::Charged,
        }
    }

    /// Returns how the congestion control handles marks.
    #[inline(always)]
    pub fn marks(&self) -> Marks {
        self.control.marks(self.kind)
    }

    /// Whether data packets are ECN-capable and marks are echoed.
    #[inline]
    pub fn ecn(&self) -> bool {
        self.marks() != Marks::Unheard
    }

    /// Whether packets are spaced. Those of MPTCP never are.
    #[inline]
    pub fn paces(&self) -> bool {
        (self.pacing || self.kind.paces()) && !self.mptcp()
    }

    /// Its sheet.
    pub(crate) fn sheet(&self) -> Sheet {
        let options = self.options();
        Sheet {
            kind: self.kind.name(),
            frame: Frame { mss: self.mss, header: self.header + options.data, ack_bytes: self.ack_bytes + options.ack },
            pulls: self.paces(),
            collects_telemetry: false,
            hears_marks: self.new_data_is_ect(),
            knows_trims: false,
            grants_by_value: false,
            connections: None,
            paths: ("subflows", if self.mptcp() { self.subflows } else { 0 }),
            most_subflows: self.subflows,
            most_bytes: u64::MAX,
            fixed_timeout: None,
            least_timeout: (self.rto_tick == Span::ZERO).then_some(self.min_rto),
        }
    }

    /// Whether connections are MPTCP's.
    #[inline]
    pub const fn mptcp(&self) -> bool {
        matches!(self.kind, window::Kind::Mptcp)
    }

    /// Returns the rules by which receivers hold data back below TCP, if they do.
    pub(crate) fn held_back(&self) -> Option<Rules> {
        let periods = match self.resequencing {
            Resequencing::Off => return None,
            Resequencing::On => None,
            Resequencing::Periodic => {
                Some(Periods { every: self.resequencing_period, at_once: self.resequencing_at_once })
            }
        };
        let (in_order, timeout) = (self.resequencing_in_order, self.resequencing_timeout);
        Some(Rules { in_order, timeout, limit: self.resequencing_limit, periods })
    }

    /// The bytes that options of MPTCP take.
    pub const fn options(&self) -> Options {
        match self.mptcp_options {
            OptionBytes::Charged if self.mptcp() => Options::CHARGED,
            OptionBytes::Charged | OptionBytes::Free => Options::FREE,
        }
    }

    /// Whether data that is sent for the first time is ECN-capable.
    #[inline]
    pub fn new_data_is_ect(&self) -> bool {
        self.marks() != Marks::Unheard
    }

    /// Whether data that is sent again is, too.
    #[inline]
    pub fn retransmissions_are_ect(&self) -> bool {
        self.marks() == Marks::Counted
    }

    /// `segments` full segments in bytes; 0 means no bound.
    #[inline]
    pub(crate) const fn limit_bytes(&self, segments: u32) -> u64 {
        if segments == 0 { u64::MAX } else { segments as u64 * self.mss as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_segments_mean_no_limit() {
        let config = TcpConfig::datacenter();
        assert_eq!(config.limit_bytes(config.max_window), u64::MAX);
        assert_eq!(config.limit_bytes(3), 4380);
    }
}
