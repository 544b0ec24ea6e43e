//! Takes the zeros out that follow bytes of all ones in a scan (B.1.1.5), many bytes at once.

use crate::Tier;

/// Bytes behind those that are given that may be written to, whatever is given.
pub(crate) const OVERRUN: usize = 64;

/// How far a run of code was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copied {
    /// Bytes that were read.
    pub(crate) read: usize,
    /// Bytes that were written.
    pub(crate) written: usize,
    /// Whether a byte of all ones follows that no zero follows, so that the code ends.
    pub(crate) ended: bool,
}

/// Copies code without its stuffed zeros, up to a marker or the end.
///
/// A byte of all ones at the end is not read, as what follows it is not known.
pub(crate) type Unstuff = fn(&[u8], &mut [u8]) -> Copied;

/// The function for a tier.
pub(crate) fn of(tier: Tier) -> Unstuff {
    match tier {
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 if has_avx512() => |from, to| {
            // SAFETY: the processor has what the function is compiled for.
            unsafe { x86::avx512(from, to) }
        },
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 | Tier::Avx2 if Tier::Avx2.is_available() => |from, to| {
            // SAFETY: the processor has what the function is compiled for.
            unsafe { x86::avx2(from, to) }
        },
        _ => plain,
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vbmi2")
        && std::arch::is_x86_feature_detected!("popcnt")
}

fn plain(from: &[u8], to: &mut [u8]) -> Copied {
    by_windows::<16>(from, to, |window| {
        let ones = window.iter().enumerate().map(|(i, &it)| u64::from(it == 0xFF) << i);
        ones.fold(0, |all, it| all | it)
    })
}

/// Copies windows of `N` bytes, and looks one by one only at what follows a byte of all ones.
#[inline(always)]
fn by_windows<const N: usize>(
    from: &[u8],
    to: &mut [u8],
    ones: impl Fn(&[u8; N]) -> u64,
) -> Copied {
    assert!(to.len() >= from.len() + OVERRUN && N <= OVERRUN, "there is room behind the code");
    let (mut read, mut written) = (0, 0);
    while let Some(window) = from.get(read..read + N).and_then(|it| it.first_chunk::<N>()) {
        to[written..written + N].copy_from_slice(window);
        let ones = ones(window);
        if ones == 0 {
            (read, written) = (read + N, written + N);
            continue;
        }
        let first = ones.trailing_zeros() as usize;
        (read, written) = (read + first, written + first);
        match from.get(read + 1) {
            Some(0) => (read, written) = (read + 2, written + 1),
            Some(_) => return Copied { read, written, ended: true },
            None => return Copied { read, written, ended: false },
        }
    }
    one_by_one(from, to, read, written)
}

fn one_by_one(from: &[u8], to: &mut [u8], mut read: usize, mut written: usize) -> Copied {
    while let Some(&byte) = from.get(read) {
        if byte == 0xFF {
            match from.get(read + 1) {
                Some(0) => read += 1,
                Some(_) => return Copied { read, written, ended: true },
                None => return Copied { read, written, ended: false },
            }
        }
        to[written] = byte;
        (read, written) = (read + 1, written + 1);
    }
    Copied { read, written, ended: false }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Copied, OVERRUN, by_windows, one_by_one};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2,bmi1,bmi2")]
    pub(super) fn avx2(from: &[u8], to: &mut [u8]) -> Copied {
        by_windows::<32>(from, to, |window| {
            // SAFETY: the window has 32 bytes.
            let bytes = unsafe { _mm256_loadu_si256(window.as_ptr().cast()) };
            let ones = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(-1));
            u64::from(_mm256_movemask_epi8(ones) as u32)
        })
    }

    #[target_feature(enable = "avx512bw,avx512vbmi2,popcnt")]
    pub(super) fn avx512(from: &[u8], to: &mut [u8]) -> Copied {
        assert!(to.len() >= from.len() + OVERRUN, "there is room behind the code");
        let (mut read, mut written) = (0, 0);
        while read + 64 <= from.len() {
            // SAFETY: 64 bytes are left, by the condition of the loop.
            let bytes = unsafe { _mm512_loadu_si512(from.as_ptr().add(read).cast()) };
            let ones = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(-1));
            let after = ones << 1;
            if after & !_mm512_testn_epi8_mask(bytes, bytes) != 0 {
                break;
            }
            // What follows a last byte of all ones is not known: it is read in the next round.
            let unread = ones >> 63;
            let kept = !after & (u64::MAX >> unread);
            let packed = _mm512_maskz_compress_epi8(kept, bytes);
            // SAFETY: `written` is at most `read`, and `to` is longer than `from` by 64 bytes.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().add(written).cast(), packed) };
            read += 64 - unread as usize;
            written += kept.count_ones() as usize;
        }
        one_by_one(from, to, read, written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(from: &[u8]) -> (Copied, Vec<u8>) {
        let run = |unstuff: Unstuff| {
            let mut to = vec![7; from.len() + OVERRUN];
            let copied = unstuff(from, &mut to);
            to.truncate(copied.written);
            (copied, to)
        };
        let mut to = vec![7; from.len()];
        let expected = one_by_one(from, &mut to, 0, 0);
        to.truncate(expected.written);
        for tier in Tier::available() {
            assert_eq!(run(of(tier)), (expected, to.clone()), "{tier:?} {from:?}");
        }
        (expected, to)
    }

    #[test]
    fn all_tiers_copy_the_same() {
        assert_eq!(all(&[1, 0xFF, 0, 2, 0xFF, 0xD9]).1, [1, 0xFF, 2]);
        let mut seed = 1_u32;
        for len in (0..400).step_by(if cfg!(miri) { 97 } else { 1 }) {
            let bytes: Vec<u8> = (0..len)
                .map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    [0xFF, 0, 5, 0, 0, 3, 2, 1][(seed >> 29) as usize]
                })
                .collect();
            all(&bytes);
            // Without markers, so that all of it is copied.
            let clean: Vec<u8> = bytes.iter().flat_map(|&it| [it, 0]).collect();
            all(&clean);
            all(&vec![0; len]);
        }
    }
}
