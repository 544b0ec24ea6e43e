//! `concat`: one stream after the other.

use super::{
    alike::{Columns, same_fields},
    group::unfit,
};
use crate::prelude::*;
use runtime::{Mark, Operator, OperatorCall, Running, Wants};

operator! {
    /// Returns the records of several streams, one stream after the other.
    ///
    /// All streams must have the same fields, in any order; an extent that differs between them is `?` in the
    /// result. A stream is opened when the one before it ends.
    ///
    /// ```pipe
    /// concat([range(10), range(5) |> map { i: i + 100 }])    # { i: i64 }
    /// ```
    "concat(streams: streams) -> stream",
    cost: Cost::call(0.1),    // Assumed: chunks pass as they are.
    properties: &[Property::Does(Action::Concat), Property::FieldWise],
    fields: Some(same_fields),
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let inputs = call.inputs.len();
    let at = match call.state {
        None => 0,
        Some([at]) if *at <= inputs as u64 => *at as usize,
        Some(_) => return Err(unfit("concat")),
    };
    let serial = Concat { columns: Columns::new(call), at, inputs, passed: 0 };
    Ok(Running { serial: Box::new(serial), parallel: None })
}

struct Concat {
    columns: Columns,
    /// The input whose turn it is.
    at: usize,
    inputs: usize,
    /// Chunks that were out after the last one.
    passed: usize,
}

impl Operator for Concat {
    fn wants(&self) -> Wants {
        if self.at == self.inputs { Wants::Nothing } else { Wants::Input(self.at) }
    }

    fn push(
        &mut self,
        input: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        match chunk {
            Some(chunk) => out.push(self.columns.of(input, chunk)),
            None => self.at += 1,
        }
        self.passed = out.len();
        Ok(())
    }

    fn mark(&self) -> Option<Mark> {
        Some(Mark { chunks: self.passed, state: vec![self.at as u64], ahead: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;

    #[test]
    fn streams_follow_each_other() {
        let inputs = [records(20), records(0), records(33)];
        let expected = inputs.iter().flat_map(|it| it.to_vec()).collect();
        check(&ENTRY, &[], &inputs, expected);
    }

    #[test]
    fn fields_find_their_columns() {
        let one = table(&[("a", "i64"), ("b", "f32[2]")], 3, |it| {
            vec![Value::scalar(it as i64), Value::new(&[2], &[0.5_f32, 1.5])]
        });
        let mut two = table(&[("b", "f32[3]"), ("a", "i64")], 3, |it| {
            vec![Value::new(&[3], &[0.5_f32, 1.5, 2.5]), Value::scalar(it as i64)]
        });
        let fields =
            Case { entry: &ENTRY, args: &[], names: &[], inputs: &[one.clone(), two.clone()] }
                .output()
                .unwrap();
        assert_eq!(fields, [field("a", "i64"), field("b", "f32[?]")]);

        let mut expected = one.to_vec();
        expected.extend(two.records.iter().cloned().map(|mut it| {
            it.values.reverse();
            it
        }));
        check(&ENTRY, &[], &[one.clone(), two.clone()], expected);
        two.fields[1] = field("a", "i32");
        assert!(refused(&ENTRY, &[], &[one.clone(), two.clone()]).contains("`a` is `i64`"));
        two.fields[1] = field("c", "i64");
        assert!(refused(&ENTRY, &[], &[one, two]).contains("stream 2 does not"));
    }
}
