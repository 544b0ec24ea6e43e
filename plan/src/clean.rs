//! Clean chunks: those in which every record is as a source expects it.
//!
//! A source that reads fields itself says of each record, in a column, whether it could. What uses such a field is a
//! choice by that column: the field as the source has read it, or else what is found in the record the long way, with
//! its faults. In a chunk where the column is true throughout, the choice is the field itself: then nothing is
//! computed for it, and what is left may be computed for the whole chunk at once.

use crate::{DType, Expr, ExprId, Graph, Index, Records, Transform, Type};

/// A graph as it is in a clean chunk. Nodes keep their numbers; those that nothing needs any more are
/// [`Expr::Epoch`].
#[derive(Debug, Clone)]
pub struct Clean {
    /// The graph.
    pub graph: Graph,
    /// The columns that must be true in every record.
    pub columns: Vec<u32>,
    /// What stands for each node.
    stands: Vec<ExprId>,
}

impl Clean {
    /// What `roots` need of `graph` in a clean chunk; none where no column decides anything.
    pub fn of(graph: &Graph, roots: &[ExprId]) -> Option<Self> {
        if !graph.clean {
            return None;
        }
        let (mut columns, mut stands) = (Vec::new(), Vec::with_capacity(graph.len()));
        for (id, expr, _) in graph.iter() {
            let stand = match (choice(graph, id), expr) {
                (Some((column, value)), _) => {
                    columns.push(column);
                    stands[value.row()]
                }
                (None, Expr::Else { value, .. }) if is_there(graph, stands[value.row()]) => {
                    stands[value.row()]
                }
                _ => id,
            };
            stands.push(stand);
        }
        columns.sort_unstable();
        columns.dedup();
        let clean = Self { graph: renamed(graph, &stands, roots), columns, stands };
        (!clean.columns.is_empty()).then_some(clean)
    }

    /// What stands for the node `id`.
    pub fn stands(&self, id: ExprId) -> ExprId {
        self.stands[id.row()]
    }
}

/// Where `id` is a choice by a column that nearly always takes its first branch: that column, and the branch.
pub fn choice(graph: &Graph, id: ExprId) -> Option<(u32, ExprId)> {
    let Expr::Select(condition, value, other) = graph.expr(id) else { return None };
    let Expr::Column(column) = graph.expr(*condition) else { return None };
    let decides = graph.clean && *graph.ty(*condition) == Type::scalar(DType::Bool);
    let is_column = matches!(graph.expr(*value), Expr::Column(_));
    let same = is_column && !is_there(graph, *other) && graph.ty(*value) == graph.ty(id);
    (decides && same).then_some((*column, *value))
}

/// Whether a node is found where it lies, and never fails.
fn is_there(graph: &Graph, id: ExprId) -> bool {
    matches!(graph.expr(id), Expr::Column(_) | Expr::Const(_))
}

fn renamed(graph: &Graph, stands: &[ExprId], roots: &[ExprId]) -> Graph {
    let mut live = vec![false; graph.len()];
    roots.iter().for_each(|it| live[stands[it.row()].row()] = true);
    for (id, expr, _) in graph.iter().rev() {
        if live[id.row()] {
            expr.needs(|it| live[stands[it.row()].row()] = true);
        }
    }
    let node = |(id, expr, ty): (ExprId, &Expr, &Type)| {
        let expr = if live[id.row()] { expr.clone() } else { Expr::Epoch };
        (expr.with_needs(|it| stands[it.row()]), ty.clone())
    };
    graph.with_nodes(graph.iter().map(node))
}

impl Transform {
    /// The values that it is made for.
    pub fn wanted(&self) -> Vec<ExprId> {
        let mut wanted = self.filters.clone();
        match &self.outputs {
            Records::Listed(lists) => wanted.extend(lists.iter().flatten()),
            Records::Counted { count, outputs, .. } => {
                wanted.push(*count);
                wanted.extend(outputs);
            }
        }
        wanted
    }

    /// What it computes of a clean chunk, and the columns that are true in one; none where that is the same as of
    /// any other.
    pub fn clean(&self) -> Option<(Self, Vec<u32>)> {
        let clean = Clean::of(&self.graph, &self.wanted())?;
        let mut made = Self { vector: self.clean_vector, ..self.clone() };
        made.rename(|it| clean.stands(it));
        made.graph = clean.graph;
        Some((made, clean.columns))
    }

    /// Calls the values that leave it otherwise.
    fn rename(&mut self, stands: impl Fn(ExprId) -> ExprId) {
        let rename = |it: &mut ExprId| *it = stands(*it);
        self.filters.iter_mut().for_each(rename);
        match &mut self.outputs {
            Records::Listed(lists) => lists.iter_mut().flatten().for_each(rename),
            Records::Counted { count, outputs, .. } => {
                [count].into_iter().chain(outputs).for_each(rename);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Binary, Const, Otherwise, Untyped};

    /// `if column 0 then column 1 else as_f32(column 2)`
    fn graph() -> (Graph, ExprId) {
        let mut graph = Graph::default();
        graph.clean = true;
        let f32 = Type::scalar(DType::F32);
        let known = graph.add(Expr::Column(0), Type::scalar(DType::Bool));
        let value = graph.add(Expr::Column(1), f32.clone());
        let rest = graph.add(Expr::Column(2), Type::Untyped(Untyped::Json));
        let slow = graph.add(Expr::Cast(DType::F32, rest), f32.clone());
        let chosen = graph.add(Expr::Select(known, value, slow), f32);
        (graph, chosen)
    }

    #[test]
    fn a_choice_by_a_column_is_its_first_branch() {
        let (mut graph, chosen) = graph();
        let f32 = Type::scalar(DType::F32);
        let zero =
            graph.add(Expr::Const(Const::Floats(DType::F32, vec![], vec![0.0])), f32.clone());
        let otherwise = Otherwise::Value(zero);
        let tried = graph.add(Expr::Else { value: chosen, otherwise }, f32.clone());
        let sum = graph.add(Expr::Binary(Binary::Add, tried, chosen), f32);
        let clean = Clean::of(&graph, &[sum, tried]).unwrap();
        assert_eq!((clean.columns.as_slice(), clean.stands(tried)), (&[0][..], ExprId(1)));
        assert_eq!(*clean.graph.expr(sum), Expr::Binary(Binary::Add, ExprId(1), ExprId(1)));
        assert_eq!(*clean.graph.expr(ExprId(3)), Expr::Epoch, "nothing needs the long way");
        assert_eq!(clean.graph.len(), graph.len());
    }

    #[test]
    fn other_choices_stay() {
        let (mut graph, chosen) = graph();
        graph.clean = false;
        assert!(Clean::of(&graph, &[chosen]).is_none());
        graph.clean = true;
        let f32 = Type::scalar(DType::F32);
        let two = graph.add(Expr::Column(3), f32.clone());
        let plain = graph.add(Expr::Select(ExprId(0), ExprId(1), two), f32.clone());
        assert!(choice(&graph, plain).is_none(), "both are there");
        let turned = graph.add(Expr::Select(ExprId(0), ExprId(3), two), f32);
        assert!(choice(&graph, turned).is_none(), "the first is computed");
    }
}
