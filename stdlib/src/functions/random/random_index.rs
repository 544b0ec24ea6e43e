//! `random_index`: the number of one of several; what `one_of` becomes.

use crate::prelude::*;

function! {
    /// Draws an integer from 0 to `n - 1`, all equally likely.
    ///
    /// `n` is known at compile time, and at least 1. `one_of([a, b, c])` draws it, and computes only the value
    /// that was drawn.
    ///
    /// ```pipe
    /// range(2) |> map { k: random_index(7) }    # { k: i64 }
    /// ```
    "random_index(n: int) random -> i64",
    cost: Cost::call(35.0),
    result: Some(|applied| match applied.int(0) {
        Some(1..) => Ok(Type::scalar(DType::I64)),
        Some(n) => Err(format!("cannot draw one of {n} elements")),
        None => Err("the number of elements must be known at compile time".into()),
    }),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let n = args.int(0).max(1) as u64;
        out.scalar(random.below(n) as i64)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::draws::sample;
    use super::*;
    use crate::functions::tensor::trial::Trial;

    #[test]
    fn each_as_often() {
        let found: Vec<i64> = sample(&Trial::of(&ENTRY).arg(Arg::Int(3)), 9000);
        for x in 0..3 {
            let n = found.iter().filter(|it| **it == x).count();
            assert!((2780..3220).contains(&n), "{x} came {n} times in 9,000, not 3,000");
        }
        assert!(Trial::of(&ENTRY).arg(Arg::Int(0)).refused().contains("cannot draw"));
    }
}
