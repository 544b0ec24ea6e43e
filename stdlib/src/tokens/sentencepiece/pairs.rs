//! BPE of SentencePiece: characters become pieces by merging neighbours that together are one, those of the highest score
//! first.

use super::lead_len;
use crate::tokens::{
    ids::Ids,
    merges::Merges,
    trie::{NONE, Trie},
};
use std::collections::HashMap;

/// How often a piece that is not to be used is taken apart, at the most: as in SentencePiece.
const DEPTH_MAX: usize = 100;

/// A piece that texts are made of.
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) id: u32,
    pub(super) score: f32,
    pub(super) is_unused: bool,
}

/// A model of merges.
pub(super) struct Pairs {
    merges: Merges,
    /// Characters that are pieces, or parts of some. Those that are no pieces have numbers behind all ids.
    characters: Trie,
    /// The characters that have these numbers.
    parts: Vec<Vec<u8>>,
    /// The number of the first one.
    pieces: u32,
    /// What is one piece wherever it stands.
    defined: Option<Trie>,
    /// Pieces that only are on the way to others, and what they are.
    unused: HashMap<u32, Vec<u8>>,
}

/// What is computed of a text.
#[derive(Default)]
pub(super) struct Symbols {
    run: Vec<u32>,
    merged: Ids,
    /// Pairs that a piece that is not to be used could be made of.
    made_of: HashMap<u32, [u32; 2]>,
}

impl Symbols {
    /// Bytes that it takes, about.
    pub(super) fn size(&self) -> usize {
        4 * (self.run.capacity() + self.merged.capacity()) + 16 * self.made_of.capacity()
    }
}

/// What a text consists of.
pub(super) enum Symbol<'a> {
    Piece(u32),
    Unknown(&'a [u8]),
}

impl Pairs {
    /// Of pieces whose ids are less than `pieces`, and of those that are one wherever they stand. Without merges, each
    /// character is a piece.
    pub(super) fn new(
        all: &[Piece<'_>],
        defined: &[(&[u8], u32)],
        (pieces, has_merges): (u32, bool),
    ) -> Self {
        let ids: HashMap<&[u8], u32> = all.iter().map(|it| (it.bytes, it.id)).collect();
        let (mut numbers, mut parts) = (HashMap::new(), Vec::new());
        for character in all.iter().flat_map(|it| characters(it.bytes)) {
            let mut new = || {
                parts.push(character.to_vec());
                pieces + parts.len() as u32 - 1
            };
            let number = *ids.get(character).unwrap_or(&NONE);
            numbers.entry(character).or_insert_with(|| if number == NONE { new() } else { number });
        }
        let symbol = |it: &[u8]| ids.get(it).or_else(|| numbers.get(it)).copied();
        let mut scores: Vec<f32> = all.iter().map(|it| it.score).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.dedup_by(|a, b| a.to_bits() == b.to_bits());
        let mut merges = Vec::new();
        for piece in all.iter().filter(|_| has_merges) {
            let rank = scores.binary_search_by(|it| piece.score.total_cmp(it));
            let rank = rank.expect("it is the score of a piece") as u32;
            let ends = characters(piece.bytes).scan(0, |end, it| {
                *end += it.len();
                Some(*end)
            });
            for end in ends.filter(|it| *it < piece.bytes.len()) {
                let (left, right) = piece.bytes.split_at(end);
                if let (Some(left), Some(right)) = (symbol(left), symbol(right)) {
                    merges.push(([left, right], piece.id, rank));
                }
            }
        }
        let trie = |of: &[(&[u8], u32)]| Trie::new(of.iter().map(|it| (it.0, it.1, 0.0)));
        let numbers: Vec<(&[u8], u32)> = numbers.into_iter().collect();
        let unused = all.iter().filter(|it| it.is_unused);
        Self {
            merges: Merges::by_rank(&merges),
            characters: trie(&numbers),
            parts,
            pieces,
            defined: (!defined.is_empty()).then(|| trie(defined)),
            unused: unused.map(|it| (it.id, it.bytes.to_vec())).collect(),
        }
    }

    /// Whether what a word becomes depends on those behind it.
    pub(super) fn has_unused(&self) -> bool {
        !self.unused.is_empty()
    }

    /// Calls `visit` with what a text consists of.
    pub(super) fn cut<'a>(
        &'a self,
        text: &'a [u8],
        symbols: &mut Symbols,
        mut visit: impl FnMut(Symbol<'a>),
    ) {
        symbols.made_of.clear();
        if self.has_unused() {
            // What they are made of is what was offered last, wherever that was.
            self.runs(text, symbols, &mut |_, _| {});
            let made_of = std::mem::take(&mut symbols.made_of);
            return self.runs(text, symbols, &mut |merged, stop| {
                merged.iter().for_each(|it| self.take_apart(*it, &made_of, 0, &mut visit));
                stop.into_iter().for_each(&mut visit);
            });
        }
        self.runs(text, symbols, &mut |merged, stop| {
            merged.iter().for_each(|it| visit(self.symbol(*it)));
            stop.into_iter().for_each(&mut visit);
        });
    }

    /// Merges what stands between characters that are part of no piece, and what is defined as one.
    fn runs<'a>(
        &'a self,
        text: &'a [u8],
        symbols: &mut Symbols,
        visit: &mut dyn FnMut(&[u32], Option<Symbol<'a>>),
    ) {
        let mut at = 0;
        symbols.run.clear();
        while at < text.len() {
            let rest = &text[at..];
            let len = lead_len(rest[0]).min(rest.len());
            let defined = self.defined.as_ref().and_then(|it| it.longest(rest));
            let known = || self.characters.get(&rest[..len]);
            let stop = match (defined, defined.is_none().then(known).flatten()) {
                (Some((_, id)), _) => Symbol::Piece(id),
                (_, Some(id)) => {
                    symbols.run.push(id);
                    at += len;
                    continue;
                }
                _ => Symbol::Unknown(&rest[..len]),
            };
            self.merge(symbols);
            visit(symbols.merged.as_slice(), Some(stop));
            at += defined.map_or(len, |it| it.0);
        }
        self.merge(symbols);
        visit(symbols.merged.as_slice(), None);
    }

    fn merge(&self, symbols: &mut Symbols) {
        symbols.merged.clear();
        if self.has_unused() {
            let made_of = &mut symbols.made_of;
            let note = |pair: [u32; 2], rank| {
                let id = self.merges.made(rank, pair[0], pair[1]);
                if self.unused.contains_key(&id) {
                    made_of.insert(id, pair);
                }
            };
            self.merges.merge_linked(symbols.run.iter().copied(), note, &mut symbols.merged);
        } else {
            self.merges.merge(&symbols.run, &mut symbols.merged);
        }
        symbols.run.clear();
    }

    fn symbol(&self, id: u32) -> Symbol<'_> {
        match id.checked_sub(self.pieces) {
            None => Symbol::Piece(id),
            Some(part) => Symbol::Unknown(&self.parts[part as usize]),
        }
    }

    /// What a piece is made of that is not to be used.
    fn take_apart<'a>(
        &'a self,
        id: u32,
        made_of: &HashMap<u32, [u32; 2]>,
        depth: usize,
        visit: &mut impl FnMut(Symbol<'a>),
    ) {
        match (self.unused.get(&id), made_of.get(&id)) {
            (Some(_), Some(pair)) if depth <= DEPTH_MAX => {
                pair.iter().for_each(|it| self.take_apart(*it, made_of, depth + 1, visit));
            }
            (Some(bytes), None) => visit(Symbol::Unknown(bytes)),
            _ => visit(self.symbol(id)),
        }
    }
}

/// The characters of a string, by the first byte of each.
fn characters(of: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = of;
    std::iter::from_fn(move || {
        let len = lead_len(*rest.first()?).min(rest.len());
        let (first, behind) = rest.split_at(len);
        rest = behind;
        Some(first)
    })
}
