//! What stops a run from outside.

use runtime::{Failure, Stopper};
use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

/// Stops a run from another thread: of a signal, of a user interface.
#[derive(Clone, Default)]
pub struct Stop {
    /// What is stopped; it is looked at and changed under this lock alone, and `requested` is set under it.
    stopper: Arc<Mutex<Option<Stopper>>>,
    requested: Arc<AtomicBool>,
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").field("requested", &self.is_requested()).finish_non_exhaustive()
    }
}

impl Stop {
    /// Asks the run to end, at once. Gives whether there was something to be stopped: not where
    /// nothing runs, or where it was asked for before.
    pub fn request(&self) -> bool {
        let stopper = locked(&self.stopper);
        let first = !self.requested.swap(true, SeqCst);
        match &*stopper {
            Some(stopper) if first => {
                stopper.stop();
                true
            }
            _ => false,
        }
    }

    /// Whether somebody has asked.
    pub fn is_requested(&self) -> bool {
        self.requested.load(SeqCst)
    }

    /// Becomes true when somebody asks.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.requested
    }

    pub(crate) fn arm(&self, stopper: Option<Stopper>) -> Result<(), Failure> {
        let mut armed = locked(&self.stopper);
        *armed = stopper;
        if self.is_requested() { Err(Failure::Stopped) } else { Ok(()) }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
