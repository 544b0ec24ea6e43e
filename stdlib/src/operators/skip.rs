//! `skip`: all but the first records of a stream.

use super::{
    alike::Columns,
    arguments::{count, left},
};
use crate::prelude::*;
use runtime::{Mark, Operator, OperatorCall, Running, Wants};

operator! {
    /// Skips the first `n` records.
    ///
    /// If the stream has fewer records, the result is empty.
    ///
    /// ```pipe
    /// range(100) |> skip(10)    # { i: i64 }
    /// ```
    "skip(stream: stream, n: int) -> stream",
    cost: Cost::call(0.1),    // Assumed: a chunk is cut, no record is touched.
    properties: &[Property::Does(Action::Skip), Property::SameFields],
    fields: Some(|applied| count(&applied.args[0], "n").map(|_| applied.inputs[0].clone())),
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let n = count(&call.args[0], "n").map_err(Failure::Program)?;
    let left = left(call.state, n)?;
    Ok(Running {
        serial: Box::new(Skip { columns: Columns::new(call), left, passed: 0, done: false }),
        parallel: None,
    })
}

struct Skip {
    columns: Columns,
    /// Records that must still go.
    left: u64,
    /// Chunks that were out after the last one.
    passed: usize,
    done: bool,
}

impl Operator for Skip {
    fn wants(&self) -> Wants {
        if self.done { Wants::Nothing } else { Wants::Input(0) }
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        let Some(chunk) = chunk else {
            self.done = true;
            return Ok(());
        };
        let rows = self.left.min(chunk.rows as u64) as usize;
        self.left -= rows as u64;
        if rows < chunk.rows {
            let chunk = self.columns.of(0, chunk);
            out.push(if rows == 0 { chunk } else { chunk.cut(rows..chunk.rows) });
        }
        self.passed = out.len();
        Ok(())
    }

    fn mark(&self) -> Option<Mark> {
        let mark = Mark { chunks: self.passed, state: vec![self.left], ahead: Vec::new() };
        Some(mark).filter(|_| !self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;

    #[test]
    fn it_is_the_end_of_the_stream() {
        for n in [0, 1, 99, 100, 101] {
            let input = records(100);
            let expected = input.iter().skip(n).cloned().collect();
            check(&ENTRY, &[Arg::Int(n as i64)], &[input], expected);
        }
    }
}
