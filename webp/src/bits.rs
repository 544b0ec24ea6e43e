//! The boolean entropy decoder (RFC 6386, section 7).

/// Keeps the compiler from making one case of two; each has another `$name`.
macro_rules! keep_branch {
    ($name:literal) => {
        #[cfg(not(miri))]
        // SAFETY: there is nothing in it but a comment.
        unsafe {
            std::arch::asm!(concat!("/* ", $name, " */"), options(nomem, nostack, preserves_flags));
        }
    };
}

/// A reader of booleans, each of which has a probability.
///
/// `value` holds the code that was not used yet, from its top bit on; `spare` says how many bits
/// of it there are beyond the eight that the next boolean needs. A negative number means that
/// bytes must be loaded first.
#[derive(Clone, Copy)]
pub(crate) struct Bits<'a> {
    value: u64,
    /// 128 to 255 between two booleans.
    range: u32,
    spare: i32,
    rest: &'a [u8],
    is_wrong: bool,
}

impl<'a> Bits<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        // The code of an encoder lies below its first range, of 255: no other can be told from one that has
        // lost its beginning, and arithmetic would overflow.
        let is_wrong = bytes.first() == Some(&0xFF);
        Self { value: 0, range: 255, spare: -8, rest: bytes, is_wrong }
    }

    /// Whether a boolean was read that lies beyond the bytes (libwebp's criterion), or the bytes are no code.
    pub(crate) fn is_wrong(&self) -> bool {
        self.is_wrong
    }

    /// A boolean that is `false` with a probability of `prob / 256`.
    ///
    /// What comes next is often guessed right, and `range` is then known before `value` is: so both cases
    /// are a branch of their own to the end.
    #[inline(always)]
    pub(crate) fn bool(&mut self, prob: u8) -> bool {
        if self.spare < 0 {
            self.load();
        }
        let (split, scaled) = self.split(prob);
        let limit = u64::from(split) << 56;
        if self.value >= limit {
            self.value -= limit;
            let range = self.range - split;
            self.normalize(range, range.leading_zeros() & 7);
            keep_branch!("set");
            true
        } else {
            self.normalize(split, scaled.leading_zeros() & 7);
            keep_branch!("not set");
            false
        }
    }

    /// `bool` as a number, without a branch: of bits of which nobody could guess what they are.
    #[inline(always)]
    pub(crate) fn bit(&mut self, prob: u8) -> u32 {
        if self.spare < 0 {
            self.load();
        }
        let (split, _) = self.split(prob);
        let limit = u64::from(split) << 56;
        let is_set = self.value >= limit;
        self.value -= if is_set { limit } else { 0 };
        let range = if is_set { self.range - split } else { split };
        self.normalize(range, range.leading_zeros() & 7);
        u32::from(is_set)
    }

    /// `value` or `-value`, both as probable, without a branch. It is not the first to be read.
    #[inline(always)]
    pub(crate) fn signed(&mut self, value: i32) -> i32 {
        if self.spare < 0 {
            self.load();
        }
        // 255 is the range of the first boolean alone: what is left is 64 to 127, of 1 bit less.
        debug_assert!(self.range < 255);
        let limit = u64::from((self.range + 1) >> 1) << 56;
        let is_set = self.value >= limit;
        let mask = -i32::from(is_set);
        self.value = (self.value - (limit & i64::from(mask) as u64)) << 1;
        self.range = (self.range + u32::from(!is_set)) & !1;
        self.spare -= 1;
        (value ^ mask) - mask
    }

    /// The part of the range that stands for `false`, 1 + (range - 1) * prob / 256, and that times 256.
    #[inline(always)]
    fn split(&self, prob: u8) -> (u32, u32) {
        let scaled = self.range * u32::from(prob) + (256 - u32::from(prob));
        (scaled >> 8, scaled)
    }

    #[inline(always)]
    fn normalize(&mut self, range: u32, shift: u32) {
        self.range = range << shift;
        self.value <<= shift;
        self.spare -= shift as i32;
    }

    /// A number of `n` bits, the highest first.
    pub(crate) fn number(&mut self, n: u32) -> u32 {
        (0..n).fold(0, |number, _| number << 1 | self.bit(128))
    }

    /// A number of `n` bits, and its sign.
    pub(crate) fn signed_number(&mut self, n: u32) -> i32 {
        let number = self.number(n) as i32;
        if self.flag() { -number } else { number }
    }

    /// A boolean that is as often true as false.
    pub(crate) fn flag(&mut self) -> bool {
        self.bool(128)
    }

    /// A number of `n` bits with a sign if a flag says that it is there, otherwise 0.
    pub(crate) fn optional_signed(&mut self, n: u32) -> i32 {
        if self.flag() { self.signed_number(n) } else { 0 }
    }

    #[inline(always)]
    fn load(&mut self) {
        if let Some(next) = self.rest.first_chunk::<8>() {
            let seven = u64::from_be_bytes(*next) >> 8;
            self.value |= seven << -self.spare;
            self.spare += 56;
            self.rest = &self.rest[7..];
        } else {
            *self = self.load_last();
        }
    }

    /// The last bytes one by one; then zeros. By value, so that the reader is in registers everywhere else.
    #[cold]
    #[inline(never)]
    fn load_last(mut self) -> Self {
        match self.rest.split_first() {
            Some((&byte, rest)) => {
                self.value |= u64::from(byte) << (48 - self.spare);
                self.rest = rest;
            }
            None => self.is_wrong = true,
        }
        self.spare += 8;
        self
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The encoder of RFC 6386, section 7.3.
    pub(crate) struct Writer {
        bytes: Vec<u8>,
        range: u32,
        bottom: u32,
        left: u32,
    }

    impl Writer {
        pub(crate) fn new() -> Self {
            Self { bytes: Vec::new(), range: 255, bottom: 0, left: 24 }
        }

        pub(crate) fn bool(&mut self, prob: u8, is_set: bool) {
            let split = 1 + (((self.range - 1) * u32::from(prob)) >> 8);
            if is_set {
                self.bottom += split;
                self.range -= split;
            } else {
                self.range = split;
            }
            while self.range < 128 {
                self.range <<= 1;
                if self.bottom & 1 << 31 != 0 {
                    self.carry();
                }
                self.bottom <<= 1;
                self.left -= 1;
                if self.left == 0 {
                    self.bytes.push((self.bottom >> 24) as u8);
                    self.bottom &= (1 << 24) - 1;
                    self.left = 8;
                }
            }
        }

        fn carry(&mut self) {
            for byte in self.bytes.iter_mut().rev() {
                *byte = byte.wrapping_add(1);
                if *byte != 0 {
                    break;
                }
            }
        }

        pub(crate) fn finish(mut self) -> Vec<u8> {
            for _ in 0..32 {
                self.bool(128, false);
            }
            self.bytes
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let mut state = 1_u32;
        let mut draw = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        let all: Vec<(u8, bool)> = (0..if cfg!(miri) { 500 } else { 20_000 })
            .map(|_| {
                let prob = (draw() % 255 + 1) as u8;
                (prob, draw() % 256 >= u32::from(prob))
            })
            .collect();
        let mut writer = Writer::new();
        all.iter().for_each(|&(prob, is_set)| writer.bool(prob, is_set));
        let bytes = writer.finish();
        let mut bits = Bits::new(&bytes);
        for (i, &(prob, is_set)) in all.iter().enumerate() {
            let found = match i % 3 {
                0 if prob == 128 && i > 0 => bits.signed(1) < 0,
                1 => bits.bit(prob) == 1,
                _ => bits.bool(prob),
            };
            assert_eq!(found, is_set, "boolean {i}");
        }
        assert!(!bits.is_wrong());
    }

    #[test]
    fn beyond_the_end_are_zeros() {
        for len in 0..20 {
            let bytes = vec![0xFE; len];
            let mut bits = Bits::new(&bytes);
            let n = (0..1_000).take_while(|_| {
                bits.bool(128);
                !bits.is_wrong()
            });
            // Eight bits must be there to read one.
            assert_eq!(n.count(), (8 * len).saturating_sub(7), "{len} bytes");
        }
    }
}
