//! Pictures of all formats, through the functions of the library.

use super::scratch::{Value, call, split};
use driver::Kind;
use plan::{Arg, DType, ExprId, Type};
use runtime::{Fault, Tensor};
use std::sync::LazyLock;

/// Bytes of the largest picture that is decoded.
const BYTES_MAX: usize = 256 << 20;
/// The longest side of a part that is asked for.
const PART_MAX: usize = 40;

/// WebPs that we do not write: lossy ones, without alpha and with it.
const LOSSY: [&[u8]; 2] = [
    include_bytes!("../../../../webp/tests/goldens/odd.webp"),
    include_bytes!("../../../../webp/tests/goldens/alpha_fast.webp"),
];

/// Pictures whose pixels lie about in the memory of the decoders: of what is decoded next they are no part.
static BEFORE: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let picture = |level: u8| {
        let pixels = vec![level; 64 * 64 * 4];
        encoded("encode_png", &pixels, [64, 64, 4])
    };
    [picture(0x55), picture(0xaa)]
});

/// Decodes a picture in every way that there is. The first byte says which channels and what part of it are
/// asked for; the rest is the file.
pub(crate) fn pictures(bytes: &[u8]) {
    let (way, file) = split(bytes);
    let channels = i64::from(way & 3) + 1;
    let image = twice("decode_image", file, &[3, i64::from(way >> 2 & 1)]);
    let _ = twice("decode_png", file, &[channels, 8]);
    let _ = twice("decode_png", file, &[channels, 16]);
    let _ = twice("decode_webp", file, &[channels]);
    let grey = if channels < 3 { 1 } else { 3 };
    let jpeg = twice("decode_jpeg", file, &[grey, i64::from(way >> 3 & 1)]);
    let side = i64::from(way >> 4) * 8 + 1;
    let _ = twice("decode_jpeg_draft", file, &[side, side]);
    // Of a grey picture the colours may be of any kind.
    assert!(jpeg.is_err() || image.is_ok() || grey == 1, "it is a JPEG and no picture");
    let kind = Kind::of(file);
    if let (Ok((shape, _)), 0) = (&image, way >> 2 & 1) {
        let kind = kind.expect("what is decoded is of a kind");
        let sides = kind.height.zip(kind.width).map(|it| [it.0 as usize, it.1 as usize]);
        // A frame of a GIF may reach beyond what the header says.
        let reaches =
            |it: &[usize; 2]| kind.format == "GIF" && it[0] <= shape[0] && it[1] <= shape[1];
        let fits = sides.is_none_or(|it| it == shape[..2] || reaches(&it));
        assert!(fits, "{kind:?} is {shape:?}");
    }
    let Ok((size, _)) = decode("jpeg_size", file, &[]) else {
        assert!(jpeg.is_err(), "it has no size and is decoded");
        return;
    };
    if let (Ok((upright, pixels)), 0) = (&image, way >> 2 & 1) {
        part(file, (upright, pixels), usize::from(way));
        assert_eq!(size, [2]);
    }
}

/// A part of a JPEG is what it is in the whole.
fn part(file: &[u8], (shape, pixels): (&[usize], &[u8]), way: usize) {
    let (y, x) = (way * 7 % shape[0], way * 13 % shape[1]);
    let (height, width) = ((shape[0] - y).min(PART_MAX), (shape[1] - x).min(PART_MAX));
    let numbers = [y, x, height, width].map(|it| it as i64);
    let (_, found) = decode("decode_jpeg_crop", file, &numbers).expect("the whole can be decoded");
    for (row, found) in found.chunks_exact(width * 3).enumerate() {
        let start = ((y + row) * shape[1] + x) * 3;
        assert!(found == &pixels[start..][..found.len()], "row {row} of {numbers:?}");
    }
}

/// What a function makes of a file: the same whatever it has decoded before.
fn twice(function: &str, file: &[u8], numbers: &[i64]) -> Result<Value, Fault> {
    let after = |before: &[u8]| {
        decode("decode_png", before, &[3, 8]).expect("it is ours");
        decode(function, file, numbers)
    };
    let [first, second] = [&BEFORE[0], &BEFORE[1]].map(|it| after(it));
    match (&first, &second) {
        (Ok(a), Ok(b)) => assert!(a == b, "`{function}` gives what it has decoded before"),
        (Err(a), Err(b)) => assert_eq!((a.code, &a.detail), (b.code, &b.detail), "`{function}`"),
        _ => panic!("`{function}` fails now and then"),
    }
    if let Ok((shape, pixels)) = &first {
        let elements = shape.iter().product::<usize>();
        assert!(elements > 0 && pixels.len() <= BYTES_MAX && pixels.len().is_multiple_of(elements));
    }
    first
}

fn decode(function: &str, file: &[u8], numbers: &[i64]) -> Result<Value, Fault> {
    let is_wide = function == "decode_png" && numbers.last() == Some(&16);
    let result = Type::scalar(if is_wide { DType::U16 } else { DType::U8 });
    let flag = |(i, it): (usize, &i64)| match (function, i) {
        ("decode_image" | "decode_jpeg", 1) => Arg::Bool(*it == 1),
        _ => Arg::Int(*it),
    };
    let args = [Arg::Expr(ExprId(0))].into_iter().chain(numbers.iter().enumerate().map(flag));
    let values = numbers.iter().map(|it| Tensor::new(&[], std::slice::from_ref(it)));
    let values: Vec<_> = [Tensor::text(DType::Bytes, file)].into_iter().chain(values).collect();
    call(function, &args.collect::<Vec<_>>(), (&values, &result))
}

fn encoded(function: &str, pixels: &[u8], shape: [usize; 3]) -> Vec<u8> {
    let (quality, args) = ([80_i64], [Arg::Expr(ExprId(0)), Arg::Int(80)]);
    let args = if function == "encode_jpeg" { &args[..] } else { &args[..1] };
    let values = [Tensor::new(&shape, pixels), Tensor::new(&[], &quality)];
    let result = Type::scalar(DType::Bytes);
    call(function, args, (&values[..args.len()], &result)).expect("it can be encoded").1
}

/// Small pictures of each format, also with an orientation.
pub(super) fn files() -> Vec<Vec<u8>> {
    let pixels: Vec<u8> = (0..33 * 20 * 4_usize).map(|it| (it * it / 7 + it * 13) as u8).collect();
    let picture = |function, channels: usize| {
        encoded(function, &pixels[..33 * 20 * channels], [20, 33, channels])
    };
    let jpegs = [1, 3].map(|it| picture("encode_jpeg", it));
    let pngs = [1, 2, 3, 4].map(|it| picture("encode_png", it));
    let webps = [1, 3, 4].map(|it| picture("encode_webp", it));
    let lossy = LOSSY.map(<[u8]>::to_vec);
    let turned = jpegs.iter().map(|it| [&it[..2], &exif(6), &it[2..]].concat());
    let turned: Vec<_> = turned.collect();
    let bitmaps: Vec<Vec<u8>> = BITMAPS.lines().filter_map(bitmap).collect();
    let all = jpegs.iter().chain(&pngs).chain(&webps).chain(&lossy).chain(&turned).chain(&bitmaps);
    all.flat_map(|it| [0, 5, 0x3e].map(|way| [&[way], it.as_slice()].concat())).collect()
}

/// BMP and GIF files of all kinds, in hexadecimal digits.
const BITMAPS: &str = include_str!("../../../../stdlib/src/functions/codec/goldens/bitmaps.tsv");

/// The file of a line, where it is a small one.
fn bitmap(line: &str) -> Option<Vec<u8>> {
    let digits = line.rsplit('\t').next().filter(|it| it.len() < 2_000)?;
    let byte = |it: &[u8; 2]| u8::from_str_radix(str::from_utf8(it).ok()?, 16).ok();
    digits.as_bytes().as_chunks().0.iter().map(byte).collect()
}

/// A segment of a JPEG that says how the camera was held.
fn exif(orientation: u8) -> Vec<u8> {
    let tiff = [
        b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".as_slice(),
        &[orientation],
        b"\0\0\0\0\0\0",
    ];
    let body = [b"Exif\0\0".as_slice(), &tiff.concat()].concat();
    let len = (body.len() as u16 + 2).to_be_bytes();
    [b"\xff\xe1".as_slice(), &len, &body].concat()
}
