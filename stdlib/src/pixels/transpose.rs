//! Turns blocks of 16 x 16 bytes, so that rows can be worked on side by side.

/// Bytes of a block's side.
pub(crate) const SIDE: usize = 16;

/// A block, row by row.
pub(crate) type Block = [[u8; SIDE]; SIDE];

/// The block whose row `i` is column `i` of this one.
///
/// Four perfect shuffles of its 256 bytes: each rotates the 8 bits of a byte's place by one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn transposed(block: &Block) -> Block {
    use std::arch::x86_64::{__m128i, _mm_unpackhi_epi8, _mm_unpacklo_epi8};
    // SAFETY: both types are 16 bytes in which any bits are valid.
    let mut rows: [__m128i; SIDE] = block.map(|it| unsafe { std::mem::transmute(it) });
    for _ in 0..4 {
        let before = rows;
        for i in 0..SIDE / 2 {
            let (upper, lower) = (before[i], before[i + SIDE / 2]);
            // SAFETY: SSE2 is part of every x86-64.
            unsafe {
                rows[2 * i] = _mm_unpacklo_epi8(upper, lower);
                rows[2 * i + 1] = _mm_unpackhi_epi8(upper, lower);
            }
        }
    }
    // SAFETY: both types are 16 bytes in which any bits are valid.
    rows.map(|it| unsafe { std::mem::transmute(it) })
}

/// The block whose row `i` is column `i` of this one.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn transposed(block: &Block) -> Block {
    std::array::from_fn(|i| std::array::from_fn(|j| block[j][i]))
}

/// Two blocks, side by side.
pub(crate) type Pair = [[u8; 2 * SIDE]; SIDE];

/// Both blocks of a pair turned, side by side again.
///
/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn transposed_pair(pair: &Pair) -> Pair {
    use std::arch::x86_64::{__m256i, _mm256_unpackhi_epi8, _mm256_unpacklo_epi8};
    // SAFETY: both types are 32 bytes in which any bits are valid.
    let mut rows: [__m256i; SIDE] = pair.map(|it| unsafe { std::mem::transmute(it) });
    for _ in 0..4 {
        let before = rows;
        for i in 0..SIDE / 2 {
            let (upper, lower) = (before[i], before[i + SIDE / 2]);
            // SAFETY: the caller saw to AVX2.
            unsafe {
                rows[2 * i] = _mm256_unpacklo_epi8(upper, lower);
                rows[2 * i + 1] = _mm256_unpackhi_epi8(upper, lower);
            }
        }
    }
    // SAFETY: both types are 32 bytes in which any bits are valid.
    rows.map(|it| unsafe { std::mem::transmute(it) })
}

/// Both blocks of a pair turned, side by side again.
///
/// # Safety
/// Nothing is asked for here: it is unsafe as that for x86-64 is.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) unsafe fn transposed_pair(pair: &Pair) -> Pair {
    std::array::from_fn(|i| std::array::from_fn(|j| pair[j % SIDE][j / SIDE * SIDE + i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_rows() {
        let block: Block = std::array::from_fn(|i| std::array::from_fn(|j| (16 * i + j) as u8));
        let turned = transposed(&block);
        assert!((0..256).all(|it| turned[it % 16][it / 16] == block[it / 16][it % 16]));
    }
}
