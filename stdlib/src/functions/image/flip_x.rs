//! `flip_x`: mirrors a picture left to right.

use crate::prelude::*;

function! {
    /// Flips an image horizontally.
    ///
    /// Nothing is copied: only the order in which the image is read changes.
    ///
    /// ```pipe
    /// range(2) |> map { image: flip_x(plasma(i, 4, 6)) }    # { image: u8[4, 6, 3] }
    /// ```
    "flip_x(image: t[h, w, c]) -> t[h, w, c]",
    cost: Cost::call(5.0),
    properties: &[Property::Moves],
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::view(|args| Ok(args.tensor(0).flipped(1))))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    #[test]
    fn mirrors() {
        let image = Value::new(&[2, 2, 2], &[1_u8, 2, 3, 4, 5, 6, 7, 8]);
        let (shape, pixels) = run::<u8>(&ENTRY, &[image]).expect("it cannot fail");
        assert_eq!((shape, pixels), (vec![2, 2, 2], vec![3, 4, 1, 2, 7, 8, 5, 6]));
    }
}
