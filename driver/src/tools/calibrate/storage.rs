//! How fast the disk below a folder is.

use super::{
    Time,
    file::Probe,
    memory_most,
    reads::Reads,
    sweep::{REQUEST_MAX, REQUESTS, Way, next},
};
use crate::session::host::{Cache, Cold, Figure, Medium, Storage, Sweep, mount_at};
use runtime::Failure;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

/// The share of the time that goes into writing the file, at the most.
const WRITE_SHARE: f64 = 0.2;
/// The share of the time that is left then which goes into cold reading.
const COLD_SHARE: f64 = 0.5;
/// Bytes that are written at a time; so many times the figure of writing is measured.
const BLOCK: usize = 16 << 20;

/// Measures the disk below `folder` with a file of `size` bytes.
pub(super) fn measure(
    folder: &Path,
    size: u64,
    time: &Time<'_>,
    told: &mut dyn FnMut(&str),
) -> Result<Storage, Failure> {
    let folder = whole_name(folder)?;
    let (total, free) = room(&folder);
    enough_room(&folder, size, free)?;
    let mount = mount_at(&folder);
    let shown = folder.display().to_string();
    let mut told = |what: &str| told(&format!("{shown}: {what}"));

    let mut probe = Probe::create(&folder)?;
    let write = write(&mut probe, size, &time.share(WRITE_SHARE), &mut told)?;
    told("writing small files");
    probe.add_small(size)?;
    let doubt = mount.as_ref().and_then(|it| it.doubt());
    let read = Reading { probe: &probe, doubt };
    let (cold, doubt, read) = read.all(time, &mut told)?;
    Ok(Storage {
        file_system: mount.as_ref().map(|it| it.kind.clone()),
        device: mount.as_ref().map(|it| it.device().unwrap_or_else(|| it.source.clone())),
        medium: mount.as_ref().map_or(Medium::Unknown, |it| it.medium()),
        mount: mount.map(|it| it.point),
        path: folder,
        total,
        free,
        file: probe.bytes,
        cold,
        doubt,
        write,
        read,
    })
}

/// Writes the file, or as much of it as there is time for and reading needs.
fn write(
    probe: &mut Probe,
    size: u64,
    time: &Time<'_>,
    told: &mut dyn FnMut(&str),
) -> Result<Figure, Failure> {
    told("writing");
    let mut state = 1;
    let mut block = vec![0; BLOCK];
    let mut runs = Vec::new();
    while probe.bytes < super::SIZE_MIN || probe.bytes < size && !time.is_over() {
        // Other bytes each time: what is compressed or kept once would be too fast.
        let words = block.chunks_exact_mut(8);
        words.for_each(|it| it.copy_from_slice(&next(&mut state).to_le_bytes()));
        let begun = Instant::now();
        probe.append(&block)?;
        runs.push(BLOCK as f64 / begun.elapsed().as_secs_f64());
        time.go_on()?;
    }
    Ok(Figure::of(&runs, true).expect("the smallest file is some blocks"))
}

/// How a file is read, cold and warm.
struct Reading<'a> {
    probe: &'a Probe,
    doubt: Option<&'static str>,
}

impl Reading<'_> {
    fn all(
        &self,
        time: &Time<'_>,
        told: &mut dyn FnMut(&str),
    ) -> Result<(Cold, Option<String>, Vec<Sweep>), Failure> {
        let mut buffer = vec![0; REQUEST_MAX];
        let mut cold = self.how();
        let doubtful = self.doubt.is_some() || cold == Cold::Unassured;
        let way = Way { probe: self.probe, cache: Cache::Cold, cold, doubtful };
        let (mut sweeps, assured) = way.sweeps(&time.share(COLD_SHARE), told)?;
        if !assured {
            cold = Cold::Unassured;
        }

        self.probe.read_ahead(true);
        if self.probe.bytes <= memory_most() {
            self.probe.warm(&mut buffer)?;
            let held = self.probe.resident().is_none_or(|it| it > 0.99);
            let way = Way { probe: self.probe, cache: Cache::Warm, cold, doubtful: !held };
            sweeps.extend(way.sweeps(time, told)?.0);
        }
        let unassured = "the file could not be evicted from the page cache";
        let doubt = self.doubt.or((cold == Cold::Unassured).then_some(unassured));
        Ok((cold, doubt.map(str::to_owned), sweeps))
    }

    /// How cold reads can be had: tried, since some file systems take `O_DIRECT` and heed it not.
    fn how(&self) -> Cold {
        let dropped = self.probe.drop_pages();
        if dropped && self.goes_past() {
            Cold::Direct
        } else if self.probe.drop_pages() {
            Cold::Dropped
        } else {
            Cold::Unassured
        }
    }

    /// Whether a stretch that is read past the page cache leaves nothing in it.
    fn goes_past(&self) -> bool {
        let Some(direct) = &self.probe.direct else { return false };
        let stop = AtomicBool::new(false);
        let reads = Reads {
            file: direct,
            request: REQUESTS[0],
            order: None,
            blocks: 16,
            small: &[],
            threads: 1,
            from: 0.0,
            time: Duration::MAX,
            once: true,
            stop: &stop,
        };
        reads.run().is_ok() && self.probe.resident() == Some(0.0)
    }
}

/// The folder's whole name, without links.
fn whole_name(folder: &Path) -> Result<PathBuf, Failure> {
    let io = |detail| Failure::Io { path: folder.display().to_string(), detail };
    let whole = fs::canonicalize(folder).map_err(|error| {
        io(format!("cannot measure this folder: {error}; name an existing one"))
    })?;
    if !whole.is_dir() {
        return Err(io("this is not a folder; name the folder that contains the data".to_owned()));
    }
    if whole.to_str().is_none() {
        return Err(io("its name is not valid UTF-8, so it cannot be written to the host file; \
                       name another folder on this disk"
            .to_owned()));
    }
    Ok(whole)
}

/// Bytes of the file system, and those of them that may be taken.
fn room(folder: &Path) -> (Option<u64>, Option<u64>) {
    #[cfg(target_os = "linux")]
    if let Ok(it) = rustix::fs::statvfs(folder) {
        return (it.f_blocks.checked_mul(it.f_frsize), it.f_bavail.checked_mul(it.f_frsize));
    }
    let _ = folder;
    (None, None)
}

fn enough_room(folder: &Path, size: u64, free: Option<u64>) -> Result<(), Failure> {
    let Some(free) = free.filter(|it| *it < size) else { return Ok(()) };
    let (wanted, free) = (size >> 20, free >> 20);
    let full = io::Error::from(io::ErrorKind::StorageFull);
    let detail = format!(
        "measuring this disk needs a file of {wanted} MiB, but only {free} MiB are free: {full}; \
         free some space, or use a smaller file with `--size` (at least 32MiB)"
    );
    Err(Failure::Io { path: folder.display().to_string(), detail })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_before_it_is_filled() {
        let told = enough_room(Path::new("/d"), 256 << 20, Some(100 << 20)).unwrap_err();
        let told = told.to_string();
        assert!(
            told.contains("`/d`: ")
                && told.contains("a file of 256 MiB")
                && told.contains("100 MiB are free"),
            "{told}"
        );
        assert_eq!(enough_room(Path::new("/d"), 1, Some(1)), Ok(()));
    }
}
