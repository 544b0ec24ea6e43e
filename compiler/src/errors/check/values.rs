//! What is said about values and their types.

use super::{codes, quoted};
use crate::{ast::Name, check::Unit};
use plan::{DType, Diagnostic, Span, Type};

pub(crate) fn not_a_value(kind: &str, at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::NOT_A_VALUE.code(),
        at,
        format!("a value is wanted, and here is {kind}"),
    )
}

pub(crate) fn not_a_condition(at: Span, shown: &str) -> Diagnostic {
    let message = format!("a truth value is wanted, and here is {shown}");
    Diagnostic::error(codes::CONDITION.code(), at, message).help("compare it: `x != 0`")
}

pub(crate) fn one_or_the_other(a: &Type, b: &Type, a_at: Span, b_at: Span) -> Diagnostic {
    let message = format!("one is `{a}` and the other `{b}`");
    Diagnostic::error(codes::BRANCHES.code(), b_at, message)
        .label(format!("`{b}`"))
        .also(a_at, format!("`{a}`"))
        .help("both must have the same dtype and axes")
}

pub(crate) fn branches_differ(a_at: Span, b_at: Span) -> Diagnostic {
    Diagnostic::error(codes::BRANCHES.code(), b_at, "these records have not the same fields")
        .also(a_at, "of this one")
}

pub(crate) fn units(a: Unit, b: Unit, at: Span) -> Diagnostic {
    let message = format!("{a} and {b} do not go together");
    Diagnostic::error(codes::UNITS.code(), at, message)
}

pub(crate) fn empty_interval(at: Span) -> Diagnostic {
    Diagnostic::error(codes::INTERVAL.code(), at, "the interval ends before it begins")
        .help("write the lower end first")
}

pub(crate) fn interval_of(a: &str, b: &str, at: Span) -> Diagnostic {
    let message = format!("the ends of an interval are numbers, and here are {a} and {b}");
    Diagnostic::error(codes::INTERVAL.code(), at, message)
}

pub(crate) fn policy_share(word: &str, at: Span) -> Diagnostic {
    let message = format!("`{word}` takes the share of records that may be lost, from 0 to 1");
    Diagnostic::error(codes::POLICY.code(), at, message).help(format!("write `{word}(most: 1e-3)`"))
}

pub(crate) fn cannot_be_reckoned(why: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::RECKONING.code(), at, format!("this cannot be reckoned: {why}"))
}

pub(crate) fn no_arithmetic(sign: &str, a: &str, b: &str, at: Span) -> Diagnostic {
    let message = format!("`{sign}` does not work on {a} and {b}");
    Diagnostic::error(codes::ARITHMETIC.code(), at, message)
}

pub(crate) fn do_not_go_together(a: &Type, b: &Type, at: Span) -> Diagnostic {
    let message = format!("`{a}` and `{b}` do not go together");
    Diagnostic::error(codes::ARITHMETIC.code(), at, message)
}

pub(crate) fn small_arithmetic(dtype: DType, sign: &str, at: Span) -> Diagnostic {
    let message = format!("`{dtype}` does no arithmetic, and here is `{sign}`");
    let help = match dtype {
        DType::Bool => "choose numbers with it: `if x then 1 else 0`",
        DType::Str | DType::Bytes => "text is compared and joined only",
        _ => "say in what it is done: `f32(x)` or `i32(x)`",
    };
    Diagnostic::error(codes::SMALL_ARITHMETIC.code(), at, message).help(help)
}

pub(crate) fn fraction_meets_whole(dtype: DType, at: Span) -> Diagnostic {
    let message = format!("a fraction meets `{dtype}`, which holds whole numbers");
    Diagnostic::error(codes::FRACTION.code(), at, message)
        .help("make a float of it first: `f32(x)`")
}

pub(crate) fn extents_differ(types: &[Type], at: Span) -> Diagnostic {
    let types: Vec<String> = types.iter().map(Type::to_string).collect();
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    let message = format!("the extents of {} do not go together", quoted(&types));
    Diagnostic::error(codes::EXTENTS.code(), at, message)
        .help("from the last axis, extents must be equal, or one of them 1")
}

pub(crate) fn not_a_set(shown: &str, at: Span) -> Diagnostic {
    let message = format!("`in` looks into a list or an interval, and here is {shown}");
    Diagnostic::error(codes::NOT_A_LIST.code(), at, message)
}

pub(crate) fn not_text(shown: &str, at: Span) -> Diagnostic {
    let message = format!("text is wanted, and here is {shown}");
    Diagnostic::error(codes::ARITHMETIC.code(), at, message).help("make text of it: `text_of(x)`")
}

pub(crate) fn not_a_list(shown: &str, at: Span) -> Diagnostic {
    let message = format!("a list is wanted, and here is {shown}");
    Diagnostic::error(codes::NOT_A_LIST.code(), at, message)
}

pub(crate) fn list_too_long(at: Span, most: i64) -> Diagnostic {
    let message = format!("a list that is written out has at most {most} elements");
    Diagnostic::error(codes::NOT_A_LIST.code(), at, message)
}

pub(crate) fn empty_list(at: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_A_LIST.code(), at, "the list is empty")
}

pub(crate) fn texts_in_tensor(at: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_A_VALUE.code(), at, "texts cannot be put into a tensor")
        .help("make numbers of them, or keep each in a field of its own")
}

pub(crate) fn texts_of_batch(ty: &Type, at: Span) -> Diagnostic {
    let message = format!("nothing computes on the texts of a batch, and here is `{ty}`");
    Diagnostic::error(codes::TEXTS_OF_BATCH.code(), at, message)
        .help("compute it before `batch`, where each record has a text of its own: `with { … } |> batch(…)`")
}

pub(crate) fn no_axis(at: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_A_LIST.code(), at, "no field of the record has an axis to be cut")
}

pub(crate) fn no_shape(ty: &Type, at: Span) -> Diagnostic {
    Diagnostic::error(codes::NO_SUCH_FIELD.code(), at, format!("`{ty}` has no `shape`"))
}

pub(crate) fn outside_list(len: usize, at: Span) -> Diagnostic {
    let message = match len {
        1 => "there is one element, number 0".to_owned(),
        _ => format!("there are {len} elements, counted from 0"),
    };
    Diagnostic::error(codes::INDEX.code(), at, message)
}

pub(crate) fn no_elements(shown: &str, at: Span) -> Diagnostic {
    Diagnostic::error(codes::INDEX.code(), at, format!("{shown} has no elements to be taken"))
}

pub(crate) fn untyped_index(shown: &str, at: Span) -> Diagnostic {
    let message =
        format!("untyped data are indexed by a text or a whole number, and here is {shown}");
    Diagnostic::error(codes::INDEX.code(), at, message).help(
        "`row[\"label\"]` is a member of an object, `row[0]` and `row[i]` are elements of a list",
    )
}

pub(crate) fn too_many_places(ty: &Type, at: Span) -> Diagnostic {
    let is_scalar = ty.shape().is_some_and(<[_]>::is_empty);
    let (message, help) = match ty.dtype() {
        Some(dtype) if is_scalar && dtype.is_text() => (
            format!("`{ty}` is a single text, which has no elements to index"),
            (dtype == DType::Str).then_some("a slice has its characters: `text[2:3]` is the third"),
        ),
        _ if is_scalar => {
            (format!("`{ty}` is a single value, which has no elements to index"), None)
        }
        _ => (format!("`{ty}` has fewer axes than the index has places"), None),
    };
    let diagnostic = Diagnostic::error(codes::INDEX.code(), at, message);
    help.into_iter().fold(diagnostic, Diagnostic::help)
}

pub(crate) fn gather_first_axis(at: Span) -> Diagnostic {
    Diagnostic::error(
        codes::INDEX.code(),
        at,
        "elements are chosen by a tensor on the first axis only",
    )
}

pub(crate) fn not_whole(shown: &str, at: Span) -> Diagnostic {
    let message = format!("a whole number is wanted, and here is {shown}");
    Diagnostic::error(codes::WANTED.code(), at, message)
}

pub(crate) fn wanted_number(name: &Name, ty: &Type, at: Span) -> Diagnostic {
    let message = format!("`{}` works on numbers, and here is `{ty}`", name.text);
    let diagnostic = Diagnostic::error(codes::INPUT_TYPE.code(), at, message);
    match DType::named(&name.text).filter(|_| ty.dtype() == Some(DType::Str)) {
        Some(dtype) => diagnostic.help(number_of_text(dtype)),
        None => diagnostic,
    }
}

/// What makes a value of `dtype` of a text.
fn number_of_text(dtype: DType) -> String {
    match dtype {
        DType::Bool => "compare the text: `text == \"true\"`".to_owned(),
        it if it.is_int() => {
            let cast = |of: &str| match it {
                DType::I64 => format!("`{of}`"),
                _ => format!("`{it}({of})`"),
            };
            format!(
                "{} reads a number from a text, {} numbers the names in a list",
                cast("parse_int(text)"),
                cast("index_of(text, [\"cat\", \"dog\"])")
            )
        }
        DType::F64 => "`parse_float(text)` reads a number from a text".to_owned(),
        it => format!("`{it}(parse_float(text))` reads a number from a text"),
    }
}

pub(crate) fn as_of_typed((shown, is_text): (&str, bool), ty: &Type, at: Span) -> Diagnostic {
    let message = format!("`as` says what untyped data are, and here is {shown}");
    let diagnostic = Diagnostic::error(codes::AS.code(), at, message);
    match ty.dtype() {
        Some(dtype) if !dtype.is_text() && is_text => diagnostic.help(number_of_text(dtype)),
        Some(dtype) if !dtype.is_text() => diagnostic.help(format!("change it with `{dtype}(…)`")),
        Some(DType::Str) if !is_text => diagnostic.help("`text_of(…)` is a single number as text"),
        _ => diagnostic,
    }
}
