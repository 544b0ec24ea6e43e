//! The modules of the compiler are layers: what they use of each other runs downward.

use super::{code, root, rust_files};
use libtest_mimic::Failed;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// What stands behind the checker: each may use those before it, and none that comes later.
const LAYERS: [&str; 6] = ["analysis", "lower", "caches", "estimate", "passes", "explain"];

/// Modules that use each other, each with why.
const CIRCLES: [(&[&str], &str); 1] = [(
    &["check", "errors", "registry", "syntax"],
    "messages show what the checker knows and name the limits of the parser, which both say what is wrong in the \
     words of `errors`; the registry numbers the library's files as the checker does",
)];

/// The files by which each module uses another, by both.
type Uses = BTreeMap<(String, String), String>;

pub(super) fn layers() -> Result<(), Failed> {
    let uses = uses(&root().join("compiler/src"));
    let place = |module: &str| LAYERS.iter().position(|it| *it == module);
    for ((from, to), file) in &uses {
        if place(from).zip(place(to)).is_some_and(|(from, to)| from < to) {
            return Err(format!("`{from}` must not use `{to}`, which stands above: {file}").into());
        }
    }
    let found = circles(&uses);
    let known = |circle: &BTreeSet<&str>| {
        CIRCLES.iter().any(|(it, _)| it.iter().copied().collect::<BTreeSet<_>>() == *circle)
    };
    if let Some(circle) = found.iter().find(|it| !known(it)) {
        let within = |it: &&(String, String)| {
            circle.contains(it.0.as_str()) && circle.contains(it.1.as_str())
        };
        let arrow = |it: &(String, String)| format!("`{}` uses `{}`: {}", it.0, it.1, uses[it]);
        let arrows: Vec<String> = uses.keys().filter(within).map(arrow).collect();
        return Err(format!("modules that use each other:\n{}", arrows.join("\n")).into());
    }
    match found.len() == CIRCLES.len() {
        true => Ok(()),
        false => Err("a circle of `CIRCLES` is there no more: take it out".into()),
    }
}

/// Which modules at the top of a crate use which, without their tests.
fn uses(folder: &Path) -> Uses {
    let mut uses = Uses::new();
    let files = code(&rust_files(folder));
    let module = |file: &Path| -> Vec<String> {
        let path = file.strip_prefix(folder).unwrap_or(file).with_extension("");
        let parts = path.iter().map(|it| it.to_string_lossy().into_owned());
        parts.filter(|it| it != "mod").collect()
    };
    let all: BTreeSet<String> =
        files.keys().filter_map(|it| module(it).into_iter().next()).collect();
    for (file, text) in &files {
        let path = module(file);
        let own = &path[0];
        if own == "lib" {
            continue;
        }
        // What is written from the module's own place may lead to the top as well.
        let text = text.replace(&"super::".repeat(path.len()), "crate::");
        for used in text.split("crate::").skip(1).flat_map(first_names) {
            if used != *own && all.contains(&used) {
                let shown = file.strip_prefix(folder).unwrap_or(file).display().to_string();
                uses.entry((own.clone(), used)).or_insert(shown);
            }
        }
    }
    uses
}

/// The modules that `text`, which follows `crate::`, leads to: one, or those that stand in braces.
fn first_names(text: &str) -> Vec<String> {
    let name = |it: &str| -> String {
        it.trim_start().chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect()
    };
    let Some(list) = text.strip_prefix('{') else { return vec![name(text)] };
    let (mut depth, mut names, mut begin) = (0, Vec::new(), 0);
    for (i, it) in list.char_indices() {
        match it {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(name(&list[begin..i]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(name(&list[begin..i]));
                begin = i + 1;
            }
            _ => {}
        }
    }
    names
}

/// The modules that use each other, also by way of others.
fn circles(uses: &Uses) -> BTreeSet<BTreeSet<&str>> {
    let reached = |from: &str| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(at) = open.pop() {
            let next = uses.keys().filter(|it| it.0 == at).map(|it| it.1.as_str());
            open.extend(next.filter(|it| reached.insert(*it)).map(str::to_owned));
        }
        reached
    };
    let all: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|it| (it.0.as_str(), reached(&it.0))).collect();
    let mut circles = BTreeSet::new();
    for (from, reached) in &all {
        let back = |it: &&str| all.get(it).is_some_and(|it| it.contains(from));
        let circle: BTreeSet<&str> = reached.iter().copied().filter(back).collect();
        circles.extend((!circle.is_empty()).then_some(circle));
    }
    circles
}
