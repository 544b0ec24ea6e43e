//! Measures the decoder on the JPEGs of a folder, one core, beside `libjpeg-turbo-rs`: prints
//! microseconds an image, the least of some rounds. `speed FOLDER [TIER] [WHAT]`: of the lines only
//! those that have `WHAT` in them.
#![expect(clippy::print_stdout, reason = "it is what it is for")]

use jpeg::{Decoder, Header, Kind, Region, Request, Tier};
use std::path::Path;
use std::time::Instant;

/// Rounds over all files; the least counts.
const ROUNDS: usize = 5;

struct Picture {
    bytes: Vec<u8>,
    header: Header,
    region: Region,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        println!("usage: speed FOLDER [TIER] [WHAT]");
        return;
    };
    let tier = arguments.next();
    let tier = Tier::available().find(|it| Some(format!("{it:?}").to_lowercase()) == tier);
    let tier = tier.unwrap_or(Tier::best());
    let pictures = pictures(Path::new(&folder));
    println!("{} pictures, {tier:?}", pictures.len());
    let mut decoder = Decoder::with_tier(tier);
    let mut out = Vec::new();

    measure("code only", &pictures, |it| {
        decoder.check(&it.bytes).expect("the picture was found good");
    });
    measure("all of it, RGB", &pictures, |it| {
        decode(&mut decoder, it, Request::default(), &mut out);
    });
    measure("a region, RGB", &pictures, |it| {
        let request = Request { region: Some(it.region), ..Request::default() };
        decode(&mut decoder, it, request, &mut out);
    });
    measure("libjpeg-turbo-rs, all of it, RGB", &pictures, |it| other(it, &mut out));
    if pictures.iter().any(|it| it.header.kind == Kind::Progressive) {
        println!("an index is for a folder of baseline files alone");
        return;
    }
    measure("an index", &pictures, |it| {
        decoder.index(&it.bytes, 8).expect("the picture was found good");
    });
    for spacing in [8, usize::MAX] {
        let index = |it: &Picture| decoder.index(&it.bytes, spacing).expect("it was found good");
        let indices: Vec<_> = pictures.iter().map(index).collect();
        let mut indices = indices.iter().cycle();
        let what = format!("a region, an index every {}", spacing.min(9999));
        measure(&what, &pictures, |it| {
            let request =
                Request { region: Some(it.region), index: indices.next(), ..Request::default() };
            decode(&mut decoder, it, request, &mut out);
        });
    }
}

fn decode(decoder: &mut Decoder, of: &Picture, request: Request<'_>, out: &mut Vec<u8>) {
    let (width, height) =
        request.region.map_or((of.header.width, of.header.height), |it| (it.width, it.height));
    let len = width * height * 3;
    if out.len() < len {
        out.resize(len, 0);
    }
    decoder.decode(&of.bytes, &request, out, width * 3).expect("the picture was found good");
}

fn other(of: &Picture, out: &mut Vec<u8>) {
    let len = of.header.width * of.header.height * 3;
    if out.len() < len {
        out.resize(len, 0);
    }
    let mut decoder = libjpeg_turbo_rs::Decoder::new(&of.bytes).expect("the picture is good");
    decoder.set_output_format(libjpeg_turbo_rs::PixelFormat::Rgb);
    decoder.decode_image_into(&mut out[..len]).expect("the picture is good");
}

fn measure(what: &str, pictures: &[Picture], mut each: impl FnMut(&Picture)) {
    if std::env::args().nth(3).is_some_and(|it| !what.contains(&it)) {
        return;
    }
    let mut seconds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            pictures.iter().for_each(&mut each);
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let each = |it: f64| it / pictures.len() as f64 * 1e6;
    println!("{what:<36} {:7.1} us (median {:7.1})", each(seconds[0]), each(seconds[ROUNDS / 2]));
}

/// The pictures of a folder that are taken, and a region of each as random resized crops are:
/// 8 to 100% of the area, 3:4 to 4:3.
fn pictures(folder: &Path) -> Vec<Picture> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<_> = entries.filter_map(|it| Some(it.ok()?.path())).collect();
    paths.sort();
    let mut state = 1_u64;
    let mut draw = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let pictures = paths.iter().filter_map(|path| {
        let bytes = std::fs::read(path).ok()?;
        let header = Header::read(&bytes).ok()?;
        Decoder::new().check(&bytes).ok()?;
        let region = crop(&header, &mut draw);
        Some(Picture { bytes, header, region })
    });
    pictures.collect()
}

fn crop(header: &Header, draw: &mut impl FnMut() -> f64) -> Region {
    let (all_width, all_height) = (header.width as f64, header.height as f64);
    for _ in 0..10 {
        let area = all_width * all_height * (0.08 + 0.92 * draw());
        let ratio = ((draw() * 2.0 - 1.0) * (4.0_f64 / 3.0).ln()).exp();
        let (width, height) = ((area * ratio).sqrt().round(), (area / ratio).sqrt().round());
        if (1.0..=all_width).contains(&width) && (1.0..=all_height).contains(&height) {
            let x = draw() * (all_width - width);
            let y = draw() * (all_height - height);
            return Region {
                x: x as usize,
                y: y as usize,
                width: width as usize,
                height: height as usize,
            };
        }
    }
    Region { x: 0, y: 0, width: header.width, height: header.height }
}
