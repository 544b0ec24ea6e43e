//! What is kept from epoch to epoch, in words: what it gives, what it takes, and where there is no
//! room for it how much there would have to be, and what comes in its place.

use super::figures::{bytes, percent, rate, time};
use crate::{
    caches::{Budget, Choice, Disk},
    estimate::{Figure, Origin, Outlook, Payback},
};
use model::solve::Solution;
use plan::{count, parts::Keep, plural};

/// Values that are not kept of which it is told why.
const TOLD_MAX: usize = 4;

/// The rows about caching, each with its label; an output is so many records.
pub(super) fn rows(outlook: &Outlook, records: f64) -> Vec<(&'static str, String)> {
    let told = Told { outlook, records };
    let (kept, left): (Vec<&Choice>, Vec<&Choice>) = outlook.choices.iter().partition(|it| it.kept);
    // What is kept in part is told with what it is a part of.
    let in_part = |it: &Choice| outlook.too_large.iter().any(|wish| is_same(it, wish));
    let whole = kept.iter().filter(|it| !in_part(it));
    let mut rows: Vec<_> = whole.map(|it| ("cached", told.kept(it))).collect();
    for wish in &outlook.too_large {
        if let Some(part) = kept.iter().find(|it| is_same(it, wish)) {
            rows.push(("cached", told.in_part(wish, part)));
            rows.extend(outlook.budget.map(|it| ("cache budget", told.room(&it))));
        } else {
            rows.push((
                "exceeds budget",
                format!("{} would save {}", told.what(wish), told.saves(wish)),
            ));
            rows.extend(outlook.budget.map(|it| ("cache budget", told.room(&it))));
            rows.push(("instead", told.instead(wish)));
        }
        rows.extend(told.remedy(wish).map(|it| ("to fit", it)));
    }
    rows.extend(told.later().map(|it| ("warm epochs", it)));
    rows.extend(outlook.payback.as_ref().map(|it| ("break-even", told.payback(it))));
    // Of the values of a step at most one is kept, and it is told why it is not the best.
    let same_stage = |it: &Choice, wish: &Choice| it.candidate.excludes(&wish.candidate);
    let is_told = |it: &Choice| {
        it.candidate.refused.is_none() && outlook.too_large.iter().any(|wish| same_stage(it, wish))
    };
    let left: Vec<&Choice> = left.into_iter().filter(|it| !is_told(it)).collect();
    rows.extend(told.not_kept(&left).into_iter().map(|it| ("not cached", it)));
    rows
}

fn is_same(a: &Choice, b: &Choice) -> bool {
    let which = |it: &Choice| (it.candidate.stage, it.candidate.node, it.candidate.keep);
    which(a) == which(b)
}

struct Told<'a> {
    outlook: &'a Outlook,
    /// Records of an output.
    records: f64,
}

impl Told<'_> {
    /// `` `decode_jpeg` of train.map#1: 380 values of ~605 kB, ~230 MB in all; ``
    fn what(&self, it: &Choice) -> String {
        let each = bytes(it.candidate.bytes);
        let all = match (it.values, it.bytes_in_all()) {
            (Some(n), Some(all)) => {
                let values = plural(n, "value", "values");
                format!("{} {values} of {each}, {} in all", count(n), bytes(like(it, all)))
            }
            _ => format!("{each} each"),
        };
        format!("`{}` of {}: {all};", it.candidate.function, it.candidate.step)
    }

    fn saves(&self, it: &Choice) -> String {
        if it.candidate.reads {
            return "reading them again".to_owned();
        }
        let saves = Figure { value: it.saves_ns, origin: it.candidate.saves.origin };
        let reads = if it.candidate.spares.is_empty() { "" } else { " and the read" };
        format!("{} per record{reads}", time(saves))
    }

    fn kept(&self, it: &Choice) -> String {
        // Where a clock's payback is told, that of processor time alone would confuse.
        let payback = match self.outlook.payback {
            Some(_) => String::new(),
            None if it.candidate.reads => String::new(),
            None => format!(", breaks even after {:.1} epochs", it.payback),
        };
        // What has been kept before is known by its name; an index is named here alone.
        let index = match it.candidate.keep {
            Keep::Value => "",
            Keep::Index => " (the positions of its parts, so that unused parts are not decoded)",
        };
        format!("{} {}; saves {}{payback}{index}", self.what(it), it.why, self.saves(it))
    }

    fn later(&self) -> Option<String> {
        self.outlook.warm.as_ref().map(|it| self.rate_of(it))
    }

    fn rate_of(&self, full: &Solution) -> String {
        let value = full.rate * self.records;
        let told = rate(Figure { value, origin: self.origin() });
        format!("{told} records/s from {} 2 on", self.turn())
    }

    /// What is done again with what is kept: an epoch, or where there is but one, a run.
    fn turn(&self) -> &'static str {
        let once = self.outlook.budget.is_some_and(|it| it.passes < 2.0);
        if once { "run" } else { "epoch" }
    }

    /// Where the figures of what is kept come from: the least sure of them.
    fn origin(&self) -> Origin {
        let kept = self.outlook.choices.iter().filter(|it| it.kept).chain(&self.outlook.too_large);
        kept.map(|it| it.candidate.saves.origin).max().unwrap_or_default()
    }

    fn payback(&self, it: &Payback) -> String {
        let Payback { plain_s, first_s, later_s } = *it;
        let seconds = |s: f64| time(Figure { value: s * 1e9, origin: self.origin() });
        let (plain, extra, turn) = (seconds(plain_s), first_s - plain_s, self.turn());
        let fill = match extra > plain_s * 1e-4 {
            true => format!("filling the cache adds {} to the first {turn}", seconds(extra)),
            false => format!("filling the cache adds no time to the first {turn}"),
        };
        match it.epochs() {
            Some(epochs) => format!(
                "an epoch takes {plain} without a cache; {fill} and saves {} in each later one: it breaks even after {epochs:.1} {turn}s",
                seconds(plain_s - later_s),
            ),
            None => format!(
                "an epoch takes {plain} with or without a cache: something else is the bottleneck, so it only saves CPU time"
            ),
        }
    }

    fn room(&self, budget: &Budget) -> String {
        let own = bytes(Figure { value: budget.own as f64, origin: Origin::Assumed });
        let left = match budget.left() {
            0 => "nothing is left for cached values".to_owned(),
            left => format!("{} are left for cached values", size(left as f64)),
        };
        let disk =
            budget.disk.map_or(String::new(), |it: Disk| format!("; {} on disk", binary(it.room)));
        format!(
            "of {} of memory, the run itself needs up to {own} ({} times what is exact in the row `memory`, {} times the rest, and {} for the \
             process and its decoders); {left}{disk}",
            binary(budget.memory),
            Budget::SLACK_EXACT,
            Budget::SLACK,
            size(Budget::BASE_BYTES),
        )
    }

    /// A value for which there is room in part.
    fn in_part(&self, wish: &Choice, part: &Choice) -> String {
        let of = |share: f64, place: &str| {
            let bytes = part.bytes_in_all().map(|it| bytes(like(part, it * share)));
            let bytes = bytes.map_or(String::new(), |it| format!(" ({it})"));
            format!("{} of them in {place}{bytes}", percent(share))
        };
        let places = [(part.share, "memory"), (part.disk_share, "the cache folder")];
        let places = places.into_iter().filter(|it| it.0 > 0.0);
        let places: Vec<String> = places.map(|it| of(it.0, it.1)).collect();
        let value = |it: &Choice| (it.candidate.stage, it.candidate.node);
        let mut others = self.outlook.choices.iter().filter(|it| it.kept);
        let index = others.find(|it| value(it) == value(wish) && it.candidate.keep == Keep::Index);
        let faster = match index {
            Some(it) => format!(", faster with their `{}`", it.candidate.function),
            None => String::new(),
        };
        let done = if wish.candidate.reads { "read" } else { "recomputed" };
        format!(
            "{} {}, which saves {} there; the others are {done} each epoch{faster}",
            self.what(wish),
            places.join(", "),
            self.saves(wish),
        )
    }

    /// What is kept in place of a value for which there is no room.
    fn instead(&self, wish: &Choice) -> String {
        let mut kept = self.outlook.choices.iter().filter(|it| it.kept);
        match kept.find(|it| it.candidate.excludes(&wish.candidate)) {
            Some(other) => format!("cached instead: {} {}", self.what(other), other.why),
            None => "nothing is cached: all are recomputed each epoch".to_owned(),
        }
    }

    /// What would make room for all of them.
    fn remedy(&self, wish: &Choice) -> Option<String> {
        let (all, budget) = (wish.bytes_in_all()?, self.outlook.budget?);
        let others = self.outlook.choices.iter().filter(|it| it.kept && !is_same(wish, it));
        let others = others.filter(|it| !it.candidate.excludes(&wish.candidate));
        let others: f64 = others.map(|it| it.limit as f64).sum();
        // A sixteenth of it goes to the tables of what is on disk.
        let more = if budget.disk.is_some() { 1.07 } else { 1.01 };
        let memory = (budget.own as f64 + others + all) * more;
        // Who has as much has another reason.
        let memory = (memory > budget.memory as f64)
            .then(|| self.keeps_all(&format!("`--memory {}`", flag(memory))));
        let machine = &self.outlook.machine;
        let read_ns = budget.disk.map_or(1e9 / Disk::BYTES_PER_S, |it| it.read_ns(machine));
        // The disk reads for all cores together.
        let saves = wish.candidate.saves.value / machine.cores.max(1.0);
        let saves_there = saves > read_ns * wish.candidate.bytes.value;
        let limit = flag(all * 1.01);
        let disk = match budget.disk {
            _ if !(wish.candidate.listed && saves_there) => None,
            Some(it) if it.room as f64 >= all => None,
            Some(_) => Some(format!("`--cache-limit {limit}`")),
            None => Some(format!("`--cache DIR --cache-limit {limit}`")),
        };
        let disk = disk.map(|it| format!("{it} caches them on disk, for later runs too"));
        let all: Vec<String> = [memory, disk].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// `` `--memory 1062MB` keeps all of them in memory: ~9,800 records/s from the second epoch on ``
    fn keeps_all(&self, memory: &str) -> String {
        let rate = self.outlook.with_room.as_ref().filter(|_| self.outlook.too_large.len() == 1);
        let rate = rate.map_or(String::new(), |it| format!(": {}", self.rate_of(it)));
        format!("{memory} caches all of them in memory{rate}")
    }

    /// What is not kept, and why: values of a step with the same reason together.
    fn not_kept(&self, left: &[&Choice]) -> Vec<String> {
        let mut whys: Vec<(&str, String, Vec<&str>)> = Vec::new();
        for choice in left {
            let (step, function) = (&choice.candidate.step, choice.candidate.function.as_str());
            let why = self.why_not(choice);
            match whys.iter_mut().find(|it| it.0 == step && it.1 == why) {
                Some((_, _, functions)) => functions.push(function),
                None => whys.push((step, why, vec![function])),
            }
        }
        let told = |(step, why, functions): (&str, String, Vec<&str>)| {
            format!("`{}` of {step}: {why}", functions.join("`, `"))
        };
        whys.into_iter().take(TOLD_MAX).map(told).collect()
    }

    fn why_not(&self, it: &Choice) -> String {
        // Where there is no budget, nothing was to be kept: how large it is may be of use.
        match (self.outlook.budget, it.bytes_in_all()) {
            (None, Some(all)) => {
                let all = bytes(like(it, all));
                format!(
                    "{}; `--epochs 2` or more caches {all}, which saves {} per record from epoch 2",
                    it.why,
                    time(it.candidate.saves),
                )
            }
            _ => it.why.clone(),
        }
    }
}

/// A figure that is as sure as the bytes of a value.
fn like(it: &Choice, value: f64) -> Figure {
    Figure { value, origin: it.candidate.bytes.origin }
}

/// Bytes that are as they were said.
fn size(bytes: f64) -> String {
    super::figures::bytes(Figure { value: bytes, origin: Origin::Exact })
}

/// The same, also as they may have been said: `268 MB (256 MiB)`.
fn binary(bytes: u64) -> String {
    let round = bytes.is_multiple_of(1 << 20);
    let also = if round { format!(" ({} MiB)", bytes >> 20) } else { String::new() };
    size(bytes as f64) + &also
}

/// Bytes as a flag takes them, rounded up: `680MB`.
fn flag(bytes: f64) -> String {
    match bytes {
        it if it >= 10e9 => format!("{:.0}GB", (it / 1e9).ceil()),
        it => format!("{:.0}MB", (it / 1e6).ceil()),
    }
}
