//! Small files of every shape, and CSV against a reader that goes byte by byte.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::csv::{ColumnKind, Layout, Splitter, Table};
use super::{Block, FileError, Place, Position, RecordIndex, RecordReader, line_at};

/// Files in a folder of their own, which goes when the test ends.
struct Files(PathBuf, Vec<PathBuf>);

impl Files {
    fn with<T: AsRef<[u8]>>(contents: &[T]) -> Files {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("pipec-text-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |(i, content): (usize, &T)| {
            let path = folder.join(format!("{i}.txt"));
            fs::write(&path, content).unwrap();
            path
        };
        let paths = contents.iter().enumerate().map(write).collect();
        Files(folder, paths)
    }

    fn lines(&self) -> RecordReader {
        RecordReader::lines(self.1.clone())
    }

    /// What an index finds, read piece by piece.
    fn by_index(&self, index: &RecordIndex) -> Vec<String> {
        let record = |i| {
            let place = index.at(i);
            let bytes = fs::read(&self.1[place.file as usize]).unwrap();
            let raw = &bytes[place.offset as usize..][..place.len as usize];
            String::from_utf8_lossy(index.content(raw)).into_owned()
        };
        (0..index.len()).map(record).collect()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A record: its file, its line, its text.
type Found = (u32, u64, String);

fn found(block: &Block<'_>) -> Vec<Found> {
    let text = |i| String::from_utf8_lossy(block.record(i)).into_owned();
    (0..block.records.len()).map(|i| (block.position.file, block.line(i), text(i))).collect()
}

fn all(mut reader: RecordReader) -> Result<Vec<Found>, FileError> {
    let mut records = Vec::new();
    while let Some(block) = reader.next_block()? {
        records.extend(found(&block));
    }
    Ok(records)
}

fn texts(records: &[Found]) -> Vec<&str> {
    records.iter().map(|it| it.2.as_str()).collect()
}

const LINES: [&str; 7] = [
    "one\ntwo\r\n\nfour",
    "",
    "\u{feff}marked\nä\r\r\n",
    "\n",
    "\u{feff}",
    "last\r",
    "\u{feff}\nx\n",
];

#[test]
fn lines_of_every_shape() {
    let files = Files::with(&LINES);
    let expected = [
        (0, 1, "one"),
        (0, 2, "two"),
        (0, 3, ""),
        (0, 4, "four"),
        (2, 1, "marked"),
        (2, 2, "ä\r"),
        (3, 1, ""),
        (5, 1, "last\r"),
        (6, 1, ""),
        (6, 2, "x"),
    ];
    let expected: Vec<Found> =
        expected.map(|(file, line, text)| (file, line, text.to_owned())).into();

    for n_bytes in [1, 2, 3, 5, 8, 1_000] {
        assert_eq!(
            all(files.lines().with_blocks_of(n_bytes)).unwrap(),
            expected,
            "blocks of {n_bytes}"
        );
    }
    let index = RecordIndex::of_lines(files.1.clone()).unwrap();
    assert_eq!(files.by_index(&index), texts(&expected));
    assert_eq!(line_at(&files.1[0], index.at(3).offset).unwrap(), 4);
}

#[test]
fn a_reader_goes_on_where_another_was() {
    let long = "x".repeat(50) + "\ny\n";
    let files = Files::with(&[LINES[0], LINES[1], LINES[2], &long]);
    let mut reader = files.lines().with_blocks_of(4);
    let mut blocks: Vec<(Position, Vec<Found>)> = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        blocks.push((block.position, found(&block)));
    }

    assert!(blocks.len() > 5);
    for (position, records) in blocks.iter().rev() {
        reader.resume(*position);
        assert_eq!(&found(&reader.next_block().unwrap().unwrap()), records, "{position:?}");
    }
}

#[test]
fn what_cannot_be_read_says_where() {
    let files = Files::with(&[b"ok\n".as_slice(), b"\xff\xfea\0\n\0"]);
    let error = all(files.lines()).unwrap_err();
    assert!(error.path.ends_with("1.txt") && error.message.contains("UTF-16 text"), "{error}");

    let gone = all(RecordReader::lines([files.0.join("gone")])).unwrap_err();
    assert!(gone.path.ends_with("gone") && gone.place.is_none(), "{gone}");

    let endless = fs::OpenOptions::new().append(true).open(&files.1[0]).unwrap();
    endless.set_len(66 << 20).unwrap();
    let error = all(files.lines()).unwrap_err();
    assert_eq!(
        (error.place, error.message.as_str()),
        (Some(Place::Line(2)), "the line is longer than 64 MiB")
    );
}

fn table(delimiter: u8, n_columns: usize) -> Table {
    let column = |i| super::csv::Column { name: format!("column{i}"), kind: ColumnKind::Str };
    Table { delimiter, has_header: false, columns: (1..=n_columns).map(column).collect() }
}

const CSV: &str = "id,text,score\r\n1,\"a, b\",0.5\n\n2,\"line\none \"\"two\"\"\",\r\n3,pl\"ain,7";

#[test]
fn csv_from_header_to_fields() {
    let files = Files::with(&[CSV, "\u{feff}id,text,score\n4,x,1\n", "\"id\",text,score"]);
    let table =
        Table::probe(&files.1[0], Layout { delimiter: None, has_header: true }, &[]).unwrap();
    let columns: Vec<_> = table.columns.iter().map(|it| (it.name.as_str(), it.kind)).collect();
    assert_eq!(
        columns,
        [("id", ColumnKind::I64), ("text", ColumnKind::Str), ("score", ColumnKind::F64)]
    );
    assert_eq!(table.delimiter, b',');

    for n_bytes in [1, 7, 1_000] {
        let reader = RecordReader::csv(files.1.clone(), &table).with_blocks_of(n_bytes);
        let records = all(reader).unwrap();
        let places: Vec<_> = records.iter().map(|it| (it.0, it.1)).collect();
        assert_eq!(places, [(0, 2), (0, 4), (0, 6), (1, 2)]);
        let mut splitter = Splitter::default();
        let fields = table.split(records[1].2.as_bytes(), &mut splitter).unwrap();
        assert_eq!(fields.iter().collect::<Vec<_>>(), [&b"2"[..], b"line\none \"two\"", b""]);
        let fields = table.split(records[2].2.as_bytes(), &mut splitter).unwrap();
        assert_eq!(fields.field(1), b"pl\"ain");
    }

    let index = RecordIndex::of_csv(files.1.clone(), &table).unwrap();
    let records = all(RecordReader::csv(files.1.clone(), &table)).unwrap();
    assert_eq!(files.by_index(&index), texts(&records));
}

#[test]
fn a_csv_reader_goes_on_behind_the_header() {
    let files = Files::with(&["\u{feff}a\n1\n2\n", "a\n3"]);
    let table =
        Table::probe(&files.1[0], Layout { delimiter: None, has_header: true }, &[]).unwrap();
    let mut reader = RecordReader::csv(files.1.clone(), &table).with_blocks_of(2);
    assert_eq!(found(&reader.next_block().unwrap().unwrap()), [(0, 2, "1".to_owned())]);

    let position = reader.position();
    let mut other = RecordReader::csv(files.1.clone(), &table).with_blocks_of(2);
    other.resume(position);
    assert_eq!(texts(&all(other).unwrap()), ["2", "3"]);
}

#[test]
fn mistakes_in_csv() {
    let check = |contents: &[&str], line: u64, message: &str| {
        let files = Files::with(contents);
        let layout = Layout { delimiter: Some(b','), has_header: true };
        let read = |table: Table| all(RecordReader::csv(files.1.clone(), &table));
        let error = Table::probe(&files.1[0], layout, &[]).and_then(read).unwrap_err();
        assert_eq!((error.place, error.message.as_str()), (Some(Place::Line(line)), message));
        assert!(!error.help.is_empty());
    };

    check(&[""], 1, "the file contains no records");
    check(&["a,b\n1,2\n1,\"2\n3,4\n"], 3, "unclosed quote in the record that begins here");
    check(&["a,b\n\n1,2,3\n"], 3, "expected 2 fields, found 3");
    check(&["a,b\n1,\"2\"x\n"], 2, "unexpected text after a closing quote");
    check(&["a,column3,a\n"], 1, "two columns are named `column3`");
    check(&["a,b\n1,2\n", "\na,c\n"], 2, "expected the column `b` as in the first file, found `c`");
    check(&["a,b\n1,2\n", "a\n"], 1, "the number of columns is 1, but the first file has 2");
    check(&["a\n1\n", "a\n\"1\n"], 2, "unclosed quote in the record that begins here");
}

#[test]
fn every_column_has_a_name_of_its_own() {
    let files = Files::with(&["a, a ,,b\n1,2,3,4\n"]);
    let layout = Layout { delimiter: Some(b','), has_header: true };
    let table = Table::probe(&files.1[0], layout, &[]).unwrap();
    let names: Vec<&str> = table.columns.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["a", "column2", "column3", "b"]);
}

#[test]
fn tables_are_found_out() {
    use ColumnKind::{Bool, F64, I64, Str};
    let check = |content: &str, delimiter: u8, kinds: &[ColumnKind]| {
        let files = Files::with(&[content]);
        let table =
            Table::probe(&files.1[0], Layout { delimiter: None, has_header: false }, &[]).unwrap();
        let found: Vec<ColumnKind> = table.columns.iter().map(|it| it.kind).collect();
        assert_eq!((table.delimiter, found.as_slice()), (delimiter, kinds), "{content}");
    };

    check("1;2,5;x\n2;3,5;y\n", b';', &[I64, Str, Str]);
    check("1\t2.5\n-3\t1e3,x\n", b'\t', &[I64, Str]);
    check("1|TRUE\n2.0|false\n", b'|', &[F64, Bool]);
    check("alone\n\"in, the\"\nfile\n", b',', &[Str]);
    check("a;b,\"x;y\"\nc,\"p;q\"\n", b',', &[Str, Str]);
    check("1, 2 ,,nan\n,-3,,\n", b',', &[I64, I64, Str, F64]);
    check("12345678901234567890,1\n1,2.5\n", b',', &[Str, F64]);
}

/// Goes byte by byte: the records as their lines and fields, up to the first mistake.
fn obvious(bytes: &[u8], delimiter: u8) -> Vec<(u64, Option<Vec<Vec<u8>>>)> {
    let (mut records, mut at, mut line) = (Vec::new(), 0, 1);
    while at < bytes.len() {
        let (first, mut fields, mut field) = (line, Vec::new(), Vec::new());
        let (mut starts, mut quoted, mut closed, mut bad) = (true, false, false, false);
        loop {
            let next = bytes.get(at).copied();
            let ends = next.is_none()
                || bytes[at..].starts_with(b"\n")
                || bytes[at..].starts_with(b"\r\n");
            if quoted && next.is_none() {
                bad = true;
            }
            if next.is_none() || (ends && !quoted) {
                at += if next == Some(b'\r') { 2 } else { 1 };
                line += 1;
                break;
            }
            let byte = bytes[at];
            line += u64::from(byte == b'\n');
            at += 1;
            if quoted {
                match (byte, bytes.get(at)) {
                    (b'"', Some(b'"')) => {
                        field.push(b'"');
                        at += 1;
                    }
                    (b'"', _) => (quoted, closed) = (false, true),
                    _ => field.push(byte),
                }
            } else if byte == delimiter {
                fields.push(std::mem::take(&mut field));
                (starts, closed) = (true, false);
                continue;
            } else if byte == b'"' && starts {
                quoted = true;
            } else {
                bad |= closed;
                field.push(byte);
            }
            starts = false;
        }
        let blank = fields.is_empty() && field.is_empty() && !closed && !bad;
        fields.push(field);
        if !blank {
            records.push((first, (!bad).then_some(fields)));
        }
    }
    records
}

#[test]
fn agrees_with_the_obvious_reader() {
    let mut state = 88_172_645_463_325_252_u64;
    let mut dice = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    let (mut n_good, mut n_bad) = (0, 0);

    for _ in 0..400 {
        let pieces = ["a", ";", "\"", "\n", "\r\n", "\"\"", ";\"", "\";", "bc", "\r", "é"];
        let content: String = (0..dice(40)).map(|_| pieces[dice(11) as usize]).collect();
        let files = Files::with(&[&content]);
        let expected = obvious(content.as_bytes(), b';');
        let reader = RecordReader::csv(files.1.clone(), &table(b';', 1))
            .with_blocks_of(1 + dice(9) as usize);
        let Ok(records) = all(reader) else {
            // Only a quote that is never closed keeps a file from being cut.
            assert_eq!(expected.last().map(|it| it.1.is_none()), Some(true), "{content:?}");
            continue;
        };
        assert_eq!(records.len(), expected.len(), "{content:?}");
        for ((_, line, text), (expected_line, fields)) in records.iter().zip(&expected) {
            let mut splitter = Splitter::default();
            let split = splitter.split(text.as_bytes(), b';').ok();
            let split = split.map(|it| it.iter().map(<[u8]>::to_vec).collect::<Vec<_>>());
            assert_eq!((line, &split), (expected_line, fields), "{content:?}");
            *(if fields.is_some() { &mut n_good } else { &mut n_bad }) += 1;
        }
    }
    assert!(n_good > 300 && n_bad > 100, "{n_good} good, {n_bad} bad");
}
