//! Walks the folders below a pattern's root, in natural order, and shelves the files that match.
//!
//! A folder is read to its end, sorted, and left before a folder in it is opened: one folder is open
//! at a time, and what is held are the names of the folders on the way down. A linked folder is
//! followed unless it holds, as the way down went, itself; the bound on their number stops the rest.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use runtime::storage::{self, Entry as Found, Kind, Stat, Storage};

use super::natural::natural_order;
use super::pattern::{NodeId, Pattern};
use super::{FILES_MAX, ListError, Shelf};

/// Folders that a storage is told of before they are read.
const SOON: usize = 32;

/// Linked folders that one walk follows.
const LINKS_MAX: usize = 100_000;

/// Shelves the files that the pattern stands for.
///
/// A root that is not there has no files; what to say then is the caller's.
pub(super) fn walk(pattern: &Pattern, shelf: &mut Shelf<'_>) -> Result<(), ListError> {
    if let Some(name) = pattern.plain_file() {
        return plain(pattern.root(), name, shelf);
    }

    let root = Path::new(if pattern.root().is_empty() { "." } else { pattern.root() });
    let storage = storage::of(root);
    if !storage.lists() {
        return Walk { storage, pattern, shelf, n_links: 0 }.run(root);
    }
    match storage.stat(root) {
        Ok(found) if found.kind == Kind::Folder => {
            Walk { storage, pattern, shelf, n_links: 0 }.run(root)
        }
        Ok(_) => Ok(()),
        Err(why) if is_missing(&why) => Ok(()),
        Err(why) => Err(ListError::unreadable(pattern.root(), &why)),
    }
}

/// A path without wildcards is the one file.
fn plain(root: &str, name: &str, shelf: &mut Shelf<'_>) -> Result<(), ListError> {
    let path = Path::new(root).join(name);
    let storage = storage::of(&path);
    match storage.stat(&path) {
        Ok(found) if found.kind == Kind::Folder => Ok(()),
        Ok(_) => {
            let folder = shelf.folder("");
            shelf.file(folder, name)
        }
        Err(why) if is_missing(&why) && storage.is_link(&path) => {
            Err(ListError::lost_link(&path.to_string_lossy()))
        }
        Err(why) if is_missing(&why) => Ok(()),
        Err(why) => Err(ListError::unreadable(&path.to_string_lossy(), &why)),
    }
}

struct Walk<'w, 's> {
    storage: &'static dyn Storage,
    pattern: &'w Pattern,
    shelf: &'w mut Shelf<'s>,
    n_links: usize,
}

impl Walk<'_, '_> {
    fn run(mut self, root: &Path) -> Result<(), ListError> {
        let mut way = vec![self.read(Folder::root(root, self.pattern.start()))?];

        while let Some(level) = way.last_mut() {
            let Some(entry) = level.next() else {
                way.pop();
                continue;
            };
            if entry.folder == Entry::FILE {
                let folder = *level
                    .number
                    .get_or_insert_with(|| self.shelf.folder(&level.folder.below_root));
                self.shelf.file(folder, level.name(entry))?;
                continue;
            }

            self.announce(level);
            let inner = level.inner_folder(entry);
            if self.may_enter(&inner, &mut way)? {
                way.push(self.read(inner)?);
            }
        }
        Ok(())
    }

    /// Tells a storage that answers late which folders are read next: the one that was just taken, and those after it.
    fn announce(&self, level: &Level) {
        if self.storage.access().is_none() {
            return;
        }
        let soon = level.entries[level.visited - 1..].iter().filter(|it| it.folder != Entry::FILE);
        let is_listed = |it: &&Entry| {
            let states = &level.inner[it.folder as usize].states;
            self.pattern.written_out(states).is_none()
        };
        let path = |it: &Entry| level.folder.path.join(level.name(*it));
        let soon: Vec<_> = soon.take(SOON).filter(is_listed).map(path).collect();
        self.storage.list_soon(&soon);
    }

    /// Whether a linked folder is not one of those on the way to it, or one above them.
    fn may_enter(&mut self, inner: &Folder, way: &mut [Level]) -> Result<bool, ListError> {
        if !inner.linked || !self.pattern.is_deep(&inner.states) {
            return Ok(true);
        }
        self.n_links += 1;
        if self.n_links > LINKS_MAX {
            return Err(ListError::too_many_links(&inner.shown(), LINKS_MAX));
        }

        let target = real_path(self.storage, &inner.path)?;
        for level in way {
            if level.real_path(self.storage)?.starts_with(&target) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads a folder: what in it matches, sorted.
    fn read(&self, folder: Folder) -> Result<Level, ListError> {
        let mut level = Level::new(folder);
        let states = &level.folder.states;
        let names = match self.storage.lists() {
            true => self.pattern.written_out(states),
            false => self.pattern.every_name(states),
        };
        match names {
            Some(names) => self.look_up(&names, &mut level)?,
            None => {
                let shown = |why| ListError::unreadable(&level.folder.shown(), &why);
                let entries = self.storage.list(&level.folder.path).map_err(shown)?;
                for entry in entries {
                    let entry =
                        entry.map_err(|why| ListError::unreadable(&level.folder.shown(), &why))?;
                    self.sort_in(&entry, &mut level)?;
                    if level.entries.len() > FILES_MAX {
                        return Err(ListError::too_many(&level.folder.shown()));
                    }
                }
            }
        }
        level.sort();
        Ok(level)
    }

    /// Looks for names that the pattern writes out, without reading the folder.
    fn look_up(&self, names: &[String], level: &mut Level) -> Result<(), ListError> {
        let states = level.folder.states.clone();
        let of_folder = |it: &str| (!self.storage.lists()).then(|| self.pattern.enter(&states, it));
        let mut files = Vec::new();
        for name in names {
            // Who does not list folders has none that could be asked for.
            match of_folder(name).filter(|it| !it.is_empty()) {
                Some(states) => level.add_folder(name, Inner { states, ..Inner::default() }),
                None => files.push(name),
            }
        }
        let paths: Vec<PathBuf> = files.iter().map(|it| level.folder.path.join(it)).collect();
        let mut result = Ok(());
        self.storage.stats(&paths, &mut |number, found| {
            if result.is_ok() {
                result = self.looked_up(files[number], &paths[number], found, level);
            }
        });
        result
    }

    fn looked_up(
        &self,
        name: &str,
        path: &Path,
        found: io::Result<Stat>,
        level: &mut Level,
    ) -> Result<(), ListError> {
        match found {
            Ok(found) if found.kind == Kind::Folder => {
                let states = self.pattern.enter(&level.folder.states, name);
                let linked = self.storage.is_link(path);
                let odd_path = level.folder.odd.then(|| path.to_owned());
                level.add_folder(name, Inner { states, linked, odd_path });
            }
            Ok(found)
                if found.kind == Kind::File && self.pattern.takes(&level.folder.states, name) =>
            {
                self.check_name(level.folder.odd, path)?;
                level.add_file(name);
            }
            Ok(_) => {}
            Err(why) if is_missing(&why) => {}
            Err(why) => return Err(ListError::unreadable(&path.to_string_lossy(), &why)),
        }
        Ok(())
    }

    /// Adds what is found in a folder, if it matches. Its kind comes with its name: a link alone is
    /// looked up.
    fn sort_in(&self, entry: &Found, level: &mut Level) -> Result<(), ListError> {
        let os_name = entry.name();
        let name = os_name.to_string_lossy();
        let odd = level.folder.odd || os_name.to_str().is_none();
        let inside = self.pattern.enter(&level.folder.states, &name);
        let takes = self.pattern.takes(&level.folder.states, &name);
        if inside.is_empty() && !takes {
            return Ok(());
        }

        let (kind, linked) = self.kind_of(entry, &level.folder.path, takes)?;
        let odd_path = odd.then(|| level.folder.path.join(&os_name));
        if kind == Kind::Folder && !inside.is_empty() {
            level.add_folder(&name, Inner { states: inside, linked, odd_path });
        } else if kind == Kind::File && takes {
            odd_path.map_or(Ok(()), |it| self.check_name(true, &it))?;
            level.add_file(&name);
        }
        Ok(())
    }

    /// What an entry is, and whether it is a link to that; a link to nothing that no file was wanted of is neither.
    fn kind_of(
        &self,
        entry: &Found,
        folder: &Path,
        wanted: bool,
    ) -> Result<(Kind, bool), ListError> {
        let path = || folder.join(entry.name());
        let shown = |why: &io::Error| ListError::unreadable(&path().to_string_lossy(), why);
        match entry.kind().map_err(|why| shown(&why))? {
            Kind::Link => match self.storage.stat(&path()) {
                Ok(target) => Ok((target.kind, true)),
                Err(why) if !is_missing(&why) => Err(shown(&why)),
                Err(_) if wanted => Err(ListError::lost_link(&path().to_string_lossy())),
                Err(_) => Ok((Kind::Other, true)),
            },
            kind => Ok((kind, false)),
        }
    }

    fn check_name(&self, odd: bool, path: &Path) -> Result<(), ListError> {
        if odd { Err(ListError::not_text(&path.to_string_lossy())) } else { Ok(()) }
    }
}

/// A folder on the way down.
struct Folder {
    path: PathBuf,
    /// Its path below the root, as keys write it.
    below_root: String,
    /// What may come in it.
    states: Vec<NodeId>,
    linked: bool,
    /// Whether its path is not UTF-8, so that no file below it can be listed.
    odd: bool,
}

impl Folder {
    fn root(path: &Path, states: Vec<NodeId>) -> Folder {
        Folder {
            path: path.to_owned(),
            below_root: String::new(),
            states,
            linked: false,
            odd: false,
        }
    }

    fn shown(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

/// A folder as its parent's entry.
#[derive(Default)]
struct Inner {
    states: Vec<NodeId>,
    linked: bool,
    /// The path, if it is not UTF-8.
    odd_path: Option<PathBuf>,
}

/// A folder that has been read, and how far its entries have been visited.
struct Level {
    folder: Folder,
    /// The names of the entries, one after the other.
    names: String,
    entries: Vec<Entry>,
    inner: Vec<Inner>,
    visited: usize,
    /// The folder's number in the listing, once it has a file there.
    number: Option<u32>,
    real_path: Option<PathBuf>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    len: u32,
    /// The number among `inner`, or `FILE`.
    folder: u32,
}

impl Entry {
    const FILE: u32 = u32::MAX;
}

impl Level {
    fn new(folder: Folder) -> Level {
        Level {
            folder,
            names: String::new(),
            entries: Vec::new(),
            inner: Vec::new(),
            visited: 0,
            number: None,
            real_path: None,
        }
    }

    fn add_file(&mut self, name: &str) {
        self.add(name, Entry::FILE);
    }

    fn add_folder(&mut self, name: &str, inner: Inner) {
        self.add(name, self.inner.len() as u32);
        self.inner.push(inner);
    }

    fn add(&mut self, name: &str, folder: u32) {
        self.entries.push(Entry { start: self.names.len() as u64, len: name.len() as u32, folder });
        self.names.push_str(name);
    }

    fn sort(&mut self) {
        let name = |it: &Entry| &self.names[it.start as usize..][..it.len as usize];
        self.entries.sort_unstable_by(|a, b| natural_order(name(a), name(b)));
    }

    fn next(&mut self) -> Option<Entry> {
        let entry = *self.entries.get(self.visited)?;
        self.visited += 1;
        Some(entry)
    }

    fn name(&self, entry: Entry) -> &str {
        &self.names[entry.start as usize..][..entry.len as usize]
    }

    /// The folder that an entry is; it is taken out of the level.
    fn inner_folder(&mut self, entry: Entry) -> Folder {
        let Inner { states, linked, odd_path } =
            std::mem::take(&mut self.inner[entry.folder as usize]);
        let name = self.name(entry);
        let below_root = match self.folder.below_root.as_str() {
            "" => name.to_owned(),
            outer => format!("{outer}/{name}"),
        };

        let odd = odd_path.is_some();
        let path = odd_path.unwrap_or_else(|| join(&self.folder.path, name));
        Folder { path, below_root, states, linked, odd }
    }

    fn real_path(&mut self, storage: &dyn Storage) -> Result<&Path, ListError> {
        if self.real_path.is_none() {
            self.real_path = Some(real_path(storage, &self.folder.path)?);
        }
        Ok(self.real_path.as_deref().unwrap_or(&self.folder.path))
    }
}

/// The folder's path, without a `./` before what lies in the current folder.
fn join(folder: &Path, name: &str) -> PathBuf {
    if folder == Path::new(".") { PathBuf::from(name) } else { folder.join(name) }
}

fn real_path(storage: &dyn Storage, path: &Path) -> Result<PathBuf, ListError> {
    storage.real_path(path).map_err(|why| ListError::unreadable(&path.to_string_lossy(), &why))
}

/// Whether there is nothing at a path, a file where a folder should be, or a link to itself.
pub(super) fn is_missing(why: &io::Error) -> bool {
    matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) || is_link_circle(why)
}

/// A link that leads back to itself, for which the standard library has no stable name.
fn is_link_circle(why: &io::Error) -> bool {
    cfg!(unix) && why.raw_os_error() == Some(if cfg!(target_os = "linux") { 40 } else { 62 })
}
