//! Records that a source leaves out, or that are faults: the steps that the checker puts behind such a source.

use super::Checker;
use crate::registry::{Kind, Registry};
use plan::{
    Arg, DType, Expr, Faulty, Field, Graph, IdVec, Index, Op, OpId, OpKind, Otherwise, Plan,
    Policy, Property, Type,
};

impl Checker<'_> {
    /// The records that the source `op` says are kept, without the field `name` that says so.
    pub(super) fn only_kept(&mut self, op: OpId, name: &str) -> OpId {
        let source = self.ops[op].clone();
        let Some(at) = source.output.iter().position(|it| it.name == name) else { return op };
        let mut graph = Graph::default();
        let keep = graph.add(Expr::Column(at as u32), source.output[at].ty.clone());
        let output = source.output.clone();
        let kept =
            self.ops.push(behind(&source, op, "kept", OpKind::Where { keep }, (graph, output)));

        let visible = |it: &(usize, &Field)| it.0 != at;
        let fields: Vec<(usize, &Field)> =
            source.output.iter().enumerate().filter(visible).collect();
        let mut graph = Graph::default();
        let column = |it: &(usize, &Field)| graph.add(Expr::Column(it.0 as u32), it.1.ty.clone());
        let outputs = fields.iter().map(column).collect();
        let output = fields.iter().map(|it| it.1.clone()).collect();
        self.ops.push(behind(&source, kept, "fields", OpKind::Map { outputs }, (graph, output)))
    }
}

/// A step of the library behind a source, at the place where that is written.
fn behind(
    source: &Op,
    input: OpId,
    word: &str,
    kind: OpKind,
    (graph, output): (Graph, Vec<Field>),
) -> Op {
    Op {
        kind,
        inputs: vec![input],
        graph,
        output,
        step: format!("{}.{word}", source.step),
        ..source.clone()
    }
}

/// `plan`, where records that cannot be read are faults wherever some step behind their source says what becomes of
/// faults: each field fails with its record where it is used. So are the fields that an operator adds. Elsewhere the
/// source or the operator ends the run, and nothing is slower.
pub(super) fn guarded(plan: Plan, registry: &Registry) -> Plan {
    let faulty = |op: &Op| {
        let (entry, args, kind) = match &op.kind {
            OpKind::Source { entry, args } => (entry, args, Kind::Source),
            OpKind::Operator { entry, args, .. } => (entry, args, Kind::Operator),
            _ => return None,
        };
        let properties = registry.get(entry, kind)?.entry.properties;
        let is_unasked = |it: &Property| match it {
            Property::FaultyIf(at, word) => args.get(*at) != Some(&Arg::Word((*word).to_owned())),
            _ => false,
        };
        if properties.iter().any(is_unasked) {
            return None;
        }
        properties
            .iter()
            .find_map(|it| if let Property::Faulty(it) = it { Some(*it) } else { None })
    };
    let heeded = heeded(&plan);
    if !plan.ops.iter().any(|(id, op)| heeded[id] && faulty(op).is_some()) {
        return plan;
    }
    let mut ops: IdVec<OpId, Op> = IdVec::new();
    // What each operator is now, for those that read it and for those that ask a source of its listing.
    let (mut read, mut asked): (Vec<OpId>, Vec<OpId>) = (Vec::new(), Vec::new());
    for (id, op) in plan.ops.iter() {
        let mut op = moved(op, &asked);
        op.inputs.iter_mut().for_each(|it| *it = read[it.row()]);
        let known = op.inputs.first().map_or(&[][..], |it| &ops[*it].output);
        let (step, guard) = match faulty(&op).filter(|_| heeded[id]) {
            Some(faulty) => guard(op, faulty, known),
            None => (op, None),
        };
        let at = ops.push(step);
        asked.push(at);
        read.push(guard.map_or(at, |it| ops.push(Op { inputs: vec![at], ..it })));
    }
    Plan { name: plan.name, root: read[plan.root.row()], ops }
}

/// Whether an operator, or one that reads what it gives, says what becomes of faults.
fn heeded(plan: &Plan) -> IdVec<OpId, bool> {
    let says = |op: &Op| op.on_fault != Policy::Fail || op.graph.iter().any(|it| is_else(it.1));
    let mut heeded: IdVec<OpId, bool> = plan.ops.iter().map(|_| false).collect();
    for (id, op) in plan.ops.iter().rev() {
        heeded[id] |= says(op);
        for &input in &op.inputs {
            heeded[input] |= heeded[id];
        }
    }
    heeded
}

fn is_else(expr: &Expr) -> bool {
    matches!(expr, Expr::Else { otherwise, .. } if *otherwise != Otherwise::Policy(Policy::Fail))
}

/// A source or an operator that gives faults, and the step that guards its fields with them, but for those that are
/// `known`; that step has no input yet.
fn guard(mut source: Op, faulty: &Faulty, known: &[Field]) -> (Op, Option<Op>) {
    let (OpKind::Source { args, .. } | OpKind::Operator { args, .. }) = &mut source.kind else {
        return (source, None);
    };
    args[faulty.argument] = Arg::Bool(true);
    let fields = source.output.clone();
    let fault = Field { name: faulty.field.to_owned(), ty: Type::scalar(DType::Str) };
    source.output.push(fault.clone());

    let mut graph = Graph::default();
    let fault = graph.add(Expr::Column(fields.len() as u32), fault.ty);
    let mut outputs = Vec::new();
    for (i, field) in fields.iter().enumerate() {
        let value = graph.add(Expr::Column(i as u32), field.ty.clone());
        if field.name == faulty.known || known.iter().any(|it| it.name == field.name) {
            outputs.push(value);
            continue;
        }
        let args = vec![Arg::Expr(value), Arg::Expr(fault), Arg::Int(i as i64)];
        let call = Expr::Call { function: faulty.guard.to_owned(), args, draw: None };
        outputs.push(graph.add(call, field.ty.clone()));
    }
    let step = behind(&source, OpId(0), "rows", OpKind::Map { outputs }, (graph, fields));
    (source, Some(step))
}

/// `op`, where sources are called otherwise.
fn moved(op: &Op, asked: &[OpId]) -> Op {
    let rename = |arg: &mut Arg| {
        if let Arg::Sources(all) = arg {
            all.iter_mut().for_each(|it| *it = asked[*it as usize].0);
        }
    };
    let mut graph = Graph::default();
    graph.n_vars = op.graph.n_vars;
    for (_, expr, ty) in op.graph.iter() {
        let mut expr = expr.clone();
        if let Expr::Call { args, .. } = &mut expr {
            args.iter_mut().for_each(rename);
        }
        graph.add(expr, ty.clone());
    }
    let mut op = Op { graph, ..op.clone() };
    if let OpKind::Operator { args, .. } = &mut op.kind {
        args.iter_mut().for_each(rename);
    }
    op
}
