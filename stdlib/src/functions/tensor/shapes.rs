//! What the types of results share: dtypes, extents, axes counted from either end.

use crate::prelude::*;

/// The dtype and the extents of argument `i`; what else it may be is refused.
pub(crate) fn tensor_of(applied: &Applied<'_>, i: usize) -> Result<(DType, Vec<Extent>), String> {
    match applied.ty(i) {
        Some(Type::Tensor { dtype, shape }) => Ok((dtype, shape)),
        Some(Type::Untyped(_)) => Err("this is untyped: give it a type with `as`".into()),
        Some(Type::Record(_)) => Err("expected a tensor, found a record".into()),
        None => Err("expected a tensor, found something that is not a value of the record".into()),
    }
}

/// The same, of numbers only.
pub(super) fn numbers_of(applied: &Applied<'_>, i: usize) -> Result<(DType, Vec<Extent>), String> {
    let (dtype, shape) = tensor_of(applied, i)?;
    if dtype.is_text() {
        return Err(format!("expected numbers, found `{dtype}`"));
    }
    Ok((dtype, shape))
}

/// The same, of whole numbers only.
pub(super) fn integers_of(applied: &Applied<'_>, i: usize) -> Result<(DType, Vec<Extent>), String> {
    let (dtype, shape) = tensor_of(applied, i)?;
    if !dtype.is_int() {
        return Err(format!("expected integers, found `{dtype}`"));
    }
    Ok((dtype, shape))
}

/// The axis that argument `i` names, of `rank`; below 0 it counts from the last.
pub(super) fn axis_of(applied: &Applied<'_>, i: usize, rank: usize) -> Result<usize, String> {
    let Some(axis) = applied.int(i) else {
        return Err("the axis must be known at compile time: write a number".into());
    };
    if rank == 0 {
        return Err("a single number has no axes".into());
    }
    let found = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(found).ok().filter(|it| *it < rank).ok_or_else(|| {
        format!(
            "axis {axis} is out of range: axes go from 0 to {}, or from -{rank} to -1",
            rank - 1
        )
    })
}

/// The axis `axis` of `rank`, which the type of the result was checked with.
pub(super) fn axis_at(axis: i64, rank: usize) -> usize {
    let found = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(found).expect("the axis was checked with the type")
}

/// The extents without `axis`; without any, where none is given.
pub(super) fn without<T: Clone>(extents: &[T], axis: Option<usize>) -> Vec<T> {
    let kept = |it: &(usize, &T)| axis.is_some_and(|axis| it.0 != axis);
    extents.iter().enumerate().filter(kept).map(|(_, it)| it.clone()).collect()
}

/// A number of the program as an extent.
pub(super) fn extent(applied: &Applied<'_>, i: usize) -> Result<Extent, String> {
    match applied.int(i) {
        Some(n) => known(n),
        None => Ok(Extent::Unknown),
    }
}

/// A whole number as an extent.
pub(crate) fn known(n: i64) -> Result<Extent, String> {
    u64::try_from(n)
        .map(Extent::Known)
        .map_err(|_| format!("an extent must be at least 0, found {n}"))
}

/// The extent of two axes that must be alike; `None` where they never are.
pub(super) fn same(a: &Extent, b: &Extent) -> Option<Extent> {
    match (a, b) {
        (Extent::Known(x), Extent::Known(y)) if x != y => None,
        (Extent::Known(_), _) => Some(a.clone()),
        (_, Extent::Known(_)) => Some(b.clone()),
        (Extent::Named(_), _) => Some(a.clone()),
        _ => Some(b.clone()),
    }
}

/// The whole numbers of a list that the compiler knows, or the one number.
pub(super) fn whole_numbers(arg: &Arg) -> Result<Vec<i64>, String> {
    match arg {
        Arg::Int(it) => Ok(vec![*it]),
        Arg::Float(it) if it.fract() == 0.0 && it.abs() < 9e15 => Ok(vec![*it as i64]),
        Arg::List(all) => {
            let each: Result<Vec<_>, _> = all.iter().map(whole_numbers).collect();
            Ok(each?.into_iter().flatten().collect())
        }
        _ => Err("expected integers that are known at compile time".into()),
    }
}

/// Refuses more axes than a tensor can have.
pub(crate) fn ranked(dtype: DType, shape: Vec<Extent>) -> Result<Type, String> {
    if shape.len() > runtime::MAX_RANK {
        return Err(format!("a tensor has at most {} axes", runtime::MAX_RANK));
    }
    Ok(Type::Tensor { dtype, shape })
}
