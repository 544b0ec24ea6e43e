//! `transpose`: the axes in another order.

use super::shapes::{numbers_of, whole_numbers};
use crate::prelude::*;

function! {
    /// Permutes the axes: axis `k` of the result is axis `order[k]` of `x`.
    ///
    /// Without `order`, the axes are reversed, as in NumPy. A negative axis counts from the last. Nothing is
    /// copied.
    ///
    /// ```pipe
    /// range(2) |> map { x: transpose(plasma(i, 4, 6), [2, 0, 1]) }    # { x: u8[3, 4, 6] }
    /// ```
    "transpose(x: any, order: floats = none) -> any",
    cost: Cost::call(5.0),
    properties: &[Property::Moves],
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = numbers_of(applied, 0)?;
    let order = order_of(&applied.args[1], shape.len())?;
    Ok(Type::Tensor { dtype, shape: order.iter().map(|&it| shape[it].clone()).collect() })
}

/// The axes in the order asked for; each must be named once.
fn order_of(arg: &Arg, rank: usize) -> Result<Vec<usize>, String> {
    if matches!(arg, Arg::None) {
        return Ok((0..rank).rev().collect());
    }
    let axis = |it: i64| usize::try_from(if it < 0 { it + rank as i64 } else { it }).ok();
    let order: Option<Vec<usize>> = whole_numbers(arg)?.into_iter().map(axis).collect();
    let each_once =
        |order: &Vec<usize>| order.len() == rank && (0..rank).all(|it| order.contains(&it));
    order.filter(each_once).ok_or_else(|| {
        let last = rank.saturating_sub(1);
        format!("`order` must contain each of the {rank} axes once, as numbers from 0 to {last}")
    })
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let rank = call.types[0].as_ref().and_then(Type::shape).map_or(0, <[_]>::len);
    let order = order_of(&call.args[1], rank).map_err(Failure::Program)?;
    Ok(Kernel::view(move |args| Ok(args.tensor(0).permuted(&order))))
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    /// `np.transpose(np.arange(6).reshape(1, 2, 3), order)`.
    #[test]
    fn agrees_with_numpy() {
        let x = Tensor::new(&[1, 2, 3], &[0_i32, 1, 2, 3, 4, 5]);
        let run = |order: Arg| Trial::of(&ENTRY).value(x).arg(order);
        let list = |all: &[i64]| Arg::List(all.iter().map(|&it| Arg::Int(it)).collect());
        let turned = [0_i32, 3, 1, 4, 2, 5];
        assert_eq!(run(Arg::None).run(), Ok(Value::of(&[3, 2, 1], &turned)));
        assert_eq!(run(list(&[2, 0, 1])).run(), Ok(Value::of(&[3, 1, 2], &turned)));
        assert_eq!(run(list(&[0, -1, 1])).run(), Ok(Value::of(&[1, 3, 2], &turned)));
        for wrong in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3]] {
            assert!(run(list(wrong)).refused().contains("each of the 3 axes"));
        }
    }
}
