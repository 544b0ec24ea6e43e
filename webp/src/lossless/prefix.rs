//! Prefix codes of a lossless picture, and the tables that read them.

use super::reader::Reader;
use crate::error::Error;

/// Bits of the longest code.
const LEN_MAX: usize = 15;
/// Bits that the first table reads at once.
const ROOT: u32 = 8;
/// The order in which the lengths of the code of lengths come.
const ORDER: [usize; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// Bits of the table of the code of lengths: none is longer.
const LENGTHS_BITS: u32 = 7;

/// What some bits stand for: a symbol, or where in the table more bits are looked up.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    symbol: u16,
    /// Bits of the code; of a reference to a second table, [`ROOT`] and the bits of that table.
    bits: u8,
}

/// A prefix code.
#[derive(Debug, Clone, Default)]
pub(super) struct Code {
    /// 2^`root` entries, and then second tables.
    table: Vec<Entry>,
    root: u32,
}

impl Code {
    /// The symbol if the code has but one, which takes no bits.
    pub(super) fn only(&self) -> Option<u16> {
        (self.root == 0).then(|| self.table[0].symbol)
    }

    /// Entries of its table.
    pub(super) fn entries(&self) -> usize {
        self.table.len()
    }

    /// Reads a symbol; 15 bits are ready.
    #[inline(always)]
    pub(super) fn symbol(&self, reader: &mut Reader<'_>) -> u16 {
        let index = reader.peek() & ((1 << self.root) - 1);
        let mut entry = self.table[index as usize];
        if u32::from(entry.bits) > ROOT {
            let more = u32::from(entry.bits) - ROOT;
            let index = reader.peek() >> ROOT & ((1 << more) - 1);
            reader.drop(ROOT);
            entry = self.table[usize::from(entry.symbol) + index as usize];
        }
        reader.drop(u32::from(entry.bits));
        entry.symbol
    }

    /// Reads a code of `n` symbols. `lengths` is room that is used again.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        n: usize,
        lengths: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        lengths.clear();
        lengths.resize(n, 0);
        if reader.flag() {
            let has_two = reader.flag();
            let bits = if reader.flag() { 8 } else { 1 };
            let symbols = [Some(reader.number(bits)), has_two.then(|| reader.number(8))];
            for symbol in symbols.into_iter().flatten() {
                let length = lengths.get_mut(symbol as usize);
                *length.ok_or(Error::Damaged("a prefix code has symbols that cannot be"))? = 1;
            }
        } else {
            read_lengths(reader, lengths)?;
        }
        reader.check()?;
        Self::of(lengths, ROOT)
    }

    /// The canonical code whose symbols have these lengths, as a table that reads `root` bits at once.
    fn of(lengths: &[u8], root: u32) -> Result<Self, Error> {
        let mut counts = [0_usize; LEN_MAX + 1];
        lengths.iter().for_each(|&it| counts[usize::from(it)] += 1);
        counts[0] = 0;
        let used: usize = counts.iter().sum();
        if used == 1 {
            let symbol = lengths.iter().position(|&it| it > 0).expect("one is used") as u16;
            return Ok(Self { table: vec![Entry { symbol, bits: 0 }], root: 0 });
        }
        let codes = (1..).zip(&counts[1..]).map(|(len, n)| n << (LEN_MAX - len));
        if codes.sum::<usize>() != 1 << LEN_MAX {
            return Err(Error::Damaged("a prefix code is not complete"));
        }
        let longest = counts.iter().rposition(|&n| n > 0).expect("some are used") as u32;
        let root = root.min(longest);
        let mut code = Self { table: vec![Entry::default(); 1 << root], root };
        code.fill(lengths, &counts, longest);
        Ok(code)
    }

    fn fill(&mut self, lengths: &[u8], counts: &[usize; LEN_MAX + 1], longest: u32) {
        // Symbols by length, and of one length in order.
        let mut starts = [0; LEN_MAX + 2];
        (1..=LEN_MAX).for_each(|len| starts[len + 1] = starts[len] + counts[len]);
        let mut sorted = vec![0_u16; starts[LEN_MAX + 1]];
        let mut next = starts;
        for (symbol, &len) in lengths.iter().enumerate().filter(|it| *it.1 > 0) {
            sorted[next[usize::from(len)]] = symbol as u16;
            next[usize::from(len)] += 1;
        }
        let (mut code, mut second) = (0_u32, None);
        for len in 1..=longest {
            let of_length = &sorted[starts[len as usize]..starts[len as usize + 1]];
            for (left, &symbol) in of_length.iter().enumerate() {
                let reversed = code.reverse_bits() >> (32 - len);
                if len <= self.root {
                    let entry = Entry { symbol, bits: len as u8 };
                    let places = (reversed as usize..1 << self.root).step_by(1 << len);
                    places.for_each(|it| self.table[it] = entry);
                } else {
                    let prefix = reversed & ((1 << ROOT) - 1);
                    let (start, bits) = match second {
                        Some((of, start, bits)) if of == prefix => (start, bits),
                        _ => {
                            let bits = second_bits(counts, len, left);
                            let start = self.table.len();
                            self.table.resize(start + (1 << bits), Entry::default());
                            let bits_of_both = (ROOT + bits) as u8;
                            self.table[prefix as usize] =
                                Entry { symbol: start as u16, bits: bits_of_both };
                            second = Some((prefix, start, bits));
                            (start, bits)
                        }
                    };
                    let entry = Entry { symbol, bits: (len - ROOT) as u8 };
                    let from = start + (reversed >> ROOT) as usize;
                    let places = (from..start + (1 << bits)).step_by(1 << (len - ROOT));
                    places.for_each(|it| self.table[it] = entry);
                }
                code += 1;
            }
            code <<= 1;
        }
    }
}

/// Bits of a second table that begins with a code of `len` bits, before which there are `left` of that length.
fn second_bits(counts: &[usize; LEN_MAX + 1], mut len: u32, left: usize) -> u32 {
    let mut room = 1_isize << (len - ROOT);
    let mut count = counts[len as usize] - left;
    loop {
        room -= count as isize;
        if room <= 0 || len as usize == LEN_MAX {
            return len - ROOT;
        }
        len += 1;
        room <<= 1;
        count = counts[len as usize];
    }
}

/// Reads the lengths of a code, which are themselves coded.
fn read_lengths(reader: &mut Reader<'_>, lengths: &mut [u8]) -> Result<(), Error> {
    let mut of_lengths = [0; 19];
    let n = reader.number(4) as usize + 4;
    for &at in &ORDER[..n] {
        of_lengths[at] = reader.number(3) as u8;
    }
    let code = Code::of(&of_lengths, LENGTHS_BITS)?;
    let mut left = lengths.len();
    if reader.flag() {
        let bits = 2 + 2 * reader.number(3);
        left = 2 + reader.number(bits) as usize;
        if left > lengths.len() {
            return Err(Error::Damaged("a prefix code has too many symbols"));
        }
    }
    let (mut at, mut previous) = (0, 8);
    while at < lengths.len() && left > 0 {
        left -= 1;
        reader.fill();
        let symbol = code.symbol(reader);
        let (length, times) = match symbol {
            16 => (previous, reader.take(2) + 3),
            17 => (0, reader.take(3) + 3),
            18 => (0, reader.take(7) + 11),
            it => (it as u8, 1),
        };
        let run = lengths.get_mut(at..at + times as usize);
        run.ok_or(Error::Damaged("a prefix code has too many symbols"))?.fill(length);
        at += times as usize;
        if symbol < 16 && length > 0 {
            previous = length;
        }
        reader.check()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_read_as_a_canonical_code_has_them() {
        // 1 code of 1 bit, 1 of 2 … and two of 15: the longest there can be.
        let long: Vec<u8> = (1..=15).chain([15]).collect();
        let even = vec![4; 16];
        let mixed = [vec![3; 4], vec![10; 256], vec![9; 128]].concat();
        for lengths in [long, even, mixed] {
            let code = Code::of(&lengths, ROOT).unwrap();
            let mut next = 0_u32;
            for len in 1..=15 {
                let symbols = (0..lengths.len()).filter(|&it| lengths[it] == len);
                for symbol in symbols {
                    let bits = next.reverse_bits() >> (32 - u32::from(len));
                    let bytes = bits.to_le_bytes();
                    let mut reader = Reader::new(&bytes);
                    reader.fill();
                    assert_eq!(usize::from(code.symbol(&mut reader)), symbol);
                    assert_eq!(reader.peek() | 1 << 63, 1 << 63, "all bits were dropped");
                    next += 1;
                }
                next <<= 1;
            }
        }
    }

    #[test]
    fn codes_that_are_not_complete_are_refused() {
        for lengths in [&[0, 0][..], &[1, 2], &[1, 1, 1], &[2, 2, 2]] {
            assert!(Code::of(lengths, ROOT).is_err(), "{lengths:?}");
        }
        assert_eq!(Code::of(&[0, 7, 0], ROOT).unwrap().only(), Some(1));
    }
}
