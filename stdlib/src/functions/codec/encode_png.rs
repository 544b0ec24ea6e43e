//! `encode_png`: pixels to a PNG.

use super::{picture, png};
use crate::prelude::*;
use ::png::BitDepth;

/// The longest side that is written, in pixels.
const SIDE_MAX: usize = 65_536;

function! {
    /// Encodes an image of 8 or 16 bits as a PNG.
    ///
    /// Images are `u8` or `u16`, with 1 channel (grayscale), 2 (grayscale and alpha), 3 (RGB) or 4 (RGBA).
    /// `decode_png` returns the same pixels. Fails with `channels` for any other number of channels.
    ///
    /// ```pipe
    /// range(2) |> map { file: encode_png(plasma(i, 40, 60)) }    # { file: bytes }
    /// ```
    "encode_png(image: integer[h, w, c]) fails -> bytes",
    // Assumed: 3.1 ns a byte of pixels (photographs, one core of a Sapphire Rapids at 2.3 GHz).
    cost: Cost { ns_call: 10_000.0, ns_byte_in: 3.1, ns_byte_out: 0.0, bytes_out_per_in: 0.6 },
    result: Some(|it| picture::encoded_type(it, &[DType::U8, DType::U16], &[1, 2, 3, 4])),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let image = args.tensor(0);
        let (size, channels) = picture::sides(&image, SIDE_MAX)?;
        if !(1..=4).contains(&channels) {
            let detail = format!("a PNG has 1 to 4 channels, but the image has {channels}");
            return Err(Fault::new("channels", detail));
        }
        // A file that may be as large as they are, and samples of 16 bits in its order.
        let swapped_bytes = if image.dtype() == DType::U16 { image.bytes() } else { 0 };
        let _working = Working::ahead_of(image.bytes() + swapped_bytes);
        let file = picture::packed(&image, |samples| match image.dtype() {
            DType::U16 => png::encode(&swapped(samples), size, (channels, BitDepth::Sixteen)),
            _ => png::encode(samples, size, (channels, BitDepth::Eight)),
        })?;
        out.text(DType::Bytes, &file)
    }))
}

/// Samples of 16 bits, the upper eight first.
fn swapped(samples: &[u8]) -> Vec<u8> {
    samples.as_chunks::<2>().0.iter().flat_map(|it| u16::from_ne_bytes(*it).to_be_bytes()).collect()
}
