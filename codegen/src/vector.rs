//! Values in vectors: which vectors hold a dtype, and what is asked of them again and again.

use cranelift_codegen::ir::{
    InstBuilder, MemFlagsData, Type, Value,
    condcodes::IntCC,
    types::{F32X4, F64X2, I8X16, I16X8, I32X4, I64X2},
};
use cranelift_frontend::FunctionBuilder;
use plan::DType;

/// How values of a dtype are held while they are computed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Truth: 32 ones or none.
    Mask,
    /// Whole numbers of up to 32 bits.
    W32,
    /// Whole numbers of 64 bits.
    W64,
    F32,
    F64,
}

/// The elements of one block, in order.
pub(crate) type Lanes = Vec<Value>;

impl Class {
    /// How `dtype` is held; text is not.
    pub(crate) fn of(dtype: DType) -> Option<Self> {
        Some(match dtype {
            DType::Bool => Self::Mask,
            DType::U8 | DType::U16 | DType::U32 | DType::I8 | DType::I16 | DType::I32 => Self::W32,
            DType::U64 | DType::I64 => Self::W64,
            DType::F16 | DType::BF16 | DType::F32 => Self::F32,
            DType::F64 => Self::F64,
            DType::Str | DType::Bytes => return None,
        })
    }

    /// The vector.
    pub(crate) fn ty(self) -> Type {
        match self {
            Self::Mask | Self::W32 => I32X4,
            Self::W64 => I64X2,
            Self::F32 => F32X4,
            Self::F64 => F64X2,
        }
    }

    /// Whether its elements have 64 bits.
    pub(crate) fn is_wide(self) -> bool {
        matches!(self, Self::W64 | Self::F64)
    }

    /// The vector of whole numbers of the same size.
    pub(crate) fn bits(self) -> Type {
        if self.is_wide() { I64X2 } else { I32X4 }
    }
}

/// Bits as another type: all code is for machines with the low byte first.
pub(crate) fn bitcast(build: &mut FunctionBuilder<'_>, to: Type, value: Value) -> Value {
    if build.func.dfg.value_type(value) == to {
        return value;
    }
    let flags = MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little);
    build.ins().bitcast(to, flags, value)
}

/// A vector whose elements all have the lowest bits of `bits`.
pub(crate) fn constant(build: &mut FunctionBuilder<'_>, ty: Type, bits: u64) -> Value {
    let bytes: Vec<u8> = if ty.lane_bits() == 64 {
        bits.to_le_bytes().repeat(2)
    } else {
        (bits as u32).to_le_bytes().repeat(4)
    };
    let pool = build.func.dfg.constants.insert(bytes.into());
    build.ins().vconst(ty, pool)
}

/// Bytes of two vectors in another order.
pub(crate) fn shuffled(build: &mut FunctionBuilder<'_>, ab: [Value; 2], order: [u8; 16]) -> Value {
    let [a, b] = ab.map(|it| bitcast(build, I8X16, it));
    let order = build.func.dfg.immediates.push(order.to_vec().into());
    build.ins().shuffle(a, b, order)
}

/// Two masks of 64 bits as one of 32.
pub(crate) fn narrow_pairs(build: &mut FunctionBuilder<'_>, wide: &[Value]) -> Lanes {
    let order = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
    let pairs = wide.as_chunks::<2>().0;
    pairs
        .iter()
        .map(|&ab| {
            let all = shuffled(build, ab, order);
            bitcast(build, I32X4, all)
        })
        .collect()
}

/// Numbers of 32 bits as such of 64.
pub(crate) fn widened(build: &mut FunctionBuilder<'_>, narrow: &[Value], signed: bool) -> Lanes {
    let mut wide = Vec::with_capacity(narrow.len() * 2);
    for &it in narrow {
        wide.push(if signed { build.ins().swiden_low(it) } else { build.ins().uwiden_low(it) });
        wide.push(if signed { build.ins().swiden_high(it) } else { build.ins().uwiden_high(it) });
    }
    wide
}

/// Numbers of 16 bits as such of 32.
pub(crate) fn halves(build: &mut FunctionBuilder<'_>, it: Value, signed: bool) -> [Value; 2] {
    debug_assert!([I16X8, I8X16].contains(&build.func.dfg.value_type(it)));
    if signed {
        [build.ins().swiden_low(it), build.ins().swiden_high(it)]
    } else {
        [build.ins().uwiden_low(it), build.ins().uwiden_high(it)]
    }
}

/// Not beyond `limit`: the smaller where `cc` says less, the larger where it says greater.
pub(crate) fn limited(
    build: &mut FunctionBuilder<'_>,
    cc: IntCC,
    it: Value,
    limit: Value,
) -> Value {
    let ty = build.func.dfg.value_type(it);
    if ty == I64X2 {
        let keeps = build.ins().icmp(cc, it, limit);
        return build.ins().bitselect(keeps, it, limit);
    }
    match cc {
        IntCC::SignedLessThan => build.ins().smin(it, limit),
        IntCC::SignedGreaterThan => build.ins().smax(it, limit),
        IntCC::UnsignedLessThan => build.ins().umin(it, limit),
        _ => build.ins().umax(it, limit),
    }
}

/// The elements of a vector, one by one through `f`, in a vector of the type `to`.
pub(crate) fn one_by_one(
    build: &mut FunctionBuilder<'_>,
    to: Type,
    from: &[Value],
    mut f: impl FnMut(&mut FunctionBuilder<'_>, Value) -> Value,
) -> Lanes {
    let mut scalars = Vec::new();
    for &vector in from {
        for lane in 0..build.func.dfg.value_type(vector).lane_count() as u8 {
            let one = build.ins().extractlane(vector, lane);
            scalars.push(f(build, one));
        }
    }
    gathered(build, to, &scalars)
}

/// Single elements as vectors.
pub(crate) fn gathered(build: &mut FunctionBuilder<'_>, to: Type, scalars: &[Value]) -> Lanes {
    let each = scalars.chunks_exact(to.lane_count() as usize);
    each.map(|lanes| {
        let first = build.ins().scalar_to_vector(to, lanes[0]);
        let rest = lanes.iter().zip(0_u8..).skip(1);
        rest.fold(first, |all, (&it, lane)| build.ins().insertlane(all, it, lane))
    })
    .collect()
}
