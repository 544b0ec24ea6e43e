//! Batches that have come, and how they become objects of Python: made ready once for a chunk, so
//! that each of its batches costs little.

use crate::{
    array::{self, AXES_MAX, Layout},
    arrow::{Strings, text},
    held::{Held, Owner},
    numpy,
};
use plan::{DType, Field, RaggedField};
use pyo3::{
    ffi,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyList, PyString},
};
use runtime::{Chunk, Column, Pool};

/// What arrays become.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Our own.
    Own,
    /// NumPy's.
    Numpy,
}

/// What batches are made with: the names of the fields as keys, and which columns each is made of; and the
/// class of the dicts.
pub(crate) struct Keys {
    fields: Vec<(Py<PyString>, Columns)>,
    made: Py<PyAny>,
}

enum Columns {
    One(usize),
    /// A ragged field of a batch.
    Ragged {
        values: usize,
        offsets: usize,
    },
}

impl Keys {
    /// Of these fields; of batches, if `batched`.
    pub(crate) fn new(py: Python<'_>, fields: &[Field], batched: bool) -> PyResult<Self> {
        let ragged = if batched { RaggedField::all(fields) } else { Vec::new() };
        let key = |(at, it): (usize, &Field)| {
            if ragged.iter().any(|it| it.offsets == at) {
                return None;
            }
            let (name, columns) = match ragged.iter().find(|it| it.values == at) {
                Some(&RaggedField { name, values, offsets }) => {
                    (name, Columns::Ragged { values, offsets })
                }
                None => (it.name.as_str(), Columns::One(at)),
            };
            Some((PyString::intern(py, name).unbind(), columns))
        };
        let made = py.import("pipec._batch")?.getattr("Batch")?.unbind();
        Ok(Self { fields: fields.iter().enumerate().filter_map(key).collect(), made })
    }
}

/// A chunk whose batches are handed out.
pub(crate) struct Ready {
    columns: Vec<ReadyColumn>,
    /// Batches in it, and how many were handed out; a block of records is one.
    n: usize,
    given: usize,
}

struct ReadyColumn {
    owner: Py<Owner>,
    kind: Kind,
}

enum Kind {
    /// Arrays of the same extents, so many bytes apart.
    Rows(Layout, usize),
    /// Extents differ from batch to batch, or it is text.
    Each,
    /// Records of a block, of the same extents.
    Block(Layout),
    /// Those of text.
    BlockText,
    /// Those of batches that were taken apart, each with several texts.
    BlockTexts,
    /// Those whose extents differ.
    BlockRagged,
}

impl Ready {
    /// Of `chunk`; `batched` if each of its records is a batch.
    pub(crate) fn new(py: Python<'_>, chunk: Chunk, batched: bool) -> PyResult<Self> {
        let rows = chunk.rows;
        let column = |it: Column| {
            // What is handed out is read as one piece.
            let it = it.in_one_piece(&Pool::default());
            let kind = if batched { Kind::of_batches(&it) } else { Kind::of_block(&it) };
            Ok(ReadyColumn { owner: Py::new(py, Owner(Held::new(it)))?, kind })
        };
        let columns: PyResult<Vec<_>> = chunk.columns.into_iter().map(column).collect();
        Ok(Self { columns: columns?, n: if batched { rows } else { 1 }, given: 0 })
    }

    /// How many batches were handed out.
    pub(crate) fn given(&self) -> usize {
        self.given
    }

    /// The next batch, if there is one.
    #[inline]
    pub(crate) fn next<'py>(
        &mut self,
        py: Python<'py>,
        keys: &Keys,
        form: Form,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        if self.given == self.n {
            return Ok(None);
        }
        let batch = keys.made.bind(py).call0()?.cast_into::<PyDict>()?;
        for (key, columns) in &keys.fields {
            let value = match *columns {
                Columns::One(at) => self.columns[at].value(py, self.given, form)?,
                Columns::Ragged { values, offsets } => {
                    let values = self.columns[values].value(py, self.given, form)?;
                    let offsets = self.columns[offsets].value(py, self.given, form)?;
                    ragged_class(py)?.call1((values, offsets))?
                }
            };
            // SAFETY: a dict, a key and a value; a `str` can be hashed.
            let set = unsafe { ffi::PyDict_SetItem(batch.as_ptr(), key.as_ptr(), value.as_ptr()) };
            if set != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        self.given += 1;
        Ok(Some(batch))
    }
}

impl Kind {
    fn of_batches(column: &Column) -> Self {
        match column.shape() {
            Some(shape) if column.rows() > 0 => {
                let first = column.row(0);
                let layout = Layout::new(first.as_ptr().cast_mut(), column.dtype(), shape);
                Self::Rows(layout, first.bytes())
            }
            _ => Self::Each,
        }
    }

    fn of_block(column: &Column) -> Self {
        match column.shape() {
            Some(shape) => {
                let mut extents = [column.rows(); AXES_MAX];
                extents[1..=shape.len()].copy_from_slice(shape);
                let first = match column.rows() {
                    0 => std::ptr::null_mut(),
                    _ => column.row(0).as_ptr().cast_mut(),
                };
                Self::Block(Layout::new(first, column.dtype(), &extents[..=shape.len()]))
            }
            None if column.is_texts() => Self::BlockTexts,
            None if column.dtype().is_text() => Self::BlockText,
            None => Self::BlockRagged,
        }
    }
}

impl ReadyColumn {
    #[inline]
    fn value<'py>(&self, py: Python<'py>, at: usize, form: Form) -> PyResult<Bound<'py, PyAny>> {
        match &self.kind {
            Kind::Rows(layout, bytes) => {
                let data = layout.data.wrapping_add(at * bytes);
                made(py, Layout { data, ..*layout }, &self.owner, form)
            }
            Kind::Block(layout) => made(py, *layout, &self.owner, form),
            Kind::Each => {
                let column = self.owner.get().0.column();
                if let Some(texts) = column.texts(at) {
                    let texts = Strings(Held::new(texts));
                    return match form {
                        Form::Own => Ok(Bound::new(py, texts)?.into_any()),
                        Form::Numpy => Ok(texts.tolist(py)?.into_any()),
                    };
                }
                let value = column.row(at);
                if value.dtype().is_text() {
                    return text(py, value);
                }
                let data = value.as_ptr().cast_mut();
                made(py, Layout::new(data, value.dtype(), value.shape()), &self.owner, form)
            }
            Kind::BlockText => Ok(Bound::new(py, Strings(self.owner.get().0.clone()))?.into_any()),
            Kind::BlockTexts => {
                let column = self.owner.get().0.column();
                let texts = (0..column.rows()).filter_map(|it| column.texts(it));
                let lists: PyResult<Vec<_>> =
                    texts.map(|it| Strings(Held::new(it)).tolist(py)).collect();
                Ok(PyList::new(py, lists?)?.into_any())
            }
            Kind::BlockRagged => self.ragged(py, form),
        }
    }

    /// Values, offsets and extents of records that differ.
    fn ragged<'py>(&self, py: Python<'py>, form: Form) -> PyResult<Bound<'py, PyAny>> {
        let column = self.owner.get().0.column();
        let ragged = column.ragged().expect("its extents differ from row to row");
        let (first, end) = (ragged.offsets[0], ragged.offsets[column.rows()]);
        let size = column.dtype().size();
        let data = ragged.values.as_ptr().wrapping_add(first as usize * size);
        let values = Layout::new(data, column.dtype(), &[(end - first) as usize]);
        let values = made(py, values, &self.owner, form)?;
        let offsets = if first == 0 {
            let data = ragged.offsets.as_ptr().cast_mut().cast();
            let layout = Layout::new(data, DType::I64, &[ragged.offsets.len()]);
            made(py, layout, &self.owner, form)?
        } else {
            let offsets: Vec<u64> = ragged.offsets.iter().map(|it| it - first).collect();
            copied(py, &offsets, form)?
        };
        let data = ragged.shapes.as_ptr().cast_mut().cast();
        let layout = Layout::new(data, DType::U32, &[column.rows(), ragged.rank]);
        let shapes = made(py, layout, &self.owner, form)?;
        ragged_class(py)?.call1((values, offsets, shapes))
    }
}

fn ragged_class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    CLASS.import(py, "pipec._columns", "Ragged")
}

/// Offsets in memory of their own.
fn copied<'py>(py: Python<'py>, offsets: &[u64], form: Form) -> PyResult<Bound<'py, PyAny>> {
    let ty = plan::Type::scalar(DType::I64);
    let mut builder = runtime::Builder::new(&ty, offsets.len(), &runtime::Pool::default());
    offsets.iter().for_each(|it| builder.push_scalar(*it as i64));
    let column = builder.finish();
    let Kind::Block(layout) = Kind::of_block(&column) else { unreachable!("numbers are fixed") };
    made(py, layout, &Py::new(py, Owner(Held::new(column)))?, form)
}

#[inline]
fn made<'py>(
    py: Python<'py>,
    layout: Layout,
    owner: &Py<Owner>,
    form: Form,
) -> PyResult<Bound<'py, PyAny>> {
    match form {
        Form::Own => array::new(py, layout, owner),
        Form::Numpy => numpy::new(py, layout, owner),
    }
}
