//! Stored values that the system holds in memory: they are used there.

use super::{NONCE, Place, Store, carried::Carried};
use crate::{CacheKey, Failure, Out, Shape, cache::mapped::MAPPED, memory, os};
use plan::DType;
use std::{
    panic::resume_unwind,
    slice,
    sync::{PoisonError, atomic::Ordering::Relaxed},
};

/// Bytes of pages that a run has of what it used in a store, at the least, before it lets go of them; else half of the
/// memory that it may have and has not taken. They count as its memory wherever somebody looks, and having them anew
/// takes half as long as a copy.
const USED: usize = 16 << 20;

impl Store {
    /// The value of `key`, if the system holds it in memory; it stays where it is as long as the store does.
    ///
    /// It is verified the first time. From then on its bytes are taken for what they are, as those in the run's own memory
    /// are.
    pub(crate) fn in_place(&self, key: CacheKey) -> Option<Carried<'_>> {
        let place = self.place(key).filter(|it| MAPPED.contains(&it.bytes()))?;
        let segment = self.segment(place.segment)?;
        let bytes = segment.mapped((place.offset, place.bytes()))?;
        // SAFETY: they lie in a window of a segment, and no segment is removed while the store lives.
        let bytes = unsafe { slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
        if !place.verified {
            self.checked((key, place), bytes)?;
        }
        let found = self.carried_in(key, bytes).filter(|it| !it.dtype().is_text())?;
        self.has_used(bytes.len());
        self.counts.hits.add(1);
        Some(found)
    }

    /// Lets go of the pages that were used where they are many.
    fn has_used(&self, bytes: usize) {
        let spare = memory::pool_of_task(|pool| {
            pool.map_or(0, |it| it.limit().saturating_sub(it.taken()) / 2)
        });
        let used = self.used.fetch_add(bytes, Relaxed) + bytes;
        os::pages_used(bytes);
        if used > spare.max(USED) {
            // Another thread may do the same now.
            os::pages_let_go(self.used.swap(0, Relaxed));
            let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
            segments.iter().for_each(|it| it.let_go());
        }
    }

    /// Says, as text, that a value can be used where it is; whether that is so.
    pub(super) fn points(&self, place: Place, dtype: DType, out: &mut Out<'_>) -> bool {
        let at = (place.offset, place.bytes());
        let holds = || self.segment(place.segment).is_some_and(|it| it.holds(at));
        let is_there = place.verified && MAPPED.contains(&place.bytes()) && holds();
        is_there
            && out.room(dtype, Shape::new(&[NONCE])).is_ok_and(|room| {
                room.copy_from_slice(&self.nonce);
                true
            })
    }

    /// Whether a text says that the value can be used where it is.
    pub(crate) fn is_pointer(&self, text: &[u8]) -> bool {
        text == self.nonce
    }

    /// Ends the run: a value was there a moment ago, and what it would be computed from was not read.
    pub(crate) fn is_lost(&self) -> ! {
        resume_unwind(Box::new(Failure::Io {
            path: self.folder.display().to_string(),
            detail: "a cached value that was there cannot be read any more: another program has changed the file, or \
                     the disk fails. Run it again: what is damaged is computed again"
                .to_owned(),
        }))
    }
}
