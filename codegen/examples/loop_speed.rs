//! How fast compiled loops are: `cargo run --release -p codegen --example loop_speed`.

#![expect(clippy::print_stdout, reason = "it shows what it measures")]

use codegen::{Input, Layout, Loop, Op, Output, Place, Target};
use plan::{Binary, DType, Unary};
use std::time::Instant;

/// Elements of an operand: they stay in the first cache.
const ELEMENTS: usize = 4096;
/// Runs of a loop that are timed together, and how often; the least is shown.
const RUNS: u32 = 100;
const TIMES: usize = 31;

fn main() {
    let Ok(target) = Target::host() else {
        println!("nothing is compiled here");
        return;
    };
    for operations in [5, 10, 20, 40] {
        show(&target, &format!("u8, {operations} products and sums"), &chain(operations));
    }
    let f32 = DType::F32;
    let pixel = [(Op::Input(0), DType::U8), (Op::Cast(0), f32)];
    let scaled = [
        (Op::Float(0.017), f32),
        (Op::Binary(Binary::Mul, 1, 2), f32),
        (Op::Float(2.1), f32),
        (Op::Binary(Binary::Sub, 3, 4), f32),
    ];
    let normal: Vec<_> = pixel.into_iter().chain(scaled).collect();
    show(&target, "u8 to f32, scaled", &of(normal.clone()));
    for to in [DType::F16, DType::BF16] {
        let halves = normal.iter().copied().chain([(Op::Cast(5), to)]).collect();
        show(&target, &format!("u8 to f32, scaled, to {to}"), &of(halves));
    }
    for function in [Unary::Exp, Unary::Log, Unary::Tanh] {
        let ops = normal.iter().copied().chain([(Op::Unary(function, 5), f32)]).collect();
        show(&target, &format!("u8 to f32, scaled, {function:?}"), &of(ops));
    }
}

/// So many products by 3 and sums with 3.
fn chain(operations: usize) -> Loop {
    let mut ops = vec![Op::Input(0), Op::Int(3)];
    for i in 0..operations {
        let op = if i % 2 == 0 { Binary::Mul } else { Binary::Add };
        ops.push(Op::Binary(op, if i == 0 { 0 } else { ops.len() - 1 }, 1));
    }
    of(ops.into_iter().map(|it| (it, DType::U8)).collect())
}

/// From one operand to the value of the last operation.
fn of(ops: Vec<(Op, DType)>) -> Loop {
    let inputs = vec![Input { dtype: ops[0].1, layout: Layout::Dense }];
    let outputs = vec![Output { op: ops.len() - 1, layout: Layout::Dense }];
    Loop { inputs, ops, outputs }
}

fn show(target: &Target, name: &str, body: &Loop) {
    let Ok(kernel) = target.compile(body) else {
        println!("{name}: not compiled");
        return;
    };
    let from: Vec<u64> = (0..ELEMENTS as u64).map(|it| plan::mix(it, 1)).collect();
    let mut to = vec![0_u64; ELEMENTS];
    let places = [
        Place { first: from.as_ptr().cast_mut().cast(), step: 0 },
        Place { first: to.as_mut_ptr().cast(), step: 0 },
    ];
    let least = (0..TIMES).map(|_| {
        let begin = Instant::now();
        for _ in 0..RUNS {
            // SAFETY: both have room for so many elements of any dtype.
            unsafe { kernel.run(&places, ELEMENTS) };
        }
        begin.elapsed()
    });
    let least = least.min().unwrap_or_default();
    let each = least.as_secs_f64() * 1e9 / f64::from(RUNS) / ELEMENTS as f64;
    println!("{name}: {each:.3} ns an element");
}
