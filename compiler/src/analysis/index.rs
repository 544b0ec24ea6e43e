//! What moves into sources: permutations of the index, laps, the part of it that is read.
//!
//! A `shuffle` without a window commutes with whatever works on each record alone, so it is done
//! where it costs nothing: on the numbers that the source is asked for (`semantics.md`, 7).

use super::{
    catalog::Catalog,
    role::{Ends, Role, role, spans},
    total::lets_go,
};
use crate::errors::lower as errors;
use plan::{Diagnostic, IdVec, Op, OpId, OpKind, Plan, Property, Spans};
use std::collections::{BTreeMap, BTreeSet};

/// What stands between an operator and the index of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Barrier {
    /// The operator that is in the way.
    pub(crate) at: OpId,
    /// Why, as a sentence goes on after "because".
    pub(crate) why: &'static str,
}

/// What a source does in place of the operators above it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reading {
    pub(crate) shuffles: Vec<u64>,
    pub(crate) spans: Option<Spans>,
    pub(crate) skip: u64,
    pub(crate) take: Option<u64>,
    pub(crate) laps: Option<u64>,
}

/// What has moved into the sources of a plan.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    pub(crate) sources: BTreeMap<OpId, Reading>,
    /// Operators with nothing left to do.
    pub(crate) gone: BTreeSet<OpId>,
}

/// How the records that leave an operator are numbered.
#[derive(Clone, Copy)]
struct Way {
    /// The source whose index it still is.
    index: Result<OpId, Barrier>,
    /// The source that can do laps for it.
    laps: Result<OpId, Barrier>,
    /// The source, where the first records here are the first of its index.
    whole: Option<OpId>,
    /// The source, where its spans may still come in another order.
    spans: Result<OpId, Barrier>,
}

/// Moves what can be moved; what cannot is said.
pub(crate) fn moved(plan: &Plan, catalog: &Catalog) -> (Moved, Vec<Diagnostic>) {
    let mut walk = Walk::new(&plan.ops, catalog);
    walk.all();
    (walk.moved, walk.diagnostics)
}

struct Walk<'a> {
    ops: &'a IdVec<OpId, Op>,
    catalog: &'a Catalog,
    ways: IdVec<OpId, Way>,
    moved: Moved,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Walk<'a> {
    fn new(ops: &'a IdVec<OpId, Op>, catalog: &'a Catalog) -> Self {
        let (moved, diagnostics) = (Moved::default(), Vec::new());
        Self { ops, catalog, ways: IdVec::new(), moved, diagnostics }
    }

    fn all(&mut self) {
        for id in self.ops.ids() {
            let way = self.way(id);
            self.ways.push(way);
        }
    }

    fn way(&mut self, id: OpId) -> Way {
        let op = &self.ops[id];
        let role = role(op, self.catalog);
        if role == Role::Source {
            return self.source(id);
        }
        if let (Role::Join { .. }, Some(&first)) = (role, op.inputs.first()) {
            return Way { whole: None, ..self.ways[first] };
        }
        let [input] = op.inputs[..] else {
            if role == Role::Merge(Ends::Never) {
                op.inputs.iter().for_each(|&it| _ = self.repeat(id, self.ways[it], None));
                // It still orders them: only their sources know of the laps.
                self.moved.gone.remove(&id);
            }
            return Way::barred(id, "it joins several streams");
        };
        let way = self.ways[input];
        match role {
            Role::Map if self.keeps_all(op) => way,
            Role::Map | Role::Where => Way { whole: None, ..way },
            Role::FlatMap => Way {
                index: Err(Barrier { at: id, why: "it creates several records from one" }),
                whole: None,
                ..way
            },
            Role::Permute => self.permute(id, way),
            Role::ShuffleWithin(_) => {
                if let Some(open) = spans(op, self.catalog) {
                    self.spans(id, way, open);
                }
                Way::barred(id, GROUPS)
            }
            Role::Take(n) => self.part(id, way, |it| {
                it.take = Some(it.take.map_or(n, |take| take.min(n)));
            }),
            Role::Skip(n) => self.part(id, way, |it| {
                it.skip = it.skip.saturating_add(n);
                it.take = it.take.map(|take| take.saturating_sub(n));
            }),
            Role::Repeat(laps) => self.repeat(id, way, laps),
            _ => Way::barred(id, GROUPS),
        }
    }

    fn source(&mut self, id: OpId) -> Way {
        let OpKind::Source { entry, .. } = &self.ops[id].kind else {
            unreachable!("the role of a source is a source's")
        };
        let (shuffles, spans) = (Vec::new(), None);
        let reading = Reading { shuffles, spans, skip: 0, take: None, laps: Some(1) };
        self.moved.sources.insert(id, reading);
        let has = |property| self.catalog.source(entry).is_some_and(|it| it.has(property));
        let can = |property, why| if has(property) { Ok(id) } else { Err(Barrier { at: id, why }) };
        Way {
            index: can(Property::Indexed, "it can only be read in order"),
            laps: Ok(id),
            whole: has(Property::Indexed).then_some(id),
            spans: can(Property::Spans, "it does not consist of files with many records each"),
        }
    }

    /// `shuffle(window:, spans:)` has its source read the spans in a drawn order.
    fn spans(&mut self, id: OpId, way: Way, open: u32) {
        match way.spans {
            Ok(source) => {
                let place = self.ops[id].place;
                self.reading(source).spans = Some(Spans { place, open });
            }
            Err(barrier) => {
                let at = self.ops[barrier.at].at;
                self.diagnostics.push(errors::no_spans(self.ops[id].at, (at, barrier.why)));
            }
        }
    }

    fn permute(&mut self, id: OpId, way: Way) -> Way {
        match way.index {
            Ok(source) => {
                let place = self.ops[id].place;
                self.reading(source).shuffles.push(place);
                self.moved.gone.insert(id);
                let why = "it shuffles the records of all spans already";
                Way { whole: None, spans: Err(Barrier { at: id, why }), ..way }
            }
            Err(barrier) => {
                let at = self.ops[barrier.at].at;
                self.diagnostics.push(errors::no_index(self.ops[id].at, (at, barrier.why)));
                way
            }
        }
    }

    fn part(&mut self, id: OpId, way: Way, change: impl FnOnce(&mut Reading)) -> Way {
        let Some(source) = way.whole else {
            return Way::barred(id, "it counts records, which differ from the index here");
        };
        change(self.reading(source));
        self.moved.gone.insert(id);
        let why = "it counts records in the order of the files";
        Way { spans: Err(Barrier { at: id, why }), ..way }
    }

    fn repeat(&mut self, id: OpId, way: Way, laps: Option<u64>) -> Way {
        let source = match way.laps {
            Ok(source) => source,
            Err(barrier) => {
                let at = self.ops[barrier.at].at;
                self.diagnostics.push(errors::no_laps(self.ops[id].at, (at, barrier.why)));
                return way;
            }
        };
        let reading = self.reading(source);
        reading.laps = reading.laps.zip(laps).map(|(inner, outer)| inner.saturating_mul(outer));
        self.moved.gone.insert(id);
        let why = "each repetition is shuffled separately: put `shuffle` before `repeat`";
        Way { index: Err(Barrier { at: id, why }), whole: None, ..way }
    }

    fn reading(&mut self, source: OpId) -> &mut Reading {
        self.moved.sources.get_mut(&source).expect("sources come before what reads them")
    }

    /// Whether no record can go in a `map`.
    fn keeps_all(&self, op: &Op) -> bool {
        !lets_go(op, self.catalog)
    }
}

impl Way {
    /// No operator above `at` can move into a source.
    fn barred(at: OpId, why: &'static str) -> Self {
        let barrier = Barrier { at, why };
        Self { index: Err(barrier), laps: Err(barrier), whole: None, spans: Err(barrier) }
    }
}

/// Why nothing above an operator can move into a source, where records are put together.
const GROUPS: &str = "its output depends on which records are grouped";
