//! A part of a plan, run as it is written: what looking into a pipeline needs.
//!
//! The part ends at one operator, each of its steps is a stage of its own, and a record that fails
//! is left out and named with its step, whatever the program says of it.

use crate::session::{
    compiled::Compiled,
    place::label,
    samples::{self, SampleProgress},
};
use compiler::lower::lower_apart;
use plan::{
    Action, Arg, Expr, ExprId, FileId, Graph, Index, Op, OpId, OpKind, Otherwise, Plan, Policy,
    Program, Span,
};
use runtime::{Chunk, Failure, LostRecord, Options, Run, Stopper};
use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::{Arc, Mutex, PoisonError},
};

/// What becomes of `else` in a part that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Faults {
    /// It does what it says, without a limit; where the run would end, the record is left out.
    AsWritten,
    /// A record that fails is left out, also where the program has another value for it.
    LeftOut,
}

/// How a part is run.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    pub(crate) seed: u64,
    pub(crate) epoch: u32,
    pub(crate) workers: usize,
    pub(crate) memory: u64,
    /// Whether that is for the whole process, which does little else.
    pub(crate) whole_process: bool,
    /// Records of a chunk; as the plan says, if not said.
    pub(crate) chunk_rows: Option<usize>,
}

/// What the step is called that guards the fields of a source, behind the source's name.
const GUARD: &str = ".rows";

/// The same without the sources of which a step behind them guards the fields: it stands for both.
pub(crate) fn shown_steps(plan: &Plan) -> Vec<OpId> {
    let all = plan.steps();
    let guarded: BTreeSet<OpId> = all
        .iter()
        .map(|it| &plan.ops[*it])
        .filter(|it| it.step.ends_with(GUARD))
        .flat_map(|it| it.inputs.clone())
        .collect();
    all.into_iter().filter(|it| !guarded.contains(it)).collect()
}

/// What a step is called where it is shown.
pub(crate) fn shown_name(op: &Op) -> &str {
    op.step.strip_suffix(GUARD).unwrap_or(&op.step)
}

/// The plan whose output is what leaves `root`.
pub(crate) fn at(plan: &Plan, root: OpId) -> Plan {
    // What stands above could move into the sources, so it must go. Operators are called by their
    // numbers (`Arg::Sources`), so those of other branches stay.
    let ops = plan.ops.rows()[..=root.row()].iter().cloned().collect();
    Plan { name: plan.name.clone(), ops, root }
}

/// Lets `op` hand on what its input of that number gives it.
pub(crate) fn without(plan: &mut Plan, op: OpId, input: usize) {
    let input = plan.ops[op].inputs[input];
    let fields = &plan.ops[input].output;
    let mut graph = Graph::default();
    // Streams that are joined may have their fields in different orders.
    let number = |name: &str| fields.iter().position(|it| it.name == name).unwrap_or(0);
    let outputs = plan.ops[op].output.iter().map(|it| {
        let column = u32::try_from(number(&it.name)).expect("fields are few");
        graph.add(Expr::Column(column), it.ty.clone())
    });
    let kind = OpKind::Map { outputs: outputs.collect() };
    plan.ops[op] = Op { kind, graph, inputs: vec![input], ..plan.ops[op].clone() };
}

/// The program of `plan`, step by step. The labels of its stages are the names of their steps.
///
/// # Errors
/// What cannot be run; `compiled` says where things are written.
pub(crate) fn program(
    plan: &Plan,
    faults: Faults,
    compiled: &Compiled,
) -> Result<Program, Failure> {
    compiled.check_constants()?;
    let mut marked = plan.clone();
    let aligned = aligned(plan);
    for id in plan.ops.ids() {
        let number = u32::try_from(id.row()).expect("an operator's number is a u32");
        // What is left out of one stream would misalign it with the other.
        if !aligned.contains(&id) {
            marked.ops[id] = forgiving(&plan.ops[id], faults);
        }
        marked.ops[id].at = Span { file: FileId(0), start: number, end: number };
    }
    let step = |it: Span| plan.ops[OpId(it.start)].step.clone();
    lower_apart(&marked, &stdlib::library(), &step).map_err(|found| {
        let first = found.first().map_or(String::new(), |it| {
            let label = label(&compiled.files, plan.ops[OpId(it.span.start)].at);
            format!("{label}: {}", it.message)
        });
        Failure::Program(first)
    })
}

/// The operators below a `zip`, and below windows that are shuffled by their numbers: a record that fails in them ends
/// the run, unless the program has a value for it.
fn aligned(plan: &Plan) -> BTreeSet<OpId> {
    let (mut aligned, mut permuted) = (BTreeSet::new(), BTreeSet::<OpId>::new());
    for (id, op) in plan.ops.iter().rev() {
        if permuted.contains(&id) || is_permutation(op) {
            permuted.extend(&op.inputs);
        }
        let numbered = permuted.contains(&id) && does(op, Action::Window);
        if aligned.contains(&id) || is_zip(op) || numbered {
            aligned.extend(&op.inputs);
        }
    }
    aligned
}

/// Whether records of several streams are put side by side.
pub(crate) fn is_zip(op: &Op) -> bool {
    does(op, Action::Zip)
}

/// Whether records are shuffled as a whole, by their numbers.
fn is_permutation(op: &Op) -> bool {
    let whole = |args: &[Arg]| args.iter().all(|it| *it == Arg::None);
    matches!(&op.kind, OpKind::Operator { args, .. } if whole(args)) && does(op, Action::Shuffle)
}

fn does(op: &Op, action: Action) -> bool {
    stdlib::library().action(op) == Some(action)
}

/// `op`, where a fault ends no run.
fn forgiving(op: &Op, faults: Faults) -> Op {
    let mut graph = Graph::default();
    graph.n_vars = op.graph.n_vars;
    let mut new: Vec<ExprId> = Vec::with_capacity(op.graph.len());
    for (_, expr, ty) in op.graph.iter() {
        let mut expr = expr.clone().with_needs(|it| new[it.row()]);
        if let Expr::Else { otherwise, .. } = &mut expr {
            *otherwise = lenient(otherwise, faults);
        }
        new.push(graph.add(expr, ty.clone()));
    }
    let mut op = Op { graph, on_fault: policy(op.on_fault, faults), ..op.clone() };
    op.kind.rename(|it| *it = new[it.row()]);
    op
}

fn lenient(otherwise: &Otherwise, faults: Faults) -> Otherwise {
    match (otherwise, faults) {
        (Otherwise::Value(_), Faults::AsWritten) => otherwise.clone(),
        (Otherwise::Value(_), Faults::LeftOut) => {
            Otherwise::Policy(policy(Policy::Fail, Faults::LeftOut))
        }
        (Otherwise::Policy(it), _) => Otherwise::Policy(policy(*it, faults)),
    }
}

fn policy(written: Policy, faults: Faults) -> Policy {
    match (written, faults) {
        (Policy::Another { .. }, Faults::AsWritten) => Policy::Another { most: 1.0 },
        _ => Policy::Skip { most: 1.0 },
    }
}

/// The records of a program as they come.
pub(crate) struct Flow {
    run: Run,
    /// What is left of the chunk that came last.
    rest: Option<Chunk>,
    /// Records that were lost, since this was asked last.
    lost: Arc<Mutex<Vec<LostRecord>>>,
}

/// Lost records that may wait to be asked for; more come only where no record is left over among
/// so many.
const LOST_MAX: usize = 1 << 20;

impl Way {
    /// Makes the sample sets that `program` names, and starts it.
    pub(crate) fn start(
        &self,
        program: &Program,
        sample: &mut dyn FnMut(&SampleProgress),
    ) -> Result<Flow, Failure> {
        let mut program = program.clone();
        samples::resolve(&mut program, sample)?;
        let options = Options {
            seed: self.seed,
            workers: self.workers,
            // One of each hands records on in order, so that what is lost is known by then.
            readers: self.workers.clamp(1, 8),
            memory: self.memory,
            process_memory: self.whole_process.then_some(self.memory),
            epochs: self.epoch..self.epoch.saturating_add(1),
            chunk_rows: self.chunk_rows,
            told_of_losses: true,
            ..Options::default()
        };
        let mut run = runtime::start(&program, &stdlib::Kernels, &options)?;
        let lost = Arc::new(Mutex::new(Vec::new()));
        let to = lost.clone();
        run.on_lost(Box::new(move |records| {
            let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
            let room = LOST_MAX - to.len();
            to.extend(records.into_iter().take(room));
            Ok(())
        }));
        Ok(Flow { run, rest: None, lost })
    }
}

impl Flow {
    /// The next record.
    pub(crate) fn record(&mut self) -> Result<Option<Chunk>, Failure> {
        let chunk = match self.rest.take() {
            Some(rest) => rest,
            None => match self.chunk()? {
                Some(chunk) => chunk,
                None => return Ok(None),
            },
        };
        if chunk.rows > 1 {
            self.rest = Some(chunk.cut(1..chunk.rows));
        }
        Ok(Some(chunk.cut(0..1)))
    }

    /// The next records.
    pub(crate) fn chunk(&mut self) -> Result<Option<Chunk>, Failure> {
        for chunk in self.run.by_ref() {
            match chunk {
                Ok(chunk) if chunk.rows == 0 => {}
                other => return other.map(Some),
            }
        }
        Ok(None)
    }

    /// The records that have been lost since this was asked last; their labels are their steps.
    pub(crate) fn take_lost(&mut self) -> Vec<LostRecord> {
        mem::take(&mut *self.lost.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What can stop it from another thread.
    pub(crate) fn stopper(&self) -> Stopper {
        self.run.stopper()
    }

    /// How many have been lost, by code.
    pub(crate) fn lost_counts(&self) -> BTreeMap<&'static str, u64> {
        self.run.stats().lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{
        compile::{Settings, compile},
        load::Loaded,
    };
    use std::path::Path;

    const PROGRAM: &str = "edition 2026\n\
        pipeline p = range(10) |> map { x: 12 // i else 7, i } |> shuffle |> map { x, y: 6 // (i - 3) }\n";

    fn compiled() -> Compiled {
        let loaded = Loaded::from_text(Path::new("p.pipe"), PROGRAM.to_owned());
        compile(&loaded, &Settings::default()).unwrap()
    }

    fn flow(root: usize, faults: Faults) -> Flow {
        let compiled = compiled();
        let root = compiled.written.steps()[root];
        let program = program(&at(&compiled.written, root), faults, &compiled).unwrap();
        let way = Way {
            seed: 0,
            epoch: 0,
            workers: 1,
            memory: 1 << 26,
            whole_process: false,
            chunk_rows: Some(1),
        };
        way.start(&program, &mut |_| {}).unwrap()
    }

    fn count(flow: &mut Flow) -> usize {
        std::iter::from_fn(|| flow.record().unwrap()).count()
    }

    #[test]
    fn faults_are_known_by_their_step() {
        let compiled = compiled();
        let names: Vec<_> = compiled
            .written
            .steps()
            .iter()
            .map(|it| compiled.written.ops[*it].step.clone())
            .collect();
        let mut flow = flow(names.len() - 1, Faults::LeftOut);
        assert_eq!(count(&mut flow), 8);
        let lost: Vec<_> = flow.take_lost().iter().map(|it| it.label.to_string()).collect();
        assert_eq!(lost, ["p.map#1", "p.map#2"]);
    }

    #[test]
    fn what_stands_above_has_no_part() {
        let mut flow = flow(1, Faults::AsWritten);
        let first = flow.record().unwrap().unwrap();
        assert_eq!(first.columns[1].row(0).int(), 0, "the shuffle comes later");
        assert_eq!(count(&mut flow), 9);
        assert!(flow.take_lost().is_empty());
    }
}
