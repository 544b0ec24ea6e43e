//! The nodes of a graph, made ready: kernels bound, constants laid out.

use super::{Surroundings, fused::Fused, word::Word};
use crate::{Cache, Call, Failure, Kernel, Out, PassFn, Scratch, Shape, Source, Tensor, mix};
use plan::{
    Arg, Binary, Const, DType, Expr, ExprId, Extent, Graph, IdVec, Index, Otherwise, Type, Unary,
    VarId,
    parts::{self, Keep},
};
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

/// A node, ready to be evaluated.
pub(super) struct Node {
    pub(super) code: Code,
    /// Dtype and extents of the value, where the type fixes them.
    pub(super) fixed: Option<(DType, Shape)>,
    /// How many other nodes and outputs need it.
    pub(super) users: u32,
    /// The loop variables that its value changes with.
    pub(super) vars: Vec<VarId>,
    /// Whether it has a value for each record rather than one for all.
    pub(super) varies: bool,
    /// The type of its elements, where it is a tensor.
    pub(super) dtype: Option<DType>,
    /// Where it is kept from epoch to epoch, if it is.
    pub(super) tap: OnceLock<Tap>,
    /// The machine code that computes it, and what stands between it and its leaves.
    pub(super) fused: Option<Box<Fused>>,
    /// How it is made of words, where it is one.
    pub(super) word: Option<Word>,
    /// How it is made without the whole of which it is a part.
    pub(super) straight: Option<Box<Straight>>,
}

/// A part of a value, or what is asked of it, made without it.
pub(super) struct Straight {
    pub(super) whole: ExprId,
    pub(super) call: Applied,
    /// Whether it is the part, rather than what is asked of the whole.
    pub(super) is_part: bool,
    /// Bytes of the whole, but for extents that differ from record to record.
    pub(super) bytes: usize,
    /// Those extents; none where not all of them are asked for.
    pub(super) extents: Vec<ExprId>,
    /// Where the index of what it is made of is kept, if it is.
    pub(super) index: OnceLock<Tap>,
}

/// What a node has to do with values that are kept.
pub(crate) struct Tap {
    pub(crate) cache: Arc<Cache>,
    /// How the kept value is computed, as a number.
    pub(crate) name: u64,
    /// The columns that the value's key is made of.
    pub(crate) key: Vec<u32>,
    /// What of the value is kept.
    pub(crate) keep: Keep,
    /// Whether the node is not the kept value, but needed only to find it.
    pub(crate) is_spared: bool,
    /// The column in which the kept value may come along, in place of what it is computed of.
    pub(crate) comes_in: Option<u32>,
}

pub(super) enum Code {
    Column(usize),
    Epoch,
    Var(VarId),
    Const(Scratch),
    Call(Applied),
    Unary(Unary, ExprId),
    Binary(Binary, ExprId, ExprId),
    Cast(DType, ExprId),
    Select(ExprId, ExprId, ExprId),
    Stack { count: ExprId, var: VarId, body: ExprId, how: Stacking },
    Else { value: ExprId, otherwise: Otherwise },
}

/// What becomes of the turns of a loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stacking {
    /// Whether they are joined along their first axis.
    pub(super) joined: bool,
    /// Dtype and extents of an element, but for the axis along which elements are joined; where its type says
    /// them. So a loop without a turn has extents.
    pub(super) like: Option<(DType, Shape)>,
}

impl Stacking {
    fn of(element: &Type, joined: bool) -> Self {
        let shape = element.shape().unwrap_or_default();
        let inner = shape.get(usize::from(joined)..).unwrap_or_default().iter();
        let extent =
            |it: &Extent| if let Extent::Known(n) = it { usize::try_from(*n).ok() } else { None };
        let inner: Option<Vec<usize>> = inner.map(extent).collect();
        Self { joined, like: element.dtype().zip(inner.map(|it| Shape::new(&it))) }
    }
}

/// A function on its arguments.
pub(super) struct Applied {
    pub(super) kernel: Kernel,
    pub(super) args: Vec<Slot>,
    pub(super) lists: Vec<(usize, Range<usize>)>,
    pub(super) key: u64,
    pub(super) vars: Vec<VarId>,
}

/// A call that gives its first argument as it is.
pub(super) struct Passed<'a> {
    pub(super) work: &'a PassFn,
    pub(super) first: ExprId,
    pub(super) others: &'a [Slot],
    pub(super) lists: &'a [(usize, Range<usize>)],
}

impl Applied {
    /// What is to be done for it, where it is such a call and that argument is a value of the record.
    pub(super) fn passed(&self) -> Option<Passed<'_>> {
        match (&self.kernel, self.args.as_slice()) {
            (Kernel::Pass(work), [Slot::Value(first), others @ ..]) => {
                Some(Passed { work, first: *first, others, lists: &self.lists })
            }
            _ => None,
        }
    }

    /// The value and the axis of it whose extent the call says, where that is what it does.
    pub(super) fn extent(&self) -> Option<(ExprId, usize)> {
        match (&self.kernel, self.args.as_slice()) {
            (Kernel::Extent(axis), [Slot::Value(of), ..]) => Some((*of, *axis)),
            _ => None,
        }
    }
}

/// Where an argument's tensor comes from.
pub(super) enum Slot {
    Value(ExprId),
    Known(Scratch),
    Nothing,
}

/// Makes the nodes of `graph` ready.
pub(super) fn prepare(
    graph: &Graph,
    around: &Surroundings<'_>,
) -> Result<IdVec<ExprId, Node>, Failure> {
    let mut nodes: IdVec<ExprId, Node> = IdVec::new();
    for (id, expr, ty) in graph.iter() {
        let mut vars = match expr {
            Expr::Var(var) => vec![*var],
            Expr::Call { draw: Some(draw), .. } => draw.vars.clone(),
            _ => Vec::new(),
        };
        let mut varies = matches!(expr, Expr::Column(_) | Expr::Call { .. });
        expr.needs(|id| {
            nodes[id].users += 1;
            varies |= nodes[id].varies;
            vars.extend(&nodes[id].vars);
        });
        if let Expr::Stack { var: own, .. } = expr {
            vars.retain(|it| it != own);
        }
        vars.sort_unstable();
        vars.dedup();
        let code = code(graph, expr, ty, around)?;
        let fixed = ty.dtype().zip(ty.fixed().map(|it| Shape::new(&it)));
        nodes.push(Node {
            word: Word::of(graph, id, &code),
            code,
            fixed,
            users: 0,
            vars,
            varies,
            tap: OnceLock::new(),
            fused: None,
            straight: None,
            dtype: ty.dtype(),
        });
    }
    if graph.parts {
        for site in parts::sites(graph, &|it| around.kernels.parts(it)) {
            add_straight(&mut nodes, graph, (&site, around))?;
        }
    }
    Ok(nodes)
}

/// Bytes of the registers that `wanted` are found by, as far as types fix them; `graph` is what the
/// nodes were made of.
///
/// What is wanted itself, by nobody else, is written where it goes; columns, constants, views and
/// branches are found where they lie.
pub(super) fn register_bytes(nodes: &IdVec<ExprId, Node>, graph: &Graph, wanted: &[ExprId]) -> u64 {
    let mut open: Vec<ExprId> = wanted.to_vec();
    let mut seen = vec![false; nodes.len()];
    let mut bytes: u64 = 0;
    while let Some(id) = open.pop() {
        if std::mem::replace(&mut seen[id.row()], true) {
            continue;
        }
        let node = &nodes[id];
        match &node.fused {
            Some(fused) if fused.is_on() => open.extend_from_slice(fused.leaves()),
            _ => graph.expr(id).needs(|it| open.push(it)),
        }
        let lies_elsewhere = match &node.code {
            Code::Column(_) | Code::Const(_) | Code::Else { .. } | Code::Select(..) => true,
            Code::Call(Applied { kernel, .. }) => {
                matches!(kernel, Kernel::View(_) | Kernel::Seek(_) | Kernel::Pass(_))
            }
            _ => false,
        };
        let goes_out = node.users == 1 && wanted.contains(&id);
        if let (false, false, Some((dtype, shape))) = (lies_elsewhere, goes_out, &node.fixed) {
            let each = shape.iter().fold(dtype.size() as u64, |it, &n| it.saturating_mul(n as u64));
            bytes = bytes.saturating_add(each);
        }
    }
    bytes
}

fn add_straight(
    nodes: &mut IdVec<ExprId, Node>,
    graph: &Graph,
    (site, around): (&parts::Site, &Surroundings<'_>),
) -> Result<(), Failure> {
    let ty = graph.ty(site.whole);
    let all = ty.shape().unwrap_or_default();
    let known = all.iter().filter_map(|it| match it {
        Extent::Known(n) => usize::try_from(*n).ok(),
        _ => None,
    });
    let unknown = all.len() - known.clone().count();
    let bytes = known.product::<usize>() * ty.dtype().map_or(0, DType::size);
    let extents = if site.asks.len() == unknown { site.asks.clone() } else { Vec::new() };
    let bytes = if extents.len() == unknown { bytes } else { 0 };
    let mut add = |id: ExprId, function: &str| {
        let args = site.args(graph, id);
        let kernel = kernel(graph, function, &args, graph.ty(id), around)?;
        let (args, lists) = slots(&args);
        let call = Applied { kernel, args, lists, key: 0, vars: Vec::new() };
        let (whole, is_part, extents) = (site.whole, id == site.part, extents.clone());
        let index = OnceLock::new();
        let straight = Straight { whole, call, is_part, bytes, extents, index };
        nodes[id].straight = Some(Box::new(straight));
        Ok(())
    };
    add(site.part, site.fused.into)?;
    site.asks.iter().try_for_each(|it| add(*it, site.fused.answer))
}

fn code(graph: &Graph, expr: &Expr, ty: &Type, around: &Surroundings<'_>) -> Result<Code, Failure> {
    Ok(match expr {
        Expr::Column(i) => Code::Column(*i as usize),
        Expr::Epoch => Code::Epoch,
        Expr::Var(var) => Code::Var(*var),
        Expr::Const(value) => Code::Const(constant(value)),
        Expr::Call { function, args, draw } => {
            let (place, vars) =
                draw.as_ref().map_or((0, Vec::new()), |it| (it.place, it.vars.clone()));
            let kernel = kernel(graph, function, args, ty, around)?;
            let (args, lists) = slots(args);
            Code::Call(Applied { kernel, args, lists, key: mix(around.seed, place), vars })
        }
        Expr::Unary(op, a) => Code::Unary(*op, *a),
        Expr::Binary(op, a, b) => Code::Binary(*op, *a, *b),
        Expr::Cast(to, a) => Code::Cast(*to, *a),
        Expr::Select(c, a, b) => Code::Select(*c, *a, *b),
        Expr::Stack { count, var, body, joined } => {
            let how = Stacking::of(graph.ty(*body), *joined);
            Code::Stack { count: *count, var: *var, body: *body, how }
        }
        Expr::Else { value, otherwise } => {
            Code::Else { value: *value, otherwise: otherwise.clone() }
        }
    })
}

fn kernel(
    graph: &Graph,
    function: &str,
    args: &[Arg],
    result: &Type,
    around: &Surroundings<'_>,
) -> Result<Kernel, Failure> {
    let unknown = || {
        let detail = format!(
            "this build does not have the function `{function}`: the program needs a \
                     newer pipec"
        );
        Failure::Program(detail)
    };
    let build = around.kernels.function(function).ok_or_else(unknown)?;
    let types: Vec<Option<Type>> = args
        .iter()
        .map(|it| match it {
            Arg::Expr(id) => Some(graph.ty(*id).clone()),
            _ => None,
        })
        .collect();
    let sources: Vec<Arc<dyn Source>> = args.iter().flat_map(|it| sources(it, around)).collect();
    let outside = around.kernels.outside();
    build(&Call { args, types: &types, result, sources: &sources, outside: outside.as_deref() })
}

fn sources(arg: &Arg, around: &Surroundings<'_>) -> Vec<Arc<dyn Source>> {
    let Arg::Sources(stages) = arg else { return Vec::new() };
    stages.iter().filter_map(|&it| around.sources.get(it as usize)?.clone()).collect()
}

/// One slot for each parameter; the values of lists stand behind them.
fn slots(args: &[Arg]) -> (Vec<Slot>, Vec<(usize, Range<usize>)>) {
    let mut slots: Vec<Slot> = args.iter().map(slot).collect();
    let mut lists = Vec::new();
    for (i, arg) in args.iter().enumerate() {
        if let Arg::Exprs(values) = arg {
            let start = slots.len();
            slots.extend(values.iter().map(|it| Slot::Value(*it)));
            lists.push((i, start..slots.len()));
        }
    }
    (slots, lists)
}

fn slot(arg: &Arg) -> Slot {
    match arg {
        Arg::Expr(id) => Slot::Value(*id),
        Arg::Bool(it) => Slot::Known(elements(&[], &[*it])),
        Arg::Int(it) => Slot::Known(elements(&[], &[*it])),
        Arg::Float(it) => Slot::Known(elements(&[], &[*it])),
        Arg::Interval(low, high) => Slot::Known(elements(&[2], &[*low, *high])),
        Arg::Text(it) | Arg::Word(it) => Slot::Known(text(DType::Str, it.as_bytes())),
        Arg::List(all) => list(all).map_or(Slot::Nothing, Slot::Known),
        Arg::None
        | Arg::Record(_)
        | Arg::Exprs(_)
        | Arg::Type(_)
        | Arg::Column(_)
        | Arg::Sources(_)
        | Arg::File(_) => Slot::Nothing,
    }
}

/// A list of numbers: i64 where all are whole, else f64.
fn list(all: &[Arg]) -> Option<Scratch> {
    let ints: Option<Vec<i64>> =
        all.iter().map(|it| if let Arg::Int(it) = it { Some(*it) } else { None }).collect();
    if let Some(ints) = ints {
        return Some(elements(&[ints.len()], &ints));
    }
    let float = |it: &Arg| match it {
        Arg::Int(it) => Some(*it as f64),
        Arg::Float(it) => Some(*it),
        _ => None,
    };
    let floats: Vec<f64> = all.iter().map(float).collect::<Option<_>>()?;
    Some(elements(&[floats.len()], &floats))
}

fn elements<T: crate::Element>(shape: &[usize], all: &[T]) -> Scratch {
    let mut scratch = Scratch::new();
    Out::grow(&mut scratch).copy(&Tensor::new(shape, all)).expect("constants are small");
    scratch
}

fn text(dtype: DType, bytes: &[u8]) -> Scratch {
    let mut scratch = Scratch::new();
    Out::grow(&mut scratch).text(dtype, bytes).expect("constants are small");
    scratch
}

fn constant(value: &Const) -> Scratch {
    let extents = |shape: &[u64]| shape.iter().map(|&it| it as usize).collect::<Vec<_>>();
    let (dtype, wide) = match value {
        Const::Text(dtype, bytes) => return text(*dtype, bytes),
        Const::Floats(dtype, shape, all) => (*dtype, elements(&extents(shape), all)),
        Const::Ints(dtype, shape, all) => (*dtype, elements(&extents(shape), all)),
    };
    let mut scratch = Scratch::new();
    let cast = super::convert::cast(dtype, &wide.tensor(), &mut Out::grow(&mut scratch));
    cast.expect("constants are small");
    scratch
}
