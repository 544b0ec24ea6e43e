//! How long it takes to compile expressions: `cargo run --release -p codegen --example compile_time`.

#![expect(clippy::print_stdout, reason = "it shows what it measures")]

use codegen::{Input, Kernel, Layout, Loop, Op, Output, Target};
use plan::{Binary, DType};
use std::time::{Duration, Instant};

/// How often each is compiled; the median is shown.
const TIMES: usize = 101;

fn main() {
    let target = match Target::host() {
        Ok(target) => target,
        Err(why) => {
            println!("nothing is compiled here: {why}");
            return;
        }
    };
    let features: Vec<&str> = target.features().into_iter().collect();
    println!("{} {}", target.architecture(), features.join(" "));
    for (from, to) in [(DType::F32, DType::F32), (DType::I64, DType::F32), (DType::U8, DType::U8)] {
        for operations in [1, 5, 10, 40] {
            let body = chain((from, to), operations);
            let took = [body.clone(), body.strided()].map(|it| median(&target, &it));
            println!(
                "{from} to {to}, {operations} operations: {:.0?}, strided {:.0?}",
                took[0], took[1]
            );
        }
    }
}

/// So many sums and products of an operand and a constant.
fn chain((from, to): (DType, DType), operations: usize) -> Loop {
    let number = if to.is_float() { Op::Float(1.5) } else { Op::Int(3) };
    let mut ops = vec![(Op::Input(0), from), (Op::Cast(0), to), (number, to)];
    for i in 0..operations {
        let op = if i % 2 == 0 { Binary::Mul } else { Binary::Add };
        let last = if i == 0 { 1 } else { ops.len() - 1 };
        ops.push((Op::Binary(op, last, 2), to));
    }
    let outputs = vec![Output { op: ops.len() - 1, layout: Layout::Dense }];
    Loop { inputs: vec![Input { dtype: from, layout: Layout::Dense }], ops, outputs }
}

fn median(target: &Target, body: &Loop) -> Duration {
    let mut all: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let begin = Instant::now();
            let kernel = target.compile(body);
            let took = begin.elapsed();
            assert!(kernel.as_ref().is_ok_and(|_: &Kernel| true), "{:?}", kernel.err());
            took
        })
        .collect();
    all.sort_unstable();
    all[TIMES / 2]
}
