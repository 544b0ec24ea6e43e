//! `encode_webp`: pixels to a lossless WebP.

use super::picture;
use crate::prelude::*;
use image_webp::{ColorType, WebPEncoder};

/// The longest side that the format has, in pixels.
const SIDE_MAX: usize = 16_384;

function! {
    /// Encodes an image as a lossless WebP.
    ///
    /// Images have 1 channel (grayscale), 2 (grayscale and alpha), 3 (RGB) or 4 (RGBA). `decode_webp` returns
    /// the same pixels. Fails with `channels` for any other number of channels, or with `size` if a side is not
    /// between 1 and 16,384.
    ///
    /// ```pipe
    /// range(2) |> map { file: encode_webp(plasma(i, 40, 60)) }    # { file: bytes }
    /// ```
    "encode_webp(image: u8[h, w, c]) fails -> bytes",
    // Assumed: 3.3 ns a byte of pixels (photographs, one core of a Sapphire Rapids at 2.3 GHz).
    cost: Cost { ns_call: 10_000.0, ns_byte_in: 3.3, ns_byte_out: 0.0, bytes_out_per_in: 0.6 },
    result: Some(|it| picture::encoded_type(it, &[DType::U8], &[1, 2, 3, 4])),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let image = args.tensor(0);
        let (size, channels) = picture::sides(&image, SIDE_MAX)?;
        let colour = match channels {
            1 => ColorType::L8,
            2 => ColorType::La8,
            3 => ColorType::Rgb8,
            4 => ColorType::Rgba8,
            n => {
                let detail = format!("a WebP has 1 to 4 channels, but the image has {n}");
                return Err(Fault::new("channels", detail));
            }
        };
        // The encoder makes four channels of them, and a file that may be as large as they are.
        let pixels = size.height * size.width;
        let _working = Working::ahead_of(pixels * (4 + channels));
        let mut file = Vec::new();
        let [width, height] = [size.width, size.height].map(|it| it as u32);
        let encoder = WebPEncoder::new(&mut file);
        let written =
            picture::packed(&image, |pixels| encoder.encode(pixels, width, height, colour));
        written
            .map_err(|it| Fault::new("encode", format!("cannot encode the image as WebP: {it}")))?;
        out.text(DType::Bytes, &file)
    }))
}
