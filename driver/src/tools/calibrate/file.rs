//! The file that is written and read: nobody finds it, and nothing of it stays.

use crate::session::whole;
use runtime::{Failure, os};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

/// A file of bytes that cannot be compressed.
pub(super) struct Probe {
    /// Reads through the page cache.
    pub(super) cached: File,
    /// Reads past it, where the file system allows that.
    pub(super) direct: Option<File>,
    /// Bytes that are written.
    pub(super) bytes: u64,
    /// Small files, of [`SMALL`] bytes each.
    pub(super) small: Vec<File>,
    folder: PathBuf,
    /// Where it is, if it has a name still.
    path: Option<PathBuf>,
}

/// Bytes of a small file: what a picture has.
pub(super) const SMALL: usize = 128 << 10;
/// Small files at the most: they are open all the time.
const SMALL_MAX: u64 = 256;

impl Probe {
    /// Makes an empty file in `folder`. Where the system allows it the file has no name from then
    /// on, so that it goes with the process however that ends.
    pub(super) fn create(folder: &Path) -> Result<Self, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_nanos());
        let path = folder.join(format!(".pipec-calibrate-{}-{now}", process::id()));
        let cached = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let cached = cached.map_err(|it| failed(folder, "cannot be written to", &it))?;
        let direct = past_cache(&path);
        let path = if cfg!(unix) && fs::remove_file(&path).is_ok() { None } else { Some(path) };
        Ok(Self { cached, direct, bytes: 0, small: Vec::new(), folder: folder.to_owned(), path })
    }

    /// Writes small files beside it, of a quarter of so many bytes together; where they could not
    /// be without names there are none.
    pub(super) fn add_small(&mut self, bytes: u64) -> Result<(), Failure> {
        let n = (bytes / 4 / SMALL as u64).min(SMALL_MAX);
        let mut block = vec![0; SMALL];
        while (self.small.len() as u64) < n && self.path.is_none() {
            os::read_exact_at(&self.cached, &mut block, self.small.len() as u64 * SMALL as u64)
                .map_err(|it| self.unreadable(&it))?;
            let mut one = Self::create(&self.folder)?;
            one.append(&block)?;
            if one.path.is_some() {
                return Ok(());
            }
            self.small.push(one.cached.try_clone().map_err(|it| self.unreadable(&it))?);
        }
        Ok(())
    }

    /// Writes `block` at the end, until it is on the disk.
    pub(super) fn append(&mut self, block: &[u8]) -> Result<(), Failure> {
        let written = self.cached.write_all(block).and_then(|()| self.cached.sync_data());
        written.map_err(|it| failed(&self.folder, "cannot be written to", &it))?;
        self.bytes += block.len() as u64;
        Ok(())
    }

    /// Reads all of it, so that the page cache holds it.
    pub(super) fn warm(&self, buffer: &mut [u8]) -> Result<(), Failure> {
        let mut at = 0;
        while at < self.bytes {
            let n = buffer.len().min((self.bytes - at) as usize);
            os::read_exact_at(&self.cached, &mut buffer[..n], at)
                .map_err(|it| self.unreadable(&it))?;
            at += n as u64;
        }
        Ok(())
    }

    /// The failure that it cannot be read.
    pub(super) fn unreadable(&self, error: &io::Error) -> Failure {
        failed(&self.folder, "cannot be read from", error)
    }

    /// Asks for pages to be read behind those that are asked for, or not.
    pub(super) fn read_ahead(&self, wanted: bool) {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{Advice, fadvise};
            let advice = if wanted { Advice::Normal } else { Advice::Random };
            // Advice: what is measured is what comes of it.
            let _ = fadvise(&self.cached, 0, None, advice);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = wanted;
    }

    /// Drops its pages from the page cache; whether none is left.
    pub(super) fn drop_pages(&self) -> bool {
        dropped(&self.cached, self.bytes as usize)
    }

    /// The same of the small files.
    pub(super) fn drop_small(&self) -> bool {
        self.small.iter().all(|it| dropped(it, SMALL))
    }

    /// The share of its pages that the page cache holds; none where the system does not say.
    pub(super) fn resident(&self) -> Option<f64> {
        #[cfg(target_os = "linux")]
        return resident(&self.cached, self.bytes as usize);
        #[cfg(not(target_os = "linux"))]
        None
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Nothing is left to be done about it.
            let _ = fs::remove_file(path);
        }
    }
}

fn dropped(file: &File, bytes: usize) -> bool {
    #[cfg(target_os = "linux")]
    for _ in 0..DROPS {
        use rustix::fs::{Advice, fadvise};
        let dropped = fadvise(file, 0, None, Advice::DontNeed).is_ok();
        if dropped && resident(file, bytes) == Some(0.0) {
            return true;
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, bytes);
    false
}

/// How often pages are dropped: some may just be in use by the system.
#[cfg(target_os = "linux")]
const DROPS: usize = 3;

/// The file once more, for reads that go past the page cache.
fn past_cache(path: &Path) -> Option<File> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let direct = rustix::fs::OFlags::DIRECT.bits().cast_signed();
        OpenOptions::new().read(true).custom_flags(direct).open(path).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        None
    }
}

/// Reading with `RWF_NOWAIT` would tell as well, but starts to read ahead; `mincore` only looks.
#[cfg(target_os = "linux")]
fn resident(file: &File, bytes: usize) -> Option<f64> {
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    use std::ptr;

    let page = rustix::param::page_size();
    let mut pages = vec![0_u8; bytes.div_ceil(page)];
    // SAFETY: a new mapping, at a place that the system chooses; it is never read through.
    let at = unsafe { mmap(ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, file, 0) };
    let at = at.ok()?;
    // SAFETY: the mapping is `bytes` long, and there is a byte in `pages` for each of its pages.
    let told = unsafe { libc::mincore(at, bytes, pages.as_mut_ptr()) };
    // SAFETY: the mapping is ours, and nothing refers to it.
    let unmapped = unsafe { munmap(at, bytes) };
    if told != 0 || unmapped.is_err() {
        return None;
    }
    // Other bits than the lowest say nothing yet (mincore(2)).
    let held = pages.iter().filter(|it| **it & 1 == 1).count();
    Some(held as f64 / pages.len().max(1) as f64)
}

/// What went wrong with a folder.
fn failed(folder: &Path, what: &str, error: &io::Error) -> Failure {
    whole::failure(folder, &format!("this folder {what} to measure its disk"), error)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn pages_are_seen_and_dropped() {
        let folder = std::env::temp_dir();
        let mut probe = Probe::create(&folder).unwrap();
        probe.append(&[7; 1 << 20]).unwrap();
        assert!(probe.path.is_none(), "the file has no name");
        probe.warm(&mut [0; 1 << 16]).unwrap();
        assert_eq!(probe.resident(), Some(1.0));
        if !probe.drop_pages() {
            println!("skipped: the pages of `{}` cannot be dropped", folder.display());
            return;
        }
        assert_eq!(probe.resident(), Some(0.0));
        probe.read_ahead(false);
        os::read_exact_at(&probe.cached, &mut [0; 1], 1 << 19).unwrap();
        assert!(probe.resident().is_some_and(|it| it > 0.0 && it < 1.0));
    }
}
