//! WordPiece, as of BERT: words are cut at spaces and punctuation, and each into the longest tokens that it begins with (Devlin
//! et al., NAACL 2019). Ids are those of Hugging Face's `tokenizers`.

use super::{ids::Ids, trie::Trie, words::Words};
use std::cell::RefCell;
use unicode_categories::UnicodeCategories;
use unicode_normalization::UnicodeNormalization;

/// A model.
pub(super) struct WordPiece {
    /// What words begin with, and what they go on with.
    first: Trie,
    further: Trie,
    /// Ids and their tokens, in this order.
    tokens: Vec<(u32, Box<str>)>,
    rules: Rules,
}

/// What a file says of how words become tokens.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    /// The token of a word that cannot be cut.
    pub(super) unknown: u32,
    /// What tokens begin with that begin no word.
    pub(super) prefix: String,
    /// Characters of a word that is known, at the most.
    pub(super) longest: usize,
    pub(super) normal: Normal,
    /// Whether no space is left before signs when tokens become text again.
    pub(super) cleans: bool,
}

/// What is done to characters first (`BertNormalizer`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Normal {
    pub(super) cleans: bool,
    /// Whether each ideograph is a word.
    pub(super) separates: bool,
    pub(super) strips_accents: bool,
    pub(super) lowers: bool,
}

thread_local! {
    /// The normal form of what stands between two spaces.
    static NORMAL: RefCell<String> = RefCell::default();
}

/// Bytes that a thread keeps for later texts, at the most.
const KEPT: usize = 1 << 20;

/// What is written without the space in front that tokens are joined with: `cleanup` of `tokenizers`.
const JOINED: [(&str, &str); 11] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

impl WordPiece {
    /// Of tokens that are not empty, in the order of their ids.
    pub(super) fn new(tokens: Vec<(u32, Box<str>)>, rules: Rules) -> Self {
        debug_assert!(tokens.is_sorted_by_key(|it| it.0));
        let further =
            tokens.iter().filter_map(|(id, it)| Some((it.strip_prefix(&*rules.prefix)?, id)));
        let further = further.filter(|it| !it.0.is_empty());
        let further = Trie::new(further.map(|(it, id)| (it.as_bytes(), *id, 0.0)));
        let first = Trie::new(tokens.iter().map(|(id, it)| (it.as_bytes(), *id, 0.0)));
        Self { first, further, tokens, rules }
    }

    /// Numbers of tokens.
    pub(super) fn len(&self) -> u32 {
        self.tokens.last().map_or(0, |it| it.0 + 1)
    }

    /// The token that is written so.
    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.first.get(token.as_bytes())
    }

    /// Appends the tokens of a text, until there are so many.
    pub(super) fn encode(&self, text: &str, (words, limit): (&mut Words, usize), to: &mut Ids) {
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() && to.len() < limit {
            let is_space = |it: &u8| matches!(it, b' ' | b'\n' | b'\t' | b'\r');
            if is_space(&text[at]) {
                at += 1;
                continue;
            }
            let len = text[at..].iter().position(is_space);
            let end = len.map_or(text.len(), |it| at + it);
            let key = Words::key(text, at, end);
            if key.is_none_or(|it| words.find(it, to).is_none()) {
                let first = to.len();
                // A text is cut at characters of ASCII alone.
                let part = std::str::from_utf8(&text[at..end]).expect("it is a part of a text");
                self.part(part, limit, to);
                if let Some(key) = key.filter(|_| to.len() < limit) {
                    words.insert(key, &to.as_slice()[first..], 0);
                }
            }
            at = end;
        }
    }

    /// Appends the tokens of what stands between two spaces.
    fn part(&self, part: &str, limit: usize, to: &mut Ids) {
        NORMAL.with_borrow_mut(|normal| {
            normal.clear();
            self.rules.normal.push(part, normal);
            let mut rest = &normal[..];
            while let Some(first) = rest.chars().next()
                && to.len() < limit
            {
                let ends = |it: char| it.is_whitespace() || is_punctuation(it);
                let len = match first {
                    it if ends(it) => it.len_utf8(),
                    _ => rest.find(ends).unwrap_or(rest.len()),
                };
                if !first.is_whitespace() {
                    self.word(&rest[..len], to);
                }
                rest = &rest[len..];
            }
            if normal.capacity() > KEPT {
                *normal = String::new();
            }
        });
    }

    fn word(&self, word: &str, to: &mut Ids) {
        let begun = to.len();
        let is_long = word.len() > self.rules.longest && word.chars().count() > self.rules.longest;
        let (mut rest, mut trie) = (word.as_bytes(), &self.first);
        while !rest.is_empty() {
            match trie.longest(rest).filter(|_| !is_long) {
                Some((len, id)) => {
                    to.push(id);
                    rest = &rest[len..];
                }
                None => {
                    to.truncate(begun);
                    return to.push(self.rules.unknown);
                }
            }
            trie = &self.further;
        }
    }

    /// Appends the text of tokens, of which some are special.
    ///
    /// # Errors
    /// The first one that is none.
    pub(super) fn decode<'a>(
        &'a self,
        ids: &[u32],
        special: impl Fn(u32) -> Option<&'a str>,
        to: &mut Vec<u8>,
    ) -> Result<(), u32> {
        for (at, id) in ids.iter().enumerate() {
            let found = || self.tokens.binary_search_by_key(id, |it| it.0).ok();
            let token = special(*id).or_else(|| Some(&*self.tokens[found()?].1)).ok_or(*id)?;
            let token = match token.strip_prefix(&*self.rules.prefix) {
                _ if at == 0 => token.to_string(),
                Some(rest) => rest.to_owned(),
                None => format!(" {token}"),
            };
            let clean = |token: String, (from, to): &(&str, &str)| token.replace(from, to);
            let cleaned = match self.rules.cleans {
                true => JOINED.iter().fold(token, clean),
                false => token,
            };
            to.extend_from_slice(cleaned.as_bytes());
        }
        Ok(())
    }
}

impl Normal {
    /// What a vocabulary shows of texts that it was made of: where no token has a capital letter, texts were lowered, and where
    /// none has an accent either, these were removed.
    pub(super) fn of<'a>(tokens: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut letters = tokens.clone().flat_map(str::chars);
        let lowers = !letters.any(|it| it.is_uppercase());
        let strips_accents =
            lowers && !tokens.flat_map(|it| it.nfd()).any(|it| it.is_mark_nonspacing());
        Self { cleans: true, separates: true, strips_accents, lowers }
    }

    /// Appends the normal form of a text.
    fn push(self, text: &str, to: &mut String) {
        if text.is_ascii() {
            let is_left = |it: &char| !(self.cleans && it.is_ascii_control()) || is_break(*it);
            let lowered = |it: char| if self.lowers { it.to_ascii_lowercase() } else { it };
            return to.extend(text.chars().filter(is_left).map(lowered));
        }
        let is_left = |it: &char| {
            !self.cleans || is_break(*it) || !(matches!(it, '\0' | '\u{fffd}') || it.is_other())
        };
        let cleaned = text.chars().filter(is_left).map(|it| match it {
            it if self.cleans && it.is_whitespace() => ' ',
            it => it,
        });
        let separated = cleaned.flat_map(|it| match self.separates && is_ideograph(it) {
            true => [Some(' '), Some(it), Some(' ')],
            false => [Some(it), None, None],
        });
        let separated = separated.flatten();
        match (self.strips_accents, self.lowers) {
            (false, false) => to.extend(separated),
            (false, true) => to.extend(separated.flat_map(char::to_lowercase)),
            (true, lowers) => {
                let bare = separated.nfd().filter(|it| !it.is_mark_nonspacing());
                match lowers {
                    true => to.extend(bare.flat_map(char::to_lowercase)),
                    false => to.extend(bare),
                }
            }
        }
    }
}

/// Whether a control character is a space to BERT.
fn is_break(it: char) -> bool {
    matches!(it, '\t' | '\n' | '\r')
}

fn is_punctuation(it: char) -> bool {
    match it.is_ascii() {
        true => it.is_ascii_punctuation(),
        false => it.is_punctuation(),
    }
}

/// Ideographs to BERT (`_is_chinese_char`), in the ranges of `tokenizers`.
fn is_ideograph(it: char) -> bool {
    matches!(it,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}'
        | '\u{2b920}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{2f800}'..='\u{2fa1f}')
}
