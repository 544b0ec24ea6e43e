//! `warp_points`: where the points of a picture come to lie.

use super::warp::rows;
use crate::prelude::*;

function! {
    /// Moves points along with an image that is warped by the same matrix.
    ///
    /// A point is column and row, in pixels: the centre of the first pixel is at 0.5, 0.5. The matrix is that of
    /// `warp`, which says where a pixel of the result is looked up; points go the other way, so its inverse is
    /// applied. Points may come to lie outside of the result. Computed in `f64` and rounded once.
    ///
    /// Fails with `matrix` if the matrix has no inverse, because it maps the image to a line or a point.
    ///
    /// ```pipe
    /// range(2) |> map { points: warp_points(f32(reshape(arange(6), [3, 2])), affine_matrix([40, 60], degrees: 90.0)) }    # { points: f32[3, 2] }
    /// ```
    "warp_points(points: f32[n, 2], matrix: f64[m, 3]) fails -> f32[n, 2]",
    // Assumed: 3 ns a point.
    cost: Cost::out(60.0, 0.4),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let points = args.tensor(0);
        let [a, b, c, d, e, f, g, h, i] = inverse(rows(&args.tensor(1))?.0)?;
        let to = out.tensor::<f32>(points.shape())?;
        for (number, to) in to.chunks_exact_mut(2).enumerate() {
            let point = points.element(number);
            let [x, y] = [0, 1].map(|it| point.element(it).number());
            let far = g * x + h * y + i;
            to[0] = ((a * x + b * y + c) / far) as f32;
            to[1] = ((d * x + e * y + f) / far) as f32;
        }
        Ok(())
    }))
}

/// The inverse of a matrix, up to a factor of all its numbers for a perspective; an affine one keeps `0, 0, 1`.
fn inverse([a, b, c, d, e, f, g, h, i]: [f64; 9]) -> Result<[f64; 9], Fault> {
    let adjugate = [
        e * i - f * h,
        c * h - b * i,
        b * f - c * e,
        f * g - d * i,
        a * i - c * g,
        c * d - a * f,
        d * h - e * g,
        b * g - a * h,
        a * e - b * d,
    ];
    let determinant = a * adjugate[0] + b * adjugate[3] + c * adjugate[6];
    if determinant == 0.0 || !determinant.is_finite() {
        return Err(Fault::new("matrix", "the matrix has no inverse"));
    }
    Ok(adjugate.map(|it| it / determinant))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    fn moved(points: &[f32], matrix: &[f64]) -> Result<Vec<f32>, &'static str> {
        let args = [
            Value::new(&[points.len() / 2, 2], points),
            Value::new(&[matrix.len() / 3, 3], matrix),
        ];
        run::<f32>(&ENTRY, &args).map(|it| it.1).map_err(|it| it.code)
    }

    /// The matrix looks a pixel of the result up in the image, so a point goes there and back.
    #[test]
    fn points_go_where_pixels_come_from() {
        let matrices: [&[f64]; 3] = [
            &[0.8, -0.3, 12.5, 0.25, 1.25, -7.0],
            &[0.8, -0.3, 12.5, 0.25, 1.25, -7.0, 0.001, -0.002, 1.0],
            &[1.6, -0.6, 25.0, 0.5, 2.5, -14.0, 0.002, -0.004, 2.0],
        ];
        for matrix in matrices {
            let at = |i: usize| matrix.get(i).copied().unwrap_or_else(|| [0.0, 0.0, 1.0][i - 6]);
            for [x, y] in [[0.5, 0.5], [20.0, 3.25], [-4.0, 90.0]] {
                let far = at(6) * x + at(7) * y + at(8);
                let from =
                    [0, 3].map(|it| ((at(it) * x + at(it + 1) * y + at(it + 2)) / far) as f32);
                let found = moved(&from, matrix).expect("it has an inverse");
                let off = (f64::from(found[0]) - x).abs().max((f64::from(found[1]) - y).abs());
                assert!(off < 1e-4, "{matrix:?}: {found:?}");
            }
        }
        assert_eq!(moved(&[], matrices[0]), Ok(Vec::new()));
    }

    #[test]
    fn a_matrix_without_an_inverse_is_refused() {
        for matrix in [[1.0, 2.0, 0.0, 2.0, 4.0, 1.0], [0.0; 6], [f64::NAN; 6]] {
            assert_eq!(moved(&[1.0, 2.0], &matrix), Err("matrix"));
        }
        assert_eq!(moved(&[1.0, 2.0], &[1.0, 0.0, 0.0]), Err("extents"));
    }
}
