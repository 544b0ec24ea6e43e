//! Columns of which each row has one value, of the usual encodings: any thread reads rows of them, from pages that
//! another one has found, right into the memory of a chunk.

use super::{
    super::{Damage, Opened, Rows, Values, damaged, unlike},
    filter::{Filter, SparedValues, overlaps},
    raw::{Coding, RawPage, Ready, levels_of, present},
    runs::{Run, Runs},
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{DataType, TimeUnit};
use parquet::{
    basic::{Compression, Encoding, Type as Physical},
    file::metadata::ColumnChunkMetaData,
};
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    /// So many bytes, the first ones of as many in the file.
    Number {
        of: usize,
        in_file: usize,
    },
    /// Bytes, perhaps of text.
    Text {
        is_utf8: bool,
    },
}

/// What is known of a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct About {
    pub(super) kind: Kind,
    pub(super) codec: Compression,
    /// The level of a value that is there.
    pub(super) level: u32,
}

impl About {
    /// Of a column that can be read so; none of others.
    pub(super) fn of(column: &ColumnChunkMetaData, ty: &DataType, rows: u64) -> Option<Self> {
        let descr = column.column_descr();
        let is_known = |it: Encoding| {
            use Encoding::{PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY};
            matches!(it, PLAIN | PLAIN_DICTIONARY | RLE | RLE_DICTIONARY)
        };
        let is_flat = descr.max_rep_level() == 0 && u64::try_from(column.num_values()) == Ok(rows);
        if !is_flat || !column.encodings().all(is_known) {
            return None;
        }
        let (kind, codec) = (kind(descr.physical_type(), ty)?, column.compression());
        Some(Self { kind, codec, level: u32::try_from(descr.max_def_level()).ok()? })
    }
}

/// What values are that are stored so and read as `ty`, where nothing but their length changes.
fn kind(stored: Physical, ty: &DataType) -> Option<Kind> {
    let number = |of: usize, in_file: usize| Some(Kind::Number { of, in_file });
    match (stored, ty) {
        (Physical::BOOLEAN, DataType::Boolean) => Some(Kind::Bool),
        (Physical::INT32, DataType::Int8 | DataType::UInt8) => number(1, 4),
        (Physical::INT32, DataType::Int16 | DataType::UInt16) => number(2, 4),
        (
            Physical::INT32,
            DataType::Int32
            | DataType::UInt32
            | DataType::Date32
            | DataType::Time32(TimeUnit::Second | TimeUnit::Millisecond),
        )
        | (Physical::FLOAT, DataType::Float32) => number(4, 4),
        (
            Physical::INT64,
            DataType::Int64
            | DataType::UInt64
            | DataType::Time64(_)
            | DataType::Duration(_)
            | DataType::Timestamp(..),
        )
        | (Physical::DOUBLE, DataType::Float64) => number(8, 8),
        (Physical::BYTE_ARRAY, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            Some(Kind::Text { is_utf8: true })
        }
        (Physical::BYTE_ARRAY, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) => {
            Some(Kind::Text { is_utf8: false })
        }
        _ => None,
    }
}

/// Appends which of the next `n` values are there.
fn append_present(
    levels: &mut Runs<'_>,
    n: usize,
    level: u32,
    to: &mut BooleanBufferBuilder,
) -> Option<()> {
    let mut left = n;
    while left > 0 {
        let run = levels.take(left)?;
        left -= run.len();
        match run {
            Run::Same(it, n) => to.append_n(n, it == level),
            Run::Packed(packed) => match packed.bits() {
                Some((bits, first)) => to.append_packed_range(first..first + packed.len(), bits),
                None => packed.each(|_, it| to.append(it == level)),
            },
        }
    }
    Some(())
}

/// Rows of a row group, found and not read yet.
pub(super) struct FlatRows {
    rows: Range<u64>,
    columns: Vec<FlatColumn>,
    filter: Option<Arc<Filter>>,
    /// The rows that may be needed, once that was asked.
    needed: OnceLock<Vec<Range<u64>>>,
}

/// The pages that the rows of a column lie in.
pub(super) struct FlatColumn {
    pub(super) about: About,
    pub(super) pages: Vec<Arc<RawPage>>,
    /// The one that follows them, if it was found.
    pub(super) next: Option<Arc<RawPage>>,
}

impl FlatRows {
    pub(super) fn new(
        rows: Range<u64>,
        columns: Vec<FlatColumn>,
        filter: Option<Arc<Filter>>,
    ) -> Self {
        Self { rows, columns, filter, needed: OnceLock::new() }
    }

    /// The rows that may be needed, in ascending order, where there is a filter.
    fn needed(&self) -> Option<(&Filter, &[Range<u64>])> {
        let filter = self.filter.as_deref()?;
        Some((filter, self.needed.get_or_init(|| filter.needed(&self.columns, &self.rows))))
    }
}

impl Rows for FlatRows {
    fn rows(&self) -> Range<u64> {
        self.rows.clone()
    }

    fn bytes(&self) -> usize {
        let pages = self.columns.iter().flat_map(|it| &it.pages);
        pages.map(|it| it.bytes_of(&self.rows)).sum()
    }

    fn lost(&self) -> Vec<(Range<u64>, Damage)> {
        let (mut pages, mut next) = (Vec::new(), Vec::new());
        for (at, column) in self.columns.iter().enumerate() {
            let before = pages.len();
            for page in &column.pages {
                // Of what is spared only rows that may be needed are lost: which ones does not depend on how many are read
                // at a time.
                let rows = match self.needed().filter(|it| it.0.spares(at)) {
                    Some((_, needed)) => overlaps(&page.rows, needed),
                    None => vec![page.rows.clone()],
                };
                if !rows.is_empty() {
                    pages.push((&**page, rows));
                }
            }
            if pages.len() - before == column.pages.len() {
                next.extend(column.next.as_deref());
            }
        }
        // What another thread makes ready is waited for when nothing else is left to do: of several columns, pages seldom
        // end at the same row, so that without those that follow there would be one at a time.
        pages.iter().filter_map(|it| it.0.dictionary.as_ref()).for_each(|it| it.begin());
        pages.iter().for_each(|it| it.0.begin());
        for next in next {
            if !pages.iter().any(|it| it.0.is_under_way()) {
                break;
            }
            next.begin();
        }
        let mut bad: Vec<(Range<u64>, Arc<str>)> = Vec::new();
        for (page, rows) in pages {
            if let Err(why) = page.ready() {
                bad.extend(rows.into_iter().map(|it| (it, why.clone())));
            }
        }
        let mut lost = Vec::new();
        let mut row = self.rows.start;
        while !bad.is_empty() && row < self.rows.end {
            // Of several columns the first one tells.
            let why = bad.iter().find(|it| it.0.contains(&row)).map(|it| &it.1);
            let ends = bad.iter().flat_map(|it| [it.0.start, it.0.end]).filter(|it| *it > row);
            let end = ends.min().unwrap_or(u64::MAX).min(self.rows.end);
            lost.extend(why.map(|why| (row..end, damaged(why))));
            row = end;
        }
        lost
    }

    fn open(&self, rows: &Range<u64>) -> Result<Opened<'_>, Damage> {
        let open = |(at, it): (usize, &FlatColumn)| match self.needed() {
            Some((filter, needed)) if filter.spares(at) => {
                Some(Box::new(SparedValues::of(it, rows, needed)?) as Box<dyn Values>)
            }
            _ => Some(Box::new(FlatValues::of(it, rows)?) as _),
        };
        let all = self.columns.iter().enumerate().map(open).collect::<Option<_>>();
        all.map(Opened::Values).ok_or_else(|| damaged("its encoding is damaged"))
    }
}

/// The values of some rows of a column.
pub(super) struct FlatValues {
    kind: Kind,
    rows: usize,
    pieces: Vec<Piece>,
    /// Values that are there.
    present: usize,
    nulls: Option<NullBuffer>,
}

/// Those of one page: its values before them, and how many are there.
struct Piece {
    page: Arc<Ready>,
    before: usize,
    present: usize,
}

impl FlatValues {
    pub(super) fn of(column: &FlatColumn, rows: &Range<u64>) -> Option<Self> {
        let About { kind, level, .. } = column.about;
        let (mut pieces, mut levels) = (Vec::new(), Vec::new());
        for page in &column.pages {
            let both = page.rows.start.max(rows.start)..page.rows.end.min(rows.end);
            if both.is_empty() {
                continue;
            }
            let before = (both.start - page.rows.start) as usize;
            let n = (both.end - both.start) as usize;
            let ready = page.ready().ok()?;
            if level == 0 {
                pieces.push(Piece { page: ready, before, present: n });
                continue;
            }
            let mut runs = levels_of(&ready.levels, level)?;
            let before = present(&mut runs, before, level)?;
            let there = present(&mut runs.clone(), n, level)?;
            levels.push((pieces.len(), (page.rows.start, both.start), n));
            pieces.push(Piece { page: ready, before, present: there });
        }
        let present = pieces.iter().map(|it| it.present).sum();
        let rows = (rows.end - rows.start) as usize;
        let mut nulls = None;
        if present < rows {
            let mut is_there = BooleanBufferBuilder::new(rows);
            for (piece, (first, start), n) in levels {
                let mut runs = levels_of(&pieces[piece].page.levels, level)?;
                runs.skip((start - first) as usize)?;
                append_present(&mut runs, n, level, &mut is_there)?;
            }
            nulls = Some(NullBuffer::new(is_there.finish())).filter(|it| it.len() == rows);
            nulls.as_ref()?;
        }
        Some(Self { kind, rows, pieces, present, nulls })
    }

    /// Writes those that are there, end to end.
    fn numbers<const OF: usize, const IN_FILE: usize>(
        &self,
        room: &mut [u8],
    ) -> Result<(), Damage> {
        let (mut room, _) = room.as_chunks_mut::<OF>();
        let short = |it: &[u8; IN_FILE]| *it.first_chunk::<OF>().expect("it is longer in the file");
        for Piece { page, before, present } in &self.pieces {
            let there = std::mem::take(&mut room).split_at_mut_checked(*present);
            let (to, rest) = there.ok_or_else(unlike)?;
            room = rest;
            if page.coding == Coding::Plain {
                if let Some(lying) = &page.lying {
                    let wanted = self.present * IN_FILE;
                    lying.read(to.as_flattened_mut(), before * IN_FILE, wanted)?;
                    continue;
                }
                let values = page.values.get(before * IN_FILE..(before + present) * IN_FILE);
                let values = values.ok_or_else(unlike)?;
                if OF == IN_FILE {
                    to.as_flattened_mut().copy_from_slice(values);
                } else {
                    let (values, _) = values.as_chunks::<IN_FILE>();
                    to.iter_mut().zip(values).for_each(|(to, it)| *to = short(it));
                }
                continue;
            }
            let dictionary = page.dictionary.as_ref().ok_or_else(unlike)?;
            let (values, _) = dictionary.values.as_chunks::<IN_FILE>();
            // None is beyond them, as was seen when the page was made ready.
            let last = values.len().saturating_sub(1);
            let value = |at: u32| values.get(last.min(at as usize)).map_or([0; OF], short);
            numbered(page, *before, to, value).ok_or_else(unlike)?;
        }
        Ok(())
    }

    /// The same of booleans.
    fn booleans(&self, mut room: &mut [u8]) -> Option<()> {
        for Piece { page, before, present } in &self.pieces {
            let (to, rest) = std::mem::take(&mut room).split_at_mut_checked(*present)?;
            room = rest;
            match page.coding {
                Coding::Plain => {
                    let bit = |at: usize| Some(page.values.get(at / 8)? >> (at % 8) & 1);
                    for (at, to) in to.iter_mut().enumerate() {
                        *to = bit(before + at)?;
                    }
                }
                Coding::Runs => {
                    let (mut runs, mut to) = (Runs::new(&page.values, 1)?, to);
                    runs.skip(*before)?;
                    while !to.is_empty() {
                        let run = runs.take(to.len())?;
                        let (these, rest) = std::mem::take(&mut to).split_at_mut(run.len());
                        to = rest;
                        match run {
                            Run::Same(it, _) => these.fill(u8::from(it == 1)),
                            Run::Packed(packed) => packed.each(|at, it| these[at] = it as u8),
                        }
                    }
                }
                Coding::Numbers(_) => return None,
            }
        }
        Some(())
    }

    /// Moves values that lie end to end to their rows; the others are zeros.
    fn spread(&self, room: &mut [u8]) {
        let Some(nulls) = &self.nulls else { return };
        let size = room.len() / self.rows.max(1);
        let mut from = self.present;
        for row in (0..self.rows).rev() {
            if nulls.is_valid(row) {
                from -= 1;
                room.copy_within(from * size..(from + 1) * size, row * size);
            } else {
                room[row * size..(row + 1) * size].fill(0);
            }
        }
    }
}

impl Values for FlatValues {
    fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }

    fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Text { .. })
    }

    fn fixed(&self, room: &mut [u8]) -> Result<(), Damage> {
        let size = match self.kind {
            Kind::Bool => 1,
            Kind::Number { of, .. } => of,
            Kind::Text { .. } => return Err(unlike()),
        };
        if room.len() != self.rows * size {
            return Err(unlike());
        }
        match self.kind {
            Kind::Bool => self.booleans(room).ok_or_else(unlike)?,
            Kind::Number { of: 1, .. } => self.numbers::<1, 4>(room)?,
            Kind::Number { of: 2, .. } => self.numbers::<2, 4>(room)?,
            Kind::Number { of: 4, .. } => self.numbers::<4, 4>(room)?,
            _ => self.numbers::<8, 8>(room)?,
        }
        self.spread(room);
        Ok(())
    }

    fn texts(&self, to: &mut dyn FnMut(Option<&[u8]>)) -> Result<(), Damage> {
        self.all_texts(to).ok_or_else(unlike)
    }
}

impl FlatValues {
    fn all_texts(&self, to: &mut dyn FnMut(Option<&[u8]>)) -> Option<()> {
        let mut row = 0;
        let mut give = |text: &[u8]| {
            while self.nulls.as_ref().is_some_and(|it| it.is_null(row)) {
                to(None);
                row += 1;
            }
            to(Some(text));
            row += 1;
        };
        let mut numbers = Vec::new();
        for Piece { page, before, present } in &self.pieces {
            if page.coding == Coding::Plain {
                for it in *before..before + present {
                    give(page.text(it)?);
                }
                continue;
            }
            let dictionary = page.dictionary.as_ref()?;
            numbers.clear();
            numbers.resize(*present, 0);
            numbered(page, *before, &mut numbers, |at| at)?;
            for it in &numbers {
                give(dictionary.text(*it as usize)?);
            }
        }
        (row..self.rows).for_each(|_| to(None));
        Some(())
    }
}

/// Writes the values of a page that are those of these numbers in the dictionary.
fn numbered<T: Copy>(
    page: &Ready,
    before: usize,
    mut to: &mut [T],
    value: impl Fn(u32) -> T,
) -> Option<()> {
    let Coding::Numbers(width) = page.coding else { return None };
    let mut runs = Runs::new(&page.values, width)?;
    runs.skip(before)?;
    while !to.is_empty() {
        let run = runs.take(to.len())?;
        let (these, rest) = std::mem::take(&mut to).split_at_mut(run.len());
        to = rest;
        match run {
            Run::Same(number, _) => these.fill(value(number)),
            Run::Packed(packed) => packed.fill(these, &value),
        }
    }
    Some(())
}
