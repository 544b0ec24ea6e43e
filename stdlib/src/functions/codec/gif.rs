//! GIF: the first frame, by our own code (GIF89a, CompuServe 1990).

use super::picture::{Decoded, Size, Turn, Wanted, damaged, staged, truncated};
use crate::prelude::*;

/// Codes of LZW that a table holds: of 12 bits.
const CODES_MAX: usize = 1 << 12;
/// Bytes of the header and of the logical screen.
const SCREEN: usize = 13;

/// The first frame, and what belongs to it.
struct Frame<'a> {
    /// The whole picture.
    size: Size,
    /// Where the frame begins in it, and its extents.
    place: [usize; 2],
    frame: Size,
    is_interlaced: bool,
    palette: Option<&'a [u8]>,
    transparent: Option<u8>,
    /// Bits of a pixel, and the blocks of its codes.
    bits: u8,
    blocks: &'a [u8],
}

/// Decodes the first frame to 8 bits a sample; a transparent colour is one without alpha.
pub(super) fn decode(bytes: &[u8], wanted: Wanted, out: &mut Out<'_>) -> Result<(), Fault> {
    let frame = Frame::read(bytes)?;
    let channels = if frame.transparent.is_some() { 4 } else { 3 };
    let size = frame.size;
    size.bytes(channels.max(wanted.channels) + 1)?;
    let n = size.bytes(1)?;
    staged(n * (channels + 1), |room| {
        let (indices, pixels) = room.split_at_mut(n);
        indices.fill(frame.transparent.unwrap_or(0));
        frame.indices(indices)?;
        for (to, index) in pixels.chunks_exact_mut(channels).zip(&*indices) {
            let alpha = if Some(*index) == frame.transparent { 0 } else { u8::MAX };
            let [red, green, blue] = frame.colour(*index);
            to.iter_mut().zip([red, green, blue, alpha]).for_each(|(to, it)| *to = it);
        }
        Decoded { pixels, size, channels, turn: Turn::UPRIGHT }.deliver(wanted.channels, out)
    })
}

/// Reads a file from its begin on.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or_else(truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        self.take(1).map(|it| it[0])
    }

    /// The colours of a table, where a byte of flags says that there is one.
    fn palette(&mut self, flags: u8) -> Result<Option<&'a [u8]>, Fault> {
        if flags & 0x80 == 0 {
            return Ok(None);
        }
        self.take(3 << (1 + (flags & 7))).map(Some)
    }

    /// Blocks up to the empty one, which is the first to be passed.
    fn blocks(&mut self) -> Result<&'a [u8], Fault> {
        let all = self.rest;
        loop {
            match self.byte()? {
                0 => return Ok(all),
                n => _ = self.take(usize::from(n))?,
            }
        }
    }
}

fn words<const N: usize>(bytes: &[u8]) -> [usize; N] {
    std::array::from_fn(|it| usize::from(u16::from_le_bytes([bytes[2 * it], bytes[2 * it + 1]])))
}

impl<'a> Frame<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut file = Reader { rest: bytes };
        let screen = file.take(SCREEN)?;
        let [width, height] = words(&screen[6..]);
        let global = file.palette(screen[10])?;
        let mut transparent = None;
        loop {
            match file.byte()? {
                0x21 => {
                    let label = file.byte()?;
                    let blocks = file.blocks()?;
                    if let (0xF9, [(4..), flags, _, _, index, ..]) = (label, blocks) {
                        transparent = (flags & 1 == 1).then_some(*index);
                    }
                }
                0x2C => {
                    let place = file.take(9)?;
                    let [x, y, columns, rows] = words(place);
                    let local = file.palette(place[8])?;
                    let bits = file.byte()?;
                    // What is beyond the screen makes the picture larger.
                    let size = Size { height: height.max(y + rows), width: width.max(x + columns) };
                    let frame = Size { height: rows, width: columns };
                    frame.bytes(1)?;
                    if !(1..=11).contains(&bits) {
                        return Err(damaged(format!("codes of {bits} bits")));
                    }
                    return Ok(Self {
                        size,
                        place: [y, x],
                        frame,
                        is_interlaced: place[8] & 0x40 != 0,
                        palette: local.or(global),
                        transparent,
                        bits,
                        blocks: file.rest,
                    });
                }
                0x3B => return Err(damaged("it has no frame")),
                // Pillow passes what it does not know as well.
                _ => {}
            }
        }
    }

    /// The colour of an index; grey where no table has it.
    fn colour(&self, index: u8) -> [u8; 3] {
        let at = 3 * usize::from(index);
        let found = self.palette.and_then(|it| it.get(at..at + 3));
        found.map_or([index; 3], |it| [it[0], it[1], it[2]])
    }

    /// Writes the indices of the frame to their places in the picture.
    fn indices(&self, room: &mut [u8]) -> Result<(), Fault> {
        let Size { height, width } = self.frame;
        let mut rows = self.rows();
        let mut row = rows.next().unwrap_or(0);
        let (mut x, mut left) = (0, height * width);
        let at = |row: usize, x: usize| (self.place[0] + row) * self.size.width + self.place[1] + x;
        let mut codes = Codes::new(self.bits, self.blocks);
        while left > 0 {
            let run = codes.next_run()?;
            for index in run.iter().take(left) {
                room[at(row, x)] = *index;
                x += 1;
                if x == width {
                    (x, row) = (0, rows.next().unwrap_or(0));
                }
            }
            left -= run.len().min(left);
        }
        Ok(())
    }

    /// The rows in the order in which the file has them.
    fn rows(&self) -> Box<dyn Iterator<Item = usize>> {
        let height = self.frame.height;
        if !self.is_interlaced {
            return Box::new(0..height);
        }
        let pass = move |(from, step): (usize, usize)| (from..height).step_by(step);
        Box::new([(0, 8), (4, 8), (2, 4), (1, 2)].into_iter().flat_map(pass))
    }
}

/// The runs of indices that codes of variable length stand for (LZW: Welch, Computer 17 (1984)).
struct Codes<'a> {
    blocks: &'a [u8],
    /// Bytes of the block that are left.
    left: usize,
    held: u32,
    n_held: u32,
    /// Bits of a code at the begin, and now.
    bits: u8,
    width: u32,
    /// Of each code, the one before its last index, that index, and how many there are.
    before: Vec<u16>,
    last: Vec<u8>,
    len: Vec<u16>,
    previous: Option<usize>,
    run: Vec<u8>,
}

impl<'a> Codes<'a> {
    fn new(bits: u8, blocks: &'a [u8]) -> Self {
        let mut codes = Self {
            blocks,
            left: 0,
            held: 0,
            n_held: 0,
            bits,
            width: 0,
            before: Vec::with_capacity(CODES_MAX),
            last: Vec::with_capacity(CODES_MAX),
            len: Vec::with_capacity(CODES_MAX),
            previous: None,
            run: Vec::new(),
        };
        codes.clear();
        codes
    }

    /// Forgets all codes but those of single indices, of the clearing and of the end.
    fn clear(&mut self) {
        let n = (1_usize << self.bits) + 2;
        self.before = vec![0; n];
        self.last = (0..n).map(|it| it as u8).collect();
        self.len = vec![1; n];
        self.width = u32::from(self.bits) + 1;
        self.previous = None;
    }

    fn code(&mut self) -> Result<usize, Fault> {
        while self.n_held < self.width {
            if self.left == 0 {
                let (first, rest) = self.blocks.split_first().ok_or_else(truncated)?;
                (self.left, self.blocks) = (usize::from(*first), rest);
                if self.left == 0 {
                    return Err(truncated());
                }
            }
            let (byte, rest) = self.blocks.split_first().ok_or_else(truncated)?;
            (self.blocks, self.left) = (rest, self.left - 1);
            self.held |= u32::from(*byte) << self.n_held;
            self.n_held += 8;
        }
        let code = self.held & ((1 << self.width) - 1);
        self.held >>= self.width;
        self.n_held -= self.width;
        Ok(code as usize)
    }

    /// The indices of the next code.
    fn next_run(&mut self) -> Result<&[u8], Fault> {
        let clear = 1_usize << self.bits;
        let code = loop {
            match self.code()? {
                it if it == clear => self.clear(),
                it if it == clear + 1 => return Err(truncated()),
                it => break it,
            }
        };
        let known = self.len.len();
        let of = match self.previous {
            _ if code < known => code,
            // The code that is about to be made: the run before, and its first index once more.
            Some(previous) if code == known && known < CODES_MAX => previous,
            _ => return Err(damaged(format!("a code {code} that stands for nothing"))),
        };
        self.spell(of);
        let first = self.run[0];
        if code == known {
            self.run.push(first);
        }
        if let Some(previous) = self.previous.filter(|_| known < CODES_MAX) {
            self.before.push(previous as u16);
            self.last.push(first);
            self.len.push(self.len[previous].saturating_add(1));
            if known + 1 == 1 << self.width && self.width < 12 {
                self.width += 1;
            }
        }
        self.previous = Some(code);
        Ok(&self.run)
    }

    /// Puts the indices of a code into `run`.
    fn spell(&mut self, mut code: usize) {
        let n = usize::from(self.len[code]);
        self.run.resize(n, 0);
        for to in self.run.iter_mut().rev() {
            *to = self.last[code];
            code = usize::from(self.before[code]);
        }
    }
}
