//! Stages that run once, for an operator that keeps what it made of their records.

use super::{
    check,
    library::{Draft, Kept, serial},
    options, run,
};
use crate::{Chunk, Failure, Operator, OperatorCall, Running, Wants};
use plan::StageId;
use std::sync::{Arc, OnceLock};

pub(super) fn keeping(call: &OperatorCall<'_>) -> Running {
    let kept = call.kept.map_or_else(Arc::default, crate::Kept::get);
    serial(Keeping { call: Kept::of(call), kept, sum: 0, over: false })
}

/// Adds the sum of the second input to each record of the first one.
struct Keeping {
    call: Kept,
    kept: Arc<OnceLock<i64>>,
    sum: i64,
    over: bool,
}

impl Operator for Keeping {
    fn wants(&self) -> Wants {
        match self.kept.get() {
            _ if self.over => Wants::Nothing,
            Some(_) => Wants::Input(0),
            None => Wants::Input(1),
        }
    }

    fn push(
        &mut self,
        input: usize,
        chunk: Option<Chunk>,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Failure> {
        match (input, chunk) {
            (1, Some(it)) => {
                self.sum += (0..it.rows).map(|row| it.columns[0].row(row).int()).sum::<i64>();
            }
            (1, None) => self.kept.set(self.sum).expect("it is read once"),
            (_, None) => self.over = true,
            (_, Some(it)) => {
                let mut sums = self.call.builder();
                for row in 0..it.rows {
                    sums.ids.push_scalar(it.ids()[row]);
                    sums.columns[0].push_scalar(it.columns[0].row(row).int() + self.sum_of_all());
                }
                out.push(sums.finish());
            }
        }
        Ok(())
    }
}

impl Keeping {
    fn sum_of_all(&self) -> i64 {
        *self.kept.get().expect("the second input comes first")
    }
}

/// 200 numbers, each with the sum of others, which are the same in every epoch; what comes after that is `then`.
fn kept(sources: [&str; 2], then: impl FnOnce(&mut Draft, StageId)) -> Draft {
    let mut draft = Draft::default();
    let source = draft.source(sources[0], &[200]);
    let others = draft.source(sources[1], &[50]);
    let burnt = draft.map("burn", 1, others);
    let others = draft.operator("rechunk", &[], &[burnt]);
    draft.once.push(others);
    let both = draft.operator("keeping", &[], &[source, others]);
    then(&mut draft, both);
    draft
}

#[test]
fn what_is_the_same_in_every_epoch_runs_once() {
    for sources in [["numbers", "numbers"], ["streamed", "found"], ["numbers", "read"]] {
        let output = check(kept(sources, |_, _| {}), 4);
        let sum: i64 = (0..50).map(|it| 3 * it + 1).sum();
        let one: Vec<i64> = (0..200).map(|it| it + sum).collect();
        assert_eq!(output.values(), one.repeat(4));
        let program = kept(sources, |_, _| {}).program();
        let stats = run(&program, &options(2, 7, 0..4)).1;
        let records: Vec<u64> = stats.stages.iter().map(|it| it.records).collect();
        assert_eq!(records[..4], [800, 50, 50, 50], "of {sources:?}");
    }
}

/// What reads it stops before it has come to its end, in some of the epochs or in all.
#[test]
fn what_runs_once_can_be_given_up() {
    for n in [0, 3] {
        for sources in [["numbers", "numbers"], ["streamed", "found"], ["numbers", "read"]] {
            let then = |draft: &mut Draft, both| {
                draft.operator("take", &[n], &[both]);
            };
            assert_eq!(check(kept(sources, then), 6).records.len() as i64, 6 * n);
        }
    }
}
