//! Records of files that are no text, whole or as faults: what `tfrecord` and `tar` share.

use super::{
    listed::Listed,
    records::{Format, Raw, Records, file_failure},
};
use crate::prelude::*;
use crate::records::{FileError, Framing, Place, RecordFault, RecordIndex, RecordReader};
use runtime::{Source, SourceCall};
use std::{path::PathBuf, sync::Arc};

/// The field that says what is wrong with a record.
pub(super) const FAULT: &str = "row.fault";
/// The field that names a record.
pub(super) const KEY: &str = "key";

/// A record: its name, where it has one, and what it holds.
pub(super) type Record<'r> = (String, &'r [u8]);

/// Takes what frames it off a record.
///
/// # Errors
/// It is damaged or cut off.
type Read = fn(&[u8], bool) -> Result<Record<'_>, RecordFault>;

/// How the records of a kind of files are read.
pub(super) struct Kind {
    /// How they lie in a file.
    pub(super) framing: Framing,
    /// The record, and whether checksums are held against it.
    pub(super) read: Read,
    /// Whether they are.
    pub(super) check: bool,
    /// Whether what cannot be read is a fault of the record.
    pub(super) faults: bool,
}

/// The fields of a source: its own, and the one that says what is wrong where `faults` asks for it.
pub(super) fn fields(own: &[(&str, Type)], faults: &Arg) -> Vec<Field> {
    let fault = (*faults == Arg::Bool(true)).then(|| (FAULT, Type::scalar(DType::Str)));
    let all = own.iter().cloned().chain(fault);
    all.map(|(name, ty)| Field { name: name.to_owned(), ty }).collect()
}

/// The source of the files that the call's first argument names.
pub(super) fn source(call: &SourceCall<'_>, kind: Kind) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let part = |it: &Field| match it.name.as_str() {
        FAULT => Part::Fault,
        KEY => Part::Key,
        _ => Part::Data,
    };
    let parts = call.columns.iter().map(part).collect();
    Ok(Arc::new(Records::new(Binary { kind, parts }, listed, call.place)))
}

struct Binary {
    kind: Kind,
    /// What each column holds.
    parts: Vec<Part>,
}

#[derive(Clone, Copy)]
enum Part {
    Key,
    Data,
    Fault,
}

impl Binary {
    fn push(&self, (key, data): (&str, &[u8]), fault: &str, out: &mut ChunkBuilder) {
        for (part, to) in self.parts.iter().zip(&mut out.columns) {
            to.push_text(match part {
                Part::Key => key.as_bytes(),
                Part::Data => data,
                Part::Fault => fault.as_bytes(),
            });
        }
    }
}

impl Format for Binary {
    type Scratch = ();

    const IS_TEXT: bool = false;

    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure> {
        Ok(RecordReader::binary(files.clone(), self.kind.framing))
    }

    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure> {
        RecordIndex::of_binary(files, self.kind.framing).map_err(file_failure)
    }

    fn append(
        &self,
        record: Raw<'_>,
        (): &mut (),
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault> {
        let (key, data) = (self.kind.read)(record.bytes, self.kind.check)?;
        self.push((&key, data), "", out);
        Ok(())
    }

    fn append_fault(
        &self,
        error: FileError,
        _: (Raw<'_>, &mut Self::Scratch),
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        if !self.kind.faults {
            return Err(file_failure(error));
        }
        self.push(("", b""), &format!("{error}: {}", error.help), out);
        Ok(())
    }

    fn record(&self, ordinal: u64) -> String {
        format!(", record {}", ordinal + 1)
    }

    fn place(&self, ordinal: u64, offset: u64, _line: impl FnOnce() -> u64) -> Place {
        Place::Record(ordinal + 1, offset)
    }
}
