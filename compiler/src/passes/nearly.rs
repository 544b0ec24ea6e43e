//! What the passes share that are not exact: a call `of(f(x, …), …)` of whose inner value less would do,
//! and what else asks for that value. They differ in which property of `f` says so, and in what is
//! put there instead.

use super::{Proposal, Refusal, rebuild};
use crate::{
    analysis::live::{live, values},
    registry::Registry,
};
use plan::{Arg, Expr, ExprId, Index, Op, Plan, Property};

/// A pass that leaves something out.
pub(super) struct Leaves<P: 'static> {
    /// Its name.
    pub(super) pass: &'static str,
    /// What a property says of `f`, if it is one that the pass looks for.
    pub(super) how: fn(&Property) -> Option<&'static P>,
    /// `of`,
    pub(super) of: fn(&P) -> &'static str,
    /// and how many of its arguments may be what they are; the others are left out.
    pub(super) args: usize,
    /// What may ask for an extent of the inner value besides.
    pub(super) asked: fn(&P) -> Option<&'static str>,
    /// What is done, where `f` is called so.
    pub(super) words: fn(&str, &P) -> String,
    /// Does it.
    pub(super) rewritten: fn(&Op, &[Site<P>], &Registry) -> Option<Op>,
    /// Why it is not exact.
    pub(super) why_not: &'static str,
}

/// Such a call.
pub(super) struct Site<P: 'static> {
    /// The call of `of`.
    pub(super) upper: ExprId,
    /// That of `f`.
    pub(super) lower: ExprId,
    /// What asks for an extent of it.
    pub(super) asks: Vec<ExprId>,
    /// What its property says.
    pub(super) how: &'static P,
}

impl<P> Leaves<P> {
    /// The plan with all of them done.
    pub(super) fn propose(&self, plan: &Plan, registry: &Registry) -> Vec<Proposal> {
        rebuild::each(plan, |op| {
            let sites = self.sites(op, registry);
            let changed = (self.rewritten)(op, &sites, registry).filter(|_| !sites.is_empty())?;
            Some((changed, sites.iter().map(|it| self.told(op, it)).collect()))
        })
    }

    /// All of them, where nothing may be left out.
    pub(super) fn refuse(&self, plan: &Plan, registry: &Registry) -> Vec<Refusal> {
        let refused = plan.ops.iter().flat_map(|(_, op)| {
            self.sites(op, registry).into_iter().map(|it| Refusal {
                pass: self.pass.to_owned(),
                step: op.step.clone(),
                what: self.told(op, &it),
                why: self.why_not.to_owned(),
            })
        });
        refused.collect()
    }

    fn told(&self, op: &Op, site: &Site<P>) -> String {
        let Expr::Call { function, .. } = op.graph.expr(site.lower) else { return String::new() };
        (self.words)(function, site.how)
    }

    fn sites(&self, op: &Op, registry: &Registry) -> Vec<Site<P>> {
        let live = live(&op.graph, &values(op), &[]);
        let users = rebuild::users(op, &live);
        let nodes = || op.graph.iter().filter(|(id, ..)| live[id.row()]);
        let sites = nodes().filter_map(|(upper, expr, _)| {
            let Expr::Call { function: of, args, draw: None } = expr else { return None };
            let Some(Arg::Expr(lower)) = args.first() else { return None };
            let Expr::Call { function, args: below, draw: None } = op.graph.expr(*lower) else {
                return None;
            };
            let entry = registry.function(function)?;
            let mut all = entry.properties.iter().filter_map(self.how);
            let how = all.find(|it| (self.of)(it) == of)?;
            let defaults = registry.has_defaults(entry, below, 1)
                && registry.has_defaults(registry.function(of)?, args, self.args);
            let asks = nodes().filter(|(_, expr, _)| match expr {
                Expr::Call { function, args, draw: None } => {
                    (self.asked)(how).is_some_and(|it| it == function)
                        && matches!(args[..], [Arg::Expr(of), Arg::Int(_)] if of == *lower)
                }
                _ => false,
            });
            let asks: Vec<ExprId> = asks.map(|it| it.0).collect();
            let all = 1 + asks.len() as u32;
            let alone = users[lower.row()] == all;
            (defaults && alone).then_some(Site { upper, lower: *lower, asks, how })
        });
        sites.collect()
    }
}
