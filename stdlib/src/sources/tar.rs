//! `tar`: one record for the files of one key in tar archives, as WebDataset has them.

use super::{
    binary::{self, FAULT, KEY, Kind},
    listed::Listed,
};
use crate::prelude::*;
use crate::records::{Framing, tar};
use plan::Faulty;
use runtime::{Source, SourceCall};
use std::sync::Arc;

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
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::Faulty(&FAULTY)],
    fields: Some(fields),
}

static FAULTY: Faulty = Faulty { argument: FAULTS, field: FAULT, known: "", guard: "guarded" };

/// Where the parameter stands.
const FAULTS: usize = 2;

fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    let key = (KEY, Type::scalar(DType::Str));
    let own = [key, ("files", Type::Untyped(Untyped::Members))];
    Ok(binary::fields(&own, &applied.args[FAULTS]))
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let kind = Kind {
        framing: Framing::Tar,
        read: |record, _| Ok((tar::key(record)?, record)),
        check: true,
        faults: call.args[FAULTS] == Arg::Bool(true),
    };
    binary::source(call, kind)
}
