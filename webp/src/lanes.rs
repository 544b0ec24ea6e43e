//! What the loop filter asks of a processor: vectors of 16 bytes.

/// Sixteen bytes, with or without a sign.
pub(crate) trait Lanes: Copy {
    fn load(bytes: &[u8; 16]) -> Self;
    fn store(self) -> [u8; 16];
    fn from_halves(halves: [[u8; 8]; 2]) -> Self;
    fn halves(self) -> [[u8; 8]; 2];
    fn from_quarters(quarters: [[u8; 4]; 4]) -> Self;
    fn quarters(self) -> [[u8; 4]; 4];
    fn splat(byte: u8) -> Self;
    /// Sums without a sign, 255 at most.
    fn plus(self, by: Self) -> Self;
    /// Differences without a sign, 0 at least.
    fn minus(self, by: Self) -> Self;
    /// Sums with a sign, from -128 to 127.
    fn plus_signed(self, by: Self) -> Self;
    /// Differences with a sign, from -128 to 127.
    fn minus_signed(self, by: Self) -> Self;
    /// Differences that wrap.
    fn minus_wrapping(self, by: Self) -> Self;
    /// The rounded mean without a sign: (a + b + 1) / 2.
    fn mean(self, with: Self) -> Self;
    /// The greater one, without a sign.
    fn greater(self, than: Self) -> Self;
    fn and(self, with: Self) -> Self;
    /// The bits of `self` that `mask` has not.
    fn without(self, mask: Self) -> Self;
    fn or(self, with: Self) -> Self;
    fn xor(self, with: Self) -> Self;
    /// All bits of the bytes that are 0.
    fn is_zero(self) -> Self;
    /// Bytes divided by 8, without a sign.
    fn eighth(self) -> Self;
    /// (`self` * 27 + 63) / 128, * 18, and * 9, with signs and the quotient rounded down.
    fn taps(self) -> [Self; 3];
    /// The lower eight bytes of both in turn.
    fn low(self, with: Self) -> Self;
    /// The upper eight bytes of both in turn.
    fn high(self, with: Self) -> Self;
}

/// Vectors without instructions that the code names.
#[derive(Clone, Copy)]
pub(crate) struct Plain([u8; 16]);

impl Plain {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(u8, u8) -> u8) -> Self {
        let mut to = [0; 16];
        for ((to, a), b) in to.iter_mut().zip(self.0).zip(other.0) {
            *to = f(a, b);
        }
        Self(to)
    }

    #[inline(always)]
    fn map(self, f: impl Fn(u8) -> u8) -> Self {
        Self(self.0.map(f))
    }
}

impl Lanes for Plain {
    #[inline(always)]
    fn load(bytes: &[u8; 16]) -> Self {
        Self(*bytes)
    }
    #[inline(always)]
    fn store(self) -> [u8; 16] {
        self.0
    }
    #[inline(always)]
    fn from_halves(halves: [[u8; 8]; 2]) -> Self {
        Self(std::array::from_fn(|i| halves[i / 8][i % 8]))
    }
    #[inline(always)]
    fn halves(self) -> [[u8; 8]; 2] {
        [0, 8].map(|start| std::array::from_fn(|i| self.0[start + i]))
    }
    #[inline(always)]
    fn from_quarters(quarters: [[u8; 4]; 4]) -> Self {
        Self(std::array::from_fn(|i| quarters[i / 4][i % 4]))
    }
    #[inline(always)]
    fn quarters(self) -> [[u8; 4]; 4] {
        [0, 4, 8, 12].map(|start| std::array::from_fn(|i| self.0[start + i]))
    }
    #[inline(always)]
    fn splat(byte: u8) -> Self {
        Self([byte; 16])
    }
    #[inline(always)]
    fn plus(self, by: Self) -> Self {
        self.zip(by, u8::saturating_add)
    }
    #[inline(always)]
    fn minus(self, by: Self) -> Self {
        self.zip(by, u8::saturating_sub)
    }
    #[inline(always)]
    fn plus_signed(self, by: Self) -> Self {
        self.zip(by, |a, b| (a as i8).saturating_add(b as i8) as u8)
    }
    #[inline(always)]
    fn minus_signed(self, by: Self) -> Self {
        self.zip(by, |a, b| (a as i8).saturating_sub(b as i8) as u8)
    }
    #[inline(always)]
    fn minus_wrapping(self, by: Self) -> Self {
        self.zip(by, u8::wrapping_sub)
    }
    #[inline(always)]
    fn mean(self, with: Self) -> Self {
        self.zip(with, |a, b| (u16::from(a) + u16::from(b)).div_ceil(2) as u8)
    }
    #[inline(always)]
    fn greater(self, than: Self) -> Self {
        self.zip(than, u8::max)
    }
    #[inline(always)]
    fn and(self, with: Self) -> Self {
        self.zip(with, |a, b| a & b)
    }
    #[inline(always)]
    fn without(self, mask: Self) -> Self {
        self.zip(mask, |a, b| a & !b)
    }
    #[inline(always)]
    fn or(self, with: Self) -> Self {
        self.zip(with, |a, b| a | b)
    }
    #[inline(always)]
    fn xor(self, with: Self) -> Self {
        self.zip(with, |a, b| a ^ b)
    }
    #[inline(always)]
    fn is_zero(self) -> Self {
        self.map(|it| if it == 0 { u8::MAX } else { 0 })
    }
    #[inline(always)]
    fn eighth(self) -> Self {
        self.map(|it| it >> 3)
    }
    #[inline(always)]
    fn taps(self) -> [Self; 3] {
        [27, 18, 9].map(|by| self.map(|it| ((i16::from(it as i8) * by + 63) >> 7) as u8))
    }
    #[inline(always)]
    fn low(self, with: Self) -> Self {
        Self(std::array::from_fn(|i| if i % 2 == 0 { self.0[i / 2] } else { with.0[i / 2] }))
    }
    #[inline(always)]
    fn high(self, with: Self) -> Self {
        Self(std::array::from_fn(
            |i| if i % 2 == 0 { self.0[8 + i / 2] } else { with.0[8 + i / 2] },
        ))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;

    /// Calls instructions of SSE2.
    macro_rules! sse2 {
        ($calls:expr) => {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { $calls }
        };
    }

    /// With SSE2, which is part of x86-64.
    impl Lanes for __m128i {
        #[inline(always)]
        fn load(bytes: &[u8; 16]) -> Self {
            // SAFETY: 16 bytes are read, of 16.
            unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
        }
        #[inline(always)]
        fn store(self) -> [u8; 16] {
            let mut bytes = [0; 16];
            // SAFETY: 16 bytes are written, of 16.
            unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), self) };
            bytes
        }
        #[inline(always)]
        fn from_halves(halves: [[u8; 8]; 2]) -> Self {
            let [low, high] = halves.map(i64::from_le_bytes);
            sse2!(_mm_set_epi64x(high, low))
        }
        #[inline(always)]
        fn halves(self) -> [[u8; 8]; 2] {
            let high = sse2!(_mm_unpackhi_epi64(self, self));
            [self, high].map(|it| sse2!(_mm_cvtsi128_si64(it)).to_le_bytes())
        }
        #[inline(always)]
        fn from_quarters(quarters: [[u8; 4]; 4]) -> Self {
            let [a, b, c, d] = quarters.map(i32::from_le_bytes);
            sse2!(_mm_set_epi32(d, c, b, a))
        }
        #[inline(always)]
        fn quarters(self) -> [[u8; 4]; 4] {
            let quarters = sse2!([
                self,
                _mm_srli_si128::<4>(self),
                _mm_srli_si128::<8>(self),
                _mm_srli_si128::<12>(self),
            ]);
            quarters.map(|it| sse2!(_mm_cvtsi128_si32(it)).to_le_bytes())
        }
        #[inline(always)]
        fn splat(byte: u8) -> Self {
            sse2!(_mm_set1_epi8(byte as i8))
        }
        #[inline(always)]
        fn plus(self, by: Self) -> Self {
            sse2!(_mm_adds_epu8(self, by))
        }
        #[inline(always)]
        fn minus(self, by: Self) -> Self {
            sse2!(_mm_subs_epu8(self, by))
        }
        #[inline(always)]
        fn plus_signed(self, by: Self) -> Self {
            sse2!(_mm_adds_epi8(self, by))
        }
        #[inline(always)]
        fn minus_signed(self, by: Self) -> Self {
            sse2!(_mm_subs_epi8(self, by))
        }
        #[inline(always)]
        fn minus_wrapping(self, by: Self) -> Self {
            sse2!(_mm_sub_epi8(self, by))
        }
        #[inline(always)]
        fn mean(self, with: Self) -> Self {
            sse2!(_mm_avg_epu8(self, with))
        }
        #[inline(always)]
        fn greater(self, than: Self) -> Self {
            sse2!(_mm_max_epu8(self, than))
        }
        #[inline(always)]
        fn and(self, with: Self) -> Self {
            sse2!(_mm_and_si128(self, with))
        }
        #[inline(always)]
        fn without(self, mask: Self) -> Self {
            sse2!(_mm_andnot_si128(mask, self))
        }
        #[inline(always)]
        fn or(self, with: Self) -> Self {
            sse2!(_mm_or_si128(self, with))
        }
        #[inline(always)]
        fn xor(self, with: Self) -> Self {
            sse2!(_mm_xor_si128(self, with))
        }
        #[inline(always)]
        fn is_zero(self) -> Self {
            sse2!(_mm_cmpeq_epi8(self, _mm_setzero_si128()))
        }
        #[inline(always)]
        fn eighth(self) -> Self {
            sse2!(_mm_and_si128(_mm_srli_epi16::<3>(self), _mm_set1_epi8(0x1F)))
        }
        #[inline(always)]
        fn taps(self) -> [Self; 3] {
            // A byte in the upper half of a word, times 9 there: the upper half of the product.
            sse2!({
                let (zero, nine) = (_mm_setzero_si128(), _mm_set1_epi16(9 << 8));
                let wide = [_mm_unpacklo_epi8(zero, self), _mm_unpackhi_epi8(zero, self)];
                let nines = wide.map(|it| _mm_mulhi_epi16(it, nine));
                let first = nines.map(|it| _mm_add_epi16(it, _mm_set1_epi16(63)));
                let second = [0, 1].map(|i| _mm_add_epi16(first[i], nines[i]));
                let third = [0, 1].map(|i| _mm_add_epi16(second[i], nines[i]));
                [third, second, first].map(|it| {
                    let [low, high] = it.map(|it| _mm_srai_epi16::<7>(it));
                    _mm_packs_epi16(low, high)
                })
            })
        }
        #[inline(always)]
        fn low(self, with: Self) -> Self {
            sse2!(_mm_unpacklo_epi8(self, with))
        }
        #[inline(always)]
        fn high(self, with: Self) -> Self {
            sse2!(_mm_unpackhi_epi8(self, with))
        }
    }
}
