//! Finds the pages that rows of a row group lie in, of columns that any thread can read.

use super::{
    super::{LOST_MAX, Rows, Walk, Walked},
    Group, ParquetFile,
    filter::Filter,
    flat::{About, FlatColumn, FlatRows},
    header::Kind,
    leaf,
    pages::{Chunk, Lost},
    raw::RawPage,
};
use std::{collections::VecDeque, ops::Range, sync::Arc};

/// A walk through the rows of a row group.
pub(super) struct Pages {
    columns: Vec<Column>,
    /// The next row; none where something is not as it should be.
    row: Option<u64>,
    filter: Option<Arc<Filter>>,
}

/// A column, and its pages that were found.
struct Column {
    about: About,
    chunk: Chunk,
    dictionary: Option<Arc<RawPage>>,
    pages: VecDeque<Arc<RawPage>>,
    /// The row that follows them.
    end: u64,
    /// Whether what follows must be read otherwise.
    has_ended: bool,
}

/// The numbers of encodings that can be read so: plain, runs, and numbers of a dictionary.
const ENCODINGS: [i32; 4] = [0, 2, RLE, 8];
const RLE: i32 = 3;

impl Pages {
    /// None where a column is not one of those.
    pub(super) fn of(
        file: &ParquetFile,
        &Walked { part, wanted, conditions, row }: &Walked<'_>,
    ) -> Option<Self> {
        let group = Group { file: file.inner.clone(), number: part, lost: Lost::default() };
        let meta = file.inner.meta.row_group(part);
        let column = |path: &Vec<String>| {
            let (at, ty) = (leaf(meta.schema_descr(), path)?, file.type_of(path)?);
            let about = About::of(meta.column(at), &ty, file.rows[part])?;
            let chunk = Chunk::new(&group, at).ok()?;
            let (dictionary, pages) = (None, VecDeque::new());
            Some(Column { about, chunk, dictionary, pages, end: 0, has_ended: false })
        };
        let columns = wanted.iter().map(column).collect::<Option<_>>()?;
        let type_of = |path: &[String]| file.type_of(path);
        let filter = Filter::of((&file.inner, part), wanted, conditions, type_of).map(Arc::new);
        Some(Self { columns, row: Some(row), filter })
    }
}

impl Walk for Pages {
    fn take(&mut self, n: u64) -> Option<Box<dyn Rows>> {
        // Where it ends once, it does so for all that follow.
        let row = self.row.take()?;
        let mut rows = row..row.checked_add(n)?;
        for column in &mut self.columns {
            column.find(&rows);
            rows.end = rows.end.min(column.end);
        }
        if rows.is_empty() {
            return None;
        }
        let columns = self.columns.iter().map(|it| it.of(&rows)).collect();
        self.row = Some(rows.end);
        Some(Box::new(FlatRows::new(rows, columns, self.filter.clone())))
    }

    fn go_to(&mut self, row: u64) {
        self.row = self.row.map(|it| it.max(row));
    }
}

impl Column {
    /// Finds the pages of these rows and the one that follows, up to one that must be read otherwise.
    fn find(&mut self, rows: &Range<u64>) {
        while self.pages.front().is_some_and(|it| it.rows.end <= rows.start) {
            self.pages.pop_front();
        }
        let is_last = |it: &Arc<RawPage>| it.rows.start < rows.end;
        while !self.has_ended && self.pages.back().is_none_or(is_last) {
            self.has_ended = self.next(rows.start).is_none();
        }
    }

    /// The next page; none where it must be read otherwise.
    fn next(&mut self, row: u64) -> Option<()> {
        let (header, range) = self.chunk.ahead()?;
        let is_dictionary = matches!(header.kind, Kind::Dictionary { .. });
        let is_known = match header.kind {
            Kind::Data { values, encoding, def_levels, .. } => {
                let levels = self.about.level == 0 || def_levels == RLE;
                levels && ENCODINGS.contains(&encoding) && count(&range) == u64::from(values)
            }
            Kind::DataV2 { values, encoding, rep_bytes: 0, .. } => {
                ENCODINGS.contains(&encoding) && count(&range) == u64::from(values)
            }
            Kind::Dictionary { .. } => self.dictionary.is_none() && self.end == 0,
            _ => false,
        };
        if !is_known || count(&range) > LOST_MAX {
            return None;
        }
        if !is_dictionary && range.end <= row {
            self.chunk.leave();
            self.end = range.end;
            return Some(());
        }
        let place = self.chunk.place()?;
        let dictionary = self.dictionary.clone();
        let page = Arc::new(RawPage::new(self.about, (header, range), dictionary, place));
        self.end = page.rows.end;
        if is_dictionary {
            self.dictionary = Some(page);
        } else if !page.rows.is_empty() {
            self.pages.push_back(page);
        }
        Some(())
    }

    /// The pages that these rows lie in, which were found.
    fn of(&self, rows: &Range<u64>) -> FlatColumn {
        let of_rows = self.pages.iter().take_while(|it| it.rows.start < rows.end);
        let pages: Vec<_> = of_rows.cloned().collect();
        let next = self.pages.get(pages.len()).cloned();
        FlatColumn { about: self.about, pages, next }
    }
}

fn count(rows: &Range<u64>) -> u64 {
    rows.end - rows.start
}
