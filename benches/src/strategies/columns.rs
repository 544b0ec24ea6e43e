//! S4, S5, S6, S9: PRESTO's CV pipelines on disks of several speeds: what is kept, and what would be the best.

use super::{
    pictures::{Filled, KINDS, Large, Pictures, by_turns},
    site::{Folder, Target, Tier, Told, UNBOUNDED, in_words},
    texts,
};
use crate::{
    Row,
    trial::{median, most},
};
use compiler::caches::Choice;
use plan::Codec;

/// Speeds of the disk, in MB/s; the last one is the page cache.
const SPEEDS: [Option<f64>; 6] = [Some(10e6), Some(50e6), Some(200e6), Some(1e9), Some(4e9), None];
/// A disk so fast keeps the cores busy too.
const FAST: f64 = 1e9;
/// Rates that differ by less than this part are equal.
const EQUAL: f64 = 0.02;
/// Rounds in which two are compared.
const ROUNDS: usize = 3;
/// Pairs of runs, one after the other, of which the median says which of the two is faster.
const PAIRS: usize = 7;
/// Bandwidth over bytes, over cores by their work, where PRESTO's CV pipeline stood.
const KAPPA: f64 = 8.25;

/// How far the law is off, of those that something bounds.
#[derive(Default)]
struct Off {
    most: f64,
    at: String,
}

impl Off {
    fn add(&mut self, (told, seen): (f64, f64), at: String) {
        let off = told / seen - 1.0;
        if off.abs() > self.most.abs() {
            (self.most, self.at) = (off, at);
        }
    }
}

/// S4: fourteen kinds on six disks.
pub(crate) fn disks() -> Vec<Row> {
    let claim = "CV on disks of 10 to 4 000 MB/s and in the page cache";
    let Some(pictures) = Pictures::new() else {
        return vec![Row::skipped("S4", claim, "the folder of images")];
    };
    let all = pictures.filled(Tier::Disk);
    let rounds = by_rounds(&pictures, &all);
    let (mut io, mut cpu, mut figures) = (Off::default(), Off::default(), Vec::new());
    let mut chosen: Vec<(String, f64)> = Vec::new();
    for (speed, rounds) in SPEEDS.into_iter().zip(rounds) {
        let disk = speed.unwrap_or(UNBOUNDED);
        let name = speed.map_or("page cache".to_owned(), |it| format!("{:.0} MB/s", it / 1e6));
        let (mut rates, mut cells) = (Vec::new(), Vec::new());
        for (it, rounds) in all.iter().zip(rounds) {
            // The round in the middle, by how far the law is off.
            let (told, seen) = in_the_middle(rounds, |(told, seen)| told.rate / seen);
            let off = if told.is_by_disk() { &mut io } else { &mut cpu };
            let at = format!("{} at {name}: {:.0} and {seen:.0}/s", it.name, told.rate);
            off.add((told.rate, seen), at);
            rates.push(seen);
            cells.push(format!("{seen:.0} ({:.0})", told.rate));
        }
        let best = most(&rates);
        let (as_run, words) = pictures.chosen(&Target::one_disk(disk, 90.0));
        let rates = by_turns(&[&all[best], &as_run], (speed, ROUNDS));
        let part = rates[1] / rates[0];
        figures.push(format!(
            "{name}: {}; best {}, chosen {words}: {part:.2}",
            cells.join(", "),
            all[best].name
        ));
        chosen.push((words, part));
    }
    let kinds: Vec<&str> = all.iter().map(|it| it.name).collect();
    let row =
        |what: &str, figure, holds| Row::new("S4", &format!("{claim}: {what}"), figure, holds);
    let off = |it: &Off| format!("{:+.1} % at the most ({})", it.most * 100.0, it.at);
    let least = chosen.iter().map(|it| it.1).fold(f64::INFINITY, f64::min);
    let different = |it: &(String, f64)| it.0.clone();
    let mut words: Vec<String> = chosen.iter().map(different).collect();
    words.dedup();
    let mut rows = vec![
        row(
            "what a run chooses has 0.95 of the best rate, or more",
            format!(
                "{least:.2} at the least (records/s, as predicted in brackets, of {}; {})",
                kinds.join(", "),
                figures.join("; ")
            ),
            least >= 0.95,
        ),
        row(
            "three machines or more for which something else is chosen",
            words.join("; "),
            words.len() >= 3 && least >= 0.95,
        ),
        row("the law within 10 % where the disk bounds", off(&io), io.most.abs() <= 0.10),
        row("the law within 15 % where the cores bound", off(&cpu), cpu.most.abs() <= 0.15),
    ];
    rows.push(switches(claim, &all));
    rows
}

/// What is told and what is seen of each kind on each disk, in each round. What is told is of a profile of the same round: what a
/// machine that others use too does a minute later is another matter.
fn by_rounds(pictures: &Pictures, all: &[Filled<'_>]) -> Vec<Vec<Vec<(Told, f64)>>> {
    let mut rounds = vec![vec![Vec::new(); all.len()]; SPEEDS.len()];
    let mut again = None;
    for round in 0..ROUNDS {
        for (speed, cells) in SPEEDS.iter().zip(&mut rounds) {
            let pictures: &Pictures = again.as_ref().unwrap_or(pictures);
            for ((it, kind), seen) in all.iter().zip(&KINDS).zip(cells) {
                let told = pictures.told(kind, Tier::Disk, *speed);
                // What a slow disk gives does not vary; what cores do, and a disk that leaves them little time, is measured by
                // turns.
                let is_slow = speed.is_some_and(|it| it < FAST);
                if round == 0 || !told.is_by_disk() || !is_slow {
                    let rate = it.seen(*speed, &told);
                    seen.push((told, rate));
                }
            }
        }
        again = (round + 1 < ROUNDS).then(Pictures::new).flatten();
    }
    rounds
}

/// The one in the middle, by a number of each.
fn in_the_middle<T>(mut all: Vec<T>, by: impl Fn(&T) -> f64) -> T {
    all.sort_by(|a, b| by(a).total_cmp(&by(b)));
    all.swap_remove(all.len() / 2)
}

/// Whether another kind is the fastest from the speeds on of which the law says so.
fn switches(claim: &str, all: &[Filled<'_>]) -> Row {
    let best = |disk: f64| most(&all.iter().map(|it| it.told(Some(disk)).rate).collect::<Vec<_>>());
    let steps: Vec<f64> = (0..=60).map(|it| 10e6 * 10_f64.powf(f64::from(it) / 20.0)).collect();
    let (mut figures, mut holds) = (Vec::new(), true);
    for pair in steps.windows(2) {
        let (mut low, mut high) = (pair[0], pair[1]);
        let (before, after) = (best(low), best(high));
        if before == after {
            continue;
        }
        while high / low > 1.01 {
            let middle = (low * high).sqrt();
            if best(middle) == before { low = middle } else { high = middle }
        }
        let both = [&all[before], &all[after]];
        let sides = [low / 1.15, high * 1.15];
        let told = sides.map(|it| both[1].told(Some(it)).rate / both[0].told(Some(it)).rate);
        // Those that are equally fast before or behind do not take each other's place.
        if told[0] > 1.0 - EQUAL || told[1] < 1.0 + EQUAL {
            continue;
        }
        let seen = sides.map(|disk| {
            let pair = |_| by_turns(&both, (Some(disk), 1));
            median((0..PAIRS).map(pair).map(|it| it[1] / it[0]).collect())
        });
        holds &= seen[0] <= 1.0 && seen[1] >= 1.0;
        figures.push(format!(
            "{} to {} at {:.0} MB/s, {:.2} and {:.2} times as fast at 15 % less and more",
            both[0].name,
            both[1].name,
            low / 1e6,
            seen[0],
            seen[1]
        ));
    }
    if figures.is_empty() {
        figures.push("none up to 10 GB/s".to_owned());
    }
    Row::new(
        "S4",
        &format!("{claim}: the switches within 15 % of the speed"),
        figures.join("; "),
        holds,
    )
}

/// S5: PRESTO's pipelines of images where the disk is as fast for the cores as PRESTO's was.
pub(crate) fn as_fast_as_prestos() -> Vec<Row> {
    let claim = "CV at κ = 8.25: resized is the best, 2.5 to 4.5 times centered, 1.8 times decoded and bytes";
    let Some(pictures) = Pictures::new() else {
        return vec![Row::skipped("S5", claim, "the folder of images")];
    };
    let names: Vec<&str> = KINDS.iter().map(|it| it.name).collect();
    let found = AtKappa::new(&pictures, KAPPA, &names);
    let [bytes, decoded, resized, centered] =
        ["bytes", "decoded", "resized", "centered"].map(|it| found.best(it));
    let holds = found.is_resized()
        && (2.5..=4.5).contains(&(resized / centered))
        && resized >= 1.8 * decoded
        && resized >= 1.8 * bytes;
    let mut rows = vec![Row::new("S5", claim, found.figure(), holds)];
    for (name, format, kappa) in
        [("CV2-JPG", Large::Jpg, KAPPA_JPG), ("CV2-PNG", Large::Png, KAPPA_PNG)]
    {
        let claim = format!(
            "{name} at κ = {kappa}: resized is the best, and what a run chooses has 0.95 of it"
        );
        let folder = Folder::new("large");
        let Some(pictures) = Pictures::large(format, &folder) else {
            rows.push(Row::skipped("S5", &claim, "the folder of images"));
            continue;
        };
        let found = AtKappa::new(&pictures, kappa, &LARGE_KINDS);
        let holds = found.is_resized() && found.chosen.1 >= 0.95;
        rows.push(Row::new("S5", &claim, found.figure(), holds));
    }
    rows.push(texts::as_fast_as_prestos());
    rows.push(Row::skipped("S5", "NILM, MP3, FLAC", "their data or operators"));
    rows
}

/// The same of its CV2 pipelines: what its disk gave of concatenated files, over what its cores did.
const KAPPA_JPG: f64 = 5.93;
const KAPPA_PNG: f64 = 2.43;
/// What is kept of large images.
const LARGE_KINDS: [&str; 8] = [
    "nothing",
    "bytes",
    "decoded",
    "decoded lz4",
    "resized",
    "resized lz4",
    "centered",
    "centered lz4",
];

/// What some kinds give on a disk that is so fast for the cores.
struct AtKappa {
    /// Each with its records per second.
    rates: Vec<(&'static str, f64)>,
    disk: f64,
    /// What a run chooses, and its part of the best rate.
    chosen: (String, f64),
}

impl AtKappa {
    fn new(pictures: &Pictures, kappa: f64, names: &[&str]) -> Self {
        let all = pictures.filled_as(names, Tier::Disk);
        // What the cores can do of packed files, and as many of those as would come from such a disk.
        let disk = kappa * all[place(&all, "bytes")].told(None).rate * pictures.file_bytes();
        let (chosen, words) = pictures.chosen(&Target::one_disk(disk, 90.0));
        let kinds: Vec<&Filled<'_>> = all.iter().chain([&chosen]).collect();
        let mut rates = by_turns(&kinds, (Some(disk), ROUNDS));
        let of_chosen = rates.pop().unwrap_or_default();
        let part = of_chosen / rates[most(&rates)];
        let rates = all.iter().map(|it| it.name).zip(rates).collect();
        Self { rates, disk, chosen: (words, part) }
    }

    /// The rate of a kind with the codec that is the best for it.
    fn best(&self, name: &str) -> f64 {
        let own = self.rates.iter().filter(|it| it.0.starts_with(name));
        own.map(|it| it.1).fold(0.0, f64::max)
    }

    fn is_resized(&self) -> bool {
        let others = ["nothing", "bytes", "decoded", "centered"];
        others.iter().all(|it| self.best(it) < self.best("resized"))
    }

    fn figure(&self) -> String {
        let times = |name: &str| self.best("resized") / self.best(name);
        let each: Vec<String> =
            self.rates.iter().map(|(name, rate)| format!("{name} {rate:.0}")).collect();
        format!(
            "{:.1}, {:.1} and {:.1} times (a disk of {:.0} MB/s; records/s: {}; chosen {}: {:.2})",
            times("centered"),
            times("decoded"),
            times("bytes"),
            self.disk / 1e6,
            each.join(", "),
            self.chosen.0,
            self.chosen.1
        )
    }
}

/// A disk that is slow for pictures.
const SLOW: f64 = 50e6;

/// S6: codecs.
pub(crate) fn codecs() -> Vec<Row> {
    let claim = "centered f32 alone at 50 MB/s: zstd3 2.8 times as fast as without, within 10 % of what is predicted";
    let Some(pictures) = Pictures::new() else {
        return vec![Row::skipped("S6", claim, "the folder of images")];
    };
    let kinds = pictures.filled_as(&["centered", "centered zstd3"], Tier::Disk);
    let rates = by_turns(&kinds.iter().collect::<Vec<_>>(), (Some(SLOW), ROUNDS));
    let told = kinds[1].told(Some(SLOW)).rate;
    let (times, off) = (rates[1] / rates[0], told / rates[1] - 1.0);
    let figure = format!(
        "{times:.2} times ({:.0} and {:.0}/s), {told:.0} predicted, {:+.1} %",
        rates[1],
        rates[0],
        off * 100.0
    );
    let mut rows = vec![Row::new("S6", claim, figure, times >= 2.8 && off.abs() <= 0.10)];
    let choices = |speed: Option<f64>| {
        pictures.choices(&Target::one_disk(speed.unwrap_or(UNBOUNDED), 90.0)).1
    };
    let is_encoded = |it: &Choice| it.forms.iter().any(|it| it.figures.codec != Codec::NONE);
    let plain = choices(None);
    rows.push(Row::new(
        "S6",
        "nothing holds back the disk: no codec is chosen",
        in_words(&plain),
        !plain.iter().any(is_encoded),
    ));
    let all: Vec<(Option<f64>, Vec<Choice>)> =
        SPEEDS.iter().map(|it| (*it, choices(*it))).collect();
    let files = || all.iter().flat_map(|it| &it.1).filter(|it| it.candidate.reads);
    rows.push(Row::new(
        "S6",
        "the bytes of JPEG files are encoded on none of the six disks",
        format!("{} of them cache bytes", files().count()),
        !files().any(is_encoded),
    ));
    let words: Vec<String> = all.iter().map(|it| in_words(&it.1)).collect();
    let is_centered = |it: &Choice| it.candidate.function == "normalize";
    rows.push(Row::new(
        "S6",
        "u8 before the affine is chosen where f32 behind it could be, too",
        words.join("; "),
        !all.iter().flat_map(|it| &it.1).any(is_centered),
    ));
    rows.push(Row::skipped("S6", "NILM aggregated never without transposition", "its data"));
    rows
}

/// S9: what it takes to read a kept value, beside having it in memory.
pub(crate) fn beside_memory() -> Vec<Row> {
    let claim =
        "resized, from the page cache beside memory: 0.77 of the rate, 0.2 ns of a core for a byte";
    let Some(pictures) = Pictures::new() else {
        return vec![Row::skipped("S9", claim, "the folder of images")];
    };
    let tiers = [Tier::Memory, Tier::Disk].map(|it| pictures.filled_as(&["resized"], it).remove(0));
    let (mut rates, mut cpu) = ([(); 2].map(|()| Vec::new()), [(); 2].map(|()| Vec::new()));
    for _ in 0..5 {
        for (at, it) in tiers.iter().enumerate() {
            let pace = it.pace();
            rates[at].push(pace.alone());
            cpu[at].push(pace.cpu);
        }
    }
    let [memory, disk] = rates.map(median);
    let [cpu_memory, cpu_disk] = cpu.map(median);
    let bytes = tiers[1].bytes();
    let of_byte = (cpu_disk - cpu_memory) / bytes * 1e9;
    let figure = format!(
        "{:.2} ({disk:.0} and {memory:.0}/s), {of_byte:.2} ns a byte of {:.0} kB ({:.0} and {:.0} µs of a core a record)",
        disk / memory,
        bytes / 1e3,
        cpu_disk * 1e6,
        cpu_memory * 1e6
    );
    vec![Row::new("S9", claim, figure, disk >= 0.77 * memory && of_byte <= 0.2)]
}

/// The place of a kind.
fn place(all: &[Filled<'_>], name: &str) -> usize {
    all.iter().position(|it| it.name == name).unwrap_or_else(|| panic!("no kind `{name}`"))
}
