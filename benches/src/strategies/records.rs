//! S7, S8: what a kept record takes, whatever its size: the same bytes as records of 10 kB to 20 MB.

use super::site::{Pin, Site, Tier, compiled};
use crate::{
    Row,
    trial::{Virtual, median},
};
use runtime::CachePoint;

/// Bytes of all records.
const BYTES: usize = 1_500_000_000;
/// Bytes of one: those of PRESTO, from its smallest to its largest.
const SIZES: [usize; 5] = [10_000, 80_000, 640_000, 5_000_000, 20_000_000];
/// Rounds of all sizes.
const ROUNDS: usize = 3;
/// Epochs of a run.
const EPOCHS: u32 = 3;
/// What is kept, as a lock names it.
const VALUE: &str = "p.map#1.full";

/// Records of a size.
struct Records {
    site: Site,
    kept: Vec<CachePoint>,
    count: usize,
}

impl Records {
    /// As many as make up `BYTES`, kept and filled.
    fn new((bytes, element): (usize, &str), count: usize, tier: Tier) -> Self {
        let text = format!(
            "pipeline p = range({count}) |> map {{ x: full([{bytes}], {element}(i % 251)) }}"
        );
        let site = Site::of(compiled(&text, &[]), count as u64);
        let kept = site.pinned(&[Pin::all(VALUE, tier)]);
        site.fill(&kept);
        Self { site, kept, count }
    }

    /// Seconds of an epoch, as so many threads take for it.
    fn seconds(&self, workers: usize) -> f64 {
        let pace = self.site.epochs((&self.kept, workers), EPOCHS);
        self.count as f64 / pace.alone()
    }
}

/// S7: records of each size, in memory and on disk.
pub(crate) fn sizes() -> Vec<Row> {
    let mut rows = Vec::new();
    for tier in [Tier::Memory, Tier::Disk] {
        let mut seconds: Vec<f64> = Vec::new();
        let mut speed_up = 0.0;
        for bytes in SIZES {
            let records = Records::new((bytes, "u8"), BYTES / bytes, tier);
            let cores = driver::cores();
            let mut turns: [Vec<f64>; 2] = Default::default();
            for _ in 0..ROUNDS {
                turns[0].push(records.seconds(cores));
                if bytes == SIZES[0] {
                    turns[1].push(records.seconds(1));
                }
            }
            let [all, one] = turns;
            seconds.push(median(all));
            if bytes == SIZES[0] {
                speed_up = median(one) / seconds[0];
            }
        }
        rows.extend(rows_of(tier, &seconds, speed_up));
    }
    rows
}

fn rows_of(tier: Tier, seconds: &[f64], speed_up: f64) -> Vec<Row> {
    let [n_most, n_least] = [SIZES[0], SIZES[SIZES.len() - 1]].map(|it| (BYTES / it) as f64);
    let (first, last) = (seconds[0], seconds[seconds.len() - 1]);
    // Of so many threads each takes its own records.
    let each = (first - last) / (n_most - n_least) * driver::cores() as f64 * 1e6;
    let of = |it: &(usize, &f64)| format!("{:.0} kB {:.3} s", SIZES[it.0] as f64 / 1e3, it.1);
    let each_size: Vec<String> = seconds.iter().enumerate().map(|it| of(&it)).collect();
    let each_size = each_size.join(", ");
    let (place, most, presto) = match tier {
        Tier::Memory => ("in memory", 2.0, 91),
        Tier::Disk => ("on disk, in the page cache", 5.0, 99),
    };
    let claim = |what: &str| format!("1.5 GB as records of 10 kB to 20 MB, {place}: {what}");
    let mut rows = Vec::new();
    if tier == Tier::Memory {
        rows.push(Row::new(
            "S7",
            &claim("10 kB take at most 1.5 times as long as 20 MB (PRESTO 1 383)"),
            format!("{:.2} times ({each_size})", first / last),
            first <= 1.5 * last,
        ));
    }
    let what = format!("{most} µs for a record besides its bytes (PRESTO {presto})");
    rows.push(Row::new("S7", &claim(&what), format!("{each:.2} µs ({each_size})"), each <= most));
    let what =
        format!("{} threads 1.7 times as fast as one at 10 kB (PRESTO 8: 1.1)", driver::cores());
    rows.push(Row::new("S7", &claim(&what), format!("{speed_up:.2} times"), speed_up >= 1.7));
    rows
}

/// Doubles of a record of PRESTO's NILM, with what is aggregated: 11.6 kB.
const AGGREGATED: usize = 1_450;

/// S8: small records from a disk that could give 78 000 of them a second.
pub(crate) fn small() -> Vec<Row> {
    let records = Records::new((AGGREGATED, "f64"), 40_000, Tier::Disk);
    let (mut bound, mut free) = (Vec::new(), Vec::new());
    // What comes at once is over after a fifth of a second.
    let span = (20_000, 1.5);
    let pace = || records.site.pace(&records.kept, driver::cores(), span);
    for _ in 0..ROUNDS {
        {
            let _disk = Virtual::disk(910_000_000);
            bound.push(pace().rate);
        }
        free.push(pace().alone());
    }
    let (bound, free) = (median(bound), median(free));
    let claim = "records of 11.6 kB from a disk of 910 MB/s: 70 000 a second (PRESTO 9 053, the disk 77 748)";
    let figure = format!("{bound:.0}/s; {free:.0}/s from the page cache");
    vec![Row::new("S8", claim, figure, bound >= 70_000.0)]
}
