//! What is decoded equals, to the bit, what `libjpeg-turbo-rs` decodes, which equals libjpeg-turbo.
#![expect(clippy::print_stdout, reason = "what was taken is told")]
#![expect(clippy::unwrap_used, reason = "these are tests")]

use jpeg::{Channels, Decoder, Error, Header, Index, Kind, Region, Request, Scale, Target, Tier};
use libjpeg_turbo_rs::{Encoder, PixelFormat, ScalingFactor, ScanScript, Subsampling};
use std::path::{Path, PathBuf};

/// What another decoder makes of all of a picture.
fn expected(bytes: &[u8], channels: Channels) -> Option<Vec<u8>> {
    expected_at(Scale::Full, bytes, channels)
}

fn expected_at(scale: Scale, bytes: &[u8], channels: Channels) -> Option<Vec<u8>> {
    let mut decoder = libjpeg_turbo_rs::Decoder::new(bytes).ok()?;
    decoder.set_scale(ScalingFactor::try_new(1, 1 << scale as u32).ok()?);
    decoder.set_output_format(match channels {
        Channels::Gray => PixelFormat::Grayscale,
        _ => PixelFormat::Rgb,
    });
    Some(decoder.decode_image().ok()?.data)
}

/// Numbers that look drawn at random (SplitMix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % n as u64) as usize
    }

    fn region(&mut self, (width, height): (usize, usize)) -> Region {
        let (x, y) = (self.below(width), self.below(height));
        let (width, height) = (self.below(width - x) + 1, self.below(height - y) + 1);
        Region { x, y, width, height }
    }
}

fn decoded(
    decoder: &mut Decoder,
    bytes: &[u8],
    request: &Request<'_>,
    header: &Header,
) -> Result<Vec<u8>, Error> {
    let all = size_at(request.scale, header);
    let (width, height) = request.region.map_or(all, |it| (it.width, it.height));
    let stride = width * request.channels.count();
    let mut out = vec![0xA5; stride * height];
    decoder.decode(bytes, request, &mut out, stride)?;
    Ok(out)
}

/// Its width and height.
fn size(of: &Header) -> (usize, usize) {
    (of.width, of.height)
}

fn size_at(scale: Scale, of: &Header) -> (usize, usize) {
    (scale.of(of.width), scale.of(of.height))
}

fn part(whole: &[u8], width: usize, region: &Region, channels: usize) -> Vec<u8> {
    let rows = whole.chunks_exact(width * channels).skip(region.y).take(region.height);
    rows.flat_map(|row| &row[region.x * channels..][..region.width * channels]).copied().collect()
}

/// Compares all of a picture, and `n_regions` of it, in every tier. Whether it was taken.
fn check(name: &str, bytes: &[u8], n_regions: usize, draw: &mut Draw) -> bool {
    let Ok(header) = Header::read(bytes) else { return false };
    if header.supported().is_err() {
        return false;
    }
    let smaller = Scale::ALL[draw.below(3) + 1];
    for (channels, scale) in [
        (Channels::Rgb, Scale::Full),
        (Channels::Gray, Scale::Full),
        (Channels::Rgb, smaller),
        (Channels::Gray, smaller),
    ] {
        let Some(whole) = expected_at(scale, bytes, channels) else { return false };
        for tier in Tier::available() {
            let mut decoder = Decoder::with_tier(tier);
            let mut request = Request { channels, scale, ..Request::default() };
            match decoded(&mut decoder, bytes, &request, &header) {
                Err(Error::Unsupported(_)) => continue,
                Err(Error::Irregular(why)) => {
                    println!("{name}: {why}");
                    return false;
                }
                result => {
                    let is_same = result.as_ref() == Ok(&whole);
                    assert!(is_same, "{name} {tier:?} {channels:?} {scale:?}");
                }
            }
            let index = decoder.index(bytes, draw.below(12) + 1);
            if header.kind == Kind::Progressive {
                assert!(matches!(index, Err(Error::Unsupported(_))), "{name}: {index:?}");
            } else {
                let index = index.as_ref().unwrap();
                assert_eq!(Index::from_bytes(&index.to_bytes(7), 7).as_ref(), Ok(index));
            }
            for _ in 0..n_regions {
                let size = size_at(scale, &header);
                let region = draw.region(size);
                request.region = Some(region);
                let part = part(&whole, size.0, &region, channels.count());
                let indices = std::iter::once(None).chain(index.as_ref().ok().map(Some));
                for index in indices {
                    request.index = index;
                    let result = decoded(&mut decoder, bytes, &request, &header);
                    let how = index.is_some();
                    assert!(result.as_ref() == Ok(&part), "{name} {tier:?} {how} {request:?}");
                }
            }
        }
    }
    true
}

/// A picture with edges, gradients and noise.
fn pixels(width: usize, height: usize, draw: &mut Draw) -> Vec<u8> {
    let noise = draw.below(100) + 1;
    let mut pixels = Vec::with_capacity(width * height * 3);
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let edge = if (x / 5 + y / 7) % 2 == 0 { 90 } else { 0 };
        let values = [x * 3 + edge, y * 5, 255 - x.min(255) + edge];
        pixels.extend(values.map(|it| (it + draw.below(noise)).min(255) as u8));
    }
    pixels
}

const SAMPLINGS: [Subsampling; 8] = [
    Subsampling::S444,
    Subsampling::S422,
    Subsampling::S420,
    Subsampling::S440,
    Subsampling::S411,
    Subsampling::S441,
    Subsampling::S410,
    Subsampling::S24,
];

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn small_pictures_of_all_forms() {
    let mut draw = Draw(1);
    let mut taken = 0;
    for round in 0..600 {
        let (width, height) = (draw.below(70) + 1, draw.below(70) + 1);
        let pixels = pixels(width, height, &mut draw);
        let sampling = SAMPLINGS[round % SAMPLINGS.len()];
        let mut encoder = Encoder::new(&pixels, width, height, PixelFormat::Rgb)
            .quality(draw.below(100) as u8 + 1)
            .subsampling(sampling)
            .optimize_huffman(draw.below(2) == 0)
            .grayscale_from_color(draw.below(8) == 0);
        if draw.below(3) == 0 {
            encoder = encoder.restart_blocks(draw.below(9) as u16 + 1);
        }
        let Ok(bytes) = encoder.encode() else { continue };
        let name = format!("{round}: {width}x{height} {sampling:?}");
        taken += usize::from(check(&name, &bytes, 4, &mut draw));
    }
    assert!(taken > 500, "{taken}");
}

/// Scans that give all coefficients of so many components: their bands, and the bits that are left
/// for later, are drawn, and so is the order, as far as it is free.
fn script(n_components: u8, draw: &mut Draw) -> Vec<ScanScript> {
    let scan = |components: &[u8], (ss, se): (u8, u8), ah: u8, al: u8| ScanScript {
        components: components.to_vec(),
        ss,
        se,
        ah,
        al,
    };
    let all: Vec<u8> = (0..n_components).collect();
    let groups: Vec<&[u8]> = match draw.below(2) {
        0 => vec![&all],
        _ => all.chunks(1).collect(),
    };
    let means_shift = draw.below(3) as u8;
    let mut scans: Vec<_> = groups.iter().map(|it| scan(it, (0, 0), 0, means_shift)).collect();
    // What comes behind: scans of each chain are in order.
    let mut chains: Vec<Vec<ScanScript>> = groups
        .iter()
        .map(|it| (0..means_shift).map(|al| scan(it, (0, 0), al + 1, al)).collect())
        .collect();
    for &component in &all {
        let (mut first, n_bands) = (1, [1, 1, 2, 3, 9][draw.below(5)]);
        for band in 0..n_bands {
            let left = n_bands - 1 - band;
            let last = if left == 0 { 63 } else { first + draw.below(6) };
            let (span, shift) = ((first as u8, last as u8), draw.below(4) as u8);
            let mut chain: Vec<_> =
                (0..shift).map(|al| scan(&[component], span, al + 1, al)).collect();
            chain.push(scan(&[component], span, 0, shift));
            chains.push(chain);
            first = last + 1;
        }
    }
    chains.retain(|it| !it.is_empty());
    while !chains.is_empty() {
        let chain = draw.below(chains.len());
        scans.extend(chains[chain].pop());
        chains.retain(|it| !it.is_empty());
    }
    scans
}

/// A progressive picture of at most `side_max` pixels a side.
fn progressive(side_max: usize, draw: &mut Draw) -> (String, Vec<u8>) {
    let (width, height) = (draw.below(side_max) + 1, draw.below(side_max) + 1);
    let pixels = pixels(width, height, draw);
    let sampling = SAMPLINGS[draw.below(SAMPLINGS.len())];
    let is_gray = draw.below(8) == 0;
    let mut encoder = Encoder::new(&pixels, width, height, PixelFormat::Rgb)
        .quality(draw.below(100) as u8 + 1)
        .subsampling(sampling)
        .grayscale_from_color(is_gray)
        .progressive(true);
    let script = script(if is_gray { 1 } else { 3 }, draw);
    let name = format!("{width}x{height} {sampling:?} {script:?}");
    if draw.below(4) > 0 {
        encoder = encoder.scan_script(script);
    }
    if draw.below(3) == 0 {
        encoder = encoder.restart_blocks(draw.below(9) as u16 + 1);
    }
    (name, encoder.encode().unwrap())
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn progressive_pictures_of_all_forms() {
    let mut draw = Draw(7);
    let mut taken = 0;
    for round in 0..500 {
        let (name, bytes) = progressive(70, &mut draw);
        taken += usize::from(check(&format!("{round}: {name}"), &bytes, 3, &mut draw));
    }
    println!("{taken} taken");
    assert!(taken > 480, "{taken}");
}

#[test]
fn a_small_progressive_picture_and_its_parts() {
    let mut draw = Draw(9);
    let pixels = pixels(21, 18, &mut draw);
    let encoder = Encoder::new(&pixels, 21, 18, PixelFormat::Rgb).subsampling(Subsampling::S420);
    let bytes = encoder.progressive(true).restart_blocks(2).encode().unwrap();
    assert!(check("progressive", &bytes, 1, &mut draw));
}

/// Small files, and what libjpeg-turbo itself makes of them: see `goldens/make.c`.
#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn progressive_pictures_of_libjpeg_turbo() {
    let table = include_str!("goldens/progressive.tsv");
    let digits = |it: &[u8]| u8::from_str_radix(std::str::from_utf8(it).unwrap(), 16).unwrap();
    for (i, line) in table.lines().filter(|it| !it.starts_with('#')).enumerate() {
        let (file, hashes) = line.split_once('\t').unwrap();
        let bytes: Vec<u8> = file.as_bytes().chunks(2).map(digits).collect();
        let header = Header::read(&bytes).unwrap();
        for (scale, hash) in Scale::ALL.into_iter().zip(hashes.split('\t')) {
            for tier in Tier::available() {
                let request = Request { scale, ..Request::default() };
                let pixels =
                    decoded(&mut Decoder::with_tier(tier), &bytes, &request, &header).unwrap();
                let found = pixels.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, it| {
                    (hash ^ u64::from(*it)).wrapping_mul(0x100_0000_01B3)
                });
                assert_eq!(format!("{found:016x}"), hash, "file {i}, {tier:?} {scale:?}");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn a_progressive_picture_that_is_cut_off_is_refused() {
    let mut draw = Draw(8);
    let mut decoder = Decoder::new();
    for _ in 0..6 {
        let (name, bytes) = progressive(40, &mut draw);
        let header = Header::read(&bytes).unwrap();
        assert!(decoded(&mut decoder, &bytes, &Request::default(), &header).is_ok(), "{name}");
        for len in 0..bytes.len() {
            let result = decoded(&mut decoder, &bytes[..len], &Request::default(), &header);
            assert!(matches!(result, Err(Error::Irregular(_))), "{name}: {len} bytes");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn sampling_factors_of_all_kinds() {
    let mut draw = Draw(2);
    let mut taken = 0;
    for round in 0..2000 {
        let mut factor = || [1, 1, 2, 2, 3, 4][draw.below(6)];
        let factors: Vec<(u8, u8)> = (0..3).map(|_| (factor(), factor())).collect();
        if factors.iter().map(|it| it.0 * it.1).sum::<u8>() > 10 {
            continue;
        }
        let (width, height) = (draw.below(90) + 1, draw.below(90) + 1);
        let pixels = pixels(width, height, &mut draw);
        let encoder = Encoder::new(&pixels, width, height, PixelFormat::Rgb)
            .quality(80)
            .sampling_factors(factors.clone());
        let Ok(bytes) = encoder.encode() else { continue };
        let name = format!("{round}: {width}x{height} {factors:?}");
        taken += usize::from(check(&name, &bytes, 3, &mut draw));
    }
    println!("{taken} taken");
    assert!(taken > 60, "{taken}");
}

#[test]
fn rows_are_given_one_by_one_and_with_an_index() {
    let mut draw = Draw(4);
    let pixels = pixels(100, 60, &mut draw);
    let encoder = Encoder::new(&pixels, 100, 60, PixelFormat::Rgb).subsampling(Subsampling::S420);
    let bytes = encoder.encode().unwrap();
    let whole = expected(&bytes, Channels::Rgb).unwrap();
    let region = Region { x: 3, y: 5, width: 50, height: 40 };
    let request = Request { region: Some(region), ..Request::default() };
    let mut decoder = Decoder::new();
    let mut rows = Vec::new();
    let each = |row: usize, pixels: &[u8]| {
        assert_eq!(row * 150, rows.len());
        rows.extend_from_slice(pixels);
    };
    decoder.decode_rows(&bytes, &request, each).unwrap();
    assert_eq!(rows, part(&whole, 100, &region, 3));

    let mut out = vec![9; 160 * 40];
    let to = Target { out: &mut out, stride: 160 };
    let (info, index) = decoder.decode_and_index(&bytes, &request, to, 3).unwrap();
    assert_eq!(info.region, region);
    assert_eq!(index, decoder.index(&bytes, 3).unwrap());
    assert!(
        out.chunks(160).zip(rows.chunks(150)).all(|(a, b)| &a[..150] == b && a[150..] == [9; 10])
    );
}

/// Bytes of an index before its entries.
const HEAD: usize = 32;

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn an_index_that_leads_astray_is_noticed() {
    let mut draw = Draw(6);
    let pixels = pixels(200, 40, &mut draw);
    for restarts in [0, 5] {
        let encoder = Encoder::new(&pixels, 200, 40, PixelFormat::Rgb);
        let bytes = encoder.restart_blocks(restarts).encode().unwrap();
        let header = Header::read(&bytes).unwrap();
        let mut decoder = Decoder::new();
        let whole = expected(&bytes, Channels::Rgb).unwrap();
        let index = decoder.index(&bytes, 4).unwrap().to_bytes(0);
        for (at, bit) in (HEAD..index.len()).flat_map(|at| [0, 3, 6].map(|bit| (at, bit))) {
            let mut wrong = index.clone();
            wrong[at] ^= 1 << bit;
            let Ok(wrong) = Index::from_bytes(&wrong, 0) else { continue };
            let region = draw.region(size(&header));
            let request =
                Request { region: Some(region), index: Some(&wrong), ..Request::default() };
            match decoded(&mut decoder, &bytes, &request, &header) {
                Ok(pixels) => {
                    // What is wrong up to a marker may be right behind it.
                    let is_right = pixels == part(&whole, header.width, &region, 3) || restarts > 0;
                    assert!(is_right, "{at} {bit}");
                }
                Err(why) => assert!(matches!(why, Error::Irregular(_)), "{why}"),
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let pixels = vec![0; 3 * 64];
    let bytes = Encoder::new(&pixels, 8, 8, PixelFormat::Rgb).encode().unwrap();
    let mut decoder = Decoder::new();
    let mut out = [0; 192];
    let mut decode = |request: &Request<'_>, len: usize, stride| {
        decoder.decode(&bytes, request, &mut out[..len], stride)
    };
    let all = Request::default();
    assert!(decode(&all, 192, 24).is_ok());
    assert!(matches!(decode(&all, 191, 24), Err(Error::Request(_))));
    assert!(matches!(decode(&all, 192, 23), Err(Error::Request(_))));
    assert!(matches!(decode(&all, 192, usize::MAX), Err(Error::Request(_))));
    let outside = Region { x: usize::MAX, y: 0, width: 2, height: 1 };
    let request = Request { region: Some(outside), ..all };
    assert!(matches!(decode(&request, 192, 24), Err(Error::Request(_))));
    let request = Request { pixels_max: 63, ..all };
    assert!(matches!(decode(&request, 192, 24), Err(Error::TooLarge(_))));

    let index = Decoder::new().index(&bytes, 8).unwrap();
    assert!(matches!(Index::from_bytes(&index.to_bytes(1), 2), Err(Error::Request(_))));
    let longer = [&bytes[..], &[0]].concat();
    let request = Request { index: Some(&index), ..all };
    let result = Decoder::new().decode(&longer, &request, &mut out, 24);
    assert!(matches!(result, Err(Error::Request(_))));
}

/// Changes some bytes, or cuts the file, or doubles a part of it.
fn mutate(bytes: &mut Vec<u8>, draw: &mut Draw) {
    for _ in 0..draw.below(4) + 1 {
        let at = draw.below(bytes.len());
        match draw.below(8) {
            0 => bytes[at] = 0xFF,
            1 => bytes[at] ^= 1 << draw.below(8),
            2 => bytes.truncate(at.max(2)),
            3 => drop(bytes.remove(at)),
            4 => bytes.insert(at, draw.below(256) as u8),
            5 => {
                let part = bytes[at..bytes.len().min(at + draw.below(40))].to_vec();
                bytes.splice(at..at, part);
            }
            _ => bytes[at] = draw.below(256) as u8,
        }
        if bytes.len() < 3 {
            return;
        }
    }
}

#[test]
fn damaged_files_are_refused_or_are_what_another_decoder_makes_of_them() {
    let rounds = match std::env::var_os("SLOW_TESTS") {
        // Each takes it seconds.
        _ if cfg!(miri) => 5,
        Some(_) => 100_000,
        None => 2000,
    };
    let mut draw = Draw(5);
    let (mut given, mut compared) = (0, 0);
    let mut decoders: Vec<Decoder> = Tier::available().map(Decoder::with_tier).collect();
    let mut whole = Vec::new();
    for round in 0..rounds {
        if round % 100 == 50 {
            whole = progressive(50, &mut draw).1;
        } else if round % 100 == 0 {
            let (width, height) = (draw.below(60) + 1, draw.below(60) + 1);
            let pixels = pixels(width, height, &mut draw);
            let mut encoder = Encoder::new(&pixels, width, height, PixelFormat::Rgb)
                .subsampling(SAMPLINGS[draw.below(8)])
                .quality(draw.below(100) as u8 + 1);
            if draw.below(2) == 0 {
                encoder = encoder.restart_blocks(draw.below(9) as u16 + 1);
            }
            whole = encoder.encode().unwrap();
        }
        let mut bytes = whole.clone();
        mutate(&mut bytes, &mut draw);
        // A damaged index leads to no other pixels either.
        if let (Ok(index), Ok(header)) = (decoders[0].index(&whole, 2), Header::read(&whole)) {
            let mut kept = index.to_bytes(0);
            mutate(&mut kept, &mut draw);
            if let Ok(index) = Index::from_bytes(&kept, 0) {
                let request = Request { index: Some(&index), ..Request::default() };
                let which = draw.below(decoders.len());
                if let Ok(pixels) = decoded(&mut decoders[which], &whole, &request, &header) {
                    let expected = expected(&whole, Channels::Rgb).unwrap();
                    let is_right = pixels == expected || header.restart_interval > 0;
                    assert!(is_right, "{round}: a wrong index was believed");
                }
            }
        }
        let Ok(header) = Header::read(&bytes) else { continue };
        let request = Request { pixels_max: 1 << 20, ..Request::default() };
        if header.width * header.height > request.pixels_max {
            continue;
        }
        let mut results = decoders
            .iter_mut()
            .map(|it| decoded(it, &bytes, &request, &header))
            .collect::<Vec<_>>();
        let result = results.pop().unwrap();
        assert!(results.iter().all(|it| *it == result), "{round}: the tiers differ");
        let Ok(pixels) = result else { continue };
        given += 1;
        if let Some(expected) = expected(&bytes, Channels::Rgb) {
            compared += 1;
            // Where damage makes words overflow, its Neon wraps elsewhere than its SSE2 and AVX2.
            let is_same = expected == pixels || cfg!(target_arch = "aarch64");
            assert!(is_same, "{round}: not as the other decoder");
        }
    }
    println!("{given} of {rounds} were given, {compared} compared");
    assert!(compared > 100 || cfg!(miri));
}

fn files(under: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(under) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|it| Some(it.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|it| {
            ["jpg", "jpeg"].contains(&it.to_string_lossy().to_lowercase().as_str())
        }) {
            found.push(path);
        }
    }
}

fn real_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"), &mut found);
    if found.is_empty() {
        println!("../shared/data is absent: skipped");
    }
    found
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn real_pictures() {
    let all = std::env::var_os("SLOW_TESTS").is_some();
    let files = real_files();
    let step = if all { 1 } else { files.len().div_ceil(60).max(1) };
    let mut draw = Draw(3);
    let (mut n, mut taken) = (0, 0);
    for path in files.iter().step_by(step) {
        let bytes = std::fs::read(path).unwrap();
        n += 1;
        taken += usize::from(check(&path.display().to_string(), &bytes, 3, &mut draw));
    }
    println!("{taken} of {n} files taken");
}
