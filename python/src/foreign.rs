//! Functions in Python that a pipeline calls: what `extern fn` declares.
//!
//! A stage of such calls has one thread at a time, which takes the GIL once for a chunk. Each call gets
//! copies of its values, so a function may change or keep them; what it gives is copied once more, into
//! the batch.

use crate::numpy;
use plan::{DType, Foreign};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString, PyTuple},
};
use runtime::{Failure, Fault, ForeignFunction, Outside, Tensor};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Bytes of a traceback that a fault tells; the innermost calls stand at its end.
const TRACEBACK_MAX: usize = 4096;

/// The functions that `pipec.load` was handed; others are imported when a run begins.
#[derive(Debug)]
pub(crate) struct Functions {
    given: BTreeMap<String, Py<PyAny>>,
    /// The exception that was raised last, and the fault that it became.
    raised: Arc<Mutex<Option<(Fault, PyErr)>>>,
}

impl Functions {
    pub(crate) fn new(given: BTreeMap<String, Py<PyAny>>) -> Self {
        Self { given, raised: Arc::default() }
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

    fn found(&self, py: Python<'_>, which: &Foreign) -> PyResult<Py<PyAny>> {
        if let Some(given) = self.given.get(&which.name) {
            return Ok(given.clone_ref(py));
        }
        let (module, path) = which.target.split_once(':').unwrap_or((&which.target, ""));
        let mut found = py.import(module)?.into_any();
        for name in path.split('.') {
            found = found.getattr(name)?;
        }
        match found.is_callable() {
            true => Ok(found.unbind()),
            false => Err(PyTypeError::new_err(format!(
                "it is {}, which cannot be called",
                found.get_type()
            ))),
        }
    }
}

impl Outside for Functions {
    fn function(&self, which: &Foreign, dtype: DType) -> Result<Arc<dyn ForeignFunction>, Failure> {
        let found = Python::try_attach(|py| {
            self.found(py, which).map_err(|it| {
                let (name, target) = (&which.name, &which.target);
                Failure::Program(format!(
                    "the function `{name}` is not there: `{target}`: {}; hand it over, \
                     `load(…, functions={{\"{name}\": f}})`, or see that `import` finds its module",
                    told(py, &it)
                ))
            })
        });
        let function = found.unwrap_or(Err(Failure::Stopped))?;
        let (name, raised) = (which.name.clone(), self.raised.clone());
        Ok(Arc::new(Function { name, dtype, function, raised }))
    }

    fn during(&self, work: &mut dyn FnMut()) {
        // Where there is no interpreter any more, nothing is done.
        let _ = Python::try_attach(|_| work());
    }
}

/// A function in Python.
struct Function {
    name: String,
    /// What its declaration says that it gives.
    dtype: DType,
    function: Py<PyAny>,
    raised: Arc<Mutex<Option<(Fault, PyErr)>>>,
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
        called.unwrap_or_else(|| Err(Fault::new("python", "Python has come to its end")))
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
        self.taken(&given, take)
    }

    /// Hands on what was given.
    fn taken(
        &self,
        given: &Bound<'_, PyAny>,
        take: &mut dyn FnMut(&Tensor<'_>) -> Result<(), Fault>,
    ) -> PyResult<Result<(), Fault>> {
        if let Ok(text) = given.cast::<PyString>() {
            let text: Cow<'_, str> = text.to_cow()?;
            return Ok(take(&Tensor::text(DType::Str, text.as_bytes())));
        }
        if let Ok(bytes) = given.cast::<PyBytes>() {
            return Ok(take(&Tensor::text(DType::Bytes, bytes.as_bytes())));
        }
        if self.dtype.is_text() {
            let kind = given.get_type();
            return Err(PyTypeError::new_err(format!(
                "it gave {kind}, and was to give {}",
                self.dtype
            )));
        }
        if let Some(taken) = scalar(given, self.dtype, take)? {
            return Ok(taken);
        }
        given.py().import("numpy")?;
        numpy::looked_at(given, self.dtype, take)
    }

    fn fault(&self, py: Python<'_>, error: PyErr) -> Fault {
        let detail = format!("`{}` raised {}", self.name, told(py, &error));
        let fault = Fault::new("python", detail);
        let raised = self.raised.lock();
        let before = raised.unwrap_or_else(PoisonError::into_inner).replace((fault.clone(), error));
        // Without the lock: it may call Python.
        drop(before);
        fault
    }
}

/// What an exception says, and where it was raised.
fn told(py: Python<'_>, error: &PyErr) -> String {
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
        Ok(lines) if traceback.is_some() => {
            let from = lines.len().saturating_sub(TRACEBACK_MAX);
            let from = (from..lines.len()).find(|it| lines.is_char_boundary(*it)).unwrap_or(0);
            format!("{first}\n{}", lines[from..].trim_end())
        }
        _ => first,
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
        return Err(PyTypeError::new_err(format!("it gave {kind}, and was to give {dtype}")));
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
