//! The tree itself: arrows between crates and modules, files listed, files short, generated files fresh.

#[path = "tidy/layers.rs"]
mod layers;
#[path = "tidy/names.rs"]
mod names;
#[path = "tidy/storage.rs"]
mod storage;

use crate::{cases::suite, trial};
use libtest_mimic::{Failed, Trial};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Lines of a file without its tests.
const LINES_MAX: usize = 600;

/// What each crate may depend on, of the crates of this workspace.
const ARROWS: [(&str, &[&str]); 15] = [
    ("plan", &[]),
    ("model", &[]),
    ("safe_file", &[]),
    ("codegen", &["plan"]),
    ("compiler", &["plan", "model"]),
    ("runtime", &["plan", "safe_file", "model", "codegen"]),
    ("jpeg", &[]),
    ("webp", &[]),
    ("stdlib", &["plan", "safe_file", "runtime", "jpeg", "webp"]),
    ("sample", &["safe_file"]),
    ("driver", &["plan", "safe_file", "model", "compiler", "runtime", "stdlib", "sample"]),
    ("lsp", &["plan", "compiler", "stdlib", "driver"]),
    ("pipec", &["plan", "model", "runtime", "sample", "driver", "lsp"]),
    ("tests", &["plan", "model", "compiler", "runtime", "stdlib", "driver", "lsp"]),
    ("benches", &["plan", "model", "compiler", "runtime", "stdlib", "driver", "jpeg", "sample"]),
];

/// The checks of the tree.
pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("tidy/arrows-run-downward", arrows),
        trial("tidy/layers-of-the-compiler-have-no-circle", layers::of_compiler),
        trial("tidy/layers-of-the-driver-have-no-circle", layers::of_driver),
        trial("tidy/entries-are-not-known-by-name", names::unnamed),
        trial("tidy/data-are-opened-by-storages-alone", storage::alone),
        trial("tidy/every-library-file-is-listed", listed),
        trial("tidy/no-file-is-long", short),
        trial("tidy/every-code-is-told-once", codes),
        trial("tidy/nothing-is-both-here-and-later", later),
        trial("tidy/every-unsafe-function-says-what-it-asks", obligations),
        trial("tidy/every-experiment-has-its-tests", experiments),
        trial("tidy/cargo-run-is-pipec", run_by_default),
        trial("tidy/both-lock-files-name-the-same-versions", same_versions),
    ]
}

fn root() -> PathBuf {
    suite().join("../..")
}

/// The first command of the README needs one executable among the members that are built by default.
fn run_by_default() -> Result<(), Failed> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let list = manifest.split_once("\ndefault-members = [").and_then(|it| it.1.split_once(']'));
    let members = list.ok_or("the workspace has no `default-members`")?.0.split(',');
    let members = members.map(|it| it.trim().trim_matches('"'));
    let has_main = |it: &&str| {
        let folder = root().join(it);
        ["main.rs", "src/main.rs", "src/bin"].iter().any(|it| folder.join(it).exists())
    };
    let runs: Vec<&str> = members.filter(has_main).collect();
    if runs == ["pipec"] { Ok(()) } else { Err(format!("`cargo run` is one of {runs:?}").into()) }
}

/// The Python package is tested with what was built for the tests here, which another version would be
/// built anew for: `cp Cargo.lock python/ && cargo metadata --manifest-path python/Cargo.toml`.
fn same_versions() -> Result<(), Failed> {
    let named = |file: &str| -> Result<BTreeMap<String, BTreeSet<String>>, Failed> {
        let text = fs::read_to_string(root().join(file))?;
        let packages = text.split("[[package]]\n").skip(1);
        let id = |it: &str| {
            let mut lines = it.lines();
            Some((lines.next()?.to_owned(), lines.next()?.to_owned()))
        };
        let mut versions = BTreeMap::<String, BTreeSet<String>>::new();
        for (name, version) in packages.filter_map(id) {
            versions.entry(name).or_default().insert(version);
        }
        Ok(versions)
    };
    let (here, there) = (named("Cargo.lock")?, named("python/Cargo.lock")?);
    // What is for tests alone may need another version as well.
    let differ = |(name, versions): &(&String, &BTreeSet<String>)| {
        here.get(*name).is_some_and(|it| !it.is_superset(versions))
    };
    let other: Vec<_> = there.iter().filter(differ).collect();
    if other.is_empty() { Ok(()) } else { Err(format!("python/Cargo.lock has {other:?}").into()) }
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

/// What a caller has to see to. Clippy's `missing_safety_doc` would ask the same of private
/// functions, but of safe ones too that are compiled for some processors only.
fn obligations() -> Result<(), Failed> {
    let mut silent = Vec::new();
    // These are workspaces of their own.
    for name in ARROWS.iter().map(|it| it.0).chain(["editor", "fuzz", "python"]) {
        for file in rust_files(&root().join(name)) {
            let text = fs::read_to_string(&file)?;
            silent.extend(unsafe_without_doc(&text).map(|it| format!("{}:{it}", file.display())));
        }
    }
    if silent.is_empty() {
        return Ok(());
    }
    Err(format!("unsafe functions whose docs lack `# Safety`:\n{}", silent.join("\n")).into())
}

/// The lines of unsafe functions whose docs have no such section. A trait has it for the methods
/// of its implementations.
fn unsafe_without_doc(text: &str) -> impl Iterator<Item = usize> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    // The last line of an implementation of a trait, or of a block of foreign functions.
    let mut end = None;
    for (i, &line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let is_impl =
            code.trim_start_matches("unsafe ").starts_with("impl") && code.contains(" for ");
        let is_foreign = code.starts_with("unsafe extern ") && !code.contains("fn ");
        if end.is_none() && (is_impl || is_foreign) && !code.ends_with('}') {
            end = Some(format!("{}}}", &line[..line.len() - code.len()]));
        }
        if end.as_deref() == Some(line) {
            end = None;
        }
        let above = lines[..i].iter().rev().map(|it| it.trim_start());
        let mut doc = above.take_while(|it| {
            it.starts_with("//") || !(it.is_empty() || it.ends_with(['{', '}', ';']))
        });
        if end.is_none() && is_unsafe_function(code) && !doc.any(|it| it == "/// # Safety") {
            found.push(i + 1);
        }
    }
    found.into_iter()
}

/// Whether a line begins one; the type of one has no name.
fn is_unsafe_function(code: &str) -> bool {
    let Some((before, after)) = code.split_once("unsafe ") else { return false };
    let Some((abi, _)) = after.split_once("fn ") else { return false };
    let is_modifier = |it: &str| it.starts_with("pub") || it == "const" || it == "$vis";
    before.split(' ').all(|it| it.is_empty() || is_modifier(it))
        && (abi.is_empty() || abi.starts_with("extern "))
}

/// The table of `docs/SECURITY.md` names tests that are there.
fn experiments() -> Result<(), Failed> {
    let text = fs::read_to_string(root().join("docs/SECURITY.md"))?;
    let (_, table) = text.split_once("## What is tested").ok_or("the table is not there")?;
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

/// What these files hold besides comments and tests, which files of their own may be.
fn code(files: &[PathBuf]) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut tests = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap_or_default();
        let is_main =
            ["lib", "mod"].map(Some).contains(&file.file_stem().and_then(|it| it.to_str()));
        let beside = if is_main { file.with_file_name("") } else { file.with_extension("") };
        let mut code = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line != "#[cfg(test)]" {
                let is_comment = line.trim_start().starts_with("//");
                code.extend([if is_comment { "" } else { line }, "\n"]);
                continue;
            }
            let item = lines.next().unwrap_or_default();
            match item.split_once("mod ").and_then(|it| it.1.strip_suffix(';')) {
                Some(module) => tests.push(beside.join(module)),
                None if item.ends_with('{') => drop(lines.find(|it| *it == "}")),
                None => {}
            }
        }
        found.insert(file.clone(), code);
    }
    found.retain(|file, _| !tests.iter().any(|it| file.with_extension("").starts_with(it)));
    found
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
