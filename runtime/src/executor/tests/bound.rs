//! Runs within a bound: what is put off and then done alone, what waits, and what a run that ends says.

use super::{library::SWELLS, *};
use crate::{
    Build, BuildOperator, BuildSource, Cache, CachePoint, ForeignFunction, Kernels, Outside,
    memory::{Manner, enter, task},
};
use plan::{Arg, Expr, ExprId, Foreign, Type, parts::Keep};
use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

/// What the records of `swell` need: more than a task has that can be put off, and less than one has
/// that is alone in a run of [`BOUND`].
const SWOLLEN_KIB: i64 = 7400;
const BOUND: u64 = 8 << 20;

fn swelling(kib: i64, batch: Option<u64>) -> Program {
    let mut draft = Draft::default();
    let source = draft.cut_source(("numbers", &[300]), (&[], 0, None, Some(1)));
    let swollen = draft.map("swell", kib, source);
    if let Some(n) = batch {
        draft.batch(n, swollen);
    }
    draft.program()
}

#[test]
fn what_is_put_off_is_done_alone_and_gives_the_same() {
    for batch in [None, Some(10)] {
        let (wide, narrow) = (swelling(0, batch), swelling(SWOLLEN_KIB, batch));
        for (workers, world) in [(1, 1), (2, 1), (8, 1), (2, 2), (8, 3)] {
            for rank in 0..world {
                let rank = Rank { rank, world, ..Rank::default() };
                let options = Options { rank, ..options(workers, 16, 0..2) };
                let (expected, _) = run(&wide, &options);
                let before = SWELLS.load(Ordering::SeqCst);
                let (output, _) = run(&narrow, &Options { memory: BOUND, ..options });
                assert_eq!(output, expected, "{workers} workers, {rank:?}, {batch:?}");
                assert_eq!(output.failure, None);
                // Each is asked for at least twice, since none has room beside the others.
                let n_swollen = output.values().iter().filter(|it| **it / 2 % 37 == 5).count();
                let asked = SWELLS.load(Ordering::SeqCst) - before;
                assert!(asked >= 2 * n_swollen && n_swollen > 1, "{asked} of {n_swollen}");
            }
        }
    }
}

#[test]
fn what_has_no_room_even_alone_ends_the_run() {
    for workers in [1, 2, 8] {
        let options = Options { memory: BOUND, ..options(workers, 16, 0..1) };
        let (output, _) = run(&swelling(9000, None), &options);
        let failure = output.failure.expect("it does not fit").to_string();
        assert!(failure.contains("needs 9.2 MB more memory"), "{failure}");
        assert!(output.records.len() <= 16, "{} came before", output.records.len());
    }
}

#[test]
fn what_is_done_again_counts_its_look_ups_once() {
    for workers in [1, 2, 8] {
        let mut draft = Draft::default();
        let source = draft.cut_source(("numbers", &[300]), (&[], 0, None, Some(1)));
        let stage = draft.map("burn", 0, source);
        let transform = draft.transform(stage);
        let (burnt, ..) = transform.graph.iter().last().expect("it calls");
        let args = vec![Arg::Expr(burnt), Arg::Int(SWOLLEN_KIB)];
        let swollen = Expr::Call { function: "swell".into(), args, draw: None };
        let swollen = transform.graph.add(swollen, Type::scalar(plan::DType::I64));
        transform.outputs = plan::Records::Listed(vec![vec![swollen]]);
        let cache = Arc::new(Cache::new(1 << 16));
        let point = |node: ExprId| CachePoint {
            stage,
            node,
            keep: Keep::Value,
            key: vec![0],
            name: 7,
            spares: Vec::new(),
            cache: cache.clone(),
        };
        let options = Options { memory: BOUND, ..options(workers, 16, 0..2) };
        let mut run = begin(&draft.program(), &options);
        run.keep(&[point(burnt)]).unwrap();
        let n: usize = (&mut run).map(|it| it.unwrap().rows).sum();
        let stats = cache.stats();
        assert_eq!((n, stats.hits + stats.misses), (600, 600), "{stats:?}");
    }
}

#[test]
fn batches_that_the_consumer_keeps_are_named() {
    let mut draft = Draft::default();
    let source = draft.cut_source(("numbers", &[1000]), (&[], 0, None, None));
    draft.map("burn", 0, source);
    let options = Options { memory: 1 << 20, ..options(2, 1024, 0..1) };
    let mut run = begin(&draft.program(), &options);
    let mut kept = Vec::new();
    let failure = loop {
        match run.next().unwrap() {
            Ok(chunk) => kept.push(chunk),
            Err(failure) => break failure.to_string(),
        }
    };
    let rows = plan::count(kept.iter().map(|it| it.rows as u64).sum());
    let bytes = plan::shown_bytes(kept.iter().map(|it| it.bytes() as u64).sum());
    assert!(kept.len() > 10, "{failure}");
    let told = format!("The consumer still holds {rows} records ({bytes})");
    assert!(failure.contains(&told), "{failure}\n{told}");
}

/// The library, with functions that are called in a process.
#[derive(Debug)]
struct Pooled;

impl Kernels for Pooled {
    fn function(&self, name: &str) -> Option<Build> {
        Library.function(name)
    }

    fn operator(&self, name: &str) -> Option<BuildOperator> {
        Library.operator(name)
    }

    fn source(&self, name: &str) -> Option<BuildSource> {
        Library.source(name)
    }

    fn outside(&self) -> Option<Arc<dyn Outside>> {
        Some(Arc::new(Self))
    }
}

impl Outside for Pooled {
    fn function(&self, _: &Foreign, _: plan::DType) -> Result<Arc<dyn ForeignFunction>, Failure> {
        Err(Failure::Stopped)
    }

    fn processes(&self) -> usize {
        1
    }

    fn during(&self, work: &mut dyn FnMut()) {
        work();
    }
}

/// One has the process and waits for memory, the other waits for the process: nobody is at work.
#[test]
fn who_waits_for_a_process_is_not_at_work() {
    let (told, heard) = mpsc::channel();
    thread::spawn(move || {
        let mut draft = Draft::default();
        let source = draft.cut_source(("numbers", &[1000]), (&[], 0, None, Some(1)));
        let first = draft.map("pooled", 0, source);
        let second = draft.map("pooled", 1, first);
        draft.transform(first).foreign = true;
        draft.transform(second).foreign = true;
        let options = Options { memory: 4 << 20, ..options(2, 8, 0..1) };
        let mut run = start(&draft.program(), &Pooled, &options).unwrap();
        let failure = run.find_map(Result::err);
        let _ = told.send(failure.map(|it| it.to_string()));
    });
    let failure = heard.recv_timeout(Duration::from_secs(60)).expect("it does not wait for ever");
    let failure = failure.expect("there is no such memory");
    assert!(failure.contains("more memory"), "{failure}");
}

#[test]
fn offsets_of_texts_count_as_the_runs() {
    let pool = crate::Pool::within(64 << 20);
    enter(&pool, 0);
    let column = task(Manner::Alone, || {
        let mut texts = crate::Builder::new(&Type::scalar(plan::DType::Str), 1, &pool);
        (0..100_000).for_each(|_| texts.push_text(b""));
        texts.finish()
    });
    // Twelve bytes of each, and some to grow.
    assert!((1_200_000..3_000_000).contains(&pool.used()), "{}", pool.used());
    drop(column);
    assert_eq!(pool.used(), 0);
}
