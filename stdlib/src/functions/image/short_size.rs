//! `short_size`: what the sides of a picture become when its short side is given.

use crate::prelude::*;

function! {
    /// Returns the size of an image after its short side is resized to `size`.
    ///
    /// The result is height and width, for an image of this shape. Keeps the aspect ratio, and rounds the long
    /// side down. If the long side would be longer than `most`, it is `most`, and the short side is less than
    /// `size`. This is torchvision's `Resize(size, max_size=most)`; `resize_short` uses it.
    ///
    /// ```pipe
    /// range(2) |> map { sides: short_size(plasma(i, 40, 60).shape, 20) }    # { sides: i64[2] }
    /// ```
    "short_size(shape: i64[n], size: int, most: int = 65536) -> i64[2]",
    cost: Cost::call(10.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let shape = args.tensor(0);
        let sides = [0, 1].map(|it| side(&shape, it));
        out.tensor::<i64>(&[2])?.copy_from_slice(&fitted(sides, args.int(1), args.int(2)));
        Ok(())
    }))
}

/// The extent of an axis, and nothing of one that is not there.
pub(super) fn side(shape: &Tensor<'_>, axis: usize) -> i64 {
    if axis < shape.shape()[0] { shape.element(axis).int() } else { 0 }
}

fn fitted([height, width]: [i64; 2], size: i64, most: i64) -> [i64; 2] {
    let (short, long) = (height.min(width).max(1), height.max(width).max(1));
    let scaled = |side: i64, by: i64, of: i64| {
        i64::try_from(i128::from(side) * i128::from(by) / i128::from(of.max(1))).unwrap_or(i64::MAX)
    };
    let mut sides = (size, scaled(size, long, short));
    if sides.1 > most {
        sides = (scaled(most, sides.0, sides.1), most);
    }
    if height <= width { [sides.0, sides.1] } else { [sides.1, sides.0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_those_of_torchvision() {
        // torchvision 0.29.2, v2.functional.resize(image, [size], max_size=most).
        assert_eq!(fitted([300, 400], 256, 65_536), [256, 341]);
        assert_eq!(fitted([400, 300], 256, 65_536), [341, 256]);
        assert_eq!(fitted([375, 500], 256, 300), [225, 300]);
        assert_eq!(fitted([500, 333], 256, 320), [320, 213]);
        assert_eq!(fitted([480, 641], 800, 1333), [800, 1068]);
        assert_eq!(fitted([7, 1000], 3, 65_536), [3, 428]);
    }
}
