//! Which entries of the library a program uses.

use compiler::passes::Optimised;
use plan::{Binary, Expr, OpKind, Plan, RaggedField, Unary};
use std::collections::BTreeSet;

/// What stands among the names of a plan that has texts in its batches.
pub(crate) const TEXTS: &str = "texts in batches";
/// The same of one with rows of different lengths in its batches.
pub(crate) const RAGGED: &str = "ragged fields of batches";

/// Names of the entries that a plan calls, each once.
pub(crate) fn entries(plan: &Plan) -> Vec<String> {
    let mut names = BTreeSet::new();
    for op in plan.ops.rows() {
        if let OpKind::Source { entry, .. } | OpKind::Operator { entry, .. } = &op.kind {
            names.insert(entry.clone());
        }
        names.extend(op.graph.iter().filter_map(|(_, expr, _)| function(expr)));
        if op.output.iter().any(|it| it.ty.is_texts()) {
            names.insert(TEXTS.to_owned());
        }
        if !RaggedField::all(&op.output).is_empty() {
            names.insert(RAGGED.to_owned());
        }
    }
    names.into_iter().collect()
}

/// Names of the passes that have changed a plan, each once.
pub(crate) fn passes(optimised: &Optimised) -> Vec<String> {
    let kept = optimised.story.iter().filter(|it| it.kept && !it.why.is_empty());
    kept.map(|it| it.pass.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The library's name of what a node does; for nodes of the language, of those that have one.
fn function(expr: &Expr) -> Option<String> {
    let name = match expr {
        Expr::Call { function, .. } => function.clone(),
        Expr::Cast(dtype, _) => dtype.name().to_owned(),
        Expr::Unary(it, _) if *it != Unary::Neg && *it != Unary::Not => format!("{it:?}"),
        Expr::Binary(Binary::Min | Binary::Max | Binary::Pow, ..) => {
            let Expr::Binary(it, ..) = expr else { return None };
            format!("{it:?}")
        }
        _ => return None,
    };
    Some(name.to_lowercase())
}

/// The names that are called in a text: what is said in the language leaves no trace in a plan.
pub(crate) fn called(text: &str) -> BTreeSet<String> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices('(') {
        let name = text[..at].rsplit(|it| !is_part(it)).next().unwrap_or_default();
        names.insert(name.to_owned());
    }
    for piped in text.split("|> ").skip(1) {
        let name = piped.split(|it| !is_part(it)).next().unwrap_or_default();
        names.insert(name.to_owned());
    }
    names
}
