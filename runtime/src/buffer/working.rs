//! Memory of a run that is no buffer, while it is counted.

use super::Idle;
use crate::memory;
use std::sync::Arc;

/// The share of a run's memory that a thread keeps to work in.
const KEPT: usize = 32;
/// Bytes from which on the system is asked whether it has them, which takes about a microsecond.
const ASKED_MIN: usize = 1 << 20;

/// Memory that is no buffer, such as what a decoder works in, while it is counted as the run's.
#[derive(Debug, Default)]
pub struct Working {
    pub(super) bytes: usize,
    /// None outside of a run, where nobody counts.
    pub(super) home: Option<Arc<Idle>>,
}

impl Working {
    /// Counts `bytes` bytes for the task of this thread. Ends the task where the run has not got them.
    pub fn of(bytes: usize) -> Self {
        memory::pool_of_task(|pool| pool.map_or_else(Self::default, |it| it.working(bytes)))
    }

    /// Counts `bytes` bytes that somebody takes who cannot do without: a library, or a buffer that grows. Ends the task
    /// where the run has not got them, or the system has not.
    pub fn ahead_of(bytes: usize) -> Self {
        let working = Self::of(bytes);
        if bytes >= ASKED_MIN && Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
            memory::exhausted(bytes);
        }
        working
    }

    /// Zeros to work in, and what counts them: to be kept as long as they are. Ends the task where
    /// there is no such memory.
    pub fn room(bytes: usize) -> (Vec<u8>, Self) {
        let (working, mut room) = (Self::of(bytes), Vec::new());
        if room.try_reserve_exact(bytes).is_err() {
            memory::exhausted(bytes);
        }
        room.resize(bytes, 0);
        (room, working)
    }

    /// Counts so many bytes more, for the task of this thread. Ends it where the run has not got them.
    pub(crate) fn grow(&mut self, bytes: usize) {
        match &self.home {
            Some(home) => home.take(bytes),
            None => self.home = Self::of(bytes).into_home(),
        }
        self.bytes += if self.home.is_some() { bytes } else { 0 };
    }

    /// Counts so many bytes less.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        if let Some(home) = &self.home {
            home.untake(bytes);
        }
    }

    /// Where its bytes are counted, which goes on.
    fn into_home(mut self) -> Option<Arc<Idle>> {
        self.home.take()
    }

    /// Whether a thread may keep so many bytes from one task to the next: a small part of what its run
    /// has.
    pub fn may_stay(bytes: usize) -> bool {
        Self::may_take(bytes, KEPT)
    }

    /// Whether so many bytes are at most one part in `share` of what the run of this thread's task may have.
    pub fn may_take(bytes: usize, share: usize) -> bool {
        memory::pool_of_task(|pool| pool.is_none_or(|it| bytes <= it.limit() / share))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            home.untake(self.bytes);
        }
    }
}
