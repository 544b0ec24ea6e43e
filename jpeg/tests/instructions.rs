//! The hot kernels take as many instructions as `instructions.txt` says, which unlike their time
//! does not depend on the machine.
//!
//! Valgrind counts them, whose processor has AVX2 and no AVX-512: `SLOW_TESTS=1 cargo test --release
//! -p jpeg --test instructions`. With `COUNT_AGAIN=1` the file is written anew: what has changed is
//! then to be told where the change is.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use jpeg::{Decoder, Header, Request};
use libjpeg_turbo_rs::{Encoder, PixelFormat, Subsampling};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/instructions.txt");
/// What a count may differ by, of itself.
const TOLERANCE: f64 = 0.02;

/// What is counted: the kernel's function.
const KERNELS: [&str; 6] = [
    "jpeg::entropy::run_bmi2",
    "jpeg::huffman::fill_avx2",
    "jpeg::unstuff::x86::avx2",
    "jpeg::pixels::tiers::avx2::idct",
    "jpeg::pixels::tiers::avx2::h2v2",
    "jpeg::pixels::tiers::avx2::ycc_to_rgb",
];

#[test]
fn kernels_take_as_many_instructions_as_before() {
    if std::env::var_os("SLOW_TESTS").is_none() || cfg!(debug_assertions) {
        println!("instructions are counted with SLOW_TESTS=1, and --release");
        return;
    }
    let Some(found) = counted() else {
        println!("there is no valgrind to count instructions");
        return;
    };
    let text: String =
        KERNELS.iter().map(|it| format!("{it} {}\n", found.get(*it).unwrap_or(&0))).collect();
    if std::env::var_os("COUNT_AGAIN").is_some() {
        return std::fs::write(FILE, text).unwrap();
    }
    for line in std::fs::read_to_string(FILE).unwrap().lines() {
        let (kernel, count) = line.split_once(' ').unwrap();
        let (before, now) = (count.parse::<f64>().unwrap(), found.get(kernel).copied());
        let ratio = now.unwrap_or(0) as f64 / before;
        assert!((ratio - 1.0).abs() <= TOLERANCE, "{kernel}: {before} before, now {now:?}\n{text}");
    }
}

/// The instructions of each function of this program while it runs [`work`]; none without valgrind.
fn counted() -> Option<BTreeMap<String, u64>> {
    let to = std::env::temp_dir().join(format!("jpeg-instructions-{}", std::process::id()));
    let ended = Command::new("valgrind")
        .args(["--tool=callgrind", &format!("--callgrind-out-file={}", to.display())])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "work", "--ignored", "--test-threads=1"])
        .output();
    let ended = ended.ok()?;
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let counts = read(&to);
    std::fs::remove_file(to).unwrap();
    Some(counts)
}

/// Adds up what a file of callgrind's says of each function, without those that it calls.
fn read(file: &Path) -> BTreeMap<String, u64> {
    let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
    let (mut names, mut counts) = (BTreeMap::new(), BTreeMap::new());
    let (mut name, mut is_call) = (String::new(), false);
    for line in text.lines() {
        if let Some(function) = line.strip_prefix("fn=") {
            // A name stands only where its number comes first.
            let (number, said) = function.split_once(' ').unwrap_or((function, ""));
            let known = names.entry(number.to_owned()).or_insert_with(|| said.to_owned());
            name.clone_from(known);
        } else if let Some(function) = line.strip_prefix("cfn=") {
            if let Some((number, said)) = function.split_once(' ') {
                names.insert(number.to_owned(), said.to_owned());
            }
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|it: char| it.is_ascii_digit() || "+-*".contains(it)) {
            let count = line.split_once(' ').and_then(|it| it.1.parse().ok()).unwrap_or(0);
            *counts.entry(name.clone()).or_insert(0) += if is_call { 0 } else { count };
            is_call = false;
        }
    }
    counts
}

/// Decodes pictures of our own, of the two samplings that are common.
#[test]
#[ignore = "it is run by the other"]
fn work() {
    let mut decoder = Decoder::new();
    for (sampling, seed) in [(Subsampling::S420, 1), (Subsampling::S444, 2)] {
        let (width, height) = (500, 375);
        let pixels = pixels(width, height, seed);
        let bytes = Encoder::new(&pixels, width, height, PixelFormat::Rgb)
            .subsampling(sampling)
            .quality(92)
            .optimize_huffman(true)
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
