//! Ranks that go through their own lanes alone, where no lane ends before the epoch does: what they give
//! together is what one run gives, and each goes on from wherever it has stood.

use crate::{
    output::hashes,
    random::{inputs::Inputs, ways::compiled},
};
use driver::Compiled;
use libtest_mimic::{Failed, Trial};
use runtime::{Options, Rank};

/// Batches of a run alone that are looked at.
const BATCHES: usize = 48;

/// Each source, and each kind of step that a lane may have: with files of which some are damaged.
const PROGRAMS: [&str; 22] = [
    "range(40, lanes: 4) |> repeat |> map { i } |> batch(3)",
    "range(50, lanes: 4) |> shuffle |> repeat |> where i % 3 > 0 |> batch(4) |> map { j: i * 2 }",
    "range(31, lanes: 4) |> skip(3) |> take(21) |> repeat |> flat_map [{ i, k: 0 }, { i, k: 1 }] |> batch(5)",
    "range(64, lanes: 8) |> repeat |> shuffle(window: 7) |> map { x: i + uniform_int(0, 100) } |> batch(2)",
    "range(64, lanes: 4) |> shuffle |> repeat |> windows(length: 3, hop: 2) |> batch(2)",
    "range(50, lanes: 4) |> windows(length: 3, hop: 1) |> shuffle |> repeat |> batch(2)",
    "range(40, lanes: 4) |> repeat |> map { ids: arange(i % 7) } |> pack(ids, length: 9) |> batch(2)",
    "range(40, lanes: 4) |> shuffle |> repeat |> map { ids: arange(i % 7) + i } |> pack(ids, length: 9, fit: first, bins: 2) |> batch(2)",
    "range(64, lanes: 8) |> repeat |> shuffle(window: 7) |> map { ids: arange(i % 12) + i } |> pack(ids, length: 8, fit: best, block: 5) |> map { ids, x: uniform() } |> batch(2)",
    "range(40, lanes: 4) |> repeat |> map { a: arange(i % 7), b: arange(i % 5) + i } else skip(most: 0.5) |> pack({ a, b }, length: { a: 9, b: 7 }, fit: first, bins: 2) |> batch(2)",
    "mix([range(40, lanes: 4) |> repeat, range(30, lanes: 4) |> shuffle |> repeat |> map { i: i + 100 }], weights: [3, 1]) |> batch(3)",
    "mix({ a: range(40, lanes: 4) |> repeat |> map { ids: arange(i % 7) } |> pack(ids, length: 9), b: range(30, lanes: 4) |> repeat |> map { ids: arange(i % 9) + i } |> pack(ids, length: 9, fit: best, block: 4) }, weights: { a: 0.3, b: 0.7 }) |> map { ids, x: uniform() } |> batch(2)",
    "mix([range(40, lanes: 4) |> where i % 3 > 0, range(30, lanes: 4) |> map { i: i + 100 }], at_end: repeat) |> batch(2)",
    "lines(\"{data}/texts/*.txt\", lanes: 4) |> repeat |> map { ids: arange(len(text)) } |> pack(ids, length: 9) |> shuffle(window: 4) |> batch(2)",
    "range(40, lanes: 4) |> repeat |> map { x: 12 // (i % 5) } else skip(most: 0.5) |> batch(3)",
    "range(40, lanes: 4) |> repeat |> map { x: 12 // (i % 5) } else another(most: 0.5) |> batch(3)",
    "lines(\"{data}/texts/*.txt\", lanes: 4) |> repeat |> where len(text) % 2 == 0 |> map { n: len(text) } |> batch(2)",
    "csv(\"{data}/tables/b.csv\", lanes: 4) |> shuffle |> repeat |> where age > 5 |> map { age, height } |> batch(2)",
    "jsonl(\"{data}/rows/*.jsonl\", lanes: 4) |> repeat |> map { n: row[\"n\"] as f32 } else skip(most: 0.9) |> batch(2)",
    "tfrecord(\"{data}/shards/*.tfrecord\", lanes: 4) |> repeat |> map { n: row[\"n\"] as i64 } else skip(most: 0.9) |> batch(2)",
    "records(\"{data}/shards/*.bin\", size: 9, lanes: 4) |> repeat |> map { n: len(bytes) } else skip(most: 0.9) |> batch(2)",
    "tar(\"{data}/shards/*.tar\", lanes: 4) |> shuffle |> repeat |> map { n: len(files[\"text\"] as str) } else skip(most: 0.9) |> batch(2)",
];

/// The same where an epoch ends after some batches: 21, and fewer than there are ranks; and where the lanes
/// would end too, with nothing or more left of them.
const ENDING: [&str; 7] = [
    "range(50, lanes: 4) |> shuffle |> repeat |> where i % 3 > 0 |> batch(3) |> map { i } |> take(21) |> map { j: i * 2 }",
    "range(50, lanes: 4) |> repeat |> shuffle(window: 5) |> batch(3) |> take(3)",
    "range(64, lanes: 4) |> shuffle |> shuffle(window: 5) |> batch(4) |> take(16) |> map { j: i * 2 }",
    "range(61, lanes: 4) |> where i % 5 > 0 |> batch(3) |> map { i } |> take(14)",
    "mix([range(61, lanes: 4) |> where i % 5 > 0, range(50, lanes: 4)], weights: [2, 1], at_end: drop) |> batch(3) |> map { i } |> take(14)",
    "range(90, lanes: 4) |> map { ids: arange(i % 7) + i } |> pack(ids, length: 9, fit: best, block: 6) |> batch(1) |> take(21)",
    "tfrecord(\"{data}/shards/*.tfrecord\", lanes: 4) |> map { n: row[\"n\"] as i64 } else skip(most: 0.9) |> batch(1) |> take(7)",
];
/// The first of four lanes ends after two batches.
const SHORT_LANE: &str = "range(40, lanes: 4) |> where i < 4 or i > 9 |> batch(2)";
/// Of two lanes the first one is sound, and all records of the second one fail.
const HALF_SOUND: &str =
    "range(40, lanes: 2) |> repeat |> map { x: if i < 20 then i else i // (i - i) } |> batch(4)";
/// The same, packed, and mixed with records that are all sound.
const HALF_PACKED: &str = "mix([range(40, lanes: 2) |> repeat |> map { ids: arange(if i < 20 then 1 + i % 5 else i // (i - i)) } |> pack(ids, length: 4), \
     range(9, lanes: 2) |> repeat |> map { ids: arange(4) } |> pack(ids, length: 4)]) |> batch(4)";
/// Of four lanes one has no record: it ends.
const EMPTY_LANE: &str = "range(3, lanes: 4) |> repeat |> map { i } |> batch(2)";

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn() -> Result<(), Failed>| Trial::test(name, test);
    vec![
        trial("lanes/ranks_give_together_what_one_run_gives", together),
        trial("lanes/ranks_do_not_differ_where_a_lane_ends_early", short),
        trial("lanes/a_rank_does_not_compute_the_lanes_of_others", own_alone),
    ]
}

fn together() -> Result<(), Failed> {
    let inputs = Inputs::new("lanes")?;
    let endless = PROGRAMS.iter().chain([&EMPTY_LANE]).map(|it| (it, 1, BATCHES));
    for (program, epochs, n) in endless.chain(ENDING.iter().map(|it| (it, 2, usize::MAX))) {
        let compiled = compiled(
            &format!("edition 2026\nparam data: path\npipeline p = {program}\n"),
            &inputs.0,
        )?;
        let base = Options { seed: 1, epochs: 0..epochs, ..Options::default() };
        let whole = hashes(&compiled, &base, n).map_err(|it| it.to_string())?.0;
        for world in [1, 2, 4] {
            for rank in 0..world {
                let epoch = |it| whole.iter().filter(move |batch| batch.0 == it);
                let dealt = |it| epoch(it).skip(rank as usize).step_by(world as usize);
                let own: Vec<_> = (0..epochs).flat_map(dealt).copied().collect();
                let rank = Rank { rank, world, ..Rank::default() };
                check(&compiled, &Options { rank, ..base.clone() }, &own)
                    .map_err(|it| format!("{program}\n{rank:?}: {it}"))?;
            }
        }
    }
    Ok(())
}

/// The rank gives `own`, however it is run, shared among processes, and stopped anywhere.
pub(crate) fn check(compiled: &Compiled, base: &Options, own: &[(u32, u64)]) -> Result<(), String> {
    for (workers, chunk) in [(1, 1), (2, 7), (8, 1000)] {
        let options = Options { workers, chunk_rows: Some(chunk), ..base.clone() };
        let all = given(compiled, &options, own.len())?;
        if all != own {
            return Err(format!("{workers} workers, chunks of {chunk}:\n{all:x?}\nof\n{own:x?}"));
        }
        for stop in [0, 1, own.len() / 2, own.len().saturating_sub(1)] {
            let (_, position) = hashes(compiled, &options, stop).map_err(|it| it.to_string())?;
            let epochs = position.epoch..base.epochs.end;
            let resume = Some(position);
            let rest = Options { resume, epochs, chunk_rows: None, ..options.clone() };
            let rest = given(compiled, &rest, own.len().saturating_sub(stop))?;
            if rest != own[stop.min(own.len())..] {
                return Err(format!("after {stop}:\n{rest:x?}\nof\n{own:x?}"));
            }
        }
    }
    for part in 0..3 {
        let rank = Rank { part, parts: 3, ..base.rank };
        let epoch = |it| own.iter().filter(move |batch| batch.0 == it);
        let dealt = |it| epoch(it).skip(part as usize).step_by(3);
        let expected: Vec<_> = base.epochs.clone().flat_map(dealt).copied().collect();
        let all = given(compiled, &Options { rank, ..base.clone() }, expected.len())?;
        if all != expected {
            return Err(format!("process {part} of 3:\n{all:x?}\nof\n{expected:x?}"));
        }
    }
    Ok(())
}

/// The `n` outputs that there are, or the first ones of an epoch without end.
fn given(compiled: &Compiled, options: &Options, n: usize) -> Result<Vec<(u32, u64)>, String> {
    let limit = if options.epochs.end > 1 { n + 1 } else { n };
    let all = hashes(compiled, options, limit).map_err(|it| it.to_string())?.0;
    if all.len() == n { Ok(all) } else { Err(format!("{} of {n} batches", all.len())) }
}

/// Each rank gives what it would give of one run, or fails: that of the short lane.
fn short() -> Result<(), Failed> {
    let take = |n, (rank, world)| -> Result<Result<usize, String>, Failed> {
        let text = format!("edition 2026\npipeline p = {SHORT_LANE} |> take({n})\n");
        let compiled = compiled(&text, std::path::Path::new(""))?;
        let rank = Rank { rank, world, ..Rank::default() };
        let options = Options { rank, epochs: 0..1, ..Options::default() };
        Ok(hashes(&compiled, &options, 99).map(|it| it.0.len()).map_err(|it| it.to_string()))
    };
    for (n, rank, of) in [(8, (0, 2), 4), (8, (1, 2), 4), (12, (1, 2), 6), (12, (0, 1), 12)] {
        let given = take(n, rank)?;
        if given != Ok(of) {
            return Err(format!("take({n}), {rank:?}: {given:?} of {of}").into());
        }
    }
    for rank in [(0, 2), (0, 4)] {
        let why = take(12, rank)?.err().unwrap_or_default();
        for part in ["lane 0 of 4", "after 2 of the 3 batches that `take(12)`", "`take(8)` at most"]
        {
            if !why.contains(part) {
                return Err(format!("{rank:?}: {why:?} without {part:?}").into());
            }
        }
    }
    Ok(())
}

fn own_alone() -> Result<(), Failed> {
    for half in [HALF_SOUND, HALF_PACKED] {
        for take in ["", " |> take(900)"] {
            alone(&format!("edition 2026\npipeline p = {half}{take}\n"))?;
        }
    }
    Ok(())
}

fn alone(text: &str) -> Result<(), Failed> {
    let compiled = compiled(text, std::path::Path::new(""))?;
    let of = |rank, world| {
        let rank = Rank { rank, world, ..Rank::default() };
        given(&compiled, &Options { rank, epochs: 0..1, ..Options::default() }, 200)
    };
    of(0, 2)?;
    for alone in [of(1, 2), of(0, 1)] {
        let why = alone.expect_err("a record fails");
        if !why.contains("division by zero") {
            return Err(why.into());
        }
    }
    Ok(())
}
