//! Parameters of schemes: declared once with default, unit, range and source; read strictly by name.

/// A parameter value as it comes from a spec.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A number.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// One of a few words.
    Word(&'a str),
}

/// One parameter, for people and for the spec reader.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Key under `[scheme.params]`, unit included.
    pub name: &'static str,
    /// What it is and where its default comes from.
    pub doc: &'static str,
    /// Its default.
    pub default: Value<'static>,
    /// What is allowed.
    pub allowed: Allowed,
    /// What the word "auto" stands for, if it may be given.
    pub auto: Option<Auto>,
}

/// A parameter that can be derived from the fabric.
#[derive(Clone, Copy, Debug)]
pub struct Auto {
    /// How, for people.
    pub how: &'static str,
    /// The value, in the unit of the parameter.
    pub of: fn(&Facts) -> f64,
}

/// What is known about a fabric before a run.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Round-trip time of a full packet and its acknowledgement between racks without queueing.
    pub base_rtt_us: f64,
    /// Time to drain a queue at the marking threshold at the rate of the fabric's links.
    pub marked_us: f64,
}

impl Facts {
    /// A time that was set for a base round trip of 8.32 µs (a leaf-spine with links of 1 µs at 100 Gbps, as in
    /// `run.py` of conweave-project/conweave-ns3), scaled to this fabric.
    pub fn in_proportion(&self, us: f64) -> f64 {
        us * self.base_rtt_us / 8.32
    }
}

/// A gap that opens a flowlet. It must be at least as long as the difference between paths, or packets overtake each
/// other (Sinha et al., HotNets 2004, followed by CONGA, section 3.4, and LetFlow). Each of two queues on the way may
/// be empty or at its marking threshold.
pub const FLOWLET_GAP: Option<Auto> = Some(Auto {
    how: "base round trip + two queues at their marking threshold",
    of: |facts| facts.base_rtt_us + 2.0 * facts.marked_us,
});

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowed {
    /// A number in this closed range.
    Number {
        /// Least.
        min: f64,
        /// Most.
        max: f64,
    },
    /// A whole number in this closed range.
    Integer {
        /// Least.
        min: f64,
        /// Most.
        max: f64,
    },
    /// A power of two.
    PowerOfTwo {
        /// Most.
        max: f64,
    },
    /// True or false.
    Bool,
    /// One of these words.
    Words(&'static [&'static str]),
}

/// A value was refused: the parameter exists but this is not allowed, or there is no such parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refused {
    /// No parameter has this name.
    Unknown,
    /// The value is of the wrong kind or out of range.
    NotAllowed(Allowed),
}

/// A scheme's parameters.
pub trait Params: Clone + Default {
    /// All of them.
    const PARAMS: &'static [Param];
    /// Sets one by name.
    ///
    /// # Errors
    /// [`Refused`] when there is no such parameter or the value is not allowed; nothing is changed then.
    fn set(&mut self, name: &str, value: Value<'_>) -> Result<(), Refused>;
    /// The current value of one, by its position in [`Params::PARAMS`].
    fn value(&self, index: usize) -> Value<'static>;
}

/// A field type of a parameter struct.
pub trait Field: Copy {
    /// Reads a value already known to be allowed.
    fn read(value: Value<'_>) -> Option<Self>;
    /// Shows it.
    fn show(self) -> Value<'static>;
}

impl Field for f64 {
    fn read(value: Value<'_>) -> Option<Self> {
        if let Value::Number(n) = value { Some(n) } else { None }
    }
    fn show(self) -> Value<'static> {
        Value::Number(self)
    }
}

impl Field for u32 {
    fn read(value: Value<'_>) -> Option<Self> {
        if let Value::Number(n) = value { Some(n as u32) } else { None }
    }
    fn show(self) -> Value<'static> {
        Value::Number(self as f64)
    }
}

impl Field for bool {
    fn read(value: Value<'_>) -> Option<Self> {
        if let Value::Bool(b) = value { Some(b) } else { None }
    }
    fn show(self) -> Value<'static> {
        Value::Bool(self)
    }
}

/// Is `value` among the `allowed` ones?
pub fn is_allowed(value: Value<'_>, allowed: Allowed) -> bool {
    match (value, allowed) {
        (Value::Number(n), Allowed::Number { min, max }) => n >= min && n <= max,
        (Value::Number(n), Allowed::Integer { min, max }) => n >= min && n <= max && n as i64 as f64 == n,
        (Value::Number(n), Allowed::PowerOfTwo { max }) => {
            n >= 1.0 && n <= max && n as u64 as f64 == n && (n as u64).is_power_of_two()
        }
        (Value::Bool(_), Allowed::Bool) => true,
        (Value::Word(w), Allowed::Words(words)) => words.contains(&w),
        _ => false,
    }
}

/// "auto" for a time, in microseconds, in proportion to the base round trip: see [`Facts::in_proportion`].
#[doc(hidden)]
#[macro_export]
macro_rules! in_proportion {
    ($us:literal) => {
        Some($crate::config::Auto {
            how: concat!(stringify!($us), " us where the base round trip is 8.32 us, in proportion"),
            of: |facts| facts.in_proportion($us),
        })
    };
}

/// "auto" for the time after which a probe without an answer counts as lost, in microseconds: the value for nearby
/// racks, and more where an answer takes longer.
#[doc(hidden)]
#[macro_export]
macro_rules! give_up {
    ($us:literal) => {
        Some($crate::config::Auto {
            how: concat!("five base round trips, ", stringify!($us), " us at least"),
            of: |facts| (5.0 * facts.base_rtt_us).max($us),
        })
    };
}

/// Declares an enumeration that a parameter can take, by words.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $word:literal ),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[$vmeta])* $variant ),+ }

        impl $name {
            /// The words of a spec.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl $crate::config::Field for $name {
            fn read(value: $crate::config::Value<'_>) -> Option<Self> {
                match value {
                    $( $crate::config::Value::Word($word) => Some($name::$variant), )+
                    _ => None,
                }
            }
            fn show(self) -> $crate::config::Value<'static> {
                match self { $( $name::$variant => $crate::config::Value::Word($word) ),+ }
            }
        }
    };
}

/// Declares a scheme's parameters: `name: type = default, allowed;`, each with its documentation, which users see. A
/// parameter that can be derived from the fabric has a third part, an [`Auto`].
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $name:ident { $( $(#[doc = $doc:literal])+ $field:ident : $type:ident = $default:expr, $allowed:expr $(, $auto:expr)?; )* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $( $(#[doc = $doc])+ pub $field: $type, )* }

        impl Default for $name {
            fn default() -> Self {
                $name { $( $field: $default, )* }
            }
        }

        impl $crate::config::Params for $name {
            const PARAMS: &'static [$crate::config::Param] = {
                #[allow(unused_imports)]
                use $crate::config::{Allowed, Param, Value};
                &[ $( Param {
                    name: stringify!($field),
                    doc: concat!($($doc),+),
                    default: $crate::default_value!($type, $default),
                    allowed: $allowed,
                    auto: $crate::auto_of!($($auto)?),
                }, )* ]
            };

            #[allow(unused_variables)]
            fn set(&mut self, name: &str, value: $crate::config::Value<'_>) -> Result<(), $crate::config::Refused> {
                #[allow(unused_imports)]
                use $crate::config::{Allowed, Field, Refused, is_allowed};
                match name {
                    $( stringify!($field) => {
                        let allowed: Allowed = $allowed;
                        if !is_allowed(value, allowed) {
                            return Err(Refused::NotAllowed(allowed));
                        }
                        self.$field = Field::read(value).ok_or(Refused::NotAllowed(allowed))?;
                        Ok(())
                    } )*
                    _ => Err(Refused::Unknown),
                }
            }

            #[allow(unused_variables, unused_mut, unused_assignments)]
            fn value(&self, index: usize) -> $crate::config::Value<'static> {
                let mut at = 0;
                $(
                    if at == index {
                        return $crate::config::Field::show(self.$field);
                    }
                    at += 1;
                )*
                $crate::config::Value::Bool(false)
            }
        }
    };
}

/// What "auto" means for a parameter.
#[doc(hidden)]
#[macro_export]
macro_rules! auto_of {
    () => {
        None
    };
    ($auto:expr) => {
        $auto
    };
}

/// The default of a parameter as a [`Value`], in a constant.
#[doc(hidden)]
#[macro_export]
macro_rules! default_value {
    (f64, $default:expr) => {
        $crate::config::Value::Number($default)
    };
    (u32, $default:expr) => {
        $crate::config::Value::Number($default as f64)
    };
    (bool, $default:expr) => {
        $crate::config::Value::Bool($default)
    };
    ($type:ident, $default:expr) => {
        $crate::config::Value::Word(<$type>::WORDS[$default as usize])
    };
}
