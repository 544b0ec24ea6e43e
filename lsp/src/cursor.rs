//! What is being written where the cursor is, seen from the words before it: a text that is being
//! written is seldom a program.

use compiler::syntax::{Kind, highlight};

/// What stands around the cursor.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor<'t> {
    /// The word that is being written, from its beginning to the cursor.
    pub(crate) word: &'t str,
    /// What is to be written next.
    pub(crate) place: Place<'t>,
    /// The innermost call whose brackets are open.
    pub(crate) call: Option<Open<'t>>,
    /// The brackets that are open in this declaration, the innermost last.
    pub(crate) brackets: Vec<&'t str>,
    /// Whether it stands in a text.
    pub(crate) quoted: bool,
    /// The word before the one that is being written.
    pub(crate) last: &'t str,
}

/// What may stand at the cursor.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Place<'t> {
    /// A word that opens a declaration.
    #[default]
    Declaration,
    /// Right of `|>`.
    Stage,
    /// A value, or a name with `:` before one.
    Value,
    /// The value of the argument that is named.
    Argument(&'t str),
    /// Right of `else`.
    Otherwise,
    /// A type.
    Type,
    /// A field of the value whose last byte is before this one.
    Field(usize),
    /// In a comment, a text, or where a new name is given.
    Nothing,
}

/// A call that is being written.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub(crate) struct Open<'t> {
    /// What is called.
    pub(crate) name: &'t str,
    /// Whether it stands right of `|>`: then its first argument is there.
    pub(crate) piped: bool,
    /// Commas so far.
    pub(crate) commas: usize,
    /// The parameter that is being given by name.
    pub(crate) named: Option<&'t str>,
    /// All that are given by name.
    pub(crate) given: Vec<&'t str>,
    /// The byte behind the arguments before the one that is being given.
    pub(crate) before: usize,
    /// Brackets that are open in that one.
    pub(crate) depth: usize,
}

type Word<'t> = (&'t str, Kind, usize);

/// Looks at `text` up to `byte`.
pub(crate) fn cursor(text: &str, byte: usize) -> Cursor<'_> {
    let before = text.get(..byte).unwrap_or(text);
    let mut words: Vec<Word<'_>> = highlight(before)
        .into_iter()
        .map(|(span, kind)| (span.text(before), kind, span.end as usize))
        .collect();
    let mut cursor = Cursor::default();
    let mut nothing = false;
    let touches = words.last().is_some_and(|it| it.2 == before.len());
    if let Some((word, kind, _)) = words.last().copied().filter(|_| touches) {
        match kind {
            Kind::Comment | Kind::Doc | Kind::Text | Kind::Hole | Kind::Number => {
                let closed = kind == Kind::Text && word.len() > 1 && word.ends_with(['"', '\'']);
                nothing = !closed;
                cursor.quoted = nothing && kind == Kind::Text;
                if cursor.quoted {
                    words.pop();
                }
            }
            Kind::Sign | Kind::Unknown => {}
            _ => {
                cursor.word = word;
                words.pop();
            }
        }
    }
    words.retain(|it| !matches!(it.1, Kind::Comment | Kind::Doc));
    let start = words.iter().rposition(|it| opens(it.0)).unwrap_or(0);
    let words = &words[start..];
    let (brackets, call) = open(words);
    let place = place(words, &brackets, call.as_ref());
    cursor.place = if nothing { Place::Nothing } else { place };
    cursor.brackets = brackets.into_iter().map(|it| it.0).collect();
    cursor.last = words.last().map_or("", |it| it.0);
    cursor.call = call;
    cursor
}

fn opens(word: &str) -> bool {
    matches!(word, "param" | "const" | "fn" | "extern" | "pipeline" | "use" | "edition")
}

/// The brackets that are open, each with its place among the words; and the innermost call.
fn open<'t>(words: &[Word<'t>]) -> (Vec<(&'t str, usize)>, Option<Open<'t>>) {
    let mut brackets: Vec<(&str, usize)> = Vec::new();
    for (i, (word, kind, _)) in words.iter().enumerate().filter(|it| it.1.1 == Kind::Sign) {
        debug_assert_eq!(*kind, Kind::Sign, "only signs are looked at");
        match *word {
            "(" | "[" | "{" => brackets.push((word, i)),
            ")" | "]" | "}" => {
                brackets.pop();
            }
            _ => {}
        }
    }
    let called =
        |it: &&(&str, usize)| it.0 == "(" && it.1 > 0 && matches!(words[it.1 - 1].1, Kind::Call);
    let call = brackets.iter().rev().find(called).map(|it| call_at(words, it.1));
    (brackets, call)
}

fn call_at<'t>(words: &[Word<'t>], bracket: usize) -> Open<'t> {
    let mut call = Open { name: words[bracket - 1].0, ..Open::default() };
    call.piped = bracket > 1 && words[bracket - 2].0 == "|>";
    call.before = words[bracket].2;
    let mut depth = 0usize;
    for (i, (word, _, _)) in words.iter().enumerate().skip(bracket + 1) {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                call.commas += 1;
                call.named = None;
                call.before = words[i - 1].2;
            }
            ":" if depth == 0 => {
                call.named = Some(words[i - 1].0);
                call.given.push(words[i - 1].0);
            }
            _ => {}
        }
    }
    call.depth = depth;
    call
}

fn place<'t>(
    words: &[Word<'t>],
    brackets: &[(&'t str, usize)],
    call: Option<&Open<'t>>,
) -> Place<'t> {
    let Some((last, kind, end)) = words.last().copied() else { return Place::Declaration };
    let declares = words.first().map_or("", |it| it.0);
    let formals =
        matches!(declares, "fn" | "extern" | "pipeline") && !words.iter().any(|it| it.0 == "=");
    match (last, kind) {
        ("param" | "const" | "fn" | "pipeline" | "extern" | "use" | "edition", Kind::Keyword) => {
            Place::Nothing
        }
        ("|>", _) => Place::Stage,
        (".", _) => Place::Field(end - 1),
        ("else", _) => Place::Otherwise,
        ("as" | "->", _) => Place::Type,
        (":", _) if formals || declares == "param" && brackets.is_empty() => Place::Type,
        (":", _) if brackets.last().is_some_and(|it| it.0 == "(") => {
            call.and_then(|it| it.named).map_or(Place::Value, Place::Argument)
        }
        (_, Kind::Sign | Kind::Keyword) if !matches!(last, ")" | "]" | "}") => {
            if formals && last != "=" { Place::Nothing } else { Place::Value }
        }
        _ if brackets.is_empty() => Place::Declaration,
        _ => Place::Nothing,
    }
}

/// The text as it might be meant: a name stands at the cursor, and what is open is closed there; what
/// stood behind it in this declaration is left out. And the place behind that name.
pub(crate) fn mended(text: &str, byte: usize) -> (String, usize) {
    let cursor = cursor(text, byte);
    let before = text.get(..byte).unwrap_or(text);
    let head = &before[..before.len() - cursor.word.len()];
    let closed = Cursor::closed(&cursor.brackets);
    let rest = rest_of(text, byte);
    (format!("{head}{HOLE}{closed}\n{rest}"), head.len() + HOLE.len())
}

impl Cursor<'_> {
    /// What closes brackets that are open, the innermost last.
    pub(crate) fn closed(brackets: &[&str]) -> String {
        let close = |it: &&str| match *it {
            "(" => ')',
            "[" => ']',
            _ => '}',
        };
        brackets.iter().rev().map(close).collect()
    }
}

/// What of a text stands behind the declaration that a byte is in.
pub(crate) fn rest_of(text: &str, byte: usize) -> &str {
    let rest = text.get(byte..).unwrap_or_default();
    let next = rest.match_indices('\n').map(|it| it.0 + 1).find(|it| {
        let line = &rest[*it..];
        let word = line.split(|it: char| !it.is_ascii_alphanumeric()).next().unwrap_or_default();
        opens(word) || line.starts_with("##")
    });
    next.map_or("", |it| &rest[it..])
}

/// What stands for the word that is being written.
const HOLE: &str = "hole__";

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Cursor<'_> {
        cursor(text, text.len())
    }

    #[test]
    fn what_is_being_written_is_seen_from_the_words_before_it() {
        assert_eq!(at("pi").place, Place::Declaration);
        assert_eq!(at("pipeline p = range(9)\n").place, Place::Declaration);
        assert_eq!(at("pipeline p = ra").place, Place::Value);
        assert_eq!(at("pipeline p = x |> sh").place, Place::Stage);
        assert_eq!(at("pipeline p = x |> batch(8, tail: k").place, Place::Argument("tail"));
        assert_eq!(at("fn f(x: f").place, Place::Type);
        assert_eq!(at("fn f").place, Place::Nothing);
        assert_eq!(at("fn f(x) = x # a").place, Place::Nothing);
        assert_eq!(at("fn f(x) = x else sk").place, Place::Otherwise);
        assert_eq!(at("fn f(x) = x.sh").place, Place::Field(11));
        assert_eq!(at("fn f(x) = x as u").place, Place::Type);
    }

    #[test]
    fn an_open_call_knows_what_is_given() {
        let call = at("pipeline p = x |> map { a: f(1, g(2, 3), size: [1, 2], ").call;
        let call = call.expect("a call is open");
        assert_eq!((call.name, call.commas, call.named, call.piped), ("f", 3, None, false));
        assert_eq!(call.given, ["size"]);
        assert!(at("x |> batch(8").call.expect("one is open").piped);
        assert_eq!(at("pipeline p = x |> map { a: f(1) }").call, None);
    }

    #[test]
    fn what_is_open_is_closed_at_the_cursor() {
        let text = "pipeline p = x |> map { a: f(de\n    |> batch(8)\nfn g(x) = x\n";
        let (mended, at) = mended(text, 31);
        assert_eq!(mended, "pipeline p = x |> map { a: f(hole__)}\nfn g(x) = x\n");
        assert_eq!(&mended[..at], "pipeline p = x |> map { a: f(hole__");
    }
}
