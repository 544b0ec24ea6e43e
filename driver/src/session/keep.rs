//! Which values a pipeline keeps: how often each record comes, and how much memory there is for them.

use crate::session::{compiled::Compiled, lock::Chosen};
use compiler::caches::{Budget, Candidate, Choice, Disk, Occasion, SAVES_MIN, candidates, choose};
use plan::{Code, Measured, Program, StageId};
use runtime::{Failure, Run};
use std::collections::BTreeMap;

/// What a choice of what is kept is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// How often each record comes.
    pub(crate) passes: f64,
    /// Bytes that a run may take.
    pub(crate) memory: u64,
    /// Where values may be kept from run to run.
    pub(crate) disk: Option<Disk>,
}

impl Asked {
    /// Bytes of memory for the tables of what is on disk.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.disk.map_or(0, |_| self.memory / TABLE_PART)
    }
}

/// The part of the memory that the tables of what is on disk may take.
const TABLE_PART: u64 = 16;

impl Compiled {
    /// What a run of so many passes keeps, where it may take `memory`, and what not and why.
    pub(crate) fn kept(
        &self,
        pass_lens: &BTreeMap<StageId, u64>,
        asked: Asked,
        (measured, lock): (Option<&Measured>, Option<&Chosen>),
    ) -> Result<Vec<Choice>, Failure> {
        let library = stdlib::library();
        let pins = |of: fn(&Chosen) -> &Vec<String>| lock.map_or(Vec::new(), |it| of(it).clone());
        let (pinned, forbidden) = (pins(|it| &it.keep), pins(|it| &it.forbid));
        let are_named = !pinned.is_empty() || !forbidden.is_empty();
        // Who names a value means it, however little it saves.
        let least = if are_named { 0.0 } else { SAVES_MIN };
        let found = candidates(&self.optimised.plan, &library, (measured, least));
        let mut found = found.unwrap_or_default();
        if let Some(name) = pinned.iter().chain(&forbidden).find(|it| !is_one_of(it, &found)) {
            return Err(no_such_value(name, &found));
        }
        let is_dear = |it: &Candidate| it.saves.value >= SAVES_MIN;
        found.retain(|it| !are_named || is_dear(it) || pinned.contains(&it.value_name()));
        let Asked { passes, memory, disk } = asked;
        let other = reserve(self, memory) + asked.table_bytes();
        let (room, pass_lens) = (memory.saturating_sub(other), pass_lens.clone());
        Ok(choose(found, &Occasion { pass_lens, passes, room, disk, pinned, forbidden }))
    }
}

fn is_one_of(name: &str, found: &[Candidate]) -> bool {
    found.iter().any(|it| it.value_name() == name)
}

fn no_such_value(name: &str, found: &[Candidate]) -> Failure {
    let names: Vec<String> = found.iter().map(|it| format!("`{}`", it.value_name())).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Failure::Program(format!(
        "the lock file names `{name}`, which is not a value of this pipeline: the values are \
         {names}; correct the lock file, or run `pipec tune` again"
    ))
}

/// Bytes of memory that a run may need for all but what it keeps.
pub(crate) fn needed(compiled: &Compiled) -> u64 {
    Budget::own_of(compiled.optimised.estimate.memory.total().value)
}

/// The same, of `memory`.
pub(crate) fn reserve(compiled: &Compiled, memory: u64) -> u64 {
    needed(compiled).min(memory)
}

/// Records of a pass through each source, where they are known; lists the files.
pub(crate) fn lens(run: &Run, program: &Program) -> Result<BTreeMap<StageId, u64>, Failure> {
    Ok(by_stage(program, &run.pass_lens()?))
}

/// The same of a run that has been asked already, by its sources in order.
pub(crate) fn by_stage(program: &Program, lens: &[Option<u64>]) -> BTreeMap<StageId, u64> {
    let is_source = |it: &plan::Stage| matches!(it.code, Code::Source { .. });
    let sources = program.stages.iter().filter(|(_, it)| is_source(it)).map(|it| it.0);
    sources.zip(lens).filter_map(|(id, len)| Some((id, (*len)?))).collect()
}

/// How often the source that is repeated most is passed through in an epoch.
pub(crate) fn laps(program: &Program) -> f64 {
    let laps = program.stages.iter().filter_map(|(_, it)| match it.code {
        Code::Source { laps, .. } => Some(laps.map_or(f64::INFINITY, |it| it as f64)),
        _ => None,
    });
    laps.fold(1.0, f64::max)
}
