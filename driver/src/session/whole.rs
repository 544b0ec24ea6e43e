//! Writing files that are either whole or not there, and what is said where that fails.

use runtime::{Failure, os};
use std::{
    io::{self, Write},
    path::Path,
};

/// Writes a file that is either whole or not there, also after a loss of power; `what` it is, for
/// messages.
///
/// # Errors
/// It cannot be written; what was there stays.
pub fn write(
    path: &Path,
    what: &str,
    content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    safe_file::write_synced(path, content)
        .map_err(|error| failure(path, &format!("cannot write {what}"), &error))
}

/// Puts `text` into a file in place of what it holds, which stays where that fails.
///
/// The file keeps its permissions, and what a link leads to is what is replaced, as in an editor.
///
/// # Errors
/// It cannot be written.
pub fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    safe_file::rewrite(path, text).map_err(|it| unwritable(path, &it))
}

/// The failure that a file cannot be written, and what helps.
pub fn unwritable(path: &Path, error: &io::Error) -> Failure {
    failure(path, "cannot be written", error)
}

/// What went wrong with a file that is written, and what helps.
pub(crate) fn failure(path: &Path, what: &str, error: &io::Error) -> Failure {
    let remedy = write_remedy(error);
    Failure::Io { path: path.display().to_string(), detail: format!("{what}: {error}; {remedy}") }
}

/// What helps where a file cannot be written.
pub fn write_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or use a folder on another disk"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "use a writable folder"
        }
        io::ErrorKind::FileTooLarge => "raise the file size limit (`ulimit -f`)",
        io::ErrorKind::AlreadyExists
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory => "something else has that name: use another one",
        io::ErrorKind::InvalidFilename => "use a shorter name",
        io::ErrorKind::NotFound => "check that the folder exists and is not removed meanwhile",
        _ if os::is_too_many_open(error) => "raise the limit of open files (`ulimit -n`)",
        _ => "check that the disk is available and not damaged, or use a folder on another one",
    }
}
