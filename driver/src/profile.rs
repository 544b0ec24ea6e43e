//! Profiles: what was measured of a run, with the program that was run, in one file.

use crate::{
    Compiled, SampleProgress, Stop, machine, noise::Noise, run, samples, whole, written::damaged,
};
use compiler::explain::{Comparison, Observed};
use model::{
    converge::{Converging, Next},
    under_way,
};
use plan::{Measured, Program, StageMeasured};
use runtime::{
    Failure, StageStats, Stats, Step, os,
    reads::{self, Reads},
    tokens,
};
use serde::{Deserialize, Serialize};
use std::{
    ops::RangeInclusive,
    path::Path,
    time::{Duration, Instant},
};

/// The number of this form; a file of another form is refused.
const FORMAT: u32 = 1;

/// What was measured of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Always [`FORMAT`].
    format: u32,
    /// The pipec that has written it.
    pub version: String,
    /// The pipeline's name.
    pub pipeline: String,
    /// The plan, as a hash of what is computed.
    pub plan: String,
    /// What runs, whole: it can be run again.
    pub program: Program,
    /// What was measured of its stages.
    pub measured: Measured,
    /// Threads that computed.
    pub workers: usize,
    /// Cores that the process could use.
    pub cores: usize,
    /// From the first batch to the end, in seconds.
    pub seconds: f64,
    /// Batches in that time; records, where the pipeline ends without `batch`.
    pub outputs: u64,
    /// Records in them.
    pub records: u64,
    /// Processor time of the process in that time, in seconds.
    pub process_seconds: Option<f64>,
    /// Cores that others kept busy meanwhile.
    #[serde(default)]
    pub others: Option<f64>,
    /// Time that the consumer waited, in seconds.
    pub stalled_seconds: f64,
    /// Chunks by how long the consumer waited for each: up to 50 µs, 1 ms, 100 ms, and longer.
    #[serde(default)]
    pub stalls: [u64; 4],
    /// Calls that read records, in the time in which its stages were measured: of `run --profile` also
    /// before the first batch.
    pub reads: u64,
    /// Bytes that they gave.
    pub bytes_read: u64,
    /// Whether values were kept from epoch to epoch: then later epochs cost less than the first.
    pub kept: bool,
    /// Whether it was run until its rate had settled within 1 %.
    pub settled: bool,
}

/// Bytes of a profile at the most: it holds a program.
const BYTES_MAX: u64 = 64 << 20;
/// What helps where a profile cannot be used.
const REMEDY: &str = "make one with `pipec profile -o FILE`";

/// What can be measured, in nanoseconds or less: sums of such figures are numbers.
const FIGURES: RangeInclusive<f64> = 0.0..=1e24;

/// What every form begins with.
#[derive(Deserialize)]
struct Head {
    format: u32,
}

/// The shortest time in which a rate is taken to settle, in seconds.
const LEAST_SECONDS: f64 = 3.0;

/// How far a run was when it was measured.
#[derive(Default)]
pub(crate) struct Course {
    pub(crate) workers: usize,
    pub(crate) elapsed: Duration,
    pub(crate) outputs: u64,
    pub(crate) records: u64,
    pub(crate) kept: bool,
    pub(crate) settled: bool,
    /// What the process has read while its stages were measured.
    pub(crate) reads: Reads,
    /// Processor time that it had used before.
    pub(crate) cpu: Option<Duration>,
    /// Cores that others kept busy meanwhile.
    pub(crate) others: Option<f64>,
}

impl Profile {
    /// What `stats` say of a run of `compiled`.
    pub(crate) fn of(compiled: &Compiled, stats: &Stats, course: &Course) -> Self {
        let cpu = os::process_cpu().and_then(|it| it.checked_sub(course.cpu?));
        // What was slowed down is told as it would have been.
        let real = |time: Duration| time.as_secs_f64() / tokens::slower();
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pipeline: compiled.program.name.clone(),
            plan: compiled.hash(),
            program: compiled.program.clone(),
            measured: measured(stats, course.outputs),
            workers: course.workers,
            cores: machine::cores(),
            seconds: real(course.elapsed),
            outputs: course.outputs,
            records: course.records,
            process_seconds: cpu.map(|it| it.as_secs_f64()),
            others: course.others,
            stalled_seconds: real(stats.stalled),
            stalls: stats.stalls,
            reads: course.reads.calls,
            bytes_read: course.reads.bytes,
            kept: course.kept,
            settled: course.settled,
        }
    }

    /// Whether it is about `compiled` as it is now.
    pub fn is_of(&self, compiled: &Compiled) -> bool {
        self.version == env!("CARGO_PKG_VERSION")
            && self.plan == compiled.hash()
            && self.measured.is_of(&compiled.program)
            && is_alike(&self.program, &compiled.program)
    }

    /// Records in a second.
    pub fn records_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.records as f64 / self.seconds } else { 0.0 }
    }

    /// What was measured, as it is shown.
    pub fn observed(&self) -> Observed<'_> {
        Observed {
            program: &self.program,
            measured: &self.measured,
            seconds: self.seconds,
            outputs: self.outputs,
            records: self.records,
            workers: self.workers,
            cores: self.cores,
            stalled_seconds: self.stalled_seconds,
            stalls: self.stalls,
        }
    }

    /// Sets another one beside it; each comes with its name.
    pub fn beside(&self, name: &str, (other_name, other): (&str, &Self)) -> Comparison {
        Comparison::of((name, &self.observed()), (other_name, &other.observed()))
    }

    /// Reads a profile.
    ///
    /// # Errors
    /// There is no such file, or it is no profile that this pipec can read.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let fail = |detail: String| Failure::Io { path: path.display().to_string(), detail };
        let text = safe_file::text(path, BYTES_MAX)
            .map_err(|it| fail(format!("this profile cannot be read: {it}; {REMEDY}")))?;
        let wrong = |it: serde_json::Error| {
            fail(format!("it is no profile, or damaged: {}; {REMEDY}", damaged(&it)))
        };
        // First its form: a newer one may have other keys.
        let Head { format } = serde_json::from_str(&text).map_err(wrong)?;
        if format != FORMAT {
            return Err(fail(format!(
                "its form is {format}, and this pipec reads form {FORMAT}; {REMEDY}"
            )));
        }
        let profile: Self = serde_json::from_str(&text).map_err(wrong)?;
        let own = [profile.seconds, profile.stalled_seconds];
        let wrong = profile.measured.figures().chain(own).find(|it| !FIGURES.contains(it));
        match wrong {
            Some(it) => {
                Err(fail(format!("it is no profile: nothing that is measured is {it:e}; {REMEDY}")))
            }
            None => Ok(profile),
        }
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string(self).map_err(|it| Failure::Io {
            path: path.display().to_string(),
            detail: it.to_string(),
        })?;
        whole::write(path, "the profile", &mut |out| out.write_all(text.as_bytes()))
    }
}

/// Whether two programs compute the same: wherever their texts stand.
fn is_alike(measured: &Program, now: &Program) -> bool {
    let (measured, now) = (bare(measured), bare(now));
    // A number that was written and read may be another one in the last digit.
    let written = || serde_json::to_string(&now).and_then(|it| serde_json::from_str(&it));
    measured == now || written().is_ok_and(|it: Program| it == measured)
}

fn bare(program: &Program) -> Program {
    let mut bare = program.clone();
    program.stages.ids().for_each(|it| bare.stages[it].labels.clear());
    bare
}

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

/// Runs `compiled`, its output into nothing, until its rate has settled within 1 %, and measures it;
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
    let mut run = runtime::start(&program, &*compiled.functions.kernels(), &options)?;
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
            "`{name}` gives no batch in an epoch, so there is nothing to measure: make its batches smaller, or say \
             `tail: keep`"
        ),
        false => format!("`{name}` gives no record in an epoch, so there is nothing to measure"),
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

/// The figures of a run, as the model wants them.
pub(crate) fn measured(stats: &Stats, outputs: u64) -> Measured {
    Measured { outputs, stages: stats.stages.iter().map(of_stage).collect() }
}

fn of_stage(it: &StageStats) -> StageMeasured {
    let calls = it.calls.calls.iter().map(|call| plan::CallMeasured {
        node: call.node,
        times: call.times,
        busy_ns: nanos(call.busy),
        bytes: call.bytes,
    });
    StageMeasured {
        steps: it.steps.clone(),
        entered: it.entered,
        left: it.records,
        bytes: it.bytes,
        cpu_ns: nanos(it.cpu),
        serial_ns: nanos(it.serial_cpu),
        wall_ns: nanos(it.busy),
        spread: it.spread,
        tasks: it.tasks,
        active: it.mean_active,
        held: it.mean_held,
        starved: it.starved,
        blocked: it.blocked,
        reads: it.reads,
        timed: it.calls.records,
        calls: calls.collect(),
    }
}

fn nanos(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}
