//! `paths`: one record for each file that a pattern names.

use super::listed::Listed;
use crate::prelude::*;
use runtime::{Fingerprint, Source, SourceCall};
use std::sync::Arc;

source! {
    /// Lists the paths of the files that match a pattern, in natural order.
    ///
    /// `files` also reads the files. Random draws identify a record by the path below the pattern's first
    /// wildcard, so a data set can be moved. Patterns are those of `files`.
    ///
    /// For `lanes`, see `range`.
    ///
    /// ```pipe no_run
    /// paths("data/**/*.{jpg,jpeg}")    # { path: str }
    /// ```
    "paths(pattern: text, lanes: int = none) -> stream",
    cost: Cost::call(150.0),    // Assumed: two paths are put together, one is hashed.
    properties: &[Property::Indexed, Property::GivesPaths],
    fields: Some(|applied| {
        Listed::new(&applied.args[0])?;
        Ok(vec![Field { name: "path".to_owned(), ty: Type::scalar(DType::Str) }])
    }),
}

fn build(call: &SourceCall<'_>) -> Result<Arc<dyn Source>, Failure> {
    let listed = Listed::new(&call.args[0]).map_err(Failure::Program)?;
    Ok(Arc::new(Files { listed, place: call.place }))
}

struct Files {
    listed: Listed,
    place: u64,
}

impl Source for Files {
    fn len(&self) -> Result<u64, Failure> {
        self.listed.len()
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        let (found, mut text) = (self.listed.found()?, String::new());
        for &number in numbers {
            out.ids.push_scalar(found.id(self.place, number as usize, &mut text));
            for column in &mut out.columns {
                found.listing.path(number as usize, &mut text);
                column.push_text(text.as_bytes());
            }
        }
        Ok(())
    }

    fn fingerprint(&self) -> Result<Option<Fingerprint>, Failure> {
        self.listed.fingerprint().map(Some)
    }

    fn contents(&self) -> Result<Option<u128>, Failure> {
        self.listed.contents().map(Some)
    }

    fn describe(&self, number: u64) -> String {
        self.listed.describe(number)
    }

    fn classes(&self) -> &[String] {
        self.listed.classes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::listed::folder::Folder;
    use super::*;
    use runtime::{Pool, mix};
    use xxhash_rust::xxh3::xxh3_64;

    #[test]
    fn files_are_records() {
        let files = [("cat/10.JPG", ""), ("cat/9.jpg", ""), ("ant/1.jpg", ""), ("ant/x.txt", "")];
        let folder = Folder::new("files", &files);
        let fields = [Field { name: "path".to_owned(), ty: Type::scalar(DType::Str) }];
        let args = [folder.pattern("*/*.jpg")];
        let source = build(&SourceCall { args: &args, columns: &fields, place: 7 }).unwrap();
        assert_eq!(
            (source.len(), source.classes()),
            (Ok(3), &["ant".to_owned(), "cat".to_owned()][..])
        );

        let mut out = ChunkBuilder::new(&fields, 2, 0, &Pool::default());
        source.fetch(&[2, 0], &mut out).unwrap();
        let chunk = out.finish();
        assert_eq!(chunk.columns[0].row(0).as_str(), folder.path("cat/10.JPG"));
        assert_eq!(source.describe(1), folder.path("cat/9.jpg"));
        assert_eq!(
            chunk.ids(),
            ["cat/10.JPG", "ant/1.jpg"].map(|it| mix(7, xxh3_64(it.as_bytes())))
        );
    }

    #[test]
    fn files_are_looked_for_when_they_are_needed() {
        let args = [Arg::Text("no/such/folder/*.jpg".to_owned())];
        let source = build(&SourceCall { args: &args, columns: &[], place: 0 }).unwrap();
        let failure = source.len().unwrap_err().to_string();
        assert!(failure.contains("no file matches"), "{failure}");
        assert!(source.classes().is_empty());
    }
}
