//! Tokenizers: the files of their models, and texts as the numbers of tokens.
//!
//! | file | what |
//! |---|---|
//! | `model.rs` | what the files hold |
//! | `bytes.rs` | byte-level BPE |
//! | `split.rs` | where it cuts a text first, by classes of characters (`classes.rs`), or by any regular expression (`expression.rs`) |
//! | `bounds.rs` | where a piece can be cut once more |
//! | `merges.rs` | how the bytes of a piece become tokens |
//! | `sentencepiece.rs` | SentencePiece: Unigram, and BPE of characters |
//! | `trie.rs` | tokens by how they begin |
//! | `wordpiece.rs` | WordPiece, as of BERT |
//! | `library.rs` | kinds of `tokenizer.json` that are none of these |
//! | `ids.rs` | the ids of a text while they become more |
//! | `offsets.rs` | which tokens a part of a text is in |
//! | `words.rs` | the tokens of short pieces that a thread has seen lately |

mod bounds;
mod bytes;
mod classes;
#[cfg(feature = "tokenizers")]
mod expression;
mod ids;
#[cfg(feature = "tokenizers")]
mod library;
mod merges;
mod model;
#[cfg(feature = "chat")]
mod offsets;
mod sentencepiece;
mod split;
mod trie;
mod wordpiece;
mod words;

pub(crate) use ids::Ids;
pub(crate) use split::Splitter;

use aho_corasick::{AhoCorasick, MatchKind};
use bytes::Bytes;
use classes::{CLASSES, WORD};
use plan::File;
use sentencepiece::SentencePiece;
#[cfg(feature = "chat")]
use std::borrow::Cow;
use std::{
    cell::RefCell,
    collections::HashMap,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use wordpiece::WordPiece;
use words::Words;

/// Bytes of a piece that is merged, at the most: what merges it takes 28 times as much memory.
const PIECE_MAX: usize = 16 << 20;
/// Numbers of tokens end before this: no model has so many.
const IDS_MAX: u32 = 1 << 24;
/// Models whose words a thread remembers.
const MODELS: usize = 4;

/// A model: its tokens, and how a text becomes these.
pub(crate) struct Tokenizer {
    kind: Kind,
    specials: Vec<Special>,
    /// Which of them has a number.
    special_of: HashMap<u32, usize>,
    has_always: bool,
    /// Finds what they are written as; of two that begin alike, the longer one.
    finder: AhoCorasick,
    /// None where the file does not tell.
    frame: Option<Frame>,
    /// Its number in this process.
    number: u64,
}

/// How the tokens of a text are found.
enum Kind {
    Bytes(Box<Bytes>),
    SentencePiece(Box<SentencePiece>),
    WordPiece(Box<WordPiece>),
    /// Any other.
    #[cfg(feature = "tokenizers")]
    Library(Box<library::Library>),
}

/// A token that is no text, unless a text that says it is taken for it.
#[derive(Debug, Clone)]
struct Special {
    text: String,
    id: u32,
    /// Whether a text that says it always is it.
    is_always: bool,
    /// Whether the spaces before it, and behind it, belong to it.
    takes_before: bool,
    takes_behind: bool,
    /// Whether it is none within a word.
    is_word: bool,
}

impl Special {
    fn new(text: String, id: u32) -> Self {
        let [is_always, takes_before, takes_behind, is_word] = [false; 4];
        Self { text, id, is_always, takes_before, takes_behind, is_word }
    }

    /// What of a text it takes that is written so between two places, the first of which is not before `done`.
    fn taken(
        &self,
        text: &str,
        (begin, end): (usize, usize),
        done: usize,
    ) -> Option<(usize, usize)> {
        let (before, behind) = (&text[..begin], &text[end..]);
        let is_word = |(at, _)| CLASSES.at(text.as_bytes(), at).0 & WORD != 0;
        let last = before.char_indices().next_back();
        let next = behind.chars().next().map(|it| (end, it));
        if self.is_word && (last.is_some_and(is_word) || next.is_some_and(is_word)) {
            return None;
        }
        let begin = if self.takes_before { before.trim_end().len().max(done) } else { begin };
        let spaces = behind.len() - behind.trim_start().len();
        Some((begin, if self.takes_behind { end + spaces } else { end }))
    }
}

/// What stands around the tokens of a text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    pub(crate) before: Vec<u32>,
    pub(crate) behind: Vec<u32>,
}

/// How a text is encoded.
#[derive(Debug, Clone)]
pub(crate) struct Encoding {
    /// For byte-level BPE.
    pub(crate) splitter: Splitter,
    /// Whether what a special token is written as is that token.
    pub(crate) specials: bool,
    /// Tokens, at the most.
    pub(crate) most: usize,
}

/// Why a text has no tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failed {
    /// A piece is too long to be merged: its bytes.
    TooLong(usize),
    /// The model has none for it.
    #[cfg(feature = "tokenizers")]
    Refused(String),
}

/// A part of a text that became tokens alone, and which of the tokens these are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) text: Range<usize>,
    pub(crate) ids: Range<usize>,
}

thread_local! {
    /// What this thread remembers of each model; the last one that it used comes first.
    static KNOWN: RefCell<Vec<(u64, Words)>> = const { RefCell::new(Vec::new()) };
}

/// The model that a file holds, made once for all who ask; none where nobody has read the file.
pub(crate) fn of_file(file: &File) -> Option<Result<Arc<Tokenizer>, String>> {
    file.made(model::read)
}

impl Tokenizer {
    fn new(kind: Kind, specials: Vec<Special>, frame: Option<Frame>) -> Result<Self, String> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let finder = finder(&specials)?;
        let has_always = specials.iter().any(|it| it.is_always);
        let special_of = specials.iter().zip(0..).map(|(it, at)| (it.id, at)).collect();
        let number = MADE.fetch_add(1, Relaxed);
        Ok(Self { kind, specials, special_of, has_always, finder, frame, number })
    }

    /// Whether a text is split before its tokens are looked for: whether it is byte-level BPE.
    pub(crate) fn splits(&self) -> bool {
        matches!(self.kind, Kind::Bytes(_))
    }

    /// How it splits texts, where its file tells.
    pub(crate) fn splitter(&self) -> Option<Splitter> {
        match &self.kind {
            Kind::Bytes(it) => it.splitter.clone(),
            _ => Some(Splitter::Whole),
        }
    }

    /// What its file puts around a text, where it tells.
    pub(crate) fn frame(&self) -> Option<&Frame> {
        self.frame.as_ref()
    }

    /// Numbers of tokens: one more than the largest.
    pub(crate) fn size(&self) -> u32 {
        let specials = self.specials.iter().map(|it| it.id + 1).max().unwrap_or(0);
        specials.max(match &self.kind {
            Kind::Bytes(it) => it.vocabulary.len(),
            Kind::SentencePiece(it) => it.len(),
            Kind::WordPiece(it) => it.len(),
            #[cfg(feature = "tokenizers")]
            Kind::Library(it) => it.len(),
        })
    }

    /// What its special tokens are written as.
    pub(crate) fn specials(&self) -> Vec<&str> {
        self.specials.iter().map(|it| &*it.text).collect()
    }

    /// The number of a token that is written so.
    pub(crate) fn id(&self, token: &str) -> Option<u32> {
        let special = self.specials.iter().find(|it| it.text == token).map(|it| it.id);
        special.or_else(|| match &self.kind {
            Kind::Bytes(it) => it.vocabulary.id(token.as_bytes()),
            Kind::SentencePiece(it) => it.id(token),
            Kind::WordPiece(it) => it.id(token),
            #[cfg(feature = "tokenizers")]
            Kind::Library(it) => it.id(token),
        })
    }

    /// What a special token is written as.
    fn special(&self, id: u32) -> Option<&str> {
        self.special_of.get(&id).map(|it| &*self.specials[*it].text)
    }

    /// Appends the text of tokens.
    ///
    /// # Errors
    /// The first one that is none.
    pub(crate) fn decode(&self, ids: &[u32], to: &mut Vec<u8>) -> Result<(), u32> {
        match &self.kind {
            Kind::SentencePiece(it) => return it.decode(ids, to),
            Kind::WordPiece(it) => return it.decode(ids, |id| self.special(id), to),
            #[cfg(feature = "tokenizers")]
            Kind::Library(it) => return it.decode(ids, to),
            Kind::Bytes(it) => {
                for id in ids {
                    let special = self.special(*id).map(str::as_bytes);
                    let bytes = special.or_else(|| it.vocabulary.bytes(*id)).ok_or(*id)?;
                    to.extend_from_slice(bytes);
                }
            }
        }
        Ok(())
    }

    /// Appends the tokens of a text.
    ///
    /// # Errors
    /// The text has no tokens.
    pub(crate) fn encode(&self, text: &str, how: &Encoding, to: &mut Ids) -> Result<(), Failed> {
        self.encode_parts(text, how, to, |_| {})
    }

    /// The same; `each` is told of the parts of the text that become tokens alone, in order: special tokens, and what
    /// stands between them.
    ///
    /// # Errors
    /// The text has no tokens.
    pub(crate) fn encode_parts(
        &self,
        text: &str,
        how: &Encoding,
        to: &mut Ids,
        mut each: impl FnMut(Part),
    ) -> Result<(), Failed> {
        let limit = to.len().saturating_add(how.most);
        KNOWN.with_borrow_mut(|known| {
            let words = words_of(known, self.number);
            let mut done = 0;
            #[cfg(feature = "tokenizers")]
            if let Kind::Library(it) = &self.kind {
                it.encode(text, how.specials, to)?;
                to.truncate(limit);
                return Ok(());
            }
            if how.specials || self.has_always {
                for found in self.finder.find_iter(text) {
                    let special = &self.specials[found.pattern()];
                    let taken = special.taken(text, (found.start(), found.end()), done);
                    let taken = taken.filter(|_| how.specials || special.is_always);
                    let Some((begin, end)) = taken else { continue };
                    if done < begin {
                        let first = to.len();
                        self.encode_plain(&text[done..begin], how, (words, limit), to)?;
                        each(Part { text: done..begin, ids: first..to.len() });
                    }
                    to.push(special.id);
                    each(Part { text: begin..end, ids: to.len() - 1..to.len() });
                    done = end;
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

    /// What a token of byte-level BPE is.
    pub(crate) fn bytes(&self, id: u32) -> Option<&[u8]> {
        let special = || self.specials.iter().find(|it| it.id == id).map(|it| it.text.as_bytes());
        let Kind::Bytes(bytes) = &self.kind else { return special() };
        bytes.vocabulary.bytes(id).or_else(special)
    }

    /// A text as byte-level BPE splits it.
    #[cfg(feature = "chat")]
    fn composed<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.kind {
            Kind::Bytes(it) => it.composed(text),
            _ => Cow::Borrowed(text),
        }
    }

    /// Appends the tokens of a text, where merges are dropped at random: `drops` is asked of each. Special tokens are text.
    ///
    /// # Errors
    /// A piece of the text is too long.
    pub(crate) fn encode_dropping(
        &self,
        text: &str,
        splitter: &Splitter,
        drops: &mut dyn FnMut() -> bool,
        to: &mut Ids,
    ) -> Result<(), Failed> {
        let Kind::Bytes(bytes) = &self.kind else {
            unreachable!("merges of bytes alone are dropped: who asks has looked")
        };
        bytes.encode_dropping(text, splitter, drops, to)
    }

    fn encode_plain(
        &self,
        text: &str,
        how: &Encoding,
        known: (&mut Words, usize),
        to: &mut Ids,
    ) -> Result<(), Failed> {
        match &self.kind {
            Kind::Bytes(it) => it.encode(text, &how.splitter, known, to),
            Kind::SentencePiece(it) => it.encode(text, known, to),
            Kind::WordPiece(it) => {
                it.encode(text, known, to);
                Ok(())
            }
            #[cfg(feature = "tokenizers")]
            Kind::Library(it) => it.encode(text, how.specials, to),
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
