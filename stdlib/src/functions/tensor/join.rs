//! Tensors laid side by side along an axis: what `stack` and `concat` share.

use super::shapes::same;
use crate::prelude::*;
use std::cell::Cell;

/// The dtype and the extents of each value of argument `i`.
pub(super) fn types(applied: &Applied<'_>, i: usize) -> Result<Vec<(DType, Vec<Extent>)>, String> {
    let Arg::Exprs(ids) = &applied.args[i] else {
        return Err("expected a list of values".into());
    };
    let each = |ty: &Type| match ty {
        Type::Tensor { dtype, .. } if dtype.is_text() => {
            Err(format!("this is `{dtype}`: strings are joined with `+`"))
        }
        Type::Tensor { dtype, shape } => Ok((*dtype, shape.clone())),
        other => Err(format!("expected a tensor, found `{other}`")),
    };
    ids.iter().map(|&it| each(applied.graph.ty(it))).collect()
}

/// The dtype of all, and the extents that all have; those of `but` may differ.
pub(super) fn common(
    types: &[(DType, Vec<Extent>)],
    but: Option<usize>,
) -> Result<(DType, Vec<Extent>), String> {
    let [(dtype, first), rest @ ..] = types else {
        return Err("an empty list has no type: it needs at least one value".into());
    };
    let mut shape = first.clone();
    for (other, extents) in rest {
        if other != dtype {
            return Err(format!("one value is `{dtype}`, another is `{other}`: cast one of them"));
        }
        let differ = || {
            let (a, b) = (plan::Commas(first), plan::Commas(extents));
            format!("one value has the extents [{a}], another [{b}]")
        };
        if extents.len() != shape.len() {
            return Err(differ());
        }
        for (axis, (extent, next)) in shape.iter_mut().zip(extents).enumerate() {
            if Some(axis) != but {
                *extent = same(extent, next).ok_or_else(differ)?;
            }
        }
    }
    Ok((*dtype, shape))
}

/// That the values of one record fit each other, but for axis `but`.
pub(super) fn fit(values: &[Tensor<'_>], but: Option<usize>) -> Result<(), Fault> {
    let Some((first, rest)) = values.split_first() else { return Ok(()) };
    let alike = |other: &Tensor<'_>| {
        let mut pairs = first.shape().iter().zip(other.shape()).enumerate();
        pairs.all(|(axis, (a, b))| Some(axis) == but || a == b)
    };
    match rest.iter().find(|it| !alike(it)) {
        None => Ok(()),
        Some(other) => {
            let detail = format!("{first:?} and {other:?} are incompatible");
            Err(Fault::new("extents", detail))
        }
    }
}

/// Writes the values side by side: of each, the elements from `axis` on are one piece of a row.
pub(super) fn lay(values: &[Tensor<'_>], axis: usize, room: &mut [u8]) {
    let piece = |it: &Tensor<'_>| it.dtype().size() * it.shape()[axis..].iter().product::<usize>();
    let row: usize = values.iter().map(piece).sum();
    let mut start = 0;
    for value in values {
        let width = piece(value);
        // A value without elements may lack rows rather than columns: there is no room then.
        if value.bytes() > 0 {
            packed_bytes(value, |bytes| place(bytes, &mut room[start..], (width, row)));
        }
        start += width;
    }
}

/// Copies pieces of `width` bytes to where each row of `row` bytes begins.
fn place(from: &[u8], room: &mut [u8], (width, row): (usize, usize)) {
    match width {
        1 => place_wide::<1>(from, room, row),
        2 => place_wide::<2>(from, room, row),
        4 => place_wide::<4>(from, room, row),
        8 => place_wide::<8>(from, room, row),
        _ => {
            for (piece, to) in from.chunks_exact(width).zip(room.chunks_mut(row)) {
                to[..width].copy_from_slice(piece);
            }
        }
    }
}

fn place_wide<const WIDTH: usize>(from: &[u8], room: &mut [u8], row: usize) {
    let (pieces, _) = from.as_chunks::<WIDTH>();
    for (piece, to) in pieces.iter().zip(room.chunks_mut(row)) {
        to[..WIDTH].copy_from_slice(piece);
    }
}

/// The bytes of the elements in C order: where they lie, or as a copy of this thread's.
fn packed_bytes(x: &Tensor<'_>, work: impl FnOnce(&[u8])) {
    thread_local! {
        static COPY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    /// Bytes that a thread keeps for the next record.
    const KEPT_BYTES_MAX: usize = 16 << 20;

    if let Some(bytes) = x.as_bytes() {
        return work(bytes);
    }
    let mut copy = COPY.take();
    copy.resize(x.bytes(), 0);
    x.copy_to(&mut copy);
    work(&copy);
    if copy.capacity() <= KEPT_BYTES_MAX {
        COPY.set(copy);
    }
}
