//! Values that a page says it holds, counted before the crate is given it: that one takes memory for so many, and passes
//! over rows that are nowhere for ever.

use super::{
    pages::{PAGE_MAX, damaged},
    raw::levels_of,
    runs::varint,
};
#[expect(deprecated, reason = "old files have it")]
use parquet::basic::Encoding::BIT_PACKED;
use parquet::{
    basic::{Encoding, Type},
    column::page::Page,
    errors::{ParquetError, Result as ParquetResult},
    schema::types::ColumnDescriptor,
};

/// Bytes of a length.
const LENGTH: usize = 4;

/// Looks whether a page may hold as many values as it says.
///
/// # Errors
/// It cannot: it has fewer bytes or levels, or counts them twice and otherwise.
pub(super) fn check(page: &Page, column: &ColumnDescriptor) -> ParquetResult<()> {
    let fits = match page {
        Page::DictionaryPage { buf, num_values, .. } => {
            *num_values as usize <= buf.len() / least(column)
        }
        page => {
            if !has_levels(page, column) {
                return Err(short());
            }
            let values = page.buffer().get(begin(page, column)?..).unwrap_or_default();
            let most = (page.num_values() as usize).min(PAGE_MAX / LENGTH);
            match page.encoding() {
                Encoding::DELTA_LENGTH_BYTE_ARRAY => after_deltas(values, most).is_some(),
                // The lengths of what is shared, and the rest of each text.
                Encoding::DELTA_BYTE_ARRAY => {
                    let rest = after_deltas(values, most);
                    rest.and_then(|it| after_deltas(it, most)).is_some()
                }
                _ => true,
            }
        }
    };
    if fits { Ok(()) } else { Err(damaged("a page says that it has more values than it has")) }
}

/// Bytes that a value has in a dictionary, at least.
fn least(column: &ColumnDescriptor) -> usize {
    match column.physical_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => LENGTH,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(column.type_length()).unwrap_or(1).max(1),
    }
}

/// Whether a page of a list says of each value whether it begins a row.
fn has_levels(page: &Page, column: &ColumnDescriptor) -> bool {
    let most = column.max_rep_level();
    if most <= 0 {
        return true;
    }
    let levels = match page {
        #[expect(deprecated, reason = "old files have it")]
        Page::DataPage { rep_level_encoding: BIT_PACKED, .. } => return true,
        Page::DataPage { buf, .. } => {
            let len = buf.first_chunk().map_or(0, |it| u32::from_le_bytes(*it)) as usize;
            buf.get(LENGTH..).and_then(|it| it.get(..len))
        }
        Page::DataPageV2 { buf, rep_levels_byte_len: len, .. } => buf.get(..*len as usize),
        Page::DictionaryPage { .. } => return true,
    };
    let runs = levels.and_then(|it| levels_of(it, most.unsigned_abs().into()));
    runs.and_then(|mut it| it.skip(page.num_values() as usize)).is_some()
}

/// Where the values of a page begin, behind its levels.
pub(super) fn begin(page: &Page, column: &ColumnDescriptor) -> ParquetResult<usize> {
    match page {
        Page::DictionaryPage { .. } => Ok(0),
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            Ok(*def_levels_byte_len as usize + *rep_levels_byte_len as usize)
        }
        Page::DataPage { buf, num_values, def_level_encoding, rep_level_encoding, .. } => {
            let repeated = (column.max_rep_level(), *rep_level_encoding);
            let defined = (column.max_def_level(), *def_level_encoding);
            let levels = [repeated, defined].into_iter().filter(|it| it.0 > 0);
            let mut from = 0;
            for (most, encoding) in levels {
                from += bytes_of_levels(
                    buf.get(from..).unwrap_or_default(),
                    most,
                    encoding,
                    *num_values,
                )?;
            }
            Ok(from)
        }
    }
}

/// Bytes of levels in a page of version 1, which `buf` begins with.
fn bytes_of_levels(buf: &[u8], most: i16, encoding: Encoding, values: u32) -> ParquetResult<usize> {
    let bits = (i16::BITS - most.leading_zeros()) as usize;
    #[expect(deprecated, reason = "old files have it")]
    if encoding == BIT_PACKED {
        let bytes = (values as usize * bits).div_ceil(8);
        return if bytes <= buf.len() { Ok(bytes) } else { Err(short()) };
    }
    let len = buf.first_chunk().map(|it| u32::from_le_bytes(*it));
    Ok(len.ok_or_else(short)? as usize + LENGTH)
}

fn short() -> ParquetError {
    damaged("a page is shorter than its levels")
}

/// What follows after numbers written as differences (`DELTA_BINARY_PACKED` of the format's
/// `Encodings.md`); none where there are more than `most`, or they end early.
fn after_deltas(mut bytes: &[u8], most: usize) -> Option<&[u8]> {
    let mut number = || usize::try_from(varint(&mut bytes)?).ok();
    let (block, parts, n) = (number()?, number()?, number()?);
    let _first = number()?;
    let in_part = block.checked_div(parts)?;
    if n > most || in_part == 0 {
        return None;
    }
    let mut left = n.saturating_sub(1);
    while left > 0 {
        let _least = varint(&mut bytes)?;
        let widths = bytes.split_off(..parts)?;
        for width in widths {
            // The parts behind the last number take no bytes, whatever their width.
            if left == 0 {
                break;
            }
            bytes.split_off(..in_part.checked_mul(usize::from(*width))? / 8)?;
            left = left.saturating_sub(in_part);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use parquet::schema::{parser::parse_message_type, types::SchemaDescriptor};
    use std::sync::Arc;

    fn column(ty: &str) -> SchemaDescriptor {
        let schema = parse_message_type(&format!("message m {{ required {ty} x; }}")).unwrap();
        SchemaDescriptor::new(Arc::new(schema))
    }

    fn fits(ty: &str, page: &Page) -> bool {
        check(page, &column(ty).column(0)).is_ok()
    }

    #[test]
    fn a_dictionary_has_bytes_for_each_value() {
        for (ty, bytes) in [("int32", 4), ("int64", 8), ("int96", 12), ("binary", 4)] {
            for (n, fit) in [(3, true), (4, false), (0x3800_0000, false)] {
                let buf = Bytes::from(vec![0; bytes * 3 + 1]);
                let encoding = Encoding::PLAIN;
                let page = Page::DictionaryPage { buf, num_values: n, encoding, is_sorted: false };
                assert_eq!(fits(ty, &page), fit, "{ty}");
            }
        }
    }

    /// A page of texts as differences: 128 in a block, of four parts.
    fn deltas(encoding: Encoding, values: &[u8], num_values: u32) -> Page {
        Page::DataPage {
            buf: Bytes::copy_from_slice(values),
            num_values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        }
    }

    #[test]
    fn lengths_are_as_many_as_values() {
        // 34 lengths: the first, a part of 32 that takes two bits each, and one of one that takes none.
        let lengths = [&[0x80, 1, 4, 34, 2, 0, 2, 0, 9, 9][..], &[0xff; 8]].concat();
        let of = Encoding::DELTA_LENGTH_BYTE_ARRAY;
        assert!(fits("binary", &deltas(of, &lengths, 34)));
        assert!(!fits("binary", &deltas(of, &lengths, 33)));
        assert!(!fits("binary", &deltas(of, &lengths[..17], 34)));
        assert_eq!(after_deltas(&[&lengths[..], b"text"].concat(), 34), Some(&b"text"[..]));
        // As many as a number can say, in a few bytes.
        let forged = [&[0x80, 1, 4][..], &[0xff; 8], &[0x7f, 2]].concat();
        assert!(!fits("binary", &deltas(of, &forged, u32::MAX)));
        let none = [&[0, 1, 4][..], &[34, 2, 0, 2, 0, 0, 0]].concat();
        assert!(!fits("binary", &deltas(of, &none, 34)));

        let both = [&lengths[..], &lengths, b"text"].concat();
        let of = Encoding::DELTA_BYTE_ARRAY;
        assert!(fits("binary", &deltas(of, &both, 34)));
        let second = [&lengths[..], &forged].concat();
        assert!(!fits("binary", &deltas(of, &second, 34)));
    }

    #[test]
    fn levels_are_passed() {
        let of = |bytes: &[u8], encoding| bytes_of_levels(bytes, 3, encoding, 9);
        assert_eq!(of(&[2, 0, 0, 0, 9, 9, 1], Encoding::RLE).unwrap(), 6);
        #[expect(deprecated, reason = "old files have it")]
        for (bytes, fit) in [(3, Some(3)), (2, None)] {
            assert_eq!(of(&vec![0; bytes], BIT_PACKED).ok(), fit);
        }
        assert!(of(&[2, 0], Encoding::RLE).is_err());

        let nested =
            "message m { optional group l (LIST) { repeated group list { optional int32 x; } } }";
        let nested = SchemaDescriptor::new(Arc::new(parse_message_type(nested).unwrap()));
        let page = deltas(Encoding::PLAIN, &[2, 0, 0, 0, 9, 9, 1, 0, 0, 0, 7, 5], 9);
        assert_eq!(begin(&page, &nested.column(0)).unwrap(), 11);
        assert_eq!(begin(&page, &column("int32").column(0)).unwrap(), 0);

        // A run of five levels, where nine values are said to be, and where five are.
        for (n, fit) in [(9, false), (6, false), (5, true)] {
            let page = deltas(Encoding::PLAIN, &[2, 0, 0, 0, 10, 0, 2, 0, 0, 0, 10, 3], n);
            assert_eq!(check(&page, &nested.column(0)).is_ok(), fit);
        }
    }
}
