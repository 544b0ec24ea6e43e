//! Runs every case under `suite/`, every example, and the checks of the tree itself.
//!
//! A case is a `.pipe` file whose folder says what to do with it, and whose last comment block,
//! under `####`, is what must come out. `UPDATE=1 cargo test -p tests` writes what does come out
//! into the file.

#[path = "suite/bounded.rs"]
mod bounded;
#[path = "suite/built.rs"]
mod built;
#[path = "suite/cases.rs"]
mod cases;
#[path = "suite/decoders.rs"]
mod decoders;
#[path = "suite/entries.rs"]
mod entries;
#[path = "suite/fuzz/mod.rs"]
mod fuzz;
#[path = "suite/generated.rs"]
mod generated;
#[path = "suite/glossary.rs"]
mod glossary;
#[path = "suite/lanes.rs"]
mod lanes;
#[path = "suite/language.rs"]
mod language;
#[path = "suite/migration.rs"]
mod migration;
#[path = "suite/output.rs"]
mod output;
#[path = "suite/outside.rs"]
mod outside;
#[path = "suite/random/mod.rs"]
mod random;
#[path = "suite/storage.rs"]
mod storage;
#[path = "suite/tidy.rs"]
mod tidy;
#[path = "suite/versions.rs"]
mod versions;
#[path = "suite/windows.rs"]
mod windows;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = decoders::child().or_else(bounded::child).or_else(storage::child) {
        return code;
    }
    let mut trials = cases::trials();
    trials.extend(bounded::trials());
    trials.extend(built::trials());
    trials.extend(decoders::trials());
    trials.extend(entries::trials());
    trials.extend(generated::trials());
    trials.extend(glossary::trials());
    trials.extend(lanes::trials());
    trials.extend(language::trials());
    trials.extend(fuzz::trials());
    trials.extend(migration::trials());
    trials.extend(random::trials());
    trials.extend(storage::trials());
    trials.extend(tidy::trials());
    trials.extend(versions::trials());
    trials.extend(windows::trials());
    trials.sort_by(|a, b| a.name().cmp(b.name()));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A named check.
fn trial(
    name: impl Into<String>,
    check: impl FnOnce() -> Result<(), libtest_mimic::Failed> + Send + 'static,
) -> Trial {
    Trial::test(name, check)
}
