//! `lower`: a text in lower case.

use crate::prelude::*;

function! {
    /// Converts a string to lower case.
    ///
    /// Uses Unicode's full mapping, independent of any language.
    ///
    /// ```pipe
    /// range(2) |> map { text: lower("Photo.JPG") }    # { text: str }
    /// ```
    "lower(text: str) -> str",
    // Assumed: half a nanosecond a byte.
    cost: Cost { ns_byte_in: 0.5, ..Cost::call(15.0) },
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let text = args.tensor(0);
        let bytes = text.as_text();
        if !bytes.is_ascii() {
            return out.text(DType::Str, text.as_str().to_lowercase().as_bytes());
        }
        let room = out.room(DType::Str, Shape::new(&[bytes.len()]))?;
        room.copy_from_slice(bytes);
        room.make_ascii_lowercase();
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn every_letter() {
        let run = |text| Trial::of(&ENTRY).text(text).run();
        assert_eq!(run("aB1.Z"), Ok(Value::text("ab1.z")));
        assert_eq!(run("GRÖSSE"), Ok(Value::text("grösse")));
        assert_eq!(run(""), Ok(Value::text("")));
    }
}
