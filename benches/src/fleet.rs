//! E9, E11, E13, E16, E17: waiting, short records, skewed costs, and what is said of them.

use crate::{
    Row,
    trial::{self, Virtual, Way},
};
use driver::Circumstances;
use model::verdict::Verdict;
use std::time::Duration;

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = text();
    rows.push(jitter());
    rows.push(hedging());
    rows.push(said());
    rows.extend(stalls());
    rows
}

/// A pipeline such as GNMT's: steps of a microsecond, one of them in order.
fn text() -> Vec<Row> {
    let compiled = trial::compiled(
        "pipeline p = range(100000000) |> map { x: i * 3 } |> shuffle(window: 4096) \
         |> map { y: x + 1 } |> batch(512)",
    );
    let cores = driver::cores();
    let circumstances = Circumstances {
        profile: Some(trial::profile(&compiled, cores, 4.0)),
        ..Circumstances::default()
    };
    let explained = trial::explained(&compiled, &circumstances);
    let bound = trial::outlook(&explained).solution.rate;
    let rate = |chunk_rows| {
        let way = Way { chunk_rows, ..Way::workers(cores) };
        trial::rate(&compiled.program, &way, (4, 2.0))
    };
    let (one, many) = (rate(Some(1)), rate(None));
    let step = &explained.estimate.steps[explained.estimate.bottleneck].step;
    vec![
        Row::new(
            "E11 sequential step",
            "the step that is done in order is named",
            format!("`{step}`"),
            step.contains("shuffle") || step.contains("batch"),
        ),
        Row::new(
            "E11 gap to the bound",
            "over 2 times with records one by one, under 2 times with chunks",
            format!("{:.1} and {:.2} times", bound / one, bound / many),
            bound / one >= 2.0 && bound / many < 2.0,
        ),
    ]
}

/// A consumer that is slower than the pipeline, and waits for nothing.
fn jitter() -> Row {
    let _virtual = Virtual::begin((16, 1.0), None);
    let text = "pipeline p = range(10000000) |> map { i: busy(i, time: if uniform(0.0, 1.0) < 0.1 then 0.1 else 0.01) }";
    let program = trial::compiled(text).program;
    // 16 cores at 19 ms in the mean make 842 in a second; the consumer takes 80% of them.
    let consumer = Duration::from_secs_f64(1.0 / 842.0 / 0.8);
    let way = Way { consumer, chunk_rows: Some(1), ..Way::workers(16) };
    let seen = trial::watch(&program, &way, (200, 4.0));
    let wanted = 0.8 * 842.0;
    let claim = "a consumer that takes 80 % of what uneven work gives gets them, within 5 %";
    let figure = format!("{:.0} of {wanted:.0}/s", seen.rate);
    Row::new("E9 uneven work", claim, figure, seen.rate >= 0.95 * wanted)
}

/// Two maps, 40:1, the cheap one skewed: as the bound says, and with threads that do what is there.
fn hedging() -> Row {
    let _virtual = Virtual::begin((24, 1.0), None);
    let compiled = trial::compiled(
        "pipeline p = range(10000000) |> map { i: busy(i, time: 0.04) } \
         |> map { i: busy(i, time: if uniform(0.0, 1.0) < 0.015625 then 0.0576 else 0.0001) }",
    );
    let program = trial::apart(&compiled);
    let rate = |caps| {
        let way = Way { caps, chunk_rows: Some(1), ..Way::workers(48) };
        trial::rate(&program, &way, (100, 3.0))
    };
    let allotted = rate(trial::caps(&program, &[24, 1]));
    let ours = trial::rate(
        &compiled.program,
        &Way { chunk_rows: Some(1), ..Way::workers(48) },
        (100, 3.0),
    );
    let claim = "threads that do what is there win 15 % over one thread for the cheap step";
    let figure = format!("{allotted:.0} and {ours:.0}/s, {:.2} times", ours / allotted);
    Row::new("E13 b hedging", claim, figure, ours >= 1.15 * allotted)
}

/// A program as it is: its graph, its page, its JSON.
fn said() -> Row {
    let compiled = trial::compiled(
        "pipeline p = range(1000) |> map { i: busy(i, time: 0.001) } \
         |> map { i: busy(i + uniform_int(0, 1), time: 0.003) } |> batch(8)",
    );
    let profile = trial::profile(&compiled, driver::cores(), 2.0);
    let circumstances =
        Circumstances { epochs: 50, profile: Some(profile), ..Circumstances::default() };
    let explained = trial::explained(&compiled, &circumstances);
    let dot = explained.dot();
    let page = explained.html(None);
    let json = serde_json::to_string(&explained)
        .ok()
        .and_then(|it| serde_json::from_str::<serde_json::Value>(&it).ok());
    let verdict = trial::outlook(&explained).solution.verdict;
    let found = [
        ("the bottleneck is red", dot.matches("color=red").count() == 1),
        ("JSON parses", json.is_some_and(|it| it["outlook"].is_object())),
        ("the page needs no network", !page.contains("src=\"http") && page.contains("<svg")),
        ("a verdict", verdict == Verdict::Hardware),
    ];
    let missing: Vec<&str> = found.iter().filter(|it| !it.1).map(|it| it.0).collect();
    let figure =
        if missing.is_empty() { "all".to_owned() } else { format!("not: {}", missing.join(", ")) };
    let claim = "red bottleneck, JSON, a page without network, a verdict";
    Row::new("E16 explain", claim, figure, missing.is_empty())
}

/// A consumer of 120 ms a batch, on 32 virtual cores, of one worker and of all.
fn stalls() -> Vec<Row> {
    let _virtual = Virtual::begin((32, 1.0), None);
    let program = trial::compiled(
        "pipeline p = range(10000000) |> map { i: busy(i, time: 0.0125) } |> batch(16)",
    )
    .program;
    let run = |workers: usize| {
        let way = Way { consumer: Duration::from_millis(120), ..Way::workers(workers) };
        let seen = trial::watch(&program, &way, (4, 4.0));
        let all: u64 = seen.stats.stalls.iter().sum();
        let stall = seen.stats.stalled.as_secs_f64() / all.max(1) as f64;
        let used = 16.0 * 0.0125 * seen.rate / 32.0;
        (seen.stats.stalls, stall, used, Verdict::seen(used, stall))
    };
    let (naive, tuned) = (run(1), run(32));
    let figure = |it: &([u64; 4], f64, f64, Verdict)| {
        format!("{:?}, {:.1} ms, {:.0} % of the cores: {:?}", it.0, it.1 * 1e3, it.2 * 100.0, it.3)
    };
    vec![
        Row::new(
            "E17 one worker",
            "200 ms a batch for a consumer of 120 ms: waits of 1 to 100 ms, a matter of software",
            figure(&naive),
            naive.3 == Verdict::Software && naive.0[2] > naive.0[0] + naive.0[1],
        ),
        Row::new(
            "E17 tuned",
            "waits up to 1 ms: loading is not the problem",
            figure(&tuned),
            tuned.3 == Verdict::Consumer && tuned.0[0] + tuned.0[1] > tuned.0[2] + tuned.0[3],
        ),
    ]
}
