//! What is made by the first thread that needs it, for all of them.

use std::{
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// A value that is made when it is needed, once. Whoever needs it meanwhile waits: who makes it waits for nobody.
pub(crate) struct Later<T> {
    state: Mutex<State<T>>,
    ended: Condvar,
}

enum State<T> {
    Open,
    Busy {
        /// Whether another thread waits for it: a call that nobody hears costs as much as one that is heard.
        is_awaited: bool,
    },
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
            while let State::Busy { is_awaited } = &mut *state {
                *is_awaited = true;
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
        struct Begun<'a, T> {
            later: &'a Later<T>,
            value: Option<T>,
        }
        impl<T> Drop for Begun<'_, T> {
            fn drop(&mut self) {
                let after = self.value.take().map_or(State::Open, State::Made);
                let mut state = self.later.state.lock().unwrap_or_else(PoisonError::into_inner);
                let before = mem::replace(&mut *state, after);
                drop(state);
                if matches!(before, State::Busy { is_awaited: true }) {
                    self.later.ended.notify_all();
                }
            }
        }
        let mut state = self.lock();
        if !matches!(*state, State::Open) {
            return;
        }
        *state = State::Busy { is_awaited: false };
        drop(state);
        let mut begun = Begun { later: self, value: None };
        begun.value = Some(make());
    }

    /// Whether a thread makes it now.
    pub(crate) fn is_under_way(&self) -> bool {
        matches!(*self.lock(), State::Busy { .. })
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
