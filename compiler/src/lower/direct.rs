//! How a group is run: a whole chunk at once, or straight into the rows of a batch.

use super::group::Group;
use crate::{
    analysis::{
        cost::Prices,
        live::{are_scalars, live},
        total::{any_can_fail, any_policy},
    },
    registry::Registry,
};
use plan::{Expr, ExprId, Policy};

/// Time of a record that is still computed a chunk at a time: more is not the evaluator's but the
/// functions', and a chunk should not be held up.
const AT_ONCE_NS_MAX: f64 = 200.0;

/// Whether a whole chunk can be computed at once: scalars and extents, nothing that fails, cheap.
pub(crate) fn at_once(group: &Group, registry: &Registry) -> bool {
    let Some(outputs) = group.single() else { return false };
    let is_column = |id: &ExprId| matches!(group.graph.expr(*id), Expr::Column(_));
    let outputs = outputs.iter().copied().filter(|it| !is_column(it));
    let roots: Vec<ExprId> = group.filters.iter().map(|it| it.keep).chain(outputs).collect();
    let live = live(&group.graph, &roots, &[]);
    if !are_scalars(&group.graph, &live, registry)
        || group.reads
        || any_can_fail(&group.graph, &live, registry)
    {
        return false;
    }
    let prices = Prices { vector: true, ..Prices::new(&group.graph, &[], registry) };
    prices.total(&roots) < AT_ONCE_NS_MAX
}

/// Whether each record that enters is a row of the batch that the group's values make: none can
/// go, and all have the same size.
pub(crate) fn fills_batch(group: &Group, registry: &Registry) -> bool {
    let sized = group.fields.iter().all(|it| it.ty.fixed_bytes().is_some_and(|it| it > 0));
    sized && !group.fields.is_empty() && !group.reads && !lets_go(group, registry)
}

/// Whether a record can go in it, or become several.
pub(super) fn lets_go(group: &Group, registry: &Registry) -> bool {
    let skips = |it: &Policy| matches!(it, Policy::Skip { .. });
    let live = group.live();
    group.single().is_none()
        || !group.filters.is_empty()
        || any_policy(&group.graph, &live, skips)
        || skips(&group.on_fault) && any_can_fail(&group.graph, &live, registry)
}

/// Whether a faulty record is replaced by another one in it.
pub(crate) fn replaces(group: &Group, registry: &Registry) -> bool {
    let replaces = |it: &Policy| matches!(it, Policy::Another { .. });
    let live = group.live();
    any_policy(&group.graph, &live, replaces)
        || replaces(&group.on_fault) && any_can_fail(&group.graph, &live, registry)
}
