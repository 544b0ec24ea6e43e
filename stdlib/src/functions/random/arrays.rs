//! Tensors of draws: what `random_normal` and `random_uniform` share.

use crate::functions::tensor::shapes::{known, ranked};
use crate::prelude::*;
use plan::{Const, Expr};

/// `f32` of the extents that the list `shape`, the first argument, gives: numbers, or integers of the record, whose
/// extents are unknown until it runs.
pub(super) fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let Arg::Exprs(ids) = &applied.args[0] else {
        return Err("`shape` must be a list of extents, such as `[3, 224]` or `[len(ids)]`".into());
    };
    let extents: Result<Vec<Extent>, String> = ids
        .iter()
        .map(|&id| {
            let ty = applied.graph.ty(id);
            let is_integer = ty.dtype().is_some_and(DType::is_int);
            if !is_integer || ty.shape() != Some(&[]) {
                return Err(format!("an extent of `shape` must be an integer, found `{ty}`"));
            }
            match applied.graph.expr(id) {
                Expr::Const(Const::Ints(_, _, value)) => known(value.first().copied().unwrap_or(0)),
                _ => Ok(Extent::Unknown),
            }
        })
        .collect();
    ranked(DType::F32, extents?)
}

/// The tensor that a call writes to, of the extents that its first argument has in this record.
pub(super) fn room<'a>(args: &Args<'_>, out: &'a mut Out<'_>) -> Result<&'a mut [f32], Fault> {
    let extent = |it: &Tensor<'_>| {
        let found = it.int();
        usize::try_from(found)
            .map_err(|_| Fault::new("size", format!("{found} is not an extent: it is negative")))
    };
    let extents: Vec<usize> = args.list(0).iter().map(extent).collect::<Result<_, _>>()?;
    out.tensor::<f32>(&extents)
}

#[cfg(test)]
pub(super) mod trial {
    use crate::{Function, functions::tensor::trial::Trial};
    use runtime::Tensor;
    use std::slice;

    /// A call whose first argument is a list of these extents.
    pub(in super::super) fn of_shape<'a>(
        function: &'static Function,
        shape: &'a [i64],
    ) -> Trial<'a> {
        let extents: Vec<Tensor<'_>> =
            shape.iter().map(|it| Tensor::new(&[], slice::from_ref(it))).collect();
        Trial::of(function).list(&extents)
    }

    /// That neighbours, in one tensor and from one to the next, are not correlated: their covariance is that of as
    /// many independent pairs, within five standard errors.
    pub(in super::super) fn are_independent(found: &[f64], (mean, variance): (f64, f64)) {
        let n = found.len() as f64;
        let covariance =
            found.windows(2).map(|it| (it[0] - mean) * (it[1] - mean)).sum::<f64>() / n;
        assert!(covariance.abs() < 5.0 * variance / n.sqrt(), "{covariance}");
    }

    pub(in super::super) fn extents_are_checked<'a>(trial: fn(&'a [i64]) -> Trial<'a>) {
        assert_eq!(trial(&[3]).run().unwrap().shape, [3]);
        assert_eq!(trial(&[]).run().unwrap().shape, [0; 0]);
        assert_eq!(trial(&[0, 7]).run().unwrap().shape, [0, 7]);
        assert_eq!(trial(&[-1]).run().unwrap_err().code, "size");
        assert_eq!(trial(&[1 << 40]).run().unwrap_err().code, "too-large");
    }
}
