//! A small library for the tests, and programs that use it.

use super::{
    crowds::{LATE, crowd, follow, meet},
    once::keeping,
    sources::{FoundFirst, Gated, Numbers, Read, Streamed, Torn, Unplaced},
};
use crate::{
    Build, BuildOperator, BuildSource, Builder, Chunk, ChunkBuilder, Column, Failure, Fault,
    Kernel, Kernels, Operator, OperatorCall, Running, Wants, Working, mix,
};
use plan::{
    Arg, Code, DType, Expr, Field, Graph, IdVec, Index, Policy, Program, Records, Stage, StageId,
    Transform, Type,
};
use std::{
    sync::{
        Arc, Mutex, PoisonError, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

pub(super) struct Library;

impl Kernels for Library {
    fn function(&self, name: &str) -> Option<Build> {
        match name {
            "burn" => Some(|_| Ok(burn())),
            "fail_at" => Some(|_| Ok(fail_at())),
            "fail_each" => Some(|_| Ok(fail_each())),
            "panic_at" => Some(|_| Ok(panic_at())),
            "swell" => Some(|_| Ok(swell())),
            "pooled" => Some(|_| Ok(pooled())),
            "meet" => Some(|_| Ok(meet(0))),
            "meet_late" => Some(|_| Ok(meet(LATE))),
            "crowd" => Some(|_| Ok(crowd())),
            "follow" => Some(|_| Ok(follow())),
            _ => None,
        }
    }

    fn operator(&self, name: &str) -> Option<BuildOperator> {
        match name {
            "rechunk" => {
                Some(|call| Ok(serial(Rechunk { call: Kept::of(call), out: None, over: false })))
            }
            "twice" => Some(|call| Ok(twice(call))),
            "take" => Some(|call| Ok(serial(Take(int(call.args, 0) as usize)))),
            "cat" => Some(|call| Ok(serial(Cat { n: call.inputs.len(), at: 0 }))),
            "zip" => {
                Some(|call| Ok(serial(Zip { call: Kept::of(call), held: vec![None; 2], next: 0 })))
            }
            "batch" => Some(|call| {
                let rows = int(call.args, 0) as usize;
                Ok(serial(BatchOf { call: Kept::of(call), rows, held: None, over: false }))
            }),
            "keeping" => Some(|call| Ok(keeping(call))),
            "greedy" => Some(|_| Ok(serial(Greedy))),
            _ => None,
        }
    }

    fn source(&self, name: &str) -> Option<BuildSource> {
        match name {
            "numbers" => Some(|call| Ok(Arc::new(Numbers::of(call)))),
            "streamed" => Some(|call| Ok(Arc::new(Streamed(Numbers::of(call))))),
            "found" => Some(|call| Ok(Arc::new(FoundFirst(Numbers::of(call), torn(call.args))))),
            "read" => Some(|call| Ok(Arc::new(Read(Numbers::of(call))))),
            "torn" => Some(|call| Ok(Arc::new(Torn(Numbers::of(call), int(call.args, 1) as u64)))),
            "unplaced" => {
                Some(|call| Ok(Arc::new(Unplaced(Numbers::of(call), int(call.args, 1) as u64))))
            }
            "gated" => Some(|_| Ok(Arc::new(Gated))),
            _ => None,
        }
    }
}

pub(super) fn int(args: &[Arg], i: usize) -> i64 {
    match args[i] {
        Arg::Int(it) => it,
        _ => unreachable!("the tests give numbers"),
    }
}

/// The number that cannot be read, if there is one.
fn torn(args: &[Arg]) -> u64 {
    if args.len() > 1 { int(args, 1) as u64 } else { u64::MAX }
}

/// Takes longer for some numbers than for others, so that chunks overtake each other.
fn burn() -> Kernel {
    Kernel::compute(|args, out| {
        let x = args.int(0);
        let turns = mix(7, x as u64) % 8 * args.int(1) as u64;
        std::hint::black_box((0..turns).fold(x as u64, mix));
        out.scalar::<i64>(3 * x + 1)
    })
}

fn fail_at() -> Kernel {
    Kernel::compute(|args, out| match args.int(0) {
        x if x == args.int(1) => Err(Fault::new("told", format!("{x} was to fail"))),
        x => out.scalar::<i64>(x),
    })
}

fn fail_each() -> Kernel {
    Kernel::compute(|args, out| match args.int(0) {
        x if x % args.int(1) == 0 => Err(Fault::new("told", format!("{x} was to fail"))),
        x => out.scalar::<i64>(x),
    })
}

/// Times that a record of `swell` asked for its memory.
pub(super) static SWELLS: AtomicUsize = AtomicUsize::new(0);

/// Some records need so many KiB while they are computed, and fail where another one is computed then;
/// those that need none do not.
fn swell() -> Kernel {
    /// One that is computed, however that ends.
    struct AtWork<'a>(&'a AtomicUsize);
    impl Drop for AtWork<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let at_work = AtomicUsize::new(0);
    Kernel::compute(move |args, out| {
        at_work.fetch_add(1, Ordering::SeqCst);
        let _one = AtWork(&at_work);
        let x = args.int(0);
        if x % 37 == 5 {
            SWELLS.fetch_add(1, Ordering::SeqCst);
            let kib = args.int(1) as usize;
            let _room = Working::of(kib * 1024);
            if kib > 0 && at_work.load(Ordering::SeqCst) > 1 {
                return Err(Fault::new("told", "it is not alone".to_owned()));
            }
        }
        out.scalar::<i64>(2 * x)
    })
}

/// The only process that calls `pooled`, and those that wait for it.
static PROCESS: Mutex<()> = Mutex::new(());
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Is called in the process; with 1 it asks, at a time when another one waits for that, for memory that is
/// not there.
fn pooled() -> Kernel {
    Kernel::compute(|args, out| {
        let _process = match PROCESS.try_lock() {
            Ok(it) => it,
            Err(TryLockError::Poisoned(it)) => it.into_inner(),
            Err(TryLockError::WouldBlock) => crate::await_another(|| {
                WAITING.fetch_add(1, Ordering::SeqCst);
                let it = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
                WAITING.fetch_sub(1, Ordering::SeqCst);
                it
            }),
        };
        if args.int(1) == 1 && args.int(0) == 16 {
            for _ in 0..5000 {
                if WAITING.load(Ordering::SeqCst) > 0 {
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
            drop(Working::of(1 << 30));
        }
        out.scalar::<i64>(args.int(0))
    })
}

fn panic_at() -> Kernel {
    Kernel::compute(|args, out| {
        assert_ne!(args.int(0), args.int(1), "it was told to");
        out.scalar::<i64>(args.int(0))
    })
}

pub(super) fn serial(operator: impl Operator + 'static) -> Running {
    Running { serial: Box::new(operator), parallel: None }
}

/// What an operator keeps of its call.
pub(super) struct Kept {
    columns: Vec<Field>,
    rows: usize,
    epoch: u32,
    pool: crate::Pool,
}

impl Kept {
    pub(super) fn of(call: &OperatorCall<'_>) -> Self {
        let (columns, pool) = (call.columns.to_vec(), call.pool.clone());
        Self { columns, rows: call.rows, epoch: call.epoch, pool }
    }

    pub(super) fn builder(&self) -> ChunkBuilder {
        ChunkBuilder::new(&self.columns, self.rows, self.epoch, &self.pool)
    }
}

/// Records that [`Rechunk`] makes a chunk of, whatever the size of other chunks.
const RECHUNKED: usize = 16;

/// Chunks of another size.
struct Rechunk {
    call: Kept,
    out: Option<ChunkBuilder>,
    over: bool,
}

impl Operator for Rechunk {
    fn wants(&self) -> Wants {
        if self.over { Wants::Nothing } else { Wants::Input(0) }
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        for row in 0..chunk.as_ref().map_or(0, |it| it.rows) {
            let Kept { columns, epoch, pool, .. } = &self.call;
            let new = || ChunkBuilder::new(columns, RECHUNKED, *epoch, pool);
            let builder = self.out.get_or_insert_with(new);
            builder.append(chunk.as_ref().unwrap(), row..row + 1);
            if builder.rows() == RECHUNKED {
                out.extend(self.out.take().map(ChunkBuilder::finish));
            }
        }
        if chunk.is_none() {
            self.over = true;
            out.extend(self.out.take().map(ChunkBuilder::finish));
        }
        Ok(())
    }
}

/// Doubles, in the parallel step; fails there at a number.
fn twice(call: &OperatorCall<'_>) -> Running {
    let (kept, bad) = (Kept::of(call), int(call.args, 0));
    let over = call.epoch == u32::MAX;
    let step = move |chunk: Chunk, _| {
        let mut out = ChunkBuilder::new(&kept.columns, chunk.rows, kept.epoch, &kept.pool);
        for (row, &id) in chunk.ids().iter().enumerate() {
            let x = chunk.columns[0].row(row).int();
            if x == bad {
                return Err(Failure::Data { label: String::new(), detail: format!("{x} is bad") });
            }
            out.ids.push_scalar(id);
            out.columns[0].push_scalar(2 * x);
        }
        Ok(out.finish())
    };
    let serial = Rechunk { call: Kept::of(call), out: None, over };
    Running { serial: Box::new(serial), parallel: Some(Arc::new(step)) }
}

struct Take(usize);

impl Operator for Take {
    fn wants(&self) -> Wants {
        if self.0 == 0 { Wants::Nothing } else { Wants::Input(0) }
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        let rows = chunk.as_ref().map_or(0, |it| it.rows.min(self.0));
        self.0 = if chunk.is_some() { self.0 - rows } else { 0 };
        out.extend(chunk.map(|it| it.cut(0..rows)));
        Ok(())
    }
}

/// One input after the other.
struct Cat {
    n: usize,
    at: usize,
}

impl Operator for Cat {
    fn wants(&self) -> Wants {
        if self.at < self.n { Wants::Input(self.at) } else { Wants::Nothing }
    }

    fn push(
        &mut self,
        input: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        assert_eq!(input, self.at);
        self.at += usize::from(chunk.is_none());
        out.extend(chunk);
        Ok(())
    }
}

/// The sum of two inputs; ends with the shorter one.
struct Zip {
    call: Kept,
    held: Vec<Option<Chunk>>,
    next: usize,
}

impl Operator for Zip {
    fn wants(&self) -> Wants {
        if self.next == 2 { Wants::Nothing } else { Wants::Input(self.next) }
    }

    fn push(
        &mut self,
        input: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        if chunk.is_none() {
            self.next = 2;
            return Ok(());
        }
        self.held[input] = chunk;
        if let [Some(a), Some(b)] = &self.held[..] {
            let rows = a.rows.min(b.rows);
            let mut sums = self.call.builder();
            for row in 0..rows {
                sums.ids.push_scalar(mix(a.ids()[row], b.ids()[row]));
                sums.columns[0]
                    .push_scalar(a.columns[0].row(row).int() + b.columns[0].row(row).int());
            }
            out.push(sums.finish());
            for held in &mut self.held {
                *held = held.take().map(|it| it.cut(rows..it.rows)).filter(|it| it.rows > 0);
            }
        }
        self.next = if self.held[0].is_none() { 0 } else { 1 };
        Ok(())
    }
}

/// Batches; those that lie in their rows already are not copied. What is left at the end goes.
struct BatchOf {
    call: Kept,
    rows: usize,
    held: Option<Chunk>,
    over: bool,
}

/// Batches that were made without a copy, by all tests together.
pub(super) static DIRECT: AtomicUsize = AtomicUsize::new(0);

impl BatchOf {
    fn one(&self, chunk: &Chunk) -> Chunk {
        let Kept { columns, epoch, pool, .. } = &self.call;
        let copied = || {
            let mut copy = Builder::new(&columns[0].ty, 1, pool);
            copy.push(&chunk.columns[0].stacked().unwrap());
            copy.finish()
        };
        let column = chunk.columns[0].in_rows_of(chunk.rows).unwrap_or_else(copied);
        let mut ids = Builder::new(&Type::scalar(DType::U64), 1, pool);
        ids.push_scalar(chunk.ids().iter().fold(0, |a, &b| mix(a, b)));
        Chunk { rows: 1, epoch: *epoch, ids: ids.finish(), columns: vec![column] }
    }

    fn join(&self, held: Chunk, next: &Chunk) -> Chunk {
        let both = |a: &Column, b: &Column, ty: &Type| {
            let mut both = Builder::new(ty, held.rows + next.rows, &self.call.pool);
            both.append(a, 0..held.rows);
            both.append(b, 0..next.rows);
            both.finish()
        };
        let joined = held.columns[0].joined(&next.columns[0]);
        DIRECT.fetch_add(usize::from(joined.is_some()), Ordering::Relaxed);
        let copied = || both(&held.columns[0], &next.columns[0], &number().ty);
        let columns = vec![joined.unwrap_or_else(copied)];
        let ids = both(&held.ids, &next.ids, &Type::scalar(DType::U64));
        Chunk { rows: held.rows + next.rows, epoch: held.epoch, ids, columns }
    }
}

impl Operator for BatchOf {
    fn wants(&self) -> Wants {
        if self.over { Wants::Nothing } else { Wants::Input(0) }
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        let Some(chunk) = chunk else {
            self.over = true;
            return Ok(());
        };
        let mut all = match self.held.take() {
            Some(held) => self.join(held, &chunk),
            None => chunk,
        };
        while all.rows >= self.rows {
            out.push(self.one(&all.cut(0..self.rows)));
            all = all.cut(self.rows..all.rows);
        }
        self.held = Some(all).filter(|it| it.rows > 0);
        Ok(())
    }
}

/// Wants more than there is.
struct Greedy;

impl Operator for Greedy {
    fn wants(&self) -> Wants {
        Wants::Input(0)
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        out.extend(chunk);
        Ok(())
    }
}

fn number() -> Field {
    Field { name: "i".into(), ty: Type::scalar(DType::I64) }
}

/// A program in the making.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) stages: IdVec<StageId, Stage>,
    batched: bool,
    pub(super) once: Vec<StageId>,
}

impl Draft {
    fn push(&mut self, code: Code, inputs: &[StageId]) -> StageId {
        let n = self.stages.len();
        self.stages.push(Stage {
            code,
            inputs: inputs.to_vec(),
            columns: vec![number()],
            steps: vec![format!("s{n}")],
            labels: vec![format!("t.pipe:{n}:1")],
            rows: 16,
        })
    }

    pub(super) fn source(&mut self, entry: &str, args: &[i64]) -> StageId {
        let code = Code::Source {
            entry: entry.into(),
            args: args.iter().map(|it| Arg::Int(*it)).collect(),
            place: 1000 + self.stages.len() as u64,
            shuffles: Vec::new(),
            spans: None,
            skip: 0,
            take: None,
            laps: Some(1),
            windows: None,
        };
        self.push(code, &[])
    }

    /// A source with `(shuffles, skip, take, laps)`.
    pub(super) fn cut_source(
        &mut self,
        (entry, args): (&str, &[i64]),
        (order, from, most, times): (&[u64], u64, Option<u64>, Option<u64>),
    ) -> StageId {
        let id = self.source(entry, args);
        let Code::Source { shuffles, skip, take, laps, .. } = &mut self.stages[id].code else {
            unreachable!("it is a source")
        };
        (*shuffles, *skip, *take, *laps) = (order.to_vec(), from, most, times);
        id
    }

    /// `function(i, k)` of each record.
    pub(super) fn map(&mut self, function: &str, k: i64, input: StageId) -> StageId {
        let mut graph = Graph::default();
        let ty = Type::scalar(DType::I64);
        let column = graph.add(Expr::Column(0), ty.clone());
        let args = vec![Arg::Expr(column), Arg::Int(k)];
        let value = graph.add(Expr::Call { function: function.into(), args, draw: None }, ty);
        let transform = Transform {
            graph,
            steps: Vec::new(),
            filters: Vec::new(),
            outputs: Records::Listed(vec![vec![value]]),
            on_fault: Policy::Fail,
            files: Vec::new(),
            reads: false,
            foreign: false,
            vector: false,
            clean_vector: false,
            into_batch: None,
            another: Vec::new(),
        };
        self.push(Code::Transform(transform), &[input])
    }

    pub(super) fn transform(&mut self, id: StageId) -> &mut Transform {
        match &mut self.stages[id].code {
            Code::Transform(it) => it,
            _ => unreachable!("it is a transform"),
        }
    }

    pub(super) fn operator(&mut self, entry: &str, args: &[i64], inputs: &[StageId]) -> StageId {
        let args = args.iter().map(|it| Arg::Int(*it)).collect();
        let place = 2000 + self.stages.len() as u64;
        let columns = self.stages[inputs[0]].columns.clone();
        let code = Code::Operator { entry: entry.into(), args, names: Vec::new(), place };
        let id = self.push(code, inputs);
        self.stages[id].columns = columns;
        id
    }

    /// Batches of `n`, written in place where the input is a transform that loses nothing.
    pub(super) fn batch(&mut self, n: u64, input: StageId) -> StageId {
        if let Code::Transform(it) = &mut self.stages[input].code {
            it.into_batch = (it.on_fault == Policy::Fail).then_some(n);
        }
        let id = self.operator("batch", &[n as i64], &[input]);
        self.stages[id].columns[0].ty = Type::tensor(DType::I64, &[n]);
        self.batched = true;
        id
    }

    pub(super) fn program(self) -> Program {
        let last = self.stages.rows().last().unwrap();
        Program {
            format: plan::FORMAT,
            name: "t".into(),
            output: last.columns.clone(),
            batched: self.batched,
            deal: plan::Deal::each(self.last()),
            lanes: Vec::new(),
            beside: Vec::new(),
            once: self.once,
            jit: true,
            stages: self.stages,
        }
    }

    pub(super) fn last(&self) -> StageId {
        StageId::new(self.stages.len() - 1)
    }
}
