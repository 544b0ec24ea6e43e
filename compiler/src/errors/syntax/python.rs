//! What is said to people who write Python; the changes that mend it are offered by whoever found it.

use crate::migration;
use plan::{Diagnostic, Span};

use super::codes;

pub(crate) fn equals_argument(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::EQUALS_ARGUMENT.code(),
        at,
        format!("the argument `{name}` gets its value with `:`"),
    )
    .help(format!("write `{name}: …`"))
}

pub(crate) fn equals_field(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::EQUALS_FIELD.code(),
        at,
        format!("the field `{name}` gets its value with `:`"),
    )
    .help(format!("write `{name}: …`"))
}

/// `middle` is what both comparisons have in common.
pub(crate) fn comparison_chain(middle: &str, at: Span) -> Diagnostic {
    let message = Diagnostic::error(codes::COMPARISON_CHAIN.code(), at, "comparisons do not chain");
    let message = message.label("the second comparison");
    message.help(format!("write `and {middle}` before it"))
}

/// `given_to` is what is called with it, where that is known.
pub(crate) fn lambda(given_to: Option<&str>, at: Span) -> Diagnostic {
    Diagnostic::error(codes::LAMBDA.code(), at, "lambdas are not supported")
        .help(in_place_of_lambda(given_to))
}

/// A lambda that is given to a method.
pub(crate) fn method_lambda(name: &str, at: Span) -> Diagnostic {
    let message = format!("`{name}` is called as if it were a method, with a lambda");
    Diagnostic::error(codes::METHOD_CALL.code(), at, message).help(in_place_of_lambda(Some(name)))
}

fn in_place_of_lambda(given_to: Option<&str>) -> &'static str {
    match given_to {
        Some("where") => {
            "write the condition itself, over the record's fields: `|> where label > 3`"
        }
        Some("map" | "with") => {
            "write the record itself, over the fields of the one before: `|> map { x: x * 2 }`; for more, write a `fn`"
        }
        Some("flat_map") => "write the list itself: `|> flat_map [{ x } for x in xs]`",
        Some(other) => match migration::of_name(other) {
            Some(row) => row.help,
            None => GENERAL,
        },
        None => GENERAL,
    }
}

/// What a lambda becomes, wherever it stands.
const GENERAL: &str =
    "`map`, `with` and `where` take an expression over the record's fields; for more, write a `fn`";

pub(crate) fn colon_interval(at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::COLON_INTERVAL.code(),
        at,
        "an interval is written with `..`, and has both its ends",
    )
    .help("write `..`")
}

/// `header` is how it is written here.
pub(crate) fn def(header: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::DEF.code(), at, "a function is written with `fn` and `=`")
        .help(format!("write `{header} …`, one expression without `return`"))
}

/// `meant` is how it is written here, if that is known.
pub(crate) fn import(meant: Option<&str>, at: Span) -> Diagnostic {
    let message =
        Diagnostic::error(codes::IMPORT.code(), at, "other files are taken in with `use`");
    match meant {
        Some(meant) => message.help(format!("write `{meant}`")),
        None => message.help("write `use name from \"file.pipe\"`; what is written in Python is declared by `extern fn`"),
    }
}

pub(crate) fn ampersands(at: Span) -> Diagnostic {
    Diagnostic::error(codes::AMPERSANDS.code(), at, "`&&` is written `and`").help("write `and`")
}

pub(crate) fn bars(at: Span) -> Diagnostic {
    Diagnostic::error(codes::BARS.code(), at, "`||` is written `or`").help("write `or`")
}

pub(crate) fn exclamation(at: Span) -> Diagnostic {
    Diagnostic::error(codes::EXCLAMATION.code(), at, "`!` is written `not`").help("write `not`")
}

/// `meant` is how the whole is written here.
pub(crate) fn python_if(meant: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::PYTHON_IF.code(), at, "a choice is written `if c then a else b`")
        .help(format!("write `{meant}`"))
}

pub(crate) fn single_bar(at: Span) -> Diagnostic {
    Diagnostic::error(codes::SINGLE_BAR.code(), at, "what flows on is written `|>`")
        .help("write `|>`")
}

/// `meant` is how it begins here.
pub(crate) fn method_call(name: &str, meant: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::METHOD_CALL.code(),
        at,
        format!("`{name}` is called as if it were a method"),
    )
    .help(format!("write `{}…`", meant.trim_start()))
}

/// A method that other libraries have; `help` says what is written here.
pub(crate) fn foreign_method(name: &str, help: &str, at: Span) -> Diagnostic {
    let message = format!("`{name}` is called as if it were a method");
    Diagnostic::error(codes::METHOD_CALL.code(), at, message).help(help)
}

/// `dotted` is a function behind its modules; `help` says what is written here.
pub(crate) fn module_call(dotted: &str, help: &str, at: Span) -> Diagnostic {
    let message = format!("`{dotted}` is a name of Python, and there are no modules here");
    Diagnostic::error(codes::MODULE_CALL.code(), at, message).help(help)
}

/// `hole` is an expression in a text, with quotes of its own.
pub(crate) fn quoted_hole(hole: &str, at: Span) -> Diagnostic {
    let message = format!("`{hole}` cannot stand in a text: only a name can be filled in");
    Diagnostic::error(codes::QUOTED_HOLE.code(), at, message).label("the text ends at the second `\"`").help(
        "name the value in a step before, and fill in its name: `|> with { name: row[\"name\"] } |> map { text: \"{name}\" }`",
    )
}

/// `hole` is an expression in a text, and `meant` says the same in another way, if it is known.
pub(crate) fn expression_in_text(hole: &str, meant: Option<&str>, at: Span) -> Diagnostic {
    let message = format!("`{hole}` cannot stand in a text: only a name can be filled in");
    let help = match meant {
        Some(meant) => format!("write `{meant}`; a brace that is meant as it stands is `{{{{`"),
        None => "name the value in a step before, and fill in its name: `|> with { name: … } |> map { text: \"{name}\" }`; \
                 a brace that is meant as it stands is `{{`"
            .to_owned(),
    };
    Diagnostic::error(codes::QUOTED_HOLE.code(), at, message).help(help)
}

/// `meant` is the text without its prefix.
pub(crate) fn text_prefix(prefix: &str, meant: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::TEXT_PREFIX.code(), at, format!("a text has no prefix `{prefix}`"))
        .help(format!("write `{meant}`: double quotes fill in `{{name}}`, single quotes leave all as it stands"))
}

pub(crate) fn bare_point(meant: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::BARE_POINT.code(),
        at,
        "a number has digits on both sides of its point",
    )
    .help(format!("write `{meant}`"))
}

pub(crate) fn slice_step(at: Span) -> Diagnostic {
    Diagnostic::error(codes::SLICE_STEP.code(), at, "a slice has no step")
        .help("take it away: a slice is `from:to`")
}

/// `name` is what stands between the quotes, if it can be a name.
pub(crate) fn quoted_field(name: Option<&str>, at: Span) -> Diagnostic {
    let message =
        Diagnostic::error(codes::QUOTED_FIELD.code(), at, "a field has a name, without quotes");
    match name {
        Some(name) => message.help(format!("write `{name}`")),
        None => message.help("a name is made of letters, digits and `_`"),
    }
}

/// `meant` is the same as a list.
pub(crate) fn tuple(meant: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::TUPLE.code(), at, "there are no tuples")
        .help(format!("write a list, `{meant}`, or a record"))
}

pub(crate) fn comprehension_filter(at: Span) -> Diagnostic {
    Diagnostic::error(codes::COMPREHENSION_FILTER.code(), at, "`[… for …]` leaves nothing out")
        .help("to leave records out, use `where`")
}
