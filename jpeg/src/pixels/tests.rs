//! Every tier gives the bytes of the plain one, and the plain one those of libjpeg-turbo.

use super::{Kernels, PLAIN};
use crate::Tier;

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
            let (filled, bits) = ([0, 1, 5, 20, 64][self.next() as usize % 5], self.next() % 16);
            for coef in &mut block[..filled] {
                *coef = (self.next() as i16) >> bits;
            }
            if self.next() % 8 == 0 {
                block[self.next() as usize % 64] = [i16::MIN, i16::MAX][self.next() as usize % 2];
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
    for round in 0..2000 {
        let n = round % 11;
        let (coefs, quant) = (numbers.blocks(n), numbers.quant());
        let stride = 8 * n + numbers.next() as usize % 9;
        check(7 * stride + 8 * n, |it, out| it.idct(&coefs, &quant, out, stride));
        for (shift, side) in [(1, 4), (2, 2), (3, 1)] {
            let len = (side - 1) * stride + side * n;
            check(len, |it, out| it.idct_scaled(shift, &coefs, &quant, out, stride));
        }
    }
}

#[test]
fn all_tiers_upsample_to_the_same_rows() {
    let mut numbers = Numbers(2);
    for n in (0..200).chain(0..200) {
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
    for n in 0..300 {
        let [a, b, c] = [numbers.bytes(n), numbers.bytes(n), numbers.bytes(n)];
        check(3 * n, |it, out| it.ycc_to_rgb(&a, &b, &c, out));
        check(3 * n, |it, out| it.interleave(&a, &b, &c, out));
        check(3 * n, |it, out| it.gray_to_rgb(&a, out));
    }
}

#[test]
fn all_colours_are_the_same_on_all_tiers() {
    let cb: Vec<u8> = (0..=255).collect();
    for (cr, y) in (0..=255).flat_map(|cr| [0, 77, 128, 255].map(|y| (cr, y))) {
        check(3 * 256, |it, out| it.ycc_to_rgb(&[y; 256], &cb, &[cr; 256], out));
    }
}

#[test]
fn a_block_without_waves_is_flat() {
    let mut coefs = [0; 64];
    (coefs[0], coefs[1]) = (40, 0);
    for tier in Tier::available() {
        let mut out = [0; 64];
        Kernels::of(tier).idct(&coefs, &[2; 64], &mut out, 8);
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
    let (rows, quant) = (numbers.bytes(3 * 480), [3; 64]);
    let (a, b, c) = (&rows[..480], &rows[480..960], &rows[960..]);
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
        time("idct, a block", n, &mut || it.idct(&coefs, &quant, &mut out, 480));
        for shift in 1..4 {
            time("scaled, a block", n, &mut || {
                it.idct_scaled(shift, &coefs, &quant, &mut out, 480)
            });
        }
        time("h2v1, a sample", 2 * 478, &mut || it.h2v1(a, &mut out[..2 * 478]));
        time("h2v2, a sample", 2 * 478, &mut || it.h2v2(a, b, &mut out[..2 * 478]));
        time("h1v2, a sample", 480, &mut || it.h1v2(a, b, 1, &mut out[..480]));
        time("ycc_to_rgb, a pixel", 480, &mut || it.ycc_to_rgb(a, b, c, &mut out[..3 * 480]));
        time("interleave, a pixel", 480, &mut || it.interleave(a, b, c, &mut out[..3 * 480]));
    }
}
