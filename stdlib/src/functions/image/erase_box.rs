//! `erase_box`: a box of a picture, black or full of noise.

use super::{
    erase::{Part, erased},
    extents::picture,
    fill::encoded,
};
use crate::prelude::*;
use runtime::Philox;

function! {
    /// Fills a box of an image with zeros or with noise.
    ///
    /// `box` is row, column, height and width, as from `draw_erase`; parts of it outside the image are ignored.
    /// Noise is drawn from the standard normal distribution, for each pixel and channel, so it needs an image
    /// of floats, such as from `normalize`. `random_erase` uses it. Fails with `size` if a side is negative.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> erase_box([1, 2, 2, 3]) }    # { image: u8[4, 6, 3] }
    /// ```
    "erase_box(image: t[h, w, c], box: i64[4], value: zero | noise = zero) random fails -> t[h, w, c]",
    // Assumed: 0.05 ns a byte, as a copy.
    cost: Cost::out(200.0, 0.05),
    result: Some(result),
}

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = picture(call)?;
    if dtype.is_text() {
        return Err("`erase_box` expects numbers".into());
    }
    if matches!(&call.args[2], Arg::Word(it) if &**it == "noise") && !dtype.is_float() {
        return Err(format!(
            "noise needs an image of floats, found `{dtype}`: use it after `normalize`"
        ));
    }
    Ok(Type::Tensor { dtype, shape: shape.to_vec() })
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let noise = call.word(2) == "noise";
    Ok(Kernel::draw(move |random, args, out| {
        let (image, frame) = (args.tensor(0), args.tensor(1));
        let [y, x, height, width] = [0, 1, 2, 3].map(|it| frame.element(it).int());
        if height < 0 || width < 0 {
            let detail = format!("a box cannot have sides of {height} and {width} pixels");
            return Err(Fault::new("size", detail));
        }
        let part = Part::of(image.shape(), [y, x], [height, width]);
        let dtype = image.dtype();
        erased(&image, &part, out, |row| if noise { draw(random, dtype, row) } else { row.fill(0) })
    }))
}

/// Fills memory with draws from the standard normal distribution; each pair of elements is one draw.
fn draw(random: &mut Philox, dtype: DType, bytes: &mut [u8]) {
    let size = dtype.size();
    for pair in bytes.chunks_mut(2 * size) {
        let (a, b) = random.normal();
        for (to, value) in pair.chunks_exact_mut(size).zip([a, b]) {
            to.copy_from_slice(encoded(dtype, value, &mut [0; 8]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, run, typed};
    use super::*;

    #[test]
    fn a_box_is_black_or_noise() {
        let levels: Vec<f32> = (0..60 * 50 * 3).map(|it| it as f32 + 10.0).collect();
        let erased = |value| {
            let frame = Value::new(&[4], &[10_i64, -5, 40, 30]);
            let args = [Value::new(&[60, 50, 3], &levels), frame, Value::word(value)];
            run::<f32>(&ENTRY, &args).expect("it has sides").1
        };
        let inside = |i: usize| (10..50).contains(&(i / 150)) && i % 150 / 3 < 25;
        let (zeros, noise) = (erased("zero"), erased("noise"));
        let mut drawn = Vec::new();
        for i in 0..levels.len() {
            if inside(i) {
                assert_eq!(zeros[i], 0.0);
                drawn.push(f64::from(noise[i]));
            } else {
                assert_eq!((zeros[i], noise[i]), (levels[i], levels[i]));
            }
        }
        assert_eq!(drawn.len(), 3_000);
        let mean = drawn.iter().sum::<f64>() / 3_000.0;
        let variance = drawn.iter().map(|it| it * it).sum::<f64>() / 3_000.0;
        // Within five standard errors: 1 / sqrt(3,000), and sqrt(2 / 3,000).
        assert!(mean.abs() < 0.092 && (variance - 1.0).abs() < 0.13, "{mean} {variance}");
    }

    #[test]
    fn sides_are_not_negative_and_noise_is_of_floats() {
        for sides in [[0_i64, 0, -1, 2], [0, 0, 1, -1]] {
            let image = Value::new(&[1, 1, 1], &[7_u8]);
            let args = [image, Value::new(&[4], &sides), Value::word("zero")];
            assert_eq!(run::<u8>(&ENTRY, &args).map_err(|it| it.code), Err("size"));
        }
        let of = |dtype, value: &str| {
            let rest = [Arg::List(vec![]), Arg::Word(value.into())];
            typed(&ENTRY, Type::Tensor { dtype, shape: vec![Extent::Unknown; 3] }, &rest)
        };
        assert!(of(DType::U8, "zero").is_ok() && of(DType::F16, "noise").is_ok());
        assert!(of(DType::U8, "noise").is_err());
    }
}
