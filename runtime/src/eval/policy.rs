//! What becomes of a record that fails: it ends the run, goes, or another one takes its place.

use super::{
    Compiled, Registers,
    machine::{Machine, Stop, Subject},
    name::{Name, name_of},
};
use crate::{Chunk, Failure, Fault, Philox};
use plan::{ExprId, Index, Policy};

/// How often another record is tried before the run ends.
const ATTEMPTS_MAX: usize = 100;

/// A record that went, or was replaced.
#[derive(Debug, Clone)]
pub(crate) struct Lost {
    /// Its id.
    pub(crate) id: u64,
    /// As a person would name it.
    pub(crate) record: String,
    /// Why.
    pub(crate) fault: Fault,
    /// The step that it failed in.
    pub(crate) name: Name,
    /// The share of all records that may go the same way.
    pub(crate) most: f64,
    /// Whether another one took its place.
    pub(crate) replaced: bool,
    /// Records that came with it, up to it.
    pub(crate) entered: usize,
    /// Records that went out before it.
    pub(crate) kept: usize,
}

impl Compiled {
    /// Computes a record, and does as the program says where it is faulty.
    pub(super) fn with_policy(
        &self,
        registers: &mut Registers,
        (chunk, row): (&Chunk, usize),
        lost: &mut Vec<Lost>,
        mut compute: impl FnMut(&mut Machine, Subject<'_>) -> Result<(), Stop>,
    ) -> Result<(), Failure> {
        registers.machine.next_record();
        registers.machine.timing.next(1);
        registers.machine.landed.at(Some(row));
        let subject = Subject { chunk, row: Some(row) };
        let Err(stop) = compute(&mut registers.machine, subject) else { return Ok(()) };
        let (mut fault, policy) = match stop {
            Stop::Fault(fault) => (fault, self.on_fault),
            Stop::Policy(fault, policy) => (fault, policy),
        };
        let id = subject.id();
        let record = name_of(&self.sources, chunk, row);
        let name = self.step_of(registers.machine.culprit()).clone();
        self.place(&mut fault, &mut registers.machine, (subject, &record));
        match policy {
            Policy::Fail => Err(failure(&name, (id, record), fault)),
            Policy::Skip { most } => {
                let (entered, kept) = (row + 1, row);
                lost.push(Lost { id, record, fault, name, most, replaced: false, entered, kept });
                Ok(())
            }
            Policy::Another { most } => {
                let (entered, kept) = (row + 1, row);
                let one = Lost { id, record, fault, name, most, replaced: true, entered, kept };
                lost.push(one.clone());
                if self.replace(registers, (chunk, row), compute)? {
                    return Ok(());
                }
                let Lost { record, mut fault, name, .. } = one;
                let tried =
                    format!("none of the {ATTEMPTS_MAX} other records tried in its place works");
                fault.detail = format!("{}; {tried} either", fault.detail).into();
                Err(failure(&name, (id, record), fault))
            }
        }
    }

    /// Fills the slot of a faulty record: others are drawn by its id until one can be computed;
    /// `false` where none can.
    fn replace(
        &self,
        registers: &mut Registers,
        (chunk, row): (&Chunk, usize),
        mut compute: impl FnMut(&mut Machine, Subject<'_>) -> Result<(), Stop>,
    ) -> Result<bool, Failure> {
        let spare = self.spare.as_ref().expect("the compiler gives `another` its source");
        registers.machine.landed.at(None);
        let mut draws = Philox::new(self.spare_key, chunk.ids()[row], chunk.epoch);
        for _ in 0..ATTEMPTS_MAX {
            let number = spare.first + draws.below(spare.len.max(1));
            let other = spare.record(number, chunk.epoch, &mut registers.chain, &self.pool)?;
            registers.machine.next_record();
            let subject = Subject { chunk: &other, row: Some(0) };
            if other.rows == 1 && compute(&mut registers.machine, subject).is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The step that a node is written in; the stage, where nobody knows.
    fn step_of(&self, node: Option<ExprId>) -> &Name {
        let number = node.and_then(|it| self.steps.get(it.row()));
        number.and_then(|it| self.names.get(*it as usize)).unwrap_or(&self.name)
    }
}

/// The failure of a run at a record.
fn failure(name: &Name, (id, record): (u64, String), fault: Fault) -> Failure {
    let (label, step) = (name.label.to_string(), (&*name.step).into());
    Failure::Record { label, step, id, record: record.into(), fault }
}
