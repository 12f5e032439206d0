//! Reads one table of a spec by its declared keys, and writes down what it came to.

use serde_json::{Map, Value};
use spinewise_policy::Span;

use super::{AUTO, Auto, Autos, Default, Key, Kind, Plain, SpecError};

/// Declares the keys of a table: the struct that holds them, the declarations for people and the reading, at once.
///
/// `name: type, kind, default;` each with its documentation, which people see. `name as "word"` where the key is a word
/// of Rust.
macro_rules! keys {
    (@name $name:ident) => { stringify!($name) };
    (@name $name:ident $word:literal) => { $word };
    ($(#[$meta:meta])* $table:ident {
        $( $(#[doc = $doc:literal])+ $name:ident $(as $word:literal)? : $type:ty, $kind:expr, $default:expr; )*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub(crate) struct $table { $( pub(crate) $name: $type, )* }

        impl $table {
            /// All keys, in the order of reading.
            pub(crate) const KEYS: &'static [$crate::keys::Key] = &[ $( $crate::keys::Key {
                name: $crate::keys::keys!(@name $name $($word)?),
                doc: concat!($($doc),+),
                kind: $kind,
                default: $default,
            }, )* ];

            /// Reads all keys; `reader` must have been made for [`Self::KEYS`].
            pub(crate) fn read(
                reader: &mut $crate::keys::Reader<'_>,
            ) -> Result<$table, $crate::keys::SpecError> {
                // Fields are evaluated in the order written, which is that of KEYS.
                Ok($table { $( $name: reader.take()?, )* })
            }
        }
    };
}
pub(crate) use keys;

/// Declares an enumeration that a key can take, by words.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $word:literal ),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[$vmeta])* $variant ),+ }

        impl $name {
            /// The words of a spec.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word of a spec.
            #[allow(dead_code)] // Not every key's word is said again.
            pub const fn word(self) -> &'static str {
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
        }
    };
}
pub(crate) use words;

/// A type that a key of a fitting kind can be read into.
pub(crate) trait Field: Sized {
    /// From an allowed value; `None` in if there is none, `None` out if the kind does not fit the type.
    fn from_plain(plain: Option<Plain>) -> Option<Self>;
}

/// Fields that are one arm of [`Plain`].
macro_rules! field {
    ($($type:ty: $pattern:pat => $value:expr;)*) => {
        $( impl Field for $type {
            fn from_plain(plain: Option<Plain>) -> Option<Self> {
                match plain { Some($pattern) => $value, _ => None }
            }
        } )*
    };
}

field! {
    u32: Plain::Integer(n) => u32::try_from(n).ok();
    u64: Plain::Integer(n) | Plain::Rate(n) => Some(n);
    f64: Plain::Number(n) => Some(n);
    Span: Plain::Time(span, _) => Some(span);
    bool: Plain::Bool(given) => Some(given);
    String: Plain::Text(text) => Some(text);
    Map<String, Value>: Plain::Json(Value::Object(table)) => Some(table);
    Vec<Value>: Plain::Json(Value::Array(list)) => Some(list);
    Value: Plain::Json(value) => Some(value);
}

impl<T: Field> Field for Option<T> {
    fn from_plain(plain: Option<Plain>) -> Option<Self> {
        match plain {
            None => Some(None),
            given => T::from_plain(given).map(Some),
        }
    }
}

/// Reads one table: refuses unknown keys at once, then takes the declared ones in order.
pub(crate) struct Reader<'a> {
    path: String,
    keys: &'static [Key],
    given: &'a Map<String, Value>,
    defaults: Map<String, Value>,
    at: usize,
    resolved: Map<String, Value>,
    autos: Autos,
    worked_out: Vec<Auto>,
}

impl<'a> Reader<'a> {
    /// A reader of the table at `path` (empty for the whole spec).
    ///
    /// # Errors
    /// A key that is not declared.
    pub fn new(path: &str, keys: &'static [Key], given: &'a Map<String, Value>) -> Result<Reader<'a>, SpecError> {
        Reader::split(path, [keys], given).map(|[reader]| reader)
    }

    /// Readers of a table whose keys are declared in several lists: one for each.
    ///
    /// # Errors
    /// A key that none of them declares.
    pub fn split<const N: usize>(
        path: &str,
        lists: [&'static [Key]; N],
        given: &'a Map<String, Value>,
    ) -> Result<[Reader<'a>; N], SpecError> {
        let names: Vec<&str> = lists.iter().copied().flatten().map(|key| key.name).collect();
        let readers = lists.map(|keys| Reader {
            path: path.into(),
            keys,
            given,
            defaults: Map::new(),
            at: 0,
            resolved: Map::new(),
            autos: Autos::new(),
            worked_out: Vec::new(),
        });
        match given.keys().find(|name| !names.contains(&name.as_str())) {
            Some(name) => Err(readers[0].unknown(name, &names)),
            None => Ok(readers),
        }
    }

    /// With what the preset says for [`Default::Preset`].
    pub fn with_defaults(self, defaults: Map<String, Value>) -> Reader<'a> {
        Reader { defaults, ..self }
    }

    /// With what `auto` stands for.
    pub fn with_autos(self, autos: Autos) -> Reader<'a> {
        Reader { autos, ..self }
    }

    /// Is any key to be worked out?
    pub fn wants_auto(&self) -> bool {
        let autos = self.keys.iter().filter(|key| matches!(key.kind, Kind::Auto(_)));
        autos.filter_map(|key| self.wanted(key.name)).any(|value| value == AUTO)
    }

    /// What is given, or else by default, for a key that is a plain value.
    pub fn wanted(&self, name: &str) -> Option<&Value> {
        self.given(name).or_else(|| self.defaults.get(name))
    }

    /// What was worked out, and how.
    pub fn worked_out(&mut self) -> Vec<Auto> {
        std::mem::take(&mut self.worked_out)
    }

    /// What `auto` stands for in a key that takes it; any other value as it is.
    fn without_auto(&mut self, key: &Key, value: Value) -> Value {
        let Kind::Auto(_) = key.kind else { return value };
        let Some((_, found, how)) = self.autos.iter().find(|(name, _, _)| value == AUTO && *name == key.name) else {
            return value;
        };
        let auto = Auto { key: self.path_of(key.name), value: found.clone(), how: how.clone() };
        self.worked_out.push(auto);
        found.clone()
    }

    /// The next declared key.
    ///
    /// # Errors
    /// It is missing or not allowed.
    pub fn take<T: Field>(&mut self) -> Result<T, SpecError> {
        let key = &self.keys[self.at];
        self.at += 1;
        let default = || self.defaults.get(key.name).cloned().or_else(|| key.default.json(&key.kind));
        let value = self.given(key.name).cloned().or_else(default);
        let plain = match value.map(|value| self.without_auto(key, value)) {
            Some(value) => Some(key.kind.check(&value).ok_or_else(|| self.not_allowed(key, &value))?),
            None if key.default == Default::Required => {
                return Err(SpecError::missing(self.path_of(key.name), key.kind.allowed()));
            }
            None => None,
        };
        if let Some(plain) = &plain {
            self.resolved.insert(key.name.into(), plain.json());
        }
        Ok(T::from_plain(plain).unwrap_or_else(|| panic!("{}: the declared kind does not fit the type", key.name)))
    }

    /// What was given for `name`. Null is how Python says "nothing".
    pub fn given(&self, name: &str) -> Option<&'a Value> {
        self.given.get(name).filter(|value| !value.is_null())
    }

    /// Path of this table.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Path of a key of this table.
    pub fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.into() } else { format!("{}.{name}", self.path) }
    }

    /// The error that key `name`, as read, is refused for a reason beyond its own declaration.
    pub fn refuse(&self, name: &str, allowed: impl Into<String>) -> SpecError {
        match self.given(name).or_else(|| self.resolved.get(name)) {
            Some(value) => SpecError::new(self.path_of(name), value, allowed),
            None => SpecError::missing(self.path_of(name), allowed),
        }
    }

    /// Writes `value` into the resolved spec, where a key is read in more than one step.
    pub fn set_resolved(&mut self, name: &str, value: Value) {
        self.resolved.insert(name.into(), value);
    }

    /// The table with all defaults.
    pub fn finish(self) -> Value {
        Value::Object(self.told())
    }

    /// The same, of one reader of several.
    pub fn told(self) -> Map<String, Value> {
        debug_assert_eq!(self.at, self.keys.len(), "{}: a declared key was not read", self.path);
        self.resolved
    }

    fn not_allowed(&self, key: &Key, value: &Value) -> SpecError {
        let error = SpecError::new(self.path_of(key.name), value, key.kind.allowed());
        match (key.kind, value.as_str()) {
            (Kind::Words(words), Some(word)) => error.did_you_mean(word, words.iter().copied()),
            _ => error,
        }
    }

    fn unknown(&self, name: &str, declared: &[&str]) -> SpecError {
        let allowed = match declared {
            [] => "no keys here".into(),
            [one] => format!("only the key {one}"),
            many => format!("one of the keys {}", many.join(", ")),
        };
        let nearest = declared.iter().copied();
        let error = SpecError::new(self.path_of(name), &self.given[name], allowed).did_you_mean(name, nearest);
        if error.hint.is_none() { error.undeclared() } else { error }
    }
}
