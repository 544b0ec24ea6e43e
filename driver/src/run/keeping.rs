//! What a run keeps from epoch to epoch: chosen when it begins, and how much of it was used.

use super::{KeptSummary, RunOptions};
use crate::Compiled;
use compiler::caches::{Candidate, Choice, Occasion, candidates, choose};
use plan::{Code, Program, StageId};
use runtime::{Cache, CachePoint, Failure, Run, Spared};
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// Memory that a run needs besides what the estimate counts, in bytes: the program itself, and
/// what decoders work in.
const BASE_BYTES: f64 = 96e6;
/// How much more than the estimate all else may take.
const SLACK: f64 = 1.5;

/// What could be kept.
pub(super) struct Keeping {
    candidates: Vec<Candidate>,
    passes: f64,
    /// Bytes that may be taken.
    pub(super) room: u64,
}

/// A value that is kept.
pub(super) struct Kept {
    choice: Choice,
    cache: Arc<Cache>,
}

/// What a run of `epochs` could keep; none where nothing comes twice.
pub(super) fn plan(
    compiled: &Compiled,
    options: &RunOptions,
    epochs: &Range<u32>,
) -> Option<Keeping> {
    let passes = epochs.len() as f64 * laps(&compiled.program);
    if !options.caches || passes < 2.0 {
        return None;
    }
    let found = candidates(&compiled.optimised.plan, &stdlib::library(), None).ok()?;
    let candidates: Vec<_> = found.into_iter().filter(|it| it.refused.is_none()).collect();
    let needed = compiled.optimised.estimate.memory.total().value * SLACK + BASE_BYTES;
    let room = options.memory.saturating_sub(needed as u64);
    (!candidates.is_empty() && room > 0).then_some(Keeping { candidates, passes, room })
}

/// How often the source that is repeated most is passed through in an epoch.
fn laps(program: &Program) -> f64 {
    let laps = program.stages.iter().filter_map(|(_, it)| match it.code {
        Code::Source { laps, .. } => Some(laps.map_or(f64::INFINITY, |it| it as f64)),
        _ => None,
    });
    laps.fold(1.0, f64::max)
}

impl Keeping {
    /// Chooses, and lets `run` keep what was chosen.
    pub(super) fn begin(self, run: &mut Run, program: &Program) -> Result<Vec<Kept>, Failure> {
        let sources =
            program.stages.iter().filter(|(_, it)| matches!(it.code, Code::Source { .. }));
        let lens = sources.map(|it| it.0).zip(run.pass_lens()?);
        let pass_lens: BTreeMap<StageId, u64> =
            lens.filter_map(|(id, len)| Some((id, len?))).collect();
        let occasion = Occasion { pass_lens, passes: self.passes, room: self.room };
        let chosen = choose(self.candidates, &occasion).into_iter().filter(|it| it.kept);
        let kept: Vec<Kept> = chosen
            .map(|choice| Kept { cache: Arc::new(Cache::new(choice.limit)), choice })
            .collect();
        run.keep(&kept.iter().map(Kept::point).collect::<Vec<_>>())?;
        Ok(kept)
    }
}

impl Kept {
    fn point(&self) -> CachePoint {
        let Candidate { stage, node, key, name, spares, .. } = &self.choice.candidate;
        let spared =
            spares.iter().map(|it| Spared { stage: it.stage, node: it.node, key: it.key.clone() });
        CachePoint {
            stage: *stage,
            node: *node,
            key: key.clone(),
            name: *name,
            spares: spared.collect(),
            cache: self.cache.clone(),
        }
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
