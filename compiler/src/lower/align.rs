//! Streams that stand side by side must stay so: `zip` is aligned before anything is skipped
//! (`semantics.md`, 9).

use crate::{
    analysis::{
        role::{Role, role},
        total::lets_go,
    },
    errors::lower as errors,
    registry::Registry,
};
use plan::{Diagnostic, OpId, Plan};
use std::collections::BTreeSet;

/// The places where a record that is skipped would misalign a `zip`.
pub(crate) fn misaligned(plan: &Plan, registry: &Registry) -> Vec<Diagnostic> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (_, zip) in plan.ops.iter().filter(|(_, op)| role(op, registry) == Role::Zip) {
        let mut open: Vec<OpId> = zip.inputs.clone();
        while let Some(id) = open.pop() {
            let op = &plan.ops[id];
            if lets_go(op, registry) && seen.insert(id) {
                found.push(errors::misaligns(op.at, zip.at));
            }
            open.extend(&op.inputs);
        }
    }
    found
}
