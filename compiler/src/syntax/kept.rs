//! Pieces that were read before: who types in one declaration changes no other.

use crate::ast::{Declaration, shift};
use plan::FileId;
use std::collections::HashMap;

/// What was read before, so that it need not be read again; for one file that is read over and over.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// Declarations about which nothing is to be said, by their texts, as if each began its file.
    pieces: HashMap<String, Declaration>,
    /// Those that the last text had.
    now: HashMap<String, Declaration>,
}

impl Kept {
    /// Another text begins.
    pub(super) fn begin(&mut self) {
        self.pieces = std::mem::take(&mut self.now);
    }

    /// The declaration that a piece is, where it was read before.
    pub(super) fn read(&mut self, piece: &str, file: FileId, start: usize) -> Option<Declaration> {
        let mut it = match self.now.get(piece) {
            Some(it) => it.clone(),
            None => {
                let it = self.pieces.remove(piece)?;
                self.now.insert(piece.to_owned(), it.clone());
                it
            }
        };
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        shift::declaration(&mut it, &mut |span| {
            (span.file, span.start, span.end) = (file, span.start + start, span.end + start);
        });
        Some(it)
    }

    /// Remembers what a piece is.
    pub(super) fn keep(&mut self, piece: &str, start: usize, it: &Declaration) {
        let mut it = it.clone();
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        shift::declaration(&mut it, &mut |span| {
            (span.file, span.start, span.end) =
                (FileId::default(), span.start - start, span.end - start);
        });
        self.now.insert(piece.to_owned(), it);
    }
}
