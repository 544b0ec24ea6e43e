//! Untyped data: JSON text that is skimmed where it lies, without a tree.
//!
//! What is skimmed is checked against the grammar (RFC 8259), and beyond it `NaN`, `Infinity`
//! and `-Infinity` are read, which Python writes. Nothing recurses with the text's nesting.

pub(crate) mod typed;

use crate::{marks::Marks, prelude::*};
use memchr::memchr2;
use runtime::{Skim, Skimmed};
use std::{borrow::Cow, ops::Range};

/// How deep lists and objects may be nested.
const DEPTH_MAX: u32 = 128;
/// Characters of a text that a message shows.
const SHOWN_MAX: usize = 60;
/// Bytes of a string that are looked at eight by eight.
const NEAR: usize = 16;
/// Names of fields that a message lists.
const NAMES_MAX: usize = 8;

/// A text in backquotes, shortened where it is long.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// The same, of bytes that are UTF-8.
fn shown_bytes(text: &[u8]) -> String {
    // No character that is shown has more than four.
    shown(&String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN_MAX + 8)]))
}

/// The member of an object that is called `name`: the first, if there are several.
pub(crate) fn field<'a>(
    json: &'a [u8],
    name: &[u8],
    known: &mut Skimmed,
) -> Result<&'a [u8], Fault> {
    for part in &known.parts {
        if *name_said(&json[part.name.clone()])? == *name {
            return Ok(&json[part.value.clone()]);
        }
    }
    let mut scan = Scan { text: json, at: known.at };
    let mut more = if known.at == 0 {
        scan.begin(b'{', "an object")?;
        !scan.closes(b'}')
    } else {
        scan.goes_on(b'}')?
    };
    while more {
        let (place, is_it) = scan.name(name)?;
        let value = scan.value()?;
        // Only what follows the parts that are known may become one of them.
        if known.parts.len() < Skimmed::PARTS_MAX {
            known.parts.push(Skim { name: place, value: scan.at - value.len()..scan.at });
            known.at = scan.at;
        }
        if is_it {
            return Ok(value);
        }
        more = scan.goes_on(b'}')?;
    }
    Err(missing(json, name, known))
}

/// That none of the members of an object is called `name`, all of which were passed.
#[cold]
fn missing(json: &[u8], name: &[u8], known: &Skimmed) -> Fault {
    let inner = known.parts.iter().take(NAMES_MAX + 1).map(|it| &json[it.name.clone()]);
    let names: Result<Vec<_>, _> = inner.map(name_said).collect();
    match names {
        Ok(names) => Fault::new("field-missing", missing_among(name, &names)),
        Err(fault) => fault,
    }
}

fn missing_among(name: &[u8], names: &[Cow<'_, [u8]>]) -> String {
    let listed: Vec<String> = names.iter().take(NAMES_MAX).map(|it| shown_bytes(it)).collect();
    let name = shown_bytes(name);
    let more = if names.len() > NAMES_MAX { ", …" } else { "" };
    match &listed[..] {
        [] => format!("field {name} is missing: the object is empty"),
        _ => format!("field {name} is missing; the fields are {}{more}", listed.join(", ")),
    }
}

/// The elements of a list, each handed to `visit` with what follows it, until it says stop.
pub(crate) fn elements<'a>(
    json: &'a [u8],
    mut visit: impl FnMut(&'a [u8]) -> bool,
) -> Result<(), Fault> {
    let mut scan = Scan::new(json);
    scan.begin(b'[', "a list")?;
    let mut more = !scan.closes(b']');
    while more {
        if !visit(scan.value()?) {
            return Ok(());
        }
        more = scan.goes_on(b']')?;
    }
    Ok(())
}

/// A member of an object as a string: one that it is, or with `any` also a number or a boolean as it is written.
pub(crate) fn member<'a>(json: &'a [u8], name: &[u8], any: bool) -> Result<Cow<'a, [u8]>, Fault> {
    let value = field(json, name, &mut Skimmed::default())?;
    match value.first() {
        Some(b'0'..=b'9' | b'-' | b't' | b'f') if any => Ok(Cow::Borrowed(value)),
        _ => string(value),
    }
}

/// The whole text, if it is one JSON value.
pub(super) fn whole(json: &[u8]) -> Result<&[u8], Fault> {
    let mut scan = Scan::new(json);
    let value = scan.value()?;
    if scan.peek().is_some() {
        return Err(scan.wrong("the end of the text"));
    }
    Ok(value)
}

/// The text that a JSON string says.
pub(crate) fn string(json: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
    let mut scan = Scan::new(json);
    if scan.peek() != Some(b'"') {
        return Err(scan.other("a string"));
    }
    scan.string()
}

/// Where reading stands in a JSON text.
pub(crate) struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// The next byte that is no white space.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// Moves past `bracket`, or says what was wanted.
    #[inline]
    fn open(&mut self, bracket: u8, wanted: &str) -> Result<(), Fault> {
        if self.peek() != Some(bracket) {
            return Err(self.wrong(wanted));
        }
        self.at += 1;
        Ok(())
    }

    /// Moves past the `bracket` that a list or an object begins with, or says what was wanted.
    pub(crate) fn begin(&mut self, bracket: u8, wanted: &str) -> Result<(), Fault> {
        if self.closes(bracket) { Ok(()) } else { Err(self.other(wanted)) }
    }

    /// Whether `bracket` comes next; then moves past it.
    #[inline]
    pub(crate) fn closes(&mut self, bracket: u8) -> bool {
        let closes = self.peek() == Some(bracket);
        self.at += usize::from(closes);
        closes
    }

    /// Moves past a comma, or past `bracket`: whether it was a comma.
    #[inline]
    pub(crate) fn goes_on(&mut self, bracket: u8) -> Result<bool, Fault> {
        if self.closes(bracket) {
            return Ok(false);
        }
        self.open(b',', if bracket == b']' { "`,` or `]`" } else { "`,` or `}`" })?;
        Ok(true)
    }

    /// Moves past a member's name and the colon: where the name lies, and whether it is `name`.
    #[inline]
    fn name(&mut self, name: &[u8]) -> Result<(Range<usize>, bool), Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.wrong("a field name in quotes"));
        }
        let (inner, is_escaped) = self.quoted()?;
        let is_it = if is_escaped { *said(inner)? == *name } else { inner == name };
        // Before the quote that ends it.
        let end = self.at - 1;
        self.open(b':', "`:`")?;
        Ok((end - inner.len()..end, is_it))
    }

    /// Moves past a value, and gives its text.
    pub(super) fn value(&mut self) -> Result<&'a [u8], Fault> {
        let first = self.peek();
        let start = self.at;
        if !matches!(first, Some(b'{' | b'[')) {
            self.scalar(first)?;
            return Ok(&self.text[start..self.at]);
        }
        self.nested()?;
        Ok(&self.text[start..self.at])
    }

    /// Moves past a list or an object.
    fn nested(&mut self) -> Result<(), Fault> {
        self.nested_within(0)
    }

    /// The same of one that stands within `around` others, which count as well.
    fn nested_within(&mut self, around: u32) -> Result<(), Fault> {
        // One bit for each open bracket: whether it is that of an object.
        let (mut objects, mut depth) = (0_u128, 0);
        loop {
            let opened = self.opened()?;
            if let Some(object) = opened {
                if depth + around == DEPTH_MAX {
                    let detail = format!("JSON is nested more than {DEPTH_MAX} levels deep");
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
                return Ok(());
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
            first => self.scalar(first).map(|()| None),
        }
    }

    /// Moves past a value that begins so, and is no list and no object.
    fn scalar(&mut self, first: Option<u8>) -> Result<(), Fault> {
        match first {
            Some(b'"') => self.quoted().map(|_| ()),
            _ => self.word().map(|_| ()),
        }
    }

    fn name_of_member(&mut self, objects: u128) -> Result<(), Fault> {
        if objects & 1 == 0 {
            return Ok(());
        }
        if self.peek() != Some(b'"') {
            return Err(self.wrong("a field name in quotes"));
        }
        self.quoted()?;
        self.open(b':', "`:`")
    }

    /// Moves past a number, `true`, `false` or `null`, and gives its text.
    pub(crate) fn word(&mut self) -> Result<&'a [u8], Fault> {
        const NAMED: [&[u8]; 6] = [b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"];
        self.peek();
        let rest = &self.text[self.at..];
        let is_part = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'-' | b'.');
        let mut len = number(rest);
        if len == 0 || rest.get(len).is_some_and(is_part) {
            len = rest.iter().take_while(|it| is_part(it)).count();
            if !NAMED.contains(&&rest[..len]) {
                return Err(self.wrong("a value"));
            }
        }
        self.at += len;
        Ok(&rest[..len])
    }

    /// Moves past a string, and gives what stands between its quotes, and whether something there is escaped.
    #[inline]
    fn quoted(&mut self) -> Result<(&'a [u8], bool), Fault> {
        let inside = &self.text[self.at + 1..];
        // Behind what is escaped by the last backslash.
        let mut from = 0;
        while let Some(at) = quote_or_backslash(inside.get(from..).unwrap_or_default()) {
            let at = from + at;
            if inside[at] == b'"' {
                self.at += at + 2;
                return Ok((&inside[..at], from > 0));
            }
            from = at + 2;
        }
        Err(self.wrong("a string with a closing quote"))
    }

    /// Moves past a string, and gives the text that it says.
    fn string(&mut self) -> Result<Cow<'a, [u8]>, Fault> {
        let (inner, is_escaped) = self.quoted()?;
        if is_escaped { said(inner).map(Cow::Owned) } else { Ok(Cow::Borrowed(inner)) }
    }

    /// The fault for a value of another kind than `wanted`, or for none, at this position.
    #[cold]
    pub(crate) fn other(&self, wanted: &str) -> Fault {
        let mut here = Self { text: self.text, at: self.at };
        let Ok(value) = here.value() else { return self.wrong(wanted) };
        let (value, at) = (shown_bytes(value), self.at);
        let detail = format!("expected {wanted}, found {value} at byte {at}");
        Fault::new("json-type", detail)
    }

    /// The fault for something other than `wanted` at this position.
    pub(super) fn wrong(&self, wanted: &str) -> Fault {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let detail = if rest.is_empty() {
            format!("invalid JSON: expected {wanted}, found the end of the text")
        } else {
            let (rest, at) = (shown_bytes(rest), self.at);
            format!("invalid JSON: expected {wanted}, found {rest} at byte {at}")
        };
        Fault::new("json-syntax", detail)
    }
}

/// The name that a member has, from between its quotes.
fn name_said(inner: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
    let is_escaped = inner.contains(&b'\\');
    if is_escaped { said(inner).map(Cow::Owned) } else { Ok(Cow::Borrowed(inner)) }
}

/// The text that a string says whose quotes this stands between, where something of it is escaped.
fn said(inner: &[u8]) -> Result<Vec<u8>, Fault> {
    let text = str::from_utf8(inner).ok().and_then(unescaped);
    text.map(String::into_bytes).ok_or_else(|| {
        let detail =
            format!("the string {} contains an invalid escape sequence", shown_bytes(inner));
        Fault::new("json-syntax", detail)
    })
}

/// Where the first of them stands.
#[inline]
fn quote_or_backslash(text: &[u8]) -> Option<usize> {
    // Most strings are short; to begin a search of long ones takes as long as such a one.
    let (near, far) = text.split_at(text.len().min(NEAR));
    let near = Marks::of(near, *b"\"\\").next();
    near.or_else(|| memchr2(b'"', b'\\', far).map(|it| NEAR + it))
}

/// The bracket that closes what was opened last.
fn closing(objects: u128) -> u8 {
    if objects & 1 == 1 { b'}' } else { b']' }
}

/// Bytes of the number of JSON in front, without a leading zero or a bare point; 0 where there is none.
fn number(text: &[u8]) -> usize {
    // Where the digits end that begin there.
    let digits = |mut at: usize| {
        while text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let first = usize::from(text.first() == Some(&b'-'));
    let mut end = digits(first);
    if end == first || end > first + 1 && text[first] == b'0' {
        return 0;
    }
    if text.get(end) == Some(&b'.') {
        let fraction = end + 1;
        end = digits(fraction);
        if end == fraction {
            return 0;
        }
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let exponent = end + 1 + usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        end = digits(exponent);
        if end == exponent {
            return 0;
        }
    }
    end
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

    fn whole(json: &str) -> Result<&str, Fault> {
        super::whole(json.as_bytes()).map(|it| str::from_utf8(it).unwrap())
    }

    fn field<'a>(json: &'a str, name: &str) -> Result<&'a str, Fault> {
        let found = super::field(json.as_bytes(), name.as_bytes(), &mut Skimmed::default());
        found.map(|it| str::from_utf8(it).unwrap())
    }

    fn string(json: &str) -> Result<String, Fault> {
        super::string(json.as_bytes()).map(|it| String::from_utf8(it.into_owned()).unwrap())
    }

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
            "",
            "[1",
            "nul",
        ] {
            assert_eq!(string(json).unwrap_err().code, "json-syntax", "{json}");
        }
        for json in ["1", " null ", "[\"a\"]", "{}"] {
            assert_eq!(string(json).unwrap_err().code, "json-type", "{json}");
        }
        let detail = string("null").unwrap_err().detail;
        assert_eq!(detail, "expected a string, found `null` at byte 0");
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
        assert_eq!(field("[1]", "d").unwrap_err().code, "json-type");
        assert_eq!(field("[1", "d").unwrap_err().code, "json-syntax");
    }

    /// What was looked for before changes nothing of what is found, nor of what is wrong.
    #[test]
    fn members_are_found_in_any_order() {
        let long: Vec<String> = (0..99).map(|it| format!("\"m{it}\": {it}")).collect();
        let texts = [
            r#" {"a": 1, "b" : [1, {"c": 2}], "\u0063": "x}\"", "a": 3, "": {}} "#.to_owned(),
            "{}".to_owned(),
            "[1]".to_owned(),
            r#"{"a": 1, "b": tru, "c": 3}"#.to_owned(),
            r#"{"a": 1, "\x": 2, "c": 3}"#.to_owned(),
            r#"{"a": 1 "c": 3}"#.to_owned(),
            r#"{"a": 1, "c": 3"#.to_owned(),
            format!("{{{}}}", long.join(", ")),
        ];
        let names = ["a", "c", "b", "", "m98", "m3", "m70", "m65", "a", "d", "m64", "c"];
        for json in &texts {
            for from in 0..names.len() {
                let mut known = Skimmed::default();
                for name in names[from..].iter().chain(&names[..from]) {
                    let (json, name) = (json.as_bytes(), name.as_bytes());
                    let alone = super::field(json, name, &mut Skimmed::default());
                    let found = super::field(json, name, &mut known);
                    assert_eq!(found.map_err(|it| it.detail), alone.map_err(|it| it.detail));
                }
                assert!(known.parts.len() <= Skimmed::PARTS_MAX);
            }
        }
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
