//! Arithmetic, comparison and logic on values of the record.

use super::{Checker, Known, Val, known, known::Refusal, library};
use crate::{
    ast::{BinaryOp, CompareOp, UnaryOp},
    errors::check as errors,
};
use plan::{Arg, Binary, DType, Expr, ExprId, Extent, Span, Type, Unary};

impl<'a> Checker<'a> {
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        (a, a_at): (&Val, Span),
        (b, b_at): (&Val, Span),
        at: Span,
    ) -> Val {
        match (a, b) {
            (Val::Broken, _) | (_, Val::Broken) => Val::Broken,
            (Val::Known(x), Val::Known(y)) => match known::binary(op, x, y) {
                Ok(val) => val,
                Err(refusal) => self.refuse(refusal, op.sign(), (a, b), a_at.to(b_at)),
            },
            // A list beside a sequence is a sequence that goes on: `ids + [EOS]`.
            (Val::List(_), other) | (other, Val::List(_))
                if op == BinaryOp::Add && self.is_sequence(other) =>
            {
                self.joined_lists((a, a_at), (b, b_at))
            }
            _ if op == BinaryOp::Add && self.is_text(a) && self.is_text(b) => {
                self.join_texts(&[a.clone(), b.clone()], at)
            }
            _ if matches!(op, BinaryOp::And | BinaryOp::Or) => self.logic(op, (a, a_at), (b, b_at)),
            _ => self.arithmetic(op, (a, a_at), (b, b_at)),
        }
    }

    fn refuse(&mut self, refusal: Refusal, sign: &str, (a, b): (&Val, &Val), at: Span) -> Val {
        let diagnostic = match refusal {
            Refusal::Units(a, b) => errors::units(a, b, at),
            Refusal::Range(why) => errors::not_evaluated(why, at),
            Refusal::Kind => errors::no_arithmetic(sign, a.kind(), b.kind(), at),
        };
        self.report(diagnostic)
    }

    fn is_text(&self, val: &Val) -> bool {
        self.dtype(val) == Some(DType::Str)
    }

    /// Whether it is a list, or a tensor of one axis whose length the type does not tell.
    fn is_sequence(&self, val: &Val) -> bool {
        match val {
            Val::List(_) => true,
            Val::Expr(id) => {
                matches!(self.ty(*id).shape(), Some([Extent::Unknown | Extent::Named(_)]))
            }
            _ => false,
        }
    }

    fn joined_lists(&mut self, (a, a_at): (&Val, Span), (b, b_at): (&Val, Span)) -> Val {
        if let (Val::List(x), Val::List(y)) = (a, b) {
            return Val::List(x.iter().chain(y).cloned().collect());
        }
        let like = self.met_dtype(a).or(self.met_dtype(b));
        let Some(x) = self.node_of(a, like, a_at) else { return Val::Broken };
        let Some(y) = self.node_of(b, like, b_at) else { return Val::Broken };
        self.library_call(library::CONCAT, vec![Arg::Exprs(vec![x, y]), Arg::Int(0)], a_at.to(b_at))
    }

    fn met_dtype(&self, val: &Val) -> Option<DType> {
        if let Val::Expr(_) = val { self.dtype(val) } else { None }
    }

    fn logic(&mut self, op: BinaryOp, (a, a_at): (&Val, Span), (b, b_at): (&Val, Span)) -> Val {
        let known = match (a, b) {
            (Val::Known(Known::Bool(it)), other) | (other, Val::Known(Known::Bool(it))) => {
                Some((*it, other.clone()))
            }
            _ => None,
        };
        match (op, known) {
            (BinaryOp::And, Some((true, other))) | (BinaryOp::Or, Some((false, other))) => other,
            (BinaryOp::And, Some((false, _))) => Val::Known(Known::Bool(false)),
            (_, Some(_)) => Val::Known(Known::Bool(true)),
            (_, None) => {
                let Some(x) = self.condition(a, a_at) else { return Val::Broken };
                let Some(y) = self.condition(b, b_at) else { return Val::Broken };
                let op = if op == BinaryOp::And { Binary::And } else { Binary::Or };
                let Some(ty) = self.stretched(&[x, y], a_at.to(b_at)) else { return Val::Broken };
                Val::Expr(self.node(Expr::Binary(op, x, y), ty))
            }
        }
    }

    fn arithmetic(
        &mut self,
        op: BinaryOp,
        (a, a_at): (&Val, Span),
        (b, b_at): (&Val, Span),
    ) -> Val {
        let at = a_at.to(b_at);
        if let (Val::Record(_) | Val::Stream(_) | Val::Interval(..), _)
        | (_, Val::Record(_) | Val::Stream(_) | Val::Interval(..)) = (a, b)
        {
            return self.report(errors::no_arithmetic(op.sign(), a.kind(), b.kind(), at));
        }
        let like = self.met(a, b);
        if let Some(small) = like.filter(|it| !can_reckon(*it)) {
            return self.report(errors::small_arithmetic(small, op.sign(), at));
        }
        if let Some(whole) = like.filter(|it| it.is_int())
            && (is_fraction(a) || is_fraction(b))
        {
            return self.report(errors::fraction_meets_whole(whole, at));
        }
        let like = if op == BinaryOp::Div { like.map(float_of) } else { like };
        let Some(x) = self.node_of(a, like, a_at) else { return Val::Broken };
        let Some(y) = self.node_of(b, like, b_at) else { return Val::Broken };
        let Some((x, y)) = self.same_dtype((x, a_at), (y, b_at), op == BinaryOp::Div) else {
            return Val::Broken;
        };
        self.binary_node(binary(op), (x, y), at)
    }

    fn binary_node(&mut self, op: Binary, (x, y): (ExprId, ExprId), at: Span) -> Val {
        let Some(ty) = self.stretched(&[x, y], at) else { return Val::Broken };
        Val::Expr(self.node(Expr::Binary(op, x, y), ty))
    }

    /// `min(a, b)` and the like, which are written as calls.
    pub(super) fn intrinsic_binary(
        &mut self,
        op: Binary,
        (a, a_at): (&Val, Span),
        (b, b_at): (&Val, Span),
    ) -> Val {
        if let (Val::Known(Known::Number(x)), Val::Known(Known::Number(y))) = (a, b)
            && let Binary::Min | Binary::Max = op
        {
            let first = (x.as_f64() <= y.as_f64()) == (op == Binary::Min);
            return if first { a.clone() } else { b.clone() };
        }
        let like = self.met(a, b);
        let Some(x) = self.node_of(a, like, a_at) else { return Val::Broken };
        let Some(y) = self.node_of(b, like, b_at) else { return Val::Broken };
        let Some(pair) = self.same_dtype((x, a_at), (y, b_at), false) else { return Val::Broken };
        self.binary_node(op, pair, a_at.to(b_at))
    }

    /// The dtype that numbers beside these values take: a literal takes what it meets.
    pub(super) fn met(&self, a: &Val, b: &Val) -> Option<DType> {
        match (self.met_dtype(a), self.met_dtype(b)) {
            (Some(a), Some(b)) => Some(promoted(a, b).unwrap_or(a)),
            (Some(it), None) | (None, Some(it)) => Some(it),
            (None, None) => (is_fraction(a) || is_fraction(b)).then_some(DType::F32),
        }
    }

    /// Both in one dtype.
    pub(super) fn same_dtype(
        &mut self,
        (x, x_at): (ExprId, Span),
        (y, y_at): (ExprId, Span),
        divides: bool,
    ) -> Option<(ExprId, ExprId)> {
        let dtypes = self.ty(x).dtype().zip(self.ty(y).dtype());
        let joint = dtypes.and_then(|(x, y)| promoted(x, y));
        let Some(mut dtype) = joint else {
            let (x, y) = (self.ty(x), self.ty(y));
            self.report(errors::incompatible(&x, &y, x_at.to(y_at)));
            return None;
        };
        if !can_reckon(dtype) && divides {
            self.report(errors::small_arithmetic(dtype, "/", x_at.to(y_at)));
            return None;
        }
        if divides {
            dtype = float_of(dtype);
        }
        Some((self.cast(x, dtype), self.cast(y, dtype)))
    }

    /// The value in another dtype.
    pub(super) fn cast(&mut self, id: ExprId, to: DType) -> ExprId {
        let ty = self.ty(id);
        let (Some(dtype), Some(shape)) = (ty.dtype(), ty.shape()) else { return id };
        if dtype == to {
            return id;
        }
        self.node(Expr::Cast(to, id), Type::Tensor { dtype: to, shape: shape.to_vec() })
    }

    pub(super) fn unary(&mut self, op: UnaryOp, a: &Val, at: Span) -> Val {
        match (op, a) {
            (_, Val::Broken) => Val::Broken,
            (UnaryOp::Not, Val::Known(Known::Bool(it))) => Val::Known(Known::Bool(!it)),
            (UnaryOp::Neg, Val::Known(Known::Number(_))) => {
                let minus = Known::Number(super::Number::int(-1));
                let Val::Known(it) = a else { return Val::Broken };
                match known::binary(BinaryOp::Mul, &minus, it) {
                    Ok(val) => val,
                    Err(refusal) => self.refuse(refusal, "-", (a, a), at),
                }
            }
            (UnaryOp::Not, _) => match self.condition(a, at) {
                Some(id) => self.intrinsic_unary(Unary::Not, id),
                None => Val::Broken,
            },
            (UnaryOp::Neg, _) => {
                let Some(id) = self.node_of(a, None, at) else { return Val::Broken };
                match self.ty(id).dtype() {
                    Some(dtype) if can_reckon(dtype) => self.intrinsic_unary(Unary::Neg, id),
                    Some(dtype) => self.report(errors::small_arithmetic(dtype, "-", at)),
                    None => Val::Broken,
                }
            }
        }
    }

    /// A node of one value, of its own type.
    pub(super) fn intrinsic_unary(&mut self, op: Unary, id: ExprId) -> Val {
        let ty = self.ty(id);
        Val::Expr(self.node(Expr::Unary(op, id), ty))
    }

    pub(super) fn compare(
        &mut self,
        op: CompareOp,
        (a, a_at): (&Val, Span),
        (b, b_at): (&Val, Span),
        at: Span,
    ) -> Val {
        match (a, b) {
            (Val::Broken, _) | (_, Val::Broken) => Val::Broken,
            (Val::Known(x), Val::Known(y)) => match known::compare(op, x, y) {
                Ok(it) => Val::Known(Known::Bool(it)),
                Err(refusal) => self.refuse(refusal, op.sign(), (a, b), a_at.to(b_at)),
            },
            _ if self.is_text(a) && self.is_text(b) => self.compare_texts(op, (a, b), at),
            _ => {
                let like = self.met(a, b);
                if let Some(whole) = like.filter(|it| it.is_int())
                    && (is_fraction(a) || is_fraction(b))
                {
                    return self.report(errors::fraction_meets_whole(whole, a_at.to(b_at)));
                }
                let Some(x) = self.node_of(a, like, a_at) else { return Val::Broken };
                let Some(y) = self.node_of(b, like, b_at) else { return Val::Broken };
                let Some((x, y)) = self.same_dtype((x, a_at), (y, b_at), false) else {
                    return Val::Broken;
                };
                let Some(ty) = self.stretched(&[x, y], a_at.to(b_at)) else { return Val::Broken };
                let shape = ty.shape().unwrap_or_default().to_vec();
                let ty = Type::Tensor { dtype: DType::Bool, shape };
                Val::Expr(self.node(Expr::Binary(comparison(op), x, y), ty))
            }
        }
    }

    fn compare_texts(&mut self, op: CompareOp, (a, b): (&Val, &Val), at: Span) -> Val {
        let (a, b, negated) = match op {
            CompareOp::Eq => (a, b, false),
            CompareOp::Ne => (a, b, true),
            CompareOp::Lt => (a, b, false),
            CompareOp::Gt => (b, a, false),
            CompareOp::Le => (b, a, true),
            CompareOp::Ge => (a, b, true),
        };
        let Some(x) = self.node_of(a, None, at) else { return Val::Broken };
        let Some(y) = self.node_of(b, None, at) else { return Val::Broken };
        let equal = matches!(op, CompareOp::Eq | CompareOp::Ne);
        let function = if equal { library::TEXT_EQ } else { library::TEXT_LT };
        let found = self.library_call(function, vec![Arg::Expr(x), Arg::Expr(y)], at);
        if negated { self.unary(UnaryOp::Not, &found, at) } else { found }
    }

    /// `a in set`: within an interval, or one of a list.
    pub(super) fn is_in(&mut self, (a, a_at): (&Val, Span), (set, set_at): (&Val, Span)) -> Val {
        match (a, set) {
            (Val::Broken, _) | (_, Val::Broken) => Val::Broken,
            (_, Val::Interval(low, high)) => {
                let low = self.compare(CompareOp::Ge, (a, a_at), (low, set_at), a_at);
                let high = self.compare(CompareOp::Le, (a, a_at), (high, set_at), a_at);
                self.binary(BinaryOp::And, (&low, a_at), (&high, set_at), a_at)
            }
            (_, Val::List(all)) => {
                let mut any = Val::Known(Known::Bool(false));
                for it in all {
                    let one = self.compare(CompareOp::Eq, (a, a_at), (it, set_at), a_at);
                    any = self.binary(BinaryOp::Or, (&any, a_at), (&one, set_at), a_at);
                }
                any
            }
            _ => {
                let shown = self.shown(set);
                self.report(errors::not_a_set(&shown, set_at))
            }
        }
    }

    /// The type of what these make together, with NumPy's broadcasting; the dtype of the last.
    pub(super) fn stretched(&mut self, all: &[ExprId], at: Span) -> Option<Type> {
        let mut shape: Vec<Extent> = Vec::new();
        let mut dtype = None;
        for &id in all {
            let ty = self.ty(id);
            let (Some(its), Some(axes)) = (ty.dtype(), ty.shape()) else { return None };
            dtype = Some(its);
            let Some(wider) = stretch(&shape, axes) else {
                let types: Vec<Type> = all.iter().map(|it| self.ty(*it)).collect();
                self.report(errors::extents_differ(&types, at));
                return None;
            };
            shape = wider;
        }
        Some(Type::Tensor { dtype: dtype?, shape })
    }

    /// Pieces of text as one.
    pub(super) fn join_texts(&mut self, pieces: &[Val], at: Span) -> Val {
        let mut ids = Vec::new();
        for piece in pieces {
            let Some(id) = self.node_of(piece, None, at) else { return Val::Broken };
            if self.ty(id).dtype() != Some(DType::Str) {
                let shown = self.shown(&Val::Expr(id));
                return self.report(errors::not_text(&shown, at));
            }
            ids.push(id);
        }
        self.library_call(library::TEXT_CONCAT, vec![Arg::Exprs(ids)], at)
    }
}

/// Whether arithmetic is done in it: not in 8 and 16 bits, nor on booleans and text.
fn can_reckon(dtype: DType) -> bool {
    dtype.is_float() || (dtype.is_int() && dtype.size() > 2)
}

/// What true division of whole numbers gives.
fn float_of(dtype: DType) -> DType {
    match dtype {
        it if it.is_float() => it,
        DType::I64 | DType::U64 => DType::F64,
        _ => DType::F32,
    }
}

fn is_fraction(val: &Val) -> bool {
    matches!(val, Val::Known(Known::Number(it)) if matches!(it.size, super::Size::Float(_)))
}

/// The dtype that two meet in: floats before whole numbers, wider before narrower.
pub(super) fn promoted(a: DType, b: DType) -> Option<DType> {
    if a == b {
        return Some(a);
    }
    let number = |it: DType| it.is_float() || it.is_int();
    if !number(a) || !number(b) {
        return None;
    }
    match (a.is_float(), b.is_float()) {
        (true, false) => return Some(a),
        (false, true) => return Some(b),
        (true, true) if a.size() == 2 && b.size() == 2 => return Some(DType::F32),
        (true, true) => return Some(if a.size() > b.size() { a } else { b }),
        (false, false) => {}
    }
    let (wide, narrow) = if a.size() >= b.size() { (a, b) } else { (b, a) };
    if wide.is_signed() == narrow.is_signed() || (wide.is_signed() && wide.size() > narrow.size()) {
        return Some(wide);
    }
    // An unsigned one that is as wide as the signed one: the next wider that holds both.
    match wide.size() {
        1 => Some(DType::I16),
        2 => Some(DType::I32),
        _ => Some(DType::I64),
    }
}

fn stretch(a: &[Extent], b: &[Extent]) -> Option<Vec<Extent>> {
    let rank = a.len().max(b.len());
    let one = Extent::Known(1);
    let of = |all: &[Extent], axis: usize| {
        (axis + all.len()).checked_sub(rank).map_or(one.clone(), |it| all[it].clone())
    };
    let axis = |axis| match (of(a, axis), of(b, axis)) {
        (x, y) if x == y => Some(x),
        (Extent::Known(1), it) | (it, Extent::Known(1)) => Some(it),
        (Extent::Known(_), Extent::Known(_)) => None,
        (it @ Extent::Known(_), _) | (_, it @ Extent::Known(_)) => Some(it),
        _ => Some(Extent::Unknown),
    };
    (0..rank).map(axis).collect()
}

fn binary(op: BinaryOp) -> Binary {
    match op {
        BinaryOp::Add => Binary::Add,
        BinaryOp::Sub => Binary::Sub,
        BinaryOp::Mul => Binary::Mul,
        BinaryOp::Div => Binary::Div,
        BinaryOp::FloorDiv => Binary::FloorDiv,
        BinaryOp::Rem => Binary::Rem,
        BinaryOp::Pow => Binary::Pow,
        BinaryOp::And => Binary::And,
        BinaryOp::Or => Binary::Or,
    }
}

fn comparison(op: CompareOp) -> Binary {
    match op {
        CompareOp::Eq => Binary::Eq,
        CompareOp::Ne => Binary::Ne,
        CompareOp::Lt => Binary::Lt,
        CompareOp::Le => Binary::Le,
        CompareOp::Gt => Binary::Gt,
        CompareOp::Ge => Binary::Ge,
    }
}
