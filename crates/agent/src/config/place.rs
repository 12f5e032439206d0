//! Where in a configuration a value has the wrong type: serde_json tells line and column, and this finds the key.

/// What is wrong in a text, with the key of a value of the wrong type and what is allowed there.
pub(super) fn words(text: &str, error: &serde_json::Error) -> String {
    /// The types of keys, and what they allow.
    const TYPES: [(&str, &str); 6] = [
        ("expected u8", "expected a whole number, 0 to 255"),
        ("expected u16", "expected a whole number, 0 to 65535"),
        ("expected u32", "expected a whole number, 0 to 4294967295"),
        ("expected u64", "expected a whole number, 0 to 18446744073709551615"),
        ("expected f64", "expected a number"),
        ("expected a boolean", "expected true or false"),
    ];
    let said = error.to_string();
    if !said.starts_with("invalid ") {
        return said;
    }
    let of_type = TYPES.iter().find(|(name, _)| said.contains(&format!("{name} at ")));
    let said = of_type.map_or(said.clone(), |(name, allowed)| said.replace(name, allowed));
    match key(read_so_far(text, error)) {
        key if key.is_empty() => said,
        key => format!("{key}: {said}"),
    }
}

/// The text up to an error.
fn read_so_far<'a>(text: &'a str, error: &serde_json::Error) -> &'a str {
    let line = error.line().saturating_sub(1);
    let before: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    // A column counts bytes, and may be inside a character.
    (0..=before + error.column()).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}

/// The key of the last value in a text that ends within or just after it, as in `hosts[1].rack`.
fn key(text: &str) -> String {
    // One level for each bracket that is open: the current key of an object, or the index in a list.
    let mut levels: Vec<(String, bool)> = Vec::new();
    // A table or list that begins where the text ends is itself the value.
    let mut rest = text.trim_end().trim_end_matches(['{', '[']).chars();
    let mut word = String::new();
    while let Some(found) = rest.next() {
        match found {
            '"' => {
                word.clear();
                while let Some(inner) = rest.next() {
                    match inner {
                        '"' => break,
                        '\\' => word.extend(rest.next()),
                        other => word.push(other),
                    }
                }
            }
            ':' => levels.iter_mut().last().into_iter().for_each(|level| level.0.clone_from(&word)),
            '{' => levels.push((String::new(), false)),
            '[' => levels.push(("0".to_owned(), true)),
            '}' | ']' => drop(levels.pop()),
            ',' => {
                if let Some((index, true)) = levels.last_mut() {
                    *index = index.parse::<usize>().map_or(0, |index| index + 1).to_string();
                }
            }
            _ => {}
        }
    }
    levels.iter().fold(String::new(), |path, (name, is_index)| match (is_index, path.is_empty()) {
        (true, _) => format!("{path}[{name}]"),
        (false, true) => name.clone(),
        (false, false) => format!("{path}.{name}"),
    })
}
