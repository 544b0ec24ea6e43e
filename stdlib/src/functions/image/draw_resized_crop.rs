//! `draw_resized_crop`: which part of a picture a training step sees.

use super::{drawn_part::drawn_part, short_size::side};
use crate::prelude::*;
use runtime::Philox;

function! {
    /// Draws a random crop: row, column, height and width.
    ///
    /// `shape` is that of the image. This is torchvision's `RandomResizedCrop` (Szegedy et al., "Going deeper
    /// with convolutions", CVPR 2015): the fraction of the area is uniform in `area`, the aspect ratio (width
    /// to height) log-uniform in `aspect`, and the position uniform among those where the part fits. After ten
    /// parts that do not fit, it returns the central one, as large as the aspect ratio allows.
    /// `random_resized_crop` uses it.
    ///
    /// ```pipe
    /// range(2) |> map { part: draw_resized_crop(plasma(i, 40, 60).shape, 0.08..1.0, 3/4..4/3) }    # { part: i64[4] }
    /// ```
    "draw_resized_crop(shape: i64[n], area: interval, aspect: interval) random -> i64[4]",
    // Assumed: two square roots, two logarithms and an exponential.
    cost: Cost::call(150.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let shape = args.tensor(0);
        // Of a picture without pixels nothing is a part.
        let sides = [0, 1].map(|it| side(&shape, it).max(0));
        let part = part(sides, args.interval(1), args.interval(2), random);
        out.tensor::<i64>(&[4])?.copy_from_slice(&part);
        Ok(())
    }))
}

fn part(sides: [i64; 2], area: (f64, f64), aspect: (f64, f64), random: &mut Philox) -> [i64; 4] {
    let fits = |size: [i64; 2]| [0, 1].iter().all(|&it| (1..=sides[it]).contains(&size[it]));
    drawn_part(sides, (area, aspect), sides_of, fits, random).unwrap_or_else(|| {
        let size = middle(sides, aspect);
        [(sides[0] - size[0]) / 2, (sides[1] - size[1]) / 2, size[0], size[1]]
    })
}

/// Height and width of the largest part whose proportion lies in `aspect`.
fn middle([height, width]: [i64; 2], aspect: (f64, f64)) -> [i64; 2] {
    let proportion = width as f64 / height as f64;
    if proportion < aspect.0 {
        [((width as f64 / aspect.0).round_ties_even() as i64).clamp(0, height), width]
    } else if proportion > aspect.1 {
        [height, ((height as f64 * aspect.1).round_ties_even() as i64).clamp(0, width)]
    } else {
        [height, width]
    }
}

/// The proportion is width to height.
fn sides_of(area: f64, proportion: f64) -> [f64; 2] {
    [area / proportion, area * proportion]
}

#[cfg(test)]
mod tests {
    use super::super::drawn_part::sized;
    use super::*;

    #[test]
    fn sizes_are_those_of_torchvision() {
        // torchvision 0.29.2, v2.RandomResizedCrop.make_params, its draws replaced by these.
        assert_eq!(sized([300, 400], 0.5, 1.0, sides_of), [245, 245]);
        assert_eq!(sized([300, 400], 0.08, 0.75, sides_of), [113, 85]);
        assert_eq!(sized([375, 500], 0.3, 4.0 / 3.0, sides_of), [205, 274]);
    }

    #[test]
    fn parts_lie_within_the_picture_and_keep_their_bounds() {
        for id in 0..1000 {
            let [y, x, height, width] =
                part([300, 400], (0.08, 1.0), (0.75, 4.0 / 3.0), &mut Philox::new(7, id, 0));
            assert!(y >= 0 && x >= 0 && y + height <= 300 && x + width <= 400);
            let (share, proportion) =
                ((height * width) as f64 / 12e4, width as f64 / height as f64);
            assert!((0.075..=1.0).contains(&share) && (0.73..1.36).contains(&proportion));
        }
    }

    #[test]
    fn nothing_has_no_part_but_itself() {
        let mut random = Philox::new(1, 2, 3);
        for sides in [[0, 0], [0, 5], [5, 0]] {
            let [.., height, width] = part(sides, (0.5, 1.0), (0.75, 4.0 / 3.0), &mut random);
            assert!((0..=sides[0]).contains(&height) && (0..=sides[1]).contains(&width));
        }
    }

    #[test]
    fn what_never_fits_is_the_middle() {
        let mut random = Philox::new(1, 2, 3);
        assert_eq!(part([10, 100], (1.0, 1.0), (0.75, 4.0 / 3.0), &mut random), [0, 43, 10, 13]);
        assert_eq!(part([100, 10], (1.0, 1.0), (0.75, 4.0 / 3.0), &mut random), [43, 0, 13, 10]);
    }
}
