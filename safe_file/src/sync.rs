//! Bringing files to the disk, so that a loss of power takes nothing of them away.
//!
//! A file is there after a loss of power once its content and the folder that names it are on the disk:
//! `fsync` of the file says nothing of its name. What the system could not write is told once, by the
//! next call that asks; so a failed call is never tried again (Rebello et al., ATC'20).

use crate::open::{open_here, patiently};
use std::{fs::File, io, path::Path};

/// Brings the content of a regular file to the disk.
///
/// # Errors
/// It is not there, or could not be written.
pub fn sync_file(path: &Path) -> io::Result<()> {
    // It may have been closed since it was written: from Linux 4.16 on, what went wrong meanwhile is
    // told to the next one who opens it.
    patiently(|| open_here(path), || ())?.sync_data()
}

/// Brings the names in a folder to the disk. File systems that cannot do that are left alone.
///
/// # Errors
/// It is not there, or could not be written.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match patiently(|| File::open(path), || ())?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Brings all that was written to the file system of `file` to the disk: one call, however many files.
/// Gives whether the system has such a call.
///
/// # Errors
/// Something could not be written since `file` was opened.
pub fn sync_file_system(file: &File) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        rustix::fs::syncfs(file)?;
        Ok(true)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        Ok(false)
    }
}
