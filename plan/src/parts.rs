//! Values of which a part is used, and that can be made in part.

use crate::{Arg, Expr, ExprId, Fused, Graph};
use serde::{Deserialize, Serialize};

/// What is kept of a value from epoch to epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keep {
    /// The value.
    Value,
    /// An index of what it is made of, for the part of it that is used.
    Index,
}

/// A value of which one part is used.
#[derive(Debug)]
pub struct Site {
    /// The value, `f(from)`.
    pub whole: ExprId,
    /// What it is made of.
    pub from: ExprId,
    /// The part of it that is used.
    pub part: ExprId,
    /// What else is asked of it.
    pub asks: Vec<ExprId>,
    /// The functions that make the part at once, and answer.
    pub fused: &'static Fused,
}

impl Site {
    /// The arguments with which the node `user`, the part or what is asked, is found without the
    /// whole: its own ones, but for the first.
    pub fn args(&self, graph: &Graph, user: ExprId) -> Vec<Arg> {
        let Expr::Call { args, .. } = graph.expr(user) else { return Vec::new() };
        [Arg::Expr(self.from)].into_iter().chain(args[1..].iter().cloned()).collect()
    }
}

/// The values of a graph of which one part is used, and nothing else but what can be answered without
/// them; `of` tells which functions can be made in part.
pub fn sites(graph: &Graph, of: &dyn Fn(&str) -> Option<&'static Fused>) -> Vec<Site> {
    let nodes = graph.iter().map(|(id, ..)| id);
    nodes.filter_map(|it| site(graph, it, of)).collect()
}

fn site(graph: &Graph, whole: ExprId, of: &dyn Fn(&str) -> Option<&'static Fused>) -> Option<Site> {
    let Expr::Call { function, args, draw: None } = graph.expr(whole) else { return None };
    let fused = of(function)?;
    let (Some(Arg::Expr(from)), true) = (args.first(), args.get(1..) == Some(fused.others)) else {
        return None;
    };
    let (mut parts, mut asks) = (Vec::new(), Vec::new());
    for (id, user, _) in graph.iter() {
        match used(user, whole) {
            None => {}
            Some(Use::First(function)) if function == fused.part => parts.push(id),
            Some(Use::First(function)) if function == fused.asked => asks.push(id),
            Some(_) => return None,
        }
    }
    let [part] = parts[..] else { return None };
    Some(Site { whole, from: *from, part, asks, fused })
}

/// How a node uses another.
enum Use<'a> {
    /// As the first argument of a function, and nowhere else.
    First(&'a str),
    /// In another way.
    Other,
}

fn used(user: &Expr, id: ExprId) -> Option<Use<'_>> {
    let mut times = 0;
    user.needs(|it| times += u32::from(it == id));
    match user {
        _ if times == 0 => None,
        Expr::Call { function, args, draw: None }
            if times == 1 && args.first() == Some(&Arg::Expr(id)) =>
        {
            Some(Use::First(function))
        }
        _ => Some(Use::Other),
    }
}
