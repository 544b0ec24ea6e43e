//! Boxes as kernels read them, and how much of each other they cover.

use crate::functions::tensor::packed;
use crate::prelude::*;

/// `x0, y0, x1, y1`.
pub(super) type Corners = [f32; 4];

/// Calls `work` with the boxes that a tensor holds.
///
/// # Errors
/// `extents`: it has no rows of four; what the compiler could not know.
pub(super) fn boxes<R>(
    x: &Tensor<'_>,
    work: impl FnOnce(&[Corners]) -> Result<R, Fault>,
) -> Result<R, Fault> {
    if x.shape().get(1) != Some(&4) {
        let shape = Shape::new(x.shape());
        return Err(Fault::new(
            "extents",
            format!("expected boxes as `f32[n, 4]`, found {shape:?}"),
        ));
    }
    packed::<f32, _>(x, |all| work(all.as_chunks().0))
}

/// The intersection over union of boxes, as torchvision's `box_iou` computes it, in `f32`: that of two without an area
/// is NaN.
pub(super) fn overlap(a: &Corners, b: &Corners) -> f32 {
    let side = |axis: usize| (a[axis + 2].min(b[axis + 2]) - a[axis].max(b[axis])).max(0.0);
    let shared = side(0) * side(1);
    shared / (area(a) + area(b) - shared)
}

/// Width times height.
pub(super) fn area(it: &Corners) -> f32 {
    (it[2] - it[0]) * (it[3] - it[1])
}

/// Whether the centre of a box lies within `x0, y0, x1, y1`, and not on the border.
pub(super) fn has_centre_in(it: &Corners, within: Corners) -> bool {
    let is_in = |axis: usize| {
        let centre = 0.5 * (it[axis] + it[axis + 2]);
        within[axis] < centre && centre < within[axis + 2]
    };
    is_in(0) && is_in(1)
}

/// Corners of a part of an image, from row, column, height and width.
pub(super) fn of_part([y, x, height, width]: [i64; 4]) -> Corners {
    [x, y, x.saturating_add(width), y.saturating_add(height)].map(|it| it as f32)
}

/// Height and width of an image of this shape; 0 where there is no such axis.
pub(super) fn sides(shape: &Tensor<'_>) -> [i64; 2] {
    let axes = shape.shape().first().copied().unwrap_or(0);
    [0, 1].map(|axis| if axis < axes { shape.element(axis).int().max(0) } else { 0 })
}
