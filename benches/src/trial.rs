//! Runs of programs for a while: how fast they are.

use compiler::caches::{Occasion, SAVES_MIN, candidates, choose};
use driver::{
    Compiled, Loaded, Settings, Stop,
    profile::{self, Measuring},
};
use plan::{Program, StageId};
use runtime::{Cache, CachePoint, Kernels, Options};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// How a program is run.
#[derive(Default)]
pub(crate) struct Way {
    /// Threads that compute.
    pub(crate) workers: usize,
    /// Threads that may work in a stage, by its place.
    pub(crate) caps: BTreeMap<usize, usize>,
    /// Values that are kept from epoch to epoch.
    pub(crate) kept: Vec<CachePoint>,
    /// Records of a chunk; as the plan says if none.
    pub(crate) chunk_rows: Option<usize>,
    /// The shortest time between two outputs that the consumer takes, in seconds.
    pub(crate) consumer: f64,
}

/// Compiles the pipeline of `text` that no other uses.
pub(crate) fn compiled(text: &str) -> Compiled {
    let loaded = Loaded::from_text(Path::new("trial.pipe"), text.to_owned());
    driver::compile(&loaded, &Settings::default()).unwrap_or_else(|it| panic!("{text}\n{it:#?}"))
}

/// The program of which each step is a stage of its own.
pub(crate) fn apart(compiled: &Compiled) -> Program {
    let library = stdlib::library();
    compiler::lower::lower_apart(&compiled.optimised.plan, &library, &|_| String::new())
        .expect("what was compiled can be lowered")
}

/// What is kept of it in so much memory, once it has been measured for a while.
pub(crate) fn chosen(compiled: &Compiled, workers: usize, room: u64) -> Vec<CachePoint> {
    let measuring = Measuring { workers, memory: 4 << 30, seconds: 3.0 };
    let profile = profile::measure(compiled, &measuring, &Stop::default(), &mut |_| {});
    let measured = profile.expect("it can be run").measured;
    let library = stdlib::library();
    let found = candidates(&compiled.optimised.plan, &library, (Some(&measured), SAVES_MIN));
    let occasion = Occasion { passes: 100.0, room, ..Occasion::default() };
    let choices = choose(found.expect("what was compiled can be looked at"), &occasion);
    let kept = choices.into_iter().filter(|it| it.kept);
    kept.map(|it| driver::cache_point(&it.candidate, Arc::new(Cache::new(it.limit)))).collect()
}

/// Outputs in a second, after `warm` outputs, over `seconds`.
pub(crate) fn rate(program: &Program, way: Way, (warm, seconds): (u64, f64)) -> f64 {
    let options = Options {
        workers: way.workers,
        readers: 8,
        memory: 4 << 30,
        epochs: 0..u32::MAX,
        chunk_rows: way.chunk_rows,
        caps: way.caps,
        ..Options::default()
    };
    let kernels: &dyn Kernels = &stdlib::Kernels;
    let mut run = runtime::start(program, kernels, &options).expect("it can be run");
    run.keep(&way.kept).expect("what is kept is in the program");
    let pause = Duration::from_secs_f64(way.consumer);
    let (mut outputs, mut since) = (0, Instant::now());
    for chunk in &mut run {
        let begin = Instant::now();
        outputs += chunk.expect("nothing fails").rows as u64;
        if outputs == warm {
            since = Instant::now();
        }
        if outputs > warm && since.elapsed().as_secs_f64() >= seconds {
            break;
        }
        std::thread::sleep(pause.saturating_sub(begin.elapsed()));
    }
    (outputs - warm) as f64 / since.elapsed().as_secs_f64()
}

/// The place of the stage that does `step`.
pub(crate) fn stage(program: &Program, step: &str) -> StageId {
    let found = program.stages.iter().find(|(_, it)| it.steps.iter().any(|it| it.ends_with(step)));
    found.unwrap_or_else(|| panic!("no step `{step}`")).0
}
