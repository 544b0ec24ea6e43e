//! Where the files of an output lie: in a folder of this machine, or below a prefix of an object store.

mod far;
mod local;
mod uploads;

use super::{
    RunConfig, Written,
    line::{Flaw, Line, Place, Sum},
};
use runtime::{Failure, storage};
use std::{
    io::{self, BufRead, Write},
    path::Path,
};

/// What says that a folder is an output, and of what.
pub(super) const MANIFEST: &str = "pipec.json";
/// Bytes of a manifest that is read.
const MANIFEST_MAX: u64 = 64 << 20;

/// Writes what a file is to hold.
pub(super) type Content<'a> = &'a mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// Holds the files of an output, by their names below it. Files are there as a whole or not at all.
pub(super) trait Location: Send {
    /// It, for messages.
    fn path(&self) -> &Path;

    /// Bytes of files that are in memory after they were written, of a run that may take `memory`.
    fn wants(&self, memory: u64) -> u64;

    /// Is told of the run that writes here.
    fn begin(&mut self, config: &RunConfig);

    /// What the manifest here says; nothing where there is none.
    ///
    /// # Errors
    /// There is none, but something else; or it cannot be read.
    fn manifest(&self) -> Result<Option<Vec<u8>>, Failure>;

    /// Writes a file of which others tell: it outlasts a loss of power when this returns.
    ///
    /// # Errors
    /// It cannot be written; what was there stays.
    fn put(&mut self, name: &str, content: Content<'_>) -> Result<(), Failure>;

    /// Writes one of many files: [`Location::synced`] says when it outlasts a loss of power.
    ///
    /// # Errors
    /// It, or one before it, cannot be written.
    fn write(&mut self, name: &str, content: Content<'_>) -> Result<Sum, Failure>;

    /// Makes folders.
    ///
    /// # Errors
    /// They cannot be made, or lead elsewhere.
    fn prepare(&mut self, folders: &[String]) -> Result<(), Failure>;

    /// Removes the files of a folder that are meant, and the folder if it is empty then; nothing is the output itself.
    ///
    /// # Errors
    /// They cannot be removed.
    fn clear(&mut self, folder: &str, is_meant: &dyn Fn(&str) -> bool) -> Result<(), Failure>;

    /// Whether a file that is removed is gone when [`Location::clear`] returns, or never goes. Elsewhere, what a run asks for
    /// while it is killed may be done after the next one has written a file of the same name.
    fn removes_at_once(&self) -> bool;

    /// Removes what killed runs have left in a folder of files that are meant.
    fn remove_drafts(&mut self, folder: &str, is_meant: &dyn Fn(&str) -> bool);

    /// Begins the list of files: with that which is there, up to a place, or with an empty one.
    ///
    /// # Errors
    /// It cannot be read or written.
    fn open_list(&mut self, from: Option<&Place>) -> Result<(), Failure>;

    /// Adds a line to it.
    ///
    /// # Errors
    /// It cannot be written.
    fn push(&mut self, line: &Line) -> Result<(), Failure>;

    /// The list, as it is there.
    ///
    /// # Errors
    /// It is not there, or cannot be read.
    fn list(&self) -> Result<Box<dyn BufRead + '_>, Flaw>;

    /// Sees to it that a file is there, of so many bytes.
    ///
    /// # Errors
    /// It is not.
    fn check_size(&self, name: &str, bytes: u64) -> Result<(), Flaw>;

    /// The same of its content, where looking at that is cheap.
    ///
    /// # Errors
    /// It is another one.
    fn check_sum(&self, name: &str, sum: &Sum) -> Result<(), Flaw>;

    /// Begins to see to it that what is written outlasts a loss of power; does nothing while that goes on.
    ///
    /// # Errors
    /// Something could not be written.
    fn sync(&mut self, written: Written) -> Result<(), Failure>;

    /// What does.
    ///
    /// # Errors
    /// Something could not be written.
    fn synced(&self) -> Result<Written, Failure>;

    /// Waits until all that is written does.
    ///
    /// # Errors
    /// Something could not be written.
    fn settle(&mut self, written: Written) -> Result<(), Failure>;
}

/// The location that a path names; a folder is made if there is none.
///
/// # Errors
/// Nothing can be written there, or another run does.
pub(super) fn open(path: &Path) -> Result<Box<dyn Location>, Failure> {
    match refused(path) {
        None if is_far(path) => Ok(Box::new(far::Far::new(path))),
        None => Ok(Box::new(local::Local::open(path)?)),
        Some((why, help)) => {
            Err(Failure::Io { path: shown(path), detail: format!("{why}; {help}") })
        }
    }
}

/// Whether a path is one of a store.
#[must_use]
pub fn is_far(path: &Path) -> bool {
    path.to_str().is_some_and(|it| it.contains("://"))
}

/// Why no output can be written to a path, and what helps.
#[must_use]
pub fn refused(path: &Path) -> Option<(String, String)> {
    let (scheme, _) = path.to_str()?.split_once("://")?;
    let help = match cfg!(feature = "stores") {
        true => {
            "use a folder, or an object store: `--out s3://bucket/prefix`, `gs://…` or `az://…`"
        }
        false => "use a folder; object stores need a `pipec` that was built with `--features full`",
    };
    if !storage::is_registered(scheme) {
        let why = format!("there is no storage that `{scheme}://` stands for");
        let lower = scheme.to_lowercase();
        return Some(match storage::is_registered(&lower) {
            true => (why, format!("write `{lower}://`")),
            false => (why, help.to_owned()),
        });
    }
    // Who does not say what a folder holds cannot hold an output that a run goes on with, or that another replaces.
    let lists = storage::of(path).lists();
    (!lists).then(|| ("output cannot be written to a web server".to_owned(), help.to_owned()))
}

/// Something else lies where an output is to be.
pub(super) fn occupied(path: &Path) -> Failure {
    let what = if is_far(path) { "objects" } else { "files" };
    Failure::Io {
        path: path.display().to_string(),
        detail: format!(
            "the folder contains {what} that are not the output of a run; use one that is new or empty"
        ),
    }
}

/// What is wrong with a file of an output.
fn missing(name: &str) -> String {
    format!("`{name}` is missing")
}

fn other_size(name: &str, found: u64, written: u64) -> String {
    format!("`{name}` has {found} bytes, but {written} were written")
}

/// A path as messages show it: what stands behind `?` in a URL may be a signature.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    match is_far(path) {
        true => text.split('?').next().unwrap_or_default().to_owned(),
        false => text,
    }
}
