//! Ids that become more: a vector that a few are written to at a time, however many of them count.

/// Room that is made at a time, in ids.
const STEP: usize = 4096;

/// Ids of tokens.
#[derive(Default)]
pub(crate) struct Ids {
    all: Vec<u32>,
    len: usize,
}

impl Ids {
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Those that are there.
    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.all[..self.len]
    }

    /// Ids that there is room for.
    pub(crate) fn capacity(&self) -> usize {
        self.all.capacity()
    }

    /// Appends the first `count` of some.
    #[inline]
    pub(super) fn push_some<const N: usize>(&mut self, some: [u32; N], count: usize) {
        debug_assert!(count <= N);
        if self.all.len() < self.len + N {
            self.make_room(N);
        }
        // All are written, whose number the compiler knows.
        self.all[self.len..self.len + N].copy_from_slice(&some);
        self.len += count;
    }

    pub(super) fn push(&mut self, id: u32) {
        self.push_some([id], 1);
    }

    pub(super) fn extend(&mut self, ids: &[u32]) {
        if self.all.len() < self.len + ids.len() {
            self.make_room(ids.len());
        }
        self.all[self.len..self.len + ids.len()].copy_from_slice(ids);
        self.len += ids.len();
    }

    #[cold]
    fn make_room(&mut self, more: usize) {
        let len = (self.len + more).max(self.all.len() + self.all.len() / 2) + STEP;
        self.all.resize(len, 0);
    }

    /// Keeps the first ones.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}
