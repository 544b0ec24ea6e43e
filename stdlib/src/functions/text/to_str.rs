//! `to_str`: bytes as text.

use crate::prelude::*;

function! {
    /// Converts bytes to a string.
    ///
    /// Fails with `utf-8` if the bytes are not valid UTF-8. Nothing is copied.
    ///
    /// ```pipe
    /// range(2) |> map { text: to_str(read_file("LICENSE")) else "" }    # { text: str }
    /// ```
    "to_str(value: bytes) fails -> str",
    // Assumed: a tenth of a nanosecond a byte.
    cost: Cost { ns_byte_in: 0.1, ..Cost::call(10.0) },
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| {
        let bytes = args.tensor(0).as_text();
        Ok(Tensor::text(DType::Str, super::reading::checked(bytes)?.as_bytes()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn only_utf8() {
        let run = |bytes| Trial::of(&ENTRY).value(Tensor::text(DType::Bytes, bytes)).run();
        assert_eq!(run("Grüße".as_bytes()), Ok(Value::text("Grüße")));
        let fault = run(b"ab\xffc").unwrap_err();
        assert_eq!(fault.code, "utf-8");
        assert!(fault.detail.contains("byte 2"), "{fault}");
    }
}
