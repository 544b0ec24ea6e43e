//! JPEG through `libjpeg-turbo-rs`, which equals libjpeg-turbo to the bit.
//!
//! Where libjpeg only warns, that a scan ends early at a marker, and goes on with grey, so do
//! we; where it makes up coefficients for codes that cannot be, the picture is damaged.

mod cmyk;
mod header;

use super::picture::{Decoded, Size, Turn, WORK_BYTES_MAX, Wanted, damaged, staged, truncated};
use crate::prelude::*;
use header::Ending;
pub(super) use header::Header;
use libjpeg_turbo_rs::{DecodeLimits, DecodeWarning, Decoder, JpegError, PixelFormat};
use std::cell::RefCell;

/// Scans of the most elaborate progressive JPEG that is decoded; real ones have about ten.
const SCANS_MAX: usize = 100;
/// Rows below a crop that its own pixels depend on, by the triangle filter for chroma.
const ROWS_BELOW: usize = 2;
/// Columns beside a crop that are decoded with it: two that its own pixels depend on, and more,
/// so that what is decoded is never so narrow that libjpeg takes another filter.
const COLUMNS_BESIDE: usize = 8;
/// Bytes of a changed file that each thread keeps room for.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// Decodes a JPEG as it is wanted.
pub(super) fn decode(bytes: &[u8], wanted: Wanted, out: &mut Out<'_>) -> Result<(), Fault> {
    let header = Header::read(bytes)?;
    let coded = Coded { bytes, header };
    let turn = if wanted.orient { coded.turn() } else { Turn::UPRIGHT };
    let Size { height, width } = header.size;
    // CMYK becomes grey by way of RGB.
    let channels = if wanted.channels < 3 && header.components != 4 { 1 } else { 3 };

    if channels == wanted.channels && turn == Turn::UPRIGHT {
        return coded.read(channels, out.tensor::<u8>(&[height, width, channels])?);
    }
    staged(header.size.bytes(channels)?, |pixels| {
        coded.read(channels, pixels)?;
        Decoded { pixels, size: header.size, channels, turn }.deliver(wanted.channels, out)
    })
}

/// A part of a picture, in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) y: usize,
    pub(super) x: usize,
    pub(super) size: Size,
}

impl Part {
    /// Copies the part of a picture that is `width` pixels wide, 3 channels.
    fn copy(self, from: &[u8], width: usize, to: &mut [u8]) {
        let rows = from.chunks_exact(width * 3).skip(self.y);
        for (to, from) in to.chunks_exact_mut(self.size.width * 3).zip(rows) {
            to.copy_from_slice(&from[self.x * 3..][..to.len()]);
        }
    }
}

/// Decodes the part of a JPEG that `part` finds in it to RGB, to the bit as if all were decoded.
pub(super) fn decode_part(
    bytes: &[u8],
    part: impl FnOnce(Size) -> Result<Part, Fault>,
    out: &mut Out<'_>,
) -> Result<(), Fault> {
    let header = Header::read(bytes)?;
    let part = part(header.size)?;
    let room = out.tensor::<u8>(&[part.size.height, part.size.width, 3])?;
    let coded = Coded { bytes, header };
    // A file that does not end as it should is decoded to its end, to find out what it lacks.
    if header.single_scan && bytes.ends_with(&[0xFF, 0xD9]) && coded.read_rows(part, room).is_ok() {
        return Ok(());
    }
    staged(header.size.bytes(3)?, |pixels| {
        coded.read(3, pixels)?;
        part.copy(pixels, header.size.width, room);
        Ok(())
    })
}

/// A JPEG whose header was found good.
struct Coded<'a> {
    bytes: &'a [u8],
    header: Header,
}

impl Coded<'_> {
    fn turn(&self) -> Turn {
        let decoder = Decoder::new_with_limits(self.bytes, limits());
        decoder.map_or(Turn::UPRIGHT, |it| it.exif_data().map_or(Turn::UPRIGHT, Turn::of_exif))
    }

    /// Decodes all of it to 1 or 3 channels.
    fn read(&self, channels: usize, to: &mut [u8]) -> Result<(), Fault> {
        match self.attempt(channels, to, false) {
            // Any bits are arithmetic code, also the zeros that stand in for what is cut off.
            Ok(_) if self.header.is_arithmetic => match self.header.ending(self.bytes) {
                Ending::Whole => Ok(()),
                Ending::Cut | Ending::Strange => Err(truncated()),
            },
            Ok(_) => Ok(()),
            Err(JpegError::UnexpectedEof) => match self.header.ending(self.bytes) {
                Ending::Whole => self.read_leniently(channels, to),
                Ending::Cut => Err(truncated()),
                Ending::Strange => Err(damaged("a marker stands where none can be")),
            },
            Err(error) => Err(fault(&error)),
        }
    }

    /// Decodes all of it; what scans that end early leave out is grey.
    fn read_leniently(&self, channels: usize, to: &mut [u8]) -> Result<(), Fault> {
        let warnings = self.attempt(channels, to, true).map_err(|it| fault(&it))?;
        let harmless = |it: &DecodeWarning| {
            matches!(it, DecodeWarning::TruncatedData { .. } | DecodeWarning::ExtraneousData { .. })
        };
        match warnings.iter().find(|it| !harmless(it)) {
            Some(warning) => Err(damaged(warning)),
            None => Ok(()),
        }
    }

    fn attempt(
        &self,
        channels: usize,
        to: &mut [u8],
        lenient: bool,
    ) -> Result<Vec<DecodeWarning>, JpegError> {
        let mut decoder = Decoder::new_with_limits(self.bytes, limits())?;
        decoder.set_lenient(lenient);
        decoder.set_block_smoothing(true);
        if self.header.components == 4 {
            return cmyk::read(decoder, self.header.size, to);
        }
        let format = if channels == 1 { PixelFormat::Grayscale } else { PixelFormat::Rgb };
        decoder.set_output_format(format);
        decoder.decode_image_into(to).map(|it| it.warnings)
    }

    /// Decodes no more rows than `part` needs, and no more columns to pixels.
    ///
    /// The decoder reads as many rows as the header says; so it is given one that says fewer.
    fn read_rows(&self, part: Part, to: &mut [u8]) -> Result<(), JpegError> {
        let needed = part.y + part.size.height + ROWS_BELOW;
        let needed = needed.next_multiple_of(self.header.unit_rows);
        if needed >= self.header.size.height {
            return self.read_columns(self.bytes, part, to);
        }
        SHORTER.with_borrow_mut(|shorter| {
            shorter.clear();
            shorter.extend_from_slice(self.bytes);
            let height = (needed as u16).to_be_bytes();
            shorter[self.header.height_at..][..2].copy_from_slice(&height);
            let result = self.read_columns(shorter, part, to);
            if shorter.capacity() > KEPT_BYTES_MAX {
                *shorter = Vec::new();
            }
            result
        })
    }

    fn read_columns(&self, bytes: &[u8], part: Part, to: &mut [u8]) -> Result<(), JpegError> {
        let mut decoder = Decoder::new_with_limits(bytes, limits())?;
        decoder.set_output_format(PixelFormat::Rgb);
        let left = part.x.saturating_sub(COLUMNS_BESIDE);
        let right = (part.x + part.size.width + COLUMNS_BESIDE).min(self.header.size.width);
        decoder.set_crop(left, right - left);

        staged(decoder.output_buffer_size()?, |pixels| {
            let info = decoder.decode_image_into(pixels)?;
            // It begins further left, where a unit of the code begins.
            let part = Part { x: part.x - (right - info.width), ..part };
            part.copy(pixels, info.width, to);
            Ok(())
        })
    }
}

thread_local! {
    static SHORTER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn limits() -> DecodeLimits {
    DecodeLimits {
        max_scans: SCANS_MAX,
        max_memory: Some(WORK_BYTES_MAX as u64),
        ..DecodeLimits::strict()
    }
}

fn fault(error: &JpegError) -> Fault {
    match error {
        JpegError::UnexpectedEof => truncated(),
        JpegError::Unsupported(what) => {
            Fault::new("image-unsupported", format!("a JPEG of this kind is not read: {what}"))
        }
        JpegError::LimitExceeded { .. } | JpegError::AllocationFailed { .. } => {
            Fault::new("image-too-large", format!("the picture takes too much to decode: {error}"))
        }
        JpegError::CorruptData(what) => damaged(what),
        _ => damaged(error),
    }
}
