//! Scalars, whatever number they are: columns of them, and values that arguments give.

use super::arguments::{int, number};
use plan::{Arg, DType, Field};
use runtime::{Column, Element};

/// The numbers of a column of scalars, as floats: exact below 2⁵³.
pub(super) fn floats(column: &Column, into: &mut Vec<f64>) {
    let out = &mut *into;
    match column.dtype() {
        DType::F64 => take(column, out, |it: f64| it),
        DType::F32 => take(column, out, |it: f32| f64::from(it)),
        DType::U64 => take(column, out, |it: u64| it as f64),
        DType::I64 => take(column, out, |it: i64| it as f64),
        DType::I32 => take(column, out, |it: i32| f64::from(it)),
        _ => out.extend((0..column.rows()).map(|it| column.row(it).number())),
    }
}

/// The whole numbers of a column of scalars; `u64` by its bits, `bool` as 0 and 1.
pub(super) fn ints(column: &Column, into: &mut Vec<i64>) {
    let out = &mut *into;
    match column.dtype() {
        DType::I64 => take(column, out, |it: i64| it),
        DType::I32 => take(column, out, |it: i32| i64::from(it)),
        DType::U64 => take(column, out, |it: u64| it as i64),
        DType::Bool => take(column, out, |it: bool| i64::from(it)),
        _ => out.extend((0..column.rows()).map(|it| column.row(it).int())),
    }
}

fn take<T: Element, R>(column: &Column, into: &mut Vec<R>, of: impl Fn(T) -> R) {
    let all = column.as_slice::<T>().expect("the checker admits scalars");
    into.extend(all.iter().map(|it| of(*it)));
}

/// The bytes of `value` as an element of the field, which a parameter of an operator says.
pub(super) fn element(
    value: &Arg,
    field: &Field,
    (parameter, operator): (&str, &str),
) -> Result<Vec<u8>, String> {
    let dtype = field.ty.dtype().expect("it is a tensor");
    let wrong = || {
        let Field { name, .. } = field;
        let must = format!("`{parameter}` of `{name}` must be a number of its type, `{dtype}`");
        match number(value) {
            Some(it) if it < 0.0 && dtype.is_int() && !dtype.is_signed() => {
                format!("{must}, which is unsigned: write `i64({name})` before `{operator}`")
            }
            _ => must,
        }
    };
    match (value, dtype) {
        (Arg::Bool(it), DType::Bool) => Ok(vec![u8::from(*it)]),
        (_, DType::Bool) => match int(value) {
            Some(it @ 0..=1) => Ok(vec![it as u8]),
            _ => Err(wrong()),
        },
        _ if dtype.is_float() => number(value).map(|it| float_bytes(it, dtype)).ok_or_else(wrong),
        _ => int(value).and_then(|it| int_bytes(it, dtype)).ok_or_else(wrong),
    }
}

fn float_bytes(it: f64, dtype: DType) -> Vec<u8> {
    match dtype {
        DType::F16 => half::f16::from_f64(it).to_ne_bytes().to_vec(),
        DType::BF16 => half::bf16::from_f64(it).to_ne_bytes().to_vec(),
        DType::F32 => (it as f32).to_ne_bytes().to_vec(),
        _ => it.to_ne_bytes().to_vec(),
    }
}

fn int_bytes(it: i64, dtype: DType) -> Option<Vec<u8>> {
    let bytes = match dtype {
        DType::U8 => u8::try_from(it).ok()?.to_ne_bytes().to_vec(),
        DType::U16 => u16::try_from(it).ok()?.to_ne_bytes().to_vec(),
        DType::U32 => u32::try_from(it).ok()?.to_ne_bytes().to_vec(),
        DType::U64 => u64::try_from(it).ok()?.to_ne_bytes().to_vec(),
        DType::I8 => i8::try_from(it).ok()?.to_ne_bytes().to_vec(),
        DType::I16 => i16::try_from(it).ok()?.to_ne_bytes().to_vec(),
        DType::I32 => i32::try_from(it).ok()?.to_ne_bytes().to_vec(),
        _ => it.to_ne_bytes().to_vec(),
    };
    Some(bytes)
}
