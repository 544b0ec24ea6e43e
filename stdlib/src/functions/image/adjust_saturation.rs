//! `adjust_saturation`: how far colours lie from grey.

use super::adjust_colors::{adjusting, result};
use crate::{pixels::colour::Adjustment, prelude::*};

function! {
    /// Moves colours away from their own grey, or towards it.
    ///
    /// 0 is a grey picture, 1 changes nothing. The grey is that of Pillow's `convert("L")`; a
    /// picture with one channel stays as it is. It is to the bit what torchvision's
    /// `adjust_saturation` makes of a Pillow picture: levels are cut off to whole numbers and
    /// clipped.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> adjust_saturation(1.5) }    # { image: u8[4, 6, 3] }
    /// ```
    "adjust_saturation(image: u8[h, w, c], factor: float) -> u8[h, w, c]",
    // Assumed: 0.5 ns a level.
    cost: Cost::out(200.0, 0.5),
    properties: &[Property::ByPixel, Property::Rounds],
    result: Some(result),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(adjusting(|args, change| change(Adjustment::Saturation, args.float(1))))
}
