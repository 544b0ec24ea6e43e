//! Random pipelines under random budgets of memory, each in a process of its own: it ends with what it
//! gives without a bound, and never held more than 5 % beyond (pages of the executable aside); or it is
//! refused with what would do, and that does. And long texts, without a bound.
//!
//! `BOUNDED=17 cargo test -p tests bounded` runs the 17th alone and shows it; `BOUNDED=16..400` runs these.

use crate::{
    random::{Dice, Draft, Inputs, Oracle, Tally, World, compiled, numbers},
    trial,
};
use libtest_mimic::{Failed, Trial};
use runtime::{Failure, Options};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command, ExitCode},
};

/// Pipelines of a run that is to be quick, and of one that need not.
const QUICK: u64 = 4;
const SLOW: u64 = 12;
/// Outputs after which a run is stopped: it may have no end.
const OUTPUTS_MAX: usize = 300;
/// How often a run may say that it needs more: what types do not tell shows step by step.
const RAISES_MAX: usize = 4;
/// Says to a process that it is to run what a file holds: the bytes that it may hold, and the file.
const CHILD: &str = "PIPEC_BOUNDED_CHILD";

/// Says to it which control group it is to be in.
const GROUP: &str = "PIPEC_BOUNDED_GROUP";

/// The check.
pub(crate) fn trials() -> Vec<Trial> {
    match cfg!(target_os = "linux") {
        true => vec![
            trial("bounded/pipelines", pipelines),
            trial("bounded/control-group", in_control_group),
            trial("bounded/long-texts", long_texts),
        ],
        false => Vec::new(),
    }
}

/// Runs what it was started for, if that is what this process is for.
pub(crate) fn child() -> Option<ExitCode> {
    let asked = env::var(CHILD).ok()?;
    let (memory, file) = asked.split_once(' ').expect("the parent says both");
    let memory: u64 = memory.parse().expect("it is a number");
    if let Ok(group) = env::var(GROUP) {
        let joined = fs::write(Path::new(&group).join("cgroup.procs"), process::id().to_string());
        joined.expect("the parent has made the group");
    }
    Some(run(Path::new(file), memory))
}

#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn run(file: &Path, memory: u64) -> ExitCode {
    let text = fs::read_to_string(file).expect("the parent has written it");
    let data = file.parent().expect("it lies in a folder");
    let compiled = compiled(&text, data).expect("the parent has compiled it");
    let options = Options {
        memory,
        process_memory: Some(memory),
        workers: 2,
        readers: 2,
        seed: 7,
        epochs: 0..2,
        ..Options::default()
    };
    let (mut outputs, mut hash) = (0, 0);
    let mapped = status("RssFile:").unwrap_or(0);
    let started = runtime::start(&compiled.program, &stdlib::Kernels, &options);
    let end = started.and_then(|run| {
        for chunk in run {
            let chunk = chunk?;
            let rows = chunk.rows.min(OUTPUTS_MAX - outputs);
            for row in 0..rows {
                let values = chunk.columns.iter().map(|it| it.row(row).as_bytes().map(plan::hash));
                hash = values.flatten().fold(plan::mix(hash, chunk.ids()[row]), plan::mix);
            }
            outputs += rows;
            if outputs == OUTPUTS_MAX {
                break;
            }
        }
        Ok(())
    });
    // Of this executable, the system maps more pages as more of it runs, some megabytes in a build for tests; how many,
    // depends on what it has at hand.
    let mapped = status("RssFile:").unwrap_or(0).saturating_sub(mapped);
    let peak = status("VmHWM:").expect("Linux says it").saturating_sub(mapped);
    println!("peak {peak} outputs {outputs} {hash:016x}");
    match end {
        Ok(()) => println!("over"),
        Err(Failure::Memory { detail, .. }) => println!("memory {detail}"),
        Err(other) => println!("failed {other}"),
    }
    ExitCode::SUCCESS
}

/// Kilobytes that the system says of this process under this name.
fn status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let said = status.lines().find_map(|it| it.strip_prefix(name))?;
    said.split_whitespace().next()?.parse().ok()
}

/// What came of a process.
#[derive(Debug)]
struct Ran {
    peak: u64,
    /// How many outputs, and a hash of them; how it ended.
    given: String,
    end: String,
}

impl Ran {
    fn of(file: &Path, memory: u64) -> Result<Self, String> {
        Self::within(file, memory, None)
    }

    fn within(file: &Path, memory: u64, group: Option<&Group>) -> Result<Self, String> {
        let program = env::current_exe().map_err(|it| it.to_string())?;
        let asked = format!("{memory} {}", file.display());
        let mut command = Command::new(program);
        command.env(CHILD, asked).envs(group.map(|it| (GROUP, &it.0)));
        let output = command.output();
        let output = output.map_err(|it| it.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let broken =
            || format!("{}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr));
        let parsed = || {
            let (peak, end) = text.strip_prefix("peak ")?.split_once('\n')?;
            let (peak, given) = peak.split_once(' ')?;
            let peak = peak.parse::<u64>().ok()? * 1024;
            Some(Self { peak, given: given.to_owned(), end: end.trim_end().to_owned() })
        };
        parsed().filter(|_| output.status.success()).ok_or_else(broken)
    }

    /// The memory that would do, in bytes, where it was refused or has ended for want of it.
    fn needed(&self) -> Option<u64> {
        let (_, stated) = self.end.strip_prefix("memory ")?.split_once("`--memory ")?;
        Some(stated.split_once("MB`")?.0.parse::<u64>().ok()? * 1_000_000)
    }
}

#[expect(clippy::print_stdout, reason = "`--nocapture` shows what was run")]
fn pipelines() -> Result<(), Failed> {
    let inputs = Inputs::new("bounded")?;
    let oracle = Oracle::new(&inputs.0);
    let world = World::new(oracle, inputs.0.clone());
    let numbers = numbers("BOUNDED", (QUICK, SLOW));
    let is_one = numbers.end - numbers.start == 1;
    let mut wrong = Vec::new();
    for number in numbers {
        let text = match number % 2 {
            0 => Some(heavy(number)),
            _ => Draft::of(number, &world, &mut Tally::default()).map(|it| it.text()),
        };
        let Some(text) = text else { continue };
        if is_one {
            println!("{text}");
        }
        if compiled(&text, &world.data).is_err() {
            continue;
        }
        let file = world.data.join("bounded.pipe");
        fs::write(&file, &text)?;
        if let Err(why) = holds(&file, number) {
            wrong.push(format!("pipeline {number}:\n{text}{why}\n"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// A control group with a bound of memory, gone afterwards.
struct Group(PathBuf);

impl Group {
    /// None where the system lets nobody make one.
    fn new(bytes: u64) -> Option<Self> {
        // Both versions of control groups; of the second the one that this process is in may have others.
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = own.lines().find_map(|it| it.strip_prefix("0::/")).unwrap_or_default().to_owned();
        let second = Path::new("/sys/fs/cgroup").join(own);
        let places = [
            (Path::new("/sys/fs/cgroup/memory").to_owned(), "memory.limit_in_bytes"),
            (second, "memory.max"),
        ];
        places.into_iter().find_map(|(place, limit)| {
            let group = Self(place.join(format!("pipec-bounded-{}", process::id())));
            fs::create_dir(&group.0).ok()?;
            fs::write(group.0.join(limit), bytes.to_string()).ok()?;
            group.0.join("cgroup.procs").is_file().then_some(group)
        })
    }

    /// The most bytes that it has held, where the system says so.
    fn peak(&self) -> Option<u64> {
        let read = |name| fs::read_to_string(self.0.join(name)).ok()?.trim().parse().ok();
        read("memory.max_usage_in_bytes").or_else(|| read("memory.peak"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// The system itself holds a run to what it was given: it ends it where it takes more.
#[expect(clippy::print_stdout, reason = "`--nocapture` shows what was run")]
fn in_control_group() -> Result<(), Failed> {
    if Group::new(64 << 20).is_none() {
        println!("skipped: no control group can be made here");
        return Ok(());
    }
    let inputs = Inputs::new("bounded-group")?;
    let file = inputs.0.join("bounded.pipe");
    // Without a bound it takes several times as much as it is given below.
    let text = "edition 2026\npipeline p = range(60) |> map { i, x: full([500, 500, 4], f32(1)) * f32(i) }\n    \
                |> map { i, x, y: x * f32(2) } |> shuffle(window: 8) |> batch(2, tail: keep)\n";
    fs::write(&file, text)?;
    let free = Ran::of(&file, 64 << 30)?;
    let needed = Ran::of(&file, 1_000_000)?.needed().ok_or("it is not refused")?;
    // What the system counts beside the process's own: tables of pages, pipes.
    let group = Group::new(needed + needed / 20 + (4 << 20)).ok_or("no second group")?;
    let ran = Ran::within(&file, needed, Some(&group))?;
    if ran.given != free.given || ran.end != free.end {
        return Err(format!("with {needed} bytes: {ran:?}, and without a bound {free:?}").into());
    }
    if group.peak().is_some_and(|it| it < needed / 4) {
        return Err(format!("it was in no group: {:?} of {needed}", group.peak()).into());
    }
    Ok(())
}

/// Texts are assumed to be short, and were never read before: those that are long are read by few, with all the memory
/// that there is.
fn long_texts() -> Result<(), Failed> {
    let inputs = Inputs::new("bounded-texts")?;
    let (file, line) = (inputs.0.join("bounded.pipe"), "long ".repeat(10_000) + "\n");
    let texts = inputs.0.join("texts.txt");
    fs::write(&texts, line.repeat(4_000))?;
    let steps = "|> map { n: len(text) } |> batch(16)";
    let text = format!("edition 2026\npipeline p = lines(\"{}\") {steps}\n", texts.display());
    fs::write(&file, text)?;
    let ran = Ran::of(&file, 64 << 30)?;
    match ran.end == "over" && ran.peak < 250_000_000 {
        true => Ok(()),
        false => Err(format!("200 MB of lines: {ran:?}").into()),
    }
}

/// Runs the program of a file under several budgets.
fn holds(file: &Path, number: u64) -> Result<(), String> {
    let free = Ran::of(file, 64 << 30)?;
    let refused = Ran::of(file, 1_000_000)?;
    if free.end == "over" && refused.needed().is_none() && free.peak > 2_000_000 {
        return Err(format!("it was not refused: {refused:?}"));
    }
    let Some(mut memory) = refused.needed() else { return Ok(()) };
    let mut dice = Dice::new(number);
    let mut raises = 0;
    loop {
        let ran = Ran::of(file, memory)?;
        if ran.peak > memory + memory / 20 {
            return Err(format!("with {memory} bytes it held {}: {ran:?}", ran.peak));
        }
        match ran.needed() {
            Some(more) if more <= memory => return Err(format!("{more} are not enough: {ran:?}")),
            Some(more) => memory = more,
            None if ran.given == free.given && ran.end == free.end => break,
            None => {
                return Err(format!("with {memory} bytes: {ran:?}, and without a bound {free:?}"));
            }
        }
        raises += 1;
        if raises > RAISES_MAX {
            return Err(format!("it needs ever more: {memory} now"));
        }
    }
    // Between what did and twice as much it does as well.
    let memory = memory + memory / 100 * dice.below(100) as u64;
    let ran = Ran::of(file, memory)?;
    let more = ran.peak <= memory + memory / 20 && ran.given == free.given && ran.end == free.end;
    if more { Ok(()) } else { Err(format!("with {memory} bytes: {ran:?}")) }
}

/// A pipeline of values of some size, with steps that hold several of them.
fn heavy(number: u64) -> String {
    let mut dice = Dice::new(number);
    let side = 10 * dice.within(2, 30);
    let records = dice.within(10, 60);
    let value = match dice.below(4) {
        0 => format!("full([{side}, {side}, 3], f32(1)) * f32(i)"),
        1 => format!("full([{side}, {side}, 3], u8(7))"),
        // Of extents that no type tells, and one that is much larger than the others.
        2 => format!("pad(plasma(i, 4, 6), 20 + i * {})", side / 20),
        _ => format!("pad(plasma(i, 4, 6), if i == 9 then {} else 30)", 3 * side),
    };
    let is_known = value.starts_with("full");
    let mut text = format!(
        "edition 2026\npipeline p = range({records}) |> map {{ i, n: i }} |> map {{ i, x: {value} }}"
    );
    for _ in 0..dice.below(3) {
        text += &match dice.below(5) {
            0 => format!("\n    |> shuffle(window: {})", dice.within(2, 12)),
            1 => "\n    |> map { i, x: x, y: f32(x) * f32(2) }".to_owned(),
            2 => "\n    |> where i % 3 != 1".to_owned(),
            3 => "\n    |> repeat(2)".to_owned(),
            _ => "\n    |> map { i, x: x, s: sum(f32(x)) }".to_owned(),
        };
    }
    text += &match dice.below(5) {
        0 if is_known => format!("\n    |> windows(length: {}, hop: 1)", dice.within(2, 9)),
        1 | 2 if is_known => format!("\n    |> batch({}, tail: keep)", dice.within(2, 9)),
        3 if is_known => format!("\n    |> batch({}, tail: drop)", dice.within(2, 9)),
        1 | 2 => "\n    |> map { s: mean(f32(x)) } |> batch(4, tail: keep)".to_owned(),
        _ => String::new(),
    };
    text + "\n"
}
