//! Arithmetic on what is known while compiling, with units.

use super::{
    Val,
    value::{Known, Number, Size, Unit},
};
use crate::ast::{BinaryOp, CompareOp};

/// Why two known values cannot be reckoned with.
pub(crate) enum Refusal {
    /// Their units do not fit.
    Units(Unit, Unit),
    /// It is out of range, or divided by zero.
    Range(&'static str),
    /// They are not numbers.
    Kind,
}

/// `a op b`.
pub(crate) fn binary(op: BinaryOp, a: &Known, b: &Known) -> Result<Val, Refusal> {
    match (op, a, b) {
        (BinaryOp::And, Known::Bool(a), Known::Bool(b)) => Ok(Val::Known(Known::Bool(*a && *b))),
        (BinaryOp::Or, Known::Bool(a), Known::Bool(b)) => Ok(Val::Known(Known::Bool(*a || *b))),
        (BinaryOp::Add, Known::Text(a), Known::Text(b)) => Ok(Val::text(format!("{a}{b}"))),
        (_, Known::Number(a), Known::Number(b)) => {
            let unit = unit(op, a.unit, b.unit)?;
            let size = match (a.size, b.size) {
                (Size::Int(a), Size::Int(b)) => ints(op, a, b)?,
                _ => floats(op, a.as_f64(), b.as_f64())?,
            };
            Ok(Val::Known(Known::Number(Number { size, unit })))
        }
        _ => Err(Refusal::Kind),
    }
}

fn unit(op: BinaryOp, a: Unit, b: Unit) -> Result<Unit, Refusal> {
    match op {
        BinaryOp::Mul => Ok(a.times(b, 1)),
        BinaryOp::Div | BinaryOp::FloorDiv => Ok(a.times(b, -1)),
        BinaryOp::Pow if a == Unit::NONE && b == Unit::NONE => Ok(a),
        BinaryOp::Pow => Err(Refusal::Units(a, b)),
        _ if a == b => Ok(a),
        _ => Err(Refusal::Units(a, b)),
    }
}

fn ints(op: BinaryOp, a: i64, b: i64) -> Result<Size, Refusal> {
    const ZERO: Refusal = Refusal::Range("division by zero");
    let exact = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Div if b == 0 => return Err(ZERO),
        BinaryOp::Div => return Ok(Size::Float(a as f64 / b as f64)),
        BinaryOp::FloorDiv | BinaryOp::Rem if b == 0 => return Err(ZERO),
        BinaryOp::FloorDiv => {
            a.checked_div(b).map(|it| it - i64::from(a % b != 0 && (a < 0) != (b < 0)))
        }
        BinaryOp::Rem => {
            a.checked_rem(b).map(|it| if it != 0 && (it < 0) != (b < 0) { it + b } else { it })
        }
        BinaryOp::Pow if b < 0 => return floats(op, a as f64, b as f64),
        BinaryOp::Pow => u32::try_from(b).ok().and_then(|it| a.checked_pow(it)),
        BinaryOp::And | BinaryOp::Or => return Err(Refusal::Kind),
    };
    exact.map(Size::Int).ok_or(Refusal::Range("the result does not fit into 64 bits"))
}

fn floats(op: BinaryOp, a: f64, b: f64) -> Result<Size, Refusal> {
    let value = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        BinaryOp::FloorDiv => (a / b).floor(),
        BinaryOp::Rem => a - b * (a / b).floor(),
        BinaryOp::Pow => a.powf(b),
        BinaryOp::And | BinaryOp::Or => return Err(Refusal::Kind),
    };
    if value.is_finite() {
        Ok(Size::Float(value))
    } else {
        Err(Refusal::Range("the result is not finite"))
    }
}

/// `a op b`, where they can be compared.
pub(crate) fn compare(op: CompareOp, a: &Known, b: &Known) -> Result<bool, Refusal> {
    let order = match (a, b) {
        (Known::Number(a), Known::Number(b)) if a.unit != b.unit => {
            return Err(Refusal::Units(a.unit, b.unit));
        }
        (Known::Number(a), Known::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
        (Known::Text(a) | Known::Word(a), Known::Text(b) | Known::Word(b)) => Some(a.cmp(b)),
        (Known::Bool(a), Known::Bool(b)) => Some(a.cmp(b)),
        _ => None,
    };
    let order = order.ok_or(Refusal::Kind)?;
    Ok(match op {
        CompareOp::Eq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
        CompareOp::Lt => order.is_lt(),
        CompareOp::Le => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::Ge => order.is_ge(),
    })
}
