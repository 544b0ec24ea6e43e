//! `random_normal`: a tensor of numbers of the normal distribution.

use super::arrays::{result, room};
use crate::prelude::*;

function! {
    /// Returns a tensor of draws from the normal distribution, as `f32`.
    ///
    /// The draws are independent. Extents are numbers, or integers of the record, as in
    /// `random_normal([len(wave)], std: 0.01)`. Elements 2 i and 2 i + 1, in C order, are the pair that the
    /// method of Box and Muller (1958) makes of the next two draws, computed in `f64` and rounded once. Fails
    /// with `size` if an extent is negative. `normal` draws a single number.
    ///
    /// ```pipe
    /// range(2) |> map { noise: random_normal([2, 3], std: 0.1) }    # { noise: f32[2, 3] }
    /// ```
    "random_normal(shape: values, mean: float = 0.0, std: float = 1.0) random fails -> any",
    // Assumed: 90 ns for two numbers, as `normal` takes.
    cost: Cost::out(20.0, 11.0),
    result: Some(result),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let (mean, std) = (args.float(1), args.float(2));
        for pair in room(args, out)?.chunks_mut(2) {
            let (x, y) = random.normal();
            let drawn = [x, y].map(|it| (mean + std * it) as f32);
            pair.copy_from_slice(&drawn[..pair.len()]);
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

    fn trial(shape: &[i64]) -> Trial<'_> {
        of_shape(&ENTRY, shape).arg(Arg::Float(10.0)).arg(Arg::Float(2.0))
    }

    #[test]
    fn elements_are_independent_and_bell_shaped() {
        let found: Vec<f64> =
            sample::<f32>(&trial(&[4, 5]), 2_000).into_iter().map(f64::from).collect();
        assert_eq!(found.len(), 40_000);
        check_moments(&found, (10.0, 4.0), 1.42);
        are_independent(&found, (10.0, 4.0));
    }

    #[test]
    fn other_extents_are_refused() {
        extents_are_checked(trial);
        let floats = Trial::of(&ENTRY).list(&[Tensor::new(&[], &[1.5_f32])]);
        let refused = floats.arg(Arg::Float(0.0)).arg(Arg::Float(1.0)).refused();
        assert!(refused.contains("must be an integer, found `f32`"), "{refused}");
    }
}
