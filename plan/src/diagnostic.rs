//! What is said to the author of a program: where it is, what is wrong there, what to do.
//!
//! A [`Diagnostic`] is a value: phases collect them, `pipec` prints them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A source file of a program: the file itself is 0, what it uses follows.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct FileId(pub u16);

/// A stretch of source text, in bytes: `start..end` of one file.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Span {
    /// The file that the bytes are counted in.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes `start..end` of `file`.
    #[must_use]
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// From the start of `self` to the end of `last`, which stands in the same file.
    #[must_use]
    pub fn to(self, last: Self) -> Self {
        Self { file: self.file, start: self.start.min(last.start), end: self.end.max(last.end) }
    }

    /// The empty stretch just after this one: where something is missing.
    #[must_use]
    pub fn after(self) -> Self {
        Self { start: self.end, ..self }
    }

    /// The empty stretch just before this one.
    #[must_use]
    pub fn before(self) -> Self {
        Self { end: self.start, ..self }
    }

    /// The bytes as a range, for slicing the text.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The spanned part of `source`, which is the text of this span's file; empty where it does not fit.
    #[must_use]
    pub fn text(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or("")
    }

    /// How many bytes it covers.
    #[must_use]
    pub fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether it covers no byte.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// The stable name of a kind of message: `PC0123 input-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct DiagnosticCode {
    /// `PC` and four digits; never given to another message.
    pub id: &'static str,
    /// The same in words, for people.
    pub name: &'static str,
}

impl fmt::Display for DiagnosticCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.name)
    }
}

/// A row of the tables of codes: a code and its long story, which `pipec explain PC0123` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CodeInfo {
    /// `PC` and four digits.
    pub id: &'static str,
    /// The same in words.
    pub name: &'static str,
    /// What it means, a wrong example and the right one.
    pub long: &'static str,
}

impl CodeInfo {
    /// The code without its story.
    #[must_use]
    pub const fn code(&self) -> DiagnosticCode {
        DiagnosticCode { id: self.id, name: self.name }
    }
}

/// Whether the program can be run all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The program is not run.
    Error,
    /// It is run, and probably not what was meant.
    Warning,
}

/// A marked stretch of text, and what is to be seen there; the text may be empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// The marked stretch.
    pub span: Span,
    /// A few words.
    pub text: String,
}

/// A change to the text that a machine may make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// What is replaced; empty to insert.
    pub span: Span,
    /// What is written there.
    pub replacement: String,
}

/// A message about a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Its kind.
    pub code: DiagnosticCode,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence, without a full stop, the user's words in backquotes.
    pub message: String,
    /// The smallest text that shows it.
    pub span: Span,
    /// What is to be seen at `span`; may be empty.
    pub label: String,
    /// Other places that matter, some perhaps in other files.
    pub labels: Vec<Label>,
    /// What to do.
    pub help: Option<String>,
    /// The same for a machine.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// A mistake, at `span`.
    #[must_use]
    pub fn error(code: DiagnosticCode, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            span,
            label: String::new(),
            labels: Vec::new(),
            help: None,
            fix: None,
        }
    }

    /// Something that is allowed and probably not meant, at `span`.
    #[must_use]
    pub fn warning(code: DiagnosticCode, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    /// Says what is to be seen at the span itself.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    /// Marks another place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Offers the change that mends it.
    #[must_use]
    pub fn fix(mut self, span: Span, replacement: impl Into<String>) -> Self {
        self.fix = Some(Fix { span, replacement: replacement.into() });
        self
    }

    /// Whether the program cannot be run.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The labels that stand in another file than the message: miette shows one file a message,
    /// so whoever prints shows these apart.
    pub fn elsewhere(&self) -> impl Iterator<Item = &Label> {
        self.labels.iter().filter(|it| it.span.file != self.span.file)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl miette::Diagnostic for Diagnostic {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|it| Box::new(it) as Box<dyn fmt::Display + 'a>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        let own =
            miette::LabeledSpan::new_primary_with_span(worded(&self.label), self.span.range());
        let here = self.labels.iter().filter(|it| it.span.file == self.span.file);
        let others =
            here.map(|it| miette::LabeledSpan::new_with_span(worded(&it.text), it.span.range()));
        Some(Box::new(std::iter::once(own).chain(others)))
    }
}

fn worded(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use miette::Diagnostic as _;

    const CODE: DiagnosticCode = DiagnosticCode { id: "PC0123", name: "input-type" };

    #[test]
    fn a_message_shows_the_labels_of_its_own_file_to_miette() {
        let at = Span::new(FileId(0), 3, 5);
        let far = Span::new(FileId(1), 0, 1);
        let found = Diagnostic::error(CODE, at, "`x` is odd")
            .label("here")
            .also(far, "there")
            .help("mend it");
        assert_eq!(found.code().map(|it| it.to_string()).as_deref(), Some("PC0123 input-type"));
        let labels: Vec<_> = found.labels().into_iter().flatten().collect();
        assert_eq!(labels.len(), 1);
        assert_eq!((labels[0].offset(), labels[0].len(), labels[0].label()), (3, 2, Some("here")));
        assert_eq!(found.elsewhere().count(), 1);
    }

    #[test]
    fn a_span_outside_its_text_is_empty_text() {
        assert_eq!(Span::new(FileId(0), 2, 9).text("abc"), "");
        assert_eq!(Span::new(FileId(0), 1, 3).text("abc"), "bc");
    }
}
