//! Preset selb: SELB's evaluation.

use spinewise_policy::Value::Number;

use super::{Preset, TransportPreset, Window};
use crate::transport::RdmaConfig;

pub(super) const PRESET: Preset = Preset {
    name: "selb",
    doc: "RDMA as in SELB's evaluation, in exact time",
    source: "DCQCN, go-back-N and IRN as in the public ns-3 code of ConWeave, which SELB's evaluation is based on; \
             flowlet gap 10 us: SELB, section IV",
    transport: TransportPreset::Rdma(RdmaConfig::rnic, Window::Printed),
    params: &[
        ("letflow", &[("flowlet_gap_us", Number(10.0))]),
        ("conga", &[("flowlet_gap_us", Number(10.0)), ("dre_period_us", Number(50.0))]),
        // SELB, section IV: path busy for 8 us; the public code has 16.
        ("conweave", &[("theta_path_busy_us", Number(8.0))]),
    ],
    ..Preset::RDMA
};
