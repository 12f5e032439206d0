//! The parameters of the RNIC transport, shared by all queue pairs of a run, and its presets.

use crate::keys::{Default, Field, Kind, LARGEST_EXACT, Plain, Unit, Zero, keys, words};
use crate::packet::Clock;
use crate::transport::config::{KINDS, RDMA};
use crate::transport::congestion::Marks;
use crate::transport::congestion::dcqcn::DcqcnConfig;
use crate::transport::congestion::rate::{self, Settings};
use crate::transport::sheet::{Frame, Sheet};
use spinewise_policy::time::Span;

words! {
    /// A queue pair's reaction to a missing packet.
    Recovery {
        /// The receiver drops packets out of order; the sender goes back to the oldest unacknowledged packet.
        GoBackN = "go_back_n",
        /// The receiver keeps packets out of order and reports them; the sender sends the rest again (Mittal et al.,
        /// "Revisiting Network Support for RDMA", SIGCOMM 2018).
        Irn = "irn",
    }
}

words! {
    /// The use of a connection's queue pairs by messages.
    QueuePairUse {
        /// Each message on the next one.
        RoundRobin = "round_robin",
        /// An equal part of each message on each.
        Split = "split",
    }
}

words! {
    /// The kind of transport that these keys are of.
    Family {
        /// The queue pairs of RNICs.
        Rdma = "rdma",
    }
}

const MOST: u64 = u32::MAX as u64;
/// Gaps between packets: exact ones carry their remainder, others are cut off.
const ROUNDINGS: &[&str] = &["exact", "floor_1ns"];

impl Field for Clock {
    fn from_plain(plain: Option<Plain>) -> Option<Self> {
        match plain {
            Some(Plain::Text(word)) if word == ROUNDINGS[0] => Some(Clock::Exact),
            Some(Plain::Text(word)) if word == ROUNDINGS[1] => Some(Clock::Floor1Ns),
            Some(_) | None => None,
        }
    }

    fn plain(&self, _: Kind) -> Option<Plain> {
        let word = match self {
            Clock::Exact => ROUNDINGS[0],
            Clock::Floor1Ns | Clock::Ns3 => ROUNDINGS[1],
        };
        Some(Plain::Text(word.into()))
    }
}

keys! {
    /// The parameters of a queue pair, at both ends, as the keys of `[transport] kind = "rdma"` have them. Immutable during
    /// a run.
    #[derive(PartialEq)]
    RdmaConfig {
        /// The transport: the queue pairs of an RNIC.
        family as "kind": Family, Kind::Words(KINDS), Default::Preset;
        /// The congestion control: DCQCN (SIGCOMM 2015), or another that the reference lists.
        kind as "congestion_control": rate::Kind, Kind::Words(rate::Kind::NAMES), Default::Preset;
        /// Payload of a full packet.
        mss as "mss_bytes": u32, Kind::Integer { min: 1, max: 64_000 }, Default::Preset;
        /// Bytes of a data packet on the wire in addition to its payload.
        header as "header_bytes": u32, Kind::Integer { min: 0, max: 512 }, Default::Preset;
        /// Bytes of an ACK or a NACK on the wire.
        ack_bytes: u32, Kind::Integer { min: 1, max: 65_000 }, Default::Preset;
        /// Loss recovery: go back to the oldest unacknowledged packet, or IRN's selective repeat (SIGCOMM 2018).
        recovery: Recovery, Kind::Words(Recovery::WORDS), Default::Preset;
        /// Least time between two identical NACKs.
        nack_interval as "nack_interval_us": Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Preset;
        /// Retransmission timeout of go-back-N, counted from the last packet sent or answer received.
        rto as "rto_us": Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Preset;
        /// Retransmission timeout of IRN while few packets are in flight.
        rto_low as "rto_low_us": Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Preset;
        /// Retransmission timeout of IRN otherwise.
        rto_high as "rto_high_us": Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Preset;
        /// How many packets count as few, not counting the newest.
        rto_low_packets: u32, Kind::Integer { min: 0, max: MOST }, Default::Preset;
        /// Most payload bytes in flight, as in IRN's BDP flow control; 0 = no bound. With recovery = "irn" the default
        /// is "auto" in the presets linux and conweave-ns3, and 104000 in the others, the bandwidth-delay product of
        /// their leaf-spine.
        window_bytes: u64, Kind::Auto(&Kind::Integer { min: 0, max: LARGEST_EXACT }), Default::Preset;
        /// Does a NACK for an out-of-order packet also act as a CNP?
        ooo_cnp: bool, Kind::Bool, Default::Preset;
        /// Least time between two CNPs for marks of one queue pair; 0 makes the answer to every marked packet a CNP.
        cnp_interval as "cnp_interval_us": Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Preset;
        /// Gaps between paced packets: exact, with remainders carried, or truncated to whole nanoseconds as in ns-3.19.
        clock as "pacing_rounding": Clock, Kind::Words(ROUNDINGS), Default::Preset;
        /// Queue pairs of the connection from one host to another, shared by its messages, as in collective libraries
        /// (NCCL_IB_QPS_PER_CONNECTION). Switches hash the queue pair together with the hosts (E-ECMP), so messages of
        /// one queue pair take one path under ECMP.
        queue_pairs: Option<u32>, Kind::Integer { min: 1, max: 64 }, Default::Nothing("one for each message, not \
                                                                                       shared");
        /// How messages use queue pairs: each on one, in turn, or split over all (NCCL_IB_SPLIT_DATA_ON_QPS). Only with
        /// queue_pairs.
        queue_pair_use: Option<QueuePairUse>, Kind::Words(QueuePairUse::WORDS), Default::Nothing("\"round_robin\", with queue_pairs");
        also {
            /// The parameters of each congestion control.
            control: Settings = Settings::default();
            /// The window counts from the newest packet, whatever its size: a last packet that is shorter than the
            /// others may go beyond it (source: `CanIrnTransmit` of ConWeave's public code).
            window_from_newest: bool = false;
            /// IRN: a timeout leaves the end of the recovery where it was, so that the first NACK after it ends that
            /// recovery and makes the sender go back once more (source: ConWeave's public code).
            recover_kept_on_timeout: bool = false;
            /// IRN: a sender skips data reported by NACKs as its NIC looks at it, not as it sends (source:
            /// `GetBytesLeft` of ConWeave's public code). The NIC has asked before whether the window has room, so a
            /// packet may go beyond it.
            steps_at_looks: bool = false;
        }
    }
}

impl RdmaConfig {
    /// Its sheet.
    pub(crate) fn sheet(&self) -> Sheet {
        Sheet {
            kind: RDMA,
            frame: Frame { mss: self.mss, header: self.header, ack_bytes: self.ack_bytes },
            pulls: true,
            collects_telemetry: self.kind.collects_telemetry(),
            hears_marks: self.ecn(),
            knows_trims: false,
            grants_by_value: false,
            connections: self.queue_pairs,
            paths: ("queue_pairs", self.split_over()),
            most_subflows: 1,
            most_bytes: u64::MAX,
            fixed_timeout: Some(match self.recovery {
                Recovery::GoBackN => ("rto_us", self.rto),
                Recovery::Irn if self.rto_low_packets > 0 && self.rto_low < self.rto_high => {
                    ("rto_low_us", self.rto_low)
                }
                Recovery::Irn => ("rto_high_us", self.rto_high),
            }),
            least_timeout: None,
        }
    }

    /// The number of queue pairs over which each message is split; 0: it is not split.
    pub fn split_over(&self) -> u32 {
        match (self.queue_pairs, self.queue_pair_use) {
            (Some(many), Some(QueuePairUse::Split)) if many > 1 => many,
            (_, Some(QueuePairUse::Split | QueuePairUse::RoundRobin) | None) => 0,
        }
    }

    /// An RNIC of 100 Gbps, in exact time. Source: `run.py` and `rdma-hw.cc` of conweave-project/conweave-ns3. A window
    /// of 104,000 bytes is one BDP of the leaf-spine there; a spec uses that of its own fabric.
    pub fn rnic(recovery: Recovery) -> Self {
        let irn = recovery == Recovery::Irn;
        Self {
            family: Family::Rdma,
            mss: 1000,
            header: 48,
            ack_bytes: 60,
            recovery,
            nack_interval: Span::from_us(4),
            rto: Span::from_ms(4),
            rto_low: Span::from_us(100),
            rto_high: Span::from_us(320),
            rto_low_packets: 3,
            window_bytes: if irn { 104_000 } else { 0 },
            ooo_cnp: true,
            cnp_interval: Span::ZERO,
            clock: Clock::Exact,
            queue_pairs: None,
            queue_pair_use: None,
            window_from_newest: false,
            recover_kept_on_timeout: false,
            steps_at_looks: false,
            kind: rate::Kind::Dcqcn,
            control: Settings::default(),
        }
    }

    /// The same, with times in whole nanoseconds as in that program.
    pub fn in_whole_ns(recovery: Recovery) -> Self {
        Self { clock: Clock::Floor1Ns, ..Self::rnic(recovery) }
    }

    /// The same with DCQCN as its paper has it: at most one CNP in 50 us, and none for out-of-order packets.
    pub fn spacing_cnps(recovery: Recovery) -> Self {
        Self {
            ooo_cnp: false,
            cnp_interval: Span::from_us(50),
            control: Settings { dcqcn: DcqcnConfig::paper(), ..Settings::default() },
            ..Self::rnic(recovery)
        }
    }

    /// Whether data packets are ECN-capable.
    #[inline(always)]
    pub fn ecn(&self) -> bool {
        self.control.marks(self.kind) != Marks::Unheard
    }

    /// Bytes on the wire of a data packet with this payload.
    #[inline]
    pub const fn frame(&self, payload: u32) -> u32 {
        payload + self.header
    }
}
