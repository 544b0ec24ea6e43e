//! What people read in numbers: the text of token ids. Which function gives numbers that can be read, the library says
//! ([`stdlib::reading`]); whether a field is of such numbers, the plan tells.

use plan::{Arg, Entry, Expr, ExprId, OpId, OpKind, Plan, Property, RaggedField, Records, Type};
use runtime::Tensor;

/// Elements that are read, at the most: the first ones.
const ELEMENTS_MAX: usize = 64;

/// How the numbers of a field are read.
pub(crate) struct Reading {
    reads: stdlib::Reads,
    /// Those of the call that gives them.
    args: Vec<Arg>,
}

impl Reading {
    /// What stands in the first numbers of a value, of a batch in its first row; and whether more follow.
    pub(super) fn of(&self, value: &Tensor<'_>) -> Option<(String, bool)> {
        let row = *value.shape().last()?;
        let flat = value.reshaped(&[value.elements()])?;
        let n = row.min(flat.elements());
        let first: Vec<i64> = (0..n.min(ELEMENTS_MAX)).map(|it| flat.element(it).int()).collect();
        let text = (self.reads)(&self.args, &first)?;
        Some((text, n > ELEMENTS_MAX || n < flat.elements()))
    }
}

/// How each field that leaves a plan is read, where it can be.
pub(super) fn readings(plan: &Plan) -> Vec<Option<Reading>> {
    let fields = &plan.ops[plan.root].output;
    fields.iter().map(|it| of_field(plan, plan.root, &it.name)).collect()
}

/// How a field of what leaves `op` is read.
fn of_field(plan: &Plan, op: OpId, name: &str) -> Option<Reading> {
    let it = &plan.ops[op];
    let at = it.output.iter().position(|it| it.name == name)?;
    if !are_ids(&it.output[at].ty) {
        return None;
    }
    match &it.kind {
        OpKind::Map { outputs } | OpKind::FlatMap { records: Records::Counted { outputs, .. } } => {
            of_value(plan, op, *outputs.get(at)?)
        }
        OpKind::FlatMap { records: Records::Listed(lists) } => {
            of_value(plan, op, *lists.first()?.get(at)?)
        }
        OpKind::Source { .. } => None,
        // An operator gives fields the names that they had, or what it calls their stream before them.
        OpKind::Where { .. } | OpKind::Operator { .. } => {
            let names = [Some(name), name.strip_suffix(RaggedField::VALUES), behind_dot(name)];
            let mut names = names.into_iter().flatten();
            names.find_map(|name| it.inputs.iter().find_map(|input| of_field(plan, *input, name)))
        }
    }
}

fn behind_dot(name: &str) -> Option<&str> {
    name.split_once('.').map(|it| it.1)
}

/// Whether they may be ids: integers in rows.
fn are_ids(ty: &Type) -> bool {
    ty.dtype().is_some_and(plan::DType::is_int) && ty.shape().is_some_and(|it| !it.is_empty())
}

/// How a value of `op` is read: that of a call, or parts of it, with others before or behind.
fn of_value(plan: &Plan, op: OpId, id: ExprId) -> Option<Reading> {
    let graph = &plan.ops[op].graph;
    if !are_ids(graph.ty(id)) {
        return None;
    }
    match graph.expr(id) {
        Expr::Column(column) => {
            let input = *plan.ops[op].inputs.first()?;
            let field = plan.ops[input].output.get(*column as usize)?;
            of_field(plan, input, &field.name)
        }
        Expr::Else { value, .. } | Expr::Cast(_, value) => of_value(plan, op, *value),
        Expr::Call { function, args, .. } => {
            if let Some(reads) = stdlib::reading(function) {
                return Some(Reading { reads, args: args.clone() });
            }
            let entry = stdlib::library().function(function).filter(|it| keeps(it))?;
            let of = |it: &ExprId| of_value(plan, op, *it);
            match args.first()? {
                Arg::Expr(of_all) => of(of_all),
                Arg::Exprs(all) if entry.has(Property::Joins) => all.iter().find_map(of),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a function gives elements as they are, one after the other.
fn keeps(entry: &Entry) -> bool {
    [Property::Crops, Property::Passes, Property::Joins].into_iter().any(|it| entry.has(it))
}
