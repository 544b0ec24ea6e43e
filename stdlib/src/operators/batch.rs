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
    /// Makes one record of `size` successive ones: every field gets an axis more, the rows.
    ///
    /// `tail` says what becomes of records at the end that are too few: `drop` leaves them out,
    /// `keep` makes a batch of fewer rows, `mask` fills it up and adds `valid: bool[size]`, which
    /// is false for the filling. After `drop` and `mask` all batches have `size` rows.
    ///
    /// Rows of a field must have the same extents, or `pad: { field: 0 }` says what makes the
    /// short ones as long as the longest of the batch; what they hold stands first. Extents that are
    /// not known before the run (`?`) need `pad` or `ragged`, except in a batch of one record and where
    /// `by` without `bounds` puts records of the same extents together.
    /// `multiple: { image: [1, 32, 32] }` makes padded extents longer still, up to the next
    /// multiple, axis by axis.
    ///
    /// `ragged: [ids]` keeps each row of a field as long as it is: the batch has `ids.values`, the rows end to
    /// end along their first axis, and `ids.offsets: i64[size + 1]`, where each begins and the last one
    /// ends, so that row `k` is `ids.values[ids.offsets[k]:ids.offsets[k + 1]]`. Extents behind the first one
    /// are known before the run; the filling of `tail: mask` are rows without elements. These are the lists
    /// of Arrow, `tf.RaggedTensor`, the jagged layout of `torch.nested` and the `cu_seqlens` of attention kernels.
    ///
    /// Texts become a column of texts, `str[size]` or `bytes[size]`, each as long as it is; the filling
    /// of `tail: mask` are empty texts. A batch carries them to whoever takes it: nothing computes on
    /// them, so compute what depends on a text before `batch`.
    ///
    /// `by` sorts records into batches of their like. With `bounds: [a, b]` those with
    /// `by <= a`, those up to `b` and those over it are batched apart, so that little is padded;
    /// without, those with the same `by`, a whole number or a `bool`. A batch leaves when it is
    /// full. What is left after every 64 batches for each kind, and at the end of an epoch, is dealt
    /// with as `tail` says: in a long epoch `drop` costs less than 1% of the records; in one of few
    /// batches it costs up to `size - 1` records of each kind, which `tail: keep` gives.
    ///
    /// `tokens: n` ends a batch where rows times the longest `by` would be more than `n`; a record
    /// that is longer by itself has a batch to itself. `size` is the most rows then, and may be
    /// left out; batches have `?` rows, and none is too small, so that none is dropped. Without
    /// `bounds` records stay in order.
    ///
    /// The id of a batch is made of all ids in it, so draws after it are draws for the batch.
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
    "batch(stream: stream, size: int = none, tail: drop | keep | mask = drop, pad: record = none, \
     by: each any = none, bounds: floats = none, tokens: int = none, multiple: record = none, \
     ragged: fields = none) -> stream",
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
    let collate = Collate::new(&terms, call);
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
