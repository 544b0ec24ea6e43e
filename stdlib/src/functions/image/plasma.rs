//! `plasma`: a smooth picture out of a number, to try things on.

use super::SIDE_MAX;
use crate::prelude::*;

function! {
    /// Generates a smooth colour image from a seed, the same on every machine.
    ///
    /// Value noise: random levels on four grids, 32, 16, 8 and 4 pixels wide, interpolated and summed, with the
    /// most weight on the coarse ones. It needs no file, which makes it useful for examples and tests. Fails
    /// with `size` if a side is not between 1 and 65,536.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) }    # { image: u8[4, 6, 3] }
    /// ```
    "plasma(seed: int, height: int, width: int) fails -> u8[height, width, 3]",
    // Assumed: 5 ms for a picture of 224 x 224.
    cost: Cost::out(100.0, 33.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (height, width) = (args.size(1, SIDE_MAX)?, args.size(2, SIDE_MAX)?);
        let seed = args.int(0) as u64;
        let pixels = out.tensor::<u8>(&[height, width, 3])?;
        for (at, to) in pixels.iter_mut().enumerate() {
            let (pixel, channel) = (at / 3, at % 3);
            *to = level(runtime::mix(seed, channel as u64), pixel / width, pixel % width);
        }
        Ok(())
    }))
}

/// The level at a place: the grids' levels, weighed 8, 4, 2 and 1.
fn level(seed: u64, y: usize, x: usize) -> u8 {
    let grids = [(32, 8), (16, 4), (8, 2), (4, 1)];
    let sum: u64 = grids.iter().map(|&(cell, weight)| weight * between(seed, cell, [y, x])).sum();
    (sum / 15) as u8
}

/// The level between the four corners of the grid's cell that `at` is in.
fn between(seed: u64, cell: usize, at: [usize; 2]) -> u64 {
    let corner = at.map(|it| (it / cell) as u64);
    let [down, right] = at.map(|it| ease((it % cell) as u64, cell as u64));
    let row = |y| {
        let [left, other] = [0, 1].map(|x| random(seed, cell, [corner[0] + y, corner[1] + x]));
        left * (256 - right) + other * right
    };
    (row(0) * (256 - down) + row(1) * down) >> 16
}

/// How far from one corner to the next, in 256 parts: 3t² - 2t³, so that cells meet smoothly.
fn ease(t: u64, cell: u64) -> u64 {
    256 * t * t * (3 * cell - 2 * t) / (cell * cell * cell)
}

/// The level of a corner.
fn random(seed: u64, cell: usize, corner: [u64; 2]) -> u64 {
    let key = runtime::mix(seed, cell as u64);
    runtime::mix(key, corner[0] << 32 | corner[1]) >> 56
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plasma, run};
    use super::*;

    #[test]
    fn seeds_differ_and_neighbours_hardly() {
        let (a, b) = (plasma(1, 40, 50), plasma(2, 40, 50));
        assert_eq!(a, plasma(1, 40, 50));
        assert_ne!(a, b);
        let steps = a.chunks(150).flat_map(|row| row.iter().zip(&row[3..]));
        assert!(steps.map(|(a, b)| a.abs_diff(*b)).max() < Some(64));
    }

    #[test]
    fn sides_are_checked() {
        let sides = [0_i64, -1, 65_537].map(|it| {
            let (seed, one) = (1_i64.into(), 1_i64.into());
            run::<u8>(&ENTRY, &[seed, one, it.into()]).expect_err("no side").code
        });
        assert_eq!(sides, ["size"; 3]);
    }
}
