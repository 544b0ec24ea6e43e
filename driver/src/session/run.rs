//! Runs a compiled pipeline into a sink, counts, and says how far it is.
//!
//! One thread more than the runtime's own may be there: it shows the progress ten times a second,
//! from figures behind a mutex, and ends when the run does.

mod keeping;
mod prefix;
mod prepare;
mod ready;
mod sampling;
mod saver;
mod stream;
mod summary;
mod uneven;

pub use crate::session::stop::Stop;
pub use prepare::{Filled, Filling, PrepareWatch, prepare};
pub use sampling::{Sampling, sample};
pub use stream::{Arrival, Stream};
pub use summary::{
    ClassesSummary, DiskSummary, Dropped, FillingSummary, KeptSummary, LeftOver, Loss,
    StageSummary, Summary,
};
pub use uneven::UnevenRanks;

use crate::session::{
    classes,
    compiled::Compiled,
    measured::{Course, Profile},
    options::RunOptions,
    samples::SampleProgress,
    sink::{self, Resumed, RunConfig, Sink, Written},
    spared::SparedSummary,
    state::{State, StateLock},
};
use keeping::{Keeping, Kept};
pub use keeping::{cache_of, cache_point};
use plan::{Code, DType, Field, Index, Program, RaggedField, things};
use ready::{Origin, Ready, ready};
use runtime::{
    Chunk, Failure, Position,
    reads::{self, Reads},
};
use saver::Saver;
use std::{
    borrow::Cow,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Between two looks at the progress.
const TICK: Duration = Duration::from_millis(100);
/// From one profile to the next (Plumber, section 4.1: 10 s).
const PROFILE_EVERY: Duration = Duration::from_secs(10);
/// From one bringing of the output to the disk to the next, where no state asks for it.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// Since the run began.
    pub elapsed: Duration,
    /// Until the first chunk came.
    pub first: Option<Duration>,
    /// The epoch of the last chunk.
    pub epoch: u32,
    /// Batches that have come; records, where the pipeline ends without `batch`.
    pub outputs: u64,
    /// Records in them.
    pub records: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// The share of the run that is done, where its length is known: 0 to 1.
    pub done: Option<f64>,
}

/// Who looks on.
pub struct Watch<'a> {
    /// What may stop the run.
    pub stop: Stop,
    /// Told ten times a second how far the run is.
    pub progress: Option<&'a mut (dyn FnMut(&Progress) + Send)>,
    /// Told of each picture of a sample set that is made first.
    pub sample: &'a mut dyn FnMut(&SampleProgress),
    /// Told before the run of ranks that get nothing of an epoch, or less than others.
    pub uneven: &'a mut dyn FnMut(&UnevenRanks),
}

/// What came of a run.
pub struct Outcome {
    /// What was done, also where the run ended early.
    pub summary: Summary,
    /// Why it ended early, if it did.
    pub failure: Option<Failure>,
}

/// Runs `compiled` into `sink`.
pub fn run(
    compiled: &Compiled,
    options: &RunOptions,
    sink: &mut dyn Sink,
    watch: Watch<'_>,
) -> Outcome {
    let room = sink::room_within(options.memory, options.whole_process);
    let beside = sink.wants(options.memory).min(room);
    let (stop, memory) = (watch.stop.clone(), options.memory);
    sink.begin(&RunConfig { stop, memory, room, is_saved: options.state.is_some() });
    match start(compiled, (options, beside), sink, watch.sample) {
        Ok(Started { compiled, run, program, keeping, saver, before, damage }) => {
            // A single run says at its end that nothing came.
            let is_shared = options.rank.world > 1;
            let uneven = is_shared
                .then(|| UnevenRanks::of(&compiled, (&run, &program), options.rank))
                .flatten();
            uneven.iter().for_each(|it| (watch.uneven)(it));
            let consumer = Consumer {
                compiled: &compiled,
                program: &compiled.program,
                options,
                before,
                damage,
                keeping,
                reads: reads::so_far(),
                cpu: runtime::os::process_cpu(),
                shared: Shared::default(),
                since: Instant::now(),
            };
            consumer.watched(run, saver, sink, watch)
        }
        Err(failure) => {
            let summary = Summary::of(&compiled.program, &Progress::default(), None);
            Outcome { summary, failure: Some(failure) }
        }
    }
}

/// A run that is ready.
struct Started<'a> {
    /// What was asked for, or an alternative to it.
    compiled: Cow<'a, Compiled>,
    run: runtime::Run,
    /// What runs, with the sets of pictures that it names as files.
    program: Program,
    keeping: Keeping,
    saver: Option<Saver>,
    /// What an earlier run has given, which this one goes on from.
    before: u64,
    /// Damage to that, for which this one goes back.
    damage: Option<String>,
}

fn start<'a>(
    compiled: &'a Compiled,
    (options, beside): (&RunOptions, u64),
    sink: &mut dyn Sink,
    sample: &mut dyn FnMut(&SampleProgress),
) -> Result<Started<'a>, Failure> {
    // Before anything is read: what another run holds is not looked at.
    let lock = match &options.state {
        Some(file) => StateLock::take(&file.path)?,
        None => StateLock::default(),
    };
    let earlier = match &options.state {
        Some(file) => State::read(&file.path)?,
        None => None,
    };
    if let Some(state) = &earlier {
        state.check_rank(options.rank)?;
    }
    let goes_on = earlier.is_some();
    let saved = options.state.is_some();
    let origin =
        Origin { earlier: earlier.as_ref(), epoch: 0, saved, goes_on, locks: true, beside };
    let mut begin = ready(compiled, options, &origin, sample)?;
    let (mut before, mut damage) = (0, None);
    if let Some(state) = &earlier {
        state.check_asked(options.epochs, options.limit)?;
        before = state.outputs;
        let written = Written { outputs: state.outputs, files: state.written };
        if let Resumed::Back { epoch, outputs, found } = sink.resume(written)? {
            (before, damage) = (outputs, Some(found));
            // What it holds on disk is let go of before it is taken again.
            drop(begin);
            begin = ready(compiled, options, &Origin { earlier: None, epoch, ..origin }, sample)?;
        }
    }
    let Ready { compiled, run, program, keeping, mut identity, quarantine, .. } = begin;
    identity.of_rank(options.rank);
    let saver = options.state.clone().map(|file| Saver::new((file, lock), identity, quarantine));
    Ok(Started { compiled, run, program, keeping, saver, before, damage })
}

/// Takes what comes out of a run.
struct Consumer<'a> {
    compiled: &'a Compiled,
    program: &'a Program,
    options: &'a RunOptions,
    /// What an earlier run has given.
    before: u64,
    /// Damage to that, for which this one goes back.
    damage: Option<String>,
    /// What is kept from epoch to epoch, and for later runs.
    keeping: Keeping,
    /// What the process had read before.
    reads: Reads,
    /// Processor time that the process had used before.
    cpu: Option<Duration>,
    shared: Shared,
    since: Instant,
}

/// What the thread that shows the progress sees.
#[derive(Default)]
struct Shared {
    state: Mutex<Seen>,
    ended: Condvar,
}

#[derive(Default)]
struct Seen {
    progress: Progress,
    /// What is left out of a profile: the first chunk, and all before it.
    first: First,
    over: bool,
}

/// How far a run was when its first chunk had come.
#[derive(Clone, Default)]
struct First {
    after: Duration,
    outputs: u64,
    records: u64,
    /// How long the consumer had waited.
    waited: runtime::Stats,
}

impl Consumer<'_> {
    fn watched(
        self,
        mut run: runtime::Run,
        mut saver: Option<Saver>,
        sink: &mut dyn Sink,
        watch: Watch<'_>,
    ) -> Outcome {
        let failure = thread::scope(|scope| {
            if let Some(tell) = watch.progress {
                let (shared, since) = (&self.shared, self.since);
                scope.spawn(move || shared.show(since, tell));
            }
            let consumed = self.consume(&mut run, &mut saver, sink, &watch.stop);
            // Also of a run that ends early: it goes on from where it stood.
            let saved = saver.as_mut().map_or(Ok(()), |it| it.save(sink));
            let failure = consumed.and(saved).err();
            locked(&self.shared.state).over = true;
            self.shared.ended.notify_all();
            failure
        });
        // Whoever asks to stop from now on means the process.
        let _ = watch.stop.arm(None);
        let mut progress = locked(&self.shared.state).progress.clone();
        progress.elapsed = self.since.elapsed();
        let stats = run.stats();
        let failure = failure.or(self.write_profile(&stats, &progress).err());
        let mut summary = Summary::of(self.program, &progress, Some(&stats));
        summary.resumed_at = (self.before > 0).then_some(self.before);
        summary.damage = self.damage.clone();
        summary.kept = self.keeping.kept.iter().map(Kept::summary).collect();
        let classes = classes::of_run(&self.compiled.written, &run);
        summary.classes = classes.iter().flat_map(ClassesSummary::of).collect();
        summary.spared = run.unneeded().into_iter().map(SparedSummary::of).collect();
        summary.left_over = self.left_over(&run);
        summary.notes = self.keeping.notes();
        let is_whole = failure.is_none() && self.before == 0 && self.options.limit.is_none();
        if is_whole && progress.outputs == 0 && self.options.rank.world == 1 {
            summary.nothing_came = Some(self.why_nothing_came(&summary));
        }
        if is_whole && self.options.rank.world == 1 {
            summary.dropped = self.dropped(&summary);
        }
        Outcome { summary, failure }
    }

    /// What was left at the ends of epochs, where `batch` drops what does not fill one.
    fn dropped(&self, summary: &Summary) -> Option<Dropped> {
        if !self.program.batched || self.program.deal.keeps_tail {
            return None;
        }
        let stages = &self.program.stages;
        let mut stage = stages.ids().last()?;
        while matches!(stages[stage].code, Code::Transform(_)) {
            stage = *stages[stage].inputs.first()?;
        }
        let input = *stages[stage].inputs.first()?;
        let of = summary.stages.get(input.row())?.records;
        let records = of.saturating_sub(summary.records);
        (records > 0).then_some(Dropped { records, of })
    }

    /// Why a run that was not cut short has given nothing.
    fn why_nothing_came(&self, summary: &Summary) -> String {
        let failed = summary.lost.values().map(|it| it.records).sum();
        let fills = self.program.batched && !self.program.deal.keeps_tail;
        if failed > 0 {
            let failed = things(failed, "record", "records");
            let rest = if fills { "too few remain to fill a batch" } else { "none remains" };
            return format!("{failed} failed, and {rest}: `pipec scan` lists each with its reason");
        }
        let why = match fills {
            true => {
                "fewer records reached `batch` than its size: make batches smaller, or use `tail: \
                 keep`"
            }
            false => "the sources are empty, or every record was dropped",
        };
        why.to_owned()
    }

    /// What goes to no rank, since each has equally many.
    fn left_over(&self, run: &runtime::Run) -> Option<LeftOver> {
        let world = u64::from(self.options.rank.world);
        let lens = stream::source_lens(run, self.program);
        let (plan, library) = (&self.compiled.optimised.plan, stdlib::library());
        let outputs = |ranks| compiler::count::outputs(plan, &library, &lens, ranks);
        let (of, each) = (outputs((0, 1))?, outputs((0, world))?);
        let dropped = of.saturating_sub(each.saturating_mul(world));
        (world > 1 && dropped > 0).then_some(LeftOver { dropped, of, each })
    }

    fn write_profile(&self, stats: &runtime::Stats, progress: &Progress) -> Result<(), Failure> {
        let Some(path) = &self.options.profile else { return Ok(()) };
        let first = locked(&self.shared.state).first.clone();
        // Where nothing came after the first chunk, it is all there is.
        let first = if progress.outputs > first.outputs { first } else { First::default() };
        let stats = &stats.clone().since(&first.waited);
        let course = Course {
            workers: self.options.workers,
            elapsed: progress.elapsed - first.after,
            outputs: progress.outputs - first.outputs,
            records: progress.records - first.records,
            kept: !self.keeping.kept.is_empty(),
            settled: false,
            reads: reads::so_far().since(self.reads),
            cpu: self.cpu,
            others: None,
        };
        Profile::of(self.compiled, stats, &course).write(path)
    }

    fn consume(
        &self,
        run: &mut runtime::Run,
        saver: &mut Option<Saver>,
        sink: &mut dyn Sink,
        stop: &Stop,
    ) -> Result<(), Failure> {
        stop.arm(Some(run.stopper()))?;
        let mut left = self.options.limit.map_or(u64::MAX, |it| it.saturating_sub(self.before));
        let (mut outputs, mut rows) = (self.before, 0);
        let (mut given, mut next_look, mut next_profile) = (None, Duration::ZERO, PROFILE_EVERY);
        let mut next_sync = SYNC_EVERY;
        while left > 0 {
            let Some(chunk) = run.next() else { break };
            let mut chunk = chunk?;
            if chunk.rows as u64 > left {
                chunk = chunk.cut(0..left as usize);
            }
            rows = chunk.rows;
            left -= rows as u64;
            runtime::or_failure(|| sink.take(&chunk))?;
            if let Some(saver) = saver {
                let written = sink.written();
                if let Some(safe) = written.outputs.checked_sub(outputs) {
                    saver.stand(run.position_after(safe as usize), sink)?;
                }
                outputs += rows as u64;
            } else if self.since.elapsed() >= next_sync {
                sink.sync()?;
                next_sync = self.since.elapsed() + SYNC_EVERY;
            }
            if self.options.limit.is_none() && self.since.elapsed() >= next_look {
                given = run.stats().epochs_given.map(|it| it / f64::from(self.options.epochs));
                next_look = self.since.elapsed() + TICK;
            }
            if self.options.profile.is_some() && self.since.elapsed() >= next_profile {
                let progress = locked(&self.shared.state).progress.clone();
                self.write_profile(
                    &run.stats(),
                    &Progress { elapsed: self.since.elapsed(), ..progress },
                )?;
                next_profile = self.since.elapsed() + PROFILE_EVERY;
            }
            self.count(&chunk, given, &|| run.stats());
        }
        runtime::or_failure(|| sink.finish())?;
        match saver {
            Some(saver) if rows > 0 => saver.stand(end_of(run, rows, left), sink),
            _ => Ok(()),
        }
    }

    fn count(&self, chunk: &Chunk, given: Option<f64>, stats: &dyn Fn() -> runtime::Stats) {
        let records = records_of(self.program, chunk);
        let mut seen = locked(&self.shared.state);
        let Seen { progress, first, .. } = &mut *seen;
        if progress.first.is_none() {
            let after = self.since.elapsed();
            let (outputs, records) = (chunk.rows as u64, records as u64);
            // What the stages did until now is part of what they do.
            let waited = runtime::Stats { stages: Vec::new(), ..stats() };
            *first = First { after, outputs, records, waited };
            progress.first = Some(after);
        }
        progress.epoch = chunk.epoch;
        progress.outputs += chunk.rows as u64;
        progress.records += records as u64;
        progress.bytes += chunk.columns.iter().map(|it| it.bytes() as u64).sum::<u64>();
        progress.done = self.options.limit.map(|it| progress.outputs as f64 / it as f64).or(given);
    }
}

impl Shared {
    /// Tells how far the run is, until it is over.
    fn show(&self, since: Instant, tell: &mut (dyn FnMut(&Progress) + Send)) {
        let mut seen = locked(&self.state);
        while !seen.over {
            seen = self.ended.wait_timeout(seen, TICK).unwrap_or_else(PoisonError::into_inner).0;
            if seen.over {
                return;
            }
            let progress = Progress { elapsed: since.elapsed(), ..seen.progress.clone() };
            drop(seen);
            tell(&progress);
            seen = locked(&self.state);
        }
    }
}

/// Where a run stands that has come to its end, by itself or by its limit.
fn end_of(run: &runtime::Run, rows: usize, left: u64) -> Position {
    run.position_after(if left == 0 { rows } else { 0 })
}

/// Records in a chunk of the output.
pub(crate) fn records_of(program: &Program, chunk: &Chunk) -> usize {
    match program.batched {
        true => rows_of_batches(&program.output, chunk),
        false => chunk.rows,
    }
}

/// Records in the batches of `chunk`: those that `tail: mask` filled it up with are none.
fn rows_of_batches(fields: &[Field], chunk: &Chunk) -> usize {
    let mut columns = fields.iter().zip(&chunk.columns);
    let is_mask = |it: &Field| {
        it.name == "valid"
            && it.ty.dtype() == Some(DType::Bool)
            && it.ty.shape().map(<[_]>::len) == Some(1)
    };
    let rows = 0..chunk.rows;
    if let Some((_, mask)) = columns.clone().find(|(it, _)| is_mask(it)) {
        let valid = |row: usize| mask.row(row).as_text().iter().filter(|it| **it != 0).count();
        return rows.map(valid).sum();
    }
    // The rows of a ragged field are not those of its values, and its offsets are one more.
    if let Some(ragged) = RaggedField::all(fields).first() {
        let offsets = &chunk.columns[ragged.offsets];
        return rows.map(|it| offsets.row(it).elements().saturating_sub(1)).sum();
    }
    let has_axis = |it: &Field| it.ty.shape().is_some_and(|it| !it.is_empty());
    match columns.find(|(it, _)| has_axis(it)) {
        Some((_, column)) => rows.map(|it| column.row(it).rows().unwrap_or(1)).sum(),
        None => chunk.rows,
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::{Builder, Pool};

    #[test]
    fn batches_of_texts_alone_have_their_rows() {
        let text = plan::Type::scalar(DType::Str);
        let mut names = Builder::new(&text, 2, &Pool::default());
        ["a", "", "b"].iter().for_each(|it| names.push_text(it.as_bytes()));
        let (names, ty) = (names.finish(), plan::Type::tensor(DType::Str, &[3]));
        let mut batches = Builder::new(&ty, 2, &Pool::default());
        batches.push_texts(&names, 3);
        batches.push_texts(&names.cut(0..1), 1);
        let mut ids = Builder::new(&plan::Type::scalar(DType::U64), 2, &Pool::default());
        [1_u64, 2].into_iter().for_each(|it| ids.push_scalar(it));
        let fields = [Field { name: "name".to_owned(), ty }];
        let columns = vec![batches.finish()];
        let chunk = Chunk { rows: 2, epoch: 0, ids: ids.finish(), columns };
        assert_eq!(rows_of_batches(&fields, &chunk), 4);
    }

    #[test]
    fn batches_of_ragged_fields_alone_have_their_rows() {
        let ty = |dtype| plan::Type::Tensor { dtype, shape: vec![plan::Extent::Unknown] };
        let field = |name: &str, dtype| Field { name: name.to_owned(), ty: ty(dtype) };
        let fields = [field("ids.values", DType::F32), field("ids.offsets", DType::I64)];
        let mut chunk = runtime::ChunkBuilder::new(&fields, 2, 0, &Pool::default());
        for offsets in [&[0_i64, 2, 2, 5][..], &[0, 5]] {
            chunk.ids.push_scalar(0_u64);
            chunk.columns[0].push(&runtime::Tensor::new(&[5], &[0.5_f32; 5]));
            chunk.columns[1].push(&runtime::Tensor::new(&[offsets.len()], offsets));
        }
        assert_eq!(rows_of_batches(&fields, &chunk.finish()), 3 + 1);
    }
}
