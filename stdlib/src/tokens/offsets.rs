//! Which tokens a part of a text is in.

use super::{Part, Tokenizer};
use std::{borrow::Cow, ops::Range};
use unicode_normalization::{
    IsNormalized, UnicodeNormalization, char::canonical_combining_class, is_nfc_quick,
};

impl Tokenizer {
    /// The tokens that some parts of a text are in, which are not empty and stand in order: all tokens that have a
    /// character with one of them, as it stood before it was composed.
    pub(crate) fn tokens_of(
        &self,
        (text, ids, parts): (&str, &[u32], &[Part]),
        ranges: &[Range<usize>],
    ) -> Vec<Range<usize>> {
        let mut parts = parts.iter().filter(|it| !it.text.is_empty()).peekable();
        let mut walk: Option<Walk<'_>> = None;
        let mut at = |place: usize, is_end: bool| {
            while parts.peek().is_some_and(|it| it.text.end <= place) {
                parts.next();
                walk = None;
            }
            let part = *parts.peek()?;
            if part.ids.len() == 1 {
                return Some(part.ids.start);
            }
            let walk = walk.get_or_insert_with(|| Walk::new(self, &text[part.text.clone()]));
            let ids = &ids[part.ids.clone()];
            Some(part.ids.start + walk.token(self, ids, (place - part.text.start, is_end)))
        };
        let mut tokens = |it: &Range<usize>| Some(at(it.start, false)?..at(it.end - 1, true)? + 1);
        ranges.iter().filter_map(&mut tokens).collect()
    }
}

/// A walk through a part of a text, and the tokens that it became.
struct Walk<'a> {
    text: &'a str,
    /// Whether the tokens are those of the text composed, which has other bytes.
    is_composed: bool,
    /// Bytes of the text up to a character with which nothing before it is composed, and how many these are composed.
    done: [usize; 2],
    /// A token, and the bytes of all before it.
    token: usize,
    before: usize,
}

impl<'a> Walk<'a> {
    fn new(model: &Tokenizer, text: &'a str) -> Self {
        let is_composed = matches!(model.composed(text), Cow::Owned(_));
        Self { text, is_composed, done: [0; 2], token: 0, before: 0 }
    }

    /// The token that a byte of the text is in, the last one of a range or its first; none before the last one may be
    /// asked for.
    fn token(&mut self, model: &Tokenizer, ids: &[u32], place: (usize, bool)) -> usize {
        let place = if self.is_composed { self.composed(place) } else { place.0 };
        while self.token + 1 < ids.len() {
            let bytes = model.bytes(ids[self.token]).map_or(0, <[u8]>::len);
            if self.before + bytes > place {
                break;
            }
            self.before += bytes;
            self.token += 1;
        }
        self.token
    }

    /// Where what becomes of a character, and of those with which it is composed, begins or ends in the text composed.
    fn composed(&mut self, (place, is_end): (usize, bool)) -> usize {
        let [from, so_far] = self.done;
        // It is composed with a character that was asked for before.
        if place < from {
            return so_far - 1;
        }
        let begins = self.text[from..].char_indices().map(|it| (from + it.0, it.1));
        let mut alone = begins.filter(|it| begins_alone(it.1)).map(|it| it.0);
        let to = match is_end {
            true => alone.find(|it| *it > place).unwrap_or(self.text.len()),
            false => alone.take_while(|it| *it <= place).last().unwrap_or(from),
        };
        let bytes: usize = self.text[from..to].nfc().map(char::len_utf8).sum();
        self.done = [to, so_far + bytes];
        if is_end { self.done[1] - 1 } else { self.done[1] }
    }
}

/// Whether a character is never composed with what stands before it.
fn begins_alone(c: char) -> bool {
    canonical_combining_class(c) == 0 && is_nfc_quick([c].into_iter()) == IsNormalized::Yes
}

#[cfg(test)]
mod tests {
    use super::super::{Encoding, Ids, of_file};
    use super::*;
    use plan::File;
    use std::sync::Arc;

    fn model(composes: bool) -> Arc<Tokenizer> {
        let mut file: serde_json::Value =
            serde_json::from_slice(include_bytes!("goldens/tokenizer.json")).unwrap();
        if composes {
            file["normalizer"] = serde_json::json!({ "type": "NFC" });
        }
        let file = File::new("tokenizer.json", file.to_string().into_bytes());
        of_file(&file).unwrap().unwrap_or_else(|why| panic!("{why}"))
    }

    /// The tokens of each character of a text.
    fn tokens(model: &Tokenizer, text: &str) -> Vec<Range<usize>> {
        let (mut ids, mut parts) = (Ids::default(), Vec::new());
        let how =
            Encoding { splitter: model.splitter().unwrap(), specials: true, most: usize::MAX };
        model.encode_parts(text, &how, &mut ids, |it| parts.push(it)).unwrap();
        let each: Vec<Range<usize>> =
            text.char_indices().map(|(at, c)| at..at + c.len_utf8()).collect();
        model.tokens_of((text, ids.as_slice(), &parts), &each)
    }

    #[test]
    fn a_character_may_be_several_tokens_or_a_part_of_one() {
        let found = tokens(&model(false), "ab<|end|>\u{fc}the");
        let runs = [(0..1, 2), (1..2, 7), (2..4, 1), (4..5, 3)];
        let expected: Vec<_> = runs.into_iter().flat_map(|(it, n)| vec![it; n]).collect();
        assert_eq!(found, expected);
        assert!(tokens(&model(false), "").is_empty());
    }

    /// What is composed is in the tokens of what it is composed to.
    #[test]
    fn characters_are_composed_before_they_are_tokens() {
        let plain = tokens(&model(true), "a\u{fc}b\u{1112}c");
        let apart = tokens(&model(true), "au\u{308}b\u{1112}c");
        assert_eq!(plain, [0..1, 1..3, 3..4, 4..7, 7..8]);
        assert_eq!(apart, [0..1, 1..3, 2..3, 3..4, 4..7, 7..8]);
        let marks = tokens(&model(true), "\u{308}u\u{308}");
        assert_eq!(marks, [0..2, 2..4, 3..4]);
    }
}
