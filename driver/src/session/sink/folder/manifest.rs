//! The manifest of an output folder: what is in it, what it was made of, and whether all of it came.

use super::super::{
    data::{DATA_FORMATS, DataFormat, ShardSize},
    line::LIST,
    location::{Location, MANIFEST},
};
use crate::session::{compiled::Compiled, identity::sources_hash, options::RunOptions};
use plan::{DType, Field, Program, Type};
use runtime::{Failure, Rank};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    path::{Component, Path},
};

/// The number of this layout.
const FORMAT: u32 = 1;

/// What an output is made of, beside its data: that of another is not gone on with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// The plan as it is written: a hash in hexadecimal.
    plan: String,
    /// What all random numbers follow from.
    seed: u64,
    /// Which run it is, of several that share the work.
    rank: Rank,
    /// How much of the data it takes.
    extent: Extent,
    /// Whether a checkpoint is there that the run goes on from.
    pub(super) resumes: bool,
}

/// How much of which data an output was made of: one of another extent is gone on with, and not replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Extent {
    /// What the sources name, such as their paths: a hash in hexadecimal.
    sources: String,
    epochs: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
}

impl Provenance {
    /// That of a run of `compiled`.
    pub fn of(compiled: &Compiled, options: &RunOptions) -> Self {
        let state = options.state.as_ref();
        Self {
            plan: compiled.hash(),
            seed: options.seed,
            rank: options.rank,
            extent: Extent {
                sources: format!("{:016x}", sources_hash(&compiled.written)),
                epochs: options.epochs,
                limit: options.limit,
            },
            resumes: state.is_some_and(|it| it.path.exists()),
        }
    }
}

/// What is in the folder; an identical run writes an identical one.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    pub(super) pipeline: String,
    /// The plan as it is written, in hexadecimal, and what all random numbers follow from: an output
    /// without them is of a time when they were not written down.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    plan: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    extent: Option<Extent>,
    /// Whether a file holds a batch, or else a piece of the records.
    pub(super) batched: bool,
    /// What the files are, where they hold all fields; none, where each field has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shards: Option<Shards>,
    pub(super) fields: Vec<FieldForm>,
    /// How many files each field has.
    pub(super) files: u64,
    /// Whether the run came to its end.
    pub(super) complete: bool,
    /// Which run it is of, of several that share the work; none of one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) share: Option<Share>,
}

/// A run of several that share the work.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Share {
    pub(super) rank: u32,
    pub(super) world: u32,
}

/// Files that hold all fields.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Shards {
    /// As `--format` says.
    format: String,
    /// As `--shard` says; none where each file holds a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<String>,
}

/// How a field is written.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FieldForm {
    pub(super) name: String,
    #[serde(rename = "type")]
    ty: String,
    pub(super) form: Form,
    /// Where the extents are, if not in `NAME.shape`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
}

/// What the files of a field are.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    /// One array a file.
    Array,
    /// The elements of all records, and their extents beside them.
    Ragged,
    /// JSON, a line a record.
    Lines,
    /// A column of files that hold all fields.
    Column,
}

impl Form {
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Array | Self::Ragged => "npy",
            Self::Lines => "jsonl",
            // It has no file of its own.
            Self::Column => "",
        }
    }

    fn of(ty: &Type, batched: bool) -> Self {
        match ty.dtype() {
            Some(DType::Str) => Self::Lines,
            Some(DType::Bytes) => Self::Ragged,
            _ if batched || ty.fixed().is_some() => Self::Array,
            _ => Self::Ragged,
        }
    }
}

impl Manifest {
    /// That of an output of `program` of which nothing is there yet.
    pub(super) fn new(
        program: &Program,
        of: &Provenance,
        data: Option<(DataFormat, Option<ShardSize>)>,
    ) -> Self {
        let Provenance { plan, seed, rank, extent, resumes: _ } = of;
        let share = (rank.world > 1).then_some(Share { rank: rank.rank, world: rank.world });
        Self {
            format: FORMAT,
            pipeline: program.name.clone(),
            plan: plan.clone(),
            seed: Some(*seed),
            extent: Some(extent.clone()),
            batched: program.batched,
            fields: forms(program, data.is_some()),
            shards: data.map(|(format, size)| Shards {
                format: format.name.to_owned(),
                size: size.map(|it| it.to_string()),
            }),
            files: 0,
            complete: false,
            share,
        }
    }

    /// The same of whatever seed and extent.
    pub(super) fn of_any_seed_and_extent(&self) -> Self {
        Self { seed: None, extent: None, ..self.clone() }
    }

    /// Why a run of `other` must not replace this output, or not go on with it.
    pub(super) fn differs_from(&self, other: &Self) -> Option<String> {
        let plans_are_known = !self.plan.is_empty() && !other.plan.is_empty();
        if self.share != other.share {
            return Some(match self.share {
                Some(Share { rank, world }) => {
                    format!("contains the output of rank {rank} of {world}")
                }
                None => "contains the output of a run without ranks".to_owned(),
            });
        }
        if self.pipeline != other.pipeline {
            return Some(format!("contains the output of another pipeline, `{}`", self.pipeline));
        }
        if self.shards != other.shards {
            let said = |it: &Option<Shards>| match it {
                Some(Shards { format, size: Some(size) }) => {
                    format!("`{format}` in shards of {size}")
                }
                Some(Shards { format, size: None }) => format!("`{format}`, a file for each batch"),
                None => "`npy`".to_owned(),
            };
            let (then, now) = (said(&self.shards), said(&other.shards));
            return Some(format!(
                "contains an output in the format {then}, but this run writes {now}"
            ));
        }
        if self.fields != other.fields || (plans_are_known && self.plan != other.plan) {
            let why = "contains the output of another pipeline: it has changed since, or has \
                       other parameters";
            return Some(why.to_owned());
        }
        let (then, now) = (self.seed?, other.seed?);
        (then != now)
            .then(|| format!("contains the output of `--seed {then}`, but this run has {now}"))
    }

    /// What a run of `other` would make of other data, or more or less of them.
    pub(super) fn differs_in_extent(&self, other: &Self) -> Option<String> {
        let (then, now) = (self.extent.as_ref()?, other.extent.as_ref()?);
        let limit = |it: Option<u64>| it.map_or("none".to_owned(), |it| it.to_string());
        if then.sources != now.sources {
            Some("contains the output of other inputs: a source had other files".to_owned())
        } else if then.epochs != now.epochs {
            let (then, now) = (then.epochs, now.epochs);
            Some(format!("contains the output of `--epochs {then}`, but this run has {now}"))
        } else if then.limit != now.limit {
            let now = limit(now.limit);
            Some(match then.limit {
                Some(then) => {
                    format!("contains the output of `--limit {then}`, but this run has {now}")
                }
                None => {
                    format!("contains an output without a limit, but this run has `--limit {now}`")
                }
            })
        } else {
            None
        }
    }

    /// Whether the files of a number are called as those of `other` are.
    pub(super) fn has_names_of(&self, other: &Self) -> bool {
        self.names(0) == other.names(0)
    }

    /// The names of the files of a number, below the folder, in order.
    pub(super) fn names(&self, number: u64) -> Vec<String> {
        if let Some(format) = self.data() {
            return vec![format!("{number:08}.{}", format.extension)];
        }
        let mut names = Vec::new();
        for field in &self.fields {
            names.push(format!("{}/{number:08}.{}", field.name, field.form.extension()));
            if field.form == Form::Ragged {
                names.push(format!("{}/{number:08}.npy", field.shape_folder()));
            }
        }
        names.sort();
        names
    }

    /// The format of files that hold all fields.
    pub(super) fn data(&self) -> Option<&'static DataFormat> {
        let name = &self.shards.as_ref()?.format;
        DATA_FORMATS.iter().find(|it| it.name == name)
    }

    /// The folders of the fields, below that of the output.
    pub(super) fn folders(&self) -> Vec<String> {
        let mut folders = Vec::new();
        if self.shards.is_some() {
            return folders;
        }
        for field in &self.fields {
            folders.push(field.name.clone());
            if field.form == Form::Ragged {
                folders.push(field.shape_folder());
            }
        }
        folders
    }

    pub(super) fn write(&self, location: &mut dyn Location) -> Result<(), Failure> {
        location.put(MANIFEST, &mut |out| {
            serde_json::to_writer_pretty(&mut *out, self)?;
            out.write_all(b"\n")
        })
    }
}

impl FieldForm {
    /// The folder of the extents.
    pub(super) fn shape_folder(&self) -> String {
        self.shape.clone().unwrap_or_else(|| format!("{}.shape", self.name))
    }
}

/// How each field is written; the folders of extents have names that no field has.
pub(super) fn forms(program: &Program, of_data: bool) -> Vec<FieldForm> {
    let mut taken: BTreeSet<String> = program.output.iter().map(|it| it.name.clone()).collect();
    let mut form = |field: &Field| {
        let form = if of_data { Form::Column } else { Form::of(&field.ty, program.batched) };
        let usual = format!("{}.shape", field.name);
        let shape = (form == Form::Ragged && !taken.insert(usual.clone())).then(|| {
            let mut others = (2..).map(|n| format!("{usual}{n}"));
            others.find(|it| taken.insert(it.clone())).expect("fields are few")
        });
        FieldForm { name: field.name.clone(), ty: field.ty.to_string(), form, shape }
    };
    program.output.iter().map(&mut form).collect()
}

/// The output that is at a location; fails where something else is.
pub(super) fn earlier(location: &dyn Location) -> Result<Option<Manifest>, Failure> {
    let Some(text) = location.manifest()? else { return Ok(None) };
    let manifest = serde_json::from_slice(&text).ok().filter(|it: &Manifest| {
        let folders = it.fields.iter();
        let is_plain = folders.clone().all(|of| it.shards.is_some() || is_usable(&of.name));
        is_plain && folders.flat_map(|it| &it.shape).all(|it| is_usable(it))
    });
    manifest.map(Some).ok_or_else(|| Failure::Io {
        path: location.path().display().to_string(),
        detail: format!(
            "`{MANIFEST}` in this folder is damaged, or not that of an output; use a folder that is new or empty"
        ),
    })
}

/// Whether a name names a folder right here, whoever has written it down, and neither the manifest nor the list.
pub(super) fn is_usable(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_one = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    is_one && !name.contains(['/', '\0']) && ![MANIFEST, LIST].contains(&name)
}
