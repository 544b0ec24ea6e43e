//! `as_type`: untyped data as a value of a type; what `x as f32[n]` becomes.

use super::{
    as_array, as_feature,
    json::{self, Scan, shown},
    reading,
};
use crate::{
    numbers::{self, Usual},
    prelude::*,
};
use half::{bf16, f16};
use runtime::{Builder, Element, MAX_RANK};

function! {
    /// Converts untyped data to the type `to`.
    ///
    /// `x as f32[n]` is short for it. A single number or `bool` becomes a scalar, a string `str` (or `bytes`,
    /// its UTF-8), and nested lists a tensor. Lists in the same list must have the same length (`json-shape`).
    /// Extents of the type that are numbers, or names that occur twice in it, are checked; others can be
    /// anything. For an empty list, the extents that the type leaves open are 0. Integers must be exact and in
    /// the range of the dtype (`3.0` is 3, `3.5` fails), floats are rounded to the nearest, and `null` cannot
    /// be converted (`json-type`).
    ///
    /// A feature of a `tf.train.Example` is a single list. Several values become a tensor, of which one extent
    /// can be left open; one value becomes a scalar; another number of values fails with `example-shape`.
    /// Integers are read as integers or `bool`, floats as floats, strings as `bytes` or `str`; anything else
    /// fails with `example-type`. A feature list of a `SequenceExample` has its steps along the first axis, and
    /// all steps must have the same shape. A file in a record of `tar` is `bytes` or `str`, or the JSON in it.
    ///
    /// An array of `decode_npy` or `read_npy` must have the axes of the type (`npy-shape`). Integers and `bool` are
    /// read as integers or `bool` that hold them, floats as floats; anything else fails with `npy-type`.
    ///
    /// ```pipe
    /// range(2) |> map { x: parse_json("[[1, 2], [3, 4]]") as f32[n, 2] }    # { x: f32[n, 2] }
    /// ```
    "as_type(x: untyped, to: type) fails -> any",
    // Assumed: three nanoseconds a byte, read twice.
    cost: Cost { ns_byte_in: 6.0, ..Cost::call(40.0) },
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let ty = wanted(&applied.args[1])?;
    match applied.ty(0) {
        Some(Type::Untyped(it @ (Untyped::Feature | Untyped::SequenceFeature))) => {
            let shape = ty.shape().unwrap_or_default();
            as_feature::check(shape, it == Untyped::SequenceFeature)?;
        }
        Some(Type::Untyped(Untyped::Example | Untyped::Sequence | Untyped::Members)) => {
            return Err("it has named fields: `row[\"name\"]` is one of them".to_owned());
        }
        Some(Type::Untyped(Untyped::Npy)) if ty.dtype().is_some_and(DType::is_text) => {
            return Err(
                "an array of NumPy holds numbers: write `x as f32[n]`, for example".to_owned()
            );
        }
        Some(Type::Untyped(it)) if it.lies_in_file() => {
            return Err("it is stored in a file: read it with `read_as`".to_owned());
        }
        _ => {}
    }
    Ok(ty)
}

/// The type that untyped data are to have, if they can.
pub(super) fn wanted(to: &Arg) -> Result<Type, String> {
    match to {
        Arg::Type(Type::Tensor { dtype, shape }) if dtype.is_text() && !shape.is_empty() => {
            Err(format!(
                "tensors of `{dtype}` cannot be read yet: read one at a time, `x[0] as {dtype}`"
            ))
        }
        Arg::Type(Type::Tensor { shape, .. }) if shape.len() > MAX_RANK => {
            Err(format!("a tensor has at most {MAX_RANK} axes"))
        }
        Arg::Type(ty @ Type::Tensor { .. }) => Ok(ty.clone()),
        Arg::Type(Type::Untyped(_)) => Err("the value is untyped already".into()),
        _ => Err("a record is read field by field: `{ a: row[\"a\"] as i32 }`".into()),
    }
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let Arg::Type(Type::Tensor { dtype, shape }) = call.args[1].clone() else {
        unreachable!("the result was checked to be a tensor")
    };
    match call.types[0] {
        Some(Type::Untyped(Untyped::Feature)) => {
            return Ok(as_feature::kernel(dtype, shape, false));
        }
        Some(Type::Untyped(Untyped::SequenceFeature)) => {
            return Ok(as_feature::kernel(dtype, shape, true));
        }
        Some(Type::Untyped(Untyped::Npy)) => return Ok(as_array::kernel(dtype, shape)),
        Some(Type::Untyped(Untyped::Bytes)) if dtype.is_text() => {
            return Ok(Kernel::view(move |args| {
                let bytes = args.tensor(0).as_text();
                if dtype == DType::Str {
                    reading::checked(bytes)?;
                }
                Ok(Tensor::text(dtype, bytes))
            }));
        }
        _ => {}
    }
    let is_checked = call.types[0] == Some(Type::Untyped(Untyped::Json));
    macro_rules! by_dtype {
        ($($name:ident: $ty:ty),+) => {
            match dtype {
                DType::Str | DType::Bytes => Kernel::compute(move |args, out| {
                    out.text(dtype, &json::string(args.tensor(0).as_text())?)
                }),
                $(DType::$name => Kernel::compute(move |args, out| {
                    let json = reading::checked_unless(is_checked, args.tensor(0).as_text())?;
                    read::<$ty>(json, &shape, out)
                }),)+
            }
        };
    }
    Ok(by_dtype!(
        Bool: bool, U8: u8, U16: u16, U32: u32, U64: u64, I8: i8, I16: i16, I32: i32, I64: i64,
        F16: f16, BF16: bf16, F32: f32, F64: f64
    ))
}

/// Moves past a scalar of JSON, and appends it; none where it is none of that dtype.
pub(super) fn append(dtype: DType, scan: &mut Scan<'_>, to: &mut Builder) -> Option<()> {
    fn scalar<T: Word>(scan: &mut Scan<'_>, to: &mut Builder) -> Option<()> {
        let usual = scan.usual().and_then(|it| Some((T::usual(&it)?, it.len)));
        let value = match usual {
            Some((value, len)) => {
                scan.pass(len);
                value
            }
            None => T::read(scan.plain_word()?)?,
        };
        to.push_scalar(value);
        Some(())
    }
    macro_rules! by_dtype {
        ($($name:ident: $ty:ty),+) => {
            match dtype {
                DType::Str | DType::Bytes => None,
                $(DType::$name => scalar::<$ty>(scan, to),)+
            }
        };
    }
    by_dtype!(
        Bool: bool, U8: u8, U16: u16, U32: u32, U64: u64, I8: i8, I16: i16, I32: i32, I64: i64,
        F16: f16, BF16: bf16, F32: f32, F64: f64
    )
}

/// Reads lists in lists: once for their lengths, once for the numbers.
fn read<T: Word>(json: &[u8], axes: &[Extent], out: &mut Out<'_>) -> Result<(), Fault> {
    if axes.is_empty() {
        let word = scalar::<T>(&mut Scan::new(json))?;
        return out.scalar(T::read(word).ok_or_else(|| no::<T>(word))?);
    }
    let mut found = [None; MAX_RANK];
    let found = &mut found[..axes.len()];
    measure::<T>(&mut Scan::new(json), found)?;
    let extents = agreed(axes, found)?;

    let mut scan = Scan::new(json);
    for to in out.tensor::<T>(&extents[..axes.len()])? {
        while scan.closes(b'[') || scan.closes(b']') || scan.closes(b',') {}
        let word = scan.word()?;
        *to = T::read(word).ok_or_else(|| no::<T>(word))?;
    }
    Ok(())
}

fn no<T: Word>(word: &[u8]) -> Fault {
    let word = shown(&String::from_utf8_lossy(word));
    Fault::new("json-type", format!("{word} is not a valid `{}`", T::DTYPE))
}

/// Moves past a single value.
fn scalar<'a, T: Word>(scan: &mut Scan<'a>) -> Result<&'a [u8], Fault> {
    let wanted = if T::DTYPE == DType::Bool { "a boolean" } else { "a number" };
    scan.word().map_err(|_| scan.other(wanted))
}

/// Finds the length of lists in lists, as deep as there are axes.
fn measure<T: Word>(scan: &mut Scan<'_>, found: &mut [Option<usize>]) -> Result<(), Fault> {
    let Some((extent, inner)) = found.split_first_mut() else {
        return scalar::<T>(scan).map(|_| ());
    };
    scan.begin(b'[', "a list")?;
    let mut n = 0;
    let mut more = !scan.closes(b']');
    while more {
        n += 1;
        measure::<T>(scan, inner)?;
        more = scan.goes_on(b']')?;
    }
    if let Some(before) = extent.replace(n).filter(|it| *it != n) {
        let detail = format!(
            "all lists along an axis must have the same length, found {before} and {n} elements"
        );
        return Err(Fault::new("json-shape", detail));
    }
    Ok(())
}

/// The extents that were found, if they are those of the type.
fn agreed(axes: &[Extent], found: &[Option<usize>]) -> Result<[usize; MAX_RANK], Fault> {
    let mut extents = [0; MAX_RANK];
    for (axis, (wanted, found)) in axes.iter().zip(found).enumerate() {
        // The axis whose extent this one must have.
        let twin = axes[..axis].iter().position(|it| it == wanted);
        let expected = match wanted {
            Extent::Known(n) => Some(*n as usize),
            Extent::Named(_) => twin.map(|it| extents[it]),
            Extent::Unknown => None,
        };
        let extent = found.or(expected).unwrap_or(0);
        if expected.is_some_and(|it| it != extent) {
            let expected = expected.unwrap_or_default();
            let detail = format!("expected {expected} elements along axis {axis}, found {extent}");
            return Err(Fault::new("json-shape", detail));
        }
        extents[axis] = extent;
    }
    Ok(extents)
}

/// An element that a number, `true` or `false` of JSON can say.
trait Word: Element {
    fn read(word: &[u8]) -> Option<Self>;

    /// The same of a number that is usual, where that is quick.
    fn usual(number: &Usual) -> Option<Self>;
}

impl Word for bool {
    fn read(word: &[u8]) -> Option<Self> {
        parsed(word)
    }

    fn usual(_: &Usual) -> Option<Self> {
        None
    }
}

fn parsed<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    str::from_utf8(word).ok()?.parse().ok()
}

macro_rules! integers {
    ($($ty:ty),+) => {$(
        impl Word for $ty {
            fn read(word: &[u8]) -> Option<Self> {
                match numbers::whole(word) {
                    Some(it) => it.try_into().ok(),
                    None => parsed(word).or_else(|| whole(word)?.try_into().ok()),
                }
            }

            fn usual(number: &Usual) -> Option<Self> {
                number.whole()?.try_into().ok()
            }
        }
    )+};
}
integers!(u8, u16, u32, u64, i8, i16, i32, i64);

/// A whole number that is written as a float, such as `3.0`, as far as floats are exact.
fn whole(word: &[u8]) -> Option<i64> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    let is_float = word.iter().any(|it| matches!(it, b'.' | b'e' | b'E'));
    let number = is_float.then(|| numbers::float(word))??;
    (number.fract() == 0.0 && number.abs() <= EXACT_MAX).then_some(number as i64)
}

macro_rules! floats {
    ($($ty:ty: $read:expr, $usual:expr);+) => {$(
        impl Word for $ty {
            fn read(word: &[u8]) -> Option<Self> {
                ($read)(word)
            }

            fn usual(number: &Usual) -> Option<Self> {
                ($usual)(number)
            }
        }
    )+};
}
// The narrow ones through f32, as everywhere.
floats! {
    f16: |it: &[u8]| numbers::single(it).map(f16::from_f32), |it: &Usual| it.single().map(f16::from_f32);
    bf16: |it: &[u8]| numbers::single(it).map(bf16::from_f32), |it: &Usual| it.single().map(bf16::from_f32);
    f32: numbers::single, Usual::single;
    f64: numbers::float, Usual::float
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    fn trial<'a>(json: &'a str, dtype: DType, shape: &[Extent]) -> Trial<'a> {
        let ty = Type::Tensor { dtype, shape: shape.to_vec() };
        Trial::of(&ENTRY).untyped(json).arg(Arg::Type(ty))
    }

    fn named(name: &str) -> Extent {
        Extent::Named(name.into())
    }

    #[test]
    fn scalars() {
        let run = |json, dtype| trial(json, dtype, &[]).run();
        assert_eq!(run(" 255 ", DType::U8), Ok(Value::of(&[], &[255_u8])));
        assert_eq!(run("-3.0e2", DType::I16), Ok(Value::of(&[], &[-300_i16])));
        assert_eq!(run("18446744073709551615", DType::U64), Ok(Value::of(&[], &[u64::MAX])));
        assert_eq!(
            run("9007199254740993", DType::I64),
            Ok(Value::of(&[], &[9_007_199_254_740_993_i64]))
        );
        assert_eq!(run("0.1", DType::F32), Ok(Value::of(&[], &[0.1_f32])));
        assert_eq!(run("-Infinity", DType::F64), Ok(Value::of(&[], &[f64::NEG_INFINITY])));
        assert_eq!(run("0.5", DType::F16), Ok(Value::of(&[], &[f16::from_f32(0.5)])));
        assert_eq!(run("true", DType::Bool), Ok(Value::of(&[], &[true])));
        assert_eq!(run(r#""a\nb""#, DType::Str), Ok(Value::text("a\nb")));
        assert_eq!(run(r#""é""#, DType::Bytes), Ok(Value::bytes("é".as_bytes())));
    }

    #[test]
    fn what_is_something_else_is_a_fault() {
        let cases = [
            ("256", DType::U8),
            ("-1", DType::U64),
            ("3.5", DType::I32),
            ("1e300", DType::I64),
            ("null", DType::F32),
            ("true", DType::I32),
            ("1", DType::Bool),
            ("\"1\"", DType::I32),
            ("[1]", DType::I32),
            ("{}", DType::F32),
            ("NaN", DType::I32),
        ];
        for (json, dtype) in cases {
            assert_eq!(
                trial(json, dtype, &[]).run().unwrap_err().code,
                "json-type",
                "{json} as {dtype}"
            );
        }
        let detail = |json, dtype| trial(json, dtype, &[]).run().unwrap_err().detail;
        assert_eq!(detail("\"1\"", DType::I32), "expected a number, found `\"1\"` at byte 0");
        assert_eq!(detail("[1]", DType::Bool), "expected a boolean, found `[1]` at byte 0");
        assert_eq!(detail("3.5", DType::I32), "`3.5` is not a valid `i32`");
        let code = |json, dtype| trial(json, dtype, &[]).run().unwrap_err().code;
        for json in ["1", "null", "[\"a\"]", "{}"] {
            assert_eq!(code(json, DType::Str), "json-type", "{json}");
        }
        for json in ["\"a", "nul", "[1", ""] {
            assert_eq!(code(json, DType::Str), "json-syntax", "{json}");
            assert_eq!(code(json, DType::I32), "json-syntax", "{json}");
        }
    }

    #[test]
    fn lists_in_lists_are_tensors() {
        let run = |json, shape: &[Extent]| trial(json, DType::F32, shape).run();
        let (n, two) = (named("n"), Extent::Known(2));
        let values = [1_f32, 2., 3., 4., 5., 6.];
        let json = " [[1, 2], [3.0,4e0] ,[5,6] ] ";
        assert_eq!(run(json, &[n.clone(), two.clone()]), Ok(Value::of(&[3, 2], &values)));
        assert_eq!(run(json, &[Extent::Unknown, Extent::Unknown]), Ok(Value::of(&[3, 2], &values)));
        assert_eq!(run("[]", &[n.clone(), two.clone()]), Ok(Value::of::<f32>(&[0, 2], &[])));
        assert_eq!(run("[]", &[n.clone(), Extent::Unknown]), Ok(Value::of::<f32>(&[0, 0], &[])));
        assert_eq!(run("[[], []]", &[two, n]), Ok(Value::of::<f32>(&[2, 0], &[])));
        assert_eq!(
            run("[[[7]]]", &[Extent::Unknown, Extent::Unknown, Extent::Unknown]),
            Ok(Value::of(&[1, 1, 1], &[7_f32]))
        );
    }

    #[test]
    fn lists_that_do_not_fit_are_faults() {
        let code = |json, shape: &[Extent]| trial(json, DType::I64, shape).run().unwrap_err().code;
        let any = [Extent::Unknown, Extent::Unknown];
        assert_eq!(code("[[1, 2], [3]]", &any), "json-shape");
        assert_eq!(code("[1, 2, 3]", &[Extent::Known(2)]), "json-shape");
        assert_eq!(code("[]", &[Extent::Known(2)]), "json-shape");
        assert_eq!(code("[[1, 2]]", &[named("n"), named("n")]), "json-shape");
        assert_eq!(code("[1]", &any), "json-type");
        assert_eq!(code("[[[1]]]", &any), "json-type");
        assert_eq!(code("[1, 2", &any[..1]), "json-syntax");
        assert_eq!(code("[1 2]", &any[..1]), "json-syntax");
        assert_eq!(code("[1, null]", &any[..1]), "json-type");
    }

    #[test]
    fn some_types_cannot_be_read() {
        assert!(trial("[]", DType::Str, &[Extent::Unknown]).refused().contains("one at a time"));
        assert!(trial("[]", DType::U8, &vec![Extent::Unknown; 7]).refused().contains("6 axes"));
        let record = Arg::Type(Type::Record(Vec::new()));
        assert!(Trial::of(&ENTRY).untyped("{}").arg(record).refused().contains("field by field"));
    }
}
