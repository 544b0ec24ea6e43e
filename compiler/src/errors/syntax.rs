//! What is said about texts that cannot be read.

mod codes;
mod python;

pub(crate) use codes::CODES;
pub(crate) use python::*;

use plan::{Diagnostic, Span};

use crate::ast::Unit;
use crate::syntax::{DECLARATIONS_MAX, EDITIONS, SOURCE_MAX};

/// Whatever fits no better message: `found` is the word, `wanted` what could stand in its place.
pub(crate) fn unexpected(found: &str, wanted: &str, at: Span) -> Diagnostic {
    let message = format!("`{found}` does not fit here");
    Diagnostic::error(codes::UNEXPECTED.code(), at, message)
        .label(format!("{wanted} is wanted here"))
}

pub(crate) fn breaks_off(wanted: &str, at: Span) -> Diagnostic {
    let message = format!("the declaration breaks off where {wanted} is wanted");
    Diagnostic::error(codes::UNEXPECTED.code(), at, message).label(format!("{wanted} is missing"))
}

// ---- limits

pub(crate) fn source_size(bytes: usize, at: Span) -> Diagnostic {
    let message = format!("the file has {bytes} bytes, and a program at most {SOURCE_MAX}");
    Diagnostic::error(codes::SOURCE_SIZE.code(), at, message)
        .help("put data into a data file, and read it from there")
}

pub(crate) fn declarations(at: Span) -> Diagnostic {
    let message = format!("a file has at most {DECLARATIONS_MAX} declarations");
    Diagnostic::error(codes::DECLARATIONS.code(), at, message)
        .help("move some into another file, and `use` them")
}

pub(crate) fn nesting(at: Span) -> Diagnostic {
    let message = format!(
        "more than {} brackets, `if` or `**` stand inside each other",
        crate::syntax::pieces::NESTING_MAX
    );
    Diagnostic::error(codes::NESTING.code(), at, message)
        .help("give an inner part a name, as a `fn` or a `const`")
}

pub(crate) fn chain(at: Span) -> Diagnostic {
    let message = format!(
        "one expression has more than {} signs and stages in a row",
        crate::syntax::pieces::CHAIN_MAX
    );
    Diagnostic::error(codes::CHAIN.code(), at, message)
        .help("give a part of it a name, as a `fn`, a `const` or a `pipeline`")
}

// ---- brackets, texts, characters

pub(crate) fn unclosed(open: &str, at: Span, met: Option<(&str, Span)>) -> Diagnostic {
    let close = crate::syntax::pieces::closing(open);
    let message =
        Diagnostic::error(codes::UNCLOSED.code(), at, format!("`{open}` is never closed"))
            .label(format!("no `{close}` closes this"))
            .help(format!("write `{close}` where it ends"));
    match met {
        Some((met, there)) => message.also(there, format!("`{met}` comes first")),
        None => message,
    }
}

pub(crate) fn stray_bracket(close: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::STRAY_BRACKET.code(), at, format!("`{close}` closes nothing"))
        .label("no bracket of its kind is open here")
        .help("take it away, or write the bracket that it closes")
}

pub(crate) fn unclosed_text(text: &str, at: Span) -> Diagnostic {
    let quote = &text[..1];
    Diagnostic::error(codes::UNCLOSED_TEXT.code(), at, "this text does not end on its line")
        .label(format!("no `{quote}` ends it"))
        .help(format!("write `{quote}` at its end; a line break inside a text is written `\\n`"))
}

pub(crate) fn unknown_escape(text: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::UNKNOWN_ESCAPE.code(), at, format!("`{text}` is no escape"))
        .help("escapes are `\\\"`, `\\\\`, `\\n`, `\\t` and `\\u{41}`; between single quotes a text is as it stands")
}

pub(crate) fn no_character(text: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::UNKNOWN_ESCAPE.code(),
        at,
        format!("`{text}` is no character of Unicode"),
    )
    .help("the largest is `\\u{10ffff}`, and `d800` to `dfff` are none")
}

pub(crate) fn stray_character(text: &str, meant: Option<&str>, at: Span) -> Diagnostic {
    let shown = if text.chars().all(char::is_whitespace) {
        text.escape_unicode().to_string()
    } else {
        text.to_owned()
    };
    let message = Diagnostic::error(
        codes::STRAY_CHARACTER.code(),
        at,
        format!("`{shown}` means nothing here"),
    );
    let hint = match text {
        "^" => "a power is `**`",
        "&" => "both must hold: `and`",
        "~" => "the opposite is `not`",
        "@" => "there are no decorators and no matrix product here",
        "\\" => "a line needs no sign to go on in the next one",
        _ => "such characters stand in texts and comments only",
    };
    match meant {
        Some(meant) => message.help(format!("write `{meant}`")).fix(at, meant),
        None => message.help(hint),
    }
}

pub(crate) fn semicolon(at: Span) -> Diagnostic {
    Diagnostic::error(codes::SEMICOLON.code(), at, "nothing ends with `;`")
        .help("take it away: a declaration ends where the next one begins")
        .fix(at, "")
}

// ---- words and numbers

pub(crate) fn unknown_unit(number: &str, suffix: &str, at: Span) -> Diagnostic {
    let message =
        Diagnostic::error(codes::UNKNOWN_UNIT.code(), at, format!("`{suffix}` is no unit"));
    let alike = Unit::names().find(|it| it.eq_ignore_ascii_case(suffix));
    let begun = || Unit::names().filter(|it| suffix.starts_with(it)).max_by_key(|it| it.len());
    match alike.or_else(begun) {
        _ if number == "0" && suffix.starts_with(['x', 'b', 'o']) => {
            message.help("numbers are decimal")
        }
        Some(unit) => message.help(format!("did you mean `{number}{unit}`?")).fix(at, unit),
        None => message.help(format!(
            "units are {}",
            Unit::names().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
        )),
    }
}

pub(crate) fn unit_apart(meant: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::UNIT_APART.code(), at, "a unit stands directly behind its number")
        .help(format!("write `{meant}`"))
}

pub(crate) fn percent(written: &str, meant: &str, at: Span) -> Diagnostic {
    let message = format!("`{written}` is no number: a share is written as a fraction of 1");
    Diagnostic::error(codes::UNEXPECTED.code(), at, message).help(format!("write `{meant}`"))
}

pub(crate) fn step_elsewhere(name: &str, help: &str, at: Span) -> Diagnostic {
    let message = format!("there is no step `{name}`");
    Diagnostic::error(codes::UNEXPECTED.code(), at, message).help(help)
}

pub(crate) fn number_range(number: &str, at: Span) -> Diagnostic {
    let code = codes::NUMBER_RANGE.code();
    if number.contains(['.', 'e', 'E']) {
        return Diagnostic::error(code, at, format!("`{number}` is larger than any number"))
            .help("the largest is 1.79e308");
    }
    let message = format!("`{number}` is larger than any integer");
    let diagnostic = Diagnostic::error(code, at, message);
    let range = "integers are `i64`, from -2 ** 63 to 2 ** 63 - 1 (9_223_372_036_854_775_807)";
    match number.replace('_', "").parse::<f64>() {
        Ok(float) if float.is_finite() => diagnostic
            .help(format!("{range}; as a float it is `{float:e}`, to seven digits in `f32`")),
        _ => diagnostic.help(range),
    }
}

pub(crate) fn unknown_edition(year: &str, at: Span) -> Diagnostic {
    let newest = EDITIONS[EDITIONS.len() - 1];
    let message = Diagnostic::error(
        codes::UNKNOWN_EDITION.code(),
        at,
        format!("there is no edition `{year}`"),
    );
    message
        .help(format!("write `edition {newest}`, or use a newer compiler"))
        .fix(at, newest.to_string())
}

pub(crate) fn edition_place(at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::EDITION_PLACE.code(),
        at,
        "the edition stands at the head of the file, once",
    )
    .help("move it above everything else, or take it away")
}

pub(crate) fn reserved_word(word: &str, at: Span) -> Diagnostic {
    let why = if word == "it" { "names the whole record" } else { "is a word of the language" };
    Diagnostic::error(
        codes::RESERVED_WORD.code(),
        at,
        format!("`{word}` {why} and cannot name anything else"),
    )
    .help(format!("take another name, such as `{word}_`"))
}

/// `sign` stands in its place, if any does.
pub(crate) fn missing_equals(sign: Option<&str>, at: Span) -> Diagnostic {
    let message = Diagnostic::error(
        codes::MISSING_EQUALS.code(),
        at,
        "a definition needs `=` before its value",
    );
    match sign {
        Some(sign) => message.help(format!("write `=`, not `{sign}`")),
        None => message.label("`=` is missing here").help("write `=`"),
    }
}

pub(crate) fn missing_colon(at: Span) -> Diagnostic {
    Diagnostic::error(codes::MISSING_COLON.code(), at, "a type stands behind `:`")
        .label("`:` is missing here")
        .help("write `:`")
}

pub(crate) fn missing_comma(at: Span) -> Diagnostic {
    Diagnostic::error(codes::MISSING_COMMA.code(), at, "two values follow each other")
        .label("`,` is missing here")
        .help("write `,` between them")
}

pub(crate) fn missing_else(at: Span) -> Diagnostic {
    Diagnostic::error(codes::MISSING_ELSE.code(), at, "an `if` has no `else`")
        .help("say what the value is otherwise: `if c then a else b`; `where c` lets records go")
}

pub(crate) fn no_declaration(found: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::NO_DECLARATION.code(), at, format!("`{found}` opens no declaration"))
        .help("a declaration begins with `param`, `const`, `fn`, `extern fn`, `pipeline` or `use`")
}

pub(crate) fn doc_place(at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::DOC_PLACE.code(),
        at,
        "`##` describes the declaration below it, and here is none",
    )
    .help("write `#`: a comment")
    .fix(at, "#")
}

pub(crate) fn optional_formal(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::OPTIONAL_FORMAL.code(),
        at,
        format!("the parameter `{name}` may be left out, but has no value then"),
    )
    .help("give it a default with `=`; `?` is for the library's own entries")
}

pub(crate) fn hole(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::TEXT_HOLE.code(), at, format!("`{{{name}}}` is not filled in here"))
        .help("files and functions are named before any parameter has a value: write the text out")
}

// ---- for people from Python

pub(crate) fn slash_comment(at: Span) -> Diagnostic {
    Diagnostic::error(codes::SLASH_COMMENT.code(), at, "`//` divides, and begins no comment")
        .help("write `#`: a comment")
        .fix(at, "#")
}

pub(crate) fn capital_truth(word: &str, at: Span) -> Diagnostic {
    let lower = word.to_ascii_lowercase();
    Diagnostic::error(codes::CAPITAL_TRUTH.code(), at, format!("`{word}` is written `{lower}`"))
        .help(format!("write `{lower}`"))
        .fix(at, lower)
}

pub(crate) fn none(at: Span) -> Diagnostic {
    Diagnostic::error(codes::NONE.code(), at, "there is no `None`: every value is there")
        .help("leave the argument out; where data may lack something, readers say `missing:` and failures are taken by `else`")
}
