//! Rust types for dtypes: how sums of each are reckoned, where the elements lie packed.

use crate::prelude::*;
use half::{bf16, f16};
use runtime::{Element, Scratch};
use std::cell::Cell;

/// Bytes of packed copies that a thread keeps for the next record.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// Runs the same code with `$T` as the Rust type of the numbers of a dtype.
macro_rules! by_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::functions::tensor::by_dtype!(@ $dtype, $T, $body,
            Bool: bool, U8: u8, U16: u16, U32: u32, U64: u64, I8: i8, I16: i16, I32: i32,
            I64: i64, F16: half::f16, BF16: half::bf16, F32: f32, F64: f64)
    };
    (@ $dtype:expr, $T:ident, $body:expr, $($name:ident: $rust:ty),+) => {
        match $dtype {
            $(DType::$name => {
                type $T = $rust;
                $body
            })+
            DType::Str | DType::Bytes => unreachable!("the checker saw that it is no text"),
        }
    };
}
pub(crate) use by_dtype;

/// Evaluates an expression for the Rust type of a dtype of integers.
macro_rules! by_int {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::functions::tensor::by_int!(@ $dtype, $T, $body,
            U8: u8, U16: u16, U32: u32, U64: u64, I8: i8, I16: i16, I32: i32, I64: i64)
    };
    (@ $dtype:expr, $T:ident, $body:expr, $($name:ident: $rust:ty),+) => {
        match $dtype {
            $(DType::$name => {
                type $T = $rust;
                $body
            })+
            other => unreachable!("the checker saw to integers, not to `{other}`"),
        }
    };
}
pub(crate) use by_int;

/// The elements of `x` in C order without gaps: where they lie, or as a copy of this thread's.
pub(crate) fn packed<T: Element, R>(
    x: &Tensor<'_>,
    work: impl FnOnce(&[T]) -> Result<R, Fault>,
) -> Result<R, Fault> {
    thread_local! {
        static COPY: Cell<Option<Scratch>> = const { Cell::new(None) };
    }
    if let Some(values) = x.as_slice() {
        return work(values);
    }

    let mut copy = COPY.take().unwrap_or_default();
    x.copy_to(copy.claim(x.dtype(), Shape::new(x.shape()))?);
    let result = work(copy.tensor().as_slice().expect("the copy is packed, and of the same dtype"));
    if x.bytes() <= KEPT_BYTES_MAX {
        COPY.set(Some(copy));
    }
    result
}

/// What sums and products are reckoned in: exact for integers, `f64` for floats.
pub(super) trait Wide: Copy + 'static {
    const ZERO: Self;
    const ONE: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn to_f64(self) -> f64;
}

macro_rules! wide_integers {
    ($($ty:ty),+) => {$(
        impl Wide for $ty {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )+};
}
wide_integers!(i64, u64, i128);

impl Wide for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    fn plus(self, other: Self) -> Self {
        self + other
    }
    fn times(self, other: Self) -> Self {
        self * other
    }
    fn to_f64(self) -> f64 {
        self
    }
}

/// An element that can be summed and compared.
pub(super) trait Number: Element + PartialOrd {
    /// What sums are reckoned in.
    type Total: Wide;
    /// What sums are: [`summed`] of the dtype.
    type Sum: Element;
    /// What exact sums of a tensor's elements fit into.
    type Exact: Wide;
    /// What means are: [`averaged`] of the dtype.
    type Mean: Element;
    /// Not above any other element.
    const LOWEST: Self;
    /// Not below any other element.
    const HIGHEST: Self;

    fn total(self) -> Self::Total;
    fn exact(self) -> Self::Exact;
    fn sum(total: Self::Total) -> Self::Sum;
    fn mean(mean: f64) -> Self::Mean;
    /// Whether it is not a number.
    fn is_none(self) -> bool;
}

/// The dtype of sums, products and running sums.
///
/// Integers of less than 64 bits, and `bool`, give `i64`, which holds all of theirs; 64-bit
/// integers and floats stay what they are. NumPy gives `u64` for small unsigned ones.
pub(super) fn summed(dtype: DType) -> DType {
    if dtype.is_float() || dtype == DType::U64 { dtype } else { DType::I64 }
}

/// The dtype of means: floats stay what they are, all else gives `f32`.
pub(super) fn averaged(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::F32 }
}

macro_rules! integers {
    ($($ty:ty: $total:ty, $exact:ty);+) => {$(
        impl Number for $ty {
            type Total = $total;
            type Sum = $total;
            type Exact = $exact;
            type Mean = f32;
            const LOWEST: Self = <$ty>::MIN;
            const HIGHEST: Self = <$ty>::MAX;
            fn total(self) -> $total {
                self as $total
            }
            fn exact(self) -> $exact {
                self as $exact
            }
            fn sum(total: $total) -> $total {
                total
            }
            fn mean(mean: f64) -> f32 {
                mean as f32
            }
            fn is_none(self) -> bool {
                false
            }
        }
    )+};
}
// A tensor has at most 2^30 elements, so that i64 holds the sums of 32-bit integers.
integers! {
    u8: i64, i64; u16: i64, i64; u32: i64, i64; u64: u64, i128;
    i8: i64, i64; i16: i64, i64; i32: i64, i64; i64: i64, i128
}

impl Number for bool {
    type Total = i64;
    type Sum = i64;
    type Exact = i64;
    type Mean = f32;
    const LOWEST: Self = false;
    const HIGHEST: Self = true;
    fn total(self) -> i64 {
        i64::from(self)
    }
    fn exact(self) -> i64 {
        i64::from(self)
    }
    fn sum(total: i64) -> i64 {
        total
    }
    fn mean(mean: f64) -> f32 {
        mean as f32
    }
    fn is_none(self) -> bool {
        false
    }
}

/// What is not a number as the one that arithmetic gives: which one comes of two, or of infinities,
/// differs between machines.
fn one_nan(x: f64) -> f64 {
    if x.is_nan() { f64::NAN } else { x }
}

macro_rules! floats {
    ($($ty:ty: $narrow:expr);+) => {$(
        impl Number for $ty {
            type Total = f64;
            type Sum = $ty;
            type Exact = f64;
            type Mean = $ty;
            const LOWEST: Self = <$ty>::NEG_INFINITY;
            const HIGHEST: Self = <$ty>::INFINITY;
            fn total(self) -> f64 {
                f64::from(self)
            }
            fn exact(self) -> f64 {
                f64::from(self)
            }
            fn sum(total: f64) -> $ty {
                ($narrow)(one_nan(total))
            }
            fn mean(mean: f64) -> $ty {
                ($narrow)(one_nan(mean))
            }
            fn is_none(self) -> bool {
                self.is_nan()
            }
        }
    )+};
}
// Through f32 on every machine: the direct conversion of `half` differs between machines.
floats! {
    f16: |it| f16::from_f32(it as f32); bf16: |it| bf16::from_f32(it as f32);
    f32: |it| it as f32; f64: |it| it
}
