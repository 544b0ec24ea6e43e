//! `tar`: one record for the files of one key in tar archives, as WebDataset has them.

use super::{
    binary::{self, FAULT, KEY},
    listed::Listed,
};
use crate::prelude::*;
use crate::records::tar::Tar;
use plan::Faulty;
use runtime::{Source, SourceCall};
use std::sync::Arc;

source! {
    /// Reads tar archives that match a pattern, such as WebDataset shards.
    ///
    /// Archives are read one after the other. Patterns are those of `files`. Consecutive files whose paths are
    /// equal up to the first dot of the file name form a record, with that part as its `key`; the rest, in
    /// lower case, is the name of the file in `files`. `files["jpg"] as bytes` is one file, `files["jpg;png"]`
    /// the first of them that exists, `files["cls"] as i64` the number that it contains as text, and
    /// `files["json"]["caption"] as str` a field of its JSON. Links, folders, files without a dot, and those
    /// called `__…__` are ignored.
    ///
    /// A record in which a file occurs twice fails with `bad-row`. So does a damaged or truncated record, and
    /// the rest of the archive is lost with it; the message says how many bytes. `else skip` continues with
    /// what follows. Without an `else`, the run ends there. A record is limited to 64 MiB; sparse files are
    /// rejected.
    ///
    /// Archives can be read in any order: `shuffle` without a window first reads the headers of all files once.
    /// Compressed ones (`.tar.gz`, `.tgz`) can only be read in order.
    ///
    /// For `lanes`, see `range`. `faults` is set by the compiler.
    ///
    /// ```pipe no_run
    /// tar("train-{000..099}.tar") |> map { image: decode_jpeg(files["jpg"] as bytes), label: files["cls"] as i64 }
    /// ```
    "tar(pattern: text, lanes: int = none, faults: bool = false) -> stream",
    cost: Cost::out(300.0, 0.15),    // Assumed: two headers, and a copy.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::ByFile, Property::Faulty(&FAULTY)],
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
    binary::source(call, Tar, FAULTS)
}
