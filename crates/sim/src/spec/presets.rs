//! Presets: named defaults of `[topology]`, `[switch]`, `[transport]` and `[scheme]`, each with where its numbers come from.
//! A preset is a file in `presets/` and a line in [`PRESETS`]; what it says of a scheme's parameters stands there, too.

mod conweave_ns3;
mod datacenter;
mod dcqcn_paper;
mod linux;
mod ns2_pdlb;
mod ns3_hermes;
mod selb;
mod uet;
mod uet_htsim;

use serde_json::{Map, Value};

pub(crate) use conweave_ns3::FOLLOWED;

use super::transport::{TransportPreset, Window};
use crate::keys::AUTO;
use crate::tape::Draws;
use crate::transport::rdma::Recovery;
use crate::transport::{RdmaConfig, TcpConfig, TransportSpec};

/// All presets; the first is that of a spec that names none. Thresholds and buffers are in bytes, so that small
/// acknowledgements and jumbo packets count for what they are.
pub(crate) const PRESETS: &[Preset] = &[
    linux::PRESET,
    datacenter::PRESET,
    ns2_pdlb::PRESET,
    ns3_hermes::PRESET,
    selb::PRESET,
    conweave_ns3::PRESET,
    dcqcn_paper::PRESET,
    uet_htsim::PRESET,
    uet::PRESET,
];

/// The preset of a spec that names none.
pub(crate) const DEFAULT: &str = PRESETS[0].name;

/// The words for [`PRESETS`].
pub(crate) const NAMES: &[&str] = &{
    let mut names = [""; PRESETS.len()];
    let mut n = 0;
    while n < names.len() {
        names[n] = PRESETS[n].name;
        n += 1;
    }
    names
};

/// Keys of a table with their values.
type Keys = fn() -> Map<String, Value>;

/// A set of defaults.
pub(crate) struct Preset {
    /// The word of a spec.
    pub name: &'static str,
    /// What it stands for.
    pub doc: &'static str,
    /// Where the numbers come from, and what is assumed.
    pub source: &'static str,
    /// What it says of `[topology]`.
    pub topology: Keys,
    /// What it says of `[switch]`.
    switch: Switch,
    /// What it says of `[transport]`.
    pub transport: TransportPreset,
    /// What it says of `[scheme]`.
    pub scheme: Keys,
    /// Parameters of schemes, by name, where they are not the schemes' own defaults.
    params: &'static [(&'static str, Params)],
    /// Are parameters of schemes derived from the fabric where they can be?
    pub fits: bool,
}

/// Values of parameters, by name.
pub(crate) type Params = &'static [Param];

/// A parameter of a scheme, and its value.
pub(crate) type Param = (&'static str, spinewise_policy::Value<'static>);

/// A scheme of a program that can be followed, and what the rules of `[follow]` mean for it.
#[derive(Debug)]
pub(crate) struct Followed {
    /// Its name.
    pub name: &'static str,
    /// What it takes from the tape under a rule, if not what it needs.
    pub draws: Option<(&'static str, Draws)>,
    /// Its rows are of flows, so that no two of these share one.
    pub rows_of_flows: bool,
    /// The parameters that it has under each rule, in place of its defaults.
    pub params: &'static [(&'static str, Param)],
}

impl Followed {
    /// A scheme of which the rules say nothing.
    pub(super) const NOTHING: Followed = Followed { name: "", draws: None, rows_of_flows: false, params: &[] };

    /// What is known of the scheme of this name.
    pub(super) fn of(scheme: &str) -> Option<&'static Followed> {
        FOLLOWED.iter().find(|followed| followed.name == scheme)
    }
}

/// The switches of a preset. Under a transport of the other kind those of preset datacenter or selb stand in.
enum Switch {
    /// Output queues.
    Queues(Keys),
    /// The same, with sizes that fit the fabric. Under RDMA a shared buffer that fits, so that nothing is dropped unless
    /// that is meant.
    Fitting(Keys),
    /// A shared buffer.
    Shared(Keys),
    /// Queues that trim.
    Trimming(Keys),
}

/// What a host sends at once at most: a segment of 64 KB that its NIC cuts into packets. DCTCP, section 3.5, has bursts of
/// 30 to 40 packets in mind where it sets K higher than its bound.
const BURST_BYTES: u64 = 65_536;

impl Preset {
    /// What presets of TCP have in common: schemes as their own papers have them.
    const TCP: Preset = Preset {
        name: "",
        doc: "",
        source: "",
        topology: Map::new,
        switch: Switch::Queues(|| queues(250_000, 97_500)),
        transport: TransportPreset::Tcp(TcpConfig::datacenter),
        scheme: || table([("header_bytes", "charged".into()), ("acks", "scheme".into()), ("hash", "mix".into())]),
        params: &[],
        fits: false,
    };

    /// What presets of RDMA have in common: acknowledgements are not the scheme's to place.
    const RDMA: Preset = Preset {
        switch: Switch::Shared(shared_buffer),
        transport: TransportPreset::Rdma(RdmaConfig::rnic, Window::Printed),
        scheme: || table([("header_bytes", "charged".into()), ("acks", "ecmp".into()), ("hash", "mix".into())]),
        ..Preset::TCP
    };

    /// What it says of `[switch]`.
    pub(super) fn switch(&self) -> Map<String, Value> {
        match self.switch {
            Switch::Queues(keys) | Switch::Fitting(keys) | Switch::Shared(keys) | Switch::Trimming(keys) => keys(),
        }
    }

    /// What it says of a shared buffer, if anything.
    pub(super) fn shared(&self) -> Map<String, Value> {
        let mut buffer = shared_buffer();
        if matches!(self.switch, Switch::Fitting(_)) {
            for key in ["buffer_bytes", "ecn_min_bytes", "ecn_max_bytes"] {
                buffer.insert(key.into(), AUTO.into());
            }
        }
        buffer
    }

    /// What it says of output queues, or those of preset datacenter.
    pub(super) fn queues(&self) -> Map<String, Value> {
        match self.switch {
            Switch::Queues(keys) | Switch::Fitting(keys) => keys(),
            Switch::Shared(_) | Switch::Trimming(_) => queues(250_000, 97_500),
        }
    }

    /// What it says of queues that trim, or what preset uet-htsim does.
    pub(super) fn trimming(&self) -> Map<String, Value> {
        match self.switch {
            Switch::Trimming(keys) => keys(),
            Switch::Queues(_) | Switch::Fitting(_) | Switch::Shared(_) => trimming(),
        }
    }

    /// What it says of `[switch]` under a transport: IRN is there to do without priority flow control.
    pub(super) fn switch_under(&self, transport: &TransportSpec) -> Map<String, Value> {
        if transport.sheet().knows_trims {
            return self.trimming();
        }
        let mut switch = match (&self.switch, transport) {
            (Switch::Fitting(_) | Switch::Trimming(_), TransportSpec::Rdma(_)) => self.shared(),
            (Switch::Trimming(_), _) => self.queues(),
            _ => self.switch(),
        };
        if matches!(transport, TransportSpec::Rdma(rdma) if rdma.recovery == Recovery::Irn)
            && switch.contains_key("pfc")
        {
            switch.insert("pfc".into(), false.into());
            switch.remove("headroom_bytes");
        }
        switch
    }

    /// Parameters of the scheme of this name, where they are not its own defaults.
    pub(super) fn params_of(&self, scheme: &str) -> Params {
        self.params.iter().find(|(name, _)| *name == scheme).map_or(&[], |&(_, params)| params)
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

/// Queues that trim, sized by the fabric.
fn trimming() -> Map<String, Value> {
    table([
        ("model", "trimming".into()),
        ("buffer_bytes", AUTO.into()),
        ("trim", true.into()),
        ("trimmed_bytes", 64.into()),
        ("ecn_min_bytes", AUTO.into()),
        ("ecn_max_bytes", AUTO.into()),
        ("ecn_max_probability", 1.0.into()),
        ("mark_last_hop", true.into()),
    ])
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Map<String, Value> {
    entries.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank::Chosen;

    #[test]
    fn what_presets_say_of_schemes_is_allowed_there() {
        for preset in PRESETS {
            for (n, (scheme, params)) in preset.params.iter().enumerate() {
                assert!(preset.params[..n].iter().all(|(other, _)| other != scheme), "{}: {scheme} twice", preset.name);
                let chosen = Chosen::by_name(scheme).map(|chosen| chosen.with(params));
                assert!(matches!(chosen, Some(Ok(_))), "{scheme} in {}: {chosen:?}", preset.name);
            }
        }
    }
}
