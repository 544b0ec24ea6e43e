//! `normal`: a number of the normal distribution.

use crate::prelude::*;

function! {
    /// Draws a number from the normal distribution, as `f32`.
    ///
    /// By the method of Box and Muller (1958), computed in `f64` and rounded once. `random_normal` draws a
    /// tensor.
    ///
    /// ```pipe
    /// range(2) |> map { x: normal(0.0, 0.1) }    # { x: f32 }
    /// ```
    "normal(mean: float = 0.0, std: float = 1.0) random -> f32",
    cost: Cost::call(90.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let (x, _) = random.normal();
        out.scalar((args.float(0) + args.float(1) * x) as f32)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::draws::{check_moments, sample};
    use super::*;
    use crate::functions::tensor::trial::Trial;

    #[test]
    fn bell_shaped() {
        let trial = Trial::of(&ENTRY).arg(Arg::Float(10.0)).arg(Arg::Float(2.0));
        let found: Vec<f64> = sample::<f32>(&trial, 20_000).into_iter().map(f64::from).collect();
        check_moments(&found, (10.0, 4.0), 1.42);
        // Within one standard deviation: 68.27%; within two: 95.45%.
        let within = |k: f64| found.iter().filter(|it| (**it - 10.0).abs() < 2.0 * k).count();
        assert!((13_300..14_000).contains(&within(1.0)), "{}", within(1.0));
        assert!((18_930..19_250).contains(&within(2.0)), "{}", within(2.0));
    }
}
