//! Programs of a small library of their own, run in many ways.

mod bound;
mod crowds;
mod left;
mod library;
mod once;
mod sources;

use super::{Options, Position, Rank, Run, Stats, Step, start};
use crate::{Failure, mix};
use crowds::LATE;
use library::{DIRECT, Draft, Library};
use plan::{Deal, Policy, Program, StageId};
use sources::GATE;
use std::{ops::Range, sync::atomic::Ordering, thread, time::Duration};

/// What came out: epoch, id and value of each record, and why it ended.
#[derive(Debug, PartialEq)]
struct Output {
    records: Vec<(u32, u64, Vec<i64>)>,
    failure: Option<Failure>,
}

impl Output {
    fn values(&self) -> Vec<i64> {
        self.records.iter().flat_map(|it| it.2.clone()).collect()
    }
}

fn options(workers: usize, chunk_rows: usize, epochs: Range<u32>) -> Options {
    let (readers, memory, chunk_rows) = (2, 64 << 20, Some(chunk_rows));
    Options { seed: 5, workers, readers, memory, epochs, chunk_rows, ..Options::default() }
}

fn begin(program: &Program, options: &Options) -> Run {
    start(program, &Library, options).unwrap()
}

fn run(program: &Program, options: &Options) -> (Output, Stats) {
    let mut run = begin(program, options);
    let mut output = Output { records: Vec::new(), failure: None };
    for chunk in &mut run {
        match chunk {
            Ok(chunk) => output.records.extend((0..chunk.rows).map(|row| {
                let value = chunk.columns[0].row(row).as_slice().unwrap().to_vec();
                (chunk.epoch, chunk.ids()[row], value)
            })),
            Err(failure) => output.failure = Some(failure),
        }
    }
    assert!(run.next().is_none());
    (output, quiet(&run))
}

/// What has been done when no thread has anything to do.
fn quiet(run: &Run) -> Stats {
    loop {
        let stats = run.stats();
        if stats.stages.iter().all(|it| it.active == 0) {
            return stats;
        }
        thread::yield_now();
    }
}

/// Runs it with 1, 2, 3 and 8 workers and chunks of 1, 7 and 64 records: always the same.
fn check(draft: Draft, epochs: u32) -> Output {
    let program = draft.program();
    let first = run(&program, &options(1, 16, 0..epochs)).0;
    for workers in [1, 2, 3, 8] {
        for rows in [1, 7, 64] {
            let output = run(&program, &options(workers, rows, 0..epochs)).0;
            assert_eq!(output, first, "{workers} workers, {rows} records");
        }
    }
    check_resumed(&program, epochs, &first);
    first
}

/// Stops after some records, and goes on with other threads and chunks.
fn check_resumed(program: &Program, epochs: u32, whole: &Output) {
    for (workers, rows) in [(1, 7), (3, 64)] {
        let mut run = begin(program, &options(workers, rows, 0..epochs));
        let (mut delivered, mut steps) = (0, 0);
        while let Some(Ok(chunk)) = run.next() {
            delivered += chunk.rows;
            steps += 1;
            if steps % 5 == 2 {
                let position = run.position_after(chunk.rows);
                let again = Position::from_numbers(position.epoch, &position.numbers()).unwrap();
                let at = format!("after {delivered} records, {again:?}");
                let options = options(4 - workers, 71 - rows, again.epoch..epochs);
                let rest =
                    super::tests::run(program, &Options { resume: Some(again), ..options }).0;
                let expected = whole.records.get(delivered..).unwrap_or_default();
                assert!(rest.records == expected, "{at}: {:?}", rest.records.first());
                assert_eq!(rest.failure, whole.failure, "{at}");
            }
        }
    }
}

/// Small enough for Miri: several workers, batches written in place, epochs, a run that is left and one that goes on.
#[test]
fn a_small_run() {
    let mut draft = Draft::default();
    let source = draft.cut_source(("read", &[10]), (&[3], 0, None, Some(2)));
    let burnt = draft.map("burn", 1, source);
    draft.batch(4, burnt);
    let program = draft.program();
    let whole = run(&program, &options(1, 3, 0..2)).0;
    assert_eq!(whole.records.len(), 10);
    assert_eq!(run(&program, &options(3, 2, 0..2)).0, whole);
    let mut left = begin(&program, &options(2, 3, 0..2));
    let rows = left.next().unwrap().unwrap().rows;
    let position = left.position_after(rows);
    drop(left);
    let rest = Options { resume: Some(position), ..options(2, 5, 0..2) };
    assert_eq!(run(&program, &rest).0.records, whole.records[rows..]);

    let mut draft = Draft::default();
    let source = draft.source("numbers", &[9]);
    let burnt = draft.map("burn", 1, source);
    let again = draft.operator("rechunk", &[], &[burnt]);
    draft.operator("twice", &[-1], &[again]);
    let values = run(&draft.program(), &options(2, 2, 0..1)).0.values();
    assert_eq!(values, (0..9).map(|it| 2 * (3 * it + 1)).collect::<Vec<i64>>());
}

#[test]
fn order_is_kept() {
    let mut draft = Draft::default();
    let source = draft.source("numbers", &[500]);
    let burnt = draft.map("burn", 200, source);
    let again = draft.operator("rechunk", &[], &[burnt]);
    draft.operator("twice", &[-1], &[again]);
    let output = check(draft, 2);
    let one: Vec<i64> = (0..500).map(|it| 2 * (3 * it + 1)).collect();
    assert_eq!(output.values(), [one.clone(), one].concat());
    assert!(output.records[..500].iter().all(|it| it.0 == 0));
    assert!(output.records[500..].iter().all(|it| it.0 == 1));
}

#[test]
fn streams_and_indices_give_the_same() {
    for cut in [(0, None, Some(1)), (13, Some(40), Some(3)), (90, Some(99), Some(2))] {
        let of = |entry| {
            let mut draft = Draft::default();
            let id = draft.cut_source((entry, &[100]), (&[], cut.0, cut.1, cut.2));
            draft.map("burn", 1, id);
            check(draft, 2)
        };
        let expected = of("numbers");
        assert_eq!(of("streamed"), expected);
        assert_eq!(of("found"), expected);
        assert_eq!(of("read"), expected);
        let len = (100 - cut.0).min(cut.1.unwrap_or(100)) * cut.2.unwrap();
        assert_eq!(expected.records.len() as u64, 2 * len);
    }
}

#[test]
fn later_laps_are_copies() {
    let mut draft = Draft::default();
    draft.cut_source(("streamed", &[3]), (&[], 0, None, Some(3)));
    let output = check(draft, 1);
    assert_eq!(output.values(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    let id = |it: u64| mix(1000, it);
    let ids: Vec<_> = output.records.iter().map(|it| it.1).collect();
    assert_eq!(ids[..5], [id(0), id(1), id(2), mix(id(0), 1), mix(id(1), 1)]);
    assert_eq!(ids[6], mix(id(0), 2));
}

#[test]
fn shuffles_differ_by_epoch_and_lap() {
    let mut draft = Draft::default();
    draft.cut_source(("numbers", &[64]), (&[1, 2], 10, Some(50), Some(2)));
    let output = check(draft, 2);
    let values = output.values();
    let passes: Vec<_> = values.chunks(50).collect();
    for pass in &passes {
        let mut sorted = pass.to_vec();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(10..60));
    }
    let differ = |a: usize, b: usize| passes[a] != passes[b];
    assert!(differ(0, 1) && differ(0, 2) && differ(1, 2) && differ(2, 3));
}

#[test]
fn an_end_stops_what_is_endless() {
    let mut draft = Draft::default();
    let left = draft.cut_source(("read", &[7]), (&[9], 0, None, None));
    let right = draft.cut_source(("streamed", &[5]), (&[], 0, None, None));
    let left = draft.map("burn", 50, left);
    let right = draft.operator("twice", &[-1], &[right]);
    let both = draft.operator("zip", &[], &[left, right]);
    draft.operator("take", &[33], &[both]);
    let output = check(draft, 3);
    assert_eq!(output.records.len(), 99);
    assert_eq!(output.failure, None);
}

#[test]
fn a_failure_that_nobody_comes_to_is_none() {
    let mut draft = Draft::default();
    let source = draft.source("torn", &[200, 150]);
    let failing = draft.map("fail_at", 140, source);
    let taken = draft.operator("take", &[130], &[failing]);
    let more = draft.source("numbers", &[20]);
    draft.operator("cat", &[], &[taken, more]);
    let output = check(draft, 2);
    assert_eq!(output.failure, None);
    assert_eq!(output.records.len(), 300);
}

#[test]
fn what_comes_before_a_record_that_cannot_be_read_comes() {
    for (laps, skip) in [(1, 0), (3, 20)] {
        let mut draft = Draft::default();
        let found = draft.cut_source(("found", &[200, 150]), (&[], skip, None, Some(laps)));
        draft.map("burn", 50, found);
        let output = check(draft, 2);
        let torn = Failure::Io { path: "150".into(), detail: "it is torn".into() };
        assert_eq!(output.failure, Some(torn));
        assert!(output.values().into_iter().eq((skip as i64..150).map(|it| 3 * it + 1)));
    }
}

#[test]
fn empty_streams_end() {
    let mut draft = Draft::default();
    let a = draft.cut_source(("numbers", &[0]), (&[4], 0, None, None));
    let b = draft.cut_source(("streamed", &[0]), (&[], 0, None, None));
    let c = draft.cut_source(("streamed", &[9]), (&[], 9, None, Some(2)));
    let d = draft.source("numbers", &[3]);
    draft.operator("cat", &[], &[a, b, c, d]);
    assert_eq!(check(draft, 3).values(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn the_first_failure_wins() {
    let label = "t.pipe:1:1".to_string();
    let told = |x: i64| Failure::Record {
        label: label.clone(),
        step: "s1".into(),
        id: mix(1000, x as u64),
        record: format!("record {:016x}", mix(1000, x as u64)).into(),
        fault: crate::Fault::new("told", format!("{x} was to fail")),
    };
    let mut draft = Draft::default();
    let source = draft.source("torn", &[200, 150]);
    let failing = draft.map("fail_at", 77, source);
    draft.map("burn", 100, failing);
    let output = check(draft, 2);
    assert_eq!(output.failure, Some(told(77)));
    assert!(output.values().into_iter().eq((0..77).map(|it| 3 * it + 1)));

    let mut draft = Draft::default();
    let source = draft.source("torn", &[200, 50]);
    let failing = draft.map("fail_at", 77, source);
    draft.operator("rechunk", &[], &[failing]);
    let failure = check_failure(draft);
    assert_eq!(failure, Failure::Io { path: "50".into(), detail: "it is torn".into() });
}

fn check_failure(draft: Draft) -> Failure {
    let program = draft.program();
    let of = |workers| run(&program, &options(workers, 7, 0..1)).0.failure.unwrap();
    assert_eq!(of(1), of(8));
    of(3)
}

#[test]
fn a_failure_names_its_stage() {
    let mut draft = Draft::default();
    let source = draft.source("numbers", &[100]);
    draft.operator("twice", &[60], &[source]);
    let expected = Failure::Data { label: "t.pipe:1:1".into(), detail: "60 is bad".into() };
    assert_eq!(check_failure(draft), expected);
    let mut draft = Draft::default();
    let source = draft.source("unplaced", &[200, 150]);
    draft.operator("rechunk", &[], &[source]);
    assert!(matches!(check_failure(draft), Failure::Data { label, .. } if label == "t.pipe:0:1"));
}

#[test]
fn bugs_do_not_hang() {
    let mut draft = Draft::default();
    let source = draft.source("numbers", &[100]);
    draft.map("panic_at", 31, source);
    let Failure::Program(text) = check_failure(draft) else { panic!("a panic is a bug") };
    assert!(text.contains("t.pipe:1:1") && text.contains("bug") && text.contains("told to"));

    let mut draft = Draft::default();
    let source = draft.source("numbers", &[100]);
    draft.operator("greedy", &[], &[source]);
    let Failure::Program(text) = check_failure(draft) else { panic!("greed is a bug") };
    assert!(text.contains("input 0"), "{text}");
}

#[test]
fn batches_are_written_in_place() {
    let batches = |n: u64, of: &str| {
        let mut draft = Draft::default();
        let source = draft.cut_source((of, &[100]), (&[3], 0, None, Some(2)));
        let burnt = draft.map("burn", 100, source);
        draft.batch(n, burnt);
        check(draft, 3)
    };
    for n in [1, 8, 30, 64, 100, 201] {
        let direct = DIRECT.load(Ordering::Relaxed);
        let output = batches(n, "read");
        assert_eq!(output.records.len() as u64, 3 * (200 / n));
        assert_eq!(output.records.iter().filter(|it| it.0 == 2).count() as u64, 200 / n);
        assert!(n == 1 || DIRECT.load(Ordering::Relaxed) > direct, "{n}");
    }
    let mut draft = Draft::default();
    let source = draft.cut_source(("numbers", &[100]), (&[3], 0, None, Some(2)));
    draft.map("burn", 1, source);
    let single = check(draft, 1).values();
    assert_eq!(batches(30, "numbers").values()[..180], single[..180]);
}

#[test]
fn lost_records_are_counted() {
    let mut draft = Draft::default();
    let source = draft.source("numbers", &[300]);
    let some = draft.map("fail_each", 10, source);
    draft.transform(some).on_fault = Policy::Skip { most: 0.1 };
    let program = draft.program();
    for (workers, rows) in [(1, 1), (2, 7), (8, 64)] {
        let (output, stats) = run(&program, &options(workers, rows, 0..2));
        assert_eq!((output.records.len(), output.failure), (540, None));
        assert_eq!(stats.lost["told"], 60);
        // The first of a kind are enough to see what is wrong.
        assert_eq!(stats.lost_records.len(), 8);
        assert_eq!(stats.lost_records[1].fault.detail, "10 was to fail");
        assert_eq!(stats.stages[1].records, 540);
    }
}

#[test]
fn too_many_losses_end_the_run() {
    let lose = |laps, most, between: bool| {
        let mut draft = Draft::default();
        let mut source = draft.cut_source(("streamed", &[300]), (&[], 0, None, laps));
        if between {
            source = draft.operator("rechunk", &[], &[source]);
        }
        let some = draft.map("fail_each", 10, source);
        draft.transform(some).on_fault = Policy::Skip { most };
        check_failure(draft)
    };
    // Where the count of the source is not known before the end, and where it never ends.
    let cases =
        [(Some(1), 0.05, false, "30 of 300 records"), (None, 0.001, true, "of 1,048,576 records")];
    for (laps, most, between, expected) in cases {
        let Failure::Budget { label, detail } = lose(laps, most, between) else { panic!() };
        assert_eq!(label, if between { "t.pipe:2:1" } else { "t.pipe:1:1" });
        assert!(detail.contains(expected) && detail.contains("skip(most: "), "{detail}");
    }
    let mut draft = Draft::default();
    let source = draft.source("numbers", &[1 << 40]);
    let all = draft.map("fail_each", 1, source);
    draft.transform(all).on_fault = Policy::Skip { most: 1e-9 };
    let Failure::Budget { detail, .. } = check_failure(draft) else { panic!() };
    assert!(detail.contains(" of 1,099,511,627,776 records failed"), "{detail}");
}

#[test]
fn who_needs_no_more_does_not_hang_on_too_many_losses() {
    let mut draft = Draft::default();
    let source = draft.cut_source(("streamed", &[40]), (&[], 0, None, Some(1)));
    let some = draft.map("fail_each", 10, source);
    draft.transform(some).on_fault = Policy::Skip { most: 0.05 };
    // While it is at work, all of the epoch comes to it, the failure at its end too.
    let slow = draft.map("burn", 20_000, some);
    draft.operator("take", &[3], &[slow]);
    let program = draft.program();
    for _ in 0..200 {
        let output = run(&program, &options(2, 20, 0..3)).0;
        assert_eq!((output.records.len(), output.failure), (9, None));
    }
}

#[test]
fn nothing_starts_before_it_is_asked_and_nothing_is_left() {
    let mut draft = Draft::default();
    let source = draft.cut_source(("read", &[100]), (&[], 0, None, None));
    draft.map("burn", 1, source);
    let mut run = begin(&draft.program(), &options(3, 4, 0..1));
    let shared = std::sync::Arc::downgrade(&run.shared);
    assert_eq!((shared.strong_count(), run.stats().stages[0].tasks), (1, 0));
    assert!(run.next().unwrap().is_ok());
    // Each thread holds it as long as it lives.
    assert_eq!(shared.strong_count(), 6);
    drop(run);
    assert_eq!(shared.strong_count(), 0);
}

#[test]
fn a_stop_does_not_wait_for_a_task() {
    let mut draft = Draft::default();
    draft.source("gated", &[]);
    let mut run = begin(&draft.program(), &options(1, 4, 0..1));
    let stopper = run.stopper();
    let stopping = thread::spawn(move || stopper.stop());
    let (last, nothing) = (run.next(), run.next().is_none());
    *GATE.0.lock().unwrap() = true;
    GATE.1.notify_all();
    stopping.join().unwrap();
    assert_eq!(last.unwrap().unwrap_err(), Failure::Stopped);
    assert!(nothing);
}

#[test]
fn what_waits_is_bounded() {
    let mut draft = Draft::default();
    let source = draft.cut_source(("numbers", &[1000]), (&[], 0, None, None));
    let burnt = draft.map("burn", 0, source);
    let some = draft.operator("rechunk", &[], &[burnt]);
    draft.operator("twice", &[-1], &[some]);
    let program = draft.program();
    // A chunk of 1024 records has 16 KiB.
    let memory = 1 << 20;
    let options = Options { memory, ..options(4, 1024, 0..1) };
    let mut run = begin(&program, &options);
    for _ in 0..200 {
        run.next().unwrap().unwrap();
    }
    let stats = quiet(&run);
    assert!(stats.in_flight_peak <= memory, "{}", stats.in_flight_peak);
    assert!(stats.in_flight_peak >= memory / 8, "{}", stats.in_flight_peak);
}

#[test]
fn all_workers_have_work_however_small_a_batch_is() {
    // Two batches of 4 records would keep 8 of 16 workers busy.
    let mut draft = Draft::default();
    let source = draft.cut_source(("numbers", &[64]), (&[], 0, None, Some(1)));
    let met = draft.map("meet", 16, source);
    draft.batch(4, met);
    // Memory for 20 batches of 32 bytes, which are so made one by one.
    // What is planned with, not what is held: buffers have 256 bytes at the least.
    let bound = Some(1 << 20);
    let options = Options { memory: 640, bound, chunk_rows: None, ..options(16, 1, 0..1) };
    let (output, _) = run(&draft.program(), &options);
    assert_eq!(output.failure, None);
    assert_eq!(output.values(), (0..64).collect::<Vec<_>>());
}

#[test]
fn all_workers_write_into_a_large_batch() {
    // A task of the first batch has claimed all of it: no other one is held to take as much.
    let mut draft = Draft::default();
    let source = draft.cut_source(("numbers", &[4 * LATE]), (&[], 0, None, Some(1)));
    let met = draft.map("meet_late", 16, source);
    draft.batch(LATE as u64, met);
    // A batch has 1 MiB.
    let options = Options { memory: 10 << 20, ..options(16, 4096, 0..1) };
    let (output, _) = run(&draft.program(), &options);
    assert_eq!(output.failure, None);
}

#[test]
fn what_the_consumer_gives_back_is_used_at_once() {
    // A record of the second batch waits for one of the third, which begins once the first is given back.
    let mut draft = Draft::default();
    let source = draft.cut_source(("numbers", &[8]), (&[], 0, None, Some(1)));
    let following = draft.map("follow", 4, source);
    draft.batch(2, following);
    // Planned with memory for two batches of 16 bytes under way, and the consumer's.
    let bound = Some(1 << 20);
    let options = Options { memory: 96, bound, ..options(2, 1, 0..1) };
    let batches = begin(&draft.program(), &options).map(|chunk| {
        let chunk = chunk.expect("nothing fails");
        // By then the worker that has nothing to do sleeps.
        thread::sleep(Duration::from_millis(50));
        chunk.rows
    });
    assert_eq!(batches.sum::<usize>(), 4);
}

#[test]
fn epochs_of_which_a_rank_gets_nothing_end_one_by_one() {
    let mut draft = Draft::default();
    let source = draft.cut_source(("numbers", &[100]), (&[], 0, None, Some(1)));
    let burnt = draft.map("burn", 0, source);
    draft.batch(64, burnt);
    let mut program = draft.program();
    program.deal =
        Deal { stage: source, rows: 64, windows: None, keeps_tail: false, valid: None, own: None };
    for workers in [1, 2] {
        let rank = Rank { rank: 1, world: 2, ..Rank::default() };
        let options = Options { rank, ..options(workers, 16, 0..u32::MAX) };
        let mut run = begin(&program, &options);
        for epoch in 0..100 {
            match run.step(None) {
                Step::EpochEnd(it) => assert_eq!(it, epoch),
                Step::Failed(failure) => panic!("{failure}"),
                _ => panic!("a rank that gets nothing was given something"),
            }
        }
    }
}

#[test]
fn no_more_compute_than_there_are_cores() {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut draft = Draft::default();
    let source = draft.cut_source(("numbers", &[200]), (&[], 0, None, Some(1)));
    draft.map("crowd", 1000, source);
    let (output, _) = run(&draft.program(), &options(8 * cores, 1, 0..1));
    let crowd = output.values().into_iter().max().unwrap();
    assert!(crowd <= 2 * cores as i64, "{crowd} at once on {cores} cores");
}

#[test]
fn few_batches_are_under_way() {
    let mut draft = Draft::default();
    let source = draft.cut_source(("numbers", &[1000]), (&[], 0, None, None));
    let burnt = draft.map("burn", 0, source);
    draft.batch(1 << 17, burnt);
    // A batch has 1 MiB: memory for two, the consumer's and the one that is being made. The operator of
    // these tests copies the ids of what it joins, which is not planned with.
    let mut options = options(4, 4096, 0..1);
    (options.memory, options.bound) = (5 << 19, Some(8 << 20));
    let mut run = begin(&draft.program(), &options);
    for _ in 0..5 {
        run.next().unwrap().unwrap();
    }
    let stats = quiet(&run);
    assert!(stats.stages[1].records <= 6 << 17, "{stats:?}");
}

/// Trees of all that there is, by chance.
fn grow(draft: &mut Draft, seed: u64, depth: u64) -> StageId {
    let pick = |n: u64, of: u64| mix(mix(seed, depth), n) % of;
    let args = [1 + pick(1, 60) as i64];
    if depth == 0 {
        let entry = ["numbers", "streamed", "found", "read"][pick(2, 4) as usize];
        let shuffles: &[u64] = if pick(3, 2) == 0 { &[] } else { &[8] };
        let laps = Some(1 + pick(4, 3));
        return draft.cut_source((entry, &args), (shuffles, pick(5, 10), Some(40), laps));
    }
    let input = grow(draft, mix(seed, 1), depth - 1);
    match pick(6, 9) {
        0 => draft.map("burn", 20, input),
        1 => {
            let some = draft.map("fail_each", 3, input);
            draft.transform(some).on_fault = Policy::Skip { most: 1.0 };
            some
        }
        2 => draft.operator("rechunk", &[], &[input]),
        3 => draft.operator("twice", &[-1], &[input]),
        4 => draft.operator("take", &args, &[input]),
        5 => draft.map("fail_at", 11, input),
        it => {
            let other = grow(draft, mix(seed, 2), depth - 1);
            draft.operator(if it > 6 { "zip" } else { "cat" }, &[], &[input, other])
        }
    }
}

#[test]
fn any_tree_gives_the_same_however_it_is_run() {
    for seed in 0..400 {
        let mut draft = Draft::default();
        let root = grow(&mut draft, seed, 1 + seed % 5);
        if seed % 3 == 0 {
            let batch = draft.batch(1 + seed % 9, root);
            draft.operator("take", &[1 + seed as i64 % 4], &[batch]);
        }
        assert!(draft.last() >= root);
        let program = draft.program();
        let expected = run(&program, &options(1, 1000, 0..3)).0;
        for (workers, rows) in [(1, 1), (2, 3), (5, 11)] {
            let (output, stats) = run(&program, &options(workers, rows, 0..3));
            assert_eq!(output, expected, "{seed}: {workers} workers, {rows} records");
            assert!(output.failure.is_some() || stats.in_flight == 0, "{seed}");
        }
    }
}
