//! Evaluates the expressions of a stage over the records of a chunk.

mod arith;
mod by_file;
mod code;
mod convert;
mod files;
#[cfg(feature = "jit")]
mod fused;
#[cfg(not(feature = "jit"))]
#[path = "plain.rs"]
mod fused;
mod kept;
mod landed;
mod machine;
mod name;
mod nodes;
mod number;
mod policy;
mod spare;
mod stacked;
mod straight;
mod timing;
mod word;

use crate::{
    Buffer, Builder, Chunk, ChunkBuilder, Column, Failure, Kernels, Out, Outside, Pool, Shape,
    Source, far, foreign, mix, tokens::Watch,
};
pub use by_file::ByFile;
pub use code::{Listed, MachineCode, OwnCode, Prepared, machine_code, precompile, processors};
use files::File;
pub(crate) use fused::Jit;
use landed::Reading;
use machine::{Machine, Stop, Subject};
pub(crate) use name::Name;
use name::name_of;
use nodes::Node;
pub(crate) use nodes::Tap;
use plan::{DType, ExprId, Field, IdVec, Policy, Records, Stage, Transform, VarId, parts::Keep};
pub(crate) use policy::Lost;
pub(crate) use spare::Spare;
use stacked::unless_given_up;
use std::{
    slice,
    sync::{Arc, OnceLock},
};
pub use timing::{CallStats, Calls};

/// What a transform needs from outside when it is made.
pub(crate) struct Surroundings<'a> {
    /// The library.
    pub(crate) kernels: &'a dyn Kernels,
    /// The seed of the run.
    pub(crate) seed: u64,
    /// Where its columns come from.
    pub(crate) pool: &'a Pool,
    /// The source of each stage that is one, by the stage's number.
    pub(crate) sources: &'a [Option<Arc<dyn Source>>],
    /// Whether it is measured where the time goes.
    pub(crate) is_measured: bool,
    /// What compiles arithmetic.
    pub(crate) jit: &'a Jit,
}

/// The stage of a program that computes each record alone, made ready to run.
pub(crate) struct Compiled {
    name: Name,
    /// What its steps are called, and in which of them each node is written.
    names: Vec<Name>,
    steps: Vec<u32>,
    values: Values,
    /// The same of a clean chunk (`plan::clean`), by which columns one is known.
    clean: Option<(Vec<u32>, Values)>,
    /// Whether a value is kept from epoch to epoch.
    keeps: OnceLock<()>,
    n_vars: u32,
    columns: Vec<Field>,
    /// Dtype and extents of each, where the type fixes them.
    fixed: Vec<Option<(DType, Shape)>>,
    on_fault: Policy,
    /// What was read from a file, and what names it.
    files: Vec<File>,
    /// What is read of far storages for all records of a chunk at once.
    reading: Reading,
    spare: Option<Spare>,
    spare_key: u64,
    /// Sources of the program, which know their records by name.
    sources: Vec<Arc<dyn Source>>,
    pool: Pool,
    /// Whether it is measured where the time goes, and what came of it.
    is_measured: bool,
    measured: timing::Measured,
    /// Where it calls functions outside and does little else: who has them.
    outside: Option<Arc<dyn Outside>>,
    /// See [`Compiled::register_bytes`].
    register_bytes: u64,
}

/// What is computed of a record: values by their numbers in the stage's graph.
struct Values {
    nodes: IdVec<ExprId, Node>,
    filters: Vec<ExprId>,
    outputs: Records,
    /// Whether a chunk is computed at once.
    vector: bool,
}

impl Values {
    fn new(transform: &Transform, around: &Surroundings<'_>) -> Result<Self, Failure> {
        let records = match &transform.outputs {
            Records::Counted { var, outputs, .. } => Some((*var, &outputs[..])),
            Records::Listed(_) => None,
        };
        // Such a loop would write registers anew whose values are held ([`machine::value`]).
        if let Some(var) = transform.graph.clash(records) {
            let detail = format!("the program is damaged: a loop over {var} is within another one");
            return Err(Failure::Program(detail));
        }
        let mut nodes = nodes::prepare(&transform.graph, around)?;
        let wanted = transform.wanted();
        wanted.iter().for_each(|&id| nodes[id].users += 1);
        around.jit.fuse(&mut nodes, &transform.graph, (&wanted, transform.vector));
        let (filters, outputs) = (transform.filters.clone(), transform.outputs.clone());
        Ok(Self { nodes, filters, outputs, vector: transform.vector })
    }
}

/// What is computed of each record of a chunk.
struct Chosen<'a> {
    all: &'a Values,
    /// What is computed of those in which all of these columns are true.
    clean: Option<(Vec<&'a [bool]>, &'a Values)>,
}

impl<'a> Chosen<'a> {
    fn of(&self, row: usize) -> &'a Values {
        match &self.clean {
            Some((columns, clean)) if columns.iter().all(|it| it[row]) => clean,
            _ => self.all,
        }
    }
}

/// A worker's own memory for one stage.
pub(crate) struct Registers {
    machine: Machine,
    /// Bytes of a record in each column of the chunk that was made last.
    row_bytes: Vec<usize>,
    /// Of the stages that other records come through.
    chain: Vec<Registers>,
}

/// Rows of a batch that a chunk's values are written into: one buffer for each column.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    /// The batch's columns; others write other rows of them meanwhile.
    pub(crate) columns: Arc<Vec<Arc<Buffer>>>,
    /// The row of the first record.
    pub(crate) row: usize,
    /// Rows that the batch has in all.
    pub(crate) rows: usize,
}

impl Compiled {
    /// Makes the transform of `stage` ready.
    pub(crate) fn new(
        stage: &Stage,
        transform: &Transform,
        spare: Option<Spare>,
        around: &Surroundings<'_>,
    ) -> Result<Self, Failure> {
        let values = Values::new(transform, around)?;
        // A record that takes another's place may be one that is not clean.
        let clean = transform.clean().filter(|_| spare.is_none());
        let clean = clean.map(|(it, columns)| Ok((columns, Values::new(&it, around)?)));
        let (nodes, wanted) = (&values.nodes, transform.wanted());
        let reading = Reading::of(nodes, transform);
        let register_bytes = nodes::register_bytes(nodes, &transform.graph, &wanted);
        Ok(Self {
            register_bytes,
            name: Name::of(stage),
            names: Name::each(stage),
            steps: transform.steps.clone(),
            values,
            clean: clean.transpose()?,
            keeps: OnceLock::new(),
            n_vars: transform.graph.n_vars,
            columns: stage.columns.clone(),
            fixed: stage.columns.iter().map(fixed).collect(),
            on_fault: transform.on_fault,
            files: files::of(transform),
            reading,
            spare,
            spare_key: mix(around.seed, 0x0061_6e6f_7468_6572),
            sources: around.sources.iter().flatten().cloned().collect(),
            pool: around.pool.clone(),
            is_measured: around.is_measured,
            measured: timing::Measured::default(),
            outside: around.kernels.outside().filter(|_| transform.foreign),
        })
    }

    /// Memory for one worker.
    pub(crate) fn registers(&self) -> Registers {
        let chain = self.spare.iter().flat_map(|it| &it.chain).map(|it| it.registers()).collect();
        let machine = Machine::new(&self.values.nodes, self.n_vars, (self.is_measured, &self.pool));
        Registers { machine, row_bytes: Vec::new(), chain }
    }

    /// The records that become of those of `chunk`, in order; into `to` where that is given.
    ///
    /// With a destination the rows of the result are as many as those of `chunk`.
    pub(crate) fn run(
        &self,
        registers: &mut Registers,
        chunk: &Chunk,
        to: Option<&Destination>,
        lost: &mut Vec<Lost>,
    ) -> Result<Chunk, Failure> {
        let begin = Watch::begin();
        let mut done = None;
        let mut run = || {
            let values = self.choose(chunk);
            done = Some(match (values.all.vector, to) {
                (true, _) => self.run_at_once(values.all, &mut registers.machine, (chunk, to)),
                (false, Some(to)) => self.run_into((&values, registers), (chunk, to), lost),
                (false, None) => self.run_each((&values, registers), chunk, lost),
            });
        };
        match &self.outside {
            Some(outside) => foreign::during(outside, &mut run),
            None => run(),
        }
        let done = done.unwrap_or_else(|| Err(Failure::Stopped));
        let took = (chunk.rows, begin.elapsed());
        registers.machine.timing.hand_over(took, &self.measured);
        done
    }

    /// What is computed of the records of `chunk`.
    fn choose<'a>(&'a self, chunk: &'a Chunk) -> Chosen<'a> {
        let clean = self.clean.as_ref().filter(|_| {
            // What is kept hangs on the other values.
            self.keeps.get().is_none()
        });
        let of = |it: &u32| chunk.columns[*it as usize].as_slice::<bool>();
        let decided = clean.and_then(|(columns, clean)| {
            let columns: Option<Vec<&[bool]>> = columns.iter().map(of).collect();
            Some((columns?, clean))
        });
        match decided {
            Some((columns, clean)) if columns.iter().all(|it| !it.contains(&false)) => {
                Chosen { all: clean, clean: None }
            }
            clean => Chosen { all: &self.values, clean },
        }
    }

    /// Keeps a value from epoch to epoch, or spares one that only such a one needs; `false` where
    /// there is no such value, or it cannot be spared.
    pub(crate) fn keep(&self, id: ExprId, tap: Tap) -> bool {
        let _ = self.keeps.set(());
        let Values { nodes, vector, .. } = &self.values;
        if tap.keep == Keep::Index {
            let mut parts = nodes.iter().filter_map(|it| it.1.straight.as_ref());
            let part = parts.find(|it| it.is_part && it.whole == id);
            return part.is_some_and(|it| it.index.set(tap).is_ok());
        }
        let node = nodes.get(id).filter(|_| !vector);
        let node = node.filter(|it| !tap.is_spared || it.dtype.is_some_and(DType::is_text));
        let keeps = node.is_some_and(|it| it.tap.set(tap).is_ok());
        if keeps {
            nodes.iter().filter_map(|it| it.1.fused.as_ref()).for_each(|it| it.give_way(id));
        }
        keeps
    }

    /// Bytes of the values that stand between the columns of a record and what becomes of it, as far
    /// as their types tell: each worker has memory for one of each.
    pub(crate) fn register_bytes(&self) -> u64 {
        self.register_bytes
    }

    /// What a person would call a record of `chunk`.
    pub(crate) fn record_name(&self, chunk: &Chunk, row: usize) -> String {
        name_of(&self.sources, chunk, row)
    }

    /// Whether it computes a whole chunk at a time.
    pub(crate) fn is_at_once(&self) -> bool {
        self.values.vector
    }

    /// Whether it calls functions outside.
    pub(crate) fn calls_out(&self) -> bool {
        self.outside.is_some()
    }

    /// Where its time goes, as far as it was looked at.
    pub(crate) fn calls(&self) -> Calls {
        self.measured.calls()
    }

    /// Record by record, into a new chunk.
    fn run_each(
        &self,
        (values, registers): (&Chosen<'_>, &mut Registers),
        chunk: &Chunk,
        lost: &mut Vec<Lost>,
    ) -> Result<Chunk, Failure> {
        let mut out = ChunkBuilder::new(&self.columns, chunk.rows, chunk.epoch, &self.pool);
        // An eighth more than the last ones took: what grows is copied.
        for (column, bytes) in out.columns.iter_mut().zip(&registers.row_bytes) {
            column.expect((bytes + bytes / 8).saturating_mul(chunk.rows));
        }
        self.read_ahead(&mut registers.machine, chunk);
        for row in 0..chunk.rows {
            let (kept, n_lost) = (out.rows(), lost.len());
            let values = values.of(row);
            self.with_policy(registers, (chunk, row), lost, |machine, subject| {
                let appended = values.append(machine, subject, &mut out);
                if appended.is_err() {
                    out.truncate(kept);
                }
                appended
            })?;
            lost[n_lost..].iter_mut().for_each(|it| it.kept = kept);
        }
        let row_bytes = out.columns.iter().map(|it| it.bytes() / out.rows().max(1));
        registers.row_bytes.clear();
        registers.row_bytes.extend(row_bytes);
        Ok(out.finish())
    }

    /// Record by record, each into its row of a batch.
    fn run_into(
        &self,
        (values, registers): (&Chosen<'_>, &mut Registers),
        (chunk, to): (&Chunk, &Destination),
        lost: &mut Vec<Lost>,
    ) -> Result<Chunk, Failure> {
        let mut ids = Builder::new(&plan::Type::scalar(DType::U64), chunk.rows, &self.pool);
        self.read_ahead(&mut registers.machine, chunk);
        for row in 0..chunk.rows {
            let kept = ids.rows();
            let values = values.of(row);
            let Records::Listed(lists) = &values.outputs else {
                unreachable!("a batch is written into by a map")
            };
            self.with_policy(registers, (chunk, row), lost, |machine, subject| {
                ids.truncate(kept);
                for (column, &id) in lists[0].iter().enumerate() {
                    let mut out = self.slot(to, column, row, 1, None);
                    machine.find_into(&values.nodes, subject, id, &mut out)?;
                }
                ids.push_scalar(subject.id());
                Ok(())
            })?;
            assert_eq!(ids.rows(), kept + 1, "the compiler batches in place only what cannot go");
        }
        Ok(self.batch_rows(chunk, to, ids.finish()))
    }

    /// The rows of a batch that `chunk` has become.
    fn batch_rows(&self, chunk: &Chunk, to: &Destination, ids: Column) -> Chunk {
        let columns = to.columns.iter().enumerate().map(|(column, values)| {
            let (dtype, shape) = self.fixed(column);
            let whole = Column::fixed(dtype, shape, to.rows, values.clone());
            whole.cut(to.row..to.row + chunk.rows)
        });
        Chunk { rows: chunk.rows, epoch: chunk.epoch, ids, columns: columns.collect() }
    }

    fn fixed(&self, column: usize) -> (DType, Shape) {
        self.fixed[column].expect("the compiler batches in place only fixed extents")
    }

    /// Room for the values of `column` from record `row` on, for `rows` records with an `axis` of them.
    fn slot<'a>(
        &self,
        to: &'a Destination,
        column: usize,
        row: usize,
        rows: usize,
        axis: Option<usize>,
    ) -> Out<'a> {
        let (dtype, shape) = self.fixed(column);
        let each = shape.elements() * dtype.size();
        let all = match axis {
            None => shape,
            Some(axis) => {
                let all: Vec<usize> = [axis].iter().chain(shape.iter()).copied().collect();
                Shape::new(&all)
            }
        };
        // SAFETY: rows of a batch belong to the chunk that they were given to, and to one worker.
        let room = unsafe {
            let first = to.columns[column].as_ptr().add((to.row + row) * each);
            slice::from_raw_parts_mut(first.as_ptr(), rows * each)
        };
        Out::slot(dtype, all, room)
    }

    /// All records at once: every node is a scalar, total and cheap.
    fn run_at_once(
        &self,
        values: &Values,
        machine: &mut Machine,
        (chunk, to): (&Chunk, Option<&Destination>),
    ) -> Result<Chunk, Failure> {
        let Records::Listed(lists) = &values.outputs else {
            unreachable!("a chunk at once is not multiplied")
        };
        machine.next_record();
        machine.timing.next(chunk.rows as u64);
        let subject = Subject { chunk, row: None };
        let done = match to {
            Some(to) => self.at_once_into(values, (machine, subject), &lists[0], to),
            None => self.at_once(values, (machine, subject), &lists[0]),
        };
        done.map_err(|stop| {
            let (Stop::Fault(fault) | Stop::Policy(fault, _)) = stop;
            Failure::Program(format!("{}: a total computation failed: {fault}", self.name.label))
        })
    }

    fn at_once_into(
        &self,
        values: &Values,
        (machine, subject): (&mut Machine, Subject<'_>),
        outputs: &[ExprId],
        to: &Destination,
    ) -> Result<Chunk, Stop> {
        let rows = subject.chunk.rows;
        for (column, &id) in outputs.iter().enumerate() {
            let mut out = self.slot(to, column, 0, rows, Some(rows));
            values.fill(machine, subject, id, &mut out)?;
        }
        Ok(self.batch_rows(subject.chunk, to, subject.chunk.ids.clone()))
    }

    fn at_once(
        &self,
        values: &Values,
        (machine, subject): (&mut Machine, Subject<'_>),
        outputs: &[ExprId],
    ) -> Result<Chunk, Stop> {
        let chunk = subject.chunk;
        let mut columns = Vec::with_capacity(outputs.len());
        for (field, &id) in self.columns.iter().zip(outputs) {
            columns.push(match &values.nodes[id].code {
                nodes::Code::Column(i) => chunk.columns[*i].clone(),
                _ => {
                    let mut column = Builder::new(&field.ty, chunk.rows, &self.pool);
                    let dtype = column.dtype();
                    let room = column.fixed_rows(chunk.rows);
                    let mut out = Out::slot(dtype, Shape::new(&[chunk.rows]), room);
                    values.fill(machine, subject, id, &mut out)?;
                    column.finish()
                }
            });
        }
        let all = Chunk { rows: chunk.rows, epoch: chunk.epoch, ids: chunk.ids.clone(), columns };
        match values.kept(machine, subject)? {
            Some(kept) if kept.len() < chunk.rows => {
                let mut out = ChunkBuilder::new(&self.columns, kept.len(), chunk.epoch, &self.pool);
                out.gather(&all, &kept);
                Ok(out.finish())
            }
            _ => Ok(all),
        }
    }
}

impl Values {
    /// Appends what becomes of one record: nothing where a filter says so.
    fn append(
        &self,
        machine: &mut Machine,
        subject: Subject<'_>,
        out: &mut ChunkBuilder,
    ) -> Result<(), Stop> {
        for &filter in &self.filters {
            if machine.word(&self.nodes, subject, filter)? == 0 {
                return Ok(());
            }
        }
        match &self.outputs {
            Records::Listed(lists) if lists.len() == 1 => {
                self.append_one(machine, subject, &lists[0], (subject.id(), out))
            }
            Records::Listed(lists) => lists.iter().zip(0..).try_for_each(|(list, copy)| {
                self.append_one(machine, subject, list, (mix(subject.id(), copy), out))
            }),
            Records::Counted { count, var, outputs } => {
                self.append_counted(machine, subject, (*count, *var, outputs), out)
            }
        }
    }

    fn append_counted(
        &self,
        machine: &mut Machine,
        subject: Subject<'_>,
        (count, var, outputs): (ExprId, VarId, &[ExprId]),
        out: &mut ChunkBuilder,
    ) -> Result<(), Stop> {
        for copy in 0..machine.find(&self.nodes, subject, count)?.int().max(0) {
            unless_given_up(copy)?;
            machine.set(&self.nodes, var, copy);
            let id = mix(subject.id(), copy as u64);
            self.append_one(machine, subject, outputs, (id, out))?;
        }
        Ok(())
    }

    fn append_one(
        &self,
        machine: &mut Machine,
        subject: Subject<'_>,
        outputs: &[ExprId],
        (id, out): (u64, &mut ChunkBuilder),
    ) -> Result<(), Stop> {
        for (column, &output) in out.columns.iter_mut().zip(outputs) {
            machine.find_into(&self.nodes, subject, output, &mut Out::row(column))?;
        }
        out.ids.push_scalar(id);
        Ok(())
    }

    /// Writes one value for each record, also where one serves all.
    fn fill(
        &self,
        machine: &mut Machine,
        subject: Subject<'_>,
        id: ExprId,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        if self.nodes[id].varies {
            return machine.find_into(&self.nodes, subject, id, out);
        }
        let one = machine.find(&self.nodes, subject, id)?;
        let (dtype, rows) = (one.dtype(), subject.chunk.rows);
        let bytes = one.as_bytes().expect("a scalar has no gaps");
        let room = out.room(dtype, Shape::new(&[rows]))?;
        far::fill(room, bytes, false);
        Ok(())
    }

    /// The records that every filter keeps; none where there is no filter.
    fn kept(&self, machine: &mut Machine, subject: Subject<'_>) -> Result<Option<Vec<u32>>, Stop> {
        let mut kept: Option<Vec<u32>> = None;
        for &filter in &self.filters {
            let found = machine.find(&self.nodes, subject, filter)?;
            let keep = found.as_slice::<bool>().expect("filters are booleans without gaps");
            let keeps = |row: usize| keep[if keep.len() == 1 { 0 } else { row }];
            let mut next = vec![0; subject.chunk.rows];
            let mut n = 0;
            match kept {
                None => (0..subject.chunk.rows).for_each(|row| {
                    next[n] = row as u32;
                    n += usize::from(keeps(row));
                }),
                Some(rows) => rows.into_iter().for_each(|row| {
                    next[n] = row;
                    n += usize::from(keeps(row as usize));
                }),
            }
            next.truncate(n);
            kept = Some(next);
        }
        Ok(kept)
    }
}

impl Subject<'_> {
    /// The id of the record.
    fn id(&self) -> u64 {
        self.chunk.ids()[self.row.expect("a record has an id, a chunk has many")]
    }
}

fn fixed(field: &Field) -> Option<(DType, Shape)> {
    Some((field.ty.dtype()?, Shape::new(&field.ty.fixed()?)))
}
