//! Byte-level BPE: a text is split into words, whose bytes become tokens by merges.

use super::{
    Failed, PIECE_MAX,
    bounds::Bounds,
    ids::Ids,
    merges::{ByteMerges, Vocabulary},
    split::Splitter,
    words::{Key, Words},
};
use std::borrow::Cow;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// A model.
pub(super) struct Bytes {
    pub(super) vocabulary: Vocabulary,
    pub(super) merges: ByteMerges,
    pub(super) bounds: Bounds,
    /// None where the file does not tell.
    pub(super) splitter: Option<Splitter>,
    /// Whether a piece that is a token is that one, whatever merges would make of it.
    pub(super) whole_first: bool,
    /// Whether texts are composed first (NFC).
    pub(super) composes: bool,
}

impl Bytes {
    pub(super) fn new(
        vocabulary: Vocabulary,
        merges: ByteMerges,
        splitter: Option<Splitter>,
    ) -> Self {
        let bounds = Bounds::new(vocabulary.iter().map(|it| it.1));
        Self { vocabulary, merges, bounds, splitter, whole_first: false, composes: false }
    }

    /// Appends the tokens of a text, until there are so many.
    pub(super) fn encode(
        &self,
        text: &str,
        splitter: &Splitter,
        (words, limit): (&mut Words, usize),
        to: &mut Ids,
    ) -> Result<(), Failed> {
        let composed = self.composed(text);
        let text = composed.as_bytes();
        let mut done = Ok(());
        splitter.each(&composed, |begin, end| {
            let key = Words::key(text, begin, end);
            if key.is_none_or(|it| words.find(it, to).is_none()) {
                let first = to.len();
                done = self.encode_piece(&text[begin..end], words, to);
                if let Some(key) = key {
                    words.insert(key, &to.as_slice()[first..], 0);
                }
            }
            done.is_ok() && to.len() < limit
        })?;
        done
    }

    fn encode_piece(&self, piece: &[u8], words: &mut Words, to: &mut Ids) -> Result<(), Failed> {
        if let Some(id) = self.vocabulary.id(piece).filter(|_| self.whole_first) {
            to.push(id);
            return Ok(());
        }
        if piece.is_ascii() {
            return self.merge(piece, to);
        }
        let mut begin = 0;
        while begin < piece.len() {
            let end = self.bounds.end(piece, begin);
            let key = Words::key(piece, begin, end).map(Key::of_part);
            if key.is_none_or(|it| words.find(it, to).is_none()) {
                let first = to.len();
                self.merge(&piece[begin..end], to)?;
                if let Some(key) = key {
                    words.insert(key, &to.as_slice()[first..], 0);
                }
            }
            begin = end;
        }
        Ok(())
    }

    /// The same where merges are dropped at random: `drops` is asked of each. Nothing is remembered, and no token is
    /// found as a whole.
    pub(super) fn encode_dropping(
        &self,
        text: &str,
        splitter: &Splitter,
        drops: &mut dyn FnMut() -> bool,
        to: &mut Ids,
    ) -> Result<(), Failed> {
        let composed = self.composed(text);
        let mut done = Ok(());
        splitter.each(&composed, |begin, end| {
            let piece = &composed.as_bytes()[begin..end];
            let is_ascii = piece.is_ascii();
            let mut begin = 0;
            while begin < piece.len() {
                let end = if is_ascii { piece.len() } else { self.bounds.end(piece, begin) };
                if end - begin > PIECE_MAX {
                    done = Err(Failed::TooLong(end - begin));
                    return false;
                }
                self.merges.encode_dropping(&piece[begin..end], drops, to);
                begin = end;
            }
            true
        })?;
        done
    }

    fn merge(&self, part: &[u8], to: &mut Ids) -> Result<(), Failed> {
        if part.len() > PIECE_MAX {
            return Err(Failed::TooLong(part.len()));
        }
        self.merges.encode(part, to);
        Ok(())
    }

    /// A text as it is split: composed, where the model composes texts.
    pub(super) fn composed<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let is_composed = || text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes;
        match self.composes && !is_composed() {
            true => Cow::Owned(text.nfc().collect()),
            false => Cow::Borrowed(text),
        }
    }
}
