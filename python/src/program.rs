//! A program for Python: read, compiled, and what is asked of it.

use crate::{errors, foreign::Functions};
use driver::{
    Built, Circumstances, Compiled, ConstantWatch, DiskOptions, Loaded, Lock, RunOptions, Settings,
    State, Stop, WRONG_ARGUMENT, lock::Chosen,
};
use model::strategy::Objective;
use plan::outside;
use pyo3::prelude::*;
use runtime::Rank;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Bytes that the folder of `cache` may take: as for `pipec run --cache`.
const CACHE_BYTES: u64 = 50 << 30;

/// What `pipec.load` was told, apart from the program.
#[derive(Clone, FromPyObject)]
pub(crate) struct Told {
    #[pyo3(item)]
    name: Option<String>,
    #[pyo3(item)]
    params: BTreeMap<String, String>,
    #[pyo3(item)]
    seed: u64,
    #[pyo3(item)]
    pub(crate) epoch: u32,
    #[pyo3(item)]
    epochs: Option<u32>,
    #[pyo3(item)]
    rank: u32,
    #[pyo3(item)]
    world: u32,
    #[pyo3(item)]
    workers: Option<usize>,
    #[pyo3(item)]
    memory: Option<u64>,
    /// Records of a block, of a pipeline without `batch`.
    #[pyo3(item)]
    pub(crate) rows: usize,
    /// Processes that functions outside are called in; 0: in this one.
    #[pyo3(item)]
    pub(crate) processes: usize,
    #[pyo3(item)]
    keep: bool,
    #[pyo3(item)]
    cache: Option<PathBuf>,
    #[pyo3(item)]
    quarantine: Option<PathBuf>,
    #[pyo3(item)]
    max_errors: Option<u64>,
    /// What caching is to be the best for, as on the command line.
    #[pyo3(item)]
    objective: Option<String>,
}

/// Where a program comes from.
#[derive(Clone, FromPyObject)]
pub(crate) struct Source {
    /// The file, or what stands for it in messages.
    #[pyo3(item)]
    pub(crate) path: PathBuf,
    /// The text, where it is in no file.
    #[pyo3(item)]
    text: Option<String>,
}

/// A program that can be run.
pub(crate) struct Program {
    /// As it was read; none of a built file, which is not compiled again.
    loaded: Option<Arc<Loaded>>,
    settings: Settings,
    pub(crate) compiled: Arc<Compiled>,
    pub(crate) told: Told,
    pub(crate) source: Source,
    /// What caching is to be the best for.
    pub(crate) objective: Objective,
    /// What was chosen for it, and lies beside it.
    pub(crate) lock: Option<Chosen>,
    /// The functions in Python that it calls.
    pub(crate) functions: Arc<Functions>,
}

/// Why a program cannot be run.
pub(crate) enum Wrong {
    Unreadable(driver::Unreadable),
    Refused(driver::built::Refusal),
    Program(Vec<driver::SourceFile>, Vec<plan::Diagnostic>),
    Failed(runtime::Failure),
    Argument(String),
    /// Python was asked to stop, such as by Ctrl-C.
    Interrupted(PyErr),
}

impl Wrong {
    pub(crate) fn raise(self, py: Python<'_>, source: &Source) -> PyErr {
        match self {
            Self::Unreadable(it) => errors::unreadable(py, &it),
            Self::Refused(it) => errors::refused(py, &source.path.display().to_string(), &it),
            Self::Program(files, all) => errors::compile(py, &files, &all),
            Self::Failed(it) => errors::failure(py, &it),
            Self::Interrupted(it) => it,
            Self::Argument(it) => errors::coded(py, "ArgumentError", &WRONG_ARGUMENT, &it),
        }
    }
}

impl Program {
    /// Reads and compiles it, or takes it out of a built file.
    pub(crate) fn load(
        source: Source,
        told: Told,
        functions: Arc<Functions>,
    ) -> Result<Self, Wrong> {
        if told.rank >= told.world {
            let (rank, world) = (told.rank, told.world);
            let told =
                format!("rank {rank} is out of range for world size {world}: ranks start at 0");
            return Err(Wrong::Argument(told));
        }
        let objective = parsed_objective(told.objective.as_deref().unwrap_or("time"))
            .map_err(Wrong::Argument)?;
        let mut settings = Settings {
            pipeline: told.name.clone(),
            params: told.params.clone(),
            workers: told.workers,
            memory: told.memory,
            functions: driver::Functions(Some(functions.clone())),
            shows: driver::Reach::Anywhere,
            losses: driver::Losses::new(
                told.max_errors,
                told.quarantine.clone(),
                Rank { rank: told.rank, world: told.world, ..Rank::default() },
            ),
            ..Settings::default()
        };
        let built = match &source.text {
            Some(_) => None,
            None => Built::open(&source.path).map_err(Wrong::Refused)?,
        };
        let (loaded, compiled) = match built {
            Some(built) => (None, as_built(built, &settings)?),
            None => {
                let loaded = match source.text.clone() {
                    Some(text) => Loaded::from_text(&source.path, text),
                    None => Loaded::read(&source.path).map_err(Wrong::Unreadable)?,
                };
                constants(&loaded, &mut settings)?;
                let compiled = compiled(&loaded, &settings)?;
                (Some(Arc::new(loaded)), compiled)
            }
        };
        let declared = declared(&compiled);
        if let Some(other) = functions.names().find(|it| !declared.contains(*it)) {
            let all: Vec<_> = declared.iter().map(|it| format!("`{it}`")).collect();
            let calls = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
            let told = format!(
                "the pipeline does not call `{other}`: of what is declared by `extern fn` and `extern \
                 pipeline` it calls {calls}"
            );
            return Err(Wrong::Argument(told));
        }
        sharable(&compiled, told.world).map_err(Wrong::Argument)?;
        let lock = lock(&source, &compiled).map_err(Wrong::Failed)?;
        let compiled = Arc::new(compiled);
        Ok(Self { loaded, settings, compiled, told, source, objective, lock, functions })
    }

    /// The same for a run that goes on from `state`: rewritten as it was then.
    pub(crate) fn as_of(&self, state: &State) -> Result<Arc<Compiled>, Wrong> {
        let Some(loaded) = &self.loaded else { return Ok(self.compiled.clone()) };
        let settings = Settings { state: Some(state.clone()), ..self.settings.clone() };
        compiled(loaded, &settings).map(Arc::new)
    }

    /// How it is run.
    pub(crate) fn options(&self) -> RunOptions {
        let (usual, told) = (RunOptions::default(), &self.told);
        let tuned = self.lock.as_ref().map_or(usual.workers, |it| it.workers);
        let epochs = told.epochs.and_then(|it| told.epoch.checked_add(it)).unwrap_or(u32::MAX);
        RunOptions {
            seed: told.seed,
            epochs,
            workers: told.workers.unwrap_or(tuned),
            memory: told.memory.unwrap_or(usual.memory),
            rank: Rank { rank: told.rank, world: told.world, ..Rank::default() },
            quarantine: told.quarantine.clone(),
            most_lost: told.max_errors,
            caches: told.keep,
            disk: told.cache.clone().map(disk),
            objective: self.objective,
            lock: self.lock.clone(),
            ..usual
        }
    }

    /// What it is explained for, where no more is known of the machine: so many epochs, and the seconds of a training step.
    pub(crate) fn circumstances(
        &self,
        (epochs, consumer): (u32, Option<f64>),
        objective: Objective,
    ) -> Circumstances {
        let options = self.options();
        Circumstances {
            consumer,
            epochs,
            memory: Some(options.memory),
            workers: Some(options.workers),
            objective,
            lock: options.lock,
            ..Circumstances::default()
        }
    }

    /// Where its lock lies, if it is in a file.
    pub(crate) fn lock_path(&self) -> Option<PathBuf> {
        self.source.text.is_none().then(|| Lock::path_of(&self.source.path))
    }
}

/// The folder that is cached in.
pub(crate) fn disk(folder: PathBuf) -> DiskOptions {
    DiskOptions { folder, limit: CACHE_BYTES, verify_inputs: false }
}

/// What caching is to be the best for, as on the command line; else, why it is not.
pub(crate) fn parsed_objective(text: &str) -> Result<Objective, String> {
    text.parse().map_err(|why: String| format!("`objective`: {why}, found `{text}`"))
}

/// Whether so many runs can share the work; else, why not.
pub(crate) fn sharable(compiled: &Compiled, runs: u32) -> Result<(), String> {
    match compiled.program.uneven_lanes(runs) {
        Some(lanes) => Err(format!("{lanes} lanes cannot be divided among {runs} ranks")),
        None => Ok(()),
    }
}

/// Computes the constants of streams that are not kept; signals are asked for meanwhile.
fn constants(loaded: &Loaded, settings: &mut Settings) -> Result<(), Wrong> {
    let (stop, mut interrupted) = (Stop::default(), None);
    let mut watch = ConstantWatch {
        stop: stop.clone(),
        progress: &mut |_| {
            if let Err(signal) = Python::attach(|py| py.check_signals()) {
                interrupted.get_or_insert(signal);
                stop.request();
            }
        },
        sample: &mut |_| (),
        computed: &mut |_| (),
    };
    let found = driver::constants(loaded, settings, &mut watch);
    match (interrupted, found) {
        (Some(signal), _) => Err(Wrong::Interrupted(signal)),
        (None, Err(it)) => Err(Wrong::Program(loaded.files.clone(), vec![it.diagnostic()])),
        (None, Ok(())) => Ok(()),
    }
}

fn compiled(loaded: &Loaded, settings: &Settings) -> Result<Compiled, Wrong> {
    let compiled = driver::compile(loaded, settings);
    let mut compiled = compiled.map_err(|it| Wrong::Program(loaded.files.clone(), it))?;
    compiled.warnings.extend(driver::label_warnings(loaded, &compiled, settings));
    Ok(compiled)
}

/// The program of a built file, which is as it was built.
fn as_built(built: Built, settings: &Settings) -> Result<Compiled, Wrong> {
    let name = &built.compiled.program.name;
    if let Some(other) = settings.pipeline.as_ref().filter(|it| *it != name) {
        let wrong =
            format!("it does not contain the pipeline `{other}`: it was built from `{name}` only");
        return Err(Wrong::Argument(wrong));
    }
    if !settings.params.is_empty() {
        let wrong = "its parameters were set when it was built: build it again".to_owned();
        return Err(Wrong::Argument(wrong));
    }
    let mut compiled = built.compiled;
    compiled.functions = settings.functions.clone();
    Ok(compiled)
}

/// The names of the functions and sources outside that it calls, its constants among it.
fn declared(compiled: &Compiled) -> BTreeSet<String> {
    let of_constants = compiled.constants.iter().flat_map(|it| it.outside.clone());
    outside(&compiled.written).into_iter().chain(of_constants).collect()
}

/// What the lock beside the program says of the pipeline, where it is still about it; else what a
/// built file brings along.
fn lock(source: &Source, compiled: &Compiled) -> Result<Option<Chosen>, runtime::Failure> {
    let beside = match source.text {
        Some(_) => None,
        None => Lock::read(&Lock::path_of(Path::new(&source.path)))?,
    };
    let chosen = beside.and_then(|mut it| it.pipeline.remove(&compiled.program.name));
    let chosen = chosen.filter(|it| it.is_of(compiled)).or_else(|| compiled.lock.clone());
    Ok(chosen.map(|it| it.on_cores(driver::cores()).0))
}
