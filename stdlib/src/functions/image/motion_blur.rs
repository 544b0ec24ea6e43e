//! `motion_blur`: a picture that moved while it was taken.

use super::extents::{odd, picture};
use crate::{
    pixels::{line, packed, with_room},
    prelude::*,
};
use std::cell::RefCell;

function! {
    /// Blurs an image along a line, as if the camera had moved.
    ///
    /// Each pixel becomes the mean of `size` points around it, a pixel apart, in a direction of `degrees` counterclockwise;
    /// 0 is horizontal. A point between pixels is interpolated linearly. The border is mirrored. Equal to OpenCV's `filter2D`
    /// with that kernel, within 1 level. `motion_blur(image, 7, degrees: uniform(0.0, 180.0))` is a random direction.
    /// Fails with `size` if `size` is even or not between 1 and 101.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 40, 60) |> motion_blur(7, degrees: 45.0) }    # { image: u8[40, 60, 3] }
    /// ```
    "motion_blur(image: u8[h, w, c], size: int, degrees: float = 0.0) fails -> u8[h, w, c]",
    // Assumed: 3 ns a level, for 7 points.
    cost: Cost::out(2_000.0, 3.0),
    properties: &[Property::Gathers, Property::Weighs, Property::Rounds],
    result: Some(result),
}

/// The longest line.
const SIZE_MAX: i64 = 101;

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = picture(call)?;
    if let Some(size) = call.int(1) {
        checked(size).map_err(|it| it.detail.into_owned())?;
    }
    Ok(Type::Tensor { dtype, shape: shape.to_vec() })
}

fn checked(size: i64) -> Result<usize, Fault> {
    odd("`size`", size, SIZE_MAX)
}

#[derive(Default)]
struct Room {
    /// Pictures whose pixels lie apart.
    copy: Vec<u8>,
    line: line::Room,
}

thread_local! {
    static ROOM: RefCell<Room> = RefCell::default();
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (image, size, degrees) = (args.tensor(0), checked(args.int(1))?, args.float(2));
        if !degrees.is_finite() {
            return Err(Fault::new("size", format!("`degrees` must be finite, found {degrees}")));
        }
        let to = out.tensor::<u8>(image.shape())?;
        with_room(&ROOM, image.bytes(), |room| {
            let radians = degrees.to_radians();
            let taps = line::taps(size, [-libm::sin(radians), libm::cos(radians)]);
            line::blur(&packed(&image, &mut room.copy), &taps, &mut room.line, to);
        });
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, noise, run};
    use super::*;

    fn blurred(shape: &[usize], levels: &[u8], size: i64, degrees: f64) -> Vec<u8> {
        let args = [Value::new(shape, levels), Value::from(size), Value::from(degrees)];
        run::<u8>(&ENTRY, &args).expect("it is a size").1
    }

    /// The means of points, each interpolated by itself.
    fn slow([height, width]: [usize; 2], levels: &[u8], size: i64, degrees: f64) -> Vec<f64> {
        let mirrored = |at: i64, len: usize| {
            let mut at = at;
            while !(0..len as i64).contains(&at) {
                at = if at < 0 { -at } else { 2 * (len as i64 - 1) - at };
                if len == 1 {
                    return 0;
                }
            }
            at as usize
        };
        let level =
            |y: i64, x: i64| f64::from(levels[mirrored(y, height) * width + mirrored(x, width)]);
        let (sin, cos) = degrees.to_radians().sin_cos();
        let mean = |i: usize| {
            let all = (-(size / 2)..=size / 2).map(|point| {
                let y = (i / width) as f64 - sin * point as f64;
                let x = (i % width) as f64 + cos * point as f64;
                let (top, left) = (y.floor() as i64, x.floor() as i64);
                let (down, right) = (y - y.floor(), x - x.floor());
                let row = |y: i64| level(y, left) * (1.0 - right) + level(y, left + 1) * right;
                row(top) * (1.0 - down) + row(top + 1) * down
            });
            all.sum::<f64>() / size as f64
        };
        (0..levels.len()).map(mean).collect()
    }

    #[test]
    fn as_point_by_point() {
        for [height, width] in [[1, 1], [2, 3], [9, 30], [40, 17]] {
            let levels = noise(9, height * width);
            for (size, degrees) in
                [(1, 30.0), (3, 0.0), (5, 90.0), (7, 45.0), (15, 200.5), (9, -17.0)]
            {
                let found = blurred(&[height, width, 1], &levels, size, degrees);
                for (found, expected) in
                    found.iter().zip(slow([height, width], &levels, size, degrees))
                {
                    let off = (f64::from(*found) - expected).abs();
                    assert!(
                        off < 0.501,
                        "{height} x {width}, {size}, {degrees}: {found} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn sizes_are_odd_and_bounded() {
        for (size, degrees) in [(0, 0.0), (2, 0.0), (-3, 0.0), (103, 0.0), (3, f64::NAN)] {
            let args =
                [Value::new(&[1, 1, 1], &[7_u8]), Value::from(size as i64), Value::from(degrees)];
            assert_eq!(run::<u8>(&ENTRY, &args).map_err(|it| it.code), Err("size"));
        }
    }
}
