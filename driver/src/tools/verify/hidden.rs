//! Records that fail in the plain plan only, which is no mistake.
//!
//! Where a part of a value is used, the optimised plan makes that part alone. A fault in the rest of it, such as a
//! JPEG that is damaged below the crop, is one that it never meets, and need not: what nobody uses is not computed.
//! Then the two plans lose different records, and all that follows is put together of others. To tell that from a
//! mistake of a rewrite, the same optimised plan is run once more with whole values: it must lose the same records
//! as the plain one, and give the same.

use super::{Pair, Side, lowered};
use crate::session::samples::{self, SampleProgress};
use plan::{Plan, Program};
use runtime::{Failure, Options, Run};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

/// Records that are remembered of a run; beyond them nothing is told apart.
const LOST_MAX: usize = 1 << 16;

/// A record that fails in the plain plan only.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hidden {
    /// As a person would name it.
    pub record: String,
    /// Why it fails there.
    pub reason: String,
}

/// A pair that differs in its records, once more with whole values.
///
/// The difference stays unless it is explained: with whole values both plans give the same, some records fail
/// in the plain plan only, and none in the optimised one only.
pub(super) fn judged(
    found: Pair,
    side: &Side<'_>,
    (plain, optimised): (&Program, &Program),
    sample: &mut dyn FnMut(&SampleProgress),
) -> Result<Pair, Failure> {
    let mut whole = lowered(side.compiled, &with_whole_values(&side.compiled.optimised.plan))?;
    samples::resolve(&mut whole, sample)?;
    let way = Options { told_of_losses: true, ..side.way.clone() };
    let side = Side { compiled: side.compiled, options: side.options, way };

    let (plain, lost) = watched(side.plain(plain)?);
    let mut again = side.compared([plain, side.optimised(&whole)?], &whole)?;
    if again.interrupted || again.difference.is_some() {
        return Ok(Pair { interrupted: again.interrupted, ..found });
    }
    let (optimised, kept) = watched(side.optimised(optimised)?);
    let end = run_to_end(optimised, side.options.limit);
    let (lost, kept) = (taken(&lost), taken(&kept));
    let too_many = lost.len().max(kept.len()) >= LOST_MAX;
    if too_many || kept.keys().any(|it| !lost.contains_key(it)) {
        return Ok(found);
    }
    let of_plain = lost.into_iter().filter(|it| !kept.contains_key(&it.0));
    again.hidden = of_plain.map(|(record, reason)| Hidden { record, reason }).collect();
    // The plain one may have ended there, where the program says nothing of such records.
    if end.is_ok()
        && let Some(failure) = again.failure.take()
    {
        let record = failure.to_string();
        again.hidden.push(Hidden { record, reason: "the run ends there".to_owned() });
    }
    Ok(if again.hidden.is_empty() { found } else { again })
}

/// The same plan, in which no value is made in part.
fn with_whole_values(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for op in plan.ops.ids() {
        plan.ops[op].graph.parts = false;
    }
    plan
}

/// Records that were lost, and why.
type Lost = Arc<Mutex<BTreeMap<String, String>>>;

fn watched(mut run: Run) -> (Run, Lost) {
    let lost = Lost::default();
    let to = lost.clone();
    run.on_lost(Box::new(move |records| {
        let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
        for it in records {
            if to.len() < LOST_MAX {
                to.insert(it.record, format!("{}: {}", it.label, it.fault));
            }
        }
        Ok(())
    }));
    (run, lost)
}

fn taken(lost: &Lost) -> BTreeMap<String, String> {
    mem::take(&mut *lost.lock().unwrap_or_else(PoisonError::into_inner))
}

fn run_to_end(run: Run, limit: Option<u64>) -> Result<(), Failure> {
    let mut outputs = 0;
    for chunk in run {
        outputs += chunk?.rows as u64;
        if limit.is_some_and(|it| outputs >= it) {
            break;
        }
    }
    Ok(())
}
