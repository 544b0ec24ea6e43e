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
    /// Returns the absolute value of a number.
    ///
    /// Keeps the dtype. The smallest signed integer stays as it is, as in NumPy.
    ///
    /// ```pipe
    /// range(2) |> map { x: abs(f32(i) - 1.0) }    # { x: f32 }
    /// ```
    ABS = "abs(x: any) -> any", Intrinsic::Unary(Unary::Abs), CHEAP
}

arithmetic! {
    /// Returns the square root of a float; NaN for negative numbers.
    ///
    /// Correctly rounded (IEEE 754).
    ///
    /// ```pipe
    /// range(2) |> map { x: sqrt(f32(i)) }    # { x: f32 }
    /// ```
    SQRT = "sqrt(x: any) -> any", Intrinsic::Unary(Unary::Sqrt), CHEAP
}

arithmetic! {
    /// Returns e to the power of a float.
    ///
    /// The result has the same bits on every machine: the system's math library is not used.
    ///
    /// ```pipe
    /// range(2) |> map { x: exp(f32(i)) }    # { x: f32 }
    /// ```
    EXP = "exp(x: any) -> any", Intrinsic::Unary(Unary::Exp), DEAR
}

arithmetic! {
    /// Returns the natural logarithm of a float.
    ///
    /// It is minus infinity for 0, and NaN for negative numbers. The result has the same bits on every machine:
    /// the system's math library is not used.
    ///
    /// ```pipe
    /// range(2) |> map { x: log(f32(i) + 1.0) }    # { x: f32 }
    /// ```
    LOG = "log(x: any) -> any", Intrinsic::Unary(Unary::Log), DEAR
}

arithmetic! {
    /// Returns the sine of an angle in radians, a float.
    ///
    /// The result has the same bits on every machine: the system's math library is not used.
    ///
    /// ```pipe
    /// range(2) |> map { x: sin(f32(i)) }    # { x: f32 }
    /// ```
    SIN = "sin(x: any) -> any", Intrinsic::Unary(Unary::Sin), DEAR
}

arithmetic! {
    /// Returns the cosine of an angle in radians, a float.
    ///
    /// The result has the same bits on every machine: the system's math library is not used.
    ///
    /// ```pipe
    /// range(2) |> map { x: cos(f32(i)) }    # { x: f32 }
    /// ```
    COS = "cos(x: any) -> any", Intrinsic::Unary(Unary::Cos), DEAR
}

arithmetic! {
    /// Returns the hyperbolic tangent of a float.
    ///
    /// The result has the same bits on every machine: the system's math library is not used.
    ///
    /// ```pipe
    /// range(2) |> map { x: tanh(f32(i)) }    # { x: f32 }
    /// ```
    TANH = "tanh(x: any) -> any", Intrinsic::Unary(Unary::Tanh), DEAR
}

arithmetic! {
    /// Rounds down to an integer.
    ///
    /// Keeps the dtype; for an integer, use `i64(floor(x))`.
    ///
    /// ```pipe
    /// range(2) |> map { x: floor(f32(i) * 0.5) }    # { x: f32 }
    /// ```
    FLOOR = "floor(x: any) -> any", Intrinsic::Unary(Unary::Floor), CHEAP
}

arithmetic! {
    /// Rounds up to an integer.
    ///
    /// Keeps the dtype; for an integer, use `i64(ceil(x))`.
    ///
    /// ```pipe
    /// range(2) |> map { x: ceil(f32(i) * 0.5) }    # { x: f32 }
    /// ```
    CEIL = "ceil(x: any) -> any", Intrinsic::Unary(Unary::Ceil), CHEAP
}

arithmetic! {
    /// Rounds to the nearest integer, half to even.
    ///
    /// Keeps the dtype; for an integer, use `i64(round(x))`. As in NumPy and Python, `round(2.5)` is 2.
    ///
    /// ```pipe
    /// range(2) |> map { x: round(f32(i) * 0.5) }    # { x: f32 }
    /// ```
    ROUND = "round(x: any) -> any", Intrinsic::Unary(Unary::Round), CHEAP
}

arithmetic! {
    /// Returns the smaller of two numbers, element by element.
    ///
    /// Extents broadcast as in NumPy. For the smallest element of a tensor, use `minimum(x)`.
    ///
    /// ```pipe
    /// range(4) |> map { x: min(i, 2) }    # { x: i64 }
    /// ```
    MIN = "min(a: any, b: any) -> any", Intrinsic::Binary(Binary::Min), CHEAP
}

arithmetic! {
    /// Returns the larger of two numbers, element by element.
    ///
    /// Extents broadcast as in NumPy. For the largest element of a tensor, use `maximum(x)`.
    ///
    /// ```pipe
    /// range(4) |> map { x: max(i, 2) }    # { x: i64 }
    /// ```
    MAX = "max(a: any, b: any) -> any", Intrinsic::Binary(Binary::Max), CHEAP
}

arithmetic! {
    /// Returns `x` to the power of `exponent`; same as `x ** exponent`.
    ///
    /// The result has the same bits on every machine: the system's math library is not used.
    ///
    /// ```pipe
    /// range(2) |> map { x: pow(f32(i), 2.0) }    # { x: f32 }
    /// ```
    POW = "pow(x: any, exponent: any) -> any", Intrinsic::Binary(Binary::Pow), DEAR
}
