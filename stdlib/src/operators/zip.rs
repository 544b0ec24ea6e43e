//! `zip`: records of several streams side by side.

use super::{
    alike::input_name,
    arguments::visible,
    group::{failure, unfit},
};
use crate::prelude::*;
use runtime::{Builder, Column, Mark, Operator, OperatorCall, Pool, Running, Wants, mix};
use std::sync::Arc;

operator! {
    /// Combines the records of several streams, one from each.
    ///
    /// The first records of all streams become one record, then the second ones, and so on. If the streams are
    /// given as a record, their names become prefixes of the fields: `source.text`. If they are given as a
    /// list, all field names must differ. The run fails if the streams have different lengths; use `take` if
    /// this is intended.
    ///
    /// `shuffle` without a window may follow if all streams can be read in any order and drop no records: all are
    /// read in the same random order. The run then fails at the beginning if their lengths differ.
    ///
    /// ```pipe
    /// zip({ a: range(3), b: range(3) |> map { i: i * i } })    # { a.i: i64, b.i: i64 }
    /// ```
    ///
    /// ```pipe no_run
    /// zip({ x: npy("x_train.npy"), y: npy("y_train.npy") }) |> shuffle |> batch(256, tail: drop)
    /// ```
    "zip(streams: streams) -> stream",
    cost: Cost::call(3.0),    // Assumed: an id is mixed for each stream after the first.
    properties: &[Property::Does(Action::Zip), Property::FieldWise],
    fields: Some(fields),
}

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    let mut all: Vec<Field> = Vec::new();
    for (input, fields) in applied.inputs.iter().enumerate() {
        for mut field in visible(fields) {
            field.name = name_of(applied.names, input, &field);
            if all.iter().any(|it| it.name == field.name) {
                let name = field.name;
                return Err(format!(
                    "two streams have a field `{name}`: give the streams names, `zip({{ a: …, b: \
                     … }})`"
                ));
            }
            all.push(field);
        }
    }
    Ok(all)
}

/// What a field of an input is called in the result.
fn name_of(names: &[String], input: usize, field: &Field) -> String {
    names.get(input).map_or(field.name.clone(), |it| format!("{it}.{}", field.name))
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let input = |input: usize| {
        let place = |name: &str| {
            call.inputs[input].iter().position(|it| name_of(call.names, input, it) == name)
        };
        let columns = call.columns.iter().filter_map(|it| place(&it.name)).collect();
        Input { columns, held: None, ended: false, failed: false }
    };
    let inputs = (0..call.inputs.len()).map(input).collect();
    let names = (0..call.inputs.len()).map(|it| input_name(call.names, it)).collect();
    let mut serial = Zip { names, inputs, rows: 0, passed: 0 };
    if let Some(state) = call.state {
        serial.resume(state)?;
    }

    let (others, pool) = (call.inputs.len().saturating_sub(1), call.pool.clone());
    let name_pairs = move |mut chunk: Chunk, _| {
        let ids = chunk.columns.split_off(chunk.columns.len() - others);
        chunk.ids = ids.iter().fold(chunk.ids, |ids, other| mixed_ids(&ids, other, &pool));
        Ok(chunk)
    };
    Ok(Running { serial: Box::new(serial), parallel: Some(Arc::new(name_pairs)) })
}

/// `mix(a, b)` of each pair.
fn mixed_ids(a: &Column, b: &Column, pool: &Pool) -> Column {
    let (a, b) =
        (a.as_slice::<u64>().expect("ids are u64"), b.as_slice::<u64>().expect("so are these"));
    let mut out = Builder::new(&Type::scalar(DType::U64), a.len(), pool);
    let to = out.scalars_of::<u64>(a.len());
    for ((to, &a), &b) in to.iter_mut().zip(a).zip(b) {
        *to = mix(a, b);
    }
    out.finish()
}

/// Cuts the inputs alike. Ids of all inputs but the first travel as columns, for `parallel`.
struct Zip {
    names: Vec<String>,
    inputs: Vec<Input>,
    /// Records that were made.
    rows: u64,
    /// Chunks that were out after the last one.
    passed: usize,
}

struct Input {
    /// Which of its columns are passed on.
    columns: Vec<usize>,
    /// Records that wait for the other inputs; never an empty chunk.
    held: Option<Chunk>,
    ended: bool,
    failed: bool,
}

impl Operator for Zip {
    /// At the end of one input, every other one must show that it ends too.
    fn wants(&self) -> Wants {
        match self.lacking() {
            Some(input) if !self.inputs[input].failed => Wants::Input(input),
            _ => Wants::Nothing,
        }
    }

    fn push(
        &mut self,
        input: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        match chunk {
            None => self.inputs[input].ended = true,
            Some(chunk) => self.inputs[input].held = Some(chunk).filter(|it| it.rows > 0),
        }
        while let Some(rows) = self.rows_of_all() {
            out.push(self.side_by_side(rows));
            self.rows += rows as u64;
        }
        self.passed = out.len();
        // Not before it is known of each whether it goes on, which depends on no chunk.
        if self.lacking().is_none() { self.check_lengths() } else { Ok(()) }
    }

    fn fail(&mut self, input: usize, _: &mut Vec<Chunk>) -> Result<bool, Failure> {
        self.inputs[input].failed = true;
        Ok(true)
    }

    fn failed(&self) -> Option<usize> {
        self.lacking().filter(|it| self.inputs[*it].failed)
    }

    fn mark(&self) -> Option<Mark> {
        let held = |it: &Input| it.held.as_ref().map_or(0, |it| it.rows as u64);
        let ended = self.inputs.iter().map(|it| u64::from(it.ended && it.held.is_none()));
        Some(Mark {
            chunks: self.passed,
            state: [self.rows].into_iter().chain(ended).collect(),
            ahead: self.inputs.iter().map(held).collect(),
        })
    }
}

impl Zip {
    /// The first input of which it is not known whether it goes on.
    fn lacking(&self) -> Option<usize> {
        self.inputs.iter().position(|it| it.held.is_none() && !it.ended)
    }

    /// Goes on from what `mark` said.
    fn resume(&mut self, state: &[u64]) -> Result<(), Failure> {
        let Some((rows, ended)) = state.split_first().filter(|it| it.1.len() == self.inputs.len())
        else {
            return Err(unfit("zip"));
        };
        self.rows = *rows;
        self.inputs.iter_mut().zip(ended).for_each(|(it, ended)| it.ended = *ended != 0);
        Ok(())
    }

    fn check_lengths(&self) -> Result<(), Failure> {
        let ended = self.inputs.iter().position(|it| it.ended && it.held.is_none());
        let goes_on = self.inputs.iter().position(|it| it.held.is_some());
        let (Some(ended), Some(goes_on)) = (ended, goes_on) else { return Ok(()) };
        let (a, b, rows) = (&self.names[ended], &self.names[goes_on], self.rows);
        Err(failure(format!(
            "{a} ends after {rows} records, but {b} continues: `zip` needs streams of the same \
             length; shorten them with `take`"
        )))
    }

    /// Rows that every input has, if there are any.
    fn rows_of_all(&self) -> Option<usize> {
        let rows = |it: &Input| it.held.as_ref().map_or(0, |it| it.rows);
        self.inputs.iter().map(rows).min().filter(|it| *it > 0)
    }

    fn side_by_side(&mut self, rows: usize) -> Chunk {
        let mut parts = self.inputs.iter_mut().map(|it| it.cut(rows));
        let mut whole = parts.next().expect("`zip` has a stream at least");
        let mut ids = Vec::new();
        for part in parts {
            whole.columns.extend(part.columns);
            ids.push(part.ids);
        }
        whole.columns.extend(ids);
        whole
    }
}

impl Input {
    fn cut(&mut self, rows: usize) -> Chunk {
        let held = self.held.take().expect("every input has rows");
        if held.rows > rows {
            self.held = Some(held.cut(rows..held.rows));
        }
        let mut part = held.cut(0..rows);
        part.columns = self.columns.iter().map(|&it| part.columns[it].clone()).collect();
        part
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;

    #[test]
    fn records_stand_side_by_side() {
        let inputs = [records(50), records(50), records(50)];
        let expected = (0..50).map(|it| {
            let [a, b, c] = [0, 1, 2].map(|input| inputs[input][it].clone());
            let id = mix(mix(a.id, b.id), c.id);
            Record { id, values: [a.values, b.values, c.values].concat() }
        });
        let names = &["a", "b", "c"];
        let case = Case { entry: &ENTRY, args: &[], names, inputs: &inputs };
        case.check(expected.collect());
        Case { names: &names[..1], inputs: &inputs[..1], ..case }.check(inputs[0].to_vec());
    }

    #[test]
    fn lengths_must_agree() {
        for (a, b) in [(10, 11), (11, 10), (0, 1)] {
            for cut in 0..8 {
                let inputs = [records(a), table(&[("j", "u8")], b, |_| vec![Value::scalar(1_u8)])];
                let failure = run(&ENTRY, &[], &inputs, cut).unwrap_err().to_string();
                assert!(failure.contains(&format!("ends after {} records", a.min(b))), "{failure}");
            }
        }
    }

    #[test]
    fn names_must_differ() {
        assert!(refused(&ENTRY, &[], &[records(1), records(1)]).contains("a field `i`"));
    }
}
