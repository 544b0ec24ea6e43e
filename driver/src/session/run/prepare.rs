//! Fills a cache ahead of training: what a run would cache on disk is made once, and nothing else is computed.

use super::{
    keeping::{Looking, asked, better, cache_of, cache_point, look, nothing_to_keep},
    prefix::Prefix,
    ready::of_run,
};
use crate::session::{
    compiled::Compiled,
    options::RunOptions,
    samples::{self, SampleProgress},
    stop::Stop,
    store::{About, Inputs, Opened},
};
use compiler::caches::{Candidate, Choice};
use plan::{Index, Program};
use runtime::{Cache, CachePoint, Failure, Spared, Store, StoreStats};
use serde::Serialize;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Seconds that it takes at the most to find out what is worth caching.
const SECONDS: f64 = 20.0;
/// Between two looks at how far it is.
const TICK: Duration = Duration::from_millis(100);

/// How far the filling of a cache is.
#[derive(Debug, Clone)]
pub struct Filling {
    /// The functions whose results are cached.
    pub functions: Vec<String>,
    /// Values of theirs that are cached.
    pub values: u64,
    /// How many there will be, where it is known.
    pub of: Option<u64>,
    /// Values that this one has written.
    pub written: u64,
    /// Since the first of them was computed.
    pub elapsed: Duration,
}

/// A value that was made.
#[derive(Debug, Clone, Serialize)]
pub struct Filled {
    /// The step that computes it.
    pub step: String,
    /// The function whose result it is.
    pub function: String,
    /// Values that are cached now.
    pub values: u64,
    /// How many there were to be, where it is known.
    pub of: Option<u64>,
    /// Those that were written now.
    pub written: u64,
    /// Bytes of all of them on disk.
    pub bytes: u64,
    /// Records that failed on the way to it.
    pub failed: u64,
    /// Seconds that it took, with the other values of its step.
    pub seconds: f64,
    /// Why no more are cached, where they do not all fit or could not be written.
    pub stopped: Option<String>,
}

/// Who looks on.
pub struct PrepareWatch<'a> {
    /// What may stop it: what is cached up to then stays.
    pub stop: Stop,
    /// Told ten times a second how far it is.
    pub progress: &'a mut dyn FnMut(&Filling),
    /// Told of each picture of a sample set that is made first.
    pub sample: &'a mut dyn FnMut(&SampleProgress),
    /// Told of each value when it is filled, or it was stopped.
    pub filled: &'a mut dyn FnMut(&Filled),
    /// Told why something is not cached, in a sentence.
    pub note: &'a mut dyn FnMut(&str),
}

/// Makes what runs of `compiled` with these options cache on disk, all that is not there yet; values that they would keep
/// in memory alone are left to them. Where values are named, these are made, and runs with the same folder keep these alone
/// from then on.
///
/// # Errors
/// Those of a run; it was stopped, or a value could not be cached at all.
pub fn prepare(
    compiled: &Compiled,
    (options, names): (&RunOptions, &[String]),
    mut watch: PrepareWatch<'_>,
) -> Result<(), Failure> {
    let Some(disk) = options.disk.as_ref() else { return Ok(()) };
    check_names(compiled, (options, names))?;
    let run = {
        let mut program = compiled.program.clone();
        samples::resolve(&mut program, watch.sample)?;
        runtime::start(&program, &*compiled.kernels()?, &of_run(compiled, options))?
    };
    let inputs = Inputs::of(&run, disk.verify_inputs)?;
    let stop = watch.stop.clone();
    let inputs_known = Some(&inputs);
    let looking =
        Looking { options, inputs: inputs_known, seconds: SECONDS, names, known: &[], stop };
    let better = better(compiled, (&run, options.epochs as usize), &looking, watch.sample)?;
    let compiled = better.as_ref().unwrap_or(compiled);
    let Some(asked) = asked(compiled, options, options.epochs as usize) else { return Ok(()) };
    let only = compiled.values_called(names)?;
    let mut program = compiled.program.clone();
    samples::resolve(&mut program, watch.sample)?;
    let all = look(compiled, (&run, &program), asked, &looking)?.choices(asked, options)?;
    drop(run);
    for it in all.iter().filter(|it| only.contains(&it.candidate.name) && !it.is_on_disk()) {
        let Candidate { step, function, .. } = &it.candidate;
        (watch.note)(&format!("`{function}` ({step}) is not cached: {}", it.why_not_on_disk()));
    }
    let mut wanted: Vec<&Choice> = Vec::new();
    for choice in all.iter().filter(|it| it.kept && it.is_on_disk()) {
        // What two steps share is made once.
        if !wanted.iter().any(|it| it.candidate.name == choice.candidate.name) {
            wanted.push(choice);
        }
    }
    if wanted.is_empty() && only.is_empty() {
        (watch.note)(&nothing_to_keep(all.iter()));
    }
    let table_bytes = asked.table_bytes() / wanted.len().max(1) as u64;
    let mut fills: Vec<Fill<'_>> = Vec::new();
    let mut addresses = Vec::new();
    for choice in wanted {
        let about = About::new(compiled, &choice.candidate, &inputs);
        addresses.extend(Some(about.address()).filter(|_| !only.is_empty()));
        let Opened { store, notes } = disk.open(&about, table_bytes);
        notes.iter().for_each(|it| (watch.note)(it));
        let Some(store) = store else {
            let detail = "nothing can be cached there; use another folder".to_owned();
            return Err(Failure::Io { path: disk.folder.display().to_string(), detail });
        };
        fills.push(Fill { choice, cache: Arc::new(cache_of(choice, 0, Some(store))) });
    }
    disk.keep_only(&addresses, (&compiled.program.name, &inputs))?;
    // What one step makes is made together: a record of which one value is cached needs no other one.
    fills.sort_by_key(|it| it.choice.candidate.stage.row());
    for fills in fills.chunk_by(|a, b| a.choice.candidate.stage == b.choice.candidate.stage) {
        let step = Step { compiled, fills };
        step.fill((&program, options), &mut watch)?;
    }
    Ok(())
}

/// Whether what is named can be kept, before anything takes long.
fn check_names(
    compiled: &Compiled,
    (options, names): (&RunOptions, &[String]),
) -> Result<(), Failure> {
    let locked = options.lock.as_ref().filter(|it| !it.keep.is_empty());
    match locked {
        Some(lock) if !names.is_empty() => Err(Failure::Program(format!(
            "`--keep`: the lock file already says what is cached (`{}`): change its `keep`, or remove it",
            lock.kept().join("`, `")
        ))),
        _ if compiled.alternatives().iter().any(|it| it.values_called(names).is_ok()) => Ok(()),
        _ => compiled.values_called(names).map(|_| ()),
    }
}

/// A value whose cache is filled.
struct Fill<'a> {
    choice: &'a Choice,
    cache: Arc<Cache>,
}

impl Fill<'_> {
    /// Values that there will be.
    fn of(&self) -> Option<u64> {
        let Choice { values, disk_values, .. } = self.choice;
        [*values, *disk_values].into_iter().flatten().min()
    }

    fn stats(&self) -> StoreStats {
        self.cache.store().map(Store::stats).unwrap_or_default()
    }

    /// Whether no more is to come.
    fn is_over(&self) -> bool {
        let StoreStats { entries, stopped, .. } = self.stats();
        stopped.is_some() || self.of().is_some_and(|of| entries >= of)
    }
}

/// Where a value is cached in a part of its program.
pub(super) fn moved(point: CachePoint, prefix: &Prefix) -> CachePoint {
    let of = |it: Spared| Spared { stage: prefix.number(it.stage), ..it };
    let (stage, spares) = (prefix.number(point.stage), point.spares.into_iter().map(of).collect());
    CachePoint { stage, spares, ..point }
}

/// The values of one step.
struct Step<'a> {
    compiled: &'a Compiled,
    fills: &'a [Fill<'a>],
}

impl Step<'_> {
    fn fill(
        &self,
        (program, options): (&Program, &RunOptions),
        watch: &mut PrepareWatch<'_>,
    ) -> Result<(), Failure> {
        let (since, mut failed, mut ended) = (Instant::now(), 0, Ok(()));
        if !self.fills.iter().all(Fill::is_over) {
            let values: Vec<&Candidate> =
                self.fills.iter().map(|it| &it.choice.candidate).collect();
            let prefix = Prefix::of(program, (values[0].stage, &values), &stdlib::library());
            let kernels = self.compiled.kernels()?;
            let options = of_run(self.compiled, options);
            let mut run = runtime::start(&prefix.program, &*kernels, &options)?;
            let point =
                |it: &Fill<'_>| moved(cache_point(&it.choice.candidate, it.cache.clone()), &prefix);
            run.keep(&self.fills.iter().map(point).collect::<Vec<_>>())?;
            watch.stop.arm(Some(run.stopper()))?;
            ended = self.take(&mut run, since, watch);
            failed = run.stats().lost.values().sum();
            let _ = watch.stop.arm(None);
        }
        for fill in self.fills {
            let StoreStats { written, entries, bytes, stopped, .. } = fill.stats();
            let Candidate { step, function, .. } = &fill.choice.candidate;
            (watch.filled)(&Filled {
                step: step.clone(),
                function: function.clone(),
                values: entries,
                of: fill.of(),
                written,
                bytes,
                failed,
                seconds: since.elapsed().as_secs_f64(),
                stopped,
            });
        }
        ended
    }

    /// Takes all that comes, until no more is to be cached.
    fn take(
        &self,
        run: &mut runtime::Run,
        since: Instant,
        watch: &mut PrepareWatch<'_>,
    ) -> Result<(), Failure> {
        let mut next_look = Duration::ZERO;
        loop {
            match run.step(Some(TICK)) {
                runtime::Step::Chunk(_) | runtime::Step::Waiting => {}
                runtime::Step::EpochEnd(_) | runtime::Step::Over => return Ok(()),
                runtime::Step::Failed(failure) => return Err(failure),
            }
            let elapsed = since.elapsed();
            if elapsed < next_look {
                continue;
            }
            next_look = elapsed + TICK;
            if self.fills.iter().all(Fill::is_over) {
                return Ok(());
            }
            (watch.progress)(&self.filling(elapsed));
        }
    }

    fn filling(&self, elapsed: Duration) -> Filling {
        let names = self.fills.iter().map(|it| it.choice.candidate.function.clone());
        let all: Vec<StoreStats> = self.fills.iter().map(Fill::stats).collect();
        Filling {
            functions: names.collect(),
            values: all.iter().map(|it| it.entries).sum(),
            of: self.fills.iter().map(Fill::of).sum(),
            written: all.iter().map(|it| it.written).sum(),
            elapsed,
        }
    }
}
