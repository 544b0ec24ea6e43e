//! Every tier gives the bytes of the plain one, and the plain one those of libjpeg-turbo.

use super::{Coded, Kernels, PLAIN};
use crate::Tier;

/// One case of a test in so many is tried: Miri takes seconds for what a processor does in a millisecond.
const STEP: usize = if cfg!(miri) { 97 } else { 1 };

/// Numbers that look random (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        // Runs of one value and extremes are as likely as anything else.
        (0..n).map(|_| [self.next() as u8, 0, 255, 128][self.next() as usize % 4]).collect()
    }

    /// Blocks of few and of many coefficients, small ones and any that 16 bits hold.
    fn blocks(&mut self, n: usize) -> Vec<i16> {
        let mut coefs = vec![0; 64 * n];
        for block in coefs.as_chunks_mut::<64>().0 {
            let (filled, bits) =
                ([0, 1, 6, 10, 11, 20, 64][self.next() as usize % 7], self.next() % 16);
            for coef in &mut block[..filled] {
                *coef = (self.next() as i16) >> bits;
            }
            if filled > 0 && self.next().is_multiple_of(8) {
                block[self.next() as usize % filled] =
                    [i16::MIN, i16::MAX][self.next() as usize % 2];
            }
        }
        coefs
    }

    fn quant(&mut self) -> [u16; 64] {
        let bits = self.next() % 16;
        std::array::from_fn(|_| ((self.next() as u16) >> bits).max(1))
    }
}

/// The output of `run` for `kernels`, between bytes that must stay.
fn guarded(kernels: &Kernels, n: usize, run: impl Fn(&Kernels, &mut [u8])) -> Vec<u8> {
    let mut out = vec![0xa5; n + 128];
    run(kernels, &mut out[64..][..n]);
    assert!(out[..64].iter().chain(&out[64 + n..]).all(|&it| it == 0xa5), "wrote past its output");
    out
}

/// Holds when all tiers write the `n` bytes that the plain one does.
fn check(n: usize, run: impl Fn(&Kernels, &mut [u8])) {
    let expected = guarded(&PLAIN, n, &run);
    for tier in Tier::available() {
        let found = guarded(Kernels::of(tier), n, &run);
        let differs = (0..found.len()).find(|&i| found[i] != expected[i]);
        assert_eq!(differs.map(|i| (tier, n, i - 64)), None);
    }
}

#[test]
fn all_tiers_give_the_same_blocks() {
    let mut numbers = Numbers(1);
    for round in (0..if cfg!(miri) { 1000 } else { 2000 }).step_by(STEP) {
        let n = round % 11;
        let (coefs, quant) = (numbers.blocks(n), numbers.quant());
        let blocks = Coded { coefs: &coefs, factors: &quant };
        let stride = 8 * n + numbers.next() as usize % 9;
        check(7 * stride + 8 * n, |it, out| it.idct(&blocks, out, stride));
        for (shift, side) in [(1, 4), (2, 2), (3, 1)] {
            let len = (side - 1) * stride + side * n;
            check(len, |it, out| it.idct_scaled(shift, &blocks, out, stride));
        }
    }
}

#[test]
fn all_tiers_upsample_to_the_same_rows() {
    let mut numbers = Numbers(2);
    for n in (0..200).chain(0..200).step_by(STEP) {
        let (near, far) = (numbers.bytes(n + 2), numbers.bytes(n + 2));
        check(2 * n, |it, out| it.h2v1(&near, out));
        check(2 * n, |it, out| it.h2v2(&near, &far, out));
        check(n + 2, |it, out| it.h1v2(&near, &far, 1, out));
        check(n + 2, |it, out| it.h1v2(&near, &far, 2, out));
    }
}

#[test]
fn all_tiers_give_the_same_pixels() {
    let mut numbers = Numbers(3);
    for n in (0..300).step_by(STEP) {
        let [a, b, c] = [numbers.bytes(n), numbers.bytes(n), numbers.bytes(n)];
        check(3 * n, |it, out| it.ycc_to_rgb(&a, &b, &c, out));
        check(3 * n, |it, out| it.interleave(&a, &b, &c, out));
        check(3 * n, |it, out| it.gray_to_rgb(&a, out));
    }
}

#[test]
fn all_colours_are_the_same_on_all_tiers() {
    let cb: Vec<u8> = (0..=255).collect();
    for (cr, y) in (0..=255).flat_map(|cr| [0, 77, 128, 255].map(|y| (cr, y))).step_by(STEP) {
        check(3 * 256, |it, out| it.ycc_to_rgb(&[y; 256], &cb, &[cr; 256], out));
    }
}

#[test]
fn a_block_without_waves_is_flat() {
    let mut coefs = [0; 64];
    (coefs[0], coefs[1]) = (40, 0);
    for tier in Tier::available() {
        let mut out = [0; 64];
        let blocks = Coded { coefs: &coefs, factors: &[2; 64] };
        Kernels::of(tier).idct(&blocks, &mut out, 8);
        assert_eq!(out, [138; 64], "{tier:?}"); // 128 + 40 * 2 / 8
    }
}

/// Run by name, with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "prints speeds"]
fn speed() {
    let mut numbers = Numbers(4);
    let n = 60;
    let mut coefs = numbers.blocks(n);
    coefs.iter_mut().for_each(|it| *it >>= 8);
    let mut corners = coefs.clone();
    corners.as_chunks_mut::<64>().0.iter_mut().for_each(|it| it[6..].fill(0));
    let (rows, quant) = (numbers.bytes(3 * 480), [3; 64]);
    let (a, b, c) = (&rows[..480], &rows[480..960], &rows[960..]);
    let blocks = Coded { coefs: &coefs, factors: &quant };
    let corners = Coded { coefs: &corners, ..blocks };
    let mut out = vec![0; 16 * 480];
    for tier in Tier::available() {
        let it = Kernels::of(tier);
        let time = |what: &str, per: usize, run: &mut dyn FnMut()| {
            let mut best = f64::MAX;
            for _ in 0..20 {
                let start = std::time::Instant::now();
                (0..1000).for_each(|_| run());
                best = best.min(start.elapsed().as_nanos() as f64 / 1000.0 / per as f64);
            }
            println!("{tier:?} {what}: {best:.3} ns");
        };
        time("idct, a block", n, &mut || it.idct(&blocks, &mut out, 480));
        time("corner, a block", n, &mut || it.idct(&corners, &mut out, 480));
        for shift in 1..4 {
            time("scaled, a block", n, &mut || {
                it.idct_scaled(shift, &blocks, &mut out, 480);
            });
        }
        time("h2v1, a sample", 2 * 478, &mut || it.h2v1(a, &mut out[..2 * 478]));
        time("h2v2, a sample", 2 * 478, &mut || it.h2v2(a, b, &mut out[..2 * 478]));
        time("h1v2, a sample", 480, &mut || it.h1v2(a, b, 1, &mut out[..480]));
        time("ycc_to_rgb, a pixel", 480, &mut || it.ycc_to_rgb(a, b, c, &mut out[..3 * 480]));
        time("interleave, a pixel", 480, &mut || it.interleave(a, b, c, &mut out[..3 * 480]));
    }
}

/// A component's samples as the kernels make them of its coefficients.
struct Plane {
    samples: Vec<u8>,
    stride: usize,
    /// Without the padding of the blocks.
    width: usize,
    height: usize,
}

/// A picture of `width` x `height` RGB pixels: waves and noise.
fn picture(width: usize, height: usize) -> Vec<u8> {
    let mut numbers = Numbers(5);
    let mut pixels = Vec::new();
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let wave = |by: usize| ((x * by + y * 3) as f32 / 40.0).sin() * 100.0 + 128.0;
        pixels.extend(
            [5, 7, 11].map(|by| (wave(by) as u8).saturating_add(numbers.next() as u8 >> 4)),
        );
    }
    pixels
}

fn planes(kernels: &Kernels, jpeg: &[u8], shift: u32) -> Vec<Plane> {
    let read = libjpeg_turbo_rs::read_coefficients(jpeg).expect("a JPEG");
    let largest = |of: fn(&libjpeg_turbo_rs::ComponentCoefficients) -> u8| {
        usize::from(read.components.iter().map(of).max().expect("a component"))
    };
    let (h_max, v_max) = (largest(|it| it.h_sampling), largest(|it| it.v_sampling));
    let plane = |it: &libjpeg_turbo_rs::ComponentCoefficients| {
        let natural = &read.quant_tables[usize::from(it.quant_table_index)];
        let quant = super::idct::NATURAL.map(|at| natural[usize::from(at)]);
        let (side, stride) = (8 >> shift, it.blocks_x * (8 >> shift));
        let mut samples = vec![0; stride * it.blocks_y * side];
        let rows = it.blocks.chunks(it.blocks_x).zip(samples.chunks_mut(stride * side));
        for (blocks, out) in rows {
            let blocks = Coded { coefs: blocks.as_flattened(), factors: &quant };
            match shift {
                0 => kernels.idct(&blocks, out, stride),
                _ => kernels.idct_scaled(shift, &blocks, out, stride),
            }
        }
        let part = |whole: u16, of: u8, max: usize| {
            (usize::from(whole) * usize::from(of)).div_ceil(max).div_ceil(1 << shift)
        };
        let (width, height) =
            (part(read.width, it.h_sampling, h_max), part(read.height, it.v_sampling, v_max));
        Plane { samples, stride, width, height }
    };
    read.components.iter().map(plane).collect()
}

impl Plane {
    /// Row `y` (or the nearest one there is) with a neighbour on either side.
    fn row(&self, y: isize) -> Vec<u8> {
        let y = y.clamp(0, self.height as isize - 1) as usize;
        let row = &self.samples[y * self.stride..][..self.width];
        [&row[..1], row, &row[self.width - 1..]].concat()
    }

    /// Row `y` of the picture, for a component that has a part of its samples.
    fn upsampled(&self, kernels: &Kernels, y: usize, times: [usize; 2]) -> Vec<u8> {
        let near = y / times[1];
        let far = if y.is_multiple_of(2) { near as isize - 1 } else { near as isize + 1 };
        let (near, far) = (self.row(near as isize), self.row(far));
        let mut to = vec![0; times[0] * self.width];
        match times {
            [1, 1] => to.copy_from_slice(&near[1..=self.width]),
            [2, 1] => kernels.h2v1(&near, &mut to),
            [2, 2] => kernels.h2v2(&near, &far, &mut to),
            _ => {
                let (near, far) = (&near[1..=self.width], &far[1..=self.width]);
                kernels.h1v2(near, far, 1 + y as u16 % 2, &mut to);
            }
        }
        to
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn pixels_are_those_of_libjpeg_turbo() {
    use libjpeg_turbo_rs::{PixelFormat, Subsampling, compress, decompress_to};
    let (width, height) = (173, 91);
    let source = picture(width, height);
    let samplings = [
        (Subsampling::S444, [1, 1]),
        (Subsampling::S422, [2, 1]),
        (Subsampling::S420, [2, 2]),
        (Subsampling::S440, [1, 2]),
    ];
    for ((sampling, times), quality) in samplings.into_iter().flat_map(|it| [(it, 30), (it, 95)]) {
        let jpeg = compress(&source, width, height, PixelFormat::Rgb, quality, sampling);
        let jpeg = jpeg.expect("it can be encoded");
        let expected = decompress_to(&jpeg, PixelFormat::Rgb).expect("a JPEG").data;
        for tier in Tier::available() {
            let kernels = Kernels::of(tier);
            let planes = planes(kernels, &jpeg, 0);
            for (y, expected) in expected.chunks(3 * width).enumerate() {
                let chroma = [1, 2].map(|i: usize| planes[i].upsampled(kernels, y, times));
                let [cb, cr] = &chroma;
                let luma = &planes[0].samples[y * planes[0].stride..][..width];
                let mut found = vec![0; 3 * width];
                kernels.ycc_to_rgb(luma, &cb[..width], &cr[..width], &mut found);
                assert!(found == expected, "{tier:?}, {sampling:?}, quality {quality}, row {y}");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn smaller_gray_pictures_are_those_of_libjpeg_turbo() {
    use libjpeg_turbo_rs::{Decoder, PixelFormat, ScalingFactor, Subsampling, compress};
    let (width, height) = (173, 91);
    let source: Vec<u8> =
        picture(width, height).as_chunks::<3>().0.iter().map(|it| it[1]).collect();
    for (quality, shift) in
        [30, 75, 97].into_iter().flat_map(|it| [(it, 0), (it, 1), (it, 2), (it, 3)])
    {
        let jpeg =
            compress(&source, width, height, PixelFormat::Grayscale, quality, Subsampling::S444);
        let jpeg = jpeg.expect("it can be encoded");
        let mut decoder = Decoder::new(&jpeg).expect("a JPEG");
        decoder.set_scale(ScalingFactor::try_new(1, 1 << shift).expect("a factor"));
        let expected = decoder.decode_image().expect("a JPEG");
        for tier in Tier::available() {
            let plane = &planes(Kernels::of(tier), &jpeg, shift)[0];
            assert_eq!((plane.width, plane.height), (expected.width, expected.height));
            for (y, expected) in expected.data.chunks(expected.width).enumerate() {
                let found = &plane.samples[y * plane.stride..][..plane.width];
                assert!(
                    found == expected,
                    "{tier:?}, quality {quality}, 1/{}, row {y}",
                    1 << shift
                );
            }
        }
    }
}
