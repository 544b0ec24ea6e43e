//! Names, types, shapes, effects: from what was written to a plan, or to all that is wrong with it.
//!
//! The checker evaluates the program on values that are not there yet: a `fn` is checked where it
//! is called, on the types that it is called with, and inlined; what is known is folded; what is
//! found for each record becomes a node of the operator's graph. A broken part is [`Val::Broken`],
//! about which nobody says anything more: one mistake, one message.

mod args;
mod arith;
pub(crate) mod by_file;
mod call;
mod columns;
mod declarations;
mod field_names;
pub(crate) mod fit;
mod foreign;
mod holes;
mod index;
mod known;
pub(crate) mod library;
mod lists;
mod named_list;
mod names;
mod notes;
mod remains;
mod rows;
mod scope;
mod source;
mod stores;
mod stream;
mod streams;
mod value;
mod values;

use crate::{
    ast,
    errors::check as errors,
    registry::{LIBRARY_FILES, Registry},
};
use names::Names;
use plan::{
    Arg, Const, DType, Diagnostic, Expr, ExprId, Field, File, FileId, Graph, IdVec, Op, OpId, Plan,
    Span, Type, VarId,
};
use scope::Env;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use value::{Known, Number, Size};
pub(crate) use value::{Unit, Val};

pub use notes::{Found, Notes};
pub use streams::StreamConstant;

/// What a program needs to know of its inputs before it is compiled (`semantics.md`, 20).
pub trait Inputs {
    /// The fields of a source whose files say them, such as the header of a CSV.
    ///
    /// # Errors
    /// A sentence about what is wrong, and what to do.
    fn fields(&self, source: &str, args: &[Arg]) -> Result<Vec<Field>, InputError>;

    /// Whether that is known without waiting for files. Where it is not, nothing is known of the
    /// stream, and nothing is said about it.
    fn are_known(&self, _source: &str, _args: &[Arg]) -> bool {
        true
    }

    /// Whether files have to be read to know the fields of such a source.
    fn reads(&self, _source: &str) -> bool {
        false
    }

    /// Whether files of a store can be read, by what their paths begin with before `://`.
    fn reads_store(&self, _scheme: &str) -> bool {
        false
    }

    /// A file that an argument names, with what it holds; none where nobody looks at files.
    ///
    /// # Errors
    /// A sentence about the file that could not be read, and what to do.
    fn file(&self, _path: &str) -> Result<Option<File>, InputError> {
        Ok(None)
    }

    /// The same of a file that may be missing; none also where it is.
    ///
    /// # Errors
    /// A sentence about the file that is there and could not be read, and what to do.
    fn file_if_there(&self, _path: &str) -> Result<Option<File>, InputError> {
        Ok(None)
    }

    /// The names in a file, one on each line; none where nobody looks at files.
    ///
    /// # Errors
    /// A sentence about the file that could not be read, and what to do.
    fn names(&self, _path: &str) -> Result<Option<Vec<String>>, String> {
        Ok(None)
    }

    /// The class folders of sources, given by their arguments, in order; none where nobody looks at files.
    ///
    /// # Errors
    /// A sentence about files that could not be listed.
    fn classes(&self, _sources: &[&[Arg]]) -> Result<Option<Vec<String>>, String> {
        Ok(None)
    }

    /// What a constant that is made of a stream is, where that stream was run; else values are assumed for it, so
    /// that the types of all else are known.
    fn answer(&self, _constant: &StreamConstant) -> Option<Arg> {
        None
    }
}

/// Why nothing is known of a source's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputError {
    /// They cannot be read, or are not what they should be.
    File(String),
    /// An argument says of them what they are not.
    Argument(String),
}

/// How a program is to be checked.
pub struct Request<'a> {
    /// The files, the main one first, with those that it uses.
    pub files: &'a [ast::File],
    /// The file that each `use` names, by the place of its text.
    pub imports: &'a BTreeMap<Span, FileId>,
    /// The pipeline to be planned; the only one, or the one that no other uses, if not said.
    pub pipeline: Option<&'a str>,
    /// Values of `param`s, as they were given.
    pub params: &'a BTreeMap<String, String>,
    /// Whether a `param` without a value is a mistake.
    pub needs_params: bool,
    /// What its inputs are.
    pub inputs: &'a dyn Inputs,
    /// Whether a declaration is looked into: about others, nothing is found out but what those need
    /// that are. All are, if not said.
    pub only: Option<&'a dyn Fn(&ast::Declaration) -> bool>,
    /// Whether files are looked at for the pipeline alone that is to be planned: what another one reads
    /// may not be there, and nothing is said of what follows from it.
    pub asked_only: bool,
}

/// Nested calls, at the most: no program can exhaust the stack.
const DEPTH_MAX: usize = 48;
/// Values that may be needed for one another, through calls and defaults: the stack of a thread
/// of 2 MiB bears them.
const NESTING_MAX: usize = 256;
/// Calls and nodes that a program may expand to.
const STEPS_MAX: usize = 200_000;

pub(crate) struct Checker<'a> {
    request: &'a Request<'a>,
    registry: &'a Registry,
    names: Names<'a>,
    diagnostics: Vec<Diagnostic>,
    seen: HashSet<(&'static str, Span)>,
    /// Entries that come later and were asked for: each is said once.
    missing: HashSet<String>,
    ops: IdVec<OpId, Op>,
    /// Who wrote each field of an operator's output: the definition's place.
    writers: HashMap<(OpId, String), u64>,
    /// The expressions of the operator that is being checked.
    graph: Graph,
    loops: Vec<VarId>,
    /// The sources below the operator that is being checked.
    input: Option<OpId>,
    depth: usize,
    /// Values that are being found, each for the one before it.
    nesting: usize,
    steps: usize,
    /// The user's call that led into the library, where one did.
    user_call: Option<Span>,
    /// The first argument of that call, or the one called `pattern`.
    user_pattern: Option<Span>,
    /// Definitions being expanded, and defaults of parameters being found: what leads back to one
    /// of them is recursion.
    expanding: Vec<Span>,
    /// All that was part of a recursion of which something was said.
    recursive: HashSet<Span>,
    consts: HashMap<Span, Val>,
    /// The constants of streams that each constant is made of, by the places of their declarations.
    made_of: HashMap<Span, BTreeSet<Span>>,
    /// Those that were used in what is being checked.
    used: BTreeSet<Span>,
    /// All of them, each behind those that it is made of.
    streams: Vec<StreamConstant>,
    /// Whether files are looked at for what is being checked.
    asked: bool,
    /// What is found out about the main file, where somebody wants to know.
    taking: Option<notes::Taking>,
    /// Of the step that was checked last, where it has a mistake: the record behind it, as far as it is known.
    remains: Option<Val>,
    /// The same of the step before an operator, whose input it is.
    behind: Option<Val>,
}

/// Checks a program, all of it, and gives the plan of one of its pipelines.
pub(crate) fn check(request: &Request<'_>, registry: &Registry) -> Checked {
    check_noting(request, registry, None).0
}

/// What has come of a program.
pub struct Checked {
    /// The plan of the pipeline that was asked for, where nothing is wrong.
    pub plan: Option<Plan>,
    /// All that is to be said.
    pub diagnostics: Vec<Diagnostic>,
    /// The constants of streams: those that the plan needs are so marked, and each stands behind those that it
    /// needs itself.
    pub constants: Vec<StreamConstant>,
}

/// The same, with what was found out about the main file.
pub(crate) fn check_noted(request: &Request<'_>, registry: &Registry) -> (Checked, Notes) {
    check_noting(request, registry, Some(notes::Taking::default()))
}

fn check_noting(
    request: &Request<'_>,
    registry: &Registry,
    taking: Option<notes::Taking>,
) -> (Checked, Notes) {
    let (library, diagnostics) = registry.files();
    let mut diagnostics = diagnostics.clone();
    let files: Vec<&ast::File> = request.files.iter().chain(library).collect();
    let names = Names::new(&files, request.imports, &mut diagnostics);
    let mut checker = Checker::new(request, registry, names, diagnostics);
    checker.taking = taking;
    let plan = checker.program(&files);
    let mut diagnostics = checker.diagnostics;
    diagnostics.sort_by_key(|it| (it.span.file, it.span.start, it.span.end));
    let broken = diagnostics.iter().any(Diagnostic::is_error);
    let notes = checker.taking.map(|it| it.notes).unwrap_or_default();
    let plan = plan.filter(|_| !broken);
    (Checked { plan, diagnostics, constants: checker.streams }, notes)
}

impl<'a> Checker<'a> {
    fn new(
        request: &'a Request<'a>,
        registry: &'a Registry,
        names: Names<'a>,
        diagnostics: Vec<Diagnostic>,
    ) -> Self {
        Self {
            request,
            registry,
            names,
            diagnostics,
            seen: HashSet::new(),
            missing: HashSet::new(),
            ops: IdVec::new(),
            writers: HashMap::new(),
            graph: Graph::default(),
            loops: Vec::new(),
            input: None,
            depth: 0,
            nesting: 0,
            steps: 0,
            user_call: None,
            user_pattern: None,
            expanding: Vec::new(),
            recursive: HashSet::new(),
            consts: HashMap::new(),
            made_of: HashMap::new(),
            used: BTreeSet::new(),
            streams: Vec::new(),
            asked: true,
            taking: None,
            remains: None,
            behind: None,
        }
    }

    /// Gives a message, once for each place; a broken value stands for what it is about.
    fn report(&mut self, mut diagnostic: Diagnostic) -> Val {
        if diagnostic.span.file.0 >= LIBRARY_FILES
            && let Some(call) = self.user_call
        {
            diagnostic.span = call;
            diagnostic.labels.clear();
            diagnostic.fix = None;
        }
        if self.seen.insert((diagnostic.code.id, diagnostic.span)) {
            self.diagnostics.push(diagnostic);
        }
        Val::Broken
    }

    /// Finds what stands at `at`, unless that leads back to itself; `name` is what it is called.
    fn once(&mut self, at: Span, name: &ast::Name, find: impl FnOnce(&mut Self) -> Val) -> Val {
        if let Some(first) = self.expanding.iter().position(|it| *it == at) {
            // The same circle is met again from each definition that leads into it.
            let circle = &self.expanding[first..];
            if circle.iter().all(|it| self.recursive.contains(it)) {
                return Val::Broken;
            }
            self.recursive.extend(circle);
            return self.report(errors::recursion(name));
        }
        self.expanding.push(at);
        let found = find(self);
        self.expanding.pop();
        found
    }

    /// Counts the work, and stops a program that expands without end.
    fn step(&mut self, at: Span) -> bool {
        self.steps += 1;
        if self.steps <= STEPS_MAX {
            return true;
        }
        if self.steps == STEPS_MAX + 1 {
            self.report(errors::too_large(at, STEPS_MAX));
        }
        false
    }

    fn node(&mut self, expr: Expr, ty: Type) -> ExprId {
        self.graph.add(expr, ty)
    }

    fn ty(&self, id: ExprId) -> Type {
        self.graph.ty(id).clone()
    }

    /// A node for a value: numbers meet `like`, or are i64 and f32 where nothing is met.
    fn node_of(&mut self, val: &Val, like: Option<DType>, at: Span) -> Option<ExprId> {
        match val {
            val if val.is_broken() => None,
            Val::Expr(id) => Some(*id),
            Val::Known(known) => {
                if let Known::Number(it) = known {
                    self.fits(it.size, like, at)?;
                }
                Some(self.constant(known, like))
            }
            Val::List(all) => self.list_node(all, like, at),
            Val::Counted { count, var, body } => self.counted_node(*count, *var, body, at),
            Val::Record(_) | Val::Interval(..) | Val::Stream(_) | Val::Broken => {
                self.report(errors::not_a_value(val.kind(), at));
                None
            }
        }
    }

    /// Whether a number can be said in the dtype that it meets; if not, that is reported.
    fn fits(&mut self, number: Size, like: Option<DType>, at: Span) -> Option<()> {
        let (dtype, shown) = match number {
            Size::Int(it) => (like.unwrap_or(DType::I64), it.to_string()),
            Size::Float(it) => {
                (like.filter(|it| it.is_float()).unwrap_or(DType::F32), format!("{it:e}"))
            }
        };
        let fits = match number {
            Size::Int(it) => dtype.holds_int(it),
            Size::Float(it) => dtype.holds_float(it),
        };
        if !fits {
            self.report(crate::errors::syntax::does_not_fit(&shown, dtype, at));
        }
        fits.then_some(())
    }

    fn constant(&mut self, known: &Known, like: Option<DType>) -> ExprId {
        let (value, dtype) = match known {
            Known::Bool(it) => {
                (Const::Ints(DType::Bool, vec![], vec![i64::from(*it)]), DType::Bool)
            }
            Known::Text(it) | Known::Word(it) => {
                (Const::Text(DType::Str, it.clone().into_bytes()), DType::Str)
            }
            Known::Number(Number { size: Size::Int(it), .. }) => match like {
                Some(dtype) if dtype.is_float() => {
                    (Const::Floats(dtype, vec![], vec![*it as f64]), dtype)
                }
                _ => {
                    let dtype = like.filter(|it| it.is_int()).unwrap_or(DType::I64);
                    (Const::Ints(dtype, vec![], vec![*it]), dtype)
                }
            },
            Known::Number(Number { size: Size::Float(it), .. }) => {
                let dtype = like.filter(|it| it.is_float()).unwrap_or(DType::F32);
                (Const::Floats(dtype, vec![], vec![*it]), dtype)
            }
        };
        self.node(Expr::Const(value), Type::scalar(dtype))
    }

    /// The dtype of a value, where it has one already.
    fn dtype(&self, val: &Val) -> Option<DType> {
        match val {
            Val::Expr(id) => self.graph.ty(*id).dtype(),
            Val::Known(Known::Bool(_)) => Some(DType::Bool),
            Val::Known(Known::Text(_)) => Some(DType::Str),
            _ => None,
        }
    }

    /// A value as messages show it: its type where it has one.
    fn shown(&self, val: &Val) -> String {
        match val {
            Val::Expr(id) => format!("`{}`", self.graph.ty(*id)),
            Val::Known(Known::Text(it)) if it.len() <= 32 => format!("`\"{it}\"`"),
            Val::Known(Known::Number(it)) => match it.size {
                Size::Int(value) => format!("`{value}`"),
                Size::Float(value) => format!("`{value}`"),
            },
            other => other.kind().to_owned(),
        }
    }

    /// The value of an expression within `env`.
    fn value(&mut self, expr: &ast::Expr, env: &mut Env<'_>) -> Val {
        if !self.step(expr.span) {
            return Val::Broken;
        }
        if self.nesting == NESTING_MAX {
            return self.report(errors::too_deep(expr.span, NESTING_MAX));
        }
        self.nesting += 1;
        let value = self.expression(expr, env);
        self.nesting -= 1;
        self.note_value(expr.span, &value);
        value
    }
}
