//! Stored values that are carried in a column: who reads files reads them, in place of the files.

use super::{NONCE, Store};
use crate::{
    CacheKey, Out, Shape, Tensor,
    cache::record::{self, Found, Record},
};
use plan::{Codec, DType, parts::Keep};
use std::ptr::NonNull;

impl Store {
    /// Writes the value of `key` as text, to be carried to who needs it; whether it was there. Of what
    /// can be used where it is, nothing but that is carried.
    pub(crate) fn carry(
        &self,
        key: CacheKey,
        (dtype, keep): (DType, Keep),
        out: &mut Out<'_>,
    ) -> bool {
        let Some(place) = self.place(key) else { return false };
        if keep == Keep::Value && self.points(place, dtype, out) {
            return true;
        }
        let shape = Shape::new(&[NONCE + place.bytes()]);
        let Ok(room) = out.room(dtype, shape) else { return false };
        let (nonce, rest) = room.split_at_mut(NONCE);
        nonce.copy_from_slice(&self.nonce);
        let found = self.take((key, place), rest).is_some();
        self.counts.hits.add(i64::from(found));
        found
    }

    /// The value of `key` in what was carried; none where that is what a file holds, and where it
    /// does not lie as its dtype wants it.
    pub(crate) fn carried<'a>(&self, key: CacheKey, text: &'a [u8]) -> Option<Carried<'a>> {
        self.carried_in(key, text.strip_prefix(&self.nonce)?)
    }

    /// The same in its record and what is stored behind it.
    pub(super) fn carried_in<'a>(&self, key: CacheKey, bytes: &'a [u8]) -> Option<Carried<'a>> {
        let (head, frame) = bytes.split_first_chunk::<{ record::BYTES }>()?;
        match Record::read(head, self.seed) {
            Found::Record(it) if it.key == key && it.stored == frame.len() => {
                Some(Carried { record: it, frame })
            }
            _ => None,
        }
    }
}

/// A stored value that came along in a column.
pub(crate) struct Carried<'a> {
    record: Record,
    frame: &'a [u8],
}

impl<'a> Carried<'a> {
    pub(super) fn dtype(&self) -> DType {
        self.record.dtype
    }

    /// The value where it lies; none where it is encoded, or does not lie as its dtype wants it.
    pub(crate) fn tensor(&self) -> Option<Tensor<'a>> {
        if self.record.codec != Codec::NONE {
            return None;
        }
        let data = NonNull::from(self.frame).cast::<u8>();
        let aligned = (data.as_ptr() as usize).is_multiple_of(self.record.dtype.size());
        // SAFETY: it is as long as the record says, which was verified, and lives as the text does.
        aligned.then(|| unsafe { Tensor::from_raw(self.record.dtype, self.record.shape, data) })
    }

    /// Writes the value; whether it could be.
    pub(crate) fn copy(&self, out: &mut Out<'_>) -> bool {
        let room = out.room(self.record.dtype, self.record.shape);
        room.is_ok_and(|it| self.record.decode(self.frame, it))
    }
}
