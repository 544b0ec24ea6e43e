//! Records that failed: counted, and held against the share that the program allows.

use crate::{Fault, eval::Lost};
use std::{collections::BTreeMap, sync::Arc};

/// Lost records that are kept by name.
pub(super) const KEPT: usize = 100;

/// A record that was skipped or replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRecord {
    /// Its id.
    pub id: u64,
    /// As a person would name it: its path, where it has one.
    pub record: String,
    /// What was wrong with it.
    pub fault: Fault,
    /// Where the step that it failed in is written.
    pub label: Arc<str>,
}

/// The losses of a stage.
#[derive(Default)]
pub(super) struct Losses {
    /// Records that came in this epoch.
    entered: u64,
    /// Losses of this epoch, for each share that may be lost.
    shares: Vec<Share>,
    /// By the code of the fault, of all epochs.
    pub(super) counts: BTreeMap<&'static str, u64>,
    /// The first ones, of all epochs.
    pub(super) first: Vec<LostRecord>,
}

struct Share {
    most: f64,
    lost: u64,
    first: (String, Fault),
}

impl Losses {
    /// Counts what came of a chunk.
    pub(super) fn add(&mut self, entered: u64, lost: Vec<Lost>, label: &Arc<str>) {
        self.entered += entered;
        for Lost { id, record, fault, most } in lost {
            *self.counts.entry(fault.code).or_default() += 1;
            if self.first.len() < KEPT {
                let (fault, label) = (fault.clone(), label.clone());
                self.first.push(LostRecord { id, record: record.clone(), fault, label });
            }
            match self.shares.iter_mut().find(|it| it.most.to_bits() == most.to_bits()) {
                Some(share) => share.lost += 1,
                None => self.shares.push(Share { most, lost: 1, first: (record, fault) }),
            }
        }
    }

    /// Whether none was lost in this epoch.
    pub(super) fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// What to say if more were lost than may be.
    ///
    /// Before the end of an epoch `expected` says how many records will come, where that is
    /// known; where more come, the share is that of all that came.
    pub(super) fn exceeded(&self, expected: u64) -> Option<String> {
        let records = self.entered.max(expected);
        // Not at a rounding error: 0.29 × 100 is a little less than 29.
        let over = |it: &&Share| it.lost as f64 > it.most * records as f64 * (1.0 + 1e-9);
        self.shares.iter().find(over).map(|it| it.message(records))
    }

    /// Begins a new epoch.
    pub(super) fn close(&mut self) {
        self.entered = 0;
        self.shares.clear();
    }
}

impl Share {
    fn message(&self, records: u64) -> String {
        let Self { most, lost, first: (record, first) } = self;
        let share = *lost as f64 / records.max(1) as f64;
        // One digit, rounded up, so that it would have been enough.
        let digit = 10_f64.powf(share.log10().floor());
        let enough = (share / digit).ceil() * digit;
        format!(
            "{lost} of {records} records failed, and the share that may is {most}; the first: \
             {record}: {first}; mend the data, or allow more, as in `else skip(most: {enough:.0e})`"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lose(n: u64, of: u64, most: f64) -> Losses {
        let torn = || Fault::new("torn", "it is torn");
        let lost = |id| Lost { id, record: "`a.jpg`".into(), fault: torn(), most };
        let mut losses = Losses::default();
        losses.add(of, (0..n).map(lost).collect(), &"a.pipe:1:1".into());
        losses
    }

    #[test]
    fn the_share_counts() {
        assert_eq!(lose(29, 100, 0.29).exceeded(0), None);
        assert_eq!(lose(1, 1000, 1e-3).exceeded(0), None);
        assert_eq!(lose(2, 10, 1e-3).exceeded(2000), None);
        assert_eq!(
            lose(2, 1000, 1e-3).exceeded(0).unwrap(),
            "2 of 1000 records failed, and the share that may is 0.001; the first: `a.jpg`: it is torn \
             (torn); mend the data, or allow more, as in `else skip(most: 2e-3)`"
        );
    }
}
