//! `pipec calibrate`: what this machine can do, as a table, and as the host file.

use super::{failed, may_replace, print_json};
use crate::{
    Exit,
    args::CalibrateArgs,
    figures::{bytes, percent, time},
    signals,
    talk::{Style, Talk, print},
};
use driver::{
    Host, Ours,
    calibrate::{Options, SIZE_MIN, TIME, TIME_QUICK, calibrate},
    host::{
        Bandwidths, Cache, Cold, Cpu, Figure, Measured, Medium, Memory, Pattern, Storage, Store,
        Sweep, default_file,
    },
};
use runtime::Failure;
use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Measures, prints and keeps what was found.
pub(super) fn run(args: &CalibrateArgs, talk: &Talk) -> io::Result<Exit> {
    if args.size < SIZE_MIN {
        let help = format!("it must be at least {}MiB", SIZE_MIN >> 20);
        talk.error("`--size` is too small to measure", Some(&help));
        return Ok(Exit::Usage);
    }
    let free = args.out.as_deref().map_or(Ok(()), |it| may_replace(it, Ours::Host, talk));
    if let Err(exit) = free {
        return Ok(exit);
    }
    // Where it goes is asked first: nobody waits for figures that nothing can be done with.
    let measured = out_file(args).and_then(|out| Ok((measured(args, talk)?, out)));
    let (host, out) = match measured {
        Ok(it) => it,
        Err(failure) => return Ok(failed(talk, &failure)),
    };
    if args.json {
        print_json(&host)?;
    } else {
        print(&text(&host))?;
    }
    if let Some(it) = host.measured.as_ref().and_then(|it| it.others).filter(|it| *it > BUSY) {
        let warning = talk.styled(Style::Warning, "warning:");
        talk.say(&format!(
            "{warning} other programs used {it:.1} cores meanwhile: figures may be too low; \
             measure again while nothing else runs"
        ));
    }
    if let Err(failure) = host.save(&out) {
        return Ok(failed(talk, &failure));
    }
    talk.say(&format!("written to `{}`", out.display()));
    Ok(Exit::Fine)
}

/// Cores of others from which on figures are doubtful; the system itself takes less.
const BUSY: f64 = 0.2;

fn out_file(args: &CalibrateArgs) -> Result<PathBuf, Failure> {
    args.out.clone().map_or_else(default_file, Ok)
}

fn measured(args: &CalibrateArgs, talk: &Talk) -> Result<Host, Failure> {
    let usual = if args.quick { TIME_QUICK } else { TIME };
    let mut paths = [&args.paths[..], &args.named].concat();
    if paths.is_empty() {
        paths.push(PathBuf::from("."));
    }
    let options =
        Options { paths, size: args.size, time: args.time.unwrap_or(usual), quick: args.quick };
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_signals(&stop);
    let host = calibrate(&options, &stop, &mut |it| {
        talk.passing(&format!("{}  {}", percent(it.share), it.what));
    });
    talk.passed();
    host
}

/// The first signal ends the measurement, so that its file is removed; the second one the process.
fn stop_on_signals(stop: &Arc<AtomicBool>) {
    let stop = stop.clone();
    signals::handle(move || {
        if stop.swap(true, Ordering::Relaxed) {
            signals::end();
        }
    });
}

fn text(host: &Host) -> String {
    let mut lines = cpu_text(&host.cpu);
    lines.extend(memory_text(&host.memory));
    host.storage.iter().for_each(|it| lines.extend(storage_text(it)));
    host.store.iter().for_each(|it| lines.extend(store_text(it)));
    lines.extend(host.measured.iter().map(measured_text));
    if lines.iter().any(|it| it.contains('~')) {
        lines.push(String::new());
        lines.push(
            "~  unreliable: too few runs, runs that differ too much, or for the reason given"
                .to_owned(),
        );
    }
    lines.join("\n") + "\n"
}

fn row(what: &str, text: &str) -> String {
    format!("{what:<9} {text}").trim_end().to_owned()
}

fn cpu_text(it: &Cpu) -> Vec<String> {
    let model = it.model.as_deref().unwrap_or("unknown");
    let of = format!(
        "{} cores for this process, of {} ({} physical)",
        it.available, it.logical, it.physical
    );
    let why = match it.quota {
        Some(quota) if quota < f64::from(it.allowed) => {
            format!("; its cgroup quota is {quota}")
        }
        _ => String::new(),
    };
    vec![row("cpu", model), row("", &(of + &why))]
}

fn memory_text(it: &Memory) -> Vec<String> {
    let limit =
        it.limit.map_or(String::new(), |it| format!(", {} for this process", bytes(it as f64)));
    let mut lines = vec![row("memory", &(bytes(it.total as f64) + &limit))];
    let measured = [&it.one_thread, &it.all_threads].into_iter().flatten();
    lines.extend(measured.clone().map(|it| row("", &bandwidths_text(it))));
    lines.extend(measured.filter_map(|it| it.doubt.as_ref()).map(|it| row("", &format!("~ {it}"))));
    lines
}

fn bandwidths_text(it: &Bandwidths) -> String {
    let threads = format!("{} {}", it.threads, if it.threads == 1 { "thread" } else { "threads" });
    let [read, write, copy] = [it.read, it.write, it.copy].map(|it| speed(&it));
    format!("{threads:<10} read {read}/s, write {write}/s, copy {copy}/s")
}

fn storage_text(it: &Storage) -> Vec<String> {
    let system = it.file_system.as_deref().unwrap_or("an unknown file system");
    let device = it.device.as_ref().map_or(String::new(), |it| format!(" on {it}"));
    let medium = match it.medium {
        Medium::Rotating => ", a rotating disk",
        Medium::Solid => ", flash",
        Medium::Virtual => ", a virtual disk",
        Medium::Network => ", over the network",
        Medium::Memory => ", in memory",
        Medium::Unknown => "",
    };
    let free = it.free.map_or(String::new(), |it| format!(", {} free", bytes(it as f64)));
    let written = format!(
        "write {}/s, synced to disk; a file of {}",
        speed(&it.write),
        bytes(it.file as f64)
    );
    let mut lines = vec![
        String::new(),
        row("storage", &it.path.display().to_string()),
        row("", &format!("{system}{device}{medium}{free}")),
        row("", &written),
        row("", cold_text(it.cold)),
    ];
    if it.medium == Medium::Virtual {
        lines.push(row("", "the host of the virtual disk may have cached the file in memory"));
    }
    lines.extend(it.doubt.iter().map(|it| row("", &format!("~ {it}"))));
    for pair in [Cache::Cold, Cache::Warm] {
        let sweeps: Vec<_> = it.read.iter().filter(|it| it.cache == pair).collect();
        lines.extend(sweeps.first().map(|it| heading(it)));
        lines.extend(sweeps.iter().map(|it| sweep_text(it)));
    }
    lines
}

fn store_text(it: &Store) -> Vec<String> {
    let rate = |it: &Figure| {
        let doubtful = if it.trusted { "" } else { "~" };
        format!("{doubtful}{:.0}", it.median)
    };
    let (latency, read) = (brief(it.latency.median), bytes(it.read as f64));
    let doubtful = if it.latency.trusted { "" } else { "~" };
    vec![
        String::new(),
        row("store", &it.url),
        row("", &format!("first byte after {doubtful}{latency}; {read} read")),
        row("", &format!("one request at a time {}/s", speed(&it.one))),
        row(
            "",
            &format!(
                "{} at a time {}/s, {} small requests/s",
                it.at_once,
                speed(&it.many),
                rate(&it.requests)
            ),
        ),
    ]
}

fn cold_text(cold: Cold) -> &'static str {
    match cold {
        Cold::Direct => "cold reads bypass the page cache (O_DIRECT)",
        Cold::Dropped => "cold reads after dropping the page cache, verified to be empty",
        Cold::Unassured => "~ cold reads may have come from the page cache",
    }
}

/// Columns of the table: what is read, then one for each number of threads.
const WHAT: usize = 24;
const COLUMN: usize = 10;

fn heading(it: &Sweep) -> String {
    let cache = match it.cache {
        Cache::Cold => "cold, per second",
        Cache::Warm => "warm, per second",
    };
    let threads = it.points.iter().map(|it| format!("{:>COLUMN$}", format!("{} thr", it.threads)));
    format!(
        "  {cache:<WHAT$}{}{:>COLUMN$}{:>COLUMN$}",
        threads.collect::<String>(),
        "enough",
        "latency"
    )
}

fn sweep_text(it: &Sweep) -> String {
    let pattern = match it.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Random => "random",
        Pattern::Files => "files",
    };
    let request = match it.request {
        it if it >= 1 << 20 => format!("{} MiB", it >> 20),
        it => format!("{} KiB", it >> 10),
    };
    let cells = it.points.iter().map(|it| format!("{:>COLUMN$}", speed(&it.bandwidth)));
    let latency = it.points.first().map_or(String::new(), |it| brief(it.latency.median));
    let what = format!("{pattern:<11} {request:>8}");
    format!("    {what:<22}{}{:>COLUMN$}{latency:>COLUMN$}", cells.collect::<String>(), it.enough)
}

/// A bandwidth; `~` before one that is not to be trusted.
fn speed(it: &Figure) -> String {
    let doubtful = if it.trusted { "" } else { "~" };
    format!("{doubtful}{}", bytes(it.median))
}

/// A latency, also one of less than a microsecond.
fn brief(seconds: f64) -> String {
    if seconds < 1e-5 { format!("{:.1} µs", seconds * 1e6) } else { time(seconds) }
}

fn measured_text(it: &Measured) -> String {
    let load = it.load.map_or(String::new(), |it| format!("; load {it} before"));
    let others = it
        .others
        .map_or(String::new(), |it| format!(", other programs used {it:.1} cores meanwhile"));
    let quick = if it.quick { " (quick)" } else { "" };
    format!("\nmeasured  {} in {}{quick}{load}{others}", it.at, time(it.seconds))
}
