//! `lines`: one record for each line of text files.

use super::{
    framed::{Lines, Records},
    listed::Listed,
};
use crate::prelude::*;
use runtime::{Source, SourceCall};
use std::sync::Arc;

source! {
    /// Reads the lines of text files that match a pattern.
    ///
    /// Files are read one after the other. Patterns are those of `files`. Lines do not include their line
    /// break, and an empty line is a record with an empty string. Files are UTF-8; a byte order mark is
    /// dropped. To read lines in another order, as `shuffle` without a window does, all files are first read
    /// once, to find where each line begins.
    ///
    /// Files may be compressed with gzip, Zstandard, xz or bzip2, detected from their first bytes; compressed
    /// files can only be read in order.
    ///
    /// For `lanes`, see `range`.
    ///
    /// ```pipe no_run
    /// lines("data/*.txt")    # { text: str }
    /// ```
    "lines(pattern: text, lanes: int = none) -> stream",
    cost: Cost::out(40.0, 0.3),    // Assumed: a search for the line's end, and two copies.
    properties: &[Property::Indexed, Property::Spans, Property::ReadsFiles, Property::ByFile],
    fields: Some(|applied| {
        Listed::new(&applied.args[0])?;
        Ok(vec![Field { name: "text".to_owned(), ty: Type::scalar(DType::Str) }])
    }),
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    Ok(Arc::new(Records::new(Lines { columns: call.columns.len() }, listed, call.place)))
}

#[cfg(test)]
mod tests {
    use super::super::{framed::reading::*, listed::folder::Folder};
    use super::*;
    use runtime::mix;
    use xxhash_rust::xxh3::xxh3_64;

    fn fields() -> Vec<Field> {
        vec![Field { name: "text".to_owned(), ty: Type::scalar(DType::Str) }]
    }

    fn open(folder: &Folder, pattern: &str) -> Arc<dyn Source> {
        let args = [folder.pattern(pattern)];
        build(&SourceCall { args: &args, columns: &fields(), place: 7 }).unwrap()
    }

    fn texts(chunk: &Chunk) -> Vec<String> {
        (0..chunk.rows).map(|it| chunk.columns[0].row(it).as_str().to_owned()).collect()
    }

    #[test]
    fn lines_are_the_same_in_any_order() {
        let files = [("a.txt", "one\n\nthree\r\n"), ("b.txt", ""), ("c.txt", "\u{feff}vier\nfünf")];
        let folder = Folder::new("lines", &files);
        let source = open(&folder, "*.txt");
        let expected = ["one", "", "three", "vier", "fünf"];
        let place = |file: &str, line| mix(7, mix(xxh3_64(file.as_bytes()), line));
        let ids = [("a.txt", 0), ("a.txt", 1), ("a.txt", 2), ("c.txt", 0), ("c.txt", 1)]
            .map(|(file, line)| place(file, line));

        for rows in [1, 2, 100] {
            let chunks = in_order(&*source, &fields(), rows).unwrap();
            assert!(chunks.iter().flat_map(texts).eq(expected), "{rows} at a time");
            assert!(chunks.iter().flat_map(|it| it.ids().to_vec()).eq(ids));
        }
        assert_eq!(source.len(), Ok(5));
        for numbers in [vec![0, 1, 2, 3, 4], vec![4, 0, 1, 3, 2, 2]] {
            let chunk = fetched(&*source, &fields(), &numbers).unwrap();
            assert!(texts(&chunk).iter().eq(numbers.iter().map(|it| expected[*it as usize])));
            assert!(chunk.ids().iter().eq(numbers.iter().map(|it| &ids[*it as usize])));
        }
        assert_eq!(source.describe(4), format!("{}, line 2", folder.path("c.txt")));
    }

    #[test]
    fn a_file_that_changes_between_epochs_is_refused() {
        for changed in ["one\n", "", "one\ntwo\nthree\n"] {
            let folder = Folder::new("epochs", &[("a.txt", "one\ntwo\n"), ("b.txt", "three\n")]);
            let source = open(&folder, "*.txt");
            assert_eq!(in_order(&*source, &fields(), 100).unwrap()[0].rows, 3);
            assert_eq!(in_order(&*source, &fields(), 100).unwrap()[0].rows, 3);
            std::fs::write(folder.path("a.txt"), changed).unwrap();
            let failure = in_order(&*source, &fields(), 100).unwrap_err().to_string();
            let n_bytes = changed.len();
            let told = format!("it had 8 bytes and now ends after {n_bytes}");
            assert!(failure.contains(&told) && failure.contains("a.txt"), "{failure}");
        }
    }

    #[test]
    fn what_is_not_text_is_named() {
        let folder = Folder::new("latin", &[("a.txt", "fine\n")]);
        std::fs::write(folder.path("b.txt"), b"fine\nf\xfcnf\n").unwrap();
        let source = open(&folder, "*.txt");
        let failures = [
            in_order(&*source, &fields(), 10).unwrap_err(),
            fetched(&*source, &fields(), &[0, 2]).unwrap_err(),
        ];
        for failure in failures.map(|it| it.to_string()) {
            assert!(failure.contains("b.txt`: line 2: byte 2 of the record"), "{failure}");
        }
    }
}
