//! What stands in an index about a stored value, and once more in front of it: 104 bytes, with checksums of itself and of
//! what is stored.
//!
//! | bytes | what |
//! |---|---|
//! | 0–16 | the key |
//! | 16–24, 24–32 | where the record stands in its segment; bytes that are stored behind it: the value, encoded |
//! | 32, 33 | dtype, by its place in [`DType::ALL`]; axes |
//! | 34–36 | the codec, by its id |
//! | 36–40 | zero |
//! | 40–88 | the extents, six of them |
//! | 88–96 | XXH3 of what is stored, seeded with XXH3 of bytes 0–88 |
//! | 96–104 | XXH3 of bytes 0–96 |
//!
//! All numbers are little-endian; all hashes are seeded with the store's own number, so that a file that
//! was moved to another store holds nothing there.

use super::{CacheKey, codec};
use crate::{MAX_RANK, Shape, Tensor, VALUE_BYTES_MAX};
use plan::{Codec, DType};
use xxhash_rust::xxh3::xxh3_64_with_seed as hash;

/// Bytes of a record.
pub(super) const BYTES: usize = 104;
const VALUE_CHECK: usize = 88;
const CHECK: usize = 96;

/// A record as it is written.
pub(super) type Written = [u8; BYTES];

/// Where a value is, and what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) key: CacheKey,
    /// Where it stands in the segment, with the value behind it.
    pub(super) offset: u64,
    /// Bytes of the value as it is stored.
    pub(super) stored: usize,
    pub(super) codec: Codec,
    pub(super) dtype: DType,
    pub(super) shape: Shape,
    value_check: u64,
}

/// What stands at a place of an index.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A record.
    Record(Record),
    /// Nothing yet, or one that was never finished.
    Nothing,
    /// A record of which something has changed.
    Damaged,
}

impl Record {
    /// The record of a value that is stored as `frame`, and will stand at `offset`.
    pub(super) fn new(
        of: (CacheKey, &Tensor<'_>),
        (offset, codec): (u64, Codec),
        (frame, seed): (&[u8], u64),
    ) -> Self {
        let (key, value) = of;
        let (dtype, shape) = (value.dtype(), Shape::new(value.shape()));
        let stored = frame.len();
        let mut new = Self { key, offset, stored, codec, dtype, shape, value_check: 0 };
        new.value_check = new.check_of(frame, seed);
        new
    }

    /// Bytes of the value.
    pub(super) fn len(&self) -> usize {
        self.shape.elements() * self.dtype.size()
    }

    /// Where what is stored ends.
    pub(super) fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.span())
    }

    /// Bytes of what is stored, with the record in front of it.
    pub(super) fn span(&self) -> u64 {
        (BYTES + self.stored) as u64
    }

    /// Whether these are the bytes that were stored.
    pub(super) fn fits(&self, frame: &[u8], seed: u64) -> bool {
        self.value_check == self.check_of(frame, seed)
    }

    /// Decodes what is stored into the bytes of the value; whether it could be.
    pub(super) fn decode(&self, frame: &[u8], out: &mut [u8]) -> bool {
        codec::decode(self.codec, (self.dtype, &self.shape), frame, out)
    }

    /// As it is written.
    pub(super) fn written(&self, seed: u64) -> Written {
        let mut all = self.head();
        all[VALUE_CHECK..CHECK].copy_from_slice(&self.value_check.to_le_bytes());
        let check = hash(&all[..CHECK], seed);
        all[CHECK..].copy_from_slice(&check.to_le_bytes());
        all
    }

    /// What was written.
    pub(super) fn read(written: &Written, seed: u64) -> Found {
        let number = |at: usize| u64::from_le_bytes(eight(&written[at..]));
        // The checksum comes last: where the process ended before it was there, it is zero.
        if number(CHECK) == 0 {
            return Found::Nothing;
        }
        if number(CHECK) != hash(&written[..CHECK], seed) {
            return Found::Damaged;
        }
        match Self::decoded(written) {
            Some(record) => Found::Record(record),
            None => Found::Damaged,
        }
    }

    fn decoded(written: &Written) -> Option<Self> {
        let number = |at: usize| u64::from_le_bytes(eight(&written[at..]));
        let (dtype, _) = *DType::ALL.get(usize::from(written[32]))?;
        let rank = usize::from(written[33]);
        let extents: Vec<usize> =
            (0..rank.min(MAX_RANK)).map(|i| number(40 + 8 * i) as usize).collect();
        let stored = usize::try_from(number(24)).ok()?;
        let codec = Codec::of_id([written[34], written[35]])?;
        let sound = |it: &Self| {
            let is_as_long = it.stored == it.len();
            let fits = if codec == Codec::NONE { is_as_long } else { it.stored < it.len() };
            rank <= MAX_RANK && fits && codec.is_for(dtype)
        };
        let key = u128::from(number(0)) | u128::from(number(8)) << 64;
        let shape = Shape::new(&extents);
        let bytes = shape.bytes(dtype.size())?;
        let (offset, value_check) = (number(16), number(VALUE_CHECK));
        let new = Self { key, offset, stored, codec, dtype, shape, value_check };
        (bytes <= VALUE_BYTES_MAX && sound(&new)).then_some(new)
    }

    fn check_of(&self, frame: &[u8], seed: u64) -> u64 {
        hash(frame, hash(&self.head()[..VALUE_CHECK], seed))
    }

    fn head(&self) -> Written {
        let mut all = [0; BYTES];
        all[..16].copy_from_slice(&self.key.to_le_bytes());
        all[16..24].copy_from_slice(&self.offset.to_le_bytes());
        all[24..32].copy_from_slice(&(self.stored as u64).to_le_bytes());
        let place = DType::ALL.iter().position(|it| it.0 == self.dtype);
        all[32] = place.expect("every dtype is one of all") as u8;
        all[33] = self.shape.len() as u8;
        all[34..36].copy_from_slice(&self.codec.id());
        for (i, extent) in self.shape.iter().enumerate() {
            all[40 + 8 * i..48 + 8 * i].copy_from_slice(&(*extent as u64).to_le_bytes());
        }
        all
    }
}

fn eight(bytes: &[u8]) -> [u8; 8] {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[..8]);
    eight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_what_was_written_or_nothing() {
        let value = [1.5_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let bytes: Vec<u8> = value.iter().flat_map(|it| it.to_le_bytes()).collect();
        let tensor = Tensor::new(&[2, 3], &value);
        let record = Record::new((7 << 100, &tensor), (11, Codec::NONE), (&bytes, 3));
        let written = record.written(3);
        assert_eq!(Record::read(&written, 3), Found::Record(record));
        assert_eq!(Record::read(&written, 4), Found::Damaged, "of another store");
        assert!(record.fits(&bytes, 3) && !record.fits(&bytes[1..], 3));
        for at in 0..BYTES {
            let mut flipped = written;
            flipped[at] ^= 0x10;
            assert_eq!(Record::read(&flipped, 3), Found::Damaged, "byte {at}");
        }
        assert_eq!(Record::read(&[0; BYTES], 3), Found::Nothing);
        // Whoever has written it can compute checksums.
        let shape = Shape::new(&[0, 1 << 62, 1 << 62]);
        assert_eq!(Record::read(&Record { shape, ..record }.written(3), 3), Found::Damaged);
    }
}
