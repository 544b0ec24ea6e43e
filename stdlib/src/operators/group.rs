//! Rows of successive chunks as one chunk, without a copy where they lie next to each other.

use plan::{DType, Field, Type, shown_bytes};
use runtime::{
    Builder, Chunk, Column, Failure, Mark, Operator, OperatorCall, Pool, Scatter, Wants,
    memory_remedy,
};
use std::ops::Range;

/// Bytes of records that one operator may hold.
pub(super) const HELD_BYTES_MAX: usize = 4 << 30;
/// Times that what is put together is there: while it is copied, and with the one before.
const COPIES: u64 = 3;

/// Fails where an operator would hold more than its share of the run's memory.
pub(super) fn check_held(bytes: usize, share: u64, what: &str) -> Result<(), Failure> {
    check_part(bytes, bytes as u64, share, what)
}

/// The same of `bytes` that are a part of what will be about `whole`.
fn check_part(bytes: usize, whole: u64, share: u64, what: &str) -> Result<(), Failure> {
    let most = usize::try_from(share).unwrap_or(usize::MAX).min(HELD_BYTES_MAX);
    if bytes <= most {
        return Ok(());
    }
    let (bytes, shown) = (shown_bytes(bytes as u64), shown_bytes(most as u64));
    let (whose, more) = match most {
        HELD_BYTES_MAX => ("for an operator", String::new()),
        _ => {
            // Half of the memory at the least is for what one operator holds.
            let more = memory_remedy(whole.saturating_mul(COPIES));
            ("for it within the memory of the run", format!("raise it ({more}), "))
        }
    };
    let detail = format!(
        "{what} takes {bytes}, but the limit is {shown} {whose}: {more}make it smaller, or move \
         it before the steps that make the records large"
    );
    Err(Failure::Memory { label: String::new(), detail })
}

/// What a saved state is that is none of this operator.
pub(super) fn unfit(name: &str) -> Failure {
    Failure::State(format!("its state of `{name}` belongs to another program"))
}

/// What does not fit the program; the stage has a label of its own.
pub(super) fn failure(detail: impl Into<String>) -> Failure {
    Failure::Data { label: String::new(), detail: detail.into() }
}

/// Rows that will travel together.
///
/// Each column stays a view as long as its rows are neighbours in memory, which rows that were
/// written into a batch are; else it is copied.
pub(super) struct Group {
    fields: Vec<Field>,
    pool: Pool,
    rows: usize,
    epoch: u32,
    /// Bytes that it may take: half of the run's memory, unless said otherwise.
    share: u64,
    /// Whether large rows stay where they are, in a column that is scattered.
    scatters: bool,
    /// The ids, then the columns; none where there is no row.
    runs: Vec<Run>,
}

enum Run {
    View(Column),
    Copy(Builder),
    Scattered(Scatter),
}

impl Group {
    /// A group of records of the call's first input.
    pub(super) fn new(call: &OperatorCall<'_>) -> Self {
        Self::of(&call.inputs[0], call)
    }

    /// A group of records of these fields.
    pub(super) fn of(fields: &[Field], call: &OperatorCall<'_>) -> Self {
        let id = Field { name: "$id".to_owned(), ty: Type::scalar(DType::U64) };
        let fields = [id].into_iter().chain(fields.iter().cloned()).collect();
        Self {
            fields,
            pool: call.pool.clone(),
            rows: 0,
            epoch: call.epoch,
            share: call.memory / 2,
            scatters: false,
            runs: Vec::new(),
        }
    }

    /// The same, where large rows are not copied: who takes them does not ask that they lie end to end.
    pub(super) fn scattering(self) -> Self {
        Self { scatters: true, ..self }
    }

    /// The same, where it may take so many bytes.
    pub(super) fn with_share(self, share: u64) -> Self {
        Self { share, ..self }
    }

    /// How many rows are in it.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes that it may take.
    pub(super) fn share(&self) -> u64 {
        self.share
    }

    /// Bytes that its rows take.
    pub(super) fn bytes(&self) -> usize {
        let bytes = |it: &Run| match it {
            Run::View(column) => column.bytes(),
            Run::Copy(builder) => builder.bytes(),
            Run::Scattered(scatter) => scatter.bytes(),
        };
        self.runs.iter().map(bytes).sum()
    }

    /// Takes rows of `chunk` in; there will be about `room` in all.
    pub(super) fn add(&mut self, chunk: &Chunk, rows: Range<usize>, room: usize) {
        if rows.is_empty() {
            return;
        }
        let columns = [&chunk.ids].into_iter().chain(&chunk.columns);
        let cut = columns.map(|it| it.cut(rows.clone()));
        let scatters = self.scatters;
        if self.runs.is_empty() {
            let begun = |column: Column| match scatters {
                true => Run::View(column),
                false => Run::View(column.in_one_piece(&self.pool)),
            };
            self.runs.extend(cut.map(begun));
        } else {
            for ((run, column), field) in self.runs.iter_mut().zip(cut).zip(&self.fields) {
                run.add(&column, scatters, || Builder::new(&field.ty, room, &self.pool));
            }
        }
        self.rows += rows.len();
    }

    /// The rows as one chunk, if there are any; the group is empty then.
    pub(super) fn finish(&mut self) -> Option<Chunk> {
        let mut columns = self.runs.drain(..).map(Run::finish);
        let ids = columns.next()?;
        let rows = std::mem::take(&mut self.rows);
        Some(Chunk { rows, epoch: self.epoch, ids, columns: columns.collect() })
    }
}

impl Run {
    fn add(&mut self, more: &Column, scatters: bool, builder: impl FnOnce() -> Builder) {
        match self {
            Self::Copy(builder) => builder.append(more, 0..more.rows()),
            Self::Scattered(scatter) => scatter.append(more, 0..more.rows()),
            Self::View(column) => {
                *self = if let Some(both) = column.joined(more) {
                    Self::View(both)
                } else if let Some(mut scatter) = scatters.then(|| Scatter::of(column)).flatten() {
                    scatter.append(more, 0..more.rows());
                    Self::Scattered(scatter)
                } else {
                    let mut copy = builder();
                    copy.append(column, 0..column.rows());
                    copy.append(more, 0..more.rows());
                    Self::Copy(copy)
                };
            }
        }
    }

    fn finish(self) -> Column {
        match self {
            Self::View(column) => column,
            Self::Copy(builder) => builder.finish(),
            Self::Scattered(scatter) => scatter.finish(),
        }
    }
}

/// Cuts what flows through it into chunks of `rows` records, the first one of `first`.
pub(super) struct Regroup {
    group: Group,
    rows: usize,
    next: usize,
    /// Groups that may leave as one chunk.
    together: usize,
    what: &'static str,
}

impl Regroup {
    /// Groups of `rows` rows, the first of `first`; `what` names one, for messages.
    pub(super) fn new(group: Group, first: usize, rows: usize, what: &'static str) -> Self {
        Self { group, rows, next: first, together: 1, what }
    }

    /// The same, where up to `together` groups that lie whole in a chunk leave as one chunk, so that
    /// small ones cost less than a hop each.
    pub(super) fn together(self, together: usize) -> Self {
        Self { together, ..self }
    }

    /// Rows of a group.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Takes a chunk in, and appends the groups that it fills.
    pub(super) fn push(&mut self, chunk: &Chunk, out: &mut Vec<Chunk>) -> Result<(), Failure> {
        let mut from = 0;
        while from < chunk.rows {
            let left = chunk.rows - from;
            let more = match self.group.rows() {
                0 => left.saturating_sub(self.next) / self.rows,
                _ => 0,
            };
            let more = more.min(self.together - 1) * self.rows;
            let rows = (self.next - self.group.rows() + more).min(left);
            self.group.add(chunk, from..from + rows, self.next);
            from += rows;
            if self.group.rows() >= self.next {
                self.next = self.rows;
                out.extend(self.group.finish());
            }
        }
        let (bytes, rows) = (self.group.bytes(), self.group.rows().max(1) as u64);
        let whole = (bytes as u64 / rows).saturating_mul(self.next as u64);
        check_part(bytes, whole, self.group.share, self.what)
    }

    /// The point after the groups that are out: what was given since waits for more.
    pub(super) fn mark(&self, out: &[Chunk]) -> Mark {
        Mark { chunks: out.len(), state: Vec::new(), ahead: vec![self.group.rows() as u64] }
    }

    /// The rows that did not fill a group.
    pub(super) fn rest(&mut self) -> Option<Chunk> {
        self.group.finish()
    }
}

/// Cuts the stream into blocks, and does nothing else in order: what becomes of a block is left to `parallel`.
pub(super) struct Blocks {
    blocks: Regroup,
    mark: Option<Mark>,
    done: bool,
}

impl Blocks {
    pub(super) fn new(blocks: Regroup) -> Self {
        Self { blocks, mark: None, done: false }
    }
}

impl Operator for Blocks {
    fn wants(&self) -> Wants {
        if self.done { Wants::Nothing } else { Wants::Input(0) }
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        let Some(chunk) = chunk else {
            self.done = true;
            out.extend(self.blocks.rest());
            return Ok(());
        };
        let before = out.len();
        self.blocks.push(&chunk, out)?;
        self.mark = (out.len() > before).then(|| self.blocks.mark(out));
        Ok(())
    }

    fn holds(&self) -> u64 {
        self.blocks.rows() as u64
    }

    fn mark(&self) -> Option<Mark> {
        self.mark.clone().filter(|_| !self.done)
    }
}
