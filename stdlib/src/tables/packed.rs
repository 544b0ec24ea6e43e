//! Files that may be compressed as a whole, read as what they hold.
//!
//! What such a file begins with is decompressed when it is opened. All of it is when rows are read: it is held as long
//! as they are, and a few files of late a little longer, for rows that are read by number.

use super::{Damage, damaged, read};
use crate::records::Codec;
use runtime::{Counted, Working, reads, storage::Object, uncounted};
use std::{
    collections::VecDeque,
    io::{self, BufReader, Read},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// Bytes of what a compressed file holds, at the most.
const HELD_MAX: u64 = 512 << 20;
/// Bytes of files that are held a little longer, and their share of what a run may have.
const RECENT_MAX: usize = 256 << 20;
const RECENT_SHARE: usize = 8;
/// Bytes that are read, or decompressed, at once.
const BUFFER: usize = 256 << 10;

/// A file, as it is or compressed.
pub(crate) enum Contents {
    Plain(Box<dyn Object>),
    Packed(Box<Packed>),
}

/// A file that is compressed.
pub(crate) struct Packed {
    object: Arc<dyn Object>,
    codec: Codec,
    /// Bytes of the file.
    stored: u64,
    /// Bytes of what it holds, as it says itself.
    len: u64,
    /// What it begins with.
    start: Vec<u8>,
    held: Mutex<Weak<Held>>,
    recent: Arc<Recent>,
}

/// What a compressed file holds, up to where it is damaged; nothing where its checksum does not fit.
pub(crate) struct Held {
    bytes: Counted<u8>,
    damage: Option<Damage>,
}

/// Files whose contents are held, of all of one source.
#[derive(Default)]
pub(crate) struct Recent(Mutex<VecDeque<Arc<Held>>>);

/// The begin of a file while it is opened.
pub(crate) enum Opening {
    Plain(Box<dyn Object>, u64),
    Packed(Box<Packed>, Box<dyn Read + Send>),
}

impl Opening {
    /// Looks whether a file of so many bytes is compressed.
    pub(crate) fn new(
        object: Box<dyn Object>,
        len: u64,
        recent: &Arc<Recent>,
    ) -> Result<Self, Damage> {
        let mut start = [0; 16];
        let start = &mut start[..len.min(16) as usize];
        read(&*object, start, 0)?;
        let Some(codec) = Codec::of(start) else { return Ok(Self::Plain(object, len)) };
        let object: Arc<dyn Object> = object.into();
        let decoder = codec.decoder(Bytes::buffered(&object, len));
        let (start, held, recent) = (Vec::new(), Mutex::default(), recent.clone());
        let packed = Packed { object, codec, stored: len, len: 0, start, held, recent };
        Ok(Self::Packed(Box::new(packed), decoder))
    }

    /// Bytes of what it holds, where that is known already.
    pub(crate) fn len(&self) -> Option<u64> {
        if let Self::Plain(_, len) = self { Some(*len) } else { None }
    }

    /// Fills `room` with what lies at `at`; false where it ends before.
    pub(crate) fn read(&mut self, room: &mut [u8], at: u64) -> Result<bool, Damage> {
        let Some(end) = at.checked_add(room.len() as u64) else { return Ok(false) };
        match self {
            Self::Plain(_, len) if end > *len => Ok(false),
            Self::Plain(object, _) => read(&**object, room, at).map(|()| true),
            Self::Packed(packed, decoder) => {
                let start = &mut packed.start;
                let more = end.saturating_sub(start.len() as u64);
                let found = decoder.take(more).read_to_end(start);
                found.map_err(|why| unpacked(packed.codec, &why))?;
                let is_there = start.len() as u64 >= end;
                if is_there {
                    room.copy_from_slice(&start[at as usize..end as usize]);
                }
                Ok(is_there)
            }
        }
    }

    /// The file, of which the first `start` bytes are looked at again, and which says to hold `len` bytes.
    pub(crate) fn opened(self, start: u64, len: u64) -> Result<Contents, Damage> {
        match self {
            Self::Plain(object, _) => Ok(Contents::Plain(object)),
            Self::Packed(_, _) if len > HELD_MAX => {
                let message =
                    format!("decompressed it would have {len} bytes, more than {HELD_MAX}");
                Err(Damage::new(message, "decompress it first, or write smaller files"))
            }
            Self::Packed(mut packed, _) => {
                packed.len = len;
                packed.start.truncate(start as usize);
                packed.start.shrink_to_fit();
                Ok(Contents::Packed(packed))
            }
        }
    }
}

impl Contents {
    /// Holds what is compressed until the result is dropped, so that it is decompressed once.
    pub(crate) fn hold(&self) -> Option<Arc<Held>> {
        if let Self::Packed(packed) = self { Some(packed.held()) } else { None }
    }

    /// Where what can be read ends: before the end only where it is damaged.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Self::Plain(_) => u64::MAX,
            Self::Packed(packed) => packed.held().bytes.len() as u64,
        }
    }

    /// Fills `room` with what lies at `at`.
    pub(crate) fn read(&self, room: &mut [u8], at: u64) -> Result<(), Damage> {
        match self {
            Self::Plain(object) => read(&**object, room, at),
            Self::Packed(packed) => {
                let (at, end) = (at as usize, at as usize + room.len());
                if let Some(found) = packed.start.get(at..end) {
                    room.copy_from_slice(found);
                    return Ok(());
                }
                let held = packed.held();
                match held.bytes.get(at..end) {
                    Some(found) => room.copy_from_slice(found),
                    None => {
                        return Err(held
                            .damage
                            .clone()
                            .unwrap_or_else(|| damaged("it is too short")));
                    }
                }
                Ok(())
            }
        }
    }
}

impl Packed {
    fn held(&self) -> Arc<Held> {
        // Who needs it as well waits for it.
        let mut held = lock(&self.held);
        if let Some(held) = held.upgrade() {
            return held;
        }
        let new = Arc::new(uncounted(|| self.unpack()));
        *held = Arc::downgrade(&new);
        self.recent.push(new.clone());
        new
    }

    /// Decompresses all of it. No more memory is taken than it has bytes, whatever it says.
    fn unpack(&self) -> Held {
        self.object.will_read(0..self.stored);
        let mut decoder = self.codec.decoder(Bytes::buffered(&self.object, self.stored));
        let (mut bytes, mut room) = (Counted::new(), vec![0; BUFFER]);
        let mut left = self.len;
        let damage = loop {
            let n = left.min(room.len() as u64) as usize;
            match decoder.read(&mut room[..n.max(1)]) {
                Ok(0) if left == 0 => break None,
                Ok(0) => {
                    break Some(damaged(format!(
                        "it ends {left} bytes before its last sample does"
                    )));
                }
                Ok(_) if left == 0 => break Some(damaged("more follows behind its last sample")),
                Ok(n) => bytes.extend_from_slice(&room[..n]),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => break Some(unpacked(self.codec, &why)),
            }
            left = self.len - bytes.len() as u64;
        };
        if damage.is_some() && left == 0 {
            // All of it is there, and is not what was written: no part of it can be told to be.
            bytes.clear();
        }
        Held { bytes, damage }
    }
}

impl Recent {
    fn push(&self, held: Arc<Held>) {
        let mut all = lock(&self.0);
        all.push_back(held);
        let bytes = |all: &VecDeque<Arc<Held>>| all.iter().map(|it| it.bytes.len()).sum::<usize>();
        while bytes(&all) > RECENT_MAX
            || !all.is_empty() && !Working::may_take(bytes(&all), RECENT_SHARE)
        {
            all.pop_front();
        }
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unpacked(codec: Codec, why: &io::Error) -> Damage {
    let message = format!("its {} data is damaged or truncated: {why}", codec.name());
    Damage::new(message, "copy or write the file again")
}

/// Bytes of an object, one after the other.
pub(super) struct Bytes {
    object: Arc<dyn Object>,
    at: u64,
    end: u64,
}

impl Bytes {
    fn buffered(object: &Arc<dyn Object>, len: u64) -> BufReader<Self> {
        BufReader::with_capacity(BUFFER, Self::new(object, 0..len))
    }

    /// Those of a range.
    pub(super) fn new(object: &Arc<dyn Object>, place: std::ops::Range<u64>) -> Self {
        Self { object: object.clone(), at: place.start, end: place.end }
    }
}

impl Read for Bytes {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let n = (self.end - self.at).min(room.len() as u64) as usize;
        reads::count(n as u64);
        self.object.read_exact_at(&mut room[..n], self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}
