//! `parquet`: one record for each row of Parquet files.

use super::{
    absent::{COMPLETE, FAULT},
    listed::Listed,
    tables::{Said, Tables},
};
use crate::prelude::*;
use crate::tables::{TableFile, parquet::ParquetFile};
use plan::Faulty;
use runtime::{Source, SourceCall};
use std::{path::Path, sync::Arc};

source! {
    /// Reads the rows of Parquet files that match a pattern.
    ///
    /// A record has a field for each column. Patterns are those of `files`. All files must have the same columns, of
    /// the same types. Columns that are not needed are not read, and `columns: ["a", "b"]` limits the fields of a
    /// record. `columns: { fare, distance: "Trip Distance" }` also renames columns, for names that are not identifiers.
    /// All other arguments, and messages, use the new names. A field of a struct is a field of the record:
    /// `image.bytes`.
    ///
    /// Numbers and booleans have the dtype of the file, strings are `str`, binary is `bytes`. Dates, times and
    /// timestamps are integers of the file's unit, such as microseconds since 1970; decimals are `f64`. Timestamps of
    /// 96 bits (Hive, Impala, old Spark) are nanoseconds; those before 1677 or after 2262 fail, where other readers
    /// return a wrong time. Lists of numbers are `t[?]`, or `t[n]` if all have the same length. Lists of strings or
    /// structs, and maps, are `untyped`: `tags[0] as str`. Columns of other types, such as null or interval, are left
    /// out.
    ///
    /// `missing: { age: -1, size: skip }` decides what happens to nulls: a value replaces them, `skip` drops the row,
    /// and `fault` (the default) makes the field fail where it is used, so that `age else -1`, `else skip` and the
    /// quarantine apply. Without an `else`, the run ends at such a row.
    ///
    /// Files can be read in any order. `shuffle` without a window first reads all rows into memory, if they take at
    /// most 256 MiB and an eighth of the memory of the run. Otherwise, each row requires reading a whole page of every
    /// column, and `shuffle(window: n, spans: k)`, which takes rows from `k` row groups in turn, is much faster.
    ///
    /// Pages may be compressed with Snappy, gzip, Zstandard, LZ4 or Brotli. Encrypted files are rejected.
    ///
    /// Row groups whose statistics show that a `where` next to the source drops every row are skipped; when rows are
    /// read in order or with `spans`, so are single pages. If the data is sorted by time, `parquet(…) |> where time >
    /// 1_700_000_000` only reads the end. Then, too, long strings and bytes that the `where` does not use, such as
    /// images, are read after it was decided by its own columns: pages without a row that passes are skipped. This
    /// works for comparisons of columns with constants, joined by `and`; `shuffle` without a window reads everything.
    /// The summary of `run` and `explain --rewrites` show what was skipped by statistics.
    ///
    /// For `lanes`, see `range`. `faults` and `filter` are set by the compiler.
    ///
    /// ```pipe no_run
    /// parquet("rides/*.parquet", columns: ["distance", "fare"], missing: { fare: skip })    # { distance: f64, fare: f64 }
    /// ```
    "parquet(pattern: text, columns: columns = none, missing: absent = none, lanes: int = none, faults: bool = false, \
     filter: conditions = none) -> stream",
    cost: Cost::out(20.0, 1.0),    // Assumed: pages are decompressed, and values decoded.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::ByFile, Property::Keeps(COMPLETE), Property::Faulty(&FAULTY), Property::Filters(FILTER)],
    fields: Some(fields);
    probe: probe,
}

static FAULTY: Faulty =
    Faulty { argument: FAULTS, field: FAULT, known: COMPLETE, guard: "guarded" };

/// Where the parameters stand.
const COLUMNS: usize = 1;
const MISSING: usize = 2;
const LANES: usize = 3;
const FAULTS: usize = 4;
const FILTER: usize = 5;

fn said(args: &[Arg]) -> Result<Said, String> {
    // What is dealt to lanes are all records.
    let filter = if args[LANES] == Arg::None { &args[FILTER] } else { &Arg::None };
    Ok(Said::new(&args[COLUMNS], &args[MISSING], &args[FAULTS])?.filtered(filter))
}

pub(super) fn open(path: &Path, give_up: &mut dyn FnMut()) -> Result<Box<dyn TableFile>, Failure> {
    Ok(Box::new(ParquetFile::of(path, give_up)?))
}

/// The fields were found by [`probe`].
fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    said(applied.args)?;
    Ok(applied.found.to_vec())
}

fn probe(args: &[Arg]) -> Result<Vec<Field>, Failure> {
    let listed = Listed::new(&args[0]).map_err(Failure::Program)?;
    said(args).map_err(Failure::Program)?.probe(&listed, &open)
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let said = said(call.args).map_err(Failure::Program)?;
    Ok(Arc::new(Tables::new(said, listed, Arc::new(open), call)))
}

#[cfg(test)]
mod tests {
    use super::super::{framed::reading::*, listed::folder::Folder};
    use super::*;
    use runtime::{Chunk, Interleave, Pool};

    macro_rules! golden {
        ($name:literal) => {
            ($name, include_bytes!(concat!("../tables/goldens/", $name, ".parquet")) as &[u8])
        };
    }

    type Golden = (&'static str, &'static [u8]);

    const ROWS: Golden = golden!("rows");

    fn folder(name: &str, files: &[Golden]) -> Folder {
        let folder = Folder::new(&format!("parquet-{name}"), &[("made", "")]);
        for (name, bytes) in files {
            std::fs::write(folder.path(&format!("{name}.parquet")), bytes).unwrap();
        }
        folder
    }

    fn args(folder: &Folder, columns: &[&str], missing: &[(&str, Arg)], faults: bool) -> [Arg; 6] {
        let columns = columns.iter().map(|it| Arg::Text((*it).to_owned())).collect::<Vec<_>>();
        let missing = missing.iter().map(|(name, it)| ((*name).to_owned(), it.clone())).collect();
        [
            folder.pattern("*.parquet"),
            if columns.is_empty() { Arg::None } else { Arg::List(columns) },
            Arg::Record(missing),
            Arg::None,
            Arg::Bool(faults),
            Arg::None,
        ]
    }

    fn open(args: &[Arg]) -> (Arc<dyn Source>, Vec<Field>) {
        let fields = probe(args).unwrap();
        (build(&SourceCall { args, columns: &fields, place: 7 }).unwrap(), fields)
    }

    /// A row: its id, and the bytes of its fields.
    type Row = (u64, Vec<Vec<u8>>);

    fn row_of(chunk: &Chunk, at: usize) -> Row {
        let value = |it: &runtime::Column| {
            let mut bytes = vec![0; it.row(at).bytes()];
            it.row(at).copy_to(&mut bytes);
            bytes
        };
        (chunk.ids()[at], chunk.columns.iter().map(value).collect())
    }

    fn rows(chunks: &[Chunk]) -> Vec<Row> {
        chunks.iter().flat_map(|chunk| (0..chunk.rows).map(|at| row_of(chunk, at))).collect()
    }

    fn column<T: runtime::Element>(chunk: &Chunk, at: usize) -> &[T] {
        chunk.columns[at].as_slice().unwrap()
    }

    #[test]
    fn columns_have_the_types_and_values_of_the_file() {
        let folder = folder("types", &[ROWS]);
        let (source, fields) = open(&args(&folder, &[], &[("x", Arg::Float(-1.0))], false));
        let types: Vec<_> = fields.iter().map(ToString::to_string).collect();
        let expected = [
            "n: i64",
            "x: f32",
            "name: str",
            "ok: bool",
            "xs: i16[?]",
            "pair: f64[2]",
            "at.lat: f64",
            "at.place: str",
            "tags: untyped",
            "price: f64",
            "day: i32",
            "time: i64",
            "blob: bytes",
        ];
        assert_eq!(types, expected);
        assert_eq!(source.len(), Ok(23));
        let all = in_order(&*source, &fields, 100).unwrap().remove(0);
        for i in 0..23 {
            let text = |at: usize| all.columns[at].row(i).as_str().to_owned();
            assert_eq!(column::<i64>(&all, 0)[i], i as i64);
            assert_eq!(column::<f32>(&all, 1)[i], if i % 7 == 3 { -1.0 } else { i as f32 / 2.0 });
            assert_eq!(text(2), format!("n{}", i % 3));
            assert_eq!(column::<bool>(&all, 3)[i], i % 2 == 0);
            let list: Vec<i16> = (0..i as i16 % 4).collect();
            assert_eq!(all.columns[4].row(i).as_slice::<i16>().unwrap(), list);
            let pair = [i as f64, -(i as f64)];
            assert_eq!(all.columns[5].row(i).as_slice::<f64>().unwrap(), pair);
            assert_eq!(column::<f64>(&all, 6)[i], i as f64 / 4.0);
            assert_eq!(text(7), format!("p{i}"));
            let tags = [String::new(), format!("\"t{i}\""), format!("\"t{i}\",null")];
            assert_eq!(text(8), format!("[{}]", tags[i % 3]));
            assert_eq!(column::<f64>(&all, 9)[i], i as f64 / 10.0);
            assert_eq!(column::<i32>(&all, 10)[i], 19_782 + i as i32);
            assert_eq!(column::<i64>(&all, 11)[i], 1_709_164_800_000_000 + i as i64 * 1_000_000);
            assert_eq!(all.columns[12].row(i).as_text(), vec![i as u8; i % 3]);
        }
    }

    #[test]
    fn every_codec_and_both_versions_of_pages_are_read() {
        let files = [
            golden!("none-1"),
            golden!("none-2"),
            golden!("snappy-1"),
            golden!("snappy-2"),
            golden!("gzip-1"),
            golden!("gzip-2"),
            golden!("zstd-1"),
            golden!("zstd-2"),
            golden!("lz4-1"),
            golden!("lz4-2"),
            golden!("brotli-1"),
            golden!("brotli-2"),
        ];
        for (name, bytes) in files {
            let folder = folder(name, &[(name, bytes)]);
            let (source, fields) = open(&args(&folder, &[], &[], false));
            let all = in_order(&*source, &fields, 100).unwrap().remove(0);
            let squares: Vec<i64> = (0..60).map(|it| it * it).collect();
            assert_eq!(column::<i64>(&all, 0), squares, "{name}");
            let texts = (0..60)
                .all(|it| all.columns[1].row(it).as_str() == format!("row {} of many", it % 10));
            assert!(texts, "{name}");
            // A byte of a page that is not as it was is seen by its checksum.
            let mut bytes = bytes.to_vec();
            bytes[100] ^= 1;
            std::fs::write(folder.path(&format!("{name}.parquet")), bytes).unwrap();
            let (source, _) = open(&args(&folder, &[], &[], false));
            let why = in_order(&*source, &fields, 100).unwrap_err().to_string();
            assert!(why.contains("row group 0: ") && why.contains(name), "{why}");
        }
    }

    /// pyarrow reads those that fail as other times.
    #[test]
    fn a_timestamp_of_96_bits_that_does_not_fit_is_a_fault() {
        for file in [golden!("int96-dict"), golden!("int96-plain"), golden!("int96-v2")] {
            let folder = folder(file.0, &[file]);
            let said = [("t", Arg::Int(7))];
            let (source, fields) = open(&args(&folder, &["i", "t", "all"], &said, true));
            let chunk = in_order(&*source, &fields, 100).unwrap().remove(0);
            let of = |row: usize, column: &str| {
                let fault = chunk.columns[3].row(row).as_str();
                let said = fault.split('\0').skip(1).collect::<Vec<_>>();
                let said = said.chunks(2).find(|it| it[0] == column)?;
                Some(said[1].to_owned())
            };
            let far = [2, 4, 6, 8, 9];
            for row in 0..10 {
                let fault = of(row, "1");
                assert_eq!(fault.is_some(), far.contains(&row), "{row}: {fault:?}");
                let fault = fault.or(of(row, "2")).unwrap_or_default();
                assert_eq!(fault.contains("64-bit nanoseconds"), far.contains(&row), "{fault}");
                assert_eq!(of(row, "2").is_some(), far.contains(&row) || row == 3, "{row}");
            }
            let times = [-1000, 1_709_208_000_000_000_000, 7];
            let found = column::<i64>(&chunk, 1);
            assert_eq!([found[0], found[1], found[3]], times);
            assert_eq!(found[5], 9_223_372_036_854_775_000);
            assert_eq!(found[7], -9_223_372_036_854_775_000);
            assert_eq!(chunk.columns[2].row(1).as_slice::<i64>().unwrap(), &times[..2]);
            let numbers: Vec<u64> = (0..10).rev().collect();
            let again = fetched(&*source, &fields, &numbers).unwrap();
            let mut again = rows(&[again]);
            again.reverse();
            assert_eq!(again, rows(std::slice::from_ref(&chunk)));
        }
    }

    #[test]
    fn rows_are_the_same_in_any_order() {
        let more = golden!("more");
        let folder = folder("order", &[more, ROWS, ("same", ROWS.1)]);
        let (source, fields) =
            open(&args(&folder, &["n", "x", "name"], &[("x", Arg::Float(0.5))], false));
        assert_eq!(source.len(), Ok(51));
        let all = rows(&in_order(&*source, &fields, 100).unwrap());
        for n in [1, 2, 7] {
            assert_eq!(rows(&in_order(&*source, &fields, n).unwrap()), all, "{n} at a time");
        }
        let numbers: Vec<u64> = (0..51).map(|it| it * 20 % 51).chain([7, 7, 50, 0]).collect();
        let found = rows(&[fetched(&*source, &fields, &numbers).unwrap()]);
        let expected: Vec<_> = numbers.iter().map(|it| all[*it as usize].clone()).collect();
        assert_eq!(found, expected);
        assert_eq!(source.describe(6), format!("{}, row 1", folder.path("rows.parquet")));
        let named = source.named(all[6].0).unwrap();
        assert_eq!(named, format!("`{}, row 1`", folder.path("rows.parquet")));
        assert_eq!(source.named(7), None);

        for place in 0..=51 {
            let mut stream = source.stream().unwrap();
            let mut out = ChunkBuilder::new(&fields, 1, 0, &Pool::default());
            stream.next(place, &mut out).unwrap();
            let mut resumed = source.stream().unwrap();
            resumed.go_to(&stream.place().unwrap()).unwrap();
            let mut out = ChunkBuilder::new(&fields, 1, 0, &Pool::default());
            resumed.next(100, &mut out).unwrap();
            assert_eq!(rows(&[out.finish()]), all[place..], "from {place}");
        }
        for wrong in [&[][..], &[9, 0], &[0, 6], &[7, 1], &[0]] {
            assert!(source.stream().unwrap().go_to(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn row_groups_come_in_turn() {
        let folder = folder("in-turn", &[ROWS, ("same", ROWS.1)]);
        let (source, fields) = open(&args(&folder, &["n"], &[], false));
        let all = rows(&in_order(&*source, &fields, 100).unwrap());
        for open in [1, 2, 3, 9] {
            let stream = || source.interleaved(Interleave { key: 11, open }).unwrap();
            let read = |stream: &mut dyn runtime::Stream, n| {
                let mut out = ChunkBuilder::new(&fields, n, 0, &Pool::default());
                stream.next(n, &mut out).unwrap();
                rows(&[out.finish()])
            };
            let in_turn = read(&mut *stream(), 100);
            let mut sorted = in_turn.clone();
            sorted.sort_unstable();
            let mut expected = all.clone();
            expected.sort_unstable();
            assert_eq!(sorted, expected, "{open} open");
            if open == 2 {
                // Two row groups are open, and give a row in turn.
                let groups: Vec<usize> = in_turn[..4]
                    .iter()
                    .map(|it| all.iter().position(|of| of == it).unwrap() % 23 / 9)
                    .collect();
                assert_eq!((groups[0], groups[1]), (groups[2], groups[3]));
            }
            let mut goes = stream();
            for given in 0..=46 {
                let mut resumed = stream();
                resumed.go_to(&goes.place().unwrap()).unwrap();
                assert_eq!(read(&mut *resumed, 100), in_turn[given..], "{open} open, at {given}");
                read(&mut *goes, 1);
            }
        }
    }

    #[test]
    fn a_null_is_a_fault_unless_something_is_said_of_it() {
        let folder = folder("nulls", &[ROWS]);
        let (source, fields) = open(&args(&folder, &["n", "x"], &[], false));
        let mut stream = source.stream().unwrap();
        let mut out = ChunkBuilder::new(&fields, 9, 0, &Pool::default());
        let why = stream.next(9, &mut out).unwrap_err().to_string();
        assert_eq!(out.rows(), 3);
        assert!(
            why.contains("column `x` is null: give a value for it, `missing: { x: 0 }`"),
            "{why}"
        );
        let mut out = ChunkBuilder::new(&fields, 9, 0, &Pool::default());
        let failed = source.fetch(&[9, 10, 1, 3], &mut out).unwrap_err();
        assert_eq!(out.rows(), 1);
        assert!(failed.to_string().contains("is null"), "{failed}");

        let (source, fields) = open(&args(&folder, &["n", "x"], &[], true));
        let all = in_order(&*source, &fields, 100).unwrap().remove(0);
        let fault = |it: usize| all.columns[2].row(it).as_str().to_owned();
        let faulty: Vec<usize> = (0..23).filter(|it| !fault(*it).is_empty()).collect();
        assert_eq!(faulty, [3, 10, 17]);
        let expected =
            format!("\0{}\0{}, row 10: column `x` is null", 1, folder.path("rows.parquet"));
        assert!(fault(10).starts_with(&expected), "{}", fault(10));

        let skip = [("x", Arg::Word("skip".to_owned()))];
        let (source, fields) = open(&args(&folder, &["n", "x"], &skip, false));
        // Also where nobody needs the column.
        let few: Vec<Field> = fields.iter().filter(|it| it.name != "x").cloned().collect();
        let args = args(&folder, &["n", "x"], &skip, false);
        let source_of_few = build(&SourceCall { args: &args, columns: &few, place: 7 }).unwrap();
        for (source, fields) in [(&source, &fields), (&source_of_few, &few)] {
            let all = in_order(&**source, fields, 100).unwrap().remove(0);
            let complete = column::<bool>(&all, fields.len() - 1);
            let left_out: Vec<usize> = (0..23).filter(|it| !complete[*it]).collect();
            assert_eq!(left_out, [3, 10, 17]);
        }
    }

    #[test]
    fn arguments_and_files_that_do_not_fit_are_named() {
        let folder = folder("args", &[ROWS]);
        let refused = |columns: &[&str], missing: &[(&str, Arg)]| {
            probe(&args(&folder, columns, missing, false)).unwrap_err().to_string()
        };
        let why = refused(&["nam"], &[]);
        assert!(
            why.contains("`columns` names `nam`, which is not a column: did you mean"),
            "{why}"
        );
        let why = refused(&["nothing"], &[]);
        assert!(why.contains("column `nothing` is of the type `Null`"), "{why}");
        let why = refused(&["n"], &[("x", Arg::Int(0))]);
        assert!(why.contains("`missing` names `x`, which is not a column"), "{why}");
        let why = refused(&[], &[("x", Arg::Bool(true))]);
        assert!(why.contains("`missing` must give a `f32` for `x`"), "{why}");
        let fields = probe(&args(&folder, &["at"], &[], false)).unwrap();
        assert_eq!(fields.len(), 2);

        // Another file has the column under another type.
        std::fs::write(folder.path("zones.parquet"), golden!("none-1").1).unwrap();
        let (source, fields) = open(&args(&folder, &["n", "ok"], &[], false));
        let why = fetched(&*source, &fields, &[40]).unwrap_err().to_string();
        assert!(
            why.contains(
                "zones.parquet`: its column `ok` is missing, but `bool` in the first file"
            ),
            "{why}"
        );
    }

    #[test]
    fn the_rows_of_a_damaged_page_are_lost_and_no_others() {
        let (name, bytes) = golden!("pages");
        let folder = folder("lost", &[(name, bytes)]);
        let whole = {
            let (source, fields) = open(&args(&folder, &[], &[], true));
            rows(&in_order(&*source, &fields, 100).unwrap())
        };
        // Row 33 lies in the fourth page of `n`, and row 61 in a page of `xs`.
        let place = |of: &[u8]| bytes.windows(of.len()).position(|it| it == of).unwrap();
        let numbers = |from: i32| (from..from + 4).flat_map(i32::to_le_bytes).collect::<Vec<_>>();
        let items: Vec<u8> = [61_i64, 62, 62].iter().flat_map(|it| it.to_le_bytes()).collect();
        let mut damaged = bytes.to_vec();
        damaged[place(&numbers(33))] ^= 1;
        damaged[place(&items)] ^= 1;
        std::fs::write(folder.path("pages.parquet"), damaged).unwrap();

        let (source, fields) = open(&args(&folder, &[], &[], true));
        for n in [1, 7, 100] {
            let found = rows(&in_order(&*source, &fields, n).unwrap());
            let ids = |all: &[Row]| all.iter().map(|it| it.0).collect::<Vec<_>>();
            assert_eq!(ids(&found), ids(&whole));
            let lost: Vec<usize> = (0..80).filter(|it| found[*it] != whole[*it]).collect();
            assert_eq!(lost[..10], (30..40).collect::<Vec<_>>(), "{n} at a time");
            // A list is not cut, so that pages of lists have no more rows than that, nor the same.
            assert!(lost[10..].contains(&61) && lost.len() < 22, "{lost:?}");
            assert!(lost[10..].windows(2).all(|it| it[0] + 1 == it[1]), "{lost:?}");
            let fault = String::from_utf8_lossy(&found[61].1[2]);
            assert!(
                fault.contains("row 61: row group 1: a page does not match its checksum"),
                "{fault}"
            );
        }
        let all = rows(&in_order(&*source, &fields, 100).unwrap());
        let numbers: Vec<u64> = (0..80).map(|it| it * 7 % 80).collect();
        let fetched = |source: &dyn Source| {
            rows(&[super::super::framed::reading::fetched(source, &fields, &numbers).unwrap()])
        };
        let expected: Vec<_> = numbers.iter().map(|it| all[*it as usize].clone()).collect();
        assert_eq!(fetched(&*source), expected);

        // Where nobody asks for faults, the run ends at the first such row.
        let (source, fields) = open(&args(&folder, &["n"], &[], false));
        for n in [1, 7, 100] {
            let mut stream = source.stream().unwrap();
            let mut out = ChunkBuilder::new(&fields, 100, 0, &Pool::default());
            let ended = std::iter::repeat_with(|| stream.next(n, &mut out)).find_map(Result::err);
            assert_eq!(out.rows(), 30, "{n} at a time");
            let ended = ended.unwrap().to_string();
            assert!(
                ended.contains("pages.parquet, row 30") || ended.contains("row group 0"),
                "{ended}"
            );
        }
    }

    #[test]
    fn a_damaged_file_is_an_error_at_every_byte() {
        for (name, bytes) in [golden!("more"), golden!("zstd-2")] {
            let folder = folder(&format!("damaged-{name}"), &[(name, bytes)]);
            let path = folder.path(&format!("{name}.parquet"));
            for at in 0..bytes.len() {
                let mut flipped = bytes.to_vec();
                flipped[at] ^= 0x55;
                for file in [&bytes[..at], &flipped] {
                    std::fs::write(&path, file).unwrap();
                    let args = args(&folder, &[], &[], true);
                    let Ok(fields) = probe(&args) else { continue };
                    let call = SourceCall { args: &args, columns: &fields, place: 7 };
                    let source = build(&call).unwrap();
                    let _ = in_order(&*source, &fields, 3);
                    let _ = source.len().map(|it| fetched(&*source, &fields, &[0, it.max(1) - 1]));
                }
            }
        }
    }

    /// A table of two row groups or more, whose columns are all of their kinds: with nulls, NaN, and values at the ends.
    fn table(mut dice: impl FnMut(u64) -> u64) -> Vec<u8> {
        use arrow_array::{
            ArrayRef, Float32Array, Float64Array, Int32Array, RecordBatch, StringArray, UInt64Array,
        };
        use parquet::{
            arrow::ArrowWriter,
            file::properties::{EnabledStatistics, WriterProperties},
        };
        let n = 8 + dice(30) as usize;
        let (sorted, nulls) = (dice(2) == 0, dice(3));
        // Long texts, which no condition asks of.
        let (kinds, lacking) = (1 + dice(20), dice(2) == 0);
        let long: Vec<Option<String>> = (0..n)
            .map(|_| (!lacking || dice(6) > 0).then(|| format!("{} ", dice(kinds)).repeat(40)))
            .collect();
        let mut column = || {
            let mut all: Vec<Option<i64>> =
                (0..n).map(|_| (nulls > 0 || dice(5) > 0).then(|| dice(9) as i64 - 4)).collect();
            if sorted {
                all.sort();
            }
            all
        };
        let float = |it: Option<i64>| {
            it.map(|it| match it {
                4 => f64::NAN,
                -4 => f64::NEG_INFINITY,
                it => it as f64 / 2.0,
            })
        };
        let (a, b, c, d, e) = (column(), column(), column(), column(), column());
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("a", Arc::new(a.into_iter().map(|it| it.map(|it| it as i32)).collect::<Int32Array>())),
            (
                "b",
                Arc::new(b.into_iter().map(|it| it.map(|it| it as u64)).collect::<UInt64Array>()),
            ),
            (
                "c",
                Arc::new(
                    c.into_iter().map(|it| float(it).map(|it| it as f32)).collect::<Float32Array>(),
                ),
            ),
            ("d", Arc::new(d.into_iter().map(float).collect::<Float64Array>())),
            (
                "e",
                Arc::new(
                    e.into_iter()
                        .map(|it| it.map(|it| "é".repeat(it.unsigned_abs() as usize)))
                        .collect::<StringArray>(),
                ),
            ),
            ("f", Arc::new(long.into_iter().collect::<StringArray>())),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|it| (it.0, it.1, true)),
        )
        .unwrap();
        let said = [EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page]
            [dice(3) as usize];
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(1 + dice(15) as usize))
            .set_data_page_row_count_limit(1 + dice(4) as usize)
            .set_write_batch_size(1 + dice(2) as usize)
            .set_statistics_enabled(said)
            .set_statistics_truncate_length(Some(3))
            .build();
        let mut bytes = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    }

    /// Whether a row meets a condition, as a program would say; none where a null is met.
    fn meets(chunk: &Chunk, row: usize, (column, word, bound): (usize, &str, &Arg)) -> bool {
        let value = chunk.columns[column].row(row);
        let order = match bound {
            Arg::Text(bound) => Some(value.as_text().cmp(bound.as_bytes())),
            Arg::Int(bound) if value.dtype() == DType::U64 => {
                Some(value.first::<u64>().cmp(&bound.cast_unsigned()))
            }
            Arg::Int(bound) => Some(value.int().cmp(bound)),
            Arg::Float(bound) => value.number().partial_cmp(bound),
            _ => None,
        };
        match word {
            "==" => order.is_some_and(std::cmp::Ordering::is_eq),
            "!=" => !order.is_some_and(std::cmp::Ordering::is_eq),
            "<" => order.is_some_and(std::cmp::Ordering::is_lt),
            "<=" => order.is_some_and(std::cmp::Ordering::is_le),
            ">" => order.is_some_and(std::cmp::Ordering::is_gt),
            _ => order.is_some_and(std::cmp::Ordering::is_ge),
        }
    }

    /// Random tables and conditions: what is left out is only what the conditions leave out, and the others have their
    /// values. 10,000 of them where
    /// `SLOW_TESTS` is set.
    #[test]
    fn what_filters_leave_out_is_what_would_go() {
        let tables = if std::env::var_os("SLOW_TESTS").is_some() { 10_000 } else { 400 };
        let halves = std::thread::scope(|scope| {
            let half = |seed| scope.spawn(move || filtered_tables(tables / 2, seed));
            [7, 8].map(half).map(|it| it.join().unwrap())
        });
        let [spared, by_pages, all, texts] = [0, 1, 2, 3].map(|it| halves[0][it] + halves[1][it]);
        assert!(spared * 5 > all, "{spared} of {all} rows were spared");
        assert!(by_pages * 50 > all, "{by_pages} of {all} rows were spared by their pages");
        assert!(texts * 50 > all, "{texts} texts of {all} rows were spared");
    }

    /// The rows that the conditions spare so many random tables, those that pages alone spare, all rows, and of those that
    /// were given the long texts that were spared.
    fn filtered_tables(tables: usize, seed: u64) -> [usize; 4] {
        let mut state = seed;
        let (mut spared, mut by_pages, mut all, mut texts) = (0, 0, 0, 0);
        let folder = folder(&format!("filters-{seed}"), &[]);
        for _ in 0..tables {
            let mut dice = |n: u64| {
                state = runtime::mix(state, 1);
                state % n
            };
            std::fs::write(folder.path("a.parquet"), table(&mut dice)).unwrap();
            let names = ["a", "b", "c", "d", "e"];
            let mut conditions: Vec<(usize, &str, Arg)> = Vec::new();
            for _ in 0..1 + dice(2) {
                let column = dice(5) as usize;
                let word = ["==", "!=", "<", "<=", ">", ">="][dice(6) as usize];
                let bound = match column {
                    0 | 1 => Arg::Int(dice(9) as i64 - 4),
                    4 => Arg::Text("é".repeat(dice(5) as usize)),
                    _ => Arg::Float(dice(9) as f64 / 2.0 - 2.0),
                };
                conditions.push((column, word, bound));
            }
            let missing = [("b", Arg::Word("skip".to_owned())), ("d", Arg::Int(1))];
            let mut args = args(&folder, &[], &missing, dice(2) == 0);
            let (plain, fields) = open(&args);
            let said = conditions.iter().map(|(column, word, bound)| {
                let name = Arg::Text(names[*column].to_owned());
                Arg::List(vec![name, Arg::Word((*word).to_owned()), bound.clone()])
            });
            args[FILTER] = Arg::List(said.collect());
            let filtered = build(&SourceCall { args: &args, columns: &fields, place: 7 }).unwrap();
            // Those that come through a filter, until one ends the run: by id.
            let complete = fields.iter().position(|it| it.name == COMPLETE).unwrap();
            let fault = fields.iter().position(|it| it.name == FAULT);
            let left = |source: &dyn Source, spans: bool| {
                let stream = match spans {
                    true => source.interleaved(runtime::Interleave { open: 3, key: 5 }),
                    false => source.stream(),
                };
                let (mut stream, mut ids, mut rows) = (stream.unwrap(), Vec::new(), [0, 0]);
                loop {
                    let mut out =
                        runtime::ChunkBuilder::new(&fields, 5, 0, &runtime::Pool::default());
                    let read = stream.next(5, &mut out);
                    let chunk = out.finish();
                    rows[0] += chunk.rows;
                    for row in 0..chunk.rows {
                        let is = |at: usize| chunk.columns[at].row(row).first::<bool>();
                        let fails = |column: usize| {
                            let faults = fault.map_or("", |it| chunk.columns[it].row(row).as_str());
                            faults.contains(&format!("\0{column}\0"))
                        };
                        let passes = conditions.iter().all(|(column, word, bound)| {
                            meets(&chunk, row, (*column, *word, bound))
                        });
                        let fails = conditions.iter().any(|it| fails(it.0));
                        rows[1] += usize::from(chunk.columns[5].row(row).as_str().is_empty());
                        if is(complete) && (passes || fails) {
                            let (id, values) = row_of(&chunk, row);
                            ids.push((id, fails, values));
                        }
                    }
                    if let Err(why) = read {
                        return (ids, rows, Some(why));
                    }
                    if chunk.rows == 0 {
                        return (ids, rows, None);
                    }
                }
            };
            for spans in [false, true] {
                let (a, b) = (left(&*plain, spans), left(&*filtered, spans));
                assert!(b.1[0] <= a.1[0]);
                assert_eq!((&a.0, &a.2), (&b.0, &b.2), "{conditions:?}");
                (spared, all) = (spared + a.1[0] - b.1[0], all + a.1[0]);
                texts += b.1[1].saturating_sub(a.1[1]);
                // Of a part that is needed some rows are left out by their pages.
                let by_groups = filtered.unneeded().map_or(0, |it| it.records as usize);
                by_pages += a.1[0].saturating_sub(by_groups + b.1[0]);
            }
        }
        [spared, by_pages, all, texts]
    }
}
