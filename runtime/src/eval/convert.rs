//! Changes tensors from one dtype to another.

use super::{
    arith::{map, rows},
    number::Convert,
};
use crate::{Fault, Out, Shape, Tensor};
use half::{bf16, f16};
use plan::DType;

/// Calls a generic function for the Rust type of a numeric dtype.
macro_rules! for_dtype {
    ($dtype:expr, $call:ident($($arg:expr),*)) => {
        match $dtype {
            DType::Bool => $call::<bool>($($arg),*),
            DType::U8 | DType::Str | DType::Bytes => $call::<u8>($($arg),*),
            DType::U16 => $call::<u16>($($arg),*),
            DType::U32 => $call::<u32>($($arg),*),
            DType::U64 => $call::<u64>($($arg),*),
            DType::I8 => $call::<i8>($($arg),*),
            DType::I16 => $call::<i16>($($arg),*),
            DType::I32 => $call::<i32>($($arg),*),
            DType::I64 => $call::<i64>($($arg),*),
            DType::F16 => $call::<f16>($($arg),*),
            DType::BF16 => $call::<bf16>($($arg),*),
            DType::F32 => $call::<f32>($($arg),*),
            DType::F64 => $call::<f64>($($arg),*),
        }
    };
}

/// Writes `a` in another dtype: to integers towards zero, out of range to the nearest.
pub(super) fn cast(to: DType, a: &Tensor<'_>, out: &mut Out<'_>) -> Result<(), Fault> {
    let shape = a.shape();
    match (a.dtype(), to) {
        (from, to) if from == to => return out.copy(a),
        // The pairs that programs are full of, each a loop of its own.
        (DType::I64, DType::F32) => map(a, out.tensor(shape)?, |it: i64| it as f32),
        (DType::I64, DType::F64) => map(a, out.tensor(shape)?, |it: i64| it as f64),
        (DType::I64, DType::I32) => {
            map(a, out.tensor(shape)?, |it: i64| <i32 as Convert>::from_i128(it.into()));
        }
        (DType::I32, DType::I64) => map(a, out.tensor(shape)?, |it: i32| i64::from(it)),
        (DType::I32, DType::F32) => map(a, out.tensor(shape)?, |it: i32| it as f32),
        (DType::U8, DType::F32) => map(a, out.tensor(shape)?, |it: u8| f32::from(it)),
        (DType::U8, DType::I32) => map(a, out.tensor(shape)?, |it: u8| i32::from(it)),
        (DType::F32, DType::U8) => map(a, out.tensor(shape)?, |it: f32| it as u8),
        (DType::F32, DType::F64) => map(a, out.tensor(shape)?, |it: f32| f64::from(it)),
        (DType::F64, DType::F32) => map(a, out.tensor(shape)?, |it: f64| it as f32),
        _ => return in_steps(to, a, out),
    }
    Ok(())
}

/// The other pairs, through a buffer of the widest numbers: one loop a dtype instead of one a pair.
fn in_steps(to: DType, a: &Tensor<'_>, out: &mut Out<'_>) -> Result<(), Fault> {
    for_dtype!(to, steps_to(a, out))
}

/// Elements that wait between two loops.
const STEP: usize = 128;

fn steps_to<T: Convert>(a: &Tensor<'_>, out: &mut Out<'_>) -> Result<(), Fault> {
    let out = out.tensor::<T>(a.shape())?;
    let shape = Shape::new(a.shape());
    let float = a.dtype().is_float();
    rows([a], &shape, |[row], len, at| {
        let out = &mut out[at..at + len];
        for (step, out) in out.chunks_mut(STEP).enumerate() {
            if float {
                let mut wide = [0.0; STEP];
                let wide = &mut wide[..out.len()];
                for_dtype!(a.dtype(), read_floats(|it| row.at(it), step * STEP, wide));
                out.iter_mut().zip(wide).for_each(|(to, it)| *to = T::from_f64(*it));
            } else {
                let mut wide = [0; STEP];
                let wide = &mut wide[..out.len()];
                for_dtype!(a.dtype(), read_ints(|it| row.at(it), step * STEP, wide));
                out.iter_mut().zip(wide).for_each(|(to, it)| *to = T::from_i128(*it));
            }
        }
    });
    Ok(())
}

fn read_floats<T: Convert>(at: impl Fn(usize) -> T, first: usize, out: &mut [f64]) {
    out.iter_mut().enumerate().for_each(|(i, to)| *to = at(first + i).to_f64());
}

fn read_ints<T: Convert>(at: impl Fn(usize) -> T, first: usize, out: &mut [i128]) {
    out.iter_mut().enumerate().for_each(|(i, to)| *to = at(first + i).to_i128());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;

    #[test]
    fn casts_go_to_the_nearest_that_there_is() {
        let mut scratch = Scratch::new();
        let all = [-3.7_f32, 300.0, f32::NAN, 254.9];
        cast(DType::U8, &Tensor::new(&[4], &all), &mut Out::grow(&mut scratch)).expect("fits");
        assert_eq!(scratch.tensor().as_slice::<u8>(), Some(&[0, 255, 0, 254][..]));
        cast(DType::I8, &Tensor::new(&[3], &[-200_i64, 5, 200]), &mut Out::grow(&mut scratch))
            .expect("fits");
        assert_eq!(scratch.tensor().as_slice::<i8>(), Some(&[-128, 5, 127][..]));
    }
}
