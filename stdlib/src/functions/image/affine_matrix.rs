//! `affine_matrix`: the matrix that rotates, scales, shears and shifts a picture.

use super::short_size::side;
use crate::prelude::*;

function! {
    /// Returns the matrix for `warp` that shears, rotates and scales an image about its centre, then shifts it.
    ///
    /// `shape` is that of the image; the result of `warp` has the same size. `degrees` is the angle, clockwise; `y` and
    /// `x` are how many pixels the image moves down and to the right; `scale` is by how much it becomes larger;
    /// `shear_y` and `shear_x` are angles in degrees, too. This is the matrix of torchvision's `affine`, which
    /// `affine(image, …)` applies; as a value of its own, it serves an image, its mask and its points.
    ///
    /// ```pipe
    /// range(2) |> map { matrix: affine_matrix([40, 60], degrees: 30.0, y: 2.0, scale: 1.5) }    # { matrix: f64[2, 3] }
    /// ```
    "affine_matrix(shape: i64[n], degrees: float = 0.0, y: float = 0.0, x: float = 0.0, scale: float = 1.0, shear_y: float = 0.0, shear_x: float = 0.0) -> f64[2, 3]",
    // Assumed: six sines and cosines.
    cost: Cost::call(120.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let shape = args.tensor(0);
        let sides = [0, 1].map(|it| side(&shape, it) as f64);
        let change = Change {
            degrees: args.float(1),
            shift: [args.float(2), args.float(3)],
            scale: args.float(4),
            shear: [args.float(5), args.float(6)],
        };
        out.tensor::<f64>(&[2, 3])?.copy_from_slice(&change.matrix(sides, sides));
        Ok(())
    }))
}

/// How a picture is changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    /// The angle by which it is rotated, clockwise.
    pub(super) degrees: f64,
    /// Pixels down and to the right.
    pub(super) shift: [f64; 2],
    /// By how much it becomes larger.
    pub(super) scale: f64,
    /// Angles in degrees, down and to the right.
    pub(super) shear: [f64; 2],
}

impl Change {
    /// Where the pixels of a result of `to = [height, width]` pixels are looked up in a picture of `from`, whose centre
    /// comes to the centre of the result before it is shifted.
    ///
    /// The steps are those of torchvision's `_get_inverse_affine_matrix`.
    pub(super) fn matrix(self, from: [f64; 2], to: [f64; 2]) -> [f64; 6] {
        let rotation = self.degrees.to_radians();
        let [shear_y, shear_x] = self.shear.map(f64::to_radians);
        let (cos, tan) = (libm::cos(shear_y), libm::tan(shear_x));
        let a = libm::cos(rotation - shear_y) / cos;
        let b = -(a * tan + libm::sin(rotation));
        let c = libm::sin(rotation - shear_y) / cos;
        let d = libm::cos(rotation) - c * tan;

        let [xx, xy, yx, yy] = [d, -b, -c, a].map(|it| it / self.scale);
        let [from_y, from_x] = from.map(|it| it * 0.5);
        let (y, x) = (to[0] * 0.5 + self.shift[0], to[1] * 0.5 + self.shift[1]);
        [xx, xy, from_x - xx * x - xy * y, yx, yy, from_y - yx * x - yy * y]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_those_of_torchvision() {
        // torchvision 0.29.2, v2.functional._geometry._get_inverse_affine_matrix([w / 2, h / 2], degrees, [x, y],
        // scale, [shear_x, shear_y]).
        let change = |degrees, shift, scale, shear| Change { degrees, shift, scale, shear };
        let cases = [
            (change(17.3, [2.0, -3.0], 1.25, [0.0, 0.0]), [40.0, 60.0], EXPECTED[0]),
            (change(-45.0, [0.0, 0.0], 0.5, [10.0, 20.0]), [7.0, 9.0], EXPECTED[1]),
            (change(90.0, [1.5, 0.25], 3.0, [-30.0, 5.0]), [1.0, 1.0], EXPECTED[2]),
        ];
        for (change, sides, expected) in cases {
            let found = change.matrix(sides, sides);
            let off = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-13, "{change:?}: {found:?}");
        }
    }

    #[rustfmt::skip]
    const EXPECTED: [[f64; 6]; 3] = [
        [0.763808639602238, 0.23789989926222882, 4.143368946970541, -0.23789989926222882, 0.763808639602238, 9.619507208830942],
        [2.0197062802108006, -0.9902429970120485, -1.122827771406433, 1.6635775699033053, 1.164849554842885, -8.06307250651497],
        [-0.02916288784197465, 0.3164961321874224, -0.1111200984933638, -0.3333333333333333, -0.19245008972987518, 1.1349001794597504],
    ];
}
