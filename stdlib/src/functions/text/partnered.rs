//! `partnered`: a value that a record got from its partner in another stream, or that it has none.

use crate::prelude::*;

function! {
    /// Returns `x`, or fails with `no-partner` if `fault` is not empty.
    ///
    /// `fault` is the message. Programs do not call it: the compiler inserts it after `join(missing: fault)`, so a
    /// record without a match fails where a field of the second stream is used, and `else` applies there. `column` is
    /// the number of the field. Nothing is copied.
    ///
    /// ```pipe
    /// range(2) |> map { x: partnered(i, if i == 1 then "1 has none" else "") else -1 }    # { x: i64 }
    /// ```
    "partnered(x: any, fault: str, column: int = -1) fails -> any",
    cost: Cost::call(4.0),    // Assumed: a look at a length.
    result: Some(|applied| applied.ty(0).ok_or_else(|| "it guards a value".to_owned())),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| match args.tensor(1).as_str() {
        "" => Ok(args.tensor(0)),
        fault => Err(Fault::new("no-partner", fault.to_owned())),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn a_value_or_a_fault() {
        let run = |fault| Trial::of(&ENTRY).text("x").text(fault).arg(Arg::Int(-1)).run();
        assert_eq!(run(""), Ok(Value::text("x")));
        let fault = run("no record has the key 3").unwrap_err();
        assert_eq!((fault.code, &*fault.detail), ("no-partner", "no record has the key 3"));
    }
}
