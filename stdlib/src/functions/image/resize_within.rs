//! `resize_within`: a part of a resized picture, of the pixels that it is made of.

use super::{
    SIDE_MAX,
    extents::{picture, side},
    resize, resize_crop,
};
use crate::{pixels::resample::Source, prelude::*};

function! {
    /// Computes a part of a resized image from a part of the image.
    ///
    /// The whole image has `h` x `w` pixels; `image` is the part of it that begins at row `top` and column
    /// `left`. The result is bit-identical to `resize_crop` of the whole image if `image` contains the part
    /// that `resize_span` returns. Fails with `size`, `image-empty`, or `crop-outside` if the part does not fit
    /// into the resized image or needs pixels that are missing.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 40, 60) |> crop(3, 7, 23, 26) |> resize_within(40, 60, 3, 7, 20, 30, 2, 4, rows: 10, columns: 12) }    # { image: u8[10, 12, 3] }
    /// ```
    "resize_within(image: t[rows_there, columns_there, c], h: int, w: int, top: int, left: int, height: int, width: int, y: int, x: int, rows: int, columns: int, method: nearest | bilinear | bicubic | area = bilinear, antialias: bool = true, like: pillow | opencv | tf = pillow) fails -> t[rows, columns, c]",
    // Assumed: as `resize`, but that `resize_span` is asked before.
    cost: Cost { ns_byte_in: 0.1, ..Cost::out(7_500.0, 0.2) },
    result: Some(result),
}

/// Where the parameters begin that say how.
const HOW: usize = 11;

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, [_, _, channels]) = picture(call)?;
    resize::takes(call, HOW, dtype)?;
    Ok(Type::Tensor { dtype, shape: vec![side(call, 9)?, side(call, 10)?, channels] })
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let recipe = resize::recipe(call, HOW);
    Ok(Kernel::compute(move |args, out| {
        let to = [args.size(5, SIDE_MAX)?, args.size(6, SIDE_MAX)?];
        let image = resize::with_pixels(args)?;
        let of = [resize::extent(args, 1)?, resize::extent(args, 2)?];
        let part = resize_crop::part(args, 7, to)?;
        let at = [3, 4].map(|it| usize::try_from(args.int(it)));
        let [Ok(top), Ok(left)] = at else {
            let detail =
                format!("row {}, column {} is outside the image", args.int(3), args.int(4));
            return Err(Fault::new("crop-outside", detail));
        };
        recipe.resize_part(&Source { image, of, at: [top, left] }, to, part, out)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::{
        crop, resize_span,
        testing::{Value, noise, run},
    };
    use super::*;

    /// Extents before and after, and what is wanted: row, column, rows, columns.
    type Case = ([i64; 2], [i64; 2], [i64; 4]);

    fn numbers<const N: usize>(it: [i64; N]) -> impl Iterator<Item = Value> {
        it.into_iter().map(Value::from)
    }

    fn agrees(case: Case, how: &[Value; 3], levels: &[u8]) {
        let (from, to, [y, x, rows, columns]) = case;
        let len = (from[0] * from[1] * 3) as usize;
        let image = Value::new(&[from[0] as usize, from[1] as usize, 3], &levels[..len]);
        let rest = || numbers([to[0], to[1], y, x, rows, columns]).chain(how.clone());

        let at_once: Vec<Value> = [image.clone()].into_iter().chain(rest()).collect();
        let expected = run::<u8>(&resize_crop::ENTRY, &at_once).expect("it fits");
        let span: Vec<Value> = numbers(from).chain(rest()).collect();
        let (_, span) = run::<i64>(&resize_span::ENTRY, &span).expect("it fits");
        let cut: Vec<Value> =
            [image].into_iter().chain(span.iter().map(|it| Value::from(*it))).collect();
        let (shape, there) = run::<u8>(&crop::ENTRY, &cut).expect("a span lies within");
        let place = numbers([from[0], from[1], span[0], span[1]]);
        let within: Vec<Value> =
            [Value::new(&shape, &there)].into_iter().chain(place).chain(rest()).collect();
        let found = run::<u8>(&ENTRY, &within).expect("all is there that is needed");
        assert!(found == expected, "{case:?}");
    }

    #[test]
    fn parts_are_those_of_the_whole() {
        let levels = noise(1, 40 * 40 * 3);
        let mut dice = noise(2, 1 << 16).into_iter().map(i64::from);
        let mut below =
            |n: i64| (dice.next().expect("enough") << 8 | dice.next().expect("enough")) % n;
        for method in ["nearest", "bilinear", "bicubic", "area"] {
            for like in ["pillow", "opencv", "tf"] {
                for antialias in [true, false] {
                    let how = [Value::word(method), Value::from(antialias), Value::word(like)];
                    for _ in 0..40 {
                        let from = [below(40) + 1, below(40) + 1];
                        let to = match below(4) {
                            0 => from,
                            1 => [from[0], below(60) + 1],
                            _ => [below(60) + 1, below(60) + 1],
                        };
                        let [y, x] = to.map(&mut below);
                        let part = [y, x, below(to[0] - y) + 1, below(to[1] - x) + 1];
                        agrees((from, to, part), &how, &levels);
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_there_is_a_fault() {
        let how = [Value::word("bilinear"), Value::from(true), Value::word("pillow")];
        let image = Value::new(&[2, 2, 1], &[1_u8, 2, 3, 4]);
        for (at, part) in [
            ([1, 0], [0, 0, 1, 1]),
            ([-1, 0], [0, 0, 1, 1]),
            ([0, 0], [0, 3, 1, 1]),
            ([0, 0], [0, 0, 9, 1]),
        ] {
            let numbers = numbers([6, 6]).chain(numbers(at)).chain(numbers([4, 4]));
            let args: Vec<Value> = [image.clone()]
                .into_iter()
                .chain(numbers)
                .chain(part.map(Value::from))
                .chain(how.clone())
                .collect();
            let found = run::<u8>(&ENTRY, &args).map_err(|it| it.code);
            assert_eq!(found, Err("crop-outside"), "{at:?} {part:?}");
        }
    }
}
