//! Parts of values, made without the whole.

use super::{
    machine::{Machine, Stop, Subject, Value, value},
    nodes::{Node, Straight, Tap},
};
use crate::{
    CacheKey, Out, Scratch, SideIndex, Tensor,
    cache::{Found, key_of},
};
use plan::{DType, ExprId, IdVec, Index};

impl Machine {
    /// Whether a part of `whole` is made without it: it is not there, and nobody would keep it; or it
    /// is faulty, and what is used of it may not be.
    pub(super) fn goes_straight(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        (subject, row): (Subject<'_>, usize),
        straight: &Straight,
    ) -> bool {
        let whole = straight.whole;
        if let Some(found) = self.found(whole) {
            return found.is_err();
        }
        let Some(tap) = nodes[whole].tap.get() else { return true };
        if tap.cache.is_full() {
            let key = key_of(subject.chunk, row, (tap.name, &tap.key));
            if !tap.cache.has(key) {
                // What is asked of it beforehand is not another value.
                if straight.is_part {
                    tap.cache.passes_by();
                }
                return true;
            }
        }
        self.find(nodes, subject, whole).is_err()
    }

    /// Makes the part of a value that is not made, or answers what is asked of it. The time of the part
    /// is that of the whole, in whose place it is.
    pub(super) fn go_straight(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        subject: Subject<'_>,
        (id, straight): (ExprId, &Straight),
    ) -> Result<Value, Stop> {
        let is_timed = straight.is_part && self.timing.is_on();
        let outer = is_timed.then(|| self.timing.begin());
        let taken = self.registers[id.row()].scratch.take();
        let mut scratch = taken.expect("a node does not need itself");
        let out = &mut Out::grow(&mut scratch);
        let written = match (straight.index.get(), subject.row) {
            (Some(tap), Some(row)) => self.with_index(nodes, (subject, row), (straight, tap), out),
            _ => self.call(nodes, subject, &straight.call, out),
        };
        // SAFETY: the memory goes back to the register of the node, which was just written.
        let made = written.map(|()| unsafe { value(scratch.tensor()) });
        self.registers[id.row()].scratch = Some(scratch);
        if let Some(outer) = outer {
            self.timing.end(straight.whole, outer, self.bytes_of(straight));
        }
        made
    }

    /// Makes the part with the index that is kept, or makes that too.
    fn with_index(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        (subject, row): (Subject<'_>, usize),
        (straight, tap): (&Straight, &Tap),
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let key = key_of(subject.chunk, row, (tap.name, &tap.key));
        let mut room = self.index.take().unwrap_or_default();
        if let Some(known) = index_of((tap, key), &mut room) {
            let index = SideIndex::Known(known.as_text());
            let written = self.call_indexed(nodes, subject, (&straight.call, index), out);
            self.index = Some(room);
            return written;
        }
        self.index = Some(room);
        if tap.cache.is_full() {
            return self.call(nodes, subject, &straight.call, out);
        }
        let mut made = Vec::new();
        let index = SideIndex::Wanted(&mut made);
        self.call_indexed(nodes, subject, (&straight.call, index), out)?;
        // Where none can be made, that is what is known.
        tap.cache.insert(key, &Tensor::text(DType::Bytes, &made));
        Ok(())
    }

    /// Bytes that the whole would have; 0 where that is not known.
    fn bytes_of(&self, straight: &Straight) -> usize {
        let extent = |it: &ExprId| usize::try_from(self.found(*it)?.as_ref().ok()?.int()).ok();
        let all: Option<usize> = straight.extents.iter().map(extent).product();
        all.map_or(0, |it| it * straight.bytes)
    }
}

/// An index that is kept, in memory or on disk; that is read into `room`. The register of the whole would not do: what is
/// kept changes while other processes fill a cache, so that an argument of the part may find the whole meanwhile.
fn index_of<'a>((tap, key): (&'a Tap, CacheKey), room: &'a mut Scratch) -> Option<Tensor<'a>> {
    match tap.cache.find(key) {
        Some(Found::Plain(found)) => return Some(found),
        Some(Found::Encoded(found)) => {
            return found.write(&mut Out::grow(room)).then(|| room.tensor());
        }
        None => {}
    }
    if !tap.cache.store()?.read(key, &mut Out::grow(room)) {
        return None;
    }
    let found = room.tensor();
    tap.cache.found_on_disk(key, &found);
    Some(found)
}
