//! `name_of`: the last part of a path.

use super::paths::split;
use crate::prelude::*;

function! {
    /// Returns the last component of a path: the file name.
    ///
    /// Folders are separated by `/`, as in Python's `pathlib`. Nothing is read or copied.
    ///
    /// ```pipe
    /// range(2) |> map { part: name_of("masks/7.png") }    # { part: str }
    /// ```
    "name_of(path: str) -> str",
    cost: Cost::call(15.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| {
        let path = args.tensor(0).as_str();
        Ok(Tensor::text(DType::Str, split(path).1.as_bytes()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn of_a_path() {
        assert_eq!(Trial::of(&ENTRY).text("masks/7.png").run(), Ok(Value::text("7.png")));
    }
}
