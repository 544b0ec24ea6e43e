//! S1 to S16: what may be kept of records, chosen and run, beside what is claimed of it. `-- strategies S7` is one alone.

mod arithmetic;
mod columns;
mod imitated;
#[path = "../../model/tests/suite/presto/paper.rs"]
mod paper;
mod pictures;
mod placed;
mod records;
mod same;
mod sampled;
mod site;
mod texts;

use crate::{Experiments, Row};
use std::env;

/// Each with its rows.
const ALL: [(&str, Experiments); 16] = [
    ("S1", arithmetic::golden),
    ("S2", arithmetic::law),
    ("S3", imitated::rows),
    ("S4", columns::disks),
    ("S5", columns::as_fast_as_prestos),
    ("S6", columns::codecs),
    ("S7", records::sizes),
    ("S8", records::small),
    ("S9", columns::beside_memory),
    ("S10", placed::layout),
    ("S11", sampled::rows),
    ("S12", arithmetic::random_chains),
    ("S13", placed::slow_disk),
    ("S14", placed::few_epochs),
    ("S15", same::rows),
    ("S16", arithmetic::planning),
];

pub(crate) use same::{CHILD, as_child};

/// The rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let wanted: Vec<String> = env::args().skip(2).collect();
    let is_wanted = |id: &str| wanted.is_empty() || wanted.iter().any(|it| it == id);
    ALL.into_iter().filter(|it| is_wanted(it.0)).flat_map(|it| it.1()).collect()
}
