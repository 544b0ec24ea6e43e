//! The tokens of words that a thread has seen lately. What they are never depends on it.

use super::ids::Ids;

/// Short words in all: 2 MiB. English text takes 1.07 times as long with half of them, and no less with twice as many.
const SHORT: usize = 1 << 16;
/// Long ones: 1 MiB.
const LONG: usize = 1 << 14;
/// Bytes of a short word and of a long one, at the most. In the highest byte is how many they are.
const SHORT_BYTES: usize = 15;
const LONG_BYTES: usize = 31;
/// Set in the number of bytes of what is a part of a word: a word may be a token that no merges make.
const PART: u8 = 0x80;

/// A word that can be looked for: its bytes, filled up with zeros.
#[derive(Clone, Copy)]
pub(super) enum Key {
    Short([u128; 1]),
    Long([u128; 2]),
}

/// Words and their tokens, by a hash, two in each place. The word 0 is none.
struct Table<const N: usize, const TOKENS: usize> {
    all: Box<[[Word<N, TOKENS>; 2]]>,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Word<const N: usize, const TOKENS: usize> {
    key: [u128; N],
    ids: [u32; TOKENS],
    tokens: u8,
    note: u8,
}

/// What a thread remembers of a model.
pub(super) struct Words {
    short: Table<1, 3>,
    long: Table<2, 7>,
}

impl Words {
    pub(super) fn new() -> Self {
        Self { short: Table::new(SHORT), long: Table::new(LONG) }
    }

    /// The word between two places of a text, if it is not too long.
    #[inline]
    pub(super) fn key(text: &[u8], begin: usize, end: usize) -> Option<Key> {
        match end - begin {
            0 => None,
            len @ 1..=SHORT_BYTES => Some(Key::Short([bytes(text, begin, len) | told(len as u8)])),
            len @ ..=LONG_BYTES => {
                let rest = bytes(text, begin + 16, len - 16.min(len));
                Some(Key::Long([bytes(text, begin, 16), rest | told(len as u8)]))
            }
            _ => None,
        }
    }

    /// Appends the tokens of a word, if it is known, and returns what is noted of it.
    #[inline]
    pub(super) fn find(&self, key: Key, to: &mut Ids) -> Option<u8> {
        match key {
            Key::Short(it) => self.short.find(it, to),
            Key::Long(it) => self.long.find(it, to),
        }
    }

    /// Remembers the tokens of a word, if they are few, and a note, in place of one that was met earlier.
    pub(super) fn insert(&mut self, key: Key, tokens: &[u32], note: u8) {
        match key {
            Key::Short(it) => self.short.insert(it, tokens, note),
            Key::Long(it) => self.long.insert(it, tokens, note),
        }
    }
}

impl Key {
    /// The same of what is a part of a word.
    pub(super) fn of_part(self) -> Self {
        match self {
            Self::Short([it]) => Self::Short([it | told(PART)]),
            Self::Long([first, it]) => Self::Long([first, it | told(PART)]),
        }
    }
}

/// What is said in the highest byte.
fn told(what: u8) -> u128 {
    u128::from(what) << 120
}

/// Up to 16 bytes of a text as a number.
#[inline]
fn bytes(text: &[u8], begin: usize, len: usize) -> u128 {
    match text.get(begin..).and_then(|it| it.first_chunk::<16>()) {
        // What is behind goes.
        Some(all) if len > 0 => {
            let unused = 8 * (16 - len) as u32;
            u128::from_le_bytes(*all) << unused >> unused
        }
        _ => {
            let mut all = [0; 16];
            all[..len].copy_from_slice(&text[begin..begin + len]);
            u128::from_le_bytes(all)
        }
    }
}

impl<const N: usize, const TOKENS: usize> Table<N, TOKENS> {
    fn new(words: usize) -> Self {
        let none = Word { key: [0; N], ids: [0; TOKENS], tokens: 0, note: 0 };
        Self { all: vec![[none; 2]; words / 2].into_boxed_slice() }
    }

    #[inline]
    fn place(&self, key: &[u128; N]) -> usize {
        let halves = key.iter().flat_map(|it| [*it as u64, (*it >> 64) as u64]);
        // The golden ratio: Knuth, The Art of Computer Programming 3, 6.4.
        let mixed = halves
            .fold(0_u64, |all, it| (all.rotate_left(29) ^ it).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (mixed >> 32) as usize & (self.all.len() - 1)
    }

    #[inline]
    fn find(&self, key: [u128; N], to: &mut Ids) -> Option<u8> {
        let place = &self.all[self.place(&key)];
        let word = &place[usize::from(place[0].key != key)];
        if word.key != key {
            return None;
        }
        to.push_some(word.ids, usize::from(word.tokens));
        Some(word.note)
    }

    fn insert(&mut self, key: [u128; N], tokens: &[u32], note: u8) {
        if tokens.is_empty() || tokens.len() > TOKENS {
            return;
        }
        let mut ids = [0; TOKENS];
        ids[..tokens.len()].copy_from_slice(tokens);
        let at = self.place(&key);
        let place = &mut self.all[at];
        place[1] = place[0];
        place[0] = Word { key, ids, tokens: tokens.len() as u8, note };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart_by_all_that_they_are() {
        let text = "a\0b\0\0 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab".as_bytes();
        let mut all = Vec::new();
        for begin in 0..text.len() {
            for end in begin..text.len() {
                let Some(key) = Words::key(text, begin, end) else {
                    assert!(end == begin || end - begin > LONG_BYTES);
                    continue;
                };
                all.push((text[begin..end].to_vec(), false, key));
                all.push((text[begin..end].to_vec(), true, key.of_part()));
            }
        }
        for (a, part_a, key_a) in &all {
            for (b, part_b, key_b) in &all {
                let same = match (key_a, key_b) {
                    (Key::Short(a), Key::Short(b)) => a == b,
                    (Key::Long(a), Key::Long(b)) => a == b,
                    _ => false,
                };
                assert_eq!(same, a == b && part_a == part_b, "{a:?} {b:?}");
            }
        }
    }
}
