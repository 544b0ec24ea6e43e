//! `pipec scan`: bad records, found before they are met.

use super::{compiled, failed, may_replace, print_json, samples_made, settings};
use crate::{
    Exit,
    args::ScanArgs,
    figures::{bytes, count, things, time},
    talk::{Talk, print},
};
use driver::{
    Ours, Settings, Stop,
    scan::{Bad, Faults, Files, Labels, Scan, ScanOptions, ScanWatch, Shuffle, Spread, scan},
    unwritable,
};
use runtime::Failure;
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// Scans the pipeline that `args` names.
pub(super) fn run(args: &ScanArgs, talk: &Talk) -> io::Result<Exit> {
    let free = args.out.as_deref().map_or(Ok(()), |it| may_replace(it, Ours::Records, talk));
    if let Err(exit) = free {
        return Ok(exit);
    }
    let compiled = match compiled(
        &args.file,
        Settings { memory: args.memory, ..settings(&args.pipeline.program()) },
        talk,
    ) {
        Ok(compiled) => compiled,
        Err(exit) => return Ok(exit),
    };
    let mut out = match args.out.as_deref().map(Lines::open).transpose() {
        Ok(out) => out,
        Err(failure) => return Ok(failed(talk, &failure)),
    };
    let stop = Stop::default();
    super::run::stop_on_signals(stop.clone(), talk.terminal);
    let watch = ScanWatch {
        stop,
        bad: &mut |it| out.as_mut().map_or(Ok(()), |out| out.write(it)),
        progress: &mut |n| talk.passing(&format!("{} scanned", things(n, "record", "records"))),
        sample: &mut samples_made(talk),
    };
    let usual = ScanOptions::default();
    let memory = args.memory.unwrap_or(usual.memory);
    let options = ScanOptions { seed: args.seed, memory, whole_process: true, ..usual };
    let outcome = scan(&compiled, &options, watch);
    talk.passed();
    let closed = out.map_or(Ok(()), Lines::close);
    match outcome.and_then(|it| closed.map(|()| it)) {
        Ok(found) => told(args, &found),
        Err(failure) => Ok(failed(talk, &failure)),
    }
}

/// The file of bad records: a line of JSON each.
struct Lines {
    out: BufWriter<File>,
    path: PathBuf,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, Failure> {
        let file = driver::create(path).map_err(|it| unwritable(path, &it))?;
        Ok(Self { out: BufWriter::new(file), path: path.to_owned() })
    }

    fn write(&mut self, bad: &Bad) -> Result<(), Failure> {
        let line = serde_json::to_string(bad).map_err(io::Error::from);
        let written = line.and_then(|it| writeln!(self.out, "{}", plan::escaped_json(&it)));
        written.map_err(|it| unwritable(&self.path, &it))
    }

    fn close(mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|it| unwritable(&self.path, &it))
    }
}

fn told(args: &ScanArgs, found: &Scan) -> io::Result<Exit> {
    if args.json {
        print_json(found)?;
    } else {
        print(&text(found))?;
    }
    Ok(match found {
        it if it.interrupted => Exit::Interrupted,
        it if it.faults.records > 0 => Exit::Budget,
        _ => Exit::Fine,
    })
}

fn text(found: &Scan) -> String {
    let Scan { pipeline, records, faults, step, seconds, .. } = found;
    let mut lines = Vec::new();
    if found.interrupted {
        lines.push("interrupted: results up to that point".to_owned());
    }
    lines.push(format!(
        "{pipeline}: {} up to {step} in {}, {} failed",
        things(*records + faults.records, "record", "records"),
        time(*seconds),
        count(faults.records)
    ));
    lines.extend(faults_text(faults));
    lines.extend(found.unseen.iter().map(|it| row("unseen", it)));
    lines.extend(found.files.iter().flat_map(files_text));
    lines.extend(found.labels.iter().flat_map(|it| labels_text(it, found.shuffle)));
    lines.join("\n") + "\n"
}

fn row(what: &str, text: &str) -> String {
    format!("  {what:<12} {text}")
}

fn faults_text(faults: &Faults) -> Vec<String> {
    let mut lines = Vec::new();
    for (code, kind) in &faults.kinds {
        lines
            .push(row("failed", &format!("{}: {code}", things(kind.records, "record", "records"))));
        for it in &kind.first {
            lines.push(row("", &format!("{}: {}: {}", it.detail, it.source, it.reason)));
        }
        if kind.records > kind.first.len() as u64 {
            lines.push(row("", "…"));
        }
    }
    lines
}

fn files_text(files: &Files) -> Vec<String> {
    let formats = files.formats.iter().map(|(name, n)| format!("{} {name}", count(*n)));
    let formats = formats.collect::<Vec<_>>().join(", ");
    let all = format!(
        "{}, {}: {formats}",
        things(files.records, "file", "files"),
        bytes(files.bytes as f64)
    );
    let mut lines = vec![row("files", &all)];
    let spread = |it: &Spread, shown: &dyn Fn(u64) -> String| {
        let Spread { min, median, p99, max } = *it;
        let [min, median, p99, max] = [min, median, p99, max].map(shown);
        format!("{min} to {max}, half below {median}, 99% below {p99}")
    };
    lines.extend(files.sizes.iter().map(|it| row("size", &spread(it, &|n| bytes(n as f64)))));
    let pixels = [("height", &files.heights), ("width", &files.widths)];
    for (what, it) in pixels {
        lines.extend(it.iter().map(|it| row(what, &spread(it, &|n| count(n)))));
    }
    if files.empty.records > 0 {
        let n = things(files.empty.records, "file", "files");
        lines.push(row(
            "empty",
            &format!("{n}: {}", names(&files.empty.first, files.empty.records)),
        ));
    }
    let twice = &files.duplicates;
    if twice.groups > 0 {
        let groups = things(twice.groups, "content", "contents");
        let spare = things(twice.records, "file", "files");
        lines.push(row("duplicates", &format!("{groups} more than once, {spare} redundant")));
        lines.extend(twice.first.iter().map(|it| row("", &names(&it.first, it.records))));
    }
    if twice.compared + files.empty.records < files.records {
        lines.push(row(
            "",
            &format!("only the first {} were compared: memory is full", count(twice.compared)),
        ));
    }
    lines
}

fn names(first: &[String], all: u64) -> String {
    let more = if all > first.len() as u64 { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}

fn labels_text(labels: &Labels, shuffle: Shuffle) -> Vec<String> {
    let Labels { field, classes, rarest, commonest, run, run_shuffled, .. } = labels;
    if *classes == 1 {
        return vec![row("labels", &format!("`{field}` is {} in every record", rarest.0))];
    }
    let values = things(*classes, "value", "values");
    let share = if rarest.1 == commonest.1 {
        format!("each in {}", things(rarest.1, "record", "records"))
    } else {
        let (least, most) = (count(rarest.1), count(commonest.1));
        format!(
            "{} is the rarest, in {least}, {} the most common, in {most}",
            rarest.0, commonest.0
        )
    };
    let mut lines = vec![row("labels", &format!("`{field}` has {values}, {share}"))];
    if !labels.sorted {
        return lines;
    }
    let found = format!("runs of {run:.1} equal labels on average, {run_shuffled:.1} by chance");
    lines.push(row("", &format!("the source is sorted by it: {found}")));
    let advice = match shuffle {
        Shuffle::All => "the pipeline shuffles all records, which fixes that".to_owned(),
        Shuffle::Window(n) if n as f64 >= 10.0 * run => return lines,
        Shuffle::Window(n) => format!(
            "`shuffle(window: {n})` leaves them nearly sorted: use `shuffle` without a window, or a larger one"
        ),
        Shuffle::None => "for training, add `|> shuffle` after the source".to_owned(),
    };
    lines.push(row("", &advice));
    lines
}
