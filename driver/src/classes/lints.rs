//! Labels that do not mean what they should: all of one class, or numbered otherwise elsewhere.

use super::{Label, Origin, labels, of_sources, sources};
use crate::errors;
use plan::{Arg, Diagnostic, Plan, Span};
use std::collections::BTreeMap;

/// A label of a pipeline, with the names of its classes.
struct Numbered<'p> {
    pipeline: &'p str,
    at: Span,
    names: Vec<String>,
    given: bool,
}

/// What is to be said about the labels of the pipelines of one file. Files that are not there, and
/// sets of pictures that are made when they are used, say nothing.
pub(crate) fn lints(plans: &[Plan]) -> Vec<Diagnostic> {
    let mut known: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
    let mut found: Vec<Numbered<'_>> = Vec::new();
    for plan in plans {
        for label in labels(plan).into_iter().filter(|it| it.of_path) {
            let at = plan.ops[label.op].at;
            let given = matches!(label.origin, Origin::Given(_));
            let Some(names) = names(plan, label, &mut known) else { continue };
            found.push(Numbered { pipeline: &plan.name, at, names, given });
        }
    }

    let mut all = Vec::new();
    for it in &found {
        if let ([one], false) = (&it.names[..], it.given) {
            all.push(errors::one_class(one, it.at));
        }
    }
    let Some((first, rest)) = found.split_first() else { return all };
    for it in rest.iter().filter(|it| it.pipeline != first.pipeline && it.names != first.names) {
        // Where both say their classes, they are meant to differ.
        if !(it.given && first.given) {
            all.push(errors::classes_differ(&difference(first, it), first.pipeline, it.at));
        }
    }
    all
}

fn names(
    plan: &Plan,
    label: Label,
    known: &mut BTreeMap<String, Option<Vec<String>>>,
) -> Option<Vec<String>> {
    let ops = match label.origin {
        Origin::Given(names) => return Some(names),
        Origin::Folders(ops) => ops,
    };
    let sources = sources(plan, &ops);
    let find = || {
        let made = sources.iter().flat_map(|it| it.1).any(is_made);
        if made { None } else { of_sources(&sources).ok().filter(|it| !it.is_empty()) }
    };
    known.entry(format!("{sources:?}")).or_insert_with(find).clone()
}

/// Whether an argument names a set of pictures that pipec makes.
fn is_made(arg: &Arg) -> bool {
    match arg {
        Arg::Text(it) => it.starts_with("sample:"),
        Arg::List(all) => all.iter().any(is_made),
        _ => false,
    }
}

/// The first number that means something else, in a sentence.
fn difference(first: &Numbered<'_>, it: &Numbered<'_>) -> String {
    let (a, b) = (&first.names, &it.names);
    let at = a.iter().zip(b).position(|(a, b)| a != b);
    match at {
        Some(i) => format!(
            "number {i} is `{}` in `{}` and `{}` in `{}`",
            a[i], first.pipeline, b[i], it.pipeline
        ),
        None => format!(
            "`{}` has {} classes and `{}` has {}",
            first.pipeline,
            a.len(),
            it.pipeline,
            b.len()
        ),
    }
}
