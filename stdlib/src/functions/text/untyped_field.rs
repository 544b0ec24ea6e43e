//! `untyped_field`: a member of an untyped object; what `row["name"]` becomes.

use super::json;
use crate::prelude::*;

function! {
    /// The member `key` of an untyped object; `row["key"]` is short for it.
    ///
    /// It is untyped too: `as` says what it is. Of several members of that name it is the first. One
    /// that is not there is the fault `field-missing`, what is no object `json-syntax`. Nothing is
    /// copied.
    ///
    /// ```pipe
    /// range(2) |> map { n: untyped_field(parse_json('{"n": 3}'), "n") as i32 }    # { n: i32 }
    /// ```
    "untyped_field(row: untyped, key: str) fails -> untyped",
    // Assumed: two nanoseconds a byte, of half the object.
    cost: Cost { ns_byte_in: 1.0, ..Cost::call(30.0) },
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| {
        let value = json::field(args.tensor(0).as_str(), args.tensor(1).as_str())?;
        Ok(Tensor::text(DType::Str, value.as_bytes()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn a_member_and_none() {
        let run = |key| Trial::of(&ENTRY).untyped(r#"{"a": {"b": [1]}}"#).text(key).run();
        assert_eq!(run("a"), Ok(Value::text(r#"{"b": [1]}"#)));
        assert_eq!(run("b").unwrap_err().code, "field-missing");
    }
}
