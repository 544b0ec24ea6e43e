//! `tfrecord`: one record for each record of TFRecord files.

use super::{
    binary::{self, FAULT},
    framed::{Format, Raw, Records, file_failure},
    listed::Listed,
    typed::{self, Members, Typed},
};
use crate::functions::text::example::typed::{Features, Names};
use crate::prelude::*;
use crate::records::{Place, RecordFault, RecordIndex, RecordReader, tfrecord::TfRecord};
use plan::{Faulty, TypedColumns};
use runtime::{Builder, Source, SourceCall};
use std::{path::PathBuf, sync::Arc};

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
    /// For `lanes`, see `range`. `faults` and `typed` are set by the compiler; with `typed`, numbers of features such as
    /// `row["ids"] as i64[n]` are converted while the record is read.
    ///
    /// ```pipe no_run
    /// tfrecord("train-*.tfrecord") |> map { label: row["label"] as i64 else skip }    # { label: i64 }
    /// ```
    "tfrecord(pattern: text, form: example | sequence | bytes = example, check: bool = true, lanes: int = none, \
     faults: bool = false, typed: dtypes = none) -> stream",
    cost: Cost::out(60.0, 0.15),    // Assumed: a checksum, and a copy.
    properties: &[
        Property::Indexed,
        Property::Spans,
        Property::ReadsFiles,
        Property::ByFile,
        Property::Faulty(&FAULTY),
        Property::TypedColumns(&TYPED),
    ],
    fields: Some(fields),
}

static FAULTY: Faulty = Faulty { argument: FAULTS, field: FAULT, known: "", guard: "guarded" };

static TYPED: TypedColumns = TypedColumns {
    argument: 5,
    field: "row",
    of: Untyped::Example,
    depth: 1,
    texts: false,
    arrays: true,
    known: "row.typed",
    rest: "row.rest",
    // Assumed: a feature is found in 20 ns, and a byte of numbers made in half of one; what is not wanted is passed over by
    // its length.
    cost: Cost::out(20.0, 0.5),
};

/// Where the parameters stand.
const FORM: usize = 1;
const CHECK: usize = 2;
const FAULTS: usize = 4;

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    if applied.args[TYPED.argument] != Arg::None {
        return typed::fields::<Features>(&TYPED, applied);
    }
    let own = match &applied.args[FORM] {
        Arg::Word(it) if it == "bytes" => ("bytes", Type::scalar(DType::Bytes)),
        Arg::Word(it) if it == "sequence" => ("row", Type::Untyped(Untyped::Sequence)),
        _ => ("row", Type::Untyped(Untyped::Example)),
    };
    Ok(binary::fields(&[own], &applied.args[FAULTS]))
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let check = call.args[CHECK] != Arg::Bool(false);
    let framing = TfRecord { check };
    if call.args[TYPED.argument] == Arg::None {
        return binary::source(call, framing, FAULTS);
    }
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let typed = Typed::new(&TYPED, call.columns).map_err(Failure::Program)?;
    let examples = Examples { framing: Arc::new(framing), typed };
    Ok(Arc::new(Records::new(examples, listed, call.place)))
}

/// Records of which some features are read.
struct Examples {
    framing: Arc<TfRecord>,
    typed: Typed<Features>,
}

impl Format for Examples {
    type Scratch = Names;

    const IS_TEXT: bool = false;

    fn is_found_first(&self) -> bool {
        true
    }

    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure> {
        Ok(RecordReader::binary(files.clone(), &(self.framing.clone() as _)))
    }

    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure> {
        RecordIndex::of_binary(files, &(self.framing.clone() as _)).map_err(file_failure)
    }

    fn append(
        &self,
        record: Raw<'_>,
        names: &mut Names,
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault> {
        self.typed.append(self.framing.data(record.bytes)?, names, out);
        Ok(())
    }

    fn finish(&self, out: &mut ChunkBuilder) {
        self.typed.finish(out);
    }

    fn record(&self, ordinal: u64) -> String {
        format!(", record {}", ordinal + 1)
    }

    fn place(&self, ordinal: u64, offset: u64, _line: impl FnOnce() -> u64) -> Place {
        Place::Record(ordinal + 1, offset)
    }
}

impl Members for Features {
    type Names = Names;

    fn want(&mut self, pointer: &str, column: (usize, &Type)) -> Result<(), String> {
        Self::want(self, pointer, column)
    }

    fn read(&self, example: &[u8], names: &mut Names, columns: &mut [Builder]) -> bool {
        Self::read(self, example, names, columns)
    }
}
