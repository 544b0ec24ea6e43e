//! `resize_crop`: a part of a resized picture, without the rest.

use super::{
    SIDE_MAX,
    extents::{picture, side},
    resize,
};
use crate::{pixels::resample::Source, prelude::*};
use std::ops::Range;

function! {
    /// Resizes an image, but computes only a part of the result.
    ///
    /// The part begins at row `y` and column `x` of the resized image. The result is bit-identical to
    /// `resize(image, height, width, method, antialias, like) |> crop(y, x, rows, columns)`, but faster: only
    /// the pixels of the part are computed, and only the pixels that they depend on are read. Fails as both do:
    /// `size`, `image-empty`, `crop-outside`.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 40, 60) |> resize_crop(20, 30, 2, 4, rows: 10, columns: 12) }    # { image: u8[10, 12, 3] }
    /// ```
    "resize_crop(image: t[h, w, c], height: int, width: int, y: int, x: int, rows: int, columns: int, method: nearest | bilinear | bicubic | area = bilinear, antialias: bool = true, like: pillow | opencv | tf = pillow) fails -> t[rows, columns, c]",
    // Assumed: as `resize`.
    cost: Cost { ns_byte_in: 0.1, ..Cost::out(10_000.0, 0.2) },
    result: Some(result),
}

/// Where the parameters begin that say how.
const HOW: usize = 7;

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, [_, _, channels]) = picture(call)?;
    resize::takes(call, HOW, dtype)?;
    let fits = |whole: usize, start: usize, len: usize| match (call.int(whole), call.int(len)) {
        (Some(whole), Some(len)) => {
            let start = call.int(start).unwrap_or(0);
            start >= 0 && len > 0 && start.saturating_add(len) <= whole
        }
        _ => true,
    };
    if !fits(1, 3, 5) || !fits(2, 4, 6) {
        return Err("the crop lies outside the resized image".into());
    }
    Ok(Type::Tensor { dtype, shape: vec![side(call, 5)?, side(call, 6)?, channels] })
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let recipe = resize::recipe(call, HOW);
    Ok(Kernel::compute(move |args, out| {
        let to = [args.size(1, SIDE_MAX)?, args.size(2, SIDE_MAX)?];
        let source = Source::whole(resize::with_pixels(args)?);
        let part = part(args, 3, to)?;
        recipe.resize_part(&source, to, part, out)
    }))
}

/// The rows and columns that the parameters from `first` on say, of a picture of `whole` pixels.
pub(super) fn part(
    args: &Args<'_>,
    first: usize,
    whole: [usize; 2],
) -> Result<[Range<usize>; 2], Fault> {
    let [y, x, rows, columns] = [0, 1, 2, 3].map(|it| args.int(first + it));
    let range = |start: i64, len: i64, whole: usize| {
        let fits = start >= 0 && len > 0 && start.saturating_add(len) <= whole as i64;
        fits.then(|| start as usize..(start + len) as usize)
    };
    let part = range(y, rows, whole[0]).zip(range(x, columns, whole[1])).ok_or_else(|| {
        let part = format!("the crop of {rows} x {columns} pixels at row {y}, column {x}");
        let detail = format!("{part} lies outside the image of {} x {}", whole[0], whole[1]);
        Fault::new("crop-outside", detail)
    })?;
    Ok(part.into())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, noise, run};
    use super::*;
    use runtime::Element;

    fn part<T: Element + Default>(
        image: &Value,
        numbers: [i64; 6],
        how: [&Value; 3],
    ) -> Result<Vec<T>, Fault> {
        let mut args = vec![image.clone()];
        args.extend(numbers.map(Value::from));
        args.extend(how.map(Clone::clone));
        run(&ENTRY, &args).map(|it| it.1)
    }

    fn agrees<T: Element + Default + PartialEq>(levels: &[T]) {
        for method in ["nearest", "bilinear", "bicubic", "area"] {
            for (like, antialias) in
                [("pillow", true), ("pillow", false), ("opencv", true), ("tf", true), ("tf", false)]
            {
                let how = [Value::word(method), Value::from(antialias), Value::word(like)];
                let how = how.each_ref();
                for (from, to, [y, x, rows, columns]) in [
                    ([70, 90], [33, 40], [4, 3, 20, 31]),
                    ([70, 90], [70, 40], [10, 0, 50, 1]),
                    ([70, 90], [90, 90], [89, 11, 1, 79]),
                    ([70, 90], [70, 90], [1, 2, 3, 4]),
                    ([7, 5], [30, 40], [0, 36, 30, 4]),
                ] {
                    let len: i64 = from.iter().product::<i64>() * 3;
                    let shape = [from[0] as usize, from[1] as usize, 3];
                    let image = Value::new(&shape, &levels[..len as usize]);
                    let whole: Vec<T> =
                        part(&image, [to[0], to[1], 0, 0, to[0], to[1]], how).expect("it fits");
                    let mut args = vec![image.clone(), to[0].into(), to[1].into()];
                    args.extend(how.map(Clone::clone));
                    let (_, resized) = run::<T>(&resize::ENTRY, &args).expect("it fits");
                    assert!(whole == resized, "{method} {like} {antialias} {from:?} {to:?}");
                    let row = |it: i64| {
                        let start = ((y + it) * to[1] + x) as usize * 3;
                        resized[start..start + columns as usize * 3].iter().copied()
                    };
                    let expected: Vec<T> = (0..rows).flat_map(row).collect();
                    let found = part(&image, [to[0], to[1], y, x, rows, columns], how);
                    assert!(
                        found == Ok(expected),
                        "{method} {like} {antialias} {from:?} {to:?} {y} {x}"
                    );
                }
            }
        }
    }

    #[test]
    fn parts_are_those_of_the_whole() {
        let levels = noise(1, 70 * 90 * 3);
        agrees::<u8>(&levels);
        agrees::<f32>(&levels.iter().map(|it| f32::from(*it) / 7.0).collect::<Vec<_>>());
    }

    #[test]
    fn outside_is_a_fault() {
        let image = Value::new(&[2, 2, 1], &[1_u8, 2, 3, 4]);
        let how = [Value::word("bilinear"), Value::from(true), Value::word("pillow")];
        for at in [[4, 4, 0, 0, 5, 1], [4, 4, -1, 0, 1, 1], [4, 4, 0, 3, 1, 2]] {
            let found = part::<u8>(&image, at, how.each_ref());
            assert_eq!(found.map_err(|it| it.code), Err("crop-outside"), "{at:?}");
        }
    }
}
