//! Windows of a source in any order: which of its records each one has (`semantics.md`, 7).
//!
//! Where a window begins is arithmetic. Of series, that are told apart by a key, it takes where each begins: found by
//! reading what the key needs, once, before the first record is asked for.

use crate::{
    Chunk, ChunkBuilder, Column, Failure, Permutation, Pool, Source, Working, eval::Compiled, mix,
};
use plan::{Field, shown_bytes};
use std::sync::{Arc, OnceLock};

/// Records that are read at a time to find series.
const ROWS: u64 = 8192;

/// Windows of the records of one pass.
pub(super) struct Windowed {
    pub(super) length: u64,
    pub(super) hop: u64,
    /// Keys of the shuffles of the windows, hashes of seed and place, the first one innermost.
    pub(super) shuffles: Vec<u64>,
    pub(super) series: Option<Series>,
}

/// What windows do not mix, and how it is found.
pub(super) struct Series {
    /// The same source with the columns that the key needs.
    pub(super) source: Arc<dyn Source>,
    pub(super) columns: Vec<Field>,
    pub(super) key: Arc<Compiled>,
    /// Bytes that the run may take.
    pub(super) memory: u64,
    pub(super) pool: Pool,
    pub(super) begins: OnceLock<Result<Begins, Failure>>,
}

/// Where the windows of each series begin that has one.
pub(super) struct Begins {
    /// For each such series, in order, the windows before it, and its first record.
    firsts: Vec<(u64, u64)>,
    /// All windows.
    windows: u64,
    /// Counted for as long as they are held.
    _memory: Working,
}

impl Windowed {
    /// How many windows the `rows` records from `first` on have.
    pub(super) fn count(&self, first: u64, rows: u64) -> Result<u64, Failure> {
        match &self.series {
            None => Ok(self.of(rows)),
            Some(series) => Ok(series.begins(self, first, rows)?.windows),
        }
    }

    /// Windows of so many records.
    fn of(&self, rows: u64) -> u64 {
        rows.checked_sub(self.length).map_or(0, |it| it / self.hop + 1)
    }

    /// Where a window begins, among the records; none before they were counted.
    pub(super) fn begin(&self, window: u64) -> u64 {
        let begins = self.series.as_ref().and_then(|it| it.begins.get()?.as_ref().ok());
        let (before, first) = begins.map_or((0, 0), |it| it.series_of(window));
        first + (window - before) * self.hop
    }

    /// Which of `windows` stands at a place of the pass `lap`.
    pub(super) fn order(&self, windows: u64, lap: u64) -> impl Fn(u64) -> u64 {
        let outermost_first = self.shuffles.iter().rev();
        let shuffles: Vec<_> =
            outermost_first.map(|key| Permutation::new(windows, mix(*key, lap))).collect();
        move |place| shuffles.iter().fold(place, |at, shuffle| shuffle.at(at))
    }

    /// So many records of a chunk from a place on, at most `rows`, that it ends with a window: their rows need no copy
    /// then.
    pub(super) fn whole(&self, place: u64, rows: usize) -> usize {
        let over = ((place + rows as u64) % self.length) as usize;
        if over < rows { rows - over } else { rows }
    }
}

impl Begins {
    /// The series that a window is in: the windows before it, and its first record.
    fn series_of(&self, window: u64) -> (u64, u64) {
        let after = self.firsts.partition_point(|it| it.0 <= window);
        after.checked_sub(1).map_or((0, 0), |it| self.firsts[it])
    }
}

impl Series {
    fn begins(&self, windows: &Windowed, first: u64, rows: u64) -> Result<&Begins, Failure> {
        let begins = self.begins.get_or_init(|| self.find(windows, first, rows));
        begins.as_ref().map_err(Clone::clone)
    }

    /// Reads the keys of all records.
    fn find(&self, windows: &Windowed, first: u64, rows: u64) -> Result<Begins, Failure> {
        let mut finding = Finding { begins: Vec::new(), windows: 0, begin: 0, last: None };
        let (mut stream, mut registers) = (self.source.stream(), self.key.registers());
        let end = first + rows;
        // A stream is read from its begin on.
        let mut at = if stream.is_some() { 0 } else { first };
        while at < end {
            let asked = (end - at).min(ROWS);
            let mut out = ChunkBuilder::new(&self.columns, asked as usize, 0, &self.pool);
            match &mut stream {
                Some(stream) => stream.next(asked as usize, &mut out)?,
                None => self.source.fetch(&(at..at + asked).collect::<Vec<_>>(), &mut out)?,
            }
            let found = out.finish();
            if found.rows == 0 {
                let detail =
                    format!("its source has {at} records, but had {end} when it was listed");
                return Err(Failure::Data { label: String::new(), detail });
            }
            let skipped = first.saturating_sub(at).min(found.rows as u64) as usize;
            let chunk = found.cut(skipped..found.rows);
            at += found.rows as u64;
            let keys = self.key.run(&mut registers, &chunk, None, &mut Vec::new())?;
            finding.take(windows, &keys, at - chunk.rows as u64 - first);
            self.check(finding.begins.len() * size_of::<(u64, u64)>())?;
        }
        finding.close(windows, rows);
        let Finding { begins: firsts, windows, .. } = finding;
        let memory = Working::of(firsts.len() * size_of::<(u64, u64)>());
        Ok(Begins { firsts, windows, _memory: memory })
    }

    /// Fails where the series are too many to be held.
    fn check(&self, bytes: usize) -> Result<(), Failure> {
        if bytes as u64 <= self.memory / 2 {
            return Ok(());
        }
        let detail = format!(
            "where the series of `by` begin takes {}, but the limit is {}: raise the memory, or shuffle within a \
             window",
            shown_bytes(bytes as u64),
            shown_bytes(self.memory / 2)
        );
        Err(Failure::Memory { label: String::new(), detail })
    }
}

/// Series, as they are found.
struct Finding {
    begins: Vec<(u64, u64)>,
    windows: u64,
    /// Where the series at hand begins.
    begin: u64,
    /// The key of the last record.
    last: Option<Vec<u8>>,
}

impl Finding {
    /// Takes the keys of records from `first` on.
    fn take(&mut self, windows: &Windowed, keys: &Chunk, first: u64) {
        let keys: &Column = &keys.columns[0];
        for row in 0..keys.rows() {
            let is_same = match (row, &self.last) {
                (0, None) => true,
                (0, Some(last)) => last == keys.row(0).as_text(),
                _ => keys.row(row - 1).as_text() == keys.row(row).as_text(),
            };
            if !is_same {
                self.close(windows, first + row as u64);
            }
        }
        if let Some(last) = keys.rows().checked_sub(1) {
            self.last = Some(keys.row(last).as_text().to_vec());
        }
    }

    /// The series at hand ends before record `end`.
    fn close(&mut self, windows: &Windowed, end: u64) {
        let more = windows.of(end - self.begin);
        if more > 0 {
            self.begins.push((self.windows, self.begin));
        }
        self.windows += more;
        self.begin = end;
    }
}
