//! Says why a pattern stands for no file: a folder that is not there or is spelt otherwise, files in
//! other folders, files with another extension.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use runtime::storage::{self, Kind};

use super::glob::extension_start;
use super::natural::natural_order;
use super::pattern::Pattern;
use super::{ListError, ListErrorKind};

/// Entries that are looked at for a good answer.
const SURVEY_MAX: usize = 50_000;
/// Distinct names and extensions that are kept of them.
const NAMES_MAX: usize = 2_000;
/// Names that an answer lists.
const SHOWN_MAX: usize = 5;

/// Folders within each other, and entries and folders of each, that are looked at for the extensions of files.
const DEPTH_MAX: usize = 3;
const ENTRIES_MAX: usize = 256;
const FOLDERS_MAX: usize = 4;

/// Counts the extensions of the files in a folder and nearby below it, so that an example fits what is there.
fn extensions_below(folder: &Path, depth: usize, counts: &mut BTreeMap<String, usize>) {
    let Ok(entries) = storage::of(folder).list(folder) else { return };
    let mut paths: Vec<PathBuf> =
        entries.take(ENTRIES_MAX).filter_map(|it| Some(folder.join(it.ok()?.name()))).collect();
    paths.sort();
    for path in paths.iter().filter(|it| is(it, Kind::File)) {
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let is_plain = extension.chars().all(|it| it.is_ascii_alphanumeric());
        if !extension.is_empty() && extension.len() <= 8 && is_plain {
            *counts.entry(extension.to_owned()).or_default() += 1;
        }
    }
    let Some(depth) = depth.checked_sub(1) else { return };
    for path in paths.iter().filter(|it| is(it, Kind::Folder)).take(FOLDERS_MAX) {
        extensions_below(path, depth, counts);
    }
}

/// Whether that is at a path.
fn is(path: &Path, kind: Kind) -> bool {
    storage::of(path).stat(path).is_ok_and(|it| it.kind == kind)
}

/// The error for a pattern without files, after a look around.
pub(super) fn explain(pattern: &Pattern) -> ListError {
    let root = Path::new(if pattern.root().is_empty() { "." } else { pattern.root() });
    let help = match (pattern.plain_file(), is(root, Kind::Folder)) {
        _ if !storage::of(root).lists() => {
            "check the URL: the server says that there is no such file".to_owned()
        }
        (Some(file), true) if is(&root.join(file), Kind::Folder) => {
            let folder = pattern.text();
            let mut counts = BTreeMap::new();
            extensions_below(&root.join(file), DEPTH_MAX, &mut counts);
            let most = counts.iter().max_by_key(|it| it.1);
            let extension = most.map_or("jpg", |it| it.0.as_str());
            format!(
                "`{folder}` is a folder: use `{folder}/*` for its files, or \
                 `{folder}/**/*.{extension}` for all files below it with this extension"
            )
        }
        (Some(file), true) => beside(Path::new(pattern.root()), file),
        (_, true) => below(root, pattern),
        (_, false) => missing_folder(root),
    };
    ListError {
        kind: ListErrorKind::NoMatch,
        path: pattern.text().to_owned(),
        message: format!("no file matches `{}`", pattern.text()),
        help,
    }
}

/// What to say where the root itself is missing: which part of it is not there.
fn missing_folder(root: &Path) -> String {
    if storage::scheme_of(root.as_os_str().as_encoded_bytes()).is_some() {
        return format!("there are no objects whose names begin with `{}/`", root.display());
    }
    if let Some(file) = root.ancestors().find(|it| is(it, Kind::File)) {
        return format!("`{}` is a file, not a folder", file.display());
    }

    let exists = |it: &Path| storage::of(it).stat(it).is_ok();
    let there =
        root.ancestors().skip(1).find(|it| exists(it) || *it == Path::new("")).unwrap_or(root);
    let rest = root.strip_prefix(there).unwrap_or(root);
    let first = rest.components().next().map(|it| it.as_os_str().to_string_lossy().into_owned());
    let first = first.unwrap_or_default();

    let advice = match first.as_str() {
        "~" => "; `~` is not expanded: write the path of the home folder".to_owned(),
        _ => format!("; {}", beside(there, &first)),
    };
    format!("cannot find the folder `{}`{advice}", there.join(&first).display())
}

/// What to say where a name is missing in a folder.
fn beside(folder: &Path, name: &str) -> String {
    let folder_read = or_current(folder);
    // What is missing is a folder: those that there are come first.
    let mut found: Vec<(bool, String)> = storage::of(folder_read)
        .list(folder_read)
        .into_iter()
        .flat_map(|entries| entries.flatten().take(SURVEY_MAX))
        .map(|it| {
            let is_file = it.kind().is_ok_and(|it| it != Kind::Folder);
            (is_file, it.name().to_string_lossy().into_owned())
        })
        .filter(|(_, it)| !it.starts_with('.'))
        .collect();
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| natural_order(&a.1, &b.1)));
    let names: Vec<String> = found.into_iter().map(|it| it.1).collect();
    if let Some(near) = plan::nearest(name, &names.iter().map(String::as_str).collect::<Vec<_>>()) {
        return format!("did you mean `{}`?", folder.join(near).display());
    }

    let place = shown_folder(folder);
    match names.len() {
        0 => format!("{place} is empty"),
        n_names => {
            format!("{place} contains {}", enumerate(&names[..n_names.min(SHOWN_MAX)], n_names))
        }
    }
}

/// What to say where the root is there and nothing below it matches.
fn below(root: &Path, pattern: &Pattern) -> String {
    let found = Survey::of(root, pattern);
    let place = shown_folder(root);
    let seen = || found.folders.iter().map(String::as_str);
    for folder in pattern.named_folders().filter(|it| !found.folders.contains(*it)) {
        if let Some(near) = plan::nearest(folder, &seen().collect::<Vec<_>>()) {
            return format!("there is no folder `{folder}` below {place}; did you mean `{near}`?");
        }
    }

    let about = if found.cut { "at least " } else { "" };
    if found.fitting > 0 {
        let (files, lie) = (files(found.fitting), if found.fitting == 1 { "lies" } else { "lie" });
        return format!(
            "{about}{files} with a matching name {lie} in other folders below {place}: use `**/` \
             to find them at any depth"
        );
    }
    match found.extensions.iter().max_by_key(|(_, count)| **count) {
        Some((extension, count)) if extension.is_empty() => {
            format!("below {place} there are {about}{} without an extension", files(*count))
        }
        Some((extension, count)) => {
            format!(
                "below {place} there are {about}{} with the extension `.{extension}`",
                files(*count)
            )
        }
        None => format!("there are no files in or below {place}"),
    }
}

/// What lies below a folder, as far as a bounded look goes.
#[derive(Default)]
struct Survey {
    /// Files by extension, as it is written.
    extensions: BTreeMap<String, usize>,
    folders: BTreeSet<String>,
    /// Files whose name matches the pattern's last component.
    fitting: usize,
    n_entries: usize,
    /// Whether there is more than was looked at.
    cut: bool,
}

impl Survey {
    fn of(root: &Path, pattern: &Pattern) -> Survey {
        let mut survey = Survey::default();
        let mut waiting = vec![root.to_owned()];

        while let Some(folder) = waiting.pop() {
            for entry in storage::of(&folder).list(&folder).into_iter().flatten().flatten() {
                survey.n_entries += 1;
                if survey.n_entries > SURVEY_MAX {
                    survey.cut = true;
                    return survey;
                }
                let name = entry.name().to_string_lossy().into_owned();
                if name.starts_with('.') {
                    continue;
                }
                if entry.kind().is_ok_and(|it| it == Kind::Folder) {
                    waiting.push(folder.join(entry.name()));
                    survey.add_folder(name);
                } else {
                    survey.add_file(&name, pattern);
                }
            }
        }
        survey
    }

    fn add_folder(&mut self, name: String) {
        if self.folders.len() < NAMES_MAX {
            self.folders.insert(name);
        }
    }

    fn add_file(&mut self, name: &str, pattern: &Pattern) {
        self.fitting += usize::from(pattern.takes_name(name));
        let extension = &name[extension_start(name)..];
        if let Some(count) = self.extensions.get_mut(extension) {
            *count += 1;
        } else if self.extensions.len() < NAMES_MAX {
            self.extensions.insert(extension.to_owned(), 1);
        }
    }
}

fn files(count: usize) -> String {
    format!("{count} {}", if count == 1 { "file" } else { "files" })
}

fn enumerate(shown: &[String], n_names: usize) -> String {
    let list = shown.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
    match n_names - shown.len() {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}

fn shown_folder(folder: &Path) -> String {
    if or_current(folder) != Path::new(".") {
        return format!("`{}`", folder.display());
    }
    let here = std::env::current_dir().unwrap_or_default();
    format!("the current folder, `{}`,", here.display())
}

fn or_current(folder: &Path) -> &Path {
    if folder == Path::new("") { Path::new(".") } else { folder }
}
