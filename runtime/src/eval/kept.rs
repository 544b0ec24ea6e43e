//! Values that are kept: found in memory, on disk, in what came along, or computed.

use super::{
    machine::{Machine, Stop, Subject, Value, value},
    nodes::{Node, Tap},
};
use crate::{
    CacheKey, Out, Store, Tensor,
    cache::{Found, key_of},
};
use plan::{ExprId, IdVec, Index, parts::Keep};

impl Machine {
    /// A value that is kept from epoch to epoch, or that only such a one needs.
    pub(super) fn through(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        (subject, row): (Subject<'_>, usize),
        id: ExprId,
        tap: &Tap,
    ) -> Result<Value, Stop> {
        let key = key_of(subject.chunk, row, (tap.name, &tap.key));
        if tap.is_spared {
            return match self.instead(nodes, id, (tap, key)) {
                Some(found) => Ok(found),
                None => self.compute_anew(nodes, subject, id),
            };
        }
        match tap.cache.find(key) {
            // SAFETY: the node's tap holds the cache, and what is in it stays.
            Some(Found::Plain(found)) => return Ok(unsafe { value(found) }),
            Some(Found::Encoded(found)) => {
                if let Some(found) = self.put(id, &mut |out| found.write(out)) {
                    return Ok(found);
                }
            }
            None => {}
        }
        if let Some(store) = tap.cache.store()
            && let Some(found) = self.stored(store, (subject, row), id, (tap, key))
        {
            tap.cache.found_on_disk(key, &found);
            return Ok(found);
        }
        let found = self.compute_anew(nodes, subject, id)?;
        tap.cache.insert(key, &found);
        Ok(found)
    }

    /// Writes what is on disk in place of a value that only a kept one needs where it is to lie; whether it was there. What is
    /// not is found as any other value.
    pub(super) fn carry_into(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        (subject, id): (Subject<'_>, ExprId),
        out: &mut Out<'_>,
    ) -> bool {
        let Some(tap) = nodes[id].tap.get().filter(|it| it.is_spared) else { return false };
        let (Some(store), Some(dtype), Some(row)) =
            (tap.cache.store(), nodes[id].dtype, subject.row)
        else {
            return false;
        };
        let key = key_of(subject.chunk, row, (tap.name, &tap.key));
        !tap.cache.contains(key) && store.carry(key, (dtype, tap.keep), out)
    }

    /// What stands for a value that only a kept one needs, where that one is known: nothing, if it
    /// is in memory; what is stored, if it is on disk.
    fn instead(
        &mut self,
        nodes: &IdVec<ExprId, Node>,
        id: ExprId,
        (tap, key): (&Tap, CacheKey),
    ) -> Option<Value> {
        let dtype = nodes[id].dtype?;
        if tap.cache.contains(key) {
            return Some(Tensor::text(dtype, &[]));
        }
        let store = tap.cache.store()?;
        self.put(id, &mut |out| store.carry(key, (dtype, tap.keep), out))
    }

    /// A value that is on disk: what was read of it in the stage before; where it lies, if the system holds it in memory;
    /// or it is read now.
    fn stored(
        &mut self,
        store: &Store,
        (subject, row): (Subject<'_>, usize),
        id: ExprId,
        (tap, key): (&Tap, CacheKey),
    ) -> Option<Value> {
        let came = tap.comes_in.map(|it| subject.chunk.columns[it as usize].row(row).as_text());
        let carried = came.and_then(|it| store.carried(key, it));
        let in_place = || if tap.keep == Keep::Value { store.in_place(key) } else { None };
        if let Some(carried) = carried.or_else(in_place) {
            return match carried.tensor() {
                // SAFETY: it lies in the column of the chunk that it came in, or in the store, which the node's tap holds.
                Some(found) => Some(unsafe { value(found) }),
                None => self.put(id, &mut |out| carried.copy(out)),
            };
        }
        // It may have been written since, or is not in memory any more.
        let found = self.put(id, &mut |out| store.read(key, out));
        if found.is_none() && came.is_some_and(|it| store.is_pointer(it)) {
            store.is_lost();
        }
        found
    }

    /// What `write` writes into the register of a node; none where it does not.
    pub(super) fn put(
        &mut self,
        id: ExprId,
        write: &mut dyn FnMut(&mut Out<'_>) -> bool,
    ) -> Option<Value> {
        let scratch = &mut self.registers[id.row()].scratch;
        let scratch = scratch.as_mut().expect("a node does not need itself");
        // SAFETY: it is the memory of the node's register, which was just written.
        write(&mut Out::grow(scratch)).then(|| unsafe { value(scratch.tensor()) })
    }
}
