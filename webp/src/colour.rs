//! From planes to pixels: chroma to the resolution of luma by libwebp's "fancy" filter, and its
//! arithmetic for ITU-R BT.601 of limited range, 14 bits behind the point.

/// A row of a picture.
///
/// Rows of chroma begin with the sample to the left of the first one. Of chroma and of luma there is at
/// least what [`LUMA_STEP`] pixels more would need.
pub(crate) struct Line<'a> {
    pub(crate) luma: &'a [u8],
    /// The row of each chroma plane in which the pixels lie.
    pub(crate) near: [&'a [u8]; 2],
    /// The one above it for the upper row of pixels in it, the one below it for the lower one.
    pub(crate) far: [&'a [u8]; 2],
    /// 255 everywhere without.
    pub(crate) alpha: Option<&'a [u8]>,
}

/// Pixels that are computed at once.
pub(crate) const LUMA_STEP: usize = 32;

/// Factors in 14 bits, of which `high` leaves 6 behind the point.
const LUMA: u16 = 19_077;
const RED_OF_V: u16 = 26_149;
const GREEN_OF_U: u16 = 6_419;
const GREEN_OF_V: u16 = 13_320;
const BLUE_OF_U: u16 = 33_050;
/// What the offsets of luma and chroma come to, with a half for rounding.
const RED: i16 = -14_234;
const GREEN: i16 = 8_708;
const BLUE: u16 = 17_685;

/// Pixels that the plain way computes at once, in loops that compilers make vectors of.
const PLAIN_STEP: usize = 16;

/// Writes pixels of `C` bytes, 3 or 4.
#[inline(always)]
pub(crate) fn pixels<const C: usize>(line: &Line<'_>, to: &mut [u8]) {
    let (to, _) = to.as_chunks_mut::<C>();
    for (step, to) in to.chunks_mut(PLAIN_STEP).enumerate() {
        let at = step * PLAIN_STEP;
        let [u, v] = [0, 1].map(|plane| {
            let [near, far] = [line.near[plane], line.far[plane]];
            chroma(&near[at / 2..], &far[at / 2..])
        });
        let luma = line.luma[at..].first_chunk().expect("there is more than is needed");
        let [red, green, blue] = rgb(luma, &u, &v);
        for (x, to) in to.iter_mut().enumerate() {
            to[..3].copy_from_slice(&[red[x], green[x], blue[x]]);
            if C == 4 {
                to[3] = line.alpha.map_or(u8::MAX, |it| it[at + x]);
            }
        }
    }
}

/// Chroma of the next pixels, times 256: two pixels a sample, of each with the sample beside it that is
/// nearer.
#[inline(always)]
fn chroma(near: &[u8], far: &[u8]) -> [u16; PLAIN_STEP] {
    const N: usize = PLAIN_STEP / 2 + 2;
    let near: &[u8; N] = near.first_chunk().expect("there is more than is needed");
    let far: &[u8; N] = far.first_chunk().expect("there is more than is needed");
    let mut weighted = [0; N];
    for ((to, &near), &far) in weighted.iter_mut().zip(near).zip(far) {
        *to = 3 * u16::from(near) + u16::from(far);
    }
    let mut chroma = [0; PLAIN_STEP];
    for (i, to) in chroma.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let own = 3 * weighted[i + 1] + 8;
        *to = [own + weighted[i], own + weighted[i + 2]].map(|it| it >> 4 << 8);
    }
    chroma
}

#[inline(always)]
fn rgb(
    luma: &[u8; PLAIN_STEP],
    u: &[u16; PLAIN_STEP],
    v: &[u16; PLAIN_STEP],
) -> [[u8; PLAIN_STEP]; 3] {
    let high = |it: u16, factor: u16| ((u32::from(it) * u32::from(factor)) >> 16) as u16;
    let mut colours = [[0; PLAIN_STEP]; 3];
    for x in 0..PLAIN_STEP {
        let y = high(u16::from(luma[x]) << 8, LUMA);
        // As the vectors have it: blue has more than 15 bits, and what is below 0 becomes 0 at once.
        let red = (y + high(v[x], RED_OF_V)).wrapping_add_signed(RED) as i16;
        let green = y as i16 + GREEN - (high(u[x], GREEN_OF_U) + high(v[x], GREEN_OF_V)) as i16;
        let blue = (y + high(u[x], BLUE_OF_U)).saturating_sub(BLUE) >> 6;
        colours[0][x] = (red >> 6).clamp(0, 255) as u8;
        colours[1][x] = (green >> 6).clamp(0, 255) as u8;
        colours[2][x] = blue.min(255) as u8;
    }
    colours
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2 {
    //! 32 pixels at once; even and odd ones in vectors of their own until they are bytes.

    use super::*;
    use std::arch::x86_64::*;

    /// As the plain one.
    ///
    /// # Safety
    /// The processor has AVX2.
    ///
    /// # Panics
    /// If the line is shorter than [`Line`] says.
    #[target_feature(enable = "avx2")]
    pub(crate) unsafe fn pixels<const C: usize>(line: &Line<'_>, to: &mut [u8]) {
        let n = to.len() / C;
        let steps = n.div_ceil(LUMA_STEP);
        let chroma = line.near.iter().chain(&line.far);
        assert!(chroma.into_iter().all(|it| it.len() >= steps * LUMA_STEP / 2 + 2));
        assert!(line.luma.len() >= steps * LUMA_STEP);
        assert!(line.alpha.is_none_or(|it| it.len() >= n));
        let whole = n / LUMA_STEP;
        for step in 0..whole {
            let at = step * LUMA_STEP;
            let to: &mut [u8] = &mut to[at * C..][..LUMA_STEP * C];
            let alpha = line.alpha.map(|it| {
                it[at..at + LUMA_STEP].first_chunk::<LUMA_STEP>().expect("that is its length")
            });
            // SAFETY: the processor has AVX2. All rows are long enough for this step, as asserted.
            unsafe { one_step::<C>(line, at, alpha, to) };
        }
        if whole < steps {
            let at = whole * LUMA_STEP;
            let mut alpha = [0; LUMA_STEP];
            if let Some(from) = line.alpha {
                alpha[..n - at].copy_from_slice(&from[at..n]);
            }
            let alpha = line.alpha.map(|_| &alpha);
            let mut last = [0; LUMA_STEP * 4];
            // SAFETY: the processor has AVX2. All rows are long enough for this step, as asserted.
            unsafe { one_step::<C>(line, at, alpha, &mut last[..LUMA_STEP * C]) };
            let to = &mut to[at * C..n * C];
            to.copy_from_slice(&last[..to.len()]);
        }
    }

    /// Writes pixels `at` to `at + LUMA_STEP`.
    ///
    /// # Safety
    /// The processor has AVX2; of luma there are `at + LUMA_STEP` bytes, of each row of chroma
    /// `(at + LUMA_STEP) / 2 + 2`, and `to` has `LUMA_STEP * C`.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn one_step<const C: usize>(
        line: &Line<'_>,
        at: usize,
        alpha: Option<&[u8; LUMA_STEP]>,
        to: &mut [u8],
    ) {
        // SAFETY: the caller says that there are as many bytes in these rows.
        let (y, u, v) = unsafe {
            (
                _mm256_loadu_si256(line.luma.as_ptr().add(at).cast()),
                samples(line.near[0].as_ptr().add(at / 2), line.far[0].as_ptr().add(at / 2)),
                samples(line.near[1].as_ptr().add(at / 2), line.far[1].as_ptr().add(at / 2)),
            )
        };
        let even = rgb(_mm256_slli_epi16::<8>(y), u[0], v[0]);
        let odd = rgb(_mm256_and_si256(y, _mm256_set1_epi16(-256)), u[1], v[1]);
        let [red, green, blue] = [0, 1, 2].map(|i| _mm256_packus_epi16(even[i], odd[i]));
        if C == 3 {
            store_3([red, green, blue], to);
        } else {
            let alpha = match alpha {
                None => _mm256_set1_epi8(-1),
                // SAFETY: 32 bytes are read, of 32.
                Some(it) => unsafe {
                    _mm256_shuffle_epi8(_mm256_loadu_si256(it.as_ptr().cast()), twice(&EVEN_FIRST))
                },
            };
            store_4([red, green, blue, alpha], to);
        }
    }

    /// Chroma of even and of odd pixels, in the upper halves of words.
    ///
    /// # Safety
    /// The processor has AVX2; 18 bytes can be read from both.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn samples(near: *const u8, far: *const u8) -> [__m256i; 2] {
        let [left, own, right] = [0, 1, 2].map(|by| {
            // SAFETY: 16 bytes from `by` on are among the 18.
            let (near, far) = unsafe {
                (
                    _mm256_cvtepu8_epi16(_mm_loadu_si128(near.add(by).cast())),
                    _mm256_cvtepu8_epi16(_mm_loadu_si128(far.add(by).cast())),
                )
            };
            _mm256_add_epi16(_mm256_add_epi16(near, far), _mm256_add_epi16(near, near))
        });
        let thrice = _mm256_add_epi16(own, _mm256_add_epi16(own, own));
        let rounded = _mm256_add_epi16(thrice, _mm256_set1_epi16(8));
        [left, right].map(|beside| {
            let sum = _mm256_add_epi16(rounded, beside);
            _mm256_slli_epi16::<4>(_mm256_and_si256(sum, _mm256_set1_epi16(-16)))
        })
    }

    /// Colours of 16 pixels, whose samples are in the upper halves of words; not yet clamped.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn rgb(y: __m256i, u: __m256i, v: __m256i) -> [__m256i; 3] {
        let high = |it, factor: u16| _mm256_mulhi_epu16(it, _mm256_set1_epi16(factor as i16));
        let y = high(y, LUMA);
        let red = _mm256_add_epi16(_mm256_add_epi16(y, _mm256_set1_epi16(RED)), high(v, RED_OF_V));
        let of_chroma = _mm256_add_epi16(high(u, GREEN_OF_U), high(v, GREEN_OF_V));
        let green = _mm256_sub_epi16(_mm256_add_epi16(y, _mm256_set1_epi16(GREEN)), of_chroma);
        // More than 15 bits: without a sign, and what is below 0 becomes 0 at once.
        let blue = _mm256_add_epi16(y, high(u, BLUE_OF_U));
        let blue = _mm256_subs_epu16(blue, _mm256_set1_epi16(BLUE as i16));
        [_mm256_srai_epi16::<6>(red), _mm256_srai_epi16::<6>(green), _mm256_srli_epi16::<6>(blue)]
    }

    /// In 16 bytes first those of even pixels, then those of odd ones: where byte `i` of 16 pixels is.
    const fn place(pixel: usize) -> u8 {
        (pixel / 2 + 8 * (pixel % 2)) as u8
    }

    /// From the order of pixels to even ones before odd ones.
    const EVEN_FIRST: [u8; 16] = [0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15];

    /// Byte `i` of each colour goes to one of the three results of `store_3`: which byte that is.
    const THIRDS: [[u8; 16]; 3] = {
        let mut thirds = [[0; 16]; 3];
        let mut at = 0;
        while at < 48 {
            thirds[at % 3][at % 16] = place(at / 3);
            at += 1;
        }
        thirds
    };

    /// Bytes `i` with `i % 3 == 1`, and with 2.
    const EVERY_THIRD: [[u8; 16]; 2] = {
        let mut masks = [[0; 16]; 2];
        let mut at = 0;
        while at < 16 {
            if at % 3 > 0 {
                masks[at % 3 - 1][at] = 0xFF;
            }
            at += 1;
        }
        masks
    };

    #[target_feature(enable = "avx2")]
    #[inline]
    fn twice(bytes: &'static [u8; 16]) -> __m256i {
        // SAFETY: 16 bytes are read, of 16.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
    }

    /// Writes 32 pixels of three bytes.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn store_3([a, b, c]: [__m256i; 3], to: &mut [u8]) {
        let a = _mm256_shuffle_epi8(a, twice(&THIRDS[0]));
        let b = _mm256_shuffle_epi8(b, twice(&THIRDS[1]));
        let c = _mm256_shuffle_epi8(c, twice(&THIRDS[2]));
        let (one, two) = (twice(&EVERY_THIRD[0]), twice(&EVERY_THIRD[1]));
        let first = _mm256_blendv_epi8(_mm256_blendv_epi8(a, b, one), c, two);
        let second = _mm256_blendv_epi8(_mm256_blendv_epi8(b, c, one), a, two);
        let third = _mm256_blendv_epi8(_mm256_blendv_epi8(c, a, one), b, two);
        let vectors = [
            _mm256_permute2x128_si256::<0x20>(first, second),
            _mm256_permute2x128_si256::<0x30>(third, first),
            _mm256_permute2x128_si256::<0x31>(second, third),
        ];
        store(vectors, to);
    }

    /// Writes 32 pixels of four bytes.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn store_4([r, g, b, a]: [__m256i; 4], to: &mut [u8]) {
        let (even, odd) = (_mm256_unpacklo_epi8(r, g), _mm256_unpackhi_epi8(r, g));
        let (even_2, odd_2) = (_mm256_unpacklo_epi8(b, a), _mm256_unpackhi_epi8(b, a));
        let low = [_mm256_unpacklo_epi16(even, even_2), _mm256_unpacklo_epi16(odd, odd_2)];
        let high = [_mm256_unpackhi_epi16(even, even_2), _mm256_unpackhi_epi16(odd, odd_2)];
        // Four pixels a lane: the first 16 in the lower lanes, the others in the upper ones.
        let fours = [
            _mm256_unpacklo_epi32(low[0], low[1]),
            _mm256_unpackhi_epi32(low[0], low[1]),
            _mm256_unpacklo_epi32(high[0], high[1]),
            _mm256_unpackhi_epi32(high[0], high[1]),
        ];
        let vectors = [
            _mm256_permute2x128_si256::<0x20>(fours[0], fours[1]),
            _mm256_permute2x128_si256::<0x20>(fours[2], fours[3]),
            _mm256_permute2x128_si256::<0x31>(fours[0], fours[1]),
            _mm256_permute2x128_si256::<0x31>(fours[2], fours[3]),
        ];
        store(vectors, to);
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store<const N: usize>(vectors: [__m256i; N], to: &mut [u8]) {
        let (to, _) = to.as_chunks_mut::<32>();
        assert!(to.len() == N, "32 bytes for each vector");
        for (to, vector) in to.iter_mut().zip(vectors) {
            // SAFETY: 32 bytes are written, of 32.
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), vector) };
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn all_colours_and_widths_are_as_the_plain_ones() {
            if !crate::Tier::Avx2.is_available() {
                return;
            }
            let mut state = 5_u32;
            let mut draw = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            for n in (1..=200).step_by(if cfg!(miri) { 23 } else { 1 }) {
                let mut row = || (0..240).map(|_| draw()).collect::<Vec<u8>>();
                let rows = [row(), row(), row(), row(), row(), row()];
                let [luma, near_u, near_v, far_u, far_v, alpha] = rows.each_ref().map(|it| &it[..]);
                for alpha in [None, Some(alpha)] {
                    let line = Line { luma, near: [near_u, near_v], far: [far_u, far_v], alpha };
                    let (mut expected, mut found) = (vec![0; n * 3], vec![0; n * 3]);
                    super::super::pixels::<3>(&line, &mut expected);
                    // SAFETY: the processor has AVX2.
                    unsafe { pixels::<3>(&line, &mut found) };
                    assert!(expected == found, "{n} pixels");
                    let (mut expected, mut found) = (vec![0; n * 4], vec![0; n * 4]);
                    super::super::pixels::<4>(&line, &mut expected);
                    // SAFETY: the processor has AVX2.
                    unsafe { pixels::<4>(&line, &mut found) };
                    assert!(expected == found, "{n} pixels with alpha");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One pixel, as libwebp's documentation of its formulas has it.
    fn slow(y: u8, [u, v]: [u8; 2]) -> [u8; 3] {
        let high = |sample: u8, factor: u16| (i32::from(sample) * i32::from(factor)) >> 8;
        let y = high(y, LUMA);
        let red = y + high(v, RED_OF_V) + i32::from(RED);
        let green = y - high(u, GREEN_OF_U) - high(v, GREEN_OF_V) + i32::from(GREEN);
        let blue = y + high(u, BLUE_OF_U) - i32::from(BLUE);
        [red, green, blue].map(|it| (it >> 6).clamp(0, 255) as u8)
    }

    #[test]
    fn all_colours_are_those_of_the_formula() {
        // Miri is slow.
        let step = if cfg!(miri) { 85 } else { 1 };
        let all = || (0..=255).step_by(step);
        for (u, v) in all().flat_map(|u| all().map(move |v| (u, v))) {
            let wide = |it: u8| [u16::from(it) << 8; PLAIN_STEP];
            for start in (0..256).step_by(PLAIN_STEP) {
                let luma = std::array::from_fn(|i| (start + i) as u8);
                let found = rgb(&luma, &wide(u), &wide(v));
                for i in 0..PLAIN_STEP {
                    assert_eq!(found.map(|it| it[i]), slow(luma[i], [u, v]));
                }
            }
        }
    }

    #[test]
    fn chroma_is_weighted_by_distance() {
        let near: [u8; 10] = [0, 10, 255, 3, 90, 7, 200, 255, 255, 1];
        let far: [u8; 10] = [255, 20, 0, 3, 80, 9, 100, 0, 254, 2];
        let found = chroma(&near, &far);
        for (x, found) in found.into_iter().enumerate() {
            let (own, beside) = (x / 2 + 1, x / 2 + 2 * (x % 2));
            let [a, b] = [own, beside].map(|at| 3 * u32::from(near[at]) + u32::from(far[at]));
            assert_eq!(u32::from(found), ((3 * a + b + 8) / 16) << 8, "pixel {x}");
        }
    }
}
