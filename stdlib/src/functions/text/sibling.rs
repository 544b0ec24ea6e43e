//! `sibling`: the file beside another, with another extension.

use super::paths::{split, split_name};
use crate::prelude::*;

function! {
    /// Returns the path with another extension: `a/1.flac` becomes `a/1.txt`.
    ///
    /// `extension` includes its dot, and replaces the last extension of the name, if it has one. Nothing is
    /// read: whether the file exists is only known when it is read.
    ///
    /// ```pipe
    /// range(2) |> map { text: sibling("speech/1.flac", ".txt") }    # { text: str }
    /// ```
    "sibling(path: str, extension: str) -> str",
    cost: Cost::out(20.0, 0.1),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (path, extension) = (args.tensor(0).as_str(), args.tensor(1).as_str());
        let kept = path.trim_end_matches('/');
        let stem = &kept[..kept.len() - split_name(split(kept).1).1.len()];
        let room = out.room(DType::Str, Shape::new(&[stem.len() + extension.len()]))?;
        room[..stem.len()].copy_from_slice(stem.as_bytes());
        room[stem.len()..].copy_from_slice(extension.as_bytes());
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    #[test]
    fn only_the_extension_changes() {
        let run = |path| Trial::of(&ENTRY).text(path).text(".txt").run();
        for (path, expected) in [
            ("a.b/1.flac", "a.b/1.txt"),
            ("a.b/1", "a.b/1.txt"),
            ("1.tar.gz", "1.tar.txt"),
            ("/x/.hidden", "/x/.hidden.txt"),
        ] {
            assert_eq!(run(path), Ok(Value::text(expected)));
        }
    }
}
