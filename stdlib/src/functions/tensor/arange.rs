//! `arange`: the whole numbers from 0.

use crate::prelude::*;

function! {
    /// Returns the integers from 0 to `n - 1`, as `i64`.
    ///
    /// Fails with `size` if an `n` of the record is negative.
    ///
    /// ```pipe
    /// range(2) |> map { x: arange(5) }    # { x: i64[5] }
    /// ```
    "arange(n: int) fails -> i64[n]",
    // Assumed: as fast as memory.
    cost: Cost::out(5.0, 0.05),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let found = args.int(0);
        let Ok(n) = usize::try_from(found) else {
            return Err(Fault::new(
                "size",
                format!("expected a number of elements, found {found}"),
            ));
        };
        for (i, to) in out.tensor::<i64>(&[n])?.iter_mut().enumerate() {
            *to = i as i64;
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    #[test]
    fn counts() {
        let run = |n| Trial::of(&ENTRY).arg(Arg::Int(n)).run();
        assert_eq!(run(3), Ok(Value::of(&[3], &[0_i64, 1, 2])));
        assert_eq!(run(0), Ok(Value::of::<i64>(&[0], &[])));
        assert_eq!(run(-1).unwrap_err().code, "size");
        assert_eq!(run(i64::MAX).unwrap_err().code, "too-large");
    }
}
