//! A plan as text, for `--emit plan`.

use super::graph_text::{arguments, nodes, policy, records};
use plan::{Commas, Field, Op, OpKind, Plan, Policy, Records, Span};
use std::fmt::Write;

/// The operators of `plan`, sources first, with every expression. `label` says where a place of
/// the text is.
#[must_use]
pub fn plan_text(plan: &Plan, label: &dyn Fn(Span) -> String) -> String {
    let mut text = format!("plan {}: {}\n", plan.name, plan.root);
    for (id, op) in plan.ops.iter() {
        let columns = op.inputs.first().map_or(&[][..], |it| &plan.ops[*it].output);
        let _ = writeln!(text, "\n{id} = {}    # {} at {}", head(op), op.step, label(op.at));
        nodes(&mut text, &op.graph, columns);
        body(&mut text, op);
        let _ = writeln!(text, "    -> {}", record(&op.output));
    }
    text
}

fn head(op: &Op) -> String {
    let inputs = Commas(&op.inputs);
    match &op.kind {
        OpKind::Source { entry, args } => format!("source {entry}({})", arguments(args)),
        OpKind::Map { .. } => format!("map {inputs}"),
        OpKind::Where { .. } => format!("where {inputs}"),
        OpKind::FlatMap { .. } => format!("flat_map {inputs}"),
        OpKind::Operator { entry, args, names } if names.is_empty() => {
            format!("{entry} {inputs} ({})", arguments(args))
        }
        OpKind::Operator { entry, args, names } => {
            let named = names.iter().zip(&op.inputs).map(|(name, it)| format!("{name}: {it}"));
            let named: Vec<String> = named.collect();
            format!("{entry} {{ {} }} ({})", named.join(", "), arguments(args))
        }
    }
}

fn body(text: &mut String, op: &Op) {
    let line = match &op.kind {
        OpKind::Map { outputs } => {
            Some(records(&Records::Listed(vec![outputs.clone()]), &op.output))
        }
        OpKind::Where { keep } => Some(format!("keep {keep}")),
        OpKind::FlatMap { records: it } => Some(records(it, &op.output)),
        OpKind::Source { .. } | OpKind::Operator { .. } => None,
    };
    if let Some(line) = line {
        let _ = writeln!(text, "    {line}");
    }
    if op.on_fault != Policy::Fail {
        let _ = writeln!(text, "    else {}", policy(op.on_fault));
    }
}

/// Fields in braces.
pub(super) fn record(fields: &[Field]) -> String {
    format!("{{ {} }}", Commas(fields))
}
