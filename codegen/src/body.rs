//! The function of a loop: a block of elements each turn, every operation on all its vectors.

use crate::{
    Layout, Loop, Op, Refused,
    calls::{self, Called, Calling},
    cast::{cast, quotients, within},
    half::{is_half, quiet, rounded},
    memory::{Cursor, load, store},
    range::{self, Range},
    vector::{Class, Lanes, bitcast, constant, limited, narrow_pairs, widened},
};
use cranelift_codegen::{
    ir::{
        Function, InstBuilder, MemFlagsData, Value,
        condcodes::{FloatCC, IntCC},
        types::I64,
    },
    isa::TargetFrontendConfig,
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use plan::{Binary, DType, Unary};

/// The most elements that one turn takes.
pub(crate) const BLOCK_MAX: usize = 16;

/// Elements that one turn takes: four vectors of the widest values.
pub(crate) fn block(program: &Loop) -> usize {
    let dtypes = program.ops.iter().map(|it| it.1);
    let wide = dtypes.filter_map(Class::of).any(Class::is_wide);
    if wide { BLOCK_MAX / 2 } else { BLOCK_MAX }
}

/// Whether an operation is compiled, by itself; of what it needs only the dtypes are known.
pub(crate) fn is_known(op: Op, dtype: DType, of: impl Fn(usize) -> DType) -> bool {
    let vectors = |dtype| Class::of(dtype).is_some();
    let truth = |it| of(it) == DType::Bool;
    vectors(dtype)
        && match op {
            Op::Input(_) | Op::Int(_) | Op::Float(_) => true,
            Op::Cast(a) => vectors(of(a)),
            Op::Select(c, ..) => truth(c),
            Op::Unary(Unary::Not, a) => truth(a),
            Op::Unary(op, a) => !truth(a) && unary_is_known(op, of(a)),
            Op::Binary(op, a, _) if truth(a) => {
                op.compares() || matches!(op, Binary::And | Binary::Or | Binary::Min | Binary::Max)
            }
            Op::Binary(op, a, _) => vectors(of(a)) && binary_is_known(op, of(a)),
        }
}

fn unary_is_known(op: Unary, dtype: DType) -> bool {
    use Unary::{Abs, Ceil, Floor, Neg, Round, Sqrt};
    matches!(op, Neg | Abs | Floor | Ceil | Round)
        || op == Sqrt && dtype.is_float()
        || calls::number(Called::Unary(op), dtype).is_some()
}

/// Division of whole numbers is known by constants only: see `divided`.
fn binary_is_known(op: Binary, dtype: DType) -> bool {
    use Binary::{Add, And, Div, FloorDiv, Max, Min, Mul, Or, Pow, Rem, Sub};
    match op {
        Add | Sub | Mul | Min | Max => true,
        Div => dtype.is_float(),
        FloorDiv => true,
        Rem => true,
        Pow => calls::number(Called::Binary(op), dtype).is_some(),
        And | Or => false,
        _ => op.compares(),
    }
}

/// Writes the function: operands, results, blocks.
pub(crate) fn write(
    program: &Loop,
    function: &mut Function,
    known: &mut FunctionBuilderContext,
    config: TargetFrontendConfig,
) -> Result<(), Refused> {
    let mut build = FunctionBuilder::new(function, known);
    let (entry, turn, end) = (build.create_block(), build.create_block(), build.create_block());
    build.append_block_params_for_function_params(entry);
    build.switch_to_block(entry);
    let params = build.block_params(entry).to_vec();
    let calling = calls(program).then(|| Calling::new(&mut build, params[3], config));
    let mut body = Body {
        build,
        program,
        block: block(program),
        calling,
        ranges: ranges(program),
        given: (0, 0),
        values: Vec::new(),
        any_nan: Vec::new(),
    };
    let cursors = body.cursors(&params);
    body.before(&cursors)?;

    // The places that move, and how many blocks are left, go from turn to turn.
    let moving: Vec<usize> =
        (0..cursors.len()).filter(|&it| cursors[it].layout != Layout::Same).collect();
    let start: Vec<Value> = moving.iter().map(|&it| cursors[it].at).chain([params[2]]).collect();
    let strides = body.strides(&cursors);
    let build = &mut body.build;
    start.iter().for_each(|_| {
        build.append_block_param(turn, I64);
    });
    let start: Vec<_> = start.into_iter().map(Into::into).collect();
    build.ins().jump(turn, &start);
    build.switch_to_block(turn);
    let at = build.block_params(turn).to_vec();
    let mut now = cursors;
    for (&operand, &at) in moving.iter().zip(&at) {
        now[operand].at = at;
    }
    body.turn(&now)?;

    let build = &mut body.build;
    let mut next: Vec<_> =
        moving.iter().map(|&it| build.ins().iadd(now[it].at, strides[it]).into()).collect();
    let left = build.ins().iadd_imm_s(at[at.len() - 1], -1);
    next.push(left.into());
    build.ins().brif(left, turn, &next, end, &[]);
    build.switch_to_block(end);
    build.ins().return_(&[]);
    body.build.seal_all_blocks();
    body.build.finalize(config);
    Ok(())
}

/// What the value of each operation is between.
fn ranges(program: &Loop) -> Vec<Range> {
    let mut all: Vec<Range> = Vec::with_capacity(program.ops.len());
    for &(op, dtype) in &program.ops {
        let given = if dtype.is_int() { range::of(program, (op, dtype), &all) } else { (0, 1) };
        all.push(if dtype.is_int() { range::limited(given, range::held(dtype)) } else { given });
    }
    all
}

/// Whether an operation calls a function, and which.
fn called(program: &Loop, (op, dtype): (Op, DType)) -> Option<usize> {
    match op {
        Op::Unary(op, _) => calls::number(Called::Unary(op), dtype),
        Op::Binary(op, a, _) => calls::number(Called::Binary(op), program.dtype(a)),
        _ => None,
    }
}

fn calls(program: &Loop) -> bool {
    program.ops.iter().any(|&it| called(program, it).is_some())
}

struct Body<'a> {
    build: FunctionBuilder<'a>,
    program: &'a Loop,
    block: usize,
    /// Where there is anything to call.
    calling: Option<Calling>,
    /// Of each operation on whole numbers: what its value is between.
    ranges: Vec<Range>,
    /// Of the present operation, before it is brought into the range of its dtype.
    given: Range,
    /// Of each operation, as far as they are known.
    values: Vec<Lanes>,
    /// Whether what is not a number may still be any NaN: it is made the one that the evaluator
    /// gives before anything but arithmetic sees it.
    any_nan: Vec<bool>,
}

impl Body<'_> {
    /// Where each operand begins, then each result.
    fn cursors(&mut self, params: &[Value]) -> Vec<Cursor> {
        let inputs = self.program.inputs.iter().map(|it| it.layout).enumerate();
        let outputs = self.program.outputs.iter().map(|it| it.layout).enumerate();
        let flags = MemFlagsData::trusted();
        let all = inputs.map(|it| (params[0], it)).chain(outputs.map(|it| (params[1], it)));
        all.map(|(list, (i, layout))| {
            let at = self.build.ins().load(I64, flags, list, i as i32 * 16);
            let step = self.build.ins().load(I64, flags, list, i as i32 * 16 + 8);
            Cursor { at, step, layout }
        })
        .collect()
    }

    /// Bytes from one block to the next.
    fn strides(&mut self, cursors: &[Cursor]) -> Vec<Value> {
        let inputs = self.program.inputs.iter().map(|it| it.dtype);
        let outputs = self.program.outputs.iter().map(|it| self.program.dtype(it.op));
        let block = self.block as i64;
        let sizes: Vec<i64> = inputs.chain(outputs).map(|it| it.size() as i64).collect();
        let each = cursors.iter().zip(sizes);
        each.map(|(cursor, size)| match cursor.layout {
            Layout::Strided => self.build.ins().imul_imm_s(cursor.step, block),
            _ => self.build.ins().iconst(I64, block * size),
        })
        .collect()
    }

    /// What is the same in each turn: constants, and operands of which one element serves for all.
    fn before(&mut self, cursors: &[Cursor]) -> Result<(), Refused> {
        for &(op, dtype) in &self.program.ops {
            let class = class(dtype)?;
            let n = self.block / class.ty().lane_count() as usize;
            let lanes = match op {
                Op::Int(it) => {
                    vec![constant(&mut self.build, class.ty(), whole_bits(it, dtype)); n]
                }
                Op::Float(it) => {
                    let bits = if class == Class::F32 {
                        u64::from((it as f32).to_bits())
                    } else {
                        it.to_bits()
                    };
                    vec![constant(&mut self.build, class.ty(), bits); n]
                }
                Op::Input(i) if cursors[i].layout == Layout::Same => {
                    load(&mut self.build, (dtype, class), cursors[i], self.block)
                }
                _ => Vec::new(),
            };
            self.values.push(lanes);
            self.any_nan.push(false);
        }
        Ok(())
    }

    fn turn(&mut self, cursors: &[Cursor]) -> Result<(), Refused> {
        for (i, &(op, dtype)) in self.program.ops.iter().enumerate() {
            if !is_known(op, dtype, |it| self.program.dtype(it)) {
                return Err(Refused(format!("{op:?} of `{dtype}` has no vectors")));
            }
            if !self.values[i].is_empty() {
                continue;
            }
            if !is_arithmetic(op) {
                op_needs(op).into_iter().flatten().for_each(|it| self.settle(it));
            }
            let kept = self.quieten(op);
            self.given = range::of(self.program, (op, dtype), &self.ranges[..i]);
            self.values[i] = self.operation(op, dtype, cursors)?;
            kept.into_iter().for_each(|(it, lanes)| self.values[it] = lanes);
            self.any_nan[i] = is_arithmetic(op) && dtype.is_float();
        }
        let outputs = self.program.outputs.iter().zip(&cursors[self.program.inputs.len()..]);
        for (output, &cursor) in outputs {
            let dtype = self.program.dtype(output.op);
            self.settle(output.op);
            store(&mut self.build, (dtype, &self.values[output.op]), cursor);
        }
        Ok(())
    }

    /// What compares half floats hands on one of them as it is in 32 bits, where it is never a NaN that
    /// raises something. Gives the operands as they were, for others.
    fn quieten(&mut self, op: Op) -> Vec<(usize, Lanes)> {
        if !matches!(op, Op::Unary(Unary::Abs, _) | Op::Binary(Binary::Min | Binary::Max, ..)) {
            return Vec::new();
        }
        let halves = op_needs(op).into_iter().flatten();
        let halves = halves.filter(|&it| is_half(self.program.dtype(it)));
        let kept: Vec<_> = halves.map(|it| (it, self.values[it].clone())).collect();
        for (it, lanes) in &kept {
            self.values[*it] = quiet(&mut self.build, lanes);
        }
        kept
    }

    /// Makes each NaN of a value the same one.
    fn settle(&mut self, op: usize) {
        if !std::mem::take(&mut self.any_nan[op]) {
            return;
        }
        let class = Class::of(self.program.dtype(op)).expect("refused before");
        let nan = if class.is_wide() { f64::NAN.to_bits() } else { f32::NAN.to_bits().into() };
        let nan = constant(&mut self.build, class.ty(), nan);
        self.values[op] = self.each(op, |build, it| {
            let is_nan = build.ins().fcmp(FloatCC::Unordered, it, it);
            let is_nan = bitcast(build, class.ty(), is_nan);
            build.ins().bitselect(is_nan, nan, it)
        });
    }

    fn operation(&mut self, op: Op, dtype: DType, cursors: &[Cursor]) -> Result<Lanes, Refused> {
        let class = class(dtype)?;
        if let Some(number) = called(self.program, (op, dtype)) {
            let needs = op_needs(op).into_iter().flatten();
            let operands: Vec<&[Value]> = needs.map(|it| &self.values[it][..]).collect();
            let calling = self.calling.as_ref().expect("it is there where anything is called");
            let lanes = calling.call(&mut self.build, number, &operands);
            return Ok(self.narrowed(dtype, lanes));
        }
        Ok(match op {
            Op::Input(i) => load(&mut self.build, (dtype, class), cursors[i], self.block),
            Op::Int(_) | Op::Float(_) => unreachable!("constants come before the first turn"),
            Op::Cast(a) => {
                let from = (self.program.dtype(a), self.ranges[a]);
                cast(&mut self.build, (from, dtype), &self.values[a])
            }
            Op::Unary(op, a) => self.unary(op, dtype, a),
            Op::Binary(op, a, b) if op.compares() => self.compare(op, a, b)?,
            Op::Binary(op @ (Binary::FloorDiv | Binary::Rem), a, b) if !dtype.is_float() => {
                self.divided(op, dtype, (a, b))?
            }
            Op::Binary(op, a, b) => self.binary(op, dtype, (a, b)),
            Op::Select(c, a, b) => self.select(c, a, b),
        })
    }

    /// `f` on the vectors of a value.
    fn each(
        &mut self,
        a: usize,
        mut f: impl FnMut(&mut FunctionBuilder<'_>, Value) -> Value,
    ) -> Lanes {
        self.values[a].iter().map(|&it| f(&mut self.build, it)).collect()
    }

    /// `f` on the vectors of two values.
    fn zip(
        &mut self,
        (a, b): (usize, usize),
        mut f: impl FnMut(&mut FunctionBuilder<'_>, Value, Value) -> Value,
    ) -> Lanes {
        let pairs = self.values[a].iter().zip(&self.values[b]);
        pairs.map(|(&a, &b)| f(&mut self.build, a, b)).collect()
    }

    /// What arithmetic in 32 bits gave, within the range of a narrower dtype, or rounded to it.
    fn narrowed(&mut self, dtype: DType, lanes: Lanes) -> Lanes {
        if is_half(dtype) {
            rounded(&mut self.build, dtype, &lanes)
        } else if dtype.is_int() && dtype.size() < 4 {
            within(&mut self.build, (DType::I32, self.given), range::held(dtype), &lanes)
        } else {
            lanes
        }
    }

    fn unary(&mut self, op: Unary, dtype: DType, a: usize) -> Lanes {
        let class = Class::of(dtype).expect("refused before");
        let float = dtype.is_float();
        let zero = constant(&mut self.build, class.ty(), 0);
        let lanes = match op {
            Unary::Not => self.each(a, |build, it| build.ins().bnot(it)),
            Unary::Neg if float => self.each(a, |build, it| build.ins().fsub(zero, it)),
            Unary::Neg => self.each(a, |build, it| build.ins().isub(zero, it)),
            Unary::Abs if float => self.each(a, |build, it| build.ins().fabs(it)),
            Unary::Abs if dtype.is_signed() => self.each(a, |build, it| build.ins().iabs(it)),
            Unary::Sqrt => self.each(a, |build, it| build.ins().sqrt(it)),
            Unary::Floor if float => self.each(a, |build, it| build.ins().floor(it)),
            Unary::Ceil if float => self.each(a, |build, it| build.ins().ceil(it)),
            Unary::Round if float => self.each(a, |build, it| build.ins().nearest(it)),
            _ => return self.values[a].clone(),
        };
        // Of half floats, only roots are not half floats themselves.
        if float && op != Unary::Sqrt { lanes } else { self.narrowed(dtype, lanes) }
    }

    fn binary(&mut self, op: Binary, dtype: DType, ab: (usize, usize)) -> Lanes {
        let lanes = match Class::of(dtype).expect("refused before") {
            Class::Mask => self.logic(op, ab),
            Class::F32 | Class::F64 => self.floats(op, ab),
            Class::W32 | Class::W64 => self.whole(op, dtype, ab),
        };
        let is_exact = matches!(op, Binary::Min | Binary::Max);
        if is_exact && is_half(dtype) { lanes } else { self.narrowed(dtype, lanes) }
    }

    fn logic(&mut self, op: Binary, ab: (usize, usize)) -> Lanes {
        match op {
            Binary::And | Binary::Min => self.zip(ab, |build, a, b| build.ins().band(a, b)),
            _ => self.zip(ab, |build, a, b| build.ins().bor(a, b)),
        }
    }

    fn whole(&mut self, op: Binary, dtype: DType, ab: (usize, usize)) -> Lanes {
        let unsigned = matches!(dtype, DType::U32 | DType::U64);
        let (less, greater) = if unsigned {
            (IntCC::UnsignedLessThan, IntCC::UnsignedGreaterThan)
        } else {
            (IntCC::SignedLessThan, IntCC::SignedGreaterThan)
        };
        match op {
            Binary::Add => self.zip(ab, |build, a, b| build.ins().iadd(a, b)),
            Binary::Sub => self.zip(ab, |build, a, b| build.ins().isub(a, b)),
            Binary::Mul => self.zip(ab, |build, a, b| build.ins().imul(a, b)),
            Binary::Min => self.zip(ab, |build, a, b| limited(build, less, a, b)),
            _ => self.zip(ab, |build, a, b| limited(build, greater, a, b)),
        }
    }

    fn floats(&mut self, op: Binary, ab: (usize, usize)) -> Lanes {
        match op {
            Binary::Add => self.zip(ab, |build, a, b| build.ins().fadd(a, b)),
            Binary::Sub => self.zip(ab, |build, a, b| build.ins().fsub(a, b)),
            Binary::Mul => self.zip(ab, |build, a, b| build.ins().fmul(a, b)),
            Binary::Div => self.zip(ab, |build, a, b| build.ins().fdiv(a, b)),
            Binary::FloorDiv => self.zip(ab, |build, a, b| {
                let quotient = build.ins().fdiv(a, b);
                build.ins().floor(quotient)
            }),
            Binary::Min => self.zip(ab, |build, a, b| first_if(build, FloatCC::LessThan, a, b)),
            _ => self.zip(ab, |build, a, b| first_if(build, FloatCC::GreaterThan, a, b)),
        }
    }

    /// Rounded down, or the rest with the sign of the divisor; the divisor is a constant.
    fn divided(
        &mut self,
        op: Binary,
        dtype: DType,
        (a, b): (usize, usize),
    ) -> Result<Lanes, Refused> {
        let Op::Int(by) = self.program.ops[b].0 else {
            return Err(Refused("a divisor that may be zero".into()));
        };
        let class = class(dtype)?;
        let zero = constant(&mut self.build, class.ty(), 0);
        let unsigned = matches!(dtype, DType::U32 | DType::U64);
        let lanes = match by {
            0 => return Err(Refused("division by zero".into())),
            -1 if op == Binary::Rem => self.each(a, |_, _| zero),
            -1 => self.each(a, |build, it| build.ins().isub(zero, it)),
            _ if by > 0 && by.count_ones() == 1 => {
                let bits = i64::from(by.trailing_zeros());
                let mask = constant(&mut self.build, class.ty(), by as u64 - 1);
                self.each(a, |build, it| match op {
                    Binary::Rem => build.ins().band(it, mask),
                    _ if unsigned => build.ins().ushr_imm_u(it, bits),
                    _ => build.ins().sshr_imm_u(it, bits),
                })
            }
            _ => self.divided_by(op, (dtype, by), a),
        };
        Ok(self.narrowed(dtype, lanes))
    }

    fn divided_by(&mut self, op: Binary, (dtype, by): (DType, i64), a: usize) -> Lanes {
        let class = Class::of(dtype).expect("refused before");
        let quotients = quotients(&mut self.build, (dtype, by), &self.values[a]);
        let divisor = constant(&mut self.build, class.ty(), by as u64);
        let zero = constant(&mut self.build, class.ty(), 0);
        let signed = !matches!(dtype, DType::U32 | DType::U64);
        let build = &mut self.build;
        let each = self.values[a].iter().zip(quotients);
        each.map(|(&it, quotient)| {
            let product = build.ins().imul(quotient, divisor);
            let rest = build.ins().isub(it, product);
            if !signed {
                return if op == Binary::Rem { rest } else { quotient };
            }
            // Towards zero is not down where the rest has not the divisor's sign.
            let sign = if by < 0 { IntCC::SignedGreaterThan } else { IntCC::SignedLessThan };
            let off = build.ins().icmp(sign, rest, zero);
            if op == Binary::Rem {
                let more = build.ins().band(off, divisor);
                build.ins().iadd(rest, more)
            } else {
                build.ins().iadd(quotient, off)
            }
        })
        .collect()
    }

    fn compare(&mut self, op: Binary, a: usize, b: usize) -> Result<Lanes, Refused> {
        let dtype = self.program.dtype(a);
        let class = class(dtype)?;
        let masks = if dtype.is_float() {
            let cc = float_cc(op);
            self.zip((a, b), |build, a, b| build.ins().fcmp(cc, a, b))
        } else {
            // Of masks, what is true is all ones: the less as a number with a sign.
            let unsigned = matches!(dtype, DType::U32 | DType::U64 | DType::Bool);
            let cc = if unsigned { int_cc(op).unsigned() } else { int_cc(op) };
            self.zip((a, b), |build, a, b| build.ins().icmp(cc, a, b))
        };
        Ok(if class.is_wide() { narrow_pairs(&mut self.build, &masks) } else { masks })
    }

    fn select(&mut self, c: usize, a: usize, b: usize) -> Lanes {
        let class = Class::of(self.program.dtype(a)).expect("refused before");
        let build = &mut self.build;
        let masks = &self.values[c];
        let masks = if class.is_wide() { widened(build, masks, true) } else { masks.clone() };
        let each = masks.iter().zip(&self.values[a]).zip(&self.values[b]);
        each.map(|((&mask, &a), &b)| {
            let mask = bitcast(build, class.ty(), mask);
            build.ins().bitselect(mask, a, b)
        })
        .collect()
    }
}

/// Whether a NaN that goes in does no more than come out as one: the rest see its bits.
fn is_arithmetic(op: Op) -> bool {
    use Binary::{Add, Div, FloorDiv, Mul, Pow, Rem, Sub};
    use Unary::{Abs, Not};
    match op {
        Op::Unary(op, _) => !matches!(op, Abs | Not),
        Op::Binary(op, ..) => {
            op.compares() || matches!(op, Add | Sub | Mul | Div | FloorDiv | Pow | Rem)
        }
        _ => false,
    }
}

fn op_needs(op: Op) -> [Option<usize>; 3] {
    match op {
        Op::Input(_) | Op::Int(_) | Op::Float(_) => [None; 3],
        Op::Unary(_, a) | Op::Cast(a) => [Some(a), None, None],
        Op::Binary(_, a, b) => [Some(a), Some(b), None],
        Op::Select(a, b, c) => [Some(a), Some(b), Some(c)],
    }
}

/// The first where it compares so with the second, or is not a number.
fn first_if(build: &mut FunctionBuilder<'_>, cc: FloatCC, a: Value, b: Value) -> Value {
    let compares = build.ins().fcmp(cc, a, b);
    let nan = build.ins().fcmp(FloatCC::Unordered, a, a);
    let first = build.ins().bor(compares, nan);
    let ty = build.func.dfg.value_type(a);
    let first = bitcast(build, ty, first);
    build.ins().bitselect(first, a, b)
}

fn class(dtype: DType) -> Result<Class, Refused> {
    Class::of(dtype).ok_or_else(|| Refused(format!("`{dtype}` has no vectors")))
}

/// A constant as it is held: what is true is all ones.
fn whole_bits(value: i64, dtype: DType) -> u64 {
    if dtype == DType::Bool { u64::from(value != 0).wrapping_neg() } else { value as u64 }
}

fn float_cc(op: Binary) -> FloatCC {
    match op {
        Binary::Eq => FloatCC::Equal,
        Binary::Ne => FloatCC::NotEqual,
        Binary::Lt => FloatCC::LessThan,
        Binary::Le => FloatCC::LessThanOrEqual,
        Binary::Gt => FloatCC::GreaterThan,
        _ => FloatCC::GreaterThanOrEqual,
    }
}

fn int_cc(op: Binary) -> IntCC {
    match op {
        Binary::Eq => IntCC::Equal,
        Binary::Ne => IntCC::NotEqual,
        Binary::Lt => IntCC::SignedLessThan,
        Binary::Le => IntCC::SignedLessThanOrEqual,
        Binary::Gt => IntCC::SignedGreaterThan,
        _ => IntCC::SignedGreaterThanOrEqual,
    }
}
