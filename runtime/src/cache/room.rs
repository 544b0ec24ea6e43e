//! The room of a folder of stores: never more bytes than were allowed, whoever writes into it.
//!
//! Room is claimed by making a file longer than what is written in it, under a lock that all
//! processes take; so the lengths of the files say what is taken, and what a killed process had
//! claimed is seen as well.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// A folder of stores, and the bytes that it may take.
#[derive(Debug, Clone)]
pub struct DiskRoom {
    /// The folder.
    pub folder: PathBuf,
    /// Bytes that all files in it may take together.
    pub limit: u64,
}

impl DiskRoom {
    /// Waits until no other process opens, removes or claims anything in the folder; until it is
    /// dropped, none does.
    ///
    /// # Errors
    /// The folder cannot be written, or has no locks.
    pub fn lock(&self) -> io::Result<File> {
        let lock = safe_file::create_here(&self.folder.join("room.lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    /// Makes `files` so long, where there is room; whether there was.
    pub(super) fn claim(&self, files: [(&File, u64); 2]) -> io::Result<bool> {
        let _lock = self.lock()?;
        let mut taken = folder_bytes(&self.folder);
        for (file, len) in files {
            taken += len.saturating_sub(file.metadata()?.len());
        }
        if taken > self.limit {
            return Ok(false);
        }
        files.iter().try_for_each(|(file, len)| file.set_len(*len))?;
        Ok(true)
    }
}

/// Bytes of the files in a folder and those in it, by their lengths; what vanishes meanwhile is none.
pub fn folder_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |it: fs::DirEntry| match it.file_type() {
        Ok(kind) if kind.is_dir() => folder_bytes(&it.path()),
        Ok(kind) if kind.is_file() => it.metadata().map_or(0, |it| it.len()),
        _ => 0,
    };
    entries.map(bytes).sum()
}
