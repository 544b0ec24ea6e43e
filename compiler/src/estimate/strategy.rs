//! What is kept from epoch to epoch: which values, and where, so that all epochs together take the least time.
//!
//! Every bound of the network is a row of the linear program of [`model::strategy`], and every value that may be kept, in
//! memory or on disk, is a way. What excludes each other is not in the program: of the values of a stage one is kept, with
//! the index for those records that it is not kept of. So the program is solved for each value of each stage.

use super::{
    Estimate,
    outlook::{View, epoch, filling, observed, warm},
};
use crate::caches::{Candidate, Choice, Form, Occasion, PLAIN, PinnedBy, SHARE_MIN, Tier, codecs};
use model::{
    Machine, Network, Wishes,
    solve::{self, Limit},
    strategy::{Objective, Plan as Program, Strategy, Way, best},
};
use plan::{CodecFigures, Library, Plan, StageId, parts::Keep, percent};

/// Epochs that stand for any number.
pub(crate) const EPOCHS_MAX: f64 = 1e6;
/// Strategies whose costs differ by less than this part are equal: the one that keeps fewer bytes is taken.
pub(super) const SAME: f64 = 0.01;
/// How often each stage is thought over, where several keep something: what one keeps takes the room of the others.
const ROUNDS: usize = 3;
/// A share from which on it is all.
const FULL: f64 = 0.999;
/// What a value may take beyond what it is estimated to, as a part of it.
const MORE: f64 = 0.25;

/// Every candidate: what is kept first, then the others, each with its reason.
pub fn choose(
    plan: &Plan,
    library: &Library,
    (estimate, view): (&Estimate, &View),
    (candidates, occasion): (Vec<Candidate>, &Occasion),
) -> Vec<Choice> {
    let all = candidates.into_iter().map(|it| Choice::new(it, occasion));
    let mut all: Vec<Choice> = all.collect();
    if let Some(shop) = Shop::new((plan, library), (estimate, view), (occasion, &all)) {
        shop.decide(&mut all);
        // Where files cannot be kept anywhere, nobody has to be told of them.
        let mut has_way = shop.ways.iter().map(|it| !it.is_empty());
        all.retain(|it| has_way.next() == Some(true) || !it.candidate.reads);
    }
    all.iter_mut()
        .filter(|it| it.is_open())
        .for_each(|it| it.why = "its cost is not known".to_owned());
    all.sort_by_key(|it| !it.kept);
    all
}

/// Records of an output.
pub(super) fn records(estimate: &Estimate) -> f64 {
    estimate.batch_rows.unwrap_or(1.0)
}

/// The machine as a run sees it: who takes the batches is another program.
fn for_runs(machine: &Machine) -> Machine {
    Machine { consumer: model::Consumer::default(), ..machine.clone() }
}

/// A way to keep a candidate.
#[derive(Debug, Clone)]
pub(super) struct Kind {
    pub(super) tier: Tier,
    pub(super) figures: CodecFigures,
    way: Way,
}

/// What a stage may keep.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Group {
    /// Candidates, by their place: a value, its index, or both.
    pub(super) members: Vec<usize>,
    /// Whether they go to disk.
    on_disk: bool,
}

/// What bounds a network, with the seconds that each output takes of it.
type Bounds = Vec<(Limit, f64)>;

/// What is thought of for each stage.
pub(super) type Picks = Vec<Group>;

/// What was found for some picks.
pub(super) struct Found {
    pub(super) picks: Picks,
    pub(super) strategy: Strategy,
    /// What is to be as small as possible.
    pub(super) cost: f64,
}

/// All that the linear programs are made of.
pub(super) struct Shop<'a> {
    pub(super) occasion: &'a Occasion,
    /// That of the occasion, for outputs in place of records.
    pub(super) objective: Objective,
    /// What bounds the rate, row by row; the last row, which is none of these, is what the disk writes.
    pub(super) limits: Vec<Limit>,
    /// Seconds of each row that an output takes if nothing is kept.
    base: Vec<f64>,
    /// What each candidate does to them, in each tier.
    ways: Vec<Vec<Kind>>,
    /// The stages that may keep something, each with all that it may keep.
    pub(super) stages: Vec<Vec<Group>>,
    /// Bytes of memory and of the disk.
    rooms: [f64; 2],
    /// Outputs of an epoch; one where nobody knows.
    pub(super) outputs: f64,
    /// Whether somebody does.
    pub(super) knows_length: bool,
}

const TIERS: [Tier; 3] = [Tier::Memory, Tier::Both, Tier::Disk];

/// What bounds a plan whose steps keep something: solved for each way.
struct Solver<'a> {
    plan: &'a Plan,
    network: &'a Network,
    machine: &'a Machine,
    /// The storage of the machine that is the disk.
    storage: usize,
}

/// The bounds of a way: once it is filled, while it is, and in the first epoch of a later run.
struct Solved {
    tier: Tier,
    figures: CodecFigures,
    warm: Bounds,
    fill: Bounds,
    again: Bounds,
}

impl Solver<'_> {
    fn bounds(&self, network: &Network) -> Bounds {
        let bounds = solve::solve(network, self.machine, &Wishes::default()).bounds;
        bounds.iter().map(|it| (it.limit, it.rate.recip())).collect()
    }

    /// Whether what a candidate reads lies in a store beyond a network.
    fn is_far(&self, candidate: &Candidate) -> bool {
        let step = self.network.steps().iter().find(|it| it.name == candidate.step);
        let storage = step.and_then(|it| self.machine.storages.get(it.reads?.storage));
        storage.is_some_and(|it| it.requests_max.is_some())
    }

    fn way(&self, choice: &Choice, (tier, figures): (Tier, CodecFigures)) -> Solved {
        let with =
            |tier, figures| choice.clone().with_forms(vec![Form { tier, figures, share: 1.0 }]);
        let found = |it: &Choice| warm(self.network, self.plan, (&[it], self.storage));
        let full = with(tier, figures);
        let fill = self.bounds(&filling(self.network, self.plan, &full));
        let warm = self.bounds(&found(&full));
        let again = match tier {
            Tier::Memory => fill.clone(),
            // Memory is filled once more, from the disk.
            Tier::Both => {
                let from_disk = found(&with(Tier::Disk, figures));
                self.bounds(&filling(&from_disk, self.plan, &with(Tier::Memory, PLAIN)))
            }
            Tier::Disk => warm.clone(),
        };
        Solved { tier, figures, warm, fill, again }
    }

    /// All ways to keep a candidate, in memory only where there is some.
    fn solved(&self, choice: &Choice, (occasion, has_memory): (&Occasion, bool)) -> Vec<Solved> {
        let candidate = &choice.candidate;
        let may = |tier: &Tier| {
            let (memory, on_disk) = tier.shares();
            // The system holds files of this machine in memory itself.
            let is_held = || candidate.reads && !self.is_far(candidate);
            choice.is_open()
                && (on_disk == 0.0 || occasion.disk.is_some() && candidate.listed)
                && (memory == 0.0 || has_memory && !is_held())
        };
        let value = candidate.value_name();
        let is_allowed = |(tier, figures): &(Tier, CodecFigures)| {
            let mut pins = occasion.pinned.iter();
            occasion.pinned.is_empty() || pins.any(|it| it.allows(&value, (*tier, figures.codec)))
        };
        let codecs = codecs(choice, occasion);
        let kinds = TIERS.into_iter().filter(may);
        let kinds = kinds.flat_map(|tier| codecs.iter().map(move |it| (tier, *it)));
        kinds.filter(is_allowed).map(|kind| self.way(choice, kind)).collect()
    }
}

/// What the rows of the program are, and what they are without anything that is kept.
struct Frame<'a> {
    occasion: &'a Occasion,
    none: &'a Bounds,
    limits: &'a [Limit],
    rooms: [f64; 2],
    /// Seconds to write a byte to disk, for each output.
    write_s: f64,
}

impl Frame<'_> {
    fn kind(&self, choice: &Choice, solved: &Solved) -> Kind {
        let &Solved { tier, figures, .. } = solved;
        let more = |of: &Bounds, written: f64| -> Vec<f64> {
            let of_limit = |it: &Limit| seconds(of, *it) - seconds(self.none, *it);
            self.limits.iter().map(of_limit).chain([written]).collect()
        };
        let bytes_in = |room: f64, left: f64| choice.bytes_encoded(left).unwrap_or(room).max(1.0);
        let (memory, on_disk) = tier.shares();
        let left_in_memory = if tier == Tier::Memory { figures.left } else { 1.0 };
        let bytes = vec![
            memory * bytes_in(self.rooms[0], left_in_memory),
            on_disk * bytes_in(self.rooms[1], figures.left),
        ];
        let written = if choice.values.is_some() { bytes[1] * self.write_s } else { 0.0 };
        let again = more(&solved.again, 0.0);
        // The first epoch finds what is there already, as that of a later run.
        let there = if on_disk > 0.0 { self.occasion.on_disk(choice) } else { 0.0 };
        let fill = more(&solved.fill, written).into_iter().zip(&again);
        let fill = fill.map(|(new, found)| new * (1.0 - there) + found * there).collect();
        let found = if tier == Tier::Memory { self.occasion.found_in_memory() } else { 1.0 };
        let warm = more(&solved.warm, 0.0).into_iter().map(|it| it * found).collect();
        Kind { tier, figures, way: Way { warm, fill, again, bytes } }
    }
}

/// The seconds of a limit; 0 where it bounds nothing.
fn seconds(of: &[(Limit, f64)], limit: Limit) -> f64 {
    of.iter().find(|it| it.0 == limit).map_or(0.0, |it| it.1)
}

impl<'a> Shop<'a> {
    /// None where the costs are not known.
    pub(super) fn new(
        (plan, library): (&Plan, &Library),
        (estimate, view): (&Estimate, &View),
        (occasion, all): (&'a Occasion, &[Choice]),
    ) -> Option<Self> {
        let (network, ..) = observed(plan, library, (estimate, view))?;
        let (network, machine) = (&network, &for_runs(&view.machine));
        let objective = match occasion.objective {
            Objective::Bytes(rate) => Objective::Bytes(rate / records(estimate)),
            other => other,
        };
        let disk = occasion.disk;
        let memory = if occasion.passes < 2.0 { 0.0 } else { occasion.room as f64 };
        let rooms = [memory, disk.map_or(0.0, |it| it.room as f64)];
        let outputs = epoch(network).finite();
        let solver = Solver { plan, network, machine, storage: disk.map_or(0, |it| it.storage) };
        let solved: Vec<Vec<Solved>> =
            all.iter().map(|it| solver.solved(it, (occasion, rooms[0] > 0.0))).collect();
        let none = solver.bounds(network);
        let mut limits: Vec<Limit> = none.iter().map(|it| it.0).collect();
        for Solved { warm, fill, again, .. } in solved.iter().flatten() {
            for (limit, _) in warm.iter().chain(fill).chain(again) {
                if !limits.contains(limit) {
                    limits.push(*limit);
                }
            }
        }
        // What is written to disk, beyond what the system holds back in memory.
        let writing = outputs.zip(disk).map(|(outputs, disk)| {
            let of_byte = disk.write_ns(machine) * 1e-9 / outputs;
            (of_byte, disk.write_ahead as f64 * of_byte)
        });
        let (write_s, ahead_s) = writing.unwrap_or_default();
        let frame = Frame { occasion, none: &none, limits: &limits, rooms, write_s };
        let ways: Vec<Vec<Kind>> = all
            .iter()
            .zip(&solved)
            .map(|(choice, solved)| solved.iter().map(|it| frame.kind(choice, it)).collect())
            .collect();
        let base = limits.iter().map(|it| seconds(&none, *it)).chain([-ahead_s]).collect();
        let has_way = |at: usize| !ways[at].is_empty();
        let places: &[bool] = match (disk, occasion.pinned_by) {
            (None, _) => &[false],
            (Some(_), PinnedBy::Lock) => &[false, true],
            (Some(_), PinnedBy::Prepare) => &[true],
        };
        let stages = groups(all, &has_way, places);
        let (knows_length, outputs) = (outputs.is_some(), outputs.unwrap_or(1.0));
        Some(Self { occasion, objective, limits, base, ways, stages, rooms, outputs, knows_length })
    }

    /// Marks what is kept, and says why the others are not.
    fn decide(&self, all: &mut [Choice]) {
        // Nothing has a rate that is none: then nobody knows what anything saves.
        let Some(found) = self.search(all) else { return };
        for (picked, shares) in found.picks.iter().zip(&found.strategy.shares) {
            for &member in &picked.members {
                let forms = self.forms_of(member, (picked, shares));
                if forms.iter().map(|it| it.share).sum::<f64>() >= SHARE_MIN {
                    all[member] = all[member].clone().with_forms(forms);
                    all[member].keep(self.rooms[0]);
                    let on_disk = all[member].disk_share;
                    let has_room = found.strategy.bytes[1] < self.rooms[1] * FULL;
                    let values = all[member].values.filter(|_| has_room && on_disk < FULL);
                    if let Some(values) = values.filter(|_| on_disk >= SHARE_MIN) {
                        all[member].disk_values = Some((values as f64 * on_disk) as u64);
                        let part = percent(on_disk);
                        all[member].why = format!(
                            "{part} of them on disk: computing the others is faster than reading them"
                        );
                    }
                }
            }
        }
        let left = self.rooms[0] - found.strategy.bytes[0];
        share_out(all, left.max(0.0));
        for at in 0..all.len() {
            if all[at].is_open() {
                all[at] = self.left_out(all, at);
            }
        }
    }

    /// The forms in which a member of a group is kept, by the shares of the group's ways.
    pub(super) fn forms_of(&self, member: usize, (group, shares): (&Group, &[f64])) -> Vec<Form> {
        let own = self.columns(group).zip(&shares[1..]).filter(|it| it.0.0 == member);
        let forms = own.map(|((_, kind), share)| {
            let Kind { tier, figures, .. } = *kind;
            Form { tier, figures, share: *share }
        });
        forms.filter(|it| it.share > 0.0).collect()
    }

    /// The best that is kept in all stages; none where the program has no solution. Where a rate is asked for that cannot be
    /// reached, it is the fastest.
    pub(super) fn search(&self, all: &[Choice]) -> Option<Found> {
        let found = match self.objective {
            Objective::Bytes(_) => {
                let fastest = self.search_for(Objective::Rate, &self.none(), all)?;
                let enough = self.search_for(self.objective, &fastest.picks, all);
                return enough.or(Some(fastest));
            }
            // What a lock names is kept, whatever its score.
            Objective::Weights(weights) if self.occasion.pinned.is_empty() => {
                return self.by_score(weights, all);
            }
            other => self.search_for(other, &self.none(), all)?,
        };
        Some(self.with_all_files(found, all))
    }

    /// What is thought of first: nothing is kept, or what a lock names.
    pub(super) fn none(&self) -> Picks {
        let is_pinned = !self.occasion.pinned.is_empty();
        let first =
            |groups: &Vec<Group>| groups.first().filter(|_| is_pinned).cloned().unwrap_or_default();
        self.stages.iter().map(first).collect()
    }

    /// The best for an objective, beginning with some picks, of which there must be a solution.
    pub(super) fn search_for(
        &self,
        objective: Objective,
        from: &Picks,
        all: &[Choice],
    ) -> Option<Found> {
        let is_pinned = !self.occasion.pinned.is_empty();
        let mut best = self.found(objective, from.clone(), all)?;
        for _ in 0..ROUNDS {
            let before = best.picks.clone();
            for stage in 0..self.stages.len() {
                let nothing = (!is_pinned).then(Group::default);
                for group in self.stages[stage].iter().cloned().chain(nothing) {
                    let mut picks = best.picks.clone();
                    picks[stage] = group;
                    let found = self.found(objective, picks, all);
                    if let Some(found) = found.filter(|it| it.is_better(&best)) {
                        best = found;
                    }
                }
            }
            if best.picks == before {
                break;
            }
        }
        Some(best)
    }

    /// The same where files, if some of them are kept, are all kept, as far as there is room. A part of them would do where
    /// the storage answers while cores compute; but it may be paid for each request, and others wait for it, too.
    fn with_all_files(&self, mut found: Found, all: &[Choice]) -> Found {
        let program = self.program(&found.picks, all);
        let mut left = [0, 1].map(|it| self.rooms[it] - found.strategy.bytes[it]);
        let mut shares = found.strategy.shares.clone();
        for ((group, shares), ways) in found.picks.iter().zip(&mut shares).zip(&program.streams) {
            let own = |it: &(usize, (usize, &Kind))| all[it.1.0].candidate.reads;
            let files: Vec<usize> =
                self.columns(group).enumerate().filter(own).map(|it| it.0 + 1).collect();
            let Some(&last) = files.iter().rfind(|it| shares[**it] >= SHARE_MIN) else { continue };
            let (kept, bytes) =
                (files.iter().map(|it| shares[*it]).sum::<f64>(), &ways[last].bytes);
            let fits = |tier: usize| (left[tier] / bytes[tier].max(1.0)).max(0.0);
            let more = [0, 1].into_iter().filter(|it| bytes[*it] > 0.0).map(fits);
            let more = more.fold(1.0 - kept, f64::min);
            for (at, share) in shares.iter_mut().enumerate().filter(|it| !files.contains(&it.0)) {
                let less = *share * more / (1.0 - kept).max(1e-9);
                *share -= less;
                left.iter_mut().zip(&ways[at].bytes).for_each(|it| *it.0 += less * it.1);
            }
            shares[last] += more;
            left.iter_mut().zip(bytes).for_each(|it| *it.0 -= more * it.1);
        }
        found.strategy = Strategy::of(&program, shares);
        found.cost = found.strategy.cost(&program, self.objective);
        found
    }

    fn found(&self, objective: Objective, picks: Picks, all: &[Choice]) -> Option<Found> {
        let program = self.program(&picks, all);
        let strategy = match self.pinned_shares(&picks, (&program, all)) {
            Some(shares) => Strategy::of(&program, shares),
            None => best(&program, objective).ok()?,
        };
        let cost = strategy.cost(&program, objective);
        Some(Found { picks, strategy, cost })
    }

    /// The shares of what a lock keeps where it says of all of it how much; as much as there is room for.
    fn pinned_shares(
        &self,
        picks: &[Group],
        (program, all): (&Program, &[Choice]),
    ) -> Option<Vec<Vec<f64>>> {
        let pinned = &self.occasion.pinned;
        if pinned.is_empty() || pinned.iter().any(|it| it.share.is_none()) {
            return None;
        }
        let mut left = self.rooms;
        let shares = picks.iter().zip(&program.streams).map(|(group, ways)| {
            let own = self.columns(group).zip(&ways[1..]).map(|((at, kind), way)| {
                let (value, kind) =
                    (all[at].candidate.value_name(), (kind.tier, kind.figures.codec));
                let pins = pinned.iter().filter(|it| it.allows(&value, kind));
                let wanted: f64 = pins.filter_map(|it| it.share).sum();
                let fits = way.bytes.iter().zip(&left).filter(|it| *it.0 > 0.0);
                let share = fits.fold(wanted, |it, (bytes, room)| it.min(room / bytes)).max(0.0);
                left.iter_mut().zip(&way.bytes).for_each(|it| *it.0 -= share * it.1);
                share
            });
            let own: Vec<f64> = own.collect();
            let rest = (1.0 - own.iter().sum::<f64>()).max(0.0);
            [rest].into_iter().chain(own).collect()
        });
        Some(shares.collect())
    }

    /// The candidates of a group with the ways to keep them, in the order of its ways behind the first, which keeps
    /// nothing.
    pub(super) fn columns<'b>(
        &'b self,
        group: &'b Group,
    ) -> impl Iterator<Item = (usize, &'b Kind)> + 'b {
        let all = group.members.iter().flat_map(|at| self.ways[*at].iter().map(|it| (*at, it)));
        all.filter(|(_, it)| (it.tier != Tier::Memory) == group.on_disk)
    }

    /// The linear program of what is thought of for each stage.
    pub(super) fn program(&self, picks: &[Group], all: &[Choice]) -> Program {
        let (rows, (runs, epochs)) = (self.base.len(), self.times());
        // Longer than anything takes, be it on the slowest disk.
        let ways = self.ways.iter().flatten().map(|it| &it.way);
        let taken = ways.flat_map(|it| it.warm.iter().chain(&it.fill).chain(&it.again));
        let most = self.base.iter().chain(taken).copied().fold(1e-9, f64::max);
        let nothing = |group: &Group| {
            // What the lock names is kept as far as there is room.
            let is_pinned = |it: &usize| self.occasion.pins(&all[*it].candidate.value_name());
            let pinned = group.members.iter().any(is_pinned);
            let seconds = vec![if pinned { most * 1e3 } else { 0.0 }; rows];
            let [warm, fill, again] = [(); 3].map(|()| seconds.clone());
            Way { warm, fill, again, bytes: vec![0.0; 2] }
        };
        let ways = |group: &Group| {
            let own = self.columns(group).map(|it| it.1.way.clone());
            [nothing(group)].into_iter().chain(own).collect()
        };
        Program {
            base: self.base.clone(),
            streams: picks.iter().map(ways).collect(),
            rooms: self.rooms.to_vec(),
            outputs: self.outputs,
            epochs,
            runs,
        }
    }

    /// Runs, and epochs of each.
    pub(super) fn times(&self) -> (f64, f64) {
        (self.occasion.runs(), self.occasion.passes.min(EPOCHS_MAX))
    }

    /// An open choice with the reason why it is left out.
    fn left_out(&self, all: &[Choice], at: usize) -> Choice {
        let own = &all[at];
        let room = |tier: usize| {
            let all = own.bytes_in_all().unwrap_or(self.rooms[tier]).max(1.0);
            (self.rooms[tier] / all).min(1.0)
        };
        let may = |tier| self.ways[at].iter().any(|it| it.tier == tier);
        let memory = if may(Tier::Memory) { room(0) } else { 0.0 };
        let on_disk = if may(Tier::Disk) { room(1) } else { 0.0 };
        let mut own = own.clone().with_shares(memory, on_disk);
        let stage = own.candidate.stage;
        let other = all.iter().filter(|it| it.kept && it.candidate.stage == stage);
        let other = other.max_by(|a, b| a.saves_ns.total_cmp(&b.saves_ns));
        own.why = if let Objective::Bytes(_) = self.objective {
            "the rate is reached without it, or with fewer bytes".to_owned()
        } else if let Objective::Weights(_) = self.objective {
            "something else has a higher score".to_owned()
        } else if let Objective::Cost { .. } = self.objective {
            "it costs more than it saves, or something else costs less".to_owned()
        } else if own.candidate.reads {
            "reading the files again takes no longer than the rest".to_owned()
        } else if let Some(other) = other.filter(|it| it.saves_ns > own.saves_ns) {
            let (name, saves) = (&other.candidate.function, other.saves_in_words());
            format!("`{name}` saves more: {saves}, this one saves {}", own.saves_in_words())
        } else if let Some(other) = other {
            format!("with `{}` the pipeline is as fast, or faster", other.candidate.function)
        } else if memory.max(on_disk) < SHARE_MIN {
            "not enough space".to_owned()
        } else if own.payback > self.occasion.horizon() {
            format!("filling the cache costs as much as {:.0} epochs save", own.payback)
        } else {
            "it saves CPU time only: something else is the bottleneck".to_owned()
        };
        own
    }
}

impl Found {
    pub(super) fn is_better(&self, than: &Self) -> bool {
        let bytes = |it: &Self| it.strategy.bytes.iter().sum::<f64>();
        let is_same = (self.cost - than.cost).abs() <= SAME * than.cost;
        if is_same { bytes(self) < bytes(than) } else { self.cost < than.cost }
    }
}

/// What each stage may keep, and whether on disk: a value with its index, or an index alone. What is read for values and the
/// values themselves exclude each other: their stages are one.
fn groups(all: &[Choice], has_way: &dyn Fn(usize) -> bool, places: &[bool]) -> Vec<Vec<Group>> {
    let open = || all.iter().enumerate().filter(|(at, it)| it.is_open() && has_way(*at));
    let files: Vec<StageId> =
        open().filter(|it| it.1.candidate.reads).map(|it| it.1.candidate.stage).collect();
    let stage_of = |stage: StageId| {
        let own = open().filter(|it| it.1.candidate.stage == stage);
        let mut read = own.flat_map(|it| &it.1.candidate.spares).map(|it| it.stage);
        read.find(|it| files.contains(it)).unwrap_or(stage)
    };
    let mut stages: Vec<(StageId, Vec<Group>)> = Vec::new();
    for (at, choice) in open() {
        let node = |it: &Choice| (it.candidate.stage, it.candidate.node);
        let is_other = |it: &Choice, keep| {
            it.is_open() && node(it) == node(choice) && it.candidate.keep == keep
        };
        let stage = stage_of(choice.candidate.stage);
        let members = match choice.candidate.keep {
            Keep::Value if choice.candidate.reads => {
                let is_index = |it: &Choice| {
                    it.candidate.keep == Keep::Index && stage_of(it.candidate.stage) == stage
                };
                let index = open().find(|it| is_index(it.1)).map(|it| it.0);
                [at].into_iter().chain(index).collect()
            }
            Keep::Value => {
                let index = all.iter().position(|it| is_other(it, Keep::Index));
                [at].into_iter().chain(index).collect()
            }
            Keep::Index if all.iter().any(|it| is_other(it, Keep::Value)) => continue,
            Keep::Index => vec![at],
        };
        let place = stages.iter().position(|it| it.0 == stage).unwrap_or_else(|| {
            stages.push((stage, Vec::new()));
            stages.len() - 1
        });
        let places = places.iter().filter(|on_disk| !**on_disk || choice.candidate.listed);
        let group = |on_disk: &bool| Group { members: members.clone(), on_disk: *on_disk };
        stages[place].1.extend(places.map(group));
    }
    stages.into_iter().map(|it| it.1).collect()
}

/// Gives those that are kept more room, for values that are larger than was estimated, as far as
/// there is any left.
fn share_out(all: &mut [Choice], left: f64) {
    let more = |it: &Choice| it.limit as f64 * MORE;
    let wanted: f64 = all.iter().map(more).sum();
    let part = (left / wanted.max(1.0)).clamp(0.0, 1.0);
    all.iter_mut().for_each(|it| it.limit += (more(it) * part) as u64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::bed::{Bed, LIBRARY},
        caches::{Disk, Part, candidates},
        estimate::{Basis, Figure, Origin, StepEstimate, estimate},
    };
    use model::Storage;
    use std::collections::BTreeMap;

    /// Files, and a step that makes pictures of them.
    struct Site {
        plan: Plan,
        estimate: Estimate,
        view: View,
        /// The pictures.
        value: Candidate,
    }

    impl Site {
        /// `count` files of so many bytes, and so many nanoseconds for each picture.
        fn new((cores, count): (u32, u64), file_bytes: f64, ns: f64) -> Self {
            let mut bed = Bed::default();
            let files = bed.files();
            let bytes = bed.map(files, |it| vec![("bytes", it.read())]);
            let root = bed.map(bytes, |it| {
                let bytes = it.field("bytes");
                vec![("image", it.decoded(bytes))]
            });
            let plan = bed.plan(root);
            let found = candidates(&plan, &LIBRARY, (None, 0.0)).unwrap();
            let is_value = |it: &Candidate| it.function == "decode" && it.keep == Keep::Value;
            let value = found.into_iter().find(is_value).unwrap();
            let basis = Basis { cores, ..Basis::default() };
            let mut estimate = estimate(&plan, &LIBRARY, basis).unwrap();
            let free = |it: &mut StepEstimate| {
                it.ns = Figure::exact(0.0);
                it.calls.iter_mut().for_each(|it| it.bytes = Figure::exact(file_bytes));
            };
            estimate.steps.iter_mut().for_each(free);
            estimate.steps[2].ns = Figure::exact(ns);
            let view = View {
                machine: Machine::new(f64::from(cores), 0.0),
                choices: Vec::new(),
                too_large: Vec::new(),
                budget: None,
                filled: BTreeMap::new(),
                only: Vec::new(),
                seen: None,
                pass_lens: vec![Some(count)],
                counted: Vec::new(),
                storages: vec![Some(0)],
            };
            Self { plan, estimate, view, value }
        }

        /// The picture or its index: its bytes with all that an entry takes, and the time that it saves.
        fn candidate(&self, keep: Keep, bytes: f64, saves: f64) -> Candidate {
            let parts = vec![Part { step: "p.map#2".to_owned(), ns: saves }];
            let bytes = Figure::exact(bytes - 256.0);
            let saves = Figure::exact(saves);
            Candidate { keep, bytes, saves, parts, listed: true, ..self.value.clone() }
        }

        fn choose(&self, all: Vec<Candidate>, occasion: Occasion) -> Vec<Choice> {
            let values = self.view.pass_lens[0].unwrap();
            let occasion = Occasion { pass_lens: [(StageId(0), values)].into(), ..occasion };
            choose(&self.plan, &LIBRARY, (&self.estimate, &self.view), (all, &occasion))
        }
    }

    #[test]
    fn where_a_value_is_not_kept_its_index_is() {
        let site = Site::new((2, 10), 0.0, 1e6);
        let shares = |room| {
            let whole = site.candidate(Keep::Value, 1_000.0, 1e6);
            let index = site.candidate(Keep::Index, 300.0, 4e5);
            let occasion = Occasion { passes: 100.0, room, ..Occasion::default() };
            let all = site.choose(vec![whole, index], occasion);
            assert!(all.iter().map(|it| it.limit).sum::<u64>() <= room.max(12_500));
            [Keep::Value, Keep::Index].map(|keep| {
                let mut own = all.iter().filter(|it| it.kept && it.candidate.keep == keep);
                own.next().map_or(0.0, |it| it.share)
            })
        };
        // There is room for two thirds of the indices, for some pictures besides, for all of them.
        let [values, indices] = shares(2_000);
        assert!(values == 0.0 && (indices - 2.0 / 3.0).abs() < 1e-6, "{values} {indices}");
        let [values, indices] = shares(6_500);
        assert!((values - 0.5).abs() < 1e-6 && (indices - 0.5).abs() < 1e-6, "{values} {indices}");
        assert_eq!(shares(20_000), [1.0, 0.0]);
    }

    #[test]
    fn what_is_kept_may_grow_as_far_as_there_is_room() {
        let site = Site::new((2, 10), 0.0, 1e6);
        let limit = |room| {
            let whole = site.candidate(Keep::Value, 1_000.0, 1e6);
            let all =
                site.choose(vec![whole], Occasion { passes: 9.0, room, ..Occasion::default() });
            all[0].limit
        };
        assert_eq!([5_000, 11_000, 100_000].map(limit), [5_000, 11_000, 12_500]);
    }

    #[test]
    fn a_disk_is_read_at_its_own_rate_whatever_the_cores() {
        // Pictures of 271 kB that take 566 µs, of files of 110 kB on the same disk of 1 GB/s: 9,090 a second, or 3,690
        // of those that are kept.
        let kept = |cores: u32| {
            let mut site = Site::new((cores, 50_000), 110e3, 584e3);
            site.view.machine.storages = vec![Storage::flat("disk", 1e9)];
            let value = site.candidate(Keep::Value, 271e3, 566e3);
            let disk =
                Disk { room: 1 << 40, storage: 0, write_ahead: 1 << 40, read_ns: Disk::READ_NS };
            let occasion = Occasion { passes: 1.0, disk: Some(disk), ..Occasion::default() };
            let all = site.choose(vec![value], occasion);
            (all[0].kept, all[0].why.clone())
        };
        assert!(kept(2).0, "{}", kept(2).1);
        let why = "it saves CPU time only: something else is the bottleneck";
        assert_eq!([8, 96].map(kept), [(false, why.to_owned()), (false, why.to_owned())]);
    }

    #[test]
    fn what_is_there_already_need_not_be_written() {
        // 13.6 GB that are written at 10 MB/s, for ten runs of one epoch of 15 s each.
        let mut site = Site::new((2, 50_000), 0.0, 584e3);
        let disk = Storage { write: 1e7, ..Storage::flat("disk", 4e9) };
        site.view.machine.storages = vec![disk];
        let value = site.candidate(Keep::Value, 271e3, 566e3);
        let kept = |there: u64| {
            let disk = Disk { room: 1 << 40, storage: 0, write_ahead: 0, read_ns: Disk::READ_NS };
            let filled = [(value.name, there)].into();
            let occasion =
                Occasion { passes: 1.0, disk: Some(disk), filled, ..Occasion::default() };
            let found = site.choose(vec![value.clone()], occasion).remove(0);
            if found.kept { found.disk_share } else { 0.0 }
        };
        assert!(kept(0) < 0.01 && kept(50_000) > 0.8, "{} {}", kept(0), kept(50_000));
    }

    #[test]
    fn files_of_a_store_are_kept_or_what_is_made_of_them() {
        // 8,533 objects a second come, and 83,000 pictures could be made of them.
        let mut site = Site::new((32, 1_000), 110e3, 385e3);
        let found = candidates(&site.plan, &LIBRARY, (None, 0.0)).unwrap();
        let file = found.into_iter().find(|it| it.reads).unwrap();
        let file = Candidate { bytes: Figure::exact(110e3 - 256.0), listed: true, ..file };
        let mut shares = |store: bool, room: u64, disk: Option<Disk>| {
            site.view.machine.storages = match store {
                true => vec![Storage::far("s3://", (0.03, 256), None)],
                false => vec![Storage::flat("disk", 1e9)],
            };
            site.view.machine.storages.push(Storage::flat("cache", 4e9));
            let value = site.candidate(Keep::Value, 600e3, 385e3);
            let occasion = Occasion { passes: 9.0, room, disk, ..Occasion::default() };
            let all = site.choose(vec![value, file.clone()], occasion);
            let share = |it: &Choice| if it.kept { it.share.max(it.disk_share) } else { 0.0 };
            [false, true].map(|reads| {
                let mut own = all.iter().filter(|it| it.candidate.reads == reads);
                own.next().map(share)
            })
        };
        // Files come to the rate of the store, and yet none is asked for twice.
        assert_eq!(shares(true, 66_000_000, None), [Some(0.0), Some(0.6)]);
        assert_eq!(shares(true, 120_000_000, None), [Some(0.0), Some(1.0)]);
        assert_eq!(shares(true, 1_000_000_000, None), [Some(1.0), Some(0.0)]);
        let disk =
            Some(Disk { room: 1 << 40, storage: 1, write_ahead: 1 << 40, read_ns: Disk::READ_NS });
        assert_eq!(shares(true, 0, disk), [Some(0.0), Some(1.0)]);
        // The system holds those of this machine in memory itself.
        assert_eq!(shares(false, 66_000_000, None)[1], None);
    }

    #[test]
    fn what_makes_nothing_faster_is_not_kept() {
        let mut site = Site::new((8, 1_000), 110e3, 100e3);
        site.view.machine.storages = vec![Storage::flat("disk", 100e6)];
        let value = |spares: bool| {
            let mut it = site.candidate(Keep::Value, 10e3, 100e3);
            if !spares {
                it.spares.clear();
            }
            it.saves.origin = Origin::Assumed;
            it
        };
        let kept = |spares| {
            let room = Occasion { passes: 9.0, room: 1 << 30, ..Occasion::default() };
            site.choose(vec![value(spares)], room)[0].kept
        };
        // The files are read in any case, and their disk is what bounds; or they need not be.
        assert_eq!([false, true].map(kept), [false, true]);
    }
}
