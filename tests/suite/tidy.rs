//! The tree itself: arrows between crates, files listed, files short, generated files fresh.

use crate::{cases::suite, trial};
use libtest_mimic::{Failed, Trial};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Lines of a file without its tests.
const LINES_MAX: usize = 600;

/// What each crate may depend on, of the crates of this workspace.
const ARROWS: [(&str, &[&str]); 14] = [
    ("plan", &[]),
    ("model", &[]),
    ("safe_file", &[]),
    ("codegen", &["plan"]),
    ("compiler", &["plan", "model"]),
    ("runtime", &["plan", "safe_file", "model", "codegen"]),
    ("jpeg", &[]),
    ("stdlib", &["plan", "runtime", "jpeg"]),
    ("sample", &["safe_file"]),
    ("driver", &["plan", "safe_file", "model", "compiler", "runtime", "stdlib", "sample"]),
    ("lsp", &["plan", "compiler", "stdlib", "driver"]),
    ("pipec", &["plan", "model", "runtime", "sample", "driver", "lsp"]),
    ("tests", &["plan", "model", "compiler", "runtime", "stdlib", "driver", "lsp"]),
    ("benches", &["plan", "model", "compiler", "runtime", "stdlib", "driver", "jpeg"]),
];

/// The checks of the tree.
pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("tidy/arrows-run-downward", arrows),
        trial("tidy/every-library-file-is-listed", listed),
        trial("tidy/no-file-is-long", short),
        trial("tidy/every-code-is-told-once", codes),
        trial("tidy/nothing-is-both-here-and-later", later),
        trial("tidy/every-experiment-has-its-tests", experiments),
    ]
}

fn root() -> PathBuf {
    suite().join("../..")
}

fn arrows() -> Result<(), Failed> {
    let all: Vec<&str> = ARROWS.iter().map(|it| it.0).collect();
    for (name, allowed) in ARROWS {
        let manifest = fs::read_to_string(root().join(name).join("Cargo.toml"))?;
        for line in manifest.lines() {
            let Some((found, _)) = line.split_once(".workspace = true") else { continue };
            if all.contains(&found) && !allowed.contains(&found) {
                return Err(format!("`{name}` must not depend on `{found}`").into());
            }
        }
    }
    Ok(())
}

/// A file that is not listed would silently not be compiled.
fn listed() -> Result<(), Failed> {
    for file in rust_files(&root().join("stdlib/src/functions")) {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = file.parent().unwrap_or(Path::new(""));
        let beside = folder.join("mod.rs");
        let above = folder.with_extension("rs");
        let list = if beside.exists() { beside } else { above };
        if stem == "mod" || file == list {
            continue;
        }
        let text = fs::read_to_string(&list).unwrap_or_default();
        if !text.contains(&format!("mod {stem};")) {
            return Err(format!("{} does not name `{stem}`", list.display()).into());
        }
    }
    Ok(())
}

fn short() -> Result<(), Failed> {
    let mut long = Vec::new();
    // `python` is a workspace of its own.
    for name in ARROWS.iter().map(|it| it.0).chain(["python"]) {
        for file in rust_files(&root().join(name)) {
            let text = fs::read_to_string(&file)?;
            let lines = text.lines().take_while(|it| *it != "#[cfg(test)]").count();
            if lines > LINES_MAX {
                long.push(format!("{}: {lines} lines", file.display()));
            }
        }
    }
    if long.is_empty() { Ok(()) } else { Err(long.join("\n").into()) }
}

fn codes() -> Result<(), Failed> {
    let mut names = BTreeMap::new();
    for code in driver::codes() {
        if let Some(other) = names.insert(code.id, code.name) {
            return Err(format!("{} is `{other}` and `{}`", code.id, code.name).into());
        }
        if code.long.trim().is_empty() {
            return Err(format!("{} has no story", code.id).into());
        }
    }
    Ok(())
}

fn later() -> Result<(), Failed> {
    let library = stdlib::library();
    let all = [library.functions, library.operators, library.sources];
    let both = |name: &str| all.iter().any(|it| it.iter().any(|it| it.name() == name));
    match library.later.iter().find(|it| both(it.0)) {
        Some((name, _)) => Err(format!("`{name}` is here").into()),
        None => Ok(()),
    }
}

/// The table of `docs/SECURITY.md` names tests that are there.
fn experiments() -> Result<(), Failed> {
    let text = fs::read_to_string(root().join("docs/SECURITY.md"))?;
    let (_, table) = text.split_once("## What is tried").ok_or("the table is not there")?;
    let rows: Vec<&str> = table
        .lines()
        .take_while(|it| !it.starts_with("## "))
        .filter(|it| it.ends_with("` |"))
        .collect();
    for row in &rows {
        let tests = row.rsplit(" | ").next().unwrap_or_default().trim_end_matches(" |");
        for test in tests.split(", ").map(|it| it.trim_matches('`')) {
            let (file, name) = test.split_once("::").unwrap_or((test, ""));
            let text = fs::read_to_string(root().join(file)).unwrap_or_default();
            if text.is_empty() || !(name.is_empty() || text.contains(&format!("fn {name}("))) {
                return Err(format!("there is no test `{test}`: {row}").into());
            }
        }
    }
    // There may be more of them, and never fewer.
    if rows.len() < 42 { Err(format!("only {} kinds", rows.len()).into()) } else { Ok(()) }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && path.file_name().is_some_and(|it| it != "target") {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
