//! What whole numbers can be at all: what is never out of range is not brought back into it.

use crate::{Loop, Op};
use plan::{Binary, DType, Unary};

/// The least and the most that a value can be.
pub(crate) type Range = (i128, i128);

/// What a dtype of whole numbers holds.
pub(crate) fn held(dtype: DType) -> Range {
    let bits = dtype.size() as u32 * 8;
    if dtype.is_signed() {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    } else {
        (0, (1_i128 << bits) - 1)
    }
}

/// A range that ends where another does.
pub(crate) fn limited((least, most): Range, (low, high): Range) -> Range {
    (least.clamp(low, high), most.clamp(low, high))
}

/// What the operation gives before it is brought into the range of its dtype: arithmetic of fewer
/// than 32 bits is done in 32, and wraps there. `known` are those of the operations before.
pub(crate) fn of(program: &Loop, (op, dtype): (Op, DType), known: &[Range]) -> Range {
    let held = held(if dtype.size() < 4 { DType::I32 } else { dtype });
    let range = match op {
        Op::Input(_) => return self::held(dtype),
        Op::Int(it) if dtype == DType::U64 => (i128::from(it as u64), i128::from(it as u64)),
        Op::Int(it) => (it.into(), it.into()),
        Op::Cast(a) if program.dtype(a).is_int() => return limited(known[a], self::held(dtype)),
        Op::Unary(op, a) => of_one(op, known[a]).unwrap_or(held),
        Op::Binary(op, a, b) => of_two(op, known[a], known[b]).unwrap_or(held),
        Op::Select(_, a, b) => (known[a].0.min(known[b].0), known[a].1.max(known[b].1)),
        Op::Cast(_) | Op::Float(_) => held,
    };
    // What wraps can be anything.
    if range.0 < held.0 || range.1 > held.1 { held } else { range }
}

fn of_one(op: Unary, (least, most): Range) -> Option<Range> {
    Some(match op {
        Unary::Neg => (-most, -least),
        Unary::Abs if least >= 0 => (least, most),
        Unary::Abs => (0, most.max(-least)),
        Unary::Floor | Unary::Ceil | Unary::Round => (least, most),
        _ => return None,
    })
}

fn of_two(op: Binary, a: Range, b: Range) -> Option<Range> {
    let by_ends = |f: fn(i128, i128) -> i128| {
        let ends = [f(a.0, b.0), f(a.0, b.1), f(a.1, b.0), f(a.1, b.1)];
        ends.iter().fold((ends[0], ends[0]), |all, &it| (all.0.min(it), all.1.max(it)))
    };
    Some(match op {
        Binary::Add => by_ends(|a, b| a + b),
        Binary::Sub => by_ends(|a, b| a - b),
        Binary::Mul => by_ends(i128::saturating_mul),
        Binary::Min => (a.0.min(b.0), a.1.min(b.1)),
        Binary::Max => (a.0.max(b.0), a.1.max(b.1)),
        // Only by constants.
        Binary::FloorDiv if b.0 == b.1 && b.0 > 0 => (a.0.div_euclid(b.0), a.1.div_euclid(b.0)),
        Binary::Rem if b.0 == b.1 && b.0 > 0 => (0, b.0 - 1),
        _ => return None,
    })
}
