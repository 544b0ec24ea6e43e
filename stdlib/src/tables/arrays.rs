//! Columns of Arrow, from bytes that hold their values.

use super::{Damage, damaged, owned};
use arrow_array::{ArrayRef, BooleanArray, FixedSizeListArray, PrimitiveArray, types};
use arrow_buffer::{Buffer, MutableBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, Metadata};
use plan::DType;
use runtime::{Counted, MAX_RANK};
use std::{ops::Range, sync::Arc};

/// Bytes of a part of a file that says none itself, about.
const PART: u64 = 8 << 20;
/// Parts of a file, at the most.
const PARTS_MAX: u64 = 1 << 16;

/// A column of tensors of these extents; else what they are that it cannot be.
pub(super) fn tensors(name: &str, dtype: DType, extents: &[u64]) -> Result<FieldRef, String> {
    let n = extents.iter().try_fold(1_u64, |all, it| all.checked_mul(*it));
    let n = n.and_then(|it| i32::try_from(it).ok()).ok_or("too many numbers in a row")?;
    if extents.len() > MAX_RANK {
        return Err(format!("numbers along more than {MAX_RANK} axes"));
    }
    let ty = match extents {
        [] => type_of(dtype),
        _ => DataType::FixedSizeList(item(dtype), n),
    };
    let mut metadata = Vec::new();
    if dtype == DType::BF16 {
        metadata.push(("pipec:dtype", "bf16".to_owned()));
    }
    if extents.len() > 1 {
        metadata.push(("ARROW:extension:name", "arrow.fixed_shape_tensor".to_owned()));
        let shape = serde_json::json!({ "shape": extents }).to_string();
        metadata.push(("ARROW:extension:metadata", shape));
    }
    Ok(Arc::new(Field::new(name, ty, false).with_metadata(said(&metadata))))
}

pub(super) fn said(all: &[(&str, String)]) -> Metadata {
    all.iter().map(|(name, it)| ((*name).to_owned(), it.clone())).collect()
}

/// The values of such a column in `n` rows, from their bytes as the processor has them.
pub(super) fn tensors_of(
    field: &Field,
    dtype: DType,
    bytes: Counted<u8>,
    n: usize,
) -> Result<ArrayRef, Damage> {
    let all = elements(dtype, Buffer::from(owned(bytes)));
    match field.data_type() {
        DataType::FixedSizeList(of, each) => {
            FixedSizeListArray::try_new_with_length(of.clone(), *each, all, None, n)
                .map(|it| Arc::new(it) as ArrayRef)
                .map_err(|why| damaged(format!("column `{}`: {why}", field.name())))
        }
        _ => Ok(all),
    }
}

/// Turns numbers round, where the processor has them so.
pub(crate) fn to_native(dtype: DType, is_big_endian: bool, elements: &mut [u8]) {
    if is_big_endian != cfg!(target_endian = "big") && dtype.size() > 1 {
        elements.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
    }
}

/// How many rows each part has, which are whole chunks: all but the last one alike, and no more parts than there may be.
pub(super) fn parts(rows: u64, chunk: u64, row_bytes: u64) -> Vec<u64> {
    let size = part_rows(rows, chunk, row_bytes);
    (0..rows.div_ceil(size)).map(|it| size.min(rows - it * size)).collect()
}

/// Rows of a part: whole chunks, as many as make so many bytes, and no more parts than there may be.
fn part_rows(rows: u64, chunk: u64, row_bytes: u64) -> u64 {
    let by_bytes = (PART / row_bytes.max(1)).max(1);
    let n = by_bytes.max(rows.div_ceil(PARTS_MAX));
    let whole = if n < chunk { chunk } else { n / chunk * chunk };
    match rows.div_ceil(whole) > PARTS_MAX {
        true => whole + chunk,
        false => whole,
    }
    .min(rows.max(1))
}

/// The first rows of ranges, the last of which comes first; none at the end.
pub(super) fn first_rows(left: &[Range<u64>], mut most: u64) -> Option<Vec<Range<u64>>> {
    let mut rows = Vec::new();
    for it in left.iter().rev().filter(|it| !it.is_empty()) {
        let n = most.min(it.end - it.start);
        rows.push(it.start..it.start + n);
        most -= n;
        if most == 0 {
            break;
        }
    }
    (!rows.is_empty()).then_some(rows)
}

/// Takes these rows from ranges, the last of which comes first.
pub(super) fn drop_rows(left: &mut Vec<Range<u64>>, mut n: u64) {
    while let Some(it) = left.last_mut() {
        let of = n.min(it.end - it.start);
        it.start += of;
        n -= of;
        if !it.is_empty() {
            break;
        }
        left.pop();
    }
}

pub(super) fn type_of(dtype: DType) -> DataType {
    match dtype {
        DType::U8 => DataType::UInt8,
        DType::U16 | DType::BF16 => DataType::UInt16,
        DType::U32 => DataType::UInt32,
        DType::U64 => DataType::UInt64,
        DType::I8 => DataType::Int8,
        DType::I16 => DataType::Int16,
        DType::I32 => DataType::Int32,
        DType::I64 => DataType::Int64,
        DType::F16 => DataType::Float16,
        DType::F32 => DataType::Float32,
        DType::F64 => DataType::Float64,
        DType::Bool => DataType::Boolean,
        DType::Str | DType::Bytes => DataType::Binary,
    }
}

pub(super) fn item(dtype: DType) -> FieldRef {
    Arc::new(Field::new("item", type_of(dtype), false))
}

/// Where each value begins, in elements of that size, and where the last one ends.
pub(super) fn ends(
    cells: &[&[u8]],
    size: usize,
) -> Result<OffsetBuffer<i32>, arrow_schema::ArrowError> {
    let (mut ends, mut end) = (vec![0], 0_usize);
    for cell in cells {
        end += cell.len() / size;
        let end = i32::try_from(end);
        ends.push(end.map_err(|_| {
            arrow_schema::ArrowError::InvalidArgumentError("it is too long".to_owned())
        })?);
    }
    Ok(OffsetBuffer::new(ends.into()))
}

pub(super) fn joined(cells: &[&[u8]]) -> Buffer {
    let mut all = MutableBuffer::with_capacity(cells.iter().map(|it| it.len()).sum());
    cells.iter().for_each(|it| all.extend_from_slice(it));
    all.into()
}

pub(super) fn elements(dtype: DType, bytes: Buffer) -> ArrayRef {
    macro_rules! array {
        ($($dtype:ident: $arrow:ident),+) => {
            match dtype {
                $(DType::$dtype => {
                    Arc::new(PrimitiveArray::<types::$arrow>::new(ScalarBuffer::from(bytes), None))
                })+
                _ => Arc::new(BooleanArray::from_iter(bytes.iter().map(|it| Some(*it != 0)))),
            }
        };
    }
    array! {
        BF16: UInt16Type, U8: UInt8Type, U16: UInt16Type, U32: UInt32Type, U64: UInt64Type, I8: Int8Type, I16: Int16Type,
        I32: Int32Type, I64: Int64Type, F16: Float16Type, F32: Float32Type, F64: Float64Type
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_chunks_and_not_too_many() {
        assert_eq!(part_rows(1000, 10, 1 << 20), 10);
        assert_eq!(part_rows(1000, 3, 1 << 20), 6);
        assert_eq!(part_rows(1000, 10, 8), 1000);
        assert_eq!(part_rows(0, 10, 8), 1);
        for (rows, chunk, bytes) in
            [(1 << 40, 1, 1), (1 << 40, 1000, 1 << 30), (1 << 30, 7, 1 << 24)]
        {
            let size = part_rows(rows, chunk, bytes);
            assert!(size.is_multiple_of(chunk) && rows.div_ceil(size) <= PARTS_MAX, "{size}");
        }
    }

    #[test]
    fn rows_are_taken_from_the_front() {
        let ranges = |it: &[(u64, u64)]| it.iter().map(|it| it.0..it.1).collect::<Vec<_>>();
        let mut left = ranges(&[(7, 9), (1, 4)]);
        assert_eq!(first_rows(&left, 4), Some(ranges(&[(1, 4), (7, 8)])));
        drop_rows(&mut left, 4);
        assert_eq!(left, ranges(&[(8, 9)]));
        drop_rows(&mut left, 1);
        assert!(left.is_empty() && first_rows(&left, 4).is_none());
    }
}
