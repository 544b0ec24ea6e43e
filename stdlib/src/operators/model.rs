//! What the tests of operators share: records as plain values, and operators run on them.
//!
//! Every operator is run over random cuts of the same input, and must give the records that an
//! obvious function on a list gives, ids and all.

use crate::{Operator, prelude::*};
use runtime::{Builder, Finish, Kept, OperatorCall, Philox, Pool, Running, Wants, mix};
use std::{collections::VecDeque, fmt, ops::Deref};

/// The key of every run.
pub(super) const KEY: u64 = 0x5EED;
/// The epoch of every run.
pub(super) const EPOCH: u32 = 3;

/// A value: dtype, extents, bytes in C order.
#[derive(Clone, PartialEq)]
pub(super) struct Value {
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

/// A record: its id and its fields.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Record {
    pub(super) id: u64,
    pub(super) values: Vec<Value>,
}

/// Records of the same fields.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) fields: Vec<Field>,
    pub(super) records: Vec<Record>,
}

impl Deref for Table {
    type Target = [Record];
    fn deref(&self) -> &[Record] {
        &self.records
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}{:?}", self.dtype, self.shape, self.bytes)
    }
}

impl Value {
    /// The value that a tensor is.
    pub(super) fn of(tensor: &Tensor<'_>) -> Self {
        let mut bytes = vec![0; tensor.bytes()];
        tensor.copy_to(&mut bytes);
        Self { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), bytes }
    }

    /// A tensor of these elements.
    pub(super) fn new<T: runtime::Element>(shape: &[usize], elements: &[T]) -> Self {
        Self::of(&Tensor::new(shape, elements))
    }

    pub(super) fn scalar<T: runtime::Element>(value: T) -> Self {
        Self::new(&[], &[value])
    }

    pub(super) fn text(text: &str) -> Self {
        Self::of(&Tensor::text(DType::Str, text.as_bytes()))
    }

    /// Texts as one value, with empty ones up to `n`: how many, where each ends, the texts.
    pub(super) fn texts<'a>(all: impl IntoIterator<Item = &'a Value>, n: usize) -> Self {
        let all: Vec<_> = all.into_iter().collect();
        let mut ends: Vec<u64> = vec![n as u64];
        ends.extend(
            (1..=n).map(|it| all.iter().take(it).map(|it| it.bytes.len() as u64).sum::<u64>()),
        );
        let texts = all.iter().flat_map(|it| it.bytes.iter().copied());
        let bytes: Vec<u8> = ends.iter().flat_map(|it| it.to_le_bytes()).chain(texts).collect();
        Self { dtype: all[0].dtype, shape: vec![1, bytes.len()], bytes }
    }

    /// Values of one type as one with an axis more.
    pub(super) fn stacked<'a>(all: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut all = all.into_iter().peekable();
        let first = (*all.peek().expect("there is a value to stack")).clone();
        let (mut rows, mut bytes) = (0, Vec::new());
        for it in all {
            assert_eq!(it.shape, first.shape);
            bytes.extend(&it.bytes);
            rows += 1;
        }
        let shape = [rows].iter().chain(&first.shape).copied().collect();
        Self { dtype: first.dtype, shape, bytes }
    }
}

/// A field of this type, as the language writes it: `f32[2, ?]`.
pub(super) fn field(name: &str, ty: &str) -> Field {
    let (dtype, shape) = ty.strip_suffix(']').and_then(|it| it.split_once('[')).unwrap_or((ty, ""));
    let extent = |it: &str| match it.trim() {
        "?" => Extent::Unknown,
        it => it.parse().map_or_else(|_| Extent::Named(it.to_owned()), Extent::Known),
    };
    let shape = shape.split(',').filter(|it| !it.is_empty()).map(extent).collect();
    let ty = Type::Tensor { dtype: DType::named(dtype).expect("a dtype"), shape };
    Field { name: name.to_owned(), ty }
}

/// Records from what each number gives.
pub(super) fn table(
    fields: &[(&str, &str)],
    rows: usize,
    of: impl Fn(usize) -> Vec<Value>,
) -> Table {
    let fields = fields.iter().map(|(name, ty)| field(name, ty)).collect();
    let record = |it: usize| Record { id: mix(77, it as u64), values: of(it) };
    Table { fields, records: (0..rows).map(record).collect() }
}

/// Records with a field of every kind: scalar, fixed extents, text, free extents.
pub(super) fn records(rows: usize) -> Table {
    let fields = [("i", "i64"), ("x", "f32[3]"), ("name", "str"), ("ids", "i32[?, 2]")];
    table(&fields, rows, |it| {
        let long: Vec<i32> = (0..it as i32 % 5 * 2).collect();
        vec![
            Value::scalar(it as i64),
            Value::new(&[3], &[it as f32, 0.5, -1.0]),
            Value::text(&"record".repeat(it % 4)),
            Value::new(&[it % 5, 2], &long),
        ]
    })
}

/// A call of an operator.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) entry: &'a Operator,
    pub(super) args: &'a [Arg],
    /// Names of the inputs; none where they are a list.
    pub(super) names: &'a [&'a str],
    pub(super) inputs: &'a [Table],
}

/// Checks that the operator makes `expected` of any cut of the inputs.
pub(super) fn check(entry: &Operator, args: &[Arg], inputs: &[Table], expected: Vec<Record>) {
    Case { entry, args, names: &[], inputs }.check(expected);
}

/// What the checker is told is wrong.
pub(super) fn refused(entry: &Operator, args: &[Arg], inputs: &[Table]) -> String {
    Case { entry, args, names: &[], inputs }.output().expect_err("the checker refuses it")
}

/// The records that leave the operator, for the cut of the input that `cut` names.
pub(super) fn run(
    entry: &Operator,
    args: &[Arg],
    inputs: &[Table],
    cut: u64,
) -> Result<Vec<Record>, Failure> {
    Case { entry, args, names: &[], inputs }.run(cut)
}

impl Case<'_> {
    /// Checks that the operator makes `expected` of any cut of the inputs.
    pub(super) fn check(&self, expected: Vec<Record>) {
        for cut in 0..8 {
            let found = self.run(cut).expect("it runs");
            self.check_resumed(cut, &expected);
            self.check_later(cut, &expected);
            let first = found.iter().zip(&expected).position(|(found, it)| found != it);
            if let Some(at) = first {
                panic!("cut {cut}, record {at}: {:?} instead of {:?}", found[at], expected[at]);
            }
            assert_eq!(found.len(), expected.len(), "cut {cut} of {}", self.entry.entry.name());
        }
    }

    /// The fields that leave the operator.
    pub(super) fn output(&self) -> Result<Vec<Field>, String> {
        let (names, inputs) = (self.names(), self.fields());
        let graph = plan::Graph::default();
        let args = self.args;
        let applied = Applied { args, graph: &graph, inputs: &inputs, names: &names, found: &[] };
        self.entry.entry.fields.map_or_else(|| Ok(inputs[0].clone()), |it| it(&applied))
    }

    fn run(&self, cut: u64) -> Result<Vec<Record>, Failure> {
        let begin = Begin { inputs: vec![0; self.inputs.len()], ..Begin::default() };
        Ok(self.drive(cut, &begin, None)?.records)
    }

    /// In a later epoch, with what was kept of one in which the other inputs were the same.
    fn check_later(&self, cut: u64, expected: &[Record]) {
        let begin = Begin { inputs: vec![0; self.inputs.len()], ..Begin::default() };
        let kept = Kept::default();
        for epoch in 0..2 {
            let found = self.drive(cut + epoch, &begin, Some(&kept)).expect("it runs").records;
            assert!(found == expected, "epoch {epoch}, cut {cut} of {}", self.entry.entry.name());
        }
    }

    /// Begins again at points that the operator gave, over another cut of the inputs.
    fn check_resumed(&self, cut: u64, expected: &[Record]) {
        let begin = Begin { inputs: vec![0; self.inputs.len()], ..Begin::default() };
        let points = self.drive(cut, &begin, None).expect("it runs").points;
        for begin in points.iter().step_by(1 + points.len() / 8) {
            let rest = self.drive(cut + 1, begin, None).expect("it goes on").records;
            let expected = &expected[begin.records..];
            let first = rest.iter().zip(expected).position(|(found, it)| found != it);
            assert_eq!(first, None, "resumed at {begin:?}, cut {cut}");
            assert_eq!(rest.len(), expected.len(), "resumed at {begin:?}, cut {cut}");
        }
    }

    fn drive(&self, cut: u64, begin: &Begin, kept: Option<&Kept>) -> Result<Driven, Failure> {
        let columns = self.output().expect("the checker admits it");
        let Running { mut serial, parallel } = (self.entry.build)(&OperatorCall {
            args: self.args,
            names: &self.names(),
            inputs: &self.fields(),
            columns: &columns,
            key: KEY,
            epoch: EPOCH,
            state: begin.state.as_deref(),
            rows: [1, 7, 64, 1000][cut as usize % 4],
            memory: 8 << 30,
            pool: &Pool::default(),
            kept,
            by_file: &[],
            filling: &std::sync::Arc::default(),
        })?;
        let inputs = self.inputs.iter().zip(&begin.inputs).enumerate();
        let mut inputs: Vec<_> =
            inputs.map(|(i, (it, from))| it.chunks_of(mix(cut, i as u64), *from)).collect();
        let mut driven = Driven { records: Vec::new(), points: Vec::new() };
        let (mut given, mut number) = (begin.inputs.clone(), begin.number);
        let mut ended: Vec<_> = given.iter().map(|it| *it == usize::MAX).collect();
        while let Wants::Input(i) = serial.wants() {
            assert!(!ended[i], "nothing comes after the end");
            let (chunk, mut out) = (inputs[i].pop_front(), Vec::new());
            ended[i] = chunk.is_none();
            given[i] += chunk.as_ref().map_or(0, |it| it.rows);
            serial.push(i, chunk, &mut out)?;
            let mark = serial.mark();
            for at in 0..=out.len() {
                if let Some(mark) = mark.as_ref().filter(|it| it.chunks == at) {
                    let ahead = |i: usize| mark.ahead.get(i).copied().unwrap_or(0) as usize;
                    let place = |i: usize| match ended[i] && ahead(i) == 0 {
                        true => usize::MAX,
                        false => given[i].saturating_sub(ahead(i)),
                    };
                    let (inputs, state) = ((0..given.len()).map(place), mark.state.clone());
                    let records = begin.records + driven.records.len();
                    let (inputs, state) = (inputs.collect(), Some(state));
                    driven.points.push(Begin { inputs, state, number, records });
                }
                let Some(chunk) = out.get(at).filter(|it| it.rows > 0).cloned() else { continue };
                driven.records.extend(finish(chunk, number, parallel.as_ref(), &columns)?);
                number += 1;
            }
        }
        Ok(driven)
    }

    fn names(&self) -> Vec<String> {
        self.names.iter().map(|it| (*it).to_owned()).collect()
    }

    fn fields(&self) -> Vec<Vec<Field>> {
        self.inputs.iter().map(|it| it.fields.clone()).collect()
    }
}

/// Where an operator begins.
#[derive(Debug, Clone, Default)]
struct Begin {
    /// Records of each input that are past; all, where it has ended.
    inputs: Vec<usize>,
    state: Option<Vec<u64>>,
    /// Chunks that are out.
    number: u64,
    /// Records that are out.
    records: usize,
}

/// What came of a run.
struct Driven {
    records: Vec<Record>,
    points: Vec<Begin>,
}

fn finish(
    chunk: Chunk,
    number: u64,
    parallel: Option<&Finish>,
    columns: &[Field],
) -> Result<Vec<Record>, Failure> {
    let chunk = match parallel {
        Some(finish) => finish(chunk, number)?,
        None => chunk,
    };
    assert_eq!(chunk.columns.len(), columns.len(), "it has the columns of its type");
    let record = |row: usize| {
        let values: Vec<_> = chunk.columns.iter().map(|it| Value::of(&it.row(row))).collect();
        values.iter().zip(columns).for_each(|(value, field)| fits(value, field));
        Record { id: chunk.ids()[row], values }
    };
    Ok((0..chunk.rows).map(record).collect())
}

fn fits(value: &Value, field: &Field) {
    assert_eq!(Some(value.dtype), field.ty.dtype(), "{field}");
    let Some(shape) = field.ty.shape().filter(|_| !value.dtype.is_text()) else { return };
    assert_eq!(value.shape.len(), shape.len(), "{field}: {value:?}");
    for (found, extent) in value.shape.iter().zip(shape) {
        assert!(!matches!(extent, Extent::Known(n) if *n != *found as u64), "{field}: {value:?}");
    }
}

impl Table {
    /// The records from `from` on in chunks: empty ones, neighbours in the same memory, and others.
    pub(super) fn chunks_of(&self, seed: u64, from: usize) -> VecDeque<Chunk> {
        let (mut random, pool) = (Philox::new(seed, 0, 0), Pool::default());
        let largest = [1, 3, 10, 40, 1000][seed as usize % 5];
        let mut chunks = VecDeque::new();
        let mut from = from;
        while from < self.records.len() {
            let rows = (random.below(largest + 1) as usize).min(self.records.len() - from);
            let whole = self.chunk(&self.records[from..from + rows], &pool);
            let middle = random.below(rows as u64 + 1) as usize;
            chunks.extend([whole.cut(0..middle), whole.cut(middle..rows)]);
            from += rows;
        }
        chunks
    }

    fn chunk(&self, records: &[Record], pool: &Pool) -> Chunk {
        let mut out = ChunkBuilder::new(&self.fields, records.len(), EPOCH, pool);
        for record in records {
            out.ids.push_scalar(record.id);
            for (to, value) in out.columns.iter_mut().zip(&record.values) {
                push(to, value);
            }
        }
        out.finish()
    }
}

fn push(to: &mut Builder, value: &Value) {
    to.room(Shape::new(&value.shape)).copy_from_slice(&value.bytes);
}
