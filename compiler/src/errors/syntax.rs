//! What is said about texts that cannot be read.

mod codes;
mod python;

pub(crate) use codes::CODES;
pub(crate) use python::*;

use plan::{DType, Diagnostic, Span};

use crate::ast::Unit;
use crate::syntax::{DECLARATIONS_MAX, EDITIONS, SOURCE_MAX};

/// Whatever fits no better message: `found` is the word, `wanted` what could stand in its place.
pub(crate) fn unexpected(found: &str, wanted: &str, at: Span) -> Diagnostic {
    let message = format!("unexpected `{found}`");
    Diagnostic::error(codes::UNEXPECTED.code(), at, message).label(format!("expected {wanted}"))
}

pub(crate) fn breaks_off(wanted: &str, at: Span) -> Diagnostic {
    let message = format!("the declaration is incomplete: expected {wanted}");
    Diagnostic::error(codes::UNEXPECTED.code(), at, message).label(format!("{wanted} is missing"))
}

// ---- limits

pub(crate) fn source_size(bytes: usize, at: Span) -> Diagnostic {
    let message = format!("the file has {bytes} bytes; a program has at most {SOURCE_MAX}");
    Diagnostic::error(codes::SOURCE_SIZE.code(), at, message)
        .help("move data into a data file and read it from there")
}

pub(crate) fn declarations(at: Span) -> Diagnostic {
    let message = format!("a file has at most {DECLARATIONS_MAX} declarations");
    Diagnostic::error(codes::DECLARATIONS.code(), at, message)
        .help("move some into another file and import them with `use`")
}

pub(crate) fn nesting(at: Span) -> Diagnostic {
    let message = format!(
        "brackets, `if` or `**` are nested more than {} deep",
        crate::syntax::pieces::NESTING_MAX
    );
    Diagnostic::error(codes::NESTING.code(), at, message)
        .help("move an inner part into a `fn` or a `const`")
}

pub(crate) fn chain(at: Span) -> Diagnostic {
    let message = format!(
        "the expression has more than {} operators and stages in a row",
        crate::syntax::pieces::CHAIN_MAX
    );
    Diagnostic::error(codes::CHAIN.code(), at, message)
        .help("move a part of it into a `fn`, a `const` or a `pipeline`")
}

// ---- brackets, texts, characters

pub(crate) fn unclosed(open: &str, at: Span, met: Option<(&str, Span)>) -> Diagnostic {
    let close = crate::syntax::pieces::closing(open);
    let message =
        Diagnostic::error(codes::UNCLOSED.code(), at, format!("`{open}` is never closed"))
            .label(format!("no matching `{close}`"))
            .help(format!("write `{close}` where it ends"));
    match met {
        Some((met, there)) => message.also(there, format!("found `{met}` first")),
        None => message,
    }
}

pub(crate) fn stray_bracket(close: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::STRAY_BRACKET.code(), at, format!("unmatched `{close}`"))
        .label("no matching open bracket")
        .help("remove it, or add the opening bracket")
}

pub(crate) fn unclosed_text(text: &str, at: Span) -> Diagnostic {
    let quote = &text[..1];
    Diagnostic::error(codes::UNCLOSED_TEXT.code(), at, "unterminated text")
        .label(format!("no closing `{quote}` on this line"))
        .help(format!("write `{quote}` at its end; a line break in a string is written `\\n`"))
}

pub(crate) fn unknown_escape(text: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::UNKNOWN_ESCAPE.code(), at, format!("unknown escape `{text}`"))
        .help("escapes are `\\\"`, `\\\\`, `\\n`, `\\t` and `\\u{41}`; in single quotes there are no escapes")
}

pub(crate) fn no_character(text: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::UNKNOWN_ESCAPE.code(),
        at,
        format!("`{text}` is not a Unicode character"),
    )
    .help("the largest is `\\u{10ffff}`, and `d800` to `dfff` are not characters")
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
        format!("unexpected character `{shown}`"),
    );
    let hint = match text {
        "^" => "powers are written `**`",
        "&" => "write `and`",
        "~" => "write `not`",
        "@" => "there are no decorators and no matrix product",
        "\\" => "expressions continue on the next line without a backslash",
        _ => "such characters are only allowed in strings and comments",
    };
    match meant {
        Some(meant) => message.help(format!("write `{meant}`")).fix(at, meant),
        None => message.help(hint),
    }
}

pub(crate) fn semicolon(at: Span) -> Diagnostic {
    Diagnostic::error(codes::SEMICOLON.code(), at, "unexpected `;`")
        .help("remove it: a declaration ends where the next one begins")
        .fix(at, "")
}

// ---- words and numbers

pub(crate) fn unknown_unit(number: &str, suffix: &str, at: Span) -> Diagnostic {
    let message =
        Diagnostic::error(codes::UNKNOWN_UNIT.code(), at, format!("unknown unit `{suffix}`"));
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
    Diagnostic::error(codes::UNIT_APART.code(), at, "a unit directly follows its number")
        .help(format!("write `{meant}`"))
}

pub(crate) fn percent(written: &str, meant: &str, at: Span) -> Diagnostic {
    let message = format!("`{written}` is not a number: percentages are written as fractions");
    Diagnostic::error(codes::UNEXPECTED.code(), at, message).help(format!("write `{meant}`"))
}

pub(crate) fn step_elsewhere(name: &str, help: &str, at: Span) -> Diagnostic {
    let message = format!("there is no `{name}` step");
    Diagnostic::error(codes::UNEXPECTED.code(), at, message).help(help)
}

pub(crate) fn sign_behind_chain(sign: &str, chain: &str, at: Span) -> Diagnostic {
    let message = format!("`{sign}` cannot follow a call after `|>`");
    let chain = if chain.len() < 60 && !chain.contains('\n') { chain } else { "x |> f()" };
    Diagnostic::error(codes::UNEXPECTED.code(), at, message)
        .help(format!("put the chain in parentheses: `({chain}) {sign} …`"))
}

/// A number that the dtype of the value beside it does not have.
pub(crate) fn does_not_fit(number: &str, dtype: DType, at: Span) -> Diagnostic {
    let wider = if dtype.is_float() { "f64" } else { "i64" };
    Diagnostic::error(
        codes::NUMBER_RANGE.code(),
        at,
        format!("`{number}` does not fit in `{dtype}`, the type of the value that it meets"),
    )
    .help(format!("convert that value first: `{wider}(…)`"))
}

pub(crate) fn number_range(number: &str, at: Span) -> Diagnostic {
    let code = codes::NUMBER_RANGE.code();
    if number.contains(['.', 'e', 'E']) {
        return Diagnostic::error(code, at, format!("`{number}` is out of range"))
            .help("the largest is 1.79e308");
    }
    let message = format!("`{number}` is out of range for `i64`");
    let diagnostic = Diagnostic::error(code, at, message);
    let range = "integers range from -2 ** 63 to 2 ** 63 - 1 (9_223_372_036_854_775_807)";
    match number.replace('_', "").parse::<f64>() {
        Ok(float) if float.is_finite() => diagnostic
            .help(format!("{range}; as a float, write `{float:e}` (`f32` keeps seven digits)")),
        _ => diagnostic.help(range),
    }
}

pub(crate) fn unknown_edition(year: &str, at: Span) -> Diagnostic {
    let newest = EDITIONS[EDITIONS.len() - 1];
    let message =
        Diagnostic::error(codes::UNKNOWN_EDITION.code(), at, format!("unknown edition `{year}`"));
    message
        .help(format!("write `edition {newest}`, or use a newer compiler"))
        .fix(at, newest.to_string())
}

pub(crate) fn edition_place(at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::EDITION_PLACE.code(),
        at,
        "`edition` must come first in the file, once",
    )
    .help("move it to the top, or remove it")
}

pub(crate) fn reserved_word(word: &str, at: Span) -> Diagnostic {
    let why = if word == "it" { "is the whole record" } else { "is a keyword" };
    Diagnostic::error(
        codes::RESERVED_WORD.code(),
        at,
        format!("`{word}` {why} and cannot be used as a name"),
    )
    .help(format!("use another name, such as `{word}_`"))
}

/// `sign` stands in its place, if any does.
pub(crate) fn missing_equals(sign: Option<&str>, at: Span) -> Diagnostic {
    let message =
        Diagnostic::error(codes::MISSING_EQUALS.code(), at, "expected `=` before the value");
    match sign {
        Some(sign) => message.help(format!("write `=`, not `{sign}`")),
        None => message.label("`=` is missing here").help("write `=`"),
    }
}

pub(crate) fn missing_colon(at: Span) -> Diagnostic {
    Diagnostic::error(codes::MISSING_COLON.code(), at, "expected `:` before the type")
        .label("`:` is missing here")
        .help("write `:`")
}

pub(crate) fn missing_comma(at: Span) -> Diagnostic {
    Diagnostic::error(codes::MISSING_COMMA.code(), at, "expected `,` between two values")
        .label("`,` is missing here")
        .help("write `,` between them")
}

pub(crate) fn missing_pipe(step: &str, at: Span) -> Diagnostic {
    let message = format!("expected `|>` before `{step}`");
    Diagnostic::error(codes::UNEXPECTED.code(), at, message)
        .label("`|>` is missing here")
        .help(format!("each step begins with `|>`: write `|> {step}`"))
}

pub(crate) fn missing_else(at: Span) -> Diagnostic {
    Diagnostic::error(codes::MISSING_ELSE.code(), at, "`if` without `else`")
        .help("add the other value: `if c then a else b`; to drop records, use `where c`")
}

pub(crate) fn no_declaration(found: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::NO_DECLARATION.code(),
        at,
        format!("expected a declaration, found `{found}`"),
    )
    .help("a declaration begins with `param`, `const`, `fn`, `extern fn`, `pipeline` or `use`")
}

pub(crate) fn doc_place(at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::DOC_PLACE.code(),
        at,
        "`##` documents the declaration below it, and there is none",
    )
    .help("write `#` for a comment")
    .fix(at, "#")
}

pub(crate) fn optional_formal(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::OPTIONAL_FORMAL.code(),
        at,
        format!("the optional parameter `{name}` has no default"),
    )
    .help("give it a default with `=`; `?` is reserved for the library")
}

pub(crate) fn hole(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::TEXT_HOLE.code(),
        at,
        format!("`{{{name}}}` cannot be interpolated here"),
    )
    .help("names of files and functions are read before parameters have values: write the name out")
}

// ---- for people from Python

pub(crate) fn slash_comment(at: Span) -> Diagnostic {
    Diagnostic::error(codes::SLASH_COMMENT.code(), at, "`//` is integer division, not a comment")
        .help("write `#` for a comment")
        .fix(at, "#")
}

pub(crate) fn capital_truth(word: &str, at: Span) -> Diagnostic {
    let lower = word.to_ascii_lowercase();
    Diagnostic::error(codes::CAPITAL_TRUTH.code(), at, format!("`{word}` is written `{lower}`"))
        .help(format!("write `{lower}`"))
        .fix(at, lower)
}

pub(crate) fn none(at: Span) -> Diagnostic {
    Diagnostic::error(codes::NONE.code(), at, "there is no `None`: values are never null")
        .help("omit the argument; for missing data, use `missing:` of the source or `else`")
}
