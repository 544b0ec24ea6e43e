//! `decode_jpeg_crop`: a part of a JPEG to pixels, without decoding the rest.

use super::{
    jpeg::{self, Part},
    picture::Size,
};
use crate::prelude::*;

function! {
    /// Decodes only a part of a JPEG, to RGB.
    ///
    /// The part begins at row `y` and column `x`. The result is bit-identical to
    /// `decode_jpeg(bytes) |> crop(y, x, height, width)`, but faster: rows below the part are not read, and no
    /// pixels are computed for the rows above it and the columns beside it. This is so for baseline files with a
    /// single scan (most are) and for progressive ones; others are decoded completely.
    ///
    /// Fails with `crop-outside` if the part does not fit into the image, and otherwise as `decode_jpeg` does,
    /// except that damage below the part is not detected.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 40, 60) |> encode_jpeg |> decode_jpeg_crop(8, 16, height: 20, width: 24) }    # { image: u8[20, 24, 3] }
    /// ```
    "decode_jpeg_crop(bytes: bytes, y: int, x: int, height: int, width: int) fails -> u8[height, width, 3]",
    // Assumed: as `decode_jpeg`, of which 84 in 100 rows are read (random_resized_crop).
    cost: Cost { ns_call: 10_000.0, ns_byte_in: 2.9, ns_byte_out: 0.1, bytes_out_per_in: 2.3 },
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::indexed(|args, index, out| {
        let part = |whole| part(whole, [1, 2, 3, 4].map(|it| args.int(it)));
        jpeg::decode_part((args.tensor(0).as_text(), index), part, out)
    }))
}

/// The part, where it lies within a picture of `whole` pixels.
fn part(whole: Size, [y, x, height, width]: [i64; 4]) -> Result<Part, Fault> {
    let fits = |start: i64, len: i64, whole: usize| {
        start >= 0 && len > 0 && start.saturating_add(len) <= whole as i64
    };
    if !fits(y, height, whole.height) || !fits(x, width, whole.width) {
        let part = format!("the crop of {height} x {width} pixels at row {y}, column {x}");
        let detail = format!("{part} lies outside the image of {whole}");
        return Err(Fault::new("crop-outside", detail));
    }
    let [y, x, height, width] = [y, x, height, width].map(|it| it as usize);
    Ok(Part { y, x, size: Size { height, width } })
}
