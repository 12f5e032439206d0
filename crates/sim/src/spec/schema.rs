//! The allowed values of a key as JSON Schema (draft 2020-12), for editors that complete and check spec files.

use serde_json::{Value, json};
use spinewise_policy::config::Allowed;

use crate::keys::{AUTO, FASTEST, Kind, LONGEST, Zero};

impl Kind {
    /// A schema that accepts every value that [`Kind::check`] does, and no other type or range. Two rules go beyond a
    /// schema: a rate is a whole number of bits per second, and the contents of a table or a list.
    pub(crate) fn schema(&self) -> Value {
        match *self {
            Kind::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
            Kind::Number { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
            Kind::Positive { max } => json!({"type": "number", "exclusiveMinimum": 0, "maximum": max}),
            Kind::Rate(zero) => above(zero, FASTEST / 1_000_000_000),
            Kind::Time(unit, zero) => above(zero, LONGEST.0 / unit.picoseconds()),
            Kind::Bool => json!({"type": "boolean"}),
            Kind::Words(words) => json!({"enum": words}),
            Kind::Text(_) => json!({"type": "string", "minLength": 1}),
            Kind::Table(_) => json!({"type": "object"}),
            Kind::List(_) => json!({"type": "array"}),
            Kind::Either(_) => json!({}),
            Kind::Auto(kind) => or_auto(&kind.schema()),
        }
    }
}

/// Returns the allowed values of a scheme's parameter; `fits` if it can follow from the fabric.
pub(super) fn of_param(allowed: Allowed, fits: bool) -> Value {
    let schema = match allowed {
        Allowed::Number { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
        Allowed::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Allowed::PowerOfTwo { max } => {
            let powers: Vec<u64> = (0..).map(|n| 1 << n).take_while(|&power| power as f64 <= max).collect();
            json!({"enum": powers})
        }
        Allowed::Bool => json!({"type": "boolean"}),
        Allowed::Words(words) => json!({"enum": words}),
    };
    if fits { or_auto(&schema) } else { schema }
}

fn or_auto(schema: &Value) -> Value {
    json!({"anyOf": [schema, {"const": AUTO}]})
}

/// A number from zero on, or above it.
fn above(zero: Zero, most: u64) -> Value {
    let least = match zero {
        Zero::Allowed => "minimum",
        Zero::Refused => "exclusiveMinimum",
    };
    json!({"type": "number", least: 0, "maximum": most})
}
