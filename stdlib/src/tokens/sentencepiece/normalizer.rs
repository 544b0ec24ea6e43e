//! How SentencePiece normalizes a text before it is split: its rules, a map of characters that its files hold compiled, and
//! what is done with spaces.

use crate::tokens::trie::Trie;

/// What spaces are written as in a file: U+2581.
pub(super) const SPACE: &[u8] = "\u{2581}".as_bytes();
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// The rules of a file.
#[derive(Default)]
pub(super) struct Rules {
    pub(super) map: Option<Map>,
    pub(super) adds_prefix: bool,
    /// Whether the space that is added stands behind the text.
    pub(super) is_suffix: bool,
    pub(super) removes_spaces: bool,
    /// What a space becomes.
    pub(super) space: &'static [u8],
    /// Whether U+2581 is the same as a space.
    pub(super) is_one_space: bool,
}

/// Normalizes texts.
pub(super) struct Normalizer {
    rules: Rules,
    /// What is left as it is, wherever it stands.
    defined: Option<Trie>,
    /// Bytes of ASCII that no rule begins with, where ASCII follows.
    is_plain: [bool; 256],
}

/// The normal form of some strings: the longest one that a text begins with counts.
pub(super) struct Map {
    units: Vec<u32>,
    texts: Vec<u8>,
}

impl Map {
    /// Reads `precompiled_charsmap`: the size of a trie of Darts-clone, the trie, and texts that each end with a zero.
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let (size, rest) = bytes.split_first_chunk::<4>()?;
        let size = u32::from_le_bytes(*size) as usize;
        let (units, texts) = rest.split_at_checked(size)?;
        let units = units.as_chunks::<4>().0.iter().map(|it| u32::from_le_bytes(*it));
        let map = Self { units: units.collect(), texts: texts.to_vec() };
        let is_sound = |(at, unit): (usize, &u32)| match unit >> 31 {
            0 => (at ^ offset(*unit)) | 0xff < map.units.len(),
            _ => (unit & 0x7fff_ffff) < texts.len() as u32,
        };
        let is_root = map.units.first().is_some_and(|it| it & 0x8000_01ff == 0 && offset(*it) != 0);
        (is_root && map.units.iter().enumerate().all(is_sound)).then_some(map)
    }

    fn unit(&self, at: usize) -> u32 {
        // What leads out of the trie is no character of it.
        self.units.get(at).copied().unwrap_or(1 << 31)
    }

    /// How long the longest string is that a text begins with, and what becomes of it.
    fn longest(&self, text: &[u8]) -> Option<(usize, &[u8])> {
        let (mut at, mut found) = (offset(self.unit(0)), None);
        for (len, byte) in (1..).zip(text) {
            at ^= usize::from(*byte);
            let unit = self.unit(at);
            if unit & 0x8000_00ff != u32::from(*byte) {
                break;
            }
            at ^= offset(unit);
            if unit >> 8 & 1 == 1 {
                found = Some((len, self.unit(at) & 0x7fff_ffff));
            }
        }
        let (len, begin) = found?;
        let text = self.texts.get(begin as usize..)?;
        Some((len, text.split(|it| *it == 0).next().unwrap_or(text)))
    }

    /// Whether a rule is of a byte alone, or of it and more of ASCII.
    fn begins(&self, byte: u8) -> bool {
        let mut at = offset(self.unit(0)) ^ usize::from(byte);
        let unit = self.unit(at);
        if unit & 0x8000_00ff != u32::from(byte) {
            return false;
        }
        at ^= offset(unit);
        let goes_on = |it: u8| self.unit(at ^ usize::from(it)) & 0x8000_00ff == u32::from(it);
        unit >> 8 & 1 == 1 || (0..0x80).any(goes_on)
    }
}

/// Whether bytes are such a map, all of whose texts are text.
#[cfg(feature = "tokenizers")]
pub(in crate::tokens) fn is_text_map(bytes: &[u8]) -> bool {
    Map::new(bytes).is_some_and(|map| {
        let Ok(texts) = std::str::from_utf8(&map.texts) else { return false };
        let mut begins = map.units.iter().filter(|it| **it >> 31 == 1).map(|it| it & 0x7fff_ffff);
        begins.all(|it| texts.is_char_boundary(it as usize))
    })
}

/// From a unit of a trie of Darts-clone to those behind it.
fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize
}

impl Normalizer {
    /// With strings that are left as they are.
    pub(super) fn new(rules: Rules, defined: Vec<&[u8]>) -> Self {
        let mut is_plain = [false; 256];
        for (byte, is_plain) in (0..0x80_u8).zip(&mut is_plain) {
            let begins = |it: &&[u8]| it[0] == byte;
            let is_mapped = rules.map.as_ref().is_some_and(|it| it.begins(byte));
            *is_plain = !is_mapped && !defined.iter().any(begins);
        }
        let trie = || Trie::new(defined.iter().map(|it| (*it, 0, 0.0)));
        Self { rules, defined: (!defined.is_empty()).then(trie), is_plain }
    }

    /// Appends the normal form of a text.
    pub(super) fn normalize(&self, text: &[u8], to: &mut Vec<u8>) {
        let (mut at, first) = (0, to.len());
        if self.rules.removes_spaces {
            while let (b" ", len @ 1..) = self.next(&text[at..]) {
                at += len;
            }
        }
        if at == text.len() {
            return;
        }
        if self.rules.adds_prefix && !self.rules.is_suffix {
            to.extend_from_slice(self.rules.space);
        }
        let mut is_behind_space = self.rules.removes_spaces;
        while at < text.len() {
            let plain = self.plain(&text[at..]);
            if plain > 0 {
                to.extend_from_slice(&text[at..at + plain]);
                is_behind_space = false;
                at += plain;
                continue;
            }
            let (mut next, len) = self.next(&text[at..]);
            while let (true, Some(rest)) = (is_behind_space, next.strip_prefix(b" ")) {
                next = rest;
            }
            self.push(next, to);
            if let Some(last) = next.last() {
                is_behind_space = *last == b' ' && self.rules.removes_spaces;
            }
            at += len;
        }
        if self.rules.removes_spaces {
            while to.len() > first && to[first..].ends_with(self.rules.space) {
                to.truncate(to.len() - self.rules.space.len());
            }
        }
        if self.rules.adds_prefix && self.rules.is_suffix {
            to.extend_from_slice(self.rules.space);
        }
    }

    /// How many bytes a text begins with that are left as they are, and are no spaces.
    #[inline]
    fn plain(&self, text: &[u8]) -> usize {
        let is_plain = |it: &u8| self.is_plain[usize::from(*it)] && *it != b' ';
        let len = text.iter().position(|it| !is_plain(it)).unwrap_or(text.len());
        // The last one may be composed with what follows.
        let is_followed = text.get(len).is_some_and(|it| *it >= 0x80);
        if is_followed { len.saturating_sub(1) } else { len }
    }

    /// What a text becomes that is not empty, from its beginning, and how many bytes that takes.
    #[inline]
    fn next<'a>(&'a self, text: &'a [u8]) -> (&'a [u8], usize) {
        if text.is_empty() {
            return (b"", 0);
        }
        if self.is_plain[usize::from(text[0])] && text.get(1).is_none_or(|it| *it < 0x80) {
            return (&text[..1], 1);
        }
        if let Some((len, _)) = self.defined.as_ref().and_then(|it| it.longest(text)) {
            return (&text[..len], len);
        }
        if let Some((len, to)) = self.rules.map.as_ref().and_then(|it| it.longest(text)) {
            return (to, len);
        }
        match char_len(text) {
            0 => (REPLACEMENT, 1),
            len => (&text[..len], len),
        }
    }

    fn push(&self, text: &[u8], to: &mut Vec<u8>) {
        if text == b" " {
            return to.extend_from_slice(self.rules.space);
        }
        let mut at = 0;
        while at < text.len() {
            if text[at] == b' ' {
                to.extend_from_slice(self.rules.space);
                at += 1;
            } else if self.rules.is_one_space && text[at..].starts_with(SPACE) {
                to.push(b' ');
                at += SPACE.len();
            } else {
                to.push(text[at]);
                at += 1;
            }
        }
    }
}

/// Bytes of the character that a text begins with, which is not empty; 0 where it is none.
pub(super) fn char_len(text: &[u8]) -> usize {
    let len = super::lead_len(text[0]).min(text.len());
    if std::str::from_utf8(&text[..len]).is_ok() { len } else { 0 }
}
