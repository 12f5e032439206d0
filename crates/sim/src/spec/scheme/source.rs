//! `[scheme.source]`: a run of a scheme that is not part of Spinewise records the code it ran, and requires that same
//! code.

use serde_json::{Map, Value as Json, json};

use super::{Known, SchemeKeys};
use crate::bank::{Entry, REGISTRY, Source};
use crate::keys::{Reader, SpecError};

/// A spec that names the code of a scheme must be given it.
pub(super) fn check_given(reader: &Reader<'_>, keys: &SchemeKeys, known: Known<'_>) -> Result<(), SpecError> {
    let Some(source) = &keys.source else { return Ok(()) };
    if REGISTRY.iter().any(|entry| entry.name() == keys.name) {
        let allowed = format!("no source: {} is a scheme of the registry", keys.name);
        return Err(reader.refuse("source", allowed));
    }
    if known.guests.iter().any(|entry| entry.name() == keys.name) {
        return Ok(());
    }
    let word = |key: &str| source.get(key).and_then(Json::as_str).unwrap_or("?");
    let allowed = format!("a scheme supplied with the spec: the class {} of {}", word("class"), word("file"));
    let hint = format!(
        "this spec ran a user-written scheme (SHA-256 {}): supply it with scheme=, or with --scheme-file {}:{}",
        word("sha256"),
        word("file"),
        word("class")
    );
    Err(reader.refuse("name", allowed).hint(hint))
}

/// Writes down whose code it is. If the spec says that already, it must be the same.
pub(super) fn check_same(
    reader: &mut Reader<'_>,
    entry: &Entry,
    given: Option<&Map<String, Json>>,
) -> Result<(), SpecError> {
    let Some(source) = entry.source else { return Ok(()) };
    let told = describe(source);
    let mut told_now = told.clone();
    if let Some(given) = given {
        let differs = |(key, value): &(&String, &Json)| told.get(key.as_str()) != Some(*value);
        // The same code may lie in a file of another name.
        let is_same = given.get("sha256") == told.get("sha256");
        let differing = given.iter().find(|one| differs(one) && !(is_same && *one.0 == "file"));
        if let Some((key, _)) = given.get_key_value("sha256").filter(differs).or(differing) {
            let allowed = told.get(key).map_or("class, file and sha256".into(), Json::to_string);
            let error = SpecError::new(format!("{}.{key}", reader.path_of("source")), &given[key], allowed);
            return Err(error.hint(format!(
                "the code has changed: this spec or result is of other code than {} in {} has now; without \
                 [scheme.source] a spec runs the code as it is",
                source.class, source.file
            )));
        }
        if is_same {
            told_now = Json::Object(given.clone());
        }
    }
    reader.set_resolved("source", told_now);
    Ok(())
}

fn describe(source: Source) -> Json {
    json!({ "class": source.class, "file": source.file, "sha256": source.sha256 })
}
