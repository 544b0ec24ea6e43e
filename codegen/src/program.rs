//! What is compiled: operations on elements, from operands to results.

use plan::{Binary, DType, Unary};

/// Operands and results that one loop may have together.
pub const OPERANDS_MAX: usize = 16;

/// A program that is run for each element alone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loop {
    /// What it reads.
    pub inputs: Vec<Input>,
    /// What it computes, each operation after those that it needs, with the dtype of its value.
    pub ops: Vec<(Op, DType)>,
    /// What it writes.
    pub outputs: Vec<Output>,
}

/// An operand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Input {
    /// The type of its elements.
    pub dtype: DType,
    /// How they lie.
    pub layout: Layout,
}

/// A result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Output {
    /// The number of the operation whose value it is.
    pub op: usize,
    /// How its elements lie: not [`Layout::Same`].
    pub layout: Layout,
}

/// How the elements of an operand lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Next to each other.
    Dense,
    /// One serves for all.
    Same,
    /// Any number of bytes apart, backwards too.
    Strided,
}

/// What is done with an element; numbers name operations before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Op {
    /// An element of the operand of that number.
    Input(usize),
    /// A whole number, or 0 and 1 for what is true or not; the bits of it as `u64`.
    Int(i64),
    /// A float, rounded to the dtype of the operation.
    Float(f64),
    /// Arithmetic on one value.
    Unary(Unary, usize),
    /// Arithmetic on two values of the same dtype.
    Binary(Binary, usize, usize),
    /// To another dtype.
    Cast(usize),
    /// The second where the first is true, else the third.
    Select(usize, usize, usize),
}

impl Loop {
    /// The dtype of the value of the operation `op`.
    pub fn dtype(&self, op: usize) -> DType {
        self.ops[op].1
    }

    /// The same loop with operands and results any number of bytes apart, but for those of which
    /// one element serves for all.
    #[must_use]
    pub fn strided(mut self) -> Self {
        let strided = |layout: &mut Layout| {
            if *layout == Layout::Dense {
                *layout = Layout::Strided;
            }
        };
        self.inputs.iter_mut().for_each(|it| strided(&mut it.layout));
        self.outputs.iter_mut().for_each(|it| strided(&mut it.layout));
        self
    }
}
