//! Which values are kept, and why these.
//!
//! A run comes to each record once an epoch. So what it is worth to keep the value of a record does
//! not depend on the other records, and where there is no room for all of them any part is as good
//! as any other: a value is worth the time that it saves a record, times the share of the records
//! for which there is room.

use super::Candidate;
use plan::{StageId, parts::Keep, percent};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes of an entry besides its value.
const ENTRY_BYTES: f64 = 256.0;
/// Nanoseconds to put a byte into memory: once, in the first epoch. Assumed: a copy to fresh pages.
const FILL_NS: f64 = 0.4;
/// The same to put it on disk: a checksum, and a copy that the system writes later.
/// Assumed: pictures of 560 kB on a Xeon.
const WRITE_NS: f64 = 0.3;
/// The least share of the values that is worth keeping.
const SHARE_MIN: f64 = 1e-3;

/// A value that is kept, or that could be, and why not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The value.
    pub candidate: Candidate,
    /// How many there are, where it is known.
    pub values: Option<u64>,
    /// The share of them for which there is room in memory: 0 to 1.
    pub share: f64,
    /// The same on disk.
    pub disk_share: f64,
    /// Processor time that it saves a record in each later epoch, on average, in nanoseconds.
    pub saves_ns: f64,
    /// Processor time to put it where it is kept, a record of the first epoch, in nanoseconds.
    pub fill_ns: f64,
    /// Epochs after which the time to fill it has come back, of processor time alone.
    pub payback: f64,
    /// Whether it is kept.
    pub kept: bool,
    /// Why, or why not, in a sentence.
    pub why: String,
    /// Bytes that it may take, where it is kept.
    pub limit: u64,
    /// The share of the records for which it is of use: an index is, where the value itself is not kept.
    rest: f64,
}

/// What a choice is made for.
#[derive(Debug, Clone, Default)]
pub struct Occasion {
    /// Records of a pass through each source, by its stage, where they are known.
    pub pass_lens: BTreeMap<StageId, u64>,
    /// How often each record comes: epochs, times the laps of an epoch.
    pub passes: f64,
    /// Bytes of memory that may be taken.
    pub room: u64,
    /// What else is kept on disk, for later runs as well.
    pub disk: Option<Disk>,
    /// Values that are kept and no others, where there is one (`Candidate::value_name`).
    pub pinned: Vec<String>,
    /// Values that are not kept.
    pub forbidden: Vec<String>,
}

/// A disk on which values may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Disk {
    /// Bytes that may be taken.
    pub room: u64,
    /// Nanoseconds to read a byte.
    pub read_ns: f64,
    /// Nanoseconds to write a byte; nothing where that is not known to hold anything up.
    pub write_ns: f64,
    /// Bytes that the system takes into memory, and writes later, before anybody has to wait.
    pub write_ahead: u64,
}

/// What there is to keep values in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Budget {
    /// Bytes of memory that a run may take.
    pub memory: u64,
    /// Those that it may take itself, for all but what it keeps.
    pub own: u64,
    /// How often each record comes.
    pub passes: f64,
    /// Where else values may be kept.
    pub disk: Option<Disk>,
}

impl Budget {
    /// Bytes that a run needs besides what is estimated: the program itself, and what decoders
    /// work in.
    pub const BASE_BYTES: f64 = 96e6;
    /// How much more than the estimate all else may take.
    pub const SLACK: f64 = 1.5;

    /// Bytes that a run may need for all but what it keeps, of those that are estimated.
    pub fn own_of(estimated: f64) -> u64 {
        (estimated * Self::SLACK + Self::BASE_BYTES) as u64
    }

    /// Bytes of memory to keep values in.
    pub fn left(&self) -> u64 {
        self.memory.saturating_sub(self.own)
    }
}

impl Disk {
    /// Nanoseconds to read a byte where the disk was not measured: 1 GB/s.
    pub const READ_NS: f64 = 1.0;
}

impl Occasion {
    /// How often each record comes, with the later runs where values are kept for them.
    fn horizon(&self) -> f64 {
        if self.disk.is_some() { self.passes * RUNS } else { self.passes }
    }
}

/// Runs for which values are kept on disk. Assumed: who names a folder for them means to come back.
const RUNS: f64 = 10.0;

/// What is left of memory and disk.
#[derive(Clone, Copy)]
struct Room {
    memory: f64,
    disk: f64,
    read_ns: f64,
}

impl Choice {
    fn new(candidate: Candidate, occasion: &Occasion) -> Self {
        let values = candidate.values(&occasion.pass_lens);
        let why = candidate.refused.clone().unwrap_or_default();
        let mut new = Self {
            candidate,
            values,
            share: 0.0,
            disk_share: 0.0,
            saves_ns: 0.0,
            fill_ns: 0.0,
            payback: f64::INFINITY,
            kept: false,
            why,
            limit: 0,
            rest: 1.0,
        };
        if new.why.is_empty() && occasion.horizon() < 2.0 {
            new.why = "each record is read once".to_owned();
        } else if new.why.is_empty() && occasion.passes < 2.0 && !new.candidate.listed {
            new.why = OTHER_FILES.to_owned();
        }
        let name = new.candidate.value_name();
        if new.why.is_empty() && occasion.forbidden.contains(&name) {
            new.why = "the lock file excludes it".to_owned();
        }
        let others = !occasion.pinned.is_empty() && !occasion.pinned.contains(&name);
        if new.why.is_empty() && others {
            new.why = format!("the lock file caches only `{}`", occasion.pinned.join("`, `"));
        }
        new
    }

    /// Bytes of all of them.
    pub fn bytes_in_all(&self) -> Option<f64> {
        Some(self.values? as f64 * (self.candidate.bytes.value + ENTRY_BYTES))
    }

    /// Whether there is room for all of them, in memory or on disk.
    pub fn is_whole(&self) -> bool {
        self.kept && self.hits() >= 1.0
    }

    /// The share of the records that it is found for once it is full.
    pub(crate) fn hits(&self) -> f64 {
        self.share.max(self.disk_share)
    }

    /// What it takes to read those that are on disk alone, in nanoseconds a record, on average.
    pub(crate) fn finding_ns(&self) -> f64 {
        (self.hits() * self.candidate.saves.value - self.saves_ns).max(0.0)
    }

    /// Whether some of them go to disk, where it is kept.
    pub fn is_on_disk(&self) -> bool {
        self.disk_share >= SHARE_MIN
    }

    /// Why none go to disk, where none do.
    pub fn why_not_on_disk(&self) -> &str {
        match (self.candidate.listed, self.kept) {
            (false, _) => OTHER_FILES,
            (true, true) => {
                "reading it takes as long as computing it, or there is not enough space"
            }
            (true, false) => &self.why,
        }
    }

    /// `12 µs a record`, and for how many of them where not for all.
    fn saves_in_words(&self) -> String {
        let share = self.share.max(self.disk_share);
        let part = match share < 1.0 {
            true => format!(", with space for {} of them", percent(share)),
            false => String::new(),
        };
        format!("{:.0} µs per record{part}", self.saves_ns / 1e3)
    }

    fn is_open(&self) -> bool {
        !self.kept && self.why.is_empty()
    }

    /// What it is worth where there is so much room, a pass, in nanoseconds.
    fn worth(&mut self, room: Room) -> f64 {
        let (all, rest) = (self.bytes_in_all().map(|it| it.max(1.0)), self.rest);
        let share = |room: f64| match room > 0.0 {
            true => all.map_or(rest, |it| (room / it).min(rest)),
            false => 0.0,
        };
        let (bytes, saves) = (self.candidate.bytes.value, self.candidate.saves.value);
        let read = saves - room.read_ns * bytes;
        let from_disk = self.candidate.listed && read > 0.0;
        (self.share, self.disk_share) =
            (share(room.memory), share(room.disk) * f64::from(from_disk));
        // What is in memory is on disk as well.
        let only_on_disk = (self.disk_share - self.share).max(0.0);
        self.saves_ns = self.share * saves + only_on_disk * read;
        let moved = bytes * (FILL_NS * self.share + WRITE_NS * self.disk_share);
        self.fill_ns = moved + self.candidate.fill_ns * self.share.max(self.disk_share);
        let made = self.candidate.made.max(1e-9);
        self.payback = 1.0 + self.fill_ns * made / self.saves_ns.max(1e-9);
        self.saves_ns * self.values.unwrap_or(1) as f64 / made
    }

    fn has_room(&self) -> bool {
        self.share.max(self.disk_share) >= SHARE_MIN
    }
}

/// Why a value is not kept on disk whose files nobody looks at.
const OTHER_FILES: &str =
    "it is read from files that no source lists, so changes would go unnoticed";

/// Every candidate: what is kept first, then the others, each with its reason.
pub fn choose(candidates: Vec<Candidate>, occasion: &Occasion) -> Vec<Choice> {
    let mut all: Vec<Choice> = candidates.into_iter().map(|it| Choice::new(it, occasion)).collect();
    let mut room = Room {
        memory: if occasion.passes < 2.0 { 0.0 } else { occasion.room as f64 },
        disk: occasion.disk.map_or(0.0, |it| it.room as f64),
        read_ns: occasion.disk.map_or(0.0, |it| it.read_ns),
    };
    while let Some(best) = best(&mut all, room) {
        let best = the_whole(&all, best, room).unwrap_or(best);
        let index = its_index(&all, best);
        let stage = all[best].candidate.stage;
        let (name, saves) = (all[best].candidate.function.clone(), all[best].saves_in_words());
        let is_pinned = occasion.pinned.contains(&all[best].candidate.value_name());
        let is_worth_it = is_pinned || all[best].payback <= occasion.horizon();
        if !all[best].has_room() || !is_worth_it {
            all[best].why = not_worth_it(&all[best]);
            continue;
        }
        let reserved = index.and_then(|it| of_indices(&all[best], &all[it], room)).unwrap_or(0.0);
        let own = Room { memory: room.memory - reserved, ..room };
        all[best].worth(own);
        let left = keep(&mut all[best], own);
        room = Room { memory: left.memory + reserved, ..left };
        let rest = 1.0 - all[best].hits();
        for (i, other) in all.iter_mut().enumerate() {
            if Some(i) == index && rest > SHARE_MIN {
                other.rest = rest;
            } else if other.candidate.stage == stage && other.is_open() {
                let less = other.saves_in_words();
                other.why = format!("`{name}` saves more: {saves}, this one saves {less}");
            }
        }
    }
    share_out(&mut all, room.memory);
    all.sort_by_key(|it| !it.kept);
    all
}

/// The value whose index it is, where it may be kept for a part of the records: of the others the index
/// is kept.
fn the_whole(all: &[Choice], index: usize, room: Room) -> Option<usize> {
    let it = &all[index];
    let is_whole = |other: &Choice| {
        let is_left = || of_indices(other, it, room).is_some_and(|it| it < room.memory);
        is_pair(other, it)
            && other.is_open()
            && other.candidate.saves.value > it.candidate.saves.value
            && is_left()
    };
    all.iter().position(is_whole)
}

/// Bytes of memory for the indices of those that there is no room for; none where there is not even
/// room for all indices.
fn of_indices(whole: &Choice, index: &Choice, room: Room) -> Option<f64> {
    let [whole, index] = [whole.bytes_in_all()?, index.bytes_in_all()?];
    let share = (room.memory - index) / (whole - index).max(1.0);
    (share > SHARE_MIN).then(|| index * (1.0 - share.min(1.0)))
}

/// An index of a value, which is of use where the value is not kept.
fn its_index(all: &[Choice], whole: usize) -> Option<usize> {
    all.iter().position(|it| is_pair(&all[whole], it) && it.is_open())
}

fn is_pair(whole: &Choice, index: &Choice) -> bool {
    let of = |it: &Choice| (it.candidate.stage, it.candidate.node);
    of(whole) == of(index)
        && (whole.candidate.keep, index.candidate.keep) == (Keep::Value, Keep::Index)
}

/// What values may take beyond what they are estimated to, as a part of it.
const MORE: f64 = 0.25;

/// Gives those that are kept more room, for values that are larger than was estimated, as far as
/// there is any left.
fn share_out(all: &mut [Choice], left: f64) {
    let more = |it: &Choice| it.limit as f64 * MORE;
    let wanted: f64 = all.iter().map(more).sum();
    let part = (left / wanted.max(1.0)).clamp(0.0, 1.0);
    all.iter_mut().for_each(|it| it.limit += (more(it) * part) as u64);
}

/// The open one that is worth most; of those that are worth the same, the one that is made first.
fn best(all: &mut [Choice], room: Room) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (i, choice) in all.iter_mut().enumerate().filter(|(_, it)| it.is_open()) {
        let worth = choice.worth(room);
        if best.is_none_or(|it| worth > it.1) {
            best = Some((i, worth));
        }
    }
    best.map(|it| it.0)
}

/// Keeps it; what is left.
fn keep(choice: &mut Choice, room: Room) -> Room {
    choice.kept = true;
    let all = choice.bytes_in_all();
    let taken = |share: f64, room: f64| {
        if share < SHARE_MIN { 0.0 } else { all.map_or(room, |it| it.min(room)) }
    };
    let memory = taken(choice.share, room.memory);
    choice.limit = memory as u64;
    choice.why = room_for(choice.share, choice.disk_share);
    Room {
        memory: room.memory - memory,
        disk: room.disk - taken(choice.disk_share, room.disk),
        ..room
    }
}

fn room_for(memory: f64, disk: f64) -> String {
    let of = |share: f64| match share < 1.0 {
        true => format!("{} of them", percent(share)),
        false => "all of them".to_owned(),
    };
    match (memory >= SHARE_MIN, disk >= SHARE_MIN) {
        (true, true) => {
            format!("{} fit in memory, {} on disk", of(memory), of(disk))
        }
        (false, _) => format!("{} fit on disk", of(disk)),
        (true, false) => format!("{} fit", of(memory)),
    }
}

fn not_worth_it(choice: &Choice) -> String {
    match choice.has_room() {
        true => format!("filling the cache costs as much as {:.0} epochs save", choice.payback),
        false => "not enough space".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Figure;
    use plan::ExprId;

    /// A value of so many bytes, of a stage of its own.
    fn candidate(stage: u32, bytes: f64) -> Candidate {
        Candidate {
            step: format!("p.map#{stage}"),
            function: "f".to_owned(),
            stage: StageId(stage),
            node: ExprId(0),
            keep: Keep::Value,
            key: vec![0],
            name: 0,
            spares: Vec::new(),
            bytes: Figure::exact(bytes),
            saves: Figure::exact(1e9),
            parts: Vec::new(),
            fill_ns: 0.0,
            made: 1.0,
            sources: vec![(StageId(0), 1.0)],
            most: None,
            listed: true,
            refused: None,
        }
    }

    fn limits(sizes: [f64; 2], room: u64) -> u64 {
        let all = (1..).zip(sizes).map(|(stage, bytes)| candidate(stage, bytes - ENTRY_BYTES));
        let pass_lens = [(StageId(0), 10)].into();
        let occasion = Occasion { pass_lens, passes: 100.0, room, ..Occasion::default() };
        choose(all.collect(), &occasion).iter().map(|it| it.limit).sum()
    }

    #[test]
    fn where_a_value_is_not_kept_its_index_is() {
        let whole = candidate(1, 1_000.0 - ENTRY_BYTES);
        let index = Candidate {
            keep: Keep::Index,
            bytes: Figure::exact(300.0 - ENTRY_BYTES),
            saves: Figure::exact(4e8),
            ..whole.clone()
        };
        let kept = |room| {
            let pass_lens = [(StageId(0), 10)].into();
            let occasion = Occasion { pass_lens, passes: 100.0, room, ..Occasion::default() };
            let all = choose(vec![whole.clone(), index.clone()], &occasion);
            let shares = |keep| {
                let mut own = all.iter().filter(|it| it.kept && it.candidate.keep == keep);
                own.next().map_or(0.0, |it| it.share)
            };
            assert!(all.iter().map(|it| it.limit).sum::<u64>() <= room.max(12_500));
            [Keep::Value, Keep::Index].map(shares)
        };
        // There is room for the indices alone, for some pictures besides, for all of them.
        assert_eq!(kept(2_000), [0.0, 2.0 / 3.0]);
        let [values, indices] = kept(6_500);
        assert!(values > 0.3 && (values + indices - 1.0).abs() < 1e-9, "{values} {indices}");
        assert_eq!(kept(20_000), [1.0, 0.0]);
    }

    #[test]
    fn all_that_is_kept_together_takes_no_more_than_the_room() {
        // 7,000 and what is left of 10,000: nothing is over for values larger than was estimated.
        assert_eq!(limits([700.0, 400.0], 10_000), 10_000);
        // There is room for a quarter more of both, and no need of any more.
        assert_eq!(limits([700.0, 400.0], 100_000), 13_750);
        assert!((11_998..=12_000).contains(&limits([700.0, 400.0], 12_000)));
    }
}
