//! Arrays of NumPy on the memory of a batch. NumPy is looked for when the first is made.

use crate::{
    array::{self, Layout},
    held::Owner,
};
use numpy::{
    PY_ARRAY_API,
    npyffi::{self, NPY_TYPES, flags::NPY_ARRAY_CARRAY},
};
use plan::DType;
use pyo3::{exceptions::PyTypeError, prelude::*, sync::PyOnceLock};

/// The number of a dtype; none of `bf16`, which NumPy does not have.
fn number(dtype: DType) -> Option<NPY_TYPES> {
    Some(match dtype {
        DType::Bool => NPY_TYPES::NPY_BOOL,
        DType::U8 | DType::Str | DType::Bytes => NPY_TYPES::NPY_UBYTE,
        DType::U16 => NPY_TYPES::NPY_USHORT,
        DType::U32 => NPY_TYPES::NPY_UINT,
        DType::U64 => NPY_TYPES::NPY_ULONGLONG,
        DType::I8 => NPY_TYPES::NPY_BYTE,
        DType::I16 => NPY_TYPES::NPY_SHORT,
        DType::I32 => NPY_TYPES::NPY_INT,
        DType::I64 if cfg!(windows) => NPY_TYPES::NPY_LONGLONG,
        DType::I64 => NPY_TYPES::NPY_LONG,
        DType::F16 => NPY_TYPES::NPY_HALF,
        DType::F32 => NPY_TYPES::NPY_FLOAT,
        DType::F64 => NPY_TYPES::NPY_DOUBLE,
        DType::BF16 => return None,
    })
}

/// The dtype as an object, a new reference.
fn descr(py: Python<'_>, dtype: DType) -> PyResult<*mut npyffi::PyArray_Descr> {
    if let Some(number) = number(dtype) {
        // SAFETY: a number that NumPy has.
        return Ok(unsafe { PY_ARRAY_API.PyArray_DescrFromType(py, number as i32) });
    }
    static BF16: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = BF16.get_or_try_init(py, || {
        let bf16 = py.import("ml_dtypes").and_then(|it| it.getattr("bfloat16"));
        let missing = "NumPy has no `bf16`: install `ml_dtypes`, take the batches without `.numpy()`, or write `f32(…)` in the pipeline";
        let bf16 = bf16.map_err(|_| PyTypeError::new_err(missing))?;
        let dtype = py.import("numpy")?.getattr("dtype")?.call1((bf16,))?;
        Ok::<_, PyErr>(dtype.unbind())
    })?;
    Ok(made.clone_ref(py).into_ptr().cast())
}

/// An array of ours as one of NumPy: the same memory.
#[pyfunction]
pub(crate) fn ndarray<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let (layout, held) = array::of(array)?;
    new(py, *layout, &Py::new(py, Owner(held))?)
}

/// An array at `layout`, whose memory `owner` keeps.
pub(crate) fn new<'py>(
    py: Python<'py>,
    mut layout: Layout,
    owner: &Py<Owner>,
) -> PyResult<Bound<'py, PyAny>> {
    let descr = descr(py, layout.dtype)?;
    // SAFETY: extents and strides are those of memory that is there while `owner` is, which the
    // array refers to. Both references are handed over.
    unsafe {
        let class = npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type);
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            class,
            descr,
            layout.axes as i32,
            layout.shape.as_mut_ptr(),
            layout.strides.as_mut_ptr(),
            layout.data.cast(),
            NPY_ARRAY_CARRAY,
            std::ptr::null_mut(),
        );
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        let owner = owner.clone_ref(py).into_ptr();
        match PY_ARRAY_API.PyArray_SetBaseObject(py, made.as_ptr().cast(), owner) {
            0 => Ok(made),
            _ => Err(PyErr::fetch(py)),
        }
    }
}
