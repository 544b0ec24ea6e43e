//! `read_file`: a whole file as bytes.

use super::reading::unread;
use crate::prelude::*;
use runtime::storage::ReadWhole;

function! {
    /// Reads a file as bytes.
    ///
    /// At most 1 GiB. Fails with `file-missing`, `file-too-large`, or `file-unreadable` if it is not a file,
    /// cannot be read, or changes while it is read; the message names the path.
    ///
    /// ```pipe
    /// range(2) |> map { n: len(read_file("LICENSE")) else 0 }    # { n: i64 }
    /// ```
    "read_file(path: str) reads fails -> bytes",
    // Assumed: open, read and close from the page cache (SPEED: 14 µs for 110 kB).
    cost: Cost::out(6000.0, 0.07),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    let check = |_: &str, _: &[u8]| Ok(());
    Ok(Kernel::Read(ReadWhole { dtype: DType::Bytes, fault: unread, check }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use std::fs;

    #[test]
    fn whole_files_and_what_is_none() {
        let folder = std::env::temp_dir().join(format!("pipec-read-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let run = |path: &str| Trial::of(&ENTRY).text(path).run();
        let code = |path: &str| run(path).unwrap_err();

        fs::write(path("full"), b"a\xff\0b").unwrap();
        fs::write(path("empty"), b"").unwrap();
        let huge = fs::File::create(path("huge")).unwrap();
        huge.set_len(runtime::VALUE_BYTES_MAX as u64 + 1).unwrap();

        assert_eq!(run(&path("full")), Ok(Value::bytes(b"a\xff\0b")));
        assert_eq!(run(&path("empty")), Ok(Value::bytes(b"")));
        assert_eq!(code(&path("huge")).code, "file-too-large");
        assert_eq!(code(&path("none")).code, "file-missing");
        assert!(code(&path("none")).detail.contains("none"), "the path is named");
        assert_eq!(code(&path("")).code, "file-unreadable", "a folder is no file");
        assert_eq!(code("").code, "file-missing");
        assert_eq!(code("a\0b").code, "file-unreadable");
        fs::remove_dir_all(&folder).unwrap();
    }
}
