//! What is cropped is not resized first: `crop(resize(x, …), …)` becomes `resize_within(crop(x, …), …)`.
//!
//! Which functions have such a form is the library's to say ([`Property::Resamples`]). Where a crop
//! depends on the extents of the resized picture, these are the arguments of `resize`. What is left is
//! a crop of `x`, which may be made in part itself. Where the resized picture is used otherwise too, it is
//! made once, whole.

use super::{Pass, rebuild};
use crate::{
    analysis::live::{live, values},
    registry::Registry,
};
use plan::{
    Arg, Const, DType, Expr, ExprId, Extent, Graph, Index, Op, OpKind, Property, Resampled, Type,
};
use std::collections::HashMap;

pub(super) const PASS: Pass = Pass {
    name: "roi-resizing",
    formerly: Some("resize-parts"),
    summary: "resizes only the cropped region",
    doc: "If an image is resized and cropped, only the part that is used is resized.",
    law: "The library states that a part of the resized image and the part resized directly are \
          the same.",
    exact: true,
    always: false,
    takes_parts: true,
    propose: |plan, registry| rebuild::each(plan, |op| first(op, registry)),
    refuse: super::nothing_refused,
};

/// A resized picture of which one part is used, and nothing else but its extents.
struct Site<'a> {
    /// The function that resizes, `f(x, height, width, how…)`.
    function: &'a str,
    /// Its arguments.
    args: &'a [Arg],
    /// The part of it.
    part: ExprId,
    /// Its extents, and the axes that they are of.
    asks: Vec<(ExprId, usize)>,
    /// The functions that make the part.
    how: &'static Resampled,
}

/// With the first of its sites rewritten: a pass is asked again until it finds nothing.
fn first(op: &Op, registry: &Registry) -> Option<(Op, Vec<String>)> {
    let site = sites(op, registry).into_iter().next()?;
    let words = format!(
        "`{}` before `{}`, which then resizes only what is needed",
        site.how.part, site.function
    );
    Some((rewritten(op, &site), vec![words]))
}

fn sites<'a>(op: &'a Op, registry: &Registry) -> Vec<Site<'a>> {
    // Elsewhere a fault may go with what is not needed.
    if !matches!(op.kind, OpKind::Map { .. } | OpKind::Where { .. }) {
        return Vec::new();
    }
    let roots = values(op);
    let live = live(&op.graph, &roots, &[]);
    let nodes = op.graph.iter().map(|(id, ..)| id).filter(|it| live[it.row()]);
    let found = nodes.filter(|it| !roots.contains(it)).filter_map(|it| {
        let site = site(&op.graph, &live, it, registry)?;
        let needs = needing(&op.graph, site.part);
        roots.iter().any(|it| needs[it.row()]).then_some(site)
    });
    found.collect()
}

fn site<'a>(
    graph: &'a Graph,
    live: &[bool],
    whole: ExprId,
    registry: &Registry,
) -> Option<Site<'a>> {
    let Expr::Call { function, args, draw: None } = graph.expr(whole) else { return None };
    let how = registry.function(function)?.properties.iter().find_map(|it| match it {
        Property::Resamples(it) => Some(*it),
        _ => None,
    })?;
    let sides = args.get(1..3)?.iter().all(|it| match it {
        Arg::Int(_) => true,
        Arg::Expr(id) => *graph.ty(*id) == number(),
        _ => false,
    });
    let (mut parts, mut asks) = (Vec::new(), Vec::new());
    for (id, user, _) in graph.iter().filter(|(id, ..)| live[id.row()]) {
        let mut times = 0;
        user.needs(|it| times += u32::from(it == whole));
        match user {
            _ if times == 0 => {}
            Expr::Call { function, args, draw: None }
                if times == 1 && args.first() == Some(&Arg::Expr(whole)) =>
            {
                match args[..] {
                    [_, Arg::Int(axis @ 0..=2)] if function == how.asked => {
                        asks.push((id, axis as usize));
                    }
                    [_, _, _, _, _] if function == how.part => parts.push(id),
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    let [part] = parts[..] else { return None };
    sides.then_some(Site { function, args, part, asks, how })
}

/// Which nodes cannot be found without `id`, whatever the record.
fn needing(graph: &Graph, id: ExprId) -> Vec<bool> {
    let mut needing = vec![false; graph.len()];
    for (node, expr, _) in graph.iter() {
        let of = |it: &ExprId| needing[it.row()];
        let mut all = false;
        expr.needs(|it| all |= of(&it));
        needing[node.row()] = node == id
            || match expr {
                Expr::Select(c, a, b) => of(c) || (of(a) && of(b)),
                Expr::Stack { count, .. } => of(count),
                Expr::Else { .. } => false,
                _ => all,
            };
    }
    needing
}

fn number() -> Type {
    Type::Tensor { dtype: DType::I64, shape: Vec::new() }
}

fn rewritten(op: &Op, site: &Site<'_>) -> Op {
    let mut to = Made { graph: Graph::default(), new: HashMap::new(), site };
    to.graph.n_vars = op.graph.n_vars;
    for (id, expr, ty) in op.graph.iter() {
        let asked = site.asks.iter().find(|it| it.0 == id);
        let made = match asked {
            Some((_, 2)) => to.extent(2),
            Some((_, axis)) => to.side(axis + 1),
            None if id == site.part => to.part(expr, ty),
            None => {
                let expr = expr.clone().with_needs(|it| to.new[&it]);
                to.graph.add(expr, ty.clone())
            }
        };
        to.new.insert(id, made);
    }
    let Made { graph, new, .. } = to;
    rebuild::renumbered(&rebuild::on_graph(op, graph, &new), &[])
}

/// A graph in which the part is made by itself.
struct Made<'a> {
    graph: Graph,
    new: HashMap<ExprId, ExprId>,
    site: &'a Site<'a>,
}

impl Made<'_> {
    /// An argument of a node of the old graph.
    fn arg(&self, arg: &Arg) -> Arg {
        match arg {
            Arg::Expr(id) => Arg::Expr(self.new[id]),
            other => other.clone(),
        }
    }

    fn call(&mut self, function: &str, args: Vec<Arg>, ty: Type) -> ExprId {
        self.graph.add(Expr::Call { function: function.to_owned(), args, draw: None }, ty)
    }

    /// The picture that is resized.
    fn picture(&self) -> Arg {
        self.arg(&self.site.args[0])
    }

    fn extent(&mut self, axis: i64) -> ExprId {
        let args = vec![self.picture(), Arg::Int(axis)];
        self.call(self.site.how.asked, args, number())
    }

    /// A side of the resized picture, argument `i` of who resizes.
    fn side(&mut self, i: usize) -> ExprId {
        match self.arg(&self.site.args[i]) {
            Arg::Expr(id) => id,
            Arg::Int(it) => {
                self.graph.add(Expr::Const(Const::Ints(DType::I64, Vec::new(), vec![it])), number())
            }
            _ => unreachable!("a site has numbers as sides"),
        }
    }

    /// The part that the node `expr` of type `ty` takes.
    fn part(&mut self, expr: &Expr, ty: &Type) -> ExprId {
        let Expr::Call { args, .. } = expr else { unreachable!("a part is taken by a call") };
        let how = self.site.how;
        let extents = [self.extent(0), self.extent(1)].map(Arg::Expr);
        let wanted: Vec<Arg> = [&self.site.args[1..3], &args[1..], &self.site.args[3..]]
            .concat()
            .iter()
            .map(|it| self.arg(it))
            .collect();

        let four = Type::Tensor { dtype: DType::I64, shape: vec![Extent::Known(4)] };
        let span = self.call(how.span, [&extents[..], &wanted].concat(), four);
        let place = [0, 1, 2, 3].map(|i| {
            let args = vec![Arg::Expr(span), Arg::Int(i)];
            Arg::Expr(self.call(how.taken, args, number()))
        });
        let there = [&[self.picture()][..], &place].concat();
        let there = self.call(how.part, there, self.there_type(ty));
        let args = [&[Arg::Expr(there)][..], &extents, &place[..2], &wanted].concat();
        self.call(how.into, args, ty.clone())
    }

    /// The type of what a part of type `ty` is made of: its extents are not known.
    fn there_type(&self, ty: &Type) -> Type {
        let channels = ty.shape().and_then(<[_]>::last).cloned().unwrap_or(Extent::Unknown);
        let shape = vec![Extent::Unknown, Extent::Unknown, channels];
        Type::Tensor { dtype: ty.dtype().unwrap_or(DType::U8), shape }
    }
}
