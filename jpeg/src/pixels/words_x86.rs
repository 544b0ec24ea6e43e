//! `Words` of x86-64: one lane with SSE2, two with AVX2, four with AVX-512.

use std::arch::x86_64::*;

use super::idct::{PLACE, natural};
use super::words::{CORNER_PLACES, Words};

/// The functions of `Words` that are one instruction on all of x86.
macro_rules! instructions {
    ($($name:ident($($arg:ident),*) = $intrinsic:ident;)*) => {$(
        /// # Safety
        /// As [`Words`] says.
        #[inline(always)]
        unsafe fn $name(self $(, $arg: Self)*) -> Self {
            // SAFETY: the caller has the instructions; see `Words`.
            unsafe { $intrinsic(self $(, $arg)*) }
        }
    )*};
}

/// The shifts of `Words`; compilers make the count of a constant an immediate one.
macro_rules! shifts {
    ($($name:ident = $intrinsic:ident;)*) => {$(
        /// # Safety
        /// As [`Words`] says.
        #[inline(always)]
        unsafe fn $name<const N: i32>(self) -> Self {
            // SAFETY: the caller has the instructions; see `Words`.
            unsafe { $intrinsic(self, _mm_cvtsi32_si128(N)) }
        }
    )*};
}

/// The functions of `Words` of a body each.
macro_rules! bodies {
    ($(fn $name:ident($($arg:ident: $of:ty),*) -> $gives:ty = $body:expr;)*) => {$(
        /// # Safety
        /// As [`Words`] says.
        #[inline(always)]
        unsafe fn $name($($arg: $of),*) -> $gives {
            // SAFETY: the caller has the instructions, and the bytes at the pointers that `Words`
            // names; none of the accesses needs to be aligned.
            unsafe { $body }
        }
    )*};
}

impl Words for __m128i {
    const LANES: usize = 1;

    bodies! {
        fn zero() -> Self = _mm_setzero_si128();
        fn splat16(word: i16) -> Self = _mm_set1_epi16(word);
        fn splat32(word: i32) -> Self = _mm_set1_epi32(word);
        fn load(from: *const u8) -> Self = _mm_loadu_si128(from.cast());
        fn load_wide(from: *const u8) -> Self =
            _mm_unpacklo_epi8(_mm_loadl_epi64(from.cast()), _mm_setzero_si128());
        fn rows(blocks: *const i16, quant: *const u16) -> [Self; 8] = {
            let rows = natural(&*blocks.cast(), &*quant.cast());
            load_8(rows.as_ptr())
        };
    }

    #[inline(always)]
    unsafe fn is_zero(self) -> bool {
        // SAFETY: the caller has the instructions; see `Words`.
        unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self, _mm_setzero_si128())) == 0xFFFF }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: 16 bytes may be written at `to`, at any alignment.
        unsafe { _mm_storeu_si128(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn store_halves(self, lower: *mut u8, upper: *mut u8) {
        // SAFETY: 8 bytes may be written at both, at any alignment.
        unsafe {
            _mm_storel_epi64(lower.cast(), self);
            _mm_storel_epi64(upper.cast(), _mm_unpackhi_epi64(self, self));
        }
    }

    /// SSE2 has no shuffle of bytes.
    #[inline(always)]
    unsafe fn store_3(vectors: [Self; 3], to: *mut u8) {
        let mut bytes = [[0; 16]; 3];
        for (vector, bytes) in vectors.into_iter().zip(&mut bytes) {
            // SAFETY: an array of 16 bytes has room for 16 bytes.
            unsafe { vector.store(bytes.as_mut_ptr()) };
        }
        for i in 0..16 {
            // SAFETY: 48 bytes may be written at `to`, and 3 * 15 + 2 = 47.
            unsafe { to.add(3 * i).cast::<[u8; 3]>().write(bytes.map(|it| it[i])) };
        }
    }

    instructions! {
        add16(other) = _mm_add_epi16;
        sub16(other) = _mm_sub_epi16;
        mul16_high(other) = _mm_mulhi_epi16;
        mul_add(other) = _mm_madd_epi16;
        add32(other) = _mm_add_epi32;
        sub32(other) = _mm_sub_epi32;
        xor(other) = _mm_xor_si128;
        or(other) = _mm_or_si128;
        narrow32(other) = _mm_packs_epi32;
        narrow16(other) = _mm_packs_epi16;
        narrow16_unsigned(other) = _mm_packus_epi16;
        lo8(other) = _mm_unpacklo_epi8;
        hi8(other) = _mm_unpackhi_epi8;
        lo16(other) = _mm_unpacklo_epi16;
        hi16(other) = _mm_unpackhi_epi16;
        lo32(other) = _mm_unpacklo_epi32;
        hi32(other) = _mm_unpackhi_epi32;
        lo64(other) = _mm_unpacklo_epi64;
        hi64(other) = _mm_unpackhi_epi64;
    }

    shifts! {
        sra32 = _mm_sra_epi32;
        sra16 = _mm_sra_epi16;
        srl16 = _mm_srl_epi16;
        sll16 = _mm_sll_epi16;
    }
}

/// Eight rows of eight words.
///
/// # Safety
/// 64 words can be read at `from`.
#[inline(always)]
unsafe fn load_8(from: *const i16) -> [__m128i; 8] {
    let mut rows = [from; 8];
    for (row, at) in rows.iter_mut().enumerate() {
        // SAFETY: 64 words lie at `from`.
        *at = unsafe { from.add(8 * row) };
    }
    // SAFETY: eight of the 64 words lie at each; SSE2 is part of x86-64.
    rows.map(|at| unsafe { _mm_loadu_si128(at.cast()) })
}

impl Words for __m256i {
    const LANES: usize = 2;

    bodies! {
        fn zero() -> Self = _mm256_setzero_si256();
        fn splat16(word: i16) -> Self = _mm256_set1_epi16(word);
        fn splat32(word: i32) -> Self = _mm256_set1_epi32(word);
        fn load(from: *const u8) -> Self = _mm256_loadu_si256(from.cast());
        fn load_wide(from: *const u8) -> Self =
            _mm256_cvtepu8_epi16(_mm_loadu_si128(from.cast()));
        fn rows(blocks: *const i16, quant: *const u16) -> [Self; 8] = {
            let octets = octets(blocks, quant);
            [
                row::<0>(&octets),
                row::<1>(&octets),
                row::<2>(&octets),
                row::<3>(&octets),
                row::<4>(&octets),
                row::<5>(&octets),
                row::<6>(&octets),
                row::<7>(&octets),
            ]
        };
        fn corner(blocks: *const i16, quant: *const u16) -> [Self; 2] = {
            let octets = [octet(blocks, quant, 0), octet(blocks, quant, 1)];
            [corner_of_two::<0>(&octets), corner_of_two::<1>(&octets)]
        };
    }

    #[inline(always)]
    unsafe fn is_zero(self) -> bool {
        // SAFETY: the caller has the instructions; see `Words`.
        unsafe { _mm256_testz_si256(self, self) == 1 }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: 32 bytes may be written at `to`, at any alignment.
        unsafe { _mm256_storeu_si256(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn store_halves(self, lower: *mut u8, upper: *mut u8) {
        // SAFETY: 16 bytes may be written at both, at any alignment.
        unsafe {
            let halves = _mm256_permute4x64_epi64::<0b11_01_10_00>(self);
            _mm_storeu_si128(lower.cast(), _mm256_castsi256_si128(halves));
            _mm_storeu_si128(upper.cast(), _mm256_extracti128_si256::<1>(halves));
        }
    }

    /// 3 and 16 have no common factor, so in a lane each place takes each of the three vectors in
    /// one of the three results: one shuffle a vector, and blends.
    #[inline(always)]
    unsafe fn store_3(vectors: [Self; 3], to: *mut u8) {
        let [a, b, c] = vectors;
        // SAFETY: the caller has the instructions, and 96 bytes may be written at `to`.
        unsafe {
            let a = _mm256_shuffle_epi8(a, twice(&THIRDS[0]));
            let b = _mm256_shuffle_epi8(b, twice(&THIRDS[1]));
            let c = _mm256_shuffle_epi8(c, twice(&THIRDS[2]));
            let (one, two) = (twice(&EVERY_THIRD[0]), twice(&EVERY_THIRD[1]));
            let first = _mm256_blendv_epi8(_mm256_blendv_epi8(a, b, one), c, two);
            let second = _mm256_blendv_epi8(_mm256_blendv_epi8(b, c, one), a, two);
            let third = _mm256_blendv_epi8(_mm256_blendv_epi8(c, a, one), b, two);
            _mm256_permute2x128_si256::<0x20>(first, second).store(to);
            _mm256_permute2x128_si256::<0x30>(third, first).store(to.add(32));
            _mm256_permute2x128_si256::<0x31>(second, third).store(to.add(64));
        }
    }

    instructions! {
        add16(other) = _mm256_add_epi16;
        sub16(other) = _mm256_sub_epi16;
        mul16_high(other) = _mm256_mulhi_epi16;
        mul_add(other) = _mm256_madd_epi16;
        add32(other) = _mm256_add_epi32;
        sub32(other) = _mm256_sub_epi32;
        xor(other) = _mm256_xor_si256;
        or(other) = _mm256_or_si256;
        narrow32(other) = _mm256_packs_epi32;
        narrow16(other) = _mm256_packs_epi16;
        narrow16_unsigned(other) = _mm256_packus_epi16;
        lo8(other) = _mm256_unpacklo_epi8;
        hi8(other) = _mm256_unpackhi_epi8;
        lo16(other) = _mm256_unpacklo_epi16;
        hi16(other) = _mm256_unpackhi_epi16;
        lo32(other) = _mm256_unpacklo_epi32;
        hi32(other) = _mm256_unpackhi_epi32;
        lo64(other) = _mm256_unpacklo_epi64;
        hi64(other) = _mm256_unpackhi_epi64;
    }

    shifts! {
        sra32 = _mm256_sra_epi32;
        sra16 = _mm256_sra_epi16;
        srl16 = _mm256_srl_epi16;
        sll16 = _mm256_sll_epi16;
    }
}

/// Eight dequantised coefficients in zig-zag order after another, of two blocks.
///
/// # Safety
/// The processor has AVX2; 128 words can be read at `blocks`, and 64 at `quant`.
#[inline(always)]
unsafe fn octets(blocks: *const i16, quant: *const u16) -> [__m256i; 8] {
    let mut octets = [zeros(); 8];
    for (k, it) in octets.iter_mut().enumerate() {
        // SAFETY: the caller has AVX2 and all these words; k is below 8.
        *it = unsafe { octet(blocks, quant, k) };
    }
    octets
}

/// Those from the `8 * k`-th on.
///
/// # Safety
/// The processor has AVX2; 128 words can be read at `blocks`, and 64 at `quant`; `k` is below 8.
#[inline(always)]
unsafe fn octet(blocks: *const i16, quant: *const u16, k: usize) -> __m256i {
    // SAFETY: the caller has AVX2, 128 words at `blocks` and 64 at `quant`; k is below 8.
    unsafe {
        let factors = _mm256_broadcastsi128_si256(_mm_loadu_si128(quant.add(8 * k).cast()));
        let words = _mm256_loadu2_m128i(blocks.add(64 + 8 * k).cast(), blocks.add(8 * k).cast());
        _mm256_mullo_epi16(words, factors)
    }
}

/// Row `R` of two blocks.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn row<const R: usize>(octets: &[__m256i; 8]) -> __m256i {
    let mut words = zeros();
    for (octet, places) in octets.iter().zip(&const { PICKS[R] }) {
        if let Some(places) = places {
            // SAFETY: the caller has AVX2.
            words = unsafe { _mm256_or_si256(words, _mm256_shuffle_epi8(*octet, twice(places))) };
        }
    }
    words
}

/// One vector of [`Words::corner`], of the first octets of two blocks.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn corner_of_two<const WHICH: usize>(octets: &[__m256i; 2]) -> __m256i {
    let [first, second] = &const { CORNER_PICKS[WHICH] };
    // SAFETY: the caller has AVX2.
    unsafe {
        let first = _mm256_shuffle_epi8(octets[0], twice(first));
        _mm256_or_si256(first, _mm256_shuffle_epi8(octets[1], twice(second)))
    }
}

/// A vector of zeros.
#[inline(always)]
fn zeros() -> __m256i {
    // SAFETY: all bits of a vector may be 0.
    unsafe { std::mem::zeroed() }
}

/// The same 16 bytes in both lanes.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn twice(bytes: &[u8; 16]) -> __m256i {
    // SAFETY: the caller has AVX2; the bytes are there.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes.as_ptr().cast())) }
}

/// Of each row the bytes that it takes of each octet (128: none), where it takes any.
static PICKS: [[Option<[u8; 16]>; 8]; 8] = picks();

const fn picks() -> [[Option<[u8; 16]>; 8]; 8] {
    let mut picks = [[None; 8]; 8];
    let mut at = 0;
    while at < 64 {
        let (place, col) = (PLACE[at] as usize, at % 8);
        let pick = &mut picks[at / 8][place / 8];
        let mut bytes = match *pick {
            Some(bytes) => bytes,
            None => [128; 16],
        };
        bytes[2 * col] = 2 * (place % 8) as u8;
        bytes[2 * col + 1] = bytes[2 * col] + 1;
        *pick = Some(bytes);
        at += 1;
    }
    picks
}

/// Of each vector of [`Words::corner`] the bytes that it takes of the first two octets (128: none).
static CORNER_PICKS: [[[u8; 16]; 2]; 2] = {
    let mut picks = [[[128; 16]; 2]; 2];
    let mut at = 0;
    while at < 16 {
        if let Some(place) = CORNER_PLACES[at / 8][at % 8] {
            let bytes = &mut picks[at / 8][place as usize / 8];
            bytes[2 * (at % 8)] = 2 * (place % 8);
            bytes[2 * (at % 8) + 1] = 2 * (place % 8) + 1;
        }
        at += 1;
    }
    picks
};

/// At each place of a lane the byte that goes there of the first, second and third vector.
static THIRDS: [[u8; 16]; 3] = thirds();

const fn thirds() -> [[u8; 16]; 3] {
    let mut thirds = [[0; 16]; 3];
    let mut at = 0;
    while at < 48 {
        thirds[at % 3][at % 16] = (at / 3) as u8;
        at += 1;
    }
    thirds
}

/// Marks the places 1, 4, 7 … and 2, 5, 8 ….
static EVERY_THIRD: [[u8; 16]; 2] = [
    [0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0],
    [0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0],
];

impl Words for __m512i {
    const LANES: usize = 4;

    bodies! {
        fn zero() -> Self = _mm512_setzero_si512();
        fn splat16(word: i16) -> Self = _mm512_set1_epi16(word);
        fn splat32(word: i32) -> Self = _mm512_set1_epi32(word);
        fn load(from: *const u8) -> Self = _mm512_loadu_si512(from.cast());
        fn load_wide(from: *const u8) -> Self =
            _mm512_cvtepu8_epi16(_mm256_loadu_si256(from.cast()));
        fn rows(blocks: *const i16, quant: *const u16) -> [Self; 8] = {
            let [a, b, c, d] = [
                halves(blocks, quant),
                halves(blocks.add(64), quant),
                halves(blocks.add(128), quant),
                halves(blocks.add(192), quant),
            ];
            let [r0, r1, r2, r3] = lanes_across([a[0], b[0], c[0], d[0]]);
            let [r4, r5, r6, r7] = lanes_across([a[1], b[1], c[1], d[1]]);
            [r0, r1, r2, r3, r4, r5, r6, r7]
        };
        fn corner(blocks: *const i16, quant: *const u16) -> [Self; 2] = {
            let (a, b) = (corner_of_one(blocks, quant), corner_of_one(blocks.add(64), quant));
            let (c, d) =
                (corner_of_one(blocks.add(128), quant), corner_of_one(blocks.add(192), quant));
            let ab = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b);
            let cd = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(c), d);
            [_mm512_shuffle_i32x4::<0x88>(ab, cd), _mm512_shuffle_i32x4::<0xdd>(ab, cd)]
        };
    }

    #[inline(always)]
    unsafe fn mul_add_to(self, by: Self, sum: Self) -> Self {
        // SAFETY: the caller has the instructions.
        unsafe { _mm512_dpwssd_epi32(sum, self, by) }
    }

    #[inline(always)]
    unsafe fn is_zero(self) -> bool {
        // SAFETY: the caller has the instructions; see `Words`.
        unsafe { _mm512_test_epi32_mask(self, self) == 0 }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: 64 bytes may be written at `to`, at any alignment.
        unsafe { _mm512_storeu_si512(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn store_halves(self, lower: *mut u8, upper: *mut u8) {
        // SAFETY: 32 bytes may be written at both, at any alignment.
        unsafe {
            let order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
            let halves = _mm512_permutexvar_epi64(order, self);
            _mm256_storeu_si256(lower.cast(), _mm512_castsi512_si256(halves));
            _mm256_storeu_si256(upper.cast(), _mm512_extracti64x4_epi64::<1>(halves));
        }
    }

    #[inline(always)]
    unsafe fn store_3(vectors: [Self; 3], to: *mut u8) {
        let [a, b, c] = vectors;
        for (i, (order, last)) in ORDER_3.iter().enumerate() {
            // SAFETY: the caller has the instructions, and 192 bytes may be written at `to`.
            unsafe {
                let order = Self::load(order.as_ptr());
                let two = _mm512_permutex2var_epi8(a, order, b);
                _mm512_mask_permutexvar_epi8(two, *last, order, c).store(to.add(64 * i));
            }
        }
    }

    instructions! {
        add16(other) = _mm512_add_epi16;
        sub16(other) = _mm512_sub_epi16;
        mul16_high(other) = _mm512_mulhi_epi16;
        mul_add(other) = _mm512_madd_epi16;
        add32(other) = _mm512_add_epi32;
        sub32(other) = _mm512_sub_epi32;
        xor(other) = _mm512_xor_si512;
        or(other) = _mm512_or_si512;
        narrow32(other) = _mm512_packs_epi32;
        narrow16(other) = _mm512_packs_epi16;
        narrow16_unsigned(other) = _mm512_packus_epi16;
        lo8(other) = _mm512_unpacklo_epi8;
        hi8(other) = _mm512_unpackhi_epi8;
        lo16(other) = _mm512_unpacklo_epi16;
        hi16(other) = _mm512_unpackhi_epi16;
        lo32(other) = _mm512_unpacklo_epi32;
        hi32(other) = _mm512_unpackhi_epi32;
        lo64(other) = _mm512_unpacklo_epi64;
        hi64(other) = _mm512_unpackhi_epi64;
    }

    shifts! {
        sra32 = _mm512_sra_epi32;
        sra16 = _mm512_sra_epi16;
        srl16 = _mm512_srl_epi16;
        sll16 = _mm512_sll_epi16;
    }
}

/// What [`Words::corner`] gives of one block.
///
/// # Safety
/// The processor has AVX-512 VL and VBMI; 16 words can be read at both pointers.
#[inline(always)]
unsafe fn corner_of_one(block: *const i16, quant: *const u16) -> __m256i {
    // SAFETY: the caller has the instructions, and 16 words at both pointers.
    unsafe {
        let (words, factors) = (__m256i::load(block.cast()), __m256i::load(quant.cast()));
        let order = __m256i::load(CORNER_BYTES.0.as_ptr());
        _mm256_maskz_permutexvar_epi8(CORNER_BYTES.1, order, _mm256_mullo_epi16(words, factors))
    }
}

/// The bytes of the first 16 coefficients that it takes, and a mask of those that it takes.
static CORNER_BYTES: ([u8; 32], u32) = {
    let (mut bytes, mut mask) = ([0; 32], 0);
    let mut at = 0;
    while at < 16 {
        if let Some(place) = CORNER_PLACES[at / 8][at % 8] {
            (bytes[2 * at], bytes[2 * at + 1]) = (2 * place, 2 * place + 1);
            mask |= 3 << (2 * at);
        }
        at += 1;
    }
    (bytes, mask)
};

/// A block's dequantised rows 0 to 3 and 4 to 7.
///
/// # Safety
/// The processor has AVX-512 F and BW; 64 words can be read at both pointers.
#[inline(always)]
unsafe fn halves(block: *const i16, quant: *const u16) -> [__m512i; 2] {
    // SAFETY: the caller has the instructions, and 64 words at both pointers.
    unsafe {
        let first = _mm512_mullo_epi16(__m512i::load(block.cast()), __m512i::load(quant.cast()));
        let last = __m512i::load(block.add(32).cast());
        let last = _mm512_mullo_epi16(last, __m512i::load(quant.add(32).cast()));
        let pick = |half: usize| __m512i::load(PICK_WORDS[half].as_ptr().cast());
        [
            _mm512_permutex2var_epi16(first, pick(0), last),
            _mm512_permutex2var_epi16(first, pick(1), last),
        ]
    }
}

/// Lane i of vector j becomes lane j of vector i.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn lanes_across(vectors: [__m512i; 4]) -> [__m512i; 4] {
    let [a, b, c, d] = vectors;
    // SAFETY: the caller has the instructions.
    unsafe {
        let (ab_low, ab_high) =
            (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xee>(a, b));
        let (cd_low, cd_high) =
            (_mm512_shuffle_i32x4::<0x44>(c, d), _mm512_shuffle_i32x4::<0xee>(c, d));
        [
            _mm512_shuffle_i32x4::<0x88>(ab_low, cd_low),
            _mm512_shuffle_i32x4::<0xdd>(ab_low, cd_low),
            _mm512_shuffle_i32x4::<0x88>(ab_high, cd_high),
            _mm512_shuffle_i32x4::<0xdd>(ab_high, cd_high),
        ]
    }
}

/// The zig-zag places of the words of rows 0 to 3 and 4 to 7.
static PICK_WORDS: [[u16; 32]; 2] = {
    let mut words = [[0; 32]; 2];
    let mut at = 0;
    while at < 64 {
        words[at / 32][at % 32] = PLACE[at] as u16;
        at += 1;
    }
    words
};

/// For each 64 bytes of an interleaved 192: the byte of the first (from 0) or second (from 64)
/// vector, and a mask of those that the third one gives.
static ORDER_3: [([u8; 64], u64); 3] = {
    let mut order = [([0; 64], 0); 3];
    let mut at = 0;
    while at < 192 {
        let (bytes, last) = &mut order[at / 64];
        bytes[at % 64] = (at / 3 + if at % 3 == 1 { 64 } else { 0 }) as u8;
        if at % 3 == 2 {
            *last |= 1 << (at % 64);
        }
        at += 1;
    }
    order
};
