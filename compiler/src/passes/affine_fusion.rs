//! `x * a + b` of `x * c + d` is one `x * e + f`: chains of multiplications, additions and
//! functions that are such, with numbers that are known.

use super::{
    Pass, Refusal,
    moves::{How, computed},
    rebuild,
    view_reordering::name,
};
use crate::{
    analysis::live::{live, values},
    registry::Registry,
};
use plan::{
    Affine, Arg, Binary, Const, DType, Expr, ExprId, Extent, Graph, Index, Op, Plan, Property, Type,
};

pub(super) const PASS: Pass = Pass {
    name: "affine-fusion",
    formerly: Some("affine-chains"),
    summary: "merges multiplications and additions",
    doc: "Several multiplications and additions of constants become one of each.",
    law: "A composition of affine maps is an affine map; with floats, the last bits differ, since \
          each step rounds.",
    exact: false,
    always: false,
    takes_parts: false,
    propose: |plan, registry| rebuild::each(plan, |op| rewritten(op, &chains(op, registry))),
    refuse,
};

/// `x * scale + bias` for each channel, or for all.
type Numbers = Vec<(f64, f64)>;

/// Several affine steps on one tensor.
struct Chain {
    top: ExprId,
    /// What the first step works on.
    base: ExprId,
    numbers: Numbers,
    /// The axis of the channels, where numbers differ.
    axis: Option<usize>,
    /// A call whose arguments can say all of it.
    template: Option<(ExprId, &'static Affine)>,
    /// How many steps, without casts.
    steps: usize,
    /// The steps, for people.
    names: Vec<String>,
}

fn chains(op: &Op, registry: &Registry) -> Vec<Chain> {
    let live = live(&op.graph, &values(op), &[]);
    let users = rebuild::users(op, &live);
    let mut taken = vec![false; op.graph.len()];
    let mut found = Vec::new();
    for (top, ..) in op.graph.iter().rev().filter(|(id, ..)| live[id.row()]) {
        if taken[top.row()] || op.graph.ty(top).dtype() != Some(DType::F32) {
            continue;
        }
        let mut chain = Chain::at(top);
        while let Some(step) = Step::of(&op.graph, chain.base, registry) {
            let inside = chain.base == top || users[chain.base.row()] == 1;
            if !inside || !chain.take(&op.graph, step) {
                break;
            }
        }
        if chain.steps > 1 {
            let mut at = top;
            while at != chain.base {
                taken[at.row()] = true;
                at = Step::of(&op.graph, at, registry).map_or(chain.base, |it| it.base);
            }
            found.push(chain);
        }
    }
    found
}

/// One affine step.
struct Step {
    base: ExprId,
    numbers: Numbers,
    axis: Option<usize>,
    template: Option<&'static Affine>,
    is_cast: bool,
}

impl Step {
    fn of(graph: &Graph, id: ExprId, registry: &Registry) -> Option<Self> {
        let found = computed(graph, id, registry)?;
        let dtype = graph.ty(found.base).dtype()?;
        let rank = graph.ty(found.base).shape()?.len();
        let plain = |numbers, axis| Self {
            base: found.base,
            numbers,
            axis,
            template: None,
            is_cast: false,
        };
        match graph.expr(id) {
            Expr::Cast(DType::F32, _) if is_small(dtype) => {
                Some(Self { is_cast: true, ..plain(vec![(1.0, 0.0)], None) })
            }
            Expr::Binary(op, a, b) => {
                let other = if *a == found.base { *b } else { *a };
                let numbers = binary(*op, *b == other, &known(graph, other)?)?;
                let axis = (numbers.len() > 1).then(|| rank.saturating_sub(1));
                Some(plain(numbers, axis))
            }
            Expr::Call { function, args, .. } => {
                let entry = registry.function(function)?;
                let template = entry.properties.iter().find_map(|it| match it {
                    Property::Affine(it) => Some(*it),
                    _ => None,
                })?;
                let axis = match found.how {
                    How::Channel { axis, .. } => Some(axis),
                    _ => None,
                };
                let numbers = (template.read)(args, dtype)?;
                let axis = axis.filter(|_| numbers.len() > 1);
                Some(Self { template: Some(template), ..plain(numbers, axis) })
            }
            _ => None,
        }
    }
}

/// Whether each number of the dtype is one of `f32`.
fn is_small(dtype: DType) -> bool {
    matches!(dtype, DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::F16 | DType::BF16)
}

/// Numbers of a constant: one, or one for each element of its only axis.
fn known(graph: &Graph, id: ExprId) -> Option<Vec<f64>> {
    match graph.expr(id) {
        Expr::Const(Const::Floats(DType::F32, shape, all)) if shape.len() < 2 => Some(all.clone()),
        _ => None,
    }
}

/// What arithmetic with constants is; `right` where they stand behind the operator.
fn binary(op: Binary, right: bool, known: &[f64]) -> Option<Numbers> {
    let each = |it: f64| match (op, right) {
        (Binary::Mul, _) => Some((it, 0.0)),
        (Binary::Add, _) => Some((1.0, it)),
        (Binary::Sub, true) => Some((1.0, -it)),
        (Binary::Sub, false) => Some((-1.0, it)),
        (Binary::Div, true) if it != 0.0 => Some((1.0 / it, 0.0)),
        _ => None,
    };
    known.iter().map(|it| each(*it)).collect()
}

impl Chain {
    fn at(top: ExprId) -> Self {
        let numbers = vec![(1.0, 0.0)];
        Self { top, base: top, numbers, axis: None, template: None, steps: 0, names: Vec::new() }
    }

    /// Goes on with the step below, if it goes together with those above.
    fn take(&mut self, graph: &Graph, step: Step) -> bool {
        let same = |a: usize, b: usize| a == b || a == 1 || b == 1;
        let axes = self.axis.is_none() || step.axis.is_none() || self.axis == step.axis;
        if !axes || !same(self.numbers.len(), step.numbers.len()) {
            return false;
        }
        let n = self.numbers.len().max(step.numbers.len());
        let at = |all: &Numbers, i: usize| all[i.min(all.len() - 1)];
        let both = |i| {
            let ((scale, bias), (below, shift)) = (at(&self.numbers, i), at(&step.numbers, i));
            (scale * below, scale * shift + bias)
        };
        self.numbers = (0..n).map(both).collect();
        self.axis = self.axis.or(step.axis);
        self.template = self.template.or(step.template.map(|it| (self.base, it)));
        self.steps += usize::from(!step.is_cast);
        self.names.push(name(graph, self.base));
        self.base = step.base;
        true
    }

    /// The chain as one or two nodes of `graph`.
    fn put(&self, from: &Graph, graph: &mut Graph, base: ExprId) -> Option<ExprId> {
        let (ty, of) = (from.ty(self.top).clone(), from.ty(self.base).dtype()?);
        if let Some((call, affine)) = self.template
            && let Expr::Call { function, args, .. } = from.expr(call)
            && let Some(mut args) = (affine.write)(args, of, &self.numbers)
        {
            args[0] = Arg::Expr(base);
            let function = function.clone();
            return Some(graph.add(Expr::Call { function, args, draw: None }, ty));
        }
        let rank = ty.shape()?.len();
        let last = self.axis.is_none_or(|it| it + 1 == rank);
        if !last || self.steps < 3 {
            return None;
        }
        let floats = Type::Tensor { dtype: DType::F32, shape: ty.shape()?.to_vec() };
        let x = match of {
            DType::F32 => base,
            _ => graph.add(Expr::Cast(DType::F32, base), floats.clone()),
        };
        let scale = constant(graph, self.numbers.iter().map(|it| it.0).collect());
        let x = graph.add(Expr::Binary(Binary::Mul, x, scale), floats);
        let bias = constant(graph, self.numbers.iter().map(|it| it.1).collect());
        Some(graph.add(Expr::Binary(Binary::Add, x, bias), ty))
    }
}

fn constant(graph: &mut Graph, all: Vec<f64>) -> ExprId {
    let shape: Vec<u64> = if all.len() == 1 { vec![] } else { vec![all.len() as u64] };
    let extents = shape.iter().map(|it| Extent::Known(*it)).collect();
    let ty = Type::Tensor { dtype: DType::F32, shape: extents };
    graph.add(Expr::Const(Const::Floats(DType::F32, shape, all)), ty)
}

/// The operator with each chain as one, and what was put together.
fn rewritten(op: &Op, chains: &[Chain]) -> Option<(Op, Vec<String>)> {
    let mut done = Vec::new();
    let changed = rebuild::remade(op, |graph, new, id| {
        let chain = chains.iter().find(|it| it.top == id)?;
        let put = chain.put(&op.graph, graph, new[&chain.base])?;
        done.push(chain.words());
        Some(put)
    });
    (!done.is_empty()).then_some((changed, done))
}

impl Chain {
    fn words(&self) -> String {
        format!("{} merged", self.names.iter().rev().cloned().collect::<Vec<_>>().join(", "))
    }
}

fn refuse(plan: &Plan, registry: &Registry) -> Vec<Refusal> {
    let refused = plan.ops.iter().flat_map(|(_, op)| {
        let all = chains(op, registry);
        let can = all
            .into_iter()
            .filter(|it| it.put(&op.graph, &mut op.graph.clone(), it.base).is_some());
        can.map(|it| Refusal {
            pass: PASS.name.to_owned(),
            step: op.step.clone(),
            what: it.words(),
            why: "not exact: a single step rounds differently than several".to_owned(),
        })
    });
    refused.collect()
}
