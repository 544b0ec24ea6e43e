//! What stands before the calls of functions outside: rewrites leave it as it is.

use plan::{Expr, Foreign, Index, OpId, OpKind, Plan};
use std::collections::BTreeMap;

/// For each call outside that is not pure, by its place in the program, the operators that its records
/// have come through. Those that leave a stream's records and their order as they are do not count,
/// nor does `where`: a value is found when it is needed, and not before.
pub(super) fn above(plan: &Plan) -> BTreeMap<u64, Vec<String>> {
    let mut paths: Vec<Vec<String>> = Vec::with_capacity(plan.ops.len());
    let mut found = BTreeMap::new();
    for (_, op) in plan.ops.iter() {
        let mut path: Vec<String> =
            op.inputs.iter().flat_map(|it: &OpId| paths[it.row()].clone()).collect();
        for (_, expr, _) in op.graph.iter() {
            if let Expr::Call { function, args, draw: Some(draw) } = expr
                && Foreign::is_free(function, args)
            {
                found.insert(draw.place, path.clone());
            }
        }
        match op.kind {
            OpKind::Map { .. } | OpKind::Where { .. } => {}
            OpKind::Source { .. } | OpKind::Operator { .. } | OpKind::FlatMap { .. } => {
                path.push(op.step.clone());
            }
        }
        paths.push(path);
    }
    found
}
