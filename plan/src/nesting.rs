//! A bound for what nests, where it is read from a file: a hostile one cannot exhaust the stack.

use serde::{Deserialize, Deserializer, de::Error};
use std::cell::Cell;

/// Lists, records and types inside each other. Source texts nest no deeper (`NESTING_MAX`).
const DEPTH_MAX: u32 = 64;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Leaves a level, also where reading it has failed.
struct Level;

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Reads what may hold itself: for `deserialize_with`, where a type does.
pub(crate) fn bounded<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    if DEPTH.get() == DEPTH_MAX {
        return Err(D::Error::custom("values nest too deeply"));
    }
    DEPTH.set(DEPTH.get() + 1);
    let _level = Level;
    T::deserialize(from)
}
