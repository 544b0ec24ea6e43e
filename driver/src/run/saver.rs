//! Writes down where a run stands, while it runs and when it ends.

use crate::{
    Written,
    state::{Identity, Progressed, StateFile, StateLock},
};
use runtime::{Failure, Position};
use std::time::Instant;

/// Keeps the state of a run in a file.
pub(super) struct Saver {
    file: StateFile,
    lock: StateLock,
    identity: Identity,
    /// When the file was written last; not yet, where it is none.
    written_at: Option<Instant>,
    /// Where the run stands, if the file does not say so yet.
    unsaved: Option<Stand>,
}

/// A place of a run up to which all is where it belongs.
struct Stand {
    position: Position,
    written: Written,
}

impl Saver {
    pub(super) fn new((file, lock): (StateFile, StateLock), identity: Identity) -> Self {
        Self { file, lock, identity, written_at: None, unsaved: None }
    }

    /// Takes note that the run stands at `position`, and writes it down if it is time to.
    pub(super) fn stand(&mut self, position: Position, written: Written) -> Result<(), Failure> {
        self.unsaved = Some(Stand { position, written });
        let is_due = self.written_at.is_none_or(|it| it.elapsed() >= self.file.every);
        if is_due { self.save() } else { Ok(()) }
    }

    /// Writes down what the file does not say yet.
    pub(super) fn save(&mut self) -> Result<(), Failure> {
        let Some(Stand { position, written }) = self.unsaved.take() else { return Ok(()) };
        let Written { outputs, files } = written;
        let progressed = Progressed { position: &position, outputs, written: files };
        self.identity.state(&progressed).write(&self.file.path, &mut self.lock)?;
        self.written_at = Some(Instant::now());
        Ok(())
    }
}
