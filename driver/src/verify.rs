//! The plan as it is written, on one thread, against the one that is run: the same bytes?
//!
//! Both run side by side and are compared record by record, so that nothing is stored.

mod compare;

pub use compare::{Compared, Difference, Error, Reach, compare};

use crate::{Compiled, SampleProgress, compile::label, machine, peek::id_text, samples};
use compiler::lower::lower;
use plan::Program;
use runtime::{Failure, Options, Run};
use serde::Serialize;

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
}

impl Default for VerifyOptions {
    /// Three pairs and one of two epochs, all outputs, all cores.
    fn default() -> Self {
        let (workers, memory) = (machine::cores(), machine::default_memory());
        Self { pairs: 3, limit: None, workers, memory }
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
    /// Why both ended early, if they did.
    pub failure: Option<String>,
    /// Where they differ first.
    pub difference: Option<Difference>,
    /// By how much numbers differ, where rewrites are allowed that are not exact.
    pub error: Option<Error>,
}

/// Compares the plans, and tells `visit` of each pair; ends at the first difference.
///
/// # Errors
/// A plan cannot be started at all.
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
            memory: options.memory / 2,
            epochs: 0..epochs,
            chunk_rows: Some(PLAIN_ROWS),
            ..Options::default()
        };
        let all_cores = Options {
            workers: options.workers,
            readers: options.workers.clamp(2, 8),
            chunk_rows: None,
            ..way.clone()
        };
        let kernels = compiled.functions.kernels();
        let mut runs = [
            runtime::start(&plain, &*kernels, &way)?,
            runtime::start(&optimised, &*kernels, &all_cores)?,
        ];
        let reach = Reach { limit: options.limit, nearly: compiled.optimised.is_approximate() };
        let pair = pair(&mut runs, &optimised, (&way, reach));
        visit(&pair);
        if pair.difference.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The program of the plan as it is written.
fn plain(compiled: &Compiled) -> Result<Program, Failure> {
    let label = |it| label(&compiled.files, it);
    let lowered = lower(&compiled.written, &stdlib::library(), &label).map_err(|found| {
        let first = found.into_iter().next().map_or(String::new(), |it| it.message);
        Failure::Program(first)
    })?;
    Ok(Program { jit: false, ..lowered })
}

fn pair([plain, optimised]: &mut [Run; 2], program: &Program, way: (&Options, Reach)) -> Pair {
    let (options, reach) = way;
    let compared = compare(plain, optimised, &program.output, reach);
    let (plain, optimised) = (plain.stats(), optimised.stats());
    let mut difference = compared.difference;
    // Where the runs are cut short, one may be further than the other.
    let whole = compared.failure.is_none() && reach.limit.is_none_or(|it| compared.outputs < it);
    if difference.is_none() && whole && plain.lost != optimised.lost {
        let detail = format!(
            "{:?} records were lost in the plain plan, {:?} in the optimised one",
            plain.lost, optimised.lost
        );
        difference = Some(Difference::at_end(compared.outputs, detail));
    }
    let seconds = |it: &runtime::Stats| it.stages.iter().map(|it| it.busy.as_secs_f64()).sum();
    Pair {
        seed: options.seed,
        epochs: options.epochs.end,
        outputs: compared.outputs,
        hash: id_text(compared.hash),
        lost: plain.lost.values().sum(),
        plain_seconds: seconds(&plain),
        optimised_seconds: seconds(&optimised),
        failure: compared.failure.map(|it| it.to_string()),
        difference,
        error: reach.nearly.then_some(compared.error),
    }
}
