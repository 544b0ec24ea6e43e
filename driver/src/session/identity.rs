//! What a plan is: a number for each step, whatever its place in the text and however it is run
//! (`semantics.md`, 13).

use plan::{Arg, Expr, Library, Op, OpKind, Plan, Program, Span};
use runtime::Fingerprint;
use serde::Serialize;

/// The identity of a plan as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanHash {
    /// Of all of it: BLAKE3, the first 128 bits.
    pub whole: u128,
    /// Of each step, with its name: 32 bits, to say which one has changed.
    pub steps: Vec<(String, u32)>,
}

/// The identity of `plan`: what is computed, and the versions of what computes it.
///
/// The files that a source names are left out: they are known by their fingerprint, so that a data
/// set may be moved.
pub fn plan_hash(plan: &Plan, library: &Library) -> PlanHash {
    let mut whole = blake3::Hasher::new();
    let mut steps = Vec::with_capacity(plan.ops.len());
    whole.update(plan.name.as_bytes());
    for (_, op) in plan.ops.iter() {
        let step = hash_of(&(canonical(op), versions(op, library)));
        whole.update(&step);
        steps.push((op.step.clone(), u32::from_le_bytes([step[0], step[1], step[2], step[3]])));
    }
    PlanHash { whole: number(whole), steps }
}

/// What the stages of a program are: the form of a saved position.
pub(crate) fn structure(program: &Program) -> u32 {
    let stage = |it: &plan::Stage| match &it.code {
        plan::Code::Source { entry, shuffles, spans, windows, .. } => {
            let spans = spans.map(|it| format!(" spans {}", it.open)).unwrap_or_default();
            let length = windows.as_ref().map(|it| format!(" windows {}", it.length));
            let windows = length.unwrap_or_default();
            (format!("source {entry} {}{spans}{windows}", shuffles.is_empty()), it.inputs.clone())
        }
        plan::Code::Transform(_) => ("transform".to_owned(), it.inputs.clone()),
        plan::Code::Operator { entry, .. } => (format!("operator {entry}"), it.inputs.clone()),
    };
    let stages: Vec<_> = program.stages.rows().iter().map(stage).collect();
    let hash = match &program.lanes[..] {
        [] => hash_of(&stages),
        lanes => hash_of(&(stages, lanes)),
    };
    u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]])
}

/// One number for the inputs of all sources, in the order of the program.
pub(crate) fn inputs_hash(inputs: &[Fingerprint]) -> u128 {
    let mut whole = blake3::Hasher::new();
    for it in inputs {
        whole.update(&it.hash.to_le_bytes());
    }
    number(whole)
}

/// One number for what the sources of a plan name, such as their paths: [`plan_hash`] leaves that out.
pub(crate) fn sources_hash(plan: &Plan) -> u64 {
    let args = plan.ops.iter().filter_map(|(_, op)| match &op.kind {
        OpKind::Source { args, .. } => Some(args),
        _ => None,
    });
    let hash = hash_of(&args.collect::<Vec<_>>());
    u64::from_le_bytes(hash[..8].try_into().expect("a hash has more bytes"))
}

/// The step without what does not matter.
fn canonical(op: &Op) -> Op {
    let mut op = Op { at: Span::default(), ..op.clone() };
    if let OpKind::Source { args, .. } = &mut op.kind {
        args.iter_mut().for_each(forget_text);
    }
    op
}

fn forget_text(arg: &mut Arg) {
    match arg {
        Arg::Text(text) => text.clear(),
        Arg::List(all) => all.iter_mut().for_each(forget_text),
        _ => {}
    }
}

/// The versions of the entries that a step uses.
fn versions(op: &Op, library: &Library) -> Vec<(String, u32)> {
    let called = op.graph.iter().filter_map(|(_, expr, _)| match expr {
        Expr::Call { function, .. } => Some(function.as_str()),
        _ => None,
    });
    let own = match &op.kind {
        OpKind::Source { entry, .. } | OpKind::Operator { entry, .. } => Some(entry.as_str()),
        _ => None,
    };
    let entries = || [library.functions, library.operators, library.sources].into_iter().flatten();
    let version = |name: &str| entries().find(|it| it.name() == name).map_or(0, |it| it.version);
    called.chain(own).map(|it| (it.to_owned(), version(it))).collect()
}

fn hash_of(what: &impl Serialize) -> [u8; 32] {
    let text = serde_json::to_vec(what).expect("a plan has nothing that JSON cannot say");
    blake3::hash(&text).into()
}

fn number(hasher: blake3::Hasher) -> u128 {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    u128::from_le_bytes(bytes)
}
