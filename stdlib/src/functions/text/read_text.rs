//! `read_text`: a whole file as text.

use super::reading::{checked, unread};
use crate::prelude::*;
use runtime::storage::ReadWhole;

function! {
    /// Reads a file as a string, which must be UTF-8.
    ///
    /// At most 1 GiB. It includes white space at the ends; `strip` removes it. Fails with `file-missing`,
    /// `file-too-large`, `utf-8`, or `file-unreadable` if it is not a file, cannot be read, or changes while it
    /// is read; the message names the path.
    ///
    /// ```pipe
    /// range(2) |> map { text: read_text("LICENSE") else "" }    # { text: str }
    /// ```
    "read_text(path: str) reads fails -> str",
    // Assumed: as `read_file`, and a tenth of a nanosecond a byte for the check.
    cost: Cost::out(6000.0, 0.17),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::Read(ReadWhole { dtype: DType::Str, fault: unread, check: is_text }))
}

fn is_text(path: &str, bytes: &[u8]) -> Result<(), Fault> {
    let named = |it: Fault| Fault::new(it.code, format!("`{path}`: {}", it.detail));
    checked(bytes).map(|_| ()).map_err(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use std::fs;

    #[test]
    fn only_utf8() {
        let path = std::env::temp_dir().join(format!("pipec-read-text-{}", std::process::id()));
        let run = || Trial::of(&ENTRY).text(path.to_str().unwrap()).run();
        fs::write(&path, "Grüße\n").unwrap();
        assert_eq!(run(), Ok(Value::text("Grüße\n")));
        fs::write(&path, b"abc\xff").unwrap();
        let fault = run().unwrap_err();
        assert_eq!(fault.code, "utf-8");
        assert!(fault.detail.contains("pipec-read-text"), "{fault}");
        fs::remove_file(&path).unwrap();
        assert_eq!(run().unwrap_err().code, "file-missing");
    }
}
