//! What is said about columns of tables whose names a program cannot write.

use super::{codes, quoted};
use plan::{Diagnostic, Span, nearest};

/// A column whose name a program cannot write, and where it is given another one.
pub(crate) struct Unnamed {
    /// What the files call it.
    pub(crate) column: String,
    /// What the program could.
    pub(crate) name: String,
    /// The source, and the parameter that names its columns.
    pub(crate) source: String,
    pub(crate) argument: String,
    /// Whether it is what was probably meant, or only the first of such columns.
    pub(crate) is_meant: bool,
}

impl Unnamed {
    fn remedy(&self) -> String {
        let Self { column, name, source, argument, .. } = self;
        let text = plan::text_literal(column);
        format!(
            "the column `{column}` has no name that a program can write: give it one in `{source}`, `{argument}: {{ {name}: \
             {text}, … }}`"
        )
    }
}

/// `unknown` where a column was meant that has no such name, or may have been.
pub(crate) fn unnamed_column(unknown: Diagnostic, unnamed: &Unnamed) -> Diagnostic {
    let remedy = unnamed.remedy();
    match unknown.help.clone().filter(|_| !unnamed.is_meant) {
        Some(help) => unknown.help(format!("{help}; {remedy}")),
        None => Diagnostic { fix: None, ..unknown.help(remedy) },
    }
}

/// `it["name"]`, which is a field or none.
pub(crate) fn field_by_text(
    name: &str,
    names: &[String],
    unnamed: Option<&Unnamed>,
    at: Span,
) -> Diagnostic {
    let diagnostic =
        Diagnostic::error(codes::INDEX.code(), at, "a record cannot be indexed by text");
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    match (unnamed, all.contains(&name), nearest(name, &all)) {
        (Some(it), ..) => diagnostic.help(it.remedy()),
        (_, true, _) => diagnostic.help(format!("write the field as `.{name}`")),
        (_, _, Some(meant)) => diagnostic.help(format!("did you mean the field `.{meant}`?")),
        _ => diagnostic.help(format!("its fields are {}", quoted(&all))),
    }
}
