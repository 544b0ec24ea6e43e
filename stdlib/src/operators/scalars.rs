//! Reads a column of scalars, whatever number they are.

use plan::DType;
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
