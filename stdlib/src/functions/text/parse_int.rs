//! `parse_int`: the whole number that a text says.

use crate::prelude::*;

function! {
    /// Parses a string as a decimal integer.
    ///
    /// Accepts an optional sign and surrounding white space. Fails with `number` for anything else, or if the
    /// number does not fit into `i64`.
    ///
    /// ```pipe
    /// range(2) |> map { n: parse_int("42") }    # { n: i64 }
    /// ```
    "parse_int(text: str) fails -> i64",
    cost: Cost::call(20.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let text = args.tensor(0).as_str();
        let number: Result<i64, _> = text.trim().parse();
        out.scalar(number.map_err(|_| {
            Fault::new("number", format!("{} is not an integer", super::json::shown(text)))
        })?)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn decimals_only() {
        let run = |text| Trial::of(&ENTRY).text(text).run();
        let cases =
            [("42", 42), (" -7\n", -7), ("+1", 1), ("007", 7), ("-9223372036854775808", i64::MIN)];
        for (text, number) in cases {
            assert_eq!(run(text), Ok(Value::of(&[], &[number])), "{text}");
        }
        for text in ["", "1.0", "1_000", "0x1", "9223372036854775808", "one", "1 2", "-"] {
            assert_eq!(run(text).unwrap_err().code, "number", "{text}");
        }
    }
}
