//! Where something stands in the text of a program.

use crate::session::load::SourceFile;
use plan::Span;
use serde::Serialize;

/// A place in a program's files, counted from 1; columns are characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file, as it was named.
    pub path: String,
    /// The line.
    pub line: usize,
    /// The character of the line.
    pub column: usize,
}

/// Where `span` begins; none where it is in no file of the program.
pub fn place(files: &[SourceFile], span: Span) -> Option<Place> {
    let file = files.get(usize::from(span.file.0))?;
    let before = file.text.get(..span.start as usize)?;
    let line_start = before.rfind('\n').map_or(0, |it| it + 1);
    Some(Place {
        path: file.path.clone(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    })
}

/// The same as text: `aug.pipe:12:8`.
pub(crate) fn label(files: &[SourceFile], span: Span) -> String {
    match place(files, span) {
        Some(Place { path, line, column }) => format!("{path}:{line}:{column}"),
        None => "the library".to_owned(),
    }
}
