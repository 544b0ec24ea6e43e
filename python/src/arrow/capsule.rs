//! Arrow's C interface: <https://arrow.apache.org/docs/format/CDataInterface.html>. Trees of ours become its structs,
//! in the capsules that Python hands on.

use crate::held::Held;
use pyo3::{ffi, prelude::*};
use std::{
    ffi::{CStr, CString, c_char, c_void},
    ptr,
};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Where a buffer of no bytes lies.
static NOTHING: u64 = 0;

/// A type, with a name if it is that of a field.
pub(super) struct Type {
    pub(super) format: CString,
    pub(super) name: CString,
    /// Keys and values.
    pub(super) metadata: Vec<(&'static str, String)>,
    pub(super) children: Vec<Type>,
}

/// The values of an array of which none is missing.
pub(super) struct Data {
    pub(super) length: usize,
    /// Those after the one that says which values are missing.
    pub(super) buffers: Vec<Buffer>,
    pub(super) children: Vec<Data>,
}

/// A piece of memory.
pub(super) enum Buffer {
    /// Of a batch.
    Held {
        at: *const u8,
        _held: Held,
    },
    /// Made for the array.
    Own(Vec<u64>),
    Bytes(Vec<u8>),
}

impl Buffer {
    fn address(&self) -> *const c_void {
        let nothing = (&raw const NOTHING).cast::<u8>();
        let address = match self {
            Self::Held { at, .. } if at.is_null() => nothing,
            Self::Held { at, .. } => *at,
            Self::Own(all) if all.is_empty() => nothing,
            Self::Own(all) => all.as_ptr().cast(),
            Self::Bytes(all) if all.is_empty() => nothing,
            Self::Bytes(all) => all.as_ptr(),
        };
        address.cast()
    }
}

/// `ArrowSchema`.
#[repr(C)]
pub(super) struct Schema {
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

/// `ArrowArray`.
#[repr(C)]
pub(super) struct Array {
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

/// `ArrowArrayStream`.
#[repr(C)]
pub(super) struct Stream {
    pub(super) get_schema: unsafe extern "C" fn(*mut Stream, *mut Schema) -> i32,
    pub(super) get_next: unsafe extern "C" fn(*mut Stream, *mut Array) -> i32,
    pub(super) get_last_error: unsafe extern "C" fn(*mut Stream) -> *const c_char,
    pub(super) release: Option<unsafe extern "C" fn(*mut Stream)>,
    pub(super) private: *mut c_void,
}

/// What a schema points to.
struct OfSchema {
    format: CString,
    name: CString,
    metadata: Vec<u8>,
    children: Vec<*mut Schema>,
}

/// What an array points to.
struct OfArray {
    buffers: Vec<*const c_void>,
    children: Vec<*mut Array>,
    _kept: Vec<Buffer>,
}

impl Schema {
    pub(super) fn new(it: Type) -> Self {
        let boxed = |it: Type| Box::into_raw(Box::new(Self::new(it)));
        let metadata = encoded(&it.metadata);
        let children = it.children.into_iter().map(boxed).collect();
        let mut of = Box::new(OfSchema { format: it.format, name: it.name, metadata, children });
        Self {
            format: of.format.as_ptr(),
            name: of.name.as_ptr(),
            metadata: if of.metadata.is_empty() {
                ptr::null()
            } else {
                of.metadata.as_ptr().cast()
            },
            flags: 0,
            n_children: of.children.len() as i64,
            children: of.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_schema),
            private: Box::into_raw(of).cast(),
        }
    }
}

impl Array {
    pub(super) fn new(it: Data) -> Self {
        let boxed = |it: Data| Box::into_raw(Box::new(Self::new(it)));
        // Nothing says which are missing, since none is.
        let buffers = [ptr::null()].into_iter().chain(it.buffers.iter().map(Buffer::address));
        let (buffers, children) = (buffers.collect(), it.children.into_iter().map(boxed).collect());
        let mut of = Box::new(OfArray { buffers, children, _kept: it.buffers });
        Self {
            length: it.length as i64,
            null_count: 0,
            offset: 0,
            n_buffers: of.buffers.len() as i64,
            n_children: of.children.len() as i64,
            buffers: of.buffers.as_mut_ptr(),
            children: of.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private: Box::into_raw(of).cast(),
        }
    }

    /// One that says that there are no more.
    pub(super) fn none() -> Self {
        Self {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private: ptr::null_mut(),
        }
    }
}

/// Keys and values as the interface has them: each with its length before it, and their number before all.
fn encoded(metadata: &[(&str, String)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |text: &str| {
        bytes.extend((text.len() as i32).to_ne_bytes());
        bytes.extend(text.as_bytes());
    };
    for (key, value) in metadata {
        put(key);
        put(value);
    }
    if !metadata.is_empty() {
        bytes.splice(0..0, (metadata.len() as i32).to_ne_bytes());
    }
    bytes
}

/// # Safety
/// `schema` is one of ours, not released yet, and can be written.
unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: ours, released once: then `release` says so. Children that somebody has moved away say the same.
    unsafe {
        let of = Box::from_raw((*schema).private.cast::<OfSchema>());
        for &child in &of.children {
            drop_schema(child);
        }
        (*schema).release = None;
    }
}

/// # Safety
/// `array` is one of ours, not released yet, and can be written.
unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: as above.
    unsafe {
        let of = Box::from_raw((*array).private.cast::<OfArray>());
        for &child in &of.children {
            drop_array(child);
        }
        (*array).release = None;
    }
}

/// # Safety
/// `schema` came out of a box, and nobody uses it any more.
unsafe fn drop_schema(schema: *mut Schema) {
    // SAFETY: who takes a schema leaves one that is released.
    unsafe {
        let mut schema = Box::from_raw(schema);
        if let Some(release) = schema.release {
            release(&raw mut *schema);
        }
    }
}

/// # Safety
/// `array` came out of a box, and nobody uses it any more.
unsafe fn drop_array(array: *mut Array) {
    // SAFETY: who takes an array leaves one that is released.
    unsafe {
        let mut array = Box::from_raw(array);
        if let Some(release) = array.release {
            release(&raw mut *array);
        }
    }
}

/// # Safety
/// The thread is attached to the interpreter; `capsule` holds a schema of ours, and goes.
unsafe extern "C" fn drop_schema_of(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of ours, which was made of a box.
    unsafe { drop_schema(ffi::PyCapsule_GetPointer(capsule, SCHEMA.as_ptr()).cast()) };
}

/// # Safety
/// The thread is attached to the interpreter; `capsule` holds an array of ours, and goes.
unsafe extern "C" fn drop_array_of(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of ours, which was made of a box.
    unsafe { drop_array(ffi::PyCapsule_GetPointer(capsule, ARRAY.as_ptr()).cast()) };
}

/// # Safety
/// The thread is attached to the interpreter; `capsule` holds a stream of ours, and goes.
unsafe extern "C" fn drop_stream_of(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of ours, which was made of a box; who takes the stream leaves one that is released.
    unsafe {
        let stream = ffi::PyCapsule_GetPointer(capsule, STREAM.as_ptr()).cast::<Stream>();
        let mut stream = Box::from_raw(stream);
        if let Some(release) = stream.release {
            release(&raw mut *stream);
        }
    }
}

pub(super) fn schema(py: Python<'_>, it: Type) -> PyResult<Bound<'_, PyAny>> {
    capsule(py, Schema::new(it), SCHEMA, drop_schema_of)
}

pub(super) fn array(py: Python<'_>, it: Data) -> PyResult<Bound<'_, PyAny>> {
    capsule(py, Array::new(it), ARRAY, drop_array_of)
}

pub(super) fn stream(py: Python<'_>, it: Stream) -> PyResult<Bound<'_, PyAny>> {
    capsule(py, it, STREAM, drop_stream_of)
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
