//! Indices of large files, kept on disk for later runs and for other processes.
//!
//! An index is a file of its own in one folder. Its name is a hash of what it was made of: the path of the data file, its
//! size, when it was written, and how it is cut into records. So one that does not fit is never found, and whoever makes an
//! index at the same time as another writes the same bytes.

use super::framing::Framing;
use runtime::{
    Counted,
    storage::{self, Kind},
};
use std::{
    cmp::Reverse,
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, IntoInnerError, Read, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Bytes of a data file from which on its index is kept: smaller ones are read again as quickly.
const LARGE: u64 = 4 << 20;
/// Bytes that all indices may take; beyond them those are removed that were used longest ago.
const FOLDER_MAX: u64 = 4 << 30;
/// Bytes that are read and written at once.
const BLOCK: usize = 256 << 10;
/// A file that was written so shortly before may be written again within one tick of its clock.
const SETTLED: Duration = Duration::from_secs(2);
/// An index that is used is marked so once a day.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// What an index file begins with: its format.
const MAGIC: [u8; 8] = *b"pipecix1";
const CHECKSUM: usize = 8;

static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Has indices of large files kept in a folder, which is made when it is needed; none keeps none.
pub fn keep_indices_in(folder: Option<PathBuf>) {
    *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = folder;
}

/// Where the records of a file begin.
#[derive(Debug, Default)]
pub(super) struct FileIndex {
    /// Bytes of the file before each record, in order.
    pub(super) starts: Counted<u64>,
    /// Bytes up to the end of the last one.
    pub(super) end: u64,
}

/// Where the index of a file is kept.
pub(super) struct Slot {
    path: PathBuf,
    /// Bytes of the data file.
    bytes: u64,
}

impl Slot {
    /// That of the data file at `path`, cut as `way` says; none where it is not kept.
    pub(super) fn of(path: &Path, (framing, way): (&Framing, &str)) -> Option<Slot> {
        let folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let stat = storage::of(path).stat(path).ok().filter(|it| it.kind == Kind::File)?;
        if stat.bytes < LARGE {
            return None;
        }
        let path = std::path::absolute(path).ok()?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos();
        if stat.tag <= since && since - stat.tag < SETTLED.as_nanos() {
            return None;
        }
        let made_of = format!("{framing:?} {way:?} {} {}", stat.bytes, stat.tag);
        let key = [path.as_os_str().as_encoded_bytes(), b"\0", made_of.as_bytes()].concat();
        let path = folder.join(format!("{:032x}.idx", xxh3_128(&key)));
        Some(Slot { path, bytes: stat.bytes })
    }

    /// What is kept; none where nothing is, or it is damaged.
    pub(super) fn read(&self) -> Option<FileIndex> {
        let mut file = safe_file::open_here(&self.path).ok()?;
        let body = file.metadata().ok()?.len().checked_sub(CHECKSUM as u64)?;
        let hashed = Hashed { inner: (&mut file).take(body), hash: Xxh3::new() };
        let mut from = BufReader::with_capacity(BLOCK, hashed);
        let mut magic = MAGIC;
        from.read_exact(&mut magic).ok()?;
        let index = decoded(&mut from, self.bytes).filter(|_| magic == MAGIC)?;
        let hash = from.into_inner().hash.digest();
        let mut checksum = [0; CHECKSUM];
        file.read_exact(&mut checksum).ok()?;
        if hash != u64::from_le_bytes(checksum) {
            return None;
        }
        mark_used(&file);
        Some(index)
    }

    /// Keeps it. Where that cannot be done, it is made again the next time.
    pub(super) fn write(&self, index: &FileIndex) {
        let Some(folder) = self.path.parent() else { return };
        if fs::create_dir_all(folder).is_err() || !safe_file::is_real_folder(folder) {
            return;
        }
        let written = safe_file::write(&self.path, &mut |file| {
            let hashed = Hashed { inner: file, hash: Xxh3::new() };
            let mut to = BufWriter::with_capacity(BLOCK, hashed);
            to.write_all(&MAGIC)?;
            encode(index, &mut to)?;
            let Hashed { inner, hash } = to.into_inner().map_err(IntoInnerError::into_error)?;
            inner.write_all(&hash.digest().to_le_bytes())
        });
        if written.is_ok() {
            make_room(folder);
        }
    }
}

/// Sets the time of an index that is used, which says how soon it is removed.
fn mark_used(file: &File) {
    let (now, used) = (SystemTime::now(), file.metadata().and_then(|it| it.modified()));
    if used.is_ok_and(|it| now.duration_since(it).is_ok_and(|it| it > DAY)) {
        // What cannot be marked is removed sooner.
        let _ = file.set_modified(now);
    }
}

/// Bytes on their way to a file or from it.
struct Hashed<T> {
    inner: T,
    hash: Xxh3,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.inner.read(to)?;
        self.hash.update(&to[..n_bytes]);
        Ok(n_bytes)
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_bytes = self.inner.write(bytes)?;
        self.hash.update(&bytes[..n_bytes]);
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The number of records, the end, and then how far each record begins behind the one before it: in LEB128.
fn encode(index: &FileIndex, to: &mut impl Write) -> io::Result<()> {
    let mut put = |mut number: u64| {
        while number >= 0x80 {
            to.write_all(&[number as u8 | 0x80])?;
            number >>= 7;
        }
        to.write_all(&[number as u8])
    };
    put(index.starts.len() as u64)?;
    put(index.end)?;
    let mut before = 0;
    for &start in index.starts.iter() {
        put(start - before)?;
        before = start;
    }
    Ok(())
}

/// What [`encode`] has written of a file of `bytes`; none where the records do not follow each other in it.
fn decoded(from: &mut impl BufRead, bytes: u64) -> Option<FileIndex> {
    let mut from = from.bytes();
    let mut next = || {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = from.next()?.ok()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    };
    let (count, end) = (next()?, next()?);
    if end > bytes {
        return None;
    }
    let mut index = FileIndex { starts: Counted::new(), end };
    let mut at = 0_u64;
    for number in 0..count {
        let step = next()?;
        at = at.checked_add(step).filter(|it| *it < end && (step > 0 || number == 0))?;
        index.starts.push(at);
    }
    from.next().is_none().then_some(index)
}

/// Removes the indices that were used longest ago, beyond so many bytes: once in a process.
fn make_room(folder: &Path) {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    let Ok(entries) = fs::read_dir(folder) else { return };
    let kept = entries.flatten().filter_map(|it| {
        let (path, about) = (it.path(), it.metadata().ok()?);
        let is_index = path.extension().is_some_and(|it| it == "idx") && about.is_file();
        is_index.then_some((about.modified().ok()?, about.len(), path))
    });
    for path in too_much(kept.collect(), FOLDER_MAX) {
        // Another process may have removed it.
        let _ = fs::remove_file(path);
    }
}

/// Of files with the times of their last use, those to be removed so that the others have `most` bytes.
fn too_much(mut kept: Vec<(SystemTime, u64, PathBuf)>, most: u64) -> Vec<PathBuf> {
    kept.sort_by_key(|it| Reverse(it.0));
    let mut bytes = 0_u64;
    let beyond = kept.into_iter().filter(|it| {
        bytes = bytes.saturating_add(it.1);
        bytes > most
    });
    beyond.map(|it| it.2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(starts: &[u64], end: u64) -> Vec<u8> {
        let (mut index, mut bytes) = (FileIndex { starts: Counted::new(), end }, Vec::new());
        index.starts.extend_from_slice(starts);
        encode(&index, &mut bytes).unwrap();
        bytes
    }

    fn read(mut index: &[u8], bytes: u64) -> Option<(Vec<u64>, u64)> {
        decoded(&mut index, bytes).map(|it| (it.starts.to_vec(), it.end))
    }

    #[test]
    fn what_was_written_is_read() {
        for (starts, end) in [(&[][..], 0), (&[0], 1), (&[3, 4, 200, 1 << 40], (1 << 40) + 9)] {
            assert_eq!(read(&written(starts, end), 1 << 41), Some((starts.to_vec(), end)));
        }
    }

    #[test]
    fn what_does_not_fit_its_file_is_refused() {
        let sound = written(&[0, 5, 9], 12);
        assert!(read(&sound, 12).is_some());
        // It became shorter, or the index did, or something stands behind it.
        assert_eq!(read(&sound, 11), None);
        assert_eq!(read(&sound[..sound.len() - 1], 12), None);
        assert_eq!(read(&[&sound[..], &[0]].concat(), 12), None);
        // A record begins where another does, or behind the end.
        assert_eq!(read(&written(&[0, 5, 5], 12), 12), None);
        assert_eq!(read(&written(&[0, 12], 12), 12), None);
        // A number that has no end.
        assert_eq!(read(&[0xff; 30], u64::MAX), None);
    }

    #[test]
    fn those_used_longest_ago_go_first() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let kept = |name: &str, seconds, bytes| (at(seconds), bytes, PathBuf::from(name));
        let all = vec![kept("old", 1, 10), kept("new", 9, 10), kept("mid", 5, 10)];
        assert_eq!(too_much(all.clone(), 20), [PathBuf::from("old")]);
        assert!(too_much(all, 30).is_empty());
    }
}
