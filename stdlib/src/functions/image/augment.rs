//! `augment`: the operations that automatic augmentations draw.

use super::{
    autocontrast::stretch, equalize::flatten, extents::picture, fill, policies::Operation,
    posterize::mask, solarize::solarized, warp::method,
};
use crate::{
    pixels::{
        Picture, colour, sharpen, table,
        warp::{self, Job, Map, Method, Warped},
        with_room,
    },
    prelude::*,
};
use colour::Adjustment;
use std::cell::RefCell;

function! {
    /// Applies operations of automatic augmentations, one after the other.
    ///
    /// Each row of `steps` is an operation and its magnitude, as `draw_rand_augment`, `draw_trivial_augment` and
    /// `draw_auto_augment` return them:
    ///
    /// | | operation | magnitude |
    /// |---|---|---|
    /// | 0 | none | |
    /// | 1, 2 | `shear_x`, `shear_y` | the tangent of the angle |
    /// | 3, 4 | `translate_x`, `translate_y` | pixels, truncated |
    /// | 5 | `rotate` | degrees |
    /// | 6, 7, 8, 9 | `adjust_brightness`, `adjust_saturation`, `adjust_contrast`, `adjust_sharpness` | the factor, less 1 |
    /// | 10 | `posterize` | bits, truncated |
    /// | 11 | `solarize` | the level from which on it inverts |
    /// | 12, 13, 14 | `autocontrast`, `equalize`, `invert` | |
    ///
    /// Other numbers do nothing. Only the operations of `steps` are computed. `method` and `fill` are those of
    /// `rotate`. Bit-identical to torchvision on Pillow images with `nearest`, within 1 level otherwise. Fails with
    /// `size` if `posterize` has fewer than 0 or more than 8 bits, or with `image-empty` if an image without pixels
    /// is moved.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 40, 60) |> augment([[5.0, 30.0], [12.0, 0.0]]) }    # { image: u8[40, 60, 3] }
    /// ```
    "augment(image: u8[h, w, c], steps: f64[n, 2], method: nearest | bilinear | bicubic = nearest, fill: floats = 0) fails -> u8[h, w, c]",
    // Assumed: two operations of 0.3 ns a level.
    cost: Cost::out(1_000.0, 0.6),
    properties: &[Property::Gathers, Property::Rounds],
    result: Some(result),
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let channels = picture(call)?.1[2].clone();
    fill::fits(call, 3, &channels)?;
    super::autocontrast::result(call)
}

thread_local! {
    /// What a picture was before an operation.
    static ROOM: RefCell<Vec<u8>> = RefCell::default();
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let (method, fill) = (method(call.word(2)), fill::levels(call, 3)?);
    Ok(Kernel::compute(move |args, out| {
        let (image, steps) = (args.tensor(0), args.tensor(1));
        let shape = [0, 1, 2].map(|it| image.shape()[it]);
        let fill = fill::pixel(DType::U8, &fill, shape[2]);
        let levels = out.tensor::<u8>(&shape)?;
        image.copy_to(levels);
        with_room(&ROOM, image.bytes(), |room| {
            for i in 0..steps.shape()[0] {
                let [number, magnitude] = [0, 1].map(|it| steps.element(i).element(it).number());
                // A number that is none has no operation.
                let known = (0.0..15.0).contains(&number).then(|| Operation::ALL[number as usize]);
                let step = Step { operation: known.unwrap_or(Operation::Identity), magnitude };
                step.apply(levels, shape, (method, &fill), room)?;
            }
            Ok(())
        })
    }))
}

struct Step {
    operation: Operation,
    magnitude: f64,
}

impl Step {
    fn apply(
        &self,
        levels: &mut [u8],
        shape: [usize; 3],
        (method, fill): (Method, &[u8]),
        room: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let factor = 1.0 + self.magnitude;
        let adjust = |levels: &mut [u8], what| colour::adjust(levels, shape[2], &[(what, factor)]);
        match self.operation {
            Operation::Identity => {}
            Operation::Brightness => adjust(levels, Adjustment::Brightness),
            Operation::Saturation => adjust(levels, Adjustment::Saturation),
            Operation::Contrast => adjust(levels, Adjustment::Contrast),
            Operation::Posterize => {
                let mask = mask(self.magnitude as i64)?;
                table::change(levels, &table::table(|it| it & mask));
            }
            Operation::Solarize => {
                table::change(levels, &table::table(|it| solarized(it, self.magnitude)));
            }
            Operation::Invert => table::change(levels, &table::table(|it| 255 - it)),
            Operation::Autocontrast => through(levels, shape, room, stretch),
            Operation::Equalize => through(levels, shape, room, flatten),
            Operation::Sharpness => {
                through(levels, shape, room, |image, to| sharpen::sharpen(image, factor, to));
            }
            Operation::ShearX
            | Operation::ShearY
            | Operation::TranslateX
            | Operation::TranslateY
            | Operation::Rotate => {
                if levels.is_empty() {
                    let detail = "an image without pixels cannot be warped";
                    return Err(Fault::new("image-empty", detail));
                }
                let map = Map::Affine(self.matrix([shape[0], shape[1]]));
                through(levels, shape, room, |image, to| {
                    let job = Job { image, map, method, fill, width: shape[1] };
                    match method {
                        Method::Nearest => warp::nearest(&job, to),
                        _ => u8::draw(&job, to),
                    }
                });
            }
        }
        Ok(())
    }

    /// Where each pixel of the result is looked up, as for `warp`.
    fn matrix(&self, [height, width]: [usize; 2]) -> [f64; 6] {
        let by = self.magnitude;
        match self.operation {
            Operation::ShearX => [1.0, by, 0.0, 0.0, 1.0, 0.0],
            Operation::ShearY => [1.0, 0.0, 0.0, by, 1.0, 0.0],
            Operation::TranslateX => [1.0, 0.0, -by.trunc(), 0.0, 1.0, 0.0],
            Operation::TranslateY => [1.0, 0.0, 0.0, 0.0, 1.0, -by.trunc()],
            _ => {
                // As Pillow's `Image.rotate`: rounded to 15 digits, so that a right angle moves pixels to pixels.
                let angle = -by.rem_euclid(360.0).to_radians();
                let rounded = |it: f64| (it * 1e15).round_ties_even() / 1e15;
                let (cos, sin) = (rounded(libm::cos(angle)), rounded(libm::sin(angle)));
                let (x, y) = (width as f64 / 2.0, height as f64 / 2.0);
                let (right, down) = (cos * -x + sin * -y + x, -sin * -x + cos * -y + y);
                [cos, sin, right, -sin, cos, down]
            }
        }
    }
}

/// Changes a picture by a function that needs it beside the result.
fn through(
    levels: &mut [u8],
    shape: [usize; 3],
    room: &mut Vec<u8>,
    change: impl FnOnce(&Picture<'_, u8>, &mut [u8]),
) {
    room.clear();
    room.extend_from_slice(levels);
    let before = Tensor::new(&shape, &room[..]);
    let image = Picture::of(&before).expect("a copy has its pixels side by side");
    change(&image, levels);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run};
    use super::*;
    use xxhash_rust::xxh3::xxh3_64;

    fn augmented(
        shape: [usize; 3],
        levels: &[u8],
        steps: &[f64],
        method: &str,
    ) -> Result<Vec<u8>, &'static str> {
        let steps = Value::new(&[steps.len() / 2, 2], steps);
        let fill = Value::Known(Arg::Int(0));
        let args = [Value::new(&shape, levels), steps, Value::word(method), fill];
        run::<u8>(&ENTRY, &args).map(|it| it.1).map_err(|it| it.code)
    }

    /// As `image` in `goldens/make_augment.py`.
    fn levels(n: usize) -> Vec<u8> {
        (0..n as u64).map(|it| (it.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect()
    }

    #[test]
    fn levels_are_those_of_torchvision() {
        for line in include_str!("goldens/augment.tsv").lines().filter(|it| !it.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let steps: Vec<f64> =
                fields[0].split(' ').map(|it| it.parse().expect("a number")).collect();
            let shape: Vec<usize> =
                fields[2].split(' ').map(|it| it.parse().expect("a number")).collect();
            let shape = [shape[0], shape[1], shape[2]];
            let levels = levels(shape.iter().product());
            let found = augmented(shape, &levels, &steps, fields[1]).expect("it has pixels");
            assert_eq!(format!("{:016x}", xxh3_64(&found)), fields[3], "{line}");
        }
    }

    #[test]
    fn what_is_no_operation_does_nothing() {
        let levels = levels(4 * 5 * 3);
        for number in [0.0, 15.0, -1.0, 1e300, f64::NAN] {
            let found = augmented([4, 5, 3], &levels, &[number, 7.0], "nearest");
            assert_eq!(found.as_ref(), Ok(&levels), "{number}");
        }
        assert_eq!(augmented([4, 5, 3], &levels, &[10.0, 9.0], "nearest"), Err("size"));
        assert_eq!(augmented([0, 5, 3], &[], &[5.0, 9.0], "nearest"), Err("image-empty"));
        assert_eq!(augmented([0, 5, 3], &[], &[13.0, 0.0, 9.0, 0.4], "nearest"), Ok(vec![]));
        for magnitude in [f64::NAN, f64::INFINITY, -1e300] {
            for operation in 1..15 {
                let steps = [f64::from(operation), magnitude];
                let _ = augmented([4, 5, 3], &levels, &steps, "bilinear");
            }
        }
    }
}
