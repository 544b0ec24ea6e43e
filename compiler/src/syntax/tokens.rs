//! The text cut into tokens: for limits and brackets before the grammar reads it, for comments, for
//! highlighting, and for messages where the grammar stops.
//!
//! It agrees with `grammar.pest` on every text that the grammar reads, and has an answer for every other.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A word of the language that cannot be a name.
    Keyword,
    /// Any other word.
    Word,
    /// A number with whatever is written to its right end.
    Number,
    /// `"…"` or `'…'`.
    Text,
    /// `# …`, `### …`
    Comment,
    /// `## …`
    Doc,
    /// Anything else that the language knows.
    Sign,
    /// What it does not know.
    Stray,
}

/// A token: its kind and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Nothing but space stands left of it on its line.
    pub(crate) first: bool,
}

impl Token {
    /// What it says in `text`.
    pub(crate) fn of<'t>(&self, text: &'t str) -> &'t str {
        &text[self.start..self.end]
    }

    /// Whether the grammar skips it.
    pub(crate) fn is_comment(&self) -> bool {
        self.kind == TokenKind::Comment
    }
}

/// What no token can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A text that does not end on its line, from its quote.
    Unclosed,
    /// A backslash with something that it does not go with.
    Escape,
    /// A character that the language does not know.
    Stray,
}

/// Signs of more than one character, and single ones; those that only other languages have are here too,
/// because messages speak of them.
static SIGNS: [&str; 37] = [
    "|>", "->", "..", "==", "!=", "<=", ">=", "**", "//", "&&", "||", "=>", "+=", "-=", "*=", "/=",
    ":=", "(", ")", "[", "]", "{", "}", ",", ":", "=", "<", ">", "+", "-", "*", "/", "%", ".", "?",
    "|", "!",
];

/// All tokens of a text, comments among them, and the faults with their bytes.
pub(crate) fn tokens(text: &str) -> (Vec<Token>, Vec<(Fault, usize, usize)>) {
    let mut reader = Reader { text, at: 0, first: true, tokens: Vec::new(), faults: Vec::new() };
    while reader.at < text.len() {
        reader.step();
    }
    (reader.tokens, reader.faults)
}

/// The tokens that the grammar sees.
pub(crate) fn words(text: &str) -> Vec<Token> {
    let mut all = tokens(text).0;
    all.retain(|it| !it.is_comment());
    all
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    first: bool,
    tokens: Vec<Token>,
    faults: Vec<(Fault, usize, usize)>,
}

impl Reader<'_> {
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        let Some(head) = rest.chars().next() else { return };
        if head.is_ascii_whitespace() {
            self.first |= head == '\n';
            self.at += 1;
            return;
        }

        let (kind, len) = match head {
            '#' => comment(rest),
            '"' => (TokenKind::Text, self.quoted()),
            '\'' => (TokenKind::Text, self.literal()),
            '0'..='9' => (TokenKind::Number, number_len(rest)),
            'a'..='z' | 'A'..='Z' | '_' => word(rest),
            _ => self.sign(rest, head),
        };
        let (start, end) = (self.at, self.at + len);
        self.tokens.push(Token { kind, start, end, first: self.first });
        self.first = false;
        self.at = end;
    }

    fn sign(&mut self, rest: &str, head: char) -> (TokenKind, usize) {
        if let Some(sign) = SIGNS.iter().find(|it| rest.starts_with(**it)) {
            return (TokenKind::Sign, sign.len());
        }
        let len = head.len_utf8();
        self.faults.push((Fault::Stray, self.at, self.at + len));
        (TokenKind::Stray, len)
    }

    fn literal(&mut self) -> usize {
        let inner = &self.text[self.at + 1..];
        match inner.find(['\'', '\n']) {
            Some(len) if inner[len..].starts_with('\'') => len + 2,
            ended => self.unclosed(ended.unwrap_or(inner.len()) + 1),
        }
    }

    fn quoted(&mut self) -> usize {
        let text = &self.text[self.at..];
        let mut at = 1;
        while let Some(len) = text[at..].find(['"', '\\', '\n']) {
            at += len;
            match &text[at..=at] {
                "\"" => return at + 1,
                "\n" => return self.unclosed(at),
                _ => at += self.escape(at),
            }
        }
        self.unclosed(text.len())
    }

    /// The bytes of the escape that begins `at` bytes into the text.
    fn escape(&mut self, at: usize) -> usize {
        let rest = &self.text[self.at + at..];
        let known = escape_len(rest);
        let len = known.unwrap_or_else(|| {
            rest.chars().take(2).take_while(|it| *it != '\n').map(char::len_utf8).sum()
        });
        if known.is_none() {
            self.faults.push((Fault::Escape, self.at + at, self.at + at + len));
        }
        len
    }

    /// A text of `len` bytes that has no end; carriage returns are no part of it.
    fn unclosed(&mut self, len: usize) -> usize {
        let len = self.text[self.at..self.at + len].trim_end().len();
        self.faults.push((Fault::Unclosed, self.at, self.at + len));
        len
    }
}

fn comment(rest: &str) -> (TokenKind, usize) {
    let line = rest.lines().next().unwrap_or(rest);
    let doc = line.starts_with("##") && !line.starts_with("###");
    (if doc { TokenKind::Doc } else { TokenKind::Comment }, line.trim_end().len())
}

fn word(rest: &str) -> (TokenKind, usize) {
    let len = word_len(rest);
    let keyword = plan::KEYWORDS.contains(&&rest[..len]);
    (if keyword { TokenKind::Keyword } else { TokenKind::Word }, len)
}

fn word_len(rest: &str) -> usize {
    rest.bytes().take_while(|it| it.is_ascii_alphanumeric() || *it == b'_').count()
}

fn digits_len(rest: &str) -> usize {
    rest.bytes().take_while(u8::is_ascii_digit).count()
}

/// Digits in groups, a fraction, an exponent, and the word that follows without a space.
fn number_len(rest: &str) -> usize {
    let mut len = grouped_len(rest);
    if rest[len..].starts_with('.') && digits_len(&rest[len + 1..]) > 0 {
        len += 1 + grouped_len(&rest[len + 1..]);
    }
    if rest[len..].starts_with(['e', 'E']) {
        let signed = rest[len + 1..].starts_with(['+', '-']);
        let digits = digits_len(&rest[len + 1 + usize::from(signed)..]);
        len += if digits > 0 { 1 + usize::from(signed) + digits } else { 0 };
    }
    len + word_len(&rest[len..])
}

fn grouped_len(rest: &str) -> usize {
    let mut len = digits_len(rest);
    while rest[len..].starts_with('_') && digits_len(&rest[len + 1..]) > 0 {
        len += 1 + digits_len(&rest[len + 1..]);
    }
    len
}

/// The bytes of the escape that `rest` begins with; none if there is no such escape.
fn escape_len(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('\\')?;
    if after.starts_with(['"', '\\', 'n', 't']) {
        return Some(2);
    }
    let inner = after.strip_prefix("u{")?;
    let digits = inner.bytes().take_while(u8::is_ascii_hexdigit).count();
    ((1..=6).contains(&digits) && inner[digits..].starts_with('}')).then_some(digits + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        tokens(text).0.iter().map(|it| it.of(text)).collect()
    }

    #[test]
    fn a_text_is_cut_where_the_grammar_cuts_it() {
        assert_eq!(
            cut("0.08..1.0 |>f(x[1:-2])"),
            ["0.08", "..", "1.0", "|>", "f", "(", "x", "[", "1", ":", "-", "2", "]", ")"]
        );
        assert_eq!(
            cut("16_384 1e-3 6.4kHz 1.e 2e"),
            ["16_384", "1e-3", "6.4kHz", "1", ".", "e", "2e"]
        );
        assert_eq!(cut("\"a\\\"{b}\" 'c\\' # d\n## e"), ["\"a\\\"{b}\"", "'c\\'", "# d", "## e"]);
    }

    #[test]
    fn what_is_no_token_is_a_fault() {
        let faults = |text| tokens(text).1.iter().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(faults("\"abc\nx"), [Fault::Unclosed]);
        assert_eq!(faults("'abc"), [Fault::Unclosed]);
        assert_eq!(faults("\"\\d \\u{41} \\u{}\""), [Fault::Escape, Fault::Escape]);
        assert_eq!(faults("“x”; $"), [Fault::Stray; 4]);
    }
}
