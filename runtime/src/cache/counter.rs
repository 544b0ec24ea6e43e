//! Counters that a task can take back: one that is given up for want of memory is done again, and what it
//! looked up counts once.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// What was added to which counter.
type Noted = Vec<(Arc<AtomicU64>, u64)>;

thread_local! {
    /// What the task of this thread has added, where it may be done again.
    static NOTED: RefCell<Option<Noted>> = const { RefCell::new(None) };
}

/// A number that threads add to.
#[derive(Debug, Default)]
pub(super) struct Counter(Arc<AtomicU64>);

impl Counter {
    /// What it has come to.
    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Adds to it, or takes away.
    pub(super) fn add(&self, n: i64) {
        let n = n.cast_unsigned();
        self.0.fetch_add(n, Relaxed);
        NOTED.with_borrow_mut(|noted| {
            let Some(noted) = noted else { return };
            match noted.iter_mut().find(|it| Arc::ptr_eq(&it.0, &self.0)) {
                Some((_, sum)) => *sum = sum.wrapping_add(n),
                None => noted.push((self.0.clone(), n)),
            }
        });
    }
}

/// A task begins; `again`: it may have to be done once more.
pub(crate) fn begin(again: bool) {
    NOTED.set(again.then(Vec::new));
}

/// The task is given up, and will count anew.
pub(crate) fn take_back() {
    for (counter, sum) in NOTED.take().unwrap_or_default() {
        counter.fetch_sub(sum, Relaxed);
    }
}
