//! `rasterize`: outlines of things as masks.

mod outline;
mod polygon;

use self::{
    outline::{Outline, each_outline},
    polygon::Budget,
};
use crate::prelude::*;

function! {
    /// Draws the outlines of COCO's annotations as masks: 1 inside, 0 outside, one mask per outline.
    ///
    /// `outlines` is a list in JSON, as `coco` gives it: each outline is a list of polygons (`[x, y, x, y, …]` in pixels, at
    /// least three points, drawn as their union), a run-length encoding (`{"counts": …, "size": [height, width]}`, compressed
    /// or not), or `null` or `[]` for an empty mask. Masks have the height and width of `like`, an image before
    /// `channels_first`. They are bit-identical to those of `pycocotools`.
    ///
    /// Fails with `outline` if an outline is none of these, has other extents than the image, or would take too long.
    ///
    /// ```pipe
    /// range(2)
    ///     |> map { image: plasma(i, 4, 6), outlines: parse_json("[[[1, 1, 5, 1, 5, 3, 1, 3]]]") }
    ///     |> map { masks: rasterize(outlines, like: image) }    # { masks: u8[?, 4, 6] }
    /// ```
    "rasterize(outlines: untyped, like: any) fails -> any",
    // Assumed: a mask is cleared and filled, and text of a tenth of its bytes is read.
    cost: Cost { ns_byte_in: 1.0, ..Cost::out(500.0, 0.2) },
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    if applied.ty(0) != Some(Type::Untyped(Untyped::Json)) {
        return Err("`outlines` must be JSON, as `coco` gives it".to_owned());
    }
    let like = applied.ty(1);
    match like.as_ref().and_then(Type::shape) {
        Some([height, width] | [height, width, _]) => {
            let shape = vec![Extent::Unknown, height.clone(), width.clone()];
            Ok(Type::Tensor { dtype: DType::U8, shape })
        }
        _ => Err("`like` must be an image: height, width and channels".to_owned()),
    }
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (json, like) = (args.tensor(0).as_text(), args.tensor(1));
        let (rows, columns) = (like.shape()[0], like.shape()[1]);
        let mut n = 0;
        each_outline(json, |_| {
            n += 1;
            Ok(())
        })?;
        let room = out.tensor::<u8>(&[n, rows, columns])?;
        room.fill(0);
        let (mut masks, mut budget) =
            (room.chunks_exact_mut((rows * columns).max(1)), Budget::new());
        each_outline(json, |outline| {
            // Nothing is drawn on an image without pixels.
            let Some(mask) = masks.next() else { return Ok(()) };
            match outline {
                Outline::Nothing => Ok(()),
                Outline::Polygons(all) => {
                    let mut draw = |it: &[f64]| budget.draw(it, (rows, columns), mask);
                    all.iter().try_for_each(|it| draw(it))
                }
                Outline::Runs { counts, size } => {
                    if size != [rows, columns] {
                        let [height, width] = size;
                        return Err(Fault::new(
                            "outline",
                            format!(
                                "a run-length encoding of {height} x {width} pixels does not fit the image of {rows} x {columns}"
                            ),
                        ));
                    }
                    fill(&counts, rows, mask)
                }
            }
        })
    }))
}

/// Sets the runs of ones; runs alternate, from zeros on, and go down the columns.
fn fill(counts: &[u64], rows: usize, mask: &mut [u8]) -> Result<(), Fault> {
    let all = mask.len() as u64;
    let sum = counts.iter().try_fold(0_u64, |sum, it| sum.checked_add(*it));
    if sum != Some(all) {
        let found = sum.map_or("too many".to_owned(), |it| it.to_string());
        let detail = format!(
            "the runs of a run-length encoding have {found} pixels, but the image has {all}"
        );
        return Err(Fault::new("outline", detail));
    }
    let columns = mask.len() / rows.max(1);
    let mut at = 0;
    for (number, count) in counts.iter().enumerate() {
        let end = at + *count as usize;
        while number % 2 == 1 && at < end {
            let (column, row) = (at / rows, at % rows);
            let to = rows.min(row + end - at);
            mask[row * columns + column..]
                .iter_mut()
                .step_by(columns)
                .take(to - row)
                .for_each(|it| *it = 1);
            at += to - row;
        }
        at = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
