//! TFRecords, tar archives, records of one size and arrays: what is read of a file does not depend on the way it is read.
//! What is damaged is a fault of its record, or ends the run where it is the header of a file.

use super::{
    scratch::{Folder, split},
    tables::{read, source},
};
use plan::{Arg, DType, Extent, Field, Type, Untyped};
use runtime::{Args, Call, Kernels, Out, Philox, Scratch, Tensor};
use written::Feature;

#[path = "../../../../pipec/tests/common/shards.rs"]
#[allow(dead_code, reason = "the tests of `pipec` use the rest")]
pub(crate) mod written;

thread_local! {
    static FOLDER: Folder = Folder::new("shards");
}

/// Reads TFRecords. The first byte says how; the rest is the file.
pub(crate) fn tfrecord(bytes: &[u8]) {
    let (way, file) = split(bytes);
    let form = ["example", "sequence", "bytes"][usize::from(way & 3).min(2)];
    let ty = [
        Type::Untyped(Untyped::Example),
        Type::Untyped(Untyped::Sequence),
        Type::scalar(DType::Bytes),
    ];
    let ty = ty[usize::from(way & 3).min(2)].clone();
    let name = if form == "bytes" { "bytes" } else { "row" };
    let check = Arg::Bool(way & 4 == 0);
    let own = vec![Arg::Word(form.to_owned()), check.clone()];
    shard("tfrecord", file, (name, ty), own, (way & 8 == 0, &[Arg::None]));
    if form == "example" {
        typed(file, check);
    }
}

/// What is read with each record as columns is what is found in it.
fn typed(file: &[u8], check: Arg) {
    let list = |dtype| Type::Tensor { dtype, shape: vec![Extent::Unknown] };
    let wanted = [("/a", list(DType::F32)), ("/n", list(DType::I64))];
    let typed = wanted.iter().map(|(name, ty)| ((*name).to_owned(), Arg::Type(ty.clone())));
    FOLDER.with(|folder| {
        let path = folder.write("typed", file);
        let files = Arg::Text(path.to_string_lossy().into_owned());
        let form = Arg::Word("example".to_owned());
        let typed = Arg::Record(typed.collect());
        let args = [files, form, check, Arg::None, Arg::Bool(false), typed];
        let untyped = Type::Untyped(Untyped::Example);
        let known = Type::scalar(DType::Bool);
        let all = [("row", untyped.clone()), ("row.rest", untyped), ("row/a", list(DType::F32))];
        let all = all.into_iter().chain([("row/n", list(DType::I64)), ("row.typed", known)]);
        let fields: Vec<Field> =
            all.map(|(name, ty)| Field { name: name.to_owned(), ty }).collect();
        let Ok(rows) = read(&*source("tfrecord", &args, &fields), &fields) else { return };
        for (_, columns) in rows.iter().filter(|it| it.1[4] == [1]) {
            assert!(columns[1].is_empty(), "nothing is left to be found");
            for (at, (name, ty)) in wanted.iter().enumerate() {
                assert_eq!(found(&columns[0], &name[1..], ty).as_ref(), Some(&columns[2 + at]));
            }
        }
    });
}

/// A feature of an example, one after the other.
fn found(row: &[u8], name: &str, ty: &Type) -> Option<Vec<u8>> {
    let (of, feature) = (Type::Untyped(Untyped::Example), Type::Untyped(Untyped::Feature));
    let args = [Tensor::text(DType::Bytes, row), Tensor::text(DType::Str, name.as_bytes())];
    let part = call("untyped_field", &args, (&of, &feature), Arg::None)?;
    let to = Arg::Type(ty.clone());
    call("as_type", &[Tensor::text(DType::Bytes, &part)], (&feature, ty), to)
}

/// Reads a tar archive. The first byte says how; the rest is the file.
pub(crate) fn tar(bytes: &[u8]) {
    let (way, file) = split(bytes);
    shard("tar", file, ("files", Type::Untyped(Untyped::Members)), Vec::new(), (way & 8 == 0, &[]));
}

/// Reads records of one size. The first byte says which, and how; the rest is the file.
pub(crate) fn records(bytes: &[u8]) {
    let (way, file) = split(bytes);
    let (size, skip) = (1 + i64::from(way & 7), i64::from(way >> 4));
    let own = vec![Arg::Int(size), Arg::Int(skip)];
    shard("records", file, ("bytes", Type::scalar(DType::Bytes)), own, (way & 8 == 0, &[]));
}

/// Reads an array. The first byte is cut off; the rest is the file.
pub(crate) fn npy(bytes: &[u8]) {
    let (_, file) = split(bytes);
    FOLDER.with(|folder| {
        let path = folder.write("array.npy", file);
        let args = [Arg::Text(path.to_string_lossy().into_owned()), Arg::None];
        let Ok(fields) = stdlib::probe("npy", &args) else { return };
        let Ok(rows) = read(&*source("npy", &args, &fields), &fields) else { return };
        let row_bytes = fields[0].ty.fixed_bytes().expect("a row has one size");
        let elements: Vec<u8> = rows.into_iter().flat_map(|it| it.1.concat()).collect();
        let begin = file.len() - elements.len();
        assert!(begin >= 10 && elements.len().is_multiple_of(row_bytes));
        // Bytes of a row in big endian are turned round, those of booleans are 0 or 1.
        if !String::from_utf8_lossy(&file[..begin]).contains('>')
            && fields[0].ty.dtype() != Some(DType::Bool)
        {
            assert_eq!(elements, file[begin..]);
        }
    });
}

/// Reads a shard; damage is a fault of a record where `faults`, and else ends the run.
fn shard(
    entry: &str,
    file: &[u8],
    (name, ty): (&str, Type),
    own: Vec<Arg>,
    (faults, last): (bool, &[Arg]),
) {
    FOLDER.with(|folder| {
        let path = folder.write("shard", file);
        let mut args = vec![Arg::Text(path.to_string_lossy().into_owned())];
        args.extend(own);
        args.extend([Arg::None, Arg::Bool(faults)]);
        args.extend_from_slice(last);
        let mut fields = vec![Field { name: name.to_owned(), ty: ty.clone() }];
        if faults {
            fields.push(Field { name: "row.fault".to_owned(), ty: Type::scalar(DType::Str) });
        }
        let rows = read(&*source(entry, &args, &fields), &fields);
        let ends = |why: String| {
            why.contains("data is damaged or truncated")
                || why.contains("within its header")
                || why.contains("but `skip` is")
        };
        let ended = rows.as_ref().is_err_and(|it| ends(it.to_string()));
        assert!(!faults || rows.is_ok() || ended, "{rows:?}");
        for (_, columns) in rows.iter().flatten() {
            look_into(&columns[0], &ty);
        }
    });
}

/// Takes a record apart in every way that a program can.
fn look_into(row: &[u8], ty: &Type) {
    for name in ["a", "n", "jpg;cls", "json"] {
        let of = match ty {
            Type::Untyped(Untyped::Example) => Untyped::Feature,
            Type::Untyped(Untyped::Sequence) => Untyped::SequenceFeature,
            Type::Untyped(Untyped::Members) => Untyped::Bytes,
            _ => return,
        };
        let value = Tensor::text(DType::Bytes, row);
        let name = Tensor::text(DType::Str, name.as_bytes());
        let Some(part) = call("untyped_field", &[value, name], (ty, &Type::Untyped(of)), Arg::None)
        else {
            continue;
        };
        let part = Tensor::text(DType::Bytes, &part);
        for dtype in [DType::Bytes, DType::Str, DType::I64, DType::U8, DType::F32] {
            let shapes: &[&[Extent]] = match dtype {
                DType::Bytes | DType::Str => &[&[]],
                _ => &[&[], &[Extent::Unknown], &[Extent::Unknown, Extent::Known(2)]],
            };
            for shape in shapes {
                let result = Type::Tensor { dtype, shape: shape.to_vec() };
                let to = Arg::Type(result.clone());
                let _ = call("as_type", &[part], (&Type::Untyped(of), &result), to);
            }
        }
    }
}

/// Calls a function of the library whose first argument is of a type; the value's bytes, where it has one.
fn call(
    name: &str,
    values: &[Tensor<'_>],
    (of, result): (&Type, &Type),
    second: Arg,
) -> Option<Vec<u8>> {
    let args = [Arg::None, second];
    let types = [Some(of.clone()), None];
    let call = Call { args: &args, types: &types, result, sources: &[], outside: None };
    let build = stdlib::Kernels.function(name).expect("the library has it");
    let kernel = build(&call).ok()?;
    let args = Args::of(values);
    if let runtime::Kernel::View(run) = &kernel {
        return Some(run(&args).ok()?.as_text().to_vec());
    }
    let mut register = Scratch::new();
    kernel.write(&mut Philox::new(1, 2, 3), &args, &mut Out::grow(&mut register)).ok()?;
    Some(register.tensor().as_bytes().unwrap_or_default().to_vec())
}

/// Files of TFRecords.
pub(super) fn tfrecords() -> Vec<Vec<u8>> {
    let example = written::example(&[
        ("a", Feature::Floats(&[0.5, 1.5])),
        ("n", Feature::Ints(&[1, -1])),
        ("json", Feature::Bytes(&[b"x", b"y"])),
    ]);
    let list = vec![Feature::Ints(&[1, 2]), Feature::Ints(&[3, 4])];
    let sequence = written::sequence(&[("a", Feature::Bytes(&[b"x"]))], &[("n", list)]);
    let file = |way: u8, records: &[Vec<u8>]| [&[way][..], &written::tfrecord(records)].concat();
    vec![
        file(0, &[example.clone(), example]),
        file(1, &[sequence]),
        file(2, &[b"".to_vec(), b"abc".to_vec()]),
    ]
}

/// Arrays.
pub(super) fn arrays() -> Vec<Vec<u8>> {
    let file = |it: Vec<u8>| [&[0][..], &it].concat();
    [
        written::npy("<f4", "(3, 2)", &[1; 24]),
        written::npy(">u2", "(2,)", &[0, 1, 2, 3]),
        written::npy("|b1", "(2, 1)", &[0, 7]),
        written::npy("<i8", "(0, 3)", &[]),
    ]
    .map(file)
    .into()
}

/// Files of records of one size.
pub(super) fn of_one_size() -> Vec<Vec<u8>> {
    [&b"\x02abcdefghi"[..], b"\x03abcdefghi", b"\x00abc", b"\x22abcdefghi"]
        .map(<[u8]>::to_vec)
        .into()
}

/// Tar archives.
pub(super) fn archives() -> Vec<Vec<u8>> {
    let plain = written::tar(&[("a.jpg", b"x"), ("a.cls", b"7"), ("b/c.json", b"{\"a\": 1}")]);
    let long = "x/".repeat(60) + "y.cls";
    let extended = format!("{} path={long}\n", long.len() + 10);
    let others = [
        written::member("././@LongLink", b'L', long.as_bytes()),
        written::member("short.cls", b'0', b"1"),
        written::member("pax", b'x', extended.as_bytes()),
        written::member("short.cls", b'0', b"2"),
        written::member("folder/", b'5', b""),
        written::member("link.cls", b'2', b""),
    ];
    [plain, others.concat()].map(|it| [&[0][..], &it].concat()).into()
}
