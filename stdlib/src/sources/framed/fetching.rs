//! Reading records by number: those that follow each other in one read, and large ones straight to where they stay.

use super::{Format, Inner, Raw, Reading, runs::Ranges, unreadable};
use crate::records::{FileError, RecordFault, line_at};
use runtime::{
    ChunkBuilder, Counted, Failure, Shape, ids_of, reads,
    storage::{self, Request},
};
use std::ops::Range;

/// Bytes of a record that is worth a read of its own: a call costs less than copying it.
const LARGE: u64 = 32 << 10;

impl<F: Format> Inner<F> {
    /// Appends records that follow each other in one file, which is near: large ones are read where they stay.
    pub(super) fn fetch_near(
        &self,
        numbers: &[u64],
        reading: &mut Reading<F::Scratch>,
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        if let Some(column) = self.format.rows()
            && self.fetch_rows(numbers, column, out)?
        {
            return Ok(());
        }
        let (index, n) = (self.index()?, numbers.len() as u64);
        let is_large = || {
            let span = index.span(numbers).1;
            span.end - span.start >= n * LARGE
        };
        match self.format.verbatim().filter(|_| is_large()) {
            Some(to) => numbers
                .iter()
                .try_for_each(|it| self.fetch_verbatim((*it, to), &mut reading.scratch, out)),
            None => self.fetch_run(numbers, reading, out),
        }
    }

    /// Appends rows, read straight into the column that holds them; `false` where they are not what they should be.
    fn fetch_rows(
        &self,
        numbers: &[u64],
        column: usize,
        out: &mut ChunkBuilder,
    ) -> Result<bool, Failure> {
        let ((file, range), files) = (self.index()?.span(numbers), self.files()?);
        let path = &files.paths[file as usize];
        let room = out.columns[column].fixed_rows(numbers.len());
        let is_whole = room.len() as u64 == range.end - range.start;
        let read = match is_whole {
            true => self.file(file, path).and_then(|it| it.read_exact_at(room, range.start)),
            false => Ok(()),
        };
        if read.is_err() || !is_whole {
            out.truncate(out.rows());
            return read.map_err(|why| unreadable(path, &why)).map(|()| false);
        }
        reads::count(range.end - range.start);
        self.format.mend(room);
        self.append_ids(numbers, out)?;
        Ok(true)
    }

    /// The ids of records of one file that follow each other, whose other fields were appended.
    fn append_ids(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        let (files, index) = (self.files()?, self.index()?);
        let file = index.records.at(numbers[0] as usize).file as usize;
        let (key, ordinal) = (files.keys[file], numbers[0] - index.firsts[file] as u64);
        let ids = out.ids.scalars_of::<u64>(numbers.len());
        ids.iter_mut().zip(ordinal..).for_each(|(id, ordinal)| *id = ordinal);
        ids_of(self.place, key, ids);
        self.append_name(&files.paths[file], out);
        Ok(())
    }

    /// Appends a record, read straight into the column that holds it.
    fn fetch_verbatim(
        &self,
        (number, column): (u64, usize),
        scratch: &mut F::Scratch,
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        let (files, index) = (self.files()?, self.index()?);
        let at = index.records.at(number as usize);
        let path = &files.paths[at.file as usize];
        let opened = self.file(at.file, path).map_err(|why| unreadable(path, &why))?;
        let room = out.columns[column].room(Shape::new(&[at.len as usize]));
        let read = opened.read_exact_at(room, at.offset);
        let record = index.records.content(room);
        // What follows the record in its place goes.
        let cut = (record.len() < room.len()).then(|| record.to_vec());
        if read.is_err() || cut.is_some() {
            out.truncate(out.rows());
        }
        read.map_err(|why| unreadable(path, &why))?;
        reads::count(at.len.into());
        let record = Raw { bytes: cut.as_deref().unwrap_or_default(), is_utf8: false };
        let appended = match cut {
            Some(_) => self.format.append(record, scratch, out),
            None => self.format.append_beside(column, out),
        };
        self.end_record(number, appended, (record, scratch), out)
    }

    /// Appends records that follow each other in one file.
    fn fetch_run(
        &self,
        numbers: &[u64],
        Reading { bytes, scratch }: &mut Reading<F::Scratch>,
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        let (file, range) = self.index()?.span(numbers);
        let path = &self.files()?.paths[file as usize];
        bytes.resize((range.end - range.start) as usize, 0);
        let read = self.file(file, path).and_then(|it| it.read_exact_at(bytes, range.start));
        read.map_err(|why| unreadable(path, &why))?;
        reads::count(bytes.len() as u64);
        self.append_run(numbers, (bytes, scratch), out)
    }

    /// The same of several such runs; of files that lie far away all are asked for at once.
    pub(super) fn fetch_runs(
        &self,
        runs: &[&[u64]],
        scratch: &mut F::Scratch,
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        let (files, index) = (self.files()?, self.index()?);
        let spans: Vec<_> = runs.iter().map(|it| index.span(it)).collect();
        let path_of = |it: &(u32, Range<u64>)| &files.paths[it.0 as usize];
        let request = |it| Request { path: path_of(it), range: Some(it.1.clone()) };
        let is_far = |it: &&(u32, Range<u64>)| storage::of(path_of(it)).access().is_some();
        // The files of one source lie in one storage, or nearly.
        let mut ranges = Ranges::default();
        let far: Vec<_> = spans.iter().filter(is_far).collect();
        if far.len() == spans.len()
            && let Some(first) = far.first()
        {
            let requests: Vec<_> = far.iter().map(|it| request(it)).collect();
            ranges.read(storage::of(path_of(first)), &requests, &files.waits);
        }
        for (number, run) in runs.iter().enumerate() {
            match ranges.take(number) {
                Some(Ok(bytes)) => self.append_run(run, (&bytes, scratch), out)?,
                Some(Err(why)) => return Err(unreadable(path_of(&spans[number]), &why)),
                None => {
                    let mut reading =
                        Reading { bytes: Counted::new(), scratch: std::mem::take(scratch) };
                    self.fetch_run(run, &mut reading, out)?;
                    *scratch = reading.scratch;
                }
            }
        }
        Ok(())
    }

    /// Appends records that follow each other in one file, and whose bytes are there.
    fn append_run(
        &self,
        numbers: &[u64],
        (bytes, scratch): (&[u8], &mut F::Scratch),
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        let index = self.index()?;
        let place = |it: u64| index.records.at(it as usize);
        let first = place(numbers[0]);
        if self.format.append_rows(bytes, numbers.len(), out) {
            return self.append_ids(numbers, out);
        }
        for &number in numbers {
            let at = place(number);
            let start = (at.offset - first.offset) as usize;
            let record = index.records.content(&bytes[start..start + at.len as usize]);
            let record = Raw { bytes: record, is_utf8: false };
            let appended = self.format.append(record, scratch, out);
            self.end_record(number, appended, (record, scratch), out)?;
        }
        Ok(())
    }

    /// Ends a record that was appended, or could not be: what stands for it then, and its id.
    fn end_record(
        &self,
        number: u64,
        appended: Result<(), RecordFault>,
        record: (Raw<'_>, &mut F::Scratch),
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        let (files, index) = (self.files()?, self.index()?);
        let at = index.records.at(number as usize);
        let (file, path) = (at.file as usize, &files.paths[at.file as usize]);
        let ordinal = number - index.firsts[file] as u64;
        if let Err(fault) = appended {
            out.truncate(out.rows());
            let line = || line_at(path, at.offset).unwrap_or_default();
            let place = self.format.place(ordinal, at.offset, line);
            let error = FileError::at(path, place, fault);
            let told = self.format.append_fault(error, record, out);
            told.map_err(|it| self.of_record(it, (file, ordinal)))?;
        }
        out.ids.push_scalar(self.id(files.keys[file], ordinal));
        self.append_name(path, out);
        Ok(())
    }
}
