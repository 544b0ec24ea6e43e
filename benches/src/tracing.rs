//! E3: what it costs to measure, and how exact that is; on the cores that are here.

use crate::{
    Row,
    trial::{self, Way, median, watch},
};
use runtime::os;
use std::time::Duration;

/// Pairs of runs, one measured and one not, by turns.
const PAIRS: usize = 7;
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
    let program = trial::compiled(&text).program;
    let cpu = |measured| {
        let way = Way { measured, ..Way::workers(WORKERS) };
        watch(&program, &way, (2, SECONDS)).cpu
    };
    let ratios = (0..PAIRS).map(|_| cpu(true) / cpu(false) - 1.0).collect();
    let cost: f64 = median(ratios);
    let (told, wall) = exactness(&program);
    let id = format!("E3 {:.0} µs a record", seconds * 1e6);
    let claim = format!("measuring costs at most {:.0} % of processor time", allowed * 100.0);
    let sums = "the stages' processor time is that of the process, within 10 %";
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

/// Processor time of the stages, and their wall time, beside the process's processor time.
fn exactness(program: &plan::Program) -> (f64, f64) {
    let before = os::process_cpu().unwrap_or_default();
    let seen = watch(program, &Way::workers(WORKERS), (2, 2.0 * SECONDS));
    let all = (os::process_cpu().unwrap_or_default() - before).as_secs_f64();
    let sum = |of: fn(&runtime::StageStats) -> Duration| {
        seen.stats.stages.iter().map(|it| of(it).as_secs_f64()).sum::<f64>()
    };
    (sum(|it| it.cpu) / all, sum(|it| it.busy) / all)
}
