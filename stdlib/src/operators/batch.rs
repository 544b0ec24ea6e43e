//! `batch`: several records as one, a row each.

mod buckets;
mod collate;
mod terms;

use self::{
    buckets::Buckets,
    collate::Collate,
    terms::{Lane, Tail, Terms},
};
use super::group::{Group, Regroup};
use crate::prelude::*;
use runtime::{Mark, Operator, OperatorCall, Running, Wants};
use std::sync::Arc;

operator! {
    /// Groups `size` successive records into a batch.
    ///
    /// Every field gets a new first axis, the rows. `tail` decides what happens to the last records, if they do
    /// not fill a batch: `drop` drops them, `keep` returns a batch of fewer rows, and `mask` fills the batch up
    /// and adds `valid: bool[size]`, which is false for the filling. With `drop` and `mask`, all batches have
    /// `size` rows.
    ///
    /// Rows of a field must have the same shape, unless `pad: { field: 0 }` gives a value with which shorter
    /// rows are padded at the end, to the longest of the batch. Dimensions that are not known at compile time
    /// (`?`) need `pad` or `ragged`, except in a batch of one record, or if `by` without `bounds` groups
    /// records of the same shape. `multiple: { image: [1, 32, 32] }` rounds padded dimensions up to the next
    /// multiple, axis by axis.
    ///
    /// `ragged: [ids]` keeps the length of each row of a field. The batch has `ids.values`, the rows end to end
    /// along their first axis, and `ids.offsets: i64[size + 1]`, where each row begins and the last one ends:
    /// row `k` is `ids.values[ids.offsets[k]:ids.offsets[k + 1]]`. All dimensions but the first must be known at
    /// compile time. The filling of `tail: mask` consists of rows without elements. This is the layout of lists
    /// in Arrow, of `tf.RaggedTensor`, of jagged tensors in `torch.nested`, and of `cu_seqlens` in attention
    /// kernels.
    ///
    /// Strings become a column, `str[size]` or `bytes[size]`, in which each has its own length; the filling of
    /// `tail: mask` consists of empty strings. A batch only carries them: no function works on a column of
    /// strings, so compute what depends on a string before `batch`.
    ///
    /// `by` groups similar records into batches (bucketing). With `bounds: [a, b]`, records with `by <= a`,
    /// those with `by <= b`, and all others have separate buckets, to save padding. Without `bounds`, each
    /// value of `by`, an integer or a `bool`, has its own bucket. A batch is complete when its bucket is full.
    /// Incomplete buckets are handled as `tail` says after every 64 batches per bucket, and at the end of an
    /// epoch. `drop` drops less than 1% of the records of a long epoch; in an epoch of few batches, it drops up
    /// to `size - 1` records per bucket, which `tail: keep` returns.
    ///
    /// With `bounds`, `size` may be a list, the rows of a batch for each bucket: `[64, 32, 16]` for the two `bounds`
    /// above, so that batches of long records are not larger than those of short ones. `to: bound` pads rows to the bound of
    /// their bucket instead of the longest row, along all axes of unknown length of the fields in `pad`. Batches then have
    /// few different shapes, which suits compilers that make code for each shape. No bucket is left for records beyond
    /// the last bound: one is an error, and `size` has no number for them.
    ///
    /// `tokens: n` ends a batch before the number of rows times the longest `by` exceeds `n`; a record that
    /// exceeds it alone gets its own batch. With `to: bound`, the bound counts, not the longest. `size` is then the maximum number of rows, and optional. Batches
    /// have `?` rows, and none is too small to be returned, so none is dropped. Without `bounds`, records stay
    /// in order.
    ///
    /// The id of a batch combines all ids in it, so random draws after `batch` are made per batch.
    ///
    /// ```pipe
    /// range(100) |> map { i, odd: i % 2 == 1 } |> batch(8, by: odd)    # { i: i64[8], odd: bool[8] }
    /// ```
    ///
    /// ```pipe
    /// range(100) |> map { i, name: text_of(i) } |> batch(8)    # { i: i64[8], name: str[8] }
    /// ```
    ///
    /// ```pipe
    /// range(100) |> map { ids: arange(i % 5) } |> batch(8, ragged: [ids])    # { ids.values: i64[?], ids.offsets: i64[9] }
    /// ```
    ///
    /// ```pipe
    /// range(100)
    ///     |> map { ids: arange(i % 9) }
    ///     |> batch([8, 4], by: len(ids), bounds: [4, 8], to: bound, pad: { ids: 0 })    # { ids: i64[?, ?] }
    /// ```
    "batch(stream: stream, size: ints = none, tail: drop | keep | mask = drop, pad: record = none, \
     by: each any = none, bounds: floats = none, tokens: int = none, multiple: record = none, \
     ragged: fields = none, to: longest | bound = longest) -> stream",
    // Assumed: rows are copied once, at memory's speed; where they were written into the batch
    // they are not copied at all.
    cost: Cost::out(50.0, 0.1),
    properties: &[
        Property::Does(Action::Batch),
        Property::FieldWise,
        Property::Stacks { valid: "valid", apart: "ragged" },
    ],
    fields: Some(fields),
}

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    let by = match &applied.args[terms::BY] {
        Arg::Expr(_) => applied.ty(terms::BY),
        Arg::Column(it) => Some(applied.inputs[0][*it as usize].ty.clone()),
        _ => None,
    };
    Terms::read(applied.args, &applied.inputs[0], by.as_ref())?.fields()
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let by = super::arguments::column(&call.args[terms::BY]);
    let by_type = by.map(|it| &call.inputs[0][it].ty);
    let terms = Terms::read(call.args, &call.inputs[0], by_type).map_err(Failure::Program)?;
    let collate = Collate::new(&terms, by, call);
    let serial: Box<dyn Operator> = match by {
        Some(by) => Box::new(Buckets::new(&terms, by, call)),
        None => Box::new(Batch::new(&terms, call)),
    };
    let parallel = Arc::new(move |chunk: Chunk, _| collate.batch(&chunk));
    Ok(Running { serial, parallel: Some(parallel) })
}

/// Regroups rows; `parallel` makes a batch of each group, or batches of several.
struct Batch {
    groups: Regroup,
    tail: Tail,
    mark: Option<Mark>,
    done: bool,
}

impl Batch {
    fn new(terms: &Terms, call: &OperatorCall<'_>) -> Self {
        let size = terms.size.expect("a batch without `by` has a size");
        let groups = Regroup::new(Group::new(call).with_share(call.memory), size, size, "a batch");
        let alike = terms.lanes.iter().all(Lane::is_alike);
        let groups = groups.together(if alike { call.rows.max(1) } else { 1 });
        Self { groups, tail: terms.tail, mark: None, done: false }
    }
}

impl Operator for Batch {
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
            let rest = self.groups.rest();
            out.extend(rest.filter(|_| self.tail != Tail::Drop));
            return Ok(());
        };
        let before = out.len();
        self.groups.push(&chunk, out)?;
        self.mark = (out.len() > before).then(|| self.groups.mark(out));
        Ok(())
    }

    fn holds(&self) -> u64 {
        self.groups.rows() as u64
    }

    fn mark(&self) -> Option<Mark> {
        self.mark.clone().filter(|_| !self.done)
    }
}

#[cfg(test)]
mod tests;
