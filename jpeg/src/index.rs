//! Where in a file the code of every few MCUs begins, so that only a part of it is read.

use crate::error::{Error, irregular};
use crate::layout::Layout;
use std::ops::Range;

/// Where in a file the code of every few MCUs begins.
///
/// It is made by [`crate::Decoder::index`] or [`crate::Decoder::decode_and_index`], and makes
/// a later decode of a region read the code of that region only. It belongs to one file: its
/// length is checked, and [`Self::from_bytes`] checks a key of the caller's, a hash of the file.
/// One for every 8 MCUs takes about 3% of the file.
/// Where it leads astray, a decode finds out at another entry, and is refused; only
/// what a restart marker between the two sets right may go unseen, and, of a region that does
/// not begin where the picture does, entries that are wrong by the same; and, where no entry lies
/// in or shortly behind the region's part of a row, what is wrong in rows other than the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Bytes of the file.
    len: u32,
    /// MCUs between two entries of a row; each row begins with one.
    spacing: u32,
    /// MCUs across and down.
    mcus: (u32, u32),
    /// The last one stands where the scan ends.
    entries: Vec<Entry>,
}

/// Where the code of an MCU begins, and what is known before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The byte of the file, and bits of it before.
    pub(crate) at: (u32, u8),
    /// The DC coefficients before it.
    pub(crate) last: [i16; 3],
}

/// What the bytes of an index begin with: its form.
const FORM: [u8; 8] = *b"jpegidx\x02";
const HEAD: usize = FORM.len() + 8 + 4 * 4;
const ENTRY: usize = 11;

impl Index {
    /// An index without entries yet.
    pub(crate) fn begin(bytes: &[u8], layout: &Layout, spacing: usize) -> Result<Self, Error> {
        let len = u32::try_from(bytes.len());
        let len = len.map_err(|_| Error::TooLarge("it is too long for an index"))?;
        let mcus = (layout.mcus.0 as u32, layout.mcus.1 as u32);
        // Not more than a row has, so that it fits.
        let spacing = spacing.clamp(1, layout.mcus.0) as u32;
        let n = mcus.0.div_ceil(spacing) as usize * layout.mcus.1 + 1;
        Ok(Self { len, spacing, mcus, entries: Vec::with_capacity(n) })
    }

    pub(crate) fn push(&mut self, at: (usize, u32), last: [i32; 3]) {
        // Both were found in range: the file's length, and the coefficients as they were read.
        let last = last.map(|it| it as i16);
        self.entries.push(Entry { at: (at.0 as u32, at.1 as u8), last });
    }

    /// MCUs between two entries.
    pub(crate) fn spacing(&self) -> usize {
        self.spacing as usize
    }

    /// The last entry of a row at or before an MCU of it.
    pub(crate) fn before(&self, row: usize, mcu: usize) -> Entry {
        self.entries[self.number(row, mcu / self.spacing())]
    }

    /// The first entry behind `mcus` of a row.
    pub(crate) fn behind(&self, row: usize, mcus: usize) -> Entry {
        self.entries[self.number(row, mcus.div_ceil(self.spacing()))]
    }

    /// The MCUs that are read to know `columns` of a row, and to check that they are read rightly.
    pub(crate) fn read_for(&self, columns: &Range<usize>) -> Range<usize> {
        let first = columns.start / self.spacing() * self.spacing();
        first..self.place_to_check(&(first..columns.end)).max(columns.end)
    }

    /// The MCU of a row where an entry tells whether `mcus` of it were read rightly: the last
    /// among them, or else the next; the row's end counts as one.
    pub(crate) fn place_to_check(&self, mcus: &Range<usize>) -> usize {
        let all = self.mcus.0 as usize;
        let last = mcus.end / self.spacing() * self.spacing();
        match last > mcus.start {
            _ if mcus.end >= all => all,
            true => last,
            false => (last + self.spacing()).min(all),
        }
    }

    fn number(&self, row: usize, of_row: usize) -> usize {
        row * self.mcus.0.div_ceil(self.spacing) as usize + of_row
    }

    /// Whether it can belong to a file.
    pub(crate) fn check(&self, bytes: &[u8], layout: &Layout) -> Result<(), Error> {
        let mcus = (layout.mcus.0 as u32, layout.mcus.1 as u32);
        if self.len as usize == bytes.len() && self.mcus == mcus {
            Ok(())
        } else {
            Err(Error::Request("the index is not this file's"))
        }
    }

    /// The bytes to keep it as; `key` is a hash of the file.
    pub fn to_bytes(&self, key: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + ENTRY * self.entries.len());
        bytes.extend(FORM);
        bytes.extend(key.to_le_bytes());
        for number in [self.len, self.spacing, self.mcus.0, self.mcus.1] {
            bytes.extend(number.to_le_bytes());
        }
        for Entry { at, last } in &self.entries {
            bytes.extend(at.0.to_le_bytes());
            bytes.push(at.1);
            bytes.extend(last.iter().flat_map(|it| it.to_le_bytes()));
        }
        bytes
    }

    /// The index that was kept as `bytes`, for the file whose hash is `key`.
    ///
    /// # Errors
    /// [`Error::Request`] if it is another file's, [`Error::Irregular`] if it is no index.
    pub fn from_bytes(bytes: &[u8], key: u64) -> Result<Self, Error> {
        let Some((head, entries)) = bytes.split_at_checked(HEAD) else {
            return irregular("an index is too short");
        };
        let (form, head) = head.split_at(FORM.len());
        let (of, head) = head.split_at(8);
        if form != FORM {
            return irregular("an index is of another form");
        }
        if of != key.to_le_bytes() {
            return Err(Error::Request("the index is not this file's"));
        }
        let mut numbers = head.chunks_exact(4).map(number);
        let [len, spacing, across, down] = std::array::from_fn(|_| numbers.next().unwrap_or(0));
        let is_picture = (1..=1 << 16).contains(&across) && (1..=1 << 16).contains(&down);
        if !is_picture || !(1..=across).contains(&spacing) {
            return irregular("an index is of no picture");
        }
        let n = u64::from(across.div_ceil(spacing)) * u64::from(down) + 1;
        if entries.len() as u64 != n * ENTRY as u64 {
            return irregular("an index has not as many entries as its picture");
        }
        let entries: Vec<Entry> = entries.chunks_exact(ENTRY).map(entry).collect();
        let rises = entries.is_sorted_by(|a, b| a.at < b.at);
        if !rises || entries.iter().any(|it| it.at.0 >= len || it.at.1 > 7) {
            return irregular("the entries of an index are not in order");
        }
        // Each entry is held against what leads to it, so a shift of all of them would not be seen.
        if entries.first().is_some_and(|it| it.last != [0; 3]) {
            return irregular("an index begins with other coefficients than zeros");
        }
        Ok(Self { len, spacing, mcus: (across, down), entries })
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |all, &it| all << 8 | u32::from(it))
}

fn entry(bytes: &[u8]) -> Entry {
    let last = [5, 7, 9].map(|at| i16::from_le_bytes([bytes[at], bytes[at + 1]]));
    Entry { at: (number(&bytes[..4]), bytes[4]), last }
}
