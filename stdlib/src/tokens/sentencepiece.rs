//! SentencePiece: the `.model` files of its library, and its ids (version 0.2.3), whose order of steps this follows.

mod file;
mod normalizer;
mod pairs;
mod unigram;

use super::{Failed, PIECE_MAX, bounds::Bounds, ids::Ids, trie::NONE, words::Words};
use normalizer::{Normalizer, SPACE};
use pairs::{Pairs, Symbol, Symbols};
use std::cell::RefCell;
use unigram::{Lattice, Unigram};

pub(super) use file::read;
#[cfg(feature = "tokenizers")]
pub(super) use normalizer::is_text_map;

/// Bytes that a thread keeps for later texts, at the most.
const KEPT: usize = 4 << 20;

/// A model, as its file says.
pub(super) struct SentencePiece {
    normalizer: Normalizer,
    model: Model,
    ends: Ends,
    /// Where a word can be cut once more, if it can.
    bounds: Option<Bounds>,
    pieces: Vec<Piece>,
    /// The token of what is unknown, `NONE` where that is bytes.
    unknown: u32,
    /// The tokens of the bytes of what is unknown, where it is bytes.
    byte_ids: Option<Box<[u32; 256]>>,
    /// Whether a space is U+2581 in pieces.
    is_one_space: bool,
    decoding: Decoding,
}

/// How the pieces of a text are found.
enum Model {
    Unigram(Unigram),
    Pairs(Box<Pairs>),
    /// Whole words.
    Words(super::trie::Trie),
}

/// Where a text can be cut, so that no piece reaches across.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// Before spaces.
    BeforeSpace,
    /// Before each space.
    BeforeEachSpace,
    /// Behind spaces.
    BehindSpace,
    Nowhere,
}

/// A piece of the vocabulary.
struct Piece {
    bytes: Box<[u8]>,
    kind: Kind,
}

/// What a piece is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Unknown,
    /// In no text.
    Control,
    /// A token wherever it stands.
    Defined,
    /// On the way to other pieces.
    Unused,
    Byte(u8),
}

/// How ids become text.
struct Decoding {
    unknown: Vec<u8>,
    adds_prefix: bool,
    removes_spaces: bool,
    denormalizer: Option<Normalizer>,
}

/// What is computed of a text.
#[derive(Default)]
struct Scratch {
    text: Vec<u8>,
    lattice: Lattice,
    symbols: Symbols,
}

/// What is known of the text so far.
#[derive(Default)]
struct Before {
    /// Of the scores of its pieces.
    sum: f32,
    /// Unknown characters that follow each other are one token.
    is_unknown: bool,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Scratch {
    /// Gives back what a long text took.
    fn shrink(&mut self) {
        if self.text.capacity() + self.lattice.size() > KEPT {
            (self.text, self.lattice) = Default::default();
        }
        if self.symbols.size() > KEPT {
            self.symbols = Symbols::default();
        }
    }
}

impl SentencePiece {
    /// Numbers of tokens.
    pub(super) fn len(&self) -> u32 {
        self.pieces.len() as u32
    }

    /// The token that is written so in the file, or with spaces for U+2581.
    pub(super) fn id(&self, token: &str) -> Option<u32> {
        let is = |token: &[u8], is_text| {
            let found = (0..).zip(&self.pieces).find(|(_, it)| {
                matches!(it.kind, Kind::Normal | Kind::Defined | Kind::Unused) == is_text
                    && *it.bytes == *token
            });
            found.map(|it| it.0)
        };
        let spaced = token.replace(' ', "\u{2581}");
        let (token, spaced) = (token.as_bytes(), spaced.as_bytes());
        is(token, false).or_else(|| is(token, true)).or_else(|| is(spaced, true))
    }

    /// Tokens that are in no text: their ids, and what they are written as.
    pub(super) fn controls(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let all = (0..).zip(&self.pieces);
        let all = all.filter(|(_, it)| matches!(it.kind, Kind::Control | Kind::Unknown));
        all.map(|(id, it)| (id, &*it.bytes))
    }

    /// Appends the tokens of a text, until there are so many.
    pub(super) fn encode(
        &self,
        text: &str,
        (words, limit): (&mut Words, usize),
        to: &mut Ids,
    ) -> Result<(), Failed> {
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.text.clear();
            self.normalizer.normalize(text.as_bytes(), &mut scratch.text);
            let found = self.encode_normal(scratch, (words, limit), to);
            scratch.shrink();
            found
        })
    }

    fn encode_normal(
        &self,
        Scratch { text, lattice, symbols }: &mut Scratch,
        (words, limit): (&mut Words, usize),
        to: &mut Ids,
    ) -> Result<(), Failed> {
        let (mut begin, mut before) = (0, Before::default());
        while begin < text.len() {
            let word_end = self.ends.next(text, begin);
            let bounds = self.bounds.as_ref().filter(|_| !text[begin..word_end].is_ascii());
            while begin < word_end {
                let end = bounds.map_or(word_end, |it| it.end(&text[..word_end], begin));
                if end - begin > PIECE_MAX {
                    return Err(Failed::TooLong(end - begin));
                }
                let part = (&text[..], begin, end);
                match &self.model {
                    Model::Unigram(it) => {
                        self.unigram(it, part, (words, lattice), (&mut before, to));
                    }
                    Model::Pairs(it) => self.pairs(it, part, (words, symbols), (&mut before, to)),
                    Model::Words(it) => {
                        let word = &text[begin..end];
                        self.push(it.get(word).unwrap_or(NONE), word, &mut before, to);
                    }
                }
                begin = end;
                if to.len() >= limit {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn unigram(
        &self,
        model: &Unigram,
        (text, begin, end): (&[u8], usize, usize),
        (words, lattice): (&mut Words, &mut Lattice),
        (before, to): (&mut Before, &mut Ids),
    ) {
        let word = &text[begin..end];
        if word.len() == lead_len(word[0]) {
            let (id, sum) = model.character(word, before.sum);
            before.sum = sum;
            return self.push(id, word, before, to);
        }
        let (key, first) = (Words::key(text, begin, end), to.len());
        if let Some(bits) = key.and_then(|it| words.find(it, to)) {
            let tokens = &to.as_slice()[first..];
            let sum = model.sum(before.sum, tokens);
            if Unigram::holds(sum, bits) {
                let is_unknown = tokens.last() == Some(&self.unknown);
                *before = Before { sum, is_unknown };
                return;
            }
            to.truncate(first);
        }
        let (sum, bits) = match key {
            Some(_) => model.cut_surely(word, before.sum, lattice),
            None => (model.cut(word, before.sum, lattice), None),
        };
        before.sum = sum;
        // Tokens of which none is unknown are those of the word anywhere; nor does it matter what is before an unknown one
        // that follows a known one.
        let mut is_alike = true;
        let mut was_unknown = true;
        let ends = lattice.pieces().skip(1).map(|it| it.0).chain([word.len()]);
        for ((begin, id), end) in lattice.pieces().zip(ends) {
            is_alike &= id != NONE || !was_unknown && self.byte_ids.is_none();
            was_unknown = id == NONE;
            self.push(id, &word[begin..end], before, to);
        }
        if let (true, Some(key), Some(bits)) = (is_alike, key, bits) {
            words.insert(key, &to.as_slice()[first..], bits);
        }
    }

    fn pairs(
        &self,
        model: &Pairs,
        (text, begin, end): (&[u8], usize, usize),
        (words, symbols): (&mut Words, &mut Symbols),
        (before, to): (&mut Before, &mut Ids),
    ) {
        let (key, first) = (Words::key(text, begin, end), to.len());
        if key.is_some_and(|it| words.find(it, to).is_some()) {
            before.is_unknown = false;
            return;
        }
        let mut is_known = true;
        model.cut(&text[begin..end], symbols, |symbol| match symbol {
            Symbol::Piece(id) => self.push(id, &[], before, to),
            Symbol::Unknown(bytes) => {
                is_known = false;
                self.push(NONE, bytes, before, to);
            }
        });
        if let Some(key) = key.filter(|_| is_known) {
            words.insert(key, &to.as_slice()[first..], 0);
        }
    }

    /// Appends a piece, or what is unknown.
    #[inline]
    fn push(&self, id: u32, bytes: &[u8], before: &mut Before, to: &mut Ids) {
        match &self.byte_ids {
            _ if id != NONE => to.push(id),
            Some(ids) => {
                let is_space = |it: u8| self.is_one_space && it == b' ';
                for byte in bytes {
                    let all = if is_space(*byte) { SPACE } else { std::slice::from_ref(byte) };
                    all.iter().for_each(|it| to.push(ids[usize::from(*it)]));
                }
            }
            None if !before.is_unknown => to.push(self.unknown),
            None => {}
        }
        before.is_unknown = id == NONE;
    }

    /// Appends the text of tokens.
    ///
    /// # Errors
    /// The first one that is none.
    pub(super) fn decode(&self, ids: &[u32], to: &mut Vec<u8>) -> Result<(), u32> {
        let decoding = &self.decoding;
        let (mut text, mut bytes) = (Vec::new(), Vec::new());
        let mut is_first = true;
        for id in ids {
            let Piece { bytes: piece, kind } = self.pieces.get(*id as usize).ok_or(*id)?;
            if let Kind::Byte(byte) = kind {
                bytes.push(*byte);
                continue;
            }
            take_bytes(&mut bytes, &mut text);
            is_first &= text.is_empty();
            match kind {
                Kind::Control => continue,
                Kind::Unknown => text.extend_from_slice(&decoding.unknown),
                _ => {
                    let mut piece = &piece[..];
                    let strips = decoding.adds_prefix || decoding.removes_spaces;
                    if is_first && strips && piece.starts_with(SPACE) {
                        piece = &piece[SPACE.len()..];
                        is_first = decoding.removes_spaces;
                    }
                    push_spaced(piece, &mut text);
                }
            }
            is_first &= text.is_empty();
        }
        take_bytes(&mut bytes, &mut text);
        match &decoding.denormalizer {
            Some(it) => it.normalize(&text, to),
            None => to.extend_from_slice(&text),
        }
        Ok(())
    }
}

impl Ends {
    /// Where pieces reach across no place of theirs.
    fn of<'a>(pieces: impl Iterator<Item = &'a [u8]> + Clone) -> Self {
        let any = |what: fn(u8, u8) -> bool| {
            pieces.clone().any(|it| it.windows(2).any(|it| what(it[0], it[1])))
        };
        if !any(|left, right| left != b' ' && right == b' ') {
            return match any(|left, right| left == b' ' && right == b' ') {
                true => Self::BeforeSpace,
                false => Self::BeforeEachSpace,
            };
        }
        match any(|left, right| left == b' ' && right != b' ') {
            true => Self::Nowhere,
            false => Self::BehindSpace,
        }
    }

    /// The first one behind a place of a text.
    #[inline]
    fn next(self, text: &[u8], begin: usize) -> usize {
        let run = |from: usize, of_spaces: bool| {
            let len = text[from..].iter().position(|it| (*it == b' ') != of_spaces);
            len.map_or(text.len(), |it| from + it)
        };
        match self {
            Self::BeforeEachSpace => run(begin + 1, false),
            Self::BeforeSpace => run(run(begin, true), false),
            Self::BehindSpace => run(run(begin, false), true),
            Self::Nowhere => text.len(),
        }
    }
}

/// Bytes of the character that begins with a byte, as UTF-8 has them.
#[inline]
fn lead_len(byte: u8) -> usize {
    match byte >> 4 {
        12 | 13 => 2,
        14 => 3,
        15 => 4,
        _ => 1,
    }
}

/// Appends what bytes mean; those that are no character are U+FFFD, each.
fn take_bytes(bytes: &mut Vec<u8>, to: &mut Vec<u8>) {
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let len = normalizer::char_len(rest);
        to.extend_from_slice(if len == 0 { "\u{fffd}".as_bytes() } else { &rest[..len] });
        rest = &rest[len.max(1)..];
    }
    bytes.clear();
}

/// Appends a piece, with spaces for U+2581.
fn push_spaced(mut piece: &[u8], to: &mut Vec<u8>) {
    while let [first, rest @ ..] = piece {
        match piece.strip_prefix(SPACE) {
            Some(behind) => {
                to.push(b' ');
                piece = behind;
            }
            None => {
                to.push(*first);
                piece = rest;
            }
        }
    }
}
