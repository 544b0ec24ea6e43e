//! What to keep, where: the caches with which all epochs together take the least time, the first
//! one, which fills them, included.

use crate::{
    load::Load,
    machine::Machine,
    network::{Act, Cached, Network},
    place::{Rejected, candidates},
    solve::Wishes,
};
use serde::{Deserialize, Serialize};

/// A plan must be better by this part: less is noise.
const WORTH: f64 = 0.01;

/// Plans whose times differ by less than this part are the same; the one that keeps fewer bytes wins.
const SAME: f64 = 1e-3;

/// Places up to which every set of caches is looked at: 2^10 sets of whole caches, 2^5 where each
/// has a share to be found.
const ALL_SETS: usize = 10;
const ALL_SETS_OF_PARTS: usize = 5;

/// Places of each tier that are paired where there are more: those that are best alone.
const PAIRED: usize = 6;

/// Caches of one pipeline at most where not every set is looked at.
const CACHES_MAX: usize = 4;

/// Kinds of room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Records in memory.
    Memory,
    /// Records in a file on the storage that the machine names for it.
    Disk,
}

/// CPU time of a tier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TierCost {
    /// Nanoseconds to read a record.
    pub read_ns: f64,
    /// Nanoseconds to read a byte.
    pub read_ns_per_byte: f64,
    /// Nanoseconds to write a record.
    pub write_ns: f64,
    /// Nanoseconds to write a byte.
    pub write_ns_per_byte: f64,
}

/// What to plan caches for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Horizon {
    /// Epochs that will be run, the first included.
    pub epochs: f64,
    /// Whether a part of the records of a step may be kept.
    pub partial: bool,
    /// What memory costs.
    pub memory: TierCost,
    /// What the disk costs, its bandwidth aside.
    pub disk: TierCost,
}

/// A cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// After which step.
    pub step: usize,
    /// In what.
    pub tier: Tier,
    /// The part of the records, 0 to 1.
    pub share: f64,
    /// Bytes of that part.
    pub bytes: f64,
}

/// Caches, and what they do to the time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Keeping {
    /// The caches; none is a plan too.
    pub caches: Vec<Held>,
    /// Outputs per second while they fill.
    pub cold_rate: f64,
    /// Outputs per second once they are full.
    pub warm_rate: f64,
    /// Seconds for all epochs; seconds for as many single outputs where no source ends.
    pub seconds: f64,
    /// Epochs after which it has taken no more time than without; none if it never pays.
    pub payback_epochs: Option<f64>,
}

/// A place that was thought of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Considered {
    /// After which step.
    pub step: usize,
    /// In what.
    pub tier: Tier,
    /// The best with a cache there and nowhere else, or why there can be none.
    pub outcome: Result<Keeping, Rejected>,
}

/// What was chosen, and every place with its numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The plan without caches.
    pub without: Keeping,
    /// The best plan; that without caches where none is worth it.
    pub best: Keeping,
    /// Every place and tier.
    pub considered: Vec<Considered>,
}

impl Default for Horizon {
    /// Many epochs, records kept one by one, memory and disk that cost no CPU time.
    fn default() -> Self {
        let free = TierCost::default();
        Self { epochs: 90.0, partial: true, memory: free, disk: free }
    }
}

/// The caches with the least time for all epochs.
///
/// Every set of places is looked at where there are few; else every place, the pairs of the best,
/// and more on top of the best pair. A part of the records is kept where it is allowed and all do not fit: the time is
/// convex in each share (a maximum of straight lines), so the best share is found by halving.
pub fn choose(network: &Network, machine: &Machine, wishes: &Wishes, horizon: &Horizon) -> Choice {
    let shop = Shop::new(network, machine, wishes, horizon);
    let without = shop.keeping(&[]);
    let considered = shop.considered();
    let mut alone: Vec<(&Considered, &Keeping)> =
        considered.iter().filter_map(|it| Some((it, it.outcome.as_ref().ok()?))).collect();
    alone.sort_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
    let few = alone.len() <= if horizon.partial { ALL_SETS_OF_PARTS } else { ALL_SETS };
    let of = |tier| alone.iter().map(|it| (it.0.step, it.0.tier)).filter(move |it| it.1 == tier);
    let most = if few { alone.len() } else { PAIRED };
    let places: Vec<_> = of(Tier::Memory).take(most).chain(of(Tier::Disk).take(most)).collect();
    let sets = if few { all_sets(&places) } else { pairs(&places) };
    let together = sets.iter().map(|set| shop.best_shares(set));
    let mut best = without.clone();
    for plan in alone.iter().map(|it| it.1.clone()).chain(together) {
        if better(&plan, &best, &without) {
            best = plan;
        }
    }
    for _ in 2..if few { 2 } else { CACHES_MAX } {
        let Some(plan) = shop.one_more(&best, &places, &without) else { break };
        best = plan;
    }
    Choice { without, best, considered }
}

/// The network with these caches at work: `Fills` in the first epoch, `Serves` after it.
pub fn furnished(
    network: &Network,
    machine: &Machine,
    (caches, act): (&[Held], Act),
    horizon: &Horizon,
) -> Network {
    caches.iter().filter(|it| it.share > 0.0).fold(network.clone(), |network, held| {
        let bytes = network.steps()[held.step].bytes_out.value;
        let cost = if held.tier == Tier::Memory { horizon.memory } else { horizon.disk };
        let ns = match act {
            Act::Fills => cost.write_ns + cost.write_ns_per_byte * bytes,
            Act::Serves => cost.read_ns + cost.read_ns_per_byte * bytes,
        };
        let disk = machine.disk_cache.filter(|_| held.tier == Tier::Disk);
        let storage = disk.map(|it| (it.0, bytes));
        let cached = Cached { act, share: held.share, ns, storage, bytes_moved: bytes };
        network.with(held.step, |step| step.caches.push(cached))
    })
}

/// Of variants that give the same, the one that takes the least time, each with its own best caches
/// (the paper's `pick_best`). None for no variants.
pub fn pick_best(
    variants: &[Network],
    machine: &Machine,
    wishes: &Wishes,
    horizon: &Horizon,
) -> Option<(usize, Vec<Choice>)> {
    let choices: Vec<Choice> =
        variants.iter().map(|it| choose(it, machine, wishes, horizon)).collect();
    let seconds = |at: &usize| choices[*at].best.seconds;
    let best = (0..choices.len()).min_by(|a, b| seconds(a).total_cmp(&seconds(b)))?;
    Some((best, choices))
}

/// Every set of two places or more.
fn all_sets(places: &[(usize, Tier)]) -> Vec<Vec<(usize, Tier)>> {
    let inside = |bits: usize| {
        let chosen = places.iter().enumerate().filter(move |it| bits >> it.0 & 1 == 1);
        chosen.map(|it| *it.1).collect::<Vec<_>>()
    };
    (1..1_usize << places.len()).map(inside).filter(|it| it.len() > 1).collect()
}

fn pairs(places: &[(usize, Tier)]) -> Vec<Vec<(usize, Tier)>> {
    let pair = |a: usize| (0..a).map(move |b| vec![places[a], places[b]]);
    (0..places.len()).flat_map(pair).collect()
}

fn better(plan: &Keeping, than: &Keeping, without: &Keeping) -> bool {
    let bytes = |it: &Keeping| it.caches.iter().map(|it| it.bytes).sum::<f64>();
    let worth = plan.seconds < without.seconds * (1.0 - WORTH);
    let same = (plan.seconds - than.seconds).abs() <= SAME * than.seconds;
    worth && if same { bytes(plan) < bytes(than) } else { plan.seconds < than.seconds }
}

/// All that does not change from plan to plan.
struct Shop<'a> {
    network: Network,
    machine: &'a Machine,
    wishes: &'a Wishes,
    horizon: &'a Horizon,
    sizes: Vec<Result<f64, Rejected>>,
    /// Outputs of one epoch.
    outputs: f64,
    /// For each step, outputs until all its records have passed.
    fills: Vec<f64>,
    /// Outputs per second without caches.
    plain_rate: f64,
}

impl<'a> Shop<'a> {
    fn new(
        network: &Network,
        machine: &'a Machine,
        wishes: &'a Wishes,
        horizon: &'a Horizon,
    ) -> Self {
        // Caches of the author are suggestions: they are taken away first (paper figure 11).
        let network = network.without_caches();
        let sizes = candidates(&network);
        // Plans are copied by the thousand, and nobody reads the names there.
        let steps = 0..network.steps().len();
        let network = steps.fold(network, |it, at| it.with(at, |step| step.name.clear()));
        let outputs = network.epoch_outputs().finite().unwrap_or(1.0);
        let visits = network.visits().visits;
        let counts = network.cardinalities();
        let passed = |(n, v): (&crate::network::Amount, f64)| n.finite().map_or(outputs, |n| n / v);
        let fills = counts.iter().zip(visits).map(passed).collect();
        let plain_rate = rate(&network, machine, wishes);
        Self { network, machine, wishes, horizon, sizes, outputs, fills, plain_rate }
    }

    /// Bytes of a tier.
    fn budget(&self, tier: Tier) -> f64 {
        let buffers = self.network.held_bytes();
        match tier {
            Tier::Memory => self.machine.memory_for_caches(buffers),
            Tier::Disk => self.machine.disk_cache.map_or(0.0, |it| it.1),
        }
    }

    fn considered(&self) -> Vec<Considered> {
        let places = (0..self.sizes.len()).flat_map(|it| [(it, Tier::Memory), (it, Tier::Disk)]);
        let look = |(step, tier)| {
            let outcome = self.fits(step, tier).map(|()| self.best_shares(&[(step, tier)]));
            Considered { step, tier, outcome }
        };
        places.map(look).collect()
    }

    fn fits(&self, step: usize, tier: Tier) -> Result<(), Rejected> {
        let bytes = self.sizes[step].clone()?;
        let budget = self.budget(tier);
        if budget <= 0.0 {
            return Err(Rejected::NoRoom);
        }
        let whole = bytes <= budget;
        if whole || self.horizon.partial {
            Ok(())
        } else {
            Err(Rejected::TooLarge { bytes, budget })
        }
    }

    fn one_more(
        &self,
        best: &Keeping,
        places: &[(usize, Tier)],
        without: &Keeping,
    ) -> Option<Keeping> {
        let old: Vec<(usize, Tier)> = best.caches.iter().map(|it| (it.step, it.tier)).collect();
        let plans = places.iter().filter(|it| !old.contains(it)).map(|place| {
            let set: Vec<_> = old.iter().copied().chain([*place]).collect();
            self.best_shares(&set)
        });
        plans.fold(None, |found: Option<Keeping>, plan| {
            let than = found.as_ref().unwrap_or(best);
            if better(&plan, than, without) { Some(plan) } else { found }
        })
    }

    /// The best shares for caches at these places, one after the other; in both orders, for the first takes the room.
    fn best_shares(&self, set: &[(usize, Tier)]) -> Keeping {
        let back: Vec<(usize, Tier)> = set.iter().rev().copied().collect();
        let one = self.shares_in_order(set);
        if set.len() < 2 {
            return one;
        }
        let other = self.shares_in_order(&back);
        if other.seconds < one.seconds { other } else { one }
    }

    fn shares_in_order(&self, set: &[(usize, Tier)]) -> Keeping {
        let mut caches: Vec<Held> =
            set.iter().map(|it| Held { step: it.0, tier: it.1, share: 0.0, bytes: 0.0 }).collect();
        for at in 0..caches.len() {
            let most = self.room(&caches, at);
            let share = self.best_share(&caches, at, most);
            caches[at].share = share;
            caches[at].bytes = share * self.bytes(caches[at].step);
        }
        caches.retain(|it| it.share > 0.0);
        self.keeping(&caches)
    }

    fn bytes(&self, step: usize) -> f64 {
        self.sizes[step].as_ref().map_or(f64::INFINITY, |it| *it)
    }

    /// The largest share that this cache may have beside the others.
    fn room(&self, caches: &[Held], at: usize) -> f64 {
        let others = || caches.iter().enumerate().filter(move |it| it.0 != at).map(|it| it.1);
        let own = &caches[at];
        let taken: f64 = others().filter(|it| it.tier == own.tier).map(|it| it.bytes).sum();
        let here: f64 = others().filter(|it| it.step == own.step).map(|it| it.share).sum();
        let share = (self.budget(own.tier) - taken).max(0.0) / self.bytes(own.step);
        let most = share.min(1.0 - here).max(0.0);
        // All or nothing where parts are not allowed.
        if most < 1.0 && !self.horizon.partial { 0.0 } else { most }
    }

    /// The least of a convex function: thirds are cut off until the gap is a thousandth of a percent.
    fn best_share(&self, caches: &[Held], at: usize, most: f64) -> f64 {
        let seconds = |share: f64| {
            let mut caches = caches.to_vec();
            caches[at].share = share;
            self.times(&caches).2
        };
        let (whole, none) = (seconds(most), seconds(0.0));
        if !self.horizon.partial || most == 0.0 {
            return if whole <= none { most } else { 0.0 };
        }
        let (mut low, mut high) = (0.0, most);
        for _ in 0..28 {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if seconds(a) < seconds(b) { high = b } else { low = a }
        }
        let middle = (low + high) / 2.0;
        let best = seconds(middle);
        // The ends themselves are never reached by cutting.
        if whole <= best * (1.0 + 1e-9) && whole <= none {
            most
        } else if none <= best {
            0.0
        } else {
            middle
        }
    }

    /// Rate while filling, rate once full, seconds for all epochs.
    fn times(&self, caches: &[Held]) -> (f64, f64, f64) {
        if caches.iter().all(|it| it.share == 0.0) {
            let seconds = self.horizon.epochs * self.outputs / self.plain_rate;
            return (self.plain_rate, self.plain_rate, seconds);
        }
        let with = |act| furnished(&self.network, self.machine, (caches, act), self.horizon);
        let cold = rate(&with(Act::Fills), self.machine, self.wishes);
        let warm = rate(&with(Act::Serves), self.machine, self.wishes);
        let all = self.horizon.epochs * self.outputs;
        let first = self.filling(caches).min(all);
        (cold, warm, first / cold + (all - first) / warm)
    }

    /// Outputs until the last of the caches is full.
    fn filling(&self, caches: &[Held]) -> f64 {
        caches.iter().map(|it| self.fills[it.step]).fold(0.0, f64::max)
    }

    fn keeping(&self, caches: &[Held]) -> Keeping {
        let (cold_rate, warm_rate, seconds) = self.times(caches);
        let gain = self.outputs * (self.plain_rate.recip() - warm_rate.recip());
        let fill = self.filling(caches) * (cold_rate.recip() - warm_rate.recip());
        let payback_epochs = (gain > 0.0 && !caches.is_empty()).then(|| fill / gain);
        Keeping { caches: caches.to_vec(), cold_rate, warm_rate, seconds, payback_epochs }
    }
}

fn rate(network: &Network, machine: &Machine, wishes: &Wishes) -> f64 {
    let load = Load::new(network, machine, wishes, None);
    load.bounds().first().map_or(f64::INFINITY, |it| it.rate)
}
