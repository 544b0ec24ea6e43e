//! The records of a stream, found by their keys.

use super::super::group::failure;
use crate::prelude::*;
use hashbrown::HashTable;
use runtime::Working;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of a key that a message shows.
const SHOWN_MAX: usize = 80;
/// Bytes that the table takes for each record, beside its fields: its number, in slots of which up to half are free.
pub(super) const SLOT_BYTES: usize = 10;

/// The records of the second stream, found by their keys. Behind the last one stands what fills a record
/// without a partner, where there is such a thing.
pub(super) struct Held {
    pub(super) chunk: Chunk,
    /// Records of the second stream.
    pub(super) rows: usize,
    keys: Vec<usize>,
    numbers: HashTable<u32>,
    _memory: Working,
}

impl Held {
    /// The first `rows` records of `chunk` by the keys in these columns.
    pub(super) fn new(chunk: Chunk, rows: usize, keys: Vec<usize>) -> Result<Self, Failure> {
        let memory = Working::of(rows * SLOT_BYTES);
        let mut numbers = HashTable::with_capacity(rows);
        for row in 0..rows {
            let key = Key { chunk: &chunk, columns: &keys, row };
            let hash_of = |it: &u32| Key { row: *it as usize, ..key }.hash();
            let hash = key.hash();
            if numbers.find(hash, |it| key.is(&Key { row: *it as usize, ..key })).is_some() {
                return Err(failure(format!(
                    "the key {} occurs more than once in the second stream of `join`: keep one record for each \
                     key, for example with `where`",
                    key.shown()
                )));
            }
            numbers.insert_unique(hash, row as u32, hash_of);
        }
        Ok(Self { chunk, rows, keys, numbers, _memory: memory })
    }

    /// The number of the record with this key.
    pub(super) fn find(&self, key: &Key<'_>) -> Option<u32> {
        let own = |it: &u32| Key { chunk: &self.chunk, columns: &self.keys, row: *it as usize };
        self.numbers.find(key.hash(), |it| key.is(&own(it))).copied()
    }
}

/// The key of one record.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    pub(super) chunk: &'a Chunk,
    /// Where the parts of its key stand.
    pub(super) columns: &'a [usize],
    pub(super) row: usize,
}

impl<'a> Key<'a> {
    fn parts(&self) -> impl Iterator<Item = Tensor<'a>> {
        let (chunk, row) = (self.chunk, self.row);
        self.columns.iter().map(move |it| chunk.columns[*it].row(row))
    }

    fn hash(&self) -> u64 {
        self.parts().fold(0, |hash, it| xxh3_64_with_seed(it.as_text(), hash))
    }

    fn is(&self, other: &Key<'_>) -> bool {
        self.parts().zip(other.parts()).all(|(a, b)| a.as_text() == b.as_text())
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        let shown = |it: Tensor<'_>| match it.dtype() {
            dtype if !dtype.is_text() => it.int().to_string(),
            _ => {
                let text = String::from_utf8_lossy(it.as_text());
                let cut: String = text.chars().take(SHOWN_MAX).collect();
                let more = if cut.len() < text.len() { "…" } else { "" };
                format!("`{cut}{more}`")
            }
        };
        self.parts().map(shown).collect::<Vec<_>>().join(", ")
    }
}
