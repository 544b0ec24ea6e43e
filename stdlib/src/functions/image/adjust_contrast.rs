//! `adjust_contrast`: how far levels lie from grey.

use super::adjust_colors::{adjusting, result};
use crate::{pixels::colour::Adjustment, prelude::*};

function! {
    /// Moves levels away from the mean grey of the picture, or towards it.
    ///
    /// 0 is grey all over, 1 changes nothing. The mean is that of Pillow's `convert("L")`, rounded.
    /// It is to the bit what torchvision's `adjust_contrast` makes of a Pillow picture: levels are
    /// cut off to whole numbers and clipped.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> adjust_contrast(1.5) }    # { image: u8[4, 6, 3] }
    /// ```
    "adjust_contrast(image: u8[h, w, c], factor: float) -> u8[h, w, c]",
    // Assumed: 0.4 ns a level.
    cost: Cost::out(200.0, 0.4),
    properties: &[Property::Gathers, Property::Rounds],
    result: Some(result),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(adjusting(|args, change| change(Adjustment::Contrast, args.float(1))))
}
