//! Which values are kept, and why these.
//!
//! A run comes to each record once an epoch. So what it is worth to keep the value of a record does
//! not depend on the other records, and where there is no room for all of them any part is as good
//! as any other: a value is worth the time that it saves a record, times the share of the records
//! for which there is room.

use super::Candidate;
use plan::StageId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes of an entry besides its value.
const ENTRY_BYTES: f64 = 256.0;
/// Nanoseconds to put a byte into memory: once, in the first epoch. Assumed: a copy to fresh pages.
const FILL_NS: f64 = 0.4;

/// A value that is kept, or that could be, and why not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The value.
    pub candidate: Candidate,
    /// How many there are, where it is known.
    pub values: Option<u64>,
    /// The share of them for which there is room: 0 to 1.
    pub share: f64,
    /// Processor time that it saves a record in each later epoch, on average, in nanoseconds.
    pub saves_ns: f64,
    /// Epochs after which the time to fill it has come back.
    pub payback: f64,
    /// Whether it is kept.
    pub kept: bool,
    /// Why, or why not, in a sentence.
    pub why: String,
    /// Bytes that it may take, where it is kept.
    pub limit: u64,
}

/// What a choice is made for.
#[derive(Debug, Clone, Default)]
pub struct Occasion {
    /// Records of a pass through each source, by its stage, where they are known.
    pub pass_lens: BTreeMap<StageId, u64>,
    /// How often each record comes: epochs, times the laps of an epoch.
    pub passes: f64,
    /// Bytes that may be taken.
    pub room: u64,
    /// Values that are kept and no others, where there is one (`Candidate::value_name`).
    pub pinned: Vec<String>,
    /// Values that are not kept.
    pub forbidden: Vec<String>,
}

impl Choice {
    fn new(candidate: Candidate, occasion: &Occasion) -> Self {
        let lens = candidate.sources.iter().map(|it| occasion.pass_lens.get(it).copied());
        let values = lens.sum::<Option<u64>>();
        let why = candidate.refused.clone().unwrap_or_default();
        let (share, saves_ns, payback, limit) = (0.0, 0.0, f64::INFINITY, 0);
        let mut new = Self { candidate, values, share, saves_ns, payback, kept: false, why, limit };
        if new.why.is_empty() && occasion.passes < 2.0 {
            new.why = "each record comes once".to_owned();
        }
        let name = new.candidate.value_name();
        if new.why.is_empty() && occasion.forbidden.contains(&name) {
            new.why = "the lock forbids it".to_owned();
        }
        let others = !occasion.pinned.is_empty() && !occasion.pinned.contains(&name);
        if new.why.is_empty() && others {
            new.why = format!("the lock keeps `{}` alone", occasion.pinned.join("`, `"));
        }
        new
    }

    /// Bytes of all of them.
    pub fn bytes_in_all(&self) -> Option<f64> {
        Some(self.values? as f64 * (self.candidate.bytes.value + ENTRY_BYTES))
    }

    fn is_open(&self) -> bool {
        !self.kept && self.why.is_empty()
    }

    /// What it is worth where there is so much room, a pass, in nanoseconds.
    fn worth(&mut self, room: f64) -> f64 {
        self.share = self.bytes_in_all().map_or(1.0, |it| (room / it.max(1.0)).min(1.0));
        self.saves_ns = self.share * self.candidate.saves.value;
        self.payback = 1.0 + FILL_NS * self.candidate.bytes.value / self.candidate.saves.value;
        self.saves_ns * self.values.unwrap_or(1) as f64
    }
}

/// Every candidate: what is kept first, then the others, each with its reason.
pub fn choose(candidates: Vec<Candidate>, occasion: &Occasion) -> Vec<Choice> {
    let mut all: Vec<Choice> = candidates.into_iter().map(|it| Choice::new(it, occasion)).collect();
    let mut room = occasion.room as f64;
    while let Some(best) = best(&mut all, room) {
        let (stage, saves) = (all[best].candidate.stage, all[best].saves_ns);
        let name = all[best].candidate.function.clone();
        if all[best].share < 1e-3 || all[best].payback > occasion.passes {
            all[best].why = not_worth_it(&all[best]);
            continue;
        }
        room -= keep(&mut all[best], room);
        for other in all.iter_mut().filter(|it| it.candidate.stage == stage && it.is_open()) {
            other.why = format!(
                "`{name}` saves more: {:.0} µs a record, and this {:.0} µs",
                saves / 1e3,
                other.saves_ns / 1e3
            );
        }
    }
    all.sort_by_key(|it| !it.kept);
    all
}

/// The open one that is worth most; of those that are worth the same, the one that is made first.
fn best(all: &mut [Choice], room: f64) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (i, choice) in all.iter_mut().enumerate().filter(|(_, it)| it.is_open()) {
        let worth = choice.worth(room);
        if best.is_none_or(|it| worth > it.1) {
            best = Some((i, worth));
        }
    }
    best.map(|it| it.0)
}

/// Keeps it; the bytes that it takes.
fn keep(choice: &mut Choice, room: f64) -> f64 {
    choice.kept = true;
    let taken = choice.bytes_in_all().map_or(room, |it| (it * 1.25).min(room));
    choice.limit = taken as u64;
    choice.why = match choice.share < 1.0 {
        true => format!("there is room for {:.0} % of them", choice.share * 100.0),
        false => "there is room for all of them".to_owned(),
    };
    choice.bytes_in_all().map_or(room, |it| it.min(room))
}

fn not_worth_it(choice: &Choice) -> String {
    match choice.share < 1e-3 {
        true => "there is no room".to_owned(),
        false => format!("to fill it would take as long as {:.0} epochs save", choice.payback),
    }
}
