//! Values that are kept from epoch to epoch, in memory: decoded pictures, tokens, spectra; and on disk,
//! from run to run.
//!
//! A cached value is a pure function of some columns of its record, and stands under the hash of
//! what they hold. So it does not matter in which order records come, in which epoch or lap, or
//! how many threads ask. Nothing is ever taken out: each record comes once an epoch, and so what is
//! kept of it now is worth as much as what could be kept of another instead; once the room is
//! used up, the rest is computed anew each time.

pub mod codec;
mod counter;
mod disk;
mod mapped;
pub mod reading;
mod record;
mod room;
mod segment;

pub use codec::Codecs;
pub(crate) use counter::{begin as begin_counting, take_back as take_back_counts};
pub use disk::{Store, StoreStats};
pub use room::{DiskRoom, folder_bytes};

use crate::{Buffer, Chunk, Out, Shape, Tensor, memory};
use counter::Counter;
use plan::{Codec, DType, ExprId, StageId, parts::Keep};
use std::{
    collections::{HashMap, hash_map},
    hash::{BuildHasherDefault, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use xxhash_rust::xxh3::Xxh3;

/// Locks that share the work.
const SHARDS: usize = 64;
/// Bytes that an entry takes besides its value: its place in the table, its allocation.
const ENTRY_BYTES: u64 = 256;

/// A value of a program that is kept: which, under which key, and what need not be done for it.
#[derive(Debug, Clone)]
pub struct CachePoint {
    /// The stage that computes it.
    pub stage: StageId,
    /// The value, in the stage's graph.
    pub node: ExprId,
    /// What of it is kept.
    pub keep: Keep,
    /// The columns of the stage's input that it is a function of, or that say which they are.
    pub key: Vec<u32>,
    /// A hash of how it is computed of them.
    pub name: u64,
    /// What is not needed where the value is known.
    pub spares: Vec<Spared>,
    /// Where it is kept.
    pub cache: Arc<Cache>,
}

/// A value of a stage before, of dtype `bytes` or `str`, that only a kept value needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spared {
    /// The stage that computes it.
    pub stage: StageId,
    /// The value, in the stage's graph.
    pub node: ExprId,
    /// The columns of that stage's input with the key of the kept value, in the same order.
    pub key: Vec<u32>,
    /// The column in which it comes to the kept value's stage.
    pub column: u32,
}

/// Names a value: 128 bits, so that two among a billion are alike with probability 10⁻²¹.
pub type CacheKey = u128;

/// Values by key, in memory, never more than so many bytes; and those of a store on disk.
#[derive(Debug)]
pub struct Cache {
    disk: Option<Store>,
    /// How the values in memory are encoded.
    codecs: Codecs,
    shards: Vec<Mutex<Shard>>,
    limit: u64,
    bytes: AtomicU64,
    hits: Counter,
    misses: Counter,
    refused: Counter,
}

/// What a cache has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Values that were found.
    pub hits: u64,
    /// Values that had to be computed.
    pub misses: u64,
    /// Values for which there was no room.
    pub refused: u64,
    /// Values that are kept.
    pub entries: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// Bytes that they may take.
    pub limit: u64,
}

type Shard = HashMap<CacheKey, Entry, BuildHasherDefault<KeyIsHash>>;

#[derive(Debug)]
struct Entry {
    dtype: DType,
    shape: Shape,
    codec: Codec,
    /// Bytes of `data` that are of the value.
    len: usize,
    data: Buffer,
}

/// A value that is in memory.
pub(crate) enum Found<'a> {
    /// As it is.
    Plain(Tensor<'a>),
    /// Encoded.
    Encoded(Encoded<'a>),
}

/// A value as it is encoded in memory.
pub(crate) struct Encoded<'a> {
    dtype: DType,
    shape: Shape,
    codec: Codec,
    frame: &'a [u8],
}

impl Encoded<'_> {
    /// Writes the value; whether it could be.
    pub(crate) fn write(&self, out: &mut Out<'_>) -> bool {
        let room = out.room(self.dtype, self.shape);
        room.is_ok_and(|it| codec::decode(self.codec, (self.dtype, &self.shape), self.frame, it))
    }
}

/// The keys are hashes already.
#[derive(Debug, Default)]
struct KeyIsHash(u64);

impl Hasher for KeyIsHash {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, it| hash.rotate_left(8) ^ u64::from(*it));
    }
    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}

impl Cache {
    /// An empty cache that takes at most `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            disk: None,
            codecs: Codecs::default(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            limit,
            bytes: AtomicU64::new(0),
            hits: Counter::default(),
            misses: Counter::default(),
            refused: Counter::default(),
        }
    }

    /// The same with what is on disk.
    #[must_use]
    pub fn with_store(self, store: Store) -> Self {
        Self { disk: Some(store), ..self }
    }

    /// The same whose values in memory are encoded.
    #[must_use]
    pub fn encoded(self, codecs: Codecs) -> Self {
        Self { codecs, ..self }
    }

    /// What is on disk.
    pub fn store(&self) -> Option<&Store> {
        self.disk.as_ref()
    }

    /// The value of `key` in memory; counted as found or not.
    pub(crate) fn find(&self, key: CacheKey) -> Option<Found<'_>> {
        let found = self.peek(key);
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.add(1);
        found
    }

    /// Whether the value of `key` is in memory; it stays so.
    pub fn contains(&self, key: CacheKey) -> bool {
        self.shard(key).contains_key(&key)
    }

    /// Whether the value of `key` is in memory or on disk.
    pub(crate) fn has(&self, key: CacheKey) -> bool {
        self.contains(key) || self.disk.as_ref().is_some_and(|it| it.contains(key))
    }

    /// Whether a value that comes now would not be kept: memory refused one before, and the disk takes no more. One
    /// that is less large would be, but it is computed sooner than that is found out.
    pub(crate) fn is_full(&self) -> bool {
        self.refused.get() > 0 && self.disk.as_ref().is_none_or(Store::is_full)
    }

    /// Says that a value was not looked for, since it could not be kept.
    pub(crate) fn passes_by(&self) {
        self.misses.add(1);
        self.refused.add(1);
    }

    /// Keeps a copy of the value of `key`, in memory and on disk, where there is room.
    pub fn insert(&self, key: CacheKey, value: &Tensor<'_>) {
        self.insert_in_memory(key, value);
        if let Some(store) = &self.disk {
            store.insert(key, value);
        }
    }

    /// Says that a value was on disk which `find` has not found, and keeps it in memory too.
    pub(crate) fn found_on_disk(&self, key: CacheKey, value: &Tensor<'_>) {
        self.misses.add(-1);
        self.insert_in_memory(key, value);
    }

    fn insert_in_memory(&self, key: CacheKey, value: &Tensor<'_>) {
        let codec = self.codecs.of(key);
        if codec == Codec::NONE {
            return self.put(key, value, (codec, value.bytes()), &|room| value.copy_to(room));
        }
        let packed = value.packed();
        codec::encode(codec, (value.dtype(), value.shape()), &packed, |codec, frame| {
            self.put(key, value, (codec, frame.len()), &|room| room.copy_from_slice(frame));
        });
    }

    /// Keeps what `write` writes of a value, where there is room for so many bytes.
    fn put(
        &self,
        key: CacheKey,
        value: &Tensor<'_>,
        (codec, len): (Codec, usize),
        write: &dyn Fn(&mut [u8]),
    ) {
        let bytes = len as u64 + ENTRY_BYTES;
        let room = |used: u64| (used + bytes <= self.limit).then_some(used + bytes);
        if !is_spare(bytes) || self.bytes.fetch_update(Relaxed, Relaxed, room).is_err() {
            self.refused.add(1);
            return;
        }
        let mut data = Buffer::of(len);
        write(&mut data.bytes_mut()[..len]);
        let (dtype, shape) = (value.dtype(), Shape::new(value.shape()));
        let entry = Entry { dtype, shape, codec, len, data };
        // Another thread may have computed it too; its value is the same, and may be in use.
        match self.shard(key).entry(key) {
            hash_map::Entry::Occupied(_) => {
                self.bytes.fetch_sub(bytes, Relaxed);
            }
            hash_map::Entry::Vacant(place) => {
                place.insert(entry);
            }
        }
    }

    /// Bytes of the values that are kept.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// What it has done so far.
    pub fn stats(&self) -> CacheStats {
        let entries = self.shards.iter().map(|it| locked(it).len() as u64).sum();
        CacheStats {
            hits: self.hits.get(),
            misses: self.misses.get(),
            refused: self.refused.get(),
            entries,
            bytes: self.bytes.load(Relaxed),
            limit: self.limit,
        }
    }

    fn peek(&self, key: CacheKey) -> Option<Found<'_>> {
        let shard = self.shard(key);
        let Entry { dtype, shape, codec, len, data } = shard.get(&key)?;
        if *codec == Codec::NONE {
            // SAFETY: the elements are there, aligned, and neither they nor their place change while
            // the cache lives: entries are never taken out or replaced, and a table that grows moves
            // the entry but not what it points to.
            let value = unsafe { Tensor::from_raw(*dtype, *shape, data.as_ptr()) };
            return Some(Found::Plain(value));
        }
        // SAFETY: so many bytes are there, for the same reason.
        let frame = unsafe { std::slice::from_raw_parts(data.as_ptr().as_ptr(), *len) };
        Some(Found::Encoded(Encoded { dtype: *dtype, shape: *shape, codec: *codec, frame }))
    }

    fn shard(&self, key: CacheKey) -> MutexGuard<'_, Shard> {
        locked(&self.shards[(key >> 64) as usize % SHARDS])
    }
}

/// Whether the run has so many bytes to spare: what it has taken so far, and half as much again, is for its
/// tasks and its consumer, however little it was thought to need.
fn is_spare(bytes: u64) -> bool {
    memory::pool_of_task(|pool| {
        pool.is_none_or(|it| {
            let own = it.taken().saturating_add(it.taken() / 2) as u64;
            own.saturating_add(bytes) <= it.limit() as u64
        })
    })
}

fn locked(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The key of the value called `name` for what the columns `key` of a record hold.
pub(crate) fn key_of(chunk: &Chunk, row: usize, (name, key): (u64, &[u32])) -> CacheKey {
    let mut hash = Xxh3::with_seed(name);
    for &column in key {
        let value = chunk.columns[column as usize].row(row);
        // Lengths first, so that `ab`, `c` differs from `a`, `bc`.
        value.shape().iter().for_each(|it| hash.update(&(*it as u64).to_le_bytes()));
        match value.as_bytes() {
            Some(bytes) => hash.update(bytes),
            None => {
                let mut packed = vec![0; value.bytes()];
                value.copy_to(&mut packed);
                hash.update(&packed);
            }
        }
    }
    hash.digest128()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;

    fn plain(found: Option<Found<'_>>) -> Option<Tensor<'_>> {
        match found {
            Some(Found::Plain(it)) => Some(it),
            _ => None,
        }
    }

    #[test]
    fn encoded_values_take_less_room_and_are_the_same() {
        let lz4 = "lz4+shuffle".parse().unwrap();
        let cache = Cache::new(1 << 20).encoded(Codecs::new(&[(lz4, 1.0)]));
        let value: Vec<f32> = (0..4096).map(|it| (it / 16) as f32).collect();
        cache.insert(5, &Tensor::new(&[64, 64], &value));
        assert!(cache.stats().bytes < 4096 * 2, "{:?}", cache.stats());
        let Some(Found::Encoded(found)) = cache.find(5) else { panic!("it is encoded") };
        let mut scratch = Scratch::new();
        assert!(found.write(&mut Out::grow(&mut scratch)));
        assert_eq!(scratch.tensor().shape(), [64, 64]);
        assert_eq!(scratch.tensor().as_slice::<f32>(), Some(&value[..]));
    }

    #[test]
    fn values_are_kept_until_the_room_is_used_up() {
        let cache = Cache::new(2 * (4 + ENTRY_BYTES));
        let values: Vec<[u8; 4]> = (0..3).map(|it| [it; 4]).collect();
        for (key, value) in values.iter().enumerate() {
            assert!(cache.find(key as u128).is_none());
            cache.insert(key as u128, &Tensor::new(&[4], value));
        }
        // Twice the same takes no more room.
        cache.insert(1, &Tensor::new(&[4], &values[1]));
        let found = |key| plain(cache.find(key)).and_then(|it| it.as_slice::<u8>());
        assert_eq!(found(0), Some(&values[0][..]));
        assert_eq!(found(1), Some(&values[1][..]));
        assert_eq!(found(2), None);
        let stats = cache.stats();
        assert_eq!((stats.entries, stats.hits, stats.misses), (2, 2, 4));
        assert!(stats.bytes <= stats.limit && stats.refused >= 1);
    }

    #[test]
    fn threads_share_a_cache() {
        let cache = Cache::new(1 << 20);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for key in 0..500_u128 {
                        match plain(cache.find(key)) {
                            Some(found) => assert_eq!(found.first::<u64>(), key as u64),
                            None => cache.insert(key, &Tensor::new(&[], &[key as u64])),
                        }
                    }
                });
            }
        });
        assert_eq!(cache.stats().entries, 500);
    }
}
