//! What a program gives, as text, and that it gives the same however it is run.

use compiler::caches::{Candidate, candidates};
use driver::Compiled;
use plan::{Field, parts::Keep};
use runtime::{
    Cache, CachePoint, Chunk, DiskRoom, Failure, Options, Position, Rank, Store, Tensor,
};
use std::{
    collections::BTreeMap,
    env, fs, process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Outputs that are shown.
const SHOWN: usize = 3;
/// Elements of a value that are shown.
const ELEMENTS: usize = 8;

/// How a program is run: threads, and records of a chunk.
const WAYS: [(usize, Option<usize>); 6] =
    [(1, None), (2, Some(1)), (3, Some(7)), (8, Some(1000)), (2, None), (8, Some(1))];

/// What `compiled` gives; the same for every number of workers and every size of chunks, and
/// where it is stopped and gone on with.
pub(crate) fn of(compiled: &Compiled) -> Result<String, String> {
    let first = run(compiled, WAYS[0], None);
    for way in &WAYS[1..] {
        let other = run(compiled, *way, None);
        if other.text() != first.text() {
            let (other, first) = (other.text(), first.text());
            return Err(format!("with {way:?}:\n{other}\nwith {:?}:\n{first}", WAYS[0]));
        }
    }
    check_against(compiled, &first)?;
    check_kept_as(compiled, &first, Output::text)?;
    if first.failed {
        return Ok(first.text());
    }
    check_ranks(compiled)?;
    Ok(first.text())
}

/// What `compiled` gives, in one way: how many records, and a hash of all of them.
pub(crate) fn hash_of(compiled: &Compiled) -> String {
    run(compiled, WAYS[0], None).records.lines().last().unwrap_or_default().to_owned()
}

/// Where a run is stopped, another one goes on as it would have.
pub(crate) fn check_stopped(compiled: &Compiled) -> Result<(), String> {
    check_against(compiled, &run(compiled, WAYS[0], None))
}

/// The same where chunks are as large as the run finds them to be worth.
pub(crate) fn check_stopped_anywhere(compiled: &Compiled) -> Result<(), String> {
    let whole = run(compiled, WAYS[0], None);
    let way = (2, None);
    for stop in [1, whole.n / 4, whole.n / 2, whole.n.saturating_sub(1)] {
        let other = run(compiled, way, Some(stop));
        if other.records != whole.records {
            let (other, whole) = (other.records, &whole.records);
            return Err(format!("stopped after {stop}, {way:?}:\n{other}\nelse:\n{whole}"));
        }
    }
    Ok(())
}

/// What is kept from epoch to epoch changes no record. Losses behind an early end are counted or
/// not, as the threads come to them.
pub(crate) fn check_kept(compiled: &Compiled) -> Result<(), String> {
    let (whole, told) = (run(compiled, WAYS[0], None), |it: &Output| it.records.clone());
    check_kept_as(compiled, &whole, told)?;
    for other in compiled.alternatives() {
        let found = run(&other, WAYS[0], None);
        if told(&found) != told(&whole) {
            let (found, whole) = (told(&found), told(&whole));
            return Err(format!("an alternative:\n{found}\nthe usual plan:\n{whole}"));
        }
        check_kept_as(&other, &whole, told)?;
    }
    Ok(())
}

/// Every value that could be kept, in little room; and of each stage the last one, in much.
fn check_kept_as(
    compiled: &Compiled,
    whole: &Output,
    told: fn(&Output) -> String,
) -> Result<(), String> {
    let (plan, library) = (&compiled.optimised.plan, stdlib::library());
    let found = candidates(plan, &library, (None, 0.0)).map_err(|it| format!("{it:?}"))?;
    let all: Vec<_> = found.into_iter().filter(|it| it.refused.is_none()).collect();
    let alone = all.iter().map(|it| Candidate { spares: Vec::new(), ..it.clone() });
    let last = |which: fn(&Candidate) -> bool| {
        let last = all.iter().filter(|it| which(it)).map(|it| (it.stage, it));
        let last: BTreeMap<_, _> = last.collect();
        last.into_values().cloned().collect::<Vec<_>>()
    };
    let values = last(|it| it.keep == Keep::Value && !it.reads);
    let (files, indices) = (last(|it| it.reads), last(|it| it.keep == Keep::Index));
    for kept in [&values, &files, &indices] {
        check_stored(compiled, (whole, told), kept)?;
    }
    let sets: [(Vec<Candidate>, u64); 4] =
        [(alone.collect(), 2_000), (values, 1 << 24), (files, 1 << 24), (indices, 1 << 24)];
    for (candidates, room) in sets.into_iter().filter(|it| !it.0.is_empty()) {
        let cache = |it: &Candidate| driver::cache_point(it, Arc::new(Cache::new(room)));
        let points: Vec<_> = candidates.iter().map(cache).collect();
        let other = run_keeping(compiled, ((3, Some(7)), &points), None);
        if told(&other) != told(whole) {
            let names: Vec<_> = candidates.iter().map(|it| &it.function).collect();
            let (other, whole) = (told(&other), told(whole));
            return Err(format!("where {names:?} are kept:\n{other}\nelse:\n{whole}"));
        }
    }
    Ok(())
}

/// The same on disk: once while it is filled, and once where all is there.
fn check_stored(
    compiled: &Compiled,
    (whole, told): (&Output, fn(&Output) -> String),
    last: &[Candidate],
) -> Result<(), String> {
    if last.is_empty() {
        return Ok(());
    }
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = env::temp_dir().join(format!("suite-kept-{}-{count}", process::id()));
    let room = DiskRoom { folder: folder.clone(), limit: 1 << 30 };
    let mut differs = None;
    for time in ["first", "second"] {
        let store = |i: usize| Store::open(&room, &format!("{i:032x}"), 1 << 24);
        let point = |(i, it): (usize, &Candidate)| {
            let store = store(i).map_err(|it| it.to_string())?;
            Ok(driver::cache_point(it, Arc::new(Cache::new(0).with_store(store))))
        };
        let points = last.iter().enumerate().map(point).collect::<Result<Vec<_>, String>>()?;
        let other = told(&run_keeping(compiled, ((3, Some(7)), &points), None));
        let whole = told(whole);
        if other != whole {
            differs = Some(format!("kept on disk, {time} time:\n{other}\nelse:\n{whole}"));
        }
    }
    let _ = fs::remove_dir_all(folder);
    differs.map_or(Ok(()), Err)
}

fn check_against(compiled: &Compiled, whole: &Output) -> Result<(), String> {
    for (way, stop) in WAYS.iter().zip([1, whole.n / 3, whole.n / 2, whole.n.saturating_sub(1)]) {
        let other = run(compiled, *way, Some(stop));
        if other.records != whole.records {
            let (other, whole) = (other.records, &whole.records);
            return Err(format!("stopped after {stop}, {way:?}:\n{other}\nelse:\n{whole}"));
        }
    }
    Ok(())
}

/// Outputs in their order: the epoch of each, and a hash of it.
type Outputs = [(u32, u64)];

/// What runs a program in one of several ways.
type Runs<'r> = dyn Fn(&Options) -> Result<Vec<(u32, u64)>, Failure> + 'r;

/// Ranks that share the work.
const WORLD: u32 = 3;

/// What three ranks give, dealt together again, is what one gives; and one goes on from where the
/// three have stood.
pub(crate) fn check_ranks(compiled: &Compiled) -> Result<(), String> {
    let base = Options { seed: 1, epochs: 0..2, chunk_rows: Some(7), ..Options::default() };
    let run = |options: &Options| hashes(compiled, options, usize::MAX).map(|it| it.0);
    // What fails only for these draws has nothing to be dealt.
    let Ok(whole) = run(&base) else { return Ok(()) };
    let n_of = |epoch: u32| whole.iter().filter(|it| it.0 == epoch).count();
    let has_few = (0..2).any(|it| n_of(it) < WORLD as usize);
    if compiled.program.deal.valid.is_some() && has_few {
        // A rank without a batch has none to make a batch of nothing like, and says so.
        return Ok(());
    }
    let of_rank = |rank| run(&Options { rank: of_world(rank), ..base.clone() });
    let ranks: Vec<_> = match (0..WORLD).map(of_rank).collect::<Result<_, _>>() {
        Ok(ranks) => ranks,
        // One run takes what there is; of several, each must be able to rely on the others' lanes.
        Err(why) if has_short_lane(compiled, &why) => return Ok(()),
        Err(why) => return Err(why.to_string()),
    };
    for epoch in 0..2 {
        check_epoch(compiled, epoch, (&whole, &ranks))?;
    }
    if compiled.program.deal.valid.is_some() {
        // A loop over epochs goes on with the same one on each of them, also after a padded batch.
        let n_of = |all: &[(u32, u64)]| all.iter().filter(|it| it.0 == 0).count();
        for (rank, all) in (0..WORLD).zip(&ranks) {
            let options = Options { rank: of_world(rank), ..base.clone() };
            let stands = hashes(compiled, &options, n_of(all)).map_err(|it| it.to_string())?.1;
            if stands.epoch != 0 {
                return Err(format!("rank {rank} left epoch 0 with its last batch: {stands:?}"));
            }
        }
    }

    for (rank, all) in [(Rank::default(), &whole), (of_world(1), &ranks[1])] {
        check_parts(&run, &Options { rank, ..base.clone() }, all, &whole)?;
    }

    check_resumed(compiled, (&base, &run), (&whole, &ranks[1]))
}

/// Whether a run of several ended since a lane of its own has fewer batches than are taken:
/// `lanes.rs` holds when that is so.
fn has_short_lane(compiled: &Compiled, why: &Failure) -> bool {
    let own = compiled.program.deal.own.as_ref();
    own.is_some_and(|it| it.take.is_some()) && why.to_string().contains("none may end early")
}

/// What one rank of several has left, one run alone goes on with.
fn check_resumed(
    compiled: &Compiled,
    (base, run): (&Options, &Runs<'_>),
    (whole, own): (&Outputs, &Outputs),
) -> Result<(), String> {
    let rank = Options { rank: of_world(1), ..base.clone() };
    for stop in [1, own.len() / 2, own.len().saturating_sub(2)] {
        let (some, position) = hashes(compiled, &rank, stop).map_err(|it| it.to_string())?;
        let epoch = position.epoch;
        let in_epoch = |all: &Outputs| all.iter().filter(|it| it.0 == epoch).count();
        // The last round may not be full.
        let given = (in_epoch(&some) * WORLD as usize).min(in_epoch(whole));
        let rest = Options { epochs: epoch..2, resume: Some(position), ..base.clone() };
        let rest = run(&rest).map_err(|it| it.to_string())?;
        let expected: Vec<_> = whole.iter().filter(|it| it.0 >= epoch).skip(given).collect();
        if !rest.iter().eq(expected) {
            return Err(format!(
                "after {stop} outputs of one of three ranks, one goes on with {} records:\n{rest:x?}\nof:\n{whole:x?}",
                rest.len(),
            ));
        }
    }
    Ok(())
}

/// The outputs of an epoch of all ranks, in turn, are those of one run, and each has equally many where it must.
fn check_epoch(
    compiled: &Compiled,
    epoch: u32,
    (whole, ranks): (&Outputs, &[Vec<(u32, u64)>]),
) -> Result<(), String> {
    let keeps_tail = compiled.program.deal.keeps_tail;
    let of_epoch = |all: &Outputs| -> Vec<u64> {
        all.iter().filter(|it| it.0 == epoch).map(|it| it.1).collect()
    };
    let (whole, ranks) = (of_epoch(whole), ranks.iter().map(|it| of_epoch(it)));
    let ranks: Vec<_> = ranks.collect();
    let all = whole.len();
    let dealt = if keeps_tail { all } else { all - all % WORLD as usize };
    let rounds = 0..all.div_ceil(WORLD as usize);
    let merged: Vec<u64> =
        rounds.flat_map(|it| ranks.iter().filter_map(move |of| of.get(it).copied())).collect();
    if merged.get(..dealt) != whole.get(..dealt) {
        return Err(format!(
            "epoch {epoch} of three ranks is another one:\n{ranks:x?}\nof one:\n{whole:x?}"
        ));
    }
    let lens: Vec<_> = ranks.iter().map(Vec::len).collect();
    let is_even = lens.iter().all(|it| *it == lens[0]);
    if !is_even && (!keeps_tail || compiled.program.deal.valid.is_some()) {
        return Err(format!("epoch {epoch}: the ranks have {lens:?} outputs"));
    }
    Ok(())
}

fn of_world(rank: u32) -> Rank {
    Rank { rank, world: WORLD, ..Rank::default() }
}

/// Two processes that do the work of one rank give what it gives, `all`, in turn. `whole` is what
/// there is without ranks.
fn check_parts(
    run: &impl Fn(&Options) -> Result<Vec<(u32, u64)>, Failure>,
    options: &Options,
    all: &[(u32, u64)],
    whole: &[(u32, u64)],
) -> Result<(), String> {
    let of_part = |part| {
        let rank = Rank { part, parts: 2, ..options.rank };
        run(&Options { rank, ..options.clone() }).map_err(|it| it.to_string())
    };
    let parts = [of_part(0)?, of_part(1)?];
    for epoch in 0..2 {
        let of_epoch = |all: &[(u32, u64)]| -> Vec<u64> {
            all.iter().filter(|it| it.0 == epoch).map(|it| it.1).collect()
        };
        let (all, parts) = (of_epoch(all), [of_epoch(&parts[0]), of_epoch(&parts[1])]);
        let given = parts[0].len() + parts[1].len();
        let merged: Vec<_> =
            (0..given).filter_map(|it| parts[it % 2].get(it / 2).copied()).collect();
        let before = options.rank.rank as usize;
        let own = of_epoch(whole).len().saturating_sub(before);
        let real = own.div_ceil(options.rank.world as usize).min(all.len());
        // A batch of nothing, behind those, is one of which no row is meant: each process fills it
        // with what it has had itself.
        if merged.len() != all.len() || merged[..real] != all[..real] {
            return Err(format!(
                "epoch {epoch} of two processes of {:?} is {parts:x?}, not {all:x?}",
                options.rank
            ));
        }
    }
    Ok(())
}

/// Epoch and hash of each output, at most so many, and where the run stands then.
pub(crate) fn hashes(
    compiled: &Compiled,
    options: &Options,
    limit: usize,
) -> Result<(Vec<(u32, u64)>, Position), Failure> {
    let mut run = runtime::start(&compiled.program, &stdlib::Kernels, options)?;
    let (mut all, mut position) = (Vec::new(), run.position_after(0));
    while all.len() < limit {
        let Some(chunk) = run.next() else { break };
        let chunk = chunk?;
        let rows = chunk.rows.min(limit - all.len());
        for row in 0..rows {
            let mut one = Records::of(&compiled.program.output);
            one.add(&chunk, row);
            all.push((chunk.epoch, one.hash));
        }
        position = run.position_after(rows);
    }
    Ok((all, position))
}

/// What came of a run.
struct Output {
    n: usize,
    /// The records, or why there are none.
    records: String,
    lost: String,
    failed: bool,
}

impl Output {
    fn text(&self) -> String {
        format!("{}{}", self.records, self.lost)
    }
}

/// Runs it; where `stop` says so, another run goes on after so many records.
fn run(compiled: &Compiled, way: (usize, Option<usize>), stop: Option<usize>) -> Output {
    run_keeping(compiled, (way, &[]), stop)
}

/// The same where some values are kept from epoch to epoch.
fn run_keeping(
    compiled: &Compiled,
    ((workers, chunk_rows), points): ((usize, Option<usize>), &[CachePoint]),
    stop: Option<usize>,
) -> Output {
    let memory = 1 << 30;
    let base = Options { seed: 1, workers, readers: 2, memory, chunk_rows, ..Options::default() };
    let mut options = Options { epochs: 0..2, ..base };
    let mut records = Records::of(&compiled.program.output);
    let mut lost = String::new();
    for limit in stop.map(Some).into_iter().chain([None]) {
        match some(compiled, (&options, points), &mut records, limit) {
            Ok(Stood { position, lost: now }) => {
                let again = Position::from_numbers(position.epoch, &position.numbers());
                let position = again.expect("what was written can be read");
                // With other threads.
                (options.workers, options.epochs) = (4 - workers.min(3), position.epoch..2);
                (options.resume, lost) = (Some(position), now);
            }
            Err(failure) => {
                let n_records = records.n;
                let records = format!("{}failed: {failure}\n", records.text());
                return Output { n: n_records, records, lost, failed: true };
            }
        }
    }
    Output { n: records.n, records: records.text(), lost, failed: false }
}

/// Where a run has stood, and what it had lost by then.
struct Stood {
    position: Position,
    lost: String,
}

/// Runs it until there are `limit` records.
fn some(
    compiled: &Compiled,
    (options, points): (&Options, &[CachePoint]),
    records: &mut Records<'_>,
    limit: Option<usize>,
) -> Result<Stood, Failure> {
    let mut run = runtime::start(&compiled.program, &stdlib::Kernels, options)?;
    run.keep(points)?;
    let mut position = run.position_after(0);
    while limit.is_none_or(|it| records.n < it) {
        let Some(chunk) = run.next() else { break };
        let chunk = chunk?;
        let rows = limit.map_or(chunk.rows, |it| chunk.rows.min(it - records.n));
        (0..rows).for_each(|row| records.add(&chunk, row));
        position = run.position_after(rows);
    }
    let lost = run.stats().lost.iter().map(|(code, n)| format!("lost: {n} {code}\n")).collect();
    Ok(Stood { position, lost })
}

/// Records as they come, cut into chunks or not.
struct Records<'a> {
    fields: &'a [Field],
    n: usize,
    hash: u64,
    shown: String,
}

impl<'a> Records<'a> {
    fn of(fields: &'a [Field]) -> Self {
        Self { fields, n: 0, hash: 0, shown: String::new() }
    }

    fn add(&mut self, chunk: &Chunk, row: usize) {
        for (field, column) in self.fields.iter().zip(&chunk.columns) {
            let value = column.row(row);
            let bytes = value.as_bytes().expect("columns have no gaps");
            self.hash = plan::mix(self.hash, plan::hash(bytes));
            if self.n < SHOWN {
                self.shown += &format!("{}: {}\n", field.name, shown(&value));
            }
        }
        self.n += 1;
    }

    fn text(&self) -> String {
        format!("{}{} records in 2 epochs, hash {:016x}\n", self.shown, self.n, self.hash)
    }
}

fn shown(value: &Tensor<'_>) -> String {
    if let Some(texts) = value.texts() {
        let first: Vec<String> = texts.iter().take(ELEMENTS).map(|it| shown(&it)).collect();
        return format!("{}[{}] [{}]", texts.dtype(), texts.len(), first.join(", "));
    }
    if value.dtype().is_text() {
        let text = String::from_utf8_lossy(value.as_text());
        let cut: String = text.chars().take(40).collect();
        return format!("{cut:?}");
    }
    let flat = value.reshaped(&[value.elements()]).expect("columns have no gaps");
    let elements = (0..value.elements().min(ELEMENTS)).map(|it| flat.element(it));
    let mut all: Vec<String> = elements.map(|it| number(&it)).collect();
    if value.elements() > ELEMENTS {
        all.push("…".to_owned());
    }
    match value.shape() {
        [] => all.concat(),
        shape => format!("{}{shape:?} [{}]", value.dtype(), all.join(", ")),
    }
}

fn number(value: &Tensor<'_>) -> String {
    match value.dtype() {
        plan::DType::Bool => value.first::<bool>().to_string(),
        it if it.is_float() => format!("{}", value.number() as f32),
        plan::DType::U64 => value.first::<u64>().to_string(),
        _ => value.int().to_string(),
    }
}
