//! Rows that a filter behind the source drops, found by their values: of long columns that the filter does not read, the
//! pages in which no other row lies stay unread.

use super::{
    super::{Bound, Comparison, Condition, Damage, Values, unlike},
    Inner,
    flat::{FlatColumn, FlatValues},
    leaf,
};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use std::ops::Range;

/// How much longer what is spared has to be, in the file, than what the filter reads: that is read twice.
const WORTH: u64 = 4;

/// What must be true of rows of a row group.
pub(super) struct Filter {
    tests: Vec<Test>,
    /// Whether each of the columns is only given for rows that may be needed.
    spared: Vec<bool>,
}

struct Test {
    /// Which of the columns that are read.
    column: usize,
    ty: DataType,
    compared: Option<(Comparison, Bound)>,
    nulls_matter: bool,
}

impl Filter {
    /// Of texts among the columns `wanted` of a row group; none where they would be read all the same. `type_of` gives the
    /// type that a column is read as.
    pub(super) fn of(
        (file, part): (&Inner, usize),
        wanted: &[Vec<String>],
        conditions: &[Condition],
        type_of: impl Fn(&[String]) -> Option<DataType>,
    ) -> Option<Self> {
        let group = file.meta.row_group(part);
        let chunk = |path: &[String]| Some(group.column(leaf(group.schema_descr(), path)?));
        let mut tests = Vec::new();
        for Condition { path, test, nulls_matter } in conditions {
            let (column, ty) = (wanted.iter().position(|it| it == path)?, type_of(path)?);
            let (statistics, descr) = (chunk(path)?.statistics(), chunk(path)?.column_descr());
            let nulls = statistics.and_then(|it| it.null_count_opt());
            let nulls_matter = *nulls_matter && descr.max_def_level() > 0 && nulls != Some(0);
            let compared = test.clone();
            if compared.is_some() || nulls_matter {
                tests.push(Test { column, ty, compared, nulls_matter });
            }
        }
        if tests.iter().all(|it| it.compared.is_none()) {
            return None;
        }
        let is_read = |at: usize| tests.iter().any(|it| it.column == at);
        let (mut spared, mut bytes) = (Vec::new(), [0, 0]);
        for (at, path) in wanted.iter().enumerate() {
            let is_spared = !is_read(at) && is_text(&type_of(path)?);
            let of_column = chunk(path)?.compressed_size().max(0) as u64;
            if is_spared || is_read(at) {
                bytes[usize::from(is_spared)] += of_column;
            }
            spared.push(is_spared);
        }
        let [read, kept_back] = bytes;
        (kept_back > 0 && kept_back / WORTH >= read).then_some(Self { tests, spared })
    }

    /// Whether a column is only given for rows that may be needed.
    pub(super) fn spares(&self, column: usize) -> bool {
        self.spared[column]
    }

    /// Which of the rows may be needed, in ascending order: those that cannot be read as well, so that this is told.
    pub(super) fn needed(&self, columns: &[FlatColumn], rows: &Range<u64>) -> Vec<Range<u64>> {
        let n = (rows.end - rows.start) as usize;
        let (mut refuted, mut kept) = (vec![false; n], vec![false; n]);
        for test in &self.tests {
            let column = &columns[test.column];
            for page in &column.pages {
                let both = page.rows.start.max(rows.start)..page.rows.end.min(rows.end);
                if both.is_empty() {
                    continue;
                }
                let at = (both.start - rows.start) as usize..(both.end - rows.start) as usize;
                let values = page.ready().ok().and_then(|_| FlatValues::of(column, &both));
                let told = values.and_then(|it| {
                    test.tell(&it, (&mut refuted[at.clone()], &mut kept[at.clone()]))
                });
                if told.is_none() {
                    kept[at].fill(true);
                }
            }
        }
        let mut needed: Vec<Range<u64>> = Vec::new();
        for at in (0..n).filter(|it| !refuted[*it] || kept[*it]) {
            let row = rows.start + at as u64;
            match needed.last_mut() {
                Some(last) if last.end == row => last.end += 1,
                _ => needed.push(row..row + 1),
            }
        }
        needed
    }
}

impl Test {
    /// Marks the rows that do not meet it, and those that are needed for what they lack; none where that cannot be told.
    fn tell(&self, values: &FlatValues, (refuted, kept): (&mut [bool], &mut [bool])) -> Option<()> {
        let nulls = values.nulls();
        if let Some(nulls) = nulls.filter(|_| self.nulls_matter) {
            (0..kept.len()).filter(|it| nulls.is_null(*it)).for_each(|it| kept[it] = true);
        }
        let Some((comparison, bound)) = &self.compared else { return Some(()) };
        let is_there = |row: usize| nulls.is_none_or(|it| it.is_valid(row));
        let mut refute = |row: usize, value: &Bound| {
            refuted[row] |= is_there(row) && !comparison.holds(value.cmp_to(bound));
        };
        macro_rules! numbers {
            ($of:ty, $bound:expr) => {{
                const SIZE: usize = size_of::<$of>();
                let mut room = vec![0; kept.len() * SIZE];
                values.fixed(&mut room).ok()?;
                let all = room.as_chunks::<SIZE>().0.iter().map(|it| <$of>::from_ne_bytes(*it));
                all.enumerate().for_each(|(row, it)| refute(row, &$bound(it)));
            }};
        }
        match (&self.ty, bound) {
            (DataType::Int8, Bound::Int(_)) => numbers!(i8, |it| Bound::Int(i128::from(it))),
            (DataType::Int16, Bound::Int(_)) => numbers!(i16, |it| Bound::Int(i128::from(it))),
            (DataType::Int32 | DataType::Date32 | DataType::Time32(_), Bound::Int(_)) => {
                numbers!(i32, |it| Bound::Int(i128::from(it)));
            }
            (
                DataType::Int64
                | DataType::Time64(_)
                | DataType::Duration(_)
                | DataType::Timestamp(..),
                Bound::Int(_),
            ) => numbers!(i64, |it| Bound::Int(i128::from(it))),
            (DataType::UInt8, Bound::Int(_)) => numbers!(u8, |it| Bound::Int(i128::from(it))),
            (DataType::UInt16, Bound::Int(_)) => numbers!(u16, |it| Bound::Int(i128::from(it))),
            (DataType::UInt32, Bound::Int(_)) => numbers!(u32, |it| Bound::Int(i128::from(it))),
            (DataType::UInt64, Bound::Int(_)) => numbers!(u64, |it| Bound::Int(i128::from(it))),
            (DataType::Float32, Bound::Float(_)) => {
                numbers!(f32, |it| Bound::Float(f64::from(it)));
            }
            (DataType::Float64, Bound::Float(_)) => numbers!(f64, Bound::Float),
            (ty, Bound::Text(bound)) if is_text(ty) => {
                let mut row = 0;
                let tell = &mut |text: Option<&[u8]>| {
                    let fails = text.is_some_and(|it| !comparison.holds(Some(it.cmp(bound))));
                    refuted[row] |= fails;
                    row += 1;
                };
                values.texts(tell).ok()?;
            }
            // Not known: whatever it is may be needed.
            _ => return None,
        }
        Some(())
    }
}

fn is_text(ty: &DataType) -> bool {
    use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
    matches!(ty, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView)
}

/// Texts of rows; of those that are not needed they are empty.
pub(super) struct SparedValues {
    /// Those of each page in which a row is needed, from the first such row to the last.
    parts: Vec<(Range<usize>, FlatValues)>,
    /// Whether each row is needed.
    needed: Vec<bool>,
    nulls: Option<NullBuffer>,
}

impl SparedValues {
    pub(super) fn of(
        column: &FlatColumn,
        rows: &Range<u64>,
        all_needed: &[Range<u64>],
    ) -> Option<Self> {
        let place =
            |it: &Range<u64>| (it.start - rows.start) as usize..(it.end - rows.start) as usize;
        let mut needed = vec![false; (rows.end - rows.start) as usize];
        overlaps(rows, all_needed).iter().for_each(|it| needed[place(it)].fill(true));
        let mut parts: Vec<(Range<usize>, FlatValues)> = Vec::new();
        for page in &column.pages {
            let both = page.rows.start.max(rows.start)..page.rows.end.min(rows.end);
            let some = overlaps(&both, all_needed);
            if let (Some(first), Some(last)) = (some.first(), some.last()) {
                let some = first.start..last.end;
                parts.push((place(&some), FlatValues::of(column, &some)?));
            }
        }
        let mut lacking = Vec::new();
        for (rows, values) in &parts {
            let nulls = values.nulls().into_iter();
            let null = nulls.flat_map(|it| (0..rows.len()).filter(|row| it.is_null(*row)));
            lacking.extend(null.map(|it| rows.start + it).filter(|it| needed[*it]));
        }
        let nulls = (!lacking.is_empty()).then(|| {
            let mut is_there = vec![true; needed.len()];
            lacking.iter().for_each(|it| is_there[*it] = false);
            NullBuffer::from(is_there)
        });
        Some(Self { parts, needed, nulls })
    }
}

/// The rows that are needed of some that lie together.
pub(super) fn overlaps(rows: &Range<u64>, needed: &[Range<u64>]) -> Vec<Range<u64>> {
    let from = needed.partition_point(|it| it.end <= rows.start);
    let to = needed.partition_point(|it| it.start < rows.end);
    let both = |it: &Range<u64>| it.start.max(rows.start)..it.end.min(rows.end);
    needed[from..to.max(from)].iter().map(both).collect()
}

impl Values for SparedValues {
    fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }

    fn is_text(&self) -> bool {
        true
    }

    fn fixed(&self, _: &mut [u8]) -> Result<(), Damage> {
        Err(unlike())
    }

    fn texts(&self, to: &mut dyn FnMut(Option<&[u8]>)) -> Result<(), Damage> {
        let mut row = 0;
        for (rows, values) in &self.parts {
            (row..rows.start).for_each(|_| to(Some(b"")));
            row = rows.start;
            values.texts(&mut |text| {
                to(if self.needed[row] { text } else { Some(b"") });
                row += 1;
            })?;
        }
        (row..self.needed.len()).for_each(|_| to(Some(b"")));
        Ok(())
    }
}
