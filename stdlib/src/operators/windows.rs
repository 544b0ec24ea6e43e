//! `windows`: stretches of successive records.

use super::{
    alike::Columns,
    arguments::{column, size},
    group::{Group, check_held, unfit},
    order::lineage,
};
use crate::prelude::*;
use plan::shown_bytes;
use runtime::{
    Builder, Column, MAX_RANK, Mark, Operator, OperatorCall, Pool, Running, TEXTS_BYTES_MAX, Texts,
    Wants,
};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// The part of the run's memory that windows made at one time may take, where they are several.
const SHARE: u64 = 32;
/// Where `by` stands among the arguments.
const BY: usize = 2;

operator! {
    /// Groups `length` successive records into one (sliding windows).
    ///
    /// Every field gets a new first axis. `hop` is the stride (`shift` in tf.data): the next window begins `hop`
    /// records later. By default, `hop` is `length`, so windows do not overlap. Records at the end that do not fill a
    /// window are dropped. All shapes must be known at compile time; strings become `str[length]`. It buffers one
    /// window.
    ///
    /// With `by`, a window never crosses from one series into the next. Successive records with the same value of `by`,
    /// a string, an integer or a boolean, form a series, and each series is cut into windows from its first record on.
    ///
    /// `shuffle` without a window may follow: the windows are numbered, and the records of each are read by their
    /// numbers. It needs a source that can be read in any order, with only `map`, `with`, `take`, `skip` and `zip`
    /// in between, and no step that drops records. With `by`, the values of `by` are read once before the first
    /// window, to find where series begin. Overlapping windows read their records repeatedly: `hop: 1` reads each
    /// record `length` times per epoch. This is fast for `npy`, and for tables that fit into an eighth of the memory of
    /// the run.
    ///
    /// ```pipe
    /// range(100) |> windows(length: 8, hop: 4)    # { i: i64[8] }
    /// ```
    ///
    /// ```pipe
    /// range(100)
    ///     |> map { meter: i // 30, x: f32(i) }
    ///     |> windows(length: 8, hop: 1, by: meter)
    ///     |> shuffle    # { meter: i64[8], x: f32[8] }
    /// ```
    "windows(stream: stream, length: int, hop: int = length, by: each any = none) -> stream",
    // Assumed: 0.2 ns for each byte copied.
    cost: Cost::out(20.0, 0.2),
    properties: &[Property::Does(Action::Window), Property::FieldWise, Property::Compares],
    fields: Some(fields),
}

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    let (length, _) = steps(applied.args)?;
    check_key(applied)?;
    let mut fields = super::arguments::visible(&applied.inputs[0]);
    for field in &mut fields {
        let (name, ty) = (&field.name, &field.ty);
        if is_text(ty) {
            let dtype = ty.dtype().expect("it is text");
            field.ty = Type::tensor(dtype, &[length as u64]);
            continue;
        }
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

/// Whether a field is one string.
fn is_text(ty: &Type) -> bool {
    ty.dtype().is_some_and(DType::is_text) && ty.shape() == Some(&[]) && !ty.is_untyped()
}

/// What series are told apart by must be the same or not, which of floats nobody can say.
fn check_key(applied: &Applied<'_>) -> Result<(), String> {
    let ty = match &applied.args[BY] {
        Arg::None => return Ok(()),
        Arg::Expr(_) => applied.ty(BY),
        Arg::Column(it) => applied.inputs[0].get(*it as usize).map(|it| it.ty.clone()),
        _ => return Err("`by` must be a value of the record".to_owned()),
    };
    let Some(ty) = ty else { return Ok(()) };
    let is_exact = |it: DType| it.is_text() || it.is_int() || it == DType::Bool;
    let is_key = ty.dtype().is_some_and(is_exact) && ty.shape() == Some(&[]) && !ty.is_untyped();
    if is_key {
        return Ok(());
    }
    Err(format!("`by` is `{ty}`, but must be a string, an integer or a boolean"))
}

fn steps(args: &[Arg]) -> Result<(usize, usize), String> {
    let length = size(&args[0], "length", 1)?.ok_or("`length` must be known at compile time")?;
    Ok((length, size(&args[1], "hop", 1)?.unwrap_or(length)))
}

fn build(call: &OperatorCall<'_>) -> Result<Running, Failure> {
    let (length, hop) = steps(call.args).map_err(Failure::Program)?;
    let by = call.args.get(BY).and_then(column);
    // Several windows are made at a time where they are small.
    let bytes: usize = call.columns.iter().filter_map(|it| it.ty.fixed_bytes()).sum();
    let fits = call.memory / SHARE / (bytes as u64).max(1);
    let windows = call.rows.min(usize::try_from(fits).unwrap_or(usize::MAX)).max(1);
    let rows = hop.saturating_mul(windows - 1).saturating_add(length);
    let (next, key) = match (call.state, by) {
        (None | Some([]), _) => (0, None),
        (Some([next]), None) if *next < hop as u64 => (*next as usize, None),
        (Some([next, high, low]), Some(_)) if *next < hop as u64 => {
            let key = u128::from(*high) << 64 | u128::from(*low);
            (*next as usize, Some(key).filter(|it| *it > 0))
        }
        _ => return Err(unfit("windows")),
    };
    let serial = Windows {
        group: Group::new(call),
        starts: Vec::new(),
        next,
        key,
        by,
        rows,
        length,
        hop,
        pool: call.pool.clone(),
        passed: 0,
        done: false,
    };
    let windowing = Windowing {
        columns: Columns::new(call),
        fields: call.columns.to_vec(),
        length,
        hop,
        is_marked: by.is_some(),
        pool: call.pool.clone(),
    };
    let finish = move |chunk: Chunk, _| windowing.windows(chunk);
    Ok(Running { serial: Box::new(serial), parallel: Some(Arc::new(finish)) })
}

/// Makes the windows of stretches.
struct Windowing {
    columns: Columns,
    fields: Vec<Field>,
    length: usize,
    hop: usize,
    /// Whether the last column of a stretch says where windows begin; else they do every `hop` rows.
    is_marked: bool,
    pool: Pool,
}

impl Windowing {
    fn windows(&self, mut chunk: Chunk) -> Result<Chunk, Failure> {
        let length = self.length;
        let starts: Vec<usize> = match self.is_marked.then(|| chunk.columns.pop()).flatten() {
            Some(marks) => {
                let marks = marks.as_slice::<bool>().expect("marks are of `bool`");
                marks.iter().enumerate().filter(|it| *it.1).map(|it| it.0).collect()
            }
            None => (0..=chunk.rows - length).step_by(self.hop).collect(),
        };
        let chunk = self.columns.of(0, chunk);
        let mut out = ChunkBuilder::new(&self.fields, starts.len(), chunk.epoch, &self.pool);
        for &start in &starts {
            out.ids.push_scalar(lineage(&chunk.ids()[start..start + length]));
        }
        let ends = starts.len() * length == chunk.rows && self.hop == length && !self.is_marked;
        let builders = std::mem::take(&mut out.columns);
        let columns = builders.into_iter().zip(&chunk.columns).map(|(mut to, from)| {
            // Windows that follow each other lie there as they are.
            if let Some(whole) = from.in_rows_of(length).filter(|_| ends) {
                return Ok(whole);
            }
            for &start in &starts {
                push_window(&mut to, &from.cut(start..start + length))?;
            }
            Ok(to.finish())
        });
        let columns = columns.collect::<Result<Vec<_>, Failure>>()?;
        Ok(Chunk { columns, ..out.finish() })
    }
}

fn push_window(to: &mut Builder, rows: &Column) -> Result<(), Failure> {
    if let Some(all) = rows.stacked() {
        to.push(&all);
        return Ok(());
    }
    let bytes = Texts::packed_bytes(rows.rows(), rows.bytes());
    if bytes > TEXTS_BYTES_MAX {
        return Err(super::group::failure(format!(
            "the strings of a window take {}, but the limit is {}",
            shown_bytes(bytes as u64),
            shown_bytes(TEXTS_BYTES_MAX as u64)
        )));
    }
    to.push_texts(rows, rows.rows());
    Ok(())
}

/// Cuts stretches of rows that hold several windows each; `parallel` makes the windows.
struct Windows {
    /// Rows that are in no window that is out; the first begins one.
    group: Group,
    /// Where windows begin in it that are complete.
    starts: Vec<usize>,
    /// Where the next window of the series begins: rows of the group, and then of what comes.
    next: usize,
    /// The hash of the key of the last record.
    key: Option<u128>,
    by: Option<usize>,
    /// Rows of a whole stretch.
    rows: usize,
    length: usize,
    hop: usize,
    pool: Pool,
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
            self.emit(out);
            return Ok(());
        };
        let mut from = 0;
        while from < chunk.rows {
            let end = self.series(&chunk, from);
            self.add(&chunk, from..end, out);
            from = end;
        }
        if let (Some(by), Some(last)) = (self.by, chunk.rows.checked_sub(1)) {
            self.key = Some(key(&chunk, by, last));
        }
        // Nothing is shared with what comes: the windows need not wait.
        if self.next >= self.group.rows() {
            self.emit(out);
        }
        self.passed = out.len();
        check_held(self.group.bytes(), self.group.share(), "the window of `windows`")
    }

    /// How many records a stretch has is nobody's concern: all windows before the failure leave.
    fn fail(&mut self, _: usize, out: &mut Vec<Chunk>) -> Result<bool, Failure> {
        self.emit(out);
        Ok(false)
    }

    /// Several windows leave together, each with all of its rows.
    fn holds(&self) -> u64 {
        let windows = (self.rows - self.length) / self.hop + 1;
        (windows as u64).saturating_mul(self.length as u64)
    }

    fn mark(&self) -> Option<Mark> {
        let held = self.group.rows();
        // What is held begins a window: where it is given again, it begins a series.
        let next = if held > 0 { 0 } else { self.next as u64 };
        let key = self.key.filter(|_| held == 0).unwrap_or(0);
        let state = match self.by {
            None => vec![next],
            Some(_) => vec![next, (key >> 64) as u64, key as u64],
        };
        let mark = Mark { chunks: self.passed, state, ahead: vec![held as u64] };
        Some(mark).filter(|_| !self.done)
    }
}

impl Windows {
    /// Where the rows from `from` on end that are of one series, which begins there where it is another one.
    fn series(&mut self, chunk: &Chunk, from: usize) -> usize {
        let Some(by) = self.by else { return chunk.rows };
        let at = |row: usize| chunk.columns[by].row(row);
        let is_new = match from {
            0 => self.key.is_some_and(|it| it != key(chunk, by, 0)),
            _ => true,
        };
        if is_new {
            self.next = self.group.rows();
        }
        let first = at(from);
        let same = |row: &usize| at(*row).as_text() == first.as_text();
        from + 1 + (from + 1..chunk.rows).take_while(same).count()
    }

    /// Takes rows of one series in.
    fn add(&mut self, chunk: &Chunk, mut rows: std::ops::Range<usize>, out: &mut Vec<Chunk>) {
        while !rows.is_empty() {
            let gone = self.next.saturating_sub(self.group.rows()).min(rows.len());
            self.next -= gone;
            rows.start += gone;
            let room = self.rows.saturating_sub(self.group.rows()).max(1).min(rows.len());
            self.group.add(chunk, rows.start..rows.start + room, self.rows);
            rows.start += room;
            while self.next + self.length <= self.group.rows() {
                self.starts.push(self.next);
                self.next += self.hop;
            }
            if self.group.rows() >= self.rows {
                self.emit(out);
            }
        }
    }

    /// Lets the windows go that are complete, and keeps the rows that the next one shares with them.
    fn emit(&mut self, out: &mut Vec<Chunk>) {
        let Some(whole) = self.group.finish() else { return };
        let shared = self.next.min(whole.rows);
        self.group.add(&whole, shared..whole.rows, self.rows);
        self.next -= shared;
        let starts = std::mem::take(&mut self.starts);
        let Some(last) = starts.last() else { return };
        let mut stretch = whole.cut(0..last + self.length);
        if self.by.is_some() {
            stretch.columns.push(self.marks(&starts, stretch.rows));
        }
        out.push(stretch);
    }

    /// Which of so many rows windows begin at.
    fn marks(&self, starts: &[usize], rows: usize) -> Column {
        let mut marks = Builder::new(&Type::scalar(DType::Bool), rows, &self.pool);
        let room = marks.fixed_rows(rows);
        room.fill(0);
        starts.iter().for_each(|it| room[*it] = 1);
        marks.finish()
    }
}

/// The hash of the key of a record, never 0.
fn key(chunk: &Chunk, by: usize, row: usize) -> u128 {
    xxh3_128(chunk.columns[by].row(row).as_text()).max(1)
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
            let columns = 0..all[0].values.len();
            let values = columns.map(|it| Value::stacked(all.iter().map(|row| &row.values[it])));
            Record { id: lineage(&ids), values: values.collect() }
        };
        starts.map(window).collect()
    }

    #[test]
    fn windows_overlap_or_leave_gaps() {
        for (length, hop) in [(1, 1), (4, 4), (5, 2), (3, 7), (10, 1), (200, 1)] {
            let args = [Arg::Int(length as i64), Arg::Int(hop as i64), Arg::None];
            let input = rows(100);
            let expected = windowed(&input, length, hop);
            check(&ENTRY, &args, &[input], expected);
        }
    }

    #[test]
    fn no_window_holds_two_series() {
        let series = [7, 1, 1, 30, 2, 3, 4, 12, 0, 25];
        let keys: Vec<i64> =
            series.iter().enumerate().flat_map(|(at, n)| vec![at as i64 % 4; *n]).collect();
        let fields = [("k", "i64"), ("x", "u8[2]")];
        let input = || {
            table(&fields, keys.len(), |it| {
                vec![Value::scalar(keys[it]), Value::new(&[2], &[it as u8, 7])]
            })
        };
        for (length, hop) in [(1, 1), (4, 4), (5, 2), (3, 7), (10, 1), (2, 3), (200, 1)] {
            let args = [Arg::Int(length as i64), Arg::Int(hop as i64), Arg::Column(0)];
            let all = input();
            let of_series = all.chunk_by(|a, b| a.values[0] == b.values[0]);
            let expected = of_series.flat_map(|it| windowed(it, length, hop)).collect();
            check(&ENTRY, &args, &[input()], expected);
        }
    }

    #[test]
    fn strings_become_as_many() {
        let fields = [("name", "str")];
        let input = table(&fields, 20, |it| vec![Value::text(&"n".repeat(it % 3))]);
        let window = |at: usize| {
            let all = &input[at..at + 4];
            let ids: Vec<_> = all.iter().map(|it| it.id).collect();
            let texts = Value::texts(all.iter().map(|it| &it.values[0]), 4);
            Record { id: lineage(&ids), values: vec![texts] }
        };
        let expected = (0..=16).step_by(3).map(window).collect();
        check(
            &ENTRY,
            &[Arg::Int(4), Arg::Int(3), Arg::None],
            std::slice::from_ref(&input),
            expected,
        );
    }

    #[test]
    fn extents_and_keys_must_be_known() {
        let refuse = |args: &[Arg], input| refused(&ENTRY, args, &[input]);
        let plain = [Arg::Int(4), Arg::None, Arg::None];
        assert!(refuse(&plain, records(1)).contains("`ids` is `i32[?, 2]`"));
        let by = [Arg::Int(4), Arg::None, Arg::Column(1)];
        assert!(refuse(&by, rows(1)).contains("`by` is `u8[2]`"));
    }
}
