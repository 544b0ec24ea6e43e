//! `replace_all`: a text with everything that a regular expression matches replaced.

use super::patterns::{compiled, text_of};
use crate::prelude::*;
use plan::VALUE_BYTES_MAX;
use regex::Regex;
use std::{cell::RefCell, ops::Range};

function! {
    /// Replaces everything that a regular expression matches.
    ///
    /// From the left, without overlap. `pattern` is as for `matches`. In `new`, `$1` or `${1}` is what the first group
    /// matched, `${name}` the group `(?<name>…)`, `$0` the whole match, and `$$` a dollar sign; a group that took no
    /// part is empty. Both are known at compile time, and checked: a group that does not exist is an error. To replace
    /// a fixed string, `replace` is faster.
    ///
    /// ```pipe
    /// range(2) |> map { text: replace_all("2026-01-31", '(\d+)-(\d+)-(\d+)', new: '$3.$2.$1') }    # { text: str }
    /// ```
    "replace_all(text: str, pattern: text, new: text) -> str",
    // Assumed: a search as for `matches`, and a copy.
    cost: Cost { ns_byte_in: 2.5, ..Cost::call(100.0) },
    result: Some(|applied| {
        let pattern = compiled(&applied.args[1])?;
        Replacement::of(text_of(&applied.args[2], "new")?, &pattern)?;
        Ok(Type::scalar(DType::Str))
    }),
}

/// What stands in place of a match.
#[derive(Debug, PartialEq, Eq)]
struct Replacement {
    pieces: Vec<Piece>,
    /// Whether it needs to know what groups matched.
    has_groups: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Group(usize),
}

impl Replacement {
    /// Reads what a program says, in the syntax of `regex::Regex::replace_all`.
    fn of(text: &str, pattern: &Regex) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            plain += &rest[..at];
            let behind = &rest[at + 1..];
            let (name, after) = match behind.strip_prefix('{').and_then(|it| it.split_once('}')) {
                Some(found) => found,
                None => {
                    let end = behind.find(|it: char| !is_of_name(it)).unwrap_or(behind.len());
                    behind.split_at(end)
                }
            };
            if name.is_empty() {
                plain.push('$');
                rest = behind.strip_prefix('$').unwrap_or(behind);
                continue;
            }
            let group = group(name, pattern)?;
            pieces.extend((!plain.is_empty()).then(|| Piece::Text(std::mem::take(&mut plain))));
            pieces.push(Piece::Group(group));
            rest = after;
        }
        plain += rest;
        pieces.extend((!plain.is_empty()).then_some(Piece::Text(plain)));
        let has_groups = pieces.iter().any(|it| matches!(it, Piece::Group(1..)));
        Ok(Self { pieces, has_groups })
    }

    /// Writes it for a match; none where that is more than a value may have.
    fn write(
        &self,
        text: &str,
        group: impl Fn(usize) -> Option<Range<usize>>,
        to: &mut Vec<u8>,
    ) -> Option<()> {
        for piece in &self.pieces {
            match piece {
                Piece::Text(it) => push(to, it)?,
                Piece::Group(number) => push(to, group(*number).map_or("", |it| &text[it]))?,
            }
        }
        Some(())
    }
}

fn is_of_name(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_'
}

/// The number of a group.
fn group(name: &str, pattern: &Regex) -> Result<usize, String> {
    let n_groups = pattern.captures_len();
    let number = name.parse::<usize>().ok().filter(|it| *it < n_groups);
    let found = number.or_else(|| pattern.capture_names().position(|it| it == Some(name)));
    found.ok_or_else(|| {
        // `$1st` is the group `1st`.
        let digits = name.len() - name.trim_start_matches(|it: char| it.is_ascii_digit()).len();
        let meant = match &name[..digits] {
            "" => String::new(),
            number => format!("; write `${{{number}}}{}` for group {number}", &name[digits..]),
        };
        let meant = if digits < name.len() { meant } else { String::new() };
        format!(
            "`new` names the group `{name}`, which the pattern does not have: it has {}{meant}; `$$` is a dollar sign",
            plan::things(n_groups as u64 - 1, "group", "groups")
        )
    })
}

fn push(to: &mut Vec<u8>, piece: &str) -> Option<()> {
    to.extend(piece.as_bytes());
    (to.len() <= VALUE_BYTES_MAX).then_some(())
}

thread_local! {
    /// A text that is not all there yet.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes that a thread keeps the room of.
const KEPT: usize = 1 << 20;

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let made = compiled(&call.args[1]).and_then(|pattern| {
        let new = Replacement::of(text_of(&call.args[2], "new")?, &pattern)?;
        Ok((pattern, new))
    });
    let (pattern, new) = made.map_err(|why| Failure::Program(format!("`replace_all`: {why}")))?;
    Ok(Kernel::compute(move |args, out| {
        let text = args.tensor(0).as_str();
        if !pattern.is_match(text) {
            return out.text(DType::Str, text.as_bytes());
        }
        TEXT.with_borrow_mut(|to| {
            to.clear();
            let _working = Working::of(text.len());
            // Where it is too large, so is its room.
            let _ = replaced(text, &pattern, &new, to);
            let written = out.text(DType::Str, to);
            if to.capacity() > KEPT {
                *to = Vec::new();
            }
            written
        })
    }))
}

/// Writes the text with its matches replaced; none where it is too large.
fn replaced(text: &str, pattern: &Regex, new: &Replacement, to: &mut Vec<u8>) -> Option<()> {
    let mut done = 0;
    // Where no group is asked for, a search tells enough, and is faster.
    if new.has_groups {
        for found in pattern.captures_iter(text) {
            let all = found.get(0).expect("the whole is group 0").range();
            push(to, &text[done..all.start])?;
            new.write(text, |it| found.get(it).map(|it| it.range()), to)?;
            done = all.end;
        }
    } else {
        for found in pattern.find_iter(text) {
            push(to, &text[done..found.start()])?;
            new.write(text, |_| Some(found.range()), to)?;
            done = found.end();
        }
    }
    push(to, &text[done..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tensor::trial::{Trial, Value};

    fn trial<'a>(text: &'a str, pattern: &str, new: &str) -> Trial<'a> {
        let [pattern, new] = [pattern, new].map(|it| Arg::Text(it.to_owned()));
        Trial::of(&ENTRY).text(text).arg(pattern).arg(new)
    }

    /// `re.sub(pattern, new, text)` of Python 3.11, where `\1` is written `$1`.
    #[test]
    fn agrees_with_python() {
        let cases = [
            ("2026-01-31", r"(\d+)-(\d+)-(\d+)", "$3.$2.$1", "31.01.2026"),
            ("a  b \t c", r"\s+", " ", "a b c"),
            ("abc", "x", "y", "abc"),
            ("", "x", "y", ""),
            ("", "^$", "y", "y"),
            ("aaa", "a", "", ""),
            ("Grüße, Äpfel", "[üÄ]", "<$0>", "Gr<ü>ße, <Ä>pfel"),
            ("ab", "(a)|(b)", "[$1|$2]", "[a|][|b]"),
            ("me@example.org", r"(?P<who>\w+)@(?P<at>\S+)", "${at}: ${who}", "example.org: me"),
            ("5", r"\d", "$$$0", "$5"),
            ("x", "x", "1$", "1$"),
            ("abab", "ab", "${0}_$0", "ab_abab_ab"),
        ];
        for (text, pattern, new, expected) in cases {
            assert_eq!(
                trial(text, pattern, new).run(),
                Ok(Value::text(expected)),
                "{pattern}, {text:?}"
            );
        }
    }

    /// What the crate itself makes of it, for many texts.
    #[test]
    fn agrees_with_the_crate() {
        let letters = ["a", "b", "ü", " ", "1"];
        let patterns = ["a*", r"(\w)(\w)?", r"(?<x>a|ü)b?", r"\b", "", r"\s|1+"];
        let patterns = patterns.map(|it| (it, Regex::new(it).unwrap()));
        let grouping = Regex::new(r"(\w)(?<x>\s)?").unwrap();
        for number in 0..300_u64 {
            let letter = |at: u64| letters[(plan::mix(number, at) % 5) as usize];
            let text: String = (0..number % 30).map(letter).collect();
            for (pattern, plainly) in &patterns {
                for new in ["", "-", "$0$0", "<${0}>$$"] {
                    let expected = plainly.replace_all(&text, new);
                    assert_eq!(trial(&text, pattern, new).run(), Ok(Value::text(&expected)));
                }
            }
            let grouped = grouping.replace_all(&text, "$x${1}_$2");
            assert_eq!(
                trial(&text, r"(\w)(?<x>\s)?", "$x${1}_$2").run(),
                Ok(Value::text(&grouped))
            );
        }
    }

    #[test]
    fn groups_are_checked() {
        assert_eq!(
            trial("a", "(a)", "$2").refused(),
            "`new` names the group `2`, which the pattern does not have: it has 1 group; `$$` is a dollar sign"
        );
        assert_eq!(
            trial("a", "(a)", "$1st").refused(),
            "`new` names the group `1st`, which the pattern does not have: it has 1 group; write `${1}st` for group 1; \
             `$$` is a dollar sign"
        );
        assert!(trial("a", "a", "${name}").refused().contains("`name`"));
        assert!(trial("a", "(", "").refused().contains("unclosed group"));
    }

    #[test]
    fn a_result_is_bounded() {
        let text = "a".repeat(1 << 20);
        let fault = trial(&text, "", &"b".repeat(2_000)).run().unwrap_err();
        assert_eq!(fault.code, "too-large");
    }
}
