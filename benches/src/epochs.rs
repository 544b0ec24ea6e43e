//! E10, E15, E18: images on the cores that are here, in the first epoch and in later ones.

use crate::{
    Row,
    trial::{self, Way, median},
};
use driver::{Circumstances, Compiled, Profile};
use plan::mix;
use runtime::CachePoint;

/// Rounds, in which each way is measured once.
const ROUNDS: usize = 5;
/// Seconds of each.
const SECONDS: f64 = 3.0;
/// Memory for what is kept.
const ROOM: u64 = 1 << 30;

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let Some(compiled) = trial::images() else {
        return vec![Row::skipped("E10, E15, E18", "images", "the folder of images")];
    };
    let cores = driver::cores();
    // Its files are in the page cache, as they are in the runs that it is compared with.
    trial::rate(&compiled.program, &Way::workers(cores), (9, SECONDS));
    let profile = trial::profile(&compiled, cores, 6.0);
    let kept = || trial::chosen(&compiled, &profile, ROOM);
    let [naive, heuristic, ours, later] = measured(&compiled, cores, &kept);
    let mut rows = sane(&compiled, &profile, [naive, heuristic, ours, later]);
    rows.push(steady(&compiled, &profile, later));
    rows.push(same(&compiled, &kept));
    rows
}

/// Batches a second: one thread, as many as cores, as chosen without and with what is kept.
fn measured(compiled: &Compiled, cores: usize, kept: &dyn Fn() -> Vec<CachePoint>) -> [f64; 4] {
    let mut rates: [Vec<f64>; 4] = Default::default();
    let program = &compiled.program;
    for _ in 0..ROUNDS {
        for (at, workers) in [1, cores, cores].into_iter().enumerate() {
            rates[at].push(trial::rate(program, &Way::workers(workers), (2, SECONDS)));
        }
        // Three epochs go by before the clock starts: then all that fits is there.
        let way = Way { kept: kept(), ..Way::workers(cores) };
        rates[3].push(trial::rate(program, &way, (9, SECONDS)));
    }
    rates.map(median)
}

fn sane(compiled: &Compiled, profile: &Profile, rates: [f64; 4]) -> Vec<Row> {
    let [naive, heuristic, ours, later] = rates;
    let circumstances =
        Circumstances { profile: Some(profile.clone()), ..Circumstances::default() };
    let explained = trial::explained(compiled, &circumstances);
    let bound = trial::outlook(&explained).solution.rate;
    let call = &explained.estimate.steps[explained.estimate.bottleneck];
    let dearest = call.calls.iter().max_by(|a, b| a.share.total_cmp(&b.share));
    let dearest = dearest.map_or_else(String::new, |it| it.name.clone());
    let best = naive.max(heuristic);
    vec![
        Row::new(
            "E18 bottleneck",
            "decoding",
            format!("`{}`, and in it `{dearest}`", call.step),
            dearest == "decode_jpeg",
        ),
        Row::new(
            "E18 bound",
            "the bound is not passed, and 1.3 times what is reached at the most",
            format!("{bound:.2} and {ours:.2} batches/s, {:.2} times", bound / ours),
            bound >= 0.97 * ours && bound <= 1.3 * ours,
        ),
        Row::new(
            "E18 ours",
            "at least 0.97 of the best baseline, and more with what is kept",
            format!(
                "{:.2} times ({naive:.2}, {heuristic:.2}, {ours:.2}); {:.1} times",
                ours / best,
                later / best
            ),
            ours >= 0.97 * best && later > best,
        ),
    ]
}

/// What is predicted of later epochs from a profile of the first.
fn steady(compiled: &Compiled, profile: &Profile, later: f64) -> Row {
    let circumstances = Circumstances {
        epochs: 100,
        memory: Some(4 * ROOM),
        profile: Some(profile.clone()),
        ..Circumstances::default()
    };
    let explained = trial::explained(compiled, &circumstances);
    let told = trial::outlook(&explained).warm.as_ref().map_or(f64::NAN, |it| it.rate);
    let claim = "later epochs, predicted from the first: within 10 %";
    let figure =
        format!("{told:.1} and {later:.1} batches/s, {:+.1} %", (told / later - 1.0) * 100.0);
    Row::new("E10 later epochs", claim, figure, (told / later - 1.0).abs() <= 0.10)
}

/// Two epochs with what is kept, on all cores, beside one thread without.
fn same(compiled: &Compiled, kept: &dyn Fn() -> Vec<CachePoint>) -> Row {
    let outputs = |way: &Way| {
        let run = trial::start(&compiled.program, way, 0..2);
        run.map(|it| hash(&it.expect("nothing fails"))).collect::<Vec<u64>>()
    };
    let plain = outputs(&Way::workers(1));
    let ours = outputs(&Way { kept: kept(), ..Way::workers(driver::cores()) });
    let claim = "two epochs with what is kept are byte for byte those of one thread without";
    let differ = plain.iter().zip(&ours).filter(|it| it.0 != it.1).count();
    let figure = format!("{differ} of {} batches differ", plain.len());
    Row::new(
        "E15 same",
        claim,
        figure,
        differ == 0 && plain.len() == ours.len() && !plain.is_empty(),
    )
}

/// A hash of all that is in a chunk.
pub(crate) fn hash(chunk: &runtime::Chunk) -> u64 {
    let mut hash = chunk.rows as u64;
    for column in &chunk.columns {
        for row in 0..column.rows() {
            let tensor = column.row(row);
            let bytes = tensor.as_bytes().expect("a batch lies in one piece");
            for eight in bytes.chunks(8) {
                let mut word = [0; 8];
                word[..eight.len()].copy_from_slice(eight);
                hash = mix(hash, u64::from_le_bytes(word));
            }
        }
    }
    hash
}
