//! The list of the files in an output folder, with the size and the checksum of each.
//!
//! A line of JSON for each number, so that the list grows with the output and a line counts for all
//! files of its number. A run that goes on holds what is there against it: the size of every file, and
//! the checksum of the newest [`READ_MAX`] bytes, which costs reading them once.

use super::{Written, data::ShardFile};
use crate::session::whole::{failure, unwritable};
use runtime::Failure;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::Xxh3;

/// Its name in the folder.
pub(super) const LIST: &str = "pipec.files.jsonl";
/// Bytes of files whose checksums are compared when a run goes on: some seconds of reading. A loss of
/// power or a broken copy damages the newest; the sizes of all are compared.
const READ_MAX: u64 = 8 << 30;
/// Bytes of a line: far more than a thousand fields need.
const LINE_MAX: u64 = 1 << 20;
/// Bytes that are written and summed at a time: they are in a processor's cache when they are summed.
const BLOCK: usize = 256 << 10;

/// The files of one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) epoch: u32,
    /// Outputs in them: one batch, or the records of a piece.
    pub(super) outputs: u64,
    /// By their names below the folder.
    pub(super) files: BTreeMap<String, Sum>,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Sum {
    bytes: u64,
    /// In hexadecimal.
    xxh3: String,
}

/// A place in an output, between two numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Place {
    pub(super) epoch: u32,
    /// Files of each field before it.
    pub(super) files: u64,
    /// Outputs in them.
    pub(super) outputs: u64,
    /// Bytes of all of them.
    bytes: u64,
    /// Bytes of the list before it.
    list: u64,
}

impl Place {
    /// What is written before it.
    pub(super) fn written(&self) -> Written {
        Written { outputs: self.outputs, files: self.files }
    }
}

/// Damage in an output.
#[derive(Debug, PartialEq)]
pub(super) struct Damage {
    /// The begin of the epoch in which the first of it is: what is before is sound.
    pub(super) from: Place,
    /// What was found.
    pub(super) found: String,
}

/// Sums what goes through it.
pub(super) struct Summing<'a> {
    out: &'a mut dyn Write,
    hash: Xxh3,
    bytes: u64,
}

impl<'a> Summing<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, hash: Xxh3::new(), bytes: 0 }
    }

    pub(super) fn sum(&self) -> Sum {
        Sum { bytes: self.bytes, xxh3: format!("{:016x}", self.hash.digest()) }
    }
}

impl Write for Summing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_bytes = self.out.write(&bytes[..bytes.len().min(BLOCK)])?;
        self.hash.update(&bytes[..n_bytes]);
        self.bytes += n_bytes as u64;
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The list while it grows.
pub(super) struct List {
    path: PathBuf,
    out: BufWriter<File>,
}

impl List {
    /// An empty one, in place of what is there.
    pub(super) fn create(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(LIST);
        let file = safe_file::create(&path).map_err(|it| unwritable(&path, &it))?;
        Ok(Self { out: BufWriter::new(file), path })
    }

    /// The one that is there, up to `place`.
    pub(super) fn go_on(folder: &Path, place: &Place) -> Result<Self, Failure> {
        let path = folder.join(LIST);
        let opened = || -> io::Result<File> {
            let mut file = safe_file::create_here(&path)?;
            file.set_len(place.list)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = opened().map_err(|it| unwritable(&path, &it))?;
        Ok(Self { out: BufWriter::new(file), path })
    }

    pub(super) fn push(&mut self, line: &Line) -> Result<(), Failure> {
        let mut write = || -> io::Result<()> {
            serde_json::to_writer(&mut self.out, line)?;
            self.out.write_all(b"\n")
        };
        write().map_err(|it| unwritable(&self.path, &it))
    }

    /// Sees to it that the file has all lines.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|it| unwritable(&self.path, &it))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// The files of the first `numbers` numbers, and the outputs of each number.
///
/// # Errors
/// The list is damaged.
pub(super) fn files(folder: &Path, numbers: u64) -> Result<Vec<ShardFile>, Damage> {
    let mut files = Vec::new();
    walk(folder, numbers, &mut |_, Line { outputs, files: these, .. }| {
        files.extend(these.iter().map(|(name, sum)| ShardFile {
            name: name.clone(),
            bytes: sum.bytes,
            records: *outputs,
        }));
        Ok(())
    })?;
    Ok(files)
}

/// Holds the files of the first `numbers` numbers against the list; `names` gives those that a number
/// has. Gives the place behind them.
pub(super) fn check(
    folder: &Path,
    numbers: u64,
    names: &dyn Fn(u64) -> Vec<String>,
) -> Result<Place, Damage> {
    let sizes = walk(folder, numbers, &mut |place, line| {
        let names = names(place.files);
        if !line.files.keys().eq(names.iter()) {
            return Err(format!("`{LIST}` does not list the files with number {}", place.files));
        }
        line.files.iter().try_for_each(|(name, sum)| sum.has_size_of(folder, name))
    });
    // Damage to what is read may lie before what is missing.
    let sound = sizes.as_ref().map_or_else(|it| it.from, |it| *it);
    let unread = sound.bytes.saturating_sub(READ_MAX);
    walk(folder, sound.files, &mut |place, line| {
        if place.bytes < unread {
            return Ok(());
        }
        line.files.iter().try_for_each(|(name, sum)| sum.is_of(folder, name))
    })?;
    sizes
}

/// Goes through the first `numbers` lines.
fn walk(
    folder: &Path,
    numbers: u64,
    each: &mut dyn FnMut(&Place, &Line) -> Result<(), String>,
) -> Result<Place, Damage> {
    let (mut begin, mut here) = (Place::default(), Place::default());
    if numbers == 0 {
        return Ok(here);
    }
    let file = safe_file::open_here(&folder.join(LIST));
    let mut lines = BufReader::new(
        file.map_err(|it| Damage { from: begin, found: format!("cannot read `{LIST}` ({it})") })?,
    );
    while here.files < numbers {
        let Some((line, n_bytes)) = next(&mut lines).filter(|it| it.0.epoch >= here.epoch) else {
            let found = format!("`{LIST}` is damaged from line {} on", here.files + 1);
            return Err(Damage { from: begin, found });
        };
        if line.epoch > here.epoch {
            here.epoch = line.epoch;
            begin = here;
        }
        each(&here, &line).map_err(|found| Damage { from: begin, found })?;
        here.files += 1;
        // Whoever has changed the list may have written any numbers: they are those of no run.
        here.outputs = here.outputs.saturating_add(line.outputs);
        let sizes = line.files.values().map(|it| it.bytes);
        here.bytes = sizes.fold(here.bytes, u64::saturating_add);
        here.list += n_bytes;
    }
    Ok(here)
}

/// The next line, and its bytes.
fn next(lines: &mut impl BufRead) -> Option<(Line, u64)> {
    let mut text = Vec::new();
    lines.take(LINE_MAX).read_until(b'\n', &mut text).ok()?;
    let line = text.strip_suffix(b"\n")?;
    Some((serde_json::from_slice(line).ok()?, text.len() as u64))
}

impl Sum {
    /// Whether a file is there, with as many bytes.
    fn has_size_of(&self, folder: &Path, name: &str) -> Result<(), String> {
        match fs::symlink_metadata(folder.join(name)) {
            Ok(it) if it.is_file() && it.len() == self.bytes => Ok(()),
            Ok(it) if it.is_file() => {
                Err(format!("`{name}` has {} bytes, but {} were written", it.len(), self.bytes))
            }
            Ok(_) => Err(format!("`{name}` is not a file")),
            Err(_) => Err(format!("`{name}` is missing")),
        }
    }

    /// Whether a file holds just that.
    fn is_of(&self, folder: &Path, name: &str) -> Result<(), String> {
        let sum = || -> io::Result<Self> {
            let mut file = safe_file::open_here(&folder.join(name))?;
            let mut nowhere = io::sink();
            let mut sum = Summing::new(&mut nowhere);
            io::copy(&mut (&mut file).take(self.bytes + 1), &mut sum)?;
            Ok(sum.sum())
        };
        match sum() {
            Ok(found) if found == *self => Ok(()),
            Ok(_) => Err(format!("the checksum of `{name}` does not match")),
            Err(error) => Err(format!("cannot read `{name}` ({error})")),
        }
    }
}

/// The failure that an output could not be brought to the disk.
pub(super) fn unsynced(path: &Path, error: &io::Error) -> Failure {
    failure(path, "cannot sync the output to the disk", error)
}
