//! Records of a source that were found in order, and are read by any worker.

use super::{
    node::{Left, Parcel},
    position::At,
    supply::{Laps, Supply, Taking},
};
use crate::{Buffer, Chunk, Column, Failure, Shape, Stream, Unread};
use plan::DType;
use std::sync::Arc;

/// Those of a chunk.
pub(super) struct Found {
    supply: Arc<Supply>,
    pieces: Pieces,
    laps: Laps,
    epoch: u32,
}

/// What a stream has found, in order.
#[derive(Default)]
pub(super) struct Pieces {
    all: Vec<Box<dyn Unread>>,
    rows: usize,
}

impl Taking for Pieces {
    fn rows(&self) -> usize {
        self.rows
    }

    fn take(&mut self, stream: &mut dyn Stream, rows: usize) -> Result<(), Failure> {
        let found = stream.find(rows)?;
        self.rows += found.as_ref().map_or(0, |it| it.len());
        self.all.extend(found);
        Ok(())
    }
}

impl Found {
    pub(super) fn new(supply: Arc<Supply>, pieces: Pieces, (laps, epoch): (Laps, u32)) -> Self {
        Self { supply, pieces, laps, epoch }
    }

    /// A chunk of so many records, of which nothing is there yet.
    pub(super) fn into_parcel(self) -> Parcel {
        let (rows, epoch) = (self.pieces.rows, self.epoch);
        let nothing = Arc::new(Buffer::of(0));
        let ids = Column::fixed(DType::U64, Shape::new(&[]), 0, nothing);
        let chunk = Chunk { rows, epoch, ids, columns: Vec::new() };
        let bytes = self.pieces.all.iter().map(|it| it.bytes()).sum();
        Parcel { chunk, bytes, at: At::start(), batch: None, left: Some(Left::Found(self.into())) }
    }

    /// Reads them, up to the first that ends the run.
    pub(super) fn read(&self) -> Result<(Chunk, Option<Failure>), Failure> {
        let mut out = self.supply.builder(self.pieces.rows, self.epoch);
        let read = self.pieces.all.iter().try_for_each(|it| it.read(&mut out));
        out.truncate(out.rows());
        let (found, asked) = (out.rows(), self.pieces.rows);
        if read.is_ok() && found != asked {
            let detail =
                format!("a source returned {found} of {asked} records; this is a bug in pipec");
            return Err(Failure::Program(detail));
        }
        Ok((self.supply.as_copies(out.finish(), &self.laps), read.err()))
    }
}
