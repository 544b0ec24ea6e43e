//! Values within values, as JSON: lists of texts and of records, and maps.

use arrow_array::{
    Array, ArrayRef,
    cast::AsArray,
    types::{
        Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, Fields};
use std::io::Write;

/// Whether values of a type can be written: bytes cannot.
pub(super) fn can_be(ty: &DataType) -> bool {
    match ty {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => can_be(item.data_type()),
        DataType::Struct(fields) => fields.iter().all(|it| can_be(it.data_type())),
        DataType::Dictionary(_, value) => can_be(value),
        DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => true,
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => true,
        DataType::Timestamp(..) | DataType::Duration(_) => true,
        other => other.is_integer(),
    }
}

/// Appends one value.
///
/// # Errors
/// It holds a number that JSON does not have.
pub(super) fn write(array: &dyn Array, row: usize, to: &mut Vec<u8>) -> Result<(), String> {
    macro_rules! whole {
        ($ty:ty) => {{
            let _ = write!(to, "{}", array.as_primitive::<$ty>().value(row));
            Ok(())
        }};
    }
    macro_rules! float {
        ($ty:ty) => {{
            let value = array.as_primitive::<$ty>().value(row);
            if !value.is_finite() {
                return Err(format!("a list or record contains {value}, which JSON cannot say"));
            }
            let _ = write!(to, "{value}");
            Ok(())
        }};
    }
    if array.is_null(row) {
        to.extend(b"null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Boolean => {
            let _ = write!(to, "{}", array.as_boolean().value(row));
            Ok(())
        }
        DataType::Utf8 => text(array.as_string::<i32>().value(row), to),
        DataType::LargeUtf8 => text(array.as_string::<i64>().value(row), to),
        DataType::Utf8View => text(array.as_string_view().value(row), to),
        DataType::Int8 => whole!(Int8Type),
        DataType::Int16 => whole!(Int16Type),
        DataType::UInt8 => whole!(UInt8Type),
        DataType::UInt16 => whole!(UInt16Type),
        DataType::UInt32 => whole!(UInt32Type),
        DataType::UInt64 => whole!(UInt64Type),
        DataType::Float16 => float!(Float16Type),
        DataType::Float32 => float!(Float32Type),
        DataType::Float64 => float!(Float64Type),
        DataType::Int32 => whole!(Int32Type),
        DataType::Int64 => whole!(Int64Type),
        DataType::List(_) => list(&array.as_list::<i32>().value(row), to),
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(row), to),
        DataType::FixedSizeList(..) => list(&array.as_fixed_size_list().value(row), to),
        DataType::Struct(fields) => record(fields, array.as_struct().columns(), row, to),
        DataType::Map(..) => map(array, row, to),
        DataType::Dictionary(..) => {
            let keys = array.as_any_dictionary();
            write(&**keys.values(), keys.normalized_keys()[row], to)
        }
        _ => write(&*as_integers(array)?, row, to),
    }
}

/// The values of columns in a row, each under its name.
fn record(
    fields: &Fields,
    columns: &[ArrayRef],
    row: usize,
    to: &mut Vec<u8>,
) -> Result<(), String> {
    let mut separator = b'{';
    for (field, column) in fields.iter().zip(columns) {
        to.push(separator);
        text(field.name(), to)?;
        to.push(b':');
        write(&**column, row, to)?;
        separator = b',';
    }
    to.extend(if columns.is_empty() { &b"{}"[..] } else { b"}" });
    Ok(())
}

/// Dates and times as the integers of their unit.
fn as_integers(array: &dyn Array) -> Result<ArrayRef, String> {
    let data = array.to_data().into_builder().data_type(integer(array.data_type()));
    Ok(arrow_array::make_array(data.build().map_err(|it| it.to_string())?))
}

/// What dates and times are held as.
fn integer(ty: &DataType) -> DataType {
    if ty.primitive_width() == Some(4) { DataType::Int32 } else { DataType::Int64 }
}

fn text(value: &str, to: &mut Vec<u8>) -> Result<(), String> {
    serde_json::to_writer(to, value).map_err(|it| it.to_string())
}

fn list(items: &ArrayRef, to: &mut Vec<u8>) -> Result<(), String> {
    to.push(b'[');
    for row in 0..items.len() {
        if row > 0 {
            to.push(b',');
        }
        write(&**items, row, to)?;
    }
    to.push(b']');
    Ok(())
}

/// An object where the keys are texts, else a list of pairs.
fn map(array: &dyn Array, row: usize, to: &mut Vec<u8>) -> Result<(), String> {
    let entries = array.as_map().value(row);
    let (keys, values) = (entries.column(0), entries.column(1));
    let is_text =
        matches!(keys.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let [open, between, close] = if is_text { ["{", ":", "}"] } else { ["[", ",", "]"] };
    to.extend(open.as_bytes());
    for row in 0..entries.len() {
        if row > 0 {
            to.push(b',');
        }
        to.extend(if is_text { "" } else { "[" }.as_bytes());
        write(&**keys, row, to)?;
        to.extend(between.as_bytes());
        write(&**values, row, to)?;
        to.extend(if is_text { "" } else { "]" }.as_bytes());
    }
    to.extend(close.as_bytes());
    Ok(())
}
