//! Memory that the system does not give.
//!
//! Buffers are asked for deep inside kernels and builders, thousands of times a second. Where there
//! is none, the task is unwound from there with a payload of its own, without the message of a
//! panic; whoever runs tasks catches it ([`or_failure`]) and makes it the failure that ends the run.
//! So nothing aborts, and no caller on the way has to hand on what hardly ever happens.

use crate::Failure;
use plan::shown_bytes;
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

/// What a task is unwound with.
struct Exhausted {
    bytes: usize,
}

/// Ends the task: there are not so many bytes.
pub(crate) fn exhausted(bytes: usize) -> ! {
    resume_unwind(Box::new(Exhausted { bytes }))
}

/// The failure that a task was unwound with, where it was for want of memory; its stage is not named.
pub(crate) fn failure_of(panic: &(dyn Any + Send)) -> Option<Failure> {
    let Exhausted { bytes } = panic.downcast_ref()?;
    let bytes = shown_bytes(*bytes as u64);
    let detail = format!(
        "the system has no {bytes} of memory left for one buffer: make the records or batches smaller, or \
         give the process more"
    );
    Some(Failure::Memory { label: String::new(), detail })
}

/// Does it, unless memory runs out; panics go on.
///
/// # Errors
/// Those of `f`, and [`Failure::Memory`].
pub(crate) fn or_failure<T>(f: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(done) => done,
        Err(panic) => match failure_of(&*panic) {
            Some(failure) => Err(failure),
            None => resume_unwind(panic),
        },
    }
}
