//! `decode_jpeg_draft`: a JPEG to fewer pixels than it has, where fewer are wanted.

use super::{jpeg, picture::Size};
use crate::prelude::*;

function! {
    /// Decodes a JPEG to RGB, a half, a quarter or an eighth as high and wide where both sides are
    /// still at least `height` and `width` then.
    ///
    /// Of each block of 8 x 8 coefficients fewer pixels are made, as libjpeg-turbo does with its
    /// `scale_denom`, to the bit; it is what Pillow's `Image.draft` chooses. What is resized from it
    /// differs a little from what is resized from all pixels, and takes less time. Only files of
    /// one scan are made smaller (most are); others are decoded whole.
    ///
    /// Faults are those of `decode_jpeg`.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 80, 120) |> encode_jpeg |> decode_jpeg_draft(20, 30) |> resize(20, 30) }    # { image: u8[20, 30, 3] }
    /// ```
    "decode_jpeg_draft(bytes: bytes, height: int, width: int = height) fails -> u8[h, w, 3]",
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
