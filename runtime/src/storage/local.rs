//! The local file system: regular files, opened so that neither pipes nor devices can do harm.

use super::{Entries, Entry, Found, Kind, Landing, Object, ReadError, Request, Stat, Storage};
use crate::{os, reads};
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

/// The file system that the process sees.
pub(super) struct Local;

impl Storage for Local {
    fn list(&self, folder: &Path) -> io::Result<Entries<'_>> {
        Ok(Box::new(fs::read_dir(folder)?.map(|it| it.map(|it| Entry(Found::Local(it))))))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        fs::metadata(path).map(|it| stat(&it))
    }

    fn open(&self, path: &Path, give_up: &mut dyn FnMut()) -> io::Result<Box<dyn Object>> {
        Ok(Box::new(os::open(path, give_up)?))
    }

    /// One after the other: the calling threads are those that there are to wait for a disk.
    fn read(&self, requests: &[Request<'_>], landing: &mut dyn Landing) {
        for request in requests.iter().enumerate() {
            let number = request.0;
            match self.answer(request, landing) {
                Ok(false) => {}
                Ok(true) => landing.landed(number, Ok(())),
                Err(error) => landing.landed(number, Err(error)),
            }
        }
    }

    fn put(&self, path: &Path, bytes: Vec<u8>) -> io::Result<()> {
        safe_file::write(path, &mut |it| it.write_all(&bytes))
    }

    fn remove(&self, paths: &[PathBuf]) -> io::Result<()> {
        paths.iter().try_for_each(|it| match fs::remove_file(it) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
    }

    fn is_link(&self, path: &Path) -> bool {
        path.is_symlink()
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }
}

impl Local {
    /// Does what is asked for; `false` where there is no room for it.
    pub(super) fn answer(
        &self,
        (number, Request { path, range }): (usize, &Request<'_>),
        landing: &mut dyn Landing,
    ) -> Result<bool, ReadError> {
        match range {
            None => whole(path, number, landing),
            Some(range) => part(path, range, number, landing),
        }
    }
}

/// Reads all of a file; `false` where there is no room for it.
fn whole(path: &Path, number: usize, landing: &mut dyn Landing) -> Result<bool, ReadError> {
    // What is no file is opened too, so that it can be said.
    let mut file = os::open_any(path, || ())?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(ReadError::NoFile);
    }
    let Some(room) = landing.room(number, found.len()) else { return Ok(false) };
    match reads::to_end(&mut file, room)? {
        true => Ok(true),
        false => Err(ReadError::Changed),
    }
}

/// Reads a range of a file; `false` where there is no room for it.
fn part(
    path: &Path,
    range: &Range<u64>,
    number: usize,
    landing: &mut dyn Landing,
) -> Result<bool, ReadError> {
    let file = os::open(path, || ())?;
    let bytes = range.end.saturating_sub(range.start);
    let Some(room) = landing.room(number, bytes) else { return Ok(false) };
    os::read_exact_at(&file, room, range.start)?;
    Ok(true)
}

impl Object for File {
    fn stat(&self) -> io::Result<Stat> {
        self.metadata().map(|it| stat(&it))
    }

    fn read_exact_at(&self, room: &mut [u8], offset: u64) -> io::Result<()> {
        os::read_exact_at(self, room, offset)
    }

    // Miri has no such call.
    #[cfg(all(unix, not(miri)))]
    fn append_at(&self, to: &mut Vec<u8>, len: usize, offset: u64) -> io::Result<()> {
        os::append_at(self, to, len, offset)
    }

    fn is_near(&self) -> bool {
        true
    }

    fn will_read(&self, bytes: Range<u64>) {
        os::will_read(self, bytes);
    }

    fn read_on(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.read(room)
    }

    fn go_to(&mut self, offset: u64) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset)).map(|_| ())
    }
}

fn stat(of: &fs::Metadata) -> Stat {
    let changed = of.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let tag = changed.map_or(0, |it| it.as_nanos());
    Stat { kind: kind(of.file_type()), bytes: of.len(), tag }
}

pub(super) fn kind(of: fs::FileType) -> Kind {
    match () {
        () if of.is_symlink() => Kind::Link,
        () if of.is_dir() => Kind::Folder,
        () if of.is_file() => Kind::File,
        () => Kind::Other,
    }
}
