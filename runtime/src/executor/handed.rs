//! What the consumer was given and has not let go of: memory that no task can get back, and so worth a
//! word where a run ends for want of it.

use crate::{Buffer, Chunk, Failure};
use plan::{shown_bytes, things};
use std::sync::Weak;

/// Chunks that are looked through for those that nobody has any more, at the least.
const LOOKED_MIN: usize = 64;
/// Chunks that a consumer has which lets go of one when it gets the next.
const USUAL: usize = 2;

/// The chunks that were handed out, as long as somebody has them.
#[derive(Debug, Default)]
pub(super) struct Handed {
    all: Vec<Given>,
    /// Those that nobody has go when there are so many.
    most: usize,
}

#[derive(Debug)]
struct Given {
    rows: usize,
    bytes: usize,
    /// The memory of its columns, which goes with the last view of it.
    values: Vec<Weak<Buffer>>,
}

impl Given {
    fn is_held(&self) -> bool {
        self.values.iter().any(|it| it.strong_count() > 0)
    }
}

impl Handed {
    /// Takes note of a chunk that the consumer gets.
    pub(super) fn add(&mut self, chunk: &Chunk) {
        if self.all.len() >= self.most.max(LOOKED_MIN) {
            self.all.retain(Given::is_held);
            self.most = 2 * self.all.len();
        }
        let values = chunk.columns.iter().map(|it| it.memory()).collect();
        self.all.push(Given { rows: chunk.rows, bytes: chunk.bytes(), values });
    }

    /// The failure, which also says what the consumer has where that is more than it needs at a time.
    pub(super) fn named(&self, failure: Failure, (one, many): (&str, &str)) -> Failure {
        let held: Vec<&Given> = self.all.iter().filter(|it| it.is_held()).collect();
        match failure {
            Failure::Memory { label, detail } if held.len() > USUAL => {
                let rows: usize = held.iter().map(|it| it.rows).sum();
                let bytes: usize = held.iter().map(|it| it.bytes).sum();
                let what = things(rows as u64, one, many);
                let bytes = shown_bytes(bytes as u64);
                let detail = format!(
                    "{detail}. The consumer still holds {what} ({bytes}): that memory is freed \
                     when they are dropped"
                );
                Failure::Memory { label, detail }
            }
            other => other,
        }
    }
}
