//! Random programs: what they give is the same for any number of workers, any size of chunks, and
//! with or without the passes.
//!
//! A program follows from its number. `RANDOM=17 cargo test -p tests random` shows the 17th and
//! runs it alone; `RANDOM=100..2000` runs these.

pub(crate) mod callee;
mod coverage;
mod dice;
pub(crate) mod inputs;
mod oracle;
mod program;
mod steps;
mod values;
pub(crate) mod ways;

pub(crate) use dice::Dice;
pub(crate) use inputs::Inputs;
pub(crate) use oracle::Oracle;
pub(crate) use program::{Draft, Tally};
pub(crate) use ways::compiled;

use crate::trial;
use callee::Callee;
use libtest_mimic::{Failed, Trial};
use std::{
    collections::BTreeMap,
    env,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// Programs of a run that is to be quick, and of one that need not.
const QUICK: u64 = 100;
const SLOW: u64 = 2780;
/// Programs of a slow run that must use an entry, and those that a pass must change.
const LEAST: usize = 18;
/// Of a hundred steps that are offered to the checker, those that it may refuse.
const REFUSED_MAX: usize = 10;
/// Of a hundred programs, those that may differ in what is known not to be exact yet: see
/// `Ran::unsettled`; to be 0 when it is.
const UNSETTLED_MAX: usize = 5;
/// Of a hundred programs, those that must have texts in their batches.
const TEXTS_MIN: usize = 20;
/// Of a hundred programs, those that must have rows of different lengths in their batches.
const RAGGED_MIN: usize = 5;
/// Programs that are shown of each kind that is wrong.
const SHOWN: usize = 3;

/// What need not be used, and why.
const EXCEPTIONS: [(&str, &str); 6] = [
    (
        NOT_DRAWN[0],
        "stands for `decode_jpeg` where results may differ a little; held by tests of its own",
    ),
    (NOT_DRAWN[1], "calls what stands outside; `suite/outside` holds it against the plain plan"),
    ("i16", "17 of 2 000 programs have it; the other dtypes are cast to in the same way"),
    ("u16", "19 of 2 000 programs have it; the same"),
    ("resize_crop", "held against `crop` of `resize` in its own test"),
    ("resize_within", "what `roi-resizing` makes of `crop` of `resize`, which changes 86 of 2 000"),
];
/// What only `--allow approx` puts into a program, and what no program can name.
pub(crate) const NOT_DRAWN: [&str; 2] = ["decode_jpeg_draft", plan::FOREIGN];
/// Passes that need not change a program, and why.
const UNUSED_PASSES: [(&str, &str); 0] = [];

/// What all programs need.
pub(crate) struct World {
    pub(crate) oracle: Oracle,
    pub(crate) library: Vec<Callee>,
    /// Functions that only later programs call.
    pub(crate) later: Vec<Callee>,
    pub(crate) data: PathBuf,
}

impl World {
    /// Of the library, with the files of a folder.
    pub(crate) fn new(oracle: Oracle, data: PathBuf) -> Self {
        let all = callee::all(&oracle).into_iter();
        let (later, library) = all.partition(|it| callee::LATER.contains(&it.name.as_str()));
        Self { oracle, library, later, data }
    }
}

/// The check of random programs.
pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("random/pipelines", pipelines)]
}

#[expect(clippy::print_stdout, reason = "`--nocapture` shows what was run")]
fn pipelines() -> Result<(), Failed> {
    let inputs = Inputs::new("random")?;
    let oracle = Oracle::new(&inputs.0);
    let world = World::new(oracle, inputs.0.clone());
    let numbers = asked();
    let shared = (AtomicU64::new(numbers.start), Mutex::new(Report::default()));
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(2, |it| it.get().min(4));
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = shared.0.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end {
                        break;
                    }
                    let one = Report::of(number, &world);
                    shared.1.lock().unwrap_or_else(|it| it.into_inner()).add(one);
                }
            });
        }
    });
    let report = shared.1.into_inner().unwrap_or_else(|it| it.into_inner());
    println!("{}", report.text());
    report.verdict(numbers.end - numbers.start >= SLOW)
}

/// The programs that `variable` asks for: a number, or a range such as `100..200`; if it is not set, the
/// first `quick` ones, or `slow` where slow tests run.
pub(crate) fn numbers(variable: &str, (quick, slow): (u64, u64)) -> Range<u64> {
    let asked = env::var(variable).unwrap_or_default();
    let number = |it: &str| it.trim().parse::<u64>().ok();
    match asked.split_once("..").map(|(a, b)| (number(a), number(b))) {
        Some((Some(from), Some(to))) => from..to,
        _ => match (number(&asked), env::var_os("SLOW_TESTS")) {
            (Some(one), _) => one..one + 1,
            (None, Some(_)) => 0..slow,
            (None, None) => 0..quick,
        },
    }
}

/// The programs that are asked for here.
fn asked() -> Range<u64> {
    numbers("RANDOM", (QUICK, SLOW))
}

/// What came of some programs.
#[derive(Default)]
struct Report {
    programs: usize,
    unwritten: usize,
    failed: usize,
    lost: usize,
    empty: usize,
    outputs: usize,
    /// Programs that were not held to the letter, by the reason.
    unsettled: BTreeMap<&'static str, usize>,
    offered: usize,
    refused: Vec<String>,
    /// Programs that do not compile, and those that differ, as text.
    broken: Vec<String>,
    different: Vec<String>,
    used: BTreeMap<String, usize>,
    /// Programs that a pass has changed.
    changed: BTreeMap<String, usize>,
}

impl Report {
    fn of(number: u64, world: &World) -> Self {
        let mut report = Self { programs: 1, ..Self::default() };
        let mut tally = Tally::default();
        let draft = Draft::of(number, world, &mut tally);
        (report.offered, report.refused) = (tally.offered, tally.refused);
        match draft {
            Some(draft) => report.run(number, &draft, world),
            None => report.unwritten = 1,
        }
        report
    }

    #[expect(clippy::print_stdout, reason = "it was asked for")]
    fn run(&mut self, number: u64, draft: &Draft, world: &World) {
        let text = draft.text();
        if asked().end - asked().start == 1 {
            println!("{text}");
        }
        match outcome(number, &text, world) {
            Ok(known) => {
                self.failed = usize::from(known.failed);
                self.lost = usize::from(known.lost);
                self.empty = usize::from(known.outputs == 0);
                self.outputs = known.outputs;
                self.unsettled = known.unsettled.into_iter().map(|it| (it, 1)).collect();
                self.changed = known.passes.into_iter().map(|it| (it, 1)).collect();
                self.used = known.entries.into_iter().map(|it| (it, 1)).collect();
                self.used.extend(coverage::called(&text).into_iter().map(|it| (it, 1)));
            }
            Err(Found::Broken(why)) => self.broken.push(format!("program {number}:\n{text}{why}")),
            Err(Found::Different(why)) => {
                let (text, why) = shrunk(number, draft, why, world);
                self.different.push(format!("program {number}:\n{text}{why}\n"));
            }
        }
    }

    /// Programs that use an entry, or have what stands among those.
    fn with(&self, what: &str) -> usize {
        self.used.get(what).copied().unwrap_or_default()
    }

    fn add(&mut self, other: Self) {
        self.programs += other.programs;
        self.unwritten += other.unwritten;
        self.failed += other.failed;
        self.lost += other.lost;
        self.empty += other.empty;
        self.outputs += other.outputs;
        self.offered += other.offered;
        self.refused.extend(other.refused);
        self.broken.extend(other.broken);
        self.different.extend(other.different);
        for (why, n) in other.unsettled {
            *self.unsettled.entry(why).or_default() += n;
        }
        for (name, n) in other.changed {
            *self.changed.entry(name).or_default() += n;
        }
        for (name, n) in other.used {
            *self.used.entry(name).or_default() += n;
        }
    }

    fn text(&self) -> String {
        let Self { programs, unwritten, failed, lost, empty, outputs, offered, .. } = self;
        let shown = env::var_os("RANDOM_REFUSED").map_or(0, |_| usize::MAX);
        let refused: String =
            self.refused.iter().take(shown).map(|it| format!("refused: {it}\n")).collect();
        let broken: String = self.broken.iter().take(shown).map(|it| format!("{it}\n")).collect();
        format!(
            "{refused}{broken}{programs} programs, {outputs} outputs; {failed} ended with a failure, {lost} \
             lost records, {empty} were empty, {} have texts in batches, {} rows of \
             different lengths, {unwritten} were not written; {} of {offered} steps \
             refused; {} did not compile, {} differ; not exact yet: {:?}; changed by {:?}",
            self.with(coverage::TEXTS),
            self.with(coverage::RAGGED),
            self.refused.len(),
            self.broken.len(),
            self.different.len(),
            self.unsettled,
            self.changed
        )
    }

    fn verdict(&self, complete: bool) -> Result<(), Failed> {
        let mut wrong: Vec<String> = self.different.iter().take(SHOWN).cloned().collect();
        if self.broken.len() * 50 > self.programs {
            wrong.extend(self.broken.iter().take(SHOWN).cloned());
        }
        if self.refused.len() * 100 > self.offered * REFUSED_MAX || self.unwritten > 0 {
            wrong.push(self.text());
        }
        if self.unsettled.values().sum::<usize>() * 100 > self.programs * UNSETTLED_MAX {
            wrong.push(self.text());
        }
        for (what, least) in [(coverage::TEXTS, TEXTS_MIN), (coverage::RAGGED, RAGGED_MIN)] {
            let found = self.with(what);
            if self.programs as u64 >= QUICK && found * 100 < self.programs * least {
                wrong.push(format!("{found} of {} programs have {what}", self.programs));
            }
        }
        if complete {
            wrong.extend(self.rare());
            wrong.extend(self.rare_passes());
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
    }

    /// The entries that too few programs use.
    fn rare(&self) -> Option<String> {
        let library = stdlib::library();
        let native = [library.functions, library.operators, library.sources];
        let names = native.into_iter().flatten().map(|it| it.name().to_owned());
        let written = callee::written_names();
        let used = |it: &String| self.used.get(it).copied().unwrap_or_default();
        let rare = names.chain(written).filter(|it| EXCEPTIONS.iter().all(|not| not.0 != it));
        let rare: Vec<String> =
            rare.filter(|it| used(it) < LEAST).map(|it| format!("{it} ({})", used(&it))).collect();
        (!rare.is_empty()).then(|| format!("used too seldom: {}", rare.join(", ")))
    }
}

impl Report {
    /// The exact passes that change too few programs for them to be a test of it.
    fn rare_passes(&self) -> Option<String> {
        let changed = |it: &str| self.changed.get(it).copied().unwrap_or_default();
        let exact = compiler::passes::PASSES.iter().filter(|it| it.exact).map(|it| it.name);
        let exact = exact.filter(|it| UNUSED_PASSES.iter().all(|not| not.0 != *it));
        let rare: Vec<String> = exact
            .filter(|it| changed(it) < LEAST)
            .map(|it| format!("{it} ({})", changed(it)))
            .collect();
        (!rare.is_empty()).then(|| format!("passes that change too little: {}", rare.join(", ")))
    }
}

enum Found {
    Broken(String),
    Different(String),
}

/// Runs a program in every way.
fn outcome(number: u64, text: &str, world: &World) -> Result<ways::Known, Found> {
    let epochs = 1 + (number % 3) as u32;
    let all = || ways::all_the_same(text, &world.data, epochs);
    match catch_unwind(AssertUnwindSafe(all)) {
        Ok(Ok(known)) => Ok(known),
        Ok(Err(Err(why))) => Err(Found::Broken(why)),
        Ok(Err(Ok(difference))) => Err(Found::Different(difference.to_string())),
        Err(_) => Err(Found::Different("it panicked".to_owned())),
    }
}

/// A shorter program that still differs: steps are left out, the last ones first.
fn shrunk(number: u64, draft: &Draft, why: String, world: &World) -> (String, String) {
    let (mut draft, mut why) = (draft.clone(), why);
    for stream in (0..draft.streams.len()).rev() {
        for step in (0..draft.streams[stream].steps.len()).rev() {
            let mut shorter = draft.clone();
            shorter.streams[stream].steps.remove(step);
            if let Err(Found::Different(still)) = outcome(number, &shorter.text(), world) {
                (draft, why) = (shorter, still);
            }
        }
    }
    (draft.text(), why)
}
