//! What moves into sources: permutations of the index, laps, the part of it that is read.
//!
//! A `shuffle` without a window commutes with whatever works on each record alone, so it is done
//! where it costs nothing: on the numbers that the source is asked for (`semantics.md`, 7).

use super::{
    role::{Ends, Role, role, spans},
    total::{lets_go, replaces},
};
use crate::{errors::lower as errors, registry::Registry};
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
    pub(crate) windows: Option<Windowing>,
}

/// The windows whose records a source gives, window after window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Windowing {
    /// The operator that makes them.
    pub(crate) op: OpId,
    /// The shuffles of the windows, each by its place, the first one innermost.
    pub(crate) shuffles: Vec<u64>,
}

/// What has moved into the sources of a plan.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    pub(crate) sources: BTreeMap<OpId, Reading>,
    /// Operators with nothing left to do.
    pub(crate) gone: BTreeSet<OpId>,
    /// Operators that make windows of records which come window after window.
    pub(crate) windows: BTreeSet<OpId>,
    /// Sources that are read in the same drawn order, and so must have equally many records.
    pub(crate) beside: Vec<Vec<OpId>>,
}

/// How the records that leave an operator are numbered.
#[derive(Clone)]
struct Way {
    /// The sources whose index it still is, all of them the same: several where they stand side by side.
    index: Result<Vec<Indexed>, Barrier>,
    /// Whether each record of the index is one here.
    all: Result<(), Barrier>,
    /// The sources that can do laps for it.
    laps: Result<Vec<OpId>, Barrier>,
    /// The source, where the first records here are the first of its index.
    whole: Option<OpId>,
    /// The source, where its spans may still come in another order.
    spans: Result<OpId, Barrier>,
}

/// A source whose index the records of a stream have.
#[derive(Debug, Clone, Copy)]
struct Indexed {
    source: OpId,
    /// What makes windows of its records, where the index is theirs.
    windows: Option<OpId>,
}

/// Moves what can be moved; what cannot is said.
pub(crate) fn moved(plan: &Plan, registry: &Registry) -> (Moved, Vec<Diagnostic>) {
    let mut walk = Walk::new(&plan.ops, registry);
    walk.all();
    (walk.moved, walk.diagnostics)
}

struct Walk<'a> {
    ops: &'a IdVec<OpId, Op>,
    registry: &'a Registry,
    ways: IdVec<OpId, Way>,
    moved: Moved,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Walk<'a> {
    fn new(ops: &'a IdVec<OpId, Op>, registry: &'a Registry) -> Self {
        let (moved, diagnostics) = (Moved::default(), Vec::new());
        Self { ops, registry, ways: IdVec::new(), moved, diagnostics }
    }

    fn all(&mut self) {
        for id in self.ops.ids() {
            let way = self.way(id);
            self.ways.push(way);
        }
    }

    fn way(&mut self, id: OpId) -> Way {
        let op = &self.ops[id];
        let role = role(op, self.registry);
        if role == Role::Source {
            return self.source(id);
        }
        if let (Role::Join { skips, .. }, Some(&first)) = (role, op.inputs.first()) {
            let way = self.ways[first].clone();
            let all = if skips { Err(Barrier { at: id, why: DROPS }) } else { way.all };
            return Way { whole: None, all, ..way };
        }
        let [input] = op.inputs[..] else {
            if role == Role::Merge(Ends::Never) {
                op.inputs.iter().for_each(|&it| _ = self.repeat(id, self.ways[it].clone(), None));
                // It still orders them: only their sources know of the laps.
                self.moved.gone.remove(&id);
            }
            let barred = Way::barred(id, "it joins several streams");
            return if role == Role::Zip { self.zip(op, barred) } else { barred };
        };
        let way = self.ways[input].clone();
        match role {
            Role::Map if self.keeps_all(op) => way,
            Role::Map | Role::Where => {
                Way { whole: None, all: Err(Barrier { at: id, why: DROPS }), ..way }
            }
            Role::FlatMap => Way {
                index: Err(Barrier { at: id, why: "it creates several records from one" }),
                whole: None,
                ..way
            },
            Role::Windows { by, .. } => self.windows(id, way, by),
            Role::Permute => self.permute(id, way),
            Role::ShuffleWithin(_) => {
                if let Some(open) = spans(op, self.registry) {
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
        let (skip, take, laps, windows) = (0, None, Some(1), None);
        let reading = Reading { shuffles, spans, skip, take, laps, windows };
        self.moved.sources.insert(id, reading);
        let has = |property| self.registry.source(entry).is_some_and(|it| it.has(property));
        let can = |property, why| if has(property) { Ok(id) } else { Err(Barrier { at: id, why }) };
        Way {
            index: can(Property::Indexed, "it can only be read in order")
                .map(|source| vec![Indexed { source, windows: None }]),
            all: Ok(()),
            laps: Ok(vec![id]),
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

    /// Streams side by side: records of the same place are drawn together, where each stream is counted.
    fn zip(&self, op: &Op, barred: Way) -> Way {
        let ways = op.inputs.iter().map(|it| &self.ways[*it]);
        let index: Result<Vec<_>, Barrier> = ways
            .map(|it| {
                it.all?;
                it.index.clone()
            })
            .collect();
        Way { index: index.map(|it| it.concat()), all: Ok(()), ..barred }
    }

    /// Windows of counted records have an index: which records each has is arithmetic.
    fn windows(&self, id: OpId, way: Way, by: bool) -> Way {
        let index = way.all.and(way.index).and_then(|all| {
            if let Some(op) = all.iter().find_map(|it| it.windows) {
                return Err(Barrier { at: op, why: GROUPS });
            }
            if by {
                self.series(id)?;
            }
            Ok(all.into_iter().map(|it| Indexed { windows: Some(id), ..it }).collect())
        });
        Way { index, all: Ok(()), ..Way::barred(id, GROUPS) }
    }

    /// Series can be found before the records are read, where their keys follow from a source step by step.
    fn series(&self, windows: OpId) -> Result<(), Barrier> {
        let mut at = self.ops[windows].inputs[0];
        loop {
            let op = &self.ops[at];
            let why = match role(op, self.registry) {
                Role::Source => return Ok(()),
                Role::Map if replaces(op) => "`else another` replaces records of its series",
                Role::Map => {
                    at = op.inputs[0];
                    continue;
                }
                Role::Take(_) | Role::Skip(_) if self.moved.gone.contains(&at) => {
                    at = op.inputs[0];
                    continue;
                }
                Role::Permute => "it shuffles the records of the series",
                _ => {
                    "the series of `by` must follow from a source, with only `map` and `with` in between"
                }
            };
            return Err(Barrier { at, why });
        }
    }

    fn permute(&mut self, id: OpId, way: Way) -> Way {
        let sources = match &way.index {
            Ok(sources) => sources.clone(),
            Err(barrier) => {
                let at = self.ops[barrier.at].at;
                self.diagnostics.push(errors::no_index(self.ops[id].at, (at, barrier.why)));
                return way;
            }
        };
        let place = self.ops[id].place;
        for Indexed { source, windows } in &sources {
            let reading = self.reading(*source);
            match *windows {
                None => reading.shuffles.push(place),
                Some(op) => {
                    let windowing = || Windowing { op, shuffles: Vec::new() };
                    reading.windows.get_or_insert_with(windowing).shuffles.push(place);
                    self.moved.windows.insert(op);
                }
            }
        }
        let all: Vec<OpId> = sources.iter().map(|it| it.source).collect();
        if all.len() > 1 && !self.moved.beside.contains(&all) {
            self.moved.beside.push(all.clone());
        }
        self.moved.gone.insert(id);
        let why = "it shuffles the records of all spans already";
        // Read by number, one lap after the other is the same for all of them.
        Way { whole: None, spans: Err(Barrier { at: id, why }), laps: Ok(all), ..way }
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
        let sources = match &way.laps {
            Ok(sources) => sources.clone(),
            Err(barrier) => {
                let at = self.ops[barrier.at].at;
                self.diagnostics.push(errors::no_laps(self.ops[id].at, (at, barrier.why)));
                return way;
            }
        };
        for source in sources {
            let reading = self.reading(source);
            reading.laps = reading.laps.zip(laps).map(|(inner, outer)| inner.saturating_mul(outer));
        }
        self.moved.gone.insert(id);
        let why = "each repetition is shuffled separately: put `shuffle` before `repeat`";
        Way { index: Err(Barrier { at: id, why }), whole: None, ..way }
    }

    fn reading(&mut self, source: OpId) -> &mut Reading {
        self.moved.sources.get_mut(&source).expect("sources come before what reads them")
    }

    /// Whether no record can go in a `map`.
    fn keeps_all(&self, op: &Op) -> bool {
        !lets_go(op, self.registry)
    }
}

impl Way {
    /// No operator above `at` can move into a source.
    fn barred(at: OpId, why: &'static str) -> Self {
        let barrier = Barrier { at, why };
        Self {
            index: Err(barrier),
            all: Ok(()),
            laps: Err(barrier),
            whole: None,
            spans: Err(barrier),
        }
    }
}

/// Why nothing above an operator can move into a source, where records are put together.
const GROUPS: &str = "its output depends on which records are grouped";

/// Why the records of a step are not counted.
const DROPS: &str = "it drops records, and how many is only known by reading them";
