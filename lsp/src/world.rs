//! What all documents share: the library, the texts of other files, what is known of inputs.

use compiler::{
    InputError, Inputs,
    ast::{Declaration, DeclarationKind, Signature},
    registry::Registry,
};
use driver::{Files, Reach, Unshown};
use plan::{Arg, Entry, Field, FileId};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};

/// What stays from one keystroke to the next.
pub(crate) struct World {
    pub(crate) registry: Registry,
    /// All that the library has, by name.
    pub(crate) items: BTreeMap<String, Vec<Item>>,
    /// Texts of files: those that are open as they are there, others as they were read.
    texts: RefCell<HashMap<PathBuf, Result<String, String>>>,
    pub(crate) probes: Probes,
    /// Files that arguments name, as who works beside has read them: those of this machine.
    pub(crate) files: Files,
    /// Which files programs may use, and of which text files messages show what they say.
    pub(crate) reach: Reach,
}

/// An entry of the library, or what it says in the language itself.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) kind: ItemKind,
    /// As it is written, without its body.
    pub(crate) head: String,
    pub(crate) doc: String,
    pub(crate) signature: Option<Signature>,
    /// Entries of the library itself have a cost of their own.
    pub(crate) entry: Option<&'static Entry>,
}

/// What an entry of the library works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Function,
    Operator,
    Source,
}

impl World {
    pub(crate) fn new(reach: Reach) -> Self {
        let registry = Registry::new(stdlib::library());
        let mut items: BTreeMap<String, Vec<Item>> = BTreeMap::new();
        for item in entries().chain(written()) {
            items.entry(item.name.clone()).or_default().push(item);
        }
        let (texts, probes) = (RefCell::default(), Probes::default());
        Self { registry, items, texts, probes, files: Files::near(), reach }
    }

    /// The text of a file that a program uses; it is read once, until it is said to have changed.
    pub(crate) fn read(&self, path: &Path) -> Result<String, String> {
        let known = self.texts.borrow().get(path).cloned();
        known.unwrap_or_else(|| {
            let read = driver::read_text(path);
            self.texts.borrow_mut().insert(path.to_owned(), read.clone());
            read
        })
    }

    /// A file is open, and says this.
    pub(crate) fn open(&self, path: &Path, text: &str) {
        self.texts.borrow_mut().insert(path.to_owned(), Ok(text.to_owned()));
    }

    /// A file may have changed.
    pub(crate) fn forget(&self, path: &Path) {
        self.texts.borrow_mut().remove(path);
    }

    /// Files that are not open may have changed.
    pub(crate) fn forget_read<'p>(&self, open: impl Iterator<Item = &'p Path>) {
        let open: BTreeSet<&Path> = open.collect();
        self.texts.borrow_mut().retain(|it, _| open.contains(it.as_path()));
    }

    /// The texts as they are now, for who works beside.
    pub(crate) fn texts(&self) -> HashMap<PathBuf, Result<String, String>> {
        self.texts.borrow().clone()
    }

    /// What of the library can be called so: on a stream, or on values.
    pub(crate) fn item(&self, name: &str, on_stream: Option<bool>) -> Option<&Item> {
        let all = self.items.get(name)?;
        let fits = |it: &&Item| on_stream.is_none_or(|is| is == (it.kind == ItemKind::Operator));
        all.iter().find(fits).or(all.first())
    }
}

fn entries() -> impl Iterator<Item = Item> {
    let library = stdlib::library();
    let kinds = [
        (library.functions, ItemKind::Function),
        (library.operators, ItemKind::Operator),
        (library.sources, ItemKind::Source),
    ];
    kinds.into_iter().flat_map(|(all, kind)| {
        all.iter().map(move |entry| Item {
            name: entry.name().to_owned(),
            kind,
            head: entry.signature.to_owned(),
            doc: unindented(entry.doc),
            signature: compiler::syntax::parse_signature(entry.signature).ok(),
            entry: Some(*entry),
        })
    })
}

/// What the library says in the language.
fn written() -> impl Iterator<Item = Item> {
    stdlib::library().written.iter().flat_map(|(file, text)| {
        let of_sources = *file == "sources.pipe";
        let (tree, _) = compiler::syntax::parse(text, FileId::default());
        tree.declarations.into_iter().filter_map(move |it| {
            let (name, head, signature) =
                (it.name()?.text.clone(), head(text, &it), signature(&it));
            let kind = match &it.kind {
                DeclarationKind::Fn(_) => ItemKind::Function,
                DeclarationKind::Pipeline(_) if of_sources => ItemKind::Source,
                DeclarationKind::Pipeline(_) => ItemKind::Operator,
                _ => return None,
            };
            Some(Item { name, kind, head, doc: it.doc(), signature, entry: None })
        })
    })
}

/// The parameters, effects and result of what can be called.
pub(crate) fn signature(it: &Declaration) -> Option<Signature> {
    match &it.kind {
        DeclarationKind::Fn(it) => Some(it.signature.clone()),
        DeclarationKind::Extern(it) => Some(it.signature.clone()),
        DeclarationKind::Pipeline(it) => Some(Signature {
            name: it.name.clone(),
            formals: it.formals.clone()?,
            effects: Vec::new(),
            result: None,
        }),
        _ => None,
    }
}

/// What stands before the `=` of a declaration, in one line; a `param` or `const` whole.
pub(crate) fn head(text: &str, it: &Declaration) -> String {
    let end = match &it.kind {
        DeclarationKind::Fn(it) => it.body.span.start,
        DeclarationKind::Pipeline(it) => it.body.span.start,
        _ => it.span.end,
    };
    let head = text.get(it.span.start as usize..end as usize).unwrap_or_default();
    let words: Vec<&str> = head.trim_end().trim_end_matches('=').split_whitespace().collect();
    words.join(" ").replace("( ", "(").replace(" )", ")")
}

/// A doc without the space behind each `///`.
fn unindented(doc: &str) -> String {
    let lines: Vec<&str> =
        doc.lines().map(|it| it.strip_prefix(' ').unwrap_or(it).trim_end()).collect();
    lines.join("\n").trim().to_owned()
}

/// What is known of inputs. Files are looked at beside, never while somebody types.
#[derive(Default)]
pub(crate) struct Probes {
    known: RefCell<BTreeMap<String, Probed>>,
    wanted: RefCell<BTreeSet<Wanted>>,
}

/// The fields of a source, and whether they may be shown.
pub(crate) type Probed = Result<(Vec<Field>, bool), InputError>;

/// A source whose fields its files say.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    key: String,
    source: String,
    args: Vec<Arg>,
    /// The folder of the project, outside of which files are not shown; none where all are.
    within: Option<PathBuf>,
}

impl PartialEq for Wanted {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Wanted {}

impl PartialOrd for Wanted {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wanted {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// Inputs of which something is remembered; who types on changes the pattern with every letter.
const KNOWN_MAX: usize = 1024;

impl Probes {
    /// Whether something has been asked for since that is not known.
    pub(crate) fn wants_some(&self) -> bool {
        !self.wanted.borrow().is_empty()
    }

    /// What has been asked for since, and is not known.
    pub(crate) fn wanted(&self) -> Vec<Wanted> {
        std::mem::take(&mut *self.wanted.borrow_mut()).into_iter().collect()
    }

    /// What was found out.
    pub(crate) fn learn(&self, of: Wanted, found: Probed) {
        let mut known = self.known.borrow_mut();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(of.key, found);
    }

    /// Files may have changed: what is known of them is asked anew.
    pub(crate) fn forget(&self) {
        self.known.borrow_mut().clear();
    }
}

impl Wanted {
    /// Looks at the files.
    pub(crate) fn probe(&self) -> Probed {
        driver::probe(&self.source, &self.args, self.within.as_deref())
    }
}

/// What is known of the inputs of one program.
pub(crate) struct Seen<'a> {
    pub(crate) probes: &'a Probes,
    /// What is not shown of them.
    pub(crate) unshown: Option<&'a Unshown<'a>>,
}

impl Seen<'_> {
    fn within(&self) -> Option<&Path> {
        self.unshown.map(Unshown::root)
    }

    fn key(&self, source: &str, args: &[Arg]) -> String {
        format!("{source}{args:?}{:?}", self.within())
    }
}

impl Inputs for Seen<'_> {
    fn fields(&self, source: &str, args: &[Arg]) -> Result<Vec<Field>, InputError> {
        let known = self.probes.known.borrow().get(&self.key(source, args)).cloned();
        let Some(known) = known else { return Ok(Vec::new()) };
        let (fields, is_shown) = known?;
        Ok(match self.unshown.filter(|_| !is_shown) {
            Some(unshown) => unshown.named(fields, args),
            None => fields,
        })
    }

    fn are_known(&self, source: &str, args: &[Arg]) -> bool {
        if !stdlib::reads_to_know(source) {
            return true;
        }
        if driver::names_store(args) {
            // Who only looks at a program connects to nothing.
            return false;
        }
        let key = self.key(source, args);
        let known = self.probes.known.borrow().contains_key(&key);
        if !known {
            let (source, args) = (source.to_owned(), args.to_vec());
            let within = self.within().map(Path::to_owned);
            self.probes.wanted.borrow_mut().insert(Wanted { key, source, args, within });
        }
        known
    }

    fn reads_store(&self, scheme: &str) -> bool {
        driver::reads_store(scheme)
    }
}
