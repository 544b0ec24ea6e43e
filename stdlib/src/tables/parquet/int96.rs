//! Timestamps of 96 bits, as Hive, Impala and Spark have written them: nanoseconds of a day, and the day.
//!
//! The crate reads them as nanoseconds since 1970 in 64 bits, and what does not fit as some other time. Such values are made
//! [`FAR`] before, which whoever asks for them takes for a fault.

use super::{super::owned, counts};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use parquet::{
    basic::{Encoding, Type},
    column::page::Page,
    errors::Result as ParquetResult,
    schema::types::{ColumnDescPtr, ColumnDescriptor, SchemaDescriptor},
};
use runtime::Counted;
use std::mem;

/// Stands for a time that does not fit: the one that NumPy takes for no time at all.
pub(crate) const FAR: i64 = i64::MIN;

/// Says of a field that it holds such timestamps.
pub(crate) const MARK: &str = "pipec:int96";
/// Bytes of a value.
const SIZE: usize = 12;
/// The Julian day of 1970-01-01.
const EPOCH_DAY: i128 = 2_440_588;
const NANOS_OF_DAY: i128 = 86_400_000_000_000;

/// Whether a column holds such timestamps.
pub(super) fn is_int96(column: &ColumnDescriptor) -> bool {
    column.physical_type() == Type::INT96
}

/// A field of a file, and those of its structures, marked where the column is one of these.
pub(super) fn marked(field: Field, above: &[String], descr: &SchemaDescriptor) -> Field {
    let path = [above, &[field.name().clone()]].concat();
    if let DataType::Struct(fields) = field.data_type() {
        let fields = fields.iter().map(|it| marked((**it).clone(), &path, descr));
        let ty = DataType::Struct(fields.collect());
        return field.with_data_type(ty);
    }
    let below = |it: &&ColumnDescPtr| it.path().parts().starts_with(&path);
    if !descr.columns().iter().filter(below).any(|it| is_int96(it)) {
        return field;
    }
    let mut metadata = field.metadata().clone();
    metadata.insert(MARK.to_owned(), String::new());
    field.with_metadata(metadata)
}

/// The page of a column of them, where times that do not fit are [`FAR`].
pub(super) fn checked(mut page: Page, column: &ColumnDescriptor) -> ParquetResult<Page> {
    let begin = counts::begin(&page, column)?;
    match &mut page {
        Page::DictionaryPage { buf, .. }
        | Page::DataPage { buf, encoding: Encoding::PLAIN, .. }
        | Page::DataPageV2 { buf, encoding: Encoding::PLAIN, .. } => {
            *buf = values(mem::take(buf), begin);
        }
        // Their values are those of the dictionary.
        _ => {}
    }
    Ok(page)
}

/// The values of a page, which begin at `from`.
fn values(buf: Bytes, from: usize) -> Bytes {
    let far = |it: &[u8]| nanos(it).is_none();
    let Some(first) = buf.get(from..).and_then(|it| it.chunks_exact(SIZE).position(far)) else {
        return buf;
    };
    let mut to = Counted::new();
    to.reserve_exact(buf.len());
    to.extend_from_slice(&buf);
    let day = (i128::from(FAR)).div_euclid(NANOS_OF_DAY);
    let within = i128::from(FAR) - day * NANOS_OF_DAY;
    for it in to[from + first * SIZE..].chunks_exact_mut(SIZE).filter(|it| far(it)) {
        it[..8].copy_from_slice(&(within as u64).to_le_bytes());
        it[8..].copy_from_slice(&((day + EPOCH_DAY) as u32).to_le_bytes());
    }
    owned(to)
}

/// The nanoseconds since 1970, where they fit.
fn nanos(value: &[u8]) -> Option<i64> {
    let (within, day) = (value.first_chunk()?, value.last_chunk()?);
    let day = i128::from(i32::from_le_bytes(*day)) - EPOCH_DAY;
    i64::try_from(day * NANOS_OF_DAY + i128::from(i64::from_le_bytes(*within))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::data_type::Int96;

    fn value(nanos: i64, day: i32) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&nanos.to_le_bytes());
        bytes[8..].copy_from_slice(&day.to_le_bytes());
        bytes
    }

    /// What the crate makes of a value.
    fn read(bytes: &[u8]) -> i64 {
        let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
        let mut value = Int96::new();
        value.set_data(word(0), word(4), word(8));
        value.to_nanos()
    }

    #[test]
    fn what_does_not_fit_is_far_and_nothing_else() {
        let of = |nanos: i128| {
            let day = nanos.div_euclid(NANOS_OF_DAY);
            value((nanos - day * NANOS_OF_DAY) as i64, (day + EPOCH_DAY) as i32)
        };
        let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
        let fits = [least + 1, least + 1000, -1, 0, 1, 1_709_208_000_000_000_000, most - 1, most];
        let far = [least - 1, most + 1, -10 * most, 10 * most];
        let others = [value(0, i32::MAX), value(0, i32::MIN), value(i64::MAX, i32::MAX)];
        let all: Vec<[u8; SIZE]> = fits.into_iter().chain(far).map(of).chain(others).collect();
        let buf = [b"levels".as_slice(), &all.concat(), b"rest"].concat();
        let found = values(buf.into(), 6);
        assert_eq!((&found[..6], &found[found.len() - 4..]), (&b"levels"[..], &b"rest"[..]));
        let found: Vec<i64> = found[6..].chunks_exact(SIZE).map(read).collect();
        assert_eq!(found[..8], fits.map(|it| it as i64));
        assert_eq!(found[8..], [FAR; 7]);
    }
}
