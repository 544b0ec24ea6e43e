//! `parse_json`: a text as untyped data.

use super::json;
use crate::prelude::*;

function! {
    /// Parses a JSON string as untyped data.
    ///
    /// An example is `parse_json(text)["name"] as i32`. The string must be a single value (RFC 8259; `NaN` and
    /// `Infinity`, which Python writes, are accepted too), nested at most 128 levels deep; otherwise it fails
    /// with `json-syntax` or `json-depth`. Nothing is copied.
    ///
    /// ```pipe
    /// range(2) |> map { x: parse_json("[[1, 2], [3, 4]]")[0] as f32[n] }    # { x: f32[n] }
    /// ```
    "parse_json(text: str) fails -> untyped",
    // Assumed: two nanoseconds a byte.
    cost: Cost { ns_byte_in: 2.0, ..Cost::call(20.0) },
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| {
        let value = json::whole(args.tensor(0).as_text())?;
        Ok(Tensor::text(DType::Str, value))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn one_value() {
        let run = |text| Trial::of(&ENTRY).text(text).run();
        assert_eq!(run(" [1]\n"), Ok(Value::text("[1]")));
        assert_eq!(run("[1] 2").unwrap_err().code, "json-syntax");
    }
}
