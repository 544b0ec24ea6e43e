//! One record through all steps.
//!
//! It is found in its source first. Where that can be read by number, every step is then run on it
//! alone: what is drawn for a record does not depend on the others (`semantics.md`, 6).

use super::{FieldPeek, Looking, Lost, PeekOptions, Seen, is_record_wise, reading::readings};
use crate::{
    session::{
        compiled::Compiled,
        place::{Place, place},
        samples::SampleProgress,
    },
    tools::cut::{self, Faults, Flow},
};
use plan::{Action, Code, DType, OpId, OpKind, Plan, Program, Property, mix};
use runtime::{Chunk, Failure};
use serde::Serialize;
use std::collections::BTreeSet;

/// Copies that a step may make of the record and are looked for.
const COPIES_MAX: u64 = 1024;
/// Copies that are shown.
const SHOWN_MAX: usize = 8;

/// A record at a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Followed {
    /// The step's stable name.
    pub step: String,
    /// Where it is written; none where that is in the library.
    pub place: Option<Place>,
    /// The fields that leave it.
    pub fields: Vec<FieldPeek>,
    /// What becomes of the record, and of the copies that were made of it.
    pub what: Vec<What>,
}

/// What becomes of a record at a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// It leaves the step, or fails in it.
    Seen(Seen),
    /// A condition of the step is false for it.
    Filtered,
    /// It goes on as it is.
    Passed {
        /// What the step does.
        why: String,
    },
    /// It is not followed any further.
    Ended {
        /// What the step does.
        why: String,
    },
}

/// Follows the record `wanted`, an id of 16 digits or the end of one of its texts, such as a
/// file's name. Gives whether some source has it.
///
/// # Errors
/// What ended the run of a step; those before it have been told.
pub fn follow(
    compiled: &Compiled,
    options: &PeekOptions,
    wanted: &str,
    sample: &mut dyn FnMut(&SampleProgress),
    visit: &mut dyn FnMut(Followed),
) -> Result<bool, Failure> {
    let looking = Looking { compiled, options, sample };
    let plan = compiled.written.clone();
    let mut trail = Trail { looking, plan, ids: BTreeSet::new(), at: At::default() };
    let Some(source) = trail.find(&Wanted::of(wanted))? else { return Ok(false) };
    let mut next = Some(source);
    while let Some(op) = next {
        let followed = trail.step(op)?;
        let goes_on = trail.goes_on(&followed);
        visit(followed);
        next = trail.reader(op).filter(|_| goes_on);
    }
    Ok(true)
}

/// How a record is named.
enum Wanted {
    Id(u64),
    Text(String),
}

impl Wanted {
    fn of(text: &str) -> Self {
        match u64::from_str_radix(text, 16) {
            Ok(id) if text.len() == 16 => Self::Id(id),
            _ => Self::Text(text.to_owned()),
        }
    }

    fn is(&self, chunk: &Chunk, row: usize) -> bool {
        match self {
            Self::Id(id) => chunk.ids()[row] == *id,
            Self::Text(text) => {
                let mut texts =
                    chunk.columns.iter().filter(|it| it.dtype() == DType::Str && !it.is_texts());
                texts.any(|it| it.row(row).as_str().ends_with(text))
            }
        }
    }
}

/// Where the record comes from.
#[derive(Default)]
struct At {
    /// Names the source.
    place: u64,
    /// The record's number; none where the source must be read in order.
    number: Option<u64>,
}

struct Trail<'a> {
    looking: Looking<'a>,
    /// The plan, where operators that hand records on as they are have nothing to do.
    plan: Plan,
    /// The record, or the copies that have been made of it.
    ids: BTreeSet<u64>,
    at: At,
}

impl Trail<'_> {
    fn find(&mut self, wanted: &Wanted) -> Result<Option<OpId>, Failure> {
        for op in self.plan.steps() {
            let OpKind::Source { entry, .. } = &self.plan.ops[op].kind else { continue };
            let indexed = stdlib::library()
                .sources
                .iter()
                .any(|it| it.name() == entry && it.has(Property::Indexed));
            let Some((id, number)) = self.find_in(op, wanted)? else { continue };
            self.ids.insert(id);
            self.at = At { place: self.plan.ops[op].place, number: indexed.then_some(number) };
            return Ok(Some(op));
        }
        Ok(None)
    }

    /// The id and the number of the record in a source.
    fn find_in(&mut self, op: OpId, wanted: &Wanted) -> Result<Option<(u64, u64)>, Failure> {
        let mut way = self.looking.way();
        way.chunk_rows = None;
        let program =
            cut::program(&cut::at(&self.plan, op), Faults::AsWritten, self.looking.compiled)?;
        let mut flow = way.start(&program, self.looking.sample)?;
        let mut number = 0;
        while let Some(chunk) = flow.chunk()? {
            if let Some(row) = (0..chunk.rows).find(|&it| wanted.is(&chunk, it)) {
                return Ok(Some((chunk.ids()[row], number + row as u64)));
            }
            number += chunk.rows as u64;
        }
        Ok(None)
    }

    fn step(&mut self, id: OpId) -> Result<Followed, Failure> {
        let op = &self.looking.compiled.written.ops[id];
        let is_alone = matches!(op.kind, OpKind::Source { .. }) || is_record_wise(&self.plan, id);
        let what = if is_alone { self.alone(id)? } else { vec![self.operator(id)] };
        Ok(Followed {
            step: op.step.clone(),
            place: place(&self.looking.compiled.files, op.at),
            fields: op.output.iter().map(FieldPeek::of).collect(),
            what,
        })
    }

    /// A step that works on each record alone.
    fn alone(&mut self, id: OpId) -> Result<Vec<What>, Failure> {
        let part = cut::at(&self.plan, id);
        let mut program = cut::program(&part, Faults::AsWritten, self.looking.compiled)?;
        self.at.pin(&mut program);
        let mut flow = self.looking.way().start(&program, self.looking.sample)?;
        let (records, ids) = self.search(&mut flow, id)?;
        if !records.is_empty() {
            self.ids = ids;
            let read = readings(&part);
            let seen = |it: &Chunk| What::Seen(Seen::record(it, &read, false));
            return Ok(records.iter().map(seen).collect());
        }
        let step = &self.plan.ops[id].step;
        let mut lost = flow.take_lost().into_iter();
        let lost = lost.find(|it| &*it.label == step && self.ids.contains(&it.id));
        Ok(vec![match lost {
            Some(it) => What::Seen(Seen::Failed(Lost::of(&it))),
            None => What::Filtered,
        }])
    }

    /// The record, or what was made of it, among those that leave a step.
    fn search(&self, flow: &mut Flow, op: OpId) -> Result<(Vec<Chunk>, BTreeSet<u64>), Failure> {
        let mut ids = self.ids.clone();
        if matches!(self.plan.ops[op].kind, OpKind::FlatMap { .. }) {
            let copies = |id: &u64| (0..COPIES_MAX).map(|it| mix(*id, it)).collect::<Vec<_>>();
            ids.extend(self.ids.iter().flat_map(copies));
        }
        let (mut found, mut left) = (Vec::new(), BTreeSet::new());
        while let Some(record) = flow.record()? {
            let id = record.ids()[0];
            if ids.contains(&id) {
                left.insert(id);
                found.push(record);
            }
            // Copies of a record come one after the other.
            if !left.is_empty() && !ids.contains(&id) || found.len() == SHOWN_MAX {
                break;
            }
        }
        Ok((found, left))
    }

    /// An operator, which does not compute anything of the record.
    fn operator(&mut self, id: OpId) -> What {
        let why = match stdlib::library().action(&self.plan.ops[id]) {
            Some(Action::Shuffle) => "passes, at another position",
            Some(Action::Mix | Action::Concat) => "passes, mixed with the records of other streams",
            Some(Action::Repeat) => "passes; each repetition makes another copy",
            Some(Action::Take | Action::Skip | Action::Sample) => {
                "passes, if its position is among those selected"
            }
            Some(
                Action::Batch
                | Action::Window
                | Action::Pack
                | Action::Zip
                | Action::Join
                | Action::Accompany
                | Action::Reduce,
            )
            | None => {
                let why = "records are combined here: it is not followed further".to_owned();
                return What::Ended { why };
            }
        };
        let why = why.to_owned();
        let input = self.plan.ops[id].inputs.iter().position(|it| self.comes_from_source(*it));
        cut::without(&mut self.plan, id, input.unwrap_or(0));
        What::Passed { why }
    }

    /// Whether `op` has the record's source below it.
    fn comes_from_source(&self, op: OpId) -> bool {
        let part = cut::at(&self.plan, op);
        part.steps().into_iter().any(|it| {
            let op = &part.ops[it];
            matches!(op.kind, OpKind::Source { .. }) && op.place == self.at.place
        })
    }

    fn goes_on(&self, followed: &Followed) -> bool {
        followed
            .what
            .iter()
            .any(|it| matches!(it, What::Seen(Seen::Record { .. }) | What::Passed { .. }))
    }

    /// The step that reads what leaves `op`.
    fn reader(&self, op: OpId) -> Option<OpId> {
        let written = &self.looking.compiled.written;
        written.steps().into_iter().find(|it| written.ops[*it].inputs.contains(&op))
    }
}

impl At {
    /// Lets the source give nothing but the record.
    fn pin(&self, program: &mut Program) {
        let Some(number) = self.number else { return };
        program.beside.clear();
        for id in program.stages.ids() {
            if let Code::Source { place, spans, skip, take, laps, windows, .. } =
                &mut program.stages[id].code
                && *place == self.place
            {
                (*spans, *skip, *take, *laps) = (None, number, Some(1), Some(1));
                *windows = None;
            }
        }
    }
}
