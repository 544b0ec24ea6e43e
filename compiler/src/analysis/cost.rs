//! What expressions cost: processor time a record, call by call.

use super::{live::live, parts, size};
use crate::registry::Registry;
use model::Figure;
use plan::{
    Arg, Binary, DType, Expr, ExprId, Graph, IdVec, Index, Otherwise, Property, Type, Unary, VarId,
    clean::choice, parts::Site,
};

/// A node of a whole chunk at once, for each record and byte written. Assumed: at memory's speed.
const AT_ONCE_NS: f64 = 0.4;
/// A node that is evaluated for each record by itself. Assumed.
const EACH_NS: f64 = 15.0;
/// Arithmetic, for each byte of a tensor. Assumed: 128-bit code, written to the cache.
const BYTE_NS: f64 = 0.1;
/// Functions such as `exp`, for each element. Assumed.
const FUNCTION_NS: f64 = 5.0;
/// A copy, for each byte: as it lies, and in another order. Assumed.
const COPY_NS: [f64; 2] = [0.05, 0.25];

/// What is known of a graph before its nodes are priced.
pub(crate) struct Prices<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) registry: &'a Registry,
    pub(crate) sizes: IdVec<ExprId, Figure>,
    /// Whether a whole chunk is computed at once.
    pub(crate) vector: bool,
    /// Values that are made in part.
    pub(crate) parts: Vec<Site>,
}

impl<'a> Prices<'a> {
    /// Prices on columns of these sizes.
    pub(crate) fn new(graph: &'a Graph, columns: &[Figure], registry: &'a Registry) -> Self {
        let parts = if graph.parts { parts::sites(graph, registry) } else { Vec::new() };
        let sizes = size::of_nodes(graph, columns, registry);
        Self { graph, registry, sizes, vector: false, parts }
    }

    /// Nanoseconds of the node `id`, once; what it needs is not in it.
    pub(crate) fn node(&self, id: ExprId) -> f64 {
        let bytes = self.sizes[id].value;
        let scalar = self.graph.ty(id).fixed().is_some_and(|it| it.is_empty());
        let plain = match (self.vector, scalar) {
            (true, _) => AT_ONCE_NS,
            (false, true) => EACH_NS,
            (false, false) => EACH_NS + BYTE_NS * bytes,
        };
        let elements = bytes / self.graph.ty(id).dtype().map_or(1, plan::DType::size) as f64;
        match self.graph.expr(id) {
            Expr::Select(..) if choice(self.graph, id).is_some() => 0.0,
            Expr::Column(_) | Expr::Epoch | Expr::Var(_) | Expr::Const(_) | Expr::Else { .. } => {
                0.0
            }
            Expr::Call { function, args, .. } => {
                match self.parts.iter().find(|it| it.whole == id) {
                    // Nobody makes more of it than the part.
                    Some(it) => self.call(it.fused.into, args, self.sizes[it.part].value),
                    None => self.call(function, args, bytes),
                }
            }
            Expr::Unary(op, _) if is_dear(*op) => plain + FUNCTION_NS * elements,
            Expr::Binary(Binary::Pow, ..) => plain + FUNCTION_NS * elements,
            Expr::Select(c, ..) if self.graph.ty(*c).shape() == Some(&[]) && !self.vector => {
                EACH_NS
            }
            Expr::Unary(..) | Expr::Binary(..) | Expr::Cast(..) | Expr::Select(..) => plain,
            Expr::Stack { .. } => EACH_NS + COPY_NS[0] * bytes,
        }
    }

    fn call(&self, function: &str, args: &[Arg], bytes: f64) -> f64 {
        let Some(entry) = self.registry.function(function) else { return EACH_NS };
        let read = args.iter().find_map(|it| match it {
            // What is in messages and archives is found by its length, and the rest passed over.
            Arg::Expr(id) if is_skipped(self.graph.ty(*id)) => Some(0.0),
            Arg::Expr(id) => Some(self.sizes[*id].value),
            Arg::Exprs(all) => Some(all.iter().map(|it| self.sizes[*it].value).sum()),
            _ => None,
        });
        let cost = entry.cost;
        cost.ns_call + cost.ns_byte_in * read.unwrap_or(0.0) + cost.ns_byte_out * bytes
    }

    /// Nanoseconds to copy the value `id` to where it will live, where it does not write itself there.
    pub(crate) fn copy(&self, id: ExprId) -> f64 {
        let order = match self.graph.expr(id) {
            Expr::Column(_) | Expr::Const(_) if !self.vector => 0,
            Expr::Call { function, .. } if self.registry.has(function, Property::Crops) => 0,
            Expr::Call { function, .. } if self.registry.has(function, Property::Moves) => 1,
            Expr::Else { value, .. } => return self.copy(*value),
            Expr::Select(..) => match choice(self.graph, id) {
                Some((_, value)) => return self.copy(value),
                None => return 0.0,
            },
            _ => return 0.0,
        };
        COPY_NS[order] * self.sizes[id].value
    }

    /// How often each node is computed for a record, on average.
    pub(crate) fn times(&self, roots: &[ExprId]) -> Vec<f64> {
        let chances = chances(self.graph, roots);
        let turns = turns(self.graph);
        let times = |(id, vars): (ExprId, Vec<VarId>)| {
            let loops = vars.iter().map(|it| turns[it.row()]).product::<f64>();
            chances[id.row()] * loops
        };
        self.graph.iter().map(|(id, ..)| id).zip(variables(self.graph)).map(times).collect()
    }

    /// Nanoseconds a record for all that `roots` need.
    pub(crate) fn total(&self, roots: &[ExprId]) -> f64 {
        let times = self.times(roots);
        self.graph.iter().map(|(id, ..)| times[id.row()] * self.node(id)).sum()
    }
}

/// Nanoseconds of what the value `id` costs besides reading.
pub(crate) fn aside(graph: &Graph, id: ExprId, registry: &Registry) -> f64 {
    let prices = Prices::new(graph, &[], registry);
    let live = live(graph, &[id], &[]);
    let computes = |expr: &Expr| match expr {
        Expr::Call { function, .. } => !registry.reads(function),
        _ => true,
    };
    let nodes = graph.iter().filter(|(id, expr, _)| live[id.row()] && computes(expr));
    nodes.map(|(id, ..)| prices.node(id)).sum()
}

fn is_dear(op: Unary) -> bool {
    matches!(op, Unary::Exp | Unary::Log | Unary::Sin | Unary::Cos | Unary::Tanh)
}

/// How probable it is that a node is needed: the branches of an `if` are assumed to be alike, and
/// nothing to fail.
fn chances(graph: &Graph, roots: &[ExprId]) -> Vec<f64> {
    let mut chances = vec![0.0; graph.len()];
    roots.iter().for_each(|it| chances[it.row()] = 1.0);
    for (id, expr, _) in graph.iter().rev() {
        let own = chances[id.row()];
        let mut need = |id: ExprId, share: f64| {
            let chance: &mut f64 = &mut chances[id.row()];
            *chance = f64::min(*chance + own * share, 1.0);
        };
        match expr {
            // Assumed: what a source could read itself it has read.
            Expr::Select(..) if let Some((_, value)) = choice(graph, id) => need(value, 1.0),
            Expr::Select(condition, a, b) => {
                need(*condition, 1.0);
                let share = if graph.ty(*condition).shape() == Some(&[]) { 0.5 } else { 1.0 };
                [a, b].into_iter().for_each(|it| need(*it, share));
            }
            Expr::Else { value, otherwise } => {
                need(*value, 1.0);
                if let Otherwise::Value(other) = otherwise {
                    need(*other, 0.0);
                }
            }
            other => other.needs(|it| need(it, 1.0)),
        }
    }
    chances
}

/// The turns of each loop; loops whose records leave are counted by who makes them.
fn turns(graph: &Graph) -> Vec<f64> {
    let mut turns = vec![1.0; graph.n_vars as usize];
    for (_, expr, _) in graph.iter() {
        if let Expr::Stack { count, var, .. } = expr {
            turns[var.row()] = size::turns(graph, *count).value;
        }
    }
    turns
}

/// The loop variables that each node changes with.
fn variables(graph: &Graph) -> Vec<Vec<VarId>> {
    let mut all: Vec<Vec<VarId>> = Vec::with_capacity(graph.len());
    for (_, expr, _) in graph.iter() {
        let mut vars = match expr {
            Expr::Var(var) => vec![*var],
            Expr::Call { draw: Some(draw), .. } => draw.vars.clone(),
            _ => Vec::new(),
        };
        expr.needs(|it| vars.extend(&all[it.row()]));
        if let Expr::Stack { var: own, .. } = expr {
            vars.retain(|it| it != own);
        }
        vars.sort_unstable();
        vars.dedup();
        all.push(vars);
    }
    all
}

/// Whether a value is untyped and no text.
fn is_skipped(ty: &Type) -> bool {
    ty.is_untyped() && ty.dtype() == Some(DType::Bytes)
}
