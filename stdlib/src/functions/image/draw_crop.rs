//! `draw_crop`: where a part of a picture begins.

use super::short_size::side;
use crate::prelude::*;

function! {
    /// Draws the top-left corner of a random crop: row and column.
    ///
    /// `shape` is that of the image. All positions at which the crop fits are equally likely (torchvision's
    /// `RandomCrop`). If it does not fit at all, both are 0, and `crop` fails. `random_crop` uses it.
    ///
    /// ```pipe
    /// range(2) |> map { place: draw_crop(plasma(i, 40, 60).shape, 32, 32) }    # { place: i64[2] }
    /// ```
    "draw_crop(shape: i64[n], height: int, width: int = height) random -> i64[2]",
    cost: Cost::call(30.0),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::draw(|random, args, out| {
        let shape = args.tensor(0);
        let place = out.tensor::<i64>(&[2])?;
        for (axis, to) in place.iter_mut().enumerate() {
            let left = side(&shape, axis).saturating_sub(args.int(1 + axis));
            *to = if left > 0 { random.below(left as u64 + 1) as i64 } else { 0 };
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::{Philox, Scratch};

    #[test]
    fn every_place_is_drawn_and_no_other() {
        let call = Call {
            args: &[],
            types: &[],
            result: &Type::scalar(DType::I64),
            sources: &[],
            outside: None,
        };
        let Ok(Kernel::Draw(draw)) = build(&call) else { panic!("it draws") };
        let (shape, size) = ([3_i64, 5, 3], [3_i64]);
        let (shape, height) = (Tensor::new(&[3], &shape), Tensor::new(&[], &size));
        let mut drawn = [0; 3];
        for id in 0..300 {
            let mut scratch = Scratch::new();
            let args = [shape, height, height];
            draw(&mut Philox::new(1, id, 0), &Args::of(&args), &mut Out::grow(&mut scratch))
                .expect("it cannot fail");
            let place = scratch.tensor();
            assert_eq!(place.element(0).int(), 0);
            drawn[place.element(1).int() as usize] += 1;
        }
        assert!(drawn.iter().all(|it| (70..130).contains(it)), "{drawn:?}");
    }
}
