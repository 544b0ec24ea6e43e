//! Labels that do not mean what they should: all of one class, or numbered otherwise elsewhere.

use super::{Labelled, is_made};
use crate::session::{
    classes::{Label, Origin, labels, sources},
    errors,
};
use plan::{Diagnostic, OpId, Plan, Span, count, things};
use std::collections::BTreeMap;
use stdlib::{ClassFolders, Loose};

/// A label of a pipeline, with the names of its classes.
struct Numbered<'p> {
    of: &'p Labelled,
    at: Span,
    names: Vec<String>,
    given: bool,
    loose: Option<Loose>,
}

/// What is to be said about the labels of the pipelines of a program, of those of its main file and where one is named
/// of that one alone. Files that are not there, and sets of pictures that are made when they are used, say nothing.
pub(super) fn lints(all: &[Labelled], about: Option<&str>) -> Vec<Diagnostic> {
    let mut known: BTreeMap<String, Option<ClassFolders>> = BTreeMap::new();
    let mut found: Vec<Numbered<'_>> = Vec::new();
    for of in all {
        let mut before: Vec<OpId> = Vec::new();
        for label in labels(&of.plan).into_iter().filter(Label::is_of_path) {
            let nth = before.iter().filter(|it| **it == label.op).count();
            before.push(label.op);
            let at = call_at(of, of.plan.ops[label.op].at, nth);
            let given = matches!(label.origin, Origin::Given(_));
            let Some(folders) = folders(&of.plan, label, &mut known) else { continue };
            let ClassFolders { names, loose } = folders;
            found.push(Numbered { of, at, names, given, loose });
        }
    }
    let is_meant = |it: &Numbered<'_>| {
        it.of.used_from.is_none() && about.is_none_or(|name| it.of.plan.name == name)
    };

    let mut all = Vec::new();
    for it in found.iter().filter(|it| is_meant(it) && !it.given) {
        if let [one] = &it.names[..] {
            all.push(errors::one_class(one, it.at));
        }
        all.extend(it.loose.iter().map(|loose| errors::loose_files(loose, it.at)));
    }
    let Some((first, rest)) = found.split_first() else { return all };
    for it in rest.iter().filter(|it| !is_same(it.of, first.of) && it.names != first.names) {
        // Where both say their classes, they are meant to differ.
        if (is_meant(it) || is_meant(first)) && !(it.given && first.given) {
            all.push(errors::classes_differ(&difference(first, it), &shown(first.of), it.at));
        }
    }
    all
}

fn is_same(a: &Labelled, b: &Labelled) -> bool {
    (&a.plan.name, &a.used_from) == (&b.plan.name, &b.used_from)
}

/// A pipeline by its name, with its file where that is not the main one.
fn shown(of: &Labelled) -> String {
    match &of.used_from {
        None => format!("`{}`", of.plan.name),
        Some(file) => format!("`{}` of `{file}`", of.plan.name),
    }
}

/// Where the `nth` label of a step is called: in the step, or in the one function that does.
fn call_at(of: &Labelled, step: Span, nth: usize) -> Span {
    let is_in = |it: &&Span| it.file == step.file && step.start <= it.start && it.end <= step.end;
    let own: Vec<Span> = of.calls.iter().filter(is_in).copied().collect();
    match (&own[..], &of.calls[..]) {
        ([], [one]) => *one,
        ([], _) => step,
        (own, _) => own[nth.min(own.len() - 1)],
    }
}

fn folders(
    plan: &Plan,
    label: Label,
    known: &mut BTreeMap<String, Option<ClassFolders>>,
) -> Option<ClassFolders> {
    let ops = match label.origin {
        Origin::Given(names) => return Some(ClassFolders { names, loose: None }),
        Origin::Folders(ops) => ops,
    };
    let sources = sources(plan, &ops);
    let find = || {
        let made = sources.iter().copied().flatten().any(is_made);
        let found = if made { None } else { stdlib::class_folders(&sources).ok() };
        found.filter(|it| !it.names.is_empty())
    };
    known.entry(format!("{sources:?}")).or_insert_with(find).clone()
}

/// The first number that means something else, in a sentence.
fn difference(first: &Numbered<'_>, it: &Numbered<'_>) -> String {
    let (a, b) = (&first.names, &it.names);
    // The file is named where the name alone does not tell which is meant.
    let (one, other) = match first.of.plan.name == it.of.plan.name {
        true => (shown(first.of), shown(it.of)),
        false => (format!("`{}`", first.of.plan.name), format!("`{}`", it.of.plan.name)),
    };
    match a.iter().zip(b).position(|(a, b)| a != b) {
        Some(i) => format!("label {i} is `{}` in {one} and `{}` in {other}", a[i], b[i]),
        None => format!(
            "{one} has {} and {other} has {}",
            things(a.len() as u64, "class", "classes"),
            count(b.len() as u64)
        ),
    }
}
