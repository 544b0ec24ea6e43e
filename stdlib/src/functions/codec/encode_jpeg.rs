//! `encode_jpeg`: pixels to a JPEG.

use super::picture;
use crate::prelude::*;
use libjpeg_turbo_rs::{Encoder, PixelFormat, Subsampling};

/// The longest side that libjpeg writes, in pixels.
const SIDE_MAX: usize = 65_500;

function! {
    /// Encodes an image as a baseline JPEG.
    ///
    /// The bytes are those that libjpeg-turbo writes: `quality` from 1 to 100 scales the quantization tables of
    /// the standard's annex K, chroma is subsampled 2 x 2, and the Huffman tables are the standard's. So
    /// `encode_jpeg(image, quality) |> decode_jpeg` is torchvision's `JPEG` and TensorFlow's
    /// `adjust_jpeg_quality`.
    ///
    /// Fails with `channels` if the image has neither 1 nor 3 channels, `quality` if the quality is out of
    /// range, or `size` if a side is not between 1 and 65,500.
    ///
    /// ```pipe
    /// range(2) |> map { file: encode_jpeg(plasma(i, 40, 60), quality: 80) }    # { file: bytes }
    /// ```
    "encode_jpeg(image: u8[h, w, c], quality: int = 90) fails -> bytes",
    // Assumed: 1.4 ns a byte of pixels (photographs at quality 90, one core of a Sapphire Rapids).
    cost: Cost { ns_call: 10_000.0, ns_byte_in: 1.4, ns_byte_out: 0.0, bytes_out_per_in: 0.15 },
    result: Some(|it| picture::encoded_type(it, &[DType::U8], &[1, 3])),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let image = args.tensor(0);
        let (size, channels) = picture::sides(&image, SIDE_MAX)?;
        let format = match channels {
            1 => PixelFormat::Grayscale,
            3 => PixelFormat::Rgb,
            n => {
                let detail = format!("a JPEG has 1 or 3 channels, but the image has {n}");
                return Err(Fault::new("channels", detail));
            }
        };
        let quality = u8::try_from(args.int(1)).ok().filter(|it| (1..=100).contains(it));
        let quality = quality.ok_or_else(|| {
            Fault::new(
                "quality",
                format!("expected a quality from 1 to 100, found {}", args.int(1)),
            )
        })?;

        // The file, for which the encoder asks at once for what any picture takes.
        let _working = Working::ahead_of(2 * size.height * size.width);
        let file = picture::packed(&image, |pixels| {
            let encoder = Encoder::new(pixels, size.width, size.height, format);
            let encoder = encoder.quality(quality).force_baseline(true);
            let is_colour = channels == 3;
            if is_colour { encoder.subsampling(Subsampling::S420) } else { encoder }.encode()
        });
        let refused = |it| Fault::new("encode", format!("cannot encode the image as JPEG: {it}"));
        out.text(DType::Bytes, &file.map_err(refused)?)
    }))
}
