//! What is made by the first thread that needs it, for all of them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A value that is made when it is needed, once. Whoever needs it meanwhile waits: who makes it waits for nobody.
pub(crate) struct Later<T> {
    state: Mutex<State<T>>,
    ended: Condvar,
}

enum State<T> {
    Open,
    Busy,
    Made(T),
}

impl<T> Default for Later<T> {
    fn default() -> Self {
        Self { state: Mutex::new(State::Open), ended: Condvar::new() }
    }
}

impl<T: Clone> Later<T> {
    /// The value.
    pub(crate) fn get(&self, make: impl Fn() -> T) -> T {
        loop {
            self.begin(&make);
            let mut state = self.lock();
            while matches!(*state, State::Busy) {
                state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            // Who has begun may have been unwound for want of memory.
            if let State::Made(value) = &*state {
                return value.clone();
            }
        }
    }

    /// Makes it, unless another thread does or has done so.
    pub(crate) fn begin(&self, make: impl Fn() -> T) {
        /// Lets others begin where it ends without a value.
        struct Begun<'a, T>(&'a Later<T>);
        impl<T> Drop for Begun<'_, T> {
            fn drop(&mut self) {
                let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
                if matches!(*state, State::Busy) {
                    *state = State::Open;
                }
                drop(state);
                self.0.ended.notify_all();
            }
        }
        let mut state = self.lock();
        if !matches!(*state, State::Open) {
            return;
        }
        *state = State::Busy;
        drop(state);
        let begun = Begun(self);
        let value = make();
        *self.lock() = State::Made(value);
        drop(begun);
    }

    /// Whether a thread makes it now.
    pub(crate) fn is_under_way(&self) -> bool {
        matches!(*self.lock(), State::Busy)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
        thread,
    };

    #[test]
    fn it_is_made_once() {
        let (later, made) = (Later::default(), AtomicUsize::new(0));
        let make = || {
            // The first one is unwound, whoever waits makes it.
            assert!(made.fetch_add(1, Relaxed) > 0, "as for want of memory");
            7
        };
        let panicked = thread::scope(|scope| {
            let get = || catch_unwind(AssertUnwindSafe(|| later.get(make))).ok();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(get)).collect();
            let found = threads.into_iter().map(|it| it.join().unwrap());
            found.filter(|it| it.is_none_or(|it| it != 7)).count()
        });
        assert_eq!((panicked, made.load(Relaxed)), (1, 2));
        later.begin(|| unreachable!("it is there"));
    }
}
