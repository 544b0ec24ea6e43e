//! `jsonl`: one record for each line of files of JSON lines.

use super::{
    framed::{Format, Lines, Raw, Records, file_failure},
    listed::Listed,
    typed::{self, Members, Typed},
};
use crate::{
    functions::text::json::typed::{Keys, Object, WITHIN_MAX},
    prelude::*,
    records::{RecordFault, RecordIndex, RecordReader},
};
use plan::TypedColumns;
use runtime::{Builder, Source, SourceCall};
use std::{path::PathBuf, sync::Arc};

source! {
    /// Reads JSON Lines files that match a pattern: one JSON value per line.
    ///
    /// Patterns are those of `files`. `as` gives a value its type where it is used:
    /// `row["boxes"] as f32[n, 4]`. If a line is not valid JSON, the record fails there. Files are UTF-8, and
    /// can be read in any order, like those of `lines`.
    ///
    /// Files may be compressed with gzip, Zstandard, xz or bzip2, detected from their first bytes; compressed
    /// files can only be read in order.
    ///
    /// For `lanes`, see `range`. `typed` is set by the compiler: for names that are known at compile time,
    /// values such as `row["a"] as f32` are converted while the line is read.
    ///
    /// ```pipe no_run
    /// jsonl("data/*.jsonl") |> map { text: row["text"] as str }    # { text: str }
    /// ```
    "jsonl(pattern: text, lanes: int = none, typed: dtypes = none) -> stream",
    cost: Cost::out(40.0, 0.3),    // Assumed: a search for the line's end, and two copies.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::ByFile, Property::TypedColumns(&TYPED)],
    fields: Some(fields),
}

static TYPED: TypedColumns = TypedColumns {
    argument: 2,
    field: "row",
    of: Untyped::Json,
    depth: WITHIN_MAX,
    texts: true,
    arrays: false,
    known: "row.typed",
    rest: "row.rest",
    // Assumed: a value is read in 15 ns, and each byte looked at once.
    cost: Cost { ns_byte_in: 0.5, ..Cost::call(15.0) },
};

/// The line, and what is read of it.
fn fields(applied: &Applied<'_>) -> Result<Vec<Field>, String> {
    Listed::new(&applied.args[0])?;
    typed::fields::<Object>(&TYPED, applied)
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    if call.args[TYPED.argument] == Arg::None {
        return Ok(Arc::new(Records::new(
            Lines { columns: call.columns.len() },
            listed,
            call.place,
        )));
    }
    let lines = Typed::<Object>::new(&TYPED, call.columns).map_err(Failure::Program)?;
    Ok(Arc::new(Records::new(TypedLines(lines), listed, call.place)))
}

/// Lines of which some members are read.
struct TypedLines(Typed<Object>);

impl Format for TypedLines {
    type Scratch = Keys;

    fn reader(&self, files: &Arc<[PathBuf]>) -> Result<RecordReader, Failure> {
        Ok(RecordReader::lines(files.clone()))
    }

    fn index(&self, files: &Arc<[PathBuf]>) -> Result<RecordIndex, Failure> {
        RecordIndex::of_lines(files.clone()).map_err(file_failure)
    }

    fn append(
        &self,
        record: Raw<'_>,
        keys: &mut Keys,
        out: &mut ChunkBuilder,
    ) -> Result<(), RecordFault> {
        record.check_utf8()?;
        self.0.append(record.bytes, keys, out);
        Ok(())
    }

    fn finish(&self, out: &mut ChunkBuilder) {
        self.0.finish(out);
    }
}

impl Members for Object {
    type Names = Keys;

    fn want(&mut self, pointer: &str, (column, ty): (usize, &Type)) -> Result<(), String> {
        let dtype = ty.dtype().filter(|_| ty.shape() == Some(&[]));
        Self::want(self, pointer, (column, dtype.ok_or("it is no scalar")?))
    }

    fn read(&self, line: &[u8], keys: &mut Keys, columns: &mut [Builder]) -> bool {
        Self::read(self, line, keys, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{framed::reading::*, listed::folder::Folder};
    use super::*;

    fn untyped(name: &str) -> Field {
        Field { name: name.to_owned(), ty: Type::Untyped(Untyped::Json) }
    }

    fn scalar(name: &str, dtype: DType) -> Field {
        Field { name: name.to_owned(), ty: Type::scalar(dtype) }
    }

    fn args(folder: &Folder, typed: &[(&str, &str)]) -> [Arg; 3] {
        let of = |it: &(&str, &str)| {
            (
                it.0.to_owned(),
                DType::named(it.1).map_or(Arg::None, |it| Arg::Type(Type::scalar(it))),
            )
        };
        let typed = Some(typed).filter(|it| !it.is_empty());
        let typed = typed.map_or(Arg::None, |it| Arg::Record(it.iter().map(of).collect()));
        [folder.pattern("*.jsonl"), Arg::None, typed]
    }

    fn found(args: &[Arg], found: &[Field]) -> Result<Vec<Field>, String> {
        let graph = plan::Graph::default();
        fields(&Applied { args, graph: &graph, inputs: &[], names: &[], found })
    }

    #[test]
    fn a_line_is_a_row() {
        let folder = Folder::new("jsonl", &[("a.jsonl", "{\"a\": 1}\n{\"a\": 2}\n")]);
        let fields = [untyped("row")];
        let args = args(&folder, &[]);
        let source = build(&SourceCall { args: &args, columns: &fields, place: 7 }).unwrap();
        let chunk = fetched(&*source, &fields, &[1]).unwrap();
        assert_eq!(chunk.columns[0].row(0).as_str(), "{\"a\": 2}");
    }

    #[test]
    fn what_is_known_of_lines_is_read_with_them() {
        let lines = "{\"a\": \"x\", \"b\": {\"c\": 1.5}}\nno json\n{\"b\": {\"c\": 2}, \"a\": \"\"}\n{\"a\": 3}\n";
        let folder = Folder::new("jsonl-typed", &[("a.jsonl", lines)]);
        let args = args(&folder, &[("/a", "str"), ("/b/c", "f32")]);
        let all = found(&args, &[]).unwrap();
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["row", "row.rest", "row/a", "row/b/c", "row.typed"]);

        let source = build(&SourceCall { args: &args, columns: &all, place: 7 }).unwrap();
        let streamed = in_order(&*source, &all, 100).unwrap().remove(0);
        let fetched = fetched(&*source, &all, &[0, 1, 2, 3]).unwrap();
        for chunk in [streamed, fetched] {
            let text = |column: usize| -> Vec<String> {
                (0..4).map(|it| chunk.columns[column].row(it).as_str().to_owned()).collect()
            };
            assert_eq!(text(0).join("\n") + "\n", lines);
            assert_eq!(text(1), ["", "no json", "", "{\"a\": 3}"]);
            assert_eq!(text(2), ["x", "", "", ""]);
            assert_eq!(chunk.columns[3].as_slice::<f32>(), Some(&[1.5, 0.0, 2.0, 0.0][..]));
            let known = chunk.columns[4].as_slice::<bool>();
            assert_eq!(known, Some(&[true, false, true, false][..]));
        }
    }

    #[test]
    fn lines_that_are_not_text_end_the_run_as_ever() {
        let folder = Folder::new("jsonl-latin", &[("a.jsonl", "")]);
        std::fs::write(folder.path("a.jsonl"), b"{\"a\": 1}\n{\"a\": 2, \"b\": \"f\xfcnf\"}\n")
            .unwrap();
        let told = |args: &[Arg], fields: &[Field]| {
            let source = build(&SourceCall { args, columns: fields, place: 7 }).unwrap();
            in_order(&*source, fields, 10).unwrap_err().to_string()
        };
        let typed =
            [untyped("row.rest"), scalar("row/a", DType::I64), scalar("row.typed", DType::Bool)];
        let failure = told(&args(&folder, &[("/a", "i64")]), &typed);
        assert!(failure.contains("line 2: byte 17 of the record is not UTF-8"), "{failure}");
        assert_eq!(failure, told(&args(&folder, &[]), &[untyped("row")]));
    }

    #[test]
    fn columns_are_those_that_the_argument_says() {
        let folder = Folder::new("jsonl-fields", &[("a.jsonl", "{}\n")]);
        let typed = args(&folder, &[("/a", "i64")]);
        let some = [scalar("row/a", DType::I64), scalar("row.typed", DType::Bool)];
        assert_eq!(found(&typed, &some).unwrap(), some);
        for other in [scalar("row/a", DType::F32), scalar("row/b", DType::I64), untyped("rest")] {
            let all = [some[0].clone(), other];
            assert_ne!(found(&typed, &all).unwrap(), all);
        }
        for wrong in [("a", "i64"), ("/a", "i65"), ("", "str")] {
            let refused = found(&args(&folder, &[wrong]), &[]).unwrap_err();
            assert!(refused.contains("`typed` is set by the compiler"), "{refused}");
        }
        let twice = args(&folder, &[("/a", "i64"), ("/a/b", "i64")]);
        assert!(found(&twice, &[]).unwrap_err().contains("`/a/b`: it is listed twice"));
    }
}
