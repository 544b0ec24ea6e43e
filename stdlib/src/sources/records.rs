//! `records`: one record for each so many bytes of binary files.

use super::{
    binary::{self, FAULT},
    listed::Listed,
};
use crate::prelude::*;
use crate::records::{BinaryFormat, RECORD_MAX, RecordFault};
use plan::Faulty;
use runtime::{Source, SourceCall};
use std::sync::Arc;

source! {
    /// Reads the records of binary files that match a pattern: `size` bytes each, end to end, after a
    /// header of `skip` bytes.
    ///
    /// Files are read one after the other. Patterns are those of `files`. If the length of a file is not a
    /// multiple of `size`, its last record is truncated and fails with `bad-row`; `else skip` continues with the
    /// next file. Without an `else`, the run ends there. `size` and `skip` are at most 64 MiB.
    ///
    /// Files can be read in any order: `shuffle` without a window only asks for their lengths.
    ///
    /// Files may be compressed with gzip, Zstandard, xz or bzip2, detected from their first bytes; compressed
    /// files can only be read in order.
    ///
    /// For `lanes`, see `range`. `faults` is set by the compiler.
    ///
    /// ```pipe no_run
    /// records("data_batch_*.bin", size: 3073)                  # CIFAR-10: { bytes: bytes }
    /// records("train-images-idx3-ubyte", size: 784, skip: 16)  # MNIST
    /// ```
    "records(pattern: text, size: int, skip: int = 0, lanes: int = none, faults: bool = false) -> stream",
    cost: Cost::out(40.0, 0.1),    // Assumed: a copy.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::ByFile, Property::Faulty(&FAULTY)],
    fields: Some(fields),
}

static FAULTY: Faulty = Faulty { argument: FAULTS, field: FAULT, known: "", guard: "guarded" };

/// Where the parameters stand.
const SIZE: usize = 1;
const SKIP: usize = 2;
const FAULTS: usize = 4;

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    size(&applied.args[SIZE])?;
    skip(&applied.args[SKIP])?;
    Ok(binary::fields(&[("bytes", Type::scalar(DType::Bytes))], &applied.args[FAULTS]))
}

fn size(arg: &Arg) -> Result<usize, String> {
    match arg {
        Arg::Int(n) if (1..=RECORD_MAX as i64).contains(n) => Ok(*n as usize),
        Arg::Int(n) => Err(format!("`size` is {n}, but must be from 1 to {RECORD_MAX}")),
        _ => Err("`size` must be an integer that is known at compile time".to_owned()),
    }
}

fn skip(arg: &Arg) -> Result<u64, String> {
    match arg {
        Arg::Int(n) if (0..=RECORD_MAX as i64).contains(n) => Ok(*n as u64),
        Arg::Int(n) => Err(format!("`skip` is {n}, but must be from 0 to {RECORD_MAX}")),
        _ => Err("`skip` must be an integer that is known at compile time".to_owned()),
    }
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let size = size(&call.args[SIZE]).map_err(Failure::Program)?;
    let skip = skip(&call.args[SKIP]).map_err(Failure::Program)?;
    binary::source(call, Fixed { size, skip }, FAULTS)
}

/// Records of one size, end to end, behind a header or none.
#[derive(Debug)]
struct Fixed {
    /// Bytes of a record.
    size: usize,
    /// Bytes in front of the first.
    skip: u64,
}

impl BinaryFormat for Fixed {
    fn size(&self) -> Option<u64> {
        Some(self.size as u64)
    }

    fn header(&self, _: &[u8], len: Option<u64>) -> Result<Option<u64>, RecordFault> {
        match len {
            Some(len) if len < self.skip => {
                let message = format!("the file has {len} bytes, but `skip` is {}", self.skip);
                let help = "write the file again, or check that `skip` is the size of its header";
                Err(RecordFault::new(message, help))
            }
            _ => Ok(Some(self.skip)),
        }
    }

    fn record<'r>(&self, raw: &'r [u8]) -> Result<(String, &'r [u8]), RecordFault> {
        if raw.len() == self.size {
            return Ok((String::new(), raw));
        }
        let message = format!("the record is truncated after {} of {} bytes", raw.len(), self.size);
        let help = "write the file again, or check that `size` is the size of its records";
        Err(RecordFault::new(message, help))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{framed::reading::*, listed::folder::Folder};
    use super::*;

    fn open(folder: &Folder, faults: bool) -> (Arc<dyn Source>, Vec<Field>) {
        behind(folder, 0, faults)
    }

    /// The same where a header comes first.
    fn behind(folder: &Folder, skip: i64, faults: bool) -> (Arc<dyn Source>, Vec<Field>) {
        let args =
            [folder.pattern("*.bin"), Arg::Int(3), Arg::Int(skip), Arg::None, Arg::Bool(faults)];
        let fields = binary::fields(&[("bytes", Type::scalar(DType::Bytes))], &args[FAULTS]);
        (build(&SourceCall { args: &args, columns: &fields, place: 7 }).unwrap(), fields)
    }

    /// The bytes of each record, and what is wrong with it.
    fn told(chunk: &Chunk) -> Vec<(String, String)> {
        let text = |column: usize, row| {
            let column = chunk.columns.get(column)?;
            Some(String::from_utf8_lossy(column.row(row).as_text()).into_owned())
        };
        let row = |it| (text(0, it).unwrap_or_default(), text(1, it).unwrap_or_default());
        (0..chunk.rows).map(row).collect()
    }

    #[test]
    fn records_are_the_same_in_any_order() {
        let folder =
            Folder::new("fixed", &[("a.bin", "abc\n\r\n"), ("b.bin", ""), ("c.bin", "xyz")]);
        let (source, fields) = open(&folder, false);
        let expected = ["abc", "\n\r\n", "xyz"];
        assert_eq!(source.len(), Ok(3));
        for rows in [1, 2, 100] {
            let chunks = in_order(&*source, &fields, rows).unwrap();
            let all: Vec<_> = chunks.iter().flat_map(told).map(|it| it.0).collect();
            assert_eq!(all, expected, "{rows} at a time");
            let ids: Vec<_> = chunks.iter().flat_map(|it| it.ids().to_vec()).collect();
            assert_eq!(ids, fetched(&*source, &fields, &[0, 1, 2]).unwrap().ids());
        }
        let all = told(&fetched(&*source, &fields, &[2, 0, 1, 1]).unwrap());
        let all: Vec<_> = all.into_iter().map(|it| it.0).collect();
        assert_eq!(all, ["xyz", "abc", "\n\r\n", "\n\r\n"]);
        assert_eq!(source.describe(1), format!("{}, record 2, at byte 3", folder.path("a.bin")));
    }

    #[test]
    fn where_they_lie_takes_no_memory() {
        let folder = Folder::new("sparse", &[("a.bin", ""), ("b.bin", "abcdefg")]);
        let large = 1 << 36;
        std::fs::File::options()
            .write(true)
            .open(folder.path("a.bin"))
            .unwrap()
            .set_len(large + 1)
            .unwrap();
        let (source, fields) = open(&folder, true);
        let first = large / 3 + 1;
        assert_eq!(source.len(), Ok(first + 3));
        let all = told(&fetched(&*source, &fields, &[first, first + 1, first - 2]).unwrap());
        let all: Vec<_> = all.into_iter().map(|it| it.0).collect();
        assert_eq!(all, ["abc", "def", "\0\0\0"]);
    }

    #[test]
    fn a_header_is_passed_over() {
        let files = [("a.bin", "##abc\n\r\n"), ("b.bin", "##"), ("c.bin", "##xyz!")];
        let folder = Folder::new("header", &files);
        let (source, fields) = behind(&folder, 2, true);
        assert_eq!(source.len(), Ok(4));
        let by_number = told(&fetched(&*source, &fields, &[0, 1, 2, 3]).unwrap());
        let bytes: Vec<_> = by_number.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(bytes, ["abc", "\n\r\n", "xyz", ""]);
        assert!(by_number[3].1.contains("c.bin, record 2, at byte 5: the record is truncated"));
        for rows in [1, 2, 100] {
            let chunks = in_order(&*source, &fields, rows).unwrap();
            assert_eq!(chunks.iter().flat_map(told).collect::<Vec<_>>(), by_number);
        }
        let name = format!("{}, record 1, at byte 2", folder.path("c.bin"));
        assert_eq!(source.describe(2), name);
        let mut stream = source.stream().unwrap();
        let mut out = runtime::ChunkBuilder::new(&fields, 1, 0, &runtime::Pool::default());
        stream.next(1, &mut out).unwrap();
        let mut resumed = source.stream().unwrap();
        resumed.go_to(&stream.place().unwrap()).unwrap();
        let mut out = runtime::ChunkBuilder::new(&fields, 9, 0, &runtime::Pool::default());
        resumed.next(9, &mut out).unwrap();
        assert_eq!(told(&out.finish()), by_number[1..]);
    }

    #[test]
    fn a_file_shorter_than_its_header_ends_the_run() {
        let folder = Folder::new("headless", &[("a.bin", "####abc"), ("b.bin", "#")]);
        let (source, fields) = behind(&folder, 4, true);
        let failures = [in_order(&*source, &fields, 10).unwrap_err(), source.len().unwrap_err()];
        for failure in failures.map(|it| it.to_string()) {
            assert!(failure.contains("b.bin`: the file has 1 bytes, but `skip` is 4"), "{failure}");
        }
    }

    #[test]
    fn a_torn_record_is_a_fault_of_its_own() {
        let folder = Folder::new("torn", &[("a.bin", "abcde"), ("b.bin", "x"), ("c.bin", "xyz")]);
        let (source, fields) = open(&folder, true);
        let by_number = told(&fetched(&*source, &fields, &[0, 1, 2, 3]).unwrap());
        let in_order: Vec<_> =
            in_order(&*source, &fields, 3).unwrap().iter().flat_map(told).collect();
        assert_eq!(in_order, by_number);
        let bytes: Vec<_> = by_number.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(bytes, ["abc", "", "", "xyz"]);
        assert!(by_number[0].1.is_empty() && by_number[3].1.is_empty());
        assert!(by_number[1].1.contains("a.bin, record 2, at byte 3: the record is truncated"));
        assert!(by_number[2].1.contains("b.bin, record 1, at byte 0: the record is truncated"));
    }

    #[test]
    fn a_torn_record_ends_the_run_without_faults() {
        let folder = Folder::new("torn-end", &[("a.bin", "abcde"), ("b.bin", "xyz")]);
        let (source, fields) = open(&folder, false);
        let failures = [
            in_order(&*source, &fields, 10).unwrap_err(),
            fetched(&*source, &fields, &[2, 1]).unwrap_err(),
        ];
        for failure in failures.map(|it| it.to_string()) {
            assert!(failure.contains("a.bin`: record 2, at byte 3: the record is"), "{failure}");
            assert!(failure.contains("truncated after 2 of 3 bytes"), "{failure}");
        }
    }

    #[test]
    fn a_size_has_bounds() {
        assert_eq!(size(&Arg::Int(1)), Ok(1));
        assert_eq!(size(&Arg::Int(RECORD_MAX as i64)), Ok(RECORD_MAX));
        for wrong in [0, -1, RECORD_MAX as i64 + 1, i64::MAX, i64::MIN] {
            assert!(size(&Arg::Int(wrong)).unwrap_err().contains("must be from 1"));
        }
        assert!(size(&Arg::None).is_err());
    }
}
