//! What operators hold of whole streams, as far as it is known how much that is.

use super::figures::bytes;
use crate::{
    analysis::{
        role::{Role, role},
        varies::is_same_in_epochs,
    },
    check::by_file::is_by_file,
    estimate::{Estimate, Figure, Origin, Outlook},
    registry::Registry,
};
use model::network::Amount;
use plan::{Index, Plan, count};

/// A sentence for each, and the bytes of all whose records are counted.
pub(super) fn held(
    plan: &Plan,
    registry: &Registry,
    (estimate, outlook): (&Estimate, Option<&Outlook>),
) -> (Vec<String>, Figure) {
    let counts = outlook.map_or(Vec::new(), |it| it.network.cardinalities());
    let needed = plan.needed();
    let mut all = (Vec::new(), Figure::default());
    for (_, op) in plan.ops.iter().filter(|(id, _)| needed[id.row()]) {
        let (Role::Join { .. }, Some(&second)) = (role(op, registry), op.inputs.get(1)) else {
            continue;
        };
        if is_by_file(op, registry) {
            all.0.push(format!(
                "the second stream of {}: a file at a time, of those in use",
                op.step
            ));
            continue;
        }
        let each = estimate.steps[second.row()].bytes;
        let is_known = |it: &Outlook| it.counts.get(second.row()) != Some(&Origin::Assumed);
        let records = match counts.get(second.row()) {
            Some(Amount::Finite(n)) if outlook.is_some_and(is_known) => Some(*n),
            _ => None,
        };
        let how_much = match records {
            Some(n) => {
                let whole = each.times(n);
                all.1 = all.1 + whole;
                format!("{} records, {}", count(n as u64), bytes(whole))
            }
            None => format!("{} for each record", bytes(each)),
        };
        let once = if is_same_in_epochs(plan, second, registry) { "run" } else { "epoch" };
        let step = &op.step;
        all.0.push(format!("the second stream of {step}, read once per {once}: {how_much}"));
    }
    all
}
