//! A prefix of an object store: `s3://bucket/prefix`.
//!
//! Objects are put as a whole, several at a time beside the run (`uploads.rs`). What names them is put when they are
//! there: the list with a checkpoint and at the end, the manifest that says that all is complete last.

use super::{
    Content, Location, MANIFEST, MANIFEST_MAX,
    uploads::{self, Target, Uploads},
};
use crate::session::{
    sink::{
        RunConfig, Written,
        line::{Flaw, LIST, Line, Place, Sum, Summing},
    },
    stop::Stop,
    stores::failure,
};
use runtime::{
    Failure,
    storage::{self, Kind, Landing, ReadError, Request, Storage},
};
use std::{
    cell::{OnceCell, RefCell},
    collections::BTreeSet,
    io::{self, BufRead, Cursor},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Bytes of the list of files, which is in memory: about a million files.
const LIST_MAX: u64 = 256 << 20;

/// The prefix.
pub(super) struct Far {
    path: PathBuf,
    storage: &'static dyn Storage,
    stop: Stop,
    /// Bytes that the run may take, and whether it has a checkpoint.
    memory: u64,
    is_saved: bool,
    uploads: Option<Uploads>,
    /// The list of an earlier run, when it was read.
    list: OnceCell<Arc<[u8]>>,
    /// Folders whose objects the storage was asked for, so that it knows their sizes.
    listed: RefCell<BTreeSet<PathBuf>>,
}

impl Far {
    /// That which a path names.
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            storage: storage::of(path),
            stop: Stop::default(),
            memory: u64::MAX,
            is_saved: false,
            uploads: None,
            list: OnceCell::new(),
            listed: RefCell::default(),
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.path.clone() } else { self.path.join(name) }
    }

    /// Asks the storage for something; a run that is stopped does not wait for that.
    fn ask<T>(
        &self,
        (name, what): (&str, &str),
        call: impl FnOnce(&Path) -> io::Result<T>,
    ) -> Result<T, Failure> {
        let path = self.at(name);
        let done = storage::unless(self.stop.flag(), || call(&path));
        done.map_err(|it| match self.stop.is_requested() {
            true => Failure::Stopped,
            false => failure(self.storage, &path, what, &it),
        })
    }

    /// An object; none where it is not there.
    fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, Failure> {
        self.ask((name, "cannot be read"), |path| {
            let mut whole = Whole { most, bytes: Vec::new(), done: Err(too_large()) };
            self.storage.read(&[Request { path, range: None }], &mut whole);
            match whole.done {
                Ok(()) => Ok(Some(whole.bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    /// Names of what lies directly in a folder, and whether they are objects.
    fn names(&self, folder: &str) -> Result<Vec<(String, bool)>, Failure> {
        self.ask((folder, "cannot be listed"), |path| {
            let entries = match self.storage.list(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                entries => entries?,
            };
            let entry = |it: io::Result<storage::Entry>| {
                let it = it?;
                let is_object = it.kind()? == Kind::File;
                Ok(it.name().into_string().ok().map(|name| (name, is_object)))
            };
            entries.filter_map(|it| entry(it).transpose()).collect()
        })
    }
}

impl Location for Far {
    fn path(&self) -> &Path {
        &self.path
    }

    fn wants(&self, memory: u64) -> u64 {
        uploads::room(memory)
    }

    fn begin(&mut self, config: &RunConfig) {
        self.stop = config.stop.clone();
        (self.memory, self.is_saved) = (config.memory, config.is_saved);
    }

    fn manifest(&self) -> Result<Option<Vec<u8>>, Failure> {
        if let Some(text) = self.read(MANIFEST, MANIFEST_MAX)? {
            return Ok(Some(text));
        }
        match self.names("")?.is_empty() {
            true => Ok(None),
            false => Err(super::occupied(&self.path)),
        }
    }

    fn put(&mut self, name: &str, content: Content<'_>) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        content(&mut bytes).map_err(|it| unwritten(&self.at(name), &it))?;
        self.ask((name, "cannot be written"), |path| self.storage.put(path, bytes))
    }

    fn write(&mut self, name: &str, content: Content<'_>) -> Result<Sum, Failure> {
        let path = self.at(name);
        let mut bytes = Vec::new();
        let mut summing = Summing::new(&mut bytes);
        content(&mut summing).map_err(|it| unwritten(&path, &it))?;
        let sum = summing.sum();
        bytes.shrink_to_fit();
        let uploads = self.uploads.as_mut().expect("the list is opened first");
        uploads.push(path, bytes)?;
        Ok(sum)
    }

    /// There are no folders without objects.
    fn prepare(&mut self, _: &[String]) -> Result<(), Failure> {
        Ok(())
    }

    fn clear(&mut self, folder: &str, is_meant: &dyn Fn(&str) -> bool) -> Result<(), Failure> {
        let names = self.names(folder)?;
        let meant = names.iter().filter(|it| it.1 && is_meant(&it.0));
        let place = self.at(folder);
        let paths: Vec<PathBuf> = meant.map(|it| place.join(&it.0)).collect();
        match paths.is_empty() {
            true => Ok(()),
            false => self
                .ask((folder, "cannot remove the earlier output"), |_| self.storage.remove(&paths)),
        }
    }

    fn removes_at_once(&self) -> bool {
        false
    }

    /// An object is there as a whole, or not at all.
    fn remove_drafts(&mut self, _: &str, _: &dyn Fn(&str) -> bool) {}

    fn open_list(&mut self, from: Option<&Place>) -> Result<(), Failure> {
        let (text, before) = match from {
            None => (Vec::new(), Written::default()),
            Some(place) => {
                let text = self.list.get().map_or(&[][..], |it| it);
                let end = usize::try_from(place.list).unwrap_or(usize::MAX).min(text.len());
                (text[..end].to_vec(), place.written())
            }
        };
        let target = Target { storage: self.storage, list: self.at(LIST) };
        let (memory, is_saved) = (self.memory, self.is_saved);
        self.uploads =
            Some(Uploads::new(target, (text, before), self.stop.clone(), (memory, is_saved)));
        Ok(())
    }

    fn push(&mut self, line: &Line) -> Result<(), Failure> {
        let Some(uploads) = &self.uploads else { return Ok(()) };
        let text = line.text();
        if uploads.list_bytes() + text.len() as u64 <= LIST_MAX {
            uploads.note(&text);
            return Ok(());
        }
        Err(Failure::Io {
            path: self.path.display().to_string(),
            detail: "the output has so many objects that the list of them exceeds 256 MiB; write larger \
                     shards (`--shard`) or larger batches"
                .to_owned(),
        })
    }

    fn list(&self) -> Result<Box<dyn BufRead + '_>, Flaw> {
        if let Some(uploads) = &self.uploads {
            return Ok(Box::new(Cursor::new(uploads.list())));
        }
        if self.list.get().is_none() {
            let text = self.read(LIST, LIST_MAX).map_err(Flaw::Failure)?;
            let text = text.ok_or_else(|| Flaw::Damage(super::missing(LIST)))?;
            let _ = self.list.set(text.into());
        }
        Ok(Box::new(Cursor::new(self.list.get().cloned().unwrap_or_default())))
    }

    fn check_size(&self, name: &str, bytes: u64) -> Result<(), Flaw> {
        let path = self.at(name);
        let folder = path.parent().unwrap_or(&self.path);
        if self.listed.borrow_mut().insert(folder.to_owned()) {
            let below = name.rsplit_once('/').map_or("", |it| it.0);
            self.names(below).map_err(Flaw::Failure)?;
        }
        let found = self.ask((name, "cannot be read"), |path| match self.storage.stat(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        });
        match found.map_err(Flaw::Failure)? {
            Some(it) if it.kind == Kind::File && it.bytes == bytes => Ok(()),
            Some(it) if it.kind == Kind::File => {
                Err(Flaw::Damage(super::other_size(name, it.bytes, bytes)))
            }
            _ => Err(Flaw::Damage(super::missing(name))),
        }
    }

    /// Stores keep what they have acknowledged, and reading it again would take as long as the run has.
    fn check_sum(&self, _: &str, _: &Sum) -> Result<(), Flaw> {
        Ok(())
    }

    fn sync(&mut self, written: Written) -> Result<(), Failure> {
        self.uploads.as_mut().map_or(Ok(()), |it| it.sync(written))
    }

    fn synced(&self) -> Result<Written, Failure> {
        self.uploads.as_ref().map_or(Ok(Written::default()), Uploads::done)
    }

    fn settle(&mut self, written: Written) -> Result<(), Failure> {
        self.uploads.as_mut().map_or(Ok(()), |it| it.settle(written))
    }
}

/// Takes an object of at most so many bytes.
struct Whole {
    most: u64,
    bytes: Vec<u8>,
    done: io::Result<()>,
}

impl Landing for Whole {
    fn room(&mut self, _: usize, bytes: u64) -> Option<&mut [u8]> {
        if bytes > self.most {
            return None;
        }
        self.bytes = vec![0; bytes as usize];
        Some(&mut self.bytes)
    }

    fn landed(&mut self, _: usize, result: Result<(), ReadError>) {
        self.done = result.map_err(|it| match it {
            ReadError::Io(error) => error,
            ReadError::NoFile => io::ErrorKind::NotFound.into(),
            ReadError::Changed => io::Error::other("it changed while it was read"),
            ReadError::TooLarge(_) => too_large(),
        });
    }
}

fn too_large() -> io::Error {
    io::Error::other("it is larger than any that pipec writes")
}

/// The content of an object cannot be made.
fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::Io { path: path.display().to_string(), detail: format!("cannot be written: {error}") }
}
