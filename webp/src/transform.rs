//! The inverse DCT of a block, added to what was predicted (RFC 6386, section 14.3).
//!
//! Coefficients that no encoder writes overflow 16 bits. It wraps then where libwebp's does on x86, and does
//! not where libwebp uses 32 bits, for blocks of few coefficients.

use crate::predict::STRIDE;

/// 2 cos² (π / 8) - 1 and sqrt(2) sin (π / 8) in 16 bits behind the point; the second one's highest bit
/// is taken for a sign, so that 1 is to be added.
const C1: i16 = 20_091;
const C2: i16 = 35_468_u16 as i16;

/// Bytes from the first of a block to the last.
const SPAN: usize = 3 * STRIDE + 4;

/// The pixels of `blocks` blocks side by side from `at` on.
#[inline(always)]
fn window<const N: usize>(area: &mut [u8], at: usize) -> &mut [u8; N] {
    (&mut area[at..at + N]).try_into().expect("that is its length")
}

/// Adds what a block with a single coefficient, the first, stands for.
#[inline(always)]
pub(crate) fn add_first(first: i16, area: &mut [u8], at: usize) {
    let by = ((i32::from(first) + 4) >> 3) as i16;
    let window = window::<SPAN>(area, at);
    for y in 0..4 {
        for to in &mut window[y * STRIDE..y * STRIDE + 4] {
            *to = (i16::from(*to) + by).clamp(0, 255) as u8;
        }
    }
}

/// Adds a block of coefficients 0, 1 and 4 as libwebp does it, in 32 bits.
pub(crate) fn add_few(block: &[i16; 16], area: &mut [u8], at: usize) {
    let high = |x: i32, by: i16| (x * i32::from(by as u16)) >> 16;
    let [first, along, down] = [block[0], block[1], block[4]].map(i32::from);
    let inner = [high(along, C2), high(down, C2)];
    let outer = [high(along, C1) + along, high(down, C1) + down];
    let four = |i: usize| [outer[i], inner[i], -inner[i], -outer[i]];
    let window = window::<SPAN>(area, at);
    for (y, down) in four(1).into_iter().enumerate() {
        for (to, along) in window[y * STRIDE..y * STRIDE + 4].iter_mut().zip(four(0)) {
            let by = (first + 4 + down + along) >> 3;
            *to = (i32::from(*to) + by).clamp(0, 255) as u8;
        }
    }
}

/// The plain way to add a block.
pub(crate) fn add_plain(block: &[i16; 16], area: &mut [u8], at: usize) {
    let mut columns = [0; 16];
    for x in 0..4 {
        let column = butterfly([block[x], block[4 + x], block[8 + x], block[12 + x]], 0);
        for (y, value) in column.into_iter().enumerate() {
            columns[4 * x + y] = value;
        }
    }
    let window = window::<SPAN>(area, at);
    for y in 0..4 {
        let row = butterfly([columns[y], columns[4 + y], columns[8 + y], columns[12 + y]], 4);
        for (to, by) in window[y * STRIDE..y * STRIDE + 4].iter_mut().zip(row) {
            *to = i16::from(*to).wrapping_add(by >> 3).clamp(0, 255) as u8;
        }
    }
}

fn butterfly([a, b, c, d]: [i16; 4], rounding: i16) -> [i16; 4] {
    let high = |x: i16, by: i16| ((i32::from(x) * i32::from(by)) >> 16) as i16;
    let a = a.wrapping_add(rounding);
    let (sum, difference) = (a.wrapping_add(c), a.wrapping_sub(c));
    let inner = high(b, C2).wrapping_sub(high(d, C1)).wrapping_add(b.wrapping_sub(d));
    let outer = high(b, C1).wrapping_add(high(d, C2)).wrapping_add(b.wrapping_add(d));
    [
        sum.wrapping_add(outer),
        difference.wrapping_add(inner),
        difference.wrapping_sub(inner),
        sum.wrapping_sub(outer),
    ]
}

/// Adds two blocks side by side in the plain way.
pub(crate) fn add_two_plain([a, b]: [&[i16; 16]; 2], area: &mut [u8], at: usize) {
    add_plain(a, area, at);
    add_plain(b, area, at + 4);
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    //! With SSE2: a vector holds a row or a column of one block, or of two.

    use super::{C1, C2, SPAN, STRIDE, window};
    use std::arch::x86_64::*;

    /// Bytes from the first of two blocks side by side to the last.
    const SPAN_OF_TWO: usize = SPAN + 4;

    /// Adds a block.
    #[target_feature(enable = "sse2")]
    #[inline]
    pub(crate) fn add(block: &[i16; 16], area: &mut [u8], at: usize) {
        let (rows, _) = block.as_chunks::<4>();
        let rows = [load(&rows[0]), load(&rows[1]), load(&rows[2]), load(&rows[3])];
        let [first, second] = transpose(butterfly(rows, 0));
        let columns = [first, upper(first), second, upper(second)];
        let sums = transpose(butterfly(columns, 4));
        let window = window::<SPAN>(area, at);
        let upper_rows = add_rows(row(window, 0), row(window, 1), sums[0]);
        let lower_rows = add_rows(row(window, 2), row(window, 3), sums[1]);
        let mut bytes = _mm_packus_epi16(upper_rows, lower_rows);
        for y in 0..4 {
            let row = _mm_cvtsi128_si32(bytes).to_le_bytes();
            window[y * STRIDE..y * STRIDE + 4].copy_from_slice(&row);
            bytes = _mm_srli_si128::<4>(bytes);
        }
    }

    /// Adds two blocks side by side.
    #[target_feature(enable = "sse2")]
    #[inline]
    pub(crate) fn add_two([a, b]: [&[i16; 16]; 2], area: &mut [u8], at: usize) {
        let (rows_a, _) = a.as_chunks::<4>();
        let (rows_b, _) = b.as_chunks::<4>();
        let rows = [
            _mm_unpacklo_epi64(load(&rows_a[0]), load(&rows_b[0])),
            _mm_unpacklo_epi64(load(&rows_a[1]), load(&rows_b[1])),
            _mm_unpacklo_epi64(load(&rows_a[2]), load(&rows_b[2])),
            _mm_unpacklo_epi64(load(&rows_a[3]), load(&rows_b[3])),
        ];
        let columns = transpose_two(butterfly(rows, 0));
        let sums = transpose_two(butterfly(columns, 4));
        let window = window::<SPAN_OF_TWO>(area, at);
        for (y, sum) in sums.into_iter().enumerate() {
            let row = &mut window[y * STRIDE..y * STRIDE + 8];
            let bytes = i64::from_le_bytes((&*row).try_into().expect("eight bytes"));
            let wide = _mm_unpacklo_epi8(_mm_cvtsi64_si128(bytes), _mm_setzero_si128());
            let added = _mm_add_epi16(wide, _mm_srai_epi16::<3>(sum));
            let packed = _mm_cvtsi128_si64(_mm_packus_epi16(added, added));
            row.copy_from_slice(&packed.to_le_bytes());
        }
    }

    /// Four pixels of row `y`.
    #[target_feature(enable = "sse2")]
    #[inline]
    fn row(window: &[u8; SPAN], y: usize) -> __m128i {
        let row = window[y * STRIDE..y * STRIDE + 4].try_into().expect("four bytes");
        _mm_cvtsi32_si128(i32::from_le_bytes(row))
    }

    /// Two rows of four pixels and what is added to them.
    #[target_feature(enable = "sse2")]
    #[inline]
    fn add_rows(upper: __m128i, lower: __m128i, sum: __m128i) -> __m128i {
        let wide = _mm_unpacklo_epi8(_mm_unpacklo_epi32(upper, lower), _mm_setzero_si128());
        _mm_add_epi16(wide, _mm_srai_epi16::<3>(sum))
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    fn butterfly([a, b, c, d]: [__m128i; 4], rounding: i16) -> [__m128i; 4] {
        let (c1, c2) = (_mm_set1_epi16(C1), _mm_set1_epi16(C2));
        let a = _mm_add_epi16(a, _mm_set1_epi16(rounding));
        let (sum, difference) = (_mm_add_epi16(a, c), _mm_sub_epi16(a, c));
        let inner = _mm_sub_epi16(_mm_mulhi_epi16(b, c2), _mm_mulhi_epi16(d, c1));
        let inner = _mm_add_epi16(inner, _mm_sub_epi16(b, d));
        let outer = _mm_add_epi16(_mm_mulhi_epi16(b, c1), _mm_mulhi_epi16(d, c2));
        let outer = _mm_add_epi16(outer, _mm_add_epi16(b, d));
        [
            _mm_add_epi16(sum, outer),
            _mm_add_epi16(difference, inner),
            _mm_sub_epi16(difference, inner),
            _mm_sub_epi16(sum, outer),
        ]
    }

    /// Four words of each of four vectors: columns 0 and 1, then 2 and 3.
    #[target_feature(enable = "sse2")]
    #[inline]
    fn transpose([a, b, c, d]: [__m128i; 4]) -> [__m128i; 2] {
        let (above, below) = (_mm_unpacklo_epi16(a, b), _mm_unpacklo_epi16(c, d));
        [_mm_unpacklo_epi32(above, below), _mm_unpackhi_epi32(above, below)]
    }

    /// Two blocks of four by four words beside each other.
    #[target_feature(enable = "sse2")]
    #[inline]
    fn transpose_two([a, b, c, d]: [__m128i; 4]) -> [__m128i; 4] {
        let [first, second] = transpose([a, b, c, d]);
        let (above, below) = (_mm_unpackhi_epi16(a, b), _mm_unpackhi_epi16(c, d));
        let third = _mm_unpacklo_epi32(above, below);
        let fourth = _mm_unpackhi_epi32(above, below);
        [
            _mm_unpacklo_epi64(first, third),
            _mm_unpackhi_epi64(first, third),
            _mm_unpacklo_epi64(second, fourth),
            _mm_unpackhi_epi64(second, fourth),
        ]
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    fn load(row: &[i16; 4]) -> __m128i {
        // SAFETY: eight bytes are read, of eight.
        unsafe { _mm_loadl_epi64(row.as_ptr().cast()) }
    }

    #[target_feature(enable = "sse2")]
    #[inline]
    fn upper(vector: __m128i) -> __m128i {
        _mm_srli_si128::<8>(vector)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn vectors_do_what_the_plain_way_does() {
        let mut state = 3_u32;
        let mut draw = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as i16
        };
        for round in 0..if cfg!(miri) { 50 } else { 2_000 } {
            let shift = round % 16;
            let blocks: [[i16; 16]; 2] = [(); 2].map(|()| [(); 16].map(|()| draw() >> shift));
            let area: [u8; 200] = [(); 200].map(|()| draw() as u8);
            let (mut expected, mut found) = (area, area);
            add_plain(&blocks[0], &mut expected, 9);
            // SAFETY: SSE2 is part of x86-64.
            unsafe { x86::add(&blocks[0], &mut found, 9) };
            assert_eq!(found, expected);
            add_two_plain([&blocks[0], &blocks[1]], &mut expected, 64);
            // SAFETY: SSE2 is part of x86-64.
            unsafe { x86::add_two([&blocks[0], &blocks[1]], &mut found, 64) };
            assert_eq!(found, expected);
            let first = std::array::from_fn(|i| if i == 0 { blocks[0][0] } else { 0 });
            add_plain(&first, &mut expected, 3);
            add_first(first[0], &mut found, 3);
            assert_eq!(found, expected);
        }
    }
}
