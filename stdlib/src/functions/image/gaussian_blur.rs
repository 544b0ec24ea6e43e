//! `gaussian_blur`: a picture out of focus.

use super::extents::{odd, picture};
use crate::{
    pixels::{blur, packed, with_room},
    prelude::*,
};
use std::cell::RefCell;

function! {
    /// Blurs an image with a Gaussian kernel.
    ///
    /// The kernel has `kernel_size` x `kernel_size` pixels. `sigma` is the standard deviation in pixels, by
    /// default `0.15 kernel_size + 0.35`. The border is mirrored. Results are those of torchvision's
    /// `gaussian_blur`, within 1 level for `u8` and within 1e-6 for `f32` images in 0..1: weights and sums are
    /// `f32`, columns come before rows, and `u8` levels are rounded at the end, half to even.
    ///
    /// Fails with `size` if the size is even or not between 1 and 1,023, or if `sigma` is not positive.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 40, 60) |> gaussian_blur(5, sigma: 1.2) }    # { image: u8[40, 60, 3] }
    /// ```
    "gaussian_blur(image: t[h, w, c], kernel_size: int, sigma: float = none) fails -> t[h, w, c]",
    // Assumed: 5 ns a level, for a kernel of 23 pixels.
    cost: Cost::out(1_000.0, 5.0),
    properties: &[Property::Gathers, Property::Weighs, Property::Rounds],
    result: Some(result),
}

/// The widest kernel.
const SIZE_MAX: i64 = 1023;

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = picture(call)?;
    if !matches!(dtype, DType::U8 | DType::F32) {
        return Err(format!("`gaussian_blur` supports `u8` and `f32`, not `{dtype}`: cast first"));
    }
    if let Some(size) = call.int(1) {
        kernel_size(size).map_err(|it| it.detail.into_owned())?;
    }
    Ok(Type::Tensor { dtype, shape: shape.to_vec() })
}

fn kernel_size(size: i64) -> Result<usize, Fault> {
    odd("the kernel size", size, SIZE_MAX)
}

#[derive(Default)]
struct Room {
    blur: blur::Room,
    levels: Vec<u8>,
    floats: Vec<f32>,
}

thread_local! {
    static ROOM: RefCell<Room> = RefCell::default();
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let usual = call.absent(2);
    let deep = call.dtype(0) == Some(DType::F32);
    Ok(Kernel::compute(move |args, out| {
        let (image, size) = (args.tensor(0), kernel_size(args.int(1))?);
        let sigma = if usual { 0.15 * size as f64 + 0.35 } else { args.float(2) };
        if sigma.is_nan() || sigma <= 0.0 {
            let detail = format!("the standard deviation must be greater than 0, found {sigma}");
            return Err(Fault::new("size", detail));
        }
        let bytes = image.elements() * size_of::<f32>() + image.bytes();
        // The result has its room before anything else is asked for.
        if deep {
            let to = out.tensor::<f32>(image.shape())?;
            let _working = Working::ahead_of(bytes);
            with_room(&ROOM, bytes, |room| {
                let picture = packed(&image, &mut room.floats);
                blur::blur(&picture, (size, sigma), &mut room.blur, to);
            });
        } else {
            let to = out.tensor::<u8>(image.shape())?;
            let _working = Working::ahead_of(bytes);
            with_room(&ROOM, bytes, |room| {
                let picture = packed(&image, &mut room.levels);
                blur::blur(&picture, (size, sigma), &mut room.blur, to);
            });
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;

    #[test]
    fn levels_are_those_of_torchvision() {
        // torchvision 0.29.2, v2.functional.gaussian_blur(image, [5, 5], [1.2, 1.2]).
        let levels: Vec<u8> = (0..20_usize).map(|i| ((i * i * 37 + i * 11) % 256) as u8).collect();
        let args = [Value::new(&[4, 5, 1], &levels), 5_i64.into(), 1.2.into()];
        let expected = vec![
            125, 127, 127, 129, 128, 137, 137, 136, 140, 141, 160, 158, 156, 167, 173, 170, 167,
            164, 178, 186,
        ];
        assert_eq!(run::<u8>(&ENTRY, &args), Ok((vec![4, 5, 1], expected)));
    }

    #[test]
    fn kernels_are_odd_and_deviations_positive() {
        for (size, sigma) in [(4, 1.0), (0, 1.0), (-3, 1.0), (1025, 1.0), (3, 0.0), (3, f64::NAN)] {
            let args = [Value::new(&[1, 1, 1], &[7_u8]), Value::from(size), sigma.into()];
            assert_eq!(run::<u8>(&ENTRY, &args).map_err(|it| it.code), Err("size"));
        }
        let args = [Value::new(&[1, 1, 1], &[7_u8]), 5_i64.into(), Value::Known(Arg::None)];
        assert_eq!(run(&ENTRY, &args), Ok((vec![1, 1, 1], vec![7_u8])));
    }
}
