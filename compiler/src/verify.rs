//! What must hold of every plan, whoever made it: the checker or a rewrite.
//!
//! - Every operator stands after those that it reads, and is read by one at most: a plan is a tree.
//! - Sources read nothing, `map`, `where` and `flat_map` one stream, operators at least one.
//! - Names are those of the library; a call has an argument for each parameter of the signature,
//!   and names its draw exactly if it draws.
//! - A node needs only nodes before it, columns that the first input has, with the types that they
//!   have there, and loop variables that there are.
//! - What is computed has the type of its field; conditions are scalar booleans, counts whole
//!   numbers, both sides of arithmetic and of `else` have one dtype.
//! - `where`, and what moves into a source, hands on the fields that flow in.
//! - Fields have names of their own, which do not begin with `$`.
//! - Only programs name columns and stages.

mod calls;
mod program;
mod values;

pub use program::verify_program;

use crate::{
    analysis::{
        live::values,
        role::{Role, role},
    },
    registry::Registry,
};
use calls::{Operates, Record};
use plan::{
    Arg, DType, Entry, Expr, ExprId, Extent, FILE, Field, Graph, IdVec, Index, Library, Op, OpId,
    OpKind, Otherwise, Plan, Records, Type,
};
use std::collections::BTreeSet;
use values::{Values, fields};

/// Operators of a plan that comes from a file.
const OPS_MAX: usize = 100_000;
/// Joins inside joins of a plan that comes from a file.
const JOINS_MAX: usize = 64;

/// Whether all that the header lists holds of `plan`.
///
/// # Errors
/// The first thing that does not, with the operator's name.
pub fn verify(plan: &Plan, library: &Library) -> Result<(), String> {
    verify_known(plan, &Registry::new(*library))
}

/// The same of a plan that comes from a file: besides, every argument and type is what the library
/// says, as the checker has seen to where it made the plan itself.
///
/// # Errors
/// The first thing that does not hold, with the operator's name.
pub fn verify_stored(plan: &Plan, library: &Library) -> Result<(), String> {
    let registry = Registry::new(*library);
    ensure(plan.ops.len() <= OPS_MAX, || format!("it has more than {OPS_MAX} operators"))?;
    verify_known(plan, &registry)?;
    joins(plan)?;
    for (id, op) in plan.ops.iter() {
        stored(plan, op, &registry).map_err(|why| format!("{id} ({}): {why}", op.step))?;
    }
    Ok(())
}

fn stored(plan: &Plan, op: &Op, registry: &Registry) -> Result<(), String> {
    let columns = op.inputs.first().map_or(&[][..], |it| &plan.ops[*it].output);
    fields(&op.output)?;
    let is_hidden = |it: &Field| it.name == FILE;
    ensure(!op.output.iter().any(is_hidden), || format!("a field is named `{FILE}`"))?;
    Values { registry, graph: &op.graph, columns }.all()?;
    let record = Record { columns, graph: Some(&op.graph) };
    match &op.kind {
        OpKind::Source { entry, args } => calls::source(registry, (entry, args), &op.output),
        OpKind::Operator { entry, args, names } => {
            let inputs: Vec<&[Field]> =
                op.inputs.iter().map(|it| &plan.ops[*it].output[..]).collect();
            let call = Operates { entry, args, names, inputs: &inputs, record };
            calls::operator(registry, &call, &op.output)
        }
        OpKind::Map { .. } | OpKind::Where { .. } | OpKind::FlatMap { .. } => Ok(()),
    }
}

/// Streams are joined inside each other at most so deep: they are walked by recursion.
fn joins(plan: &Plan) -> Result<(), String> {
    let mut depths: Vec<usize> = Vec::with_capacity(plan.ops.len());
    for (_, op) in plan.ops.iter() {
        let deepest = op.inputs.iter().map(|it| depths[it.row()]).max().unwrap_or(0);
        depths.push(deepest + usize::from(op.inputs.len() > 1));
    }
    let fits = depths.iter().all(|it| *it <= JOINS_MAX);
    ensure(fits, || format!("more than {JOINS_MAX} streams are joined inside each other"))
}

/// The same for a library that is known already.
pub(crate) fn verify_known(plan: &Plan, registry: &Registry) -> Result<(), String> {
    ensure(plan.ops.get(plan.root).is_some(), || format!("the root {} does not exist", plan.root))?;
    tree(plan)?;
    for (id, op) in plan.ops.iter() {
        let check = Check { ops: &plan.ops, op, registry };
        check.all().map_err(|why| format!("{id} ({}): {why}", op.step))?;
    }
    Ok(())
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

fn tree(plan: &Plan) -> Result<(), String> {
    let mut readers = vec![0_u32; plan.ops.len()];
    for (id, op) in plan.ops.iter() {
        for &input in &op.inputs {
            ensure(input < id, || format!("{id} reads {input}, which does not come before it"))?;
            readers[input.row()] += 1;
        }
    }
    ensure(readers[plan.root.row()] == 0, || format!("the root {} is read", plan.root))?;
    match readers.iter().position(|&it| it > 1) {
        Some(row) => Err(format!("{} is read twice", OpId::new(row))),
        None => Ok(()),
    }
}

struct Check<'a> {
    ops: &'a IdVec<OpId, Op>,
    op: &'a Op,
    registry: &'a Registry,
}

impl Check<'_> {
    fn all(&self) -> Result<(), String> {
        self.inputs()?;
        self.names()?;
        for (id, expr, ty) in self.op.graph.iter() {
            self.node(id, expr, ty).map_err(|why| format!("{id}: {why}"))?;
        }
        self.outputs()
    }

    fn inputs(&self) -> Result<(), String> {
        let n = self.op.inputs.len();
        let fits = match self.op.kind {
            OpKind::Source { .. } => n == 0,
            OpKind::Map { .. } | OpKind::Where { .. } | OpKind::FlatMap { .. } => n == 1,
            OpKind::Operator { .. } => n >= 1,
        };
        ensure(fits, || format!("it reads {n} streams"))
    }

    /// The fields that `Column` counts.
    fn columns(&self) -> &[Field] {
        self.op.inputs.first().map_or(&[], |it| &self.ops[*it].output)
    }

    fn names(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for field in &self.op.output {
            let name = &field.name;
            ensure(!name.starts_with('$') && !name.is_empty(), || {
                format!("a field is named `{name}`")
            })?;
            ensure(seen.insert(name), || format!("two fields are named `{name}`"))?;
        }
        let (entry, args) = match &self.op.kind {
            OpKind::Source { entry, args } => (self.registry.source(entry), args),
            OpKind::Operator { entry, args, .. } => (self.registry.operator(entry), args),
            _ => return Ok(()),
        };
        let entry = entry.ok_or_else(|| "the library has no such entry".to_owned())?;
        let most = self.registry.parameters(entry).len();
        ensure(args.len() <= most, || format!("{} arguments for {most} parameters", args.len()))?;
        args.iter().try_for_each(|it| self.argument(it))
    }

    fn argument(&self, arg: &Arg) -> Result<(), String> {
        let in_graph = |id: &ExprId| id.row() < self.op.graph.len();
        match arg {
            Arg::Column(i) => Err(format!("it names column {i}")),
            Arg::Expr(id) => ensure(in_graph(id), || format!("there is no {id}")),
            Arg::Exprs(all) => ensure(all.iter().all(in_graph), || "a list has no node".into()),
            Arg::Sources(all) => {
                let is_source = |it: &u32| {
                    self.ops
                        .get(OpId(*it))
                        .is_some_and(|it| matches!(it.kind, OpKind::Source { .. }))
                };
                ensure(all.iter().all(is_source), || {
                    "it asks something that is not a source".into()
                })
            }
            _ => Ok(()),
        }
    }

    fn node(&self, id: ExprId, expr: &Expr, ty: &Type) -> Result<(), String> {
        let mut later = None;
        expr.needs(|it| later = later.or((it >= id).then_some(it)));
        ensure(later.is_none(), || format!("it needs {}", later.unwrap_or(id)))?;
        let graph = &self.op.graph;
        let of = |it: &ExprId| graph.ty(*it);
        match expr {
            Expr::Column(i) => match self.columns().get(*i as usize) {
                Some(field) => agree(ty, &field.ty),
                None => Err(format!("there is no column {i}")),
            },
            Expr::Var(var) => ensure(var.0 < graph.n_vars, || format!("there is no {var}")),
            Expr::Call { function, args, draw } => {
                let entry = self.registry.function(function);
                let entry = entry.ok_or_else(|| format!("there is no function `{function}`"))?;
                self.call(entry, args, draw.is_some())
            }
            Expr::Unary(_, a) => same_dtype(ty, of(a)),
            Expr::Binary(_, a, b) => same_dtype(of(a), of(b)),
            Expr::Cast(to, _) => ensure(ty.dtype() == Some(*to), || format!("it is `{ty}`")),
            Expr::Select(c, a, b) => {
                ensure(of(c).dtype() == Some(DType::Bool), || format!("`{}` decides", of(c)))?;
                same_dtype(of(a), of(b))
            }
            Expr::Stack { count, var, .. } => {
                ensure(var.0 < graph.n_vars, || format!("there is no {var}"))?;
                agree(of(count), &Type::scalar(DType::I64))
            }
            Expr::Else { value, otherwise: Otherwise::Value(other) } => {
                same_dtype(of(value), of(other))
            }
            Expr::Epoch | Expr::Const(_) | Expr::Else { .. } => Ok(()),
        }
    }

    fn call(&self, entry: &Entry, args: &[Arg], draws: bool) -> Result<(), String> {
        let (name, wanted) = (entry.name(), self.registry.parameters(entry).len());
        let n = args.len();
        ensure(n == wanted, || format!("`{name}` has {n} arguments for {wanted} parameters"))?;
        let random = self.registry.draws(name, args);
        ensure(random == draws, || format!("`{name}` has a draw: {draws}, and draws: {random}"))?;
        args.iter().try_for_each(|it| self.argument(it))
    }

    fn outputs(&self) -> Result<(), String> {
        let in_graph = |id: &ExprId| id.row() < self.op.graph.len();
        ensure(values(self.op).iter().all(in_graph), || "a value has no node".into())?;
        match &self.op.kind {
            OpKind::Source { .. } => Ok(()),
            OpKind::Map { outputs } => self.fields(outputs),
            OpKind::Where { keep } => {
                agree(self.op.graph.ty(*keep), &Type::scalar(DType::Bool))?;
                self.hands_on()
            }
            OpKind::FlatMap { records: Records::Listed(lists) } => {
                lists.iter().try_for_each(|it| self.fields(it))
            }
            OpKind::FlatMap { records: Records::Counted { count, outputs, var } } => {
                let graph: &Graph = &self.op.graph;
                ensure(var.0 < graph.n_vars, || format!("there is no {var}"))?;
                agree(graph.ty(*count), &Type::scalar(DType::I64))?;
                self.fields(outputs)
            }
            OpKind::Operator { .. } => match role(self.op, self.registry) {
                Role::Permute | Role::Take(_) | Role::Skip(_) | Role::Repeat(_) => self.hands_on(),
                _ => Ok(()),
            },
        }
    }

    fn fields(&self, values: &[ExprId]) -> Result<(), String> {
        let (n, fields) = (values.len(), self.op.output.len());
        ensure(n == fields, || format!("{n} values for {fields} fields"))?;
        for (value, field) in values.iter().zip(&self.op.output) {
            agree(self.op.graph.ty(*value), &field.ty)
                .map_err(|why| format!("field `{}`: {why}", field.name))?;
        }
        Ok(())
    }

    fn hands_on(&self) -> Result<(), String> {
        ensure(self.op.output == self.columns(), || "its fields are not those that flow in".into())
    }
}

fn same_dtype(a: &Type, b: &Type) -> Result<(), String> {
    ensure(a.dtype() == b.dtype(), || format!("`{a}` meets `{b}`"))
}

/// Whether two types can be those of one value: they may know different extents.
fn agree(a: &Type, b: &Type) -> Result<(), String> {
    let fits = match (a.shape(), b.shape()) {
        (Some(x), Some(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| may_be(x, y)),
        _ => a == b,
    };
    ensure(fits && a.dtype() == b.dtype(), || format!("`{a}` is not `{b}`"))
}

fn may_be(a: &Extent, b: &Extent) -> bool {
    !matches!((a, b), (Extent::Known(a), Extent::Known(b)) if a != b)
}
