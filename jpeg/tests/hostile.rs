//! Whatever the bytes, nothing panics, and all limits hold.
#![expect(clippy::print_stdout, reason = "what was tried is told")]
#![expect(clippy::unwrap_used, reason = "these are tests")]

#[path = "hostile/target.rs"]
mod target;

use libjpeg_turbo_rs::{Encoder, PixelFormat, Subsampling};
use std::path::Path;
use std::time::{Duration, Instant};
use target::{Draw, decode, mutate};

/// Small files of our own, of several forms.
fn own() -> Vec<Vec<u8>> {
    let mut draw = Draw(1);
    let samplings = [Subsampling::S444, Subsampling::S420, Subsampling::S422, Subsampling::S440];
    let file = |i: usize| {
        let (width, height) = (draw.below(60) + 1, draw.below(60) + 1);
        let pixels: Vec<u8> = (0..3 * width * height).map(|_| draw.below(256) as u8).collect();
        let encoder = Encoder::new(&pixels, width, height, PixelFormat::Rgb)
            .subsampling(samplings[i % samplings.len()])
            .quality(draw.below(100) as u8 + 1)
            .optimize_huffman(i.is_multiple_of(3))
            .grayscale_from_color(i.is_multiple_of(5))
            .progressive(i % 4 > 1)
            .restart_blocks(if i.is_multiple_of(2) { 0 } else { draw.below(9) as u16 + 1 });
        encoder.encode().unwrap()
    };
    (0..24).map(file).collect()
}

/// Damaged files of others.
fn found() -> Vec<Vec<u8>> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/corrupt");
    let folders = ["jpeg", "jpeg_seed"].map(|it| std::fs::read_dir(all.join(it)));
    let entries = folders.into_iter().flatten().flatten();
    let files: Vec<_> = entries.filter_map(|it| std::fs::read(it.ok()?.path()).ok()).collect();
    if files.is_empty() {
        println!("../shared/data is absent: only our own files are tried");
    }
    files
}

/// Some rounds; with FUZZ_SECONDS as many as fit in.
#[test]
fn mutants_do_no_harm() {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|it| it.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let (own, found) = (own(), found());
    let mut draw = Draw(seconds.unwrap_or(2));
    let (mut rounds, mut given) = (0, 0);
    found.iter().chain(&own).for_each(|it| given += decode(it));
    while rounds < 2000 || Instant::now() < end {
        let files = if found.is_empty() || draw.below(3) > 0 { &own } else { &found };
        let mut bytes = files[draw.below(files.len())].clone();
        mutate(&mut bytes, &mut draw);
        given += decode(&bytes);
        rounds += 1;
    }
    println!("{rounds} mutants, {given} pictures given");
    assert!(given > 100);
}
