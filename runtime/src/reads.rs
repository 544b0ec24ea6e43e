//! What is read from files: counted, and held back where that is asked for.

use crate::tokens;
use std::{
    fs::File,
    io::{self, IoSliceMut, Read},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// What the process has read so far, of records: listings and indices are not in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reads {
    /// Calls that read records.
    pub calls: u64,
    /// Bytes that they gave.
    pub bytes: u64,
    /// Bytes of values that a cache on disk gave, with what says where they lie; not in `bytes`.
    pub cached: u64,
}

impl Reads {
    /// What was read since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            calls: self.calls - before.calls,
            bytes: self.bytes - before.bytes,
            cached: self.cached - before.cached,
        }
    }
}

static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static CACHED: AtomicU64 = AtomicU64::new(0);
/// Bytes a second that may be read; 0 where nothing is held back.
static MOST: AtomicU64 = AtomicU64::new(0);
static BUCKET: Mutex<Option<Bucket>> = Mutex::new(None);

/// How long the bucket takes to fill up: what may come at once after a pause.
const FILL: Duration = Duration::from_millis(50);

/// A shorter pause is made up for by the next ones: who slept for each record of a fast disk would spend more of a core on
/// falling asleep than a disk takes.
const PAID_FROM: Duration = Duration::from_millis(1);

/// A token bucket: when the bytes that have been let through are paid for.
struct Bucket {
    paid_until: Instant,
}

/// What the process has read so far.
pub fn so_far() -> Reads {
    Reads { calls: CALLS.load(Relaxed), bytes: BYTES.load(Relaxed), cached: CACHED.load(Relaxed) }
}

/// Lets the process read records no faster than so many bytes a second, as a slower disk would;
/// `None` lets it go.
pub fn hold_back(bytes_per_second: Option<u64>) {
    MOST.store(bytes_per_second.map_or(0, |it| it.max(1)), Relaxed);
}

/// Bytes a second that the process may read, where that is held back.
pub fn held_back() -> Option<u64> {
    Some(MOST.load(Relaxed)).filter(|it| *it > 0)
}

/// Fills `room` with the rest of `file`, which is not counted; whether that is all of it, and nothing follows.
///
/// # Errors
/// Those of [`Read::read_exact`].
pub(crate) fn to_end(file: &mut File, room: &mut [u8]) -> io::Result<bool> {
    let (mut filled, mut behind) = (0, [0]);
    loop {
        // One byte more is asked for: a file gives less only at its end.
        let mut both = [IoSliceMut::new(&mut room[filled..]), IoSliceMut::new(&mut behind)];
        match file.read_vectored(&mut both) {
            Ok(0) if filled < room.len() => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n_bytes) => filled += n_bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if filled >= room.len() {
            return Ok(filled == room.len());
        }
    }
}

/// Counts bytes that were read, and waits until they are paid for.
pub fn count(bytes: u64) {
    CALLS.fetch_add(1, Relaxed);
    BYTES.fetch_add(bytes, Relaxed);
    pay(bytes);
}

/// Counts bytes that a cache on disk gave, and waits until they are paid for: they come from a disk as well.
pub(crate) fn count_cached(bytes: u64) {
    CACHED.fetch_add(bytes, Relaxed);
    pay(bytes);
}

/// Waits until so many bytes are paid for, where that is asked for.
fn pay(bytes: u64) {
    let most = MOST.load(Relaxed);
    if most > 0 {
        let pause = pause(bytes, most);
        if pause >= PAID_FROM {
            thread::sleep(pause);
        }
    }
}

fn pause(bytes: u64, most: u64) -> Duration {
    let (now, seconds) = (Instant::now(), bytes as f64 / most as f64 * tokens::slower());
    let mut bucket = BUCKET.lock().unwrap_or_else(PoisonError::into_inner);
    let bucket = bucket.get_or_insert(Bucket { paid_until: now });
    let since = bucket.paid_until.max(now.checked_sub(FILL).unwrap_or(now));
    bucket.paid_until = since + Duration::from_secs_f64(seconds);
    bucket.paid_until.saturating_duration_since(now)
}
