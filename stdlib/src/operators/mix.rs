//! `mix`: records of several streams among each other, in proportion.

mod shares;

use self::shares::{BLOCK, Shares};
use super::{
    alike::{Columns, input_name, same_fields},
    arguments::{number, word},
    group::{check_held, failure, unfit},
    order::shuffle,
};
use crate::prelude::*;
use runtime::{Builder, Mark, Operator, OperatorCall, Philox, Pool, Running, Wants};
use std::{collections::VecDeque, sync::Arc};

operator! {
    /// Interleaves several streams at random, in proportion to their weights.
    ///
    /// The stream of each record is drawn in blocks of 1,024 records. In a block, every stream has its exact
    /// share: remainders are carried over to the next block, so after any number of blocks, the count of a
    /// stream differs from its share by less than one record per stream. The block is then shuffled,
    /// differently in each epoch. The order within a stream does not change.
    ///
    /// `weights` is a record with the names of the streams, or a list in their order. Weights need not sum to
    /// 1; without any, all streams have the same weight. `at_end` decides what happens when a stream ends:
    /// `stop` ends the mix, `drop` continues with the others in proportion, and `repeat` restarts that stream,
    /// so the mix never ends.
    ///
    /// ```pipe
    /// mix({ low: range(10), high: range(10) |> map { i: i + 100 } }, weights: { low: 3, high: 1 })    # { i: i64 }
    /// ```
    "mix(streams: streams, weights: shares = none, at_end: stop | repeat | drop = stop) -> stream",
    // Assumed: 3 ns for the draw, two copies of the record.
    cost: Cost { ns_call: 5.0, ns_byte_in: 0.2, ns_byte_out: 0.2, bytes_out_per_in: 1.0 },
    properties: &[Property::Does(Action::Mix), Property::FieldWise],
    fields: Some(fields),
}

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    weights(&applied.args[0], applied.names, applied.inputs.len())?;
    same_fields(applied)
}

/// The weight of each stream.
fn weights(arg: &Arg, names: &[String], streams: usize) -> Result<Vec<f64>, String> {
    let all = match arg {
        Arg::None => vec![1.0; streams],
        Arg::List(all) if all.len() == streams => {
            all.iter().map(weight).collect::<Result<_, _>>()?
        }
        Arg::List(all) => {
            return Err(format!(
                "there are {} for {}",
                plan::things(all.len() as u64, "weight", "weights"),
                plan::things(streams as u64, "stream", "streams")
            ));
        }
        Arg::Record(entries) => {
            if let Some((name, _)) = entries.iter().find(|(it, _)| !names.contains(it)) {
                return Err(format!(
                    "there is a weight for `{name}`, which is not one of the streams"
                ));
            }
            let of = |name: &String| match entries.iter().find(|(it, _)| it == name) {
                Some((_, arg)) => weight(arg),
                None => Err(format!("stream `{name}` has no weight")),
            };
            names.iter().map(of).collect::<Result<_, _>>()?
        }
        _ => return Err("`weights` must be a record of numbers, or a list of them".to_owned()),
    };
    if streams > BLOCK {
        return Err(format!("`mix` takes at most {BLOCK} streams"));
    }
    let some = all.iter().any(|it| *it > 0.0);
    some.then_some(all).ok_or_else(|| "at least one weight must be greater than 0".to_owned())
}

fn weight(arg: &Arg) -> Result<f64, String> {
    let found = number(arg).ok_or("a weight must be a number that is known at compile time")?;
    let fits = found.is_finite() && found >= 0.0;
    fits.then_some(found).ok_or_else(|| format!("a weight is {found}, but must be at least 0"))
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let weights = weights(&call.args[0], call.names, call.inputs.len());
    let shares = Shares::new(&weights.map_err(Failure::Program)?);
    let at_end = match word(&call.args[1]) {
        "repeat" => AtEnd::Repeat,
        "drop" => AtEnd::Drop,
        _ => AtEnd::Stop,
    };
    let branch = |it| Branch { name: input_name(call.names, it), ..Branch::default() };
    let mut branches: Vec<_> = (0..call.inputs.len()).map(branch).collect();
    let mut plan = Plan::new(shares, call);
    if let Some(state) = call.state {
        plan.resume(state, &mut branches)?;
    }
    let mut serial = Mix {
        columns: Columns::new(call),
        fields: call.columns.to_vec(),
        pool: call.pool.clone(),
        rows: call.rows.clamp(1, BLOCK),
        epoch: call.epoch,
        at_end,
        branches,
        plan,
        run: 0,
        last: false,
        failed_by: None,
        mark: None,
        share: call.memory / 2,
        done: false,
    };
    serial.next_run();

    let (fields, pool) = (call.columns.to_vec(), call.pool.clone());
    let shuffled = move |mut chunk: Chunk, _| {
        let order = chunk.columns.pop().expect("the order travels behind the columns");
        let mut out = ChunkBuilder::new(&fields, chunk.rows, chunk.epoch, &pool);
        out.gather(&chunk, order.as_slice::<u32>().expect("an order is u32"));
        Ok(out.finish())
    };
    Ok(Running { serial: Box::new(serial), parallel: Some(Arc::new(shuffled)) })
}

/// Blocks that a saved state may have passed, which are counted through again: 10¹¹ records.
const BLOCKS_MAX: u64 = 100_000_000;

#[derive(Debug, Clone, Copy, PartialEq)]
enum AtEnd {
    Stop,
    /// The compiler makes the streams endless, so that none ends here.
    Repeat,
    Drop,
}

/// The streams that the records of the present block come from, in order.
struct Plan {
    shares: Shares,
    key: u64,
    epoch: u32,
    blocks: u64,
    /// How many of them since a stream has ended.
    blocks_alike: u64,
    /// One for each record of the block.
    slots: Vec<u16>,
    /// Slots that are done.
    at: usize,
}

impl Plan {
    fn new(shares: Shares, call: &OperatorCall<'_>) -> Self {
        let (key, epoch, slots) = (call.key, call.epoch, Vec::new());
        Self { shares, key, epoch, blocks: 0, blocks_alike: 0, slots, at: 0 }
    }

    /// What is to be known to go on, where a block is done: its number, those since a stream has
    /// ended, the streams that have.
    fn state(&self, branches: &[Branch]) -> Option<Vec<u64>> {
        let ended = branches.iter().enumerate().filter(|(_, it)| it.ended && it.rows == 0);
        let ended = ended.map(|(it, _)| it as u64);
        let state = || [self.blocks, self.blocks_alike].into_iter().chain(ended).collect();
        (self.at == self.slots.len()).then(state)
    }

    /// Goes on from what `state` said.
    fn resume(&mut self, state: &[u64], branches: &mut [Branch]) -> Result<(), Failure> {
        let [blocks, alike, ended @ ..] = state else { return Err(unfit("mix")) };
        for stream in ended {
            let branch = usize::try_from(*stream).ok().and_then(|it| branches.get_mut(it));
            branch.ok_or_else(|| unfit("mix"))?.ended = true;
            self.shares.end(*stream as usize);
        }
        if alike > blocks || *alike > BLOCKS_MAX {
            return Err(unfit("mix"));
        }
        self.shares.pass(*alike);
        (self.blocks, self.blocks_alike) = (*blocks, *alike);
        Ok(())
    }

    /// The slots that are left, of a new block where there is none; empty when no stream is left.
    fn left(&mut self) -> &[u16] {
        while self.at == self.slots.len() && self.shares.any() {
            self.slots = self.shares.block();
            shuffle(&mut self.slots, &mut Philox::new(self.key, self.blocks, self.epoch));
            self.blocks += 1;
            self.blocks_alike += 1;
            self.at = 0;
        }
        &self.slots[self.at..]
    }

    /// Goes on without `branch` from slot `from` on, counted from the first that is left.
    fn without(&mut self, branch: usize, from: usize) {
        let kept = self.slots.split_off(self.at + from);
        self.slots.extend(kept.into_iter().filter(|it| usize::from(*it) != branch));
        self.shares.end(branch);
        self.blocks_alike = 0;
    }
}

#[derive(Default)]
struct Branch {
    name: String,
    held: VecDeque<Chunk>,
    /// Rows held.
    rows: usize,
    /// Rows that the run needs.
    need: usize,
    /// Rows that came out.
    given: u64,
    ended: bool,
    failed: bool,
}

/// Collects the records of a run of slots, branch after branch; `parallel` puts them in order.
struct Mix {
    columns: Columns,
    fields: Vec<Field>,
    pool: Pool,
    /// Records of a run.
    rows: usize,
    epoch: u32,
    at_end: AtEnd,
    branches: Vec<Branch>,
    plan: Plan,
    /// Slots of the present run.
    run: usize,
    /// Whether nothing comes after this run.
    last: bool,
    /// The stream whose failure ends it.
    failed_by: Option<usize>,
    mark: Option<Mark>,
    /// Bytes that it may hold.
    share: u64,
    done: bool,
}

impl Operator for Mix {
    fn wants(&self) -> Wants {
        if self.done {
            return Wants::Nothing;
        }
        let lacking = self.branches.iter().position(|it| it.rows < it.need);
        Wants::Input(lacking.expect("a run that lacks nothing has been let go"))
    }

    fn push(
        &mut self,
        input: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        match chunk {
            Some(chunk) if chunk.rows > 0 => {
                self.branches[input].take_in(self.columns.of(input, chunk));
            }
            Some(_) => {}
            None => self.end(input)?,
        }
        self.go_on(out)
    }

    fn fail(&mut self, input: usize, out: &mut Vec<Chunk>) -> Result<bool, Failure> {
        self.branches[input].failed = true;
        self.end_at_failures();
        self.count();
        self.go_on(out).map(|()| true)
    }

    fn failed(&self) -> Option<usize> {
        self.failed_by.filter(|_| self.done)
    }

    fn mark(&self) -> Option<Mark> {
        self.mark.clone()
    }
}

impl Mix {
    /// Lets the runs go that lack nothing.
    fn go_on(&mut self, out: &mut Vec<Chunk>) -> Result<(), Failure> {
        self.mark = None;
        while !self.done && self.branches.iter().all(|it| it.rows >= it.need) {
            out.extend(self.emit());
            if let Some(state) = self.plan.state(&self.branches) {
                let ahead = self.branches.iter().map(|it| it.rows as u64).collect();
                self.mark = Some(Mark { chunks: out.len(), state, ahead });
            }
            self.next_run();
        }
        check_held(self.held(), self.share, "the buffer of `mix`")
    }

    /// Ends the run at the first slot whose record is one that failed.
    fn end_at_failures(&mut self) {
        for branch in 0..self.branches.len() {
            let Branch { failed: true, rows, .. } = self.branches[branch] else { continue };
            let slot = self.slot_without(branch, rows);
            if slot < self.run {
                (self.run, self.last, self.failed_by) = (slot, true, Some(branch));
            }
        }
    }

    /// Plans the next run of slots.
    fn next_run(&mut self) {
        self.run = self.plan.left().len().min(self.rows);
        self.done = self.last || self.run == 0;
        if !self.done {
            self.end_at_failures();
        }
        self.count();
    }

    /// Counts what the run needs of each branch.
    fn count(&mut self) {
        self.branches.iter_mut().for_each(|it| it.need = 0);
        for slot in &self.plan.slots[self.plan.at..self.plan.at + self.run] {
            self.branches[usize::from(*slot)].need += 1;
        }
    }

    /// A branch has ended before it gave what the run needs.
    fn end(&mut self, input: usize) -> Result<(), Failure> {
        let branch = &mut self.branches[input];
        branch.ended = true;
        let (name, rows) = (branch.name.clone(), branch.rows);
        match self.at_end {
            AtEnd::Repeat if branch.given == 0 && rows == 0 => {
                return Err(failure(format!("{name} has no records, so it cannot be repeated")));
            }
            AtEnd::Repeat => {
                return Err(Failure::Program(format!("{name} does not repeat")));
            }
            AtEnd::Stop => {
                self.run = self.slot_without(input, rows);
                (self.last, self.failed_by) = (true, None);
            }
            AtEnd::Drop => {
                let from = self.slot_without(input, rows);
                self.plan.without(input, from);
                self.run = self.plan.left().len().min(self.rows);
                self.done = self.run == 0;
                // The slots are others now.
                (self.last, self.failed_by) = (false, None);
                self.end_at_failures();
            }
        }
        self.count();
        Ok(())
    }

    /// The first slot of the run for which a branch that has `rows` rows has none.
    fn slot_without(&self, branch: usize, rows: usize) -> usize {
        let slots = self.plan.slots[self.plan.at..].iter().enumerate();
        let mut own = slots.filter(|(_, it)| usize::from(**it) == branch);
        own.nth(rows).map_or(self.run, |(at, _)| at)
    }

    /// The records of the run, branch after branch, with the order that they belong in.
    fn emit(&mut self) -> Option<Chunk> {
        let slots = &self.plan.slots[self.plan.at..self.plan.at + self.run];
        let order = in_order(slots, self.branches.iter().map(|it| it.need), &self.pool);
        self.plan.at += self.run;

        let mut out = ChunkBuilder::new(&self.fields, self.run, self.epoch, &self.pool);
        self.branches.iter_mut().for_each(|it| it.give(&mut out));
        let mut chunk = out.finish();
        chunk.columns.push(order);
        (chunk.rows > 0).then_some(chunk)
    }

    fn held(&self) -> usize {
        self.branches.iter().flat_map(|it| &it.held).map(Chunk::bytes).sum()
    }
}

/// Where the record of each slot stands when the branches' records follow each other.
fn in_order(slots: &[u16], needs: impl Iterator<Item = usize>, pool: &Pool) -> runtime::Column {
    let mut starts: Vec<u32> = Vec::new();
    let mut next = 0;
    for need in needs {
        starts.push(next);
        next += need as u32;
    }
    let mut order = Builder::new(&Type::scalar(DType::U32), slots.len(), pool);
    for (to, slot) in order.scalars_of::<u32>(slots.len()).iter_mut().zip(slots) {
        let start = &mut starts[usize::from(*slot)];
        *to = *start;
        *start += 1;
    }
    order.finish()
}

impl Branch {
    fn take_in(&mut self, chunk: Chunk) {
        self.rows += chunk.rows;
        self.held.push_back(chunk);
    }

    /// Appends the records that the run needs.
    fn give(&mut self, out: &mut ChunkBuilder) {
        self.rows -= self.need;
        self.given += self.need as u64;
        while self.need > 0 {
            let chunk = self.held.pop_front().expect("the rows that it counted");
            let rows = chunk.rows.min(self.need);
            out.append(&chunk, 0..rows);
            self.need -= rows;
            if rows < chunk.rows {
                self.held.push_front(chunk.cut(rows..chunk.rows));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;

    /// Slot by slot, on lists.
    fn mixed(inputs: &[Table], weights: &[f64], drop: bool) -> Vec<Record> {
        let mut shares = Shares::new(weights);
        let (mut next, mut out) = (vec![0; inputs.len()], Vec::new());
        for block in 0.. {
            if !shares.any() {
                break;
            }
            let mut slots = shares.block();
            shuffle(&mut slots, &mut Philox::new(KEY, block, EPOCH));
            for slot in slots.into_iter().map(usize::from) {
                if let Some(record) = inputs[slot].get(next[slot]) {
                    out.push(record.clone());
                    next[slot] += 1;
                } else if drop {
                    shares.end(slot);
                } else {
                    return out;
                }
            }
        }
        out
    }

    #[test]
    fn streams_mix_slot_by_slot() {
        let inputs = [records(700), records(300), records(2000)];
        let weights = [0.7, 0.2, 0.1];
        let list = Arg::List(weights.iter().map(|it| Arg::Float(*it)).collect());
        for drop in [false, true] {
            let word = Arg::Word(if drop { "drop" } else { "stop" }.to_owned());
            let expected = mixed(&inputs, &weights, drop);
            assert!(if drop { expected.len() == 3000 } else { expected.len() > 900 });
            check(&ENTRY, &[list.clone(), word], &inputs, expected);
        }
    }

    #[test]
    fn empty_streams_end_it_or_go() {
        let inputs = [records(0), records(5)];
        let word = |it: &str| [Arg::None, Arg::Word(it.to_owned())];
        check(&ENTRY, &word("drop"), &inputs, inputs[1].to_vec());
        check(&ENTRY, &word("drop"), &inputs[..1], Vec::new());
        let failure = run(&ENTRY, &word("repeat"), &inputs, 0).unwrap_err();
        assert!(failure.to_string().contains("no records"));
    }

    #[test]
    fn weights_are_checked() {
        let two = [records(1), records(1)];
        let stop = Arg::Word("stop".to_owned());
        let list = |all: &[i64]| Arg::List(all.iter().map(|it| Arg::Int(*it)).collect());
        for (weights, message) in [
            (list(&[1]), "1 weight for 2"),
            (list(&[0, 0]), "greater than 0"),
            (list(&[1, -1]), "is -1"),
        ] {
            assert!(refused(&ENTRY, &[weights, stop.clone()], &two).contains(message));
        }
        let record = Arg::Record(vec![("a".to_owned(), Arg::Int(1))]);
        let found = Case { entry: &ENTRY, args: &[record, stop], names: &["a", "b"], inputs: &two }
            .output()
            .unwrap_err();
        assert!(found.contains("`b` has no weight"));
    }
}
