//! Waiting for something that takes long, without the GIL, and with an ear for Ctrl-C.

use pyo3::prelude::*;
use std::{
    panic,
    sync::{
        Mutex, PoisonError,
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

/// From one look for signals to the next, while something is waited for.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// What `work` gives, on a thread of its own; after Ctrl-C `stop` is called, and what comes of it
/// no longer matters.
pub(crate) fn patiently<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    stop: impl Fn(),
) -> PyResult<T> {
    watched(py, work, (|| Ok(()), stop))
}

/// The same; `look` is called every [`TICK`] meanwhile, and an error of its own ends it as Ctrl-C does.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    (mut look, stop): (impl FnMut() -> PyResult<()>, impl Fn()),
) -> PyResult<T> {
    let (send, receive) = channel();
    // One thread at a time waits, which `detach` cannot know.
    let receive = Mutex::new(receive);
    let worker = thread::Builder::new().name("pipec python".to_owned()).spawn(move || {
        // It fails only where nobody waits any more.
        let _ = send.send(work());
    })?;
    loop {
        let wait = || receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TICK);
        match py.detach(wait) {
            Ok(value) => {
                let _ = worker.join();
                return Ok(value);
            }
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().and_then(|()| look()).inspect_err(|_| stop())?;
            }
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panicked) => panic::resume_unwind(panicked),
                Ok(()) => unreachable!("a worker that ends without a value has panicked"),
            },
        }
    }
}
