//! `reshape`: the same elements in other extents.

use super::shapes::{known, numbers_of, ranked, whole_numbers};
use crate::prelude::*;

function! {
    /// Returns the same elements, in C order, with other extents.
    ///
    /// One extent may be -1: it is inferred from the number of elements. If the extents do not match the number
    /// of elements, this is an error at compile time if all are known then; otherwise the record fails with
    /// `extents`.
    ///
    /// ```pipe
    /// range(2) |> map { x: reshape(plasma(i, 4, 6), [-1, 3]) }    # { x: u8[24, 3] }
    /// ```
    "reshape(x: any, shape: floats) fails -> any",
    // Assumed: a copy, as fast as memory.
    cost: Cost::out(8.0, 0.05),
    result: Some(result),
}

fn result(applied: &Applied<'_>) -> Result<Type, String> {
    let (dtype, shape) = numbers_of(applied, 0)?;
    let asked = asked(&applied.args[1])?;
    let fixed = Type::Tensor { dtype, shape }.fixed();
    let elements = fixed.and_then(|it| it.iter().try_fold(1_usize, |a, &b| a.checked_mul(b)));
    if let Some(elements) = elements {
        let extents: Vec<i64> = fitted(&asked, elements)?.iter().map(|&it| it as i64).collect();
        return ranked(dtype, extents.into_iter().map(known).collect::<Result<_, _>>()?);
    }
    let extent = |&it: &i64| if it == -1 { Ok(Extent::Unknown) } else { known(it) };
    ranked(dtype, asked.iter().map(extent).collect::<Result<_, _>>()?)
}

/// The extents as they were asked for: at most one of them is -1, and none is below.
fn asked(arg: &Arg) -> Result<Vec<i64>, String> {
    let asked = whole_numbers(arg)?;
    if asked.iter().filter(|it| **it == -1).count() > 1 {
        return Err("only one extent can be -1".into());
    }
    match asked.iter().find(|it| **it < -1) {
        Some(it) => Err(format!("an extent must be at least 0, found {it}")),
        None => Ok(asked),
    }
}

/// The extents for that many elements.
fn fitted(asked: &[i64], elements: usize) -> Result<Vec<usize>, String> {
    let mut rest = asked.iter().filter(|it| **it != -1);
    let rest = rest.try_fold(1_usize, |all, &it| all.checked_mul(it as usize));
    let open = match rest {
        Some(rest) if rest > 0 && elements.is_multiple_of(rest) => Some(elements / rest),
        Some(0) if elements == 0 && !asked.contains(&-1) => Some(1),
        _ => None,
    };
    let exact = asked.contains(&-1) || open == Some(1);
    let open = open.filter(|_| exact).ok_or_else(|| {
        let verb = plan::plural(elements as u64, "element does", "elements do");
        format!("{elements} {verb} not fit the extents [{}]", plan::Commas(asked))
    })?;
    Ok(asked.iter().map(|&it| usize::try_from(it).unwrap_or(open)).collect())
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let asked = asked(&call.args[1]).map_err(Failure::Program)?;
    Ok(Kernel::compute(move |args, out| {
        let x = args.tensor(0);
        let extents = fitted(&asked, x.elements()).map_err(|it| Fault::new("extents", it))?;
        x.copy_to(out.room(x.dtype(), Shape::new(&extents))?);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, Value};
    use super::*;

    fn trial<'a>(x: Tensor<'a>, shape: &[i64]) -> Trial<'a> {
        let shape = Arg::List(shape.iter().map(|&it| Arg::Int(it)).collect());
        Trial::of(&ENTRY).value(x).arg(shape)
    }

    #[test]
    fn elements_stay_in_c_order() {
        let values: Vec<i32> = (0..6).collect();
        let x = Tensor::new(&[2, 3], &values);
        assert_eq!(trial(x, &[3, -1]).run(), Ok(Value::of(&[3, 2], &values)));
        assert_eq!(trial(x, &[6]).run(), Ok(Value::of(&[6], &values)));
        assert_eq!(trial(x, &[1, 6, 1]).run(), Ok(Value::of(&[1, 6, 1], &values)));
        let turned = Value::of(&[2, 3], &[0_i32, 3, 1, 4, 2, 5]);
        assert_eq!(trial(x.permuted(&[1, 0]), &[2, 3]).run(), Ok(turned));
        let one = Tensor::new(&[], &[7_u8]);
        assert_eq!(trial(one, &[-1]).run(), Ok(Value::of(&[1], &[7_u8])));
        let none = Tensor::new::<u8>(&[0, 2], &[]);
        assert_eq!(trial(none, &[-1, 3]).run(), Ok(Value::of::<u8>(&[0, 3], &[])));
        assert_eq!(trial(none, &[5, 0]).run(), Ok(Value::of::<u8>(&[5, 0], &[])));
    }

    #[test]
    fn what_does_not_fit_is_refused_early_where_it_is_known() {
        let x = Tensor::new(&[2, 3], &[0_u8; 6]);
        for wrong in [&[4, -1][..], &[5], &[7, 1], &[0, -1], &[0]] {
            assert!(trial(x, wrong).refused().contains("do not fit"), "{wrong:?}");
            assert_eq!(trial(x, wrong).unknown().run().unwrap_err().code, "extents", "{wrong:?}");
        }
        assert!(trial(x, &[-1, -1]).refused().contains("only one"));
        assert!(trial(x, &[-2]).refused().contains("-2"));
    }
}
