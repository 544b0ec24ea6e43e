//! A file cut into pieces, one declaration each, and what must hold of a piece before the grammar may read it:
//! that its brackets close, and that neither nesting nor chains are so long that reading them could exhaust
//! the stack.
//!
//! A declaration opens at one of seven words that nothing else may use, so a mistake in one piece hides nothing
//! of the others.

use std::ops::Range;

use super::tokens::{Token, TokenKind};
use crate::ast::EffectKind;

/// Brackets, `if` and `**` in each other.
pub(crate) const NESTING_MAX: usize = 64;
/// Signs and stages on the way from the root of an expression to a leaf: so deep is the tree at most.
pub(crate) const CHAIN_MAX: usize = 256;

/// The words that open a declaration.
pub(crate) static OPENERS: [&str; 7] =
    ["param", "const", "fn", "extern", "pipeline", "use", "edition"];

/// What people write at the head of a line who mean to open a declaration.
static FOREIGN_OPENERS: [&str; 12] = [
    "def", "class", "import", "from", "let", "var", "val", "func", "function", "return", "while",
    "async",
];

/// Why a piece is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fence {
    /// The token opens a bracket that nothing closes; the second is where another bracket closes instead.
    Unclosed(usize, Option<usize>),
    /// The token closes what nothing opened.
    Stray(usize),
    /// At the token there is more than [`NESTING_MAX`].
    Deep(usize),
    /// At the token there is more than [`CHAIN_MAX`].
    Long(usize),
}

/// The pieces of a text, each as a range of its tokens.
pub(crate) fn pieces(text: &str, tokens: &[Token]) -> Vec<Range<usize>> {
    let mut starts = vec![0];
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if opens(text, tokens, at, depth) {
            starts.push(at);
            depth = 0;
        }
        match token.of(text) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    starts.dedup();
    let ends = starts[1..].iter().copied().chain([tokens.len()]);
    starts
        .iter()
        .copied()
        .zip(ends)
        .map(|(start, end)| start..end)
        .filter(|it| !it.is_empty())
        .collect()
}

/// Whether a piece begins at the token, with `depth` brackets open before it.
fn opens(text: &str, tokens: &[Token], at: usize, depth: usize) -> bool {
    let margin = at_margin(text, &tokens[at]);
    if depth > 0 && !margin {
        return false;
    }
    let before = |n: usize| at.checked_sub(n).map(|it| &tokens[it]);
    if before(1).is_some_and(|it| it.kind == TokenKind::Doc && it.first)
        && tokens[at].kind != TokenKind::Doc
    {
        return false;
    }
    match tokens[at].kind {
        TokenKind::Doc => {
            tokens[at].first && !in_docs(tokens, at) && described(text, &tokens[at..])
        }
        TokenKind::Keyword => {
            let word = tokens[at].of(text);
            // `fn.readers.file(…)` is what DALI's functions are called.
            let of_module = tokens.get(at + 1).is_some_and(|it| it.of(text) == ".");
            OPENERS.contains(&word)
                && !(word == "fn" && of_module)
                && !(matches!(word, "fn" | "pipeline")
                    && before(1).is_some_and(|it| it.of(text) == "extern"))
        }
        TokenKind::Word => margin && depth == 0 && foreign(text, tokens, at),
        _ => false,
    }
}

/// Whether the token stands at the very beginning of its line.
fn at_margin(text: &str, token: &Token) -> bool {
    token.start == 0 || text.as_bytes()[token.start - 1] == b'\n'
}

/// Whether the doc comment that `tokens` begin with stands above a declaration.
fn described(text: &str, tokens: &[Token]) -> bool {
    let after = tokens.iter().find(|it| it.kind != TokenKind::Doc);
    after.is_some_and(|it| OPENERS.contains(&it.of(text)))
}

fn in_docs(tokens: &[Token], at: usize) -> bool {
    at > 0 && tokens[at - 1].kind == TokenKind::Doc && tokens[at - 1].first
}

/// Whether a word at the margin was meant to open a declaration: `def f(x):`, `train = …`.
fn foreign(text: &str, tokens: &[Token], at: usize) -> bool {
    let ended = at == 0 || ends_operand(text, &tokens[at - 1]);
    let Some(next) = tokens.get(at + 1).filter(|_| ended) else { return false };
    let named = at > 0 && OPENERS.contains(&tokens[at - 1].of(text));
    let opener = FOREIGN_OPENERS.contains(&tokens[at].of(text)) && next.kind == TokenKind::Word;
    let effect = EffectKind::of(tokens[at].of(text)).is_some();
    opener || next.of(text) == "=" && !named && !effect
}

/// The first thing that keeps a piece from being read.
pub(crate) fn fence(text: &str, tokens: &[Token]) -> Option<Fence> {
    let mut open = vec![Level::default()];
    for at in 0..tokens.len() {
        let found = take(text, tokens, &mut open, at).or_else(|| measure(&open, at));
        if found.is_some() {
            return found;
        }
    }
    let unclosed = open.iter().rev().find_map(|it| it.bracket)?;
    Some(Fence::Unclosed(unclosed, None))
}

fn take(text: &str, tokens: &[Token], open: &mut Vec<Level>, at: usize) -> Option<Fence> {
    let word = tokens[at].of(text);
    if matches!(word, ")" | "]" | "}") {
        return leave(text, tokens, open, at);
    }
    let level = open.last_mut().expect("the piece itself is never closed");
    if matches!(word, "(" | "[" | "{") {
        level.chain += usize::from(word == "[" && at > 0 && ends_operand(text, &tokens[at - 1]));
        open.push(Level { bracket: Some(at), ..Level::default() });
    } else {
        level.take(word);
    }
    None
}

/// An open bracket, or the piece itself, and the element of it that is being read.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    bracket: Option<usize>,
    /// `if` and `**` of this element, each of which the grammar reads inside the one before.
    nested: usize,
    /// How deep the tree of this element is.
    chain: usize,
    /// The deepest element before it.
    deepest: usize,
}

impl Level {
    fn take(&mut self, word: &str) {
        match word {
            "," => *self = Self { bracket: self.bracket, deepest: self.depth(), ..Self::default() },
            "|>" => (self.nested, self.chain) = (0, self.chain + 1),
            "if" | "**" => (self.nested, self.chain) = (self.nested + 1, self.chain + 1),
            "else" | "and" | "or" | "not" | "in" | "as" | "." | ".." | "+" | "-" | "*" | "/"
            | "//" | "%" => self.chain += 1,
            "==" | "!=" | "<" | "<=" | ">" | ">=" => self.chain += 1,
            _ => {}
        }
    }

    fn depth(&self) -> usize {
        self.deepest.max(self.chain)
    }
}

fn leave(text: &str, tokens: &[Token], open: &mut Vec<Level>, at: usize) -> Option<Fence> {
    let sign = tokens[at].of(text);
    let closes = |it: &Level| it.bracket.is_some_and(|it| closing(tokens[it].of(text)) == sign);
    let inner = open.last().copied().unwrap_or_default();
    if !closes(&inner) {
        let meant = inner.bracket.filter(|_| open.iter().any(closes));
        return Some(meant.map_or(Fence::Stray(at), |it| Fence::Unclosed(it, Some(at))));
    }
    open.pop();
    if let Some(level) = open.last_mut() {
        level.chain = level.chain.max(inner.depth() + 1);
    }
    None
}

fn measure(open: &[Level], at: usize) -> Option<Fence> {
    let nested: usize = open.iter().map(|it| it.nested + 1).sum();
    let chain = open.iter().map(|it| it.chain + 1).sum::<usize>();
    match () {
        () if nested > NESTING_MAX + 1 => Some(Fence::Deep(at)),
        () if chain > CHAIN_MAX + 1 => Some(Fence::Long(at)),
        () => None,
    }
}

/// The bracket that closes `open`.
pub(crate) fn closing(open: &str) -> &'static str {
    match open {
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}

/// Whether a value may end with this token.
pub(crate) fn ends_operand(text: &str, token: &Token) -> bool {
    match token.kind {
        TokenKind::Word | TokenKind::Number | TokenKind::Text => true,
        _ => matches!(token.of(text), ")" | "]" | "}" | "true" | "false"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::words;
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        let tokens = words(text);
        let piece = |it: Range<usize>| text[tokens[it.start].start..tokens[it.end - 1].end].trim();
        pieces(text, &tokens).into_iter().map(piece).collect()
    }

    fn fenced(text: &str) -> Option<Fence> {
        fence(text, &words(text))
    }

    #[test]
    fn a_piece_begins_where_a_declaration_opens() {
        assert_eq!(
            cut("edition 2026 use a from 'b'\n## x\n## y\nextern fn f() -> t = 'g'\nconst A = 1"),
            [
                "edition 2026",
                "use a from 'b'",
                "## x\n## y\nextern fn f() -> t = 'g'",
                "const A = 1"
            ]
        );
        assert_eq!(cut("const A = f({\nconst B = 2"), ["const A = f({", "const B = 2"]);
        assert_eq!(
            cut("param x = 3\ndef f(x):\n    return x\ntrain = files('x')"),
            ["param x = 3", "def f(x):\n    return x", "train = files('x')"]
        );
        assert_eq!(
            cut("pipeline a =\nfiles('x')\n## note\n|> b\n## end"),
            ["pipeline a =\nfiles('x')\n## note\n|> b\n## end"]
        );
    }

    #[test]
    fn brackets_must_close() {
        assert_eq!(fenced("f({ a: [1] })"), None);
        assert_eq!(fenced("f({ a: g(1 })"), Some(Fence::Unclosed(6, Some(8))));
        assert_eq!(fenced("f(a"), Some(Fence::Unclosed(1, None)));
        assert_eq!(fenced("f(a])"), Some(Fence::Stray(3)));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |n: usize| "(".repeat(n) + "1" + &")".repeat(n);
        assert_eq!(fenced(&nested(64)), None);
        assert_eq!(fenced(&nested(65)), Some(Fence::Deep(64)));
        assert_eq!(fenced(&"if a then b else ".repeat(65)), Some(Fence::Deep(64 * 5)));
        assert_eq!(fenced(&"a ** ".repeat(65)), Some(Fence::Deep(129)));
        assert_eq!(fenced(&"a + ".repeat(256)), None);
        assert_eq!(fenced(&"a + ".repeat(257)), Some(Fence::Long(513)));
        assert_eq!(fenced(&format!("x{}", "[0]".repeat(300))), Some(Fence::Long(1 + 3 * 255)));
        assert_eq!(fenced(&"f(a + b), ".repeat(300)), None);
    }
}
