//! S1, S2, S12, S16: what is arithmetic alone. The same in each run but for the time of planning.

#[path = "../../../model/tests/suite/strategies/chains.rs"]
mod chains;

use super::{
    paper::{Paper, REVERSALS, SWITCHES, TIES, TIMES, UNBEATEN},
    pictures::{Form, Pictures},
    site::{Folder, Target},
};
use crate::{
    Row,
    trial::{MEMORY, Virtual},
};
use chains::{Rule, beside_grid, beside_rules};
use driver::{
    Compiled, DiskOptions, Stop,
    lock::Chosen,
    tune::{
        Wanted,
        strategies::{self, Asked},
    },
};
use model::strategy::{Objective, Plan, Way, best};
use std::time::Instant;

/// S1: PRESTO's own figures and PRESTO's own rules.
pub(crate) fn golden() -> Vec<Row> {
    let claim = |what: &str| format!("PRESTO's figures by PRESTO's rules: {what}");
    let Some(paper) = Paper::read() else {
        return vec![Row::skipped("S1", &claim("all"), "the file of figures")];
    };
    let row = |what: &str, figure, holds| Row::new("S1", &claim(what), figure, holds);
    let rankings = paper.rankings();
    let (others, winners) = paper.other_winners();
    let (switches, unbeaten, reversals) = (paper.switches(), paper.unbeaten(), paper.reversals());
    let ([before, after], is_told) = paper.with_one_more();
    vec![
        row(
            "28 rankings to three decimals, 3 ties",
            format!(
                "{} of {} differ; ties {}",
                rankings.differ.len(),
                rankings.all,
                rankings.ties.join(", ")
            ),
            rankings.all == 28 && rankings.differ.is_empty() && rankings.ties == TIES,
        ),
        row(
            "the winner after 1, 2, 5, 10 and 90 epochs, and 9 switches to 0.01 epochs",
            format!("{} of {winners} differ; {}", others.len(), switches.join(", ")),
            others.is_empty() && winners == 35 && switches == SWITCHES,
        ),
        row("the 7 sets of strategies that none beats", unbeaten.join("; "), unbeaten == UNBEATEN),
        row(
            "4 winners that one strategy decides which nobody would choose; another one added makes 2.000 into 2.172",
            format!("{}; {before:.3} and {after:.3}, told: {is_told}", reversals.join(", ")),
            reversals == REVERSALS
                && is_told
                && (before - 2.0).abs() < 5e-4
                && (after - 2.172).abs() < 5e-4,
        ),
    ]
}

/// S2: the same figures by the law.
pub(crate) fn law() -> Vec<Row> {
    let claim = "the rates of PRESTO's 29 strategies by the law: within 8 %, the same is the fastest, by as much (to 1 %)";
    let Some(paper) = Paper::read() else {
        return vec![Row::skipped("S2", claim, "the file of figures")];
    };
    let rates = paper.rates();
    let off = rates.iter().map(|it| it.off()).fold(0.0, f64::max);
    let others = rates.iter().filter(|it| it.fastest().1).count();
    let n: usize = rates.iter().map(|it| it.told.len()).sum();
    let mut holds = n == 29 && off <= 0.08 && others == 0;
    let mut figures = Vec::new();
    for (name, first, last) in TIMES {
        let found = rates.iter().find(|it| it.name == name).map_or([0.0; 2], |it| it.times());
        holds &= (found[0] / first - 1.0).abs() < 0.01 && (found[1] / last - 1.0).abs() < 0.01;
        figures.push(format!("{name} {:.1} and {:.2}", found[0], found[1]));
    }
    let figure = format!(
        "{n} within {:.1} %, {others} others are the fastest; times the first and the last: {}",
        off * 100.0,
        figures.join(", ")
    );
    vec![Row::new("S2", claim, figure, holds)]
}

/// What was published of a rule: its time over the optimum, in the median, of nine in ten, at the most.
const PUBLISHED: [(&str, f64, f64, f64); 4] = [
    ("greedy", 1.03, 2.9, 39.0),
    ("one tier after the other", 1.01, 2.3, 103.0),
    ("one split", 1.36, 4.3, 63.0),
    ("last in memory", 1.10, 4.3, 72.0),
];
/// For fewer ways the program may give up so much of the optimum.
const GIVEN_UP: f64 = 0.02;

/// S12: random chains, by the linear program and by the rules of others.
pub(crate) fn random_chains() -> Vec<Row> {
    let grid = beside_grid(200);
    let found = beside_rules(2_000);
    let told = |it: &Rule| {
        let published = PUBLISHED.iter().find(|row| row.0 == it.name);
        let published = published.map_or_else(String::new, |(_, median, p90, most)| {
            format!(" (the page: {median}, {p90}, {most})")
        });
        it.told(&published)
    };
    let rules: Vec<String> = found.rules.iter().map(told).collect();
    let is_beaten = |it: &Rule| it.worse() >= 0.25;
    vec![
        Row::new(
            "S12",
            "200 small chains: no point of a grid is better than the program, but for the 2 % that it gives up for fewer ways",
            format!("{:.1} % better at the most", grid * 100.0),
            grid <= GIVEN_UP,
        ),
        Row::new(
            "S12",
            "2 000 random chains: no rule is better (but for those 2 %), each is worse by 5 % in a quarter of them; never slower than nothing",
            format!(
                "a rule is {:.1} % better at the most, {} ways are mixed at the most, ours is slower than nothing in {:.1} %; time over ours, median, 90 %, most: {}",
                found.beaten * 100.0,
                found.mixed,
                found.slower * 100.0,
                rules.join("; ")
            ),
            found.beaten <= GIVEN_UP && found.rules.iter().all(is_beaten) && found.slower == 0.0,
        ),
    ]
}

/// S16: how long planning takes.
pub(crate) fn planning() -> Vec<Row> {
    let claim = "8 values, 6 codecs, 4 tiers: planned in 0.3 s";
    let plan = large();
    let mut seconds: Vec<f64> = (0..5)
        .map(|_| {
            let begin = Instant::now();
            best(&plan, Objective::Time).expect("nothing can always be kept");
            begin.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let n: usize = plan.streams.iter().map(Vec::len).sum();
    let figure =
        format!("{n} ways, {:.1} ms ({:.1} at the most)", seconds[2] * 1e3, seconds[4] * 1e3);
    vec![Row::new("S16", claim, figure, seconds[2] <= 0.3), of_pictures(), tuned()]
}

/// Bytes per second of the disk for which pictures are tuned.
const SLOW: u64 = 50_000_000;

/// How long it takes to try the best ways to cache pictures.
fn tuned() -> Row {
    let claim = "`tune --strategies --top 3 --seconds 60s` on pictures and a disk of 50 MB/s: 90 s";
    let Some(pictures) = Pictures::unmeasured() else {
        return Row::skipped("S16", claim, "the folder of images");
    };
    let folder = Folder::new("tuned");
    let (begin, _disk) = (Instant::now(), Virtual::disk(SLOW));
    let found = tune(&pictures.site(Form::Fused).compiled, (60.0, 90), &folder, &[]);
    let seconds = begin.elapsed().as_secs_f64();
    let tried = found.strategies.rows.iter().filter_map(|it| {
        let values = it.kept.iter().map(|it| it.value.as_str());
        let predicted = it.rate * found.planned.compiled.optimised.estimate.batch_rows?;
        let values = values.collect::<Vec<_>>().join(" ");
        Some(format!("{values} {predicted:.0} predicted, {:.0} measured", it.measured?))
    });
    let tried: Vec<String> = tried.collect();
    let figure = format!("{seconds:.0} s ({})", tried.join("; "));
    Row::new("S16", claim, figure, seconds <= 90.0 && tried.len() == 4)
}

/// What `tune --strategies --top 3` finds in so many seconds for so many epochs, without some values.
pub(crate) fn tune(
    compiled: &Compiled,
    (seconds, epochs): (f64, u32),
    folder: &Folder,
    forbid: &[String],
) -> strategies::Found {
    let wanted = Wanted {
        seconds,
        cores: driver::cores(),
        epochs,
        memory: Some(MEMORY),
        whole_process: false,
        consumer: None,
        host: None,
        objective: Objective::default(),
    };
    let disk = DiskOptions { folder: folder.0.clone(), limit: 1 << 40, verify_inputs: false };
    let lock = Chosen { forbid: forbid.to_vec(), workers: wanted.cores, ..Chosen::default() };
    let asked = Asked { wanted, disk: Some(disk), top: 3, lock: Some(lock) };
    let found = strategies::strategies(compiled, &asked, &Stop::default(), &mut |_| {});
    found.expect("it can be run")
}

/// How long it takes for the pipeline of the pictures, with the bounds of each way; and for the table of `--strategies`.
fn of_pictures() -> Row {
    let claim = "what is kept of pictures: planned in 0.3 s";
    let Some(pictures) = Pictures::unmeasured() else {
        return Row::skipped("S16", claim, "the folder of images");
    };
    let (site, of) = (pictures.site(Form::Whole), Target::one_disk(1e9, 90.0));
    let begin = Instant::now();
    let n = site.chosen(&of).len();
    let chosen = begin.elapsed().as_secs_f64();
    let rows = site.strategies(&of);
    let all = begin.elapsed().as_secs_f64() - chosen;
    let figure = format!(
        "{n} values, {:.0} ms; {} strategies and {} turns in {all:.2} s",
        chosen * 1e3,
        rows.rows.len(),
        rows.turns.len()
    );
    Row::new("S16", claim, figure, chosen <= 0.3)
}

/// A chain of eight values, each in six codecs on four tiers.
fn large() -> Plan {
    let codecs = [
        (1.0, 0.0, 0.0),
        (0.8, 0.6, 0.15),
        (0.6, 1.2, 0.6),
        (0.55, 3.6, 0.65),
        (0.5, 13.0, 0.7),
        (0.4, 0.9, 0.3),
    ];
    // Seconds of a byte: memory, and three disks; room for a third of what is typical.
    let tiers = [(0.0, 4e9), (0.3e-9, 20e9), (1e-9, 80e9), (5e-9, 300e9)];
    let (cores, records, file) = (8.0, 1e5, 110e3);
    let values: Vec<(f64, f64)> =
        (0..8_i32).map(|it| (50e-6 * 1.4_f64.powi(it), 600e3 / 1.3_f64.powi(it))).collect();
    let cpu: f64 = values.iter().map(|it| it.0).sum();
    // The cores, the source, and three disks.
    let plain = vec![cpu / cores, file * 2e-9, 0.0, 0.0, 0.0];
    let way = |warm: Vec<f64>, fill: Vec<f64>, bytes| Way { warm, fill, again: Vec::new(), bytes };
    let mut ways = vec![way(plain.clone(), plain.clone(), vec![0.0; 4])];
    for (at, &(_, bytes)) in values.iter().enumerate() {
        let online: f64 = values[at + 1..].iter().map(|it| it.0).sum();
        for (left, encode, decode) in codecs {
            for (tier, (byte_s, _)) in tiers.into_iter().enumerate() {
                let (mut warm, mut fill) = (vec![0.0; 5], plain.clone());
                warm[0] = (online + 0.3e-6 + (0.05 + decode) * bytes * 1e-9) / cores;
                fill[0] += (encode + 0.4) * bytes * 1e-9 / cores;
                if tier > 0 {
                    warm[1 + tier] = byte_s * bytes * left;
                    fill[1 + tier] = 2.0 * byte_s * bytes * left;
                }
                let mut all = vec![0.0; 4];
                all[tier] = bytes * left * records;
                ways.push(way(warm, fill, all));
            }
        }
    }
    Plan {
        base: vec![0.0; 5],
        streams: vec![ways],
        rooms: tiers.iter().map(|it| it.1 / 3.0).collect(),
        outputs: records,
        epochs: 10.0,
        runs: 1.0,
    }
}
