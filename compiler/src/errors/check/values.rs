//! What is said about values and their types.

use super::{codes, quoted};
use crate::{ast::Name, check::Unit};
use plan::{DType, Diagnostic, Span, Type};

pub(crate) fn not_a_value(kind: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_A_VALUE.code(), at, format!("expected a value, found {kind}"))
}

pub(crate) fn not_a_condition(at: Span, shown: &str) -> Diagnostic {
    let message = format!("expected a boolean, found {shown}");
    Diagnostic::error(codes::CONDITION.code(), at, message).help("compare it: `x != 0`")
}

pub(crate) fn one_or_the_other(a: &Type, b: &Type, a_at: Span, b_at: Span) -> Diagnostic {
    let message = format!("incompatible types: `{a}` and `{b}`");
    Diagnostic::error(codes::BRANCHES.code(), b_at, message)
        .label(format!("`{b}`"))
        .also(a_at, format!("`{a}`"))
        .help("both must have the same dtype and number of axes: convert one, such as `u8(x)`")
}

pub(crate) fn branches_differ(a_at: Span, b_at: Span) -> Diagnostic {
    Diagnostic::error(codes::BRANCHES.code(), b_at, "these records have different fields")
        .also(a_at, "the other record")
}

pub(crate) fn units(a: Unit, b: Unit, at: Span) -> Diagnostic {
    let message = format!("cannot combine {a} and {b}");
    Diagnostic::error(codes::UNITS.code(), at, message)
}

pub(crate) fn empty_interval(at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::INTERVAL.code(),
        at,
        "the interval is empty: its end is below its start",
    )
    .help("write the lower bound first")
}

pub(crate) fn interval_of(a: &str, b: &str, at: Span) -> Diagnostic {
    let message = format!("the bounds of an interval must be numbers, found {a} and {b}");
    Diagnostic::error(codes::INTERVAL.code(), at, message)
}

pub(crate) fn policy_share(word: &str, at: Span) -> Diagnostic {
    let message = format!("`{word}` takes the fraction of records that may fail, from 0 to 1");
    Diagnostic::error(codes::POLICY.code(), at, message).help(format!("write `{word}(most: 1e-3)`"))
}

pub(crate) fn not_evaluated(why: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::CONSTANT.code(),
        at,
        format!("cannot be evaluated at compile time: {why}"),
    )
}

pub(crate) fn no_arithmetic(sign: &str, a: &str, b: &str, at: Span) -> Diagnostic {
    let message = format!("`{sign}` is not defined for {a} and {b}");
    Diagnostic::error(codes::ARITHMETIC.code(), at, message)
}

pub(crate) fn incompatible(a: &Type, b: &Type, at: Span) -> Diagnostic {
    let message = format!("cannot combine `{a}` and `{b}`");
    Diagnostic::error(codes::ARITHMETIC.code(), at, message)
}

pub(crate) fn small_arithmetic(dtype: DType, sign: &str, at: Span) -> Diagnostic {
    let message = format!("`{sign}` is not defined for `{dtype}`");
    let help = match dtype {
        DType::Bool => "select numbers with it: `if x then 1 else 0`",
        DType::Str => {
            "text is compared with text and concatenated with text: convert a number by `text_of(x)`"
        }
        DType::Bytes => "`bytes` can only be compared, and concatenated with `bytes`",
        _ => "convert first: `f32(x)` or `i32(x)`",
    };
    Diagnostic::error(codes::SMALL_ARITHMETIC.code(), at, message).help(help)
}

pub(crate) fn fraction_meets_whole(dtype: DType, at: Span) -> Diagnostic {
    let message = format!("a fraction cannot be combined with the integer type `{dtype}`");
    Diagnostic::error(codes::FRACTION.code(), at, message)
        .help("convert to a float first: `f32(x)`")
}

pub(crate) fn extents_differ(types: &[Type], at: Span) -> Diagnostic {
    let types: Vec<String> = types.iter().map(Type::to_string).collect();
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    let message = format!("shapes cannot be broadcast: {}", quoted(&types));
    Diagnostic::error(codes::EXTENTS.code(), at, message)
        .help("comparing from the last axis, extents must be equal or one of them 1")
}

pub(crate) fn not_a_set(shown: &str, at: Span) -> Diagnostic {
    let message = format!("`in` expects a list or an interval, found {shown}");
    Diagnostic::error(codes::NOT_A_LIST.code(), at, message)
}

pub(crate) fn not_text(shown: &str, at: Span) -> Diagnostic {
    let message = format!("expected text, found {shown}");
    Diagnostic::error(codes::ARITHMETIC.code(), at, message).help("convert it: `text_of(x)`")
}

pub(crate) fn not_a_list(shown: &str, at: Span) -> Diagnostic {
    let message = format!("expected a list, found {shown}");
    Diagnostic::error(codes::NOT_A_LIST.code(), at, message)
}

pub(crate) fn list_too_long(at: Span, most: i64) -> Diagnostic {
    let message = format!("a list has at most {most} elements when it is written out");
    Diagnostic::error(codes::NOT_A_LIST.code(), at, message)
}

pub(crate) fn empty_list(at: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_A_LIST.code(), at, "the list is empty")
}

pub(crate) fn texts_in_tensor(at: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_A_VALUE.code(), at, "text cannot be stored in a tensor")
        .help("convert it to numbers, or keep each string in its own field")
}

pub(crate) fn texts_of_batch(ty: &Type, at: Span) -> Diagnostic {
    let message = format!("text in a batch cannot be used in expressions (`{ty}`)");
    Diagnostic::error(codes::TEXTS_OF_BATCH.code(), at, message)
        .help("compute it before `batch`, on single records: `with { … } |> batch(…)`")
}

pub(crate) fn no_axis(at: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_A_LIST.code(), at, "no field of the record has an axis")
}

pub(crate) fn no_shape(ty: &Type, at: Span) -> Diagnostic {
    Diagnostic::error(codes::NO_SUCH_FIELD.code(), at, format!("`{ty}` has no `shape`"))
}

pub(crate) fn outside_list(len: usize, at: Span) -> Diagnostic {
    let message = match len {
        1 => "index out of range: the only element is 0".to_owned(),
        _ => format!("index out of range: there are {len} elements, counted from 0"),
    };
    Diagnostic::error(codes::INDEX.code(), at, message)
}

pub(crate) fn no_elements(shown: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::INDEX.code(), at, format!("{shown} cannot be indexed"))
}

pub(crate) fn untyped_index(shown: &str, at: Span) -> Diagnostic {
    let message = format!("untyped data are indexed by text or an integer, found {shown}");
    Diagnostic::error(codes::INDEX.code(), at, message).help(
        "`row[\"label\"]` is a member of an object, `row[0]` and `row[i]` are elements of a list",
    )
}

pub(crate) fn too_many_places(ty: &Type, at: Span) -> Diagnostic {
    let is_scalar = ty.shape().is_some_and(<[_]>::is_empty);
    let (message, help) = match ty.dtype() {
        Some(dtype) if is_scalar && dtype.is_text() => (
            format!("`{ty}` is a single text and cannot be indexed"),
            (dtype == DType::Str).then_some("slices take characters: `text[2:3]` is the third"),
        ),
        _ if is_scalar => (format!("`{ty}` is a single value and cannot be indexed"), None),
        _ => (format!("too many indices for `{ty}`"), None),
    };
    let diagnostic = Diagnostic::error(codes::INDEX.code(), at, message);
    help.into_iter().fold(diagnostic, Diagnostic::help)
}

pub(crate) fn gather_first_axis(at: Span) -> Diagnostic {
    Diagnostic::error(codes::INDEX.code(), at, "a tensor can only index the first axis")
}

pub(crate) fn not_whole(shown: &str, at: Span) -> Diagnostic {
    let message = format!("expected an integer, found {shown}");
    Diagnostic::error(codes::WANTED.code(), at, message)
}

pub(crate) fn wanted_number(name: &Name, ty: &Type, at: Span) -> Diagnostic {
    let message = format!("`{}` expects a number, found `{ty}`", name.text);
    let diagnostic = Diagnostic::error(codes::INPUT_TYPE.code(), at, message);
    match DType::named(&name.text).filter(|_| ty.dtype() == Some(DType::Str)) {
        Some(dtype) => diagnostic.help(number_of_text(dtype)),
        None => diagnostic,
    }
}

/// What makes a value of `dtype` of a text.
fn number_of_text(dtype: DType) -> String {
    match dtype {
        DType::Bool => "compare the string: `text == \"true\"`".to_owned(),
        it if it.is_int() => {
            let cast = |of: &str| match it {
                DType::I64 => format!("`{of}`"),
                _ => format!("`{it}({of})`"),
            };
            format!(
                "{} parses a number, {} gives the index of a name in a list",
                cast("parse_int(text)"),
                cast("index_of(text, [\"cat\", \"dog\"])")
            )
        }
        it => {
            let parsed = match it {
                DType::F64 => "parse_float(text)".to_owned(),
                _ => format!("{it}(parse_float(text))"),
            };
            format!(
                "`{parsed}` parses a number; a CSV column is `str` if one of its first values is not a number: \
                 `types: {{ column: {it} }}` reports that value with its line"
            )
        }
    }
}

pub(crate) fn as_of_typed((shown, is_text): (&str, bool), ty: &Type, at: Span) -> Diagnostic {
    let message = format!("`as` gives a type to untyped data, found {shown}");
    let diagnostic = Diagnostic::error(codes::AS.code(), at, message);
    match ty.dtype() {
        Some(dtype) if !dtype.is_text() && is_text => diagnostic.help(number_of_text(dtype)),
        Some(dtype) if !dtype.is_text() => diagnostic.help(format!("convert it with `{dtype}(…)`")),
        Some(DType::Str) if !is_text => diagnostic.help("`text_of(…)` converts a number to text"),
        _ => diagnostic,
    }
}
