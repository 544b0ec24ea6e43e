//! WebP: pictures of one frame through our own decoder, equal to libwebp to the bit; animations through
//! the crate `image-webp`.

use super::picture::{Decoded, Size, Turn, WORK_BYTES_MAX, Wanted, damaged, staged, truncated};
use crate::prelude::*;
use ::webp::{File, Kind};
use image_webp::{DecodingError, WebPDecoder};
use runtime::Working;
use std::cell::RefCell;
use std::io::{Cursor, ErrorKind};

/// Bytes that our own decoder needs for each column of a lossy picture: 24 rows of luma, two planes of 16
/// rows of half as many samples, and what is known of macroblocks.
const WORK_BYTES_COLUMN: usize = 50;

thread_local! {
    /// Our own decoder; what it keeps is bounded by the widest picture there can be.
    static OWN: RefCell<::webp::Decoder> = RefCell::new(::webp::Decoder::new());
}

/// Decodes a WebP; of an animation the first frame.
pub(super) fn decode(bytes: &[u8], wanted: Wanted, out: &mut Out<'_>) -> Result<(), Fault> {
    if !is_webp(bytes) {
        return Err(super::decode_image::unknown(bytes, "WebP"));
    }
    let file = File::read(bytes).map_err(|it| own_fault(bytes, it))?;
    match file.kind {
        Kind::Animated => decode_animated(bytes, wanted, out),
        _ => decode_own(bytes, &file, wanted, out),
    }
}

/// Decodes a picture of one frame.
fn decode_own(
    bytes: &[u8],
    file: &File<'_>,
    wanted: Wanted,
    out: &mut Out<'_>,
) -> Result<(), Fault> {
    let size = Size { height: file.height, width: file.width };
    // With four bytes, which the largest pictures of others have: all kinds have the same limits.
    let pixels = size.bytes(4)?;
    let channels = if file.has_alpha { 4 } else { 3 };
    let turn = file.exif.filter(|_| wanted.orient).map_or(Turn::UPRIGHT, Turn::of_exif);
    let work = match (file.kind, file.has_alpha) {
        (Kind::Lossy, false) => size.width * WORK_BYTES_COLUMN,
        // As four bytes for each pixel, half of it twice if there is a palette; and the alpha that they hold.
        _ => 2 * pixels,
    };
    let _working = Working::of(work);
    let read = |pixels: &mut [u8]| {
        let read = OWN.with_borrow_mut(|own| match pixels.len() / (size.width * size.height) {
            3 => own.rgb(file, pixels),
            _ => own.rgba(file, pixels),
        });
        read.map_err(|it| own_fault(bytes, it))
    };
    // An alpha that is not there is added as it is written, one that is not wanted is left out.
    let written = if wanted.channels > 2 { wanted.channels } else { channels };
    if written == wanted.channels && turn == Turn::UPRIGHT {
        return read(out.tensor::<u8>(&[size.height, size.width, written])?);
    }
    staged(size.bytes(written)?, |pixels| {
        read(pixels)?;
        Decoded { pixels, size, channels: written, turn }.deliver(wanted.channels, out)
    })
}

/// Decodes the first picture of several.
fn decode_animated(bytes: &[u8], wanted: Wanted, out: &mut Out<'_>) -> Result<(), Fault> {
    let fault = |it: DecodingError| if is_cut(bytes) { truncated() } else { fault(&it) };
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(fault)?;
    decoder.set_memory_limit(WORK_BYTES_MAX / 4);
    let (width, height) = decoder.dimensions();
    let size = Size { height: height as usize, width: width as usize };
    size.bytes(4)?;
    let _working = Working::of(size.bytes(2)?);
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    let exif = if wanted.orient { decoder.exif_metadata().ok().flatten() } else { None };
    let turn = exif.map_or(Turn::UPRIGHT, |it| Turn::of_exif(&it));

    if channels == wanted.channels && turn == Turn::UPRIGHT {
        let room = out.tensor::<u8>(&[size.height, size.width, channels])?;
        return decoder.read_image(room).map_err(fault);
    }
    staged(size.bytes(channels)?, |pixels| {
        decoder.read_image(pixels).map_err(fault)?;
        Decoded { pixels, size, channels, turn }.deliver(wanted.channels, out)
    })
}

/// Whether `bytes` begin as a WebP does.
pub(super) fn is_webp(bytes: &[u8]) -> bool {
    bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP")
}

/// Whether the file is longer than `bytes`, by what it says.
fn is_cut(bytes: &[u8]) -> bool {
    let len =
        bytes.get(4..8).and_then(|it| it.try_into().ok()).map_or(u32::MAX, u32::from_le_bytes);
    bytes.len() < (len as usize).saturating_add(8)
}

/// What it means that our own decoder refuses a file.
fn own_fault(bytes: &[u8], error: ::webp::Error) -> Fault {
    match error {
        ::webp::Error::Truncated => truncated(),
        _ if is_cut(bytes) => truncated(),
        ::webp::Error::Unsupported(what) => {
            Fault::new("image-unsupported", format!("unsupported WebP: {what}"))
        }
        error => damaged(error),
    }
}

fn fault(error: &DecodingError) -> Fault {
    match error {
        DecodingError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => truncated(),
        DecodingError::ImageTooLarge | DecodingError::MemoryLimitExceeded => {
            Fault::new("image-too-large", "decoding the image needs too much memory")
        }
        DecodingError::UnsupportedFeature(what) => {
            Fault::new("image-unsupported", format!("unsupported WebP: {what}"))
        }
        _ => damaged(error),
    }
}
