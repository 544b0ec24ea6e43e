//! Functions on tensors and numbers of any kind.

mod all;
mod any;
mod arange;
mod argmax;
mod argmin;
mod arithmetic;
mod best;
mod bucketize;
mod busy;
mod casts;
mod concat;
mod cumsum;
mod expand;
mod extent;
mod full;
mod gather;
mod join;
mod len;
mod maximum;
mod mean;
mod minimum;
mod numbers;
mod one_hot;
mod prod;
mod reduce;
mod reshape;
mod select;
mod shape;
pub(crate) mod shapes;
pub(crate) mod slice;
mod stack;
mod sum;
mod take_at;
mod transpose;
#[cfg(test)]
pub(crate) mod trial;

pub(crate) use numbers::{by_dtype, by_int, packed};
pub(crate) use shapes::tensor_of;
pub(crate) use slice::Bounds;

use crate::Function;

/// All of them.
pub(crate) static ALL: &[&Function] = &[
    // Computed by the expression language itself.
    &arithmetic::ABS,
    &arithmetic::SQRT,
    &arithmetic::EXP,
    &arithmetic::LOG,
    &arithmetic::SIN,
    &arithmetic::COS,
    &arithmetic::TANH,
    &arithmetic::FLOOR,
    &arithmetic::CEIL,
    &arithmetic::ROUND,
    &arithmetic::MIN,
    &arithmetic::MAX,
    &arithmetic::POW,
    &casts::BOOL,
    &casts::U8,
    &casts::U16,
    &casts::U32,
    &casts::U64,
    &casts::I8,
    &casts::I16,
    &casts::I32,
    &casts::I64,
    &casts::F16,
    &casts::BF16,
    &casts::F32,
    &casts::F64,
    // Work of a known cost.
    &busy::ENTRY,
    // Reductions.
    &all::ENTRY,
    &any::ENTRY,
    &argmax::ENTRY,
    &argmin::ENTRY,
    &cumsum::ENTRY,
    &maximum::ENTRY,
    &mean::ENTRY,
    &minimum::ENTRY,
    &prod::ENTRY,
    &sum::ENTRY,
    // Extents, parts and wholes.
    &arange::ENTRY,
    &bucketize::ENTRY,
    &concat::ENTRY,
    &expand::ENTRY,
    &extent::ENTRY,
    &full::ENTRY,
    &gather::ENTRY,
    &len::ENTRY,
    &one_hot::ENTRY,
    &reshape::ENTRY,
    &select::ENTRY,
    &shape::ENTRY,
    &slice::ENTRY,
    &stack::ENTRY,
    &take_at::ENTRY,
    &transpose::ENTRY,
];
