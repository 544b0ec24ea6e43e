//! Where no token of a model reaches from one character to the next: a piece can be cut there, and what is made of both parts
//! is what would be made of it.
//!
//! Merges only ever make tokens. So where no token has the bytes around a place as its own, nothing is merged across it,
//! whatever the ranks are. That is so between most characters of scripts whose words are not cut by spaces, and makes
//! short pieces of them that are known from before. The most likely pieces of Unigram do not reach across either.

/// Bits of the set: what is not in it is in no token. What shares a bit with another is taken for it, and not cut.
const BITS: usize = 1 << 22;

/// What tokens have around a place between two characters.
pub(super) struct Bounds {
    all: Box<[u64]>,
    /// The byte before a place and the one behind it, a bit for each two: without these, no token reaches across.
    pairs: Box<[u64]>,
}

/// Bytes around a place: up to two before and two behind it.
fn around(text: &[u8], at: usize, (before, behind): (usize, usize)) -> u64 {
    let kind = (before << 2 | behind) as u64;
    text[at - before..at + behind].iter().fold(kind, |all, it| all << 8 | u64::from(*it))
}

fn bit(around: u64) -> usize {
    (around.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % BITS
}

/// The bytes before and behind a place, as a number.
fn pair(text: &[u8], at: usize) -> usize {
    usize::from(text[at - 1]) << 8 | usize::from(text[at])
}

/// Whether a place is between two characters of which one at least is not of ASCII.
fn is_between(text: &[u8], at: usize) -> bool {
    !matches!(text[at], 0x80..0xc0) && (text[at] | text[at - 1]) >= 0x80
}

/// Bytes of the character that begins with this one.
fn char_bytes(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

impl Bounds {
    pub(super) fn new<'a>(tokens: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let [mut all, mut pairs] =
            [BITS, 1 << 16].map(|it| vec![0_u64; it / 64].into_boxed_slice());
        for token in tokens {
            for at in (1..token.len()).filter(|it| is_between(token, *it)) {
                let bit = bit(around(token, at, (at.min(2), (token.len() - at).min(2))));
                all[bit / 64] |= 1 << (bit % 64);
                let pair = pair(token, at);
                pairs[pair / 64] |= 1 << (pair % 64);
            }
        }
        Self { all, pairs }
    }

    /// Whether a token may reach across a place in a text.
    #[inline]
    fn may_cross(&self, text: &[u8], at: usize) -> bool {
        let pair = pair(text, at);
        if self.pairs[pair / 64] >> (pair % 64) & 1 == 0 {
            return false;
        }
        let (before, behind) = (at.min(2), (text.len() - at).min(2));
        (1..=before).any(|before| {
            (1..=behind).any(|behind| {
                let bit = bit(around(text, at, (before, behind)));
                self.all[bit / 64] >> (bit % 64) & 1 == 1
            })
        })
    }

    /// Where the part of a piece ends that begins at a place between two characters: before the next one across which no
    /// token reaches.
    pub(super) fn end(&self, piece: &[u8], from: usize) -> usize {
        let mut at = from + char_bytes(piece[from]);
        while at < piece.len() {
            if (piece[at] | piece[at - 1]) >= 0x80 && !self.may_cross(piece, at) {
                return at;
            }
            at += char_bytes(piece[at]);
        }
        piece.len()
    }
}
