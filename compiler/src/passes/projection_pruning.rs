//! Fields that no later step needs are not computed.

use super::{Pass, Proposal, rebuild};
use crate::{
    analysis::{
        live::{live, live_columns, values},
        role::{Role, role},
    },
    registry::Registry,
};
use plan::{
    Action, Arg, Expr, ExprId, Field, IdVec, Op, OpId, OpKind, Plan, Property, Records, companion,
};

pub(super) const PASS: Pass = Pass {
    name: "projection-pruning",
    formerly: Some("dead-fields"),
    summary: "removes unused fields",
    doc: "A field that no later step needs is not computed or passed on.",
    law: "A value that nothing needs changes no record: it is a function of its record alone.",
    exact: true,
    // What is not needed must not fail, and the same values are needed on any number of cores.
    always: true,
    takes_parts: false,
    propose: |plan, registry| propose(plan, registry).into_iter().collect(),
    refuse: super::nothing_refused,
};

fn propose(plan: &Plan, registry: &Registry) -> Option<Proposal> {
    let needs = Needs::of(plan, registry);
    let dropped: Vec<String> =
        plan.ops.iter().flat_map(|(id, op)| computed_and_dropped(op, &needs.fields[id])).collect();
    let why = match &dropped[..] {
        // What only does not travel is not worth a word.
        [] => String::new(),
        [one] => format!("{one}: unused"),
        all => format!("{}: unused", all.join(", ")),
    };
    needs.dropped().map(|plan| Proposal { plan, why })
}

/// The plan without fields that nothing needs, if there are any.
pub(super) fn without_dead(plan: &Plan, registry: &Registry) -> Option<Plan> {
    Needs::of(plan, registry).dropped()
}

/// Which fields of each operator's output something needs.
struct Needs<'a> {
    plan: &'a Plan,
    registry: &'a Registry,
    fields: IdVec<OpId, Vec<bool>>,
}

impl<'a> Needs<'a> {
    fn of(plan: &'a Plan, registry: &'a Registry) -> Self {
        let mut needs = Self { plan, registry, fields: IdVec::new() };
        // What a source gives to a step that works on each record alone, it leaves out by itself where it is not
        // needed; what an operator would hold is left out here. One field is always there.
        let is_asked = |it: &&Op| needs.is_by_field(it) || needs.reduces(it);
        let operators = plan.ops.rows().iter().filter(is_asked);
        let held: Vec<OpId> = operators.flat_map(|it| it.inputs.clone()).collect();
        let own = |(id, op): (OpId, &Op)| {
            let whole = op.inputs.is_empty() && !held.contains(&id);
            let needed = |at: usize| whole || (op.inputs.is_empty() && at == 0);
            (0..op.output.len()).map(needed).collect()
        };
        needs.fields = plan.ops.iter().map(own).collect();
        needs.fields[plan.root].fill(true);
        // What one input hands on its operator hands on as well, and then asks all its inputs for it.
        loop {
            let before = needs.fields.clone();
            for (id, op) in plan.ops.iter().rev() {
                needs.ask(id, op);
            }
            for (id, op) in plan.ops.iter() {
                needs.let_through(id, op);
            }
            if needs.fields.rows() == before.rows() {
                break;
            }
        }
        needs
    }

    /// The plan without the others, if there are any.
    fn dropped(&self) -> Option<Plan> {
        let all_kept = self.fields.rows().iter().flatten().all(|it| *it);
        let ops = self.plan.ops.iter().map(|(id, op)| {
            let input = op.inputs.first().map_or(&[][..], |it| &self.fields[*it]);
            without(op, &self.fields[id], input)
        });
        (!all_kept).then(|| Plan { ops: ops.collect(), ..self.plan.clone() })
    }

    /// What hands its fields on hands on all that flow in.
    fn let_through(&mut self, id: OpId, op: &Op) {
        if !matches!(op.kind, OpKind::Where { .. } | OpKind::Operator { .. }) {
            return;
        }
        for (i, &input) in op.inputs.iter().enumerate() {
            for (place, field) in self.plan.ops[input].output.iter().enumerate() {
                let kept = self.fields[input][place];
                let same =
                    op.output.iter().position(|it| self.is_same(op, i, (&it.name, &field.name)));
                if let Some(same) = same.filter(|_| kept) {
                    self.fields[id][same] = true;
                }
            }
        }
    }

    /// Marks what `op` needs of its inputs.
    fn ask(&mut self, id: OpId, op: &Op) {
        let kept = self.fields[id].clone();
        match &op.kind {
            OpKind::Source { .. } => {}
            OpKind::Map { .. } | OpKind::FlatMap { .. } => {
                self.ask_columns(op, &kept_values(op, &kept));
            }
            OpKind::Where { keep } => {
                self.ask_columns(op, &[*keep]);
                self.ask_same(op, &kept);
            }
            OpKind::Operator { .. } if self.is_by_field(op) => {
                self.ask_columns(op, &values(op));
                self.ask_same(op, &kept);
                self.ask_named(op);
                self.keep_own(id, op);
            }
            OpKind::Operator { .. } if self.reduces(op) => {
                self.ask_columns(op, &values(op));
                self.fields[id].fill(true);
            }
            OpKind::Operator { .. } => {
                op.inputs.iter().for_each(|it| self.fields[*it].fill(true));
            }
        }
    }

    fn ask_columns(&mut self, op: &Op, values: &[ExprId]) {
        let Some(&input) = op.inputs.first() else { return };
        let live = live(&op.graph, values, &[]);
        for column in live_columns(&op.graph, &live).into_keys() {
            self.fields[input][column as usize] = true;
        }
    }

    /// The inputs' fields of the names that are needed of the output.
    fn ask_same(&mut self, op: &Op, kept: &[bool]) {
        for (field, _) in op.output.iter().zip(kept).filter(|(_, kept)| **kept) {
            for (i, &input) in op.inputs.iter().enumerate() {
                let mut fields = self.plan.ops[input].output.iter();
                let place = fields.position(|it| self.is_same(op, i, (&field.name, &it.name)));
                if let Some(place) = place {
                    self.fields[input][place] = true;
                }
            }
        }
    }

    /// What an operator makes itself, such as `valid` of `batch(…, tail: mask)`, leaves it whether or not somebody
    /// needs it: its fields follow from its arguments and its inputs' fields.
    fn keep_own(&mut self, id: OpId, op: &Op) {
        let comes_in = |field: &Field| {
            op.inputs.iter().enumerate().any(|(i, input)| {
                let mut fields = self.plan.ops[*input].output.iter();
                fields.any(|it| self.is_same(op, i, (&field.name, &it.name)))
            })
        };
        let own: Vec<bool> = op.output.iter().map(|it| !comes_in(it)).collect();
        self.fields[id].iter_mut().zip(own).for_each(|(kept, own)| *kept |= own);
    }

    /// Fields that arguments name, such as `pad: { boxes: 0.0 }` and `ragged: [ids]`.
    fn ask_named(&mut self, op: &Op) {
        let OpKind::Operator { args, .. } = &op.kind else { return };
        let names: Vec<&str> = args.iter().flat_map(named_by).collect();
        let named = |field: &str| {
            names.iter().any(|it| {
                field == *it || field.strip_prefix(it).is_some_and(|it| it.starts_with('.'))
            })
        };
        for &input in &op.inputs {
            let fields = &self.plan.ops[input].output;
            fields
                .iter()
                .zip(&mut self.fields[input])
                .for_each(|(field, kept)| *kept |= named(&field.name));
        }
    }

    /// Whether the field `name` that leaves `op` is the field `inner` of its input `i`: under its own name, with the
    /// stream's name before it, or of another record of the stream.
    fn is_same(&self, op: &Op, i: usize, (name, inner): (&str, &str)) -> bool {
        let OpKind::Operator { names, .. } = &op.kind else { return name == inner };
        if let Role::Accompany(_) = role(op, self.registry) {
            return name == inner || companion(name).is_some_and(|it| it.1 == inner);
        }
        let prefix = names.get(i).and_then(|it| name.strip_prefix(it.as_str()));
        name == inner || prefix.and_then(|it| it.strip_prefix('.')) == Some(inner)
    }

    /// Whether an operator makes one record of all, of its arguments alone.
    fn reduces(&self, op: &Op) -> bool {
        let OpKind::Operator { entry, .. } = &op.kind else { return false };
        let entry = self.registry.operator(entry);
        entry.is_some_and(|it| it.action() == Some(Action::Reduce))
    }

    /// Whether a field that leaves an operator is made of the inputs' fields of its name alone.
    fn is_by_field(&self, op: &Op) -> bool {
        let hands_on = matches!(
            role(op, self.registry),
            Role::Permute
                | Role::ShuffleWithin(_)
                | Role::Take(_)
                | Role::Skip(_)
                | Role::Repeat(_)
        );
        let OpKind::Operator { entry, .. } = &op.kind else { return false };
        hands_on || self.registry.operator(entry).is_some_and(|it| it.has(Property::FieldWise))
    }
}

/// What an argument names.
fn named_by(arg: &Arg) -> Vec<&str> {
    match arg {
        Arg::Record(all) => all.iter().map(|it| it.0.as_str()).collect(),
        Arg::List(all) => all.iter().flat_map(named_by).collect(),
        Arg::Text(name) => vec![name],
        _ => Vec::new(),
    }
}

/// The values of the fields that are kept.
fn kept_values(op: &Op, kept: &[bool]) -> Vec<ExprId> {
    match &op.kind {
        OpKind::Map { outputs } => chosen(outputs, kept),
        OpKind::FlatMap { records: Records::Listed(lists) } => {
            lists.iter().flat_map(|it| chosen(it, kept)).collect()
        }
        OpKind::FlatMap { records: Records::Counted { count, outputs, .. } } => {
            [*count].into_iter().chain(chosen(outputs, kept)).collect()
        }
        _ => values(op),
    }
}

fn chosen<T: Clone>(all: &[T], kept: &[bool]) -> Vec<T> {
    all.iter().zip(kept).filter(|(_, kept)| **kept).map(|(it, _)| it.clone()).collect()
}

/// The fields that `op` computes and nobody needs, for people.
fn computed_and_dropped(op: &Op, kept: &[bool]) -> Vec<String> {
    let OpKind::Map { outputs } = &op.kind else { return Vec::new() };
    let is_column = |it: &ExprId| matches!(op.graph.expr(*it), Expr::Column(_));
    let fields = op.output.iter().zip(outputs).zip(kept);
    fields
        .filter(|((_, value), kept)| !**kept && !is_column(value))
        .map(|((field, _), _)| format!("`{}` of {}", field.name, op.step))
        .collect()
}

/// `op` with the fields that are kept, on an input with those that it keeps.
fn without(op: &Op, kept: &[bool], input: &[bool]) -> Op {
    let mut op = op.clone();
    op.output = chosen(&op.output, kept);
    match &mut op.kind {
        OpKind::Map { outputs } => *outputs = chosen(outputs, kept),
        OpKind::FlatMap { records: Records::Listed(lists) } => {
            lists.iter_mut().for_each(|it| *it = chosen(it, kept));
        }
        OpKind::FlatMap { records: Records::Counted { outputs, .. } } => {
            *outputs = chosen(outputs, kept);
        }
        _ => {}
    }
    let mut next = 0;
    let numbers: Vec<u32> = input
        .iter()
        .map(|kept| {
            next += u32::from(*kept);
            next.saturating_sub(1)
        })
        .collect();
    rebuild::renumbered(&op, &numbers)
}
