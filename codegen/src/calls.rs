//! Functions that no instruction computes: the code calls them for all elements of a block.
//!
//! They are those that the evaluator calls, so they give the same bits. The code is handed a table
//! of them and calls by their numbers in it: no address is in the code, which may lie anywhere.

use crate::vector::Lanes;
use cranelift_codegen::{
    ir::{
        AbiParam, InstBuilder, MemFlagsData, SigRef, Signature, StackSlot, StackSlotData,
        StackSlotKind, Value, types::I64,
    },
    isa::TargetFrontendConfig,
};
use cranelift_frontend::FunctionBuilder;
use plan::{Binary, DType, Unary};
use std::slice;

/// Writes what becomes of `n` elements over those at `a`; a second operand lies at `b`.
pub(crate) type Call = unsafe extern "C" fn(a: *mut u8, b: *const u8, n: usize);

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Called {
    Unary(Unary),
    Binary(Binary),
}

/// Calls on one value.
macro_rules! of_one {
    ($name:ident, $ty:ty, $f:expr) => {
        /// # Safety
        /// At `a` lie `n` values, aligned, which nobody else uses.
        unsafe extern "C" fn $name(a: *mut u8, _: *const u8, n: usize) {
            // SAFETY: the caller has `n` of them there, to itself: a block of the code's own.
            let all = unsafe { slice::from_raw_parts_mut(a.cast::<$ty>(), n) };
            all.iter_mut().for_each(|it| *it = $f(*it));
        }
    };
}

/// Calls on two values.
macro_rules! of_two {
    ($name:ident, $ty:ty, $f:expr) => {
        /// # Safety
        /// At `a` and `b` lie `n` values each, aligned and apart; nobody else uses those at `a`, or
        /// writes those at `b`.
        unsafe extern "C" fn $name(a: *mut u8, b: *const u8, n: usize) {
            // SAFETY: the caller has `n` of them at both, apart: two blocks of the code's own.
            let (all, by) = unsafe {
                (
                    slice::from_raw_parts_mut(a.cast::<$ty>(), n),
                    slice::from_raw_parts(b.cast::<$ty>(), n),
                )
            };
            all.iter_mut().zip(by).for_each(|(it, by)| *it = $f(*it, *by));
        }
    };
}

/// The rest with the sign of the divisor.
macro_rules! rest {
    ($ty:ty) => {
        |a: $ty, b: $ty| {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        }
    };
}

/// Whole numbers wrap; to the power of less than nothing they are nothing.
macro_rules! power {
    ($ty:ty) => {
        |a: $ty, b: $ty| u32::try_from(b).map_or(0, |it| a.wrapping_pow(it))
    };
}

of_one!(exp_f32, f32, libm::expf);
of_one!(exp_f64, f64, libm::exp);
of_one!(log_f32, f32, libm::logf);
of_one!(log_f64, f64, libm::log);
of_one!(sin_f32, f32, libm::sinf);
of_one!(sin_f64, f64, libm::sin);
of_one!(cos_f32, f32, libm::cosf);
of_one!(cos_f64, f64, libm::cos);
of_one!(tanh_f32, f32, libm::tanhf);
of_one!(tanh_f64, f64, libm::tanh);
of_two!(pow_f32, f32, libm::powf);
of_two!(pow_f64, f64, libm::pow);
of_two!(rem_f32, f32, rest!(f32));
of_two!(rem_f64, f64, rest!(f64));
of_two!(pow_i32, i32, power!(i32));
of_two!(pow_u32, u32, power!(u32));
of_two!(pow_i64, i64, power!(i64));
of_two!(pow_u64, u64, power!(u64));

/// All of them. What the code calls is a row of this: whoever changes their order raises
/// [`crate::FORM`].
const FUNCTIONS: [(Called, DType, Call); 18] = [
    (Called::Unary(Unary::Exp), DType::F32, exp_f32),
    (Called::Unary(Unary::Exp), DType::F64, exp_f64),
    (Called::Unary(Unary::Log), DType::F32, log_f32),
    (Called::Unary(Unary::Log), DType::F64, log_f64),
    (Called::Unary(Unary::Sin), DType::F32, sin_f32),
    (Called::Unary(Unary::Sin), DType::F64, sin_f64),
    (Called::Unary(Unary::Cos), DType::F32, cos_f32),
    (Called::Unary(Unary::Cos), DType::F64, cos_f64),
    (Called::Unary(Unary::Tanh), DType::F32, tanh_f32),
    (Called::Unary(Unary::Tanh), DType::F64, tanh_f64),
    (Called::Binary(Binary::Pow), DType::F32, pow_f32),
    (Called::Binary(Binary::Pow), DType::F64, pow_f64),
    (Called::Binary(Binary::Rem), DType::F32, rem_f32),
    (Called::Binary(Binary::Rem), DType::F64, rem_f64),
    (Called::Binary(Binary::Pow), DType::I32, pow_i32),
    (Called::Binary(Binary::Pow), DType::U32, pow_u32),
    (Called::Binary(Binary::Pow), DType::I64, pow_i64),
    (Called::Binary(Binary::Pow), DType::U64, pow_u64),
];

/// What the code is handed.
pub(crate) static TABLE: [Call; FUNCTIONS.len()] = {
    let mut table = [FUNCTIONS[0].2; FUNCTIONS.len()];
    let mut i = 0;
    while i < table.len() {
        table[i] = FUNCTIONS[i].2;
        i += 1;
    }
    table
};

/// The number of a function of values of `dtype` in the table; none where it is not called.
pub(crate) fn number(function: Called, dtype: DType) -> Option<usize> {
    let held = match dtype {
        DType::U8 | DType::U16 | DType::I8 | DType::I16 => DType::I32,
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    };
    FUNCTIONS.iter().position(|it| (it.0, it.1) == (function, held))
}

/// How the code calls: room for the operands of one call, which is that of all of them.
pub(crate) struct Calling {
    table: Value,
    signature: SigRef,
    rooms: [StackSlot; 2],
}

/// Bytes of the largest block: sixteen of 32 bits, or eight of 64.
const ROOM: u32 = 64;

impl Calling {
    /// `table` is where the functions are found.
    pub(crate) fn new(
        build: &mut FunctionBuilder<'_>,
        table: Value,
        config: TargetFrontendConfig,
    ) -> Self {
        let mut signature = Signature::new(config.default_call_conv);
        signature.params = vec![AbiParam::new(I64); 3];
        let signature = build.import_signature(signature);
        let room = StackSlotData::new(StackSlotKind::ExplicitSlot, ROOM, 4);
        let rooms = [(); 2].map(|()| build.create_sized_stack_slot(room.clone()));
        Self { table, signature, rooms }
    }

    /// The function of that number of one block, and of another where it takes two.
    pub(crate) fn call(
        &self,
        build: &mut FunctionBuilder<'_>,
        number: usize,
        operands: &[&[Value]],
    ) -> Lanes {
        for (lanes, &room) in operands.iter().zip(&self.rooms) {
            for (&lane, i) in lanes.iter().zip(0..) {
                build.ins().stack_store(I64, lane, room, i * 16);
            }
        }
        let ty = build.func.dfg.value_type(operands[0][0]);
        let n = operands[0].len() as u32 * ty.lane_count();
        debug_assert!(n * ty.lane_bits() / 8 <= ROOM, "a block of {n} is too large");
        let flags = MemFlagsData::trusted().with_readonly();
        let offset = (number * size_of::<Call>()) as i32;
        let function = build.ins().load(I64, flags, self.table, offset);
        let [a, b] = self.rooms.map(|it| build.ins().stack_addr(I64, it, 0));
        let n = build.ins().iconst(I64, i64::from(n));
        build.ins().call_indirect(self.signature, function, &[a, b, n]);
        let lanes = (0..operands[0].len() as i32).map(|i| i * 16);
        lanes.map(|at| build.ins().stack_load(I64, ty, self.rooms[0], at)).collect()
    }
}
