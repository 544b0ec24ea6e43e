//! A set of pictures in a folder: made by all cores, kept when it is there already.
//!
//! Workers take the next index from a counter and hand what they did to the caller's thread over
//! a channel; the caller counts, and on the first error tells them to stop. A picture is
//! written under another name and renamed, so that a file that is there is whole. A marker holds
//! the set's parameters while it is made; the manifest, written last, says that it is complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use crate::scene::SCENES;
use crate::{VERSION, picture};

/// The most pictures of one set: about 110 GB.
pub(crate) const COUNT_MAX: u64 = 1_000_000;

/// In the folder of a complete set: its parameters.
const MANIFEST: &str = "sample-set.txt";

/// Bytes of a manifest that is read; far more than one has.
const MANIFEST_MAX: u64 = 1 << 16;

/// In the folder of a set that is being made, or whose making was broken off.
const MARKER: &str = "sample-set.unfinished";

/// What to make, and where.
#[derive(Clone, Debug)]
pub struct Images {
    /// Where the class folders go; made if it is not there.
    pub folder: PathBuf,
    /// How many pictures, 1 to 1,000 000; picture *i* is of class *i* modulo the classes.
    pub count: u64,
    /// Which set: another seed gives other pictures with the same statistics.
    pub seed: u64,
    /// How many classes, 1 to 10.
    pub classes: usize,
}

impl Images {
    /// 1000 pictures of ten classes, seed 0.
    pub fn new(folder: PathBuf) -> Images {
        Images { folder, count: 1000, seed: 0, classes: SCENES.len() }
    }

    /// Where picture `index` is, such as `DIR/flower/00004.jpg`.
    pub fn path(&self, index: u64) -> PathBuf {
        self.class_folder(self.class(index)).join(format!("{index:05}.jpg"))
    }

    fn class(&self, index: u64) -> usize {
        (index % self.classes as u64) as usize
    }

    fn class_folder(&self, class: usize) -> PathBuf {
        self.folder.join(SCENES[class].name)
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Pictures drawn and written now.
    pub made: u64,
    /// Pictures that were there already.
    pub kept: u64,
    /// Bytes written now.
    pub bytes: u64,
}

/// Why a set could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is out of its range; the sentence says which.
    Parameter(String),
    /// The folder holds something else than (the beginning of) this set.
    Occupied {
        /// The folder.
        folder: PathBuf,
        /// What it holds.
        holds: String,
    },
    /// Reading or writing failed.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Error::Parameter(sentence) => f.write_str(sentence),
            Error::Occupied { folder, holds } => {
                let folder = folder.display();
                write!(f, "`{folder}` contains {holds}; use a folder that is new or empty")
            }
            Error::Io { path, source } => write!(f, "`{}`: {source}", path.display()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Makes the set, or what is missing of it; a complete one is left as it is.
///
/// `progress` is called from this thread with the number of pictures that are there, each time
/// that it grows.
pub fn images(images: &Images, progress: &mut dyn FnMut(u64)) -> Result<Summary, Error> {
    check(images)?;
    if found(images)? {
        progress(images.count);
        return Ok(Summary { kept: images.count, ..Summary::default() });
    }

    write_whole(&images.folder.join(MARKER), manifest(images).as_bytes())?;
    for class in 0..images.classes {
        let folder = images.class_folder(class);
        fs::create_dir_all(&folder).map_err(|source| Error::Io { path: folder, source })?;
    }
    let summary = make(images, progress)?;
    write_whole(&images.folder.join(MANIFEST), manifest(images).as_bytes())?;
    // Another process may have made the same set at the same time, and been quicker.
    let _ = fs::remove_file(images.folder.join(MARKER));
    Ok(summary)
}

/// Whether the complete set is there; makes nothing.
pub fn is_made(images: &Images) -> bool {
    matches!(read(&images.folder.join(MANIFEST)), Ok(Some(text)) if text == manifest(images))
}

fn check(images: &Images) -> Result<(), Error> {
    let (count, classes) = (images.count, images.classes);
    if !(1..=COUNT_MAX).contains(&count) {
        return Err(Error::Parameter(format!("expected 1 to {COUNT_MAX} images, found {count}")));
    }
    if !(1..=SCENES.len()).contains(&classes) {
        let most = SCENES.len();
        return Err(Error::Parameter(format!("expected 1 to {most} classes, found {classes}")));
    }
    Ok(())
}

/// The text of the manifest: what the bytes of the pictures depend on, then their number.
fn manifest(images: &Images) -> String {
    let Images { seed, classes, count, .. } = images;
    format!("sample images\nversion {VERSION}\nseed {seed}\nclasses {classes}\ncount {count}\n")
}

/// Whether the complete set is there; an error if the folder holds anything that is not of it.
fn found(images: &Images) -> Result<bool, Error> {
    fs::create_dir_all(&images.folder)
        .map_err(|source| Error::Io { path: images.folder.clone(), source })?;
    for (name, complete) in [(MANIFEST, true), (MARKER, false)] {
        let Some(text) = read(&images.folder.join(name))? else { continue };
        if text == manifest(images) {
            return Ok(complete);
        }
        let holds = format!("another set ({})", text.trim().replace('\n', ", "));
        return Err(Error::Occupied { folder: images.folder.clone(), holds });
    }

    let mut entries = fs::read_dir(&images.folder)
        .map_err(|source| Error::Io { path: images.folder.clone(), source })?;
    match entries.next() {
        None => Ok(false),
        Some(_) => {
            let holds = "files that are not a sample set".into();
            Err(Error::Occupied { folder: images.folder.clone(), holds })
        }
    }
}

fn read(path: &Path) -> Result<Option<String>, Error> {
    match safe_file::text(path, MANIFEST_MAX) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Io { path: path.to_owned(), source }),
    }
}

/// One picture dealt with: how many bytes were written, none if it was there.
type Done = Result<Option<u64>, Error>;

fn make(images: &Images, progress: &mut dyn FnMut(u64)) -> Result<Summary, Error> {
    let n_workers =
        thread::available_parallelism().map_or(1, usize::from).min(images.count as usize);
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let (sender, receiver) = sync_channel::<Done>(2 * n_workers);
    thread::scope(|scope| {
        for _ in 0..n_workers {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            scope.spawn(move || work(images, next, stop, &sender));
        }
        drop(sender);

        let (mut summary, mut error) = (Summary::default(), None);
        // All is received even after an error, so that no worker waits for room.
        for done in receiver {
            match done {
                Ok(Some(bytes)) => {
                    summary.made += 1;
                    summary.bytes += bytes;
                }
                Ok(None) => summary.kept += 1,
                Err(it) => {
                    stop.store(true, Ordering::Relaxed);
                    error.get_or_insert(it);
                }
            }
            progress(summary.made + summary.kept);
        }
        error.map_or(Ok(summary), Err)
    })
}

fn work(images: &Images, next: &AtomicU64, stop: &AtomicBool, sender: &SyncSender<Done>) {
    while !stop.load(Ordering::Relaxed) {
        let index = next.fetch_add(1, Ordering::Relaxed);
        // A send fails only when the receiver is gone: the set is given up.
        if index >= images.count || sender.send(make_one(images, index)).is_err() {
            return;
        }
    }
}

fn make_one(images: &Images, index: u64) -> Done {
    let path = images.path(index);
    if path.exists() {
        return Ok(None);
    }
    let bytes = picture(images.seed, index, images.class(index))
        .map_err(|error| Error::Io { path: path.clone(), source: io::Error::other(error) })?;
    write_whole(&path, &bytes)?;
    Ok(Some(bytes.len() as u64))
}

/// Writes a file that is either whole or not there.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    // Two processes may make the same set: each has drafts of its own.
    safe_file::write(path, &mut |out| out.write_all(bytes))
        .map_err(|source| Error::Io { path: path.to_owned(), source })
}
