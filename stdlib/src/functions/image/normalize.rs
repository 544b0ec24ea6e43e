//! `normalize`: levels to floats of mean 0 and deviation 1.

use crate::{pixels::normalize, prelude::*};

function! {
    /// Subtracts the mean of each channel and divides by its standard deviation.
    ///
    /// `mean` and `std` are numbers for all channels, or lists with one number per channel. Levels of `u8`
    /// images are divided by 255 first, of `u16` images by 65,535, so `mean` and `std` are in 0..1. If any of
    /// them is greater than 1, all are taken as levels, and nothing is divided
    /// (`mean: [103.5, 116.3, 123.7], std: 1`).
    ///
    /// The result is `x * scale + bias` in `f32`, rounded twice; `scale` (1 / (255 std)) and `bias` (-mean /
    /// std) are computed in `f64` and rounded once. It is within 1e-6 of torchvision's
    /// `normalize(to_dtype(x, scale=True))` for the means and standard deviations of ImageNet. `axis` is the
    /// axis of the channels.
    ///
    /// ```pipe
    /// range(2) |> map { image: plasma(i, 4, 6) |> normalize(mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]) }    # { image: f32[4, 6, 3] }
    /// ```
    "normalize(image: any, mean: floats, std: floats, axis: int = -1) -> any",
    // Assumed: 15 us for a picture of 224 x 224 in memory that is written for the first time.
    cost: Cost::out(300.0, 0.03),
    properties: &[Property::PointwiseByChannel, Property::Affine(&AFFINE)],
    result: Some(result),
}

/// What `normalize` does to each channel.
static AFFINE: Affine = Affine { read, write };

fn result(call: &Applied<'_>) -> Result<Type, String> {
    let image = call.ty(0).ok_or("`normalize` expects a tensor")?;
    let (dtype, shape) = image.dtype().zip(image.shape()).ok_or("`normalize` expects a tensor")?;
    if dtype.is_text() || dtype == DType::Bool {
        return Err(format!("`normalize` expects numbers, found `{dtype}`"));
    }
    let axis = axis(call.int(3).unwrap_or(-1), shape.len())
        .ok_or_else(|| format!("`{image}` has no such axis"))?;
    let (mean, std) = (numbers(&call.args[1])?, numbers(&call.args[2])?);
    for given in [&mean, &std] {
        fits(given.len(), &shape[axis])?;
    }
    if std.contains(&0.0) {
        return Err("the standard deviation must not be 0".into());
    }
    Ok(Type::Tensor { dtype: DType::F32, shape: shape.to_vec() })
}

/// Whether so many numbers can be those of the channels.
fn fits(count: usize, channels: &Extent) -> Result<(), String> {
    match channels {
        _ if count == 1 => Ok(()),
        Extent::Known(it) if *it == count as u64 => Ok(()),
        Extent::Known(it) => Err(format!("there are {count} numbers for {it} channels")),
        _ => Err(format!(
            "there are {count} numbers, but the number of channels is unknown: give one number \
             for all, or make the number of channels known"
        )),
    }
}

/// The numbers of a list, or the one number.
fn numbers(arg: &Arg) -> Result<Vec<f64>, String> {
    let number = |it: &Arg| match it {
        Arg::Int(it) => Ok(*it as f64),
        Arg::Float(it) => Ok(*it),
        _ => Err("`mean` and `std` must be numbers or lists of numbers".to_owned()),
    };
    match arg {
        Arg::List(all) if !all.is_empty() => all.iter().map(number).collect(),
        one => Ok(vec![number(one)?]),
    }
}

/// By what levels of a dtype are divided where the numbers lie in 0..1.
fn full(dtype: Option<DType>) -> f64 {
    match dtype {
        Some(DType::U8) => 255.0,
        Some(DType::U16) => 65_535.0,
        _ => 1.0,
    }
}

/// `scale` and `bias` of each channel.
fn affine(dtype: Option<DType>, mean: &[f64], std: &[f64]) -> Vec<(f64, f64)> {
    let grey_levels = mean.iter().chain(std).any(|it| *it > 1.0);
    let full = if grey_levels { 1.0 } else { full(dtype) };
    let channel = |i: usize| {
        let (mean, std) = (mean[i.min(mean.len() - 1)], std[i.min(std.len() - 1)]);
        (1.0 / (full * std), -mean / std)
    };
    (0..mean.len().max(std.len())).map(channel).collect()
}

fn read(args: &[Arg], dtype: DType) -> Option<Vec<(f64, f64)>> {
    let (mean, std) = (numbers(args.get(1)?).ok()?, numbers(args.get(2)?).ok()?);
    Some(affine(Some(dtype), &mean, &std))
}

/// The arguments that stand for these numbers, in the one reading of them or in the other.
fn write(args: &[Arg], dtype: DType, channels: &[(f64, f64)]) -> Option<Vec<Arg>> {
    let given = |full: f64| -> (Vec<f64>, Vec<f64>) {
        let std = |it: &(f64, f64)| 1.0 / (full * it.0);
        (channels.iter().map(|it| -it.1 * std(it)).collect(), channels.iter().map(std).collect())
    };
    let fulls = [full(Some(dtype)), 1.0];
    let is_meant = |(mean, std): &(Vec<f64>, Vec<f64>)| {
        let read = affine(Some(dtype), mean, std);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs().max(1e-300);
        read.iter().zip(channels).all(|(a, b)| near(a.0, b.0) && near(a.1, b.1))
    };
    let (mean, std) = fulls.into_iter().map(given).find(is_meant)?;
    let list = |it: Vec<f64>| Arg::List(it.into_iter().map(Arg::Float).collect());
    let mut args = args.to_vec();
    (args[1], args[2]) = (list(mean), list(std));
    Some(args)
}

/// The axis `number` of `rank`, counted from the end where it is negative.
fn axis(number: i64, rank: usize) -> Option<usize> {
    let rank = rank as i64;
    let axis = if number < 0 { number + rank } else { number };
    (0..rank).contains(&axis).then_some(axis as usize)
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let unknown = || Failure::Program("`normalize` is given numbers that are known".into());
    let (mean, std) = call.floats(1).zip(call.floats(2)).ok_or_else(unknown)?;
    let channels = affine(call.dtype(0), &mean, &std).into_iter();
    let channels =
        channels.map(|(scale, bias)| normalize::Affine { scale: scale as f32, bias: bias as f32 });
    let maps = normalize::Maps::new(channels.collect());
    let number = match call.args[3] {
        Arg::Int(it) => it,
        _ => -1,
    };

    Ok(Kernel::compute(move |args, out| {
        let image = args.tensor(0);
        let axis = axis(number, image.shape().len()).expect("the axis was checked");
        let far = out.is_far();
        normalize::normalize(&image, axis, &maps, out.tensor::<f32>(image.shape())?, far);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Value, noise, run_on, typed};
    use super::*;

    const MEAN: [f64; 3] = [0.485, 0.456, 0.406];
    const STD: [f64; 3] = [0.229, 0.224, 0.225];

    fn list(numbers: &[f64]) -> Value {
        Value::Known(Arg::List(numbers.iter().map(|it| Arg::Float(*it)).collect()))
    }

    fn normalized(view: Tensor<'_>, mean: &[f64], std: &[f64], axis: i64) -> Vec<f32> {
        let args = [0_i64.into(), list(mean), list(std), Value::Known(Arg::Int(axis))];
        let nothing = Tensor::nothing();
        let tensors = [view, nothing, nothing, nothing];
        let (shape, out) = run_on(&ENTRY, &args, &tensors).expect("it cannot fail");
        assert_eq!(shape, view.shape());
        out
    }

    /// The same, one element after the other.
    fn slowly(view: Tensor<'_>, axis: usize) -> Vec<f32> {
        let mut out = Vec::new();
        let [a, b, c] = [0, 1, 2].map(|it| view.shape()[it]);
        for at in (0..a * b * c).map(|i| [i / (b * c), i / c % b, i % c]) {
            let level = view.element(at[0]).element(at[1]).element(at[2]).first::<u8>();
            let (mean, std) = (MEAN[at[axis]], STD[at[axis]]);
            out.push(f32::from(level) * (1.0 / (255.0 * std)) as f32 + (-mean / std) as f32);
        }
        out
    }

    #[test]
    fn every_layout_gives_the_same_bits() {
        let levels = noise(1, 70 * 100 * 3);
        let whole = Tensor::new(&[70, 100, 3], &levels);
        for width in [1, 5, 31, 32, 33, 64, 99] {
            let crop = whole.narrowed(0, 3, 9).narrowed(1, 1, width);
            for view in [crop, crop.flipped(1), crop.flipped(0), crop.flipped(0).flipped(1)] {
                assert_eq!(normalized(view, &MEAN, &STD, -1), slowly(view, 2), "{width}");
                let first = view.permuted(&[2, 0, 1]);
                assert_eq!(normalized(first, &MEAN, &STD, 0), slowly(first, 0), "{width}");
                let middle = view.permuted(&[0, 2, 1]);
                assert_eq!(normalized(middle, &MEAN, &STD, 1), slowly(middle, 1), "{width}");
                let [one, three] = [&[0.4][..], &[0.4; 3]].map(|it| normalized(view, it, it, -1));
                assert_eq!(one, three, "{width}");
            }
        }
    }

    /// What goes past the caches to a row of a batch has the same bits, at whatever place.
    #[test]
    fn rows_of_a_batch_get_the_same_bits() {
        let levels = noise(2, 96 * 224 * 3);
        let maps = normalize::Maps::new(
            [0.5, 2.0, 3.0].map(|it| normalize::Affine { scale: it, bias: -it / 3.0 }).to_vec(),
        );
        for width in [224, 208, 60] {
            let image = Tensor::new(&[96, 224, 3], &levels).narrowed(1, (224 - width) / 2, width);
            for view in [image, image.flipped(1)].map(|it| it.permuted(&[2, 0, 1])) {
                let len = view.elements();
                let mut rooms = vec![0.0; 2 * len + 40];
                let first = rooms.as_ptr().align_offset(64);
                let (expected, made) = rooms.split_at_mut(len);
                normalize::normalize(&view, 0, &maps, expected, false);
                let first = (first + 16 - len % 16) % 16;
                for at in [first, first + 1] {
                    made.fill(0.0);
                    normalize::normalize(&view, 0, &maps, &mut made[at..][..len], true);
                    assert!(made[at..][..len] == *expected, "{width}, {at}");
                }
            }
        }
    }

    #[test]
    fn numbers_above_one_are_grey_levels() {
        let levels = [0_u8, 100, 200];
        let image = Tensor::new(&[1, 1, 3], &levels);
        assert_eq!(
            normalized(image, &[100.0, 50.0, 0.0], &[1.0, 2.0, 4.0], -1),
            [-100.0, 25.0, 50.0]
        );
        let floats = [0.5_f32, 0.25, 1.0];
        let image = Tensor::new(&[3, 1, 1], &floats);
        assert_eq!(normalized(image, &[0.25], &[0.5], -1), [0.5, 0.0, 1.5]);
        let words = [0_u16, 65_535];
        assert_eq!(normalized(Tensor::new(&[2], &words), &[0.5], &[0.5], -1), [-1.0, 1.0]);
    }

    #[test]
    fn what_it_does_can_be_read_and_written() {
        let floats = |it: &[f64]| Arg::List(it.iter().map(|it| Arg::Float(*it)).collect());
        let args = [Arg::None, floats(&MEAN), floats(&STD), Arg::Int(-1)];
        let known = read(&args, DType::U8).expect("its numbers are known");
        assert_eq!(known[0], (1.0 / (255.0 * 0.229), -0.485 / 0.229));
        // Of levels in 0..1, and of grey levels: a mean of 300 has to be of these.
        for wanted in [vec![(0.01, -0.5); 3], vec![(0.01, -3.0); 3]] {
            let args = write(&args, DType::U8, &wanted).expect("it can be said");
            let found = read(&args, DType::U8).expect("its numbers are known");
            assert!(found.iter().zip(&wanted).all(|(a, b)| (a.0 / b.0 - 1.0).abs() < 1e-12));
        }
        assert_eq!(write(&args, DType::U8, &[(0.0, 1.0)]), None);
    }

    #[test]
    fn numbers_fit_the_channels() {
        let of = |channels| Type::Tensor {
            dtype: DType::U8,
            shape: vec![Extent::Unknown, Extent::Known(4), channels],
        };
        let floats = |it: &[f64]| Arg::List(it.iter().map(|it| Arg::Float(*it)).collect());
        let found = |channels, mean: &[f64]| {
            typed(&ENTRY, of(channels), &[floats(mean), Arg::Float(0.5), Arg::Int(-1)])
        };
        assert_eq!(found(Extent::Known(3), &MEAN).as_deref(), Ok("f32[?, 4, 3]"));
        assert_eq!(found(Extent::Unknown, &[0.5]).as_deref(), Ok("f32[?, 4, ?]"));
        assert!(found(Extent::Known(1), &MEAN).is_err());
        assert!(found(Extent::Unknown, &MEAN).is_err());
    }
}
