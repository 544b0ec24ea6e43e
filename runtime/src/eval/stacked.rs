//! What `[… for …]` makes: the turns of a loop as one tensor.

use super::machine::{Stop, Value};
use crate::{Counted, Fault, Out, Shape, storage};
use plan::DType;

/// The turns of a loop, one after the other.
pub(super) struct Stacked {
    turns: usize,
    /// The first extent of all of them together: turns, or rows of the turns that are joined.
    count: usize,
    joined: bool,
    /// Dtype and extents of a turn, without the axis along which turns are joined.
    like: Option<(DType, Shape)>,
    bytes: Counted<u8>,
}

impl Stacked {
    pub(super) fn new(turns: usize, joined: bool) -> Self {
        let count = if joined { 0 } else { turns };
        Self { turns, count, joined, like: None, bytes: Counted::new() }
    }

    pub(super) fn push(&mut self, value: &Value) -> Result<(), Fault> {
        let extents = value.shape();
        let inner = if self.joined { &extents[1..] } else { extents };
        let shape = Shape::new(inner);
        let (_, first) = *self.like.get_or_insert((value.dtype(), shape));
        if first != shape {
            let (what, verb) =
                if self.joined { ("rows", "be joined") } else { ("elements", "be stacked") };
            let detail = format!("{what} with the extents {first:?} and {shape:?} cannot {verb}");
            return Err(Fault::new("extents", detail));
        }
        if self.joined {
            self.count += extents[0];
        }
        let start = self.bytes.len();
        // Turns without elements are bounded, too.
        if (start + value.bytes()).max(self.turns) > crate::VALUE_BYTES_MAX {
            return Err(Fault::new("too-large", format!("{} elements are too many", self.turns)));
        }
        self.bytes.reserve(value.bytes());
        self.bytes.resize(start + value.bytes(), 0);
        value.copy_to(&mut self.bytes[start..]);
        Ok(())
    }

    pub(super) fn write(
        self,
        fixed: Option<(DType, Shape)>,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let Some((dtype, shape)) = self.like.or(fixed) else {
            return Err(Fault::new("empty", "an empty list has no extents of its own").into());
        };
        let extents: Vec<usize> = [self.count].iter().chain(shape.iter()).copied().collect();
        out.room(dtype, Shape::new(&extents))?.copy_from_slice(&self.bytes);
        Ok(())
    }
}

/// Leaves a loop, now and then, if its run was stopped: nobody looks at what becomes of the record.
pub(super) fn unless_given_up(turn: i64) -> Result<(), Stop> {
    const TURNS: i64 = 256;
    match turn % TURNS == TURNS - 1 && storage::is_given_up() {
        true => Err(Fault::new("stopped", "the run was stopped").into()),
        false => Ok(()),
    }
}
