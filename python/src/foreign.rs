//! Functions in Python that a pipeline calls: what `extern fn` declares. Sources are in `source.rs`.
//!
//! A stage of such calls has one thread at a time, which takes the GIL once for a chunk; or as many as
//! there are processes to call in. Each call gets copies of its values, so a function may change or keep
//! them; what it gives is copied once more, into the batch.

use crate::{
    numpy,
    process::{self, Processes, Recipe, Way, Wrong},
    source::{self, Gate, Records},
};
use plan::{DType, Foreign, ForeignSource};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};
use runtime::{Failure, Fault, ForeignFunction, Outside, Source, SourceCall, Tensor};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// Bytes of a traceback that a fault tells; the innermost calls stand at its end.
const TRACEBACK_MAX: usize = 4096;

/// The exception that was raised last, and the fault that it became.
pub(crate) type Raised = Arc<Mutex<Option<(Fault, PyErr)>>>;

/// The functions and sources that `pipec.load` was handed; others are imported when a run begins.
#[derive(Debug)]
pub(crate) struct Functions {
    given: BTreeMap<String, Py<PyAny>>,
    raised: Raised,
    /// Where they are called, if not here.
    processes: Option<Arc<Processes>>,
    /// The gates of the objects that are read, by their addresses.
    gates: Mutex<BTreeMap<usize, Weak<Mutex<()>>>>,
}

impl Functions {
    /// Those that were handed over, called in so many processes; in this one if none.
    pub(crate) fn new(
        py: Python<'_>,
        given: BTreeMap<String, Py<PyAny>>,
        processes: usize,
    ) -> PyResult<Self> {
        let processes = match processes {
            0 => None,
            most => Some(Arc::new(Processes::new(most, interpreter(py)?))),
        };
        Ok(Self { given, raised: Arc::default(), processes, gates: Mutex::default() })
    }

    /// The names of those that were handed over.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.given.keys().map(String::as_str)
    }

    /// The exception that a failure comes from, if it comes from one.
    pub(crate) fn cause(&self, py: Python<'_>, failure: &Failure) -> Option<PyErr> {
        let Failure::Record { fault, .. } = failure else { return None };
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.as_ref().filter(|it| it.0 == *fault).map(|it| it.1.clone_ref(py))
    }

    /// How another process finds a function or a source.
    fn recipe(
        &self,
        py: Python<'_>,
        (kind, name, target): (&str, &str, &str),
        made_with: Option<String>,
    ) -> Result<Recipe, Failure> {
        let recipe = |way| Recipe { name: name.to_owned(), way, made_with };
        let Some(given) = self.given.get(name) else {
            return Ok(recipe(Way::Target(target.to_owned())));
        };
        match pickled(given.bind(py)) {
            Ok(it) => Ok(recipe(Way::Pickle(it))),
            Err(it) => Err(Failure::Program(format!(
                "the {kind} `{name}` cannot be pickled for another process: {it}; define it in \
                 a module that can be imported, install `cloudpickle`, or remove `processes=`"
            ))),
        }
    }

    /// The function in a process, which has found it.
    fn elsewhere(
        &self,
        (which, dtype): (&Foreign, DType),
        processes: &Arc<Processes>,
    ) -> Result<Arc<dyn ForeignFunction>, Failure> {
        let named = ("function", which.name.as_str(), which.target.as_str());
        let recipe = Python::try_attach(|py| self.recipe(py, named, None));
        let recipe = Arc::new(recipe.unwrap_or(Err(Failure::Stopped))?);
        // Without the GIL: the other process may take its time.
        processes.find(&recipe).map_err(|it| match it {
            Wrong::Raised(process::Raised { error, trace }) => {
                missing(which, &with_trace(&error, &trace))
            }
            Wrong::Lost(told) => Failure::Program(told),
            Wrong::Refused(fault) => missing(which, &fault.to_string()),
        })?;
        Ok(Arc::new(Elsewhere { recipe, dtype, processes: processes.clone() }))
    }

    fn found(&self, py: Python<'_>, which: &Foreign) -> PyResult<Py<PyAny>> {
        let found = self.object(py, &which.name, &which.target)?.into_bound(py);
        match found.is_callable() {
            true => Ok(found.unbind()),
            false => Err(PyTypeError::new_err(format!(
                "it is {}, which is not callable",
                found.get_type()
            ))),
        }
    }
}

impl Functions {
    /// The gate of an object: the same for all that read it.
    fn gate(&self, object: &Bound<'_, PyAny>) -> Gate {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        gates.retain(|_, it| it.strong_count() > 0);
        let gate = gates.entry(object.as_ptr() as usize).or_default();
        // Who has a gate has the object, so no other one comes to its address.
        gate.upgrade().unwrap_or_else(|| {
            let made = Gate::default();
            *gate = Arc::downgrade(&made);
            made
        })
    }

    /// What was handed over under this name, or stands in a module.
    fn object(&self, py: Python<'_>, name: &str, target: &str) -> PyResult<Py<PyAny>> {
        if let Some(given) = self.given.get(name) {
            return Ok(given.clone_ref(py));
        }
        let (module, path) = target.split_once(':').unwrap_or((target, ""));
        let mut found = py.import(module)?.into_any();
        for name in path.split('.') {
            found = found.getattr(name)?;
        }
        Ok(found.unbind())
    }
}

impl Outside for Functions {
    fn function(&self, which: &Foreign, dtype: DType) -> Result<Arc<dyn ForeignFunction>, Failure> {
        if let Some(processes) = &self.processes {
            return self.elsewhere((which, dtype), processes);
        }
        let found = Python::try_attach(|py| {
            self.found(py, which).map_err(|it| missing(which, &told(py, &it)))
        });
        let function = found.unwrap_or(Err(Failure::Stopped))?;
        let (name, raised) = (which.name.clone(), self.raised.clone());
        Ok(Arc::new(Function { name, dtype, function, raised }))
    }

    fn source(
        &self,
        which: &ForeignSource,
        call: &SourceCall<'_>,
    ) -> Result<Arc<dyn Source>, Failure> {
        let named = ("source", which.name.as_str(), which.target.as_str());
        let made = Python::try_attach(|py| {
            let wrong = |it: PyErr| without(named, &told(py, &it));
            let elsewhere = match &self.processes {
                None => None,
                Some(processes) => {
                    let with = source::named(py, &which.args).and_then(|it| json(&it));
                    let recipe = self.recipe(py, named, Some(with.map_err(wrong)?))?;
                    Some((Arc::new(recipe), processes.clone()))
                }
            };
            let from = self.object(py, &which.name, &which.target).map_err(wrong)?;
            let from = (from.into_bound(py), self.raised.clone());
            let made = Records::new(from, which, call, (|it: &_| self.gate(it), elsewhere));
            made.map_err(|it| {
                let ForeignSource { name, target, .. } = which;
                let why = told(py, &it);
                Failure::Program(format!("cannot open the source `{name}` (`{target}`): {why}"))
            })
        });
        Ok(Arc::new(made.unwrap_or(Err(Failure::Stopped))?))
    }

    fn processes(&self) -> usize {
        self.processes.as_ref().map_or(0, |it| it.most())
    }

    fn apart(&self, wait: &mut (dyn FnMut() + Send)) {
        // The consumer gives memory back once it has the GIL.
        let waited = match self.processes {
            Some(_) => None,
            None => Python::try_attach(|py| py.detach(&mut *wait)),
        };
        if waited.is_none() {
            wait();
        }
    }

    fn during(&self, work: &mut dyn FnMut()) {
        if self.processes.is_some() {
            return work();
        }
        // Where there is no interpreter any more, nothing is done.
        let _ = Python::try_attach(|_| work());
    }
}

fn missing(which: &Foreign, why: &str) -> Failure {
    without(("function", &which.name, &which.target), why)
}

fn without((kind, name, target): (&str, &str, &str), why: &str) -> Failure {
    let given = if kind == "function" { "f" } else { "data" };
    Failure::Program(format!(
        "cannot find the {kind} `{name}`: `{target}`: {why}; pass it with `load(…, \
         functions={{\"{name}\": {given}}})`, or make sure that `import` finds its module"
    ))
}

/// How this interpreter is started again.
fn interpreter(py: Python<'_>) -> PyResult<process::Interpreter> {
    let sys = py.import("sys")?;
    let path: Vec<String> = sys.getattr("path")?.extract()?;
    let path = serde_json::Value::from(path).to_string();
    Ok(process::Interpreter { executable: sys.getattr("executable")?.extract()?, path })
}

/// A value as JSON.
fn json(of: &Bound<'_, PyDict>) -> PyResult<String> {
    of.py().import("json")?.call_method1("dumps", (of,))?.extract()
}

/// A function as `pickle` writes it: by its name, or where `cloudpickle` is there whole.
fn pickled(function: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let py = function.py();
    let whole = py.import("cloudpickle").ok();
    let of_main = || {
        let module = function.getattr("__module__").and_then(|it| it.extract::<String>());
        module.is_ok_and(|it| it == "__main__")
    };
    if whole.is_none() && of_main() {
        let told = "it is defined in `__main__`, which other processes cannot import";
        return Err(PyTypeError::new_err(told));
    }
    let pickle = whole.map_or_else(|| py.import("pickle"), Ok)?;
    pickle.call_method1("dumps", (function,))?.extract()
}

/// A function that another process calls.
struct Elsewhere {
    recipe: Arc<Recipe>,
    /// What its declaration says that it gives.
    dtype: DType,
    processes: Arc<Processes>,
}

impl ForeignFunction for Elsewhere {
    fn call(
        &self,
        seed: Option<u64>,
        args: &[Tensor<'_>],
        take: &mut dyn FnMut(&Tensor<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let called = self.processes.call(&self.recipe, (self.dtype, seed), args, take);
        let spent = called.map_err(|it| match it {
            Wrong::Raised(process::Raised { error, trace }) => {
                let (name, told) = (&self.recipe.name, with_trace(&error, &trace));
                Fault::new("python", format!("`{name}` raised {told}"))
            }
            Wrong::Lost(told) => Fault::new("python", told),
            Wrong::Refused(fault) => fault,
        })?;
        runtime::worked_elsewhere(spent);
        Ok(())
    }
}

/// A function in Python.
struct Function {
    name: String,
    /// What its declaration says that it gives.
    dtype: DType,
    function: Py<PyAny>,
    raised: Raised,
}

impl ForeignFunction for Function {
    fn call(
        &self,
        seed: Option<u64>,
        args: &[Tensor<'_>],
        take: &mut dyn FnMut(&Tensor<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let called = Python::try_attach(|py| {
            let called = self.called(py, seed, args, take);
            called.unwrap_or_else(|error| Err(self.fault(py, error)))
        });
        called.unwrap_or_else(|| Err(Fault::new("python", "Python is shutting down")))
    }
}

impl Function {
    fn called(
        &self,
        py: Python<'_>,
        seed: Option<u64>,
        args: &[Tensor<'_>],
        take: &mut dyn FnMut(&Tensor<'_>) -> Result<(), Fault>,
    ) -> PyResult<Result<(), Fault>> {
        let args: Vec<Bound<'_, PyAny>> =
            args.iter().map(|it| object(py, it)).collect::<PyResult<_>>()?;
        let named = seed.map(|it| {
            let named = PyDict::new(py);
            named.set_item("seed", it).map(|()| named)
        });
        let named = named.transpose()?;
        let given = self.function.bind(py).call(PyTuple::new(py, args)?, named.as_ref())?;
        taken(&given, self.dtype, take)
    }

    fn fault(&self, py: Python<'_>, error: PyErr) -> Fault {
        fault(py, (&self.name, error), &self.raised)
    }
}

/// Hands on what was given, where elements of `dtype` are expected.
pub(crate) fn taken(
    given: &Bound<'_, PyAny>,
    dtype: DType,
    take: &mut dyn FnMut(&Tensor<'_>) -> Result<(), Fault>,
) -> PyResult<Result<(), Fault>> {
    if let Ok(text) = given.cast::<PyString>() {
        let text: Cow<'_, str> = text.to_cow()?;
        return Ok(take(&Tensor::text(DType::Str, text.as_bytes())));
    }
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(take(&Tensor::text(DType::Bytes, bytes.as_bytes())));
    }
    if dtype.is_text() {
        let kind = given.get_type();
        return Err(PyTypeError::new_err(format!("it returned {kind}, expected {dtype}")));
    }
    if let Some(taken) = scalar(given, dtype, take)? {
        return Ok(taken);
    }
    given.py().import("numpy")?;
    match given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        true => numpy::looked_at(&numpy::listed(given, dtype)?, dtype, take),
        false => numpy::looked_at(given, dtype, take),
    }
}

/// The fault that an exception of `name` becomes.
pub(crate) fn fault(py: Python<'_>, (name, error): (&str, PyErr), raised: &Raised) -> Fault {
    let detail = format!("`{name}` raised {}", told(py, &error));
    let fault = Fault::new("python", detail);
    let raised = raised.lock();
    let before = raised.unwrap_or_else(PoisonError::into_inner).replace((fault.clone(), error));
    // Without the lock: it may call Python.
    drop(before);
    fault
}

/// What an exception says, and where it was raised.
pub(crate) fn told(py: Python<'_>, error: &PyErr) -> String {
    let traceback = error.traceback(py);
    let lines = py.import("traceback").and_then(|it| {
        let (kind, value) = (error.get_type(py), error.value(py));
        // So that it has it too where it becomes the cause of another.
        value.setattr("__traceback__", &traceback)?;
        let all = it.call_method1("format_exception", (kind, value, &traceback))?;
        PyString::new(py, "").call_method1("join", (all,))?.extract::<String>()
    });
    let first = error.to_string();
    match lines {
        Ok(lines) if traceback.is_some() => with_trace(&first, &lines),
        _ => first,
    }
}

/// What an exception says, and the end of what tells where it was raised.
pub(crate) fn with_trace(first: &str, lines: &str) -> String {
    let from = lines.len().saturating_sub(TRACEBACK_MAX);
    let from = (from..lines.len()).find(|it| lines.is_char_boundary(*it)).unwrap_or(0);
    match lines[from..].trim_end() {
        "" => first.to_owned(),
        lines => format!("{first}\n{lines}"),
    }
}

/// A value of a record for Python: a number, a text, or an array that has it to itself.
fn object<'py>(py: Python<'py>, tensor: &Tensor<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match tensor.dtype() {
        DType::Str => PyString::new(py, tensor.as_str()).into_any(),
        DType::Bytes => PyBytes::new(py, tensor.as_text()).into_any(),
        _ if !tensor.shape().is_empty() => {
            // Where it is missing, that is what is told.
            py.import("numpy")?;
            numpy::copied(py, tensor)?
        }
        DType::Bool => PyBool::new(py, tensor.first()).to_owned().into_any(),
        DType::U64 => tensor.first::<u64>().into_pyobject(py)?.into_any(),
        it if it.is_int() => tensor.int().into_pyobject(py)?.into_any(),
        _ => tensor.number().into_pyobject(py)?.into_any(),
    })
}

/// Hands on a number of Python itself as an element of `dtype`; none where it is no such.
fn scalar(
    given: &Bound<'_, PyAny>,
    dtype: DType,
    take: &mut dyn FnMut(&Tensor<'_>) -> Result<(), Fault>,
) -> PyResult<Option<Result<(), Fault>>> {
    let (is_bool, is_int) = (given.is_instance_of::<PyBool>(), given.is_instance_of::<PyInt>());
    if !is_int && !given.is_instance_of::<PyFloat>() {
        return Ok(None);
    }
    let fits = match dtype {
        DType::Bool => is_bool,
        it if it.is_int() => is_int,
        _ => true,
    };
    if !fits {
        let kind = given.get_type();
        return Err(PyTypeError::new_err(format!("it returned {kind}, expected {dtype}")));
    }
    let mut one = |it: &Tensor<'_>| Ok(Some(take(it)));
    match dtype {
        DType::Bool => one(&Tensor::new(&[], &[given.extract::<bool>()?])),
        DType::U8 => one(&Tensor::new(&[], &[given.extract::<u8>()?])),
        DType::U16 => one(&Tensor::new(&[], &[given.extract::<u16>()?])),
        DType::U32 => one(&Tensor::new(&[], &[given.extract::<u32>()?])),
        DType::U64 => one(&Tensor::new(&[], &[given.extract::<u64>()?])),
        DType::I8 => one(&Tensor::new(&[], &[given.extract::<i8>()?])),
        DType::I16 => one(&Tensor::new(&[], &[given.extract::<i16>()?])),
        DType::I32 => one(&Tensor::new(&[], &[given.extract::<i32>()?])),
        DType::I64 => one(&Tensor::new(&[], &[given.extract::<i64>()?])),
        DType::F16 => one(&Tensor::new(&[], &[half::f16::from_f64(given.extract()?)])),
        DType::BF16 => one(&Tensor::new(&[], &[half::bf16::from_f64(given.extract()?)])),
        DType::F32 => one(&Tensor::new(&[], &[given.extract::<f64>()? as f32])),
        DType::F64 => one(&Tensor::new(&[], &[given.extract::<f64>()?])),
        DType::Str | DType::Bytes => Ok(None),
    }
}
