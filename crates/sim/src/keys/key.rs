//! Keys: each declared once, with its kind, range, default and meaning. Reading and the reference come from that.

use serde_json::{Number, Value, json};
use spinewise_policy::Span;

use super::AUTO;

/// The greatest whole number that any JSON reader keeps exactly (2⁵³ − 1).
pub(crate) const LARGEST_EXACT: u64 = (1 << 53) - 1;
/// Times up to 2½ hours are exact in picoseconds even as floating-point microseconds.
pub(crate) const LONGEST: Span = Span(9_000_000_000_000_000);
/// 100 Tbps.
pub(crate) const FASTEST: u64 = 100_000_000_000_000;

/// One key of a spec.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its name, unit included.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
    /// Its kind of values.
    pub kind: Kind,
    /// Its value if not given.
    pub default: Default,
}

/// The values that a key may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A whole number in this closed range.
    Integer {
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// A number in this closed range.
    Number {
        /// Least.
        min: f64,
        /// Most.
        max: f64,
    },
    /// A number above zero, and not above this.
    Positive {
        /// Most.
        max: f64,
    },
    /// A rate in Gbps that is a whole number of bits per second.
    Rate(Zero),
    /// A length of time, rounded to the nearest picosecond.
    Time(Unit, Zero),
    /// True or false.
    Bool,
    /// One of these words.
    Words(&'static [&'static str]),
    /// Text; says which.
    Text(&'static str),
    /// A table; says of what.
    Table(&'static str),
    /// A list; says of what.
    List(&'static str),
    /// One of several types; says which.
    Either(&'static str),
    /// This, or the word "auto" for a value that follows from the fabric.
    Auto(&'static Kind),
}

/// Whether zero is in the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zero {
    /// It is.
    Allowed,
    /// It is not.
    Refused,
}

/// Unit of a time in a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
}

impl Unit {
    pub(crate) const fn picoseconds(self) -> u64 {
        match self {
            Unit::Nanoseconds => 1_000,
            Unit::Microseconds => 1_000_000,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "nanoseconds",
            Unit::Microseconds => "microseconds",
        }
    }
}

/// The value of a key that is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Default {
    /// It must be given.
    Required,
    /// Nothing; says what that means.
    Nothing(&'static str),
    /// The value of the preset.
    Preset,
    /// This number, in the unit of the key.
    Number(f64),
    /// This.
    Bool(bool),
    /// This word or text.
    Word(&'static str),
    /// A table or list of nothing, so that the defaults within hold.
    Empty,
}

/// A value found to be allowed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Plain {
    /// A whole number.
    Integer(u64),
    /// A number.
    Number(f64),
    /// Bits per second.
    Rate(u64),
    /// A length of time and the unit it was given in.
    Time(Span, Unit),
    /// True or false.
    Bool(bool),
    /// A word or text.
    Text(String),
    /// A table or list.
    Json(Value),
}

impl Kind {
    /// `value`, if it is allowed.
    pub(crate) fn check(&self, value: &Value) -> Option<Plain> {
        match *self {
            Kind::Integer { min, max } => whole(value).filter(|n| (min..=max).contains(n)).map(Plain::Integer),
            Kind::Number { min, max } => value.as_f64().filter(|n| (min..=max).contains(n)).map(Plain::Number),
            Kind::Positive { max } => value.as_f64().filter(|&n| n > 0.0 && n <= max).map(Plain::Number),
            Kind::Rate(zero) => rate(value).filter(|&bits| bits > 0 || zero == Zero::Allowed).map(Plain::Rate),
            Kind::Time(unit, zero) => {
                span(value, unit).filter(|s| s.0 > 0 || zero == Zero::Allowed).map(|span| Plain::Time(span, unit))
            }
            Kind::Bool => value.as_bool().map(Plain::Bool),
            Kind::Words(words) => {
                value.as_str().filter(|word| words.contains(word)).map(|word| Plain::Text(word.into()))
            }
            Kind::Text(_) => value.as_str().filter(|text| !text.is_empty()).map(|text| Plain::Text(text.into())),
            Kind::Table(_) => value.is_object().then(|| Plain::Json(value.clone())),
            Kind::List(_) => value.is_array().then(|| Plain::Json(value.clone())),
            Kind::Either(_) => Some(Plain::Json(value.clone())),
            Kind::Auto(kind) => kind.check(value),
        }
    }

    /// Returns the allowed values, worded to follow "expected".
    pub(crate) fn allowed(&self) -> String {
        match *self {
            Kind::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Number { min, max } => format!("a number from {min} to {max}"),
            Kind::Positive { max } => format!("a number above 0, at most {max}"),
            // One bit per second is the least that is not zero.
            Kind::Rate(zero) => format!(
                "a rate in Gbps from {} to {}, a whole number of bits per second",
                zero.least("0.000000001"),
                FASTEST / 1_000_000_000
            ),
            // One picosecond is.
            Kind::Time(unit, zero) => {
                let picosecond = match unit {
                    Unit::Nanoseconds => "0.001",
                    Unit::Microseconds => "0.000001",
                };
                let most = LONGEST.0 / unit.picoseconds();
                format!("a number of {} from {} to {most}", unit.name(), zero.least(picosecond))
            }
            Kind::Bool => "true or false".into(),
            Kind::Words(words) => one_of(words.iter().copied()),
            Kind::Text(what) | Kind::Table(what) | Kind::List(what) | Kind::Either(what) => what.into(),
            Kind::Auto(kind) => format!("{}, or \"{AUTO}\"", kind.allowed()),
        }
    }

    /// The unit of a time; microseconds if it is not a time.
    pub(crate) fn time_unit(&self) -> Unit {
        match *self {
            Kind::Time(unit, _) => unit,
            Kind::Auto(kind) => kind.time_unit(),
            Kind::Integer { .. } | Kind::Number { .. } | Kind::Positive { .. } | Kind::Rate(_) | Kind::Bool => {
                Unit::Microseconds
            }
            Kind::Words(_) | Kind::Text(_) | Kind::Table(_) | Kind::List(_) | Kind::Either(_) => Unit::Microseconds,
        }
    }

    /// Whether it is a number, whatever its unit.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self.type_name(), "integer" | "number")
    }

    /// The name of the type, for the reference.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Kind::Integer { .. } => "integer",
            Kind::Number { .. } | Kind::Positive { .. } | Kind::Rate(_) | Kind::Time(..) => "number",
            Kind::Bool => "boolean",
            Kind::Words(_) | Kind::Text(_) => "string",
            Kind::Table(_) => "table",
            Kind::List(_) => "list",
            Kind::Either(_) => "any",
            Kind::Auto(kind) => kind.type_name(),
        }
    }
}

impl Zero {
    /// The least value, if this is the least that is not zero.
    const fn least(self, above: &'static str) -> &'static str {
        match self {
            Zero::Allowed => "0",
            Zero::Refused => above,
        }
    }
}

impl Key {
    /// The unit, by the ending of the name.
    pub(crate) fn unit(&self) -> Option<&'static str> {
        unit_of(self.name)
    }
}

/// The unit indicated by the ending of a name.
pub(crate) fn unit_of(name: &str) -> Option<&'static str> {
    const UNITS: [(&str, &str); 8] = [
        ("_gbps", "Gbps"),
        ("_ns", "ns"),
        ("_us", "us"),
        ("_per_second", "1/s"),
        ("_bytes", "bytes"),
        ("_packets", "packets"),
        ("_segments", "segments"),
        ("_percent", "percent"),
    ];
    UNITS.iter().find(|(ending, _)| name.ends_with(ending)).map(|&(_, unit)| unit)
}

impl Default {
    /// Returns it as JSON; `None` if there is no value.
    pub(crate) fn json(&self, kind: &Kind) -> Option<Value> {
        match *self {
            Default::Required | Default::Nothing(_) | Default::Preset => None,
            Default::Number(number) => Some(tidy(number)),
            Default::Bool(given) => Some(given.into()),
            Default::Word(word) => Some(word.into()),
            Default::Empty if matches!(kind, Kind::List(_)) => Some(json!([])),
            Default::Empty => Some(json!({})),
        }
    }
}

impl Plain {
    /// Returns it in the form of the resolved spec.
    pub(crate) fn json(&self) -> Value {
        match self {
            Plain::Integer(n) => (*n).into(),
            Plain::Number(n) => tidy(*n),
            Plain::Rate(bits) => tidy(*bits as f64 / 1e9),
            Plain::Time(span, unit) => tidy(span.0 as f64 / unit.picoseconds() as f64),
            Plain::Bool(given) => (*given).into(),
            Plain::Text(text) => text.as_str().into(),
            Plain::Json(value) => value.clone(),
        }
    }
}

/// "a", "b" or "c".
pub(crate) fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".into(),
    }
}

/// A number as people write it: without a point if it is whole.
pub(crate) fn tidy(number: f64) -> Value {
    if number >= 0.0 && number <= LARGEST_EXACT as f64 && number.fract() == 0.0 {
        return (number as u64).into();
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// A whole number that is not negative; `10.0` is one.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number >= 0.0 && number <= LARGEST_EXACT as f64 && number.fract() == 0.0).then_some(number as u64)
    })
}

/// Gbps as bits per second; none if it is out of range or not whole.
fn rate(value: &Value) -> Option<u64> {
    // A decimal fraction times 10⁹ misses the whole number by at most this, up to the fastest rate.
    const ROUNDING: f64 = 0.02;
    let bits = value.as_f64()? * 1e9;
    let nearest = bits.round();
    (nearest >= 0.0 && nearest <= FASTEST as f64 && (bits - nearest).abs() <= ROUNDING).then_some(nearest as u64)
}

/// A length of time in picoseconds, rounded to the nearest; none if it is out of range.
fn span(value: &Value, unit: Unit) -> Option<Span> {
    let ps = value.as_f64()? * unit.picoseconds() as f64;
    (ps >= 0.0 && ps <= LONGEST.0 as f64).then_some(Span(ps.round() as u64))
}
/// Bytes for people.
pub(crate) fn bytes_said(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        bytes => format!("{:.0} MB", bytes / 1e6),
    }
}

/// A length of time in microseconds, to a tenth.
pub(crate) fn tenths(us: f64) -> Value {
    tidy((us * 10.0).round().max(1.0) / 10.0)
}

/// Whether a character is visible when printed: bidi controls, line breaks and zero-width characters are not.
pub(crate) fn is_printable(c: char) -> bool {
    let hidden = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !c.is_control() && !hidden
}
