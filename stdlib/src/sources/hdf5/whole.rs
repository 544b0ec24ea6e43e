//! HDF5 files as records: their paths, and nothing of them is read before a type is said.

use super::{FAULT, Listed};
use crate::prelude::*;
use runtime::{Fingerprint, Interleave, Permutation, Source, SourceCall, Stream};
use std::sync::Arc;

/// A source of files.
#[derive(Clone)]
pub(super) struct Whole {
    listed: Arc<Listed>,
    place: u64,
    /// For each column, whether it is the one that says what is wrong with a record.
    faults: Vec<bool>,
}

impl Whole {
    pub(super) fn new(listed: Listed, call: &SourceCall<'_>) -> Self {
        let faults = call.columns.iter().map(|it| it.name == FAULT).collect();
        Self { listed: Arc::new(listed), place: call.place, faults }
    }
}

impl Source for Whole {
    fn len(&self) -> Result<u64, Failure> {
        self.listed.len()
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        let (found, mut text) = (self.listed.found()?, String::new());
        for &number in numbers {
            out.ids.push_scalar(found.id(self.place, number as usize, &mut text));
            for (is_fault, column) in self.faults.iter().zip(&mut out.columns) {
                text.clear();
                if !is_fault {
                    found.listing.path(number as usize, &mut text);
                }
                column.push_text(text.as_bytes());
            }
        }
        Ok(())
    }

    /// Each file is a span of one record.
    fn interleaved(&self, order: Interleave) -> Option<Box<dyn Stream>> {
        Some(Box::new(Drawn { of: self.clone(), key: order.key, given: 0 }))
    }

    fn fingerprint(&self) -> Result<Option<Fingerprint>, Failure> {
        self.listed.fingerprint().map(Some)
    }

    fn contents(&self) -> Result<Option<u128>, Failure> {
        self.listed.contents().map(Some)
    }

    fn describe(&self, number: u64) -> String {
        self.listed.describe(number)
    }

    fn classes(&self) -> &[String] {
        self.listed.classes()
    }
}

/// Files in a drawn order: of spans of one record each, all that are open give theirs in the order in which they were opened.
struct Drawn {
    of: Whole,
    key: u64,
    given: u64,
}

impl Stream for Drawn {
    fn next(&mut self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let n = self.of.len()?;
        let order = Permutation::new(n, self.key);
        let end = n.min(self.given.saturating_add(rows as u64));
        let numbers: Vec<u64> = (self.given..end).map(|it| order.at(it)).collect();
        self.given = end;
        self.of.fetch(&numbers, out)
    }

    fn place(&self) -> Option<Vec<u64>> {
        Some(vec![self.given])
    }

    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        match place {
            [given] if *given <= self.of.len()? => {
                self.given = *given;
                Ok(())
            }
            _ => Err(Failure::State("there are fewer files than the state says".to_owned())),
        }
    }
}
