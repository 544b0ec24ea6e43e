//! Records of files that are no text, whole or as faults: what `tfrecord`, `tar` and `records` share.

use super::{
    framed::{Format, Raw, Records, file_failure},
    listed::Listed,
};
use crate::prelude::*;
use crate::records::{BinaryFormat, FileError, Place, RecordFault, RecordIndex, RecordReader};
use runtime::{Source, SourceCall};
use std::{path::PathBuf, sync::Arc};

/// The field that says what is wrong with a record.
pub(super) const FAULT: &str = "row.fault";
/// The field that names a record.
pub(super) const KEY: &str = "key";

/// The fields of a source: its own, and the one that says what is wrong where `faults` asks for it.
pub(super) fn fields(own: &[(&str, Type)], faults: &Arg) -> Vec<Field> {
    let fault = (*faults == Arg::Bool(true)).then(|| (FAULT, Type::scalar(DType::Str)));
    let all = own.iter().cloned().chain(fault);
    all.map(|(name, ty)| Field { name: name.to_owned(), ty }).collect()
}

/// The source of files of a format, which the call's first argument names; argument `faults` says whether what cannot
/// be read is a fault of its record.
pub(super) fn source(
    call: &SourceCall<'_>,
    format: impl BinaryFormat + 'static,
    faults: usize,
) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    let part = |it: &Field| match it.name.as_str() {
        FAULT => Part::Fault,
        KEY => Part::Key,
        _ => Part::Data,
    };
    let parts = call.columns.iter().map(part).collect();
    let faults = call.args[faults] == Arg::Bool(true);
    let reading = Reading { format: Arc::new(format), parts, faults };
    Ok(Arc::new(Records::new(reading, listed, call.place)))
}

struct Reading {
    format: Arc<dyn BinaryFormat>,
    /// What each column holds.
    parts: Vec<Part>,
    /// Whether what cannot be read is a fault of the record.
    faults: bool,
}

#[derive(Clone, Copy)]
enum Part {
    Key,
    Data,
    Fault,
}

impl Reading {
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

impl Format for Reading {
    type Scratch = ();

    const IS_TEXT: bool = false;

    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure> {
        Ok(RecordReader::binary(files.clone(), &self.format))
    }

    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure> {
        RecordIndex::of_binary(files, &self.format).map_err(file_failure)
    }

    fn append(
        &self,
        record: Raw<'_>,
        (): &mut (),
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault> {
        let (key, data) = self.format.record(record.bytes)?;
        self.push((&key, data), "", out);
        Ok(())
    }

    fn verbatim(&self) -> Option<usize> {
        let mut data = self.parts.iter().enumerate().filter(|it| matches!(it.1, Part::Data));
        let (first, others) = (data.next(), data.next());
        first.filter(|_| others.is_none() && self.format.is_verbatim()).map(|it| it.0)
    }

    fn append_beside(&self, column: usize, out: &mut ChunkBuilder) -> Result<(), RecordFault> {
        let record = out.columns[column].last_text().unwrap_or_default();
        let key = self.format.record(record)?.0;
        let others = self.parts.iter().zip(&mut out.columns).enumerate();
        for (_, (part, to)) in others.filter(|it| it.0 != column) {
            to.push_text(if let Part::Key = part { key.as_bytes() } else { b"" });
        }
        Ok(())
    }

    fn append_fault(
        &self,
        error: FileError,
        _: (Raw<'_>, &mut Self::Scratch),
        out: &mut ChunkBuilder,
    ) -> Result<(), Failure> {
        if !self.faults {
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
