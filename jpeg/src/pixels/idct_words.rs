//! The inverse DCT with vectors: a block in each lane, eight columns (then rows) at a time.

use super::Coded;
use super::idct::{CORNER, EVEN_2, EVEN_3, ODD_0, ODD_1, ODD_2, ODD_3, Pair, Z3, Z4};
use super::idct_scaled_words::{group_2, group_4};
use super::words::{LANES_MAX, Words};

/// As `idct::plain` (`SIDE` 8) and `idct_scaled::plain` (4 and 2).
///
/// # Safety
/// The processor has the instructions of `V`; `SIDE` is 8, 4 or 2; `coefs` holds n whole blocks,
/// and `out`, unless n is 0, at least `(SIDE - 1) * stride + SIDE * n` bytes.
#[inline(always)]
pub(super) unsafe fn idct<V: Words, const SIDE: usize>(
    blocks: &Coded<'_>,
    out: &mut [u8],
    stride: usize,
) {
    let Coded { coefs, factors } = *blocks;
    let n = coefs.len() / 64;
    let whole = n - n % V::LANES;
    let mut b = 0;
    while b < whole {
        // SAFETY: blocks b to b + LANES - 1 are there, and rows of SIDE * LANES bytes for them: the
        // last ends at (SIDE - 1) * stride + SIDE * (b + LANES), not past the end of `out`.
        unsafe {
            let group = Group { blocks: coefs.as_ptr().add(64 * b), factors };
            group.transform::<V, SIDE>(out.as_mut_ptr().add(SIDE * b), stride);
        }
        b += V::LANES;
    }

    if whole < n {
        let mut blocks = [0; 64 * LANES_MAX];
        blocks[..64 * (n - whole)].copy_from_slice(&coefs[64 * whole..]);
        let mut rows = [[0; 8 * LANES_MAX]; 8];
        let group = Group { blocks: blocks.as_ptr(), factors };
        // SAFETY: there are LANES_MAX blocks and rows of as many.
        unsafe { group.transform::<V, SIDE>(rows.as_mut_ptr().cast(), 8 * LANES_MAX) };
        for (row, samples) in rows[..SIDE].iter().enumerate() {
            let width = SIDE * (n - whole);
            out[row * stride + SIDE * whole..][..width].copy_from_slice(&samples[..width]);
        }
    }
}

/// Blocks that lie one behind the other, as many as a vector has lanes.
struct Group<'a> {
    blocks: *const i16,
    factors: &'a [u16; 64],
}

impl Group<'_> {
    /// To `SIDE` x `SIDE` samples each.
    ///
    /// # Safety
    /// The processor has the instructions of `V`; `SIDE` is 8, 4 or 2; `V::LANES` blocks lie there,
    /// and `SIDE` rows of `SIDE * V::LANES` bytes can be written at `out`, `stride` apart.
    #[inline(always)]
    unsafe fn transform<V: Words, const SIDE: usize>(self, out: *mut u8, stride: usize) {
        let Self { blocks, factors } = self;
        // SAFETY: the caller has the instructions, the blocks, and rows for them.
        unsafe {
            match SIDE {
                8 if are_corners::<V>(blocks) => {
                    let [even, odd] = V::corner(blocks, factors.as_ptr());
                    write_8(corner(even, odd), out, stride);
                }
                8 => write_8(whole(V::rows(blocks, factors.as_ptr())), out, stride),
                4 => group_4::<V>(blocks, factors, out, stride),
                _ => group_2::<V>(blocks, factors, out, stride),
            }
        }
    }
}

/// Whether only the first [`CORNER`] coefficients of `V::LANES` blocks are not 0.
///
/// # Safety
/// The processor has the instructions of `V`; `64 * V::LANES` words can be read at `blocks`.
#[inline(always)]
unsafe fn are_corners<V: Words>(blocks: *const i16) -> bool {
    // SAFETY: the caller has the instructions and so many blocks of 128 bytes; what is read begins
    // within a block and ends at its end.
    unsafe {
        let mut all = V::zero();
        for i in 0..V::LANES {
            let block = blocks.add(64 * i).cast::<u8>();
            for at in (2 * usize::from(CORNER)..128).step_by(V::BYTES) {
                all = all.or(V::load(block.add(at.min(128 - V::BYTES))));
            }
        }
        all.is_zero()
    }
}

/// Writes eight rows of 8 bytes of each lane, of its columns of words.
///
/// # Safety
/// The processor has the instructions of `V`; eight rows of `8 * V::LANES` bytes can be written at
/// `out`, `stride` apart.
#[inline(always)]
unsafe fn write_8<V: Words>(columns: [V; 8], out: *mut u8, stride: usize) {
    // SAFETY: the caller has the instructions and the rows, of which two are written at a time.
    unsafe {
        for (i, pair) in rows_of(columns).into_iter().enumerate() {
            let centre = V::splat32(0x8080_8080_u32 as i32);
            pair.xor(centre).store_halves(out.add(2 * i * stride), out.add((2 * i + 1) * stride));
        }
    }
}

/// Rows of coefficients to columns of samples.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn whole<V: Words>(rows: [V; 8]) -> [V; 8] {
    // SAFETY: the caller has the instructions.
    unsafe { idct_1d::<V, 18>(transposed(idct_1d::<V, 11>(rows))) }
}

/// As `whole`, of what [`Words::corner`] gives: four columns of four, then eight rows of four.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn corner<V: Words>(even: V, odd: V) -> [V; 8] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let rows = quarter::<V, 11>(even, odd);
        let upper = four([rows[0], rows[1], rows[2], rows[3]]);
        let lower = four([rows[4], rows[5], rows[6], rows[7]]);
        joined(upper, lower)
    }
}

/// The second half of `corner`, for four rows.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn four<V: Words>(rows: [V; 4]) -> [V; 8] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let (ac, bd) = (rows[0].narrow32(rows[2]), rows[1].narrow32(rows[3]));
        let (ab, cd) = (ac.lo32(bd), ac.hi32(bd));
        quarter::<V, 18>(ab.lo64(cd), ab.hi64(cd))
    }
}

/// Double words to words: lane by lane those of `a`, then those of `b`.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn joined<V: Words>(a: [V; 8], b: [V; 8]) -> [V; 8] {
    // SAFETY: the caller has the instructions.
    unsafe {
        [
            a[0].narrow32(b[0]),
            a[1].narrow32(b[1]),
            a[2].narrow32(b[2]),
            a[3].narrow32(b[3]),
            a[4].narrow32(b[4]),
            a[5].narrow32(b[5]),
            a[6].narrow32(b[6]),
            a[7].narrow32(b[7]),
        ]
    }
}

/// `half` where the last four coefficients are 0, of pairs of the coefficients 0, 2 and 1, 3.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn quarter<V: Words, const SHIFT: i32>(x02: V, x13: V) -> [V; 8] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let round = V::splat32(1 << (SHIFT - 1));
        let even = [
            x02.mul_add_to(V::splat_pair((1 << 13, EVEN_3.0)), round),
            x02.mul_add_to(V::splat_pair((1 << 13, EVEN_2.0)), round),
            x02.mul_add_to(V::splat_pair((1 << 13, -EVEN_2.0)), round),
            x02.mul_add_to(V::splat_pair((1 << 13, -EVEN_3.0)), round),
        ];
        let odd = [
            x13.mul_add(V::splat_pair((ODD_3.1 + Z4.1, Z4.0))),
            x13.mul_add(V::splat_pair((Z3.1, ODD_2.1 + Z3.0))),
            x13.mul_add(V::splat_pair((Z4.1, ODD_1.1 + Z4.0))),
            x13.mul_add(V::splat_pair((ODD_0.1 + Z3.1, Z3.0))),
        ];
        ends::<V, SHIFT>(even, odd)
    }
}

/// Eight values of each column, descaled by 2^`SHIFT`; element i of `x` holds coefficient i.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn idct_1d<V: Words, const SHIFT: i32>(x: [V; 8]) -> [V; 8] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let (sum, difference) = (x[0].add16(x[4]), x[0].sub16(x[4]));
        let (z3, z4) = (x[7].add16(x[3]), x[5].add16(x[1]));
        let lower = half::<V, SHIFT>(Terms {
            x04: sum.lo16(difference),
            x26: x[2].lo16(x[6]),
            z34: z3.lo16(z4),
            x71: x[7].lo16(x[1]),
            x53: x[5].lo16(x[3]),
        });
        let upper = half::<V, SHIFT>(Terms {
            x04: sum.hi16(difference),
            x26: x[2].hi16(x[6]),
            z34: z3.hi16(z4),
            x71: x[7].hi16(x[1]),
            x53: x[5].hi16(x[3]),
        });
        joined(lower, upper)
    }
}

/// What four columns of a lane need: pairs of words. `x04` are the sum and the difference.
struct Terms<V> {
    x04: V,
    x26: V,
    z34: V,
    x71: V,
    x53: V,
}

/// Eight values of four columns of a lane, in double words.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn half<V: Words, const SHIFT: i32>(it: Terms<V>) -> [V; 8] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let round = V::splat32(1 << (SHIFT - 1));
        let t0 = it.x04.mul_add_to(V::splat_pair((1 << 13, 0)), round);
        let t1 = it.x04.mul_add_to(V::splat_pair((0, 1 << 13)), round);
        let even = [
            it.x26.mul_add_to(V::splat_pair(EVEN_3), t0),
            it.x26.mul_add_to(V::splat_pair(EVEN_2), t1),
            it.x26.mul_add_to(V::splat_pair(minus(EVEN_2)), t1),
            it.x26.mul_add_to(V::splat_pair(minus(EVEN_3)), t0),
        ];
        let z3 = it.z34.mul_add(V::splat_pair(Z3));
        let z4 = it.z34.mul_add(V::splat_pair(Z4));
        let odd = [
            it.x71.mul_add_to(V::splat_pair(ODD_3), z4),
            it.x53.mul_add_to(V::splat_pair(ODD_2), z3),
            it.x53.mul_add_to(V::splat_pair(ODD_1), z4),
            it.x71.mul_add_to(V::splat_pair(ODD_0), z3),
        ];
        ends::<V, SHIFT>(even, odd)
    }
}

const fn minus(it: Pair) -> Pair {
    (-it.0, -it.1)
}

/// The eight values of even and odd parts.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn ends<V: Words, const SHIFT: i32>(even: [V; 4], odd: [V; 4]) -> [V; 8] {
    // SAFETY: the caller has the instructions.
    unsafe {
        [
            even[0].add32(odd[0]).sra32::<SHIFT>(),
            even[1].add32(odd[1]).sra32::<SHIFT>(),
            even[2].add32(odd[2]).sra32::<SHIFT>(),
            even[3].add32(odd[3]).sra32::<SHIFT>(),
            even[3].sub32(odd[3]).sra32::<SHIFT>(),
            even[2].sub32(odd[2]).sra32::<SHIFT>(),
            even[1].sub32(odd[1]).sra32::<SHIFT>(),
            even[0].sub32(odd[0]).sra32::<SHIFT>(),
        ]
    }
}

/// Word j of element i becomes word i of element j, lane by lane.
///
/// # Safety
/// The processor has the instructions of `V`.
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
///
/// # Safety
/// The processor has the instructions of `V`.
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
