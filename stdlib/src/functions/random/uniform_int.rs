//! `uniform_int`: a whole number between two others.

use crate::prelude::*;

function! {
    /// Draws an integer from `low` to `high`, both inclusive, all equally likely.
    ///
    /// If `high` is below `low`, they are swapped.
    ///
    /// ```pipe
    /// range(2) |> map { dice: uniform_int(1, 6) }    # { dice: i64 }
    /// ```
    "uniform_int(low: int, high: int) random -> i64",
    cost: Cost::call(35.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let (a, b) = (args.int(0), args.int(1));
        let (low, span) = (a.min(b), a.abs_diff(b));
        let step = match span.checked_add(1) {
            Some(n) => random.below(n),
            None => random.next_u64(),
        };
        out.scalar(low.wrapping_add_unsigned(step))
    }))
}

#[cfg(test)]
mod tests {
    use super::super::draws::sample;
    use super::*;
    use crate::functions::tensor::trial::Trial;

    fn draw(low: i64, high: i64, n: u64) -> Vec<i64> {
        sample(&Trial::of(&ENTRY).arg(Arg::Int(low)).arg(Arg::Int(high)), n)
    }

    #[test]
    fn each_as_often() {
        for (low, high) in [(-2, 3), (3, -2)] {
            let found = draw(low, high, 12_000);
            for x in -2..=3 {
                let n = found.iter().filter(|it| **it == x).count();
                assert!((1800..2200).contains(&n), "{x} came {n} times in 12,000, not 2,000");
            }
        }
    }

    #[test]
    fn ends_at_the_ends() {
        assert_eq!(draw(5, 5, 3), [5, 5, 5]);
        let all = draw(i64::MIN, i64::MAX, 100);
        assert!(all.iter().any(|it| *it < 0) && all.iter().any(|it| *it > 0));
    }
}
