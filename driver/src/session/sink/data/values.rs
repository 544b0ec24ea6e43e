//! The elements of a value, as formats hold them.

use plan::DType;
use runtime::Tensor;
use std::borrow::Cow;

/// The bytes of the elements in C order.
pub(in crate::session::sink) fn bytes<'a>(value: &Tensor<'a>) -> Cow<'a, [u8]> {
    value.as_bytes().map_or_else(
        || {
            let mut bytes = vec![0; value.bytes()];
            value.copy_to(&mut bytes);
            bytes.into()
        },
        Cow::Borrowed,
    )
}

macro_rules! elements {
    ($ty:ty, $bytes:expr) => {
        $bytes
            .chunks_exact(size_of::<$ty>())
            .map(|it| <$ty>::from_ne_bytes(it.try_into().unwrap_or_default()))
    };
}

/// Numbers as formats tell them apart.
pub(super) enum Numbers {
    Bool(Vec<bool>),
    Int(Vec<i64>),
    /// Those that may be too large for the others.
    Unsigned(Vec<u64>),
    /// 16 bits become 32, which is exact.
    Float(Vec<f32>),
    Double(Vec<f64>),
}

/// The elements; texts have none.
pub(super) fn numbers(value: &Tensor<'_>) -> Numbers {
    let bytes = bytes(value);
    match value.dtype() {
        DType::Bool => Numbers::Bool(bytes.iter().map(|it| *it != 0).collect()),
        DType::U8 => Numbers::Int(bytes.iter().map(|it| i64::from(*it)).collect()),
        DType::U16 => Numbers::Int(elements!(u16, bytes).map(i64::from).collect()),
        DType::U32 => Numbers::Int(elements!(u32, bytes).map(i64::from).collect()),
        DType::U64 => Numbers::Unsigned(elements!(u64, bytes).collect()),
        DType::I8 => Numbers::Int(elements!(i8, bytes).map(i64::from).collect()),
        DType::I16 => Numbers::Int(elements!(i16, bytes).map(i64::from).collect()),
        DType::I32 => Numbers::Int(elements!(i32, bytes).map(i64::from).collect()),
        DType::I64 => Numbers::Int(elements!(i64, bytes).collect()),
        DType::F16 => Numbers::Float(elements!(half::f16, bytes).map(f32::from).collect()),
        DType::BF16 => Numbers::Float(elements!(half::bf16, bytes).map(f32::from).collect()),
        DType::F32 => Numbers::Float(elements!(f32, bytes).collect()),
        DType::F64 => Numbers::Double(elements!(f64, bytes).collect()),
        DType::Str | DType::Bytes => Numbers::Int(Vec::new()),
    }
}
