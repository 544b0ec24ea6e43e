//! How columns of Arrow become those of chunks.

use super::{
    super::{absent::Missing, columns::entry, csv::push_value},
    json,
};
use crate::{
    prelude::*,
    tables::{Damage, Values, parquet::int96, unlike},
};
use arrow_array::{
    Array, ArrayRef, RecordBatch, StructArray,
    cast::AsArray,
    types::{
        Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, TimestampNanosecondType,
    },
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, Fields, Schema};
use plan::{Extent, VALUE_BYTES_MAX};
use runtime::{Builder, MAX_RANK, Pool, Shape};
use std::{fmt, ops::Range, sync::Arc};

/// A column as it is found in files: a field within a structure is one of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// Its name and those of the structures that it lies in, outermost first.
    pub(super) path: Vec<String>,
    /// The same as one name.
    pub(super) name: String,
    /// The type of its values; else what it is that cannot be one.
    pub(super) ty: Result<Type, String>,
    /// Whether it is of timestamps of which some may not fit.
    pub(super) is_int96: bool,
}

/// The columns of files.
pub(super) fn columns(schema: &Schema) -> Vec<Found> {
    fn walk(fields: &Fields, above: &[String], all: &mut Vec<Found>) {
        for field in fields {
            let path = [above, &[field.name().clone()]].concat();
            match field.data_type() {
                DataType::Struct(fields) => walk(fields, &path, all),
                ty => {
                    let name = path.join(".");
                    let ty = tensor_of(field).or_else(|| type_of(ty)).ok_or_else(|| ty.to_string());
                    let is_int96 = field.metadata().contains_key(int96::MARK);
                    all.push(Found { path, name, ty, is_int96 });
                }
            }
        }
    }
    let mut all = Vec::new();
    walk(&schema.fields, &[], &mut all);
    all
}

/// The type of a column whose metadata say more than its type: the extents of tensors that have all the same
/// (<https://arrow.apache.org/docs/format/CanonicalExtensions.html#fixed-shape-tensor>), texts of JSON, and `bf16`, as
/// `run` writes it.
fn tensor_of(field: &arrow_schema::Field) -> Option<Type> {
    let said = |key: &str| field.metadata().get(key).map(String::as_str);
    let Type::Tensor { mut dtype, mut shape } = type_of(field.data_type())? else { return None };
    if said("ARROW:extension:name") == Some("arrow.json") && dtype == DType::Str {
        return Some(Type::Untyped(Untyped::Json));
    }
    if said("pipec:dtype") == Some("bf16") && dtype == DType::U16 {
        dtype = DType::BF16;
    }
    if said("ARROW:extension:name") == Some("arrow.fixed_shape_tensor") && shape.len() == 1 {
        let about: serde_json::Value =
            serde_json::from_str(said("ARROW:extension:metadata")?).ok()?;
        let extents = about["shape"].as_array()?.iter().map(serde_json::Value::as_u64);
        let extents = extents.collect::<Option<Vec<u64>>>()?;
        let n = extents.iter().try_fold(1_u64, |all, it| all.checked_mul(*it))?;
        // Axes that lie in another order are left as they are.
        if shape[0] == Extent::Known(n)
            && extents.len() <= MAX_RANK
            && about["permutation"].is_null()
        {
            shape = extents.into_iter().map(Extent::Known).collect();
        }
    }
    Some(Type::Tensor { dtype, shape })
}

/// The type of what a column holds; none where it can be no value.
fn type_of(ty: &DataType) -> Option<Type> {
    if let Some(dtype) = scalar(ty) {
        return Some(Type::scalar(dtype));
    }
    let list = |item: &DataType, extent: Extent| match type_of(item)? {
        Type::Tensor { dtype, shape }
            if !dtype.is_text() && !has_unknown(&shape) && shape.len() < MAX_RANK =>
        {
            let shape = std::iter::once(extent).chain(shape).collect();
            Some(Type::Tensor { dtype, shape })
        }
        _ => None,
    };
    let tensor = match ty {
        DataType::Dictionary(_, value) => return type_of(value),
        DataType::List(item) | DataType::LargeList(item) => list(item.data_type(), Extent::Unknown),
        DataType::FixedSizeList(item, n) => {
            list(item.data_type(), Extent::Known(u64::try_from(*n).ok()?))
        }
        _ => None,
    };
    tensor.or_else(|| json::can_be(ty).then_some(Type::Untyped(Untyped::Json)))
}

fn has_unknown(shape: &[Extent]) -> bool {
    shape.iter().any(|it| !matches!(it, Extent::Known(_)))
}

/// What one value of a column is: dates and times are integers of their unit, decimals are `f64`.
fn scalar(ty: &DataType) -> Option<DType> {
    Some(match ty {
        DataType::Boolean => DType::Bool,
        DataType::Int8 => DType::I8,
        DataType::Int16 => DType::I16,
        DataType::Int32 | DataType::Date32 | DataType::Time32(_) => DType::I32,
        DataType::Int64
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_) => DType::I64,
        DataType::UInt8 => DType::U8,
        DataType::UInt16 => DType::U16,
        DataType::UInt32 => DType::U32,
        DataType::UInt64 => DType::U64,
        DataType::Float16 => DType::F16,
        DataType::Float32 => DType::F32,
        DataType::Float64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => DType::F64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DType::Str,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => DType::Bytes,
        _ => return None,
    })
}

/// How one column of the chunks is filled.
pub(super) struct Fill {
    /// Its number among the fields of the source.
    pub(super) at: usize,
    pub(super) found: Found,
    missing: Option<Missing>,
    /// The bytes of the value that stands for missing ones.
    stands: Option<Vec<u8>>,
}

/// A value that cannot be given: its row, of those that were to be appended, and why.
pub(super) type Bad = (usize, String);

impl Fill {
    pub(super) fn new(at: usize, found: Found, missing: Option<Missing>) -> Result<Self, String> {
        let stands = match (&missing, &found.ty) {
            (Some(Missing::Value(value)), Ok(ty)) => Some(stands(value, ty).ok_or_else(|| {
                let name = &found.name;
                format!("`missing` must give a `{ty}` for `{name}`, or `skip`, or `fault`")
            })?),
            _ => None,
        };
        Ok(Self { at, found, missing, stands })
    }

    /// Whether a row without its value can end the run; of lists, no statistics tell.
    pub(super) fn ends_at_nulls(&self) -> bool {
        let is_one = self.found.ty.as_ref().is_ok_and(|it| it.shape() == Some(&[]));
        is_one && matches!(self.missing, None | Some(Missing::Fault))
    }

    /// Whether a row without its value is left out.
    pub(super) fn skips(&self) -> bool {
        matches!(self.missing, Some(Missing::Skip))
    }

    /// The column of a batch, and where it has no value.
    pub(super) fn of(&self, batch: &RecordBatch) -> Option<(ArrayRef, Option<NullBuffer>)> {
        let (root, rest) = self.found.path.split_first()?;
        let mut array = batch.column_by_name(root)?.clone();
        let mut nulls = array.logical_nulls();
        for name in rest {
            let within =
                array.as_any().downcast_ref::<StructArray>()?.column_by_name(name)?.clone();
            nulls = NullBuffer::union(nulls.as_ref(), within.logical_nulls().as_ref());
            array = within;
        }
        Some((array, nulls.filter(|it| it.null_count() > 0)))
    }

    /// Appends rows of the column; gives those whose value cannot be given, for which something stands.
    pub(super) fn append(
        &self,
        (array, nulls): (&ArrayRef, Option<&NullBuffer>),
        rows: Range<usize>,
        to: &mut Builder,
    ) -> Result<Vec<Bad>, String> {
        let is_null = |row: usize| nulls.is_some_and(|it| it.is_null(row));
        let name = &self.found.name;
        let mut bad = append(&**array, rows.clone(), (nulls, self.stands.as_deref()), to)?;
        if self.found.is_int96 {
            bad.extend(far(array, rows.clone()).map(|it| (it - rows.start, FAR.to_owned())));
        }
        for (_, why) in &mut bad {
            *why = format!("column `{name}`: {why}: skip such rows, `else skip`");
        }
        if nulls.is_some() && self.stands.is_none() {
            let missing = rows.clone().filter(|row| is_null(*row));
            bad.extend(missing.map(|row| (row - rows.start, self.absent())));
        }
        Ok(bad)
    }

    /// Appends the values of the column in so many rows; gives those that cannot be given, for which something stands.
    /// None where they are not of its type.
    pub(super) fn append_values(
        &self,
        values: &dyn Values,
        rows: usize,
        to: &mut Builder,
    ) -> Result<Vec<Bad>, Damage> {
        let (stands, nulls) = (self.stands.as_deref(), values.nulls());
        let missing = || nulls.iter().flat_map(|it| (0..rows).filter(|row| it.is_null(*row)));
        if values.is_text() != to.dtype().is_text() {
            return Err(unlike());
        }
        if values.is_text() {
            values.texts(&mut |text| to.push_text(text.unwrap_or(stands.unwrap_or_default())))?;
        } else {
            let room = to.fixed_rows(rows);
            values.fixed(room)?;
            if let Some(stands) = stands {
                let size = stands.len();
                missing().for_each(|row| room[row * size..][..size].copy_from_slice(stands));
            }
        }
        // A row that is left out for what it lacks is not asked.
        if stands.is_some() || self.skips() {
            return Ok(Vec::new());
        }
        Ok(missing().map(|row| (row, self.absent())).collect())
    }

    fn absent(&self) -> String {
        let name = &self.found.name;
        let value = match self.found.ty.as_ref().map(|it| (it.dtype(), it.shape())) {
            Ok((Some(DType::Bool), Some([]))) => Some("false"),
            Ok((Some(it), Some([]))) => Some(if it.is_text() { "\"\"" } else { "0" }),
            _ => None,
        };
        let value =
            value.map(|it| format!("give a value for it, {}, or ", entry("missing", name, it)));
        let skip = format!("skip such rows, {}", entry("missing", name, "skip"));
        format!("column `{name}` is null: {}{skip}", value.unwrap_or_default())
    }
}

/// Of a timestamp that does not fit.
const FAR: &str = "a timestamp is out of range: 64-bit nanoseconds cover 1677-09-21 to 2262-04-11";

/// The rows that have such a timestamp.
fn far(array: &ArrayRef, rows: Range<usize>) -> impl Iterator<Item = usize> {
    fn is_far(array: &dyn Array) -> bool {
        if let Some(fields) = array.as_struct_opt() {
            return fields.columns().iter().any(|it| is_far(it));
        }
        let within = |row: usize| items(array, row).is_some_and(|it| is_far(&it));
        match array.as_primitive_opt::<TimestampNanosecondType>() {
            Some(times) => times.iter().any(|it| it == Some(int96::FAR)),
            None => (0..array.len()).any(|row| array.is_valid(row) && within(row)),
        }
    }
    let array = array.clone();
    let rows = if is_far(&array) { rows } else { 0..0 };
    rows.filter(move |row| is_far(&array.slice(*row, 1)))
}

/// What a row of a list, or of a map, holds.
fn items(array: &dyn Array, row: usize) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::List(_) => Some(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => Some(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => Some(array.as_fixed_size_list().value(row)),
        DataType::Map(..) => Some(Arc::new(array.as_map().value(row))),
        _ => None,
    }
}

/// The bytes of the value that stands for missing ones.
fn stands(value: &Arg, ty: &Type) -> Option<Vec<u8>> {
    let Some([]) = ty.shape() else { return None };
    let mut to = Builder::new(ty, 1, &Pool::default());
    if !push_value(value, ty.dtype()?, &mut to) {
        return None;
    }
    let column = to.finish();
    let mut bytes = vec![0; column.bytes()];
    column.row(0).copy_to(&mut bytes);
    Some(bytes)
}

/// Where there is no value, and the bytes of what stands there.
type Nulls<'a> = (Option<&'a NullBuffer>, Option<&'a [u8]>);

/// Appends rows of one column; gives those of which a value cannot be given, apart from nulls.
fn append(
    array: &dyn Array,
    rows: Range<usize>,
    (nulls, stands): Nulls<'_>,
    to: &mut Builder,
) -> Result<Vec<Bad>, String> {
    macro_rules! texts {
        ($array:expr) => {{
            let array = $array;
            let mut bad = Vec::new();
            for row in rows.clone() {
                let value: &[u8] = match nulls.is_some_and(|it| it.is_null(row)) {
                    true => stands.unwrap_or_default(),
                    false => array.value(row).as_ref(),
                };
                if value.len() <= VALUE_BYTES_MAX {
                    to.push_text(value);
                } else {
                    to.push_text(b"");
                    bad.push((
                        row - rows.start,
                        format!("a value of {} bytes is too long", value.len()),
                    ));
                }
            }
            Ok(bad)
        }};
    }
    match array.data_type() {
        DataType::Utf8 => texts!(array.as_string::<i32>()),
        DataType::LargeUtf8 => texts!(array.as_string::<i64>()),
        DataType::Utf8View => texts!(array.as_string_view()),
        DataType::Binary => texts!(array.as_binary::<i32>()),
        DataType::LargeBinary => texts!(array.as_binary::<i64>()),
        DataType::BinaryView => texts!(array.as_binary_view()),
        DataType::FixedSizeBinary(_) => texts!(array.as_fixed_size_binary()),
        _ if to.dtype() == DType::Str => Ok(append_json(array, rows, nulls, to)),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let ends: Vec<_> = list.value_offsets().iter().map(|it| *it as usize).collect();
            append_lists((&ends, list.values()), rows, nulls, to)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let ends: Vec<_> = list.value_offsets().iter().map(|it| *it as usize).collect();
            append_lists((&ends, list.values()), rows, nulls, to)
        }
        _ => append_fixed(array, rows, (nulls, stands), to),
    }
}

/// Rows of one size: numbers, or lists of so many of them.
fn append_fixed(
    array: &dyn Array,
    rows: Range<usize>,
    (nulls, stands): Nulls<'_>,
    to: &mut Builder,
) -> Result<Vec<Bad>, String> {
    let (leaf, each) = leaf(array, rows.clone())?;
    let bytes = dense(&*leaf)?;
    let room = to.fixed_rows(rows.len());
    if bytes.len() != room.len() {
        return Err("its type is not that of the first file".to_owned());
    }
    room.copy_from_slice(&bytes);
    let size = room.len() / rows.len().max(1);
    for (row, room) in rows.clone().zip(room.chunks_exact_mut(size.max(1))) {
        if nulls.is_some_and(|it| it.is_null(row)) {
            match stands {
                Some(stands) => room.copy_from_slice(stands),
                None => room.fill(0),
            }
        }
    }
    let is_list = matches!(array.data_type(), DataType::FixedSizeList(..));
    let Some(within) = leaf.nulls().filter(|it| is_list && it.null_count() > 0) else {
        return Ok(Vec::new());
    };
    let has_null = |it: &usize| within.slice(it * each, each).null_count() > 0;
    let is_there = |it: &usize| nulls.is_none_or(|of| of.is_valid(rows.start + it));
    Ok((0..rows.len()).filter(|it| is_there(it) && has_null(it)).map(null_within).collect())
}

/// Lists that differ in length, whose elements lie end to end.
fn append_lists(
    (ends, items): (&[usize], &ArrayRef),
    rows: Range<usize>,
    nulls: Option<&NullBuffer>,
    to: &mut Builder,
) -> Result<Vec<Bad>, String> {
    let (first, last) = (ends[rows.start], ends[rows.end]);
    let (leaf, each) = leaf(&**items, first..last)?;
    let bytes = dense(&*leaf)?;
    let size = bytes.len() / leaf.len().max(1);
    let mut axes = vec![0];
    let mut below = items.data_type();
    while let DataType::FixedSizeList(item, n) = below {
        axes.push(*n as usize);
        below = item.data_type();
    }
    let mut bad = Vec::new();
    for row in rows.clone() {
        let is_null = nulls.is_some_and(|it| it.is_null(row));
        let range = if is_null { 0..0 } else { ends[row] - first..ends[row + 1] - first };
        axes[0] = range.len();
        let (start, len) = (range.start * each, range.len() * each);
        let room = to.room(Shape::new(&axes));
        let bytes =
            bytes.get(start * size..(start + len) * size).filter(|it| it.len() == room.len());
        room.copy_from_slice(bytes.ok_or("its type is not that of the first file")?);
        if leaf.nulls().is_some_and(|it| it.slice(start, len).null_count() > 0) {
            bad.push(null_within(row - rows.start));
        }
    }
    Ok(bad)
}

fn null_within(row: usize) -> Bad {
    (row, "a list contains null".to_owned())
}

/// The elements of rows, through lists of one length; also how many each row has. Where a list is null, they are.
fn leaf(array: &dyn Array, rows: Range<usize>) -> Result<(ArrayRef, usize), String> {
    let DataType::FixedSizeList(_, n) = array.data_type() else {
        return Ok((array.slice(rows.start, rows.len()), 1));
    };
    let (list, n) = (array.as_fixed_size_list(), *n as usize);
    let below = rows.start * n..rows.end * n;
    let (leaf, each) = leaf(&**list.values(), below)?;
    let Some(nulls) = list.nulls().filter(|it| it.null_count() > 0) else {
        return Ok((leaf, n * each));
    };
    let nulls = nulls.slice(rows.start, rows.len()).expand(n * each);
    let nulls = NullBuffer::union(leaf.nulls(), Some(&nulls));
    let data = leaf.to_data().into_builder().nulls(nulls);
    let leaf = data.build().map_err(|it| it.to_string())?;
    Ok((arrow_array::make_array(leaf), n * each))
}

/// The bytes of numbers, as the processor has them.
fn dense(array: &dyn Array) -> Result<Buffer, String> {
    macro_rules! decimals {
        ($ty:ty, $scale:expr) => {{
            let values = array.as_primitive::<$ty>().values();
            let bytes = values.iter().flat_map(|it| decimal(*it, *$scale).to_ne_bytes());
            Ok(Buffer::from_vec(bytes.collect::<Vec<u8>>()))
        }};
    }
    match array.data_type() {
        DataType::Boolean => {
            let bytes = array.as_boolean().values().iter().map(u8::from);
            Ok(Buffer::from_vec(bytes.collect::<Vec<u8>>()))
        }
        DataType::Decimal32(_, scale) => decimals!(Decimal32Type, scale),
        DataType::Decimal64(_, scale) => decimals!(Decimal64Type, scale),
        DataType::Decimal128(_, scale) => decimals!(Decimal128Type, scale),
        DataType::Decimal256(_, scale) => decimals!(Decimal256Type, scale),
        ty => {
            let size =
                ty.primitive_width().ok_or_else(|| format!("{ty} values are not numbers"))?;
            let data = array.to_data();
            let (start, len) = (data.offset() * size, data.len() * size);
            let bytes = data.buffers().first().map(|it| it.slice_with_length(start, len));
            bytes.ok_or_else(|| "its numbers are missing".to_owned())
        }
    }
}

/// The number that is nearest to one in decimals.
fn decimal(value: impl fmt::Display, scale: i8) -> f64 {
    // The standard library rounds once.
    format!("{value}e{}", -i32::from(scale)).parse().unwrap_or(f64::NAN)
}

fn append_json(
    array: &dyn Array,
    rows: Range<usize>,
    nulls: Option<&NullBuffer>,
    to: &mut Builder,
) -> Vec<Bad> {
    let (mut text, mut bad) = (Vec::new(), Vec::new());
    for row in rows.clone() {
        text.clear();
        if nulls.is_some_and(|it| it.is_null(row)) {
            text.extend(b"null");
        } else if let Err(why) = json::write(array, row, &mut text) {
            bad.push((row - rows.start, why));
            text.clear();
        }
        to.push_text(&text);
    }
    bad
}
