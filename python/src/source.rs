//! Sources in Python: what `extern pipeline` declares.
//!
//! Values are copied while the GIL is held, once for a chunk, and written into the chunk without it: to wait for memory
//! with the GIL would be to wait for a consumer who needs it. An object is read by one thread at a time, which takes the
//! object's gate first and the GIL then; nobody waits for a gate with the GIL.

mod pass;
mod value;

use self::{
    pass::{Pass, Passes},
    value::{Value, lacking, value, wrong},
};
use crate::{
    foreign::{Raised, fault, told, with_trace},
    process::{Asked, Processes, Recipe, Record, Wrong},
};
use plan::{Arg, Field, ForeignSource};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyList, PyMapping, PyTuple, PyType},
};
use runtime::{ChunkBuilder, Failure, Fault, Fingerprint, Source, SourceCall, Stream, mix};
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

/// The field that says what is wrong with a record, where the program asks for it.
const FAULT: &str = "row.fault";

/// A source.
pub(crate) struct Records(Arc<Inner>);

/// Where an object is read, if not here: each process makes one of its own.
pub(crate) type Elsewhere = Option<(Arc<Recipe>, Arc<Processes>)>;

/// What one thread at a time passes that reads an object.
pub(crate) type Gate = Arc<Mutex<()>>;

/// The object that it reads.
struct Inner {
    name: String,
    /// Makes the object; or it is the object.
    from: Py<PyAny>,
    args: Vec<(String, Arg)>,
    object: Py<PyAny>,
    gate: Gate,
    is_indexed: bool,
    len: OnceLock<Result<u64, Failure>>,
    /// The fields that are read, and where each stands among those that are declared.
    fields: Vec<Field>,
    positions: Vec<usize>,
    /// Fields that are declared.
    declared: usize,
    /// The fields as another process is asked for them.
    asked: Vec<(String, &'static str, usize, String)>,
    elsewhere: Elsewhere,
    place: u64,
    passes: Mutex<Passes>,
    raised: Raised,
}

/// A record, or what is wrong with it.
type Row = Result<Vec<Value>, Fault>;

impl Records {
    /// Of what stands there: a class or function is called for the object. `gate` finds the gate of an object.
    pub(crate) fn new(
        (from, raised): (Bound<'_, PyAny>, Raised),
        which: &ForeignSource,
        call: &SourceCall<'_>,
        (gate, elsewhere): (impl FnOnce(&Bound<'_, PyAny>) -> Gate, Elsewhere),
    ) -> PyResult<Self> {
        let object = made(&from, &which.args)?;
        let is_indexed = is_indexed(&object)?;
        if !is_indexed && !object.hasattr("__iter__")? {
            let kind = object.get_type();
            return Err(PyTypeError::new_err(format!(
                "it is {kind}, which has neither `__len__` and `__getitem__` nor `__iter__`"
            )));
        }
        let position = |it: &Field| which.fields.iter().position(|of| of.name == it.name);
        let asked = |it: &Field| {
            let dtype = it.ty.dtype()?.name();
            Some((it.name.clone(), dtype, position(it)?, it.ty.to_string()))
        };
        Ok(Self(Arc::new(Inner {
            name: which.name.clone(),
            args: which.args.clone(),
            gate: gate(&object),
            object: object.unbind(),
            is_indexed,
            len: OnceLock::new(),
            fields: call.columns.to_vec(),
            positions: call.columns.iter().filter_map(position).collect(),
            declared: which.fields.len(),
            asked: call.columns.iter().filter_map(asked).collect(),
            elsewhere: elsewhere.filter(|_| is_indexed),
            place: call.place,
            passes: Mutex::default(),
            from: from.unbind(),
            raised,
        })))
    }
}

impl Inner {
    fn has_faults(&self) -> bool {
        self.fields.iter().any(|it| it.name == FAULT)
    }

    /// What a record holds.
    fn row(&self, record: &Bound<'_, PyAny>) -> Row {
        let values = self.values(record);
        values.unwrap_or_else(|error| Err(self.fault(record.py(), error)))
    }

    fn values(&self, record: &Bound<'_, PyAny>) -> PyResult<Row> {
        let fields = self.fields.iter().filter(|it| it.name != FAULT);
        let mut values = Vec::with_capacity(self.fields.len());
        let named = record.cast::<PyMapping>();
        if named.is_err()
            && !record.is_instance_of::<PyTuple>()
            && !record.is_instance_of::<PyList>()
        {
            let kind = record.get_type().name()?;
            return Ok(Err(wrong(format!(
                "the record is a `{kind}`, expected a dict with its fields, or a tuple of them"
            ))));
        }
        if named.is_err() && record.len()? != self.declared {
            let (n, declared) = (record.len()?, self.declared);
            return Ok(Err(wrong(format!(
                "the record has {n} values, but {declared} fields are declared"
            ))));
        }
        for (field, position) in fields.zip(&self.positions) {
            let given = match named {
                Ok(record) if record.contains(&field.name)? => record.get_item(&field.name)?,
                Ok(record) => return lacking(&field.name, record).map(Err),
                Err(_) => record.get_item(*position)?,
            };
            match value(&given, field)? {
                Ok(value) => values.push(value),
                Err(fault) => return Ok(Err(fault)),
            }
        }
        Ok(Ok(values))
    }

    fn fault(&self, py: Python<'_>, error: PyErr) -> Fault {
        fault(py, (&self.name, error), &self.raised)
    }

    /// Writes records, which have these numbers.
    fn write(
        &self,
        rows: Vec<Row>,
        numbers: &mut dyn Iterator<Item = u64>,
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        let has_faults = self.has_faults();
        for (row, number) in rows.into_iter().zip(numbers) {
            let id = mix(self.place, number);
            let (values, told) = match row {
                Ok(values) => (values, String::new()),
                Err(fault) if has_faults => (Vec::new(), fault.detail.into_owned()),
                Err(fault) => return Err(self.failed((id, number), fault)),
            };
            out.ids.push_scalar(id);
            let mut values = values.iter();
            for (field, column) in self.fields.iter().zip(&mut out.columns) {
                match (field.name == FAULT, values.next()) {
                    (true, _) => column.push_text(told.as_bytes()),
                    (false, Some(value)) if value.is_text() => column.push_text(value.bytes()),
                    (false, Some(value)) => column.push(&value.tensor()),
                    (false, None) => column.push_nothing(),
                }
            }
        }
        Ok(())
    }

    fn failed(&self, (id, number): (u64, u64), fault: Fault) -> Failure {
        let record = self.describe(number).into();
        Failure::Record { label: String::new(), step: self.name.as_str().into(), id, record, fault }
    }

    fn cannot(&self, what: &str, why: &str) -> Failure {
        Failure::Program(format!("cannot {what} of `{}`: {why}", self.name))
    }

    fn describe(&self, number: u64) -> String {
        format!("record {number} of `{}`", self.name)
    }

    /// Some records, with the GIL held once for all.
    fn fetched(&self, py: Python<'_>, numbers: &[u64]) -> Vec<Row> {
        let (object, has_faults) = (self.object.bind(py), self.has_faults());
        let mut rows = Vec::with_capacity(numbers.len());
        for &number in numbers {
            let row = match object.get_item(number) {
                Ok(record) => self.row(&record),
                Err(error) => Err(self.fault(py, error)),
            };
            let is_last = row.is_err() && !has_faults;
            rows.push(row);
            if is_last {
                break;
            }
        }
        rows
    }

    /// Some records that another process reads.
    fn fetched_elsewhere(
        &self,
        (recipe, processes): &(Arc<Recipe>, Arc<Processes>),
        numbers: &[u64],
    ) -> Result<Vec<Row>, Failure> {
        let (fields, declared, all) = (&self.asked[..], self.declared, self.has_faults());
        let asked = Asked { numbers, fields, declared, all };
        let mut rows = Vec::with_capacity(numbers.len());
        let read = processes.read(recipe, &asked, &mut |record, reader| {
            rows.push(match record {
                Record::Values(all) if all.len() == self.asked.len() => {
                    let all = all.iter().map(|it| Value::read(it, reader));
                    let all: Vec<Value> = all.collect::<io::Result<_>>()?;
                    let fields = self.fields.iter().filter(|it| it.name != FAULT);
                    all.into_iter().zip(fields).map(|(it, field)| it.fitting(field)).collect()
                }
                Record::Values(_) => return Err(io::Error::other("a field is missing")),
                Record::Refused { wrong: detail } => Err(wrong(detail)),
                Record::Raised(it) => {
                    let (name, told) = (&self.name, with_trace(&it.error, &it.trace));
                    Err(Fault::new("python", format!("`{name}` raised {told}")))
                }
            });
            Ok(())
        });
        match read {
            Ok(spent) => {
                runtime::worked_elsewhere(spent);
                Ok(rows)
            }
            Err(Wrong::Raised(it)) => {
                Err(self.cannot("make the object", &with_trace(&it.error, &it.trace)))
            }
            Err(Wrong::Refused(fault)) => Ok(vec![Err(fault)]),
            // Which record it was that ended the process, one call for each tells.
            Err(Wrong::Lost(_)) if numbers.len() > 1 => {
                let mut rows = Vec::with_capacity(numbers.len());
                for number in numbers.chunks(1) {
                    rows.extend(
                        self.fetched_elsewhere(&(recipe.clone(), processes.clone()), number)?,
                    );
                    if rows.last().is_some_and(Result::is_err) && !all {
                        break;
                    }
                }
                Ok(rows)
            }
            Err(Wrong::Lost(told)) => Ok(vec![Err(Fault::new("python", told))]),
        }
    }

    fn passes(&self) -> MutexGuard<'_, Passes> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until it is dropped, no other thread reads the object.
    fn alone(&self) -> MutexGuard<'_, ()> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Records {
    fn len(&self) -> Result<u64, Failure> {
        let it = &self.0;
        if !it.is_indexed {
            let why = "it has no `__len__` and `__getitem__`, so it can only be read in order, without `lanes`; to \
                       shuffle it, write `shuffle(window: n)`";
            return Err(it.cannot("find the number of records", why));
        }
        let len = || {
            let len = Python::try_attach(|py| {
                let len = it.object.bind(py).len();
                len.map_err(|error| it.cannot("find the number of records", &told(py, &error)))
            });
            Ok(len.unwrap_or(Err(Failure::Stopped))? as u64)
        };
        it.len.get_or_init(len).clone()
    }

    fn is_counted(&self) -> bool {
        self.0.is_indexed
    }

    fn threads(&self) -> usize {
        self.0.elsewhere.as_ref().map_or(1, |it| it.1.most())
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        if let Some(elsewhere) = &self.0.elsewhere {
            let rows = self.0.fetched_elsewhere(elsewhere, numbers)?;
            return self.0.write(rows, &mut numbers.iter().copied(), out);
        }
        let alone = self.0.alone();
        let rows = Python::try_attach(|py| self.0.fetched(py, numbers)).ok_or(Failure::Stopped)?;
        drop(alone);
        self.0.write(rows, &mut numbers.iter().copied(), out)
    }

    /// What it holds, nobody knows; but a run does not go on with a source of another length.
    fn fingerprint(&self) -> Result<Option<Fingerprint>, Failure> {
        if !self.0.is_indexed {
            return Ok(None);
        }
        let hash = u128::from(mix(self.len()?, 0));
        Ok(Some(Fingerprint { hash, times: 0, files: 0, bytes: 0 }))
    }

    fn stream(&self) -> Option<Box<dyn Stream>> {
        (!self.0.is_indexed).then(|| Box::new(Pass::new(self.0.clone())) as Box<dyn Stream>)
    }

    fn waits(&self) -> bool {
        true
    }

    fn describe(&self, number: u64) -> String {
        self.0.describe(number)
    }
}

/// The object: what is made with the arguments, or what was passed as it is.
fn made<'py>(from: &Bound<'py, PyAny>, args: &[(String, Arg)]) -> PyResult<Bound<'py, PyAny>> {
    let py = from.py();
    let holds = from.hasattr("__getitem__")? || from.hasattr("__iter__")?;
    if from.is_instance_of::<PyType>() || (from.is_callable() && !holds) {
        return from.call((), Some(&named(py, args)?));
    }
    match args {
        [] => Ok(from.clone()),
        [(name, _), ..] => {
            let kind = from.get_type();
            Err(PyTypeError::new_err(format!(
                "it is {kind}, which is not called, but the program passes `{name}`: pass a class \
                 or function, or remove the parameters"
            )))
        }
    }
}

/// What an object is made with.
pub(crate) fn named<'py>(py: Python<'py>, args: &[(String, Arg)]) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    for (name, arg) in args {
        named.set_item(name, object(py, arg)?)?;
    }
    Ok(named)
}

/// An argument for Python.
fn object<'py>(py: Python<'py>, arg: &Arg) -> PyResult<Bound<'py, PyAny>> {
    Ok(match arg {
        Arg::Bool(it) => it.into_pyobject(py)?.to_owned().into_any(),
        Arg::Int(it) => it.into_pyobject(py)?.into_any(),
        Arg::Float(it) => it.into_pyobject(py)?.into_any(),
        Arg::Text(it) | Arg::Word(it) => it.into_pyobject(py)?.into_any(),
        Arg::List(all) => {
            let all: PyResult<Vec<_>> = all.iter().map(|it| object(py, it)).collect();
            PyList::new(py, all?)?.into_any()
        }
        Arg::Record(all) => {
            let made = PyDict::new(py);
            for (name, it) in all {
                made.set_item(name, object(py, it)?)?;
            }
            made.into_any()
        }
        Arg::None => py.None().into_bound(py),
        _ => return Err(PyTypeError::new_err("an argument must be a number, text or list")),
    })
}

/// Whether records can be asked for by number.
fn is_indexed(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    // It inherits a `__getitem__` that raises, and may have a `__len__`.
    let is_stream = |it: &Bound<'_, PyAny>| {
        let of = |name: &str| it.getattr(name).and_then(|it| it.extract::<String>());
        of("__name__").is_ok_and(|it| it == "IterableDataset")
            && of("__module__").is_ok_and(|it| it.starts_with("torch.utils.data"))
    };
    let is_stream = object.get_type().mro().iter().any(|it| is_stream(&it));
    Ok(!is_stream && object.hasattr("__getitem__")? && object.hasattr("__len__")?)
}
