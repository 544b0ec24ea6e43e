//! The hot kernels take as many instructions as `instructions.txt` says: see `counting`.

use jpeg::{Decoder, Header, Request};
use libjpeg_turbo_rs::{Encoder, PixelFormat, Subsampling};
use std::path::Path;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/instructions.txt");
const KERNELS: [&str; 9] = [
    "jpeg::entropy::run_bmi2",
    "jpeg::huffman::fill_avx2",
    "jpeg::unstuff::x86::avx2",
    "jpeg::pixels::tiers::avx2::idct",
    "jpeg::pixels::tiers::avx2::h2v2",
    "jpeg::pixels::tiers::avx2::ycc_to_rgb",
    "jpeg::progressive::avx2::first",
    "jpeg::progressive::avx2::first_means",
    "jpeg::progressive::avx2::refine",
];

#[test]
fn kernels_take_as_many_instructions_as_before() {
    counting::compare(Path::new(FILE), "work", &KERNELS);
}

/// Decodes pictures of our own, of the two samplings that are common, baseline and progressive.
#[test]
#[ignore = "it is run by the other"]
fn work() {
    let mut decoder = Decoder::new();
    for (sampling, seed, is_progressive) in
        [(Subsampling::S420, 1, false), (Subsampling::S444, 2, false), (Subsampling::S420, 1, true)]
    {
        let (width, height) = (500, 375);
        let pixels = pixels(width, height, seed);
        let bytes = Encoder::new(&pixels, width, height, PixelFormat::Rgb)
            .subsampling(sampling)
            .quality(92)
            .optimize_huffman(true)
            .progressive(is_progressive)
            .encode()
            .unwrap();
        let header = Header::read(&bytes).unwrap();
        let mut out = vec![0; 3 * header.width * header.height];
        decoder.decode(&bytes, &Request::default(), &mut out, 3 * header.width).unwrap();
    }
}

/// Gradients, edges, and noise that differs from place to place.
fn pixels(width: usize, height: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut pixels = Vec::with_capacity(3 * width * height);
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let edge = if (x / 45 + y / 37) % 2 == 0 { 60 } else { 0 };
        for value in [x / 3 + edge, y / 3 + edge, 160 - x / 5 + edge / 2] {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed | 1);
            let noise = (state >> 40) as usize % (1 + 24 * (x / 100 % 2) + y / 20);
            pixels.push((value + noise).min(255) as u8);
        }
    }
    pixels
}
