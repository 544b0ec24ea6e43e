//! `count`: how often each key occurs in a stream.

use super::{
    arguments::int,
    group::failure,
    reduce::{Reduction, push, reduce, type_of},
    scalars::ints,
};
use crate::prelude::*;
use runtime::{Column, OperatorCall, Running};

operator! {
    /// Counts how often each key occurs in a stream.
    ///
    /// Use it in a constant, for class weights: `const COUNTS = train |> count(by: label, classes: 10)`, then
    /// `f32(COUNTS[label])`. The constant is computed before the run, and cached for later runs as long as the program
    /// and its inputs are the same.
    ///
    /// `by` is an integer from 0 to `classes - 1`, or a `bool`; any other key ends the run. The result is one record
    /// with a number for each key, 0 for keys that do not occur; a constant is that list of numbers itself.
    ///
    /// ```pipe
    /// range(10) |> count(by: i % 3, classes: 4)    # { count: i64[4] }
    /// ```
    "count(stream: stream, by: each any, classes: int) -> stream",
    cost: Cost::call(4.0),    // Assumed: a number is increased.
    properties: &[Property::Does(Action::Reduce)],
    fields: Some(fields),
}

/// Keys, at the most.
const CLASSES_MAX: i64 = 1 << 20;

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    let by = type_of(applied).ok_or("`by` must be a value of the record")?;
    let dtype = by.dtype().filter(|_| by.shape() == Some(&[]) && !by.is_untyped());
    match dtype {
        Some(it) if it.is_int() || it == DType::Bool => {}
        Some(it) if it.is_float() => {
            return Err(format!(
                "`by` is `{by}`, but a key must be an integer: convert it, `i64(…)`, which rounds towards zero"
            ));
        }
        Some(it) if it.is_text() => {
            return Err(format!(
                "`by` is `{by}`, but a key must be an integer: `index_of(name, names)` gives the number of a name"
            ));
        }
        _ => return Err(format!("`by` is `{by}`, but a key must be an integer or a `bool`")),
    }
    let classes = match int(&applied.args[1]) {
        Some(it) if (1..=CLASSES_MAX).contains(&it) => it as u64,
        Some(it) => return Err(format!("`classes` is {it}, but must be in 1..{CLASSES_MAX}")),
        None => return Err("`classes` must be an integer that is known at compile time".to_owned()),
    };
    let ty = Type::Tensor { dtype: DType::I64, shape: vec![Extent::Known(classes)] };
    Ok(vec![Field { name: "count".to_owned(), ty }])
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let classes = call.columns[0].ty.fixed().expect("the extent is known")[0];
    reduce(call, Count { counts: vec![0; classes], keys: Vec::new() })
}

struct Count {
    counts: Vec<i64>,
    /// Of one chunk.
    keys: Vec<i64>,
}

impl Reduction for Count {
    fn add(&mut self, values: &Column) -> Result<(), Failure> {
        self.keys.clear();
        ints(values, &mut self.keys);
        for key in &self.keys {
            let count = usize::try_from(*key).ok().and_then(|it| self.counts.get_mut(it));
            match count {
                Some(it) => *it += 1,
                None => return Err(outside(*key, values.dtype(), self.counts.len())),
            }
        }
        Ok(())
    }

    fn write(&self, record: &mut ChunkBuilder) -> Result<(), Failure> {
        push(&mut record.columns[0], &[self.counts.len()], &self.counts, i64::to_ne_bytes);
        Ok(())
    }
}

fn outside(key: i64, dtype: DType, classes: usize) -> Failure {
    let key = if dtype == DType::U64 { (key as u64).to_string() } else { key.to_string() };
    let keys = format!("the keys of `classes: {classes}` are 0 to {}", classes - 1);
    failure(format!("the key {key} is out of range: {keys}"))
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;

    #[test]
    fn it_is_a_number_for_each_key() {
        let input = table(&[("i", "i64"), ("by", "u8")], 100, |it| {
            vec![Value::scalar(it as i64), Value::scalar((it % 3) as u8)]
        });
        for cut in 0..5 {
            let found =
                run(&ENTRY, &[Arg::Column(1), Arg::Int(4)], std::slice::from_ref(&input), cut);
            assert_eq!(found.unwrap()[0].values[0], Value::new(&[4], &[34_i64, 33, 33, 0]));
        }
        let nothing = table(&[("by", "bool")], 0, |_| Vec::new());
        let found = run(&ENTRY, &[Arg::Column(0), Arg::Int(2)], &[nothing], 0).unwrap();
        assert_eq!(found[0].values[0], Value::new(&[2], &[0_i64, 0]));
    }

    #[test]
    fn keys_outside_end_the_run() {
        let said = |key: Value, ty: &str| {
            let input = table(&[("by", ty)], 3, |_| vec![key.clone()]);
            run(&ENTRY, &[Arg::Column(0), Arg::Int(3)], &[input], 1).unwrap_err().to_string()
        };
        assert!(said(Value::scalar(3_i64), "i64").contains("the key 3 is out of range"));
        assert!(said(Value::scalar(-1_i32), "i32").contains("the key -1 is out of range"));
        assert!(said(Value::scalar(u64::MAX), "u64").contains("the key 18446744073709551615"));
    }

    #[test]
    fn keys_are_integers() {
        let refused =
            |at, classes| refused(&ENTRY, &[Arg::Column(at), Arg::Int(classes)], &[records(1)]);
        assert!(refused(1, 3).contains("must be an integer"));
        assert!(refused(2, 3).contains("index_of"));
        assert!(refused(0, 0).contains("`classes` is 0"));
        assert!(refused(0, (1 << 20) + 1).contains("`classes` is"));
    }
}
