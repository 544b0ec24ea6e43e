//! The glossary: the places that it names are there, and retired words stand in no text that users read.

use crate::{cases::suite, trial};
use libtest_mimic::{Failed, Trial};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What users read: pages, the help of the command line, what `explain` prints, and messages.
const TEXTS: [&str; 58] = [
    "README.md",
    "docs/ARCHITECTURE.md",
    "docs/COOKBOOK.md",
    "docs/LANGUAGE.md",
    "docs/MODEL.md",
    "docs/OPERATORS.md",
    "docs/OUTPUT.md",
    "docs/TYPES.md",
    "docs/STORES.md",
    "docs/PLANS.md",
    "docs/PYTHON.md",
    "docs/SECURITY.md",
    "docs/SEMANTICS.md",
    "docs/TUTORIAL.md",
    "python/README.md",
    "pipec/src/args.rs",
    "pipec/src/args",
    "compiler/src/errors",
    "compiler/src/errors/check",
    "compiler/src/errors/syntax",
    "compiler/src/lower",
    "compiler/src/migration",
    "compiler/src/passes",
    "compiler/src/verify",
    "driver/src/session",
    "driver/src/session/host",
    "driver/src/session/run",
    "driver/src/session/sink",
    "driver/src/session/sink/folder",
    "driver/src/session/store",
    "driver/src/tools",
    "driver/src/tools/calibrate",
    "driver/src/tools/peek",
    "driver/src/tools/reference",
    "driver/src/tools/verify",
    "model/src/what_if.rs",
    "pipec/src/commands",
    "pipec/src/commands/run",
    "python/src",
    "runtime/src",
    "runtime/src/cache",
    "runtime/src/eval",
    "runtime/src/executor",
    "sample/src",
    "stdlib/pipe",
    "stdlib/src",
    "stdlib/src/listing",
    "stdlib/src/operators",
    "stdlib/src/operators/batch",
    "stdlib/src/records",
    "stdlib/src/functions/codec",
    "stdlib/src/functions/foreign",
    "stdlib/src/functions/image",
    "stdlib/src/functions/random",
    "stdlib/src/functions/tensor",
    "stdlib/src/functions/text",
    "stdlib/src/sources",
    "tests/suite/explain",
];

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("glossary/places-are-there", places),
        trial("glossary/retired-words-are-not-used", retired),
    ]
}

fn root() -> PathBuf {
    suite().join("../..")
}

/// A cell of each row, by its number: what stands between backticks.
fn column(number: usize) -> Result<Vec<String>, Failed> {
    let page = fs::read_to_string(root().join("docs/GLOSSARY.md"))?;
    let rows = page.lines().filter(|it| it.starts_with("| ")).skip(1);
    let cells = rows.filter_map(|it| it.split('|').nth(number));
    let quoted = cells.flat_map(|it| it.split('`').skip(1).step_by(2));
    Ok(quoted.map(str::to_owned).collect())
}

fn places() -> Result<(), Failed> {
    let gone = |it: &&String| !root().join(it).exists();
    match column(3)?.iter().find(gone) {
        Some(gone) => Err(format!("docs/GLOSSARY.md: there is no {gone}").into()),
        None => Ok(()),
    }
}

fn retired() -> Result<(), Failed> {
    let words = column(4)?;
    assert!(words.len() > 10, "{words:?}");
    for (path, text) in texts()? {
        for (number, line) in text.lines().enumerate() {
            // Flags and passes are still accepted under their former names.
            let accepted = ["alias = ", "formerly: "].iter().any(|it| line.contains(it));
            let accepted = accepted || is_comment(&path, line);
            if let Some(word) = words.iter().find(|it| !accepted && stands(line, it)) {
                let at = format!("{}:{}", path.display(), number + 1);
                return Err(format!("{at}: `{word}` is retired, see docs/GLOSSARY.md").into());
            }
        }
    }
    Ok(())
}

/// Whether a line of code is for those who work on it; `///` becomes help in `pipec/src/args`.
fn is_comment(path: &Path, line: &str) -> bool {
    let is_help = path.to_string_lossy().contains("pipec/src/args");
    line.trim_start().starts_with("//") && !(is_help && line.trim_start().starts_with("/// "))
}

fn texts() -> Result<Vec<(PathBuf, String)>, Failed> {
    let mut all = Vec::new();
    for path in TEXTS.map(|it| root().join(it)) {
        let files = if path.is_dir() { below(&path)? } else { vec![path] };
        for file in files {
            let text = fs::read_to_string(&file)?;
            let read = text.split("#[cfg(test)]").next().unwrap_or_default();
            all.push((file, read.to_owned()));
        }
    }
    Ok(all)
}

fn below(folder: &Path) -> Result<Vec<PathBuf>, Failed> {
    let all = fs::read_dir(folder)?.map(|it| it.map(|it| it.path()));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    Ok(all.into_iter().filter(|it| it.is_file()).collect())
}

/// Whether a word stands in a line, and not within a longer one.
fn stands(line: &str, word: &str) -> bool {
    let is_word = |it: Option<char>| it.is_some_and(|it| it.is_alphanumeric() || "-_".contains(it));
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !is_word(before.chars().next_back()) && !is_word(after.chars().next())
    })
}
