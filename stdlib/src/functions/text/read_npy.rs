//! `read_npy`: the array in a `.npy` file.

use super::{as_array::array_of, json::shown, reading::unread};
use crate::prelude::*;
use runtime::storage::ReadWhole;

function! {
    /// Reads an array of NumPy from a `.npy` file.
    ///
    /// It is `decode_npy(read_file(path))`, and fails as these do; the message names the path. Give it a type with `as`:
    /// `read_npy(sibling(path, ".npy")) as f32[n, 4]`.
    ///
    /// ```pipe
    /// range(2) |> map { x: read_npy("boxes.npy") as f32[n, 4] else full([0, 4], f32(0)) }    # { x: f32[?, 4] }
    /// ```
    "read_npy(path: str) reads fails -> untyped",
    // Assumed: as `read_file`.
    cost: Cost::out(6000.0, 0.07),
    result: Some(|_| Ok(Type::Untyped(Untyped::Npy))),
}

fn build(_: &Call<'_>) -> Result<Kernel, Failure> {
    Ok(Kernel::Read(ReadWhole { dtype: DType::Bytes, fault: unread, check: is_array }))
}

fn is_array(path: &str, bytes: &[u8]) -> Result<(), Fault> {
    let named = |it: Fault| Fault::new(it.code, format!("{}: {}", shown(path), it.detail));
    array_of(bytes).map(|_| ()).map_err(named)
}
