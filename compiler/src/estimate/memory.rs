//! Bytes that a pipeline holds while it runs.

use super::{Figure, StepEstimate};
use crate::{
    analysis::{
        flow::{Flow, flows},
        live::output_roots,
        role::{Role, operator},
        size,
    },
    lower::Lowered,
    registry::Registry,
};
use model::under_way::{self, Making};
use plan::{Code, Expr, ExprId, IdVec, Index, Program, Property, Stage, StageId, Transform};
use serde::{Deserialize, Serialize};

/// What is held, by what it is for; in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Chunks that are computed, or wait for the next stage.
    pub chunks: Figure,
    /// Batches: those that are under way and the one that the consumer holds.
    pub batches: Figure,
    /// What operators hold, such as the window of a shuffle.
    pub held: Figure,
    /// Values between those that a stage reads and those that it makes: each worker has room for one of
    /// each.
    #[serde(default)]
    pub temporaries: Figure,
    /// What one worker needs of them.
    #[serde(default)]
    pub each_worker: Figure,
    /// How many batches there are at a time, of the `batch` that holds most.
    #[serde(default)]
    pub n_batches: u64,
}

impl Memory {
    /// All of it.
    pub fn total(&self) -> Figure {
        self.parts().into_iter().sum()
    }

    /// What it consists of.
    pub fn parts(&self) -> [Figure; 4] {
        [self.chunks, self.batches, self.held, self.temporaries]
    }

    /// What records take that wait or are being written.
    pub(crate) fn records(&self) -> Figure {
        self.chunks + self.batches + self.held
    }
}

/// Chunks of a stage that are there at a time, besides one for each core, where the next stage is not slower.
/// Assumed: of the queue that the executor allows, few wait.
const CHUNKS_WAITING: f64 = 2.0;
/// Batches that are there at a time where nothing tells how long their records take: two that are under
/// way and the one that the consumer has.
const BATCHES: u64 = 3;

pub(super) fn memory(
    lowered: &Lowered,
    registry: &Registry,
    (cores, budget): (u32, Option<u64>),
    (steps, bottleneck): (&[StepEstimate], usize),
) -> Memory {
    let stages = &lowered.program.stages;
    let flows = flows(stages, registry);
    let runs_ahead = before(stages, steps.get(bottleneck));
    // As the executor shares the memory out among its stages.
    let share = budget.map_or(f64::INFINITY, |it| it as f64 / (2 * stages.len().max(1)) as f64);
    let mut memory = Memory::default();
    let times = lanes(&lowered.program);
    memory.each_worker = worked_in(stages, &flows, registry);
    let mut workers = u64::from(cores);
    let records = chunk_records(stages, &flows, &times);
    for (id, stage) in stages.iter() {
        let bytes = flows[id].bytes();
        let each = bytes.times(records[id.row()]);
        let few = (f64::from(cores) + CHUNKS_WAITING).max(times[id.row()]);
        let within = (share / each.value.max(1.0)).max(1.0);
        let ahead = || queued(stage, cores).max(few).min(within);
        let chunk = each.times(if runs_ahead[id.row()] { ahead() } else { few });
        match &stage.code {
            Code::Transform(it) if it.into_batch.is_some() => {}
            Code::Source { .. } | Code::Transform(_) => memory.chunks = memory.chunks + chunk,
            Code::Operator { entry, args, .. } => {
                let entering = |it: &StageId| flows[*it].bytes();
                let entering: Figure = stage.inputs.iter().map(entering).sum();
                match operator(entry, args, stage.inputs.len(), registry) {
                    Role::Batch { size, .. } => {
                        let own = steps.iter().find(|it| stage.steps.contains(&it.step));
                        let each = memory.each_worker;
                        let making = making((own, steps), (cores, budget), (size, bytes, each));
                        workers = making.map_or(workers, |it| it.workers.min(workers));
                        let n = making.map_or(BATCHES, |it| it.under_way().batches.max(2) + 1);
                        let held = bytes.times(n as f64);
                        if held.value >= memory.batches.value {
                            memory.n_batches = n;
                        }
                        memory.batches = memory.batches + held;
                    }
                    // One window fills up while the one before is permuted.
                    Role::ShuffleWithin(n) | Role::Accompany(n) => {
                        let held = 2.0 * n as f64 * times[id.row()];
                        memory.held = memory.held + entering.times(held);
                    }
                    // One block fills up while the one before is packed; what it becomes waits for the next step.
                    Role::Packs { records, block } => {
                        let held = 2.0 * block as f64 * times[id.row()];
                        let made = bytes.times(held / records as f64).max(chunk);
                        memory.held = memory.held + entering.times(held) + made;
                    }
                    // A stretch of several windows, and the records that the next one shares with it.
                    Role::Windows { length, hop, .. } => {
                        let stretch = length as f64 + hop as f64 * f64::from(stage.rows.max(1) - 1);
                        let held = entering.times(2.0 * stretch * times[id.row()]);
                        (memory.held, memory.chunks) = (memory.held + held, memory.chunks + chunk);
                    }
                    _ => memory.chunks = memory.chunks + chunk,
                }
            }
        }
    }
    memory.temporaries = memory.each_worker.times(workers as f64);
    memory
}

/// What a worker has room for, in all stages.
fn worked_in(
    stages: &IdVec<StageId, Stage>,
    flows: &IdVec<StageId, Flow>,
    registry: &Registry,
) -> Figure {
    let computing = stages.rows().iter().filter_map(|stage| match &stage.code {
        Code::Transform(it) => Some(temporaries(it, &flows[stage.inputs[0]].columns, registry)),
        _ => None,
    });
    computing.sum()
}

/// By stage, its lanes.
fn lanes(program: &Program) -> Vec<f64> {
    let mut times = vec![1.0; program.stages.len()];
    for lanes in &program.lanes {
        let own = lanes.stages(&program.stages);
        own.iter().for_each(|it| times[it.row()] = f64::from(lanes.count));
    }
    times
}

/// By stage, the records of a chunk, where it has so many lanes: fewer than planned where a source's are large.
fn chunk_records(
    stages: &IdVec<StageId, Stage>,
    flows: &IdVec<StageId, Flow>,
    lanes: &[f64],
) -> Vec<f64> {
    let mut records: Vec<f64> = Vec::with_capacity(stages.len());
    for (id, stage) in stages.iter() {
        let planned = f64::from(stage.rows);
        records.push(match &stage.code {
            Code::Source { .. } => {
                let bytes = flows[id].bytes().value as u64;
                planned.min(under_way::source_rows(bytes, lanes[id.row()] as u64) as f64)
            }
            Code::Transform(_) => records[stage.inputs[0].row()],
            Code::Operator { .. } => planned,
        });
    }
    records
}

/// By stage, whether what it makes goes to the stage of this step, which is slower and so has it wait.
fn before(stages: &IdVec<StageId, Stage>, slowest: Option<&StepEstimate>) -> Vec<bool> {
    let mut before = vec![false; stages.len()];
    for (id, stage) in stages.iter().rev() {
        let is_slowest = slowest.is_some_and(|it| stage.steps.contains(&it.step));
        if is_slowest || before[id.row()] {
            stage.inputs.iter().for_each(|it| before[it.row()] = true);
        }
    }
    before
}

/// Chunks of a stage that are being made or wait, where the next one is slower, and those that its workers are
/// at.
fn queued(stage: &Stage, cores: u32) -> f64 {
    let workers = cores as usize;
    let chunks = match &stage.code {
        Code::Transform(it) if it.reads => {
            under_way::chunks_read(workers, under_way::readers(workers))
        }
        _ => under_way::chunks_computed(workers),
    };
    (chunks + workers) as f64
}

/// The batches of so many rows and bytes that `own` gathers, where several workers write into them and it is known what
/// memory there is.
fn making(
    (own, steps): (Option<&StepEstimate>, &[StepEstimate]),
    (cores, budget): (u32, Option<u64>),
    (rows, bytes, each_worker): (u64, Figure, Figure),
) -> Option<Making> {
    let own = own.filter(|it| !it.filled_by.is_empty() && it.visits.value > 0.0)?;
    let ns = |it: &usize| steps[*it].ns.value * steps[*it].visits.value;
    let (memory, bytes) = (budget?, bytes.value as u64);
    let making = Making {
        workers: u64::from(cores),
        rows,
        room: under_way::room(memory, bytes),
        record_ns: own.filled_by.iter().map(ns).sum::<f64>() / own.visits.value,
        spread: own.filled_by.iter().map(|it| steps[*it].spread).fold(0.0, f64::max),
    };
    Some(making.within(memory, (bytes, each_worker.value as u64)))
}

/// Bytes of the values of one record that are neither read from a column nor written into one, and of
/// what the one of its functions works in that needs the most.
///
/// Arithmetic that only other arithmetic needs is assumed to be computed in one loop with it; views
/// copy nothing.
fn temporaries(transform: &Transform, columns: &[Figure], registry: &Registry) -> Figure {
    let graph = &transform.graph;
    let sizes = size::of_nodes(graph, columns, registry);
    let roots = output_roots(&transform.outputs).into_iter().chain(transform.filters.clone());
    let mut open: Vec<(ExprId, bool)> = roots.map(|it| (it, true)).collect();
    // By node: how often it is needed, and whether something other than arithmetic does.
    let mut needed = vec![(0_u32, false, false); graph.len()];
    while let Some((id, is_root)) = open.pop() {
        let (times, by_others, goes_out) = &mut needed[id.row()];
        *times += 1;
        *by_others |= is_root;
        *goes_out |= is_root;
        if *times == 1 {
            let others = !is_arithmetic(graph.expr(id));
            graph.expr(id).needs(|it| {
                open.push((it, false));
                needed[it.row()].1 |= others;
            });
        }
    }
    let counted = graph.iter().map(|it| it.0).filter(|id| {
        let (times, by_others, goes_out) = needed[id.row()];
        let elsewhere = match graph.expr(*id) {
            Expr::Column(_) | Expr::Const(_) | Expr::Else { .. } | Expr::Select(..) => true,
            Expr::Call { function, .. } => [Property::Moves, Property::Crops, Property::Passes]
                .into_iter()
                .any(|it| registry.has(function, it)),
            it => is_arithmetic(it) && times == 1 && !by_others,
        };
        times > 0 && !elsewhere && !(goes_out && times == 1)
    });
    let worked = graph.iter().filter(|it| needed[it.0.row()].0 > 0).map(|(id, expr, _)| {
        let entry = match expr {
            Expr::Call { function, .. } => registry.function(function),
            _ => None,
        };
        sizes[id].times(entry.map_or(0.0, |it| it.work))
    });
    let largest = worked.fold(Figure::default(), Figure::max);
    counted.map(|it| sizes[it]).sum::<Figure>() + largest
}

fn is_arithmetic(expr: &Expr) -> bool {
    matches!(expr, Expr::Unary(..) | Expr::Binary(..) | Expr::Cast(..))
}
