//! Writing large files past the cache of the system (`O_DIRECT`), where there is such a way.
//!
//! What has to be on the disk before it counts goes there at once: the system neither makes pages of it
//! nor brings them to the disk later, and files that a program reads again and again stay in memory,
//! which output that nobody reads would push out. Who reads the output next finds it on the disk.

use crate::draft::{self, Draft};
use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

/// Bytes that are written at once. A disk that takes 2 GB/s and a millisecond a call loses a third to
/// the calls with 4 MiB; memory is what more of it would cost.
const BLOCK: usize = 4 << 20;
/// Bytes of a file that is written so, at least. Assumed: of a small one the call costs more than its pages.
const LARGE: usize = 256 << 10;
/// What places in memory and in the file are multiples of: as much as any disk asks for.
const ALIGN: usize = 4096;

/// Writes files one after the other, with memory of its own.
#[derive(Debug, Default)]
pub struct Direct {
    /// A block, behind what aligns it.
    buffer: Vec<u8>,
    start: usize,
}

impl Direct {
    /// Writes a file that is either whole or not there, as [`crate::write`] does. It is on the disk
    /// once the file was synced, as any other.
    ///
    /// # Errors
    /// It cannot be written; what was there stays.
    pub fn write(
        &mut self,
        path: &Path,
        content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if draft::is_special(path) || !self.is_ready() {
            return draft::write(path, content);
        }
        let mut draft = Draft::new(path, 0o666)?;
        let mut blocks = Blocks { file: draft.file(), to: self, way: Way::Unknown };
        content(&mut blocks)?;
        blocks.write_out()?;
        draft.finish(path)
    }

    /// Whether there is memory for a block.
    fn is_ready(&mut self) -> bool {
        if self.buffer.capacity() == 0 {
            if self.buffer.try_reserve_exact(BLOCK + ALIGN).is_err() {
                return false;
            }
            self.start = self.buffer.as_ptr().align_offset(ALIGN);
        }
        self.clear();
        true
    }

    fn clear(&mut self) {
        self.buffer.resize(self.start, 0);
    }

    fn filled(&self) -> usize {
        self.buffer.len() - self.start
    }
}

/// A file, written in blocks.
struct Blocks<'a> {
    file: &'a mut File,
    to: &'a mut Direct,
    way: Way,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Nothing was written yet.
    Unknown,
    Direct,
    /// Through the cache: there is no other way here, it is small, or its end is no multiple.
    Cached,
}

impl Blocks<'_> {
    /// Writes what the buffer holds; a rest that is no multiple goes through the cache.
    fn write_out(&mut self) -> io::Result<()> {
        let Direct { start, .. } = *self.to;
        let end = start + self.to.filled() / ALIGN * ALIGN;
        if self.way == Way::Unknown {
            let is_large = end - start >= LARGE;
            self.way = if is_large && is_set(self.file, true) { Way::Direct } else { Way::Cached };
        }
        let mut at = start;
        while self.way == Way::Direct && at < end {
            match self.file.write(&self.to.buffer[at..end]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => at += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The file system asks for more than this, or has no such way after all.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.go_cached()?,
                Err(error) => return Err(error),
            }
            if !(at - start).is_multiple_of(ALIGN) {
                self.go_cached()?;
            }
        }
        if at < self.to.buffer.len() {
            self.go_cached()?;
            self.file.write_all(&self.to.buffer[at..])?;
        }
        self.to.clear();
        Ok(())
    }

    fn go_cached(&mut self) -> io::Result<()> {
        if self.way == Way::Direct && !is_set(self.file, false) {
            return Err(io::Error::other("it cannot be written through the cache any more"));
        }
        self.way = Way::Cached;
        Ok(())
    }
}

impl Write for Blocks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_bytes = bytes.len().min(BLOCK - self.to.filled());
        self.to.buffer.extend_from_slice(&bytes[..n_bytes]);
        if self.to.filled() == BLOCK {
            self.write_out()?;
        }
        Ok(n_bytes)
    }

    /// Nobody reads it before it is whole.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether writes to `file` go past the cache from now on, or through it again, as asked.
#[cfg(target_os = "linux")]
fn is_set(file: &File, is_direct: bool) -> bool {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let set = |it: OFlags| {
        let flags = if is_direct { it | OFlags::DIRECT } else { it - OFlags::DIRECT };
        fcntl_setfl(file, flags)
    };
    fcntl_getfl(file).and_then(set).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn is_set(_: &File, is_direct: bool) -> bool {
    !is_direct
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{env, fs, process};

    const LAST: usize = 2 * BLOCK + ALIGN + 7;

    #[test]
    fn what_is_written_is_what_was_given() {
        // Where temporary files lie, and where builds do: one of them is often in memory alone.
        let here = env::current_exe().unwrap();
        let mut direct = Direct::default();
        for folder in [env::temp_dir(), here.parent().unwrap().to_owned()] {
            let path = folder.join(format!("pipec-direct-{}", process::id()));
            for len in [0, 1, LARGE - 1, LARGE + 1, BLOCK - 1, BLOCK, BLOCK + 1, LAST] {
                let bytes: Vec<u8> = (0..len).map(|it| (it * 7 + it / 251) as u8).collect();
                for step in [usize::MAX, 100_003] {
                    let written = direct.write(&path, &mut |out| {
                        bytes.chunks(step.min(len.max(1))).try_for_each(|it| out.write_all(it))
                    });
                    written.unwrap();
                    assert_eq!(fs::read(&path).unwrap(), bytes, "{len}");
                }
            }
            let failed = direct.write(&path, &mut |out| {
                out.write_all(&[1; 2 * BLOCK])?;
                Err(io::ErrorKind::StorageFull.into())
            });
            assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
            assert_eq!(fs::metadata(&path).unwrap().len(), LAST as u64);
            fs::remove_file(&path).unwrap();
        }
    }
}
