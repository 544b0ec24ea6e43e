//! A file of which little pieces are looked at, from its begin to its end: where its records begin.
//!
//! A storage that answers late is asked for windows. They grow as long as the next piece lies in them, and shrink where
//! it lies far behind: then most of a window would be read for nothing.

use super::{FileError, compressed::open_by_number};
use runtime::{
    Counted,
    storage::{self, Object},
};
use std::{cell::RefCell, io, path::Path};

/// Bytes of the first window, and of any that was left at once.
const WINDOW_MIN: u64 = 64 << 10;
/// Bytes of a window, at most: what comes over some connections in little more than the time until they answer.
const WINDOW_MAX: u64 = 8 << 20;

pub(super) struct Walked {
    object: Box<dyn Object>,
    len: u64,
    /// None where each piece is read by itself.
    window: Option<RefCell<Window>>,
}

struct Window {
    from: u64,
    bytes: Counted<u8>,
    /// Bytes of the next one.
    next: u64,
}

impl Walked {
    /// Opens a file, and says how many bytes it has.
    pub(super) fn open(path: &Path) -> Result<(Self, u64), FileError> {
        let (object, len) = open_by_number(path)?;
        let is_far = storage::of(path).access().is_some();
        let window = Window { from: 0, bytes: Counted::new(), next: WINDOW_MIN };
        Ok((Self { object, len, window: is_far.then(|| RefCell::new(window)) }, len))
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Fills `room` with what lies at `at`; it lies there.
    pub(super) fn read_exact_at(&self, room: &mut [u8], at: u64) -> io::Result<()> {
        storage::unless_given_up()?;
        let Some(window) = &self.window else { return self.object.read_exact_at(room, at) };
        let window = &mut *window.borrow_mut();
        let end = at + room.len() as u64;
        if at < window.from || end > window.from + window.bytes.len() as u64 {
            self.turn(window, at, end)?;
        }
        let begin = (at - window.from) as usize;
        room.copy_from_slice(&window.bytes[begin..begin + room.len()]);
        Ok(())
    }

    /// Reads the window that begins there.
    fn turn(&self, window: &mut Window, at: u64, end: u64) -> io::Result<()> {
        let n_bytes = window.bytes.len() as u64;
        // Within a length of the last one, most of what lies between was wanted.
        let is_near = (window.from..=window.from + 2 * n_bytes).contains(&at);
        window.next = match is_near {
            true => (2 * window.next).min(WINDOW_MAX),
            false => WINDOW_MIN,
        };
        let n_bytes = window.next.max(end - at).min(self.len.saturating_sub(at));
        window.bytes.clear();
        window.bytes.resize(n_bytes as usize, 0);
        window.from = at;
        let done = self.object.read_exact_at(&mut window.bytes, at);
        if done.is_err() {
            window.bytes.clear();
        }
        done
    }
}
