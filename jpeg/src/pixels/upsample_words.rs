//! Upsampling with vectors. Rows that are shorter than a vector are refused (`false`); the last
//! step of a longer one ends at its end and repeats a part of the step before.

use super::words::Words;

/// As `upsample::h2v1`, or `false` if the row is too short.
///
/// # Safety
/// The processor has the instructions of `V`, and the lengths are as `Kernels::h2v1` says.
#[inline(always)]
pub(super) unsafe fn h2v1<V: Words>(from: &[u8], to: &mut [u8]) -> bool {
    let (n, step) = (to.len() / 2, V::BYTES / 2);
    if n < step {
        return false;
    }

    let mut done = 0;
    while done < n {
        let i = done.min(n - step);
        // SAFETY: i + step <= n, so the last byte read is i + step + 1 < n + 2 = from.len(), and
        // the last written 2 * (i + step) - 1 < to.len().
        unsafe {
            let at = from.as_ptr().add(i);
            let all = [V::load_wide(at), V::load_wide(at.add(1)), V::load_wide(at.add(2))];
            let [even, odd] = triangle(all, [V::splat16(1), V::splat16(2)]);
            let (even, odd) = (even.srl16::<2>(), odd.srl16::<2>());
            even.or(odd.sll16::<8>()).store(to.as_mut_ptr().add(2 * i));
        }
        done += step;
    }
    true
}

/// As `upsample::h2v2`, or `false` if the rows are too short.
///
/// # Safety
/// The processor has the instructions of `V`, and the lengths are as `Kernels::h2v2` says.
#[inline(always)]
pub(super) unsafe fn h2v2<V: Words>(near: &[u8], far: &[u8], to: &mut [u8]) -> bool {
    let (n, step) = (to.len() / 2, V::BYTES / 2);
    if n < step {
        return false;
    }

    let mut done = 0;
    while done < n {
        let i = done.min(n - step);
        // SAFETY: i + step <= n, so the last byte read is i + step + 1 < n + 2, the length of
        // both rows, and the last written 2 * (i + step) - 1 < to.len().
        unsafe {
            let (near, far) = (near.as_ptr().add(i), far.as_ptr().add(i));
            let all = [column::<V>(near, far, 0), column(near, far, 1), column(near, far, 2)];
            let [even, odd] = triangle(all, [V::splat16(8), V::splat16(7)]);
            let (even, odd) = (even.srl16::<4>(), odd.srl16::<4>());
            even.or(odd.sll16::<8>()).store(to.as_mut_ptr().add(2 * i));
        }
        done += step;
    }
    true
}

/// 3 near + far of the samples from `i` on.
///
/// # Safety
/// The processor has the instructions of `V`; `V::BYTES / 2` bytes can be read from `i` on at both.
#[inline(always)]
unsafe fn column<V: Words>(near: *const u8, far: *const u8, i: usize) -> V {
    // SAFETY: the caller has the instructions, and half a vector of bytes from i on at both.
    unsafe { V::load_wide(far.add(i)).add16(thrice(V::load_wide(near.add(i)))) }
}

/// 3 it + left + bias, 3 it + right + bias.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn triangle<V: Words>(all: [V; 3], bias: [V; 2]) -> [V; 2] {
    let [left, it, right] = all;
    // SAFETY: the caller has the instructions.
    unsafe {
        let it = thrice(it);
        [it.add16(left).add16(bias[0]), it.add16(right).add16(bias[1])]
    }
}

/// 3 it.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn thrice<V: Words>(it: V) -> V {
    // SAFETY: the caller has the instructions.
    unsafe { it.add16(it).add16(it) }
}

/// As `upsample::h1v2`, or `false` if the rows are too short.
///
/// # Safety
/// The processor has the instructions of `V`, and the lengths of the three rows are equal.
#[inline(always)]
pub(super) unsafe fn h1v2<V: Words>(near: &[u8], far: &[u8], bias: u16, to: &mut [u8]) -> bool {
    let (n, step) = (to.len(), V::BYTES);
    if n < step {
        return false;
    }

    let mut done = 0;
    while done < n {
        let i = done.min(n - step);
        // SAFETY: i + step <= n, the length of all three.
        unsafe {
            let (near, far) = (V::load(near.as_ptr().add(i)), V::load(far.as_ptr().add(i)));
            let (zero, bias) = (V::zero(), V::splat16(bias as i16));
            let lower = far.lo8(zero).add16(thrice(near.lo8(zero))).add16(bias).srl16::<2>();
            let upper = far.hi8(zero).add16(thrice(near.hi8(zero))).add16(bias).srl16::<2>();
            lower.narrow16_unsigned(upper).store(to.as_mut_ptr().add(i));
        }
        done += step;
    }
    true
}
