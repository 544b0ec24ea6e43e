//! What a feature of `tf.train.Example` or `tf.train.SequenceExample` becomes with `as`.

use super::example::{Feature, Kind, LIST, not_one, steps};
use crate::{prelude::*, protobuf::syntax};
use half::{bf16, f16};
use runtime::{Element, MAX_RANK};

/// Why a feature cannot be read as such a tensor, where it cannot.
pub(super) fn check(shape: &[Extent], of_sequence: bool) -> Result<(), String> {
    let inner = if of_sequence { shape.get(1..).unwrap_or_default() } else { shape };
    if inner.iter().filter(|it| !matches!(it, Extent::Known(_))).count() > 1 {
        let which = if of_sequence { "of a step " } else { "" };
        return Err(format!("a feature is one list, so only one extent {which}can be `?`"));
    }
    Ok(())
}

/// Makes the kernel for such a dtype and shape.
pub(super) fn kernel(dtype: DType, shape: Vec<Extent>, of_sequence: bool) -> Kernel {
    macro_rules! by_dtype {
        ($($name:ident: $ty:ty),+) => {
            match dtype {
                DType::Str | DType::Bytes => Kernel::view(move |args| {
                    let bytes = args.tensor(0).as_text();
                    let feature = if of_sequence { untagged(bytes)?.1 } else { bytes };
                    let text = Feature::new(feature)?.text()?;
                    if dtype == DType::Str {
                        super::reading::checked(text)?;
                    }
                    Ok(Tensor::text(dtype, text))
                }),
                $(DType::$name => Kernel::compute(move |args, out| {
                    let bytes = args.tensor(0).as_text();
                    match if of_sequence { untagged(bytes)? } else { (false, bytes) } {
                        (true, list) => read_steps::<$ty>(list, &shape, out),
                        (false, feature) => read::<$ty>(Feature::new(feature)?, &shape, out),
                    }
                }),)+
            }
        };
    }
    by_dtype!(
        Bool: bool, U8: u8, U16: u16, U32: u32, U64: u64, I8: i8, I16: i16, I32: i32, I64: i64,
        F16: f16, BF16: bf16, F32: f32, F64: f64
    )
}

/// Writes a feature as numbers of such a dtype; none where it cannot be read so.
pub(super) fn write(
    dtype: DType,
    (feature, axes): (Feature<'_>, &[Extent]),
    out: &mut Out<'_>,
) -> Option<()> {
    macro_rules! by_dtype {
        ($($name:ident: $ty:ty),+) => {
            match dtype {
                DType::Str | DType::Bytes => None,
                $(DType::$name => read::<$ty>(feature, axes, out).ok(),)+
            }
        };
    }
    by_dtype!(
        Bool: bool, U8: u8, U16: u16, U32: u32, U64: u64, I8: i8, I16: i16, I32: i32, I64: i64,
        F16: f16, BF16: bf16, F32: f32, F64: f64
    )
}

/// Whether it is a list of features, and the message.
fn untagged(bytes: &[u8]) -> Result<(bool, &[u8]), Fault> {
    let (tag, message) = bytes.split_first().ok_or_else(|| syntax("it is empty".to_owned()))?;
    Ok((*tag == LIST, message))
}

fn read<T: Number>(feature: Feature<'_>, axes: &[Extent], out: &mut Out<'_>) -> Result<(), Fault> {
    // Of the wrong kind it is not counted: that is what is said of it.
    T::check(&feature)?;
    let n = feature.count()?;
    if axes.is_empty() && n != 1 {
        return Err(not_one(n));
    }
    let shape = agreed(axes, n)?;
    T::fill(&feature, out.tensor::<T>(&shape[..axes.len()])?)
}

/// Reads a list of features, a step each, which must be alike.
fn read_steps<T: Number>(list: &[u8], axes: &[Extent], out: &mut Out<'_>) -> Result<(), Fault> {
    let [outer, inner @ ..] = axes else {
        let detail = "expected one value, found a list of steps: write `[n]` after the dtype";
        return Err(Fault::new("example-shape", detail));
    };
    let (mut n_steps, mut each) = (0, None);
    for step in steps(list) {
        let feature = Feature::new(step?)?;
        T::check(&feature)?;
        let n = feature.count()?;
        let first = *each.get_or_insert(n);
        if first != n {
            let detail = format!("step 0 has {first} values, but step {n_steps} has {n}");
            return Err(Fault::new("example-shape", detail));
        }
        n_steps += 1;
    }
    if inner.is_empty() && each.is_some_and(|it| it != 1) {
        let n = each.unwrap_or_default();
        let detail = format!("each step has {n} values: write `[n, {n}]` after the dtype");
        return Err(Fault::new("example-shape", detail));
    }
    let mut shape = [0; MAX_RANK];
    shape[..1].copy_from_slice(&agreed(std::slice::from_ref(outer), n_steps)?[..1]);
    // Of no steps nobody knows how many values one would have.
    let each = each.unwrap_or_else(|| inner.iter().map(|it| known(it).unwrap_or(0)).product());
    shape[1..axes.len()].copy_from_slice(&agreed(inner, each)?[..inner.len()]);
    let mut to = out.tensor::<T>(&shape[..axes.len()])?;
    for step in steps(list) {
        let (here, rest) = to.split_at_mut_checked(each).unwrap_or_default();
        T::fill(&Feature::new(step?)?, here)?;
        to = rest;
    }
    Ok(())
}

fn known(extent: &Extent) -> Option<usize> {
    if let Extent::Known(n) = extent { usize::try_from(*n).ok() } else { None }
}

/// The extents of `n` elements: the one that the type leaves open follows from the others.
fn agreed(axes: &[Extent], n: usize) -> Result<[usize; MAX_RANK], Fault> {
    let mut shape = [0; MAX_RANK];
    let fixed: usize = axes.iter().filter_map(known).fold(1, usize::saturating_mul);
    let open = match axes.iter().filter(|it| known(it).is_none()).count() {
        0 => None,
        1 if fixed > 0 => Some(n / fixed),
        1 => Some(0),
        _ => {
            let detail = "this feature is one list, so only one extent can be `?`";
            return Err(Fault::new("example-shape", detail));
        }
    };
    if fixed.saturating_mul(open.unwrap_or(1)) != n {
        let wanted: Vec<String> = axes.iter().map(ToString::to_string).collect();
        let detail =
            format!("this feature has {n} values, which do not fit `[{}]`", wanted.join(", "));
        return Err(Fault::new("example-shape", detail));
    }
    for (to, axis) in shape.iter_mut().zip(axes) {
        *to = known(axis).or(open).unwrap_or_default();
    }
    Ok(shape)
}

/// An element that a feature can hold.
trait Number: Element {
    /// Whether a feature is a list of such.
    fn check(feature: &Feature<'_>) -> Result<(), Fault> {
        feature.expect(Kind::Ints)
    }

    /// Writes the values of a feature, which are as many as `to` has elements.
    fn fill(feature: &Feature<'_>, to: &mut [Self]) -> Result<(), Fault>;
}

macro_rules! ints {
    ($($ty:ty),+) => {$(
        impl Number for $ty {
            fn fill(feature: &Feature<'_>, to: &mut [Self]) -> Result<(), Fault> {
                feature.ints(to, |it| Self::try_from(it).map_err(|_| outside::<Self>(it)))
            }
        }
    )+};
}
ints!(u8, u16, u32, u64, i8, i16, i32, i64);

impl Number for bool {
    fn fill(feature: &Feature<'_>, to: &mut [Self]) -> Result<(), Fault> {
        feature.ints(to, |it| match it {
            0 | 1 => Ok(it == 1),
            _ => Err(outside::<Self>(it)),
        })
    }
}

macro_rules! floats {
    ($($ty:ty: $of:expr;)+) => {$(
        impl Number for $ty {
            fn check(feature: &Feature<'_>) -> Result<(), Fault> {
                if feature.kind() == Kind::Ints {
                    let detail = format!("this feature is a list of `i64`, expected `{}`: write \
                                          `{0}(… as i64)`", Self::DTYPE);
                    return Err(Fault::new("example-type", detail));
                }
                feature.expect(Kind::Floats)
            }

            fn fill(feature: &Feature<'_>, to: &mut [Self]) -> Result<(), Fault> {
                Self::check(feature)?;
                feature.floats(to, $of)
            }
        }
    )+};
}
floats! {
    f16: f16::from_f32;
    bf16: bf16::from_f32;
    f32: |it| it;
    f64: f64::from;
}

fn outside<T: Element>(number: i64) -> Fault {
    Fault::new("example-type", format!("{number} does not fit into `{}`", T::DTYPE))
}
