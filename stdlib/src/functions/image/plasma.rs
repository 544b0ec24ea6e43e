//! `plasma`: a smooth picture out of a number, to try things on.

use super::SIDE_MAX;
use crate::prelude::*;
use std::array;

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
        let mut rows = Rows::new(width);
        for (y, row) in pixels.chunks_exact_mut(3 * width).enumerate() {
            for channel in 0..3 {
                rows.fill(runtime::mix(seed, channel as u64), y);
                let levels = row.iter_mut().skip(channel).step_by(3);
                levels.zip(&rows.sums).for_each(|(to, sum)| *to = (sum / 15) as u8);
            }
        }
        Ok(())
    }))
}

/// The grids: how many pixels wide a cell is, and the weight of its levels.
const GRIDS: [(usize, u32); 4] = [(32, 8), (16, 4), (8, 2), (4, 1)];

/// What a row of one channel is computed in.
struct Rows {
    /// Of each pixel, the levels of the grids by their weights.
    sums: Vec<u32>,
    /// The levels at the corners of the cells, as they are at the row.
    corners: Vec<u32>,
}

impl Rows {
    fn new(width: usize) -> Self {
        Self { sums: vec![0; width], corners: Vec::with_capacity(width / GRIDS[3].0 + 2) }
    }

    /// Row `y` of the channel with this seed.
    fn fill(&mut self, seed: u64, y: usize) {
        self.sums.fill(0);
        for (cell, weight) in GRIDS {
            let (above, down) = ((y / cell) as u64, ease(y % cell, cell));
            let corner = |x: usize| {
                let [a, b] = [0, 1].map(|below| random(seed, cell, [above + below, x as u64]));
                a * (256 - down) + b * down
            };
            self.corners.clear();
            self.corners.extend((0..self.sums.len().div_ceil(cell) + 1).map(corner));
            let eased: [u32; GRIDS[0].0] = array::from_fn(|t| ease(t.min(cell), cell));
            for (sums, ends) in self.sums.chunks_mut(cell).zip(self.corners.windows(2)) {
                for (sum, right) in sums.iter_mut().zip(eased) {
                    *sum += weight * ((ends[0] * (256 - right) + ends[1] * right) >> 16);
                }
            }
        }
    }
}

/// How far from one corner to the next, in 256 parts: 3t² - 2t³, so that cells meet smoothly.
fn ease(t: usize, cell: usize) -> u32 {
    (256 * t * t * (3 * cell - 2 * t) / (cell * cell * cell)) as u32
}

/// The level of a corner.
fn random(seed: u64, cell: usize, corner: [u64; 2]) -> u32 {
    let key = runtime::mix(seed, cell as u64);
    (runtime::mix(key, corner[0] << 32 | corner[1]) >> 56) as u32
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

    /// Interpolated pixel by pixel.
    fn obvious(seed: u64, y: usize, x: usize) -> u8 {
        let between = |cell: usize| {
            let row = |y: usize| {
                let ends = [0, 1].map(|it| random(seed, cell, [y as u64, (x / cell + it) as u64]));
                let right = ease(x % cell, cell);
                ends[0] * (256 - right) + ends[1] * right
            };
            let down = ease(y % cell, cell);
            (row(y / cell) * (256 - down) + row(y / cell + 1) * down) >> 16
        };
        (GRIDS.iter().map(|&(cell, weight)| weight * between(cell)).sum::<u32>() / 15) as u8
    }

    #[test]
    fn each_level_lies_between_the_four_corners_of_its_cells() {
        for (height, width) in [(1, 1), (33, 65), (70, 3)] {
            let levels = plasma(7, height, width);
            for (at, level) in levels.into_iter().enumerate() {
                let (pixel, seed) = (at / 3, runtime::mix(7, at as u64 % 3));
                let (y, x) = (pixel / width as usize, pixel % width as usize);
                assert_eq!(level, obvious(seed, y, x), "{height} × {width} at {y}, {x}");
            }
        }
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
