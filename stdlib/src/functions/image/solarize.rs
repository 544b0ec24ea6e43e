//! `solarize`: bright levels as on an overexposed film.

use super::posterize::looked_up;
use crate::prelude::*;

function! {
    /// Inverts the levels that are at least `above`.
    ///
    /// 0 inverts the whole image, 256 changes nothing. Bit-identical to torchvision's `solarize` on Pillow
    /// images, where the argument is called `threshold`.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> solarize(128) }    # { image: u8[4, 6, 3] }
    /// ```
    "solarize(image: u8[h, w, c], above: float) -> u8[h, w, c]",
    // Assumed: 0.05 ns a level.
    cost: Cost::out(200.0, 0.05),
    properties: &[Property::Pointwise],
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(looked_up(|args| {
        let above = args.float(1);
        Ok(move |level| solarized(level, above))
    }))
}

/// What becomes of a level.
pub(super) fn solarized(level: u8, above: f64) -> u8 {
    if f64::from(level) < above { level } else { 255 - level }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    #[test]
    fn bright_levels_are_inverted() {
        let image = || Value::new(&[1, 4, 1], &[0_u8, 99, 100, 255]);
        for (above, expected) in [
            (0.0, [255_u8, 156, 155, 0]),
            (100.0, [0, 99, 155, 0]),
            (99.5, [0, 99, 155, 0]),
            (256.0, [0, 99, 100, 255]),
        ] {
            let found = run::<u8>(&ENTRY, &[image(), above.into()]).expect("it cannot fail");
            assert_eq!(found.1, expected, "{above}");
        }
    }
}
