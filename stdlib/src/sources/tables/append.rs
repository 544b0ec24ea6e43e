//! Rows of parts become those of chunks.

use super::{super::listed::name_of, Files, Inner, Output, Part, fill::Fill, pieces::Piece};
use crate::{
    functions::text::guarded::ColumnFaults,
    tables::{Damage, Opened, Rows, Values},
};
use arrow_array::RecordBatch;
use runtime::{ChunkBuilder, Failure, ids_of, mix};
use std::ops::Range;

/// A value that cannot be given: its row, among those that were to be appended, and its column.
struct Bad {
    row: usize,
    column: usize,
    why: String,
}

/// Rows that end the run, by their numbers among those that were appended, each with the failure.
pub(super) type Ends = Vec<(usize, Failure)>;

/// Rows of a part, in ascending order.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    part: Part,
    rows: Which<'a>,
}

#[derive(Clone, Copy)]
enum Which<'a> {
    /// So many from this one on.
    From(u64, usize),
    These(&'a [u64]),
}

impl Which<'_> {
    fn of(rows: &Range<u64>) -> Self {
        Self::From(rows.start, (rows.end - rows.start) as usize)
    }

    fn len(&self) -> usize {
        match self {
            Self::From(_, n) => *n,
            Self::These(rows) => rows.len(),
        }
    }

    fn at(&self, at: usize) -> u64 {
        match self {
            Self::From(first, _) => first + at as u64,
            Self::These(rows) => rows[at],
        }
    }
}

impl Inner {
    fn id(&self, files: &Files, part: Part, row: u64) -> u64 {
        mix(self.place, mix(files.keys[part.file as usize], part.ordinal + row))
    }

    /// Why a row ends the run.
    fn ends(&self, files: &Files, (part, row): (Part, u64), detail: String) -> Failure {
        let path = files.paths[part.file as usize].display().to_string();
        let record = format!("`{path}, row {}`", part.ordinal + row).into();
        Failure::Unreadable { id: self.id(files, part, row), record, path, detail }
    }

    /// Appends rows of a part. Gives those that end the run; for them something stands.
    pub(super) fn append(
        &self,
        part: Part,
        piece: &Piece,
        some: Range<usize>,
        out: &mut ChunkBuilder,
    ) -> Result<Ends, Failure> {
        let numbers = Numbers { part, rows: Which::These(&piece.rows[some.clone()]) };
        match &piece.batch {
            Ok(batch) => {
                let bad = self.append_batch(part, (batch, some), out)?;
                self.tell(numbers, Ok(bad), out)
            }
            Err(why) => {
                self.append_nothing(some.len(), out)?;
                self.tell(numbers, Err(why), out)
            }
        }
    }

    /// The same of rows that any thread can read; those after the first that ends the run are left out.
    pub(super) fn append_lying(
        &self,
        part: Part,
        lying: &dyn Rows,
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        let Range { mut start, end } = lying.rows();
        for (lost, why) in lying.lost() {
            self.append_opened(part, (lying, start..lost.start), out)?;
            let (rows, before) = (Which::of(&lost), out.rows());
            self.append_nothing(rows.len(), out)?;
            let ends = self.tell(Numbers { part, rows }, Err(&why), out)?;
            up_to_end(ends, before, out)?;
            start = lost.end;
        }
        self.append_opened(part, (lying, start..end), out)
    }

    fn append_opened(
        &self,
        part: Part,
        (lying, rows): (&dyn Rows, Range<u64>),
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        if rows.is_empty() {
            return Ok(());
        }
        let (all, before) = (Which::of(&rows), out.rows());
        let bad = match lying.open(&rows).map_err(|it| self.damaged(part, &it))? {
            Opened::Values(values) => self.append_values(part, (&values, all.len()), out)?,
            Opened::Batch(batch) => self.append_batch(part, (&batch, 0..all.len()), out)?,
        };
        let ends = self.tell(Numbers { part, rows: all }, Ok(bad), out)?;
        up_to_end(ends, before, out)
    }

    /// Appends the ids and faults of rows whose values were appended but for some, or for which nothing stands.
    fn tell(
        &self,
        Numbers { part, rows }: Numbers<'_>,
        found: Result<Vec<Bad>, &Damage>,
        out: &mut ChunkBuilder,
    ) -> Result<Ends, Failure> {
        let files = self.files()?;
        let told = |at: usize, why: &str| {
            let path = files.paths[part.file as usize].display();
            format!("{path}, row {}: {why}", part.ordinal + rows.at(at))
        };
        let mut faults: Vec<(usize, String)> = Vec::new();
        let mut ends = Vec::new();
        match found {
            Ok(bad) if self.said.faults => {
                for of_row in bad.chunk_by(|a, b| a.row == b.row) {
                    let mut all = ColumnFaults::default();
                    of_row.iter().for_each(|it| all.add(it.column, &told(it.row, &it.why)));
                    faults.push((of_row[0].row, all.text()));
                }
            }
            Ok(bad) => {
                let end = |it: Bad| (it.row, self.ends(files, (part, rows.at(it.row)), it.why));
                ends.extend(bad.into_iter().map(end));
            }
            Err(Damage { message, help, .. }) => {
                let why = format!(
                    "{} {}: {message}: {help}",
                    self.file(part.file)?.part().0,
                    part.number
                );
                for at in 0..rows.len() {
                    let row = rows.at(at);
                    match self.said.faults {
                        true => faults.push((at, told(at, &why))),
                        false => ends.push((at, self.ends(files, (part, row), why.clone()))),
                    }
                }
            }
        }
        let ids = out.ids.scalars_of::<u64>(rows.len());
        let (key, first) = (files.keys[part.file as usize], part.ordinal);
        match rows {
            Which::From(row, _) => ids.iter_mut().zip(first + row..).for_each(|(to, id)| *to = id),
            Which::These(rows) => ids.iter_mut().zip(rows).for_each(|(to, row)| *to = first + row),
        }
        ids_of(self.place, key, ids);
        let outputs = &self.first()?.outputs;
        if let Some(at) = outputs.iter().position(|it| matches!(it, Output::Name)) {
            let name = files.paths[part.file as usize].file_name().unwrap_or_default();
            let (name, to) = (name.to_string_lossy(), &mut out.columns[at]);
            (0..rows.len()).for_each(|_| to.push_text(name_of(&name).as_bytes()));
        }
        if let Some(at) = outputs.iter().position(|it| matches!(it, Output::Fault)) {
            let (to, mut given) = (&mut out.columns[at], 0);
            for (at, fault) in faults {
                to.push_empty(at - given);
                to.push_text(fault.as_bytes());
                given = at + 1;
            }
            to.push_empty(rows.len() - given);
        }
        Ok(ends)
    }

    /// Appends rows of a batch, all but ids and faults. Gives the values that cannot be given, by row and column.
    fn append_batch(
        &self,
        part: Part,
        (batch, some): (&RecordBatch, Range<usize>),
        out: &mut ChunkBuilder,
    ) -> Result<Vec<Bad>, Failure> {
        let (files, first) = (self.files()?, self.first()?);
        let unfit = |it: &Fill, why: &str| Failure::Io {
            path: files.paths[part.file as usize].display().to_string(),
            detail: format!("column `{}`: {why}: write the file again", it.found.name),
        };
        let array = |it: &Fill| it.of(batch).ok_or_else(|| unfit(it, "it is not there"));
        let arrays = first.fills.iter().map(array).collect::<Result<Vec<_>, _>>()?;
        let skips = first.fills.iter().zip(&arrays).filter(|(fill, _)| fill.skips());
        let skips: Vec<_> = skips.filter_map(|(_, (_, nulls))| nulls.clone()).collect();
        let is_complete = |at: usize| skips.iter().all(|it| it.is_valid(some.start + at));
        let mut bad = Vec::new();
        for (output, to) in first.outputs.iter().zip(&mut out.columns) {
            match output {
                Output::Column(at) => {
                    let (fill, (array, nulls)) = (&first.fills[*at], &arrays[*at]);
                    let found = fill.append((array, nulls.as_ref()), some.clone(), to);
                    let found = found.map_err(|why| unfit(fill, &why))?.into_iter();
                    let found = found.filter(|(row, _)| is_complete(*row));
                    bad.extend(found.map(|(row, why)| Bad { row, column: fill.at, why }));
                }
                Output::Complete => {
                    let room = to.scalars_of::<bool>(some.len());
                    room.iter_mut().enumerate().for_each(|(at, to)| *to = is_complete(at));
                }
                Output::Fault | Output::Name => {}
            }
        }
        bad.sort_by_key(|it| (it.row, it.column));
        Ok(bad)
    }

    /// The same of values of so many rows.
    fn append_values(
        &self,
        part: Part,
        (values, rows): (&[Box<dyn Values + '_>], usize),
        out: &mut ChunkBuilder,
    ) -> Result<Vec<Bad>, Failure> {
        let first = self.first()?;
        let skips = first.fills.iter().zip(values).filter(|(fill, _)| fill.skips());
        let skips: Vec<_> = skips.filter_map(|(_, values)| values.nulls()).collect();
        let is_complete = |at: usize| skips.iter().all(|it| it.is_valid(at));
        let mut bad = Vec::new();
        for (output, to) in first.outputs.iter().zip(&mut out.columns) {
            match output {
                Output::Column(at) => {
                    let fill = &first.fills[*at];
                    let found = fill.append_values(&*values[*at], rows, to);
                    let found = found
                        .map_err(|it| self.damaged(part, &it))?
                        .into_iter()
                        .filter(|(row, _)| is_complete(*row));
                    bad.extend(found.map(|(row, why)| Bad { row, column: fill.at, why }));
                }
                Output::Complete => {
                    let room = to.scalars_of::<bool>(rows);
                    room.iter_mut().enumerate().for_each(|(at, to)| *to = is_complete(at));
                }
                Output::Fault | Output::Name => {}
            }
        }
        bad.sort_by_key(|it| (it.row, it.column));
        Ok(bad)
    }

    /// Appends rows that nobody sees, all but ids and faults.
    fn append_nothing(&self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        for (output, to) in self.first()?.outputs.iter().zip(&mut out.columns) {
            match output {
                Output::Column(_) => (0..rows).for_each(|_| to.push_nothing()),
                Output::Complete => to.scalars_of::<bool>(rows).fill(true),
                Output::Fault | Output::Name => {}
            }
        }
        Ok(())
    }
}

/// Leaves out the rows from the first that ends the run on: of those that follow the first `before`.
pub(super) fn up_to_end(ends: Ends, before: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
    match ends.into_iter().next() {
        Some((at, why)) => {
            out.truncate(before + at);
            Err(why)
        }
        None => Ok(()),
    }
}
