//! Files that are either whole or not there.

use runtime::Failure;
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::Path,
};

/// Writes a file that is either whole or not there; `what` it is, for messages.
///
/// # Errors
/// It cannot be written; what was there stays.
pub(crate) fn write(
    path: &Path,
    what: &str,
    content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let draft = path.with_file_name(draft_of(name));
    let written = File::create(&draft).and_then(|file| {
        let mut out = BufWriter::new(file);
        content(&mut out)?;
        out.flush()
    });
    written.and_then(|()| fs::rename(&draft, path)).map_err(|error| {
        // The first error is told; what cannot be removed either is named as what it is.
        let _ = fs::remove_file(&draft);
        failure(path, &format!("{what} cannot be written"), &error)
    })
}

/// What a file is called until it is whole.
pub(crate) fn draft_of(name: &str) -> String {
    format!("{name}.part")
}

/// What went wrong with a file that is written, and what helps.
pub(crate) fn failure(path: &Path, what: &str, error: &io::Error) -> Failure {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull => "; free some space, or name a folder on another disk",
        io::ErrorKind::PermissionDenied => "; name a folder that may be written",
        _ => "",
    };
    Failure::Io { path: path.display().to_string(), detail: format!("{what}: {error}{remedy}") }
}
