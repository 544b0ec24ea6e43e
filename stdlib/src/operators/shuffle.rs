//! `shuffle`: records in another order each epoch.

use super::{
    alike::Columns,
    arguments::{int, size},
    group::{Blocks, Group, Regroup},
    order::order,
};
use crate::prelude::*;
use plan::Spans;
use runtime::{OperatorCall, Philox, Running, mix};
use std::sync::Arc;

operator! {
    /// Shuffles the records, differently in each epoch.
    ///
    /// Without `window`, the index of the source is permuted: every order of the whole data set is possible,
    /// and nothing is buffered. This needs a source that can be read in any order, with only `map`, `with`,
    /// `where`, `windows` and `zip` in between. Before `windows` and `zip`, no step may drop records.
    ///
    /// `shuffle(window: n)` works everywhere. It splits the stream into blocks of `n` records, at positions
    /// that differ between epochs (the first block is shorter), and permutes each block, with all orders
    /// equally likely. A record moves by `n / 3` positions on average, and by less than `n`. It buffers one
    /// block: if records are large, shuffle before decoding. A window is limited to 2²⁴ records and 4 GiB.
    ///
    /// `shuffle(window: n, spans: k)` also reads the files of its source in a random order, different in each
    /// epoch and repetition: `k` files are open at a time and give one record each in turn, and the window shuffles
    /// the result. Use it for data in shards: it mixes records of many files, but reads each file sequentially.
    /// When a file ends, its place stays empty for one turn; then the next file takes it, as in
    /// `interleave(cycle_length=k)` of tf.data. If there are fewer than `k` files, those larger than 64 MiB are
    /// read in parts of 64 MiB, each like a file of its own, unless they are compressed or in an object store; the
    /// first run looks for where records begin, and keeps that in an index. The source must have many records per
    /// file (`tfrecord`, `tar`, `records`, `npy`, `lines`, `jsonl`, `csv`), with only `map`, `with`, `where`,
    /// `flat_map` and `repeat` in between. `k` is at most 32.
    ///
    /// ```pipe
    /// range(1_000) |> where i % 3 == 0 |> shuffle(window: 64)    # { i: i64 }
    /// ```
    ///
    /// ```pipe no_run
    /// tfrecord("train-*.tfrecord") |> shuffle(window: 10_000, spans: 16)
    /// ```
    "shuffle(stream: stream, window: int = none, spans: int = none) -> stream",
    // Assumed: 3 ns for the permutation, 1 for each copy of a small column.
    cost: Cost { ns_call: 4.0, ns_byte_in: 0.2, ns_byte_out: 0.2, bytes_out_per_in: 1.0 },
    properties: &[
        Property::Does(Action::Shuffle),
        Property::NeedsIndex,    // Without a window.
        Property::SameFields,
    ],
    fields: Some(fields),
}

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    let window = size(&applied.args[0], "window", 1)?;
    if let Some(spans) = int(&applied.args[1]) {
        if !(1..=i64::from(Spans::MAX)).contains(&spans) {
            return Err(format!("`spans` is {spans}, but must be in 1..{}", Spans::MAX));
        }
        if window.is_none() {
            return Err("`spans` needs a `window`: `shuffle(window: 10_000, spans: 16)`".to_owned());
        }
    } else if applied.args[1] != Arg::None {
        return Err("`spans` must be an integer that is known at compile time".to_owned());
    }
    Ok(applied.inputs[0].clone())
}

/// What a block is called in messages.
const WINDOW: &str = "the window of a `shuffle`";
/// Sets the draw of the phase apart from those of the blocks: its own key, from the name's bytes.
const PHASE: u64 = u64::from_le_bytes(*b"phase\0\0\0");

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let Some(window) = size(&call.args[0], "window", 1).map_err(Failure::Program)? else {
        let why = "`shuffle` cannot permute its source: it needs a `window` here";
        return Err(Failure::Program(why.to_owned()));
    };
    let phase = Philox::new(mix(call.key, PHASE), 0, call.epoch).below(window as u64) as usize;
    // The first block alone is of another size, and it is past where a run is resumed.
    let first = if phase == 0 || call.state.is_some() { window } else { phase };
    let blocks = Regroup::new(Group::new(call).scattering(), first, window, WINDOW);

    let (fields, pool) = (call.columns.to_vec(), call.pool.clone());
    let (key, columns) = (call.key, Columns::new(call));
    let permute = move |chunk: Chunk, number: u64| {
        let order = order(key, number, chunk.epoch, chunk.rows);
        Ok(columns.of(0, chunk).reordered(&order, &fields, &pool))
    };
    let serial = Box::new(Blocks::new(blocks));
    Ok(Running { serial, parallel: Some(Arc::new(permute)) })
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;

    /// Fisher and Yates, block by block, on a list.
    fn shuffled(input: &[Record], window: usize) -> Vec<Record> {
        let phase = Philox::new(mix(KEY, PHASE), 0, EPOCH).below(window as u64) as usize;
        let (first, rest) = input.split_at(phase.min(input.len()));
        let blocks = [first].into_iter().filter(|it| !it.is_empty()).chain(rest.chunks(window));
        let permuted = |(number, block): (usize, &[Record])| {
            let order = order(KEY, number as u64, EPOCH, block.len());
            order.into_iter().map(|it| block[it as usize].clone()).collect::<Vec<_>>()
        };
        blocks.enumerate().flat_map(permuted).collect()
    }

    #[test]
    fn blocks_are_permuted() {
        for (rows, window) in [(0, 4), (1, 4), (100, 1), (100, 16), (100, 99), (50, 1000)] {
            let input = records(rows);
            let expected = shuffled(&input, window);
            check(&ENTRY, &[Arg::Int(window as i64), Arg::None], &[input], expected);
        }
    }

    #[test]
    fn it_says_what_it_cannot_do() {
        assert!(
            refused(&ENTRY, &[Arg::Int(0), Arg::None], &[records(1)]).contains("`window` is 0")
        );
        let failure = run(&ENTRY, &[Arg::None, Arg::None], &[records(1)], 1).unwrap_err();
        assert!(failure.to_string().contains("needs a `window`"));
    }
}
