//! `Words` of 64-bit ARM: one lane with Advanced SIMD.

use std::arch::aarch64::*;

use super::idct::PLACE;
use super::words::Words;

/// The functions of `Words` of a body each.
macro_rules! bodies {
    ($(fn $name:ident($($args:tt)*) -> $gives:ty = $body:expr;)*) => {$(
        /// # Safety
        /// As [`Words`] says.
        #[inline(always)]
        unsafe fn $name($($args)*) -> $gives {
            // SAFETY: the caller has the instructions, and the bytes at the pointers that `Words`
            // names; the accesses are of bytes, or of words that lie as words do.
            unsafe { $body }
        }
    )*};
}

/// A function of vectors of another element, as one of words.
macro_rules! of {
    (s8: $name:ident($($arg:expr),*)) => {
        vreinterpretq_s16_s8($name($(vreinterpretq_s8_s16($arg)),*))
    };
    (s32: $name:ident($($arg:expr),*)) => {
        vreinterpretq_s16_s32($name($(vreinterpretq_s32_s16($arg)),*))
    };
    (s64: $name:ident($($arg:expr),*)) => {
        vreinterpretq_s16_s64($name($(vreinterpretq_s64_s16($arg)),*))
    };
}

impl Words for int16x8_t {
    const LANES: usize = 1;

    bodies! {
        fn zero() -> Self = vdupq_n_s16(0);
        fn splat16(word: i16) -> Self = vdupq_n_s16(word);
        fn splat32(word: i32) -> Self = vreinterpretq_s16_s32(vdupq_n_s32(word));

        fn load(from: *const u8) -> Self = vreinterpretq_s16_u8(vld1q_u8(from));
        fn store(self, to: *mut u8) -> () = vst1q_u8(to, vreinterpretq_u8_s16(self));
        fn is_zero(self) -> bool = vmaxvq_u16(vreinterpretq_u16_s16(self)) == 0;
        fn load_wide(from: *const u8) -> Self = vreinterpretq_s16_u16(vmovl_u8(vld1_u8(from)));
        fn store_halves(self, lower: *mut u8, upper: *mut u8) -> () = {
            let bytes = vreinterpretq_u8_s16(self);
            vst1_u8(lower, vget_low_u8(bytes));
            vst1_u8(upper, vget_high_u8(bytes));
        };
        fn store_3(vectors: [Self; 3], to: *mut u8) -> () = {
            let [a, b, c] = vectors;
            let bytes = uint8x16x3_t(
                vreinterpretq_u8_s16(a),
                vreinterpretq_u8_s16(b),
                vreinterpretq_u8_s16(c),
            );
            vst3q_u8(to, bytes);
        };
        fn rows(blocks: *const i16, quant: *const u16) -> [Self; 8] = {
            let first = uint8x16x4_t(
                octet(blocks, quant, 0),
                octet(blocks, quant, 1),
                octet(blocks, quant, 2),
                octet(blocks, quant, 3),
            );
            let last = uint8x16x4_t(
                octet(blocks, quant, 4),
                octet(blocks, quant, 5),
                octet(blocks, quant, 6),
                octet(blocks, quant, 7),
            );
            let mut rows = [vdupq_n_s16(0); 8];
            for (row, places) in rows.iter_mut().zip(&PICKS) {
                let places = vld1q_u8(places.as_ptr());
                let bytes = vqtbl4q_u8(first, places);
                let bytes = vqtbx4q_u8(bytes, last, vsubq_u8(places, vdupq_n_u8(64)));
                *row = vreinterpretq_s16_u8(bytes);
            }
            rows
        };

        fn add16(self, other: Self) -> Self = vaddq_s16(self, other);
        fn sub16(self, other: Self) -> Self = vsubq_s16(self, other);
        fn mul16_high(self, other: Self) -> Self = {
            let lower = vmull_s16(vget_low_s16(self), vget_low_s16(other));
            let upper = vmull_high_s16(self, other);
            vuzp2q_s16(vreinterpretq_s16_s32(lower), vreinterpretq_s16_s32(upper))
        };
        fn mul_add(self, other: Self) -> Self = {
            let lower = vmull_s16(vget_low_s16(self), vget_low_s16(other));
            let upper = vmull_high_s16(self, other);
            vreinterpretq_s16_s32(vpaddq_s32(lower, upper))
        };
        fn add32(self, other: Self) -> Self = of!(s32: vaddq_s32(self, other));
        fn sub32(self, other: Self) -> Self = of!(s32: vsubq_s32(self, other));
        fn xor(self, other: Self) -> Self = veorq_s16(self, other);
        fn or(self, other: Self) -> Self = vorrq_s16(self, other);

        fn narrow32(self, other: Self) -> Self = vcombine_s16(
            vqmovn_s32(vreinterpretq_s32_s16(self)),
            vqmovn_s32(vreinterpretq_s32_s16(other)),
        );
        fn narrow16(self, other: Self) -> Self =
            vreinterpretq_s16_s8(vcombine_s8(vqmovn_s16(self), vqmovn_s16(other)));
        fn narrow16_unsigned(self, other: Self) -> Self =
            vreinterpretq_s16_u8(vcombine_u8(vqmovun_s16(self), vqmovun_s16(other)));

        fn lo8(self, other: Self) -> Self = of!(s8: vzip1q_s8(self, other));
        fn hi8(self, other: Self) -> Self = of!(s8: vzip2q_s8(self, other));
        fn lo16(self, other: Self) -> Self = vzip1q_s16(self, other);
        fn hi16(self, other: Self) -> Self = vzip2q_s16(self, other);
        fn lo32(self, other: Self) -> Self = of!(s32: vzip1q_s32(self, other));
        fn hi32(self, other: Self) -> Self = of!(s32: vzip2q_s32(self, other));
        fn lo64(self, other: Self) -> Self = of!(s64: vzip1q_s64(self, other));
        fn hi64(self, other: Self) -> Self = of!(s64: vzip2q_s64(self, other));
    }

    #[inline(always)]
    unsafe fn sra32<const N: i32>(self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { vreinterpretq_s16_s32(vshrq_n_s32::<N>(vreinterpretq_s32_s16(self))) }
    }

    #[inline(always)]
    unsafe fn sra16<const N: i32>(self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { vshrq_n_s16::<N>(self) }
    }

    #[inline(always)]
    unsafe fn srl16<const N: i32>(self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { vreinterpretq_s16_u16(vshrq_n_u16::<N>(vreinterpretq_u16_s16(self))) }
    }

    #[inline(always)]
    unsafe fn sll16<const N: i32>(self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { vshlq_n_s16::<N>(self) }
    }
}

/// Eight dequantised coefficients in zig-zag order, from the `8 * k`-th on.
///
/// # Safety
/// The processor has Advanced SIMD; 64 words can be read at `block` and `quant`; `k` is below 8.
#[inline(always)]
unsafe fn octet(block: *const i16, quant: *const u16, k: usize) -> uint8x16_t {
    // SAFETY: the caller has the instructions, and 64 words at both pointers; k is below 8.
    unsafe {
        let factors = vreinterpretq_s16_u16(vld1q_u16(quant.add(8 * k)));
        vreinterpretq_u8_s16(vmulq_s16(vld1q_s16(block.add(8 * k)), factors))
    }
}

/// The places in zig-zag order, in bytes, of the words of each row.
static PICKS: [[u8; 16]; 8] = {
    let mut picks = [[0; 16]; 8];
    let mut at = 0;
    while at < 64 {
        picks[at / 8][2 * (at % 8)] = 2 * PLACE[at];
        picks[at / 8][2 * (at % 8) + 1] = 2 * PLACE[at] + 1;
        at += 1;
    }
    picks
};
