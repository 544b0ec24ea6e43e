//! Tokenizers: the files of their models, and texts as the numbers of tokens.
//!
//! | file | what |
//! |---|---|
//! | `model.rs` | what the files hold |
//! | `split.rs` | where a text is cut first, by classes of characters (`classes.rs`) |
//! | `bounds.rs` | where a piece can be cut once more |
//! | `merges.rs` | how the bytes of a piece become tokens |
//! | `ids.rs` | the ids of a text while they become more |
//! | `offsets.rs` | which tokens a part of a text is in |
//! | `words.rs` | the tokens of short pieces that a thread has seen lately |

mod bounds;
mod classes;
mod ids;
mod merges;
mod model;
#[cfg(feature = "chat")]
mod offsets;
mod split;
mod words;

pub(crate) use ids::Ids;
pub(crate) use split::Splitter;

use aho_corasick::{AhoCorasick, MatchKind};
use bounds::Bounds;
use merges::{Merges, Vocabulary};
use plan::File;
use std::{
    borrow::Cow,
    cell::RefCell,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use words::{Key, Words};

/// Bytes of a piece that is merged, at the most: what merges it takes 28 times as much memory.
const PIECE_MAX: usize = 16 << 20;
/// Models whose words a thread remembers.
const MODELS: usize = 4;

/// A model: its tokens, and how a text becomes these.
pub(crate) struct Tokenizer {
    vocabulary: Vocabulary,
    merges: Merges,
    bounds: Bounds,
    /// None where the file does not tell.
    splitter: Option<Splitter>,
    /// Whether a piece that is a token is that one, whatever merges would make of it.
    whole_first: bool,
    /// Whether texts are composed first (NFC).
    composes: bool,
    specials: Vec<Special>,
    /// Finds what they are written as; of two that begin alike, the longer one.
    finder: AhoCorasick,
    frame: Frame,
    /// Its number in this process.
    number: u64,
}

/// A token that is no text, unless a text that says it is taken for it.
#[derive(Debug, Clone)]
struct Special {
    text: String,
    id: u32,
}

/// What stands around the tokens of a text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    pub(crate) before: Vec<u32>,
    pub(crate) behind: Vec<u32>,
}

/// How a text is encoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Encoding {
    pub(crate) splitter: Splitter,
    /// Whether what a special token is written as is that token.
    pub(crate) specials: bool,
    /// Tokens, at the most.
    pub(crate) most: usize,
}

/// A part of a text that became tokens alone, and which of the tokens these are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) text: Range<usize>,
    pub(crate) ids: Range<usize>,
}

/// A piece that is too long to be merged: its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong(pub(crate) usize);

thread_local! {
    /// What this thread remembers of each model; the last one that it used comes first.
    static KNOWN: RefCell<Vec<(u64, Words)>> = const { RefCell::new(Vec::new()) };
}

/// The model that a file holds, made once for all who ask; none where nobody has read the file.
pub(crate) fn of_file(file: &File) -> Option<Result<Arc<Tokenizer>, String>> {
    file.made(model::read)
}

impl Tokenizer {
    fn new(vocabulary: Vocabulary, merges: Merges, splitter: Option<Splitter>) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self {
            bounds: Bounds::new(&vocabulary),
            vocabulary,
            merges,
            splitter,
            whole_first: false,
            composes: false,
            specials: Vec::new(),
            finder: finder(&[]).expect("nothing is found by nothing"),
            frame: Frame::default(),
            number: MADE.fetch_add(1, Relaxed),
        }
    }

    fn with(self, specials: Vec<Special>, whole_first: bool) -> Result<Self, String> {
        let finder = finder(&specials)?;
        Ok(Self { specials, finder, whole_first, ..self })
    }

    /// How it splits texts, where its file tells.
    pub(crate) fn splitter(&self) -> Option<Splitter> {
        self.splitter
    }

    /// What its file puts around a text.
    pub(crate) fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Numbers of tokens: one more than the largest.
    pub(crate) fn size(&self) -> u32 {
        let specials = self.specials.iter().map(|it| it.id + 1);
        specials.max().unwrap_or(0).max(self.vocabulary.len())
    }

    /// What its special tokens are written as.
    pub(crate) fn specials(&self) -> Vec<&str> {
        self.specials.iter().map(|it| &*it.text).collect()
    }

    /// The number of a token that is written so.
    pub(crate) fn id(&self, token: &str) -> Option<u32> {
        let special = self.specials.iter().find(|it| it.text == token).map(|it| it.id);
        special.or_else(|| self.vocabulary.id(token.as_bytes()))
    }

    /// What a token is.
    pub(crate) fn bytes(&self, id: u32) -> Option<&[u8]> {
        let special = || self.specials.iter().find(|it| it.id == id).map(|it| it.text.as_bytes());
        self.vocabulary.bytes(id).or_else(special)
    }

    /// Appends the tokens of a text.
    ///
    /// # Errors
    /// A piece of it is too long.
    pub(crate) fn encode(&self, text: &str, how: &Encoding, to: &mut Ids) -> Result<(), TooLong> {
        self.encode_parts(text, how, to, |_| {})
    }

    /// The same; `each` is told of the parts of the text that become tokens alone, in order: special tokens, and what
    /// stands between them.
    ///
    /// # Errors
    /// A piece of it is too long.
    pub(crate) fn encode_parts(
        &self,
        text: &str,
        how: &Encoding,
        to: &mut Ids,
        mut each: impl FnMut(Part),
    ) -> Result<(), TooLong> {
        let limit = to.len().saturating_add(how.most);
        KNOWN.with_borrow_mut(|known| {
            let words = words_of(known, self.number);
            let mut done = 0;
            if how.specials {
                for found in self.finder.find_iter(text) {
                    let first = to.len();
                    self.encode_plain(&text[done..found.start()], how, (words, limit), to)?;
                    each(Part { text: done..found.start(), ids: first..to.len() });
                    to.push(self.specials[found.pattern()].id);
                    each(Part { text: found.range(), ids: to.len() - 1..to.len() });
                    done = found.end();
                    if to.len() >= limit {
                        break;
                    }
                }
            }
            if to.len() < limit {
                let first = to.len();
                self.encode_plain(&text[done..], how, (words, limit), to)?;
                each(Part { text: done..text.len(), ids: first..to.len() });
            }
            to.truncate(limit);
            Ok(())
        })
    }

    fn encode_plain(
        &self,
        text: &str,
        how: &Encoding,
        (words, limit): (&mut Words, usize),
        to: &mut Ids,
    ) -> Result<(), TooLong> {
        let text = self.composed(text);
        let text = text.as_bytes();
        let mut done = Ok(());
        how.splitter.each(text, |begin, end| {
            let key = Words::key(text, begin, end);
            if !key.is_some_and(|it| words.find(it, to)) {
                let first = to.len();
                done = self.encode_piece(&text[begin..end], words, to);
                if let Some(key) = key {
                    words.insert(key, &to.as_slice()[first..]);
                }
            }
            done.is_ok() && to.len() < limit
        });
        done
    }

    fn encode_piece(&self, piece: &[u8], words: &mut Words, to: &mut Ids) -> Result<(), TooLong> {
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
            if !key.is_some_and(|it| words.find(it, to)) {
                let first = to.len();
                self.merge(&piece[begin..end], to)?;
                if let Some(key) = key {
                    words.insert(key, &to.as_slice()[first..]);
                }
            }
            begin = end;
        }
        Ok(())
    }

    fn merge(&self, part: &[u8], to: &mut Ids) -> Result<(), TooLong> {
        if part.len() > PIECE_MAX {
            return Err(TooLong(part.len()));
        }
        self.merges.encode(part, to);
        Ok(())
    }

    fn composed<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let is_composed = || text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes;
        match self.composes && !is_composed() {
            true => Cow::Owned(text.nfc().collect()),
            false => Cow::Borrowed(text),
        }
    }
}

/// Finds what special tokens are written as.
fn finder(specials: &[Special]) -> Result<AhoCorasick, String> {
    let texts = specials.iter().map(|it| &it.text);
    let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts);
    finder.map_err(|it| format!("its special tokens cannot be looked for: {it}"))
}

/// What the thread remembers of a model.
fn words_of(known: &mut Vec<(u64, Words)>, number: u64) -> &mut Words {
    match known.iter().position(|it| it.0 == number) {
        Some(0) => {}
        Some(at) => known.swap(0, at),
        None => {
            known.truncate(MODELS - 1);
            known.insert(0, (number, Words::new()));
        }
    }
    &mut known[0].1
}

#[cfg(test)]
pub(crate) mod tests;
