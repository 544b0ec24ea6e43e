//! Lists the files that a pattern names: `files("{data}/**/*.{jpg,jpeg}")`.
//!
//! A pattern is read once ([`Pattern::parse`]), its folders are walked in natural order and the names
//! are kept in one arena ([`Listing`]): 12 bytes and the name for each file. No file is opened.

mod glob;
mod missing;
mod natural;
mod parse;
mod pattern;
mod walk;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use runtime::storage::{self, Stat};

pub use natural::natural_order;
pub use pattern::{Pattern, PatternError};

/// Files that one listing may hold: 3 GiB beside the names.
const FILES_MAX: usize = 1 << 28;
/// Files whose sizes are asked for together.
const TOGETHER: usize = 256;

/// Lists the files of one pattern, in natural order.
///
/// # Errors
/// No file matches, a folder cannot be read, a name that matches is not UTF-8.
pub fn list(pattern: &Pattern) -> Result<Listing, ListError> {
    list_all(std::slice::from_ref(pattern))
}

/// Lists the files of several patterns: in the order of the patterns, each in natural order.
///
/// A file that several patterns name is listed once, where the first of them has it. Every pattern
/// must match something.
///
/// # Errors
/// Those of [`list`], for any of the patterns.
pub fn list_all(patterns: &[Pattern]) -> Result<Listing, ListError> {
    let mut listing = Listing::default();

    for (number, pattern) in patterns.iter().enumerate() {
        listing.roots.push(pattern.root().to_owned());
        let mut shelf = Shelf {
            listing: &mut listing,
            earlier: &patterns[..number],
            matched: 0,
            most: FILES_MAX,
        };
        walk::walk(pattern, &mut shelf)?;
        if shelf.matched == 0 {
            return Err(missing::explain(pattern));
        }
    }

    listing.sort_classes();
    Ok(listing)
}

/// Why a pattern stands for no file, where it does. Looks for the first file that fits, and no further.
#[must_use]
pub fn missing(pattern: &Pattern) -> Option<ListError> {
    let mut listing = Listing::default();
    listing.roots.push(pattern.root().to_owned());
    let mut shelf = Shelf { listing: &mut listing, earlier: &[], matched: 0, most: 1 };
    match walk::walk(pattern, &mut shelf) {
        Ok(()) if shelf.matched == 0 => Some(missing::explain(pattern)),
        Ok(()) => None,
        // It was too many, and so at least one.
        Err(_) if shelf.matched > 0 => None,
        Err(why) => Some(why),
    }
}

/// Files that lie beside class folders: directly in a folder whose other files lie below it.
pub(crate) struct Beside {
    /// The number of the first of them.
    pub(crate) first: usize,
    /// How many there are.
    pub(crate) files: usize,
    /// Whether they lie where the pattern's first wildcard begins.
    pub(crate) in_root: bool,
    /// Whether all the other folders lie directly in theirs.
    pub(crate) flat: bool,
}

/// The files of a source in their order, and the classes that their folders make.
#[derive(Debug, Default)]
pub struct Listing {
    /// The folder before each pattern's first wildcard.
    roots: Vec<String>,
    /// File names, one after the other; `name_ends` cuts them.
    names: String,
    name_ends: Vec<u64>,
    /// The folder of each file.
    folder_of: Vec<u32>,
    /// Folders' paths below their root, one after the other.
    folder_paths: String,
    folders: Vec<Folder>,
    classes: Vec<Box<str>>,
}

/// A folder that holds a listed file.
#[derive(Debug, Clone)]
struct Folder {
    start: u64,
    len: u32,
    /// Which root it lies below, which is also the pattern's number.
    root: u32,
    class: u32,
}

impl Listing {
    /// Number of files.
    #[must_use]
    pub fn len(&self) -> usize {
        self.name_ends.len()
    }

    /// Whether there is no file, which is so only for an empty list of patterns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.name_ends.is_empty()
    }

    /// Those of the files that have these numbers, with the keys that they have here.
    pub(crate) fn part(&self, files: Range<usize>) -> Self {
        let from = if files.start == 0 { 0 } else { self.name_ends[files.start - 1] };
        let ends = &self.name_ends[files.clone()];
        let until = ends.last().copied().unwrap_or(from);
        Self {
            roots: self.roots.clone(),
            names: self.names[from as usize..until as usize].to_owned(),
            name_ends: ends.iter().map(|it| it - from).collect(),
            folder_of: self.folder_of[files].to_vec(),
            folder_paths: self.folder_paths.clone(),
            folders: self.folders.clone(),
            classes: self.classes.clone(),
        }
    }

    /// Writes the path of file `i` into `into`, replacing what it held.
    pub fn path(&self, i: usize, into: &mut String) {
        let folder = self.folder(i);
        into.clear();
        into.push_str(&self.roots[folder.root as usize]);
        self.append_below_root(i, into);
    }

    /// Writes the key of file `i`, its path below the pattern's first wildcard, into `into`.
    ///
    /// From the second pattern of a list on, the pattern's number (from 1) and `//` stand before it,
    /// so that files of one name below two roots stay two records. No path holds `//`.
    pub fn key(&self, i: usize, into: &mut String) {
        let root = self.folder(i).root;
        into.clear();
        if root > 0 {
            into.push_str(&root.to_string());
            into.push_str("//");
        }
        self.append_below_root(i, into);
    }

    /// The name of file `i` without its folder.
    #[must_use]
    pub fn name(&self, i: usize) -> &str {
        let start = if i == 0 { 0 } else { self.name_ends[i - 1] };
        &self.names[start as usize..self.name_ends[i] as usize]
    }

    /// The name of the folder that holds file `i`; `.` for the current one.
    #[must_use]
    pub fn folder_name(&self, i: usize) -> &str {
        self.name_of_folder(self.folder(i))
    }

    /// The distinct names of the files' folders, in natural order.
    #[must_use]
    pub fn classes(&self) -> &[Box<str>] {
        &self.classes
    }

    /// The index of file `i`'s folder name among [`Listing::classes`].
    #[must_use]
    pub fn class(&self, i: usize) -> u32 {
        self.folder(i).class
    }

    /// The first folder that holds files beside folders with more of them.
    pub(crate) fn loose(&self) -> Option<Beside> {
        let mut counts = vec![0_usize; self.folders.len()];
        self.folder_of.iter().for_each(|it| counts[*it as usize] += 1);
        let numbers = || (0..self.folders.len()).filter(|it| counts[*it] > 0);
        let key = |it: usize| (self.folders[it].root, self.path_of_folder(&self.folders[it]));
        // Files below each folder, and whether some lie deeper than in a folder of it.
        let mut below: HashMap<(u32, &str), (usize, bool)> = HashMap::new();
        for number in numbers() {
            let (root, mut path) = key(number);
            let mut deep = false;
            while !path.is_empty() {
                path = path.rfind('/').map_or("", |it| &path[..it]);
                let known = below.entry((root, path)).or_default();
                *known = (known.0 + counts[number], known.1 || deep);
                deep = true;
            }
        }
        let (folder, (_, deep)) = numbers().find_map(|it| {
            let known = below.get(&key(it)).filter(|known| known.0 >= counts[it])?;
            Some((it, *known))
        })?;
        let first = self.folder_of.iter().position(|it| *it as usize == folder)?;
        let in_root = key(folder).1.is_empty();
        Some(Beside { first, files: counts[folder], in_root, flat: !deep })
    }

    /// Hands the key of each file, and what is known of it, to `visit`, in order: what a fingerprint is made of.
    ///
    /// # Errors
    /// A file is no longer there.
    pub fn each_file(&self, visit: &mut dyn FnMut(&str, &Stat)) -> Result<(), ListError> {
        let (mut path, mut key) = (String::new(), String::new());
        let mut from = 0;
        while from < self.len() {
            // Those of one pattern lie in one storage.
            let root = self.folder(from).root;
            let same = (from..self.len()).take(TOGETHER);
            let same = same.take_while(|it| self.folder(*it).root == root).count();
            let paths: Vec<PathBuf> = (from..from + same)
                .map(|it| {
                    self.path(it, &mut path);
                    PathBuf::from(&path)
                })
                .collect();

            let mut failed = None;
            storage::of(&paths[0]).stats(&paths, &mut |number, found| match found {
                _ if failed.is_some() => {}
                Ok(found) => {
                    self.key(from + number, &mut key);
                    visit(&key, &found);
                }
                Err(why) => {
                    failed = Some(ListError::unreadable(&paths[number].to_string_lossy(), &why));
                }
            });
            failed.map_or(Ok(()), Err)?;
            from += same;
        }
        Ok(())
    }

    fn append_below_root(&self, i: usize, into: &mut String) {
        let folder = self.path_of_folder(self.folder(i));
        for part in [folder, self.name(i)] {
            if !into.is_empty() && !into.ends_with('/') && !part.is_empty() {
                into.push('/');
            }
            into.push_str(part);
        }
    }

    fn folder(&self, i: usize) -> &Folder {
        &self.folders[self.folder_of[i] as usize]
    }

    fn path_of_folder(&self, folder: &Folder) -> &str {
        &self.folder_paths[folder.start as usize..][..folder.len as usize]
    }

    fn name_of_folder<'a>(&'a self, folder: &Folder) -> &'a str {
        let root = self.roots[folder.root as usize].as_str();
        match self.path_of_folder(folder) {
            "" => last_component(root),
            below => last_component(below),
        }
    }

    fn sort_classes(&mut self) {
        let mut names: Vec<&str> = self.folders.iter().map(|it| self.name_of_folder(it)).collect();
        names.sort_unstable_by(|a, b| natural_order(a, b));
        names.dedup();

        let place = |name: &str| names.partition_point(|it| natural_order(it, name).is_lt()) as u32;
        let classes: Vec<u32> =
            self.folders.iter().map(|it| place(self.name_of_folder(it))).collect();
        let names = names.into_iter().map(Box::from).collect();

        self.classes = names;
        for (folder, class) in self.folders.iter_mut().zip(classes) {
            folder.class = class;
        }
    }
}

/// Takes in the files of one pattern as the walk finds them.
struct Shelf<'a> {
    listing: &'a mut Listing,
    /// The patterns before this one: what they name is there already.
    earlier: &'a [Pattern],
    /// Files that the pattern named, with those that were there already.
    matched: usize,
    /// Files at the most.
    most: usize,
}

impl Shelf<'_> {
    /// Opens a folder, given by its path below the root, for [`Shelf::file`].
    fn folder(&mut self, below_root: &str) -> u32 {
        let listing = &mut *self.listing;
        listing.folders.push(Folder {
            start: listing.folder_paths.len() as u64,
            len: below_root.len() as u32,
            root: listing.roots.len() as u32 - 1,
            class: 0,
        });
        listing.folder_paths.push_str(below_root);
        listing.folders.len() as u32 - 1
    }

    fn file(&mut self, folder: u32, name: &str) -> Result<(), ListError> {
        let listing = &mut *self.listing;
        if listing.len() >= self.most {
            return Err(ListError::too_many(&listing.roots[listing.roots.len() - 1]));
        }

        self.matched += 1;
        listing.names.push_str(name);
        listing.name_ends.push(listing.names.len() as u64);
        listing.folder_of.push(folder);
        if !self.earlier.is_empty() {
            self.drop_repeated();
        }
        Ok(())
    }

    /// Takes the newest file back if an earlier pattern names it too.
    fn drop_repeated(&mut self) {
        let listing = &mut *self.listing;
        let newest = listing.len() - 1;
        let mut path = String::new();
        listing.path(newest, &mut path);

        if self.earlier.iter().any(|it| it.matches(&path)) {
            let start = listing.names.len() - listing.name(newest).len();
            listing.names.truncate(start);
            listing.name_ends.pop();
            listing.folder_of.pop();
        }
    }
}

/// Why no listing came about: a sentence, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError {
    /// What kind of mistake it is.
    pub kind: ListErrorKind,
    /// The file, folder or pattern that it is about.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// The kinds of [`ListError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListErrorKind {
    /// The pattern names no file.
    NoMatch,
    /// A folder or link cannot be read, or went away meanwhile.
    Unreadable,
    /// A name is not UTF-8, as a `str` must be.
    NotText,
    /// More files, or more linked folders, than a listing may hold.
    TooMany,
}

impl ListError {
    fn unreadable(path: &str, why: &std::io::Error) -> ListError {
        use std::io::ErrorKind::{NotFound, PermissionDenied, Unsupported};
        let of_storage = storage::of(Path::new(path)).remedy(why);
        let help = of_storage.unwrap_or(match why.kind() {
            NotFound => {
                "it was removed while the files were listed: make sure that nothing changes the \
                 folder meanwhile"
            }
            PermissionDenied => "give the current user permission to read it (`chmod +rx`)",
            Unsupported => "copy the files to a local folder and use that",
            _ => "check that the disk is available and not damaged",
        });
        ListError {
            kind: ListErrorKind::Unreadable,
            path: path.to_owned(),
            message: format!("cannot read `{path}`: {why}"),
            help: help.to_owned(),
        }
    }

    fn not_text(path: &str) -> ListError {
        ListError {
            kind: ListErrorKind::NotText,
            path: path.to_owned(),
            message: format!("the name of `{path}` is not valid UTF-8"),
            help:
                "rename it (`convmv -t utf8` renames many at once), or exclude it from the pattern"
                    .to_owned(),
        }
    }

    fn lost_link(path: &str) -> ListError {
        ListError {
            kind: ListErrorKind::Unreadable,
            path: path.to_owned(),
            message: format!("the symbolic link `{path}` is broken"),
            help: "restore its target, or remove the link".to_owned(),
        }
    }

    fn too_many(path: &str) -> ListError {
        ListError {
            kind: ListErrorKind::TooMany,
            path: path.to_owned(),
            message: format!("there are more than {FILES_MAX} files below `{path}`"),
            help: "use a narrower pattern, or pack them into shards".to_owned(),
        }
    }

    fn too_many_links(path: &str, most: usize) -> ListError {
        ListError {
            kind: ListErrorKind::TooMany,
            path: path.to_owned(),
            message: format!("`{path}` is the {most}th linked folder: the links may form a cycle"),
            help: "name the folders that contain the files directly, without links".to_owned(),
        }
    }
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ListError {}

/// What stands after the last `/`; `.` for nothing, `/` for the file system's root.
fn last_component(path: &str) -> &str {
    match path.rsplit('/').next() {
        _ if path == "/" => "/",
        None | Some("") => ".",
        Some(name) => name,
    }
}

#[cfg(test)]
mod tests;
