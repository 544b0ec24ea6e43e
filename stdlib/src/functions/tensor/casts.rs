//! Casts: a dtype's name, called. The expression language computes them, element by element.

use crate::Function;
use crate::prelude::*;

/// Assumed: as fast as memory.
const CHEAP: Cost = Cost::out(2.0, 0.1);

macro_rules! cast {
    ($(#[doc = $doc:literal])+ $name:ident = $signature:literal, $dtype:expr) => {
        pub(super) static $name: Function = intrinsic! {
            $(#[doc = $doc])+
            $signature,
            cost: CHEAP,
            properties: &[Property::Pointwise],
            intrinsic: Some(Intrinsic::Cast($dtype)),
        };
    };
}

cast! {
    /// Returns true if a number is not 0.
    ///
    /// NaN is `true`, as in NumPy.
    ///
    /// ```pipe
    /// range(2) |> map { x: bool(i) }    # { x: bool }
    /// ```
    BOOL = "bool(x: any) -> any", DType::Bool
}

cast! {
    /// Converts a number to an integer from 0 to 255.
    ///
    /// Floats are truncated towards 0; values out of range are clamped, and NaN becomes 0.
    ///
    /// ```pipe
    /// range(2) |> map { x: u8(i) }    # { x: u8 }
    /// ```
    U8 = "u8(x: any) -> any", DType::U8
}

cast! {
    /// Converts a number to an integer from 0 to 65,535.
    ///
    /// Floats are truncated towards 0; values out of range are clamped, and NaN becomes 0.
    ///
    /// ```pipe
    /// range(2) |> map { x: u16(i) }    # { x: u16 }
    /// ```
    U16 = "u16(x: any) -> any", DType::U16
}

cast! {
    /// Converts a number to an unsigned 32-bit integer.
    ///
    /// Floats are truncated towards 0; values out of range are clamped, and NaN becomes 0.
    ///
    /// ```pipe
    /// range(2) |> map { x: u32(i) }    # { x: u32 }
    /// ```
    U32 = "u32(x: any) -> any", DType::U32
}

cast! {
    /// Converts a number to an unsigned 64-bit integer.
    ///
    /// Floats are truncated towards 0; values out of range are clamped, and NaN becomes 0.
    ///
    /// ```pipe
    /// range(2) |> map { x: u64(i) }    # { x: u64 }
    /// ```
    U64 = "u64(x: any) -> any", DType::U64
}

cast! {
    /// Converts a number to an integer from -128 to 127.
    ///
    /// Floats are truncated towards 0; values out of range are clamped, and NaN becomes 0.
    ///
    /// ```pipe
    /// range(2) |> map { x: i8(i) }    # { x: i8 }
    /// ```
    I8 = "i8(x: any) -> any", DType::I8
}

cast! {
    /// Converts a number to an integer from -32,768 to 32,767.
    ///
    /// Floats are truncated towards 0; values out of range are clamped, and NaN becomes 0.
    ///
    /// ```pipe
    /// range(2) |> map { x: i16(i) }    # { x: i16 }
    /// ```
    I16 = "i16(x: any) -> any", DType::I16
}

cast! {
    /// Converts a number to a 32-bit integer.
    ///
    /// Floats are truncated towards 0; values out of range are clamped, and NaN becomes 0.
    ///
    /// ```pipe
    /// range(2) |> map { x: i32(i) }    # { x: i32 }
    /// ```
    I32 = "i32(x: any) -> any", DType::I32
}

cast! {
    /// Converts a number to a 64-bit integer.
    ///
    /// Floats are truncated towards 0; values out of range are clamped, and NaN becomes 0.
    ///
    /// ```pipe
    /// range(2) |> map { x: i64(i) }    # { x: i64 }
    /// ```
    I64 = "i64(x: any) -> any", DType::I64
}

cast! {
    /// Converts a number to a 16-bit float (IEEE 754).
    ///
    /// Rounded to the nearest, half to even; `false` is 0 and `true` is 1.
    ///
    /// ```pipe
    /// range(2) |> map { x: f16(i) }    # { x: f16 }
    /// ```
    F16 = "f16(x: any) -> any", DType::F16
}

cast! {
    /// Converts a number to a 16-bit float with the range of `f32` (bfloat16).
    ///
    /// Rounded to the nearest, half to even; `false` is 0 and `true` is 1.
    ///
    /// ```pipe
    /// range(2) |> map { x: bf16(i) }    # { x: bf16 }
    /// ```
    BF16 = "bf16(x: any) -> any", DType::BF16
}

cast! {
    /// Converts a number to a 32-bit float.
    ///
    /// Rounded to the nearest, half to even; `false` is 0 and `true` is 1.
    ///
    /// ```pipe
    /// range(2) |> map { x: f32(i) }    # { x: f32 }
    /// ```
    F32 = "f32(x: any) -> any", DType::F32
}

cast! {
    /// Converts a number to a 64-bit float.
    ///
    /// Rounded to the nearest, half to even; `false` is 0 and `true` is 1.
    ///
    /// ```pipe
    /// range(2) |> map { x: f64(i) }    # { x: f64 }
    /// ```
    F64 = "f64(x: any) -> any", DType::F64
}
