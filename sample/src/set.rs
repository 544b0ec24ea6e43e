//! A set of pictures in a folder: made by all cores, kept when it is there already.
//!
//! Workers take the next index from a counter and hand what they did to the caller's thread over
//! a channel; the caller counts, and on the first error tells them to stop. A picture is
//! written under another name and renamed, so that a file that is there is whole. A marker holds
//! the set's parameters while it is made; the manifest, written last, says that it is complete.
//! All kinds of sets are made so: [`make`].

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
    let folders: Vec<_> = (0..images.classes).map(|it| images.class_folder(it)).collect();
    make(Making {
        folder: &images.folder,
        folders: &folders,
        manifest: &manifest(images),
        n_jobs: images.count,
        n_pictures: images.count,
        job: &|index| make_one(images, index).map(|bytes| Done { pictures: 1, bytes }),
        finish: &mut || Ok(()),
        progress,
    })
}

/// A set that is made, or is there already.
pub(crate) struct Making<'a> {
    pub(crate) folder: &'a Path,
    /// Those below it.
    pub(crate) folders: &'a [PathBuf],
    /// What the files depend on: it stands in the folder when all are there.
    pub(crate) manifest: &'a str,
    pub(crate) n_jobs: u64,
    pub(crate) n_pictures: u64,
    /// Makes what belongs to a number; any thread does.
    pub(crate) job: &'a (dyn Fn(u64) -> Result<Done, Error> + Sync),
    /// Makes what comes after all jobs.
    pub(crate) finish: &'a mut dyn FnMut() -> Result<(), Error>,
    /// Is told how many pictures there are.
    pub(crate) progress: &'a mut dyn FnMut(u64),
}

/// What came of one job: pictures, and bytes that were written, none if they were there.
pub(crate) struct Done {
    pub(crate) pictures: u64,
    pub(crate) bytes: Option<u64>,
}

/// Makes a set, or what is missing of it.
pub(crate) fn make(making: Making<'_>) -> Result<Summary, Error> {
    let Making { folder, manifest, n_pictures, .. } = making;
    if found(folder, manifest)? {
        (making.progress)(n_pictures);
        return Ok(Summary { kept: n_pictures, ..Summary::default() });
    }

    write_whole(&folder.join(MARKER), manifest.as_bytes())?;
    for folder in making.folders {
        fs::create_dir_all(folder).map_err(|source| Error::Io { path: folder.clone(), source })?;
    }
    let summary = all_jobs(making.n_jobs, making.job, making.progress)?;
    (making.finish)()?;
    write_whole(&folder.join(MANIFEST), manifest.as_bytes())?;
    // Another process may have made the same set at the same time, and been quicker.
    let _ = fs::remove_file(folder.join(MARKER));
    Ok(summary)
}

/// Whether a complete set with this manifest is there; makes nothing.
pub(crate) fn is_made(folder: &Path, manifest: &str) -> bool {
    matches!(read(&folder.join(MANIFEST)), Ok(Some(text)) if text == manifest)
}

/// That a set may have so many pictures.
pub(crate) fn check_count(count: u64) -> Result<(), Error> {
    if (1..=COUNT_MAX).contains(&count) {
        return Ok(());
    }
    Err(Error::Parameter(format!("expected 1 to {COUNT_MAX} images, found {count}")))
}

fn check(images: &Images) -> Result<(), Error> {
    let (count, classes) = (images.count, images.classes);
    check_count(count)?;
    if !(1..=SCENES.len()).contains(&classes) {
        let most = SCENES.len();
        return Err(Error::Parameter(format!("expected 1 to {most} classes, found {classes}")));
    }
    Ok(())
}

/// The text of the manifest: what the bytes of the pictures depend on, then their number.
pub(crate) fn manifest(images: &Images) -> String {
    let Images { seed, classes, count, .. } = images;
    format!("sample images\nversion {VERSION}\nseed {seed}\nclasses {classes}\ncount {count}\n")
}

/// Whether the complete set is there; an error if the folder holds anything that is not of it.
fn found(folder: &Path, manifest: &str) -> Result<bool, Error> {
    fs::create_dir_all(folder).map_err(|source| Error::Io { path: folder.to_owned(), source })?;
    for (name, complete) in [(MANIFEST, true), (MARKER, false)] {
        let Some(text) = read(&folder.join(name))? else { continue };
        if text == manifest {
            return Ok(complete);
        }
        let holds = format!("another set ({})", text.trim().replace('\n', ", "));
        return Err(Error::Occupied { folder: folder.to_owned(), holds });
    }

    let mut entries =
        fs::read_dir(folder).map_err(|source| Error::Io { path: folder.to_owned(), source })?;
    match entries.next() {
        None => Ok(false),
        Some(_) => {
            let holds = "files that are not a sample set".into();
            Err(Error::Occupied { folder: folder.to_owned(), holds })
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

type Job<'a> = &'a (dyn Fn(u64) -> Result<Done, Error> + Sync);

fn all_jobs(n_jobs: u64, job: Job<'_>, progress: &mut dyn FnMut(u64)) -> Result<Summary, Error> {
    let n_workers = thread::available_parallelism().map_or(1, usize::from).min(n_jobs as usize);
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let (sender, receiver) = sync_channel::<Result<Done, Error>>(2 * n_workers);
    thread::scope(|scope| {
        for _ in 0..n_workers {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            scope.spawn(move || work((n_jobs, job), next, stop, &sender));
        }
        drop(sender);

        let (mut summary, mut error) = (Summary::default(), None);
        // All is received even after an error, so that no worker waits for room.
        for done in receiver {
            match done {
                Ok(Done { pictures, bytes: Some(bytes) }) => {
                    summary.made += pictures;
                    summary.bytes += bytes;
                }
                Ok(Done { pictures, bytes: None }) => summary.kept += pictures,
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

fn work(
    (n_jobs, job): (u64, Job<'_>),
    next: &AtomicU64,
    stop: &AtomicBool,
    sender: &SyncSender<Result<Done, Error>>,
) {
    while !stop.load(Ordering::Relaxed) {
        let index = next.fetch_add(1, Ordering::Relaxed);
        // A send fails only when the receiver is gone: the set is given up.
        if index >= n_jobs || sender.send(job(index)).is_err() {
            return;
        }
    }
}

fn make_one(images: &Images, index: u64) -> Result<Option<u64>, Error> {
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
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    // Two processes may make the same set: each has drafts of its own.
    safe_file::write(path, &mut |out| out.write_all(bytes))
        .map_err(|source| Error::Io { path: path.to_owned(), source })
}
