//! What a record is called where a person is told of it.

use crate::{Chunk, Column, Source};
use plan::DType;
use std::sync::Arc;

/// Characters of a text that names its record: paths have fewer.
const NAME_MAX: usize = 200;

/// A record as a person would name it: its file and line where one of `sources` knows them, else its path or the begin
/// of its text, else its id.
pub(super) fn name_of(sources: &[Arc<dyn Source>], chunk: &Chunk, row: usize) -> String {
    let id = chunk.ids()[row];
    if let Some(named) = sources.iter().find_map(|it| it.named(id)) {
        return named;
    }
    let is_name = |it: &&Column| it.dtype() == DType::Str && !it.is_texts();
    let text = chunk.columns.iter().find(is_name);
    match text.map(|it| it.row(row).as_str()) {
        None => format!("record {id:016x}"),
        Some(text) => match text.char_indices().nth(NAME_MAX) {
            Some((end, _)) => format!("`{}…`", &text[..end]),
            None => format!("`{text}`"),
        },
    }
}

/// The first and the last of the steps of a stage.
pub(crate) fn span_of(steps: &[String]) -> String {
    match steps {
        [] => String::new(),
        [one] => one.clone(),
        [first, .., last] => format!("{first} … {last}"),
    }
}
