//! Values that are kept or not: what that gives, and why.

use super::Candidate;
use model::{Figure, Machine, Origin, strategy::Objective};
use plan::{Codec, CodecFigures, StageId, percent};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes of an entry besides its value.
const ENTRY_BYTES: f64 = 256.0;
/// Nanoseconds to put a byte into memory: once, in the first epoch. Assumed: a copy to fresh pages.
pub(crate) const FILL_NS: f64 = 0.4;
/// The same to put it on disk: a checksum, and a copy that the system writes later.
/// Assumed: pictures of 560 kB on a Xeon.
pub(crate) const WRITE_NS: f64 = 0.3;
/// The least share of the values that is worth keeping.
pub(crate) const SHARE_MIN: f64 = 1e-3;

/// A value that is kept, or that could be, and why not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The value.
    pub candidate: Candidate,
    /// How many there are, where it is known.
    pub values: Option<u64>,
    /// The share of them that is kept in memory: 0 to 1.
    pub share: f64,
    /// The same on disk; what is in memory is on disk as well, where some of them are.
    pub disk_share: f64,
    /// How they are kept, each way with its share.
    #[serde(default)]
    pub forms: Vec<Form>,
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
    /// Bytes of memory that it may take, where it is kept.
    pub limit: u64,
    /// Values that go to disk at the most, where it is not room that bounds them: the others are faster to compute than to
    /// read.
    pub disk_values: Option<u64>,
    /// Processor time to read a byte from disk, in nanoseconds.
    #[serde(default = "read_ns")]
    pub read_ns: f64,
}

/// Where some values lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// In memory alone.
    Memory,
    /// In memory as they are, and on disk for later runs.
    Both,
    /// On disk alone.
    Disk,
}

/// Where and how some of the values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// Where.
    pub tier: Tier,
    /// How they are encoded there, on disk where they are on disk.
    pub figures: CodecFigures,
    /// Their share of all values.
    pub share: f64,
}

/// A value that is to be kept, by its name; where, how and of how many records, as far as that is said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pin {
    /// The value (`Candidate::value_name`).
    pub value: String,
    /// Where.
    pub tier: Option<Tier>,
    /// How it is encoded there.
    pub codec: Option<Codec>,
    /// The share of its values.
    pub share: Option<f64>,
}

impl Pin {
    /// A value, wherever and however that is best.
    pub fn of(value: &str) -> Self {
        Self { value: value.to_owned(), tier: None, codec: None, share: None }
    }

    /// Whether that is kept which this names.
    pub(crate) fn allows(&self, value: &str, (tier, codec): (Tier, Codec)) -> bool {
        self.value == value
            && self.tier.is_none_or(|it| it == tier)
            && self.codec.is_none_or(|it| it == codec)
    }
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
    /// Values that are there already, by what [`Candidate::name`] says.
    pub filled: BTreeMap<u64, u64>,
    /// Values that are kept and no others, where there is one.
    pub pinned: Vec<Pin>,
    /// Who says so.
    pub pinned_by: PinnedBy,
    /// Values that are not kept.
    pub forbidden: Vec<String>,
    /// What is to be as small as possible.
    pub objective: Objective,
    /// Ranks that share the records of each epoch, another part of them each time; 0 counts as 1.
    pub ranks: u32,
}

/// Who says which values are kept, and no others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PinnedBy {
    /// A lock file: wherever is best.
    #[default]
    Lock,
    /// `prepare --keep`: on disk.
    Prepare,
}

/// A disk on which values may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Disk {
    /// Bytes that may be taken.
    pub room: u64,
    /// The storage of the machine that it is.
    pub storage: usize,
    /// Bytes that the system takes into memory, and writes later, before anybody has to wait.
    pub write_ahead: u64,
    /// Processor time to read a byte, in nanoseconds: as a sample has measured it, [`Self::READ_NS`], or [`Self::IN_PLACE_NS`].
    pub read_ns: f64,
}

impl Disk {
    /// To read a byte from disk: a copy from the pages of the system, and a checksum. Assumed where no sample was taken:
    /// pictures of 270 kB on an EPYC (`benches -- strategies S9`).
    pub const READ_NS: f64 = 0.17;
    /// To use a byte where the system holds it in memory, but in no cache of a core. Assumed: values of 270 kB to 1.1 MB
    /// there (`benches -- strategies S4`).
    pub const IN_PLACE_NS: f64 = 0.06;
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
    /// How much more than what is estimated of it a run may take, where that follows from the program.
    pub const SLACK_EXACT: f64 = 1.25;
    /// The same of all else.
    pub const SLACK: f64 = 1.5;

    /// Bytes that a run may need for all but what it keeps, by the parts of what is estimated.
    pub fn own_of(estimated: &[Figure]) -> u64 {
        let slack = |it: &Figure| match it.origin {
            Origin::Exact => it.value * Self::SLACK_EXACT,
            _ => it.value * Self::SLACK,
        };
        (estimated.iter().map(slack).sum::<f64>() + Self::BASE_BYTES) as u64
    }

    /// Bytes of memory to keep values in.
    pub fn left(&self) -> u64 {
        self.memory.saturating_sub(self.own)
    }
}

impl Disk {
    /// Bytes per second of a disk that was not measured: 1 GB/s.
    pub const BYTES_PER_S: f64 = 1e9;

    /// Nanoseconds to write a byte; nothing where that is not known to hold anything up.
    pub fn write_ns(&self, machine: &Machine) -> f64 {
        let rate = machine.storages.get(self.storage).map(|it| it.write);
        rate.filter(|it| *it > 0.0).map_or(0.0, |it| 1e9 / it)
    }

    /// Nanoseconds to read a byte, with as many readers as are best.
    pub fn read_ns(&self, machine: &Machine) -> f64 {
        let curve = machine.storages.get(self.storage).map(|it| it.random);
        let rate = curve.map(|it| it.best(it.readers_max)).filter(|it| *it > 0.0);
        1e9 / rate.unwrap_or(Self::BYTES_PER_S)
    }
}

impl Occasion {
    /// How often each record comes, with the later runs where values are kept for them.
    pub(crate) fn horizon(&self) -> f64 {
        self.passes * self.runs()
    }

    /// The share of the values of a choice that is on disk already.
    pub(crate) fn on_disk(&self, choice: &Choice) -> f64 {
        let there = self.filled.get(&choice.candidate.name).copied().unwrap_or(0);
        choice.values.map_or(0.0, |it| (there as f64 / it.max(1) as f64).min(1.0))
    }

    /// The part of what this rank has cached in memory that it finds in a later epoch, on average: the records of each epoch
    /// are dealt anew, so of w ranks one finds 1 − (1 − 1/w)^e of its own after e epochs.
    pub(crate) fn found_in_memory(&self) -> f64 {
        let (left, later) = (1.0 - 1.0 / f64::from(self.ranks.max(1)), self.passes - 1.0);
        if left <= 0.0 || later <= 0.0 {
            return 1.0;
        }
        1.0 - left * (1.0 - left.powf(later)) / (1.0 - left) / later
    }

    /// Whether a value is one of those that are to be kept.
    pub(crate) fn pins(&self, value: &str) -> bool {
        self.pinned.iter().any(|it| it.value == value)
    }

    /// Runs that find what is kept.
    pub(crate) fn runs(&self) -> f64 {
        if self.disk.is_some() { RUNS } else { 1.0 }
    }
}

/// Runs for which values are kept on disk. Assumed: who names a folder for them means to come back.
const RUNS: f64 = 10.0;

impl Choice {
    /// One that is not kept: by what is known of it alone, or not yet.
    pub(crate) fn new(candidate: Candidate, occasion: &Occasion) -> Self {
        let values = candidate.values(&occasion.pass_lens);
        let why = candidate.refused.clone().unwrap_or_default();
        let mut new = Self {
            candidate,
            values,
            share: 0.0,
            disk_share: 0.0,
            forms: Vec::new(),
            saves_ns: 0.0,
            fill_ns: 0.0,
            payback: f64::INFINITY,
            kept: false,
            why,
            limit: 0,
            disk_values: None,
            read_ns: occasion.disk.map_or(Disk::READ_NS, |it| it.read_ns),
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
        if new.why.is_empty() && !occasion.pinned.is_empty() && !occasion.pins(&name) {
            let mut names: Vec<&str> = occasion.pinned.iter().map(|it| &*it.value).collect();
            names.dedup();
            let who = match occasion.pinned_by {
                PinnedBy::Lock => "the lock file",
                PinnedBy::Prepare => "`prepare --keep`",
            };
            new.why = format!("{who} caches only `{}`", names.join("`, `"));
        }
        new
    }

    /// Bytes of all of them, as they are.
    pub fn bytes_in_all(&self) -> Option<f64> {
        self.bytes_encoded(1.0)
    }

    /// Bytes of all of them, where this part is left of each.
    pub(crate) fn bytes_encoded(&self, left: f64) -> Option<f64> {
        Some(self.values? as f64 * (self.candidate.bytes.value * left + ENTRY_BYTES))
    }

    /// The codecs of the values in memory, and of those on disk, each with its share of all values.
    pub fn codecs(&self) -> [Vec<(Codec, f64)>; 2] {
        let of = |is_there: fn(&Form) -> bool, codec: fn(&Form) -> Codec| {
            let own = self.forms.iter().filter(|it| is_there(it));
            own.map(|it| (codec(it), it.share)).collect()
        };
        [
            of(|it| it.tier != Tier::Disk, Form::codec_in_memory),
            of(|it| it.tier != Tier::Memory, |it| it.figures.codec),
        ]
    }

    /// Bytes that are read from disk for each value, on average.
    pub(crate) fn read_bytes(&self) -> f64 {
        let on_disk = self.forms.iter().filter(|it| it.tier == Tier::Disk);
        self.candidate.bytes.value * on_disk.map(|it| it.share * it.figures.left).sum::<f64>()
    }

    /// Bytes that are written to disk for each value, on average.
    pub(crate) fn written_bytes(&self) -> f64 {
        let on_disk = self.forms.iter().filter(|it| it.tier != Tier::Memory);
        self.candidate.bytes.value * on_disk.map(|it| it.share * it.figures.left).sum::<f64>()
    }

    /// Processor time to find a value where it is kept, on average, in nanoseconds.
    pub(crate) fn found_ns(&self) -> f64 {
        self.candidate.bytes.value
            * self.forms.iter().map(|it| it.found_ns(self.read_ns)).sum::<f64>()
    }

    /// Whether there is room for all of them, in memory or on disk.
    pub fn is_whole(&self) -> bool {
        self.kept && self.hits() >= 1.0
    }

    /// The share of the records that it is found for once it is full.
    pub(crate) fn hits(&self) -> f64 {
        self.share.max(self.disk_share)
    }

    /// The share that is on disk alone.
    pub(crate) fn only_on_disk(&self) -> f64 {
        (self.disk_share - self.share).max(0.0)
    }

    /// Whether some of them go to disk, where it is kept.
    pub fn is_on_disk(&self) -> bool {
        self.disk_share >= SHARE_MIN
    }

    /// Why none go to disk, where none do.
    pub fn why_not_on_disk(&self) -> &str {
        match (self.candidate.listed, self.kept) {
            (false, _) => OTHER_FILES,
            (true, true) if self.share >= 1.0 => {
                "all values fit in memory, and later runs would gain too little from reading them"
            }
            (true, true) => {
                "reading it takes as long as computing it, or there is not enough space"
            }
            (true, false) => &self.why,
        }
    }

    /// `12 µs per record`, and for how many of them where not for all.
    pub(crate) fn saves_in_words(&self) -> String {
        let part = match self.hits() < 1.0 {
            true => format!(", with space for {} of them", percent(self.hits())),
            false => String::new(),
        };
        format!("{:.0} µs per record{part}", self.saves_ns / 1e3)
    }

    /// Whether it could be kept, and is not yet.
    pub(crate) fn is_open(&self) -> bool {
        !self.kept && self.why.is_empty()
    }

    /// The same where these shares are kept as they are.
    #[must_use]
    pub(crate) fn with_shares(self, share: f64, disk_share: f64) -> Self {
        let form = |tier, share| Form { tier, figures: PLAIN, share };
        let both = f64::min(share, disk_share);
        self.with_forms(vec![
            form(Tier::Memory, share - both),
            form(Tier::Both, both),
            form(Tier::Disk, disk_share - both),
        ])
    }

    /// The same which is kept in these forms.
    #[must_use]
    pub(crate) fn with_forms(mut self, mut forms: Vec<Form>) -> Self {
        forms.retain(|it| it.share > 0.0);
        let sum = |part: fn(&Form) -> f64| forms.iter().map(part).sum::<f64>().min(1.0);
        self.share = sum(|it| it.share * it.tier.shares().0);
        self.disk_share = sum(|it| it.share * it.tier.shares().1);
        let (bytes, saves) = (self.candidate.bytes.value, self.candidate.saves.value);
        let found = forms.iter().map(|it| it.found_ns(self.read_ns)).sum::<f64>();
        self.saves_ns = (self.hits() * saves - found * bytes).max(0.0);
        let moved = bytes * forms.iter().map(Form::fill_ns).sum::<f64>();
        self.forms = forms;
        self.fill_ns = moved + self.candidate.fill_ns * self.hits();
        let made = self.candidate.made.max(1e-9);
        self.payback = match self.saves_ns > 0.0 {
            true => 1.0 + self.fill_ns * made / self.saves_ns,
            false => f64::INFINITY,
        };
        self
    }

    /// Says that it is kept, in so much memory.
    pub(crate) fn keep(&mut self, room: f64) {
        self.kept = true;
        let all = self.values;
        self.limit = match self.share < SHARE_MIN {
            true => 0,
            false => all.map_or(room, |_| self.bytes_in_memory().min(room)) as u64,
        };
        self.why = room_for(self.share, self.disk_share);
    }

    /// Bytes of memory of those that are kept there.
    fn bytes_in_memory(&self) -> f64 {
        let of = |it: &Form| {
            let left = if it.tier == Tier::Memory { it.figures.left } else { 1.0 };
            let (memory, _) = it.tier.shares();
            memory * it.share * self.bytes_encoded(left).unwrap_or_default()
        };
        self.forms.iter().map(of).sum()
    }
}

impl Tier {
    /// The shares in memory and on disk of what lies here.
    pub(crate) fn shares(self) -> (f64, f64) {
        match self {
            Self::Memory => (1.0, 0.0),
            Self::Both => (1.0, 1.0),
            Self::Disk => (0.0, 1.0),
        }
    }
}

/// A value as it is: nothing is encoded.
pub(crate) const PLAIN: CodecFigures =
    CodecFigures { codec: Codec::NONE, left: 1.0, encode_ns: 0.0, decode_ns: 0.0 };

impl Form {
    /// The codec of what is in memory: what is on disk as well is in memory as it is.
    fn codec_in_memory(&self) -> Codec {
        if self.tier == Tier::Memory { self.figures.codec } else { Codec::NONE }
    }

    /// Nanoseconds to find a byte of a value: to decode it, and to read what is read from disk. It lies in memory for
    /// nothing.
    fn found_ns(&self, read_ns: f64) -> f64 {
        let CodecFigures { codec, left, decode_ns, .. } = self.figures;
        // What is decoded lies in the cache of the core that uses it; a copy lies in that of the core that has read it.
        let is_copied = codec == Codec::NONE && read_ns > Disk::IN_PLACE_NS;
        let used_ns = if is_copied { Disk::IN_PLACE_NS } else { 0.0 };
        self.share
            * match self.tier {
                Tier::Memory => decode_ns,
                Tier::Both => 0.0,
                Tier::Disk => read_ns * left + decode_ns + used_ns,
            }
    }

    /// Nanoseconds to put a byte of a value where it is kept, the first time.
    fn fill_ns(&self) -> f64 {
        let CodecFigures { left, encode_ns, .. } = self.figures;
        let written = encode_ns + WRITE_NS * left;
        self.share
            * match self.tier {
                Tier::Memory => encode_ns + FILL_NS * left,
                Tier::Both => FILL_NS + written,
                Tier::Disk => written,
            }
    }
}

fn read_ns() -> f64 {
    Disk::READ_NS
}

/// Why a value is not kept on disk whose files nobody looks at.
const OTHER_FILES: &str =
    "it is read from files that no source lists, so changes would go unnoticed";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_the_program_needs_less_room_than_what_is_assumed() {
        let [exact, assumed] =
            [Origin::Exact, Origin::Assumed].map(|origin| Figure { value: 100e6, origin });
        assert_eq!(Budget::own_of(&[exact]), 221_000_000);
        assert_eq!(Budget::own_of(&[exact, assumed]), 371_000_000);
    }

    #[test]
    fn a_rank_finds_what_was_dealt_to_it_before() {
        let found = |ranks, passes| {
            (Occasion { ranks, passes, ..Occasion::default() }.found_in_memory() * 1e3).round()
        };
        assert_eq!([found(1, 90.0), found(0, 2.0), found(8, 1.0)], [1e3, 1e3, 1e3]);
        // 12.5, 23.4 and 33.0% in epochs 2, 3 and 4.
        assert_eq!([found(8, 2.0), found(8, 3.0), found(8, 4.0)], [125.0, 180.0, 230.0]);
    }
}
