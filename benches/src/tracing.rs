//! E3: what it costs to measure, and how exact that is; on the cores that are here.

use crate::{
    Row,
    trial::{self, Way, median, watch},
};
use driver::Compiled;
use plan::StageMeasured;
use runtime::os;
use std::time::Instant;

/// Pairs of runs, one measured and one not, by turns.
const PAIRS: usize = 15;
/// Profiles that are held against the process's own processor time.
const PROFILES: usize = 5;
/// Seconds of each.
const SECONDS: f64 = 0.8;
/// Threads, on fewer cores.
const WORKERS: usize = 8;

/// Seconds of work for each record, and what measuring may cost.
const PIPELINES: [(f64, f64); 4] = [(1e-3, 0.01), (1e-4, 0.01), (1e-5, 0.05), (1e-6, 0.05)];

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    PIPELINES.iter().flat_map(|it| pipeline(*it)).collect()
}

fn pipeline((seconds, allowed): (f64, f64)) -> Vec<Row> {
    let text = format!(
        "pipeline p = range(100000000) |> map {{ i: busy(i, time: {seconds}) }} |> batch(16)"
    );
    let compiled = trial::compiled(&text);
    let program = &compiled.program;
    let cpu = |measured| {
        let way = Way { measured, ..Way::workers(WORKERS) };
        watch(program, &way, (2, SECONDS)).cpu
    };
    let ratios = (0..PAIRS).map(|_| cpu(true) / cpu(false) - 1.0).collect();
    let cost: f64 = median(ratios);
    // Whatever else the machine does meanwhile takes from one part of a profile and not from another.
    let all: Vec<(f64, f64)> = (0..PROFILES).map(|_| exactness(&compiled)).collect();
    let (told, wall) = (of_all(&all, |it| it.0), of_all(&all, |it| it.1));
    let id = format!("E3 {:.0} µs a record", seconds * 1e6);
    let claim = format!("measuring costs at most {:.0} % of processor time", allowed * 100.0);
    let sums = "the processor time in a profile is that of the process, within 10 %";
    vec![
        Row::new(&id, &claim, format!("{:+.2} %", cost * 100.0), cost <= allowed),
        Row::new(
            &id,
            sums,
            format!("{:+.1} %; their wall time is {wall:.1} times as long", (told - 1.0) * 100.0),
            (told - 1.0).abs() <= 0.10,
        ),
    ]
}

fn of_all(all: &[(f64, f64)], part: fn(&(f64, f64)) -> f64) -> f64 {
    median(all.iter().map(part).collect())
}

/// Processor time of the steps in a profile, and their wall time, for each second of the process's
/// processor time; of each in a second, since a profile leaves out how a run warms up.
fn exactness(compiled: &Compiled) -> (f64, f64) {
    let (begun, before) = (Instant::now(), os::process_cpu().unwrap_or_default());
    let profile = trial::profile(compiled, WORKERS, 2.0 * SECONDS);
    let all = (os::process_cpu().unwrap_or_default() - before).as_secs_f64();
    let all = all / begun.elapsed().as_secs_f64();
    let sum = |of: fn(&StageMeasured) -> f64| {
        let ns = profile.measured.stages.iter().map(of).sum::<f64>();
        ns * 1e-9 / profile.seconds
    };
    (sum(|it| it.cpu_ns) / all, sum(|it| it.wall_ns) / all)
}
