//! What could be kept from epoch to epoch, beside each other: each value alone, in memory and on disk, and what is chosen;
//! and on which other machine, or in how many epochs, something else would be.

use super::{
    alternatives::{Alternative, best_alternative, best_of},
    outlook::View,
    strategy::{Found, Group, Picks, Shop, choose},
};
use crate::caches::{Candidate, Choice, Form, Occasion, SHARE_MIN, Tier};
use model::{
    curve::Curve,
    solve::Limit,
    strategy::{Objective, Strategy},
    weights::{self, Whole, pareto},
};
use plan::{Codec, Library, parts::Keep};
use serde::Serialize;
use std::collections::BTreeSet;

/// How many times more or less of something is looked at.
const RANGE: f64 = 16.0;
/// Steps in which that is done, each as many times as much as the one before.
const STEPS: i32 = 32;
/// A rate that is higher by less than this part is no gain.
const NO_GAIN: f64 = 0.01;
/// How exactly it is said where something else is chosen.
const EXACT: f64 = 0.01;

/// What could be kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Strategies {
    /// The one that takes the least time comes first; with costs the cheapest, with scores the one that has the highest.
    pub rows: Vec<Row>,
    /// How often each record comes in a run.
    pub passes: f64,
    /// Runs.
    pub runs: f64,
    /// Whether some of the values lie on disk already.
    #[serde(skip)]
    pub finds: bool,
    /// What the one that is chosen is the best for.
    #[serde(skip)]
    pub objective: Objective,
    /// What bounds the rate of the one that is chosen.
    pub bound: Option<Limit>,
    /// Where something else would be chosen.
    pub turns: Vec<Turn>,
    /// Rows that decide by their mere presence which one has the highest score.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reversals: Vec<Reversal>,
}

/// A row that another one beats in everything, without which still another one than now would have the highest score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reversal {
    /// What it keeps.
    pub without: Vec<Kept>,
    /// What the row keeps that would have the highest score.
    pub kept: Vec<Kept>,
}

/// What is kept, and what comes of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Which of the plans it is of.
    #[serde(skip)]
    pub plan: usize,
    /// The values; none where nothing is kept.
    pub kept: Vec<Kept>,
    /// Bytes of memory.
    pub memory_bytes: f64,
    /// Bytes on disk.
    pub disk_bytes: f64,
    /// Outputs per second while it fills.
    pub first_rate: f64,
    /// Outputs per second once it is full.
    pub rate: f64,
    /// Seconds of the first epoch, of each later one, and of all of all runs; none where the length of an epoch is not known.
    pub seconds: Option<[f64; 3]>,
    /// Whether no other one is as good in the time to fill it, in bytes and in its rate.
    pub pareto: bool,
    /// Whether it is what a run does.
    pub chosen: bool,
    /// What all epochs of all runs cost, where that is to be little and the length of an epoch is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// PRESTO's score, where that is to be high.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Records per second once it is full, where it was run.
    pub measured: Option<f64>,
}

/// A value that is kept somewhere.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Kept {
    /// The function whose result it is.
    pub value: String,
    /// The step that computes it.
    pub step: String,
    /// Whether it is the index of the value.
    pub index: bool,
    /// The share of the records of which it is in memory.
    pub memory: f64,
    /// The same on disk.
    pub disk: f64,
    /// How they are kept, each way with its share.
    pub forms: Vec<Form>,
}

/// Something of which more or less would change what is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// Epochs of a run.
    Epochs,
    /// Cores.
    Cores,
    /// Bytes of memory.
    Memory,
    /// Bytes per second of a storage of the machine.
    Storage(usize),
}

/// Where something else is chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    /// What is other.
    pub axis: Axis,
    /// From so much on.
    pub at: f64,
    /// Whether from there up, or down.
    pub up: bool,
    /// What is chosen there.
    pub kept: Vec<Kept>,
}

/// Plans of the same pipeline that exclude each other.
struct Plans<'a> {
    all: &'a [Alternative<'a>],
    library: &'a Library,
}

/// All that could be kept, of the first of these plans or of another one; none where the costs are not known.
pub fn strategies(library: &Library, all: &[Alternative<'_>]) -> Option<Strategies> {
    let occasion = all.first()?.occasion;
    let shops: Vec<_> = all.iter().map(|it| it.shop(library)).collect();
    let search = |(all, shop): &(Vec<Choice>, Shop<'_>)| shop.search(all);
    let mut solved: Vec<Option<Found>> =
        shops.iter().map(|it| it.as_ref().and_then(search)).collect();
    let best = best_of(&shops, &solved);
    let chosen = solved.swap_remove(best)?;
    let mut table = Table { rows: Vec::new() };
    if let Some((all, shop)) = &shops[best] {
        table.add((best, true), (shop, all), [(chosen.picks, chosen.strategy)]);
    }
    for (at, (all, shop)) in
        shops.iter().enumerate().filter_map(|(at, it)| Some((at, it.as_ref()?)))
    {
        table.add((at, false), (shop, all), shop.wholes(all));
    }
    let plans = Plans { all, library };
    let bound = table.rows.first().and_then(|it| it.bound);
    let (rows, reversals) = table.sorted(occasion.objective);
    Some(Strategies {
        rows,
        passes: occasion.passes,
        runs: occasion.runs(),
        finds: shops.iter().flatten().any(|it| it.0.iter().any(|it| occasion.on_disk(it) > 0.0)),
        objective: occasion.objective,
        bound,
        turns: plans.turns(best),
        reversals,
    })
}

/// What is compared.
struct Table {
    rows: Vec<Ranked>,
}

/// A row, and what it is compared by.
struct Ranked {
    row: Row,
    whole: Whole,
    /// Seconds of all epochs of all runs, for outputs of which nobody knows how many there are.
    seconds: f64,
    bound: Option<Limit>,
}

impl Ranked {
    /// What it is sorted by: the smallest comes first.
    fn order(&self) -> f64 {
        self.row.score.map(|it| -it).or(self.row.cost).unwrap_or(self.seconds)
    }
}

impl Table {
    /// Adds what may be kept in a plan; the same of several plans stands once, where it takes the least.
    fn add(
        &mut self,
        (plan, chosen): (usize, bool),
        (shop, all): (&Shop<'_>, &[Choice]),
        found: impl IntoIterator<Item = (Picks, Strategy)>,
    ) {
        for (picks, strategy) in found {
            let row = Row { plan, chosen, ..shop.row((&picks, &strategy), all) };
            let new = Ranked {
                whole: shop.whole(&strategy),
                seconds: strategy.seconds(shop.times()),
                bound: shop.limits.get(strategy.bound).copied(),
                row,
            };
            match self.rows.iter_mut().find(|it| same_kept(&it.row.kept, &new.row.kept)) {
                None => self.rows.push(new),
                Some(same) if !same.row.chosen && new.order() < same.order() => *same = new,
                Some(_) => {}
            }
        }
    }

    /// The rows in the order of the objective; and what decides by its mere presence.
    fn sorted(self, objective: Objective) -> (Vec<Row>, Vec<Reversal>) {
        let Self { mut rows } = self;
        let wholes: Vec<Whole> = rows.iter().map(|it| it.whole).collect();
        for (it, is_best) in rows.iter_mut().zip(pareto(&wholes)) {
            it.row.pareto = is_best;
        }
        let mut reversals = Vec::new();
        if let Objective::Weights(weights) = objective {
            for (it, score) in rows.iter_mut().zip(weights::scores(&wholes, weights)) {
                it.row.score = Some(score);
            }
            let kept: Vec<&[Kept]> = rows.iter().map(|it| &*it.row.kept).collect();
            reversals = reversed(&kept, (&wholes, weights));
        }
        rows.sort_by(|a, b| a.order().total_cmp(&b.order()));
        (rows.into_iter().map(|it| it.row).collect(), reversals)
    }
}

/// The ones without which another one would have the highest score, though nobody would choose them.
fn reversed(kept: &[&[Kept]], (all, weights): (&[Whole], [f64; 3])) -> Vec<Reversal> {
    let best = weights::winner(all, weights);
    let without = |at: usize| {
        let others: Vec<usize> = (0..all.len()).filter(|it| *it != at).collect();
        let wholes: Vec<Whole> = others.iter().map(|it| all[*it]).collect();
        let next = others[weights::winner(&wholes, weights)?];
        (Some(next) != best)
            .then(|| Reversal { without: kept[at].to_vec(), kept: kept[next].to_vec() })
    };
    weights::reversals(all, weights).into_iter().filter_map(without).collect()
}

fn same_kept(a: &[Kept], b: &[Kept]) -> bool {
    let rough = |it: &Kept| {
        let form = |it: &Form| (it.tier, it.figures.codec, (it.share * 1e3).round() as i64);
        let forms: Vec<(Tier, Codec, i64)> = it.forms.iter().map(form).collect();
        (it.step.clone(), it.value.clone(), forms)
    };
    a.iter().map(rough).eq(b.iter().map(rough))
}

impl Shop<'_> {
    /// What keeps one thing of all records, as far as there is room: nothing first, then each value, in memory and on disk. What
    /// makes no epoch faster is no strategy.
    fn wholes(&self, all: &[Choice]) -> Vec<(Picks, Strategy)> {
        let nothing: Picks = vec![Group::default(); self.stages.len()];
        let plain = self.forced(&nothing, all, |_| 0.0);
        let slowest = plain.later_s / (1.0 + NO_GAIN);
        let mut kept: Vec<Vec<Kept>> = vec![Vec::new()];
        let mut wholes = vec![(nothing.clone(), plain)];
        for (stage, groups) in self.stages.iter().enumerate() {
            for group in groups {
                for at in 0..self.columns(group).count() {
                    let mut picks = nothing.clone();
                    picks[stage] = group.clone();
                    let strategy = self.forced(&picks, all, |it| f64::from(it == at));
                    let own = self.kept(&picks, &strategy, all);
                    if strategy.later_s < slowest && !kept.iter().any(|it| same_kept(it, &own)) {
                        kept.push(own);
                        wholes.push((picks, strategy));
                    }
                }
            }
        }
        wholes
    }

    /// The one of them with the highest score.
    pub(super) fn by_score(&self, weights: [f64; 3], all: &[Choice]) -> Option<Found> {
        let mut found = self.wholes(all);
        let wholes = self.scored(all);
        let (picks, strategy) = found.swap_remove(weights::winner(&wholes, weights)?);
        let cost = strategy.seconds(self.times());
        Some(Found { picks, strategy, cost })
    }

    /// What is scored of all of them.
    pub(super) fn scored(&self, all: &[Choice]) -> Vec<Whole> {
        self.wholes(all).iter().map(|it| self.whole(&it.1)).collect()
    }

    /// What is scored of a strategy.
    fn whole(&self, it: &Strategy) -> Whole {
        Whole {
            prepare_s: it.first_s,
            bytes: it.bytes.iter().sum(),
            rate: self.outputs / it.later_s,
        }
    }

    fn row(&self, (picks, strategy): (&[Group], &Strategy), all: &[Choice]) -> Row {
        let rate = |seconds: f64| self.outputs / seconds;
        let Strategy { first_s, later_s, .. } = *strategy;
        let objective = self.occasion.objective;
        let cost = || strategy.cost(&self.program(picks, all), objective);
        let has_cost = self.knows_length && objective.prices().is_some();
        Row {
            plan: 0,
            kept: self.kept(picks, strategy, all),
            memory_bytes: strategy.bytes[0],
            disk_bytes: strategy.bytes[1],
            first_rate: rate(first_s),
            rate: rate(later_s),
            seconds: self.knows_length.then_some([
                first_s,
                later_s,
                strategy.seconds(self.times()),
            ]),
            pareto: false,
            chosen: false,
            measured: None,
            cost: has_cost.then(cost),
            score: None,
        }
    }

    /// What these shares keep.
    fn kept(&self, picks: &[Group], strategy: &Strategy, all: &[Choice]) -> Vec<Kept> {
        let mut found: Vec<Kept> = Vec::new();
        for (group, shares) in picks.iter().zip(&strategy.shares) {
            for member in &group.members {
                let forms = self.forms_of(*member, (group, shares));
                let choice = all[*member].clone().with_forms(forms);
                if choice.hits() >= SHARE_MIN {
                    found.push(Kept::of(&choice));
                }
            }
        }
        found
    }

    /// As much as there is room for of each way: `want` says how much of the ways of the stage that keeps something.
    fn forced(&self, picks: &[Group], all: &[Choice], want: impl Fn(usize) -> f64) -> Strategy {
        let program = self.program(picks, all);
        let shares = program.streams.iter().map(|ways| {
            let fits = |at: usize| {
                let parts = ways[at].bytes.iter().zip(&program.rooms);
                let parts = parts.filter(|it| *it.0 > 0.0).map(|(bytes, room)| room / bytes);
                parts.fold(1.0, f64::min) * want(at - 1)
            };
            let own: Vec<f64> = (1..ways.len()).map(fits).collect();
            let rest = (1.0 - own.iter().sum::<f64>()).max(0.0);
            [rest].into_iter().chain(own).collect()
        });
        Strategy::of(&program, shares.collect())
    }
}

impl Plans<'_> {
    /// Where something else is kept than now, which is in the plan `best`.
    fn turns(&self, best: usize) -> Vec<Turn> {
        let Alternative { view, occasion, .. } = &self.all[best];
        let mut used: BTreeSet<usize> = view.storages.iter().flatten().copied().collect();
        used.extend(occasion.disk.map(|it| it.storage));
        used.retain(|it| *it < view.machine.storages.len());
        let axes = [Axis::Epochs, Axis::Cores, Axis::Memory];
        let axes = axes.into_iter().chain(used.into_iter().map(Axis::Storage));
        let here = self.chosen(&self.all[best]);
        let look = |axis: Axis, up: bool| self.turn((view, occasion), (axis, up), &here);
        axes.flat_map(|axis| [true, false].map(|up| look(axis, up))).flatten().collect()
    }

    /// The nearest amount at which something else is chosen.
    fn turn(
        &self,
        (view, occasion): (&View, &Occasion),
        (axis, up): (Axis, bool),
        here: &[Kept],
    ) -> Option<Turn> {
        let at = |times: f64| self.with((axis, times));
        let is_other = |it: &[Kept]| !same_ways(it, here);
        let step = RANGE.powf(if up { 1.0 } else { -1.0 } / f64::from(STEPS));
        let times = |it: i32| step.powi(it);
        let first = (1..=STEPS).find(|it| is_other(&at(times(*it))))?;
        let (mut same, mut changed) = (times(first - 1), times(first));
        while (changed / same).ln().abs() > EXACT {
            let middle = (same * changed).sqrt();
            if is_other(&at(middle)) {
                changed = middle;
            } else {
                same = middle;
            }
        }
        let amount = match axis {
            Axis::Epochs => occasion.passes,
            Axis::Cores => view.machine.cores,
            Axis::Memory => view.machine.memory_bytes,
            Axis::Storage(it) => {
                let storage = &view.machine.storages[it];
                storage.random.best(storage.random.readers_max)
            }
        };
        Some(Turn { axis, at: amount * changed, up, kept: at(changed) })
    }

    /// What is kept where there is so many times as much of something.
    fn with(&self, change: (Axis, f64)) -> Vec<Kept> {
        let changed = self.all.iter().map(|it| other(it.view, it.occasion, change));
        let changed: Vec<(View, Occasion)> = changed.collect();
        let all = self.all.iter().zip(&changed);
        let all: Vec<Alternative<'_>> =
            all.map(|(it, (view, occasion))| Alternative { view, occasion, ..*it }).collect();
        self.chosen(&all[best_alternative(self.library, &all)])
    }

    fn chosen(&self, of: &Alternative<'_>) -> Vec<Kept> {
        let Alternative { plan, estimate, view, candidates, occasion } = *of;
        let found = (candidates.to_vec(), occasion);
        let all = choose(plan, self.library, (estimate, view), found);
        let kept = all.iter().filter(|it| it.kept).map(Kept::of);
        let mut kept: Vec<Kept> = kept.collect();
        kept.sort_by(|a, b| (&a.step, &a.value).cmp(&(&b.step, &b.value)));
        kept
    }
}

/// Whether the same values are kept in the same places, encoded in the same ways, of however many records.
fn same_ways(a: &[Kept], b: &[Kept]) -> bool {
    let way = |it: &Kept| {
        let forms = it.forms.iter().filter(|it| it.share >= SHARE_MIN);
        let forms: Vec<(Tier, Codec)> = forms.map(|it| (it.tier, it.figures.codec)).collect();
        (it.step.clone(), it.value.clone(), forms)
    };
    a.iter().map(way).eq(b.iter().map(way))
}

impl Kept {
    fn of(choice: &Choice) -> Self {
        let Candidate { function, step, keep, .. } = &choice.candidate;
        Self {
            value: function.clone(),
            step: step.clone(),
            index: *keep == Keep::Index,
            memory: choice.share,
            disk: choice.disk_share,
            forms: choice.forms.clone(),
        }
    }
}

/// The same with so many times as much of something.
fn other(view: &View, occasion: &Occasion, (axis, times): (Axis, f64)) -> (View, Occasion) {
    let (mut view, mut occasion) = (view.clone(), occasion.clone());
    match axis {
        Axis::Epochs => occasion.passes *= times,
        Axis::Cores => view.machine.cores *= times,
        Axis::Memory => {
            let more = view.machine.memory_bytes * (times - 1.0);
            view.machine.memory_bytes += more;
            occasion.room = (occasion.room as f64 + more).max(0.0) as u64;
        }
        Axis::Storage(at) => {
            let storage = &mut view.machine.storages[at];
            for curve in [&mut storage.sequential, &mut storage.random] {
                let Curve { rise, level, .. } = curve;
                for (slope, height) in [rise, level] {
                    (*slope, *height) = (*slope * times, *height * times);
                }
            }
            storage.write *= times;
        }
    }
    (view, occasion)
}
