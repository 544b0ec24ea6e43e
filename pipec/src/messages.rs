//! Messages about programs: drawn into the text for people, or as JSON.

use crate::{
    Exit,
    figures::things,
    talk::{Style, Talk},
};
use driver::{Drawing, Place, SourceFile, Unreadable, built::Refusal};
use plan::{Diagnostic, Severity, Span};
use serde::Serialize;
use std::path::Path;

/// Codes of messages about the command line rather than the program: a parameter that is not
/// set, one that cannot have its value, a pipeline that is not there.
const USAGE: [&str; 3] = ["PC0161", "PC0162", "PC0164"];
/// The messages that are about what could not be read.
const UNREADABLE: [&str; 1] = ["PC0136"];

/// Prints messages on stderr, each once, in the order of the text.
pub(crate) fn print(talk: &Talk, files: &[SourceFile], diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        talk.print(&rendered(talk, files, diagnostic));
    }
}

/// Prints messages and how many there are; gives how the process ends.
pub(crate) fn conclude(talk: &Talk, files: &[SourceFile], diagnostics: &[Diagnostic]) -> Exit {
    print(talk, files, diagnostics);
    talk.say(&tally(talk, diagnostics));
    exit(diagnostics)
}

/// How many mistakes and warnings there are.
pub(crate) fn tally(talk: &Talk, diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().filter(|it| it.is_error()).count();
    let warnings = diagnostics.len() - errors;
    let mut parts = Vec::new();
    if errors > 0 {
        let text = things(errors as u64, "error", "errors");
        parts.push(talk.styled(Style::Error, &text));
    }
    if warnings > 0 {
        let text = things(warnings as u64, "warning", "warnings");
        parts.push(talk.styled(Style::Warning, &text));
    }
    parts.join(", ")
}

/// How the process ends that gave these messages.
pub(crate) fn exit(diagnostics: &[Diagnostic]) -> Exit {
    let errors: Vec<&Diagnostic> = diagnostics.iter().filter(|it| it.is_error()).collect();
    match errors.as_slice() {
        [] => Exit::Fine,
        all if all.iter().all(|it| USAGE.contains(&it.code.id)) => Exit::Usage,
        all if all.iter().all(|it| UNREADABLE.contains(&it.code.id)) => Exit::Io,
        _ => Exit::Errors,
    }
}

/// Says that a program cannot be read.
pub(crate) fn unreadable(talk: &Talk, it: &Unreadable) -> Exit {
    let Unreadable { path, why, help } = it;
    talk.error(&format!("cannot read `{path}`: {why}"), help.as_deref());
    Exit::Io
}

/// Says that a built file is not run.
pub(crate) fn refused(talk: &Talk, path: &Path, it: &Refusal) -> Exit {
    talk.error(&format!("cannot run `{}`: {it}", path.display()), it.help());
    Exit::Io
}

/// A message as a person sees it.
fn rendered(talk: &Talk, files: &[SourceFile], diagnostic: &Diagnostic) -> String {
    let dim = |it: &str| talk.styled(Style::Dim, it);
    let drawing = Drawing {
        color: talk.color,
        unicode: talk.color || talk.terminal,
        width: talk.text_width(),
        dim: &dim,
    };
    driver::drawn(files, diagnostic, &drawing) + "\n"
}

/// A message for machines.
#[derive(Serialize)]
pub(crate) struct Message<'a> {
    code: &'a str,
    name: &'a str,
    severity: Severity,
    message: &'a str,
    #[serde(flatten)]
    place: Option<Place>,
    end: Option<Place>,
    label: &'a str,
    labels: Vec<LabelMessage<'a>>,
    help: Option<&'a str>,
    fix: Option<FixMessage<'a>>,
}

/// Another place that matters.
#[derive(Serialize)]
struct LabelMessage<'a> {
    #[serde(flatten)]
    place: Option<Place>,
    text: &'a str,
}

/// What may be written in place of `start..end`, in bytes of the file.
#[derive(Serialize)]
struct FixMessage<'a> {
    path: &'a str,
    start: u32,
    end: u32,
    replacement: &'a str,
}

/// Messages for machines, in the order of the text.
pub(crate) fn json<'a>(files: &'a [SourceFile], diagnostics: &'a [Diagnostic]) -> Vec<Message<'a>> {
    let label =
        |it: &'a plan::Label| LabelMessage { place: driver::place(files, it.span), text: &it.text };
    let fix = |it: &'a plan::Fix| FixMessage {
        path: files.get(usize::from(it.span.file.0)).map_or("", |it| &it.path),
        start: it.span.start,
        end: it.span.end,
        replacement: &it.replacement,
    };
    let message = |it: &'a Diagnostic| Message {
        code: it.code.id,
        name: it.code.name,
        severity: it.severity,
        message: &it.message,
        place: driver::place(files, it.span),
        end: driver::place(files, Span { start: it.span.end, ..it.span }),
        label: &it.label,
        labels: it.labels.iter().map(label).collect(),
        help: it.help.as_deref(),
        fix: it.fix.as_ref().map(fix),
    };
    diagnostics.iter().map(message).collect()
}
