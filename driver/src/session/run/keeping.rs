//! What a run keeps from epoch to epoch, and for later runs: chosen when it begins, and how much of it
//! was used.

use super::sampling::{Sampling, sample};
use super::{DiskSummary, KeptSummary};
use crate::session::{
    compiled::Compiled,
    keep::{Asked, Case, Known, best, laps, reserve},
    options::RunOptions,
    sampled::{Sampled, SampledValue},
    samples::{self, SampleProgress},
    stop::Stop,
    storages,
    store::{About, Inputs, There},
};
use compiler::{
    caches::{Candidate, Choice, Disk},
    estimate::View,
};
use plan::Program;
use runtime::{Cache, CachePoint, Codecs, Failure, Run, Spared, Store, StoreStats};
use std::sync::Arc;

/// Seconds that the first run with a cache folder takes at the most to find out what is worth caching.
pub(super) const SECONDS: f64 = 0.5;

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

/// What the files are of which something may be kept on disk.
pub(super) fn inputs(
    run: &Run,
    asked: Asked,
    options: &RunOptions,
) -> Option<Result<Inputs, Failure>> {
    let disk = options.disk.as_ref().filter(|_| asked.on_disk);
    disk.map(|it| Inputs::of(run, it.verify_inputs))
}

/// Chooses what is kept of `inputs`, and lets `run` keep it.
pub(super) fn begin(
    compiled: &Compiled,
    (run, program): (&mut Run, &Program),
    (asked, options): (Asked, &RunOptions),
    inputs: Option<Result<Inputs, Failure>>,
) -> Result<Keeping, Failure> {
    let known = inputs.as_ref().and_then(|it| it.as_ref().ok());
    let looking = Looking::for_a_run(options, known);
    let choices = look(compiled, (run, program), asked, &looking)?.choices(asked, options)?;
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

/// How it is found out what could be kept.
#[derive(Clone)]
pub(super) struct Looking<'a> {
    pub(super) options: &'a RunOptions,
    /// What the sources' files are, where something may be kept on disk.
    pub(super) inputs: Option<&'a Inputs>,
    /// Seconds that it may take.
    pub(super) seconds: f64,
    /// Values that alone are kept on disk, where they are named; else those that the folder names.
    pub(super) names: &'a [String],
    /// Values of which a sample was taken already.
    pub(super) known: &'a [SampledValue],
    pub(super) stop: Stop,
}

/// What was found out about a pipeline before it is chosen what a run keeps.
pub(super) struct Looked {
    /// With the costs that were measured.
    compiled: Compiled,
    view: View,
    disk: Option<Disk>,
    sampled: Option<Sampled>,
}

impl<'a> Looking<'a> {
    /// The usual way.
    pub(super) fn for_a_run(options: &'a RunOptions, inputs: Option<&'a Inputs>) -> Self {
        let stop = Stop::default();
        Self { options, inputs, seconds: SECONDS, names: &[], known: &[], stop }
    }
}

/// Finds out what could be kept.
pub(super) fn look(
    compiled: &Compiled,
    (run, program): (&Run, &Program),
    asked: Asked,
    looking: &Looking<'_>,
) -> Result<Looked, Failure> {
    let Looking { options, inputs, seconds, ref stop, .. } = *looking;
    let disk = options.disk.as_ref().filter(|_| asked.on_disk);
    // Where it fails, the run will say why; until then, what is assumed has to do.
    let sampled = disk.zip(inputs).and_then(|(disk, inputs)| {
        Sampled::read(&disk.folder, compiled, inputs.hash()).or_else(|| {
            // Each request of an object is paid for, so that none is asked for twice.
            if storages::reads_far(program) {
                return None;
            }
            let (workers, memory) = (options.workers, options.memory);
            let sampling = Sampling { seconds, seed: 0, workers, memory, stop: stop.clone() };
            let new = sample(compiled, program, &sampling, looking.known).ok()?;
            new.write(&disk.folder, compiled, inputs.hash());
            Some(new)
        })
    });
    let estimated =
        sampled.as_ref().map(|it| it.estimated(compiled, (options.workers, asked.memory)));
    let compiled = estimated.unwrap_or_else(|| compiled.clone());
    let (mut view, host) = compiled.run_view(options.workers, asked, run.pass_lens()?)?;
    let there = disk.zip(inputs).map_or_else(There::default, |(disk, it)| disk.there(it));
    view.filled = there.values;
    view.only = match looking.names {
        [] => there.only,
        names => compiled.values_called(names)?,
    };
    let disk = disk.map(|it| it.disk_of(host.as_ref(), &mut view.machine, storages::unmeasured()));
    Ok(Looked { compiled, view, disk, sampled })
}

impl Looked {
    /// What could be kept, and whether it is.
    pub(super) fn choices(
        &self,
        asked: Asked,
        options: &RunOptions,
    ) -> Result<Vec<Choice>, Failure> {
        let Case { known, .. } = self.case(asked, options);
        self.compiled.kept((&self.view, self.disk), asked, known)
    }

    fn case<'a>(&'a self, asked: Asked, options: &'a RunOptions) -> Case<'a> {
        let Self { compiled, view, disk, sampled } = self;
        let known =
            Known { measured: None, sampled: sampled.as_ref(), lock: options.lock.as_ref() };
        Case { compiled, view, disk: *disk, asked, known }
    }
}

/// The alternative to `compiled` that is better with what a run keeps of it, if there is one; `run` is of `compiled`.
pub(super) fn better(
    compiled: &Compiled,
    (run, epochs): (&Run, usize),
    looking: &Looking<'_>,
    sample: &mut dyn FnMut(&SampleProgress),
) -> Result<Option<Compiled>, Failure> {
    let alternatives = compiled.alternatives();
    // What is cached of the only plan is chosen when that begins.
    if alternatives.is_empty() {
        return Ok(None);
    }
    let looking =
        Looking { seconds: looking.seconds / (alternatives.len() + 1) as f64, ..looking.clone() };
    let mut all: Vec<(Option<&Compiled>, Asked, Looked)> = Vec::new();
    let mut known: Vec<SampledValue> = Vec::new();
    for other in [None].into_iter().chain(alternatives.iter().map(Some)) {
        let own = other.unwrap_or(compiled);
        let Some(asked) = asked(own, looking.options, epochs) else { continue };
        let mut program = own.program.clone();
        samples::resolve(&mut program, sample)?;
        // One that has no value of a name that was given is none; if no other has, it is said what they are called.
        let looking = Looking { known: &known, ..looking.clone() };
        let Ok(looked) = look(own, (run, &program), asked, &looking) else { continue };
        known.extend(looked.sampled.iter().flat_map(|it| it.values.clone()));
        // What was measured is not held against what is assumed.
        let is_alike = |it: &Looked| it.sampled.is_some() == looked.sampled.is_some();
        if all.first().is_none_or(|it| is_alike(&it.2)) {
            all.push((other, asked, looked));
        }
    }
    let cases: Vec<Case<'_>> =
        all.iter().map(|(_, asked, it)| it.case(*asked, looking.options)).collect();
    Ok(all.get(best(&cases)).and_then(|it| it.0).cloned())
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
pub fn cache_of(choice: &Choice, limit: u64, store: Option<Store>) -> Cache {
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
