//! What a program gives, as text, and that it gives the same however it is run.

use driver::Compiled;
use plan::Field;
use runtime::{Chunk, Options, Tensor};

/// Outputs that are shown.
const SHOWN: usize = 3;
/// Elements of a value that are shown.
const ELEMENTS: usize = 8;

/// How a program is run: threads, and records of a chunk.
const WAYS: [(usize, Option<usize>); 6] =
    [(1, None), (2, Some(1)), (3, Some(7)), (8, Some(1000)), (2, None), (8, Some(1))];

/// What `compiled` gives; the same for every number of workers and every size of chunks.
pub(crate) fn of(compiled: &Compiled) -> Result<String, String> {
    let first = run(compiled, WAYS[0]);
    for way in &WAYS[1..] {
        let other = run(compiled, *way);
        if other != first {
            return Err(format!("with {way:?}:\n{other}\nwith {:?}:\n{first}", WAYS[0]));
        }
    }
    Ok(first)
}

fn run(compiled: &Compiled, (workers, chunk_rows): (usize, Option<usize>)) -> String {
    let options =
        Options { seed: 1, workers, readers: 2, memory: 1 << 30, epochs: 0..2, chunk_rows };
    let mut records =
        Records { fields: &compiled.program.output, n: 0, hash: 0, shown: String::new() };
    let mut run = match runtime::start(&compiled.program, &stdlib::Kernels, &options) {
        Ok(run) => run,
        Err(failure) => return format!("failed: {failure}\n"),
    };
    for next in run.by_ref() {
        match next {
            Ok(chunk) => (0..chunk.rows).for_each(|row| records.add(&chunk, row)),
            Err(failure) => return format!("{}failed: {failure}\n", records.text()),
        }
    }
    let lost: String =
        run.stats().lost.iter().map(|(code, n)| format!("lost: {n} {code}\n")).collect();
    format!("{}{lost}", records.text())
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
