//! `take`: the first records of a stream.

use super::{
    alike::Columns,
    arguments::{count, left},
};
use crate::prelude::*;
use runtime::{Mark, Operator, OperatorCall, Running, Wants};

operator! {
    /// Returns only the first `n` records.
    ///
    /// If the stream has fewer records, all are returned. Later records are not computed.
    ///
    /// ```pipe
    /// range(100) |> take(10)    # { i: i64 }
    /// ```
    "take(stream: stream, n: int) -> stream",
    cost: Cost::call(0.1),    // Assumed: a chunk is cut, no record is touched.
    properties: &[Property::Does(Action::Take), Property::SameFields],
    fields: Some(|applied| count(&applied.args[0], "n").map(|_| applied.inputs[0].clone())),
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let n = count(&call.args[0], "n").map_err(Failure::Program)?;
    let left = left(call.state, n)?;
    Ok(Running {
        serial: Box::new(Take { columns: Columns::new(call), left, passed: 0 }),
        parallel: None,
    })
}

struct Take {
    columns: Columns,
    /// Records that may still pass.
    left: u64,
    /// Chunks that were out after the last one.
    passed: usize,
}

impl Operator for Take {
    fn wants(&self) -> Wants {
        if self.left == 0 { Wants::Nothing } else { Wants::Input(0) }
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        let Some(chunk) = chunk else {
            self.left = 0;
            return Ok(());
        };
        let rows = self.left.min(chunk.rows as u64) as usize;
        self.left -= rows as u64;
        let chunk = self.columns.of(0, chunk);
        out.push(if rows == chunk.rows { chunk } else { chunk.cut(0..rows) });
        self.passed = out.len();
        Ok(())
    }

    fn mark(&self) -> Option<Mark> {
        Some(Mark { chunks: self.passed, state: vec![self.left], ahead: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;

    #[test]
    fn it_is_the_start_of_the_stream() {
        for n in [0, 1, 99, 100, 101] {
            let input = records(100);
            let expected = input.iter().take(n).cloned().collect();
            check(&ENTRY, &[Arg::Int(n as i64)], &[input], expected);
        }
    }
}
