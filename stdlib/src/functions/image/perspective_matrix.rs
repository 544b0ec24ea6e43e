//! `perspective_matrix`: the matrix that moves four corners to other places.

use crate::prelude::*;

function! {
    /// Returns the matrix for `warp` that moves four points of an image to four others.
    ///
    /// Each point is a column and a row. `perspective(image, from, to)` applies it; as a value of its own, it serves an
    /// image, its mask and its points (`warp_points`). The equations are solved in `f64` and the numbers rounded to
    /// `f32`, as torchvision's `perspective` does.
    ///
    /// Fails with `matrix` if there is no such matrix, for example if three of the points lie on a line.
    ///
    /// ```pipe
    /// range(2) |> map { corners: draw_perspective([40, 60]) } |> map { matrix: perspective_matrix(corners[0], corners[1]) }    # { matrix: f64[3, 3] }
    /// ```
    "perspective_matrix(from: f32[4, 2], to: f32[4, 2]) fails -> f64[3, 3]",
    // Assumed: eight equations.
    cost: Cost::call(400.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let [from, to] = [0, 1].map(|it| points(&args.tensor(it)));
        let matrix = matrix(from, to).ok_or_else(|| {
            Fault::new("matrix", "no matrix moves these points to the others: are three on a line?")
        })?;
        out.tensor::<f64>(&[3, 3])?.copy_from_slice(&matrix);
        Ok(())
    }))
}

type Points = [[f64; 2]; 4];

fn points(of: &Tensor<'_>) -> Points {
    [0, 1, 2, 3].map(|it| [0, 1].map(|axis| of.element(it).element(axis).number()))
}

/// The matrix that looks each point of `to` up at that of `from`; its last number is 1.
fn matrix(from: Points, to: Points) -> Option<[f64; 9]> {
    // Two equations for each point; the last column is what they equal.
    let mut rows = [[0.0; 9]; 8];
    for (i, ([u, v], [x, y])) in from.into_iter().zip(to).enumerate() {
        rows[2 * i] = [x, y, 1.0, 0.0, 0.0, 0.0, -u * x, -u * y, u];
        rows[2 * i + 1] = [0.0, 0.0, 0.0, x, y, 1.0, -v * x, -v * y, v];
    }
    let numbers = solved(rows)?.map(|it| f64::from(it as f32));
    let [a, b, c, d, e, f, g, h] = numbers;
    Some([a, b, c, d, e, f, g, h, 1.0])
}

/// Solves eight equations by elimination with pivots; none if they have no single solution.
fn solved(mut rows: [[f64; 9]; 8]) -> Option<[f64; 8]> {
    let most = rows.as_flattened().iter().fold(0.0_f64, |most, it| most.max(it.abs()));
    for i in 0..8 {
        let pivot = (i..8).max_by(|a, b| rows[*a][i].abs().total_cmp(&rows[*b][i].abs()))?;
        rows.swap(i, pivot);
        let pivot = rows[i];
        // What rounding leaves of a zero.
        if pivot[i].is_nan() || pivot[i].abs() <= most * 1e-13 {
            return None;
        }
        for row in &mut rows[i + 1..] {
            let factor = row[i] / pivot[i];
            row.iter_mut().zip(pivot).for_each(|(to, it)| *to -= factor * it);
        }
    }
    let mut solution = [0.0; 8];
    for i in (0..8).rev() {
        let known: f64 = (i + 1..8).map(|it| rows[i][it] * solution[it]).sum();
        solution[i] = (rows[i][8] - known) / rows[i][i];
    }
    solution.iter().all(|it| it.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    fn found(from: [[f32; 2]; 4], to: [[f32; 2]; 4]) -> Result<Vec<f64>, &'static str> {
        let args = [from, to].map(|it| Value::new(&[4, 2], it.as_flattened()));
        run::<f64>(&ENTRY, &args).map(|it| it.1).map_err(|it| it.code)
    }

    const CORNERS: [[f32; 2]; 4] = [[0.0, 0.0], [59.0, 0.0], [59.0, 39.0], [0.0, 39.0]];

    #[test]
    fn matrices_are_those_of_torchvision() {
        // torchvision 0.29.2, v2.functional._geometry._get_perspective_coeffs.
        let cases = [
            (CORNERS, [[3.0, 5.0], [55.0, 2.0], [50.0, 30.0], [7.0, 33.0]], EXPECTED[0]),
            (CORNERS, [[14.0, 0.0], [59.0, 9.0], [45.0, 39.0], [0.0, 30.0]], EXPECTED[1]),
        ];
        for (from, to, expected) in cases {
            let found = found(from, to).expect("there is one");
            let near = |(a, b): (&f64, f64)| (a - b).abs() <= 1e-7 * b.abs() + 1e-15;
            assert!(found.iter().zip(expected).all(near), "{found:?}");
            assert_eq!(found[8], 1.0);
        }
        let same = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        assert_eq!(found(CORNERS, CORNERS).as_deref(), Ok(&same[..]));
    }

    #[rustfmt::skip]
    const EXPECTED: [[f64; 8]; 2] = [
        [1.0651882886886597, -0.15216976404190063, -2.43471622467041, 0.06366075575351715, 1.1034531593322754, -5.708248138427734, -0.0007559339865110815, -0.005938072223216295],
        [1.1991870403289795, 0.5596206188201904, -16.788618087768555, -0.23780487477779388, 1.1890244483947754, 3.329268217086792, 7.465319503951794e-19, -9.923301169813836e-18],
    ];

    #[test]
    fn points_on_a_line_have_no_matrix() {
        let line = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 9.0]];
        assert_eq!(found(CORNERS, line), Err("matrix"));
        assert_eq!(found(CORNERS, [[3.0, 3.0]; 4]), Err("matrix"));
        assert_eq!(found(CORNERS, [[f32::NAN; 2]; 4]), Err("matrix"));
    }
}
