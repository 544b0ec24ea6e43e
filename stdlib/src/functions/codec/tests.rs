//! Decoders and encoders against Pillow, on files of ours, on shared ones, and on damaged ones.

use super::*;
use crate::prelude::*;
use plan::{ExprId, Graph};
use runtime::Scratch;
use std::{fs, path::PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// A decoded picture: its extents, and its elements as bytes.
type Picture = (Vec<usize>, Vec<u8>);

/// Calls `function` on bytes or a picture, and on numbers and flags.
fn call(function: &Function, first: Tensor<'_>, rest: &[Arg]) -> Result<Picture, Fault> {
    call_with(function, first, (rest, SideIndex::Absent))
}

/// The same with an index, or to make one.
fn call_with(
    function: &Function,
    first: Tensor<'_>,
    (rest, index): (&[Arg], SideIndex<'_>),
) -> Result<Picture, Fault> {
    let numbers: Vec<[i64; 1]> = rest.iter().map(|it| [number(it)]).collect();
    let numbers = numbers.iter().map(|it| Tensor::new(&[1], it).element(0));
    let tensors: Vec<Tensor<'_>> = [first].into_iter().chain(numbers).collect();
    let args: Vec<Arg> = [Arg::Expr(ExprId(0))].into_iter().chain(rest.iter().cloned()).collect();
    let is_wide = matches!(rest, [_, Arg::Int(16)]);
    let result = Type::scalar(if is_wide { DType::U16 } else { DType::U8 });
    let types = vec![None; args.len()];
    let call = Call { args: &args, types: &types, result: &result, sources: &[], outside: None };

    let kernel = (function.build.expect("it has a kernel"))(&call).expect("it is made");
    let mut scratch = Scratch::new();
    let out = &mut Out::grow(&mut scratch);
    match kernel {
        Kernel::Compute(kernel) => kernel(&Args::of(&tensors), out)?,
        Kernel::Indexed(kernel) => kernel(&Args::of(&tensors), index, out)?,
        _ => unreachable!("codecs compute"),
    }
    let made = scratch.tensor();
    Ok((made.shape().to_vec(), made.as_text().to_vec()))
}

fn number(arg: &Arg) -> i64 {
    match arg {
        Arg::Int(it) => *it,
        _ => 0,
    }
}

fn decode(function: &Function, bytes: &[u8], rest: &[Arg]) -> Result<Picture, Fault> {
    call(function, Tensor::text(DType::Bytes, bytes), rest)
}

/// Decodes anything to RGB.
fn image(bytes: &[u8]) -> Result<Picture, Fault> {
    decode(&decode_image::ENTRY, bytes, &[Arg::Int(3), Arg::Bool(false)])
}

/// A picture that is the same in every language: `(7x² + 13y + xy + 50c) mod 256`.
fn pattern(height: usize, width: usize, channels: usize) -> Vec<u8> {
    let level = |it: usize| {
        let (y, x, c) = (it / channels / width, it / channels % width, it % channels);
        ((7 * x * x + 13 * y + x * y + 50 * c) % 256) as u8
    };
    (0..height * width * channels).map(level).collect()
}

fn encode(function: &Function, shape: [usize; 3], rest: &[Arg]) -> Vec<u8> {
    let pixels = pattern(shape[0], shape[1], shape[2]);
    call(function, Tensor::new(&shape, &pixels), rest).expect("it can be encoded").1
}

fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", xxh3_64(bytes))
}

fn code<T>(result: Result<T, Fault>) -> Option<&'static str> {
    result.err().map(|it| it.code)
}

/// The files of a shared folder, where there is one.
fn shared() -> Option<PathBuf> {
    let shared = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    if !shared.is_dir() {
        println!("skipped: there are no shared data");
        return None;
    }
    Some(shared)
}

/// The lines of a table, without its comments, cut at tabs.
fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = table.lines().filter(|it| !it.starts_with('#'));
    lines.map(|it| it.split('\t').filter(|it| !it.starts_with('#')).collect())
}

/// Pillow 13.0.0 (libjpeg-turbo 3.2.0) on the same pattern: `save(quality=…, subsampling=2)`, then
/// `convert("RGB")` and `draft("L", size)`; xxh3_64 of the file and of the pixels.
#[test]
fn small_jpegs_are_those_of_pillow() {
    let expected = [
        ([37, 53, 3], 90, ["e5462b6a74688d1d", "854fdfd1203430c7", "2d345a73cd9cc770"]),
        ([20, 33, 1], 50, ["e13a7562f1363b12", "65411e0d75b4b3a2", "ef71e9aa21786ba4"]),
        ([16, 16, 3], 1, ["938254b55bb61b58", "39b940b48147c679", "12b43b0b029a999e"]),
    ];
    for (shape, quality, expected) in expected {
        let file = encode(&encode_jpeg::ENTRY, shape, &[Arg::Int(quality)]);
        let pixels = |channels| {
            let rest = [Arg::Int(channels), Arg::Bool(false)];
            decode(&decode_jpeg::ENTRY, &file, &rest).expect("it is a JPEG").1
        };
        assert_eq!([hash(&file), hash(&pixels(3)), hash(&pixels(1))], expected, "{shape:?}");
        let size = decode(&jpeg_size::ENTRY, &file, &[]).expect("it is a JPEG").1;
        let expected = [shape[0] as i64, shape[1] as i64].map(i64::to_ne_bytes);
        assert_eq!(size, expected.concat());
    }
}

#[test]
fn lossless_files_give_their_pixels_again() {
    for channels in 1..=4 {
        let shape = [11, 17, channels];
        let pixels = pattern(11, 17, channels);
        let again = [Arg::Int(channels as i64), Arg::Bool(false)];
        let png = encode(&encode_png::ENTRY, shape, &[]);
        assert_eq!(
            decode(&decode_image::ENTRY, &png, &again),
            Ok((shape.to_vec(), pixels.clone()))
        );
        // A WebP knows no grey: it comes back as a colour whose grey is the same.
        let webp = encode(&encode_webp::ENTRY, shape, &[]);
        assert_eq!(decode(&decode_image::ENTRY, &webp, &again), Ok((shape.to_vec(), pixels)));
    }
}

#[test]
fn sixteen_bits_stay_and_eight_are_repeated() {
    let pixels: Vec<u16> = (0..48).map(|it| it * 1_361).collect();
    let bytes = |pixels: &[u16]| pixels.iter().flat_map(|it| it.to_ne_bytes()).collect::<Vec<u8>>();
    let wide = call(&encode_png::ENTRY, Tensor::new(&[4, 4, 3], &pixels), &[]).expect("a PNG").1;
    let decoded = |file: &[u8], channels, depth| {
        decode(&decode_png::ENTRY, file, &[Arg::Int(channels), Arg::Int(depth)]).expect("a PNG").1
    };
    assert_eq!(decoded(&wide, 3, 16), bytes(&pixels));
    let upper: Vec<u8> = pixels.iter().map(|it| (it >> 8) as u8).collect();
    assert_eq!(decoded(&wide, 3, 8), upper);
    let opaque = |rgb: &[u16]| [rgb[0], rgb[1], rgb[2], u16::MAX];
    let opaque: Vec<u16> = pixels.chunks(3).flat_map(opaque).collect();
    assert_eq!(decoded(&wide, 4, 16), bytes(&opaque));

    let narrow = encode(&encode_png::ENTRY, [4, 4, 3], &[]);
    let repeated: Vec<u16> = pattern(4, 4, 3).iter().map(|&it| u16::from(it) * 257).collect();
    assert_eq!(decoded(&narrow, 3, 16), bytes(&repeated));
}

#[test]
fn views_are_encoded_as_they_look() {
    let pixels = pattern(9, 12, 3);
    let flipped = Tensor::new(&[9, 12, 3], &pixels).flipped(1);
    let mut packed = vec![0; pixels.len()];
    flipped.copy_to(&mut packed);
    for function in [&encode_jpeg::ENTRY, &encode_png::ENTRY, &encode_webp::ENTRY] {
        let rest = [Arg::Int(80)];
        let expected = call(function, Tensor::new(&[9, 12, 3], &packed), &rest);
        assert_eq!(call(function, flipped, &rest), expected, "{}", function.entry.name());
    }
}

#[test]
fn what_cannot_be_encoded_is_a_fault() {
    let pixels = pattern(4, 4, 5);
    let refused = |shape: [usize; 3], rest: &[Arg]| {
        let image = Tensor::new(&shape, &pixels[..shape.iter().product()]);
        let all = [&encode_jpeg::ENTRY, &encode_png::ENTRY, &encode_webp::ENTRY];
        all.map(|it| code(call(it, image, rest)).unwrap_or("fine"))
    };
    assert_eq!(refused([4, 4, 5], &[Arg::Int(90)]), ["channels"; 3]);
    assert_eq!(refused([4, 4, 2], &[Arg::Int(90)]), ["channels", "fine", "fine"]);
    assert_eq!(refused([0, 4, 3], &[Arg::Int(90)]), ["size"; 3]);
    assert_eq!(refused([4, 4, 3], &[Arg::Int(0)])[0], "quality");
    assert_eq!(refused([4, 4, 3], &[Arg::Int(101)])[0], "quality");
}

#[test]
fn types_follow_channels_and_depth() {
    let typed = |function: &Function, rest: &[i64]| {
        let mut graph = Graph::default();
        let bytes = graph.add(plan::Expr::Column(0), Type::scalar(DType::Bytes));
        let rest = rest.iter().map(|&it| Arg::Int(it));
        let args: Vec<Arg> = [Arg::Expr(bytes)].into_iter().chain(rest).collect();
        let call = Applied { args: &args, graph: &graph, inputs: &[], names: &[], found: &[] };
        (function.entry.result.expect("it finds its type"))(&call).map(|it| it.to_string())
    };
    assert_eq!(typed(&decode_jpeg::ENTRY, &[1, 0]), Ok("u8[?, ?, 1]".into()));
    let refused = "`channels` must be one of 1, 3, found 2";
    assert_eq!(typed(&decode_jpeg::ENTRY, &[2, 0]), Err(refused.into()));
    assert_eq!(typed(&decode_png::ENTRY, &[4, 16]), Ok("u16[?, ?, 4]".into()));
    assert_eq!(typed(&decode_png::ENTRY, &[4, 12]), Err("`depth` is 8 or 16, not 12".into()));
}

#[test]
fn other_bytes_are_named() {
    let detail = |bytes: &[u8]| {
        let fault = image(bytes).expect_err("no picture");
        assert_eq!(fault.code, "image-unknown");
        fault.detail.into_owned()
    };
    let wanted = "expected a JPEG, PNG, WebP, GIF or BMP";
    assert_eq!(detail(b"II*\0"), format!("{wanted}, found TIFF; convert it first"));
    assert_eq!(detail(b"\0\0\0\x20ftypavif"), format!("{wanted}, found AVIF; convert it first"));
    assert_eq!(detail(b""), format!("{wanted}, found no bytes"));
    let expected = "found an unknown format that begins with 68 65 6C 6C";
    assert_eq!(detail(b"hello"), format!("{wanted}, {expected}"));

    let png = encode(&encode_png::ENTRY, [4, 4, 3], &[]);
    let fault = decode(&decode_jpeg::ENTRY, &png, &[Arg::Int(3), Arg::Bool(false)]);
    let expected = "expected a JPEG, found a PNG; `decode_image` reads both";
    assert_eq!(fault.expect_err("no JPEG").detail, expected);
}

#[test]
fn what_is_cut_off_is_missed() {
    let jpeg = encode(&encode_jpeg::ENTRY, [40, 40, 3], &[Arg::Int(90)]);
    let png = encode(&encode_png::ENTRY, [40, 40, 3], &[]);
    let webp = encode(&encode_webp::ENTRY, [40, 40, 3], &[]);
    for file in [&jpeg, &png, &webp] {
        for cut in [20, file.len() / 2, file.len() - 20] {
            assert_eq!(
                code(image(&file[..cut])),
                Some("image-truncated"),
                "{cut} of {}",
                file.len()
            );
        }
    }
    // Where a marker says that it ends, libjpeg fills it with grey: the last pixel is, here.
    let ended = [&jpeg[..jpeg.len() / 2], b"\xFF\xD9"].concat();
    let (_, pixels) = image(&ended).expect("libjpeg only warns");
    assert_eq!(pixels[pixels.len() - 3..], [128; 3]);
}

#[test]
fn sizes_beyond_the_limits_are_refused_at_once() {
    let mut jpeg = encode(&encode_jpeg::ENTRY, [16, 16, 3], &[Arg::Int(90)]);
    let frame = jpeg.windows(2).position(|it| it == [0xFF, 0xC0]).expect("it is baseline");
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0xFF; 4]);
    assert_eq!(code(image(&jpeg)), Some("image-too-large"));
    assert_eq!(code(decode(&jpeg_size::ENTRY, &jpeg, &[])), Some("image-too-large"));
}

/// A JPEG in every form that the crop treats apart, and parts at its edges and inside it.
#[test]
fn crops_equal_crops_of_the_whole() {
    let rgb = pattern(75, 90, 3);
    let file = |sampling| {
        let format = libjpeg_turbo_rs::PixelFormat::Rgb;
        libjpeg_turbo_rs::compress(&rgb, 90, 75, format, 85, sampling).expect("it can be encoded")
    };
    use libjpeg_turbo_rs::Subsampling::{S411, S420, S422, S440, S444};
    let grey = encode(&encode_jpeg::ENTRY, [75, 90, 1], &[Arg::Int(85)]);
    let unfinished = {
        let whole = file(S420);
        whole[..whole.len() - 2].to_vec()
    };
    let files = [S411, S420, S422, S440, S444].map(file);
    let progressive =
        libjpeg_turbo_rs::Encoder::new(&rgb, 90, 75, libjpeg_turbo_rs::PixelFormat::Rgb)
            .subsampling(S420)
            .progressive(true)
            .encode()
            .expect("it can be encoded");
    for file in files.iter().chain([&grey, &unfinished, &progressive]) {
        for at in [[0, 0, 75, 90], [0, 0, 1, 1], [74, 89, 1, 1], [17, 31, 22, 3], [15, 64, 33, 26]]
        {
            assert_crop_is_exact(file, at);
        }
    }
    let outside = [[0, 0, 76, 1], [-1, 0, 1, 1], [0, 90, 1, 1], [0, 0, 0, 1], [i64::MAX, 0, 1, 1]];
    for at in outside {
        let result = decode(&decode_jpeg_crop::ENTRY, &grey, &at.map(Arg::Int));
        assert_eq!(code(result), Some("crop-outside"), "{at:?}");
    }
}

fn assert_crop_is_exact(file: &[u8], at: [i64; 4]) {
    let (shape, pixels) = image(file).expect("it is a JPEG");
    let [y, x, height, width] = at.map(|it| it as usize);
    let whole = Tensor::new(&shape, &pixels);
    let part = whole.narrowed(0, y, height).narrowed(1, x, width);
    let mut expected = vec![0; part.bytes()];
    part.copy_to(&mut expected);
    let expected = (vec![height, width, 3], expected);
    assert!(part_of(file, at, SideIndex::Absent) == expected, "{at:?} of {shape:?}");
    let mut index = Vec::new();
    let found = part_of(file, at, SideIndex::Wanted(&mut index));
    assert!(found == expected, "{at:?} of {shape:?}, indexed");
    assert!(part_of(file, at, SideIndex::Known(&index)) == expected, "{at:?} of {shape:?}, by it");
    // One that is damaged is not used.
    let half = SideIndex::Known(&index[..index.len() / 2]);
    assert!(part_of(file, at, half) == expected, "{at:?} of {shape:?}, by half of it");
}

fn part_of(file: &[u8], at: [i64; 4], index: SideIndex<'_>) -> Picture {
    let (function, bytes) = (&decode_jpeg_crop::ENTRY, Tensor::text(DType::Bytes, file));
    call_with(function, bytes, (&at.map(Arg::Int), index)).expect("it lies within")
}

/// Nothing here looks at the pixels of what is damaged: what counts is that decoders come back.
#[test]
fn damage_never_panics() {
    let files = [
        encode(&encode_jpeg::ENTRY, [24, 40, 3], &[Arg::Int(70)]),
        encode(&encode_png::ENTRY, [12, 9, 4], &[]),
        encode(&encode_webp::ENTRY, [12, 9, 4], &[]),
    ];
    for round in 0..900_u64 {
        let mut file = files[round as usize % files.len()].clone();
        for change in 0..1 + round % 4 {
            let random = runtime::mix(round, change) as usize;
            let at = random % file.len();
            file[at] = [0, 255, (random >> 16) as u8, file[at] ^ 1 << (random >> 32 & 7)]
                [random >> 40 & 3];
        }
        let crop = decode(&decode_jpeg_crop::ENTRY, &file, &[3, 4, 5, 6].map(Arg::Int));
        for code in [code(image(&file)), code(crop)].into_iter().flatten() {
            assert!(
                code.starts_with("image-") || code == "crop-outside",
                "{code} in round {round}"
            );
        }
    }
}

fn read(shared: &std::path::Path, name: &str) -> Vec<u8> {
    fs::read(shared.join(name)).expect("the table lists files that are there")
}

/// The extents and the hash of a picture, or the code of its fault.
fn summary(result: Result<Picture, Fault>) -> [String; 2] {
    match result {
        Ok((shape, pixels)) => [format!("{}x{}", shape[0], shape[1]), hash(&pixels)],
        Err(fault) => [fault.code.into(), String::new()],
    }
}

#[test]
fn shared_jpegs_are_those_of_pillow() {
    let Some(shared) = shared() else { return };
    for row in rows(include_str!("goldens/jpeg.tsv")) {
        let file = read(&shared, row[0]);
        let decoded = |channels, orient| {
            let rest = [Arg::Int(channels), Arg::Bool(orient)];
            summary(decode(&decode_jpeg::ENTRY, &file, &rest))
        };
        let [found, _] = decoded(3, false);
        match row[1..] {
            ["fault"] => assert!(found.starts_with("image-"), "{}: {found}", row[0]),
            [expected] => assert_eq!(found, expected, "{}", row[0]),
            [size, rgb, grey, upright, upright_rgb] => {
                assert_eq!(decoded(3, false), [size, rgb], "{} as RGB", row[0]);
                assert_eq!(decoded(1, false), [size, grey], "{} as grey", row[0]);
                assert_eq!(decoded(3, true), [upright, upright_rgb], "{} upright", row[0]);
            }
            _ => unreachable!("the table has these columns"),
        }
    }
}

#[test]
fn shared_pngs_are_those_of_pillow() {
    let Some(shared) = shared() else { return };
    for row in rows(include_str!("goldens/png.tsv")) {
        let file = read(&shared, row[0]);
        let decoded = |channels: usize| {
            let rest = [Arg::Int(channels as i64), Arg::Int(8)];
            summary(decode(&decode_png::ENTRY, &file, &rest))
        };
        match row[1..] {
            ["fault"] => assert!(decoded(3)[0].starts_with("image-"), "{}", row[0]),
            [expected] => assert_eq!(decoded(3)[0], expected, "{}", row[0]),
            [size, ref modes @ ..] => {
                for (channels, expected) in (1..).zip(modes) {
                    assert_eq!(decoded(channels), [size, expected], "{}: {channels}", row[0]);
                }
            }
            [] => unreachable!("the table has these columns"),
        }
    }
}

#[test]
fn shared_webps_are_those_of_pillow() {
    let Some(shared) = shared() else { return };
    for row in rows(include_str!("goldens/webp.tsv")) {
        let file = read(&shared, row[0]);
        let [size, rgb, rgba, upright, upright_rgb] = row[1..] else { panic!("{row:?}") };
        let webp = |channels| summary(decode(&decode_webp::ENTRY, &file, &[Arg::Int(channels)]));
        assert_eq!([webp(3), webp(4)], [[size, rgb], [size, rgba]], "{}", row[0]);
        let turned = decode(&decode_image::ENTRY, &file, &[Arg::Int(3), Arg::Bool(true)]);
        assert_eq!(summary(turned), [upright, upright_rgb], "{} upright", row[0]);
    }
}

/// Every file below a folder, in the order of the paths.
fn files(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() { found.extend(files(path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Whatever is given to it, damaged sound and tables too, a decoder comes back.
#[test]
fn shared_damaged_files_never_panic() {
    let Some(shared) = shared() else { return };
    for path in files(shared.join("corrupt")) {
        let result = image(&fs::read(&path).expect("the file can be read"));
        assert!(code(result).is_none_or(|it| it.starts_with("image-")), "{}", path.display());
    }
}

#[test]
fn shared_photographs_are_those_of_pillow_and_so_are_their_crops() {
    let Some(shared) = shared() else { return };
    for row in rows(include_str!("goldens/folders.tsv")) {
        let mut files = files(shared.join(row[0]));
        files.retain(|it| it.extension().is_some_and(|it| it == "JPEG" || it == "jpg"));
        assert_eq!(files.len().to_string(), row[1], "{}", row[0]);
        let mut hashes = String::new();
        for (path, seed) in files.iter().zip(0..) {
            let file = fs::read(path).expect("the file can be read");
            let (shape, pixels) = image(&file).expect("it is a JPEG");
            hashes += &hash(&pixels);
            assert_crop_is_exact(&file, any_part(seed, &shape));
        }
        assert_eq!(hash(hashes.as_bytes()), row[2], "{}", row[0]);
    }
}

/// A part somewhere in a picture of `shape`.
fn any_part(seed: u64, shape: &[usize]) -> [i64; 4] {
    let below = |place: u64, most: usize| (runtime::mix(seed, place) % most as u64) as usize;
    let [height, width] = [0, 1].map(|it| 1 + below(it as u64, shape[it]));
    let [y, x] = [below(2, shape[0] - height + 1), below(3, shape[1] - width + 1)];
    [y, x, height, width].map(|it| it as i64)
}

/// Bytes that are written as hexadecimal digits.
fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().as_chunks::<2>().0.iter();
    let byte = |it: &[u8; 2]| u8::from_str_radix(str::from_utf8(it).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

/// `goldens/palette.py` says how they were made.
#[test]
fn indices_of_palettes_are_those_of_pillow() {
    let index = [Arg::Int(1), Arg::Int(8), Arg::Word("index".to_owned())];
    let mut n = 0;
    for row in rows(include_str!("goldens/palette.tsv")) {
        let [bits, _, file, indices] = row[..] else { panic!("{row:?}") };
        let found = decode(&decode_png::ENTRY, &from_hex(file), &index);
        assert_eq!(found, Ok((vec![5, 11, 1], from_hex(indices))), "{bits} bits");
        n += 1;
    }
    assert_eq!(n, 4);
    // Levels of grey are classes too; colours are none.
    let grey = encode(&encode_png::ENTRY, [4, 6, 1], &[]);
    assert_eq!(decode(&decode_png::ENTRY, &grey, &index), Ok((vec![4, 6, 1], pattern(4, 6, 1))));
    let colour = encode(&encode_png::ENTRY, [4, 6, 3], &[]);
    assert_eq!(code(decode(&decode_png::ENTRY, &colour, &index)), Some("image-no-palette"));
}

/// `goldens/bitmaps.py` says how they were made.
#[test]
fn bitmaps_are_those_of_pillow() {
    let mut n = 0;
    for row in rows(include_str!("goldens/bitmaps.tsv")) {
        let [name, size, rgb, rgba, file] = row[..] else { panic!("{row:?}") };
        let file = from_hex(file);
        let decoded = |channels| {
            summary(decode(&decode_image::ENTRY, &file, &[Arg::Int(channels), Arg::Bool(false)]))
        };
        assert_eq!([decoded(3), decoded(4)], [[size, rgb], [size, rgba]], "{name}");
        n += 1;
        // Whatever is missing, it is said to be.
        for cut in (2..file.len()).step_by(1 + file.len() / 40) {
            let found = code(image(&file[..cut]));
            assert!(
                matches!(found, None | Some("image-truncated" | "image-unknown")),
                "{name} {cut}: {found:?}"
            );
        }
    }
    assert_eq!(n, 27);
}
