//! What waits apart from what computes: what needs a file becomes a stage of its own, done by threads
//! that are there to wait; so does what calls a function outside, which one thread does at a time.
//!
//! A group is cut at the first values that wait: filters that need none go before, so that no file
//! of a record that goes is opened; what was read travels on as a column. Only what would be read in
//! any case is read ahead; what hangs on a condition is read where it stands, unless all of the
//! conditional value is cheap. Before a call outside its arguments are computed, by any thread.

use super::group::{Group, Named};
use crate::{
    analysis::{
        cost,
        live::{live, live_columns, output_roots},
    },
    registry::Registry,
};
use plan::{Arg, DType, Expr, ExprId, FILES_MAX, Field, Graph, Index, Otherwise, Policy, Records};

/// How often a group is cut: files whose names stand in files, and so on.
const CUTS_MAX: usize = 8;
/// Work that readers may do besides, in nanoseconds a record.
const ASIDE_NS_MAX: f64 = 2_000.0;

/// What is done apart.
#[derive(Clone, Copy, PartialEq)]
enum What {
    /// Reading.
    Reads,
    /// Calling functions outside.
    CallsOut,
}

impl What {
    fn is(self, expr: &Expr, registry: &Registry) -> bool {
        match self {
            Self::CallsOut => registry.calls_out(expr),
            Self::Reads => {
                matches!(expr, Expr::Call { function, .. } if registry.reads(function))
            }
        }
    }
}

/// The group in parts, of which some only read, and some only call functions outside.
pub(crate) fn split(group: Group, registry: &Registry) -> Vec<Group> {
    let parts = cut(group, (What::Reads, registry)).into_iter();
    parts
        .flat_map(|it| match it.reads {
            true => vec![it],
            false => cut(it, (What::CallsOut, registry)),
        })
        .collect()
}

fn cut(group: Group, of: (What, &Registry)) -> Vec<Group> {
    let (mut parts, mut rest) = (Vec::new(), group);
    for _ in 0..CUTS_MAX {
        let n_before = filters_before(&rest, of);
        if ahead(&rest, n_before, of).is_empty() {
            break;
        }
        if n_before > 0 {
            let (first, then) = after_filters(&rest, n_before);
            parts.push(first);
            rest = then;
        }
        if of.0 == What::CallsOut {
            let args = arguments(&rest, &ahead(&rest, 0, of));
            if !args.is_empty() {
                let (first, then) = first_of(&rest, &args);
                parts.push(first);
                rest = then;
            }
        }
        let (mut apart, then) = first_of(&rest, &ahead(&rest, 0, of));
        (apart.reads, apart.foreign) = (of.0 == What::Reads, of.0 == What::CallsOut);
        parts.push(apart);
        rest = then;
    }
    match parts.last_mut() {
        Some(last) if passes_on(&rest) => pass_on(last, &rest),
        _ => parts.push(rest),
    }
    parts
}

/// A value that is found ahead, and what becomes of a record where that fails.
struct Ahead {
    value: ExprId,
    policy: Policy,
}

/// How many filters are asked before one that waits.
fn filters_before(group: &Group, of: (What, &Registry)) -> usize {
    let waits = |keep| any(&group.graph, keep, of);
    group.filters.iter().take_while(|it| !waits(it.keep)).count()
}

fn any(graph: &Graph, root: ExprId, (what, registry): (What, &Registry)) -> bool {
    let live = live(graph, &[root], &[]);
    graph.iter().any(|(id, expr, _)| live[id.row()] && what.is(expr, registry))
}

/// What the first filter after `n_before` waits for, or the outputs.
fn ahead(group: &Group, n_before: usize, of: (What, &Registry)) -> Vec<Ahead> {
    let roots = asked(group, n_before);
    let graph = &group.graph;
    let live = live(graph, &roots, &[]);
    let wanted = graph.iter().map(|(id, ..)| id);
    let wanted = wanted.filter(|it| live[it.row()] && is_wanted(graph, *it, of));
    let certain = certain_ones(group, &roots, wanted);
    let others: Vec<ExprId> = certain.iter().map(|it| it.value).collect();
    certain.into_iter().filter(|it| !needs_any(graph, it.value, &others)).collect()
}

/// The values that are asked for first: the filter after `n_before`, or the outputs.
fn asked(group: &Group, n_before: usize) -> Vec<ExprId> {
    match (group.filters.get(n_before), &group.outputs) {
        (Some(filter), _) => vec![filter.keep],
        (None, Records::Counted { count, .. }) => vec![*count],
        (None, outputs) => output_roots(outputs),
    }
}

/// Those of `wanted` that are needed in any case.
fn certain_ones(
    group: &Group,
    roots: &[ExprId],
    wanted: impl Iterator<Item = ExprId>,
) -> Vec<Ahead> {
    let ahead = |value| {
        let policy = certain(&group.graph, roots, value)?.unwrap_or(group.on_fault);
        Some(Ahead { value, policy })
    };
    wanted.filter_map(ahead).collect()
}

/// What must be computed for `calls`, as far as it is needed in any case.
fn arguments(group: &Group, calls: &[Ahead]) -> Vec<Ahead> {
    let mut args = Vec::new();
    for call in calls {
        group.graph.expr(call.value).needs(|it| args.push(it));
    }
    let computed = |it: &ExprId| {
        !matches!(group.graph.expr(*it), Expr::Column(_) | Expr::Const(_) | Expr::Var(_))
    };
    args.retain(computed);
    args.sort_unstable();
    args.dedup();
    certain_ones(group, &asked(group, 0), args.into_iter())
}

/// Whether a node is to be found ahead: it waits, or it is cheap and reads on a condition.
fn is_wanted(graph: &Graph, id: ExprId, of: (What, &Registry)) -> bool {
    match graph.expr(id) {
        Expr::Select(..)
        | Expr::Stack { .. }
        | Expr::Else { otherwise: Otherwise::Value(_), .. } => {
            let cheap = || cost::aside(graph, id, of.1) <= ASIDE_NS_MAX;
            of.0 == What::Reads && any(graph, id, of) && cheap()
        }
        expr => of.0.is(expr, of.1),
    }
}

fn needs_any(graph: &Graph, id: ExprId, others: &[ExprId]) -> bool {
    let live = live(graph, &[id], &[]);
    others.iter().any(|it| *it != id && live[it.row()])
}

/// Whether `value` is needed for every record; then the policy that is said there of its faults, where
/// one is.
fn certain(graph: &Graph, roots: &[ExprId], value: ExprId) -> Option<Option<Policy>> {
    let needs = always(graph, value);
    let mut at = *roots.iter().find(|it| needs[it.row()])?;
    let mut policy = None;
    while at != value {
        at = match graph.expr(at) {
            Expr::Select(condition, ..) if needs[condition.row()] => *condition,
            Expr::Select(_, a, _) => *a,
            Expr::Stack { count, .. } => *count,
            Expr::Else { value, otherwise } => {
                policy = match otherwise {
                    Otherwise::Policy(own) => Some(*own),
                    Otherwise::Value(_) => policy,
                };
                *value
            }
            expr => {
                let mut next = None;
                expr.needs(|it| next = next.or(needs[it.row()].then_some(it)));
                next.expect("what always needs a value has a part that does")
            }
        };
    }
    Some(policy)
}

/// The nodes that cannot be found without `value`. What has another value where it fails can.
fn always(graph: &Graph, value: ExprId) -> Vec<bool> {
    let mut always = vec![false; graph.len()];
    for (id, expr, _) in graph.iter() {
        let needs = |it: &ExprId| always[it.row()];
        always[id.row()] = match expr {
            _ if id == value => true,
            Expr::Select(condition, a, b) => needs(condition) || needs(a) && needs(b),
            Expr::Stack { count, .. } => needs(count),
            Expr::Else { otherwise: Otherwise::Value(_), .. } => false,
            expr => {
                let mut any = false;
                expr.needs(|it| any |= needs(&it));
                any
            }
        };
    }
    always
}

/// Cuts after the first `n` filters.
fn after_filters(group: &Group, n: usize) -> (Group, Group) {
    let (before, after) = group.filters.split_at(n);
    let roots: Vec<ExprId> =
        after.iter().map(|it| it.keep).chain(output_roots(&group.outputs)).collect();
    let columns = live_columns(&group.graph, &live(&group.graph, &roots, &[]));
    let mut carried: Vec<ExprId> = columns.into_values().collect();
    name_files(group, &mut carried);
    let fields = fields(group, &carried);
    (group.before(before, &carried, fields.clone()), group.after(after, &carried, fields))
}

/// Cuts behind what is found ahead.
fn first_of(group: &Group, found: &[Ahead]) -> (Group, Group) {
    let values: Vec<ExprId> = found.iter().map(|it| it.value).collect();
    let live = live(&group.graph, &group.roots(), &values);
    let mut columns = live_columns(&group.graph, &live);
    columns.extend(names(&group.graph, &values));
    let mut carried: Vec<ExprId> = columns.into_values().chain(values).collect();
    let mut after = group.clone();
    after.files = name_files(group, &mut carried);
    let fields = fields(group, &carried);

    let mut guarded = group.clone();
    let written: Vec<ExprId> = carried
        .iter()
        .map(|&id| match found.iter().find(|it| it.value == id) {
            Some(it) if it.policy != group.on_fault => guarded.guard(id, it.policy),
            _ => id,
        })
        .collect();
    let first = guarded.before(&[], &written, fields.clone());
    (first, after.after(&group.filters, &carried, fields))
}

/// Columns of text that say which file is read: they travel on, so that messages can name it.
fn names(graph: &Graph, values: &[ExprId]) -> Vec<(u32, ExprId)> {
    let live = live(graph, values, &[]);
    let is_text = |id: &ExprId| graph.ty(*id).dtype() == Some(DType::Str);
    live_columns(graph, &live).into_iter().filter(|(_, id)| is_text(id)).collect()
}

/// Adds the values that `group` reads from files itself to those that flow in.
pub(crate) fn find_files(group: &mut Group, registry: &Registry) {
    group.files.extend(files(&group.graph, registry));
    group.files.truncate(FILES_MAX);
}

/// Lets the names of files leave `group` behind its fields, for messages of the stage that comes next;
/// none where there are none, or each record becomes several.
pub(crate) fn pass_names_on(group: &mut Group) -> Option<Named> {
    let mut values = group.single()?.to_vec();
    let visible = values.len();
    let files = name_files(group, &mut values);
    let column = |id| values.iter().position(|it| *it == id);
    let files: Vec<_> =
        files.into_iter().filter_map(|(a, b)| Some((column(a)?, column(b)?))).collect();
    if files.is_empty() {
        return None;
    }
    let hidden = fields(group, &values[visible..]).into_iter();
    group.fields.extend(hidden.map(|it| Field { name: format!("$file {}", it.name), ..it }));
    group.outputs = Records::Listed(vec![values]);
    Some(Named { visible, files })
}

/// Every value that is read from a file, with the text that names it.
fn files(graph: &Graph, registry: &Registry) -> Vec<(ExprId, ExprId)> {
    let file = |(id, expr, _): (ExprId, &Expr, _)| match expr {
        Expr::Call { args, .. } if What::Reads.is(expr, registry) => {
            let is_name = |it: &ExprId| graph.ty(*it).dtype() == Some(DType::Str);
            args.iter().find_map(|it| match it {
                Arg::Expr(name) if is_name(name) => Some((id, *name)),
                _ => None,
            })
        }
        _ => None,
    };
    graph.iter().filter_map(file).take(FILES_MAX).collect()
}

/// Lets the names of files travel on with what was read from them; gives the pairs of both.
fn name_files(group: &Group, carried: &mut Vec<ExprId>) -> Vec<(ExprId, ExprId)> {
    let file_of = |value: ExprId| {
        let live = live(&group.graph, &[value], &[]);
        let mut within = group.files.iter().filter(|(it, _)| live[it.row()]);
        let (&(read, name), None) = (within.next()?, within.next()) else { return None };
        // A name is found wherever the value is, or not asked for.
        let is_found = read == value || always(&group.graph, name)[value.row()];
        let is_known = matches!(group.graph.expr(name), Expr::Const(_));
        (is_found && !is_known).then_some((value, name))
    };
    let files: Vec<_> = carried.iter().filter_map(|it| file_of(*it)).take(FILES_MAX).collect();
    files.iter().for_each(|(_, name)| {
        if !carried.contains(name) {
            carried.push(*name);
        }
    });
    files
}

/// The columns that carry these nodes: fields keep their names, what is computed has a hidden one.
fn fields(group: &Group, carried: &[ExprId]) -> Vec<Field> {
    let name = |id: ExprId| match group.graph.expr(id) {
        Expr::Column(i) => group.inputs[*i as usize].name.clone(),
        _ => format!("${id}"),
    };
    carried.iter().map(|&id| Field { name: name(id), ty: group.graph.ty(id).clone() }).collect()
}

/// Whether nothing is left but to choose among columns.
fn passes_on(group: &Group) -> bool {
    let is_column = |it: &ExprId| matches!(group.graph.expr(*it), Expr::Column(_));
    group.filters.is_empty() && group.single().is_some_and(|it| it.iter().all(is_column))
}

/// Lets `part` write what `rest` would only choose.
fn pass_on(part: &mut Group, rest: &Group) {
    let (Some(written), Some(chosen)) = (part.single(), rest.single()) else {
        unreachable!("both write one record for each")
    };
    let chosen = chosen.iter().map(|&it| match rest.graph.expr(it) {
        Expr::Column(i) => written[*i as usize],
        _ => unreachable!("the rest chooses among columns"),
    });
    part.outputs = Records::Listed(vec![chosen.collect()]);
    part.fields.clone_from(&rest.fields);
}
