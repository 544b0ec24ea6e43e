//! From one dtype to another: to integers towards zero, out of range to the nearest.

use crate::{
    half::{is_half, quiet, rounded},
    range::{self, Range},
    vector::{
        Class, Lanes, bitcast, constant, gathered, limited, narrow_pairs, one_by_one, shuffled,
        widened,
    },
};
use cranelift_codegen::ir::{
    InstBuilder, Value,
    condcodes::{FloatCC, IntCC},
    types::{F32, F32X4, F64X2, I32, I32X4, I64, I64X2},
};
use cranelift_frontend::FunctionBuilder;
use plan::DType;

/// The values `lanes` of the dtype `from`, which lie in `given` where they are whole, in the dtype `to`.
pub(crate) fn cast(
    build: &mut FunctionBuilder<'_>,
    ((from, given), to): ((DType, Range), DType),
    lanes: &[Value],
) -> Lanes {
    if from == to {
        return lanes.to_vec();
    }
    let floats;
    let lanes = if is_half(from) {
        floats = quiet(build, lanes);
        &floats
    } else {
        lanes
    };
    let all = between(build, ((from, given), to), lanes);
    if is_half(to) { rounded(build, to, &all) } else { all }
}

/// The same, but that half floats are not rounded to.
fn between(
    build: &mut FunctionBuilder<'_>,
    ((from, given), to): ((DType, Range), DType),
    lanes: &[Value],
) -> Lanes {
    let classes = (class(from), class(to));
    match classes {
        (Class::F32, Class::F32) => lanes.to_vec(),
        (Class::Mask, to) => of_mask(build, to, lanes),
        (_, Class::Mask) => to_mask(build, classes.0, lanes),
        (Class::W32 | Class::W64, Class::W32 | Class::W64) => {
            whole(build, ((from, given), to), lanes)
        }
        (Class::W32 | Class::W64, _) => to_float(build, (from, classes.1), lanes),
        (_, Class::W32 | Class::W64) => to_whole(build, (classes.0, to), lanes),
        (Class::F32, _) => promoted(build, lanes),
        _ => demoted(build, lanes),
    }
}

fn class(dtype: DType) -> Class {
    Class::of(dtype).expect("only what has vectors is compiled")
}

/// One for what is true.
fn of_mask(build: &mut FunctionBuilder<'_>, to: Class, lanes: &[Value]) -> Lanes {
    let one = match to {
        Class::Mask | Class::W32 | Class::W64 => 1,
        Class::F32 => u64::from(1_f32.to_bits()),
        Class::F64 => 1_f64.to_bits(),
    };
    let masks = if to.is_wide() { widened(build, lanes, true) } else { lanes.to_vec() };
    let one = constant(build, to.bits(), one);
    let kept: Lanes = masks.into_iter().map(|it| build.ins().band(it, one)).collect();
    kept.into_iter().map(|it| bitcast(build, to.ty(), it)).collect()
}

/// Whether it is not zero.
fn to_mask(build: &mut FunctionBuilder<'_>, from: Class, lanes: &[Value]) -> Lanes {
    let zero = constant(build, from.ty(), 0);
    let is_float = matches!(from, Class::F32 | Class::F64);
    let masks: Lanes = lanes
        .iter()
        .map(|&it| {
            if is_float {
                build.ins().fcmp(FloatCC::NotEqual, it, zero)
            } else {
                build.ins().icmp(IntCC::NotEqual, it, zero)
            }
        })
        .collect();
    if from.is_wide() { narrow_pairs(build, &masks) } else { masks }
}

/// Whole numbers, out of range to the nearest.
fn whole(
    build: &mut FunctionBuilder<'_>,
    ((from, given), to): ((DType, Range), DType),
    lanes: &[Value],
) -> Lanes {
    let limited = within(build, (from, given), range::held(to), lanes);
    match (class(from).is_wide(), class(to).is_wide()) {
        (false, true) => widened(build, &limited, from.is_signed()),
        (true, false) => narrow_pairs(build, &limited),
        _ => limited,
    }
}

/// Numbers that are held as those of the dtype `from`, and lie in `given`, no further than `to`.
pub(crate) fn within(
    build: &mut FunctionBuilder<'_>,
    (from, given): (DType, Range),
    to: Range,
    lanes: &[Value],
) -> Lanes {
    let ty = class(from).ty();
    let (less, greater) = if from.is_signed() {
        (IntCC::SignedLessThan, IntCC::SignedGreaterThan)
    } else {
        (IntCC::UnsignedLessThan, IntCC::UnsignedGreaterThan)
    };
    let mut all = lanes.to_vec();
    if to.0 > given.0 {
        let low = constant(build, ty, to.0 as u64);
        all.iter_mut().for_each(|it| *it = limited(build, greater, *it, low));
    }
    if to.1 < given.1 {
        let high = constant(build, ty, to.1 as u64);
        all.iter_mut().for_each(|it| *it = limited(build, less, *it, high));
    }
    all
}

fn to_float(build: &mut FunctionBuilder<'_>, (from, to): (DType, Class), lanes: &[Value]) -> Lanes {
    // What has fewer than 32 bits is never below zero where it has no sign.
    let unsigned = matches!(from, DType::U32 | DType::U64);
    let wide = match (class(from), to) {
        (Class::W32, Class::F64) => widened(build, lanes, !unsigned),
        (Class::W64, Class::F32) => {
            return one_by_one(build, F32X4, lanes, |build, it| {
                if unsigned {
                    build.ins().fcvt_from_uint(F32, it)
                } else {
                    build.ins().fcvt_from_sint(F32, it)
                }
            });
        }
        _ => lanes.to_vec(),
    };
    wide.into_iter()
        .map(|it| {
            if unsigned {
                build.ins().fcvt_from_uint(to.ty(), it)
            } else {
                build.ins().fcvt_from_sint(to.ty(), it)
            }
        })
        .collect()
}

fn to_whole(build: &mut FunctionBuilder<'_>, (from, to): (Class, DType), lanes: &[Value]) -> Lanes {
    let unsigned = matches!(to, DType::U32 | DType::U64);
    let (ty, one) = if class(to).is_wide() { (I64X2, I64) } else { (I32X4, I32) };
    let whole = if (from, ty) == (Class::F32, I32X4) {
        let each = lanes.iter().map(|&it| {
            if unsigned {
                build.ins().fcvt_to_uint_sat(I32X4, it)
            } else {
                build.ins().fcvt_to_sint_sat(I32X4, it)
            }
        });
        each.collect()
    } else {
        one_by_one(build, ty, lanes, |build, it| {
            if unsigned {
                build.ins().fcvt_to_uint_sat(one, it)
            } else {
                build.ins().fcvt_to_sint_sat(one, it)
            }
        })
    };
    if to.size() < 4 {
        within(build, (DType::I32, range::held(DType::I32)), range::held(to), &whole)
    } else {
        whole
    }
}

fn promoted(build: &mut FunctionBuilder<'_>, lanes: &[Value]) -> Lanes {
    let upper = [8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut wide = Vec::with_capacity(lanes.len() * 2);
    for &it in lanes {
        wide.push(build.ins().fvpromote_low(it));
        let high = shuffled(build, [it, it], upper);
        let high = bitcast(build, F32X4, high);
        wide.push(build.ins().fvpromote_low(high));
    }
    wide
}

fn demoted(build: &mut FunctionBuilder<'_>, lanes: &[Value]) -> Lanes {
    debug_assert!(lanes.iter().all(|&it| build.func.dfg.value_type(it) == F64X2));
    let lower = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];
    let pairs = lanes.as_chunks::<2>().0;
    pairs
        .iter()
        .map(|&[a, b]| {
            let ab = [build.ins().fvdemote(a), build.ins().fvdemote(b)];
            let all = shuffled(build, ab, lower);
            bitcast(build, F32X4, all)
        })
        .collect()
}

/// Quotients of whole numbers by a constant, towards zero; not by 0 or -1.
pub(crate) fn quotients(
    build: &mut FunctionBuilder<'_>,
    (dtype, divisor): (DType, i64),
    lanes: &[Value],
) -> Lanes {
    let class = class(dtype);
    let one = class.ty().lane_type();
    let by = build.ins().iconst(one, if class.is_wide() { divisor } else { divisor & 0xffff_ffff });
    let unsigned = matches!(dtype, DType::U32 | DType::U64);
    let mut scalars = Vec::new();
    for &vector in lanes {
        for lane in 0..class.ty().lane_count() as u8 {
            let it = build.ins().extractlane(vector, lane);
            scalars.push(if unsigned {
                build.ins().udiv(it, by)
            } else {
                build.ins().sdiv(it, by)
            });
        }
    }
    gathered(build, class.ty(), &scalars)
}
