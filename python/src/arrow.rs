//! Batches for Arrow, through its interface for other libraries
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>): texts, arrays, whole batches, and
//! epochs.

mod capsule;
mod form;
mod stream;

use crate::held::Held;
use capsule::Data;
use form::Form;
use plan::DType;
use pyo3::{
    exceptions::{PyIndexError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyList, PySequence, PySlice, PyString},
};

/// A schema and an array.
type Capsules<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The texts of a batch, or of a block of records: a sequence of `str` or `bytes`, and an Arrow array.
#[pyclass(frozen, sequence, module = "pipec._pipec")]
pub(crate) struct Strings(pub(crate) Held);

impl Strings {
    fn at<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        text(py, self.0.column().row(row))
    }
}

/// A text as Python has it.
pub(crate) fn text<'py>(
    py: Python<'py>,
    value: runtime::Tensor<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value.dtype() {
        DType::Bytes => PyBytes::new(py, value.as_text()).into_any(),
        _ => PyString::from_bytes(py, value.as_text())?.into_any(),
    })
}

#[pymethods]
impl Strings {
    fn __len__(&self) -> usize {
        self.0.column().rows()
    }

    fn __getitem__<'py>(&self, at: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, rows) = (at.py(), self.__len__() as isize);
        if let Ok(slice) = at.cast::<PySlice>() {
            let found = slice.indices(rows)?;
            let row = |it: usize| (found.start + it as isize * found.step) as usize;
            let all: PyResult<Vec<_>> =
                (0..found.slicelength).map(|it| self.at(py, row(it))).collect();
            return Ok(PyList::new(py, all?)?.into_any());
        }
        let row: isize = at.extract()?;
        let at = if row < 0 { row + rows } else { row };
        if !(0..rows).contains(&at) {
            return Err(PyIndexError::new_err(format!("row {row} of {rows}")));
        }
        self.at(py, at as usize)
    }

    fn index(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        for row in 0..self.__len__() {
            if self.at(py, row)?.eq(value)? {
                return Ok(row);
            }
        }
        Err(PyValueError::new_err(format!("{} is not in it", value.repr()?)))
    }

    fn count(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut found = 0;
        for row in 0..self.__len__() {
            found += usize::from(self.at(py, row)?.eq(value)?);
        }
        Ok(found)
    }

    /// Whether the other is a list of the same, or a tuple, or such texts.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (py, rows) = (other.py(), self.__len__());
        let is_text = other.is_instance_of::<PyString>() || other.is_instance_of::<PyBytes>();
        let Ok(other) = other.cast::<PySequence>() else { return Ok(false) };
        if is_text || other.len()? != rows {
            return Ok(false);
        }
        for row in 0..rows {
            if !self.at(py, row)?.eq(other.get_item(row)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A copy of it, a pickled one too, is a list: it needs no memory of a pipeline.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyList>,))> {
        Ok((py.get_type::<PyList>().into_any(), (self.tolist(py)?,)))
    }

    /// All of them in a list.
    pub(crate) fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let all: PyResult<Vec<_>> = (0..self.__len__()).map(|it| self.at(py, it)).collect();
        PyList::new(py, all?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let few: PyResult<Vec<String>> =
            (0..self.__len__().min(4)).map(|it| Ok(self.at(py, it)?.repr()?.to_string())).collect();
        let more = if self.__len__() > 4 { ", …" } else { "" };
        Ok(format!("Strings([{}{more}], len={})", few?.join(", "), self.__len__()))
    }

    fn __arrow_c_schema__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        arrow_schema(slf.as_any())
    }

    /// The schema and the array, `large_string` or `large_binary`; another schema is not heeded,
    /// which the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        slf: &Bound<'py, Self>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Capsules<'py>> {
        drop(requested_schema);
        arrow_array(slf.as_any())
    }
}

/// The type of the rows of an array, of texts or of ragged rows.
#[pyfunction]
pub(crate) fn arrow_schema<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    capsule::schema(value.py(), Form::of_value(value)?.ty(""))
}

/// The same with the rows.
#[pyfunction]
pub(crate) fn arrow_array<'py>(value: &Bound<'py, PyAny>) -> PyResult<Capsules<'py>> {
    let (py, form) = (value.py(), Form::of_value(value)?);
    Ok((capsule::schema(py, form.ty(""))?, capsule::array(py, form.data(value)?)?))
}

/// The fields of a batch, each with what its rows are by themselves.
#[pyfunction]
pub(crate) fn arrow_batch<'py>(batch: &Bound<'py, PyDict>) -> PyResult<Capsules<'py>> {
    let form = |(name, value): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
        let name: String = name.extract()?;
        let form = Form::of_value(&value).map_err(|it| of_field(batch.py(), &name, &it))?;
        Ok((name, form))
    };
    let forms: PyResult<Vec<_>> = batch.iter().map(form).collect();
    of_batch(&forms?, batch)
}

/// What the batches of a pipeline are in Arrow: all of them the same.
#[pyclass(frozen, module = "pipec._pipec")]
pub(crate) struct Forms(Vec<(String, Form)>);

impl Forms {
    pub(crate) fn of(program: &plan::Program) -> Self {
        Self(Form::all(program))
    }
}

#[pymethods]
impl Forms {
    /// The type of a batch.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        capsule::schema(py, stream::ty(&self.0))
    }

    /// A batch.
    fn batch<'py>(&self, batch: &Bound<'py, PyDict>) -> PyResult<Capsules<'py>> {
        of_batch(&self.0, batch)
    }

    /// The batches that an iterator has.
    fn stream<'py>(
        slf: Py<Self>,
        py: Python<'py>,
        batches: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        stream::of(py, slf, batches)
    }
}

fn of_batch<'py>(forms: &[(String, Form)], batch: &Bound<'py, PyDict>) -> PyResult<Capsules<'py>> {
    let py = batch.py();
    let rows = record(forms, batch)?;
    Ok((capsule::schema(py, stream::ty(forms))?, capsule::array(py, rows)?))
}

/// The fields of a batch as one array of records.
fn record(forms: &[(String, Form)], batch: &Bound<'_, PyDict>) -> PyResult<Data> {
    let mut children: Vec<Data> = Vec::with_capacity(forms.len());
    for (name, form) in forms {
        let value = batch.get_item(name)?;
        let found = match value {
            Some(value) => form.data(&value),
            None => Err(PyTypeError::new_err("the batch has none any more")),
        };
        let found = found.map_err(|it| of_field(batch.py(), name, &it))?;
        if let Some(first) = children.first().filter(|it| it.length != found.length) {
            return Err(PyValueError::new_err(format!(
                "the fields of a table have one value for each row, but `{name}` has {}, and `{}` \
                 {}: leave one of them out, such as with `map {{ … }}`",
                found.length, forms[0].0, first.length
            )));
        }
        children.push(found);
    }
    let length = children.first().map_or(0, |it| it.length);
    Ok(Data { length, buffers: Vec::new(), children })
}

fn of_field(py: Python<'_>, name: &str, error: &PyErr) -> PyErr {
    let told = format!("field `{name}` cannot be an Arrow array: {}", error.value(py));
    match error.is_instance_of::<PyTypeError>(py) {
        true => PyTypeError::new_err(told),
        false => PyValueError::new_err(told),
    }
}
