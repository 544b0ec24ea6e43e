//! `parse_float`: the number that a text says.

use crate::prelude::*;

function! {
    /// Parses a string as a number, as `f64`, rounded to the nearest.
    ///
    /// Accepts decimals with or without a point and an exponent, `inf`, and `nan`, with an optional sign and
    /// surrounding white space. Fails with `number` for anything else.
    ///
    /// ```pipe
    /// range(2) |> map { x: f32(parse_float("-1.5e3")) }    # { x: f32 }
    /// ```
    "parse_float(text: str) fails -> f64",
    cost: Cost::call(30.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let text = args.tensor(0).as_str();
        let number: Result<f64, _> = text.trim().parse();
        out.scalar(number.map_err(|_| {
            Fault::new("number", format!("{} is not a number", super::json::shown(text)))
        })?)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn decimals_with_exponents() {
        let run = |text| Trial::of(&ENTRY).text(text).run();
        let cases = [
            ("42", 42.0),
            (" -1.5e3 ", -1500.0),
            (".5", 0.5),
            ("0.1", 0.1),
            ("-inf", f64::NEG_INFINITY),
        ];
        for (text, number) in cases {
            assert_eq!(run(text), Ok(Value::of(&[], &[number])), "{text}");
        }
        for text in ["", "1,5", "1_000", "0x1", "one", "1 2", "-", "1e"] {
            assert_eq!(run(text).unwrap_err().code, "number", "{text}");
        }
    }
}
