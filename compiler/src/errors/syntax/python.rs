//! Messages about Python syntax; the fixes come from the code that finds it.

use crate::migration;
use plan::{Diagnostic, Span};

use super::codes;

pub(crate) fn equals_argument(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::EQUALS_ARGUMENT.code(),
        at,
        format!("arguments are written `{name}: …`, not `{name}=…`"),
    )
    .help(format!("write `{name}: …`"))
}

pub(crate) fn equals_field(name: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::EQUALS_FIELD.code(),
        at,
        format!("fields are written `{name}: …`, not `{name} = …`"),
    )
    .help(format!("write `{name}: …`"))
}

/// `middle` is what both comparisons have in common.
pub(crate) fn comparison_chain(middle: &str, at: Span) -> Diagnostic {
    let message =
        Diagnostic::error(codes::COMPARISON_CHAIN.code(), at, "comparisons cannot be chained");
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
    let message = format!("`{name}` is called as a method, with a lambda");
    Diagnostic::error(codes::METHOD_CALL.code(), at, message).help(in_place_of_lambda(Some(name)))
}

fn in_place_of_lambda(given_to: Option<&str>) -> &'static str {
    match given_to {
        Some("where") => {
            "write the condition directly, with the fields of the record: `|> where label > 3`"
        }
        Some("map" | "with") => {
            "write the new record directly: `|> map { x: x * 2 }`; for anything longer, define a `fn`"
        }
        Some("flat_map") => "write the list directly: `|> flat_map [{ x } for x in xs]`",
        Some(other) => match migration::of_name(other) {
            Some(row) => row.help,
            None => GENERAL,
        },
        None => GENERAL,
    }
}

/// What a lambda becomes, wherever it stands.
const GENERAL: &str = "`map`, `with` and `where` take an expression over the fields of the record; for anything longer, define a `fn`";

pub(crate) fn colon_interval(at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::COLON_INTERVAL.code(),
        at,
        "intervals are written with `..` and include both bounds",
    )
    .help("write `..`")
}

/// `header` is how it is written here.
pub(crate) fn def(header: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::DEF.code(), at, "functions are defined with `fn` and `=`")
        .help(format!("write `{header} …`: a single expression, without `return`"))
}

/// `meant` is how it is written here, if that is known.
pub(crate) fn import(meant: Option<&str>, at: Span) -> Diagnostic {
    let message =
        Diagnostic::error(codes::IMPORT.code(), at, "other files are imported with `use`");
    match meant {
        Some(meant) => message.help(format!("write `{meant}`")),
        None => message.help("write `use name from \"file.pipe\"`; functions written in Python are declared with `extern fn`"),
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
    Diagnostic::error(codes::PYTHON_IF.code(), at, "conditionals are written `if c then a else b`")
        .help(format!("write `{meant}`"))
}

pub(crate) fn single_bar(at: Span) -> Diagnostic {
    Diagnostic::error(codes::SINGLE_BAR.code(), at, "pipelines are written with `|>`")
        .help("write `|>`")
}

/// `meant` is how it begins here.
pub(crate) fn method_call(name: &str, meant: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::METHOD_CALL.code(),
        at,
        format!("`{name}` is not a method: values have none"),
    )
    .help(format!("write `{}…`", meant.trim_start()))
}

/// A method that other libraries have; `help` says what is written here.
pub(crate) fn foreign_method(name: &str, help: &str, at: Span) -> Diagnostic {
    let message = format!("`{name}` is not a method: values have none");
    Diagnostic::error(codes::METHOD_CALL.code(), at, message).help(help)
}

/// `dotted` is a function behind its modules; `help` says what is written here.
pub(crate) fn module_call(dotted: &str, help: &str, at: Span) -> Diagnostic {
    let message = format!("`{dotted}` is a Python name: there are no modules");
    Diagnostic::error(codes::MODULE_CALL.code(), at, message).help(help)
}

/// `hole` is an expression in a text, with quotes of its own.
pub(crate) fn quoted_hole(hole: &str, at: Span) -> Diagnostic {
    let message = format!("`{hole}` cannot be interpolated: only names can");
    Diagnostic::error(codes::QUOTED_HOLE.code(), at, message).label("the string ends at the second `\"`").help(
        "give the value a name in an earlier step: `|> with { name: row[\"name\"] } |> map { text: \"{name}\" }`",
    )
}

/// `hole` is an expression in a text, and `meant` says the same in another way, if it is known.
pub(crate) fn expression_in_text(hole: &str, meant: Option<&str>, at: Span) -> Diagnostic {
    let message = format!("`{hole}` cannot be interpolated: only names can");
    let help = match meant {
        Some(meant) => format!("write `{meant}`; for a literal brace, write `{{{{`"),
        None => "give the value a name in an earlier step: `|> with { name: … } |> map { text: \"{name}\" }`; \
                 for a literal brace, write `{{`"
            .to_owned(),
    };
    Diagnostic::error(codes::QUOTED_HOLE.code(), at, message).help(help)
}

/// `meant` is the text without its prefix.
pub(crate) fn text_prefix(prefix: &str, meant: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::TEXT_PREFIX.code(), at, format!("strings have no prefix `{prefix}`"))
        .help(format!(
            "write `{meant}`: double quotes interpolate `{{name}}`, single quotes are raw"
        ))
}

pub(crate) fn bare_point(meant: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::BARE_POINT.code(),
        at,
        "a number needs digits on both sides of the decimal point",
    )
    .help(format!("write `{meant}`"))
}

pub(crate) fn slice_step(at: Span) -> Diagnostic {
    Diagnostic::error(codes::SLICE_STEP.code(), at, "slices have no step")
        .help("remove it: a slice is `from:to`")
}

/// `name` is what stands between the quotes, if it can be a name.
pub(crate) fn quoted_field(name: Option<&str>, at: Span) -> Diagnostic {
    let message =
        Diagnostic::error(codes::QUOTED_FIELD.code(), at, "field names are written without quotes");
    match name {
        Some(name) => message.help(format!("write `{name}`")),
        None => message.help("a name consists of letters, digits and `_`"),
    }
}

/// `meant` is the same as a list.
pub(crate) fn tuple(meant: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::TUPLE.code(), at, "there are no tuples")
        .help(format!("write a list, `{meant}`, or a record"))
}

pub(crate) fn comprehension_filter(at: Span) -> Diagnostic {
    Diagnostic::error(codes::COMPREHENSION_FILTER.code(), at, "`[… for …]` has no filter")
        .help("to drop records, use `where`")
}
