//! Where the user's data lie: one contract for the local file system, and for whatever else has objects with names.
//!
//! A path that begins with `name://` belongs to the storage that was registered under that name, any other to the
//! local file system. Nothing else opens a file of the user's data (a tidy test). A storage is one file beside this
//! one, or a crate of its own that calls [`register`].

mod ahead;
mod emulated;
mod given_up;
mod local;
#[cfg(test)]
mod tests;
mod waits;
mod whole;

pub use ahead::Ahead;
pub use emulated::{Emulated, Emulation, Objects, Ordered};
pub(crate) use given_up::until;
pub use given_up::{is_given_up, unless, unless_given_up};
use local::Local;
use std::{
    ffi::OsString,
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
    time::Duration,
};
pub use waits::{Seen, Waits};
pub use whole::{ReadWhole, len_of_value};

/// Objects with names, in folders.
///
/// Errors are those of the system, by their kind: [`io::ErrorKind::NotFound`] is an object that is not there.
pub trait Storage: Send + Sync {
    /// What a request takes, of a storage that answers late: many are to be under way at a time. None where threads
    /// wait for one after the other, as for a disk.
    fn access(&self) -> Option<Access> {
        None
    }

    /// Whether it says what a folder holds; a storage that does not has objects that are named one by one.
    fn lists(&self) -> bool {
        true
    }

    /// What lies directly in a folder, in any order.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be read.
    fn list(&self, folder: &Path) -> io::Result<Entries<'_>>;

    /// Says which folders will be listed next, so that a storage that answers late can begin with them.
    fn list_soon(&self, _folders: &[PathBuf]) {}

    /// What is at a path; links are followed.
    ///
    /// # Errors
    /// There is nothing, or nobody may know.
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// What is at several paths, all of which may be asked for at a time; `visit` is told of each, in their order.
    fn stats(&self, paths: &[PathBuf], visit: &mut dyn FnMut(usize, io::Result<Stat>)) {
        paths.iter().enumerate().for_each(|(number, path)| visit(number, self.stat(path)));
    }

    /// Opens an object that is read piece by piece. `give_up` may be called before a further attempt, and closes what
    /// the caller can do without.
    ///
    /// # Errors
    /// There is no such object, or it may not be read.
    fn open(&self, path: &Path, give_up: &mut dyn FnMut()) -> io::Result<Box<dyn Object>>;

    /// Reads objects, or ranges of them, each to where `landing` says. All of them may be under way at a time, and they
    /// come in any order; the calling thread waits for all, and `landing` is called by it alone.
    ///
    /// It may be unwound from `landing`, where there is no memory: then nothing stays under way. What comes is counted
    /// by `landing` ([`crate::reads`]).
    fn read(&self, requests: &[Request<'_>], landing: &mut dyn Landing);

    /// Writes an object: afterwards it is there as a whole, or as it was.
    ///
    /// # Errors
    /// It cannot be written.
    fn put(&self, path: &Path, bytes: Vec<u8>) -> io::Result<()>;

    /// Removes objects, and none but them; those that are not there are gone already.
    ///
    /// # Errors
    /// One of them cannot be removed; others may be gone.
    fn remove(&self, paths: &[PathBuf]) -> io::Result<()>;

    /// What a user can do about an error of it, where that is not what helps with files of this machine.
    fn remedy(&self, _error: &io::Error) -> Option<&'static str> {
        None
    }

    /// Whether the path itself is a link.
    fn is_link(&self, _path: &Path) -> bool {
        false
    }

    /// The path without links.
    ///
    /// # Errors
    /// There is nothing at it.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
}

/// How a far storage answers, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Access {
    /// From a request to the first byte of what it gives.
    pub latency: Duration,
    /// Bytes a second of one request; none: nobody knows, or it does not matter.
    pub bytes_per_second: Option<u64>,
    /// Requests that it answers at a time.
    pub requests_max: usize,
}

/// What a folder holds.
pub type Entries<'a> = Box<dyn Iterator<Item = io::Result<Entry>> + 'a>;

/// Something in a folder.
pub struct Entry(Found);

enum Found {
    Local(fs::DirEntry),
    Known(OsString, Kind),
}

impl Entry {
    /// One of which all is known.
    pub fn new(name: OsString, kind: Kind) -> Self {
        Self(Found::Known(name, kind))
    }

    /// Its name in the folder.
    pub fn name(&self) -> OsString {
        match &self.0 {
            Found::Local(entry) => entry.file_name(),
            Found::Known(name, _) => name.clone(),
        }
    }

    /// What it is: of a link, that it is one.
    ///
    /// # Errors
    /// It has gone meanwhile.
    pub fn kind(&self) -> io::Result<Kind> {
        match &self.0 {
            Found::Local(entry) => entry.file_type().map(local::kind),
            Found::Known(_, kind) => Ok(*kind),
        }
    }
}

/// What there may be at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An object with bytes.
    File,
    /// What holds others.
    Folder,
    /// A name for something else.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// What is known of an object without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Bytes that it has.
    pub bytes: u64,
    /// Changes when the object does: the nanosecond in which a file was written last, of a store the hash of its tag.
    pub tag: u128,
}

/// An object, or a range of it, that is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// Its path.
    pub path: &'a Path,
    /// The bytes that are asked for; none where that are all, however many there are.
    pub range: Option<Range<u64>>,
}

/// Where what is read goes, and who is told.
pub trait Landing {
    /// Room for the bytes of a request, as many as it has; none where that are too many, and then nothing is read of it
    /// and nobody is told.
    fn room(&mut self, request: usize, bytes: u64) -> Option<&mut [u8]>;

    /// The room of a request is filled, or why it is not.
    fn landed(&mut self, request: usize, result: Result<(), ReadError>);
}

/// Why an object was not read.
#[derive(Debug)]
pub enum ReadError {
    /// What is there is no file.
    NoFile,
    /// It had other bytes at its end than at its begin.
    Changed,
    /// It has so many bytes, and a value may not.
    TooLarge(u64),
    /// The storage says so.
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Changed,
            _ => Self::Io(error),
        }
    }
}

/// An open object. What it gives is not counted: that is for who knows whether it is of records.
pub trait Object: Send + Sync {
    /// What it is now.
    ///
    /// # Errors
    /// The storage does not say.
    fn stat(&self) -> io::Result<Stat>;

    /// Fills `room` with the bytes from `offset` on; threads may share the object.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] where there are fewer; those of the storage.
    fn read_exact_at(&self, room: &mut [u8], offset: u64) -> io::Result<()>;

    /// Appends `len` bytes from `offset` on to `to`, which is as before where they cannot be read.
    ///
    /// # Errors
    /// Those of [`Object::read_exact_at`].
    fn append_at(&self, to: &mut Vec<u8>, len: usize, offset: u64) -> io::Result<()> {
        let begin = to.len();
        to.resize(begin + len, 0);
        let read = self.read_exact_at(&mut to[begin..], offset);
        read.inspect_err(|_| to.truncate(begin))
    }

    /// Whether a read of some kilobytes takes about as long as their share of a longer one.
    fn is_near(&self) -> bool {
        false
    }

    /// Says that these bytes will be read soon.
    fn will_read(&self, bytes: Range<u64>) {
        let _ = bytes;
    }

    /// Reads on, from where the last such call ended: as many bytes as come at once, none at the end.
    ///
    /// # Errors
    /// Those of the storage.
    fn read_on(&mut self, room: &mut [u8]) -> io::Result<usize>;

    /// Says where [`Object::read_on`] goes on.
    ///
    /// # Errors
    /// Those of the storage.
    fn go_to(&mut self, offset: u64) -> io::Result<()>;
}

impl io::Read for Box<dyn Object> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.read_on(room)
    }
}

/// A storage, by what paths in it begin with.
struct Registered {
    scheme: Box<str>,
    storage: &'static dyn Storage,
}

/// As `reads` and `tokens`, of the process: kernels know a path and no more.
static REGISTERED: RwLock<Vec<Registered>> = RwLock::new(Vec::new());

/// Letters of a scheme, at most.
const SCHEME_MAX: usize = 16;

/// Paths that begin with `scheme://` are those of `storage` from now on, as long as the process lives.
pub fn register(scheme: &str, storage: Box<dyn Storage>) {
    let storage: &'static dyn Storage = Box::leak(storage);
    let mut all = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    all.retain(|it| &*it.scheme != scheme);
    all.push(Registered { scheme: scheme.into(), storage });
}

/// Whether paths that begin with `scheme://` belong to a storage.
pub fn is_registered(scheme: &str) -> bool {
    registered(scheme).is_some()
}

/// The storage that a path is of.
pub fn of(path: &Path) -> &'static dyn Storage {
    match scheme_of(path.as_os_str().as_encoded_bytes()) {
        None => &Local,
        Some(scheme) => registered(scheme).unwrap_or(&Unknown),
    }
}

/// What stands before the `://` that a path begins with, where it does.
pub fn scheme_of(path: &[u8]) -> Option<&str> {
    let end = path.iter().take(SCHEME_MAX + 1).position(|it| *it == b':')?;
    let (scheme, rest) = path.split_at(end);
    let is_scheme = scheme.first().is_some_and(u8::is_ascii_lowercase)
        && scheme.iter().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
    let scheme = str::from_utf8(scheme).ok()?;
    (is_scheme && rest.starts_with(b"://")).then_some(scheme)
}

fn registered(scheme: &str) -> Option<&'static dyn Storage> {
    let all = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    all.iter().find(|it| &*it.scheme == scheme).map(|it| it.storage)
}

/// What nobody has registered.
struct Unknown;

impl Unknown {
    fn error(path: &Path) -> io::Error {
        let scheme = scheme_of(path.as_os_str().as_encoded_bytes()).unwrap_or_default();
        let detail = format!(
            "this `pipec` was built without `{scheme}://`: build it with `--features full`"
        );
        io::Error::new(io::ErrorKind::Unsupported, detail)
    }
}

impl Storage for Unknown {
    fn list(&self, folder: &Path) -> io::Result<Entries<'_>> {
        Err(Self::error(folder))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Err(Self::error(path))
    }

    fn open(&self, path: &Path, _: &mut dyn FnMut()) -> io::Result<Box<dyn Object>> {
        Err(Self::error(path))
    }

    fn read(&self, requests: &[Request<'_>], landing: &mut dyn Landing) {
        for (number, request) in requests.iter().enumerate() {
            landing.landed(number, Err(ReadError::Io(Self::error(request.path))));
        }
    }

    fn put(&self, path: &Path, _: Vec<u8>) -> io::Result<()> {
        Err(Self::error(path))
    }

    fn remove(&self, paths: &[PathBuf]) -> io::Result<()> {
        paths.first().map_or(Ok(()), |it| Err(Self::error(it)))
    }
}
