//! Plan to program: steps that work on each record alone become one stage, what a source can do
//! moves into it, what waits for files or for functions outside is done apart, the last values are
//! written into the batch.

mod align;
mod apart;
mod deal;
mod direct;
pub(crate) mod graft;
mod group;
mod lanes;
mod named;
mod rows;
mod windows;

use crate::{
    analysis::{
        index::{self, Moved, Reading},
        live::live_columns,
        role::{Role, batched, role},
        total::catches,
        varies::is_same_in_epochs,
    },
    errors::lower as errors,
    registry::Registry,
};
use group::{Group, Grouping, Named};
use lanes::Laned;
use plan::{
    Arg, Code, DEPTH_MAX, Diagnostic, Expr, ExprId, FORMAT, Field, IdVec, Index, Library, Op, OpId,
    OpKind, Plan, Policy, Program, Property, Records, STAGES_MAX, Span, Stage, StageId, Transform,
};
use std::collections::{BTreeMap, BTreeSet};

/// The program that runs `plan`. `label` says where a place of the text is: `aug.pipe:12:8`.
///
/// # Errors
/// What cannot be run as it is written, each with its place.
pub fn lower(
    plan: &Plan,
    library: &Library,
    label: &dyn Fn(Span) -> String,
) -> Result<Program, Vec<Diagnostic>> {
    Ok(lower_known(plan, &Registry::new(*library), label)?.program)
}

/// The same, where every step of the plan is a stage of its own: for looking at what each one does.
///
/// Every field of every step is computed, also one that nobody needs further on.
///
/// # Errors
/// What cannot be run as it is written, each with its place.
pub fn lower_apart(
    plan: &Plan,
    library: &Library,
    label: &dyn Fn(Span) -> String,
) -> Result<Program, Vec<Diagnostic>> {
    let registry = Registry::new(*library);
    let naming = named::with_names(plan, &registry);
    let lowering = Lowering::new(naming.as_ref().unwrap_or(plan), &registry, label);
    Ok(Lowering { apart: true, ..lowering }.lowered()?.program)
}

/// A program, and where each operator of the plan went.
pub(crate) struct Lowered {
    /// What runs.
    pub(crate) program: Program,
    /// The stages that do the work of each operator.
    pub(crate) stages_of: IdVec<OpId, Vec<StageId>>,
    /// What the sources do for the operators above them.
    pub(crate) moved: Moved,
    /// The operators whose text the values of each transform are.
    pub(crate) origins: BTreeMap<StageId, Vec<OpId>>,
}

/// The same for a library that is known already.
pub(crate) fn lower_known(
    plan: &Plan,
    registry: &Registry,
    label: &dyn Fn(Span) -> String,
) -> Result<Lowered, Vec<Diagnostic>> {
    let naming = named::with_names(plan, registry);
    Lowering::new(naming.as_ref().unwrap_or(plan), registry, label).lowered()
}

struct Lowering<'a> {
    plan: &'a Plan,
    registry: &'a Registry,
    label: &'a dyn Fn(Span) -> String,
    /// Whether each step is a stage of its own.
    apart: bool,
    moved: Moved,
    laned: Laned,
    stages: IdVec<StageId, Stage>,
    /// The stage of each source.
    sources: BTreeMap<OpId, StageId>,
    /// The stage of each source and operator.
    heads: BTreeMap<OpId, StageId>,
    stages_of: IdVec<OpId, Vec<StageId>>,
    /// Stages apart that pass on, behind their fields, the names of files for the next one.
    named: BTreeMap<StageId, Named>,
    /// The transforms that let go of no record.
    keep_all: BTreeSet<StageId>,
    /// The operator that each value of a transform is of.
    origins: BTreeMap<StageId, Vec<OpId>>,
    /// See [`Program::once`].
    once: Vec<StageId>,
    diagnostics: Vec<Diagnostic>,
}

/// Steps on each record alone, above a source or an operator.
struct Chain {
    /// The source or operator.
    base: OpId,
    /// The steps, the first one next to `base`.
    steps: Vec<OpId>,
}

/// An operator that reads a stream.
#[derive(Clone, Copy)]
struct Reader<'a> {
    op: OpId,
    /// Its arguments that are computed for each record, with their parameters' names.
    hidden: &'a [(String, ExprId)],
}

impl<'a> Lowering<'a> {
    fn new(plan: &'a Plan, registry: &'a Registry, label: &'a dyn Fn(Span) -> String) -> Self {
        let (moved, mut diagnostics) = index::moved(plan, registry);
        diagnostics.extend(align::misaligned(plan, registry));
        let mut laned = lanes::laned(plan, registry, (&plan.needed(), &moved));
        diagnostics.append(&mut laned.diagnostics);
        Self {
            plan,
            registry,
            label,
            apart: false,
            moved,
            laned,
            stages: IdVec::new(),
            sources: BTreeMap::new(),
            heads: BTreeMap::new(),
            stages_of: plan.ops.ids().map(|_| Vec::new()).collect(),
            named: BTreeMap::new(),
            keep_all: BTreeSet::new(),
            origins: BTreeMap::new(),
            once: Vec::new(),
            diagnostics,
        }
    }

    fn lowered(mut self) -> Result<Lowered, Vec<Diagnostic>> {
        self.all();
        self.finish()
    }
}

impl Lowering<'_> {
    /// The stages of everything that the root needs.
    fn all(&mut self) {
        let needed = self.plan.needed();
        for (id, op) in self.plan.ops.iter().filter(|(id, _)| needed[id.row()]) {
            match &op.kind {
                OpKind::Source { entry, args } => self.source(id, entry, args),
                OpKind::Operator { entry, args, names } if !self.moved.gone.contains(&id) => {
                    self.operator(id, entry, (args, names));
                }
                _ => {}
            }
        }
        self.stream(self.plan.root, None);
    }

    fn finish(mut self) -> Result<Lowered, Vec<Diagnostic>> {
        if self.stages.len() > STAGES_MAX {
            self.diagnostics.push(errors::too_large(self.plan.ops[self.plan.root].at, STAGES_MAX));
        }
        let undealt = self.laned.undealt.take().filter(|_| !self.apart);
        self.diagnostics.extend(undealt);
        if !self.diagnostics.is_empty() {
            return Err(self.diagnostics);
        }
        let lanes = lanes::of(&self);
        rows::choose(&mut self.stages, self.registry, &lanes);
        let (deal, beside) = (deal::of(&self, &lanes), self.beside());
        let program = Program {
            format: FORMAT,
            name: self.plan.name.clone(),
            stages: self.stages,
            output: self.plan.output().to_vec(),
            batched: batched(self.plan, self.registry)[self.plan.root.row()],
            deal,
            lanes,
            beside,
            once: self.once,
            jit: true,
        };
        Ok(Lowered { program, stages_of: self.stages_of, moved: self.moved, origins: self.origins })
    }

    fn source(&mut self, id: OpId, entry: &str, args: &[Arg]) {
        let op = &self.plan.ops[id];
        let Reading { shuffles, spans, skip, take, laps, windows } =
            self.moved.sources[&id].clone();
        let (entry, args, place) = (entry.to_owned(), args.to_vec(), op.place);
        let code =
            Code::Source { entry, args, place, shuffles, spans, skip, take, laps, windows: None };
        let stage = self.push(code, Vec::new(), op.output.clone(), &[id]);
        self.sources.insert(id, stage);
        self.heads.insert(id, stage);
        if let Some(windowing) = windows {
            self.window_by_window(stage, windowing);
        }
    }

    /// The sources that must have equally many records, by their stages.
    fn beside(&self) -> Vec<Vec<StageId>> {
        let stages =
            |all: &Vec<OpId>| all.iter().filter_map(|it| self.sources.get(it).copied()).collect();
        self.moved.beside.iter().map(stages).collect()
    }

    fn operator(&mut self, id: OpId, entry: &str, (args, names): (&[Arg], &[String])) {
        let op = &self.plan.ops[id];
        let args = &self.operator_args(id, entry, args)[..];
        let hidden = self.hidden(entry, op, args);
        let inputs: Vec<StageId> = op
            .inputs
            .iter()
            .enumerate()
            .map(|(i, &input)| {
                let hidden = if i == 0 { &hidden[..] } else { &[] };
                self.stream(input, Some(Reader { op: id, hidden }))
            })
            .collect();
        if let (Role::Join { .. }, [_, second], [_, stage]) =
            (role(op, self.registry), &op.inputs[..], &inputs[..])
            && is_same_in_epochs(self.plan, *second, self.registry)
        {
            self.once.push(*stage);
        }
        let visible = op.inputs.first().map_or(0, |it| self.plan.ops[*it].output.len());
        let args = column_args(op, args, visible, &self.sources);
        let (entry, names) = (entry.to_owned(), names.to_vec());
        let code = Code::Operator { entry, args, names, place: op.place };
        let stage = self.push(code, inputs, op.output.clone(), &[id]);
        self.heads.insert(id, stage);
    }

    /// The values among an operator's arguments that are no column yet, with their parameters' names.
    fn hidden(&self, entry: &str, op: &Op, args: &[Arg]) -> Vec<(String, ExprId)> {
        let Some(entry) = self.registry.operator(entry) else { return Vec::new() };
        let names = self.registry.parameters(entry);
        let inputs = names.len().saturating_sub(args.len());
        let mut hidden = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            if let Some(value) = computed(op, arg) {
                let name = names.get(inputs + i).cloned().unwrap_or_else(|| format!("arg{i}"));
                hidden.push((name, value));
            }
        }
        hidden
    }

    /// The stage whose records are those that leave `op`, for the operator that reads it, which
    /// may want values of the record besides.
    fn stream(&mut self, op: OpId, reader: Option<Reader<'_>>) -> StageId {
        let chain = self.chain(op);
        let mut stage = self.heads[&chain.base];
        let mut runs = self.runs(&chain.steps);
        let wants = reader.is_some_and(|it| !it.hidden.is_empty());
        if wants && runs.last().is_none_or(|it| self.multiplies(it)) {
            runs.push(Vec::new());
        }
        let n_runs = runs.len();
        for (i, run) in runs.iter().enumerate() {
            let is_last = i + 1 == n_runs;
            stage = self.run(stage, run, (reader.filter(|_| is_last), is_last));
        }
        stage
    }

    /// The steps between `op` and what they stand on.
    fn chain(&self, mut op: OpId) -> Chain {
        let mut steps = Vec::new();
        while !self.heads.contains_key(&op) {
            if !self.moved.gone.contains(&op) {
                steps.push(op);
            }
            op = self.plan.ops[op].inputs[0];
        }
        steps.reverse();
        Chain { base: op, steps }
    }

    /// Steps that become one group: a run ends with what multiplies records, and before its values
    /// stand too high above each other.
    fn runs(&self, steps: &[OpId]) -> Vec<Vec<OpId>> {
        if self.apart {
            // What a guard lets fail fails where it is used: it is one step with the one that does.
            let mut open = false;
            let ends = |it: &OpId| {
                open = self.guards(*it) || open && self.filters(*it);
                !open
            };
            return steps.split_inclusive(ends).map(<[OpId]>::to_vec).collect();
        }
        let mut runs: Vec<Vec<OpId>> = Vec::new();
        let (mut depth, mut begin) = (0, true);
        for &step in steps {
            let of_step = self.plan.ops[step].graph.depth();
            if begin || depth + of_step > DEPTH_MAX {
                runs.push(Vec::new());
                depth = 0;
            }
            runs.last_mut().expect("the first step begins a run").push(step);
            (depth, begin) = (depth + of_step, self.multiplies(&[step]));
        }
        runs
    }

    /// Whether a step only guards the fields of a source whose records may be faults.
    fn guards(&self, step: OpId) -> bool {
        let Op { kind, graph, .. } = &self.plan.ops[step];
        matches!(kind, OpKind::Map { .. }) && graph.iter().any(|it| self.registry.is_guard(it.1))
    }

    /// Whether a step reads files.
    fn waits(&self, step: OpId) -> bool {
        let reads =
            |it: &Expr| matches!(it, Expr::Call { function, .. } if self.registry.reads(function));
        self.plan.ops[step].graph.iter().any(|it| reads(it.1))
    }

    fn filters(&self, step: OpId) -> bool {
        matches!(self.plan.ops[step].kind, OpKind::Where { .. })
    }

    /// The policy whose values need no guard of their own in step `i` of `steps`, whose group has the policy `whole`.
    fn open(
        &self,
        steps: &[OpId],
        i: usize,
        (whole, hidden): (Policy, Option<OpId>),
    ) -> Option<Policy> {
        let later = &steps[i + 1..];
        if self.guards(steps[i]) {
            let user = later.iter().find(|it| !self.filters(**it)).or(later.last());
            return Some(user.or(hidden.as_ref()).map_or(whole, |it| self.plan.ops[*it].on_fault));
        }
        // A file that cannot be read fails where it is used; and no value is made of a condition.
        let values_alone = self.filters(steps[i]) || self.waits(steps[i]);
        let catches = |it: &OpId| catches(&self.plan.ops[*it], values_alone);
        (!later.iter().chain(&hidden).any(catches)).then_some(whole)
    }

    fn multiplies(&self, run: &[OpId]) -> bool {
        run.last().is_some_and(|it| matches!(self.plan.ops[*it].kind, OpKind::FlatMap { .. }))
    }

    /// One group of steps, on the records of `stage`.
    fn run(
        &mut self,
        stage: StageId,
        steps: &[OpId],
        (reader, is_last): (Option<Reader<'_>>, bool),
    ) -> StageId {
        let ops = &self.plan.ops;
        let hidden = reader.filter(|it| !it.hidden.is_empty());
        let last = hidden.map(|it| it.op).or(steps.last().copied());
        let last = last.expect("a run has a step, or values to compute");
        let whole = ops[last].on_fault;
        let mut grouping = Grouping::new(&self.stages[stage].columns, whole, &self.sources);
        if let Some(named) = self.named.get(&stage) {
            grouping.named(named);
        }
        for (i, &id) in steps.iter().enumerate() {
            grouping.step(id, &ops[id], self.open(steps, i, (whole, hidden.map(|it| it.op))));
        }
        if let Some(Reader { op, hidden }) = hidden {
            grouping.hidden(op, &ops[op], hidden);
        }
        let mut group = grouping.finish();
        apart::find_files(&mut group, self.registry);
        let named = (self.apart && !is_last).then(|| apart::pass_names_on(&mut group)).flatten();
        let stage = self.parts(stage, group, (last, reader.map(|it| it.op)));
        self.named.extend(named.map(|it| (stage, it)));
        stage
    }

    /// The stages of a group.
    fn parts(
        &mut self,
        mut stage: StageId,
        group: Group,
        (last, reader): (OpId, Option<OpId>),
    ) -> StageId {
        let parts: Vec<Group> =
            apart::split(group, self.registry).into_iter().filter(|it| !it.is_nothing()).collect();
        let n_parts = parts.len();
        for (i, part) in parts.into_iter().enumerate() {
            let rows =
                reader.filter(|_| i + 1 == n_parts).and_then(|it| self.batch_rows(it, &part));
            stage = self.part(stage, part, (last, rows));
        }
        stage
    }

    fn part(&mut self, input: StageId, part: Group, (last, rows): (OpId, Option<u64>)) -> StageId {
        let part = self.without_unused_columns(input, part);
        let steps = part.ops(last);
        let another = if direct::replaces(&part, self.registry) {
            self.others(input, steps.last().copied().unwrap_or(last))
        } else {
            Vec::new()
        };
        let keeps_all = !direct::lets_go(&part, self.registry);
        let number = |op| steps.binary_search(op).unwrap_or(0) as u32;
        let code = Code::Transform(Transform {
            steps: part.origin.iter().map(number).collect(),
            vector: direct::at_once(&part, self.registry),
            clean_vector: part.clean().is_some_and(|it| direct::at_once(&it, self.registry)),
            reads: part.reads,
            files: part.files,
            foreign: part.foreign,
            into_batch: rows,
            another,
            filters: part.filters.iter().map(|it| it.keep).collect(),
            graph: part.graph,
            outputs: part.outputs,
            on_fault: part.on_fault,
        });
        let stage = self.push(code, vec![input], part.fields, &steps);
        self.origins.insert(stage, part.origin);
        self.keep_all.extend(keeps_all.then_some(stage));
        stage
    }

    /// Has a source read the columns only that `part` needs. One that finds what is wrong with its columns one by one
    /// needs none: what is wrong with another one fails nowhere.
    fn without_unused_columns(&mut self, input: StageId, part: Group) -> Group {
        let Code::Source { entry, .. } = &self.stages[input].code else { return part };
        let faulty = |it: &Property| matches!(it, Property::Faulty(_));
        let entry = self.registry.source(entry);
        let is_faulty = entry.is_some_and(|it| it.properties.iter().any(faulty));
        let used = live_columns(&part.graph, &part.live());
        if used.len() == part.inputs.len() || used.is_empty() && !is_faulty {
            return part;
        }
        let fields: Vec<Field> = used.keys().map(|it| part.inputs[*it as usize].clone()).collect();
        let columns: Vec<ExprId> = used.into_values().collect();
        self.stages[input].columns.clone_from(&fields);
        let (reads, foreign) = (part.reads, part.foreign);
        Group { reads, foreign, ..part.after(&part.filters, &columns, fields) }
    }

    /// Rows of the batch that `part` can write into.
    fn batch_rows(&self, reader: OpId, part: &Group) -> Option<u64> {
        match role(&self.plan.ops[reader], self.registry) {
            Role::Batch { size, plain: true, .. } if direct::fills_batch(part, self.registry) => {
                Some(size)
            }
            _ => None,
        }
    }

    /// The stages from a source to `stage`, through which another record can come for `op`.
    fn others(&mut self, stage: StageId, op: OpId) -> Vec<StageId> {
        let mut path = vec![stage];
        loop {
            let stage = path[path.len() - 1];
            match self.barrier(stage) {
                None if self.stages[stage].inputs.is_empty() => break,
                None => path.push(self.stages[stage].inputs[0]),
                Some(why) => {
                    let at = self.stages_of.iter().find(|(_, all)| all.contains(&stage));
                    let at = self.plan.ops[at.map_or(op, |it| it.0)].at;
                    self.diagnostics.push(errors::no_other(self.plan.ops[op].at, (at, why)));
                    break;
                }
            }
        }
        path.reverse();
        path
    }

    /// Why other records cannot come through a stage.
    fn barrier(&self, stage: StageId) -> Option<&'static str> {
        match &self.stages[stage].code {
            Code::Source { entry, .. } => {
                let indexed =
                    self.registry.source(entry).is_some_and(|it| it.has(Property::Indexed));
                (!indexed).then_some("it can only be read in order")
            }
            Code::Transform(it) => match &it.outputs {
                Records::Listed(lists) if lists.len() == 1 => None,
                _ => Some("it creates several records from one"),
            },
            Code::Operator { .. } => Some("its output depends on which records are grouped"),
        }
    }

    fn push(
        &mut self,
        code: Code,
        inputs: Vec<StageId>,
        columns: Vec<Field>,
        ops: &[OpId],
    ) -> StageId {
        let steps = ops.iter().map(|&it| self.plan.ops[it].step.clone()).collect();
        let labels = ops.iter().map(|&it| (self.label)(self.plan.ops[it].at)).collect();
        let id = self.stages.push(Stage { code, inputs, columns, steps, labels, rows: 1 });
        ops.iter().for_each(|&it| self.stages_of[it].push(id));
        id
    }
}

/// An argument of the record that is computed rather than a field.
fn computed(op: &Op, arg: &Arg) -> Option<ExprId> {
    match arg {
        Arg::Expr(id) if !matches!(op.graph.expr(*id), plan::Expr::Column(_)) => Some(*id),
        _ => None,
    }
}

/// The arguments of an operator, those of the record by their columns; hidden ones follow the
/// `visible` ones.
fn column_args(
    op: &Op,
    args: &[Arg],
    visible: usize,
    sources: &BTreeMap<OpId, StageId>,
) -> Vec<Arg> {
    let mut next = u32::try_from(visible).expect("a record has fewer than 2³² fields");
    let mut column = |arg: &Arg| match arg {
        Arg::Expr(id) => match op.graph.expr(*id) {
            plan::Expr::Column(i) => Arg::Column(*i),
            _ => {
                next += 1;
                Arg::Column(next - 1)
            }
        },
        other => {
            let mut other = other.clone();
            graft::name_stages(&mut other, sources);
            other
        }
    };
    args.iter().map(&mut column).collect()
}

#[cfg(test)]
pub(crate) mod tests;
