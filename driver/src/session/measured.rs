//! Profiles: what was measured of a run, with the program that was run, in one file.

use crate::session::{compiled::Compiled, machine, whole, written::damaged};
use compiler::explain::{Comparison, Observed};
use plan::{Measured, Program, StageMeasured};
use runtime::{Failure, StageStats, Stats, os, reads::Reads, tokens};
use serde::{Deserialize, Serialize};
use std::{ops::RangeInclusive, path::Path, time::Duration};

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
    /// Whether it was run until its rate had settled within 1%.
    pub settled: bool,
}

/// Bytes of a profile at the most: it holds a program.
const BYTES_MAX: u64 = 64 << 20;
/// What helps where a profile cannot be used.
const REMEDY: &str = "create one with `pipec profile -o FILE`";

/// What can be measured, in nanoseconds or less: sums of such figures are numbers.
const FIGURES: RangeInclusive<f64> = 0.0..=1e24;

/// What every form begins with.
#[derive(Deserialize)]
struct Head {
    format: u32,
}

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

    /// Whether it is about one of the plans that `compiled` may run as.
    pub fn is_of_any(&self, compiled: &Compiled) -> bool {
        self.is_of(compiled) || compiled.alternatives().iter().any(|it| self.is_of(it))
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
            .map_err(|it| fail(format!("cannot read this profile: {it}; {REMEDY}")))?;
        let wrong = |it: serde_json::Error| {
            fail(format!("it is damaged, or not a profile: {}; {REMEDY}", damaged(&it)))
        };
        // First its form: a newer one may have other keys.
        let Head { format } = serde_json::from_str(&text).map_err(wrong)?;
        if format != FORMAT {
            return Err(fail(format!(
                "its format is {format}, but this pipec reads format {FORMAT}; {REMEDY}"
            )));
        }
        let profile: Self = serde_json::from_str(&text).map_err(wrong)?;
        let own = [profile.seconds, profile.stalled_seconds];
        let wrong = profile.measured.figures().chain(own).find(|it| !FIGURES.contains(it));
        match wrong {
            Some(it) => Err(fail(format!(
                "it is not a profile: it contains the invalid value {it:e}; {REMEDY}"
            ))),
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
        let text = plan::escaped_json(&text);
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
        filled: it.filled,
        elements: it.elements,
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
