//! What takes longer than a keystroke is done beside: looking at inputs, pricing plans, reading data.

use compiler::{
    caches::{SAVES_MIN, candidates},
    estimate::{Figure, Origin},
    syntax::Kept,
};
use driver::{
    Circumstances, Compiled, Constants, Files, Loaded, Lock, Profile, Reach, Settings,
    lock::Chosen,
    peek::{PeekOptions, peek},
};
use plan::Diagnostic;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use crate::{
    analysis::Analysis,
    world::{Probed, Wanted},
};

/// Pipelines of a file that are priced.
const PIPELINES_MAX: usize = 16;
/// Records after each step that `peek` shows.
const RECORDS: usize = 2;

/// A program as it is in the editor.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// The texts of the files that are open or were read.
    pub(crate) texts: HashMap<PathBuf, Result<String, String>>,
    /// The files that arguments name, as they were read.
    pub(crate) files: Files,
    /// Which files it may use, and of which text files messages show what they say.
    pub(crate) reach: Reach,
}

/// What is to be done.
pub(crate) enum Job {
    /// Check it all, with its inputs, and price its pipelines.
    Look { uri: String, version: u64, program: Program },
    /// Look at the files of a source.
    Probe(Wanted),
    /// Give back what nobody needs any more.
    Forget(Box<Analysis>),
}

/// What came of it.
pub(crate) enum Done {
    Looked { uri: String, version: u64, diagnostics: Vec<Diagnostic>, costs: Costs },
    Probed(Wanted, Probed),
}

/// What the pipelines of a file cost, by name.
pub(crate) type Costs = BTreeMap<String, Cost>;

/// What a pipeline costs.
#[derive(Debug, Clone)]
pub(crate) struct Cost {
    /// By step: `train.map#1`.
    pub(crate) steps: BTreeMap<String, StepCost>,
    /// The step that bounds the rate.
    pub(crate) bottleneck: String,
    pub(crate) records_per_second: Figure,
    /// What was chosen for it, where a lock says so that is still about it.
    pub(crate) lock: Option<Chosen>,
    /// What a lock would say that says nothing yet.
    pub(crate) plain: Chosen,
    /// Values that could be kept: `train.map#1.decode_jpeg`.
    pub(crate) values: BTreeSet<String>,
}

/// What a step costs for a record that enters it.
#[derive(Debug, Clone)]
pub(crate) struct StepCost {
    pub(crate) ns: Figure,
    pub(crate) share: f64,
    pub(crate) workers: u32,
    /// What it calls, the dearest first.
    pub(crate) calls: Vec<(String, Figure)>,
}

impl Program {
    fn loaded(&self) -> Loaded {
        let read = &mut |path: &Path| {
            let known = self.texts.get(path).cloned();
            known.unwrap_or_else(|| driver::read_text(path))
        };
        let main = (&*self.path, self.reach);
        Loaded::from_text_with(main, self.text.clone(), read, &mut Kept::default())
    }

    /// How the whole of it is looked at.
    fn settings(&self) -> Settings {
        let (files, reach) = (self.files.clone(), self.reach);
        Settings { files, reach, shows: reach, ..Settings::default() }
    }

    /// How a pipeline is compiled for an editor, which runs no stream for the constants of it.
    fn looking(&self, pipeline: &str) -> Settings {
        let constants = Constants::Assumed;
        Settings { pipeline: Some(pipeline.to_owned()), constants, ..self.settings() }
    }

    fn compiled(&self, pipeline: &str) -> Result<Compiled, String> {
        let settings = self.looking(pipeline);
        driver::compile(&self.loaded(), &settings).map_err(|all| {
            let said: Vec<String> =
                all.iter().map(|it| format!("{}: {}", it.code, it.message)).collect();
            said.join("\n")
        })
    }

    /// What was measured of it: by a profile of its name beside the program.
    fn profile(&self, compiled: &Compiled) -> Option<Profile> {
        let name = format!("{}.profile", compiled.program.name);
        let path = self.path.parent().unwrap_or(Path::new("")).join(name);
        let profile = Profile::read(&path).ok()?;
        Some(profile).filter(|it| it.is_of(compiled) && !it.kept)
    }

    /// What was chosen for it, in the lock beside the program.
    fn lock(&self, compiled: &Compiled) -> Option<Chosen> {
        let mut lock = Lock::read(&Lock::path_of(&self.path)).ok()??;
        lock.pipeline.remove(&compiled.program.name).filter(|it| it.is_of(compiled))
    }

    /// `pipec explain`, as text; of one step, where one is meant.
    pub(crate) fn explained(&self, pipeline: &str, step: Option<&str>) -> Result<String, String> {
        let compiled = self.compiled(pipeline)?;
        let (profile, lock) = (self.profile(&compiled), self.lock(&compiled));
        let of = Circumstances { profile, lock, epochs: 1, ..Circumstances::default() };
        if let Some(step) = step {
            return step_text(&compiled.under(&of), step);
        }
        let planned = compiled.planned(&of, &mut |_| {}).map_err(|it| it.to_string())?;
        Ok(planned.explanation().short())
    }

    /// `pipec peek`, as text.
    pub(crate) fn peeked(&self, pipeline: &str) -> Result<String, String> {
        // It shows the data themselves.
        let shown = Self { reach: Reach::Anywhere, ..self.clone() };
        let compiled = shown.compiled(pipeline)?;
        let options = PeekOptions { records: RECORDS, ..PeekOptions::default() };
        let mut text = String::new();
        let show = &mut |it: driver::peek::Looked<'_>| text += &driver::peek::text(&it.peek);
        peek(&compiled, &options, &mut |_| {}, show).map_err(|it| it.to_string())?;
        Ok(text)
    }
}

/// Does one thing.
pub(crate) fn work(job: Job) -> Option<Done> {
    match job {
        Job::Forget(it) => {
            drop(it);
            None
        }
        Job::Probe(wanted) => {
            let found = wanted.probe();
            Some(Done::Probed(wanted, found))
        }
        Job::Look { uri, version, program } => {
            let (loaded, settings) = (program.loaded(), program.settings());
            let mut diagnostics = driver::check(&loaded, &settings);
            diagnostics.extend(driver::lint(&loaded, &settings));
            if !diagnostics.iter().any(Diagnostic::is_error) {
                diagnostics.extend(driver::missing_files(&loaded, &settings));
            }
            diagnostics.truncate(compiler::syntax::MESSAGES_MAX);
            let broken = diagnostics.iter().any(Diagnostic::is_error);
            let costs = if broken { Costs::new() } else { costs(&program, &loaded) };
            Some(Done::Looked { uri, version, diagnostics, costs })
        }
    }
}

fn costs(program: &Program, loaded: &Loaded) -> Costs {
    let names = driver::pipelines(loaded).into_iter().take(PIPELINES_MAX);
    names
        .filter_map(|name| {
            let settings = program.looking(&name);
            let compiled = driver::compile(loaded, &settings).ok()?;
            Some((name, cost(program, compiled)))
        })
        .collect()
}

fn cost(program: &Program, compiled: Compiled) -> Cost {
    let (profile, lock) = (program.profile(&compiled), program.lock(&compiled));
    let of = Circumstances { profile, ..Circumstances::default() };
    let plain = Chosen::plain(&compiled, driver::cores());
    let compiled = compiled.under(&of);
    let estimate = &compiled.optimised.estimate;
    let measured = lock.as_ref().map(|it| &it.found.costs_us);
    let mut steps = BTreeMap::new();
    for it in &estimate.steps {
        let seen = measured.and_then(|all| all.get(&it.step)).filter(|_| of.profile.is_none());
        let seen = seen.map(|us| Figure { value: us * 1e3, origin: Origin::Measured });
        let calls = it.calls.iter().map(|it| (it.name.clone(), it.ns)).collect();
        let ns = seen.unwrap_or(it.ns);
        steps.insert(it.step.clone(), StepCost { ns, share: it.share, workers: it.workers, calls });
    }
    let own = estimate.steps.get(estimate.bottleneck).map_or("", |it| &it.step);
    let found = lock.as_ref().map(|it| it.found.bottleneck.as_str());
    let found = found.filter(|it| of.profile.is_none() && steps.contains_key(*it));
    let library = stdlib::library();
    let alternatives = compiled.alternatives();
    let values_of = |it: &Compiled, measured| {
        let found = candidates(&it.optimised.plan, &library, (measured, SAVES_MIN));
        found.unwrap_or_default().into_iter().filter(|it| it.refused.is_none())
    };
    let others = alternatives.iter().flat_map(|it| values_of(it, None));
    let values = values_of(&compiled, of.costs()).chain(others);
    // What the lock names can be let go again, however little it saves.
    let named = lock.iter().flat_map(|it| it.kept().into_iter().chain(it.forbid.clone()));
    let values: BTreeSet<String> = values.map(|it| it.value_name()).chain(named).collect();
    Cost {
        bottleneck: found.unwrap_or(own).to_owned(),
        records_per_second: estimate.records(),
        values,
        steps,
        lock,
        plain,
    }
}

/// All that is known of one step.
fn step_text(compiled: &Compiled, step: &str) -> Result<String, String> {
    let explained = compiled.explanation(compiled.plain_view());
    let line = explained.steps.iter().find(|it| it.step == step);
    let Some(line) = line else { return Err(format!("the step `{step}` no longer exists")) };
    let cost = &explained.estimate.steps[line.estimate];
    let time = compiler::explain::time;
    let mut text = format!("{step}, written at {}\n", line.place);
    if let Some(record) = &line.record {
        text += &format!("output      {record}\n");
    }
    text += &format!(
        "costs       {} per record, {} of the time of `{}`\n",
        time(cost.ns),
        plan::percent(cost.share),
        explained.pipeline
    );
    for it in &cost.calls {
        text += &format!("            {} {}\n", it.name, time(it.ns));
    }
    text += &format!("threads     at most {}\n", cost.workers);
    if explained.estimate.bottleneck == line.estimate {
        text += "limits      the rate of the pipeline: this is the bottleneck\n";
    }
    if let Some(note) = &line.note {
        text += &format!("note        {note}\n");
    }
    let rewrites = explained.rewrites();
    for rewritten in rewrites.lines().filter(|it| it.contains(step)) {
        text += &format!("rewritten   {}\n", rewritten.trim());
    }
    Ok(text)
}
