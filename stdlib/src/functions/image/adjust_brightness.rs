//! `adjust_brightness`: how light a picture is.

use super::adjust_colors::{adjusting, result};
use crate::{pixels::colour::Adjustment, prelude::*};

function! {
    /// Makes an image lighter or darker by multiplying each level by `factor`.
    ///
    /// 0 is black, 1 changes nothing. Bit-identical to torchvision's `adjust_brightness` on Pillow images:
    /// levels are truncated to integers and clipped.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> adjust_brightness(1.5) }    # { image: u8[4, 6, 3] }
    /// ```
    "adjust_brightness(image: u8[h, w, c], factor: float) -> u8[h, w, c]",
    // Assumed: 0.05 ns a level.
    cost: Cost::out(200.0, 0.05),
    properties: &[Property::ByPixel, Property::Rounds],
    result: Some(result),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(adjusting(|args| vec![(Adjustment::Brightness, args.float(1))]))
}
