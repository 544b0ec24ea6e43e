//! Runs the streams of constants, before the program that uses them is compiled.

use super::{Settings, checked_all, lowered};
use crate::session::{
    constants::{
        Constant, ConstantFailure, ConstantProgress, Constants, Given, Known, key, place, read,
        write,
    },
    functions::Functions,
    load::Loaded,
    machine,
    quarantine::Quarantine,
    samples::{self, SampleProgress},
    stop::Stop,
    store::Inputs,
};
use compiler::StreamConstant;
use model::under_way;
use plan::{Arg, Diagnostic};
use runtime::{Chunk, Failure, Options, Run, Step, Tensor};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// From one telling of the progress to the next, as of any run.
const TICK: Duration = Duration::from_millis(100);

/// Who looks on while constants are computed.
pub struct ConstantWatch<'a> {
    /// What may stop it.
    pub stop: Stop,
    /// Told ten times a second how far a stream is.
    pub progress: &'a mut dyn FnMut(&ConstantProgress),
    /// Told of sample sets that are made first.
    pub sample: &'a mut dyn FnMut(&SampleProgress),
    /// Told of each constant that was computed.
    pub computed: &'a mut dyn FnMut(&Constant),
}

/// Finds the constants of streams that the pipeline of `settings` needs, and puts them there: those that are kept
/// are read, and others computed now, one after the other. Says nothing of what is wrong with the program, for which
/// there is [`compile`](crate::compile).
///
/// # Errors
/// A stream cannot be run to its end.
pub fn constants(
    loaded: &Loaded,
    settings: &mut Settings,
    watch: &mut ConstantWatch<'_>,
) -> Result<(), ConstantFailure> {
    // Those that are neither kept nor to be computed.
    let mut unknown = BTreeSet::new();
    // Each turn finds one, and makes others ready.
    loop {
        let checked = checked_all(loaded, settings, true);
        let broken = checked.diagnostics.iter().any(Diagnostic::is_error);
        let is_next = |it: &&StreamConstant| it.is_needed && !it.is_known && it.is_ready;
        let mut next = checked.constants.iter().filter(is_next);
        let next = next.find(|it| !unknown.contains(&it.at)).filter(|_| !broken);
        let Some(next) = next else { return Ok(()) };
        let failed = |failure| ConstantFailure {
            name: next.name.clone(),
            at: next.at,
            failure: Box::new(failure),
        };
        let Some((value, known)) = answer(loaded, settings, next, watch).map_err(failed)? else {
            unknown.insert(next.at);
            continue;
        };
        if matches!(known, Known::Computed { .. }) {
            (watch.computed)(&Constant::of(next, known));
        }
        settings.answers.0.insert(key(&next.plan), (value, known));
    }
}

/// The same where nobody looks on.
pub(crate) fn known(loaded: &Loaded, settings: &mut Settings) -> Result<(), ConstantFailure> {
    let (progress, sample, computed) = (&mut |_: &_| (), &mut |_: &_| (), &mut |_: &_| ());
    constants(
        loaded,
        settings,
        &mut ConstantWatch { stop: Stop::default(), progress, sample, computed },
    )
}

/// The answer of one stream, if it was kept or is to be computed.
fn answer(
    loaded: &Loaded,
    settings: &Settings,
    constant: &StreamConstant,
    watch: &mut ConstantWatch<'_>,
) -> Result<Option<(Arg, Known)>, Failure> {
    let is_computed = settings.constants == Constants::Computed;
    let (losses, goes_on) = (&settings.losses, settings.state.is_some());
    // An answer is the same whatever is allowed for the program.
    let plain = Settings { state: None, approx: false, ..settings.clone() };
    let (_, mut program) = lowered(loaded, &constant.plan, &plain).map_err(|all| {
        let said: Vec<String> = all.into_iter().map(|it| it.message).collect();
        Failure::Program(said.join("; "))
    })?;
    // Who only looks makes no sample set for that.
    if !is_computed && !samples::are_there(&program) {
        return Ok(None);
    }
    samples::resolve(&mut program, watch.sample)?;
    let workers = settings.workers.unwrap_or_else(machine::cores);
    let memory = settings.memory.unwrap_or_else(machine::default_memory);
    let options = Options {
        workers,
        readers: under_way::readers(workers),
        memory,
        bound: Some(memory),
        told_of_losses: losses.quarantine.is_some(),
        most_lost: losses.most,
        ..Options::default()
    };
    let started = match is_computed {
        true => runtime::start(&program, &*settings.functions.kernels(), &options),
        false => runtime::start(&program, &Functions::unneeded(), &options),
    };
    let place = started.and_then(|run| {
        let inputs = Inputs::of(&run, false)?.hash();
        Ok((place(&constant.plan, inputs), run))
    });
    let (place, mut run) = match place {
        Ok(found) => found,
        // What is wrong with the files is said when they are read.
        Err(_) if !is_computed => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let kept = place.as_deref().and_then(read);
    if let Some(kept) = kept.filter(|it| !is_computed || losses.allow(it.lost, goes_on)) {
        return Ok(Some((kept.value, Known::Kept)));
    }
    if !is_computed {
        return Ok(None);
    }

    let quarantine = Quarantine::of_constant(losses, goes_on)?;
    if let Some(it) = &quarantine {
        run.on_lost(it.on_lost());
    }
    let since = Instant::now();
    watch.stop.arm(Some(run.stopper()))?;
    let record = last(&mut run, &constant.name, watch);
    watch.stop.arm(None)?;
    quarantine.map_or(Ok(()), |it| it.sync())?;
    let record = record?;
    let fields = constant.plan.output().iter().zip(&record.columns);
    let value = fields.map(|(field, column)| (field.name.clone(), arg(&column.row(0)))).collect();
    let (records, lost) = (entered(&run), run.stats().lost.values().sum());
    let given = Given { value: Arg::Record(value), lost };
    let kept = place.is_some_and(|it| write(&it, &given));
    Ok(Some((given.value, Known::Computed { records, lost, elapsed: since.elapsed(), kept })))
}

/// The one record that a stream gives.
fn last(run: &mut Run, name: &str, watch: &mut ConstantWatch<'_>) -> Result<Chunk, Failure> {
    let mut found = None;
    loop {
        match run.step(Some(TICK)) {
            Step::Chunk(chunk) if chunk.rows > 0 => found = Some(chunk),
            Step::Chunk(_) | Step::EpochEnd(_) => {}
            Step::Failed(failure) => return Err(failure),
            Step::Over if watch.stop.is_requested() => return Err(Failure::Stopped),
            Step::Over => break,
            Step::Waiting => {
                let (name, records) = (name.to_owned(), entered(run));
                let done = run.stats().epochs_given;
                (watch.progress)(&ConstantProgress { name, records, done });
            }
        }
    }
    found.ok_or_else(|| Failure::Program(format!("the stream of `{name}` has no record")))
}

/// Records that have come to the last step.
fn entered(run: &Run) -> u64 {
    run.stats().stages.last().map_or(0, |it| it.entered)
}

/// A value as one that is written.
fn arg(tensor: &Tensor<'_>) -> Arg {
    match tensor.shape() {
        [] if tensor.dtype().is_float() => Arg::Float(tensor.number()),
        [] => Arg::Int(tensor.int()),
        [n, ..] => Arg::List((0..*n).map(|it| arg(&tensor.element(it))).collect()),
    }
}
