//! Values that are computed from a record: an expression graph, equal nodes merged.
//!
//! Every operator of a plan has a graph of its own, whose leaves are the columns of what
//! flows in. A draw is a pure function of its key (`semantics.md`, 6), so two nodes are
//! equal exactly if they always have the same value.

use crate::{DType, ExprId, File, IdVec, Type, VarId};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A value, by how it is found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Expr {
    /// A column of the chunk that flows in.
    Column(u32),
    /// The number of the epoch, i64, from 0.
    Epoch,
    /// Which element a loop is at, i64, from 0.
    Var(VarId),
    /// A constant.
    Const(Const),
    /// A function of the library, applied. Arguments stand in the order of its parameters.
    Call {
        /// Its name in the library.
        function: String,
        /// One for each parameter.
        args: Vec<Arg>,
        /// Of a function that draws: names the draw (`semantics.md`, 6), the loops that it is in.
        draw: Option<Draw>,
    },
    /// Arithmetic on one value, element by element.
    Unary(Unary, ExprId),
    /// Arithmetic on two values, with NumPy's broadcasting. Both have the same dtype.
    Binary(Binary, ExprId, ExprId),
    /// Element by element to another dtype. To integers: towards zero, out of range to the nearest.
    Cast(DType, ExprId),
    /// `if`: on a scalar condition only the chosen branch is computed; else element by element.
    Select(ExprId, ExprId, ExprId),
    /// The same value for each number below `count`, as one tensor: with an axis more, or end to end along the
    /// first axis.
    Stack {
        /// How often, a scalar i64.
        count: ExprId,
        /// What `body` calls the number.
        var: VarId,
        /// One element.
        body: ExprId,
        /// Whether the elements are joined along their first axis, in which they may differ, rather than stacked.
        joined: bool,
    },
    /// `value`, unless it or what it needs is faulty.
    Else {
        /// What is tried.
        value: ExprId,
        /// What is done where that fails.
        otherwise: Otherwise,
    },
}

/// What names a draw beside seed, record and epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    /// Hash of the chain of calls from the pipeline to the draw, fixed before inlining.
    pub place: u64,
    /// The loops around it, outermost first: their numbers are part of the lineage.
    pub vars: Vec<VarId>,
}

/// A constant tensor, or text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Const {
    /// Text or bytes; untyped JSON as text.
    Text(DType, Vec<u8>),
    /// Floats of any width, rounded to `dtype` where they are used.
    Floats(DType, Vec<u64>, Vec<f64>),
    /// Integers or booleans: dtype, shape, elements in C order.
    Ints(DType, Vec<u64>, Vec<i64>),
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Arg {
    /// Not given, and without a default.
    None,
    /// `true`, `false`
    Bool(bool),
    /// A whole number known to the compiler.
    Int(i64),
    /// A number known to the compiler, in SI base units.
    Float(f64),
    /// Text known to the compiler.
    Text(String),
    /// One of the words that the parameter's type lists.
    Word(String),
    /// An interval with both its ends, known to the compiler.
    Interval(f64, f64),
    /// A list known to the compiler.
    List(#[serde(deserialize_with = "crate::nesting::bounded")] Vec<Arg>),
    /// Named values known to the compiler.
    Record(#[serde(deserialize_with = "crate::nesting::bounded")] Vec<(String, Arg)>),
    /// A value of the record.
    Expr(ExprId),
    /// Several values of the record, such as what `stack` takes.
    Exprs(Vec<ExprId>),
    /// A type, such as what `as` takes.
    Type(Type),
    /// A column of the chunk that flows in; in programs only.
    Column(u32),
    /// The sources of what flows in, for what is asked of their listing: numbers of operators in
    /// a plan, of stages in a program.
    Sources(Vec<u32>),
    /// A file and what it holds, such as a table of words.
    File(File),
}

/// Arithmetic on one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Unary {
    Neg,
    Not,
    Abs,
    Sqrt,
    Exp,
    Log,
    Sin,
    Cos,
    Tanh,
    Floor,
    Ceil,
    /// To the nearest whole number, halves to the even one.
    Round,
}

/// Arithmetic on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// True division, of floats.
    Div,
    /// Towards minus infinity; by the integer zero it is a fault.
    FloorDiv,
    /// Has the sign of the divisor; by the integer zero it is a fault.
    Rem,
    Pow,
    Min,
    Max,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
}

impl Binary {
    /// Whether the result is `bool` whatever is compared.
    pub fn compares(self) -> bool {
        use Binary::{Eq, Ge, Gt, Le, Lt, Ne};
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }
}

/// What is done where a value could not be found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Otherwise {
    /// Another value.
    Value(ExprId),
    /// As the policy says.
    Policy(Policy),
}

/// What becomes of a record that is faulty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Policy {
    /// The run ends.
    Fail,
    /// The record goes; the run ends where more than the share `most` of all do.
    Skip {
        /// Largest share of the records that may go, 1e-3 unless said.
        most: f64,
    },
    /// Another record of the source takes its place, within the same limit.
    Another {
        /// Largest share of the records that may be replaced, 1e-3 unless said.
        most: f64,
    },
}

/// Values of one operator that stand above each other, at the most: they are evaluated by recursion.
pub const DEPTH_MAX: usize = 500;
/// The same of a stage, into which several operators go, and what the rewrites add.
pub const STAGE_DEPTH_MAX: usize = 1_200;

/// The expressions of one operator.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Graph {
    nodes: IdVec<ExprId, (Expr, Type)>,
    /// How many loop variables there are.
    pub n_vars: u32,
    /// Whether what is used in part is made in part (`parts`), where the whole is not kept.
    pub parts: bool,
    /// Whether choices by a column nearly always take their first branch, a column too: what a source
    /// could read itself (`clean`).
    #[serde(default)]
    pub clean: bool,
    #[serde(skip)]
    known: HashMap<Key, ExprId>,
}

/// A node as bytes, by which equal ones are found: numbers with a point are equal where all their bits are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key(Vec<u8>);

impl Key {
    fn of(expr: &Expr, ty: &Type) -> Self {
        Self(postcard::to_stdvec(&(expr, ty)).expect("what a node is made of can be written"))
    }
}

impl PartialEq for Graph {
    /// By its nodes: what helps to find equal ones is not there where it was read from a file.
    fn eq(&self, other: &Self) -> bool {
        let made = |it: &Self| (it.n_vars, it.parts, it.clean);
        self.nodes == other.nodes && made(self) == made(other)
    }
}

impl Graph {
    /// The node for `expr`: an old one where an equal one is there. Arguments come first.
    pub fn add(&mut self, expr: Expr, ty: Type) -> ExprId {
        let key = Key::of(&expr, &ty);
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let id = self.nodes.push((expr, ty));
        self.known.insert(key, id);
        id
    }

    /// The same, of these nodes in place of its own.
    pub(crate) fn with_nodes(&self, nodes: impl Iterator<Item = (Expr, Type)>) -> Self {
        let &Self { n_vars, parts, clean, .. } = self;
        Self { nodes: nodes.collect(), n_vars, parts, clean, known: HashMap::new() }
    }

    /// A new loop variable.
    pub fn var(&mut self) -> VarId {
        self.n_vars += 1;
        VarId(self.n_vars - 1)
    }

    /// How the value `id` is found.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.nodes[id].0
    }

    /// The type of the value `id`.
    pub fn ty(&self, id: ExprId) -> &Type {
        &self.nodes[id].1
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many values stand above each other, at the most: each is needed by the next.
    pub fn depth(&self) -> usize {
        let mut depths: Vec<usize> = Vec::with_capacity(self.len());
        for (_, expr, _) in self.iter() {
            let mut below = 0;
            expr.needs(|it| below = below.max(depths[it.0 as usize]));
            depths.push(below + 1);
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// All nodes, each after those that it needs.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (ExprId, &Expr, &Type)> {
        self.nodes.iter().map(|(id, (expr, ty))| (id, expr, ty))
    }
}

impl Arg {
    /// Calls the values of a graph that it names otherwise.
    pub(crate) fn rename(&mut self, mut rename: impl FnMut(&mut ExprId)) {
        match self {
            Self::Expr(id) => rename(id),
            Self::Exprs(ids) => ids.iter_mut().for_each(rename),
            _ => {}
        }
    }
}

impl Expr {
    /// Calls `visit` for each node that this one needs.
    pub fn needs(&self, mut visit: impl FnMut(ExprId)) {
        self.clone().each_need(|it| visit(*it));
    }

    /// The same node on other arguments.
    #[must_use]
    pub fn with_needs(mut self, mut other: impl FnMut(ExprId) -> ExprId) -> Self {
        self.each_need(|it| *it = other(*it));
        self
    }

    fn each_need(&mut self, mut visit: impl FnMut(&mut ExprId)) {
        match self {
            Self::Column(_) | Self::Epoch | Self::Var(_) | Self::Const(_) => {}
            Self::Call { args, .. } => args.iter_mut().for_each(|it| it.rename(&mut visit)),
            Self::Unary(_, a) | Self::Cast(_, a) => visit(a),
            Self::Binary(_, a, b) => [a, b].into_iter().for_each(visit),
            Self::Select(a, b, c) => [a, b, c].into_iter().for_each(visit),
            Self::Stack { count, body, .. } => [count, body].into_iter().for_each(visit),
            Self::Else { value, otherwise } => {
                visit(value);
                if let Otherwise::Value(other) = otherwise {
                    visit(other);
                }
            }
        }
    }
}
