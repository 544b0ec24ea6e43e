//! What a run keeps from epoch to epoch: chosen when it begins, and how much of it was used.

use super::{KeptSummary, RunOptions};
use crate::{Compiled, view};
use compiler::caches::{Candidate, Choice};
use plan::Program;
use runtime::{Cache, CachePoint, Failure, Run, Spared};
use std::sync::Arc;

/// Memory that a run needs besides what the estimate counts, in bytes: the program itself, and
/// what decoders work in.
const BASE_BYTES: f64 = 96e6;
/// How much more than the estimate all else may take.
const SLACK: f64 = 1.5;

/// A value that is kept.
pub(super) struct Kept {
    choice: Choice,
    cache: Arc<Cache>,
}

/// Bytes of `memory` that a run needs for all but what it keeps.
pub(crate) fn reserve(compiled: &Compiled, memory: u64) -> u64 {
    let needed = compiled.optimised.estimate.memory.total().value * SLACK + BASE_BYTES;
    (needed as u64).min(memory)
}

/// How often each record comes, where a run of so many epochs could keep something.
pub(super) fn passes(compiled: &Compiled, options: &RunOptions, epochs: usize) -> Option<f64> {
    let passes = view::passes(compiled, options, epochs);
    (passes >= 2.0 && reserve(compiled, options.memory) < options.memory).then_some(passes)
}

/// Chooses what is kept, and lets `run` keep it.
pub(super) fn begin(
    compiled: &Compiled,
    (run, program): (&mut Run, &Program),
    (passes, options): (f64, &RunOptions),
) -> Result<Vec<Kept>, Failure> {
    let lens = view::lens(run, program)?;
    let lock = options.lock.as_ref();
    let choices = compiled.kept(&lens, (passes, options.memory), (None, lock));
    let kept = choices.into_iter().filter(|it| it.kept);
    let kept: Vec<Kept> =
        kept.map(|it| Kept { cache: Arc::new(Cache::new(it.limit)), choice: it }).collect();
    run.keep(&kept.iter().map(Kept::point).collect::<Vec<_>>())?;
    Ok(kept)
}

/// Where the value of `candidate` is kept.
pub fn cache_point(candidate: &Candidate, cache: Arc<Cache>) -> CachePoint {
    let Candidate { stage, node, key, name, spares, .. } = candidate;
    let spared =
        spares.iter().map(|it| Spared { stage: it.stage, node: it.node, key: it.key.clone() });
    let (key, spares) = (key.clone(), spared.collect());
    CachePoint { stage: *stage, node: *node, key, name: *name, spares, cache }
}

impl Kept {
    fn point(&self) -> CachePoint {
        cache_point(&self.choice.candidate, self.cache.clone())
    }

    /// What came of it.
    pub(super) fn summary(&self) -> KeptSummary {
        let stats = self.cache.stats();
        KeptSummary {
            step: self.choice.candidate.step.clone(),
            function: self.choice.candidate.function.clone(),
            hits: stats.hits,
            misses: stats.misses,
            bytes: stats.bytes,
            limit: stats.limit,
        }
    }
}
