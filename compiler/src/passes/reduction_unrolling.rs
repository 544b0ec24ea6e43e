//! What is reduced over an axis of a few elements is arithmetic on these.
//!
//! `mean(image, axis: 2)` adds up three numbers for each pixel: as a call that is a loop of three
//! turns for each; as arithmetic on three views it is one loop of machine code over all pixels,
//! together with what stands below and above it.

use super::{Pass, rebuild, view_reordering::name};
use crate::{
    analysis::{
        live::{live, values},
        total::can_fail,
    },
    check::library::{TAKE_AT, TRANSPOSE},
    registry::Registry,
};
use plan::{
    Arg, Binary, Const, DType, Expr, ExprId, Extent, Graph, Index, Op, Property, Reduction, Type,
};
use std::collections::HashMap;

pub(super) const PASS: Pass = Pass {
    name: "reduction-unrolling",
    formerly: Some("small-axes"),
    summary: "unrolls reductions over small axes",
    doc: "A reduction over an axis of a few elements becomes arithmetic on these elements, in one \
          loop with the arithmetic around it.",
    law: "The order of a reduction is defined: with at most 16 elements, each is a lane of its \
          own, and the lanes are combined in the same order.",
    exact: true,
    always: false,
    takes_parts: false,
    propose: |plan, registry| rebuild::each(plan, |op| rewritten(op, registry)),
    refuse: super::nothing_refused,
};

/// Elements of an axis at the most: with more the operands of the loop would not stay in registers.
const AXIS_MAX: u64 = 8;
/// Operations on all elements below a reduction that go into its loop, at the most.
const BELOW_MAX: usize = 24;

/// The operator with reductions as arithmetic, and which these are.
fn rewritten(op: &Op, registry: &Registry) -> Option<(Op, Vec<String>)> {
    let live = live(&op.graph, &values(op), &[]);
    let users = rebuild::users(op, &live);
    let mut done = Vec::new();
    let changed = rebuild::remade(op, |to, new, id| {
        let site = Site::of(&op.graph, id, registry).filter(|_| live[id.row()])?;
        let words = site.words(&op.graph, id);
        if !done.contains(&words) {
            done.push(words);
        }
        Some(Work { from: &op.graph, registry, users: &users, new, to }.reduce(&site))
    });
    let told = || format!("{}: arithmetic on the elements", done.join(", "));
    (!done.is_empty()).then(|| (changed, vec![told()]))
}

/// A reduction over a small axis.
struct Site {
    reduction: Reduction,
    /// What is reduced,
    x: ExprId,
    dtype: DType,
    /// along which axis,
    axis: usize,
    /// with how many elements.
    n: usize,
    /// The extents of the result: not a single number, for which a loop is of no use.
    shape: Vec<Extent>,
}

impl Site {
    fn of(graph: &Graph, id: ExprId, registry: &Registry) -> Option<Self> {
        let Expr::Call { function, args, draw: None } = graph.expr(id) else { return None };
        let [Arg::Expr(x), Arg::Int(axis)] = args[..] else { return None };
        let properties = registry.function(function)?.properties;
        let reduction = properties.iter().find_map(|it| match it {
            Property::Reduces(it) => Some(*it),
            _ => None,
        })?;
        let Type::Tensor { dtype, shape } = graph.ty(x) else { return None };
        let rank = shape.len() as i64;
        let axis = usize::try_from(if axis < 0 { axis + rank } else { axis }).ok()?;
        let Some(Extent::Known(n @ 2..=AXIS_MAX)) = shape.get(axis) else { return None };
        let mut left = shape.clone();
        left.remove(axis);
        let known = !left.is_empty() && is_known(reduction, *dtype);
        let (dtype, n) = (*dtype, *n as usize);
        known.then_some(Self { reduction, x, dtype, axis, n, shape: left })
    }

    fn words(&self, graph: &Graph, id: ExprId) -> String {
        format!("{} over {}", name(graph, id), self.n)
    }
}

/// Whether it is the same arithmetic to the bit: sums of 64-bit integers wrap, and which NaN the
/// larger of two half floats is, is left open.
fn is_known(reduction: Reduction, dtype: DType) -> bool {
    let half = matches!(dtype, DType::F16 | DType::BF16);
    match reduction {
        Reduction::Sum | Reduction::Mean => !matches!(dtype, DType::I64 | DType::U64),
        Reduction::Least | Reduction::Greatest => !half,
        Reduction::All | Reduction::Any => true,
    }
}

/// An operator's graph that is made anew.
struct Work<'a> {
    from: &'a Graph,
    registry: &'a Registry,
    users: &'a [u32],
    new: &'a HashMap<ExprId, ExprId>,
    to: &'a mut Graph,
}

impl Work<'_> {
    fn reduce(&mut self, site: &Site) -> ExprId {
        let mut below = Vec::new();
        self.goes_along(site, site.x, &mut below);
        if below.len() * site.n > BELOW_MAX {
            below.clear();
        }
        let lanes: Vec<ExprId> =
            (0..site.n).map(|at| self.element(site, (site.x, at), &below)).collect();
        let float = site.dtype.is_float();
        match site.reduction {
            Reduction::All => self.merged(lanes, |all, a, b| all.binary(Binary::And, a, b)),
            Reduction::Any => self.merged(lanes, |all, a, b| all.binary(Binary::Or, a, b)),
            // As the lanes take it in: of two that are alike the first stays.
            Reduction::Least => self.merged(lanes, |all, a, b| all.binary(Binary::Min, b, a)),
            Reduction::Greatest => self.merged(lanes, |all, a, b| all.binary(Binary::Max, b, a)),
            Reduction::Sum => {
                let sum = self.sum(lanes, site.dtype);
                self.cast(sum, if float { site.dtype } else { DType::I64 })
            }
            Reduction::Mean => {
                let sum = self.sum(lanes, site.dtype);
                // A quotient of numbers of 24 bits that is rounded to 53 and then to 24 bits is that
                // which is rounded to 24 at once (Figueroa, When is double rounding innocuous?, 1995).
                let wide = if is_narrow(site.dtype) { DType::F32 } else { DType::F64 };
                let sum = self.cast(sum, wide);
                let n = self.number(wide, site.n as f64);
                let mean = self.binary(Binary::Div, sum, n);
                self.cast(mean, if float { site.dtype } else { DType::F32 })
            }
        }
    }

    /// Collects the values that can be computed for one element of the axis alone, from `id` down.
    fn goes_along(&self, site: &Site, id: ExprId, below: &mut Vec<ExprId>) {
        let whole = |it: ExprId| self.from.ty(it).shape() == self.from.ty(site.x).shape();
        let scalar = |it: ExprId| self.from.ty(it).shape() == Some(&[]);
        let fits = |it: &ExprId| whole(*it) || scalar(*it) || self.is_along(site, *it);
        let expr = self.from.expr(id);
        let computes = match expr {
            Expr::Unary(..) | Expr::Cast(..) => true,
            Expr::Binary(_, a, b) => fits(a) && fits(b),
            Expr::Select(c, a, b) => !scalar(*c) && [c, a, b].into_iter().all(fits),
            _ => false,
        };
        let alone = self.users[id.row()] == 1 && !below.contains(&id);
        if computes && alone && whole(id) && !can_fail(self.from, id, self.registry) {
            below.push(id);
            expr.needs(|it| self.goes_along(site, it, below));
        }
    }

    /// Whether `id` is constants, one for each element of the axis, which is the last.
    fn is_along(&self, site: &Site, id: ExprId) -> bool {
        let last = site.axis == site.shape.len();
        let (Expr::Const(Const::Floats(_, shape, _)) | Expr::Const(Const::Ints(_, shape, _))) =
            self.from.expr(id)
        else {
            return false;
        };
        last && shape[..] == [site.n as u64]
    }

    /// Element `at` of the axis of the value `id`.
    fn element(&mut self, site: &Site, (id, at): (ExprId, usize), below: &[ExprId]) -> ExprId {
        if below.contains(&id) {
            let dtype = self.from.ty(id).dtype().expect("it is a tensor");
            let ty = Type::Tensor { dtype, shape: site.shape.clone() };
            let expr = self.from.expr(id).clone();
            let expr = expr.with_needs(|it| self.element(site, (it, at), below));
            return self.to.add(expr, ty);
        }
        let Some([_, ..]) = self.from.ty(id).shape() else { return self.new[&id] };
        if self.is_along(site, id) {
            return self.constant(id, at);
        }
        self.view(site, self.new[&id], at)
    }

    fn constant(&mut self, id: ExprId, at: usize) -> ExprId {
        let one = match self.from.expr(id) {
            Expr::Const(Const::Floats(dtype, _, all)) => {
                Const::Floats(*dtype, Vec::new(), vec![all[at]])
            }
            Expr::Const(Const::Ints(dtype, _, all)) => {
                Const::Ints(*dtype, Vec::new(), vec![all[at]])
            }
            other => unreachable!("{other:?} is no constant"),
        };
        let dtype = self.from.ty(id).dtype().expect("it is a tensor");
        self.to.add(Expr::Const(one), Type::scalar(dtype))
    }

    /// A view of element `at` of the axis.
    fn view(&mut self, site: &Site, x: ExprId, at: usize) -> ExprId {
        let ty = self.to.ty(x).clone();
        let (dtype, mut shape) = match ty {
            Type::Tensor { dtype, shape } => (dtype, shape),
            other => unreachable!("{other:?} is no tensor"),
        };
        let mut front = x;
        if site.axis > 0 {
            let others = (0..shape.len()).filter(|it| *it != site.axis);
            let order = std::iter::once(site.axis).chain(others);
            let order = Arg::List(order.map(|it| Arg::Int(it as i64)).collect());
            let extent = shape.remove(site.axis);
            shape.insert(0, extent);
            let args = vec![Arg::Expr(x), order];
            let turned = Expr::Call { function: TRANSPOSE.to_owned(), args, draw: None };
            front = self.to.add(turned, Type::Tensor { dtype, shape });
        }
        let args = vec![Arg::Expr(front), Arg::Int(at as i64)];
        let taken = Expr::Call { function: TAKE_AT.to_owned(), args, draw: None };
        self.to.add(taken, Type::Tensor { dtype, shape: site.shape.clone() })
    }

    /// The sum of the lanes, in the dtype that it is reckoned in.
    fn sum(&mut self, lanes: Vec<ExprId>, dtype: DType) -> ExprId {
        // As few bits as hold it exactly: the vectors have the more lanes.
        let wide = match dtype {
            it if it.is_float() => DType::F64,
            it if is_narrow(it) => DType::I32,
            _ => DType::I64,
        };
        let lanes = lanes.into_iter().map(|it| self.cast(it, wide)).collect();
        let sum = self.merged(lanes, |all, a, b| all.binary(Binary::Add, a, b));
        if wide != DType::F64 {
            return sum;
        }
        // A lane begins with 0, so that a sum is never -0.
        let zero = self.number(DType::F64, 0.0);
        self.binary(Binary::Add, sum, zero)
    }

    /// All lanes as one, in the order of the library's reductions: the upper half is put to the lower
    /// one, of 16, of 8, of 4 and of 2.
    fn merged(
        &mut self,
        mut lanes: Vec<ExprId>,
        merge: impl Fn(&mut Self, ExprId, ExprId) -> ExprId,
    ) -> ExprId {
        for half in [8, 4, 2, 1] {
            for other in half..lanes.len() {
                lanes[other - half] = merge(self, lanes[other - half], lanes[other]);
            }
            lanes.truncate(half);
        }
        lanes[0]
    }

    fn typed(&self, like: ExprId, dtype: DType) -> Type {
        let shape = self.to.ty(like).shape().unwrap_or_default().to_vec();
        Type::Tensor { dtype, shape }
    }

    fn binary(&mut self, op: Binary, a: ExprId, b: ExprId) -> ExprId {
        let ty = self.to.ty(a).clone();
        self.to.add(Expr::Binary(op, a, b), ty)
    }

    fn cast(&mut self, a: ExprId, to: DType) -> ExprId {
        if self.to.ty(a).dtype() == Some(to) {
            return a;
        }
        // The library rounds to half floats through `f32`, so that all machines do it alike.
        let half = matches!(to, DType::F16 | DType::BF16);
        if half && self.to.ty(a).dtype() == Some(DType::F64) {
            let single = self.cast(a, DType::F32);
            return self.cast(single, to);
        }
        let ty = self.typed(a, to);
        self.to.add(Expr::Cast(to, a), ty)
    }

    fn number(&mut self, dtype: DType, value: f64) -> ExprId {
        let number = Const::Floats(dtype, Vec::new(), vec![value]);
        self.to.add(Expr::Const(number), Type::scalar(dtype))
    }
}

/// Whether sums of a few such integers fit into the 24 bits of `f32`.
fn is_narrow(dtype: DType) -> bool {
    dtype == DType::Bool || dtype.is_int() && dtype.size() < 4
}
