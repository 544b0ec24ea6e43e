//! Tables and lines of text: what is read of a file does not depend on the way it is read, and is what a
//! slow reader reads.

use super::scratch::{Folder, split};
use plan::{Arg, DType, Field, Type, Untyped};
use runtime::{
    ChunkBuilder, Failure, Interleave, Kernels, Pool, Source, SourceCall, Stream, Tensor, Unread,
};
use std::{path::Path, sync::Arc};
use stdlib::records::csv::{Layout, Table};

thread_local! {
    static FOLDER: Folder = Folder::new("tables");
}

/// A record: its id, and the bytes of each column.
pub(super) type Row = (u64, Vec<Vec<u8>>);

/// Records of a chunk, where they come in order.
const CHUNKS: [usize; 3] = [1, 3, 1000];
/// Fields that are looked at one by one.
const FIELDS_MAX: usize = 64;

/// What the first byte of an input says of the program that reads a table.
struct Way {
    has_header: bool,
    delimiter: Option<u8>,
    /// Every column is text.
    all_text: bool,
    /// Rows are left out whose first field is missing.
    skips: bool,
    /// A text stands for nothing.
    has_na: bool,
    /// A row that cannot be read is a fault of it alone.
    faults: bool,
    /// Every other column is read, under another name.
    named: bool,
}

impl Way {
    fn of(byte: u8) -> Self {
        let is = |bit: u8| byte >> bit & 1 == 1;
        let delimiter = [None, Some(b','), Some(b'\t'), Some(b'a')][usize::from(byte >> 5 & 3)];
        let (has_header, all_text) = (!is(0), is(1));
        let (skips, has_na, faults, named) = (is(2), is(3), !is(4), is(7));
        Self { has_header, delimiter, all_text, skips, has_na, faults, named }
    }

    /// The arguments of `csv`, where the columns are called so.
    fn args(&self, path: &Path, in_file: &[String]) -> Vec<Arg> {
        let text = |it: &str| Arg::Text(it.to_owned());
        let named = in_file.iter().enumerate().filter(|it| self.reads(it.0));
        let named: Vec<_> = named.map(|(at, it)| (format!("c{at}"), text(it))).collect();
        let others: Vec<String> = named.iter().map(|it| it.0.clone()).collect();
        let names = if self.named { &others } else { in_file };
        let types = names.iter().map(|it| (it.clone(), Arg::Word("str".to_owned())));
        let first = names.first().filter(|_| self.skips).into_iter();
        vec![
            text(&path.to_string_lossy()),
            self.delimiter.map_or(Arg::None, |it| text(&char::from(it).to_string())),
            Arg::Bool(self.has_header),
            if self.named { Arg::Record(named) } else { Arg::None },
            Arg::Record(first.map(|it| (it.clone(), Arg::Word("skip".to_owned()))).collect()),
            Arg::Record(if self.all_text { types.collect() } else { Vec::new() }),
            if self.has_na { text("NA") } else { Arg::None },
            Arg::None,
            Arg::Bool(self.faults),
        ]
    }

    /// Whether a column is read.
    fn reads(&self, at: usize) -> bool {
        !self.named || at.is_multiple_of(2)
    }
}

/// Reads a table. The first byte says how; the rest is the file.
pub(crate) fn csv(bytes: &[u8]) {
    let (way, file) = split(bytes);
    let way = Way::of(way);
    FOLDER.with(|folder| {
        let path = folder.write("table.csv", file);
        let layout = Layout { delimiter: way.delimiter, has_header: way.has_header };
        let Ok(table) = Table::probe(&path, layout, &[]) else { return };
        let names: Vec<String> = table.columns.iter().map(|it| it.name.clone()).collect();
        let args = way.args(&path, &names);
        let Ok(fields) = stdlib::probe("csv", &args) else { return };
        let source = source("csv", &args, &fields);
        let rows = read(&*source, &fields);
        if !way.faults || way.skips || way.has_na || fields.len() > FIELDS_MAX {
            return;
        }
        // With a name, those are read too that follow a dot behind it.
        if is_compressed(file) || way.named && names.iter().any(|it| it.contains('.')) {
            return;
        }
        let rows = rows.unwrap_or_else(|it| panic!("it was found to be sound before: {it}"));
        let records = records(text(file), table.delimiter);
        let records = records.iter().skip(usize::from(way.has_header));
        let read: Vec<usize> = (0..names.len()).filter(|it| way.reads(*it)).collect();
        let columns = |it: &Record| it.clone().filter(|it| it.len() == names.len());
        let columns = records.map(columns);
        let read = |it: Vec<Vec<u8>>| read.iter().map(|at| it[*at].clone()).collect();
        let n_read = fields.len() - 1;
        let expected: Vec<_> = columns.map(|it| values(&it.map(read), &fields[..n_read])).collect();
        assert_eq!(rows.len(), expected.len(), "rows");
        for ((_, row), expected) in rows.iter().zip(expected) {
            let (fault, columns) = row.split_last().expect("there is a column of faults");
            match expected {
                Some(expected) => {
                    assert!(fault.is_empty(), "{}", String::from_utf8_lossy(fault));
                    assert_eq!(columns, expected);
                }
                None => assert!(!fault.is_empty(), "{columns:?} was read"),
            }
        }
    });
}

/// Reads lines. The first byte says by which source; the rest is the file.
pub(crate) fn lines(bytes: &[u8]) {
    let (way, file) = split(bytes);
    let (entry, name, ty) = match way & 1 {
        0 => ("lines", "text", Type::scalar(DType::Str)),
        _ => ("jsonl", "row", Type::Untyped(Untyped::Json)),
    };
    FOLDER.with(|folder| {
        let path = folder.write("file.txt", file);
        let pattern = Arg::Text(path.to_string_lossy().into_owned());
        let args =
            [vec![pattern.clone(), Arg::None], vec![Arg::None; usize::from(way & 1)]].concat();
        let fields = [Field { name: name.to_owned(), ty }];
        let source = source(entry, &args, &fields);
        let found = read(&*source, &fields);
        if let (1, Ok(rows)) = (way & 1, &found) {
            typed(&pattern, rows);
        }
        if is_compressed(file) {
            return;
        }
        let lines = text(file).split_inclusive(|it| *it == b'\n').map(without_end);
        let expected: Option<Vec<_>> =
            lines.map(|it| str::from_utf8(it).ok().map(|_| it.to_vec())).collect();
        match (found, expected) {
            (Ok(rows), Some(expected)) => {
                let found: Vec<_> = rows.into_iter().map(|it| it.1.concat()).collect();
                assert_eq!(found, expected);
            }
            (Ok(rows), None) => panic!("{} lines, of which some are not UTF-8", rows.len()),
            (Err(_), None) => {}
            // Files of other formats are refused by their first bytes.
            (Err(error), Some(_)) => {
                let error = error.to_string();
                assert!(
                    error.contains(" it is ") || error.contains("data is damaged or truncated"),
                    "{error}"
                );
            }
        }
    });
}

/// Fields of lines that are read by the source: what the evaluator finds in each line, one by one.
fn typed(pattern: &Arg, lines: &[Row]) {
    let types = [DType::I64, DType::Str, DType::F32];
    let wanted = [("/a", &["a"][..]), ("/b/a", &["b", "a"]), ("/n", &["n"])];
    let field = |name: String, dtype| Field { name, ty: Type::scalar(dtype) };
    let word = |dtype: DType| Arg::Word(dtype.to_string());
    for turn in 0..types.len() {
        let each = || wanted.iter().zip(types.iter().cycle().skip(turn));
        let named = each().map(|((path, _), dtype)| ((*path).to_owned(), word(*dtype)));
        let args = [pattern.clone(), Arg::None, Arg::Record(named.collect())];
        let untyped = Field { name: "row.rest".to_owned(), ty: Type::Untyped(Untyped::Json) };
        let columns = each().map(|((path, _), dtype)| field(format!("row{path}"), *dtype));
        let known = field("row.typed".to_owned(), DType::Bool);
        let fields: Vec<Field> = [untyped].into_iter().chain(columns).chain([known]).collect();
        let rows = read(&*source("jsonl", &args, &fields), &fields).expect("lines are there");
        assert_eq!(rows.len(), lines.len());
        for ((_, row), (_, line)) in rows.iter().zip(lines) {
            let text = str::from_utf8(&line[0]).expect("it was read as text");
            let found = each().map(|((_, path), dtype)| super::json::found(text, path, *dtype));
            match found.collect::<Result<Vec<_>, _>>() {
                Ok(found) => {
                    let expected = [vec![Vec::new()], found, vec![vec![1]]].concat();
                    assert_eq!(*row, expected, "{text}");
                }
                Err(_) => {
                    let (rest, known) = (row.first(), row.last());
                    let expected = (Some(&line[0]), Some(&vec![0]));
                    assert_eq!((rest, known), expected, "{text}");
                }
            }
        }
    }
}

pub(super) fn source(entry: &str, args: &[Arg], columns: &[Field]) -> Arc<dyn Source> {
    let build = stdlib::Kernels.source(entry).expect("the library has it");
    build(&SourceCall { args, columns, place: 7 }).expect("its arguments are sound")
}

/// All records, in every way that a run might read them: they are the same.
pub(super) fn read(source: &dyn Source, fields: &[Field]) -> Result<Vec<Row>, Failure> {
    let in_order = |n| through(source.stream().expect("it is read in order"), fields, n);
    let rows = in_order(CHUNKS[0]);
    for n in &CHUNKS[1..] {
        same(&in_order(*n), &rows, &format!("{n} at a time"));
    }
    same(&found_first(source, fields), &rows, "found first");
    // Of one file there is one order.
    let turns = source.interleaved(Interleave { key: 1, open: 3 }).expect("it has spans");
    same(&through(turns, fields, 3), &rows, "in turns");
    let n = match source.len() {
        Ok(n) => n,
        Err(error) => {
            let in_order_only = error.to_string().contains("it can only be read in order");
            assert!(rows.is_err() || in_order_only, "it has no length and {} rows", rows?.len());
            return rows;
        }
    };
    let numbers: Vec<u64> = (0..n).rev().chain(0..n.min(3)).collect();
    let fetched = fetched(source, fields, &numbers);
    let Ok(all) = &rows else {
        assert!(fetched.is_err(), "it is read by number and not in order");
        return rows;
    };
    assert_eq!(all.len() as u64, n, "its length");
    let expected: Vec<Row> = numbers.iter().map(|it| all[*it as usize].clone()).collect();
    assert_eq!(fetched.ok(), Some(expected), "by number");
    if let Some((id, _)) = all.last() {
        let (named, described) = (source.named(*id), source.describe(n - 1));
        assert!(named.is_some(), "the last record has no name");
        assert!(described.contains(", line ") || described.contains(", record "), "{described}");
        from_the_middle(source, fields, all);
    }
    rows
}

/// A run that goes on where another one stood reads the same.
fn from_the_middle(source: &dyn Source, fields: &[Field], all: &[Row]) {
    let half = all.len() / 2;
    let (pool, mut stream) = (Pool::default(), source.stream().expect("it is read in order"));
    let mut out = ChunkBuilder::new(fields, half, 0, &pool);
    stream.next(half, &mut out).expect("it was read before");
    let place = stream.place().expect("it knows its place");
    let mut other = source.stream().expect("it is read in order");
    other.go_to(&place).expect("it is the same file");
    let mut out = ChunkBuilder::new(fields, all.len(), 0, &pool);
    other.next(all.len(), &mut out).expect("it was read before");
    assert_eq!(rows(out), all[half..], "from record {half} on");
}

fn through(mut stream: Box<dyn Stream>, fields: &[Field], n: usize) -> Result<Vec<Row>, Failure> {
    let mut all = Vec::new();
    loop {
        let mut out = ChunkBuilder::new(fields, n, 0, &Pool::default());
        stream.next(n, &mut out)?;
        if out.rows() == 0 {
            return Ok(all);
        }
        all.extend(rows(out));
    }
}

/// Two ways of reading give the same.
fn same(found: &Result<Vec<Row>, Failure>, rows: &Result<Vec<Row>, Failure>, how: &str) {
    assert_eq!(found.as_ref().ok(), rows.as_ref().ok(), "{how}");
    let told = |it: &Result<Vec<Row>, Failure>| it.as_ref().err().map(ToString::to_string);
    assert_eq!(told(found), told(rows), "{how}");
}

/// All records, found first, and then read from the last on, as several threads might.
fn found_first(source: &dyn Source, fields: &[Field]) -> Result<Vec<Row>, Failure> {
    let mut stream = source.stream().expect("it is read in order");
    if !stream.finds() {
        return through(stream, fields, CHUNKS[0]);
    }
    let mut found = Vec::new();
    let end = loop {
        match stream.find(CHUNKS[1]) {
            Ok(Some(part)) => found.push(part),
            Ok(None) => break Ok(()),
            Err(failure) => break Err(failure),
        }
    };
    let read = |part: &dyn Unread| {
        let mut out = ChunkBuilder::new(fields, part.len(), 0, &Pool::default());
        part.read(&mut out).map(|()| rows(out))
    };
    let mut all: Vec<_> = found.iter().rev().map(|it| read(&**it)).collect();
    all.reverse();
    let all = all.into_iter().collect::<Result<Vec<_>, _>>()?;
    end.map(|()| all.concat())
}

fn fetched(source: &dyn Source, fields: &[Field], numbers: &[u64]) -> Result<Vec<Row>, Failure> {
    let mut out = ChunkBuilder::new(fields, numbers.len(), 0, &Pool::default());
    source.fetch(numbers, &mut out)?;
    Ok(rows(out))
}

fn rows(chunk: ChunkBuilder) -> Vec<Row> {
    let chunk = chunk.finish();
    let bytes = |it: Tensor<'_>| it.as_text().to_vec();
    let row = |i: usize| chunk.columns.iter().map(|it| bytes(it.row(i))).collect();
    (0..chunk.rows).map(|it| (chunk.ids()[it], row(it))).collect()
}

/// What a file says behind the mark in front of it.
fn text(file: &[u8]) -> &[u8] {
    file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file)
}

/// Whether what is read is what decompressing gives: the slow readers do not decompress.
fn is_compressed(file: &[u8]) -> bool {
    let magic: [&[u8]; 4] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"BZh"];
    magic.iter().any(|it| file.starts_with(it))
}

fn without_end(line: &[u8]) -> &[u8] {
    let Some(line) = line.strip_suffix(b"\n") else { return line };
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A record as RFC 4180 has it; none where text stands behind a closing quote.
type Record = Option<Vec<Vec<u8>>>;

/// Where the slow reader is.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Begin,
    Plain,
    Quoted,
    /// Behind a quote within quotes, which may be the first of two.
    Quote,
}

/// The records of a table, byte by byte.
fn records(text: &[u8], delimiter: u8) -> Vec<Record> {
    let (mut all, mut at) = (Vec::new(), At::Begin);
    let (mut record, mut field, mut is_bad) = (Vec::new(), Vec::new(), false);
    let mut blank = true;
    for (i, &byte) in text.iter().enumerate() {
        let ends = byte == b'\n' && at != At::Quoted;
        // A carriage return is of the line's end only if that is what follows.
        let is_end = ends || (byte == b'\r' && at != At::Quoted && text.get(i + 1) == Some(&b'\n'));
        if ends {
            record.push(std::mem::take(&mut field));
            let whole = std::mem::take(&mut record);
            if !blank {
                all.push((!is_bad).then_some(whole));
            }
            (at, is_bad, blank) = (At::Begin, false, true);
            continue;
        }
        if is_end {
            continue;
        }
        blank = false;
        match (at, byte) {
            (At::Begin, b'"') => at = At::Quoted,
            (At::Quoted, b'"') => at = At::Quote,
            (At::Quoted, _) => field.push(byte),
            (At::Quote, b'"') => {
                field.push(byte);
                at = At::Quoted;
            }
            (_, it) if it == delimiter => {
                record.push(std::mem::take(&mut field));
                at = At::Begin;
            }
            (state, _) => {
                is_bad |= state == At::Quote;
                field.push(byte);
                at = At::Plain;
            }
        }
    }
    if !blank {
        record.push(field);
        all.push((!is_bad).then_some(record));
    }
    all
}

/// The values that a record says, as bytes; none where it is a fault.
fn values(record: &Record, fields: &[Field]) -> Option<Vec<Vec<u8>>> {
    let record = record.as_ref().filter(|it| it.len() == fields.len())?;
    let value = |(text, field): (&Vec<u8>, &Field)| match field.ty.dtype()? {
        DType::Str => str::from_utf8(text).ok().map(|_| text.clone()),
        DType::Bool => match text.trim_ascii().to_ascii_lowercase().as_slice() {
            b"true" | b"1" => Some(vec![1]),
            b"false" | b"0" => Some(vec![0]),
            _ => None,
        },
        DType::I64 => {
            let text = str::from_utf8(text.trim_ascii()).ok()?;
            let whole =
                |it: f64| (it.fract() == 0.0 && it.abs() <= 2_f64.powi(53)).then_some(it as i64);
            let number = text.parse::<i64>().ok();
            let number = number.or_else(|| text.parse().ok().and_then(whole))?;
            Some(number.to_ne_bytes().to_vec())
        }
        _ => {
            let number: f64 = str::from_utf8(text.trim_ascii()).ok()?.parse().ok()?;
            Some(number.to_ne_bytes().to_vec())
        }
    };
    record.iter().zip(fields).map(value).collect()
}

/// Tables with something of everything, each read in several ways.
pub(super) fn csvs() -> Vec<Vec<u8>> {
    let tables: [&[u8]; 8] = [
        b"name,age,size\n\"Ada, L.\",36,1.5\n\"two\nlines\",7,2\nx,7,-1e3\n",
        b"a;b;c\r\n1;true;0.5\r\n2;FALSE;inf\r\n\r\n;;\r\n3.0;1;nan\r\n",
        b"\xef\xbb\xbfid\tna\tb\n007\tNA\t1\n\"8\"\t\"a\"\"b\"\t0\n9\tNA\n",
        b"x\n1\n2\n\"3\"\nfour\n18446744073709551616\n-0\n",
        b"a|b\n\"\"|\"\"\n\"x\"y|2\nx\"y|\"z\"\n",
        b",,\n1,2,3\n4,5,6\n",
        b"k,v\nk1,\xff\xfe\nk2,\"\r\n\"\r\nk3,\"\n\n\"\r\n",
        b"1,2\n3,4\n5,6",
    ];
    let ways = [0, 1, 2, 3, 4, 8, 16, 32, 34, 98, 128, 130, 136, 160];
    ways.iter().flat_map(|way| tables.map(|it| [&[*way], it].concat())).collect()
}

/// Files of lines, some of them of other formats.
pub(super) fn files() -> Vec<Vec<u8>> {
    let files: [&[u8]; 10] = [
        b"{\"a\": 1, \"b\": {\"a\": \"x\"}, \"n\": 1.5}\n{\"n\": 2, \"a\": \"y\", \"b\": {\"a\": 2}}\n{\"a\": 1}\n",
        b"{\"n\":1e0,\"\\u0061\":\"\\n\",\"b\":{\"c\":[tru],\"a\":3}}\n{\"a\":3,\"a\":4,\"b\":{\"a\":\"\"},\"n\":null}",
        b"one\n\nthree\r\n\r\r\nlast",
        "\u{feff}vier\nf\u{fc}nf\n\u{2028}\n".as_bytes(),
        b"f\xfcnf\nok\n",
        b"{\"a\": 1}\n[2, 3]\n\n\"x\"\n",
        b"\x1f\x8b\x08\0\0\0",
        b"PAR1\x15\x04\nBZh91AY&SY",
        b"n\0a\0m\0e\0\n\0",
        b"\r\n\r\n\n\r",
    ];
    [0, 1].iter().flat_map(|way| files.map(|it| [&[*way], it].concat())).collect()
}
