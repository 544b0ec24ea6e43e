//! Whole files as values: what `read_file` and `read_text` share.

use super::json::shown;
use crate::prelude::*;
use runtime::VALUE_BYTES_MAX;
use runtime::storage::ReadError;
use std::io::ErrorKind;

/// What is wrong with a record whose file cannot be read.
pub(super) fn unread(path: &str, error: &ReadError) -> Fault {
    let path = shown(path);
    let unreadable = |why: String| Fault::new("file-unreadable", format!("{path} {why}"));
    match error {
        ReadError::NoFile => unreadable("is not a file".to_owned()),
        ReadError::Changed => unreadable("changed while it was read".to_owned()),
        ReadError::TooLarge(bytes) => {
            let detail = format!("{path} has {bytes} bytes, but the limit is {VALUE_BYTES_MAX}");
            Fault::new("file-too-large", detail)
        }
        ReadError::Io(error) if error.kind() == ErrorKind::NotFound => {
            Fault::new("file-missing", format!("cannot find the file {path}"))
        }
        ReadError::Io(error) => {
            Fault::new("file-unreadable", format!("cannot read {path}: {error}"))
        }
    }
}

/// Bytes that are UTF-8: where they `are` known to be, as JSON that was read before, nobody looks.
pub(super) fn checked_unless(are: bool, bytes: &[u8]) -> Result<&[u8], Fault> {
    if are { Ok(bytes) } else { checked(bytes).map(str::as_bytes) }
}

/// Bytes as text, if they are UTF-8.
pub(super) fn checked(bytes: &[u8]) -> Result<&str, Fault> {
    str::from_utf8(bytes).map_err(|error| {
        let detail = format!("the bytes are not valid UTF-8 from byte {} on", error.valid_up_to());
        Fault::new("utf-8", detail)
    })
}
