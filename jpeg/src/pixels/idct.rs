//! The inverse DCT of 8x8 blocks: the "islow" algorithm of libjpeg (Loeffler, Ligtenberg and
//! Moschytz, "Practical fast 1-D DCT algorithms with 11 multiplications", ICASSP 1989).
//!
//! Constants are multiples of 2^-13. Sums and products wrap and saturate in 16 bits where
//! libjpeg-turbo's vector code does so; the coefficients of an encoder come nowhere near that,
//! and libjpeg-turbo's code in C, which calculates in 32 or 64 bits, then gives the same samples.

use super::Coded;

/// The place in the block (8 * row + column) of each coefficient in zig-zag order.
pub(crate) const NATURAL: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// The place in zig-zag order of each coefficient of the block: the inverse of [`NATURAL`].
pub(super) const PLACE: [u8; 64] = {
    let mut place = [0; 64];
    let mut k = 0;
    while k < 64 {
        place[NATURAL[k] as usize] = k as u8;
        k += 1;
    }
    place
};

/// The first coefficients in zig-zag order that lie in the first four rows and columns: those
/// whose row and column number are at most 3 together.
pub(super) const CORNER: u8 = 10;

/// The two factors of one half of a sum of two products: what `pmaddwd` takes.
pub(super) type Pair = (i16, i16);

// Names and values of jidctint: FIX(x) = round(x * 2^13), combined as one multiplication by pairs.
pub(super) const EVEN_3: Pair = (4433 + 6270, 4433);
pub(super) const EVEN_2: Pair = (4433, 4433 - 15137);
pub(super) const Z3: Pair = (9633 - 16069, 9633);
pub(super) const Z4: Pair = (9633, 9633 - 3196);
pub(super) const ODD_0: Pair = (2446 - 7373, -7373);
pub(super) const ODD_3: Pair = (-7373, 12299 - 7373);
pub(super) const ODD_1: Pair = (16819 - 20995, -20995);
pub(super) const ODD_2: Pair = (-20995, 25172 - 20995);

/// See [`super::Kernels::idct`].
pub(super) fn plain(blocks: &Coded<'_>, out: &mut [u8], stride: usize) {
    for (b, block) in blocks.coefs.as_chunks().0.iter().enumerate() {
        let samples = match block[1..].iter().all(|&it| it == 0) {
            true => [flat(block[0].wrapping_mul(blocks.factors[0] as i16)); 64],
            false => idct(&natural(block, blocks.factors)),
        };
        for (row, samples) in samples.as_chunks::<8>().0.iter().enumerate() {
            out[row * stride + 8 * b..][..8].copy_from_slice(samples);
        }
    }
}

/// The dequantised coefficients, row by row.
pub(super) fn natural(block: &[i16; 64], quant: &[u16; 64]) -> [i16; 64] {
    let mut rows = [0; 64];
    for k in 0..64 {
        rows[usize::from(NATURAL[k])] = block[k].wrapping_mul(quant[k] as i16);
    }
    rows
}

fn idct(block: &[i16; 64]) -> [u8; 64] {
    let mut half = [0; 64];
    for col in 0..8 {
        let column = idct_1d::<11>(std::array::from_fn(|row| block[8 * row + col]));
        (0..8).for_each(|row| half[8 * row + col] = column[row]);
    }

    let mut samples = [0; 64];
    for (row, half) in half.as_chunks().0.iter().enumerate() {
        let line = idct_1d::<18>(*half);
        (0..8).for_each(|col| samples[8 * row + col] = sample(line[col]));
    }
    samples
}

/// The sample that all 64 are where all coefficients but the first are 0.
fn flat(dc: i16) -> u8 {
    let half = (i32::from(dc) << 2).clamp(-32768, 32767);
    sample(((half + 16) >> 5) as i16)
}

/// The sample of a value around 0.
fn sample(value: i16) -> u8 {
    (value.clamp(-128, 127) + 128) as u8
}

/// Eight values of a column or row, descaled by 2^`SHIFT`.
fn idct_1d<const SHIFT: u32>(x: [i16; 8]) -> [i16; 8] {
    let wide = |x: i16| i32::from(x) << 13;
    let (t0, t1) = (wide(x[0].wrapping_add(x[4])), wide(x[0].wrapping_sub(x[4])));
    let (t2, t3) = (mul_add(x[2], x[6], EVEN_2), mul_add(x[2], x[6], EVEN_3));
    let even = [t0.wrapping_add(t3), t1.wrapping_add(t2), t1.wrapping_sub(t2), t0.wrapping_sub(t3)];

    let (z3, z4) = (x[7].wrapping_add(x[3]), x[5].wrapping_add(x[1]));
    let (z3, z4) = (mul_add(z3, z4, Z3), mul_add(z3, z4, Z4));
    let odd = [
        mul_add(x[7], x[1], ODD_3).wrapping_add(z4),
        mul_add(x[5], x[3], ODD_2).wrapping_add(z3),
        mul_add(x[5], x[3], ODD_1).wrapping_add(z4),
        mul_add(x[7], x[1], ODD_0).wrapping_add(z3),
    ];

    let mut values = [0; 8];
    for i in 0..4 {
        let even = even[i].wrapping_add(1 << (SHIFT - 1));
        values[i] = saturate(even.wrapping_add(odd[i]) >> SHIFT);
        values[7 - i] = saturate(even.wrapping_sub(odd[i]) >> SHIFT);
    }
    values
}

fn mul_add(a: i16, b: i16, by: Pair) -> i32 {
    i32::from(a) * i32::from(by.0) + i32::from(b) * i32::from(by.1)
}

fn saturate(value: i32) -> i16 {
    value.clamp(-32768, 32767) as i16
}
