//! `adjust_hue`: all hues, turned.

use super::adjust_colors::{adjusting, result};
use crate::{pixels::colour::Adjustment, prelude::*};

function! {
    /// Turns all hues by `factor` of the circle of colours.
    ///
    /// Half a circle, 0.5 or -0.5, gives the complementary colours. It is done on hue, saturation
    /// and value of 8 bits each, so that even 0 may change a level by rounding; a picture with one
    /// channel stays as it is. It is to the bit what torchvision's `adjust_hue` makes of a Pillow
    /// picture.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> adjust_hue(0.1) }    # { image: u8[4, 6, 3] }
    /// ```
    "adjust_hue(image: u8[h, w, c], factor: float) -> u8[h, w, c]",
    // Assumed: 3 ns a level.
    cost: Cost::out(200.0, 3.0),
    properties: &[Property::ByPixel, Property::Rounds],
    result: Some(result),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(adjusting(|args, change| change(Adjustment::Hue, args.float(1))))
}
