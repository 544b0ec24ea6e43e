//! What a run keeps from epoch to epoch, and for later runs: chosen when it begins, and how much of it
//! was used.

use super::sampling::{Sampling, sample};
use super::{DiskSummary, KeptSummary};
use crate::session::{
    compiled::Compiled,
    keep::{Asked, Known, laps, reserve},
    options::RunOptions,
    sampled::Sampled,
    stop::Stop,
    storages,
    store::{About, Inputs, There},
};
use compiler::caches::{Candidate, Choice};
use plan::Program;
use runtime::{Cache, CachePoint, Codecs, Failure, Run, Spared, Store, StoreStats};
use std::sync::Arc;

/// Seconds that the first run with a cache folder takes at the most to find out what is worth caching.
const SECONDS: f64 = 0.5;

/// A value that is kept.
pub(super) struct Kept {
    choice: Choice,
    cache: Arc<Cache>,
}

/// What is kept, and what is to be told of it.
#[derive(Default)]
pub(super) struct Keeping {
    pub(super) kept: Vec<Kept>,
    /// Where they are kept, those too that two steps share.
    pub(super) points: Vec<CachePoint>,
    notes: Vec<String>,
}

/// What a run of so many epochs could keep something for, if it could.
pub(super) fn asked(compiled: &Compiled, options: &RunOptions, epochs: usize) -> Option<Asked> {
    let passes = passes(compiled, options, epochs);
    let memory = options.memory;
    let on_disk = options.disk.is_some() && options.caches;
    let fits = passes >= 2.0 && reserve(compiled, memory) < memory;
    let objective = options.objective;
    let ranks = options.rank.world;
    (fits || on_disk).then_some(Asked { passes, memory, on_disk, objective, ranks })
}

/// How often each record comes in `epochs` of a run.
fn passes(compiled: &Compiled, options: &RunOptions, epochs: usize) -> f64 {
    if options.caches { epochs as f64 * laps(&compiled.program) } else { 0.0 }
}

/// Bytes of memory for all but what is kept.
pub(super) fn own_memory(compiled: &Compiled, options: &RunOptions, asked: Option<&Asked>) -> u64 {
    let Some(asked) = asked else { return options.memory };
    let all = options.memory - asked.table_bytes();
    if asked.passes >= 2.0 { reserve(compiled, options.memory).min(all) } else { all }
}

/// Chooses what is kept, and lets `run` keep it.
pub(super) fn begin(
    compiled: &Compiled,
    (run, program): (&mut Run, &Program),
    (asked, options): (Asked, &RunOptions),
) -> Result<Keeping, Failure> {
    let disk = options.disk.as_ref().filter(|_| asked.on_disk);
    let inputs = disk.map(|it| Inputs::of(run, it.verify_inputs));
    let known = inputs.as_ref().and_then(|it| it.as_ref().ok());
    let choices = choices(
        compiled,
        (run, program),
        (asked, options, known),
        (SECONDS, None, Stop::default()),
    )?;
    let (kept, left): (Vec<_>, Vec<_>) = choices.into_iter().partition(|it| it.kept);
    let mut keeping = Keeping::default();
    if asked.on_disk && !kept.iter().any(Choice::is_on_disk) {
        keeping.notes.push(nothing_to_keep(kept.iter().chain(&left)));
    }
    let caches = keeping.caches(compiled, inputs, (&kept, asked, options));
    let kept = kept.into_iter().zip(caches);
    keeping.kept = kept.map(|(choice, cache)| Kept { cache, choice }).collect();
    keeping.points = keeping.kept.iter().map(Kept::point).collect();
    run.keep(&keeping.points)?;
    // What two steps share is told once.
    let mut told: Vec<*const Cache> = Vec::new();
    keeping.kept.retain(|it| {
        let cache = Arc::as_ptr(&it.cache);
        let is_new = !told.contains(&cache);
        told.push(cache);
        is_new
    });
    Ok(keeping)
}

/// What could be kept, and whether it is, where the sources' files are `inputs`. On disk, only some values are kept, if they
/// are named here or in the folder.
pub(super) fn choices(
    compiled: &Compiled,
    (run, program): (&Run, &Program),
    (asked, options, inputs): (Asked, &RunOptions, Option<&Inputs>),
    (seconds, only, stop): (f64, Option<Vec<u64>>, Stop),
) -> Result<Vec<Choice>, Failure> {
    let disk = options.disk.as_ref().filter(|_| asked.on_disk);
    // Where it fails, the run will say why; until then, what is assumed has to do.
    let sampled = disk.zip(inputs).and_then(|(disk, inputs)| {
        Sampled::read(&disk.folder, compiled, inputs.hash()).or_else(|| {
            // Each request of an object is paid for, so that none is asked for twice.
            if storages::reads_far(program) {
                return None;
            }
            let (workers, memory) = (options.workers, options.memory);
            let sampling = Sampling { seconds, seed: 0, workers, memory, stop };
            let new = sample(compiled, program, &sampling).ok()?;
            new.write(&disk.folder, compiled, inputs.hash());
            Some(new)
        })
    });
    let estimated =
        sampled.as_ref().map(|it| it.estimated(compiled, (options.workers, asked.memory)));
    let compiled = estimated.as_ref().unwrap_or(compiled);
    let (mut view, host) = compiled.run_view(options.workers, asked, run.pass_lens()?)?;
    let there = disk.zip(inputs).map_or_else(There::default, |(disk, it)| disk.there(it));
    view.filled = there.values;
    view.only = only.unwrap_or(there.only);
    let disk = disk.map(|it| it.disk_of(host.as_ref(), &mut view.machine, storages::unmeasured()));
    let known = Known { measured: None, sampled: sampled.as_ref(), lock: options.lock.as_ref() };
    compiled.kept((&view, disk), asked, known)
}

/// Why nothing is kept on disk.
pub(super) fn nothing_to_keep<'a>(all: impl Iterator<Item = &'a Choice>) -> String {
    let most = all.filter(|it| it.candidate.refused.is_none());
    let most = most.max_by(|a, b| a.candidate.saves.value.total_cmp(&b.candidate.saves.value));
    match most {
        Some(it) => {
            let Candidate { function, step, .. } = &it.candidate;
            format!("nothing is cached on disk: `{function}` ({step}): {}", it.why_not_on_disk())
        }
        None => "nothing is cached on disk: no value is both expensive and the same in each epoch"
            .to_owned(),
    }
}

/// What holds the values of a choice in its forms: so many bytes of memory, and a store, if there is one.
pub(crate) fn cache_of(choice: &Choice, limit: u64, store: Option<Store>) -> Cache {
    let [in_memory, on_disk] = choice.codecs().map(|it| Codecs::new(&it));
    let cache = Cache::new(limit).encoded(in_memory);
    let most = choice.disk_values.unwrap_or(u64::MAX);
    match store {
        Some(store) => cache.with_store(store.up_to(most).encoded(on_disk)),
        None => cache,
    }
}

/// Where the value of `candidate` is kept.
pub fn cache_point(candidate: &Candidate, cache: Arc<Cache>) -> CachePoint {
    let Candidate { stage, node, keep, key, name, spares, .. } = candidate;
    let spared = spares.iter().map(|it| Spared {
        stage: it.stage,
        node: it.node,
        key: it.key.clone(),
        column: it.column,
    });
    let (key, spares) = (key.clone(), spared.collect());
    let (stage, node, keep, name) = (*stage, *node, *keep, *name);
    CachePoint { stage, node, keep, key, name, spares, cache }
}

impl Keeping {
    /// A cache for each choice, with a store where it goes to disk; one for all that find the same.
    fn caches(
        &mut self,
        compiled: &Compiled,
        inputs: Option<Result<Inputs, Failure>>,
        (choices, asked, options): (&[Choice], Asked, &RunOptions),
    ) -> Vec<Arc<Cache>> {
        let on_disk = choices.iter().filter(|it| it.is_on_disk()).count() as u64;
        let disk = options.disk.as_ref().filter(|_| asked.on_disk && on_disk > 0);
        let inputs = inputs.filter(|_| disk.is_some()).transpose();
        let inputs = inputs.unwrap_or_else(|failure| {
            self.notes.push(format!("nothing is cached on disk: {failure}"));
            None
        });
        let mut caches: Vec<Arc<Cache>> = Vec::with_capacity(choices.len());
        for (at, choice) in choices.iter().enumerate() {
            let same = |it: &&Choice| it.candidate.name == choice.candidate.name;
            if let Some(first) = choices[..at].iter().position(|it| same(&it)) {
                caches.push(caches[first].clone());
                continue;
            }
            let limit = choices.iter().filter(same).map(|it| it.limit).sum();
            let is_on_disk = choices.iter().filter(same).any(Choice::is_on_disk);
            let (Some(inputs), Some(disk), true) = (&inputs, disk, is_on_disk) else {
                caches.push(Arc::new(cache_of(choice, limit, None)));
                continue;
            };
            let about = About::new(compiled, &choice.candidate, inputs);
            let opened = disk.open(&about, asked.table_bytes() / on_disk);
            self.notes.extend(opened.notes);
            caches.push(Arc::new(cache_of(choice, limit, opened.store)));
        }
        caches
    }

    /// What is to be told, in sentences.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.iter().cloned().chain(self.kept.iter().flat_map(Kept::notes)).collect()
    }
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
            disk: self.cache.store().map(|it| disk_summary(&it.stats())),
        }
    }

    fn notes(&self) -> Vec<String> {
        let Some(stats) = self.cache.store().map(Store::stats) else { return Vec::new() };
        let name = &self.choice.candidate.function;
        let mut notes = Vec::new();
        match stats.damaged {
            0 => {}
            1 => notes.push(format!("a cached value of `{name}` was damaged and recomputed")),
            n => notes.push(format!("{n} cached values of `{name}` were damaged and recomputed")),
        }
        if let Some(why) = &stats.stopped {
            notes.push(format!("caching `{name}` on disk stopped: {why}"));
        }
        notes
    }
}

fn disk_summary(stats: &StoreStats) -> DiskSummary {
    DiskSummary {
        hits: stats.hits,
        written: stats.written,
        entries: stats.entries,
        bytes: stats.bytes,
        damaged: stats.damaged,
    }
}
