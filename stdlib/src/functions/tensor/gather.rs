//! `gather`: several elements of the first axis, by their numbers.

use super::numbers::packed;
use super::shapes::{integers_of, numbers_of};
use super::take_at::place;
use crate::prelude::*;
use plan::{Const, Expr, things};

function! {
    /// Selects elements of the first axis by index.
    ///
    /// `x[order]` is short for it. The result has the elements in the given order. Negative indices count from
    /// the end, and an index may occur several times. An index out of range is an error at compile time if it
    /// is known then; otherwise the record fails with `index`. After `batch`, `image[permutation(len(image))]`
    /// pairs each row with another one, also in the last, smaller batch.
    ///
    /// ```pipe
    /// range(2) |> map { x: gather(plasma(i, 4, 6), permutation(4)) }    # { x: u8[4, 6, 3] }
    /// ```
    "gather(x: any, order: integer[n]) fails -> any",
    // Assumed: half as fast as memory.
    cost: Cost::out(10.0, 0.1),
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, mut shape) = numbers_of(applied, 0)?;
    let (_, order) = integers_of(applied, 1)?;
    match (&mut shape[..], &order[..]) {
        ([], _) => Err("a single number has no elements to choose from".into()),
        ([first, ..], [n]) => {
            if let (Extent::Known(len), Some(outside)) = (&*first, farthest(applied, &*first)) {
                let axis = things(*len, "element", "elements");
                return Err(format!(
                    "index {outside} is out of range: the first axis has {axis}; to shuffle all elements of \
                     `x`, use `permutation(len(x))`"
                ));
            }
            *first = n.clone();
            Ok(Type::Tensor { dtype, shape })
        }
        _ => Err("the indices must have one axis".into()),
    }
}

/// A number of the order that is known to lie outside of an axis.
fn farthest(applied: &Applied<'_>, axis: &Extent) -> Option<i64> {
    let Extent::Known(len) = axis else { return None };
    let len = i64::try_from(*len).ok()?;
    let Some(Arg::Expr(order)) = applied.args.get(1) else { return None };
    let is_outside = |it: &i64| !(-len..len).contains(it);
    match applied.graph.expr(*order) {
        Expr::Const(Const::Ints(_, _, all)) => all.iter().copied().find(is_outside),
        // Each of these has all numbers below the one that it is given.
        Expr::Call { function, args, .. }
            if ["permutation", "arange"].contains(&function.as_str()) =>
        {
            match args[..] {
                [Arg::Int(n)] => Some(n - 1).filter(|it| *it >= 0 && is_outside(it)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::compute(|args, out| {
        let (x, order) = (args.tensor(0), args.tensor(1));
        let mut shape = Shape::new(x.shape()).to_vec();
        shape[0] = order.elements();
        let room = out.room(x.dtype(), Shape::new(&shape))?;
        let row = x.dtype().size() * x.shape()[1..].iter().product::<usize>();
        whole(&order, |order| choose(&x, order, (room, row)))
    }))
}

/// Calls `work` with whole numbers of any width as `i64`.
fn whole<R>(
    x: &Tensor<'_>,
    work: impl FnOnce(&mut dyn Iterator<Item = i64>) -> Result<R, Fault>,
) -> Result<R, Fault> {
    macro_rules! by_width {
        ($($dtype:ident: $ty:ty),+) => {
            match x.dtype() {
                $(DType::$dtype => packed::<$ty, R>(x, |all| {
                    // What does not fit is far outside of any tensor.
                    work(&mut all.iter().map(|&it| i64::try_from(it).unwrap_or(i64::MAX)))
                }),)+
                other => unreachable!("the checker saw to integers, not {other}"),
            }
        };
    }
    by_width!(U8: u8, U16: u16, U32: u32, U64: u64, I8: i8, I16: i16, I32: i32, I64: i64)
}

/// Copies the rows, each of so many bytes.
fn choose(
    x: &Tensor<'_>,
    order: &mut dyn Iterator<Item = i64>,
    (room, row): (&mut [u8], usize),
) -> Result<(), Fault> {
    let n = x.shape()[0];
    let outside = |it: String| Fault::new("index", it);
    if row == 0 {
        let mut places = order.map(|it| place(it, n));
        return places.try_for_each(|it| it.map(|_| ())).map_err(outside);
    }
    let rows = x.as_bytes();
    for (to, i) in room.chunks_exact_mut(row).zip(order) {
        let at = place(i, n).map_err(outside)?;
        match rows {
            Some(rows) => to.copy_from_slice(&rows[at * row..][..row]),
            None => x.element(at).copy_to(to),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    #[test]
    fn rows_come_in_the_order_asked_for() {
        let values: Vec<f32> = (0..6).map(|it| it as f32).collect();
        let x = Tensor::new(&[3, 2], &values);
        let run = |x: Tensor<'_>, order: Tensor<'_>| Trial::of(&ENTRY).value(x).value(order).run();
        let order = Tensor::new(&[4], &[2_i64, 0, -1, 0]);
        let rows = [4_f32, 5., 0., 1., 4., 5., 0., 1.];
        assert_eq!(run(x, order), Ok(Value::of(&[4, 2], &rows)));
        assert_eq!(
            run(x.permuted(&[1, 0]), Tensor::new(&[1], &[1_u8])),
            Ok(Value::of(&[1, 3], &[1_f32, 3., 5.]))
        );
        assert_eq!(run(x, Tensor::new::<i32>(&[0], &[])), Ok(Value::of::<f32>(&[0, 2], &[])));
        for outside in [3, -4] {
            let order = [0, outside];
            assert_eq!(run(x, Tensor::new(&[2], &order)).unwrap_err().code, "index");
        }
        assert_eq!(run(x, Tensor::new(&[1], &[u64::MAX])).unwrap_err().code, "index");
    }

    #[test]
    fn floats_are_no_numbers_of_elements() {
        let x = Tensor::new(&[1], &[0_f32]);
        let refused = Trial::of(&ENTRY).value(x).value(x).refused();
        assert!(refused.contains("integers"), "{refused}");
    }
}
