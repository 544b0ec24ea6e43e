//! Expressions: values and streams alike.

use plan::Span;

use super::{Name, Number, TypeExpr};

/// An expression with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// All of it, with the round brackets around it.
    pub span: Span,
    /// Whether round brackets stood around it; they mean nothing more, `fmt` keeps them.
    pub bracketed: bool,
}

impl Expr {
    /// What stands where an expression could not be read.
    #[must_use]
    pub fn broken(span: Span) -> Self {
        Self { kind: ExprKind::Broken, span, bracketed: false }
    }
}

/// What an expression is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ExprKind {
    /// `x`: a field, a parameter, a constant, a pipeline, or one of some words.
    Name(String),
    /// `it`: the whole record.
    It,
    /// `64MiB`
    Number(Number),
    /// `"{data}/*.jpg"`, `'as it stands'`
    Str {
        /// As written, with its quotes.
        text: String,
        /// What it says, in order; no two chunks follow each other.
        parts: Vec<Part>,
    },
    /// `true`
    Bool(bool),
    /// `[1, 2]`
    List(Vec<Expr>),
    /// `[body for var in over]`
    Comprehension {
        /// What each element becomes.
        body: Box<Expr>,
        /// The name of the element.
        var: Name,
        /// A list, a tensor's first axis or an interval.
        over: Box<Expr>,
    },
    /// `{ a: value, b }`
    Record(Vec<Entry>),
    /// `f(x, size: 3)`
    Call(Call),
    /// `lhs |> stage`
    Pipe {
        /// What flows in.
        lhs: Box<Expr>,
        /// What is done with it.
        stage: Stage,
    },
    /// `lhs else otherwise`
    Else {
        /// What may fail.
        lhs: Box<Expr>,
        /// What happens then.
        otherwise: Otherwise,
    },
    /// `lhs + rhs`
    Binary {
        /// Which.
        op: BinaryOp,
        /// The place of the sign.
        at: Span,
        /// The left operand.
        lhs: Box<Expr>,
        /// The right operand.
        rhs: Box<Expr>,
    },
    /// `-operand`, `not operand`
    Unary {
        /// Which.
        op: UnaryOp,
        /// The place of the sign.
        at: Span,
        /// What it is done to.
        operand: Box<Expr>,
    },
    /// `lhs < rhs`
    Compare {
        /// Which.
        op: CompareOp,
        /// The place of the sign.
        at: Span,
        /// The left operand.
        lhs: Box<Expr>,
        /// The right operand.
        rhs: Box<Expr>,
    },
    /// `value in set`, `value not in set`
    In {
        /// What is looked for.
        value: Box<Expr>,
        /// A list or an interval.
        set: Box<Expr>,
        /// Whether it is `not in`.
        negated: bool,
    },
    /// `from..to`, with both its ends.
    Interval {
        /// The lower end.
        from: Box<Expr>,
        /// The upper end.
        to: Box<Expr>,
    },
    /// `if cond then then else otherwise`
    If {
        /// What decides.
        cond: Box<Expr>,
        /// The value when it is so.
        then: Box<Expr>,
        /// The value when it is not.
        otherwise: Box<Expr>,
    },
    /// `base[1, :-1]`
    Index {
        /// What is indexed.
        base: Box<Expr>,
        /// One for each axis, at least one.
        places: Vec<Place>,
    },
    /// `base.name`
    Field {
        /// A record, or a value with properties (`image.shape`).
        base: Box<Expr>,
        /// Which.
        name: Name,
    },
    /// `value as type_`
    As {
        /// What is `untyped` until now.
        value: Box<Expr>,
        /// What it is from now on.
        type_: TypeExpr,
    },
    /// A message has been given: say nothing more about it.
    #[default]
    Broken,
}

/// A piece of a string.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text with its escapes resolved.
    Chunk(String),
    /// `{name}`, filled in; the span is the name's.
    Hole(Name),
}

/// `name: value` in a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The field's name.
    pub name: Name,
    /// The field's value; for a bare name that name.
    pub value: Expr,
    /// Whether it was a bare name: `{ image }` for `{ image: image }`.
    pub bare: bool,
}

impl Entry {
    /// From its name to the end of its value.
    #[must_use]
    pub fn span(&self) -> Span {
        self.name.span.to(self.value.span)
    }
}

/// `name(args)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What is called.
    pub name: Name,
    /// The arguments in order.
    pub args: Vec<Arg>,
    /// All of it.
    pub span: Span,
}

/// An argument: `value` or `name: value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// The parameter that it names.
    pub name: Option<Name>,
    /// Its value.
    pub value: Expr,
}

impl Arg {
    /// From its name, if any, to the end of its value.
    #[must_use]
    pub fn span(&self) -> Span {
        self.name.as_ref().map_or(self.value.span, |it| it.span.to(self.value.span))
    }
}

/// What stands right of `|>`.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// `map …`, `where …`
    Each(Each),
    /// `shuffle`, `batch(8)`: a call whose first argument stands left; a bare name is a call without more.
    Call(Call),
}

impl Stage {
    /// All of it, without the `|>`.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Each(it) => it.at.to(it.body.span),
            Self::Call(it) => it.span,
        }
    }
}

/// `map body`, with the fields of the record in scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Each {
    /// Which of the four.
    pub kind: EachKind,
    /// The place of the word.
    pub at: Span,
    /// What is done to each record.
    pub body: Box<Expr>,
}

/// The four that do something to each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EachKind {
    /// The record becomes the value.
    Map,
    /// Each element of the list becomes a record.
    FlatMap,
    /// The record also gets the value's fields.
    With,
    /// The record stays if the value is true.
    Where,
}

impl EachKind {
    /// As it is written.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::FlatMap => "flat_map",
            Self::With => "with",
            Self::Where => "where",
        }
    }
}

/// What stands right of the `else` that takes failures.
#[derive(Clone, Debug, PartialEq)]
pub enum Otherwise {
    /// `skip(most: 1e-3)`, `another`, `fail`
    Policy(Policy),
    /// A value in place of what failed.
    Value(Box<Expr>),
}

impl Otherwise {
    /// All of it, without the `else`.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Policy(it) => it.span,
            Self::Value(it) => it.span,
        }
    }
}

/// What is done with a record that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Which.
    pub kind: PolicyKind,
    /// Its arguments: `most: 1e-3`.
    pub args: Vec<Arg>,
    /// All of it.
    pub span: Span,
}

/// What can be done with a record that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyKind {
    /// The record goes.
    Skip,
    /// Another of its source takes its place.
    Another,
    /// The run ends.
    Fail,
}

impl PolicyKind {
    /// As it is written.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Another => "another",
            Self::Fail => "fail",
        }
    }
}

/// One axis of an index.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// `[i]`
    At(Expr),
    /// `[from:to]`, as NumPy has it: without its upper end.
    Slice {
        /// The lower end; the first element when left out.
        from: Option<Expr>,
        /// The upper end, which is not taken; all of them when left out.
        to: Option<Expr>,
        /// All of it.
        span: Span,
    },
}

impl Place {
    /// All of it.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::At(it) => it.span,
            Self::Slice { span, .. } => *span,
        }
    }
}

/// The operators with two sides that compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`: true division.
    Div,
    /// `//`: division rounded down.
    FloorDiv,
    /// `%`
    Rem,
    /// `**`
    Pow,
    /// `and`
    And,
    /// `or`
    Or,
}

impl BinaryOp {
    /// As it is written.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::FloorDiv => "//",
            Self::Rem => "%",
            Self::Pow => "**",
            Self::And => "and",
            Self::Or => "or",
        }
    }
}

/// The operators with one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `not`
    Not,
}

/// The comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompareOp {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl CompareOp {
    /// As it is written.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
}
