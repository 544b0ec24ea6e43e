//! `windows`: stretches of successive records.

use super::{
    alike::Columns,
    arguments::size,
    group::{Group, check_held, unfit},
    order::lineage,
};
use crate::prelude::*;
use runtime::{Builder, Column, MAX_RANK, Mark, Operator, OperatorCall, Running, Wants};
use std::sync::Arc;

/// The part of the run's memory that windows made at one time may take, where they are several.
const SHARE: u64 = 32;

operator! {
    /// Groups `length` successive records into one (sliding windows).
    ///
    /// Every field gets a new first axis. The next window begins `hop` records later. By default, `hop` is
    /// `length`, so windows do not overlap. Records at the end that do not fill a window are dropped. All
    /// extents must be known at compile time. It buffers one window.
    ///
    /// ```pipe
    /// range(100) |> windows(length: 8, hop: 4)    # { i: i64[8] }
    /// ```
    "windows(stream: stream, length: int, hop: int = length) -> stream",
    // Assumed: 0.2 ns for each byte copied.
    cost: Cost::out(20.0, 0.2),
    properties: &[Property::Does(Action::Window), Property::FieldWise],
    fields: Some(fields),
}

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    let (length, _) = steps(applied.args)?;
    let mut fields = applied.inputs[0].clone();
    for field in &mut fields {
        let (name, ty) = (&field.name, &field.ty);
        let Some(extents) = ty.fixed() else {
            return Err(format!(
                "`{name}` is `{ty}`, but a window needs known extents: drop it with `map`"
            ));
        };
        if extents.len() == MAX_RANK {
            return Err(format!("`{name}` already has {MAX_RANK} axes, the maximum for a tensor"));
        }
        let extents = [length].into_iter().chain(extents).map(|it| it as u64);
        let dtype = ty.dtype().expect("it has extents");
        field.ty = Type::tensor(dtype, &extents.collect::<Vec<_>>());
    }
    Ok(fields)
}

fn steps(args: &[Arg]) -> Result<(usize, usize), String> {
    let length = size(&args[0], "length", 1)?.ok_or("`length` must be known at compile time")?;
    Ok((length, size(&args[1], "hop", 1)?.unwrap_or(length)))
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let (length, hop) = steps(call.args).map_err(Failure::Program)?;
    // Several windows are made at a time where they are small.
    let bytes: usize = call.columns.iter().filter_map(|it| it.ty.fixed_bytes()).sum();
    let fits = call.memory / SHARE / (bytes as u64).max(1);
    let windows = call.rows.min(usize::try_from(fits).unwrap_or(usize::MAX)).max(1);
    let rows = hop.saturating_mul(windows - 1).saturating_add(length);
    let skip = match call.state {
        None => 0,
        Some([skip]) if *skip < hop as u64 => *skip as usize,
        Some(_) => return Err(unfit("windows")),
    };
    let (group, passed) = (Group::new(call), 0);
    let serial = Windows { group, skip, rows, length, hop, passed, done: false };

    let (fields, pool) = (call.columns.to_vec(), call.pool.clone());
    let columns = Columns::new(call);
    let overlap = move |chunk: Chunk, _| {
        let chunk = columns.of(0, chunk);
        let count = (chunk.rows - length) / hop + 1;
        let starts = (0..count).map(|it| it * hop);
        let mut out = ChunkBuilder::new(&fields, count, chunk.epoch, &pool);
        for start in starts {
            let rows = start..start + length;
            out.ids.push_scalar(lineage(&chunk.ids()[rows.clone()]));
            for (to, from) in out.columns.iter_mut().zip(&chunk.columns) {
                push_window(to, &from.cut(rows.clone()));
            }
        }
        Ok(out.finish())
    };
    Ok(Running { serial: Box::new(serial), parallel: Some(Arc::new(overlap)) })
}

fn push_window(to: &mut Builder, rows: &Column) {
    to.push(&rows.stacked().expect("the checker admits fixed extents with room for an axis"));
}

/// Cuts stretches of rows that hold several windows each; `parallel` makes the windows.
struct Windows {
    group: Group,
    /// Rows that lie between two windows, and go.
    skip: usize,
    /// Rows of a whole stretch.
    rows: usize,
    length: usize,
    hop: usize,
    /// Chunks that were out after the last one.
    passed: usize,
    done: bool,
}

impl Operator for Windows {
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
            out.extend(self.group.finish().filter(|it| it.rows >= self.length));
            return Ok(());
        };
        let mut from = 0;
        while from < chunk.rows {
            let gone = self.skip.min(chunk.rows - from);
            self.skip -= gone;
            from += gone;
            let rows = (self.rows - self.group.rows()).min(chunk.rows - from);
            self.group.add(&chunk, from..from + rows, self.rows);
            from += rows;
            if self.group.rows() == self.rows {
                self.emit(out);
            }
        }
        self.passed = out.len();
        check_held(self.group.bytes(), self.group.share(), "the window of `windows`")
    }

    /// How many records a stretch has is nobody's concern: all windows before the failure leave.
    fn fail(&mut self, _: usize, out: &mut Vec<Chunk>) -> Result<bool, Failure> {
        out.extend(self.group.finish().filter(|it| it.rows >= self.length));
        Ok(false)
    }

    /// Several windows leave together, each with all of its rows.
    fn holds(&self) -> u64 {
        let windows = (self.rows - self.length) / self.hop + 1;
        (windows as u64).saturating_mul(self.length as u64)
    }

    fn mark(&self) -> Option<Mark> {
        let (skip, held) = (self.skip as u64, self.group.rows() as u64);
        let mark = Mark { chunks: self.passed, state: vec![skip], ahead: vec![held] };
        Some(mark).filter(|_| !self.done)
    }
}

impl Windows {
    /// Lets a stretch go, and keeps the rows that the next window shares with it.
    fn emit(&mut self, out: &mut Vec<Chunk>) {
        let Some(whole) = self.group.finish() else { return };
        let shared = self.length.saturating_sub(self.hop);
        self.skip = self.hop.saturating_sub(self.length);
        self.group.add(&whole, whole.rows - shared..whole.rows, self.rows);
        out.push(whole);
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::*;
    use super::*;

    fn rows(n: usize) -> Table {
        table(&[("i", "i64"), ("x", "u8[2]")], n, |it| {
            vec![Value::scalar(it as i64), Value::new(&[2], &[it as u8, 7])]
        })
    }

    fn windowed(input: &[Record], length: usize, hop: usize) -> Vec<Record> {
        let starts = (0..input.len()).step_by(hop).filter(|it| it + length <= input.len());
        let window = |start: usize| {
            let all = &input[start..start + length];
            let ids: Vec<_> = all.iter().map(|it| it.id).collect();
            let values = (0..2).map(|it| Value::stacked(all.iter().map(|row| &row.values[it])));
            Record { id: lineage(&ids), values: values.collect() }
        };
        starts.map(window).collect()
    }

    #[test]
    fn windows_overlap_or_leave_gaps() {
        for (length, hop) in [(1, 1), (4, 4), (5, 2), (3, 7), (10, 1), (200, 1)] {
            let args = [Arg::Int(length as i64), Arg::Int(hop as i64)];
            let input = rows(100);
            let expected = windowed(&input, length, hop);
            check(&ENTRY, &args, &[input], expected);
        }
    }

    #[test]
    fn extents_must_be_known() {
        assert!(
            refused(&ENTRY, &[Arg::Int(4), Arg::None], &[records(1)]).contains("`name` is `str`")
        );
    }
}
