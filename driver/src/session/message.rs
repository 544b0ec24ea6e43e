//! A message about a program, drawn into the text that it is about.

use crate::session::{
    load::SourceFile,
    place::{Place, place},
};
use miette::{GraphicalReportHandler, GraphicalTheme, NamedSource};
use plan::{Diagnostic, Span, escaped, masked};
use std::fmt;

/// How messages are drawn.
pub struct Drawing<'a> {
    /// Whether with colours.
    pub color: bool,
    /// Whether with lines and marks beyond ASCII; colours need them.
    pub unicode: bool,
    /// Columns that there are.
    pub width: usize,
    /// Makes less of a piece of text, where that can be shown.
    pub dim: &'a dyn Fn(&str) -> String,
}

/// `diagnostic` as a person sees it: some lines, each with its end.
pub fn drawn(files: &[SourceFile], diagnostic: &Diagnostic, drawing: &Drawing<'_>) -> String {
    let theme = match (drawing.color, drawing.unicode) {
        (true, _) => GraphicalTheme::unicode(),
        (false, true) => GraphicalTheme::unicode_nocolor(),
        (false, false) => GraphicalTheme::none(),
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(drawing.width);
    let file =
        files.get(usize::from(diagnostic.span.file.0)).filter(|_| !is_whole(diagnostic.span));
    // What a terminal would obey is no part of what is shown, wherever it comes from.
    let source = file.map(|it| NamedSource::new(escaped(&it.path), masked(&it.text).into_owned()));
    let diagnostic = &shown(diagnostic);
    let mut text = String::new();
    // A `String` takes all that is written.
    let _ = handler.render_report(&mut text, &Shown { diagnostic, source });
    for label in diagnostic.elsewhere() {
        if let Some(Place { path, line, column }) = place(files, label.span) {
            let place = (drawing.dim)(&format!("{}:{line}:{column}:", escaped(&path)));
            text.push_str(&format!("  {place} {}\n", label.text));
        }
    }
    text
}

/// A message with its texts as they may be printed.
fn shown(it: &Diagnostic) -> Diagnostic {
    let mut shown = it.clone();
    let labels = shown.labels.iter_mut().map(|it| &mut it.text);
    let own = [&mut shown.message, &mut shown.label].into_iter();
    for text in own.chain(&mut shown.help).chain(labels) {
        *text = escaped(text).into_owned();
    }
    shown
}

/// Whether a message is about a file, rather than a place in it.
fn is_whole(span: Span) -> bool {
    span.start == 0 && span.end == 0
}

/// A message with the text that it is about.
#[derive(Debug)]
struct Shown<'a> {
    diagnostic: &'a Diagnostic,
    source: Option<NamedSource<String>>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic.fmt(f)
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.diagnostic.code()
    }

    fn severity(&self) -> Option<miette::Severity> {
        miette::Diagnostic::severity(self.diagnostic)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        miette::Diagnostic::help(self.diagnostic)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.source.as_ref().map(|it| it as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        self.source.as_ref().and_then(|_| miette::Diagnostic::labels(self.diagnostic))
    }
}
