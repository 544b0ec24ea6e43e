//! Plans for the same pipeline that exclude each other: which of them is the best with what is then cached.
//!
//! What a plan does without, such as the whole image of which another one decodes a part, cannot be cached in it. So each of
//! them is solved alone.

use super::{
    Estimate,
    outlook::View,
    strategy::{Found, SAME, Shop, records},
};
use crate::caches::{Candidate, Choice, Occasion};
use model::{
    strategy::Objective,
    weights::{self, Whole},
};
use plan::{Library, Plan};

/// One of several plans for the same pipeline, and what could be cached of it.
#[derive(Debug, Clone, Copy)]
pub struct Alternative<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// What it costs.
    pub estimate: &'a Estimate,
    /// What it is looked at for.
    pub view: &'a View,
    /// What could be cached.
    pub candidates: &'a [Candidate],
    /// What for.
    pub occasion: &'a Occasion,
}

impl<'a> Alternative<'a> {
    /// What could be cached, and the linear programs of it; none where the costs are not known.
    pub(super) fn shop(&self, library: &Library) -> Option<(Vec<Choice>, Shop<'a>)> {
        let Self { plan, estimate, view, candidates, occasion } = *self;
        let all: Vec<Choice> =
            candidates.iter().map(|it| Choice::new(it.clone(), occasion)).collect();
        let shop = Shop::new((plan, library), (estimate, view), (occasion, &all))?;
        Some((all, shop))
    }
}

/// Which of several plans is the best with what is then cached: of some that differ by less than 1 % the one that caches
/// fewer bytes, and of those the first.
pub fn best_alternative(library: &Library, all: &[Alternative<'_>]) -> usize {
    let shops: Vec<Option<(Vec<Choice>, Shop<'_>)>> =
        all.iter().map(|it| it.shop(library)).collect();
    let found = |(all, shop): &(Vec<Choice>, Shop<'_>)| shop.search(all);
    let solved: Vec<Option<Found>> = shops.iter().map(|it| it.as_ref().and_then(found)).collect();
    best_of(&shops, &solved)
}

/// The same of what was solved.
pub(super) fn best_of(
    shops: &[Option<(Vec<Choice>, Shop<'_>)>],
    solved: &[Option<Found>],
) -> usize {
    let objective = shops.iter().flatten().map(|it| it.1.occasion.objective).next();
    if let Some(Objective::Weights(weights)) = objective {
        let wholes = |it: &Option<(Vec<Choice>, Shop<'_>)>| {
            it.as_ref().map_or(Vec::new(), |(all, shop)| shop.scored(all))
        };
        let wholes: Vec<(usize, Whole)> = shops
            .iter()
            .enumerate()
            .flat_map(|(at, it)| wholes(it).into_iter().map(move |it| (at, it)))
            .collect();
        let scored: Vec<Whole> = wholes.iter().map(|it| it.1).collect();
        return weights::winner(&scored, weights).map_or(0, |it| wholes[it].0);
    }
    let mut best: Option<(usize, &Shop<'_>, &Found)> = None;
    for (at, (shop, found)) in shops.iter().zip(solved).enumerate() {
        let (Some((_, shop)), Some(found)) = (shop, found) else { continue };
        if best.is_none_or(|(_, best_shop, it)| shop.is_better((found, (best_shop, it)))) {
            best = Some((at, shop, found));
        }
    }
    best.map_or(0, |it| it.0)
}

/// The most records per second that can be reached, where the occasion asks for more.
pub fn out_of_reach(
    plan: &Plan,
    library: &Library,
    (estimate, view): (&Estimate, &View),
    (candidates, occasion): (&[Candidate], &Occasion),
) -> Option<f64> {
    let Objective::Bytes(wanted) = occasion.objective else { return None };
    let (all, shop) = Alternative { plan, estimate, view, candidates, occasion }.shop(library)?;
    let fastest = shop.search_for(Objective::Rate, &shop.none(), &all)?;
    let most = shop.outputs / fastest.strategy.later_s * records(estimate);
    (most < wanted).then_some(most)
}

impl Shop<'_> {
    /// Whether what was found here is better than what was found of another plan.
    fn is_better(&self, (own, (other_shop, other)): (&Found, (&Self, &Found))) -> bool {
        let Objective::Bytes(rate) = self.objective else { return own.is_better(other) };
        let speed = |shop: &Self, it: &Found| shop.outputs / it.strategy.later_s;
        let (speed, other_speed) = (speed(self, own), speed(other_shop, other));
        // Exactly as much as was asked for is enough.
        let reaches = |it: f64| it >= rate * (1.0 - 1e-9);
        match (reaches(speed), reaches(other_speed)) {
            (true, true) => own.is_better(other),
            (false, false) => speed > other_speed * (1.0 + SAME),
            (own, _) => own,
        }
    }
}
