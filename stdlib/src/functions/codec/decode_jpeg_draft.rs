//! `decode_jpeg_draft`: a JPEG to fewer pixels than it has, where fewer are wanted.

use super::{jpeg, picture::Size};
use crate::prelude::*;

function! {
    /// Decodes a JPEG to RGB at a reduced scale (1/2, 1/4 or 1/8).
    ///
    /// The smallest scale is chosen at which both sides are still at least `height` and `width`, as Pillow's
    /// `Image.draft` does. Fewer pixels are computed from each block of 8 x 8 coefficients, bit-identical to
    /// libjpeg-turbo's `scale_denom`. This is faster, and an image resized from the result differs slightly
    /// from one resized from all pixels. Baseline files with a single scan (most are) and progressive ones are
    /// scaled; others are decoded completely.
    ///
    /// Fails as `decode_jpeg` does.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 80, 120) |> encode_jpeg |> decode_jpeg_draft(20, 30) |> resize(20, 30) }    # { image: u8[20, 30, 3] }
    /// ```
    "decode_jpeg_draft(bytes: bytes, height: int, width: int = height) fails -> u8[h, w, 3]",
    // Of progressive files, it was all pixels at first.
    version: 2,
    // Assumed: as `decode_jpeg`, made half as high and wide.
    cost: Cost { ns_call: 10_000.0, ns_byte_in: 3.0, ns_byte_out: 0.3, bytes_out_per_in: 1.4 },
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let least = |i: usize| usize::try_from(args.int(i)).unwrap_or(0);
        let least = Size { height: least(1), width: least(2) };
        jpeg::decode_draft(args.tensor(0).as_text(), least, out)
    }))
}
