//! Where a tokenizer cuts a text before it merges bytes: what its regular expression says, by hand.

use super::{
    Failed,
    classes::{BREAK, CLASSES, Classes, LETTER, LOWER, NUMBER, OTHER, SPACE, UPPER},
};

/// How a text is cut: the regular expressions of tiktoken 0.14 (`openai_public.py`), and those in the `tokenizer.json` of
/// the models.
#[derive(Debug, Clone)]
pub(crate) enum Splitter {
    /// Of GPT-2, `r50k_base` and `p50k_base`.
    Gpt2,
    /// Of GPT-4, `cl100k_base`.
    Cl100k,
    /// Of GPT-4o, `o200k_base`.
    O200k,
    /// Of Llama 3.
    Llama3,
    /// Of Qwen 2 and 3.
    Qwen2,
    /// Of Mistral's Tekken.
    Tekken,
    /// By any other expression.
    #[cfg(feature = "tokenizers")]
    Expression(std::sync::Arc<super::expression::Expression>),
    /// Nothing is cut.
    Whole,
}

impl Splitter {
    /// All that can be named, with the expressions that mean them.
    const ALL: [(&'static str, Self, &'static [&'static str]); 6] = [
        (
            "gpt2",
            Self::Gpt2,
            &[
                r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
                r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
                r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
            ],
        ),
        (
            "cl100k",
            Self::Cl100k,
            &[
                r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
            ],
        ),
        (
            "o200k",
            Self::O200k,
            &[
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ],
        ),
        (
            "llama3",
            Self::Llama3,
            &[
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ],
        ),
        (
            "qwen2",
            Self::Qwen2,
            &[
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ],
        ),
        (
            "tekken",
            Self::Tekken,
            &[
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ],
        ),
    ];

    /// The one with this name, or with this regular expression.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let is_it = |it: &&(&str, Self, &[&str])| it.0 == name || it.2.contains(&name);
        Self::ALL.iter().find(is_it).map(|it| it.1.clone())
    }

    /// The one that a name or a regular expression means. `keeps_rest`: what no expression matches is a piece too.
    ///
    /// # Errors
    /// It is neither, or only a build with the feature `tokenizers` knows it.
    pub(crate) fn parse(pattern: &str, keeps_rest: bool) -> Result<Self, String> {
        if let Some(known) = Self::of(pattern) {
            return Ok(known);
        }
        #[cfg(feature = "tokenizers")]
        {
            let new = super::expression::Expression::new(pattern, keeps_rest);
            new.map(|it| Self::Expression(it.into()))
                .map_err(|why| format!("texts cannot be split by the pattern `{pattern}`: {why}"))
        }
        #[cfg(not(feature = "tokenizers"))]
        {
            let _ = keeps_rest;
            Err(format!(
                "texts cannot be split by the pattern `{pattern}`, as this `pipec` was built without regular expressions: build \
                 it with `--features full`, or use one of {}",
                Self::names()
            ))
        }
    }

    /// The names of all.
    pub(crate) fn names() -> String {
        let names: Vec<String> = Self::ALL.iter().map(|it| format!("\"{}\"", it.0)).collect();
        names.join(", ")
    }

    /// Calls `visit` with where each piece of a text begins and ends, until it says that it is enough.
    pub(super) fn each(
        &self,
        text: &str,
        visit: impl FnMut(usize, usize) -> bool,
    ) -> Result<(), Failed> {
        let cut = Cut { classes: &CLASSES, text: text.as_bytes() };
        // One loop for each: where a piece ends is asked for every word.
        match self {
            Self::Gpt2 => cut.each(|at| cut.gpt2(at), visit),
            Self::Cl100k => cut.each(|at| cut.cl100k(at, (3, true)), visit),
            Self::O200k => cut.each(|at| cut.o200k(at, (3, true)), visit),
            Self::Tekken => cut.each(|at| cut.o200k(at, (1, false)), visit),
            Self::Llama3 => cut.each(|at| cut.cl100k(at, (3, false)), visit),
            Self::Qwen2 => cut.each(|at| cut.cl100k(at, (1, false)), visit),
            Self::Whole => cut.each(|_| text.len(), visit),
            #[cfg(feature = "tokenizers")]
            Self::Expression(it) => return it.each(text, visit),
        }
        Ok(())
    }
}

/// A text that is cut.
struct Cut<'a> {
    classes: &'a Classes,
    text: &'a [u8],
}

impl Cut<'_> {
    #[inline]
    fn each(&self, end: impl Fn(usize) -> usize, mut visit: impl FnMut(usize, usize) -> bool) {
        let mut at = 0;
        while at < self.text.len() {
            let end = end(at);
            debug_assert!(end > at, "a piece has a character");
            if !visit(at, end) {
                return;
            }
            at = end;
        }
    }

    #[inline]
    fn class(&self, at: usize) -> (u8, usize) {
        self.classes.at(self.text, at)
    }

    #[inline]
    fn letters(&self, at: usize) -> usize {
        self.classes.letters(self.text, at)
    }

    #[inline]
    fn run(&self, at: usize, classes: u8) -> usize {
        self.classes.run(self.text, at, classes)
    }

    fn gpt2(&self, at: usize) -> usize {
        let first = self.text[at];
        if first == b'\'' {
            match self.text.get(at + 1..).unwrap_or_default() {
                [b's' | b'd' | b'm' | b't', ..] => return at + 2,
                [b'l', b'l', ..] | [b'v', b'e', ..] | [b'r', b'e', ..] => return at + 3,
                _ => {}
            }
        }
        let begin = at + usize::from(first == b' ');
        let (class, len) = self.class(begin);
        match class & (LETTER | NUMBER | OTHER) {
            0 => self.spaces(at),
            LETTER => self.letters(begin + len),
            kind => self.run(begin + len, kind),
        }
    }

    /// `\p{N}` at most so often at a time; whether spaces at the end of the text stay together.
    fn cl100k(&self, at: usize, (digits, end_is_whole): (usize, bool)) -> usize {
        if let Some(end) = self.contraction(at) {
            return end;
        }
        let (class, len) = self.class(at);
        if class & LETTER != 0 {
            return self.letters(at + len);
        }
        if class & NUMBER != 0 {
            return self.some(at + len, NUMBER, digits - 1);
        }
        if class & BREAK == 0 {
            let (next, next_len) = self.class(at + len);
            if next & LETTER != 0 {
                return self.letters(at + len + next_len);
            }
        }
        if let Some(end) = self.others(at) {
            return self.run(end, BREAK);
        }
        if end_is_whole && self.run(at, SPACE) == self.text.len() {
            return self.text.len();
        }
        self.breaks(at).unwrap_or_else(|| self.spaces(at))
    }

    /// `\p{N}` at most so often at a time; whether `'s` belongs to the word before it.
    fn o200k(&self, at: usize, (digits, has_contractions): (usize, bool)) -> usize {
        let (class, len) = self.class(at);
        let prefixed = (class & (LETTER | NUMBER | BREAK) == 0).then_some(at + len);
        let word = prefixed.and_then(|it| self.lower_word(it)).or_else(|| self.lower_word(at));
        let word = word.or_else(|| prefixed.and_then(|it| self.upper_word(it)));
        if let Some(end) = word.or_else(|| self.upper_word(at)) {
            return self.contraction(end).filter(|_| has_contractions).unwrap_or(end);
        }
        if class & NUMBER != 0 {
            return self.some(at + len, NUMBER, digits - 1);
        }
        if let Some(mut end) = self.others(at) {
            while matches!(self.text.get(end), Some(b'\r' | b'\n' | b'/')) {
                end += 1;
            }
            return end;
        }
        self.breaks(at).unwrap_or_else(|| self.spaces(at))
    }

    /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`.
    fn lower_word(&self, at: usize) -> Option<usize> {
        let (mut end, mut both) = (at, None);
        loop {
            let (class, len) = self.class(end);
            if class & UPPER == 0 {
                break;
            }
            end += len;
            if class & LOWER != 0 {
                both = Some(end);
            }
        }
        match self.run(end, LOWER) {
            // The first part gives back what the second one can be made of.
            same if same == end => both,
            more => Some(more),
        }
    }

    /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`.
    fn upper_word(&self, at: usize) -> Option<usize> {
        let end = self.run(at, UPPER);
        (end > at).then(|| self.run(end, LOWER))
    }

    /// `'(?i:[sdmt]|ll|ve|re)`; the long s is an s that is written otherwise.
    fn contraction(&self, at: usize) -> Option<usize> {
        if self.text.get(at) != Some(&b'\'') {
            return None;
        }
        match self.text.get(at + 1..).unwrap_or_default() {
            [b's' | b'd' | b'm' | b't' | b'S' | b'D' | b'M' | b'T', ..] => Some(at + 2),
            [0xc5, 0xbf, ..] => Some(at + 3),
            [b'l' | b'L', b'l' | b'L', ..] | [b'v' | b'V' | b'r' | b'R', b'e' | b'E', ..] => {
                Some(at + 3)
            }
            _ => None,
        }
    }

    /// ` ?[^\s\p{L}\p{N}]+`.
    fn others(&self, at: usize) -> Option<usize> {
        let begin = at + usize::from(self.text[at] == b' ');
        let end = self.run(begin, OTHER);
        (end > begin).then_some(end)
    }

    /// So many characters of a class, at most.
    fn some(&self, mut at: usize, classes: u8, most: usize) -> usize {
        for _ in 0..most {
            let (class, len) = self.class(at);
            if class & classes == 0 {
                break;
            }
            at += len;
        }
        at
    }

    /// `\s*[\r\n]+`.
    fn breaks(&self, at: usize) -> Option<usize> {
        let end = self.run(at, SPACE);
        let last = self.text[at..end].iter().rposition(|it| matches!(it, b'\r' | b'\n'));
        last.map(|it| at + it + 1)
    }

    /// `\s+(?!\S)|\s`: all spaces but the last one, which belongs to what follows.
    fn spaces(&self, at: usize) -> usize {
        let (mut end, mut last) = (at, at);
        loop {
            let (class, len) = self.class(end);
            if class & SPACE == 0 {
                break;
            }
            (last, end) = (end, end + len);
        }
        // Alone, it belongs to nothing else.
        if end == self.text.len() || last == at { end } else { last }
    }
}
