//! From a program that was read to one that runs: check, rewrite, lower.

mod streams;

pub use streams::{ConstantWatch, constants};

use crate::session::{
    classes,
    compiled::{Compiled, ShownAs},
    constants::{Answers, Constants, Losses, needed},
    errors,
    files::Files,
    functions::Functions,
    load::{Loaded, Reach},
    machine,
    rewritten::{JIT, Rewriting},
    samples,
    shown::{self, Unshown},
    state::State,
    stores,
};
use compiler::{
    Checked, InputError, Inputs, Request, StreamConstant,
    ast::DeclarationKind,
    passes::{self, Optimised},
    registry::Registry,
};
use plan::{Arg, CodeInfo, Diagnostic, Field, File, Op, OpKind, Plan, Program, Span};
use runtime::{Failure, Prepared};
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Pipelines of a file that `check` lowers; all of them are checked.
pub(crate) const LOWERED_MAX: usize = 64;

/// What is asked of a program.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The pipeline; the only one, or the one that no other uses, if not said.
    pub pipeline: Option<String>,
    /// Values of `param`s.
    pub params: BTreeMap<String, String>,
    /// What is left out, by the names that [`pass_names`] gives.
    pub without: Vec<String>,
    /// Whether rewrites are allowed that change what leaves by a little.
    pub approx: bool,
    /// Threads that will compute; all cores if not said.
    pub workers: Option<usize>,
    /// What the run will go on from: the plan is rewritten as it was then.
    pub state: Option<State>,
    /// Who has the functions outside that it calls.
    pub functions: Functions,
    /// Which files it may use.
    pub reach: Reach,
    /// Of which text files messages show what they say: for those who run it, of any; see [`Unshown`].
    pub shows: Reach,
    /// Whether the streams are run that constants are computed of.
    pub constants: Constants,
    /// What is done about records that these lose.
    pub losses: Losses,
    /// What is known of such streams already.
    pub answers: Answers,
    /// Bytes that such a run may take; as any run if not said.
    pub memory: Option<u64>,
    /// The files that arguments name, as far as they were read already.
    pub files: Files,
}

/// Compiles one pipeline of `loaded`.
///
/// # Errors
/// All that is wrong with the program, by file and place; warnings too.
pub fn compile(loaded: &Loaded, settings: &Settings) -> Result<Compiled, Vec<Diagnostic>> {
    let mut settings = settings.clone();
    let (mut checked, mut is_hidden) = checked_told(loaded, &settings, true);
    let is_open = |it: &StreamConstant| it.is_needed && !it.is_known;
    if checked.plan.is_some() && checked.constants.iter().any(is_open) {
        let known = streams::known(loaded, &mut settings);
        known.map_err(|it| vec![it.diagnostic()])?;
        (checked, is_hidden) = checked_told(loaded, &settings, true);
    }
    let settings = &settings;
    let Checked { plan, diagnostics, constants: all } = checked;
    let found = needed(&all, &settings.answers);
    let Some(written) = plan else { return Err(diagnostics) };
    let shown = is_hidden.then(|| shown_as(loaded, settings)).transpose()?;
    let (optimised, program) = match lowered(loaded, &written, settings) {
        Ok(lowered) => lowered,
        Err(found) => return Err(sorted(diagnostics.into_iter().chain(found))),
    };
    let files = loaded.files.clone();
    let compiled = Compiled {
        written,
        rewriting: settings.rewriting(),
        optimised,
        program,
        files,
        lock: None,
        prepared: Prepared::Nothing,
        constants: found,
        functions: settings.functions.clone(),
        looked_at: settings.files.clone(),
        losses_begun: settings.losses.begun.clone(),
        shown: shown.map(Box::new),
        warnings: diagnostics,
    };
    Ok(match &settings.state {
        Some(state) if !state.is_about(&compiled) => as_it_was(loaded, compiled, settings, state),
        _ => compiled,
    })
}

/// The plan and the program with the names that are shown of what is not shown.
fn shown_as(loaded: &Loaded, settings: &Settings) -> Result<ShownAs, Vec<Diagnostic>> {
    let unshown = Unshown::of(loaded, &settings.params, settings.shows);
    let probe = Probe { unshown: unshown.as_ref(), ..Probe::of(settings) };
    let Checked { plan, diagnostics, .. } = checked_by(&probe, loaded, settings, true);
    let told = |found| unshown.as_ref().map_or(Vec::new(), |it| it.told(found));
    let written = plan.ok_or(diagnostics)?;
    let (optimised, program) = lowered(loaded, &written, settings).map_err(told)?;
    Ok(ShownAs { optimised, program })
}

/// The same with those rewrites alone that the plan of `state` has gone through, where it can be
/// run with them.
fn as_it_was(loaded: &Loaded, now: Compiled, settings: &Settings, state: &State) -> Compiled {
    let was_applied = |pass: &&passes::Pass| state.rewrites().iter().any(|it| pass.is_called(it));
    let others = passes::PASSES.iter().filter(|it| !was_applied(it));
    let without = others.map(|it| it.name.to_owned()).collect();
    let settings = Settings { without, ..settings.clone() };
    match lowered(loaded, &now.written, &settings) {
        Ok((optimised, program)) => {
            Compiled { rewriting: settings.rewriting(), optimised, program, ..now }
        }
        Err(_) => now,
    }
}

/// All that is to be said about `loaded`: every pipeline of it, whatever its parameters will be.
pub fn check(loaded: &Loaded, settings: &Settings) -> Vec<Diagnostic> {
    let Checked { mut diagnostics, constants, .. } = checked_shown(loaded, settings, false).0;
    if diagnostics.iter().any(Diagnostic::is_error) {
        return diagnostics;
    }
    let names = pipelines(loaded).into_iter().take(LOWERED_MAX);
    for name in names.filter(|it| settings.pipeline.as_ref().is_none_or(|only| only == it)) {
        let settings = Settings { pipeline: Some(name), ..settings.clone() };
        let (plan, found) = checked(loaded, &settings, false);
        diagnostics.extend(found);
        let failed = plan.map(|it| lowered(loaded, &it, &settings).err());
        diagnostics.extend(failed.flatten().into_iter().flatten());
    }
    let failed = constants.iter().filter_map(|it| lowered(loaded, &it.plan, settings).err());
    diagnostics.extend(failed.flatten());
    sorted(diagnostics)
}

/// The pipelines of the main file that can be run, in its order.
pub fn pipelines(loaded: &Loaded) -> Vec<String> {
    let main = loaded.trees.first().into_iter().flat_map(|it| &it.declarations);
    main.filter_map(|it| match &it.kind {
        DeclarationKind::Pipeline(it) if it.formals.is_none() => Some(it.name.text.clone()),
        _ => None,
    })
    .collect()
}

/// Every code that a message can have, with its long story, by number.
pub fn codes() -> Vec<&'static CodeInfo> {
    let mut codes: Vec<_> = compiler::codes().chain(errors::CODES).collect();
    codes.sort_by_key(|it| it.id);
    codes
}

/// The names of what may be left out: of the passes that rewrite plans, and `jit`.
pub fn pass_names() -> impl Iterator<Item = &'static str> {
    passes::PASSES.iter().map(|it| it.name).chain([JIT])
}

/// Whether a pass has or had this name, or it is `jit`.
pub fn is_pass(name: &str) -> bool {
    name == JIT || passes::PASSES.iter().any(|it| it.is_called(name))
}

/// Checks the program for what is to be said of it; the plan is there where nothing is wrong and it is clear which is meant,
/// with the names that are shown.
pub(crate) fn checked(
    loaded: &Loaded,
    settings: &Settings,
    needs_params: bool,
) -> (Option<Plan>, Vec<Diagnostic>) {
    let Checked { plan, diagnostics, .. } = checked_shown(loaded, settings, needs_params).0;
    (plan, diagnostics)
}

/// Checks the program, and finds the constants of streams too.
pub(crate) fn checked_all(loaded: &Loaded, settings: &Settings, needs_params: bool) -> Checked {
    checked_told(loaded, settings, needs_params).0
}

/// The same, and whether its files have names that are not shown: the plan has them, and messages do not.
fn checked_told(loaded: &Loaded, settings: &Settings, needs_params: bool) -> (Checked, bool) {
    let (shown, is_hidden) = checked_shown(loaded, settings, needs_params);
    if !is_hidden || shown.plan.is_none() {
        return (shown, is_hidden);
    }
    let real = checked_by(&Probe::of(settings), loaded, settings, needs_params);
    // What is wrong with the real names alone, such as two that are the same, says which they are.
    let unsaid = |it: &Diagnostic| errors::unshown(it.code, it.span);
    let diagnostics = match real.plan {
        Some(_) => shown.diagnostics,
        None => real.diagnostics.iter().map(unsaid).collect(),
    };
    (Checked { diagnostics, ..real }, true)
}

/// The same with the names that are shown, in the plan and in messages.
fn checked_shown(loaded: &Loaded, settings: &Settings, needs_params: bool) -> (Checked, bool) {
    let unshown = Unshown::of(loaded, &settings.params, settings.shows);
    let probe = Probe { unshown: unshown.as_ref(), ..Probe::of(settings) };
    let checked = checked_by(&probe, loaded, settings, needs_params);
    match &unshown {
        Some(it) if it.is_met() => {
            let diagnostics = it.told(checked.diagnostics);
            (Checked { diagnostics, ..checked }, true)
        }
        _ => (checked, false),
    }
}

fn checked_by(
    probe: &Probe<'_>,
    loaded: &Loaded,
    settings: &Settings,
    needs_params: bool,
) -> Checked {
    let request = Request {
        files: &loaded.trees,
        imports: &loaded.imports,
        pipeline: settings.pipeline.as_deref(),
        params: &settings.params,
        needs_params,
        inputs: probe,
        only: None,
        // Who runs one pipeline needs what that one reads.
        asked_only: needs_params,
    };
    let registry = Registry::new(stdlib::library());
    let Checked { plan, diagnostics, constants } = compiler::check(&request, &registry);
    let plans = plan.iter().chain(constants.iter().map(|it| &it.plan));
    let sets: Vec<_> = plans.flat_map(|it| it.ops.rows()).filter_map(sample_mistake).collect();
    let all = loaded.diagnostics.iter().cloned().chain(diagnostics).chain(sets).collect();
    let all = once_each(all);
    let broken = all.iter().any(Diagnostic::is_error);
    Checked { plan: plan.filter(|_| !broken), diagnostics: sorted(all), constants }
}

/// Without what is said of the spelling of an argument that there is not: `drop_last=True` is one mistake, and what is
/// written in its place says all.
fn once_each(mut all: Vec<Diagnostic>) -> Vec<Diagnostic> {
    const NO_SUCH_PARAMETER: &str = "PC0122";
    const EQUALS: &str = "PC0030";
    let unknown: BTreeSet<_> = all
        .iter()
        .filter(|it| it.code.id == NO_SUCH_PARAMETER)
        .map(|it| (it.span.file, it.span.start))
        .collect();
    let is_unknown = |it: &Diagnostic| unknown.contains(&(it.span.file, it.span.start));
    let spelt: Vec<Span> =
        all.iter().filter(|it| it.code.id == EQUALS && is_unknown(it)).map(|it| it.span).collect();
    // Of its value, which begins behind the `=`, too.
    let is_value = |it: &Diagnostic| {
        let begins = |of: &Span| it.span.file == of.file && it.span.start.wrapping_sub(of.end) <= 1;
        it.code.id != NO_SUCH_PARAMETER && spelt.iter().any(begins)
    };
    all.retain(|it| !(it.code.id == EQUALS && is_unknown(it) || is_value(it)));
    all
}

pub(crate) fn lowered(
    loaded: &Loaded,
    written: &Plan,
    settings: &Settings,
) -> Result<(Optimised, Program), Vec<Diagnostic>> {
    settings.rewriting().of(written, (&loaded.files, &settings.functions))
}

impl Settings {
    fn rewriting(&self) -> Rewriting {
        let workers = self.workers.unwrap_or_else(machine::cores);
        let cores = u32::try_from(workers).unwrap_or(u32::MAX);
        let (without, approx) = (self.without.clone(), self.approx);
        Rewriting { cores, without, approx, elsewhere: None }
    }
}

fn sample_mistake(op: &Op) -> Option<Diagnostic> {
    let OpKind::Source { args, .. } = &op.kind else { return None };
    samples::mistake(args).map(|why| errors::sample_set(&why, op.at))
}

/// By file and place, each once.
pub(crate) fn sorted(diagnostics: impl IntoIterator<Item = Diagnostic>) -> Vec<Diagnostic> {
    let mut seen = BTreeSet::new();
    let mut all: Vec<_> = diagnostics.into_iter().collect();
    all.retain(|it| seen.insert((it.code, it.span, it.message.clone())));
    all.sort_by_key(|it| (it.span.file, it.span.start, it.span.end));
    all
}

/// What the inputs say of themselves.
pub(crate) struct Probe<'a> {
    pub(crate) answers: &'a Answers,
    pub(crate) files: &'a Files,
    /// What is not shown, where that is not everything.
    pub(crate) unshown: Option<&'a Unshown<'a>>,
}

impl<'a> Probe<'a> {
    /// With what is known of them already.
    pub(crate) fn of(settings: &'a Settings) -> Self {
        Self { answers: &settings.answers, files: &settings.files, unshown: None }
    }
}

impl Inputs for Probe<'_> {
    fn answer(&self, constant: &StreamConstant) -> Option<Arg> {
        self.answers.of(constant)
    }

    fn fields(&self, source: &str, args: &[Arg]) -> Result<Vec<Field>, InputError> {
        let Some(unshown) = self.unshown else { return probe(source, args, None).map(|it| it.0) };
        let (fields, is_shown) = probe(source, args, Some(unshown.root()))?;
        Ok(if is_shown { fields } else { unshown.named(fields, args) })
    }

    fn are_known(&self, source: &str, args: &[Arg]) -> bool {
        !stdlib::reads_to_know(source) || self.files.may_look_at(args)
    }

    fn reads(&self, source: &str) -> bool {
        stdlib::reads_to_know(source)
    }

    fn reads_store(&self, scheme: &str) -> bool {
        stores::reads_store(scheme)
    }

    fn file(&self, path: &str) -> Result<Option<File>, InputError> {
        self.files.read(path)
    }

    fn file_if_there(&self, path: &str) -> Result<Option<File>, InputError> {
        self.files.read_if_there(path)
    }

    fn names(&self, path: &str) -> Result<Option<Vec<String>>, String> {
        let is_near = self.files.may_look_at(&[Arg::Text(path.to_owned())]);
        let names = is_near.then(|| classes::names(path)).transpose()?;
        Ok(names.map(|it| match self.unshown {
            Some(unshown) => unshown.classes(path, it),
            None => it,
        }))
    }

    fn classes(&self, sources: &[&[Arg]]) -> Result<Option<Vec<String>>, String> {
        let are_near = sources.iter().all(|it| self.files.may_look_at(it));
        are_near.then(|| classes::of_sources(sources)).transpose().map_err(|it| it.to_string())
    }
}

/// The fields of a source whose files say them, and whether they may be shown to those who only look at a program of the
/// project `within`. Files are looked at now, and a sample set is made now.
///
/// # Errors
/// A file cannot be read, or an argument does not fit what it holds.
pub fn probe(
    source: &str,
    args: &[Arg],
    within: Option<&Path>,
) -> Result<(Vec<Field>, bool), InputError> {
    let mut args = args.to_vec();
    // What is wrong with the name of a set is said of the source; where nothing is looked at, it is made when it is read.
    if !stdlib::reads_to_know(source) || samples::mistake(&args).is_some() {
        return Ok((Vec::new(), true));
    }
    let is_shown = Cell::new(true);
    let may_show = |path: &Path| {
        is_shown.set(within.is_none_or(|it| shown::is_within(it, path)));
        is_shown.get()
    };
    let made = samples::resolve_args(&mut args, &mut |_| ());
    let found = made.and_then(|()| stdlib::probe_shown(source, &args, &may_show));
    let fields = found.map_err(|failure| match failure {
        Failure::Program(why) if is_shown.get() => InputError::Argument(why),
        Failure::Program(why) => InputError::Argument(shown::refused(&why)),
        failure => InputError::File(failure.to_string()),
    })?;
    Ok((fields, is_shown.get()))
}
