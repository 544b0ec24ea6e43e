//! What the data of a source is like: asked of a few of its records.

use crate::{Source, prelude::*};
use plan::About;
use runtime::{Builder, Column, Pool, SourceCall, storage};
use std::path::Path;

/// Records that are looked at, and the bytes after which no more are.
const RECORDS: usize = 256;
const BYTES: usize = 1 << 20;
/// Records that are taken at a time.
const STEP: usize = 8;

/// What the first records of a source are like, or some from all over its files where none has to be read for that.
/// None where types tell all, and where nothing can be read.
pub(crate) fn about(source: &Source, args: &[Arg], fields: &[Field]) -> Option<About> {
    if fields.iter().all(|it| it.ty.fixed_bytes().is_some()) {
        return None;
    }
    let mut out = ChunkBuilder::new(fields, STEP, 0, &Pool::default());
    // Before a record that cannot be read others were appended.
    let _ = read(source, args, &mut out, fields);
    let chunk = out.finish();
    let rows = Some(chunk.rows).filter(|it| *it > 0)?;
    let mean = |bytes: f64| bytes / rows as f64;
    let columns = fields.iter().zip(&chunk.columns);
    let bytes = |column: &Column| (0..rows).map(|it| column.row(it).bytes() as f64).sum();
    let field_bytes = columns.map(|(field, it)| (field.name.clone(), mean(bytes(it)))).collect();

    let gives_paths = source.entry.has(Property::GivesPaths);
    let paths = chunk.columns.first().filter(|it| gives_paths && it.dtype() == DType::Str);
    let size = |row: usize, of: &Column| {
        let path = Path::new(of.row(row).as_str()).to_owned();
        storage::of(&path).stat(&path).map_or(0.0, |it| it.bytes as f64)
    };
    let file_bytes = paths.map(|of| mean((0..rows).map(|it| size(it, of)).sum()));
    let files = args.first()?.clone();
    Some(About { entry: source.entry.name().to_owned(), files, fields: field_bytes, file_bytes })
}

fn read(
    source: &Source,
    args: &[Arg],
    out: &mut ChunkBuilder,
    fields: &[Field],
) -> Result<(), Failure> {
    let source = (source.build)(&SourceCall { args, columns: fields, place: 0 })?;
    let Some(mut stream) = source.stream() else {
        let len = source.len()?;
        let step = len.div_ceil(RECORDS as u64).max(1);
        let spread: Vec<u64> = (0..len).step_by(step as usize).collect();
        return source.fetch(&spread, out);
    };
    let bytes = |out: &ChunkBuilder| out.columns.iter().map(Builder::bytes).sum::<usize>();
    while out.rows() < RECORDS && bytes(out) < BYTES {
        let before = out.rows();
        stream.next(STEP, out)?;
        if out.rows() == before {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::listed::folder::Folder;
    use super::*;

    fn about_of(name: &str, args: &[Arg], fields: &[(&str, Type)]) -> Option<About> {
        let field = |(name, ty): &(&str, Type)| Field { name: (*name).to_owned(), ty: ty.clone() };
        let fields: Vec<Field> = fields.iter().map(field).collect();
        crate::about(name, args, &fields)
    }

    #[test]
    fn a_few_records_tell_what_types_do_not() {
        let text = Type::scalar(DType::Str);
        let long = "x".repeat(1_000) + "\n";
        let folder =
            Folder::new("about", &[("a.txt", "ab\nabcd\n"), ("b.txt", &long.repeat(2_000))]);
        let args = [folder.pattern("a.txt"), Arg::None];
        let found = about_of("lines", &args, &[("text", text.clone())]).unwrap();
        assert_eq!((found.field_bytes("text"), found.file_bytes), (Some(3.0), None));
        assert!(found.is_of("lines", &args) && !found.is_of("jsonl", &args));
        let found =
            about_of("lines", &[folder.pattern("b.txt"), Arg::None], &[("text", text.clone())]);
        assert_eq!(found.unwrap().field_bytes("text"), Some(1_000.0));

        let found =
            about_of("paths", &[folder.pattern("*.txt"), Arg::None], &[("path", text.clone())]);
        let found = found.unwrap();
        assert_eq!(found.file_bytes, Some((8.0 + 2_002_000.0) / 2.0));
        assert_eq!(found.field_bytes("path"), Some(folder.path("a.txt").len() as f64));

        assert_eq!(
            about_of("lines", &[folder.pattern("none.txt"), Arg::None], &[("text", text)]),
            None
        );
        let number = [("i", Type::scalar(DType::I64))];
        assert_eq!(about_of("range", &[Arg::Int(0), Arg::Int(9), Arg::None], &number), None);
    }
}
