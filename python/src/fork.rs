//! Whether this process is a copy of the one that something was made in: threads and locks do not
//! come along with a `fork`, so what has any is not touched in the copy.

use std::sync::atomic::{AtomicU32, Ordering};

/// Forks between the process that loaded this and the present one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Counts forks from now on.
pub(crate) fn watch() {
    extern "C" fn forked() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler does what may be done in the child of a process with threads: it touches
    // an atomic number alone. Where it cannot be set, memory is short, and forks are not seen.
    let _ = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
}

/// The process that something was made in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// This one.
    pub(crate) fn this() -> Self {
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Whether it is another one now, a copy.
    pub(crate) fn is_past(self) -> bool {
        self != Self::this()
    }
}
