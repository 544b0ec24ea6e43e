//! Numbers and bytes that grow like those of a `Vec`, and count as the run's like a buffer.
//!
//! A buffer is made for values and lies aligned; this is for what stands beside values and grows with
//! their number or with a file: offsets, the places of records, the line that is being read.

use crate::{Working, memory};
use std::{
    fmt,
    io::{self, Read},
    ops::{Deref, DerefMut},
};

/// Items that memory is made for first, where more than none are needed.
const FIRST: usize = 32;

/// Items that grow: counted for the task of this thread, which ends where its run has not got the
/// memory.
pub struct Counted<T> {
    items: Vec<T>,
    working: Working,
}

impl<T: Copy> Counted<T> {
    /// None, without memory.
    pub fn new() -> Self {
        Self { items: Vec::new(), working: Working::default() }
    }

    /// Makes room for so many items more, and some for those that follow.
    #[inline]
    pub fn reserve(&mut self, more: usize) {
        if self.items.capacity() - self.items.len() < more {
            self.grow(more.max(self.items.capacity()).max(FIRST));
        }
    }

    /// Makes room for so many items more and no others.
    pub fn reserve_exact(&mut self, more: usize) {
        if self.items.capacity() - self.items.len() < more {
            self.grow(more);
        }
    }

    /// Counts first: where it ends the task, all is as it was.
    #[cold]
    fn grow(&mut self, more: usize) {
        let capacity = self.items.len().saturating_add(more);
        let added = (capacity - self.items.capacity()).saturating_mul(size_of::<T>());
        self.working.grow(added);
        if self.items.try_reserve_exact(more).is_err() {
            self.working.shrink(added);
            memory::exhausted(added);
        }
    }

    /// Appends an item.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.reserve(1);
        self.items.push(item);
    }

    /// Appends items.
    pub fn extend_from_slice(&mut self, items: &[T]) {
        self.reserve(items.len());
        self.items.extend_from_slice(items);
    }

    /// Appends items of which it is known how many they are.
    pub fn extend(&mut self, items: impl ExactSizeIterator<Item = T>) {
        self.reserve(items.len());
        self.items.extend(items);
    }

    /// So many items: what is missing is `item`.
    pub fn resize(&mut self, len: usize, item: T) {
        self.reserve_exact(len.saturating_sub(self.items.len()));
        self.items.resize(len, item);
    }

    /// Keeps the first items and the memory.
    pub fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
    }

    /// Keeps the memory alone.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Takes out the first items.
    pub fn remove_first(&mut self, n: usize) {
        self.items.drain(..n);
    }

    /// Takes one item out.
    pub fn remove(&mut self, at: usize) -> T {
        self.items.remove(at)
    }

    /// Gives memory back beyond so many items.
    pub fn shrink_to(&mut self, capacity: usize) {
        let before = self.items.capacity();
        self.items.shrink_to(capacity);
        self.working.shrink((before - self.items.capacity()) * size_of::<T>());
    }
}

impl Counted<u8> {
    /// Appends up to `n` bytes of `input`; gives how many there were.
    ///
    /// # Errors
    /// Those of `input`.
    pub fn read(&mut self, input: impl Read, n: usize) -> io::Result<usize> {
        self.reserve_exact(n);
        input.take(n as u64).read_to_end(&mut self.items)
    }
}

impl<T: Copy> Default for Counted<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for Counted<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for Counted<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T> fmt::Debug for Counted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counted({} of {})", self.items.len(), self.items.capacity())
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
    fn what_grows_counts_as_long_as_it_is_there() {
        let pool = Pool::within(1 << 20);
        enter(&pool, 0);
        let (mut many, _) = task(Manner::Alone, || {
            let mut many = Counted::new();
            (0..1000).for_each(|it: u64| many.push(it));
            many
        });
        assert!((8000..=16_384).contains(&pool.used()), "{}", pool.used());
        assert_eq!((many.len(), many[999]), (1000, 999));
        many.truncate(10);
        many.shrink_to(10);
        assert_eq!(pool.used(), 80);
        let (read, _) = task(Manner::Alone, || {
            let mut bytes = Counted::new();
            bytes.read(&b"abcdef"[..], 4).map(|it| (it, bytes.to_vec()))
        });
        assert_eq!(read.ok(), Some((4, b"abcd".to_vec())));
        drop(many);
        assert_eq!(pool.used(), 0);
    }
}
