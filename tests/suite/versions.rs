//! The versions of the library: where the output of an entry changes, its version changes too
//! (`semantics.md`, 13). What was computed before is kept on disk and in checkpoints under the version, so
//! an output that changes without it would be mixed with an older one.
//!
//! `versions.txt` has a line for each example in the docs: the entry, its version, the example with the
//! versions of everything that it calls, and what it gave. Where the same example under the same versions
//! gives something else, some entry has changed without its version, and the file is not written anew.

use crate::{cases::suite, entries::examples, output, trial};
use driver::{Compiled, Loaded, Settings};
use libtest_mimic::{Failed, Trial};
use plan::{Entry, Expr, OpKind};
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::Path,
};

const FILE: &str = "versions.txt";
const HEAD: &str = "\
# What the examples of the library give: entry, example, version, hash of the example and of the versions of all
# that it calls, hash of the output. `UPDATE=1 cargo test -p tests --test suite -- versions` writes it.
";

/// The check of all entries.
pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("versions/golden", golden), trial("versions/are-noticed", noticed)]
}

/// What an example gave.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Given {
    version: u32,
    of: u64,
    output: u64,
}

/// By entry and number of the example.
type All = BTreeMap<(String, usize), Given>;

fn golden() -> Result<(), Failed> {
    let path = suite().join(FILE);
    let before = read(&fs::read_to_string(&path).unwrap_or_default());
    let now = given()?;
    let changed = changed(&before, &now);
    if !changed.is_empty() {
        return Err(format!(
            "the output of {} has changed, and no version with it: raise `version` of the entry whose output \
             is another one (in `stdlib/src`), then `UPDATE=1 cargo test -p tests --test suite -- versions`. \
             Caches and checkpoints of the old output are refused by that",
            changed.join(", ")
        )
        .into());
    }
    if before == now {
        return Ok(());
    }
    if env::var_os("UPDATE").is_none() {
        let differ = now.iter().filter(|(name, it)| before.get(name) != Some(it));
        let gone = before.keys().filter(|it| !now.contains_key(it));
        let names: Vec<&str> = differ.map(|it| it.0).chain(gone).map(|it| it.0.as_str()).collect();
        return Err(format!(
            "`tests/suite/{FILE}` is stale, of {}: UPDATE=1 cargo test -p tests --test suite -- versions \
             writes it",
            names.join(", ")
        )
        .into());
    }
    Ok(fs::write(path, written(&now))?)
}

/// The entries whose example gives something else, though neither it nor any version has changed.
fn changed(before: &All, now: &All) -> Vec<String> {
    let is_changed = |it: &(&(String, usize), &Given)| {
        before.get(it.0).is_some_and(|old| old.of == it.1.of && old.output != it.1.output)
    };
    let names: BTreeSet<_> =
        now.iter().filter(is_changed).map(|(name, _)| format!("`{}`", name.0)).collect();
    names.into_iter().collect()
}

/// An output that changes is noticed while nothing that makes it has another version.
fn noticed() -> Result<(), Failed> {
    let all =
        |of: u64, output: u64| All::from([(("f".to_owned(), 0), Given { version: 1, of, output })]);
    let found = |before: &All, now: &All| changed(before, now);
    assert_eq!(found(&all(1, 2), &all(1, 3)), ["`f`"]);
    assert!(found(&all(1, 2), &all(2, 3)).is_empty() && found(&All::new(), &all(1, 3)).is_empty());
    assert_eq!(read(&written(&all(1, 2))), all(1, 2));
    Ok(())
}

/// What all examples give now; those that make sets of pictures in the user's cache are left out.
fn given() -> Result<All, Failed> {
    let library = stdlib::library();
    let mut all = All::new();
    for entry in [library.functions, library.operators, library.sources].into_iter().flatten() {
        for (at, example) in examples(entry.doc).into_iter().enumerate() {
            if example.contains("sample:") || example.contains("extern ") {
                continue;
            }
            all.insert((entry.name().to_owned(), at), given_of(entry, &example)?);
        }
    }
    Ok(all)
}

fn given_of(entry: &Entry, example: &str) -> Result<Given, Failed> {
    let source = format!("edition 2026\npipeline example =\n{example}\n");
    let loaded = Loaded::from_text(Path::new("example.pipe"), source);
    let compiled = driver::compile(&loaded, &Settings::default())
        .map_err(|it| format!("the example of `{}` is broken: {it:?}", entry.name()))?;
    let of = format!("{example}\n{:?}", versions(&compiled));
    let output = output::hash_of(&compiled);
    Ok(Given {
        version: entry.version,
        of: plan::hash(of.as_bytes()),
        output: plan::hash(output.as_bytes()),
    })
}

/// The versions of all entries that a plan uses.
fn versions(compiled: &Compiled) -> BTreeSet<(String, u32)> {
    let library = stdlib::library();
    let ops = compiled.written.ops.rows();
    let called = ops.iter().flat_map(|it| it.graph.iter()).filter_map(|(_, expr, _)| match expr {
        Expr::Call { function, .. } => Some(function.clone()),
        _ => None,
    });
    let own = ops.iter().filter_map(|it| match &it.kind {
        OpKind::Source { entry, .. } | OpKind::Operator { entry, .. } => Some(entry.clone()),
        _ => None,
    });
    let entries = || [library.functions, library.operators, library.sources].into_iter().flatten();
    let version = |name: &str| entries().find(|it| it.name() == name).map_or(0, |it| it.version);
    called.chain(own).map(|it| (it.to_string(), version(&it))).collect()
}

fn written(all: &All) -> String {
    let lines = all.iter().map(|((name, at), Given { version, of, output })| {
        format!("{name} {at} {version} {of:016x} {output:016x}\n")
    });
    HEAD.to_owned() + &lines.collect::<String>()
}

/// What the file says; lines that say nothing are skipped, and so found to be missing.
fn read(text: &str) -> All {
    let line = |it: &str| {
        let mut words = it.split(' ');
        let name = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        let version = words.next()?.parse().ok()?;
        let mut hash = || u64::from_str_radix(words.next()?, 16).ok();
        Some((name, Given { version, of: hash()?, output: hash()? }))
    };
    text.lines().filter(|it| !it.starts_with('#')).filter_map(line).collect()
}
