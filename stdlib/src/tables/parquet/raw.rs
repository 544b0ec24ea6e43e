//! Pages of columns of which each row has one value, as they lie in the file and as their values can be got at.
//!
//! All of a page is looked at when it is made ready, so that it is lost as a whole, whatever is read of it, where
//! anything is not as it should be.

use super::{
    super::{Damage, Later, damaged, guarded, owned, unlike},
    flat::{About, Kind},
    header::{self, Header},
    pages::Place,
    runs::{Run, Runs},
};
use arrow_buffer::bit_chunk_iterator::UnalignedBitChunk;
use bytes::Bytes;
use parquet::{
    basic::{Compression, Encoding},
    column::page::Page,
    errors::Result as ParquetResult,
};
use runtime::Counted;
use std::{ops::Range, sync::Arc};

/// Bytes of values that are read at once right to where they are wanted: of fewer, all of the page are read before.
const LYING_MIN: usize = 8 << 10;
/// The number of the encoding of values that lie as they are.
const PLAIN: i32 = 0;

/// A page as it lies in the file.
pub(super) struct RawPage {
    about: About,
    header: Header,
    /// Its rows, of the row group.
    pub(super) rows: Range<u64>,
    pub(super) dictionary: Option<Arc<RawPage>>,
    place: Arc<Place>,
    ready: Later<Made>,
}

/// A page that is ready, or why it cannot be read.
pub(super) type Made = Result<Arc<Ready>, Arc<str>>;

/// A page whose values can be got at.
pub(super) struct Ready {
    /// Runs of levels, where values may be missing.
    pub(super) levels: Bytes,
    pub(super) values: Bytes,
    /// Where its values lie, if they were not read.
    pub(super) lying: Option<Lying>,
    pub(super) coding: Coding,
    /// How many values it has.
    count: usize,
    pub(super) dictionary: Option<Arc<Ready>>,
    /// Where each text begins, behind its length, where they lie as they are.
    starts: Counted<u32>,
}

/// Numbers that lie in the file as they are wanted.
pub(super) struct Lying {
    place: Arc<Place>,
    /// Their bytes in the page.
    range: Range<usize>,
    /// All of them, once few are wanted at a time.
    all: Later<Result<Bytes, Arc<str>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Plain,
    /// Their numbers in the dictionary, of so many bits.
    Numbers(u32),
    /// Runs of booleans.
    Runs,
}

impl RawPage {
    pub(super) fn new(
        about: About,
        (header, rows): (Header, Range<u64>),
        dictionary: Option<Arc<RawPage>>,
        place: Place,
    ) -> Self {
        let place = Arc::new(place);
        Self { about, header, rows, dictionary, place, ready: Later::default() }
    }

    /// Makes it ready, unless another thread does so.
    pub(super) fn begin(&self) {
        self.ready.begin(|| self.make());
    }

    /// Whether another thread makes it ready.
    pub(super) fn is_under_way(&self) -> bool {
        self.ready.is_under_way()
    }

    pub(super) fn ready(&self) -> Made {
        self.ready.get(|| self.make())
    }

    fn make(&self) -> Made {
        let dictionary = self.dictionary.as_ref().map(|it| it.ready()).transpose()?;
        let made = guarded(|| {
            if let Some(ready) = self.lying()? {
                return Ok(Some(ready));
            }
            let page = self.place.page(&self.header, self.about.codec)?;
            Ok(Ready::of(page, self.about, dictionary))
        });
        let made = made.and_then(|it| it.ok_or_else(|| "its encoding is damaged".to_owned()));
        made.map(Arc::new).map_err(Into::into)
    }

    /// The same of one whose values stay where they are until they are wanted; none of others, and where anything is not
    /// as it should be.
    fn lying(&self) -> ParquetResult<Option<Ready>> {
        let (About { kind, codec, level }, len) = (self.about, self.header.compressed);
        let Kind::Number { of, in_file } = kind else { return Ok(None) };
        let is_plain = of == in_file && codec == Compression::UNCOMPRESSED;
        // A checksum is of all bytes.
        if !is_plain || self.header.crc.is_some() || len < LYING_MIN || !self.place.is_near() {
            return Ok(None);
        }
        let (count, nulls, levels) = match self.header.kind {
            header::Kind::Data { values, encoding: PLAIN, .. } if level == 0 => {
                (values, None, 0..0)
            }
            header::Kind::Data { values, encoding: PLAIN, .. } => {
                let len =
                    self.place.bytes(0..4)?.first_chunk().map_or(0, |it| u32::from_le_bytes(*it));
                (values, None, 4..4 + len as usize)
            }
            header::Kind::DataV2 {
                values,
                nulls,
                encoding: PLAIN,
                def_bytes,
                rep_bytes: 0,
                ..
            } => (values, Some(nulls), 0..def_bytes as usize),
            _ => return Ok(None),
        };
        if levels.end > len {
            return Ok(None);
        }
        let (count, begin) = (count as usize, levels.end);
        let levels = owned(self.place.bytes(levels)?);
        let present = match level {
            0 => Some(count),
            _ => levels_of(&levels, level).and_then(|mut it| present(&mut it, count, level)),
        };
        let Some(present) = present else { return Ok(None) };
        let end = present.checked_mul(in_file).and_then(|it| it.checked_add(begin));
        let Some(end) = end.filter(|it| *it <= len) else { return Ok(None) };
        if nulls.is_some_and(|it| it as usize != count - present) {
            return Ok(None);
        }
        let lying = Lying { place: self.place.clone(), range: begin..end, all: Later::default() };
        let (values, starts) = (Bytes::new(), Counted::new());
        let (lying, coding, dictionary) = (Some(lying), Coding::Plain, None);
        Ok(Some(Ready { levels, values, lying, coding, count, dictionary, starts }))
    }

    /// Bytes of it that stand for so many of its rows.
    pub(super) fn bytes_of(&self, rows: &Range<u64>) -> usize {
        let both = self.rows.end.min(rows.end).saturating_sub(self.rows.start.max(rows.start));
        let all = (self.rows.end - self.rows.start).max(1);
        (self.header.compressed as u64 * both / all) as usize
    }
}

impl Ready {
    fn of(page: Page, about: About, dictionary: Option<Arc<Self>>) -> Option<Self> {
        let (mut levels, mut nulls, mut is_dictionary) = (Bytes::new(), None, false);
        let (buf, count, encoding) = match page {
            Page::DictionaryPage { buf, num_values, encoding, .. } => {
                is_dictionary = true;
                // The first writers said so of values that lie as they are.
                let is_plain = encoding == Encoding::PLAIN_DICTIONARY;
                (buf, num_values, if is_plain { Encoding::PLAIN } else { encoding })
            }
            Page::DataPage { buf, num_values, encoding, .. } if about.level == 0 => {
                (buf, num_values, encoding)
            }
            Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                if def_level_encoding != Encoding::RLE {
                    return None;
                }
                let len = u32::from_le_bytes(*buf.first_chunk()?) as usize;
                buf.get(4..4_usize.checked_add(len)?)?;
                levels = buf.slice(4..4 + len);
                (buf.slice(4 + len..), num_values, encoding)
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls,
                def_levels_byte_len: len,
                rep_levels_byte_len: 0,
                ..
            } => {
                nulls = Some(num_nulls);
                buf.get(..len as usize)?;
                levels = buf.slice(..len as usize);
                (buf.slice(len as usize..), num_values, encoding)
            }
            Page::DataPageV2 { .. } => return None,
        };
        let count = count as usize;
        let present = match about.level {
            level if level > 0 && !is_dictionary => {
                present(&mut levels_of(&levels, level)?, count, level)?
            }
            _ => count,
        };
        if nulls.is_some_and(|it| it as usize != count - present) {
            return None;
        }
        let (coding, starts) = (Coding::Plain, Counted::new());
        Self { levels, values: buf, lying: None, coding, count, dictionary, starts }
            .coded(encoding, about.kind, present)
    }

    /// The same, once it is known that so many values are there.
    fn coded(mut self, encoding: Encoding, kind: Kind, present: usize) -> Option<Self> {
        match (encoding, kind) {
            (Encoding::PLAIN, Kind::Bool) => {
                self.values.get(..present.div_ceil(8))?;
            }
            (Encoding::PLAIN, Kind::Number { in_file, .. }) => {
                self.values.get(..present.checked_mul(in_file)?)?;
            }
            (Encoding::PLAIN, Kind::Text { is_utf8 }) => {
                self.starts = starts(&self.values, present, is_utf8)?;
            }
            (Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY, _) => {
                let width = match self.values.split_first() {
                    Some((width, _)) => u32::from(*width),
                    None if present == 0 => 0,
                    None => return None,
                };
                self.values = self.values.slice(1.min(self.values.len())..);
                self.coding = Coding::Numbers(width);
                // There is one for each number.
                let known = self.dictionary.as_ref().map_or(0, |it| it.count);
                are_below(&mut Runs::new(&self.values, width)?, present, known)?.then_some(())?;
            }
            (Encoding::RLE, Kind::Bool) => {
                let len = u32::from_le_bytes(*self.values.first_chunk()?) as usize;
                self.values.get(4..4_usize.checked_add(len)?)?;
                self.values = self.values.slice(4..4 + len);
                self.coding = Coding::Runs;
                Runs::new(&self.values, 1)?.skip(present)?;
            }
            _ => return None,
        }
        Some(self)
    }

    /// The bytes of a text; it is there.
    pub(super) fn text(&self, at: usize) -> Option<&[u8]> {
        let start = *self.starts.get(at)? as usize;
        let len = self.values.get(start - 4..start)?.first_chunk()?;
        self.values.get(start..start + u32::from_le_bytes(*len) as usize)
    }
}

impl Lying {
    /// Fills `room` with bytes of values, from one of them on; of `wanted` bytes in all, which may lie in several pages.
    pub(super) fn read(&self, room: &mut [u8], from: usize, wanted: usize) -> Result<(), Damage> {
        let begin = self.range.start + from;
        if wanted >= LYING_MIN {
            return guarded(|| self.place.read(room, begin)).map_err(damaged);
        }
        let all = self.all.get(|| {
            let read = guarded(|| self.place.bytes(self.range.clone()));
            read.map(owned).map_err(Into::into)
        });
        let all = all.map_err(damaged)?;
        let these = all.get(from..from + room.len()).ok_or_else(unlike)?;
        room.copy_from_slice(these);
        Ok(())
    }
}

/// Where texts begin that lie behind their lengths.
fn starts(bytes: &[u8], n: usize, is_utf8: bool) -> Option<Counted<u32>> {
    let mut starts = Counted::new();
    starts.reserve_exact(n.min(bytes.len() / 4));
    let mut at = 0_usize;
    for _ in 0..n {
        let len = u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize;
        let text = bytes.get(at + 4..)?.get(..len)?;
        if is_utf8 && str::from_utf8(text).is_err() {
            return None;
        }
        starts.push(u32::try_from(at + 4).ok()?);
        at += 4 + len;
    }
    Some(starts)
}

pub(super) fn levels_of(levels: &[u8], most: u32) -> Option<Runs<'_>> {
    Runs::new(levels, u32::BITS - most.leading_zeros())
}

/// Whether the next `n` numbers are all below `end`; none where there are fewer.
fn are_below(numbers: &mut Runs<'_>, n: usize, end: usize) -> Option<bool> {
    // Numbers up to the last one leave the highest bit of the difference clear, and so does the sum of all by bits.
    let Some(last) = u32::try_from(end).ok().filter(|it| *it <= 1 << 31)?.checked_sub(1) else {
        return Some(n == 0);
    };
    let (mut left, mut beyond) = (n, 0);
    while left > 0 {
        let run = numbers.take(left)?;
        left -= run.len();
        match run {
            Run::Same(it, _) => beyond |= last.wrapping_sub(it) | it,
            Run::Packed(packed) => packed.each(|_, it| beyond |= last.wrapping_sub(it) | it),
        }
    }
    Some(beyond >> 31 == 0)
}

/// How many of the next `n` values are there.
pub(super) fn present(levels: &mut Runs<'_>, n: usize, level: u32) -> Option<usize> {
    let (mut left, mut present) = (n, 0);
    while left > 0 {
        let run = levels.take(left)?;
        left -= run.len();
        present += match run {
            Run::Same(it, n) => {
                if it == level {
                    n
                } else {
                    0
                }
            }
            Run::Packed(packed) => match packed.bits() {
                Some((bits, first)) => {
                    UnalignedBitChunk::new(bits, first, packed.len()).count_ones()
                }
                None => {
                    let mut found = 0;
                    packed.each(|_, it| found += usize::from(it == level));
                    found
                }
            },
        };
    }
    Some(present)
}
