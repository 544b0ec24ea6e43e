//! Measures the decoder on the WebPs of a folder, one core: prints microseconds a picture, the
//! least and the median of some rounds. `speed FOLDER [ROUNDS] [TIER]`.
#![expect(clippy::print_stdout, reason = "it is what it is for")]

use std::time::Instant;
use webp::{Decoder, File, Kind, Tier};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        println!("usage: speed FOLDER [ROUNDS] [TIER]");
        return;
    };
    let rounds = arguments.next().and_then(|it| it.parse().ok()).unwrap_or(5);
    let tier = arguments.next();
    let tier = Tier::available().find(|it| Some(format!("{it:?}").to_lowercase()) == tier);
    let tier = tier.unwrap_or(Tier::best());
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<_> = entries.filter_map(|it| Some(it.ok()?.path())).collect();
    paths.sort();
    let files = paths.iter().filter_map(|it| std::fs::read(it).ok());
    let files: Vec<Vec<u8>> =
        files.filter(|it| File::read(it).is_ok_and(|it| it.kind != Kind::Animated)).collect();
    println!("{} pictures, {tier:?}", files.len());

    let mut decoder = Decoder::with_tier(tier);
    let mut pixels = Vec::new();
    let mut seconds: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            for bytes in &files {
                let file = File::read(bytes).expect("it was read before");
                let len = file.width * file.height * 3;
                if pixels.len() < len {
                    pixels.resize(len, 0);
                }
                decoder.rgb(&file, &mut pixels[..len]).expect("the picture is good");
            }
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let each = |it: f64| it / files.len() as f64 * 1e6;
    println!("{:.1} us (median {:.1})", each(seconds[0]), each(seconds[seconds.len() / 2]));
}
