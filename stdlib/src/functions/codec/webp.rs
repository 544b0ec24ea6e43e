//! WebP through the crate `image-webp`.

use super::picture::{Decoded, Size, Turn, WORK_BYTES_MAX, Wanted, damaged, staged, truncated};
use crate::prelude::*;
use image_webp::{DecodingError, WebPDecoder};
use runtime::Working;
use std::io::{Cursor, ErrorKind};

/// Decodes a WebP; of an animation the first frame.
pub(super) fn decode(bytes: &[u8], wanted: Wanted, out: &mut Out<'_>) -> Result<(), Fault> {
    if !is_webp(bytes) {
        return Err(super::decode_image::unknown(bytes, "WebP"));
    }
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
