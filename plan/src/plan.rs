//! The checked pipeline: a tree of operators.

use crate::{Arg, ExprId, Field, Graph, IdVec, Index, OpId, Policy, Span, VarId};
use serde::{Deserialize, Serialize};

/// A checked pipeline. Every operator stands after those that it reads from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The pipeline's name in the file.
    pub name: String,
    /// The operators, sources first.
    pub ops: IdVec<OpId, Op>,
    /// The one whose records leave the pipeline.
    pub root: OpId,
}

/// An operator in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// What it reads, in order. Sources read nothing; `zip`, `mix`, `concat` read several.
    pub inputs: Vec<OpId>,
    /// The expressions that it computes; `Column(i)` is field `i` of the first input.
    pub graph: Graph,
    /// The fields that leave it, flat: nested records are dotted names.
    pub output: Vec<Field>,
    /// Where it is written: the step's stable name, such as `train.map#1` (`semantics.md`, 12).
    pub step: String,
    /// Hash of the chain of calls from the pipeline to it: names its own draws.
    pub place: u64,
    /// Where it is written.
    pub at: Span,
    /// What becomes of a record that fails in it, where no `else` inside says otherwise.
    pub on_fault: Policy,
}

/// What an operator does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum OpKind {
    /// Where records come from.
    Source {
        /// Its name in the library.
        entry: String,
        /// One for each parameter.
        args: Vec<Arg>,
    },
    /// `map` and `with`: the record becomes these values, one for each field of the output.
    Map {
        /// The values.
        outputs: Vec<ExprId>,
    },
    /// The record stays where this is true.
    Where {
        /// A scalar `bool`.
        keep: ExprId,
    },
    /// One record becomes several.
    FlatMap {
        /// The records that it becomes.
        records: Records,
    },
    /// An operator of the library. Arguments of the record are `Arg::Expr` of the graph.
    Operator {
        /// Its name in the library.
        entry: String,
        /// One for each parameter after the inputs.
        args: Vec<Arg>,
        /// Names of the inputs, where they were given as a record.
        names: Vec<String>,
    },
}

/// The records that one becomes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Records {
    /// As many as are written.
    Listed(Vec<Vec<ExprId>>),
    /// As many as are counted.
    Counted {
        /// How many, a scalar i64.
        count: ExprId,
        /// What `outputs` call the number, from 0.
        var: VarId,
        /// The values of one of them.
        outputs: Vec<ExprId>,
    },
}

impl OpKind {
    /// Calls the values of the operator's graph otherwise: for a graph whose nodes have other
    /// numbers.
    pub fn rename(&mut self, rename: impl Fn(&mut ExprId)) {
        match self {
            Self::Map { outputs } => outputs.iter_mut().for_each(rename),
            Self::Where { keep } => rename(keep),
            Self::FlatMap { records: Records::Listed(lists) } => {
                lists.iter_mut().flatten().for_each(rename);
            }
            Self::FlatMap { records: Records::Counted { count, outputs, .. } } => {
                [count].into_iter().chain(outputs).for_each(rename);
            }
            Self::Source { args, .. } | Self::Operator { args, .. } => {
                args.iter_mut().for_each(|it| it.rename(&rename));
            }
        }
    }
}

impl Plan {
    /// The fields that leave the pipeline.
    pub fn output(&self) -> &[Field] {
        &self.ops[self.root].output
    }

    /// Which operators leave something for the root, by their rows.
    pub fn needed(&self) -> Vec<bool> {
        let mut needed = vec![false; self.ops.len()];
        needed[self.root.row()] = true;
        for (id, op) in self.ops.iter().rev() {
            if needed[id.row()] {
                op.inputs.iter().for_each(|it| needed[it.row()] = true);
            }
        }
        needed
    }

    /// The operators that leave something for the root, in order.
    pub fn steps(&self) -> Vec<OpId> {
        let needed = self.needed();
        self.ops.ids().filter(|it| needed[it.row()]).collect()
    }
}
