//! Reads one table of a spec by its declared keys, and records the resulting values.

use serde_json::{Map, Value};

use super::{AUTO, Auto, Autos, Default, Field, Key, Kind, Source, SpecError};

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
    pub(crate) fn new(
        path: &str,
        keys: &'static [Key],
        given: &'a Map<String, Value>,
    ) -> Result<Reader<'a>, SpecError> {
        Reader::split(path, [keys], given).map(|[reader]| reader)
    }

    /// Readers of a table whose keys are declared in several lists: one for each.
    ///
    /// # Errors
    /// A key that none of them declares.
    pub(crate) fn split<const N: usize>(
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

    /// Sets the preset's values for [`Default::Preset`].
    pub(crate) fn with_defaults(self, defaults: Map<String, Value>) -> Reader<'a> {
        Reader { defaults, ..self }
    }

    /// Sets the values that `auto` resolves to.
    pub(crate) fn with_autos(self, autos: Autos) -> Reader<'a> {
        Reader { autos, ..self }
    }

    /// Whether any key is to be derived.
    pub(crate) fn wants_auto(&self) -> bool {
        let autos = self.keys.iter().filter(|key| matches!(key.kind, Kind::Auto(_)));
        autos.filter_map(|key| self.wanted(key.name)).any(|value| value == AUTO)
    }

    /// Returns the given or default value of a key that is a plain value.
    pub(crate) fn wanted(&self, name: &str) -> Option<&Value> {
        self.given(name).or_else(|| self.defaults.get(name))
    }

    /// Returns the derived values, and how they were derived.
    pub(crate) fn worked_out(&mut self) -> Vec<Auto> {
        std::mem::take(&mut self.worked_out)
    }

    /// Replaces `auto` in a key that takes it; returns any other value as it is.
    fn without_auto(&mut self, key: &Key, value: Value) -> Value {
        let Kind::Auto(_) = key.kind else { return value };
        let Some((_, found, how)) = self.autos.iter().find(|(name, _, _)| value == AUTO && *name == key.name) else {
            return value;
        };
        let auto = Auto { key: self.path_of(key.name), value: found.clone(), how: how.clone() };
        self.worked_out.push(auto);
        found.clone()
    }

    /// Returns the value given for `name`. Null is how Python says "nothing".
    pub(crate) fn given(&self, name: &str) -> Option<&'a Value> {
        self.given.get(name).filter(|value| !value.is_null())
    }

    /// Path of this table.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Path of a key of this table.
    pub(crate) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.into() } else { format!("{}.{name}", self.path) }
    }

    /// The error that key `name`, as read, is refused for a reason beyond its own declaration.
    pub(crate) fn refuse(&self, name: &str, allowed: impl Into<String>) -> SpecError {
        match self.given(name).or_else(|| self.resolved.get(name)) {
            Some(value) => SpecError::new(self.path_of(name), value, allowed),
            None => SpecError::missing(self.path_of(name), allowed),
        }
    }

    /// Writes `value` into the resolved spec, where a key is read in more than one step.
    pub(crate) fn set_resolved(&mut self, name: &str, value: Value) {
        self.resolved.insert(name.into(), value);
    }

    /// The table with all defaults.
    pub(crate) fn finish(self) -> Value {
        Value::Object(self.told())
    }

    /// The same, for one of several readers.
    pub(crate) fn told(self) -> Map<String, Value> {
        debug_assert_eq!(self.at, self.keys.len(), "{}: a declared key was not read", self.path);
        self.resolved
    }

    fn not_allowed(&self, key: &Key, value: &Value) -> SpecError {
        let path = self.path_of(key.name);
        let error = SpecError::new(path.clone(), value, key.kind.allowed());
        if let Some(auto) = self.worked_out.iter().find(|auto| auto.key == path) {
            return error
                .hint(format!("\"auto\" gives this value in this fabric ({}): check its rates and delays", auto.how));
        }
        match (key.kind, value.as_str()) {
            (Kind::Words(words), Some(word)) => error.did_you_mean(word, words.iter().copied()),
            (kind, Some(text)) if kind.is_number() && text.starts_with(|c: char| c.is_ascii_digit()) => {
                error.hint("a number has no quotes and no unit")
            }
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

impl Source for Reader<'_> {
    type Error = SpecError;

    fn take<T: Field>(&mut self) -> Result<T, SpecError> {
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
}
