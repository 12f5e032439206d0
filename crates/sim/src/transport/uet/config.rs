//! The parameters of connections of Ultra Ethernet, shared by all connections of a run, and their presets.

use crate::keys::{Default, Kind, Unit, Zero, keys, words};
use crate::transport::config::{KINDS, UET};
use crate::transport::congestion::delivery::{self, Settings};
use crate::transport::sheet::{Frame, Sheet};
use crate::transport::uet::Psn;
use spinewise_policy::time::Span;

words! {
    /// A sender's detection of losses that no trimmed packet reports.
    Recovery {
        /// The timeout alone.
        Timeout = "timeout",
        /// Packets out of order and probes, too (SLEEK).
        Sleek = "sleek",
    }
}

words! {
    /// The NIC's handling of a sender's requests and probes.
    Requests {
        /// They go with answers, at the instant that they fall due (uet-htsim).
        Control = "as_control",
        /// They go when it is the turn of their flow.
        Data = "as_data",
    }
}

words! {
    /// The fabrics in which receivers that pace senders without a window heed congestion inside the fabric.
    PullHeeds {
        /// Fabrics with an oversubscribed core (uet-htsim): elsewhere two flows that share a link there are trimmed
        /// permanently.
        Oversubscription = "oversubscription",
        /// All fabrics.
        Congestion = "congestion",
    }
}

words! {
    /// The kind of transport that these keys are of.
    Family {
        /// Connections of Ultra Ethernet.
        Uet = "uet",
    }
}

keys! {
    /// The parameters of a connection of Ultra Ethernet, at both ends, as the keys of `[transport] kind = "uet"` have them.
    /// Immutable during a run.
    #[derive(PartialEq)]
    UetConfig {
        /// The transport: Ultra Ethernet's packet delivery, in any order.
        family as "kind": Family, Kind::Words(KINDS), Default::Preset;
        /// The sender's congestion control: NSCC, or another that the reference lists.
        kind as "congestion_control": delivery::Kind, Kind::Words(delivery::Kind::NAMES), Default::Preset;
        /// Payload of a full packet.
        mss as "mss_bytes": u32, Kind::Integer { min: 1, max: 64_000 }, Default::Preset;
        /// Bytes of a data packet on the wire in addition to its payload.
        header as "header_bytes": u32, Kind::Integer { min: 1, max: 512 }, Default::Preset;
        /// Bytes of an answer on the wire.
        ack_bytes: u32, Kind::Integer { min: 1, max: 65_000 }, Default::Preset;
        /// A receiver answers once it has received this many bytes on the wire since the last answer; 1 answers every
        /// packet. Marks, duplicates, the first packet, and packets that request an answer are answered at once.
        ack_every_bytes: u32, Kind::Integer { min: 1, max: 16_777_216 }, Default::Preset;
        /// Connections from one host to another, which messages use in turn and which keep what they learn: switches
        /// hash all messages of a connection the same way, and a message begins with the scheme's values, the window
        /// and the base round trip of the previous one.
        connections: Option<u32>, Kind::Integer { min: 1, max: 64 }, Default::Nothing("one for each message, not \
                                                                                       shared");
        /// Retransmission timeout, for the packet that has been in flight longest.
        rto as "rto_us": Span, Kind::Auto(&Kind::Time(Unit::Microseconds, Zero::Refused)), Default::Preset;
        /// How a sender detects losses that no trimmed packet reports: by the timeout, or by SLEEK (uet-htsim's
        /// `-sleek`), for fabrics that do not trim. SLEEK needs a window.
        recovery: Recovery, Kind::Words(Recovery::WORDS), Default::Word("timeout");
        /// With SLEEK: a probe delayed by less than this found no queue in which packets could still wait, and the last
        /// packets of a flow are probed for this much later; in round trips of the empty network (uet-htsim: NSCC's
        /// target, whatever the congestion control).
        sleek_target as "sleek_target_rtts": f64, Kind::Auto(&Kind::Positive { max: 100.0 }), Default::Preset;
        /// How the NIC sends requests and probes, which ask a receiver what it has: with answers, or in their flow's
        /// turn.
        requests: Requests, Kind::Words(Requests::WORDS), Default::Word("as_control");
        /// Does a sender that waits for credit, with nothing in flight, ask again when no credit has come for the
        /// retransmission timeout? The request may have been lost, or the packet that granted credit. uet-htsim, whose
        /// links lose nothing, asks once.
        ask_again: bool, Kind::Bool, Default::Preset;
        /// Do receivers pace their senders by credit (RCCC)? A sender that has no window (congestion_control = "none") needs it.
        receiver_credit: bool, Kind::Bool, Default::Bool(false);
        /// Credit granted by one packet.
        pull_bytes: u32, Kind::Integer { min: 256, max: 16_777_216 }, Default::Number(16_384.0);
        /// Packets that grant credit cycle through this many entropy values, which switches hash whatever the scheme;
        /// 1: they have no value and are hashed by their flow.
        pull_values: u32, Kind::Integer { min: 1, max: 32_768 }, Default::Number(128.0);
        /// The share of a host's rate that its receivers grant.
        pull_share: f64, Kind::Positive { max: 1.0 }, Default::Number(0.99);
        /// Do receivers go on granting credit to a flow that has fully arrived, to the extent that they do to one that
        /// requests none? It gets one more turn for each time it was satisfied.
        pull_after_end: bool, Kind::Bool, Default::Preset;
        /// When "auto" makes receivers react to marks and trims inside the fabric, if senders have no window: where the
        /// core is oversubscribed, as in uet-htsim, or wherever any occur.
        pull_heeds: PullHeeds, Kind::Words(PullHeeds::WORDS), Default::Preset;
        /// Least part of pull_share to which receivers reduce credit on marks and trims inside the fabric; 1: they do
        /// not react.
        pull_least: f64, Kind::Auto(&Kind::Positive { max: 1.0 }), Default::Preset;
        also {
            /// The largest window, bytes: one and a half bandwidth-delay products of the fabric.
            most_window: i64 = 175_284;
            /// The parameters of each congestion control.
            control: Settings = Settings::default();
        }
    }
}

impl UetConfig {
    /// Its sheet.
    pub(crate) fn sheet(&self) -> Sheet {
        Sheet {
            kind: UET,
            frame: Frame { mss: self.mss, header: self.header, ack_bytes: self.ack_bytes },
            pulls: true,
            collects_telemetry: false,
            hears_marks: true,
            knows_trims: true,
            grants_by_value: self.receiver_credit && self.pull_values > 1,
            connections: self.connections,
            paths: ("subflows", 0),
            most_subflows: 1,
            // One number means no packet.
            most_bytes: u64::from(self.mss) * u64::from(Psn::MAX - 1),
            fixed_timeout: Some(("rto_us", self.rto)),
            least_timeout: None,
        }
    }

    /// The reference simulator's numbers (uet-htsim, `main_uec.cpp` and `uec.cpp`). A spec has the timeout of its own
    /// fabric: the one here is for a leaf-spine at 100 Gbps with links of 1 us.
    pub fn uet_htsim() -> Self {
        Self {
            family: Family::Uet,
            kind: delivery::Kind::Nscc,
            mss: 4086,
            header: 64,
            ack_bytes: 64,
            ack_every_bytes: 16_384,
            connections: None,
            rto: Span::from_ns(72_768),
            recovery: Recovery::Timeout,
            sleek_target: 1.0,
            requests: Requests::Control,
            ask_again: false,
            receiver_credit: false,
            pull_bytes: 16_384,
            pull_values: 128,
            pull_share: 0.99,
            pull_after_end: true,
            pull_heeds: PullHeeds::Oversubscription,
            pull_least: 1.0,
            most_window: 175_284,
            control: Settings::default(),
        }
    }

    /// The same without what is only an artefact of that program, or what its users are advised to avoid.
    pub fn uet() -> Self {
        let pull_heeds = PullHeeds::Congestion;
        let mut config = UetConfig { ask_again: true, pull_after_end: false, pull_heeds, ..Self::uet_htsim() };
        config.control.nscc.trims_tell_rtt = false;
        config.control.nscc.flight_wraps = false;
        config
    }
}
