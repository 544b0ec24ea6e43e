//! Records of files that hold columns, in order or by number: what such sources share.

mod fill;
mod in_order;
mod in_turn;
mod json;
mod said;

use super::{
    absent::{COMPLETE, FAULT, Missing},
    listed::Listed,
};
use crate::{
    functions::text::guarded::ColumnFaults,
    prelude::*,
    tables::{Asked, Batches, Damage, Rows, TableFile},
};
use arrow_array::RecordBatch;
use fill::{Fill, Found};
use in_order::InOrder;
use in_turn::InTurn;
use plan::unmix;
use runtime::{
    Builder, ChunkBuilder, Failure, Fingerprint, Interleave, Pool, Source, SourceCall, Stream, mix,
    os,
};
pub(super) use said::Said;
use std::{
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

/// Opens a file.
pub(super) type Open = fn(&Path, &mut dyn FnMut()) -> Result<Box<dyn TableFile>, Failure>;

/// A source of the rows of files that hold columns.
pub(super) struct Tables {
    inner: Arc<Inner>,
}

struct Inner {
    open: Open,
    said: Said,
    listed: Listed,
    /// The columns of the chunks.
    fields: Vec<Field>,
    place: u64,
    files: OnceLock<Result<Files, Failure>>,
    first: OnceLock<Result<First, Failure>>,
    index: OnceLock<Result<Vec<Part>, Failure>>,
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
}

impl Part {
    fn end(&self) -> u64 {
        self.first + self.rows
    }
}

impl Tables {
    /// The rows of these files; nothing is opened yet.
    pub(super) fn new(said: Said, listed: Listed, open: Open, call: &SourceCall<'_>) -> Self {
        let share = os::open_files_max().map(|it| (it / OPEN_SHARE) as usize);
        let open_max = share.map_or(OPEN_MAX, |it| it.clamp(1, OPEN_MAX));
        let (fields, place) = (call.columns.to_vec(), call.place);
        let (files, first, index) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let opened = Mutex::default();
        let inner =
            Inner { open, said, listed, fields, place, files, first, index, opened, open_max };
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
        let is_needed = |name: &str| self.fields.iter().any(|it| it.name == name);
        let decides =
            |missing: Option<&Missing>| missing == Some(&Missing::Skip) && is_needed(COMPLETE);
        let mut fills = Vec::new();
        for (at, column) in found.into_iter().enumerate() {
            let missing = self.said.missing.iter().find(|it| it.0 == column.name).map(|it| &it.1);
            if is_needed(&column.name) || decides(missing) {
                let fill = Fill::new(at, column, missing.cloned()).map_err(Failure::Program)?;
                fills.push(fill);
            }
        }
        let output = |field: &Field| match field.name.as_str() {
            COMPLETE => Ok(Output::Complete),
            FAULT => Ok(Output::Fault),
            name => {
                let is = |it: &Fill| it.found.name == name && it.found.ty.as_ref() == Ok(&field.ty);
                let at = fills.iter().position(is);
                at.map(Output::Column).ok_or_else(|| self.changed(field))
            }
        };
        let outputs = self.fields.iter().map(output).collect::<Result<_, _>>()?;
        let wanted = fills.iter().map(|it| it.found.path.clone()).collect();
        Ok(First { fills, wanted, outputs })
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
            for file in 0..self.files()?.paths.len() as u32 {
                let mut ordinal = 0;
                for (number, rows) in self.file(file)?.parts().iter().enumerate() {
                    if *rows > 0 {
                        let number = number as u32;
                        parts.push(Part { file, number, first, ordinal, rows: *rows });
                    }
                    (first, ordinal) = (first + rows, ordinal + rows);
                }
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

    /// Begins to read a part.
    fn read(&self, part: Part, rows: Rows<'_>) -> Result<Batches, Failure> {
        let (first, file) = (self.first()?, self.file(part.file)?);
        if part.file > 0 {
            self.check(part.file, &*file)?;
        }
        let row_bytes = file.row_bytes(part.number as usize, &first.wanted).max(1);
        let batch = (BATCH_BYTES / row_bytes).clamp(1, BATCH_ROWS) as usize;
        let asked = Asked { part: part.number as usize, wanted: &first.wanted, rows, batch };
        file.read(&asked).map_err(|it| self.damaged(part, &it))
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

    fn damaged(&self, part: Part, Damage { message, help }: &Damage) -> Failure {
        let path = self.files().map(|it| it.paths[part.file as usize].display().to_string());
        let detail = format!("row group {}: {message}: {help}", part.number);
        Failure::Io { path: path.unwrap_or_default(), detail }
    }

    /// Appends rows of a batch, of which each is the row of its part that `row` says. Gives those that end the run,
    /// by their numbers among these, each with the failure; for them something stands.
    fn append(
        &self,
        (part, row): (Part, &dyn Fn(usize) -> u64),
        (batch, rows): (&RecordBatch, Range<usize>),
        out: &mut ChunkBuilder,
    ) -> Result<Vec<(usize, Failure)>, Failure> {
        let (files, first) = (self.files()?, self.first()?);
        let path = files.paths[part.file as usize].display();
        let unfit = |it: &Fill, why: &str| Failure::Io {
            path: path.to_string(),
            detail: format!("column `{}`: {why}: write the file again", it.found.name),
        };
        let array = |it: &Fill| it.of(batch).ok_or_else(|| unfit(it, "it is not there"));
        let arrays = first.fills.iter().map(array).collect::<Result<Vec<_>, _>>()?;
        let skips = first.fills.iter().zip(&arrays).filter(|(fill, _)| fill.skips());
        let skips: Vec<_> = skips.filter_map(|(_, (_, nulls))| nulls.clone()).collect();
        let is_complete = |at: usize| skips.iter().all(|it| it.is_valid(rows.start + at));

        let mut bad = Vec::new();
        let told = |at: usize, why: &str| {
            format!("{path}, row {}: {why}", part.ordinal + row(rows.start + at))
        };
        for (output, to) in first.outputs.iter().zip(&mut out.columns) {
            match output {
                Output::Column(at) => {
                    let (fill, (array, nulls)) = (&first.fills[*at], &arrays[*at]);
                    let found = fill.append((array, nulls.as_ref()), rows.clone(), to);
                    let found = found.map_err(|why| unfit(fill, &why))?;
                    let found = found.into_iter().filter(|(at, _)| is_complete(*at));
                    bad.extend(found.map(|(at, why)| (at, fill.at, why)));
                }
                Output::Complete => {
                    let room = to.scalars_of::<bool>(rows.len());
                    room.iter_mut().enumerate().for_each(|(at, to)| *to = is_complete(at));
                }
                Output::Fault => {}
            }
        }
        let key = files.keys[part.file as usize];
        let id = |at: usize| mix(self.place, mix(key, part.ordinal + row(at)));
        let ids = out.ids.scalars_of::<u64>(rows.len());
        ids.iter_mut().zip(rows.clone()).for_each(|(to, at)| *to = id(at));

        bad.sort_by_key(|(at, column, _)| (*at, *column));
        let mut ends = Vec::new();
        let mut faults: Vec<(usize, ColumnFaults)> = Vec::new();
        for (at, column, why) in bad {
            if !self.said.faults {
                let record =
                    format!("`{path}, row {}`", part.ordinal + row(rows.start + at)).into();
                let (id, path) = (id(rows.start + at), path.to_string());
                ends.push((at, Failure::Unreadable { id, record, path, detail: why }));
                continue;
            }
            if faults.last().is_none_or(|it| it.0 != at) {
                faults.push((at, ColumnFaults::default()));
            }
            if let Some((_, of)) = faults.last_mut() {
                of.add(column, &told(at, &why));
            }
        }
        let is_fault = |it: &Output| matches!(it, Output::Fault);
        if let Some(to) = first.outputs.iter().position(is_fault).map(|it| &mut out.columns[it]) {
            let mut given = 0;
            for (at, fault) in faults {
                to.push_empty(at - given);
                to.push_text(fault.text().as_bytes());
                given = at + 1;
            }
            to.push_empty(rows.len() - given);
        }
        Ok(ends)
    }

    fn fetch(&self, numbers: &[u64], out: &mut ChunkBuilder) -> Result<(), Failure> {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut found = ChunkBuilder::new(&self.fields, sorted.len(), out.epoch, &Pool::default());
        let mut ends = Vec::new();
        let mut left = &*sorted;
        while let Some(first) = left.first() {
            let part = self.part_of(*first)?;
            let (these, rest) = left.split_at(left.partition_point(|it| *it < part.end()));
            left = rest;
            let rows: Vec<u64> = these.iter().map(|it| it - part.first).collect();
            let before = found.rows();
            if let Err(why) = self.fetch_part((part, &rows), &mut found, &mut ends) {
                // What was not read ends the run where it is needed.
                let missing = before + rows.len() - found.rows();
                ends.extend((found.rows()..before + rows.len()).map(|it| (it, why.clone())));
                append_nothing(missing, &mut found);
            }
        }
        let place = |it: &u64| sorted.partition_point(|other| other < it) as u32;
        let mut order: Vec<u32> = numbers.iter().map(place).collect();
        let end = |at: u32| ends.iter().find(|it| it.0 == at as usize).map(|it| it.1.clone());
        let ended = match ends.is_empty() {
            true => None,
            false => order.iter().enumerate().find_map(|(at, it)| Some((at, end(*it)?))),
        };
        if let Some((at, _)) = &ended {
            order.truncate(*at);
        }
        out.gather(&found.finish(), &order);
        ended.map_or(Ok(()), |it| Err(it.1))
    }

    /// Appends rows of one part, in ascending order.
    fn fetch_part(
        &self,
        (part, rows): (Part, &[u64]),
        out: &mut ChunkBuilder,
        ends: &mut Vec<(usize, Failure)>,
    ) -> Result<(), Failure> {
        let mut given = 0;
        for batch in self.read(part, Rows::These(rows))? {
            let batch = batch.map_err(|it| self.damaged(part, &it))?;
            let (n, before) = (batch.num_rows().min(rows.len() - given), out.rows());
            let row = |it: usize| rows[given + it];
            let found = self.append((part, &row), (&batch, 0..n), out)?;
            ends.extend(found.into_iter().map(|(at, why)| (before + at, why)));
            given += n;
        }
        if given < rows.len() {
            return Err(self.damaged(part, &too_few()));
        }
        Ok(())
    }
}

fn too_few() -> Damage {
    Damage::new("it has fewer rows than the footer says", "write the file again, or remove it")
}

/// Appends rows that nobody sees.
fn append_nothing(rows: usize, out: &mut ChunkBuilder) {
    for _ in 0..rows {
        out.columns.iter_mut().for_each(Builder::push_nothing);
        out.ids.push_scalar(0_u64);
    }
}
