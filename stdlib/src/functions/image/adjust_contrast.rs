//! `adjust_contrast`: how far levels lie from grey.

use super::adjust_colors::{adjusting, result};
use crate::{pixels::colour::Adjustment, prelude::*};

function! {
    /// Moves levels away from the mean gray level of the image, or towards it.
    ///
    /// 0 is uniform gray, 1 changes nothing. The mean is that of Pillow's `convert("L")`, rounded.
    /// Bit-identical to torchvision's `adjust_contrast` on Pillow images: levels are truncated to integers and
    /// clipped.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> adjust_contrast(1.5) }    # { image: u8[4, 6, 3] }
    /// ```
    "adjust_contrast(image: u8[h, w, c], factor: float) -> u8[h, w, c]",
    // Assumed: 0.1 ns a level.
    cost: Cost::out(200.0, 0.1),
    properties: &[Property::Gathers, Property::Rounds],
    result: Some(result),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(adjusting(|args| vec![(Adjustment::Contrast, args.float(1))]))
}
