//! AG: adaptive granularity, by the only granularity code the PDLB authors released.
//!
//! Liu, Huang, Li et al., "AG: Adaptive Switching Granularity for Load Balancing with Asymmetric Topology in Data Center
//! Network", ICNP 2019; the code is an ns-2 classifier published with PDLB (PDLB-test). The mechanism is PDLB's
//! ([`super::pdlb`]), the arithmetic is that code's: congested means above the mean delay, without a gate (its division
//! of integers makes the intended three packet times zero); a window of 44 packets is cut into ⌊44 / gran⌋ cells, more
//! than there are paths if need be; the last term of the reordering sum is missing; the rate is cut to whole packets per
//! millisecond; ratio of expected window to round-trip time, first maximum; 1 when no path is congested.
//!
//! | our word | the code's |
//! |---|---|
//! | granularity | the switching granularity x |
//! | path rate | B, 83 packets per millisecond at 1 Gbps |
//!
//! Departures, for an honest host:
//! - The code reads the queue of every switch port and adds a constant per path; here delays come from probes, one
//!   period old, as twice the time of one way ([`super`]). D_g and D_b are the means of the two classes, not the code's
//!   constants of 250 and 300 µs.
//! - The code decides at the switches, which share one state; here each host decides for itself, for each destination.
//! - The code sends packets of less than a full 1,500 bytes in turn, packet by packet. Here short data packets stay
//!   with their cell and acknowledgements take the fabric's choice.
//! - The code recomputes when a packet arrives and 100 µs have passed; here at ticks.
//! - Before the first answers the code knows everything; here `initial_packets` holds.

use super::classify::Classifier;
use super::model::{MOST_CELLS, Model};
use super::{Adaptive, Record, Variant};
use crate::Sheet;
use crate::edge::cells::Dispatch;

crate::params! {
    /// AG's parameters.
    Config {
        /// Time between estimates and between probes, µs (authors' code: 100).
        period_us: f64 = 100.0, Allowed::Number { min: 1.0, max: 1e6 };
        /// Size of a probe on the wire, bytes.
        probe_bytes: u32 = 64, Allowed::Integer { min: 40.0, max: 9000.0 };
        /// Reference window, packets (authors' code: 44).
        window_packets: f64 = 44.0, Allowed::Number { min: 1.0, max: MOST_CELLS as f64 };
        /// The coarsest granularity, packets (authors' code: 44).
        max_packets: u32 = 44, Allowed::Integer { min: 1.0, max: 4096.0 };
        /// Granularity towards a destination not yet measured, packets.
        initial_packets: u32 = 44, Allowed::Integer { min: 1.0, max: 1e9 };
        /// Gate of the classifier, in transmission times of a full packet (authors' code: meant to be 3, works out as
        /// 0).
        gate_packets: f64 = 0.0, Allowed::Number { min: 0.0, max: 1e6 };
        /// How the path of the next cell is chosen (authors' code: random).
        dispatch: Dispatch = Dispatch::Random, Allowed::Words(Dispatch::WORDS);
        /// When points of the series are recorded.
        record: Record = Record::Changes, Allowed::Words(Record::WORDS);
    }
}

/// The released code's preset.
#[derive(Clone, Copy, Debug)]
pub enum Released {}

/// Its name in the registry.
pub type Ag = Adaptive<Released>;

impl Variant for Released {
    const SHEET: Sheet = Sheet {
        name: "ag",
        summary: "flowcells sized by the objective of the PDLB authors' released code, fed by probes",
        source: "Liu et al., ICNP 2019; code released with PDLB",
        ..super::SHEET
    };
    type Config = Config;

    fn config(config: &Config) -> super::Config {
        super::Config {
            period_us: config.period_us,
            probe_bytes: config.probe_bytes,
            classifier: Classifier::GtMeanWithGate,
            gate_packets: config.gate_packets,
            model: Model::Released,
            window_packets: config.window_packets,
            max_packets: config.max_packets,
            initial_packets: config.initial_packets,
            dispatch: config.dispatch,
            record: config.record,
            ..super::Config::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use crate::schemes::pdlb::tests::Bench;

    #[test]
    fn it_plans_what_the_released_code_computes() {
        // The released code with its arithmetic: 100 us, 1 Gbps, X of 1.2, 1.5, 2, 3, 6.
        for (bad, expected) in [(1, [5, 7, 8, 9, 12]), (2, [1, 1, 12, 12, 15]), (4, [1, 1, 1, 15, 15])] {
            for (delay, gran) in [120, 150, 200, 300, 600].into_iter().zip(expected) {
                let mut bench = Bench::<Released>::new(&Config::default());
                bench.delays(move |way| if way < bad { delay } else { 100 });
                bench.start();
                bench.run(12);
                assert_eq!(bench.granularity(), gran, "N_b {bad}, {delay} us");
            }
        }
    }

    #[test]
    fn its_config_says_what_the_head_says() {
        let config = Released::config(&Config::default());
        assert_eq!((config.model, config.gate_packets), (Model::Released, 0.0));
        assert_eq!((config.window_packets, config.max_packets), (44.0, 44));
        assert_eq!(Ag::SHEET.name, "ag");
    }
}
