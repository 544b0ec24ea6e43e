//! Files that are either whole or not there.

use runtime::{Failure, os};
use std::{
    fs,
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
    let written = os::create(&draft).and_then(|file| {
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

/// Puts `text` into a file in place of what it holds, which stays where that fails.
///
/// The file keeps its permissions, and what a link leads to is what is replaced.
///
/// # Errors
/// It cannot be written.
pub fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let found = fs::canonicalize(path).and_then(|it| Ok((fs::metadata(&it)?.permissions(), it)));
    let (permissions, file) = found.map_err(|it| unwritable(path, &it))?;
    write(&file, "it", &mut |out| out.write_all(text.as_bytes()))?;
    fs::set_permissions(&file, permissions).map_err(|it| unwritable(path, &it))
}

/// The failure that a file cannot be written, and what helps.
pub fn unwritable(path: &Path, error: &io::Error) -> Failure {
    failure(path, "it cannot be written", error)
}

/// What a file is called until it is whole.
pub(crate) fn draft_of(name: &str) -> String {
    format!("{name}.part")
}

/// What went wrong with a file that is written, and what helps.
pub(crate) fn failure(path: &Path, what: &str, error: &io::Error) -> Failure {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or name a folder on another disk"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "name a folder that may be written"
        }
        io::ErrorKind::NotFound => "see that the folder is there, and that nobody takes it away",
        _ if os::is_too_many_open(error) => {
            "raise the number of files that may be open (`ulimit -n`)"
        }
        _ => "see that the disk is there and sound, or name a folder on another one",
    };
    Failure::Io { path: path.display().to_string(), detail: format!("{what}: {error}; {remedy}") }
}
