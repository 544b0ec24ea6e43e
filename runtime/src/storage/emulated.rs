//! A store that is not there, for tests and measurements: each request takes its time, as over a network.
//!
//! It has no threads: the calling one sleeps until the request that comes first is due.

use super::{
    Access, Ahead, Entries, Entry, Kind, Landing, Object, ReadError, Request, Stat, Storage,
    local::Local,
};
use crate::tokens;
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    io,
    ops::Range,
    path::{Component, Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// What such a store is like.
#[derive(Debug, Clone)]
pub struct Emulation {
    /// What it holds.
    pub objects: Objects,
    /// From a request to the first byte of what it gives.
    pub latency: Duration,
    /// Bytes a second of one request; none: they come at once.
    pub bytes_per_second: Option<u64>,
    /// Requests that it answers at a time; others wait.
    pub requests_max: usize,
    /// Requests that go wrong.
    pub faults: Vec<Ordered>,
}

/// Where the objects of a store come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objects {
    /// They are the files below a folder: what stands behind `://` is the path there.
    Folder(PathBuf),
    /// They are made up, so many of so many bytes: `0000000`, `0000001`, and so on, in the folder that stands behind
    /// `://`.
    Made {
        /// How many there are.
        count: u64,
        /// Bytes of each.
        bytes: u64,
    },
}

/// Requests that go wrong on order.
#[derive(Debug, Clone)]
pub struct Ordered {
    /// How the path ends.
    pub path: String,
    /// What comes of them.
    pub kind: io::ErrorKind,
    /// How many of them; the next ones are answered.
    pub times: usize,
}

impl Default for Emulation {
    /// A store of no objects that answers at once.
    fn default() -> Self {
        Self {
            objects: Objects::Made { count: 0, bytes: 0 },
            latency: Duration::ZERO,
            bytes_per_second: None,
            requests_max: 1024,
            faults: Vec::new(),
        }
    }
}

/// The store.
#[derive(Clone)]
pub struct Emulated(Arc<Store>);

struct Store {
    of: Emulation,
    /// For each of the requests that may be under way, when it is free.
    free: Mutex<BinaryHeap<Reverse<Instant>>>,
    /// How often each of the orders was carried out.
    wrong: Vec<AtomicUsize>,
    under_way: AtomicUsize,
    under_way_most: AtomicUsize,
}

impl Emulated {
    /// A store that is like that.
    pub fn new(of: Emulation) -> Self {
        let wrong = of.faults.iter().map(|_| AtomicUsize::new(0)).collect();
        let (under_way, under_way_most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self(Arc::new(Store { of, free: Mutex::default(), wrong, under_way, under_way_most }))
    }

    /// The most requests that were ever under way at a time.
    pub fn under_way_most(&self) -> usize {
        self.0.under_way_most.load(Relaxed)
    }
}

impl Store {
    /// A path as the objects know it: what stands behind `://`.
    fn below(path: &Path) -> io::Result<&str> {
        let text = path.to_str().and_then(|it| it.split_once("://")).map(|it| it.1);
        let text = text.ok_or(io::ErrorKind::InvalidInput)?;
        let is_plain = |it: Component<'_>| matches!(it, Component::Normal(_));
        match Path::new(text).components().all(is_plain) {
            true => Ok(text.trim_end_matches('/')),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Which of the objects that are made up it is.
    fn made(below: &str, count: u64) -> io::Result<Option<u64>> {
        let Some((_, name)) = below.rsplit_once('/') else { return Ok(None) };
        let number = name.parse().ok().filter(|it| *it < count && name.len() == 7);
        number.map(Some).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let below = Self::below(path)?;
        match &self.of.objects {
            Objects::Folder(folder) => Local.stat(&folder.join(below)),
            Objects::Made { count, bytes } => Ok(match Self::made(below, *count)? {
                Some(number) => Stat { kind: Kind::File, bytes: *bytes, tag: u128::from(number) },
                None => Stat { kind: Kind::Folder, bytes: 0, tag: 0 },
            }),
        }
    }

    /// When a request of so many bytes is answered that begins now.
    fn due(&self, bytes: u64) -> Instant {
        let seconds = self.of.bytes_per_second.map_or(0.0, |it| bytes as f64 / it.max(1) as f64);
        let takes = self.of.latency + Duration::from_secs_f64(seconds);
        let now = Instant::now();
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = match free.len() < self.of.requests_max.max(1) {
            true => now,
            false => free.pop().map_or(now, |it| it.0.max(now)),
        };
        let due = begins + takes.mul_f64(tokens::slower());
        free.push(Reverse(due));
        due
    }

    /// Waits for one request of no bytes.
    fn wait(&self) {
        thread::sleep(self.due(0).saturating_duration_since(Instant::now()));
    }

    /// What goes wrong with a request, if it does.
    fn wrong(&self, path: &Path) -> io::Result<()> {
        for (order, done) in self.of.faults.iter().zip(&self.wrong) {
            let is_meant = path.to_str().is_some_and(|it| it.ends_with(&order.path));
            if is_meant && done.fetch_add(1, Relaxed) < order.times {
                return Err(io::Error::new(order.kind, "the store was told to fail"));
            }
        }
        Ok(())
    }

    /// Fills the room of a request that is due; `false` where there is none.
    fn answer(
        &self,
        (number, request): (usize, &Request<'_>),
        landing: &mut dyn Landing,
    ) -> Result<bool, ReadError> {
        self.wrong(request.path)?;
        let (path, below) = (request.path, Self::below(request.path)?);
        let (count, bytes) = match &self.of.objects {
            Objects::Folder(folder) => {
                let path = folder.join(below);
                let local = Request { path: &path, range: request.range.clone() };
                return Local.answer((number, &local), landing);
            }
            Objects::Made { count, bytes } => (*count, *bytes),
        };
        let Some(object) = Self::made(below, count)? else { return Err(ReadError::NoFile) };
        let Range { start, end } = request.range.clone().unwrap_or(0..bytes);
        debug_assert!(start <= end, "{path:?}: a range goes forward");
        if end > bytes {
            return Err(ReadError::Changed);
        }
        let Some(room) = landing.room(number, end - start) else { return Ok(false) };
        make(object, start, room);
        Ok(true)
    }
}

/// The bytes of an object that is made up, from one on: its number, and then what repeats after so many.
fn make(object: u64, start: u64, room: &mut [u8]) {
    const PERIOD: usize = 251;
    let pattern: [u8; PERIOD] = std::array::from_fn(|it| it as u8);
    let mut at = start;
    let mut rest = room;
    if let Some(number) = object.to_le_bytes().get(start as usize..).filter(|_| start < 8) {
        let n_bytes = number.len().min(rest.len());
        rest[..n_bytes].copy_from_slice(&number[..n_bytes]);
        (rest, at) = (&mut rest[n_bytes..], start + n_bytes as u64);
    }
    while !rest.is_empty() {
        let from = (at % PERIOD as u64) as usize;
        let n_bytes = rest.len().min(PERIOD - from);
        rest[..n_bytes].copy_from_slice(&pattern[from..from + n_bytes]);
        (rest, at) = (&mut rest[n_bytes..], at + n_bytes as u64);
    }
}

impl Storage for Emulated {
    fn access(&self) -> Option<Access> {
        let Emulation { latency, bytes_per_second, requests_max, .. } = self.0.of;
        Some(Access { latency, bytes_per_second, requests_max })
    }

    fn list(&self, folder: &Path) -> io::Result<Entries<'_>> {
        self.0.wait();
        let below = Store::below(folder)?;
        match &self.0.of.objects {
            Objects::Folder(root) => {
                let of = |it: io::Result<Entry>| {
                    let it = it?;
                    it.kind().map(|kind| Entry::new(it.name(), kind))
                };
                let root = root.join(below);
                Ok(Box::new(Local.list(&root)?.map(of).collect::<Vec<_>>().into_iter()))
            }
            Objects::Made { count, .. } if !below.contains('/') => {
                let entry = |it: u64| Ok(Entry::new(format!("{it:07}").into(), Kind::File));
                Ok(Box::new((0..*count).map(entry)))
            }
            Objects::Made { .. } => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.0.wait();
        self.0.wrong(path)?;
        self.0.stat(path)
    }

    fn stats(&self, paths: &[PathBuf], visit: &mut dyn FnMut(usize, io::Result<Stat>)) {
        let due = paths.iter().map(|_| self.0.due(0)).max();
        thread::sleep(due.map_or(Duration::ZERO, |it| it - Instant::now().min(it)));
        for (number, path) in paths.iter().enumerate() {
            visit(number, self.0.wrong(path).and_then(|()| self.0.stat(path)));
        }
    }

    fn open(&self, path: &Path, _: &mut dyn FnMut()) -> io::Result<Box<dyn Object>> {
        let stat = Storage::stat(self, path)?;
        match stat.kind {
            Kind::File => Ok(Box::new(Ahead::new(Arc::new(self.clone()), path, stat))),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn read(&self, requests: &[Request<'_>], landing: &mut dyn Landing) {
        let store = &*self.0;
        let bytes = |it: &Request<'_>| match &it.range {
            Some(range) => range.end.saturating_sub(range.start),
            None => store.stat(it.path).map_or(0, |it| it.bytes),
        };
        let mut due: Vec<(Instant, usize)> =
            requests.iter().map(|it| store.due(bytes(it))).zip(0..).collect();
        due.sort_unstable();
        let under_way = store.under_way.fetch_add(due.len(), Relaxed) + due.len();
        store.under_way_most.fetch_max(under_way, Relaxed);
        for (due, number) in due {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            store.under_way.fetch_sub(1, Relaxed);
            match store.answer((number, &requests[number]), landing) {
                Ok(true) => landing.landed(number, Ok(())),
                Ok(false) => {}
                Err(error) => landing.landed(number, Err(error)),
            }
        }
    }

    fn put(&self, path: &Path, bytes: Vec<u8>) -> io::Result<()> {
        self.0.wait();
        match &self.0.of.objects {
            Objects::Folder(folder) => Local.put(&folder.join(Store::below(path)?), bytes),
            Objects::Made { .. } => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }

    fn remove(&self, paths: &[PathBuf]) -> io::Result<()> {
        self.0.wait();
        let Objects::Folder(folder) = &self.0.of.objects else {
            return Err(io::ErrorKind::PermissionDenied.into());
        };
        let files = paths.iter().map(|it| Ok(folder.join(Store::below(it)?)));
        Local.remove(&files.collect::<io::Result<Vec<_>>>()?)
    }
}
