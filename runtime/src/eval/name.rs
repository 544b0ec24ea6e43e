//! What a record and a step are called where a person is told of them.

use crate::{Chunk, Source};
use plan::{DType, Stage};
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
    let texts = chunk.columns.iter().filter(|it| it.dtype() == DType::Str && !it.is_texts());
    match texts.map(|it| it.row(row).as_str()).find(|it| !it.is_empty()) {
        None => format!("record {id:016x}"),
        Some(text) => match text.char_indices().nth(NAME_MAX) {
            Some((end, _)) => format!("`{}…`", &text[..end]),
            None => format!("`{text}`"),
        },
    }
}

/// What a stage or a step is called.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    /// Where it is written.
    pub(crate) label: Arc<str>,
    /// Its name in the plan.
    pub(crate) step: Arc<str>,
}

impl Name {
    /// That of a whole stage.
    pub(crate) fn of(stage: &Stage) -> Self {
        Self { label: stage.label().into(), step: span_of(&stage.steps).into() }
    }

    /// Those of its steps.
    pub(super) fn each(stage: &Stage) -> Vec<Self> {
        let all = stage.labels.iter().zip(&stage.steps);
        all.map(|(label, step)| Self { label: (&**label).into(), step: (&**step).into() }).collect()
    }
}

/// The first and the last of the steps of a stage.
fn span_of(steps: &[String]) -> String {
    match steps {
        [] => String::new(),
        [one] => one.clone(),
        [first, .., last] => format!("{first} … {last}"),
    }
}
