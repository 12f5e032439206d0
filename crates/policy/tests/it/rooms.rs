//! Who may import whom: a scheme is a file, or a file and its folder, and imports no other scheme. What several need has
//! a room of its own, in `edge/` for hosts and in `fabric/` for switches.

use std::fs;
use std::path::{Path, PathBuf};

/// The source files of `folder`, with the modules that lead to them.
fn files(folder: &Path, modules: &[String]) -> Vec<(PathBuf, Vec<String>)> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_stem().expect("a name").to_string_lossy().into_owned();
        let inside: Vec<String> = modules.iter().cloned().chain([name]).collect();
        if entry.is_dir() {
            found.extend(files(&entry, &inside));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push((entry, inside));
        }
    }
    found
}

/// The modules of the crate that code in `module` names by a path, each from the root on.
fn imports(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut found = vec![];
    for line in code.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        for (at, start) in line.match_indices("crate::").chain(line.match_indices("super::")) {
            let inside = line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == ':' || c == '_');
            if inside || line[..at].contains("//") {
                continue;
            }
            let mut rest = &line[at..];
            let mut path = if start == "crate::" { vec![] } else { module.to_vec() };
            while let Some(up) = rest.strip_prefix("super::") {
                path.pop();
                rest = up;
            }
            let rest = rest.strip_prefix("crate::").unwrap_or(rest);
            let names = rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).next().unwrap_or_default();
            path.extend(names.split("::").filter(|name| !name.is_empty()).map(String::from));
            found.push(path);
        }
    }
    found
}

#[test]
fn paths_are_read_as_the_compiler_reads_them() {
    let module = ["schemes", "selb", "source"].map(String::from);
    let code = "use super::uplinks::{A, b};\n// use crate::schemes::conga;\nuse crate::{Way, edge};\nlet x = super::super::conga::f();";
    let paths: Vec<String> = imports(code, &module).iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["schemes::selb::uplinks", "", "schemes::conga::f"]);
}

#[test]
fn no_scheme_imports_another() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut seen, mut wrong) = (0, vec![]);
    for (file, module) in files(&source.join("schemes"), &["schemes".into()]) {
        let code = fs::read_to_string(&file).expect("a source file");
        for path in imports(&code, &module) {
            seen += 1;
            if let [room, scheme, ..] = path.as_slice()
                && room == "schemes"
                && *scheme != module[1]
            {
                wrong.push(format!("{} imports {}", file.display(), path.join("::")));
            }
        }
    }
    assert!(seen > 200, "{seen} paths found in the schemes");
    assert!(wrong.is_empty(), "what schemes share belongs in edge/ or fabric/:\n{}", wrong.join("\n"));
}

#[test]
fn what_schemes_share_imports_no_scheme() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (file, module) in files(&source, &[]) {
        if module[0] == "schemes" {
            continue;
        }
        let code = fs::read_to_string(&file).expect("a source file");
        let wrong = imports(&code, &module).into_iter().find(|path| path.first().is_some_and(|room| room == "schemes"));
        assert_eq!(wrong, None, "{}", file.display());
    }
}
