//! `coin`: true or false.

use crate::prelude::*;

function! {
    /// Returns true with probability `p`, otherwise false.
    ///
    /// Always false for 0 and below, always true for 1 and above. Each call is a new draw; a name is a single
    /// draw: `{ flip: coin() } |> map …` uses the same value everywhere.
    ///
    /// ```pipe
    /// range(2) |> map { heads: coin(0.5) }    # { heads: bool }
    /// ```
    "coin(p: float = 0.5) random -> bool",
    cost: Cost::call(30.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| out.scalar(random.unit() < args.float(0))))
}

#[cfg(test)]
mod tests {
    use super::super::draws::{check_moments, sample};
    use super::*;
    use crate::functions::tensor::trial::Trial;

    #[test]
    fn as_often_as_asked_for() {
        let toss = |p, n| sample::<bool>(&Trial::of(&ENTRY).arg(Arg::Float(p)), n);
        for p in [0.1, 0.5] {
            let found = toss(p, 10_000);
            let found: Vec<f64> = found.into_iter().map(|it| f64::from(u8::from(it))).collect();
            check_moments(&found, (p, p * (1.0 - p)), 3.0);
        }
        assert!(toss(1.0, 1000).into_iter().all(|it| it));
        assert!(!toss(0.0, 1000).into_iter().any(|it| it));
    }
}
