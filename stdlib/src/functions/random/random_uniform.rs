//! `random_uniform`: a tensor of numbers between two others.

use super::arrays::{result, room};
use crate::prelude::*;

function! {
    /// Returns a tensor of draws from the uniform distribution, as `f32`.
    ///
    /// The draws are independent, from `low` to `high`. Extents are numbers, or integers of the record, as in
    /// `random_uniform([len(ids)]) < 0.15`. Each element uses the upper 24 bits, the precision of `f32`, of one
    /// draw of 32 bits, and is computed in `f64` and rounded once. Fails with `size` if an extent is negative.
    /// `uniform` draws a single number.
    ///
    /// ```pipe
    /// range(2) |> map { noise: random_uniform([2, 3], high: 0.1) }    # { noise: f32[2, 3] }
    /// ```
    "random_uniform(shape: values, low: float = 0.0, high: float = 1.0) random fails -> any",
    // Assumed: a nanosecond for a draw, another for the arithmetic.
    cost: Cost::out(20.0, 0.5),
    result: Some(result),
}

/// Draws that are made at a time.
const BLOCK: usize = 256;

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let (low, high) = (args.float(1), args.float(2));
        let step = (high - low) / f64::from(1 << 24);
        let mut words = [0; BLOCK];
        for block in room(args, out)?.chunks_mut(BLOCK) {
            let words = &mut words[..block.len()];
            random.fill(words);
            for (to, word) in block.iter_mut().zip(words) {
                *to = (low + step * f64::from(*word >> 8)) as f32;
            }
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::{
        arrays::trial::{are_independent, extents_are_checked, of_shape},
        draws::{check_moments, sample},
    };
    use super::*;
    use crate::functions::tensor::trial::Trial;
    use runtime::Philox;

    fn trial(shape: &[i64]) -> Trial<'_> {
        of_shape(&ENTRY, shape).arg(Arg::Float(-1.0)).arg(Arg::Float(3.0))
    }

    #[test]
    fn elements_are_independent_and_even() {
        let found: Vec<f64> =
            sample::<f32>(&trial(&[4, 5]), 2_000).into_iter().map(f64::from).collect();
        assert!(found.iter().all(|it| (-1.0..=3.0).contains(it)));
        check_moments(&found, (1.0, 16.0 / 12.0), 0.9);
        are_independent(&found, (1.0, 16.0 / 12.0));
    }

    /// One word for each element, in order, however many are drawn at a time.
    #[test]
    fn each_element_has_its_word() {
        let found = trial(&[3, 211]).draw(&mut Philox::new(7, 3, 1)).unwrap().to_vec::<f32>();
        let mut words = Philox::new(7, 3, 1);
        for it in found {
            let unit = f64::from(words.next_u32() >> 8) / f64::from(1 << 24);
            assert_eq!(it, (-1.0 + 4.0 * unit) as f32);
        }
    }

    #[test]
    fn other_extents_are_refused() {
        extents_are_checked(trial);
    }
}
