//! `ArrayBase`: a piece of a batch, where it lies. The methods that need no speed are in Python
//! (`pipec/_array.py`).
//!
//! The type is made by hand: the buffer protocol is no part of the stable ABI of CPython 3.10, but
//! its slots and its struct have been the same there since 3.9.

use crate::held::{Held, Owner};
use plan::DType;
use pyo3::{
    exceptions::{PyBufferError, PyRuntimeError},
    ffi,
    prelude::*,
    sync::PyOnceLock,
    types::{PyTuple, PyType},
};
use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    mem, ptr,
};

/// Axes of an array: those of a tensor, and that of the records of a block.
pub(crate) const AXES_MAX: usize = runtime::MAX_RANK + 1;

/// Where an array lies.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) data: *mut u8,
    pub(crate) dtype: DType,
    pub(crate) axes: usize,
    pub(crate) shape: [isize; AXES_MAX],
    /// Bytes from one element to the next.
    pub(crate) strides: [isize; AXES_MAX],
}

// SAFETY: it says where something lies; who looks there sees to it that it is still there.
unsafe impl Send for Layout {}

impl Layout {
    /// Of these extents, in C order without gaps.
    pub(crate) fn new(data: *mut u8, dtype: DType, extents: &[usize]) -> Self {
        let (mut shape, mut strides) = ([0; AXES_MAX], [0; AXES_MAX]);
        let mut stride = dtype.size() as isize;
        for axis in (0..extents.len()).rev() {
            (shape[axis], strides[axis]) = (extents[axis] as isize, stride);
            stride *= (extents[axis] as isize).max(1);
        }
        Self { data, dtype, axes: extents.len(), shape, strides }
    }

    pub(crate) fn shape(&self) -> &[isize] {
        &self.shape[..self.axes]
    }

    pub(crate) fn strides(&self) -> &[isize] {
        &self.strides[..self.axes]
    }

    pub(crate) fn bytes(&self) -> isize {
        self.shape().iter().product::<isize>() * self.dtype.size() as isize
    }
}

/// The object: what CPython wants first, then ours.
#[repr(C)]
struct Raw {
    head: ffi::PyObject,
    owner: *mut ffi::PyObject,
    layout: Layout,
}

/// `Py_buffer`, which pyo3 tells of from 3.11 on.
#[repr(C)]
struct View {
    buf: *mut c_void,
    obj: *mut ffi::PyObject,
    len: ffi::Py_ssize_t,
    itemsize: ffi::Py_ssize_t,
    readonly: c_int,
    ndim: c_int,
    format: *mut c_char,
    shape: *mut ffi::Py_ssize_t,
    strides: *mut ffi::Py_ssize_t,
    suboffsets: *mut ffi::Py_ssize_t,
    internal: *mut c_void,
}

/// Slots and a flag of `bf_getbuffer`, as in `typeslots.h` and `object.h` of CPython 3.9 and later.
const BF_GETBUFFER: c_int = 1;
const BUF_FORMAT: c_int = 4;

/// The type that is made, and the class in Python that has the other methods.
static BASE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The letter of the `struct` module for a dtype; none where there is no such letter.
pub(crate) fn letter(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::Bool => c"?",
        DType::U8 | DType::Bytes | DType::Str => c"B",
        DType::U16 => c"H",
        DType::U32 => c"I",
        DType::U64 => c"Q",
        DType::I8 => c"b",
        DType::I16 => c"h",
        DType::I32 => c"i",
        DType::I64 => c"q",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::BF16 => return None,
    })
}

/// Makes the type.
pub(crate) fn base(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    let made = BASE.get_or_try_init(py, || {
        let slot = |slot, pfunc| ffi::PyType_Slot { slot, pfunc };
        let mut slots = [
            slot(BF_GETBUFFER, getbuffer as *mut c_void),
            slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
            slot(0, ptr::null_mut()),
        ];
        let mut spec = ffi::PyType_Spec {
            name: c"pipec._pipec.ArrayBase".as_ptr(),
            basicsize: mem::size_of::<Raw>() as c_int,
            itemsize: 0,
            flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as c_uint,
            slots: slots.as_mut_ptr(),
        };
        // SAFETY: the spec is complete, and copied.
        let made = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec)) };
        Ok::<_, PyErr>(made?.cast_into::<PyType>()?.unbind())
    })?;
    Ok(made.bind(py))
}

/// Says which class arrays are of: a subclass of [`base`] without fields of its own.
#[pyfunction]
pub(crate) fn array_class(class: &Bound<'_, PyType>) -> PyResult<()> {
    let py = class.py();
    if !class.is_subclass(base(py)?)? {
        return Err(PyRuntimeError::new_err("it is not a subclass of ArrayBase"));
    }
    let _ = CLASS.set(py, class.clone().unbind());
    Ok(())
}

/// An array at `layout`, whose memory `owner` keeps.
pub(crate) fn new<'py>(
    py: Python<'py>,
    layout: Layout,
    owner: &Py<Owner>,
) -> PyResult<Bound<'py, PyAny>> {
    let class = CLASS.get(py).ok_or_else(|| PyRuntimeError::new_err("pipec is not imported"))?;
    // SAFETY: the class is a subclass of ours without fields of its own, so that its objects are
    // `Raw`; they come zeroed, and nobody has seen this one yet.
    unsafe {
        let made = ffi::PyType_GenericAlloc(class.as_ptr().cast(), 0);
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        let raw = made.as_ptr().cast::<Raw>();
        (&raw mut (*raw).layout).write(layout);
        (*raw).owner = owner.clone_ref(py).into_ptr();
        Ok(made)
    }
}

/// Where an array lies, and what keeps it.
pub(crate) fn of<'a>(array: &'a Bound<'_, PyAny>) -> PyResult<(&'a Layout, Held)> {
    let py = array.py();
    if !array.is_instance(base(py)?)? {
        return Err(pyo3::exceptions::PyTypeError::new_err("it is not a pipec array"));
    }
    // SAFETY: it is one of ours. One that Python has made by itself has no owner.
    unsafe {
        let raw = array.as_ptr().cast::<Raw>();
        let owner = Bound::from_borrowed_ptr_or_opt(py, (*raw).owner);
        let owner = owner.ok_or_else(|| PyRuntimeError::new_err("an empty array"))?;
        Ok((&(*raw).layout, owner.cast::<Owner>()?.get().0.clone()))
    }
}

/// What an array is: address, name of the dtype, shape, strides in bytes.
#[pyfunction]
pub(crate) fn layout<'py>(
    array: &Bound<'py, PyAny>,
) -> PyResult<(usize, &'static str, Bound<'py, PyTuple>, Bound<'py, PyTuple>)> {
    let (layout, _) = of(array)?;
    let py = array.py();
    let shape = PyTuple::new(py, layout.shape())?;
    Ok((layout.data as usize, layout.dtype.name(), shape, PyTuple::new(py, layout.strides())?))
}

/// Row `i` along the first axis, which is there.
#[pyfunction]
pub(crate) fn row<'py>(array: &Bound<'py, PyAny>, i: isize) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let (layout, held) = of(array)?;
    let rows = layout.shape().first().copied().unwrap_or(0);
    let at = if i < 0 { i + rows } else { i };
    if !(0..rows).contains(&at) {
        let message = format!("row {i} is out of range for {rows} rows");
        return Err(pyo3::exceptions::PyIndexError::new_err(message));
    }
    let mut part = Layout { axes: layout.axes - 1, ..*layout };
    part.shape.copy_within(1.., 0);
    part.strides.copy_within(1.., 0);
    part.data = layout.data.wrapping_offset(at * layout.strides[0]);
    new(py, part, &Py::new(py, Owner(held))?)
}

/// Elements in C order, as Python has them; of `bf16`, as floats.
#[pyfunction]
pub(crate) fn elements<'py>(array: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = array.py();
    let (layout, _held) = of(array)?;
    let size = layout.dtype.size();
    let n = layout.bytes() as usize / size;
    // SAFETY: that many bytes lie there, in C order, while `_held` lives.
    let bytes = unsafe { std::slice::from_raw_parts(layout.data, n * size) };
    bytes.chunks_exact(size).map(|it| element(py, layout.dtype, it)).collect()
}

fn element<'py>(py: Python<'py>, dtype: DType, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    macro_rules! number {
        ($ty:ty) => {
            <$ty>::from_ne_bytes(bytes.try_into().expect("an element has its size"))
                .into_pyobject(py)?
                .into_any()
        };
    }
    Ok(match dtype {
        DType::Bool => pyo3::types::PyBool::new(py, bytes[0] != 0).to_owned().into_any(),
        DType::U8 | DType::Str | DType::Bytes => number!(u8),
        DType::U16 => number!(u16),
        DType::U32 => number!(u32),
        DType::U64 => number!(u64),
        DType::I8 => number!(i8),
        DType::I16 => number!(i16),
        DType::I32 => number!(i32),
        DType::I64 => number!(i64),
        DType::F32 => number!(f32),
        DType::F64 => number!(f64),
        DType::F16 => {
            half::f16::from_ne_bytes([bytes[0], bytes[1]]).to_f64().into_pyobject(py)?.into_any()
        }
        DType::BF16 => {
            half::bf16::from_ne_bytes([bytes[0], bytes[1]]).to_f64().into_pyobject(py)?.into_any()
        }
    })
}

/// `bf_getbuffer`: always with shape and strides, in C order, to be written too.
///
/// # Safety
/// The thread is attached to the interpreter; `object` is of our type, and a view can be written at
/// `view`.
unsafe extern "C" fn getbuffer(
    object: *mut ffi::PyObject,
    view: *mut c_void,
    flags: c_int,
) -> c_int {
    let view = view.cast::<View>();
    // SAFETY: CPython gives an object of our type and a view to be filled in. Shape and strides
    // stay where they are as long as the object, which the view keeps.
    unsafe {
        (*view).obj = ptr::null_mut();
        let raw = object.cast::<Raw>();
        let layout = &raw mut (*raw).layout;
        let Some(letter) = letter((*layout).dtype).filter(|_| !(*raw).owner.is_null()) else {
            let error = "the buffer protocol does not support `bf16`: use `__dlpack__`";
            let py = Python::assume_attached();
            PyBufferError::new_err(error).restore(py);
            return -1;
        };
        ffi::Py_INCREF(object);
        view.write(View {
            buf: (*layout).data.cast(),
            obj: object,
            len: (*layout).bytes(),
            itemsize: (*layout).dtype.size() as isize,
            readonly: 0,
            ndim: (*layout).axes as c_int,
            format: match flags & BUF_FORMAT {
                0 => ptr::null_mut(),
                _ => letter.as_ptr().cast_mut(),
            },
            shape: (&raw mut (*layout).shape).cast(),
            strides: (&raw mut (*layout).strides).cast(),
            suboffsets: ptr::null_mut(),
            internal: ptr::null_mut(),
        });
    }
    0
}

/// `tp_dealloc`.
///
/// # Safety
/// The thread is attached to the interpreter; `object` is of our type or a subclass, and nobody
/// refers to it.
unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: CPython gives an object of our type, or of a subclass, that nobody refers to. The
    // type of an object on the heap is referred to by it, and goes after it.
    unsafe {
        let class = ffi::Py_TYPE(object);
        ffi::Py_XDECREF((*object.cast::<Raw>()).owner);
        let free: ffi::freefunc = mem::transmute(ffi::PyType_GetSlot(class, ffi::Py_tp_free));
        free(object.cast());
        ffi::Py_DECREF(class.cast());
    }
}
