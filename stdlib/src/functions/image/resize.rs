//! `resize`: a picture in other dimensions.

use super::{
    SIDE_MAX,
    extents::{picture, side},
};
use crate::{
    pixels::resample::{Like, Method, Recipe},
    prelude::*,
};
use plan::Resampled;

function! {
    /// Resizes an image to `height` x `width` pixels.
    ///
    /// `method` is `nearest`, `bilinear`, `bicubic` or `area`. Downscaling is antialiased, so all pixels count,
    /// unless `antialias: false` is given. `like` selects the library whose results are reproduced:
    ///
    /// - `pillow`: for `u8` images, `bilinear`, `bicubic` and `area` are bit-identical to Pillow's
    ///   `Image.resize` with `BILINEAR`, `BICUBIC` and `BOX`: two passes, columns first, with weights of 22
    ///   bits, rounded to 8 bits in between. (Pillow 13 processes rows first if that is cheaper; then the
    ///   result is within 1 level.) torchvision's tensors are within 2 levels, also with `antialias: false` and
    ///   torchvision's `antialias=False`, whose cubic kernel differs.
    /// - `opencv`: within 1 level of `cv2.resize` with `INTER_NEAREST`, `INTER_LINEAR`, `INTER_CUBIC` and
    ///   `INTER_AREA`. OpenCV has no antialiasing, so `antialias` has no effect; for downscaling, it recommends
    ///   `area`.
    /// - `tf`: within 1 level of `tf.image.resize`, rounded, with the same `antialias`. TensorFlow's own
    ///   default is `antialias=False`.
    ///
    /// `u16` and `f32` images are computed in `f64`, and `f32` is not clipped. `nearest` supports any dtype, so
    /// masks too; `nearest` and `area` do not depend on `antialias`.
    ///
    /// Fails with `size` if a side is not between 1 and 65,536, or with `image-empty` if the image has no
    /// pixels.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 40, 60) |> resize(20, 30) }    # { image: u8[20, 30, 3] }
    /// ```
    "resize(image: t[h, w, c], height: int, width: int = height, method: nearest | bilinear | bicubic | area = bilinear, antialias: bool = true, like: pillow | opencv | tf = pillow) fails -> t[height, width, c]",
    // Assumed: 10 us for tables, 0.25 ns a byte read, 0.2 ns a byte written.
    cost: Cost { ns_byte_in: 0.25, ..Cost::out(10_000.0, 0.2) },
    properties: &[
        Property::Gathers,
        Property::Weighs,
        Property::Rounds,
        Property::Resamples(&PART),
    ],
    result: Some(result),
}

/// No more pixels are made than are used, of no more pixels than they need.
static PART: Resampled = Resampled {
    part: "crop",
    asked: "extent",
    taken: "take_at",
    span: "resize_span",
    into: "resize_within",
};

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, [_, _, channels]) = picture(call)?;
    takes(call, 3, dtype)?;
    Ok(Type::Tensor { dtype, shape: vec![side(call, 1)?, side(call, 2)?, channels] })
}

/// Checks that the method, which is parameter `how`, takes such pictures.
pub(super) fn takes(call: &Applied<'_>, how: usize, dtype: DType) -> Result<(), String> {
    let nearest = matches!(&call.args[how], Arg::Word(it) if it == "nearest");
    if !nearest && !matches!(dtype, DType::U8 | DType::U16 | DType::F32) {
        return Err(format!(
            "`resize` interpolates `u8`, `u16` and `f32`, not `{dtype}`: cast first, or use \
             `method: nearest`"
        ));
    }
    Ok(())
}

/// How it is done, as the parameters from `how` on say.
pub(super) fn recipe(call: &Call<'_>, how: usize) -> Recipe {
    Recipe {
        method: match call.word(how) {
            "nearest" => Method::Nearest,
            "bilinear" => Method::Bilinear,
            "bicubic" => Method::Bicubic,
            _ => Method::Area,
        },
        antialias: call.bool(how + 1),
        like: match call.word(how + 2) {
            "pillow" => Like::Pillow,
            "opencv" => Like::OpenCv,
            _ => Like::TensorFlow,
        },
    }
}

/// The picture, which has pixels.
pub(super) fn with_pixels<'a>(args: &Args<'a>) -> Result<Tensor<'a>, Fault> {
    let image = args.tensor(0);
    if image.shape()[..2].contains(&0) {
        return Err(Fault::new("image-empty", "an image without pixels cannot be resized"));
    }
    Ok(image)
}

/// The longest side of a picture of which only a part is there: tables grow with it.
const WHOLE_MAX: usize = 1 << 22;

/// Argument `i`, an extent of a picture that has pixels.
pub(super) fn extent(args: &Args<'_>, i: usize) -> Result<usize, Fault> {
    if args.int(i) < 1 {
        return Err(Fault::new("image-empty", "an image without pixels cannot be resized"));
    }
    args.size(i, WHOLE_MAX)
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let recipe = recipe(call, 3);
    Ok(Kernel::compute(move |args, out| {
        let to = [args.size(1, SIDE_MAX)?, args.size(2, SIDE_MAX)?];
        recipe.resize(&with_pixels(args)?, to, out)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, noise, plasma, run, run_on, typed};
    use super::*;
    use runtime::Element;

    /// Convention, method, antialiasing, dimensions before and after, levels.
    type Golden = (&'static str, &'static str, bool, [usize; 2], [usize; 2], &'static [u8]);

    /// Pillow 12.0.0, `Image.resize`. (From 13 on it does the rows first where it finds that cheaper.)
    #[rustfmt::skip]
    const PILLOW: &[Golden] = &[
        ("pillow", "nearest", true, [6, 5], [3, 4], &[212, 118, 152, 24, 42, 176, 154, 254, 104, 210, 132, 204]),
        ("pillow", "bilinear", true, [6, 5], [3, 4], &[119, 115, 139, 110, 160, 163, 158, 194, 140, 181, 147, 148]),
        ("pillow", "bicubic", true, [6, 5], [3, 4], &[116, 107, 142, 99, 166, 165, 158, 209, 134, 188, 143, 141]),
        ("pillow", "area", true, [6, 5], [3, 4], &[106, 109, 131, 74, 134, 159, 203, 246, 138, 185, 123, 138]),
        ("pillow", "nearest", true, [4, 3], [6, 7], &[0, 0, 48, 48, 48, 170, 170, 110, 110, 124, 124, 124, 212, 212, 110, 110, 124, 124, 124, 212, 212, 118, 118, 98, 98, 98, 152, 152, 118, 118, 98, 98, 98, 152, 152, 24, 24, 226, 226, 226, 246, 246]),
        ("pillow", "bilinear", true, [4, 3], [6, 7], &[0, 7, 27, 48, 100, 153, 170, 55, 60, 73, 86, 131, 176, 191, 111, 113, 116, 120, 155, 190, 202, 117, 114, 109, 102, 128, 153, 162, 71, 84, 123, 162, 178, 194, 199, 24, 53, 139, 226, 235, 243, 246]),
        ("pillow", "bicubic", true, [4, 3], [6, 7], &[0, 0, 13, 43, 101, 156, 180, 51, 54, 63, 85, 135, 184, 204, 118, 119, 116, 124, 161, 199, 214, 127, 121, 103, 95, 119, 149, 160, 60, 78, 120, 164, 185, 196, 201, 0, 38, 138, 234, 255, 253, 254]),
        ("pillow", "area", true, [4, 3], [6, 7], &[0, 0, 48, 48, 48, 170, 170, 110, 110, 124, 124, 124, 212, 212, 110, 110, 124, 124, 124, 212, 212, 118, 118, 98, 98, 98, 152, 152, 24, 24, 226, 226, 226, 246, 246, 24, 24, 226, 226, 226, 246, 246]),
    ];

    /// torchvision 0.29.2, `v2.functional.resize` of a tensor with `antialias=False`.
    #[rustfmt::skip]
    const TORCHVISION: &[Golden] = &[
        ("pillow", "bilinear", false, [6, 5], [3, 4], &[103, 103, 133, 81, 144, 172, 167, 241, 144, 186, 146, 136]),
        ("pillow", "bicubic", false, [6, 5], [3, 4], &[100, 91, 138, 61, 135, 181, 156, 255, 154, 197, 146, 120]),
        ("pillow", "bilinear", false, [4, 3], [6, 7], &[0, 7, 27, 48, 100, 153, 170, 55, 60, 73, 86, 131, 176, 191, 111, 113, 116, 120, 155, 190, 202, 117, 114, 109, 102, 128, 153, 162, 71, 84, 123, 162, 178, 194, 199, 24, 53, 139, 226, 235, 243, 246]),
        ("pillow", "bicubic", false, [4, 3], [6, 7], &[0, 0, 7, 41, 99, 152, 180, 53, 57, 63, 88, 137, 184, 209, 121, 122, 115, 125, 159, 196, 215, 130, 122, 100, 92, 114, 145, 160, 62, 82, 119, 160, 183, 190, 197, 0, 42, 142, 237, 255, 255, 255]),
    ];

    /// OpenCV 5, `cv2.resize`.
    #[rustfmt::skip]
    const OPENCV: &[Golden] = &[
        ("opencv", "nearest", true, [6, 5], [3, 4], &[0, 48, 170, 110, 226, 246, 84, 252, 172, 164, 230, 114]),
        ("opencv", "bilinear", true, [6, 5], [3, 4], &[103, 102, 132, 81, 144, 172, 167, 241, 144, 185, 145, 136]),
        ("opencv", "bicubic", true, [6, 5], [3, 4], &[101, 91, 138, 61, 135, 181, 157, 255, 154, 197, 145, 120]),
        ("opencv", "area", true, [6, 5], [3, 4], &[101, 103, 132, 85, 149, 169, 164, 237, 148, 185, 147, 135]),
        ("opencv", "nearest", true, [4, 3], [6, 7], &[0, 0, 0, 48, 48, 170, 170, 0, 0, 0, 48, 48, 170, 170, 110, 110, 110, 124, 124, 212, 212, 118, 118, 118, 98, 98, 152, 152, 118, 118, 118, 98, 98, 152, 152, 24, 24, 24, 226, 226, 246, 246]),
        ("opencv", "bilinear", true, [4, 3], [6, 7], &[0, 7, 27, 48, 100, 152, 170, 55, 59, 72, 86, 131, 176, 191, 111, 112, 116, 120, 155, 190, 202, 117, 114, 108, 102, 128, 153, 162, 71, 84, 123, 162, 178, 194, 199, 24, 53, 139, 226, 235, 243, 246]),
        ("opencv", "bicubic", true, [4, 3], [6, 7], &[0, 0, 7, 41, 99, 152, 180, 51, 57, 63, 88, 137, 184, 208, 122, 122, 115, 125, 159, 196, 214, 131, 122, 100, 92, 114, 145, 160, 62, 82, 119, 160, 183, 190, 197, 0, 42, 142, 237, 255, 255, 255]),
        ("opencv", "area", true, [4, 3], [6, 7], &[0, 0, 32, 48, 89, 170, 170, 55, 55, 75, 86, 121, 191, 191, 110, 110, 119, 124, 153, 212, 212, 118, 118, 105, 98, 116, 152, 152, 71, 71, 132, 162, 174, 199, 199, 24, 24, 159, 226, 233, 246, 246]),
    ];

    /// TensorFlow 2.21.0, `tf.image.resize`, rounded and clipped.
    #[rustfmt::skip]
    const TENSORFLOW: &[Golden] = &[
        ("tf", "nearest", false, [6, 5], [3, 4], &[212, 118, 152, 24, 42, 176, 154, 254, 104, 210, 132, 204]),
        ("tf", "bilinear", false, [6, 5], [3, 4], &[103, 102, 132, 81, 144, 172, 167, 241, 144, 185, 145, 136]),
        ("tf", "bilinear", true, [6, 5], [3, 4], &[119, 115, 139, 110, 160, 163, 158, 194, 140, 181, 147, 148]),
        ("tf", "bicubic", false, [6, 5], [3, 4], &[96, 94, 136, 69, 135, 180, 163, 255, 147, 193, 142, 130]),
        ("tf", "bicubic", true, [6, 5], [3, 4], &[116, 108, 142, 99, 166, 165, 158, 209, 134, 188, 143, 141]),
        ("tf", "area", false, [6, 5], [3, 4], &[101, 103, 132, 85, 149, 169, 164, 237, 148, 185, 147, 135]),
        ("tf", "nearest", false, [4, 3], [6, 7], &[0, 0, 48, 48, 48, 170, 170, 110, 110, 124, 124, 124, 212, 212, 110, 110, 124, 124, 124, 212, 212, 118, 118, 98, 98, 98, 152, 152, 24, 24, 226, 226, 226, 246, 246, 24, 24, 226, 226, 226, 246, 246]),
        ("tf", "bilinear", false, [4, 3], [6, 7], &[0, 7, 27, 48, 100, 153, 170, 55, 59, 73, 86, 131, 176, 191, 111, 113, 116, 120, 155, 190, 202, 117, 115, 108, 102, 128, 153, 162, 71, 84, 123, 162, 178, 194, 199, 24, 53, 139, 226, 235, 243, 246]),
        ("tf", "bilinear", true, [4, 3], [6, 7], &[0, 7, 27, 48, 100, 153, 170, 55, 59, 73, 86, 131, 176, 191, 111, 113, 116, 120, 155, 190, 202, 117, 115, 108, 102, 128, 153, 162, 71, 84, 123, 162, 178, 194, 199, 24, 53, 139, 226, 235, 243, 246]),
        ("tf", "bicubic", false, [4, 3], [6, 7], &[0, 0, 13, 43, 101, 156, 179, 48, 54, 63, 85, 135, 183, 204, 118, 118, 116, 124, 160, 198, 214, 127, 121, 103, 95, 119, 148, 160, 60, 77, 120, 164, 186, 196, 202, 0, 38, 138, 234, 255, 252, 254]),
        ("tf", "bicubic", true, [4, 3], [6, 7], &[0, 0, 13, 43, 101, 156, 179, 48, 54, 63, 85, 135, 183, 204, 118, 118, 116, 124, 160, 198, 214, 127, 121, 103, 95, 119, 148, 160, 60, 77, 120, 164, 186, 196, 202, 0, 38, 138, 234, 255, 252, 254]),
        ("tf", "area", false, [4, 3], [6, 7], &[0, 0, 32, 48, 89, 170, 170, 55, 55, 76, 86, 121, 191, 191, 110, 110, 119, 124, 153, 212, 212, 118, 118, 105, 98, 116, 152, 152, 71, 71, 132, 162, 174, 199, 199, 24, 24, 159, 226, 233, 246, 246]),
    ];

    /// A picture of one channel with these levels.
    fn picture([height, width]: [usize; 2]) -> Vec<u8> {
        (0..height * width).map(|i| ((i * i * 37 + i * 11) % 256) as u8).collect()
    }

    fn recipe(method: &str, antialias: bool, like: &str) -> [Value; 3] {
        [Value::word(method), antialias.into(), Value::word(like)]
    }

    fn resized<T: Element + Default>(
        (shape, elements): ([usize; 3], &[T]),
        to: [usize; 2],
        recipe: [Value; 3],
    ) -> Vec<T> {
        let [height, width] = to.map(|it| Value::from(it as i64));
        let [method, antialias, like] = recipe;
        let args = [Value::new(&shape, elements), height, width, method, antialias, like];
        let (found, resized) = run::<T>(&ENTRY, &args).expect("it has pixels");
        assert_eq!(found, [to[0], to[1], shape[2]]);
        resized
    }

    fn check(golden: &[Golden], off_by: u8) {
        for (like, method, antialias, from, to, levels) in golden {
            let image = picture(*from);
            let recipe = recipe(method, *antialias, like);
            let found = resized(([from[0], from[1], 1], &image), *to, recipe);
            let off = found.iter().zip(*levels).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(off <= Some(off_by), "{like} {method} {antialias} {from:?} {to:?}: {found:?}");
        }
    }

    #[test]
    fn pillow_agrees_to_the_bit() {
        check(PILLOW, 0);
    }

    #[test]
    fn others_agree_within_a_level() {
        check(TORCHVISION, 1);
        check(OPENCV, 1);
        check(TENSORFLOW, 1);
    }

    /// What a bilinear picture is: all pixels, weighed by a tent over the place, which is as wide as
    /// a new pixel if that is wider than an old one and `antialias` is said.
    fn tent(from: usize, to: usize, antialias: bool) -> Vec<Vec<f64>> {
        let scale = from as f64 / to as f64;
        let wide = if antialias { scale.max(1.0) } else { 1.0 };
        let weights = |x: usize| -> Vec<f64> {
            let mut place = (x as f64 + 0.5) * scale - 0.5;
            if !antialias {
                place = place.clamp(0.0, from as f64 - 1.0);
            }
            let tent = |i: usize| (1.0 - (i as f64 - place).abs() / wide).max(0.0);
            let sum: f64 = (0..from).map(tent).sum();
            (0..from).map(|i| tent(i) / sum).collect()
        };
        (0..to).map(weights).collect()
    }

    fn reference(levels: &[u8], shape: [usize; 3], to: [usize; 2], antialias: bool) -> Vec<f64> {
        let [height, width, channels] = shape;
        let (rows, columns) = (tent(height, to[0], antialias), tent(width, to[1], antialias));
        let mut out = Vec::new();
        for (row, column) in rows.iter().flat_map(|row| columns.iter().map(move |it| (row, it))) {
            for channel in 0..channels {
                let level =
                    |y: usize, x: usize| f64::from(levels[(y * width + x) * channels + channel]);
                let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (y, x)));
                out.push(pixels.map(|(y, x)| row[y] * column[x] * level(y, x)).sum());
            }
        }
        out
    }

    #[test]
    fn any_size_is_within_a_level_of_the_definition() {
        let mut random = runtime::Philox::new(5, 6, 7);
        for case in 0..40 {
            let mut side = || 1 + random.below(40) as usize;
            let (shape, to) = ([side(), side(), 1 + case % 4], [side(), side()]);
            let levels = noise(case as u64, shape.iter().product());
            for antialias in [false, true] {
                let found = resized((shape, &levels), to, recipe("bilinear", antialias, "pillow"));
                let expected = reference(&levels, shape, to, antialias);
                let far = found.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs());
                let far = far.fold(0.0, f64::max);
                assert!(far < 1.07, "{shape:?} to {to:?}, {antialias}: {far}");
            }
        }
    }

    #[test]
    fn deep_pictures_are_not_rounded() {
        let levels = plasma(3, 30, 20);
        let floats: Vec<f32> = levels.iter().map(|it| f32::from(*it)).collect();
        let words: Vec<u16> = levels.iter().map(|it| u16::from(*it) << 8).collect();
        let to = [13, 33];
        for antialias in [false, true] {
            let recipe = || recipe("bilinear", antialias, "pillow");
            let expected = reference(&levels, [30, 20, 3], to, antialias);
            let found = resized(([30, 20, 3], &floats), to, recipe());
            let deep = resized(([30, 20, 3], &words), to, recipe());
            for ((found, deep), expected) in found.iter().zip(deep).zip(expected) {
                assert!((f64::from(*found) - expected).abs() < 1e-4);
                assert!((f64::from(deep) - expected * 256.0).abs() < 0.51);
            }
        }
    }

    #[test]
    fn only_the_view_is_read() {
        let levels = plasma(4, 60, 70);
        let whole = Tensor::new(&[60, 70, 3], &levels);
        let crop = whole.narrowed(0, 5, 40).narrowed(1, 9, 37);
        let views = [crop, crop.flipped(1), crop.flipped(0), crop.narrowed(2, 1, 2)];
        for view in views {
            let mut copy = vec![0; view.bytes()];
            view.copy_to(&mut copy);
            for method in ["nearest", "bilinear", "bicubic", "area"] {
                let shape = [40, 37, view.shape()[2]];
                let copied = resized((shape, &copy), [24, 24], recipe(method, true, "pillow"));
                let (side, [method, antialias, like]) = (24_i64, recipe(method, true, "pillow"));
                let side_value = Tensor::new(&[], std::slice::from_ref(&side));
                let nothing = Tensor::nothing();
                let args = [0_i64.into(), side.into(), side.into(), method, antialias, like];
                let tensors = [view, side_value, side_value, nothing, nothing, nothing];
                let viewed = run_on::<u8>(&ENTRY, &args, &tensors).expect("it has pixels").1;
                assert_eq!(viewed, copied);
            }
        }
    }

    #[test]
    fn masks_keep_their_values() {
        let mask = [7_i64, 7, -1, 7, 7, -1, 1 << 40, 0, 0];
        let found = resized(([3, 3, 1], &mask), [6, 3], recipe("nearest", true, "pillow"));
        assert_eq!(found, [7, 7, -1, 7, 7, -1, 7, 7, -1, 7, 7, -1, 1 << 40, 0, 0, 1 << 40, 0, 0]);
    }

    #[test]
    fn sides_are_known_and_checked() {
        let image = |dtype| Type::Tensor {
            dtype,
            shape: vec![Extent::Unknown, Extent::Unknown, Extent::Known(3)],
        };
        let rest = |height, method: &str| {
            let word = |it: &str| Arg::Word(it.into());
            [Arg::Int(height), Arg::Int(5), word(method), Arg::Bool(true), word("pillow")]
        };
        let found = |dtype, height, method| typed(&ENTRY, image(dtype), &rest(height, method));
        assert_eq!(found(DType::U8, 4, "bilinear").as_deref(), Ok("u8[4, 5, 3]"));
        assert_eq!(found(DType::I32, 4, "nearest").as_deref(), Ok("i32[4, 5, 3]"));
        assert!(found(DType::I32, 4, "area").is_err());
        assert!(found(DType::U8, 0, "area").is_err());
    }
}
