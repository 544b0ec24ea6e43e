//! What is allowed and seldom meant: in the text, in what the files of a program say of its labels, and patterns that
//! stand for no file.

mod labels;

use crate::session::{
    classes,
    compile::{LOWERED_MAX, Probe, Settings, checked, pipelines, sorted},
    compiled::Compiled,
    errors,
    files::Files,
    load::{Loaded, Reach},
    shown::Unshown,
};
use compiler::{Request, ast::DeclarationKind, registry::Registry};
use plan::{Arg, Diagnostic, FileId, Op, OpKind, Plan, Span};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    slice,
};

/// What is allowed in `loaded` and seldom meant; nothing where there are mistakes, which come first.
///
/// Lists the files whose folders are classes.
pub fn lint(loaded: &Loaded, settings: &Settings) -> Vec<Diagnostic> {
    let unshown = Unshown::of(loaded, &settings.params, settings.shows);
    let found = linted(loaded, settings, unshown.as_ref());
    let Some(unshown) = unshown.filter(Unshown::is_met) else { return found };
    // Whether something is to be said follows from the real names; how it is said, from those that are shown.
    let plain = Settings { shows: Reach::Anywhere, ..settings.clone() };
    let plain = linted(loaded, &plain, None);
    let is_so = |it: &Diagnostic| plain.iter().any(|of| (of.code, of.span) == (it.code, it.span));
    unshown.told(found.into_iter().filter(is_so).collect())
}

fn linted(loaded: &Loaded, settings: &Settings, unshown: Option<&Unshown<'_>>) -> Vec<Diagnostic> {
    let registry = Registry::new(stdlib::library());
    let request = Request {
        files: &loaded.trees,
        imports: &loaded.imports,
        pipeline: None,
        params: &BTreeMap::new(),
        needs_params: false,
        inputs: &Probe { unshown, ..Probe::of(settings) },
        only: None,
        asked_only: false,
    };
    let (checked, notes) = compiler::check_noted(&request, &registry);
    let found = checked.diagnostics;
    let broken = loaded.diagnostics.iter().chain(&found).any(Diagnostic::is_error);
    match (loaded.trees.first(), loaded.files.first()) {
        (Some(tree), Some(file)) if !broken => {
            let all = compiler::lints(tree, &file.text, &notes, &registry);
            sorted(all.into_iter().chain(labels::lints(&labelled(loaded, settings), None)))
        }
        _ => Vec::new(),
    }
}

/// What is to be said of the labels of a pipeline before it runs: also that another one of the program numbers
/// classes differently. Lists the files whose folders are classes.
pub fn label_warnings(
    loaded: &Loaded,
    compiled: &Compiled,
    settings: &Settings,
) -> Vec<Diagnostic> {
    let has_classes = classes::labels(&compiled.written).iter().any(|it| it.is_of_path());
    if !has_classes || loaded.is_broken() {
        return Vec::new();
    }
    sorted(labels::lints(&labelled(loaded, settings), Some(&compiled.program.name)))
}

/// The patterns of `loaded` that stand for no file, each with what is there instead; nothing where there are
/// mistakes. Each folder is looked into until one file fits.
pub fn missing_files(loaded: &Loaded, settings: &Settings) -> Vec<Diagnostic> {
    missing(&plans(loaded, settings), &settings.files)
}

/// The same of one pipeline.
pub fn missing_files_of(compiled: &Compiled) -> Vec<Diagnostic> {
    missing(slice::from_ref(&compiled.written), &compiled.looked_at)
}

fn missing(plans: &[Plan], files: &Files) -> Vec<Diagnostic> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for op in plans.iter().flat_map(|it| it.ops.rows()) {
        let OpKind::Source { args, .. } = &op.kind else { continue };
        let Some(named) = args.first().filter(|it| !is_made(it)) else { continue };
        let may_look = files.may_look_at(slice::from_ref(named));
        if may_look && seen.insert((op.at, format!("{named:?}"))) {
            all.extend(stdlib::missing(named).map(|it| errors::no_files(&it, op.at)));
        }
    }
    sorted(all)
}

/// Whether an argument names a set of pictures that pipec makes.
fn is_made(arg: &Arg) -> bool {
    match arg {
        Arg::Text(it) => it.starts_with("sample:"),
        Arg::List(all) => all.iter().any(is_made),
        _ => false,
    }
}

/// A pipeline whose labels are looked at.
struct Labelled {
    plan: Plan,
    /// The file that it is in, where that is not the main one.
    used_from: Option<String>,
    /// The calls of `class_of` in the text, in its order.
    calls: Vec<Span>,
}

/// The pipelines of a program: those of the files that it uses first, which it is compared with.
fn labelled(loaded: &Loaded, settings: &Settings) -> Vec<Labelled> {
    let mut all = Vec::new();
    for (number, file) in loaded.files.iter().enumerate().skip(1) {
        if !numbering().any(|it| file.text.contains(it)) {
            continue;
        }
        // What the program has used may be read; it is compiled as the program that it is.
        let Ok(used) = Loaded::read_within(Path::new(&file.path), Reach::Anywhere) else {
            continue;
        };
        if used.files[0].text != file.text {
            continue;
        }
        let Ok(id) = u16::try_from(number) else { continue };
        let mine = |it: Span| Span { file: FileId(id), ..it };
        let calls: Vec<Span> =
            calls(&used).into_iter().filter(|it| it.file == FileId(0)).map(mine).collect();
        for mut plan in plans(&used, settings) {
            let ids: Vec<_> =
                plan.ops.ids().filter(|it| plan.ops[*it].at.file == FileId(0)).collect();
            ids.into_iter().for_each(|it| plan.ops[it].at = mine(plan.ops[it].at));
            all.push(Labelled { plan, used_from: Some(file.path.clone()), calls: calls.clone() });
        }
    }
    let calls = calls(loaded);
    let own = plans(loaded, settings).into_iter();
    all.extend(own.map(|plan| Labelled { plan, used_from: None, calls: calls.clone() }));
    let is_near = |op: &Op| match &op.kind {
        OpKind::Source { args, .. } => settings.files.may_look_at(args),
        _ => true,
    };
    all.retain(|it| it.plan.ops.rows().iter().all(is_near));
    all
}

/// The plans of the pipelines of the main file, with those parameters that it has.
fn plans(loaded: &Loaded, settings: &Settings) -> Vec<Plan> {
    let declared = loaded.trees.iter().flat_map(|it| &it.declarations);
    let declared: BTreeSet<&str> = declared
        .filter_map(|it| match &it.kind {
            DeclarationKind::Param(it) => Some(it.name.text.as_str()),
            _ => None,
        })
        .collect();
    let params = settings.params.iter().filter(|it| declared.contains(it.0.as_str()));
    let params: BTreeMap<_, _> = params.map(|it| (it.0.clone(), it.1.clone())).collect();
    let plan = |name| {
        let settings =
            Settings { pipeline: Some(name), params: params.clone(), ..settings.clone() };
        checked(loaded, &settings, false).0
    };
    pipelines(loaded).into_iter().take(LOWERED_MAX).filter_map(plan).collect()
}

/// The functions that number the folders of paths: `class_of`.
fn numbering() -> impl Iterator<Item = &'static str> {
    let all = stdlib::library().functions.iter();
    all.filter(|it| classes::numbers(it) == Some(true)).map(|it| it.name())
}

/// Where such are called in the files of a program.
fn calls(loaded: &Loaded) -> Vec<Span> {
    let calls = |tree| numbering().flat_map(move |it| compiler::calls_of(tree, it));
    loaded.trees.iter().flat_map(calls).collect()
}
