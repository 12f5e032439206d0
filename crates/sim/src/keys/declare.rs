//! Tables of keys: one declaration makes the struct that holds them, their documentation, and the reader.

use super::{Kind, Plain};
use serde_json::{Map, Value};
use spinewise_policy::Span;

/// Declares the keys of a table: the struct that holds them, the declarations for people, reading and reporting.
///
/// `name: type, kind, default;` each with its documentation, which people see. `name as "word"` where the key has
/// another name than the field. Fields under `also` are no keys: they have their value from elsewhere.
macro_rules! keys {
    (@name $name:ident) => { stringify!($name) };
    (@name $name:ident $word:literal) => { $word };
    ($(#[$meta:meta])* $table:ident {
        $( $(#[doc = $doc:literal])+ $name:ident $(as $word:literal)? : $type:ty, $kind:expr, $default:expr; )*
        $(also { $( $(#[doc = $odoc:literal])+ $other:ident : $otype:ty = $value:expr; )+ })?
    }) => {
        // Some tables are seen by other crates.
        #[allow(unreachable_pub)]
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub struct $table {
            $( $(#[doc = $doc])+ pub $name: $type, )*
            $( $( $(#[doc = $odoc])+ pub $other: $otype, )+ )?
        }

        // Not every table is reported, or has a default for each key, or has any keys.
        #[allow(dead_code, unused_variables, unused_mut)]
        impl $table {
            /// All keys, in the order of reading.
            pub(crate) const KEYS: &'static [$crate::keys::Key] = &[ $( $crate::keys::Key {
                name: $crate::keys::keys!(@name $name $($word)?),
                doc: concat!($($doc),+),
                kind: $kind,
                default: $default,
            }, )* ];

            /// Reads all keys; `source` must have been made for [`Self::KEYS`].
            pub(crate) fn read<S: $crate::keys::Source>(source: &mut S) -> Result<$table, S::Error> {
                // Fields are evaluated in the order written, which is that of KEYS.
                Ok($table { $( $name: source.take()?, )* $( $( $other: $value, )+ )? })
            }

            /// The default values; each key must have a default of its own.
            pub(crate) fn defaults() -> $table {
                match $table::read(&mut $crate::keys::Declared::of(Self::KEYS)) {
                    Ok(table) => table,
                    Err(key) => panic!("{key} has no default of its own"),
                }
            }

            /// The values of a spec for this configuration: those of a preset.
            pub(crate) fn values(&self) -> serde_json::Map<String, serde_json::Value> {
                let mut keys = Self::KEYS.iter();
                let mut values = serde_json::Map::new();
                $( $crate::keys::tell(&mut values, keys.next(), &self.$name); )*
                values
            }
        }
    };
}
pub(crate) use keys;

/// Declares an enumeration that a key can take, by words.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $word:literal ),+ $(,)? }) => {
        // Some enumerations are seen by other crates.
        #[allow(unreachable_pub)]
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[$vmeta])* $variant ),+ }

        impl $name {
            /// The words of a spec.
            #[allow(dead_code)] // Not every enumeration lists its words.
            pub(crate) const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word of a spec.
            #[allow(dead_code)] // Not every key's word is used again.
            pub(crate) const fn word(self) -> &'static str {
                match self { $( $name::$variant => $word ),+ }
            }
        }

        impl $crate::keys::Field for $name {
            fn from_plain(plain: Option<$crate::keys::Plain>) -> Option<Self> {
                match plain {
                    $( Some($crate::keys::Plain::Text(word)) if word == $word => Some($name::$variant), )+
                    _ => None,
                }
            }

            fn plain(&self, _: $crate::keys::Kind) -> Option<$crate::keys::Plain> {
                Some($crate::keys::Plain::Text(self.word().into()))
            }
        }
    };
}
pub(crate) use words;

/// The source of values for declared keys, one after the other.
pub(crate) trait Source {
    /// The reason why there is no value.
    type Error;

    /// The value of the next key.
    ///
    /// # Errors
    /// It is missing or not allowed.
    fn take<T: Field>(&mut self) -> Result<T, Self::Error>;
}

/// The default values of keys.
pub(crate) struct Declared(std::slice::Iter<'static, super::Key>);

impl Declared {
    /// Creates it for these keys.
    pub(crate) fn of(keys: &'static [super::Key]) -> Self {
        Declared(keys.iter())
    }
}

impl Source for Declared {
    type Error = &'static str;

    fn take<T: Field>(&mut self) -> Result<T, &'static str> {
        let key = self.0.next().ok_or("a key that is not declared")?;
        T::from_plain(key.default.json(&key.kind).and_then(|value| key.kind.check(&value))).ok_or(key.name)
    }
}

/// A type that a key of a fitting kind can be read into.
pub(crate) trait Field: Sized {
    /// Converts an allowed value; `None` in if there is none, `None` out if the kind does not fit the type.
    fn from_plain(plain: Option<Plain>) -> Option<Self>;

    /// Returns it as a value of a key of this kind; `None` if there is none.
    fn plain(&self, kind: Kind) -> Option<Plain>;
}

/// Writes the value of a key into a table.
pub(crate) fn tell<T: Field>(values: &mut Map<String, Value>, key: Option<&super::Key>, value: &T) {
    if let Some(key) = key
        && let Some(plain) = value.plain(key.kind)
    {
        values.insert(key.name.into(), plain.json());
    }
}

/// Fields that are one arm of [`Plain`].
macro_rules! field {
    ($($type:ty: $pattern:pat => $value:expr, $told:expr;)*) => {
        $( impl Field for $type {
            fn from_plain(plain: Option<Plain>) -> Option<Self> {
                match plain { Some($pattern) => $value, _ => None }
            }

            fn plain(&self, kind: Kind) -> Option<Plain> {
                let told: fn(&$type, Kind) -> Plain = $told;
                Some(told(self, kind))
            }
        } )*
    };
}

field! {
    u32: Plain::Integer(n) => u32::try_from(n).ok(), |&n, _| Plain::Integer(n.into());
    u64: Plain::Integer(n) | Plain::Rate(n) => Some(n), |&n, kind| match kind {
        Kind::Rate(_) => Plain::Rate(n),
        _ => Plain::Integer(n),
    };
    f64: Plain::Number(n) => Some(n), |&n, _| Plain::Number(n);
    Span: Plain::Time(span, _) => Some(span), |&span, kind| Plain::Time(span, kind.time_unit());
    bool: Plain::Bool(given) => Some(given), |&given, _| Plain::Bool(given);
    String: Plain::Text(text) => Some(text), |text, _| Plain::Text(text.clone());
    Map<String, Value>: Plain::Json(Value::Object(table)) => Some(table), |table, _| Plain::Json(table.clone().into());
    Vec<Value>: Plain::Json(Value::Array(list)) => Some(list), |list, _| Plain::Json(list.clone().into());
    Value: Plain::Json(value) => Some(value), |value, _| Plain::Json(value.clone());
}

impl<T: Field> Field for Option<T> {
    fn from_plain(plain: Option<Plain>) -> Option<Self> {
        match plain {
            None => Some(None),
            given => T::from_plain(given).map(Some),
        }
    }

    fn plain(&self, kind: Kind) -> Option<Plain> {
        self.as_ref().and_then(|value| value.plain(kind))
    }
}
