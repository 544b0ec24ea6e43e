//! What Python asks of a pipeline besides its batches: what it costs, how it is best run, and that what is cached is made
//! ahead.

use crate::{
    errors,
    program::{Program, disk},
    wait::{patiently, watched},
};
use driver::{
    Circumstances, Compiled, Filling, Host, Lock, PrepareWatch, Profile, RunOptions, Stop,
    lock::Chosen,
    profile,
    tune::{self, strategies},
};
use model::strategy::Objective;
use pyo3::{prelude::*, types::PyDict};
use runtime::{Failure, Rank};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

/// The explanation, threads with their rates, the threads that were chosen, what is cached, and where that was written.
pub(crate) type Tuned = (String, Vec<(usize, f64)>, usize, Vec<String>, Option<PathBuf>);
/// The table, its rows in JSON, what is cached, what is to be told, and where it was written.
pub(crate) type Compared = (String, String, Vec<String>, Vec<String>, Option<PathBuf>);

/// For how long, for how many epochs, and for what something is tuned.
type Aim = (f64, u32, Objective);

impl Program {
    /// The plan as text, as a page and in JSON.
    pub(crate) fn explain(
        &self,
        py: Python<'_>,
        (of, objective): ((u32, Option<f64>), Objective),
        verbose: bool,
    ) -> PyResult<(String, String, String)> {
        let of = self.circumstances(of, objective);
        let compiled = self.compiled.clone();
        let work = move || {
            let of = Circumstances { host: host()?, ..of };
            let it = (*compiled).clone().planned(&of, &mut |_| {})?.explanation();
            let text = if verbose { it.text() } else { it.short() };
            Ok::<_, Failure>((text, it.html(None), serde_json::to_string(&it)))
        };
        let made = patiently(py, work, || ())?.map_err(|it| errors::failure(py, &it))?;
        Ok((made.0, made.1, made.2.map_err(wrong_json)?))
    }

    /// What each step takes, in JSON.
    pub(crate) fn profile(
        &self,
        py: Python<'_>,
        seconds: f64,
        path: Option<PathBuf>,
    ) -> PyResult<String> {
        let (compiled, options) = (self.compiled.clone(), self.options());
        let work = move |stop: &Stop| {
            let (workers, memory) = (options.workers, options.memory);
            let least = profile::Measuring::least_of(seconds);
            let measuring =
                profile::Measuring { workers, memory, whole_process: false, seconds, least };
            let measured = profile::measure(&compiled, &measuring, stop, &mut |_| {})?;
            if let Some(path) = path {
                measured.write(&path)?;
            }
            Ok::<Profile, Failure>(measured)
        };
        let measured = stoppable(py, work)?;
        json(&measured.map_err(|it| errors::failure(py, &it))?)
    }

    /// Chooses the number of threads, and what is cached.
    pub(crate) fn tune(&self, py: Python<'_>, aim: Aim, write: bool) -> PyResult<Tuned> {
        let (compiled, wanted) = (self.compiled.clone(), self.wanted(aim));
        let path = self.lock_path().filter(|_| write);
        let lock = path.clone();
        let work = move |stop: &Stop| {
            let wanted = tune::Wanted { host: host()?, ..wanted };
            let tuned = tune::tune(&compiled, &wanted, stop, &mut |_| {})?;
            put(lock, &compiled, Some(&tuned.chosen))?;
            Ok::<_, Failure>(tuned)
        };
        let tuned = stoppable(py, work)?;
        let tuned = tuned.map_err(|it| errors::failure(py, &it))?;
        let chosen = tuned.chosen;
        Ok((tuned.explanation.text(), tuned.tried, chosen.workers, chosen.kept(), path))
    }

    /// Compares what could be cached, also in a folder, and runs the best of it.
    pub(crate) fn strategies(
        &self,
        py: Python<'_>,
        aim: Aim,
        (folder, top): (Option<PathBuf>, usize),
        write: bool,
    ) -> PyResult<Compared> {
        let (compiled, wanted) = (self.compiled.clone(), self.wanted(aim));
        let disk = folder.map(disk);
        let lock = self.lock.clone().filter(|it| it.plan == compiled.hash());
        let path = self.lock_path().filter(|_| write);
        let beside = path.clone();
        let work = move |stop: &Stop| {
            let wanted = tune::Wanted { host: host()?, ..wanted };
            let asked = strategies::Asked { wanted, disk, top, lock };
            let found = strategies::strategies(&compiled, &asked, stop, &mut |_| {})?;
            put(beside, &compiled, found.chosen.as_ref())?;
            let table = found.planned.explanation().strategies(&found.strategies);
            Ok::<_, Failure>((table, serde_json::to_string(&found.strategies), found))
        };
        let found = stoppable(py, work)?;
        let (table, rows, found) = found.map_err(|it| errors::failure(py, &it))?;
        let path = path.filter(|_| found.chosen.is_some());
        let keep = found.chosen.map(|it| it.kept()).unwrap_or_default();
        Ok((table, rows.map_err(wrong_json)?, keep, found.notes, path))
    }

    /// Makes what runs cache in a folder. Tells `progress` how far it is.
    pub(crate) fn prepare(
        &self,
        py: Python<'_>,
        (folder, epochs, keep): (PathBuf, Option<u32>, Vec<String>),
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<(String, Vec<String>)> {
        let own = self.options();
        let options = RunOptions {
            epochs: epochs.unwrap_or(own.epochs),
            rank: Rank::default(),
            quarantine: None,
            disk: Some(disk(folder)),
            ..own
        };
        let compiled = self.compiled.clone();
        let stop = Stop::default();
        let stopping = stop.clone();
        let far = Arc::new(Mutex::new(None::<Filling>));
        let seen = far.clone();
        let work = move || {
            let (mut all, mut notes) = (Vec::new(), Vec::new());
            let watch = PrepareWatch {
                stop,
                progress: &mut |it| {
                    *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(it.clone());
                },
                sample: &mut |_| (),
                filled: &mut |it| all.push(it.clone()),
                note: &mut |it| notes.push(it.to_owned()),
            };
            driver::prepare(&compiled, (&options, &keep), watch)?;
            Ok::<_, Failure>((all, notes))
        };
        let look = || {
            let Some(callback) = progress else { return Ok(()) };
            let far = far.lock().unwrap_or_else(PoisonError::into_inner).take();
            far.map_or(Ok(()), |it| callback.call1(py, (dict(py, &it)?,)).map(drop))
        };
        let done = watched(py, work, (look, || _ = stopping.request()))?;
        let (all, notes) = done.map_err(|it| errors::failure(py, &it))?;
        Ok((json(&all)?, notes))
    }

    fn wanted(&self, (seconds, epochs, objective): Aim) -> tune::Wanted {
        tune::Wanted {
            seconds,
            cores: driver::cores(),
            epochs,
            memory: Some(self.options().memory),
            whole_process: false,
            consumer: None,
            host: None,
            objective,
        }
    }
}

/// What `work` gives, which Ctrl-C stops.
fn stoppable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> T + Send + 'static,
) -> PyResult<T> {
    let stop = Stop::default();
    let stopping = stop.clone();
    patiently(py, move || work(&stop), || _ = stopping.request())
}

/// How far it is, for Python.
fn dict<'py>(py: Python<'py>, it: &Filling) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("functions", &it.functions)?;
    dict.set_item("values", it.values)?;
    dict.set_item("of", it.of)?;
    dict.set_item("written", it.written)?;
    dict.set_item("seconds", it.elapsed.as_secs_f64())?;
    Ok(dict)
}

/// What is known of this machine, if it was calibrated.
fn host() -> Result<Option<Host>, Failure> {
    Ok(Some(Host::load_default()?).filter(|it| !it.is_assumed()))
}

/// Writes what was chosen, if it is to be written.
fn put(path: Option<PathBuf>, compiled: &Compiled, chosen: Option<&Chosen>) -> Result<(), Failure> {
    match (path, chosen) {
        (Some(path), Some(chosen)) => Lock::put(&path, &compiled.program.name, chosen.clone()),
        _ => Ok(()),
    }
}

pub(crate) fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(wrong_json)
}

fn wrong_json(it: serde_json::Error) -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(it.to_string())
}
