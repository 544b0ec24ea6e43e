//! Windows in any order: a source gives their records window after window, and the operator puts them together
//! again. So what is computed of each record in between stays as it is, and so do ids.

use super::{
    Lowering, apart, direct,
    group::{Group, Grouping},
};
use crate::{
    analysis::{
        index::Windowing,
        live::live_columns,
        role::{Role, role},
    },
    errors::lower as errors,
};
use plan::{
    Arg, Code, Expr, ExprId, Field, OpId, OpKind, Policy, Series, StageId, Transform, Windows,
};

impl Lowering<'_> {
    /// Has the source `stage` give its records window after window.
    pub(super) fn window_by_window(&mut self, stage: StageId, windowing: Windowing) {
        let Windowing { op, shuffles } = windowing;
        let Role::Windows { length, hop, .. } = role(&self.plan.ops[op], self.registry) else {
            unreachable!("the walk over the index has found an operator that makes windows")
        };
        let series = self.key(op).and_then(|key| self.series(stage, op, key));
        if let Code::Source { windows, .. } = &mut self.stages[stage].code {
            *windows = Some(Windows { length, hop, shuffles, series });
        }
    }

    /// The arguments of an operator; of windows whose records come window after window, those of windows that follow
    /// each other.
    pub(super) fn operator_args(&self, id: OpId, entry: &str, args: &[Arg]) -> Vec<Arg> {
        let mut args = args.to_vec();
        let entry = self.registry.operator(entry).filter(|_| self.moved.windows.contains(&id));
        let Some(entry) = entry else { return args };
        let names = self.registry.parameters(entry);
        let first = names.len().saturating_sub(args.len());
        let length = self.registry.argument(entry, &args, "length").cloned();
        for (name, arg) in names[first..].iter().zip(&mut args) {
            match name.as_str() {
                "hop" => *arg = length.clone().unwrap_or(Arg::None),
                "by" => *arg = Arg::None,
                _ => {}
            }
        }
        args
    }

    /// The value that windows of `op` do not mix.
    fn key(&self, op: OpId) -> Option<ExprId> {
        let OpKind::Operator { entry, args, .. } = &self.plan.ops[op].kind else { return None };
        match self.registry.argument(self.registry.operator(entry)?, args, "by") {
            Some(Arg::Expr(id)) => Some(*id),
            _ => None,
        }
    }

    /// How the key of each record is computed from what the source gives.
    fn series(&mut self, stage: StageId, windows: OpId, key: ExprId) -> Option<Series> {
        let op = &self.plan.ops[windows];
        let chain = self.chain(op.inputs[0]);
        let inputs = self.stages[stage].columns.clone();
        let mut grouping = Grouping::new(&inputs, Policy::Fail, &self.sources);
        for &step in &chain.steps {
            let of = &self.plan.ops[step];
            grouping.step(step, of, Some(of.on_fault));
        }
        grouping.hidden(windows, op, &[("by".to_owned(), key)]);
        let all = grouping.finish();
        let (value, field) = (*all.single()?.last()?, all.fields.last()?.clone());
        let part = with_used_columns(all.before(&[], &[value], vec![field.clone()]));
        let (columns, part) = (part.inputs.clone(), part);
        let varies = part
            .graph
            .iter()
            .any(|(_, expr, _)| matches!(expr, Expr::Epoch | Expr::Call { draw: Some(_), .. }));
        let parts = apart::split(part.clone(), self.registry);
        let is_apart = parts.len() > 1 || parts.iter().any(|it| it.foreign || it.reads);
        let why = match (varies, is_apart) {
            (true, _) => "its series are others in each epoch, since `by` is drawn",
            (_, true) => "its series are only known by reading files or calling Python",
            _ => return Some(self.keys(part, (columns, field))),
        };
        self.diagnostics.push(errors::no_index(op.at, (op.at, why)));
        None
    }

    fn keys(&self, part: Group, (columns, key): (Vec<Field>, Field)) -> Series {
        let outputs = part.outputs.clone();
        let transform = Transform {
            steps: vec![0; part.graph.len()],
            filters: Vec::new(),
            outputs,
            on_fault: Policy::Fail,
            files: Vec::new(),
            reads: false,
            foreign: false,
            vector: direct::at_once(&part, self.registry),
            clean_vector: false,
            into_batch: None,
            another: Vec::new(),
            graph: part.graph,
        };
        Series { columns, transform, key }
    }
}

/// The same, where the columns flow in that it needs; all of them where it needs none.
fn with_used_columns(part: Group) -> Group {
    let used = live_columns(&part.graph, &part.live());
    if used.is_empty() || used.len() == part.inputs.len() {
        return part;
    }
    let fields: Vec<Field> = used.keys().map(|it| part.inputs[*it as usize].clone()).collect();
    let columns: Vec<ExprId> = used.into_values().collect();
    part.after(&[], &columns, fields)
}
