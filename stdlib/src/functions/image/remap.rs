//! `remap`: a picture looked up place by place.

use super::{
    SIDE_MAX,
    extents::picture,
    fill,
    warp::{Drawing, method, takes, with_pixels},
};
use crate::{
    functions::tensor::packed,
    pixels::{
        border::Border,
        warp::{Field, Map},
    },
    prelude::*,
};

function! {
    /// Looks up every pixel of the result at a place of its own in the image.
    ///
    /// `field` has a column and a row of the image for each pixel of the result; integers are the centres of pixels,
    /// so `[0.0, 0.0]` is that of the first one. With `relative: true`, they count from the place of the pixel itself.
    /// This is OpenCV's `remap` (with `WARP_RELATIVE_MAP`), and within 1 level of PyTorch's `grid_sample`, which
    /// torchvision's `ElasticTransform` calls. `elastic` uses it.
    ///
    /// `method` is `bilinear` or `nearest`. Beyond its border, the image goes on as `mode` says: `constant` with the
    /// level `fill`, or one level for each channel, `edge` with its outermost pixels, `reflect` mirrored. Where a place
    /// is NaN, or 2^30 pixels away, the result is `fill`. `nearest` supports any dtype, `bilinear` `u8`, `u16` and `f32`.
    ///
    /// Fails with `size` if a side of the field is not between 1 and 65,536, or with `image-empty` if the image has no
    /// pixels.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 8, 6) |> remap(random_normal([8, 6, 2]), relative: true) }    # { image: u8[8, 6, 3] }
    /// ```
    "remap(image: t[h, w, c], field: f32[rows, columns, 2], relative: bool = false, method: nearest | bilinear = bilinear, mode: constant | edge | reflect = constant, fill: floats = 0) fails -> t[rows, columns, c]",
    // Measured: 5.8 ns a bilinear pixel of three channels.
    cost: Cost::out(500.0, 1.9),
    properties: &[Property::Gathers, Property::Rounds],
    result: Some(result),
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, [_, _, channels]) = picture(call)?;
    takes("remap", call, 3, dtype)?;
    fill::fits(call, 5, &channels)?;
    let field = call.ty(1).and_then(|it| it.shape().map(<[Extent]>::to_vec));
    let Some([rows, columns, _]) = field.as_deref() else {
        return Err("expected a field with three axes".into());
    };
    for side in [rows, columns] {
        if matches!(side, Extent::Known(it) if !(1..=SIDE_MAX as u64).contains(it)) {
            return Err(format!("expected a field with sides from 1 to {SIDE_MAX}, found {side}"));
        }
    }
    Ok(Type::Tensor { dtype, shape: vec![rows.clone(), columns.clone(), channels] })
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let relative = call.bool(2);
    let border = match call.word(4) {
        "constant" => Border::Constant,
        "edge" => Border::Edge,
        _ => Border::Reflect,
    };
    let drawing = Drawing { method: method(call.word(3)), fill: fill::levels(call, 5)? };
    Ok(Kernel::compute(move |args, out| {
        let (image, field) = (with_pixels(args)?, args.tensor(1));
        let to = [field.shape()[0], field.shape()[1]];
        if let Some(side) = to.iter().find(|it| !(1..=SIDE_MAX).contains(*it)) {
            let detail = format!("expected a field with sides from 1 to {SIDE_MAX}, found {side}");
            return Err(Fault::new("size", detail));
        }
        packed::<f32, _>(&field, |places| {
            let field = Field { places, relative, width: to[1], border };
            drawing.draw(&image, Map::Field(field), to, out)
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, noise, run};
    use super::*;
    use plan::Arg;

    struct Case<'a> {
        from: [usize; 3],
        levels: &'a [u8],
        to: [usize; 2],
        places: &'a [f32],
        method: &'a str,
        mode: &'a str,
        relative: bool,
        fill: u8,
    }

    fn run_case(case: &Case<'_>) -> Vec<u8> {
        let args = [
            Value::new(&case.from, case.levels),
            Value::new(&[case.to[0], case.to[1], 2], case.places),
            case.relative.into(),
            Value::word(case.method),
            Value::word(case.mode),
            Value::Known(Arg::Int(i64::from(case.fill))),
        ];
        run::<u8>(&ENTRY, &args).expect("it has pixels").1
    }

    /// The same, a level at a time.
    fn slowly(case: &Case<'_>) -> Vec<u8> {
        let [height, width, channels] = case.from;
        let border = |place: i64, len: usize| match case.mode {
            "constant" => usize::try_from(place).ok().filter(|it| *it < len),
            "edge" => Some(place.clamp(0, len as i64 - 1) as usize),
            _ => {
                let mut place = place;
                while len > 1 && !(0..len as i64).contains(&place) {
                    place = if place < 0 { -place } else { 2 * (len as i64 - 1) - place };
                }
                Some(if len == 1 { 0 } else { place as usize })
            }
        };
        let level = |row: i64, column: i64, channel: usize| match (
            border(row, height),
            border(column, width),
        ) {
            (Some(y), Some(x)) => f64::from(case.levels[(y * width + x) * channels + channel]),
            _ => f64::from(case.fill),
        };
        let mut out = Vec::new();
        for (i, place) in case.places.chunks(2).enumerate() {
            let own = [i % case.to[1], i / case.to[1]];
            let [x, y] = [0, 1]
                .map(|it| f64::from(place[it]) + if case.relative { own[it] as f64 } else { 0.0 });
            for channel in 0..channels {
                out.push(if !x.is_finite() || !y.is_finite() {
                    case.fill
                } else if case.method == "nearest" {
                    level(y.round_ties_even() as i64, x.round_ties_even() as i64, channel) as u8
                } else {
                    let (left, top) = (x.floor(), y.floor());
                    let across = |row: i64| {
                        let [a, b] = [0, 1].map(|it| level(row, left as i64 + it, channel));
                        a + (b - a) * (x - left)
                    };
                    let (a, b) = (across(top as i64), across(top as i64 + 1));
                    (a + (b - a) * (y - top)).round_ties_even() as u8
                });
            }
        }
        out
    }

    #[test]
    fn every_border_is_as_it_is_said() {
        let sizes =
            [[1, 1, 1], [9, 7, 3], [30, 80, 3], [5, 90, 1], [12, 70, 4], [6, 5, 2], [8, 70, 5]];
        for (number, from) in sizes.into_iter().enumerate() {
            let levels = noise(number as u64, from.iter().product());
            let to = [13, 70 + number];
            let places: Vec<f32> = noise(9, to[0] * to[1] * 4)
                .chunks(2)
                .enumerate()
                .map(|(i, it)| {
                    let side = from[1 - i % 2] as f32;
                    let share = (f32::from(it[0]) + f32::from(it[1]) / 256.0) / 256.0;
                    // Some beyond the border, some on pixels.
                    let place = share * (side + 6.0) - 3.5;
                    if i % 5 < 2 { place.round() } else { place }
                })
                .collect();
            for mode in ["constant", "edge", "reflect"] {
                for (method, relative) in
                    [("bilinear", false), ("nearest", false), ("bilinear", true)]
                {
                    let (levels, places) = (&levels[..], &places[..]);
                    let case = Case { from, levels, to, places, method, mode, relative, fill: 77 };
                    assert_eq!(
                        run_case(&case),
                        slowly(&case),
                        "{from:?} {mode} {method} {relative}"
                    );
                }
            }
        }
    }

    #[test]
    fn places_that_are_none_are_filled() {
        let (levels, nowhere) = ([9_u8; 4], [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3e9]);
        let places: Vec<f32> = nowhere.iter().flat_map(|it| [*it, 0.0, 0.0, *it]).collect();
        for (mode, method) in
            [("edge", "bilinear"), ("reflect", "nearest"), ("constant", "bilinear")]
        {
            let case = Case {
                from: [2, 2, 1],
                levels: &levels,
                to: [2, 4],
                places: &places,
                method,
                mode,
                relative: false,
                fill: 77,
            };
            assert_eq!(run_case(&case), [77; 8], "{mode} {method}");
        }
    }

    #[test]
    fn levels_are_those_of_pytorch() {
        // torchvision 0.29.2 (PyTorch 2.15.0), v2.functional.elastic(image, displacement, BILINEAR, fill=None) of a
        // picture of 6 x 5 with levels (37 i i + 11 i) % 256; places are moved by 0.01 ((53 i i + 29 i) % 500) - 2.5.
        let levels: Vec<u8> = (0..30_usize).map(|i| ((i * i * 37 + i * 11) % 256) as u8).collect();
        let places: Vec<f32> =
            (0..60_i32).map(|i| 0.01 * ((53 * i * i + 29 * i) % 500) as f32 - 2.5).collect();
        let case = Case {
            from: [6, 5, 1],
            levels: &levels,
            to: [6, 5],
            places: &places,
            method: "bilinear",
            mode: "constant",
            relative: true,
            fill: 0,
        };
        let found = run_case(&case);
        let off = found.iter().zip(EXPECTED).map(|(a, b)| a.abs_diff(b)).max();
        assert!(off <= Some(1), "{found:?}");
    }

    #[rustfmt::skip]
    const EXPECTED: [u8; 30] = [
        0, 0, 207, 99, 0, 0, 226, 156, 199, 109, 159, 148, 140, 178, 0, 0,
        206, 143, 206, 154, 191, 165, 200, 0, 162, 24, 0, 0, 0, 0,
    ];
}
