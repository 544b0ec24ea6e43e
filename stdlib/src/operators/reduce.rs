//! What `count` and `moments` share: one record that comes of all of a stream.

use super::arguments::column;
use crate::prelude::*;
use runtime::{Column, Operator, OperatorCall, Pool, Running, Wants, mix};

/// What a stream is reduced by.
pub(super) trait Reduction: Send + 'static {
    /// Takes in a chunk, of which one column counts.
    ///
    /// # Errors
    /// What ends the run.
    fn add(&mut self, values: &Column) -> Result<(), Failure>;

    /// Writes what came of all records.
    ///
    /// # Errors
    /// What ends the run.
    fn write(&self, record: &mut ChunkBuilder) -> Result<(), Failure>;
}

/// The type of the value of each record that an operator was given first.
pub(super) fn type_of(applied: &Applied<'_>) -> Option<Type> {
    match &applied.args[0] {
        Arg::Column(it) => Some(applied.inputs[0][*it as usize].ty.clone()),
        _ => applied.ty(0),
    }
}

/// Reduces the stream of a call by its first argument.
///
/// # Errors
/// That is no value of the record.
pub(super) fn reduce(
    call: &OperatorCall<'_>,
    reduction: impl Reduction,
) -> Result<Running, Failure> {
    let column = column(&call.args[0]);
    let column =
        column.ok_or_else(|| Failure::Program("it needs a value of the record".to_owned()))?;
    let serial = Reduce {
        reduction,
        column,
        fields: call.columns.to_vec(),
        pool: call.pool.clone(),
        epoch: call.epoch,
        id: 0,
        done: false,
    };
    Ok(Running { serial: Box::new(serial), parallel: None })
}

/// Elements of tensors that are written at once.
pub(super) fn push<T: Copy, const N: usize>(
    to: &mut runtime::Builder,
    shape: &[usize],
    values: &[T],
    bytes: fn(T) -> [u8; N],
) {
    let bytes: Vec<u8> = values.iter().flat_map(|it| bytes(*it)).collect();
    to.room(Shape::new(shape)).copy_from_slice(&bytes);
}

struct Reduce<R> {
    reduction: R,
    /// The values' column.
    column: usize,
    fields: Vec<Field>,
    pool: Pool,
    epoch: u32,
    /// Of the ids of all records.
    id: u64,
    done: bool,
}

impl<R: Reduction> Operator for Reduce<R> {
    fn wants(&self) -> Wants {
        if self.done { Wants::Nothing } else { Wants::Input(0) }
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        if let Some(chunk) = chunk {
            self.id = chunk.ids().iter().fold(self.id, |id, it| mix(id, *it));
            return self.reduction.add(&chunk.columns[self.column]);
        }
        self.done = true;
        let mut record = ChunkBuilder::new(&self.fields, 1, self.epoch, &self.pool);
        record.ids.push_scalar(self.id);
        self.reduction.write(&mut record)?;
        out.push(record.finish());
        Ok(())
    }
}
