//! `Native`: a pipeline that is iterated. `pipec.Pipe` (`pipec/_pipe.py`) is around it.
//!
//! An iterator begins an epoch with its first `next`, and the stream goes on beneath it from epoch
//! to epoch; one that was left half-way is put at the next epoch's start. Who holds the lock of the
//! engine may wait for the GIL; so nobody waits for the lock with the GIL.

use crate::{
    arrow::Forms,
    errors,
    foreign::Functions,
    fork::Process,
    planning::{self, Compared, Tuned},
    program::{Program, Source, Told, parsed_objective, sharable},
    ready::{Form, Keys, Ready},
    schema,
    wait::{TICK, patiently},
};
use driver::{
    Arrival, ITERATOR_OVERTAKEN, LENGTH_UNKNOWN, RunOptions, State, Stream, USED_AFTER_FORK,
    WRONG_ARGUMENT,
};
use model::strategy::Objective;
use pyo3::{prelude::*, types::PyDict};
use runtime::Rank;
use std::{
    collections::BTreeMap,
    mem::ManuallyDrop,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

/// A pipeline, loaded; it starts to run with the first batch that is asked for.
#[pyclass(frozen, module = "pipec._pipec")]
pub(crate) struct Native {
    program: Program,
    keys: Keys,
    engine: ManuallyDrop<Mutex<Engine>>,
    /// The process that has loaded it, and the one whose threads it has, if it has any.
    born: Process,
    began: OnceLock<Process>,
}

struct Engine {
    stream: Option<Stream>,
    compiled: Arc<driver::Compiled>,
    /// How it is run: as `load` was told, but for the part of the work that it has taken on since.
    options: RunOptions,
    /// What to go on from, as long as there is no stream.
    resume: Option<State>,
    /// The epoch that the next iterator begins, where somebody has said so.
    wanted: Option<u32>,
    /// The present iterator.
    turn: u64,
    at: At,
    /// The batches that have come.
    ready: Option<Ready>,
}

/// Where the stream stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// At an epoch's start, or where a state says, and no iterator has begun.
    Start,
    /// Within an epoch, of which an iterator has had something.
    Within,
    /// The run has ended early, in this epoch.
    Broken,
    /// All epochs that were planned for have been given.
    Over,
}

/// An iterator over an epoch.
///
/// What changes is looked at and changed with the lock of the engine alone.
#[pyclass(frozen, module = "pipec._pipec")]
pub(crate) struct Batches {
    native: Py<Native>,
    form: Form,
    /// Which iterator of the engine it is; 0 before it has begun.
    turn: AtomicU64,
    over: AtomicBool,
}

#[pymethods]
impl Batches {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let native = self.native.get();
        let mut engine = native.engine(py)?;
        if self.over.load(Relaxed) {
            return Ok(None);
        }
        let turn = self.turn.load(Relaxed);
        if turn == 0 {
            engine.begin(py, native)?;
            self.turn.store(engine.turn, Relaxed);
        } else if turn != engine.turn {
            let told = "another iteration over the same pipeline has started since: load it twice \
                        to iterate twice at the same time";
            return Err(errors::coded(py, "IterationError", &ITERATOR_OVERTAKEN, told));
        }
        loop {
            if let Some(ready) = &mut engine.ready
                && let Some(batch) = ready.next(py, &native.keys, self.form)?
            {
                return Ok(Some(batch));
            }
            match engine.advance(py, &native.program)? {
                Some(ready) => engine.ready = Some(ready),
                None => {
                    self.over.store(true, Relaxed);
                    return Ok(None);
                }
            }
        }
    }

    /// An epoch's batches are counted by the pipeline: this asks it, for progress bars.
    fn __length_hint__(&self, py: Python<'_>) -> PyResult<usize> {
        match self.native.get().len(py) {
            Ok(n) => Ok(n),
            Err(_) => Ok(0),
        }
    }
}

impl Engine {
    /// Begins an epoch for another iterator.
    fn begin(&mut self, py: Python<'_>, native: &Native) -> PyResult<()> {
        self.open(py, native)?;
        let (at, wanted) = (self.at, self.wanted.take());
        let stream = self.stream.as_mut().expect("it was opened");
        let next = match (wanted, at) {
            (Some(wanted), At::Start) if wanted == stream.epoch() && !stream.is_over() => None,
            (Some(wanted), _) => Some(wanted),
            (None, At::Start) if stream.is_over() => Some(stream.epoch()),
            (None, At::Start) => None,
            (None, At::Within) => Some(stream.epoch() + 1),
            (None, At::Broken | At::Over) => Some(stream.epoch()),
        };
        if let Some(epoch) = next {
            // Old threads end, which may take as long as what they are at.
            py.detach(|| stream.go_to(epoch)).map_err(|it| errors::failure(py, &it))?;
        }
        // From here on there are threads.
        let _ = native.began.set(Process::this());
        (self.at, self.ready) = (At::Within, None);
        self.turn += 1;
        Ok(())
    }

    /// Sees to it that there is a stream.
    fn open(&mut self, py: Python<'_>, native: &Native) -> PyResult<()> {
        if self.stream.is_some() {
            return Ok(());
        }
        let told = &native.program.told;
        let (compiled, options) = (self.compiled.clone(), self.options.clone());
        let (resume, epoch) = (self.resume.clone(), self.wanted.unwrap_or(told.epoch));
        let rows = told.rows;
        let work =
            move || Stream::open(&compiled, &options, (resume.as_ref(), epoch, rows), &mut |_| {});
        let mut stream = patiently(py, work, || ())?.map_err(|it| errors::failure(py, &it))?;
        let (opened, compiled) = (&mut stream, &self.compiled);
        let uneven = py.detach(move || opened.uneven_ranks(compiled));
        self.stream = Some(stream);
        if let Some(uneven) = uneven {
            let (message, help) = uneven.told();
            errors::warn(py, &format!("{message}; {help}"))?;
        }
        Ok(())
    }

    /// Ends the threads. The next stream goes on from where this one stood.
    fn halt(&mut self, py: Python<'_>) {
        let given = self.ready.as_ref().map_or(0, Ready::given);
        let Some(mut stream) = self.stream.take() else { return };
        if self.turn == 0 {
            // Nothing was taken of it, and where it stands needs no look at each file of the inputs.
            return;
        }
        let epoch = stream.epoch();
        let state = py.detach(move || {
            let state = stream.state(given);
            drop(stream);
            state
        });
        (self.resume, self.ready) = (state.ok(), None);
        self.turn += 1;
        if self.resume.is_none() {
            // Inputs that are gone are told about by whoever iterates again.
            let next = epoch + u32::from(self.at == At::Within);
            self.wanted = self.wanted.or(Some(next));
            self.at = At::Start;
        }
    }

    /// Goes to the epoch that somebody has said, unless another one is under way: where it stands is
    /// there from then on.
    fn settle(&mut self, py: Python<'_>) -> PyResult<()> {
        let stream = self.stream.as_mut().expect("it was opened");
        let wanted = self.wanted.filter(|it| self.at != At::Within && *it != stream.epoch());
        if let Some(epoch) = wanted {
            py.detach(|| stream.go_to(epoch)).map_err(|it| errors::failure(py, &it))?;
            (self.at, self.ready, self.wanted) = (At::Start, None, None);
        }
        Ok(())
    }

    /// The batches that come next; none at the epoch's end.
    fn advance(&mut self, py: Python<'_>, program: &Program) -> PyResult<Option<Ready>> {
        let Self { stream, compiled, at, ready, .. } = self;
        let stream = stream.as_mut().expect("an epoch has begun");
        loop {
            match py.detach(|| stream.next(Some(TICK))) {
                Ok(Arrival::Batches(chunk)) => {
                    return Ready::new(py, chunk, compiled.program.batched).map(Some);
                }
                Ok(Arrival::Waiting) => py.check_signals()?,
                Ok(Arrival::EpochEnd(_)) => {
                    (*at, *ready) = (At::Start, None);
                    return Ok(None);
                }
                Ok(Arrival::Over) => {
                    (*at, *ready) = (At::Over, None);
                    return Ok(None);
                }
                Err(failure) => {
                    *at = At::Broken;
                    let error = errors::failure(py, &failure);
                    error.set_cause(py, program.functions.cause(py, &failure));
                    return Err(error);
                }
            }
        }
    }
}

impl Native {
    /// The engine, if it is this process's own.
    fn engine(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Engine>> {
        if self.began.get().is_some_and(|it| it.is_past()) {
            return Err(forked(py));
        }
        loop {
            match self.engine.try_lock() {
                Ok(engine) => return Ok(engine),
                Err(TryLockError::Poisoned(it)) => return Ok(it.into_inner()),
                // In a copy of the process nobody would ever unlock what was locked then.
                Err(TryLockError::WouldBlock)
                    if self.born.is_past() && self.began.get().is_none() =>
                {
                    return Err(forked(py));
                }
                Err(TryLockError::WouldBlock) => py.detach(|| drop(self.engine.lock())),
            }
        }
    }

    /// What caching is to be the best for: what is said now, or was said at first.
    fn objective(&self, py: Python<'_>, said: Option<&str>) -> PyResult<Objective> {
        let said = said.map_or(Ok(self.program.objective), parsed_objective);
        said.map_err(|it| errors::coded(py, "ArgumentError", &WRONG_ARGUMENT, &it))
    }

    fn opened(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Engine>> {
        let mut engine = self.engine(py)?;
        engine.open(py, self)?;
        Ok(engine)
    }
}

fn forked(py: Python<'_>) -> PyErr {
    let told = "this pipeline runs in the parent process, and its threads do not exist in a fork: \
                load it here, or use `pipe.torch()` without worker processes (`num_workers=0`); \
                it has its own threads";
    errors::coded(py, "ForkError", &USED_AFTER_FORK, told)
}

impl Drop for Native {
    fn drop(&mut self) {
        // Threads are not copied with a process: nobody would answer, so nothing is touched.
        if self.began.get().is_some_and(|it| it.is_past()) {
            return;
        }
        // SAFETY: it is taken once, here.
        let engine = unsafe { ManuallyDrop::take(&mut self.engine) };
        let Engine { stream, ready, .. } =
            engine.into_inner().unwrap_or_else(PoisonError::into_inner);
        drop(ready);
        // Threads end after the task that they are at: others may go on meanwhile.
        let mut stream = Some(stream);
        let _ = Python::try_attach(|py| {
            let stream = stream.take();
            py.detach(move || drop(stream));
        });
    }
}

#[pymethods]
impl Native {
    /// Loads a program: see `pipec.load`.
    #[new]
    fn new(
        py: Python<'_>,
        source: Source,
        told: Told,
        functions: BTreeMap<String, Py<PyAny>>,
    ) -> PyResult<Self> {
        let (from, asked) = (source.clone(), told);
        let functions = Arc::new(Functions::new(py, functions, asked.processes)?);
        let program = py.detach(move || Program::load(from, asked, functions));
        let program = program.map_err(|it| it.raise(py, &source))?;
        let compiled = &program.compiled.program;
        let keys = Keys::new(py, &compiled.output, compiled.batched)?;
        let engine = Engine {
            stream: None,
            compiled: program.compiled.clone(),
            options: program.options(),
            resume: None,
            wanted: None,
            turn: 0,
            at: At::Start,
            ready: None,
        };
        let (born, began) = (Process::this(), OnceLock::new());
        Ok(Self { program, keys, engine: ManuallyDrop::new(Mutex::new(engine)), born, began })
    }

    /// What the compiler has warned of, drawn.
    fn warnings(&self) -> Vec<String> {
        let compiled = &self.program.compiled;
        compiled.warnings.iter().map(|it| errors::drawn(&compiled.files, it)).collect()
    }

    /// Whether its threads call functions in Python.
    fn calls_python(&self) -> bool {
        driver::built::calls_python(&self.program.compiled)
    }

    /// The classes of each label: the field, where there is one, and the names in order.
    fn classes(&self, py: Python<'_>) -> PyResult<Vec<(Option<String>, Vec<String>)>> {
        let found = py.detach(|| driver::classes(&self.program.compiled));
        let found = found.map_err(|it| errors::failure(py, &it))?;
        let each = found.into_iter().flat_map(|it| match &it.fields[..] {
            [] => vec![(None, it.names)],
            fields => fields.iter().map(|field| (Some(field.clone()), it.names.clone())).collect(),
        });
        Ok(each.collect())
    }

    /// The pipeline's name.
    fn name(&self) -> String {
        self.program.compiled.program.name.clone()
    }

    /// Whether what leaves are batches, rather than records in blocks.
    fn batched(&self) -> bool {
        self.program.compiled.program.batched
    }

    /// What is told of each field.
    fn schema(&self) -> Vec<schema::Told> {
        schema::told(&self.program.compiled.program)
    }

    /// An iterator over the next epoch; of arrays of NumPy, or of our own.
    fn iterate(slf: Py<Self>, py: Python<'_>, numpy: bool) -> PyResult<Batches> {
        drop(slf.get().engine(py)?);
        let form = if numpy { Form::Numpy } else { Form::Own };
        let (turn, over) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Batches { native: slf, form, turn, over })
    }

    /// What its batches are in Arrow.
    fn arrow(&self) -> Forms {
        Forms::of(&self.program.compiled.program)
    }

    /// The epoch that comes next, or is under way.
    fn epoch(&self, py: Python<'_>) -> PyResult<u32> {
        let engine = self.engine(py)?;
        let told = || engine.resume.as_ref().map_or(self.program.told.epoch, |it| it.epoch);
        let begun = || engine.stream.as_ref().map_or_else(told, Stream::epoch);
        Ok(engine.wanted.unwrap_or_else(begun))
    }

    /// The epoch that the next iterator begins.
    fn next_epoch(&self, py: Python<'_>) -> PyResult<u32> {
        let within = {
            let engine = self.engine(py)?;
            engine.at == At::Within && engine.wanted.is_none()
        };
        Ok(self.epoch(py)?.saturating_add(u32::from(within)))
    }

    /// Says which epoch the next iterator begins.
    fn set_epoch(&self, py: Python<'_>, epoch: u32) -> PyResult<()> {
        self.engine(py)?.wanted = Some(epoch);
        Ok(())
    }

    /// Batches of an epoch.
    fn len(&self, py: Python<'_>) -> PyResult<usize> {
        let mut engine = self.opened(py)?;
        let Engine { stream, compiled, .. } = &mut *engine;
        let stream = stream.as_mut().expect("it was opened");
        let len = py.detach(move || stream.epoch_len(compiled));
        len.and_then(|it| usize::try_from(it).ok()).ok_or_else(|| {
            let told =
                "the number of batches is unknown until the pipeline is read: count steps instead";
            errors::coded(py, "LengthError", &LENGTH_UNKNOWN, told)
        })
    }

    /// Where it stands, as the text of a JSON object.
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        let mut engine = self.opened(py)?;
        engine.settle(py)?;
        let given = engine.ready.as_ref().map_or(0, Ready::given);
        let stream = engine.stream.as_mut().expect("it was opened");
        let state = py.detach(|| stream.state(given));
        Ok(state.map_err(|it| errors::failure(py, &it))?.line())
    }

    /// Goes to where `state`, the text of one, says.
    fn load_state(&self, py: Python<'_>, state: &str) -> PyResult<()> {
        drop(self.engine(py)?);
        let state = State::from_bytes(state.as_bytes()).map_err(|it| errors::failure(py, &it))?;
        let compiled = py.detach(|| self.program.as_of(&state));
        let compiled = compiled.map_err(|it| it.raise(py, &self.program.source))?;
        let mut engine = self.engine(py)?;
        let before = (engine.stream.take(), engine.ready.take(), engine.turn + 1);
        py.detach(|| drop(before.0));
        let options = engine.options.clone();
        *engine = Engine {
            stream: None,
            compiled,
            options,
            resume: Some(state),
            wanted: None,
            turn: before.2,
            at: At::Start,
            ready: None,
        };
        // What does not fit is told now, and not when somebody iterates.
        let opened = engine.open(py, self);
        if opened.is_err() {
            engine.resume = None;
            engine.compiled = self.program.compiled.clone();
        }
        opened
    }

    /// Whether there is anything that it would go on from.
    fn has_begun(&self, py: Python<'_>) -> PyResult<bool> {
        let engine = self.engine(py)?;
        Ok(engine.stream.is_some() || engine.resume.is_some())
    }

    /// Ends the threads; it goes on from where it stood when it is iterated again.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.engine(py)?.halt(py);
        Ok(())
    }

    /// Takes on a part of the work, from where it stands: that of a rank among so many, and of its
    /// batches those of a process among so many. `workers` are the threads for that, if they are
    /// others now.
    fn take_part(
        &self,
        py: Python<'_>,
        ranks: (u32, u32),
        parts: (u32, u32),
        workers: Option<usize>,
    ) -> PyResult<()> {
        let ((rank, world), (part, parts)) = (ranks, parts);
        let mut engine = self.engine(py)?;
        let rank = Rank { rank, world, part, parts };
        if engine.options.rank == rank {
            return Ok(());
        }
        sharable(&engine.compiled, world.saturating_mul(parts))
            .map_err(|it| errors::coded(py, "ArgumentError", &WRONG_ARGUMENT, &it))?;
        engine.halt(py);
        engine.options.rank = rank;
        engine.options.workers = workers.unwrap_or(engine.options.workers);
        Ok(())
    }

    /// What was done so far, as the text of a JSON object.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        let mut engine = self.opened(py)?;
        let stream = engine.stream.as_mut().expect("it was opened");
        let summary = py.detach(move || stream.summary());
        planning::json(&summary)
    }

    /// The explanation as text, as a page, and as the text of a JSON object.
    fn explain(
        &self,
        py: Python<'_>,
        epochs: u32,
        consumer: Option<f64>,
        verbose: bool,
        objective: Option<&str>,
    ) -> PyResult<(String, String, String)> {
        let objective = self.objective(py, objective)?;
        self.program.explain(py, ((epochs, consumer), objective), verbose)
    }

    /// Measures it for so many seconds at the most; writes the profile into a file, if one is named.
    fn profile(&self, py: Python<'_>, seconds: f64, path: Option<PathBuf>) -> PyResult<String> {
        self.program.profile(py, seconds, path)
    }

    /// Measures it for so many seconds, chooses its numbers for so many epochs and writes them beside the program, if `write`
    /// says so. Gives the explanation, what was tried, and the threads that were chosen.
    fn tune(
        &self,
        py: Python<'_>,
        aim: (f64, u32),
        write: bool,
        objective: Option<&str>,
    ) -> PyResult<Tuned> {
        let objective = self.objective(py, objective)?;
        self.program.tune(py, (aim.0, aim.1, objective), write)
    }

    /// Compares what could be cached, within so many seconds, for so many epochs and with so many that are run; writes the best
    /// of it beside the program, if `write` says so. Gives the table, its rows as the text of a JSON object, what was chosen,
    /// and what is to be told.
    fn strategies(
        &self,
        py: Python<'_>,
        aim: (f64, u32, usize),
        cache: Option<PathBuf>,
        write: bool,
        objective: Option<&str>,
    ) -> PyResult<Compared> {
        let objective = self.objective(py, objective)?;
        self.program.strategies(py, (aim.0, aim.1, objective), (cache, aim.2), write)
    }

    /// Caches what runs would. Gives what came of each value, as the text of a JSON object, and what is to be told.
    fn prepare(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        epochs: Option<u32>,
        keep: Vec<String>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, Vec<String>)> {
        self.program.prepare(py, (folder, epochs, keep), progress.as_ref())
    }
}
