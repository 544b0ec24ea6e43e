//! Arithmetic on tensors, element by element, with NumPy's broadcasting.
//!
//! Floats are defined (`semantics.md`, 4): one rounding an operation, nothing contracted or
//! reordered, transcendental functions from `libm`; so every machine gives the same bits.

use super::{
    convert::cast,
    number::{Float, Number},
};
use crate::{Element, Fault, MAX_RANK, Out, Scratch, Shape, Tensor};
use plan::{Binary, DType, Unary};
use std::slice;

/// The dtype that is computed in: few, so that few loops are compiled.
fn wide(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::Bool | DType::U8 | DType::I8 | DType::U16 | DType::I16 => DType::I32,
        other => other,
    }
}

/// Calls a generic function for the Rust type of a dtype that is computed in.
macro_rules! for_wide {
    ($dtype:expr, $call:ident($($arg:expr),*)) => {
        match $dtype {
            DType::U32 => $call::<u32>($($arg),*),
            DType::U64 => $call::<u64>($($arg),*),
            DType::I32 => $call::<i32>($($arg),*),
            DType::I64 => $call::<i64>($($arg),*),
            DType::F32 => $call::<f32>($($arg),*),
            DType::F64 => $call::<f64>($($arg),*),
            other => unreachable!("`{other}` is computed in a wider dtype"),
        }
    };
}

/// Writes `op` of `a` and `b`, which have the same dtype.
pub(super) fn binary(op: Binary, ab: [&Tensor<'_>; 2], out: &mut Out<'_>) -> Result<(), Fault> {
    let dtype = ab[0].dtype();
    let shape = broadcast(ab[0].shape(), ab[1].shape())?;
    match (op.compares(), dtype) {
        (false, DType::Bool) => logic(op, ab, shape, out),
        (_, dtype) if wide(dtype) != dtype => widened(op, ab, out),
        (true, dtype) => for_wide!(dtype, compare(op, ab, shape, out)),
        (false, dtype) => for_wide!(dtype, compute(op, ab, shape, out)),
    }
}

/// The same through a wider dtype.
fn widened(op: Binary, [a, b]: [&Tensor<'_>; 2], out: &mut Out<'_>) -> Result<(), Fault> {
    let (mut wide_a, mut wide_b) = (Scratch::new(), Scratch::new());
    cast(wide(a.dtype()), a, &mut Out::grow(&mut wide_a))?;
    cast(wide(b.dtype()), b, &mut Out::grow(&mut wide_b))?;
    let ab = [&wide_a.tensor(), &wide_b.tensor()];
    if op.compares() {
        return binary(op, ab, out);
    }
    let mut result = Scratch::new();
    binary(op, ab, &mut Out::grow(&mut result))?;
    cast(a.dtype(), &result.tensor(), out)
}

fn compare<T: Number>(
    op: Binary,
    ab: [&Tensor<'_>; 2],
    shape: Shape,
    out: &mut Out<'_>,
) -> Result<(), Fault> {
    let out = out.tensor::<bool>(&shape)?;
    match op {
        Binary::Eq => zip::<T, _>(ab, shape, out, |a, b| a == b),
        Binary::Ne => zip::<T, _>(ab, shape, out, |a, b| a != b),
        Binary::Lt => zip::<T, _>(ab, shape, out, |a, b| a < b),
        Binary::Le => zip::<T, _>(ab, shape, out, |a, b| a <= b),
        Binary::Gt => zip::<T, _>([ab[1], ab[0]], shape, out, |a, b| a < b),
        _ => zip::<T, _>([ab[1], ab[0]], shape, out, |a, b| a <= b),
    }
    Ok(())
}

fn logic(op: Binary, ab: [&Tensor<'_>; 2], shape: Shape, out: &mut Out<'_>) -> Result<(), Fault> {
    let out = out.tensor::<bool>(&shape)?;
    match op {
        Binary::And | Binary::Min => zip::<bool, _>(ab, shape, out, |a, b| a & b),
        Binary::Or | Binary::Max => zip::<bool, _>(ab, shape, out, |a, b| a | b),
        _ => unreachable!("the checker admits only logic on booleans"),
    }
    Ok(())
}

fn compute<T: Number>(
    op: Binary,
    ab: [&Tensor<'_>; 2],
    shape: Shape,
    out: &mut Out<'_>,
) -> Result<(), Fault> {
    if matches!(op, Binary::FloorDiv | Binary::Rem) && T::DTYPE.is_int() && has_zero::<T>(ab[1]) {
        return Err(Fault::new("division-by-zero", "integer division by zero"));
    }
    let out = out.tensor::<T>(&shape)?;
    match op {
        Binary::Add => zip(ab, shape, out, T::add),
        Binary::Sub => zip(ab, shape, out, T::sub),
        Binary::Mul => zip(ab, shape, out, T::mul),
        Binary::Div => zip(ab, shape, out, T::div),
        Binary::FloorDiv => zip(ab, shape, out, T::floor_div),
        Binary::Rem => zip(ab, shape, out, T::rem),
        Binary::Pow => zip(ab, shape, out, T::pow),
        Binary::Min => zip(ab, shape, out, T::least),
        Binary::Max => zip(ab, shape, out, T::most),
        _ => unreachable!("comparisons and logic are done elsewhere"),
    }
    Ok(())
}

fn has_zero<T: Number>(tensor: &Tensor<'_>) -> bool {
    let mut found = false;
    let shape = Shape::new(tensor.shape());
    rows([tensor], &shape, |[row], len, _| {
        found |= (0..len).any(|it| row.at::<T>(it) == T::ZERO);
    });
    found
}

/// Writes `op` of `a`.
pub(super) fn unary(op: Unary, a: &Tensor<'_>, out: &mut Out<'_>) -> Result<(), Fault> {
    let dtype = a.dtype();
    if op == Unary::Not {
        map::<bool, bool>(a, out.tensor::<bool>(a.shape())?, |it| !it);
        return Ok(());
    }
    if wide(dtype) != dtype {
        let (mut widened, mut result) = (Scratch::new(), Scratch::new());
        cast(wide(dtype), a, &mut Out::grow(&mut widened))?;
        unary(op, &widened.tensor(), &mut Out::grow(&mut result))?;
        return cast(dtype, &result.tensor(), out);
    }
    match (op, dtype) {
        (Unary::Neg, _) => for_wide!(dtype, negate(a, out)),
        (Unary::Abs, _) => for_wide!(dtype, absolute(a, out)),
        (_, DType::F32) => each_float::<f32>(op, a, out),
        (_, DType::F64) => each_float::<f64>(op, a, out),
        _ => out.copy(a), // Whole numbers are round.
    }
}

fn negate<T: Number>(a: &Tensor<'_>, out: &mut Out<'_>) -> Result<(), Fault> {
    map(a, out.tensor::<T>(a.shape())?, |it| T::ZERO.sub(it));
    Ok(())
}

fn absolute<T: Number>(a: &Tensor<'_>, out: &mut Out<'_>) -> Result<(), Fault> {
    map(a, out.tensor::<T>(a.shape())?, T::abs);
    Ok(())
}

fn each_float<T: Float>(op: Unary, a: &Tensor<'_>, out: &mut Out<'_>) -> Result<(), Fault> {
    let room = out.tensor::<T>(a.shape())?;
    match op {
        Unary::Sqrt => map(a, room, T::sqrt),
        Unary::Exp => map(a, room, T::exp),
        Unary::Log => map(a, room, T::log),
        Unary::Sin => map(a, room, T::sin),
        Unary::Cos => map(a, room, T::cos),
        Unary::Tanh => map(a, room, T::tanh),
        Unary::Floor => map(a, room, T::floor),
        Unary::Ceil => map(a, room, T::ceil),
        Unary::Round => map(a, room, T::round),
        Unary::Neg | Unary::Not | Unary::Abs => unreachable!("done for every number"),
    }
    Ok(())
}

/// Writes `a` where `condition` is true, else `b`, which have the same dtype.
pub(super) fn select(
    condition: &Tensor<'_>,
    ab: [&Tensor<'_>; 2],
    out: &mut Out<'_>,
) -> Result<(), Fault> {
    let shape = broadcast(condition.shape(), &broadcast(ab[0].shape(), ab[1].shape())?)?;
    let dtype = ab[0].dtype();
    let room = out.room(dtype, shape)?;
    match dtype.size() {
        1 => select_of::<1>(condition, ab, shape, room),
        2 => select_of::<2>(condition, ab, shape, room),
        4 => select_of::<4>(condition, ab, shape, room),
        _ => select_of::<8>(condition, ab, shape, room),
    }
    Ok(())
}

/// Chooses elements of `SIZE` bytes, whatever they mean.
fn select_of<const SIZE: usize>(
    condition: &Tensor<'_>,
    [a, b]: [&Tensor<'_>; 2],
    shape: Shape,
    out: &mut [u8],
) {
    let (out, _) = out.as_chunks_mut::<SIZE>();
    rows([condition, a, b], &shape, |[c, a, b], len, at| {
        for (i, to) in out[at..at + len].iter_mut().enumerate() {
            *to = if c.at::<bool>(i) { a.at(i) } else { b.at(i) };
        }
    });
}

/// The extents of what two tensors make together.
pub(super) fn broadcast(a: &[usize], b: &[usize]) -> Result<Shape, Fault> {
    let rank = a.len().max(b.len());
    let mut shape = [0; MAX_RANK];
    for (axis, to) in shape[..rank].iter_mut().enumerate() {
        let of = |all: &[usize]| (axis + all.len()).checked_sub(rank).map_or(1, |it| all[it]);
        *to = match (of(a), of(b)) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => {
                let detail = format!("the extents {a:?} and {b:?} are incompatible");
                return Err(Fault::new("extents", detail));
            }
        };
    }
    Ok(Shape::new(&shape[..rank]))
}

fn zip<T: Element, R: Element>(
    ab: [&Tensor<'_>; 2],
    shape: Shape,
    out: &mut [R],
    f: impl Fn(T, T) -> R,
) {
    rows(ab, &shape, |[a, b], len, at| {
        let out = &mut out[at..at + len];
        match (a.slice::<T>(len), b.slice::<T>(len), a.step == 0, b.step == 0) {
            (_, Some(b), true, _) => {
                let a = a.at(0);
                out.iter_mut().zip(b).for_each(|(to, &b)| *to = f(a, b));
            }
            (Some(a), _, _, true) => {
                let b = b.at(0);
                out.iter_mut().zip(a).for_each(|(to, &a)| *to = f(a, b));
            }
            (Some(a), Some(b), ..) => {
                out.iter_mut().zip(a).zip(b).for_each(|((to, &a), &b)| *to = f(a, b));
            }
            _ => out.iter_mut().enumerate().for_each(|(i, to)| *to = f(a.at(i), b.at(i))),
        }
    });
}

pub(super) fn map<T: Element, R: Element>(a: &Tensor<'_>, out: &mut [R], f: impl Fn(T) -> R) {
    let shape = Shape::new(a.shape());
    rows([a], &shape, |[a], len, at| {
        let out = &mut out[at..at + len];
        match a.slice::<T>(len) {
            Some(a) => out.iter_mut().zip(a).for_each(|(to, &a)| *to = f(a)),
            None => out.iter_mut().enumerate().for_each(|(i, to)| *to = f(a.at(i))),
        }
    });
}

/// Elements of one tensor next to each other along the last axis.
#[derive(Clone, Copy)]
pub(super) struct Row {
    first: *const u8,
    step: isize,
}

impl Row {
    pub(super) fn at<T: Copy>(self, i: usize) -> T {
        // SAFETY: `rows` gives rows of `len` elements of the tensor, and callers stay below it.
        unsafe { self.first.offset(self.step * i as isize).cast::<T>().read_unaligned() }
    }

    fn slice<'a, T: Element>(self, len: usize) -> Option<&'a [T]> {
        let dense = self.step == size_of::<T>() as isize && self.first.cast::<T>().is_aligned();
        // SAFETY: the row's elements lie next to each other.
        dense.then(|| unsafe { slice::from_raw_parts(self.first.cast(), len) })
    }
}

/// Calls `f` for each row of `shape` with the tensors' rows, their length, and where it begins.
pub(super) fn rows<const N: usize>(
    tensors: [&Tensor<'_>; N],
    shape: &Shape,
    mut f: impl FnMut([Row; N], usize, usize),
) {
    if shape.elements() == 0 {
        return;
    }
    let strides = tensors.map(|it| stretched(it, shape));
    let inner = joined_axes(&strides, shape);
    let len: usize = shape[inner..].iter().product();
    let mut at = [0_usize; MAX_RANK];
    for start in (0..shape.elements()).step_by(len) {
        f(
            std::array::from_fn(|it| {
                let offset: isize =
                    (0..inner).map(|axis| at[axis] as isize * strides[it][axis]).sum();
                let step =
                    (inner..shape.len()).rev().map(|axis| strides[it][axis]).next().unwrap_or(0);
                // SAFETY: `at` counts through the tensor's own extents.
                Row { first: unsafe { tensors[it].as_ptr().offset(offset) }, step }
            }),
            len,
            start,
        );
        for axis in (0..inner).rev() {
            at[axis] += 1;
            if at[axis] < shape[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
}

/// The strides of a tensor in the axes of `shape`; 0 where one element serves all.
pub(super) fn stretched(tensor: &Tensor<'_>, shape: &Shape) -> [isize; MAX_RANK] {
    let missing = shape.len() - tensor.shape().len();
    let mut strides = [0; MAX_RANK];
    for (axis, &extent) in tensor.shape().iter().enumerate() {
        if extent != 1 {
            strides[missing + axis] = tensor.strides()[axis];
        }
    }
    strides
}

/// The first of the last axes that every tensor walks through in even steps.
pub(super) fn joined_axes(strides: &[[isize; MAX_RANK]], shape: &Shape) -> usize {
    let mut inner = shape.len().saturating_sub(1);
    while inner > 0 {
        let even = |it: &[isize; MAX_RANK]| it[inner - 1] == it[inner] * shape[inner] as isize;
        if !strides.iter().all(even) {
            break;
        }
        inner -= 1;
    }
    // The step is that of the last axis: axes of one element have no step of their own.
    if shape.is_empty() { 0 } else { inner }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(op: Binary, a: Tensor<'_>, b: Tensor<'_>) -> Result<Vec<i64>, Fault> {
        let mut scratch = Scratch::new();
        binary(op, [&a, &b], &mut Out::grow(&mut scratch))?;
        Ok(scratch.tensor().as_slice().expect("i64 in C order").to_vec())
    }

    #[test]
    fn extents_are_stretched() {
        let column = [1_i64, 2];
        let row = [10_i64, 20, 30];
        let (column, row) = (Tensor::new(&[2, 1], &column), Tensor::new(&[3], &row));
        assert_eq!(ints(Binary::Add, column, row).as_deref(), Ok(&[11, 21, 31, 12, 22, 32][..]));
        assert!(ints(Binary::Add, Tensor::new(&[2], &[1_i64, 2]), row).is_err());
    }

    #[test]
    fn views_are_read_by_their_strides() {
        let all = [1_i64, 2, 3, 4, 5, 6];
        let turned = Tensor::new(&[2, 3], &all).permuted(&[1, 0]).flipped(0);
        let one = [1_i64];
        let found = ints(Binary::Mul, turned, Tensor::new(&[], &one));
        assert_eq!(found.as_deref(), Ok(&[3, 6, 2, 5, 1, 4][..]));
    }

    /// As Python has it.
    #[test]
    fn division_rounds_down() {
        let (a, b) = ([7_i64, -7, 7, -7], [2_i64, 2, -2, -2]);
        let (a, b) = (Tensor::new(&[4], &a), Tensor::new(&[4], &b));
        assert_eq!(ints(Binary::FloorDiv, a, b).as_deref(), Ok(&[3, -4, -4, 3][..]));
        assert_eq!(ints(Binary::Rem, a, b).as_deref(), Ok(&[1, 1, -1, -1][..]));
        let zero = [0_i64];
        let fault = ints(Binary::Rem, a, Tensor::new(&[], &zero)).expect_err("by zero");
        assert_eq!(fault.code, "division-by-zero");
    }
}
