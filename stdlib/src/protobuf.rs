//! Messages of protocol buffers (<https://protobuf.dev/programming-guides/encoding>), skimmed where they lie.

use runtime::Fault;

/// The fields of a message in the order in which they were written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    rest: &'a [u8],
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A number of variable length.
    Varint(u64),
    /// Four bytes, little endian.
    Fixed32([u8; 4]),
    /// Eight bytes, little endian.
    Fixed64([u8; 8]),
    /// Text, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Message<'a> {
    /// The message that these bytes are.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field and its number; none at the end.
    ///
    /// # Errors
    /// `example-syntax`: the bytes are no message.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>, Fault> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = varint(&mut self.rest)?;
        let value = match tag & 7 {
            0 => Value::Varint(varint(&mut self.rest)?),
            1 => Value::Fixed64(*self.array()?),
            2 => {
                let len = usize::try_from(varint(&mut self.rest)?).map_err(|_| cut_off())?;
                Value::Bytes(self.take(len)?)
            }
            5 => Value::Fixed32(*self.array()?),
            other => {
                return Err(syntax(format!("a field has the unknown wire type {other}")));
            }
        };
        match tag >> 3 {
            0 => Err(syntax("a field has the number 0".to_owned())),
            number => Ok(Some((number, value))),
        }
    }

    /// The messages, texts or packed numbers of the fields of this number, each handed to `visit`.
    ///
    /// # Errors
    /// Those of [`Message::next`] and of `visit`.
    pub(crate) fn each(
        mut self,
        number: u64,
        mut visit: impl FnMut(&'a [u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        while let Some((found, value)) = self.next()? {
            if let Value::Bytes(it) = value
                && found == number
            {
                visit(it)?;
            }
        }
        Ok(())
    }

    /// What its field of this number, below 16, holds, where it has that field alone, and once.
    #[inline]
    pub(crate) fn only(mut self, number: u8) -> Option<&'a [u8]> {
        self.next_bytes(number).filter(|_| self.rest.is_empty())
    }

    /// Takes the next field where it holds bytes and is of this number, below 16, laid out as every writer does it; none
    /// where it is not, and then nothing is taken.
    #[inline(always)]
    pub(crate) fn next_bytes(&mut self, number: u8) -> Option<&'a [u8]> {
        let (tag, mut rest) = self.rest.split_first()?;
        if *tag != number << 3 | 2 {
            return None;
        }
        let len = usize::try_from(varint(&mut rest).ok()?).ok()?;
        let (taken, rest) = rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    /// Whether nothing follows.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Fault> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// Takes a number of variable length off the front.
///
/// # Errors
/// `example-syntax`: it has more than 64 bits, or no end.
#[inline]
pub(crate) fn varint(rest: &mut &[u8]) -> Result<u64, Fault> {
    match *rest {
        [one @ ..0x80, others @ ..] => {
            *rest = others;
            Ok(u64::from(*one))
        }
        [low, high @ ..0x80, others @ ..] => {
            *rest = others;
            Ok(u64::from(low & 0x7f) | u64::from(*high) << 7)
        }
        _ => longer_varint(rest),
    }
}

/// The same of any number of bytes.
fn longer_varint(rest: &mut &[u8]) -> Result<u64, Fault> {
    let mut value = 0;
    for (i, byte) in rest.iter().take(10).enumerate() {
        // The tenth byte has the highest bit alone.
        if i == 9 && *byte > 1 {
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            *rest = &rest[i + 1..];
            return Ok(value);
        }
    }
    let why =
        if rest.len() < 10 { "a number is truncated" } else { "a number has more than 64 bits" };
    Err(syntax(why.to_owned()))
}

/// How many numbers there are in a row of them: each ends with a byte below 128.
#[inline]
pub(crate) fn count_packed(packed: &[u8]) -> usize {
    if packed.len() <= SHORT {
        let (words, rest) = packed.as_chunks();
        let ends = |word: &[u8; 8]| (!u64::from_le_bytes(*word) & LAST).count_ones() as usize;
        let others = rest.iter().filter(|it| **it < 0x80).count();
        return words.iter().map(ends).sum::<usize>() + others;
    }
    // Sums of bytes, so that many are counted at a time.
    let ends = |some: &[u8]| some.iter().map(|it| u8::from(*it < 0x80)).sum::<u8>();
    packed.chunks(255).map(|it| usize::from(ends(it))).sum()
}

/// Bytes of a row of numbers that is counted word by word.
const SHORT: usize = 64;
/// The bits of a word that the last bytes of numbers lack.
const LAST: u64 = 0x8080_8080_8080_8080;

/// Writes the numbers of variable length in a row of them, each as `of` makes it; gives the elements of `to` that are left.
///
/// # Errors
/// `example-syntax`, and those of `of`.
#[inline]
pub(crate) fn unpack<'t, T>(
    packed: &[u8],
    to: &'t mut [T],
    of: impl Fn(u64) -> Result<T, Fault>,
) -> Result<&'t mut [T], Fault> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("ssse3") {
        // SAFETY: the processor has SSSE3.
        return unsafe { in_fours(packed, to, of) };
    }
    unpack_by(packed, to, of, |_, _| None)
}

/// Bytes of a row of numbers that are looked at together, and those behind them that may be read with them.
const BLOCK: usize = 64;
const BEHIND: usize = 16;

/// The same, which takes four numbers of at most three bytes at a time where `four` gives them: those that begin sixteen
/// bytes, of which the bits are the last ones of their numbers.
#[inline(always)]
fn unpack_by<'t, T>(
    packed: &[u8],
    to: &'t mut [T],
    of: impl Fn(u64) -> Result<T, Fault>,
    four: impl Fn(&[u8; BEHIND], u64) -> Option<[u32; 4]>,
) -> Result<&'t mut [T], Fault> {
    let (mut rest, mut n) = (packed, 0);
    while !rest.is_empty() {
        let mut padded = [0; BLOCK + BEHIND];
        let block = rest.first_chunk().unwrap_or_else(|| {
            pad(rest, &mut padded);
            &padded
        });
        let all = ends(block) & u64::MAX >> (BLOCK - rest.len().min(BLOCK));
        if all == 0 {
            longer_varint(&mut rest)?;
        }
        let (mut ends, mut start) = (all, 0);
        let is_short = are_short(all);
        // Where a number begins hangs on the ends alone, not on the number before: several are read at once.
        while ends != 0 {
            let bytes = block[start..].first_chunk().expect("there is as much behind each");
            if is_short && let Some(values) = four(bytes, all >> start) {
                let room = to.get_mut(n..).unwrap_or_default();
                let fourth = (0..3).fold(ends, |it, _| it & it.wrapping_sub(1));
                if fourth != 0
                    && let Some(room) = room.first_chunk_mut::<4>()
                {
                    for (to, it) in room.iter_mut().zip(values) {
                        *to = of(it.into())?;
                    }
                    (start, n) = (fourth.trailing_zeros() as usize + 1, n + 4);
                    ends = fourth & (fourth - 1);
                    continue;
                }
                let count = ends.count_ones().min(4) as usize;
                for (to, it) in room.iter_mut().zip(&values[..count]) {
                    *to = of((*it).into())?;
                }
                let last = if fourth == 0 { ends.ilog2() } else { fourth.trailing_zeros() };
                (start, n) = (last as usize + 1, n + count);
                ends = fourth & fourth.wrapping_sub(1);
                continue;
            }
            let end = ends.trailing_zeros() as usize + 1;
            ends &= ends - 1;
            let value = match end - start {
                len @ ..=8 => {
                    let (eight, _) = bytes.split_first_chunk().expect("it is longer");
                    joined(u64::from_le_bytes(*eight) & u64::MAX >> (64 - 8 * len))
                }
                _ => longer_varint(&mut &block[start..end])?,
            };
            let value = of(value)?;
            if let Some(to) = to.get_mut(n) {
                *to = value;
            }
            (start, n) = (end, n + 1);
        }
        rest = &rest[start..];
    }
    Ok(to.get_mut(n..).unwrap_or_default())
}

/// Whether all numbers that end in a block, of which the bits are the last bytes, have at most three bytes.
#[inline]
fn are_short(ends: u64) -> bool {
    let Some(last) = ends.checked_ilog2() else { return false };
    let others = !ends & ((1 << last) - 1);
    others & others >> 1 & others >> 2 == 0
}

/// Bytes that four numbers of three bytes have.
#[cfg(target_arch = "x86_64")]
const WINDOW: u32 = 12;

/// Where the bytes of each of the four numbers are that begin a row, by which of its first twelve bytes are the last ones of
/// theirs: four places for each, 128 for none. As in "Vectorized VByte Decoding" (Plaisance, Kurz, Lemire 2015).
#[cfg(target_arch = "x86_64")]
static PLACES: [[u8; 16]; 1 << WINDOW] = {
    let mut all = [[0x80; 16]; 1 << WINDOW];
    let mut ends = 0;
    while ends < all.len() {
        let (mut at, mut number) = (0, 0);
        while at < WINDOW && number < 4 {
            let mut byte = 0;
            loop {
                if byte < 4 {
                    all[ends][number * 4 + byte] = at as u8;
                }
                at += 1;
                byte += 1;
                if at == WINDOW || ends >> (at - 1) & 1 == 1 {
                    break;
                }
            }
            number += 1;
        }
        ends += 1;
    }
    all
};

/// [`unpack_by`] with shuffles of sixteen bytes.
///
/// # Safety
/// The processor has SSSE3.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "ssse3")]
unsafe fn in_fours<'t, T>(
    packed: &[u8],
    to: &'t mut [T],
    of: impl Fn(u64) -> Result<T, Fault>,
) -> Result<&'t mut [T], Fault> {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_loadu_si128, _mm_or_si128, _mm_set1_epi32, _mm_shuffle_epi8,
        _mm_srli_epi32,
    };
    // Groups of seven bits, one in each byte, are put together: two of them, then four.
    let bits = |it, mask: i32| _mm_and_si128(it, _mm_set1_epi32(mask));
    unpack_by(packed, to, of, |bytes, ends| {
        let places = &PLACES[ends as usize & ((1 << WINDOW) - 1)];
        // SAFETY: both are sixteen bytes.
        let [bytes, places] =
            [bytes, places].map(|it| unsafe { _mm_loadu_si128(it.as_ptr().cast()) });
        let words = _mm_shuffle_epi8(bytes, places);
        let two =
            _mm_or_si128(bits(words, 0x007f_007f), _mm_srli_epi32::<1>(bits(words, 0x7f00_7f00)));
        let four = _mm_or_si128(bits(two, 0x3fff), _mm_srli_epi32::<2>(bits(two, 0x3fff_0000)));
        // SAFETY: four numbers of four bytes are as many.
        Some(unsafe { std::mem::transmute::<__m128i, [u32; 4]>(four) })
    })
}

/// Copies what is shorter than `to` to its front, word by word.
#[inline]
fn pad(from: &[u8], to: &mut [u8; BLOCK + BEHIND]) {
    let (words, rest) = from.as_chunks::<8>();
    let (to_words, _) = to.as_chunks_mut::<8>();
    to_words.iter_mut().zip(words).for_each(|(to, it)| *to = *it);
    match from.last_chunk::<8>() {
        // The last whole word lies over one that is there already.
        Some(last) => to[from.len() - 8..from.len()].copy_from_slice(last),
        None => to.iter_mut().zip(rest).for_each(|(to, it)| *to = *it),
    }
}

/// Which bytes of a block are the last ones of their numbers: a bit each.
#[cfg(target_arch = "x86_64")]
#[inline]
fn ends(block: &[u8; BLOCK + BEHIND]) -> u64 {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_movemask_epi8};
    let (parts, _) = block[..BLOCK].as_chunks::<16>();
    parts.iter().rev().fold(0, |all, part| {
        // SAFETY: all processors of this architecture have SSE2, and a part is sixteen bytes.
        let mask = unsafe { _mm_movemask_epi8(_mm_loadu_si128(part.as_ptr().cast())) };
        all << 16 | u64::from(!mask as u16)
    })
}

/// Which bytes of a block are the last ones of their numbers: a bit each.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ends(block: &[u8; BLOCK + BEHIND]) -> u64 {
    let (words, _) = block[..BLOCK].as_chunks();
    words.iter().rev().fold(0, |all, word| {
        let lasts = !u64::from_le_bytes(*word) >> 7 & 0x0101_0101_0101_0101;
        // Bit 8 i goes to bit 56 + i; nothing else reaches the highest byte.
        all << 8 | lasts.wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

/// The number that groups of seven bits are, one in each byte: two, four and eight of them are put together.
fn joined(word: u64) -> u64 {
    let seven = word & 0x7f7f_7f7f_7f7f_7f7f;
    let two = (seven & 0x007f_007f_007f_007f) | (seven & 0x7f00_7f00_7f00_7f00) >> 1;
    let four = (two & 0x0000_3fff_0000_3fff) | (two & 0x3fff_0000_3fff_0000) >> 2;
    (four & 0x0fff_ffff) | (four & 0x0fff_ffff_0000_0000) >> 4
}

/// The fault of bytes that are no message.
pub(crate) fn syntax(why: String) -> Fault {
    Fault::new("example-syntax", format!("this is not a protocol buffer message: {why}"))
}

fn cut_off() -> Fault {
    syntax("a field is longer than the remaining bytes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_each_other() {
        // Field 1: 300; field 2: "hi"; field 3: four bytes; field 4: eight bytes.
        let bytes =
            [0x08, 0xac, 0x02, 0x12, 2, b'h', b'i', 0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8];
        let mut message = Message::new(&bytes);
        let mut next = || message.next().unwrap();
        assert_eq!(next(), Some((1, Value::Varint(300))));
        assert_eq!(next(), Some((2, Value::Bytes(b"hi"))));
        assert_eq!(next(), Some((3, Value::Fixed32([1, 2, 3, 4]))));
        assert_eq!(next(), Some((4, Value::Fixed64([1, 2, 3, 4, 5, 6, 7, 8]))));
        assert_eq!(next(), None);
        // Cut anywhere but between two fields, it is no message.
        let ends = [0, 3, 7, 12, 21];
        for end in 0..bytes.len() {
            let all = Message::new(&bytes[..end]).each(9, |_| Ok(()));
            assert_eq!(all.is_ok(), ends.contains(&end), "{end}");
        }
    }

    #[test]
    fn numbers_have_64_bits() {
        let read = |bytes: &[u8]| varint(&mut &bytes[..]);
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(read(&most), Ok(u64::MAX));
        assert!(read(&[0xff; 12]).is_err());
        assert!(read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).is_err());
        assert!(read(&[0x80]).is_err() && read(&[]).is_err());
    }

    #[test]
    fn numbers_in_a_row_are_those_that_are_taken_one_by_one() {
        for seed in 0..2_000_u64 {
            let bits = |it: u64| plan::mix(seed, it);
            let mut packed = Vec::new();
            for it in 0..bits(0) % 40 {
                // Of any number of bits, and now and then with more bytes than it needs.
                let mut value = bits(2 * it + 1) >> (bits(2 * it + 2) % 64);
                while value >= 0x80 {
                    packed.push(value as u8 | 0x80);
                    value >>= 7;
                }
                if bits(2 * it + 1).is_multiple_of(50) && value != 0 {
                    packed.push(value as u8 | 0x80);
                    value = 0;
                }
                packed.push(value as u8);
            }
            let cut = &packed[..packed.len() - (bits(99) % 2) as usize * packed.len().min(1)];
            let (mut rest, mut expected) = (cut, Ok(Vec::new()));
            while let Ok(all) = &mut expected
                && !rest.is_empty()
            {
                match varint(&mut rest) {
                    Ok(it) => all.push(it),
                    Err(why) => expected = Err(why),
                }
            }
            let mut found = vec![0; count_packed(cut)];
            let unpacked = unpack(cut, &mut found, Ok).map(|rest| rest.len());
            assert_eq!(unpacked.clone().map(|_| found), expected);
            assert_eq!(unpacked.unwrap_or(0), 0);
        }
    }
}
