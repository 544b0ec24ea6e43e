//! What lies within records as bytes: compressed data, text in some encoding, arrays of NumPy, tables of numbers.

use super::{
    scratch::{Value, call, split},
    shards::written,
};
use plan::{Arg, DType, ExprId, Extent, Type, Untyped};
use runtime::{Args, Call, Fault, Kernels, Out, Philox, Scratch, Tensor};

/// What each file is compressed with.
const KINDS: [&str; 4] = ["gzip", "zstd", "xz", "bzip2"];
/// Encodings of each form: bytes, pairs of bytes, escapes.
const ENCODINGS: [&str; 8] = [
    "utf-8",
    "windows-1252",
    "utf-16le",
    "utf-16be",
    "shift_jis",
    "gb18030",
    "iso-2022-jp",
    "euc-kr",
];
/// Bytes that are decompressed at most, which a mutant may be of: they are decompressed twice.
const BYTES_MAX: usize = 1 << 30;

/// Decompresses bytes: what the first bytes tell is what its kind says. The first byte is cut off.
pub(crate) fn compressed(bytes: &[u8]) {
    let (_, file) = split(bytes);
    let of = |kind: &str| {
        let args = [value(), Arg::Word(kind.to_owned())];
        let values = [of_bytes(file), Tensor::nothing()];
        call("decompress", &args, (&values, &Type::scalar(DType::Bytes)))
    };
    let auto = of("auto");
    let same: Vec<_> = KINDS.iter().map(|it| of(it)).filter(|it| same(it, &auto)).collect();
    match &auto {
        Ok((_, found)) => assert!(found.len() <= BYTES_MAX && same.len() == 1),
        Err(fault) if fault.code == "compression-unknown" => {
            assert!(same.is_empty() || same.len() == 4);
        }
        Err(fault) => {
            assert!(["compressed-damaged", "too-large"].contains(&fault.code), "{}", fault.detail);
        }
    }
}

fn same(a: &Result<Value, Fault>, b: &Result<Value, Fault>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a == b,
        (Err(a), Err(b)) => a.code == b.code,
        _ => false,
    }
}

/// Decodes text. The first byte says the encoding.
pub(crate) fn encoded(bytes: &[u8]) {
    let (way, text) = split(bytes);
    let decoded = |encoding: &str| {
        let args = [value(), Arg::Text(encoding.to_owned())];
        let values = [of_bytes(text), Tensor::text(DType::Str, encoding.as_bytes())];
        call("decode_text", &args, (&values, &Type::scalar(DType::Str))).map(|it| it.1)
    };
    let is_marked =
        [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"].iter().any(|it| text.starts_with(it));
    let auto = decoded("auto");
    if !is_marked {
        assert_eq!(auto.as_deref().ok(), str::from_utf8(text).ok().map(str::as_bytes));
    }
    match decoded(ENCODINGS[usize::from(way) % ENCODINGS.len()]) {
        Ok(found) => {
            assert!(str::from_utf8(&found).is_ok() && found.len() <= text.len() * 3);
            assert!(!is_marked || auto.is_ok_and(|it| it == found), "a mark says the encoding");
        }
        Err(fault) => assert_eq!(fault.code, "text-encoding"),
    }
}

/// Decodes an array, as each dtype. The first byte is cut off.
pub(crate) fn array(bytes: &[u8]) {
    let (_, file) = split(bytes);
    let args = [value()];
    let Ok((_, found)) =
        call("decode_npy", &args, (&[of_bytes(file)], &Type::Untyped(Untyped::Npy)))
    else {
        return;
    };
    assert_eq!(found, file);
    let header = String::from_utf8_lossy(&file[..file.len().min(128)]).into_owned();
    for rank in 0..4 {
        for dtype in [DType::F32, DType::F16, DType::F64, DType::I16, DType::U64, DType::Bool] {
            let shape = vec![Extent::Unknown; rank];
            let Ok((shape, elements)) = as_type(file, Type::Tensor { dtype, shape }) else {
                continue;
            };
            assert_eq!(shape.len(), rank);
            assert_eq!(shape.iter().product::<usize>() * dtype.size(), elements.len());
            let is_plain =
                !header.contains('>') && !header.contains("True") && dtype != DType::Bool;
            let is_same = file.ends_with(&elements) || !is_plain;
            assert!(
                is_same || !header.contains(&format!("'<f{}'", dtype.size())) || !dtype.is_float()
            );
        }
    }
}

fn as_type(file: &[u8], to: Type) -> Result<Value, Fault> {
    let args = [value(), Arg::Type(to.clone())];
    let types = [Some(Type::Untyped(Untyped::Npy)), None];
    let call = Call { args: &args, types: &types, result: &to, sources: &[], outside: None };
    let build = stdlib::Kernels.function("as_type").expect("the library has it");
    let kernel = build(&call).expect("its arguments are sound");
    let (mut scratch, values) = (Scratch::new(), [of_bytes(file), Tensor::nothing()]);
    kernel.write(&mut Philox::new(1, 2, 3), &Args::of(&values), &mut Out::grow(&mut scratch))?;
    let made = scratch.tensor();
    Ok((made.shape().to_vec(), made.as_bytes().unwrap_or_default().to_vec()))
}

/// Parses a table: as words of lines are parsed. The first byte says how many columns it has.
pub(crate) fn table(bytes: &[u8]) {
    let (way, text) = split(bytes);
    let Ok(text) = str::from_utf8(text) else { return };
    let columns = i64::from(way % 4) + 1;
    let (numbers, args) = ([columns], [value(), Arg::Int(columns)]);
    let values = [Tensor::text(DType::Str, text.as_bytes()), Tensor::new(&[], &numbers)];
    let result = Type::Tensor {
        dtype: DType::F32,
        shape: vec![Extent::Unknown, Extent::Known(columns as u64)],
    };
    let found = call("parse_table", &args, (&values, &result));

    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).split(['\n', '\r']);
    let is_space = |it: char| it.is_whitespace() || ('\x1c'..='\x1f').contains(&it);
    let rows = lines.map(|it| it.split('#').next().unwrap_or_default());
    let rows = rows.map(|it| it.split(is_space).filter(|it| !it.is_empty()).collect::<Vec<_>>());
    let rows: Vec<_> = rows.filter(|it| !it.is_empty()).collect();
    let number = |it: &&str| it.parse::<f64>().ok().map(|it| it as f32);
    let all: Option<Vec<f32>> = rows.concat().iter().map(number).collect();
    let all = all.filter(|_| rows.iter().all(|it| it.len() as i64 == columns));
    let bits = |all: &[f32]| all.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
    match (found, all) {
        (Ok((shape, bytes)), Some(all)) => {
            assert_eq!(shape, [rows.len(), columns as usize]);
            let found = bytes.as_chunks::<4>().0.iter().map(|it| f32::from_ne_bytes(*it));
            assert_eq!(bits(&found.collect::<Vec<_>>()), bits(&all));
        }
        (Err(fault), None) => {
            assert!(
                ["number", "table-columns"].contains(&fault.code)
                    && fault.detail.starts_with("line ")
            );
        }
        (found, all) => panic!("{found:?}, expected {all:?}"),
    }
}

fn value() -> Arg {
    Arg::Expr(ExprId(0))
}

fn of_bytes(bytes: &[u8]) -> Tensor<'_> {
    Tensor::text(DType::Bytes, bytes)
}

/// Files of each kind, one and two streams.
pub(super) fn files() -> Vec<Vec<u8>> {
    let all = [
        &include_bytes!("../../../../stdlib/src/functions/codec/goldens/words.gz")[..],
        include_bytes!("../../../../stdlib/src/functions/codec/goldens/words.zst"),
        include_bytes!("../../../../stdlib/src/functions/codec/goldens/words.xz"),
        include_bytes!("../../../../stdlib/src/functions/codec/goldens/words.bz2"),
    ];
    all.iter().flat_map(|it| [[b"\0", *it].concat(), [b"\0", *it, *it].concat()]).collect()
}

/// Texts in each encoding.
pub(super) fn texts() -> Vec<Vec<u8>> {
    let all: [&[u8]; 8] = [
        b"\0Gr\xc3\xbc\xc3\x9fe \xf0\x9f\xa6\x80",
        b"\x01Gr\xfc\xdfe \x80",
        b"\x02\xff\xfea\0\xfc\0\x3e\xd8\x80\xdd",
        b"\x03\xfe\xff\0a\xd8\x3e\xdd\x80",
        b"\x04\x8a\xbf\x8e\x9a \xb1",
        b"\x05\xba\xba\xd7\xd6\x81\x30\x84\x36",
        b"\x06a\x1b$B4A;z\x1b(Bb",
        b"\x07\xc7\xd1\xb1\xdb",
    ];
    all.map(<[u8]>::to_vec).into()
}

/// Arrays of each kind.
pub(super) fn arrays() -> Vec<Vec<u8>> {
    let fortran = |file: Vec<u8>| {
        let at = file.windows(5).position(|it| it == b"False").expect("it says so");
        [&file[..at], b"True ", &file[at + 5..]].concat()
    };
    let file = |it: Vec<u8>| [&[0][..], &it].concat();
    let floats: Vec<u8> = (0..6).flat_map(|it| (it as f32 / 3.0).to_le_bytes()).collect();
    [
        written::npy("<f4", "(3, 2)", &floats),
        fortran(written::npy("<f4", "(3, 2)", &floats)),
        fortran(written::npy(">u2", "(1, 2, 3)", &floats[..12])),
        written::npy("<i8", "()", &floats[..8]),
        written::npy("|b1", "(2, 1)", &[0, 7]),
        written::npy("<f2", "(0, 3)", &[]),
    ]
    .map(file)
    .into()
}

/// Tables.
pub(super) fn tables() -> Vec<Vec<u8>> {
    let all: [&[u8]; 5] = [
        b"\x01 1 2\n3 4.5e-1\n",
        b"\x02# a comment\n\r\n0 .5 -7 # another\r1\t2\t3",
        b"\0\xef\xbb\xbf7\n8\xc2\xa0\n",
        b"\x03nan inf 1e999 -0\n",
        b"\0",
    ];
    all.map(<[u8]>::to_vec).into()
}
