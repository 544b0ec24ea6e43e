//! Memory that a kernel keeps from one record to the next.

use runtime::Working;
use std::{cell::RefCell, thread::LocalKey};

/// Bytes of a picture from which on the memory that it took is given back at once.
const KEPT_MAX: usize = 64 << 20;

/// A place for a thread's own memory.
pub(crate) type Kept<R> = LocalKey<RefCell<R>>;

/// Lends `work`, which needs at most so many bytes of it, this thread's memory.
pub(crate) fn with_room<R: Default, O>(
    kept: &'static Kept<R>,
    bytes: usize,
    work: impl FnOnce(&mut R) -> O,
) -> O {
    kept.with_borrow_mut(|room| {
        let done = work(room);
        if bytes > KEPT_MAX || !Working::may_stay(bytes) {
            *room = R::default();
        }
        done
    })
}
