//! The files that a source names: listed when they are first asked for, and then kept.

use super::Loose;
use crate::listing::{ListError, Listing, Pattern, list_all};
use plan::Arg;
use runtime::{
    Failure, Fingerprint, mix,
    storage::{self, Stat},
};
use std::{collections::HashMap, io, ops::Range, path::PathBuf, sync::OnceLock};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes that are read at once where all of a file is looked at.
const BLOCK: usize = 1 << 18;

/// The files of one or more patterns, and the folder names among them.
pub(super) struct Listed {
    patterns: Vec<Pattern>,
    found: OnceLock<Result<Found, Failure>>,
    /// The number of each file, by its name.
    by_name: OnceLock<Result<HashMap<String, u32>, Failure>>,
}

/// What the patterns named.
pub(super) struct Found {
    /// The files.
    pub(super) listing: Listing,
    /// The sorted names of their folders.
    pub(super) classes: Vec<String>,
}

impl Listed {
    /// The files of a pattern, or of a list of them; nothing is looked at yet.
    pub(super) fn new(arg: &Arg) -> Result<Self, String> {
        Ok(Self { patterns: patterns(arg)?, found: OnceLock::new(), by_name: OnceLock::new() })
    }

    /// Files that are listed already.
    pub(super) fn of(found: Found) -> Self {
        let (found, by_name) = (OnceLock::from(Ok(found)), OnceLock::new());
        Self { patterns: Vec::new(), found, by_name }
    }

    /// The files; listed now, where they were not yet.
    pub(super) fn found(&self) -> Result<&Found, Failure> {
        let found = self.found.get_or_init(|| {
            let listing = list_all(&self.patterns).map_err(unlisted)?;
            let classes = listing.classes().iter().map(ToString::to_string).collect();
            Ok(Found { listing, classes })
        });
        found.as_ref().map_err(Clone::clone)
    }

    /// The file of this name ([`name_of`]) alone; none where there is no such file.
    pub(super) fn file(&self, name: &str) -> Result<Option<Self>, Failure> {
        let by_name = self.by_name.get_or_init(|| self.find_names()).as_ref();
        let Some(number) = by_name.map_err(Clone::clone)?.get(name) else { return Ok(None) };
        let number = *number as usize;
        Ok(Some(Self::of(self.found()?.part(number..number + 1))))
    }

    fn find_names(&self) -> Result<HashMap<String, u32>, Failure> {
        let (found, mut by_name) = (self.found()?, HashMap::new());
        for number in 0..found.listing.len() {
            let name = name_of(found.listing.name(number)).to_owned();
            if let Some(first) = by_name.insert(name, number as u32) {
                let path = found.path(number).display().to_string();
                let first = found.path(first as usize);
                let detail = format!(
                    "has the same name as `{}`, up to the first dot: rename one of them, or exclude it from the \
                     pattern",
                    first.display()
                );
                return Err(Failure::Io { path, detail });
            }
        }
        Ok(by_name)
    }

    /// How many files there are.
    pub(super) fn len(&self) -> Result<u64, Failure> {
        Ok(self.found()?.listing.len() as u64)
    }

    /// A file, as a person would name it.
    pub(super) fn describe(&self, number: u64) -> String {
        match self.found() {
            Ok(found) => found.path(number as usize).display().to_string(),
            Err(_) => format!("file {number}"),
        }
    }

    /// The names and sizes of the files, as one number; each file is looked at now.
    pub(super) fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        let (mut hash, mut times, mut files, mut bytes) = (Xxh3::new(), Xxh3::new(), 0, 0);
        let visit = &mut |key: &str, of: &Stat| {
            let size = of.bytes;
            hash.update(&(key.len() as u64).to_le_bytes());
            hash.update(key.as_bytes());
            hash.update(&size.to_le_bytes());
            files += 1;
            bytes += size;
            times.update(&of.tag.to_le_bytes());
        };
        self.found()?.listing.each_file(visit).map_err(unlisted)?;
        let (hash, times) = (hash.digest128(), times.digest128());
        Ok(Fingerprint { hash, times, files, bytes })
    }

    /// What the files hold, as one number; each is read now.
    pub(super) fn contents(&self) -> Result<u128, Failure> {
        let (found, mut hash) = (self.found()?, Xxh3::new());
        let mut block = vec![0; BLOCK];
        for number in 0..found.listing.len() {
            let path = found.path(number);
            let unreadable = |it: io::Error| Failure::Io {
                path: path.display().to_string(),
                detail: format!("cannot be read: {it}; check that it exists and is readable"),
            };
            let mut file = storage::of(&path).open(&path, &mut || ()).map_err(unreadable)?;
            let mut len = 0_u64;
            loop {
                match file.read_on(&mut block) {
                    Ok(0) => break,
                    Ok(n_bytes) => {
                        hash.update(&block[..n_bytes]);
                        len += n_bytes as u64;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(unreadable(error)),
                }
            }
            hash.update(&len.to_le_bytes());
        }
        Ok(hash.digest128())
    }

    /// The folder names, where the files are listed or can be.
    pub(super) fn classes(&self) -> &[String] {
        self.found().map_or(&[], |it| &it.classes)
    }
}

/// What a file is called without its endings: the part of its name before the first dot.
pub(super) fn name_of(file: &str) -> &str {
    let point = file.find('.').filter(|it| *it > 0);
    point.map_or(file, |it| &file[..it])
}

/// The patterns that an argument names.
pub(super) fn patterns(arg: &Arg) -> Result<Vec<Pattern>, String> {
    match arg {
        Arg::Text(one) => Ok(vec![pattern(one)?]),
        Arg::List(all) if !all.is_empty() => {
            let texts = all.iter().map(|it| match it {
                Arg::Text(text) => pattern(text),
                _ => Err("a list of patterns must contain only text".to_owned()),
            });
            texts.collect()
        }
        _ => Err("expected a pattern as text, such as `\"data/**/*.jpg\"`".to_owned()),
    }
}

/// The files that lie beside the class folders of a listing, and a pattern that leaves them out.
pub(super) fn loose(listing: &Listing, files: &Arg) -> Option<Loose> {
    let found = listing.loose()?;
    let pattern = match files {
        // `**/` stands for no folder, too.
        Arg::Text(text) if found.in_root && text.matches("**/").count() == 1 => {
            Some(text.replacen("**/", if found.flat { "*/" } else { "**/*/" }, 1))
        }
        _ => None,
    };
    let mut example = String::new();
    listing.path(found.first, &mut example);
    let class = listing.folder_name(found.first).to_owned();
    Some(Loose { class, files: found.files, example, pattern })
}

fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::parse(text).map_err(|why| format!("{} in `{text}`: {}", why.message, why.help))
}

fn unlisted(why: ListError) -> Failure {
    let ListError { path, message, help, .. } = why;
    // The path stands before it.
    let message = message.strip_prefix(&format!("`{path}` ")).unwrap_or(&message);
    let message = message.strip_suffix(&format!(" `{path}`")).unwrap_or(message);
    Failure::Io { detail: format!("{message}: {help}"), path }
}

impl Found {
    /// Those of the files that have these numbers; they are named as before.
    pub(super) fn part(&self, files: Range<usize>) -> Self {
        Self { listing: self.listing.part(files), classes: self.classes.clone() }
    }

    /// The path of file `number`.
    pub(super) fn path(&self, number: usize) -> PathBuf {
        let mut path = String::new();
        self.listing.path(number, &mut path);
        PathBuf::from(path)
    }

    /// Names file `number` in the lineage: by its path below the first wildcard, so that a data
    /// set that moves stays the same.
    pub(super) fn key(&self, number: usize, scratch: &mut String) -> u64 {
        self.listing.key(number, scratch);
        xxh3_64(scratch.as_bytes())
    }

    /// The ids of whole files.
    pub(super) fn id(&self, place: u64, number: usize, scratch: &mut String) -> u64 {
        mix(place, self.key(number, scratch))
    }
}

/// Folders of small files for the tests of sources.
#[cfg(test)]
pub(super) mod folder {
    use std::{env, fs, path::PathBuf, process};

    /// A folder that goes with the test.
    pub(in super::super) struct Folder(PathBuf);

    impl Folder {
        /// Files by their paths below the folder; `name` is the test's own.
        pub(in super::super) fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = env::temp_dir().join(format!("pipec-{}-{name}", process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }

        /// A pattern below it.
        pub(in super::super) fn pattern(&self, below: &str) -> plan::Arg {
            plan::Arg::Text(self.path(below))
        }

        /// A path below it.
        pub(in super::super) fn path(&self, below: &str) -> String {
            format!("{}/{below}", self.0.display())
        }
    }

    /// What each row is, as a person would write it.
    pub(in super::super) fn rows(chunk: &runtime::Chunk) -> Vec<String> {
        let value = |it: &runtime::Column, row: usize| match it.dtype() {
            plan::DType::Str => it.row(row).as_str().to_owned(),
            plan::DType::Bytes => format!("{:?}", it.row(row).as_text()),
            _ => {
                let row = it.row(row);
                let n = row.elements();
                let flat = row.reshaped(&[n]).unwrap();
                format!("{:?}", (0..n).map(|it| flat.element(it).number()).collect::<Vec<_>>())
            }
        };
        let row =
            |row| chunk.columns.iter().map(|it| value(it, row)).collect::<Vec<_>>().join(" | ");
        (0..chunk.rows).map(row).collect()
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
