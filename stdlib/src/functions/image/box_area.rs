//! `box_area`: how much of a picture a box covers.

use crate::prelude::*;

function! {
    /// Returns the fraction of an image that `box` covers, from 0 to 1.
    ///
    /// `box` is row, column, height and width, inside the image, as from `random_box`. Rows and columns are the
    /// last two axes of `like`.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> channels_first } |> map { covered: box_area(random_box(image.shape, 0.25), like: image) }    # { covered: f32 }
    /// ```
    "box_area(box: i64[4], like: any) -> f32",
    cost: Cost::call(20.0),
    result: Some(result),
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    super::box_mask::result(call).map(|_| Type::scalar(DType::F32))
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (frame, like) = (args.tensor(0), args.tensor(1));
        let covered = frame.element(2).number() * frame.element(3).number();
        let pixels: usize = like.shape().iter().rev().take(2).product();
        out.scalar((covered / pixels.max(1) as f64) as f32)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    #[test]
    fn a_share_of_the_last_two_axes() {
        let frame = Value::new(&[4], &[1_i64, 2, 2, 3]);
        let like = Value::new(&[2, 3, 4], &[0_u8; 24]);
        assert_eq!(run(&ENTRY, &[frame, like]), Ok((vec![], vec![0.5_f32])));
    }
}
