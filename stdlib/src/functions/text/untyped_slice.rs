//! `untyped_slice`: some rows of an untyped dataset; what `row["name"][a:b]` becomes.

use super::{super::tensor::slice::Bounds, dataset};
use crate::prelude::*;

function! {
    /// Returns the rows of a dataset from `from` to before `to`.
    ///
    /// `row["x"][a:b]` is short for it, where `row` is that of `hdf5`. The part is untyped too: give it a type with `as`,
    /// which reads these rows only. As in NumPy, a bound that is omitted is the end, negative indices count from the end,
    /// and bounds out of range are clipped.
    ///
    /// ```pipe no_run
    /// hdf5("*.h5") |> map { x: untyped_slice(row["x"], 0, 100) as f32[?] }    # { x: f32[?] }
    /// ```
    "untyped_slice(x: untyped, from: int = none, to: int = none) -> untyped",
    cost: Cost::call(60.0),
    result: Some(|applied| match applied.ty(0) {
        Some(Type::Untyped(Untyped::Dataset)) => Ok(Type::Untyped(Untyped::Dataset)),
        Some(Type::Untyped(Untyped::Hdf5)) => {
            Err("its datasets are accessed by name: `row[\"name\"]`".to_owned())
        }
        _ => Err("only a dataset has parts without a type: give it one first, `(x as f32[n])[a:b]`".to_owned()),
    }),
}

fn build(call: &Call<'_>) -> Result<Kernel, Failure> {
    let bounds = Bounds::of(call, 1);
    Ok(Kernel::compute(move |args, out| {
        out.text(DType::Bytes, &dataset::part(args.tensor(0).as_text(), &bounds(args)))
    }))
}
