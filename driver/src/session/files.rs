//! The files that arguments of a program name: read whole when it is compiled, since their contents are part of it.

use crate::session::{samples, stores};
use compiler::InputError;
use plan::{Arg, File, shown_bytes};
use runtime::storage::{self, Kind, Stat};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// Bytes of files that are remembered; beyond that, they are read again.
const KNOWN_MAX: u64 = 256 << 20;

/// Files that were read for a program: one that has not changed since is not read again, and what was made of it is
/// there still.
#[derive(Debug, Clone, Default)]
pub struct Files {
    known: Arc<Mutex<BTreeMap<String, (Stat, File)>>>,
    is_near: bool,
}

impl Files {
    /// Those of this machine alone: others are not looked at, so that nothing is connected to.
    pub fn near() -> Self {
        Self { is_near: true, ..Self::default() }
    }

    /// Whether the files that these arguments name may be looked at.
    pub(crate) fn may_look_at(&self, args: &[Arg]) -> bool {
        !(self.is_near && stores::names_store(args))
    }

    /// The file at a path; none where it is not looked at. A sample set is made now.
    ///
    /// # Errors
    /// It is not there, too large, no file, or cannot be read.
    pub fn read(&self, path: &str) -> Result<Option<File>, InputError> {
        let at = place(path)?;
        let storage = storage::of(&at);
        if self.is_near && storage.access().is_some() {
            return Ok(None);
        }
        let failed = |error: io::Error| InputError::File(unreadable(path, &error));
        let found = storage.stat(&at).map_err(failed)?;
        if let Some(known) = self.known(path, &found) {
            return Ok(Some(known));
        }

        let refused = |why: String| Err(InputError::File(format!("`{path}` {why}")));
        match found.kind {
            Kind::File => {}
            Kind::Folder => return refused("is a folder, but the path of a file is needed".into()),
            _ => return refused("is not a regular file".into()),
        }
        let object = storage.open(&at, &mut || ()).map_err(failed)?;
        let found = object.stat().map_err(failed)?;
        if found.bytes > File::BYTES_MAX {
            let (bytes, most) = (shown_bytes(found.bytes), shown_bytes(File::BYTES_MAX));
            return refused(format!(
                "has {bytes}, but a file in a program can have at most {most}"
            ));
        }
        let len = usize::try_from(found.bytes).expect("it was found to be small");
        let mut bytes = Vec::new();
        object.append_at(&mut bytes, len, 0).map_err(failed)?;
        if object.stat().map_err(failed)? != found {
            return refused("has changed while it was read; check the program again".into());
        }
        let file = File::new(path, bytes);
        self.learn(path, found, &file);
        Ok(Some(file))
    }

    /// The same of a file that may be missing; none also where it is.
    ///
    /// # Errors
    /// It is there, and too large, no file, or cannot be read.
    pub fn read_if_there(&self, path: &str) -> Result<Option<File>, InputError> {
        let at = place(path)?;
        let storage = storage::of(&at);
        if self.is_near && storage.access().is_some() {
            return Ok(None);
        }
        match storage.stat(&at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            _ => self.read(path),
        }
    }

    fn known(&self, path: &str, found: &Stat) -> Option<File> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(path).filter(|it| it.0 == *found).map(|it| it.1.clone())
    }

    fn learn(&self, path: &str, found: Stat, file: &File) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: u64 = known.values().map(|it| it.0.bytes).sum();
        if bytes + found.bytes > KNOWN_MAX {
            known.clear();
        }
        known.insert(path.to_owned(), (found, file.clone()));
    }
}

/// Where the file of a path lies: that of a sample set in its folder, which is made now.
fn place(path: &str) -> Result<Cow<'_, Path>, InputError> {
    match samples::file(path) {
        None => Ok(Cow::Borrowed(Path::new(path))),
        Some(made) => made.map(Cow::Owned).map_err(|it| InputError::File(it.to_string())),
    }
}

impl PartialEq for Files {
    /// What was read already is no part of it.
    fn eq(&self, other: &Self) -> bool {
        self.is_near == other.is_near
    }
}

/// Why a file cannot be read, and what to do.
fn unreadable(path: &str, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        let help = stdlib::missing(&Arg::Text(path.to_owned())).map(|it| it.help);
        let help = help.unwrap_or_else(|| "relative paths begin at the current folder".to_owned());
        return format!("cannot find the file `{path}`; {help}");
    }
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return format!("`{path}` has changed while it was read; check the program again");
    }
    match storage::of(Path::new(path)).remedy(error) {
        Some(help) => format!("cannot read `{path}`: {error}; {help}"),
        None => format!("cannot read `{path}`: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{env, fs, process};

    #[test]
    fn a_file_is_read_again_only_if_it_has_changed() {
        let folder = env::temp_dir().join(format!("pipec-files-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("words.txt").display().to_string();
        let files = Files::default();
        let why = |files: &Files, path: &str| match files.read(path) {
            Err(InputError::File(why)) => why,
            other => panic!("{other:?}"),
        };
        let read = |files: &Files| files.read(&path).unwrap().unwrap();

        assert!(why(&files, &path).contains("is empty"), "{}", why(&files, &path));
        fs::write(&path, "a\nb\n").unwrap();
        let first = read(&files);
        let made = first.made(|it| Ok(it.len())).unwrap().unwrap();
        let again = read(&files.clone()).made(|_| Ok(0_usize)).unwrap().unwrap();
        assert!(Arc::ptr_eq(&made, &again));
        fs::write(&path, "a\nb\nc\n").unwrap();
        let second = read(&files);
        assert_eq!(
            (first.bytes(), second.bytes()),
            (Some(&b"a\nb\n"[..]), Some(&b"a\nb\nc\n"[..]))
        );
        assert_ne!(first, second);

        let near = why(&files, &folder.join("word.txt").display().to_string());
        assert!(near.contains("did you mean") && near.contains("words.txt"), "{near}");
        assert!(why(&files, &folder.display().to_string()).contains("is a folder"));
        fs::File::create(&path).unwrap().set_len(File::BYTES_MAX + 1).unwrap();
        assert!(why(&files, &path).contains("at most"), "{}", why(&files, &path));
        fs::remove_dir_all(&folder).unwrap();
    }
}
