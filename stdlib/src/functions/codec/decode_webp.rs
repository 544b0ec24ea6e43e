//! `decode_webp`: a WebP to pixels.

use super::{picture, webp};
use crate::prelude::*;

const CHANNELS: &[usize] = &[1, 2, 3, 4];

function! {
    /// Decodes a WebP, lossless or lossy.
    ///
    /// `channels` is 1 for grayscale, 2 for grayscale and alpha, 3 for RGB, 4 for RGBA, as in `decode_png`. For
    /// an animation, the first frame is returned. Pixels are those of libwebp, for lossy images too.
    ///
    /// Fails as `decode_jpeg` does.
    ///
    /// ```pipe
    /// range(2) |> map { image: decode_webp(plasma(i, 40, 60) |> encode_webp) }    # { image: u8[?, ?, 3] }
    /// ```
    "decode_webp(bytes: bytes, channels: int = 3) fails -> u8[h, w, channels]",
    // Assumed: 35 ns a byte of entropy code, 6.4 ns a byte of pixels (photographs at qualities from
    // 10 to 100, one core of a Sapphire Rapids at 2.3 GHz).
    cost: Cost { ns_call: 10_000.0, ns_byte_in: 35.0, ns_byte_out: 6.4, bytes_out_per_in: 10.0 },
    // What a lossless picture is decoded in, or alpha; a lossy one without needs a few rows.
    work: 0.7,
    result: Some(|it| picture::picture_type(it, DType::U8, CHANNELS)),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let channels = picture::channels(args, CHANNELS)?;
        webp::decode(args.tensor(0).as_text(), picture::Wanted { channels, orient: false }, out)
    }))
}
