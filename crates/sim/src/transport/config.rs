//! The parameters of TCP, shared by all flows of a run, and the presets the papers need.

use super::congestion::Marks;
pub use super::congestion::window::Kind;
use super::congestion::window::Settings;
use super::options::Options;
use super::resequencer::Rules;
use spinewise_policy::time::Span;

/// How a TCP sender finds and repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// Duplicate acknowledgements, and partial ones (RFC 6582).
    NewReno,
    /// Duplicate acknowledgements alone (RFC 5681).
    Reno,
    /// Selective acknowledgements (RFC 2018, RFC 6675).
    Sack,
    /// RACK-TLP (RFC 8985), as Linux runs it.
    Rack,
}

impl Recovery {
    /// Do acknowledgements say what has arrived beyond a gap?
    #[inline]
    pub const fn has_sack(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Rack)
    }
}

/// The parameters of a TCP connection, at both ends. Immutable during a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// The congestion control, and the parameters of each.
    pub kind: Kind,
    /// See `kind`.
    pub control: Settings,
    /// The loss recovery; [`Recovery::Reno`] goes with [`Kind::Reno`].
    pub recovery: Recovery,
    /// Payload of a full segment, bytes (SMSS of RFC 5681). At least 1.
    pub mss: u32,
    /// Bytes a data packet has on the wire besides its payload.
    pub header: u32,
    /// Bytes of a pure acknowledgement on the wire.
    pub ack_bytes: u32,
    /// Congestion window at the start, segments (RFC 5681 §3.1, RFC 6928). At least 1.
    pub initial_window: u32,
    /// Upper bound on the window, segments, as a receiver's buffer sets it; 0 = none.
    pub max_window: u32,
    /// Slow-start threshold at the start, segments; 0 = unlimited (RFC 5681 §3.1: "arbitrarily high").
    pub initial_ssthresh: u32,
    /// Segments sent upon one event (the start, an acknowledgement, a timeout) at most; 0 = no bound.
    pub max_burst: u32,
    /// Lower bound on the retransmission timeout (RFC 6298 rule 2.4 has 1 s).
    pub min_rto: Span,
    /// Retransmission timeout before the first round-trip sample (rule 2.1); not raised to `min_rto`.
    pub initial_rto: Span,
    /// Upper bound on the retransmission timeout, backed off or not (rule 2.5).
    pub max_rto: Span,
    /// The clock granularity G of RFC 6298 rules 2.2 and 2.3; may be zero.
    pub rto_granularity: Span,
    /// A timeout expires up to so much late, as the clock of a host ticks; zero = on time.
    pub rto_tick: Span,
    /// By what that is drawn.
    pub dice: u64,
    /// A window leaves over a round trip, not at once.
    pub pacing: bool,
    /// Acknowledge at least every n-th segment; 0 and 1 acknowledge each.
    pub delayed_ack: u32,
    /// Longest time an acknowledgement is held back.
    pub delayed_ack_timeout: Span,
    /// Duplicate acknowledgements that start a fast retransmit; 0 = never (reorder tolerant).
    pub dupack_threshold: u32,
    /// The first two duplicate acknowledgements let a new segment go each, beyond the window (RFC 3042).
    pub limited_transmit: bool,
    /// Segments that are here already are acknowledged once more. Else they are not, but for one that was sent `min_rto`
    /// after the last that counted: its sender has timed out, and would wait for ever.
    pub ack_duplicates: bool,
    /// A window that marks have cut stays as it is until the next new segment is acknowledged.
    pub hold_after_mark: bool,
    /// Connections are opened by a three-way handshake.
    pub handshake: bool,
    /// Bytes of a SYN and of a SYN-ACK on the wire.
    pub syn_bytes: u32,
    /// Time without an answer after which the first SYN is sent again.
    pub syn_timeout: Span,
    /// What receivers hold back below TCP, if they do.
    pub resequencing: Option<Rules>,
    /// Connections are closed by packets: the FINs ride on the last data and on its acknowledgement, and the sender
    /// acknowledges the latter.
    pub fin: bool,
    /// Subflows of a connection; 1 but for [`Kind::Mptcp`].
    pub subflows: u32,
    /// The options of MPTCP take bytes on the wire.
    pub charge_options: bool,
}

impl TcpConfig {
    /// DCTCP on hosts of today: losses are found as Linux finds them, by RACK-TLP (RFC 8985) on selective
    /// acknowledgements; a SYN waits for 1 s (`TCP_TIMEOUT_INIT`); timers go by jiffies (HZ = 1000): how late one is
    /// depends on where in a jiffy it was set, which nothing here knows, so that is drawn. The timeouts themselves follow
    /// from the fabric.
    pub fn linux() -> Self {
        Self {
            recovery: Recovery::Rack,
            rto_tick: Span::from_ms(1),
            syn_timeout: Span::from_ms(1000),
            ..Self::datacenter()
        }
    }

    /// DCTCP as a tuned datacenter runs it: 1500-byte packets, ten segments at the start, timeouts
    /// from 10 ms, every packet acknowledged, no bound on the window, no handshake. A SYN would carry its
    /// MSS option, and wait as long as data without a sample.
    pub fn datacenter() -> Self {
        Self {
            kind: Kind::Dctcp,
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
            limited_transmit: false,
            ack_duplicates: true,
            hold_after_mark: false,
            handshake: false,
            syn_bytes: 44,
            syn_timeout: Span::from_ms(10),
            resequencing: None,
            fin: false,
            subflows: 1,
            charge_options: true,
        }
    }

    /// What the congestion control does about marks.
    #[inline(always)]
    pub fn marks(&self) -> Marks {
        self.control.marks(self.kind)
    }

    /// Whether data packets are ECN-capable and marks are echoed.
    #[inline]
    pub fn ecn(&self) -> bool {
        self.marks() != Marks::Unheard
    }

    /// Whether packets keep apart. Those of MPTCP never do.
    #[inline]
    pub fn paces(&self) -> bool {
        (self.pacing || self.kind.paces()) && !self.mptcp()
    }

    /// Whether connections are MPTCP's.
    #[inline]
    pub const fn mptcp(&self) -> bool {
        matches!(self.kind, Kind::Mptcp)
    }

    /// The bytes that options of MPTCP take.
    pub const fn options(&self) -> Options {
        if self.mptcp() && self.charge_options { Options::CHARGED } else { Options::FREE }
    }

    /// Whether a data packet is ECN-capable.
    #[inline]
    pub fn ect(&self, retransmit: bool) -> bool {
        match self.marks() {
            Marks::Counted => true,
            Marks::Repeated => !retransmit,
            Marks::Unheard => false,
        }
    }

    /// `segments` full segments in bytes, where 0 means without bound.
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
