//! The stable loop over the fuzz targets: the repository's programs and what becomes of them when
//! they are changed at random. The same inputs every time, as many as `SLOW_TESTS` allows.
//!
//! `FUZZ=17 cargo test -p tests fuzz` runs the 17th alone. `FUZZ_SEEDS=DIR` writes what the mutants of each
//! target are made of to `DIR/TARGET/`: what cargo-fuzz begins with.

mod mutants;
pub(crate) mod targets;

use crate::trial;
use libtest_mimic::{Failed, Trial};
use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    thread,
};
use targets::{Seeds, TARGETS, Target};

/// Mutants of a run that is to be quick, and of one that need not.
const QUICK: u64 = 400;
const SLOW: u64 = 10_000;
/// Targets of which a mutant takes as long as ten of others: a tenth as many are tried.
const DEAR: [&str; 2] = ["classes", "editor"];

/// A check for each target.
pub(crate) fn trials() -> Vec<Trial> {
    let all = TARGETS.into_iter();
    all.map(|it| trial(format!("fuzz/{}", it.0), move || survives(it))).collect()
}

/// The stack of the thread that `pipec` checks programs on; those of tests have a quarter of it.
const STACK: usize = 8 << 20;

/// A name, a target, and what its mutants are made of.
type Named = (&'static str, Target, Seeds);

fn survives(named: Named) -> Result<(), Failed> {
    let walk = thread::Builder::new().stack_size(STACK).spawn(move || walk(named));
    walk.expect("a thread can be started").join().expect("panics of targets are caught")
}

fn walk((name, target, seeds): Named) -> Result<(), Failed> {
    let (corpus, most) = corpus(seeds())?;
    if let Some(folder) = env::var_os("FUZZ_SEEDS") {
        let folder = PathBuf::from(folder).join(name);
        fs::create_dir_all(&folder)?;
        for (number, seed) in corpus.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:04}")), seed)?;
        }
    }
    let whole = corpus.iter().map(|it| ("as it is".to_owned(), it.clone()));
    let number = env::var("FUZZ").ok().and_then(|it| it.parse::<u64>().ok());
    let n = if env::var_os("SLOW_TESTS").is_some() { SLOW } else { QUICK };
    let n = if DEAR.contains(&name) { n / 10 } else { n };
    let numbers = number.map_or(0..n, |it| it..it + 1);
    let mutants = numbers.map(|it| (format!("mutant {it}"), mutants::mutant(it, (&corpus, most))));
    for (name, bytes) in whole.chain(mutants) {
        if catch_unwind(AssertUnwindSafe(|| target(&bytes))).is_err() {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            return Err(format!("{name} broke it (see above):\n{text}").into());
        }
    }
    Ok(())
}

/// What mutants are made of, and the bytes that one has at the most.
fn corpus(seeds: Vec<Vec<u8>>) -> Result<(Vec<Vec<u8>>, usize), Failed> {
    if !seeds.is_empty() {
        let longest = seeds.iter().map(Vec::len).max().unwrap_or_default();
        return Ok((seeds, longest + mutants::BYTES_MAX));
    }
    let programs = mutants::corpus();
    if programs.len() < 20 {
        return Err(format!("the repository has {} programs", programs.len()).into());
    }
    Ok((programs, mutants::BYTES_MAX))
}
