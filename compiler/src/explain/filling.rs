//! How much of sequences and of padded batches is padding, and how many tokens that makes in a second.

use super::figures::{percent, rough as rate};
use crate::{
    analysis::role::packed,
    estimate::{Estimate, Figure},
    registry::Registry,
};
use plan::{Index, OpId, Plan, count};
use serde::Serialize;

/// How full what leaves a step is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Filling {
    /// The step.
    pub step: String,
    /// Of sequences: the fields that are packed, and how many elements of each one has. None of batches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lengths: Vec<(String, u64)>,
    /// The share of all elements that are of records, 0 to 1: the others are padding. None where nobody knows.
    pub filled: Option<Figure>,
    /// Elements of records in a second, as long as nothing is cached.
    pub elements_per_second: Option<Figure>,
}

/// What is known of each step that pads, for so many outputs in a second.
pub(super) fn fillings(
    plan: &Plan,
    registry: &Registry,
    (estimate, outputs): (&Estimate, Figure),
) -> Vec<Filling> {
    let mut all = Vec::new();
    for (id, op) in plan.ops.iter() {
        let step = &estimate.steps[id.row()];
        let lengths = packed(op, registry).map_or(Vec::new(), |it| it.lengths);
        if step.filled.is_none() && lengths.is_empty() {
            continue;
        }
        let each = step.filled.map(|it| it.elements.times(left(plan, estimate, id)));
        let per_second = each.map(|it| Figure {
            value: it.value * outputs.value,
            origin: it.origin.max(outputs.origin),
        });
        all.push(Filling {
            step: step.step.clone(),
            lengths,
            filled: step.filled.map(|it| it.share),
            elements_per_second: per_second.filter(|it| it.value.is_finite()),
        });
    }
    all
}

/// Records that leave `op` for each that leaves the pipeline.
fn left(plan: &Plan, estimate: &Estimate, op: OpId) -> f64 {
    let reader = plan.ops.iter().find(|(_, it)| it.inputs.contains(&op));
    reader.map_or(1.0, |(it, _)| estimate.steps[it.row()].visits.value)
}

impl Filling {
    /// What it is called in a list.
    pub(super) fn label(&self) -> &'static str {
        if self.lengths.is_empty() { "padding" } else { "sequences" }
    }

    /// `p.pack#1: 2,049 of ids, 100% filled: ~29 M tokens/s`
    pub(super) fn text(&self) -> String {
        let Self { step, lengths, filled, elements_per_second } = self;
        let share = |of: f64, it: Figure| format!("{}{}", it.mark(), percent(of));
        let each: Vec<String> =
            lengths.iter().map(|(name, n)| format!("{} of {name}", count(*n))).collect();
        let filled = match (filled, self.label()) {
            (Some(it), "padding") => {
                format!("{} padding", share(1.0 - it.value, *it))
            }
            (Some(it), _) => format!("{}, {} filled", each.join(", "), share(it.value, *it)),
            (None, _) => {
                format!("{}, padding not known: run `pipec profile`", each.join(", "))
            }
        };
        let things = if lengths.is_empty() { "elements" } else { "tokens" };
        let per_second = elements_per_second.map(|it| format!(", {} {things}/s", rate(it)));
        format!("{step}: {filled}{}", per_second.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Origin;

    #[test]
    fn what_is_not_known_is_not_said() {
        let figure = |value| Figure { value, origin: Origin::Measured };
        let lengths = vec![("source".to_owned(), 256), ("target".to_owned(), 2_049)];
        let mut filling = Filling {
            step: "p.pack#1".to_owned(),
            lengths,
            filled: None,
            elements_per_second: None,
        };
        let unknown =
            "p.pack#1: 256 of source, 2,049 of target, padding not known: run `pipec profile`";
        assert_eq!(filling.text(), unknown);
        (filling.filled, filling.elements_per_second) = (Some(figure(0.97)), Some(figure(2.9e7)));
        assert_eq!(
            filling.text(),
            "p.pack#1: 256 of source, 2,049 of target, 97% filled, 29 M tokens/s"
        );
        let padded = Filling { lengths: Vec::new(), filled: Some(Figure::assumed(0.8)), ..filling };
        assert_eq!(padded.text(), "p.pack#1: ~20% padding, 29 M elements/s");
        assert_eq!(padded.label(), "padding");
    }
}
