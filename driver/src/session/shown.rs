//! What messages show of text files outside of a project: of the columns of such a table, the names that the program has
//! itself.
//!
//! A secret beside a project can be named as a table, and its first line would be the names of the columns in the log of
//! whoever checks other people's programs. So those who only look at a program see other names in their place.

use crate::session::{
    load::{Loaded, Reach, project_of, resolved},
    samples, stores,
};
use plan::{Arg, Diagnostic, Field, text_literal};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// What a name begins with that stands for one which is not shown; none that a program can write does.
const ALIAS: char = '…';
/// What to do to see them.
const REMEDY: &str =
    "columns and classes of files outside of the project are not shown: add `--allow-outside`";

/// What is not shown of the files of one program.
#[derive(Debug)]
pub struct Unshown<'p> {
    texts: Vec<&'p str>,
    words: BTreeSet<&'p str>,
    root: PathBuf,
    aliases: RefCell<BTreeMap<String, String>>,
}

impl<'p> Unshown<'p> {
    /// Of a program whose parameters have these values; none where all may be shown.
    pub fn of(
        loaded: &'p Loaded,
        params: &'p BTreeMap<String, String>,
        reach: Reach,
    ) -> Option<Self> {
        let main = loaded.files.first().filter(|_| reach == Reach::Project)?;
        let (root, aliases) = (project_of(Path::new(&main.path)), RefCell::default());
        let mut all = Self { texts: Vec::new(), words: BTreeSet::new(), root, aliases };
        all.add(params.values().map(String::as_str));
        Some(all.and_of(Some(loaded)))
    }

    /// The same, where the program has also said what another text of it says.
    #[must_use]
    pub fn and_of(mut self, loaded: Option<&'p Loaded>) -> Self {
        let files = loaded.iter().flat_map(|it| &it.files);
        self.add(files.map(|it| it.text.as_str()));
        self
    }

    fn add(&mut self, texts: impl Iterator<Item = &'p str>) {
        let is_word = |it: char| it.is_alphanumeric() || it == '_';
        for text in texts {
            self.texts.push(text);
            self.words.extend(text.split(|it| !is_word(it)));
        }
    }

    /// The first folder of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// These fields, which a file has that is not shown, under names that may be.
    pub fn named(&self, fields: Vec<Field>, args: &[Arg]) -> Vec<Field> {
        let name = |it: Field| Field { name: self.name(it.name, args), ..it };
        fields.into_iter().map(name).collect()
    }

    /// The same of a list of classes, where its file is not shown.
    pub(crate) fn classes(&self, path: &str, names: Vec<String>) -> Vec<String> {
        if is_within(&self.root, Path::new(path)) {
            return names;
        }
        names.into_iter().map(|it| self.name(it, &[])).collect()
    }

    /// Whether names are not shown.
    pub(crate) fn is_met(&self) -> bool {
        !self.aliases.borrow().is_empty()
    }

    /// Messages with what to do where they would show more.
    pub fn told(&self, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        match self.is_met() {
            true => found.into_iter().map(told).collect(),
            false => found,
        }
    }

    fn name(&self, name: String, args: &[Arg]) -> String {
        if self.is_named(&name) || args.iter().any(|it| names(it, &name)) {
            return name;
        }
        let mut aliases = self.aliases.borrow_mut();
        let next = format!("{ALIAS}{}", aliases.len() + 1);
        aliases.entry(name).or_insert(next).clone()
    }

    /// Whether a name says nothing new: the program has it, or it is one that is given to columns without one.
    fn is_named(&self, name: &str) -> bool {
        let number = name.strip_prefix("column").or_else(|| name.strip_prefix("row."));
        let is_given = number.is_some_and(|it| {
            matches!(it, "complete" | "fault")
                || !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit())
        });
        let is_literal = || {
            let literal = text_literal(name);
            self.texts.iter().any(|it| *it == name || it.contains(&literal))
        };
        is_given || self.words.contains(name) || is_literal()
    }
}

/// Whether an argument, which the program has computed, names a column.
fn names(arg: &Arg, name: &str) -> bool {
    match arg {
        Arg::Text(it) => it == name,
        Arg::List(all) => all.iter().any(|it| names(it, name)),
        Arg::Record(all) => all.iter().any(|it| it.0 == name || names(&it.1, name)),
        _ => false,
    }
}

/// Whether text of a file may be shown in a project: it lies there, or pipec made it.
pub(crate) fn is_within(root: &Path, path: &Path) -> bool {
    let is_far = || stores::names_store(&[Arg::Text(path.display().to_string())]);
    let is_made = || samples::cache_folder().is_ok_and(|it| path.starts_with(it));
    is_made() || !is_far() && resolved(path).starts_with(root)
}

/// What is wrong with an argument, where the file is not shown that it is about.
pub(crate) fn refused(why: &str) -> String {
    format!("{why}; {REMEDY}")
}

fn told(found: Diagnostic) -> Diagnostic {
    if !is_met(&found) {
        return found;
    }
    let help = match found.help.as_deref().filter(|it| !has_alias(it)) {
        Some(help) => format!("{help}; {REMEDY}"),
        None => REMEDY.to_owned(),
    };
    let fix = found.fix.clone().filter(|it| !has_alias(&it.replacement));
    Diagnostic { help: Some(help), fix, ..found }
}

/// Whether a message has a name that stands for another.
fn is_met(Diagnostic { message, label, labels, help, .. }: &Diagnostic) -> bool {
    let labels = labels.iter().map(|it| &*it.text);
    labels.chain([&**message, &**label]).chain(help.as_deref()).any(has_alias)
}

fn has_alias(text: &str) -> bool {
    let mut after = text.split(ALIAS).skip(1);
    after.any(|it| it.starts_with(|it: char| it.is_ascii_digit()))
}
