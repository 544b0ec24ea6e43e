//! Classes of characters, as the regular expressions of tokenizers name them.

use regex_syntax::hir::{Class, HirKind};
use std::sync::LazyLock;

/// `\p{L}`.
pub(super) const LETTER: u8 = 1;
/// `\p{N}`.
pub(super) const NUMBER: u8 = 2;
/// `\s`.
pub(super) const SPACE: u8 = 4;
/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`.
pub(super) const UPPER: u8 = 8;
/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`.
pub(super) const LOWER: u8 = 16;
/// `[\r\n]`.
pub(super) const BREAK: u8 = 32;
/// What a word of GPT-2 is made of that is none of letters, numbers and spaces.
pub(super) const OTHER: u8 = 64;

/// `\w`.
pub(super) const WORD: u8 = 128;

/// The classes of all characters, in blocks of 256, equal ones once.
pub(super) struct Classes {
    block_of: Vec<u16>,
    blocks: Vec<[u8; 256]>,
    ascii: [u8; 128],
}

/// Those of the version of Unicode that crate `regex` knows.
pub(super) static CLASSES: LazyLock<Classes> = LazyLock::new(|| {
    let mut all = vec![0_u8; 0x11_0000];
    let classes = [
        (r"\p{L}", LETTER),
        (r"\p{N}", NUMBER),
        (r"\s", SPACE),
        (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", UPPER),
        (r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", LOWER),
        (r"[\r\n]", BREAK),
        (r"[^\s\p{L}\p{N}]", OTHER),
        (r"\w", WORD),
    ];
    for (pattern, bit) in classes {
        let parsed = regex_syntax::parse(pattern).expect("it is a regular expression");
        let HirKind::Class(Class::Unicode(class)) = parsed.kind() else {
            unreachable!("it is a class")
        };
        for range in class.ranges() {
            all[range.start() as usize..=range.end() as usize].iter_mut().for_each(|it| *it |= bit);
        }
    }
    let mut classes = Classes { block_of: Vec::new(), blocks: Vec::new(), ascii: [0; 128] };
    classes.ascii.copy_from_slice(&all[..128]);
    for block in all.as_chunks::<256>().0 {
        let known = classes.blocks.iter().position(|it| it == block);
        let number = known.unwrap_or_else(|| {
            classes.blocks.push(*block);
            classes.blocks.len() - 1
        });
        classes.block_of.push(number as u16);
    }
    classes
});

impl Classes {
    /// The class of the character that begins at a place of a text in UTF-8, and its bytes; nothing at the end.
    #[inline]
    pub(super) fn at(&self, text: &[u8], at: usize) -> (u8, usize) {
        match text.get(at) {
            None => (0, 0),
            Some(it) if *it < 128 => (self.ascii[usize::from(*it)], 1),
            Some(_) => self.far(text, at),
        }
    }

    #[inline(never)]
    fn far(&self, text: &[u8], at: usize) -> (u8, usize) {
        let bits = |it: u8| u32::from(it & 0x3f);
        match text[at..] {
            [first @ ..0xe0, a, ..] => (self.of(u32::from(first & 0x1f) << 6 | bits(a)), 2),
            [first @ ..0xf0, a, b, ..] => {
                (self.of(u32::from(first & 0x0f) << 12 | bits(a) << 6 | bits(b)), 3)
            }
            [first, a, b, c, ..] => {
                let high = u32::from(first & 0x07) << 18 | bits(a) << 12;
                (self.of(high | bits(b) << 6 | bits(c)), 4)
            }
            // No text is cut within a character.
            _ => (0, 1),
        }
    }

    #[inline]
    fn of(&self, code: u32) -> u8 {
        let block = self.block_of.get((code >> 8) as usize).map_or(0, |it| usize::from(*it));
        self.blocks[block][(code & 0xff) as usize]
    }

    /// Where letters end that begin at a place.
    #[inline]
    pub(super) fn letters(&self, text: &[u8], mut at: usize) -> usize {
        while let Some(eight) = text[at..].first_chunk::<8>() {
            let some = ascii_letters(u64::from_le_bytes(*eight));
            at += some;
            if some < 8 {
                break;
            }
        }
        // What follows may be the letter of another alphabet, or one of the last few.
        match text.get(at) {
            Some(it) if !matches!(it, b'\0'..=b'@') => self.run(text, at, LETTER),
            _ => at,
        }
    }

    /// Where characters of these classes end that begin at a place.
    #[inline]
    pub(super) fn run(&self, text: &[u8], mut at: usize, classes: u8) -> usize {
        loop {
            let (class, len) = self.at(text, at);
            if class & classes == 0 {
                return at;
            }
            at += len;
        }
    }
}

/// How many of eight characters are letters of ASCII, from the first one on.
#[inline]
fn ascii_letters(eight: u64) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    let lower = (eight | (0x20 * EACH)) & !HIGH;
    // The highest bit of each byte says it; no sum carries into the next.
    let from_a = lower + (0x80 - b'a' as u64) * EACH;
    let behind_z = lower + (0x7f - b'z' as u64) * EACH;
    let letters = from_a & !behind_z & !eight & HIGH;
    ((letters ^ HIGH).trailing_zeros() / 8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_ascii_are_counted() {
        for byte in 0..=255_u8 {
            for at in 0..8 {
                let mut eight = *b"azAZmMqQ";
                eight[at] = byte;
                let expected = if byte.is_ascii_alphabetic() { 8 } else { at };
                assert_eq!(ascii_letters(u64::from_le_bytes(eight)), expected, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn classes_are_those_of_unicode() {
        let at = |it: char| CLASSES.at(it.to_string().as_bytes(), 0);
        let of = |it: char| (at(it).0 & !WORD, at(it).1);
        assert_eq!(
            ["a", "_", "\u{301}", "٣", " ", "½", "-"]
                .map(|it| CLASSES.at(it.as_bytes(), 0).0 & WORD),
            [WORD, WORD, WORD, WORD, 0, 0, 0]
        );
        assert_eq!(of('a'), (LETTER | LOWER, 1));
        assert_eq!(of('Ж'), (LETTER | UPPER, 2));
        assert_eq!(of('中'), (LETTER | UPPER | LOWER, 3));
        assert_eq!(of('\u{301}'), (UPPER | LOWER | OTHER, 2));
        assert_eq!(of('½'), (NUMBER, 2));
        assert_eq!(of('\n'), (SPACE | BREAK, 1));
        assert_eq!(of('\u{3000}'), (SPACE, 3));
        assert_eq!(of('😀'), (OTHER, 4));
        assert_eq!(CLASSES.at(b"a", 1), (0, 0));
    }
}
