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

/// Bytes of a row of numbers that are looked at together.
const BLOCK: usize = 64;

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
    let (mut rest, mut n) = (packed, 0);
    while !rest.is_empty() {
        // With eight bytes behind them, so that each number that begins in a block can be read as one word.
        let mut padded = [0; BLOCK + 8];
        let block = rest.first_chunk().unwrap_or_else(|| {
            pad(rest, &mut padded);
            &padded
        });
        let mut ends = ends(block) & u64::MAX >> (BLOCK - rest.len().min(BLOCK));
        if ends == 0 {
            longer_varint(&mut rest)?;
        }
        let mut start = 0;
        let is_short = are_short(ends);
        // Where a number begins hangs on the ends alone, not on the number before: several are read at once.
        while ends != 0 {
            let end = ends.trailing_zeros() as usize + 1;
            ends &= ends - 1;
            let value = match block[start..].first_chunk() {
                Some(eight) if is_short => {
                    let word = u64::from_le_bytes(*eight) as u32;
                    joined_four(word & u32::MAX >> (32 - 8 * (end - start))).into()
                }
                Some(eight) if end - start <= 8 => {
                    joined(u64::from_le_bytes(*eight) & u64::MAX >> (64 - 8 * (end - start)))
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

/// Whether all numbers that end in a block, of which the bits are the last bytes, have at most four bytes.
#[inline]
fn are_short(ends: u64) -> bool {
    let Some(last) = ends.checked_ilog2() else { return false };
    let others = !ends & ((1 << last) - 1);
    let two = others & others >> 1;
    two & two >> 2 == 0
}

/// Copies what is shorter than `to` to its front, word by word.
#[inline]
fn pad(from: &[u8], to: &mut [u8; BLOCK + 8]) {
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
#[inline]
fn ends(block: &[u8; BLOCK + 8]) -> u64 {
    let (words, _) = block[..BLOCK].as_chunks();
    let words = words.iter().map(|it| u64::from_le_bytes(*it));
    words.rev().fold(0, |all, word| all << 8 | ends_of(word))
}

/// The same of a word, in the lowest byte.
#[cfg(target_arch = "x86_64")]
#[inline]
fn ends_of(word: u64) -> u64 {
    use std::arch::x86_64::{_mm_cvtsi64_si128, _mm_movemask_epi8};
    // SAFETY: all processors of this architecture have SSE2.
    let mask = unsafe { _mm_movemask_epi8(_mm_cvtsi64_si128(word.cast_signed())) };
    !u64::from(mask.cast_unsigned()) & 0xff
}

/// The same of a word, in the lowest byte.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ends_of(word: u64) -> u64 {
    let lasts = !word >> 7 & 0x0101_0101_0101_0101;
    // Bit 8 i goes to bit 56 + i; nothing else reaches the highest byte.
    lasts.wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The number that groups of seven bits are, one in each byte: two, four and eight of them are put together.
fn joined(word: u64) -> u64 {
    let seven = word & 0x7f7f_7f7f_7f7f_7f7f;
    let two = (seven & 0x007f_007f_007f_007f) | (seven & 0x7f00_7f00_7f00_7f00) >> 1;
    let four = (two & 0x0000_3fff_0000_3fff) | (two & 0x3fff_0000_3fff_0000) >> 2;
    (four & 0x0fff_ffff) | (four & 0x0fff_ffff_0000_0000) >> 4
}

/// The same of four bytes.
#[inline]
fn joined_four(word: u32) -> u32 {
    let seven = word & 0x7f7f_7f7f;
    let two = (seven & 0x007f_007f) | (seven & 0x7f00_7f00) >> 1;
    (two & 0x3fff) | (two & 0x3fff_0000) >> 2
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
