//! How fast an object store answers: objects that lie there are read, and nothing is written.

use super::Time;
use crate::session::{
    host::{Figure, Store},
    stores::failure,
};
use runtime::{
    Failure,
    storage::{self, Kind, Landing, ReadError, Request},
};
use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
    time::Instant,
};

/// Objects that are looked for, and those that are read one after the other.
const OBJECTS_MAX: usize = 1_000;
/// Objects that are opened before the largest is known, to learn how long they are.
const SIZED_MAX: usize = 200;
/// Folders that are listed for them, at the most.
const FOLDERS_MAX: usize = 100;
/// The shares of the time for the latency, one request at a time, and small ones at a time.
const LATENCY_SHARE: f64 = 0.2;
const ONE_SHARE: f64 = 0.25;
const SMALL_SHARE: f64 = 0.4;
/// Requests of one round that are under way at a time, at the most.
const AT_ONCE: usize = 256;
/// Bytes of a request for the bandwidth, and of all of one round.
const REQUEST: u64 = 1 << 20;
const ROUND: u64 = 64 << 20;
/// Bytes of a small request.
const SMALL: u64 = 1 << 10;
/// Rounds of each kind at the most: what is read may have to be paid for.
const ROUNDS_MAX: usize = 15;
/// Requests at the most of which the latency is taken.
const LATENCIES_MAX: usize = 50;

/// Measures the store that `url` lies in by the objects below it.
pub(super) fn measure(
    url: &Path,
    time: &Time<'_>,
    told: &mut dyn FnMut(&str),
) -> Result<Store, Failure> {
    let mut told = |what: &str| told(&format!("{}: {what}", url.display()));
    told("listing objects");
    let objects = Objects::below(url, time)?;
    let mut read = 0;

    told("latency");
    let share = time.share(LATENCY_SHARE);
    let latency = runs(&share, LATENCIES_MAX, |round| {
        let object = &objects.all[round % objects.all.len()];
        let begun = Instant::now();
        objects.read(&[(object, 0..1)])?;
        Ok(begun.elapsed().as_secs_f64())
    })?;

    told("one request at a time");
    let share = time.share(ONE_SHARE);
    let one = runs(&share, ROUNDS_MAX, |round| {
        let (object, len) = objects.large(round);
        let bytes = len.min(8 * REQUEST);
        let begun = Instant::now();
        objects.read(&[(object, 0..bytes)])?;
        read += bytes;
        // Until the first byte comes nothing is transferred: that is the latency.
        let body = begun.elapsed().as_secs_f64() - latency.median;
        Ok(bytes as f64 / body.max(begun.elapsed().as_secs_f64() * 0.01))
    })?;

    told("small requests at the same time");
    let access = objects.storage.access();
    let at_once = access.map_or(1, |it| it.requests_max).clamp(1, AT_ONCE);
    let share = time.share(SMALL_SHARE);
    let requests = runs(&share, ROUNDS_MAX, |round| {
        let of = |it: usize| &objects.all[(round * at_once + it) % objects.all.len()];
        let requests: Vec<_> = (0..2 * at_once).map(|it| (of(it), 0..SMALL)).collect();
        let begun = Instant::now();
        read += objects.read(&requests)?;
        Ok(requests.len() as f64 / begun.elapsed().as_secs_f64())
    })?;

    told("large requests at the same time");
    let many = runs(time, ROUNDS_MAX, |round| {
        let requests = objects.stretches(round);
        let begun = Instant::now();
        let bytes = objects.read(&requests)?;
        read += bytes;
        Ok(bytes as f64 / begun.elapsed().as_secs_f64())
    })?;
    let url = url.display().to_string();
    Ok(Store { url, latency, one, many, requests, at_once: at_once as u32, read })
}

/// What `run` gives, as often as there is time for it; once at least.
fn runs(
    time: &Time<'_>,
    most: usize,
    mut run: impl FnMut(usize) -> Result<f64, Failure>,
) -> Result<Figure, Failure> {
    let mut all = vec![run(0)?];
    while all.len() < most && !time.is_over() {
        time.go_on()?;
        all.push(run(all.len())?);
    }
    time.go_on()?;
    Ok(Figure::of(&all, true).expect("there is one"))
}

/// The objects that are read.
struct Objects {
    storage: &'static dyn storage::Storage,
    all: Vec<PathBuf>,
    /// Some of them by their bytes, the largest first.
    sized: Vec<(usize, u64)>,
}

impl Objects {
    fn below(url: &Path, time: &Time<'_>) -> Result<Self, Failure> {
        let storage = storage::of(url);
        let failed = |why: io::Error| failure(storage, url, "cannot be listed", &why);
        let (mut all, mut folders, mut listed) = (Vec::new(), vec![url.to_owned()], 0);
        if let Ok(it) = storage.stat(url)
            && it.kind == Kind::File
        {
            all.push(folders.remove(0));
        }
        while let Some(folder) = folders.pop().filter(|_| listed < FOLDERS_MAX) {
            listed += 1;
            for entry in storage.list(&folder).map_err(failed)? {
                time.go_on()?;
                let entry = entry.map_err(failed)?;
                let path = folder.join(entry.name());
                match entry.kind().map_err(failed)? {
                    Kind::File if all.len() < OBJECTS_MAX => all.push(path),
                    Kind::Folder if folders.len() < FOLDERS_MAX => folders.push(path),
                    _ => {}
                }
            }
            if all.len() >= OBJECTS_MAX {
                break;
            }
        }
        let step = all.len().div_ceil(SIZED_MAX).max(1);
        let some: Vec<PathBuf> = all.iter().step_by(step).cloned().collect();
        let mut sized = Vec::new();
        storage.stats(&some, &mut |at, found| {
            sized.extend(found.ok().map(|it| (at * step, it.bytes)));
        });
        sized.retain(|it| it.1 > 0);
        sized.sort_by_key(|it| std::cmp::Reverse(it.1));
        if sized.is_empty() {
            let detail = "there is no object with bytes below it to measure with; name a prefix that has \
                          some, best of those that are read later";
            return Err(Failure::Io { path: url.display().to_string(), detail: detail.to_owned() });
        }
        Ok(Self { storage, all, sized })
    }

    /// One of the largest, another one each round.
    fn large(&self, round: usize) -> (&Path, u64) {
        let (at, bytes) = self.sized[round % self.sized.len().min(8)];
        (&self.all[at], bytes)
    }

    /// Stretches of objects for one round, of as many bytes as it reads.
    fn stretches(&self, round: usize) -> Vec<(&PathBuf, Range<u64>)> {
        let (mut all, mut left) = (Vec::new(), ROUND);
        for at in (0..self.sized.len()).cycle().skip(round * 64 % self.sized.len()) {
            let (object, bytes) = self.sized[at];
            for begin in (0..bytes).step_by(REQUEST as usize) {
                let end = bytes.min(begin + REQUEST).min(begin + left);
                all.push((&self.all[object], begin..end));
                left -= end - begin;
                if left == 0 || all.len() == 2 * AT_ONCE {
                    return all;
                }
            }
        }
        all
    }

    /// Reads these at the same time; the bytes that came. What an object does not have is left out.
    fn read<P: AsRef<Path>>(&self, wanted: &[(P, Range<u64>)]) -> Result<u64, Failure> {
        let requests: Vec<Request<'_>> = wanted
            .iter()
            .map(|(path, range)| Request { path: path.as_ref(), range: Some(range.clone()) })
            .collect();
        let mut landing = Thrown { rooms: vec![Vec::new(); wanted.len()], bytes: 0, failed: None };
        self.storage.read(&requests, &mut landing);
        match landing.failed {
            None => Ok(landing.bytes),
            Some((at, why)) => {
                Err(failure(self.storage, requests[at].path, "cannot be read", &why))
            }
        }
    }
}

/// What is read is only counted.
struct Thrown {
    rooms: Vec<Vec<u8>>,
    bytes: u64,
    failed: Option<(usize, io::Error)>,
}

impl Landing for Thrown {
    fn room(&mut self, request: usize, bytes: u64) -> Option<&mut [u8]> {
        let room = &mut self.rooms[request];
        room.resize(bytes as usize, 0);
        Some(room)
    }

    fn landed(&mut self, request: usize, result: Result<(), ReadError>) {
        self.bytes += std::mem::take(&mut self.rooms[request]).len() as u64;
        match result {
            // A small object has fewer bytes than were asked for.
            Ok(()) | Err(ReadError::Changed) => {}
            Err(ReadError::Io(why)) => self.failed = Some((request, why)),
            Err(_) => {
                let why = io::Error::other("it cannot be read whole");
                self.failed = Some((request, why));
            }
        }
    }
}
