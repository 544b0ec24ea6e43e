//! The place where the grammar stopped, with the tokens around it.

use std::ops::Range;

use plan::Span;

use super::super::origin::Origin;
use super::super::parser::Rule;
use super::super::pieces::closing;
use super::super::tokens::{self, Token, TokenKind};

/// The place where the grammar stopped.
pub(in crate::syntax) struct Slip<'t> {
    pub(super) text: &'t str,
    pub(super) origin: &'t Origin,
    pub(super) tokens: Vec<Token>,
    /// The token that the grammar could not read; the number of tokens where it wanted more of them.
    pub(super) at: usize,
    /// What it would have read.
    pub(super) wanted: &'t [Rule],
}

impl<'t> Slip<'t> {
    /// The grammar stopped at byte `stop` of `text`.
    pub(in crate::syntax) fn new(
        text: &'t str,
        origin: &'t Origin,
        stop: usize,
        wanted: &'t [Rule],
    ) -> Self {
        let tokens = tokens::words(text);
        let at = tokens.partition_point(|it| it.end <= stop);
        Self { text, origin, tokens, at, wanted }
    }

    /// A token as it is written; nothing beyond the end.
    pub(super) fn word(&self, at: usize) -> &'t str {
        self.tokens.get(at).map_or("", |it| it.of(self.text))
    }

    pub(super) fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|it| it.kind)
    }

    /// The token that could not be read.
    pub(super) fn here(&self) -> &'t str {
        self.word(self.at)
    }

    /// The token before it, counted `n` back.
    pub(super) fn back(&self, n: usize) -> &'t str {
        self.at.checked_sub(n).map_or("", |it| self.word(it))
    }

    /// Whether two neighbours have nothing between them.
    pub(super) fn touch(&self, at: usize) -> bool {
        matches!(self.tokens.get(at..at + 2), Some([left, right]) if left.end == right.start)
    }

    /// The bytes of a token.
    pub(super) fn bytes(&self, at: usize) -> Range<usize> {
        self.tokens[at].start..self.tokens[at].end
    }

    /// The bytes of a row of tokens, which is not empty.
    pub(super) fn reach(&self, tokens: Range<usize>) -> Range<usize> {
        self.tokens[tokens.start].start..self.tokens[tokens.end - 1].end
    }

    /// A row of tokens as it is written.
    pub(super) fn says(&self, tokens: Range<usize>) -> &'t str {
        if tokens.is_empty() { "" } else { &self.text[self.reach(tokens)] }
    }

    /// The place of a token.
    pub(super) fn span(&self, at: usize) -> Span {
        self.origin.span(self.bytes(at))
    }

    /// The place behind a token.
    pub(super) fn after(&self, at: usize) -> Span {
        self.span(at).after()
    }

    /// The place behind the last token.
    pub(super) fn end(&self) -> Span {
        let end = self.tokens.last().map_or(0, |it| it.end);
        self.origin.span(end..end)
    }

    /// The innermost bracket that is open at the place.
    pub(super) fn open(&self) -> Option<usize> {
        let start = self.back_to(self.at, &[]);
        start.checked_sub(1)
    }

    /// The first token of what ends before `end`, back to one of `stops` or an open bracket.
    pub(super) fn back_to(&self, end: usize, stops: &[&str]) -> usize {
        let mut depth = 0_usize;
        for at in (0..end.min(self.tokens.len())).rev() {
            match self.word(at) {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" if depth == 0 => return at + 1,
                "(" | "[" | "{" => depth -= 1,
                word if depth == 0 && stops.contains(&word) => return at + 1,
                _ => {}
            }
        }
        0
    }

    /// One past the last token of what begins at `start`, up to one of `stops` or the bracket that closes.
    pub(super) fn on_to(&self, start: usize, stops: &[&str]) -> usize {
        let mut depth = 0_usize;
        for at in start..self.tokens.len() {
            match self.word(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth == 0 => return at,
                ")" | "]" | "}" => depth -= 1,
                word if depth == 0 && stops.contains(&word) => return at,
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// The last token of `tokens` that reads `word`, outside the brackets among them.
    pub(super) fn last_in(&self, tokens: Range<usize>, word: &str) -> Option<usize> {
        let start = self.back_to(tokens.end, &[word]);
        start.checked_sub(1).filter(|it| *it >= tokens.start && self.word(*it) == word)
    }

    /// What could stand at the place, in words.
    pub(super) fn wanted_words(&self) -> String {
        let wanted = |rules: &&[Rule]| rules.iter().any(|it| self.wanted.contains(it));
        if let Some((_, phrase)) = WANTED.iter().find(|it| wanted(&it.0)) {
            return (*phrase).to_owned();
        }
        match self.open() {
            Some(open) => format!("an operator, `,` or `{}`", closing(self.word(open))),
            None => "an operator, `|>` or the next declaration".to_owned(),
        }
    }
}

/// What rules are in words, the ones that say most first.
static WANTED: [(&[Rule], &str); 14] = [
    (&[Rule::each], "a step (`map …`, `shuffle`, `batch(8)`)"),
    (
        &[Rule::list, Rule::quantity, Rule::expr, Rule::value, Rule::argument, Rule::place],
        "a value",
    ),
    (&[Rule::kw_then], "`then`"),
    (&[Rule::plus, Rule::times], "an operator, `|>` or the end"),
    (&[Rule::entry], "a field"),
    (&[Rule::formal], "a parameter"),
    (&[Rule::extent], "an extent (`3`, `n`, `?`)"),
    (&[Rule::type_], "a type"),
    (&[Rule::kw_from], "`from` with a file"),
    (&[Rule::formals], "`(` with the parameters"),
    (&[Rule::text], "a string in quotes"),
    (&[Rule::year], "a year"),
    (&[Rule::result], "`->` with a type"),
    (&[Rule::equals], "`=` or the next declaration"),
];
