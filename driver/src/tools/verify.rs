//! The plan as it is written, on one thread, against the one that is run: the same bytes?
//!
//! Both run side by side and are compared record by record, so that nothing is stored.

mod compare;
mod hidden;

pub use compare::{Compared, Difference, Error, Reach, compare};
pub use hidden::Hidden;

use crate::{
    session::{
        compiled::Compiled,
        machine,
        place::label,
        run::Stop,
        samples::{self, SampleProgress},
    },
    tools::peek::id_text,
};
use compiler::lower::lower;
use plan::{Plan, Program};
use runtime::{Failure, Options, Run, Stats};
use serde::{Serialize, Serializer};

/// Records of a chunk of the plain plan: few, and no divisor of any usual batch.
const PLAIN_ROWS: usize = 61;

/// What is compared.
#[derive(Debug, Clone)]
pub struct VerifyOptions {
    /// Pairs of runs of one epoch, with the seeds 0, 1, …; one of two epochs comes after them.
    pub pairs: u32,
    /// Outputs of a pair at the most.
    pub limit: Option<u64>,
    /// Threads of the optimised plan.
    pub workers: usize,
    /// Bytes that both may take together.
    pub memory: u64,
    /// Whether they are for the whole process, which does little else.
    pub whole_process: bool,
    /// What may stop it: what was compared up to then is told.
    pub stop: Stop,
}

impl Default for VerifyOptions {
    /// Three pairs and one of two epochs, all outputs, all cores.
    fn default() -> Self {
        let (workers, memory) = (machine::cores(), machine::default_memory());
        Self { pairs: 3, limit: None, workers, memory, whole_process: false, stop: Stop::default() }
    }
}

/// What came of running both plans on one seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The seed.
    pub seed: u64,
    /// How many epochs.
    pub epochs: u32,
    /// Outputs that are the same: batches, or records where the pipeline ends without `batch`.
    pub outputs: u64,
    /// A hash of them all (XXH3, of each field's bytes in order), 16 digits.
    pub hash: String,
    /// Records that were lost, in both.
    pub lost: u64,
    /// Time that threads have worked on the plain plan, in seconds.
    pub plain_seconds: f64,
    /// The same of the optimised plan.
    pub optimised_seconds: f64,
    /// Why both ended early, if they did; a sentence in JSON.
    #[serde(serialize_with = "sentence")]
    pub failure: Option<Failure>,
    /// Where they differ first.
    pub difference: Option<Difference>,
    /// By how much numbers differ, where rewrites are allowed that are not exact.
    pub error: Option<Error>,
    /// Records that fail in the plain plan only, in a part of a value that the optimised one does not make.
    pub hidden: Vec<Hidden>,
    /// Whether it was stopped before both had ended.
    pub interrupted: bool,
}

impl Pair {
    /// What both plans failed with before there was any output to compare.
    #[must_use]
    pub fn uncompared(&self) -> Option<&Failure> {
        let nothing = self.outputs == 0 && self.difference.is_none() && !self.interrupted;
        self.failure.as_ref().filter(|_| nothing)
    }
}

/// Compares the plans, and tells `visit` of each pair; ends at the first difference.
///
/// # Errors
/// A plan cannot be started at all; both fail before their first output; it was stopped, after what was compared has
/// been told.
pub fn verify(
    compiled: &Compiled,
    options: &VerifyOptions,
    sample: &mut dyn FnMut(&SampleProgress),
    visit: &mut dyn FnMut(&Pair),
) -> Result<bool, Failure> {
    let mut plain = plain(compiled)?;
    let mut optimised = compiled.program.clone();
    samples::resolve(&mut plain, sample)?;
    samples::resolve(&mut optimised, sample)?;
    for number in 0..=options.pairs {
        let epochs = if number == options.pairs { 2 } else { 1 };
        let way = Options {
            seed: u64::from(number),
            workers: 1,
            readers: 1,
            // In a process of its own each sees what the other one holds.
            memory: if options.whole_process { options.memory } else { options.memory / 2 },
            process_memory: options.whole_process.then_some(options.memory),
            epochs: 0..epochs,
            chunk_rows: Some(PLAIN_ROWS),
            ..Options::default()
        };
        let side = Side { compiled, options, way };
        let mut pair =
            side.compared([side.plain(&plain)?, side.optimised(&optimised)?], &optimised)?;
        // Where another record was lost, it may be one that the optimised plan has no need to lose.
        if pair.difference.as_ref().is_some_and(Difference::is_of_records) {
            pair = hidden::judged(pair, &side, (&plain, &optimised), sample)?;
        }
        visit(&pair);
        if pair.interrupted {
            return Err(Failure::Stopped);
        }
        if pair.difference.is_some() {
            return Ok(false);
        }
        if let Some(failure) = pair.uncompared() {
            return Err(failure.clone());
        }
    }
    Ok(true)
}

fn sentence<S: Serializer>(failure: &Option<Failure>, to: S) -> Result<S::Ok, S::Error> {
    failure.as_ref().map(ToString::to_string).serialize(to)
}

/// The program of the plan as it is written.
fn plain(compiled: &Compiled) -> Result<Program, Failure> {
    Ok(Program { jit: false, ..lowered(compiled, &compiled.written)? })
}

fn lowered(compiled: &Compiled, plan: &Plan) -> Result<Program, Failure> {
    let label = |it| label(&compiled.files, it);
    lower(plan, &stdlib::library(), &label).map_err(|found| {
        let first = found.into_iter().next().map_or(String::new(), |it| it.message);
        Failure::Program(first)
    })
}

/// How two programs are run side by side.
struct Side<'a> {
    compiled: &'a Compiled,
    options: &'a VerifyOptions,
    /// How the plain one is run.
    way: Options,
}

impl Side<'_> {
    /// A run on one thread.
    fn plain(&self, program: &Program) -> Result<Run, Failure> {
        runtime::start(program, &*self.compiled.kernels()?, &self.way)
    }

    /// A run on all threads.
    fn optimised(&self, program: &Program) -> Result<Run, Failure> {
        let workers = self.options.workers;
        let all_cores =
            Options { workers, readers: workers.clamp(2, 8), chunk_rows: None, ..self.way.clone() };
        runtime::start(program, &*self.compiled.kernels()?, &all_cores)
    }

    fn compared(&self, runs: [Run; 2], program: &Program) -> Result<Pair, Failure> {
        let [mut plain, mut optimised] = runs;
        let nearly = self.compiled.optimised.is_approximate();
        let reach = Reach { limit: self.options.limit, nearly };
        let stop = &self.options.stop;
        stop.arm(Some(optimised.stopper()))?;
        let compared = compare(&mut plain, &mut optimised, &program.output, reach);
        let interrupted = stop.arm(None).is_err();
        if let Some(failure) = compared.exhausted {
            return Err(failure);
        }
        let pair = pair(compared, [&plain.stats(), &optimised.stats()], (&self.way, reach));
        // Where one was stopped, the other one has more.
        let difference = pair.difference.filter(|_| !interrupted);
        Ok(Pair { interrupted, difference, ..pair })
    }
}

fn pair(
    compared: Compared,
    [plain, optimised]: [&Stats; 2],
    (options, reach): (&Options, Reach),
) -> Pair {
    let mut difference = compared.difference;
    // Where the runs are cut short, one may be further than the other.
    let whole = compared.failure.is_none() && reach.limit.is_none_or(|it| compared.outputs < it);
    if difference.is_none() && whole && plain.lost != optimised.lost {
        let detail = format!(
            "{:?} records failed in the plain plan, {:?} in the optimized one",
            plain.lost, optimised.lost
        );
        difference = Some(Difference::at_end(compared.outputs, detail));
    }
    let seconds = |it: &Stats| it.stages.iter().map(|it| it.busy.as_secs_f64()).sum();
    Pair {
        seed: options.seed,
        epochs: options.epochs.end,
        outputs: compared.outputs,
        hash: id_text(compared.hash),
        lost: plain.lost.values().sum(),
        plain_seconds: seconds(plain),
        optimised_seconds: seconds(optimised),
        failure: compared.failure,
        difference,
        error: reach.nearly.then_some(compared.error),
        hidden: Vec::new(),
        interrupted: false,
    }
}
