//! Half floats: in memory 16 bits, in vectors floats of 32 that are rounded after each operation.
//!
//! One operation in 32 bits, then rounded, gives what one in 16 bits would: that is how the evaluator
//! does it too. Conversions are done with whole numbers and one product or sum, all of them exact or
//! rounded once, so they give the same bits on every machine.

use crate::vector::{Lanes, bitcast, constant};
use cranelift_codegen::ir::{
    InstBuilder, Value,
    condcodes::IntCC,
    types::{F32X4, I32X4},
};
use cranelift_frontend::FunctionBuilder;
use plan::DType;

/// The bits of a float but its sign, and those of what is infinite.
const MAGNITUDE: u64 = 0x7fff_ffff;
const INFINITE: u64 = 0x7f80_0000;
/// The bit that tells a NaN that raises nothing.
const QUIET: u64 = 0x0040_0000;
/// 2^112, 2^-112: between the exponents of floats of 32 bits and of 16.
const UP: u64 = 0x7780_0000;
const DOWN: u64 = 0x0780_0000;

/// Whether it is held as a float of 32 bits, and is none.
pub(crate) fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// Vectors of whole numbers, with constants and bits at hand.
struct Bits<'a, 'b>(&'a mut FunctionBuilder<'b>);

impl Bits<'_, '_> {
    fn of(&mut self, it: Value) -> Value {
        bitcast(self.0, I32X4, it)
    }

    fn float(&mut self, it: Value) -> Value {
        bitcast(self.0, F32X4, it)
    }

    fn and(&mut self, it: Value, mask: u64) -> Value {
        let mask = constant(self.0, I32X4, mask);
        self.0.ins().band(it, mask)
    }

    fn or(&mut self, it: Value, bits: u64) -> Value {
        let bits = constant(self.0, I32X4, bits);
        self.0.ins().bor(it, bits)
    }

    fn is(&mut self, cc: IntCC, it: Value, limit: u64) -> Value {
        let limit = constant(self.0, I32X4, limit);
        self.0.ins().icmp(cc, it, limit)
    }

    fn times(&mut self, it: Value, factor: u64) -> Value {
        let (it, factor) = (self.float(it), constant(self.0, F32X4, factor));
        let product = self.0.ins().fmul(it, factor);
        self.of(product)
    }

    /// To the nearest whose last `bits` bits are 0, halves to the even one.
    fn nearest(&mut self, it: Value, bits: u32) -> Value {
        let last = self.0.ins().ushr_imm_u(it, i64::from(bits));
        let last = self.and(last, 1);
        let half = constant(self.0, I32X4, (1 << (bits - 1)) - 1);
        let sum = self.0.ins().iadd(it, half);
        let sum = self.0.ins().iadd(sum, last);
        self.and(sum, !((1 << bits) - 1))
    }

    /// `nan` where `it` is one, else `other`.
    fn unless_nan(&mut self, it: Value, nan: Value, other: Value) -> Value {
        let magnitude = self.and(it, MAGNITUDE);
        let is_nan = self.is(IntCC::SignedGreaterThan, magnitude, INFINITE);
        self.0.ins().bitselect(is_nan, nan, other)
    }
}

/// What 16 bits are in 32; a NaN keeps all of its bits.
pub(crate) fn widen(build: &mut FunctionBuilder<'_>, dtype: DType, lanes: &[Value]) -> Lanes {
    let mut bits = Bits(build);
    let each = lanes.iter().map(|&it| {
        if dtype == DType::BF16 {
            let all = bits.0.ins().ishl_imm_u(it, 16);
            return bits.float(all);
        }
        let sign = bits.and(it, 0x8000);
        let sign = bits.0.ins().ishl_imm_u(sign, 16);
        let rest = bits.and(it, 0x7fff);
        let rest = bits.0.ins().ishl_imm_u(rest, 13);
        let number = bits.times(rest, UP);
        let other = bits.or(rest, INFINITE);
        let is_other = bits.is(IntCC::SignedGreaterThanOrEqual, rest, 0x7c00 << 13);
        let rest = bits.0.ins().bitselect(is_other, other, number);
        let all = bits.0.ins().bor(rest, sign);
        bits.float(all)
    });
    each.collect()
}

/// The 16 bits of what was rounded to them before; a NaN keeps what there is of its bits.
pub(crate) fn narrow(build: &mut FunctionBuilder<'_>, dtype: DType, lanes: &[Value]) -> Lanes {
    let mut bits = Bits(build);
    let each = lanes.iter().map(|&it| {
        let it = bits.of(it);
        let upper = bits.0.ins().ushr_imm_u(it, 16);
        if dtype == DType::BF16 {
            return upper;
        }
        let sign = bits.and(upper, 0x8000);
        let rest = bits.and(it, MAGNITUDE);
        let number = bits.times(rest, DOWN);
        let number = bits.0.ins().ushr_imm_u(number, 13);
        let other = bits.0.ins().ushr_imm_u(rest, 13);
        let other = bits.and(other, 0x3ff);
        let other = bits.or(other, 0x7c00);
        let is_other = bits.is(IntCC::SignedGreaterThanOrEqual, rest, INFINITE);
        let rest = bits.0.ins().bitselect(is_other, other, number);
        bits.0.ins().bor(rest, sign)
    });
    each.collect()
}

/// The nearest that 16 bits can say; a NaN becomes a quiet one.
pub(crate) fn rounded(build: &mut FunctionBuilder<'_>, dtype: DType, lanes: &[Value]) -> Lanes {
    let mut bits = Bits(build);
    let each = lanes.iter().map(|&float| {
        let it = bits.of(float);
        let nan = bits.or(it, QUIET);
        if dtype == DType::BF16 {
            let nan = bits.and(nan, 0xffff_0000);
            let number = bits.nearest(it, 16);
            let all = bits.unless_nan(it, nan, number);
            return bits.float(all);
        }
        let nan = bits.and(nan, 0xffff_e000);
        let sign = bits.and(it, 0x8000_0000);
        let rest = bits.and(it, MAGNITUDE);
        // Beyond the largest is infinite; what is below the least exponent has steps of 2^-24, as
        // have the floats next to 0.5.
        let number = bits.nearest(rest, 13);
        let infinite = constant(bits.0, I32X4, INFINITE);
        let is_beyond = bits.is(IntCC::SignedGreaterThanOrEqual, number, 0x4780_0000);
        let number = bits.0.ins().bitselect(is_beyond, infinite, number);
        let half = constant(bits.0, F32X4, u64::from(0.5_f32.to_bits()));
        let small = bits.float(rest);
        let small = bits.0.ins().fadd(small, half);
        let small = bits.0.ins().fsub(small, half);
        let small = bits.of(small);
        let is_small = bits.is(IntCC::SignedLessThan, rest, 0x3880_0000);
        let number = bits.0.ins().bitselect(is_small, small, number);
        let number = bits.0.ins().bor(number, sign);
        let all = bits.unless_nan(it, nan, number);
        bits.float(all)
    });
    each.collect()
}

/// The same with every NaN a quiet one, as any conversion leaves it.
pub(crate) fn quiet(build: &mut FunctionBuilder<'_>, lanes: &[Value]) -> Lanes {
    let mut bits = Bits(build);
    let each = lanes.iter().map(|&float| {
        let it = bits.of(float);
        let nan = bits.or(it, QUIET);
        let all = bits.unless_nan(it, nan, it);
        bits.float(all)
    });
    each.collect()
}
