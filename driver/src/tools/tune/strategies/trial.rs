//! One strategy that is run: filled once, then measured by turns.

use super::{Bench, Runs};
use crate::session::{
    run::{cache_of, cache_point, records_of},
    store::{About, DiskOptions},
};
use compiler::caches::Choice;
use runtime::{CachePoint, Failure, Step};
use std::{
    fs, io,
    path::PathBuf,
    process,
    sync::Arc,
    time::{Duration, Instant},
};

/// Between two looks at the time.
const TICK: Duration = Duration::from_millis(20);
/// Bytes of memory for the table of what is on disk.
const TABLE_BYTES: u64 = 64 << 20;

/// A strategy that is run.
pub(super) struct Trial<'a> {
    runs: Runs<'a>,
    points: Vec<CachePoint>,
    /// Records that a pass takes: those that the first one gave.
    records: u64,
    rates: Vec<f64>,
    /// What is to be told of it.
    pub(super) note: Option<String>,
    /// Removed with it.
    folder: Option<Folder>,
}

/// A folder that is there for a trial.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now is `pipec cache gc`'s.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl<'a> Trial<'a> {
    /// Fills what is kept of the first records: as many as `first` has taken, or as come in so many seconds.
    pub(super) fn new(
        bench: &Bench<'_>,
        runs: Runs<'a>,
        (choices, seconds): (Vec<Choice>, f64),
        first: Option<&Self>,
    ) -> Result<Self, Failure> {
        let kept: Vec<Choice> = choices.into_iter().filter(|it| it.kept).collect();
        let on_disk = kept.iter().any(Choice::is_on_disk);
        let folder = match bench.asked.disk.as_ref().filter(|_| on_disk) {
            Some(disk) => Some(new_folder(disk)?),
            None => None,
        };
        let (mut points, mut note) = (Vec::new(), None);
        for choice in &kept {
            let mut store = None;
            if let (Some(folder), Some(disk), true) =
                (&folder, &bench.asked.disk, choice.is_on_disk())
            {
                let disk = DiskOptions { folder: folder.0.clone(), ..disk.clone() };
                let opened = disk
                    .open(&About::new(runs.compiled, &choice.candidate, bench.inputs), TABLE_BYTES);
                note = note.or(opened.notes.into_iter().next());
                store = opened.store;
            }
            let cache = cache_of(choice, choice.limit, store);
            points.push(cache_point(&choice.candidate, Arc::new(cache)));
        }
        let mut new = Self { runs, points, records: u64::MAX, rates: Vec::new(), note, folder };
        let records = first.map_or(u64::MAX, |it| it.records);
        let (taken, _) = new.pass(bench, (records, seconds))?;
        new.records = taken.max(1);
        Ok(new)
    }

    /// Measures it once more.
    pub(super) fn turn(&mut self, bench: &Bench<'_>) -> Result<(), Failure> {
        if let Some(folder) = &self.folder {
            drop_pages(&folder.0);
        }
        let (_, rate) = self.pass(bench, (self.records, f64::INFINITY))?;
        self.rates.push(rate);
        Ok(())
    }

    /// Records in a second, the median of its turns.
    pub(super) fn rate(&self) -> f64 {
        let mut all = self.rates.clone();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or_default()
    }

    /// Runs from the begin until so many records have come, or so many seconds are over: how many have, and how many in a
    /// second.
    fn pass(
        &self,
        bench: &Bench<'_>,
        (records, seconds): (u64, f64),
    ) -> Result<(u64, f64), Failure> {
        let Runs { compiled, program } = self.runs;
        let kernels = compiled.kernels()?;
        let options = bench.options(self.runs, !self.points.is_empty());
        let mut run = runtime::start(program, &*kernels, &options)?;
        run.keep(&self.points)?;
        bench.stop.arm(Some(run.stopper()))?;
        let (begun, mut taken) = (Instant::now(), 0);
        while taken < records && begun.elapsed().as_secs_f64() < seconds || taken == 0 {
            match run.step(Some(TICK)) {
                Step::Chunk(chunk) => taken += records_of(program, &chunk) as u64,
                Step::Waiting => {}
                Step::EpochEnd(_) | Step::Over => break,
                Step::Failed(failure) => return Err(failure),
            }
        }
        let elapsed = begun.elapsed().as_secs_f64();
        bench.stop.arm(None)?;
        Ok((taken, taken as f64 / elapsed.max(1e-9)))
    }
}

fn new_folder(disk: &DiskOptions) -> Result<Folder, Failure> {
    let path = disk.folder.join(
        format!("tune-{}-{:?}", process::id(), Instant::now())
            .replace(|it: char| !it.is_ascii_alphanumeric() && it != '-', ""),
    );
    let failed = |it: io::Error| Failure::Io {
        path: disk.folder.display().to_string(),
        detail: format!("nothing can be cached there: {it}"),
    };
    fs::create_dir_all(&path).map_err(failed)?;
    Ok(Folder(path))
}

/// Lets the system forget what it holds of the files of a folder, so that they are read from the disk.
fn drop_pages(folder: &std::path::Path) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(it) if it.is_dir() => folders.push(entry.path()),
                Ok(it) if it.is_file() => {
                    if let Ok(file) = safe_file::open_here(&entry.path()) {
                        runtime::os::forget(&file);
                    }
                }
                _ => {}
            }
        }
    }
}
