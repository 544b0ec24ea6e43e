//! What keeps the memory of a column while somebody in Python looks at it.

use crate::fork::Process;
use pyo3::prelude::*;
use runtime::Column;
use std::mem::ManuallyDrop;

/// A column that views are on; when the last of them goes, its memory returns to the pool.
pub(crate) struct Held {
    column: ManuallyDrop<Column>,
    process: Process,
}

impl Held {
    pub(crate) fn new(column: Column) -> Self {
        Self { column: ManuallyDrop::new(column), process: Process::this() }
    }

    pub(crate) fn column(&self) -> &Column {
        &self.column
    }
}

impl Clone for Held {
    fn clone(&self) -> Self {
        Self { column: self.column.clone(), process: self.process }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // The pool's lock may have been taken when the process was copied; the memory is the copy's
        // own, and lives as long as it does.
        if !self.process.is_past() {
            // SAFETY: it is dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.column) };
        }
    }
}

/// The same as an object: what arrays of NumPy and ours refer to.
#[pyclass(frozen, module = "pipec._pipec")]
pub(crate) struct Owner(pub(crate) Held);
