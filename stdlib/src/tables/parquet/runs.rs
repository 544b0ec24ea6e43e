//! Small numbers in runs: repeated ones, and ones packed to so many bits each
//! (<https://parquet.apache.org/docs/file-format/data-pages/encodings/#run-length-encoding--bit-packing-hybrid-rle--3>).

/// Bits of a number, at the most.
const WIDTH_MAX: u32 = 32;

/// Numbers that follow each other.
#[derive(Debug, Clone, Copy)]
pub(super) enum Run<'b> {
    /// The same one, so many times.
    Same(u32, usize),
    /// Some of those that are packed.
    Packed(Packed<'b>),
}

/// Numbers of so many bits each, the lowest bits first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed<'b> {
    bytes: &'b [u8],
    width: u32,
    /// The first one, and how many they are.
    first: usize,
    len: usize,
}

/// Runs, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Runs<'b> {
    bytes: &'b [u8],
    width: u32,
    next: Option<Run<'b>>,
}

impl<'b> Runs<'b> {
    /// The runs of numbers of so many bits; none of more than a number can have.
    pub(super) fn new(bytes: &'b [u8], width: u32) -> Option<Self> {
        (width <= WIDTH_MAX).then_some(Self { bytes, width, next: None })
    }

    /// The next numbers, some of `n` at least; none at the end.
    pub(super) fn take(&mut self, n: usize) -> Option<Run<'b>> {
        let run = match self.next.take() {
            Some(run) => run,
            None => self.read()?,
        };
        let (taken, rest) = run.split(n);
        self.next = rest;
        Some(taken)
    }

    /// Passes over so many; none where there are fewer.
    pub(super) fn skip(&mut self, n: usize) -> Option<()> {
        let mut left = n;
        while left > 0 {
            left -= self.take(left)?.len();
        }
        Some(())
    }

    fn read(&mut self) -> Option<Run<'b>> {
        let head = varint(&mut self.bytes)?;
        let count = usize::try_from(head >> 1).ok()?;
        if count == 0 {
            return None;
        }
        if head & 1 == 0 {
            let (value, rest) = self.bytes.split_at_checked(self.width.div_ceil(8) as usize)?;
            self.bytes = rest;
            let mut number = [0; 4];
            number[..value.len()].copy_from_slice(value);
            return Some(Run::Same(u32::from_le_bytes(number), count));
        }
        // Writers may leave out the end of the last ones.
        let len = count.checked_mul(8)?;
        let (bytes, rest) =
            self.bytes.split_at(count.checked_mul(self.width as usize)?.min(self.bytes.len()));
        self.bytes = rest;
        let there =
            (bytes.len() * 8).checked_div(self.width as usize).map_or(len, |it| it.min(len));
        let packed = Packed { bytes, width: self.width, first: 0, len: there };
        (there > 0).then_some(Run::Packed(packed))
    }
}

impl Run<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Same(_, n) => *n,
            Self::Packed(packed) => packed.len,
        }
    }

    /// The first `n`, and what follows.
    fn split(self, n: usize) -> (Self, Option<Self>) {
        if n >= self.len() {
            return (self, None);
        }
        match self {
            Self::Same(value, len) => (Self::Same(value, n), Some(Self::Same(value, len - n))),
            Self::Packed(it) => {
                let rest = Packed { first: it.first + n, len: it.len - n, ..it };
                (Self::Packed(Packed { len: n, ..it }), Some(Self::Packed(rest)))
            }
        }
    }
}

impl Packed<'_> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Where they lie, from the first one on, where each is a bit.
    pub(super) fn bits(&self) -> Option<(&[u8], usize)> {
        (self.width == 1).then_some((self.bytes, self.first))
    }

    /// Gives all of them in order, each with its place.
    #[inline]
    pub(super) fn each(&self, mut to: impl FnMut(usize, u32)) {
        self.groups(|at, numbers| numbers.iter().enumerate().for_each(|(i, it)| to(at + i, *it)));
    }

    /// Writes what each of them stands for, as far as there is room.
    #[inline]
    pub(super) fn fill<T>(&self, to: &mut [T], value: impl Fn(u32) -> T) {
        self.groups(|at, numbers| {
            let to = to.get_mut(at..).unwrap_or_default();
            to.iter_mut().zip(numbers).for_each(|(to, it)| *to = value(*it));
        });
    }

    /// Gives some of them at a time, with the place of the first.
    #[inline]
    fn groups(&self, mut to: impl FnMut(usize, &[u32])) {
        let Self { bytes, width, first, len } = *self;
        let mut at = 0;
        // Groups begin at whole bytes.
        if first.is_multiple_of(8) {
            let unpack = UNPACK[width as usize];
            let (n_bytes, mut numbers) = (GROUP / 8 * width as usize, [0; GROUP]);
            let mut groups = bytes.get(first / 8 * width as usize..).unwrap_or_default();
            while at + GROUP <= len
                && let Some((group, rest)) = groups.split_at_checked(n_bytes)
            {
                unpack(group, &mut numbers);
                to(at, &numbers);
                (at, groups) = (at + GROUP, rest);
            }
        }
        let mask = (1_u64 << width) - 1;
        while at < len {
            let bit = (first + at) * width as usize;
            let word = word(bytes, bit / 8).unwrap_or_else(|| short_word(bytes, bit / 8));
            to(at, &[(word >> (bit % 8) & mask) as u32]);
            at += 1;
        }
    }
}

/// Numbers that are unpacked at a time: of any width they are whole words.
const GROUP: usize = 32;

/// Unpacks a group.
type Unpack = fn(&[u8], &mut [u32; GROUP]);

/// One for each width: where each number lies is known when it is compiled.
const UNPACK: [Unpack; WIDTH_MAX as usize + 1] = {
    macro_rules! each_width {
        ($($width:literal)*) => { [$(unpack::<$width>),*] };
    }
    each_width!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
};

fn unpack<const WIDTH: usize>(bytes: &[u8], numbers: &mut [u32; GROUP]) {
    let words = &bytes.as_chunks().0[..WIDTH];
    let mask = ((1_u64 << WIDTH) - 1) as u32;
    macro_rules! each {
        ($($i:literal)*) => {$({
            let (word, bit) = ($i * WIDTH / 32, $i * WIDTH % 32);
            let low = if WIDTH > 0 { u32::from_le_bytes(words[word]) >> bit } else { 0 };
            let high = match bit + WIDTH > 32 {
                true => u32::from_le_bytes(words[word + 1]) << (32 - bit),
                false => 0,
            };
            numbers[$i] = (low | high) & mask;
        })*};
    }
    each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|it| u64::from_le_bytes(*it))
}

/// The same at the end.
#[cold]
fn short_word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    let rest = &bytes[at.min(bytes.len())..];
    word[..rest.len().min(8)].copy_from_slice(&rest[..rest.len().min(8)]);
    u64::from_le_bytes(word)
}

/// An unsigned number by sevens of bits, the lowest first.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(runs: &mut Runs<'_>, mut n: usize, step: usize) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        while n > 0 {
            let run = runs.take(n.min(step))?;
            n -= run.len();
            match run {
                Run::Same(value, n) => found.extend(std::iter::repeat_n(value, n)),
                Run::Packed(packed) => packed.each(|at, it| {
                    assert!(at < packed.len());
                    found.push(it);
                }),
            }
        }
        Some(found)
    }

    /// Numbers of `width` bits, in groups of eight that are packed, with a repeated one after each third.
    fn written(width: u32, n: usize) -> (Vec<u8>, Vec<u32>) {
        let mask = (1_u64 << width) - 1;
        let number =
            |at: usize| ((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7 & mask) as u32;
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        for group in 0..n {
            bytes.push(2 << 1 | 1);
            let mut bits: Vec<bool> = Vec::new();
            for at in 0..16 {
                let it = number(group * 16 + at);
                numbers.push(it);
                bits.extend((0..width).map(|bit| it >> bit & 1 == 1));
            }
            let byte = |it: &[bool]| it.iter().rev().fold(0, |all, it| all << 1 | u8::from(*it));
            bytes.extend(bits.chunks(8).map(byte));
            if group % 3 == 0 {
                bytes.extend([0x80 | 100, 1]);
                bytes.extend(&number(group).to_le_bytes()[..width.div_ceil(8) as usize]);
                numbers.extend(std::iter::repeat_n(number(group), (100 + 128) / 2));
            }
        }
        (bytes, numbers)
    }

    #[test]
    fn numbers_of_any_width_are_found_from_any_place() {
        for width in 0..=32 {
            let (bytes, numbers) = written(width, 7);
            for (start, step) in [(0, usize::MAX), (0, 3), (1, 8), (8, 100), (37, 9), (130, 64)] {
                let mut runs = Runs::new(&bytes, width).unwrap();
                runs.skip(start).unwrap();
                let found = all(&mut runs, numbers.len() - start, step).unwrap();
                assert_eq!(found, numbers[start..], "{width} bits from {start}");
                assert!(runs.take(1).is_none());
            }
        }
        assert!(Runs::new(&[], 33).is_none());
    }

    #[test]
    fn what_is_cut_off_ends() {
        let (bytes, numbers) = written(5, 4);
        for end in 0..bytes.len() {
            let mut runs = Runs::new(&bytes[..end], 5).unwrap();
            assert!(all(&mut runs, numbers.len(), 100).is_none());
        }
        // Runs of nothing, and longer than anything.
        for bytes in [&[0, 0][..], &[1, 0], &[0xff; 9], &[0xff, 0xff, 0xff, 0xff, 0x0f]] {
            let mut runs = Runs::new(bytes, 5).unwrap();
            assert!(runs.skip(1 << 40).is_none());
        }
    }
}
