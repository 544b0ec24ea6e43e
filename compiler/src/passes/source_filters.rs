//! A source that knows what its files hold need not read what a filter drops: `parquet(…) |> where distance > 0.0`.
//!
//! The filter stays. A source that declares so ([`plan::Property::Filters`]) is told of the conditions that all have to
//! hold, each a comparison of one of its fields with a constant, and of every field that the filter reads. It leaves out
//! only records of which it knows that a condition is false and that nothing the filter reads is a fault.

use super::{Pass, Proposal};
use crate::{
    analysis::{
        live::{live, values},
        total::{any_can_fail, any_policy},
    },
    check::library::TEXT_EQ,
    registry::Registry,
};
use plan::{
    Arg, Binary, Const, DType, Expr, ExprId, Graph, Index, Op, OpId, OpKind, Plan, Policy, Type,
};

pub(super) const PASS: Pass = Pass {
    name: "source-filters",
    formerly: None,
    summary: "does not read what a filter drops",
    doc: "A source leaves out parts of its files whose statistics say that a filter behind it drops every record.",
    law: "The filter drops these records as well, and the key of a record is its file and its row there, so that \
          neither keys nor random draws nor the order of the others change.",
    exact: true,
    always: false,
    takes_parts: false,
    propose: |plan, registry| {
        plan.ops.iter().filter_map(|(id, _)| proposal(plan, id, registry)).collect()
    },
    refuse: super::nothing_refused,
};

/// Conditions of a source, at the most.
const CONDITIONS_MAX: usize = 16;

fn proposal(plan: &Plan, source: OpId, registry: &Registry) -> Option<Proposal> {
    let OpKind::Source { entry, args } = &plan.ops[source].kind else { return None };
    let argument = registry.source(entry)?.filters()?;
    let is_another = |it: &Policy| matches!(it, Policy::Another { .. });
    let replaces = |op: &Op| {
        is_another(&op.on_fault)
            || any_policy(&op.graph, &vec![true; op.graph.iter().count()], is_another)
    };
    // What takes the place of a record is looked for among all of the source.
    if args.get(argument) != Some(&Arg::None) || plan.ops.iter().any(|it| replaces(it.1)) {
        return None;
    }
    let mut conditions: Vec<Condition> = Vec::new();
    for filter in filters(plan, source, registry) {
        conditions.extend(filter);
    }
    let tests = conditions.iter().any(|it| it.test.is_some());
    if !tests || conditions.len() > CONDITIONS_MAX {
        return None;
    }
    let mut filtered = plan.clone();
    if let OpKind::Source { args, .. } = &mut filtered.ops[source].kind {
        args[argument] = Arg::List(conditions.iter().map(Condition::arg).collect());
    }
    let said: Vec<String> = conditions.iter().filter_map(Condition::said).collect();
    let why =
        format!("{} leaves out what cannot have {}", plan.ops[source].step, said.join(" and "));
    Some(Proposal { plan: filtered, why })
}

/// A field of the source that a filter reads, and what must be true of it, if that is a comparison with a constant.
struct Condition {
    field: String,
    test: Option<(Binary, Arg)>,
}

impl Condition {
    fn arg(&self) -> Arg {
        let mut parts = vec![Arg::Text(self.field.clone())];
        if let Some((op, bound)) = &self.test {
            parts.extend([Arg::Word(word(*op).to_owned()), bound.clone()]);
        }
        Arg::List(parts)
    }

    fn said(&self) -> Option<String> {
        let (op, bound) = self.test.as_ref()?;
        let bound = match bound {
            Arg::Int(it) => it.to_string(),
            Arg::Float(it) => format!("{it:?}"),
            Arg::Text(it) => format!("{it:?}"),
            _ => return None,
        };
        Some(format!("`{} {} {bound}`", self.field, word(*op)))
    }
}

/// How a comparison is written.
fn word(op: Binary) -> &'static str {
    match op {
        Binary::Eq => "==",
        Binary::Ne => "!=",
        Binary::Lt => "<",
        Binary::Le => "<=",
        Binary::Gt => ">",
        _ => ">=",
    }
}

/// The conditions of the filters that stand next to a source, each of which cannot fail but by a fault of what it reads.
fn filters(plan: &Plan, source: OpId, registry: &Registry) -> Vec<Vec<Condition>> {
    let needed = plan.needed();
    let (mut all, mut last) = (Vec::new(), source);
    // Which field of the source each column is.
    let mut columns: Vec<Option<u32>> =
        (0..plan.ops[source].output.len() as u32).map(Some).collect();
    loop {
        let mut readers =
            plan.ops.iter().filter(|(id, it)| needed[id.row()] && it.inputs.contains(&last));
        let (Some((id, op)), None) = (readers.next(), readers.next()) else { return all };
        match &op.kind {
            OpKind::Where { keep } => {
                let live = live(&op.graph, &[*keep], &[]);
                if any_can_fail(&op.graph, &live, registry) {
                    return all;
                }
                let name = |column: u32| {
                    let field = columns.get(column as usize).copied().flatten()?;
                    Some(plan.ops[source].output[field as usize].name.clone())
                };
                let read = op.graph.iter().filter(|it| live[it.0.row()]);
                let read =
                    read.filter_map(
                        |it| if let Expr::Column(i) = it.1 { Some(name(*i)) } else { None },
                    );
                let Some(read) = read.collect::<Option<Vec<String>>>() else { return all };
                let mut found = Vec::new();
                conjuncts(&op.graph, *keep, &name, &mut found);
                found.extend(read.into_iter().map(|field| Condition { field, test: None }));
                all.push(found);
            }
            OpKind::Map { outputs } => {
                let passed = |id: &ExprId| {
                    passed(&op.graph, *id, registry).and_then(|it| columns[it as usize])
                };
                columns = outputs.iter().map(passed).collect();
                if columns.iter().any(Option::is_none)
                    && any_can_fail(&op.graph, &live(&op.graph, &values(op), &[]), registry)
                {
                    return all;
                }
            }
            _ => return all,
        }
        last = id;
    }
}

/// The column that a value is, perhaps behind what guards it against faults of the source.
fn passed(graph: &Graph, id: ExprId, registry: &Registry) -> Option<u32> {
    match graph.expr(id) {
        Expr::Column(i) => Some(*i),
        guard @ Expr::Call { args, .. } if registry.is_guard(guard) => match args[..] {
            [Arg::Expr(value), ..] => passed(graph, value, registry),
            _ => None,
        },
        _ => None,
    }
}

/// The comparisons that all have to hold for `id` to be true.
fn conjuncts(
    graph: &Graph,
    id: ExprId,
    name: &dyn Fn(u32) -> Option<String>,
    all: &mut Vec<Condition>,
) {
    let (op, a, b) = match graph.expr(id) {
        Expr::Binary(op, a, b) => (*op, *a, *b),
        Expr::Call { function, args, .. } if function == TEXT_EQ => match args[..] {
            [Arg::Expr(a), Arg::Expr(b)] => (Binary::Eq, a, b),
            _ => return,
        },
        _ => return,
    };
    if op == Binary::And && *graph.ty(id) == Type::scalar(DType::Bool) {
        conjuncts(graph, a, name, all);
        conjuncts(graph, b, name, all);
        return;
    }
    if !op.compares() {
        return;
    }
    let turned = match op {
        Binary::Lt => Binary::Gt,
        Binary::Le => Binary::Ge,
        Binary::Gt => Binary::Lt,
        Binary::Ge => Binary::Le,
        same => same,
    };
    for (op, a, b) in [(op, a, b), (turned, b, a)] {
        if let (Expr::Column(i), Expr::Const(bound)) = (graph.expr(a), graph.expr(b))
            && let (Some(field), Some(bound)) = (name(*i), scalar(bound))
        {
            all.push(Condition { field, test: Some((op, bound)) });
        }
    }
}

/// A constant as an argument.
fn scalar(of: &Const) -> Option<Arg> {
    match of {
        Const::Ints(dtype, shape, all) if shape.is_empty() && dtype.is_int() => {
            all.first().map(|it| Arg::Int(*it))
        }
        Const::Floats(dtype, shape, all) if shape.is_empty() => all.first().map(|it| {
            // As it is where it is compared.
            Arg::Float(if *dtype == DType::F32 { f64::from(*it as f32) } else { *it })
        }),
        Const::Text(DType::Str, text) => String::from_utf8(text.clone()).ok().map(Arg::Text),
        _ => None,
    }
}
