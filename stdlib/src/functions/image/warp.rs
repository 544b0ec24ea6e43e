//! `warp`: a picture through a matrix.

use super::{
    SIDE_MAX,
    extents::{picture, side},
    fill,
};
use crate::{
    pixels::{
        packed,
        picture::packed_bytes,
        warp::{Job, Map, Method, Warped, nearest},
        with_room,
    },
    prelude::*,
};
use std::cell::RefCell;

function! {
    /// Warps an image by a matrix: rotates, scales, shears, shifts, or tilts it.
    ///
    /// The result has `height` x `width` pixels. The matrix says where in the image each of them is looked up: the
    /// pixel in column `x` and row `y`, whose centre is at `x + 0.5` and `y + 0.5`, at `a x + b y + c` and
    /// `d x + e y + f` for the matrix `[[a, b, c], [d, e, f]]`. A third row `[g, h, i]` makes it a perspective: both
    /// are divided by `g x + h y + i`. This is Pillow's `Image.transform` with `AFFINE` and `PERSPECTIVE`, which
    /// torchvision uses; the matrices that `affine_matrix`, `draw_affine` and `perspective_matrix` return are such.
    /// `warp_points` moves points along.
    ///
    /// `method` is `nearest`, `bilinear` or `bicubic`; nothing is antialiased, so to make an image much smaller, resize
    /// it first. What lies outside of the image gets the level `fill`, or one level for each channel. `u8` images
    /// are bit-identical to Pillow's, except that an alpha channel is a channel like the others. `u16` and `f32`
    /// images are computed in `f64` and rounded once; `nearest` supports any dtype, so masks too.
    ///
    /// Fails with `size` if a side is not between 1 and 65,536, or with `image-empty` if the image has no pixels.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 40, 60) |> warp(affine_matrix([40, 60], degrees: 30.0), 40, 60, method: bilinear) }    # { image: u8[40, 60, 3] }
    /// ```
    "warp(image: t[h, w, c], matrix: f64[n, 3], height: int, width: int = height, method: nearest | bilinear | bicubic = nearest, fill: floats = 0) fails -> t[height, width, c]",
    // Measured: 4.7 ns a bilinear pixel of three channels. The nearest one takes 0.8 ns, a bicubic one 16.
    cost: Cost::out(500.0, 1.5),
    properties: &[Property::Gathers, Property::Rounds],
    result: Some(result),
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, [_, _, channels]) = picture(call)?;
    takes("warp", call, 4, dtype)?;
    fill::fits(call, 5, &channels)?;
    if let Some([rows, _]) = call.ty(1).as_ref().and_then(Type::shape)
        && let Extent::Known(rows) = rows
        && ![2, 3].contains(rows)
    {
        return Err(format!("expected a matrix of 2 x 3 or 3 x 3 numbers, found {rows} x 3"));
    }
    Ok(Type::Tensor { dtype, shape: vec![side(call, 2)?, side(call, 3)?, channels] })
}

/// Checks that the method, which is parameter `how` of a function, takes such pictures.
pub(super) fn takes(
    function: &str,
    call: &Applied<'_>,
    how: usize,
    dtype: DType,
) -> Result<(), String> {
    if dtype.is_text() {
        return Err(format!("`{function}` expects numbers"));
    }
    let is_nearest = matches!(&call.args[how], Arg::Word(it) if it == "nearest");
    if !is_nearest && !matches!(dtype, DType::U8 | DType::U16 | DType::F32) {
        return Err(format!(
            "`{function}` interpolates `u8`, `u16` and `f32`, not `{dtype}`: cast first, or use `method: nearest`"
        ));
    }
    Ok(())
}

/// The method that a word stands for.
pub(super) fn method(word: &str) -> Method {
    match word {
        "nearest" => Method::Nearest,
        "bilinear" => Method::Bilinear,
        _ => Method::Bicubic,
    }
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let drawing = Drawing { method: method(call.word(4)), fill: fill::levels(call, 5)? };
    Ok(Kernel::compute(move |args, out| {
        let to = [args.size(2, SIDE_MAX)?, args.size(3, SIDE_MAX)?];
        drawing.draw(&with_pixels(args)?, map(&args.tensor(1))?, to, out)
    }))
}

/// The picture, which has pixels.
pub(super) fn with_pixels<'a>(args: &Args<'a>) -> Result<Tensor<'a>, Fault> {
    let image = args.tensor(0);
    if image.shape()[..2].contains(&0) {
        return Err(Fault::new("image-empty", "an image without pixels cannot be warped"));
    }
    Ok(image)
}

/// The numbers of a matrix of two or three rows; the third one of an affine map is `0, 0, 1`.
pub(super) fn rows(matrix: &Tensor<'_>) -> Result<([f64; 9], bool), Fault> {
    let count = matrix.shape()[0];
    if ![2, 3].contains(&count) {
        let detail = format!("expected a matrix of 2 x 3 or 3 x 3 numbers, found {count} x 3");
        return Err(Fault::new("extents", detail));
    }
    let mut numbers = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    for (i, to) in numbers[..count * 3].iter_mut().enumerate() {
        *to = matrix.element(i / 3).element(i % 3).number();
    }
    Ok((numbers, count == 2))
}

fn map(matrix: &Tensor<'_>) -> Result<Map<'static>, Fault> {
    Ok(match rows(matrix)? {
        ([a, b, c, d, e, f, ..], true) => Map::Affine([a, b, c, d, e, f]),
        (all, false) => Map::Perspective(all),
    })
}

#[derive(Default)]
struct Room {
    levels: Vec<u8>,
    words: Vec<u16>,
    floats: Vec<f32>,
}

thread_local! {
    /// Pictures whose pixels lie apart.
    static ROOM: RefCell<Room> = RefCell::default();
}

/// How the pixels of a map are drawn.
pub(super) struct Drawing {
    pub(super) method: Method,
    /// The level outside of the picture, or that of each channel.
    pub(super) fill: Vec<f64>,
}

impl Drawing {
    /// Writes `to = [height, width]` pixels of `image`, which has some.
    pub(super) fn draw(
        &self,
        image: &Tensor<'_>,
        map: Map<'_>,
        to: [usize; 2],
        out: &mut Out<'_>,
    ) -> Result<(), Fault> {
        let (dtype, channels) = (image.dtype(), image.shape()[2]);
        let shape = [to[0], to[1], channels];
        let method = self.method;
        if method == Method::Nearest {
            let fill = fill::pixel(dtype, &self.fill, channels);
            let to = out.room(dtype, Shape::new(&shape))?;
            with_room(&ROOM, image.bytes(), |room| {
                let image = &packed_bytes(image, &mut room.levels);
                nearest(&Job { image, map, method, fill: &fill, width: shape[1] }, to);
            });
            return Ok(());
        }
        match dtype {
            DType::U8 => self.interpolate::<u8>(image, map, shape, |it| &mut it.levels, out),
            DType::U16 => self.interpolate::<u16>(image, map, shape, |it| &mut it.words, out),
            _ => self.interpolate::<f32>(image, map, shape, |it| &mut it.floats, out),
        }
    }

    fn interpolate<T: Warped>(
        &self,
        image: &Tensor<'_>,
        map: Map<'_>,
        shape: [usize; 3],
        copy: fn(&mut Room) -> &mut Vec<T>,
        out: &mut Out<'_>,
    ) -> Result<(), Fault> {
        let level = |i: usize| T::nearest(self.fill[i.min(self.fill.len() - 1)]);
        let fill: Vec<T> = (0..shape[2]).map(level).collect();
        let to = out.tensor::<T>(&shape)?;
        with_room(&ROOM, image.bytes(), |room| {
            let image = &packed(image, copy(room));
            T::draw(&Job { image, map, method: self.method, fill: &fill, width: shape[1] }, to);
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, noise, run, run_on, typed};
    use super::*;
    use runtime::Element;

    /// A row of `goldens/warp.tsv`.
    struct Golden<'a> {
        method: &'a str,
        from: [usize; 3],
        to: [usize; 2],
        matrix: Vec<f64>,
        fill: Vec<f64>,
        levels: &'a str,
    }

    fn goldens() -> Vec<Golden<'static>> {
        let rows = include_str!("goldens/warp.tsv").lines().filter(|it| !it.starts_with('#'));
        let row = |row: &'static str| {
            let fields: Vec<&str> = row.split('\t').collect();
            let number = |i: usize| fields[i].parse::<usize>().expect("a number");
            let numbers =
                |i: usize| fields[i].split(' ').map(|it| it.parse().expect("a number")).collect();
            Golden {
                method: fields[0],
                from: [number(2), number(3), number(1)],
                to: [number(4), number(5)],
                matrix: numbers(6),
                fill: numbers(7),
                levels: fields[8],
            }
        };
        rows.map(row).collect()
    }

    /// The arguments behind the picture.
    fn args(matrix: &[f64], to: [usize; 2], method: &str, fill: &[f64]) -> Vec<Value> {
        // Pillow leaves the last number of a perspective out, which is 1.
        let mut matrix = matrix.to_vec();
        matrix.extend((matrix.len() == 8).then_some(1.0));
        let fill = Arg::List(fill.iter().map(|it| Arg::Float(*it)).collect());
        vec![
            Value::new(&[matrix.len() / 3, 3], &matrix),
            Value::from(to[0] as i64),
            Value::from(to[1] as i64),
            Value::word(method),
            Value::Known(fill),
        ]
    }

    fn warped<T: Element + Default>(
        from: [usize; 3],
        levels: &[T],
        rest: &[Value],
    ) -> Result<Vec<T>, &'static str> {
        let args: Vec<Value> = [Value::new(&from, levels)].iter().chain(rest).cloned().collect();
        run::<T>(&ENTRY, &args).map(|it| it.1).map_err(|it| it.code)
    }

    fn levels_of([height, width, channels]: [usize; 3]) -> Vec<u8> {
        (0..height * width * channels).map(|i| ((i * i * 37 + i * 11) % 256) as u8).collect()
    }

    #[test]
    fn levels_are_those_of_pillow() {
        let mut folded = 0;
        for it in goldens() {
            let rest = args(&it.matrix, it.to, it.method, &it.fill);
            let found = warped(it.from, &levels_of(it.from), &rest).expect("it has pixels");
            let shown: String = if it.levels.len() == 8 && found.len() > 4 {
                folded += 1;
                let add = |sum: u32, it: &u8| sum.wrapping_mul(31).wrapping_add(u32::from(*it));
                format!("{:08x}", found.iter().fold(0, add))
            } else {
                found.iter().map(|it| format!("{it:02x}")).collect()
            };
            assert_eq!(shown, it.levels, "{} {:?} {:?} {:?}", it.method, it.from, it.to, it.matrix);
        }
        assert!(folded > 20);
    }

    /// What an interpolated picture is, a level at a time.
    fn slowly<T: Warped>(
        levels: &[T],
        [height, width, channels]: [usize; 3],
        (matrix, to, method, fill): (&[f64], [usize; 2], &str, &[f64]),
    ) -> Vec<T> {
        let cubic = |[a, b, c, d]: [f64; 4], t: f64| {
            let (square, cube) = (2.0 * (a - b) + c - d, b - a - c + d);
            b + t * (c - a + t * (square + t * cube))
        };
        let mut out = Vec::new();
        for i in 0..to[0] * to[1] {
            let (x, y) = ((i % to[1]) as f64 + 0.5, (i / to[1]) as f64 + 0.5);
            let at = |i: usize| matrix.get(i).copied().unwrap_or_else(|| [0.0, 0.0, 1.0][i - 6]);
            let part = |i: usize| at(i) * x + at(i + 1) * y + at(i + 2);
            let far = if matrix.len() > 6 { part(6) } else { 1.0 };
            let (x, y) = (part(0) / far, part(3) / far);
            for channel in 0..channels {
                if !(0.0..width as f64).contains(&x) || !(0.0..height as f64).contains(&y) {
                    out.push(T::nearest(fill[channel.min(fill.len() - 1)]));
                    continue;
                }
                let (x, y) = (x - 0.5, y - 0.5);
                let level = |row: i64, column: i64| {
                    let row = (y.floor() as i64 + row).clamp(0, height as i64 - 1) as usize;
                    let column = (x.floor() as i64 + column).clamp(0, width as i64 - 1) as usize;
                    levels[(row * width + column) * channels + channel].value()
                };
                let (right, down) = (x - x.floor(), y - y.floor());
                let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
                let value = if method == "bilinear" {
                    let across = |row: i64| mix(level(row, 0), level(row, 1), right);
                    mix(across(0), across(1), down)
                } else {
                    let across = |row: i64| cubic([-1, 0, 1, 2].map(|it| level(row, it)), right);
                    cubic([-1, 0, 1, 2].map(across), down)
                };
                out.push(T::cut(value));
            }
        }
        out
    }

    const ROTATED: [f64; 6] = [0.9, 0.35, -3.0, -0.4, 0.85, 9.0];
    const TILTED: [f64; 8] = [0.9, 0.35, -3.0, -0.4, 0.85, 9.0, 0.002, -0.004];

    #[test]
    fn every_dtype_and_number_of_channels_is_interpolated() {
        for channels in 1..=6 {
            for (matrix, to) in [(&ROTATED[..], [37, 90]), (&TILTED, [12, 130])] {
                for method in ["bilinear", "bicubic"] {
                    let (from, fill) = ([40, 70, channels], [9.0, 8.0, 7.0, 6.0, 5.0, 4.0]);
                    let rest = args(matrix, to, method, &fill[..channels]);
                    let levels = noise(channels as u64, 40 * 70 * channels);
                    let words: Vec<u16> = levels.iter().map(|it| u16::from(*it) * 257).collect();
                    let floats: Vec<f32> = levels.iter().map(|it| f32::from(*it) / 3.0).collect();
                    let mut matrix = matrix.to_vec();
                    matrix.extend((matrix.len() == 8).then_some(1.0));
                    let how = (&matrix[..], to, method, &fill[..]);
                    assert_eq!(warped(from, &levels, &rest), Ok(slowly(&levels, from, how)));
                    assert_eq!(warped(from, &words, &rest), Ok(slowly(&words, from, how)));
                    assert_eq!(warped(from, &floats, &rest), Ok(slowly(&floats, from, how)));
                }
            }
        }
    }

    #[test]
    fn every_layout_gives_the_same_bits() {
        for channels in [1, 3, 4, 5] {
            let levels = noise(3, 50 * 70 * channels);
            let whole = Tensor::new(&[50, 70, channels], &levels);
            let crop = whole.narrowed(0, 5, 40).narrowed(1, 3, 60);
            for view in [crop, crop.flipped(0), crop.flipped(1), crop.permuted(&[1, 0, 2])] {
                let mut copy = vec![0; view.bytes()];
                view.copy_to(&mut copy);
                let from = [view.shape()[0], view.shape()[1], channels];
                for method in ["nearest", "bilinear", "bicubic"] {
                    for matrix in [&ROTATED[..], &TILTED, &[0.5, 0.0, 2.0, 0.0, 0.7, 3.0]] {
                        let rest = args(matrix, [45, 66], method, &[50.0]);
                        let nothing = Tensor::nothing();
                        let matrix = &rest[0];
                        let all = [
                            view,
                            matrix.tensor(),
                            Tensor::new(&[], &[45_i64]),
                            Tensor::new(&[], &[66_i64]),
                            nothing,
                            nothing,
                        ];
                        let known: Vec<Value> =
                            [Value::from(0)].iter().chain(&rest).cloned().collect();
                        let found = run_on::<u8>(&ENTRY, &known, &all).expect("it has pixels").1;
                        assert_eq!(Ok(found), warped(from, &copy, &rest), "{channels} {method}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_nearest_pixel_is_moved_whole() {
        let values: Vec<i64> = (0..12).map(|it| it * 1_000_000_007).collect();
        let rest = args(&[0.0, -1.0, 4.0, 1.0, 0.0, 0.0], [4, 3], "nearest", &[-1.0]);
        let expected: Vec<i64> = (0..4)
            .flat_map(|y| (0..3).map(move |x| x * 4 + 3 - y))
            .map(|it| values[it as usize])
            .collect();
        assert_eq!(warped([3, 4, 1], &values, &rest), Ok(expected));
        let shifted = args(&[1.0, 0.0, 3.0, 0.0, 1.0, 0.0], [1, 3], "nearest", &[-1.0]);
        assert_eq!(warped([3, 4, 1], &values, &shifted), Ok(vec![values[3], -1, -1]));
        let flags = [true, false, false, true];
        let rest = args(&[1.0, 0.0, 0.0, 0.0, -1.0, 2.0], [2, 2], "nearest", &[1.0]);
        assert_eq!(warped([2, 2, 1], &flags, &rest), Ok(vec![false, true, true, false]));
        let pixels: Vec<f64> = (0..12).map(f64::from).collect();
        let rest = args(&[1.0, 0.2, 0.0, 0.2, 1.0, 0.0], [2, 2], "nearest", &[0.0, 1.0, 2.0]);
        assert_eq!(warped([2, 2, 3], &pixels, &rest), Ok(pixels));
    }

    const FAR: [f64; 9] = [1e300, 0.0, 0.0, 0.0, 1e300, 0.0, 0.0, 0.0, 1.0];

    #[test]
    fn what_leads_nowhere_is_filled() {
        for matrix in [&[f64::NAN; 6][..], &[f64::INFINITY; 6], &FAR, &[0.0; 9], &[-1e9; 6]] {
            for method in ["nearest", "bilinear", "bicubic"] {
                let rest = args(matrix, [2, 3], method, &[4.0]);
                assert_eq!(warped([2, 2, 1], &[1_u8; 4], &rest), Ok(vec![4; 6]), "{matrix:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_warped_is_refused() {
        let same = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let found = |from, to, matrix: &[f64]| {
            let levels = vec![0_u8; from];
            warped([from, 1, 1], &levels, &args(matrix, to, "bilinear", &[0.0]))
        };
        assert_eq!(found(0, [1, 1], &same), Err("image-empty"));
        assert_eq!(found(1, [0, 1], &same), Err("size"));
        assert_eq!(found(1, [1, 70_000], &same), Err("size"));
        assert_eq!(found(1, [1, 1], &same[..3]), Err("extents"));

        let image = |dtype| Type::Tensor {
            dtype,
            shape: vec![Extent::Unknown, Extent::Unknown, Extent::Known(3)],
        };
        let found = |dtype, method: &str, fill: usize| {
            let fill = Arg::List(vec![Arg::Int(1); fill]);
            let rest = [Arg::None, Arg::Int(8), Arg::None, Arg::Word(method.into()), fill];
            typed(&ENTRY, image(dtype), &rest)
        };
        assert_eq!(found(DType::F64, "nearest", 3).as_deref(), Ok("f64[8, ?, 3]"));
        assert!(found(DType::F64, "bilinear", 1).expect_err("not of f64").contains("cast first"));
        assert!(found(DType::U8, "bilinear", 2).expect_err("not 2").contains("2 levels to fill 3"));
    }
}
