//! Operators of the library: made anew for each epoch, fed in order.

use super::{
    node::{Item, Parcel},
    task::Work,
};
use crate::{
    BuildOperator, Chunk, Failure, Finish, Operator, OperatorCall, Pool, Running, Wants, mix,
};
use plan::{Arg, Field};
use std::sync::Arc;

/// The node of an operator.
pub(super) struct Operating {
    pub(super) maker: Arc<Maker>,
    /// The operator of this epoch; not there before it is made, and while a task has it.
    pub(super) opened: Option<Box<Opened>>,
    /// What it wants, where it is there.
    pub(super) wants: Wants,
    /// The inputs that have come to their end in this epoch.
    pub(super) ended: Vec<bool>,
}

/// Everything that is needed to make an operator.
pub(super) struct Maker {
    pub(super) build: BuildOperator,
    pub(super) args: Vec<Arg>,
    pub(super) names: Vec<String>,
    pub(super) inputs: Vec<Vec<Field>>,
    pub(super) columns: Vec<Field>,
    /// Hash of seed and place.
    pub(super) key: u64,
    pub(super) rows: usize,
    pub(super) pool: Pool,
    /// Whether a node of its own does the parallel step.
    pub(super) finishes_apart: bool,
}

/// An operator in its epoch.
pub(super) struct Opened {
    serial: Box<dyn Operator>,
    finish: Option<Finish>,
    /// Chunks that have left it.
    number: u64,
}

/// What came of a step of an operator.
pub(super) struct Step {
    /// The operator, if it goes on: else it is dropped by the task, not under the lock.
    pub(super) opened: Option<Box<Opened>>,
    pub(super) wants: Wants,
    pub(super) parcels: Vec<Parcel>,
    /// Why it cannot go on after these.
    pub(super) failure: Option<Failure>,
}

impl Maker {
    /// Makes the operator for `epoch`.
    pub(super) fn open(&self, epoch: u32) -> Result<Opened, Failure> {
        let Running { serial, parallel } = (self.build)(&OperatorCall {
            args: &self.args,
            names: &self.names,
            inputs: &self.inputs,
            columns: &self.columns,
            key: mix(self.key, u64::from(epoch)),
            epoch,
            rows: self.rows,
            pool: &self.pool,
        })?;
        Ok(Opened { serial, finish: parallel, number: 0 })
    }

    /// Opens the operator, or gives it the next chunk of an input or its end.
    pub(super) fn step(
        &self,
        opened: Option<Box<Opened>>,
        input: Option<(usize, Option<Chunk>)>,
        epoch: u32,
    ) -> Result<Step, Failure> {
        let mut opened = match opened {
            Some(opened) => opened,
            None => Box::new(self.open(epoch)?),
        };
        let mut chunks = Vec::new();
        let pushed = match input {
            Some((input, chunk)) => opened.serial.push(input, chunk, &mut chunks),
            None => Ok(()),
        };
        chunks.retain(|it| it.rows > 0);
        let mut parcels = Vec::with_capacity(chunks.len());
        let finished = chunks.into_iter().try_for_each(|chunk| {
            parcels.push(self.parcel(&mut opened, chunk)?);
            Ok(())
        });
        let (wants, failure) = (opened.serial.wants(), finished.and(pushed).err());
        let goes_on = failure.is_none() && wants != Wants::Nothing;
        Ok(Step { opened: goes_on.then_some(opened), wants, parcels, failure })
    }

    fn parcel(&self, opened: &mut Opened, chunk: Chunk) -> Result<Parcel, Failure> {
        let number = opened.number;
        opened.number += 1;
        Ok(match &opened.finish {
            None => Parcel::new(chunk),
            Some(finish) if self.finishes_apart => {
                Parcel { finish: Some((finish.clone(), number)), ..Parcel::new(chunk) }
            }
            Some(finish) => Parcel::new(finish(chunk, number)?),
        })
    }
}

impl Opened {
    /// Whether it has a step that need not be done in order.
    pub(super) fn has_finish(&self) -> bool {
        self.finish.is_some()
    }
}

impl Operating {
    /// The next task: to make the operator, or to feed it with the `next` item of an input.
    pub(super) fn give(&mut self, next: impl FnOnce(usize) -> Item, epoch: u32) -> Work {
        let input = match (&self.opened, self.wants) {
            (Some(_), Wants::Input(input)) => Some((input, next(input).into_chunk())),
            _ => None,
        };
        if let Some((input, None)) = input {
            self.ended[input] = true;
        }
        Work::Step(self.maker.clone(), self.opened.take(), input, epoch)
    }

    /// Keeps the operator until its next task; fails where it wants what there is not.
    pub(super) fn keep(
        &mut self,
        opened: Option<Box<Opened>>,
        wants: Wants,
    ) -> Result<(), Failure> {
        if let Wants::Input(input) = wants
            && self.ended.get(input) != Some(&false)
        {
            let what = format!("an operator wants more of its input {input}, a bug of pipec");
            return Err(Failure::Program(what));
        }
        (self.opened, self.wants) = (opened, wants);
        Ok(())
    }

    /// Begins a new epoch; the inputs that have not come to their end.
    pub(super) fn close(&mut self) -> Vec<usize> {
        self.opened = None;
        let going = (0..self.ended.len()).filter(|&it| !self.ended[it]).collect();
        self.ended.fill(false);
        going
    }
}
