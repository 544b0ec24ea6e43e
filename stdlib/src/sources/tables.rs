//! Records of files that hold columns, in order or by number: what such sources share.

mod append;
mod fill;
mod in_order;
mod in_turn;
mod json;
mod pieces;
mod said;

use super::{
    absent::{COMPLETE, FAULT, Missing},
    listed::Listed,
};
use crate::{
    prelude::*,
    tables::{Asked, Batches, Condition, Damage, TableFile},
};
use fill::{Fill, Found};
use in_order::InOrder;
use in_turn::InTurn;
use pieces::{Piece, Pieces, RowSet};
use plan::{FILE, unmix};
use runtime::{
    Builder, Chunk, ChunkBuilder, Failure, Fingerprint, Interleave, Pool, Source, SourceCall,
    Stream, Unneeded, Working, os, uncounted,
};
pub(super) use said::Said;
use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// Files that one source keeps open, and the share of those that the process may have.
const OPEN_MAX: usize = 64;
const OPEN_SHARE: u64 = 8;
/// Rows and bytes of a batch, at the most.
const BATCH_ROWS: u64 = 8 << 10;
const BATCH_BYTES: u64 = 4 << 20;
/// Bytes of rows that are held where they are read by number, at the most, and their share of what a run may have.
const HELD_MAX: u64 = 256 << 20;
const HELD_SHARE: usize = 8;
/// Bytes of what is said of a row that ends the run, about.
const END_BYTES: usize = 512;

/// Opens a file.
pub(super) type Open = Arc<OpenFile>;
type OpenFile =
    dyn Fn(&Path, &mut dyn FnMut()) -> Result<Box<dyn TableFile>, Failure> + Send + Sync;

/// A source of the rows of files that hold columns.
pub(super) struct Tables {
    inner: Arc<Inner>,
}

struct Inner {
    open: Open,
    said: Arc<Said>,
    listed: Listed,
    /// The columns of the chunks.
    fields: Vec<Field>,
    place: u64,
    files: OnceLock<Result<Files, Failure>>,
    first: OnceLock<Result<First, Failure>>,
    index: OnceLock<Result<Vec<Part>, Failure>>,
    unneeded: OnceLock<Unneeded>,
    held: OnceLock<Result<Option<Held>, Failure>>,
    opened: Mutex<Vec<(u32, Arc<dyn TableFile>)>>,
    open_max: usize,
}

struct Files {
    paths: Vec<PathBuf>,
    /// What names each file in the lineage.
    keys: Vec<u64>,
}

/// What the first file says of all.
struct First {
    /// The columns that are read.
    fills: Vec<Fill>,
    /// Their names.
    wanted: Vec<Vec<String>>,
    /// What must be true of records that are needed.
    conditions: Vec<Condition>,
    /// What each column of the chunks is filled with.
    outputs: Vec<Output>,
}

#[derive(Clone, Copy)]
enum Output {
    /// One of [`First::fills`].
    Column(usize),
    /// Whether the row is kept.
    Complete,
    /// What is wrong with the row.
    Fault,
    /// The name of the row's file.
    Name,
}

/// Rows of a file that are read together.
#[derive(Debug, Clone, Copy)]
struct Part {
    file: u32,
    /// Which one of the file.
    number: u32,
    /// The number of its first row among all, and in the file.
    first: u64,
    ordinal: u64,
    rows: u64,
    /// Whether any of them may be needed.
    is_needed: bool,
}

impl Part {
    fn end(&self) -> u64 {
        self.first + self.rows
    }
}

impl Tables {
    /// The rows of these files; nothing is opened yet.
    pub(super) fn new(said: Said, listed: Listed, open: Open, call: &SourceCall<'_>) -> Self {
        Self::of((Arc::new(said), open), listed, (call.columns.to_vec(), call.place))
    }

    fn of(
        (said, open): (Arc<Said>, Open),
        listed: Listed,
        (fields, place): (Vec<Field>, u64),
    ) -> Self {
        let share = os::open_files_max().map(|it| (it / OPEN_SHARE) as usize);
        let open_max = share.map_or(OPEN_MAX, |it| it.clamp(1, OPEN_MAX));
        let inner = Inner {
            open,
            said,
            listed,
            fields,
            place,
            files: OnceLock::new(),
            first: OnceLock::new(),
            index: OnceLock::new(),
            unneeded: OnceLock::new(),
            held: OnceLock::new(),
            opened: Mutex::default(),
            open_max,
        };
        Self { inner: Arc::new(inner) }
    }
}

impl Source for Tables {
    fn len(&self) -> Result<u64, Failure> {
        Ok(self.inner.index()?.last().map_or(0, Part::end))
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        self.inner.fetch(numbers, out)
    }

    fn stream(&self) -> Option<Box<dyn Stream>> {
        Some(Box::new(InOrder::new(self.inner.clone())))
    }

    fn interleaved(&self, order: Interleave) -> Option<Box<dyn Stream>> {
        Some(Box::new(InTurn::new(self.inner.clone(), order)))
    }

    fn fingerprint(&self) -> Result<Option<Fingerprint>, Failure> {
        self.inner.listed.fingerprint().map(Some)
    }

    fn contents(&self) -> Result<Option<u128>, Failure> {
        self.inner.listed.contents().map(Some)
    }

    fn unneeded(&self) -> Option<Unneeded> {
        self.inner.unneeded.get().copied()
    }

    fn waits(&self) -> bool {
        true
    }

    fn describe(&self, number: u64) -> String {
        let described = || {
            let (files, part) = (self.inner.files().ok()?, self.inner.part_of(number).ok()?);
            let ordinal = part.ordinal + number - part.first;
            Some(format!("{}, row {ordinal}", files.paths[part.file as usize].display()))
        };
        described().unwrap_or_else(|| format!("record {number}"))
    }

    /// The file and its row, found from the id: it is made of both.
    fn named(&self, id: u64) -> Option<String> {
        let (files, of_file) = (self.inner.files().ok()?, unmix(self.inner.place, id));
        let ordinal = |key: &u64| Some(unmix(*key, of_file)).filter(|it| *it < 1 << 36);
        let found = files.keys.iter().zip(&files.paths);
        let (ordinal, path) = found.filter_map(|(key, path)| Some((ordinal(key)?, path))).min()?;
        Some(format!("`{}, row {ordinal}`", path.display()))
    }

    fn name_files(&mut self) -> bool {
        let field = Field { name: FILE.to_owned(), ty: Type::scalar(DType::Str) };
        Arc::get_mut(&mut self.inner).map(|it| it.fields.push(field)).is_some()
    }

    fn file(&self, name: &str) -> Result<Option<Arc<dyn Source>>, Failure> {
        let Inner { open, said, listed, fields, place, .. } = &*self.inner;
        let of = |file| Self::of((said.clone(), open.clone()), file, (fields.clone(), *place));
        Ok(listed.file(name)?.map(|it| Arc::new(of(it)) as _))
    }

    fn classes(&self) -> &[String] {
        self.inner.listed.classes()
    }
}

impl Inner {
    fn files(&self) -> Result<&Files, Failure> {
        let files = self.files.get_or_init(|| {
            let (found, mut scratch) = (self.listed.found()?, String::new());
            let numbers = 0..found.listing.len();
            let keys = numbers.clone().map(|it| found.key(it, &mut scratch)).collect();
            Ok(Files { paths: numbers.map(|it| found.path(it)).collect(), keys })
        });
        files.as_ref().map_err(Clone::clone)
    }

    /// What the first file says.
    fn first(&self) -> Result<&First, Failure> {
        let first = self.first.get_or_init(|| {
            let found = self.said.columns(&*self.file(0)?).map_err(Failure::Program)?;
            self.first_of(found)
        });
        first.as_ref().map_err(Clone::clone)
    }

    fn first_of(&self, found: Vec<Found>) -> Result<First, Failure> {
        let mut conditions = self.said.conditions(&found);
        let is_needed = |name: &str| self.fields.iter().any(|it| it.name == name);
        let decides =
            |missing: Option<&Missing>| missing == Some(&Missing::Skip) && is_needed(COMPLETE);
        let mut fills = Vec::new();
        for (at, column) in found.into_iter().enumerate() {
            let missing = self.said.missing.iter().find(|it| it.0 == column.name).map(|it| &it.1);
            if is_needed(&column.name) || decides(missing) {
                let number = self.said.number(&column.name, at);
                let fill = Fill::new(number, column, missing.cloned()).map_err(Failure::Program)?;
                fills.push(fill);
            }
        }
        let output = |field: &Field| match field.name.as_str() {
            COMPLETE => Ok(Output::Complete),
            FAULT => Ok(Output::Fault),
            FILE => Ok(Output::Name),
            name => {
                let is = |it: &Fill| it.found.name == name && it.found.ty.as_ref() == Ok(&field.ty);
                let at = fills.iter().position(is);
                at.map(Output::Column).ok_or_else(|| self.changed(field))
            }
        };
        let outputs = self.fields.iter().map(output).collect::<Result<_, _>>()?;
        // A missing value that ends the run does so wherever it is.
        if !conditions.is_empty() && !self.said.faults {
            let ends = fills.iter().filter(|it| it.ends_at_nulls()).map(|it| it.found.path.clone());
            conditions.extend(ends.map(|path| Condition { path, test: None, nulls_matter: true }));
        }
        let wanted = fills.iter().map(|it| it.found.path.clone()).collect();
        Ok(First { fills, wanted, conditions, outputs })
    }

    fn changed(&self, field: &Field) -> Failure {
        let path = self.files().map(|it| it.paths[0].display().to_string());
        let detail = format!(
            "it had a column `{field}` when the program was compiled, but no longer does: compile \
             the program again"
        );
        Failure::Io { path: path.unwrap_or_default(), detail }
    }

    fn index(&self) -> Result<&[Part], Failure> {
        let index = self.index.get_or_init(|| {
            let (mut parts, mut first) = (Vec::new(), 0);
            let First { conditions, wanted, .. } = self.first()?;
            let mut unneeded: Option<Unneeded> = None;
            for file in 0..self.files()?.paths.len() as u32 {
                let (mut ordinal, opened) = (0, self.file(file)?);
                let none =
                    || Unneeded { part: opened.part(), parts: 0, of: 0, records: 0, bytes: 0 };
                let unneeded = unneeded.get_or_insert_with(none);
                for (number, rows) in opened.parts().iter().enumerate() {
                    if *rows > 0 {
                        let is_needed = opened.may_hold(number, conditions);
                        let number = number as u32;
                        parts.push(Part { file, number, first, ordinal, rows: *rows, is_needed });
                        unneeded.of += 1;
                        if !is_needed {
                            unneeded.parts += 1;
                            unneeded.records += rows;
                            unneeded.bytes += opened.stored_bytes(number as usize, wanted);
                        }
                    }
                    (first, ordinal) = (first + rows, ordinal + rows);
                }
            }
            if let Some(unneeded) = unneeded.filter(|_| !conditions.is_empty()) {
                self.unneeded.get_or_init(|| unneeded);
            }
            Ok(parts)
        });
        index.as_deref().map_err(Clone::clone)
    }

    /// The part that a record lies in.
    fn part_of(&self, number: u64) -> Result<Part, Failure> {
        let parts = self.index()?;
        let at = parts.partition_point(|it| it.end() <= number);
        parts.get(at).copied().ok_or_else(|| Failure::Program(format!("no record {number}")))
    }

    /// A file, open; the one that was used longest ago is closed for it.
    fn file(&self, number: u32) -> Result<Arc<dyn TableFile>, Failure> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let found = opened.iter().position(|it| it.0 == number);
        let file = match found {
            Some(at) => opened.remove(at).1,
            None => {
                let path = &self.files()?.paths[number as usize];
                // Better to open a file again later than to end for it.
                (self.open)(path, &mut || opened.clear())?.into()
            }
        };
        opened.push((number, file.clone()));
        if opened.len() > self.open_max {
            opened.remove(0);
        }
        Ok(file)
    }

    /// The file of a part, whose columns are those of the first one.
    fn file_of(&self, part: Part) -> Result<Arc<dyn TableFile>, Failure> {
        let file = self.file(part.file)?;
        if part.file > 0 {
            self.check(part.file, &*file)?;
        }
        Ok(file)
    }

    /// Begins to read rows of a part.
    fn read(&self, part: Part, rows: &[Range<u64>]) -> Result<Result<Batches, Damage>, Failure> {
        let (wanted, file, number) =
            (&self.first()?.wanted, self.file_of(part)?, part.number as usize);
        let batch = self.at_a_time(&*file, part)?;
        Ok(file.read(&Asked { part: number, wanted, rows, batch }))
    }

    /// Rows of a part that are read at a time.
    fn at_a_time(&self, file: &dyn TableFile, part: Part) -> Result<usize, Failure> {
        let row_bytes = file.row_bytes(part.number as usize, &self.first()?.wanted).max(1);
        Ok((BATCH_BYTES / row_bytes).clamp(1, BATCH_ROWS) as usize)
    }

    /// Whether the columns of a file are those of the first one.
    fn check(&self, number: u32, file: &dyn TableFile) -> Result<(), Failure> {
        let found = fill::columns(file.schema());
        for Fill { found: wanted, .. } in &self.first()?.fills {
            let is = found.iter().find(|it| it.path == wanted.path);
            if is == Some(wanted) {
                continue;
            }
            let ty = |it: &Found| match &it.ty {
                Ok(it) => format!("`{it}`"),
                Err(it) => format!("`{it}`, which is not supported"),
            };
            let is = is.map_or("missing".to_owned(), ty);
            let detail = format!(
                "its column `{}` is {is}, but {} in the first file: write all files alike, or name \
                 others",
                wanted.name,
                ty(wanted)
            );
            let path = self.files()?.paths[number as usize].display().to_string();
            return Err(Failure::Io { path, detail });
        }
        Ok(())
    }

    /// Why a part that is damaged ends the run.
    fn damaged(&self, part: Part, why: &Damage) -> Failure {
        let path = self.files().map(|it| it.paths[part.file as usize].display().to_string());
        let said = self.file(part.file).map_or("part", |it| it.part().0);
        let Damage { message, help, .. } = why;
        let detail = format!("{said} {}: {message}: {help}", part.number);
        Failure::Io { path: path.unwrap_or_default(), detail }
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        if let Some(held) = self.held()? {
            let order: Vec<u32> = numbers.iter().map(|it| *it as u32).collect();
            return held.gather(order, out);
        }
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let place = |it: &u64| sorted.partition_point(|other| other < it) as u32;
        let order: Vec<u32> = numbers.iter().map(place).collect();
        let mut found = ChunkBuilder::new(&self.fields, sorted.len(), out.epoch, &Pool::default());
        let mut ends = BTreeMap::new();
        let mut left = &*sorted;
        while let Some(first) = left.first() {
            let part = self.part_of(*first)?;
            let (these, rest) = left.split_at(left.partition_point(|it| *it < part.end()));
            left = rest;
            let rows = RowSet::of(these.iter().map(|it| it - part.first));
            self.append_all(part, rows, &mut found, &mut ends)?;
        }
        Held { chunk: found.finish(), ends, _memory: Working::default() }.gather(order, out)
    }

    /// Appends rows of one part, and those that end the run.
    fn append_all(
        &self,
        part: Part,
        rows: RowSet,
        out: &mut ChunkBuilder,
        ends: &mut BTreeMap<u32, Failure>,
    ) -> Result<(), Failure> {
        let mut pieces = Pieces::new(part, rows);
        while let Some(piece) = pieces.next(self)? {
            self.append_piece(part, &piece, out, ends)?;
        }
        Ok(())
    }

    fn append_piece(
        &self,
        part: Part,
        piece: &Piece,
        out: &mut ChunkBuilder,
        ends: &mut BTreeMap<u32, Failure>,
    ) -> Result<(), Failure> {
        let before = out.rows();
        let found = self.append(part, piece, 0..piece.rows.len(), out)?;
        ends.extend(found.into_iter().map(|(at, why)| ((before + at) as u32, why)));
        Ok(())
    }

    /// All rows, read once and held, where there is memory for that: to read a row decodes a page of each column.
    fn held(&self) -> Result<Option<&Held>, Failure> {
        let held = self.held.get_or_init(|| uncounted(|| self.hold()));
        held.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }

    fn hold(&self) -> Result<Option<Held>, Failure> {
        let (parts, fields) = (self.index()?, &self.fields);
        let rows = parts.last().map_or(0, Part::end);
        let ids = size_of::<u64>() as u64;
        let fixed: u64 =
            fields.iter().filter_map(|it| it.ty.fixed_bytes()).map(|it| it as u64).sum();
        let mut bytes = 0_u64;
        for part in parts {
            let file = self.file(part.file)?;
            let encoded = file.row_bytes(part.number as usize, &self.first()?.wanted);
            bytes = bytes.saturating_add(part.rows.saturating_mul(encoded.max(fixed) + ids));
            if bytes > HELD_MAX || rows > u64::from(u32::MAX) {
                return Ok(None);
            }
        }
        if !Working::may_take(bytes as usize, HELD_SHARE) {
            return Ok(None);
        }
        let mut out = ChunkBuilder::new(fields, rows as usize, 0, &Pool::default());
        out.columns.iter_mut().chain([&mut out.ids]).for_each(|it| it.make_room(rows as usize));
        let mut ends = BTreeMap::new();
        for part in parts {
            let mut pieces = Pieces::new(*part, RowSet::from(0..part.rows));
            while let Some(piece) = pieces.next(self)? {
                self.append_piece(*part, &piece, &mut out, &mut ends)?;
                // Dictionaries may make little of much, and damage many sentences.
                let bytes = out.columns.iter().map(Builder::bytes).sum::<usize>();
                let bytes = bytes + ends.len() * END_BYTES;
                if bytes as u64 > HELD_MAX || !Working::may_take(bytes, HELD_SHARE) {
                    return Ok(None);
                }
            }
        }
        let chunk = out.finish();
        let memory = Working::of(chunk.bytes());
        Ok(Some(Held { chunk, ends, _memory: memory }))
    }
}

/// Rows that were read.
struct Held {
    chunk: Chunk,
    /// Those that end the run.
    ends: BTreeMap<u32, Failure>,
    /// Counted for as long as they are held.
    _memory: Working,
}

impl Held {
    /// Appends rows in this order, up to one that ends the run.
    fn gather(&self, mut order: Vec<u32>, out: &mut ChunkBuilder) -> Result<(), Failure> {
        let ended = match self.ends.is_empty() {
            true => None,
            false => {
                let end = |(at, it): (usize, &u32)| Some((at, self.ends.get(it)?.clone()));
                order.iter().enumerate().find_map(end)
            }
        };
        if let Some((at, _)) = &ended {
            order.truncate(*at);
        }
        out.gather(&self.chunk, &order);
        ended.map_or(Ok(()), |it| Err(it.1))
    }
}
