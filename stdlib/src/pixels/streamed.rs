//! 8-bit colour pixels to planes of floats that go past the caches (AVX-512 with VBMI).
//!
//! A batch is larger than the caches, and read by somebody else: whole lines that are written at
//! once need not be read from memory first.

use super::{Picture, normalize::Affine};
use std::arch::x86_64::*;

/// Pixels that are converted at a time: a line of floats.
const PIXELS: usize = 16;

/// Writes the planes of `rows`, from right to left where `mirrored`, to `out`, where the processor
/// and the places of the rows allow it.
pub(crate) fn planes(
    rows: &Picture<'_, u8>,
    mirrored: bool,
    channels: &[Affine; 3],
    out: &mut [f32],
) -> bool {
    let has = is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi");
    let (lines, rest) = out.as_chunks_mut::<PIXELS>();
    let fits = rest.is_empty() && rows.width.is_multiple_of(PIXELS) && rows.channels == 3;
    if !has || !fits || !lines.as_ptr().addr().is_multiple_of(size_of::<[f32; PIXELS]>()) {
        return false;
    }
    assert_eq!(lines.len() * PIXELS, 3 * rows.width * rows.height);
    // SAFETY: the processor has what it takes, and every line is one of the cache's.
    unsafe { write(rows, mirrored, channels, lines) };
    true
}

/// # Safety
/// The processor has AVX-512 F, BW and VBMI, and `out` is aligned to 64 bytes, a line of the cache.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn write(
    rows: &Picture<'_, u8>,
    mirrored: bool,
    channels: &[Affine; 3],
    out: &mut [[f32; PIXELS]],
) {
    let across = rows.width / PIXELS;
    let plane = across * rows.height;
    let picks = [0, 1, 2].map(|it| pick(it, mirrored));
    for (y, row) in rows.rows().enumerate() {
        let (blocks, _) = row.as_chunks::<{ 3 * PIXELS }>();
        for x in 0..across {
            let from = &blocks[if mirrored { across - 1 - x } else { x }];
            // SAFETY: only the first 48 bytes are read.
            let pixels = unsafe { _mm512_maskz_loadu_epi8((1 << 48) - 1, from.as_ptr().cast()) };
            for (i, (pick, channel)) in picks.iter().zip(channels).enumerate() {
                // SAFETY: there are 64 bytes.
                let pick = unsafe { _mm512_loadu_si512(pick.as_ptr().cast()) };
                let levels = _mm512_maskz_permutexvar_epi8(0x1111_1111_1111_1111, pick, pixels);
                let values =
                    _mm512_mul_ps(_mm512_cvtepi32_ps(levels), _mm512_set1_ps(channel.scale));
                let values = _mm512_add_ps(values, _mm512_set1_ps(channel.bias));
                let to = &mut out[i * plane + y * across + x];
                // SAFETY: it is a line of the cache, which nobody else has.
                unsafe { _mm512_stream_ps(to.as_mut_ptr(), values) };
            }
        }
    }
    // What was written past the caches is there for all before anything that follows.
    _mm_sfence();
}

/// Where the levels of a channel are among 16 pixels: the lowest byte of each 32-bit lane.
fn pick(channel: usize, mirrored: bool) -> [u8; 64] {
    let mut pick = [0; 64];
    for i in 0..PIXELS {
        let pixel = if mirrored { PIXELS - 1 - i } else { i };
        pick[4 * i] = (3 * pixel + channel) as u8;
    }
    pick
}
