//! PNG through the crate `png`.

use super::picture::{
    Decoded, Size, Turn, WORK_BYTES_MAX, Wanted, damaged, recolour, staged, truncated,
};
use crate::prelude::*;
use ::png::{
    BitDepth, ColorType, Compression, Decoder, DecodingError, Limits, Reader, Transformations,
};
use runtime::Working;
use std::io::{Cursor, ErrorKind};

const MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";

type Opened<'a> = Reader<Cursor<&'a [u8]>>;

/// Decodes a PNG to 8 bits a sample; of 16 the upper eight are kept.
pub(super) fn decode(bytes: &[u8], wanted: Wanted, out: &mut Out<'_>) -> Result<(), Fault> {
    let mut reader = open(bytes, Transformations::normalize_to_color8())?;
    let (size, channels) = extents(&reader, wanted.channels)?;
    let exif = reader.info().exif_metadata.as_deref().filter(|_| wanted.orient);
    let turn = exif.map_or(Turn::UPRIGHT, Turn::of_exif);

    if channels == wanted.channels && turn == Turn::UPRIGHT {
        return read(&mut reader, out.tensor::<u8>(&[size.height, size.width, channels])?);
    }
    staged(size.bytes(channels)?, |pixels| {
        read(&mut reader, pixels)?;
        Decoded { pixels, size, channels, turn }.deliver(wanted.channels, out)
    })
}

/// Decodes a PNG to 16 bits a sample; 8 bits are repeated, so that white stays white.
pub(super) fn decode_wide(bytes: &[u8], channels: usize, out: &mut Out<'_>) -> Result<(), Fault> {
    let mut reader = open(bytes, Transformations::EXPAND)?;
    let (size, found) = extents(&reader, channels)?;
    let shape = [size.height, size.width, channels];
    let is_wide = reader.output_color_type().1 == BitDepth::Sixteen;
    if is_wide && found == channels {
        let room = out.room(DType::U16, Shape::new(&shape))?;
        read(&mut reader, room)?;
        room.as_chunks_mut::<2>().0.iter_mut().for_each(|it| *it = wide(*it).to_ne_bytes());
        return Ok(());
    }

    let room = out.tensor::<u16>(&shape)?;
    staged(size.bytes(found * if is_wide { 2 } else { 1 })?, |pixels| {
        read(&mut reader, pixels)?;
        let _working = Working::of(2 * size.bytes(found)?);
        let samples: Vec<u16> = match is_wide {
            true => pixels.as_chunks::<2>().0.iter().map(|it| wide(*it)).collect(),
            false => pixels.iter().map(|&it| wide([it; 2])).collect(),
        };
        recolour::<u16>((&samples, found), (room, channels));
        Ok(())
    })
}

/// Decodes the indices of a palette, or the levels of 8-bit grayscale.
pub(super) fn decode_index(bytes: &[u8], out: &mut Out<'_>) -> Result<(), Fault> {
    let mut reader = open(bytes, Transformations::IDENTITY)?;
    let (size, _) = extents(&reader, 1)?;
    let (colour, depth) = reader.output_color_type();
    let bits = match (colour, depth) {
        (ColorType::Indexed, BitDepth::One) => 1,
        (ColorType::Indexed, BitDepth::Two) => 2,
        (ColorType::Indexed, BitDepth::Four) => 4,
        (ColorType::Indexed | ColorType::Grayscale, BitDepth::Eight) => 8,
        _ => {
            let depth = depth as usize;
            let detail = format!(
                "expected an image with a palette or 8-bit grayscale, found {colour:?} of {depth} bits"
            );
            return Err(Fault::new("image-no-palette", detail));
        }
    };
    let room = out.tensor::<u8>(&[size.height, size.width, 1])?;
    if bits == 8 {
        return read(&mut reader, room);
    }
    // Several to a byte, from the highest bits on; each row begins with a byte of its own.
    let stride = (size.width * bits).div_ceil(8);
    staged(stride * size.height, |packed| {
        read(&mut reader, packed)?;
        for (to, from) in room.chunks_exact_mut(size.width).zip(packed.chunks_exact(stride)) {
            for (x, to) in to.iter_mut().enumerate() {
                let at = x * bits;
                *to = from[at / 8] >> (8 - bits - at % 8) & ((1 << bits) - 1);
            }
        }
        Ok(())
    })
}

/// A sample of 16 bits: the upper eight come first.
fn wide(bytes: [u8; 2]) -> u16 {
    u16::from_be_bytes(bytes)
}

fn open(bytes: &[u8], transform: Transformations) -> Result<Opened<'_>, Fault> {
    if !bytes.starts_with(MAGIC) {
        return Err(super::decode_image::unknown(bytes, "PNG"));
    }
    let limits = Limits { bytes: WORK_BYTES_MAX / 4 };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(transform);
    let info = decoder.read_header_info().map_err(|it| fault(&it))?;
    let size = Size { height: info.height as usize, width: info.width as usize };
    size.bytes(1)?;
    decoder.read_info().map_err(|it| fault(&it))
}

/// The size of the picture, and the channels that it is read to, before it has those `wanted`.
fn extents(reader: &Opened<'_>, wanted: usize) -> Result<(Size, usize), Fault> {
    let info = reader.info();
    let size = Size { height: info.height as usize, width: info.width as usize };
    let (colour, depth) = reader.output_color_type();
    size.bytes(colour.samples().max(wanted) * (depth as usize).div_ceil(8))?;
    if info.frame_control.is_some_and(|it| (it.width, it.height) != (info.width, info.height)) {
        return Err(damaged("the first frame of the animation does not cover the image"));
    }
    Ok((size, colour.samples()))
}

fn read(reader: &mut Opened<'_>, to: &mut [u8]) -> Result<(), Fault> {
    reader.next_frame(to).map(drop).map_err(|it| fault(&it))
}

fn fault(error: &DecodingError) -> Fault {
    match error {
        DecodingError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => truncated(),
        DecodingError::LimitsExceeded => {
            Fault::new("image-too-large", "decoding the image needs too much memory")
        }
        _ => damaged(error),
    }
}

/// Encodes samples in C order; those of 16 bits in the order of bytes that PNG has.
pub(super) fn encode(
    samples: &[u8],
    size: Size,
    (channels, depth): (usize, BitDepth),
) -> Result<Vec<u8>, Fault> {
    use ::png::ColorType::{Grayscale, GrayscaleAlpha, Rgb, Rgba};
    let mut file = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut file, size.width as u32, size.height as u32);
    encoder.set_color([Grayscale, GrayscaleAlpha, Rgb, Rgba][channels - 1]);
    encoder.set_depth(depth);
    encoder.set_compression(Compression::Fast);
    let written = encoder.write_header().and_then(|mut it| {
        it.write_image_data(samples)?;
        it.finish()
    });
    let refused = |it| Fault::new("encode", format!("cannot encode the image as PNG: {it}"));
    written.map(|()| file).map_err(refused)
}
