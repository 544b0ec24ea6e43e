//! `draw_affine`: how a training step rotates, scales, shears and shifts a picture.

use super::{affine_matrix::Change, short_size::side};
use crate::prelude::*;
use runtime::Philox;

function! {
    /// Draws a matrix for `warp` that rotates, scales, shears and shifts an image randomly.
    ///
    /// `shape` is that of the image; the result of `warp` has `height` x `width` pixels, or as many as the image, whose
    /// centre comes to the centre of the result before it is shifted; `height` alone is that of a square. Angles are
    /// in degrees and uniform in `degrees`, `shear_y` and `shear_x`, the scale is uniform in `scale`, and the shift is
    /// by up to the fraction `translate` of the result, up or down and to the left or right, rounded to pixels. This is
    /// torchvision's `RandomAffine`; with a result of another size than the image, it is what YOLO does with a mosaic.
    /// The steps are those of `affine_matrix`. `random_affine` uses it.
    ///
    /// ```pipe
    /// range(2) |> map { matrix: draw_affine([40, 60], degrees: -10..10, translate: 0.1, scale: 0.5..1.5) }    # { matrix: f64[2, 3] }
    /// ```
    "draw_affine(shape: i64[n], height: int = none, width: int = none, degrees: interval = 0.0..0.0, translate: float = 0.0, scale: interval = 1.0..1.0, shear_y: interval = 0.0..0.0, shear_x: interval = 0.0..0.0) random -> f64[2, 3]",
    // Assumed: six sines and cosines, and six draws.
    cost: Cost::call(200.0),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let given = [1, 2].map(|it| !call.absent(it));
    Ok(Kernel::draw(move |random, args, out| {
        let shape = args.tensor(0);
        let from = [0, 1].map(|it| side(&shape, it));
        let to = match given {
            [true, true] => [args.int(1), args.int(2)],
            [true, false] => [args.int(1); 2],
            [false, true] => [from[0], args.int(2)],
            [false, false] => from,
        };
        let ranges = Ranges {
            degrees: args.interval(3),
            translate: args.float(4),
            scale: args.interval(5),
            shear: [args.interval(6), args.interval(7)],
        };
        let [from, to] = [from, to].map(|it| it.map(|it| it as f64));
        out.tensor::<f64>(&[2, 3])?.copy_from_slice(&ranges.draw(to, random).matrix(from, to));
        Ok(())
    }))
}

/// What is drawn from.
struct Ranges {
    degrees: (f64, f64),
    translate: f64,
    scale: (f64, f64),
    shear: [(f64, f64); 2],
}

impl Ranges {
    /// Draws a change for a result of `to = [height, width]` pixels. As many numbers are drawn whatever the ranges are.
    fn draw(&self, to: [f64; 2], random: &mut Philox) -> Change {
        let mut uniform = |(low, high): (f64, f64)| random.uniform(low, high);
        let degrees = uniform(self.degrees);
        let shift = to.map(|it| {
            let most = self.translate * it;
            uniform((-most, most)).round_ties_even()
        });
        let scale = uniform(self.scale);
        let shear = self.shear.map(uniform);
        Change { degrees, shift, scale, shear }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_keep_their_ranges_and_fill_them() {
        let ranges = Ranges {
            degrees: (-10.0, 30.0),
            translate: 0.1,
            scale: (0.5, 1.5),
            shear: [(0.0, 0.0), (-5.0, 5.0)],
        };
        let (mut least, mut most) = ([f64::MAX; 5], [f64::MIN; 5]);
        for id in 0..4000 {
            let it = ranges.draw([40.0, 60.0], &mut Philox::new(7, id, 0));
            assert_eq!(it.shear[0], 0.0);
            assert_eq!(it.shift, it.shift.map(f64::trunc));
            let all = [it.degrees, it.shift[0], it.shift[1], it.scale, it.shear[1]];
            for (i, it) in all.into_iter().enumerate() {
                (least[i], most[i]) = (least[i].min(it), most[i].max(it));
            }
        }
        let bounds = [(-10.0, 30.0), (-4.0, 4.0), (-6.0, 6.0), (0.5, 1.5), (-5.0, 5.0)];
        for (i, (low, high)) in bounds.into_iter().enumerate() {
            let near = (high - low) * 0.01;
            assert!((low..low + near).contains(&least[i]), "{i}: {}", least[i]);
            assert!(most[i] > high - near && most[i] <= high, "{i}: {}", most[i]);
        }
    }

    /// Whatever their sizes, the centre of the picture comes to that of the result.
    #[test]
    fn the_centre_stays_the_centre() {
        let change = Change { degrees: 30.0, shift: [0.0; 2], scale: 0.7, shear: [3.0, 8.0] };
        let [a, b, c, d, e, f] = change.matrix([40.0, 60.0], [10.0, 7.0]);
        let centre = [a * 3.5 + b * 5.0 + c, d * 3.5 + e * 5.0 + f];
        assert!((centre[0] - 30.0).abs() < 1e-9 && (centre[1] - 20.0).abs() < 1e-9, "{centre:?}");
    }
}
