//! `dedupe`: the first of records with the same key.

use super::{
    alike::Columns,
    arguments::{column, visible, word},
    group::check_held,
};
use crate::prelude::*;
use hashbrown::HashTable;
use runtime::{Builder, Operator, OperatorCall, Pool, Running, Wants, Working};
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3, xxh3_128, xxh3_128_with_seed};

operator! {
    /// Drops records whose key has occurred before: the first of equal keys stays.
    ///
    /// `by` is any value of a record: a string, a number or a tensor, such as `hash(text)` or `path`. To remove
    /// duplicates by several fields, combine them: `by: stack([a, b])`, `by: name + city`.
    ///
    /// With `match: any`, the key is a row of a known number of elements, and a record is dropped if one of them is equal to the
    /// element at the same place in the key of any earlier record, dropped or not: `dedupe(by: minhash(text), match: any)`
    /// removes texts that are nearly the same as an earlier one.
    ///
    /// Keys (or their elements) are compared by a 128-bit hash, 20 bytes per distinct one, which are kept for the epoch in up to half of
    /// the memory of the run. Two different keys are taken for the same with a probability of about n² / 2¹²⁹ for n keys.
    ///
    /// The keys are not stored in a checkpoint: a resumed run reads the records of the epoch again, up to where it
    /// stopped. Use it before images are decoded, and `shuffle(window: n)` after it: which records it keeps is
    /// only known by reading them. It needs all records of an epoch, so it cannot be used in lanes.
    ///
    /// ```pipe
    /// range(100) |> dedupe(by: i % 10)    # { i: i64 }
    /// ```
    "dedupe(stream: stream, by: each any, match: all | any = all) -> stream",
    // Assumed: a key is hashed, and looked up where no cache has it.
    cost: Cost::call(60.0),
    properties: &[Property::FieldWise, Property::SameFields, Property::Compares],
    fields: Some(fields),
}

/// Bytes that the table takes for each key that it has room for: the hash and a byte, in slots of which an eighth
/// stays free.
const KEY_BYTES: usize = 20;
/// Keys that there is room for at first.
const KEYS_MIN: usize = 1 << 10;

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    let ty = match &applied.args[0] {
        Arg::Expr(_) => applied.ty(0),
        Arg::Column(it) => applied.inputs[0].get(*it as usize).map(|it| it.ty.clone()),
        _ => return Err("`by` must be a value of the record, such as a field".to_owned()),
    };
    if let Some(ty) = &ty
        && (ty.is_untyped() || ty.is_texts())
    {
        return Err(format!("`by` is `{ty}`, which cannot be compared: convert it first"));
    }
    let is_row = |it: &Type| matches!(it.shape(), Some([Extent::Known(_)]));
    if is_any(applied.args)
        && let Some(ty) = ty.filter(|it| !is_row(it))
    {
        return Err(format!(
            "with `match: any`, `by` must be a row of a known number of elements, such as `minhash(text)`, found `{ty}`"
        ));
    }
    Ok(visible(&applied.inputs[0]))
}

/// Whether keys are alike where one of their elements is.
fn is_any(args: &[Arg]) -> bool {
    args.get(1).is_some_and(|it| word(it) == "any")
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let by = call.args.first().and_then(column);
    let by = by.ok_or_else(|| Failure::Program("`by` is not a column".to_owned()))?;
    let serial = Dedupe {
        by,
        any: is_any(call.args),
        seen: HashTable::new(),
        memory: Working::default(),
        pool: call.pool.clone(),
        share: call.memory / 2,
        done: false,
    };
    let columns = Columns::new(call);
    let (fields, pool) = (call.columns.to_vec(), call.pool.clone());
    let gather = move |mut chunk: Chunk, _| {
        let kept = chunk.columns.pop().expect("what stays is marked in the last column");
        let kept = kept.as_slice::<bool>().expect("marks are of `bool`");
        let order: Vec<u32> = (0..chunk.rows as u32).filter(|it| kept[*it as usize]).collect();
        let chunk = columns.of(0, chunk);
        if order.len() == chunk.rows {
            return Ok(chunk);
        }
        Ok(chunk.reordered(&order, &fields, &pool))
    };
    Ok(Running { serial: Box::new(serial), parallel: Some(Arc::new(gather)) })
}

/// Marks the records whose key has not occurred; `parallel` drops the others. It has no mark: what it has seen is
/// in no state.
struct Dedupe {
    by: usize,
    /// Whether the elements of a key are compared, each with those at its place.
    any: bool,
    seen: HashTable<u128>,
    /// Counts the bytes of the table.
    memory: Working,
    pool: Pool,
    share: u64,
    done: bool,
}

impl Operator for Dedupe {
    fn wants(&self) -> Wants {
        if self.done { Wants::Nothing } else { Wants::Input(0) }
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        let Some(mut chunk) = chunk else {
            self.done = true;
            return Ok(());
        };
        let mut kept = Builder::new(&Type::scalar(DType::Bool), chunk.rows, &self.pool);
        let marks = kept.fixed_rows(chunk.rows);
        for (row, mark) in marks.iter_mut().enumerate() {
            let by = chunk.columns[self.by].row(row);
            let is_new = if self.any { self.are_new(&by)? } else { self.is_new(key(&by))? };
            *mark = u8::from(is_new);
        }
        if marks.contains(&1) {
            chunk.columns.push(kept.finish());
            out.push(chunk);
        }
        Ok(())
    }
}

impl Dedupe {
    /// Whether none of the elements of a key has occurred at its place; all have now.
    fn are_new(&mut self, row: &Tensor<'_>) -> Result<bool, Failure> {
        let mut bytes = vec![0; row.bytes()];
        row.copy_to(&mut bytes);
        let mut are_new = true;
        for (place, element) in bytes.chunks_exact(row.dtype().size()).enumerate() {
            are_new &= self.is_new(xxh3_128_with_seed(element, place as u64))?;
        }
        Ok(are_new)
    }

    /// Whether a key has not occurred; it has now.
    fn is_new(&mut self, key: u128) -> Result<bool, Failure> {
        let hash_of = |it: &u128| *it as u64;
        if self.seen.find(hash_of(&key), |it| *it == key).is_some() {
            return Ok(false);
        }
        if self.seen.len() == self.seen.capacity() {
            // It grows to twice as many, and both are there while it does.
            let keys = (2 * self.seen.capacity()).max(KEYS_MIN);
            check_held(keys * KEY_BYTES, self.share, "the table of keys of `dedupe`")?;
            self.seen.reserve(keys - self.seen.len(), hash_of);
            self.memory = Working::of(self.seen.capacity() * KEY_BYTES);
        }
        self.seen.insert_unique(hash_of(&key), key, hash_of);
        Ok(true)
    }
}

/// The hash of a key: of its extents too, which tell lists of different length apart.
fn key(value: &Tensor<'_>) -> u128 {
    if value.shape().is_empty() || value.dtype().is_text() {
        return xxh3_128(value.as_text());
    }
    let mut hash = Xxh3::new();
    for extent in value.shape() {
        hash.update(&extent.to_le_bytes());
    }
    match value.as_bytes() {
        Some(bytes) => hash.update(bytes),
        None => {
            let mut bytes = vec![0; value.bytes()];
            value.copy_to(&mut bytes);
            hash.update(&bytes);
        }
    }
    hash.digest128()
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;
    use std::collections::BTreeSet;

    fn all() -> Arg {
        Arg::Word("all".to_owned())
    }

    fn firsts(input: &[Record], key: impl Fn(&Record) -> Vec<u8>) -> Vec<Record> {
        let mut seen = BTreeSet::new();
        input.iter().filter(|it| seen.insert(key(it))).cloned().collect()
    }

    #[test]
    fn the_first_of_equal_keys_stays() {
        let fields = [("k", "i64"), ("name", "str"), ("ids", "i32[?, 2]")];
        let input = || {
            table(&fields, 500, |it| {
                let long: Vec<i32> = vec![7; it * 31 % 5 * 2];
                vec![
                    Value::scalar((it * 7919 % 97) as i64),
                    Value::text(&"n".repeat(it % 13)),
                    Value::new(&[it * 31 % 5, 2], &long),
                ]
            })
        };
        for by in 0..3 {
            let key = |it: &Record| it.values[by].bytes.clone();
            let expected = firsts(&input(), key);
            assert!(expected.len() < 100);
            check(&ENTRY, &[Arg::Column(by as u32), all()], &[input()], expected);
        }
        check(&ENTRY, &[Arg::Column(0), all()], &[records(0)], Vec::new());
    }

    #[test]
    fn a_record_goes_where_an_element_of_its_key_has_been_at_its_place() {
        let input = || {
            table(&[("bands", "i64[3]")], 200, |it| {
                let band = |at: usize| (it * 7919 % (61 + 20 * at)) as i64;
                vec![Value::new(&[3], &[band(0), band(1), band(2)])]
            })
        };
        let mut seen: Vec<Vec<Vec<u8>>> = vec![Vec::new(); 3];
        let is_new = |it: &Record| {
            let parts = it.values[0].bytes.chunks(8).zip(&mut seen);
            parts.fold(true, |new, (part, seen)| {
                let is_new = !seen.iter().any(|it| it == part);
                seen.push(part.to_vec());
                new && is_new
            })
        };
        let expected: Vec<Record> = input().records.into_iter().filter(is_new).collect();
        assert!((10..100).contains(&expected.len()));
        check(&ENTRY, &[Arg::Column(0), Arg::Word("any".to_owned())], &[input()], expected);
    }

    #[test]
    fn keys_take_half_of_the_memory() {
        let input = table(&[("i", "i64")], 20_000, |it| vec![Value::scalar(it as i64)]);
        let (inputs, pool) = ([input.fields.clone()], Pool::default());
        let call = OperatorCall {
            args: &[Arg::Column(0), all()],
            names: &[],
            inputs: &inputs,
            columns: &inputs[0],
            key: KEY,
            epoch: EPOCH,
            state: None,
            rows: 1,
            memory: 1 << 20,
            pool: &pool,
            kept: None,
            by_file: &[],
            filling: &Arc::default(),
        };
        let mut dedupe = build(&call).unwrap().serial;
        let mut chunks = input.chunks_of(4, 0).into_iter();
        let failure = chunks.find_map(|it| dedupe.push(0, Some(it), &mut Vec::new()).err());
        let failure = failure.expect("the keys are too many").to_string();
        assert!(failure.contains("the table of keys of `dedupe` takes 573 kB"), "{failure}");
    }
}
