//! JPEG, equal to libjpeg-turbo to the bit: through our own decoder what is entirely in order,
//! through `libjpeg-turbo-rs` all that it refuses.
//!
//! Where libjpeg only warns, that a scan ends early at a marker, and goes on with grey, so do
//! we; where it makes up coefficients for codes that cannot be, the picture is damaged.

mod cmyk;
mod header;

use super::picture::{Decoded, Size, Turn, WORK_BYTES_MAX, Wanted, damaged, staged, truncated};
use crate::prelude::*;
use ::jpeg::Scale;
use header::Ending;
pub(super) use header::Header;
use libjpeg_turbo_rs::{DecodeLimits, DecodeWarning, Decoder, JpegError, PixelFormat};
use runtime::Working;
use std::cell::RefCell;

/// Scans of the most elaborate progressive JPEG that is decoded; real ones have about ten.
const SCANS_MAX: usize = 100;

thread_local! {
    /// Our own decoder; what it keeps is bounded by the widest picture there can be.
    static OWN: RefCell<::jpeg::Decoder> = RefCell::new(::jpeg::Decoder::new());
}

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
    fn region(self) -> ::jpeg::Region {
        let Size { height, width } = self.size;
        ::jpeg::Region { x: self.x, y: self.y, width, height }
    }

    /// Copies the part of a picture that is `width` pixels wide, 3 channels.
    fn copy(self, from: &[u8], width: usize, to: &mut [u8]) {
        let rows = from.chunks_exact(width * 3).skip(self.y);
        for (to, from) in to.chunks_exact_mut(self.size.width * 3).zip(rows) {
            to.copy_from_slice(&from[self.x * 3..][..to.len()]);
        }
    }
}

/// MCUs between two entries of an index: fewer make it larger, and save little more.
const SPACING: usize = 8;
/// Who keeps an index keeps it under the file's content.
const KEY: u64 = 0;

/// Decodes the part of a JPEG that `part` finds in it to RGB, to the bit as if all were decoded, and
/// the same with an index of it.
pub(super) fn decode_part(
    (bytes, index): (&[u8], SideIndex<'_>),
    part: impl FnOnce(Size) -> Result<Part, Fault>,
    out: &mut Out<'_>,
) -> Result<(), Fault> {
    let header = Header::read(bytes)?;
    let part = part(header.size)?;
    let room = out.tensor::<u8>(&[part.size.height, part.size.width, 3])?;
    let coded = Coded { bytes, header };
    if coded.read_part(part, index, room) {
        return Ok(());
    }
    staged(header.size.bytes(3)?, |pixels| {
        coded.read_any(3, pixels)?;
        part.copy(pixels, header.size.width, room);
        Ok(())
    })
}

/// Decodes a JPEG to RGB, as small as it can be made whose sides are still those of `least`.
pub(super) fn decode_draft(bytes: &[u8], least: Size, out: &mut Out<'_>) -> Result<(), Fault> {
    let header = Header::read(bytes)?;
    let Size { height, width } = header.size;
    let suffices = |it: &Scale| it.of(height) >= least.height && it.of(width) >= least.width;
    let scale = Scale::ALL.into_iter().rev().find(suffices).unwrap_or_default();
    let coded = Coded { bytes, header };
    if scale != Scale::Full && header.is_ours {
        let (height, width) = (scale.of(height), scale.of(width));
        let request = ::jpeg::Request { scale, ..request(None, 3) };
        // Where it is refused, the file is not entirely in order: the other decoder has its say.
        let made = staged(height * width * 3, |pixels| {
            let made = OWN.with_borrow_mut(|own| own.decode(bytes, &request, pixels, width * 3));
            if made.is_err() {
                return Ok(false);
            }
            out.tensor::<u8>(&[height, width, 3])?.copy_from_slice(pixels);
            Ok(true)
        })?;
        if made {
            return Ok(());
        }
    }
    coded.read(3, out.tensor::<u8>(&[height, width, 3])?)
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
        if self.read_own(None, channels, to) {
            return Ok(());
        }
        self.read_any(channels, to)
    }

    /// Decodes a part of it, or all, with our own decoder; `false` where it refuses, and what
    /// `to` holds then is to be written again.
    fn read_own(&self, part: Option<Part>, channels: usize, to: &mut [u8]) -> bool {
        let stride = part.map_or(self.header.size.width, |it| it.size.width) * channels;
        let request = request(part, channels);
        self.header.is_ours
            && OWN.with_borrow_mut(|own| own.decode(self.bytes, &request, to, stride)).is_ok()
    }

    /// The same of a part, with an index or making one, as far as that can be done.
    fn read_part(&self, part: Part, index: SideIndex<'_>, to: &mut [u8]) -> bool {
        let (request, stride) = (request(Some(part), 3), part.size.width * 3);
        let done = match index {
            SideIndex::Absent => false,
            _ if !self.header.single_scan => false,
            SideIndex::Known(kept) => ::jpeg::Index::from_bytes(kept, KEY).is_ok_and(|index| {
                let request = ::jpeg::Request { index: Some(&index), ..request };
                OWN.with_borrow_mut(|own| own.decode(self.bytes, &request, to, stride)).is_ok()
            }),
            SideIndex::Wanted(made) => OWN.with_borrow_mut(|own| {
                let to = ::jpeg::Target { out: &mut *to, stride };
                let found = own.decode_and_index(self.bytes, &request, to, SPACING);
                found.map(|(_, index)| *made = index.to_bytes(KEY)).is_ok()
            }),
        };
        done || self.read_own(Some(part), 3, to)
    }

    /// Decodes all of it to 1 or 3 channels with libjpeg, whose verdict counts.
    fn read_any(&self, channels: usize, to: &mut [u8]) -> Result<(), Fault> {
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
                Ending::Strange => Err(damaged("unexpected marker")),
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
        let _working = Working::of(self.header.work_bytes());
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
}

/// What our own decoder is asked for: a part of a picture, or all of it.
fn request(part: Option<Part>, channels: usize) -> ::jpeg::Request<'static> {
    ::jpeg::Request {
        region: part.map(Part::region),
        channels: if channels == 1 { ::jpeg::Channels::Gray } else { ::jpeg::Channels::Rgb },
        pixels_max: usize::MAX,
        ..::jpeg::Request::default()
    }
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
            Fault::new("image-unsupported", format!("unsupported JPEG: {what}"))
        }
        JpegError::LimitExceeded { .. } | JpegError::AllocationFailed { .. } => Fault::new(
            "image-too-large",
            format!("decoding the image needs too much memory: {error}"),
        ),
        JpegError::CorruptData(what) => damaged(what),
        _ => damaged(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libjpeg_turbo_rs::{Encoder, Subsampling};

    /// What our own decoder takes of damaged files, the other one takes too, and gives the same.
    #[test]
    fn damaged_progressive_files_are_judged_as_by_libjpeg() {
        let mut files = Vec::new();
        for (i, sampling) in [Subsampling::S420, Subsampling::S444].into_iter().enumerate() {
            let pixels: Vec<u8> = (0..3 * 50 * 40).map(|it| (it * it / 7 + it / 3) as u8).collect();
            for restarts in [0, 3] {
                let encoder = Encoder::new(&pixels, 50, 40, PixelFormat::Rgb).progressive(true);
                let encoder = encoder.quality(60 + 30 * i as u8).subsampling(sampling);
                files.push(encoder.restart_blocks(restarts).encode().expect("it can be encoded"));
            }
        }
        let rounds = if std::env::var_os("SLOW_TESTS").is_some() { 100_000 } else { 2_000 };
        let (mut taken, mut refused) = (0, 0);
        for round in 0..rounds {
            let mut file = files[round as usize % files.len()].clone();
            for change in 0..1 + round % 3 {
                if file.len() < 2 {
                    break;
                }
                let drawn = runtime::mix(round, change) as usize;
                // What comes first is not more likely to be hit: the scans are most of a file.
                let at = drawn % file.len();
                match drawn >> 40 & 3 {
                    0 => file[at] ^= 1 << (drawn >> 32 & 7),
                    1 => file[at] = (drawn >> 16) as u8,
                    2 => drop(file.remove(at)),
                    _ => file.truncate(at.max(1)),
                }
            }
            let Ok(header) = Header::read(&file) else { continue };
            if header.size.height * header.size.width > 1 << 16 {
                continue;
            }
            let coded = Coded { bytes: &file, header };
            let len = header.size.height * header.size.width * 3;
            let (mut own, mut other) = (vec![1; len], vec![2; len]);
            if !coded.read_own(None, 3, &mut own) {
                refused += 1;
                continue;
            }
            taken += 1;
            let judged = coded.read_any(3, &mut other);
            assert!(judged.is_ok() && own == other, "round {round}: {judged:?}");
        }
        assert!(taken > rounds / 50 && refused > rounds / 4, "{taken} taken, {refused} refused");
    }
}
