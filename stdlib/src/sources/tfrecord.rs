//! `tfrecord`: one record for each record of TFRecord files.

use super::{
    listed::Listed,
    records::{Format, Records, text_failure},
};
use crate::prelude::*;
use crate::text_scan::{
    Framing, Place, RecordFault, RecordIndex, RecordReader, TextError, tfrecord,
};
use plan::Faulty;
use runtime::{Source, SourceCall};
use std::{path::PathBuf, sync::Arc};

source! {
    /// The records of the TFRecord files that a pattern names, one file after the other.
    ///
    /// Patterns are those of `files`. With `form: example`, a record is a `tf.train.Example`, whose features `as`
    /// reads where they are used: `row["image/encoded"] as bytes`, `row["boxes"] as f32[n, 4]`; with `form:
    /// sequence` a `tf.train.SequenceExample`; with `form: bytes` it is `bytes` of anything.
    ///
    /// The checksum of each record is held against its data, unless `check: false`. A record whose data are damaged
    /// is a fault, `bad-row`: `else skip` goes on behind it. Where its length is damaged, or the file ends within
    /// it, the rest of the file is lost, as one record; the message says how many bytes those are. Where no `else`
    /// follows, the run ends there. A record has at most 64 MiB.
    ///
    /// Files may be read in any order: `shuffle` without a window reads the lengths of all records once before.
    ///
    /// `lanes: n` is that of `range`. `faults` is set by the compiler.
    ///
    /// ```pipe no_run
    /// tfrecord("train-*.tfrecord") |> map { label: row["label"] as i64 else skip }    # { label: i64 }
    /// ```
    "tfrecord(pattern: text, form: example | sequence | bytes = example, check: bool = true, lanes: int = none, \
     faults: bool = false) -> stream",
    cost: Cost::out(60.0, 0.15),    // Assumed: a checksum, and a copy.
    properties: &[Property::Indexed, Property::ReadsFiles, Property::Faulty(&FAULTY)],
    fields: Some(fields),
}

static FAULTY: Faulty = Faulty { argument: FAULTS, field: FAULT, known: "", guard: "guarded" };

/// The field that says what is wrong with a record.
const FAULT: &str = "row.fault";
/// Where the parameters stand.
const FORM: usize = 1;
const CHECK: usize = 2;
const FAULTS: usize = 4;

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    let (name, ty) = match &applied.args[FORM] {
        Arg::Word(it) if it == "bytes" => ("bytes", Type::scalar(DType::Bytes)),
        Arg::Word(it) if it == "sequence" => ("row", Type::Untyped(Untyped::Sequence)),
        _ => ("row", Type::Untyped(Untyped::Example)),
    };
    let fault = Field { name: FAULT.to_owned(), ty: Type::scalar(DType::Str) };
    let fault = (applied.args[FAULTS] == Arg::Bool(true)).then_some(fault);
    Ok([Field { name: name.to_owned(), ty }].into_iter().chain(fault).collect())
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let fault = call.columns.iter().map(|it| it.name == FAULT).collect();
    let (check, faults) =
        (call.args[CHECK] != Arg::Bool(false), call.args[FAULTS] == Arg::Bool(true));
    Ok(Arc::new(Records::new(TfRecords { fault, check, faults }, listed, call.place)))
}

struct TfRecords {
    /// Of each column whether it says what is wrong.
    fault: Vec<bool>,
    /// Whether checksums are held against the data.
    check: bool,
    /// Whether what cannot be read is a fault of the record.
    faults: bool,
}

impl TfRecords {
    fn push(&self, data: &[u8], fault: &[u8], out: &mut ChunkBuilder) {
        for (is_fault, to) in self.fault.iter().zip(&mut out.columns) {
            to.push_text(if *is_fault { fault } else { data });
        }
    }
}

impl Format for TfRecords {
    type Scratch = ();

    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure> {
        Ok(RecordReader::binary(files.clone(), Framing::TfRecord))
    }

    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure> {
        RecordIndex::of_binary(files, Framing::TfRecord).map_err(text_failure)
    }

    fn append(
        &self,
        record: &[u8],
        (): &mut (),
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault> {
        self.push(tfrecord::data(record, self.check)?, b"", out);
        Ok(())
    }

    fn append_fault(&self, error: TextError, out: &mut ChunkBuilder) -> Result<(), Failure> {
        if !self.faults {
            return Err(text_failure(error));
        }
        let help = &error.help;
        self.push(b"", format!("{error}: {help}").as_bytes(), out);
        Ok(())
    }

    fn record(&self, ordinal: u64) -> String {
        format!(", record {}", ordinal + 1)
    }

    fn place(&self, ordinal: u64, offset: u64, _line: impl FnOnce() -> u64) -> Place {
        Place::Record(ordinal + 1, offset)
    }
}
