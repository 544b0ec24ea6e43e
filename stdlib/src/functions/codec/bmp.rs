//! BMP: Windows bitmaps of all versions, and those of OS/2 1.x, by our own code.
//!
//! The format is that of `BITMAPINFOHEADER` and its kin in Microsoft's documentation of GDI. What Pillow reads is read as
//! Pillow reads it: the fourth byte of a pixel of 32 bits is alpha only where a mask says so.

use super::picture::{Decoded, Size, Turn, Wanted, damaged, staged, truncated};
use crate::prelude::*;

/// Bytes of the file header.
const FILE_HEADER: usize = 14;
/// Bytes of the header of OS/2 1.x, and of the first one of Windows.
const CORE: usize = 12;
const INFO: usize = 40;
/// Bytes of headers that have their masks within: from version 2 on.
const MASKS_WITHIN: usize = 52;
/// The same of the mask of alpha.
const ALPHA_WITHIN: usize = 56;

/// How pixels are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Plain,
    Runs,
    /// Where the bits of red, green, blue and alpha are.
    Masks([u32; 4]),
}

/// What the headers say.
struct Header<'a> {
    size: Size,
    is_top_down: bool,
    bits: usize,
    packing: Packing,
    /// Blue, green, red of each colour, and perhaps a byte more.
    palette: &'a [u8],
    /// Bytes of a colour in the palette.
    colour: usize,
    pixels: &'a [u8],
}

/// Decodes a BMP to 8 bits a sample.
pub(super) fn decode(bytes: &[u8], wanted: Wanted, out: &mut Out<'_>) -> Result<(), Fault> {
    let header = Header::read(bytes)?;
    let size = header.size;
    let channels = if matches!(header.packing, Packing::Masks([.., (1..)])) { 4 } else { 3 };
    size.bytes(channels.max(wanted.channels))?;
    staged(size.bytes(channels)?, |pixels| {
        match header.packing {
            Packing::Runs => header.runs(pixels)?,
            _ => header.rows(pixels, channels)?,
        }
        Decoded { pixels, size, channels, turn: Turn::UPRIGHT }.deliver(wanted.channels, out)
    })
}

fn word(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let two = bytes.get(at..).and_then(|it| it.first_chunk::<2>()).ok_or_else(truncated)?;
    Ok(usize::from(u16::from_le_bytes(*two)))
}

fn long(bytes: &[u8], at: usize) -> Result<u32, Fault> {
    let four = bytes.get(at..).and_then(|it| it.first_chunk::<4>()).ok_or_else(truncated)?;
    Ok(u32::from_le_bytes(*four))
}

impl<'a> Header<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let start = long(bytes, 10)? as usize;
        let info = long(bytes, FILE_HEADER)? as usize;
        let at = |offset: usize| FILE_HEADER + offset;
        if info != CORE && !(INFO..=1 << 10).contains(&info) {
            return Err(damaged(format!("a header of {info} bytes")));
        }
        let is_core = info == CORE;
        let (width, height, bits) = match is_core {
            true => (word(bytes, at(4))? as i32, word(bytes, at(6))? as i32, word(bytes, at(10))?),
            false => (long(bytes, at(4))? as i32, long(bytes, at(8))? as i32, word(bytes, at(14))?),
        };
        let width = usize::try_from(width).map_err(|_| damaged("a negative width"))?;
        let size = Size { height: height.unsigned_abs() as usize, width };
        size.bytes(3)?;
        let (method, n_colours) =
            if is_core { (0, 0) } else { (long(bytes, at(16))?, long(bytes, at(32))? as usize) };

        let mut behind = at(info);
        let packing = match (method, bits) {
            (0, 16) => Packing::Masks([0x7C00, 0x3E0, 0x1F, 0]),
            (0, 1 | 4 | 8 | 24 | 32) => Packing::Plain,
            (1, 8) | (2, 4) => Packing::Runs,
            (3 | 6, 16 | 32) => {
                let mask = |i: usize| long(bytes, at(INFO) + 4 * i);
                let has_alpha = info >= ALPHA_WITHIN || method == 6;
                if info < MASKS_WITHIN {
                    behind += if has_alpha { 16 } else { 12 };
                }
                Packing::Masks([mask(0)?, mask(1)?, mask(2)?, if has_alpha { mask(3)? } else { 0 }])
            }
            _ => {
                let what = format!(
                    "a BMP of {bits} bits a pixel with compression {method}, which is not supported"
                );
                return Err(damaged(what));
            }
        };
        let colour = if is_core { 3 } else { 4 };
        let n_colours = match bits {
            1 | 4 | 8 if n_colours == 0 => 1 << bits,
            1 | 4 | 8 => n_colours.min(1 << bits),
            _ => 0,
        };
        let palette = bytes.get(behind..behind + colour * n_colours).ok_or_else(truncated)?;
        let pixels = bytes.get(start..).ok_or_else(truncated)?;
        Ok(Self { size, is_top_down: height < 0, bits, packing, palette, colour, pixels })
    }

    /// Where a row of the file stands in the picture.
    fn row(&self, number: usize) -> usize {
        if self.is_top_down { number } else { self.size.height - 1 - number }
    }

    /// Red, green and blue of an index; black where the palette has no such.
    fn colour(&self, index: usize) -> [u8; 3] {
        let at = index * self.colour;
        self.palette.get(at..at + 3).map_or([0; 3], |it| [it[2], it[1], it[0]])
    }

    /// Rows of pixels, each of whole groups of four bytes.
    fn rows(&self, room: &mut [u8], channels: usize) -> Result<(), Fault> {
        let stride = (self.size.width * self.bits).div_ceil(32) * 4;
        // The last row may lack the bytes that fill it up.
        let least = (self.size.width * self.bits).div_ceil(8);
        for number in 0..self.size.height {
            let row = self.pixels.get(number * stride..).unwrap_or_default();
            let row = row.get(..least).ok_or_else(truncated)?;
            let at = self.row(number) * self.size.width * channels;
            let room = &mut room[at..][..self.size.width * channels];
            for (x, to) in room.chunks_exact_mut(channels).enumerate() {
                self.pixel(row, x, to);
            }
        }
        Ok(())
    }

    fn pixel(&self, row: &[u8], x: usize, to: &mut [u8]) {
        let at = x * self.bits / 8;
        match (self.packing, self.bits) {
            (Packing::Masks(masks), bits) => {
                let bytes = &row[at..][..bits / 8];
                let value = bytes.iter().rev().fold(0, |value, it| value << 8 | u32::from(*it));
                to.iter_mut().zip(masks).for_each(|(to, mask)| *to = part(value, mask));
            }
            (_, 24 | 32) => to.copy_from_slice(&[row[at + 2], row[at + 1], row[at]]),
            (_, bits) => {
                let within = x * bits % 8;
                let index = row[at] >> (8 - bits - within) & (((1_u32 << bits) - 1) as u8);
                to.copy_from_slice(&self.colour(usize::from(index)));
            }
        }
    }

    /// Runs of indices (RLE8, RLE4); pixels that they pass over have index 0.
    fn runs(&self, room: &mut [u8]) -> Result<(), Fault> {
        let Size { height, width } = self.size;
        let background = self.colour(0);
        room.as_chunks_mut::<3>().0.fill(background);
        let mut codes = self.pixels.iter().copied();
        let mut next = || codes.next().map(usize::from).ok_or_else(truncated);
        let (mut x, mut row) = (0, 0);
        let mut put = |x: usize, row: usize, index: usize| {
            if x < width && row < height {
                let at = (self.row(row) * width + x) * 3;
                room[at..at + 3].copy_from_slice(&self.colour(index));
            }
        };
        // Of two pixels in a byte of RLE4, the first one has the upper bits.
        let index = |byte: usize, i: usize| match self.bits {
            8 => byte,
            _ if i.is_multiple_of(2) => byte >> 4,
            _ => byte & 15,
        };
        loop {
            let (count, value) = (next()?, next()?);
            match (count, value) {
                (0, 0) => (x, row) = (0, row + 1),
                (0, 1) => return Ok(()),
                (0, 2) => (x, row) = (x + next()?, row + next()?),
                (0, n) => {
                    let bytes = (n * self.bits).div_ceil(8);
                    for byte in 0..bytes {
                        let value = next()?;
                        for i in (0..8 / self.bits).filter(|it| byte * 8 / self.bits + it < n) {
                            put(x + byte * 8 / self.bits + i, row, index(value, i));
                        }
                    }
                    x += n;
                    // They fill whole groups of two bytes.
                    if bytes % 2 == 1 {
                        next()?;
                    }
                }
                (n, value) => {
                    (0..n).for_each(|i| put(x + i, row, index(value, i)));
                    x += n;
                }
            }
            if row >= height {
                return Ok(());
            }
        }
    }
}

/// The bits of a mask as a level from 0 to 255, rounded down as in Pillow; 255 where there is no mask.
fn part(value: u32, mask: u32) -> u8 {
    if mask == 0 {
        return u8::MAX;
    }
    let (shift, most) = (mask.trailing_zeros(), u64::from(mask >> mask.trailing_zeros()));
    let found = u64::from((value & mask) >> shift);
    (found * 255 / most) as u8
}
