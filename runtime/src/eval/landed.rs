//! Objects of a far storage: read for all records of a chunk at once, before the first of them is computed, so that a
//! thread waits for many requests together. Whatever is not read so is read where it is needed.

use super::{
    Compiled,
    machine::{Machine, Subject},
    nodes::{Applied, Code, Node, Slot},
};
use crate::{
    Buffer, Chunk, Fault, Kernel, Out, Pool, Shape,
    cache::key_of,
    reads,
    storage::{self, Landing, ReadError, ReadWhole, Request, Seen, Storage, Waits},
};
use plan::{Expr, ExprId, Graph, IdVec, Index, Otherwise, Records};
use std::{
    path::Path,
    ptr,
    time::{Duration, Instant},
};

/// The values of a stage that are read from objects in any case, and how long it takes until such come.
#[derive(Default)]
pub(super) struct Reading {
    nodes: Vec<ExprId>,
    waits: Waits,
}

impl Reading {
    /// What a transform of these nodes reads.
    pub(super) fn of(nodes: &IdVec<ExprId, Node>, transform: &plan::Transform) -> Self {
        let needed = needed(&transform.graph, &first_asked(transform));
        let is_read = |it: &ExprId| {
            let node = &nodes[*it];
            let reads = matches!(&node.code, Code::Call(Applied { kernel: Kernel::Read(_), .. }));
            reads && node.vars.is_empty() && needed[it.row()]
        };
        let reads = transform.graph.iter().map(|it| it.0).filter(is_read);
        Self { nodes: reads.collect(), ..Self::default() }
    }
}

/// The values that are asked for first: where there are filters, the others depend on them.
fn first_asked(transform: &plan::Transform) -> Vec<ExprId> {
    match (transform.filters.first(), &transform.outputs) {
        (Some(filter), _) => vec![*filter],
        (None, Records::Listed(lists)) => lists.iter().flatten().copied().collect(),
        (None, Records::Counted { count, .. }) => vec![*count],
    }
}

/// Which nodes are found for every record, as long as none of them fails.
fn needed(graph: &Graph, roots: &[ExprId]) -> Vec<bool> {
    let mut needed = vec![false; graph.len()];
    let mut open = roots.to_vec();
    while let Some(id) = open.pop() {
        if std::mem::replace(&mut needed[id.row()], true) {
            continue;
        }
        match graph.expr(id) {
            Expr::Select(condition, ..) => open.push(*condition),
            Expr::Stack { count, .. } => open.push(*count),
            Expr::Else { value, otherwise: Otherwise::Value(_) | Otherwise::Policy(_) } => {
                open.push(*value);
            }
            expr => expr.needs(|it| open.push(it)),
        }
    }
    needed
}

/// What has come for the records of a chunk.
#[derive(Default)]
pub(super) struct Landed {
    /// For each record one for each of the nodes that are read; none where it was not asked for.
    all: Vec<Option<Object>>,
    nodes: Vec<ExprId>,
    /// The record that is computed; none where it is one of another chunk.
    row: Option<usize>,
}

/// An object that has come, or what is wrong with it.
struct Object {
    path: String,
    bytes: Result<(Buffer, usize), Fault>,
}

impl Landed {
    /// Says which record is computed.
    pub(super) fn at(&mut self, row: Option<usize>) {
        self.row = row;
    }

    /// What has come for a node of the record.
    fn take(&mut self, id: ExprId) -> Option<Object> {
        let (row, at) = (self.row?, self.nodes.iter().position(|it| *it == id)?);
        self.all.get_mut(row * self.nodes.len() + at)?.take()
    }
}

impl Machine {
    /// Writes a value that was read before; `false` where it was not.
    pub(super) fn put_landed(
        &mut self,
        (id, call): (ExprId, &Applied),
        out: &mut Out<'_>,
    ) -> Result<bool, Fault> {
        let Kernel::Read(whole) = &call.kernel else { return Ok(false) };
        let Some(Object { path, bytes }) = self.landed.take(id) else { return Ok(false) };
        let (buffer, len) = bytes?;
        let bytes = &buffer.bytes()[..len];
        out.room(whole.dtype, Shape::new(&[len]))?.copy_from_slice(bytes);
        (whole.check)(&path, bytes).map(|()| true)
    }
}

/// A request that is made for a record.
struct Asked<'a> {
    /// Its place in [`Landed::all`].
    at: usize,
    path: String,
    whole: &'a ReadWhole,
    storage: &'static dyn Storage,
}

impl Compiled {
    /// Reads what the records of `chunk` need of far storages.
    pub(super) fn read_ahead(&self, machine: &mut Machine, chunk: &Chunk) {
        if self.reading.nodes.is_empty() {
            return;
        }
        machine.landed.all.clear();
        let mut asked = self.asked(machine, chunk);
        self.reading.waits.count(asked.len(), chunk.rows);
        if asked.is_empty() {
            return;
        }
        machine.landed.nodes.clone_from(&self.reading.nodes);
        machine.landed.all.resize_with(chunk.rows * self.reading.nodes.len(), || None);
        while let Some(first) = asked.first() {
            let storage = first.storage;
            let (now, later) = asked.into_iter().partition(|it| ptr::addr_eq(it.storage, storage));
            self.read_from(storage, now, &mut machine.landed);
            asked = later;
        }
    }

    /// The requests for the records of `chunk`. What fails now fails again when the record is computed.
    fn asked(&self, machine: &mut Machine, chunk: &Chunk) -> Vec<Asked<'_>> {
        let mut asked = Vec::with_capacity(chunk.rows);
        for row in 0..chunk.rows {
            machine.next_record();
            let subject = Subject { chunk, row: Some(row) };
            for (at, &id) in self.reading.nodes.iter().enumerate() {
                let Code::Call(Applied { kernel: Kernel::Read(whole), args, .. }) =
                    &self.values.nodes[id].code
                else {
                    continue;
                };
                let path = match args.first() {
                    Some(Slot::Value(path)) => {
                        machine.find(&self.values.nodes, subject, *path).ok()
                    }
                    Some(Slot::Known(path)) => {
                        // SAFETY: the nodes hold what is known.
                        Some(unsafe { super::machine::value(path.tensor()) })
                    }
                    _ => None,
                };
                let Some(path) = path.filter(|_| !self.is_kept(id, chunk, row)) else { continue };
                let path = path.as_str().to_owned();
                let storage = storage::of(Path::new(&path));
                if storage.access().is_some() {
                    let at = row * self.reading.nodes.len() + at;
                    asked.push(Asked { at, path, whole, storage });
                }
            }
        }
        machine.next_record();
        asked
    }

    /// Whether the object need not be read, or may not have to be, since what is made of it was kept.
    fn is_kept(&self, id: ExprId, chunk: &Chunk, row: usize) -> bool {
        self.values.nodes[id].tap.get().is_some_and(|tap| {
            let key = key_of(chunk, row, (tap.name, &tap.key));
            tap.cache.contains(key) || tap.cache.store().is_some_and(|it| it.contains(key))
        })
    }

    fn read_from(&self, storage: &dyn Storage, asked: Vec<Asked<'_>>, landed: &mut Landed) {
        let requests: Vec<Request<'_>> =
            asked.iter().map(|it| Request { path: Path::new(&it.path), range: None }).collect();
        let rooms = asked.iter().map(|_| None).collect();
        let faults = asked.iter().map(|_| None).collect();
        let begun = Instant::now();
        let mut buffers =
            Buffers { asked: &asked, pool: &self.pool, rooms, faults, begun, first: None };
        storage.read(&requests, &mut buffers);
        let Buffers { rooms, faults, first, .. } = buffers;
        if let Some(first) = first {
            self.reading.waits.note(storage, [first, begun.elapsed()]);
        }
        for ((asked, room), fault) in asked.into_iter().zip(rooms).zip(faults) {
            let bytes = match fault {
                Some(fault) => Err(fault),
                // Nobody has said anything of it: it is read where it is needed.
                None if room.is_none() => continue,
                None => Ok(room.expect("it was just seen")),
            };
            landed.all[asked.at] = Some(Object { path: asked.path, bytes });
        }
    }

    /// What was seen of the storage that it reads; none where it read of none that is far.
    pub(crate) fn far(&self) -> Option<Seen> {
        self.reading.waits.seen()
    }
}

/// A buffer for each object that comes, of the run's memory.
struct Buffers<'a> {
    asked: &'a [Asked<'a>],
    pool: &'a Pool,
    rooms: Vec<Option<(Buffer, usize)>>,
    faults: Vec<Option<Fault>>,
    begun: Instant,
    /// When the first of them came.
    first: Option<Duration>,
}

impl Landing for Buffers<'_> {
    fn room(&mut self, request: usize, bytes: u64) -> Option<&mut [u8]> {
        self.first.get_or_insert_with(|| self.begun.elapsed());
        let Asked { path, whole, .. } = &self.asked[request];
        match storage::len_of_value(bytes) {
            Ok(len) => {
                let (buffer, len) = self.rooms[request].insert((self.pool.buffer(len), len));
                Some(&mut buffer.bytes_mut()[..*len])
            }
            Err(error) => {
                self.faults[request] = Some((whole.fault)(path, &error));
                None
            }
        }
    }

    fn landed(&mut self, request: usize, result: Result<(), ReadError>) {
        self.first.get_or_insert_with(|| self.begun.elapsed());
        let Asked { path, whole, .. } = &self.asked[request];
        match result {
            Ok(()) => {
                let len = self.rooms[request].as_ref().map_or(0, |it| it.1);
                reads::count(len as u64);
            }
            Err(error) => self.faults[request] = Some((whole.fault)(path, &error)),
        }
    }
}
