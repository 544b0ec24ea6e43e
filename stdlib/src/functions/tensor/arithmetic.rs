//! Arithmetic that is called by name; the expression language computes it, element by element.

use crate::Function;
use crate::prelude::*;
use plan::{Binary, Unary};

/// Assumed: a few nanoseconds to start, and half a nanosecond for each byte of the dear ones.
const DEAR: Cost = Cost::out(4.0, 0.5);
/// Assumed: as fast as memory.
const CHEAP: Cost = Cost::out(2.0, 0.1);

macro_rules! arithmetic {
    ($(#[doc = $doc:literal])+ $name:ident = $signature:literal, $node:expr, $cost:expr) => {
        pub(super) static $name: Function = intrinsic! {
            $(#[doc = $doc])+
            $signature,
            cost: $cost,
            properties: &[Property::Pointwise],
            intrinsic: Some($node),
        };
    };
}

arithmetic! {
    /// How far a number is from 0.
    ///
    /// Keeps the dtype. Of the smallest signed integer it is that integer, as in NumPy.
    ///
    /// ```pipe
    /// range(2) |> map { x: abs(f32(i) - 1.0) }    # { x: f32 }
    /// ```
    ABS = "abs(x: any) -> any", Intrinsic::Unary(Unary::Abs), CHEAP
}

arithmetic! {
    /// The square root, of floats; of what is below 0 it is NaN.
    ///
    /// Correctly rounded (IEEE 754).
    ///
    /// ```pipe
    /// range(2) |> map { x: sqrt(f32(i)) }    # { x: f32 }
    /// ```
    SQRT = "sqrt(x: any) -> any", Intrinsic::Unary(Unary::Sqrt), CHEAP
}

arithmetic! {
    /// e to the power of a float.
    ///
    /// The same bits on every machine: the system's mathematics library is not asked.
    ///
    /// ```pipe
    /// range(2) |> map { x: exp(f32(i)) }    # { x: f32 }
    /// ```
    EXP = "exp(x: any) -> any", Intrinsic::Unary(Unary::Exp), DEAR
}

arithmetic! {
    /// The natural logarithm of a float; of 0 it is minus infinity, below that NaN.
    ///
    /// The same bits on every machine: the system's mathematics library is not asked.
    ///
    /// ```pipe
    /// range(2) |> map { x: log(f32(i) + 1.0) }    # { x: f32 }
    /// ```
    LOG = "log(x: any) -> any", Intrinsic::Unary(Unary::Log), DEAR
}

arithmetic! {
    /// The sine of an angle in radians, a float.
    ///
    /// The same bits on every machine: the system's mathematics library is not asked.
    ///
    /// ```pipe
    /// range(2) |> map { x: sin(f32(i)) }    # { x: f32 }
    /// ```
    SIN = "sin(x: any) -> any", Intrinsic::Unary(Unary::Sin), DEAR
}

arithmetic! {
    /// The cosine of an angle in radians, a float.
    ///
    /// The same bits on every machine: the system's mathematics library is not asked.
    ///
    /// ```pipe
    /// range(2) |> map { x: cos(f32(i)) }    # { x: f32 }
    /// ```
    COS = "cos(x: any) -> any", Intrinsic::Unary(Unary::Cos), DEAR
}

arithmetic! {
    /// The hyperbolic tangent of a float.
    ///
    /// The same bits on every machine: the system's mathematics library is not asked.
    ///
    /// ```pipe
    /// range(2) |> map { x: tanh(f32(i)) }    # { x: f32 }
    /// ```
    TANH = "tanh(x: any) -> any", Intrinsic::Unary(Unary::Tanh), DEAR
}

arithmetic! {
    /// The largest whole number that is not above `x`.
    ///
    /// Keeps the dtype: `i64(floor(x))` is an integer.
    ///
    /// ```pipe
    /// range(2) |> map { x: floor(f32(i) * 0.5) }    # { x: f32 }
    /// ```
    FLOOR = "floor(x: any) -> any", Intrinsic::Unary(Unary::Floor), CHEAP
}

arithmetic! {
    /// The smallest whole number that is not below `x`.
    ///
    /// Keeps the dtype: `i64(ceil(x))` is an integer.
    ///
    /// ```pipe
    /// range(2) |> map { x: ceil(f32(i) * 0.5) }    # { x: f32 }
    /// ```
    CEIL = "ceil(x: any) -> any", Intrinsic::Unary(Unary::Ceil), CHEAP
}

arithmetic! {
    /// The nearest whole number, halves to the even one.
    ///
    /// Keeps the dtype: `i64(round(x))` is an integer. As in NumPy and Python, `round(2.5)` is 2.
    ///
    /// ```pipe
    /// range(2) |> map { x: round(f32(i) * 0.5) }    # { x: f32 }
    /// ```
    ROUND = "round(x: any) -> any", Intrinsic::Unary(Unary::Round), CHEAP
}

arithmetic! {
    /// The smaller of two numbers, element by element.
    ///
    /// Extents broadcast as in NumPy. The smallest element of one tensor is `minimum(x)`.
    ///
    /// ```pipe
    /// range(4) |> map { x: min(i, 2) }    # { x: i64 }
    /// ```
    MIN = "min(a: any, b: any) -> any", Intrinsic::Binary(Binary::Min), CHEAP
}

arithmetic! {
    /// The larger of two numbers, element by element.
    ///
    /// Extents broadcast as in NumPy. The largest element of one tensor is `maximum(x)`.
    ///
    /// ```pipe
    /// range(4) |> map { x: max(i, 2) }    # { x: i64 }
    /// ```
    MAX = "max(a: any, b: any) -> any", Intrinsic::Binary(Binary::Max), CHEAP
}

arithmetic! {
    /// `x` to the power of `exponent`: `x ** exponent`.
    ///
    /// The same bits on every machine: the system's mathematics library is not asked.
    ///
    /// ```pipe
    /// range(2) |> map { x: pow(f32(i), 2.0) }    # { x: f32 }
    /// ```
    POW = "pow(x: any, exponent: any) -> any", Intrinsic::Binary(Binary::Pow), DEAR
}
