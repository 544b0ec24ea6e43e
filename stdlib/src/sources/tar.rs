//! `tar`: one record for the files of one key in tar archives, as WebDataset has them.

use super::{
    listed::Listed,
    records::{Format, Records, text_failure},
};
use crate::prelude::*;
use crate::text_scan::{Framing, Place, RecordFault, RecordIndex, RecordReader, TextError, tar};
use plan::Faulty;
use runtime::{Source, SourceCall};
use std::{path::PathBuf, sync::Arc};

source! {
    /// The records of the tar archives that a pattern names: shards of WebDataset, one after the other.
    ///
    /// Patterns are those of `files`. Files beside each other whose paths are the same up to the first point of the
    /// name are a record, with that as its `key`; what follows the point, in lower case, is what `files` calls the
    /// file. `files["jpg"] as bytes` is one, `files["jpg;png"]` the first that there is, `files["cls"] as i64` the
    /// number that it holds as text, `files["json"]["caption"] as str` a part of it. Links, folders, files without a
    /// point and those called `__…__` are passed over.
    ///
    /// A record that has a file twice is a fault, `bad-row`; so is one that is damaged or cut off, with which the
    /// rest of the archive is lost: the message says how many bytes those are. `else skip` goes on with what follows.
    /// Where no `else` follows, the run ends there. A record has at most 64 MiB; sparse files are refused.
    ///
    /// Archives may be read in any order: `shuffle` without a window reads the headers of all files once before.
    /// Compressed ones (`.tar.gz`, `.tgz`) can be read in order only.
    ///
    /// `lanes: n` is that of `range`. `faults` is set by the compiler.
    ///
    /// ```pipe no_run
    /// tar("train-{000..099}.tar") |> map { image: decode_jpeg(files["jpg"] as bytes), label: files["cls"] as i64 }
    /// ```
    "tar(pattern: text, lanes: int = none, faults: bool = false) -> stream",
    cost: Cost::out(300.0, 0.15),    // Assumed: two headers, and a copy.
    properties: &[Property::Indexed, Property::ReadsFiles, Property::Faulty(&FAULTY)],
    fields: Some(fields),
}

static FAULTY: Faulty = Faulty { argument: FAULTS, field: FAULT, known: "", guard: "guarded" };

/// The fields, the last of which says what is wrong with a record.
const KEY: &str = "key";
const FILES: &str = "files";
const FAULT: &str = "row.fault";
/// Where the parameter stands.
const FAULTS: usize = 2;

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    let field = |name: &str, ty| Field { name: name.to_owned(), ty };
    let text = || Type::scalar(DType::Str);
    let mut fields = vec![field(KEY, text()), field(FILES, Type::Untyped(Untyped::Members))];
    if applied.args[FAULTS] == Arg::Bool(true) {
        fields.push(field(FAULT, text()));
    }
    Ok(fields)
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let columns = call.columns.iter().map(|it| it.name.clone()).collect();
    let faults = call.args[FAULTS] == Arg::Bool(true);
    Ok(Arc::new(Records::new(Archives { columns, faults }, listed, call.place)))
}

struct Archives {
    columns: Vec<String>,
    /// Whether what cannot be read is a fault of the record.
    faults: bool,
}

impl Archives {
    fn push(&self, key: &[u8], files: &[u8], fault: &[u8], out: &mut ChunkBuilder) {
        for (name, to) in self.columns.iter().zip(&mut out.columns) {
            to.push_text(match name.as_str() {
                KEY => key,
                FILES => files,
                _ => fault,
            });
        }
    }
}

impl Format for Archives {
    type Scratch = ();

    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure> {
        Ok(RecordReader::binary(files.clone(), Framing::Tar))
    }

    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure> {
        RecordIndex::of_binary(files, Framing::Tar).map_err(text_failure)
    }

    fn append(
        &self,
        record: &[u8],
        (): &mut (),
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault> {
        self.push(tar::key(record)?.as_bytes(), record, b"", out);
        Ok(())
    }

    fn append_fault(&self, error: TextError, out: &mut ChunkBuilder) -> Result<(), Failure> {
        if !self.faults {
            return Err(text_failure(error));
        }
        let help = &error.help;
        self.push(b"", b"", format!("{error}: {help}").as_bytes(), out);
        Ok(())
    }

    fn record(&self, ordinal: u64) -> String {
        format!(", record {}", ordinal + 1)
    }

    fn place(&self, ordinal: u64, offset: u64, _line: impl FnOnce() -> u64) -> Place {
        Place::Record(ordinal + 1, offset)
    }
}
