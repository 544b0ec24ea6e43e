//! `extension_of`: a file's extension.

use super::paths::{split, split_name};
use crate::prelude::*;

function! {
    /// Returns the last extension of a file name, with its dot.
    ///
    /// Empty if the name has none. A dot at the beginning of the name does not start an extension. Folders are
    /// separated by `/`, as in Python's `pathlib`. Nothing is read or copied.
    ///
    /// ```pipe
    /// range(2) |> map { part: extension_of("masks/7.png") }    # { part: str }
    /// ```
    "extension_of(path: str) -> str",
    cost: Cost::call(15.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| {
        let path = args.tensor(0).as_str();
        Ok(Tensor::text(DType::Str, split_name(split(path).1).1.as_bytes()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn of_a_path() {
        assert_eq!(Trial::of(&ENTRY).text("masks/7.png").run(), Ok(Value::text(".png")));
    }
}
