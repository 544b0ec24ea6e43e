//! `companions`: other records beside each record.

use super::{
    arguments::{size, visible},
    group::{Blocks, Group, Regroup},
};
use crate::prelude::*;
use plan::companion;
use runtime::{OperatorCall, Philox, Running};
use std::sync::Arc;

operator! {
    /// Adds the fields of `n` other records to each record.
    ///
    /// A field `f` of the first other record is `other1.f`, of the second one `other2.f`, and so on. Use it for what combines
    /// several images, such as mosaic, copy-paste or mixup before `batch`: each image is decoded once, before `companions`, and
    /// used several times.
    ///
    /// The stream is split into blocks of `window` records, and the others are drawn from the block of a record, without
    /// repetition, all equally likely, by the id of the record and differently in each epoch. Shuffle first, so that blocks
    /// hold other records in each epoch. If a block at the end has fewer than `n` others, each is used several times, and a
    /// record that is alone is its own companion. The records keep their ids and their order.
    ///
    /// It buffers one block, in up to half of the memory of the run; large values are not copied. Fields that are not
    /// needed are not carried. `n` is from 1 to 16, and `window` larger than `n`.
    ///
    /// ```pipe
    /// range(100) |> shuffle |> companions(2, window: 32)    # { i: i64, other1.i: i64, other2.i: i64 }
    /// ```
    "companions(stream: stream, n: int, window: int = 256) -> stream",
    // Assumed: 30 ns for the draws, 0.2 for each byte of small fields that is copied.
    cost: Cost { ns_call: 30.0, ns_byte_in: 0.2, ns_byte_out: 0.2, bytes_out_per_in: 1.0 },
    properties: &[Property::Does(Action::Accompany), Property::FieldWise],
    fields: Some(fields),
}

/// Other records for each one, at the most.
const OTHERS_MAX: i64 = 16;
/// What a block is called in messages.
const BLOCK: &str = "the window of a `companions`";

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    let (n, _) = terms(applied.args)?;
    let own = visible(&applied.inputs[0]);
    let is_taken = |it: &&Field| companion(&it.name).is_some_and(|(number, _)| number <= n);
    if let Some(taken) = own.iter().find(is_taken) {
        let name = &taken.name;
        return Err(format!(
            "the records have a field `{name}` already: give it another name with `map`"
        ));
    }
    let mut all = own.clone();
    for number in 1..=n {
        all.extend(own.iter().map(|it| Field {
            name: format!("other{number}.{}", it.name),
            ty: of_another(&it.ty),
        }));
    }
    Ok(all)
}

/// The type of a field of another record, whose named extents are others.
fn of_another(ty: &Type) -> Type {
    let Type::Tensor { dtype, shape } = ty else { return ty.clone() };
    let extent = |it: &Extent| match it {
        Extent::Named(_) => Extent::Unknown,
        it => it.clone(),
    };
    Type::Tensor { dtype: *dtype, shape: shape.iter().map(extent).collect() }
}

/// How many others, and of how many records.
fn terms(args: &[Arg]) -> Result<(usize, usize), String> {
    let n = size(&args[0], "n", 1)?.ok_or("`n` must be known at compile time")?;
    let window = size(&args[1], "window", 2)?.ok_or("`window` must be known at compile time")?;
    if n > OTHERS_MAX as usize {
        return Err(format!("`n` is {n}, but must be in 1..{OTHERS_MAX}"));
    }
    if window <= n {
        return Err(format!(
            "a `window` of {window} records has no {n} others for each: make it larger, such as 256"
        ));
    }
    Ok((n, window))
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let (n, window) = terms(call.args).map_err(Failure::Program)?;
    let blocks = Regroup::new(Group::new(call).scattering(), window, window, BLOCK);

    // Of each column that leaves, whose it is, 0 for the record itself, and which column of the input.
    let place = |name: &str| call.inputs[0].iter().position(|it| it.name == name);
    let of = |it: &Field| match place(&it.name) {
        Some(at) => Some((0, at)),
        None => companion(&it.name).and_then(|(number, name)| Some((number, place(name)?))),
    };
    let sources = call.columns.iter().map(of).collect::<Option<Vec<(usize, usize)>>>();
    let sources = sources.ok_or_else(|| {
        Failure::Program("a field of `companions` is not that of a record".to_owned())
    })?;

    let (fields, pool, key) = (call.inputs[0].to_vec(), call.pool.clone(), call.key);
    let accompany = move |chunk: Chunk, _| {
        let orders = orders(key, &chunk, n);
        let of = |&(number, column): &(usize, usize)| match number.checked_sub(1) {
            None => chunk.columns[column].clone(),
            Some(other) => {
                let field = std::slice::from_ref(&fields[column]);
                let columns = vec![chunk.columns[column].clone()];
                let one = Chunk { columns, ids: chunk.ids.clone(), ..chunk };
                one.reordered(&orders[other], field, &pool).columns.swap_remove(0)
            }
        };
        let columns = sources.iter().map(of).collect();
        Ok(Chunk { columns, ids: chunk.ids.clone(), ..chunk })
    };
    let serial = Box::new(Blocks::new(blocks));
    Ok(Running { serial, parallel: Some(Arc::new(accompany)) })
}

/// For each of `n`, which row of a block is the companion of each row.
fn orders(key: u64, chunk: &Chunk, n: usize) -> Vec<Vec<u32>> {
    let mut orders = vec![Vec::with_capacity(chunk.rows); n];
    for (row, id) in chunk.ids().iter().enumerate() {
        let mut random = Philox::new(key, *id, chunk.epoch);
        let others = drawn(&mut random, row, (chunk.rows, n));
        orders.iter_mut().zip(others).for_each(|(order, other)| order.push(other as u32));
    }
    orders
}

/// `n` rows of `rows` that are not `own` and not alike, as far as there are so many.
fn drawn(random: &mut Philox, own: usize, (rows, n): (usize, usize)) -> Vec<usize> {
    // In order, so that the next one is counted past them.
    let mut taken = vec![own];
    let mut found = Vec::with_capacity(n);
    while found.len() < n {
        if taken.len() == rows {
            if rows == 1 {
                return vec![own; n];
            }
            taken = vec![own];
        }
        let mut row = random.below((rows - taken.len()) as u64) as usize;
        for it in &taken {
            row += usize::from(*it <= row);
        }
        taken.insert(taken.partition_point(|it| *it < row), row);
        found.push(row);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;
    use std::collections::BTreeSet;

    fn args(n: i64, window: i64) -> [Arg; 2] {
        [Arg::Int(n), Arg::Int(window)]
    }

    /// The same on a list: of what is left of a block, in order, the one that is drawn goes.
    fn accompanied(input: &[Record], n: usize, window: usize) -> Vec<Record> {
        let of = |block: &[Record], own: usize| {
            let mut random = Philox::new(KEY, block[own].id, EPOCH);
            let mut record = block[own].clone();
            let mut left: Vec<usize> = Vec::new();
            for _ in 0..n {
                if left.is_empty() {
                    left = (0..block.len()).filter(|it| *it != own).collect();
                }
                let other = match left.len() {
                    0 => own,
                    len => left.remove(random.below(len as u64) as usize),
                };
                record.values.extend(block[other].values.clone());
            }
            record
        };
        input
            .chunks(window)
            .flat_map(|block| (0..block.len()).map(move |it| of(block, it)))
            .collect()
    }

    #[test]
    fn others_of_the_block_come_beside() {
        for (rows, n, window) in
            [(0, 1, 4), (1, 3, 8), (2, 1, 2), (100, 1, 2), (100, 3, 16), (50, 16, 1000), (35, 4, 8)]
        {
            let input = records(rows);
            let expected = accompanied(&input, n, window);
            check(&ENTRY, &args(n as i64, window as i64), &[input], expected);
        }
    }

    #[test]
    fn others_are_distinct_and_equally_likely() {
        let mut counts = [0_u32; 6];
        for id in 0..6_000 {
            let found = drawn(&mut Philox::new(3, id, 0), 2, (6, 3));
            assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 3, "{found:?}");
            found.iter().for_each(|it| counts[*it] += 1);
        }
        assert_eq!(counts[2], 0);
        // Each of five in three of five draws: 3,600, within five standard deviations of sqrt(6,000 * 0.6 * 0.4).
        assert!(
            counts.iter().enumerate().all(|(at, it)| at == 2 || it.abs_diff(3_600) < 190),
            "{counts:?}"
        );
    }

    #[test]
    fn it_says_what_it_cannot_do() {
        let said = |n, window| refused(&ENTRY, &args(n, window), &[records(1)]);
        assert!(said(0, 256).contains("`n` is 0"));
        assert!(said(17, 256).contains("must be in 1..16"));
        assert!(said(3, 3).contains("has no 3 others for each"));
        let taken = table(&[("other1.i", "i64")], 1, |_| vec![Value::scalar(1_i64)]);
        assert!(refused(&ENTRY, &args(1, 9), &[taken]).contains("a field `other1.i` already"));
        let free = table(&[("other2.i", "i64"), ("x", "f32[n]")], 0, |_| Vec::new());
        let (one, inputs) = (args(1, 9), [free]);
        let case = Case { entry: &ENTRY, args: &one, names: &[], inputs: &inputs };
        let fields: Vec<String> = case.output().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(
            fields,
            ["other2.i: i64", "x: f32[n]", "other1.other2.i: i64", "other1.x: f32[?]"]
        );
    }

    /// Columns that nobody needs are left out, of the record and of others.
    #[test]
    fn only_columns_that_are_needed_leave() {
        let input = records(20);
        let inputs = [input.fields.clone()];
        let columns = [field("other2.name", "str"), field("i", "i64"), field("other1.i", "i64")];
        let pool = runtime::Pool::default();
        let call = OperatorCall {
            args: &args(2, 8),
            names: &[],
            inputs: &inputs,
            columns: &columns,
            key: KEY,
            epoch: EPOCH,
            state: None,
            rows: 1,
            memory: 1 << 30,
            pool: &pool,
            kept: None,
            by_file: &[],
            filling: &Arc::default(),
        };
        let Running { mut serial, parallel } = build(&call).unwrap();
        let mut out = Vec::new();
        for chunk in input.chunks_of(3, 0) {
            serial.push(0, Some(chunk), &mut out).unwrap();
        }
        let first = parallel.unwrap()(out.remove(0), 0).unwrap();
        let expected = accompanied(&input, 2, 8);
        // After the four fields of the record come those of the others.
        for (row, record) in expected[..8].iter().enumerate() {
            let found: Vec<Value> =
                first.columns.iter().map(|it| Value::of(&it.row(row))).collect();
            assert_eq!(
                found,
                [&record.values[10], &record.values[0], &record.values[4]].map(Clone::clone)
            );
        }
    }
}
