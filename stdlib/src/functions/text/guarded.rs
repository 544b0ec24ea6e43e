//! `guarded`: a value of a record that could be read, or what was wrong with the record.

use crate::prelude::*;

function! {
    /// The value `x` where `fault` is empty; else the fault `bad-row`, which says that text.
    ///
    /// No program needs it: the compiler puts it behind a source whose records can be faults (`csv`), so that one
    /// fails where it is used, and `else` there says what becomes of it. Nothing is copied.
    ///
    /// ```pipe
    /// range(2) |> map { x: guarded(i, if i == 1 then "one is refused" else "") else -1 }    # { x: i64 }
    /// ```
    "guarded(x: any, fault: str) fails -> any",
    cost: Cost::call(4.0),    // Assumed: a look at a length.
    result: Some(|applied| applied.ty(0).ok_or_else(|| "it guards a value".to_owned())),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| match args.tensor(1).as_str() {
        "" => Ok(args.tensor(0)),
        fault => Err(Fault::new("bad-row", fault.to_owned())),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn a_value_or_a_fault() {
        let run = |fault| Trial::of(&ENTRY).text("x").text(fault).run();
        assert_eq!(run(""), Ok(Value::text("x")));
        let fault = run("a.csv:3: it is torn").unwrap_err();
        assert_eq!((fault.code, &*fault.detail), ("bad-row", "a.csv:3: it is torn"));
    }
}
