//! What the results of picture functions share: the picture's type, and sides that are checked.

use super::SIDE_MAX;
use crate::prelude::*;

/// The dtype and the three axes of the picture that a function is called on.
pub(super) fn picture(call: &Applied<'_>) -> Result<(DType, [Extent; 3]), String> {
    let wrong = |found: String| format!("expected an image with three axes, found {found}");
    let image = call.ty(0).ok_or_else(|| wrong("a value that is not a tensor".into()))?;
    let axes = image.shape().and_then(|it| <[Extent; 3]>::try_from(it.to_vec()).ok());
    image.dtype().zip(axes).ok_or_else(|| wrong(format!("`{image}`")))
}

/// The extent that argument `i` is, where the compiler knows it.
pub(super) fn side(call: &Applied<'_>, i: usize) -> Result<Extent, String> {
    match call.int(i) {
        None => Ok(Extent::Unknown),
        Some(it) if (1..=SIDE_MAX as i64).contains(&it) => Ok(Extent::Known(it as u64)),
        Some(it) => Err(format!("expected a side from 1 to {SIDE_MAX} pixels, found {it}")),
    }
}

/// The side of a neighbourhood, which has a middle: odd, and at most `most`. `name` is what it is called.
pub(super) fn odd(name: &str, size: i64, most: i64) -> Result<usize, Fault> {
    if size % 2 == 1 && (1..=most).contains(&size) {
        return Ok(size as usize);
    }
    Err(Fault::new("size", format!("{name} must be odd and from 1 to {most}, found {size}")))
}
