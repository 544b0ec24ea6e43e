//! How long who reads of a far storage waits, as it was seen.

use super::Storage;
use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

/// Records after which what was asked for before counts half: once values are cached, less is.
const WINDOW: u64 = 512;

/// What was seen by all threads that read for one step of a run.
#[derive(Default)]
pub struct Waits {
    /// Batches of requests, and nanoseconds until the first answer to each.
    batches: AtomicU64,
    waited: AtomicU64,
    /// Nanoseconds until the last one.
    answered: AtomicU64,
    /// Requests that the storage answers at a time.
    requests_max: AtomicUsize,
    /// Records that were looked at, and requests that were made for them.
    records: AtomicU64,
    requests: AtomicU64,
}

/// How a far storage answers.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// How long it takes on average until the first object of a batch comes.
    pub latency: Duration,
    /// How long all batches took together until their last object had come.
    pub answered: Duration,
    /// Requests that it answers at a time.
    pub requests_max: usize,
    /// Requests for a record, on average: fewer than one where some of the records are cached.
    pub requests: f64,
}

impl Waits {
    /// Takes note of a batch of requests to `storage`, after which times the first answer came and the last.
    pub fn note(&self, storage: &dyn Storage, [first, last]: [Duration; 2]) {
        self.batches.fetch_add(1, Relaxed);
        self.waited.fetch_add(first.as_nanos() as u64, Relaxed);
        self.answered.fetch_add(last.as_nanos() as u64, Relaxed);
        let most = storage.access().map_or(1, |it| it.requests_max);
        self.requests_max.store(most, Relaxed);
    }

    /// Takes note of so many requests for so many records.
    pub fn count(&self, requests: usize, records: usize) {
        let now = self.records.fetch_add(records as u64, Relaxed) + records as u64;
        self.requests.fetch_add(requests as u64, Relaxed);
        if now > WINDOW {
            // What another thread counts meanwhile may be lost: it is a mean.
            for all in [&self.records, &self.requests] {
                all.store(all.load(Relaxed) / 2, Relaxed);
            }
        }
    }

    /// What was seen; none before the first answer.
    pub fn seen(&self) -> Option<Seen> {
        let waited = self.waited.load(Relaxed).checked_div(self.batches.load(Relaxed))?;
        let requests_max = self.requests_max.load(Relaxed);
        let answered = Duration::from_nanos(self.answered.load(Relaxed));
        let records = self.records.load(Relaxed);
        let requests = match records {
            // Nobody counts them where each record is asked for.
            0 => 1.0,
            _ => self.requests.load(Relaxed) as f64 / records as f64,
        };
        Some(Seen { latency: Duration::from_nanos(waited), answered, requests_max, requests })
    }
}
