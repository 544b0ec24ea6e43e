//! The library with its signatures read.

use crate::{
    ast::{self, EffectKind, ExprKind},
    syntax,
};
use plan::{About, Arg, Const, Diagnostic, Entry, Expr, FileId, Foreign, Graph, Library, Property};
use std::{
    collections::BTreeMap,
    sync::{Mutex, OnceLock, PoisonError},
};

/// Files from this number on are the library's own.
pub(crate) const LIBRARY_FILES: u16 = 0x8000;

/// An entry of the library with its signature.
#[derive(Debug)]
pub struct Function {
    /// What the library says of it.
    pub entry: &'static Entry,
    /// Its signature, read.
    pub signature: &'static ast::Signature,
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
    /// What the data of sources is like, as far as it is known.
    about: Vec<About>,
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

impl Kind {
    const ALL: [Self; 3] = [Self::Function, Self::Operator, Self::Source];
}

/// A signature of a library, read once in a process: many registries are made of one library.
fn signature(text: &'static str) -> Option<&'static ast::Signature> {
    static READ: Mutex<BTreeMap<&str, Option<&ast::Signature>>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    // As many as libraries have entries, which are there for good.
    *read.entry(text).or_insert_with(|| {
        let signature = syntax::parse_signature(text).ok()?;
        Some(Box::leak(Box::new(signature)))
    })
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
        Self { library, entries, written: OnceLock::new(), about: Vec::new() }
    }

    /// The entry called `name`: a function before an operator, where there are both.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Function> {
        Kind::ALL.into_iter().find_map(|it| self.get(name, it))
    }

    /// The entry of this kind called `name`.
    #[must_use]
    pub fn get(&self, name: &str, kind: Kind) -> Option<&Function> {
        let (entry, read) = self.entries.get(&kind)?.get(name)?;
        read.get_or_init(|| {
            let signature = signature(entry.signature)?;
            let (is_operator, is_source) = (kind == Kind::Operator, kind == Kind::Source);
            Some(Function { entry, signature, is_operator, is_source })
        })
        .as_ref()
    }

    /// What the library says of the entry of this kind called `name`.
    fn entry(&self, name: &str, kind: Kind) -> Option<&'static Entry> {
        Some(self.entries.get(&kind)?.get(name)?.0)
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

// What the layers above ask of entries.
impl Registry {
    /// The same, where something is known of what the data of sources is like.
    pub(crate) fn with_data(self, about: &[About]) -> Self {
        Self { about: about.to_vec(), ..self }
    }

    /// What the data of a source is like.
    pub(crate) fn about(&self, source: &str, args: &[Arg]) -> Option<&About> {
        self.about.iter().find(|it| it.is_of(source, args))
    }

    /// Bytes of a file that is read by its name, on average, as far as sources tell.
    pub(crate) fn file_bytes(&self) -> Option<f64> {
        let all = self.about.iter().filter_map(|it| it.file_bytes);
        let (n, sum) = all.fold((0.0, 0.0), |(n, sum), it| (n + 1.0, sum + it));
        (n > 0.0).then(|| sum / n)
    }

    pub(crate) fn function(&self, name: &str) -> Option<&'static Entry> {
        self.entry(name, Kind::Function)
    }

    pub(crate) fn operator(&self, name: &str) -> Option<&'static Entry> {
        self.entry(name, Kind::Operator)
    }

    pub(crate) fn source(&self, name: &str) -> Option<&'static Entry> {
        self.entry(name, Kind::Source)
    }

    /// The signature of an entry, where it can be read.
    pub(crate) fn signature(&self, entry: &Entry) -> Option<&ast::Signature> {
        let is_it = |it: &Kind| {
            self.entry(entry.name(), *it).is_some_and(|it| it.signature == entry.signature)
        };
        let kind = Kind::ALL.into_iter().find(is_it)?;
        Some(self.get(entry.name(), kind)?.signature)
    }

    /// The names of an entry's parameters, in order.
    pub(crate) fn parameters(&self, entry: &Entry) -> Vec<String> {
        let signature = self.signature(entry);
        let formals = signature.iter().flat_map(|it| &it.formals);
        formals.map(|it| it.name.text.clone()).collect()
    }

    /// The argument for the parameter `name`, where parameters before `args` are inputs.
    pub(crate) fn argument<'a>(
        &self,
        entry: &Entry,
        args: &'a [Arg],
        name: &str,
    ) -> Option<&'a Arg> {
        let signature = self.signature(entry)?;
        let inputs = signature.formals.len().checked_sub(args.len())?;
        let at = signature.formals.iter().position(|it| it.name.text == name)?;
        args.get(at.checked_sub(inputs)?)
    }

    /// Whether the arguments from the `first` on are what they are when they are left out.
    pub(crate) fn has_defaults(&self, entry: &Entry, args: &[Arg], first: usize) -> bool {
        let Some(signature) = self.signature(entry) else { return false };
        let mut pairs = signature.formals.iter().zip(args).skip(first);
        pairs.all(|(formal, arg)| match formal.default.as_ref().map(|it| &it.kind) {
            Some(ExprKind::Bool(it)) => *arg == Arg::Bool(*it),
            Some(ExprKind::Number(it)) => match arg {
                Arg::Int(arg) => it.scaled() == *arg as f64,
                Arg::Float(arg) => it.scaled() == *arg,
                _ => false,
            },
            Some(ExprKind::Name(it)) => *arg == Arg::Word(it.clone()),
            _ => *arg == Arg::None,
        })
    }

    /// Whether the function `name` has this effect.
    pub(crate) fn has_effect(&self, name: &str, effect: EffectKind) -> bool {
        self.get(name, Kind::Function).is_some_and(|it| it.has(effect))
    }

    /// Whether the function `name` reads a file.
    pub(crate) fn reads(&self, name: &str) -> bool {
        self.has_effect(name, EffectKind::Reads)
    }

    /// Whether a call of the function `name` has a draw of its own.
    pub(crate) fn draws(&self, name: &str, args: &[Arg]) -> bool {
        self.has_effect(name, EffectKind::Random) || Foreign::is_free(name, args)
    }

    /// Whether `expr` calls a function that stands outside.
    pub(crate) fn calls_out(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Call { function, .. } if self.has(function, Property::CallsOut))
    }

    /// Whether `expr` is what the checker puts behind a source or an operator whose records may be faults.
    pub(crate) fn is_guard(&self, expr: &Expr) -> bool {
        let Expr::Call { function, .. } = expr else { return false };
        let entries = self.library.sources.iter().chain(self.library.operators);
        let mut properties = entries.flat_map(|it| it.properties);
        properties.any(|it| matches!(it, Property::Faulty(it) if it.guard == function))
    }

    /// Whether `expr`, of `graph`, is a call that one thread makes at a time.
    pub(crate) fn is_alone(&self, graph: &Graph, expr: &Expr) -> bool {
        let Expr::Call { function, args, .. } = expr else { return false };
        let Some(entry) = self.function(function) else { return false };
        let is_true = |name: &str| match self.argument(entry, args, name) {
            Some(Arg::Expr(id)) => {
                matches!(graph.expr(*id), Expr::Const(Const::Ints(_, _, all)) if all[..] == [1])
            }
            it => it == Some(&Arg::Bool(true)),
        };
        entry.properties.iter().any(|it| match it {
            Property::CallsOut => true,
            Property::Alone(name) => is_true(name),
            _ => false,
        })
    }

    /// Whether a call has a value where it would fail.
    pub(crate) fn gives_default(&self, entry: &Entry, args: &[Arg]) -> bool {
        entry.properties.iter().any(|it| match it {
            Property::Defaults(name) => {
                !matches!(self.argument(entry, args, name), None | Some(Arg::None))
            }
            _ => false,
        })
    }

    /// Whether rewrites may rely on `property` of the function `name`.
    pub(crate) fn has(&self, name: &str, property: Property) -> bool {
        self.function(name).is_some_and(|it| it.has(property))
    }
}

impl Function {
    /// Whether its signature has this effect.
    #[must_use]
    pub fn has(&self, effect: EffectKind) -> bool {
        self.signature.has(effect)
    }
}
