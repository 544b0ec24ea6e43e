//! `jsonl`: one record for each line of files of JSON lines.

use super::{
    listed::Listed,
    records::{Lines, Records},
};
use crate::prelude::*;
use runtime::{Source, SourceCall};
use std::sync::Arc;

source! {
    /// The lines of the files that a pattern names, each a JSON value.
    ///
    /// Patterns are those of `files`. What the value is, `as` says where it is used:
    /// `row["boxes"] as f32[n, 4]`; a line that is no JSON is a fault of that record there. Files
    /// are UTF-8, and may be read in any order, as those of `lines`.
    ///
    /// Files may be compressed with gzip, Zstandard, xz or bzip2, which their first bytes say; such a file is read in
    /// order only.
    ///
    /// `lanes: n` is that of `range`.
    ///
    /// ```pipe no_run
    /// jsonl("data/*.jsonl") |> map { text: row["text"] as str }    # { text: str }
    /// ```
    "jsonl(pattern: text, lanes: int = none) -> stream",
    cost: Cost::out(40.0, 0.3),    // Assumed: a search for the line's end, and two copies.
    properties: &[Property::Indexed, Property::ReadsFiles],
    fields: Some(|applied| {
        Listed::new(&applied.args[0])?;
        Ok(vec![Field { name: "row".to_owned(), ty: Type::Untyped(Untyped::Json) }])
    }),
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    Ok(Arc::new(Records::new(Lines, listed, call.place)))
}

#[cfg(test)]
mod tests {
    use super::super::{listed::folder::Folder, records::reading::*};
    use super::*;

    #[test]
    fn a_line_is_a_row() {
        let folder = Folder::new("jsonl", &[("a.jsonl", "{\"a\": 1}\n{\"a\": 2}\n")]);
        let fields = [Field { name: "row".to_owned(), ty: Type::Untyped(Untyped::Json) }];
        let args = [folder.pattern("a.jsonl")];
        let source = build(&SourceCall { args: &args, columns: &fields, place: 7 }).unwrap();
        let chunk = fetched(&*source, &fields, &[1]).unwrap();
        assert_eq!(chunk.columns[0].row(0).as_str(), "{\"a\": 2}");
    }
}
