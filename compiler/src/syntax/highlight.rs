//! The words of a text by what they are, for colours; it has an answer for broken texts too.

use plan::{FileId, Span};

use super::tokens::{self, Token, TokenKind};
use crate::ast::EffectKind;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A word of the language, where it is one: `map`, `if`, also `random`, `skip`, `from` in their places.
    Keyword,
    /// The name that a declaration gives.
    Definition,
    /// A function or an operator that is called.
    Call,
    /// A field: behind a point, or before the `:` of a record.
    Field,
    /// The name of an argument or a parameter.
    Argument,
    /// Any other name.
    Name,
    /// A word of a type.
    Type,
    /// A number with its unit.
    Number,
    /// A text without its holes.
    Text,
    /// `{name}` in a text.
    Hole,
    /// `# …`
    Comment,
    /// `## …`
    Doc,
    /// A sign or a bracket.
    Sign,
    /// What the language does not know.
    Unknown,
}

/// The pieces of a text in order, without the space between them; spans are in file 0.
#[must_use]
pub fn highlight(source: &str) -> Vec<(Span, Kind)> {
    let all = tokens::tokens(source).0;
    let words: Vec<Token> = all.iter().filter(|it| !it.is_comment()).copied().collect();
    let mut painter =
        Painter { source, words, at: 0, open: Vec::new(), typed: None, painted: Vec::new() };
    for token in all {
        if token.is_comment() {
            painter.paint(token.start, token.end, Kind::Comment);
        } else {
            painter.token(token);
            painter.at += 1;
        }
    }
    painter.painted
}

struct Painter<'t> {
    source: &'t str,
    words: Vec<Token>,
    at: usize,
    /// The open brackets; whether each is that of parameters.
    open: Vec<(&'t str, bool)>,
    /// How many brackets are open around the type that is being read.
    typed: Option<usize>,
    painted: Vec<(Span, Kind)>,
}

impl<'t> Painter<'t> {
    fn token(&mut self, token: Token) {
        let word = token.of(self.source);
        let kind = match token.kind {
            TokenKind::Keyword => Kind::Keyword,
            TokenKind::Word => self.word(word),
            TokenKind::Number => Kind::Number,
            TokenKind::Text => return self.text(token),
            TokenKind::Comment => Kind::Comment,
            TokenKind::Doc => Kind::Doc,
            TokenKind::Sign => Kind::Sign,
            TokenKind::Stray => Kind::Unknown,
        };
        self.paint(token.start, token.end, kind);
        self.follow(word);
    }

    fn paint(&mut self, start: usize, end: usize, kind: Kind) {
        let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.painted.push((Span::new(FileId::default(), byte(start), byte(end)), kind));
    }

    /// A word `n` behind the one that is being read, before it where `n` is negative.
    fn near(&self, n: isize) -> &'t str {
        let at = self.at.checked_add_signed(n).and_then(|it| self.words.get(it));
        at.map_or("", |it| it.of(self.source))
    }

    /// Whether the words before are those of a `use` that has not come to its `from`.
    fn is_used(&self) -> bool {
        let before = self.words[..self.at].iter().rev().map(|it| it.of(self.source));
        let mut head =
            before.skip_while(|it| *it == "," || it.bytes().all(is_of_word) && *it != "use");
        self.open.is_empty() && head.next() == Some("use")
    }

    fn word(&self, word: &str) -> Kind {
        let (before, after) = (self.near(-1), self.near(1));
        let place = self.open.last().map(|it| it.0);
        match before {
            ":" if word == "each" && self.typed.is_some() => Kind::Keyword,
            "param" | "const" | "fn" | "pipeline" | "use" => Kind::Definition,
            "," if self.is_used() => Kind::Definition,
            "else" if matches!(word, "skip" | "another" | "fail") => Kind::Keyword,
            ")" if EffectKind::of(word).is_some() => Kind::Keyword,
            _ if EffectKind::of(before).and(EffectKind::of(word)).is_some() => Kind::Keyword,
            "." => Kind::Field,
            "{" | "," if after == ":" && place == Some("{") => Kind::Field,
            "(" | ","
                if place == Some("(")
                    && (after == ":" || self.open.last().is_some_and(|it| it.1)) =>
            {
                Kind::Argument
            }
            _ if self.typed.is_some() => Kind::Type,
            _ if word == "from"
                && self.words.get(self.at + 1).is_some_and(|it| it.kind == TokenKind::Text) =>
            {
                Kind::Keyword
            }
            "|>" => Kind::Call,
            _ if after == "(" => Kind::Call,
            _ => Kind::Name,
        }
    }

    /// Keeps count of brackets and types.
    fn follow(&mut self, word: &'t str) {
        match word {
            "(" | "[" | "{" => {
                let formal = word == "(" && matches!(self.near(-2), "fn" | "pipeline");
                self.open.push((word, formal));
            }
            ")" | "]" | "}" => {
                self.open.pop();
            }
            _ => {}
        }

        let depth = self.open.len();
        let declares = self.open.last().map_or(self.near(-2) == "param", |it| it.1);
        let begins = matches!(word, "as" | "->") || word == ":" && declares;
        let joined = matches!(word, "|" | "each") || matches!(self.near(1), "|" | "[" | "?");
        let goes_on = self.typed.is_some_and(|outer| depth > outer || depth == outer && joined);
        self.typed = if begins { Some(depth) } else { self.typed.filter(|_| goes_on) };
    }

    /// A text, its holes apart.
    fn text(&mut self, token: Token) {
        let text = token.of(self.source);
        let mut start = 0;
        for (at, _) in text.match_indices('{').filter(|_| text.starts_with('"')) {
            let len = text[at + 1..]
                .bytes()
                .take_while(|it| it.is_ascii_alphanumeric() || *it == b'_')
                .count();
            let named = len > 0
                && !text.as_bytes()[at + 1].is_ascii_digit()
                && text[at + 1 + len..].starts_with('}');
            if at >= start && named && !text[..at].ends_with('{') {
                self.paint(token.start + start, token.start + at, Kind::Text);
                self.paint(token.start + at, token.start + at + len + 2, Kind::Hole);
                start = at + len + 2;
            }
        }
        if start < text.len() {
            self.paint(token.start + start, token.end, Kind::Text);
        }
        self.follow(text);
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of some kinds.
    fn of(kind: Kind, text: &str) -> Vec<&str> {
        highlight(text).into_iter().filter(|it| it.1 == kind).map(|it| it.0.text(text)).collect()
    }

    #[test]
    fn words_are_what_they_are_where_they_stand() {
        let text = "## d\nparam data: path = \"{data}/*.{a,b}\" # c\n\
                    fn f(x: f32[n, ?], by: each any, tail: drop | keep = drop) random -> { a: str } =\n\
                        g(x, p: 0.5).a |> shuffle |> map { b: row[i] as bytes else skip } else h";
        assert_eq!(of(Kind::Definition, text), ["data", "f"]);
        assert_eq!(
            of(Kind::Type, text),
            ["path", "f32", "n", "any", "drop", "keep", "str", "bytes"]
        );
        assert_eq!(of(Kind::Argument, text), ["x", "by", "tail", "p"]);
        assert_eq!(of(Kind::Field, text), ["a", "a", "b"]);
        assert_eq!(of(Kind::Call, text), ["g", "shuffle"]);
        assert_eq!(of(Kind::Name, text), ["drop", "x", "row", "i", "h"]);
        assert_eq!(
            of(Kind::Keyword, text),
            ["param", "fn", "each", "random", "map", "as", "else", "skip", "else"]
        );
        assert_eq!(
            (of(Kind::Hole, text), of(Kind::Text, text)),
            (vec!["{data}"], vec!["\"", "/*.{a,b}\""])
        );
        assert_eq!((of(Kind::Comment, text), of(Kind::Doc, text)), (vec!["# c"], vec!["## d"]));
    }

    #[test]
    fn broken_texts_have_colours_too() {
        for text in ["", "“", "as as : ( {", "\"{", "param x: |", "f(x: each", "} ) -> [ ?"] {
            assert!(highlight(text).iter().all(|it| !it.0.is_empty()), "{text}");
        }
    }
}
