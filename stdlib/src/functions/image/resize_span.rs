//! `resize_span`: what a part of a resized picture is made of.

use super::{SIDE_MAX, resize, resize_crop};
use crate::prelude::*;

function! {
    /// Returns which part of an image a part of the resized image depends on.
    ///
    /// The result is row, column, rows and columns. The image of `h` x `w` pixels is resized to `height` x
    /// `width`, and the part of it that begins at row `y` and column `x` is needed, as in `resize_crop`. `crop`
    /// takes the part of the image, and `resize_within` computes the result from it. Fails as `resize_crop`
    /// does: `size`, `image-empty`, `crop-outside`.
    ///
    /// ```pipe
    /// range(2) |> map { span: resize_span(40, 60, 20, 30, 2, 4, rows: 10, columns: 12) }    # { span: i64[4] }
    /// ```
    "resize_span(h: int, w: int, height: int, width: int, y: int, x: int, rows: int, columns: int, method: nearest | bilinear | bicubic | area = bilinear, antialias: bool = true, like: pillow | opencv | tf = pillow) fails -> i64[4]",
    // Assumed: the tables, for two sides.
    cost: Cost::call(2_000.0),
}

/// Where the parameters begin that say how.
const HOW: usize = 8;

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let recipe = resize::recipe(call, HOW);
    Ok(Kernel::compute(move |args, out| {
        let to = [args.size(2, SIDE_MAX)?, args.size(3, SIDE_MAX)?];
        let from = [resize::extent(args, 0)?, resize::extent(args, 1)?];
        let part = resize_crop::part(args, 4, to)?;
        let [rows, columns] = recipe.span(from, to, &part);
        let span = [rows.start, columns.start, rows.len(), columns.len()];
        out.tensor::<i64>(&[4])?.copy_from_slice(&span.map(|it| it as i64));
        Ok(())
    }))
}
