//! A pattern of paths, as a tree of components that alternatives share as far as they begin alike.

use std::fmt;

use runtime::storage;

use super::glob::{Component, NameOf, Piece};
use super::parse::{self, Part};

/// A pattern of paths: `data/**/*.{jpg,jpeg}`, `shards/{000..099}.tar`, or one file.
///
/// `*` and `?` stand for any text and any character of a name, `[a-z]`, `[!a]` for one of (not of)
/// some characters, `{a,b}` for each of its alternatives, `{000..099}` for the numbers in it, `**/`
/// for any number of folders, also none; `\` takes its meaning from the character behind it. A
/// wildcard does not stand for the dot in front of a hidden name. The file's extension, behind the
/// last dot, matches in either case (ASCII letters); all else matches as it is written.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    root: String,
    plain: bool,
    nodes: Vec<Node>,
    /// What the first component below the root may be.
    first: Vec<NodeId>,
}

pub(super) type NodeId = u32;

/// Names in a folder that a pattern may write out.
const NAMES_MAX: usize = 100_000;

#[derive(Debug, Clone)]
struct Node {
    step: Step,
    next: Vec<NodeId>,
    /// Whether a file may match here.
    last: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// `**`
    Deep,
    Named(Component),
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// A set is not closed, holds one alternative or too many, `**` does not stand alone, the pattern
    /// is empty or names a folder.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        let parts = parse::parse(text)?;
        if let Some(error) = names_no_folder(&parts).or_else(|| names_no_file(text, &parts)) {
            return Err(error);
        }

        let (root, below) = split_root(&parts);
        let plain = below.iter().all(|it| matches!(it, Part::Piece(Piece::Text(_))));
        let mut pattern =
            Pattern { text: text.to_owned(), root, plain, nodes: Vec::new(), first: Vec::new() };
        for variant in parse::variants(below, text.len())? {
            if pattern.root.is_empty() && matches!(variant.first(), Some(Part::Slash)) {
                return Err(begins_at_root());
            }
            pattern.add(steps(&variant, text)?);
        }
        Ok(pattern)
    }

    /// The text that it was read from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The folder before the first component with a wildcard or set; empty for the current folder.
    ///
    /// Keys are paths below it. For a pattern that is one file, it is the file's folder.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Whether `path`, written like the pattern, is one of those that the pattern stands for.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let below = self.below_root(path).filter(|it| it.split('/').all(|it| !it.is_empty()));
        let Some(below) = below else { return false };
        let (folders, file) = below.rsplit_once('/').unwrap_or(("", below));

        let mut states = self.start();
        for folder in folders.split('/').filter(|it| !it.is_empty()) {
            states = self.enter(&states, folder);
        }
        self.takes(&states, file)
    }

    /// The file, if the pattern has neither wildcards nor sets: its name below the root.
    pub(super) fn plain_file(&self) -> Option<&str> {
        let named = self.nodes.iter().find_map(|it| it.component()?.text());
        named.filter(|_| self.plain)
    }

    /// What the first component below the root may be.
    pub(super) fn start(&self) -> Vec<NodeId> {
        self.open(&self.first)
    }

    /// What may come inside a folder of this name, where `states` may come; nothing if it is out.
    pub(super) fn enter(&self, states: &[NodeId], folder: &str) -> Vec<NodeId> {
        let mut inside = Vec::new();
        for &id in states {
            let node = &self.nodes[id as usize];
            match &node.step {
                Step::Deep if !folder.starts_with('.') => inside.push(id),
                Step::Named(it) if !node.next.is_empty() && it.matches(folder, NameOf::Folder) => {
                    inside.extend(&node.next);
                }
                _ => {}
            }
        }
        self.open(&inside)
    }

    /// Whether a file of this name matches, where `states` may come.
    pub(super) fn takes(&self, states: &[NodeId], file: &str) -> bool {
        let mut ends = states.iter().map(|&id| &self.nodes[id as usize]).filter(|it| it.last);
        ends.any(|it| it.component().is_some_and(|it| it.matches(file, NameOf::File)))
    }

    /// Whether folders of any depth may come.
    pub(super) fn is_deep(&self, states: &[NodeId]) -> bool {
        states.iter().any(|&id| self.nodes[id as usize].step == Step::Deep)
    }

    /// The names that may come, if each is written out, so that the folder need not be read.
    pub(super) fn written_out(&self, states: &[NodeId]) -> Option<Vec<String>> {
        let name = |&id: &NodeId| {
            let node = &self.nodes[id as usize];
            let component = node.component()?;
            let name = if node.last { component.only_file() } else { component.text() };
            name.map(str::to_owned)
        };
        let mut names = states.iter().map(name).collect::<Option<Vec<_>>>()?;
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    /// The same for a folder that cannot be read: also each name of a set, and no file whose extension is in another
    /// case.
    pub(super) fn every_name(&self, states: &[NodeId]) -> Option<Vec<String>> {
        let names = states.iter().map(|&id| self.nodes[id as usize].component()?.names(NAMES_MAX));
        let mut names = names.collect::<Option<Vec<_>>>()?.concat();
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    /// The folders whose names are written out below the root.
    pub(super) fn named_folders(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter(|it| !it.next.is_empty()).filter_map(|it| it.component()?.text())
    }

    /// Whether the name would do as the last component, in whatever folder.
    pub(super) fn takes_name(&self, file: &str) -> bool {
        let all: Vec<NodeId> = (0..self.nodes.len() as NodeId).collect();
        self.takes(&all, file)
    }

    /// Adds what may come in place of each `**`, which may also stand for no folder.
    fn open(&self, ids: &[NodeId]) -> Vec<NodeId> {
        let mut all = ids.to_vec();
        let mut seen = 0;
        while seen < all.len() {
            let node = &self.nodes[all[seen] as usize];
            if node.step == Step::Deep {
                all.extend(&node.next);
            }
            seen += 1;
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    fn below_root<'p>(&self, path: &'p str) -> Option<&'p str> {
        match self.root.as_str() {
            "" => (!path.starts_with('/')).then_some(path),
            "/" => path.strip_prefix('/'),
            root => path.strip_prefix(root)?.strip_prefix('/'),
        }
    }

    /// Adds a way through the tree.
    fn add(&mut self, steps: Vec<Step>) {
        let mut at = None;
        for step in steps {
            at = Some(self.child(at, step));
        }
        if let Some(last) = at {
            self.nodes[last as usize].last = true;
        }
    }

    fn child(&mut self, parent: Option<NodeId>, step: Step) -> NodeId {
        let siblings = parent.map_or(&self.first, |it| &self.nodes[it as usize].next);
        if let Some(&known) = siblings.iter().find(|&&it| self.nodes[it as usize].step == step) {
            return known;
        }

        let id = self.nodes.len() as NodeId;
        self.nodes.push(Node { step, next: Vec::new(), last: false });
        match parent {
            None => self.first.push(id),
            Some(parent) => self.nodes[parent as usize].next.push(id),
        }
        id
    }
}

impl Node {
    fn component(&self) -> Option<&Component> {
        match &self.step {
            Step::Deep => None,
            Step::Named(component) => Some(component),
        }
    }
}

/// A mistake in a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError {
    /// The byte of the pattern's text where it is.
    pub at: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl PatternError {
    pub(super) fn new(
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> PatternError {
        PatternError { at, message: message.into(), help: help.into() }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PatternError {}

/// The mistake of a pattern that ends where a file's name should stand.
fn names_no_file(text: &str, parts: &[Part]) -> Option<PatternError> {
    let folder = match parts {
        [] => {
            return Some(PatternError::new(
                0,
                "the pattern is empty",
                "name files: `data/**/*.jpg`",
            ));
        }
        [.., Part::Slash] => text.trim_end_matches('/'),
        [Part::Piece(Piece::Text(name))] | [.., Part::Slash, Part::Piece(Piece::Text(name))]
            if matches!(name.as_str(), "." | "..") =>
        {
            text
        }
        _ => return None,
    };

    let message = format!("`{text}` is a folder");
    let help = format!("use `{folder}/*` for its files, or `{folder}/**` to include subfolders");
    Some(PatternError::new(text.len() - 1, message, help))
}

fn begins_at_root() -> PatternError {
    let help = "put the `/` before the set, or give a list of patterns";
    PatternError::new(0, "an alternative is an absolute path", help)
}

/// The `name:` of a storage, where the pattern begins with that and two slashes.
fn scheme(parts: &[Part]) -> Option<&str> {
    let [Part::Piece(Piece::Text(name)), Part::Slash, Part::Slash, ..] = parts else { return None };
    storage::scheme_of(format!("{name}//").as_bytes()).map(|_| name.as_str())
}

/// The mistake of a pattern that does not say what is meant of a storage.
fn names_no_folder(parts: &[Part]) -> Option<PatternError> {
    let scheme = scheme(parts)?;
    let is_named = matches!(parts.get(3..5), Some([Part::Piece(Piece::Text(_)), Part::Slash]));
    let (of, example) = match scheme.starts_with("http") {
        true => ("a server", "host/folder/file.csv"),
        false => ("a bucket", "bucket/**/*.jpg"),
    };
    let message = format!("no file is named after `{scheme}//`");
    let help = format!("write the name of {of}, then what lies there: `{scheme}//{example}`");
    (!is_named).then(|| PatternError::new(0, message, help))
}

/// Cuts off the folders that are written out, up to the last `/` before a wildcard or the file.
fn split_root(parts: &[Part]) -> (String, &[Part]) {
    let written = |it: &&Part| matches!(it, Part::Slash | Part::Piece(Piece::Text(_)));
    let n_written = parts.iter().take_while(written).count();
    let Some(slash) = parts[..n_written].iter().rposition(|it| matches!(it, Part::Slash)) else {
        return (String::new(), parts);
    };

    let scheme = scheme(parts).filter(|_| slash > 3);
    let begin = if scheme.is_some() { 3 } else { 0 };
    let names = parts[begin..slash].iter().filter_map(|it| match it {
        Part::Piece(Piece::Text(name)) if name != "." => Some(name.as_str()),
        _ => None,
    });
    let start = match scheme {
        Some(scheme) => format!("{scheme}//"),
        None if matches!(parts[0], Part::Slash) => "/".to_owned(),
        None => String::new(),
    };
    (start + &names.collect::<Vec<&str>>().join("/"), &parts[slash + 1..])
}

/// The components of one way through the pattern.
fn steps(parts: &[Part], text: &str) -> Result<Vec<Step>, PatternError> {
    if let Some(Part::Slash) = parts.last() {
        return Err(PatternError::new(0, "an alternative is a folder", "name a file in each"));
    }

    let mut steps = Vec::new();
    for component in parts.split(|it| matches!(it, Part::Slash)) {
        match step(component, text)? {
            Some(Step::Deep) if steps.last() == Some(&Step::Deep) => {}
            Some(step) => steps.push(step),
            None => {}
        }
    }

    match steps.last() {
        None => {
            return Err(PatternError::new(
                0,
                "an alternative does not name a file",
                "name a file in each",
            ));
        }
        Some(Step::Deep) => steps.push(Step::Named(Component { pieces: vec![Piece::AnyText] })),
        Some(Step::Named(_)) => {}
    }
    Ok(steps)
}

/// One component; none for what stands for the folder itself.
fn step(parts: &[Part], text: &str) -> Result<Option<Step>, PatternError> {
    let mut component = Component::default();
    for part in parts {
        match part {
            Part::Deep(_) if parts.len() == 1 => return Ok(Some(Step::Deep)),
            Part::Deep(at) => {
                let help =
                    "`*` matches any text in a name, `**/` any number of folders: `**/*.jpg`";
                return Err(PatternError::new(*at, "`**` must stand alone between slashes", help));
            }
            Part::Piece(piece) => component.push(piece.clone()),
            Part::Slash | Part::Branch(_) => {
                unreachable!("variants are cut at slashes and hold no sets")
            }
        }
    }

    match component.text() {
        Some("..") => {
            let at = text.rfind("..").unwrap_or(0);
            let help = "start the pattern from the folder that it refers to";
            Err(PatternError::new(at, "`..` after a wildcard", help))
        }
        Some(".") => Ok(None),
        _ if parts.is_empty() => Ok(None),
        _ => {
            let names = [("", "empty"), (".", "`.`"), ("..", "`..`")];
            let Some((_, what)) = names.into_iter().find(|it| component.may_be(it.0)) else {
                return Ok(Some(Step::Named(component)));
            };
            let message = format!("an alternative is {what} between two slashes");
            let help = "put the `/` into the set: `data/{,train/}*.jpg`";
            Err(PatternError::new(0, message, help))
        }
    }
}
