//! `sample`: records as often as their weight says.

use super::{
    alike::Columns,
    arguments::{column, size, visible},
    group::{Group, Regroup, check_held, failure},
    scalars::floats,
};
use crate::prelude::*;
use runtime::{Builder, Operator, OperatorCall, Permutation, Philox, Pool, Running, Wants, mix};
use std::sync::{Arc, OnceLock};

operator! {
    /// Draws records in random order, each as often as its weight says.
    ///
    /// The draw differs in each epoch. It returns as many records as it gets, or `count`. With `n` records in
    /// the output, a record of weight `w` is expected `e = n * w / (sum of all weights)` times: it occurs
    /// `floor(e)` or `ceil(e)` times, and `e` times on average over epochs (systematic sampling: Madow and
    /// Madow, 1944). So equal weights return every record once, and `weight: 1 / COUNTS[label]` returns the
    /// same number of records for every label, to within one if the records of a label follow each other. A
    /// record of weight 0 never occurs.
    ///
    /// The order is a random permutation of the epoch, so no `shuffle` is needed after it. Copies of a record
    /// get different random draws in later steps.
    ///
    /// All weights must be known before the first record can be returned, so it buffers the records of an
    /// epoch, at most 4 GiB: use it before images are decoded, while a record is only a path.
    ///
    /// ```pipe
    /// range(100) |> sample(weight: if i < 10 then 10.0 else 1.0)    # { i: i64 }
    /// ```
    "sample(stream: stream, weight: each float, count: int = none) -> stream",
    // Assumed: a binary search over the weights and a copy.
    cost: Cost { ns_call: 150.0, ns_byte_in: 0.2, ns_byte_out: 0.2, bytes_out_per_in: 1.0 },
    properties: &[Property::Does(Action::Sample), Property::FieldWise, Property::SameFields],
    fields: Some(|applied| size(&applied.args[1], "count", 0).map(|_| visible(&applied.inputs[0]))),
}

/// Records of the blocks that are held.
const BLOCK: usize = 4096;
/// Set the draws of this operator apart from each other: keys from the names' bytes.
const OFFSET: u64 = u64::from_le_bytes(*b"offset\0\0");
const ORDER: u64 = u64::from_le_bytes(*b"order\0\0\0");

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let weight = column(&call.args[0]);
    let weight = weight.ok_or_else(|| Failure::Program("`weight` is not a column".to_owned()))?;
    let offset = Philox::new(mix(call.key, OFFSET), 0, call.epoch).unit();
    let line = Arc::new(OnceLock::new());
    let serial = Sample {
        blocks: Regroup::new(Group::of(call.columns, call), BLOCK, BLOCK, "a block of `sample`"),
        weight,
        columns: Columns::new(call),
        held: Line { offset, ..Line::default() },
        bytes: 0,
        count: size(&call.args[1], "count", 0).map_err(Failure::Program)?,
        order: mix(mix(call.key, ORDER), u64::from(call.epoch)),
        rows: call.rows.max(1),
        pool: call.pool.clone(),
        ready: line.clone(),
        share: call.memory / 2,
        done: false,
    };

    let (fields, pool) = (call.columns.to_vec(), call.pool.clone());
    let gather = move |chunk: Chunk, _| {
        let line: &Line = line.get().expect("it is made before a chunk of its numbers");
        Ok(line.gather(&chunk, ChunkBuilder::new(&fields, chunk.rows, chunk.epoch, &pool)))
    };
    Ok(Running { serial: Box::new(serial), parallel: Some(Arc::new(gather)) })
}

/// Holds an epoch, then lets chunks of numbers go as ids; `parallel` finds their records.
struct Sample {
    blocks: Regroup,
    /// The column of the weights.
    weight: usize,
    columns: Columns,
    held: Line,
    bytes: usize,
    count: Option<usize>,
    /// The key of the order.
    order: u64,
    /// Records of a chunk that leaves.
    rows: usize,
    pool: Pool,
    ready: Arc<OnceLock<Line>>,
    /// Bytes that it may hold.
    share: u64,
    done: bool,
}

impl Operator for Sample {
    fn wants(&self) -> Wants {
        if self.done { Wants::Nothing } else { Wants::Input(0) }
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        let held = self.held.blocks.len();
        match &chunk {
            Some(chunk) => {
                self.held.weigh(&chunk.columns[self.weight])?;
                let chunk = self.columns.of(0, chunk.clone());
                self.blocks.push(&chunk, &mut self.held.blocks)?;
            }
            None => self.held.blocks.extend(self.blocks.rest()),
        }
        self.bytes += self.held.blocks[held..].iter().map(Chunk::bytes).sum::<usize>();
        check_held(
            self.bytes + self.held.sums.len() * 8,
            self.share,
            "the records of an epoch that `sample` buffers",
        )?;
        if chunk.is_none() { self.finish(out) } else { Ok(()) }
    }
}

impl Sample {
    /// All is here: fixes the line, and lets the numbers of the output go.
    fn finish(&mut self, out: &mut Vec<Chunk>) -> Result<(), Failure> {
        self.done = true;
        let mut line = std::mem::take(&mut self.held);
        let Some(epoch) = line.blocks.first().map(|it| it.epoch) else { return Ok(()) };
        let count = self.count.unwrap_or(line.sums.len()) as u64;
        line.spread(count)?;
        let _ = self.ready.set(line);

        let order = Permutation::new(count.max(1), self.order);
        for first in (0..count).step_by(self.rows) {
            let numbers = first..count.min(first + self.rows as u64);
            let mut ids = Builder::new(&Type::scalar(DType::U64), self.rows, &self.pool);
            numbers.clone().for_each(|it| ids.push_scalar(order.at(it)));
            let rows = (numbers.end - numbers.start) as usize;
            out.push(Chunk { rows, epoch, ids: ids.finish(), columns: Vec::new() });
        }
        Ok(())
    }
}

/// The records of an epoch, laid end to end on a line by weight; a comb on it picks the output.
#[derive(Default)]
struct Line {
    blocks: Vec<Chunk>,
    /// The sum of the weights up to and with each record.
    sums: Vec<f64>,
    /// Where the first tooth of the comb stands, in widths.
    offset: f64,
    /// From one tooth to the next.
    width: f64,
    /// The last record that weighs something.
    last: usize,
}

impl Line {
    fn weigh(&mut self, weights: &runtime::Column) -> Result<(), Failure> {
        let (first, mut sum) = (self.sums.len(), self.sums.last().copied().unwrap_or(0.0));
        floats(weights, &mut self.sums);
        for (number, it) in self.sums.iter_mut().enumerate().skip(first) {
            if !(it.is_finite() && *it >= 0.0) {
                let why = format!("the weight of record {number} is {it}, but must be at least 0");
                return Err(failure(why));
            }
            sum += *it;
            *it = sum;
        }
        Ok(())
    }

    fn spread(&mut self, count: u64) -> Result<(), Failure> {
        let whole = self.sums.last().copied().unwrap_or(0.0);
        if whole == 0.0 || !whole.is_finite() {
            return Err(failure(format!(
                "the weights add up to {whole}, so they cannot be normalized"
            )));
        }
        self.width = whole / count as f64;
        self.last = self.sums.partition_point(|it| *it < whole);
        Ok(())
    }

    fn tooth(&self, number: u64) -> f64 {
        (number as f64 + self.offset) * self.width
    }

    /// The record that tooth `number` picks, and how many teeth before it pick the same.
    fn pick(&self, number: u64) -> (usize, u64) {
        let tooth = self.tooth(number);
        let record = self.sums.partition_point(|it| *it <= tooth).min(self.last);
        let start = if record == 0 { 0.0 } else { self.sums[record - 1] };
        let near = (start / self.width - self.offset).ceil() as u64;
        let mut first = near.min(number);
        while first > 0 && self.tooth(first - 1) >= start {
            first -= 1;
        }
        while self.tooth(first) < start {
            first += 1;
        }
        (record, number - first)
    }

    /// The records that the numbers in `chunk.ids` pick.
    fn gather(&self, chunk: &Chunk, mut out: ChunkBuilder) -> Chunk {
        for number in chunk.ids() {
            let (record, copy) = self.pick(*number);
            let (block, row) = (&self.blocks[record / BLOCK], record % BLOCK);
            let id = block.ids()[row];
            out.ids.push_scalar(if copy == 0 { id } else { mix(id, copy) });
            for (to, from) in out.columns.iter_mut().zip(&block.columns) {
                to.push(&from.row(row));
            }
        }
        out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;
    use std::slice::from_ref;

    fn weighed(weights: &[f64]) -> Table {
        let fields = [("i", "i64"), ("name", "str"), ("$0", "f64")];
        table(&fields, weights.len(), |it| {
            vec![
                Value::scalar(it as i64),
                Value::text(&"a".repeat(it % 3)),
                Value::scalar(weights[it]),
            ]
        })
    }

    const ARGS: [Arg; 2] = [Arg::Column(2), Arg::None];

    /// Walks along the line tooth by tooth.
    fn sampled(input: &[Record], weights: &[f64], count: usize) -> Vec<Record> {
        let offset = Philox::new(mix(KEY, OFFSET), 0, EPOCH).unit();
        let width = weights.iter().sum::<f64>() / count as f64;
        let (mut picked, mut at, mut sum, mut copy) = (Vec::new(), 0, weights[0], 0);
        for number in 0..count {
            while (number as f64 + offset) * width >= sum {
                at += 1;
                sum += weights[at];
                copy = 0;
            }
            let mut record = input[at].clone();
            record.values.truncate(2);
            record.id = if copy == 0 { record.id } else { mix(record.id, copy) };
            picked.push(record);
            copy += 1;
        }
        let order = Permutation::new(count as u64, mix(mix(KEY, ORDER), u64::from(EPOCH)));
        (0..count as u64).map(|it| picked[order.at(it) as usize].clone()).collect()
    }

    #[test]
    fn records_come_by_weight() {
        let weights: Vec<f64> = (0..500).map(|it| f64::from(it % 7) * 0.25 / 3.0).collect();
        let input = weighed(&weights);
        let expected = sampled(&input, &weights, 500);
        check(&ENTRY, &ARGS, from_ref(&input), expected);
        let expected = sampled(&input, &weights, 2000);
        check(&ENTRY, &[ARGS[0].clone(), Arg::Int(2000)], &[input], expected);
    }

    #[test]
    fn equal_weights_give_every_record_once() {
        let input = weighed(&[0.1; 300]);
        let mut found: Vec<u64> =
            run(&ENTRY, &ARGS, from_ref(&input), 1).unwrap().iter().map(|it| it.id).collect();
        let mut expected: Vec<u64> = input.iter().map(|it| it.id).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn weights_must_be_numbers() {
        for (weights, message) in
            [(vec![1.0, f64::NAN], "record 1 is NaN"), (vec![0.0; 3], "add up to 0")]
        {
            let failure = run(&ENTRY, &ARGS, &[weighed(&weights)], 2).unwrap_err().to_string();
            assert!(failure.contains(message), "{failure}");
        }
        check(&ENTRY, &ARGS, &[weighed(&[])], Vec::new());
    }
}
