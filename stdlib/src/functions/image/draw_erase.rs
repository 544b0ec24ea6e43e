//! `draw_erase`: which part of a picture is hidden.

use super::{drawn_part::drawn_part, short_size::side};
use crate::prelude::*;
use runtime::Philox;

function! {
    /// Draws a box to erase: row, column, height and width.
    ///
    /// `shape` is that of the image. This is torchvision's `RandomErasing` (Zhong et al., "Random Erasing Data
    /// Augmentation", AAAI 2020): the fraction of the area is uniform in `area`, the aspect ratio (height to
    /// width) log-uniform in `aspect`, and the position uniform. After ten boxes that are not smaller than the
    /// image on both axes, it returns an empty one. `random_erase` uses it.
    ///
    /// ```pipe
    /// range(2) |> map { box: draw_erase(plasma(i, 40, 60).shape, 0.02..0.33, 0.3..3.3) }    # { box: i64[4] }
    /// ```
    "draw_erase(shape: i64[n], area: interval, aspect: interval) random -> i64[4]",
    // Assumed: two square roots, two logarithms and an exponential.
    cost: Cost::call(150.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let shape = args.tensor(0);
        let sides = [0, 1].map(|it| side(&shape, it).max(0));
        let hidden = hidden(sides, args.interval(1), args.interval(2), random);
        out.tensor::<i64>(&[4])?.copy_from_slice(&hidden);
        Ok(())
    }))
}

fn hidden(sides: [i64; 2], area: (f64, f64), aspect: (f64, f64), random: &mut Philox) -> [i64; 4] {
    let fits = |size: [i64; 2]| size[0] < sides[0] && size[1] < sides[1];
    drawn_part(sides, (area, aspect), sides_of, fits, random).unwrap_or([0; 4])
}

/// The proportion is height to width.
fn sides_of(area: f64, proportion: f64) -> [f64; 2] {
    [area * proportion, area / proportion]
}

#[cfg(test)]
mod tests {
    use super::super::drawn_part::sized;
    use super::*;

    #[test]
    fn sizes_are_those_of_torchvision() {
        // torchvision 0.29.2, RandomErasing.get_params, its draws replaced by these.
        assert_eq!(sized([300, 400], 0.1, 1.0, sides_of), [110, 110]);
        assert_eq!(sized([300, 400], 0.33, 2.0, sides_of), [281, 141]);
        assert_eq!(sized([375, 500], 0.02, 0.3, sides_of), [34, 112]);
    }

    #[test]
    fn boxes_are_smaller_than_the_picture_and_keep_their_bounds() {
        for id in 0..1000 {
            let [y, x, height, width] =
                hidden([300, 400], (0.02, 0.33), (0.3, 3.3), &mut Philox::new(7, id, 0));
            assert!(y >= 0 && x >= 0 && y + height <= 300 && x + width <= 400);
            assert!(height < 300 && width < 400);
            let (share, proportion) =
                ((height * width) as f64 / 12e4, height as f64 / width as f64);
            assert!((0.019..0.332).contains(&share) && (0.29..3.4).contains(&proportion));
        }
    }

    #[test]
    fn what_never_fits_is_empty() {
        let mut random = Philox::new(1, 2, 3);
        for sides in [[10, 100], [0, 5], [5, 0], [0, 0]] {
            assert_eq!(hidden(sides, (1.0, 1.0), (1.0, 1.0), &mut random), [0; 4]);
        }
    }
}
