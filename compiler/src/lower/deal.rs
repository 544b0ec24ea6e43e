//! Where several runs can share the work: after the last stage that decides which records come
//! into which batch.

use super::Lowering;
use crate::analysis::role::{batch_rows, taken, window};
use plan::{Arg, Code, DType, Deal, Lanes, OwnLanes, StageId};

/// How the lowered program is dealt, which has these lanes.
pub(super) fn of(lowering: &Lowering<'_>, lanes: &[Lanes]) -> Deal {
    let stages = &lowering.stages;
    let mut stage = stages.ids().last().expect("a program has a stage");
    let (mut batch, mut windows) = (None, None);
    loop {
        if lanes.iter().any(|it| it.stage == stage) {
            break;
        }
        let input = || stages[stage].inputs[0];
        match &stages[stage].code {
            Code::Transform(_) if lowering.keep_all.contains(&stage) => stage = input(),
            Code::Operator { .. } if windows.is_none() && window_of(lowering, stage).is_some() => {
                windows = window_of(lowering, stage);
                stage = input();
            }
            Code::Operator { entry, args, .. } if batch.is_none() && windows.is_none() => {
                let n_inputs = stages[stage].inputs.len();
                let rows = batch_rows(lowering.registry, (entry, args), n_inputs);
                let Some(rows) = rows else { break };
                batch = Some((rows, keeps_tail(lowering, entry, args)));
                stage = input();
            }
            _ => break,
        }
    }
    let own = match &stages[stage].code {
        Code::Operator { entry, args, .. } => keeps_tail(lowering, entry, args),
        // Records that leave one by one: none is left out.
        _ => true,
    };
    let (rows, keeps_tail) = batch.unwrap_or((1, own));
    let rows = rows.saturating_mul(windows.unwrap_or(1));
    let valid = valid(lowering);
    // A batch of nothing evens out what only all lanes tell.
    let own = own_lanes(lowering, lanes).filter(|it| it.take.is_none() || valid.is_none());
    Deal { stage, rows, windows, keeps_tail, valid, own }
}

/// Records of a window, where the stage puts windows together whose records come window after window.
fn window_of(lowering: &Lowering<'_>, stage: StageId) -> Option<u64> {
    let op = lowering.moved.windows.iter().find(|it| lowering.heads.get(it) == Some(&stage))?;
    window(&lowering.plan.ops[*op], lowering.registry)
}

/// The lanes that runs can divide, where they never end, or end after so many batches.
fn own_lanes(lowering: &Lowering<'_>, lanes: &[Lanes]) -> Option<OwnLanes> {
    let stages = &lowering.stages;
    let mut stage = stages.ids().last().expect("a program has a stage");
    let (mut has_batch, mut take) = (false, None);
    let lanes = loop {
        if let Some(lanes) = lanes.iter().find(|it| it.stage == stage) {
            break lanes;
        }
        match &stages[stage].code {
            Code::Transform(_) if lowering.keep_all.contains(&stage) => {}
            Code::Operator { entry, args, .. } => {
                let n_inputs = stages[stage].inputs.len();
                match batch_rows(lowering.registry, (entry, args), n_inputs) {
                    Some(_) if !has_batch => has_batch = true,
                    None if !has_batch && take.is_none() => {
                        take = Some(taken(lowering.registry, (entry, args))?);
                    }
                    _ => return None,
                }
            }
            _ => return None,
        }
        stage = *stages[stage].inputs.first()?;
    };
    let mut sources = lanes.sources(stages).into_iter();
    let is_endless = sources.all(|it| matches!(stages[it].code, Code::Source { laps: None, .. }));
    (has_batch && (is_endless || take.is_some())).then_some(OwnLanes { stage, take })
}

/// Whether an operator gives out what is left at the end.
fn keeps_tail(lowering: &Lowering<'_>, entry: &str, args: &[Arg]) -> bool {
    let entry = lowering.registry.operator(entry);
    let tail = entry.and_then(|entry| lowering.registry.argument(entry, args, "tail"));
    !matches!(tail, Some(Arg::Word(it)) if it == "drop")
}

/// The column that says which rows of a batch are records.
fn valid(lowering: &Lowering<'_>) -> Option<u32> {
    let fields = lowering.plan.output();
    let is_valid = |it: &plan::Field| {
        it.name == "valid"
            && it.ty.dtype() == Some(DType::Bool)
            && it.ty.shape().is_some_and(|it| it.len() == 1)
    };
    fields.iter().position(is_valid).and_then(|it| u32::try_from(it).ok())
}
