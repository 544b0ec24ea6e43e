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
    state: Arc<Mutex<StopState>>,
    /// Says the same, for who cannot wait for a lock.
    requested: Arc<AtomicBool>,
}

#[derive(Default)]
struct StopState {
    requested: bool,
    stopper: Option<Stopper>,
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
        let mut state = locked(&self.state);
        let first = !state.requested;
        state.requested = true;
        self.requested.store(true, SeqCst);
        match &state.stopper {
            Some(stopper) if first => {
                stopper.stop();
                true
            }
            _ => false,
        }
    }

    /// Whether somebody has asked.
    pub fn is_requested(&self) -> bool {
        locked(&self.state).requested
    }

    /// Becomes true when somebody asks.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.requested
    }

    pub(crate) fn arm(&self, stopper: Option<Stopper>) -> Result<(), Failure> {
        let mut state = locked(&self.state);
        state.stopper = stopper;
        if state.requested { Err(Failure::Stopped) } else { Ok(()) }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
