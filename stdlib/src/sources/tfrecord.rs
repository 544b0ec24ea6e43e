//! `tfrecord`: one record for each record of TFRecord files.

use super::{
    binary::{self, FAULT},
    listed::Listed,
};
use crate::prelude::*;
use crate::records::tfrecord::TfRecord;
use plan::Faulty;
use runtime::{Source, SourceCall};
use std::sync::Arc;

source! {
    /// Reads the records of TFRecord files that match a pattern.
    ///
    /// Files are read one after the other. Patterns are those of `files`. With `form: example`, a record is a
    /// `tf.train.Example`, and `as` gives its features their types where they are used:
    /// `row["image/encoded"] as bytes`, `row["boxes"] as f32[n, 4]`. With `form: sequence`, it is a
    /// `tf.train.SequenceExample`, and with `form: bytes` uninterpreted `bytes`.
    ///
    /// The checksum of each record is verified unless `check: false`. A record with damaged data fails with
    /// `bad-row`; `else skip` continues with the next one. If the length of a record is damaged, or the file is
    /// truncated, the rest of the file counts as one failed record, and the message says how many bytes are
    /// lost. Without an `else`, the run ends there. A record is limited to 64 MiB.
    ///
    /// Files can be read in any order: `shuffle` without a window first reads the lengths of all records once.
    /// An index that DALI's `tfrecord2idx` has written (`NAME.idx` or `NAME.tfrecord.idx` beside the file, no older
    /// than it) is used instead if it fits the file.
    ///
    /// For `lanes`, see `range`. `faults` is set by the compiler.
    ///
    /// ```pipe no_run
    /// tfrecord("train-*.tfrecord") |> map { label: row["label"] as i64 else skip }    # { label: i64 }
    /// ```
    "tfrecord(pattern: text, form: example | sequence | bytes = example, check: bool = true, lanes: int = none, \
     faults: bool = false) -> stream",
    cost: Cost::out(60.0, 0.15),    // Assumed: a checksum, and a copy.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::ByFile, Property::Faulty(&FAULTY)],
    fields: Some(fields),
}

static FAULTY: Faulty = Faulty { argument: FAULTS, field: FAULT, known: "", guard: "guarded" };

/// Where the parameters stand.
const FORM: usize = 1;
const CHECK: usize = 2;
const FAULTS: usize = 4;

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    let own = match &applied.args[FORM] {
        Arg::Word(it) if it == "bytes" => ("bytes", Type::scalar(DType::Bytes)),
        Arg::Word(it) if it == "sequence" => ("row", Type::Untyped(Untyped::Sequence)),
        _ => ("row", Type::Untyped(Untyped::Example)),
    };
    Ok(binary::fields(&[own], &applied.args[FAULTS]))
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let check = call.args[CHECK] != Arg::Bool(false);
    binary::source(call, TfRecord { check }, FAULTS)
}
