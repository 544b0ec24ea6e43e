//! The one form of a program: `pipec fmt`.
//!
//! Four columns a step, 120 a line. What fits on a line stands on one, except where the author broke a chain
//! before a `|>`, or a record or a list behind its opening bracket: then each stage, entry or element has its
//! own line, and the values of a record stand below each other. Comments and single blank lines stay.

mod comments;
mod declare;
mod doc;
mod expr;

use plan::{Diagnostic, FileId};

use crate::ast::{self, Declaration};
use crate::syntax::parse;
use comments::{Comment, Comments};
use doc::{Doc, note, row, text};

/// A program in its one form; formatting it again changes nothing, and it means what it meant.
///
/// # Errors
/// All messages about the text, if one of them is a mistake: such a text stays as it is.
pub fn format(source: &str) -> Result<String, Vec<Diagnostic>> {
    let (file, messages) = parse(source, FileId::default());
    if messages.iter().any(Diagnostic::is_error) {
        return Err(messages);
    }
    let mut page = Page {
        builder: Builder { comments: Comments::of(source), tight: false },
        out: String::new(),
        end: 0,
    };
    page.file(&file, source.len());
    Ok(page.out)
}

/// What turns a tree into text that does not know its lines yet, taking comments as it passes them.
struct Builder<'t> {
    comments: Comments<'t>,
    /// Inside an interval or a slice signs have no spaces around them: `3/4..4/3`.
    tight: bool,
}

/// The declarations below each other.
struct Page<'t> {
    builder: Builder<'t>,
    out: String,
    /// The byte of the source where what was printed last ends.
    end: usize,
}

impl Page<'_> {
    fn file(&mut self, file: &ast::File, len: usize) {
        if let Some(edition) = file.edition {
            self.comments_above(edition.span.start as usize);
            self.print(
                edition.span.start as usize,
                text(format!("edition {}", edition.year)),
                edition.span.end,
            );
        }
        for declaration in &file.declarations {
            self.declaration(declaration, len);
        }
        self.comments_above(len);
    }

    fn declaration(&mut self, it: &Declaration, len: usize) {
        let start = it.docs.first().map_or(it.span.start, |doc| doc.span.start) as usize;
        self.comments_above(start);
        let blank = self.builder.comments.blank(self.end, start);

        // Comments among the docs, then the declaration, then comments that found no place inside it.
        let mut above: Vec<(usize, String)> =
            it.docs.iter().map(|doc| (doc.span.start as usize, described(&doc.text))).collect();
        let among = self.builder.comments.until(it.span.start as usize);
        above.extend(among.into_iter().map(|it| (it.start, it.text)));
        let declared = self.builder.declaration(&it.kind);
        let line_end = self.builder.comments.line_end(it.span.end as usize, len);
        let (lost, behind): (Vec<_>, Vec<_>) =
            self.builder.comments.until(line_end).into_iter().partition(|comment| comment.alone);
        above.extend(lost.into_iter().map(|it| (it.start, it.text)));
        above.sort_by_key(|it| it.0);

        self.blank_line(blank);
        for (_, line) in above {
            self.out.push_str(&line);
            self.out.push('\n');
        }
        let notes = behind.into_iter().map(|it| note(Comment::note(it)));
        self.out.push_str(&doc::print(&row(std::iter::once(declared).chain(notes))));
        self.end = it.span.end as usize;
    }

    /// Prints what stands at the margin and nothing can be said about but comments behind it.
    fn print(&mut self, start: usize, doc: Doc, end: u32) {
        let blank = self.builder.comments.blank(self.end, start);
        self.blank_line(blank);
        let line_end = self.builder.comments.line_end(end as usize, usize::MAX);
        let notes =
            self.builder.comments.until(line_end).into_iter().map(|it| note(Comment::note(it)));
        self.out.push_str(&doc::print(&row(std::iter::once(doc).chain(notes))));
        self.end = end as usize;
    }

    /// The comments before the byte `start`, each on its line.
    fn comments_above(&mut self, start: usize) {
        for comment in self.builder.comments.until(start) {
            let blank = self.builder.comments.blank(self.end, comment.start);
            self.blank_line(blank);
            self.out.push_str(&comment.text);
            self.out.push('\n');
            self.end = comment.start;
        }
    }

    fn blank_line(&mut self, blank: bool) {
        if blank && !self.out.is_empty() {
            self.out.push('\n');
        }
    }
}

fn described(doc: &str) -> String {
    if doc.is_empty() { "##".to_owned() } else { format!("## {doc}") }
}

#[cfg(test)]
mod tests;
