//! An epoch as a stream of Arrow: each batch when it is asked for.

use super::{
    Forms,
    capsule::{self, Array, Schema, Stream, Type},
    form::Form,
    record,
};
use pyo3::{prelude::*, types::PyDict};
use std::{
    ffi::{CString, c_char, c_void},
    ptr,
};

/// What `errno` says of input and output that failed: the interface has no numbers of its own.
const EIO: i32 = 5;

/// What a stream points to.
struct Epoch {
    forms: Py<Forms>,
    /// The iterator over the batches.
    batches: Py<PyAny>,
    error: Option<CString>,
}

/// A stream of the batches that an iterator has, which are of these forms.
pub(super) fn of(
    py: Python<'_>,
    forms: Py<Forms>,
    batches: Py<PyAny>,
) -> PyResult<Bound<'_, PyAny>> {
    let epoch = Box::new(Epoch { forms, batches, error: None });
    let private = Box::into_raw(epoch).cast::<c_void>();
    capsule::stream(
        py,
        Stream { get_schema, get_next, get_last_error, release: Some(release), private },
    )
}

/// The type of a record of such fields.
pub(super) fn ty(forms: &[(String, Form)]) -> Type {
    let children = forms.iter().map(|(name, it)| it.ty(name)).collect();
    Type { format: c"+s".to_owned(), name: CString::default(), metadata: Vec::new(), children }
}

/// # Safety
/// `stream` is one of ours that was not released, and `out` can be written.
unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut Schema) -> i32 {
    // SAFETY: as is asked for.
    unsafe {
        let epoch = &*(*stream).private.cast::<Epoch>();
        out.write(Schema::new(ty(&epoch.forms.get().0)));
    }
    0
}

/// # Safety
/// `stream` is one of ours that was not released and that no other thread uses, and `out` can be written.
unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut Array) -> i32 {
    // SAFETY: as is asked for.
    let epoch = unsafe { &mut *(*stream).private.cast::<Epoch>() };
    let next = Python::try_attach(|py| epoch.next(py).map_err(|it| it.to_string()));
    let next = next.unwrap_or_else(|| Err("Python is shutting down".to_owned()));
    match next {
        Ok(array) => {
            // SAFETY: as is asked for.
            unsafe { out.write(array) };
            0
        }
        Err(told) => {
            epoch.error = CString::new(told.replace('\0', "")).ok();
            EIO
        }
    }
}

/// # Safety
/// `stream` is one of ours that was not released.
unsafe extern "C" fn get_last_error(stream: *mut Stream) -> *const c_char {
    // SAFETY: as is asked for.
    let epoch = unsafe { &*(*stream).private.cast::<Epoch>() };
    epoch.error.as_ref().map_or(ptr::null(), |it| it.as_ptr())
}

/// # Safety
/// `stream` is one of ours that was not released, and nobody uses it any more.
unsafe extern "C" fn release(stream: *mut Stream) {
    // SAFETY: as is asked for; it is released once, which `release` says from then on.
    let epoch = unsafe {
        (*stream).release = None;
        Box::from_raw((*stream).private.cast::<Epoch>())
    };
    let mut epoch = Some(epoch);
    let _ = Python::try_attach(|_| drop(epoch.take()));
    // Where there is no interpreter any more, nothing can be given back to it.
    std::mem::forget(epoch);
}

impl Epoch {
    fn next(&mut self, py: Python<'_>) -> PyResult<Array> {
        let next = self.batches.bind(py).try_iter()?.next();
        match next {
            Some(batch) => Ok(Array::new(record(&self.forms.get().0, batch?.cast::<PyDict>()?)?)),
            None => Ok(Array::none()),
        }
    }
}
