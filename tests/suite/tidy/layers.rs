//! The modules of the compiler and of the driver are layers: what they use of each other runs downward.

use super::{code, root, rust_files};
use libtest_mimic::Failed;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// What stands in the compiler behind the checker: each may use those before it, and none that comes later.
const COMPILER: [&str; 6] = ["analysis", "lower", "caches", "estimate", "passes", "explain"];
/// The same of the driver, whose modules all stand in one of these.
const DRIVER: [&str; 2] = ["session", "tools"];

/// Modules that use each other, the folder that they are in, and why.
const CIRCLES: [(&str, &[&str], &str); 1] = [(
    "compiler/src",
    &["check", "errors", "registry", "syntax"],
    "messages show what the checker knows and name the limits of the parser, which both say what is wrong in the \
     words of `errors`; the checker asks the registry, whose signatures the parser reads",
)];

/// The files by which each module uses another, by both.
type Uses = BTreeMap<(String, String), String>;

pub(super) fn of_compiler() -> Result<(), Failed> {
    let uses = uses("compiler/src", "");
    downward(&uses, &COMPILER)?;
    no_circles("compiler/src", &uses)
}

pub(super) fn of_driver() -> Result<(), Failed> {
    named_by_layer()?;
    downward(&uses("driver/src", ""), &DRIVER)?;
    DRIVER.iter().try_for_each(|layer| {
        let folder = format!("driver/src/{layer}");
        no_circles(&folder, &uses(&folder, &format!("{layer}::")))
    })
}

fn downward(uses: &Uses, layers: &[&str]) -> Result<(), Failed> {
    let place = |module: &str| layers.iter().position(|it| *it == module);
    let is_upward = |it: &(&(String, String), &String)| {
        place(&it.0.0).zip(place(&it.0.1)).is_some_and(|(from, to)| from < to)
    };
    match uses.iter().find(is_upward) {
        Some(((from, to), file)) => {
            Err(format!("`{from}` must not use `{to}`, which stands above: {file}").into())
        }
        None => Ok(()),
    }
}

/// What the driver hands out at its top comes from both layers, so within it nothing is named from there.
fn named_by_layer() -> Result<(), Failed> {
    let folder = root().join("driver/src");
    for (file, text) in code(&rust_files(&folder)) {
        let path = modules(&folder, &file);
        if path == ["lib"] {
            continue;
        }
        let text = from_top(&text, &path, "");
        let mut names = text.split("crate::").skip(1).flat_map(items).map(first_name);
        if let Some(name) = names.find(|it| !DRIVER.contains(it)) {
            return Err(
                format!("`crate::{name}` does not say its layer: {}", file.display()).into()
            );
        }
    }
    Ok(())
}

fn no_circles(folder: &str, uses: &Uses) -> Result<(), Failed> {
    let found = circles(uses);
    let known: BTreeSet<BTreeSet<&str>> = CIRCLES
        .iter()
        .filter(|it| it.0 == folder)
        .map(|it| it.1.iter().copied().collect())
        .collect();
    if let Some(circle) = found.difference(&known).next() {
        let within = |it: &&(String, String)| {
            circle.contains(it.0.as_str()) && circle.contains(it.1.as_str())
        };
        let arrow = |it: &(String, String)| format!("`{}` uses `{}`: {}", it.0, it.1, uses[it]);
        let arrows: Vec<String> = uses.keys().filter(within).map(arrow).collect();
        return Err(format!("modules that use each other:\n{}", arrows.join("\n")).into());
    }
    match found.len() == known.len() {
        true => Ok(()),
        false => Err("a circle of `CIRCLES` is there no more: take it out".into()),
    }
}

/// Which modules of a folder use which, without their tests; what they are called is written behind
/// `crate::` and `prefix`.
fn uses(folder: &str, prefix: &str) -> Uses {
    let folder = root().join(folder);
    let mut uses = Uses::new();
    let files = code(&rust_files(&folder));
    let all: BTreeSet<String> =
        files.keys().filter_map(|it| modules(&folder, it).into_iter().next()).collect();
    for (file, text) in &files {
        let path = modules(&folder, file);
        let own = &path[0];
        if own == "lib" {
            continue;
        }
        let text = from_top(text, &path, prefix);
        let named = text.split("crate::").skip(1).flat_map(items);
        let named = named.filter_map(|it| it.strip_prefix(prefix)).flat_map(items);
        for used in named.map(first_name).filter(|it| *it != own && all.contains(*it)) {
            let shown = file.strip_prefix(&folder).unwrap_or(file).display().to_string();
            uses.entry((own.clone(), used.to_owned())).or_insert(shown);
        }
    }
    uses
}

/// The modules that a file of a folder is, from the folder on.
fn modules(folder: &Path, file: &Path) -> Vec<String> {
    let path = file.strip_prefix(folder).unwrap_or(file).with_extension("");
    let parts = path.iter().map(|it| it.to_string_lossy().into_owned());
    parts.filter(|it| it != "mod").collect()
}

/// The text of a file with each name that is written from the file's own place, and leads to its folder or
/// further up, written from the top: the folder is `prefix` there.
fn from_top(text: &str, path: &[String], prefix: &str) -> String {
    let up = |levels: usize| "super::".repeat(levels);
    let text = match prefix {
        "" => text.to_owned(),
        _ => text.replace(&up(path.len() + 1), "crate::"),
    };
    text.replace(&up(path.len()), &format!("crate::{prefix}"))
}

/// What the path at the begin of `text` leads to: one thing, or those that stand in braces.
fn items(text: &str) -> Vec<&str> {
    let Some(list) = text.strip_prefix('{') else { return vec![text] };
    let (mut depth, mut items, mut begin) = (0, Vec::new(), 0);
    for (i, it) in list.char_indices() {
        match it {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&list[begin..i]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[begin..i]);
                begin = i + 1;
            }
            _ => {}
        }
    }
    items.into_iter().map(str::trim_start).filter(|it| !it.is_empty()).collect()
}

/// The name that `text` begins with.
fn first_name(text: &str) -> &str {
    let end = text.find(|it: char| !it.is_alphanumeric() && it != '_');
    &text[..end.unwrap_or(text.len())]
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
