//! A run that is ready to begin, at the start of an epoch or where an earlier one stood.

use super::keeping::{self, Keeping, Looking};
use crate::session::{
    classes,
    compiled::Compiled,
    machine,
    options::RunOptions,
    quarantine::Quarantine,
    samples::{self, SampleProgress},
    state::{Identity, State},
    store::Inputs,
};
use model::under_way;
use plan::Program;
use runtime::Failure;
use std::borrow::Cow;

/// Where a run begins.
pub(super) struct Origin<'a> {
    /// What it goes on from.
    pub(super) earlier: Option<&'a State>,
    /// Else the epoch that it begins with.
    pub(super) epoch: u32,
    /// Whether its state will be written down.
    pub(super) saved: bool,
    /// Whether an earlier run has told of records that it lost, which is kept.
    pub(super) goes_on: bool,
    /// Whether it has the file of lost records for itself: a process may have several streams.
    pub(super) locks: bool,
    /// Bytes that what takes the output will hold.
    pub(super) beside: u64,
}

/// A run that is ready.
pub(super) struct Ready<'a> {
    /// What was asked for, or an alternative to it.
    pub(super) compiled: Cow<'a, Compiled>,
    pub(super) run: runtime::Run,
    /// What runs, with the sets of pictures that it names as files.
    pub(super) program: Program,
    pub(super) options: runtime::Options,
    pub(super) keeping: Keeping,
    pub(super) identity: Identity,
    /// What tells of the records that it loses.
    pub(super) quarantine: Option<Quarantine>,
}

/// Makes `compiled` ready to run from `origin` on, or an alternative to it that is better with what it keeps.
pub(super) fn ready<'a>(
    compiled: &'a Compiled,
    options: &RunOptions,
    origin: &Origin<'_>,
    sample: &mut dyn FnMut(&SampleProgress),
) -> Result<Ready<'a>, Failure> {
    begun((Cow::Borrowed(compiled), None), (options, origin), sample)
}

/// The same; of an alternative where it is known what the inputs are.
fn begun<'a>(
    (compiled, inputs): (Cow<'a, Compiled>, Option<Option<Result<Inputs, Failure>>>),
    (options, origin): (&RunOptions, &Origin<'_>),
    sample: &mut dyn FnMut(&SampleProgress),
) -> Result<Ready<'a>, Failure> {
    let is_chosen = inputs.is_some();
    let mut program = compiled.program.clone();
    samples::resolve(&mut program, sample)?;
    let mut identity = Identity::new(&compiled, options.seed);
    let resume = origin.earlier.map(|it| identity.position_of(it)).transpose()?;
    let first = resume.as_ref().map_or(origin.epoch, |it| it.epoch);
    let epochs = first..options.epochs.max(first);
    // What takes the output holds its part, whatever is kept.
    let left = RunOptions { memory: options.memory - origin.beside, ..options.clone() };
    let n_epochs = epochs.len();
    let asked = keeping::asked(&compiled, &left, n_epochs);
    let own = keeping::own_memory(&compiled, &left, asked.as_ref());
    let runtime_options = runtime::Options {
        memory: own + origin.beside,
        beside: origin.beside,
        epochs,
        resume,
        told_of_losses: options.quarantine.is_some(),
        ..of_run(&compiled, options)
    };
    let mut run = runtime::start(&program, &*compiled.kernels()?, &runtime_options)?;
    let inputs = inputs.unwrap_or_else(|| asked.and_then(|it| keeping::inputs(&run, it, &left)));
    if asked.is_some() && !is_chosen {
        let known = inputs.as_ref().and_then(|it| it.as_ref().ok());
        let looking = Looking::for_a_run(&left, known);
        let better = keeping::better(&compiled, (&run, n_epochs), &looking, sample)?;
        if let Some(better) = better {
            drop(run);
            return begun((Cow::Owned(better), Some(inputs)), (options, origin), sample);
        }
    }
    identity.classes(classes::of_run(&compiled.written, &run));
    if origin.saved {
        identity.inputs(run.fingerprints()?);
    }
    let keeping = match asked {
        Some(it) => keeping::begin(&compiled, (&mut run, &program), (it, &left), inputs)?,
        None => Keeping::default(),
    };
    if let Some(state) = origin.earlier {
        identity.check_inputs(state)?;
    }
    let quarantine = match &options.quarantine {
        Some(path) => {
            let goes_on = compiled.losses_begun.take() || origin.goes_on;
            Some(Quarantine::open(path, options.rank, (goes_on, origin.locks))?)
        }
        None => None,
    };
    if let Some(quarantine) = &quarantine {
        run.on_lost(quarantine.on_lost());
    }
    Ok(Ready { compiled, run, program, options: runtime_options, keeping, identity, quarantine })
}

/// What a run is asked for, of one epoch and without what it may keep or tell.
pub(super) fn of_run(compiled: &Compiled, options: &RunOptions) -> runtime::Options {
    runtime::Options {
        seed: options.seed,
        workers: options.workers,
        readers: under_way::readers(options.workers),
        memory: options.memory,
        bound: Some(options.memory),
        process_memory: options.whole_process.then_some(options.memory),
        chunk_rows: options.chunk_rows,
        rank: options.rank,
        most_lost: options.most_lost,
        cpu_share: share_of_each(options),
        prepared: compiled.prepared.clone(),
        ..runtime::Options::default()
    }
}

/// The share of its time that each worker may compute, so that all of them together use no more of the
/// cores than was asked for.
fn share_of_each(options: &RunOptions) -> f64 {
    // All of the cores: the system shares them out, and nobody has to rest.
    if options.cpu >= 1.0 {
        return 1.0;
    }
    options.cpu * machine::cores() as f64 / options.workers.max(1) as f64
}
