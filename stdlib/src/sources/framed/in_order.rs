//! Records as they lie in their files: found in blocks, one file after the other, and read by any thread.

use super::{Files, Format, Inner, Neighbours, Raw, file_failure, parts::Part};
use crate::records::{FileError, OwnBlock, Position, RecordReader, Span, line_at};
use runtime::{ChunkBuilder, Counted, Failure, Stream, Unread, ids_of};
use std::{ops::Range, sync::Arc};

/// The records of all files, one after the other.
pub(super) struct InOrder<F> {
    inner: Arc<Inner<F>>,
    walk: Walk,
}

/// Goes through the records of files.
#[derive(Default)]
pub(super) struct Walk {
    /// A file alone, or a part of one, and the bytes of its blocks; none for all files.
    only: Option<(Part, usize)>,
    reader: Option<RecordReader>,
    held: Held,
    /// Records of the block that were handed on.
    next: usize,
}

/// Records of one file that stand together.
#[derive(Clone, Default)]
pub(super) struct Held {
    block: Arc<OwnBlock>,
    /// The number, in the file, of the first of them.
    ordinal: u64,
    /// Whether nobody has counted the lines before them.
    is_uncounted: bool,
}

/// Some of them, in order.
pub(super) struct Run {
    pub(super) held: Held,
    pub(super) records: Range<usize>,
}

/// Records that were found, to be read.
pub(super) struct Found<F> {
    pub(super) inner: Arc<Inner<F>>,
    pub(super) runs: Vec<Run>,
    /// The run that each record is the next one of; none where one run follows the other.
    pub(super) turns: Option<Counted<u32>>,
}

impl<F: Format> InOrder<F> {
    pub(super) fn new(inner: Arc<Inner<F>>) -> Self {
        Self { inner, walk: Walk::default() }
    }
}

impl<F: Format> Stream for InOrder<F> {
    fn finds(&self) -> bool {
        self.inner.format.is_found_first()
    }

    fn find(&mut self, rows: usize) -> Result<Option<Box<dyn Unread>>, Failure> {
        let inner = &self.inner;
        let Some(run) = self.walk.take(rows, (inner, inner.files()?))? else { return Ok(None) };
        Ok(Some(Box::new(Found { inner: inner.clone(), runs: vec![run], turns: None })))
    }

    fn place(&self) -> Option<Vec<u64>> {
        Some(self.walk.place().to_vec())
    }

    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        let place = place.try_into().map_err(|_| changed())?;
        self.walk.go_to(place, (&self.inner, self.inner.files()?))
    }
}

/// Why a stream cannot go on where it was.
pub(super) fn changed() -> Failure {
    Failure::State("a file of the source became shorter".to_owned())
}

impl Walk {
    /// Through a part alone, in blocks of so many bytes.
    pub(super) fn only(part: Part, block: usize) -> Self {
        let Part { file, offset, first, .. } = part;
        let held = Held {
            block: Arc::new(OwnBlock::at(Position { file, offset, line: 0 })),
            ordinal: first,
            is_uncounted: offset > 0,
        };
        Self { only: Some((part, block)), held, ..Self::default() }
    }

    /// Records of the block that it goes through.
    fn records(&self) -> usize {
        let len = self.held.block.records.len();
        let end = self.only.map_or(u64::MAX, |it| it.0.end).saturating_sub(self.held.ordinal);
        usize::try_from(end).unwrap_or(usize::MAX).min(len)
    }

    /// The next records, at most `rows`, of one block; none at the end.
    pub(super) fn take<F: Format>(
        &mut self,
        rows: usize,
        from: (&Inner<F>, &Files),
    ) -> Result<Option<Run>, Failure> {
        if self.next >= self.records() {
            // The part may end in the block.
            let is_over = self.records() < self.held.block.records.len();
            if is_over || !self.read(from)? || self.records() == 0 {
                return Ok(None);
            }
        }
        let end = self.records().min(self.next.saturating_add(rows));
        let records = self.next..end;
        self.next = end;
        Ok(Some(Run { held: self.held.clone(), records }))
    }

    /// Goes past the next record, if it lies in the block of `run` and follows its last one.
    pub(super) fn extend(&mut self, run: &mut Run) -> bool {
        let follows = Arc::ptr_eq(&run.held.block, &self.held.block)
            && run.records.end == self.next
            && self.next < self.records();
        if follows {
            self.next += 1;
            run.records.end = self.next;
        }
        follows
    }

    /// The block that is held, and how many of its records were handed on.
    pub(super) fn place(&self) -> [u64; 5] {
        let Held { block, ordinal, .. } = &self.held;
        let Position { file, offset, line } = block.position;
        [u64::from(file), offset, line, *ordinal, self.next as u64]
    }

    /// Goes to a place that [`place`](Self::place) has given.
    pub(super) fn go_to<F: Format>(
        &mut self,
        [file, offset, line, ordinal, next]: [u64; 5],
        (inner, files): (&Inner<F>, &Files),
    ) -> Result<(), Failure> {
        // A record has a byte at least.
        if file as usize >= files.paths.len() || line > offset || ordinal > offset {
            return Err(changed());
        }
        let position = Position { file: file as u32, offset, line };
        let mut reader = self.open((inner, files))?;
        reader.resume(position);
        self.reader = Some(reader);
        let is_uncounted = self.held.is_uncounted;
        self.held = Held { block: Arc::new(OwnBlock::at(position)), ordinal, is_uncounted };
        if next > 0 {
            let found = self.read((inner, files))? && self.held.block.records.len() as u64 >= next;
            let Position { file: found_file, offset: found_offset, .. } = self.held.block.position;
            if !found || (u64::from(found_file), found_offset) != (file, offset) {
                return Err(changed());
            }
            self.next = next as usize;
        }
        Ok(())
    }

    fn open<F: Format>(
        &self,
        (inner, files): (&Inner<F>, &Files),
    ) -> Result<RecordReader, Failure> {
        let reader = inner.reader(files)?;
        Ok(match self.only {
            Some((Part { file, offset, .. }, block)) => {
                let mut reader = reader.only(file).with_blocks_of(block);
                if offset > 0 {
                    reader.resume(Position { file, offset, line: 0 });
                }
                reader
            }
            None => reader,
        })
    }

    /// Reads a block; `false` at the end.
    fn read<F: Format>(&mut self, from: (&Inner<F>, &Files)) -> Result<bool, Failure> {
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => self.open(from)?,
        };
        let taken = reader.take_block().map_err(file_failure);
        self.reader = Some(reader);
        let Some(block) = taken? else { return Ok(false) };
        let Held { block: before, ordinal, is_uncounted } = &self.held;
        let is_same = block.position.file == before.position.file;
        let ordinal = if is_same { ordinal + before.records.len() as u64 } else { 0 };
        let is_uncounted = *is_uncounted;
        (self.held, self.next) = (Held { block: Arc::new(block), ordinal, is_uncounted }, 0);
        Ok(true)
    }
}

impl<F: Format> Unread for Found<F> {
    fn len(&self) -> usize {
        self.runs.iter().map(|it| it.records.len()).sum()
    }

    fn bytes(&self) -> usize {
        let of = |it: &Run| {
            it.held.block.bytes(it.records.clone()).len() + it.records.len() * size_of::<Span>()
        };
        self.runs.iter().map(of).sum()
    }

    fn read(&self, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let read = self.append(out);
        // Also of those before one that cannot be read.
        self.inner.format.finish(out);
        read
    }
}

impl<F: Format> Found<F> {
    fn append(&self, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let mut scratch = F::Scratch::default();
        let mut reading = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            reading.push(Reading::of(run, &self.inner)?);
        }
        match &self.turns {
            Some(turns) => {
                turns.iter().try_for_each(|it| reading[*it as usize].append(1, &mut scratch, out))
            }
            None => reading.iter_mut().try_for_each(|it| it.append(usize::MAX, &mut scratch, out)),
        }
    }
}

/// A run, as far as it was read.
struct Reading<'r, F> {
    inner: &'r Inner<F>,
    files: &'r Files,
    held: &'r Held,
    left: Range<usize>,
    is_utf8: bool,
}

impl<'r, F: Format> Reading<'r, F> {
    fn of(run: &'r Run, inner: &'r Inner<F>) -> Result<Self, Failure> {
        let Run { held, records } = run;
        // All together take less time than one by one; only if some are not, it is asked of each.
        let is_utf8 = F::IS_TEXT && str::from_utf8(held.block.bytes(records.clone())).is_ok();
        Ok(Self { inner, files: inner.files()?, held, left: records.clone(), is_utf8 })
    }

    /// Appends its next records, at most `rows`.
    fn append(
        &mut self,
        rows: usize,
        scratch: &mut F::Scratch,
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        let Self { inner, files, held: Held { block, ordinal, .. }, .. } = *self;
        let key = files.keys[block.position.file as usize];
        let end = self.left.end.min(self.left.start.saturating_add(rows));
        while self.left.start < end {
            let records = self.left.start..end;
            let neighbours = Neighbours { block, records, is_utf8: self.is_utf8 };
            let (n, alone) = inner.format.append_together(&neighbours, scratch, out);
            let ids = out.ids.scalars_of::<u64>(n);
            for (id, at) in ids.iter_mut().zip(self.left.by_ref()) {
                *id = ordinal + at as u64;
            }
            ids_of(inner.place, key, ids);
            inner.append_name(&files.paths[block.position.file as usize], out);
            self.append_alone(alone, scratch, out)?;
        }
        Ok(())
    }

    /// The same, one by one.
    fn append_alone(
        &mut self,
        rows: usize,
        scratch: &mut F::Scratch,
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        let Self { inner, files, held: Held { block, ordinal, is_uncounted }, .. } = *self;
        let file = block.position.file as usize;
        let (path, key) = (&files.paths[file], files.keys[file]);
        for at in self.left.by_ref().take(rows) {
            let ordinal = ordinal + at as u64;
            let record = Raw { bytes: block.record(at), is_utf8: self.is_utf8 };
            if let Err(fault) = inner.format.append(record, scratch, out) {
                out.truncate(out.rows());
                let offset = block.offset(at);
                let line = || match is_uncounted {
                    true => line_at(path, offset).unwrap_or_default(),
                    false => block.line(at),
                };
                let place = inner.format.place(ordinal, offset, line);
                let error = FileError::at(path, place, fault);
                let told = inner.format.append_fault(error, (record, scratch), out);
                told.map_err(|it| inner.of_record(it, (file, ordinal)))?;
            }
            out.ids.push_scalar(inner.id(key, ordinal));
            inner.append_name(path, out);
        }
        Ok(())
    }
}
