//! `adjust_saturation`: how far colours lie from grey.

use super::adjust_colors::{adjusting, result};
use crate::{pixels::colour::Adjustment, prelude::*};

function! {
    /// Moves colours away from their gray level, or towards it.
    ///
    /// 0 is a grayscale image, 1 changes nothing. The gray level is that of Pillow's `convert("L")`; an image
    /// with one channel is unchanged. Bit-identical to torchvision's `adjust_saturation` on Pillow images:
    /// levels are truncated to integers and clipped.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> adjust_saturation(1.5) }    # { image: u8[4, 6, 3] }
    /// ```
    "adjust_saturation(image: u8[h, w, c], factor: float) -> u8[h, w, c]",
    // Assumed: 0.2 ns a level.
    cost: Cost::out(200.0, 0.2),
    properties: &[Property::ByPixel, Property::Rounds],
    result: Some(result),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(adjusting(|args| vec![(Adjustment::Saturation, args.float(1))]))
}
