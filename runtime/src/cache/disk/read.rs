//! Stored values that are read, and whether they are what was written.

use super::{Place, Store, locked};
use crate::{
    CacheKey, Out,
    cache::record::{self, Found, Record},
};
use std::{cell::RefCell, sync::atomic::Ordering::Relaxed};

/// Bytes that a thread keeps from one value that it reads to the next, at the most.
const READ_MAX: usize = 16 << 20;

thread_local! {
    /// What this thread reads values into that are not carried.
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Store {
    /// Writes the value of `key` into `out`; whether it was there.
    pub(crate) fn read(&self, key: CacheKey, out: &mut Out<'_>) -> bool {
        let Some(place) = self.place(key) else { return false };
        READ.with_borrow_mut(|room| {
            room.clear();
            room.resize(place.bytes(), 0);
            let found = self.take((key, place), room);
            let done = found.is_some_and(|record| {
                let out = out.room(record.dtype, record.shape);
                out.is_ok_and(|out| record.decode(&room[record::BYTES..], out))
            });
            self.counts.hits.add(i64::from(done));
            if room.capacity() > READ_MAX {
                *room = Vec::new();
            }
            done
        })
    }

    /// Reads a value behind its record into `room`, which is as long as both; what is not what was written is there no
    /// longer.
    pub(super) fn take(&self, (key, place): (CacheKey, Place), room: &mut [u8]) -> Option<Record> {
        match self.segment(place.segment)?.read(room, place.offset) {
            Ok(()) => self.checked((key, place), room),
            Err(_) => {
                self.drop_entry((key, place), false);
                None
            }
        }
    }

    /// What stands in front of a value, where both are what was written.
    pub(super) fn checked(&self, (key, place): (CacheKey, Place), bytes: &[u8]) -> Option<Record> {
        let (head, frame) = bytes.split_first_chunk::<{ record::BYTES }>()?;
        match Record::read(head, self.seed) {
            Found::Record(it) if it.key == key && it.fits(frame, self.seed) => {
                let mut shard = locked(self.shard(key));
                let entry = shard.get_mut(&key).filter(|it| it.at() == place.at());
                entry.into_iter().for_each(|it| it.verified = true);
                Some(it)
            }
            _ => {
                self.drop_entry((key, place), true);
                None
            }
        }
    }

    /// Forgets what cannot be had, so that it is computed and written anew; for later runs too where
    /// it `is_damaged`, and not just could not be read.
    fn drop_entry(&self, (key, place): (CacheKey, Place), is_damaged: bool) {
        {
            let mut shard = locked(self.shard(key));
            // Another thread may have written it anew meanwhile.
            if shard.get(&key).is_none_or(|it| it.at() != place.at()) {
                return;
            }
            shard.remove(&key);
        }
        self.counts.damaged.fetch_add(1, Relaxed);
        self.counts.entries.fetch_sub(1, Relaxed);
        let may_forget = is_damaged && self.own.load(Relaxed) == place.segment;
        if let Some(segment) = self.segment(place.segment).filter(|_| may_forget) {
            segment.forget_at(place.offset, self.seed);
        }
    }
}
