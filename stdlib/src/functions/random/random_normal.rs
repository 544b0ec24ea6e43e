//! `random_normal`: a tensor of numbers of the normal distribution.

use super::arrays::{result, room};
use crate::prelude::*;

function! {
    /// A tensor of independent draws from the normal distribution, as `f32`.
    ///
    /// Extents are numbers, or integers of the record, as in `random_normal([len(wave)], std: 0.01)`; a negative one is
    /// the fault `size`. Elements 2 i and 2 i + 1, in C order, are the pair that the method of Box and Muller (1958)
    /// makes of the next two draws, computed in `f64` and rounded once. `normal` draws a single number.
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
    use super::super::draws::{check_moments, sample};
    use super::*;
    use crate::functions::tensor::trial::Trial;

    fn trial(shape: &[i64]) -> Trial<'_> {
        let extents: Vec<Tensor<'_>> =
            shape.iter().map(|it| Tensor::new(&[], std::slice::from_ref(it))).collect();
        Trial::of(&ENTRY).list(&extents).arg(Arg::Float(10.0)).arg(Arg::Float(2.0))
    }

    #[test]
    fn elements_are_independent_and_bell_shaped() {
        let found: Vec<f64> =
            sample::<f32>(&trial(&[4, 5]), 2_000).into_iter().map(f64::from).collect();
        assert_eq!(found.len(), 40_000);
        check_moments(&found, (10.0, 4.0), 1.42);
        // Neighbours, within a pair and from one pair to the next, are not correlated.
        let covariance = found.windows(2).map(|it| (it[0] - 10.0) * (it[1] - 10.0)).sum::<f64>();
        assert!((covariance / 40_000.0).abs() < 5.0 * 4.0 / 200.0, "{covariance}");
    }

    #[test]
    fn extents_are_checked() {
        assert_eq!(trial(&[3]).run().unwrap().shape, [3]);
        assert_eq!(trial(&[]).run().unwrap().shape, [0; 0]);
        assert_eq!(trial(&[0, 7]).run().unwrap().shape, [0, 7]);
        assert_eq!(trial(&[-1]).run().unwrap_err().code, "size");
        assert_eq!(trial(&[1 << 40]).run().unwrap_err().code, "too-large");
        let floats = Trial::of(&ENTRY).list(&[Tensor::new(&[], &[1.5_f32])]);
        let refused = floats.arg(Arg::Float(0.0)).arg(Arg::Float(1.0)).refused();
        assert!(refused.contains("must be an integer, found `f32`"), "{refused}");
    }
}
