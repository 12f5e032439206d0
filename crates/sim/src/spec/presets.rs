//! Presets: named defaults of `[topology]`, `[switch]`, `[transport]` and `[scheme]`, each with where its numbers come from.

use serde_json::{Map, Value};

use super::transport::{TransportPreset, Window};
use crate::keys::AUTO;
use crate::transport::rdma::Recovery;
use crate::transport::{RdmaConfig, TcpConfig, Transport};

/// A set of defaults.
pub(crate) struct Preset {
    /// The word of a spec.
    pub name: &'static str,
    /// What it stands for.
    pub doc: &'static str,
    /// Where the numbers come from, and what is assumed.
    pub source: &'static str,
    /// Its switches.
    switch: Switch,
    /// Its schemes.
    schemes: Schemes,
    /// Its transport.
    pub transport: TransportPreset,
    /// Do parameters of schemes fit the fabric where they can be worked out from it?
    pub fits: bool,
}

/// What a preset says of switches.
enum Switch {
    /// Output queues of so many bytes that mark from so many on.
    Queues { buffer: u64, ecn: u64 },
    /// Sizes that fit the fabric: output queues under TCP; a shared buffer under RDMA, so that nothing is dropped unless
    /// that is meant.
    Fitting,
    /// The same above a queue of ten packets in the device, at hosts too: the public ns-3 code of Hermes.
    Hermes,
    /// A shared buffer of the sizes of the public ns-3 code of ConWeave.
    Shared,
    /// The same, with the rules of that code.
    ConWeave,
    /// The same sizes, marking as DCQCN's paper sets it.
    Dcqcn,
}

/// What a preset says of schemes; their parameters in it are with each scheme ([`spinewise_policy::Policy::PRESETS`]).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Schemes {
    /// As their own papers have them.
    Published,
    /// The same, where acknowledgements are not theirs to place.
    Rdma,
    /// As the public ns-3 code of ConWeave.
    ConWeave,
}

/// The preset of a spec that names none.
pub(crate) const DEFAULT: &str = PRESETS[0].name;

/// What a host sends at once at most: a segment of 64 KB that its NIC cuts into packets. DCTCP, section 3.5, has bursts of
/// 30 to 40 packets in mind where it sets K higher than its bound.
const BURST_BYTES: u64 = 65_536;

/// All presets. Thresholds and buffers are in bytes, so that small acknowledgements and jumbo packets count for what
/// they are.
pub(crate) const PRESETS: &[Preset] = &[
    Preset {
        name: "linux",
        doc: "hosts of today: DCTCP with RACK-TLP and SACK, as Linux recovers losses; RDMA over a lossless fabric",
        source: "recovery: RFC 8985 as Linux has it (net/ipv4/tcp_recovery.c), on by default since Linux 4.18; timeouts: \
                 tcp_rtt_estimator, HZ = 1000; buffers and marking: what follows from the fabric; the rest as datacenter. With transport.kind = \"rdma\": DCQCN and a shared buffer as selb, priority flow control unless \
                 recovery = \"irn\"",
        switch: Switch::Fitting,
        schemes: Schemes::Published,
        transport: TransportPreset::Fitting(TcpConfig::linux),
        fits: true,
    },
    Preset {
        name: "datacenter",
        doc: "the world of most load-balancing papers: DCTCP at 10 Gbps, losses found by three duplicate acknowledgements",
        // 65 packets of 1500 bytes mark at 10 Gbps (DCTCP, section 3.4); 250 KB is the buffer of PDLB's large runs.
        source: "K = 65 packets of 1500 bytes: DCTCP (SIGCOMM 2010) at 10 Gbps; buffer 250 KB a port: PDLB, \
                 \"Large-scale simulation test\"",
        switch: Switch::Queues { buffer: 250_000, ecn: 97_500 },
        schemes: Schemes::Published,
        transport: TransportPreset::Tcp(TcpConfig::datacenter),
        fits: false,
    },
    Preset {
        name: "ns2-pdlb",
        doc: "the ns-2 settings of PDLB's public test program, with the buffer of its large-scale test",
        // The program's queue is 256 * 1460 bytes at 1 Gbps; the paper says 250 KB for the 10 Gbps runs. RED counts
        // bytes there (queue_in_bytes) in packets of 1460; the packet in transmission has left an ns-2 queue.
        source: "K = 65 * 1460 bytes, marked at enqueue, queue without the packet in transmission: PDLB's public ns-2 program; \
                 buffer 250 KB: PDLB, \"Large-scale simulation test\"",
        switch: Switch::Queues { buffer: 250_000, ecn: 65 * 1460 },
        schemes: Schemes::Published,
        transport: TransportPreset::Tcp(TcpConfig::ns2_pdlb),
        fits: false,
    },
    Preset {
        name: "ns3-hermes",
        doc: "the ns-3 settings of the Hermes code base, which MEET builds on",
        // RED used as a step, in bytes; the queue disc hands packets to the device before they are sent.
        source: "K = 65 * 1400 bytes, limit 600 * 1400 bytes, above a device queue of 10 packets, on every device, those of \
                 hosts too; at most 2 segments an acknowledgement: snowzjx/ns3-load-balance",
        switch: Switch::Hermes,
        schemes: Schemes::Published,
        transport: TransportPreset::Tcp(TcpConfig::ns3_hermes),
        fits: false,
    },
    Preset {
        name: "selb",
        doc: "RDMA as in SELB's evaluation, in exact time",
        source: "DCQCN, go-back-N and IRN as the public ns-3 code of ConWeave has them, on which SELB's evaluation rests; \
                 flowlet gap 10 us: SELB, section IV",
        switch: Switch::Shared,
        schemes: Schemes::Rdma,
        transport: TransportPreset::Rdma(RdmaConfig::selb, Window::Printed),
        fits: false,
    },
    Preset {
        name: "conweave-ns3",
        doc: "RDMA as the public ns-3 code of ConWeave has it, in whole nanoseconds",
        source: "conweave-project/conweave-ns3: rdma-hw.cc, switch-mmu.cc, run.py",
        switch: Switch::ConWeave,
        schemes: Schemes::ConWeave,
        transport: TransportPreset::Rdma(RdmaConfig::conweave_ns3, Window::Fits),
        fits: false,
    },
    Preset {
        name: "dcqcn-paper",
        doc: "RDMA with DCQCN as its paper sets it, in exact time",
        // Section 5.2 finds these values for 40 Gbps: marks must come early, and few of them, for flows to converge.
        source: "g, timers, byte counter and the marking ramp (5 KB, 200 KB, 1 %): DCQCN (SIGCOMM 2015), section 5; \
                 buffer, flow control and recovery as selb",
        switch: Switch::Dcqcn,
        schemes: Schemes::Rdma,
        transport: TransportPreset::Rdma(RdmaConfig::dcqcn_paper, Window::Printed),
        fits: false,
    },
];

/// The words for [`PRESETS`].
pub(crate) const NAMES: &[&str] = &[
    PRESETS[0].name,
    PRESETS[1].name,
    PRESETS[2].name,
    PRESETS[3].name,
    PRESETS[4].name,
    PRESETS[5].name,
    PRESETS[6].name,
];
const _: () = assert!(PRESETS.len() == NAMES.len(), "a preset without its word");

impl Preset {
    /// What it says of `[switch]`.
    pub fn switch(&self) -> Map<String, Value> {
        match self.switch {
            Switch::Queues { buffer, ecn } => queues(buffer, ecn),
            Switch::Fitting => {
                let mut queues = queues(BURST_BYTES, BURST_BYTES);
                queues.insert("buffer_us".into(), AUTO.into());
                queues.insert("ecn_threshold_us".into(), AUTO.into());
                queues
            }
            Switch::Hermes => {
                let mut queues = queues(600 * 1400, 65 * 1400);
                queues.insert("device_queue_packets".into(), 10.into());
                queues.insert("nics".into(), "queue".into());
                queues
            }
            Switch::Shared => shared_buffer(),
            Switch::ConWeave => {
                let mut buffer = shared_buffer();
                buffer.insert("headroom_bytes".into(), 27_096.into());
                buffer.insert("headroom_use".into(), "pool_full".into());
                buffer.insert("pause_us".into(), 5.into());
                buffer.insert("pause_renewal".into(), "packets".into());
                buffer.insert("egress_threshold".into(), "always".into());
                buffer
            }
            Switch::Dcqcn => {
                let mut buffer = shared_buffer();
                buffer.insert("ecn_min_bytes".into(), 5_000.into());
                buffer.insert("ecn_max_bytes".into(), 200_000.into());
                buffer.insert("ecn_max_probability".into(), 0.01.into());
                buffer
            }
        }
    }
}

impl Preset {
    /// What it says of a shared buffer, if anything.
    pub fn shared(&self) -> Map<String, Value> {
        let mut buffer = shared_buffer();
        if matches!(self.switch, Switch::Fitting) {
            for key in ["buffer_bytes", "ecn_min_bytes", "ecn_max_bytes"] {
                buffer.insert(key.into(), AUTO.into());
            }
        }
        buffer
    }

    /// What it says of output queues, or those that stand in: of preset datacenter.
    pub fn queues(&self) -> Map<String, Value> {
        match self.switch {
            Switch::Queues { .. } | Switch::Fitting | Switch::Hermes => self.switch(),
            Switch::Shared | Switch::ConWeave | Switch::Dcqcn => queues(250_000, 97_500),
        }
    }

    /// What it says of `[topology]`.
    pub fn topology(&self) -> Map<String, Value> {
        match self.switch {
            Switch::ConWeave => table([("tx_time_rounding", "floor_1ns".into())]),
            Switch::Queues { .. } | Switch::Fitting | Switch::Hermes | Switch::Shared | Switch::Dcqcn => Map::new(),
        }
    }

    /// What it says of `[switch]` under a transport: IRN is there to do without priority flow control.
    pub fn switch_under(&self, transport: &Transport) -> Map<String, Value> {
        let lossless = matches!((&self.switch, transport), (Switch::Fitting, Transport::Rdma(_)));
        let mut switch = if lossless { self.shared() } else { self.switch() };
        if matches!(transport, Transport::Rdma(rdma) if rdma.recovery == Recovery::Irn) && switch.contains_key("pfc") {
            switch.insert("pfc".into(), false.into());
            switch.remove("headroom_bytes");
        }
        switch
    }

    /// What it says of `[scheme]`.
    pub fn scheme(&self) -> Map<String, Value> {
        let (header, acks, hash) = match self.schemes {
            Schemes::Published => ("charged", "scheme", "mix"),
            Schemes::Rdma => ("charged", "ecmp", "mix"),
            Schemes::ConWeave => ("free", "ecmp", "murmur3"),
        };
        table([("header_bytes", header.into()), ("acks", acks.into()), ("hash", hash.into())])
    }
}

/// Output queues.
fn queues(buffer: u64, ecn: u64) -> Map<String, Value> {
    table([
        ("model", "output_queued".into()),
        ("buffer_bytes", buffer.into()),
        ("ecn_threshold_bytes", ecn.into()),
        ("buffer_us", 0.into()),
        ("ecn_threshold_us", 0.into()),
        ("ecn_at", "enqueue".into()),
        ("device_queue_packets", 0.into()),
        ("nics", "pull".into()),
        ("queue_counts", "waiting".into()),
    ])
}

/// A shared buffer: sizes, thresholds and marking of the public ns-3 code of ConWeave; headroom as each link needs it,
/// and pauses that last until they are ended.
fn shared_buffer() -> Map<String, Value> {
    table([
        ("model", "shared_buffer".into()),
        ("buffer_bytes", (9 << 20).into()),
        ("pfc", true.into()),
        ("priorities", 1.into()),
        ("headroom_use", "above_threshold".into()),
        ("guaranteed_bytes", 1_049.into()),
        ("reserved_packets", 8.into()),
        ("egress_alpha", 1.0.into()),
        ("egress_threshold", "without_pfc".into()),
        ("ingress_alpha", 0.0625.into()),
        ("pause_offset_bytes", 2_096.into()),
        ("resume_offset_bytes", 16.into()),
        ("pause_us", 0.into()),
        ("pause_renewal", "timer".into()),
        ("pause_frame_bytes", 43.into()),
        ("ecn_min_bytes", 100_000.into()),
        ("ecn_max_bytes", 400_000.into()),
        ("ecn_max_probability", 0.2.into()),
    ])
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Map<String, Value> {
    entries.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}
