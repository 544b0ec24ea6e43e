//! Writing files that are either whole or not there.
//!
//! A draft has a random name beside the target and is made with `O_EXCL`, so that a link which waits
//! there is neither followed nor written through. A link that is the target itself is replaced, as
//! by `rename`; only [`rewrite`], for texts that a person edits, writes the file that it leads to.
//!
//! A draft goes away with its `Draft`. What a signal ends drops nothing: who handles signals calls
//! [`remove_drafts`] first.

use crate::{
    open::{is_real_folder, patiently},
    sync::sync_folder,
};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File, FileType, OpenOptions, Permissions},
    io::{self, BufWriter, Write},
    mem,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tempfile::{Builder, NamedTempFile};

/// What a draft's name ends with.
const SUFFIX: &str = ".part";
/// Characters that are drawn for a name.
const RANDOM: usize = 8;
/// Bytes of the target's name that a draft's name repeats; names have at most 255.
const NAME_MAX: usize = 200;

/// The drafts of this process. It is global since what ends it is: a signal is for the whole process.
static DRAFTS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file that is being written.
#[derive(Debug)]
pub struct Draft {
    file: NamedTempFile,
    noted: Noted,
}

/// A draft's entry among those of the process.
#[derive(Debug)]
struct Noted(PathBuf);

impl Drop for Noted {
    fn drop(&mut self) {
        drafts().remove(&self.0);
    }
}

impl Draft {
    /// A draft of the file at `path`; `mode` is what the process' mask is taken from, such as `0o666`.
    ///
    /// # Errors
    /// The folder is not there, or may not be written.
    pub fn new(path: &Path, mode: u32) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let folder = folder_of(path);
        let mut prefix = OsString::from(".");
        match name.to_str() {
            Some(name) => prefix.push(&name[..name.floor_char_boundary(NAME_MAX)]),
            None => prefix.push("draft"),
        }
        prefix.push(".");
        let made = Builder::new().prefix(&prefix).suffix(SUFFIX).rand_bytes(RANDOM).make_in(
            folder,
            |path| {
                // While it is held no signal ends the process between the two.
                let mut all = drafts();
                let file = patiently(|| options(mode).open(path), || ())?;
                all.insert(path.to_owned());
                Ok(file)
            },
        )?;
        let noted = Noted(made.path().to_owned());
        Ok(Self { file: made, noted })
    }

    /// The file.
    pub fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Puts it in the place of `path`.
    ///
    /// # Errors
    /// It cannot be put there, and is gone.
    pub fn finish(self, path: &Path) -> io::Result<()> {
        let Self { file, noted } = self;
        let (file, mut draft) = file.into_parts();
        // Closed first: some systems rename nothing that is open.
        drop(file);
        fs::rename(&draft, path)?;
        draft.disable_cleanup(true);
        drop(noted);
        Ok(())
    }
}

/// Writes a file that is either whole or not there. A device or a pipe is written to as it is.
///
/// # Errors
/// It cannot be written; what was there stays.
pub fn write(
    path: &Path,
    content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if is_special(path) {
        return written(&mut special(path)?, content);
    }
    let mut draft = Draft::new(path, 0o666)?;
    written(draft.file(), content)?;
    draft.finish(path)
}

/// The same for a file that must outlast a loss of power: when it has its name, its content is on the
/// disk, and after that the name. Without this a file system may keep the name alone, of an empty file.
///
/// # Errors
/// Those of [`write()`].
pub fn write_synced(
    path: &Path,
    content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if is_special(path) {
        return write(path, content);
    }
    let mut draft = Draft::new(path, 0o666)?;
    written(draft.file(), content)?;
    draft.file().sync_data()?;
    draft.finish(path)?;
    sync_folder(folder_of(path))
}

/// Puts `text` into a file in place of what it holds. It keeps its permissions; where the path is a
/// link, the file that it leads to is replaced and the link stays.
///
/// # Errors
/// It cannot be written; what was there stays.
pub fn rewrite(path: &Path, text: &str) -> io::Result<()> {
    let target = fs::canonicalize(path)?;
    let permissions: Permissions = fs::metadata(&target)?.permissions();
    let mut draft = Draft::new(&target, 0o600)?;
    draft.file().write_all(text.as_bytes())?;
    draft.file().set_permissions(permissions)?;
    draft.file().sync_data()?;
    draft.finish(&target)
}

/// A file that is written bit by bit and can be read meanwhile: made anew, in place of what is there.
/// A device or a pipe is written to as it is.
///
/// # Errors
/// It cannot be written.
pub fn create(path: &Path) -> io::Result<File> {
    if is_special(path) {
        return special(path);
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => patiently(|| options(0o666).open(path), || ()),
    }
}

/// A device or a pipe, to be written as it is. A pipe that nobody reads is an error, and not waited for.
fn special(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    {
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32);
        let file = options.open(path).map_err(|it| match it.raw_os_error() {
            Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => {
                io::Error::other("it is a pipe or a socket that no process reads")
            }
            _ => it,
        })?;
        // Who reads slowly is waited for.
        let flags = fcntl_getfl(&file)?;
        fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
        Ok(file)
    }
    #[cfg(not(unix))]
    options.open(path)
}

/// The name of the file that a draft of this name was made for, if it is a draft's.
pub fn is_draft_of(name: &str) -> Option<&str> {
    let name = name.strip_prefix('.')?.strip_suffix(SUFFIX)?;
    let (name, random) = name.rsplit_once('.')?;
    (random.len() == RANDOM && random.bytes().all(|it| it.is_ascii_alphanumeric())).then_some(name)
}

/// Removes the drafts in a folder that killed processes have left, of files whose names are `of` the
/// caller. To be called by who alone writes there; what cannot be removed stays.
pub fn remove_left(folder: &Path, of: impl Fn(&str) -> bool) {
    if !is_real_folder(folder) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().and_then(is_draft_of).is_some_and(&of) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes every draft of this process, and lets no other one begin: it is about to end.
pub fn remove_drafts() {
    let all = drafts();
    for draft in all.iter() {
        let _ = fs::remove_file(draft);
    }
    mem::forget(all);
}

/// The folder that a path names a file in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."))
}

fn written(
    file: &mut File,
    content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    content(&mut out)?;
    out.flush()
}

/// Whether a path names no place for a file: a device, a pipe, or what the system makes up. A link to
/// such is one as any other, unless it is the system's (`/dev/stderr`).
pub(crate) fn is_special(path: &Path) -> bool {
    let is_other = |it: FileType| !it.is_file() && !it.is_dir() && !it.is_symlink();
    let is_systems = path.starts_with("/dev") && !path.starts_with("/dev/shm");
    fs::symlink_metadata(path).is_ok_and(|it| is_other(it.file_type()))
        || is_systems
        || path.starts_with("/proc")
}

fn options(mode: u32) -> OpenOptions {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options
}

fn drafts() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    DRAFTS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn what_is_written_is_whole_and_no_link_is_written_through() {
        let folder = std::env::temp_dir().join(format!("pipec-draft-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name);
        let names = || {
            let all = fs::read_dir(&folder).unwrap().flatten();
            let mut all: Vec<_> = all.map(|it| it.file_name().into_string().unwrap()).collect();
            all.sort();
            all
        };
        fs::write(at("victim"), "mine").unwrap();
        symlink("victim", at("a.part")).unwrap();
        symlink("victim", at("b")).unwrap();
        for name in ["a", "b"] {
            write(&at(name), &mut |out| out.write_all(b"new")).unwrap();
            assert_eq!(fs::read(at(name)).unwrap(), b"new");
        }
        symlink("/dev/null", at("n")).unwrap();
        write(&at("n"), &mut |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(at("n")).unwrap(), b"new", "a link to a device is a link");
        fs::remove_file(at("n")).unwrap();
        write(Path::new("/dev/null"), &mut |out| out.write_all(b"new")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        symlink("victim", at("c")).unwrap();
        create(&at("c")).unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read(at("victim")).unwrap(), b"mine");
        assert_eq!(names(), ["a", "a.part", "b", "c", "victim"]);

        let failed = write(&at("d"), &mut |_| Err(io::ErrorKind::StorageFull.into()));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(names(), ["a", "a.part", "b", "c", "victim"]);

        fs::set_permissions(at("victim"), Permissions::from_mode(0o640)).unwrap();
        rewrite(&at("a.part"), "edited").unwrap();
        assert_eq!(fs::read(at("victim")).unwrap(), b"edited");
        assert!(fs::symlink_metadata(at("a.part")).unwrap().is_symlink());
        assert_eq!(fs::metadata(at("victim")).unwrap().permissions().mode() & 0o777, 0o640);

        let draft = Draft::new(&at("e"), 0o666).unwrap();
        let name = draft.noted.0.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(is_draft_of(&name), Some("e"), "{name}");
        assert!(drafts().contains(&draft.noted.0));
        drop(draft);
        assert_eq!(names(), ["a", "a.part", "b", "c", "victim"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
