//! The library: every entry's signature is read, its example runs, its name is listed; every
//! message's wrong example gives that message.

use crate::{
    cases::{buildable, line, suite},
    output, trial,
};
use driver::{Loaded, Settings};
use libtest_mimic::{Failed, Trial};
use plan::Entry;
use std::{collections::BTreeSet, fs, path::Path};

/// A check for each example in the docs of an entry, and for each code.
pub(crate) fn trials() -> Vec<Trial> {
    let library = stdlib::library();
    let all = [library.functions, library.operators, library.sources];
    let mut trials = Vec::new();
    for entry in all.into_iter().flatten() {
        for (i, example) in examples(entry.doc).into_iter().enumerate() {
            let name = format!("doc/{}/{i}", entry.name());
            trials.push(trial(name, move || check_example(&example)));
        }
        trials.push(trial(format!("doc/{}", entry.name()), move || documented(entry)));
    }
    trials.push(trial("doc/fault-kinds", fault_kinds));
    trials.push(trial("doc/failure-kinds", failure_kinds));
    for code in driver::codes() {
        trials.push(trial(format!("codes/{}", code.id), move || check_code(code.id, code.long)));
    }
    trials
}

/// Every kind of fault that the code makes, and no other, is in the table that `pipec explain` shows.
fn fault_kinds() -> Result<(), Failed> {
    let known: BTreeSet<&str> = driver::reference::FAULT_KINDS.iter().map(|it| it.name).collect();
    let mut made = BTreeSet::new();
    for folder in ["runtime/src", "stdlib/src", "driver/src", "python/src"] {
        kinds_made(&suite().join("../..").join(folder), &mut made)?;
    }
    let made: BTreeSet<&str> = made.iter().map(String::as_str).collect();
    let (missing, gone): (Vec<_>, Vec<_>) =
        (made.difference(&known).collect(), known.difference(&made).collect());
    match missing.is_empty() && gone.is_empty() {
        true => Ok(()),
        false => {
            Err(format!("faults.rs lacks {missing:?}, and has {gone:?} that nothing makes").into())
        }
    }
}

/// Every code of an exception in Python that is no kind of fault is in the table that `pipec explain` shows.
fn failure_kinds() -> Result<(), Failed> {
    let text = fs::read_to_string(suite().join("../../python/src/errors.rs"))?;
    let made = text.split("Error\", \"").skip(1).filter_map(|it| it.split('"').next());
    let made: BTreeSet<&str> = made.collect();
    let known: BTreeSet<&str> = driver::reference::FAILURE_KINDS.iter().map(|it| it.name).collect();
    if made == known { Ok(()) } else { Err(format!("{made:?} are made, {known:?} known").into()) }
}

/// The first arguments of `Fault::new` in the files below `folder`, without those of tests.
fn kinds_made(folder: &Path, made: &mut BTreeSet<String>) -> Result<(), Failed> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "tests" {
            kinds_made(&path, made)?;
        } else if name.to_string_lossy().ends_with(".rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path)?;
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            // `RecordFault::new` takes a message first.
            let calls = text.split("Fault::new(").collect::<Vec<_>>();
            let calls = calls.windows(2).filter(|it| !it[0].ends_with("Record")).map(|it| it[1]);
            let first = calls.filter_map(|it| it.trim_start().strip_prefix('"')?.split('"').next());
            made.extend(first.map(str::to_owned));
        }
    }
    Ok(())
}

/// An entry says what it is, shows how it is called, and has a signature that can be read.
fn documented(entry: &Entry) -> Result<(), Failed> {
    compiler::syntax::parse_signature(entry.signature).map_err(|it| format!("{it:?}"))?;
    if entry.summary().is_empty() || !entry.doc.contains("```pipe") {
        return Err(format!("`{}` lacks a summary or an example", entry.name()).into());
    }
    Ok(())
}

/// The `pipe` blocks of a doc that can be run.
pub(crate) fn examples(doc: &str) -> Vec<String> {
    let blocks = doc.split("```pipe\n").skip(1);
    blocks.filter_map(|it| it.split_once("```")).map(|(it, _)| it.trim().to_owned()).collect()
}

/// The comment at the end of an example states the type of the record that leaves it.
fn check_example(example: &str) -> Result<(), Failed> {
    let source = format!("edition 2026\npipeline example =\n{example}\n");
    let loaded = Loaded::from_text(Path::new("example.pipe"), source);
    let compiled = driver::compile(&loaded, &Settings::default())
        .map_err(|all| all.iter().map(|it| line(&loaded.files, it)).collect::<String>())?;
    buildable(&compiled)?;
    let stated = example.rsplit('#').next().map(str::trim).unwrap_or_default();
    let fields: Vec<String> = compiled.program.output.iter().map(ToString::to_string).collect();
    let found = format!("{{ {} }}", fields.join(", "));
    if stated != found {
        return Err(format!("states {stated}, is {found}").into());
    }
    if example.contains("sample:") || example.contains("extern ") {
        // Making the set is the driver's work, and fills the user's cache; what is outside is not here.
        return Ok(());
    }
    let output = output::of(&compiled)?;
    if output.contains("failed:") { Err(output.into()) } else { Ok(()) }
}

/// From this code on they are of what is allowed and seldom meant.
const LINTS: &str = "PC0400";

/// The wrong example of a code gives that code and no other, the right one none.
fn check_code(id: &str, long: &str) -> Result<(), Failed> {
    let Some((_, rest)) = long.split_once("\n\nWrong:\n\n") else { return Ok(()) };
    let (wrong, right) =
        rest.split_once("\n\nRight:\n\n").ok_or("a wrong example has a right one")?;
    let codes = |text: &str| {
        let text: String = text.lines().map(|it| format!("{}\n", it.trim_start())).collect();
        let loaded = Loaded::from_text(Path::new("example.pipe"), text);
        let mut found = driver::check(&loaded, &Settings::default());
        if id >= LINTS {
            found.extend(driver::lint(&loaded, &Settings::default()));
        }
        let codes: Vec<&str> = found.iter().map(|it| it.code.id).collect();
        let shown: String = found.iter().map(|it| line(&loaded.files, it)).collect();
        (codes, shown)
    };
    let (found, shown) = codes(wrong);
    // A slip of the pen may leave a program in which more is wrong; a wrong meaning is one mistake.
    let slip = id < "PC0100" && found.contains(&id);
    if !slip && (found.is_empty() || found.iter().any(|it| *it != id)) {
        return Err(format!("the wrong example gives:\n{shown}").into());
    }
    // The right example may name what is not there.
    let (found, shown) = codes(right);
    let fine = found.iter().all(|it| ["PC0136", "PC0201", "PC0207"].contains(it)) || id < "PC0100";
    if fine && !found.contains(&id) {
        Ok(())
    } else {
        Err(format!("the right example gives:\n{shown}").into())
    }
}
