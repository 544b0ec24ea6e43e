//! `adjust_hue`: all hues, turned.

use super::adjust_colors::{adjusting, result};
use crate::{pixels::colour::Adjustment, prelude::*};

function! {
    /// Shifts all hues by `factor`, as a fraction of the colour circle.
    ///
    /// 0.5 and -0.5 give the complementary colours. The computation uses 8 bits each for hue, saturation and
    /// value, so even a factor of 0 may change a level by rounding. An image with one channel is unchanged.
    /// Bit-identical to torchvision's `adjust_hue` on Pillow images.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> adjust_hue(0.1) }    # { image: u8[4, 6, 3] }
    /// ```
    "adjust_hue(image: u8[h, w, c], factor: float) -> u8[h, w, c]",
    // Assumed: 0.4 ns a level.
    cost: Cost::out(200.0, 0.4),
    properties: &[Property::ByPixel, Property::Rounds],
    result: Some(result),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(adjusting(|args| vec![(Adjustment::Hue, args.float(1))]))
}
