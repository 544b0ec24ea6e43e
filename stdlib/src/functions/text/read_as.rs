//! `read_as`: what lies in a file as a value of a type; what `row["x"] as f32[n]` becomes where `row` is that of `hdf5`.

use super::{as_type, dataset::Place, reading};
use crate::{
    hdf5::{Dataset, Hdf5, Kind},
    prelude::*,
    tables::Damage,
};
use half::{bf16, f16};
use runtime::{
    Element, MAX_RANK,
    storage::{self, ReadError},
};
use std::path::Path;

function! {
    /// Reads a dataset of an HDF5 file as a value of the type `to`.
    ///
    /// `row["x"] as f32[n]` is short for it, where `row` is that of `hdf5`; `row["x"][a:b] as f32[n]` reads some rows, and of
    /// a dataset in chunks only the chunks that they lie in. Integers are read as integers of any size that can hold them,
    /// as floats, or as `bool` if they are 0 or 1; floats as floats, rounded to the nearest. A text without axes is `str`, opaque
    /// bytes and lists of `u8` are `bytes`. At most 1 GiB.
    ///
    /// Fails with `file-missing` or `file-unreadable` if the file cannot be read, is damaged, or holds what is not supported;
    /// `field-missing` if there is no such dataset; `dataset-type` or `dataset-shape` if the type is not that of the dataset.
    ///
    /// ```pipe no_run
    /// hdf5("*.h5") |> map { x: read_as(row["x"], f32[?]) }    # { x: f32[?] }
    /// ```
    "read_as(x: untyped, to: type) reads fails -> any",
    // Assumed: a file is opened, its head read, and a group searched; then deflate, as for `decode_png`.
    cost: Cost::out(40_000.0, 1.0),
    result: Some(|applied| match applied.ty(0) {
        Some(Type::Untyped(Untyped::Dataset)) => as_type::wanted(&applied.args[1]),
        Some(Type::Untyped(Untyped::Hdf5)) => {
            Err("it has named datasets: `row[\"name\"]` is one of them".to_owned())
        }
        _ => Err("it is not stored in a file: give it a type with `as`".to_owned()),
    }),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let Arg::Type(Type::Tensor { dtype, shape }) = call.args[1].clone() else {
        unreachable!("the result was checked to be a tensor")
    };
    Ok(Kernel::compute(move |args, out| {
        let place = Place::of(args.tensor(0).as_text())?;
        let file = opened(place.path)?;
        let name = place.name.unwrap_or_default();
        let unread = |it: Damage| unreadable(&place, &it);
        let found = file.dataset(name).map_err(|it| match file.has(name) {
            Ok(false) => missing(&file, &place),
            _ => unread(it),
        })?;
        let rows = place.rows(found.shape.first().copied().unwrap_or_default());
        match dtype {
            DType::Str | DType::Bytes => {
                let text = text_of(&found, &place, dtype)?;
                if dtype == DType::Str {
                    reading::checked(&text)?;
                }
                out.text(dtype, &text)
            }
            dtype => {
                let axes = axes_of(&found, &place, dtype, rows.end - rows.start)?;
                fits(&axes, &shape, name)?;
                let bytes = found.rows(rows).map_err(unread)?;
                write((&found, &bytes), dtype, &axes, out)
            }
        }
    }))
}

fn opened(path: &str) -> Result<Hdf5, Fault> {
    let at = Path::new(path);
    let io = |it| reading::unread(path, &ReadError::Io(it));
    let object = storage::of(at).open(at, &mut || ()).map_err(io)?;
    let len = object.stat().map_err(io)?.bytes;
    let named = |it: Damage| {
        Fault::new("file-unreadable", format!("`{path}`: {}: {}", it.message, it.help))
    };
    Hdf5::new(object, len).map_err(named)
}

fn unreadable(place: &Place<'_>, why: &Damage) -> Fault {
    let name = place.name.unwrap_or_default();
    let detail = format!("`{}`, dataset `{name}`: {}: {}", place.path, why.message, why.help);
    Fault::new("file-unreadable", detail)
}

/// What is wrong where there is no such dataset.
fn missing(file: &Hdf5, place: &Place<'_>) -> Fault {
    let name = place.name.unwrap_or_default();
    let names: Vec<String> =
        file.datasets().unwrap_or_default().into_iter().map(|it| it.name).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let which = match (plan::nearest(name, &all), &all[..]) {
        (Some(meant), _) => format!("did you mean `{meant}`?"),
        (None, []) => "it has none".to_owned(),
        (None, few @ [first, ..]) if few.len() > 8 => {
            format!("it has {}, such as `{first}`", few.len())
        }
        (None, few) => format!("the datasets are `{}`", few.join("`, `")),
    };
    let detail = format!("`{}` has no dataset `{name}`: {which}", place.path);
    Fault::new("field-missing", detail)
}

fn other_type(place: &Place<'_>, holds: &str, dtype: DType) -> Fault {
    let (path, name) = (place.path, place.name.unwrap_or_default());
    let detail =
        format!("dataset `{name}` of `{path}` holds {holds}, which cannot be read as `{dtype}`");
    Fault::new("dataset-type", detail)
}

/// Texts and bytes.
fn text_of(found: &Dataset, place: &Place<'_>, dtype: DType) -> Result<Vec<u8>, Fault> {
    let unread = |it: Damage| unreadable(place, &it);
    let kind = found.kind.as_ref().map_err(|it| other_type(place, it, dtype))?;
    if let (Kind::Numbers { dtype: DType::U8, .. }, [n], DType::Bytes) =
        (kind, &found.shape[..], dtype)
    {
        return Ok(found.rows(place.rows(*n)).map_err(unread)?.to_vec());
    }
    let rows = match found.shape[..] {
        [] => 0..1,
        // One of several is one too.
        [n] if place.rows(n).end - place.rows(n).start == 1 => place.rows(n),
        _ => return Err(other_type(place, &format!("{kind} along axes"), dtype)),
    };
    let bytes = found.rows(rows).map_err(unread)?;
    match kind {
        Kind::FixedText(padding) => Ok(crate::hdf5::without_padding(&bytes, *padding).to_vec()),
        Kind::FixedBytes => Ok(bytes.to_vec()),
        Kind::Text | Kind::Bytes => found.value(&bytes, 1).map_err(unread),
        kind => Err(other_type(place, &kind.to_string(), dtype)),
    }
}

/// The extents of the numbers that are read.
fn axes_of(
    found: &Dataset,
    place: &Place<'_>,
    dtype: DType,
    rows: u64,
) -> Result<Vec<usize>, Fault> {
    let other = |it: &str| other_type(place, it, dtype);
    let kind = found.kind.as_ref().map_err(|it| other(it))?;
    let Kind::Numbers { dtype: stored, shape, .. } = kind else {
        return Err(other(&kind.to_string()));
    };
    if stored.is_float() && !dtype.is_float() {
        return Err(other(&kind.to_string()));
    }
    if found.shape.is_empty() && place.is_part() {
        let (path, name) = (place.path, place.name.unwrap_or_default());
        let detail = format!("dataset `{name}` of `{path}` has no axes, and so no parts");
        return Err(Fault::new("dataset-shape", detail));
    }
    let first = (!found.shape.is_empty()).then_some(rows);
    let all = first.iter().chain(found.shape.iter().skip(1)).chain(shape);
    Ok(all.map(|it| usize::try_from(*it).unwrap_or(usize::MAX)).collect())
}

/// Whether these extents are those of the type.
fn fits(found: &[usize], wanted: &[Extent], name: &str) -> Result<(), Fault> {
    let is = |axis: usize| match &wanted[axis] {
        Extent::Known(n) => usize::try_from(*n) == Ok(found[axis]),
        Extent::Named(_) => {
            let twin = wanted[..axis].iter().position(|it| *it == wanted[axis]);
            twin.is_none_or(|it| found[it] == found[axis])
        }
        Extent::Unknown => true,
    };
    if found.len() == wanted.len() && found.len() <= MAX_RANK && (0..found.len()).all(is) {
        return Ok(());
    }
    let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
    let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    let (shown, wanted) = (shown.join(", "), wanted.join(", "));
    let detail =
        format!("dataset `{name}` has the extents [{shown}], which do not fit `[{wanted}]`");
    Err(Fault::new("dataset-shape", detail))
}

/// Writes numbers as those of another dtype.
fn write(
    (found, bytes): (&Dataset, &[u8]),
    dtype: DType,
    axes: &[usize],
    out: &mut Out<'_>,
) -> Result<(), Fault> {
    let Ok(Kind::Numbers { dtype: stored, .. }) = &found.kind else {
        unreachable!("these were found to be numbers")
    };
    let stored = *stored;
    if stored == dtype {
        out.room(dtype, Shape::new(axes))?.copy_from_slice(bytes);
        return Ok(());
    }
    macro_rules! to {
        ($($name:ident: $ty:ty),+) => {
            match dtype {
                $(DType::$name => from::<$ty>(stored, bytes, out.tensor(axes)?)
                    .map_err(|it| unfit(found, &it, dtype)),)+
                DType::Str | DType::Bytes => unreachable!("texts are no numbers"),
            }
        };
    }
    to!(
        Bool: bool, U8: u8, U16: u16, U32: u32, U64: u64, I8: i8, I16: i16, I32: i32, I64: i64,
        F16: f16, BF16: bf16, F32: f32, F64: f64
    )
}

fn unfit(found: &Dataset, number: &str, dtype: DType) -> Fault {
    let detail = format!("{number} of dataset `{}` does not fit into `{dtype}`", found.name);
    Fault::new("dataset-type", detail)
}

/// Converts numbers, until one does not fit.
fn from<T: Number>(stored: DType, bytes: &[u8], to: &mut [T]) -> Result<(), String> {
    macro_rules! each {
        ($ty:ty, $n:literal, $of:ident, $wide:expr) => {{
            let all = bytes.as_chunks::<$n>().0;
            for (to, it) in to.iter_mut().zip(all) {
                let number = <$ty>::from_ne_bytes(*it);
                *to = T::$of($wide(number)).ok_or_else(|| number.to_string())?;
            }
        }};
    }
    match stored {
        DType::Bool | DType::U8 => each!(u8, 1, of_int, i128::from),
        DType::U16 => each!(u16, 2, of_int, i128::from),
        DType::U32 => each!(u32, 4, of_int, i128::from),
        DType::U64 => each!(u64, 8, of_int, i128::from),
        DType::I8 => each!(i8, 1, of_int, i128::from),
        DType::I16 => each!(i16, 2, of_int, i128::from),
        DType::I32 => each!(i32, 4, of_int, i128::from),
        DType::I64 => each!(i64, 8, of_int, i128::from),
        DType::F16 => each!(f16, 2, of_float, f64::from),
        DType::BF16 => each!(bf16, 2, of_float, f64::from),
        DType::F32 => each!(f32, 4, of_float, f64::from),
        DType::F64 => each!(f64, 8, of_float, std::convert::identity),
        DType::Str | DType::Bytes => return Err("a text".to_owned()),
    }
    Ok(())
}

/// What a number of a file can become.
trait Number: Element {
    fn of_int(it: i128) -> Option<Self>;
    fn of_float(it: f64) -> Option<Self>;
}

macro_rules! integers {
    ($($ty:ty),+) => {$(
        impl Number for $ty {
            fn of_int(it: i128) -> Option<Self> {
                it.try_into().ok()
            }

            fn of_float(_: f64) -> Option<Self> {
                None
            }
        }
    )+};
}
integers!(u8, u16, u32, u64, i8, i16, i32, i64);

impl Number for bool {
    fn of_int(it: i128) -> Option<Self> {
        [false, true].into_iter().find(|of| i128::from(*of) == it)
    }

    fn of_float(_: f64) -> Option<Self> {
        None
    }
}

macro_rules! floats {
    ($($ty:ty: $int:expr, $float:expr);+) => {$(
        impl Number for $ty {
            fn of_int(it: i128) -> Option<Self> {
                Some(($int)(it))
            }

            fn of_float(it: f64) -> Option<Self> {
                Some(($float)(it))
            }
        }
    )+};
}
// The narrow ones through f32, as everywhere.
floats! {
    f16: |it: i128| f16::from_f32(it as f32), |it: f64| f16::from_f32(it as f32);
    bf16: |it: i128| bf16::from_f32(it as f32), |it: f64| bf16::from_f32(it as f32);
    f32: |it: i128| it as f32, |it: f64| it as f32;
    f64: |it: i128| it as f64, |it: f64| it
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};
    use std::fs;

    const ROWS: &[u8] = include_bytes!("../../tables/goldens/rows.h5");

    struct File(std::path::PathBuf);

    impl File {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let path = std::env::temp_dir().join(format!("pipec-{}-{name}.h5", std::process::id()));
            fs::write(&path, bytes).unwrap();
            Self(path)
        }

        fn read(&self, rest: &str, dtype: DType, shape: &[Extent]) -> Result<Value, Fault> {
            let place = format!("{}\0{rest}", self.0.display());
            let ty = Type::Tensor { dtype, shape: shape.to_vec() };
            let trial = Trial::of(&ENTRY).untyped_as(&place, Untyped::Dataset);
            trial.arg(Arg::Type(ty)).run()
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn numbers_and_texts_of_a_file() {
        let file = File::new("read-as", ROWS);
        let any = [Extent::Unknown];
        let run = |name: &str, dtype, shape: &[Extent]| file.read(name, dtype, shape).unwrap();
        assert_eq!(run("mean", DType::F64, &any), Value::of(&[2], &[0.5_f64, 0.25]));
        assert_eq!(run("mean\x00..1", DType::F32, &any), Value::of(&[1], &[0.5_f32]));
        assert_eq!(run("scalar", DType::I64, &[]), Value::of(&[], &[7_i64]));
        assert_eq!(run("scalar", DType::U8, &[]), Value::of(&[], &[7_u8]));
        let n: Vec<i16> = (0..23).map(|it| it * 3 - 5).collect();
        assert_eq!(run("n", DType::I16, &any), Value::of(&[23], &n));
        assert_eq!(run("n\x008..-9", DType::I16, &any), Value::of(&[6], &n[8..14]));
        assert_eq!(run("n\x002..9\x00-2..", DType::I16, &any), Value::of(&[2], &n[7..9]));
        assert_eq!(run("n\x009..2", DType::I16, &any), Value::of::<i16>(&[0], &[]));
        let grid: Vec<u8> = (12..18).collect();
        let axes = [Extent::Unknown, Extent::Known(2), Extent::Known(3)];
        assert_eq!(run("grid\x002..3", DType::U8, &axes), Value::of(&[1, 2, 3], &grid));
        assert_eq!(run("big\x001..2", DType::F64, &any), Value::of(&[1], &[1000_f64]));
        assert_eq!(run("ok\x00..2", DType::Bool, &any), Value::of(&[2], &[true, false]));
        assert_eq!(run("kind\x00..2", DType::Bool, &any), Value::of(&[2], &[false, true]));
        assert_eq!(
            run("pairs\x00-1..", DType::F32, &[Extent::Unknown, Extent::Known(2)]).shape,
            [1, 2]
        );
        assert_eq!(run("name\x003..4", DType::Str, &[]), Value::text("n3é"));
        assert_eq!(run("code\x003..4", DType::Str, &[]), Value::text("ccc"));
        assert_eq!(run("blob\x005..6", DType::Bytes, &[]), Value::bytes(&[5, 5]));
        assert_eq!(run("void\x005..6", DType::Bytes, &[]), Value::bytes(&[5, 0, 7]));
        assert_eq!(run("kind\x00..4", DType::Bytes, &[]), Value::bytes(&[0, 1, 2, 0]));
    }

    #[test]
    fn what_does_not_fit_is_a_fault() {
        let file = File::new("unfit", ROWS);
        let any = [Extent::Unknown];
        for (name, dtype, shape, code, part) in [
            ("n", DType::U8, &any[..], "dataset-type", "-5 of dataset `n` does not fit into `u8`"),
            ("kind", DType::Bool, &any, "dataset-type", "2 of dataset `kind`"),
            ("x", DType::I32, &any, "dataset-type", "`x` of"),
            ("name", DType::F32, &any, "dataset-type", "holds text of any length"),
            ("name", DType::Str, &[], "dataset-type", "along axes"),
            ("both", DType::F32, &any, "dataset-type", "records of several members"),
            ("zstd", DType::F32, &any, "dataset-type", "filter 32015 (Zstandard)"),
            ("n", DType::I64, &[], "dataset-shape", "the extents [23], which do not fit `[]`"),
            ("n", DType::I64, &[Extent::Known(4)], "dataset-shape", "[23]"),
            ("scalar\x00..1", DType::I64, &any, "dataset-shape", "no parts"),
            ("men", DType::I64, &any, "field-missing", "did you mean `mean`?"),
            ("more", DType::I64, &any, "field-missing", "has no dataset `more`"),
            ("", DType::I64, &any, "field-missing", "such as `big`"),
        ] {
            let fault = file.read(name, dtype, shape).unwrap_err();
            assert_eq!(fault.code, code, "{name}: {fault}");
            assert!(fault.detail.contains(part), "{fault}");
        }
        for bytes in [&b""[..], b"a,b\n", &ROWS[..1000]] {
            let file = File::new("torn", bytes);
            let fault = file.read("n", DType::I64, &any).unwrap_err();
            assert_eq!(fault.code, "file-unreadable", "{fault}");
        }
        drop(fs::remove_file(&file.0));
        assert_eq!(file.read("n", DType::I64, &any).unwrap_err().code, "file-missing");
    }
}
