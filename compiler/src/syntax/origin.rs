//! Where a byte of a mended text stood in the text that was written.

use std::ops::Range;

use plan::{FileId, Span};

/// A change to a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// What goes, in bytes of the text as it is before this change.
    pub(crate) at: Range<usize>,
    /// What comes.
    pub(crate) text: String,
}

impl Edit {
    /// Puts `text` in the place of the bytes `at`.
    pub(crate) fn new(at: Range<usize>, text: impl Into<String>) -> Self {
        Self { at, text: text.into() }
    }

    /// The text with this change.
    pub(crate) fn applied(&self, text: &str) -> String {
        [&text[..self.at.start], &self.text, &text[self.at.end..]].concat()
    }

    /// Where a byte of the changed text stood before.
    pub(crate) fn before(&self, at: usize) -> usize {
        let end = self.at.start + self.text.len();
        match at {
            _ if at <= self.at.start => at,
            _ if at >= end => at - end + self.at.end,
            _ => at.min(self.at.end),
        }
    }
}

/// A piece of a file, and the changes made to it since, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    file: FileId,
    start: usize,
    edits: Vec<Edit>,
}

impl Origin {
    /// The piece that begins `start` bytes into `file`.
    pub(crate) fn new(file: FileId, start: usize) -> Self {
        Self { file, start, edits: Vec::new() }
    }

    /// After one more change.
    pub(crate) fn edited(&self, edit: Edit) -> Self {
        let mut changed = self.clone();
        changed.edits.push(edit);
        changed
    }

    /// The bytes of the mended piece, as a place in the file.
    pub(crate) fn span(&self, at: Range<usize>) -> Span {
        Span::new(self.file, self.byte(at.start), self.byte(at.end))
    }

    /// Where the piece begins in its file.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    fn byte(&self, at: usize) -> u32 {
        let written = self.edits.iter().rev().fold(at, |at, edit| edit.before(at));
        u32::try_from(self.start + written).expect("a source has at most a mebibyte")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_a_mended_text_are_places_in_the_written_one() {
        let written = "f(p=0.5) && g";
        let first = Edit::new(3..4, ": ");
        let mended = first.applied(written);
        let second = Edit::new(10..12, "and");
        assert_eq!(second.applied(&mended), "f(p: 0.5) and g");
        let origin = Origin::new(FileId(2), 100).edited(first).edited(second);
        assert_eq!(origin.span(14..15), Span::new(FileId(2), 112, 113));
        assert_eq!(origin.span(2..8), Span::new(FileId(2), 102, 107));
    }
}
