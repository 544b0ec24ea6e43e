//! Whole numbers and truth values of one record, found without a register: what lies between the values of a record and a
//! condition on it is often such.

use super::{
    machine::{Machine, Stop, Subject},
    nodes::{Code, Node},
    number::Number,
};
use crate::{Fault, Out};
use plan::{Binary, Const, DType, Expr, ExprId, Graph, IdVec, Unary};

/// How a number is made of others, where it is an `i64` or a `bool` without axes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Word {
    Known(i64),
    /// How many elements a value has along an axis.
    Extent(ExprId, usize),
    Binary(Binary, ExprId, ExprId),
    Not(ExprId),
}

impl Word {
    /// How the node `id` is made, where it is one; `code` is what it was made ready as.
    pub(super) fn of(graph: &Graph, id: ExprId, code: &Code) -> Option<Self> {
        let dtype = |id: ExprId| {
            let ty = graph.ty(id);
            let is_scalar = ty.shape().is_some_and(<[_]>::is_empty);
            ty.dtype().filter(|it| is_scalar && matches!(it, DType::I64 | DType::Bool))
        };
        dtype(id)?;
        match (graph.expr(id), code) {
            (Expr::Const(Const::Ints(_, _, all)), _) => Some(Self::Known(*all.first()?)),
            (_, Code::Call(call)) if let Some((of, axis)) = call.extent() => {
                Some(Self::Extent(of, axis))
            }
            (Expr::Unary(Unary::Not, a), _) => dtype(*a).map(|_| Self::Not(*a)),
            (Expr::Binary(op, a, b), _) => {
                let of = dtype(*a)?;
                let is_made = match op {
                    Binary::And | Binary::Or => of == DType::Bool,
                    Binary::Add | Binary::Sub | Binary::Mul | Binary::FloorDiv | Binary::Rem => {
                        of == DType::I64
                    }
                    Binary::Min | Binary::Max => true,
                    _ => op.compares(),
                };
                (is_made && dtype(*b)? == of).then_some(Self::Binary(*op, *a, *b))
            }
            _ => None,
        }
    }
}

/// The same as [`super::arith`] has it. Truth values are 0 and 1, in the order of which `and` is the smaller.
fn computed(op: Binary, a: i64, b: i64) -> Result<i64, Fault> {
    Ok(match op {
        Binary::Add => a.add(b),
        Binary::Sub => a.sub(b),
        Binary::Mul => a.mul(b),
        Binary::FloorDiv | Binary::Rem if b == 0 => {
            return Err(Fault::new("division-by-zero", "integer division by zero"));
        }
        Binary::FloorDiv => a.floor_div(b),
        Binary::Rem => a.rem(b),
        Binary::Min | Binary::And => a.min(b),
        Binary::Max | Binary::Or => a.max(b),
        Binary::Eq => i64::from(a == b),
        Binary::Ne => i64::from(a != b),
        Binary::Lt => i64::from(a < b),
        Binary::Le => i64::from(a <= b),
        Binary::Gt => i64::from(a > b),
        Binary::Ge => i64::from(a >= b),
        Binary::Div | Binary::Pow => unreachable!("`Word::of` admits neither"),
    })
}

impl Machine {
    /// The whole number, or 0 or 1, that the node `id` is.
    pub(super) fn word(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        id: ExprId,
    ) -> Result<i64, Stop> {
        let node = &nodes[id];
        match node.word {
            Some(Word::Known(it)) => return Ok(it),
            // Of what others need too, only what is as quickly made as found.
            Some(word)
                if (node.users == 1 || matches!(word, Word::Extent(..)))
                    && self.is_plain(node)
                    && self.found(id).is_none() =>
            {
                let made = self.made_word(nodes, subject, word);
                self.note(id, &made);
                return made;
            }
            _ => {}
        }
        self.find(nodes, subject, id).map(|it| it.int())
    }

    /// Whether nobody looks at how long it takes, keeps it, or makes it otherwise.
    fn is_plain(&self, node: &Node) -> bool {
        !self.timing.is_on() && node.tap.get().is_none() && node.straight.is_none()
    }

    fn made_word(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        word: Word,
    ) -> Result<i64, Stop> {
        Ok(match word {
            Word::Known(it) => it,
            Word::Extent(of, axis) => self.find(nodes, subject, of)?.shape()[axis] as i64,
            Word::Not(a) => 1 - self.word(nodes, subject, a)?,
            Word::Binary(op, a, b) => {
                let (a, b) = (self.word(nodes, subject, a)?, self.word(nodes, subject, b)?);
                computed(op, a, b)?
            }
        })
    }

    /// Writes the value of such a node of one record.
    pub(super) fn write_word(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        (node, word): (&Node, Word),
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let made = self.made_word(nodes, subject, word)?;
        let written = match node.dtype {
            Some(DType::Bool) => out.scalar(made != 0),
            _ => out.scalar(made),
        };
        Ok(written?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::arith;
    use super::*;
    use crate::{Scratch, Tensor};

    const ALL: [Binary; 13] = [
        Binary::Add,
        Binary::Sub,
        Binary::Mul,
        Binary::FloorDiv,
        Binary::Rem,
        Binary::Min,
        Binary::Max,
        Binary::Eq,
        Binary::Ne,
        Binary::Lt,
        Binary::Le,
        Binary::Gt,
        Binary::Ge,
    ];

    #[test]
    fn numbers_are_those_of_tensors() {
        let some = [i64::MIN, -7, -2, -1, 0, 1, 2, 7, i64::MAX];
        for op in ALL {
            for a in some {
                for b in some {
                    let mut scratch = Scratch::new();
                    let (left, right) = ([a], [b]);
                    let both = [&Tensor::new(&[], &left), &Tensor::new(&[], &right)];
                    let plainly = arith::binary(op, both, &mut Out::grow(&mut scratch));
                    let plainly = plainly.map(|()| scratch.tensor().int());
                    assert_eq!(computed(op, a, b), plainly, "{a} {op:?} {b}");
                }
            }
        }
    }

    #[test]
    fn truth_values_are_those_of_tensors() {
        for op in [Binary::And, Binary::Or, Binary::Eq, Binary::Ne, Binary::Min, Binary::Max] {
            for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
                let mut scratch = Scratch::new();
                let (left, right) = ([a], [b]);
                let both = [&Tensor::new(&[], &left), &Tensor::new(&[], &right)];
                arith::binary(op, both, &mut Out::grow(&mut scratch)).unwrap();
                let plainly = Ok(scratch.tensor().int());
                assert_eq!(computed(op, i64::from(a), i64::from(b)), plainly, "{a} {op:?} {b}");
            }
        }
    }
}
