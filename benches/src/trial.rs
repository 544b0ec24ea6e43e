//! Runs of programs for a while: how fast they are, and what is measured of them.

use compiler::{
    caches::{Occasion, SAVES_MIN, candidates},
    estimate::{Outlook, choose},
    explain::Explanation,
};
use driver::{
    Circumstances, Compiled, Loaded, Profile, Settings, Stop,
    profile::{self, Measuring},
};
use plan::{Index, Program, StageId};
use runtime::{Cache, CachePoint, Kernels, Options, Run, Stats, os, reads, tokens};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// Bytes that a run may take.
pub(crate) const MEMORY: u64 = 2 << 30;

/// A machine that is not there, for as long as this lives.
pub(crate) struct Virtual;

impl Virtual {
    /// So many cores, each so many times slower; bytes a second that may be read.
    pub(crate) fn begin((cores, slower): (usize, f64), disk: Option<u64>) -> Self {
        tokens::virtual_cores(Some(cores), slower);
        reads::hold_back(disk);
        Self
    }

    /// The cores that are here, and a disk of so many bytes a second.
    pub(crate) fn disk(bytes_per_second: u64) -> Self {
        reads::hold_back(Some(bytes_per_second));
        Self
    }
}

impl Drop for Virtual {
    fn drop(&mut self) {
        tokens::virtual_cores(None, 1.0);
        reads::hold_back(None);
    }
}

/// How a program is run.
#[derive(Clone)]
pub(crate) struct Way {
    /// Threads that compute.
    pub(crate) workers: usize,
    /// Threads that may work in a stage, by its place.
    pub(crate) caps: BTreeMap<usize, usize>,
    /// Values that are kept from epoch to epoch.
    pub(crate) kept: Vec<CachePoint>,
    /// Records of a chunk; as the plan says if none.
    pub(crate) chunk_rows: Option<usize>,
    /// The time that the consumer takes for each output.
    pub(crate) consumer: Duration,
    /// Whether it is measured where the time goes.
    pub(crate) measured: bool,
    /// Bytes that it may take.
    pub(crate) memory: u64,
}

impl Way {
    /// So many threads, and all else as usual.
    pub(crate) fn workers(workers: usize) -> Self {
        Self {
            workers,
            caps: BTreeMap::new(),
            kept: Vec::new(),
            chunk_rows: None,
            consumer: Duration::ZERO,
            measured: true,
            memory: MEMORY,
        }
    }
}

/// Compiles the pipeline of `text` that no other uses.
pub(crate) fn compiled(text: &str) -> Compiled {
    let loaded = Loaded::from_text(Path::new("trial.pipe"), text.to_owned());
    driver::compile(&loaded, &Settings::default()).unwrap_or_else(|it| panic!("{text}\n{it:#?}"))
}

/// The training pipeline of the example, on images of the usual size, where they are here.
pub(crate) fn images() -> Option<Compiled> {
    images_text().map(|it| compiled(&it))
}

/// How it is written.
pub(crate) fn images_text() -> Option<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join("../shared/data/images/imagenet");
    let text = std::fs::read_to_string(root.join("examples/imagenet.pipe")).ok()?;
    let own = "sample:images?count=1000";
    let text = text.replace(own, &folder.display().to_string());
    let train = text.split("pipeline val").next().unwrap_or_default();
    folder.exists().then(|| train.to_owned())
}

/// The program of which each step is a stage of its own.
pub(crate) fn apart(compiled: &Compiled) -> Program {
    let library = stdlib::library();
    compiler::lower::lower_apart(&compiled.optimised.plan, &library, &|_| String::new())
        .expect("what was compiled can be lowered")
}

/// What is measured of it in so many seconds at the most.
pub(crate) fn profile(compiled: &Compiled, workers: usize, seconds: f64) -> Profile {
    let measuring = Measuring {
        workers,
        memory: MEMORY,
        whole_process: false,
        seconds,
        least: Measuring::least_of(seconds),
    };
    profile::measure(compiled, &measuring, &Stop::default(), &mut |_| {}).expect("it can be run")
}

/// What the model says of it under `circumstances`.
pub(crate) fn explained(compiled: &Compiled, circumstances: &Circumstances) -> Explanation {
    let planned = compiled.clone().planned(circumstances, &mut |_| {});
    planned.expect("it can be looked at").explanation()
}

/// The bounds in it.
pub(crate) fn outlook(explanation: &Explanation) -> &Outlook {
    explanation.outlook.as_ref().expect("it is a tree")
}

/// What is kept of it in so much memory, with the costs of `profile`.
pub(crate) fn chosen(compiled: &Compiled, profile: &Profile, room: u64) -> Vec<CachePoint> {
    let library = stdlib::library();
    let costs = (Some(&profile.measured), SAVES_MIN);
    let found = candidates(&compiled.optimised.plan, &library, costs);
    let occasion = Occasion { passes: 100.0, room, ..Occasion::default() };
    let of = Circumstances { profile: Some(profile.clone()), ..Circumstances::default() };
    let compiled = compiled.clone().under(&of);
    let (plan, estimate) = (&compiled.optimised.plan, &compiled.optimised.estimate);
    let found = (found.expect("what was compiled can be looked at"), &occasion);
    let choices = choose(plan, &library, (estimate, &compiled.plain_view()), found);
    let kept = choices.into_iter().filter(|it| it.kept);
    kept.map(|it| driver::cache_point(&it.candidate, Arc::new(Cache::new(it.limit)))).collect()
}

/// What was seen of a run between its first outputs and its end.
pub(crate) struct Seen {
    /// Outputs in a second; of virtual cores, as theirs would be.
    pub(crate) rate: f64,
    /// Processor time of the process for an output, in seconds.
    pub(crate) cpu: f64,
    /// Bytes that were read for an output.
    pub(crate) bytes: f64,
    /// What the run says of itself, from its start.
    pub(crate) stats: Stats,
}

/// Outputs in a second, after `warm` outputs, over `seconds`.
pub(crate) fn rate(program: &Program, way: &Way, span: (u64, f64)) -> f64 {
    watch(program, way, span).rate
}

/// Runs it for `warm` outputs, and then watches it for `seconds`.
pub(crate) fn watch(program: &Program, way: &Way, (warm, seconds): (u64, f64)) -> Seen {
    let mut run = start(program, way, 0..u32::MAX);
    let now = || (Instant::now(), os::process_cpu().unwrap_or_default(), reads::so_far());
    let (mut outputs, mut since, mut overslept) = (0, now(), Duration::ZERO);
    for chunk in run.by_ref() {
        let begin = Instant::now();
        let before = outputs;
        outputs += chunk.expect("nothing fails").rows as u64;
        if before < warm && outputs >= warm {
            since = now();
            outputs = warm;
        }
        if outputs > warm && since.0.elapsed().as_secs_f64() >= seconds {
            break;
        }
        std::thread::sleep(way.consumer.saturating_sub(overslept));
        overslept = (overslept + begin.elapsed()).saturating_sub(way.consumer);
    }
    let (end, cpu, _) = now();
    let n = outputs.saturating_sub(warm).max(1) as f64;
    Seen {
        rate: n / (end - since.0).as_secs_f64() * tokens::slower(),
        cpu: (cpu - since.1).as_secs_f64() / n,
        bytes: read(since.2) / n,
        stats: run.stats(),
    }
}

/// Bytes that were read since `before`, of files and of what is kept on disk.
pub(crate) fn read(before: reads::Reads) -> f64 {
    let since = reads::so_far().since(before);
    (since.bytes + since.cached) as f64
}

/// Begins to run it.
pub(crate) fn start(program: &Program, way: &Way, epochs: std::ops::Range<u32>) -> Run {
    let options = Options {
        workers: way.workers,
        readers: model::under_way::readers(way.workers),
        memory: way.memory,
        epochs,
        chunk_rows: way.chunk_rows,
        caps: way.caps.clone(),
        measured: way.measured,
        ..Options::default()
    };
    let kernels: &dyn Kernels = &stdlib::Kernels;
    let mut run = runtime::start(program, kernels, &options).expect("it can be run");
    run.keep(&way.kept).expect("what is kept is in the program");
    run
}

/// Does `work` while the calling thread, and all that it starts, have one core.
pub(crate) fn on_one_core<T>(work: impl FnOnce() -> T) -> T {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let all = sched_getaffinity(None).expect("a thread has cores");
    let mut one = CpuSet::new();
    one.set((0..CpuSet::MAX_CPU).find(|it| all.is_set(*it)).unwrap_or(0));
    sched_setaffinity(None, &one).expect("it may have one of its cores");
    let done = work();
    sched_setaffinity(None, &all).expect("it had them before");
    done
}

/// The place of the stage that does `step`.
pub(crate) fn stage(program: &Program, step: &str) -> StageId {
    let found = program.stages.iter().find(|(_, it)| it.steps.iter().any(|it| it.ends_with(step)));
    found.unwrap_or_else(|| panic!("no step `{step}`")).0
}

/// So many threads for the steps `map#1`, `map#2`, … of a program whose steps are apart.
pub(crate) fn caps(program: &Program, workers: &[u32]) -> BTreeMap<usize, usize> {
    let cap =
        |(i, n): (usize, &u32)| (stage(program, &format!("map#{}", i + 1)).row(), *n as usize);
    workers.iter().enumerate().map(cap).collect()
}

/// The place of the largest.
pub(crate) fn most(all: &[f64]) -> usize {
    (0..all.len()).max_by(|a, b| all[*a].total_cmp(&all[*b])).unwrap_or(0)
}

/// The one in the middle.
pub(crate) fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
