//! The comments of a text, in order, until someone takes them.

use plan::Span;

use super::doc::Note;
use crate::syntax::tokens;

/// A comment that the grammar did not see.
#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub(super) text: String,
    /// Its first byte.
    pub(super) start: usize,
    /// Nothing stands left of it on its line.
    pub(super) alone: bool,
    column: usize,
}

impl Comment {
    /// As it stands at the end of a line.
    pub(super) fn note(self) -> Note {
        Note { text: self.text, column: self.column }
    }
}

/// The comments that nobody has taken yet.
#[derive(Debug)]
pub(super) struct Comments<'t> {
    source: &'t str,
    waiting: std::iter::Peekable<std::vec::IntoIter<Comment>>,
}

/// Comments between two things: those behind the first one, and those above the second one.
#[derive(Debug, Default)]
pub(super) struct Between {
    pub(super) behind: Vec<Note>,
    pub(super) above: Vec<String>,
}

impl Between {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.behind.is_empty() && self.above.is_empty()
    }
}

impl<'t> Comments<'t> {
    /// All comments of a text that the grammar reads.
    pub(super) fn of(source: &'t str) -> Self {
        let tokens = tokens::tokens(source).0.into_iter().filter(tokens::Token::is_comment);
        let comment = |it: tokens::Token| {
            let line = source[..it.start].rfind('\n').map_or(0, |at| at + 1);
            let column = source[line..it.start].chars().count();
            Comment { text: it.of(source).to_owned(), start: it.start, alone: it.first, column }
        };
        Self { source, waiting: tokens.map(comment).collect::<Vec<_>>().into_iter().peekable() }
    }

    /// Takes those that begin before the byte `end`.
    pub(super) fn until(&mut self, end: usize) -> Vec<Comment> {
        let mut taken = Vec::new();
        while let Some(comment) = self.waiting.next_if(|it| it.start < end) {
            taken.push(comment);
        }
        taken
    }

    /// Takes those that stand before `next`.
    pub(super) fn before(&mut self, next: Span) -> Between {
        let mut between = Between::default();
        for comment in self.until(next.start as usize) {
            if comment.alone {
                between.above.push(comment.text);
            } else {
                between.behind.push(comment.note());
            }
        }
        between
    }

    /// Whether the line breaks in the bytes `start..end`.
    pub(super) fn breaks(&self, start: usize, end: usize) -> bool {
        self.source.get(start..end).is_some_and(|it| it.contains('\n'))
    }

    /// Whether a blank line stands among the bytes `start..end`.
    pub(super) fn blank(&self, start: usize, end: usize) -> bool {
        let lines: Vec<_> = self.source.get(start..end).unwrap_or("").split('\n').collect();
        lines.len() > 2 && lines[1..lines.len() - 1].iter().any(|it| it.trim().is_empty())
    }

    /// Where the line of the byte `at` ends, but not beyond `most`.
    pub(super) fn line_end(&self, at: usize, most: usize) -> usize {
        self.source[at..].find('\n').map_or(self.source.len(), |len| at + len).min(most)
    }

    /// One past the next `)` behind the byte `at`, outside comments.
    pub(super) fn closed(&self, at: u32) -> u32 {
        let mut end = at;
        for line in self.source[at as usize..].split_inclusive('\n') {
            let code = line.find('#').map_or(line, |len| &line[..len]);
            let found = code.find(')').map(|len| len + 1);
            end += u32::try_from(found.unwrap_or(line.len()))
                .expect("a source has at most a mebibyte");
            if found.is_some() {
                break;
            }
        }
        end
    }
}
