//! The kernels of the tiers that have vectors, each tier's compiled with its instructions.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::int16x8_t;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m128i, __m256i, __m512i};

use super::{
    Coded, Kernels, colour, colour_words, idct_scaled, idct_words, upsample, upsample_words,
};

/// A tier: its features, its widest vector, and all its vectors for rows, the widest first.
macro_rules! tier {
    ($name:ident, $kernels:ident, $features:literal, $widest:ty, [$($vector:ty),+]) => {
        pub(super) static $kernels: Kernels = Kernels {
            idct: $name::idct::<8>,
            idct_scaled: [$name::idct::<4>, $name::idct::<2>, idct_scaled::plain::<1>],
            h2v1: $name::h2v1,
            h2v2: $name::h2v2,
            h1v2: $name::h1v2,
            ycc_to_rgb: $name::ycc_to_rgb,
            interleave: $name::interleave,
        };

        /// The functions, each compiled with the tier's features.
        mod $name {
            use super::*;

            /// # Safety
            /// The processor has the features; `SIDE` is 8, and the lengths are as [`Kernels::idct`]
            /// says, or it is 4 or 2, and they are as [`Kernels::idct_scaled`] says.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn idct<const SIDE: usize>(blocks: &Coded<'_>, out: &mut [u8], stride: usize) {
                // SAFETY: the features are enabled; the lengths are the caller's.
                unsafe { idct_words::idct::<$widest, SIDE>(blocks, out, stride) }
            }

            /// # Safety
            /// The processor has the features; the lengths are as [`Kernels::h2v1`] says.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn h2v1(from: &[u8], to: &mut [u8]) {
                // SAFETY: the features are enabled; the lengths are the caller's.
                if !unsafe { $(upsample_words::h2v1::<$vector>(from, to))||+ } {
                    upsample::h2v1(from, to);
                }
            }

            /// # Safety
            /// The processor has the features; the lengths are as [`Kernels::h2v2`] says.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn h2v2(near: &[u8], far: &[u8], to: &mut [u8]) {
                // SAFETY: the features are enabled; the lengths are the caller's.
                if !unsafe { $(upsample_words::h2v2::<$vector>(near, far, to))||+ } {
                    upsample::h2v2(near, far, to);
                }
            }

            /// # Safety
            /// The processor has the features; the lengths are as [`Kernels::h1v2`] says.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn h1v2(near: &[u8], far: &[u8], bias: u16, to: &mut [u8]) {
                // SAFETY: the features are enabled; the lengths are the caller's.
                if !unsafe { $(upsample_words::h1v2::<$vector>(near, far, bias, to))||+ } {
                    upsample::h1v2(near, far, bias, to);
                }
            }

            /// # Safety
            /// The processor has the features; the lengths are as [`Kernels::ycc_to_rgb`] says.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn ycc_to_rgb(planes: [&[u8]; 3], to: &mut [u8]) {
                // SAFETY: the features are enabled; the lengths are the caller's.
                if !unsafe { $(colour_words::ycc_to_rgb::<$vector>(planes, to))||+ } {
                    colour::ycc_to_rgb(planes, to);
                }
            }

            /// # Safety
            /// The processor has the features; the lengths are as [`Kernels::interleave`] says.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn interleave(planes: [&[u8]; 3], to: &mut [u8]) {
                // SAFETY: the features are enabled; the lengths are the caller's.
                if !unsafe { $(colour_words::interleave::<$vector>(planes, to))||+ } {
                    colour::interleave(planes, to);
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
tier!(sse2, SSE2, "sse2", __m128i, [__m128i]);
#[cfg(target_arch = "x86_64")]
tier!(avx2, AVX2, "avx2", __m256i, [__m256i, __m128i]);
#[cfg(target_arch = "x86_64")]
tier!(
    avx512,
    AVX512,
    "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni",
    __m512i,
    [__m512i, __m256i, __m128i]
);
#[cfg(target_arch = "aarch64")]
tier!(neon, NEON, "neon", int16x8_t, [int16x8_t]);
