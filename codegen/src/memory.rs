//! Blocks of elements between memory and vectors.

use crate::{
    Layout,
    half::{is_half, narrow, widen},
    vector::{Class, Lanes, bitcast, constant, gathered, halves},
};
use cranelift_codegen::ir::{
    InstBuilder, MemFlagsData, Type, Value,
    condcodes::IntCC,
    types::{F32, F64, I8, I8X16, I16, I16X8, I32, I32X4, I64, I64X2},
};
use cranelift_frontend::FunctionBuilder;
use plan::DType;

/// Where a block of an operand begins, and how its elements lie.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    pub(crate) at: Value,
    pub(crate) step: Value,
    pub(crate) layout: Layout,
}

/// Nothing is said about alignment: rows of batches begin anywhere.
fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// The elements of one block.
pub(crate) fn load(
    build: &mut FunctionBuilder<'_>,
    (dtype, class): (DType, Class),
    cursor: Cursor,
    block: usize,
) -> Lanes {
    // Half floats are whole numbers until they are all there.
    let ty = if is_half(dtype) { I32X4 } else { class.ty() };
    let loaded = match cursor.layout {
        Layout::Dense => dense(build, dtype, ty, (cursor.at, block)),
        Layout::Strided => {
            let mut at = cursor.at;
            let mut scalars = Vec::with_capacity(block);
            for i in 0..block {
                if i > 0 {
                    at = build.ins().iadd(at, cursor.step);
                }
                scalars.push(scalar(build, dtype, at));
            }
            gathered(build, ty, &scalars)
        }
        Layout::Same => {
            let one = scalar(build, dtype, cursor.at);
            let all = build.ins().splat(ty, one);
            vec![all; block / ty.lane_count() as usize]
        }
    };
    match class {
        Class::Mask => truths(build, &loaded),
        _ if is_half(dtype) => widen(build, dtype, &loaded),
        _ => loaded,
    }
}

/// What is not nothing, as masks.
fn truths(build: &mut FunctionBuilder<'_>, all: &[Value]) -> Lanes {
    let nothing = constant(build, I32X4, 0);
    all.iter().map(|&it| build.ins().icmp(IntCC::NotEqual, it, nothing)).collect()
}

fn scalar(build: &mut FunctionBuilder<'_>, dtype: DType, at: Value) -> Value {
    match dtype {
        DType::Bool | DType::U8 => build.ins().uload8(I32, flags(), at, 0),
        DType::I8 => build.ins().sload8(I32, flags(), at, 0),
        DType::U16 | DType::F16 | DType::BF16 => build.ins().uload16(I32, flags(), at, 0),
        DType::I16 => build.ins().sload16(I32, flags(), at, 0),
        DType::F32 => build.ins().load(F32, flags(), at, 0),
        DType::F64 => build.ins().load(F64, flags(), at, 0),
        DType::U64 | DType::I64 => build.ins().load(I64, flags(), at, 0),
        _ => build.ins().load(I32, flags(), at, 0),
    }
}

fn dense(
    build: &mut FunctionBuilder<'_>,
    dtype: DType,
    ty: Type,
    (at, block): (Value, usize),
) -> Lanes {
    let signed = dtype.is_signed() && !is_half(dtype);
    let vectors = |build: &mut FunctionBuilder<'_>, ty: Type, n: usize| -> Lanes {
        (0..n as i32).map(|i| build.ins().load(ty, flags(), at, i * 16)).collect()
    };
    match dtype.size() {
        1 if block == 16 => {
            let bytes = build.ins().load(I8X16, flags(), at, 0);
            let words = halves(build, bytes, signed);
            words.into_iter().flat_map(|it| halves(build, it, signed)).collect()
        }
        1 => {
            let words = if signed {
                build.ins().sload8x8(flags(), at, 0)
            } else {
                build.ins().uload8x8(flags(), at, 0)
            };
            halves(build, words, signed).to_vec()
        }
        2 => {
            let words = vectors(build, I16X8, block / 8);
            words.into_iter().flat_map(|it| halves(build, it, signed)).collect()
        }
        size => vectors(build, ty, block * size / 16),
    }
}

/// Writes the elements of one block.
pub(crate) fn store(
    build: &mut FunctionBuilder<'_>,
    (dtype, lanes): (DType, &[Value]),
    cursor: Cursor,
) {
    let halves = if is_half(dtype) { narrow(build, dtype, lanes) } else { Vec::new() };
    let lanes = if is_half(dtype) { &halves } else { lanes };
    if cursor.layout == Layout::Strided {
        return scattered(build, dtype, lanes, cursor);
    }
    match dtype.size() {
        1 => {
            let packed = bytes(build, dtype, lanes);
            write_packed(build, &packed, lanes.len() * 4, cursor.at);
        }
        2 => {
            let words = words(build, dtype, lanes);
            for (&it, i) in words.iter().zip(0..) {
                build.ins().store(flags(), it, cursor.at, i * 16);
            }
        }
        _ => {
            for (&it, i) in lanes.iter().zip(0..) {
                build.ins().store(flags(), it, cursor.at, i * 16);
            }
        }
    }
}

/// Sixteen bytes, or the first eight.
fn write_packed(build: &mut FunctionBuilder<'_>, packed: &[Value], block: usize, at: Value) {
    let all = packed[0];
    if block == 16 {
        build.ins().store(flags(), all, at, 0);
        return;
    }
    let pair = bitcast(build, I64X2, all);
    let half = build.ins().extractlane(pair, 0);
    build.ins().store(flags(), half, at, 0);
}

/// Numbers that fit into 16 bits, packed. What is packed is in range, so nothing is lost.
fn words(build: &mut FunctionBuilder<'_>, dtype: DType, lanes: &[Value]) -> Lanes {
    let pairs = lanes.as_chunks::<2>().0;
    let pack = |build: &mut FunctionBuilder<'_>, a, b| match dtype {
        DType::U16 | DType::F16 | DType::BF16 => build.ins().unarrow(a, b),
        _ => build.ins().snarrow(a, b),
    };
    pairs.iter().map(|&[a, b]| pack(build, a, b)).collect()
}

/// Numbers that fit into 8 bits, packed; of masks, 1 for what is true.
fn bytes(build: &mut FunctionBuilder<'_>, dtype: DType, lanes: &[Value]) -> Lanes {
    let words = words(build, DType::I16, lanes);
    let pairs = words.chunks(2).map(|it| [it[0], it[it.len() - 1]]);
    let packed: Lanes =
        pairs
            .map(|[a, b]| {
                if dtype == DType::U8 {
                    build.ins().unarrow(a, b)
                } else {
                    build.ins().snarrow(a, b)
                }
            })
            .collect();
    if dtype != DType::Bool {
        return packed;
    }
    let ones = constant(build, I32X4, 0x0101_0101);
    let ones = bitcast(build, I8X16, ones);
    packed.into_iter().map(|it| build.ins().band(it, ones)).collect()
}

fn scattered(build: &mut FunctionBuilder<'_>, dtype: DType, lanes: &[Value], cursor: Cursor) {
    let mut at = cursor.at;
    for (i, &vector) in lanes.iter().enumerate() {
        for lane in 0..build.func.dfg.value_type(vector).lane_count() as u8 {
            if i > 0 || lane > 0 {
                at = build.ins().iadd(at, cursor.step);
            }
            let one = build.ins().extractlane(vector, lane);
            let one = match dtype {
                DType::Bool => {
                    let byte = build.ins().ireduce(I8, one);
                    build.ins().band_imm_u(byte, 1)
                }
                DType::U8 | DType::I8 => build.ins().ireduce(I8, one),
                DType::U16 | DType::I16 | DType::F16 | DType::BF16 => build.ins().ireduce(I16, one),
                _ => one,
            };
            build.ins().store(flags(), one, at, 0);
        }
    }
}
