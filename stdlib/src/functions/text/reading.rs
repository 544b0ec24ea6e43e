//! Whole files as values: what `read_file` and `read_text` share.

use super::json::shown;
use crate::prelude::*;
use runtime::{VALUE_BYTES_MAX, os, reads};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Reads the file called `path` to where the result will live, as `dtype`.
pub(super) fn read_into<'a>(
    path: &str,
    dtype: DType,
    out: &'a mut Out<'_>,
) -> Result<&'a [u8], Fault> {
    let (mut file, len) = open(path)?;
    let room = out.room(dtype, Shape::new(&[len]))?;
    match reads::to_end(&mut file, room) {
        Ok(true) => Ok(room),
        Ok(false) => Err(changed(path)),
        Err(it) => Err(unreadable(path, &it)),
    }
}

/// The file, and how many bytes it has.
fn open(path: &str) -> Result<(File, usize), Fault> {
    let file = os::open_any(Path::new(path), || ()).map_err(|it| unreadable(path, &it))?;
    let found = file.metadata().map_err(|it| unreadable(path, &it))?;
    if !found.is_file() {
        let detail = format!("{} is no file", shown(path));
        return Err(Fault::new("file-unreadable", detail));
    }
    let len = found.len();
    let fits = usize::try_from(len).ok().filter(|it| *it <= VALUE_BYTES_MAX);
    let len = fits.ok_or_else(|| {
        let detail = format!("{} has {len} bytes, and {VALUE_BYTES_MAX} are the most", shown(path));
        Fault::new("file-too-large", detail)
    })?;
    Ok((file, len))
}

fn unreadable(path: &str, error: &io::Error) -> Fault {
    let path_shown = shown(path);
    match error.kind() {
        ErrorKind::NotFound => Fault::new("file-missing", format!("there is no file {path_shown}")),
        ErrorKind::UnexpectedEof => changed(path),
        _ => Fault::new("file-unreadable", format!("{path_shown} cannot be read: {error}")),
    }
}

fn changed(path: &str) -> Fault {
    let detail = format!("{} changed while it was read", shown(path));
    Fault::new("file-unreadable", detail)
}

/// Bytes that are UTF-8: where they `are` known to be, as JSON that was read before, nobody looks.
pub(super) fn checked_unless(are: bool, bytes: &[u8]) -> Result<&[u8], Fault> {
    if are { Ok(bytes) } else { checked(bytes).map(str::as_bytes) }
}

/// Bytes as text, if they are UTF-8.
pub(super) fn checked(bytes: &[u8]) -> Result<&str, Fault> {
    str::from_utf8(bytes).map_err(|error| {
        let detail = format!("these bytes are no UTF-8 text from byte {} on", error.valid_up_to());
        Fault::new("utf-8", detail)
    })
}
