//! S10, S13, S14: what is kept on which disk, and for how many epochs.

use super::{
    pictures::{FILE, Kind, Pictures, count, folder, text},
    site::{Folder, Pin, Site, Target, Tier, in_words},
};
use crate::{
    Row,
    trial::{self, Virtual, median},
};
use compiler::caches::Choice;
use model::strategy::Objective;
use runtime::storage::{self, Emulated, Emulation, Objects};
use std::{fs, path::Path, time::Duration};

/// A store as PRESTO's was for single files: 8 ms until one is open, and 40 MB/s by eight readers.
const OPEN: Duration = Duration::from_millis(8);
const READERS: usize = 8;
const FILES: f64 = 40e6;
/// The same for what lies end to end.
const SEGMENTS: f64 = 910e6;

/// S10: files of a slow store, and what is kept of them on a fast disk.
pub(crate) fn layout() -> Vec<Row> {
    let claim = "8 ms an open and 40 MB/s for files, 910 MB/s for segments: bytes are packed, 5 times as fast (PRESTO CV 9.0)";
    let Some(folder) = folder() else {
        return vec![Row::skipped("S10", claim, "the folder of images")];
    };
    let n = count(&folder);
    let bytes = bytes_in(&folder) / n as f64;
    // Of the time of a file, what is left once it is open.
    let each = bytes / (READERS as f64 * bytes / FILES - OPEN.as_secs_f64());
    let store = Emulation {
        objects: Objects::Folder(folder.join("..")),
        latency: OPEN,
        bytes_per_second: Some(each as u64),
        requests_max: READERS,
        ..Emulation::default()
    };
    storage::register("virtual", Box::new(Emulated::new(store)));
    let site = Site::new((&text("virtual://imagenet/*.JPEG", " |> batch(4)"), &[]), n, 4.0);
    let objective = Objective::default();
    let cores = driver::cores() as f64;
    let target =
        Target { cores, source: FILES, disk: Some(SEGMENTS), room: 0, epochs: 90.0, objective };
    let choices = site.chosen(&target);
    let told = [
        site.told(&target, &[Pin::all(FILE, Tier::Disk)]).rate,
        site.told_of(&target, choices.clone()).rate,
    ];
    let packed = choices.iter().filter(|it| it.kept && it.candidate.reads).map(|it| it.disk_share);
    let packed = packed.fold(0.0, f64::max);
    let (bytes, chosen) = (site.pinned(&[Pin::all(FILE, Tier::Disk)]), site.points(&choices));
    [&bytes, &chosen].into_iter().for_each(|it| site.fill(it));
    let _disk = Virtual::disk(SEGMENTS as u64);
    let pace = |kept: &[_]| site.pace(kept, driver::cores(), (4, 2.0));
    let (mut plain, mut by_bytes, mut as_chosen) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..3 {
        plain.push(pace(&[]).rate);
        by_bytes.push(pace(&bytes).alone());
        as_chosen.push(pace(&chosen).alone());
    }
    let [plain, by_bytes, as_chosen] = [plain, by_bytes, as_chosen].map(median);
    // Where something else is faster than packed bytes, that may be chosen.
    let is_best = packed > 0.5 || as_chosen >= by_bytes;
    let figure = format!(
        "{:.1} times ({by_bytes:.0} and {plain:.0}/s, predicted {:.0}); chosen: {}, {as_chosen:.0}/s, predicted {:.0}",
        by_bytes / plain,
        told[0],
        in_words(&choices),
        told[1]
    );
    vec![Row::new("S10", claim, figure, by_bytes >= 5.0 * plain && is_best), records_of_files()]
}

/// Bytes of the files of a folder.
fn bytes_in(folder: &Path) -> f64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|it| it.metadata().ok()).map(|it| it.len() as f64).sum()
}

/// Whether bytes may be packed that lie end to end already.
fn records_of_files() -> Row {
    let claim = "what lies in a tar or TFRecord file is not packed again";
    let folder = Folder::new("packed");
    let mut packed = Vec::new();
    for (name, text) in [
        ("tar", "tar(\"DATA/*.tar\") |> map { image: decode_jpeg(files[\"jpg\"] as bytes) }"),
        (
            "tfrecord",
            "tfrecord(\"DATA/*.tfrecord\") |> map { image: decode_jpeg(row[\"image\"] as bytes) }",
        ),
    ] {
        let data = folder.0.display().to_string();
        let text = format!("pipeline p = {}", text.replace("DATA", &data));
        let site = Site::of(super::site::compiled(&text, &[]), 1_000);
        let all = site.candidates();
        if all.iter().any(|it| it.reads) || all.is_empty() {
            packed.push(name);
        }
    }
    let figure = if packed.is_empty() { "neither".to_owned() } else { packed.join(", ") };
    Row::new("S10", claim, figure, packed.is_empty())
}

/// Pictures of 271 kB that take 566 µs, of files on the disk that they would be kept on; 18 µs for the rest.
const RESIZED: &str = "|> map { image: full([271000], busy(u8(len(bytes) % 251), time: 0.000566)) } \
     |> map { x: busy(image[0], time: 0.000018) }";
const PICTURE: &str = "full";

/// S13: a disk of 1 GB/s that holds the files, with 2, 8 and 96 cores.
pub(crate) fn slow_disk() -> Vec<Row> {
    let claim = "pictures of 271 kB and 566 µs on the disk of their files, 1 GB/s: not kept there with 8 and 96 cores; predicted is the least bound";
    let Some(images) = folder() else {
        return vec![Row::skipped("S13", claim, "the folder of images")];
    };
    let text = format!("pipeline p = files(\"{}/*.JPEG\") |> shuffle {RESIZED}", images.display());
    let files = count(&images) as f64;
    let mut site = Site::new((&text, &[]), files as u64, 3.0);
    site.forbid(|it| it.function != PICTURE && !it.reads);
    let (mut figures, mut holds) = (Vec::new(), true);
    for cores in [2, 8, 96] {
        let explained = site.explained(&format!("cores={cores},disk=1GB/s"));
        let outlook = trial::outlook(&explained);
        let kept: Vec<Choice> = outlook.choices.iter().filter(|it| it.kept).cloned().collect();
        let is_kept = kept.iter().any(|it| it.candidate.function == PICTURE && it.is_on_disk());
        let solution = outlook.warm.as_ref().unwrap_or(&outlook.solution);
        // Of the files alone, as many as the disk gives and the cores work on.
        let least = f64::min(f64::from(cores) / 584e-6, 1e9 * files / bytes_in(&images));
        let is_least = cores == 2 || (solution.rate / least - 1.0).abs() <= 0.05;
        holds &= is_least && (cores == 2 || !is_kept);
        figures.push(format!(
            "{cores} cores: {}, {:.0}/s (without {least:.0})",
            in_words(&kept),
            solution.rate
        ));
    }
    vec![Row::new("S13", claim, figures.join("; "), holds)]
}

/// Rounds of all that is compared for so many epochs.
const ROUNDS: usize = 5;

/// S14: all epochs with the first, which fills what is kept.
pub(crate) fn few_epochs() -> Vec<Row> {
    let claim =
        "1, 2, 5 and 10 epochs with filling: within 5 % of the best kind that is kept of all";
    let Some(pictures) = Pictures::new() else {
        return vec![Row::skipped("S14", claim, "the folder of images")];
    };
    let kinds: Vec<&Kind> = Kind::without_codec().collect();
    let (mut figures, mut most) = (Vec::new(), 0.0_f64);
    for epochs in [1, 2, 5, 10] {
        let target = Target {
            disk: None,
            source: 1e12,
            room: 4 << 30,
            ..Target::one_disk(1e12, f64::from(epochs))
        };
        let (site, choices) = pictures.choices(&target);
        let mut seconds = vec![Vec::new(); kinds.len() + 1];
        for _ in 0..ROUNDS {
            for (kind, seconds) in kinds.iter().zip(&mut seconds) {
                let site = pictures.site(kind.form);
                seconds.push(site.seconds(&site.pinned(&kind.pins(Tier::Memory)), epochs));
            }
            seconds[kinds.len()].push(site.seconds(&site.points(&choices), epochs));
        }
        let seconds: Vec<f64> = seconds.into_iter().map(median).collect();
        let best = (0..kinds.len()).min_by(|a, b| seconds[*a].total_cmp(&seconds[*b])).unwrap_or(0);
        let times = seconds[kinds.len()] / seconds[best];
        most = most.max(times);
        figures.push(format!(
            "{epochs}: best {} {:.2} s, {} {times:.2}",
            kinds[best].name,
            seconds[best],
            in_words(&choices),
        ));
    }
    let figure = format!("{most:.2} times at the most ({})", figures.join("; "));
    vec![Row::new("S14", claim, figure, most <= 1.05)]
}
