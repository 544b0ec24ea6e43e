//! `npy`: one record for each row of the arrays in `.npy` files.

use super::{
    framed::{Format, Neighbours, Raw, Records, file_failure},
    listed::Listed,
};
use crate::prelude::*;
use crate::records::{
    BinaryFormat, Place, RecordFault, RecordIndex, RecordReader,
    npy::{self, Header, Npy},
};
use runtime::{Source, SourceCall};
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

source! {
    /// Reads the arrays in `.npy` files that match a pattern: one record for each row of the first axis.
    ///
    /// These are the files that `np.save` and `pipec run --out` write. Patterns are those of `files`. All files must
    /// have the same dtype and, apart from the first axis, the same shape; the first file says which. Elements may be
    /// booleans, integers and floats up to 64 bits, little or big endian, in C order. Arrays of Python objects,
    /// strings or records, and arrays without an axis, are rejected. If a file has more or fewer bytes than its header
    /// says, the run ends before any of its rows is read.
    ///
    /// Files can be read in any order: `shuffle` without a window only reads their headers. A row is at most 64 MiB.
    ///
    /// Compressed files must be decompressed first. `npz` reads `.npz` archives.
    ///
    /// For `lanes`, see `range`.
    ///
    /// ```pipe no_run
    /// zip({ x: npy("x_train.npy"), y: npy("y_train.npy") }) |> map { x: x.value, y: y.value }
    /// ```
    "npy(pattern: text, lanes: int = none) -> stream",
    cost: Cost::out(20.0, 0.1),    // Assumed: a copy.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles],
    fields: Some(fields);
    probe: probe,
}

/// The field that a record has.
const VALUE: &str = "value";

/// The field was found by [`probe`].
fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    Ok(applied.found.to_vec())
}

/// The type of a row of the first file.
fn probe(args: &[Arg]) -> Result<Vec<Field>, Failure> {
    let listed = Listed::new(&args[0]).map_err(Failure::Program)?;
    let header = npy::header_of(&listed.found()?.path(0)).map_err(file_failure)?;
    Ok(vec![Field { name: VALUE.to_owned(), ty: type_of(&header) }])
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let ty = call.columns.iter().find(|it| it.name == VALUE).map(|it| it.ty.clone());
    Ok(Arc::new(Records::new(Rows { ty, first: OnceLock::new() }, listed, call.place)))
}

/// Rows of files that are like the first one, which is looked at when the first row is needed.
struct Rows {
    /// What a row was when the program was checked; none where nothing needs it.
    ty: Option<Type>,
    first: OnceLock<Result<Arc<Npy>, Failure>>,
}

impl Rows {
    fn first(&self, files: &[PathBuf]) -> Result<&Arc<Npy>, Failure> {
        let look = || {
            let header = npy::header_of(&files[0]).map_err(file_failure)?;
            if self.ty.as_ref().is_some_and(|it| *it != type_of(&header)) {
                return Err(Failure::Io {
                    path: files[0].display().to_string(),
                    detail: format!(
                        "its rows are {header} now, and were not when the program was checked"
                    ),
                });
            }
            Ok(Arc::new(Npy(header)))
        };
        self.first.get_or_init(look).as_ref().map_err(Clone::clone)
    }

    fn format(&self, files: &[PathBuf]) -> Result<Arc<dyn BinaryFormat>, Failure> {
        Ok(self.first(files)?.clone())
    }
}

impl Npy {
    /// Appends rows to every column, as the processor has their elements.
    fn append(&self, bytes: &[u8], rows: usize, out: &mut ChunkBuilder) {
        for to in &mut out.columns {
            let room = to.fixed_rows(rows);
            room.copy_from_slice(bytes);
            self.mend(room);
        }
    }

    /// Makes elements of the file those of the processor.
    fn mend(&self, room: &mut [u8]) {
        match self.0.dtype {
            // Any other byte is true as well.
            DType::Bool => room.iter_mut().for_each(|it| *it = u8::from(*it != 0)),
            dtype if self.0.is_big_endian => {
                room.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
            }
            _ => {}
        }
    }
}

/// The type of a row.
fn type_of(header: &Header) -> Type {
    let extents: Vec<_> = header.row.iter().map(|it| *it as u64).collect();
    Type::tensor(header.dtype, &extents)
}

impl Format for Rows {
    type Scratch = ();

    const IS_TEXT: bool = false;

    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure> {
        Ok(RecordReader::binary(files.clone(), &self.format(files)?))
    }

    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure> {
        RecordIndex::of_binary(files, &self.format(files)?).map_err(file_failure)
    }

    fn append(
        &self,
        record: Raw<'_>,
        (): &mut (),
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault> {
        let Some(Ok(npy)) = self.first.get() else {
            return Err(RecordFault::new("it was not looked at", "this is a bug in pipec"));
        };
        let (_, bytes) = npy.record(record.bytes)?;
        npy.append(bytes, 1, out);
        Ok(())
    }

    /// Rows lie end to end.
    fn append_together(
        &self,
        neighbours: &Neighbours<'_>,
        (): &mut (),
        out: &mut ChunkBuilder,
    ) -> (usize, usize) {
        let (bytes, found) = neighbours.found();
        match self.first.get() {
            Some(Ok(npy)) if bytes.len() == found.len() * npy.0.row_bytes => {
                npy.append(bytes, found.len(), out);
                (found.len(), 0)
            }
            _ => (0, found.len()),
        }
    }

    fn rows(&self) -> Option<usize> {
        self.ty.as_ref().map(|_| 0)
    }

    fn mend(&self, rows: &mut [u8]) {
        if let Some(Ok(npy)) = self.first.get() {
            npy.mend(rows);
        }
    }

    fn append_rows(&self, bytes: &[u8], rows: usize, out: &mut ChunkBuilder) -> bool {
        let Some(Ok(npy)) = self.first.get() else { return false };
        let is_whole = bytes.len() == rows * npy.0.row_bytes;
        if is_whole {
            npy.append(bytes, rows, out);
        }
        is_whole
    }

    fn record(&self, ordinal: u64) -> String {
        format!(", row {ordinal}")
    }

    fn place(&self, ordinal: u64, offset: u64, _line: impl FnOnce() -> u64) -> Place {
        Place::Record(ordinal + 1, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{framed::reading::*, listed::folder::Folder};
    use super::*;

    /// A file as `np.save` writes it.
    fn saved(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend(format!("{text:117}\n").bytes());
        file.extend(elements);
        file
    }

    fn open(folder: &Folder) -> Result<(Arc<dyn Source>, Vec<Field>), Failure> {
        let args = [folder.pattern("*.npy"), Arg::None];
        let fields = probe(&args)?;
        Ok((build(&SourceCall { args: &args, columns: &fields, place: 7 })?, fields))
    }

    fn rows<T: runtime::Element>(chunk: &Chunk) -> Vec<Vec<T>> {
        let row = |it| chunk.columns[0].row(it).as_slice::<T>().unwrap().to_vec();
        (0..chunk.rows).map(row).collect()
    }

    fn folder(name: &str, files: &[(&str, Vec<u8>)]) -> Folder {
        let folder = Folder::new(name, &[("made", "")]);
        for (name, bytes) in files {
            std::fs::write(folder.path(name), bytes).unwrap();
        }
        folder
    }

    #[test]
    fn rows_are_the_same_in_any_order() {
        let of = |all: &[u16]| all.iter().flat_map(|it| it.to_be_bytes()).collect::<Vec<_>>();
        let a = saved(">u2", "(3, 2)", &of(&[1, 2, 3, 4, 5, 60_000]));
        let b = saved(">u2", "(0, 2)", &[]);
        let c = saved(">u2", "(1, 2)", &of(&[7, 8]));
        let folder = folder("npy", &[("a.npy", a), ("b.npy", b), ("c.npy", c)]);
        let (source, fields) = open(&folder).unwrap();
        assert_eq!(fields[0].to_string(), "value: u16[2]");
        assert_eq!(source.len(), Ok(4));
        let expected = [[1, 2], [3, 4], [5, 60_000], [7, 8]];
        for n in [1, 2, 100] {
            let chunks = in_order(&*source, &fields, n).unwrap();
            assert_eq!(chunks.iter().flat_map(rows::<u16>).collect::<Vec<_>>(), expected);
            let ids: Vec<_> = chunks.iter().flat_map(|it| it.ids().to_vec()).collect();
            assert_eq!(ids, fetched(&*source, &fields, &[0, 1, 2, 3]).unwrap().ids());
        }
        let found = rows::<u16>(&fetched(&*source, &fields, &[3, 1, 1]).unwrap());
        assert_eq!(found, [[7, 8], [3, 4], [3, 4]]);
        assert_eq!(source.describe(1), format!("{}, record 2, at byte 132", folder.path("a.npy")));
    }

    #[test]
    fn any_byte_is_a_bool() {
        let folder = folder("npy-bool", &[("a.npy", saved("|b1", "(4,)", &[0, 1, 2, 255]))]);
        let (source, fields) = open(&folder).unwrap();
        let found = fetched(&*source, &fields, &[0, 1, 2, 3]).unwrap();
        assert_eq!(rows::<bool>(&found).concat(), [false, true, true, true]);
    }

    #[test]
    fn files_that_differ_and_damaged_ones_are_named() {
        let good = || ("a.npy", saved("<f4", "(2,)", &[0; 8]));
        for (bad, why) in [
            (
                saved("<f8", "(2,)", &[0; 16]),
                "its rows are f64, but those of the first file are f32",
            ),
            (saved(">f4", "(2,)", &[0; 8]), "its rows are f32 in big endian, but"),
            (
                saved("<f4", "(2,)", &[0; 4]),
                "its header says 2 rows of 4 bytes, but 4 bytes follow it",
            ),
            (
                saved("<f4", "(2,)", &[0; 20]),
                "its header says 2 rows of 4 bytes, but 20 bytes follow it",
            ),
            (saved("<f4", "(2,)", &[])[..40].to_vec(), "the file ends within its header"),
            (Vec::new(), "the file ends within its header"),
            (b"1,2,3\n".to_vec(), "this is not a `.npy` file"),
            (vec![0x1f, 0x8b, 8, 0], "it is compressed with gzip"),
        ] {
            let folder = folder("npy-bad", &[good(), ("b.npy", bad)]);
            let (source, fields) = open(&folder).unwrap();
            let by_number = source.len().unwrap_err().to_string();
            assert!(by_number.contains("b.npy`: ") && by_number.contains(why), "{by_number}");
            let in_order = in_order(&*source, &fields, 10).unwrap_err().to_string();
            assert!(in_order.contains("b.npy`: "), "{in_order}");
            assert!(in_order.contains(why) || why.contains("gzip"), "{in_order}");
        }
    }
}
