//! Text as an Arrow array, through the interface for other libraries
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>): no copy.

use crate::held::Held;
use plan::DType;
use pyo3::{
    exceptions::{PyIndexError, PyValueError},
    ffi,
    prelude::*,
    types::{PyBytes, PyList, PySequence, PySlice, PyString},
};
use std::{
    ffi::{CStr, c_char, c_void},
    ptr,
};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private: *mut c_void,
}

#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private: *mut c_void,
}

/// What an array points to.
struct Private {
    buffers: [*const c_void; 3],
    _held: Held,
}

/// # Safety
/// `schema` is one of ours, and can be written.
unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: ours, which points to nothing that must be freed.
    unsafe { (*schema).release = None };
}

/// # Safety
/// `array` is one of ours, not released yet, and can be written.
unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: ours, released once: then `release` says so.
    unsafe {
        drop(Box::from_raw((*array).private.cast::<Private>()));
        (*array).release = None;
    }
}

/// # Safety
/// The thread is attached to the interpreter; `capsule` holds a schema of ours, and goes.
unsafe extern "C" fn drop_schema(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of ours; who takes the schema leaves one that is released.
    unsafe {
        let schema = ffi::PyCapsule_GetPointer(capsule, SCHEMA.as_ptr()).cast::<Schema>();
        if let Some(release) = (*schema).release {
            release(schema);
        }
        drop(Box::from_raw(schema));
    }
}

/// # Safety
/// The thread is attached to the interpreter; `capsule` holds an array of ours, and goes.
unsafe extern "C" fn drop_array(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of ours; who takes the array leaves one that is released.
    unsafe {
        let array = ffi::PyCapsule_GetPointer(capsule, ARRAY.as_ptr()).cast::<Array>();
        if let Some(release) = (*array).release {
            release(array);
        }
        drop(Box::from_raw(array));
    }
}

fn capsule<'py, T>(
    py: Python<'py>,
    value: T,
    name: &'static CStr,
    destructor: unsafe extern "C" fn(*mut ffi::PyObject),
) -> PyResult<Bound<'py, PyAny>> {
    let pointer = Box::into_raw(Box::new(value)).cast();
    // SAFETY: the name lives for ever; the destructor takes what was put in.
    unsafe {
        let made = ffi::PyCapsule_New(pointer, name.as_ptr(), Some(destructor));
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// The texts of a batch, or of a block of records: a sequence of `str` or `bytes`, and an Arrow array.
#[pyclass(frozen, sequence, module = "pipec._pipec")]
pub(crate) struct Strings(pub(crate) Held);

impl Strings {
    fn is_text(&self) -> bool {
        self.0.column().dtype() == DType::Str
    }

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

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let format = if self.is_text() { c"U" } else { c"Z" };
        let schema = Schema {
            format: format.as_ptr(),
            name: c"".as_ptr(),
            metadata: ptr::null(),
            flags: 0,
            n_children: 0,
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: Some(release_schema),
            private: ptr::null_mut(),
        };
        capsule(py, schema, SCHEMA, drop_schema)
    }

    /// The schema and the array, `large_string` or `large_binary`; another schema is not heeded,
    /// which the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        drop(requested_schema);
        let ragged = self.0.column().ragged().expect("the rows of text are of any length");
        let buffers: [*const c_void; 3] = [
            ptr::null(),
            ragged.offsets.as_ptr().cast(),
            ragged.values.as_ptr().cast_const().cast(),
        ];
        let mut private = Box::new(Private { buffers, _held: self.0.clone() });
        let array = Array {
            length: self.__len__() as i64,
            null_count: 0,
            offset: 0,
            n_buffers: 3,
            n_children: 0,
            buffers: private.buffers.as_mut_ptr(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private: Box::into_raw(private).cast(),
        };
        Ok((self.__arrow_c_schema__(py)?, capsule(py, array, ARRAY, drop_array)?))
    }
}
