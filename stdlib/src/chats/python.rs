//! What templates expect of Python and of Jinja2 where `minijinja` differs: methods of strings, tests, `tojson` as
//! `json.dumps` writes it, and how numbers are written.

use minijinja::{
    Environment, Error, ErrorKind, State, Value,
    value::{Kwargs, ValueKind, from_args},
};
use minijinja_contrib::pycompat;
use std::{borrow::Cow, fmt::Write};

/// Lists and objects within each other that `tojson` writes.
const DEPTH_MAX: usize = 200;
/// Bytes that it writes, at the most.
const JSON_MAX: usize = 64 << 20;

/// Makes an environment more like that of Python.
pub(super) fn add(to: &mut Environment<'_>) {
    to.set_unknown_method_callback(method);
    to.add_filter("trim", trim);
    to.add_filter("tojson", tojson);
    to.add_filter("string", |it: &Value| {
        printed(it).map_or_else(|| Value::from(it.to_string()), Value::from)
    });
    to.add_test("sequence", |it: &Value| is_iterable(it));
    to.add_test("iterable", |it: &Value| is_iterable(it));
    to.add_test("number", |it: &Value| matches!(it.kind(), ValueKind::Number | ValueKind::Bool));
}

/// In Python, text is a sequence of characters, and Jinja2's undefined value an empty one.
fn is_iterable(value: &Value) -> bool {
    use ValueKind::{Iterable, Map, Seq, String, Undefined};
    matches!(value.kind(), String | Seq | Map | Iterable | Undefined)
}

/// What Python takes for white space: four control characters more than Unicode does.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// What ends a line for Python's `splitlines`.
fn ends_line(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The methods of strings for which Unicode's white space, or what `minijinja-contrib` lacks, makes a difference.
fn method(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let Some(text) = value.as_str() else {
        return pycompat::unknown_method_callback(state, value, name, args);
    };
    match name {
        "strip" | "lstrip" | "rstrip" => {
            let (chars,): (Option<&str>,) = from_args(args)?;
            let sides = [name != "rstrip", name != "lstrip"];
            Ok(Value::from(stripped(text, chars, sides)))
        }
        "split" | "rsplit" => split(text, name == "rsplit", args),
        "splitlines" => {
            let (keeps,): (Option<bool>,) = from_args(args)?;
            Ok(lines(text, keeps.unwrap_or(false)))
        }
        "removeprefix" | "removesuffix" => {
            let (part,): (&str,) = from_args(args)?;
            let rest = match name {
                "removeprefix" => text.strip_prefix(part),
                _ => text.strip_suffix(part),
            };
            Ok(Value::from(rest.unwrap_or(text)))
        }
        "partition" | "rpartition" => {
            let (part,): (&str,) = from_args(args)?;
            let none = if name == "partition" { [text, "", ""] } else { ["", "", text] };
            let found =
                if name == "partition" { text.split_once(part) } else { text.rsplit_once(part) };
            let parts = found.map_or(none, |(before, behind)| [before, part, behind]);
            Ok(Value::from(parts.map(Value::from).to_vec()))
        }
        "title" => {
            let () = from_args(args)?;
            Ok(Value::from(title(text)))
        }
        "isspace" => {
            let () = from_args(args)?;
            Ok(Value::from(!text.is_empty() && text.chars().all(is_space)))
        }
        _ => pycompat::unknown_method_callback(state, value, name, args),
    }
}

/// A text without white space, or certain characters, at its begin and its end.
fn stripped<'a>(text: &'a str, chars: Option<&str>, [begin, end]: [bool; 2]) -> &'a str {
    let goes = |it: char| chars.map_or_else(|| is_space(it), |all| all.contains(it));
    let text = if begin { text.trim_start_matches(goes) } else { text };
    if end { text.trim_end_matches(goes) } else { text }
}

/// Each letter behind one without upper and lower case becomes an upper one, also behind an apostrophe: `They'Re`.
fn title(text: &str) -> String {
    let mut to = String::with_capacity(text.len());
    let mut is_within = false;
    for c in text.chars() {
        match is_within {
            true => to.extend(c.to_lowercase()),
            false => to.extend(c.to_uppercase()),
        }
        is_within = c.is_lowercase() || c.is_uppercase();
    }
    to
}

fn trim(value: &Value, chars: Option<Cow<'_, str>>) -> Value {
    let text = value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed);
    Value::from(stripped(&text, chars.as_deref(), [true, true]))
}

fn split(text: &str, from_end: bool, args: &[Value]) -> Result<Value, Error> {
    let (by, most, named): (Option<Value>, Option<i64>, Kwargs) = from_args(args)?;
    let by = match by {
        None => named.get::<Option<Value>>("sep")?,
        by => by,
    };
    let most = most.or(named.get::<Option<i64>>("maxsplit")?);
    named.assert_all_used()?;
    let most = most.and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX);
    let by = by.filter(|it| !it.is_none() && !it.is_undefined());
    let Some(by) = by else {
        return Ok(listed(words(text, from_end, most)));
    };
    let by = by.as_str().filter(|it| !it.is_empty()).ok_or_else(|| {
        Error::new(ErrorKind::InvalidOperation, "texts are split at a text that is not empty")
    })?;
    let parts = most.saturating_add(1);
    Ok(listed(match from_end {
        true => {
            let mut all: Vec<&str> = text.rsplitn(parts, by).collect();
            all.reverse();
            all
        }
        false => text.splitn(parts, by).collect(),
    }))
}

/// The words of a text, of which the last, or the first, is all that is left after so many splits: `" a b  c "` split once is
/// `a` and `b  c `.
fn words(text: &str, from_end: bool, most: usize) -> Vec<&str> {
    let sides = [!from_end, from_end];
    let (mut all, mut rest) = (Vec::new(), stripped(text, None, sides));
    while !rest.is_empty() {
        let cut = if from_end { rest.rfind(is_space) } else { rest.find(is_space) };
        let Some(at) = cut.filter(|_| all.len() < most) else {
            all.push(rest);
            break;
        };
        let width = rest[at..].chars().next().map_or(1, char::len_utf8);
        let (word, behind) = match from_end {
            true => (&rest[at + width..], &rest[..at]),
            false => (&rest[..at], &rest[at + width..]),
        };
        all.push(word);
        rest = stripped(behind, None, sides);
    }
    if from_end {
        all.reverse();
    }
    all
}

fn lines(text: &str, keeps: bool) -> Value {
    let (mut all, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let at = rest.find(ends_line).unwrap_or(rest.len());
        let end = match rest[at..].starts_with("\r\n") {
            true => 2,
            false => rest[at..].chars().next().map_or(0, char::len_utf8),
        };
        all.push(&rest[..at + if keeps { end } else { 0 }]);
        rest = &rest[at + end..];
    }
    listed(all)
}

fn listed(all: Vec<&str>) -> Value {
    Value::from(all.into_iter().map(Value::from).collect::<Vec<_>>())
}

/// A number as Python writes it, where it is a float.
fn float(value: &Value) -> Option<String> {
    if value.kind() != ValueKind::Number || value.is_integer() {
        return None;
    }
    f64::try_from(value.clone()).ok().map(written)
}

/// `repr` of a float: with an exponent from 1e16 on, and below 1e-4, where Rust's `{:?}` begins to write one too.
fn written(number: f64) -> String {
    if number.is_nan() || number.is_infinite() {
        return number.to_string().to_lowercase();
    }
    let text = format!("{number:?}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(it) => ('-', it),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

/// A value as Python prints it, where that is not how Jinja does: floats, and lists and objects that may have some.
pub(super) fn printed(value: &Value) -> Option<String> {
    use ValueKind::{Iterable, Map, Seq};
    match value.kind() {
        Map | Seq | Iterable => {
            let mut to = String::new();
            repr(value, 0, &mut to).ok().map(|()| to)
        }
        _ => float(value),
    }
}

/// `repr` of a value.
fn repr(value: &Value, depth: usize, to: &mut String) -> Result<(), Error> {
    if depth > DEPTH_MAX || to.len() > JSON_MAX {
        return Err(wrong("a value is too large to be written"));
    }
    match value.kind() {
        ValueKind::String => repr_text(value.as_str().unwrap_or_default(), to),
        ValueKind::Map => {
            to.push('{');
            for (at, name) in value.try_iter()?.enumerate() {
                to.push_str(if at > 0 { ", " } else { "" });
                repr(&name, depth + 1, to)?;
                to.push_str(": ");
                repr(&value.get_item(&name)?, depth + 1, to)?;
            }
            to.push('}');
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let is_tuple = value.is_tuple();
            to.push(if is_tuple { '(' } else { '[' });
            for (at, it) in value.try_iter()?.enumerate() {
                to.push_str(if at > 0 { ", " } else { "" });
                repr(&it, depth + 1, to)?;
            }
            to.push_str(match (is_tuple, value.len()) {
                (false, _) => "]",
                (true, Some(1)) => ",)",
                (true, _) => ")",
            });
        }
        _ => match float(value) {
            Some(number) => to.push_str(&number),
            None => write!(to, "{value}").expect("strings take all"),
        },
    }
    Ok(())
}

/// A text in the quotes that it has none of, with escapes for what is not seen.
fn repr_text(text: &str, to: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    to.push(quote);
    for c in text.chars() {
        match c {
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            '\\' => to.push_str("\\\\"),
            c if c == quote => to.extend(['\\', c]),
            c if is_seen(c) => to.push(c),
            c => {
                let code = u32::from(c);
                let escape = match code {
                    0..0x100 => format!("\\x{code:02x}"),
                    0x100..0x1_0000 => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                };
                to.push_str(&escape);
            }
        }
    }
    to.push(quote);
}

/// Whether Python shows a character as it is: not white space but the usual one, not what only steers how others are
/// shown, not what is for private use.
fn is_seen(c: char) -> bool {
    let steers = matches!(c, '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0001}'..='\u{e007f}');
    let is_private = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..);
    c == ' ' || !(c.is_control() || c.is_whitespace() || steers || is_private)
}

/// How `json.dumps` writes.
struct Json {
    ascii: bool,
    indent: Option<String>,
    separators: [String; 2],
    sorted: bool,
}

/// `json.dumps`, which leaves characters as they are unless it is told otherwise.
fn tojson(value: &Value, ascii: Option<bool>, named: Kwargs) -> Result<String, Error> {
    let ascii = ascii.or(named.get::<Option<bool>>("ensure_ascii")?).unwrap_or(false);
    let indent = named.get::<Option<Value>>("indent")?.filter(|it| !it.is_none());
    let indent = indent.map(|it| match it.as_str() {
        Some(text) => text.to_owned(),
        None => " ".repeat(it.as_usize().unwrap_or(0).min(64)),
    });
    let between = if indent.is_some() { "," } else { ", " };
    let mut separators = [between.to_owned(), ": ".to_owned()];
    if let Some(given) = named.get::<Option<Vec<String>>>("separators")? {
        separators = given.try_into().map_err(|_| wrong("`separators` are two texts"))?;
    }
    let sorted = named.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    named.assert_all_used()?;
    let how = Json { ascii, indent, separators, sorted };
    let mut to = String::new();
    how.write(value, 0, &mut to)?;
    Ok(to)
}

fn wrong(why: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}

impl Json {
    fn write(&self, value: &Value, depth: usize, to: &mut String) -> Result<(), Error> {
        if depth > DEPTH_MAX || to.len() > JSON_MAX {
            return Err(wrong("a value is too large for `tojson`"));
        }
        match value.kind() {
            ValueKind::None => to.push_str("null"),
            ValueKind::Bool => to.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => match float(value).as_deref() {
                Some("nan") => to.push_str("NaN"),
                Some("inf") => to.push_str("Infinity"),
                Some("-inf") => to.push_str("-Infinity"),
                Some(number) => to.push_str(number),
                None => write!(to, "{value}").expect("strings take all"),
            },
            ValueKind::String => self.write_text(value.as_str().unwrap_or_default(), to),
            ValueKind::Seq | ValueKind::Iterable => {
                let all: Vec<Value> = value.try_iter()?.collect();
                self.write_all(['[', ']'], all.len(), depth, to, |at, to| {
                    self.write(&all[at], depth + 1, to)
                })?;
            }
            ValueKind::Map => {
                let mut names: Vec<Value> = value.try_iter()?.collect();
                if self.sorted {
                    names.sort();
                }
                self.write_all(['{', '}'], names.len(), depth, to, |at, to| {
                    self.write_text(&names[at].to_string(), to);
                    to.push_str(&self.separators[1]);
                    self.write(&value.get_item(&names[at])?, depth + 1, to)
                })?;
            }
            _ => return Err(wrong("`tojson` was given a value that JSON lacks")),
        }
        Ok(())
    }

    fn write_all(
        &self,
        [open, close]: [char; 2],
        n: usize,
        depth: usize,
        to: &mut String,
        each: impl Fn(usize, &mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let line = |depth: usize, to: &mut String| {
            if let Some(indent) = &self.indent {
                to.push('\n');
                (0..depth).for_each(|_| to.push_str(indent));
            }
        };
        to.push(open);
        for at in 0..n {
            if at > 0 {
                to.push_str(&self.separators[0]);
            }
            line(depth + 1, to);
            each(at, to)?;
        }
        if n > 0 {
            line(depth, to);
        }
        to.push(close);
        Ok(())
    }

    fn write_text(&self, text: &str, to: &mut String) {
        to.push('"');
        for c in text.chars() {
            match c {
                '"' => to.push_str("\\\""),
                '\\' => to.push_str("\\\\"),
                '\n' => to.push_str("\\n"),
                '\r' => to.push_str("\\r"),
                '\t' => to.push_str("\\t"),
                '\u{8}' => to.push_str("\\b"),
                '\u{c}' => to.push_str("\\f"),
                c if c < ' ' || self.ascii && c > '~' => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        write!(to, "\\u{unit:04x}").expect("strings take all");
                    }
                }
                c => to.push(c),
            }
        }
        to.push('"');
    }
}
