//! The part of S5 that is of texts: PRESTO's NLP pipeline, from pages of HTML to a vector for each of their tokens.

use super::{
    pictures::{Filled, by_turns},
    site::{Folder, Pin, Site, Target, Tier, compiled, in_words},
};
use crate::{Row, trial::most};
use sample::Texts;
use std::{fs, path::Path};

/// Pages of an epoch: one for twenty documents of the sample.
const PAGES: u64 = 200;
/// Rows of the table of vectors: as many as the sample's tokenizer has tokens at the most; and numbers of a vector, as PRESTO's.
const TABLE: [usize; 2] = [4_096, 768];
/// For how long the pipeline is measured.
const SECONDS: f64 = 4.0;
/// Rounds in which all are compared.
const ROUNDS: usize = 3;
/// Bandwidth over bytes, over cores by their work, where PRESTO's NLP pipeline stood: 910 MB/s, pages of 42.7 kB, 6 of them a
/// second.
const KAPPA: f64 = 3_552.0;

/// What is kept, as a lock names it.
const KINDS: [(&str, Option<&str>); 5] = [
    ("nothing", None),
    ("bytes", Some("p.files#1.with#1.read_file")),
    ("decoded", Some("p.map#1.html_text")),
    ("tokens", Some("p.map#1.tokenize")),
    ("vectors", Some("p.map#1.embed")),
];
/// That which PRESTO finds to be the best.
const BEST: &str = "tokens";

/// What a run chooses at PRESTO's κ, beside each value alone.
pub(crate) fn as_fast_as_prestos() -> Row {
    let folder = Folder::new("vectors");
    let table = folder.0.join("table.npy");
    fs::write(&table, vectors()).expect("there is room");
    let texts = Texts { folder: folder.0.join("texts"), count: PAGES * 20, seed: 0 };
    sample::texts(&texts, &mut |_| ()).expect("there is room");
    let site = Site::measured(compiled(&text(&texts.folder, &table), &[]), PAGES, SECONDS);
    let filled = |(name, value): &(&'static str, Option<&'static str>)| {
        Filled::of_pins(name, &site, value.iter().map(|it| Pin::all(it, Tier::Disk)).collect())
    };
    let all: Vec<Filled<'_>> = KINDS.iter().map(filled).collect();
    let [_, bytes, ..] = &all[..] else { unreachable!("they are five") };
    let file =
        site.candidates().into_iter().find(|it| it.reads).map_or(f64::NAN, |it| it.bytes.value);
    let disk = KAPPA * bytes.told(None).rate * file;
    let target = Target::one_disk(disk, 90.0);
    let choices: Vec<_> = site.chosen(&target).into_iter().filter(|it| it.kept).collect();
    let words = in_words(&choices);
    let chosen = Filled::of_choices(&site, choices);
    let each: Vec<&Filled<'_>> = all.iter().chain([&chosen]).collect();
    let mut rates = by_turns(&each, (Some(disk), ROUNDS));
    let of_chosen = rates.pop().unwrap_or_default();
    let first = most(&rates);
    let (best, part) = (KINDS[first].0, of_chosen / rates[first]);
    let rates: Vec<String> =
        KINDS.iter().zip(&rates).map(|(kind, rate)| format!("{} {rate:.0}", kind.0)).collect();
    Row::new(
        "S5",
        &format!(
            "NLP at κ = {KAPPA:.0}: {BEST} are the best, and what a run chooses has 0.95 of it"
        ),
        format!(
            "{best} (a disk of {:.0} MB/s; records/s: {}; chosen {words}: {part:.2})",
            disk / 1e6,
            rates.join(", ")
        ),
        best == BEST && part >= 0.95,
    )
}

/// The pipeline of the paper.
fn text(texts: &Path, table: &Path) -> String {
    let [texts, table] = [texts, table].map(Path::display);
    format!(
        "pipeline p = files(\"{texts}/pages/*.html.gz\") |> shuffle |> map {{ vectors: decompress(bytes) |> decode_text \
         |> html_text(keep: article) |> tokenize(model: \"{texts}/tokenizer.json\") |> embed(table: \"{table}\") }} \
         |> batch(4, ragged: vectors)"
    )
}

/// A table of vectors as a file of NumPy.
fn vectors() -> Vec<u8> {
    let [rows, width] = TABLE;
    let header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {width}), }}");
    // What stands before the numbers is a multiple of 64 bytes.
    let header = format!("{header:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    let number = |i: usize| (i as u32).wrapping_mul(2_654_435_761) as f32 / u32::MAX as f32;
    file.extend((0..rows * width).flat_map(|it| number(it).to_le_bytes()));
    file
}
