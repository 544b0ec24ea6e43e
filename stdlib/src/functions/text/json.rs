//! Untyped data: JSON text that is skimmed where it lies, without a tree.
//!
//! What is skimmed is checked against the grammar (RFC 8259), and beyond it `NaN`, `Infinity`
//! and `-Infinity` are read, which Python writes. Nothing recurses with the text's nesting.

use crate::prelude::*;
use std::borrow::Cow;

/// How deep lists and objects may be nested.
const DEPTH_MAX: u32 = 128;
/// Characters of a text that a message shows.
const SHOWN_MAX: usize = 60;
/// Names of fields that a message lists.
const NAMES_MAX: usize = 8;

/// A text in backquotes, shortened where it is long.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// The member of an object that is called `name`: the first, if there are several.
pub(super) fn field<'a>(json: &'a str, name: &str) -> Result<&'a str, Fault> {
    let mut scan = Scan::new(json);
    let mut names = Vec::new();
    scan.open(b'{', "an object")?;
    let mut more = !scan.closes(b'}');
    while more {
        let found = scan.key()?;
        let value = scan.value()?;
        if found == name {
            return Ok(value);
        }
        if names.len() <= NAMES_MAX {
            names.push(found);
        }
        more = scan.goes_on(b'}')?;
    }
    Err(Fault::new("field-missing", missing(name, &names)))
}

fn missing(name: &str, names: &[Cow<'_, str>]) -> String {
    let listed: Vec<String> = names.iter().take(NAMES_MAX).map(|it| shown(it)).collect();
    let more = if names.len() > NAMES_MAX { ", …" } else { "" };
    match &listed[..] {
        [] => format!("there is no field {}: the object is empty", shown(name)),
        _ => format!("there is no field {}; there are {}{more}", shown(name), listed.join(", ")),
    }
}

/// The elements of a list, each handed to `visit` with what follows it, until it says stop.
pub(super) fn elements<'a>(
    json: &'a str,
    mut visit: impl FnMut(&'a str) -> bool,
) -> Result<(), Fault> {
    let mut scan = Scan::new(json);
    scan.open(b'[', "a list")?;
    let mut more = !scan.closes(b']');
    while more {
        if !visit(scan.value()?) {
            return Ok(());
        }
        more = scan.goes_on(b']')?;
    }
    Ok(())
}

/// The whole text, if it is one JSON value.
pub(super) fn whole(json: &str) -> Result<&str, Fault> {
    let mut scan = Scan::new(json);
    let value = scan.value()?;
    if scan.peek().is_some() {
        return Err(scan.wrong("the end"));
    }
    Ok(value)
}

/// The text that a JSON string says.
pub(super) fn string(json: &str) -> Result<Cow<'_, str>, Fault> {
    let mut scan = Scan::new(json);
    if scan.peek() != Some(b'"') {
        return Err(scan.wrong("a string"));
    }
    scan.string()
}

/// Where reading stands in a JSON text.
pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next byte that is no white space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let space = |it: &&u8| matches!(**it, b' ' | b'\t' | b'\n' | b'\r');
        self.at += rest.iter().take_while(space).count();
        self.text.as_bytes().get(self.at).copied()
    }

    /// Moves past `bracket`, or says what was wanted.
    pub(super) fn open(&mut self, bracket: u8, wanted: &str) -> Result<(), Fault> {
        if self.peek() != Some(bracket) {
            return Err(self.wrong(wanted));
        }
        self.at += 1;
        Ok(())
    }

    /// Whether `bracket` comes next; then moves past it.
    pub(super) fn closes(&mut self, bracket: u8) -> bool {
        let closes = self.peek() == Some(bracket);
        self.at += usize::from(closes);
        closes
    }

    /// Moves past a comma, or past `bracket`: whether it was a comma.
    pub(super) fn goes_on(&mut self, bracket: u8) -> Result<bool, Fault> {
        if self.closes(bracket) {
            return Ok(false);
        }
        self.open(b',', if bracket == b']' { "`,` or `]`" } else { "`,` or `}`" })?;
        Ok(true)
    }

    /// Moves past a member's name and the colon.
    fn key(&mut self) -> Result<Cow<'a, str>, Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.wrong("a name in quotes"));
        }
        let key = self.string()?;
        self.open(b':', "`:`")?;
        Ok(key)
    }

    /// Moves past a value, and gives its text.
    pub(super) fn value(&mut self) -> Result<&'a str, Fault> {
        self.peek();
        let start = self.at;
        // One bit for each open bracket: whether it is that of an object.
        let (mut objects, mut depth) = (0_u128, 0);
        loop {
            let opened = self.opened()?;
            if let Some(object) = opened {
                if depth == DEPTH_MAX {
                    let detail = format!("JSON is nested more than {DEPTH_MAX} deep");
                    return Err(Fault::new("json-depth", detail));
                }
                (objects, depth) = (objects << 1 | u128::from(object), depth + 1);
                if !self.closes(closing(objects)) {
                    self.name_of_member(objects)?;
                    continue;
                }
                (objects, depth) = (objects >> 1, depth - 1);
            }
            while depth > 0 && !self.goes_on(closing(objects))? {
                (objects, depth) = (objects >> 1, depth - 1);
            }
            if depth == 0 {
                return Ok(&self.text[start..self.at]);
            }
            self.name_of_member(objects)?;
        }
    }

    /// Moves past an opening bracket (whether it opens an object), or past a scalar (none).
    fn opened(&mut self) -> Result<Option<bool>, Fault> {
        match self.peek() {
            Some(bracket @ (b'{' | b'[')) => {
                self.at += 1;
                Ok(Some(bracket == b'{'))
            }
            Some(b'"') => self.quoted().map(|_| None),
            _ => self.word().map(|_| None),
        }
    }

    fn name_of_member(&mut self, objects: u128) -> Result<(), Fault> {
        if objects & 1 == 0 {
            return Ok(());
        }
        if self.peek() != Some(b'"') {
            return Err(self.wrong("a name in quotes"));
        }
        self.quoted()?;
        self.open(b':', "`:`")
    }

    /// Moves past a number, `true`, `false` or `null`, and gives its text.
    pub(super) fn word(&mut self) -> Result<&'a str, Fault> {
        self.peek();
        let rest = &self.text[self.at..];
        let part = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'-' | b'.');
        let word = &rest[..rest.bytes().take_while(part).count()];
        let named = ["true", "false", "null", "NaN", "Infinity", "-Infinity"].contains(&word);
        if !named && !is_number(word.as_bytes()) {
            return Err(self.wrong("a value"));
        }
        self.at += word.len();
        Ok(word)
    }

    /// Moves past a string, and gives what stands between its quotes.
    fn quoted(&mut self) -> Result<&'a str, Fault> {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    let inner = &self.text[self.at + 1..at];
                    self.at = at + 1;
                    return Ok(inner);
                }
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        Err(self.wrong("a string that ends"))
    }

    /// Moves past a string, and gives the text that it says.
    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let inner = self.quoted()?;
        if !inner.contains('\\') {
            return Ok(Cow::Borrowed(inner));
        }
        match unescaped(inner) {
            Some(text) => Ok(Cow::Owned(text)),
            None => {
                let detail = format!("the string {} holds a wrong escape", shown(inner));
                Err(Fault::new("json-syntax", detail))
            }
        }
    }

    /// That something else than `wanted` stands here.
    pub(super) fn wrong(&self, wanted: &str) -> Fault {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let detail = if rest.is_empty() {
            format!("JSON ends where {wanted} should stand")
        } else {
            format!("JSON has {} where {wanted} should stand, at byte {}", shown(rest), self.at)
        };
        Fault::new("json-syntax", detail)
    }
}

/// The bracket that closes what was opened last.
fn closing(objects: u128) -> u8 {
    if objects & 1 == 1 { b'}' } else { b']' }
}

/// Whether it is a number of JSON: no leading zero, no bare point.
fn is_number(word: &[u8]) -> bool {
    fn digits(word: &[u8]) -> (usize, &[u8]) {
        let n = word.iter().take_while(|it| it.is_ascii_digit()).count();
        (n, &word[n..])
    }
    let word = word.strip_prefix(b"-").unwrap_or(word);
    let (whole, mut rest) = digits(word);
    if whole == 0 || whole > 1 && word[0] == b'0' {
        return false;
    }
    if let [b'.', fraction @ ..] = rest {
        let (n, after) = digits(fraction);
        if n == 0 {
            return false;
        }
        rest = after;
    }
    let [b'e' | b'E', exponent @ ..] = rest else { return rest.is_empty() };
    let exponent = match exponent {
        [b'+' | b'-', digits @ ..] => digits,
        all => all,
    };
    !exponent.is_empty() && exponent.iter().all(u8::is_ascii_digit)
}

/// A string's text without escapes; none where one of them is wrong.
fn unescaped(inner: &str) -> Option<String> {
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let (c, after) = escape(&rest[at + 1..])?;
        text.push(c);
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}

/// The character that an escape stands for, and what follows it.
fn escape(rest: &str) -> Option<(char, &str)> {
    let c = match rest.bytes().next()? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(&rest[1..]),
        _ => return None,
    };
    Some((c, &rest[1..]))
}

/// Four hexadecimal digits, or two pairs of them for what lies beyond the first plane.
fn unicode(rest: &str) -> Option<(char, &str)> {
    let hex = |it: &str| {
        let digits = it.get(..4).filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()))?;
        u32::from_str_radix(digits, 16).ok()
    };
    let high = hex(rest)?;
    if !(0xd800..0xdc00).contains(&high) {
        return char::from_u32(high).map(|c| (c, &rest[4..]));
    }
    let second = rest[4..].strip_prefix("\\u")?;
    let low = hex(second).filter(|it| (0xdc00..0xe000).contains(it))?;
    let c = char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))?;
    Some((c, &second[4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What serde_json reads, this reads, and nothing else but the three words.
    #[test]
    fn agrees_with_serde_json() {
        let cases = [
            "1",
            "-0",
            "0.5",
            "1e5",
            "1E-5",
            "1.5e+5",
            "true",
            "null",
            "\"\"",
            "[]",
            "{}",
            "[1, [2, []]]",
            " { \"a\" : [ 1 , { } ] , \"b\" : null } ",
            "\"\\u00e9\\n\\ud83e\\udd80\"",
            "[{}, {\"a\": {}}]",
            "",
            " ",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "-",
            "tru",
            "nul",
            "\"",
            "\"\\\"",
            "[",
            "]",
            "[1",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{",
            "{]",
            "[}",
            "{\"a\"}",
            "{\"a\": }",
            "{\"a\": 1,}",
            "{a: 1}",
            "{1: 1}",
            "1 2",
            "[1]]",
            "{\"a\": 1} x",
            "'a'",
            "--1",
            "[1}",
            "{\"a\": [1}",
            "1e5.5",
            "ü",
        ];
        for json in cases {
            let expected = serde_json::from_str::<serde_json::Value>(json).is_ok();
            assert_eq!(whole(json).is_ok(), expected, "{json}");
        }
        assert_eq!(whole(" [NaN, -Infinity, Infinity] "), Ok("[NaN, -Infinity, Infinity]"));
    }

    #[test]
    fn strings_say_what_serde_json_says() {
        for json in [r#""""#, r#""a\"b""#, r#""\\\/\b\f\n\r\t""#, r#""é\u00e9 \ud83e\udd80🦀""#]
        {
            let expected: String = serde_json::from_str(json).unwrap();
            assert_eq!(string(json).unwrap(), expected);
        }
        for json in [
            r#""\x""#,
            r#""\u12""#,
            r#""\ud83e""#,
            r#""\ud83e\u0041""#,
            r#""\udd80""#,
            r#""\u+123""#,
            "1",
        ] {
            assert_eq!(string(json).unwrap_err().code, "json-syntax", "{json}");
        }
    }

    #[test]
    fn members_are_found_by_name() {
        let json = r#" {"a": 1, "b" : [1, {"c": 2}], "\u0063": "x}\"", "a": 3} "#;
        assert_eq!(field(json, "a"), Ok("1"));
        assert_eq!(field(json, "b"), Ok("[1, {\"c\": 2}]"));
        assert_eq!(field(json, "c"), Ok(r#""x}\"""#));
        let fault = field(json, "d").unwrap_err();
        assert_eq!(fault.code, "field-missing");
        assert!(fault.detail.contains("`a`, `b`, `c`"), "{fault}");
        assert!(field("{}", "d").unwrap_err().detail.contains("empty"));
        assert_eq!(field("[1]", "d").unwrap_err().code, "json-syntax");
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(whole(&nested(128)).is_ok());
        assert_eq!(whole(&nested(129)).unwrap_err().code, "json-depth");
        assert_eq!(whole(&"[".repeat(1_000_000)).unwrap_err().code, "json-depth");
        let mixed = format!("{}1{}", "[{\"a\":".repeat(60), "}]".repeat(60));
        assert_eq!(whole(&mixed), Ok(&mixed[..]));
    }
}
