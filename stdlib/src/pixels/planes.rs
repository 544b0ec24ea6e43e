//! Pixels of three levels as three planes, so that many are computed at once.

/// Pixels that are computed at a time: a register of levels.
pub(crate) const PIXELS: usize = 64;

/// The levels of each channel.
pub(crate) type Planes = [[u8; PIXELS]; 3];

/// What is done to planes. Not a closure: one would not be inlined where the processor may do more than elsewhere.
pub(crate) trait Change {
    /// Changes planes; to be inlined always.
    fn apply(&self, planes: &mut Planes);
}

/// Changes pixels, some at a time; the last ones together with pixels that are not there. With `PICKS`, the processor can
/// pick bytes freely: see [`split`].
#[inline(always)]
pub(crate) fn each<const PICKS: bool>(pixels: &mut [[u8; 3]], change: &impl Change) {
    let (blocks, rest) = pixels.as_chunks_mut();
    for block in blocks {
        let mut planes = split::<PICKS>(block);
        change.apply(&mut planes);
        join::<PICKS>(&planes, block);
    }
    if !rest.is_empty() {
        let mut block = [[0; 3]; PIXELS];
        block[..rest.len()].copy_from_slice(rest);
        let mut planes = split::<PICKS>(&block);
        change.apply(&mut planes);
        join::<PICKS>(&planes, &mut block);
        rest.copy_from_slice(&block[..rest.len()]);
    }
}

/// The planes of pixels. With `PICKS`, only where the processor has AVX-512 F, BW and VBMI.
#[inline(always)]
pub(crate) fn split<const PICKS: bool>(pixels: &[[u8; 3]; PIXELS]) -> Planes {
    let mut planes = [[0; PIXELS]; 3];
    #[cfg(target_arch = "x86_64")]
    if PICKS {
        // SAFETY: whoever asks for it has looked for it.
        unsafe { picks::split(pixels, &mut planes) };
        return planes;
    }
    let [first, second, third] = &mut planes;
    for i in 0..PIXELS {
        [first[i], second[i], third[i]] = pixels[i];
    }
    planes
}

/// Writes planes as pixels; `PICKS` as for `split`.
#[inline(always)]
fn join<const PICKS: bool>(planes: &Planes, pixels: &mut [[u8; 3]; PIXELS]) {
    #[cfg(target_arch = "x86_64")]
    if PICKS {
        // SAFETY: whoever asks for it has looked for it.
        unsafe { picks::join(planes, pixels) };
        return;
    }
    let [first, second, third] = planes;
    for i in 0..PIXELS {
        pixels[i] = [first[i], second[i], third[i]];
    }
}

/// The same with bytes that are picked from two registers and then from the third (AVX-512 with VBMI).
#[cfg(target_arch = "x86_64")]
mod picks {
    use super::{PIXELS, Planes};
    use std::arch::x86_64::*;

    /// For each of three registers that are made: where each byte is in the first two of those that they are made of, or
    /// in the third, and a bit for each byte that comes from the third.
    type Picks = [([u8; PIXELS], u64); 3];

    /// Planes of pixels.
    const SPLIT: Picks = {
        let mut picks = [([0; PIXELS], 0); 3];
        let mut at = 0;
        while at < 3 * PIXELS {
            let (plane, i) = (at % 3, at / 3);
            picks[plane].0[i] = (at % (2 * PIXELS)) as u8;
            if at >= 2 * PIXELS {
                picks[plane].1 |= 1 << i;
            }
            at += 1;
        }
        picks
    };
    /// Pixels of planes.
    const JOIN: Picks = {
        let mut picks = [([0; PIXELS], 0); 3];
        let mut at = 0;
        while at < 3 * PIXELS {
            let (register, i) = (at / PIXELS, at % PIXELS);
            picks[register].0[i] = (at % 3 % 2 * PIXELS + at / 3) as u8;
            if at % 3 == 2 {
                picks[register].1 |= 1 << i;
            }
            at += 1;
        }
        picks
    };

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn split(pixels: &[[u8; 3]; PIXELS], planes: &mut Planes) {
        picked(pixels.as_ptr().cast(), &SPLIT, planes.as_mut_ptr().cast());
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn join(planes: &Planes, pixels: &mut [[u8; 3]; PIXELS]) {
        picked(planes.as_ptr().cast(), &JOIN, pixels.as_mut_ptr().cast());
    }

    /// Makes three registers of three others; both places have as many bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn picked(from: *const u8, picks: &Picks, to: *mut u8) {
        // SAFETY: only `split` and `join` call this, with arrays of three registers.
        unsafe {
            let [a, b, c] = [0, 1, 2].map(|it| _mm512_loadu_si512(from.add(it * PIXELS).cast()));
            for (i, (pick, third)) in picks.iter().enumerate() {
                let pick = _mm512_loadu_si512(pick.as_ptr().cast());
                let made = _mm512_permutex2var_epi8(a, pick, b);
                let made = _mm512_mask_permutexvar_epi8(made, *third, pick, c);
                _mm512_storeu_si512(to.add(i * PIXELS).cast(), made);
            }
        }
    }
}
