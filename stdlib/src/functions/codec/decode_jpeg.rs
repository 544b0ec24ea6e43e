//! `decode_jpeg`: a JPEG to pixels.

use super::{jpeg, picture};
use crate::prelude::*;
use plan::{Arg, Drafted, Fused, Indexed};

const CHANNELS: &[usize] = &[1, 3];

function! {
    /// Decodes a JPEG.
    ///
    /// Pixels are bit-identical to those of libjpeg-turbo (slow integer DCT, triangle filter for chroma), and
    /// so to those of Pillow. Baseline, progressive and arithmetic-coded files are supported, in grayscale,
    /// colour and CMYK. `channels: 1` returns the luma, `channels: 3` RGB: grayscale is repeated, and CMYK is
    /// converted as in Pillow. `orient: true` rotates the image upright, as its Exif orientation says; by
    /// default, as in most libraries, it stays as the camera stored it.
    ///
    /// Fails with `image-unknown` if the bytes are not a JPEG, `image-truncated` if the end is missing,
    /// `image-damaged`, `image-unsupported` (12 bits per sample, lossless, hierarchical), or `image-too-large`
    /// (a side above 16,384 pixels, or more than 256 MiB decoded; the decoder uses at most 1 GiB in addition).
    /// If a marker ends a scan too early, the rest is filled with gray, as in libjpeg.
    ///
    /// ```pipe
    /// range(2) |> map { image: decode_jpeg(plasma(i, 40, 60) |> encode_jpeg) }    # { image: u8[?, ?, 3] }
    /// ```
    "decode_jpeg(bytes: bytes, channels: int = 3, orient: bool = false) fails -> u8[h, w, channels]",
    // Assumed: 3.4 ns a byte of entropy code, 0.2 ns a byte of pixels, 10 us to read the header
    // (ImageNet, one core of a Zen 5).
    cost: Cost { ns_call: 10_000.0, ns_byte_in: 3.4, ns_byte_out: 0.2, bytes_out_per_in: 5.5 },
    properties: &[Property::Nearly(&GREY), Property::Fuses(&PART), Property::Drafts(&DRAFT)],
    result: Some(|it| picture::picture_type(it, DType::U8, CHANNELS)),
}

/// The luma of a JPEG is what it is stored as; of colours it is made again from what was rounded and
/// clipped.
static GREY: Nearly = Nearly { of: "grayscale", parameter: "channels", value: 1 };

/// A picture that is to be small need not be made large.
static DRAFT: Drafted =
    Drafted { of: "resize", into: "decode_jpeg_draft", asked: "extent", answer: "jpeg_extent" };

/// Without reading what lies below it, and without making pixels beside it.
static PART: Fused = Fused {
    part: "crop",
    into: "decode_jpeg_crop",
    asked: "extent",
    answer: "jpeg_extent",
    others: &[Arg::Int(3), Arg::Bool(false)],
    index: Some(INDEX),
};

/// Where in the file the code of every eighth MCU begins. Of the code of a part (random_resized_crop:
/// 42% of the pixels, 84% of the rows) less than half is left to read; to make it, the code below
/// the part is read too. What that saves and takes was measured on a Xeon.
const INDEX: Indexed =
    Indexed { name: "jpeg_index", version: 1, bytes_per_in: 0.034, saves: 0.27, takes: 0.3 };

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let orient = call.bool(2);
    Ok(Kernel::compute(move |args, out| {
        let channels = picture::channels(args, CHANNELS)?;
        jpeg::decode(args.tensor(0).as_text(), picture::Wanted { channels, orient }, out)
    }))
}
