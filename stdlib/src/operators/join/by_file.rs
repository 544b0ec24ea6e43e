//! `within: file`: the second stream is read file by file, beside the records of the first one.

use super::{
    super::group::{Group, check_held, unfit},
    Filling, Missing, SLOT_BYTES, Terms,
    added::Leaving,
    fault_field,
    held::{Held, Key},
    lost_partner, no_partner,
};
use crate::prelude::*;
use plan::FILE;
use runtime::{Builder, ByFile, Kept, Mark, Operator, OperatorCall, Running, Wants, Working};
use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

/// Tables that are held take one part in so many of what a run may have, unless one alone takes more.
const SHARE: usize = 4;

/// The tables of files that are held, the one that was used last in front.
type Tables = Mutex<VecDeque<Table>>;

/// The records of a file of the second stream.
#[derive(Clone)]
struct Table {
    name: Arc<str>,
    held: Arc<Held>,
    /// Whether there is such a file.
    is_there: bool,
    /// Bytes that it takes.
    bytes: usize,
}

/// A join whose second stream is looked up in the file of the record's name.
struct WithinFile {
    terms: Terms,
    filling: Filling,
    files: Arc<ByFile>,
    /// A group of the second stream, to be filled.
    group: Group,
    epoch: u32,
    tables: Arc<Tables>,
    /// The column of the first stream that names the file.
    name: usize,
    leaving: Leaving,
    passed: usize,
    done: bool,
}

/// Where the fields of a record come from: the table, among those of a chunk, and the row in it.
type Partner = (usize, u32);

pub(super) fn build(call: &OperatorCall<'_>, terms: Terms) -> Result<Running, Failure> {
    let is_name = |it: &Field| it.name == FILE && it.ty == Type::scalar(DType::Str);
    let (name, files) = (call.inputs[0].iter().position(is_name), call.by_file.get(1));
    let (Some(name), Some(Some(files))) = (name, files) else {
        return Err(Failure::Program("the program is damaged: a `join` within files".to_owned()));
    };
    if call.state.is_some_and(|it| !it.is_empty()) {
        return Err(unfit("join"));
    }
    let serial = WithinFile {
        filling: Filling::new(call, &terms),
        files: files.clone(),
        group: Group::of(&call.inputs[1], call),
        epoch: call.epoch,
        tables: call.kept.map_or_else(Arc::default, Kept::get),
        name,
        leaving: Leaving::new(call),
        terms,
        passed: 0,
        done: false,
    };
    Ok(Running { serial: Box::new(serial), parallel: None })
}

impl Operator for WithinFile {
    fn wants(&self) -> Wants {
        if self.done { Wants::Nothing } else { Wants::Input(0) }
    }

    fn push(
        &mut self,
        _: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        let pushed = match chunk {
            Some(chunk) => self.join(&chunk, out),
            None => {
                self.done = true;
                Ok(())
            }
        };
        self.passed = out.len();
        pushed
    }

    /// Nothing is known between two records but what the files say.
    fn mark(&self) -> Option<Mark> {
        (!self.done).then(|| Mark { chunks: self.passed, ..Mark::default() })
    }
}

/// Records of a chunk, as far as they have found their partners.
struct Piece {
    /// The tables that these are in, and the bytes of them.
    tables: Vec<Table>,
    bytes: usize,
    /// Whether these are as many as may be held.
    is_full: bool,
    /// The records that go on, and where each one's partner is.
    rows: Vec<u32>,
    partners: Vec<Partner>,
    /// Why one has none, where that is a fault of its fields.
    faults: Builder,
}

impl WithinFile {
    fn join(&mut self, chunk: &Chunk, out: &mut Vec<Chunk>) -> Result<(), Failure> {
        let mut piece = self.piece(chunk.rows);
        let mut found = Ok(());
        for row in 0..chunk.rows {
            // No more tables than may be held, however many files the records are of.
            if piece.is_full {
                let full = mem::replace(&mut piece, self.piece(chunk.rows - row));
                out.extend(self.finish(chunk, full));
            }
            found = self.find(chunk, row, &mut piece);
            if found.is_err() {
                break;
            }
        }
        out.extend(self.finish(chunk, piece));
        found
    }

    fn piece(&self, rows: usize) -> Piece {
        let faults = Builder::new(&fault_field().ty, rows, &self.filling.pool);
        let (tables, rows, partners) = (Vec::new(), Vec::new(), Vec::new());
        Piece { tables, bytes: 0, is_full: false, rows, partners, faults }
    }

    fn find(&mut self, chunk: &Chunk, row: usize, piece: &mut Piece) -> Result<(), Failure> {
        let (partner, fault) = match self.partner(chunk, row, piece)? {
            Found::Partner(partner) => (partner, String::new()),
            Found::Filled(partner, why) => (partner, why),
            Found::Skipped => return Ok(()),
        };
        piece.rows.push(row as u32);
        piece.partners.push(partner);
        piece.faults.push_text(fault.as_bytes());
        Ok(())
    }

    /// The records of a piece, with their fields.
    fn finish(&self, chunk: &Chunk, piece: Piece) -> Option<Chunk> {
        let Piece { tables, rows, partners, faults, .. } = piece;
        let faults = matches!(self.terms.missing, Missing::Fault).then(|| faults.finish());
        let tables: Vec<&Held> = tables.iter().map(|it| &*it.held).collect();
        let has_some = !rows.is_empty();
        has_some.then(|| self.leaving.chunk(chunk, &rows, (&tables, &partners), faults))
    }

    /// What a record gets of the second stream.
    fn partner(&mut self, chunk: &Chunk, row: usize, piece: &mut Piece) -> Result<Found, Failure> {
        let name = chunk.columns[self.name].row(row);
        let name = name.as_str();
        // Records of one file mostly come together, or in turn.
        let at = match piece.tables.iter().rposition(|it| *it.name == *name) {
            Some(at) => at,
            None => {
                let table = self.table(name)?;
                piece.bytes += table.bytes;
                piece.is_full = !Working::may_take(piece.bytes, SHARE);
                piece.tables.push(table);
                piece.tables.len() - 1
            }
        };
        let Table { held, is_there, .. } = &piece.tables[at];
        let key = Key { chunk, columns: &self.terms.keys[0], row };
        if let Some(number) = held.find(&key) {
            return Ok(Found::Partner((at, number)));
        }
        let why = || match is_there {
            true => format!("{} in its file `{name}`", no_partner(&key.shown())),
            false => format!("the second stream of `join` has no file `{name}`"),
        };
        let filled = (at, held.rows as u32);
        match &self.terms.missing {
            Missing::Skip => Ok(Found::Skipped),
            Missing::Keep(_) => Ok(Found::Filled(filled, String::new())),
            Missing::Fault => Ok(Found::Filled(filled, why())),
            Missing::Fail => Err(lost_partner(&why())),
        }
    }

    /// The table of a file; read now, where it is not held.
    fn table(&mut self, name: &str) -> Result<Table, Failure> {
        let tables = self.tables.clone();
        let mut tables = tables.lock().unwrap_or_else(PoisonError::into_inner);
        let at = tables.iter().position(|it| *it.name == *name);
        let table = match at.and_then(|it| tables.remove(it)) {
            Some(table) => table,
            None => self.read(name)?,
        };
        tables.push_front(table.clone());
        // Those that were used longest ago go.
        let mut bytes: usize = tables.iter().map(|it| it.bytes).sum();
        while !Working::may_take(bytes, SHARE) && tables.len() > 1 {
            bytes -= tables.pop_back().map_or(0, |it| it.bytes);
        }
        Ok(table)
    }

    fn read(&mut self, name: &str) -> Result<Table, Failure> {
        let (group, mut bytes) = (&mut self.group, 0);
        // What a file that could not be read has left.
        group.finish();
        let is_there = self.files.records(name, self.epoch, |chunk| {
            let rows = group.rows() + chunk.rows;
            group.add(&chunk, 0..chunk.rows, rows);
            bytes = group.bytes() + rows * SLOT_BYTES;
            check_held(
                bytes,
                group.share(),
                &format!("file `{name}` of the second stream of a `join`"),
            )
        })?;
        let held = self.filling.held(group, self.terms.keys[1].clone())?;
        Ok(Table { name: name.into(), held: Arc::new(held), is_there, bytes })
    }
}

/// What is found for a record.
enum Found {
    Partner(Partner),
    /// None, but something stands for it; and why there is none.
    Filled(Partner, String),
    Skipped,
}
