//! What of a graph of expressions becomes loops.
//!
//! A group is a value and what it is computed from by arithmetic alone, as far as nothing else
//! needs that too. Its leaves are found as any value is; nothing in it can fail but by extents
//! that do not go together, which whoever runs it sees before.

use crate::{Input, Layout, Loop, OPERANDS_MAX, Op, Output, body};
use half::{bf16, f16};
use plan::{Binary, Const, DType, Expr, ExprId, Graph, Index};

/// How values are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A chunk at once: scalars, an element for each record.
    AtOnce,
    /// Record by record: an element for each one of a tensor.
    EachRecord,
}

/// A value that is computed in one loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The value.
    pub root: ExprId,
    /// What it is computed from: the operands, in the order in which they are found.
    pub leaves: Vec<ExprId>,
    /// The values between, which are never found by themselves.
    pub inner: Vec<ExprId>,
    /// The loop; its one result is the value.
    pub body: Loop,
}

/// Operations of one loop, at the most: more would not stay in the registers.
const OPS_MAX: usize = 48;

/// The groups of `graph` that are worth a loop of their own, by their roots.
///
/// `outputs` are needed as they are, filters among them; what none of them needs is not computed.
pub fn groups(graph: &Graph, outputs: &[ExprId], way: Way) -> Vec<Group> {
    let survey = Survey::new(graph, outputs, way);
    let roots = graph.iter().map(|it| it.0).filter(|it| survey.roots[it.row()] == Some(*it));
    roots.filter_map(|it| survey.group(it)).filter(is_worth).collect()
}

/// Whether a loop of its own gains: several operations, or one that the evaluator takes several
/// loops for.
fn is_worth(group: &Group) -> bool {
    let narrow = |it: DType| it.size() < 4;
    let works = group
        .body
        .ops
        .iter()
        .filter(|it| !matches!(it.0, Op::Input(_) | Op::Int(_) | Op::Float(_)));
    let costs = works.map(|&(op, dtype)| match op {
        Op::Cast(a) => 1 + usize::from(narrow(dtype) || narrow(group.body.dtype(a))),
        Op::Binary(_, a, _) | Op::Unary(_, a) => 1 + usize::from(narrow(group.body.dtype(a))),
        _ => 1,
    });
    !group.leaves.is_empty() && costs.sum::<usize>() > 1
}

/// What needs a node.
#[derive(Clone, Copy, PartialEq)]
enum Need {
    None,
    /// Nodes of one group.
    By(ExprId),
    /// Something that needs the value itself.
    AsItIs,
}

struct Survey<'a> {
    graph: &'a Graph,
    way: Way,
    /// The root of the group that each node is in, if it is in one.
    roots: Vec<Option<ExprId>>,
    /// Whether there is a value for each record rather than one for all.
    varies: Vec<bool>,
    /// Text where there is no dtype: neither is compiled.
    dtypes: Vec<DType>,
}

impl<'a> Survey<'a> {
    fn new(graph: &'a Graph, outputs: &[ExprId], way: Way) -> Self {
        let mut varies = vec![false; graph.len()];
        for (id, expr, _) in graph.iter() {
            let mut does = matches!(expr, Expr::Column(_) | Expr::Call { .. });
            expr.needs(|it| does |= varies[it.row()]);
            varies[id.row()] = does;
        }
        let dtypes = graph.iter().map(|(.., ty)| ty.dtype().unwrap_or(DType::Str)).collect();
        let mut survey = Self { graph, way, roots: Vec::new(), varies, dtypes };
        survey.roots = survey.owned(outputs);
        survey
    }

    /// Which group each node is in: that of its users, where they are all in the same one, which
    /// has room, and nothing else needs it.
    fn owned(&self, outputs: &[ExprId]) -> Vec<Option<ExprId>> {
        let mut needed = vec![Need::None; self.graph.len()];
        let mut sizes = vec![0; self.graph.len()];
        let mut roots = vec![None; self.graph.len()];
        outputs.iter().for_each(|it| needed[it.row()] = Need::AsItIs);
        for (id, expr, _) in self.graph.iter().rev() {
            if needed[id.row()] == Need::None {
                continue;
            }
            let root = self.compiles(id).then(|| match needed[id.row()] {
                Need::By(root) if sizes[root.row()] < OPS_MAX => root,
                _ => id,
            });
            if let Some(root) = root {
                sizes[root.row()] += 1;
            }
            roots[id.row()] = root;
            expr.needs(|it| {
                let need = &mut needed[it.row()];
                *need = match (*need, root) {
                    (Need::None, Some(root)) => Need::By(root),
                    (Need::By(one), Some(root)) if one == root => Need::By(root),
                    _ => Need::AsItIs,
                };
            });
        }
        roots
    }

    fn is_scalar(&self, id: ExprId) -> bool {
        self.graph.ty(id).shape().is_some_and(<[_]>::is_empty)
    }

    /// Whether the value has many elements, so that a loop is of use.
    fn is_many(&self, id: ExprId) -> bool {
        match self.way {
            Way::AtOnce => self.is_scalar(id) && self.varies[id.row()],
            Way::EachRecord => !self.is_scalar(id),
        }
    }

    /// Whether the node is arithmetic that has instructions, on values that have vectors.
    fn compiles(&self, id: ExprId) -> bool {
        let op = match self.graph.expr(id) {
            Expr::Unary(op, a) => Op::Unary(*op, a.row()),
            Expr::Binary(op, a, b) => {
                let whole = self.graph.ty(*a).dtype().is_some_and(DType::is_int);
                let divides = matches!(op, Binary::FloorDiv | Binary::Rem) && whole;
                if divides && !self.is_divisor(*b) {
                    return false;
                }
                Op::Binary(*op, a.row(), b.row())
            }
            Expr::Cast(_, a) => Op::Cast(a.row()),
            // A scalar chooses which branch is computed at all.
            Expr::Select(c, a, b) if self.way == Way::AtOnce || !self.is_scalar(*c) => {
                Op::Select(c.row(), a.row(), b.row())
            }
            _ => return false,
        };
        self.is_many(id) && body::is_known(op, self.dtypes[id.row()], |it| self.dtypes[it])
    }

    /// A whole number known to be another than zero.
    fn is_divisor(&self, id: ExprId) -> bool {
        matches!(self.constant(id), Some((Op::Int(by), _)) if by != 0)
    }

    fn constant(&self, id: ExprId) -> Option<(Op, DType)> {
        match self.graph.expr(id) {
            Expr::Const(it) => constant(it),
            _ => None,
        }
    }

    /// The group of `root`, as far as it has room for operands.
    fn group(&self, root: ExprId) -> Option<Group> {
        let mut group =
            Group { root, leaves: Vec::new(), inner: Vec::new(), body: Loop::default() };
        let mut known = Vec::new();
        let op = self.take(root, &mut group, &mut known)?;
        group.inner.retain(|it| *it != root);
        group.body.outputs.push(Output { op, layout: Layout::Dense });
        Some(group)
    }

    /// Adds a node and what it needs; gives its number among the operations.
    fn take(
        &self,
        id: ExprId,
        group: &mut Group,
        known: &mut Vec<(ExprId, usize)>,
    ) -> Option<usize> {
        if let Some((_, op)) = known.iter().find(|it| it.0 == id) {
            return Some(*op);
        }
        let dtype = self.graph.ty(id).dtype()?;
        let (op, dtype) = if let Some(constant) = self.constant(id) {
            constant
        } else if self.roots[id.row()] == Some(group.root) {
            group.inner.push(id);
            (self.operation(id, group, known)?, dtype)
        } else {
            (self.leaf(id, dtype, group)?, dtype)
        };
        group.body.ops.push((op, dtype));
        known.push((id, group.body.ops.len() - 1));
        Some(group.body.ops.len() - 1)
    }

    fn operation(
        &self,
        id: ExprId,
        group: &mut Group,
        known: &mut Vec<(ExprId, usize)>,
    ) -> Option<Op> {
        let mut take = |it: &ExprId| self.take(*it, group, known);
        Some(match self.graph.expr(id) {
            Expr::Unary(op, a) => Op::Unary(*op, take(a)?),
            Expr::Binary(op, a, b) => Op::Binary(*op, take(a)?, take(b)?),
            Expr::Cast(_, a) => Op::Cast(take(a)?),
            Expr::Select(c, a, b) => Op::Select(take(c)?, take(a)?, take(b)?),
            _ => return None,
        })
    }

    fn leaf(&self, id: ExprId, dtype: DType, group: &mut Group) -> Option<Op> {
        if group.leaves.len() + 1 >= OPERANDS_MAX {
            return None;
        }
        let layout = if self.is_many(id) { Layout::Dense } else { Layout::Same };
        group.leaves.push(id);
        group.body.inputs.push(Input { dtype, layout });
        Some(Op::Input(group.leaves.len() - 1))
    }
}

/// One number, known to the compiler, as the evaluator would lay it out.
fn constant(value: &Const) -> Option<(Op, DType)> {
    match value {
        Const::Ints(dtype, shape, all) if shape.is_empty() => {
            let it = *all.first()?;
            let op = match *dtype {
                DType::Bool => Op::Int(i64::from(it != 0)),
                DType::U64 => Op::Int(it.max(0)),
                DType::I64 => Op::Int(it),
                dtype if dtype.is_int() => {
                    let bits = dtype.size() as u32 * 8;
                    let (low, high) = if dtype.is_signed() {
                        (-(1_i64 << (bits - 1)), (1_i64 << (bits - 1)) - 1)
                    } else {
                        (0, (1_i64 << bits) - 1)
                    };
                    Op::Int(it.clamp(low, high))
                }
                _ => return None,
            };
            Some((op, *dtype))
        }
        Const::Floats(dtype @ (DType::F32 | DType::F64), shape, all) if shape.is_empty() => {
            Some((Op::Float(*all.first()?), *dtype))
        }
        Const::Floats(dtype @ (DType::F16 | DType::BF16), shape, all) if shape.is_empty() => {
            let it = *all.first()? as f32;
            let rounded = match dtype {
                DType::F16 => f64::from(f16::from_f32(it)),
                _ => f64::from(bf16::from_f32(it)),
            };
            Some((Op::Float(rounded), *dtype))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Type;

    fn ints(value: i64) -> Expr {
        Expr::Const(Const::Ints(DType::I64, vec![], vec![value]))
    }

    /// A column `a`, and what `make` puts above it; the nodes in each group, by their roots.
    fn found(way: Way, make: impl FnOnce(&mut Graph, ExprId) -> Vec<ExprId>) -> Vec<(u32, usize)> {
        let mut graph = Graph::default();
        let shape = if way == Way::AtOnce { vec![] } else { vec![4] };
        let a = graph.add(Expr::Column(0), Type::tensor(DType::I64, &shape));
        let outputs = make(&mut graph, a);
        groups(&graph, &outputs, way).iter().map(|it| (it.root.0, it.inner.len() + 1)).collect()
    }

    fn binary(graph: &mut Graph, op: Binary, a: ExprId, b: ExprId) -> ExprId {
        let ty = graph.ty(a).clone();
        graph.add(Expr::Binary(op, a, b), ty)
    }

    #[test]
    fn what_two_values_need_is_a_value_of_its_own() {
        let alone = |graph: &mut Graph, a| {
            let twice = binary(graph, Binary::Add, a, a);
            let square = binary(graph, Binary::Mul, twice, twice);
            vec![binary(graph, Binary::Sub, square, twice)]
        };
        assert_eq!(found(Way::AtOnce, alone), [(3, 3)]);
        let both = |graph: &mut Graph, a| {
            let outputs = alone(graph, a);
            let square = binary(graph, Binary::Mul, outputs[0], a);
            vec![outputs[0], binary(graph, Binary::Max, square, a)]
        };
        assert_eq!(found(Way::AtOnce, both), [(3, 3), (5, 2)]);
    }

    #[test]
    fn what_may_fail_is_not_compiled() {
        let by = |divisor: i64| {
            found(Way::EachRecord, |graph, a| {
                let by = graph.add(ints(divisor), Type::scalar(DType::I64));
                let rest = binary(graph, Binary::Rem, a, by);
                vec![binary(graph, Binary::Add, rest, a)]
            })
        };
        assert_eq!(by(7), [(3, 2)]);
        assert_eq!(by(0), []);
    }

    /// Of a scalar condition only one branch is computed.
    #[test]
    fn a_scalar_choice_is_left_to_the_evaluator() {
        let select = |way| {
            found(way, |graph, a| {
                let yes = graph.add(Expr::Column(1), Type::scalar(DType::Bool));
                let ty = graph.ty(a).clone();
                let twice = binary(graph, Binary::Add, a, a);
                vec![graph.add(Expr::Select(yes, twice, a), ty)]
            })
        };
        assert_eq!(select(Way::EachRecord), []);
        assert_eq!(select(Way::AtOnce), [(3, 2)]);
    }
}
