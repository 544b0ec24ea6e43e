//! The entries of the library by name, and what their signatures say.

use crate::{
    ast::{ExprKind, Signature},
    syntax::parse_signature,
};
use plan::{About, Arg, Const, Entry, Expr, Foreign, Graph, Library, Property};
use std::{cell::RefCell, collections::HashMap, rc::Rc};

/// The library, for looking things up. Signatures are read once, when they are first asked for.
pub(crate) struct Catalog {
    signatures: RefCell<HashMap<&'static str, Option<Rc<Signature>>>>,
    functions: HashMap<&'static str, &'static Entry>,
    operators: HashMap<&'static str, &'static Entry>,
    sources: HashMap<&'static str, &'static Entry>,
    about: Vec<About>,
}

impl Catalog {
    pub(crate) fn new(library: &Library) -> Self {
        let by_name =
            |all: &'static [&'static Entry]| all.iter().map(|it| (it.name(), *it)).collect();
        Self {
            signatures: RefCell::default(),
            functions: by_name(library.functions),
            operators: by_name(library.operators),
            sources: by_name(library.sources),
            about: Vec::new(),
        }
    }

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
        self.functions.get(name).copied()
    }

    pub(crate) fn operator(&self, name: &str) -> Option<&'static Entry> {
        self.operators.get(name).copied()
    }

    pub(crate) fn source(&self, name: &str) -> Option<&'static Entry> {
        self.sources.get(name).copied()
    }

    /// The signature of an entry, where it can be read.
    pub(crate) fn signature(&self, entry: &Entry) -> Option<Rc<Signature>> {
        let mut known = self.signatures.borrow_mut();
        let read = || parse_signature(entry.signature).ok().map(Rc::new);
        known.entry(entry.signature).or_insert_with(read).clone()
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

    /// Whether the function `name` has this effect: `random`, `fails`, `reads`.
    pub(crate) fn has_effect(&self, name: &str, effect: &str) -> bool {
        self.function(name).is_some_and(|it| has_effect(it, effect))
    }

    /// Whether a call of the function `name` has a draw of its own.
    pub(crate) fn draws(&self, name: &str, args: &[Arg]) -> bool {
        self.has_effect(name, "random") || Foreign::is_free(name, args)
    }

    /// Whether `expr` calls a function that stands outside.
    pub(crate) fn calls_out(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Call { function, .. } if self.has(function, Property::CallsOut))
    }

    /// Whether `expr` is what the checker puts behind a source or an operator whose records may be faults.
    pub(crate) fn is_guard(&self, expr: &Expr) -> bool {
        let Expr::Call { function, .. } = expr else { return false };
        let entries = self.sources.values().chain(self.operators.values());
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

/// Whether the effect is written between the parameters and the result.
pub(crate) fn has_effect(entry: &Entry, effect: &str) -> bool {
    let head = entry.signature.rsplit_once("->").map_or(entry.signature, |(head, _)| head);
    let effects = head.rsplit_once(')').map_or("", |(_, effects)| effects);
    effects.split_whitespace().any(|it| it == effect)
}
