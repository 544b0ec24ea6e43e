//! Loops within loops: each has a variable that no loop around it has.
//!
//! A loop sets its variable for each turn, and what was found for the turn before is void. A loop that is run within
//! one with the same variable would set that on: what the outer one holds would be of another turn.

use crate::{Expr, ExprId, Graph, VarId, ids::Index};
use std::collections::BTreeMap;

impl Graph {
    /// Whether a loop with this variable is run for one of the values.
    pub fn runs(&self, var: VarId, values: &[ExprId]) -> bool {
        let (mut open, mut seen) = (values.to_vec(), vec![false; self.len()]);
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut seen[id.row()], true) {
                continue;
            }
            let expr = self.expr(id);
            if matches!(expr, Expr::Stack { var: it, .. } if *it == var) {
                return true;
            }
            expr.needs(|it| open.push(it));
        }
        false
    }

    /// A variable of two loops of which one is run within the other, if there is one. `around` is the loop that gives
    /// records, and their values.
    pub fn clash(&self, around: Option<(VarId, &[ExprId])>) -> Option<VarId> {
        let mut loops: BTreeMap<VarId, usize> = around.iter().map(|it| (it.0, 1)).collect();
        for (_, expr, _) in self.iter() {
            if let Expr::Stack { var, .. } = expr {
                *loops.entry(*var).or_default() += 1;
            }
        }
        let several: Vec<VarId> = loops.into_iter().filter(|it| it.1 > 1).map(|it| it.0).collect();
        several.chunks(64).find_map(|vars| self.clash_of(vars, around))
    }

    /// The same of 64 variables at the most.
    fn clash_of(&self, vars: &[VarId], around: Option<(VarId, &[ExprId])>) -> Option<VarId> {
        let bit = |var: VarId| vars.binary_search(&var).map_or(0, |it| 1_u64 << it);
        // The loops that are run for each value.
        let mut runs: Vec<u64> = Vec::with_capacity(self.len());
        for (_, expr, _) in self.iter() {
            let mut all = 0;
            expr.needs(|it| all |= runs[it.row()]);
            if let Expr::Stack { var, body, .. } = expr {
                if runs[body.row()] & bit(*var) != 0 {
                    return Some(*var);
                }
                all |= bit(*var);
            }
            runs.push(all);
        }
        let (var, values) = around?;
        values.iter().any(|it| runs[it.row()] & bit(var) != 0).then_some(var)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Extent, Type};

    #[test]
    fn a_loop_within_one_with_its_variable_is_found() {
        let number = || Type::scalar(DType::I64);
        let list = || Type::Tensor { dtype: DType::I64, shape: vec![Extent::Unknown] };
        let mut graph = Graph::default();
        let vars = [graph.var(), graph.var()];
        let count = graph.add(Expr::Epoch, number());
        let stack = |var, body| Expr::Stack { count, var, body, joined: false };
        let turns = vars.map(|it| graph.add(Expr::Var(it), number()));
        let inner = graph.add(stack(vars[0], turns[0]), list());
        let apart = graph.add(stack(vars[1], inner), list());
        // One beside the other is none within it.
        let beside = graph.add(stack(vars[0], turns[1]), list());
        assert_eq!(graph.clash(None), None);
        assert!(graph.runs(vars[0], &[apart]) && !graph.runs(vars[1], &[inner, beside]));
        // The records of a loop, too.
        assert_eq!(graph.clash(Some((vars[1], &[inner]))), None);
        assert_eq!(graph.clash(Some((vars[0], &[turns[0], apart]))), Some(vars[0]));
        graph.add(stack(vars[0], apart), list());
        assert_eq!(graph.clash(None), Some(vars[0]));
    }
}
