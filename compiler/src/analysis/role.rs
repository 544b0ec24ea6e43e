//! The operators that a program has a form of its own for: the source or the stage before does
//! what they say. Which they are, the library says ([`Action`]); what their arguments make of it, is
//! known here.

use super::size::AXIS;
use crate::registry::Registry;
use plan::{Action, Arg, Entry, Index, Op, OpKind, Plan};

/// What an operator means to the compiler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// A source.
    Source,
    /// `map`, `with`.
    Map,
    /// `where`.
    Where,
    /// `flat_map`.
    FlatMap,
    /// `shuffle` without a window: a permutation of the index.
    Permute,
    /// `shuffle(window: n)`.
    ShuffleWithin(u64),
    /// The first `n` records.
    Take(u64),
    /// All but the first `n` records.
    Skip(u64),
    /// So many times over; `None` is for ever.
    Repeat(Option<u64>),
    /// So many rows a batch; of one that is filled up to so many tokens, as many as are assumed. `plain` where
    /// every row is a record as it is, `drops` where those go that are too few at the end.
    Batch { size: u64, plain: bool, drops: bool },
    /// Some of the records, drawn among all of an epoch.
    Sample,
    /// Records side by side: streams must stay aligned.
    Zip,
    /// The records of the first stream, with fields of the second one; those go that have no partner there, if it
    /// `skips`, or end the run, if it `fails`. Else they get other values, or are faults where these are used.
    Join { skips: bool, fails: bool },
    /// `length` records as one, the next one `hop` later; none holds two values of `by`, where there is such.
    Windows { length: u64, hop: u64, by: bool },
    /// Records of any length as one of another: so many of `records`, as long as nothing is known of their length.
    /// They are gathered by `block`, if it looks for what fits best among those.
    Packs { records: u64, block: u64 },
    /// The records, each with fields of others of its window of so many.
    Accompany(u64),
    /// Records of several streams, in one stream.
    Merge(Ends),
    /// Any other.
    Other,
}

/// When a stream of several ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Ends {
    /// Never: one that ends begins again.
    Never,
    /// With the first one that ends.
    First,
    /// With the last one.
    Last,
}

/// What `op` means to the compiler.
pub(crate) fn role(op: &Op, registry: &Registry) -> Role {
    match &op.kind {
        OpKind::Source { .. } => Role::Source,
        OpKind::Map { .. } => Role::Map,
        OpKind::Where { .. } => Role::Where,
        OpKind::FlatMap { .. } => Role::FlatMap,
        OpKind::Operator { entry, args, .. } => operator(entry, args, op.inputs.len(), registry),
    }
}

/// What the operator `entry` means to the compiler, on so many inputs.
pub(crate) fn operator(entry: &str, args: &[Arg], n_inputs: usize, registry: &Registry) -> Role {
    match registry.operator(entry) {
        Some(entry) => doing(entry, args, (n_inputs, registry)),
        None => Role::Other,
    }
}

/// The rows of the batches that an operator makes, where they are successive records.
pub(crate) fn batch_rows(
    registry: &Registry,
    (entry, args): (&str, &[Arg]),
    n_inputs: usize,
) -> Option<u64> {
    let by_kind = ["by", "tokens"].into_iter().any(|it| {
        let entry = registry.operator(entry);
        let arg = entry.and_then(|entry| registry.argument(entry, args, it));
        !matches!(arg, None | Some(Arg::None))
    });
    match operator(entry, args, n_inputs, registry) {
        Role::Batch { size, .. } if !by_kind => Some(size),
        _ => None,
    }
}

/// How many records an operator takes, where it takes the first ones.
pub(crate) fn taken(registry: &Registry, (entry, args): (&str, &[Arg])) -> Option<u64> {
    match operator(entry, args, 1, registry) {
        Role::Take(n) => Some(n),
        _ => None,
    }
}

/// Records of a window of `op`, where it makes windows.
pub(crate) fn window(op: &Op, registry: &Registry) -> Option<u64> {
    match role(op, registry) {
        Role::Windows { length, .. } => Some(length),
        _ => None,
    }
}

/// Whether each record that leaves an operator is a batch, for all of them.
pub(crate) fn batched(plan: &Plan, registry: &Registry) -> Vec<bool> {
    let mut batched: Vec<bool> = Vec::with_capacity(plan.ops.len());
    for (_, op) in plan.ops.iter() {
        batched.push(match role(op, registry) {
            Role::Batch { .. } => true,
            Role::FlatMap => false,
            _ => op.inputs.iter().any(|it| batched[it.row()]),
        });
    }
    batched
}

/// The spans that a `shuffle(window:, spans:)` has its source keep open.
pub(crate) fn spans(op: &Op, registry: &Registry) -> Option<u32> {
    let OpKind::Operator { entry, args, .. } = &op.kind else { return None };
    let entry = registry.operator(entry).filter(|it| it.action() == Some(Action::Shuffle))?;
    let open = registry.argument(entry, args, "spans").and_then(whole)?;
    u32::try_from(open).ok()
}

/// What `pack` fills.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Packed {
    /// The fields, and how many elements of each a sequence has.
    pub(crate) lengths: Vec<(String, u64)>,
    /// Whether records are cut so that nothing but the end of an epoch is padded.
    pub(crate) is_full: bool,
}

/// What `op` fills, where it packs records into sequences.
pub(crate) fn packed(op: &Op, registry: &Registry) -> Option<Packed> {
    let OpKind::Operator { entry, args, .. } = &op.kind else { return None };
    let entry = registry.operator(entry).filter(|it| it.action() == Some(Action::Pack))?;
    let Some(Arg::List(of)) = registry.argument(entry, args, "of") else { return None };
    let length = registry.argument(entry, args, "length")?;
    let length = |name: &str| match length {
        Arg::Record(all) => all.iter().find(|it| it.0 == name).and_then(|it| whole(&it.1)),
        one => whole(one),
    };
    let named = |it: &Arg| match it {
        Arg::Text(name) => Some((name.clone(), length(name)?)),
        _ => None,
    };
    let fit = registry.argument(entry, args, "fit");
    let is_full = matches!(fit, Some(Arg::Word(it)) if it == "split");
    Some(Packed { lengths: of.iter().filter_map(named).collect(), is_full })
}

/// Whether the operator `entry` draws which record comes next, anew in every epoch.
pub(crate) fn draws_order(entry: &str, registry: &Registry) -> bool {
    let action = registry.operator(entry).and_then(Entry::action);
    action.is_some_and(Action::draws_order)
}

fn doing(entry: &Entry, args: &[Arg], (n_inputs, registry): (usize, &Registry)) -> Role {
    let count = |name| registry.argument(entry, args, name).and_then(whole);
    let given = |name| registry.argument(entry, args, name).is_some_and(|it| !is_nothing(it));
    match entry.action() {
        Some(Action::Shuffle) => count("window").map_or(Role::Permute, Role::ShuffleWithin),
        Some(Action::Take) => count("n").map_or(Role::Other, Role::Take),
        Some(Action::Skip) => count("n").map_or(Role::Other, Role::Skip),
        Some(Action::Repeat) => Role::Repeat(count("n")),
        Some(Action::Batch) => {
            let plain =
                !["by", "tokens", "pad", "multiple", "bounds", "ragged"].into_iter().any(given);
            let tail = registry.argument(entry, args, "tail");
            let drops = !matches!(tail, Some(Arg::Word(word)) if word != "drop");
            // A record has as many tokens as a list of which nothing is known has elements.
            let rows = || Some((count("tokens")? / AXIS as u64).max(1));
            // Of several buckets, as if each had as many batches.
            let size = match registry.argument(entry, args, "size") {
                Some(Arg::List(all)) => {
                    let sizes: Vec<u64> = all.iter().filter_map(whole).collect();
                    Some(sizes.iter().sum::<u64>() / sizes.len().max(1) as u64)
                }
                one => one.and_then(whole),
            };
            let size = size.or_else(rows).unwrap_or(1).max(1);
            Role::Batch { size, plain: plain && given("size"), drops }
        }
        Some(Action::Window) => {
            let length = count("length").unwrap_or(1).max(1);
            let hop = count("hop").unwrap_or(length).max(1);
            Role::Windows { length, hop, by: given("by") }
        }
        Some(Action::Pack) => {
            // Of several fields, the shortest is full first.
            let length = match registry.argument(entry, args, "length") {
                Some(Arg::Record(all)) => all.iter().filter_map(|it| whole(&it.1)).min(),
                one => one.and_then(whole),
            };
            let fit = registry.argument(entry, args, "fit");
            let is_best = matches!(fit, Some(Arg::Word(it)) if it == "best");
            let block = count("block").filter(|_| is_best).unwrap_or(0);
            Role::Packs { records: (length.unwrap_or(1) / AXIS as u64).max(1), block }
        }
        Some(Action::Zip) => Role::Zip,
        Some(Action::Join) => {
            let missing = registry.argument(entry, args, "missing");
            let is = |it: &str| matches!(missing, Some(Arg::Word(word)) if word == it);
            let is_fault = registry.argument(entry, args, "faults") == Some(&Arg::Bool(true));
            Role::Join { skips: is("skip"), fails: !is("skip") && !is("keep") && !is_fault }
        }
        Some(Action::Sample) => Role::Sample,
        Some(Action::Accompany) => Role::Accompany(count("window").unwrap_or(1).max(1)),
        _ if n_inputs > 1 => Role::Merge(match registry.argument(entry, args, "at_end") {
            Some(Arg::Word(word)) if word == "repeat" => Ends::Never,
            Some(Arg::Word(word)) if word == "stop" => Ends::First,
            _ => Ends::Last,
        }),
        _ => Role::Other,
    }
}

fn whole(arg: &Arg) -> Option<u64> {
    match arg {
        Arg::Int(it) => u64::try_from(*it).ok(),
        Arg::Float(it) if it.fract() == 0.0 && *it >= 0.0 => Some(*it as u64),
        _ => None,
    }
}

fn is_nothing(arg: &Arg) -> bool {
    match arg {
        Arg::None => true,
        Arg::Record(all) => all.is_empty(),
        Arg::List(all) => all.is_empty(),
        _ => false,
    }
}
