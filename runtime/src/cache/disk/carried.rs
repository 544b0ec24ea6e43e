//! Stored values that are carried in a column: who reads files reads them, in place of the files.

use super::{NONCE, Store};
use crate::{
    CacheKey, Out, Shape, Tensor,
    cache::record::{self, Found, Record},
};
use plan::DType;
use std::ptr::NonNull;

/// Bytes before a value that is carried: what tells it from what a file holds, and its record.
const CARRIED: usize = NONCE + record::BYTES;

impl Store {
    /// Writes the value of `key` as text, to be carried to who needs it; whether it was there.
    pub(crate) fn carry(&self, key: CacheKey, dtype: DType, out: &mut Out<'_>) -> bool {
        let Some((place, record)) = self.record(key) else { return false };
        let shape = Shape::new(&[CARRIED + record.len()]);
        let Ok(room) = out.room(dtype, shape) else { return false };
        let (head, value) = room.split_at_mut(CARRIED);
        head[..NONCE].copy_from_slice(&self.nonce);
        head[NONCE..].copy_from_slice(&record.written(self.seed));
        self.fill(key, (place, &record), value)
    }

    /// The value of `key` in what was carried; none where that is what a file holds, and where it
    /// does not lie as its dtype wants it.
    pub(crate) fn carried<'a>(&self, key: CacheKey, text: &'a [u8]) -> Option<Carried<'a>> {
        let rest = text.strip_prefix(&self.nonce)?;
        let (head, value) = rest.split_first_chunk::<{ record::BYTES }>()?;
        match Record::read(head, self.seed) {
            Found::Record(it) if it.key == key && it.len() == value.len() => {
                Some(Carried { record: it, value })
            }
            _ => None,
        }
    }
}

/// A stored value that came along in a column.
pub(crate) struct Carried<'a> {
    record: Record,
    value: &'a [u8],
}

impl<'a> Carried<'a> {
    /// The value where it lies; none where it does not lie as its dtype wants it.
    pub(crate) fn tensor(&self) -> Option<Tensor<'a>> {
        let data = NonNull::from(self.value).cast::<u8>();
        let aligned = (data.as_ptr() as usize).is_multiple_of(self.record.dtype.size());
        // SAFETY: it is as long as the record says, which was verified, and lives as the text does.
        aligned.then(|| unsafe { Tensor::from_raw(self.record.dtype, self.record.shape, data) })
    }

    /// Copies the value; whether it could be.
    pub(crate) fn copy(&self, out: &mut Out<'_>) -> bool {
        let room = out.room(self.record.dtype, self.record.shape);
        room.map(|it| it.copy_from_slice(self.value)).is_ok()
    }
}
