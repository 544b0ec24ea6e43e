//! `box_mask`: which pixels lie within a box.

use crate::prelude::*;

function! {
    /// Returns a mask that is true for the pixels inside `box`.
    ///
    /// `box` is row, column, height and width, as from `random_box`. Rows and columns are the last two axes of
    /// `like`. Parts of the box outside the image are ignored.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> channels_first } |> map { inside: box_mask(random_box(image.shape, 0.25), like: image) }    # { inside: bool[4, 6] }
    /// ```
    "box_mask(box: i64[4], like: any) -> any",
    cost: Cost::out(20.0, 0.1),
    result: Some(result),
}

/// The mask's type.
pub(super) fn result(call: &Applied<'_>) -> Result<Type, String> {
    let like = call.ty(1).ok_or("`like` must be an image or a batch of images")?;
    match like.shape() {
        Some([.., height, width]) => {
            Ok(Type::Tensor { dtype: DType::Bool, shape: vec![height.clone(), width.clone()] })
        }
        _ => Err(format!("`like` must be an image or a batch of images, found `{like}`")),
    }
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (frame, like) = (args.tensor(0), args.tensor(1));
        let [y, x, height, width] = [0, 1, 2, 3].map(|it| frame.element(it).int());
        let axes = like.shape();
        let [rows, columns] = [axes[axes.len() - 2], axes[axes.len() - 1]];
        let inside = |start: i64, len: i64, at: usize| {
            let from = at as i64 - start;
            (0..len).contains(&from)
        };
        let mask = out.tensor::<bool>(&[rows, columns])?;
        for (row, to) in mask.chunks_exact_mut(columns.max(1)).enumerate() {
            let row = inside(y, height, row);
            to.iter_mut().enumerate().for_each(|(at, to)| *to = row && inside(x, width, at));
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    #[test]
    fn what_is_inside_is_true() {
        let frame = Value::new(&[4], &[1_i64, 2, 5, 2]);
        let like = Value::new(&[1, 3, 5], &[0_u8; 15]);
        let (shape, mask) = run::<bool>(&ENTRY, &[frame, like]).expect("it cannot fail");
        assert_eq!(shape, [3, 5]);
        let inside: Vec<usize> = (0..15).filter(|it| mask[*it]).collect();
        assert_eq!(inside, [7, 8, 12, 13]);
    }
}
