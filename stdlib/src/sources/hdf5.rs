//! `hdf5`: one record for each HDF5 file, or for each row of the datasets in them.

mod whole;

use super::{
    absent::FAULT,
    binary,
    listed::Listed,
    tables::{Open, Said, Tables},
};
use crate::prelude::*;
use crate::tables::hdf5::Hdf5Rows;
use plan::Faulty;
use runtime::{Source, SourceCall};
use std::sync::Arc;
use whole::Whole;

source! {
    /// Reads the HDF5 files that match a pattern: one record per file, or per row of their datasets.
    ///
    /// Patterns are those of `files`. Without `over`, a record is a file: its `path`, and `row`, whose datasets are accessed
    /// by name. `row["train/x"] as f32[n]` reads a dataset, `row["train/x"][a:b] as f32[n]` only its rows `a` to before `b`:
    /// see `read_as`. What is not used is not read.
    ///
    /// `over` names a dataset, such as `"images"` or `"train/images"`; a record is then a row of its first axis. Every
    /// dataset whose first axis has the same length is a field: `train/images` is `train.images`. The first file says
    /// which there are, and of which type; all files must have these. `columns` lists those to read, or renames them,
    /// as in `parquet`. Rows can be read in any order: `shuffle` without a window reads each chunk once if all rows fit
    /// into memory; otherwise, it reads a whole chunk for each row, and `shuffle(window:, spans:)` is faster. If a
    /// chunk is damaged, only its own rows fail.
    ///
    /// | in the file | here |
    /// |---|---|
    /// | integers of 8 to 64 bits, floats of 16, 32 and 64 bits, `bf16`, of either byte order | numbers |
    /// | bit fields, enumerations | the integers that they are; booleans of h5py are `bool` |
    /// | further axes, arrays as elements | axes of a tensor: with `over`, `(60000, 28, 28)` is `u8[28, 28]` |
    /// | texts of fixed or variable length | `str`, without what they are filled up with |
    /// | opaque bytes, lists of `uint8` of variable length | `bytes` |
    /// | other lists of numbers | with `over`, `t[?]`; else refused |
    /// | records of several members (also complex numbers), references, times, integers of fewer bits than their bytes have | refused: no value of the language |
    /// | texts, bytes and lists along several axes | refused: there are no tensors of them |
    ///
    /// Datasets may be contiguous, compact, or in chunks (up to 64 MiB each) with any index, compressed with deflate, LZ4,
    /// szip, shuffle, scale-offset or n-bit, with or without Fletcher-32 checksums. Those of other filters, such as Blosc
    /// or Zstandard, are refused: `h5repack -f GZIP=4 old.h5 new.h5` converts them. Parts that were never written have
    /// the fill value. Links to other files are not followed, and datasets in other files (external, virtual) not read;
    /// a group with a virtual one cannot be listed, so that `over` refuses the file, and its other datasets are read by name.
    ///
    /// For `lanes`, see `range`. `faults` is set by the compiler.
    ///
    /// ```pipe no_run
    /// hdf5("cream/*.h5") |> map { wave: row["current"][:64_000] as f32[64_000] }    # { wave: f32[64000] }
    /// hdf5("train.h5", over: "images") |> shuffle |> batch(64, tail: drop)    # { images: u8[64, 28, 28], labels: i64[64] }
    /// ```
    "hdf5(pattern: text, over: text = none, columns: columns = none, lanes: int = none, faults: bool = false) -> stream",
    cost: Cost::out(100.0, 0.3),    // Assumed: a chunk is found for many rows, a copy of it, and one of each row.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::Faulty(&FAULTY)],
    fields: Some(fields);
    probe: probe,
}

static FAULTY: Faulty = Faulty { argument: FAULTS, field: FAULT, known: "", guard: "guarded" };

/// Where the parameters stand.
const OVER: usize = 1;
const COLUMNS: usize = 2;
const FAULTS: usize = 4;

fn said(args: &[Arg]) -> Result<Said, String> {
    Said::new(&args[COLUMNS], &Arg::None, &args[FAULTS])
}

/// How a file is opened for its rows; none where each is one record.
fn open(args: &[Arg]) -> Result<Option<Open>, String> {
    match &args[OVER] {
        Arg::None if args[COLUMNS] != Arg::None => {
            Err("`columns` are those of rows: name a dataset to go through with `over`".to_owned())
        }
        Arg::None => Ok(None),
        Arg::Text(over) => {
            let over = over.clone();
            Ok(Some(Arc::new(move |path, give_up| {
                Ok(Box::new(Hdf5Rows::of(path, &over, give_up)?))
            })))
        }
        _ => Err("`over` must be the name of a dataset".to_owned()),
    }
}

/// The fields of a record that is a file.
fn whole(args: &[Arg]) -> Vec<Field> {
    let own = [("path", Type::scalar(DType::Str)), ("row", Type::Untyped(Untyped::Hdf5))];
    binary::fields(&own, &args[FAULTS])
}

/// The fields of rows were found by [`probe`].
fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    said(applied.args)?;
    Ok(match open(applied.args)? {
        Some(_) => applied.found.to_vec(),
        None => whole(applied.args),
    })
}

fn probe(args: &[Arg]) -> Result<Vec<Field>, Failure> {
    let listed = Listed::new(&args[0]).map_err(Failure::Program)?;
    let said = said(args).map_err(Failure::Program)?;
    match open(args).map_err(Failure::Program)? {
        Some(open) => said.probe(&listed, &*open),
        None => Ok(whole(args)),
    }
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let said = said(call.args).map_err(Failure::Program)?;
    Ok(match open(call.args).map_err(Failure::Program)? {
        Some(open) => Arc::new(Tables::new(said, listed, open, call)),
        None => Arc::new(Whole::new(listed, call)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{
        framed::reading::*,
        listed::folder::{Folder, rows},
    };
    use super::*;
    use runtime::{Interleave, Pool};

    const ROWS: &[u8] = include_bytes!("../tables/goldens/rows.h5");
    const LATEST: &[u8] = include_bytes!("../tables/goldens/latest.h5");
    const N: usize = 23;

    fn folder(name: &str, files: &[&[u8]]) -> Folder {
        let folder = Folder::new(&format!("hdf5-{name}"), &[("made", "")]);
        for (at, file) in files.iter().enumerate() {
            std::fs::write(folder.path(&format!("{at}.h5")), file).unwrap();
        }
        folder
    }

    fn args(folder: &Folder, over: &str, columns: &[&str], faults: bool) -> [Arg; 5] {
        let text = |it: &str| Arg::Text(it.to_owned());
        let columns = match columns {
            [] => Arg::None,
            _ => Arg::List(columns.iter().map(|it| text(it)).collect()),
        };
        [folder.pattern("*.h5"), text(over), columns, Arg::None, Arg::Bool(faults)]
    }

    fn opened(args: &[Arg]) -> (Arc<dyn Source>, Vec<Field>) {
        let fields = probe(args).unwrap();
        (build(&SourceCall { args, columns: &fields, place: 7 }).unwrap(), fields)
    }

    /// What `make_hdf5.py` wrote.
    fn expected(i: usize) -> String {
        let list = |it: Vec<f64>| format!("{it:?}");
        let n = i as f64;
        let pair = [n, if i == 0 { 0.0 } else { -n }];
        [
            list(vec![n * 1000.0]),
            format!("{:?}", vec![i as u8; i % 3]),
            list(vec![n]),
            "c".repeat(i % 4),
            list(vec![if (6..9).contains(&i) { n } else { -1.0 }]),
            list((0..6).map(|it| f64::from(it) + 6.0 * n).collect()),
            list(vec![n / 4.0]),
            list(vec![(i % 3) as f64]),
            list(vec![n / 2.0]),
            list(vec![n / 8.0]),
            list(vec![n * 3.0 - 5.0]),
            format!("n{i}é"),
            list(vec![f64::from(u8::from(i.is_multiple_of(2)))]),
            list(vec![(i % 5) as f64]),
            list(pair.to_vec()),
            format!("{:?}", [i as u8, 0, 7]),
            list(vec![n / 2.0]),
            list((0..i % 4).map(|it| it as f64 - 1.0).collect()),
            String::new(),
        ]
        .join(" | ")
    }

    #[test]
    fn rows_have_the_values_that_h5py_wrote() {
        let folder = folder("values", &[ROWS, ROWS]);
        let args = args(&folder, "n", &[], true);
        let (source, fields) = opened(&args);
        let said: Vec<String> = fields.iter().map(ToString::to_string).collect();
        assert_eq!(
            said.join(", "),
            "big: i32, blob: bytes, brain: bf16, code: str, fill: i16, grid: u8[2, 3], half: f16, kind: u8, \
             more.again: f32, more.y: f64, n: i64, name: str, ok: bool, packed: u16, pairs: f32[2], void: bytes, \
             x: f32, xs: i16[?], row.fault: str"
        );
        assert_eq!(source.len(), Ok(2 * N as u64));
        let expected: Vec<String> = (0..2 * N).map(|it| expected(it % N)).collect();
        for n in [1, 4, 100] {
            let chunks = in_order(&*source, &fields, n).unwrap();
            assert_eq!(chunks.iter().flat_map(rows).collect::<Vec<_>>(), expected, "{n}");
        }
        let numbers: Vec<u64> = (0..2 * N as u64).map(|it| it * 5 % (2 * N as u64)).collect();
        let found = fetched(&*source, &fields, &numbers).unwrap();
        let wanted: Vec<_> = numbers.iter().map(|it| expected[*it as usize].clone()).collect();
        assert_eq!(rows(&found), wanted);
        assert_eq!(source.describe(24), format!("{}, row 1", folder.path("1.h5")));

        let mut stream = source.interleaved(Interleave { open: 2, key: 5 }).unwrap();
        let mut out = ChunkBuilder::new(&fields, 100, 0, &Pool::default());
        stream.next(100, &mut out).unwrap();
        let mut in_turn = rows(&out.finish());
        let mut sorted = expected.clone();
        in_turn.sort();
        sorted.sort();
        assert_eq!(in_turn, sorted);
    }

    #[test]
    fn every_index_of_chunks_is_read() {
        let folder = folder("latest", &[LATEST]);
        let (source, fields) = opened(&args(&folder, "/tree", &[], true));
        let said: Vec<String> = fields.iter().map(ToString::to_string).collect();
        assert_eq!(
            said.join(", "),
            "array: i32, extensible: i32, implicit: i32, named: i16, single: i64, tree: i32[2], row.fault: str"
        );
        let row = |i: usize| {
            let (n, square) = (i as f64, (i * i) as f64);
            format!("[{n:?}] | [{n:?}] | [{n:?}] | [{n:?}] | [{n:?}] | [{n:?}, {square:?}] | ")
        };
        let found: Vec<_> = in_order(&*source, &fields, 5).unwrap().iter().flat_map(rows).collect();
        assert_eq!(found, (0..N).map(row).collect::<Vec<_>>());
        let found = rows(&fetched(&*source, &fields, &[22, 0, 9]).unwrap());
        assert_eq!(found, [row(22), row(0), row(9)]);
    }

    #[test]
    fn files_are_records_in_any_order() {
        let files = [ROWS; 5];
        let folder = folder("whole", &files);
        let args = [folder.pattern("*.h5"), Arg::None, Arg::None, Arg::None, Arg::Bool(true)];
        let (source, fields) = opened(&args);
        let said: Vec<String> = fields.iter().map(ToString::to_string).collect();
        assert_eq!(said.join(", "), "path: str, row: untyped, row.fault: str");
        let path = |it: u64| folder.path(&format!("{it}.h5"));
        let found = fetched(&*source, &fields, &[3, 0]).unwrap();
        assert_eq!(source.len(), Ok(5));
        assert_eq!(found.columns[0].row(0).as_str(), path(3));
        assert_eq!(found.columns[1].row(1).as_text(), path(0).as_bytes());
        assert_eq!(found.columns[2].row(1).as_str(), "");
        let all = fetched(&*source, &fields, &[0, 1, 2, 3, 4]).unwrap();
        for open in [1, 2, 9] {
            let stream = || source.interleaved(Interleave { open, key: 5 }).unwrap();
            let mut ids = Vec::new();
            let mut whole = stream();
            let mut places = Vec::new();
            loop {
                places.push(whole.place().unwrap());
                let mut out = ChunkBuilder::new(&fields, 2, 0, &Pool::default());
                whole.next(2, &mut out).unwrap();
                if out.rows() == 0 {
                    break;
                }
                ids.extend(out.finish().ids().to_vec());
            }
            let mut resumed = stream();
            resumed.go_to(&places[1]).unwrap();
            let mut out = ChunkBuilder::new(&fields, 9, 0, &Pool::default());
            resumed.next(9, &mut out).unwrap();
            assert_eq!(out.finish().ids(), &ids[2..]);
            let mut sorted = ids.clone();
            sorted.sort_unstable();
            let mut expected = all.ids().to_vec();
            expected.sort_unstable();
            assert_eq!(sorted, expected);
        }
        let mut with_columns = args.clone();
        with_columns[COLUMNS] = Arg::List(vec![Arg::Text("n".to_owned())]);
        assert!(probe(&with_columns).unwrap_err().to_string().contains("with `over`"));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = folder("refused", &[ROWS]);
        let why = |over: &str, columns: &[&str]| {
            probe(&args(&folder, over, columns, false)).unwrap_err().to_string()
        };
        for (over, columns, part) in [
            ("m", &[][..], "it has no dataset `m`: it has"),
            ("more", &[], "it has no dataset `more`"),
            ("scalar", &[], "dataset `scalar` has no axes"),
            ("n", &["mean"], "`columns` names `mean`, which is not a column"),
            ("n", &["both"], "`both` holds records of several members, which is not supported"),
            ("n", &["words"], "`words` holds texts, bytes or lists along more than one axis"),
            ("n", &["zstd"], "`zstd` holds chunks of the filter 32015 (Zstandard)"),
        ] {
            let why = why(over, columns);
            assert!(why.contains(part), "{why}");
        }
        let by_length = opened(&args(&folder, "mean", &[], false)).1;
        assert_eq!(by_length[0].to_string(), "mean: f64");
        for bytes in [&b"a,b\n1,2\n"[..], b"", &ROWS[..7], &ROWS[..100]] {
            std::fs::write(folder.path("0.h5"), bytes).unwrap();
            let why = why("n", &[]);
            assert!(why.contains("0.h5"), "{why}");
        }
    }

    #[test]
    fn a_damaged_chunk_costs_its_own_rows() {
        let mut torn = ROWS.to_vec();
        // Within the third chunk of `n`, of five rows, whose checksum says so.
        let at = chunk_of_n(2);
        torn[at + 3] ^= 0x55;
        let folder = folder("torn", &[&torn]);
        let (source, fields) = opened(&args(&folder, "n", &["n", "x"], true));
        let is_lost = |it: &String| it.contains("column `n`: ");
        let found: Vec<_> = in_order(&*source, &fields, 4).unwrap().iter().flat_map(rows).collect();
        let lost: Vec<usize> = (0..found.len()).filter(|it| is_lost(&found[*it])).collect();
        assert_eq!((found.len(), lost), (N, (10..15).collect()), "{found:?}");
        let found = rows(&fetched(&*source, &fields, &[12, 3]).unwrap());
        assert!(is_lost(&found[0]) && !is_lost(&found[1]), "{found:?}");
    }

    /// Where a chunk of `n` lies in the file: deflate begins each with the same two bytes, and rows of `grid` follow later.
    fn chunk_of_n(number: usize) -> usize {
        let chunks = ROWS.windows(2).enumerate().filter(|it| it.1 == [0x78, 0x5e]).map(|it| it.0);
        chunks.collect::<Vec<_>>()[number]
    }

    #[test]
    fn damage_is_an_error_at_every_byte() {
        let folder = folder("bad", &[]);
        let step = if std::env::var_os("SLOW_TESTS").is_some() { 1 } else { 7 };
        for (file, over) in [(ROWS, "n"), (LATEST, "tree")] {
            for at in (0..file.len()).step_by(step) {
                let mut flipped = file.to_vec();
                flipped[at] ^= 0x55;
                let cut = if at % 11 == 0 { &file[..at] } else { file };
                for file in [cut, &flipped] {
                    std::fs::write(folder.path("0.h5"), file).unwrap();
                    let args = args(&folder, over, &[], true);
                    let Ok(fields) = probe(&args) else { continue };
                    // A run asks whether there is room for rows of axes that say to be long.
                    if fields.iter().filter_map(|it| it.ty.fixed_bytes()).sum::<usize>() > 1 << 20 {
                        continue;
                    }
                    let call = SourceCall { args: &args, columns: &fields, place: 7 };
                    let source = build(&call).unwrap();
                    if source.len().is_ok_and(|it| it < 1 << 16) {
                        let _ = in_order(&*source, &fields, 100);
                    }
                }
            }
        }
    }
}
