//! Measuring: a pipeline is run into nothing until its rate has settled.

use crate::{
    session::{
        compiled::Compiled,
        measured::{Course, Profile},
        run::{self, Stop},
        samples::{self, SampleProgress},
    },
    tools::noise::Noise,
};
use model::{
    converge::{Converging, Next},
    under_way,
};
use plan::Program;
use runtime::{Failure, Stats, Step, os, reads, tokens};
use std::time::{Duration, Instant};

/// The shortest time in which a rate is taken to settle, in seconds.
const LEAST_SECONDS: f64 = 3.0;

/// How a pipeline is measured.
#[derive(Debug, Clone)]
pub struct Measuring {
    /// Threads that compute.
    pub workers: usize,
    /// Bytes that the run may take.
    pub memory: u64,
    /// Whether they are for the whole process, which does little else.
    pub whole_process: bool,
    /// The longest that it may take, in seconds.
    pub seconds: f64,
    /// The shortest time in which its rate is taken to settle, in seconds.
    pub least: f64,
}

impl Measuring {
    /// The shortest time for a measurement of so many seconds at the most, where nobody compares it with
    /// another.
    pub fn least_of(seconds: f64) -> f64 {
        (seconds / 4.0).min(LEAST_SECONDS)
    }
}

/// The share of the shortest time in which a run warms up,
const WARM_UP: f64 = 0.2;
/// and the chunks that come meanwhile. Where fewer have come in all of that time, it is measured as well:
/// a stage may have done nothing since.
const FEW: usize = 4;

/// Runs `compiled`, its output into nothing, until its rate has settled within 1%, and measures it;
/// nothing is kept from epoch to epoch.
///
/// # Errors
/// Those of the run; it was stopped.
pub fn measure(
    compiled: &Compiled,
    measuring: &Measuring,
    stop: &Stop,
    sample: &mut dyn FnMut(&SampleProgress),
) -> Result<Profile, Failure> {
    let mut program = compiled.program.clone();
    samples::resolve(&mut program, sample)?;
    let options = runtime::Options {
        workers: measuring.workers,
        readers: under_way::readers(measuring.workers),
        memory: measuring.memory,
        process_memory: measuring.whole_process.then_some(measuring.memory),
        epochs: 0..u32::MAX,
        ..runtime::Options::default()
    };
    let mut run = runtime::start(&program, &*compiled.kernels()?, &options)?;
    stop.arm(Some(run.stopper()))?;
    let least = measuring.least;
    let mut converging = Converging::within(least, measuring.seconds);
    let mut course = Course { workers: measuring.workers, ..Course::default() };
    let (mut reads_before, mut cpu_before) = (reads::so_far(), os::process_cpu());
    let (begun, mut given) = (Instant::now(), 0);
    let (mut since, mut before, noise) = (None, Stats::default(), Noise::begin());
    loop {
        let chunk = match run.step(None) {
            Step::Chunk(chunk) => chunk,
            // The next one would be the same, and so on for ever.
            Step::EpochEnd(_) if given == 0 => return Err(nothing_came(&program)),
            Step::EpochEnd(_) | Step::Waiting => continue,
            Step::Failed(failure) => return Err(failure),
            Step::Over => break,
        };
        let Some(since) = since else {
            // From the first batch on: what comes before it is not the rate. Where many come, from
            // when memory, files and code have been touched.
            given += 1;
            let elapsed = begun.elapsed().as_secs_f64();
            if elapsed >= least || elapsed >= least * WARM_UP && given >= FEW {
                course.cpu = os::process_cpu();
                before = run.stats();
                if given < FEW {
                    before.stages.clear();
                } else {
                    (reads_before, cpu_before) = (reads::so_far(), course.cpu);
                }
                since = Some(Instant::now());
            }
            continue;
        };
        course.outputs += chunk.rows as u64;
        course.records += run::records_of(&program, &chunk) as u64;
        course.elapsed = since.elapsed();
        match converging.look(course.elapsed.as_secs_f64(), course.outputs) {
            Next::GoOn => {}
            Next::Settled => {
                course.settled = true;
                break;
            }
            Next::OutOfTime => break,
        }
    }
    course.others = noise.others();
    let cpu = os::process_cpu().and_then(|it| it.checked_sub(cpu_before?));
    let stats = with_executor(run.stats().since(&before), cpu);
    course.reads = reads::so_far().since(reads_before);
    // Threads that are still at work are stopped here, so that nothing disturbs what comes next.
    drop(run);
    Ok(Profile::of(compiled, &stats, &course))
}

fn nothing_came(program: &Program) -> Failure {
    let name = &program.name;
    Failure::Program(match program.batched {
        true => format!(
            "`{name}` has no batches in an epoch, so there is nothing to measure: make its \
             batches smaller, or use `tail: keep`"
        ),
        false => format!("`{name}` has no records in an epoch, so there is nothing to measure"),
    })
}

/// What a task costs the executor at the most, in seconds: a queue, a lock, a thread that wakes up.
/// Assumed.
const TASK_SECONDS: f64 = 1e-6;

/// The figures with what nobody measures of them, so that the processor times of the stages are together
/// the `cpu` of the process, which did nothing else: what a task costs by their tasks, and what the system
/// does meanwhile, such as to find pages and to switch threads, by their processor times.
fn with_executor(mut stats: Stats, cpu: Option<Duration>) -> Stats {
    // On virtual cores it is the waking and the falling asleep.
    if tokens::cores().is_some() {
        return stats;
    }
    let seen: f64 = stats.stages.iter().map(|it| it.cpu.as_secs_f64()).sum();
    let tasks: u64 = stats.stages.iter().map(|it| it.tasks).sum();
    let other = (cpu.unwrap_or_default().as_secs_f64() - seen).max(0.0);
    let by_task = other.min(tasks as f64 * TASK_SECONDS);
    let (task, second) = (by_task / tasks.max(1) as f64, (other - by_task) / seen.max(1e-9));
    for it in &mut stats.stages {
        let own = task * it.tasks as f64 + second * it.cpu.as_secs_f64();
        it.cpu += Duration::from_secs_f64(own);
    }
    stats
}
