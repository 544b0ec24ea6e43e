//! `strip`: a text without white space at its ends.

use crate::prelude::*;

function! {
    /// Removes white space from both ends of a string.
    ///
    /// White space is as in Unicode, including line ends. Nothing is copied.
    ///
    /// ```pipe
    /// range(2) |> map { text: strip("  a cat \n") }    # { text: str }
    /// ```
    "strip(text: str) -> str",
    cost: Cost::call(10.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| Ok(Tensor::text(DType::Str, args.tensor(0).as_str().trim().as_bytes()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn both_ends() {
        let run = |text| Trial::of(&ENTRY).text(text).run();
        assert_eq!(run("\t a  b\u{a0}\r\n"), Ok(Value::text("a  b")));
        assert_eq!(run(" \n "), Ok(Value::text("")));
    }
}
