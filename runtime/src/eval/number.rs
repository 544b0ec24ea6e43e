//! What arithmetic means for the element types that are computed with.
//!
//! The others go through a wider one: 8 and 16 bits through i32, half floats through f32. For
//! one operation with one rounding that gives the same bits.

use crate::Element;
use half::{bf16, f16};

/// What every element type can be changed to and from.
pub(super) trait Convert: Element {
    fn to_f64(self) -> f64;
    fn to_i128(self) -> i128;
    /// Towards zero for integers; out of range to the nearest.
    fn from_f64(value: f64) -> Self;
    /// Out of range to the nearest.
    fn from_i128(value: i128) -> Self;
}

/// Arithmetic of one element type. Integers wrap; floats round once an operation, and what is not a
/// number is always the same NaN, but where an operand is handed on as it is.
pub(super) trait Number: Element + PartialOrd {
    /// Nothing.
    const ZERO: Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// True division; of floats only.
    fn div(self, other: Self) -> Self;
    /// Rounded towards minus infinity.
    fn floor_div(self, other: Self) -> Self;
    /// With the sign of `other`.
    fn rem(self, other: Self) -> Self;
    fn pow(self, other: Self) -> Self;
    /// The smaller; not a number if either is not.
    fn least(self, other: Self) -> Self;
    /// The larger; not a number if either is not.
    fn most(self, other: Self) -> Self;
    fn abs(self) -> Self;
}

/// Functions of floats.
pub(super) trait Float: Number {
    fn sqrt(self) -> Self;
    fn exp(self) -> Self;
    fn log(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tanh(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    /// Halves to the even neighbour.
    fn round(self) -> Self;
}

macro_rules! convert_integers {
    ($($ty:ty),+) => {$(
        impl Convert for $ty {
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn to_i128(self) -> i128 {
                i128::from(self)
            }
            fn from_f64(value: f64) -> Self {
                value as Self
            }
            fn from_i128(value: i128) -> Self {
                value.clamp(i128::from(Self::MIN), i128::from(Self::MAX)) as Self
            }
        }
    )+};
}
convert_integers!(u8, u16, u32, u64, i8, i16, i32, i64);

impl Convert for bool {
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
    fn to_i128(self) -> i128 {
        i128::from(self)
    }
    fn from_f64(value: f64) -> Self {
        value != 0.0
    }
    fn from_i128(value: i128) -> Self {
        value != 0
    }
}

// Half floats are rounded twice, through f32: `half` rounds f64 in one step on some machines and
// in two on others.
macro_rules! convert_floats {
    ($($ty:ty, $narrow:expr, $whole:expr;)+) => {$(
        impl Convert for $ty {
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn to_i128(self) -> i128 {
                f64::from(self) as i128
            }
            fn from_f64(value: f64) -> Self {
                $narrow(value)
            }
            fn from_i128(value: i128) -> Self {
                $whole(value)
            }
        }
    )+};
}
convert_floats! {
    f32, |it| it as f32, |it| it as f32;
    f64, std::convert::identity, |it| it as f64;
    f16, |it| f16::from_f32(it as f32), |it| f16::from_f32(it as f32);
    bf16, |it| bf16::from_f32(it as f32), |it| bf16::from_f32(it as f32);
}

macro_rules! integers {
    ($($ty:ty),+) => {$(
        impl Number for $ty {
            const ZERO: Self = 0;
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn div(self, _: Self) -> Self {
                unreachable!("the checker makes floats of what is truly divided")
            }
            #[allow(unused_comparisons, reason = "of unsigned types")]
            fn floor_div(self, other: Self) -> Self {
                let (quotient, rest) = (self.wrapping_div(other), self.wrapping_rem(other));
                if rest != 0 && (rest < 0) != (other < 0) { quotient - 1 } else { quotient }
            }
            #[allow(unused_comparisons, reason = "of unsigned types")]
            fn rem(self, other: Self) -> Self {
                let rest = self.wrapping_rem(other);
                if rest != 0 && (rest < 0) != (other < 0) { rest.wrapping_add(other) } else { rest }
            }
            fn pow(self, other: Self) -> Self {
                u32::try_from(other).map_or(0, |it| self.wrapping_pow(it))
            }
            fn least(self, other: Self) -> Self {
                self.min(other)
            }
            fn most(self, other: Self) -> Self {
                self.max(other)
            }
            #[allow(unused_comparisons, reason = "of unsigned types")]
            fn abs(self) -> Self {
                if self < 0 { Self::ZERO.wrapping_sub(self) } else { self }
            }
        }
    )+};
}
integers!(u32, u64, i32, i64);

/// Which of all NaNs an operation gives is up to the processor, and to the order in which its
/// operands happen to stand in the code: here it is always the same one.
macro_rules! defined {
    ($value:expr) => {{
        let value = $value;
        if value.is_nan() { Self::NAN } else { value }
    }};
}

macro_rules! floats {
    ($($ty:ident, $pow:path, [$sqrt:path, $exp:path, $log:path, $sin:path, $cos:path, $tanh:path];)+) => {$(
        impl Number for $ty {
            const ZERO: Self = 0.0;
            fn add(self, other: Self) -> Self {
                defined!(self + other)
            }
            fn sub(self, other: Self) -> Self {
                defined!(self - other)
            }
            fn mul(self, other: Self) -> Self {
                defined!(self * other)
            }
            fn div(self, other: Self) -> Self {
                defined!(self / other)
            }
            fn floor_div(self, other: Self) -> Self {
                defined!((self / other).floor())
            }
            fn rem(self, other: Self) -> Self {
                let rest = self % other;
                defined!(if rest != 0.0 && (rest < 0.0) != (other < 0.0) { rest + other } else { rest })
            }
            fn pow(self, other: Self) -> Self {
                defined!($pow(self, other))
            }
            fn least(self, other: Self) -> Self {
                if self < other || self.is_nan() { self } else { other }
            }
            fn most(self, other: Self) -> Self {
                if self > other || self.is_nan() { self } else { other }
            }
            fn abs(self) -> Self {
                <$ty>::abs(self)
            }
        }

        impl Float for $ty {
            fn sqrt(self) -> Self {
                defined!($sqrt(self))
            }
            fn exp(self) -> Self {
                defined!($exp(self))
            }
            fn log(self) -> Self {
                defined!($log(self))
            }
            fn sin(self) -> Self {
                defined!($sin(self))
            }
            fn cos(self) -> Self {
                defined!($cos(self))
            }
            fn tanh(self) -> Self {
                defined!($tanh(self))
            }
            fn floor(self) -> Self {
                defined!(<$ty>::floor(self))
            }
            fn ceil(self) -> Self {
                defined!(<$ty>::ceil(self))
            }
            fn round(self) -> Self {
                defined!(self.round_ties_even())
            }
        }
    )+};
}

floats! {
    f32, libm::powf, [libm::sqrtf, libm::expf, libm::logf, libm::sinf, libm::cosf, libm::tanhf];
    f64, libm::pow, [libm::sqrt, libm::exp, libm::log, libm::sin, libm::cos, libm::tanh];
}
