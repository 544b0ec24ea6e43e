//! What a program gives, as text, and that it gives the same however it is run.

use driver::Compiled;
use plan::Field;
use runtime::{Chunk, Failure, Options, Position, Tensor};

/// Outputs that are shown.
const SHOWN: usize = 3;
/// Elements of a value that are shown.
const ELEMENTS: usize = 8;

/// How a program is run: threads, and records of a chunk.
const WAYS: [(usize, Option<usize>); 6] =
    [(1, None), (2, Some(1)), (3, Some(7)), (8, Some(1000)), (2, None), (8, Some(1))];

/// What `compiled` gives; the same for every number of workers and every size of chunks, and
/// where it is stopped and gone on with.
pub(crate) fn of(compiled: &Compiled) -> Result<String, String> {
    let first = run(compiled, WAYS[0], None);
    for way in &WAYS[1..] {
        let other = run(compiled, *way, None);
        if other.text() != first.text() {
            let (other, first) = (other.text(), first.text());
            return Err(format!("with {way:?}:\n{other}\nwith {:?}:\n{first}", WAYS[0]));
        }
    }
    for (way, stop) in WAYS.iter().zip([1, first.n / 3, first.n / 2, first.n.saturating_sub(1)]) {
        let other = run(compiled, *way, Some(stop));
        if other.records != first.records {
            let (other, first) = (other.records, first.records);
            return Err(format!("stopped after {stop}, {way:?}:\n{other}\nelse:\n{first}"));
        }
    }
    Ok(first.text())
}

/// What came of a run.
struct Output {
    n: usize,
    /// The records, or why there are none.
    records: String,
    lost: String,
}

impl Output {
    fn text(&self) -> String {
        format!("{}{}", self.records, self.lost)
    }
}

/// Runs it; where `stop` says so, another run goes on after so many records.
fn run(
    compiled: &Compiled,
    (workers, chunk_rows): (usize, Option<usize>),
    stop: Option<usize>,
) -> Output {
    let memory = 1 << 30;
    let base = Options { seed: 1, workers, readers: 2, memory, chunk_rows, ..Options::default() };
    let mut options = Options { epochs: 0..2, ..base };
    let mut records =
        Records { fields: &compiled.program.output, n: 0, hash: 0, shown: String::new() };
    let mut lost = String::new();
    for limit in stop.map(Some).into_iter().chain([None]) {
        match some(compiled, &options, &mut records, limit) {
            Ok(Stood { position, lost: now }) => {
                let again = Position::from_numbers(position.epoch, &position.numbers());
                let position = again.expect("what was written can be read");
                // With other threads.
                (options.workers, options.epochs) = (4 - workers.min(3), position.epoch..2);
                (options.resume, lost) = (Some(position), now);
            }
            Err(failure) => {
                let records = format!("{}failed: {failure}\n", records.text());
                return Output { n: 0, records, lost };
            }
        }
    }
    Output { n: records.n, records: records.text(), lost }
}

/// Where a run has stood, and what it had lost by then.
struct Stood {
    position: Position,
    lost: String,
}

/// Runs it until there are `limit` records.
fn some(
    compiled: &Compiled,
    options: &Options,
    records: &mut Records<'_>,
    limit: Option<usize>,
) -> Result<Stood, Failure> {
    let mut run = runtime::start(&compiled.program, &stdlib::Kernels, options)?;
    let mut position = run.position_after(0);
    while limit.is_none_or(|it| records.n < it) {
        let Some(chunk) = run.next() else { break };
        let chunk = chunk?;
        let rows = limit.map_or(chunk.rows, |it| chunk.rows.min(it - records.n));
        (0..rows).for_each(|row| records.add(&chunk, row));
        position = run.position_after(rows);
    }
    let lost = run.stats().lost.iter().map(|(code, n)| format!("lost: {n} {code}\n")).collect();
    Ok(Stood { position, lost })
}

/// Records as they come, cut into chunks or not.
struct Records<'a> {
    fields: &'a [Field],
    n: usize,
    hash: u64,
    shown: String,
}

impl Records<'_> {
    fn add(&mut self, chunk: &Chunk, row: usize) {
        for (field, column) in self.fields.iter().zip(&chunk.columns) {
            let value = column.row(row);
            let bytes = value.as_bytes().expect("columns have no gaps");
            self.hash = plan::mix(self.hash, plan::hash(bytes));
            if self.n < SHOWN {
                self.shown += &format!("{}: {}\n", field.name, shown(&value));
            }
        }
        self.n += 1;
    }

    fn text(&self) -> String {
        format!("{}{} records in 2 epochs, hash {:016x}\n", self.shown, self.n, self.hash)
    }
}

fn shown(value: &Tensor<'_>) -> String {
    if value.dtype().is_text() {
        let text = String::from_utf8_lossy(value.as_text());
        let cut: String = text.chars().take(40).collect();
        return format!("{cut:?}");
    }
    let flat = value.reshaped(&[value.elements()]).expect("columns have no gaps");
    let elements = (0..value.elements().min(ELEMENTS)).map(|it| flat.element(it));
    let mut all: Vec<String> = elements.map(|it| number(&it)).collect();
    if value.elements() > ELEMENTS {
        all.push("…".to_owned());
    }
    match value.shape() {
        [] => all.concat(),
        shape => format!("{}{shape:?} [{}]", value.dtype(), all.join(", ")),
    }
}

fn number(value: &Tensor<'_>) -> String {
    match value.dtype() {
        plan::DType::Bool => value.first::<bool>().to_string(),
        it if it.is_float() => format!("{}", value.number() as f32),
        plan::DType::U64 => value.first::<u64>().to_string(),
        _ => value.int().to_string(),
    }
}
