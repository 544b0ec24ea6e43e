//! DLPack, the form in which frameworks hand arrays to each other without a copy
//! (<https://dmlc.github.io/dlpack/latest/c_api.html>).

use crate::{
    array::{self, AXES_MAX, Layout},
    held::Held,
};
use plan::DType;
use pyo3::{ffi, prelude::*};
use std::ffi::{CStr, c_void};

const CPU: i32 = 1;
/// What `data` of an array has to be a multiple of; what is beyond it goes into `byte_offset`.
const ALIGN: usize = 256;
/// The version that is written: 1.0, of which all that follows in version 1 is an addition.
const VERSION: Version = Version { major: 1, minor: 0 };
const PLAIN: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";

#[repr(C)]
struct Version {
    major: u32,
    minor: u32,
}

#[repr(C)]
struct Device {
    kind: i32,
    id: i32,
}

#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`, and what it points to.
#[repr(C)]
struct Plain {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Plain)>,
    rest: Rest,
}

/// `DLManagedTensorVersioned`, and what it points to.
#[repr(C)]
struct Versioned {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
    rest: Rest,
}

/// What lives as long as the tensor.
struct Rest {
    shape: [i64; AXES_MAX],
    strides: [i64; AXES_MAX],
    _held: Held,
}

impl Rest {
    fn new(layout: &Layout, held: Held) -> Self {
        let size = layout.dtype.size() as i64;
        let strides = layout.strides.map(|it| it as i64 / size);
        Self { shape: layout.shape.map(|it| it as i64), strides, _held: held }
    }
}

impl Tensor {
    /// Of an array; shape and strides are filled in where they have come to rest.
    fn new(layout: &Layout) -> Self {
        let beyond = layout.data as usize % ALIGN;
        Self {
            data: layout.data.wrapping_sub(beyond).cast(),
            device: Device { kind: CPU, id: 0 },
            ndim: layout.axes as i32,
            dtype: data_type(layout.dtype),
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            byte_offset: beyond as u64,
        }
    }
}

fn data_type(dtype: DType) -> DataType {
    let code = match dtype {
        DType::Bool => 6,
        DType::BF16 => 4,
        it if it.is_float() => 2,
        it if it.is_signed() => 0,
        _ => 1,
    };
    DataType { code, bits: 8 * dtype.size() as u8, lanes: 1 }
}

/// # Safety
/// `it` came out of a box, and nobody uses it any more.
unsafe extern "C" fn drop_plain(it: *mut Plain) {
    // SAFETY: whoever took the tensor says so once; it came out of a box.
    drop(unsafe { Box::from_raw(it) });
}

/// # Safety
/// `it` came out of a box, and nobody uses it any more.
unsafe extern "C" fn drop_versioned(it: *mut Versioned) {
    // SAFETY: whoever took the tensor says so once; it came out of a box.
    drop(unsafe { Box::from_raw(it) });
}

/// The capsule of a tensor that nobody has taken.
///
/// # Safety
/// The thread is attached to the interpreter; `capsule` is one of ours, and goes.
unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of ours; one that was taken has another name by then.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) == 1 {
            drop_plain(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            drop_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}

/// The array as a capsule of DLPack: of version 1 where that is wanted, else of the form before it.
#[pyfunction]
pub(crate) fn dlpack<'py>(
    array: &Bound<'py, PyAny>,
    versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let (layout, held) = array::of(array)?;
    let (tensor, rest) = (Tensor::new(layout), Rest::new(layout, held));
    let (pointer, name) = if versioned {
        let (context, deleter) = (std::ptr::null_mut(), Some(drop_versioned as _));
        let mut it =
            Box::new(Versioned { version: VERSION, context, deleter, flags: 0, tensor, rest });
        it.tensor.shape = it.rest.shape.as_mut_ptr();
        it.tensor.strides = it.rest.strides.as_mut_ptr();
        (Box::into_raw(it).cast::<c_void>(), VERSIONED)
    } else {
        let (context, deleter) = (std::ptr::null_mut(), Some(drop_plain as _));
        let mut it = Box::new(Plain { tensor, context, deleter, rest });
        it.tensor.shape = it.rest.shape.as_mut_ptr();
        it.tensor.strides = it.rest.strides.as_mut_ptr();
        (Box::into_raw(it).cast::<c_void>(), PLAIN)
    };
    // SAFETY: the name lives for ever; the destructor takes what was put in.
    unsafe {
        let capsule = ffi::PyCapsule_New(pointer, name.as_ptr(), Some(drop_capsule));
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}
