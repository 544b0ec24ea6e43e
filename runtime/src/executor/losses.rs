//! Records that failed: counted, and held against the share that the program allows.

use crate::{Fault, eval::Lost};
use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    sync::Arc,
};

/// Lost records that are kept by name.
pub(super) const KEPT: usize = 100;
/// Of these, of the same kind.
const KEPT_OF_A_CODE: u64 = 8;

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
    /// The step; the first and the last one, where several run as one.
    pub step: Arc<str>,
}

/// What a stage is called where records of it are lost.
#[derive(Clone)]
pub(super) struct Name {
    pub(super) label: Arc<str>,
    pub(super) step: Arc<str>,
}

/// What came of a chunk.
#[derive(Default)]
pub(super) struct Passed {
    /// Records that came.
    pub(super) entered: u64,
    pub(super) lost: Vec<Lost>,
    /// Against how many records the losses are held, if at all before the epoch's end.
    pub(super) expected: Option<u64>,
    /// Records that may be lost in all, by all stages in all epochs.
    pub(super) most_lost: Option<u64>,
    /// Records that other stages have lost.
    pub(super) lost_elsewhere: u64,
}

/// Too many records were lost.
#[derive(Debug, PartialEq)]
pub(super) struct Over {
    /// What to say.
    pub(super) detail: String,
    /// Records of the chunk that went out before the one that was too many.
    pub(super) kept: usize,
}

/// The losses of a stage.
#[derive(Default)]
pub(super) struct Losses {
    /// Records that came in this epoch.
    entered: u64,
    /// Losses of this epoch, for each share that may be lost.
    shares: Vec<Share>,
    /// Of lanes: what came of epochs that are over for this one, until they are for all.
    over: VecDeque<Epoch>,
    /// Losses of all epochs.
    pub(super) total: u64,
    /// Losses that nobody has been told of, where somebody is told.
    pub(super) untold: Option<Vec<LostRecord>>,
    /// By the code of the fault, of all epochs.
    pub(super) counts: BTreeMap<&'static str, u64>,
    /// The first ones, of all epochs.
    pub(super) first: Vec<LostRecord>,
}

/// What came of an epoch.
struct Epoch {
    number: u32,
    entered: u64,
    shares: Vec<Share>,
}

struct Share {
    most: f64,
    lost: u64,
    first: (String, Fault),
}

impl Losses {
    /// Counts what came of a chunk; where too many were lost, up to the one that is too many.
    pub(super) fn add(&mut self, passed: Passed, name: &Name) -> Option<Over> {
        let Passed { entered, lost, expected, most_lost, lost_elsewhere } = passed;
        let before = self.entered;
        for one in lost {
            self.entered = before + one.entered as u64;
            let kept = one.kept;
            self.lose(one, name);
            let all = too_many(self.total + lost_elsewhere, most_lost);
            let share = || self.exceeded(expected?);
            if let Some(detail) = all.or_else(share) {
                return Some(Over { detail, kept });
            }
        }
        self.entered = before + entered;
        None
    }

    fn lose(&mut self, lost: Lost, name: &Name) {
        let Lost { id, record, fault, most, .. } = lost;
        self.total += 1;
        let count = self.counts.entry(fault.code).or_default();
        *count += 1;
        let is_early = *count <= KEPT_OF_A_CODE && self.first.len() < KEPT;
        let lost = || {
            let (record, fault) = (record.clone(), fault.clone());
            let Name { label, step } = name.clone();
            LostRecord { id, record, fault, label, step }
        };
        if is_early {
            self.first.push(lost());
        }
        self.untold.iter_mut().for_each(|it| it.push(lost()));
        self.share(Share { most, lost: 1, first: (record, fault) });
    }

    /// What is known of this epoch and of all, to be written down.
    pub(super) fn numbers(&self) -> Vec<u64> {
        if self.entered == 0 && self.total == 0 {
            return Vec::new();
        }
        let shares = self.shares.iter().flat_map(|it| [it.most.to_bits(), it.lost]);
        [self.entered, self.total].into_iter().chain(shares).collect()
    }

    /// Goes on from what `numbers` said.
    pub(super) fn resume(&mut self, numbers: &[u64]) {
        let [entered, total, shares @ ..] = numbers else { return };
        (self.entered, self.total) = (*entered, *total);
        let earlier = || Fault::new("earlier", "it failed before the run was resumed");
        let share = |it: &[u64]| Share {
            most: f64::from_bits(it[0]),
            lost: it[1],
            first: ("a record".to_owned(), earlier()),
        };
        self.shares = shares.chunks_exact(2).map(share).collect();
    }

    /// Losses that nobody has been told of.
    pub(super) fn n_untold(&self) -> usize {
        self.untold.as_ref().map_or(0, Vec::len)
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

    /// The same of all lanes, which have come to the end of an epoch.
    pub(super) fn exceeded_by_all<'a>(
        lanes: impl Iterator<Item = &'a mut Self>,
        epoch: u32,
    ) -> Option<String> {
        let mut all = Self::default();
        for lane in lanes {
            while let Some(over) = lane.over.pop_front_if(|it| it.number <= epoch) {
                if over.number == epoch {
                    all.entered += over.entered;
                    over.shares.into_iter().for_each(|it| all.share(it));
                }
            }
        }
        all.exceeded(0)
    }

    fn share(&mut self, more: Share) {
        match self.shares.iter_mut().find(|it| it.most.to_bits() == more.most.to_bits()) {
            Some(share) => share.lost += more.lost,
            None => self.shares.push(more),
        }
    }

    /// A lane has come to the end of an epoch.
    pub(super) fn close_lane(&mut self, number: u32) {
        let shares = mem::take(&mut self.shares);
        self.over.push_back(Epoch { number, entered: self.entered, shares });
        self.close();
    }

    /// Begins a new epoch.
    pub(super) fn close(&mut self) {
        self.entered = 0;
        self.shares.clear();
    }
}

fn too_many(lost: u64, most: Option<u64>) -> Option<String> {
    let most = most.filter(|it| lost > *it)?;
    Some(format!("{lost} records failed, and {most} may: mend the data, or allow more"))
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
        let record = || "`a.jpg`".to_owned();
        let lost = |id| Lost { id, record: record(), fault: torn(), most, entered: 1, kept: 0 };
        let mut losses = Losses::default();
        let over = losses.add(
            Passed { entered: of, lost: (0..n).map(lost).collect(), ..Passed::default() },
            &Name { label: "a.pipe:1:1".into(), step: "a.map#1".into() },
        );
        assert_eq!(over, None);
        losses
    }

    #[test]
    fn lanes_are_held_against_the_share_together() {
        let mut lanes = [lose(3, 10, 0.2), lose(1, 10, 0.2), lose(2, 10, 0.2)];
        lanes.iter_mut().for_each(|it| it.close_lane(4));
        // The first one is an epoch ahead.
        lanes[0].close_lane(5);
        assert_eq!(Losses::exceeded_by_all(lanes.iter_mut().take(2), 4), None);
        let mut lanes = [lose(3, 10, 0.2), lose(2, 10, 0.2)];
        lanes.iter_mut().for_each(|it| it.close_lane(4));
        let said = Losses::exceeded_by_all(lanes.iter_mut(), 4).unwrap();
        assert!(said.starts_with("5 of 20 records failed"), "{said}");
        assert_eq!(Losses::exceeded_by_all(lanes.iter_mut(), 5), None);
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
