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

/// Records the scheme's code. If the spec names it already, it must be the same.
pub(super) fn check_same(
    reader: &mut Reader<'_>,
    entry: &Entry,
    given: Option<&Map<String, Json>>,
) -> Result<(), SpecError> {
    let Some(source) = entry.source else { return Ok(()) };
    let mut told = describe(source);
    if let Some(given) = given {
        // The same code may be in a file of another name.
        if given.get("sha256") == told.get("sha256")
            && let Some(Json::String(file)) = given.get("file").filter(|file| file.as_str() != Some(""))
        {
            told["file"] = json!(file);
        }
        if let Some((key, _)) = given.iter().find(|(key, value)| told.get(key.as_str()) != Some(value)) {
            let differs =
                if given.contains_key("sha256") && given.get("sha256") != told.get("sha256") { "sha256" } else { key };
            let allowed = told.get(differs).map_or("class, file and sha256".into(), Json::to_string);
            let error = SpecError::new(format!("{}.{differs}", reader.path_of("source")), &given[differs], allowed);
            return Err(error.hint(format!(
                "the code has changed: this spec or result is of other code than {} in {} has now; without \
                 [scheme.source] a spec runs the code as it is",
                source.class, source.file
            )));
        }
    }
    reader.set_resolved("source", told);
    Ok(())
}

fn describe(source: Source) -> Json {
    json!({ "class": source.class, "file": source.file, "sha256": source.sha256 })
}
