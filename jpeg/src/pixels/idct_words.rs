//! The inverse DCT with vectors: a block in each lane, eight columns (then rows) at a time.

use super::idct::{EVEN_2, EVEN_3, ODD_0, ODD_1, ODD_2, ODD_3, Z3, Z4};
use super::idct_scaled_words::{group_2, group_4};
use super::words::Words;

/// Lanes of the widest vector.
const LANES_MAX: usize = 4;

/// As `idct::plain` (`SIDE` 8) and `idct_scaled::plain` (4 and 2).
///
/// # Safety
/// The processor has the instructions of `V`, `coefs` holds whole blocks, and `out` is as long as
/// `Kernels::idct` says.
#[inline(always)]
pub(super) unsafe fn idct<V: Words, const SIDE: usize>(
    coefs: &[i16],
    quant: &[u16; 64],
    out: &mut [u8],
    stride: usize,
) {
    let n = coefs.len() / 64;
    let whole = n - n % V::LANES;
    let mut b = 0;
    while b < whole {
        // SAFETY: blocks b to b + LANES - 1 are there, and rows of SIDE * LANES bytes for them: the
        // last ends at (SIDE - 1) * stride + SIDE * (b + LANES), not past the end of `out`.
        unsafe {
            let (blocks, out) = (coefs.as_ptr().add(64 * b), out.as_mut_ptr().add(SIDE * b));
            group::<V, SIDE>(blocks, quant, out, stride);
        }
        b += V::LANES;
    }

    if whole < n {
        let mut blocks = [0; 64 * LANES_MAX];
        blocks[..64 * (n - whole)].copy_from_slice(&coefs[64 * whole..]);
        let mut rows = [[0; 8 * LANES_MAX]; 8];
        // SAFETY: there are LANES_MAX blocks and rows of as many.
        unsafe {
            group::<V, SIDE>(blocks.as_ptr(), quant, rows.as_mut_ptr().cast(), 8 * LANES_MAX);
        }
        for (row, samples) in rows[..SIDE].iter().enumerate() {
            let width = SIDE * (n - whole);
            out[row * stride + SIDE * whole..][..width].copy_from_slice(&samples[..width]);
        }
    }
}

/// `V::LANES` blocks, to `SIDE` x `SIDE` samples each.
#[inline(always)]
unsafe fn group<V: Words, const SIDE: usize>(
    blocks: *const i16,
    quant: &[u16; 64],
    out: *mut u8,
    stride: usize,
) {
    // SAFETY: the caller's, for the instructions, the blocks and the rows.
    unsafe {
        match SIDE {
            8 => group_8::<V>(blocks, quant, out, stride),
            4 => group_4::<V>(blocks, quant, out, stride),
            _ => group_2::<V>(blocks, quant, out, stride),
        }
    }
}

/// `V::LANES` blocks: reads 64 words of each, writes eight rows of 8 bytes of each.
#[inline(always)]
unsafe fn group_8<V: Words>(blocks: *const i16, quant: &[u16; 64], out: *mut u8, stride: usize) {
    // SAFETY: the caller's, for the instructions, the blocks and the rows.
    unsafe {
        let rows = V::rows(blocks, quant.as_ptr());
        let columns = transposed(idct_1d::<V, 11>(rows));
        let pairs = rows_of(idct_1d::<V, 18>(columns));
        for (i, pair) in pairs.into_iter().enumerate() {
            let centre = V::splat32(0x8080_8080_u32 as i32);
            pair.xor(centre).store_halves(out.add(2 * i * stride), out.add((2 * i + 1) * stride));
        }
    }
}

/// Eight values of each column, descaled by 2^`SHIFT`; element i of `x` holds coefficient i.
#[inline(always)]
unsafe fn idct_1d<V: Words, const SHIFT: i32>(x: [V; 8]) -> [V; 8] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let (sum, difference) = (x[0].add16(x[4]), x[0].sub16(x[4]));
        let (z3, z4) = (x[7].add16(x[3]), x[5].add16(x[1]));
        let zero = V::zero();
        let lower = half::<V, SHIFT>(Terms {
            t0: zero.lo16(sum),
            t1: zero.lo16(difference),
            x26: x[2].lo16(x[6]),
            z34: z3.lo16(z4),
            x71: x[7].lo16(x[1]),
            x53: x[5].lo16(x[3]),
        });
        let upper = half::<V, SHIFT>(Terms {
            t0: zero.hi16(sum),
            t1: zero.hi16(difference),
            x26: x[2].hi16(x[6]),
            z34: z3.hi16(z4),
            x71: x[7].hi16(x[1]),
            x53: x[5].hi16(x[3]),
        });
        [
            lower[0].narrow32(upper[0]),
            lower[1].narrow32(upper[1]),
            lower[2].narrow32(upper[2]),
            lower[3].narrow32(upper[3]),
            lower[4].narrow32(upper[4]),
            lower[5].narrow32(upper[5]),
            lower[6].narrow32(upper[6]),
            lower[7].narrow32(upper[7]),
        ]
    }
}

/// What four columns of a lane need: pairs of words, and words times 2^16 (`t0`, `t1`).
struct Terms<V> {
    t0: V,
    t1: V,
    x26: V,
    z34: V,
    x71: V,
    x53: V,
}

#[inline(always)]
unsafe fn half<V: Words, const SHIFT: i32>(it: Terms<V>) -> [V; 8] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let round = V::splat32(1 << (SHIFT - 1));
        let (t0, t1) = (it.t0.sra32::<3>().add32(round), it.t1.sra32::<3>().add32(round));
        let t2 = it.x26.mul_add(V::splat_pair(EVEN_2));
        let t3 = it.x26.mul_add(V::splat_pair(EVEN_3));
        let z3 = it.z34.mul_add(V::splat_pair(Z3));
        let z4 = it.z34.mul_add(V::splat_pair(Z4));
        let odd_0 = it.x71.mul_add(V::splat_pair(ODD_0)).add32(z3);
        let odd_1 = it.x53.mul_add(V::splat_pair(ODD_1)).add32(z4);
        let odd_2 = it.x53.mul_add(V::splat_pair(ODD_2)).add32(z3);
        let odd_3 = it.x71.mul_add(V::splat_pair(ODD_3)).add32(z4);
        let (even_0, even_3) = (t0.add32(t3), t0.sub32(t3));
        let (even_1, even_2) = (t1.add32(t2), t1.sub32(t2));
        [
            even_0.add32(odd_3).sra32::<SHIFT>(),
            even_1.add32(odd_2).sra32::<SHIFT>(),
            even_2.add32(odd_1).sra32::<SHIFT>(),
            even_3.add32(odd_0).sra32::<SHIFT>(),
            even_3.sub32(odd_0).sra32::<SHIFT>(),
            even_2.sub32(odd_1).sra32::<SHIFT>(),
            even_1.sub32(odd_2).sra32::<SHIFT>(),
            even_0.sub32(odd_3).sra32::<SHIFT>(),
        ]
    }
}

/// Word j of element i becomes word i of element j, lane by lane.
#[inline(always)]
unsafe fn transposed<V: Words>(x: [V; 8]) -> [V; 8] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let a = [x[0].lo16(x[1]), x[2].lo16(x[3]), x[4].lo16(x[5]), x[6].lo16(x[7])];
        let b = [x[0].hi16(x[1]), x[2].hi16(x[3]), x[4].hi16(x[5]), x[6].hi16(x[7])];
        let top = [a[0].lo32(a[1]), a[0].hi32(a[1]), b[0].lo32(b[1]), b[0].hi32(b[1])];
        let bottom = [a[2].lo32(a[3]), a[2].hi32(a[3]), b[2].lo32(b[3]), b[2].hi32(b[3])];
        [
            top[0].lo64(bottom[0]),
            top[0].hi64(bottom[0]),
            top[1].lo64(bottom[1]),
            top[1].hi64(bottom[1]),
            top[2].lo64(bottom[2]),
            top[2].hi64(bottom[2]),
            top[3].lo64(bottom[3]),
            top[3].hi64(bottom[3]),
        ]
    }
}

/// Columns of words to rows of signed bytes, lane by lane two rows an element.
#[inline(always)]
unsafe fn rows_of<V: Words>(x: [V; 8]) -> [V; 4] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let (p04, p15) = (x[0].narrow16(x[4]), x[1].narrow16(x[5]));
        let (p26, p37) = (x[2].narrow16(x[6]), x[3].narrow16(x[7]));
        let (a02, a46) = (p04.lo8(p26), p04.hi8(p26));
        let (b13, b57) = (p15.lo8(p37), p15.hi8(p37));
        let (left, right) = ([a02.lo8(b13), a02.hi8(b13)], [a46.lo8(b57), a46.hi8(b57)]);
        [
            left[0].lo32(right[0]),
            left[0].hi32(right[0]),
            left[1].lo32(right[1]),
            left[1].hi32(right[1]),
        ]
    }
}
