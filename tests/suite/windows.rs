//! Windows, and records side by side, in any order: a shuffle gives what there is without it, each once, in an order of
//! its own in each epoch; ranks share it, and each goes on from wherever it has stood.

use crate::{
    lanes::check,
    output::hashes,
    random::{inputs::Inputs, ways::compiled},
};
use driver::Compiled;
use libtest_mimic::{Failed, Trial};
use runtime::{Options, Rank};

/// Steps before a shuffle, and the outputs of an epoch.
const PROGRAMS: [(&str, usize); 15] = [
    ("range(40) |> windows(length: 6, hop: 1)", 35),
    ("range(40) |> windows(length: 4)", 10),
    ("range(40) |> shuffle |> windows(length: 6, hop: 1)", 35),
    ("range(41) |> windows(length: 3, hop: 5)", 8),
    ("range(5) |> windows(length: 6, hop: 1)", 0),
    (
        "range(60) |> skip(7) |> take(30) |> map { x: f32(i) * 0.5 } |> windows(length: 7, hop: 2)",
        12,
    ),
    ("range(40) |> map { x: i + uniform_int(0, 100) } |> windows(length: 3, hop: 1)", 38),
    ("range(40) |> map { x: 12 // (i % 5) else 7 } |> windows(length: 3, hop: 1)", 38),
    (
        "range(40) |> map { m: text_of(i // 9), i } |> windows(length: 4, hop: 1, by: m) |> map { i }",
        25,
    ),
    (
        "range(60) |> map { i, k: i * i // 100 } |> skip(5) |> windows(length: 3, hop: 2, by: k % 4)",
        6,
    ),
    ("npy(\"{data}/arrays/*.npy\") |> windows(length: 3, hop: 1)", 9),
    (
        "csv(\"{data}/tables/b.csv\") |> map { age, height } |> windows(length: 3, hop: 1, by: age < 30)",
        16,
    ),
    ("zip({ a: range(30), b: range(40) |> take(30) }) |> map { i: a.i, j: b.i }", 30),
    ("zip({ a: range(30), b: range(60) |> windows(length: 2) }) |> map { i: a.i, j: b.i }", 30),
    ("zip({ a: range(30), b: range(30) |> map { i: i * i } }) |> windows(length: 5, hop: 1)", 26),
];

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn() -> Result<(), Failed>| Trial::test(name, test);
    vec![
        trial("windows/a_shuffle_gives_each_once", each_once),
        trial("windows/ranks_share_what_is_shuffled", shared),
        trial("windows/streams_of_different_length_fail_first", lengths),
    ]
}

fn whole(steps: &str, inputs: &Inputs) -> Result<Compiled, Failed> {
    Ok(compiled(&format!("edition 2026\nparam data: path\npipeline p = {steps}\n"), &inputs.0)?)
}

fn all(compiled: &Compiled, epochs: u32) -> Result<Vec<(u32, u64)>, Failed> {
    let options = Options { seed: 1, epochs: 0..epochs, ..Options::default() };
    Ok(hashes(compiled, &options, usize::MAX).map_err(|it| it.to_string())?.0)
}

fn each_once() -> Result<(), Failed> {
    let inputs = Inputs::new("windows")?;
    for (steps, n) in PROGRAMS.iter().filter(|it| it.1 > 0 || it.0.starts_with("range(5)")) {
        let mut plain = all(&whole(steps, &inputs)?, 1)?;
        let shuffled = all(&whole(&format!("{steps} |> shuffle"), &inputs)?, 2)?;
        let [first, second] = [0, 1].map(|epoch| {
            shuffled.iter().filter(|it| it.0 == epoch).map(|it| it.1).collect::<Vec<_>>()
        });
        if plain.len() != *n || first.len() != *n || second.len() != *n {
            let found = [plain.len(), first.len(), second.len()];
            return Err(format!("{steps}: {found:?} outputs, not {n}").into());
        }
        if *n > 5 && (plain.iter().map(|it| it.1).eq(first.iter().copied()) || first == second) {
            return Err(format!("{steps}: it is not shuffled").into());
        }
        let mut sorted = first.clone();
        sorted.sort_unstable();
        plain.sort_unstable_by_key(|it| it.1);
        let is_same = plain.iter().map(|it| it.1).eq(sorted);
        // What is drawn for a record is drawn anew in the next epoch.
        if !is_same {
            return Err(format!("{steps}: others come where it is shuffled").into());
        }
    }
    Ok(())
}

fn shared() -> Result<(), Failed> {
    let inputs = Inputs::new("windows-shared")?;
    let ends =
        ["batch(4)", "map { s: 1 } |> batch(3, tail: keep)", "shuffle |> repeat(2) |> batch(3)"];
    for (steps, _) in PROGRAMS.iter().filter(|it| it.1 > 5) {
        for (at, end) in ends.iter().enumerate() {
            let program = format!("{steps} |> shuffle |> {end}");
            let compiled = whole(&program, &inputs)?;
            let given = all(&compiled, 2)?;
            let base = Options { seed: 1, epochs: 0..2, ..Options::default() };
            let world = [1, 2, 3][at];
            let epoch = |it| given.iter().filter(move |batch| batch.0 == it);
            let keeps = end.contains("keep");
            for rank in 0..world {
                let own = |it| {
                    let whole = epoch(it).count() / world as usize * world as usize;
                    let most = if keeps { usize::MAX } else { whole };
                    epoch(it).take(most).skip(rank as usize).step_by(world as usize)
                };
                let own: Vec<_> = (0..2).flat_map(own).copied().collect();
                let rank = Rank { rank, world, ..Rank::default() };
                check(&compiled, &Options { rank, ..base.clone() }, &own)
                    .map_err(|it| format!("{program}\n{rank:?}: {it}"))?;
            }
        }
    }
    Ok(())
}

fn lengths() -> Result<(), Failed> {
    let inputs = Inputs::new("windows-lengths")?;
    for (steps, why) in [
        ("zip({ a: range(30), b: range(31) })", "has 30 records, but the one at "),
        ("zip({ a: range(30), b: range(31) })", " has 31 records: `zip` needs streams"),
        ("zip({ a: range(30), b: range(60) |> windows(length: 3) })", " has 20 windows: `zip`"),
    ] {
        let compiled = whole(&format!("{steps} |> shuffle"), &inputs)?;
        match all(&compiled, 1) {
            Err(found) if found.message().is_some_and(|it| it.contains(why)) => {}
            found => return Err(format!("{steps}: {found:?}, not {why}").into()),
        }
    }
    Ok(())
}
