//! Operators of the library: made anew for each epoch, fed in order.

use super::{
    cut::Stretch,
    node::{Item, Left, Node, Parcel},
    position::{At, Point},
    task::Work,
};
use crate::{
    BuildOperator, ByFile, Chunk, Failure, Filling, Finish, Kept, Mark, Operator, OperatorCall,
    Pool, Running, Wants, mix,
};
use plan::{Arg, Field};
use std::{collections::VecDeque, sync::Arc};

/// The node of an operator.
pub(super) struct Operating {
    pub(super) maker: Arc<Maker>,
    /// The operator of this epoch; not there before it is made, and while a task has it.
    pub(super) opened: Option<Box<Opened>>,
    /// What it wants, where it is there.
    pub(super) wants: Wants,
    /// The inputs that have come to their end in this epoch.
    pub(super) ended: Vec<bool>,
    /// Why inputs have failed in this epoch, where the operator can go on for a while.
    pub(super) failures: Vec<Option<Failure>>,
}

/// What an operator is given of an input.
pub(super) enum Next {
    Chunk(Stretch),
    End,
    /// It fails where it would go on.
    Fail,
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
    /// Where it begins, in the epoch in which the run is resumed.
    pub(super) resume: Option<Resume>,
    pub(super) rows: usize,
    pub(super) memory: u64,
    pub(super) pool: Pool,
    /// See [`Operator::holds`].
    pub(super) holds: u64,
    /// Whether a node of its own does the parallel step.
    pub(super) finishes_apart: bool,
    /// Whether an input that has ended is come to the end of again when a run is resumed: what was
    /// lost in it is known then.
    pub(super) ends_again: bool,
    /// What it has made of the inputs that run once.
    pub(super) kept: Kept,
    /// Which inputs these are.
    pub(super) once: Vec<bool>,
    /// See [`OperatorCall::by_file`].
    pub(super) by_file: Vec<Option<Arc<ByFile>>>,
    /// How much of what it has made is padding, in all epochs.
    pub(super) filling: Arc<Filling>,
}

/// An operator in its epoch.
pub(super) struct Opened {
    serial: Box<dyn Operator>,
    finish: Option<Finish>,
    /// Chunks that have left it.
    number: u64,
    /// Its last point.
    point: Arc<Point>,
    inputs: Vec<Given>,
    /// See [`Maker`].
    ends_again: bool,
}

/// What an operator was given of an input, as far as it may have to be given it again.
#[derive(Default)]
struct Given {
    /// The chunks: the place of each, and its records. The last one stays.
    chunks: VecDeque<(At, u64)>,
    ended: bool,
}

/// Where an operator begins when a run is resumed.
#[derive(Clone)]
pub(super) struct Resume {
    pub(super) epoch: u32,
    pub(super) state: Vec<u64>,
    pub(super) number: u64,
    pub(super) inputs: Vec<At>,
}

/// What came of a step of an operator.
pub(super) struct Step {
    /// The operator, if it goes on: else it is dropped by the task, not under the lock.
    pub(super) opened: Option<Box<Opened>>,
    pub(super) wants: Wants,
    pub(super) parcels: Vec<Parcel>,
    /// Why it cannot go on after these.
    pub(super) failure: Option<Failure>,
    /// The input whose failure ends it after these.
    pub(super) failed: Option<usize>,
}

impl Maker {
    /// Makes the operator for `epoch`, at its begin or where a run is resumed.
    pub(super) fn open(&self, epoch: u32) -> Result<Opened, Failure> {
        let resume = self.resume.as_ref().filter(|it| it.epoch == epoch);
        let Running { serial, parallel } = (self.build)(&OperatorCall {
            args: &self.args,
            names: &self.names,
            inputs: &self.inputs,
            columns: &self.columns,
            key: mix(self.key, u64::from(epoch)),
            epoch,
            state: resume.map(|it| it.state.as_slice()),
            rows: self.rows,
            memory: self.memory,
            pool: &self.pool,
            kept: self.once.contains(&true).then_some(&self.kept),
            by_file: &self.by_file,
            filling: &self.filling,
        })?;
        let (point, inputs) = match resume.cloned() {
            Some(Resume { state, number, inputs, .. }) => {
                let given = inputs.iter().map(Given::at).collect();
                (Point::Operator { state, number, inputs }, given)
            }
            None => (Point::Start, self.inputs.iter().map(|_| Given::default()).collect()),
        };
        let number = resume.map_or(0, |it| it.number);
        Ok(Opened {
            serial,
            finish: parallel,
            number,
            point: Arc::new(point),
            inputs,
            ends_again: self.ends_again,
        })
    }

    /// Opens the operator, or gives it the next chunk of an input or its end.
    pub(super) fn step(
        &self,
        opened: Option<Box<Opened>>,
        input: Option<(usize, Next)>,
        epoch: u32,
    ) -> Result<Step, Failure> {
        let mut opened = match opened {
            Some(opened) => opened,
            None => Box::new(self.open(epoch)?),
        };
        let mut chunks = Vec::new();
        let (mut failed, fails) = (None, matches!(input, Some((_, Next::Fail))));
        let pushed = match input {
            Some((input, Next::Fail)) => opened.serial.fail(input, &mut chunks).map(|goes_on| {
                failed = (!goes_on).then_some(input);
            }),
            Some((input, given)) => opened.push(input, given, &mut chunks),
            None => Ok(()),
        };
        // A point is one that `push` has passed.
        let mut mark = if fails { None } else { opened.serial.mark() };
        let mut parcels = Vec::with_capacity(chunks.len());
        let finished = chunks.into_iter().enumerate().try_for_each(|(at, chunk)| {
            if let Some(mark) = mark.take_if(|it| it.chunks <= at) {
                opened.pass(mark);
            }
            if chunk.rows > 0 {
                parcels.push(self.parcel(&mut opened, chunk)?);
            }
            Ok(())
        });
        mark.into_iter().for_each(|it| opened.pass(it));
        let (wants, failure) = (opened.serial.wants(), finished.and(pushed).err());
        if wants == Wants::Nothing {
            failed = failed.or(opened.serial.failed());
        }
        let goes_on = failure.is_none() && failed.is_none() && wants != Wants::Nothing;
        Ok(Step { opened: goes_on.then_some(opened), wants, parcels, failure, failed })
    }

    fn parcel(&self, opened: &mut Opened, chunk: Chunk) -> Result<Parcel, Failure> {
        let number = opened.number;
        // No run comes so far, but what a forged checkpoint says may.
        opened.number = opened.number.wrapping_add(1);
        let parcel = match &opened.finish {
            None => Parcel::new(chunk),
            Some(finish) if self.finishes_apart => {
                Parcel { left: Some(Left::Finish(finish.clone(), number)), ..Parcel::new(chunk) }
            }
            Some(finish) => Parcel::new(finish(chunk, number)?),
        };
        Ok(Parcel { at: At { point: opened.point.clone(), skip: 0 }, ..parcel })
    }
}

impl Given {
    /// What is to be given from `at` on.
    fn at(at: &At) -> Self {
        match &*at.point {
            Point::Ended => Self { ended: true, ..Self::default() },
            _ => Self { chunks: VecDeque::from([(at.clone(), 0)]), ended: false },
        }
    }

    /// Where the record stands before the last `ahead` ones; forgets what is before it.
    fn place(&mut self, ahead: u64, ends_again: bool) -> At {
        if self.ended && ahead == 0 && !ends_again {
            self.chunks.clear();
            return At::new(Point::Ended);
        }
        let given: u64 = self.chunks.iter().map(|it| it.1).sum();
        let mut behind = given.saturating_sub(ahead);
        while self.chunks.len() > 1 && self.chunks[0].1 <= behind {
            behind -= self.chunks[0].1;
            self.chunks.pop_front();
        }
        // What is cut off counts no more.
        match self.chunks.front_mut() {
            Some((at, rows)) => {
                *at = at.plus(behind);
                *rows -= behind;
                at.clone()
            }
            None => At::start(),
        }
    }
}

impl Opened {
    fn push(&mut self, input: usize, given: Next, out: &mut Vec<Chunk>) -> Result<(), Failure> {
        let Next::Chunk(Stretch { chunk, at }) = given else {
            self.inputs[input].ended = true;
            return self.serial.push(input, None, out);
        };
        self.inputs[input].chunks.push_back((at, chunk.rows as u64));
        self.serial.push(input, Some(chunk), out)
    }

    /// Passes a point, after the chunks that have left it so far.
    fn pass(&mut self, Mark { state, ahead, .. }: Mark) {
        let ahead = |input: usize| ahead.get(input).copied().unwrap_or(0);
        let again = self.ends_again;
        let inputs = self.inputs.iter_mut().enumerate().map(|(i, it)| it.place(ahead(i), again));
        let inputs = inputs.collect();
        self.point = Arc::new(Point::Operator { state, number: self.number, inputs });
    }

    /// See [`Operator::holds`].
    pub(super) fn holds(&self) -> u64 {
        self.serial.holds()
    }

    /// Whether it has a step that need not be done in order.
    pub(super) fn has_finish(&self) -> bool {
        self.finish.is_some()
    }
}

impl Operating {
    /// The next task: to make the operator, or to feed it with the `next` item of an input.
    pub(super) fn give(&mut self, next: impl FnOnce(usize) -> Item, epoch: u32) -> Work {
        let input = match (&self.opened, self.wants) {
            (Some(_), Wants::Input(input)) => Some((input, self.taken(input, next(input)))),
            _ => None,
        };
        Work::Step(self.maker.clone(), self.opened.take(), input, epoch)
    }

    /// Takes note of what came of an input.
    fn taken(&mut self, input: usize, item: Item) -> Next {
        match item {
            Item::Chunk(parcel) => Next::Chunk(parcel.into_stretch()),
            Item::End => {
                self.ended[input] = true;
                Next::End
            }
            Item::Failed(failure) => {
                self.failures[input] = Some(failure);
                Next::Fail
            }
        }
    }

    /// Keeps the operator until its next task; fails where it wants what there is not.
    pub(super) fn keep(
        &mut self,
        opened: Option<Box<Opened>>,
        wants: Wants,
    ) -> Result<(), Failure> {
        if let Wants::Input(input) = wants
            && (self.ended.get(input) != Some(&false) || self.failures[input].is_some())
        {
            // A forged position may say of any input that it has ended.
            return Err(match self.maker.resume {
                Some(_) => Failure::State("it is damaged".to_owned()),
                None => Failure::Program(format!(
                    "an operator asks for more of its input {input}; this is a bug in pipec"
                )),
            });
        }
        (self.opened, self.wants) = (opened, wants);
        Ok(())
    }

    /// Whether an input runs once, so that this node must ask for it to have it run again.
    pub(super) fn runs_once(&self, input: usize) -> bool {
        self.maker.once.get(input) == Some(&true)
    }

    /// Begins a new epoch; the inputs that have not come to their end.
    pub(super) fn close(&mut self) -> Vec<usize> {
        self.opened = None;
        let going = (0..self.ended.len()).filter(|&it| !self.ended[it]).collect();
        self.ended.fill(false);
        self.failures.fill(None);
        going
    }
}

/// Lets a node, and all above it, run no further than to the end of `epoch`.
pub(super) fn end_after(nodes: &mut [Node], id: usize, epoch: u32) {
    nodes[id].end = nodes[id].end.min(epoch.saturating_add(1));
    nodes[id].inputs.clone().into_iter().for_each(|it| end_after(nodes, it, epoch));
}
