//! `median_blur`: each level becomes the median of those around it.

use super::extents::{odd, picture};
use crate::{
    pixels::{median, packed, with_room},
    prelude::*,
};
use std::cell::RefCell;

function! {
    /// Replaces each level by the median of the `size` x `size` pixels around it.
    ///
    /// It removes single wrong pixels and preserves edges. Beyond the border, the outermost pixels are repeated.
    /// Equal to OpenCV's `medianBlur`. Fails with `size` if `size` is even or not between 1 and 15.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> median_blur(3) }    # { image: u8[4, 6, 3] }
    /// ```
    "median_blur(image: u8[h, w, c], size: int) fails -> u8[h, w, c]",
    // Assumed: 2 ns a level, for 5 x 5 pixels.
    cost: Cost::out(500.0, 2.0),
    properties: &[Property::Gathers],
    result: Some(result),
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = picture(call)?;
    if let Some(size) = call.int(1) {
        checked(size).map_err(|it| it.detail.into_owned())?;
    }
    Ok(Type::Tensor { dtype, shape: shape.to_vec() })
}

fn checked(size: i64) -> Result<usize, Fault> {
    odd("`size`", size, median::SIZE_MAX as i64)
}

#[derive(Default)]
struct Room {
    /// Pictures whose pixels lie apart.
    copy: Vec<u8>,
    lines: Vec<u8>,
}

thread_local! {
    static ROOM: RefCell<Room> = RefCell::default();
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (image, size) = (args.tensor(0), checked(args.int(1))?);
        let to = out.tensor::<u8>(image.shape())?;
        with_room(&ROOM, image.bytes(), |room| {
            median::median(&packed(&image, &mut room.copy), size, &mut room.lines, to);
        });
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, noise, run};
    use super::*;

    fn slow(levels: &[u8], [height, width, channels]: [usize; 3], size: usize) -> Vec<u8> {
        let reach = (size / 2) as i64;
        let at = |y: i64, x: i64, c: usize| {
            let (y, x) = (y.clamp(0, height as i64 - 1), x.clamp(0, width as i64 - 1));
            levels[(y as usize * width + x as usize) * channels + c]
        };
        let median = |i: usize| {
            let (y, x, c) =
                ((i / channels / width) as i64, (i / channels % width) as i64, i % channels);
            let mut around: Vec<u8> = (-reach..=reach)
                .flat_map(|dy| (-reach..=reach).map(move |dx| (dy, dx)))
                .map(|(dy, dx)| at(y + dy, x + dx, c))
                .collect();
            around.sort_unstable();
            around[around.len() / 2]
        };
        (0..levels.len()).map(median).collect()
    }

    #[test]
    fn as_pixel_by_pixel() {
        for shape in [[1, 1, 3], [2, 3, 1], [9, 30, 3], [20, 7, 4], [3, 130, 1]] {
            let levels = noise(9, shape.iter().product());
            for size in [1, 3, 5, 7, 15] {
                let args = [Value::new(&shape, &levels), Value::from(size)];
                let found = run::<u8>(&ENTRY, &args).expect("it is a size").1;
                assert_eq!(found, slow(&levels, shape, size as usize), "{shape:?} {size}");
            }
        }
    }

    #[test]
    fn sizes_are_odd_and_small() {
        for size in [0_i64, 2, -3, 17] {
            let args = [Value::new(&[1, 1, 1], &[7_u8]), Value::from(size)];
            assert_eq!(run::<u8>(&ENTRY, &args).map_err(|it| it.code), Err("size"));
        }
    }
}
