//! What the files are: sizes, formats, extents, which are empty, which are there twice.

use super::spread::{Histogram, Spread};
use crate::tools::{kind::Kind, peek::id_text};
use plan::{DType, Field, OpId, OpKind, Plan};
use runtime::Chunk;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::xxh3_128;

/// Groups of duplicates that are shown.
const GROUPS: usize = 3;
/// Records of a group, and empty files, that are shown.
const NAMES: usize = 4;
/// Bytes that are kept of each record, to find duplicates.
const KEPT_BYTES: u64 = 24;

/// What is known of the files.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Files {
    /// How many.
    pub records: u64,
    /// Bytes of them all.
    pub bytes: u64,
    /// Bytes of one.
    pub sizes: Option<Spread>,
    /// How many are of each format, by how they begin.
    pub formats: BTreeMap<String, u64>,
    /// Pixels from top to bottom, as the headers say.
    pub heights: Option<Spread>,
    /// Pixels from left to right.
    pub widths: Option<Spread>,
    /// Those without a byte.
    pub empty: Named,
    /// Those with the same content.
    pub duplicates: Duplicates,
}

/// Some records, the first ones by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Named {
    /// How many.
    pub records: u64,
    /// The first of them.
    pub first: Vec<String>,
}

/// Records with the same content (XXH3, 128 bits).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Duplicates {
    /// Contents that are there more than once.
    pub groups: u64,
    /// Records that could go without a content being lost.
    pub records: u64,
    /// Records that were compared: 24 bytes are kept of each, within an eighth of the memory.
    pub compared: u64,
    /// The largest groups.
    pub first: Vec<Named>,
}

/// The first steps above the sources that have bytes.
pub(super) fn steps_with_bytes(plan: &Plan) -> Vec<OpId> {
    let all = plan.steps();
    let has = |it: &OpId| bytes_column(&plan.ops[*it].output).is_some();
    let first = |it: &&OpId| has(it) && !plan.ops[**it].inputs.iter().any(has);
    all.iter().filter(first).copied().collect()
}

/// The source below a step.
pub(super) fn source_of(plan: &Plan, mut op: OpId) -> OpId {
    while !matches!(plan.ops[op].kind, OpKind::Source { .. }) {
        op = plan.ops[op].inputs[0];
    }
    op
}

/// The field that holds the content of files.
pub(super) fn bytes_column(fields: &[Field]) -> Option<usize> {
    let is_bytes = |it: &&(usize, &Field)| {
        it.1.ty.dtype() == Some(DType::Bytes) && it.1.ty.shape().is_some_and(<[_]>::is_empty)
    };
    let all: Vec<(usize, &Field)> = fields.iter().enumerate().collect();
    let named = all.iter().filter(is_bytes).find(|it| it.1.name == "bytes");
    named.or_else(|| all.iter().find(is_bytes)).map(|it| it.0)
}

/// Counts files.
pub(super) struct Counting {
    files: Files,
    sizes: Histogram,
    heights: Histogram,
    widths: Histogram,
    /// The hash and the id of each record, in 24 bytes.
    contents: Vec<([u64; 2], u64)>,
    contents_max: usize,
    empty: Vec<u64>,
}

impl Counting {
    pub(super) fn new(memory: u64) -> Self {
        Self {
            files: Files {
                records: 0,
                bytes: 0,
                sizes: None,
                formats: BTreeMap::new(),
                heights: None,
                widths: None,
                empty: Named::default(),
                duplicates: Duplicates::default(),
            },
            sizes: Histogram::new(),
            heights: Histogram::new(),
            widths: Histogram::new(),
            contents: Vec::new(),
            contents_max: usize::try_from(memory / 8 / KEPT_BYTES).unwrap_or(usize::MAX),
            empty: Vec::new(),
        }
    }

    pub(super) fn records(&self) -> u64 {
        self.files.records
    }

    pub(super) fn chunk(&mut self, chunk: &Chunk, column: usize) {
        for (row, &id) in chunk.ids().iter().enumerate() {
            self.add(id, chunk.columns[column].row(row).as_text());
        }
    }

    fn add(&mut self, id: u64, content: &[u8]) {
        self.files.records += 1;
        self.files.bytes += content.len() as u64;
        self.sizes.add(content.len() as u64);
        if content.is_empty() {
            self.files.empty.records += 1;
            if self.empty.len() < NAMES {
                self.empty.push(id);
            }
            return;
        }
        let kind = Kind::of(content);
        let format = kind.map_or("unknown", |it| it.format);
        *self.files.formats.entry(format.to_owned()).or_default() += 1;
        if let Some((height, width)) = kind.and_then(|it| it.height.zip(it.width)) {
            self.heights.add(u64::from(height));
            self.widths.add(u64::from(width));
        }
        if self.contents.len() < self.contents_max {
            let hash = xxh3_128(content);
            self.contents.push(([(hash >> 64) as u64, hash as u64], id));
        }
    }

    /// All but the names of records.
    pub(super) fn finish(mut self) -> Naming {
        self.contents.sort_unstable();
        let duplicates = &mut self.files.duplicates;
        duplicates.compared = self.contents.len() as u64;
        let mut groups: Vec<&[([u64; 2], u64)]> = Vec::new();
        for group in self.contents.chunk_by(|a, b| a.0 == b.0).filter(|it| it.len() > 1) {
            duplicates.groups += 1;
            duplicates.records += group.len() as u64 - 1;
            groups.push(group);
            groups.sort_by_key(|it| std::cmp::Reverse(it.len()));
            groups.truncate(GROUPS);
        }
        let ids = |it: &&[([u64; 2], u64)]| {
            (it.len() as u64, it.iter().take(NAMES).map(|it| it.1).collect())
        };
        let groups: Vec<(u64, Vec<u64>)> = groups.iter().map(ids).collect();
        let wanted = groups.iter().flat_map(|it| &it.1).chain(&self.empty).copied().collect();
        (self.files.sizes, self.files.heights) = (self.sizes.spread(), self.heights.spread());
        self.files.widths = self.widths.spread();
        Naming { files: self.files, groups, empty: self.empty, wanted, names: BTreeMap::new() }
    }
}

/// What is known of files whose names are still to be found.
pub(super) struct Naming {
    files: Files,
    groups: Vec<(u64, Vec<u64>)>,
    empty: Vec<u64>,
    wanted: BTreeSet<u64>,
    names: BTreeMap<u64, String>,
}

impl Naming {
    pub(super) fn needs_names(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Looks for names among records of a source.
    pub(super) fn name(&mut self, chunk: &Chunk) {
        let Some(column) = chunk.columns.iter().find(|it| it.dtype() == DType::Str) else { return };
        for (row, id) in chunk.ids().iter().enumerate() {
            if self.wanted.remove(id) {
                self.names.insert(*id, column.row(row).as_str().to_owned());
            }
        }
    }

    pub(super) fn named(mut self) -> Files {
        let name = |id: &u64| self.names.get(id).cloned().unwrap_or_else(|| id_text(*id));
        let sorted = |ids: &[u64]| {
            let mut names: Vec<String> = ids.iter().map(name).collect();
            names.sort();
            names
        };
        let group = |it: &(u64, Vec<u64>)| Named { records: it.0, first: sorted(&it.1) };
        self.files.duplicates.first = self.groups.iter().map(group).collect();
        self.files.empty.first = self.empty.iter().map(name).collect();
        self.files
    }
}
