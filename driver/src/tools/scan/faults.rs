//! Records that failed, by what was wrong with them.

use crate::{
    session::{compiled::Compiled, place::label},
    tools::peek::id_text,
};
use runtime::LostRecord;
use serde::Serialize;
use std::collections::BTreeMap;

/// Records that are told of each kind.
const EXAMPLES: usize = 3;

/// A record that failed; a line of the file of bad records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bad {
    /// Where it comes from: its file, where it has one.
    pub source: String,
    /// The file that could not be used, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its id, 16 digits.
    pub record: String,
    /// The step that it failed in.
    pub step: String,
    /// What kind of fault it is.
    pub code: String,
    /// What was found.
    pub reason: String,
    /// Where the step is written.
    pub detail: String,
}

/// Records that failed, by the code of their fault.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    /// How many, of all kinds.
    pub records: u64,
    /// By their code.
    pub kinds: BTreeMap<String, Kind>,
}

/// Records that failed in the same way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Kind {
    /// How many.
    pub records: u64,
    /// The first of them.
    pub first: Vec<Bad>,
}

impl Bad {
    pub(super) fn of(lost: &LostRecord, compiled: &Compiled) -> Self {
        // In a part of a plan, labels are steps.
        let step = lost.label.to_string();
        let op = compiled.written.ops.rows().iter().find(|it| it.step == step);
        Self {
            source: lost.record.trim_matches('`').to_owned(),
            file: lost.fault.file.as_deref().map(str::to_owned),
            record: id_text(lost.id),
            detail: op.map_or(String::new(), |it| label(&compiled.files, it.at)),
            step,
            code: lost.fault.code.to_owned(),
            reason: lost.fault.reason().into_owned(),
        }
    }
}

impl Faults {
    /// Keeps the first of each kind.
    pub(super) fn note(&mut self, bad: Bad) {
        let kind = self.kinds.entry(bad.code.clone()).or_default();
        if kind.first.len() < EXAMPLES {
            kind.first.push(bad);
        }
    }

    /// Adds how many there were.
    pub(super) fn count(&mut self, counts: &BTreeMap<&'static str, u64>) {
        for (code, &records) in counts {
            self.kinds.entry((*code).to_owned()).or_default().records += records;
            self.records += records;
        }
    }
}
