//! Arrays of NumPy on the memory of a batch. NumPy is looked for when the first is made.

use crate::{
    array::{self, Layout},
    held::Owner,
};
use numpy::{
    PY_ARRAY_API,
    npyffi::{
        self, NPY_TYPES,
        flags::{NPY_ARRAY_CARRAY, NPY_ARRAY_CARRAY_RO, NPY_ARRAY_NOTSWAPPED},
    },
};
use plan::DType;
use pyo3::{
    basic::CompareOp,
    exceptions::{PyOverflowError, PyTypeError},
    prelude::*,
    sync::PyOnceLock,
};
use runtime::{Shape, Tensor};
use std::{ptr::NonNull, slice};

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
        let missing = "NumPy does not support `bf16`: install `ml_dtypes`, use the batches \
                       without `.numpy()`, or write `f32(…)` in the pipeline";
        let bf16 = bf16.map_err(|_| PyTypeError::new_err(missing))?;
        let dtype = py.import("numpy")?.getattr("dtype")?.call1((bf16,))?;
        Ok::<_, PyErr>(dtype.unbind())
    })?;
    Ok(made.clone_ref(py).into_ptr().cast())
}

/// What NumPy says that an array's elements are.
fn dtype_of(type_number: i32) -> Option<DType> {
    let all = DType::ALL.iter().map(|it| it.0).filter(|it| !it.is_text());
    all.into_iter().find(|it| number(*it).is_some_and(|it| it as i32 == type_number))
}

/// A new array with a copy of `tensor`, which is the caller's to change.
pub(crate) fn copied<'py>(py: Python<'py>, tensor: &Tensor<'_>) -> PyResult<Bound<'py, PyAny>> {
    let mut shape: Vec<isize> = tensor.shape().iter().map(|it| *it as isize).collect();
    let descr = descr(py, tensor.dtype())?;
    // SAFETY: the extents are as many as is said; the reference to the dtype is handed over. The array
    // is new and in C order, nobody else has it, and it has room for the elements.
    unsafe {
        let class = npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type);
        let none = std::ptr::null_mut;
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            class,
            descr,
            shape.len() as i32,
            shape.as_mut_ptr(),
            none(),
            std::ptr::null_mut(),
            0,
            std::ptr::null_mut(),
        );
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        let data = (*made.as_ptr().cast::<npyffi::PyArrayObject>()).fields.data;
        if tensor.bytes() > 0 {
            tensor.copy_to(slice::from_raw_parts_mut(data.cast(), tensor.bytes()));
        }
        Ok(made)
    }
}

/// A list of numbers of Python as an array of `dtype`, where that says the same; else as NumPy reads it.
pub(crate) fn listed<'py>(list: &Bound<'py, PyAny>, dtype: DType) -> PyResult<Bound<'py, PyAny>> {
    let py = list.py();
    let array = py.import("numpy")?.call_method1("asarray", (list,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let is_empty = array.getattr("size")?.extract::<usize>()? == 0;
    let fits = match kind.as_str() {
        "i" | "u" => dtype.is_int() || dtype.is_float(),
        "f" => dtype.is_float() || is_empty,
        _ => false,
    };
    if !fits {
        return Ok(array);
    }
    // SAFETY: a new reference to the dtype.
    let wanted = unsafe { Bound::from_owned_ptr(py, descr(py, dtype)?.cast()) };
    let made = array.call_method1("astype", (wanted,))?;
    let is_same = || {
        let same = made.rich_compare(&array, CompareOp::Eq)?;
        same.call_method0("all")?.is_truthy()
    };
    if dtype.is_int() && !is_same()? {
        return Err(PyOverflowError::new_err(format!(
            "a number of the list does not fit into {dtype}"
        )));
    }
    Ok(made)
}

/// Looks at what NumPy makes of `object`, in C order.
///
/// # Errors
/// NumPy makes nothing of it, or it has elements or axes that no tensor has.
pub(crate) fn looked_at<R>(
    object: &Bound<'_, PyAny>,
    wanted: DType,
    look: impl FnOnce(&Tensor<'_>) -> R,
) -> PyResult<R> {
    let py = object.py();
    // SAFETY: the object is alive; what is made of it is kept until it has been looked at, holds its
    // elements in C order, aligned and in the machine's byte order, as the flags ask for, and nobody
    // changes it: the GIL is held, and `look` calls no Python.
    unsafe {
        let flags = NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED;
        let none = std::ptr::null_mut;
        let made = PY_ARRAY_API.PyArray_CheckFromAny(
            py,
            object.as_ptr(),
            none(),
            0,
            0,
            flags,
            none().cast(),
        );
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        let array = &(*made.as_ptr().cast::<npyffi::PyArrayObject>()).fields;
        let of = Bound::from_borrowed_ptr(py, array.descr.cast());
        let number = of.getattr("num")?.extract::<i32>()?;
        let is_wanted = || {
            let descr = Bound::from_owned_ptr(py, descr(py, wanted)?.cast());
            of.eq(descr)
        };
        let dtype = match dtype_of(number) {
            Some(it) => it,
            None if is_wanted()? => wanted,
            None => {
                return Err(PyTypeError::new_err(format!(
                    "it returned elements of the dtype {of}"
                )));
            }
        };
        let axes = array.nd as usize;
        if axes > runtime::MAX_RANK {
            return Err(PyTypeError::new_err(format!("it returned an array with {axes} axes")));
        }
        let extents: Vec<usize> = (0..axes).map(|it| *array.dimensions.add(it) as usize).collect();
        let data = NonNull::new(array.data.cast()).unwrap_or(NonNull::<u64>::dangling().cast());
        let tensor = Tensor::from_raw(dtype, Shape::new(&extents), data);
        Ok(look(&tensor))
    }
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
