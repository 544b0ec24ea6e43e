//! Rows of components to interleaved pixels with vectors. Rows that are shorter than a vector are
//! refused (`false`); the last step of a longer one ends at its end.

use super::words::Words;

/// As `colour::ycc_to_rgb`, or `false` if the rows are too short.
///
/// # Safety
/// The processor has the instructions of `V`, and the lengths are as `Kernels::ycc_to_rgb` says.
#[inline(always)]
pub(super) unsafe fn ycc_to_rgb<V: Words>(planes: [&[u8]; 3], to: &mut [u8]) -> bool {
    let (n, step) = (planes[0].len(), V::BYTES);
    if n < step {
        return false;
    }

    let mut done = 0;
    while done < n {
        let i = done.min(n - step);
        // SAFETY: i + step <= n, the length of all planes, and `to` is three times as long.
        unsafe { V::store_3(rgb(load_3::<V>(planes, i)), to.as_mut_ptr().add(3 * i)) };
        done += step;
    }
    true
}

/// As `colour::interleave`, or `false` if the rows are too short.
///
/// # Safety
/// The processor has the instructions of `V`, and the lengths are as `Kernels::interleave` says.
#[inline(always)]
pub(super) unsafe fn interleave<V: Words>(planes: [&[u8]; 3], to: &mut [u8]) -> bool {
    let (n, step) = (planes[0].len(), V::BYTES);
    if n < step {
        return false;
    }

    let mut done = 0;
    while done < n {
        let i = done.min(n - step);
        // SAFETY: i + step <= n, the length of all planes, and `to` is three times as long.
        unsafe { V::store_3(load_3::<V>(planes, i), to.as_mut_ptr().add(3 * i)) };
        done += step;
    }
    true
}

/// A vector of each plane.
///
/// # Safety
/// The processor has the instructions of `V`, and all planes have `V::BYTES` bytes from `i` on.
#[inline(always)]
unsafe fn load_3<V: Words>(planes: [&[u8]; 3], i: usize) -> [V; 3] {
    let [a, b, c] = planes;
    // SAFETY: the caller has the instructions, and a vector of bytes at i of all three.
    unsafe { [V::load(a.as_ptr().add(i)), V::load(b.as_ptr().add(i)), V::load(c.as_ptr().add(i))] }
}

/// Bytes of y, cb and cr to bytes of red, green and blue.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn rgb<V: Words>(bytes: [V; 3]) -> [V; 3] {
    let [y, cb, cr] = bytes;
    // SAFETY: the caller has the instructions.
    unsafe {
        let zero = V::zero();
        let lower = rgb_words([y.lo8(zero), cb.lo8(zero), cr.lo8(zero)]);
        let upper = rgb_words([y.hi8(zero), cb.hi8(zero), cr.hi8(zero)]);
        [
            lower[0].narrow16_unsigned(upper[0]),
            lower[1].narrow16_unsigned(upper[1]),
            lower[2].narrow16_unsigned(upper[2]),
        ]
    }
}

/// The formulas of `colour::ycc_to_rgb` in 16 bits: a factor is split into the part that fits
/// (1.402 = 1 + 0.402, 1.772 = 2 - 0.228, -0.714136 = -1 + 0.285864), and the rest is taken of
/// twice the value, so that half of the product's upper word is what has to be rounded.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn rgb_words<V: Words>(words: [V; 3]) -> [V; 3] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let (centre, one) = (V::splat16(128), V::splat16(1));
        let [y, cb, cr] = [words[0], words[1].sub16(centre), words[2].sub16(centre)];
        let (cb_2, cr_2) = (cb.add16(cb), cr.add16(cr));
        let red = cr_2.mul16_high(V::splat16(26345)).add16(one).sra16::<1>();
        let blue = cb_2.mul16_high(V::splat16(-14942)).add16(one).sra16::<1>();

        let (by, half) = (V::splat_pair((-22554, 18734)), V::splat32(1 << 15));
        let lower = cb.lo16(cr).mul_add(by).add32(half).sra32::<16>();
        let upper = cb.hi16(cr).mul_add(by).add32(half).sra32::<16>();
        let green = lower.narrow32(upper);
        [y.add16(cr).add16(red), y.sub16(cr).add16(green), y.add16(cb_2).add16(blue)]
    }
}
