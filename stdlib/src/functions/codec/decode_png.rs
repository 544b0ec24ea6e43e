//! `decode_png`: a PNG to pixels of 8 or 16 bits.

use super::{picture, png};
use crate::prelude::*;

const CHANNELS: &[usize] = &[1, 2, 3, 4];

function! {
    /// Decodes a PNG, to 8 or 16 bits per sample.
    ///
    /// `channels` is 1 for grayscale, 2 for grayscale and alpha, 3 for RGB, 4 for RGBA. Palettes, grayscale of
    /// 1, 2 and 4 bits, transparent colours (tRNS) and interlaced files are expanded; gamma and colour profiles
    /// are ignored. Alpha that is not requested is dropped without blending; colour is converted to grayscale
    /// as `(19595 R + 38470 G + 7471 B + 32768) >> 16` (ITU-R BT.601, as in Pillow). `depth: 8` keeps the upper
    /// 8 of 16 bits; `depth: 16` returns `u16`, where 8 bits `v` become `257 v`. For an animation, the first
    /// frame is returned.
    ///
    /// With `palette: index`, a file with a palette is decoded to the index of each pixel instead of its colour, as Pillow
    /// reads it (mode `P`), and 8-bit grayscale to its levels: the classes of segmentation maps as Pascal VOC and ADE20K
    /// have them. It needs `channels: 1`; any other file fails with `image-no-palette`.
    ///
    /// Fails as `decode_jpeg` does.
    ///
    /// ```pipe
    /// range(2) |> map { image: decode_png(plasma(i, 40, 60) |> encode_png, channels: 1, depth: 16) }    # { image: u16[?, ?, 1] }
    /// ```
    "decode_png(bytes: bytes, channels: int = 3, depth: int = 8, palette: show | index = show) fails -> any",
    // Assumed: inflating and unfiltering 240 MB of pixels a second (photographs, one core of a
    // Sapphire Rapids at 2.3 GHz).
    cost: Cost { ns_call: 5_000.0, ns_byte_in: 0.0, ns_byte_out: 4.2, bytes_out_per_in: 1.6 },
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let dtype = match applied.int(2) {
        Some(8) => DType::U8,
        Some(16) => DType::U16,
        Some(other) => return Err(format!("`depth` is 8 or 16, not {other}")),
        None => {
            return Err(
                "`depth` must be 8 or 16, known at compile time, since the type depends on it"
                    .into(),
            );
        }
    };
    if applied.args.get(PALETTE).is_some_and(is_index)
        && (applied.int(1) != Some(1) || dtype == DType::U16)
    {
        return Err("`palette: index` gives one channel of 8 bits: write `channels: 1`".into());
    }
    picture::picture_type(applied, dtype, CHANNELS)
}

/// The parameter that says what becomes of a palette.
const PALETTE: usize = 3;

fn is_index(arg: &Arg) -> bool {
    matches!(arg, Arg::Word(it) if it == "index")
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let is_wide = call.result.dtype() == Some(DType::U16);
    if call.args.get(PALETTE).is_some_and(is_index) {
        return Ok(Kernel::compute(|args, out| png::decode_index(args.tensor(0).as_text(), out)));
    }
    Ok(Kernel::compute(move |args, out| {
        let bytes = args.tensor(0).as_text();
        let channels = picture::channels(args, CHANNELS)?;
        match is_wide {
            true => png::decode_wide(bytes, channels, out),
            false => png::decode(bytes, picture::Wanted { channels, orient: false }, out),
        }
    }))
}
