//! The library with its signatures read.

use crate::{
    ast::{self, EffectKind},
    check::LIBRARY_FILES,
    syntax,
};
use plan::{Diagnostic, Entry, FileId, Library};
use std::{collections::BTreeMap, sync::OnceLock};

/// An entry of the library with its signature.
#[derive(Debug)]
pub struct Function {
    /// What the library says of it.
    pub entry: &'static Entry,
    /// Its signature, read.
    pub signature: ast::Signature,
    /// Whether it works on streams.
    pub is_operator: bool,
    /// Whether streams come from it.
    pub is_source: bool,
}

/// The library, as the compiler asks it. Signatures are read when they are first asked for.
pub struct Registry {
    library: Library,
    entries: BTreeMap<Kind, BTreeMap<&'static str, Slot>>,
    /// What is written in the language, once it was asked for.
    written: OnceLock<(Vec<ast::File>, Vec<Diagnostic>)>,
}

/// An entry, and its signature once it was asked for.
type Slot = (&'static Entry, OnceLock<Option<Function>>);

/// What an entry works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Values.
    Function,
    /// Streams.
    Operator,
    /// Nothing: streams come from it.
    Source,
}

impl Registry {
    /// The entries of `library`.
    #[must_use]
    pub fn new(library: Library) -> Self {
        let kinds = [
            (library.functions, Kind::Function),
            (library.operators, Kind::Operator),
            (library.sources, Kind::Source),
        ];
        let slot = |it: &&'static Entry| (it.name(), (*it, OnceLock::new()));
        let entries =
            kinds.into_iter().map(|(all, kind)| (kind, all.iter().map(slot).collect())).collect();
        Self { library, entries, written: OnceLock::new() }
    }

    /// The entry called `name`: a function before an operator, where there are both.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Function> {
        [Kind::Function, Kind::Operator, Kind::Source].iter().find_map(|it| self.get(name, *it))
    }

    /// The entry of this kind called `name`.
    #[must_use]
    pub fn get(&self, name: &str, kind: Kind) -> Option<&Function> {
        let (entry, read) = self.entries.get(&kind)?.get(name)?;
        read.get_or_init(|| {
            let signature = syntax::parse_signature(entry.signature).ok()?;
            let (is_operator, is_source) = (kind == Kind::Operator, kind == Kind::Source);
            Some(Function { entry, signature, is_operator, is_source })
        })
        .as_ref()
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries.values().flat_map(|it| it.keys().copied())
    }

    /// What a name that a later version brings will do.
    #[must_use]
    pub fn later(&self, name: &str) -> Option<(&'static str, &'static str)> {
        self.library.later.iter().find(|it| it.0 == name).copied()
    }

    /// The library as it is.
    #[must_use]
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// What of the library is written in the language, read; files of their own numbers.
    #[must_use]
    pub fn files(&self) -> &(Vec<ast::File>, Vec<Diagnostic>) {
        self.written.get_or_init(|| {
            let mut files = Vec::new();
            let mut all = Vec::new();
            for (number, (_, text)) in self.library.written.iter().enumerate() {
                let id = FileId(LIBRARY_FILES + number as u16);
                let (file, diagnostics) = syntax::parse(text, id);
                files.push(file);
                all.extend(diagnostics);
            }
            (files, all)
        })
    }
}

impl Function {
    /// Whether its signature has this effect.
    #[must_use]
    pub fn has(&self, effect: EffectKind) -> bool {
        self.signature.has(effect)
    }
}
