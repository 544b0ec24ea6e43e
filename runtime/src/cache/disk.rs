//! Values on disk, under the address of what they are: found again by later runs.
//!
//! A value is there once its record is; a record or a value of which a byte has changed is not there,
//! and is counted. Each process appends to a segment of its own, which it holds locked, and now and then looks for
//! what others have appended to theirs: so several processes and ranks on one folder find what any of them has computed.
//! Nothing is waited for, and nothing that goes wrong ends a run: what is not found is computed.

mod carried;
mod in_place;
mod read;

use super::{
    CacheKey, KeyIsHash,
    codec::{self, Codecs},
    counter::Counter,
    record::{self, Found, Record},
    room::DiskRoom,
    segment::{self, Segment},
};
use crate::{Tensor, os};
use plan::Codec;
use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState},
    io,
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use xxhash_rust::xxh3::xxh3_64;

/// Locks that share the table.
const SHARDS: usize = 64;
/// Bytes of memory that an entry of the table takes at most, however full the table is.
const ENTRY_BYTES: u64 = 80;
/// Bytes that are claimed at once, at least and at most, and records.
const CLAIM: (u64, u64) = (64 << 10, 16 << 20);
const CLAIM_RECORDS: u32 = 256;
/// From one look at what others have appended to the next.
const LOOKED: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 1000 });
/// Segments that are begun, at the most, until one is this process's own: another one may be faster to lock it.
const TRIES: usize = 8;
/// The number of no segment.
const NONE: u32 = u32::MAX;
/// Bytes that are drawn anew in each process.
const NONCE: usize = 16;

/// The values of one address.
#[derive(Debug)]
pub struct Store {
    room: DiskRoom,
    seed: u64,
    /// The segments, by their numbers; none is ever removed.
    segments: RwLock<Vec<Arc<Segment>>>,
    /// What was seen of the segments of others.
    others: Mutex<Others>,
    table: Vec<Mutex<Shard>>,
    entries_max: u64,
    /// Values that it takes; those that were there before count.
    enough: u64,
    /// How each value is encoded.
    codecs: Codecs,
    folder: PathBuf,
    writer: Option<Mutex<Writer>>,
    /// The number of the segment that this process writes, or [`NONE`].
    own: AtomicU32,
    stopped: OnceLock<String>,
    nonce: [u8; NONCE],
    counts: Counts,
    /// Bytes that were used where the system holds them, since their pages were let go of.
    used: AtomicUsize,
    /// Held, shared, as long as the store is open: what is held is not removed.
    _in_use: File,
}

/// What a store has done so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Values that were found.
    pub hits: u64,
    /// Values that were written.
    pub written: u64,
    /// Values that are there.
    pub entries: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Records and values that were damaged, or could not be read: they are computed anew.
    pub damaged: u64,
    /// Bytes of memory that the table of the entries takes.
    pub table_bytes: u64,
    /// Why it was filled no further, if it was not.
    pub stopped: Option<String>,
}

type Shard = HashMap<CacheKey, Place, BuildHasherDefault<KeyIsHash>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// Its segment, and where it stands there.
    segment: u32,
    offset: u64,
    /// Bytes that are stored behind the record.
    stored: u32,
    /// Whether this process has found them to be what was written.
    verified: bool,
}

impl Place {
    /// Its segment, and where it stands there.
    fn at(self) -> (u32, u64) {
        (self.segment, self.offset)
    }

    /// Bytes of the record and of what is stored behind it.
    fn bytes(self) -> usize {
        record::BYTES + self.stored as usize
    }
}

#[derive(Debug, Default)]
struct Counts {
    hits: Counter,
    written: AtomicU64,
    entries: AtomicU64,
    bytes: AtomicU64,
    damaged: AtomicU64,
}

/// How far the segments of other processes were read.
#[derive(Debug)]
struct Others {
    /// Records of each segment, by its number.
    read: Vec<u32>,
    /// Segments that are known, by their names.
    names: HashSet<String>,
    /// When that was looked at last.
    looked: Instant,
}

/// What is known of the segment that this process writes.
#[derive(Debug, Default)]
struct Writer {
    /// How far it is: records, bytes of values.
    records: u32,
    values: u64,
    /// Records with those that threads are about to write.
    reserved: u32,
    /// Records and bytes of values for which room was claimed.
    claimed: (u32, u64),
}

impl Store {
    /// Opens the store of `address` in a folder, or begins it; reads what is there.
    ///
    /// Its table takes at most `table_bytes` of memory.
    ///
    /// # Errors
    /// The folder cannot be made, locked or read.
    pub fn open(room: &DiskRoom, address: &str, table_bytes: u64) -> io::Result<Self> {
        let folder = room.folder.join(address);
        fs::create_dir_all(&room.folder)?;
        let lock = room.lock()?;
        fs::create_dir_all(&folder)?;
        real(&folder)?;
        let in_use = safe_file::create_here(&folder.join("in-use.lock"))?;
        in_use.lock_shared()?;
        drop(lock);
        let mut new = Self::empty(room, address, (in_use, table_bytes / ENTRY_BYTES));
        let mut writer = Writer::default();
        new.load(Some(&mut writer))?;
        new.writer = Some(Mutex::new(writer));
        Ok(new)
    }

    /// Opens the store of `address` to look at it alone: nothing is written.
    ///
    /// # Errors
    /// It is not there, or cannot be read.
    pub fn look(folder: &Path, address: &str) -> io::Result<Self> {
        let room = DiskRoom { folder: folder.to_owned(), limit: 0 };
        real(&folder.join(address))?;
        let in_use = safe_file::open_here(&folder.join(address).join("in-use.lock"))?;
        in_use.lock_shared()?;
        let new = Self::empty(&room, address, (in_use, u64::MAX));
        new.load(None)?;
        Ok(new)
    }

    fn empty(room: &DiskRoom, address: &str, (in_use, entries_max): (File, u64)) -> Self {
        Self {
            room: room.clone(),
            seed: xxh3_64(address.as_bytes()),
            segments: RwLock::default(),
            others: Mutex::new(Others {
                read: Vec::new(),
                names: HashSet::new(),
                looked: Instant::now(),
            }),
            table: (0..SHARDS).map(|_| Mutex::default()).collect(),
            entries_max,
            enough: u64::MAX,
            codecs: Codecs::default(),
            folder: room.folder.join(address),
            writer: None,
            own: AtomicU32::new(NONE),
            stopped: OnceLock::new(),
            nonce: nonce(),
            counts: Counts::default(),
            used: AtomicUsize::new(0),
            _in_use: in_use,
        }
    }

    /// The same which takes no more values once it has so many: more of them would be read than the disk can give.
    #[must_use]
    pub fn up_to(mut self, values: u64) -> Self {
        self.enough = values;
        self
    }

    /// The same which encodes what it writes; whatever was written is read.
    #[must_use]
    pub fn encoded(mut self, codecs: Codecs) -> Self {
        self.codecs = codecs;
        self
    }

    /// What it has done so far.
    pub fn stats(&self) -> StoreStats {
        let Counts { hits, written, entries, bytes, damaged } = &self.counts;
        let entries = entries.load(Relaxed);
        StoreStats {
            hits: hits.get(),
            written: written.load(Relaxed),
            entries,
            bytes: bytes.load(Relaxed),
            damaged: damaged.load(Relaxed),
            table_bytes: entries * ENTRY_BYTES,
            stopped: self.stopped.get().cloned(),
        }
    }

    /// Reads every value, and says how many are damaged; those are there no longer.
    pub fn verify(&self) -> u64 {
        let keys: Vec<CacheKey> = self
            .table
            .iter()
            .flat_map(|it| locked(it).keys().copied().collect::<Vec<_>>())
            .collect();
        let mut room = Vec::new();
        for key in keys {
            let Some(place) = self.place(key) else { continue };
            room.resize(place.bytes(), 0);
            self.take((key, place), &mut room);
        }
        self.counts.damaged.load(Relaxed)
    }

    /// Keeps a copy of the value of `key`, if this process may, and there is room.
    pub(crate) fn insert(&self, key: CacheKey, value: &Tensor<'_>) {
        let Some(writer) = &self.writer else { return };
        if self.is_full() || self.contains(key) {
            return;
        }
        let bytes = value.packed();
        let (codec, form) = (self.codecs.of(key), (value.dtype(), value.shape()));
        let written = codec::encode(codec, form, &bytes, |codec, frame| {
            self.write(writer, (key, value), (codec, frame))
        });
        if let Err(why) = written {
            let _ = self.stopped.set(why);
        }
    }

    /// Whether it takes no more values.
    pub(crate) fn is_full(&self) -> bool {
        let has_enough = self.counts.entries.load(Relaxed) >= self.enough;
        has_enough || self.writer.is_none() || self.stopped.get().is_some()
    }

    /// Whether the value of `key` was there when that was looked at last.
    pub(crate) fn contains(&self, key: CacheKey) -> bool {
        self.place(key).is_some()
    }

    /// Where the record of `key` is; where it is not known, what others have appended is looked at first, now and then.
    fn place(&self, key: CacheKey) -> Option<Place> {
        let find = || locked(self.shard(key)).get(&key).copied();
        find().or_else(|| if self.look_again() { find() } else { None })
    }

    fn write(
        &self,
        writer: &Mutex<Writer>,
        (key, value): (CacheKey, &Tensor<'_>),
        (codec, frame): (Codec, &[u8]),
    ) -> Result<(), String> {
        let bytes = (record::BYTES + frame.len()) as u64;
        let (number, offset) = self.reserve(&mut locked(writer), bytes)?;
        let segment = self.segment(number).ok_or("it was removed")?;
        let record = Record::new((key, value), (offset, codec), (frame, self.seed));
        let written = record.written(self.seed);
        segment.write_value(&written, frame, offset).map_err(|it| why(&it))?;
        let mut writer = locked(writer);
        // Another epoch may have come to it meanwhile.
        if locked(self.shard(key)).contains_key(&key) {
            return Ok(());
        }
        segment.write_record(&written, writer.records).map_err(|it| why(&it))?;
        writer.records += 1;
        self.counts.written.fetch_add(1, Relaxed);
        self.note(number, &record);
        Ok(())
    }

    /// Room for a value of so many bytes, and its record; in which segment, and where there.
    fn reserve(&self, writer: &mut Writer, bytes: u64) -> Result<(u32, u64), String> {
        if self.counts.entries.load(Relaxed) >= self.entries_max {
            return Err("its table in memory is full".to_owned());
        }
        let number = match self.own.load(Relaxed) {
            NONE => self.begin_segment().map_err(|it| why(&it))?,
            number => number,
        };
        let segment = self.segment(number).ok_or("it was removed")?;
        let (records, values) = (writer.reserved + 1, writer.values + bytes);
        if records > segment::RECORDS_MAX - CLAIM_RECORDS {
            return Err("its index is full".to_owned());
        }
        if records > writer.claimed.0 || values > writer.claimed.1 {
            let step = (self.room.limit / 64).clamp(CLAIM.0, CLAIM.1);
            let much = (records + CLAIM_RECORDS, values + step);
            let claim = |(records, values): (u32, u64)| {
                let [index, file] = segment.files();
                self.room.claim([(index, segment::at(records)), (file, values)])
            };
            writer.claimed = if claim(much).map_err(|it| why(&it))? {
                much
            } else if claim((records, values)).map_err(|it| why(&it))? {
                (records, values)
            } else {
                return Err("the size limit is reached".to_owned());
            };
        }
        let offset = writer.values;
        (writer.reserved, writer.values) = (records, values);
        Ok((number, offset))
    }

    /// Begins a segment of this process's own; its number.
    fn begin_segment(&self) -> io::Result<u32> {
        for _ in 0..TRIES {
            let [a, b, c, d, ..] = nonce();
            let name = format!("{}-{:08x}", process::id(), u32::from_le_bytes([a, b, c, d]));
            let segment = Segment::open(&self.folder, &name, true)?;
            // Who looks just now for a segment that nobody writes may have taken it.
            if segment.lock() {
                locked(&self.others).names.insert(name);
                let number = self.add(segment);
                self.own.store(number, Relaxed);
                return Ok(number);
            }
        }
        Err(io::Error::other("others take every segment that is begun"))
    }

    /// Takes note of a segment; its number.
    fn add(&self, segment: Segment) -> u32 {
        let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
        segments.push(Arc::new(segment));
        (segments.len() - 1) as u32
    }

    /// Reads the indexes. Segments that nobody writes are mended where `writes`, and one of them is this process's own
    /// from then on.
    fn load(&self, mut writes: Option<&mut Writer>) -> io::Result<()> {
        for name in segment::names(&self.folder)? {
            let segment = Segment::open(&self.folder, &name, writes.is_some())?;
            let is_free = writes.is_some() && segment.lock();
            let is_written = writes.is_some() && !is_free;
            let (end, seen) = self.load_segment(&segment, (is_free, is_written))?;
            let number = self.add(segment);
            {
                let mut others = locked(&self.others);
                others.names.insert(name);
                others.read.resize(number as usize + 1, 0);
                others.read[number as usize] = seen;
            }
            let Some(writer) = writes.as_mut().filter(|_| is_free) else { continue };
            if self.own.load(Relaxed) == NONE {
                let (records, values) = end;
                **writer = Writer { records, values, reserved: records, claimed: end };
                self.own.store(number, Relaxed);
            } else if let Some(segment) = self.segment(number) {
                // Another process may append to it.
                segment.unlock();
            }
        }
        Ok(())
    }

    /// Reads an index, and mends it or takes what somebody else writes just now for what is to come; where it ends
    /// (records, bytes of values), and how many of its records were read.
    fn load_segment(
        &self,
        segment: &Segment,
        (mends, is_written): (bool, bool),
    ) -> io::Result<((u32, u64), u32)> {
        let at = self.segments.read().unwrap_or_else(PoisonError::into_inner).len() as u32;
        let (mut end, mut seen, mut damaged) = ((0, 0), 0, Vec::new());
        segment.each(self.seed, &mut |number, found| match found {
            Found::Nothing => {}
            Found::Damaged => {
                end.0 = number + 1;
                damaged.push(number);
            }
            Found::Record(it) => {
                let values = u64::max(end.1, it.end().unwrap_or(end.1));
                (end, seen) = ((number + 1, values), number + 1);
                self.note(at, &it);
            }
        })?;
        let is_told = |it: &u32| !is_written || *it < seen;
        let told = damaged.iter().filter(|it| is_told(it)).count();
        self.counts.damaged.fetch_add(told as u64, Relaxed);
        if mends {
            damaged.into_iter().for_each(|it| segment.forget(it));
            segment.end_at(end);
        }
        Ok((end, seen))
    }

    /// Looks for what other processes have appended, if that was not done within a second; whether it was done.
    fn look_again(&self) -> bool {
        // Who only looks at a folder has seen it once.
        if self.writer.is_none() {
            return false;
        }
        let Ok(mut others) = self.others.try_lock() else { return false };
        if others.looked.elapsed() < LOOKED {
            return false;
        }
        others.looked = Instant::now();
        // Whatever cannot be read is computed.
        for name in segment::names(&self.folder).unwrap_or_default() {
            if others.names.contains(&name) {
                continue;
            }
            if let Ok(segment) = Segment::open(&self.folder, &name, false) {
                others.names.insert(name);
                let number = self.add(segment) as usize;
                others.read.resize(number + 1, 0);
            }
        }
        let own = self.own.load(Relaxed);
        for number in (0..others.read.len() as u32).filter(|it| *it != own) {
            if let Some(segment) = self.segment(number) {
                let from = others.read[number as usize];
                others.read[number as usize] = self.read_on(&segment, (number, from));
            }
        }
        true
    }

    /// Reads the records of another's segment from a place on; the place after the last one that is there.
    fn read_on(&self, segment: &Segment, (number, mut from): (u32, u32)) -> u32 {
        while from < segment::RECORDS_MAX {
            let Ok(Some(record)) = segment.next_record(from, self.seed) else { break };
            self.note(number, &record);
            from += 1;
        }
        from
    }

    /// Puts a record of a segment into the table; the one that was written last stands. What this build cannot decode is
    /// not there.
    fn note(&self, segment: u32, record: &Record) {
        if !codec::is_here(record.codec) {
            return;
        }
        let Record { key, offset, stored, .. } = *record;
        let place = Place { segment, offset, stored: stored as u32, verified: false };
        if self.counts.entries.load(Relaxed) >= self.entries_max {
            let _ = self.stopped.set("its table in memory is full".to_owned());
            return;
        }
        if locked(self.shard(key)).insert(key, place).is_none() {
            self.counts.entries.fetch_add(1, Relaxed);
            self.counts.bytes.fetch_add(record.span(), Relaxed);
        }
    }

    fn segment(&self, number: u32) -> Option<Arc<Segment>> {
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        segments.get(number as usize).cloned()
    }

    fn shard(&self, key: CacheKey) -> &Mutex<Shard> {
        &self.table[(key >> 64) as usize % SHARDS]
    }
}

impl Drop for Store {
    /// Gives back the room that was claimed and not used.
    fn drop(&mut self) {
        os::pages_let_go(self.used.swap(0, Relaxed));
        let Some(writer) = &self.writer else { return };
        let writer = locked(writer);
        if let Some(segment) = self.segment(self.own.load(Relaxed)) {
            segment.end_at((writer.records, writer.values));
        }
    }
}

/// Refuses a link in the place of the folder of an address: what lies there is not of this cache.
fn real(folder: &Path) -> io::Result<()> {
    match safe_file::is_real_folder(folder) {
        true => Ok(()),
        false => Err(io::Error::other(format!("`{}` is not a folder", folder.display()))),
    }
}

/// Why nothing more is written, in a few words.
fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full".to_owned(),
        _ => format!("it cannot be written ({error})"),
    }
}

fn nonce() -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    for half in nonce.chunks_mut(8) {
        half.copy_from_slice(&RandomState::new().build_hasher().finish().to_le_bytes());
    }
    nonce
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
