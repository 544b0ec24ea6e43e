//! The inverse DCT of 8x8 coefficients to blocks of 4x4, 2x2 and one sample: libjpeg's jidctred.
//!
//! 16-bit sums and products wrap and saturate as those of the full size do (see `idct`).

use super::Coded;
use super::idct::natural;

/// Multiples of 2^-13, of jidctred.
const EVEN_4: [i32; 2] = [15137, -6270];
/// Of coefficients 7, 5, 3 and 1.
const INNER_4: [i32; 4] = [-1730, 11893, -17799, 8697];
const OUTER_4: [i32; 4] = [-4176, -4926, 7373, 20995];
const ODD_2: [i32; 4] = [-5906, 6967, -10426, 29692];

/// See [`super::Kernels::idct_scaled`]: blocks of `N` x `N`, N one of 4, 2 and 1.
pub(super) fn plain<const N: usize>(blocks: &Coded<'_>, out: &mut [u8], stride: usize) {
    for (b, block) in blocks.coefs.as_chunks().0.iter().enumerate() {
        let samples = idct::<N>(block, blocks.factors);
        for (row, samples) in samples.iter().enumerate() {
            out[row * stride + N * b..][..N].copy_from_slice(samples);
        }
    }
}

fn idct<const N: usize>(block: &[i16; 64], quant: &[u16; 64]) -> [[u8; N]; N] {
    if N == 1 {
        let dc = i32::from(block[0].wrapping_mul(quant[0] as i16));
        return [[sample((dc + 4) >> 3); N]; N];
    }

    let block = natural(block, quant);
    let mut half = [[0; 8]; N];
    for col in 0..8 {
        let column = idct_1d::<N>(std::array::from_fn(|row| block[8 * row + col]), 11);
        (0..N).for_each(|row| half[row][col] = saturate(column[row]));
    }
    half.map(|row| idct_1d::<N>(row, 18).map(|it| sample(saturate(it).into())))
}

/// `N` values of a column or row, descaled by 2^`shift`.
fn idct_1d<const N: usize>(x: [i16; 8], shift: u32) -> [i32; N] {
    let x = x.map(i32::from);
    let odd = |by: [i32; 4]| {
        let pair = |a: usize, b: usize| x[a] * by[(7 - a) / 2] + x[b] * by[(7 - b) / 2];
        pair(7, 5).wrapping_add(pair(3, 1))
    };
    let shift = shift + if N == 4 { 1 } else { 2 };
    let descale = |it: i32| it.wrapping_add(1 << (shift - 1)) >> shift;
    let mut values = [0; N];
    if N == 4 {
        let (t0, t2) = (x[0] << 14, x[2] * EVEN_4[0] + x[6] * EVEN_4[1]);
        let sums = [(t0.wrapping_add(t2), odd(OUTER_4)), (t0.wrapping_sub(t2), odd(INNER_4))];
        for (i, (even, odd)) in sums.into_iter().enumerate() {
            values[i] = descale(even.wrapping_add(odd));
            values[3 - i] = descale(even.wrapping_sub(odd));
        }
    } else {
        let (even, odd) = (x[0] << 15, odd(ODD_2));
        values[0] = descale(even.wrapping_add(odd));
        values[1] = descale(even.wrapping_sub(odd));
    }
    values
}

fn saturate(value: i32) -> i16 {
    value.clamp(-32768, 32767) as i16
}

fn sample(value: i32) -> u8 {
    (value.clamp(-128, 127) + 128) as u8
}
