//! Adjacent steps that work on each record alone, as one computation.
//!
//! The graph of each step is copied onto the values that the steps before have found, so that
//! a column is computed only where something needs it, and what two steps compute alike is
//! computed once. Filters come first, in the order in which they are written.

use super::graft::Graft;
use crate::analysis::live::{live, output_roots};
use plan::{
    Expr, ExprId, Field, Graph, Index, Op, OpId, OpKind, Otherwise, Policy, Records, StageId,
    clean::Clean,
};
use std::collections::BTreeMap;

/// A computation on each record alone.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// The expressions; `Column(i)` is field `i` of `inputs`.
    pub(crate) graph: Graph,
    /// The operator that each node was written in.
    pub(crate) origin: Vec<OpId>,
    /// The fields that flow in.
    pub(crate) inputs: Vec<Field>,
    /// A record goes at the first that is false.
    pub(crate) filters: Vec<Filter>,
    /// One value for each of `fields`.
    pub(crate) outputs: Records,
    /// The fields that flow out.
    pub(crate) fields: Vec<Field>,
    /// What becomes of faulty records, where no `else` says otherwise.
    pub(crate) on_fault: Policy,
    /// Values that were read from a file, each with the text that names it.
    pub(crate) files: Vec<(ExprId, ExprId)>,
    /// Whether it waits for files.
    pub(crate) reads: bool,
    /// Whether it calls functions outside, and does little else.
    pub(crate) foreign: bool,
}

/// A condition, and the operator that it was written in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter {
    pub(crate) keep: ExprId,
    pub(crate) op: OpId,
}

/// What a stage passes on besides its fields: the names of the files that they were read from.
pub(crate) struct Named {
    /// How many fields it has; the names come after them.
    pub(crate) visible: usize,
    /// The columns of values that were read from a file, each with the column of its name.
    pub(crate) files: Vec<(usize, usize)>,
}

/// Puts steps together; each works on what the one before has found.
pub(crate) struct Grouping<'a> {
    group: Group,
    /// The values of the record so far.
    columns: Vec<ExprId>,
    /// The policy whose values need no guard in the step at hand.
    open: Option<Policy>,
    sources: &'a BTreeMap<OpId, StageId>,
}

impl<'a> Grouping<'a> {
    /// No step yet, on records of these fields; the last step will have the policy `on_fault`.
    pub(crate) fn new(
        inputs: &[Field],
        on_fault: Policy,
        sources: &'a BTreeMap<OpId, StageId>,
    ) -> Self {
        let mut graph = Graph::default();
        let columns: Vec<ExprId> = inputs
            .iter()
            .zip(0..)
            .map(|(field, i)| graph.add(Expr::Column(i), field.ty.clone()))
            .collect();
        let group = Group {
            graph,
            origin: Vec::new(),
            inputs: inputs.to_vec(),
            filters: Vec::new(),
            outputs: Records::Listed(vec![columns.clone()]),
            fields: inputs.to_vec(),
            on_fault,
            files: Vec::new(),
            reads: false,
            foreign: false,
        };
        Self { group, columns, open: Some(on_fault), sources }
    }

    /// Some of the fields that flow in are names of files, which are no fields of the plan.
    pub(crate) fn named(&mut self, named: &Named) {
        self.columns.truncate(named.visible);
        let own = |it: usize| ExprId::new(it);
        self.group.files =
            named.files.iter().map(|&(value, name)| (own(value), own(name))).collect();
        self.group.outputs = Records::Listed(vec![self.columns.clone()]);
    }

    /// Appends the step `op`. After a `flat_map` there is no other. Its values say themselves what becomes of
    /// faults, unless its policy is `open`.
    pub(crate) fn step(&mut self, id: OpId, op: &Op, open: Option<Policy>) {
        self.open = open;
        self.group.graph.parts |= op.graph.parts;
        self.group.graph.clean |= op.graph.clean;
        match &op.kind {
            OpKind::Map { outputs } => {
                self.columns = self.values(id, op, outputs);
                self.group.outputs = Records::Listed(vec![self.columns.clone()]);
            }
            OpKind::Where { keep } => {
                let keep = self.values(id, op, &[*keep])[0];
                self.group.filters.push(Filter { keep, op: id });
            }
            OpKind::FlatMap { records } => self.group.outputs = self.records(id, op, records),
            OpKind::Source { .. } | OpKind::Operator { .. } => {
                unreachable!("a group is of steps that work on each record alone")
            }
        }
        self.group.fields.clone_from(&op.output);
    }

    /// Appends the arguments of `op`, which are values of the record, as hidden columns.
    pub(crate) fn hidden(&mut self, id: OpId, op: &Op, all: &[(String, ExprId)]) {
        self.open = Some(self.group.on_fault);
        let values: Vec<ExprId> = all.iter().map(|(_, it)| *it).collect();
        let values = self.values(id, op, &values);
        for ((name, _), &value) in all.iter().zip(&values) {
            let ty = self.group.graph.ty(value).clone();
            self.group.fields.push(Field { name: format!("${name}"), ty });
        }
        self.columns.extend(values);
        self.group.outputs = Records::Listed(vec![self.columns.clone()]);
    }

    /// All steps as one.
    pub(crate) fn finish(self) -> Group {
        self.group
    }

    fn records(&mut self, id: OpId, op: &Op, records: &Records) -> Records {
        match records {
            Records::Listed(lists) => {
                Records::Listed(lists.iter().map(|it| self.values(id, op, it)).collect())
            }
            Records::Counted { count, var, outputs } => {
                let mut graft = Graft::new(&op.graph, &mut self.group.graph)
                    .on(&self.columns)
                    .naming(self.sources);
                let own = graft.var(*var);
                let roots: Vec<ExprId> = [*count].iter().chain(outputs).copied().collect();
                let mut values = graft.copy(&roots);
                values = self.guarded(id, op, values);
                let outputs = values.split_off(1);
                Records::Counted { count: values[0], var: own, outputs }
            }
        }
    }

    /// The values `roots` of `op`, on what has been found so far.
    fn values(&mut self, id: OpId, op: &Op, roots: &[ExprId]) -> Vec<ExprId> {
        let graft = Graft::new(&op.graph, &mut self.group.graph);
        let values = graft.on(&self.columns).naming(self.sources).copy(roots);
        self.guarded(id, op, values)
    }

    /// The same, where each says itself what becomes of faulty records.
    fn guarded(&mut self, id: OpId, op: &Op, values: Vec<ExprId>) -> Vec<ExprId> {
        let (policy, open) = (op.on_fault, self.open);
        let graph = &mut self.group.graph;
        let guarded = |value: ExprId| match graph.expr(value) {
            Expr::Column(_) | Expr::Const(_) => value,
            Expr::Else { otherwise: Otherwise::Policy(_), .. } => value,
            _ if Some(policy) == open => value,
            _ => guard(graph, value, policy),
        };
        let values = values.into_iter().map(guarded).collect();
        self.group.origin.resize(self.group.graph.len(), id);
        values
    }
}

/// `value`, where a fault is dealt with as `policy` says.
fn guard(graph: &mut Graph, value: ExprId, policy: Policy) -> ExprId {
    let ty = graph.ty(value).clone();
    graph.add(Expr::Else { value, otherwise: Otherwise::Policy(policy) }, ty)
}

impl Group {
    /// The part of it that writes `outputs`, of records that pass `filters`.
    pub(crate) fn before(
        &self,
        filters: &[Filter],
        outputs: &[ExprId],
        fields: Vec<Field>,
    ) -> Self {
        let (part, outputs) = self.part(filters, &[], (outputs, &self.inputs));
        Self { outputs: Records::Listed(vec![outputs]), fields, ..part }
    }

    /// What is left of it under `filters`, where the nodes `carried` flow in as columns.
    pub(crate) fn after(&self, filters: &[Filter], carried: &[ExprId], inputs: Vec<Field>) -> Self {
        let roots = output_roots(&self.outputs);
        let (mut part, values) = self.part(filters, carried, (&roots, &inputs));
        let mut values = values.into_iter();
        part.outputs = match &self.outputs {
            Records::Listed(lists) => Records::Listed(
                lists.iter().map(|it| values.by_ref().take(it.len()).collect()).collect(),
            ),
            Records::Counted { var, .. } => Records::Counted {
                count: values.next().expect("the count is the first root"),
                var: *var,
                outputs: values.collect(),
            },
        };
        part
    }

    /// Copies what `filters` and `roots` need; the nodes `carried` become columns.
    fn part(
        &self,
        filters: &[Filter],
        carried: &[ExprId],
        (roots, inputs): (&[ExprId], &[Field]),
    ) -> (Self, Vec<ExprId>) {
        let mut graph = Graph::default();
        (graph.parts, graph.clean) = (self.graph.parts, self.graph.clean);
        let mut graft = Graft::keeping_vars(&self.graph, &mut graph);
        carried.iter().zip(0..).for_each(|(&id, i)| graft.cut(id, i));
        let keeps: Vec<ExprId> = filters.iter().map(|it| it.keep).collect();
        let mut values = graft.copy(&[&keeps, roots].concat());
        let pairs = graft.pairs();
        let files = self
            .files
            .iter()
            .filter_map(|(value, name)| Some((graft.become_of(*value)?, graft.become_of(*name)?)));
        let files = files.collect();

        let mut origin = vec![OpId(0); graph.len()];
        pairs.into_iter().for_each(|(old, new)| origin[new.row()] = self.origin[old.row()]);
        let outputs = values.split_off(keeps.len());
        let filters = filters.iter().zip(values).map(|(it, keep)| Filter { keep, op: it.op });
        let part = Self {
            graph,
            origin,
            inputs: inputs.to_vec(),
            filters: filters.collect(),
            files,
            reads: false,
            foreign: false,
            ..self.clone()
        };
        (part, outputs)
    }

    /// What it computes of a clean chunk (`plan::clean`), where that is something else.
    pub(crate) fn clean(&self) -> Option<Self> {
        let clean = Clean::of(&self.graph, &self.roots())?;
        let mut group = Self { graph: clean.graph.clone(), ..self.clone() };
        group.filters.iter_mut().for_each(|it| it.keep = clean.stands(it.keep));
        let rename = |it: &mut ExprId| *it = clean.stands(*it);
        match &mut group.outputs {
            Records::Listed(lists) => lists.iter_mut().flatten().for_each(rename),
            Records::Counted { count, outputs, .. } => {
                [count].into_iter().chain(outputs).for_each(rename);
            }
        }
        Some(group)
    }

    /// `value`, where a fault is dealt with as `policy` says.
    pub(crate) fn guard(&mut self, value: ExprId, policy: Policy) -> ExprId {
        let op = self.origin[value.row()];
        let guarded = guard(&mut self.graph, value, policy);
        self.origin.resize(self.graph.len(), op);
        guarded
    }

    /// Every value that is asked for, in the order in which they are found.
    pub(crate) fn roots(&self) -> Vec<ExprId> {
        let filters = self.filters.iter().map(|it| it.keep);
        filters.chain(output_roots(&self.outputs)).collect()
    }

    /// Which nodes are needed.
    pub(crate) fn live(&self) -> Vec<bool> {
        live(&self.graph, &self.roots(), &[])
    }

    /// The one list of values, where each record becomes one.
    pub(crate) fn single(&self) -> Option<&[ExprId]> {
        match &self.outputs {
            Records::Listed(lists) if lists.len() == 1 => Some(&lists[0]),
            _ => None,
        }
    }

    /// The operators whose text it computes, in order; the `last` where it only passes on.
    pub(crate) fn ops(&self, last: OpId) -> Vec<OpId> {
        let live = self.live();
        let computes = |(id, expr, _): &(ExprId, &Expr, _)| {
            live[id.row()] && !matches!(expr, Expr::Column(_) | Expr::Const(_))
        };
        let nodes = self.graph.iter().filter(computes).map(|(id, ..)| self.origin[id.row()]);
        let mut ops: Vec<OpId> = nodes.chain(self.filters.iter().map(|it| it.op)).collect();
        ops.sort_unstable();
        ops.dedup();
        if ops.is_empty() { vec![last] } else { ops }
    }

    /// Whether it hands every record on as it came.
    pub(crate) fn is_nothing(&self) -> bool {
        let same =
            |(&id, i): (&ExprId, u32)| matches!(self.graph.expr(id), Expr::Column(at) if *at == i);
        self.filters.is_empty()
            && self.fields == self.inputs
            && self.single().is_some_and(|it| it.iter().zip(0..).all(same))
    }
}
