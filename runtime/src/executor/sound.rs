//! Whether a program can be run at all: it may come from a file.

use crate::Failure;
use plan::{Code, FORMAT, Index, Lanes, Program};

/// Sees to it that the program is a tree of stages: it may come from a file.
pub(super) fn verify(program: &Program) -> Result<(), Failure> {
    let wrong = |what: String| Err(Failure::Program(format!("the program is damaged: {what}")));
    if program.format != FORMAT {
        let found = program.format;
        return wrong(format!("its format is {found}, but this build reads format {FORMAT}"));
    }
    let mut n_readers = vec![0; program.stages.len()];
    for (id, stage) in program.stages.iter() {
        let inputs_fit = match stage.code {
            Code::Source { .. } => stage.inputs.is_empty(),
            Code::Transform(_) => stage.inputs.len() == 1,
            Code::Operator { .. } => true,
        };
        if !inputs_fit || stage.inputs.iter().any(|&it| it >= id) {
            return wrong(format!("stage {id} has invalid inputs"));
        }
        stage.inputs.iter().for_each(|it| n_readers[it.row()] += 1);
    }
    match n_readers.split_last() {
        Some((0, rest)) if rest.iter().all(|&it| it == 1) => {}
        Some(_) => return wrong("its stages are not a tree".into()),
        None => return wrong("it has no stages".into()),
    }
    if program.once.iter().any(|it| it.row() + 1 >= program.stages.len()) {
        return wrong("a stage that runs once has no reader".into());
    }
    if are_lanes_apart(program) { Ok(()) } else { wrong("its lanes are invalid".into()) }
}

/// Whether the stages of lanes are trees, none of which is a part of another.
fn are_lanes_apart(program: &Program) -> bool {
    let mut in_lanes = vec![false; program.stages.len()];
    program.lanes.iter().all(|lanes| {
        let fits = lanes.stage.row() < in_lanes.len() && (1..=Lanes::MAX).contains(&lanes.count);
        fits && lanes.stages(&program.stages).into_iter().all(|it| {
            let is_new = !std::mem::replace(&mut in_lanes[it.row()], true);
            is_new && !program.once.contains(&it)
        })
    })
}
