//! Whether anybody waits for what a thread reads: a storage that answers late, or tries again and again, asks now and
//! then, so that a run which is stopped ends soon.

use std::{
    cell::RefCell,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

thread_local! {
    static OVER: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// From now on this thread reads for what `over` belongs to.
pub(crate) fn until(over: &Arc<AtomicBool>) {
    OVER.with(|it| *it.borrow_mut() = Some(over.clone()));
}

/// Calls what reads or writes on this thread for as long as `over` does not say that nobody waits for it.
pub fn unless<T>(over: &Arc<AtomicBool>, call: impl FnOnce() -> T) -> T {
    struct Before(Option<Arc<AtomicBool>>);
    impl Drop for Before {
        fn drop(&mut self) {
            OVER.with(|it| *it.borrow_mut() = self.0.take());
        }
    }
    let _before = Before(OVER.with(|it| it.borrow_mut().replace(over.clone())));
    call()
}

/// Fails where nobody waits for what this thread reads, so that it is left.
///
/// # Errors
/// The run was stopped.
pub fn unless_given_up() -> io::Result<()> {
    match is_given_up() {
        true => Err(io::Error::other("the run was stopped")),
        false => Ok(()),
    }
}

/// Whether nobody waits for what this thread reads: a storage may leave it, with any error.
pub fn is_given_up() -> bool {
    OVER.with(|it| it.borrow().as_ref().is_some_and(|it| it.load(Relaxed)))
}
