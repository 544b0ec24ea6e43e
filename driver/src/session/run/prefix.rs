//! The part of a program that makes values which are cached: what `prepare` runs.
//!
//! Where nothing in it depends on the order of the records, they come as they lie in their files, so that nothing is read
//! here and there. No record comes twice.

use compiler::caches::Candidate;
use plan::{
    Action, Code, Deal, Field, IdVec, Index, Lanes, Library, Policy, Program, Records, Stage,
    StageId, Transform, parts::Keep,
};

/// A part of a program.
pub(super) struct Prefix {
    pub(super) program: Program,
    /// The number that each stage has in it, where it is there.
    numbers: Vec<Option<StageId>>,
}

impl Prefix {
    /// The part of `program` up to the stage `end` that makes `values`, which are all that leaves it.
    pub(super) fn of(
        program: &Program,
        (end, values): (StageId, &[&Candidate]),
        library: &Library,
    ) -> Self {
        let action = |stage: &Stage| match &stage.code {
            Code::Operator { entry, .. } => library.operator(entry)?.action(),
            _ => None,
        };
        let needed = above(program, end);
        let is_operator = |it: &StageId| {
            needed[it.row()] && matches!(program.stages[*it].code, Code::Operator { .. })
        };
        let is_free = |it: StageId| {
            matches!(action(&program.stages[it]), Some(Action::Shuffle | Action::Repeat))
        };
        let in_order = program.stages.ids().filter(is_operator).all(is_free);
        let passed_over = |stage: &Stage| match action(stage) {
            Some(Action::Repeat) => true,
            Some(Action::Shuffle) => in_order,
            _ => false,
        };
        let mut numbers: Vec<Option<StageId>> = Vec::new();
        let mut stages = IdVec::new();
        for (id, stage) in program.stages.iter() {
            let number = match (needed[id.row()], stage.inputs.first()) {
                (false, _) => None,
                (true, Some(input)) if passed_over(stage) => numbers[input.row()],
                (true, _) => {
                    let mut stage = stage.clone();
                    if id == end {
                        ends_with(&mut stage, values);
                    }
                    renumber(&mut stage, &numbers);
                    once(&mut stage, in_order);
                    Some(stages.push(stage))
                }
            };
            numbers.push(number);
        }
        let of = |it: &StageId| numbers[it.row()];
        let all = |it: &Vec<StageId>| it.iter().map(of).collect::<Option<Vec<_>>>();
        let last = stages.ids().last().expect("the stage of the value is there");
        let is_shown = |it: &&Field| !it.name.starts_with('$');
        let lanes = program.lanes.iter().filter(|_| !in_order);
        let program = Program {
            output: stages[last].columns.iter().filter(is_shown).cloned().collect(),
            batched: false,
            deal: Deal::each(last),
            lanes: lanes.filter_map(|it| Some(Lanes { stage: of(&it.stage)?, ..*it })).collect(),
            beside: program.beside.iter().filter_map(all).collect(),
            once: program.once.iter().filter_map(of).collect(),
            stages,
            ..program.clone()
        };
        Self { program, numbers }
    }

    /// Lets its source deal the records to several runs, where each is worked on alone from there on: then each run computes
    /// no more than it gives.
    pub(super) fn deals_at_its_source(&mut self) {
        let mut stages = self.program.stages.iter();
        let is_source = matches!(stages.next().map(|it| &it.1.code), Some(Code::Source { .. }));
        if is_source && stages.all(|it| matches!(it.1.code, Code::Transform(_))) {
            self.program.deal = Deal::each(StageId(0));
        }
    }

    /// The number of a stage of the whole program.
    pub(super) fn number(&self, stage: StageId) -> StageId {
        self.numbers[stage.row()].expect("what a value is made of is above it")
    }
}

/// Whether each stage is `last`, or above it.
fn above(program: &Program, last: StageId) -> Vec<bool> {
    let mut needed = vec![false; program.stages.len()];
    needed[last.row()] = true;
    for (id, stage) in program.stages.iter().rev() {
        if needed[id.row()] {
            stage.inputs.iter().for_each(|it| needed[it.row()] = true);
        }
    }
    needed
}

/// Lets nothing but `values` leave a stage. The index of a value is made where parts of that are used, so what uses them
/// stays.
fn ends_with(stage: &mut Stage, values: &[&Candidate]) {
    let Code::Transform(transform) = &mut stage.code else { return };
    transform.into_batch = None;
    // What becomes of a record that fails is said behind the value, and a matter of the run.
    transform.on_fault = Policy::Skip { most: 1.0 };
    if values.iter().any(|it| it.keep == Keep::Index) {
        return;
    }
    let field = |(at, it): (usize, &&Candidate)| {
        let (name, ty) = (format!("value{at}"), transform.graph.ty(it.node).clone());
        Field { name, ty }
    };
    stage.columns = values.iter().enumerate().map(field).collect();
    transform.outputs = Records::Listed(vec![values.iter().map(|it| it.node).collect()]);
}

fn renumber(stage: &mut Stage, numbers: &[Option<StageId>]) {
    let of = |it: &StageId| numbers[it.row()];
    stage.inputs = stage.inputs.iter().filter_map(of).collect();
    if let Code::Transform(Transform { another, .. }) = &mut stage.code {
        *another = another.iter().filter_map(of).collect();
    }
}

/// Lets a source be passed through once; in the order of its records, if it is that of no meaning.
fn once(stage: &mut Stage, in_order: bool) {
    if let Code::Source { laps, shuffles, spans, windows, .. } = &mut stage.code {
        *laps = Some(1);
        if in_order {
            (*shuffles, *spans) = (Vec::new(), None);
            windows.iter_mut().for_each(|it| it.shuffles.clear());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{
        compile::{Settings, compile},
        load::Loaded,
        run::{keeping::cache_point, prepare::moved},
    };
    use compiler::caches::candidates;
    use runtime::Cache;
    use std::{path::Path, sync::Arc};

    /// Every value that can be cached is there once its part has run: the whole program makes none of them.
    #[test]
    fn a_part_makes_all_that_the_whole_needs() {
        let library = stdlib::library();
        let mut n_values = 0;
        for text in [
            "range(40) |> shuffle |> map { x: sum(arange(i + 1)), u: uniform(0.0, 1.0) } |> batch(8)",
            "range(40) |> repeat(3) |> where i % 3 != 0 |> map { x: sum(arange(i + 1)) } |> batch(8)",
            "range(40) |> shuffle |> map { x: sum(arange(12 // (i % 5))) else another(most: 1.0) } |> batch(8)",
            "range(40) |> shuffle |> map { x: sum(arange(12 // (i % 5))) else skip(most: 1.0) } |> shuffle(window: 5) |> map { y: sum(arange(x + 2)), x }",
            "range(40) |> shuffle |> take(12) |> map { x: sum(arange(i + 1)) }",
            "range(10) |> repeat |> map { x: sum(arange(i + 1)) } |> take(25) |> batch(5)",
            "range(40, lanes: 4) |> shuffle(window: 5) |> map { x: sum(arange(i + 1)) } |> batch(4)",
            "range(40) |> map { x: sum(arange(i + 1)) } |> windows(length: 4) |> shuffle",
            "zip({ a: range(20) |> map { x: sum(arange(i + 1)) }, b: range(20) }) |> shuffle |> map { y: sum(arange(a.x + 2)), z: b.i }",
            "concat([range(5), range(6)]) |> map { x: sum(arange(i + 1)) } |> batch(2)",
            "range(8) |> flat_map [{ x: sum(arange(i + 1)) }, { x: i }] |> map { y: sum(arange(x + 1)) }",
        ] {
            let loaded = Loaded::from_text(Path::new("t.pipe"), format!("pipeline p = {text}\n"));
            let compiled = compile(&loaded, &Settings::default()).expect(text);
            let found = candidates(&compiled.optimised.plan, &library, (None, 0.0)).expect(text);
            let found: Vec<Candidate> =
                found.into_iter().filter(|it| it.refused.is_none()).collect();
            assert!(!found.is_empty(), "{text}");
            for value in found {
                let prefix = Prefix::of(&compiled.program, (value.stage, &[&value]), &library);
                let cache = Arc::new(Cache::new(1 << 28));
                let point = cache_point(&value, cache.clone());
                let run = |program, points: &[_]| {
                    let options = runtime::Options::default();
                    let mut run = runtime::start(program, &stdlib::Kernels, &options).expect(text);
                    run.keep(points).expect(text);
                    run.map(|it| it.expect(text).rows).sum::<usize>()
                };
                let rows = run(&prefix.program, &[moved(point.clone(), &prefix)]);
                let before = cache.stats();
                assert!(before.entries > 0 && rows > 0, "{text}: {}", value.function);
                run(&compiled.program, &[point]);
                let after = cache.stats();
                assert_eq!(after.entries, before.entries, "{text}: {}", value.function);
                assert!(after.hits > before.hits, "{text}: {}", value.function);
                n_values += 1;
            }
        }
        assert!(n_values > 15, "{n_values}");
    }
}
