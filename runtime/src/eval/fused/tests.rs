//! Random expressions of random dtypes, extents and layouts: compiled and evaluated, to the bit.

use super::*;
use crate::{
    Element, Philox, Scratch,
    eval::{arith, convert},
};
use half::{bf16, f16};
use plan::{Binary, Const, Expr, Extent, Index, Type, Unary};

const DTYPES: [DType; 13] = [
    DType::Bool,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
];

/// Values at which arithmetic is peculiar, and any others.
fn number(draws: &mut Philox) -> f64 {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        -2.5,
        127.0,
        128.0,
        255.0,
        256.0,
        -129.0,
        65535.5,
        2147483647.0,
        2147483648.0,
        -2147483649.0,
        4294967296.0,
        9.3e18,
        -9.3e18,
        1.9e19,
        1e-40,
        1e39,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        5e-324,
    ];
    match draws.below(3) {
        0 => special[draws.below(special.len() as u64) as usize],
        1 => draws.below(600) as f64 - 300.0,
        _ => (draws.below(1 << 40) as f64 - (1_u64 << 39) as f64) / 1024.0,
    }
}

fn whole(draws: &mut Philox) -> i64 {
    match draws.below(4) {
        0 => [0, 1, -1, i64::MAX, i64::MIN, i64::from(i32::MIN), 1 << 32][draws.below(7) as usize],
        1 => draws.below(600) as i64 - 300,
        2 => draws.below(1 << 33) as i64 - (1 << 32),
        _ => draws.below(u64::MAX) as i64,
    }
}

/// Those of a number, or any: every NaN among them.
fn half_bits(draws: &mut Philox, of: impl Fn(f64) -> u16) -> u16 {
    if draws.below(2) == 0 { of(number(draws)) } else { draws.below(1 << 16) as u16 }
}

/// Elements of a dtype; 64 bits each, of which the first are the element's.
fn filled(draws: &mut Philox, dtype: DType, n: usize) -> Scratch {
    fn put<T: Element>(shape: &[usize], all: Vec<T>) -> Scratch {
        let mut scratch = Scratch::new();
        Out::grow(&mut scratch).copy(&Tensor::new(shape, &all)).expect("it is small");
        scratch
    }
    macro_rules! of {
        ($($dtype:ident: $f:expr;)+) => {
            match dtype {
                $(DType::$dtype => put(&[n], (0..n).map(|_| $f(draws)).collect::<Vec<_>>()),)+
                DType::Str | DType::Bytes => unreachable!("numbers only"),
            }
        };
    }
    of! {
        Bool: |it: &mut Philox| it.below(2) == 1;
        U8: |it| whole(it) as u8; U16: |it| whole(it) as u16;
        U32: |it| whole(it) as u32; U64: |it| whole(it) as u64;
        I8: |it| whole(it) as i8; I16: |it| whole(it) as i16;
        I32: |it| whole(it) as i32; I64: whole;
        F16: |it| f16::from_bits(half_bits(it, |it| f16::from_f64(it).to_bits()));
        BF16: |it| bf16::from_bits(half_bits(it, |it| bf16::from_f64(it).to_bits()));
        F32: |it| number(it) as f32; F64: number;
    }
}

/// A random graph of values with the extents `shape`, of which some are columns.
struct Random<'a> {
    draws: &'a mut Philox,
    graph: Graph,
    /// Extents of each column.
    columns: Vec<(DType, Vec<usize>)>,
    shape: Vec<usize>,
}

fn ty(dtype: DType, shape: &[usize]) -> Type {
    Type::Tensor { dtype, shape: shape.iter().map(|_| Extent::Unknown).collect() }
}

impl Random<'_> {
    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.draws.below(all.len() as u64) as usize]
    }

    fn column(&mut self, dtype: DType) -> ExprId {
        // One in three is the same for all, or along some axes.
        let mut shape = self.shape.clone();
        match self.draws.below(6) {
            0 => shape.clear(),
            1 => shape.iter_mut().for_each(|it| {
                if self.draws.below(2) == 0 {
                    *it = 1;
                }
            }),
            2 => drop(shape.drain(..self.draws.below(shape.len() as u64) as usize)),
            _ => {}
        }
        let column = Expr::Column(self.columns.len() as u32);
        let id = self.graph.add(column, ty(dtype, &shape));
        self.columns.push((dtype, shape));
        id
    }

    fn constant(&mut self, dtype: DType) -> ExprId {
        let value = if dtype.is_float() {
            Const::Floats(dtype, vec![], vec![number(self.draws)])
        } else {
            Const::Ints(dtype, vec![], vec![whole(self.draws)])
        };
        self.graph.add(Expr::Const(value), Type::scalar(dtype))
    }

    fn expr(&mut self, dtype: DType, depth: u32) -> ExprId {
        if depth == 0 {
            return if self.draws.below(4) == 0 {
                self.constant(dtype)
            } else {
                self.column(dtype)
            };
        }
        let expr = match self.draws.below(8) {
            0 => {
                let from = self.pick(&DTYPES);
                Expr::Cast(dtype, self.expr(from, depth - 1))
            }
            1 => {
                let c = self.expr(DType::Bool, depth - 1);
                Expr::Select(c, self.expr(dtype, depth - 1), self.expr(dtype, depth - 1))
            }
            2 => self.unary(dtype, depth),
            _ => self.binary(dtype, depth),
        };
        let mut rank = 0;
        expr.needs(|it| rank = rank.max(self.graph.ty(it).shape().map_or(0, <[_]>::len)));
        self.graph.add(expr, ty(dtype, &self.shape[self.shape.len() - rank..]))
    }

    fn unary(&mut self, dtype: DType, depth: u32) -> Expr {
        use Unary::{Abs, Ceil, Cos, Exp, Floor, Log, Neg, Not, Round, Sin, Sqrt, Tanh};
        let op = if dtype == DType::Bool {
            Not
        } else if dtype.is_float() {
            self.pick(&[Neg, Abs, Floor, Ceil, Round, Sqrt, Exp, Log, Sin, Cos, Tanh])
        } else {
            self.pick(&[Neg, Abs, Floor, Round])
        };
        Expr::Unary(op, self.expr(dtype, depth - 1))
    }

    fn binary(&mut self, dtype: DType, depth: u32) -> Expr {
        use Binary::{
            Add, And, Div, Eq, FloorDiv, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Or, Pow, Rem, Sub,
        };
        if dtype == DType::Bool {
            if self.draws.below(3) == 0 {
                let op = self.pick(&[And, Or, Min, Max]);
                return Expr::Binary(op, self.expr(dtype, depth - 1), self.expr(dtype, depth - 1));
            }
            let (op, of) = (self.pick(&[Eq, Ne, Lt, Le, Gt, Ge]), self.pick(&DTYPES));
            return Expr::Binary(op, self.expr(of, depth - 1), self.expr(of, depth - 1));
        }
        let op = if dtype.is_float() {
            self.pick(&[Add, Sub, Mul, Div, FloorDiv, Rem, Min, Max, Pow])
        } else {
            self.pick(&[Add, Sub, Mul, FloorDiv, Rem, Min, Max, Pow])
        };
        let a = self.expr(dtype, depth - 1);
        let divides = matches!(op, FloorDiv | Rem);
        let b = if divides && !dtype.is_float() {
            let by = self.pick(&[1, 2, 3, 7, 10, 64, 255, 1_000_003, -1, -2, -7, i64::MIN]);
            self.graph.add(Expr::Const(Const::Ints(dtype, vec![], vec![by])), Type::scalar(dtype))
        } else {
            self.expr(dtype, depth - 1)
        };
        Expr::Binary(op, a, b)
    }
}

/// The value of each node as the evaluator finds it; none where it is faulty.
fn evaluated(graph: &Graph, columns: &[Tensor<'_>]) -> Vec<Option<Scratch>> {
    let mut all: Vec<Option<Scratch>> = Vec::new();
    for (_, expr, _) in graph.iter() {
        let mut scratch = Scratch::new();
        let out = &mut Out::grow(&mut scratch);
        let of = |id: &ExprId| all[id.row()].as_ref().map(Scratch::tensor);
        let done = match expr {
            Expr::Column(i) => Some(out.copy(&columns[*i as usize])),
            Expr::Const(Const::Ints(dtype, _, it)) => {
                Some(convert::cast(*dtype, &Tensor::new(&[], it), out))
            }
            Expr::Const(Const::Floats(dtype, _, it)) => {
                Some(convert::cast(*dtype, &Tensor::new(&[], it), out))
            }
            Expr::Unary(op, a) => of(a).map(|a| arith::unary(*op, &a, out)),
            Expr::Binary(op, a, b) => {
                of(a).zip(of(b)).map(|(a, b)| arith::binary(*op, [&a, &b], out))
            }
            Expr::Cast(to, a) => of(a).map(|a| convert::cast(*to, &a, out)),
            Expr::Select(c, a, b) => {
                of(c).zip(of(a).zip(of(b))).map(|(c, (a, b))| arith::select(&c, [&a, &b], out))
            }
            _ => unreachable!("not drawn"),
        };
        all.push(done.and_then(Result::ok).map(|()| scratch));
    }
    all
}

/// A tensor as something else left it: turned round, or cut out.
fn view<'a>(draws: &mut Philox, scratch: &'a Scratch, shape: &[usize]) -> Tensor<'a> {
    let rank = shape.len();
    let flat = scratch.tensor();
    let data = ptr::NonNull::new(flat.as_ptr().cast_mut()).expect("it is somewhere");
    let turned = rank > 1 && draws.below(3) == 0;
    let mut extents = shape.to_vec();
    if turned {
        extents.reverse();
    }
    // SAFETY: there are as many elements.
    let mut tensor = unsafe { Tensor::from_raw(flat.dtype(), Shape::new(&extents), data) };
    if turned {
        let order: Vec<usize> = (0..rank).rev().collect();
        tensor = tensor.permuted(&order);
    }
    for axis in 0..rank {
        if draws.below(4) == 0 {
            tensor = tensor.flipped(axis);
        }
    }
    tensor
}

/// Also which NaN it is.
fn same(a: &Tensor<'_>, b: &Tensor<'_>) -> bool {
    a.shape() == b.shape() && a.as_bytes() == b.as_bytes()
}

fn check(jit: &Jit, seed: u64, at_once: bool) -> usize {
    let mut draws = Philox::new(seed, u64::from(at_once), 0);
    let rank = if at_once { 1 } else { 1 + draws.below(3) as usize };
    let most = [300, 40, 12][rank - 1];
    let shape: Vec<usize> = (0..rank).map(|_| draws.below(most) as usize).collect();
    let dtype = DTYPES[draws.below(13) as usize];
    let depth = 1 + draws.below(4) as u32;
    let mut random =
        Random { draws: &mut draws, graph: Graph::default(), columns: Vec::new(), shape };
    let root = random.expr(dtype, depth);
    let (mut graph, columns) = (random.graph, random.columns);
    let all: Vec<Scratch> = columns
        .iter()
        .map(|(dtype, shape)| filled(&mut draws, *dtype, shape.iter().product()))
        .collect();
    let views: Vec<Tensor<'_>> = all
        .iter()
        .zip(&columns)
        .map(|(scratch, (_, shape))| {
            if at_once {
                // SAFETY: there are as many elements.
                unsafe {
                    let data = ptr::NonNull::new(scratch.tensor().as_ptr().cast_mut());
                    let data = data.expect("it is somewhere");
                    Tensor::from_raw(scratch.tensor().dtype(), Shape::new(shape), data)
                }
            } else {
                view(&mut draws, scratch, shape)
            }
        })
        .collect();
    if at_once {
        graph = of_scalars(&graph);
    }
    let values = evaluated(&graph, &views);
    let way = if at_once { Way::AtOnce } else { Way::EachRecord };
    let groups = groups(&graph, &[root], way);
    let before = (seed % 5 == 1).then(|| made_before(&groups));
    let jit = before.as_ref().unwrap_or(jit);
    let known = Known { graph: &graph, values: &values, views: &views };
    groups.iter().filter(|it| agrees(jit, (it, at_once), &known, seed)).count()
}

/// What a group's leaves are found from, and what its nodes give.
struct Known<'a> {
    graph: &'a Graph,
    values: &'a [Option<Scratch>],
    views: &'a [Tensor<'a>],
}

/// Holds a group against its nodes; `false` where it gives way to them.
fn agrees(jit: &Jit, (group, at_once): (&Group, bool), known: &Known<'_>, seed: u64) -> bool {
    let leaf = |it: &ExprId| match known.graph.expr(*it) {
        Expr::Column(i) => Some(known.views[*i as usize]),
        _ => known.values[it.row()].as_ref().map(Scratch::tensor),
    };
    let Some(leaves) = group.leaves.iter().map(leaf).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let fused = Fused::new(jit, group, at_once).expect("what is a group is compiled");
    let mut scratch = Scratch::new();
    let ran = fused.run(&leaves, &mut Room::new(), &mut Out::grow(&mut scratch));
    if !ran.expect("nothing is faulty") {
        return false;
    }
    let expected = known.values[group.root.row()].as_ref().expect("nothing is faulty").tensor();
    let lies = |it: &Tensor<'_>| (it.shape().to_vec(), it.strides().to_vec());
    assert!(
        same(&scratch.tensor(), &expected),
        "seed {seed}: {:?}\n{:?}\nis {:02x?}\nnot {:02x?}",
        group.body,
        leaves.iter().map(lies).collect::<Vec<_>>(),
        scratch.tensor().as_bytes(),
        expected.as_bytes()
    );
    true
}

/// What knows no loops but those of `groups`, made ahead of time for this machine.
fn made_before(groups: &[Group]) -> Jit {
    let host = Target::host().expect("it was asked before");
    let loops: Vec<Loop> =
        groups.iter().flat_map(|it| [it.body.clone(), it.body.clone().strided()]).collect();
    let ahead = ahead(&host, codegen::NATIVE, &loops);
    // SAFETY: it was made here.
    let library = unsafe { Library::new(&ahead, &host) };
    let library = (!groups.is_empty()).then(|| library.expect("it was made for this machine"));
    Jit::of(None, library)
}

/// The same graph on scalars.
fn of_scalars(graph: &Graph) -> Graph {
    let mut scalars = Graph::default();
    for (_, expr, ty) in graph.iter() {
        scalars.add(expr.clone(), Type::scalar(ty.dtype().expect("a number")));
    }
    scalars
}

#[test]
fn compiled_is_evaluated_to_the_bit() {
    let jit = Jit::new(true, &Prepared::Nothing);
    let cases = std::env::var("JIT_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(1500);
    let first = std::env::var("JIT_FIRST").ok().and_then(|it| it.parse().ok()).unwrap_or(0);
    if jit.0.target.is_none() {
        eprintln!("nothing is compiled on this machine");
        return;
    }
    let n: usize = (first..first + cases)
        .map(|seed| {
            jit.0.known.lock().unwrap().clear();
            check(&jit, seed, seed % 3 == 0)
        })
        .sum();
    eprintln!("{n} groups");
    assert!(n as u64 > cases / 3, "{n} groups of {cases} expressions");
}
