//! `uniform`: a number between two others.

use crate::prelude::*;

function! {
    /// Draws a number from the uniform distribution, as `f32`.
    ///
    /// It is between `low` and `high`, drawn with 53 bits in `f64` and rounded once, so it can be exactly
    /// `high`, though rarely. `random_uniform` draws a tensor.
    ///
    /// ```pipe
    /// range(2) |> map { x: uniform(-1.0, 1.0) }    # { x: f32 }
    /// ```
    "uniform(low: float = 0.0, high: float = 1.0) random -> f32",
    cost: Cost::call(30.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        out.scalar(random.uniform(args.float(0), args.float(1)) as f32)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::draws::{check_moments, sample};
    use super::*;
    use crate::functions::tensor::trial::Trial;

    #[test]
    fn evenly() {
        let trial = Trial::of(&ENTRY).arg(Arg::Float(-1.0)).arg(Arg::Float(3.0));
        let found: Vec<f64> = sample::<f32>(&trial, 20_000).into_iter().map(f64::from).collect();
        assert!(found.iter().all(|it| (-1.0..=3.0).contains(it)));
        check_moments(&found, (1.0, 16.0 / 12.0), 0.9);
        let low = found.iter().filter(|it| **it < 0.0).count();
        assert!((4700..5300).contains(&low), "a quarter lies below 0, not {low}");
    }
}
