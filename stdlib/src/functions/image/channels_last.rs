//! `channels_last`: the channels become the innermost axis.

use crate::prelude::*;

function! {
    /// Moves the channels of an image to the last axis (CHW to HWC).
    ///
    /// Decoders return this order. Nothing is copied: only the order of the axes changes.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> channels_first |> channels_last }    # { image: u8[4, 6, 3] }
    /// ```
    "channels_last(image: t[c, h, w]) -> t[h, w, c]",
    cost: Cost::call(5.0),
    properties: &[Property::Moves],
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| Ok(args.tensor(0).permuted(&[1, 2, 0]))))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    #[test]
    fn moves_the_channels() {
        let image = Value::new(&[2, 1, 3], &[1_u8, 2, 3, 4, 5, 6]);
        let (shape, pixels) = run::<u8>(&ENTRY, &[image]).expect("it cannot fail");
        assert_eq!((shape, pixels), (vec![1, 3, 2], vec![1, 4, 2, 5, 3, 6]));
    }
}
