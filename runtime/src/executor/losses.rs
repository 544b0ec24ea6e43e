//! Records that failed: counted, and held against the share that the program allows.

use crate::{
    Failure, Fault,
    eval::{Lost, Name},
};
use plan::{count, things};
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

impl LostRecord {
    /// The record that ends the run, where one does; `source` is the name of the one that has a record.
    pub(super) fn of(failure: &Failure, source: impl Fn(u64) -> Option<Name>) -> Option<Self> {
        let (id, record, fault, Name { label, step }) = match failure {
            Failure::Record { label, step, id, record, fault } => {
                let name = Name { label: label.as_str().into(), step: (&**step).into() };
                (*id, record, fault.clone(), name)
            }
            Failure::Unreadable { id, record, path, detail } => {
                let fault = Fault::new("bad-row", format!("`{path}`: {detail}"));
                (*id, record, fault, source(*id)?)
            }
            _ => return None,
        };
        Some(Self { id, record: record.to_string(), fault, label, step })
    }
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
    /// Whether others take the places of those that fail: `else another`, not `else skip`.
    replaced: bool,
    lost: u64,
    first: (String, Fault),
}

impl Losses {
    /// Counts what came of a chunk; where too many were lost, up to the one that is too many.
    pub(super) fn add(&mut self, passed: Passed) -> Option<Over> {
        let Passed { entered, lost, expected, most_lost, lost_elsewhere } = passed;
        let before = self.entered;
        for one in lost {
            self.entered = before + one.entered as u64;
            let kept = one.kept;
            self.lose(one);
            let all = too_many(self.total + lost_elsewhere, most_lost);
            let share = || self.exceeded(expected?);
            if let Some(detail) = all.or_else(share) {
                return Some(Over { detail, kept });
            }
        }
        self.entered = before + entered;
        None
    }

    fn lose(&mut self, lost: Lost) {
        let Lost { id, record, fault, name, most, replaced, .. } = lost;
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
        self.share(Share { most, replaced, lost: 1, first: (record, fault) });
    }

    /// What is known of this epoch and of all, to be written down.
    pub(super) fn numbers(&self) -> Vec<u64> {
        if self.entered == 0 && self.total == 0 {
            return Vec::new();
        }
        let shares = self.shares.iter().flat_map(|it| [it.number(), it.lost]);
        [self.entered, self.total].into_iter().chain(shares).collect()
    }

    /// Goes on from what `numbers` said.
    pub(super) fn resume(&mut self, numbers: &[u64]) {
        let [entered, total, shares @ ..] = numbers else { return };
        (self.entered, self.total) = (*entered, *total);
        let earlier = || Fault::new("earlier", "it failed before the run was resumed");
        let share = |it: &[u64]| Share {
            most: f64::from_bits(it[0]).abs(),
            replaced: f64::from_bits(it[0]).is_sign_negative(),
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
        let over = |it: &&Share| it.lost > it.allowed(records);
        self.shares.iter().find(over).map(|it| it.message(records, expected == 0))
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
        match self.shares.iter_mut().find(|it| it.number() == more.number()) {
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
    let lost = things(lost, "record", "records");
    Some(format!(
        "{lost} failed, but `--max-errors {most}` allows fewer: fix the data, or raise it"
    ))
}

impl Share {
    /// How many of so many records may fail: at least one, so that a small data set does not end at its first
    /// bad record, unless the share is 0.
    fn allowed(&self, records: u64) -> u64 {
        if self.most <= 0.0 {
            return 0;
        }
        // Not one fewer for a rounding error: 0.29 × 100 is a little less than 29.
        ((self.most * records as f64 * (1.0 + 1e-9)) as u64).max(1)
    }

    /// What it is called in a state, where the number that says the share also says the word by its sign.
    fn number(&self) -> u64 {
        if self.replaced { (-self.most).to_bits() } else { self.most.to_bits() }
    }

    /// What to say where more failed than may. Before the epoch's end (`all`) nobody knows how many fail, so no share
    /// is named that would be enough: `pipec scan` is, which finds all of them.
    fn message(&self, records: u64, all: bool) -> String {
        let Self { most, replaced, lost, first: (record, first) } = self;
        let word = if *replaced { "another" } else { "skip" };
        let share = *lost as f64 / records.max(1) as f64;
        let records_shown = things(records, "record", "records");
        let (lost, allowed) = (count(*lost), count(self.allowed(records)));
        let (failed, remedy) = match all {
            true => (
                format!("{lost} of {records_shown} failed ({})", percent(share)),
                format!("write `else {word}(most: {})`", enough(share)),
            ),
            false => (
                format!("{lost} of {records_shown} failed so far"),
                format!("set `most` above the share of all that fail: `else {word}(most: …)`"),
            ),
        };
        format!(
            "{failed}, but `else {word}(most: {most})` allows {allowed}; the first: {record}: {first}; \
             fix the data (`pipec scan` lists every record that fails), or {remedy}"
        )
    }
}

/// The share, rounded up to one digit, so that it would have been enough.
fn enough(share: f64) -> f64 {
    let decimals = (-share.log10().floor()).clamp(0.0, 12.0) as i32;
    let scale = 10_f64.powi(decimals);
    // Not a digit more for a rounding error: 0.3 × 10 is a little more than 3.
    ((share * scale * (1.0 - 1e-9)).ceil() / scale).min(1.0)
}

/// A share as a person reads it: `1.5%`, `0.02%`, `100%`.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = (1.0 - percent.max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{percent:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lose(n: u64, of: u64, most: f64) -> Losses {
        let torn = || Fault::new("torn", "it is torn");
        let record = || "`a.jpg`".to_owned();
        let lost = |id| Lost {
            id,
            record: record(),
            fault: torn(),
            name: Name { label: "a.pipe:1:1".into(), step: "a.map#1".into() },
            most,
            replaced: false,
            entered: 1,
            kept: 0,
        };
        let mut losses = Losses::default();
        let lost = (0..n).map(lost).collect();
        let over = losses.add(Passed { entered: of, lost, ..Passed::default() });
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
            lose(3, 200, 1e-3).exceeded(0).unwrap(),
            "3 of 200 records failed (1.5%), but `else skip(most: 0.001)` allows 1; the first: \
             `a.jpg`: it is torn (torn); fix the data (`pipec scan` lists every record that \
             fails), or write `else skip(most: 0.02)`"
        );
    }

    #[test]
    fn a_small_set_may_lose_one() {
        assert_eq!(lose(1, 200, 1e-3).exceeded(0), None);
        assert_eq!(lose(1, 1, 1e-9).exceeded(0), None);
        assert!(lose(2, 1999, 1e-3).exceeded(0).is_some());
        assert!(lose(1, 200, 0.0).exceeded(0).is_some(), "none, where that is said");
    }

    #[test]
    fn what_is_suggested_is_enough() {
        for (lost, records) in [(2, 3), (2, 10), (3, 10), (29, 100), (7, 12_800), (2, 1_000_000)] {
            let share = lost as f64 / records as f64;
            let most = enough(share);
            assert!(most >= share * (1.0 - 1e-9) && most <= 1.0, "{lost} of {records}: {most}");
            assert_eq!(lose(lost, records, most).exceeded(0), None, "{lost} of {records}: {most}");
        }
        assert_eq!([0.3, 0.0151, 1.0].map(enough), [0.3, 0.02, 1.0]);
        assert_eq!([0.015, 0.00017, 1.0, 0.667].map(percent), ["1.5%", "0.017%", "100%", "67%"]);
    }

    #[test]
    fn a_state_keeps_the_word() {
        let mut before = Losses::default();
        let first = ("`a.jpg`".to_owned(), Fault::new("torn", "it is torn"));
        before.total = 2;
        before.share(Share { most: 0.1, replaced: true, lost: 2, first });
        let mut after = Losses::default();
        after.resume(&before.numbers());
        let said = after.exceeded(10).unwrap();
        assert!(said.ends_with("`else another(most: …)`"), "{said}");
    }
}
