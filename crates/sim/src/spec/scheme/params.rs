//! The parameters of a scheme: from JSON to its own type, once.
//!
//! A parameter comes as JSON, from the preset as a [`Value`], or follows from the fabric; as a [`Value`] it is set in the
//! scheme's own `Config`, which checks it, and of that the scheme is made. What is told of it goes the same way back.

use serde_json::{Map, Value as Json};
use spinewise_policy::Value;
use spinewise_policy::config::{Allowed, Param, Refused};

use super::{Place, allowed, param_refused, value_of};
use crate::bank::{Chosen, Entry, Misfit};
use crate::keys::{AUTO, Auto, SpecError, tenths};
use crate::spec::presets::Preset;

/// A table of parameters, as it was given.
pub(super) struct Table<'a> {
    /// Its key.
    pub path: String,
    /// Whose parameters.
    pub entry: &'a Entry,
    pub given: &'a Map<String, Json>,
}

impl<'a> Table<'a> {
    /// What is given; null counts as not.
    fn given(&self) -> impl Iterator<Item = (&'a String, &'a Json)> {
        self.given.iter().filter(|(_, value)| !value.is_null())
    }

    fn path(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// Is the parameter to follow from the fabric, as the spec says, or else its preset?
    fn is_auto(&self, param: &Param, preset: &Preset) -> bool {
        match self.given.get(param.name).filter(|value| !value.is_null()) {
            Some(value) => value == AUTO,
            None => preset.fits,
        }
    }

    /// The parameters that follow from the fabric.
    pub(super) fn autos(&self, preset: &Preset, place: Place<'_>) -> Result<Vec<(&'static str, Auto)>, SpecError> {
        let mut found = Vec::new();
        for param in self.entry.params {
            let Some(auto) = param.auto.filter(|_| self.is_auto(param, preset)) else { continue };
            let mut value = (auto.of)(&place.facts()?);
            if let Allowed::Number { min, max } = param.allowed {
                value = value.clamp(min, max);
            }
            found.push((param.name, Auto { key: self.path(param.name), value: tenths(value), how: auto.how.into() }));
        }
        Ok(found)
    }

    /// The scheme: what is given goes before what follows from the fabric, that before what is `said` by preset and rules,
    /// and that before the scheme's own defaults. `named` is the key that names the scheme.
    pub(super) fn choose(
        &self,
        said: &[(&'static str, Value<'static>)],
        autos: &[(&'static str, Auto)],
        named: impl Fn() -> String,
    ) -> Result<Chosen, SpecError> {
        let mut set: Vec<(&str, Value<'_>)> = said.to_vec();
        set.extend(autos.iter().filter_map(|(name, auto)| Some((*name, value(&auto.value)?))));
        let before = set.len();
        for (name, given) in self.given().filter(|(name, _)| autos.iter().all(|(auto, _)| auto != name)) {
            let Some(param) = self.entry.params.iter().find(|param| param.name == name) else {
                return Err(self.unknown(name, given));
            };
            let plain = value(given);
            set.push((name, plain.ok_or_else(|| SpecError::new(self.path(name), given, allowed(param.allowed)))?));
        }
        let chosen = (self.entry.choose)(&set).map_err(|misfit| match misfit {
            Misfit::Param(at, refused) => {
                assert!(at >= before, "what Spinewise itself says of {} is allowed", self.entry.name());
                let name = set[at].0;
                match refused {
                    Refused::NotAllowed(range) => param_refused(&self.path(name), &self.given[name], range),
                    Refused::Unknown => self.unknown(name, &self.given[name]),
                }
            }
            Misfit::Failed(why) => {
                SpecError::new(named(), &self.entry.name().into(), "a scheme that can be set up").hint(why)
            }
        })?;
        match chosen.clash() {
            Some((name, range, other)) => Err(param_refused(&self.path(name), &value_of(&chosen, name), range)
                .hint(format!("{other} is {}", value_of(&chosen, other)))),
            None => Ok(chosen),
        }
    }

    fn unknown(&self, name: &str, value: &Json) -> SpecError {
        let names = || self.entry.params.iter().map(|param| param.name);
        let listed: Vec<&str> = names().collect();
        let allowed = match listed.as_slice() {
            [] => format!("no parameters: {} has none", self.entry.name()),
            _ => format!("one of the parameters of {}: {}", self.entry.name(), listed.join(", ")),
        };
        SpecError::new(self.path(name), value, allowed).did_you_mean(name, names())
    }
}

/// A value of a spec as schemes read it, unless it is a list or a table.
fn value(given: &Json) -> Option<Value<'_>> {
    match given {
        Json::Number(number) => number.as_f64().map(Value::Number),
        Json::Bool(given) => Some(Value::Bool(*given)),
        Json::String(word) => Some(Value::Word(word)),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}
