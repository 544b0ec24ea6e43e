//! How long who reads of a far storage waits, as it was seen.

use super::Storage;
use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

/// What was seen by all threads that read for one step of a run.
#[derive(Default)]
pub struct Waits {
    /// Batches of requests, and nanoseconds until the first answer to each.
    batches: AtomicU64,
    waited: AtomicU64,
    /// Requests that the storage answers at a time.
    requests_max: AtomicUsize,
}

/// How a far storage answers.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// How long it takes on average until the first object of a batch comes.
    pub latency: Duration,
    /// Requests that it answers at a time.
    pub requests_max: usize,
}

impl Waits {
    /// Takes note of a batch of requests to `storage`, to the first of which the answer came after this time.
    pub fn note(&self, storage: &dyn Storage, first: Duration) {
        self.batches.fetch_add(1, Relaxed);
        self.waited.fetch_add(first.as_nanos() as u64, Relaxed);
        let most = storage.access().map_or(1, |it| it.requests_max);
        self.requests_max.store(most, Relaxed);
    }

    /// What was seen; none before the first answer.
    pub fn seen(&self) -> Option<Seen> {
        let waited = self.waited.load(Relaxed).checked_div(self.batches.load(Relaxed))?;
        let requests_max = self.requests_max.load(Relaxed);
        Some(Seen { latency: Duration::from_nanos(waited), requests_max })
    }
}
