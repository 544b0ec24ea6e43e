//! Writes down where a run stands, while it runs and when it ends.
//!
//! What a state counts is on the disk before the state is: the sink is asked to bring it there, beside
//! the run, and the place that belongs to it is written when it says that it has. Until then the file
//! keeps an earlier place, from which the run can go on as well.

use crate::session::{
    quarantine::Quarantine,
    sink::{Sink, Written},
    state::{Identity, Progressed, StateFile, StateLock},
};
use runtime::{Failure, Position};
use std::time::Instant;

/// Keeps the state of a run in a file.
pub(super) struct Saver {
    file: StateFile,
    lock: StateLock,
    identity: Identity,
    /// What tells of the records that were lost up to a place.
    quarantine: Option<Quarantine>,
    /// When the file was written last; not yet, where it is none.
    written_at: Option<Instant>,
    /// Where the run stands, if the file does not say so yet.
    newest: Option<Stand>,
    /// Where it stood when what is written was begun to be brought to the disk.
    syncing: Option<Stand>,
}

/// A place of a run up to which all is where it belongs.
struct Stand {
    position: Position,
    written: Written,
}

impl Saver {
    pub(super) fn new(
        (file, lock): (StateFile, StateLock),
        identity: Identity,
        quarantine: Option<Quarantine>,
    ) -> Self {
        let (written_at, newest, syncing) = (None, None, None);
        Self { file, lock, identity, quarantine, written_at, newest, syncing }
    }

    /// Takes note that the run stands at `position`, and writes down what it is time to.
    pub(super) fn stand(&mut self, position: Position, sink: &mut dyn Sink) -> Result<(), Failure> {
        self.newest = Some(Stand { position, written: sink.written() });
        // A sink that has nothing to bring to the disk is ready as soon as it was asked.
        for _ in 0..2 {
            let synced = sink.synced()?;
            let is_safe = |it: &mut Stand| it.written.files <= synced.files;
            if let Some(stand) = self.syncing.take_if(is_safe) {
                self.write(&stand)?;
            }
            let is_due = self.written_at.is_none_or(|it| it.elapsed() >= self.file.every);
            if self.syncing.is_none() && is_due {
                self.syncing = self.newest.take();
            }
            if self.syncing.is_some() {
                sink.sync()?;
            }
        }
        Ok(())
    }

    /// Writes down what the file does not say yet, when all of it is on the disk.
    pub(super) fn save(&mut self, sink: &mut dyn Sink) -> Result<(), Failure> {
        let before = self.syncing.take();
        let Some(stand) = self.newest.take().or(before) else { return Ok(()) };
        sink.settle()?;
        self.write(&stand)
    }

    fn write(&mut self, Stand { position, written }: &Stand) -> Result<(), Failure> {
        self.quarantine.as_ref().map_or(Ok(()), Quarantine::sync)?;
        let Written { outputs, files } = *written;
        let progressed = Progressed { position, outputs, written: files };
        self.identity.state(&progressed).write(&self.file.path, &mut self.lock)?;
        self.written_at = Some(Instant::now());
        Ok(())
    }
}
