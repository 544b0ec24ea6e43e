//! `replace`: a text with every occurrence of a part replaced.

use crate::prelude::*;

function! {
    /// Replaces all occurrences of `old` with `new`.
    ///
    /// From the left, without overlap, as in Python. If `old` is empty, nothing is replaced.
    ///
    /// ```pipe
    /// range(2) |> map { path: replace("images/1.jpg", "images", "masks") }    # { path: str }
    /// ```
    "replace(text: str, old: str, new: str) -> str",
    // Assumed: a nanosecond a byte.
    cost: Cost { ns_byte_in: 1.0, ..Cost::call(40.0) },
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let [text, old, new] = [0, 1, 2].map(|it| args.tensor(it).as_str());
        if old.is_empty() {
            return out.text(DType::Str, text.as_bytes());
        }
        let n = text.matches(old).count();
        let len = text.len() - n * old.len() + n * new.len();
        let mut room = out.room(DType::Str, Shape::new(&[len]))?;
        for (i, piece) in text.split(old).enumerate() {
            if i > 0 {
                room = put(room, new);
            }
            room = put(room, piece);
        }
        Ok(())
    }))
}

/// Writes a piece, and gives the room behind it.
fn put<'a>(room: &'a mut [u8], piece: &str) -> &'a mut [u8] {
    let (to, rest) = room.split_at_mut(piece.len());
    to.copy_from_slice(piece.as_bytes());
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    /// `text.replace(old, new)` of Python.
    #[test]
    fn agrees_with_python() {
        let run = |text, old, new| Trial::of(&ENTRY).text(text).text(old).text(new).run();
        let cases = [
            ("aaa", "aa", "b", "ba"),
            ("abc", "b", "", "ac"),
            ("abc", "x", "y", "abc"),
            ("äbä", "ä", "öö", "ööböö"),
            ("", "a", "b", ""),
        ];
        for (text, old, new, expected) in cases {
            assert_eq!(run(text, old, new), Ok(Value::text(expected)));
        }
        assert_eq!(run("abc", "", "x"), Ok(Value::text("abc")));
    }
}
