//! The inverse DCT to blocks of 4x4 and 2x2 samples with vectors: a block in each lane.
//!
//! The formulas of `idct_scaled`, with the odd coefficients in the pairs 3, 7 and 1, 5.

use super::words::Words;

/// `V::LANES` blocks of 4x4: reads 64 words of each, writes four rows of 4 bytes of each.
///
/// # Safety
/// The processor has the instructions of `V`; `64 * V::LANES` words lie at `blocks`, aligned, and
/// four rows of `4 * V::LANES` bytes can be written at `out`, `stride` apart.
#[inline(always)]
pub(super) unsafe fn group_4<V: Words>(
    blocks: *const i16,
    quant: &[u16; 64],
    out: *mut u8,
    stride: usize,
) {
    // SAFETY: the caller has the instructions, the blocks, and four rows for them.
    unsafe {
        let x = V::rows(blocks, quant.as_ptr());
        let zero = V::zero();
        let (x26, x37, x15) = ((x[2], x[6]), (x[3], x[7]), (x[1], x[5]));
        let lower = quarter::<V, 12>(zero.lo16(x[0]), lo(x26), lo(x37), lo(x15));
        let upper = quarter::<V, 12>(zero.hi16(x[0]), hi(x26), hi(x37), hi(x15));

        // Rows of eight to pairs of columns of four.
        let row = |i: usize| lower[i].narrow32(upper[i]);
        let rows = [row(0), row(1), row(2), row(3)];
        let (a, b) = (rows[0].lo16(rows[1]), rows[2].lo16(rows[3]));
        let (c, d) = (rows[0].hi16(rows[1]), rows[2].hi16(rows[3]));
        let (c01, c23, c45, c67) = (a.lo32(b), a.hi32(b), c.lo32(d), c.hi32(d));
        let columns = quarter::<V, 19>(zero.lo16(c01), c23.lo16(c67), c23.hi16(c67), c01.hi16(c45));

        let (c01, c23) = (columns[0].narrow32(columns[1]), columns[2].narrow32(columns[3]));
        let (even, odd) = (c01.lo16(c23), c01.hi16(c23));
        let samples = even.lo16(odd).narrow16(even.hi16(odd));
        write::<V, 4>(samples, out, stride);
    }
}

/// The lower words of both, by turns.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn lo<V: Words>(pair: (V, V)) -> V {
    // SAFETY: the caller has the instructions.
    unsafe { pair.0.lo16(pair.1) }
}

/// The upper words of both, by turns.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn hi<V: Words>(pair: (V, V)) -> V {
    // SAFETY: the caller has the instructions.
    unsafe { pair.0.hi16(pair.1) }
}

/// Four values of four columns of a lane; `x0` holds words times 2^16, the others pairs of words.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn quarter<V: Words, const SHIFT: i32>(x0: V, x26: V, x37: V, x15: V) -> [V; 4] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let t0 = x0.sra32::<2>().add32(V::splat32(1 << (SHIFT - 1)));
        let t2 = x26.mul_add(V::splat_pair((15137, -6270)));
        let outer = x37.mul_add(V::splat_pair((7373, -4176)));
        let outer = outer.add32(x15.mul_add(V::splat_pair((20995, -4926))));
        let inner = x37.mul_add(V::splat_pair((-17799, -1730)));
        let inner = inner.add32(x15.mul_add(V::splat_pair((8697, 11893))));
        let (even_0, even_1) = (t0.add32(t2), t0.sub32(t2));
        [
            even_0.add32(outer).sra32::<SHIFT>(),
            even_1.add32(inner).sra32::<SHIFT>(),
            even_1.sub32(inner).sra32::<SHIFT>(),
            even_0.sub32(outer).sra32::<SHIFT>(),
        ]
    }
}

/// `V::LANES` blocks of 2x2: reads 64 words of each, writes two rows of 2 bytes of each.
///
/// # Safety
/// The processor has the instructions of `V`; `64 * V::LANES` words lie at `blocks`, aligned, and
/// two rows of `2 * V::LANES` bytes can be written at `out`, `stride` apart.
#[inline(always)]
pub(super) unsafe fn group_2<V: Words>(
    blocks: *const i16,
    quant: &[u16; 64],
    out: *mut u8,
    stride: usize,
) {
    // SAFETY: the caller has the instructions, the blocks, and two rows for them.
    unsafe {
        let x = V::rows(blocks, quant.as_ptr());
        let zero = V::zero();
        let (x37, x15) = ((x[3], x[7]), (x[1], x[5]));
        let lower = pair::<V, 13>(zero.lo16(x[0]), odd(lo(x37), lo(x15)));
        let upper = pair::<V, 13>(zero.hi16(x[0]), odd(hi(x37), hi(x15)));

        // Columns of two: 0 to 3 and 4 to 7. The odd parts come to lie in the upper halves.
        let rows = [lower[0].narrow32(upper[0]), lower[1].narrow32(upper[1])];
        let (left, right) = (rows[0].lo16(rows[1]), rows[0].hi16(rows[1]));
        let odd = odd(left.hi16(right), left.lo16(right));
        let columns = pair::<V, 20>(zero.lo16(left), odd.hi64(odd));

        let columns = columns[0].narrow32(columns[1]);
        let samples = columns.lo16(columns.hi64(columns));
        write::<V, 2>(samples.narrow16(samples), out, stride);
    }
}

/// The odd part of two values.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn odd<V: Words>(x37: V, x15: V) -> V {
    // SAFETY: the caller has the instructions.
    unsafe {
        let x37 = x37.mul_add(V::splat_pair((-10426, -5906)));
        x15.mul_add(V::splat_pair((29692, 6967))).add32(x37)
    }
}

/// Two values of four columns of a lane; `x0` holds words times 2^16.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn pair<V: Words, const SHIFT: i32>(x0: V, odd: V) -> [V; 2] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let even = x0.sra32::<1>().add32(V::splat32(1 << (SHIFT - 1)));
        [even.add32(odd).sra32::<SHIFT>(), even.sub32(odd).sra32::<SHIFT>()]
    }
}

/// Writes the first `N` times `N` signed bytes of each lane as `N` rows of samples.
///
/// # Safety
/// The processor has the instructions of `V`; `N` rows of `N * V::LANES` bytes can be written at
/// `out`, `stride` apart.
#[inline(always)]
unsafe fn write<V: Words, const N: usize>(samples: V, out: *mut u8, stride: usize) {
    let mut lanes = [[0_u8; 16]; 4];
    // SAFETY: the caller has the instructions; no vector has more than four lanes.
    unsafe { samples.xor(V::splat32(0x8080_8080_u32 as i32)).store(lanes.as_mut_ptr().cast()) };
    for (b, lane) in lanes.iter().enumerate().take(V::LANES) {
        for (row, samples) in lane.as_chunks::<N>().0.iter().enumerate().take(N) {
            // SAFETY: rows of N bytes for each lane are there.
            unsafe { out.add(row * stride + N * b).cast::<[u8; N]>().write(*samples) };
        }
    }
}
