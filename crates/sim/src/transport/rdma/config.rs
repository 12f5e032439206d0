//! The parameters of the RNIC transport, shared by all queue pairs of a run, and its presets.

use crate::packet::Clock;
use crate::transport::congestion::Marks;
use crate::transport::congestion::dcqcn::DcqcnConfig;
use crate::transport::congestion::rate::{Kind, Settings};
use spinewise_policy::time::Span;

/// What a queue pair does about a packet that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The receiver drops what is out of order; the sender goes back to the oldest unacknowledged packet.
    GoBackN,
    /// The receiver keeps what is out of order and says so; the sender sends the rest again (Mittal et al., "Revisiting
    /// Network Support for RDMA", SIGCOMM 2018).
    Irn,
}

/// The parameters of a queue pair, at both ends. Immutable during a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RdmaConfig {
    /// Payload of a full packet, bytes. At least 1.
    pub mss: u32,
    /// Bytes a data packet has on the wire besides its payload, a header of [telemetry](crate::telemetry) among them.
    pub header: u32,
    /// Bytes of an ACK or a NACK on the wire, likewise.
    pub ack_bytes: u32,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Least time between two NACKs that say the same: with go-back-N for the same expected byte, with IRN for a packet
    /// already told of.
    pub nack_interval: Span,
    /// Go-back-N: retransmission timeout, since the last packet sent or ACK received.
    pub rto: Span,
    /// IRN: the same while few packets are in flight.
    pub rto_low: Span,
    /// IRN: the same otherwise.
    pub rto_high: Span,
    /// IRN: how many packets are few, beside the newest. The public code measures from the oldest unacknowledged byte to
    /// the first byte of the newest packet.
    pub rto_low_packets: u32,
    /// Most payload bytes between the oldest unacknowledged one and the newest sent (BDP flow control of IRN, §3.2 of
    /// its paper); 0 = no bound, otherwise at least `mss`.
    pub window_bytes: u64,
    /// A NACK made by a packet out of order is a CNP too.
    pub ooo_cnp: bool,
    /// Least time between two CNPs for marks of one queue pair; zero makes one of each marked packet that is answered.
    pub cnp_interval: Span,
    /// The clock of gaps between packets: exact gaps carry their remainder, others are cut off.
    pub clock: Clock,
    /// The window counts from the newest packet, whatever its size: a last packet that is shorter than the others may go
    /// beyond it (`CanIrnTransmit` of ConWeave's public code).
    pub window_from_newest: bool,
    /// IRN: a timeout leaves the end of the recovery where it was, so that the first NACK after it ends that recovery and
    /// makes the sender go back once more (ConWeave's public code).
    pub recover_kept_on_timeout: bool,
    /// The congestion control, and the parameters of each.
    pub kind: Kind,
    /// See `kind`.
    pub control: Settings,
}

impl RdmaConfig {
    /// The public ns-3 code of the ConWeave paper with its evaluation's settings, at 100 Gbps (run.py, rdma-hw.cc). Time
    /// is in whole nanoseconds. A window of 104,000 bytes is one BDP of its leaf-spine; a spec has that of its own fabric.
    pub fn conweave_ns3(recovery: Recovery) -> Self {
        Self { clock: Clock::Floor1Ns, ..Self::selb(recovery) }
    }

    /// The evaluation of SELB, which uses ConWeave's public code, in exact time.
    pub fn selb(recovery: Recovery) -> Self {
        let irn = recovery == Recovery::Irn;
        Self {
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
            window_from_newest: false,
            recover_kept_on_timeout: false,
            kind: Kind::Dcqcn,
            control: Settings::default(),
        }
    }

    /// DCQCN as its paper has it: at most one CNP in 50 us, and none for packets out of order; the rest as [`Self::selb`].
    pub fn dcqcn_paper(recovery: Recovery) -> Self {
        Self {
            ooo_cnp: false,
            cnp_interval: Span::from_us(50),
            control: Settings { dcqcn: DcqcnConfig::paper(), ..Settings::default() },
            ..Self::selb(recovery)
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
