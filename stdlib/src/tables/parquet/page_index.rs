//! What the index of a column's pages says of conditions
//! (<https://github.com/apache/parquet-format/blob/master/PageIndex.md>).

use super::{
    super::{Bound, Condition, guarded},
    Inner, leaf,
    statistics::may_be,
};
use arrow_schema::DataType;
use parquet::file::{
    metadata::{ColumnChunkMetaData, RowGroupMetaData},
    page_index::{
        column_index::ColumnIndexMetaData,
        index_reader::{decode_column_index, decode_offset_index},
    },
};
use std::ops::Range;

/// Bytes of an index, at the most: it is read as a whole.
const INDEX_MAX: u64 = 16 << 20;

/// The pages of a column: what is said of each, and its rows.
struct Pages {
    index: ColumnIndexMetaData,
    rows: Vec<Range<u64>>,
}

/// The rows of a row group that may be needed, in ascending order; none where all may be. A row is not that has a value
/// which does not meet a condition, if no missing value that matters is among its own.
pub(super) fn needed(
    file: &Inner,
    group: &RowGroupMetaData,
    conditions: &[Condition],
    type_of: impl Fn(&[String]) -> Option<DataType>,
) -> Option<Vec<Range<u64>>> {
    let rows = u64::try_from(group.num_rows()).ok()?;
    let (mut refuted, mut kept) = (Vec::new(), Vec::new());
    for Condition { path, test, nulls_matter } in conditions {
        let column = leaf(group.schema_descr(), path)?;
        let pages = Pages::of(file, group.column(column), rows);
        if *nulls_matter && group.schema_descr().column(column).max_def_level() > 0 {
            let Pages { index, rows } = pages.as_ref()?;
            let has_nulls = |at: &usize| index.null_count(*at) != Some(0);
            kept.extend((0..rows.len()).filter(has_nulls).map(|at| rows[at].clone()));
        }
        if let (Some((comparison, bound)), Some(pages), Some(ty)) = (test, pages, type_of(path)) {
            let is_refuted = |at: &usize| {
                let bounds = pages.bounds(*at, &ty);
                bounds.is_some_and(|it| !may_be(*comparison, &it, bound))
            };
            let all = (0..pages.rows.len()).filter(is_refuted);
            refuted.extend(all.map(|at| pages.rows[at].clone()));
        }
    }
    (!refuted.is_empty()).then(|| left(rows, &refuted, &kept))
}

/// The rows that are not among the refuted, or among those that are kept.
fn left(rows: u64, refuted: &[Range<u64>], kept: &[Range<u64>]) -> Vec<Range<u64>> {
    // Where what begins or ends: how many there are of either.
    let mut changes = vec![(0, 0, 0), (rows, 0, 0)];
    changes.extend(refuted.iter().flat_map(|it| [(it.start, 1, 0), (it.end, -1, 0)]));
    changes.extend(kept.iter().flat_map(|it| [(it.start, 0, 1), (it.end, 0, -1)]));
    changes.sort_unstable();
    let (mut left, mut now): (Vec<Range<u64>>, (i64, i64)) = (Vec::new(), (0, 0));
    for (at, next) in changes.iter().zip(&changes[1..]) {
        now = (now.0 + at.1, now.1 + at.2);
        let is_left = now.0 == 0 || now.1 > 0;
        match left.last_mut() {
            _ if !is_left || at.0 == next.0 => {}
            Some(last) if last.end == at.0 => last.end = next.0,
            _ => left.push(at.0..next.0),
        }
    }
    left
}

impl Pages {
    /// Those of a column; none where nothing is said of them.
    fn of(file: &Inner, column: &ColumnChunkMetaData, rows: u64) -> Option<Self> {
        let bytes = |offset: Option<i64>, len: Option<i32>| {
            let (at, len) = (u64::try_from(offset?).ok()?, u64::try_from(len?).ok()?);
            let fits = len <= INDEX_MAX && at.checked_add(len)? <= file.len;
            if !fits {
                return None;
            }
            let mut bytes = vec![0; len as usize];
            // Indices do not count as what is read of records.
            file.object.read_exact_at(&mut bytes, at).ok()?;
            Some(bytes)
        };
        let index = bytes(column.column_index_offset(), column.column_index_length())?;
        let offsets = bytes(column.offset_index_offset(), column.offset_index_length())?;
        let ty = column.column_type();
        let index = guarded(|| decode_column_index(&index, ty)).ok()?;
        let offsets = guarded(|| decode_offset_index(&offsets)).ok()?;
        let starts = offsets.page_locations().iter().map(|it| u64::try_from(it.first_row_index));
        let mut ends: Vec<u64> = starts.collect::<Result<_, _>>().ok()?;
        ends.push(rows);
        let is_right =
            ends[0] == 0 && ends.is_sorted() && index.num_pages() == ends.len() as u64 - 1;
        let rows = ends.windows(2).map(|it| it[0]..it[1]).collect();
        is_right.then_some(Self { index, rows })
    }

    /// Bounds of the values of a page, which are perhaps none of them.
    fn bounds(&self, at: usize, ty: &DataType) -> Option<[Bound; 2]> {
        macro_rules! both {
            ($of:expr, $value:expr) => {
                Some([$value($of.min_value(at)?), $value($of.max_value(at)?)])
            };
        }
        use ColumnIndexMetaData::{BYTE_ARRAY, DOUBLE, FLOAT, INT32, INT64};
        match (&self.index, ty) {
            (INT32(it), DataType::Int8 | DataType::Int16 | DataType::Int32) => {
                both!(it, |it: &i32| Bound::Int(i128::from(*it)))
            }
            (INT32(it), DataType::UInt8 | DataType::UInt16 | DataType::UInt32) => {
                both!(it, |it: &i32| Bound::Int(i128::from(it.cast_unsigned())))
            }
            (INT64(it), DataType::Int64) => both!(it, |it: &i64| Bound::Int(i128::from(*it))),
            (INT64(it), DataType::UInt64) => {
                both!(it, |it: &i64| Bound::Int(i128::from(it.cast_unsigned())))
            }
            (FLOAT(it), DataType::Float32) => both!(it, |it: &f32| Bound::Float(f64::from(*it))),
            (DOUBLE(it), DataType::Float64) => both!(it, |it: &f64| Bound::Float(*it)),
            (BYTE_ARRAY(it), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
                both!(it, |it: &[u8]| Bound::Text(it.to_vec()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_left_that_are_not_refuted_or_are_kept() {
        let all = |refuted: &[Range<u64>], kept: &[Range<u64>]| left(10, refuted, kept);
        assert_eq!(all(&[2..4, 4..4], &[]), [0..2, 4..10]);
        assert!(all(&[0..4, 3..10], &[]).is_empty());
        assert_eq!(all(&[0..4, 3..10], &[2..5, 9..10]), [2..5, 9..10]);
        assert_eq!(all(&[4..4, 0..3], &[0..1, 1..1]), [0..1, 3..10]);
    }
}
