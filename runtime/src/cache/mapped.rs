//! The values of a segment in the address space: what the system holds of them in memory is used where it lies.
//!
//! A copy of a picture takes as long as all that is done with it afterwards (`benches -- strategies S9`: 0.5 of the rate
//! of values in the run's own memory with a copy, 0.9 without). Whether reading would wait for the disk is asked first:
//! what would is read as ever, by threads that do nothing else.

use crate::{os, reads};
use std::{fs::File, ops::RangeInclusive, sync::OnceLock};

/// Bytes of a window.
const WINDOW: u64 = 4 << 30;
/// Windows of a segment: what lies behind them is read.
const WINDOWS: usize = 256;
/// Bytes of a value, with its record, that is used where it lies, at the least and at the most. Smaller ones are copied as
/// soon as the system is asked where they are; a window reaches so far into the next one.
pub(super) const MAPPED: RangeInclusive<usize> = 32 << 10..=64 << 20;

/// The windows of a file.
#[derive(Debug)]
pub(super) struct Windows {
    /// A window is made when a value in it is looked for; none where the system makes none.
    all: Box<[OnceLock<Option<os::Mapping>>]>,
    /// Whether the file is on a disk of this machine: what another machine takes away while it is used ends the process.
    is_local: bool,
}

impl Windows {
    pub(super) fn new(of: &File) -> Self {
        let is_local = os::is_on_own_disk(of);
        let windows = if is_local { WINDOWS } else { 0 };
        Self { all: (0..windows).map(|_| OnceLock::new()).collect(), is_local }
    }

    /// Whether the bytes of `of` from `offset` on are in memory, as far as their ends tell, and may be used where they are.
    pub(super) fn holds(&self, of: &File, (offset, len): (u64, usize)) -> bool {
        let is_in_memory = |at| os::is_in_memory(of, at);
        self.is_local
            && MAPPED.contains(&len)
            && reads::held_back().is_none()
            && is_in_memory(offset + len as u64 - 1)
            && is_in_memory(offset)
    }

    /// The bytes of `of` from `offset` on where they lie, which [`Self::holds`] was asked about just now.
    pub(super) fn bytes(&self, of: &File, (offset, len): (u64, usize)) -> Option<&[u8]> {
        let window = self.all.get(usize::try_from(offset / WINDOW).ok()?)?;
        let begin = offset - offset % WINDOW;
        let map = || os::Mapping::new(of, begin, WINDOW as usize + MAPPED.end());
        window.get_or_init(map).as_ref()?.get((offset - begin) as usize, len)
    }

    /// Lets go of the pages: the system keeps them as long as it has room, and who uses some gets them back.
    pub(super) fn let_go(&self) {
        self.all.iter().filter_map(|it| it.get()?.as_ref()).for_each(os::Mapping::let_go);
    }
}
