//! `permutation`: the numbers from 0 in a random order.

use crate::prelude::*;

function! {
    /// Returns the integers from 0 to `n - 1` in random order.
    ///
    /// All orders are equally likely (Fisher-Yates shuffle, from the end; Knuth, TAOCP 2, 3.4.2 P).
    /// `x[permutation(len(x))]` shuffles `x`. Fails with `size` if an `n` of the record is negative.
    ///
    /// ```pipe
    /// range(2) |> map { order: permutation(5) }    # { order: i64[5] }
    /// ```
    "permutation(n: int) random fails -> i64[n]",
    // Assumed: ten nanoseconds an element.
    cost: Cost::out(20.0, 1.2),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let found = args.int(0);
        let Ok(n) = usize::try_from(found) else {
            return Err(Fault::new(
                "size",
                format!("expected a number of elements, found {found}"),
            ));
        };
        let order = out.tensor::<i64>(&[n])?;
        for (i, to) in order.iter_mut().enumerate() {
            *to = i as i64;
        }
        for i in (1..n).rev() {
            order.swap(i, random.below(i as u64 + 1) as usize);
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::draws::sample;
    use super::*;
    use crate::functions::tensor::trial::Trial;
    use std::collections::BTreeMap;

    fn trial(n: i64) -> Trial<'static> {
        Trial::of(&ENTRY).arg(Arg::Int(n))
    }

    #[test]
    fn each_order_as_often() {
        let found: Vec<i64> = sample(&trial(3), 6000);
        let mut counts = BTreeMap::new();
        found.chunks(3).for_each(|it| *counts.entry(it).or_insert(0) += 1);
        assert_eq!(counts.len(), 6, "there are six orders of three");
        assert!(counts.values().all(|it| (850..1150).contains(it)), "{counts:?}");
    }

    #[test]
    fn everything_comes_once() {
        let mut found = trial(1000).run().unwrap().to_vec::<i64>();
        assert!(!found.is_sorted());
        found.sort_unstable();
        assert!(found.into_iter().eq(0..1000));
        assert!(trial(0).run().unwrap().to_vec::<i64>().is_empty());
        assert_eq!(trial(-1).run().unwrap_err().code, "size");
        assert_eq!(trial(1 << 40).run().unwrap_err().code, "too-large");
    }
}
