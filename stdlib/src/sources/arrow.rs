//! `arrow`: one record for each row of Arrow IPC files.

use super::{
    absent::{COMPLETE, FAULT},
    listed::Listed,
    tables::{Said, Tables},
};
use crate::prelude::*;
use crate::tables::{TableFile, arrow::ArrowFile};
use plan::Faulty;
use runtime::{Source, SourceCall};
use std::{path::Path, sync::Arc};

source! {
    /// Reads the rows of Arrow IPC files that match a pattern: files and streams, Feather, and the files in the cache of
    /// Hugging Face `datasets`.
    ///
    /// Columns, types, `columns` and `missing` are those of `parquet`.
    ///
    /// Record batches are read as a whole. `shuffle` without a window first reads all rows into memory, if they take at
    /// most 256 MiB and an eighth of the memory of the run. Otherwise, each row requires reading a whole record batch,
    /// and `shuffle(window: n, spans: k)`, which takes rows from `k` record batches in turn, is much faster.
    ///
    /// Columns may be compressed with LZ4 or Zstandard.
    ///
    /// For `lanes`, see `range`. `faults` is set by the compiler.
    ///
    /// ```pipe no_run
    /// arrow("squad/train/*.arrow", columns: ["question"])    # { question: str }
    /// ```
    "arrow(pattern: text, columns: columns = none, missing: absent = none, lanes: int = none, faults: bool = false) \
     -> stream",
    cost: Cost::out(20.0, 0.2),    // Assumed: a copy, after a check of texts.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::ByFile, Property::Keeps(COMPLETE), Property::Faulty(&FAULTY)],
    fields: Some(fields);
    probe: probe,
}

static FAULTY: Faulty =
    Faulty { argument: FAULTS, field: FAULT, known: COMPLETE, guard: "guarded" };

/// Where the parameters stand.
const COLUMNS: usize = 1;
const MISSING: usize = 2;
const FAULTS: usize = 4;

fn said(args: &[Arg]) -> Result<Said, String> {
    Said::new(&args[COLUMNS], &args[MISSING], &args[FAULTS])
}

pub(super) fn open(path: &Path, give_up: &mut dyn FnMut()) -> Result<Box<dyn TableFile>, Failure> {
    Ok(Box::new(ArrowFile::of(path, give_up)?))
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

    const FILE: &[u8] = include_bytes!("../tables/goldens/rows.arrow");
    const STREAM: &[u8] = include_bytes!("../tables/goldens/stream.arrow");
    const ZSTD: &[u8] = include_bytes!("../tables/goldens/zstd.arrow");
    const PARQUET: &[u8] = include_bytes!("../tables/goldens/rows.parquet");

    fn folder(name: &str, file: &[u8]) -> (Folder, [Arg; 6]) {
        let folder = Folder::new(&format!("arrow-{name}"), &[("made", "")]);
        std::fs::write(folder.path("rows"), file).unwrap();
        let (files, none) = (folder.pattern("rows"), Arg::None);
        // `parquet` has a filter too.
        let args = [files, none.clone(), none.clone(), none.clone(), Arg::Bool(true), none];
        (folder, args)
    }

    /// The fields, and the bytes of those of each row.
    fn rows(source: &dyn Source, fields: &[Field], numbers: &[u64]) -> Vec<Vec<Vec<u8>>> {
        let chunks = match numbers {
            [] => in_order(source, fields, 5).unwrap(),
            numbers => vec![fetched(source, fields, numbers).unwrap()],
        };
        let row = |chunk: &runtime::Chunk, at: usize| {
            let value = |it: &runtime::Column| {
                let mut bytes = vec![0; it.row(at).bytes()];
                it.row(at).copy_to(&mut bytes);
                bytes
            };
            // Faults name the file.
            chunk.columns[..13].iter().map(value).collect()
        };
        chunks.iter().flat_map(|it| (0..it.rows).map(move |at| row(it, at))).collect()
    }

    #[test]
    fn files_and_streams_hold_what_parquet_does() {
        let (_parquet, args) = folder("parquet", PARQUET);
        let fields = super::super::parquet::ENTRY.probe.unwrap()(&args).unwrap();
        let call = SourceCall { args: &args, columns: &fields, place: 7 };
        let source = (super::super::parquet::ENTRY.build)(&call).unwrap();
        let expected = rows(&*source, &fields, &[]);
        assert_eq!((expected.len(), fields.len()), (23, 14));
        for (name, file) in [("file", FILE), ("stream", STREAM), ("zstd", ZSTD)] {
            let (_folder, args) = folder(name, file);
            let found = probe(&args).unwrap();
            assert_eq!(found, fields, "{name}");
            let call = SourceCall { args: &args, columns: &fields, place: 7 };
            let source = build(&call).unwrap();
            assert_eq!(rows(&*source, &fields, &[]), expected, "{name}");
            let numbers: Vec<u64> = (0..23).map(|it| it * 5 % 23).collect();
            let of_numbers: Vec<_> =
                numbers.iter().map(|it| expected[*it as usize].clone()).collect();
            assert_eq!(rows(&*source, &fields, &numbers), of_numbers, "{name}");
        }
    }

    #[test]
    fn damage_is_an_error_at_every_byte() {
        for (name, file) in [("bad-file", FILE), ("bad-stream", STREAM), ("bad-zstd", ZSTD)] {
            let (folder, args) = folder(name, file);
            for at in (0..file.len()).step_by(3) {
                let mut flipped = file.to_vec();
                flipped[at] ^= 0x55;
                for file in [&file[..at], &flipped] {
                    std::fs::write(folder.path("rows"), file).unwrap();
                    let Ok(fields) = probe(&args) else { continue };
                    // A run asks whether there is room for rows of lists that say to be long.
                    if fields.iter().filter_map(|it| it.ty.fixed_bytes()).sum::<usize>() > 1 << 20 {
                        continue;
                    }
                    let call = SourceCall { args: &args, columns: &fields, place: 7 };
                    let _ = in_order(&*build(&call).unwrap(), &fields, 100);
                }
            }
        }
        let (_folder, args) = folder("no-arrow", b"a,b\n1,2\n3,4\n5,6\n");
        let why = probe(&args).unwrap_err().to_string();
        assert!(why.contains("this is not an Arrow file"), "{why}");
    }
}
