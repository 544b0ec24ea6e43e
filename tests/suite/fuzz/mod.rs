//! The stable loop over the fuzz targets: the repository's programs and what becomes of them when
//! they are changed at random. The same inputs every time, as many as `SLOW_TESTS` allows.
//!
//! `FUZZ=17 cargo test -p tests fuzz` runs the 17th alone.

mod mutants;
mod targets;

use crate::trial;
use libtest_mimic::{Failed, Trial};
use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};
use targets::{Seeds, TARGETS, Target};

/// Mutants of a run that is to be quick, and of one that need not.
const QUICK: u64 = 400;
const SLOW: u64 = 10_000;

/// A check for each target.
pub(crate) fn trials() -> Vec<Trial> {
    let all = TARGETS.into_iter();
    all.map(|(name, target, seeds)| trial(format!("fuzz/{name}"), move || survives(target, seeds)))
        .collect()
}

/// The stack of the thread that `pipec` checks programs on; those of tests have a quarter of it.
const STACK: usize = 8 << 20;

fn survives(target: Target, seeds: Seeds) -> Result<(), Failed> {
    let walk = thread::Builder::new().stack_size(STACK).spawn(move || walk(target, seeds));
    walk.expect("a thread can be started").join().expect("panics of targets are caught")
}

fn walk(target: Target, seeds: Seeds) -> Result<(), Failed> {
    let mut corpus = mutants::corpus();
    if corpus.len() < 20 {
        return Err(format!("the repository has {} programs", corpus.len()).into());
    }
    // As many as the programs, so that every other mutant is one of them.
    let seeds = seeds();
    let n_programs = corpus.len();
    corpus.extend(seeds.into_iter().cycle().take(n_programs));
    let whole = corpus.iter().map(|it| ("as it is".to_owned(), it.clone()));
    let number = env::var("FUZZ").ok().and_then(|it| it.parse::<u64>().ok());
    let n = if env::var_os("SLOW_TESTS").is_some() { SLOW } else { QUICK };
    let numbers = number.map_or(0..n, |it| it..it + 1);
    let mutants = numbers.map(|it| (format!("mutant {it}"), mutants::mutant(it, &corpus)));
    for (name, bytes) in whole.chain(mutants) {
        if catch_unwind(AssertUnwindSafe(|| target(&bytes))).is_err() {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            return Err(format!("{name} broke it (see above):\n{text}").into());
        }
    }
    Ok(())
}
