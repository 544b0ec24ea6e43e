//! `random_box`: the part of a picture that another one takes.

use crate::prelude::*;
use runtime::Philox;

function! {
    /// Draws a random box: row, column, height and width.
    ///
    /// It leaves about the fraction `keep` of an image uncovered. Rows and columns are the last two axes of
    /// `shape`, as in batches for PyTorch. The box has the aspect ratio of the image, its centre is anywhere in
    /// the image, and it is clipped at the border, so it may cover less than requested: `box_area` returns how
    /// much. This is torchvision's `CutMix` (Yun et al., ICCV 2019).
    ///
    /// ```pipe
    /// range(2) |> map { box: random_box([3, 40, 60], 0.25) }    # { box: i64[4] }
    /// ```
    "random_box(shape: i64[n], keep: float) random -> i64[4]",
    cost: Cost::call(40.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let (shape, keep) = (args.tensor(0), args.float(1));
        let [rows, columns] = sides(&shape);
        let half = 0.5 * (1.0 - keep).clamp(0.0, 1.0).sqrt();
        let (y, height) = stretch(rows, half, random);
        let (x, width) = stretch(columns, half, random);
        out.tensor::<i64>(&[4])?.copy_from_slice(&[y, x, height, width]);
        Ok(())
    }))
}

/// The last two extents of a shape; 1 where there is none.
fn sides(shape: &Tensor<'_>) -> [i64; 2] {
    let rank = shape.shape()[0];
    [2, 1].map(|it| if it <= rank { shape.element(rank - it).int().max(1) } else { 1 })
}

/// From where, and how far, a box reaches on an axis, `half` of the axis to both sides.
fn stretch(side: i64, half: f64, random: &mut Philox) -> (i64, i64) {
    let (middle, half) = (random.below(side as u64) as i64, (half * side as f64) as i64);
    let (start, end) = ((middle - half).max(0), (middle + half).min(side));
    (start, end - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_lie_within_the_picture() {
        for id in 0..500 {
            let mut random = Philox::new(3, id, 0);
            let (start, len) = stretch(40, 0.25, &mut random);
            assert!(start >= 0 && start + len <= 40 && (10..=20).contains(&len), "{start} {len}");
        }
    }
}
