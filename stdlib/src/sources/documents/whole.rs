//! Files that are one document each, as they are or compressed.

use super::{super::listed::Listed, FAULT, changed};
use crate::{prelude::*, records::whole_text};
use runtime::{Fingerprint, Source, Stream};
use std::sync::Arc;

pub(super) struct WholeFiles(Arc<Files>);

struct Files {
    listed: Listed,
    /// Which columns are that of what is wrong; the others are the text.
    is_fault: Vec<bool>,
    faults: bool,
    place: u64,
}

impl WholeFiles {
    pub(super) fn new(listed: Listed, (columns, faults): (&[Field], bool), place: u64) -> Self {
        let is_fault = columns.iter().map(|it| it.name == FAULT).collect();
        Self(Arc::new(Files { listed, is_fault, faults, place }))
    }
}

impl Files {
    fn len(&self) -> Result<u64, Failure> {
        self.listed.len()
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        let (found, mut scratch) = (self.listed.found()?, String::new());
        let is_needed = self.is_fault.contains(&false);
        for &number in numbers {
            let path = found.path(number as usize);
            let text = if is_needed { whole_text(&path) } else { Ok(Vec::new()) };
            let (text, told) = match text {
                Ok(text) => (text, String::new()),
                Err(why) if self.faults => (Vec::new(), format!("{}: {why}", path.display())),
                Err(detail) => {
                    return Err(Failure::Io { path: path.display().to_string(), detail });
                }
            };
            out.ids.push_scalar(found.id(self.place, number as usize, &mut scratch));
            for (is_fault, to) in self.is_fault.iter().zip(&mut out.columns) {
                to.push_text(if *is_fault { told.as_bytes() } else { &text });
            }
        }
        Ok(())
    }
}

impl Source for WholeFiles {
    fn len(&self) -> Result<u64, Failure> {
        self.0.len()
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        self.0.fetch(numbers, out)
    }

    fn stream(&self) -> Option<Box<dyn Stream>> {
        Some(Box::new(InOrder { files: self.0.clone(), next: 0 }))
    }

    fn fingerprint(&self) -> Result<Option<Fingerprint>, Failure> {
        self.0.listed.fingerprint().map(Some)
    }

    fn waits(&self) -> bool {
        true
    }

    fn describe(&self, number: u64) -> String {
        self.0.listed.describe(number)
    }
}

/// The files from one on.
struct InOrder {
    files: Arc<Files>,
    next: u64,
}

impl Stream for InOrder {
    fn next(&mut self, rows: usize, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let end = self.files.len()?.min(self.next.saturating_add(rows as u64));
        while self.next < end {
            self.files.fetch(&[self.next], out)?;
            self.next += 1;
        }
        Ok(())
    }

    fn place(&self) -> Option<Vec<u64>> {
        Some(vec![self.next])
    }

    fn go_to(&mut self, place: &[u64]) -> Result<(), Failure> {
        let len = self.files.len()?;
        match place {
            [next] if *next <= len => self.next = *next,
            _ => return Err(changed()),
        }
        Ok(())
    }
}
