//! What must hold of the expressions of a plan or program that comes from a file, so that nobody who
//! evaluates or prices them is misled: types follow from what is computed, and nothing is too deep.

use super::{agree, calls, ensure, same_dtype};
use crate::registry::Registry;
use plan::{
    Binary, Const, DType, Expr, ExprId, Field, Graph, Index, Otherwise, Policy, STAGE_DEPTH_MAX,
    Type, Unary, VarId,
};

/// Axes of a tensor (`runtime/src/tensor.rs`).
const RANK_MAX: usize = 6;
/// Fields of a record.
const FIELDS_MAX: usize = 10_000;

/// The expressions of one operator or stage.
pub(super) struct Values<'a> {
    pub(super) registry: &'a Registry,
    pub(super) graph: &'a Graph,
    /// What `Column` counts.
    pub(super) columns: &'a [Field],
}

impl Values<'_> {
    pub(super) fn all(&self) -> Result<(), String> {
        let (vars, nodes) = (self.graph.n_vars as usize, self.graph.len());
        ensure(vars <= nodes, || format!("{vars} loop variables for {nodes} values"))?;
        let mut depths: Vec<u32> = Vec::with_capacity(nodes);
        for (id, expr, ty) in self.graph.iter() {
            let depth = self.depth(id, expr, &depths).map_err(|why| format!("{id}: {why}"))?;
            depths.push(depth);
            type_(ty).and_then(|()| self.node(expr, ty)).map_err(|why| format!("{id}: {why}"))?;
        }
        Ok(())
    }

    /// How many nodes stand above each other up to this one.
    fn depth(&self, id: ExprId, expr: &Expr, known: &[u32]) -> Result<u32, String> {
        let (mut deepest, mut later) = (0, None);
        expr.needs(|it| match known.get(it.row()) {
            Some(depth) => deepest = deepest.max(*depth),
            None => later = Some(it),
        });
        match later {
            Some(it) => Err(format!("it needs {it}, which does not come before {id}")),
            None if deepest as usize >= STAGE_DEPTH_MAX => {
                Err(format!("values are nested more than {STAGE_DEPTH_MAX} deep"))
            }
            None => Ok(deepest + 1),
        }
    }

    fn node(&self, expr: &Expr, ty: &Type) -> Result<(), String> {
        let of = |it: &ExprId| self.graph.ty(*it);
        match expr {
            Expr::Column(i) => match self.columns.get(*i as usize) {
                Some(field) => agree(ty, &field.ty),
                None => Err(format!("there is no column {i}")),
            },
            Expr::Epoch => agree(ty, &Type::scalar(DType::I64)),
            Expr::Var(var) => {
                self.var(*var)?;
                agree(ty, &Type::scalar(DType::I64))
            }
            Expr::Const(it) => constant(it, ty),
            Expr::Call { function, args, draw } => {
                ensure(!ty.is_texts(), || format!("`{function}` gives `{ty}`"))?;
                draw.iter().flat_map(|it| &it.vars).try_for_each(|it| self.var(*it))?;
                calls::draws(self.registry, (function, args), draw.is_some())?;
                calls::function(self.registry, (function, args), self.graph, ty)
            }
            Expr::Unary(op, a) => unary(*op, of(a), ty),
            Expr::Binary(op, a, b) => binary(*op, [of(a), of(b)], ty),
            Expr::Cast(to, a) => {
                number(of(a))?;
                ensure(!to.is_text(), || format!("numbers become `{to}`"))?;
                ensure(ty.dtype() == Some(*to), || format!("it is `{ty}`"))?;
                same_rank(of(a), ty)
            }
            Expr::Select(c, a, b) => self.select(*c, [of(a), of(b)], ty),
            Expr::Stack { count, var, body, joined } => {
                self.var(*var)?;
                agree(of(count), &Type::scalar(DType::I64))?;
                same_dtype(of(body), ty)?;
                number(ty)?;
                let fits = match joined {
                    true => rank(of(body)) > 0 && rank(ty) == rank(of(body)),
                    false => rank(ty) == rank(of(body)) + 1,
                };
                ensure(fits, || format!("`{}` stacked is not `{ty}`", of(body)))
            }
            Expr::Else { value, otherwise } => self.otherwise(of(value), otherwise, ty),
        }
    }

    fn select(&self, condition: ExprId, [a, b]: [&Type; 2], ty: &Type) -> Result<(), String> {
        let condition = self.graph.ty(condition);
        ensure(condition.dtype() == Some(DType::Bool), || format!("`{condition}` decides"))?;
        same_dtype(a, ty)?;
        same_dtype(b, ty)?;
        if rank(condition) == 0 {
            same_rank(a, ty)?;
            return same_rank(b, ty);
        }
        number(ty)?;
        let most = rank(a).max(rank(b)).max(rank(condition));
        ensure(rank(ty) == most, || format!("it is `{ty}`"))
    }

    fn otherwise(&self, value: &Type, otherwise: &Otherwise, ty: &Type) -> Result<(), String> {
        same_dtype(value, ty)?;
        same_rank(value, ty)?;
        match otherwise {
            Otherwise::Policy(it) => policy(it),
            Otherwise::Value(other) => {
                same_dtype(self.graph.ty(*other), ty)?;
                same_rank(self.graph.ty(*other), ty)
            }
        }
    }

    pub(super) fn var(&self, var: VarId) -> Result<(), String> {
        ensure(var.0 < self.graph.n_vars, || format!("there is no {var}"))
    }

    /// The type of a node that something outside the graph names.
    pub(super) fn ty(&self, id: ExprId) -> Result<&Type, String> {
        match id.row() < self.graph.len() {
            true => Ok(self.graph.ty(id)),
            false => Err(format!("there is no {id}")),
        }
    }
}

/// The fields of a record: few, of types that values have.
pub(super) fn fields(fields: &[Field]) -> Result<(), String> {
    let n = fields.len();
    ensure(n <= FIELDS_MAX, || format!("it has {n} fields"))?;
    let sound = |it: &Field| type_(&it.ty).map_err(|why| format!("field `{}`: {why}", it.name));
    fields.iter().try_for_each(sound)
}

pub(super) fn policy(policy: &Policy) -> Result<(), String> {
    match policy {
        Policy::Fail => Ok(()),
        Policy::Skip { most } | Policy::Another { most } => {
            ensure(*most >= 0.0, || format!("a fraction of {most} may fail"))
        }
    }
}

fn type_(ty: &Type) -> Result<(), String> {
    let Some(shape) = ty.shape() else { return Err(format!("it is `{ty}`, not a tensor")) };
    ensure(shape.len() <= RANK_MAX, || format!("it has more than {RANK_MAX} axes"))?;
    ensure(!text(ty) || shape.len() <= 1, || format!("it is `{ty}`"))?;
    let overflows = ty.fixed().is_some() && ty.fixed_bytes().is_none();
    ensure(!overflows, || "its size is not a number".into())
}

fn constant(value: &Const, ty: &Type) -> Result<(), String> {
    let (dtype, shape, n) = match value {
        Const::Text(dtype, bytes) => {
            let sound = dtype.is_text() && rank(ty) == 0 && ty.dtype() == Some(*dtype);
            ensure(sound, || format!("`{dtype}` is not `{ty}`"))?;
            let utf8 = *dtype != DType::Str || std::str::from_utf8(bytes).is_ok();
            return ensure(utf8, || "its text is not UTF-8".into());
        }
        Const::Floats(dtype, shape, all) => (dtype, shape, all.len() as u64),
        Const::Ints(dtype, shape, all) => (dtype, shape, all.len() as u64),
    };
    let elements = shape.iter().try_fold(1_u64, |all, it| all.checked_mul(*it));
    let fits = elements == Some(n) && !dtype.is_text() && shape.len() <= RANK_MAX;
    ensure(fits, || format!("{n} elements for {shape:?}"))?;
    agree(ty, &Type::tensor(*dtype, shape))
}

fn unary(op: Unary, a: &Type, ty: &Type) -> Result<(), String> {
    number(a)?;
    let fits = match op {
        Unary::Not => a.dtype() == Some(DType::Bool),
        _ => a.dtype() != Some(DType::Bool),
    };
    ensure(fits, || format!("{op:?} of `{a}`"))?;
    same_dtype(a, ty)?;
    same_rank(a, ty)
}

fn binary(op: Binary, [a, b]: [&Type; 2], ty: &Type) -> Result<(), String> {
    number(a)?;
    same_dtype(a, b)?;
    let dtype = a.dtype().unwrap_or(DType::Bool);
    let fits = match op {
        Binary::And | Binary::Or => dtype == DType::Bool,
        Binary::Min | Binary::Max => true,
        Binary::Div => dtype.is_float(),
        _ => op.compares() || dtype != DType::Bool,
    };
    ensure(fits, || format!("{op:?} of `{a}`"))?;
    let result = if op.compares() { DType::Bool } else { dtype };
    let most = rank(a).max(rank(b));
    ensure(ty.dtype() == Some(result) && rank(ty) == most, || format!("it is `{ty}`"))
}

fn number(ty: &Type) -> Result<(), String> {
    ensure(!text(ty), || format!("`{ty}` is not a number"))
}

fn text(ty: &Type) -> bool {
    ty.dtype().is_none_or(DType::is_text)
}

fn rank(ty: &Type) -> usize {
    ty.shape().map_or(0, <[_]>::len)
}

fn same_rank(a: &Type, b: &Type) -> Result<(), String> {
    ensure(rank(a) == rank(b), || format!("`{a}` is not `{b}`"))
}
