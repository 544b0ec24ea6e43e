//! What is said of names that people bring from elsewhere: a help, and the change where a machine can make it.

use crate::{
    ast::{Arg, Call},
    migration::{self, Change, Row},
};
use plan::{Diagnostic, Span};

/// Completes a message about the unknown `call`; `behind` is what stands left of `|>`.
pub(crate) fn call(message: Diagnostic, row: Row, call: &Call, behind: Option<Span>) -> Diagnostic {
    let message = message.help(row.help);
    match (row.change, behind) {
        // `|> filter(a > 3)` is `|> where(a > 3)`; with more arguments, or none, it was something else.
        (Change::Renamed("where"), behind) if behind.is_none() || !is_one(&call.args) => message,
        (Change::Renamed(ours), _) => message.fix(call.name.span, ours),
        (Change::Gone, Some(before)) => message.fix(before.after().to(call.span), ""),
        _ => message,
    }
}

/// Completes a message about the `at`-th argument of `call`, which has no such parameter.
pub(crate) fn argument(message: Diagnostic, row: Row, call: &Call, at: usize) -> Diagnostic {
    let message = message.help(row.help);
    let arg = &call.args[at];
    match (row.change, &arg.name, truth(arg)) {
        (Change::Renamed(ours), Some(name), _) => message.fix(name.span, ours),
        (Change::Truth(yes, no), _, Some(is)) => message.fix(arg.span(), if is { yes } else { no }),
        (Change::Gone, ..) => message.fix(without(&call.args, at), ""),
        _ => message,
    }
}

/// Completes a message about an unknown field of a value.
pub(crate) fn field(message: Diagnostic, name: &str) -> Option<Diagnostic> {
    migration::of_name(name).map(|row| message.help(row.help))
}

/// Completes a message about a name that is a value, or a module before one.
pub(crate) fn name(message: Diagnostic, name: &str) -> Option<Diagnostic> {
    if migration::is_module(name) {
        return Some(message.help(
            "there are no modules here: functions and dtypes have names of their own, such as `f32` and `mean`",
        ));
    }
    migration::of_value(name).map(|row| message.help(row.help))
}

/// Whether it is one argument without a name.
fn is_one(args: &[Arg]) -> bool {
    matches!(args, [it] if it.name.is_none())
}

fn truth(arg: &Arg) -> Option<bool> {
    match arg.value.kind {
        crate::ast::ExprKind::Bool(it) => Some(it),
        _ => None,
    }
}

/// What goes when an argument goes: a comma with it.
fn without(args: &[Arg], at: usize) -> Span {
    let span = args[at].span();
    match (at.checked_sub(1), args.get(at + 1)) {
        (Some(before), _) => args[before].span().after().to(span),
        (None, Some(next)) => span.to(next.span().before()),
        (None, None) => span,
    }
}
