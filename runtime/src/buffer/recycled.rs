//! Bytes that are filled, read and gone again.

use super::{Buffer, size_class};
use crate::memory;
use std::ops::{Deref, DerefMut};

/// Bytes in memory that the pool of the run gives out again: what is of a size that comes often, such as pages of a
/// file, takes no new memory of the system, nor has it to be zeroed.
#[derive(Debug)]
pub struct Recycled {
    buffer: Buffer,
    len: usize,
}

impl Recycled {
    /// So many bytes, of any values, for the task of this thread. Ends the task where its run has not got them.
    pub fn of(len: usize) -> Self {
        let buffer = memory::pool_of_task(|pool| match pool {
            Some(pool) => pool.buffer(len),
            None => Buffer::new(size_class(len), None),
        });
        Self { buffer, len }
    }
}

impl Deref for Recycled {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer.bytes()[..self.len]
    }
}

impl DerefMut for Recycled {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.bytes_mut()[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Pool,
        memory::{Manner, enter, task},
    };

    #[test]
    fn the_same_memory_comes_again() {
        let pool = Pool::within(1 << 20);
        enter(&pool, 0);
        let fill = |value: u8| {
            let mut bytes = Recycled::of(5000);
            let before = bytes[0];
            bytes.fill(value);
            (bytes.len(), before, pool.used())
        };
        let (first, _) = task(Manner::Alone, || fill(7));
        assert_eq!((first.0, first.1), (5000, 0));
        assert!(first.2 >= 5000);
        assert_eq!((task(Manner::Alone, || fill(9)).0.1, pool.used()), (7, 0));
    }
}
