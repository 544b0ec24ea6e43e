//! CSV (RFC 4180): splits records into fields, and finds out how a table is laid out and typed.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use memchr::memchr;
use plan::things;
use runtime::Counted;

use super::compressed::Input;
use super::framing::{End, Framing, byte_order_mark, closing_quote, trim, unclosed};
use super::{FileError, RecordFault, Span};
use crate::{
    marks::{self, Marks},
    numbers,
};

/// Bytes of a file that are looked at to find out about its table.
const SAMPLE: usize = 1024 * 1024;
/// Records of a file that are looked at.
const SAMPLE_ROWS: usize = 1_000;
/// Fields that a record may have.
const FIELDS_MAX: usize = 100_000;
/// What may stand between fields, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// How the records of CSV files are laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What stands between two fields.
    pub delimiter: u8,
    /// Whether each file begins with the columns' names.
    pub has_header: bool,
    /// The columns, from the left.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name in the header; `column1` and so on where that has none, or one that an earlier column has.
    pub name: String,
    /// What its fields are.
    pub kind: ColumnKind,
}

/// What the fields of a column are; the first of these that all looked at are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Whole numbers.
    I64,
    /// Numbers.
    F64,
    /// `true` and `false`, in either case.
    Bool,
    /// Anything.
    Str,
}

/// What is known of a table before looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// What stands between two fields; found out where it is not given.
    pub delimiter: Option<u8>,
    /// Whether the first record names the columns.
    pub has_header: bool,
}

impl Table {
    /// Finds out how a file is laid out, from its first 1,000 records or 1 MiB.
    ///
    /// Empty fields, and those that are one of `na_values`, say nothing about a column; one that has no others
    /// is `str`. A record of another length says nothing, unless most are.
    ///
    /// # Errors
    /// The file cannot be read, is empty or no text, a quote is not closed, most records differ in length from
    /// the first, one is named as a column without a name is.
    pub fn probe(path: &Path, layout: Layout, na_values: &[String]) -> Result<Table, FileError> {
        let sample = Sample::read(path)?;
        if let Some(error) = FileError::not_text(path, &sample.bytes) {
            return Err(error);
        }
        let table = sample.table(layout, na_values);
        table.map_err(|(line, fault)| FileError::at_line(path, line, fault))
    }

    /// How the records are told apart.
    #[must_use]
    pub fn framing(&self) -> Framing {
        Framing::Csv { delimiter: self.delimiter }
    }

    /// The header that each file begins with.
    pub(super) fn header(&self) -> Option<Vec<String>> {
        self.has_header.then(|| self.columns.iter().map(|it| it.name.clone()).collect())
    }

    /// Splits a record, which must have a field for each column.
    ///
    /// # Errors
    /// Another number of fields, text behind a closing quote, a quote that is not closed.
    pub fn split<'f>(
        &self,
        record: &'f [u8],
        into: &'f mut Splitter,
    ) -> Result<Fields<'f>, RecordFault> {
        let fields = into.split(record, self.delimiter)?;
        if fields.len() == self.columns.len() {
            return Ok(fields);
        }

        let (found, wanted) = (fields.len(), self.columns.len());
        let help = match found < wanted {
            true => "complete the row, set `delimiter`, or skip such rows (`else skip`)",
            false => "quote fields that contain the delimiter, or set `delimiter`",
        };
        let wanted = things(wanted as u64, "field", "fields");
        let message = format!("expected {wanted}, found {found}");
        Err(RecordFault::new(message, help))
    }

    /// Splits the first ones of some records that stand one behind the other, up to one that has quotes or another
    /// number of fields. `bytes` are theirs, from the first to the last.
    pub fn split_together<'f>(
        &self,
        bytes: &'f [u8],
        records: &'f [Span],
        into: &'f mut Splitter,
    ) -> PlainRows<'f> {
        let (delimiter, marks) = (self.delimiter, &mut into.marks);
        marks.clear();
        // Of all behind a quote nothing is asked.
        let mut quote = u32::MAX;
        marks::each(bytes, [delimiter, b'"'], |at| match bytes[at] == delimiter {
            true => marks.push(at as u32),
            false => quote = quote.min(at as u32),
        });

        let (first, each) = (records.first().map_or(0, |it| it.start), self.columns.len() - 1);
        let mut rows = PlainRows { bytes, records, first, marks, each };
        let is_plain = |(row, record): (usize, &Span)| {
            let (at, end) = (row * each, record.end - first);
            let has_all = each == 0 || marks.get(at + each - 1).is_some_and(|it| *it < end);
            has_all && marks.get(at + each).is_none_or(|it| *it >= end) && quote >= end
        };
        let plain = records.iter().enumerate().take_while(|it| is_plain(*it)).count();
        rows.records = &records[..plain];
        rows
    }
}

/// Records without quotes, each of which has a field for each column.
#[derive(Debug, Clone, Copy)]
pub struct PlainRows<'f> {
    bytes: &'f [u8],
    records: &'f [Span],
    /// Where `bytes` begins.
    first: u32,
    /// The places of delimiters, `each` in every record.
    marks: &'f [u32],
    each: usize,
}

impl<'f> PlainRows<'f> {
    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The fields of a column in turn.
    pub fn column(self, column: usize) -> impl ExactSizeIterator<Item = &'f [u8]> {
        let Self { bytes, records, first, marks, each } = self;
        records.iter().enumerate().map(move |(row, record)| {
            let at = row * each + column;
            let start = if column == 0 { record.start - first } else { marks[at - 1] + 1 };
            let end = if column == each { record.end - first } else { marks[at] };
            &bytes[start as usize..end as usize]
        })
    }
}

/// Splits records into fields; it keeps the memory for that from one to the next.
#[derive(Debug, Default)]
pub struct Splitter {
    /// What fields without their quotes are written to.
    scratch: Counted<u8>,
    /// Where each field begins and ends.
    spans: Vec<(u32, u32)>,
    /// Where delimiters stand in several records.
    marks: Counted<u32>,
}

/// The fields of one record, without quotes.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'f> {
    bytes: &'f [u8],
    spans: &'f [(u32, u32)],
}

impl<'f> Fields<'f> {
    /// Number of fields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is no field, which no record can bring about.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The bytes of field `i`.
    #[must_use]
    pub fn field(&self, i: usize) -> &'f [u8] {
        let (start, end) = self.spans[i];
        &self.bytes[start as usize..end as usize]
    }

    /// The fields in turn.
    pub fn iter(&self) -> impl Iterator<Item = &'f [u8]> + use<'f, '_> {
        (0..self.len()).map(|it| self.field(it))
    }
}

impl Splitter {
    /// Splits a record that stands without its line end.
    ///
    /// # Errors
    /// Text behind a closing quote, a quote that is not closed, more than 100,000 fields.
    pub fn split<'f>(
        &'f mut self,
        record: &'f [u8],
        delimiter: u8,
    ) -> Result<Fields<'f>, RecordFault> {
        if self.split_plain(record, delimiter)? {
            return Ok(Fields { bytes: record, spans: &self.spans });
        }

        self.spans.clear();
        self.scratch.clear();
        let mut rest = Some(record);
        while let Some(bytes) = rest {
            let start = self.scratch.len();
            rest = self.unquote(bytes, delimiter)?;
            self.add(start, self.scratch.len())?;
        }
        Ok(Fields { bytes: &self.scratch, spans: &self.spans })
    }

    /// Splits a record that has no quotes; `false` where it has.
    fn split_plain(&mut self, record: &[u8], delimiter: u8) -> Result<bool, RecordFault> {
        self.spans.clear();
        let mut start = 0;
        for end in Marks::of(record, [delimiter, b'"']) {
            if record[end] == b'"' {
                return Ok(false);
            }
            self.add(start, end)?;
            start = end + 1;
        }
        self.add(start, record.len())?;
        Ok(true)
    }

    /// Writes the first field without its quotes; returns what stands behind the delimiter after it.
    fn unquote<'b>(
        &mut self,
        bytes: &'b [u8],
        delimiter: u8,
    ) -> Result<Option<&'b [u8]>, RecordFault> {
        let Some((b'"', inside)) = bytes.split_first() else {
            let end = memchr(delimiter, bytes).unwrap_or(bytes.len());
            self.scratch.extend_from_slice(&bytes[..end]);
            return Ok(bytes.get(end + 1..));
        };

        let end = closing_quote(inside).ok_or_else(unclosed)?;
        let mut quoted = &inside[..end];
        while let Some(quote) = memchr(b'"', quoted) {
            self.scratch.extend_from_slice(&quoted[..=quote]);
            quoted = &quoted[quote + 2..];
        }
        self.scratch.extend_from_slice(quoted);
        match inside.get(end + 1) {
            None => Ok(None),
            Some(&found) if found == delimiter => Ok(Some(&inside[end + 2..])),
            Some(_) => {
                let help = "double the quotes inside a quoted field: `\"a \"\"b\"\" c\"`";
                Err(RecordFault::new("unexpected text after a closing quote", help))
            }
        }
    }

    #[inline]
    fn add(&mut self, start: usize, end: usize) -> Result<(), RecordFault> {
        if self.spans.len() == FIELDS_MAX {
            let message = format!("the record has more than {FIELDS_MAX} fields");
            return Err(RecordFault::new(message, "set `delimiter` if it is another character"));
        }
        self.spans.push((start as u32, end as u32));
        Ok(())
    }
}

/// Reads a field as a whole number; spaces around it do not count.
#[must_use]
pub fn parse_i64(field: &[u8]) -> Option<i64> {
    numbers::whole(field.trim_ascii())
}

/// Reads a field as a number: `1`, `-1.5e3`, `inf`, `nan`; spaces around it do not count.
#[must_use]
pub fn parse_f64(field: &[u8]) -> Option<f64> {
    numbers::float(field.trim_ascii())
}

/// Reads a field as `true` or `false`, in either case; spaces around it do not count.
#[must_use]
pub fn parse_bool(field: &[u8]) -> Option<bool> {
    let field = field.trim_ascii();
    let is = |word: &str| field.eq_ignore_ascii_case(word.as_bytes());
    if is("true") { Some(true) } else { is("false").then_some(false) }
}

/// Compares a file's header with the table's.
pub(super) fn check_header(
    record: &[u8],
    framing: &Framing,
    wanted: &[String],
) -> Result<(), RecordFault> {
    let Framing::Csv { delimiter } = *framing else { return Ok(()) };
    let mut splitter = Splitter::default();
    let found = names(splitter.split(record, delimiter)?)?;
    if found == wanted {
        return Ok(());
    }
    if sorted(&found) == sorted(wanted) {
        let listed: Vec<String> = wanted.iter().map(|it| format!("`{it}`")).collect();
        let message = "the columns are in a different order than in the first file";
        let help = format!(
            "all files of one source need the same columns in the same order: {}",
            listed.join(", ")
        );
        return Err(RecordFault::new(message, help));
    }

    let differing = found.iter().zip(wanted).find(|(found, wanted)| found != wanted);
    let message = match differing {
        Some((found, wanted)) => {
            format!("expected the column `{wanted}` as in the first file, found `{found}`")
        }
        None => {
            format!(
                "the number of columns is {}, but the first file has {}",
                found.len(),
                wanted.len()
            )
        }
    };
    Err(RecordFault::new(message, "read files with different columns with a separate source"))
}

/// The names of the columns that a header gives.
fn names(header: Fields<'_>) -> Result<Vec<String>, RecordFault> {
    let (mut names, mut before) = (Vec::new(), HashSet::new());
    for (i, field) in header.iter().enumerate() {
        let name = str::from_utf8(field.trim_ascii()).map_err(|_| {
            let message = format!("the name of column {} is not UTF-8", i + 1);
            RecordFault::new(message, "convert the file to UTF-8: `iconv -f latin1 -t utf-8`")
        })?;
        let is_own = !name.is_empty() && before.insert(name);
        names.push(if is_own { name.to_owned() } else { format!("column{}", i + 1) });
    }

    match sorted(&names).windows(2).find(|it| it[0] == it[1]) {
        Some(twice) => {
            let message = format!("two columns are named `{}`", twice[0]);
            Err(RecordFault::new(message, "rename one in the header"))
        }
        None => Ok(names),
    }
}

fn sorted(names: &[String]) -> Vec<&str> {
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted
}

/// The beginning of a file.
struct Sample {
    bytes: Vec<u8>,
    /// Whether it is the whole file.
    is_all: bool,
}

/// A mistake in a sample, and its line.
type Misplaced = (u64, RecordFault);

impl Sample {
    fn read(path: &Path) -> Result<Sample, FileError> {
        let (input, _) = Input::open(path).map_err(|why| FileError::unreadable(path, &why))?;
        let (codec, mut bytes) = (input.codec(), Vec::new());
        input.take(SAMPLE as u64 + 1).read_to_end(&mut bytes).map_err(|why| match codec {
            Some(codec) => FileError::torn(path, codec.name(), &why),
            None => FileError::unreadable(path, &why),
        })?;
        let is_all = bytes.len() <= SAMPLE;
        bytes.truncate(SAMPLE);
        Ok(Sample { bytes, is_all })
    }

    fn table(&self, layout: Layout, na_values: &[String]) -> Result<Table, Misplaced> {
        let delimiter = layout.delimiter.unwrap_or_else(|| self.likely_delimiter());
        let rows = self.rows(delimiter)?;
        let Some((&(line, first), below)) = rows.split_first() else {
            let fault =
                RecordFault::new("the file contains no records", "exclude it from the pattern");
            return Err((1, fault));
        };

        let mut splitter = Splitter::default();
        let header = splitter.split(first, delimiter).map_err(|it| (line, it))?;
        let names = match layout.has_header {
            true => names(header).map_err(|it| (line, it))?,
            false => (1..=header.len()).map(|it| format!("column{it}")).collect(),
        };
        let columns =
            names.into_iter().map(|name| Column { name, kind: ColumnKind::Str }).collect();
        let mut table = Table { delimiter, has_header: layout.has_header, columns };
        table.find_kinds(if layout.has_header { below } else { &rows }, na_values)?;
        Ok(table)
    }

    /// The first records with their lines, blank ones left out.
    fn rows(&self, delimiter: u8) -> Result<Vec<(u64, &[u8])>, Misplaced> {
        let framing = Framing::Csv { delimiter };
        let (mut rows, mut line) = (Vec::new(), 1);
        let mut at = byte_order_mark(&self.bytes);

        while at < self.bytes.len() && rows.len() <= SAMPLE_ROWS {
            let rest = &self.bytes[at..];
            let (end, n_lines) = match framing.end(rest) {
                End::At { end, n_lines } => (end, n_lines),
                End::Later { quoted: false } if self.is_all => (rest.len(), 1),
                End::Later { quoted } if self.is_all || rows.is_empty() => {
                    return Err((line, unended(quoted)));
                }
                End::Later { .. } | End::Lost | End::Passed { .. } => break,
            };
            let content = trim(&rest[..end]);
            if !content.is_empty() {
                rows.push((line, content));
            }
            (at, line) = (at + end, line + u64::from(n_lines));
        }
        Ok(rows)
    }

    /// The delimiter by which the most records have as many fields as the first, and more than one;
    /// of equals, the one that makes the most fields, then the likeliest.
    fn likely_delimiter(&self) -> u8 {
        let mut best = ((0, 0), DELIMITERS[0]);
        for delimiter in DELIMITERS {
            let score = self.alike(delimiter).unwrap_or_default();
            if score > best.0 {
                best = (score, delimiter);
            }
        }
        best.1
    }

    /// Thousandths of the records with as many fields as the first, and that number, if more than one.
    fn alike(&self, delimiter: u8) -> Option<(usize, usize)> {
        let mut splitter = Splitter::default();
        let rows = self.rows(delimiter).ok()?;
        let counts: Vec<usize> = rows
            .iter()
            .map(|(_, row)| splitter.split(row, delimiter).map_or(0, |it| it.len()))
            .collect();

        let first = *counts.first().filter(|&&it| it > 1)?;
        let n_alike = counts.iter().filter(|&&it| it == first).count();
        Some((n_alike * 1_000 / counts.len(), first))
    }
}

fn unended(quoted: bool) -> RecordFault {
    if quoted {
        return unclosed();
    }
    let message = format!("the first record is longer than {} MiB", SAMPLE >> 20);
    RecordFault::new(message, "check that this is a CSV file")
}

impl Table {
    fn find_kinds(&mut self, rows: &[(u64, &[u8])], na_values: &[String]) -> Result<(), Misplaced> {
        let mut guesses = vec![Guess::default(); self.columns.len()];
        let mut splitter = Splitter::default();
        let (mut unlike, mut first) = (0, None);
        for (line, row) in rows {
            match self.split(row, &mut splitter) {
                Ok(fields) => {
                    for (guess, field) in guesses.iter_mut().zip(fields.iter()) {
                        let is_na = na_values.iter().any(|it| it.as_bytes() == field.trim_ascii());
                        if !is_na {
                            guess.look_at(field);
                        }
                    }
                }
                // A bad row is told of when it is read, and is a fault of it alone.
                Err(fault) => {
                    unlike += 1;
                    first.get_or_insert((*line, fault));
                }
            }
        }
        if let Some(first) = first.filter(|_| unlike * 2 > rows.len()) {
            return Err(first);
        }

        for (column, guess) in self.columns.iter_mut().zip(guesses) {
            column.kind = guess.kind();
        }
        Ok(())
    }
}

/// What a column cannot be any more.
#[derive(Clone, Copy, Default)]
struct Guess {
    seen: bool,
    not_i64: bool,
    not_f64: bool,
    not_bool: bool,
}

impl Guess {
    fn look_at(&mut self, field: &[u8]) {
        let field = field.trim_ascii();
        if field.is_empty() {
            return;
        }
        self.seen = true;
        let is_i64 = parse_i64(field).is_some();
        self.not_i64 |= !is_i64;
        // A whole number beyond 64 bits (an id, as a rule) would lose its last digits as a float.
        let is_long = !is_i64
            && field.trim_ascii_start().iter().all(|it| matches!(it, b'0'..=b'9' | b'-' | b'+'));
        self.not_f64 |= is_long || parse_f64(field).is_none();
        self.not_bool |= parse_bool(field).is_none();
    }

    fn kind(self) -> ColumnKind {
        match self {
            Guess { seen: false, .. } => ColumnKind::Str,
            Guess { not_i64: false, .. } => ColumnKind::I64,
            Guess { not_f64: false, .. } => ColumnKind::F64,
            Guess { not_bool: false, .. } => ColumnKind::Bool,
            _ => ColumnKind::Str,
        }
    }
}
