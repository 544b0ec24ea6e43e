//! `invert`: the negative of a picture.

use super::posterize::looked_up;
use crate::prelude::*;

function! {
    /// Inverts an image: each level `x` becomes `255 - x`.
    ///
    /// Bit-identical to torchvision's `invert` on Pillow images.
    ///
    /// ```pipe
    /// range(2) |> map { image: invert(plasma(i, 4, 6)) }    # { image: u8[4, 6, 3] }
    /// ```
    "invert(image: u8[h, w, c]) -> u8[h, w, c]",
    // Assumed: 0.05 ns a level.
    cost: Cost::out(200.0, 0.05),
    properties: &[Property::Pointwise],
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(looked_up(|_| Ok(|level: u8| 255 - level)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    #[test]
    fn black_is_white() {
        let image = Value::new(&[1, 3, 1], &[0_u8, 100, 255]);
        assert_eq!(run(&ENTRY, &[image]), Ok((vec![1, 3, 1], vec![255_u8, 155, 0])));
    }
}
