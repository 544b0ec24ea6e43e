//! What was written, every node with its span; nothing is resolved.
//!
//! Where a text could not be read, [`ExprKind::Broken`] or [`TypeKind::Broken`] stands in its place: the
//! message has been given, so whoever meets it says nothing more.

mod dump;
mod expr;
mod number;
pub(crate) mod shift;
mod types;
mod walk;

pub use dump::dump;
pub use expr::{
    Arg, BinaryOp, Call, CompareOp, Each, EachKind, Entry, Expr, ExprKind, Otherwise, Part, Place,
    Policy, PolicyKind, Stage, UnaryOp,
};
pub use number::{Dimension, Number, Unit, Value};
pub use types::{Extent, TypeExpr, TypeKind, Typed};
pub use walk::walk;

use plan::{FileId, Span};

/// A source file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// Which file it is; every span in it says the same.
    pub id: FileId,
    /// The `edition 2026` at its head.
    pub edition: Option<Edition>,
    /// The declarations in the order of the text.
    pub declarations: Vec<Declaration>,
}

/// `edition 2026`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edition {
    /// The year that it names; one of [`crate::syntax::EDITIONS`], unless a message says otherwise.
    pub year: u16,
    /// The whole of it.
    pub span: Span,
}

/// A word with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// The word.
    pub text: String,
    /// Its place.
    pub span: Span,
}

/// A declaration with the comments that describe it.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// The `##` lines above it, in order.
    pub docs: Vec<Doc>,
    /// What is declared.
    pub kind: DeclarationKind,
    /// From its first keyword to its end, without the docs.
    pub span: Span,
    /// It could not be read, which has been said. Its kind and its name can be trusted, nothing else: whatever
    /// uses it is to be taken as [`ExprKind::Broken`].
    pub broken: bool,
}

impl Declaration {
    /// The name that it gives; none for `use`, which gives several.
    #[must_use]
    pub fn name(&self) -> Option<&Name> {
        match &self.kind {
            DeclarationKind::Param(it) => Some(&it.name),
            DeclarationKind::Const(it) => Some(&it.name),
            DeclarationKind::Fn(it) => Some(&it.signature.name),
            DeclarationKind::Extern(it) => Some(&it.signature.name),
            DeclarationKind::Pipeline(it) => Some(&it.name),
            DeclarationKind::Use(_) => None,
        }
    }

    /// The doc comment as one text, a line for each `##` line; empty without one.
    #[must_use]
    pub fn doc(&self) -> String {
        self.docs.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// A line of a doc comment.
#[derive(Clone, Debug, PartialEq)]
pub struct Doc {
    /// What stands after `##`, without the space before it.
    pub text: String,
    /// The whole line from its `##`.
    pub span: Span,
}

/// What a declaration declares.
#[derive(Clone, Debug, PartialEq)]
pub enum DeclarationKind {
    /// `param data: path = "…"`
    Param(Param),
    /// `const MEAN = …`
    Const(Const),
    /// `fn name(x) = …`
    Fn(Function),
    /// `extern fn name(x: f32) -> f32 = "module:name"`, `extern pipeline name() -> { x: f32 } = "module:name"`
    Extern(Extern),
    /// `pipeline name = …`
    Pipeline(Pipeline),
    /// `use a, b from "other.pipe"`
    Use(Use),
}

impl DeclarationKind {
    /// Whether it declares a function.
    pub fn is_function(&self) -> bool {
        match self {
            Self::Fn(_) => true,
            Self::Extern(it) => !it.is_pipeline,
            _ => false,
        }
    }
}

/// `param data: path = "…"`: set from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Name,
    /// The type that was written.
    pub type_: Option<TypeExpr>,
    /// The value unless set; without one it must be set.
    pub default: Option<Expr>,
}

/// `const MEAN = …`.
#[derive(Clone, Debug, PartialEq)]
pub struct Const {
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: Expr,
}

/// `fn name(x, y: f32 = 0.5) = …`.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// All that stands before the `=`.
    pub signature: Signature,
    /// What it computes.
    pub body: Expr,
}

/// `extern fn name(x: f32) random fails -> f32 = "module:name"`, or a source of records: `extern pipeline name() -> { x: f32
/// } = "module:name"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Extern {
    /// All that stands before the `=`; its result is always there.
    pub signature: Signature,
    /// Where the function is: `module:name`; of a pure one with its version, `module:name@2`.
    pub target: Text,
    /// Whether records come from it; its result is then the type of a record.
    pub is_pipeline: bool,
}

/// `pipeline name(source, size = 224) = …`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// Its name.
    pub name: Name,
    /// Its parameters; none when written without brackets: then it is one stream, however often it is named.
    pub formals: Option<Vec<Formal>>,
    /// The stream.
    pub body: Expr,
}

/// `use a, b from "other.pipe"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// What is used.
    pub names: Vec<Name>,
    /// The file that declares it.
    pub from: Text,
}

/// A text without holes, as `use` and `extern` take it.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// As written, with its quotes.
    pub text: String,
    /// What it says.
    pub value: String,
    /// Its place.
    pub span: Span,
}

/// `name(formals) effects -> type`: the head of a function, and the whole of a library entry's signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Its name.
    pub name: Name,
    /// Its parameters in order.
    pub formals: Vec<Formal>,
    /// The effects that were written.
    pub effects: Vec<Effect>,
    /// The type after `->`.
    pub result: Option<TypeExpr>,
}

impl Signature {
    /// Whether this effect was written.
    #[must_use]
    pub fn has(&self, effect: EffectKind) -> bool {
        self.effects.iter().any(|it| it.kind == effect)
    }
}

/// A parameter: `length: i32 = 7`, `by: each any`, `tokens: int?`.
#[derive(Clone, Debug, PartialEq)]
pub struct Formal {
    /// Its name.
    pub name: Name,
    /// Marked `each`: the argument is an expression over the fields of the record.
    pub each: bool,
    /// The type that was written.
    pub type_: Option<TypeExpr>,
    /// Marked `?`: it may be left out though it has no default. Only library entries may say so.
    pub optional: bool,
    /// The value when it is left out.
    pub default: Option<Expr>,
    /// The whole of it.
    pub span: Span,
}

/// A written effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Which.
    pub kind: EffectKind,
    /// Its place.
    pub span: Span,
}

/// What a function may do beside computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKind {
    /// `random`: it draws.
    Random,
    /// `fails`: it may fail on a record.
    Fails,
    /// `reads`: it reads a file.
    Reads,
    /// `pure`, of an `extern fn`: what it gives follows from its arguments alone.
    Pure,
}

impl EffectKind {
    /// As it is written.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Fails => "fails",
            Self::Reads => "reads",
            Self::Pure => "pure",
        }
    }

    /// The effect that is written `word`.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        let all = [Self::Random, Self::Fails, Self::Reads, Self::Pure];
        all.into_iter().find(|it| it.word() == word)
    }
}
